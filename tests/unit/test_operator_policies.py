"""Valid documents that a cluster rejects."""

from typing import Any

import pytest
from harness.documents import pipeline_head
from mainstem.language.document import read_object
from mainstem.language.rules.connectors.owned_options import OWNED_CONF, OWNED_IN_PODS
from mainstem_operator.validation import policies


VOLUME = {
    "spec": {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        "containers": [{"name": "driver", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
    }
}
EMPTY = {
    "spec": {
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [{"name": "driver", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
    }
}


def problems(**spec: Any) -> list[tuple[str, str]]:
    """Path and reason of each problem; the document reads files of S3 and writes there, but for what is given."""
    files = {"path": "s3a://lake/in", "format": "text"}
    plain = {
        "sources": [{"name": "lines", "files": files}],
        "queries": [
            {"name": "q", "from": "lines", "to": [{"name": "out", "text": {"path": "s3a://lake/out"}}]}
        ],
        "checkpoints": {"location": "s3a://lake/checkpoints"},
    }
    head = pipeline_head("p")
    pipeline = read_object(head | {"spec": plain | spec}).pipeline
    return [(problem.path, problem.reason) for problem in policies.check(pipeline)]


def reading(path: str, **more: Any) -> dict[str, Any]:
    """A source of lines of that folder."""
    return {"sources": [{"name": "lines", "files": {"path": path, "format": "text"}}], **more}


def test_a_document_with_an_object_store_is_valid() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    "path",
    [
        "/var/run/secrets/kubernetes.io/serviceaccount",
        "/proc/self",
        "/data",
        "file:/data/in",
        "file:///data",
        "data",
        "/*",
    ],
)
def test_a_source_in_a_directory_of_the_pod_is_rejected(path: str) -> None:
    assert problems(**reading(path)) == [("spec.sources[0].files.path", "PathNotMounted")]


@pytest.mark.parametrize("template", [VOLUME, EMPTY])
@pytest.mark.parametrize("path", ["/data", "/data/in/2026-*", "file:///data/in"])
def test_a_source_on_a_mounted_volume_is_valid(path: str, template: dict[str, Any]) -> None:
    assert problems(**reading(path, driver={"template": template})) == []


@pytest.mark.parametrize("path", ["/data/../etc", "/data/{in,../../etc}", "/datafiles", "/data/*/../../etc"])
def test_a_path_outside_the_volume_is_rejected(path: str) -> None:
    assert problems(**reading(path, driver={"template": VOLUME})) == [
        ("spec.sources[0].files.path", "PathNotMounted")
    ]


def test_executors_must_mount_the_volume_too() -> None:
    of_executor = {
        "spec": {
            "volumes": VOLUME["spec"]["volumes"],
            "containers": [{"name": "executor", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        }
    }
    only_driver = reading("/data", driver={"template": VOLUME}, executors={"instances": 1})
    both = only_driver | {"executors": {"instances": 1, "template": of_executor}}
    assert problems(**only_driver) == [("spec.sources[0].files.path", "PathNotMounted")]
    assert problems(**both) == []


def test_sinks_static_files_and_archives_must_be_on_a_volume() -> None:
    clean = {"archive": "/old"}
    spec = {
        "sources": [
            {"name": "lines", "files": {"path": "s3a://lake/in", "format": "text", "cleanSource": clean}},
            {"name": "side", "static": {"csv": {"path": "/etc"}}},
        ],
        "views": [{"name": "joined", "sql": "SELECT value FROM lines JOIN side ON value = _c0"}],
        "queries": [{"name": "q", "from": "joined", "to": [{"name": "out", "text": {"path": "/tmp/out"}}]}],
    }
    assert problems(**spec) == [
        ("spec.sources[0].files.cleanSource.archive", "PathNotMounted"),
        ("spec.sources[1].static.csv.path", "PathNotMounted"),
        ("spec.queries[0].to[0].text.path", "PathNotMounted"),
    ]


@pytest.mark.parametrize(
    "file",
    ["/var/run/secrets/kubernetes.io/serviceaccount/token", "/proc/self/environ", "/etc/mainstem/secrets/a/b",
     "/opt/../proc/1/environ", "../proc/self/environ"],
)  # fmt: skip
def test_schemas_and_jars_in_a_directory_of_the_pod_are_rejected(file: str) -> None:
    decoded = {"json": {"schemaFile": file}}
    sources = [{"name": "lines", "files": {"path": "s3a://lake/in"}, "decode": decoded}]
    functions = [{"name": "f", "java": {"class": "a.B", "jar": file}}]
    assert problems(sources=sources) == [("spec.sources[0].decode.json.schemaFile", "PathNotMounted")]
    assert problems(functions=functions) == [("spec.functions[0].java.jar", "PathNotMounted")]


def test_schemas_and_jars_of_the_image_are_valid() -> None:
    decoded = {"json": {"schemaFile": "/opt/schemas/line.json"}}
    sources = [{"name": "lines", "files": {"path": "s3a://lake/in"}, "decode": decoded}]
    assert (
        problems(sources=sources, functions=[{"name": "f", "java": {"class": "a.B", "jar": "/opt/b.jar"}}])
        == []
    )


@pytest.mark.parametrize("key", OWNED_IN_PODS)
def test_a_property_that_the_pod_sets_is_rejected_by_name(key: str) -> None:
    assert key not in OWNED_CONF
    assert problems(spark={"conf": {key: "4041"}}) == [(f"spec.spark.conf[{key}]", "OwnedConf")]
