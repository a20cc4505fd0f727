"""Checkpoints read, checked and copied without Spark: small folders in the formats of Spark 4.2."""

import io
import json
import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mainstem.checkpoints import copying, entries, finding, requirements, state_files, times
from mainstem.checkpoints.checksums import matches
from mainstem.checkpoints.damage import sink_logs
from mainstem.checkpoints.damage.source_logs import missing_entries
from mainstem.checkpoints.damage.verification import verify
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.owner import Owner, identity
from mainstem.cli import main
from mainstem.errors import NotReady
from mainstem.language.model.connectors.kinds import SinkKind
from mainstem.language.model.sinks import SINKS
from mainstem.runtime.supervision.recreated_topics import read_ids, recreated


SHARED = "000008-60d6d6f4-8cb7-4bd4-9417-771685858320.sst"
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def plan(batch: int) -> str:
    head = {
        "batchWatermarkMs": 0,
        "batchTimestampMs": 1_700_000_000_000 + batch * 60_000,
        "conf": {entries.PROVIDER: PROVIDER},
    }
    return f'v2\n{json.dumps(head)}\na:{{"logOffset":{batch}}}\nk:{{"topic":{{"0":{batch * 10},"1":7}}}}'


def full_copy() -> bytes:
    metadata = {
        "sstFiles": [{"localFileName": "8.sst", "dfsSstFileName": SHARED, "sizeBytes": 4}],
        "numKeys": 1,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("metadata", f"v1\n{json.dumps(metadata)}")
    return out.getvalue()


def changes(version: int) -> bytes:
    """A file of changes as Spark compresses it: a block that is not compressed, and the empty block at the end."""
    data = f"changes {version}".encode()
    size = len(data).to_bytes(4, "little")
    return b"LZ4Block\x15" + size + size + bytes(4) + data + b"LZ4Block\x15" + bytes(12)


def built(folder: Path, batches: int = 6, *, committed: int | None = None, snapshot: int = 3) -> Path:
    """A checkpoint with a stateful operator of two partitions, and a full copy of its state at one version."""
    committed = batches if committed is None else committed
    files: dict[str, str | bytes] = {"metadata": '{"id":"11111111-2222-3333-4444-555555555555"}'}
    files |= {f"offsets/{batch}": plan(batch) for batch in range(batches)}
    files |= {f"commits/{batch}": 'v1\n{"nextBatchWatermarkMs":60000}' for batch in range(committed)}
    files |= {f"sources/a/{batch}": 'v1\n{"path":"file:/x"}' for batch in range(batches)}
    operator = {
        "operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"},
        "stateStoreInfo": [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}],
    }
    files["state/0/_metadata/metadata"] = f"v1\n{json.dumps(operator)}"
    files["state/0/0/_metadata/schema"] = (
        b'\x00\x02v2{"type":"struct","fields":[{"name":"k","type":"string"}]}'
        b'\x00{"type":"struct","fields":[{"name":"n","type":"long"}]}'
    )
    for partition in range(2):
        for version in range(1, committed + 1):
            files[f"state/0/{partition}/{version}.changelog"] = changes(version)
        files[f"state/0/{partition}/{snapshot}.zip"] = full_copy()
        files[f"state/0/{partition}/SSTs/{SHARED}"] = b"abcd"
    for path, content in files.items():
        write(folder / path, content)
    return folder


def write(file: Path, content: str | bytes) -> None:
    """A file, and Hadoop's checksums of it."""
    data = content.encode() if isinstance(content, str) else content
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    pieces = [data[start : start + 512] for start in range(0, len(data), 512)]
    sums = b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)
    (file.parent / f".{file.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)


def layout(folder: Path) -> tuple[Any, Layout]:
    checkpoint = finding.stream(finding.opened(str(folder)))
    return checkpoint.folder, checkpoint.layout


def problems(folder: Path) -> dict[str, bool]:
    return {each.file: each.blocks for each in verify(*layout(folder)).problems}


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["checkpoint", *map(str, arguments)])


@pytest.mark.parametrize(("older", "most", "blocks"), [(True, 6, False), (True, 5, True), (False, 6, True)])
def test_a_broken_copy_of_the_hdfs_store_blocks_only_without_few_changes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, older: bool, most: int, blocks: bool
) -> None:
    """Spark reads an older copy, or the changes from the first one on, unless these are too many."""
    monkeypatch.setattr(requirements, "MOST_REPLAYED", most)
    folder = built(tmp_path / "q" / "1")
    for partition in (folder / "state/0/0", folder / "state/0/1"):
        for file in [*partition.glob("*.changelog")]:
            write(file.with_suffix(".delta"), file.read_bytes())
            file.unlink()
        (partition / "3.zip").unlink()
        write(partition / "3.snapshot", changes(3))
        if not older:
            (partition / "3.delta").unlink()
    assert problems(folder) == {}
    write(folder / "state/0/0/3.snapshot", changes(3)[:20])
    assert problems(folder) == {"state/0/0/3.snapshot": blocks}


def test_a_path_in_a_store_is_read_as_hadoop_reads_it() -> None:
    """Arrow refuses a path with an empty part, by an error that is no OSError."""
    assert finding.opened("s3a://lake//out///q/").path == "lake/out/q"


def test_a_whole_checkpoint_is_sound(tmp_path: Path) -> None:
    result = command("verify", built(tmp_path / "q" / "1"))
    assert result.exit_code == 0
    assert "sound\n  a restart plans batch 6, from the offsets at which batch 5 ended" in result.output


def test_a_pending_batch_runs_again(tmp_path: Path) -> None:
    result = command("verify", built(tmp_path / "q" / "1", committed=5))
    assert result.exit_code == 0
    assert "a restart runs batch 5 again with the offsets it planned" in result.output


def needed(folder: Path) -> list[str]:
    """The files that a start on a whole checkpoint needs."""
    root, files = layout(folder)
    copy = copying.plan(root, files, 5, root / "copy")
    visible = [path for path in copy.files if not path.rpartition("/")[2].startswith(".")]
    older = [f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(5)]
    return [path for path in [*visible, "metadata"] if path not in older]


NEEDED = [
    "metadata",
    "offsets/5",
    *(f"sources/a/{batch}" for batch in range(6)),
    "state/0/_metadata/metadata",
    "state/0/0/_metadata/schema",
    *(
        f"state/0/{partition}/{name}"
        for partition in range(2)
        for name in ("3.zip", "4.changelog", "5.changelog", "6.changelog", f"SSTs/{SHARED}")
    ),
]


def test_a_copy_has_the_files_that_a_start_needs_and_no_others(tmp_path: Path) -> None:
    assert sorted(needed(built(tmp_path / "q" / "1"))) == sorted([*NEEDED, "commits/5"])


@given(st.sampled_from(NEEDED))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_a_missing_file_is_named(tmp_path: Path, path: str) -> None:
    folder = built(tmp_path / "q" / "1")
    if path.endswith("3.zip"):  # the changes of all versions reach back to the empty state
        (folder / path).with_name("1.changelog").unlink()
    (folder / path).unlink()
    broken = problems(folder)
    expected = path.replace("3.zip", "1.changelog").replace("_metadata/metadata", "_metadata")
    spare = "SSTs/" in path or path.endswith(("_metadata/schema", "_metadata/metadata"))
    assert broken.get(expected) is not spare, broken
    built(folder)


@given(st.sampled_from(NEEDED), st.integers(min_value=0), st.integers(1, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_a_file_with_one_changed_byte_is_named(tmp_path: Path, path: str, position: int, change: int) -> None:
    folder = built(tmp_path / "q" / "1")
    content = bytearray((folder / path).read_bytes())
    content[position % len(content)] ^= change
    (folder / path).write_bytes(bytes(content))
    result = command("verify", folder)
    assert f"  {path} " in result.output
    spare = path.endswith((".zip", ".sst"))  # the changes of all versions reach back to the empty state
    assert result.exit_code == (0 if spare else 5)
    assert ("CheckpointDamaged" in result.output) is not spare


@given(st.integers(min_value=0), st.integers(1, 255))
@settings(max_examples=300)
def test_a_broken_full_copy_is_a_value_error(position: int, change: int) -> None:
    content = bytearray(full_copy())
    content[position % len(content)] ^= change
    with suppress(ValueError):
        state_files.shared_files(bytes(content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["operatorInfo", "stateStoreInfo", "operatorId", "conf", "fields", "type", "id"]),
            inner,
        )
    ),
)


@given(st.sampled_from(["v1\n", "v2\n", ""]), JSON | st.dictionaries(st.just("stateStoreInfo"), JSON))
def test_a_text_of_other_content_is_refused_by_each_parser(version: str, value: Any) -> None:
    text = f"{version}{json.dumps(value)}"
    with suppress(ValueError):
        entries.operator(text)
    for parse in (entries.plan, entries.commit, entries.query_id):
        with suppress(ValueError, KeyError, TypeError):
            parse(text)
    entries.schemas(f'{{"type":"struct","fields":{json.dumps(value)}}}'.encode())


@pytest.mark.parametrize(
    ("removed", "blocks"),
    [("offsets/5", True), ("offsets/3", False), ("commits/2", False), ("metadata", True)],
)
def test_a_missing_entry_blocks_a_start_only_if_the_start_reads_it(
    tmp_path: Path, removed: str, blocks: bool
) -> None:
    folder = built(tmp_path / "q" / "1")
    (folder / removed).unlink()
    assert problems(folder)[removed] is blocks
    assert command("verify", folder).exit_code == (5 if blocks else 0)


def test_a_pending_batch_needs_the_plan_before_it(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1", committed=5)
    (folder / "offsets" / "4").unlink()
    assert problems(folder)["offsets/4"]


def test_batches_that_async_progress_has_not_recorded_block_no_start(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    for log in ("offsets", "commits"):
        (folder / log / "4").unlink()
    assert problems(folder) == {"offsets/4": False, "commits/4": False}


@pytest.mark.parametrize(
    "path", [path for path in NEEDED if "SSTs/" not in path and not path.endswith(".zip")]
)
@pytest.mark.parametrize("content", [b"", b"half", bytes(range(256))], ids=["empty", "half", "random"])
def test_other_content_blocks_a_start_also_without_checksums(
    tmp_path: Path, path: str, content: bytes
) -> None:
    folder = built(tmp_path / "q" / "1")
    file = folder / path
    file.write_bytes(file.read_bytes()[:-5] if content == b"half" else content)
    file.with_name(f".{file.name}.crc").unlink()
    broken = problems(folder)
    assert broken.get(path) is True, broken


@pytest.mark.parametrize("path", ["offsets/2", "commits/2"])
def test_old_batches_of_other_content_block_no_start(tmp_path: Path, path: str) -> None:
    folder = built(tmp_path / "q" / "1")
    (folder / path).write_bytes(b"")
    assert problems(folder) == {path: False}


def test_the_records_beside_a_checkpoint_are_checked(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    owner_record, document = (tmp_path / "q" / f"_1.mainstem-{kind}.json" for kind in ("owner", "document"))
    owner_record.write_text("", encoding="utf-8")
    document.write_text("{}", encoding="utf-8")
    assert problems(folder) == {f"../{owner_record.name}": False, f"../{document.name}": False}
    owner_record.write_text("{}", encoding="utf-8")
    document.write_text('{"document": {}}', encoding="utf-8")
    assert problems(folder) == {f"../{owner_record.name}": True}


def test_a_log_of_a_folder_lacks_the_committed_batches_after_its_newest_compact_entry() -> None:
    names = ["3.compact", "2", "4", "6", ".4.crc"]
    assert sink_logs.missing_batches(names, 6) == [5]
    assert sink_logs.missing_batches(names, 8) == [5, 7, 8]
    assert sink_logs.missing_batches(["7", "8"], 8) == [], "the folder is newer than the checkpoint"
    assert sink_logs.missing_batches([], 8) == []


def test_broken_entries_of_a_log_of_a_folder_are_named(tmp_path: Path) -> None:
    for name, text in {"1": "", "3.compact": 'v1\n{"path":"a"}\n{"path":"b"}', "4": "v1"}.items():
        write(tmp_path / name, text)

    def broken() -> list[str]:
        return [
            each.file
            for each in sink_logs.broken(
                [file.name for file in tmp_path.iterdir()], lambda name: (tmp_path / name).read_bytes()
            )
        ]

    assert broken() == []
    (tmp_path / "4").write_bytes(b"v1\n{")
    (tmp_path / "3.compact").write_bytes(b'v1\n{"path":"a"}')
    assert broken() == ["3.compact", "4"], "the one by its checksum"
    (tmp_path / "4").write_bytes(bytes(range(128, 200)))
    (tmp_path / "3.compact").write_bytes(b"")
    assert broken() == ["3.compact", "4"]


@given(st.integers(1, 60))
def test_changes_that_are_cut_off_are_incomplete(length: int) -> None:
    whole = changes(7)
    assert state_files.incomplete(whole) == ""
    assert state_files.incomplete(whole[: len(whole) * length // 61]) != ""
    assert state_files.incomplete(whole + b"x") != ""


@given(st.sets(st.integers(1, 12)), st.sets(st.integers(1, 12)), st.integers(0, 13))
def test_a_version_is_held_if_and_only_if_its_chain_is_complete(
    copies: set[int], changes: set[int], version: int
) -> None:
    names = [f"{each}.zip" for each in copies] + [f"{each}.changelog" for each in changes]
    chain = state_files.chain(names, version)
    assert (not chain.missing) == (version in state_files.versions(names))
    if not chain.missing:
        assert state_files.chain(chain.files, version) == chain, "the chain alone holds the version"


def test_a_log_of_a_source_needs_its_entries_since_the_newest_compact_one() -> None:
    names = ["8", "9.compact", "10", "12", ".11.crc"]
    assert [each.file for each in missing_entries("a", names, 13)] == ["sources/a/11", "sources/a/13"]


@given(st.binary(max_size=2000))
def test_checksums_of_hadoop_match_their_file_only(content: bytes) -> None:
    pieces = [content[start : start + 512] for start in range(0, len(content), 512)]
    sums = b"crc\0\0\0\2\0" + b"".join(zlib.crc32(each).to_bytes(4, "big") for each in pieces)
    assert matches(content, sums)
    assert not matches(content + b"x", sums)
    assert not matches(content, sums[:7])


@given(st.integers(0, 5), st.integers(1, 6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
def test_a_copy_is_sound_and_continues_after_its_batch(tmp_path: Path, batch: int, snapshot: int) -> None:
    import shutil

    shutil.rmtree(tmp_path / "q", ignore_errors=True)
    folder, files = layout(built(tmp_path / "q" / "1", snapshot=snapshot))
    target = folder.parent / "2"
    copying.carry_out(copying.plan(folder, files, batch, target), folder, target)
    copied, files = layout(tmp_path / "q" / "2")
    result = verify(copied, files)
    assert not result.problems
    assert (
        result.restart == f"a restart plans batch {batch + 1}, from the offsets at which batch {batch} ended"
    )
    assert copied.text("metadata") != folder.text("metadata"), "sinks recognize batches by this id"
    assert requirements.kept_batches(files, requirements.operators(copied, files))[-1] == batch


def test_a_rewind_takes_the_next_number_that_no_generation_had(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    (tmp_path / "q" / "_4.mainstem-owner.json").touch()
    result = command("rewind", folder, "--to", "2023-11-14T22:16:59Z")
    assert result.exit_code == 0, result.output
    assert f"{tmp_path}/q/5 continues after batch 3 of {folder}" in result.output
    assert "the input of batches 4 to 5 is read again" in result.output
    assert (
        f"checkpoints.location: {tmp_path}, and in the query checkpoint: {{id: q, generation: 5}}"
        in result.output
    )


@pytest.mark.parametrize("to", ["1", "9", "2001-01-01"])
def test_a_batch_that_is_not_kept_is_refused_with_the_batches_that_are(tmp_path: Path, to: str) -> None:
    folder = built(tmp_path / "q" / "1")
    for partition in range(2):
        (folder / "state" / "0" / str(partition) / "1.changelog").unlink()
    result = command("rewind", folder, "--to", to)
    assert (result.exit_code, "BatchNotKept" in result.output) == (5, True)
    if to != "2001-01-01":
        assert "choose one of the batches 2-5" in result.output
    assert not (tmp_path / "q" / "2").exists()


@pytest.mark.parametrize("words", [["rewind", "--to", "3"], ["rm", "--yes"]])
def test_a_checkpoint_whose_driver_runs_here_is_left_alone(tmp_path: Path, words: list[str]) -> None:
    folder = built(tmp_path / "q" / "1")
    owner = Owner("shop", "the pipeline 'shop'", identity(os.getpid()) or "", "token")
    (tmp_path / "q" / "_1.mainstem-owner.json").write_text(owner.text(), encoding="utf-8")
    result = command(words[0], folder, *words[1:])
    assert result.exit_code == 5
    assert "is in use by the pipeline 'shop'; stop that pipeline first [CheckpointInUse]" in result.output
    assert sorted(each.name for each in (tmp_path / "q").iterdir()) == ["1", "_1.mainstem-owner.json"]
    assert "runs here: shop" in command("ls", tmp_path).output


def test_nothing_is_removed_without_yes(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    built(tmp_path / "q" / "2")
    (tmp_path / "q" / "_1.mainstem-owner.json").write_text("broken", encoding="utf-8")
    result = command("rm", folder)
    assert (result.exit_code, problems(folder)) == (0, {"../_1.mainstem-owner.json": True})
    assert "nothing is removed without --yes" in result.output
    assert command("rm", folder, "--yes").exit_code == 0
    assert [each.name for each in (tmp_path / "q").iterdir()] == ["2"]


def test_a_fork_writes_into_no_folder_with_files(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    other = built(tmp_path / "r" / "1")
    result = command("fork", folder, other)
    assert (result.exit_code, "CheckpointExists" in result.output, problems(other)) == (5, True, {})


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, files = layout(built(tmp_path / "q" / "1"))
    target = folder.parent / "2"
    copy = copying.plan(folder, files, 4, target)
    (tmp_path / "q" / "1" / "state" / "0" / "1" / "4.changelog").unlink()
    with pytest.raises(NotReady, match="disappeared during the copy"):
        copying.carry_out(copy, folder, target)
    assert not (tmp_path / "q" / "2").exists()


def test_paths_of_schema_files_follow_the_copy(tmp_path: Path) -> None:
    name = "state/0/_stateSchema/default/0_66f1b1c6-0ce3-4212-8df8-de360594cdfb"
    text = json.dumps(
        {
            "operatorInfo": {"operatorId": 0, "operatorName": "transformWithStateExec"},
            "stateStoreInfo": [
                {
                    "storeName": "default",
                    "numPartitions": 2,
                    "stateSchemaFilePaths": [f"file:/data/q/1/{name}"],
                }
            ],
        }
    )
    moved = entries.operator(entries.moved(f"v2\n{text}", "/data/q/1", "s3a://b/q/2"))
    assert moved.stores[0].schema_files == (f"s3a://b/q/2/{name}",)


def test_a_topic_created_again_after_the_batch_does_not_look_read(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    for topic, second in (("topic", 200), ("other", 50)):
        file = folder / "topics" / "k" / topic / "AAAA"
        file.parent.mkdir(parents=True)
        file.touch()
        os.utime(file, (second, second))
    for batch in range(6):
        os.utime(folder / "offsets" / str(batch), (100 + batch * 30,) * 2)
    root, files = layout(folder)
    copy = copying.plan(root, files, 2, root / "2")
    assert copy.unsure_topics == ("topic",)
    assert [path for path in copy.written if path.startswith("topics")] == [
        "topics/k/other/AAAA",
        "topics/k/topic/unknown",
    ]
    assert not copying.plan(root, files, 5, root / "2").unsure_topics
    known = read_ids({("k", "topic", "unknown"): 1}, planned=2)
    assert recreated(known, {"k": {"topic": "AAAA"}}) == [("k", "topic")], (
        "a start does not take it for the old topic"
    )


def test_show_has_offsets_state_and_batches(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    shown = json.loads(command("show", folder, "--output", "json").stdout)
    assert shown["offsets"] == {"a": {"logOffset": 5}, "k": {"topic": {"0": 50, "1": 7}}}
    [store] = shown["state"][0]["stores"]
    assert (store["versions"], store["columns"]) == (
        [0, 1, 2, 3, 4, 5, 6],
        [{"key": "k STRING", "value": "n BIGINT"}],
    )
    assert [each["batch"] for each in shown["canGoBackTo"]] == [0, 1, 2, 3, 4, 5]
    assert shown["watermark"] == "1970-01-01T00:01:00Z"
    text = command("show", folder).output
    assert "topic  0: 50, 1: 7" in text
    assert max(map(len, text.splitlines())) <= 120


DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: shop}}
spec:
  sources: [{{name: ticks, rate: {{}}}}]
  queries:
    - name: q
      from: ticks
      to:
        - {{name: table, delta: {{path: {folder}/t}}}}
        - {{name: newest, delta: {{path: {folder}/n, merge: {{keys: [value], sequenceBy: timestamp}}}}}}
        - {{name: files, parquet: {{path: {folder}/f}}}}
    - {{name: r, from: ticks, to: [{{name: out, noop: {{}}}}]}}
  checkpoints: {{location: {folder}/checkpoints}}
"""


def test_a_document_names_the_checkpoint_and_shows_the_effect_on_each_sink(tmp_path: Path) -> None:
    document = tmp_path / "shop.yaml"
    document.write_text(DOCUMENT.format(folder=tmp_path), encoding="utf-8")
    built(tmp_path / "checkpoints" / "q" / "1")
    result = command("rewind", "-f", document, "--query", "q", "--to", "4")
    assert result.exit_code == 0, result.output
    assert "the sink 'table' gets their rows again" in result.output
    assert "the sink 'newest' merges their rows again, and older rows replace no newer ones" in result.output
    assert "the sink 'files' needs a new path" in result.output
    built(tmp_path / "checkpoints" / "renamed" / "1")
    listed = json.loads(command("ls", "-f", document, "--query", "q", "--output", "json").stdout)
    assert [(each["query"], each["generation"], each["committed"]) for each in listed] == [
        ("q", 1, 5),
        ("q", 2, 4),
    ]
    assert "renamed" in command("ls", "-f", document).output
    assert command("show", "-f", document).exit_code == 2
    assert command("show", "-f", document, "--query", "none").exit_code == 2
    assert "has no checkpoint" in command("show", "-f", document, "--query", "r").output


@given(
    st.lists(st.sampled_from(["offsets", "commits", "metadata", "state", "runs", "1", "q", "_x"]), max_size=4)
)
def test_checkpoints_are_found_under_any_name_of_a_query(parts: list[str]) -> None:
    folder = "".join(f"{part}/" for part in parts)
    marks = [
        f"{folder}metadata",
        f"{folder}offsets/0",
        f"{folder}commits/0",
        f"{folder}state/0/_metadata/metadata",
    ]
    hidden = any(part.startswith("_") for part in parts)
    assert finding.prefixes(marks) == ([] if hidden else [folder])


def test_a_query_that_runs_once_is_listed_and_has_no_batches(tmp_path: Path) -> None:
    for name in ("planned/0", "done/0", "planned/1"):
        file = tmp_path / "report" / "1" / "runs" / "id" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    [shown] = json.loads(command("ls", tmp_path, "--output", "json").stdout)
    assert (shown["kind"], shown["committed"]) == ("runs once", 0)
    assert "runs once, and has no batches" in command("verify", tmp_path / "report" / "1").output


def test_the_list_fits_a_terminal(tmp_path: Path) -> None:
    folder = built(tmp_path / "a-query-of-20-letters" / "1000")
    owner = Owner("a-namespace/a-pipeline-with-a-long-name", "it", identity(os.getpid()) or "", "token")
    (folder.parent / "_1000.mainstem-owner.json").write_text(owner.text(), encoding="utf-8")
    operator = folder / "state" / "0" / "_metadata" / "metadata"
    write(operator, operator.read_text().replace("stateStoreSave", "transformWithStateInPySparkExec"))
    lines = command("ls", tmp_path).output.splitlines()
    assert "transformWithStat..." in lines[1]
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("kind", SINKS.values(), ids=SINKS)
def test_each_kind_of_sink_describes_repeated_rows(kind: type[SinkKind]) -> None:
    assert kind.repeated is not SinkKind.repeated


def test_times_and_sizes_are_short() -> None:
    assert [times.age(each) for each in (3, 61, 7300, 90_000)] == ["3 s", "1 min", "2 h", "1 d"]
    assert [times.size(each) for each in (10, 2048, 5 << 30)] == ["10 B", "2.0 KiB", "5.0 GiB"]
    assert (
        times.parsed("2023-11-14T22:13:20Z") == times.parsed("2023-11-14T23:13:20+01:00") == 1_700_000_000_000
    )
    assert times.parsed("yesterday") is None
    assert copying.ranges([1, 2, 3, 5]) == "1-3, 5"


@pytest.mark.S29
def test_the_record_of_the_document_goes_where_its_checkpoint_goes(tmp_path: Path) -> None:
    folder = built(tmp_path / "q" / "1")
    record = folder.with_name(f"_{folder.name}.mainstem-document.json")
    record.write_text("{}")
    assert command("fork", folder, tmp_path / "copy" / "1").exit_code == 0
    assert (tmp_path / "copy" / "_1.mainstem-document.json").read_text() == "{}"
    assert command("rm", folder, "--yes").exit_code == 0
    assert not record.exists()


OFFSET = '{"n-in":{"0":10,"1":10}}'


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        (f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{{}}}}\n{OFFSET}', {"0": OFFSET}),
        (f"v1\n\n{OFFSET}", {"0": OFFSET}),
        (f"v1\n\n{OFFSET}\n-", {"0": OFFSET}),
        (f'v2\n{{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{{}}}}\nn:{OFFSET}', {"n": OFFSET}),
        (f"v2\n\nn:{OFFSET}", {"n": OFFSET}),
    ],
    ids=["batches", "continuous", "continuous, a source without an offset", "names", "continuous, names"],
)
def test_a_plan_with_or_without_settings_has_its_offsets(text: str, offsets: dict[str, str]) -> None:
    """A continuous query writes an empty line in place of watermark and settings."""
    plan = entries.plan(text)
    assert plan.offsets == offsets
    assert (plan.watermark, plan.conf) == (0, {})
    assert plan.planned_at == (0 if "\n\n" in text else 5)


@pytest.mark.parametrize(
    "text", ["", "v1", "v3\n\n{}", "\n\n{}", 'v1\n{"batchWater', 'v1\n\n{"n-in":{"0"', "v1\n[]\n{}"]
)
def test_a_plan_that_is_cut_off_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"empty|version|JSON|delimiter|Unterminated|Expecting"):
        entries.plan(text)
