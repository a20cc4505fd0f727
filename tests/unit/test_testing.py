"""`mainstem test`, as far as it needs no Spark: files, comparison, reports."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mainstem.errors import NotReady, SpecInvalid
from mainstem.testing import report
from mainstem.testing.compare import difference
from mainstem.testing.files import Suite, suite
from mainstem.testing.report import CaseOutcome, StepMismatch


PIPELINE = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: orders}
spec:
  parameters: [{name: from, value: ./orders}]
  sources:
    - name: orders
      files: {path: "${from}"}
      decode: {json: {schema: "shop STRING, amount DOUBLE"}}
    - name: shops
      static: {csv: {path: shops.csv, header: true}}
  views: [{name: named, sql: SELECT * FROM orders JOIN shops USING (shop)}]
  queries: [{name: show-it, from: named, to: [{name: out, console: {}}]}]
  checkpoints: {location: ./checkpoints}
"""
TESTS = """
apiVersion: mainstem.dev/v1alpha1
kind: PipelineTest
tables: {shops: [{shop: bern}]}
cases:
  - name: one order
    steps:
      - given: {orders: [{shop: bern, amount: 1}]}
        expect: {relations: {named: [{shop: bern}]}, queries: {show-it: [{amount: 1}]}, dropped: {show-it: 0}}
"""


def written(folder: Path, tests: str = TESTS, pipeline: str = PIPELINE) -> Path:
    (folder / "orders.yaml").write_text(pipeline, encoding="utf-8")
    (folder / "orders.test.yaml").write_text(tests, encoding="utf-8")
    return folder / "orders.yaml"


def refused(folder: Path, *edits: tuple[str, str]) -> list[str]:
    tests = TESTS
    for before, after in edits:
        assert before in tests
        tests = tests.replace(before, after)
    with pytest.raises(SpecInvalid) as error:
        suite(written(folder, tests), {})
    return [
        f"{problem.line}:{problem.column} {problem.path}: {problem.message} [{problem.reason}]"
        for problem in error.value.problems
    ]


def test_the_tests_of_a_pipeline_are_in_the_file_beside_it(tmp_path: Path) -> None:
    file = written(tmp_path)
    for path in (file, tmp_path / "orders.test.yaml"):
        tests = suite(path, {})
        assert isinstance(tests, Suite)
        assert (tests.file, tests.document.pipeline.name) == (tmp_path / "orders.test.yaml", "orders")
        assert tests.line(0) == 6


def test_a_test_can_name_its_pipeline_and_its_parameters(tmp_path: Path) -> None:
    written(
        tmp_path,
        TESTS.replace(
            "tables:", "pipeline: lake/other.yaml\nparameters: [{name: from, value: ./a}]\ntables:"
        ),
    )
    (tmp_path / "lake").mkdir()
    (tmp_path / "orders.yaml").replace(tmp_path / "lake" / "other.yaml")
    tests = suite(tmp_path / "orders.test.yaml", {})
    assert tests.document.pipeline.spec.sources[0].files.path == "./a"
    assert (
        suite(tmp_path / "orders.test.yaml", {"from": "./b"}).document.pipeline.spec.sources[0].files.path
        == "./b"
    )


def test_a_pipeline_without_tests_is_reported_with_their_path(tmp_path: Path) -> None:
    written(tmp_path).with_name("orders.test.yaml").unlink()
    with pytest.raises(
        NotReady,
        match=r"the file .*orders\.test\.yaml does not exist; create it with kind PipelineTest.*\[TestsNotFound\]",
    ):
        suite(tmp_path / "orders.yaml", {})
    with pytest.raises(NotReady, match="FileNotReadable"):
        suite(tmp_path / "none.yaml", {})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("given: {orders", "given: {order", "8:17 cases[0].steps[0].given.order: the pipeline has no streaming source 'order'; did you mean 'orders'? [UnknownRelation]"),
        ("given: {orders", "given: {shops", "8:17 cases[0].steps[0].given.shops: the pipeline has no streaming source 'shops'; known names are orders [UnknownRelation]"),
        ("tables: {shops", "tables: {orders", "4:10 tables.orders: the pipeline has no static source 'orders'; known names are shops [UnknownRelation]"),
        ("relations: {named", "relations: {name", "9:30 cases[0].steps[0].expect.relations.name: the pipeline has no relation 'name'; did you mean 'named'? [UnknownRelation]"),
        ("queries: {show-it", "queries: {show", "9:64 cases[0].steps[0].expect.queries.show: the pipeline has no query 'show'; did you mean 'show-it'? [UnknownRelation]"),
        ("dropped: {show-it: 0", "dropped: {show-it: -1", "9:108 cases[0].steps[0].expect.dropped[show-it]: -1 is out of range: it must be 0 or more [OutOfRange]"),
        ("    steps:", "    stepps:", "6:5 cases[0].steps: the field 'steps' is required [MissingField]"),
        ("kind: PipelineTest", "kind: Test", "3:7 kind: 'Test' is not allowed here; the only value is PipelineTest [InvalidValue]"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_reported_with_its_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert message in refused(tmp_path, (before, after))


def test_two_cases_with_one_name_are_rejected(tmp_path: Path) -> None:
    second = TESTS[TESTS.index("  - name: one order") :]
    with pytest.raises(SpecInvalid) as error:
        suite(written(tmp_path, TESTS + second), {})
    assert [problem.reason for problem in error.value.problems] == ["DuplicateName"]


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        ("[{shop: bern, amont: 1}]", "amont"),
        ("[{shop: bern}, {Shop: bern}]", "Shop"),
        ("[{shop: bern, amount: 1}, {}]", None),
        ("['{\"amont\": 1}']", None),
        ("[{record: {value: '{}', key: a}}]", None),
    ],
)
def test_a_given_row_names_columns_of_its_source(tmp_path: Path, rows: str, column: str | None) -> None:
    tests = TESTS.replace("[{shop: bern, amount: 1}]", rows)
    if column is None:
        suite(written(tmp_path, tests), {})
        return
    with pytest.raises(SpecInvalid) as error:
        suite(written(tmp_path, tests), {})
    [problem] = error.value.problems
    assert problem.reason == "UnknownColumn"
    assert problem.message.startswith(
        f"'orders' has no column {column!r}, and a record with other keys is given as text; did you mean"
    )
    assert tests.splitlines()[problem.line - 1][problem.column - 1 :].startswith(column)


def test_an_invalid_pipeline_is_reported_with_its_own_file(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid) as error:
        suite(written(tmp_path, pipeline=PIPELINE.replace("from: named", "from: nam")), {})
    assert error.value.file == str(tmp_path / "orders.yaml")


ROWS = st.lists(
    st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.sampled_from(["x", None, {"c": [1]}])})
)


@given(ROWS, st.randoms())
def test_rows_are_equal_in_any_order(rows: list[dict[str, object]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert difference(rows, shuffled) == ""


def spelt(row: dict[str, object]) -> str:
    return json.dumps(row, sort_keys=True)


@given(ROWS, ROWS)
def test_all_rows_that_differ_are_shown(
    expected: list[dict[str, object]], actual: list[dict[str, object]]
) -> None:
    marks = [line[0] for line in difference(expected, actual).splitlines()[1:]]
    same = sorted(map(spelt, expected)) == sorted(map(spelt, actual))
    assert marks == [] if same else len(expected) - len(actual) == marks.count("-") - marks.count("+")
    assert same or marks.count("-") + marks.count(" ") == len(expected)


def equal_by_trying(expected: list[dict[str, object]], actual: list[dict[str, object]]) -> int:
    """How many expected rows can each have an actual row of its own, by trying all."""
    if not expected:
        return 0
    first, *others = expected
    most = equal_by_trying(others, actual)
    for at, row in enumerate(actual):
        if first.items() <= row.items():
            most = max(most, 1 + equal_by_trying(others, actual[:at] + actual[at + 1 :]))
    return most


SMALL = st.lists(st.fixed_dictionaries({"a": st.integers(0, 1), "b": st.integers(0, 1)}), max_size=4)
PARTS = st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), min_size=1), max_size=4)


@given(PARTS, SMALL)
@example([{"a": 1}, {"a": 1, "b": 0}], [{"a": 1, "b": 0}, {"a": 1, "b": 1}])
def test_each_expected_row_is_compared_by_its_own_columns(
    expected: list[dict[str, object]], actual: list[dict[str, object]]
) -> None:
    marks = [line[0] for line in difference(expected, actual).splitlines()[1:]]
    most = equal_by_trying(expected, actual)
    if most == len(expected) == len(actual):
        assert marks == []
    else:
        assert (marks.count("-"), marks.count("+")) == (len(expected) - most, len(actual) - most)


def test_a_column_that_a_missing_row_does_not_name_is_a_star() -> None:
    expected = [{"id": 1, "from": "a"}, {"id": 2}]
    assert difference(expected, [{"id": 1, "from": "a"}]) == "  id  from\n  1   a\n- 2   *"


def test_a_thousand_rows_are_compared() -> None:
    rows = [{"a": number % 3, "b": number} for number in range(1000)]
    parts = [{"a": row["a"]} if row["b"] % 2 else row for row in rows]
    assert difference(parts, rows[::-1]) == ""


def test_as_many_rows_as_a_test_may_have_are_compared_also_if_half_are_missing() -> None:
    rows = [{"a": number % 2, "b": 0} for number in range(10_000)]
    parts = [{"a": row["a"]} if number % 4 else row for number, row in enumerate(rows)]
    marks = [line[0] for line in difference(parts, rows[:5000]).splitlines()[1:]]
    assert (marks.count("-"), marks.count("+"), marks.count(" ")) == (5000, 0, 5000)


def test_a_difference_is_an_aligned_table() -> None:
    expected = [{"day": "2013-01-01", "n": 2}, {"day": "2013-01-02", "n": 5}]
    actual = [
        {"day": "2013-01-01", "n": 3, "other": 1},
        {"day": "2013-01-02", "n": 5, "other": 1},
        {"day": "2013-01-02", "n": 5},
    ]
    assert difference(expected, actual).splitlines() == [
        "  day         n",
        "- 2013-01-01  2",
        "+ 2013-01-01  3",
        "+ 2013-01-02  5",
        "  2013-01-02  5",
    ]


def test_unexpected_rows_are_shown_whole() -> None:
    assert difference([], [{"a": 1, "b": None}]) == "  a  b\n+ 1  null"
    assert difference([], []) == ""


def test_junit_distinguishes_failures_and_errors() -> None:
    outcomes = [
        CaseOutcome("a.test.yaml", 3, "good", 0.5, ()),
        CaseOutcome(
            "a.test.yaml", 9, "bad", 1.0, (StepMismatch(2, "the query 'q' differs", "- 1\n+ 2\x00"),)
        ),
        CaseOutcome(
            "b.test.yaml", 1, "broken", 0.0, (StepMismatch(1, "no such table", "", "TableNotGiven"),)
        ),
    ]
    root = Xml.fromstring(report.junit(outcomes))
    a, b = root.findall("testsuite")
    assert (a.get("tests"), a.get("failures"), a.get("errors")) == ("2", "1", "0")
    assert (b.get("tests"), b.get("failures"), b.get("errors")) == ("1", "0", "1")
    failure = a.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "step 2: the query 'q' differs"
    assert "+ 2\ufffd" in str(failure.text)
    assert b.find("testcase/error").get("type") == "TableNotGiven"
    assert report.summary(outcomes, 1.5) == "1 passed, 2 failed in 1.5 s"
