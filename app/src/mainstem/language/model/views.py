"""Views: transformations in SQL, and steps for transformations that SQL cannot express."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mainstem.language.base import (
    MAX_ITEMS,
    Column,
    Columns,
    Ddl,
    Identifier,
    Model,
    Options,
    PythonObject,
    Sql,
)
from mainstem.language.model.expectations import Expectations
from mainstem.language.model.sources import Watermark
from mainstem.language.yaml.yamltext import Path


class Deduplicate(Model):
    """The relation without repeated rows. Spark remembers rows as state."""

    from_: Annotated[Identifier, Field(alias="from")]
    """Source or view to read."""
    columns: Columns | None = None
    """Columns in which repeated rows are equal; by default all columns."""
    within_watermark: bool = False
    """True if Spark remembers a row only for the watermark's delay. Repeated rows may then have different event times."""


class PythonStep(Model):
    """A Python function from DataFrames to a DataFrame; docs/python.md describes how it is found."""

    function: PythonObject
    """`module:name` of the function."""
    inputs: Annotated[
        tuple[Identifier, ...],
        Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
    ]
    """Sources and views; the function gets a DataFrame of each, in this order. To read a relation twice, name it
    twice."""
    arguments: Options = Field(default_factory=dict)
    """Further arguments of the function, by keyword; all are strings."""


class InitialState(Model):
    """The state before the first row."""

    from_: Annotated[Identifier, Field(alias="from")]
    """A relation that does not stream, with the same key columns."""


class Stateful(Model):
    """Python code that keeps state for each key: one of `processor`, `function`."""

    one_of: ClassVar = ("processor", "function")

    from_: Annotated[Identifier, Field(alias="from")]
    """Source or view to read."""
    keys: Columns
    """Rows that are equal in these columns share their state."""
    processor: PythonObject | None = None
    """`module:Class` of a StatefulProcessor, for `transformWithState`."""
    function: PythonObject | None = None
    """`module:name` of a function, for `applyInPandasWithState`."""
    schema_: Annotated[Ddl, Field(alias="schema")]
    """Columns of the result, as DDL: `user STRING, visits INT`."""
    state_schema: Ddl | None = None
    """Columns of a key's state, as DDL. A function needs it; a processor declares its own state."""
    pandas: bool = False
    """True if the processor takes and yields pandas DataFrames instead of rows."""
    output_mode: Literal["append", "update"] | None = None
    """Spark's output mode of this step; by default the query's."""
    time_mode: Literal["None", "ProcessingTime", "EventTime"] | None = None
    """The clock of a processor's timers and of its state's time to live; by default `None`, without both."""
    timeout: Literal["NoTimeout", "ProcessingTimeTimeout", "EventTimeTimeout"] | None = None
    """The clock of a function's timeouts; by default `NoTimeout`."""
    event_time_column: Column | None = None
    """Column of `schema` with the event time of a processor's rows, for later stateful steps."""
    initial_state: InitialState | None = None
    """State with which a processor starts on a fresh checkpoint."""
    arguments: Options = Field(default_factory=dict)
    """Arguments of the processor's class, or further arguments of the function, by keyword; all are strings."""


class View(Model):
    """A named transformation, which queries and other views read like a source: one of `sql`, `python`,
    `deduplicate`, `state`.
    """

    one_of: ClassVar = ("sql", "python", "deduplicate", "state")

    name: Identifier
    """Name of the relation in SQL."""
    sql: Sql | None = None
    """Exactly one query in Spark SQL over sources and views."""
    python: PythonStep | None = None
    """The DataFrame that a Python function builds from other DataFrames."""
    deduplicate: Deduplicate | None = None
    """The rows of another relation, without repeated rows."""
    state: Stateful | None = None
    """Rows that Python code computes, with state for each key."""
    expectations: Expectations = ()
    """Conditions for the view's rows; Mainstem checks them before it applies the watermark."""
    watermark: Watermark | None = None
    """Event time that the view computes, and how late a row may be."""

    @property
    def quarantine(self) -> str | None:
        """Name of the relation of quarantined rows; None for a view without one."""
        exists = any(expectation.on_violation == "quarantine" for expectation in self.expectations)
        return f"{self.name}_quarantine" if exists else None

    @property
    def inputs(self) -> tuple[tuple[Path, str], ...]:
        """The relations that a view without SQL reads, in order: the path of each name below the view, and the name."""
        if self.python:
            return tuple((("python", "inputs", index), name) for index, name in enumerate(self.python.inputs))
        if self.deduplicate:
            return ((("deduplicate", "from"), self.deduplicate.from_),)
        if self.state and self.state.initial_state:
            initial: tuple[Path, str] = (("state", "initialState", "from"), self.state.initial_state.from_)
            return ((("state", "from"), self.state.from_), initial)
        return ((("state", "from"), self.state.from_),) if self.state else ()
