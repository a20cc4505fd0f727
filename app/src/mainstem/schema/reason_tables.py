"""The tables of reasons on the pages: each stands below its marker, `<!-- reasons: NAME -->`."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from mainstem.reasons import (
    conditions,
    document_connectors,
    document_deployment,
    document_form,
    document_queries,
    document_relations,
    missing_on_the_machine,
    missing_servers,
    notices,
    operator_faults,
    query_failures,
    trials,
)
from mainstem.reasons.condition_table import CONDITION_ROWS
from mainstem.reasons.driver_end_table import DRIVER_END_ROWS
from mainstem.reasons.reason import Exit, Origin, Reason
from mainstem.reasons.registry import entries


_BLOCK: Final = re.compile(r"<!-- reasons: (?P<name>[a-z ]+) -->\n\n(?:\|[^\n]*\n)*")
_DOCUMENTS: Final = (
    document_form,
    document_relations,
    document_queries,
    document_connectors,
    document_deployment,
)


def with_reasons(page: str) -> str:
    """The page with every table of reasons as the registry has it now.

    Raises:
        KeyError: a marker names no table.
    """
    return _BLOCK.sub(lambda match: f"<!-- reasons: {match['name']} -->\n\n{_TABLES[match['name']]()}", page)


def by_exit_code() -> str:
    """A table of all exit codes that reasons have, with the names of these reasons."""
    rows = [(f"{exit_code:d}", _names(sorted(_of_mainstem(exit_code)))) for exit_code in Exit]
    return _table(("exit code", "reasons"), [row for row in rows if row[1]])


def _exit_codes() -> str:
    """A row for each exit code of the command line."""
    return _table(("code", "meaning"), [(f"{exit_code:d}", exit_code.meaning) for exit_code in Exit])


def _conditions() -> str:
    """A row for each group of reasons that a condition has with one status."""
    rows = [
        (
            f"`{row.condition}`",
            row.status,
            row.label.replace("{}", _names(row.reasons)),
            row.meaning or _of_the_runbook(row.reasons[0]),
        )
        for row in CONDITION_ROWS
    ]
    return _table(("condition", "status", "reason", "meaning"), rows)


def _driver_ends() -> str:
    """A row for each group of reasons that the operator gives the end of a driver."""
    rows = [(_names(row.reasons), row.meaning or _of_the_runbook(row.reasons[0])) for row in DRIVER_END_ROWS]
    return _table(("reason", "meaning"), rows)


def _names(reasons: Iterable[Reason]) -> str:
    return ", ".join(f"`{reason}`" for reason in reasons)


def _of_the_runbook(reason: Reason) -> str:
    """The meaning of a reason, for another page than the runbook: its links to a chapter name the page."""
    return reason.meaning.replace("](#", "](runbook.md#")


def _of_mainstem(exit_code: Exit) -> Iterator[Reason]:
    for reason in entries():
        if reason.exit_code is exit_code and reason.origin is Origin.MAINSTEM:
            yield reason


def _what_to_do(reasons: Iterable[Reason], *, restarted: bool = False) -> str:
    """One row for each meaning; reasons with the same one share a row."""
    rows = []
    for _, group in groupby(reasons, key=lambda reason: (reason.meaning, reason.action)):
        names = list(group)
        row = (_names(names), names[0].meaning, names[0].action)
        rows.append((*row, names[0].restarted or "") if restarted else row)
    header = ("reason", "meaning", "do")
    return _table((*header, "restarted") if restarted else header, rows)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [_row(header), "|" + "---|" * len(header), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return re.sub(r" +", " ", f"| {' | '.join(cells)} |")


def _failures(*exit_codes: Exit) -> list[Reason]:
    return [reason for reason in entries(query_failures) if reason.exit_code in exit_codes]


_TABLES: Final[dict[str, Callable[[], str]]] = {
    "exit codes": _exit_codes,
    "conditions": _conditions,
    "how a driver ended": _driver_ends,
    "a document": lambda: _what_to_do(entries(*_DOCUMENTS)),
    "something is missing": lambda: _what_to_do(
        entries(missing_on_the_machine, missing_servers), restarted=True
    ),
    "a query failed": lambda: _what_to_do(_failures(Exit.QUERY_FAILED, Exit.FENCED), restarted=True),
    "a drain was interrupted": lambda: _what_to_do(_failures(Exit.DRAIN_INTERRUPTED)),
    "notices": lambda: _what_to_do(entries(notices)),
    "on a cluster": lambda: _what_to_do(entries(conditions)),
    "a trial": lambda: _what_to_do(entries(trials)),
    "the operator": lambda: _what_to_do(entries(operator_faults)),
}
"""Name of a marker -> its table."""
