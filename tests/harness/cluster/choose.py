"""Chooses the cluster provider of this machine."""

import os
import shutil
import subprocess
from collections.abc import Callable

from harness.cluster.bare import Bare
from harness.cluster.base import TestCluster
from harness.cluster.kind import KindCluster
from harness.errors import HarnessError


_CHOICE = "MAINSTEM_TEST_PROVIDER"
_PROVIDERS: dict[str, Callable[[Callable[[str], None]], TestCluster]] = {"bare": Bare, "kind": KindCluster}


def provider() -> str:
    """Return the provider's name: MAINSTEM_TEST_PROVIDER, else kind where Docker's server answers, else bare."""
    choice = os.environ.get(_CHOICE, "")
    if choice and choice not in _PROVIDERS:
        raise HarnessError(f"{_CHOICE} is {choice!r}; there are: {', '.join(_PROVIDERS)}")
    return choice or ("kind" if _docker_answers() and shutil.which("kind") else "bare")


def cluster(report: Callable[[str], None] = lambda line: None) -> TestCluster:
    """Return this machine's cluster, up or not; `report` is given a line for each phase."""
    return _PROVIDERS[provider()](report)


def _docker_answers() -> bool:
    # A client without a server prints its own version and succeeds.
    argv = ["docker", "version", "--format", "{{.Server.Version}}"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout.strip())
