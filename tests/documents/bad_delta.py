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
            "10:28: spec.sources[0].delta.startingTimestamp: startingVersion and startingTimestamp both set the start of the stream; remove one of them [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "Delta stream with two answers to a change",
        (("Commits: true", "Commits: true\n        ignoreChanges: true\n        ignoreDeletes: true"),),
        (
            "11:24: spec.sources[0].delta.ignoreChanges: skipChangeCommits already sets how the stream handles such commits, and Delta would ignore ignoreChanges; remove one of them [FieldsConflict]",
            "12:24: spec.sources[0].delta.ignoreDeletes: skipChangeCommits already sets how the stream handles such commits, and Delta would ignore ignoreDeletes; remove one of them [FieldsConflict]",
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
            "14:40: spec.queries[0].to[0].delta.path: the query reads this folder and would read its own output; use another folder [SinkIsSource]",
        ),
        DELTA,
    ),
    Bad(
        "merge by sequences that are no columns",
        (("path: /lake/silver", "path: /lake/silver, merge: {keys: [id], sequenceBy: {at: 1}}"),),
        ("14:86: spec.queries[0].to[0].delta.merge.sequenceBy: a mapping is not a list [InvalidType]",),
        DELTA,
    ),
    Bad(
        "merge by one of its sequences as a key",
        (("path: /lake/silver", "path: /lake/silver, merge: {keys: [id, at], sequenceBy: [seq, AT]}"),),
        (
            "14:90: spec.queries[0].to[0].delta.merge.sequenceBy: 'AT' is also a key, so each change would be a separate row; use a column that is not a key [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "merge by its sequence as a key",
        (("path: /lake/silver", "path: /lake/silver, merge: {keys: [id, at], sequenceBy: at}"),),
        (
            "14:90: spec.queries[0].to[0].delta.merge.sequenceBy: 'at' is also a key, so each change would be a separate row; use a column that is not a key [FieldsConflict]",
        ),
        DELTA,
    ),
    Bad(
        "merge that leaves its keys out",
        (("path: /lake/silver", "path: /lake/silver, merge: {keys: [id], exceptColumns: [Id]}"),),
        (
            "14:90: spec.queries[0].to[0].delta.merge.exceptColumns[0]: 'Id' is a key, the sequence or a partition column; the table needs it, so remove it here [FieldsConflict]",
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
        "condition of a merge over other rows",
        (
            (
                "path: /lake/silver",
                "path: /lake/silver, merge: {keys: [id], deleteWhen: count(*) OVER () > 1}",
            ),
        ),
        (
            "14:86: spec.queries[0].to[0].delta.merge.deleteWhen: deleteWhen must not contain a window function; it is a predicate over the columns of one row; compute it in a view [NotAPredicate]",
        ),
        DELTA,
    ),
    Bad(
        "schema replaced where rows stay",
        (("path: /lake/silver", "path: /lake/silver, overwriteSchema: true"),),
        (
            "14:71: spec.queries[0].to[0].delta.overwriteSchema: in append mode the table keeps its rows and their columns; use mergeSchema to add columns [FieldsConflict]",
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
            "14:85: spec.queries[0].to[0].delta.maintenance.vacuum.retain: 6 days is too short: slow readers and streams could still need removed files; set 7 days or more [OutOfRange]",
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
            "14:114: spec.queries[0].to[0].delta.maintenance.optimize.zOrderBy[1]: 'Day' is a partition column, so all rows of a file have the same value; remove it here [MaintenanceNotAllowed]",
        ),
        DELTA,
    ),
    Bad(
        "option of a Delta table with a field",
        (("path: /lake/silver", 'path: /lake/silver, options: {mergeSchema: "true"}'),),
        (
            "14:64: spec.queries[0].to[0].delta.options.mergeSchema: mergeSchema is a field one level up; move it out of options [OwnedOption]",
        ),
        DELTA,
    ),
]
