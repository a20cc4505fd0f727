"""The table of features against the models, the markers and the tests."""

import re
from pathlib import Path

import pytest
from mainstem.language.loading.field_paths import field_at
from mainstem.language.model.decode import Decode
from mainstem.language.model.functions import Function
from mainstem.language.model.pipeline import PipelineSpec
from mainstem.language.model.sinks import Sink
from mainstem.language.model.sources import Source
from mainstem.language.model.triggers import Trigger
from mainstem.language.model.views import View
from mainstem.schema.features import FEATURES, Feature
from mainstem.schema.reference import reference


ROOT = Path(__file__).resolve().parents[2]


def marked() -> set[str]:
    """Scenarios that tests bear the marker of."""
    files = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in files for name in re.findall(r"\bpytest\.mark\.(S\d\d)\b", text)}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_each_path_is_one_of_the_document_model(feature: Feature) -> None:
    for path in feature.paths:
        assert field_at(PipelineSpec, tuple(path.replace("[]", "").split("."))) is not None, path


def test_each_scenario_has_tests() -> None:
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    scenarios = set(re.findall(r"^\| (S\d\d) \|", page, re.MULTILINE))
    assert scenarios - marked() == set()
    assert {feature.scenario for feature in FEATURES} <= scenarios


def test_each_kind_of_source_view_and_sink_has_a_feature() -> None:
    named = {path for feature in FEATURES for path in feature.paths}
    kinds = {
        *(f"sources[].{kind}" for kind in Source.one_of),
        *(f"sources[].decode.{kind}" for kind in Decode.one_of),
        *(f"functions[].{kind}" for kind in Function.one_of),
        *(f"views[].{kind}" for kind in View.one_of),
        *(f"queries[].to[].{kind}" for kind in Sink.one_of),
        *(f"queries[].trigger.{kind}" for kind in Trigger.one_of),
    }
    assert [kind for kind in kinds if not any(path.startswith(kind) for path in named)] == []


def test_names_are_unique_and_in_the_order_of_the_scenarios() -> None:
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
    scenarios = [feature.scenario for feature in FEATURES]
    assert scenarios == sorted(scenarios)


def test_the_page_has_a_row_for_each_feature() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \|", reference().partition("## Features")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert [row for row in rows if row != "feature"] == [feature.name for feature in FEATURES]
