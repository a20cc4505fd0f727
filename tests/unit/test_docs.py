"""The pages are correct: targets, links, documents, exit codes, reasons."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import mainstem_operator.metrics  # noqa: F401 - registers the metrics
import pytest
import yaml
from documents import altered_values, written_values
from mainstem import reasons
from mainstem.language.document import read_text
from mainstem.language.model.status.pipeline_status import Phase
from mainstem.reasons import conditions, healthy
from mainstem.reasons.condition_table import CONDITION_ROWS
from mainstem.reasons.registry import entries
from mainstem.schema import WITH_REASONS, with_reasons
from mainstem.schema.crd import crd
from mainstem_operator.observed import conditions as observed
from mainstem_operator.validation.documents import validate
from prometheus_client import REGISTRY


ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RUNBOOK = ROOT / "docs" / "runbook.md"
CLUSTER = ROOT / "docs" / "cluster.md"
APP = ROOT / "app" / "src" / "mainstem"
OPERATOR = ROOT / "operator" / "src" / "mainstem_operator"
PAGES = sorted([README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
CONDITIONS = {"Ready", "Reconciling", "Stalled", "SpecValid", "CheckpointCompatible", "RolledBack", "DocumentApplied", "DriverRunning", "QueriesActive", "DataFlowing", "Degraded", "DataStalled", "Complete"}  # fmt: skip


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def imported(module: Path) -> set[str]:
    """The packages that a module imports."""
    packages = set()
    for node in ast.walk(ast.parse(text(module))):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.partition(".")[0])
    return packages


def conditions_set_in(module: Path) -> Iterator[tuple[str, str, str]]:
    """Name, status and reason of each `Condition(...)` whose three are constants; the name may be a variable."""
    for function in ast.walk(ast.parse(text(module))):
        if not isinstance(function, ast.FunctionDef):
            continue
        constants = [
            node.value.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        ]
        for call in ast.walk(function):
            match call:
                case ast.Call(
                    func=ast.Name("Condition"),
                    args=[name, ast.Name(status), ast.Attribute(ast.Name("reasons"), reason), *_],
                ):
                    named = getattr(observed, name.id, None) if isinstance(name, ast.Name) else None
                    condition = name.value if isinstance(name, ast.Constant) else named or constants[0]
                    yield str(condition), status.capitalize(), str(getattr(reasons, reason))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_on_a_page_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", text(ROOT / "Makefile"), re.MULTILINE))
    wanted = set(re.findall(r"(?:`|^\s*)make ([a-z][a-z-]*)", text(ROOT / name), re.MULTILINE))
    assert wanted
    assert wanted <= targets


def test_every_make_target_is_in_contributing() -> None:
    targets = set(re.findall(r"^\t?([a-z][a-z-]*):.*## ", text(ROOT / "Makefile"), re.MULTILINE))
    assert {"test-cluster", "images", "cluster-load"} <= targets
    named_ones = set(re.findall(r"`make ([a-z-]+)`", text(ROOT / "CONTRIBUTING.md")))
    assert targets - named_ones == set()


def test_documents_in_the_readme_are_valid() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", text(README), re.DOTALL)
    documents = [block for block in blocks if block.startswith("apiVersion: mainstem.dev")]
    assert documents
    for document in documents:
        warnings = read_text(document, "README.md")[0].warnings
        assert {warning.reason for warning in warnings} <= {
            "NotFaultTolerant"
        }  # the smallest makes its rows up
    assert min(len(document.splitlines()) for document in documents) <= 20


def test_the_document_of_the_readme_runs_on_a_cluster_with_the_servers_of_k8s_dev() -> None:
    chapter = text(README).partition("\n## On Kubernetes\n")[2].partition("\n## ")[0]
    [document] = re.findall(r"```yaml\n(.*?)```", chapter, re.DOTALL)
    body = yaml.safe_load(document)
    assert validate(body).reason == "Accepted"
    dev = [part for file in ROOT.glob("k8s/dev/*.yaml") for part in yaml.safe_load_all(text(file))]
    there = {(part["kind"], part["metadata"]["name"]) for part in dev}
    [connection] = body["spec"]["connections"]
    host = re.fullmatch(r"http://(\w+):\d+", connection["s3"]["endpoint"])
    assert host
    assert {("Service", host[1]), ("Secret", connection["s3"]["secretRef"]["name"])} <= there


def test_a_newcomer_needs_eight_commands_at_most() -> None:
    chapter = text(README).partition("\n## On Kubernetes\n")[2].partition("\n## ")[0]
    first = re.findall(r"```console\n(.*?)```", chapter, re.DOTALL)[0]
    commands = [line for line in first.splitlines() if line.startswith("$ ")]
    assert 4 <= len(commands) <= 8
    assert "kind itself was not run" in chapter


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text(page), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    local = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_the_tables_of_reasons_are_those_of_the_registry() -> None:
    stale = [name for name in WITH_REASONS if with_reasons(text(ROOT / name)) != text(ROOT / name)]
    assert not stale, f"{', '.join(stale)}: differs from the registry of reasons; run make generate"


def test_every_reason_that_somebody_looks_up_stands_in_the_runbook() -> None:
    page = text(RUNBOOK)
    assert [reason for reason in entries() if reason.action and f"`{reason}`" not in page] == []


def test_every_reason_of_a_condition_stands_on_the_page_of_the_cluster() -> None:
    page = text(CLUSTER)
    assert [reason for reason in entries(conditions, healthy) if f"`{reason}`" not in page] == []


def test_every_condition_and_reason_that_the_operator_sets_has_its_row() -> None:
    assert {row.condition for row in CONDITION_ROWS} == CONDITIONS
    rows = {(row.condition, row.status, str(reason)) for row in CONDITION_ROWS for reason in row.reasons}
    modules = [*(OPERATOR / "decisions").glob("*.py"), *(OPERATOR / "observed").glob("*.py")]
    literal = {each for module in modules for each in conditions_set_in(module)}
    assert len(literal) > 15
    assert literal - rows == set()


@pytest.mark.parametrize("page", WITH_REASONS)
def test_a_page_with_reasons_has_a_table_of_them(page: str) -> None:
    changed = re.sub(r"(<!-- reasons: [a-z ]+ -->\n\n)(?:\|[^\n]*\n)+", r"\1| stale |\n", text(ROOT / page))
    assert changed != text(ROOT / page)
    assert with_reasons(changed) == text(ROOT / page)


def test_every_phase_has_its_row() -> None:
    table = text(CLUSTER).partition("\n## Phases\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(get_args(Phase))


def test_every_field_of_the_status_has_its_writer() -> None:
    table = text(CLUSTER).partition("\n## What writes the status\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    fields = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert sorted(word for row in rows for word in re.findall(r"`(\w+)`", row)) == sorted(fields)


def test_every_metric_is_on_the_page_of_the_cluster() -> None:
    page = text(CLUSTER)
    drivers = re.findall(
        r"^# TYPE mainstem_(\w+) ", text(ROOT / "tests/unit/golden/metrics.txt"), re.MULTILINE
    )
    operators = [family.name for family in REGISTRY.collect() if family.name.startswith("mainstem_operator_")]
    assert len(drivers) > 15
    assert len(operators) >= 5
    assert [name for name in drivers if not re.search(rf"`{name}[`{{]", page)] == []
    assert [name for name in operators if not re.search(rf"`{name}(_total)?[`{{]", page)] == []


def test_the_runbook_has_the_command_of_the_chart() -> None:
    assert (ROOT / "helm/mainstem/files/release-pipelines.sh").read_text().strip() in text(RUNBOOK)


def test_only_the_outer_modules_import_kubernetes_and_kopf() -> None:
    modules = [*APP.rglob("*.py"), *OPERATOR.rglob("*.py")]
    importers = {
        name: {str(m.relative_to(ROOT)) for m in modules if name in imported(m)}
        for name in ("kubernetes", "kopf")
    }
    assert importers["kubernetes"] == {
        f"{APP.relative_to(ROOT)}/cluster/api_errors.py",
        f"{APP.relative_to(ROOT)}/cluster/user_api.py",
        f"{APP.relative_to(ROOT)}/runtime/driver/status_api.py",
        f"{OPERATOR.relative_to(ROOT)}/api/kubernetes_api.py",
    }
    at_kopf = ("handlers", "kopf_settings", "service")
    assert importers["kopf"] == {f"{OPERATOR.relative_to(ROOT)}/{name}.py" for name in at_kopf}


def test_every_scenario_is_in_its_table() -> None:
    numbers = re.findall(r"^\| (S\d\d) \|", text(ROOT / "docs" / "scenarios.md"), re.MULTILINE)
    assert numbers == [f"S{number:02d}" for number in range(1, 40)]


def test_the_readmes_pipeline_is_the_sample() -> None:
    sample = (ROOT / "k8s" / "samples" / "ticks.yaml").read_text().partition("\n")[2]
    assert f"```yaml\n{sample}```" in (ROOT / "README.md").read_text()


def test_every_altered_value_is_on_its_page() -> None:
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8").splitlines()
    for name, table in (("JSON", altered_values.JSON), ("CSV", altered_values.CSV)):
        for value in (value for value in table if value.outcome == altered_values.ALTERED):
            becomes = "null" if value.spark is None else f"`{value.spark}`"
            assert f"| {name} | {value.kind} | `{value.text}` | {becomes} |" in page
    lines = {each.line for each in written_values.ALTERED}
    assert lines <= set(page), lines - set(page)
