"""Spark in the test's own process: one session for a tier, and documents that run in it to the end of their input."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from mainstem import logs
from mainstem.dataframes import query as build
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.checkpoint import new_sink_logs
from mainstem.runtime.clock import Clock
from mainstem.runtime.maintenance.orphan_removal import OrphanCleaner
from mainstem.runtime.preflight import user_modules
from mainstem.runtime.spark import java, session
from mainstem.runtime.spark.environment import this_machine
from pyspark.sql import SparkSession

from harness.documents import pipeline_head
from harness.errors import HarnessError


ROOT = Path(__file__).resolve().parents[2]
HEAD = pipeline_head("tests")
_HEAP = "3g"
"""A worker runs up to a thousand tests in one JVM. Each `newSession` stays in memory: Spark's listener bus refers to it."""
_JAVA = f"{java.SHORT_LIVED} -XX:ReservedCodeCacheSize=400m -XX:CompileThresholdScaling=0.2"
"""Eight minutes are a short life too: of 310 s of CPU in each JVM, two compilers took 100; one takes 22 of 275."""
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


@contextmanager
def opened(folder: Path) -> Iterator[SparkSession]:
    """A session with the properties and jars of a run.

    Raises:
        HarnessError: the JVM ended before the session was closed: all tests after that failed for this reason.
    """
    logs.configure("console", verbose=False)
    user_modules.add_folder(ROOT / "tests" / "usercode")
    user_modules.add_folder(ROOT / "k8s" / "samples" / "recipes")
    [document] = read_text(DOCUMENT.format(folder=folder))
    environment = this_machine(cores=2, heap=_HEAP)
    opening = session.open_session(document.graph, environment, output=print, verbose=False)
    with java.started_with(_JAVA), opening as spark:
        process = spark.sparkContext._gateway.proc
        yield spark
        if (code := process.poll()) is not None:
            raise HarnessError(
                f"the JVM of this worker's tests ended with code {code} during the first test that failed: "
                f"{_crash_report(process.pid)}"
            )


def _crash_report(process: int) -> str:
    """The head of the report that Java writes to its working directory where native code ends it."""
    report = Path(f"hs_err_pid{process}.log")
    return report.read_text(errors="replace")[:3000] if report.exists() else "no crash report"


def run(spark: SparkSession, spec: dict[str, Any], *, checked: bool = True) -> SparkSession:
    """Run the one query of a pipeline until all is read, as a driver that starts; in a session of its own, returned.

    Args:
        spark: the tier's session.
        spec: the document's `spec`.
        checked: false also runs what the rules reject.

    Raises:
        StreamingQueryException: the query failed.
    """
    text = HEAD | {"spec": spec}
    graph = (
        read_text(yaml.safe_dump(text))[0].graph if checked else Graph(StreamingPipeline.model_validate(text))
    )
    [query] = graph.spec.queries
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", graph.spec.time_zone)
    writer = build.build(own, graph, query)
    cleaner = OrphanCleaner(own, graph, Clock())
    for sink in query.to:
        if sink.files:
            suspects = new_sink_logs.prepare(
                own, sink.files.path, build.checkpoint(graph, query), sink.choice()
            )
            cleaner.suspect(query.name, sink.files.path, suspects)
    handle = build.start(own, writer, query)
    try:
        handle.processAllAvailable()
    finally:
        handle.stop()
    cleaner.look()
    return own
