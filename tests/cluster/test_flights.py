"""The sample `k8s/samples/flights-cluster.yaml` on a cluster, from `kubectl apply` to `kubectl delete`: every total is exact.

The tests of this file tell one story, in their order.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from cluster.deployment import ROOT, Pipeline, Servers, fetched, page, within
from deltalake import DeltaTable
from harness.cluster.base import TestCluster
from harness.records import Record, consume, new_producer, produce


pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.story,
    pytest.mark.full(
        gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
    ),
]
SAMPLE = ROOT / "k8s" / "samples" / "flights-cluster.yaml"
FLIGHTS, DEAD = 336_776, 12
"""Of the sample's topic."""
MORE = 20_000
"""Flights that come while the pipeline is suspended."""


@pytest.fixture(scope="module")
def demo() -> Iterator[dict[str, ModuleType]]:
    """The demo's modules: they know the flights and their totals."""
    names = ("replay", "lake", "report")
    sys.path.insert(0, str(ROOT / "demo"))
    yield {name: importlib.import_module(name) for name in names}
    sys.path.remove(str(ROOT / "demo"))
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def servers(
    stage_servers: Any, demo: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory
) -> Servers:
    """Broker and store with the sample's data."""
    started_servers: Servers = stage_servers("flights")
    started_servers.create_topic("departures", 2)
    started_servers.create_topic("departures-dead", 1)
    reference = tmp_path_factory.mktemp("reference")
    demo["replay"].write_reference(reference)
    for file in reference.iterdir():
        started_servers.s3().upload_file(str(file), "mainstem", f"reference/{file.name}")
    producer = new_producer({"bootstrap.servers": started_servers.bootstrap_servers})
    lines = list(demo["replay"].records())
    # By time in each partition: the watermark drops nothing.
    records = (Record(None, line, partition=index % 2) for index, line in enumerate(lines))
    assert produce(producer, "departures", records) == FLIGHTS + DEAD
    return started_servers


@pytest.fixture(scope="module")
def flights(cluster: TestCluster, release: None, servers: Servers) -> Pipeline:
    return Pipeline(cluster, servers.namespace, "flights")


def archive(servers: Servers) -> int:
    """Rows of the Parquet folder, by the files that its log has, read by pyarrow."""
    import pyarrow.parquet as pq
    from pyarrow import fs

    options = servers.storage_options
    store = fs.S3FileSystem(
        access_key=options["AWS_ACCESS_KEY_ID"],
        secret_key=options["AWS_SECRET_ACCESS_KEY"],
        endpoint_override=options["AWS_ENDPOINT_URL"],
        region="us-east-1",
    )
    files = [key for key in servers.keys("flights/archive/") if key.endswith(".parquet")]
    return sum(pq.read_metadata(store.open_input_file(f"mainstem/{key}")).num_rows for key in files)


def carrier_days(servers: Servers) -> tuple[int, int]:
    """Rows of the Delta table, and flights in them, read by deltalake."""
    table = DeltaTable("s3://mainstem/flights/carrier_days", storage_options=servers.storage_options)
    rows = table.to_pyarrow_table()
    return rows.num_rows, sum(rows["flights"].to_pylist())


def dead(servers: Servers) -> int:
    """Records of the topic of dead letters."""
    return sum(1 for _ in consume({"bootstrap.servers": servers.bootstrap_servers}, "departures-dead", [0]))


def total_lag(status: dict[str, Any]) -> int | None:
    lag: int | None = status.get("summary", {}).get("lag")
    return lag


def test_apply_reads_everything_exactly_once(flights: Pipeline, servers: Servers, capsys: Any) -> None:
    sample = SAMPLE.read_text().replace("maxOffsetsPerTrigger: 15000", "maxOffsetsPerTrigger: 60000")
    flights.apply(yaml.safe_load(sample))
    pod = within(60, "the driver's pod", flights.driver)
    lags: list[int] = []

    def drained() -> bool:
        lag = total_lag(flights.status())
        if lag is not None and (not lags or lags[-1] != lag):
            lags.append(lag)
        return bool(lags) and lags[-1] == 0 and max(lags) > 10_000

    try:
        within(300, "lag from above 10,000 to 0", drained)
    except AssertionError as error:
        raise AssertionError(f"{error}; lags {lags}\n{flights.diagnosis()}") from None
    flights.wait("Ready", 120)
    with capsys.disabled():
        print(f"\n  flights: all read, lags seen: {lags}")
    assert pod["spec"]["serviceAccountName"] == "flights-driver"
    within(120, "the archive is whole", lambda: archive(servers) == FLIGHTS)
    assert carrier_days(servers) == (5_442, FLIGHTS)
    assert dead(servers) == DEAD


@pytest.mark.full(gate="apiserver/test_crd.py::test_a_table_shows_the_printer_columns")
def test_the_table_of_kubectl_shows_the_pipeline(flights: Pipeline) -> None:
    head, row = flights.kubectl("get", "sp", "flights").splitlines()
    assert head.split() == [
        "NAME",
        "READY",
        "PHASE",
        "REASON",
        "QUERIES",
        "LAG",
        "BEHIND",
        "ROWS/S",
        "LAST",
        "COMMIT",
        "AGE",
    ]
    assert row.split()[:7] == ["flights", "True", "Running", "Running", "3", "active", "0"]
    wide = flights.kubectl("get", "sp", "flights", "-o", "wide").splitlines()[1]
    for word in ("flights-driver", "s3a://mainstem/checkpoints/flights"):
        assert word in wide


@pytest.mark.full(gate="unit/test_cluster_status.py::test_a_query_fills_every_field_of_the_resource")
def test_the_status_has_every_query(flights: Pipeline) -> None:
    # The watermark moves in a batch without data, after the last one; the status shows it ten seconds later at most.
    within(
        120,
        "the watermark has passed the last day but one",
        lambda: flights.status()["queries"][1].get("watermark", "").startswith("2013-12-"),
    )
    status = flights.status()
    assert [query["name"] for query in status["queries"]] == ["archive", "carrier-days", "dead-letters"]
    for query in status["queries"]:
        assert query["state"] in ("Running", "Idle")
        assert query["pool"] == query["name"]
        assert {"id", "runId", "batch", "lastProgressTime", "checkpoint"} <= query.keys()
        [source] = query["sources"]
        assert (source["lag"], source["partitions"]) == (0, 2)
        assert (source["decoded"], source["malformed"]) == (FLIGHTS, DEAD)
        assert json.loads(source["endOffset"])["departures"]
    assert status["queries"][1]["stateRows"] > 0
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions["Ready"] == conditions["SpecValid"] == conditions["QueriesActive"] == "True"
    assert conditions["Degraded"] == conditions["DataStalled"] == "False"


class Cells(HTMLParser):
    """The cells of a page's tables, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        self._in = tag == "td" or (self._in and tag != "tr")
        if tag == "td" and self.rows:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self._in and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


@pytest.mark.full(
    gate="spark/test_live_changes.py::test_exactly_those_queries_restart_of_which_the_comparison_shows_it"
)
def test_pools_and_weights_are_those_of_the_document(flights: Pipeline, tmp_path: Path) -> None:
    with flights.forwarded(4040, tmp_path) as ui:
        [application] = fetched(f"{ui}/api/v1/applications")
        stages = fetched(f"{ui}/api/v1/applications/{application['id']}/stages")
        assert {stage["schedulingPool"] for stage in stages} >= {"archive", "carrier-days", "dead-letters"}
        cells = Cells()
        cells.feed(page(f"{ui}/stages/"))
    pools = {row[0]: (row[1], row[2]) for row in cells.rows if len(row) >= 6}
    # Spark's page of pools: name, minimum share, weight.
    assert pools["archive"] == ("0", "2")
    assert pools["carrier-days"] == ("1", "3")
    assert pools["dead-letters"] == ("0", "1")


@pytest.mark.full(gate="cluster/test_story.py::test_a_suspended_pipeline_drains")
def test_suspend_drains_and_resume_continues(
    flights: Pipeline, servers: Servers, demo: dict[str, ModuleType]
) -> None:
    flights.patch(suspend=True)
    status = flights.phase("Suspended", 120)
    termination = status["lastTermination"]
    assert (termination["outcome"], termination["exitCode"]) == ("drained", 0), termination
    assert {query["name"]: query["batch"] for query in termination["queries"]}.keys() == {
        "archive",
        "carrier-days",
        "dead-letters",
    }
    within(60, "the pod is removed", lambda: flights.driver() is None)
    # Of two writers one may have to write again: the phase may be there a moment before the numbers go.
    within(30, "no lag", lambda: "lag" not in flights.status()["summary"])
    status = flights.status()
    assert status["summary"]["queries"] == "3 stopped"
    assert all("rowsPerSecond" not in query and "lag" not in query for query in status["queries"])
    last = list(demo["replay"].records())[-400:]  # of the last day: the watermark has not passed them
    records = (Record(None, last[index % 400], partition=index % 2) for index in range(MORE))
    produce(new_producer({"bootstrap.servers": servers.bootstrap_servers}), "departures", records)
    flights.patch(suspend=False)
    flights.wait("Ready", 240)
    within(120, "the new flights are read", lambda: archive(servers) == FLIGHTS + MORE)
    within(120, "and counted", lambda: carrier_days(servers)[1] == FLIGHTS + MORE)
    assert dead(servers) == DEAD
    assert flights.status()["attempt"] == 2


@pytest.mark.full(gate="cluster/test_story.py::test_a_deletion_leaves_only_the_data")
def test_delete_leaves_only_the_data(flights: Pipeline, servers: Servers) -> None:
    before = {prefix: len(servers.keys(prefix)) for prefix in ("flights/", "checkpoints/flights/")}
    flights.delete()
    kinds = "pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets"

    def left() -> list[str]:
        labels = "app.kubernetes.io/managed-by=mainstem-operator"
        return flights.kubectl("get", kinds, "-l", labels, "-o", "name").split()

    within(120, "nothing is left", lambda: not left())
    after = {prefix: len(servers.keys(prefix)) for prefix in before}
    assert after.keys() == before.keys()
    assert all(after[prefix] >= before[prefix] > 0 for prefix in before)
    assert archive(servers) == FLIGHTS + MORE
