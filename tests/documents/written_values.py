"""Values that a sink of files may alter, by type as SQL; the values of partitions that any sink keeps stand beside their tests."""

from typing import Final, NamedTuple


CORNERS: Final[dict[str, tuple[str, ...]]] = {
    "STRING": (
        *("''", "' '", "' a'", "'a '", "'\\t a'", "'__HIVE_DEFAULT_PARTITION__'", r"'\0'", r"'a\0b'", "X'FF'", "X'61C3'"),
        *("'a,b'", "'\"'", "'\"\"'", "'\"a\"'", "'a\"b'", r"'a\\b'", r"'a\\'", r"'a\\\"b'", "'#a'", "';'", "'null'"),
        *(r"'a\nb'", r"'a\rb'", r"'a\r\nb'"),
    ),
    "BINARY": ("X''", "X'00'", "X'FF00'", "X'61'"),
    "DATE": ("'1582-10-10'",),
    "TIMESTAMP": (
        *("'2024-10-27T00:30:00Z'", "'2024-10-27T01:30:00Z'", "'1900-01-01T00:00:00.123456Z'"),
        *("'1582-10-10T12:00:00Z'", "'1582-10-20T12:00:00Z'", "'1969-12-31T23:59:58.5Z'", "'1969-12-31T23:59:59.5Z'"),
    ),
    "TIMESTAMP_NTZ": ("'1582-10-10 00:00:00'", "'1969-12-31 23:59:59.5'"),
    "INTERVAL DAY TO SECOND": ("INTERVAL '1 02:03:04.000005' DAY TO SECOND",),
    "INTERVAL YEAR TO MONTH": ("INTERVAL '1-2' YEAR TO MONTH",),
    "ARRAY<INT>": ("array()", "array(1, null)"),
    "MAP<STRING,INT>": ("map()", "map('a', null)", "map('', 1)"),
    "STRUCT<a:INT,b:STRING>": ("named_struct('a', null, 'b', null)", "named_struct('a', 1, 'b', '')"),
    "VARIANT": ("parse_json('{\"a\": 1.10}')", "parse_json('null')", "parse_json('1e400')"),
}  # fmt: skip


class Altered(NamedTuple):
    """A value that a sink alters, and what is read back from it, as SQL."""

    sink: str
    kind: str
    value: str
    becomes: str
    line: str
    """The row of docs/quality.md."""


_BLANK = '| CSV | STRING | an empty text | null; the file has `""` |'
_BYTES = "| CSV, JSON | STRING | bytes that are not UTF-8, which a CAST of BINARY may give | U+FFFD in their place |"
_BINARY = "| CSV | BINARY | any | the text of its bytes, such as `[FF 00]` |"
_GAP = "| ORC | DATE, TIMESTAMP | from 5 to 14 October 1582 | the 15th |"
_SECOND = "| ORC | TIMESTAMP | a fraction of the last second before 1970 | one second later |"
ALTERED: Final = (
    Altered("csv", "STRING", "''", "NULL", _BLANK),
    *(Altered(sink, "STRING", "X'FF'", "'\ufffd'", _BYTES) for sink in ("csv", "json")),
    *(Altered(sink, "STRING", "X'61C3'", "'a\ufffd'", _BYTES) for sink in ("csv", "json")),
    Altered("csv", "BINARY", "X''", "CAST('[]' AS BINARY)", _BINARY),
    Altered("csv", "BINARY", "X'00'", "CAST('[00]' AS BINARY)", _BINARY),
    Altered("csv", "BINARY", "X'FF00'", "CAST('[FF 00]' AS BINARY)", _BINARY),
    Altered("csv", "BINARY", "X'61'", "CAST('[61]' AS BINARY)", _BINARY),
    Altered("orc", "DATE", "'1582-10-10'", "'1582-10-15'", _GAP),
    Altered("orc", "TIMESTAMP", "'1582-10-10T12:00:00Z'", "'1582-10-15T12:00:00Z'", _GAP),
    Altered("orc", "TIMESTAMP", "'1969-12-31T23:59:59.5Z'", "'1970-01-01T00:00:00.5Z'", _SECOND),
)
