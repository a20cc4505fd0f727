"""Schemas in DDL are read with their types, and each mistake has its place."""

import pytest
from mainstem.language.sql.ddl import MAX_DEPTH, TooDeep, has_length, levels, read
from mainstem.language.sql.ddl_tokens import DdlError


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("id INT, amount |DUBLE", "DUBLE", "did you mean DOUBLE?"),
        ("my |col STRING", "col", "a name with a blank needs backticks"),
        ("id INT, |user-id INT", "user", "the name user-id needs backticks: `user-id`"),
        ("|a.b.c INT", "a", "needs backticks: `a.b.c`"),
        ("|é INT", "é", "needs backticks: `é`"),
        ("|1 INT", "1", "needs backticks: `1`"),
        ("a |DECIMAL(40,2)", "DECIMAL", "at most 38 digits"),
        ("a |DECIMAL(2,3)", "DECIMAL", "cannot have 3 decimal places"),
        ("a |INT(3)", "INT", "too many numbers"),
        ("a DECIMAL(|x)", "x", "a number is missing before x"),
        ("a |VARCHAR", "VARCHAR", "needs its length"),
        ("a INT |b INT", "b", "a comma is missing before b"),
        ("a INT,|", "", "the name of a column is missing before the end"),
        ("a ARRAY<INT|", "", "> is missing after the type in ARRAY, before the end"),
        ("a MAP<STRING|>", ">", ", is missing after the key of MAP"),
        ("a STRUCT<b: INT |c: INT>", "c", "> is missing after the fields of STRUCT"),
        ("a INTERVAL DAY TO |MONTH", "MONTH", "an INTERVAL from DAY has no MONTH"),
        ("a INT COMMENT |x", "x", "COMMENT needs a text in quotes"),
        ("a ARRAY<STRUCT<b: |STRIN>>", "STRIN", "did you mean STRING?"),
    ],
)
def test_a_mistake_has_its_place(text: str, marked: str, message: str) -> None:
    place = text.index("|")
    with pytest.raises(DdlError) as raised:
        read(text.replace("|", ""))
    assert raised.value.at == place
    assert text[place + 1 :].startswith(marked)
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a dec", "DECIMAL(10,0)"),
        ("a NUMERIC(5)", "DECIMAL(5,0)"),
        ("a long", "BIGINT"),
        ("a TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP_NTZ"),
        ("a interval day to second", "INTERVAL DAY TO SECOND"),
        ("a STRING COLLATE UTF8_LCASE", "STRING COLLATE UTF8_LCASE"),
        ("a map<string,array<struct<`x y` int>>>", "MAP<STRING, ARRAY<STRUCT<x y: INT>>>"),
    ],
)
def test_two_spellings_of_a_type_are_read_alike(text: str, kind: str) -> None:
    [column] = read(text)
    assert (column.name, str(column.type)) == ("a", kind)


def test_the_fields_of_each_struct_are_a_level_of_their_own() -> None:
    columns = read("a INT, b ARRAY<STRUCT<c: INT, d: MAP<STRING, STRUCT<e: VARCHAR(3)>>>>, f ARRAY<CHAR(2)>")
    assert [[each.name for each in level] for level in levels(columns)] == [
        ["a", "b", "f"],
        ["c", "d"],
        ["e"],
    ]
    assert [each.name for level in levels(columns) for each in level if has_length(each)] == ["f", "e"]


def test_types_within_each_other_without_end_are_unknown() -> None:
    read(f"a {'ARRAY<' * (MAX_DEPTH - 1)}INT{'>' * (MAX_DEPTH - 1)}")
    with pytest.raises(TooDeep):
        read(f"a {'ARRAY<' * 2000}INT{'>' * 2000}")
