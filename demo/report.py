"""Counts the input and the lake after the replay, checks the counts, and prints them as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lake
import pyarrow.compute as pc
import replay


@dataclass(frozen=True)
class Findings:
    """Totals of the input and of the four tables."""

    files: int
    records: int
    archive: int
    no_airport: int
    carrier_days: int
    carrier_flights: int
    origin_days: int
    origin_flights: int
    without_delay: int
    dead_letters: int


EXPECTED = Findings(
    files=len(replay.file_names()),
    records=replay.FLIGHTS + len(replay.BROKEN),
    archive=replay.FLIGHTS,
    no_airport=7_602,
    carrier_days=5_442,
    carrier_flights=replay.FLIGHTS,
    origin_days=1_098,
    origin_flights=replay.FLIGHTS,
    without_delay=8_255,
    dead_letters=len(replay.BROKEN),
)
"""The expected totals, counted in the CSV with pandas."""

MEANING: Mapping[str, str] = {
    "files": "files in the input folder",
    "records": "records in these files",
    "archive": "archive: rows, one for each flight",
    "no_airport": "archive: flights to BQN, PSE, SJU or STT, which are not in the list of airports",
    "carrier_days": "carrier_days: rows, one for each carrier and UTC day",
    "carrier_flights": "carrier_days: sum of flights",
    "origin_days": "delays: rows, one for each airport and UTC day",
    "origin_flights": "delays: sum of flights",
    "without_delay": "delays: sum of without_delay: flights that never left",
    "dead_letters": "dead_letters: rows, one for each malformed record",
}


def count(input_folder: Path, lake_folder: Path) -> Findings:
    """Read the input and the lake, without Spark."""
    inputs = sorted(input_folder.glob("*.json"))
    archive = lake.read_parquet(lake_folder / "archive", ["airport"])
    carrier_days = lake.read_delta(lake_folder / "carrier_days")
    delays = lake.read_delta(lake_folder / "delays")
    return Findings(
        files=len(inputs),
        records=sum(file.read_bytes().count(b"\n") for file in inputs),
        archive=archive.num_rows,
        no_airport=archive["airport"].null_count,
        carrier_days=carrier_days.num_rows,
        carrier_flights=pc.sum(carrier_days["flights"]).as_py(),
        origin_days=delays.num_rows,
        origin_flights=pc.sum(delays["flights"]).as_py(),
        without_delay=pc.sum(delays["without_delay"]).as_py(),
        dead_letters=lake.read_delta(lake_folder / "dead_letters").num_rows,
    )


def differences(findings: Findings, expected: Findings = EXPECTED) -> list[str]:
    """One line for each wrong total."""
    return [
        f"{meaning}: {getattr(findings, name):,}, expected {getattr(expected, name):,}"
        for name, meaning in MEANING.items()
        if getattr(findings, name) != getattr(expected, name)
    ]


def table(findings: Findings) -> str:
    """The totals as text: on each line one total and its meaning."""
    rows = [f"{getattr(findings, name):>9,}  {meaning}" for name, meaning in MEANING.items()]
    total = findings.archive + findings.dead_letters
    sum_of_rows = f"archive {findings.archive:,} + dead_letters {findings.dead_letters:,} = {total:,}"
    return "\n".join([*rows, f"{'':>9}  {sum_of_rows} of {findings.records:,} records"])


def run_line(report: Mapping[str, Any]) -> str:
    """The result of this run in one line, from the report of `mainstem run`."""
    queries = report.get("queries", [])
    batches = ", ".join(f"{query['name']} {query.get('batches', 0)}" for query in queries)
    decoded, malformed = _decoded_and_malformed(queries)
    total = decoded + malformed
    new = (
        f"{total:,} records read = {decoded:,} decoded + {malformed:,} malformed"
        if total
        else "0 new records"
    )
    return (
        f"{report.get('outcome', 'ended')}; {new}; {dropped(report):,} late rows dropped; batches: {batches}"
    )


def dropped(report: Mapping[str, Any]) -> int:
    """The number of late rows that the queries dropped."""
    return sum(int(query.get("droppedByWatermark") or 0) for query in report.get("queries", []))


def _decoded_and_malformed(queries: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Decoded and malformed records of this run: those of `archive`, because every query counts the same records."""
    sources = [source for query in queries if query["name"] == "archive" for source in query["sources"]]
    return sum(source["decoded"] for source in sources), sum(source["malformed"] for source in sources)
