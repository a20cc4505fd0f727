"""A view that Mainstem cannot read: no change beneath it or in it is called safe while the query keeps state."""

from typing import Any

import pytest
from mainstem.changes import Effect, compare
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.sql.facts import read
from unit.test_changes_rules import (
    COUNT,
    SAFE,
    UPDATE,
    both_ways,
    counted,
    document,
    effect,
    files,
    kafka,
    sql,
    state,
)


UNREAD = "SELECT k, sum(v) >>>>> 1 AS n FROM a GROUP BY k"
NEXT = UNREAD.replace("FROM a", "FROM v0")
SCHEMA = "k STRING, v INT, ts TIMESTAMP"
WIDER = "k STRING, v DOUBLE, ts TIMESTAMP"


def over(*views: str, schema: str = SCHEMA, **more: Any) -> StreamingPipeline:
    """The unread view over other views, the first of which reads the source `a`."""
    return document(
        sql(*views, UNREAD.replace("FROM a", f"FROM v{len(views) - 1}")),
        files(schema=schema),
        **(UPDATE | more),
    )


def below(view: dict[str, Any], **more: Any) -> StreamingPipeline:
    """The unread view over a view without SQL."""
    return document(
        [{"name": "v0"} | view, {"name": "result", "sql": NEXT}], files(schema=SCHEMA), **(UPDATE | more)
    )


def decoded(schema: str) -> StreamingPipeline:
    source = {**kafka(), "decode": {"json": {"schema": schema}}}
    return counted(UNREAD, source)


def with_side(schema: str) -> StreamingPipeline:
    side = {"name": "b", "static": {"csv": {"path": "/data/b", "schema": schema}}}
    text = "SELECT a.k, sum(b.v) >>>>> 1 AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k"
    return counted(text, files(schema=SCHEMA), side)


def calling(**function: Any) -> StreamingPipeline:
    body = {"name": "twice", "python": {"function": "lib:twice", "returns": "INT"} | function}
    return counted(
        UNREAD.replace("sum(v)", "sum(TWICE(v))"), files(schema=SCHEMA), spec={"functions": [body]}
    )


def kept(schema: str) -> StreamingPipeline:
    return below(state(schema=schema))


CHANGES = {
    "the type of a column": (counted(UNREAD, files(schema=SCHEMA)), counted(UNREAD, files(schema=WIDER))),
    "the type of a column two views below": (over("SELECT k, v FROM a"), over("SELECT k, v FROM a", schema=WIDER)),
    "the type of a column below another unread view": (over(UNREAD.replace("AS n", "AS v")), over(UNREAD.replace("AS n", "AS v"), schema=WIDER)),
    "the type of a decoded column": (decoded(SCHEMA), decoded(WIDER)),
    "the type of a column of a side input": (with_side("k STRING, v INT"), with_side("k STRING, v DOUBLE")),
    "a cast in a view": (over("SELECT k, CAST(v AS INT) AS v FROM a"), over("SELECT k, CAST(v AS LONG) AS v FROM a")),
    "a filter in a view": (over("SELECT k, v FROM a WHERE v > 1"), over("SELECT k, v FROM a WHERE v > 2")),
    "an aggregate below": (over("SELECT k, max(v) AS v FROM a GROUP BY k"), over("SELECT k, min(v) AS v FROM a GROUP BY k")),
    "a filter below an aggregate": (over("SELECT k, max(v) AS v FROM a GROUP BY k"), over("SELECT k, max(v) AS v FROM a WHERE v > 2 GROUP BY k")),
    "what a function returns": (calling(), calling(returns="DOUBLE")),
    "the code of a function": (calling(), calling(function="lib:thrice")),
    "what a state step returns": (kept("k STRING, v INT"), kept("k STRING, v DOUBLE")),
    "an expectation below": (below({"sql": "SELECT * FROM a", "expectations": [{"name": "e", "expect": "v > 1", "onViolation": "drop"}]}), below({"sql": "SELECT * FROM a", "expectations": [{"name": "e", "expect": "v > 2", "onViolation": "drop"}]})),
    "a string": (counted(UNREAD.replace("sum(v)", "sum(v + length('a b'))")), counted(UNREAD.replace("sum(v)", "sum(v + length('a  b'))"))),
    "the letter case of a string": (counted(UNREAD.replace("sum(v)", "max('a')")), counted(UNREAD.replace("sum(v)", "max('A')"))),
    "TRY_CAST for CAST": (counted(UNREAD.replace("sum(v)", "sum(CAST(k AS INT))")), counted(UNREAD.replace("sum(v)", "sum(TRY_CAST(k AS INT))"))),
}  # fmt: skip


def test_the_texts_of_this_module_cannot_be_read() -> None:
    assert read(UNREAD).references is None


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_beneath_or_in_an_unread_view_is_never_safe(name: str) -> None:
    before, after = CHANGES[name]
    assert effect(compare(before, before)) == Effect.UNCHANGED
    assert not SAFE & both_ways(before, after)


@pytest.mark.parametrize(
    "after",
    [
        UNREAD.replace("SELECT", "\n  SELECT -- all\n").replace("GROUP BY", "/* k */ GROUP\tBY"),
        UNREAD.replace(" ", "\n"),
    ],
)
def test_layout_and_comments_do_not_matter(after: str) -> None:
    assert effect(compare(counted(UNREAD), counted(after))) == Effect.UNCHANGED


def test_a_function_that_an_unread_view_does_not_call_does_not_matter() -> None:
    other = {"name": "other", "python": {"function": "lib:other", "returns": "INT"}}
    documents = [
        counted(UNREAD, spec={"functions": [other | {"python": other["python"] | {"returns": kind}}]})  # type: ignore[operator]
        for kind in ("INT", "DOUBLE")
    ]
    assert effect(compare(*documents)) == Effect.UNCHANGED


def test_a_source_that_an_unread_view_does_not_read_does_not_matter() -> None:
    views = [{"name": "u", "sql": COUNT}, {"name": "result", "sql": UNREAD.replace("FROM a", "FROM b")}]
    documents = [
        document(views, files(schema=schema), files("b", schema=SCHEMA), **UPDATE)
        for schema in (SCHEMA, WIDER)
    ]
    assert effect(compare(*documents)) == Effect.UNCHANGED
