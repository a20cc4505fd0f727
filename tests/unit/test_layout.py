"""The tree itself: nothing that shadows the standard library, and nothing in it that belongs to one machine."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parents[2]
# Written so that this file does not hold what it looks for.
_REGISTRIES = [
    r"pypi\.or" + r"g/simple",
    r"files\.pythonhoste" + r"d\.org",
    r"repo1?\.mave" + r"n\.(?:apache\.)?org",
    r"proxy\.golan" + r"g\.org",
    r"registry\.npmj" + r"s\.org",
    r"artifactor" + r"y\b",
    r"\bnexus\.",
]
_MACHINE = [
    r"(?<![\w.$}])/home/\w",
    r"(?<![\w.$}/])/roo" + r"t/",
    r"/Users/\w",
    r"(?<![\w.$}])/wor" + r"k/\w",
    r"\b[A-Z]:\\Users",
]
_ANYWHERE = re.compile("|".join(_REGISTRIES + _MACHINE))


def tracked() -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [path for name in names.split("\0") if name and (path := ROOT / name).is_file()]


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("name", ["operator/__init__.py", "operator/src/__init__.py", "tests/operator"])
def test_nothing_shadows_the_module_operator(name: str) -> None:
    assert not (ROOT / name).exists()


def test_no_folder_of_tests_is_called_operator() -> None:
    assert [path for path in (ROOT / "tests").rglob("operator") if path.is_dir()] == []


def test_the_operator_has_no_tests_in_its_folder() -> None:
    assert [
        path for path in tracked() if (ROOT / "operator") in path.parents and path.name.startswith("test_")
    ] == []


def test_no_module_has_the_name_of_a_standard_module() -> None:
    shadows = {"logging.py", "operator.py", "types.py", "json.py", "queue.py", "select.py", "signal.py"}
    assert [path for path in tracked() if path.name in shadows] == []


def test_the_standard_library_imports_from_the_root() -> None:
    assert (
        python(
            "import operator, json.tool, logging; print(operator.eq(1, 1), operator.__file__.endswith('operator.py'))"
        )
        == "True True"
    )
    assert not python("import operator; print(operator.__file__)").startswith(str(ROOT / "operator"))


def test_every_scenario_has_its_marker() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    names = [marker.partition(":")[0] for marker in options["markers"]]
    assert {f"S{n:02}" for n in range(1, 40)} <= set(names)
    assert len(names) == len(set(names))


def test_reading_a_document_needs_neither_spark_nor_kubernetes() -> None:
    code = """
import sys
from mainstem.language.document import read_text
from documents.bad import BASE
read_text(BASE)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"pyspark", "py4j", "delta", "kubernetes", "kopf", "pandas", "pyarrow"}))
"""
    assert python(f"import sys; sys.path.insert(0, 'tests'){code}") == "[]"


def test_nothing_names_a_registry_or_a_machine() -> None:
    mentions = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        mentions += [
            f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
            for match in _ANYWHERE.finditer(text)
        ]
    assert mentions == []
