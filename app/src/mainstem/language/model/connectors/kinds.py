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
"""Path of a value below its kind, such as `("merge", "keys", 0)`."""
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
"""The guarantee of a sink that does not record committed batches."""


class FieldCondition(NamedTuple):
    """A condition on one field of a sink.

    Attributes:
        field: key of the field.
        given: True if the document has to set the field, False if the field has to be missing.
        value: the required text of the field; None if any value meets the condition.
    """

    field: str
    given: bool = True
    value: str | None = None

    def holds(self, sink: Model) -> bool:
        """True if a sink meets the condition; an empty map counts as missing."""
        value = sink.member(self.field)
        return bool(value) == self.given if self.value is None else bool(value == self.value)


class ModeRefusal(NamedTuple):
    """A combination of output mode and fields that a kind of sink does not write.

    The Python rule of `outputMode` and the CRD's rule in CEL both use it.

    Attributes:
        modes: the rejected output modes; empty for all three.
        message: Mainstem's message, with the placeholders `{kind}` and `{mode}`.
        server: the API server's message, which cannot quote the document.
        reason: stable name.
        conditions: further conditions on the sink; all have to hold.
        field: key of the sink's field that the problem refers to; empty for the query's `outputMode`.
    """

    modes: tuple[str, ...]
    message: str
    server: str
    reason: reasons.Reason = reasons.OUTPUT_MODE_NOT_ALLOWED
    conditions: tuple[FieldCondition, ...] = ()
    field: str = ""

    def applies(self, sink: Model, mode: str) -> bool:
        """True if a sink with this output mode is rejected."""
        return mode in (self.modes or OUTPUT_MODES) and all(each.holds(sink) for each in self.conditions)


class DeclaredColumns(NamedTuple):
    """The columns that the document declares for a source or table.

    Attributes:
        names: their names, if the kind has fixed ones.
        ddl: their schema as DDL, if the document gives one.
        complete: True if there are no further columns.
        open: True if SQL can use further columns, such as those of folders.
        flat: True if no column is a struct.
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
    """Options that this map must not contain, in lower case -> the field to use instead, or empty."""

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
        """Name of the connection; None if the document sets none."""
        name: str | None = self.member("connection") if self.connection_kind else None
        return name

    @property
    def main_path(self) -> str | None:
        """The folder, file or table that is read or written; None for a kind without a path."""
        path: str | None = self.member("path") if "path" in type(self).model_fields else None
        return path

    def paths(self) -> Iterator[tuple[FieldPath, str]]:
        """Every file path that the document sets: the path of its field, and its text."""
        if self.main_path is not None:
            yield ("path",), self.main_path


class ReadKind(ConnectorKind):
    """A kind of source or table."""

    def owned(self, *, decoded: bool) -> Mapping[str, str]:  # noqa: ARG002 - files use it
        """The owned options, for a source with or without `decode`."""
        return self.owned_options

    def columns(self) -> DeclaredColumns | None:
        """The columns that the document declares; None if only Spark knows them."""
        raise NotImplementedError

    @property
    def starts_at_newest(self) -> bool:
        """Whether an empty checkpoint begins behind every row that the source has at that time."""
        return False


class SourceKind(ReadKind):
    """A kind of streaming source."""

    delivery: ClassVar[Delivery]
    """How often a row is read, whatever fails."""
    continuous: ClassVar[bool]
    """Whether the trigger `continuous` can read it."""
    real_time: ClassVar[bool]
    """Whether the trigger `realTime` can read it."""
    real_time_refuses: ClassVar[tuple[str, ...]]
    """Keys of the fields that are not allowed with the trigger `realTime`."""
    not_kept: ClassVar[str]
    """The cause of lost rows after a failure; empty for a kind that can read its rows again."""

    @property
    def holds_records(self) -> bool:
        """Whether its rows are records that `decode` can read."""
        return False

    @property
    def bounded(self) -> bool:
        """True if the document sets an end; the source does not stream then."""
        return False


class TableKind(ReadKind):
    """A kind of table, which does not stream."""


class SinkKind(ConnectorKind):
    """A kind of sink."""

    refusals: ClassVar[tuple[ModeRefusal, ...]]
    """Output modes that it does not support; the first one that applies is reported."""
    continuous: ClassVar[bool]
    """Whether the trigger `continuous` can write it."""
    real_time: ClassVar[bool]
    """Whether the trigger `realTime` can write it."""
    real_time_alternative: ClassVar[str]
    """Key of the only alternative that `realTime` can write; empty if it can write all."""
    async_progress: ClassVar[bool]
    """Whether `asyncProgressTracking` can write it."""
    by_number: ClassVar[bool] = False
    """Whether it recognizes a batch by its number alone, so that it mistakes batches of two checkpoints for each other."""

    def guarantee(self) -> Guarantee:
        """The delivery guarantee with a micro-batch trigger."""
        raise NotImplementedError

    def repeated(self, mode: str) -> str:
        """What the sink does with rows of batches that an older checkpoint has written already.

        Args:
            mode: the output mode of the query.

        Returns:
            the end of a sentence that begins with the sink.
        """
        raise NotImplementedError

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """Every column that the sink names: the path of its field, and its name."""
        yield from ()


def column_paths(
    field: str, columns: tuple[str, ...] | str | None, *above: str
) -> Iterator[tuple[FieldPath, str]]:
    """The columns in one field of a sink: the path and the name of each."""
    if isinstance(columns, str):
        yield (*above, field), columns
        return
    for index, column in enumerate(columns or ()):
        yield (*above, field, index), column


def kinds(union: type[Model]) -> dict[str, Any]:
    """The classes of the alternatives of a union, by key."""
    fields = {field.alias: field.annotation for field in union.model_fields.values()}
    return {key: get_args(fields[key])[0] for key in union.one_of}
