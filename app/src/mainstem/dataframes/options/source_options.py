"""Options of Spark's file, rate and socket sources; pure."""

from typing import Final

from mainstem.language.base import seconds
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.generated_sources import (
    RateMicroBatchSource,
    RateSource,
    SocketSource,
)


_NEVER_TOO_OLD: Final = f"{2**63 - 1}ms"
"""By default Spark passes over a new file whose time is a week before that of the newest one, and does not report it."""


def files(source: FilesSource, occurrence: str) -> dict[str, str]:
    """The options of the file source, without its schema.

    Args:
        source: the source.
        occurrence: name of the source's occurrence in the query, under which Mainstem's jar reports expired files.
    """
    clean = source.clean_source
    values = {
        "maxFilesPerTrigger": source.max_files_per_trigger,
        "maxBytesPerTrigger": source.max_bytes_per_trigger,
        "maxFileAge": _NEVER_TOO_OLD,
        "pathGlobFilter": source.path_glob_filter,
        "cleanSource": None if clean is None else clean.choice(),
        "sourceArchiveDir": clean.archive if clean else None,
    }
    flags = {"latestFirst": source.latest_first, "fileNameOnly": source.file_name_only}
    flags |= {"mainstemFailOnDataLoss": source.fail_on_data_loss}
    report = {"mainstemSource": occurrence, "mainstemPath": source.path}
    return (
        dict(source.options)
        | _texts(values)
        | {key: str(flag).lower() for key, flag in flags.items()}
        | report
    )


def rate(source: RateSource) -> dict[str, str]:
    """The options of the rate source."""
    ramp = source.ramp_up_time
    return _texts(
        {
            "rowsPerSecond": source.rows_per_second,
            "rampUpTime": None if ramp is None else f"{round(seconds(ramp))}s",
            "numPartitions": source.num_partitions,
        }
    )


def rate_micro_batch(source: RateMicroBatchSource) -> dict[str, str]:
    """The options of the source that generates a fixed number of rows per batch."""
    return _texts(
        {
            "rowsPerBatch": source.rows_per_batch,
            "numPartitions": source.num_partitions,
            "startTimestamp": source.start_timestamp,
            "advanceMillisPerBatch": round(seconds(source.advance_per_batch) * 1000),
        }
    )


def socket(source: SocketSource) -> dict[str, str]:
    """The options of the socket source."""
    flag = str(source.include_timestamp).lower()
    return {"host": source.host, "port": str(source.port), "includeTimestamp": flag}


def _texts(values: dict[str, str | int | None]) -> dict[str, str]:
    return {key: str(value) for key, value in values.items() if value is not None}
