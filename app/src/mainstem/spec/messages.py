"""pydantic's errors in the words of the document: path, line, value, and what would be right."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from mainstem.errors import Problem
from mainstem.spec.base import DURATION_PATTERN, Duration, Identifier, Label, Model, ParameterName, pattern
from mainstem.spec.connections import Bucket
from mainstem.spec.pipeline import PipelineName, StreamingPipeline
from mainstem.spec.yamltext import Path, Text, render_path


_TYPES = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a string",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_PATTERNS = {
    pattern(Duration): ("a duration such as '30 seconds' or '30s'", "InvalidDuration"),
    pattern(Identifier): (
        "a SQL identifier: lower case letters, digits and underscores, a letter first, at most 63 characters",
        "InvalidName",
    ),
    pattern(Label): (
        "a DNS label: lower case letters, digits and hyphens, a letter first, at most 63 characters",
        "InvalidName",
    ),
    pattern(PipelineName): (
        "a DNS label: lower case letters, digits and hyphens, a letter first, at most 45 characters",
        "InvalidName",
    ),
    pattern(ParameterName): (
        "a name: letters, digits and underscores, at most 63 characters",
        "InvalidName",
    ),
    pattern(Bucket): (
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


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the choice nearest to `word`, or nothing."""
    folded = {choice.lower(): choice for choice in choices}
    near = get_close_matches(word[:256].lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def nearest_of(word: str, choices: Iterable[str]) -> str:
    """`did_you_mean`, or where nothing is near, all that there is."""
    known = list(choices)
    return did_you_mean(word, known) or f"; there are {', '.join(known)}"


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
    shown = show(value)
    parameter = "; parameters may not stand here" if "${" in str(value) else ""
    if kind == "missing":
        return f"the field {path[-1]!r} is required", "MissingField"
    if kind == "extra_forbidden":
        return f"unknown field {path[-1]!r}{_near_field(path)}", "UnknownField"
    if kind == "literal_error":
        return _choice(value, str(context["expected"]), parameter), "InvalidValue"
    if kind == "string_pattern_mismatch":
        what, reason = _PATTERNS[str(context["pattern"])]
        return f"{shown} is not {what}{parameter}", reason
    if kind in ("one_of", "listed_twice"):
        return (default, "NotExactlyOne") if kind == "one_of" else (default, "DuplicateEntry")
    if kind == "time_zone":
        return f"{shown} is {default}{parameter or _near_zone(str(value))}", "UnknownTimeZone"
    if kind in ("string_too_long", "too_long", "string_too_short", "too_short"):
        return _length(kind, context, value), "OutOfRange"
    if kind in ("greater_than_equal", "less_than_equal"):
        limit = f"at most {context['le']}" if "le" in context else f"{context['ge']} or more"
        return f"{shown} is out of range: it must be {limit}", "OutOfRange"
    if kind in _TYPES:
        return f"{shown} is not {_type(kind, path)}{parameter or _retype(kind, value, path)}", "InvalidType"
    return f"{shown}: {default}{parameter}", "InvalidValue"


def _choice(value: Any, expected: str, parameter: str) -> str:
    choices = [choice.strip("' ") for choice in expected.replace(" or ", ", ").split(",")]
    choices = [choice.lower() if choice in ("True", "False") else choice for choice in choices]
    if len(choices) == 1:
        return f"{show(value)} is not allowed here, only {choices[0]}{parameter}"
    return f"{show(value)} is not one of {', '.join(choices)}{parameter or did_you_mean(str(value), choices)}"


def _type(kind: str, path: Path) -> str:
    return _PATTERNS[DURATION_PATTERN][0] if _is_duration(path) else _TYPES[kind]


def _is_duration(path: Path) -> bool:
    return DURATION_PATTERN in repr(_field_at(path))


def _retype(kind: str, value: Any, path: Path) -> str:
    """What to do about a value of the wrong type, where that is plain to see."""
    if value is None:
        return "; leave the field out, or give it a value"
    if kind == "string_type" and isinstance(value, (bool, int, float)) and not _is_duration(path):
        return "; put it in quotes"
    if kind.startswith("int") and isinstance(value, str) and value.strip().isdecimal():
        return "; leave the quotes out"
    if kind.startswith("bool") and isinstance(value, str):
        word = value.lower()
        return "; write true" if word in _TRUE else "; write false" if word in _FALSE else ""
    if kind == "tuple_type" and not isinstance(value, dict):
        return f"; write [{value:.40}]" if isinstance(value, str) else f"; write [{show(value)}]"
    return ""


def _near_zone(name: str) -> str:
    from zoneinfo import available_timezones

    return did_you_mean(name, sorted(available_timezones()))


def _length(kind: str, context: dict[str, Any], value: Any) -> str:
    if "min_length" in context:
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"at least {least} are needed"
    unit, much = ("characters", "long") if kind.startswith("string") else ("entries", "many")
    return f"{len(value)} {unit} are too {much}: at most {context['max_length']} allowed"


def show(value: Any) -> str:
    """A value as it stands in the document, cut where it is long."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
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
        info = _field(model, piece)
        found = _models(info.annotation) if info else []
        if not found:
            return None
        model = found[0]
    return model if issubclass(model, Model) else None


def _field_at(path: Path) -> FieldInfo | None:
    model = _model_at(path[:-1])
    return _field(model, str(path[-1])) if model else None


def _field(model: type[BaseModel], key: str) -> FieldInfo | None:
    fields = model.model_fields
    return next((info for name, info in fields.items() if (info.alias or name) == key), None)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]
