"""The Spark session for tests of a document: small, quick to start, and without connections to other systems."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.spark import java, session
from mainstem.runtime.spark.environment import Environment


@contextmanager
def opened(pipeline: StreamingPipeline, *, code: Path, verbose: bool) -> Iterator[SparkSession]:
    """A session with the document's properties, except those of stores, secrets and the UI.

    Args:
        pipeline: the pipeline to test.
        code: the document's folder, with the user's Python modules.
        verbose: show Spark's INFO lines.

    Raises:
        NotReady: as `session.open_session` does.
    """
    cores = min(4, os.cpu_count() or 1)
    environment = Environment(cores=cores, heap="1g", owned={"spark.ui.enabled": "false"}, code=code)
    opening = session.open_session(
        Graph(_alone(pipeline)), environment, output=lambda _line: None, verbose=verbose
    )
    with java.started_with(java.SHORT_LIVED), opening as spark:
        yield spark


def _alone(pipeline: StreamingPipeline) -> StreamingPipeline:
    """The pipeline without connections and secrets, with its checkpoints on this machine."""
    spec = pipeline.spec
    checkpoints = spec.checkpoints.model_copy(update={"location": "checkpoints"})
    local = spec.model_copy(update={"connections": (), "checkpoints": checkpoints})
    return pipeline.model_copy(update={"spec": local})
