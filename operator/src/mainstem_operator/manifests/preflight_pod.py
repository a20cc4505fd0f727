"""The manifest of the pod that checks a changed document as its driver would start, beside the running driver; pure."""

from collections.abc import Mapping
from typing import Any, Final

from mainstem.names import DOCUMENT_DIR, DOCUMENT_KEY, PREFLIGHT, RUNNING_KEY, driver_name, preflight_name

from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.manifests.side_pod import SidePod, side_pod
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


LONGEST_SECONDS: Final = 600
"""When Kubernetes ends the pod: it includes the time that a node needs for the image."""


def preflight_pod(
    body: Mapping[str, Any],
    identity: str,
    wanted: Revision,
    running: Revision | None,
    settings: Settings,
    *,
    against: str,
    attempt: int,
) -> Object:
    """The pod that runs `mainstem driver --preflight-against` with both documents.

    Args:
        body: the resource of the pipeline.
        identity: which preflight it is.
        wanted: the changed document.
        running: the document that runs, if it is known; what only that needs may be gone already.
        settings: the settings of the operator.
        against: the name of the revision that runs.
        attempt: the driver start number that the next driver would have: with an older one the owner of the checkpoints refuses it.
    """
    file, beside = (f"{DOCUMENT_DIR}/{key}" for key in (DOCUMENT_KEY, RUNNING_KEY))
    side = SidePod(
        preflight_name(body["metadata"]["name"]),
        "preflight",
        (PREFLIGHT, identity),
        ("driver", file, "--preflight-against", beside),
        LONGEST_SECONDS,
        wanted.pipeline.spec.driver.service_account_name or driver_name(body["metadata"]["name"]),
        against,
        attempt,
        sidecars=True,
        waits_for_running=False,
    )
    return side_pod(body, side, wanted, running, settings)
