"""Stands between Spark and the user's function of `applyInPandasWithState`, as `stateful` does for processors."""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql.types import StructType

from mainstem.dataframes.user_code.series import series_converter
from mainstem.dataframes.user_code.stateful import Kept
from mainstem.dataframes.user_code.typed import Typed


class TypedStateFunction:
    """A user's function whose rows and state have their declared types.

    Args:
        where: the part of the document that names the function, for messages.
        function: takes the key, DataFrames of pandas and the state.
        schema: the columns of the rows that it returns.
        state: the columns of its state.
    """

    def __init__(
        self, where: str, function: Callable[..., Any], schema: StructType, state: StructType
    ) -> None:
        self._function, self._typed = function, Typed(where, schema, series_converter)
        self._kept = Kept(f"{where}, its state", state, pandas=True)

    def __call__(self, key: Any, frames: Any, state: Any) -> Iterator[Any]:
        """The converted rows."""
        return map(self._typed, self._function(key, frames, TypedGroupState(state, self._kept)))


class TypedGroupState:
    """Spark's `GroupState`, whose value has its declared type."""

    def __init__(self, state: Any, kept: Kept) -> None:
        self._state, self._kept = state, kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    @property
    def get(self) -> Any:
        """The value; raises Spark's error if there is none."""
        return self._kept.from_state(self._state.get)

    @property
    def getOption(self) -> Any:  # noqa: N802
        """The value; None if there is none."""
        return self._kept.from_state(self._state.getOption)

    def update(self, newValue: Any) -> None:  # noqa: N803
        """Keep a value."""
        self._state.update(self._kept.to_state(newValue))
