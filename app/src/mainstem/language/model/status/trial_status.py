"""The trial of a changed document in the status of a pipeline: its phase, and what each query wrote."""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, WithJsonSchema

from mainstem.language.base import LIST_MAP, MAX_ITEMS, Label, Model
from mainstem.language.model.status.fields import Count, Message, Reason, Short, Time


class TrialPhase(StrEnum):
    """What has become of a trial."""

    PENDING = "Pending"
    """It waits, for example until every query of the running document is active."""
    RUNNING = "Running"
    """Its pod starts or runs."""
    PASSED = "Passed"
    """Both documents wrote the same rows."""
    DIFFERS = "Differs"
    """The changed document wrote other rows or columns, or one of its queries failed."""
    FAILED = "Failed"
    """There is no comparison."""
    PROMOTED = "Promoted"
    """The changed document is applied, or was."""
    SKIPPED = "Skipped"
    """There was no trial, and the changed document is applied."""
    DISCARDED = "Discarded"
    """The document has changed again, so the tried one is not applied."""


HOLDING: Final = (
    TrialPhase.PENDING,
    TrialPhase.RUNNING,
    TrialPhase.PASSED,
    TrialPhase.DIFFERS,
    TrialPhase.FAILED,
)
"""Phases in which the changed document is not applied: the document before remains in use."""


class TrialQuery(Model):
    """The trial of one query; all numbers are absent if it was not compared."""

    name: Label
    """Name of the query in the changed document."""
    outcome: Literal["equal", "differs", "failed", "refused", "notReady", "notCompared"]
    """`equal`, `differs`, `failed`, `refused`, `notReady` or `notCompared`."""
    batches: Short | None = None
    """The numbers of the compared batches, such as `5-7`."""
    same: Count | None = None
    """Rows that both documents wrote; keys, if the sink merges or upserts."""
    only_old: Count | None = None
    """Rows that only the running document wrote."""
    only_new: Count | None = None
    """Rows that only the changed document wrote."""
    changed: Count | None = None
    """Keys that both documents wrote, with other values."""
    batch_time_percent: Count | None = None
    """Median batch time of the changed document in percent of that of the running one: 200 is twice as long."""
    state_percent: Count | None = None
    """Rows of state of the changed document in percent of those of the running one; absent without state."""
    message: Annotated[str, StringConstraints(max_length=256)] | None = None
    """Why the query was not compared, how it failed, or which columns differ."""


class TrialStatus(Model):
    """The last trial of a changed document, or why there was none."""

    revision: Short
    """The revision of the changed document."""
    against: Short | None = None
    """The revision that runs, with which it is compared."""
    phase: Annotated[
        TrialPhase, WithJsonSchema({"enum": [str(each) for each in TrialPhase], "type": "string"})
    ]
    """`Pending`, `Running`, `Passed`, `Differs`, `Failed`, `Promoted`, `Skipped` or `Discarded`."""
    reason: Reason
    """Why, in one word."""
    message: Message
    """Why, in words for people."""
    start_time: Time | None = None
    """When the operator started the trial."""
    end_time: Time | None = None
    """When the trial ended."""
    batches: Count | None = None
    """`spec.trial.batches` at the start."""
    timeout: Short | None = None
    """`spec.trial.timeout` at the start."""
    restart_nonce: Short | None = None
    """`spec.restartNonce` at the start. Another value of it, of `batches` or of `timeout` tries the revision again."""
    queries: (
        Annotated[tuple[TrialQuery, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] | None
    ) = None
    """The queries of the trial, the ones with a difference first; as many as fit into the message of its pod."""
