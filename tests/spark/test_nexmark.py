"""Thirteen queries of Nexmark in one document, run as a user runs it, against the answers of another engine."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness import nexmark
from harness.driver import DriverProcess


pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

DOCUMENT = Path(__file__).resolve().parents[1] / "documents" / "nexmark.yaml"
PERSON = "id BIGINT, name VARCHAR, emailAddress VARCHAR, creditCard VARCHAR, city VARCHAR, state VARCHAR, extra VARCHAR"
AUCTION = "id BIGINT, itemName VARCHAR, description VARCHAR, initialBid BIGINT, reserve BIGINT, expires TIMESTAMP, seller BIGINT, category BIGINT, extra VARCHAR"
BID = "auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, extra VARCHAR"
TABLES = """
CREATE TABLE events AS SELECT * FROM read_json('{files}', format = 'newline_delimited', columns = {columns});
CREATE TABLE person AS SELECT unnest(person), dateTime FROM events WHERE event_type = 0;
CREATE TABLE auction AS SELECT unnest(auction), dateTime FROM events WHERE event_type = 1;
CREATE TABLE bid AS SELECT unnest(bid), dateTime FROM events WHERE event_type = 2;
CREATE TABLE closed AS SELECT max(dateTime) - INTERVAL 4 SECONDS AS until FROM events;
CREATE VIEW hops AS
  SELECT time_bucket(INTERVAL 2 SECONDS, dateTime) - k * INTERVAL 2 SECONDS AS since, since + INTERVAL 10 SECONDS AS until,
         auction, count(*) AS num
  FROM bid, range(5) AS r(k)
  GROUP BY ALL;
CREATE VIEW tumbled AS
  SELECT time_bucket(INTERVAL 10 SECONDS, dateTime) AS since, since + INTERVAL 10 SECONDS AS until, * FROM bid;
CREATE VIEW sessions AS
  SELECT *, sum(begins::INT) OVER (PARTITION BY bidder ORDER BY dateTime, price ROWS UNBOUNDED PRECEDING) AS session
  FROM (
    SELECT *, coalesce(dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime, price) > INTERVAL 10 SECONDS, true) AS begins
    FROM bid
  );
"""
"""Nexmark's relations; what a window holds is final once the watermark has passed its end."""
ANSWERS = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": "SELECT name, city, state, auction.id FROM auction, person WHERE seller = person.id AND category = 10 AND state IN ('OR', 'ID', 'CA')",
    "q5": "SELECT until, auction, num FROM hops JOIN (SELECT until, max(num) AS num FROM hops GROUP BY ALL) USING (until, num) WHERE until <= (FROM closed)",
    "q7": "SELECT auction, price, bidder, dateTime, extra FROM tumbled t WHERE until <= (FROM closed) AND price = (SELECT max(price) FROM tumbled u WHERE u.since = t.since)",
    "q8": """
        SELECT id, name, since
        FROM (SELECT DISTINCT id, name, time_bucket(INTERVAL 10 SECONDS, dateTime) AS since FROM person)
        JOIN (SELECT DISTINCT seller AS id, time_bucket(INTERVAL 10 SECONDS, dateTime) AS since FROM auction) USING (id, since)
        WHERE since + INTERVAL 10 SECONDS <= (FROM closed)""",
    "q11": """
        SELECT bidder, count(*), min(dateTime), max(dateTime) + INTERVAL 10 SECONDS AS until
        FROM sessions GROUP BY bidder, session HAVING until <= (FROM closed)""",
    "q14": """
        SELECT auction, bidder, 0.908 * price,
               CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour(dateTime) IN (7, 19) THEN 'otherTime' ELSE 'nightTime' END,
               dateTime, extra, len(string_split(extra, 'c')) - 1
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q17": """
        SELECT auction, strftime(dateTime, '%Y-%m-%d') AS day, count(*), count_if(price < 10000),
               count_if(price BETWEEN 10000 AND 999999), count_if(price >= 1000000), min(price), max(price), avg(price), sum(price)
        FROM bid GROUP BY auction, day""",
    "q20": """
        SELECT b.auction, bidder, price, channel, url, b.dateTime, itemName, initialBid, reserve, a.dateTime, expires, seller
        FROM bid b JOIN auction a ON b.auction = a.id WHERE category = 10""",
    "q21": """
        SELECT auction, bidder, price, channel, found
        FROM (SELECT *, coalesce(
                (list_position(['apple', 'google', 'facebook', 'baidu'], lower(channel)) - 1)::VARCHAR,
                regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)) AS found FROM bid)
        WHERE found <> ''""",
    "q22": "SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5), split_part(url, '/', 6) FROM bid",
}


def test_every_query_gives_the_rows_of_a_batch_engine(tmp_path: Path) -> None:
    nexmark.write(tmp_path / "events", 3000, seed=7, files=4)
    with DriverProcess(DOCUMENT, tmp_path / "run", sets={"folder": str(tmp_path)}) as driver:
        assert driver.wait(500) == 0, driver.stderr[-3000:]
    results = {name: rows(tmp_path / name) for name in ANSWERS}
    expected = answers(tmp_path / "events")
    assert {name: sum(counted.values()) for name, counted in expected.items() if not counted} == {}
    assert [name for name in ANSWERS if results[name] != expected[name]] == []
    dropped = {query["name"]: query["droppedByWatermark"] for query in driver.final()["queries"]}
    assert dropped == dict.fromkeys(ANSWERS, 0)


def rows(folder: Path) -> Counter[tuple[Any, ...]]:
    """The rows of a folder of Parquet or of a Delta table."""
    delta = (folder / "_delta_log").exists()
    table = DeltaTable(folder).to_pyarrow_table() if delta else pyarrow.dataset.dataset(folder).to_table()
    return counted([tuple(row.values()) for row in table.to_pylist()])


def answers(folder: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    """The rows of each query, computed in one go."""
    structs = {"person": PERSON, "auction": AUCTION, "bid": BID}
    columns = {"event_type": "INT", "dateTime": "TIMESTAMP"} | {k: f"STRUCT({v})" for k, v in structs.items()}
    with duckdb.connect() as engine:
        engine.execute(TABLES.format(files=folder / "*.json", columns=columns))
        return {name: counted(engine.execute(sql).fetchall()) for name, sql in ANSWERS.items()}


def counted(rows: Sequence[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Each row with how often it is there; times in UTC, fractions to nine digits."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return round(value, 9) if isinstance(value, float) else value
