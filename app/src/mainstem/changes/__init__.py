"""Compares two documents, and what is in the checkpoints: what each change does to each query, before it is made.

Imports only the language. Never reads a checkpoint, never starts or stops anything.
"""

from mainstem.changes.checkpoint import CheckpointFacts
from mainstem.changes.comparison import compare
from mainstem.changes.verdict import Change, Effect, QueryVerdict, Verdict


__all__ = ["Change", "CheckpointFacts", "Effect", "QueryVerdict", "Verdict", "compare"]
