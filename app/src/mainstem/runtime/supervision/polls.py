"""What threads ask servers and stores again and again while the queries of a pipeline run."""

from pyspark.sql import SparkSession

from mainstem.language.analysis.graph import Graph
from mainstem.runtime.clock import Clock
from mainstem.runtime.files.file_looks import FileLooks
from mainstem.runtime.supervision.outages import Outages
from mainstem.runtime.supervision.topics import Topics


class Polls:
    """Polls for one pipeline.

    Args:
        session: the application's session.
        graph: the graph of the document.
        clock: the time of the run.

    Attributes:
        outages: the servers that do not answer.
        topics: the offsets of topics.
        files: the files that no batch reads.
    """

    def __init__(self, session: SparkSession, graph: Graph, clock: Clock) -> None:
        self.outages = Outages(graph, clock)
        self.topics = Topics(session, graph, self.outages, clock)
        self.files = FileLooks(session, graph, clock)

    def start(self) -> None:
        """Start to poll."""
        self.outages.start()
        self.topics.start()

    def adopt(self, graph: Graph) -> None:
        """Poll for another document, which uses no other connections, from now on."""
        self.outages.adopt(graph)
        self.topics.adopt(graph)
        self.topics.start()
        self.files.adopt(graph)

    def close(self) -> None:
        """Stop polling; waits for no answer."""
        for poll in (self.outages, self.topics, self.files):
            poll.close()
