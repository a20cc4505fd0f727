"""Which reasons the conditions about the document have: a part of the table in docs/cluster.md."""

from typing import Final

from mainstem.reasons import (
    conditions,
    document_connectors,
    document_form,
    healthy,
    missing_servers,
    trials,
)
from mainstem.reasons.condition_row import ConditionRow


DOCUMENT_CONDITION_ROWS: Final = (
    ConditionRow("SpecValid", "True", (healthy.ACCEPTED,)),
    ConditionRow(
        "SpecValid",
        "False",
        (),
        "The reason is that of the first broken rule. The message lists all broken rules. The document that "
        "ran before continues to run.",
        label="a reason of the [runbook](runbook.md#the-document-is-refused-exit-code-3)",
    ),
    ConditionRow("SpecValid", "False", (conditions.PATH_NOT_MOUNTED,)),
    ConditionRow(
        "SpecValid",
        "False",
        (document_connectors.OWNED_CONF,),
        "`spark.conf` sets a property that Mainstem sets in the pod.",
    ),
    ConditionRow("SpecValid", "False", (conditions.CHECKPOINT_NOT_DURABLE,)),
    ConditionRow(
        "SpecValid",
        "False",
        (conditions.POD_REFUSED,),
        "The API server rejects the driver pod; the message quotes it. A dry run asks before a running driver "
        "is stopped for a new document.",
    ),
    ConditionRow("SpecValid", "False", (conditions.NAME_TAKEN,)),
    ConditionRow(
        "SpecValid",
        "False",
        (document_form.SPEC_INVALID,),
        "The driver or Spark's analysis rejected the document after the start, and no query is left to run. "
        "The message shows the first problem. If Spark rejects only some queries, these are `Failed`, the "
        "pipeline is `Degraded`, and `SpecValid` stays True.",
    ),
    ConditionRow(
        "CheckpointCompatible",
        "False",
        (missing_servers.CHECKPOINT_INCOMPATIBLE,),
        "A query that runs could not continue from its checkpoint with the changed document. The message names "
        "query, field and what would go wrong. The driver continues with the previous document. The condition is "
        "present only while it is False.",
    ),
    ConditionRow(
        "RolledBack",
        "True",
        (conditions.ROLLED_BACK,),
        "The changed document failed, and the last healthy revision runs in its place. See [below](#rollback).",
    ),
    ConditionRow("RolledBack", "False", (conditions.ROLLBACK_NOT_POSSIBLE,)),
    ConditionRow(
        "DocumentApplied",
        "False",
        (conditions.APPLYING,),
        "A driver takes the changed document over, or will once it has reported; or a pod checks a document for which a new driver "
        "must start; or an edit is undone, and the driver does not know it yet. The condition is present only while it is False.",
    ),
    ConditionRow(
        "DocumentApplied",
        "False",
        (conditions.NOT_ANSWERED,),
        "The running driver has neither applied nor refused the changed document for more than a minute. It continues with "
        "the document before.",
    ),
    ConditionRow(
        "DocumentApplied",
        "False",
        (conditions.NEVER_ANSWERED,),
        "Two drivers in a row failed before they had applied or refused the changed document. No driver gets it again, and "
        "the document before remains in use.",
    ),
    ConditionRow(
        "DocumentApplied",
        "False",
        (),
        "The driver could not take the changed document over, because something that it needs is missing. The driver "
        "continues with the document before, and tries again. Or the pod that [checks the document]"
        "(#a-change-that-needs-a-new-driver) does not start, or has ended without a verdict; the operator checks again.",
        label="a reason of the [driver's](runbook.md#reasons), or of a pod that does not start",
    ),
    ConditionRow(
        "DocumentApplied",
        "False",
        (
            trials.TRIAL_PENDING,
            trials.TRIAL_RUNNING,
            trials.TRIAL_PASSED,
            trials.TRIAL_DIFFERS,
            trials.TRIAL_FAILED,
        ),
        "The changed document is [on trial](trial.md#on-a-cluster), and the document before runs on. `Stalled` is True after "
        "a difference or a failure.",
    ),
)
