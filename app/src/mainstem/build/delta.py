"""What Delta's source is told; pure."""

from mainstem.spec.delta import DeltaSource


def source_options(source: DeltaSource) -> dict[str, str]:
    """The options of Delta's source."""
    given = {
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
    options = dict(source.options) | {key: str(value) for key, value in given.items() if value is not None}
    return options | {key: str(value).lower() for key, value in switches.items()}
