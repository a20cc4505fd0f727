"""Runs on machines and inputs that are not as they should be: limits, folders, users, very many of everything."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset
import pytest
from harness.driver import DriverProcess
from harness.java import SHORT_LIVED


pytestmark = [pytest.mark.full, pytest.mark.S26, pytest.mark.timeout(1800)]
START = 300.0

HEAD = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: rough}
spec:
  checkpoints: {location: FOLDER/checkpoints}
  sources:
"""
COPY = (
    HEAD
    + """
    - name: lines
      files: {path: FOLDER/in, format: text}
      decode: {json: {schema: "id BIGINT"}}
  queries:
    - name: copy
      from: lines
      to: [{name: out, parquet: {path: FOLDER/out}}]
      trigger: TRIGGER
"""
)


def document(folder: Path, text: str = COPY, trigger: str = "{availableNow: true}") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "rough.yaml"
    file.write_text(text.replace("FOLDER", str(folder)).replace("TRIGGER", trigger))
    return file


def records(folder: Path, files: int, rows: int = 1) -> list[int]:
    """Write `files` files of `rows` records each; returns every id."""
    (folder / "in").mkdir(parents=True)
    for number in range(files):
        ids = range(number * rows, (number + 1) * rows)
        (folder / "in" / f"{number}.json").write_text("".join(f'{{"id": {row}}}\n' for row in ids))
    return list(range(files * rows))


def ids(folder: Path) -> list[int]:
    table = pyarrow.dataset.dataset(folder / "out", format="parquet", partitioning="hive").to_table(["id"])
    return sorted(table["id"].to_pylist())


def run(folder: Path, file: Path, *arguments: str, within: float = START, **variables: str) -> DriverProcess:
    """A run that has ended, whatever its exit code."""
    with DriverProcess(file, folder, arguments=arguments, env=SHORT_LIVED | variables) as driver:
        driver.wait(within)
    return driver


def run_under(shell: str, folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """A run by a shell, in mounts of its own: `shell` prepares them and ends in `"$@"`."""
    command = ["unshare", "--mount", "sh", "-ec", shell, "sh"]
    program = DriverProcess.command(file, folder)
    return subprocess.run(
        [*command, *program],
        cwd=folder,
        env=os.environ | SHORT_LIVED,
        capture_output=True,
        text=True,
        timeout=START,
        check=False,
    )


mounts = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


def test_the_next_start_removes_the_temporary_directory_of_a_killed_run(tmp_path: Path) -> None:
    every = records(tmp_path, 3)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    endless = document(tmp_path, trigger='{processingTime: "1 second"}')
    with DriverProcess(endless, tmp_path, env=SHORT_LIVED | {"TMPDIR": str(temporary)}) as driver:
        driver.until(lambda: bool(driver.progress) and driver.progress[-1]["batches"] > 0, START)
        driver.send(signal.SIGKILL)
        driver.process.wait(60)
        assert list(temporary.iterdir()), "a killed run cannot remove its folder"
    done = run(tmp_path, document(tmp_path), TMPDIR=str(temporary))
    assert done.process.returncode == 0, done.stderr[-3000:]
    assert not list(temporary.iterdir())
    assert ids(tmp_path) == every


def test_twenty_thousand_small_files_are_read_once_each(tmp_path: Path) -> None:
    every = records(tmp_path, 20_000)
    done = run(tmp_path, document(tmp_path), within=1200)
    assert done.process.returncode == 0, done.stderr[-3000:]
    assert ids(tmp_path) == every


def test_a_sink_of_a_thousand_partitions_is_written(tmp_path: Path) -> None:
    every = records(tmp_path, 4, rows=1000)
    text = COPY.replace("parquet: {path: FOLDER/out}", "parquet: {path: FOLDER/out, partitionBy: [part]}")
    view = '  views: [{name: parts, sql: "SELECT id, id % 1000 AS part FROM lines"}]'
    text = text.replace("from: lines", "from: parts").replace("  queries:", f"{view}\n  queries:")
    done = run(tmp_path, document(tmp_path, text), within=1200)
    assert done.process.returncode == 0, done.stderr[-3000:]
    assert len(list((tmp_path / "out").glob("part=*"))) == 1000
    assert ids(tmp_path) == every


def test_sixty_four_queries_run_side_by_side(tmp_path: Path) -> None:
    every = records(tmp_path, 2, rows=10)
    query = """
    - name: copy-NUMBER
      from: lines
      to: [{name: out, parquet: {path: FOLDER/copies/NUMBER}}]
      trigger: {processingTime: "2 seconds"}"""
    queries = "".join(query.replace("NUMBER", str(number)) for number in range(64))
    text = COPY.split("  queries:")[0] + "  queries:" + queries + "\n"
    done = run(tmp_path, document(tmp_path, text), "--stop-when-idle=20s", within=1500)
    assert done.process.returncode == 0, done.stderr[-3000:]
    for number in range(64):
        table = pyarrow.dataset.dataset(tmp_path / "copies" / str(number), format="parquet").to_table()
        assert sorted(table["id"].to_pylist()) == every, f"copy-{number}"


@pytest.mark.parametrize(
    ("shell", "holds"),
    [
        (
            'ulimit -n 256; exec "$@"',
            lambda done: done.returncode == 5 and "[TooFewOpenFiles]" in done.stderr,
        ),
        ('ulimit -S -n 256; exec "$@"', lambda done: done.returncode == 0),
        (
            'mkdir t; mount -t tmpfs -o size=64k tmpfs t; TMPDIR=$PWD/t exec "$@"',
            lambda done: done.returncode == 5 and "[DiskFull]" in done.stderr and "/t has" in done.stderr,
        ),
        (
            'mkdir t; mount -t tmpfs -o ro tmpfs t; TMPDIR=$PWD/t exec "$@"',
            lambda done: done.returncode == 0,  # Python and Java take the system's folder then
        ),
        (
            'mkdir cwd; mount -t tmpfs -o ro tmpfs cwd; cd cwd; exec "$@"',
            lambda done: done.returncode == 0,
        ),
        ('unset HOME; exec "$@"', lambda done: done.returncode == 0),
        ('HOME=/proc/nowhere exec "$@"', lambda done: done.returncode == 0),
        (
            'unset HOME; exec unshare --map-user=54321 "$@"',
            lambda done: done.returncode == 5 and "[UserUnknown]" in done.stderr,
        ),
    ],
    ids=[
        "files",
        "files-soft",
        "full-tmp",
        "read-only-tmp",
        "read-only-cwd",
        "no-home",
        "bad-home",
        "no-user",
    ],
)
@mounts
def test_an_unusual_machine_gives_correct_rows_or_a_clear_error(
    tmp_path: Path, shell: str, holds: Callable[[subprocess.CompletedProcess[str]], bool]
) -> None:
    every = records(tmp_path, 3)
    done = run_under(shell, tmp_path, document(tmp_path))
    assert holds(done), (done.returncode, done.stderr[-3000:])
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        assert ids(tmp_path) == every
