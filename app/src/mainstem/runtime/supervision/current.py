"""Computes the current status of a query from Spark's last report and the latest answers of the servers."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from mainstem import reasons
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import OUTAGES, QueryState
from mainstem.runtime.clock import Clock, stamp
from mainstem.runtime.failures import damaged_checkpoints, full_disks, malformed_records
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.files.source_folders import NO_FILES, Reading, UnreadFiles
from mainstem.runtime.progress.spark_progress import lagging, reaches, retaining
from mainstem.runtime.query.start_positions import with_start_positions, without_positions
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.outages import Outage
from mainstem.runtime.supervision.polls import Polls
from mainstem.runtime.supervision.recreated_topics import exceeds, renewed
from mainstem.runtime.supervision.topics import OffsetSnapshot


_UNDER_WAY: Final = (QueryState.STARTING, QueryState.RUNNING)
_BEHIND: Final = (*_UNDER_WAY, QueryState.WAITING, QueryState.RESTARTING, QueryState.FAILED)
"""States in which lag can grow: new records are not read yet, or not any more."""

_WITH_NOTICE: Final = (*_UNDER_WAY, QueryState.COMPLETED, QueryState.DRAINED)


class Current:
    """Computes the current status of each query, and what is known of it when it starts.

    Args:
        polls: the answers of servers and stores.
        graph: the graph of the document.
        clock: the time of the run.
    """

    def __init__(self, polls: Polls, graph: Graph, clock: Clock) -> None:
        self._outages, self._topics, self._files = polls.outages, polls.topics, polls.files
        self._graph, self._clock = graph, clock

    def status(self, supervised: SupervisedQuery) -> QueryProgress:
        """The current status of a query; sends no request. Records when the query has caught up."""
        now = self._clock.seconds()
        answers = self._answers(supervised)
        unknown = self._unknown(supervised, answers)
        status = current(supervised.status, self.outage(supervised), answers, unknown, now)
        status = self._with_time_behind(supervised, status, answers)
        if status.state is QueryState.RUNNING:
            rate = supervised.meter.rate(now, idle=status.idle)
            status = replace(status, rows_per_second=rate)
        is_free = status.reason in (None, reasons.KEYS_DIFFER_IN_CASE)
        if supervised.notice and is_free and status.state in _WITH_NOTICE:
            status = replace(status, reason=supervised.notice[0], message=supervised.notice[1])
        return with_unread_files(
            status, supervised.occurrences, self._files.answers(self._sources(supervised))
        )

    def _with_time_behind(
        self, supervised: SupervisedQuery, status: QueryProgress, answers: Mapping[str, OffsetSnapshot]
    ) -> QueryProgress:
        """The status with the time since which the query is behind; records when it is not."""
        polled = self._topics.polled(supervised.occurrences)
        if status.state not in _BEHIND or not polled:
            return status
        if polled <= {source.name for source in status.sources if _is_read(source, answers.get(source.name))}:
            now = self._clock.now()
            age = self._clock.seconds() - min(answers[name].time for name in polled)
            supervised.caught_up(now - timedelta(seconds=age), now)
            return status
        since = supervised.caught_up_at
        return replace(status, behind_since=stamp(since) if since else None)

    def begin(self, supervised: SupervisedQuery, *, refreshed: bool = False) -> None:
        """Look at the files of a query that starts, and find out where it continues or begins.

        Args:
            supervised: the query.
            refreshed: whether it starts only to read its side inputs again: then its positions are known.
        """
        self._files.begin(self._sources(supervised), only_tables=refreshed)
        if supervised.journal is not None or (refreshed and not supervised.awaited_resets):
            return
        trigger = supervised.query.trigger
        if trigger and trigger.continuous:
            supervised.caught_up_at = None
            supervised.show(without_positions(supervised))
        else:
            supervised.show(with_start_positions(supervised, self._graph, self._clock))

    def _unknown(self, supervised: SupervisedQuery, answers: Mapping[str, OffsetSnapshot]) -> set[str]:
        """The occurrences whose lag is unknown: their brokers do not answer, or a topic was recreated, and the query's offsets are
        those of the old one.
        """
        silent = {name for name, source in supervised.occurrences.items() if self._topics.outage(source)}
        ends = {source.name: source.end_offset for source in supervised.status.sources}
        going_back = {
            name
            for name, topic in supervised.awaited_resets
            if name in answers and exceeds(ends.get(name), topic, answers[name].offsets.latest)
        }
        recreated = {
            name
            for name, answer in answers.items()
            if renewed(supervised.topic_ids.get(name, {}), answer.offsets.ids)
        }
        return silent | going_back | recreated

    def _answers(self, supervised: SupervisedQuery) -> dict[str, OffsetSnapshot]:
        """Occurrence of a Kafka source -> the last offsets of its topics."""
        answers = {name: self._topics.answer(source) for name, source in supervised.occurrences.items()}
        return {name: answer for name, answer in answers.items() if answer is not None}

    def _sources(self, supervised: SupervisedQuery) -> list[str]:
        return [source.name for source in self._graph.sources_of(supervised.query.from_)]

    def outage(self, supervised: SupervisedQuery) -> Outage | None:
        """The outage of a server that a query uses; None while all answer."""
        known = self._outages.query(supervised.query)
        sources = (self._topics.outage(source) for source in supervised.occurrences.values())
        return known or next(filter(None, sources), None)

    def explained(self, supervised: SupervisedQuery, failure: Failure) -> Failure:
        """The failure, or the outage that caused it: clients report an outage by many different errors."""
        failure = malformed_records.explained(
            full_disks.explained(failure, self._graph, supervised.query), supervised.status
        )
        failure = damaged_checkpoints.explained(failure, self._graph, supervised.query)
        outage = self.outage(supervised)
        if outage is None or failure.permanent or failure.outage:
            return failure
        return Failure(outage.reason, f"{outage.described()}; the query failed: {failure.message}")


def _is_read(source: SourceProgress, answer: OffsetSnapshot | None) -> bool:
    """Whether every record that the topics of a source had is committed; one that has expired or was deleted before is not."""
    return answer is not None and source.lag == 0 and reaches(source.end_offset, answer.offsets.latest)


def current(
    status: QueryProgress,
    outage: Outage | None,
    answers: Mapping[str, OffsetSnapshot],
    unknown: Collection[str],
    now: float,
) -> QueryProgress:
    """The current status; pure.

    Args:
        status: the status from Spark's reports.
        outage: the outage of a server that the query uses.
        answers: occurrence of a Kafka source -> the last offsets of its topics.
        unknown: occurrences whose lag cannot be known from the answers.
        now: monotonic seconds.
    """
    if status.state not in _BEHIND:
        return status
    failed = status.reason in OUTAGES  # the query notices an outage before the next greeting
    sources = list(status.sources)
    for index, source in enumerate(sources):
        answer = answers.get(source.name)
        if source.name in unknown or (answer and (failed or not answer.fresh(now))):
            sources[index] = replace(source, lag=None, max_lag=None)
        elif answer:
            offsets = answer.offsets
            lag = lagging(source, offsets.latest, offsets.earliest)
            sources[index] = retaining(lag, offsets.earliest, offsets.latest)
    status = replace(status, sources=tuple(sources))
    if outage is None or status.state not in _UNDER_WAY:
        return status
    return replace(status, idle=False, reason=outage.reason, message=outage.described())


def with_unread_files(
    status: QueryProgress, occurrences: Mapping[str, str], unread: Mapping[str, UnreadFiles]
) -> QueryProgress:
    """The status with the files that its sources do not read, also as its reason if it has none; pure.

    Args:
        status: the status.
        occurrences: name of each occurrence -> the source's name.
        unread: source -> its files, of each source that was looked at.
    """
    if not unread:
        return status
    sources = list(status.sources)
    for index, source in enumerate(sources):
        if files := unread.get(occurrences.get(source.name, "")):
            changed = files.changed.get(Reading(status.name, source.name), NO_FILES)
            sources[index] = replace(source, passed_over=files.passed_over.number, changed=changed.number)
    status = replace(status, sources=tuple(sources))
    notices = [notice for name, files in unread.items() for notice in files.notices(name, status.name)]
    notices.sort(
        key=lambda notice: notice[0] == reasons.FILES_PASSED_OVER
    )  # the others may lack records already
    if not notices or status.reason is not None or status.state not in _WITH_NOTICE:
        return status
    return replace(status, reason=notices[0][0], message="; ".join(text for _, text in notices))
