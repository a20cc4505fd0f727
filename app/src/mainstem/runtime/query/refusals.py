"""Collects the queries that cannot start: Spark refuses them, or something that they need is missing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from mainstem import reasons
from mainstem.errors import MainstemError, NotReady, Problem, SpecInvalid
from mainstem.runtime.failures.classification import Failure, classify


if TYPE_CHECKING:
    from mainstem.language.model.status.query_progress import QueryProgress
    from mainstem.runtime.query.supervised_query import SupervisedQuery


class Refusals:
    """The refused queries of a run, each with its error."""

    def __init__(self) -> None:
        self._errors: dict[str, SpecInvalid | NotReady] = {}
        self._new: list[SupervisedQuery] = []

    @contextmanager
    def collecting(self, supervised: "SupervisedQuery") -> "Iterator[None]":
        """A context for work on a query; `SpecInvalid` or `NotReady` within it refuses the query."""
        try:
            yield
        except (SpecInvalid, NotReady) as error:
            self.add(supervised, error)

    def add(self, supervised: "SupervisedQuery", error: SpecInvalid | NotReady) -> None:
        """Refuse a query."""
        self._errors[supervised.query.name] = error
        self._new.append(supervised)

    def others(self, queries: "Sequence[SupervisedQuery]") -> "list[SupervisedQuery]":
        """The queries that are neither refused nor suspended."""
        return [
            supervised
            for supervised in queries
            if not supervised.query.suspend and supervised.query.name not in self._errors
        ]

    def check(self, problems: Sequence[Problem], *, some: bool, strict: bool) -> None:
        """End the run if no query is left, or with `strict` if any query is refused.

        Args:
            problems: all problems that Spark finds.
            some: whether any query may run.
            strict: whether all queries have to run.

        Raises:
            SpecInvalid: with all problems, if there are any.
            NotReady: without a problem; names all queries that are not ready.
        """
        if some and not strict:
            return
        if problems:
            raise SpecInvalid(problems)
        if missing := self._not_ready():
            raise not_ready(missing)

    def take(self) -> "list[tuple[SupervisedQuery, Failure]]":
        """The queries refused since the last call, each with its failure; a transient failure stops being a refusal."""
        taken = [(supervised, _failure(self._errors[supervised.query.name])) for supervised in self._new]
        self._new = []
        for supervised, failure in taken:
            if not failure.permanent:
                del self._errors[supervised.query.name]
        return taken

    def final(self, failures: "Sequence[QueryProgress]", problems: Sequence[Problem]) -> MainstemError | None:
        """The error of a run whose failures are refusals of one kind; None if there is any other failure.

        A query that failed with the writer of its input does not count.
        """
        own = [failure for failure in failures if failure.reason != reasons.WRITER_FAILED]
        errors = [self._errors.get(failure.name) for failure in own]
        if errors and all(isinstance(error, SpecInvalid) for error in errors):
            return SpecInvalid(problems)
        if errors and all(isinstance(error, NotReady) for error in errors):
            return not_ready(self._not_ready())
        return None

    def _not_ready(self) -> dict[str, NotReady]:
        return {name: error for name, error in self._errors.items() if isinstance(error, NotReady)}


def not_ready(errors: Mapping[str, NotReady]) -> NotReady:
    """The error of a run whose queries are not ready: its message has every cause, its reason is the first one."""
    (name, first), *others = errors.items()
    more = [(each, error) for each, error in others if error.message != first.message]
    if not more:
        return first
    causes = "; ".join(f"{each!r}: {error}" for each, error in more)
    message = f"query {name!r} is not ready: {first}; not ready too: {causes}"
    return NotReady(message, reason=first.reason, transient=all(error.transient for error in errors.values()))


def _failure(error: SpecInvalid | NotReady) -> Failure:
    failure = classify(error)
    if isinstance(error, SpecInvalid):
        return failure
    return replace(failure, message=error.text, permanent=not (error.transient or failure.outage))
