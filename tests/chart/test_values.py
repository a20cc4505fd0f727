"""Values: each is described, typed and in the schema; others are rejected."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from chart.rendering import CHART, HelmRefused, text


VALUES = (CHART / "values.yaml").read_text(encoding="utf-8")
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
KUBERNETES = {("resources", "requests"), ("resources", "limits")}
"""Keys that are Kubernetes' own need no words of ours."""


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    return SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def in_schema(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, below in resolved(schema).get("properties", {}).items():
        yield (*path, name)
        yield from in_schema(below, (*path, name))


def in_values() -> Iterator[tuple[tuple[str, ...], str]]:
    """Path of each key -> the line above it."""
    above, path = "", []
    for line in VALUES.splitlines():
        if key := re.match(r"( *)([A-Za-z]\w*):", line):
            depth = len(key[1]) // 2
            path = [*path[:depth], key[2]]
            yield tuple(path), above
        above = line


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "type" in schema:
            yield schema
        for below in schema.values():
            yield from schemas(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from schemas(below)


def test_every_value_is_described() -> None:
    comments = dict(in_values())
    bare = [
        ".".join(path)
        for path, above in comments.items()
        if path[:2] not in KUBERNETES and not re.fullmatch(r" *# \S.*", above)
    ]
    assert bare == []
    assert len(comments) > 50


def test_every_value_is_in_the_schema_and_every_schema_field_in_the_values() -> None:
    values = {path for path, _ in in_values() if path[:2] not in KUBERNETES or len(path) == 2}
    assert values ^ set(in_schema(SCHEMA)) == {("global",)}, "Helm itself gives `global`"


def test_every_object_is_closed_or_typed() -> None:
    open_ones = [
        schema
        for schema in schemas(SCHEMA)
        if schema["type"] == "object" and "additionalProperties" not in schema
    ]
    # affinity, tolerations, spread constraints, valueFrom and the webhook's namespaceSelector are Kubernetes' own, and
    # `global` is Helm's.
    assert open_ones == [{"type": "object"}] * 5


def test_every_field_is_typed() -> None:
    untyped = [
        name
        for schema in schemas(SCHEMA)
        for name, below in schema.get("properties", {}).items()
        if not {"type", "$ref"} & set(below)
    ]
    assert untyped == []


REFUSED = [
    ({"replicas": 0}, "at '/replicas': minimum: got 0, want 1"),
    ({"lease": {"namespace": "A"}}, "at '/lease/namespace'"),
    ({"replica": 1}, "additional properties 'replica' not allowed"),
    ({"image": "x"}, "at '/image': got string, want object"),
    ({"image": {"name": "x"}}, "additional properties 'name' not allowed"),
    ({"image": {"tag": 1.5}}, "at '/image/tag': got number, want string"),
    ({"image": {"repository": ""}}, "at '/image/repository'"),
    ({"image": {"digest": "abc"}}, "at '/image/digest'"),
    ({"driver": {"image": {"pullPolicy": "always"}}}, "at '/driver/image/pullPolicy': value must be one of"),
    ({"driver": {"imagePullSecrets": ["x"]}}, "at '/driver/imagePullSecrets/0': got string, want object"),
    ({"watchNamespaces": "a"}, "at '/watchNamespaces': got string, want array"),
    ({"watchNamespaces": ["a", "a"]}, "at '/watchNamespaces'"),
    ({"watchNamespaces": ["A"]}, "at '/watchNamespaces/0'"),
    ({"resyncSeconds": "300"}, "at '/resyncSeconds': got string, want integer"),
    ({"resyncSeconds": 0}, "at '/resyncSeconds'"),
    ({"logging": {"level": "INFO"}}, "at '/logging/level': value must be one of"),
    ({"ports": {"health": 80}}, "at '/ports/health'"),
    ({"crd": {"install": "no"}}, "at '/crd/install': got string, want boolean"),
    ({"extraEnv": [{"name": "MAINSTEM_NAMESPACES", "value": "a"}]}, "at '/extraEnv/0/name'"),
    ({"extraEnv": {"A": "b"}}, "at '/extraEnv': got object, want array"),
    ({"commonLabels": {"app.kubernetes.io/name": "x"}}, "app.kubernetes.io/name"),
    ({"podLabels": {"app.kubernetes.io/component": "driver"}}, "app.kubernetes.io/component"),
    ({"podMonitor": {"interval": "30"}}, "at '/podMonitor/interval'"),
    ({"networkPolicy": {"apiServerPorts": []}}, "at '/networkPolicy/apiServerPorts'"),
    ({"resources": {"limit": {}}}, "additional properties 'limit' not allowed"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=lambda part: str(part)[:50])
def test_wrong_values_are_rejected(values: dict, message: str) -> None:
    with pytest.raises(HelmRefused) as refused:
        text(values)
    assert message in str(refused.value)


def test_the_defaults_are_valid_yaml_with_no_key_twice() -> None:
    paths = [path for path, _ in in_values()]
    assert len(paths) == len(set(paths))
    assert set(yaml.safe_load(VALUES)) == {path[0] for path in paths}


def test_a_subchart_accepts_global_values() -> None:
    assert text({"global": {"region": "x"}})
