"""Explains Spark's errors about a document that does not fit its checkpoint, in terms of the document; pure."""

import re
from typing import Final

from mainstem import reasons


_REMEDY: Final = "undo the change, or raise checkpoint.generation to start anew"
_SENTENCES: Final = {
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE": (
        "the keys of the state have changed: columns, or their types, of a GROUP BY, a join or a deduplication"
        "{columns}; " + _REMEDY
    ),
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE": (
        "the values of the state have changed: an aggregate, the type of a join, or the columns of a stream that it keeps"
        "{columns}; " + _REMEDY
    ),
    "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY": (
        "the query keeps state and the checkpoint has none: the query kept none before, or the directory was removed; "
        "restore it, or raise checkpoint.generation to start anew"
    ),
    "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA": (
        "the checkpoint has the state of other operators{operators}; " + _REMEDY
    ),
    reasons.STREAMING_CHECKPOINT_MISSING_METADATA_FILE: (
        "the checkpoint's file `metadata` is missing, and with it the id by which tables recognize batches that they have; "
        "restore it, "
        "or raise checkpoint.generation to start anew"
    ),
}
_SCHEMAS: Final = re.compile(r"Existing \w+_schema=(?P<was>\S+) and new \w+_schema=(?P<now>\S+)")
_FIELD: Final = re.compile(r"StructField\((?P<name>[^,()]+),(?P<kind>\w+?)(?:Type)?[,(]")
_OPERATORS: Final = re.compile(
    r"operators in the metadata: \[(?P<was>[^\]]*)\]; Stateful operators in current batch: \[(?P<now>[^\]]*)\]"
)
_OPERATOR: Final = re.compile(r"OperatorName: (?P<name>\w+)")


def change_message(condition: str, text: str) -> str | None:
    """The message for an error condition of Spark; None where the condition does not concern a change of the document.

    Args:
        condition: name of the condition.
        text: the whole text of Spark's error.
    """
    sentence = _SENTENCES.get(condition)
    if sentence is None:
        return None
    return sentence.format(columns=_columns(text), operators=_operators(text))


def _columns(text: str) -> str:
    match = _SCHEMAS.search(text)
    if match is None:
        return ""
    was, now = (
        ", ".join(f"{field['name']} {field['kind']}" for field in _FIELD.finditer(schema))
        for schema in (match["was"], match["now"])
    )
    return f" (was {was or 'nothing'}; is {now or 'nothing'})"


def _operators(text: str) -> str:
    match = _OPERATORS.search(text)
    if match is None:
        return ""
    was, now = (", ".join(_OPERATOR.findall(part)) for part in (match["was"], match["now"]))
    return f" (was {was or 'none'}; is {now or 'none'})"
