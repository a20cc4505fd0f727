"""Reasons of conditions without a fault; the table of conditions in docs/cluster.md explains them."""

from typing import Final

from mainstem.reasons.reason import Reason


ACCEPTED: Final = Reason("Accepted", "The document passes every rule that needs no Spark.")
ALL_ACTIVE: Final = Reason(
    "AllActive", "Every query has committed a batch, or found nothing to do, in this driver."
)
AS_EXPECTED: Final = Reason("AsExpected", "Everything runs as the document describes.")
COMPLETED: Final = Reason("Completed", "Every query has read all its input, and the driver has ended.")
DRAINED: Final = Reason("Drained", "The driver has stopped after its running batches.")
IDLE: Final = Reason("Idle", "There is nothing to read, and no batch runs. This is not an error.")
ROWS_PENDING: Final = Reason(
    "RowsPending",
    "Records are not read yet, or a batch runs that has not reported its rows. The message has the queries. A continuous "
    "query never reports rows, and so has this reason.",
)
PROGRESSING: Final = Reason("Progressing", "No query is stalled.")
READY: Final = Reason("Ready", "The event of the phase `Running`: every query is active.")
DOCUMENT_APPLIED: Final = Reason(
    "DocumentApplied", "The event of a changed document that the running driver has taken over."
)
RESTARTING: Final = Reason(
    "Restarting",
    "The driver drains because `spec.restartNonce` has a new value, or, before it has run, settings of the operator.",
)
ROWS_READ: Final = Reason("RowsRead", "At least one query reads rows.")
RUNNING: Final = Reason("Running", "The driver container runs, or every query is active.")
SCHEDULED: Final = Reason("Scheduled", "No run is due.")
SUSPENDED: Final = Reason("Suspended", "`spec.suspend` is true, and no driver runs.")
