"""An image that a user makes from Mainstem's, by the Dockerfiles of the pages: its jars and modules are those of the pipeline.

One module of it takes more memory than its executor may have. The message of the plain image about missing jars: `test_lives.py`.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.deployment import Pipeline, Servers, pod_template, within
from harness.cluster.base import TestCluster
from harness.images import Image, derive


pytestmark = [pytest.mark.faults, pytest.mark.timeout(900), pytest.mark.full]
ROOT = Path(__file__).parents[2]
USERCODE = ROOT / "tests" / "usercode"
FILES = {
    "jars/connectors.jar": USERCODE / "java" / "connectors.jar",
    "jars/udfs.jar": USERCODE / "java" / "udfs.jar",
    "shop/hungry.py": USERCODE / "hungry.py",
}
ARTIFACT = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
TOKEN = "nobody-shall-see-this"

DOCUMENT = yaml.safe_load("""
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: jars}
spec:
  connections:
    - name: store
      s3: {buckets: [mainstem], endpoint: "http://s3:7070", pathStyle: true, secretRef: {name: s3}}
  queries: []
  checkpoints: {location: "s3a://mainstem/checkpoints/derived"}
  drain: {timeout: 20 seconds}
  driver:
    cores: 1
    resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 1Gi}}
""")
JARS = yaml.safe_load(f"""
packages: {{maven: ["{ARTIFACT}"], jars: [jars/connectors.jar, jars/udfs.jar]}}
sources: [{{name: ticks, spark: {{format: ticks, options: {{rowsPerSecond: "20"}}}}}}]
functions: [{{name: shout, java: {{class: com.example.Shout, returns: STRING}}}}]
views: [{{name: loud, sql: "SELECT value, shout(concat('n', value)) AS name FROM ticks"}}]
queries:
  - name: keep
    from: loud
    to:
      - name: shelf
        spark: {{format: shelf, connection: shelf, mode: batch, options: {{folder: "s3a://mainstem/shelf"}}}}
executors:
  instances: 1
  cores: 1
  resources: {{requests: {{cpu: 100m, memory: 1Gi}}, limits: {{memory: 1Gi}}}}
""")
SHELF = {"name": "shelf", "spark": {"secretOptions": {"token": {"name": "shelf", "key": "key"}}}}


def dockerfile(page: str, word: str) -> list[str]:
    """The lines below FROM of a page's Dockerfile that has a word in it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    [block] = [part for part in text.split("```dockerfile\n")[1:] if word in part.split("```")[0]]
    first, *lines = block.split("```")[0].splitlines()
    assert first.startswith("FROM ")
    return lines


def derived_lines() -> list[str]:
    """What the pages write into Dockerfiles: an artifact, jars, and a folder of modules."""
    text = " ".join((ROOT / "docs" / "connectors.md").read_text(encoding="utf-8").split())
    copied = "COPY jars/*.jar /opt/mainstem/packages/"
    assert f"`{copied}`" in text
    return [*dockerfile("connectors.md", "packages install"), copied, *dockerfile("python.md", "PYTHONPATH")]


@pytest.fixture(scope="module")
def derived(cluster: TestCluster, images: dict[str, Image]) -> Image:
    image = derive(images["app"], derived_lines(), FILES)
    cluster.take(image)
    return image


@pytest.fixture(scope="module")
def servers(stage_servers: Any) -> Servers:
    started_servers: Servers = stage_servers("derived")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "shelf"},
        "stringData": {"key": TOKEN},
    }
    started_servers.kubectl("apply", "-f", "-", stdin=json.dumps(secret))
    return started_servers


def document(name: str, **spec: Any) -> dict[str, Any]:
    filled = copy.deepcopy(DOCUMENT)
    filled["metadata"]["name"] = name
    filled["spec"]["checkpoints"]["location"] += f"-{name}"
    filled["spec"] |= copy.deepcopy(spec)
    return dict(filled)


def kept(servers: Servers) -> list[dict[str, Any]]:
    """The rows that the connector wrote."""
    s3 = servers.s3()
    keys = [key for key in servers.keys("shelf/") if key.endswith(".json")]
    texts = [s3.get_object(Bucket="mainstem", Key=key)["Body"].read().decode() for key in keys]
    return [json.loads(line) for text in texts for line in text.splitlines()]


@pytest.mark.S32
def test_driver_and_executor_use_the_jars_of_the_derived_image(
    pipeline: Pipeline, servers: Servers, derived: Image
) -> None:
    log = {"JDK_JAVA_OPTIONS": "-Xlog:class+load:file=/tmp/class-load.log"}
    spec = document(pipeline.name, **JARS, image=derived.reference)
    spec["spec"]["connections"].append(SHELF)
    spec["spec"]["driver"]["template"] = pod_template("driver", log)
    pipeline.apply(spec)
    pipeline.wait("Ready", 300)
    try:
        within(180, "rows on the shelf", lambda: len(kept(servers)) >= 60)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{pipeline.diagnosis()}") from None
    assert [pod["spec"]["containers"][0]["image"] for pod in pipeline.executors()] == [derived.reference]
    inside = ("exec", f"{pipeline.name}-driver", "--")
    listed = pipeline.kubectl(*inside, "ls", "/opt/mainstem/packages").split()
    assert listed == ["connectors.jar", "mariadb-java-client-3.5.6.jar", "udfs.jar"]
    counted = pipeline.kubectl(*inside, "grep", "-c", "shared objects file (top)", "/tmp/class-load.log")
    assert int(counted) > 8_000, "Java takes the archive of classes with packages behind it"
    pipeline.patch(suspend=True)
    pipeline.phase("Suspended", 120)
    rows = kept(servers)
    values = sorted(row["value"] for row in rows)
    assert values == list(range(len(values)))
    assert all(row["name"] == f"N{row['value']}!" for row in rows), rows[:3]
    assert {row["token"] for row in rows} == {TOKEN}


def test_an_executor_over_its_memory_limit_is_reported_by_event_and_reason(
    pipeline: Pipeline, derived: Image
) -> None:
    """The kernel kills it, for four Python workers and Java are together more than the container may have."""
    spec = document(
        pipeline.name,
        image=derived.reference,
        sources=[{"name": "ticks", "rate": {"rowsPerSecond": 4, "numPartitions": 4}}],
        functions=[{"name": "eat", "python": {"function": "shop.hungry:eat", "returns": "BIGINT"}}],
        views=[{"name": "eaten", "sql": "SELECT eat(60) AS bytes FROM ticks"}],
        queries=[{"name": "show", "from": "eaten", "to": [{"name": "out", "console": {}}]}],
        executors={
            "instances": 1,
            "cores": 4,
            "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
        },
    )
    pipeline.apply(spec)
    within(
        300, "ExecutorOOMKilled", lambda: pipeline.condition("Degraded").get("reason") == "ExecutorOOMKilled"
    )
    status = pipeline.status()
    assert (status["phase"], status["reason"]) == ("Degraded", "ExecutorOOMKilled")
    message = pipeline.condition("Degraded")["message"]
    assert "over its memory limit of 1Gi and was killed" in message
    assert status["summary"]["executorsMessage"] == message
    events = json.loads(pipeline.kubectl("get", "events", "-o", "json"))["items"]
    mine = [event for event in events if event["involvedObject"]["name"] == pipeline.name]
    [event] = [event for event in mine if event["reason"] == "ExecutorOOMKilled"]
    assert event["type"] == "Warning"
    assert event["message"] == message
