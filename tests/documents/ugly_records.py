"""Records as producers really send them: those that are JSON of the schema, and those that are not."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any, NamedTuple


SCHEMA = (
    "i INT, n BIGINT, s STRING, d DOUBLE, c DECIMAL(10,2), b BOOLEAN, t TIMESTAMP, day DATE, raw BINARY, "
    "m MAP<STRING,INT>, a ARRAY<INT>, o STRUCT<x:INT,y:STRUCT<z:STRING>>"
)
FIVE = dt.datetime(2013, 1, 1, 5, 0, tzinfo=dt.UTC)


class Good(NamedTuple):
    """A record that is one, and its columns that are not null."""

    raw: bytes
    columns: dict[str, Any]


class Bad(NamedTuple):
    """A record that is none, and how its dead letter's error begins."""

    raw: bytes | None
    error: str


GOOD = [
    Good(b'{"i":1,"s":"x"}', {"i": 1, "s": "x"}),
    Good(b' \r\n\t{"i":1} \n\t', {"i": 1}),
    Good(b'{"unknown":{"deep":[1,{}]},"i":2}', {"i": 2}),
    Good(b'{"i":null}', {}),
    Good(b'{"i":null,"I":1}', {}),  # names differ by case
    Good(b'{"i":1,"i":2}', {"i": 2}),  # the last one counts, as almost everywhere
    Good('{"s":"Zürich 🚲"}'.encode(), {"s": "Zürich 🚲"}),
    Good(b'{"s":"\\u00fc\\n\\ud83d\\udeb2"}', {"s": "ü\n🚲"}),
    Good(b'{"s":"}{ ]["}', {"s": "}{ ]["}),
    Good(b'{"s":5}', {"s": "5"}),  # a STRING takes the text of whatever stands there
    Good(b'{"s":{"x": [1, 2]}}', {"s": '{"x":[1,2]}'}),
    Good(b'{"n":9223372036854775807}', {"n": 2**63 - 1}),
    Good(b'{"d":1}', {"d": 1.0}),
    Good(b'{"d":1.5e-3}', {"d": 0.0015}),
    Good(b'{"d":"NaN"}', {"d": math.nan}),
    Good(b'{"d":NaN}', {"d": math.nan}),
    Good(b'{"d":-Infinity}', {"d": -math.inf}),
    Good(b'{"c":1.005}', {"c": Decimal("1.01")}),  # rounded to the scale
    Good(b'{"b":true}', {"b": True}),
    Good(b'{"t":"2013-01-01T05:00:00Z"}', {"t": FIVE}),
    Good(b'{"t":"2013-01-01T05:00:00"}', {"t": FIVE}),
    Good(b'{"t":"2013-01-01 05:00:00"}', {"t": FIVE}),
    Good(b'{"t":"2013-01-01T07:00:00+02:00"}', {"t": FIVE}),
    Good(b'{"t":"2013-01-01T05:00:00.123456Z"}', {"t": FIVE.replace(microsecond=123456)}),
    Good(b'{"t":"2013-01-01T00:00:00-05:00"}', {"t": FIVE}),
    Good(b'{"t":"2013-01-01"}', {"t": FIVE.replace(hour=0)}),
    Good(b'{"t":1357016400}', {"t": FIVE}),  # a number is seconds
    Good(b'{"day":"2013-01-01"}', {"day": dt.date(2013, 1, 1)}),
    Good(b'{"raw":"AQI="}', {"raw": b"\x01\x02"}),
    Good(b'{"m":{"a":1,"b":null}}', {"m": {"a": 1, "b": None}}),
    Good(b'{"a":[1,null,3]}', {"a": [1, None, 3]}),
    Good(b'{"a":[]}', {"a": []}),
    Good(b'{"o":{"x":1,"y":{"z":"q"},"w":0}}', {"o": {"x": 1, "y": {"z": "q"}}}),
    Good(b"{'i':1}", {"i": 1}),  # Spark's reader allows single quotes by default
]
BAD = [
    Bad(None, "the record has no value"),
    Bad(b"", "the record is empty"),
    Bad(b"  ", "the record is empty"),
    Bad(b'{"i":1', "not valid JSON"),
    Bad(b'{"i":', "not valid JSON"),
    Bad(b"{", "not valid JSON"),
    Bad(b"}", "not valid JSON"),
    Bad(b'{"i":1,}', "not valid JSON"),
    Bad(b'{"i":01}', "not valid JSON"),
    Bad(b"{i:1}", "not valid JSON"),
    Bad(b'{"i":1 /* one */}', "not valid JSON"),
    Bad(b'{"s":"a\x01b"}', "not valid JSON"),
    Bad(b'\x00{"i":1}', "not valid JSON"),
    Bad(b'\xef\xbb\xbf{"i":1}', "not valid JSON"),  # a byte order mark
    Bad(b"hello", "not valid JSON"),
    Bad(b"<i>1</i>", "not valid JSON"),
    Bad(b'[{"i":1}]', "not a JSON object"),
    Bad(b'[{"i":1},{"i":2}]', "not a JSON object"),
    Bad(b"[]", "not a JSON object"),
    Bad(b"5", "not a JSON object"),
    Bad(b'"text"', "not a JSON object"),
    Bad(b"null", "not a JSON object"),
    Bad(b"true", "not a JSON object"),
    Bad(b'\xff\xfe{"i":1}', "not valid UTF-8"),
    Bad(b'{"s":"\xe9t\xe9"}', "not valid UTF-8"),  # Latin-1
    Bad('{"i":1}'.encode("utf-16"), "not valid UTF-8"),
    Bad(b"\x00\x00\x00\x00\x07\x02\xff\x90", "not valid UTF-8"),  # Avro behind a schema registry's id
    Bad(b'{"i":"1"}', "the column 'i' must be "),
    Bad(b'{"i":1.5}', "the column 'i' must be "),
    Bad(b'{"i":1e2}', "the column 'i' must be "),
    Bad(b'{"i":2147483648}', "the column 'i' must be "),
    Bad(b'{"n":123456789012345678901234567890}', "the column 'n' must be "),
    Bad(b'{"c":12345678901234567890.5}', "the column 'c' must be "),
    Bad(b'{"b":"true"}', "the column 'b' must be "),
    Bad(b'{"b":1}', "the column 'b' must be "),
    Bad(b'{"t":"01/01/2013 05:00"}', "the column 't' must be "),
    Bad(b'{"t":"2013-13-01T05:00:00Z"}', "the column 't' must be "),
    Bad(b'{"t":"yesterday"}', "the column 't' must be "),
    Bad(b'{"day":"2013-02-30"}', "the column 'day' must be "),
    Bad(b'{"raw":"%%%"}', "the column 'raw' must be "),
    Bad(b'{"m":{"a":"x"}}', "the column 'm' must be "),
    Bad(b'{"m":[1]}', "the column 'm' must be "),
    Bad(b'{"a":[1,"x"]}', "the column 'a' must be "),
    Bad(b'{"a":1}', "the column 'a' must be "),
    Bad(b'{"o":{"x":"q"}}', "the column 'o.x' must be "),
    Bad(b'{"o":{"y":{"z":"fine"},"x":[]}}', "the column 'o.x' must be "),
    Bad(b'{"o":[1]}', "the column 'o' must be "),
    Bad(b"{}", "the JSON object is empty"),
    Bad(b'{"unknown":null}', "no key of the JSON object is a column: 'unknown'"),
    Bad(
        b'{"schema":{"type":"struct"},"payload":{"i":1}}',
        "no key of the JSON object is a column: 'schema, payload'",
    ),
    Bad(
        b'{"I":1,"other":2,"N":3}',
        "no key of the JSON object is a column: 'I, other, N'; keys are case-sensitive, "
        "and these differ from columns only in case: 'I, N'",
    ),
]
# Spark's parser stops behind the first object; alone, it would take these as good and lose the rest.
FOLLOWED = [
    b'{"i":1} garbage',
    b'{"i":1}{"i":2}',
    b'{"i":1}\n{"i":2}\n',
    b'{"i":1},{"i":2}',
    b'{"i":1},',
    b'{"i":1}}',
    b'{"i":1}]',
    b'{"i":1}\x00',
    b'{"i":1}#',
]
