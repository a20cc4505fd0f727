"""Checks that everything that each query needs exists: a query that lacks something is not ready, and the others run.

`checks` checks what the whole run needs.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.dataframes.options.connections import connections
from mainstem.errors import NotReady
from mainstem.filesystem import Directory
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink
from mainstem.language.requirements import functions_of, running, used
from mainstem.runtime.clients.kafka_admin import KafkaAdmin
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight import table_ownership, user_modules
from mainstem.runtime.preflight.checks import check_writable, local_folder
from mainstem.runtime.preflight.inputs import ask, required_paths, why_missing
from mainstem.runtime.spark import secrets


def before_session(graph: Graph) -> dict[str, NotReady]:
    """Query -> why it is not ready, by checks that need no Spark.

    Checks Python modules, secrets, local jars, and local paths that the query reads or writes.
    """
    return _unready(graph, partial(_on_this_machine, graph))


def in_session(
    session: SparkSession,
    graph: Graph,
    owner: str,
    clock: Clock,
    silent: Collection[str] = (),
    *,
    only_look: bool = False,
) -> dict[str, NotReady]:
    """Query -> why it is not ready, by checks of stores and brokers.

    Checks the paths that the query reads or writes. Creates missing topics of sinks, and takes tables without an owner.

    Args:
        session: any session.
        graph: the graph of the document.
        owner: the name under which the pipeline owns tables.
        clock: the time of the run.
        silent: names of connections that do not answer; they are skipped.
        only_look: create and take nothing.
    """
    return _unready(graph, _Asker(session, graph, owner, clock, silent, only_look=only_look).ask)


def topics_to_make(graph: Graph) -> dict[str, set[str]]:
    """Connection -> the topics that `in_session` makes there if they do not exist, by any connection to one of its servers."""
    servers = {each.name: each.kafka.servers for each in graph.spec.connections if each.kafka}
    made = {name: {topic for query in running(graph) for topic in _topics(query, name)} for name in servers}
    return {
        name: {topic for other, topics in made.items() if servers[other] & servers[name] for topic in topics}
        for name in servers
    }


def suspend_unready(document: Document, errors: Mapping[str, NotReady]) -> Document:
    """The document with the refused queries suspended, so that the run needs nothing that only they use."""
    if not errors:
        return document
    return document.running_only(
        [query.name for query in running(document.graph) if query.name not in errors]
    )


def _unready(graph: Graph, check: Callable[[Query], None]) -> dict[str, NotReady]:
    """Query -> the error that the check raised for it; suspended queries are skipped."""
    errors = {}
    for query in running(graph):
        try:
            check(query)
        except NotReady as error:
            errors[query.name] = error
    return errors


def _on_this_machine(graph: Graph, query: Query) -> None:
    user_modules.check_installed(graph, query)
    secrets.check_complete(graph, query)
    needed = ((required.subject, required.path) for required in required_paths(graph, query))
    for subject, path in (*needed, *_jars(graph, query)):
        if (local := local_folder(path)) and not local.exists():
            raise NotReady(f"{subject}: nothing exists at {path}", reason=reasons.PATH_NOT_FOUND)
    for subject, path in _outputs(query):
        check_writable(subject, path)


class _Asker:
    """Asks brokers and stores; asks each question only once, even if several queries need the answer."""

    def __init__(
        self,
        session: SparkSession,
        graph: Graph,
        owner: str,
        clock: Clock,
        silent: Collection[str],
        *,
        only_look: bool,
    ) -> None:
        self._session, self._graph, self._owner, self._silent = session, graph, owner, silent
        self._only_look = only_look
        self._clock = clock
        self._connections = connections(graph)
        self._topics: dict[str, set[str]] = {}
        self._existing: set[str] = set()

    def ask(self, query: Query) -> None:
        """Raise `NotReady` if the query lacks something."""
        self._make_topics(query)
        for subject, path, is_glob in required_paths(self._graph, query):
            if path in self._existing:
                continue
            if why := why_missing(self._session, subject, path, is_glob=is_glob):
                raise NotReady(why, reason=reasons.PATH_NOT_FOUND)
            self._existing.add(path)
        for subject, path in _outputs(query):
            ask(subject, path, Directory(self._session, path).exists)
        for sink in query.to:
            if sink.delta and sink.delta.merge:
                self._refuse_files(_subject(query, sink), sink.delta.path)
        if self._only_look:
            table_ownership.look(self._session, query, self._owner)
        else:
            table_ownership.take(self._session, query, self._owner, self._clock)

    def _refuse_files(self, subject: str, path: str) -> None:
        """Refuse a folder with files and without a table: the first batch would make them part of the table's folder."""
        folder = Directory(self._session, path)
        if ask(
            subject, path, lambda: folder.exists() and folder.names() and not (folder / "_delta_log").exists()
        ):
            raise NotReady(
                f"{subject}: the folder {path} has files, and no Delta table",
                reason=reasons.SINK_FOLDER_TAKEN,
                remedy="give the sink a new path, or remove the files",
            )

    def _make_topics(self, query: Query) -> None:
        names = used(self._graph, [query]) - set(self._silent)
        for name, kafka in self._connections.kafka.items():
            if name not in names:
                continue
            subject = f"connection {name!r} ({kafka.bootstrap_servers})"
            admin = KafkaAdmin(self._session._jvm, kafka)  # noqa: SLF001
            if name not in self._topics:
                self._topics[name] = set(ask(subject, "", admin.topics))
            missing = () if self._only_look else sorted(_topics(query, name) - self._topics[name])
            for topic in missing:
                ask(subject, topic, partial(admin.make, topic))
                self._topics[name].add(topic)


def _topics(query: Query, connection: str) -> set[str]:
    """The names of the topics that the query writes through a connection."""
    sinks = [sink.kafka for sink in query.to if sink.kafka and sink.kafka.connection == connection]
    return {sink.topic for sink in sinks if sink.topic}


def _jars(graph: Graph, query: Query) -> Iterator[tuple[str, str]]:
    for function in functions_of(graph, query):
        if function.java and function.java.jar:
            yield f"function {function.name!r}", function.java.jar


def _outputs(query: Query) -> Iterator[tuple[str, str]]:
    for sink in query.to:
        if path := sink.connector.main_path:
            yield _subject(query, sink), path


def _subject(query: Query, sink: Sink) -> str:
    return f"sink {sink.name!r} of query {query.name!r}"
