"""Stands between Spark and the user's stateful code in Spark's workers.

Rows that the code returns and values that it keeps are converted to their declared types. Times that a processor of rows
has kept come back with a zone: Spark gives it rows with their zone, and returns state without.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ListState, MapState, ValueState
from pyspark.sql.types import StructType

from mainstem.dataframes.user_code.restored_values import restorer
from mainstem.dataframes.user_code.results import row_converter
from mainstem.dataframes.user_code.series import series_converter
from mainstem.dataframes.user_code.typed import Typed


class TypedProcessor(StatefulProcessor):  # type: ignore[misc]
    """A user's processor whose rows and states have their declared types.

    Args:
        where: the part of the document that names the processor, for messages.
        processor: an instance of the user's class.
        schema: the columns of the rows that it returns.
        pandas: whether it gets and returns DataFrames of pandas.
    """

    def __init__(self, where: str, processor: Any, schema: StructType, *, pandas: bool) -> None:
        self._where, self._processor, self._pandas = where, processor, pandas
        self._typed = Typed(where, schema, series_converter if pandas else row_converter)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once in each task, before the first key."""
        self._processor.init(TypedHandle(self._where, handle, pandas=self._pandas))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """The rows that the processor returns for a key."""
        return self._rows(self._processor.handleInputRows(key, rows, timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """The rows that the processor returns for a timer; none if it has no method for timers."""
        handle = getattr(self._processor, "handleExpiredTimer", None)
        if handle is None:
            return iter(())
        return self._rows(handle(key=key, timerValues=timerValues, expiredTimerInfo=expiredTimerInfo))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Called in the first batch for each row of the initial state."""
        self._processor.handleInitialState(key, initialState, timerValues)

    def close(self) -> None:
        """Called at the end of a task."""
        if close := getattr(self._processor, "close", None):
            close()

    def _rows(self, rows: Iterable[Any] | None) -> Iterator[Any]:
        return map(self._typed, rows) if rows is not None else iter(())


class TypedHandle(StatefulProcessorHandle):  # type: ignore[misc]
    """A handle whose state variables take and return values of their declared types."""

    def __init__(self, where: str, handle: StatefulProcessorHandle, *, pandas: bool) -> None:
        super().__init__(handle._statefulProcessorApiClient)  # noqa: SLF001
        self._where, self._pandas = where, pandas

    def getValueState(self, stateName: str, *schema: Any, **more: Any) -> "TypedValue":  # noqa: N802, N803
        """A variable with one value."""
        client = super().getValueState(stateName, *schema, **more)._valueStateClient  # noqa: SLF001
        return TypedValue(client, stateName, self._kept(stateName, client.schema))

    def getListState(self, stateName: str, *schema: Any, **more: Any) -> "TypedList":  # noqa: N802, N803
        """A variable with a list of values."""
        client = super().getListState(stateName, *schema, **more)._listStateClient  # noqa: SLF001
        return TypedList(client, stateName, self._kept(stateName, client.schema))

    def getMapState(self, stateName: str, *schemas: Any, **more: Any) -> "TypedMap":  # noqa: N802, N803
        """A variable with a value for each of its own keys."""
        client = super().getMapState(stateName, *schemas, **more)._mapStateClient  # noqa: SLF001
        keys, values = client.user_key_schema, client.value_schema
        return TypedMap(client, stateName, self._kept(stateName, keys), self._kept(stateName, values))

    def _kept(self, name: str, kind: StructType) -> "Kept":
        return Kept(f"{self._where}, state {name!r}", kind, pandas=self._pandas)


class Kept:
    """The conversion of values to state and back.

    Args:
        where: the part of the document and the variable, for messages.
        kind: the columns of the value.
        pandas: whether the code gets rows as DataFrames of pandas, whose times have no zone; then these have none either.
    """

    def __init__(self, where: str, kind: StructType, *, pandas: bool) -> None:
        self.to_state = Typed(where, kind)
        self._restore = None if pandas else restorer(kind)

    def from_state(self, value: Any) -> Any:
        """The value that was kept, as a tuple; None if there is none."""
        return None if value is None else tuple(self._restore(value)) if self._restore else value


class TypedValue(ValueState):  # type: ignore[misc]
    """A variable with one value."""

    def __init__(self, client: Any, name: str, kept: Kept) -> None:
        super().__init__(client, name)
        self._kept = kept

    def get(self) -> Any:
        """The value; None if there is none."""
        return self._kept.from_state(super().get())

    def update(self, newValue: Any) -> None:  # noqa: N803
        """Keep a value."""
        super().update(self._kept.to_state(newValue))


class TypedList(ListState):  # type: ignore[misc]
    """A variable with a list of values."""

    def __init__(self, client: Any, name: str, kept: Kept) -> None:
        super().__init__(client, name)
        self._kept = kept

    def get(self) -> Iterator[Any]:
        """The values."""
        return map(self._kept.from_state, super().get())

    def put(self, newState: Iterable[Any]) -> None:  # noqa: N803
        """Keep these values only."""
        super().put(list(map(self._kept.to_state, newState)))

    def appendValue(self, newState: Any) -> None:  # noqa: N802, N803
        """Keep one more value."""
        super().appendValue(self._kept.to_state(newState))

    def appendList(self, newState: Iterable[Any]) -> None:  # noqa: N802, N803
        """Keep more values."""
        super().appendList(list(map(self._kept.to_state, newState)))


class TypedMap(MapState):  # type: ignore[misc]
    """A variable with a value for each of its own keys."""

    def __init__(self, client: Any, name: str, keys: Kept, values: Kept) -> None:
        super().__init__(client, name)
        self._keys, self._values = keys, values

    def getValue(self, key: Any) -> Any:  # noqa: N802
        """The value of a key; None if there is none."""
        return self._values.from_state(super().getValue(self._keys.to_state(key)))

    def containsKey(self, key: Any) -> bool:  # noqa: N802
        """Whether a key has a value."""
        return bool(super().containsKey(self._keys.to_state(key)))

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        """Keep the value of a key."""
        super().updateValue(self._keys.to_state(key), self._values.to_state(value))

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values."""
        return (
            (self._keys.from_state(key), self._values.from_state(value)) for key, value in super().iterator()
        )

    def keys(self) -> Iterator[Any]:
        """The keys."""
        return map(self._keys.from_state, super().keys())

    def values(self) -> Iterator[Any]:
        """The values."""
        return map(self._values.from_state, super().values())

    def removeKey(self, key: Any) -> None:  # noqa: N802
        """Remove a key with its value."""
        super().removeKey(self._keys.to_state(key))
