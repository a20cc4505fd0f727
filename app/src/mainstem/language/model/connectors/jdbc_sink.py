"""A table of a database as a sink."""

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from pydantic import Field

from mainstem import reasons
from mainstem.language.base import Columns, Identifier, Model, Options, Text
from mainstem.language.model.connectors.kinds import (
    AT_LEAST_ONCE,
    Delivery,
    FieldCondition,
    FieldPath,
    Guarantee,
    ModeRefusal,
    SinkKind,
    column_paths,
)


class Upsert(Model):
    """Upsert by keys: a row replaces the table's row with equal keys."""

    keys: Columns
    """Columns that identify a row. The table needs a unique index on exactly these columns."""
    allow_null_keys: bool = False
    """False fails a batch with a row whose key is null. True upserts such rows, and null equals null: the unique index then
    needs NULLS NOT DISTINCT."""


_APPENDS: Final = ModeRefusal(
    ("update", "complete"),
    "delivery: atLeastOnce appends rows, and is not for {mode} mode; use append",
    "delivery: atLeastOnce only appends rows; use outputMode: append",
    conditions=(FieldCondition("delivery", value="atLeastOnce"),),
)
_UPSERT_NEEDED: Final = ModeRefusal(
    ("update",),
    "rows that changed replace those of their keys; give the sink upsert: {{keys: [...]}}",
    "in update mode changed rows replace earlier rows; set upsert: {keys: [...]} in the JDBC sink",
    reason=reasons.UPSERT_NEEDED,
    conditions=(FieldCondition("upsert", given=False),),
)
_UPSERT_REPLACES: Final = ModeRefusal(
    ("complete",),
    "upsert writes rows that are new or changed, and complete replaces all rows; use update",
    "upsert writes new and changed rows, and complete mode replaces all rows; use another outputMode or remove upsert",
    conditions=(FieldCondition("upsert"),),
    field="upsert",
)


class JdbcSink(SinkKind):
    """A table of a database. PostgreSQL gets each row exactly once: one transaction writes the batch, and its number to
    `mainstem_batches`. Any other database gets rows at least once.
    """

    connection_kind: ClassVar = "jdbc"
    options_field: ClassVar = "options"
    owned_options: ClassVar = {
        "url": "the connection's url",
        "dbtable": "table",
        "user": "the connection's secretRef",
        "driver": "",
        "truncate": "",
        "isolationlevel": "",
        "createtableoptions": "",
        "createtablecolumntypes": "",
    }
    refusals: ClassVar = (_APPENDS, _UPSERT_NEEDED, _UPSERT_REPLACES)
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = False

    connection: Identifier
    """Name of the JDBC connection."""
    table: Text
    """Name of the table, `name` or `schema.name`, in its exact spelling. The table must exist, with every column of the
    query."""
    upsert: Upsert | None = None
    """Upsert instead of insert; `outputMode: update` needs it."""
    delivery: Literal["exactlyOnce", "atLeastOnce"] = "exactlyOnce"
    """`exactlyOnce` is for PostgreSQL. `atLeastOnce` appends with Spark's own JDBC writer to any database whose
    driver is available. After a failure Spark repeats the last batch or a part of it. Spark creates a missing
    table."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JDBC writer, such as `batchsize`."""

    def guarantee(self) -> Guarantee:
        """Exactly once needs the table of committed batches, which Mainstem keeps only in PostgreSQL."""
        if self.delivery == "atLeastOnce":
            return AT_LEAST_ONCE._replace(text=f"{AT_LEAST_ONCE.text}, or a part of it")
        text = "exactly once: a batch and the mark that it was written are one transaction"
        return Guarantee(Delivery.EXACTLY_ONCE, text)

    def repeated(self, mode: str) -> str:
        """`mainstem_batches` knows batches by the checkpoint's id, and the new checkpoint has its own."""
        if mode == "complete":
            return "gets its rows replaced"
        if self.upsert:
            return "upserts their rows again, and older rows replace newer ones until the query has caught up"
        return "gets their rows again"

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """The keys of an upsert."""
        if self.upsert:
            yield from column_paths("keys", self.upsert.keys, "upsert")
