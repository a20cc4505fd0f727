"""Every occurrence of a relation in a text gets a name of its own, and the text means what it meant."""

import pytest
from mainstem.dataframes.views.builder import distinct
from mainstem.language.sql.facts import Reference, read


def spelled(sql: str, *known: str) -> tuple[str, list[str]]:
    references = read(sql).references
    assert references is not None
    return distinct(sql, [reference for reference in references if reference.name in known])


@pytest.mark.parametrize(
    ("sql", "expected", "names"),
    [
        ("SELECT * FROM a", "SELECT * FROM a", ["a"]),
        ("SELECT 1", "SELECT 1", []),
        (
            "SELECT * FROM a x JOIN a y ON x.id = y.id",
            "SELECT * FROM a x JOIN a__2 y ON x.id = y.id",
            ["a", "a__2"],
        ),
        ("SELECT * FROM a JOIN a AS b", "SELECT * FROM a JOIN a__2 AS b", ["a", "a__2"]),
        # Without an alias the name stays usable as a qualifier.
        (
            "SELECT id FROM a UNION ALL SELECT a.id FROM a",
            "SELECT id FROM a UNION ALL SELECT a.id FROM a__2 AS a",
            ["a", "a__2"],
        ),
        (
            "SELECT * FROM a UNION ALL SELECT * FROM b UNION ALL SELECT * FROM a UNION ALL SELECT * FROM a",
            "SELECT * FROM a UNION ALL SELECT * FROM b UNION ALL SELECT * FROM a__2 AS a UNION ALL SELECT * FROM a__3 AS a",
            ["a", "b", "a__2", "a__3"],
        ),
        ("SELECT * FROM `a` x, `a` y", "SELECT * FROM `a` x, a__2 y", ["a", "a__2"]),
        ("SELECT * FROM A x, a y", "SELECT * FROM A x, a__2 y", ["a", "a__2"]),
        (
            "SELECT 'FROM a', a.a /* a */ FROM a -- a\nWHERE id IN (SELECT id FROM a)",
            "SELECT 'FROM a', a.a /* a */ FROM a -- a\nWHERE id IN (SELECT id FROM a__2 AS a)",
            ["a", "a__2"],
        ),
        # A CTE is one occurrence, however often it is read, and hides the relation of its name.
        (
            "WITH c AS (SELECT * FROM a) SELECT * FROM c UNION ALL SELECT * FROM c",
            "WITH c AS (SELECT * FROM a) SELECT * FROM c UNION ALL SELECT * FROM c",
            ["a"],
        ),
        (
            "WITH b AS (SELECT * FROM a) SELECT * FROM b JOIN a USING (id)",
            "WITH b AS (SELECT * FROM a) SELECT * FROM b JOIN a__2 AS a USING (id)",
            ["a", "a__2"],
        ),
    ],
)
def test_occurrences_get_different_names(sql: str, expected: str, names: list[str]) -> None:
    assert spelled(sql, "a", "b") == (expected, names)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM a p JOIN a q JOIN a__2 r", "SELECT * FROM a p JOIN a__3 q JOIN a__2 r"),
        ("SELECT * FROM a__2 r JOIN a p JOIN a q", "SELECT * FROM a__2 r JOIN a p JOIN a__3 q"),
        ("SELECT * FROM a p JOIN A__2 r JOIN a q JOIN a s", "SELECT * FROM a p JOIN A__2 r JOIN a__3 q JOIN a__4 s"),
        ("WITH a__2 AS (SELECT 1) SELECT * FROM a__2, a p, a q", "WITH a__2 AS (SELECT 1) SELECT * FROM a__2, a p, a__3 q"),
    ],
)  # fmt: skip
def test_a_used_name_is_not_given_again(sql: str, expected: str) -> None:
    text, names = spelled(sql, "a", "a__2")
    assert text == expected
    assert len(set(names)) == len(names)


def test_only_names_of_the_document_are_renamed() -> None:
    sql = "SELECT * FROM x JOIN x"
    assert spelled(sql, "a") == (sql, [])


def test_letters_beyond_ascii_do_not_shift_positions() -> None:
    assert spelled("SELECT 'Zürich 🚲' FROM a, a b", "a") == (
        "SELECT 'Zürich 🚲' FROM a, a__2 b",
        ["a", "a__2"],
    )


def test_positions_are_those_of_the_references() -> None:
    assert distinct("a a", [Reference("a", 0, 1, True), Reference("a", 2, 3, False)]) == (
        "a a__2 AS a",
        ["a", "a__2"],
    )
