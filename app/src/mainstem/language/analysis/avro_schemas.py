"""Avro schemas, as far as they can be read without Avro."""

import json


def record_fields(schema: str) -> list[str] | None:
    """Names of the fields of a record's schema; None where it is none."""
    try:
        tree = json.loads(schema)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or tree.get("type") != "record" or not isinstance(tree.get("fields"), list):
        return None
    names = [field.get("name") if isinstance(field, dict) else None for field in tree["fields"]]
    return [name for name in names if isinstance(name, str)] if all(names) else None
