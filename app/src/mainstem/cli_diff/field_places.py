"""Finds the line of a field in a document; pure."""

import re
from typing import TYPE_CHECKING, Any, Final


if TYPE_CHECKING:
    from mainstem.language.document import Document

_PART: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def place(path: str, *documents: "Document") -> tuple[str, int]:
    """File and line of a field with named items, such as `spec.views[daily].sql`, in the first document that has it.

    If no document has the field, the line is that of the nearest field above it in the first document.
    """
    candidates = [(document, *_positions(document, path)) for document in documents]
    document, positions, _ = next((each for each in candidates if each[2]), candidates[0])
    return document.file, document.text.where(tuple(positions))[0]


def _positions(document: "Document", path: str) -> tuple[list[str | int], bool]:
    """The path with the positions of items, as far as the document has it; and whether that is all of it."""
    written = document.graph.written_path(path)
    parts = [match[1] if match[1] is not None else match[2] for match in _PART.finditer(written)]
    data: Any = document.text.data
    positions: list[str | int] = []
    for part in parts:
        if isinstance(data, list):
            places = [
                at for at, item in enumerate(data) if isinstance(item, dict) and item.get("name") == part
            ]
            if not places:
                break
            positions.append(places[0])
            data = data[places[0]]
        elif isinstance(data, dict) and part in data:
            positions.append(part)
            data = data[part]
        else:
            break
    return positions, len(positions) == len(parts)
