"""Delta tables: streams from a table, and sinks that write, merge into and maintain a table."""

from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import Field

from mainstem import reasons
from mainstem.language.base import (
    ByteSize,
    Column,
    Columns,
    Duration,
    Model,
    Options,
    PositiveInt,
    Predicate,
    Text,
    Version,
)
from mainstem.language.model.connectors.file_sink import OWNED_WRITER
from mainstem.language.model.connectors.kinds import (
    DeclaredColumns,
    Delivery,
    FieldCondition,
    FieldPath,
    Guarantee,
    ModeRefusal,
    SinkKind,
    SourceKind,
    column_paths,
)


class DeltaSource(SourceKind):
    """A Delta table as a stream: the rows that it holds, then each commit's as it comes.

    A commit that changes or removes rows fails the query, unless one of the switches below allows it.
    OPTIMIZE changes no row, and is passed over.
    """

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    owned_options: ClassVar = {
        "path": "path",
        "maxfilespertrigger": "maxFilesPerTrigger",
        "maxbytespertrigger": "maxBytesPerTrigger",
        "startingversion": "startingVersion",
        "startingtimestamp": "startingTimestamp",
        "ignoredeletes": "ignoreDeletes",
        "ignorechanges": "ignoreChanges",
        "ignorefiledeletion": "ignoreDeletes",
        "skipchangecommits": "skipChangeCommits",
        "readchangefeed": "readChangeFeed",
        "readchangedata": "readChangeFeed",
        "excluderegex": "excludeRegex",
        "failondataloss": "failOnDataLoss",
    }
    delivery: ClassVar = Delivery.EXACTLY_ONCE
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_refuses: ClassVar = ()
    not_kept: ClassVar = ""

    path: Text
    """Folder of the table."""
    max_files_per_trigger: PositiveInt | None = None
    """At most so many new files in one batch; without it 1000, as Delta has it."""
    max_bytes_per_trigger: ByteSize | None = None
    """About so much in one batch, and at least one file: `512m`, `10g`."""
    starting_version: Version | None = None
    """Start with this version's commit, without the rows from before; `latest`: with the next. Used by a new
    checkpoint only."""
    starting_timestamp: Text | None = None
    """Start with the first commit at or after this time: `2026-01-01`, `2026-01-01T00:00:00Z`. Used by a new
    checkpoint only."""
    ignore_deletes: bool = False
    """Pass over commits that only remove whole files."""
    ignore_changes: bool = False
    """Read the files that an update or delete has written anew: rows that did not change come again."""
    skip_change_commits: bool = False
    """Pass over every commit that changes or removes rows, with all that it adds."""
    read_change_feed: bool = False
    """Read changes as rows, with `_change_type`, `_commit_version`, `_commit_timestamp`. The table keeps them where its
    property `delta.enableChangeDataFeed` is true."""
    exclude_regex: Text | None = None
    """Leave out files whose path matches this Java regular expression."""
    fail_on_data_loss: bool = True
    """Fail where commits that were not read are gone, rather than go on behind the gap."""
    options: Options = Field(default_factory=dict)
    """Further options of Delta's source; those that this document has a field for are refused."""

    def columns(self) -> DeclaredColumns | None:
        """Only the table knows its columns."""
        return None


class Merge(Model):
    """Upsert by keys: a row replaces the row of the table that has equal keys, or removes it."""

    keys: Columns
    """Columns that identify a row."""
    sequence_by: Column | None = None
    """Column that orders the changes of a key. Of a batch the highest counts, and a row below the table's is left out; null
    is below all. Without it two rows of a batch with equal keys are an error."""
    delete_when: Predicate | None = None
    """Condition in SQL over the query's columns, such as `op = 'D'`: the row removes the table's, and is not written."""
    except_columns: Columns | None = None
    """Columns that are not written, such as the one that `deleteWhen` asks for."""


class Optimize(Model):
    """Small files become large ones; no row changes, and streams of the table do not read it again."""

    z_order_by: Columns | None = None
    """Columns whose near values come near each other. Each time the whole table is written anew."""


class Vacuum(Model):
    """Files that no version within `retain` needs are removed."""

    retain: Duration = "7 days"
    """How far back versions stay readable, and readers may lag; 7 days or more."""


class Maintenance(Model):
    """What is done to a table beside its stream, in the driver, one table at a time. A failure is logged, and ends nothing."""

    every: Duration = "1 day"
    """Time between two rounds; the first one comes after at most 10 minutes."""
    optimize: Optimize | None = None
    """Compact small files."""
    vacuum: Vacuum | None = None
    """Remove files of old versions."""


_MERGE_NEEDED: Final = ModeRefusal(
    ("update",),
    "Delta has no update mode; give the sink merge: {{keys: [...]}} to upsert",
    "a Delta sink without merge has no update mode; set merge: {keys: [...]}",
    reason=reasons.MERGE_NEEDED,
    conditions=(FieldCondition("merge", given=False),),
)
_MERGE_REPLACES: Final = ModeRefusal(
    ("complete",),
    "merge upserts rows that are new or changed, and complete replaces the table; use update",
    "merge upserts new and changed rows, and complete mode replaces the table; use another outputMode or remove merge",
    conditions=(FieldCondition("merge"),),
    field="merge",
)
_MERGE_WITHOUT_OPTIONS: Final = ModeRefusal(
    (),
    "options go to Delta's streaming writer, which a merge does not use",
    "options are for Delta's streaming writer, which a merge does not use; remove options",
    reason=reasons.OPTIONS_NOT_ALLOWED,
    conditions=(FieldCondition("merge"), FieldCondition("options")),
    field="options",
)


class DeltaSink(SinkKind):
    """A Delta table, exactly once: each batch is at most one version of the table."""

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    owned_options: ClassVar = OWNED_WRITER | {
        "mergeschema": "mergeSchema",
        "overwriteschema": "overwriteSchema",
    }
    refusals: ClassVar = (_MERGE_NEEDED, _MERGE_REPLACES, _MERGE_WITHOUT_OPTIONS)
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = False

    path: Text
    """Folder of the table; made by the first batch when it does not exist. On S3 one pipeline writes a table."""
    partition_by: Columns | None = None
    """Columns that partition a table made here."""
    merge: Merge | None = None
    """Upsert in place of append; the way to write `outputMode: update`."""
    merge_schema: bool = False
    """Add columns of the query that the table does not have; without it such a batch is refused."""
    overwrite_schema: bool = False
    """Let a batch in `complete` mode change the table's columns, types and partitions."""
    maintenance: Maintenance | None = None
    """Compact and clean the table every so often."""
    options: Options = Field(default_factory=dict)
    """Further options of Delta's writer; not with `merge`."""

    def guarantee(self) -> Guarantee:
        """The table's log records the last batch of each query."""
        return Guarantee(
            Delivery.EXACTLY_ONCE, "exactly once: each batch is at most one version of the table"
        )

    def repeated(self, mode: str) -> str:
        """The table knows batches by the checkpoint's id, and the new checkpoint has its own."""
        if self.merge is None:
            return "gets its rows replaced" if mode == "complete" else "gets their rows again"
        if self.merge.sequence_by:
            return "merges their rows again, and older rows replace no newer ones"
        return "merges their rows again, and older rows replace newer ones until the query has caught up"

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """The columns of partitions, merge and Z-order."""
        yield from column_paths("partitionBy", self.partition_by)
        if self.merge:
            yield from column_paths("keys", self.merge.keys, "merge")
            yield from column_paths("sequenceBy", self.merge.sequence_by, "merge")
            yield from column_paths("exceptColumns", self.merge.except_columns, "merge")
        if self.maintenance and self.maintenance.optimize:
            yield from column_paths(
                "zOrderBy", self.maintenance.optimize.z_order_by, "maintenance", "optimize"
            )
