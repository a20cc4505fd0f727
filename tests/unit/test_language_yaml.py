"""YAML as the document reads it: scalars of YAML 1.2, anchors and merges as in kubectl, floods refused, places exact."""

from typing import Any

import pytest
import yaml
from harness.work import at_most
from hypothesis import example, given
from hypothesis import strategies as st
from mainstem.errors import SpecInvalid
from mainstem.language.yaml.yamltext import YamlText, parse, render_path


CALLS = 5_000_000
"""Of functions, for any text: a document of 200,000 characters that is read completely makes so many at most."""


def parsed(text: str) -> Any:
    (document,) = parse(text)
    return document.data


def refused(text: str) -> list[str]:
    with pytest.raises(SpecInvalid) as caught:
        parse(text)
    return [f"{p.line}:{p.column}: {p.path}: {p.message}" for p in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", True),
        ("no", False),
        ("YES", True),
        ("y", True),
        ("yEs", "yEs"),
        ("True", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("~", None),
        ("", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("0x10", 16),
        ("0o17", 15),
        ("017", 15),
        ("-017", -15),
        ("08", 8),
        ("_1", "_1"),
        ("0b1", 1),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("1.", 1),
        (".5", 0.5),
        ("1e-2", 0.01),
        ("00.5", 0.5),
        ("9007199254740993", 9007199254740993),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("NaN", "NaN"),
        ("12:30", "12:30"),
        ("2013-01-01", "2013-01-01"),
        ("2013-01-01T10:00:00Z", "2013-01-01T10:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("'12'", "12"),
        ('"true"', "true"),
        ('"~"', "~"),
        ("''", ""),
        ("|\n  12", "12"),
        (">\n  a\n  b", "a b"),
        ("!!str 12", "12"),
        ("!!str true", "true"),
        ("! 12", "12"),
        ("&x !!str 12", "12"),
        ("${lake}", "${lake}"),
        ("Zürich 東京 🚆", "Zürich 東京 🚆"),
        ('"\\u00e4\\t\\""', 'ä\t"'),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    value_parsed = parsed(f"a: {text}")["a"]
    assert value_parsed == value
    assert type(value_parsed) is type(value)


def test_keys_are_strings() -> None:
    assert parsed("1: a\ntrue: b\n~: c\n'<<': d") == {"1": "a", "true": "b", "~": "c", "<<": "d"}


def test_empty_documents_are_omitted() -> None:
    assert [document.data for document in parse("---\n---\na: 1\n---\n# nothing\n...\n---\nb: 2\n")] == [
        {"a": 1},
        {"b": 2},
    ]


def test_a_byte_order_mark_and_carriage_returns_are_accepted() -> None:
    (document,) = parse("\ufeffa: 1\r\nb: |\r\n  SELECT 1\r\n  FROM x\r\n")
    assert document.data == {"a": 1, "b": "SELECT 1\nFROM x\n"}
    assert document.where(("a",)) == (1, 4)
    assert document.where_in(("b",), document.data["b"], 9) == (4, 3)


def test_aliases_are_expanded() -> None:
    assert parsed("a: &x {b: [1, 2]}\nc: *x\nd: [*x]") == {
        "a": {"b": [1, 2]},
        "c": {"b": [1, 2]},
        "d": [{"b": [1, 2]}],
    }


def test_an_alias_has_the_position_of_its_anchor() -> None:
    (document,) = parse("a: &x {b: 1}\nc: *x\n")
    assert document.where(("c", "b")) == (1, 11)
    assert document.where(("c",), key=True) == (2, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{<<: *x, c: 3}", {"c": 3, "a": 1, "b": 2}),
        ("{c: 3, <<: *x}", {"c": 3, "a": 1, "b": 2}),
        ("{<<: *x, a: 3}", {"a": 3, "b": 2}),
        ("{a: 3, <<: *x}", {"a": 3, "b": 2}),
        ("{<<: [*x, *y]}", {"a": 1, "b": 2, "z": 9}),
        ("{<<: [*y, *x]}", {"a": 7, "b": 2, "z": 9}),
        ("{<<: *y, <<: *x}", {"a": 7, "b": 2, "z": 9}),
        ("{<<: {q: 1}}", {"q": 1}),
        ("{<<: *w}", {"a": 0, "b": 2, "z": 9}),
        ("{<<: []}", {}),
    ],
)
def test_merge_keys_are_applied(text: str, value: dict[str, int]) -> None:
    base = "x: &x {a: 1, b: 2}\ny: &y {a: 7, z: 9}\nw: &w {<<: [*x, *y], a: 0}\n"
    assert parsed(f"{base}d: {text}")["d"] == value


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)), max_size=3),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)),
)
def test_merges_match_the_reference_loader(bases: list[dict[str, int]], own: dict[str, int]) -> None:
    fields = [f"<<: [{', '.join(map(str, bases))}]".replace("'", ""), *(f"{k}: {v}" for k, v in own.items())]
    text = "{" + ", ".join(fields) + "}"
    assert parsed(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: {<<: 1}", ["1:9: a: the value of << must be another mapping or a list of mappings"]),
        ("a: {<<: [1]}", ["1:10: a: the value of << must be another mapping or a list of mappings"]),
        ("a: &x {<<: *x}", ["1:4: a: the value of << must be another mapping or a list of mappings"]),
        ("a: &x [*x]", ["1:4: a[0]: this value contains itself through an alias; remove the alias"]),
        ("a: &x {b: {c: *x}}", ["1:4: a.b.c: this value contains itself through an alias; remove the alias"]),
        ("a: 1\nb: 2\na: 3", ["3:1: a: the mapping has the key 'a' twice; remove one"]),
        (
            "a: 1\na: 2\n---\nb: 1\nb: 2",
            [
                "2:1: a: the mapping has the key 'a' twice; remove one",
                "5:1: b: the mapping has the key 'b' twice; remove one",
            ],
        ),
        (
            "a: {b: 1e999, c: -1e999}",
            ["1:8: a.b: the number 1e999 is too large", "1:18: a.c: the number -1e999 is too large"],
        ),
        (
            "a: [.inf, -.Inf, .NaN]",
            [
                f"1:{column}: a[{index}]: the number {number} does not exist in JSON; put it in quotes"
                for index, (column, number) in enumerate([(5, ".inf"), (11, "-.Inf"), (18, ".NaN")])
            ],
        ),
        ("a: !!binary aGk=", ["1:4: $: the tag !!binary has no meaning here; remove it"]),
        (
            "a: !!python/object:os.system x",
            ["1:4: $: the tag !!python/object:os.system has no meaning here; remove it"],
        ),
        ("a: !!set {b, c}", ["1:4: $: the tag !!set has no meaning here; remove it"]),
        ("a: \x00", ["1:4: $: not YAML: the control character U+0000"]),
        ("ä: b\nc: \ud800", ["2:4: $: not YAML: the control character U+D800"]),
    ],
)
def test_invalid_yaml_is_rejected(text: str, problems: list[str]) -> None:
    assert refused(text) == problems


def bomb(form: str, levels: int) -> str:
    lines = ["a0: &a0 {k: x}"]
    lines += [f"a{n}: &a{n} " + form.replace("*", f"*a{n - 1}") for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            bomb("[*, *, *, *, *, *, *, *, *, *]", 12),
            "the aliases of this document expand to more than 50000 values",
        ),
        (bomb("{b: *, c: *, d: *}", 40), "the aliases of this document expand to more than 50000 values"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("{a: " * 100_000, "nested deeper than 64 levels"),
        ("- " * 100_000, "nested deeper than 64 levels"),
        ("[" + "1," * 100_000 + "1]", "more than 50000 values"),
        ("a: " + "9" * 100_000, "the number 9999999999999999999999999999999999999999 is too large"),
    ],
    ids=["lists", "mappings", "brackets", "braces", "dashes", "long", "digits"],
)
def test_documents_that_expand_without_limit_are_rejected_fast(text: str, message: str) -> None:
    with at_most(CALLS):
        (problem,) = refused(text)
    assert problem.endswith(message)


def test_nested_merges_stay_cheap() -> None:
    with at_most(CALLS):
        values = parsed(bomb("{<<: [*, *, *, *]}", 64))
    assert values["a63"] == {"k": "x"}


def test_a_missing_path_has_the_position_of_its_nearest_parent() -> None:
    (document,) = parse("a:\n  b: [1, {c: 2}]\n")
    assert document.where(("a", "b", 1, "c")) == (2, 14)
    assert document.where(("a", "b", 1, "d", "e")) == (2, 10)
    assert document.where(("a", "b"), key=True) == (2, 3)
    assert document.where(("z",)) == (1, 1)
    assert YamlText({}).where(("z",)) == (1, 1)
    assert YamlText({}).where_in(("z",), "abc", 1) == (1, 1)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("spec", "sources", 0, "kafka"), "spec.sources[0].kafka"),
        (("spec", "spark", "conf", "spark.locality.wait"), "spec.spark.conf[spark.locality.wait]"),
    ],
)
def test_paths_are_rendered(path: tuple[str | int, ...], text: str) -> None:
    assert render_path(path) == text


SQL = "SELECT a -- it's \"x\"\n  FROM  tä\n\n WHERE b = 'c''d' AND e = '\t'  "


def literal(sql: str) -> str:
    return "s: |\n" + "".join(f"    {line}\n" if line else "\n" for line in sql.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        literal(SQL.replace("\t", "T")),
        "s: |2-\n   SELECT a\n   FROM b\n",
        "s: &x !!str >-\n  SELECT a,\n  b\n\n    c\n  FROM d\n",
        "s: | # with a comment\n\n\n  SELECT a\n  FROM b\n",
        "s: SELECT a\n   FROM b\n\n   WHERE c\n",
        "s: 'SELECT ''a''\n  FROM  b'\n",
        's: "SELECT \\"a\\"\\tx\\n\\\n   FROM\\x20b \\u00e4"\n',
        "s: &x SELECT a FROM b\n",
        literal("SELECT 'é東🚆', a FROM b"),
        "\ufeffs: |\r\n  SELECT a\r\n  FROM b\r\n",
    ],
)
def test_every_letter_of_a_string_has_its_position_in_the_text(text: str) -> None:
    (document,) = parse(text)
    value: str = document.data["s"]
    lines = text.removeprefix("\ufeff").splitlines()
    checked = 0
    for offset, letter in enumerate(value):
        if letter.isspace():
            continue
        line, column = document.where_in(("s",), value, offset)
        letter_there = lines[line - 1][column - 1]
        assert letter_there == letter or letter_there == "\\", (offset, letter, line, column)
        checked += 1
    assert checked > 10


@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1, max_size=60
    ),
    st.sampled_from(['"', "'", "|", ">", None]),
)
def test_positions_within_any_string_are_within_the_text(value: str, style: str | None) -> None:
    text = yaml.dump({"s": value}, default_style=style, allow_unicode=True, width=20)
    try:
        (document,) = parse(text)
    except SpecInvalid:
        return
    if not isinstance(document.data, dict) or not isinstance(document.data.get("s"), str):
        return
    value = document.data["s"]
    places = [document.where_in(("s",), value, offset) for offset in range(len(value))]
    assert places == sorted(places)
    assert all(1 <= line <= text.count("\n") + 1 for line, _ in places)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=40)
    | st.integers()
    | st.booleans()
    | st.none()
)
@example("0E0")
def test_a_dumped_value_is_read_back(value: object) -> None:
    if isinstance(value, str) and any(mark in value for mark in "\ufeff\ufffe\uffff"):
        return
    # Quoted: PyYAML, which is YAML 1.1, leaves texts such as 0E0 bare that Kubernetes reads as numbers.
    style = "'" if isinstance(value, str) else None
    (document,) = parse(yaml.safe_dump({"a": value}, default_style=style))
    assert document.data == {"a": value} or (isinstance(value, int) and abs(value) > 10**40)
