"""Makes the JSON of a query's status, for `/status`, the JSON lines and the report; pure."""

from dataclasses import asdict
from typing import Any

from pydantic.alias_generators import to_camel

from mainstem.language.model.status.query_progress import QueryProgress


def as_json(status: QueryProgress, *, offsets: bool = False) -> dict[str, Any]:
    """The status as JSON, keys in camelCase, without unknown values."""
    plain = asdict(status)
    del plain["idle"]
    for name in ("expectations", "updating"):
        if not plain[name]:
            del plain[name]
    for source in plain["sources"]:
        if not offsets:
            source.pop("end_offset")
    plain["sources"] = [_known(source) for source in plain["sources"]]
    return _known(plain)


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {to_camel(key): value for key, value in fields.items() if value is not None}
