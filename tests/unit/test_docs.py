"""The pages are correct: targets, links, documents, exit codes, reasons."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml
from documents import altered_values
from mainstem.errors import Exit
from mainstem.language.document import read_text
from mainstem.language.model.status.pipeline_status import Phase
from mainstem.language.model.status.states import OUTAGES
from mainstem.schema.crd import crd
from mainstem_operator.validation.documents import validate


ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RUNBOOK = ROOT / "docs" / "runbook.md"
CLUSTER = ROOT / "docs" / "cluster.md"
APP = ROOT / "app" / "src" / "mainstem"
OPERATOR = ROOT / "operator" / "src" / "mainstem_operator"
PAGES = sorted([README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
CAMEL = re.compile(r"(?!False$|True$)(?=[A-Za-z]*[a-z])[A-Z][A-Za-z]+")
TAKES_A_REASON = {
    "Finding": slice(0, 1),
    "Failure": slice(0, 1),
    "Obstacle": slice(0, 1),
    "Problem": slice(1, None),
    "SqlRefusal": slice(1, None),
    "_problem": slice(1, None),
    "_pattern": slice(1, None),
    "came": slice(1, 2),
    "problem": slice(1, None),
}
"""Calls that take a reason without its name, and where."""
DECIDING = (
    "observed/conditions",
    "observed/pod_status",
    "decisions/health",
    "decisions/idle",
    "validation/documents",
    "loop/observer",
    "decisions/history",
    "api/ownership",
    "decisions/plan",
    "validation/policies",
    "loop/reconcile",
    "decisions/pipeline_status",
    "decisions/starts",
)
"""Modules of the operator that say something of a pipeline."""
CONDITIONS = {"Ready", "Reconciling", "Stalled", "SpecValid", "DriverRunning", "QueriesActive", "DataFlowing", "Degraded", "DataStalled", "Complete"}  # fmt: skip
OF_KUBERNETES = {
    # The kubelet's and the scheduler's words, which conditions take over.
    "ContainerCannotRun",
    "CreateContainerConfigError",
    "CreateContainerError",
    "DeadlineExceeded",
    "DriverUnschedulable",
    "ErrImageNeverPull",
    "ErrImagePull",
    "Evicted",
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedMount",
    "ImagePullBackOff",
    "InvalidImageName",
    "NodeShutdown",
    "OOMKilled",
    "Preempting",
    "StartError",
}
NO_REASON = {
    # Words of Kubernetes' that the operator compares with or writes elsewhere.
    *(
        "ContainerCreating",
        "PodInitializing",
        "PodScheduled",
        "Pending",
        "Succeeded",
        "Unschedulable",
        "Normal",
        "Warning",
    ),
    # States of a query that are none of a pipeline.
    *("Interrupted", "Drained", "Idle", "Restarting", "Stopped", "Waiting", "Driver", "Never"),
    # Conditions' other status, beside the two that are Python's words too; and a class of PyYAML's.
    *("Unknown", "CSafeDumper"),
}
NO_FAULT = {
    *("Accepted", "AllActive", "AsExpected", "Completed", "Drained", "Progressing", "Running", "RowsRead"),
    *("Scheduled", "Suspended", "Idle"),
}
"""Reasons of a healthy pipeline: on the page of the cluster, not in the runbook."""


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def named(node: ast.AST) -> Iterator[str]:
    """The CamelCase strings of an expression, those of `a if b else c` and `a or b` too."""
    for part in (
        [node.body, node.orelse]
        if isinstance(node, ast.IfExp)
        else node.values
        if isinstance(node, ast.BoolOp)
        else [node]
    ):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CAMEL.fullmatch(part.value):
            yield part.value


def reasons_of(module: Path) -> Iterator[str]:
    """Reasons that a module gives: as an argument, as a default, beside a message, or at a message's end."""
    for node in ast.walk(ast.parse(text(module))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            given += node.args[TAKES_A_REASON[called]] if called in TAKES_A_REASON else []
            for argument in given:
                yield from named(argument)
        elif isinstance(node, ast.arguments):
            defaults = dict(zip([a.arg for a in node.args[::-1]], node.defaults[::-1], strict=False))
            if "reason" in defaults:
                yield from named(defaults["reason"])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r" \[([A-Z][a-zA-Z]+)\]$", node.value)
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and "shape_validation" in module.name:
            yield from named(node.elts[1])


def reasons() -> dict[str, str]:
    """Reason -> a module that gives it."""
    modules = sorted([*APP.rglob("*.py"), *OPERATOR.rglob("*.py")])
    modules_of_reasons = {reason: module.name for module in modules for reason in reasons_of(module)}
    modules_of_reasons.pop(
        "Pod", None
    )  # how a line of Kubernetes' client ends, which a driver leaves out of its log
    return modules_of_reasons


def said() -> dict[str, str]:
    """Every CamelCase word that the operator may say of a pipeline -> its module; `NO_REASON` is all that it does not mean."""
    words = {}
    for name in DECIDING:
        for node in ast.walk(ast.parse(text(OPERATOR / f"{name}.py"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CAMEL.fullmatch(node.value):
                words[node.value] = name
    return words


def faults() -> set[str]:
    """The reasons among them that somebody has to look up."""
    return set(said()) - NO_REASON - NO_FAULT - CONDITIONS - set(get_args(Phase)) | OF_KUBERNETES


def imported(module: Path) -> set[str]:
    """The packages that a module imports."""
    packages = set()
    for node in ast.walk(ast.parse(text(module))):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.partition(".")[0])
    return packages


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


def test_every_exit_code_is_in_the_readme() -> None:
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", text(README), re.MULTILINE)}
    assert rows == {int(code) for code in Exit}


def test_every_reason_is_in_the_runbook() -> None:
    given = reasons()
    assert len(given) > 60
    assert {"SpecInvalid", "UnknownField", "InvalidYaml", "MalformedRecord", "SinkFolderTaken"} <= set(given)
    page = text(RUNBOOK)
    assert {reason: module for reason, module in given.items() if f"`{reason}`" not in page} == {}


def test_every_reason_of_the_runbook_exists() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", text(RUNBOOK), re.MULTILINE)
    ours = {reason for reason in rows if CAMEL.fullmatch(reason)}
    assert ours - set(reasons()) - faults() == set()


def test_every_fault_of_the_operator_is_in_the_runbook() -> None:
    page = text(RUNBOOK)
    assert {"CheckpointNotDurable", "DriverLost", "PodRefused", "NoProgress", "OOMKilled"} <= faults()
    assert {reason for reason in faults() if f"`{reason}`" not in page} == set()


def test_every_word_of_the_conditions_is_on_the_page_of_the_cluster() -> None:
    page, words = text(CLUSTER), said()
    assert set(words) >= CONDITIONS | {
        "AllActive",
        "DriverLost",
        "DriverNotReporting",
        "Suspending",
        "Updating",
    }
    assert set(words) & NO_REASON >= {"PodScheduled", "Warning"}
    missing = {word: words[word] for word in words if word not in NO_REASON and f"`{word}`" not in page}
    assert missing == {}


def test_every_word_in_the_table_of_conditions_is_used() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:True|False|Unknown) \| (.*?) \|", text(CLUSTER), re.MULTILINE)
    assert {row[0] for row in rows} == CONDITIONS
    listed = {word for row in rows for word in re.findall(r"`(\w+)`", row[1])}
    assert len(listed) > 30
    assert listed - set(said()) - OF_KUBERNETES - OUTAGES - {"Driver", "DriverUnschedulable"} == set()


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
    operators = re.findall(r'"(mainstem_operator_\w+)"', text(OPERATOR / "metrics.py"))
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
