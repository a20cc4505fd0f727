"""Repartitions the state of a checkpoint with Spark's own offline repartitioning."""

import sys
from functools import partial

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.language.document import Document
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.spark.environment import this_machine
from mainstem.runtime.spark.session import open_session


def repartition(
    document: Document, checkpoint: str, partitions: int, *, cores: int | None, heap: str
) -> None:
    """Give the state of a checkpoint another number of partitions, in a Spark session of its own.

    Args:
        document: opens the store, by its connections and secrets.
        checkpoint: full path, as Spark reads it. No query may use it.
        partitions: the number of partitions after the next committed batch, which reads no input.
        cores: threads for tasks; None for all cores of the machine.
        heap: size of the Java heap, such as `2g`.

    Raises:
        NotReady: `StateNotRepartitioned`, or Spark does not start.
    """
    environment = this_machine(cores=cores, heap=heap, code=document.folder)
    aside = partial(print, file=sys.stderr)
    with open_session(document.graph, environment, output=aside, verbose=False) as session:
        repartition_with(session, checkpoint, partitions)


def repartition_with(session: SparkSession, checkpoint: str, partitions: int) -> None:
    """The same with a session that exists."""
    # Spark creates the coordinator of state stores with its manager of queries, and repartitions only with both.
    _ = session.streams.active
    try:
        session._streamingCheckpointManager.repartition(checkpoint, partitions)  # noqa: SLF001
    except Py4JNetworkError:
        raise
    except (PySparkException, Py4JError) as error:
        raise NotReady(
            f"Spark did not repartition the state: {classify(error).message}",
            reason=reasons.STATE_NOT_REPARTITIONED,
            remedy="start a new generation with an empty checkpoint to change state.partitions",
        ) from error
