"""A table of a database as a sink."""

from typing import Literal

from pydantic import Field

from mainstem.language.base import Columns, Identifier, Model, Options, Text


class Upsert(Model):
    """Upsert by keys: a row replaces the row of the table that has equal keys."""

    keys: Columns
    """Columns that identify a row; the table has a unique index of just these, and none of them is null."""


class JdbcSink(Model):
    """A table of a database: of PostgreSQL exactly once, each batch in one transaction, which notes its number in
    `mainstem_batches`; of any database at least once.
    """

    connection: Identifier
    """Name of the JDBC connection."""
    table: Text
    """Table, `name` or `schema.name`, taken literally. It must be there, with a column for each of the query's."""
    upsert: Upsert | None = None
    """Upsert in place of insert; the way to write `outputMode: update`."""
    delivery: Literal["exactlyOnce", "atLeastOnce"] = "exactlyOnce"
    """`exactlyOnce` is for PostgreSQL. `atLeastOnce` appends by Spark's own JDBC writer to any database whose driver is there:
    after a failure the last batch, or a part of it, is written again. Spark makes the table where there is none."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JDBC writer, such as `batchsize`."""
