"""The error of a value that does not fit its declared type."""

import re
from typing import Any, Final, Self

from pyspark.sql.types import DataType

from mainstem.dataframes.spark_types import named


_LONGEST: Final = 60
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
"""It differs with each try, and the same error must have the same message."""


DECLARED: Final = re.compile(r"\bis declared as .+, but is ")
"""What stands in the message of each misfit."""


class Misfit(TypeError):
    """A value does not fit its declared type."""

    def __init__(self, value: Any, kind: DataType, why: str = "") -> None:
        super().__init__()
        self._places: list[str] = []
        self._value, self._kind, self._why = value, kind, why

    def at(self, place: str) -> Self:
        """The same error, for a value at this field or index of a larger one."""
        self._places.append(place)
        return self

    def __str__(self) -> str:
        place = "".join(reversed(self._places)).lstrip(".") or "the result"
        message = f"{place} is declared as {named(self._kind)}, but is {shown(self._value)} ({type(self._value).__name__})"
        return f"{message}: {self._why}" if self._why else message


def shown(value: Any) -> str:
    """A value in a message: on one line, and short."""
    try:
        text = _ADDRESS.sub("", " ".join(repr(value).split()))
    except Exception:  # noqa: BLE001 -- the user's own class may raise any, and so does a number with too many digits
        return "a value that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
