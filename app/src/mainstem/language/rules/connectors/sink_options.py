"""Rules for options of file sinks. Spark's writers ignore options with unknown names."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import nearest_of
from mainstem.language.model.connectors.file_sink import FileSink
from mainstem.language.rules.context import Context


_ANY: Final = ("maxRecordsPerFile", "retention")
_TEXT: Final = ("compression", "lineSep", "encoding")
_TIMES: Final = (
    "dateFormat",
    "timestampFormat",
    "timestampNTZFormat",
    "timeFormat",
    "timeZone",
    "locale",
)
KNOWN: Final = {
    "csv": (
        *_ANY,
        *_TEXT,
        *_TIMES,
        "charset",
        "codec",
        "charToEscapeQuoteEscaping",
        "comment",
        "delimiter",
        "emptyValue",
        "escape",
        "escapeQuotes",
        "header",
        "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace",
        "nullValue",
        "quote",
        "quoteAll",
        "sep",
    ),
    "json": (
        *_ANY,
        *_TEXT,
        *_TIMES,
        "charset",
        "ignoreNullFields",
        "pretty",
        "sortKeys",
        "writeNonAsciiCharacterAsCodePoint",
    ),
    "text": (*_ANY, *_TEXT),
    "parquet": (*_ANY, "compression"),
    "orc": (*_ANY, "compression"),
}
"""Format -> options of its writer in Spark 4.2, from Spark's pages on data sources. Options of Hadoop contain a dot."""


def unknown(context: Context) -> Iterator[Problem]:
    """A warning: Spark's writer of the format has no option of this name, and ignores it."""
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.files is None:
                continue
            kind = sink.choice()
            known = {name.lower() for name in KNOWN[kind]} | FileSink.owned_options.keys()
            for name in sink.files.options:
                if "." not in name and name.lower() not in known:
                    near = nearest_of(name, KNOWN[kind])
                    message = f"Spark's writer of {kind} has no option {name!r} and ignores it{near}"
                    at = ("queries", index, "to", place, kind, "options", name)
                    yield context.problem(at, message, reasons.UNKNOWN_OPTION, key=True, warning=True)
