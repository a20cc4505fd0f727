"""One tenant does not delay another one: expensive documents and slow webhooks."""

import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from apiserver.operatorbed import SPEC, Bed, Ours, until
from harness.admission import ReviewHandler, pod_webhook, serve
from harness.pki import Authority
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kubernetes.client import AdmissionregistrationV1Api


WEBHOOK_SECONDS = 25.0
MIB = 1024 * 1024


def doubling(views: int, times: int) -> list[dict[str, str]]:
    """Views that each read the one before several times."""
    below = ["ticks", *(f"v{index}" for index in range(views))]
    return [
        {"name": f"v{index}", "sql": "SELECT * FROM " + ", ".join([below[index]] * times)}
        for index in range(views)
    ]


def costly(views: list[dict[str, str]]) -> dict[str, Any]:
    queries = [{**SPEC["queries"][0], "from": views[-1]["name"]}]
    return {**SPEC, "views": views, "queries": queries}


def served(bed: Bed, namespace: str) -> list[Ours]:
    """20 pipelines, which are created one after the other, once each has its driver."""
    pipelines = [Ours(bed, namespace, f"ticks-{number}") for number in range(20)]
    for ours in pipelines:
        ours.create()
    until(lambda: len(bed.core.list_namespaced_pod(namespace).items) == len(pipelines), why="not 20 drivers")
    return pipelines


HARMFUL = {
    "doubling": doubling(26, 2),
    "comments": [{"name": "v", "sql": "/*" * 8000}],
    "joins": [{"name": "v", "sql": "SELECT * FROM ticks" + " JOIN ticks" * 40}],
    "structs": [{"name": "v", "sql": "SELECT " + "struct(" * 40 + "1" + ")" * 40 + " FROM ticks"}],
    "fan": doubling(64, 6),
}
"""Name -> views that cost more to read than a document may."""


def memory(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * 4096


@pytest.mark.full(gate="unit/test_limits.py::test_a_killed_validation_rejects_only_its_own_document")
def test_expensive_documents_delay_no_other_pipeline(bed: Bed) -> None:
    """Doubling views, a view of open comments, joins with 2^40 parses, and 20 plain pipelines beside them."""
    bed.operator.up()
    tenant = bed.namespace()
    harmful = {name: Ours(bed, tenant, name) for name in HARMFUL}
    for name, ours in harmful.items():
        ours.create(costly(HARMFUL[name]))
    served(bed, bed.namespace())
    assert bed.operator.healthy()
    for name in ("doubling", "fan"):
        harmful[name].phase("Invalid", "Failed")
        assert harmful[name].condition("SpecValid")["reason"] == "TooManyOccurrences"
    assert memory(bed.operator.pid) < 400 * MIB


FRAGMENTS = [
    "(",
    "JOIN ticks ",
    "LEFT JOIN ticks ",
    "struct(",
    "date(",
    "array<",
    "/*",
    "'",
    "\\",
    "`",
    "|> SELECT a ",
]


@pytest.mark.full(gate="unit/test_language_cost.py::test_any_repeated_fragment_is_read_to_an_end")
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(
    st.integers(1, 64),
    st.integers(1, 6),
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=3).map("".join),
    st.sampled_from([20, 40, 1000]),
)
def test_any_fuzzed_document_leaves_the_operator_running(
    bed: Bed, fuzzed: tuple[str, str], views: int, times: int, fragment: str, repeats: int
) -> None:
    bed.operator.up()
    tenant, other = fuzzed
    text = {"name": "text", "sql": ("SELECT * FROM ticks " + fragment * repeats)[:16_000]}
    name = f"fuzzed-{secrets.token_hex(4)}"
    Ours(bed, tenant, name).create(costly([text, *doubling(min(views, 63), times)]))
    ours = Ours(bed, other, name)
    ours.create()
    ours.pod(1)
    assert bed.operator.healthy()


@pytest.fixture(scope="module")
def fuzzed(bed: Bed) -> tuple[str, str]:
    return bed.namespace(), bed.namespace()


class _Slow(ReviewHandler):
    """Allows every request, at once for the first pod of a namespace, and for the others when the test opens a gate."""

    protocol_version = "HTTP/1.1"
    release = threading.Event()
    asked: ClassVar[Counter[str]] = Counter()
    """Requests by namespace."""
    answered: ClassVar[list[str]] = []
    """Namespaces of the requests that have waited."""

    def response(self, request: dict[str, Any]) -> dict[str, Any]:
        namespace = request["namespace"]
        self.asked[namespace] += 1
        if self.asked[namespace] > 1:
            self.release.wait(WEBHOOK_SECONDS)
            self.answered.append(namespace)
        return {"allowed": True}


@contextmanager
def slow_webhook(bed: Bed, labels: dict[str, str]) -> Iterator[None]:
    """Pods of namespaces with these labels, but the first of each, are admitted by a server that takes its time."""
    folder = bed.plane.folder / "slow-webhook"
    folder.mkdir()
    authority = Authority(folder)
    server = serve(_Slow, authority.issue("webhook", hosts=("127.0.0.1", "localhost")))
    url = f"https://127.0.0.1:{server.server_port}/"
    webhook = pod_webhook("slow.example.com", url, authority, labels, seconds=30)
    admission = AdmissionregistrationV1Api(bed.client)
    _Slow.release.clear()
    _Slow.asked.clear()
    _Slow.answered.clear()
    admission.create_validating_webhook_configuration({"metadata": {"name": "slow"}, "webhooks": [webhook]})
    try:
        yield
    finally:
        admission.delete_validating_webhook_configuration("slow")
        _Slow.release.set()
        server.shutdown()
        server.server_close()


@pytest.mark.full(gate="unit/test_turns.py::test_slow_keys_delay_no_other_key_once_they_are_known")
def test_slow_webhooks_delay_no_other_namespace(bed: Bed) -> None:
    """Four namespaces have more waiting pipelines than the operator has turns; the probe still passes."""
    bed.operator.up()
    labels = {"webhook": "slow"}
    slow, other = [bed.namespace(**labels) for _ in range(4)], bed.namespace()
    with slow_webhook(bed, labels):
        tenants = [Ours(bed, namespace, f"ticks-{number}") for namespace in slow for number in range(10)]
        for ours in tenants:
            ours.create()
        # Each has as many as it may have: from then on nothing of theirs goes on.
        until(lambda: sum(_Slow.asked.values()) >= 4 * (1 + 8), why=f"not all have turns: {_Slow.asked}")
        for number in range(3):
            ours = Ours(bed, other, f"quick-{number}")
            ours.create()
            ours.pod(1)
            assert bed.operator.healthy()
        # The status of the other starts does not wait for the slow ones either.
        assert ours.phase("Starting")
        assert _Slow.answered == [], "it waited for the slow ones"
    for ours in tenants:
        ours.pod(1)
