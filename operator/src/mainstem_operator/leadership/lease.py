"""Who of several operators may write: what a Lease says, and what to do about it; pure.

An operator writes only while it holds the Lease of its scope (the namespaces that it watches), and while no other scope
that overlaps with it has a live one. Liveness is judged as client-go does: a Lease is live as long as it changes within its
own duration, by the clock of whoever looks; times that the holder wrote are compared with nothing.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple


DURATION_SECONDS: Final = 15
"""After so long without a change whoever waits takes a Lease."""
RENEW_SECONDS: Final = 10.0
"""After so long without a renewal its holder stops writing: before anybody else may begin."""
RETRY_SECONDS: Final = 2.0
"""How often the holder renews, and those who wait look."""
NAMESPACES: Final = "mainstem.dev/namespaces"
"""Annotation: the namespaces of the scope, separated by commas; empty for all."""
RELEASE: Final = "mainstem.dev/release"
"""Annotation: the release to which the holder belongs, as `namespace/name`."""
_NAME: Final = "mainstem-operator"

LABELS: Final = {
    "app.kubernetes.io/name": "mainstem",
    "app.kubernetes.io/component": "lease",
    "app.kubernetes.io/managed-by": _NAME,
}
"""By which all Leases of Mainstem are listed."""


def lease_name(namespaces: Iterable[str]) -> str:
    """The name of a scope's Lease: one for all namespaces, and one for each set of them. The chart computes the same.

    >>> lease_name([])
    'mainstem-operator'
    >>> lease_name(["b", "a"]) == lease_name(["a", "b"])
    True
    """
    scope = ",".join(sorted(set(namespaces)))
    return f"{_NAME}-{hashlib.sha256(scope.encode()).hexdigest()[:10]}" if scope else _NAME


class Candidate(NamedTuple):
    """An operator that wants to write.

    Attributes:
        identity: no other process has it.
        release: the installation that it belongs to, `namespace/name`, empty where there is none.
        namespaces: that it watches; empty for all.
    """

    identity: str
    release: str
    namespaces: tuple[str, ...]

    @property
    def lease(self) -> str:
        """The name of its Lease."""
        return lease_name(self.namespaces)


class LeaseRecord(NamedTuple):
    """What a Lease says.

    Attributes:
        name: of the Lease.
        holder: identity of the operator that has it; empty where it was released.
        release, namespaces: the holder's.
        seconds: how long it lasts without a renewal.
        transitions: how often its holder has changed.
        version: the Lease's resource version, another one after each write.
    """

    name: str
    holder: str
    release: str
    namespaces: tuple[str, ...]
    seconds: float
    transitions: int
    version: str

    def overlaps(self, candidate: Candidate) -> bool:
        """True where there may be a pipeline that both see to."""
        if not self.namespaces or not candidate.namespaces:
            return True
        return bool(set(self.namespaces) & set(candidate.namespaces))


def lease_record(lease: Mapping[str, Any]) -> LeaseRecord:
    """Read a Lease."""
    about, spec = lease["metadata"], lease.get("spec") or {}
    annotations = about.get("annotations") or {}
    return LeaseRecord(
        name=about["name"],
        holder=spec.get("holderIdentity") or "",
        release=annotations.get(RELEASE, ""),
        namespaces=tuple(part for part in annotations.get(NAMESPACES, "").split(",") if part),
        seconds=float(spec.get("leaseDurationSeconds") or DURATION_SECONDS),
        transitions=int(spec.get("leaseTransitions") or 0),
        version=about["resourceVersion"],
    )


@dataclass
class LeaseObserver:
    """When each Lease was last seen to change, by the clock of whoever looks."""

    _changed: dict[str, tuple[str, float]] = field(default_factory=dict)

    def is_live(self, lease: LeaseRecord, now: float) -> bool:
        """True where somebody holds the Lease, and has changed it within its duration."""
        version, since = self._changed.get(lease.name, ("", now))
        if version != lease.version:
            since = now
            self._changed[lease.name] = lease.version, now
        return bool(lease.holder) and now - since < lease.seconds


class Decision(NamedTuple):
    """What to do next.

    Attributes:
        take: True where the Lease is written, as its first or next holder.
        own: the Lease as it is; None where it has to be made.
        blocker: the live Lease of another operator, which has to go first.
    """

    take: bool
    own: LeaseRecord | None = None
    blocker: LeaseRecord | None = None


def decide(leases: Sequence[LeaseRecord], live: Iterable[str], candidate: Candidate) -> Decision:
    """Take the Lease, or wait for another operator.

    Args:
        leases: all of Mainstem's.
        live: names of those that are live.
        candidate: who asks.
    """
    alive = set(live)
    own = next((lease for lease in leases if lease.name == candidate.lease), None)
    others = [
        lease
        for lease in leases
        if lease.name in alive and lease.holder != candidate.identity and lease.overlaps(candidate)
    ]
    if not others:
        return Decision(take=True, own=own)
    # The one of the own scope first: the next in line after a sibling is told so, and not of somebody else.
    blocker = min(others, key=lambda lease: (lease.name != candidate.lease, lease.name))
    return Decision(take=False, own=own, blocker=blocker)


def manifest(
    candidate: Candidate, namespace: str, before: LeaseRecord | None, now: str, *, is_held: bool = True
) -> dict[str, Any]:
    """The Lease as it is to be written: taken or renewed, or released.

    Args:
        candidate: who writes.
        namespace: of the Lease.
        before: as it is; another writer's change makes the write fail.
        now: the time, as Kubernetes writes it with microseconds; for people.
        is_held: False releases it.
    """
    same = before is not None and before.holder == candidate.identity
    transitions = 0 if before is None else before.transitions + (0 if same or not is_held else 1)
    version = {} if before is None else {"resourceVersion": before.version}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": candidate.lease,
            "namespace": namespace,
            "labels": LABELS,
            "annotations": {NAMESPACES: ",".join(candidate.namespaces), RELEASE: candidate.release},
            **version,
        },
        "spec": {
            "holderIdentity": candidate.identity if is_held else "",
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": now,
            "leaseTransitions": transitions,
        },
    }
