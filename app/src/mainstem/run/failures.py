"""What Spark raised, as one line with a stable reason, and whether a restart can help."""

import re
from dataclasses import dataclass
from typing import Any, Final

from mainstem import logs
from mainstem.build.decode import BAD_RECORD
from mainstem.build.expectations import EXPECTATION_FAILED
from mainstem.run import tracebacks
from mainstem.run.columns import difference


@dataclass(frozen=True)
class Failure:
    """Why a query failed.

    Attributes:
        reason: CamelCase of ours, or Spark's error condition.
        message: one line, free of what looks like a credential.
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


# In the order in which they are looked for; the text is that of the whole chain of causes, without plans and frames.
# In messages {found} is the pattern's own group, {bucket} the first bucket that is named, {said} what S3 answered, {root} the last cause.
_SIGNS: Final = (
    _sign(
        # Where Spark shows the plan, the two parts of the message stand apart.
        re.escape(BAD_RECORD) + r"(?!,)(?P<found>[^\n]*)",
        "BadRecord",
        "{found}; set decode.onBadRecord to drop or deadLetter",
        permanent=True,
    ),
    _sign(
        re.escape(EXPECTATION_FAILED) + r"(?!,)(?P<found>[^\n]*)",
        "ExpectationFailed",
        "{found}; mend the data, or set onViolation to warn, drop or quarantine",
        permanent=True,
    ),
    _sign(
        r"UnknownTopicOrPartition|topic '?[\w.-]+'? not present in metadata",
        "TopicNotFound",
        "the topic{topic} does not exist",
    ),
    _sign(
        r"OffsetOutOfRange|Some data may have been lost|KAFKA_DATA_LOSS",
        "KafkaDataLost",
        "records that the checkpoint points to have expired{gap}; set failOnDataLoss: false to go on behind the gap",
        permanent=True,
    ),
    _sign(
        r"Timed? ?out.{0,80}(node assignment|metadata)|TimeoutException.{0,200}(listOffsets|describeTopics|fetch)|No resolvable bootstrap urls",
        "BrokerUnreachable",
        "the Kafka broker does not answer",
    ),
    _sign(
        r"Failed to (create new KafkaAdminClient|construct kafka)|kafka\.common\.config\.ConfigException",
        "KafkaConfigInvalid",
        "Kafka's client refuses its properties: {root}",
        permanent=True,
    ),
    _sign(
        r"No offset matched from request of topic-partition (?P<found>\S+)",
        "NoRecordOfTime",
        "{found} has no record of the time to start at, or later; "
        "set startingOffsetsByTimestampStrategy: latest to take what comes",
        permanent=True,
    ),
    _sign(
        r"SslAuthenticationException|SSLHandshakeException",
        "KafkaTlsFailed",
        "Kafka and its client do not trust each other: {root}",
        permanent=True,
    ),
    _sign(
        r"TopicAuthorization|SaslAuthentication|GroupAuthorization",
        "KafkaNotAuthorized",
        "Kafka refuses the credentials",
        permanent=True,
    ),
    _sign(
        r"DELTA_SOURCE_(?:TABLE_IGNORE_CHANGES|IGNORE_DELETE)\].{0,600}? version (?P<found>\d+)\b",
        "SourceChanged",
        "version {found} of the Delta table{table} changes or removes rows that were read; set skipChangeCommits to pass over such "
        "commits, ignoreChanges to read the files that they write anew, or read its changes with readChangeFeed and a fresh checkpoint",
        permanent=True,
    ),
    _sign(
        r"DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        "SourceReplaced",
        "another Delta table is where the stream's was; start a new generation of the checkpoint to read it from its beginning",
        permanent=True,
    ),
    _sign(
        r"UnknownStoreException|NoSuchBucket|bucket does not exist",
        "BucketNotFound",
        "the bucket{bucket} does not exist",
        permanent=True,
    ),
    _sign(
        r"NoAuthWithAWSException|Unable to load credentials",
        "StoreCredentialsMissing",
        "no credentials for the object store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or secretRef in the connection",
        permanent=True,
    ),
    _sign(
        r"Service: S3, Status Code: (401|403)|InvalidAccessKeyId|SignatureDoesNotMatch|provided access key",
        "StoreAccessDenied",
        "the object store refuses access{to}{said}",
        permanent=True,
    ),
    _sign(
        r"Unable to execute HTTP request|ConnectTimeoutException|AWSClientIOException|ApiCallTimeoutException|Connection refused.{0,200}s3a",
        "StoreUnreachable",
        "the object store does not answer",
    ),
    _sign(
        r"PSQLException: (FATAL: (password authentication failed|no pg_hba\.conf entry|role )|The server requested)",
        "DatabaseNotAuthorized",
        "the database refuses the credentials: {root}",
        permanent=True,
    ),
    _sign(
        r"PSQLException: ERROR: (?P<found>relation [^\n]* does not exist)",
        "TableNotFound",
        "{found}",
    ),
    _sign(
        r"(PSQL|BatchUpdate)Exception: (?:[^\n]*aborted: )?ERROR: (?P<found>[^\n]*)",
        "DatabaseRefused",
        "the database refuses: {found}",
    ),
    _sign(
        r"PSQLException: (Connection to \S+ refused|The connection attempt failed)",
        "DatabaseUnreachable",
        "the database does not answer: {root}",
    ),
    _sign(
        r"(ParentNotDirectoryException|FileAlreadyExistsException): (?P<found>[^\n]*)|Mkdirs failed to create (?P<folder>\S+)",
        "PathNotWritable",
        "",
        permanent=True,
    ),
    _sign(
        r"Permission denied|Read-only file system|AccessControlException|AccessDeniedException",
        "PermissionDenied",
        "",
        permanent=True,
    ),
    _sign(
        r"Offset(Map|Seq) cannot be cast to class \S+Offset(Seq|Map)|watermarkTracker\(\)\" is null",
        "TriggerChanged",
        "a checkpoint of a continuous trigger serves no other, nor another's a continuous one; raise checkpoint.generation",
        permanent=True,
    ),
    _sign(
        r"batch \d+ doesn't exist",
        "AsyncProgressLeft",
        "asyncProgressTracking left gaps in the checkpoint; set its checkpointInterval to 0 seconds until two batches have run, then leave it out",
        permanent=True,
    ),
    _sign(r"No space left on device", "DiskFull", "no space is left on the device"),
    _sign(
        r"OutOfMemoryError",
        "OutOfMemory",
        "Java's heap is full; raise `--heap`, or on a cluster resources.limits.memory of driver or executors",
    ),
    _sign(
        r"CONCURRENT_STREAM_LOG_UPDATE|Multiple streaming queries are concurrently using|query with same id is already active",
        "CheckpointInUse",
        "another run is using this checkpoint",
    ),
)
_CLASS: Final = r"(?:[a-z][\w$]*\.)+(?=[A-Z])"
# A message goes on over lines of its own, up to the next cause, a blank line or something indented.
_CONDITION: Final = re.compile(
    rf"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]\s*([^\n]*(?:\n(?!{_CLASS}|\s|==|\[|Caused by: )[^\n]+)*)"
)
# These say where something failed; what failed stands further on.
_NOISE: Final = {
    "STREAM_FAILED",
    "JOB_CANCELLED",
    "TASK_FAILED",
    "TASK_WRITE_FAILED",
    "FOREACH_BATCH_USER_FUNCTION_ERROR",
}
_ANALYSIS: Final = re.compile(
    r"AnalysisException|ParseException|ExtendedAnalysisException|UnsupportedOperationChecker"
)
_PERMANENT: Final = re.compile(
    r"^(STATE_STORE_(KEY|VALUE)_SCHEMA|STREAMING_STATEFUL|DELTA_(METADATA_MISMATCH|FAILED_TO_MERGE|MULTIPLE_SOURCE_ROW|ILLEGAL_OPTION|MISSING_CHANGE_DATA|STREAMING_INCOMPATIBLE)|STREAMING_QUERY_EVOLUTION|STREAMING_OUTPUT_MODE)"
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
_STATE: Final = re.compile(r"\.?\s*SQLSTATE: \w{5}\b")


def classify(error: Any) -> Failure:
    """The failure behind an exception of pyspark or py4j, or behind a Java exception."""
    return of_text(_chain(error))


def of_text(text: str) -> Failure:
    """The failure that the text of a chain of causes tells of; pure."""
    text = _told(text)
    for sign in _SIGNS:
        if match := sign.pattern.search(text):
            return Failure(sign.reason, _line(sign, match, text), sign.permanent)
    if said := tracebacks.told(text):
        return Failure("PythonFailed", _short(said))
    conditions = [(name, rest) for name, rest in _CONDITION.findall(text) if name not in _NOISE]
    permanent = bool(_ANALYSIS.search(text))
    if conditions:
        name, rest = conditions[0]
        message = _short(rest) or name
        if name == "DELTA_METADATA_MISMATCH" and (differs := difference(text)):
            message = f"the columns do not fit the table: {differs}; set mergeSchema to add new ones"
        if name.startswith(("FAILED_READ_FILE", "DELTA_FAILED_TO_MERGE")):
            message = ": ".join([message, *_root(text)])
        return Failure(name, message, permanent or bool(_PERMANENT.match(name)))
    first = next((line for line in text.splitlines() if line.strip()), "no message")
    return Failure("QueryFailed", _short(_simple(first)) or first.strip(), permanent)


def _told(text: str) -> str:
    """The text without plans, stack frames, wrappers and SQL states, which hold words that mislead, and without what looks
    like a credential: what is made of it goes to terminals, reports and the resource.
    """
    return logs.redact(_STATE.sub("", _WRAPPERS.sub("", _PLANS.sub("", text))))


def _line(sign: _Sign, match: re.Match[str], text: str) -> str:
    if sign.message:
        found = (match.groupdict().get("found") or "").strip()
        return _short(sign.message.format(found=found, **_details(text)))
    line = next((line for line in text.splitlines() if sign.pattern.search(line)), match[0])
    return _short(_simple(line))


def _root(text: str) -> list[str]:
    """The last cause of the chain, if there is one."""
    return [_short(_simple(line)) for line in text.splitlines() if re.match(_CLASS, line)][-1:]


def _details(text: str) -> dict[str, str]:
    bucket = re.search(r"s3a://([\w.-]+)", text)
    said = re.search(r"S3Exception: ([^\n]*?)\.? *\(Service: S3", text)
    gap = re.search(r"records in offset \[(\d+), (\d+)\) for topic partition (\S+)", text)
    table = re.search(r"source table can be found at path (\S+?)\.(?:\s|$)", text)
    topic = re.search(r"[Tt]opic '?([\w.-]+)'? not present", text)
    return {
        "bucket": f" {bucket[1]!r}" if bucket else "",
        "to": f" to the bucket {bucket[1]!r}" if bucket else "",
        "gap": f" ({gap[3]}: {gap[1]} to {gap[2]})" if gap else "",
        "said": f": {said[1]}" if said else "",
        "topic": f" {topic[1]!r}" if topic else "",
        "table": f" {table[1]}" if table else "",
        "root": "".join(_root(text)),
    }


def _simple(line: str) -> str:
    """The line with the innermost exception at its start by its plain name, and no others before it."""
    return re.sub(rf"^(?:Caused by: )?(?:{_CLASS}[\w$]+: )*{_CLASS}([\w$]+): ", r"\1: ", line.strip())


def _chain(error: Any) -> str:
    """All that the exception and its Java causes say."""
    java = error
    if isinstance(error, BaseException):  # a Java object has every attribute that it is asked for
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


def _short(text: str) -> str:
    text = " ".join(text.split()).rstrip(";.")
    return text if len(text) <= 400 else f"{text[:397]}..."
