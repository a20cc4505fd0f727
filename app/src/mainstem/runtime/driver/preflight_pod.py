"""`mainstem driver --preflight-against`: checks a changed document in a pod beside the running driver, and starts nothing.

It is `mainstem preflight` with what only a pod has: the owner of the checkpoints, the cores of the executors, the log as JSON, and
the container's termination message for the operator.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from mainstem import logs, reasons
from mainstem.errors import MainstemError, NotReady, SpecInvalid
from mainstem.reasons import Exit
from mainstem.runtime.driver import termination
from mainstem.runtime.driver.entry import log_error
from mainstem.runtime.driver.pod import Pod


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mainstem.language.analysis.graph import Graph


_LASTING: Final = (reasons.CHECKPOINT_INCOMPATIBLE, reasons.STATE_LAYOUT_CHANGED)
"""Reasons for which no query would start later either: a checkpoint stays as it is."""


def main(file: str, running: str, *, verbose: bool) -> int:
    """Check the document of `file`, while that of `running` runs; write the result in any case, and return the exit code.

    The termination message has the outcome `completed` if the document would start. Otherwise that is `failed`, and `retried`
    shows whether a later preflight may have another result: whatever is missing may be there later, and after an error of Mainstem
    itself, nobody knows.
    """
    logs.configure("json", verbose=verbose)
    log: Any = logs.get("mainstem")
    try:
        lines = _checked(file, running, verbose=verbose)
    except MainstemError as error:
        log_error(error)
        retried = isinstance(error, NotReady) and error.reason not in _LASTING
        words = termination.words(error)
        termination.write(termination.text("failed", error.reason, words, retried=retried))
        return int(error.exit_code)
    except Exception as error:
        log.exception("an internal error of Mainstem", error=error)
        words = termination.words(error)
        termination.write(termination.text("failed", reasons.INTERNAL_ERROR, words, retried=True))
        return int(Exit.INTERNAL)
    for line in lines:
        log.info(line)
    termination.write(termination.text("completed", reasons.COMPLETED, "; ".join(lines), retried=False))
    return int(Exit.OK)


def _graph(file: str) -> "Graph | None":
    """The graph of the document that runs; None if this image refuses it, as one of another release may, or if it is gone."""
    from mainstem.language.document import read

    try:
        return read(file).graph
    except (SpecInvalid, NotReady):
        return None


def _checked(file: str, running: str, *, verbose: bool) -> list[str]:
    """A line for each query."""
    pod = Pod.from_environment()
    from mainstem.language.analysis.graph import Graph
    from mainstem.language.document import Document, read
    from mainstem.runtime import dry_start
    from mainstem.runtime.clock import Clock
    from mainstem.runtime.driver.pod_conf import preflight_environment
    from mainstem.runtime.local_sessions import opened

    document, runs = read(file), _graph(running)
    environment = preflight_environment(document.pipeline, pod)

    def opener(_document: Document, graph: Graph) -> AbstractContextManager["SparkSession"]:
        return opened(graph, environment, verbose=verbose)

    driver = environment.driver(document.pipeline.name)
    return dry_start.lines(dry_start.run(document, opener, driver, Clock(), runs))
