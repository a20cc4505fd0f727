"""Validates the document of a resource, and computes its revision; pure.

A revision is an 8-digit hash of every field that differs from its default, without `suspend`, `schedule`, `rollback`, `trial`
and `restartNonce`. Operators of different versions, with other defaults or another default image, compute the same revision,
so an upgrade restarts no driver. A driver always starts with the image of the operator that starts it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mainstem import reasons
from mainstem.changes.consequences import RefusedQuery, refused_queries
from mainstem.changes.fields import changed_fields
from mainstem.changes.transition import Step, transition
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.base import to_snake
from mainstem.language.document import Document, read_object
from mainstem.language.model.pipeline import NOT_RUN, StreamingPipeline
from mainstem.language.model.status.revision_history import LONGEST_CHANGE, MAX_CHANGES
from mainstem.language.requirements import required_connections, running

from mainstem_operator.validation import policies
from mainstem_operator.validation.document_text import read_back, written


"""Fields of `spec` that change when a driver runs, not what it runs."""


@dataclass(frozen=True)
class Revision:
    """A valid document.

    Attributes:
        name: eight hexadecimal digits, equal for documents that run the same.
        pipeline: the document with its parameters.
        text: the document in JSON, as the driver reads it.
        bounded: False if a query that is not suspended certainly never ends.
        required: the names of the connections that a run uses.
        ends: True if every query that is not suspended certainly ends by itself.

    The last three come from the document's graph. It stays in the process that validates, because the operator's own
    process must not parse the document's SQL.
    """

    name: str
    pipeline: StreamingPipeline
    text: str
    bounded: bool
    required: frozenset[str]
    ends: bool = False

    @property
    def scaled_out(self) -> bool:
        """True if executors run in their own pods."""
        return self.pipeline.spec.executors.wanted


@dataclass(frozen=True)
class DocumentChange:
    """What the change from a running document to another one does.

    Attributes:
        refused: the queries that could not continue from the checkpoints of the running document.
        driver: why only a new driver can run the other document; empty if the running one can take it over.
        fields: the fields that differ, for the history; a limited number.
        replaced: the queries that the running driver would stop, and start with another plan.
    """

    refused: tuple[RefusedQuery, ...] = ()
    driver: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValidationResult:
    """The result of the validation of a document: a revision, or the reason why it is invalid."""

    revision: Revision | None
    reason: reasons.Reason = reasons.ACCEPTED
    message: str = "the document passes every check that needs no Spark"


def validate(body: Mapping[str, Any]) -> ValidationResult:
    """Validate the document of a resource, as the API server has it."""
    spec = {key: value for key, value in body["spec"].items() if key not in NOT_RUN}
    try:
        document = read_body(body)
    except SpecInvalid as refused:
        return refusal(refused)
    text = written({**_head(body), "spec": spec})
    beyond = document.pipeline.spec.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=set(map(to_snake, NOT_RUN))
    )
    canonical = json.dumps(beyond, sort_keys=True, ensure_ascii=False)
    name = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    return ValidationResult(revision_of(document, name, text))


def read_body(body: Mapping[str, Any]) -> Document:
    """The document of a resource, checked by every rule that needs no Spark.

    Raises:
        SpecInvalid: the document is invalid; holds all problems.
    """
    return read_object({**_head(body), "spec": body["spec"]}, policies.check)


def recall(text: str, name: str) -> Revision:
    """The revision of a ConfigMap's document, which was valid when the ConfigMap was created.

    Raises:
        SpecInvalid: it is invalid by the current rules.
    """
    return revision_of(read_object(read_back(text)), name, text)


def revision_of(document: Document, name: str, text: str) -> Revision:
    """The revision of a document, with what its graph shows."""
    graph = document.graph
    ends = [graph.ends(query) for query in running(graph)]
    bounded, certainly = all(each is not False for each in ends), all(ends)
    return Revision(name, document.pipeline, text, bounded, frozenset(required_connections(graph)), certainly)


def change(running: str, wanted: str) -> DocumentChange:
    """What the change from a running document to another one does.

    Raises:
        SpecInvalid: one of the documents is invalid by the current rules.
    """
    before, after = (read_object(read_back(text)).graph for text in (running, wanted))
    way = transition(before, after)
    fields = listed(changed_fields(before.spec, after.spec))
    replaced = tuple(name for name, step in way.steps.items() if step is Step.REPLACE)
    return DocumentChange(refused_queries(way.verdict, after.pipeline), way.driver, fields, replaced)


def listed(fields: Sequence[str]) -> tuple[str, ...]:
    """The fields as an entry of the history has them: some, each of a limited length, and how many more there are."""
    short = tuple(field[:LONGEST_CHANGE] for field in fields[:MAX_CHANGES])
    if len(fields) <= MAX_CHANGES:
        return short
    return (*short[:-1], f"{len(fields) - MAX_CHANGES + 1} more")


def refusal(refused: SpecInvalid) -> ValidationResult:
    """The result for an invalid document: the reason of the first problem, and the messages of all."""
    problems = [problem for problem in refused.problems if not problem.warning]
    return ValidationResult(None, problems[0].reason, "; ".join(map(_line, problems))[:4000])


def _line(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}"


def _head(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "metadata": {"name": body["metadata"]["name"]},
    }
