"""The demo without Spark: the replay, the reader of the lake, the report and the charts."""

import datetime
import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mainstem.language.document import read


ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "demo"
SAMPLES = ROOT / "k8s" / "samples"
Flight = dict[str, Any]
Departures = dict[str, list[dict[str, str]]]
NO_AIRPORT = {"BQN", "PSE", "SJU", "STT"}
JUNE_13 = datetime.date(2013, 6, 13)
HASH = """
import hashlib, replay
digest = hashlib.sha256()
for name, rows in replay.departures().items():
    digest.update(b"".join(replay.encode(name, rows[::40])))
print(digest.hexdigest())
"""


def module(name: str) -> ModuleType:
    """A module of demo/, which is a folder of scripts and no package."""
    if str(DEMO) not in sys.path:
        sys.path.insert(0, str(DEMO))
    return importlib.import_module(name)


replay, lake, report, year, charts, page = map(module, ["replay", "lake", "report", "year", "charts", "page"])
BROKEN = {record for _, record in replay.BROKEN}


@pytest.fixture(scope="module")
def departures() -> Departures:
    rows: Departures = replay.departures()
    return rows


@pytest.fixture(scope="module")
def files(departures: Departures) -> dict[str, list[bytes]]:
    return {name: replay.encode(name, rows) for name, rows in departures.items()}


@pytest.fixture(scope="module")
def flights(files: dict[str, list[bytes]]) -> list[Flight]:
    return [json.loads(line) for lines in files.values() for line in lines if line not in BROKEN]


@pytest.mark.full
def test_flights_come_in_order_of_time(flights: list[Flight]) -> None:
    assert len(flights) == replay.FLIGHTS
    hours = [flight["time_hour"] for flight in flights]
    assert all(earlier <= later for earlier, later in pairwise(hours))
    assert (hours[0], hours[-1]) == ("2013-01-01T10:00:00Z", "2014-01-01T04:00:00Z")


@pytest.mark.full
def test_flights_have_the_totals_that_the_lake_must_have(flights: list[Flight]) -> None:
    assert sum(flight["dep_delay"] is None for flight in flights) == report.EXPECTED.without_delay
    assert sum(flight["dest"] in NO_AIRPORT for flight in flights) == report.EXPECTED.no_airport
    assert len({(f["time_hour"][:10], f["carrier"]) for f in flights}) == report.EXPECTED.carrier_days
    assert len({(f["time_hour"][:10], f["origin"]) for f in flights}) == report.EXPECTED.origin_days


@pytest.mark.full
def test_a_record_has_every_column_with_its_type(files: dict[str, list[bytes]]) -> None:
    first = json.loads(next(iter(files.values()))[0])
    assert first == {
        "year": 2013, "month": 1, "day": 1, "dep_time": 517, "sched_dep_time": 515, "dep_delay": 2,
        "arr_time": 830, "sched_arr_time": 819, "arr_delay": 11, "carrier": "UA", "flight": 1545,
        "tailnum": "N14228", "origin": "EWR", "dest": "IAH", "air_time": 227, "distance": 1400,
        "hour": 5, "minute": 15, "time_hour": "2013-01-01T10:00:00Z",
    }  # fmt: skip


@pytest.mark.full
def test_twelve_broken_records_of_several_kinds_are_in_several_files(files: dict[str, list[bytes]]) -> None:
    broken = [(name, line) for name, lines in files.items() for line in lines if line in BROKEN]
    assert [line for _, line in broken] == [line for _, line in replay.BROKEN]
    assert len(broken) == 12
    assert len({name for name, _ in broken}) == 12
    assert len({kind for kind, _ in replay.BROKEN}) >= 4
    assert not any(b"\n" in line or b"\r" in line for _, line in broken)


@pytest.mark.full
def test_files_are_half_months(files: dict[str, list[bytes]]) -> None:
    assert 24 <= len(files) <= 60
    assert list(files) == list(replay.file_names()) == sorted(files)
    assert 11_000 < min(map(len, files.values())) < max(map(len, files.values())) < 16_000
    for name, lines in files.items():
        first = next(line for line in lines if line not in BROKEN)
        assert json.loads(first)["time_hour"][:10] == name[8:18]


@pytest.mark.full
def test_files_are_identical_in_every_time_zone_and_locale(departures: Departures) -> None:
    lines = (line for name, rows in departures.items() for line in replay.encode(name, rows[::40]))
    here = hashlib.sha256(b"".join(lines)).hexdigest()
    settings = {"TZ": "America/New_York", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}
    command = [sys.executable, "-c", HASH]
    there = subprocess.run(command, cwd=DEMO, env=os.environ | settings, check=True, capture_output=True)
    assert there.stdout.decode().strip() == here


@pytest.mark.full
def test_a_shuffled_day_arrives_after_the_watermark_has_passed_it(files: dict[str, list[bytes]]) -> None:
    shuffled = replay.departures(JUNE_13)
    moved = [row for row in shuffled["flights-2013-07-01.json"] if row["time_hour"][:10] == "2013-06-13"]
    assert len(moved) == sum(b'"time_hour":"2013-06-13' in line for line in files["flights-2013-06-01.json"])
    elsewhere = [row for name, rows in shuffled.items() if name != "flights-2013-07-01.json" for row in rows]
    assert not any(row["time_hour"].startswith("2013-06-13") for row in elsewhere)
    assert sum(map(len, shuffled.values())) == replay.FLIGHTS


def test_a_day_too_late_in_the_year_is_rejected() -> None:
    with pytest.raises(ValueError, match="take a day before December"):
        replay.departures(datetime.date(2013, 12, 24))


def test_records_come_file_after_file(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"origin": "EWR", "dep_delay": "NA", "hour": "5"}
    names = replay.file_names()[:2]
    monkeypatch.setattr(replay, "departures", lambda _day: {names[0]: [row] * 24, names[1]: [row]})
    line = b'{"origin":"EWR","dep_delay":null,"hour":5}'
    assert list(replay.records()) == [line, replay.BROKEN[0][1], *[line] * 24]


def test_an_existing_file_is_not_changed(tmp_path: Path) -> None:
    folder = tmp_path / "flights"
    folder.mkdir()
    assert replay.missing_files(folder) == list(replay.file_names())
    replay.write_file(folder, "flights-2013-01-01.json", [b"first", b""])
    before = (folder / "flights-2013-01-01.json").stat()
    replay.write_file(folder, "flights-2013-01-01.json", [b"second"])
    after = (folder / "flights-2013-01-01.json").stat()
    assert (folder / "flights-2013-01-01.json").read_bytes() == b"first\n\n"
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert replay.missing_files(folder) == list(replay.file_names())[1:]
    assert list(tmp_path.iterdir()) == [folder]


def test_reference_tables_are_written(tmp_path: Path) -> None:
    replay.write_reference(tmp_path / "reference")
    assert {file.name for file in (tmp_path / "reference").iterdir()} == {"airlines.csv", "airports.csv"}


def test_samples_are_valid_and_differ_only_in_their_source() -> None:
    documents = {
        name: read(SAMPLES / f"{name}.yaml") for name in ("flights-files", "flights", "rate-console")
    }
    lints = {name: [lint.reason for lint in document.warnings] for name, document in documents.items()}
    assert lints == {"flights-files": [], "flights": [], "rate-console": ["NotFaultTolerant"]}
    from_files, from_kafka = (documents[name].pipeline.spec for name in ("flights-files", "flights"))
    assert from_files.views == from_kafka.views
    assert [query.name for query in from_files.queries] == [query.name for query in from_kafka.queries]
    assert from_files.sources[0].decode == from_kafka.sources[0].decode
    assert from_files.sources[0].watermark == from_kafka.sources[0].watermark
    lake_folder, from_store = "build/demo/lake/", "s3a://lake/flights/"
    sinks = [query.to[0].model_dump_json() for query in from_files.queries]
    assert [sink.replace(lake_folder, from_store) for sink in sinks] == [
        query.to[0].model_dump_json() for query in from_kafka.queries
    ]


class Table:
    """A Delta table made by hand."""

    def __init__(self, folder: Path, reader_version: int = 1) -> None:
        self.folder = folder
        self.log = folder / "_delta_log"
        self.log.mkdir(parents=True)
        self._commit({"protocol": {"minReaderVersion": reader_version, "minWriterVersion": 2}})

    def _commit(self, *actions: dict[str, Any]) -> None:
        number = len(list(self.log.glob("*.json")))
        text = "\n".join(json.dumps(action) for action in actions)
        (self.log / f"{number:020}.json").write_text(text + "\n", encoding="utf-8")

    def write(self, name: str, rows: list[dict[str, Any]], replaces: str | None = None) -> None:
        pq.write_table(pa.Table.from_pylist(rows), self.folder / name)
        removes = [{"remove": {"path": replaces}}] if replaces else []
        self._commit({"commitInfo": {}}, *removes, {"add": {"path": name.replace(" ", "%20")}})

    def checkpoint(self, *names: str) -> None:
        number = len(list(self.log.glob("*.json"))) - 1
        actions = [{"add": {"path": name}, "protocol": None} for name in names]
        actions.append({"add": None, "protocol": {"minReaderVersion": 1}})
        pq.write_table(pa.Table.from_pylist(actions), self.log / f"{number:020}.checkpoint.parquet")


def test_delta_rows_come_from_the_newest_version(tmp_path: Path) -> None:
    table = Table(tmp_path / "t")
    table.write("a b.parquet", [{"n": 1}, {"n": 2}])
    table.write("b.parquet", [{"n": 3}])
    table.write("c.parquet", [{"n": 4}], replaces="b.parquet")
    (table.log / "00000000000000000000.00000000000000000002.compacted.json").write_text(
        "{}", encoding="utf-8"
    )
    assert sorted(lake.read_delta(table.folder)["n"].to_pylist()) == [1, 2, 4]
    assert lake.version(table.folder) == 3


def test_delta_rows_come_from_a_checkpoint_and_later_commits(tmp_path: Path) -> None:
    table = Table(tmp_path / "t")
    table.write("a.parquet", [{"n": 1}])
    table.write("b.parquet", [{"n": 2}])
    table.checkpoint("a.parquet", "b.parquet")
    table.write("c.parquet", [{"n": 3}], replaces="a.parquet")
    (table.log / "00000000000000000001.json").unlink()  # as Delta's own clean-up does
    assert sorted(lake.read_delta(table.folder)["n"].to_pylist()) == [2, 3]


def test_unsupported_tables_are_rejected(tmp_path: Path) -> None:
    newer = Table(tmp_path / "newer", reader_version=3)
    with pytest.raises(lake.UnreadableTable, match="reader version 3"):
        lake.read_delta(newer.folder)
    with pytest.raises(lake.UnreadableTable, match="no Delta table"):
        lake.read_delta(tmp_path)
    with pytest.raises(lake.UnreadableTable, match="no folder"):
        lake.read_parquet(tmp_path / "absent")
    assert lake.read_delta(Table(tmp_path / "empty").folder).num_rows == 0


@pytest.fixture
def small_lake(tmp_path: Path) -> Path:
    """Two days at two airports: six flights, of which one never left and one goes where no airport is known."""
    flights = [
        {"airline": "One", "airport": "A", "hour": 6, "dep_delay": 10},
        {"airline": "One", "airport": None, "hour": 6, "dep_delay": 20},
        {"airline": "Two & Co", "airport": "A", "hour": 18, "dep_delay": None},
        {"airline": "Two & Co", "airport": "A", "hour": 18, "dep_delay": 60},
        {"airline": "Two & Co", "airport": "A", "hour": 6, "dep_delay": -4},
        {"airline": "One", "airport": "A", "hour": 18, "dep_delay": 50},
    ]
    first, second = datetime.date(2013, 2, 28), datetime.date(2013, 3, 1)
    archive = tmp_path / "lake" / "archive"
    (archive / "_spark_metadata").mkdir(parents=True)
    (archive / "_spark_metadata" / "0").write_text("v1", encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(flights), archive / "part-0.parquet")
    carrier_days = Table(tmp_path / "lake" / "carrier_days")
    carrier_days.write("a.parquet", [{"day": first, "carrier": "1", "flights": 6}])
    delays = Table(tmp_path / "lake" / "delays")
    delays.write(
        "a.parquet",
        [
            {"day": second, "origin": "EWR", "flights": 3, "without_delay": 1, "delay": 55.0},
            {"day": first, "origin": "JFK", "flights": 1, "without_delay": 0, "delay": -4.0},
            {"day": first, "origin": "EWR", "flights": 2, "without_delay": 0, "delay": 15.0},
        ],
    )
    Table(tmp_path / "lake" / "dead_letters").write("a.parquet", [{"raw": b"x"}])
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "flights.json").write_bytes(b"{}\n" * 7)
    return tmp_path


def test_a_small_lake_is_counted(small_lake: Path) -> None:
    findings = report.count(small_lake / "input", small_lake / "lake")
    assert asdict(findings) == {
        "files": 1,
        "records": 7,
        "archive": 6,
        "no_airport": 1,
        "carrier_days": 1,
        "carrier_flights": 6,
        "origin_days": 3,
        "origin_flights": 6,
        "without_delay": 1,
        "dead_letters": 1,
    }
    assert report.table(findings).splitlines()[-1].strip() == "archive 6 + dead_letters 1 = 7 of 7 records"
    assert "archive: rows, one for each flight: 6, expected 336,776" in report.differences(findings)


def test_differences_name_each_wrong_total() -> None:
    assert report.differences(report.EXPECTED) == []
    assert report.differences(replace(report.EXPECTED, dead_letters=11)) == [
        "dead_letters: rows, one for each malformed record: 11, expected 12"
    ]
    assert set(report.MEANING) == set(asdict(report.EXPECTED))


def run_report(decoded: int, malformed: int, dropped: int) -> dict[str, Any]:
    sources = [{"name": "departures", "decoded": decoded, "malformed": malformed}]
    queries = [
        {"name": "archive", "batches": 2, "droppedByWatermark": 0, "sources": sources},
        {"name": "delays", "batches": 3, "droppedByWatermark": dropped, "sources": sources},
    ]
    return {"pipeline": "flights-files", "outcome": "drained", "queries": queries}


def test_the_line_of_a_run_shows_its_totals() -> None:
    assert report.run_line(run_report(1000, 12, 7)) == (
        "drained; 1,012 records read = 1,000 decoded + 12 malformed; 7 late rows dropped; batches: archive 2, delays 3"
    )
    assert report.run_line(run_report(0, 0, 0)).startswith("drained; 0 new records; 0 late rows dropped")


def test_the_delay_of_a_day_is_weighted_by_its_flights(small_lake: Path) -> None:
    read_year = year.read(small_lake / "lake")
    assert list(read_year.origins) == ["EWR", "JFK"]
    first, second = read_year.days
    assert (first.flights, first.never_left, first.delay) == (3, 0, pytest.approx((2 * 15 - 4) / 3))
    assert (second.left, second.delay) == (2, 55.0)
    assert [(group.label, group.flights) for group in read_year.airlines] == [("One", 3), ("Two & Co", 2)]
    assert [(group.label, group.delay) for group in read_year.hours] == [
        ("6", pytest.approx(26 / 3)),
        ("18", 55),
    ]
    nobody = year.together(first.day, [year.Day(first.day, 4, 4, None)])
    assert (nobody.left, nobody.delay) == (0, None)


def test_each_colour_has_a_label() -> None:
    assert [charts.step(delay) for delay in (-3, 0, 0.1, 10, 29, 44, 46)] == [0, 0, 1, 1, 3, 4, 5]
    assert len(charts.STEP_LABELS) == len(charts.STEPS) + 1


def test_the_page_is_complete_and_loads_nothing_from_the_network(small_lake: Path) -> None:
    findings = report.count(small_lake / "input", small_lake / "lake")
    text = page.build(year.read(small_lake / "lake"), findings)
    assert not re.search(r"https?:|//|<script|@import|url\(|<link|<img", text)
    assert "Two &amp; Co" in text
    assert "Thu 28 Feb 2013: 15.0 min on average, 2 of 2 flights left" in text
    body = text.partition("<style>")[0].replace('<meta charset="utf-8">', "")
    assert "How late New York left in 2013" in body
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) == 6 + 2 + 5  # keys; the line, two calendars, airlines, hours
    for drawing in drawings:
        ElementTree.fromstring(drawing)
    assert "nan" not in text.lower().replace("finan", "")


def test_peaks_keep_their_distance() -> None:
    days = [
        year.Day(datetime.date(2013, 1, 1) + datetime.timedelta(n), 9, 0, float(n % 50)) for n in range(365)
    ]
    peaks = charts.peaks(days)
    assert len(peaks) == 5
    assert min(abs((a.day - b.day).days) for a in peaks for b in peaks if a is not b) >= 35
