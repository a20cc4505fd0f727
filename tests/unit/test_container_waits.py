"""Why a container does not start: of one failure one reason and one message, whichever words the kubelet has for it now."""

import pytest
from mainstem.cluster.container_waits import wait_of


ERROR = 'failed to resolve reference "example.test/app:2": not found'
BACK_OFF = 'Back-off pulling image "example.test/app:2"'


@pytest.mark.parametrize("reason", [None, "ContainerCreating", "PodInitializing"])
def test_a_container_that_is_about_to_start_has_no_reason(reason: str | None) -> None:
    assert wait_of(reason, None) is None


def test_a_pull_that_fails_reads_the_same_between_two_tries() -> None:
    """The words of Kubernetes 1.34."""
    during = wait_of("ErrImagePull", ERROR)
    between = wait_of("ImagePullBackOff", f"{BACK_OFF}: ErrImagePull: {ERROR}")
    assert during == between == ("ImagePullBackOff", ERROR)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("ImagePullBackOff", BACK_OFF),
        ("ImagePullBackOff", f"{BACK_OFF}: RegistryUnavailable: {ERROR}"),
        ("CrashLoopBackOff", f"back-off 10s: ErrImagePull: {ERROR}"),
        ("CreateContainerConfigError", 'secret "s3" not found'),
        ("InvalidImageName", ""),
    ],
)
def test_any_other_words_are_kept(reason: str, message: str) -> None:
    assert wait_of(reason, message) == (reason, message)


def test_a_reason_without_words_has_an_empty_message() -> None:
    assert wait_of("CreateContainerError", None) == ("CreateContainerError", "")
