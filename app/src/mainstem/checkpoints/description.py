"""The content of checkpoints for `mainstem checkpoint ls` and `show`, as JSON."""

from typing import Any, Final

from mainstem.checkpoints import entries, requirements, state_files, times
from mainstem.checkpoints.damage.verification import restart
from mainstem.checkpoints.entries import Operator, Plan, StateStore
from mainstem.checkpoints.finding import Checkpoint
from mainstem.checkpoints.layout import Layout, state_folder


_UNREADABLE: Final = (ValueError, KeyError, TypeError, FileNotFoundError)
"""Errors of a file that is broken, or that a running driver has just removed."""


def summary(checkpoint: Checkpoint) -> dict[str, Any]:
    """One checkpoint in a list."""
    layout = checkpoint.layout
    is_stream = layout.is_stream
    operators = requirements.operators(checkpoint.folder, layout)
    return {
        "query": checkpoint.query,
        "generation": checkpoint.generation,
        "path": str(checkpoint.folder),
        "kind": "stream" if is_stream else "runs once",
        "committed": layout.last_committed if is_stream else max(layout.runs, default=None),
        "pending": layout.pending if is_stream else None,
        "changedAt": times.iso(layout.modified or 0),
        "files": len(layout.files),
        "bytes": layout.size,
        "operators": [operator.name for operator in operators],
        "owner": _owner(checkpoint),
    }


def details(checkpoint: Checkpoint) -> dict[str, Any]:
    """Everything about one checkpoint."""
    layout, folder = checkpoint.layout, checkpoint.folder
    operators = requirements.operators(folder, layout)
    kept = requirements.kept_batches(layout, operators)
    newest = _plan(checkpoint, layout.last_committed)
    return summary(checkpoint) | {
        "queryId": _id(checkpoint),
        "restart": restart(layout),
        "watermark": times.iso(_watermark(checkpoint) or (newest.watermark if newest else 0)),
        "canGoBackTo": [{"batch": batch, "plannedAt": _planned_at(checkpoint, batch)} for batch in kept],
        "offsets": newest.ends if newest else {},
        "pendingOffsets": _pending(checkpoint),
        "provider": newest.conf.get(entries.PROVIDER, "").rpartition(".")[2]
        if newest and operators
        else None,
        "state": [_operator(checkpoint, layout, operator) for operator in operators],
    }


def planned_at(checkpoint: Checkpoint) -> dict[int, int]:
    """When each committed batch was planned; batches whose plan cannot be read are left out."""
    plans = {batch: _plan(checkpoint, batch) for batch in checkpoint.layout.committed}
    return {batch: plan.planned_at for batch, plan in plans.items() if plan}


def _owner(checkpoint: Checkpoint) -> dict[str, Any] | None:
    if checkpoint.owner is None:
        return {"problem": checkpoint.owner_problem} if checkpoint.owner_problem else None
    owner = checkpoint.owner
    return {
        "pipeline": owner.pipeline,
        "description": owner.description,
        "token": owner.token,
        "runsHere": checkpoint.is_running_here,
    }


def _plan(checkpoint: Checkpoint, batch: int | None) -> Plan | None:
    """The plan of a batch; None if there is none, or none that can be read."""
    if batch is None or batch not in checkpoint.layout.planned:
        return None
    try:
        return entries.plan(checkpoint.folder.text(f"offsets/{batch}"))
    except _UNREADABLE:
        return None


def _planned_at(checkpoint: Checkpoint, batch: int) -> str | None:
    plan = _plan(checkpoint, batch)
    return times.iso(plan.planned_at) if plan else None


def _pending(checkpoint: Checkpoint) -> dict[str, Any] | None:
    plan = _plan(checkpoint, checkpoint.layout.pending)
    return plan.ends if plan else None


def _watermark(checkpoint: Checkpoint) -> int:
    """The watermark that the last commit has set."""
    last = checkpoint.layout.last_committed
    try:
        return entries.commit(checkpoint.folder.text(f"commits/{last}")) if last is not None else 0
    except _UNREADABLE:
        return 0


def _id(checkpoint: Checkpoint) -> str | None:
    try:
        return entries.query_id(checkpoint.folder.text("metadata"))
    except _UNREADABLE:
        return None


def _operator(checkpoint: Checkpoint, layout: Layout, operator: Operator) -> dict[str, Any]:
    return {
        "operator": operator.number,
        "name": operator.name,
        "stores": [_store(checkpoint, layout, operator, store) for store in operator.stores],
    }


def _store(checkpoint: Checkpoint, layout: Layout, operator: Operator, store: StateStore) -> dict[str, Any]:
    folders = [state_folder(operator.number, store, partition) for partition in range(store.partitions)]
    held = [state_files.versions(layout.names(folder)) for folder in folders]
    files = [path for folder in folders for path in layout.below(folder)]
    return {
        "name": store.name,
        "partitions": store.partitions,
        "bytes": sum(layout.files[path].size for path in files),
        "versions": sorted(set.intersection(*held)) if held else [],
        "columns": [
            {"key": key, "value": value} for key, value in _schemas(checkpoint, layout, store, folders)
        ],
    }


def _schemas(
    checkpoint: Checkpoint, layout: Layout, store: StateStore, folders: list[str]
) -> list[tuple[str, str]]:
    """Key and value columns of the store."""
    named = [f"state/{file.rpartition('/state/')[2]}" for file in store.schema_files]
    paths = named or [f"{folder}/_metadata/schema" for folder in folders[:1]]
    return [
        pair
        for path in paths
        if path in layout.files
        for pair in entries.schemas(checkpoint.folder.read(path))
    ]
