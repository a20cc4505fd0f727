"""Decides which of several operators may write, from their Leases; pure.

An operator works on pipelines only while it holds the Lease of its scope (the namespaces that it watches), and while no
overlapping scope has a live Lease. A Lease is live as in client-go: while it changes within its own duration, by the clock of the
reader. Times that the holder wrote are not compared with anything.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mainstem.names import GROUP


DURATION_SECONDS: Final = 15
"""After so long without a change a waiting operator takes a Lease."""
RENEW_SECONDS: Final = 10.0
"""After so long without a renewal the holder stops writing: before another operator may begin."""
RETRY_SECONDS: Final = 2.0
"""How often the holder renews its Lease, and waiting operators read it."""
NAMESPACES: Final = f"{GROUP}/namespaces"
"""Annotation: the namespaces of the scope, separated by commas; empty for all."""
RELEASE: Final = f"{GROUP}/release"
"""Annotation: the release to which the holder belongs, as `namespace/name`."""
_NAME: Final = "mainstem-operator"

LABELS: Final = {
    "app.kubernetes.io/name": "mainstem",
    "app.kubernetes.io/component": "lease",
    "app.kubernetes.io/managed-by": _NAME,
}
"""Labels of all Leases of Mainstem."""


def lease_name(namespaces: Iterable[str]) -> str:
    """The name of a scope's Lease: one name for all namespaces, one for each set of namespaces. The chart computes the same.

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
        identity: a text that no other process has.
        release: the installation that it belongs to, `namespace/name`, empty if there is none.
        namespaces: the namespaces that it watches; empty for all.
    """

    identity: str
    release: str
    namespaces: tuple[str, ...]

    @property
    def lease(self) -> str:
        """The name of its Lease."""
        return lease_name(self.namespaces)


class LeaseRecord(NamedTuple):
    """The content of a Lease.

    Attributes:
        name: the name of the Lease.
        holder: identity of the operator that holds it; empty if it was released.
        release, namespaces: those of the holder.
        seconds: how long it lasts without a renewal.
        transitions: how often its holder has changed.
        acquired: when its holder took it, by the holder's clock; for people.
        version: the Lease's resource version, which changes with each write.
    """

    name: str
    holder: str
    release: str
    namespaces: tuple[str, ...]
    seconds: float
    transitions: int
    acquired: str
    version: str

    def overlaps(self, candidate: Candidate) -> bool:
        """True if both may manage the same pipeline."""
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
        acquired=spec.get("acquireTime") or "",
        version=about["resourceVersion"],
    )


@dataclass
class LeaseObserver:
    """Observes when each Lease last changed, by the reader's clock."""

    _changed: dict[str, tuple[str, float]] = field(default_factory=dict)

    def is_live(self, lease: LeaseRecord, now: float) -> bool:
        """True if the Lease has a holder and has changed within its duration."""
        version, since = self._changed.get(lease.name, ("", now))
        if version != lease.version:
            since = now
            self._changed[lease.name] = lease.version, now
        return bool(lease.holder) and now - since < lease.seconds


class Decision(NamedTuple):
    """What to do next.

    Attributes:
        take: True if the candidate writes the Lease, as its first or next holder.
        own: the Lease as it is; None if it does not exist.
        blocker: the live Lease of another operator, which must end first.
    """

    take: bool
    own: LeaseRecord | None = None
    blocker: LeaseRecord | None = None


def decide(leases: Sequence[LeaseRecord], live: Iterable[str], candidate: Candidate) -> Decision:
    """Take the Lease, or wait for another operator.

    Args:
        leases: all Leases of Mainstem.
        live: names of the live ones.
        candidate: the operator that asks.
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
    # The Lease of the own scope first: a replica on standby reports its sibling, and no other release.
    blocker = min(others, key=lambda lease: (lease.name != candidate.lease, lease.name))
    return Decision(take=False, own=own, blocker=blocker)


def manifest(
    candidate: Candidate, namespace: str, before: LeaseRecord | None, now: str, *, is_held: bool = True
) -> dict[str, Any]:
    """The manifest of the Lease: taken, renewed or released.

    Args:
        candidate: the operator that writes.
        namespace: the namespace of the Lease.
        before: the Lease as it is; the write fails if another operator has changed it.
        now: the time in the format of Kubernetes with microseconds, for people.
        is_held: False releases it.
    """
    same = before is not None and before.holder == candidate.identity
    transitions = 0 if before is None else before.transitions + (0 if same or not is_held else 1)
    acquired = before.acquired if before is not None and same and is_held else ""
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
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": transitions,
        },
    }
