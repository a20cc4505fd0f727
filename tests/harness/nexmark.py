"""Events of the Nexmark benchmark, by its public model: of 50 events one is a person, three are auctions, 46 are bids.

Small and the same for each seed. Ids, ratios, prices and names follow github.com/nexmark/nexmark; event times are out of
order by up to two seconds, which its watermark of four seconds covers.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


START = datetime(2015, 7, 15, 7, 59, 40, tzinfo=UTC)
"""Near eight o'clock: q14 tells the hours apart."""
FIRST_ID = 1000
GROUP = 50
HOT = 100
"""Every hundredth auction, person and bidder is a hot one for a while."""
PLACES = [("Phoenix", "AZ"), ("Los Angeles", "CA"), ("Boise", "ID"), ("Portland", "OR"), ("Seattle", "WA"), ("Kent", "WA"), ("Cheyenne", "WY")]  # fmt: skip
CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]

NexmarkEvent = dict[str, Any]


def events(count: int, *, seed: int) -> Iterator[NexmarkEvent]:
    """So many events, 15 ms apart, and one of each kind an hour later, which moves the watermark past all others."""
    chance = random.Random(seed)
    for number in range(count):
        time = START + timedelta(milliseconds=15 * number - chance.randrange(2000))
        yield _event(chance, number, time)
    last = count - count % GROUP + GROUP
    for number in (last, last + 1, last + 4):
        yield _event(chance, number, START + timedelta(hours=1))


def write(folder: Path, count: int, *, seed: int, files: int) -> None:
    """The events as files of JSON lines, in their order."""
    folder.mkdir(parents=True)
    lines = [json.dumps(event) + "\n" for event in events(count, seed=seed)]
    size = -(-len(lines) // files)
    for number in range(files):
        part = lines[number * size : (number + 1) * size]
        (folder / f"{number:03}.json").write_text("".join(part), encoding="utf-8")


def _event(chance: random.Random, number: int, time: datetime) -> NexmarkEvent:
    group, offset = divmod(number, GROUP)
    last_person = group
    last_auction = 3 * group + min(offset, 3) - 1 if offset else 3 * group - 1
    moment = {"dateTime": _json(time)}
    if offset == 0:
        return {"event_type": 0, "person": _person(chance, last_person)} | moment
    if offset <= 3:
        auction = _auction(chance, last_auction, last_person, time)
        return {"event_type": 1, "auction": auction} | moment
    return {"event_type": 2, "bid": _bid(chance, max(0, last_auction), last_person)} | moment


def _person(chance: random.Random, number: int) -> NexmarkEvent:
    city, state = chance.choice(PLACES)
    name = f"{chance.choice(['Peter', 'Paul', 'Luke', 'Vicky', 'Kate'])} {chance.choice(['Shultz', 'Abrams', 'Walton'])}"
    card = " ".join(f"{chance.randrange(10000):04}" for _ in range(4))
    known = {
        "id": FIRST_ID + number,
        "name": name,
        "emailAddress": f"{_text(chance, 7)}@{_text(chance, 5)}.com",
    }
    return known | {"creditCard": card, "city": city, "state": state, "extra": _text(chance, 20)}


def _auction(chance: random.Random, number: int, last_person: int, time: datetime) -> NexmarkEvent:
    hot = chance.randrange(4) > 0
    seller = last_person // HOT * HOT if hot else chance.randint(max(0, last_person - 1000), last_person)
    initial = _price(chance)
    return {
        "id": FIRST_ID + number,
        "itemName": _text(chance, 8),
        "description": _text(chance, 20),
        "initialBid": initial,
        "reserve": initial + _price(chance),
        "expires": _json(time + timedelta(seconds=chance.randint(1, 20))),
        "seller": FIRST_ID + seller,
        "category": 10 + chance.randrange(5),
        "extra": _text(chance, 20),
    }


def _bid(chance: random.Random, last_auction: int, last_person: int) -> NexmarkEvent:
    hot_auction, hot_bidder = chance.randrange(2) > 0, chance.randrange(4) > 0
    recent = chance.randint(max(0, last_auction - HOT), last_auction)
    anyone = chance.randint(max(0, last_person - 1000), last_person)
    channel, url = _channel(chance)
    return {
        "auction": FIRST_ID + (last_auction // HOT * HOT if hot_auction else recent),
        "bidder": FIRST_ID + (last_person // HOT * HOT + 1 if hot_bidder else anyone),
        "price": _price(chance),
        "channel": channel,
        "url": url,
        "extra": _text(chance, 30),
    }


def _channel(chance: random.Random) -> tuple[str, str]:
    """The channel of a bid: one of four well-known ones, or a number, which nine of ten URLs contain."""
    path = "/".join(_text(chance, 3) for _ in range(3))
    url = f"https://www.nexmark.com/{path}/item.htm?query=1"
    if chance.randrange(2):
        return chance.choice(CHANNELS), url
    number = chance.randrange(10_000)
    return f"channel-{number}", url + (f"&channel_id={number}" if chance.randrange(10) else "")


def _price(chance: random.Random) -> int:
    return round(10 ** (chance.random() * 6) * 100)


def _text(chance: random.Random, length: int) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=length))


def _json(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
