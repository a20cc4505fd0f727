"""The election: it waits for the Lease of this operator's namespaces, takes, renews and releases it, and reports the holder.

A holder that cannot renew in time, for example without a connection to the API server, writes nothing. It continues once it
can renew, if no other operator has taken the Lease meanwhile. Otherwise it is superseded for good: its state is old.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from random import uniform
from typing import Final

import structlog
from mainstem import reasons
from mainstem.logs import error_text

from mainstem_operator.api.fence import Fence, clock
from mainstem_operator.api.kubernetes_api import LEASE, NO_ANSWER, ApiError, KubernetesApi, Object
from mainstem_operator.leadership.lease import (
    LABELS,
    RENEW_SECONDS,
    RETRY_SECONDS,
    Candidate,
    Decision,
    LeaseObserver,
    LeaseRecord,
    decide,
    lease_record,
    manifest,
)
from mainstem_operator.metrics import LEADER


_RELEASE_SECONDS: Final = 3.0
"""How long an operator that ends tries to release its Lease."""


class Election:
    """One operator's part in the election. `is_holder` is set once it may write, `is_superseded` once it never may again."""

    def __init__(self, cluster: KubernetesApi, candidate: Candidate, namespace: str, fence: Fence) -> None:
        self._cluster = cluster
        self._candidate = candidate
        self._namespace = namespace
        self._fence = fence
        self._lease_observer = LeaseObserver()
        self._own: LeaseRecord | None = None
        self._log = structlog.get_logger(component="election")
        self.blocker: LeaseRecord | None = None
        self.trouble = "the operator has not read the Leases yet"
        self.is_holder = asyncio.Event()
        self.is_superseded = asyncio.Event()

    @property
    def problem(self) -> str:
        """Why this operator is not ready: another release manages its pipelines, or the operator cannot use the Leases.

        Empty if it holds the Lease, or waits for another replica of its own release.
        """
        if self._fence.is_open:
            return ""
        if self.trouble or self.is_holder.is_set():
            return f"LeaseUnavailable: {self.trouble or 'the operator could not renew its Lease in time'}"
        blocker = self.blocker
        if blocker is None:
            return "LeaseUnavailable: the operator is just taking its Lease"
        if blocker.release == self._candidate.release:
            return ""
        return f"AnotherOperatorHolds: {described(blocker)}"

    async def run(self) -> None:
        """Wait for the Lease, then keep it; return once another operator has it."""
        while not await self._answered(self._take, RENEW_SECONDS):
            await self._pause()
        self.is_holder.set()
        self._log.info(
            "the operator holds the Lease", lease=self._candidate.lease, identity=self._candidate.identity
        )
        while not self.is_superseded.is_set():
            LEADER.set(1 if self._fence.is_open else 0)
            await asyncio.sleep(min(RETRY_SECONDS, self._fence.seconds_left or RETRY_SECONDS))
            if left := self._fence.seconds_left:
                await self._answered(self._renew, left)
            else:
                await self._answered(self._take_again, RENEW_SECONDS)
        LEADER.set(0)

    async def release(self) -> None:
        """Release the Lease, so that the next operator takes it at once; no write follows."""
        self._fence.close()
        if self._own is None or not self.is_holder.is_set() or self.is_superseded.is_set():
            return
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                await self._cluster.replace(self._manifest(self._own, is_held=False))
        except (ApiError, *NO_ANSWER) as error:
            self._log.warning("the operator could not release the Lease", error=error)

    async def _pause(self) -> None:
        """Wait for the next look, for a random time: two operators that were in conflict should not be so again."""
        await asyncio.sleep(RETRY_SECONDS * uniform(0.8, 1.2))  # noqa: S311 - no secret

    async def _answered(self, step: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        """The result of the step; False if the API server does not answer within so many seconds, and `trouble` has the error."""
        try:
            async with asyncio.timeout(seconds):
                done = await step()
        except Exception as error:  # noqa: BLE001 - no error may end the election
            if error_text(error) != self.trouble:
                self._log.error(
                    "the operator waits",
                    reason=reasons.LEASE_UNAVAILABLE,
                    namespace=self._namespace,
                    error=error,
                )
            self.trouble = error_text(error)
            return False
        self.trouble = ""
        return done

    async def _take(self) -> bool:
        decision = await self._decided()
        self._report(decision)
        if not decision.take:
            return False
        started = clock()
        if not await self._written(decision.own):
            return False
        # An operator whose namespaces overlap may have taken its Lease at the same moment: one of the two sees the other now.
        again = await self._decided()
        if not again.take:
            self._report(again)
            assert self._own is not None
            await self._cluster.replace(self._manifest(self._own, is_held=False))
            self._own = None
            return False
        self._fence.open(started + RENEW_SECONDS)
        return True

    async def _decided(self) -> Decision:
        objects = await self._cluster.list(LEASE, self._namespace, LABELS)
        now, leases = clock(), [lease_record(lease) for lease in objects]
        live = [lease.name for lease in leases if self._lease_observer.is_live(lease, now)]
        return decide(leases, live, self._candidate)

    async def _written(self, before: LeaseRecord | None) -> bool:
        """Write the Lease; True if this operator holds it now, False if another one was faster."""
        wanted = self._manifest(before)
        try:
            written = await (
                self._cluster.create(wanted) if before is None else self._cluster.replace(wanted)
            )
        except ApiError as error:
            if error.reason == "Conflict":
                return False
            raise
        if written is None:
            return False
        version = written["metadata"]["resourceVersion"]
        self._own = lease_record({**wanted, "metadata": {**wanted["metadata"], "resourceVersion": version}})
        return True

    async def _renew(self) -> bool:
        started = clock()
        if await self._written(self._own):
            self._fence.open(started + RENEW_SECONDS)
            return True
        return await self._take_again()

    async def _take_again(self) -> bool:
        """Take the Lease again if this operator still holds it: a renewal was late, or its answer was lost."""
        decision = await self._decided()
        if decision.take and (decision.own is None or decision.own.holder == self._candidate.identity):
            return await self._take()
        self._fence.close()
        self.is_superseded.set()
        return False

    def _manifest(self, before: LeaseRecord | None, *, is_held: bool = True) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return manifest(self._candidate, self._namespace, before, now, is_held=is_held)

    def _report(self, decision: Decision) -> None:
        """Log one line for each operator for which this one waits."""
        before, self.blocker = self.blocker, decision.blocker
        if self.blocker is None or (before is not None and before.holder == self.blocker.holder):
            return
        if self.blocker.release == self._candidate.release:
            self._log.info("the operator stands by", lease=self.blocker.name, holder=self.blocker.holder)
        else:
            self._log.warning(
                "the operator waits", reason=reasons.ANOTHER_OPERATOR_HOLDS, message=described(self.blocker)
            )


def described(lease: LeaseRecord) -> str:
    """A message: who holds a Lease, for which namespaces, and what to do."""
    scope = f"the namespaces {', '.join(lease.namespaces)}" if lease.namespaces else "all namespaces"
    release = f" of the release {lease.release}" if lease.release else ""
    return (
        f"{lease.holder}{release} holds the Lease {lease.name} and manages the pipelines of {scope}; "
        "this operator works on none. Uninstall one of the two, or give each its own namespaces"
    )
