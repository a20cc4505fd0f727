"""Reads field names of Avro schemas without an Avro library."""

import json


def record_fields(schema: str) -> list[str] | None:
    """The names of the fields of a record schema; None if the text is not a record schema."""
    try:
        tree = json.loads(schema)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or tree.get("type") != "record" or not isinstance(tree.get("fields"), list):
        return None
    names = [field.get("name") if isinstance(field, dict) else None for field in tree["fields"]]
    return [name for name in names if isinstance(name, str)] if all(names) else None
