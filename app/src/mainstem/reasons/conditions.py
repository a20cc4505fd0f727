"""Reasons of conditions and of how a driver ended, if somebody has to look them up."""

from typing import Final

from mainstem.reasons.reason import Exit, Origin, Reason


PATH_NOT_MOUNTED: Final = Reason(
    "PathNotMounted",
    "A source, sink, schema or jar has a path on the pod's own disk. Data needs `s3a://`, or a volume "
    "that each pod of the pipeline mounts. Schemas and jars may also be in the image, but not in the "
    "folders that Kubernetes and Mainstem give a pod.",
    "Use `s3a://`. Or mount a volume there, by `driver.template` and, with executors, `executors.template`.",
)
CHECKPOINT_NOT_DURABLE: Final = Reason(
    "CheckpointNotDurable",
    "`checkpoints.location` is on the pod's own disk and would be lost with the pod.",
    "Use `s3a://`. Or mount a persistent volume there, by `driver.template` and, with executors, "
    "`executors.template`.",
)
POD_REFUSED: Final = Reason(
    "PodRefused",
    "The API server rejects the driver pod: a quota, pod security, a webhook, an unknown field, or a "
    "namespace that is being deleted. The message quotes the API server.",
    "Follow the message. The operator asks again each minute and at each change of the document. A "
    "running driver continues.",
)
NAME_TAKEN: Final = Reason(
    "NameTaken",
    "An object that this pipeline does not own has a [name that the pipeline needs](#a-name-is-taken). "
    "The message names kind and object. The operator neither changes nor deletes it.",
    "Delete the object if nobody needs it, or give the pipeline another name. The operator asks again "
    "each minute. A running driver continues.",
)
START_FAILED: Final = Reason(
    "StartFailed",
    "The API server did not create the driver pod, or an object that it needs. The document is not the "
    "cause: a webhook does not answer, or the server is overloaded. The message quotes the server.",
    "Run `kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`, and look at the "
    "pods of the webhook that the message names. The operator tries again by itself, at least once a "
    "minute.",
)
DRIVER_UNSCHEDULABLE: Final = Reason(
    "DriverUnschedulable",
    "No node accepts the driver pod; the message quotes the scheduler. After `Driver` another reason of "
    "the scheduler can follow.",
    "Check `driver.resources.requests`, selectors, tolerations, and volumes that are bound elsewhere. Or "
    "add nodes.",
    origin=Origin.KUBERNETES,
)
IMAGE_PULL_BACK_OFF: Final = Reason(
    "ImagePullBackOff",
    "The kubelet cannot pull the image.",
    "Check name and tag, and `imagePullSecrets`. In a test cluster load it (`make cluster-load`).",
    origin=Origin.KUBERNETES,
)
ERR_IMAGE_PULL: Final = IMAGE_PULL_BACK_OFF.also("ErrImagePull")
ERR_IMAGE_NEVER_PULL: Final = Reason(
    "ErrImageNeverPull",
    "The pull policy is `Never`, and the node does not have the image.",
    "Load the image on every node, or choose another policy.",
    origin=Origin.KUBERNETES,
)
INVALID_IMAGE_NAME: Final = Reason(
    "InvalidImageName",
    "The image has an invalid name.",
    "Correct `spec.image`, or the chart's `driver.image`.",
    origin=Origin.KUBERNETES,
)
FAILED_MOUNT: Final = Reason(
    "FailedMount",
    "The kubelet cannot mount a Secret, ConfigMap or volume; the message names it.",
    "Create it. The kubelet tries again by itself, after two minutes at most.",
    origin=Origin.KUBERNETES,
)
FAILED_ATTACH_VOLUME: Final = Reason(
    "FailedAttachVolume",
    "The node cannot attach a volume, or cannot create a sandbox for the pod.",
    "Check the node: storage driver, network plug-in, container runtime.",
    origin=Origin.KUBERNETES,
)
FAILED_CREATE_POD_SAND_BOX: Final = FAILED_ATTACH_VOLUME.also("FailedCreatePodSandBox")
CREATE_CONTAINER_CONFIG_ERROR: Final = Reason(
    "CreateContainerConfigError",
    "The kubelet cannot configure the container. Often a Secret or ConfigMap that a pod template names, "
    "or one of its keys, does not exist.",
    "Create it. The kubelet tries again by itself.",
    origin=Origin.KUBERNETES,
)
CREATE_CONTAINER_ERROR: Final = Reason(
    "CreateContainerError",
    "The node could not create or start the container.",
    "Read the message; check mounts and commands of the template, and the node.",
    origin=Origin.KUBERNETES,
)
CONTAINER_CANNOT_RUN: Final = CREATE_CONTAINER_ERROR.also("ContainerCannotRun")
START_ERROR: Final = CREATE_CONTAINER_ERROR.also("StartError")
DRIVER_STARTING: Final = Reason(
    "DriverStarting",
    "The pipeline is starting.",
    "Wait. If it does not end, read the driver's log. The message of `QueriesStarting` names the queries "
    "without a first batch.",
)
QUERIES_STARTING: Final = DRIVER_STARTING.also("QueriesStarting")
NOT_YET_REPORTED: Final = DRIVER_STARTING.also("NotYetReported")
NOT_YET_KNOWN: Final = DRIVER_STARTING.also("NotYetKnown")
DRIVER_LOST: Final = Reason(
    "DriverLost",
    "The driver pod no longer exists, and the operator did not see how it ended: the node died, or "
    "somebody ran `kubectl delete --force`.",
    "Do nothing; the operator starts it again.",
)
ROLLED_BACK: Final = Reason(
    "RolledBack",
    "The changed document failed, and the last healthy revision runs in its place. The message shows both revisions, and "
    "why the changed one failed: the reason of the query, the driver or the pod.",
    "Look up the reason in the message, and correct the document. Mainstem does not try the failed revision again until the "
    "document or `restartNonce` changes. To keep the healthy revision, undo the change.",
)
ROLLBACK_NOT_POSSIBLE: Final = Reason(
    "RollbackNotPossible",
    "The changed document failed, and Mainstem cannot return to the last healthy revision. A query has committed a batch "
    "with the changed document, and would misread its checkpoint with the earlier one. Or the earlier document does not exist.",
    "Correct the document. Or go back by hand: the earlier document with a higher `checkpoint.generation` for that query.",
)
NODE_SILENT: Final = Reason(
    "NodeSilent",
    "The driver pod still exists half a minute after its grace period, because its node is down or unreachable. "
    "If the checkpoints are on S3 with conditional writes, the operator deletes the pod by force and "
    "starts the next driver. The older driver can no longer write. Otherwise the operator starts no other driver.",
    "With checkpoints on S3 do nothing. Otherwise run `kubectl get node`. If the node comes back, do nothing. Once you "
    "are sure that it is down: `kubectl delete pod P-driver --force`, or set the taint "
    "`node.kubernetes.io/out-of-service`.",
)
OOM_KILLED: Final = Reason(
    "OOMKilled",
    "The driver exceeded its memory limit.",
    "Raise `driver.resources.limits.memory`, lower `driver.heap` to leave more to Python and RocksDB, or "
    "use smaller batches.",
    origin=Origin.KUBERNETES,
)
EVICTED: Final = Reason(
    "Evicted",
    "The kubelet ended the driver pod.",
    "Do nothing; the operator starts it again. If it happens often: set requests as high as limits, set a"
    " priority class, or free space on the node's disk.",
    origin=Origin.KUBERNETES,
)
PREEMPTING: Final = EVICTED.also("Preempting")
NODE_SHUTDOWN: Final = EVICTED.also("NodeShutdown")
DEADLINE_EXCEEDED: Final = EVICTED.also("DeadlineExceeded")
KILLED: Final = Reason(
    "Killed",
    "The driver was killed before it could report why.",
    "Read its log and the node's. The pod's events show a failed liveness probe.",
)
ERROR: Final = Reason(
    "Error",
    "The driver ended without a message; the exit code is in `lastTermination`.",
    "Read its log. The pod stays until the next start.",
)
NOT_READY: Final = ERROR.also("NotReady")
INTERNAL_ERROR: Final = Reason(
    "InternalError",
    "Mainstem has a bug.",
    "Report it with the stack trace from the log.",
    exit_code=Exit.INTERNAL,
)
QUERY_WAITING: Final = Reason(
    "QueryWaiting",
    "A topic, folder or table that a query reads does not exist. The message shows which, and since when "
    "the query waits.",
    "Create it, or correct its name in the document.",
)
QUERY_RESTARTING: Final = Reason(
    "QueryRestarting",
    "A query failed, and the driver restarts it.",
    "Read its reason in `status.queries`.",
)
EXECUTORS_UNSCHEDULABLE: Final = Reason(
    "ExecutorsUnschedulable",
    "Executors are missing; the message quotes the scheduler or the kubelet. The queries run on the "
    "executors that exist; without any they wait.",
    "Check `executors.resources.requests`, selectors and quotas. Add nodes, or lower `instances`.",
)
EXECUTOR_OOM_KILLED: Final = Reason(
    "ExecutorOOMKilled",
    "An executor exceeded the memory limit of its container, and was killed; the message has the limit. "
    "Its tasks run again. The checkpoint is intact.",
    "Raise `executors.resources.limits.memory`, lower `executors.heap` to leave more to Python and "
    "RocksDB, or use smaller batches.",
)
EXECUTOR_OUT_OF_MEMORY: Final = Reason(
    "ExecutorOutOfMemory",
    "An executor used up its Java heap (exit code 52). Its tasks run again.",
    "Raise `executors.heap` or `executors.resources.limits.memory`, or use smaller batches or more "
    "shuffle partitions.",
)
DRIVER_NOT_REPORTING: Final = Reason(
    "DriverNotReporting",
    "The driver pod runs and has not written its status for three minutes. The queries may be healthy.",
    "Ask `/status` of the driver. Read its log: permissions (`ApiServerForbids`), network policies, a node "
    "that is cut off.",
)
NO_PROGRESS: Final = Reason(
    "NoProgress",
    "The batch of a running query takes ten minutes longer than the one before, or the first batch after "
    "a start takes ten minutes. The batch is very long, or it hangs.",
    "Look at the stage and its tasks in Spark's UI; check whether a store or broker is slow. If nothing "
    "moves, run `kubectl delete pod P-driver`. With `restart.onStall: restart` the driver restarts such a query by itself.",
)
SUSPENDING: Final = Reason(
    "Suspending",
    "The operator is stopping the driver, which ends its batches.",
    "Wait for `drain.timeout` and a minute. If it takes longer, the node does not answer: see "
    "[limits](cluster.md#limits).",
)
UPDATING: Final = SUSPENDING.also("Updating")
APPLYING: Final = Reason(
    "Applying",
    "The running driver takes a changed document over: it builds the changed queries, and replaces each at the end of a "
    "batch. The other queries run on.",
    "Wait a minute. After that the reason is `NotAnswered`.",
)
NOT_ANSWERED: Final = Reason(
    "NotAnswered",
    "The running driver has had a changed document for more than a minute, and has neither applied nor refused it, or it has not"
    " reported since its start: it is very busy, it hangs, or it does not reach the API server. It continues to run"
    " the document before, because no other driver has checked the changed one.",
    "Wait, or look at the driver's log. If the driver hangs, delete its pod: the next driver starts with the document before, and"
    " gets the changed one once a query runs. To start one with the changed document, which none has checked, set `suspend: true`, and"
    " `false` once the phase is `Suspended`.",
)
NEVER_ANSWERED: Final = Reason(
    "NeverAnswered",
    "Two drivers in a row had the changed document, and failed before they had applied or refused it. Its "
    "check may be what ends "
    "them, so the driver that runs now continues with the document before, and does not get the changed one.",
    "Look at `status.lastTermination` and at the log of the previous driver, and change the document. Another `spec.restartNonce` "
    "lets a driver try it again. If the document before is at fault, set `suspend: true`, and `false` once the phase is `Suspended`: a "
    "driver starts with the changed document, which none has checked.",
)
NEW_DRIVER_NEEDED: Final = Reason(
    "NewDriverNeeded",
    "A running driver cannot apply the changed document: only a new driver can. The message names the fields. "
    "The operator replaces the driver; `mainstem run --watch` continues with the document before.",
    "On a machine end the run and start it again.",
)
DRAINING: Final = SUSPENDING.also("Draining")
DELETING: Final = SUSPENDING.also("Deleting")
