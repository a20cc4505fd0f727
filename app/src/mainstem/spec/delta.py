"""Delta tables: as a stream that is read."""

from pydantic import Field

from mainstem.spec.base import ByteSize, Model, Options, PositiveInt, Text, Version


class DeltaSource(Model):
    """A Delta table as a stream: the rows that it holds, then each commit's as it comes.

    A commit that changes or removes rows fails the query, unless one of the switches below says what to do with it.
    OPTIMIZE changes no row, and is passed over.
    """

    path: Text
    """Folder of the table."""
    max_files_per_trigger: PositiveInt | None = None
    """At most so many new files in one batch; without it 1000, as Delta has it."""
    max_bytes_per_trigger: ByteSize | None = None
    """About so much in one batch, and at least one file: `512m`, `10g`."""
    starting_version: Version | None = None
    """Start with this version's commit, without the rows from before; `latest`: with the next. Heeded by a fresh
    checkpoint only."""
    starting_timestamp: Text | None = None
    """Start with the first commit at or after this time: `2026-01-01`, `2026-01-01T00:00:00Z`. Heeded by a fresh
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
