"""Which reasons each condition has: the rows of the table in docs/cluster.md."""

from typing import Final

from mainstem.reasons import (
    conditions,
    document_form,
    healthy,
    missing_servers,
    query_failures,
)
from mainstem.reasons.condition_row import ConditionRow
from mainstem.reasons.document_condition_rows import DOCUMENT_CONDITION_ROWS


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
    *DOCUMENT_CONDITION_ROWS,
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
        "The driver drains because the document has changed.",
    ),
    ConditionRow("DriverRunning", "False", (healthy.RESTARTING,)),
    ConditionRow("DriverRunning", "False", (conditions.ROLLED_BACK,)),
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
        label="why it ended, see [below](#how-a-driver-ended)",
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
        "QueriesActive", "False", (conditions.QUERY_RESTARTING,), "A query has failed, and restarts."
    ),
    ConditionRow(
        "QueriesActive",
        "False",
        missing_servers.REFUSED_CREDENTIALS,
        "A server has refused the credentials of a query. The driver restarts the query, which reads "
        "[changed secrets](security.md#changed-secrets).",
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
    ConditionRow("DataFlowing", "Unknown", (healthy.ROWS_PENDING,)),
    ConditionRow("DataFlowing", "Unknown", (conditions.NOT_YET_REPORTED,), _NOT_REPORTED),
    ConditionRow(
        "Degraded",
        "True",
        (query_failures.QUERY_FAILED, conditions.QUERY_RESTARTING, *missing_servers.REFUSED_CREDENTIALS),
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
