"""As `bad`, for Delta tables: what a stream of one, a table that is written, a merge and its maintenance may be asked for."""

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
            "9:29: spec.sources[0].delta.maxBytesPerTrigger: '10 GB' is not a size in the form of Spark, such as 512m or 10g [InvalidQuantity]",
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
    Bad(
        "merge by its sequence as a key",
        (("path: /lake/silver", "path: /lake/silver, merge: {keys: [id, at], sequenceBy: at}"),),
        (
            "14:90: spec.queries[0].to[0].delta.merge.sequenceBy: the sequence orders the changes of one key; as a key itself each change would be a row of its own [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "merge that leaves its keys out",
        (("path: /lake/silver", "path: /lake/silver, merge: {keys: [id], exceptColumns: [Id]}"),),
        (
            "14:90: spec.queries[0].to[0].delta.merge.exceptColumns[0]: 'Id' is a key, the sequence or a partition of the table, which cannot be without it [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "condition that reaches into the JVM",
        (
            (
                "path: /lake/silver",
                "path: /lake/silver, merge: {keys: [id], deleteWhen: \"op = reflect('a', 'b')\"}",
            ),
        ),
        (
            "14:92: spec.queries[0].to[0].delta.merge.deleteWhen: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
        DELTA,
    ),
    Bad(
        "schema replaced where rows stay",
        (("path: /lake/silver", "path: /lake/silver, overwriteSchema: true"),),
        (
            "14:71: spec.queries[0].to[0].delta.overwriteSchema: in append mode the table's rows stay, and their columns with them; use mergeSchema to add columns [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "maintenance of nothing",
        (("path: /lake/silver", "path: /lake/silver, maintenance: {every: 1h}"),),
        (
            "14:67: spec.queries[0].to[0].delta.maintenance: at least one of optimize, vacuum must be given [MaintenanceEmpty]",
        ),
        DELTA,
    ),
    Bad(
        "vacuum of this week",
        (("path: /lake/silver", "path: /lake/silver, maintenance: {vacuum: {retain: 6 days}}"),),
        (
            "14:85: spec.queries[0].to[0].delta.maintenance.vacuum.retain: Delta keeps the files of a week: a reader, or a stream that lags, would find some of them gone [OutOfRange]",
        ),
        DELTA,
    ),
    Bad(
        "Z-order by a partition",
        (
            (
                "path: /lake/silver",
                "path: /lake/silver, partitionBy: [day], maintenance: {optimize: {zOrderBy: [id, Day]}}",
            ),
        ),
        (
            "14:114: spec.queries[0].to[0].delta.maintenance.optimize.zOrderBy[1]: 'Day' partitions the table, and so is the same in all rows of a file; leave it out [MaintenanceNotAllowed]",
        ),
        DELTA,
    ),
    Bad(
        "option of a Delta table with a field",
        (("path: /lake/silver", 'path: /lake/silver, options: {mergeSchema: "true"}'),),
        (
            "14:64: spec.queries[0].to[0].delta.options.mergeSchema: mergeSchema is a field of its own, one level up; it does not go under options [OwnedOption]",
        ),
        DELTA,
    ),
]
