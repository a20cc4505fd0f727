"""Reasons of running queries and of events: nothing has failed, and somebody has to know."""

from typing import Final

from mainstem.reasons.reason import Reason


SIDE_INPUTS_STALE: Final = Reason(
    "SideInputsStale",
    "The driver could not build the query again with the current tables of `static.refresh`. The query continues "
    "with the tables that it has read before. The message has the cause.",
    "Remove the cause. The driver tries again after `refresh`. See [side inputs are old](#what-to-do-when).",
)
WATERMARK_AHEAD: Final = Reason(
    "WatermarkAhead",
    "A record with a future event time has moved the watermark, and the query drops rows of today.",
    "See [the watermark is ahead](#what-to-do-when).",
)
KEYS_DIFFER_IN_CASE: Final = Reason(
    "KeysDifferInCase",
    "JSON objects have a key that differs from a column only in case, such as `ID` for `id`. Keys are case-sensitive, so the "
    "column is NULL. The driver looks at one record of each batch, of at most 16 KiB, among those in which a column is NULL.",
    "Write the key in the schema as the objects have it. A view can give the column another name.",
)
FILES_PASSED_OVER: Final = Reason(
    "FilesPassedOver",
    "Below the path of a source are files that no batch reads. Unless a folder is called like `k=v`, Spark reads only the files "
    "directly in the path; a side input reads none beside such folders. The message has their number and the first of them.",
    "See [files are passed over](#what-to-do-when).",
)
FILES_CHANGED: Final = Reason(
    "FilesChanged",
    "Below the path of a source are files that have changed since Spark listed them for a batch, or, with `fileNameOnly`, that have "
    "the name of such a file. A stream reads a file once, so no later batch reads them. The message has their number and the first one.",
    "See [files have changed](#what-to-do-when).",
)
RECONCILE_FAILED: Final = Reason(
    "ReconcileFailed",
    "An event of the pipeline: it quotes an error of the API server that the status does not show.",
    "Do nothing; the operator tries again. If it recurs, read the operator's log.",
)
