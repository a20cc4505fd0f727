"""The record beside a checkpoint of the document under which it was last written: where it is, and what a copy does with it."""

import json
from contextlib import suppress

from mainstem.checkpoints.stores import Folder


def record_of(checkpoint: str) -> str:
    """The path of a checkpoint's document record: `c/orders/_1.mainstem-document.json` for `c/orders/1`."""
    above, _, name = checkpoint.rstrip("/").rpartition("/")
    return f"{above}/_{name}.mainstem-document.json"


def is_record(text: str) -> bool:
    """Whether a text can be a document record; only the driver reads the document in it."""
    try:
        return isinstance(json.loads(text)["document"], dict)
    except (ValueError, KeyError, TypeError):
        return False


def exists(folder: Folder) -> bool:
    """Whether a checkpoint has a document record."""
    try:
        folder.store.read(record_of(folder.path))
    except FileNotFoundError:
        return False
    return True


def copy(folder: Folder, target: Folder) -> None:
    """Copy the record of a checkpoint to its copy: a driver compares its document with the record of what it continues."""
    with suppress(FileNotFoundError):
        target.store.write(record_of(target.path), folder.store.read(record_of(folder.path)))


def with_partitions(text: str, partitions: int) -> str:
    """A record whose queries have another number of state partitions; a text that is no record stays as it is."""
    if not is_record(text):
        return text
    record = json.loads(text)
    for query in record["document"].get("spec", {}).get("queries", []):
        query["state"] = {**(query.get("state") or {}), "partitions": partitions}
    return json.dumps(record, separators=(",", ":"))
