"""Chooses the image of a command pod, and how it is pulled; pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.names import DRIVER_CONTAINER

from mainstem_operator.settings import Settings


OPERATORS: Final = "app.kubernetes.io/name=mainstem,app.kubernetes.io/component=operator"
"""The labels of the operator's Deployment, as the chart has them."""
_PREFIX: Final = "MAINSTEM_"
_SETTINGS: Final = ("DRIVER_IMAGE", "IMAGE_PULL_POLICY", "IMAGE_PULL_SECRETS")


def settings_of(
    image: str | None, driver: Mapping[str, Any] | None, deployments: Iterable[Mapping[str, Any]]
) -> Settings | None:
    """The settings for a pod of a document without an image; None if no image is known.

    Args:
        image: the image that the user names; it comes first.
        driver: the driver pod of the pipeline: its image comes second.
        deployments: those of the operator: its setting comes last.
    """
    known: dict[str, str] = {}
    for deployment in deployments:
        variables = _container(deployment["spec"]["template"]["spec"]["containers"]).get("env", ())
        known = {each["name"].removeprefix(_PREFIX): each.get("value", "") for each in variables}
        break
    if driver is not None:
        container = _container(driver["spec"]["containers"])
        secrets = [each["name"] for each in driver["spec"].get("imagePullSecrets") or ()]
        known |= {
            "DRIVER_IMAGE": container["image"],
            "IMAGE_PULL_POLICY": container.get("imagePullPolicy", ""),
            "IMAGE_PULL_SECRETS": ",".join(secrets),
        }
    if image is not None:
        known["DRIVER_IMAGE"] = image
    if not known.get("DRIVER_IMAGE"):
        return None
    return Settings.from_environment({f"{_PREFIX}{name}": known.get(name, "") for name in _SETTINGS})


def needed(settings: Settings | None, pipeline: str) -> Settings:
    """The settings, or the error that no image is known.

    Raises:
        NotReady: `ImageUnknown`.
    """
    if settings is None:
        raise NotReady(
            f"the image for the pipeline {pipeline} is unknown: its document names none, it has no driver pod, and the "
            "operator's Deployment cannot be read",
            reason=reasons.IMAGE_UNKNOWN,
            remedy="give the image of drivers by --image",
        )
    return settings


def _container(containers: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The driver's container, or the first one."""
    return next((each for each in containers if each["name"] == DRIVER_CONTAINER), containers[0])
