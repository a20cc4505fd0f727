"""The SQL statements that write a PostgreSQL table exactly once; pure. `database` runs them."""
# ruff: noqa: S608 - every name is quoted

import hashlib
from collections.abc import Sequence
from typing import Final

from mainstem.language.model.connectors.jdbc_sink import JdbcSink


BATCHES: Final = "mainstem_batches"
"""Table beside the sink's table, with the newest batch of each checkpoint."""
PARTITION: Final = "mainstem_partition"
"""Column of a staging table: the Spark partition of the row."""
_ATTEMPT: Final = "mainstem_attempt"
_LOCK: Final = 0x6D61696E  # "main": only one transaction at a time creates the table of batches


class Target:
    """A table and the SQL statements that write it; pure.

    Args:
        sink: the sink in the document.
        mode: the query's output mode.
        columns: the query's columns; all of them are written.
    """

    def __init__(self, sink: JdbcSink, mode: str, columns: Sequence[str]) -> None:
        *schema, self._name = sink.table.split(".")
        self._schema = "".join(f"{quote(part)}." for part in schema)
        self.columns = tuple(columns)
        self._columns = ", ".join(map(quote, columns))
        self._replaces = mode == "complete"
        self._on_conflict = _upsert(sink.upsert.keys, columns) if sink.upsert else ""
        self.table = f"{self._schema}{quote(self._name)}"
        self.batches = f"{self._schema}{quote(BATCHES)}"

    def insert(self, rows: str) -> str:
        """The statement that inserts the rows of a SELECT into the table; with `upsert` a row replaces the one of its keys."""
        return f"INSERT INTO {self.table} ({self._columns}) {rows}{self._on_conflict}"

    def probe(self) -> str:
        """A statement that fails if the table, a column, a permission, or the unique index of the keys is missing.

        It writes nothing.
        """
        return f"EXPLAIN {self.insert(self.read(self.table))}"

    def indexes_with_equal_nulls(self) -> str:
        """The query for the columns, a JSON array, of each unique index of the table to which null equals null.

        Its parameter is the table's name. PostgreSQL has such indexes since version 15.
        """
        keys = "a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])"
        return (
            f"SELECT json_agg(a.attname)::text FROM pg_index i JOIN pg_attribute a ON {keys} "
            "WHERE i.indrelid = ?::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL "
            "AND (to_jsonb(i) ->> 'indnullsnotdistinct')::boolean GROUP BY i.indexrelid"
        )

    def create_batches_table(self) -> list[str]:
        """The statements that create the table of batches if it does not exist."""
        columns = (
            "checkpoint text, target text, batch bigint NOT NULL, written timestamptz NOT NULL DEFAULT now(), "
            "PRIMARY KEY (checkpoint, target)"
        )
        return [
            f"SELECT pg_advisory_xact_lock({_LOCK})",
            f"CREATE TABLE IF NOT EXISTS {self.batches} ({columns})",
        ]

    def newest_batch(self) -> str:
        """The query for the newest batch of a checkpoint; its parameters are the checkpoint and the table's name."""
        return f"SELECT max(batch) FROM {self.batches} WHERE checkpoint = ? AND target = ?"

    def record_batch(self) -> str:
        """The statement that records a batch; it returns a row if the batch was not recorded yet.

        Its parameters are the checkpoint, the table's name and the batch.
        """
        return (
            f"INSERT INTO {self.batches} AS recorded (checkpoint, target, batch) VALUES (?, ?, ?::bigint) "
            "ON CONFLICT (checkpoint, target) DO UPDATE SET batch = EXCLUDED.batch, written = now() "
            "WHERE recorded.batch < EXCLUDED.batch RETURNING batch"
        )

    def staging_name(self, checkpoint: str, nonce: str) -> str:
        """The name of a staging table, quoted with its schema."""
        return f"{self._schema}{quote(self.prefix(checkpoint) + nonce)}"

    def prefix(self, checkpoint: str) -> str:
        """The prefix of the names of this sink's staging tables."""
        digest = hashlib.sha256(f"{checkpoint}/{self.table}".encode()).hexdigest()
        return f"mainstem_staging_{digest[:16]}_"

    def create_staging_table(self, staging: str) -> list[str]:
        """The statements that create a staging table: the table's columns, and for each row its partition and transaction."""
        return [
            f"CREATE UNLOGGED TABLE {staging} AS SELECT {self._columns} FROM {self.table} WITH NO DATA",
            f"ALTER TABLE {staging} ADD COLUMN {PARTITION} int",
            f"ALTER TABLE {staging} ADD COLUMN {_ATTEMPT} bigint DEFAULT txid_current()",
        ]

    def read(self, table: str) -> str:
        """A query that describes the columns of a table that the query writes; it reads no row."""
        return f"SELECT {self._columns} FROM {table} WHERE false"

    def count_staged_rows(self, staging: str) -> str:
        """The query for the number of rows that `move` moves."""
        return f"SELECT count(*) FROM {_one_attempt(staging)}"

    def move(self, staging: str) -> list[str]:
        """The statements that move the staged rows into the table.

        A task may have run twice, so they move the rows of only one attempt for each partition.
        """
        rows = f"SELECT {self._columns} FROM {_one_attempt(staging)}"
        deletion = [f"DELETE FROM {self.table}"] if self._replaces else []
        return [*deletion, self.insert(rows), f"DROP TABLE {staging}"]


def quote(name: str) -> str:
    """The name as a quoted SQL identifier."""
    return '"{}"'.format(name.replace('"', '""'))


def _one_attempt(staging: str) -> str:
    attempts = f"SELECT {PARTITION}, min({_ATTEMPT}) FROM {staging} GROUP BY 1"
    return f"{staging} WHERE ({PARTITION}, {_ATTEMPT}) IN ({attempts})"


def _upsert(keys: Sequence[str], columns: Sequence[str]) -> str:
    others = [column for column in columns if column.lower() not in {key.lower() for key in keys}]
    new = ", ".join(f"{quote(column)} = EXCLUDED.{quote(column)}" for column in others)
    action = f"UPDATE SET {new}" if others else "NOTHING"
    return f" ON CONFLICT ({', '.join(map(quote, keys))}) DO {action}"
