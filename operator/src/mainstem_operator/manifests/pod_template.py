"""Merges a user's pod template with the operator's pod; pure.

Defaults < template < owned: the template may replace a default, and never what Mainstem owns. Mappings are merged key
by key, lists of objects by their name (mounts by path), other lists are concatenated.
"""

from collections.abc import Mapping
from typing import Any, Final


Object = dict[str, Any]

_KEYS: Final = {
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "tolerations": None,
    "topologySpreadConstraints": None,
}


def merged(under: Any, over: Any, field: str = "") -> Any:
    """The merge of both, in which `over` replaces `under`.

    >>> merged({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}, {"name": "B"}]})
    {'env': [{'name': 'A', 'value': '2'}, {'name': 'B'}]}
    """
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        both = {key: merged(under[key], over[key], key) for key in under if key in over}
        return {**under, **over, **both}
    if isinstance(under, (list, tuple)) and isinstance(over, (list, tuple)):
        return _lists(list(under), list(over), _KEYS.get(field, "name"))
    return over


def _lists(under: list[Any], over: list[Any], key: str | None) -> list[Any]:
    if key is None or not all(isinstance(item, Mapping) and key in item for item in under + over):
        return under + [item for item in over if item not in under]
    named = {item[key]: item for item in under}
    for item in over:
        named[item[key]] = merged(named[item[key]], item) if item[key] in named else item
    return list(named.values())


def built(defaults: Object, template: Mapping[str, Any], owned: Object) -> Object:
    """A pod, or pod template, from the three layers; Mainstem's container stays first."""
    pod: Object = merged(merged(defaults, template), owned)
    own = owned["spec"]["containers"][0]["name"]
    pod["spec"]["containers"].sort(key=lambda container: container["name"] != own)
    return pod
