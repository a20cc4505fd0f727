"""Our own Java on an executor in a JVM of its own: tasks are serialized, as for a pod.

One run of one document has a query for each case.
"""

import gzip
import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from harness import with_executors
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from harness.java import SHORT_LIVED
from mainstem.language.model.connectors.file_source import FileFormat


pytestmark = [
    pytest.mark.S06,
    pytest.mark.S10,
    pytest.mark.full,
]
WITHIN = 240.0
ROWS = [{"n": 1, "s": "x"}, {"n": 2, "s": "y"}]
SCHEMA = "n INT, s STRING"


class Case(NamedTuple):
    """A file, how a source reads it, and the rows of a query over it."""

    name: str
    content: bytes
    files: Mapping[str, Any]
    source: Mapping[str, Any] = {}
    sql: str = "SELECT n, s FROM {source}"
    rows: list[dict[str, Any]] = ROWS


def columnar(write: Any) -> bytes:
    into = BytesIO()
    table = pyarrow.Table.from_pylist(ROWS, pyarrow.schema([("n", pyarrow.int32()), ("s", pyarrow.string())]))
    write(table, into)
    return into.getvalue()


def source_of(kind: str, **options: str) -> dict[str, Any]:
    return {"format": kind, "schema": SCHEMA, "options": options}


JSON_LINES = b'{"n":1,"s":"x"}\n{"n":2,"s":"y"}\n'
DEAD = "SELECT CAST(raw AS STRING) AS raw FROM {source}_dead_letters"
CASES = [
    Case("json", JSON_LINES, source_of("json")),
    Case("zipped", gzip.compress(JSON_LINES), {**source_of("json"), "pathGlobFilter": "*"}),
    Case("many", b'[{"n":1,"s":"x"},\n {"n":2,"s":"y"}]', source_of("json", multiLine="true")),
    Case("csv", b"1,x\n2,y\n", source_of("csv")),
    Case("header", b"# made by hand\nn,s\n1,x\n2,y\n", source_of("csv", header="true", comment="#")),
    Case("lines", b'1,"x\nz"\n2,y\n', source_of("csv", multiLine="true"), rows=[{"n": 1, "s": "x\nz"}, ROWS[1]]),
    Case("latin", "1,ü\n".encode("latin-1"), source_of("csv", encoding="ISO-8859-1"), rows=[{"n": 1, "s": "ü"}]),
    Case("badjson", b'{"n":\n', {**source_of("json"), "onMalformedRecord": "deadLetter"}, sql=DEAD, rows=[{"raw": '{"n":'}]),
    Case("badcsv", b"x,y\n", {**source_of("csv"), "onMalformedRecord": "deadLetter"}, sql=DEAD, rows=[{"raw": "x,y"}]),
    Case("text", b"x\n", {"format": "text"}, sql="SELECT value FROM {source}", rows=[{"value": "x"}]),
    Case("textjson", JSON_LINES, {}, {"decode": {"json": {"schema": SCHEMA}}}),
    Case("textcsv", b"1,x\n2,y\n", {}, {"decode": {"csv": {"schema": SCHEMA}}}),
    Case("orc", columnar(pyarrow.orc.write_table), source_of("orc")),
    Case("parquet", columnar(pyarrow.parquet.write_table), source_of("parquet")),
    # The state's files are written on executors, by our manager of checkpoint files.
    Case("state", JSON_LINES * 2, source_of("json"), sql="SELECT n, s FROM once"),
    Case("sides", JSON_LINES, source_of("json"), sql="SELECT l.n, j.s || c.s AS s FROM {source} l JOIN sidejson j ON j.n = l.n JOIN sidecsv c ON c.n = l.n", rows=[{"n": 1, "s": "xx"}, {"n": 2, "s": "yy"}]),
]  # fmt: skip
SIDES = {
    "sidejson": (JSON_LINES, {"json": {"schema": SCHEMA}}),
    "sidecsv": (b"n,s\n1,x\n2,y\n", {"csv": {"schema": SCHEMA, "header": True}}),
}


def document(folder: Path) -> Path:
    sources: list[dict[str, Any]] = []
    for name, (content, table) in SIDES.items():
        (folder / name).write_bytes(content)
        [(kind, how)] = table.items()
        sources.append({"name": name, "static": {kind: {**how, "path": f"{folder}/{name}"}}})
    for case in CASES:
        (folder / "in" / case.name).mkdir(parents=True)
        (folder / "in" / case.name / ("0.gz" if case.name == "zipped" else "0")).write_bytes(case.content)
        sources.append(
            {"name": case.name, "files": {"path": f"{folder}/in/{case.name}", **case.files}, **case.source}
        )
    spec = {
        "sources": sources,
        "views": [
            {"name": "once", "deduplicate": {"from": "state", "columns": ["n", "s"]}},
            *({"name": f"{case.name}_rows", "sql": case.sql.format(source=case.name)} for case in CASES),
        ],
        "queries": [
            {
                "name": case.name,
                "from": f"{case.name}_rows",
                "to": [{"name": "files", "json": {"path": f"{folder}/out/{case.name}"}}],
                "trigger": {"availableNow": True},
                **({"state": {"partitions": 1}} if case.name == "state" else {}),
            }
            for case in CASES
        ],
        "checkpoints": {"location": f"{folder}/checkpoints"},
        "restart": {"policy": "Never"},
        "spark": {"conf": {"spark.ui.enabled": "false"}},
    }
    head = pipeline_head("all")
    (folder / "all.json").write_text(json.dumps(head | {"spec": spec}))
    return folder / "all.json"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the rows are, and what the run had to say."""
    folder = tmp_path_factory.mktemp("executors")
    env = SHORT_LIVED | with_executors.ENV
    with DriverProcess(document(folder), folder, env=env, program=with_executors.PROGRAM) as driver:
        driver.until(lambda: bool(driver.executors()), WITHIN)
        driver.wait(WITHIN)
    return folder / "out", driver.stderr[-4000:]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_records_are_read_on_an_executor(ran: tuple[Path, str], case: Case) -> None:
    out, output = ran
    lines = [line for file in (out / case.name).glob("part-*") for line in file.read_text().splitlines()]
    assert sorted((json.loads(line) for line in lines), key=str) == case.rows, output


def test_every_format_of_files_has_its_case() -> None:
    assert {case.files.get("format", "text") for case in CASES} == set(get_args(FileFormat))
