"""Delta tables: what a stream of one may be asked for."""

from collections.abc import Iterator

from mainstem.errors import Problem
from mainstem.spec.delta import DeltaSource
from mainstem.spec.rules.context import Context
from mainstem.spec.yamltext import Path


def starts(context: Context) -> Iterator[Problem]:
    """A stream of a Delta table starts at a version or at a time, not at both."""
    for path, source in _sources(context):
        if source.starting_version is not None and source.starting_timestamp is not None:
            message = "startingVersion says already where the stream starts; give one of the two"
            yield context.problem((*path, "startingTimestamp"), message, "FieldsConflict")


def changes(context: Context) -> Iterator[Problem]:
    """What becomes of a commit that changes rows is said once."""
    for path, source in _sources(context):
        said = {
            "readChangeFeed": source.read_change_feed,
            "skipChangeCommits": source.skip_change_commits,
            "ignoreChanges": source.ignore_changes,
            "ignoreDeletes": source.ignore_deletes,
        }
        first, *others = [name for name, on in said.items() if on] or [""]
        for name in others:
            message = f"{first} says already what becomes of such commits, and {name} would be passed over"
            yield context.problem((*path, name), message, "FieldsConflict")


def _sources(context: Context) -> Iterator[tuple[Path, DeltaSource]]:
    for index, source in enumerate(context.spec.sources):
        if source.delta:
            yield ("sources", index, "delta"), source.delta
