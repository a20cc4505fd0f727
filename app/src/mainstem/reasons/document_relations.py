"""Reasons of problems in sources, views and their SQL."""

from typing import Final

from mainstem.reasons.reason import document_problem


DUPLICATE_RELATION: Final = document_problem(
    "DuplicateRelation",
    "A view, a source's dead letters or a view's quarantine has the name of another source or view.",
    "Rename one, so that SQL can distinguish them.",
)
UNKNOWN_RELATION: Final = document_problem(
    "UnknownRelation",
    "`from` or SQL names a relation that is not a source, view, dead letters or quarantine.",
    "Correct the name. For dead letters set `onMalformedRecord: deadLetter`.",
)
UNKNOWN_CONNECTION: Final = document_problem(
    "UnknownConnection",
    "The document has no connection of this name.",
    "Correct the name, or add the connection to `connections`.",
)
WRONG_CONNECTION: Final = document_problem(
    "WrongConnection",
    "A source or sink names a connection of another kind.",
    "Name a connection of the kind that the message shows.",
)
UNKNOWN_COLUMN: Final = document_problem(
    "UnknownColumn",
    "A field names a column that does not exist. Or a view's SQL does, and all its relations declare "
    "their columns. Spark's own reason for the same is `UNRESOLVED_COLUMN`.",
    "Use the column that the message suggests. Mainstem does not check files without `decode`, because "
    "their folders may have more columns.",
)
AMBIGUOUS_COLUMN: Final = document_problem(
    "AmbiguousColumn",
    "Two relations of a view's FROM clause have the column.",
    "Write the column with the relation's name or alias.",
)
UNKNOWN_FUNCTION: Final = document_problem(
    "UnknownFunction",
    "SQL calls a function that neither Spark nor `spec.functions` has.",
    "Use the function that the message suggests, or declare your own in `functions`.",
)
DUPLICATE_COLUMN: Final = document_problem(
    "DuplicateColumn",
    "A schema, or what a query writes, has two columns of one name: Spark ignores the case of names. Or `decode.keep` names a "
    "column that the schema also has.",
    "Rename one in the schema or the view (`b.id AS b_id`), or remove it from `keep`.",
)
NOT_A_QUERY: Final = document_problem(
    "NotAQuery",
    "A view's SQL is a statement, has several statements, or is empty.",
    "Write exactly one query.",
)
FORBIDDEN_FUNCTION: Final = document_problem(
    "ForbiddenFunction",
    "SQL runs code in the driver's JVM, runs a command of the machine, or hides a name with "
    "`IDENTIFIER(...)`.",
    "Leave it out.",
)
FILE_IN_SQL: Final = document_problem(
    "FileInSql",
    "SQL reads files by their path: ``text.`/a/b` ``, ``delta.`s3a://...` ``, "
    "`table_changes_by_path('/a/b', 0)`. Mainstem turns off Spark's `runSQLOnFiles`, because it also "
    "opens the pod's own files.",
    "Declare the folder as a source: `files`, `delta`, `static`.",
)
TIME_TRAVEL_NOT_ALLOWED: Final = document_problem(
    "TimeTravelNotAllowed",
    "SQL reads an earlier version of a relation: `t FOR SYSTEM_TIME AS OF e.ts`, `VERSION AS OF 3`. Spark refuses it for every "
    "relation of a document.",
    "For a fixed version of a Delta table set `version` or `timestamp` of a `static` source; without them it is read as it is now. "
    "A `state` step over two streams finds the row that was valid at the time of an event.",
)
CYCLIC_VIEWS: Final = document_problem(
    "CyclicViews",
    "Views read each other in a circle.",
    "Remove one of the reads that the message shows.",
)
OCCURRENCE_NAME: Final = document_problem(
    "OccurrenceName",
    "A query reads a source twice. Mainstem calls the second occurrence `<name>_2`, and another relation "
    "has that name.",
    "Rename the other relation.",
)
TOO_MANY_OCCURRENCES: Final = document_problem(
    "TooManyOccurrences",
    "A query reads sources more than 256 times in all. Each read of a view builds it again, so views that"
    " each read the previous view twice double the reads.",
    "Write the view that is read often to a table, by a query of its own, and read that table.",
)
SQL_NOT_READ: Final = document_problem(
    "SqlNotRead",
    "*Warning*: Mainstem cannot read the SQL of a view from the place that the message shows, so it checks no relation, column, "
    "aggregate or join of this view, and a later change of it is compared as text. Spark checks it at the start.",
    "Look for a typing error. [SQL](sql.md#what-is-not-read) has what Mainstem does not read, and what to write instead. "
    "`mainstem preflight` shows what Spark finds.",
)
UNUSED_SOURCE: Final = document_problem(
    "UnusedSource",
    "*Warning*: no query reads a source or view.",
    "Remove it, or add a query.",
)
DECODE_NOT_ALLOWED: Final = document_problem(
    "DecodeNotAllowed",
    "`decode` is set on a source that has columns already, or `keep` on a source that is not Kafka.",
    "Leave it out; the message names the alternative.",
)
NOT_FAULT_TOLERANT: Final = document_problem(
    "NotFaultTolerant",
    "*Warning*: the source has generated rows, or lines of a socket.",
    "Use it only for demos and tests.",
)
SCHEMA_INVALID: Final = document_problem(
    "SchemaInvalid",
    "Spark cannot read a `schema`, `stateSchema` or type; the message shows the place. Or an Avro schema is not the schema of a "
    "record.",
    "Write columns as `id INT, tags ARRAY<STRING>`, with other names than letters, digits and `_` in backticks, and an Avro schema "
    'as `{"type": "record", "name": ..., "fields": [...]}`.',
)
DEAD_LETTERS_UNREAD: Final = document_problem(
    "DeadLettersUnread",
    "No query reads a source's dead letters.",
    "Add a query that reads them, or set `onMalformedRecord: drop`.",
)
DEAD_LETTERS_READ_TWICE: Final = document_problem(
    "DeadLettersReadTwice",
    "More than one query reads a source's dead letters.",
    "Keep exactly one of these queries.",
)
NOT_A_PREDICATE: Final = document_problem(
    "NotAPredicate",
    "An expectation or `deleteWhen` contains a query, an aggregate, a window function, or a function that makes several "
    "rows of one.",
    "Write a predicate over one row, and compute the rest in a view, as a column.",
)
QUARANTINE_UNREAD: Final = document_problem(
    "QuarantineUnread",
    "No query reads the rows that a view puts into its quarantine.",
    "Add a query that reads `<view>_quarantine`, or set `onViolation: drop`.",
)
QUARANTINE_READ_TWICE: Final = document_problem(
    "QuarantineReadTwice",
    "More than one query reads a view's quarantine.",
    "Keep exactly one of these queries.",
)
WATERMARK_NOT_ALLOWED: Final = document_problem(
    "WatermarkNotAllowed",
    "A static table, or a view of static tables only, has a watermark. Or its deduplication has "
    "`withinWatermark`. Or the column of a source's watermark has a declared type that is no TIMESTAMP.",
    "Leave it out, or declare the column as a TIMESTAMP.",
)
FUNCTION_NAME_TAKEN: Final = document_problem(
    "FunctionNameTaken",
    "A function has the name of one of Spark's functions, and Spark would call its own.",
    "Choose another name.",
)
AGGREGATE_NOT_ALLOWED: Final = document_problem(
    "AggregateNotAllowed",
    "A query calls an aggregate in Python over a stream. Spark cannot keep its state.",
    "Use [a function of a list](python.md#aggregates).",
)
