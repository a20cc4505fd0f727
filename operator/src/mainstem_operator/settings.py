"""What the operator is told by its environment, as the chart sets it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self, cast, get_args

from mainstem.errors import Exit, MainstemError


PullPolicy = Literal["Always", "IfNotPresent", "Never"]
LogFormat = Literal["json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"(?=.{{1,253}}$){_LABEL.pattern}(\.{_LABEL.pattern})*")
_PREFIX: Final = "MAINSTEM_"


class SettingInvalid(MainstemError):
    """A variable of the operator's environment is missing or makes no sense; the operator does not start."""

    exit_code = Exit.USAGE

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name} {why}",
            reason="SettingInvalid",
            remedy="the chart's values set it: see `helm get values`, and the Deployment's env",
        )


@dataclass(frozen=True)
class Settings:
    """How the operator runs, the same from start to end.

    Attributes:
        driver_image: image of drivers and executors whose pipeline names none.
        image_pull_policy: when that image is pulled.
        image_pull_secrets: names of Secrets, in the pipelines' namespaces, with which it is pulled.
        namespaces: whose pipelines are run; empty for all.
        health_port: HTTP, `/healthz`.
        metrics_port: HTTP, `/metrics`.
        log_format: one JSON object a line, or for a reader.
        log_level: the least that is logged.
        lease_namespace: where the Leases of all operators of the cluster are.
        pod_name: the operator's pod, by which its Lease names it; empty outside of one.
        release: the installation that it belongs to, `namespace/name`; empty where there is none.
        resync_seconds: after so long a pipeline is looked at again even where nothing was heard of it.
    """

    driver_image: str
    image_pull_policy: PullPolicy = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    health_port: int = 8080
    metrics_port: int = 9090
    log_format: LogFormat = "json"
    log_level: LogLevel = "info"
    resync_seconds: int = 300
    lease_namespace: str = "kube-system"
    pod_name: str = ""
    release: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables `MAINSTEM_...`, called like the attributes, `MAINSTEM_DRIVER_IMAGE` alone being needed.

        A variable that is empty counts as not there.

        :raises SettingInvalid: for the first variable that makes no sense.
        """
        read = _Environment(environment)
        settings = cls(
            driver_image=read.image("DRIVER_IMAGE"),
            image_pull_policy=cast(
                "PullPolicy", read.one_of("IMAGE_PULL_POLICY", get_args(PullPolicy), cls.image_pull_policy)
            ),
            image_pull_secrets=read.names("IMAGE_PULL_SECRETS", _SUBDOMAIN),
            namespaces=read.names("NAMESPACES", _LABEL),
            health_port=read.number("HEALTH_PORT", cls.health_port, 65535),
            metrics_port=read.number("METRICS_PORT", cls.metrics_port, 65535),
            log_format=cast("LogFormat", read.one_of("LOG_FORMAT", get_args(LogFormat), cls.log_format)),
            log_level=cast("LogLevel", read.one_of("LOG_LEVEL", get_args(LogLevel), cls.log_level)),
            lease_namespace=read.namespace("LEASE_NAMESPACE", cls.lease_namespace),
            pod_name=read.text("POD_NAME"),
            release=read.text("RELEASE"),
            resync_seconds=read.number("RESYNC_SECONDS", cls.resync_seconds, 86400),
        )
        if settings.health_port == settings.metrics_port:
            raise SettingInvalid(
                f"{_PREFIX}METRICS_PORT", f"is {settings.metrics_port}, which {_PREFIX}HEALTH_PORT has"
            )
        return settings


@dataclass(frozen=True)
class _Environment:
    """Variables by name without their prefix."""

    variables: Mapping[str, str]

    def text(self, name: str) -> str:
        return self.variables.get(_PREFIX + name, "").strip()

    def image(self, name: str) -> str:
        found = self.text(name)
        if not found:
            raise SettingInvalid(_PREFIX + name, "is not set: without it no driver can be started")
        if re.search(r"\s", found):
            raise SettingInvalid(_PREFIX + name, f"is {found!r}: an image's name has no space in it")
        return found

    def one_of(self, name: str, values: tuple[str, ...], default: str) -> str:
        found = self.text(name) or default
        if found not in values:
            raise SettingInvalid(_PREFIX + name, f"is {found!r}, not one of {', '.join(values)}")
        return found

    def number(self, name: str, default: int, most: int) -> int:
        found = self.text(name) or str(default)
        if not re.fullmatch(r"[0-9]{1,9}", found) or not 1 <= int(found) <= most:
            raise SettingInvalid(_PREFIX + name, f"is {found!r}, not a whole number from 1 to {most}")
        return int(found)

    def namespace(self, name: str, default: str) -> str:
        found = self.names(name, _LABEL) or (default,)
        if len(found) > 1:
            raise SettingInvalid(_PREFIX + name, f"is {self.text(name)!r}, not one namespace")
        return found[0]

    def names(self, name: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(part for item in self.text(name).split(",") if (part := item.strip())))
        for item in found:
            if not pattern.fullmatch(item):
                raise SettingInvalid(_PREFIX + name, f"has {item!r}, which no Kubernetes object is called")
        return found
