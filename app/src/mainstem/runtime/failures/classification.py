"""Classifies Spark's exceptions: one line with a stable reason, and whether a restart can help."""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from mainstem import logs, reasons
from mainstem.dataframes.sinks.batches import SINK_NOTE
from mainstem.dataframes.sinks.postgres_values import PARSED_NOTE
from mainstem.errors import Fenced, NotReady, SpecInvalid
from mainstem.language.model.status.states import OUTAGES
from mainstem.runtime.failures import changes, tracebacks
from mainstem.runtime.failures.columns import difference
from mainstem.runtime.failures.failure_patterns import FAILURE_PATTERNS
from mainstem.runtime.failures.pattern import FailurePattern


@dataclass(frozen=True)
class Failure:
    """The failure of a query.

    Attributes:
        reason: a reason of Mainstem in CamelCase, or Spark's error condition.
        message: one line, without text that looks like a credential.
        permanent: a restart would fail in the same way.
        traceback: several lines of Python, where the user's code failed.
    """

    reason: reasons.Reason
    message: str
    permanent: bool = False
    traceback: str = ""

    @property
    def outage(self) -> bool:
        """Whether a broker, store or database did not answer, so that the query itself did not fail."""
        return self.reason in OUTAGES


MOST: Final = 400
"""Maximum characters of a message."""
LONGEST: Final = 20_000
"""Characters that are kept from the end of a traceback."""
_CLASS: Final = r"(?:[a-z][\w$]*\.)+(?=[A-Z])"
# A message continues on further lines, up to the next cause, a blank line or an indented line.
_CONDITION: Final = re.compile(
    rf"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]\s*([^\n]*(?:\n(?!{_CLASS}|\s|==|\[|Caused by: )[^\n]+)*)"
)
# These conditions name only the place of the failure; the cause follows in the text.
_NOISE: Final = {
    "STREAM_FAILED",
    "JOB_CANCELLED",
    "TASK_FAILED",
    "TASK_WRITE_FAILED",
    "FOREACH_BATCH_USER_FUNCTION_ERROR",
    "PYTHON_EXCEPTION",
}
_ANALYSIS: Final = re.compile(
    r"AnalysisException|ParseException|ExtendedAnalysisException|UnsupportedOperationChecker"
)
_PERMANENT: Final = re.compile(
    r"^(STREAMING_STATEFUL|DELTA_(METADATA_MISMATCH|FAILED_TO_MERGE|MULTIPLE_SOURCE_ROW|ILLEGAL_OPTION|MISSING_CHANGE_DATA|STREAMING_INCOMPATIBLE)|STREAMING_QUERY_EVOLUTION|STREAMING_OUTPUT_MODE)"
)
_PLANS: Final = re.compile(
    # The dump of a query, up to the next cause of the chain; and the tree of an analysis error.
    rf"^=== Streaming Query ===.*?(?=^{_CLASS}[\w$]+: |\Z)|^\s*(?:[:| ]*[+:]- |')[^\n]*$|^\s+at [^\n]*$|^\s+\.\.\. \d+ more$",
    re.DOTALL | re.MULTILINE,
)
_WRAPPERS: Final = re.compile(
    r"\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: |"
    r"Job aborted due to stage failure: .*?\(executor \S+\): |Job aborted due to stage failure: .*?executor driver\): "
)
_SINK: Final = re.compile(rf"^[ |]*{SINK_NOTE}('[^'\n]*')$", re.MULTILINE)
_PARSED: Final = re.compile(rf"^[ |]*{PARSED_NOTE}([^\n]*)$", re.MULTILINE)
_ANNOUNCES: Final = re.compile(rf":\s*$|^(?:Caused by: )?(?:{_CLASS}[\w$]+: )*(?P<alone>{_CLASS}[\w$]+)\s*$")
_STATE: Final = re.compile(r"\.?\s*SQLSTATE: \w{5}\b")


def classify(error: Any) -> Failure:
    """The failure behind an exception of Mainstem, pyspark or py4j, or behind a Java exception."""
    if isinstance(error, SpecInvalid):
        problem = error.problems[0]
        return Failure(problem.reason, problem.placed(), permanent=True)
    if isinstance(error, (NotReady, Fenced)):
        return Failure(error.reason, error.message, permanent=isinstance(error, Fenced))
    notes = getattr(error, "__notes__", []) if isinstance(error, BaseException) else []
    return classify_text("\n".join([_chain(error), *notes]))


def classify_text(text: str) -> Failure:
    """The failure that the text of a chain of causes describes; pure."""
    return in_sink(_of_columns(_classify_text(_PARSED.sub("", _SINK.sub("", text))), text), text)


def _of_columns(failure: Failure, text: str) -> Failure:
    """The failure with the columns of which the database refuses a text, for its own message names the text in their place."""
    parsed = _PARSED.search(text)
    if failure.reason != reasons.DATABASE_REFUSED or parsed is None:
        return failure
    message = re.sub(r'"[^"]*("|$)', '"..."', failure.message)
    return replace(failure, message=_short(f"{message}; it reads the text of {parsed[1]}"))


def in_sink(failure: Failure, text: str) -> Failure:
    """The failure with the sink that a note in the text names; unchanged without a note."""
    match = _SINK.search(text)
    if match is None:
        return failure
    sink = f" (sink {match[1]})"
    return replace(failure, message=f"{_short(failure.message, MOST - len(sink))}{sink}")


def _classify_text(text: str) -> Failure:
    text = _cleaned(text)
    for candidate in FAILURE_PATTERNS:
        if match := candidate.pattern.search(text):
            return Failure(candidate.reason, _line(candidate, match, text), candidate.permanent)
    raised = tracebacks.raised(text)
    if raised and (known := raised.mainstem_error):
        return Failure(known[0], _short(known[1]))
    if raised and raised.java is None:
        return Failure(reasons.PYTHON_FAILED, _short(str(raised)), traceback=raised.text[-LONGEST:])
    conditions = [
        (match[1], _with_details(match[2], text[match.end() :]))
        for match in _CONDITION.finditer(text)
        if match[1] not in _NOISE
    ]
    permanent = bool(_ANALYSIS.search(text))
    if conditions:
        name, rest = conditions[0]
        if unfit := changes.change_message(name, text):
            return Failure(reasons.named(name), _short(unfit), permanent=True)
        message = _short(rest) or name
        if name == reasons.DELTA_METADATA_MISMATCH and (differs := difference(text)):
            message = f"the columns do not fit the table: {differs}; set mergeSchema to add new ones"
        if name.startswith(("FAILED_READ_FILE", "DELTA_FAILED_TO_MERGE")):
            message = ": ".join([message, *_root(text)])
        return Failure(reasons.named(name), message, permanent or bool(_PERMANENT.match(name)))
    first, _, rest = text.strip().partition("\n")
    # The first line of a Python error only begins the traceback.
    first = (raised and raised.java) or _with_details(first, rest) or "no message"
    return Failure(reasons.QUERY_FAILED, _short(_simple(first)) or first.strip(), permanent)


def _with_details(message: str, rest: str) -> str:
    """The message with the lines behind it, for as long as it only announces them: it ends with a colon, or is a class."""
    for line in rest.splitlines():
        announces = _ANNOUNCES.search(message)
        if announces is None or line.startswith("=="):
            break
        if line.strip():
            message = line.strip() if announces["alone"] else f"{message.rstrip()} {line.strip()}"
    return message


def _cleaned(text: str) -> str:
    """The text without plans, stack frames, wrappers and SQL states, whose words mislead, and without credentials.

    The result goes to terminals, reports and the resource.
    """
    return logs.redact(_STATE.sub("", _WRAPPERS.sub("", _PLANS.sub("", text))))


def _line(known: FailurePattern, match: re.Match[str], text: str) -> str:
    if known.message:
        groups = {name: value or "" for name, value in match.groupdict().items()}
        details = _details(text) | {"advice": groups.get("advice", "")}
        rest = MOST - len(known.message.format(detail="", **details))  # shorten the detail, never the advice
        detail = _short(groups.get("detail", ""), max(rest, 40))
        return _short(known.message.format(detail=detail, **details))
    line = next((line for line in text.splitlines() if known.pattern.search(line)), match[0])
    return _short(_simple(line))


def _root(text: str) -> list[str]:
    """The last cause of the chain, if there is one."""
    return [_short(_simple(line)) for line in text.splitlines() if re.match(_CLASS, line)][-1:]


def _details(text: str) -> dict[str, str]:
    bucket = re.search(r"s3a://([\w.-]+)", text)
    answer = re.search(r"S3Exception: ([^\n]*?)\.? *\(Service: S3", text)
    gap = re.search(r"records in offset \[(\d+), (\d+)\) for topic partition (\S+)", text)
    table = re.search(r"source table can be found at path (\S+?)\.?(?:\s|$)", text)
    topic = re.search(r"[Tt]opic '?([\w.-]+)'? not present", text)
    return {
        "bucket": f" {bucket[1]!r}" if bucket else "",
        "to": f" to the bucket {bucket[1]!r}" if bucket else "",
        "gap": f" ({gap[3]}: {gap[1]} to {gap[2]})" if gap else "",
        "answer": f": {answer[1]}" if answer else "",
        "topic": f" {topic[1]!r}" if topic else "",
        "table": f" {table[1]}" if table else "",
        "root": "".join(_root(text)),
    }


def _simple(line: str) -> str:
    """The line, starting with the innermost exception by its plain name."""
    return re.sub(rf"^(?:Caused by: )?(?:{_CLASS}[\w$]+: )*{_CLASS}([\w$]+)(: |$)", r"\1\2", line.strip())


def _chain(error: Any) -> str:
    """The messages of the exception and its Java causes, one per line."""
    java = error
    if isinstance(error, BaseException):  # a Java object has an attribute of every name
        java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
        if java is None:
            return str(error)
    parts = []
    for _ in range(12):
        if java is None:
            break
        parts.append(f"{java.getClass().getName()}: {java.getMessage()}")
        java = java.getCause()
    return "\n".join(parts)


def _short(text: str, most: int = MOST) -> str:
    text = " ".join(text.split()).rstrip(";.")
    return text if len(text) <= most else f"{text[: most - 3]}..."
