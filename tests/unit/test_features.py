"""The table of features against the models, the markers and the tests."""

import re
from pathlib import Path

import pytest
from mainstem.schema.features import FEATURES, Feature
from mainstem.schema.reference import reference
from mainstem.spec.fields import field_at
from mainstem.spec.pipeline import PipelineSpec


ROOT = Path(__file__).resolve().parents[2]
AWAITED = {"S02", "S03", "S04", "S05", "S06", "S08", "S09", "S17", "S22", "S27"}
"""Scenarios that run, and whose own tests do not bear their marker yet."""


def marked() -> set[str]:
    """Scenarios that tests bear the marker of."""
    files = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in files for name in re.findall(r"\bpytest\.mark\.(S\d\d)\b", text)}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_each_path_is_one_of_a_document(feature: Feature) -> None:
    for path in feature.paths:
        assert field_at(PipelineSpec, tuple(path.replace("[]", "").split("."))) is not None, path


def test_each_scenario_has_tests() -> None:
    assert {feature.scenario for feature in FEATURES} - marked() <= AWAITED


def test_names_are_unique_and_in_the_order_of_the_scenarios() -> None:
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
    scenarios = [feature.scenario for feature in FEATURES]
    assert scenarios == sorted(scenarios)


def test_the_page_has_a_row_for_each() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \|", reference().partition("## Features")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert [row for row in rows if row != "feature"] == [feature.name for feature in FEATURES]
