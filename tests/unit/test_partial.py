"""Broken parts of a document neither hide problems of the rest nor cause new ones."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents.bad import BAD, BASE, Bad
from harness.sampling import sampled
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.document import read_text


VALID = sorted((Path(__file__).parents[1] / "documents" / "valid").glob("*.yaml"))
LISTS = ("parameters", "connections", "functions", "sources", "views", "queries")


def refusals(text: str) -> list[Problem]:
    try:
        read_text(text)
    except SpecInvalid as refused:
        return [problem for problem in refused.problems if not problem.warning]
    return []


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_a_broken_entry_is_the_only_problem_of_a_valid_document(file: Path) -> None:
    """Each entry of each list, broken by an unknown field: no rule speaks of what was left out."""
    whole = yaml.safe_load(file.read_text(encoding="utf-8"))
    for name in LISTS:
        for index in range(len(whole["spec"].get(name, ()))):
            data: Any = copy.deepcopy(whole)
            data["spec"][name][index]["colour"] = "red"
            problems = [(problem.path, problem.reason) for problem in refusals(yaml.safe_dump(data))]
            assert problems == [(f"spec.{name}[{index}].colour", "UnknownField")]


@pytest.mark.parametrize("value", [True, False, 7, "text", {"name": "v"}], ids=str)
@pytest.mark.parametrize("name", LISTS)
def test_a_value_that_is_no_list_is_the_only_problem_of_a_valid_document(name: str, value: Any) -> None:
    data = yaml.safe_load(BASE)
    data["spec"][name] = value
    assert {problem.path.split("[")[0] for problem in refusals(yaml.safe_dump(data))} == {f"spec.{name}"}


def test_rules_check_the_rest_of_a_broken_document() -> None:
    text = (
        BASE.replace("  timeZone: UTC", "  timeZone: Mars")
        .replace("    - name: weather\n", "    - name: Weather\n")
        .replace("GROUP BY 1, 2", "GROUP BY 1, 2 LIMIT 5")
        .replace("value % 2 AS odd", "vaule % 2 AS odd")
        .replace("s3a://checkpoints/flights", "s3://checkpoints/flights")
    )
    assert [(problem.line, problem.path, problem.reason) for problem in refusals(text)] == [
        (20, "spec.sources[1].name", "InvalidName"),
        (70, "spec.checkpoints.location", "UnknownScheme"),
        (71, "spec.timeZone", "UnknownTimeZone"),
    ]
    text = text.replace("s3://checkpoints/flights", "s3a://checkpoints/flights")
    assert [(problem.line, problem.path, problem.reason) for problem in refusals(text)] == [
        (20, "spec.sources[1].name", "InvalidName"),
        (40, "spec.views[2].sql", "UnknownColumn"),
        (50, "spec.queries[1].outputMode", "LimitNotAllowed"),
        (71, "spec.timeZone", "UnknownTimeZone"),
    ]


def test_the_views_of_a_broken_query_are_still_checked() -> None:
    text = BASE.replace("to:\n        - name: files", "too:\n        - name: files").replace(
        "d.*, a.name", "d.*, d.carier, a.name"
    )
    assert [(problem.line, problem.reason) for problem in refusals(text)] == [
        (31, "UnknownColumn"),
        (42, "MissingField"),
        (44, "UnknownField"),
    ]


def has_a_valid_time_zone(bad: Bad) -> bool:
    """Whether the document can be parsed, and its time zone is written as in `BASE`."""
    problems = "".join(bad.problems)
    readable = "InvalidYaml" not in problems and "timeZone" not in problems
    return bad.text is None and readable and "  timeZone: UTC\n" in bad.document()


@pytest.mark.parametrize(
    "bad", sampled([bad for bad in BAD if has_a_valid_time_zone(bad)], every=4), ids=lambda bad: bad.name
)
def test_a_broken_setting_hides_no_problem(bad: Bad) -> None:
    """With an invalid time zone, all problems of the valid one are reported too."""
    text = bad.document()
    alone, both = refusals(text), refusals(text.replace("  timeZone: UTC\n", "  timeZone: Mars\n"))
    assert set(alone) <= set(both)
