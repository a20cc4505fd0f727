"""Explains a failure by a damaged checkpoint, because Spark's errors name no file, or do not say what the file is for."""

import re
from dataclasses import replace
from typing import Final

from mainstem import reasons
from mainstem.checkpoints import finding
from mainstem.checkpoints.damage.verification import WAYS_OUT, damage, verify
from mainstem.errors import MainstemError
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query
from mainstem.runtime.failures.classification import Failure


MOST_BYTES: Final = 256 * 2**20
"""Bytes that are compared with their checksums: the supervisor waits meanwhile."""
_SUSPICIOUS: Final = re.compile(
    r"QueryFailed|AsyncProgressLeft|SinkFolderTaken|CANNOT_LOAD_STATE_STORE|FAILED_READ_FILE|STATE_STORE|STREAMING_CHECKPOINT"
)
"""Reasons that a damaged file can have."""


def explained(failure: Failure, graph: Graph, query: Query) -> Failure:
    """The failure that names the first damaged file, if the checkpoint is damaged; else the failure as it is.

    Args:
        failure: why the query failed.
        graph: the graph of the document.
        query: the query that failed.
    """
    if not _SUSPICIOUS.match(failure.reason):
        return failure
    path = f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_path}"
    try:
        checkpoint = finding.stream(finding.opened(path, graph.pipeline))
        blocking = verify(checkpoint.folder, checkpoint.layout, most=MOST_BYTES).blocking
    except (MainstemError, OSError):
        return failure  # the store does not answer, or Arrow does not know it
    if not blocking:
        return failure
    message = f"{damage(path, blocking[0], len(blocking) - 1)}; {WAYS_OUT}"
    return replace(failure, reason=reasons.CHECKPOINT_DAMAGED, message=message, permanent=True)
