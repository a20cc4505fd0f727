"""Words, names and identifiers that the glossary retires, and the functions that find them in a text."""

import re
from collections.abc import Iterator
from typing import Final


RETIRED_NAMES: Final = {
    "upkeep": "maintenance",
    "onBadRecord": "onMalformedRecord",
    "BadRecord": "MalformedRecord",
    "Refused": "Invalid",
    "Cut": "Interrupted",
    "DrainCut": "DrainTimedOut",
    "AsAsked": "AsExpected",
    "DriverSilent": "DriverNotReporting",
    "TableClaimed": "TableOwnedByAnotherPipeline",
    "ClaimNotReadable": "TableOwnershipUnreadable",
    "StatePinned": "StateLayoutChanged",
    "Unread": "UnusedSource",
    "source_good_records_total": "source_decoded_records_total",
    "source_bad_records_total": "source_malformed_records_total",
    "source_lost_offsets_total": "source_expired_offsets_total",
}
"""Names of the API that are no more -> the name instead. In pages they stand in code, `like this`, or in a document."""

RETIRED_WORDS: Final = {
    r"lint": "warning",
    r"made[- ]up": "generated",
    r"(?:good|bad) records?": "decoded, malformed records",
    r"(?:is|are|it) well|queries well": "healthy, active",
    r"told|heard": "name who reports what to whom",
    r"tells? of|tells (?:every|each|which|what|how|when|why)": "reports, shows, documents",
    r"says|said": "reports, shows, documents",
    r"rooms?": "packages",
    r"buried": "deleted",
    r"stillborn": "incomplete",
    r"last words": "final status",
    r"sign of life": "report",
    r"claims?|claimed": "owns",
    r"scouts?": "input poller",
    r"heeded": "obeyed, used",
    r"by hand of": "by",
    r"such as it is": "",
    r"sees? to": "manages",
    r"vouch(?:es)?": "knows",
}
"""Words of prose, as patterns of whole words -> what stands instead."""

RETIRED_MODULES: Final = {
    "spec": "language",
    "build": "dataframes",
    "run": "runtime",
    "upkeep": "maintenance",
    "signs": "failure_patterns",
    "scout": "input_poller",
    "waits": "waiting_queries",
    "needed": "requirements",
    "place": "environment",
    "places": "paths",
    "watch": "driver_state",
    "pinned": "checkpoint_compatibility",
    "sweep": "orphan_files",
    "slots": "core_check",
    "claims": "table_ownership",
    "handle": "execution",
    "handles": "execution",
    "running": "supervised_query",
    "runs": "batch_journal",
    "hadoop": "filesystem",
    "brokers": "kafka_admin",
    "archive": "class_data_sharing",
    "madeup": "generated_sources",
    "fit": "sink_checks",
    "streams": "source_options",
    "messages": "shape_validation",
    "querystatus": "query_status",
    "statuses": "status_report",
    "statuswriter": "status_writer",
    "judge": "documents",
    "past": "history",
    "rights": "rbac",
    "podtemplate": "pod_template",
    "driverpod": "pod_status",
    "oplogs": "logs",
    "busy": "builders",
    "operating": "operator_steps",
    "turning": "supervisor_loop",
    "stage": "deployment",
    "lint": "findings",
    "rooms": "packages",
}
"""Names of modules and packages that are no more -> the name instead."""

RETIRED_IDENTIFIERS: Final = {"found", "told", "seen", "judged", "of", "what", "one", "it"}
"""Names that no variable, parameter, attribute or function has: take a noun for data, a verb for an action."""


def retired_words(text: str) -> Iterator[str]:
    for pattern in RETIRED_WORDS:
        if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE):
            yield pattern


def retired_names(text: str) -> Iterator[str]:
    for retired in RETIRED_NAMES:
        if re.search(rf"(?<![A-Za-z]){retired}(?![A-Za-z])", text):
            yield retired
