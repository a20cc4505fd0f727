"""The Secret and the configuration of a webhook, as a test reads them."""

import base64

from apiserver.operatorbed import Bed
from kubernetes.client import AdmissionregistrationV1Api
from mainstem_operator.admission.certificates import Certificates


NAMESPACE = "default"
_BEGIN = b"-----BEGIN CERTIFICATE-----"


class WebhookObjects:
    """Both objects of one name; the Secret is in `NAMESPACE`."""

    def __init__(self, bed: Bed, name: str) -> None:
        self.bed, self.name = bed, name
        self.hooks = AdmissionregistrationV1Api(bed.client)

    def certificates(self) -> Certificates | None:
        """Those of the Secret."""
        secret = self.bed.core.read_namespaced_secret(self.name, NAMESPACE)
        return Certificates.of_secret({"data": secret.data})

    def trusted(self) -> set[bytes]:
        """The authorities that the API server trusts, each in PEM."""
        [hook] = self.hooks.read_validating_webhook_configuration(self.name).webhooks
        bundle = base64.b64decode(hook.client_config.ca_bundle or "")
        return {_BEGIN + each for each in bundle.split(_BEGIN)[1:]}
