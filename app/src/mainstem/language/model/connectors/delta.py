"""Delta tables: streams from a table, and sinks that write, merge into and maintain a table."""

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from pydantic import Field

from mainstem import reasons
from mainstem.language.base import (
    ByteSize,
    Columns,
    Duration,
    Model,
    OneOrMoreColumns,
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
    """A Delta table as a stream: first its current rows, then the rows of each new commit.

    A commit that changes or removes rows fails the query, unless one of the fields below allows it. OPTIMIZE changes
    no row, and the query skips it.
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
    """Maximum number of new files in a batch; by default 1000, as in Delta."""
    max_bytes_per_trigger: ByteSize | None = None
    """Approximate size of a batch, which has at least one file: `512m`, `10g`."""
    starting_version: Version | None = None
    """Start with the commit of this version, without earlier rows; `latest` starts with the next commit. Only a query
    with a new checkpoint uses the start."""
    starting_timestamp: Text | None = None
    """Start with the first commit at or after this time: `2026-01-01`, `2026-01-01T00:00:00Z`. Only a query with a
    new checkpoint uses the start."""
    ignore_deletes: bool = False
    """Skip commits that only remove whole files."""
    ignore_changes: bool = False
    """Read the files that an UPDATE or DELETE rewrites, including rows that did not change."""
    skip_change_commits: bool = False
    """Skip every commit that changes or removes rows, including the rows that it adds."""
    read_change_feed: bool = False
    """Read changes as rows, with `_change_type`, `_commit_version`, `_commit_timestamp`. The table records changes if
    its property `delta.enableChangeDataFeed` is true."""
    exclude_regex: Text | None = None
    """Skip files whose path matches this Java regular expression."""
    fail_on_data_loss: bool = True
    """If commits that the query has not read are missing, true fails the query; false continues after the gap."""
    options: Options = Field(default_factory=dict)
    """Further options of Delta's source. Mainstem refuses options that have their own field."""

    @property
    def starts_at_newest(self) -> bool:
        """True with `startingVersion: latest`."""
        return self.starting_version == "latest"

    def columns(self) -> DeclaredColumns | None:
        """Only the table knows its columns."""
        return None


class Merge(Model):
    """Upsert by keys: a row replaces or removes the table's row with equal keys."""

    keys: Columns
    """Columns that identify a row."""
    allow_null_keys: bool = False
    """False fails a batch with a row whose key, or a field of a STRUCT that is a key, is null. True merges such rows, and null
    equals null."""
    sequence_by: OneOrMoreColumns | None = None
    """Column that orders the changes of a key, or several columns: the second one decides if the first ones are equal. The
    merge uses the row of a batch with the highest value, and skips this row if the table's row has a higher value. Null is
    lower than every value. Without this field, two rows of a batch with equal keys are an error."""
    on_equal_sequence: Literal["takeLater", "fail"] = "takeLater"
    """For different rows of a batch with equal keys and equal `sequenceBy`: `takeLater` uses the row whose record is the later
    one in the source, and fails the batch if the source shows no order. `fail` always fails the batch."""
    delete_when: Predicate | None = None
    """Condition in SQL over the query's columns, such as `op = 'D'`. A row that meets it removes the table's row, and
    the merge does not write it."""
    except_columns: Columns | None = None
    """Columns that the merge does not write, such as the column in `deleteWhen`."""

    @property
    def takes_later(self) -> bool:
        """Whether the order of records in the source decides between rows with equal keys and equal sequences."""
        return self.sequence_by is not None and self.on_equal_sequence == "takeLater"


class Optimize(Model):
    """Combines small files into large ones. No row changes, and streams of the table do not read the rows again."""

    z_order_by: Columns | None = None
    """Columns by which the table is clustered: rows with similar values are in the same files. Each round rewrites the whole
    table."""


class Vacuum(Model):
    """Removes files that no version within `retain` needs."""

    retain: Duration = "7 days"
    """Time for which old versions stay readable and readers may lag; at least 7 days."""


class Maintenance(Model):
    """Work on a table in the driver, beside its stream, one table at a time. A failure appears in the log, and stops
    no query.
    """

    every: Duration = "1 day"
    """Time between two rounds; the first round starts after at most 10 minutes."""
    optimize: Optimize | None = None
    """Compacts small files."""
    vacuum: Vacuum | None = None
    """Removes files of old versions."""


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
    """Folder of the table. The first batch creates a missing table. On S3 only one pipeline may write a table."""
    partition_by: Columns | None = None
    """Columns that partition the table, if this query creates it."""
    merge: Merge | None = None
    """Upsert instead of append; `outputMode: update` needs it."""
    merge_schema: bool = False
    """True adds columns that only the query has to the table; false refuses a batch with such columns."""
    overwrite_schema: bool = False
    """True lets a batch in `complete` mode change the table's columns, types and partitions."""
    maintenance: Maintenance | None = None
    """Compacts and cleans the table at an interval."""
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
            sequence = self.merge.sequence_by or ()
            yield from column_paths("sequenceBy", sequence[0] if len(sequence) == 1 else sequence, "merge")
            yield from column_paths("exceptColumns", self.merge.except_columns, "merge")
        if self.maintenance and self.maintenance.optimize:
            yield from column_paths(
                "zOrderBy", self.maintenance.optimize.z_order_by, "maintenance", "optimize"
            )
