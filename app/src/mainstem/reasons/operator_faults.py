"""Reasons of an operator that does not start or is not healthy, and of `helm test`."""

from typing import Final

from mainstem.reasons.reason import Reason


SETTING_INVALID: Final = Reason(
    "SettingInvalid",
    "An environment variable of the operator is missing or has an invalid value; the message names it.",
    "Correct the chart's values; `helm get values` shows them.",
)
DEFINITION_MISSING: Final = Reason(
    "DefinitionMissing",
    "The cluster does not know `StreamingPipeline`.",
    "Run `kubectl apply --server-side -f k8s/crd`, or upgrade the chart with `crd.install`.",
)
DEFINITION_TOO_OLD: Final = Reason(
    "DefinitionTooOld",
    "The cluster's definition is older than the operator.",
    "Do the same as for `DefinitionMissing`.",
)
DEFINITION_UNREADABLE: Final = Reason(
    "DefinitionUnreadable",
    "The API server does not let the operator read the definition; the message quotes it.",
    "Give the operator the permissions: install the chart with `rbac.create`.",
)
NO_CLUSTER: Final = Reason(
    "NoCluster",
    "The operator has neither a pod with a service account nor a kubeconfig.",
    "Run it in a pod with a service account, or set `KUBECONFIG`.",
)
ANOTHER_OPERATOR_HOLDS: Final = Reason(
    "AnotherOperatorHolds",
    "An operator of another release manages the same pipelines; the message names it. This operator "
    "works on no pipeline, and its pod is not ready.",
    "Uninstall one of the two, or give each its own `watchNamespaces`.",
)
LEASE_UNAVAILABLE: Final = Reason(
    "LeaseUnavailable",
    "The operator cannot read or write its Lease, and works on no pipeline. The message quotes the API server.",
    "Give it permissions in `lease.namespace`: install the chart with `rbac.create`. If nobody may write into "
    "`kube-system`, set another `lease.namespace`, the same for all releases.",
)
LEASE_LOST: Final = Reason(
    "LeaseLost",
    "Another operator took the Lease while this one hung or had no connection. This operator starts again"
    " and stands by.",
    "Do nothing. If it happens often, check the CPU limits of the operator and its node's network.",
)
WEBHOOK_CERTIFICATE_UNAVAILABLE: Final = Reason(
    "WebhookCertificateUnavailable",
    "The operator cannot read or renew the certificate of the admission webhook; the message names the object. "
    "Until the certificate ends, the webhook answers with the one that it has. Without one, the replica is not ready, the API server "
    "stores documents unchecked, and the operator checks them afterwards. With `webhook.failurePolicy: Fail` it rejects them.",
    "If the object does not exist or the operator has no rights to it, run `helm upgrade`. With cert-manager, look at "
    "`kubectl describe certificate` in the operator's namespace. `webhook.enabled: false` removes the webhook.",
)
OPERATOR_NOT_RUNNING: Final = Reason(
    "OperatorNotRunning",
    "`helm test` found no pod of the operator.",
    "Run `kubectl describe` on its Deployment and pods: image, quota, pod security.",
)
OPERATOR_UNHEALTHY: Final = Reason(
    "OperatorUnhealthy",
    "The operator's `/healthz` reports an error or does not answer. Its event loop hangs, or one step of "
    "a pipeline has exceeded its own time limit.",
    "Read its log. The kubelet restarts it by itself.",
)
API_SERVER_REFUSED: Final = Reason(
    "ApiServerRefused",
    "The API server rejected a request of `helm test`; the message quotes it.",
    "Check the permissions, and whether the definition is the chart's.",
)
OPERATOR_API_SERVER_UNREACHABLE: Final = Reason(
    "ApiServerUnreachable",
    "The API server does not answer.",
    "Check network policies: `networkPolicy.apiServerPorts`.",
)
NOT_IN_A_POD: Final = Reason(
    "NotInAPod",
    "Somebody started the command of `helm test` outside a pod.",
    "Run `helm test`.",
)
