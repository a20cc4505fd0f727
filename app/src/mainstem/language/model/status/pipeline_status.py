"""The status of a resource, with two writers that have separate fields.

The operator writes phase, conditions and its own actions; the driver writes the progress of its queries. After a driver
has ended, the operator removes the numbers that only a running driver can know.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from mainstem.language.base import LIST_MAP, MAX_ITEMS, Label, Model
from mainstem.language.model.status.fields import Count, Message, Reason, Short, Time
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.revision_history import (
    KEPT_ENTRIES,
    RevisionEntry,
    RollbackStatus,
    UnansweredStatus,
)
from mainstem.language.model.status.trial_status import TrialStatus


MAX_BYTES: Final = 32 * 1024
"""The longest status, as JSON: 64 queries fit."""
UNOBSERVED: Final = -1
"""`observedGeneration` of a resource that the operator has not read yet: the default of the CRD."""

Phase = Literal[
    "Starting",
    "Running",
    "Degraded",
    "Draining",
    "Suspended",
    "Scheduled",
    "BackingOff",
    "Completed",
    "Invalid",
    "Failed",
    "Deleting",
]


class Condition(Model):
    """One condition of the pipeline: true, false or unknown."""

    type: Annotated[str, StringConstraints(min_length=1, max_length=63)]
    """Name of the condition, such as `Ready`."""
    status: Literal["True", "False", "Unknown"]
    """Whether the condition is true."""
    reason: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    """Why, in one word for programs."""
    message: Annotated[str, StringConstraints(max_length=4096)]
    """Why, in words for people."""
    last_transition_time: Time
    """When `status` last changed."""
    observed_generation: Count | None = None
    """Generation of the document that the condition describes."""


class CommittedBatch(Model):
    """The last committed batch of a query when its driver ended."""

    name: Label
    """Name of the query."""
    batch: Annotated[int, Field(ge=-1)] | None = None
    """The last committed batch."""


class Termination(Model):
    """How the last driver ended."""

    attempt: Count
    """Start number of the driver."""
    outcome: Short | None = None
    """`completed`, `drained`, `interrupted` or `failed`, as the driver reported it; absent if it reported nothing."""
    exit_code: int | None = None
    """Exit code of the driver container."""
    reason: Reason
    """Why, in one word: the driver's own, or the kubelet's, such as `OOMKilled` or `Evicted`."""
    message: Message | None = None
    """Why, in words for people."""
    finished_at: Time | None = None
    """When the driver container ended."""
    queries: (
        Annotated[tuple[CommittedBatch, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] | None
    ) = None
    """The last committed batch of each query."""


class LastFailure(Model):
    """The last failure of a driver since the budgets were restored, and what follows."""

    class_: Annotated[
        Literal["Document", "Query", "Driver", "OutOfMemory", "Infrastructure", "Change"],
        Field(alias="class"),
    ]
    """`Document`, `Query`, `Driver`, `OutOfMemory`, `Infrastructure` or `Change`."""
    reason: Reason
    """Why the driver ended, in one word."""
    attempt: Count
    """Driver start number of the failure."""
    in_a_row: Count
    """Number of failures in a row, of those that spend the budget or of the others. The next pause depends on it."""
    next_start_time: Time | None = None
    """When the operator starts the driver again; absent if a driver runs, or if the operator starts none."""


class ScheduleStatus(Model):
    """When the pipeline ran and will run."""

    last_time: Time | None = None
    """Scheduled time of the last run."""
    next_time: Time | None = None
    """Time of the next run."""


class DriverStatus(Model):
    """The driver pod."""

    pod: Label
    """Name of the pod."""
    node: Short | None = None
    """Node of the pod."""


class Summary(Model):
    """The pipeline in a few numbers, for `kubectl get`."""

    queries: Short
    """Number of queries by state, such as `1 active, 2 failed, 1 waiting`."""
    lag: Count | None = None
    """Records that are not read yet, over all queries whose lag is known."""
    behind_since: Time | None = None
    """The earliest `behindSince` of the queries; absent if one with a lag has none."""
    rows_per_second: Count | None = None
    """Rows read per second of wall-clock time, over all queries; 0 while no rows arrive."""
    last_commit_time: Time | None = None
    """The newest `lastCommitTime` of the queries."""
    executors: Short | None = None
    """Running executors and requested executors: `2/2`."""
    executors_reason: Reason | None = None
    """`ExecutorOOMKilled` or `ExecutorOutOfMemory` if an executor ran out of memory within the last ten minutes."""
    executors_message: Message | None = None
    """Why executors are missing, as the scheduler reports it; or which executor ran out of memory, and its limit."""


class RefusedUpdate(Model):
    """A changed document that the running driver did not apply: the document before it continues."""

    revision: Short
    """Its revision."""
    reason: Reason
    """Why, in one word."""
    message: Message
    """Why, in words for people."""
    retried: bool
    """Whether the driver tries again: something that the document needs was missing."""


class Reported(Model):
    """When the driver last wrote the status, and its start number."""

    attempt: Count
    """Start number of the driver that wrote the numbers."""
    time: Time
    """When the driver wrote the numbers; a running driver writes them at least once a minute."""
    since: Time | None = None
    """When the driver began to count. Sums of rows and records survive restarts of queries, but not of the driver."""
    revision: Short | None = None
    """The revision that the driver runs: a running driver applies a changed document if it can."""
    refused: RefusedUpdate | None = None
    """The last changed document, if the driver did not apply it."""
    answered: Count | None = None
    """The number of the last document from the operator that the driver has applied or refused, counted from 1; 0 if it has
    got none. The annotation `mainstem.dev/update-number` of its pod has the number of the last one that it shall apply."""
    memory_peak_bytes: Count | None = None
    """The largest working set of the driver container so far, measured each second: memory in use without the file cache
    that the kernel can drop. After `OOMKilled` the message shows it."""


class Status(Model):
    """The state of the pipeline; written by Mainstem."""

    observed_generation: (
        Annotated[int, Field(ge=UNOBSERVED, le=2**53 - 1, json_schema_extra={"format": "int64"})] | None
    ) = None
    """Generation of the document that the status describes; -1 until the operator has read it."""
    phase: Phase | None = None
    """The state of the pipeline in one word."""
    reason: Reason | None = None
    """Why, in one word: the reason of the worst condition."""
    conditions: (
        Annotated[
            tuple[Condition, ...],
            Field(
                max_length=32,
                json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
            ),
        ]
        | None
    ) = None
    """The conditions, by the conventions of Kubernetes; read `Ready` first."""
    revision: Short | None = None
    """The revision that runs, or ran last: the ConfigMap `<name>-<revision>` has its document."""
    history: (
        Annotated[
            tuple[RevisionEntry, ...],
            Field(max_length=KEPT_ENTRIES, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
        ]
        | None
    ) = None
    """The last ten revisions, the newest first: what changed, and what became of each."""
    rollback: RollbackStatus | None = None
    """The revision of the document, if it failed and Mainstem returned to the last healthy one, or could not."""
    unanswered: UnansweredStatus | None = None
    """The changed document, if drivers have failed while it waits for their answer."""
    trial: TrialStatus | None = None
    """The last trial of a changed document, with `spec.trial`."""
    run: Short | None = None
    """The run of the pipeline that the last start began or continues: `generation-<number>`, or the time of its schedule.
    A start after a failure, a drain or a suspension continues the run; a changed document begins another."""
    attempt: Count | None = None
    """Number of driver starts so far."""
    restarts: Count | None = None
    """Failures of drivers in a row, except failures of the infrastructure."""
    checkpoint: Annotated[str, StringConstraints(max_length=1280)] | None = None
    """`checkpoints.location` with its parameters filled in."""
    driver: DriverStatus | None = None
    """The driver pod, if there is one."""
    restart_nonce: Short | None = None
    """`spec.restartNonce` at the last start of a driver."""
    last_termination: Termination | None = None
    """How the last driver ended."""
    last_failure: LastFailure | None = None
    """The last failure of a driver, its class and what follows; absent after a change, a resumption or a new `restartNonce`."""
    schedule: ScheduleStatus | None = None
    """Times of the last and the next run, if the pipeline has a schedule."""
    queries: (
        Annotated[tuple[QueryProgress, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] | None
    ) = None
    """The progress of each query; written by the driver."""
    summary: Summary | None = None
    """The pipeline in a few numbers; written by the driver."""
    reported: Reported | None = None
    """When the driver last wrote the status."""
