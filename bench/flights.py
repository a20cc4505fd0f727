"""Records of flights from New York, and a few malformed ones."""

import json
import random
from collections.abc import Iterator
from typing import Any, Final

from harness.records import Record


CARRIERS: Final = {
    "9E": "Endeavor Air Inc.",
    "AA": "American Airlines Inc.",
    "B6": "JetBlue Airways",
    "DL": "Delta Air Lines Inc.",
    "EV": "ExpressJet Airlines Inc.",
    "MQ": "Envoy Air",
    "UA": "United Air Lines Inc.",
    "US": "US Airways Inc.",
    "WN": "Southwest Airlines Co.",
}
BAD_EVERY: Final = 10_000
LATE_FROM: Final = 60
_DISTINCT: Final = 50_000
_BAD: Final = (
    b'{"year": 2013, "month": 1, "day":',
    b'{"year": "two thousand", "carrier": "UA"}',
    b'[{"year": 2013}]',
    b'{"year": 2013, "carrier": "\xff\xfe"}',
    b"",
)


def records(count: int, seed: int, partitions: int) -> Iterator[Record]:
    """Generate `count` records, distributed over the partitions; one in ten thousand is malformed."""
    known = [json.dumps(flight).encode() for flight in _flights(seed)]
    for number in range(count):
        value = _BAD[number // BAD_EVERY % len(_BAD)] if is_bad(number) else known[number % _DISTINCT]
        yield Record(None, value, partition=number % partitions)


def expected(count: int, seed: int) -> dict[str, int]:
    """Rows that each sink of the job must have after `records(count, seed, ...)`."""
    late = [(flight["dep_delay"] or 0) >= LATE_FROM for flight in _flights(seed)]
    bad = sum(map(is_bad, range(count)))
    return {
        "archive": count - bad,
        "late": sum(late[number % _DISTINCT] for number in range(count) if not is_bad(number)),
        "dead_letters": bad,
    }


def is_bad(number: int) -> bool:
    return number % BAD_EVERY == BAD_EVERY // 2


def airlines_csv() -> str:
    return "carrier,name\n" + "".join(f"{carrier},{name}\n" for carrier, name in CARRIERS.items())


def _flights(seed: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    for _ in range(_DISTINCT):
        yield _flight(chance)


def _flight(chance: random.Random) -> dict[str, Any]:
    month, day, hour, minute = (
        chance.randint(1, 12),
        chance.randint(1, 28),
        chance.randint(5, 21),
        chance.randint(0, 59),
    )
    delay = None if chance.random() < 0.025 else int(chance.expovariate(1 / 25)) - 10
    took = chance.randint(40, 340)
    scheduled = hour * 100 + minute
    return {
        "year": 2013,
        "month": month,
        "day": day,
        "dep_time": None if delay is None else scheduled,
        "sched_dep_time": scheduled,
        "dep_delay": delay,
        "arr_time": None if delay is None else (scheduled + took) % 2400,
        "sched_arr_time": (scheduled + took) % 2400,
        "arr_delay": None if delay is None else delay + chance.randint(-20, 20),
        "carrier": chance.choice([*CARRIERS, "ZZ"]),
        "flight": chance.randint(1, 6000),
        "tailnum": f"N{chance.randint(10000, 99999)}",
        "origin": chance.choice(("EWR", "JFK", "LGA")),
        "dest": chance.choice(("ATL", "BOS", "IAH", "LAX", "MIA", "ORD", "SFO", "SJU")),
        "air_time": None if delay is None else took,
        "distance": took * 7,
        "hour": hour,
        "minute": minute,
        "time_hour": f"2013-{month:02d}-{day:02d}T{hour:02d}:00:00Z",
    }
