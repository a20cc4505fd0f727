"""The rows of docs/other-dialects.md, as documents: a text of another dialect, and what to write in its place."""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.documents import pipeline_head


PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "other-dialects.md").read_text(encoding="utf-8")
COLUMNS: Final = "id INT, shop STRING, amount INT, items ARRAY<STRING>, at TIMESTAMP"
_ROW: Final = re.compile(
    r"^\| `(SELECT [^`]*)` \| (?:`(SELECT [^`]*)`(?:, with `outputMode: (\w+)`)?)?.* \|$"
)


class Pair(NamedTuple):
    """A row of the page.

    Attributes:
        there: the text of the other dialect.
        here: the text in its place; empty where it is no SQL.
        mode: the output mode in which `here` is written.
    """

    there: str
    here: str
    mode: str


PAIRS: Final = tuple(
    Pair(match[1], match[2] or "", match[3] or "append")
    for match in map(_ROW.match, PAGE.splitlines())
    if match
)


def document(sql: str, mode: str, folder: str = "/data") -> dict[str, Any]:
    """A document whose view `v` is the text; the streams lie in folders of their names, as JSON lines."""
    streams = [
        {
            "name": name,
            "files": {"path": f"{folder}/{name}", "format": "json", "schema": COLUMNS},
            "watermark": {"column": "at", "delay": "1 minute"},
        }
        for name in ("orders", "payments")
    ]
    table = {"path": f"{folder}/shops", "schema": COLUMNS}
    return pipeline_head("other-dialects") | {
        "spec": {
            "sources": [*streams, {"name": "shops", "static": {"json": table}}],
            "views": [{"name": "v", "sql": sql}],
            "queries": [{"name": "q", "from": "v", "outputMode": mode, "to": [{"name": "out", "noop": {}}]}],
            "checkpoints": {"location": f"{folder}/checkpoints"},
        }
    }
