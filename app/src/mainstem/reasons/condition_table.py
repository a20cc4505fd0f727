"""Which reasons each condition has: the rows of the table in docs/cluster.md."""

from typing import Final

from mainstem.reasons import (
    conditions,
    document_connectors,
    document_form,
    healthy,
    missing_servers,
    query_failures,
)
from mainstem.reasons.condition_row import ConditionRow


_NOT_REPORTED: Final = "This driver has not written its status yet."

CONDITION_ROWS: Final = (
    ConditionRow("Ready", "True", (healthy.RUNNING,), "Every query is active."),
    ConditionRow(
        "Ready",
        "True",
        (healthy.SUSPENDED, healthy.SCHEDULED, healthy.COMPLETED),
        "No driver should run, and none runs.",
    ),
    ConditionRow(
        "Ready",
        "Unknown",
        (conditions.NOT_YET_KNOWN,),
        "`SpecValid`, `DriverRunning` or `QueriesActive` is not known yet.",
    ),
    ConditionRow(
        "Reconciling",
        "True",
        (),
        "The driver starts, drains, or waits for its next start; or a query has no batch yet, waits or "
        "restarts.",
        label="that of `Ready`",
    ),
    ConditionRow(
        "Stalled",
        "True",
        (),
        "The document, its change or the pod is rejected, the driver is not started again, or a query has failed "
        "permanently.",
        label="that of `Ready`",
    ),
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
        "DocumentApplied",
        "False",
        (conditions.APPLYING,),
        "The running driver takes the changed document over. The condition is present only while it is False.",
    ),
    ConditionRow(
        "DocumentApplied",
        "False",
        (),
        "The driver could not take the changed document over, because something that it needs is missing. The driver "
        "continues with the document before, and tries again.",
        label="a reason of the [driver's](runbook.md#reasons)",
    ),
    ConditionRow("DriverRunning", "True", (healthy.RUNNING,), "The driver container runs."),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.DRIVER_STARTING,),
        "The operator has created the driver pod or is about to. If an object of a deleted pipeline of the "
        "same name must disappear first, the message names it.",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.DRIVER_UNSCHEDULABLE,),
        "No node accepts the pod; the message shows why.",
        label="{}, or `Driver` and another reason of the scheduler",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (
            conditions.IMAGE_PULL_BACK_OFF,
            conditions.ERR_IMAGE_PULL,
            conditions.ERR_IMAGE_NEVER_PULL,
            conditions.INVALID_IMAGE_NAME,
            conditions.CREATE_CONTAINER_CONFIG_ERROR,
            conditions.CREATE_CONTAINER_ERROR,
        ),
        "The driver container, or an init container of a pod template, does not start.",
        label="the kubelet's: {}",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (
            conditions.FAILED_MOUNT,
            conditions.FAILED_ATTACH_VOLUME,
            conditions.FAILED_CREATE_POD_SAND_BOX,
        ),
        "The pod has a node, and no container starts: a Secret, ConfigMap or volume cannot be mounted, or the "
        "node cannot create the pod sandbox. The operator reads the events of such a pod after five seconds, "
        "then less and less often, at least every 40 seconds.",
        label="the newest warning among the pod's events: {}",
    ),
    ConditionRow(
        "DriverRunning", "False", (conditions.SUSPENDING,), "The driver drains because `suspend` is true."
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.UPDATING,),
        "The driver drains because the document has changed. Before the driver has run, also because settings "
        "of the operator have changed.",
    ),
    ConditionRow("DriverRunning", "False", (healthy.RESTARTING,)),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.DRAINING,),
        "The driver drains because somebody else deleted or evicted its pod.",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.DELETING,),
        "The driver drains because the resource was deleted.",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.NODE_SILENT,),
        "The driver pod still exists half a minute after its grace period, because its node is down or unreachable. "
        "The operator deletes the pod by force, or the message shows the commands to run. See [below](#a-lost-node).",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (healthy.SUSPENDED, healthy.SCHEDULED, healthy.COMPLETED),
        "As the [phase](#phases) of the same name.",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (conditions.START_FAILED,),
        "The API server did not create the driver pod, or an object that the pod needs. A webhook or the "
        "server does not answer, or there is a conflict; the message quotes the server. The operator tries "
        "again after 2 seconds, then after longer and longer pauses, at least once a minute.",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (
            document_form.SPEC_INVALID,
            conditions.POD_REFUSED,
            conditions.NAME_TAKEN,
        ),
        "No driver starts. `SpecValid` shows why.",
    ),
    ConditionRow(
        "DriverRunning",
        "False",
        (),
        "The driver has ended. It waits for its next start, or the operator does not start it again.",
        label="why the driver ended, see [below](#how-a-driver-ended)",
    ),
    ConditionRow("QueriesActive", "True", (healthy.ALL_ACTIVE,)),
    ConditionRow(
        "QueriesActive",
        "False",
        (conditions.QUERIES_STARTING,),
        "Some queries have not committed a batch yet. The message names them.",
    ),
    ConditionRow(
        "QueriesActive",
        "False",
        (conditions.QUERY_WAITING,),
        "Some queries wait for a topic, folder or table that does not exist, or for a server that does not "
        "answer. All other queries are active. The message shows what the queries wait for, and since when. "
        "Look for a misspelled name there.",
    ),
    ConditionRow(
        "QueriesActive",
        "False",
        (conditions.QUERY_RESTARTING,),
        "A query has failed, and the driver restarts it.",
    ),
    ConditionRow(
        "QueriesActive",
        "False",
        (query_failures.QUERY_FAILED,),
        "A query has failed permanently; the others continue.",
        label="the query's own reason, or {}",
    ),
    ConditionRow("QueriesActive", "Unknown", (conditions.NOT_YET_REPORTED,), _NOT_REPORTED),
    ConditionRow("DataFlowing", "True", (healthy.ROWS_READ,)),
    ConditionRow("DataFlowing", "Unknown", (healthy.IDLE,)),
    ConditionRow("DataFlowing", "Unknown", (conditions.NOT_YET_REPORTED,), _NOT_REPORTED),
    ConditionRow(
        "Degraded",
        "True",
        (
            query_failures.QUERY_FAILED,
            conditions.QUERY_RESTARTING,
        ),
        "As for `QueriesActive`.",
    ),
    ConditionRow(
        "Degraded",
        "True",
        (
            missing_servers.BROKER_UNREACHABLE,
            missing_servers.STORE_UNREACHABLE,
            missing_servers.DATABASE_UNREACHABLE,
        ),
        "A server that a query uses does not answer. The message shows the query, the connection and since "
        "when. The [outage](glossary.md#outage) is in the status within 30 seconds, even while the query "
        "still retries within a batch.",
    ),
    ConditionRow(
        "Degraded",
        "True",
        (conditions.EXECUTORS_UNSCHEDULABLE,),
        "Executors are missing. The message quotes the scheduler, the kubelet, or the newest warning among "
        "the events of an executor pod.",
    ),
    ConditionRow(
        "Degraded",
        "True",
        (
            conditions.EXECUTOR_OOM_KILLED,
            conditions.EXECUTOR_OUT_OF_MEMORY,
        ),
        "Within the last ten minutes an executor exceeded its container's memory limit, or used up its Java "
        "heap. The message shows the executor and the limit.",
    ),
    ConditionRow("Degraded", "True", (conditions.DRIVER_NOT_REPORTING,)),
    ConditionRow("Degraded", "False", (healthy.AS_EXPECTED,)),
    ConditionRow("Degraded", "Unknown", (conditions.NOT_YET_REPORTED,), _NOT_REPORTED),
    ConditionRow("DataStalled", "True", (conditions.NO_PROGRESS,)),
    ConditionRow("DataStalled", "False", (healthy.PROGRESSING,)),
    ConditionRow("DataStalled", "Unknown", (conditions.NOT_YET_REPORTED,), _NOT_REPORTED),
    ConditionRow(
        "Complete",
        "True",
        (healthy.COMPLETED,),
        "Every query has read all its input. With a schedule: every query has read all its input in the last "
        "run.",
    ),
)
