"""A damaged checkpoint, or a damaged log of a folder, is refused before its query starts; small folders as Spark writes them."""

from pathlib import Path
from typing import Any

import pytest
from harness.supervisor_loop import Stage
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.checkpoint import damage, sink_logs
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.faults, pytest.mark.S37]

OTHER_SUM = b"crc\0" + (512).to_bytes(4, "big") + bytes(4)
"""What Hadoop writes beside a file whose content has the sum 0."""
WAYS_OUT = ("mainstem checkpoint rewind", "checkpoint.generation", "mainstem checkpoint verify")


def checkpoint(folder: Path) -> Path:
    """A checkpoint that has committed the batches 0 and 1, of a query over the files `lines`."""
    files = {"metadata": '{"id":"11111111-2222-3333-4444-555555555555"}'}
    for batch in (0, 1):
        head = f'{{"batchWatermarkMs":0,"batchTimestampMs":{batch},"conf":{{}}}}'
        files[f"offsets/{batch}"] = f'v2\n{head}\nlines:{{"logOffset":{batch}}}'
        files[f"commits/{batch}"] = 'v1\n{"nextBatchWatermarkMs":0}'
        files[f"sources/lines/{batch}"] = (
            f'v1\n{{"path":"file:///in/{batch}","timestamp":1,"batchId":{batch}}}'
        )
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def log(folder: Path) -> Path:
    """The log of a folder whose entry 1 has the files of two batches."""
    entries = folder / "_spark_metadata"
    entries.mkdir(parents=True)
    for name, files in (("0", "a"), ("1.compact", "ab"), ("2", "c")):
        lines = [f'{{"path":"file://{folder}/{file}","size":4,"action":"add"}}' for file in files]
        (entries / name).write_text("\n".join(["v1", *lines]), encoding="utf-8")
    return entries


def halve(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("file", ["offsets/1", "sources/lines/1"])
def test_a_checkpoint_that_lacks_a_needed_file_is_refused(
    spark: SparkSession, tmp_path: Path, file: str
) -> None:
    """Spark alone plans the committed batch again, or counts files as read that it has not read."""
    folder = checkpoint(tmp_path)
    damage.refuse(spark, str(folder))
    (folder / file).unlink()
    with pytest.raises(NotReady, match=f"the checkpoint {folder} is damaged: {file} is missing") as refused:
        damage.refuse(spark, str(folder))
    assert refused.value.reason == "CheckpointDamaged"
    assert all(way in str(refused.value) for way in WAYS_OUT)


def test_a_plan_that_is_cut_off_or_differs_from_its_checksum_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = checkpoint(tmp_path)
    halve(folder / "offsets" / "1")
    with pytest.raises(NotReady, match="is damaged: offsets/1 cannot be read: "):
        damage.refuse(spark, str(folder))
    (folder / "offsets" / ".1.crc").write_bytes(OTHER_SUM)
    with pytest.raises(NotReady, match="is damaged: offsets/1 differs from its checksum"):
        damage.refuse(spark, str(folder))


def test_a_log_of_a_folder_with_an_entry_that_is_cut_off_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Readers see no file that the log does not name, and such files count as those of a dead driver."""
    entries = log(tmp_path)
    halve(entries / "0")
    sink_logs.refuse(spark, str(tmp_path), 2)
    assert sink_logs.is_whole(spark, str(tmp_path), 2), "the compact entry has the files of the one before"
    halve(entries / "1.compact")
    with pytest.raises(
        NotReady, match=r"the log of the folder .* is damaged: _spark_metadata/1.compact"
    ) as refused:
        sink_logs.refuse(spark, str(tmp_path), 2)
    assert refused.value.reason == "SinkLogDamaged"
    assert not sink_logs.is_whole(spark, str(tmp_path), 2)


def files(stage: Stage, name: str) -> dict[str, Any]:
    """A query that copies the lines into a folder, of files with types if it is called so."""
    kind = "parquet" if name == "typed" else "text"
    sink = {"name": "files", kind: {"path": str(stage.folder / name)}}
    return stage.query("lines", name, to=[sink], trigger={"availableNow": True})


def test_a_query_with_a_damage_fails_with_its_reason_and_the_others_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A missing plan and a broken log are known before the start; the missing id is Spark's error, explained, as is a broken log
    whose newest file is asked for its types.
    """
    stage = Stage(spark, tmp_path)
    stage.put("lines", "one")
    (checkpoint(tmp_path / "checkpoints" / "to-unplanned" / "1") / "offsets" / "1").unlink()
    (checkpoint(tmp_path / "checkpoints" / "to-nameless" / "1") / "metadata").unlink()
    kept = tmp_path / "torn" / "a"
    halve(log(kept.parent) / "1.compact")
    kept.write_text("of a committed batch\n", encoding="utf-8")
    halve(log(tmp_path / "typed") / "2")
    names = ("unplanned", "nameless", "torn", "typed", "beside")
    with stage.running(sources=[stage.files("lines")], queries=[files(stage, name) for name in names]) as run:
        run.to_the_end()
        unplanned, nameless, torn, typed, beside = (run[f"to-{name}"] for name in names)
    for status, file in ((unplanned, "offsets/1"), (nameless, "metadata")):
        assert (status.state, status.reason) == (QueryState.FAILED, "CheckpointDamaged"), status
        assert all(part in (status.message or "") for part in (f"{file} is missing", *WAYS_OUT))
    for status, file in ((torn, "1.compact"), (typed, "2")):
        assert (status.state, status.reason) == (QueryState.FAILED, "SinkLogDamaged"), status
        assert all(
            part in (status.message or "")
            for part in (f"_spark_metadata/{file} ", "restore the file from a copy")
        )
    assert kept.exists()
    assert [file.name for file in kept.parent.glob("part-*")] == []
    assert not [*(tmp_path / "unplanned").glob("part-*"), *(tmp_path / "nameless").glob("part-*")]
    assert beside.state is QueryState.COMPLETED
    assert [file.read_text() for file in (tmp_path / "beside").glob("part-*")] == ["one\n"]
