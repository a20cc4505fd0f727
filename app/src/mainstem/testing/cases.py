"""The models of a test file: cases of a pipeline, steps of a case, and the input and expected output of a step."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from mainstem.language.base import MAX_ITEMS, Ddl, Identifier, Label, Model, Text
from mainstem.language.model.pipeline import Parameter
from mainstem.names import ApiVersion


KIND = "PipelineTest"

Row = dict[str, Any] | str
"""Columns and their values; or, as a string, the text of a record before decoding."""


def is_record(row: Row) -> bool:
    """Whether a row has the columns of a record itself: `{record: {value: .., key: ..}}`."""
    return isinstance(row, dict) and list(row) == ["record"] and isinstance(row["record"], dict)


Rows = Annotated[tuple[Row, ...], Field(max_length=10_000)]
ExpectedRows = Annotated[tuple[dict[str, Any], ...], Field(max_length=10_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Expected(Model):
    """The expected result of a step; the test does not check relations and queries that are not listed."""

    relations: Annotated[dict[Identifier, ExpectedRows], Field(max_length=MAX_ITEMS)] = Field(
        default_factory=dict
    )
    """Source, view or dead letters -> the rows that the step adds there, in any order."""
    queries: Annotated[dict[Label, ExpectedRows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Query -> the rows that it writes to its sinks in the step, in any order."""
    dropped: Annotated[dict[Label, Annotated[int, Field(ge=0)]], Field(max_length=MAX_ITEMS)] = Field(
        default_factory=dict
    )
    """Query -> the number of rows that its watermark drops in the step, as Spark counts them."""


class Step(Model):
    """Rows that arrive together, and the expected result before the next step."""

    given: Annotated[dict[Identifier, Rows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Streaming source -> new rows. A string is the text of a record; `{record: {value: .., key: ..}}` has its columns."""
    expect: Expected = Field(default_factory=Expected)
    """The expected result."""


class Case(Model):
    """One test: the pipeline starts with an empty checkpoint and processes step after step with the same state."""

    name: Name
    """What the case tests."""
    tables: Annotated[dict[Identifier, Rows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Static source, or topic with an end -> its rows."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=MAX_ITEMS)]
    """The steps."""


class PipelineTest(Model):
    """Tests of one pipeline."""

    api_version: ApiVersion
    """Version of the language."""
    kind: Literal["PipelineTest"]
    """Kind of the document."""
    pipeline: Text | None = None
    """The pipeline's file, relative to this file; by default `x.yaml` for `x.test.yaml`."""
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MAX_ITEMS)] = ()
    """Values of the pipeline's parameters."""
    schemas: Annotated[dict[Identifier, Ddl], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Source -> its columns as DDL, for a source that takes its columns from a table."""
    tables: Annotated[dict[Identifier, Rows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Static source, or topic with an end -> its rows, for every case."""
    cases: Annotated[tuple[Case, ...], Field(min_length=1, max_length=MAX_ITEMS)]
    """The tests."""
