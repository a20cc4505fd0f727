"""The way to a value in a record, as messages show it."""

from typing import Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType

from mainstem import logs
from mainstem.dataframes.spark_types import named


BEGINNING: Final = 40
"""Characters of a value that a message shows: enough to recognize the value, too few for a whole document or key."""


class _Key(NamedTuple):
    """The key of a map, which belongs to the values of the record."""

    key: Column


class RecordPath(NamedTuple):
    """The way to a value in a record, such as `l[0].a` or `m["key"].a`: Spark knows the numbers and the keys.

    Attributes:
        parts: the names of fields, the numbers of elements and the keys of maps on the way.
    """

    parts: tuple[str | Column | _Key, ...] = ()

    def field(self, name: str) -> "RecordPath":
        """The way to a field of the struct here."""
        return RecordPath((*self.parts, name))

    def element(self, number: Column) -> "RecordPath":
        """The way to an element of the array here, by its number."""
        return RecordPath((*self.parts, number))

    def entry(self, key: Column) -> "RecordPath":
        """The way to a value of the map here, by its key."""
        return RecordPath((*self.parts, _Key(key)))

    def text(self, hidden: bool | Column) -> Column:
        """The text of the way; `hidden` keys are not shown."""
        first, *further = self.parts
        return F.concat(F.lit(first), *(_step(part, hidden) for part in further))

    def is_credential(self, kind: DataType) -> bool | Column:
        """Whether a name on the way or in the type is the name of a credential: its value and its keys are hidden."""
        fixed = ".".join(part for part in self.parts if isinstance(part, str))
        if logs.names_credential(f"{fixed} {named(kind)}"):
            return True
        if not any(isinstance(part, _Key) for part in self.parts):
            return False
        names = (
            part.key if isinstance(part, _Key) else F.lit(part)
            for part in self.parts
            if not isinstance(part, Column)
        )
        return F.rlike(F.concat_ws(".", *names), F.lit(f"(?i){logs.CREDENTIAL_WORDS}"))


def _step(part: str | Column | _Key, hidden: bool | Column) -> Column:
    if isinstance(part, str):
        return F.lit(f".{part}")
    if isinstance(part, _Key):
        escaped = F.regexp_replace(part.key, r'(["\\])', r"\\$1")
        return F.concat(F.lit('["'), masked(cut(escaped), hidden), F.lit('"]'))
    return F.concat(F.lit("["), part.cast("string"), F.lit("]"))


def masked(value: Column, hidden: bool | Column) -> Column:
    """A text, or stars if it is hidden."""
    if isinstance(hidden, bool):
        return F.lit(logs.STARS) if hidden else value
    return F.when(hidden, logs.STARS).otherwise(value)


def cut(value: Column) -> Column:
    """The beginning of a text on one line."""
    text = F.regexp_replace(F.substring(value, 1, BEGINNING + 1), r"[\p{Cc}\u2028\u2029]", " ")
    shortened = F.concat(F.substring(text, 1, BEGINNING), F.lit("..."))
    return F.when(F.length(text) > BEGINNING, shortened).otherwise(text)
