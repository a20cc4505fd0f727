"""What a pipeline on a cluster runs, from its resource; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.language.model.pipeline import NOT_RUN
from mainstem.language.model.status.states import QueryState


@dataclass(frozen=True)
class RunningPipeline:
    """The running revision of a pipeline, with the status of its queries.

    Attributes:
        namespace: its namespace.
        name: its name.
        revision: the revision that runs, or ran last.
        phase: its phase; empty before the operator wrote one.
        has_driver: whether it has a driver pod.
        queries: query -> its entry of the status.
        apart: the fields of `spec` that are not part of a revision, as the operator has carried them out.
    """

    namespace: str
    name: str
    revision: str
    phase: str
    has_driver: bool
    queries: Mapping[str, Mapping[str, Any]]
    apart: Mapping[str, Any]

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed permanently."""
        return frozenset(name for name, each in self.queries.items() if each["state"] == QueryState.FAILED)


def running_pipeline(body: Mapping[str, Any]) -> RunningPipeline:
    """What a resource runs. The driver's report comes first: a driver may have taken another revision over.

    Raises:
        NotReady: `NothingHasRun`: no driver has run the pipeline yet.
    """
    status: Mapping[str, Any] = body.get("status") or {}
    about = body["metadata"]
    reported = status.get("reported") or {}
    revision = reported.get("revision") or status.get("revision")
    if not revision:
        phase = status.get("phase")
        raise NotReady(
            f"the StreamingPipeline {about['namespace']}/{about['name']} has run no document yet"
            f"{f'; its phase is {phase}' if phase else ''}",
            reason=reasons.NOTHING_HAS_RUN,
            remedy="apply the document: it has no checkpoint yet that it could misread",
        )
    return RunningPipeline(
        namespace=str(about["namespace"]),
        name=str(about["name"]),
        revision=str(revision),
        phase=str(status.get("phase") or ""),
        has_driver="driver" in status,
        queries={each["name"]: each for each in status.get("queries") or ()},
        apart=_apart(body.get("spec") or {}, status.get("restartNonce")),
    )


def _apart(spec: Mapping[str, Any], nonce: str | None) -> dict[str, Any]:
    """The fields that the document of a revision does not have. A driver starts for each other nonce than the last one."""
    fields = {name: spec[name] for name in NOT_RUN if name in spec and name != "restartNonce"}
    return fields if nonce is None else {**fields, "restartNonce": nonce}
