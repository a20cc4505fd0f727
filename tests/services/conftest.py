"""One Spark session for the tests that run their queries within the test's own process."""

from collections.abc import Iterator

import pytest
from harness import sparks
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of a pipeline; tests that set something take a `newSession()` of it."""
    with sparks.opened(tmp_path_factory.mktemp("spark")) as session:
        yield session
