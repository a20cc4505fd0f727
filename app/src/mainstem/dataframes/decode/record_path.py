"""The way to a value in a record, as messages show it."""

import re
from typing import Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType

from mainstem import logs
from mainstem.dataframes.spark_types import named


STARS: Final = "*****"
"""What messages show in place of what they hide."""
BEGINNING: Final = 40
"""Characters of a value that a message shows: enough to recognize the value, too few for a whole document or key."""


class RecordPath(NamedTuple):
    """The way to a value in a record, such as `l[0].a` or `m["key"].a`: Spark knows the numbers and the keys.

    Attributes:
        shown: the parts of its text; a key is one of its own.
        names: the names of fields and the keys on the way.
    """

    shown: tuple["str | Column | _Key", ...] = ()
    names: tuple["str | Column", ...] = ()

    def field(self, name: str) -> "RecordPath":
        """The way to a field of the struct here."""
        return RecordPath((*self.shown, f".{name}" if self.shown else name), (*self.names, name))

    def element(self, number: Column) -> "RecordPath":
        """The way to an element of the array here, by its number."""
        return RecordPath((*self.shown, "[", number.cast("string"), "]"), self.names)

    def entry(self, key: Column) -> "RecordPath":
        """The way to a value of the map here, by its key."""
        return RecordPath((*self.shown, '["', _Key(key), '"]'), (*self.names, key))

    def text(self, hidden: bool | Column) -> Column:
        """The text of the way; `hidden` keys are not shown."""
        return F.concat(*(_part(part, hidden) for part in self.shown))

    def is_credential(self, kind: DataType) -> bool | Column:
        """Whether a name on the way or in the type is the name of a credential: its value and its keys are hidden."""
        fixed = ".".join(name for name in self.names if isinstance(name, str))
        if re.search(logs.CREDENTIAL_WORDS, f"{fixed} {named(kind)}", re.IGNORECASE):
            return True
        if all(isinstance(name, str) for name in self.names):
            return False
        names = F.concat_ws(".", *(F.lit(name) if isinstance(name, str) else name for name in self.names))
        return F.rlike(names, F.lit(f"(?i){logs.CREDENTIAL_WORDS}"))


class _Key(NamedTuple):
    """The key of a map, which belongs to the values of the record."""

    key: Column


def _part(part: "str | Column | _Key", hidden: bool | Column) -> Column:
    if isinstance(part, _Key):
        return masked(cut(F.regexp_replace(part.key, r'(["\\])', r"\\$1")), hidden)
    return F.lit(part) if isinstance(part, str) else part


def masked(value: Column, hidden: bool | Column) -> Column:
    """A text, or stars if it is hidden."""
    if isinstance(hidden, bool):
        return F.lit(STARS) if hidden else value
    return F.when(hidden, STARS).otherwise(value)


def cut(value: Column) -> Column:
    """The beginning of a text on one line."""
    text = F.regexp_replace(F.substring(value, 1, BEGINNING + 1), r"[\p{Cc}\u2028\u2029]", " ")
    shortened = F.concat(F.substring(text, 1, BEGINNING), F.lit("..."))
    return F.when(F.length(text) > BEGINNING, shortened).otherwise(text)
