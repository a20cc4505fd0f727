"""What a file of tests says: for a pipeline, cases; in a case, steps; in a step, what comes in and what goes out."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from mainstem.language.base import MAX_ITEMS, Ddl, Identifier, Label, Model, Text
from mainstem.language.model.pipeline import Parameter


KIND = "PipelineTest"

Row = dict[str, Any] | str
"""Columns and their values; or, as a string, the text of a record that is yet to be decoded."""
Rows = Annotated[tuple[Row, ...], Field(max_length=10_000)]
ExpectedRows = Annotated[tuple[dict[str, Any], ...], Field(max_length=10_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Expected(Model):
    """What a step must bring; what is not named may be anything."""

    relations: Annotated[dict[Identifier, ExpectedRows], Field(max_length=MAX_ITEMS)] = Field(
        default_factory=dict
    )
    """Source, view or dead letters -> the rows that the step brings forth there, in any order."""
    queries: Annotated[dict[Label, ExpectedRows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Query -> the rows that it hands to its sinks in the step, in any order."""
    dropped: Annotated[dict[Label, Annotated[int, Field(ge=0)]], Field(max_length=MAX_ITEMS)] = Field(
        default_factory=dict
    )
    """Query -> rows that its watermark drops in the step, as Spark counts them."""


class Step(Model):
    """Rows that come in together, and what must come of them before the next step."""

    given: Annotated[dict[Identifier, Rows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Streaming source -> new rows. A string is the text of a record; `{record: {value: .., key: ..}}` has its columns."""
    expect: Expected = Field(default_factory=Expected)
    """What must come of them."""


class Case(Model):
    """One test: the pipeline from nothing, step after step; state is kept between them."""

    name: Name
    """What is tested."""
    tables: Annotated[dict[Identifier, Rows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Static source, or topic that is read up to an end -> its rows."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=MAX_ITEMS)]
    """The steps."""


class PipelineTest(Model):
    """Tests of one pipeline."""

    api_version: Literal["mainstem.dev/v1alpha1"]
    """Version of the language."""
    kind: Literal["PipelineTest"]
    """Kind of the document."""
    pipeline: Text | None = None
    """File of the pipeline, relative to this one; without it `x.yaml` for `x.test.yaml`."""
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MAX_ITEMS)] = ()
    """Values of the pipeline's parameters."""
    schemas: Annotated[dict[Identifier, Ddl], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Source -> its columns as DDL, where the pipeline leaves them to the table that it reads."""
    tables: Annotated[dict[Identifier, Rows], Field(max_length=MAX_ITEMS)] = Field(default_factory=dict)
    """Static source, or topic that is read up to an end -> its rows, for every case."""
    cases: Annotated[tuple[Case, ...], Field(min_length=1, max_length=MAX_ITEMS)]
    """The tests."""
