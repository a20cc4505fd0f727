"""Spark and the servers as pytest fixtures of the session: each starts when the first test asks for it, none is ever skipped.

Tests share them, so they take names of their own for topics, buckets and objects. A test that kills a server starts
one for itself: `with Broker() as broker: ...`.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from harness.apiserver import ControlPlane
from harness.cluster.base import TestCluster
from harness.cluster.choose import cluster as this_machines_cluster
from harness.kafka import Broker
from harness.kafkasecured import SecuredBroker
from harness.mariadb import MariaDb
from harness.postgres import Postgres
from harness.s3 import S3Server


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTIES = "PROPERTIES"
"""Environment variable: `random` draws other examples in each run; else each run has the same ones."""
# The time of an example depends on the load of the machine.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("random" if os.environ.get(PROPERTIES) == "random" else "same")


@pytest.hookimpl(trylast=True)  # behind the shuffle
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests first, then large ones, where tests run side by side: the last one to end would else run alone.

    Files of about one size stay shuffled.
    """
    longest: dict[Path, float] = {}
    for item in items:
        mark = item.get_closest_marker("timeout")
        seconds = float(mark.args[0]) if mark and mark.args else 0.0
        longest[item.path] = max(longest.get(item.path, 0.0), seconds)
    if "PYTEST_XDIST_WORKER" in os.environ:
        size = {path: path.stat().st_size.bit_length() for path in longest}
        items.sort(key=lambda item: (-longest[item.path], -size[item.path]))


class ByFile(LoadFileScheduling):  # type: ignore[misc]
    """A file at a time; the files about the cluster go to one worker together, for the machine has only one cluster."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "tests/cluster" if file.startswith("tests/cluster/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """How tests run side by side: the only way in which the tiers ask for it."""
    return ByFile(config, log)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The session of a pipeline, the only one of this process; tests that set something take a `newSession()` of it."""
    from harness import sparks  # here, for tests without Spark do not wait for it

    with sparks.opened(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """A running Kafka broker."""
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def secured_kafka() -> Iterator[SecuredBroker]:
    """A running Kafka broker with authentication."""
    with SecuredBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A running S3 server without buckets."""
    with S3Server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL server with an empty database."""
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """A running MariaDB server with an empty database."""
    with MariaDb() as server:
        yield server


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A running Kubernetes API server."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session")
def cluster() -> Iterator[TestCluster]:
    """A running Kubernetes cluster of one node; one that was up already (`make cluster-up`) is used and left."""
    provider = this_machines_cluster(print)
    new = provider.up(owner=os.getpid())
    yield provider
    if new:
        provider.down()
