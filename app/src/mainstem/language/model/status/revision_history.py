"""The revisions of a pipeline in its status: what ran, what became of it, and which one Mainstem has rolled back."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints, WithJsonSchema

from mainstem.language.base import Model
from mainstem.language.model.status.fields import Count, Message, Reason, Short, Time


KEPT_ENTRIES: Final = 10
"""Entries of `status.history`."""
MAX_CHANGES: Final = 8
"""Fields that an entry of the history names."""
LONGEST_CHANGE: Final = 80
"""Characters of one field: names may be longer, and the status is limited in size."""


class RevisionOutcome(StrEnum):
    """What became of a revision."""

    PROGRESSING = "Progressing"
    """It runs, and not every query has been active with it yet."""
    HEALTHY = "Healthy"
    """Every query was active with it, and none has failed permanently since."""
    FAILED = "Failed"
    """A query or the driver has failed permanently."""
    REPLACED = "Replaced"
    """Another revision replaced it before every query was active."""
    ROLLED_BACK = "RolledBack"
    """It failed, and Mainstem returned to the last healthy revision."""
    REJECTED = "Rejected"
    """It never ran: a checkpoint does not fit it, the running driver refused it, or drivers failed before they had."""


class RevisionEntry(Model):
    """One revision of the pipeline, from its start to its end."""

    revision: Short
    """The revision."""
    generation: Count
    """Generation of the resource at which the revision began."""
    outcome: Annotated[
        RevisionOutcome, WithJsonSchema({"enum": [str(each) for each in RevisionOutcome], "type": "string"})
    ]
    """`Progressing`, `Healthy`, `Failed`, `Replaced`, `RolledBack` or `Rejected`."""
    reason: Reason | None = None
    """Why it was rejected or rolled back, in one word."""
    attempt: Count | None = None
    """Start number of the first driver that ran it; absent if it was rejected."""
    start_time: Time
    """When its driver was started, or when the running driver had taken it over; for a rejected one, when that happened."""
    end_time: Time | None = None
    """When another revision replaced it; absent while it is in use."""
    changes: (
        Annotated[
            tuple[Annotated[str, StringConstraints(max_length=LONGEST_CHANGE)], ...],
            Field(max_length=MAX_CHANGES, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
        ]
        | None
    ) = None
    """The fields in which it differs from the revision before, such as `queries[daily].trigger`. The last item counts
    the fields that do not fit."""


class UnansweredStatus(Model):
    """A changed document that no driver has applied or refused, and the drivers that have failed meanwhile."""

    revision: Short
    """Its revision."""
    drivers: Count
    """Drivers in a row that had the changed document at hand when they failed. After two, no driver gets it
    again until the document or `restartNonce` changes, or the pipeline was suspended."""
    starts: Count
    """Drivers in a row that failed before a query of the document before ran. After two, a driver starts with the changed
    document, if `drivers` is less than two."""
    reason: Reason
    """Why the last one failed, in one word."""


class RollbackStatus(Model):
    """A revision that failed: Mainstem has returned to the last healthy one, or could not."""

    revision: Short
    """The revision that failed. It does not run again until the document or `restartNonce` changes."""
    target: Short | None = None
    """The healthy revision that runs in its place; absent if a rollback was not possible."""
    reason: Reason
    """Why the revision failed, in one word."""
    message: Message
    """Why it failed, and with no `target` why a rollback was not possible."""
    time: Time
    """When Mainstem decided to roll back."""
    restart_nonce: Short | None = None
    """`spec.restartNonce` at that time: another value lets the revision run again."""
