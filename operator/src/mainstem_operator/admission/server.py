"""The webhook's server: HTTPS, a bounded number of reviews, and an answer before the API server stops waiting."""

import asyncio
import json
import os
import ssl
from typing import Any, Final

import structlog
from aiohttp import web

from mainstem_operator.admission.certificates import Certificates
from mainstem_operator.admission.review import (
    Review,
    ReviewUnreadable,
    allowed,
    decision,
    not_checked,
    read,
)
from mainstem_operator.metrics import WEBHOOK_REVIEWS
from mainstem_operator.turns import FairTurns
from mainstem_operator.validation.worker_pool import Validators


PATH: Final = "/validate"
_PENDING: Final = 32
"""Reviews at a time, checked or waiting; for more the answer is that the document was not checked."""
_BODY_BYTES: Final = 8 << 20
"""More than two objects of the largest size that etcd stores."""
_DEFAULT_SECONDS: Final = 5.0
_MARGIN: Final = 0.8
"""Part of the API server's timeout in which the answer is sent."""


class ServerTls:
    """The TLS context of the server. A new certificate serves from the next connection on, without a restart."""

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.serving: Certificates | None = None
        """The certificate of the server; None before the first one."""

    def load(self, certificates: Certificates) -> None:
        """Serve with this certificate. The key never gets onto a disk.

        Raises:
            OSError: it is not a certificate with its key; the server keeps the one that it has.
        """
        if certificates == self.serving:
            return
        file = os.memfd_create("webhook-certificate")
        try:
            os.write(file, b"\n".join((certificates.certificate, certificates.key)))
            path = f"/proc/self/fd/{file}"
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                path
            )  # the context keeps what it has if this fails
            self.context.load_cert_chain(path)
        finally:
            os.close(file)
        self.serving = certificates


class AdmissionServer:
    """Answers the API server's reviews of StreamingPipelines.

    At most one of the two validation processes works for reviews, so that they never delay the operator. Namespaces take turns.
    """

    def __init__(self, validators: Validators, tls: ServerTls) -> None:
        self._validators = validators
        self._tls = tls
        self._turns = FairTurns(1, each=1)
        self._pending: set[asyncio.Task[dict[str, Any]]] = set()
        self._log = structlog.get_logger(component="webhook")

    async def start(self, port: int, host: str = "0.0.0.0") -> web.AppRunner:  # noqa: S104 - the API server calls the pod
        """Listen on this port; `cleanup` of the result ends it."""
        app = web.Application(client_max_size=_BODY_BYTES)
        app.add_routes([web.post(PATH, self._respond)])
        runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, host, port, ssl_context=self._tls.context).start()
        return runner

    async def _respond(self, request: web.Request) -> web.Response:
        seconds = _seconds(request.query.get("timeout", "")) * _MARGIN
        try:
            review = read(json.loads(await request.read()))
        except (ReviewUnreadable, ValueError, RecursionError) as error:
            return web.Response(status=400, text=str(error))
        return web.json_response(await self.answer(review, seconds))

    async def answer(self, review: Review, seconds: float) -> dict[str, Any]:
        """The AdmissionReview with the response, within so many seconds."""
        if not review.needs_check:
            return allowed(review.uid)
        if len(self._pending) >= _PENDING:
            return _not_checked(review, "the operator checks too many other documents")
        clock = asyncio.get_running_loop()
        check = asyncio.create_task(self._check(review, clock.time() + seconds))
        self._pending.add(check)
        check.add_done_callback(self._pending.discard)
        # Not cancelled: that would end the validation process, which the operator needs too.
        done, _ = await asyncio.wait({check}, timeout=seconds)
        return check.result() if done else _not_checked(review, "the check takes too long")

    async def _check(self, review: Review, deadline: float) -> dict[str, Any]:
        try:
            async with self._turns.turn(review.namespace):
                if asyncio.get_running_loop().time() >= deadline:
                    return not_checked(review.uid, "the check takes too long")
                findings = await self._validators.findings(review.namespace, review.new)
                of_change = await self._warnings(review) if not findings.problems else ()
        except Exception as error:  # noqa: BLE001 - no error of the webhook may reject a document
            self._log.error("the webhook cannot check a document", namespace=review.namespace, error=error)
            return _not_checked(review, "the validation process has failed")
        answer = decision(review, findings.problems, (*of_change, *findings.warnings))
        WEBHOOK_REVIEWS.labels(result="allowed" if answer["response"]["allowed"] else "denied").inc()
        return answer

    async def _warnings(self, review: Review) -> tuple[str, ...]:
        if review.old is None:
            return ()
        warnings = await self._validators.change_warnings(review.namespace, review.old, review.new)
        return (
            ("the change was not compared: the documents are too complex",) if warnings is None else warnings
        )


def _not_checked(review: Review, why: str) -> dict[str, Any]:
    WEBHOOK_REVIEWS.labels(result="not_checked").inc()
    return not_checked(review.uid, why)


def _seconds(timeout: str) -> float:
    """The API server's timeout, which it sends as `5s`."""
    try:
        seconds = float(timeout.removesuffix("s"))
    except ValueError:
        return _DEFAULT_SECONDS
    return seconds if 1.0 <= seconds <= 30.0 else _DEFAULT_SECONDS
