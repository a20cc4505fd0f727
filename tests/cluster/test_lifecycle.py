"""The bare cluster comes, survives and goes without a trace. It is a second one, beside the one that others use."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.machine import left, snapshot
from cluster.pods import load_tool, pod
from harness import gotools
from harness.cluster import host
from harness.cluster.bare import Bare
from harness.cluster.layout import KUBERNETES_SERVICE, Layout
from harness.cluster.state import ClusterState, identity
from harness.errors import HarnessError
from harness.waiting import within


pytestmark = [
    pytest.mark.bare,
    pytest.mark.full(gate="cluster/test_provider.py::test_a_second_up_uses_the_same_cluster"),
]

AT = Layout("mainstem-test2", "198.18.78")
_UP = """
import os, sys
from harness.cluster.bare import Bare
from harness.cluster.layout import Layout
Bare(lambda line: print(line, flush=True), Layout({name!r}, {network!r})).up(owner=os.getpid())
"""


@pytest.fixture
def second() -> Iterator[Bare]:
    """A cluster beside the shared one, not up yet; in the end it is down."""
    second_cluster = Bare(print, AT)
    yield second_cluster
    if AT.state.exists():
        second_cluster.down()


def upper() -> subprocess.Popen[str]:
    """A process that brings the cluster up, as its own."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    script = _UP.format(name=AT.name, network=AT.network)
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.timeout(900)
def test_the_cluster_survives_kills_and_leaves_nothing(second: Bare, tmp_path: Path) -> None:
    before = snapshot(AT.name)
    owner = upper()
    print(owner.communicate(timeout=300)[0])
    assert owner.returncode == 0
    assert second.running()
    shown = snapshot(AT.name)
    changed = set(left(before, shown))
    assert changed == {
        "links",
        "routes",
        "cgroups",
        "processes",
        "files",
    }  # all else is in the node's namespaces

    assert second.up() is True  # whose cluster it was is gone: it is made anew
    refuses_to_take_it_from_a_process_that_lives(second)
    image = load_tool(second, gotools.PAUSE.build().path / "pause", tmp_path / "tool.tar")
    second.kubectl("apply", "-f", "-", stdin=pod("steady", image))
    second.kubectl("wait", "--for=condition=Ready", "pod/steady", "--timeout=110s")
    for server in ("kubelet", "containerd", "kube-apiserver"):
        kill_and_see_it_again(server)
    within(60, "the node runs", second.running)
    assert second.up() is False
    within(60, "the name of a service", lambda: looks_up(second, "steady"))
    restarts = second.kubectl("get", "pod", "steady", "-o", "jsonpath={..restartCount}")
    assert restarts == "0"

    os.kill(host.first_process(AT, state()), signal.SIGKILL)
    within(60, "the node is down", lambda: not second.running())
    assert second.down() is True
    assert left(before, snapshot(AT.name)) == {}
    assert second.down() is False


def test_the_cluster_cleans_up_after_a_killed_start(second: Bare) -> None:
    before = snapshot(AT.name)
    owner = upper()
    assert owner.stdout is not None
    assert "containerd answers" in owner.stdout.readline()
    owner.kill()
    owner.communicate()
    assert second.down() is True
    assert left(before, snapshot(AT.name)) == {}


def test_the_cluster_does_not_start_beside_a_foreign_kubelet(second: Bare, tmp_path: Path) -> None:
    kubelet = tmp_path / "kubelet"
    shutil.copy(shutil.which("sleep") or "", kubelet)
    foreign = subprocess.Popen([kubelet, "600"])
    try:
        within(
            30,
            "a process called kubelet",
            lambda: Path(f"/proc/{foreign.pid}/comm").read_text().strip() == "kubelet",
        )
        refuses(second, rf"kubelet is running \(process {foreign.pid}\)")
        assert foreign.poll() is None
    finally:
        foreign.kill()
        foreign.wait()


def test_the_cluster_keeps_a_directory_that_it_did_not_create(second: Bare) -> None:
    AT.data.mkdir()
    precious = AT.data / "precious"
    precious.touch()
    try:
        refuses(second, f"{AT.data} is not empty")
        with pytest.raises(HarnessError, match=f"{AT.data}: not made by this harness"):
            second.down()
        AT.state.write_text(json.dumps({"what": "another program's"}))
        with pytest.raises(HarnessError, match="not the record of a test cluster"):
            second.down()
        assert precious.exists()
    finally:
        shutil.rmtree(AT.data)


def test_the_cluster_keeps_a_network_link_that_it_did_not_create(second: Bare) -> None:
    host.run("ip", "link", "add", AT.link, "type", "bridge")
    try:
        refuses(second, f"there is a network link {AT.link}")
        assert Path("/sys/class/net", AT.link).exists()
    finally:
        host.run("ip", "link", "delete", AT.link)


def refuses(cluster: Bare, reason: str) -> None:
    """`up` names the reason and makes nothing."""
    before = snapshot(AT.name)
    with pytest.raises(HarnessError, match=reason):
        cluster.up()
    assert left(before, snapshot(AT.name)) == {}


def refuses_to_take_it_from_a_process_that_lives(cluster: Bare) -> None:
    record = state()
    with subprocess.Popen(["sleep", "600"]) as other:
        record.owner = identity(other.pid)
        record.write(AT.state)
        with pytest.raises(HarnessError, match=f"is that of process {other.pid}, which runs"):
            cluster.up()
        other.kill()
    record.owner = ""
    record.write(AT.state)
    assert cluster.up() is False


def kill_and_see_it_again(server: str) -> None:
    """Kill one of the node's servers and wait for the node to start it again."""
    pid = of_the_node(server)
    assert pid
    os.kill(pid, signal.SIGKILL)
    within(60, "another server on the node", lambda: of_the_node(server) not in {0, pid})


def of_the_node(server: str) -> int:
    """The id of the node's server of this name, 0 when it does not run."""
    for pid in state().processes():
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == server:
                return pid
        except FileNotFoundError:
            continue
    return 0


def looks_up(cluster: Bare, name: str) -> bool:
    """Whether a command can be run in a pod, and the cluster's DNS answers it."""
    try:
        output = cluster.kubectl("exec", name, "--", "/pause", "lookup", "kubernetes.default.svc")
    except HarnessError:
        return False
    return output.split() == [KUBERNETES_SERVICE]


def state() -> ClusterState:
    """The second cluster's record."""
    recorded = ClusterState.read(AT.state)
    assert recorded is not None
    return recorded
