"""`python -m mainstem_operator.selftest`: the checks of `helm test`, in a pod beside the operator.

The first check asks the operator whether it is healthy. The second one asks the API server in a dry run whether it accepts a
pipeline; it creates nothing.
"""

import json
import os
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mainstem import reasons
from mainstem.errors import MainstemError
from mainstem.names import API_VERSION, KIND, PLURAL


ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PIPELINE: Final = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "metadata": {"generateName": "selftest-"},
    "spec": {
        "sources": [{"name": "ticks", "rate": {}}],
        "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": "s3a://checkpoints/selftest"},
        "suspend": True,
    },
}
_SECONDS: Final = 10


class SelftestFailed(MainstemError):
    """A check has failed: something that pipelines need does not work."""


@dataclass(frozen=True)
class SelftestApi:
    """The connection of a pod to the API server.

    Attributes:
        url: the URL of the server, without a slash at the end.
        namespace: the namespace of the pod.
        token: the token of the pod's service account.
        tls: the TLS settings that trust the server.
    """

    url: str
    namespace: str
    token: str
    tls: ssl.SSLContext

    @classmethod
    def from_pod(cls, environment: Mapping[str, str], account: Path = ACCOUNT) -> "SelftestApi":
        """Read the variables and files that Kubernetes puts into every pod.

        :raises SelftestFailed: outside a pod.
        """
        try:
            host = environment["KUBERNETES_SERVICE_HOST"]
            return cls(
                f"https://{f'[{host}]' if ':' in host else host}:{environment['KUBERNETES_SERVICE_PORT']}",
                (account / "namespace").read_text(encoding="utf-8").strip(),
                (account / "token").read_text(encoding="utf-8").strip(),
                ssl.create_default_context(cafile=account / "ca.crt"),
            )
        except (KeyError, OSError) as error:
            raise SelftestFailed(
                f"the self-test does not run in a pod with a service account: {error}",
                reason=reasons.NOT_IN_A_POD,
                remedy="run it with `helm test`",
            ) from None

    def call(self, path: str, body: Any = None) -> Any:
        """Send GET, or POST where there is a body, and return the JSON of the answer.

        :raises SelftestFailed: if the server rejects the request or does not answer.
        """
        request = urllib.request.Request(  # noqa: S310 - https, from the pod's own environment
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS, context=self.tls) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise SelftestFailed(_message(error), reason=reasons.API_SERVER_REFUSED) from None
        except OSError as error:
            raise SelftestFailed(
                f"the API server at {self.url} does not answer: {error}",
                reason=reasons.OPERATOR_API_SERVER_UNREACHABLE,
            ) from None


def pipeline_is_taken(api: SelftestApi) -> str:
    """Create a small pipeline in a dry run that rejects unknown fields, and return a line for the result.

    :raises SelftestFailed: with the API server's message.
    """
    path = f"/apis/{API_VERSION}/namespaces/{api.namespace}/{PLURAL}"
    api.call(f"{path}?dryRun=All&fieldValidation=Strict", _PIPELINE)
    return "the API server accepts pipelines"


def operator_answers(api: SelftestApi, selector: str, port: int) -> str:
    """Ask the operator's pods for their health, and return a line for the result.

    :raises SelftestFailed: if no pod runs, or if one is not healthy.
    """
    query = urllib.parse.urlencode({"labelSelector": selector})
    pods = api.call(f"/api/v1/namespaces/{api.namespace}/pods?{query}")["items"]
    addresses = {
        pod["metadata"]["name"]: address
        for pod in pods
        if (address := pod["status"].get("podIP")) and "deletionTimestamp" not in pod["metadata"]
    }
    if not addresses:
        raise SelftestFailed(
            f"no pod {selector} runs in the namespace {api.namespace}",
            reason=reasons.OPERATOR_NOT_RUNNING,
            remedy="run `kubectl describe` on the operator's Deployment and pods",
        )
    return "; ".join(_health(name, address, port) for name, address in addresses.items())


def _health(pod: str, address: str, port: int) -> str:
    url = f"http://{f'[{address}]' if ':' in address else address}:{port}/healthz"
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS):
            return f"the operator {pod} is healthy"
    except urllib.error.HTTPError as error:
        with error:
            why = f"answers {error.code} at {url}: {error.read(1024).decode(errors='replace')}"
    except OSError as error:
        why = f"does not answer at {url}: {error}"
    raise SelftestFailed(
        f"the operator {pod} {why}", reason=reasons.OPERATOR_UNHEALTHY, remedy=f"run `kubectl logs {pod}`"
    )


def _message(error: urllib.error.HTTPError) -> str:
    try:
        message = json.load(error)["message"]
    except (ValueError, KeyError, TypeError):
        message = error.reason
    return f"the API server answers {error.code} to {error.geturl()}: {message}"


def main(environment: Mapping[str, str], account: Path = ACCOUNT) -> int:
    """Run both checks, print a line for each, return 1 if one failed.

    `SELFTEST_SELECTOR` selects the operator's pods by their labels, `SELFTEST_PORT` is the port of their health endpoint.
    """
    selector, port = environment["SELFTEST_SELECTOR"], int(environment["SELFTEST_PORT"])
    try:
        api = SelftestApi.from_pod(environment, account)
    except SelftestFailed as error:
        return _failed(error)
    failed = 0
    try:
        _passed(operator_answers(api, selector, port))
    except SelftestFailed as error:
        failed = _failed(error)
    try:
        _passed(pipeline_is_taken(api))
    except SelftestFailed as error:
        failed = _failed(error)
    return failed


def _passed(line: str) -> None:
    sys.stdout.write(f"ok      {line}\n")


def _failed(error: SelftestFailed) -> int:
    sys.stdout.write(f"FAILED  {error}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(os.environ))
