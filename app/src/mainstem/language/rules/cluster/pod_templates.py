"""Rules for pod templates: a template can set every field of a pod that Mainstem does not set.

These rules report only certain mistakes. The API server validates the finished pod.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainstem import names, reasons
from mainstem.errors import Problem
from mainstem.language.analysis.folders import normal, within
from mainstem.language.loading.shape_validation import did_you_mean
from mainstem.language.rules.cluster.deployment import pods
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_CONTAINERS: Final = {"driver": names.DRIVER_CONTAINER, "executors": names.EXECUTOR_CONTAINER}
_LABELS: Final = (names.NAME_LABEL, names.MANAGED_LABEL, names.COMPONENT_LABEL)
_POD: Final = {
    "restartPolicy": "",
    "serviceAccountName": "spec.driver.serviceAccountName",
    "serviceAccount": "spec.driver.serviceAccountName",
    "automountServiceAccountToken": "",
    "terminationGracePeriodSeconds": "spec.drain.timeout",
    "imagePullSecrets": "spec.imagePullSecrets",
    "hostNetwork": "",
    "hostPID": "",
    "hostIPC": "",
    "hostname": "",
    "nodeName": "nodeSelector or affinity",
}
_CONTAINER: Final = {
    "image": "spec.image",
    "imagePullPolicy": "spec.imagePullPolicy",
    "command": "",
    "args": "",
    "resources": "the field resources beside template",
    "livenessProbe": "",
    "readinessProbe": "",
    "startupProbe": "",
    "restartPolicy": "",
    "terminationMessagePath": "",
    "terminationMessagePolicy": "",
}
"""Field that Mainstem sets -> the field to use instead; empty if there is none."""
_VARIABLES: Final = ("HOME", "TMPDIR")
_MOUNTS: Final = ("/tmp", names.SCRATCH_DIR)  # noqa: S108 - a path in the pod
_MOUNTS_BELOW: Final = "/etc/mainstem"


def shape(context: Context) -> Iterator[Problem]:
    """A pod template holds `metadata` and `spec`; its containers and volumes have unique names."""
    for key, pod in pods(context):
        at: Path = (key, "template")
        for field, value in pod.template.items():
            if field not in ("metadata", "spec"):
                hint = did_you_mean(field, ("metadata", "spec")) or "; use metadata or spec"
                message = f"{field!r} is not a field of a pod template{hint}"
                yield context.problem((*at, field), message, reasons.INVALID_POD_TEMPLATE, key=True)
            elif not isinstance(value, Mapping):
                message = f"{context.shown((*at, field), value)} is not a mapping"
                yield context.problem((*at, field), message, reasons.INVALID_POD_TEMPLATE)
        spec = _mapping(pod.template.get("spec"))
        containers = {_CONTAINERS[key], *(item["name"] for item in _named(spec.get("containers")))}
        for field, used in (("containers", set()), ("initContainers", containers), ("volumes", set())):
            yield from _unique(context, (*at, "spec", field), spec.get(field), used)


def metadata(context: Context) -> Iterator[Problem]:
    """Labels and annotations of a pod template are strings. Mainstem or Spark sets none of them."""
    for key, pod in pods(context):
        for field, value in _mapping(pod.template.get("metadata")).items():
            at: Path = (key, "template", "metadata", field)
            if field not in ("labels", "annotations"):
                message = f"{field} is set by Mainstem; a template can set labels and annotations"
                yield context.problem(at, message, reasons.OWNED_POD_FIELD, key=True)
            elif not isinstance(value, Mapping):
                message = f"{context.shown(at, value)} is not a mapping"
                yield context.problem(at, message, reasons.INVALID_POD_TEMPLATE)
            else:
                yield from _texts(context, at, value)


def pod(context: Context) -> Iterator[Problem]:
    """No template sets a field of a pod that Mainstem sets: restart policy, service account, grace period, pull secrets, the
    host's namespaces, host and node name, and volumes called `mainstem-...`.
    """
    for key, settings in pods(context):
        at: Path = (key, "template", "spec")
        spec = _mapping(settings.template.get("spec"))
        yield from _owned(context, at, spec, _POD)
        for index, volume in enumerate(_named(spec.get("volumes"))):
            if volume["name"].startswith(names.VOLUME_PREFIX):
                message = f"names of volumes that start with {names.VOLUME_PREFIX} are reserved for Mainstem; choose another name"
                yield context.problem((*at, "volumes", index, "name"), message, reasons.OWNED_POD_FIELD)


def container(context: Context) -> Iterator[Problem]:
    """No template sets a field of Mainstem's container that Mainstem sets: image, command, resources, probes, `HOME`,
    `TMPDIR`, variables that start with `MAINSTEM_` or `SPARK_`, and mounts at `/tmp`, `/var/mainstem` and below
    `/etc/mainstem`.
    """
    for key, settings in pods(context):
        containers = _named(_mapping(settings.template.get("spec")).get("containers"))
        for index, own in enumerate(containers):
            if own["name"] == _CONTAINERS[key]:
                at: Path = (key, "template", "spec", "containers", index)
                yield from _owned(context, at, own, _CONTAINER)
                yield from _variables(context, at, own)
                yield from _mounts(context, at, own)


def _unique(context: Context, at: Path, items: Any, used: set[str]) -> Iterator[Problem]:
    """The entries of a list have names; each name is unique, and none is in `used`."""
    if items is not None and not isinstance(items, list):
        message = f"{context.shown(at, items)} is not a list"
        yield context.problem(at, message, reasons.INVALID_POD_TEMPLATE)
        return
    earlier = set(used)
    for index, item in enumerate(items or ()):
        name = _mapping(item).get("name")
        if name is None:
            message = "the name is missing; give the entry a name, which is a string"
            yield context.problem((*at, index), message, reasons.INVALID_POD_TEMPLATE)
        elif not isinstance(name, str):
            message = f"{context.shown((*at, index, 'name'), name)} is not a string; put it in quotes"
            yield context.problem((*at, index, "name"), message, reasons.INVALID_POD_TEMPLATE)
        elif name in earlier:
            message = f"another entry has the name {name!r}; choose another name"
            yield context.problem((*at, index, "name"), message, reasons.INVALID_POD_TEMPLATE)
        else:
            earlier.add(name)


def _texts(context: Context, at: Path, given: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in given.items():
        if not isinstance(value, str):
            message = f"{context.shown((*at, name), value)} is not a string; put it in quotes"
            yield context.problem((*at, name), message, reasons.INVALID_POD_TEMPLATE)
        prefix = next((prefix for prefix in names.RESERVED_PREFIXES if name.startswith(prefix)), None)
        if prefix:
            message = f"names that start with {prefix} are reserved for Mainstem and Spark; remove it"
            yield context.problem((*at, name), message, reasons.OWNED_POD_FIELD, key=True)
        elif name in _LABELS:
            yield context.problem(
                (*at, name),
                f"{name} is set by Mainstem and cannot be changed",
                reasons.OWNED_POD_FIELD,
                key=True,
            )


def _owned(
    context: Context, at: Path, given: Mapping[str, Any], owned: Mapping[str, str]
) -> Iterator[Problem]:
    for field in given:
        if field in owned:
            instead = f"; use {owned[field]}" if owned[field] else " and cannot be changed"
            message = f"{field} is set by Mainstem{instead}"
            yield context.problem((*at, field), message, reasons.OWNED_POD_FIELD, key=True)


def _variables(context: Context, at: Path, own: Mapping[str, Any]) -> Iterator[Problem]:
    for index, variable in enumerate(_named(own.get("env"))):
        name = variable["name"]
        if name.startswith(names.ENV_PREFIXES) or name in _VARIABLES:
            message = f"the variable {name} is reserved for Mainstem and Spark; choose another name"
            yield context.problem((*at, "env", index, "name"), message, reasons.OWNED_POD_FIELD)


def _mounts(context: Context, at: Path, own: Mapping[str, Any]) -> Iterator[Problem]:
    mounts = own.get("volumeMounts")
    for index, mount in enumerate(mounts if isinstance(mounts, list) else ()):
        mount_path = _mapping(mount).get("mountPath")
        if not isinstance(mount_path, str):
            continue
        if normal(mount_path) in _MOUNTS or within(normal(mount_path), _MOUNTS_BELOW):
            message = f"Mainstem mounts a volume of its own at {mount_path}; mount yours elsewhere"
            path: Path = (*at, "volumeMounts", index, "mountPath")
            yield context.problem(path, message, reasons.OWNED_POD_FIELD)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _named(items: Any) -> Sequence[Mapping[str, Any]]:
    """The entries of a list; empty unless each entry has a name. Another rule, or the API server, reports such a list."""
    named = isinstance(items, list) and all(isinstance(_mapping(item).get("name"), str) for item in items)
    return items if named else ()
