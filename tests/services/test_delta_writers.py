"""Who writes a Delta table on S3: any number of queries of one pipeline, and no second pipeline."""

import threading
from pathlib import Path

import pytest
from deltalake import DeltaTable
from harness.checkpoints import newest
from harness.driver import DriverProcess
from harness.s3 import S3Server
from mainstem.errors import NotReady
from mainstem.language.model.queries import Query
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight import table_ownership
from pyspark.sql import SparkSession


WRITERS = 16
ROWS = 400
DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: {name}}}
spec:
  connections: [{{name: store, s3: {{buckets: [lake], endpoint: "{endpoint}", pathStyle: true}}}}]
  sources:
    - {{name: left, files: {{path: {folder}/left, maxFilesPerTrigger: 1}}}}
    - {{name: right, files: {{path: {folder}/right, maxFilesPerTrigger: 1}}}}
  queries:
    - {{name: left, from: left, to: [{{name: t, delta: {{path: s3a://lake/shared}}}}]}}
    - {{name: right, from: right, to: [{{name: t, delta: {{path: s3a://lake/shared/}}}}]}}
  checkpoints: {{location: "s3a://lake/checkpoints/{name}"}}
  spark: {{conf: {{spark.ui.enabled: "false"}}}}
"""
pytestmark = [pytest.mark.faults, pytest.mark.S28, pytest.mark.S30]


@pytest.fixture
def document(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    s3.make_bucket("lake")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret_key)
    for side, first in (("left", 0), ("right", ROWS)):
        (tmp_path / side).mkdir()
        for file in range(8):
            lines = range(first + file * ROWS // 8, first + (file + 1) * ROWS // 8)
            (tmp_path / side / f"{file}.txt").write_text("".join(f"{line}\n" for line in lines))
    for name in ("first", "second"):
        text = DOCUMENT.format(name=name, endpoint=s3.endpoint, folder=tmp_path)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "first.yaml"


@pytest.mark.full(
    gate="services/test_delta_writers.py::test_of_many_simultaneous_owners_exactly_one_succeeds"
)
@pytest.mark.timeout(600)
def test_a_second_pipeline_is_rejected_and_the_first_continues_after_a_kill(
    s3: S3Server, document: Path, tmp_path: Path
) -> None:
    """Both queries append to one table; a kill in the middle; then every row is there once."""
    commits = s3.root / "lake" / "checkpoints" / "first" / "left" / "1" / "commits"
    with DriverProcess(document, tmp_path / "first") as driver:
        driver.until(lambda: newest(commits) >= 1, 240)
        driver.kill()
    with DriverProcess(tmp_path / "second.yaml", tmp_path / "other") as other:
        assert other.wait(240) == 5, other.stderr[-3000:]
        assert "[TableOwnedByAnotherPipeline]" in other.stderr
        assert "belongs to the pipeline 'first', since 20" in other.stderr
        assert f"remove {table_ownership.owner_record('s3a://lake/shared')}" in other.stderr
    assert not (s3.root / "lake" / "checkpoints" / "second" / "left").exists(), "no query has begun"
    with DriverProcess(document, tmp_path / "first", arguments=("--stop-when-idle=2s",)) as driver:
        assert driver.wait(240) == 0, driver.stderr[-3000:]
    table = DeltaTable(str(s3.root / "lake" / "shared"))
    assert sorted(map(int, table.to_pyarrow_table()["value"].to_pylist())) == list(range(2 * ROWS))
    assert len(table.history()) >= 8


@pytest.mark.timeout(300)
def test_of_many_simultaneous_owners_exactly_one_succeeds(spark: SparkSession, s3: S3Server) -> None:
    s3.make_bucket("ownership")
    s3.open_to(spark, "ownership")
    for race in range(4):
        file = table_ownership.owner_record(f"s3a://ownership/race-{race}")
        assert table_ownership.read(spark, file) is None
        won = racing(spark, file)
        assert len(won) == 1
        assert table_ownership.read(spark, file) == table_ownership.TableOwner(won[0], "now")
    table = {"name": "t", "delta": {"path": f"s3a://ownership/race-{race}/"}}
    query = Query.model_validate({"name": "q", "from": "a", "to": [table]})
    table_ownership.take(spark, query, won[0], Clock())
    with pytest.raises(NotReady, match=f"belongs to the pipeline '{won[0]}', since now") as refused:
        table_ownership.take(spark, query, "another", Clock())
    assert refused.value.reason == "TableOwnedByAnotherPipeline"
    with pytest.raises(NotReady) as looked:
        table_ownership.look(spark, query, "another")
    assert str(looked.value) == str(refused.value)
    table_ownership.look(spark, query, won[0])
    untaken = Query.model_validate(
        {"name": "q", "from": "a", "to": [{"name": "t", "delta": {"path": "s3a://ownership/untaken"}}]}
    )
    table_ownership.look(spark, untaken, "another")
    assert table_ownership.read(spark, table_ownership.owner_record("s3a://ownership/untaken")) is None


def racing(spark: SparkSession, file: str) -> list[str]:
    """The writers that own the file."""
    won: list[str] = []
    barrier = threading.Barrier(WRITERS)

    def claim(name: str) -> None:
        barrier.wait()
        if table_ownership.create(spark, file, table_ownership.TableOwner(name, "now")):
            won.append(name)

    threads = [threading.Thread(target=claim, args=(f"pipeline-{n}",)) for n in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won
