"""Views without SQL: deduplication, and steps in Python over other relations."""

from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from mainstem import reasons
from mainstem.dataframes.user_code import code, signatures
from mainstem.dataframes.user_code.group_state import TypedStateFunction
from mainstem.dataframes.user_code.stateful import TypedProcessor
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.analysis import stateful_columns
from mainstem.language.model.views import Deduplicate, PythonStep, Stateful


def deduplicate(frame: DataFrame, step: Deduplicate) -> DataFrame:
    """The rows without duplicates in the given columns."""
    columns = list(step.columns) if step.columns else None
    return (
        frame.dropDuplicatesWithinWatermark(columns)
        if step.within_watermark
        else frame.dropDuplicates(columns)
    )


def transform(view: str, step: PythonStep, inputs: list[DataFrame]) -> DataFrame:
    """The DataFrame that the user's function returns for the inputs.

    Raises:
        NotReady: the function does not exist, fails, or does not return a DataFrame.
    """
    where = f"view {view!r}"
    signatures.check(where, code.load(where, step.function), step.inputs, step.arguments)
    return code.dataframe(where, step.function, inputs, step.arguments)


def stateful(view: str, step: Stateful, inputs: list[DataFrame], output_mode: str) -> DataFrame:
    """The rows that the user's stateful code returns.

    Args:
        view: name of the view.
        step: the step in the document.
        inputs: the rows, and the initial state if the step has one.
        output_mode: the query's output mode, if the step has none.

    Raises:
        NotReady: the code does not exist, or the processor's class cannot be instantiated.
        SpecInvalid: the name of a column has a dot.
    """
    _check_names(view, inputs[0])
    where = f"view {view!r}"
    mode = step.output_mode or output_mode
    groups, rows = inputs[0].groupBy(*step.keys), StructType.fromDDL(step.schema_)
    if step.function:
        function = code.load(where, step.function)
        signatures.check(where, function, ["key", "frames", "state"], step.arguments)
        state = StructType.fromDDL(step.state_schema or "")
        call: Any = TypedStateFunction(where, partial(function, **step.arguments), rows, state)
        return groups.applyInPandasWithState(call, rows, state, mode, step.timeout or "NoTimeout")
    processor = code.call(where, step.processor or "", **step.arguments)
    signatures.check_processor(where, processor, initial=step.initial_state is not None)
    apply: Any = groups.transformWithStateInPandas if step.pandas else groups.transformWithState
    return apply(
        TypedProcessor(where, processor, rows, pandas=step.pandas),
        rows,
        mode,
        step.time_mode or "None",
        inputs[1].groupBy(*step.keys) if step.initial_state else None,
        step.event_time_column or "",
    )


def _check_names(view: str, rows: DataFrame) -> None:
    if message := stateful_columns.unsupported(rows.columns):
        problem = Problem(0, 0, "spec.views", f"{view!r}: {message}", reasons.STATE_NOT_ALLOWED)
        raise SpecInvalid([problem])
