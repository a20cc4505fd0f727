"""Registers the document's functions in a query's session."""

from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf
from pyspark.sql.types import DataType
from pyspark.util import PythonEvalType

from mainstem import reasons
from mainstem.dataframes.user_code import code
from mainstem.dataframes.user_code.series import aggregate_converter, series_converter
from mainstem.dataframes.user_code.typed import Typed, TypedBatches, TypedFunction
from mainstem.errors import NotReady, Problem, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.functions import JavaFunction, PythonFunction
from mainstem.language.model.queries import Query
from mainstem.language.requirements import functions_of


_AGGREGATES: Final = (
    PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF,
    PythonEvalType.SQL_GROUPED_AGG_PANDAS_ITER_UDF,
)


def register(session: SparkSession, graph: Graph, query: Query | None = None) -> None:
    """Register the functions that a query may call in its session; without a query all functions of the document.

    Raises:
        NotReady: a function or class does not exist, or Spark does not accept it.
        SpecInvalid: `returns` is not a Spark SQL type.
    """
    needed = functions_of(graph, query) if query else graph.spec.functions
    for index, function in enumerate(graph.spec.functions):
        kind = _type(index, function.python.returns) if function.python else None
        if function not in needed:
            continue
        if function.python and kind:
            session.udf.register(function.name, *_python(function.name, function.python, kind))
        if function.java:
            _java(session, function.name, function.java)


def _type(index: int, returns: str) -> DataType:
    try:
        return DataType.fromDDL(returns)
    except ParseException as error:
        message = f"{returns!r} is not a Spark SQL type: {error.getCondition()}"
        path = f"spec.functions[{index}].python.returns"
        raise SpecInvalid([Problem(0, 0, path, message, reasons.INVALID_TYPE)]) from error


def _python(name: str, python: PythonFunction, kind: DataType) -> tuple[Any, ...]:
    """The arguments of `udf.register` after the name: the function, and its type if the function does not declare it."""
    where = f"function {name!r}"
    call: Any = code.load(where, python.function)
    if hasattr(call, "evalType"):
        message = f"{where}: {python.function!r} is already a UDF"
        remedy = f"name the Python function inside it: {python.function}.func"
        raise NotReady(message, reason=reasons.FUNCTION_NOT_USABLE, remedy=remedy)
    if not (python.vectorized or python.aggregate):
        return TypedFunction(call, Typed(where, kind)), kind
    try:
        udf: Any = pandas_udf(call, kind)
    except PySparkException as error:
        message = f"{where}: Spark cannot make a pandas UDF from {python.function!r}: {error}"
        raise NotReady(" ".join(message.split()), reason=reasons.FUNCTION_NOT_USABLE) from error
    if (udf.evalType in _AGGREGATES) != python.aggregate:
        result = "one value for each group" if udf.evalType in _AGGREGATES else "a Series"
        message = f"{where}: the type hints of {python.function!r} return {result}, but aggregate is {str(python.aggregate).lower()}"
        remedy = f"set aggregate: {str(not python.aggregate).lower()}, or change the type hints"
        raise NotReady(message, reason=reasons.FUNCTION_NOT_USABLE, remedy=remedy)
    typed = Typed(where, kind, aggregate_converter if python.aggregate else series_converter)
    batches = udf.evalType == PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF
    udf.func = TypedBatches(call, typed) if batches else TypedFunction(call, typed)
    return (udf,)


def _java(session: SparkSession, name: str, java: JavaFunction) -> None:
    try:
        if java.jar:
            session._jsparkSession.sessionState().resourceLoader().addJar(java.jar)  # noqa: SLF001
        if java.aggregate:
            session.udf.registerJavaUDAF(name, java.class_)
        else:
            session.udf.registerJavaFunction(name, java.class_, java.returns)
    except (PySparkException, Py4JError) as error:
        text = " ".join(str(error).split())
        raise NotReady(f"function {name!r}: {text}", reason=reasons.FUNCTION_NOT_USABLE) from error
