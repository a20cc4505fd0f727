"""Calls the user's functions in Spark's workers, and gives Spark only results of the declared types."""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql.types import DataType

from mainstem import reasons
from mainstem.dataframes.user_code.misfit import Misfit
from mainstem.dataframes.user_code.result_values import Convert
from mainstem.dataframes.user_code.results import converter
from mainstem.errors import NotReady


class Typed:
    """A conversion to a declared type that a worker unpickles.

    Args:
        where: the part of the document that names the code, for the message.
        kind: the declared type.
        make: makes the conversion. The worker calls it, since a conversion consists of closures, which are large in a pickle.
    """

    def __init__(self, where: str, kind: DataType, make: Callable[[DataType], Convert] = converter) -> None:
        self._where, self._kind, self._make = where, kind, make
        self._convert: Convert | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None}

    def __call__(self, result: Any) -> Any:
        """The result as Spark gets it; raises `NotReady` (`PythonFailed`) for one that does not fit the type."""
        if self._convert is None:
            self._convert = self._make(self._kind)
        try:
            return self._convert(result)
        except Misfit as misfit:
            raise NotReady(f"{self._where}: {misfit}", reason=reasons.PYTHON_FAILED) from None


class TypedFunction:
    """A function whose results are converted."""

    def __init__(self, function: Callable[..., Any], typed: Typed) -> None:
        self._function, self._typed = function, typed

    def __call__(self, *values: Any, **more: Any) -> Any:
        """The converted result."""
        return self._typed(self._function(*values, **more))


class TypedBatches(TypedFunction):
    """A function of iterators whose results are converted one by one."""

    def __call__(self, *values: Any, **more: Any) -> Iterator[Any]:
        """The converted results."""
        return map(self._typed, self._function(*values, **more))
