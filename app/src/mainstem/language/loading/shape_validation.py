"""Validates the shape of a document, and translates pydantic's errors: path, line, value, and the correction."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.base import Model
from mainstem.language.loading.field_paths import field_at, keys_of, model_at
from mainstem.language.loading.string_patterns import PATTERNS, WRITTEN_AS_NUMBERS
from mainstem.language.yaml.yamltext import Path, YamlText, render_path


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


_Root = TypeVar("_Root", bound=Model)
MAX_PROBLEMS: Final = 100
"""The largest number of reported problems of a document's shape: each costs a search for similar names."""


def shape_problems(part: YamlText, root: type[_Root]) -> tuple[_Root | None, list[Problem]]:
    """The document as its model, or None and every problem of its shape."""
    try:
        # JSON mode does not convert types, like the API server: "5" is not a number.
        return root.model_validate_json(json.dumps(part.data), strict=True), []
    except ValidationError as error:
        errors = islice(_genuine(error.errors(include_url=False)), MAX_PROBLEMS)
        return None, [_problem(part, details, root) for details in errors]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the choice most similar to `word`, or an empty text."""
    folded = {choice.lower(): choice for choice in choices}
    near = get_close_matches(word[:256].lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def nearest_of(word: str, choices: Iterable[str]) -> str:
    """`did_you_mean`, or all choices if no choice is similar."""
    known = list(choices)
    return did_you_mean(word, known) or f"; known names are {', '.join(known)}"


def _genuine(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """The errors without pydantic's second error for a list with wrong entries: that the list is too short."""
    above = {path[:length] for path in (details["loc"] for details in errors) for length in range(len(path))}
    return [details for details in errors if details["type"] != "too_short" or details["loc"] not in above]


def _problem(part: YamlText, details: ErrorDetails, root: type[Model]) -> Problem:
    path: Path = tuple(piece for piece in details["loc"] if piece != "[key]")
    text = part.texts.get(path)
    fault = _Fault(
        details["type"], details.get("ctx", {}), details["input"], text, path, details["msg"], root
    )
    line, column = part.where(path, key=fault.kind in ("extra_forbidden", "missing"))
    message, reason = _words(fault)
    return Problem(line, column, render_path(path), message, reason)


@dataclass(frozen=True)
class _Fault:
    """One error of pydantic with the value, its text if JSON writes the value in another way, and its path."""

    kind: str
    context: dict[str, Any]
    value: Any
    text: str | None
    path: Path
    default: str
    root: type[Model]

    @property
    def shown(self) -> str:
        return show(self.value, self.text)

    @property
    def parameter(self) -> str:
        return "; this field cannot contain parameters" if "${" in str(self.value) else ""


_Words = tuple[str, reasons.Reason]
"""The message and the reason."""


def _words(fault: _Fault) -> _Words:
    if fault.kind in _TYPES:
        return _type(fault), reasons.INVALID_TYPE
    if fault.kind in _WORDS:
        return _WORDS[fault.kind](fault)
    return f"{fault.shown}: {fault.default}{fault.parameter}", reasons.INVALID_VALUE


def _unknown(fault: _Fault) -> _Words:
    model = model_at(fault.root, fault.path[:-1])
    known = keys_of(model) if model else []
    hint = did_you_mean(str(fault.path[-1]), known) or f"; known fields are {', '.join(known)}"
    return f"unknown field {fault.path[-1]!r}{hint if known else ''}", reasons.UNKNOWN_FIELD


def _choice(fault: _Fault) -> _Words:
    expected = str(fault.context["expected"])
    choices = [choice.strip("' ") for choice in expected.replace(" or ", ", ").split(",")]
    choices = [choice.lower() if choice in ("True", "False") else choice for choice in choices]
    if len(choices) == 1:
        return (
            f"{fault.shown} is not allowed here; the only value is {choices[0]}{fault.parameter}",
            reasons.INVALID_VALUE,
        )
    hint = fault.parameter or did_you_mean(str(fault.value), choices)
    return f"{fault.shown} is not one of {', '.join(choices)}{hint}", reasons.INVALID_VALUE


def _mismatch(fault: _Fault) -> _Words:
    description, reason = PATTERNS[str(fault.context["pattern"])]
    return f"{fault.shown} is not {description}{fault.parameter}", reason


def _cron(fault: _Fault) -> _Words:
    field = str(fault.context["why"]).removeprefix("bad ").replace("-", " ")
    message = f"{fault.shown} never matches a time: there is no such {field}"
    hint = fault.parameter or "; '0 3 * * *' is three o'clock each night"
    return message + hint, reasons.INVALID_CRON


def _zone(fault: _Fault) -> _Words:
    from zoneinfo import available_timezones

    hint = fault.parameter or did_you_mean(str(fault.value), sorted(available_timezones()))
    return f"{fault.shown} is {fault.default}{hint}", reasons.UNKNOWN_TIME_ZONE


def _length(fault: _Fault) -> _Words:
    if "min_length" in fault.context:
        least = fault.context["min_length"]
        return ("must not be empty" if least == 1 else f"at least {least} are needed"), reasons.OUT_OF_RANGE
    unit, much = ("characters", "long") if fault.kind.startswith("string") else ("entries", "many")
    most = fault.context["max_length"]
    return f"{len(fault.value)} {unit} are too {much}: at most {most} allowed", reasons.OUT_OF_RANGE


def _range(fault: _Fault) -> _Words:
    context = fault.context
    limit = f"at most {context['le']}" if "le" in context else f"{context['ge']} or more"
    return f"{fault.shown} is out of range: it must be {limit}", reasons.OUT_OF_RANGE


_WORDS: Final[dict[str, Callable[[_Fault], _Words]]] = {
    "missing": lambda fault: (f"the field {fault.path[-1]!r} is required", reasons.MISSING_FIELD),
    "extra_forbidden": _unknown,
    "literal_error": _choice,
    "string_pattern_mismatch": _mismatch,
    "one_of": lambda fault: (fault.default, reasons.NOT_EXACTLY_ONE),
    "listed_twice": lambda fault: (fault.default, reasons.DUPLICATE_ENTRY),
    "cron": _cron,
    "time_zone": _zone,
    "string_too_long": _length,
    "string_too_short": _length,
    "too_long": _length,
    "too_short": _length,
    "greater_than_equal": _range,
    "less_than_equal": _range,
}
"""Kind of pydantic's error -> function that returns the message and the reason."""


def _type(fault: _Fault) -> str:
    wanted = _pattern_at(fault) if fault.kind == "string_type" else None
    description = PATTERNS[wanted][0] if wanted else _TYPES[fault.kind]
    return f"{fault.shown} is not {description}{fault.parameter or _retype(fault, wanted)}"


def _pattern_at(fault: _Fault) -> str | None:
    """The pattern of the string at the path, or in a map there, if a user may write the string as a number."""
    field = field_at(fault.root, fault.path) or field_at(fault.root, fault.path[:-1])
    annotation = repr((field.annotation, field.metadata)) if field else ""
    return next((wanted for wanted in WRITTEN_AS_NUMBERS if wanted in annotation), None)


def _retype(fault: _Fault, wanted: str | None) -> str:
    """The correction of a value of the wrong type; empty if there is no obvious one."""
    kind, value = fault.kind, fault.value
    if value is None:
        return "; set a value, or remove the field"
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return (
            "; put it in quotes" if wanted is None or re.fullmatch(wanted, fault.text or str(value)) else ""
        )
    if isinstance(value, str):
        return _rewrite(fault, value)
    return f"; write [{show(value)}]" if kind == "tuple_type" and not isinstance(value, dict) else ""


def _rewrite(fault: _Fault, word: str) -> str:
    """The correction of a string that has the wrong type."""
    kind = fault.kind
    if kind.startswith("int") and word.strip().isdecimal():
        return "; remove the quotes"
    if kind.startswith("bool"):
        meant = {"; write true": _TRUE, "; write false": _FALSE}
        return next((hint for hint, words in meant.items() if word.lower() in words), "")
    if kind.startswith("model") and _only_a_name(fault):
        return f"; write {{name: {word:.40}}}"
    return f"; write [{word:.40}]" if kind == "tuple_type" else ""


def _only_a_name(fault: _Fault) -> bool:
    model = model_at(fault.root, fault.path)
    return model is not None and keys_of(model) == ["name"]


def show(value: Any, text: str | None = None) -> str:
    """A value as the document has it, shortened to 60 characters; `text` is its text if YAML writes it in another way."""
    if text is not None:
        return f"{text:.60}, which YAML reads as {show(value)},"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
