"""The text by which a known failure is recognized, and what Mainstem reports of it; pure."""

import re
from dataclasses import dataclass

from mainstem import reasons


@dataclass(frozen=True)
class FailurePattern:
    """A known failure: the text that recognizes it, and what Mainstem reports.

    Attributes:
        pattern: matches the text of the failure.
        reason: CamelCase.
        message: a template. {detail} and {advice} are the pattern's own groups, {bucket} is the first bucket in the text, {answer} is
            the answer of S3, {root} is the last cause. An empty template takes the line that the pattern matches.
        permanent: a restart would fail in the same way. The default is the entry of the reason.
    """

    pattern: re.Pattern[str]
    reason: reasons.Reason
    message: str
    permanent: bool


def pattern(
    expression: str, reason: reasons.Reason, message: str = "", *, permanent: bool | None = None
) -> FailurePattern:
    """A failure whose text the regular expression matches, in any case and over several lines."""
    permanent = reason.permanent if permanent is None else permanent
    return FailurePattern(re.compile(expression, re.IGNORECASE | re.DOTALL), reason, message, permanent)


def raised(prefix: str, reason: reasons.Reason, advice: str = "") -> FailurePattern:
    """A failure that a query's own plan raises, behind a prefix of ours; where Spark prints the plan, a comma follows the prefix."""
    message = f"{{detail}}; {advice}" if advice else "{detail}"
    return pattern(re.escape(prefix) + r"(?!,)(?P<detail>[^\n]*)", reason, message)
