"""One stream of logs, on standard error, as JSON or for a console; Spark's own lines join it."""

import logging
import re
import sys
from typing import Any, Final, Literal

import structlog


LogFormat = Literal["json", "console"]
_SECRETS: Final = re.compile(
    r"((?:password|secret|token|access[._-]?key)[\w.\-\"']*\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;}\"']+)",
    re.IGNORECASE,
)


def configure(log_format: LogFormat, *, verbose: bool) -> None:
    """Set structlog up; `verbose` lets debug lines, Spark's INFO lines and stack traces through."""
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
            _redact,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def get(name: str) -> Any:
    """A logger whose lines carry `component=name`."""
    return structlog.get_logger(component=name)


def redact(text: str) -> str:
    """The text with what looks like the value of a credential blotted out."""
    return _SECRETS.sub(r"\1*****", text)


def _redact(_logger: Any, _method: str, event: Any) -> Any:
    return {key: redact(value) if isinstance(value, str) else value for key, value in event.items()}
