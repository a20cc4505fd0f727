"""One Spark session for the tier, with the properties and jars of a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mainstem import logs
from mainstem.run import session
from mainstem.run.place import this_machine
from mainstem.spec.document import read_text
from pyspark.sql import SparkSession


DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: tests}}
spec:
  sources: [{{name: ticks, rate: {{}}}}]
  queries: [{{name: show, from: ticks, to: [{{name: out, console: {{}}}}]}}]
  checkpoints: {{location: {folder}/checkpoints}}
  spark: {{conf: {{spark.ui.enabled: "false"}}}}
"""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of a pipeline; tests that set something take a `newSession()` of it."""
    folder: Path = tmp_path_factory.mktemp("spark")
    logs.configure("console", verbose=False)
    [document] = read_text(DOCUMENT.format(folder=folder))
    with session.opened(
        document.pipeline, this_machine(cores=2, heap="1g"), output=print, verbose=False
    ) as opened:
        yield opened
