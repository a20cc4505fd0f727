"""Options of Delta's source and sink; pure."""

from mainstem.language.model.connectors.delta import DeltaSink, DeltaSource


def source_options(source: DeltaSource) -> dict[str, str]:
    """The options of Delta's source."""
    values = {
        "maxFilesPerTrigger": source.max_files_per_trigger,
        "maxBytesPerTrigger": source.max_bytes_per_trigger,
        "startingVersion": source.starting_version,
        "startingTimestamp": source.starting_timestamp,
        "excludeRegex": source.exclude_regex,
    }
    switches = {
        "ignoreDeletes": source.ignore_deletes,
        "ignoreChanges": source.ignore_changes,
        "skipChangeCommits": source.skip_change_commits,
        "readChangeFeed": source.read_change_feed,
        "failOnDataLoss": source.fail_on_data_loss,
    }
    options = dict(source.options) | {key: str(value) for key, value in values.items() if value is not None}
    return options | {key: str(value).lower() for key, value in switches.items()}


def sink_options(sink: DeltaSink) -> dict[str, str]:
    """The options of Delta's streaming writer, besides those that the document passes through."""
    switches = {"mergeSchema": sink.merge_schema, "overwriteSchema": sink.overwrite_schema}
    return {key: "true" for key, on in switches.items() if on}
