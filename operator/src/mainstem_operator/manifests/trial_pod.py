"""The manifest of the pod that tries a changed document beside the running driver; pure."""

from collections.abc import Mapping
from typing import Any, Final

from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Trial as TrialSettings
from mainstem.names import (
    DOCUMENT_DIR,
    DOCUMENT_KEY,
    RUNNING_KEY,
    TERMINATION_LOG,
    TRIAL,
    driver_name,
    trial_name,
)

from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.manifests.side_pod import SidePod, side_pod
from mainstem_operator.manifests.single_command import spark_options
from mainstem_operator.observed.trials import Trial
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange, Revision


_MARGIN_SECONDS: Final = 60
"""How much later than the operator the kubelet ends the pod, for example while no operator runs."""


def trial_pod(
    body: Mapping[str, Any],
    trial: Trial,
    wanted: Revision,
    running: Revision,
    change: DocumentChange,
    settings: Settings,
) -> Object:
    """The pod that runs `mainstem trial` with both documents.

    Args:
        body: the resource of the pipeline.
        trial: the trial that the pod carries out.
        wanted: the changed document.
        running: the document that runs.
        change: what the change does: the trial concerns the changed queries, or all if a new driver is needed.
        settings: the settings of the operator.
    """
    chosen = wanted.pipeline.spec.trial or TrialSettings()
    side = SidePod(
        trial_name(body["metadata"]["name"]),
        "trial",
        (TRIAL, trial.identity),
        _arguments(wanted, chosen, change),
        int(seconds(chosen.timeout)) + _MARGIN_SECONDS,
        _account(body, wanted, running),
        running.name,
    )
    return side_pod(body, side, wanted, running, settings)


def _arguments(wanted: Revision, chosen: TrialSettings, change: DocumentChange) -> list[str]:
    queries = () if change.driver else change.replaced
    return [
        "trial",
        f"{DOCUMENT_DIR}/{DOCUMENT_KEY}",
        "--against",
        f"{DOCUMENT_DIR}/{RUNNING_KEY}",
        "--batches",
        str(chosen.batches),
        *spark_options(wanted.pipeline.spec.driver),
        "--summary",
        TERMINATION_LOG,
        *(part for query in queries for part in ("--query", query)),
    ]


def _account(body: Mapping[str, Any], wanted: Revision, running: Revision) -> str:
    """The service account: the one that the changed document names, else the one that the running driver has."""
    named = (revision.pipeline.spec.driver.service_account_name for revision in (wanted, running))
    return next((name for name in named if name), driver_name(body["metadata"]["name"]))
