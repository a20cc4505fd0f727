"""Logging to standard error: lines of the operator, of Kopf and of libraries, as JSON or for a console."""

import logging
import sys
from typing import Any

import structlog
from mainstem.logs import redacted

from mainstem_operator.settings import LogFormat, LogLevel


def configure(log_format: LogFormat, level: LogLevel) -> None:
    """Configure structlog and the standard library's logging with one format."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _resource,
        structlog.processors.format_exc_info,
        redacted,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Readers do not need a line for each probe and for each of Kopf's inner steps.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.getLogger("kopf").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))


def _resource(_logger: Any, _method: str, event: Any) -> Any:
    """Add the resource of a line: Kopf sets it as an attribute of the record."""
    record = event.get("_record")
    reference = getattr(record, "k8s_ref", None)
    if isinstance(reference, dict):
        event["namespace"], event["pipeline"] = reference.get("namespace"), reference.get("name")
    return event
