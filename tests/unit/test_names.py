"""Names that Mainstem and Kubernetes agree on have one home."""

from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "app/src/mainstem/names.py"
MODULES = [
    path
    for folder in ("app/src/mainstem", "operator/src/mainstem_operator")
    for path in (ROOT / folder).rglob("*.py")
    if path != HOME
]


@pytest.mark.parametrize(
    "literal", ['"mainstem.dev', '/v1alpha1"', '"streamingpipelines"', '"mainstem_operator_']
)
def test_group_version_plural_and_prefix_stand_in_one_module(literal: str) -> None:
    assert [
        str(path.relative_to(ROOT)) for path in MODULES if literal in path.read_text(encoding="utf-8")
    ] == []
