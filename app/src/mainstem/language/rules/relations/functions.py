"""Functions that the document defines: their names, types and calls."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.context import Context
from mainstem.language.sql.builtins import BUILTINS
from mainstem.language.sql.facts import streamed_calls
from mainstem.language.yaml.yamltext import Path


def names(context: Context) -> Iterator[Problem]:
    """No function has the name of a built-in function of Spark, which Spark would call instead."""
    for index, function in enumerate(context.spec.functions):
        if function.name in BUILTINS:
            message = f"Spark has a function {function.name!r}, and would call that function instead; choose another name"
            yield context.problem(("functions", index, "name"), message, reasons.FUNCTION_NAME_TAKEN)


def java(context: Context) -> Iterator[Problem]:
    """The class of a Java aggregate defines the type, so `returns` is not allowed."""
    for index, function in enumerate(context.spec.functions):
        if function.java and function.java.aggregate and function.java.returns is not None:
            path: Path = ("functions", index, "java", "returns")
            message = "the class of an aggregate defines its own type; leave returns out"
            yield context.problem(path, message, reasons.FIELD_NOT_ALLOWED)


def aggregates(context: Context) -> Iterator[Problem]:
    """No view calls a Python aggregate over a stream: Spark cannot keep its state."""
    wanted = {f.name for f in context.spec.functions if f.python and f.python.aggregate}
    for index, view in enumerate(context.spec.views):
        facts = context.graph.facts[view.name]
        streaming = {name: context.graph.streams(name, certain=True) for name in context.graph.names}
        for name, offset in streamed_calls(facts, wanted, streaming):
            message = (
                f"{name} aggregates pandas Series, which Spark does not support over a stream; write a function that takes a list, without "
                f"aggregate: true, and call {name}(collect_list(...))"
            )
            yield context.problem(
                ("views", index, "sql"), message, reasons.AGGREGATE_NOT_ALLOWED, offset=offset
            )
