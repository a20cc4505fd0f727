"""The document: a StreamingPipeline with its metadata and its `spec`."""

from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from mainstem.backoff import pause_seconds
from mainstem.language.base import (
    LIST_MAP,
    LIST_SET,
    MAX_ITEMS,
    NUMBER_OR_TEXT,
    UNIQUE,
    Duration,
    Model,
    Options,
    ParameterName,
    PythonObject,
    Text,
    TimeZone,
    seconds,
)
from mainstem.language.model.connections import Connection
from mainstem.language.model.connectors.kinds import ConnectorKind, FieldPath
from mainstem.language.model.deployment import Driver, Executors, PullSecrets, Schedule
from mainstem.language.model.functions import Function
from mainstem.language.model.packages import Packages
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.language.model.views import View
from mainstem.names import ApiVersion


PipelineName = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,43}[a-z0-9])?$", max_length=45)]


RestartNonce = Annotated[
    str, StringConstraints(pattern=r"^[-+.:/_A-Za-z0-9]{1,63}$", max_length=63), *NUMBER_OR_TEXT
]
ListenerReferences = Annotated[
    tuple[PythonObject, ...], Field(max_length=16, json_schema_extra=LIST_SET), UNIQUE
]


class Parameter(Model):
    """A value that strings of the document refer to as `${name}`."""

    name: ParameterName
    """Name, as in `${name}`."""
    value: Annotated[str, StringConstraints(max_length=4096)]
    """Default; `mainstem run --set name=value` overrides it. Taken literally."""


class Checkpoints(Model):
    """Where checkpoints are kept."""

    location: Text
    """Folder, `s3a://bucket/prefix` or a local path. Each query has `<location>/<query>/<generation>`."""
    require_conditional_writes: bool = True
    """On S3: the store has to refuse to create an object twice (`If-None-Match`), else nothing starts. `false` accepts
    that two drivers that run at once may lose or repeat rows."""
    take_over: Text | None = None
    """The other pipeline whose checkpoints this one takes over, as the message of `CheckpointInUse` names it. It names
    the owner up to that time only: once the checkpoints have changed hands it has no effect."""


class SparkSettings(Model):
    """Spark, as far as Mainstem does not own it."""

    conf: Options = Field(default_factory=dict)
    """Spark properties; those that Mainstem owns are refused by name. Those of the UI, `spark.local.dir` and
    `spark.redaction.regex` count with `mainstem run` only: a pod has its own, and the operator refuses them."""


class Restart(Model):
    """What happens when a query fails."""

    policy: Literal["OnFailure", "Never"] = "OnFailure"
    """`OnFailure` starts the query again, within the living driver; the others go on."""
    max_retries: Annotated[int, Field(ge=0, le=1000)] = 5
    """Restarts in a row before the query is given up."""
    backoff: Duration = "5 seconds"
    """Wait before the first restart; doubled for each further one."""
    max_backoff: Duration = "5 minutes"
    """The longest wait."""
    reset_after: Duration = "10 minutes"
    """A query that ran for so long has its budget back; so has a driver."""
    max_driver_retries: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Starts of a failed driver in a row before the pipeline is `Failed`; without it no limit. On a cluster only. Failures of
    the infrastructure do not count: evictions, lost nodes, servers that do not answer."""

    def wait_seconds(self, failures: int) -> float:
        """Seconds from the last of some failures in a row to the next start: `backoff`, doubled up to `maxBackoff`."""
        return pause_seconds(failures, seconds(self.backoff), seconds(self.max_backoff))


class Drain(Model):
    """How a pipeline stops."""

    timeout: Duration = "60 seconds"
    """Running batches are given so long to end; what has not ended by then is cut, and runs again at the next start."""
    on_timeout: Literal["interrupt", "wait"] = "interrupt"
    """What happens to a batch that still runs after `timeout`: `interrupt`, or `wait` for its end. On a cluster `wait` counts
    for at most six hours, and not for the deletion of the pipeline."""


class PipelineSpec(Model):
    """What is read, how it is transformed, where it goes, and how it runs."""

    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] = ()
    """Values for `${name}` in strings of this document."""
    connections: Annotated[
        tuple[Connection, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ] = ()
    """Kafka clusters, S3 stores and databases."""
    packages: Packages = Field(default_factory=Packages)
    """Jars besides Mainstem's own: connectors, drivers of databases, functions."""
    functions: Annotated[tuple[Function, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] = ()
    """Functions that SQL calls besides Spark's own."""
    sources: Annotated[
        tuple[Source, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ]
    """What is read."""
    views: Annotated[tuple[View, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] = ()
    """Transformations, in SQL or by a step of their own."""
    queries: Annotated[
        tuple[Query, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ]
    """What is written; every query has its own checkpoint and its own scheduler pool."""
    checkpoints: Checkpoints
    """Where checkpoints are kept."""
    time_zone: TimeZone = "UTC"
    """Zone in which SQL reads and shows timestamps. A change means other days and hours: start a new generation."""
    spark: SparkSettings = Field(default_factory=SparkSettings)
    """Spark properties."""
    listeners: ListenerReferences = ()
    """Listeners of your own, `module:class`: a `StreamingQueryListener` that hears of every query; what one does wrong hurts
    no query."""
    restart: Restart = Field(default_factory=Restart)
    """What happens when a query fails."""
    drain: Drain = Field(default_factory=Drain)
    """How the pipeline stops."""
    suspend: bool = False
    """True drains the pipeline and keeps it down; false goes on from its checkpoints. On a cluster only, as all below."""
    restart_nonce: RestartNonce | None = None
    """A number or a short text of your choice. A new value drains the driver and starts another one, also after a failure,
    and restores the budgets of `restart`. A suspended pipeline stays suspended."""
    schedule: Schedule | None = None
    """When a pipeline runs that comes to an end; without it, once, and again when the document changes."""
    image: Text | None = None
    """Image of driver and executors; without it the operator's default."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When images are pulled; without it the operator's default."""
    image_pull_secrets: PullSecrets = ()
    """Secrets with which images are pulled."""
    driver: Driver = Field(default_factory=Driver)
    """The driver's pod."""
    executors: Executors = Field(default_factory=Executors)
    """The executors' pods; none by default."""

    def connectors(self) -> Iterator[tuple[FieldPath, ConnectorKind]]:
        """Every source, table and sink: its path below `spec`, and the settings of its kind."""
        for index, source in enumerate(self.sources):
            yield ("sources", index, *source.connector_path), source.connector
        for index, query in enumerate(self.queries):
            for place, sink in enumerate(query.to):
                yield ("queries", index, "to", place, sink.choice()), sink.connector


class Metadata(Model):
    """Kubernetes' own metadata; only the name matters here."""

    model_config = ConfigDict(extra="ignore")

    name: PipelineName
    """Name of the pipeline: a DNS label of at most 45 characters."""


class StreamingPipeline(Model):
    """A streaming pipeline: sources, views, queries."""

    api_version: ApiVersion
    """Version of the document's language."""
    kind: Literal["StreamingPipeline"]
    """Kind of the document."""
    metadata: Metadata
    """Name of the pipeline."""
    spec: PipelineSpec
    """What is wanted."""

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    def running_only(self, names: Collection[str]) -> "StreamingPipeline":
        """The same document with these queries running, suspended or not, and all others suspended."""
        queries = tuple(
            query.model_copy(update={"suspend": query.name not in names}) for query in self.spec.queries
        )
        return self.model_copy(update={"spec": self.spec.model_copy(update={"queries": queries})})
