"""The document of a resource: read, checked, and named by what would run; pure.

A revision is what a driver runs: what its document says beyond the defaults, without what only says whether and when.
Operators of different versions, with other defaults or another default image, name it alike; so an upgrade restarts
nobody. A driver that starts, for whatever reason, starts with the image of the operator that starts it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_object
from mainstem.language.model.pipeline import StreamingPipeline

from mainstem_operator.validation import policies


_NOT_RUN: Final = ("suspend", "schedule")
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class Revision:
    """A document that may run.

    Attributes:
        name: eight hexadecimal digits, the same for what runs the same.
        pipeline: the document, parameters filled in.
        text: the document as the driver reads it, in YAML.
        bounded: True unless a query certainly never comes to an end; one that is suspended does not begin. It is known
            from the start, because whoever asks must not read the document's SQL.
    """

    name: str
    pipeline: StreamingPipeline
    text: str
    bounded: bool = field(init=False)

    def __post_init__(self) -> None:
        """Read the document's SQL once."""
        graph, queries = Graph(self.pipeline), self.pipeline.spec.queries
        bounded = all(query.suspend or graph.ends(query) is not False for query in queries)
        object.__setattr__(self, "bounded", bounded)

    @property
    def scaled_out(self) -> bool:
        """True where executors run in pods of their own."""
        return self.pipeline.spec.executors.wanted


@dataclass(frozen=True)
class ValidationResult:
    """What is to be said of a document: a revision, or why there is none."""

    revision: Revision | None
    reason: str = "Accepted"
    message: str = "the document passes every check that needs no Spark"


def validate(body: Mapping[str, Any]) -> ValidationResult:
    """The judgement of the resource's document, as it is in the API server."""
    spec = {key: value for key, value in body["spec"].items() if key not in _NOT_RUN}
    try:
        document = read_object({**_head(body), "spec": body["spec"]})
    except SpecInvalid as refused:
        return refusal(refused)
    problems = policies.check(document.pipeline)
    if problems:
        return refusal(SpecInvalid(problems))
    written = {**_head(body), "spec": spec}
    text = yaml.dump(written, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    beyond = document.pipeline.spec.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=set(_NOT_RUN)
    )
    canonical = json.dumps(beyond, sort_keys=True, ensure_ascii=False)
    name = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    return ValidationResult(Revision(name, document.pipeline, text))


def recall(text: str, name: str) -> Revision:
    """The revision of a ConfigMap's document, which was judged when it was made.

    Raises:
        SpecInvalid: rules of today refuse it.
    """
    return Revision(name, read_object(yaml.safe_load(text)).pipeline, text)


def refusal(refused: SpecInvalid) -> ValidationResult:
    """All that is wrong, the first problem's reason first."""
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
