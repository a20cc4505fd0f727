"""What Spark raised, as one line with a stable reason, and whether a restart can help."""

import re
from dataclasses import dataclass
from typing import Any, Final

from mainstem.build.decode import BAD_RECORD


@dataclass(frozen=True)
class Failure:
    """Why a query failed.

    Attributes:
        reason: CamelCase of ours, or Spark's error condition.
        message: one line.
        permanent: a restart would fail in the same way.
    """

    reason: str
    message: str
    permanent: bool = False


@dataclass(frozen=True)
class _Sign:
    pattern: re.Pattern[str]
    reason: str
    message: str
    permanent: bool = False


def _sign(pattern: str, reason: str, message: str = "", *, permanent: bool = False) -> _Sign:
    return _Sign(re.compile(pattern, re.IGNORECASE | re.DOTALL), reason, message, permanent)


# In the order in which they are looked for; the text is that of the whole chain of causes.
_SIGNS: Final = (
    _sign(
        re.escape(BAD_RECORD) + r"(?P<found>[^\n'\"]*)",
        "BadRecord",
        "{found}; set decode.onBadRecord to drop or deadLetter",
        permanent=True,
    ),
    _sign(
        r"UnknownTopicOrPartition|topic '?(?P<found>[\w.-]+)'? not present in metadata",
        "TopicNotFound",
        "the topic does not exist",
    ),
    _sign(
        r"OffsetOutOfRange|Some data may have been lost|KAFKA_DATA_LOSS",
        "KafkaDataLost",
        "records that the checkpoint points to have expired; set failOnDataLoss: false to go on behind the gap",
        permanent=True,
    ),
    _sign(
        r"Timed? ?out.{0,80}(node assignment|metadata)|Failed to (create new KafkaAdminClient|construct kafka)|TimeoutException.{0,200}(listOffsets|describeTopics|fetch)|No resolvable bootstrap urls",
        "BrokerUnreachable",
        "the Kafka broker does not answer",
    ),
    _sign(
        r"TopicAuthorization|SaslAuthentication|GroupAuthorization",
        "KafkaNotAuthorized",
        "Kafka refuses the credentials",
        permanent=True,
    ),
    _sign(
        r"UnknownStoreException|NoSuchBucket|bucket does not exist",
        "BucketNotFound",
        "the bucket does not exist",
        permanent=True,
    ),
    _sign(
        r"AccessDenied|status code: 403|\b403\b.{0,40}Forbidden|InvalidAccessKeyId|SignatureDoesNotMatch",
        "StoreAccessDenied",
        "the object store refuses access",
        permanent=True,
    ),
    _sign(
        r"Unable to execute HTTP request|ConnectTimeoutException|AWSClientIOException|Connection refused.{0,200}s3a",
        "StoreUnreachable",
        "the object store does not answer",
    ),
    _sign(
        r"Permission denied|Read-only file system|AccessControlException|AccessDeniedException",
        "PermissionDenied",
        "",
        permanent=True,
    ),
    _sign(r"No space left on device", "DiskFull", "no space is left on the device"),
    _sign(r"OutOfMemoryError", "OutOfMemory", "the driver's heap is full; raise `--heap`"),
    _sign(
        r"CONCURRENT_STREAM_LOG_UPDATE|Multiple streaming queries are concurrently using",
        "CheckpointInUse",
        "another run is using this checkpoint",
    ),
)
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]\s*([^\n]*)")
_NOISE: Final = {"STREAM_FAILED", "JOB_CANCELLED", "TASK_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR"}
_ANALYSIS: Final = re.compile(
    r"AnalysisException|ParseException|ExtendedAnalysisException|UnsupportedOperationChecker"
)
_PERMANENT: Final = re.compile(
    r"^(STATE_STORE_(KEY|VALUE)_SCHEMA|STREAMING_STATEFUL|DELTA_(METADATA_MISMATCH|FAILED_TO_MERGE|MULTIPLE_SOURCE_ROW|SCHEMA_CHANGE)|STREAMING_QUERY_EVOLUTION|STREAMING_OUTPUT_MODE)"
)


def classify(error: Any) -> Failure:
    """The failure behind an exception of pyspark or py4j, or behind a Java exception."""
    return of_text(_chain(error))


def of_text(text: str) -> Failure:
    """The failure that the text of a chain of causes tells of; pure."""
    for sign in _SIGNS:
        if match := sign.pattern.search(text):
            return Failure(sign.reason, _line(sign, match, text), sign.permanent)
    conditions = [(name, rest) for name, rest in _CONDITION.findall(text) if name not in _NOISE]
    permanent = bool(_ANALYSIS.search(text))
    if conditions:
        name, rest = conditions[0]
        return Failure(name, _short(rest) or name, permanent or bool(_PERMANENT.match(name)))
    first = next((line for line in text.splitlines() if line.strip()), "no message")
    return Failure("QueryFailed", _short(re.sub(r"^(?:[\w$]+\.)+(\w+): ", r"\1: ", first)), permanent)


def _line(sign: _Sign, match: re.Match[str], text: str) -> str:
    found = (match.groupdict().get("found") or "").strip()
    if sign.message:
        return _short(sign.message.format(found=found))
    line = next((line for line in text.splitlines() if sign.pattern.search(line)), match[0])
    return _short(re.sub(r"^(Caused by: )?(?:[\w$]+\.)+(\w+): ", r"\2: ", line.strip()))


def _chain(error: Any) -> str:
    """All that the exception and its Java causes say."""
    parts = [str(error)] if isinstance(error, BaseException) else []
    java = (getattr(error, "_origin", None) or getattr(error, "java_exception", None)) if parts else error
    for _ in range(12):
        if java is None:
            break
        parts.append(f"{java.getClass().getName()}: {java.getMessage()}")
        java = java.getCause()
    return "\n".join(parts)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 400 else f"{text[:397]}..."
