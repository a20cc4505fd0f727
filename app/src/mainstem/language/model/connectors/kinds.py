"""Traits: what holds for every connection, source, table or sink of a kind, whatever its document sets.

A model inherits from one of the classes below and gives each trait a value. Rules, `explain`, the CRD and preflight
read the traits. So a new kind needs no change there.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple, get_args

from mainstem import reasons
from mainstem.language.base import Model


FieldPath = tuple[str | int, ...]
"""Where a value stands below its kind, such as `("merge", "keys", 0)`."""
OUTPUT_MODES: Final = ("append", "update", "complete")


class Delivery(StrEnum):
    """How often a row arrives, whatever fails."""

    EXACTLY_ONCE = "exactly once"
    AT_LEAST_ONCE = "at least once"
    UNKNOWN = "depends on the connector"
    NOT_KEPT = "rows are not kept"


class Guarantee(NamedTuple):
    """The delivery guarantee of a sink.

    Attributes:
        delivery: how often a row arrives.
        text: the line that `mainstem explain` prints.
    """

    delivery: Delivery
    text: str


AT_LEAST_ONCE: Final = Guarantee(
    Delivery.AT_LEAST_ONCE, "at least once: after a failure the last batch may be written again"
)
"""The guarantee of a sink that keeps no account of batches."""


class FieldCondition(NamedTuple):
    """A condition on one field of a sink.

    Attributes:
        field: key of the field.
        given: whether the field has to be given, or to be missing.
        value: the text that the field has to have; None where any value counts.
    """

    field: str
    given: bool = True
    value: str | None = None

    def holds(self, sink: Model) -> bool:
        """Whether a sink meets the condition; an empty map counts as missing."""
        value = sink.member(self.field)
        return bool(value) == self.given if self.value is None else bool(value == self.value)


class ModeRefusal(NamedTuple):
    """A combination of output mode and fields that a kind of sink does not write.

    The rule of `outputMode` and the CRD's rule in CEL are both made from it.

    Attributes:
        modes: the refused output modes; empty for all three.
        message: our message; `{kind}` and `{mode}` may stand in it.
        server: the API server's message, which cannot quote the document.
        reason: stable name.
        conditions: further conditions on the sink, all of which have to hold.
        field: key of the sink's field that the problem names; empty for the query's `outputMode`.
    """

    modes: tuple[str, ...]
    message: str
    server: str
    reason: reasons.Reason = reasons.OUTPUT_MODE_NOT_ALLOWED
    conditions: tuple[FieldCondition, ...] = ()
    field: str = ""

    def applies(self, sink: Model, mode: str) -> bool:
        """Whether a sink with this output mode is refused."""
        return mode in (self.modes or OUTPUT_MODES) and all(each.holds(sink) for each in self.conditions)


class DeclaredColumns(NamedTuple):
    """The columns that the document declares for a source or table.

    Attributes:
        names: their names, if the kind has fixed ones.
        ddl: their schema as DDL, if the document gives one.
        complete: whether there are no further ones.
        open: whether SQL may find further ones, such as those of folders.
        flat: whether none of them is a struct.
    """

    names: tuple[str, ...] = ()
    ddl: str | None = None
    complete: bool = True
    open: bool = False
    flat: bool = True


class Kind(Model):
    """A kind of connection, source, table or sink."""

    options_field: ClassVar[str]
    """Key of the map that goes to Spark or to user code unchanged; empty for a kind without."""
    owned_options: ClassVar[Mapping[str, str]]
    """Options that may not stand in that map, in lower case -> the field to use instead, or empty."""

    def given_options(self) -> Mapping[str, str]:
        """The map that goes to Spark or to user code unchanged."""
        options: Mapping[str, str] = self.member(self.options_field) if self.options_field else {}
        return options


class ConnectionKind(Kind):
    """A kind of connection."""

    title: ClassVar[str]
    """Its name in messages."""

    def required_secrets(self) -> Iterator[tuple[str, str]]:
        """Name and key of every secret value that a query needs before its first request to the server."""
        yield from ()


class ConnectorKind(Kind):
    """A kind of source, table or sink."""

    connection_kind: ClassVar[str | None]
    """Key of the kind of connection that the field `connection` names; None for a kind without that field."""

    @property
    def connection_name(self) -> str | None:
        """Name of the connection; None where the document gives none."""
        name: str | None = self.member("connection") if self.connection_kind else None
        return name

    @property
    def main_path(self) -> str | None:
        """The folder, file or table that is read or written; None for a kind without a path."""
        path: str | None = self.member("path") if "path" in type(self).model_fields else None
        return path

    def paths(self) -> Iterator[tuple[FieldPath, str]]:
        """Every path that the document gives: where it stands, and its text."""
        if self.main_path is not None:
            yield ("path",), self.main_path


class ReadKind(ConnectorKind):
    """A kind of source or table."""

    def owned(self, *, decoded: bool) -> Mapping[str, str]:  # noqa: ARG002 - files ask for it
        """The owned options, for a source with or without `decode`."""
        return self.owned_options

    def columns(self) -> DeclaredColumns | None:
        """The columns that the document declares; None where only Spark can tell."""
        raise NotImplementedError


class SourceKind(ReadKind):
    """A kind of streaming source."""

    delivery: ClassVar[Delivery]
    """How often a row is read, whatever fails."""
    continuous: ClassVar[bool]
    """Whether the trigger `continuous` can read it."""
    real_time: ClassVar[bool]
    """Whether the trigger `realTime` can read it."""
    real_time_refuses: ClassVar[tuple[str, ...]]
    """Keys of the fields that the trigger `realTime` refuses."""
    not_kept: ClassVar[str]
    """Why rows are lost after a failure; empty for a kind that can read its rows again."""

    @property
    def holds_records(self) -> bool:
        """Whether its rows are records that `decode` can read."""
        return False

    @property
    def bounded(self) -> bool:
        """Whether the document gives an end, so that the source does not stream."""
        return False


class TableKind(ReadKind):
    """A kind of table, which does not stream."""


class SinkKind(ConnectorKind):
    """A kind of sink."""

    refusals: ClassVar[tuple[ModeRefusal, ...]]
    """Output modes that it does not write; the first one that applies is reported."""
    continuous: ClassVar[bool]
    """Whether the trigger `continuous` can write it."""
    real_time: ClassVar[bool]
    """Whether the trigger `realTime` can write it."""
    real_time_alternative: ClassVar[str]
    """Key of the only alternative that `realTime` can write; empty where it can write all."""
    async_progress: ClassVar[bool]
    """Whether `asyncProgressTracking` can write it."""

    def guarantee(self) -> Guarantee:
        """The delivery guarantee with a micro-batch trigger."""
        raise NotImplementedError

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """Every column that the sink names: where it stands, and its name."""
        yield from ()


def column_paths(
    field: str, columns: tuple[str, ...] | str | None, *above: str
) -> Iterator[tuple[FieldPath, str]]:
    """The columns in one field of a sink: where each stands, and its name."""
    if isinstance(columns, str):
        yield (*above, field), columns
        return
    for index, column in enumerate(columns or ()):
        yield (*above, field, index), column


def kinds(union: type[Model]) -> dict[str, Any]:
    """The classes of the alternatives of a union, by key."""
    fields = {field.alias: field.annotation for field in union.model_fields.values()}
    return {key: get_args(fields[key])[0] for key in union.one_of}
