"""Configures logs: one stream on standard error, as JSON or for a console, which includes the lines of Spark."""

import io
import logging
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, Literal

import structlog


LogFormat = Literal["json", "console"]
CREDENTIAL_WORDS: Final = r"passw|secret|token|credential|(?:api|access)[._-]?key|authorization"
"""Pattern, to use without regard to case: a name with one of these words is the name of a credential."""
STARS: Final = "*****"
"""What messages show in place of what they hide."""
# `key=value`, `key: value` and JSON; not a key and a colon in prose ("accessKey: no such file").
_KEY: Final = rf"(?:{CREDENTIAL_WORDS})[\w.\-]*"
_VALUE: Final = r"\"[^\"]*\"|'[^']*'|[^\s,;}\"']+"
_SECRETS: Final = re.compile(
    rf"({_KEY}[\"']?\s*=\s*)({_VALUE})|({_KEY}[\"']?\s*:\s*)({_VALUE})(?=\s*(?:[,;}}]|$))",
    re.IGNORECASE | re.MULTILINE,
)


_SHORTEST: Final = 6
_hidden: set[str] = set()
"""Values of secrets that Mainstem gives to other code."""


class _StandardError(io.TextIOBase):
    """The current standard error: the live table replaces it, and its reader may have closed it.

    A line that nobody can read must not end a run, least of all during a drain.
    """

    def write(self, text: str) -> int:
        """Write, or do nothing if the reader has closed the stream."""
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or do nothing if the reader has closed the stream."""
        with suppress(OSError):
            sys.stderr.flush()


def configure(log_format: LogFormat, *, verbose: bool) -> None:
    """Configure structlog; with `verbose` it also writes debug lines, Spark's INFO lines and stack traces."""
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redacted,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(_StandardError()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )


def get(name: str) -> Any:
    """A logger whose lines have `component=name`."""
    return structlog.get_logger(component=name)


def hide(values: Iterable[str]) -> None:
    """Replace these values by asterisks in all later lines; values of fewer than six characters are too common."""
    _hidden.update(value for value in values if len(value) >= _SHORTEST)


def redact(text: str) -> str:
    """The text with asterisks in place of hidden values and of values that look like credentials."""
    for value in _hidden:
        text = text.replace(value, STARS)
    return _SECRETS.sub(lambda match: f"{match[1] or match[3]}{STARS}", text)


def names_credential(text: str) -> bool:
    """Whether a name, or one of several in a text, is the name of a credential."""
    return re.search(CREDENTIAL_WORDS, text, re.IGNORECASE) is not None


def error_text(error: BaseException) -> str:
    """The text of an error, or its type: many errors, such as those of timeouts, have no text."""
    return str(error).strip() or type(error).__name__


def redacted(_logger: Any, _method: str, event: Any) -> Any:
    """The event of a line with the text of its errors, and without credentials; a processor of structlog."""
    texts = {
        key: error_text(value) if isinstance(value, BaseException) else value for key, value in event.items()
    }
    return {key: redact(value) if isinstance(value, str) else value for key, value in texts.items()}
