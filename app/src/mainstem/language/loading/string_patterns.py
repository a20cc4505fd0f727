"""What strings with a pattern are called in messages, and which reason a wrong one has."""

from typing import Final

from mainstem import reasons
from mainstem.language.base import (
    ByteSize,
    Duration,
    Identifier,
    JavaClass,
    Label,
    ParameterName,
    PythonObject,
    Version,
    pattern,
)
from mainstem.language.model.connections import Bucket, SecretKey
from mainstem.language.model.connectors.custom import ConnectorName
from mainstem.language.model.deployment import Cron, Memory, ObjectName, Quantity
from mainstem.language.model.packages import Coordinate
from mainstem.language.model.pipeline import PipelineName, RestartNonce, RevisionName


PATTERNS: Final = {
    pattern(Duration): ("a duration such as '30 seconds' or '30s'", reasons.INVALID_DURATION),
    pattern(Identifier): (
        "a SQL identifier: lower case letters, digits and underscores, starting with a letter, at most 63 characters",
        reasons.INVALID_NAME,
    ),
    pattern(Label): (
        "a DNS label: lower case letters, digits and hyphens, starting with a letter, at most 63 characters",
        reasons.INVALID_NAME,
    ),
    pattern(PipelineName): (
        "a DNS label: lower case letters, digits and hyphens, starting with a letter, at most 45 characters",
        reasons.INVALID_NAME,
    ),
    pattern(ParameterName): (
        "a name: letters, digits and underscores, at most 63 characters",
        reasons.INVALID_NAME,
    ),
    pattern(PythonObject): (
        "an object of a Python module, such as package.module:function",
        reasons.INVALID_NAME,
    ),
    pattern(Quantity): ("a quantity such as 500m, 2 or 2Gi", reasons.INVALID_QUANTITY),
    pattern(Memory): ("a size in the form of Java, such as 512m or 2g", reasons.INVALID_QUANTITY),
    pattern(ByteSize): ("a size in the form of Spark, such as 512m or 10g", reasons.INVALID_QUANTITY),
    pattern(SecretKey): (
        "the name of a key: letters, digits, hyphens, dots and underscores",
        reasons.INVALID_NAME,
    ),
    pattern(ConnectorName): (
        "the name of a connector in Spark: its short name, its class or its package",
        reasons.INVALID_NAME,
    ),
    pattern(RestartNonce): ("a number, or a short text without spaces", reasons.INVALID_VALUE),
    pattern(RevisionName): (
        "a revision as status.trial.revision shows it: eight digits from 0 to f, in quotes",
        reasons.INVALID_VALUE,
    ),
    pattern(Coordinate): ("an artifact with one version: group:artifact:version", reasons.INVALID_VALUE),
    pattern(Version): ("a version of a Delta table: a number, or latest", reasons.INVALID_VALUE),
    pattern(ObjectName): (
        "a name in Kubernetes: lower case letters, digits, hyphens and dots, with a letter or digit at both ends",
        reasons.INVALID_NAME,
    ),
    pattern(Cron): (
        "a cron expression of five fields (minute, hour, day of month, month, day of week) such as '0 3 * * *'",
        reasons.INVALID_CRON,
    ),
    pattern(JavaClass): ("a Java class with its package, such as com.example.Soundex", reasons.INVALID_NAME),
    pattern(Bucket): ("a bucket name, without s3a:// and without a path", reasons.INVALID_NAME),
}
"""Pattern of a string -> the description of such a string, and the reason of the problem."""
WRITTEN_AS_NUMBERS: Final = tuple(map(pattern, (Duration, Quantity, Memory, Cron, ByteSize, Version)))
"""Patterns of strings that a user may write as a number."""
