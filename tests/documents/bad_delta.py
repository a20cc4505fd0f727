"""As `bad`, for Delta tables: what a stream of one, a table that is written, a merge and its upkeep may be asked for."""

from typing import Final

from documents.bad import Bad


DELTA: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: medallion}
spec:
  sources:
    - name: bronze
      delta:
        path: /lake/bronze
        startingVersion: 3
        skipChangeCommits: true
  queries:
    - name: silver
      from: bronze
      to: [{name: table, delta: {path: /lake/silver}}]
  checkpoints: {location: /ckpt/medallion}
"""

BAD_DELTA: Final = [
    Bad(
        "Delta stream with two starts",
        (("startingVersion: 3", "startingVersion: 3\n        startingTimestamp: 2026-01-01"),),
        (
            "10:28: spec.sources[0].delta.startingTimestamp: startingVersion says already where the stream starts; give one of the two [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "Delta stream with two answers to a change",
        (("Commits: true", "Commits: true\n        ignoreChanges: true\n        ignoreDeletes: true"),),
        (
            "11:24: spec.sources[0].delta.ignoreChanges: skipChangeCommits says already what becomes of such commits, and ignoreChanges would be passed over [FieldsConflict]",
            "12:24: spec.sources[0].delta.ignoreDeletes: skipChangeCommits says already what becomes of such commits, and ignoreDeletes would be passed over [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "version of a table that is none",
        (("startingVersion: 3", "startingVersion: newest"),),
        (
            "9:26: spec.sources[0].delta.startingVersion: 'newest' is not a version of a Delta table: a number, or latest [InvalidValue]",
        ),
        DELTA,
    ),
    Bad(
        "batch of no size",
        (("startingVersion: 3", "maxBytesPerTrigger: 10 GB"),),
        (
            "9:29: spec.sources[0].delta.maxBytesPerTrigger: '10 GB' is not a size in Spark's words such as 512m or 10g [InvalidQuantity]",
        ),
        DELTA,
    ),
    Bad(
        "option of a Delta stream with a field",
        (("startingVersion: 3", 'options: {readChangeData: "true"}'),),
        (
            "9:19: spec.sources[0].delta.options.readChangeData: readChangeData is set by Mainstem; use readChangeFeed [OwnedOption]",
        ),
        DELTA,
    ),
    Bad(
        "table that is read and written",
        (("path: /lake/silver", "path: /lake/bronze/"),),
        (
            "14:40: spec.queries[0].to[0].delta.path: the query reads this folder; it would read its own output [SinkIsSource]",
        ),
        DELTA,
    ),
]
