"""Why a driver ended, if it reported no reason: the rows of the table in docs/cluster.md."""

from typing import Final, NamedTuple

from mainstem.reasons import conditions, document_form, query_failures
from mainstem.reasons.reason import Reason


class DriverEndRow(NamedTuple):
    """One row: reasons with one meaning, in Markdown; if it is empty, the row has the meaning of the first reason."""

    reasons: tuple[Reason, ...]
    meaning: str = ""


DRIVER_END_ROWS: Final = (
    DriverEndRow((conditions.OOM_KILLED,)),
    DriverEndRow(
        (
            conditions.EVICTED,
            conditions.PREEMPTING,
            conditions.NODE_SHUTDOWN,
            conditions.DEADLINE_EXCEEDED,
        )
    ),
    DriverEndRow(
        (
            conditions.CONTAINER_CANNOT_RUN,
            conditions.START_ERROR,
        ),
        "The container never ran.",
    ),
    DriverEndRow((conditions.KILLED,), "SIGKILL, from the kubelet or from a process of the node."),
    DriverEndRow(
        (
            document_form.SPEC_INVALID,
            query_failures.QUERY_FAILED,
            conditions.NOT_READY,
            query_failures.INTERRUPTED,
        ),
        "The driver reported no reason, and the operator derives it from the exit code.",
    ),
    DriverEndRow((conditions.ERROR,), "None of these."),
    DriverEndRow((conditions.DRIVER_LOST,)),
)
