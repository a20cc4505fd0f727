"""A failed test is repeated once and alone; a run with up to three unstable tests is green, and a red run explains itself."""

import json
from pathlib import Path

import pytest
from harness import fixtures
from harness.gate import closing
from harness.gate.outcomes import Outcome, outcomes
from harness.gate.tier_runs import UNSTABLE_ALLOWED, Gate, Tier, TierRun
from tiers import TIERS, joined


PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert 1 + 1 == 3\n"
UNSTABLE = """
from pathlib import Path

def test_{name}():
    marker = Path(__file__).with_suffix(".{name}")
    before = marker.exists()
    marker.touch()
    assert before, "the first run"
"""
BUILDS = "\t@touch building; exec sleep 600\n"
"""A recipe of make that ends only with the run."""
FAILS_BESIDE_A_BUILD = """
import pathlib

def test_fails():
    while not pathlib.Path("{root}/building").exists():
        pass
    assert False
"""
STORY = "import pytest\npytestmark = pytest.mark.story\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout; the runs of pytest in it load only the plug-ins that a gate needs."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_randomly,pytest_reportlog.plugin,xdist.plugin")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\nmarkers = story\n")
    return tmp_path


def module(root: Path, tier: str, name: str, text: str) -> None:
    folder = root / "tests" / tier
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"test_{name}.py").write_text(text)


def gate(root: Path, *, keep_going: bool = False) -> Gate:
    return Gate(root, ["-q", "-p", "no:cacheprovider"], seed=7, keep_going=keep_going)


def test_a_test_that_fails_once_is_unstable_and_the_run_is_green(root: Path) -> None:
    module(root, "a", "x", PASSES + UNSTABLE.format(name="shaky"))
    run = gate(root)
    assert run.run([Tier("a")])
    [tier] = run.runs
    assert [each.test for each in tier.unstable] == ["tests/a/test_x.py::test_shaky"]
    assert not tier.failures
    assert len(tier.outcomes) == 2
    text = closing.unstable(run.runs)
    assert text.startswith("tests/a/test_x.py::test_shaky\n    tests/a/test_x.py:")
    assert "the first run" in text
    assert "unstable (1)" in closing.table(run.runs)


def test_a_test_that_fails_twice_ends_the_run_behind_its_tier(root: Path) -> None:
    module(root, "a", "x", PASSES + FAILS)
    module(root, "b", "y", PASSES)
    run = gate(root)
    assert not run.run([Tier("a"), Tier("b")])
    assert [tier.tier for tier in run.runs] == ["a"]
    text = closing.red(run.runs, 7, "same")
    assert "assert (1 + 1) == 3" in text
    assert "make test-repeat N=1 SEED=7 PROPERTIES=same TESTS='tests/a/test_x.py::test_fails'" in text


def test_joined_tiers_run_in_the_same_process(root: Path) -> None:
    module(root, "a", "x", "import sys\ndef test_first(): sys.first = True\n")
    module(root, "b", "y", "import sys\ndef test_second(): assert sys.first\n")
    run = Gate(root, ["-q", "-p", "no:cacheprovider", "--randomly-dont-reorganize"], seed=7)
    assert run.run([Tier("a+b")])
    [tier] = run.runs
    assert [each.test for each in tier.outcomes] == [
        "tests/a/test_x.py::test_first",
        "tests/b/test_y.py::test_second",
    ]


def test_joined_tiers_have_what_any_of_them_needs() -> None:
    tier = joined(["chart", "apiserver", "cluster"])
    assert (tier.name, tier.targets) == ("chart+apiserver+cluster", ("servers", "images"))
    assert tier.workers == TIERS["apiserver"].workers


def test_side_by_side_each_file_is_a_unit_and_all_files_of_the_cluster_are_one() -> None:
    scheduler = fixtures.ByFile.__new__(fixtures.ByFile)
    tests = ("tests/cluster/test_a.py::t", "tests/cluster/test_b.py::t", "tests/chart/test_a.py::t[cluster/]")
    units = [scheduler._split_scope(test) for test in tests]
    assert units == ["tests/cluster", "tests/cluster", "tests/chart/test_a.py"]


def test_a_tier_waits_only_for_what_it_needs(root: Path) -> None:
    (root / "Makefile").write_text(f"servers:\nimages:\n{BUILDS}")
    module(root, "a", "x", PASSES)
    module(root, "b", "y", FAILS_BESIDE_A_BUILD.format(root=root))
    run = gate(root)
    tiers = [Tier("a", targets=("servers",)), Tier("b", targets=("servers",)), Tier("c", targets=("images",))]
    assert not run.run(tiers)
    assert [(tier.tier, tier.broken) for tier in run.runs] == [("a", None), ("b", None)]


def test_a_full_run_continues_behind_a_failed_tier(root: Path) -> None:
    module(root, "a", "x", FAILS)
    module(root, "b", "y", PASSES)
    run = gate(root, keep_going=True)
    assert not run.run([Tier("a"), Tier("b")])
    assert [(tier.tier, tier.passed) for tier in run.runs] == [("a", False), ("b", True)]


def test_a_fourth_unstable_test_makes_the_run_red(root: Path) -> None:
    for number in range(UNSTABLE_ALLOWED):
        module(root, "a", f"x{number}", UNSTABLE.format(name="shaky"))
    module(root, "b", "y", UNSTABLE.format(name="fourth"))
    run = gate(root)
    assert not run.run([Tier("a"), Tier("b")])
    assert len(run.runs[0].unstable) == UNSTABLE_ALLOWED
    assert [each.test for each in run.runs[1].failures] == ["tests/b/test_y.py::test_fourth"]


def test_of_a_story_the_whole_module_is_repeated_once(root: Path) -> None:
    module(root, "a", "x", STORY + UNSTABLE.format(name="begins") + UNSTABLE.format(name="ends"))
    run = gate(root)
    assert run.run([Tier("a")])
    assert [each.repeat for each in run.runs[0].unstable] == ["tests/a/test_x.py"]


def test_a_module_that_cannot_be_collected_is_red_without_a_repetition(root: Path) -> None:
    module(root, "a", "x", PASSES)
    module(root, "a", "y", "import module_that_does_not_exist\n")
    run = gate(root)
    assert not run.run([Tier("a")])
    assert "module_that_does_not_exist" in closing.red(run.runs, 7, "same")


def test_a_tier_without_a_test_is_red(root: Path) -> None:
    module(root, "a", "x", "")
    run = gate(root)
    assert not run.run([Tier("a")])
    assert "exit code 5" in closing.red(run.runs, 7, "same")


def test_a_failed_build_is_red_and_shows_the_end_of_its_log(root: Path) -> None:
    (root / "Makefile").write_text("servers:\n\t@echo no compiler >&2; exit 1\n")
    module(root, "a", "x", PASSES)
    run = gate(root)
    assert not run.run([Tier("a", targets=("servers",))])
    assert "no compiler" in closing.red(run.runs, 7, "same")
    assert not run.runs[0].outcomes


@pytest.mark.full(gate="unit/test_gate.py::test_a_test_that_fails_once_is_unstable_and_the_run_is_green")
def test_side_by_side_a_failed_test_is_repeated_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    monkeypatch.delenv("PYTEST_PLUGINS")
    module(root, "a", "x", PASSES + UNSTABLE.format(name="shaky"))
    module(root, "a", "y", PASSES)
    run = gate(root)
    assert run.run([Tier("a", workers=2)])
    assert [each.test for each in run.runs[0].unstable] == ["tests/a/test_x.py::test_shaky"]


def test_a_tier_starts_with_what_its_targets_build_and_its_environment(root: Path) -> None:
    (root / "Makefile").write_text("servers:\n\t@touch built\n")
    module(
        root,
        "a",
        "x",
        f"import os, pathlib\ndef test_it(): assert os.environ['A'] == '1' and pathlib.Path('{root}/built').exists()\n",
    )
    assert gate(root).run([Tier("a", targets=("servers",), environment=lambda: {"A": "1"})])


def test_seconds_of_a_test_include_set_up_and_teardown_and_the_first_error_is_kept(tmp_path: Path) -> None:
    crash = {"path": f"{tmp_path}/tests/a.py", "lineno": 3, "message": "assert False"}
    reports = [
        report("tests/a.py::t", "setup", 1.0),
        report("tests/a.py::t", "call", 2.0, {"reprcrash": crash}),
        report("tests/a.py::t", "teardown", 3.0, "a text"),
        report("tests/a.py::u", "setup", 1.0, "no server"),
    ]
    lines = [json.dumps(each) for each in reports]
    assert outcomes([*lines, lines[-1][:20]], tmp_path) == [
        Outcome("tests/a.py::t", 6.0, "tests/a.py:3: assert False", "tests/a.py::t"),
        Outcome("tests/a.py::u", 1.0, "no server", "tests/a.py::u"),
    ]


def report(test: str, when: str, seconds: float, error: object = None) -> dict[str, object]:
    outcome = "failed" if error else "passed"
    base = {"$report_type": "TestReport", "nodeid": test, "when": when, "duration": seconds, "keywords": {}}
    return base | {"outcome": outcome, "longrepr": error}


def test_a_red_run_explains_itself_in_forty_lines() -> None:
    failures = [Outcome(f"tests/a.py::t{n}", 1.0, "x\n" * 99, f"tests/a.py::t{n}") for n in range(99)]
    text = closing.red([TierRun("a", broken="y\n" * 99, failures=failures)], 7, "same")
    assert len(text.splitlines()) <= closing.LINES
    assert "and 94 more" in text


def test_the_ten_slowest_tests_of_all_tiers_are_listed() -> None:
    runs = [TierRun(tier, outcomes=[Outcome(f"{tier}{n}", float(n)) for n in range(9)]) for tier in "ab"]
    lines = closing.slowest(runs).splitlines()
    assert len(lines) == closing.SLOWEST
    assert lines[0].split() == ["8.0", "s", "a8"]


def test_what_a_later_tier_needs_is_built_beside_the_first_one_and_ends_with_a_red_run(root: Path) -> None:
    (root / "Makefile").write_text(f"servers:\n{BUILDS}")
    module(root, "a", "x", FAILS_BESIDE_A_BUILD.format(root=root))
    run = gate(root)
    assert not run.run([Tier("a"), Tier("b", targets=("servers",))])
    assert [tier.tier for tier in run.runs] == ["a"]
