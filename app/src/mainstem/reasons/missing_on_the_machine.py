"""Reasons of a start that fails because the machine, the image or the document's code lacks something."""

from typing import Final

from mainstem.reasons.reason import Restarted, missing


FILE_NOT_READABLE: Final = missing(
    "FileNotReadable",
    "Mainstem cannot read the document.",
    "Check the path and its permissions; the file must be UTF-8.",
)
OUTPUT_NOT_WRITABLE: Final = missing(
    "OutputNotWritable",
    "The command cannot write its output, for example because the disk is full or broken.",
    "Free space where standard output or a report goes, or write elsewhere.",
)
TESTS_NOT_FOUND: Final = missing(
    "TestsNotFound",
    "The document has no tests beside it.",
    "Write `x.test.yaml` for `x.yaml`: [testing.md](testing.md).",
)
TABLE_NOT_GIVEN: Final = missing(
    "TableNotGiven",
    "A test case reads a static table that is not on a disk of this machine, and gives no rows for it.",
    "Add `tables` to the case or to the file.",
)
SCHEMA_NOT_GIVEN: Final = missing(
    "SchemaNotGiven",
    "A test case gives rows to a source whose columns are known only from its table.",
    "Add `schemas` to the file.",
)
STEP_TIMEOUT: Final = missing(
    "StepTimeout",
    "A step of a test case did not end within two minutes. In most cases your own code hangs.",
    "Find and correct the code that hangs.",
)
NOTHING_COMPARED: Final = missing(
    "NothingCompared",
    "`mainstem trial` has compared no query. Its output has the cause for each query, for example that the query is new.",
    "Remove the causes, or accept that a trial cannot show the effect of this change: [trial.md](trial.md).",
)
NOTHING_ON_TRIAL: Final = missing(
    "NothingOnTrial",
    "`kubectl mainstem promote` found no changed document on trial; the message shows the last trial.",
    "Look at `status.trial`: the document may be applied already, or it had no trial. See [trial.md](trial.md#on-a-cluster).",
)
SPARK_NOT_INSTALLED: Final = missing(
    "SparkNotInstalled",
    "Mainstem is installed without Spark.",
    "Install it with its extra `spark`, see [Installing](../README.md#installing), or run `make setup`.",
)
CLUSTER_CLIENT_NOT_INSTALLED: Final = missing(
    "ClusterClientNotInstalled",
    "Mainstem is installed without the client of the Kubernetes API, which `--cluster` needs.",
    "Install it with its extra `cluster`: `pip install 'mainstem[cluster]'`.",
)
KUBECONFIG_UNUSABLE: Final = missing(
    "KubeconfigUnusable",
    "The command finds no kubeconfig, or no such context in it. The message quotes the cause.",
    "Set `KUBECONFIG`, or give `--context`. `kubectl config get-contexts` lists the contexts.",
)
NOT_A_DRIVER_POD: Final = missing(
    "NotADriverPod",
    "Somebody started `mainstem driver` or `mainstem executor` outside a pod. The message names the "
    "variables that only a pod has.",
    "Use `mainstem run`.",
)
NOT_AN_EXECUTOR: Final = NOT_A_DRIVER_POD.also("NotAnExecutor")
JAVA_NOT_FOUND: Final = missing(
    "JavaNotFound",
    "The machine has no Java 17 or 21.",
    "Install `openjdk-17-jre-headless` or `openjdk-21-jre-headless`, or set `JAVA_HOME`.",
)
LISTENER_NOT_FOUND: Final = missing(
    "ListenerNotFound",
    "Python cannot import or create a class of `listeners`, or the class is not a "
    "`StreamingQueryListener`. The message quotes Python.",
    "Put its module into the image, or on `PYTHONPATH`.",
)
JARS_NOT_FOUND: Final = missing(
    "JarsNotFound",
    "The JVM dependencies are missing, or are of another version than Mainstem.",
    "Install as for `SparkNotInstalled`.",
)
JAR_NOT_FOUND: Final = missing(
    "JarNotFound",
    "A file of `packages.jars` does not exist.",
    "Correct the path; it is relative to the document.",
)
PACKAGES_MISSING: Final = missing(
    "PackagesMissing",
    "The driver's image does not contain a jar that `packages` names.",
    "Build an image with the lines of the message: [connectors.md](connectors.md#on-a-cluster).",
)
PACKAGES_NOT_RESOLVED: Final = missing(
    "PackagesNotResolved",
    "No repository has an artifact of `packages.maven`, or the repository does not answer. The message "
    "quotes Ivy.",
    "Check the coordinate and the network, or name a mirror: [connectors.md](connectors.md#on-one-machine).",
)
TOO_FEW_OPEN_FILES: Final = missing(
    "TooFewOpenFiles",
    "This process may open fewer than 1,024 files. Spark's class path alone has over 300 jars.",
    "Run `ulimit -n 4096`. A service manager has its own setting, for example `LimitNOFILE`.",
)
USER_UNKNOWN: Final = missing(
    "UserUnknown",
    "The user id of this process has no name in `/etc/passwd`, which Hadoop needs.",
    "Run as a named user.",
)
TEMPORARY_FOLDER_NOT_WRITABLE: Final = missing(
    "TemporaryFolderNotWritable",
    "Mainstem cannot create a folder in the temporary folder.",
    "Set `TMPDIR` to a folder that this user may write to.",
)
JVM_NOT_STARTED: Final = missing(
    "JvmNotStarted",
    "Spark's JVM ended at once; the message has its last lines.",
    "Often `--heap` is larger than the machine's memory: lower it.",
)
JVM_LOST: Final = missing(
    "JvmLost",
    "Spark's JVM ended during the run: its heap was full, or something killed it. The message has its "
    "last lines.",
    "Raise `--heap`, then start again.",
)
SECRET_NOT_FOUND: Final = missing(
    "SecretNotFound",
    "A file of a secret is missing or not readable.",
    "Create `$MAINSTEM_SECRETS/<secret>/<key>`; see the [README](../README.md#parameters-and-secrets).",
)
SECRET_INVALID: Final = missing(
    "SecretInvalid",
    "Kafka's clients cannot read a value of a secret: `tls.key` must be PKCS#8, unencrypted.",
    "Run `openssl pkcs8 -topk8 -nocrypt -in tls.key`.",
)
CORES_MISSING: Final = missing(
    "CoresMissing",
    "Continuous and real-time queries hold a core for each partition, and the run has fewer cores. Spark "
    "would not read some partitions.",
    "Raise `--cores`, or `executors` on a cluster. Or give these queries a pipeline of their own.",
)
MODULE_NOT_FOUND: Final = missing(
    "ModuleNotFound",
    "A Python module, or a module that it imports, does not exist.",
    "Install it: [where modules are found](python.md#where-modules-are-found).",
    Restarted.YES,
)
MODULE_FAILED: Final = missing(
    "ModuleFailed",
    "The import of a module raised an exception. The message has the exception and your lines of code.",
    "Correct the module, or what it needs.",
    Restarted.YES,
)
FUNCTION_NOT_FOUND: Final = missing(
    "FunctionNotFound",
    "The module has no such function or class.",
    "Correct the name behind the colon.",
    Restarted.YES,
)
FUNCTION_NOT_USABLE: Final = missing(
    "FunctionNotUsable",
    "Spark cannot use the function or class. Examples: it is already a UDF, its type hints or parameters "
    "do not fit the call, or it implements none of the interfaces.",
    "Correct what the message names; it shows what the call passes.",
    Restarted.YES,
)
NOT_A_DATA_FRAME: Final = missing(
    "NotADataFrame",
    "The function of a view did not return a DataFrame.",
    "Return a DataFrame.",
    Restarted.YES,
)
SCHEMA_FILE_NOT_READABLE: Final = missing(
    "SchemaFileNotReadable",
    "Mainstem cannot read a `schemaFile`. It is a file of this machine, or in a driver pod of the image "
    "or of a ConfigMap that `driver.template` mounts.",
    "Correct the path, or put the file there.",
    Restarted.YES,
)
SCHEMA_FILE_INVALID: Final = missing(
    "SchemaFileInvalid",
    "A `schemaFile` is neither the JSON of a Spark StructType nor an Avro record's schema.",
    "Write the JSON with `df.schema.json()`, or use an `.avsc` file.",
    Restarted.YES,
)
