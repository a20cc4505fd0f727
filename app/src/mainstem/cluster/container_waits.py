"""Why a container does not start, in the kubelet's words; pure."""

from typing import Final

from mainstem import reasons


# With any other reason the container does not start by itself.
_COMING: Final = ("ContainerCreating", "PodInitializing")
_BACK_OFF: Final = "Back-off pulling image "


def wait_of(reason: str | None, message: str | None) -> tuple[reasons.Reason, str] | None:
    """Why a waiting container does not start: reason and message; None if it is about to start, or does not wait.

    The kubelet turns from `ErrImagePull` to `ImagePullBackOff` and back with each try, and quotes the error of the last try
    behind words of its own. Here both give the same reason, and the error alone, so that a status does not change either.

    Args:
        reason: `state.waiting.reason` of the container.
        message: `state.waiting.message` of the container.
    """
    if reason is None or reason in _COMING:
        return None
    text = message or ""
    if reason == reasons.ERR_IMAGE_PULL:
        return reasons.IMAGE_PULL_BACK_OFF, text
    if reason == reasons.IMAGE_PULL_BACK_OFF and text.startswith(_BACK_OFF):
        _, quoted, error = text.partition(f": {reasons.ERR_IMAGE_PULL}: ")
        text = error if quoted else text
    return reasons.named(reason), text
