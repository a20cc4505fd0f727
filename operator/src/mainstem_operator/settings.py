"""The operator's settings: environment variables that the chart sets, validated when the operator starts."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, get_args

from mainstem import reasons
from mainstem.errors import MainstemError
from mainstem.reasons import Exit
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)


PullPolicy = Literal["Always", "IfNotPresent", "Never"]
LogFormat = Literal["json", "console"]
CertificateSource = Literal["operator", "cert-manager"]
LogLevel = Literal["debug", "info", "warning", "error"]

_PREFIX: Final = "MAINSTEM_"
_LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"


class SettingInvalid(MainstemError):
    """A variable of the operator's environment is missing or has an invalid value; the operator does not start."""

    exit_code = Exit.USAGE

    def __init__(self, variable: str, problem: str) -> None:
        super().__init__(
            f"{variable} {problem}",
            reason=reasons.SETTING_INVALID,
            remedy="the chart's values set it: see `helm get values`, and `env` of the Deployment",
        )


def _digits(value: object) -> object:
    """Pass whole numbers as ASCII digits: pydantic would also accept signs and underscores."""
    if isinstance(value, str) and not re.fullmatch("[0-9]{1,9}", value):
        raise ValueError("not a whole number")
    return value


def _names(value: object) -> object:
    """The names of a list that commas separate, each once."""
    if not isinstance(value, str):
        return value
    return tuple(dict.fromkeys(name for part in value.split(",") if (name := part.strip())))


Namespace = Annotated[str, StringConstraints(pattern=f"^{_LABEL}$")]
_SecretName = Annotated[str, StringConstraints(pattern=f"^{_SUBDOMAIN}$", max_length=253)]
_Port = Annotated[int, BeforeValidator(_digits), Field(ge=1, le=65535)]


def _choice(choices: Any) -> str:
    return f"one of {', '.join(get_args(choices))}"


class Settings(BaseModel):
    """How the operator runs, the same from start to end. The description of a field is the value that it allows.

    Attributes:
        driver_image: image of drivers and executors whose pipeline names none.
        image_pull_policy: when that image is pulled.
        image_pull_secrets: names of Secrets, in the pipelines' namespaces, with which it is pulled.
        namespaces: whose pipelines the operator manages; empty for all.
        health_port: HTTP, `/healthz`.
        metrics_port: HTTP, `/metrics`.
        log_format: one JSON object a line, or text for a console.
        log_level: the lowest level that is logged.
        resync_seconds: after so long the operator reconciles a pipeline again, even without an event.
        lease_namespace: where the Leases of all operators of the cluster are.
        pod_name: the operator's pod, by which its Lease names it; empty outside a pod.
        cluster_uid: the uid of the namespace `kube-system`, which identifies the cluster; empty to read it there.
        release: the installation that the operator belongs to, `namespace/name`; empty if there is none.
        webhook: `namespace/name` of the admission webhook's Service, Secret and webhook configuration; empty for no webhook.
        webhook_port: HTTPS, `/validate`.
        webhook_certificates: who writes the Secret, and the authorities into the webhook configuration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    driver_image: Annotated[str, StringConstraints(pattern=r"^\S+$")] = Field(
        description="the name of an image, without spaces"
    )
    image_pull_policy: PullPolicy = Field("IfNotPresent", description=_choice(PullPolicy))
    image_pull_secrets: Annotated[tuple[_SecretName, ...], BeforeValidator(_names)] = Field(
        (), description="names of Secrets, separated by commas"
    )
    namespaces: Annotated[tuple[Namespace, ...], BeforeValidator(_names)] = Field(
        (), description="names of namespaces, separated by commas"
    )
    health_port: _Port = Field(8080, description="a whole number from 1 to 65535")
    metrics_port: _Port = Field(
        9090,
        description=f"a whole number from 1 to 65535, other than {_PREFIX}HEALTH_PORT",
        validate_default=True,
    )
    log_format: LogFormat = Field("json", description=_choice(LogFormat))
    log_level: LogLevel = Field("info", description=_choice(LogLevel))
    resync_seconds: Annotated[int, BeforeValidator(_digits)] = Field(
        300, ge=1, le=86400, description="a whole number from 1 to 86400"
    )
    lease_namespace: Namespace = Field("kube-system", description="the name of one namespace")
    pod_name: str = Field("", description="the name of a pod")
    cluster_uid: str = Field("", description="the uid of a namespace")
    release: str = Field("", description="`namespace/name` of a release")

    webhook: Annotated[str, StringConstraints(pattern=f"^({_LABEL}/{_LABEL})?$")] = Field(
        "", description="`namespace/name` of a Service"
    )
    webhook_port: _Port = Field(9443, description="a whole number from 1 to 65535")
    webhook_certificates: CertificateSource = Field("operator", description=_choice(CertificateSource))

    @field_validator("metrics_port")
    @classmethod
    def _differs_from_the_health_port(cls, port: int, info: ValidationInfo) -> int:
        if port == info.data.get("health_port"):
            raise ValueError("the port of the health endpoint")
        return port

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables `MAINSTEM_...`, named like the fields; only `MAINSTEM_DRIVER_IMAGE` is required.

        A variable that is empty counts as not set.

        :raises SettingInvalid: for the first variable with an invalid value.
        """
        values = {name: environment.get(_variable(name), "").strip() for name in cls.model_fields}
        try:
            return cls.model_validate({name: value for name, value in values.items() if value})
        except ValidationError as error:
            raise _invalid(cls, error) from None


def _variable(field: str) -> str:
    return f"{_PREFIX}{field.upper()}"


def _invalid(model: type[Settings], error: ValidationError) -> SettingInvalid:
    """The first error of a validation: the variable, its value and the values that it allows."""
    first = error.errors()[0]
    field, *item = first["loc"]
    allowed = model.model_fields[str(field)].description
    if first["type"] == "missing":
        return SettingInvalid(_variable(str(field)), f"is not set; set it to {allowed}")
    verb = "contains" if item else "is"
    return SettingInvalid(_variable(str(field)), f"{verb} {str(first['input'])!r}; set it to {allowed}")
