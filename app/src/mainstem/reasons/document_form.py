"""Reasons of problems in the form of a document: YAML, fields, values, names, parameters."""

from typing import Final

from mainstem.reasons.reason import document_problem


SPEC_INVALID: Final = document_problem(
    "SpecInvalid",
    "The document has at least one problem; each problem has a line of its own.",
    "Correct all of them; the message shows them together.",
)
EMPTY_DOCUMENT: Final = document_problem(
    "EmptyDocument",
    "The file has no document.",
    "Write a `StreamingPipeline` into it, or name another file.",
)
WRONG_KIND: Final = document_problem(
    "WrongKind",
    "The document is not a `StreamingPipeline`.",
    "Correct `kind` and `apiVersion`. Mainstem skips documents of other API groups in the same file.",
)
NOT_ONE_PIPELINE: Final = document_problem(
    "NotOnePipeline",
    "`run` needs a file with exactly one pipeline.",
    "Split the file; `validate` takes several pipelines.",
)
NOT_ONE_TEST: Final = document_problem(
    "NotOneTest",
    "A file of tests needs exactly one `PipelineTest`.",
    "Split the file; `mainstem test` takes several files.",
)
INVALID_YAML: Final = document_problem(
    "InvalidYaml",
    "The file is not YAML, or it uses tags, deep nesting or too many values or aliases.",
    "Correct what the message names; often it is quotes or indentation.",
)
DUPLICATE_KEY: Final = document_problem(
    "DuplicateKey",
    "A mapping has the same key twice.",
    "Remove one.",
)
KEY_WITHOUT_QUOTES: Final = document_problem(
    "KeyWithoutQuotes",
    "*Warning*: a key without quotes has another name in Kubernetes than in the file: `kubectl` makes `true` of `y` and `on`,"
    " and `1000` of `1_000`.",
    "Put the key in quotes.",
)
MISSING_FIELD: Final = document_problem(
    "MissingField",
    "A required field is missing.",
    "Add the field that the message names.",
)
UNKNOWN_FIELD: Final = document_problem(
    "UnknownField",
    "The document has a field that does not exist at this place.",
    "Use the field that the message suggests.",
)
NOT_EXACTLY_ONE: Final = document_problem(
    "NotExactlyOne",
    "A union needs exactly one of its keys, and the document gives none or several.",
    "Give exactly one key.",
)
INVALID_TYPE: Final = document_problem(
    "InvalidType",
    "A value has the wrong type, for example a string for a number or a mapping for a list.",
    "Write the type that the message names; often only quotes are wrong.",
)
INVALID_VALUE: Final = document_problem(
    "InvalidValue",
    "A value is not one of the allowed values.",
    "Use a value that the message names.",
)
INVALID_NAME: Final = document_problem(
    "InvalidName",
    "A name is not a valid SQL identifier, label or bucket name.",
    "Choose a name of the form that the message describes.",
)
FIELDS_CONFLICT: Final = document_problem(
    "FieldsConflict",
    "Two fields set the same thing, or contradict each other. Examples: a batch limit on a bounded "
    "source; a minimum that is greater than the maximum.",
    "Keep one of the two; the message names them.",
)
INVALID_DURATION: Final = document_problem(
    "InvalidDuration",
    "A value is not a duration.",
    "Write `30 seconds`, `5m` or `1 day`.",
)
OUT_OF_RANGE: Final = document_problem(
    "OutOfRange",
    "A number is too small or too large, or a string or list is too short or too long.",
    "Stay within the limit that the message names.",
)
UNKNOWN_TIME_ZONE: Final = document_problem(
    "UnknownTimeZone",
    "The time zone does not exist.",
    "Write for example `UTC` or `Europe/Zurich`.",
)
UNKNOWN_PARAMETER: Final = document_problem(
    "UnknownParameter",
    "`${name}` or `--set name` uses a parameter that `spec.parameters` does not declare.",
    "Declare it, or write `$${` for a literal `${`.",
)
DUPLICATE_NAME: Final = document_problem(
    "DuplicateName",
    "Two entries of a list have the same name, or two jars of `packages` the same file name. Or a catalog"
    " has the name of one of Spark's catalogs.",
    "Rename one.",
)
DUPLICATE_ENTRY: Final = document_problem(
    "DuplicateEntry",
    "A list of topics, buckets or columns has the same entry twice.",
    "Remove one.",
)
DOCUMENT_TOO_COMPLEX: Final = document_problem(
    "DocumentTooComplex",
    "The SQL of all views is longer than 256 KiB, or the texts with their parameters filled in are longer"
    " than 4 MiB. Or the check of the document took more CPU time or memory than a worker process has.",
    "Split the document into several pipelines; simplify the SQL that the message names.",
)
FIELD_NOT_ALLOWED: Final = document_problem(
    "FieldNotAllowed",
    "A field does not go with the fields beside it.",
    "Leave it out.",
)
INVALID_QUANTITY: Final = document_problem(
    "InvalidQuantity",
    "A value is not an amount of CPU or memory, or not the size of a heap or a batch.",
    "Write resources as Kubernetes does (`500m`, `2Gi`), sizes as Java and Spark do (`512m`, `2g`).",
)
INVALID_CRON: Final = document_problem(
    "InvalidCron",
    "The schedule does not have five fields, or it names a time that never comes.",
    "Correct it; `0 3 * * *` is three o'clock each night.",
)
