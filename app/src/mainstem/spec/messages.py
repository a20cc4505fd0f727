"""pydantic's errors in the words of the document: path, line, value, and what would be right."""

import json
from difflib import get_close_matches
from typing import Any, get_args

from mainstem.errors import Problem
from mainstem.spec.base import DURATION_PATTERN, Model, to_snake
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.yamltext import Path, Text, render_path
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails


_TYPES = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a string (put it in quotes)",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_PATTERNS = {
    DURATION_PATTERN: ("a duration such as '30 seconds' or '30s'", "InvalidDuration"),
    r"^[a-z][a-z0-9_]{0,62}$": (
        "a SQL identifier: lower case letters, digits and underscores, a letter first, at most 63 characters",
        "InvalidName",
    ),
    r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$": (
        "a DNS label: lower case letters, digits and hyphens, a letter first, at most 63 characters",
        "InvalidName",
    ),
    r"^[a-z]([-a-z0-9]{0,43}[a-z0-9])?$": (
        "a DNS label: lower case letters, digits and hyphens, a letter first, at most 45 characters",
        "InvalidName",
    ),
    r"^[A-Za-z_][A-Za-z0-9_]{0,62}$": (
        "a name: letters, digits and underscores, at most 63 characters",
        "InvalidName",
    ),
    r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$": (
        "a bucket name, without s3a:// and without a path",
        "InvalidName",
    ),
}


def shape_problems(part: Text) -> tuple[StreamingPipeline | None, list[Problem]]:
    """The model of the document, or every way in which its shape is wrong."""
    try:
        # JSON mode, because the API server does not coerce either: "5" is not a number there.
        return StreamingPipeline.model_validate_json(json.dumps(part.data), strict=True), []
    except ValidationError as error:
        return None, [_problem(part, details) for details in _genuine(error.errors(include_url=False))]


def did_you_mean(word: str, choices: list[str]) -> str:
    """`; did you mean 'x'?` for the choice nearest to `word`, or nothing."""
    folded = {choice.lower(): choice for choice in choices}
    near = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def _genuine(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without pydantic's echo of a list whose entries are wrong as a list that is too short."""
    paths = [details["loc"] for details in errors]
    return [
        details
        for details in errors
        if details["type"] != "too_short" or not any(_below(path, details["loc"]) for path in paths)
    ]


def _below(path: Path, above: Path) -> bool:
    return len(path) > len(above) and path[: len(above)] == above


def _problem(part: Text, details: ErrorDetails) -> Problem:
    path: Path = tuple(piece for piece in details["loc"] if piece != "[key]")
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    line, column = part.where(path, key=kind in ("extra_forbidden", "missing"))
    message, reason = _words(kind, context, value, path, details["msg"])
    return Problem(line, column, render_path(path), message, reason)


def _words(  # noqa: PLR0911 - a table of kinds, one line each
    kind: str, context: dict[str, Any], value: Any, path: Path, default: str
) -> tuple[str, str]:
    shown = _show(value)
    if kind == "missing":
        return f"the field {path[-1]!r} is required", "MissingField"
    if kind == "extra_forbidden":
        return f"unknown field {path[-1]!r}{_near_field(path)}", "UnknownField"
    if kind == "literal_error":
        choices = [choice.strip("' ") for choice in str(context["expected"]).replace(" or ", ", ").split(",")]
        return (
            f"{shown} is not one of {', '.join(choices)}{did_you_mean(str(value), choices)}",
            "InvalidValue",
        )
    if kind == "string_pattern_mismatch":
        what, reason = _PATTERNS[str(context["pattern"])]
        hint = "; parameters may not stand here" if "${" in str(value) else ""
        return f"{shown} is not {what}{hint}", reason
    if kind == "one_of":
        return default, "NotExactlyOne"
    if kind == "time_zone":
        return f"{shown} is {default}", "UnknownTimeZone"
    if kind in ("string_too_long", "too_long", "string_too_short", "too_short"):
        return _length(kind, context), "OutOfRange"
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"{shown} is out of range: {default[0].lower()}{default[1:]}", "OutOfRange"
    if kind in _TYPES:
        return f"{shown} is not {_TYPES[kind]}", "InvalidType"
    return f"{shown}: {default}", "InvalidValue"


def _length(kind: str, context: dict[str, Any]) -> str:
    if "min_length" in context:
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"at least {least} are needed"
    unit = "characters" if kind.startswith("string") else "entries"
    return f"is longer than the {context['max_length']} {unit} allowed"


def _show(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _near_field(path: Path) -> str:
    model = _model_at(path[:-1])
    if model is None:
        return ""
    fields = [info.alias or name for name, info in model.model_fields.items()]
    return did_you_mean(str(path[-1]), fields) or f"; known fields are {', '.join(fields)}"


def _model_at(path: Path) -> type[Model] | None:
    """The model that a path of the document leads to."""
    model: type[BaseModel] = StreamingPipeline
    for piece in path:
        if isinstance(piece, int):
            continue
        by_alias = {info.alias or name: info for name, info in model.model_fields.items()}
        info = by_alias.get(piece) or by_alias.get(to_snake(piece))
        found = _models(info.annotation) if info else []
        if not found:
            return None
        model = found[0]
    return model if issubclass(model, Model) else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]
