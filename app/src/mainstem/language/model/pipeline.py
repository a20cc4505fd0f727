"""The document: a StreamingPipeline with its metadata and its `spec`."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

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
from mainstem.language.model.triggers import Trigger
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
    """Default value; `mainstem run --set name=value` overrides it. Mainstem does not expand `${...}` in it."""


class Checkpoints(Model):
    """Where Spark keeps the checkpoints."""

    location: Text
    """Folder, `s3a://bucket/prefix` or a local path. Each query has `<location>/<query>/<generation>`."""
    require_conditional_writes: bool = True
    """On S3, the store must refuse to create an object twice (`If-None-Match`); otherwise no query starts. With
    `false`, two drivers that run at once may lose or repeat rows."""
    take_over: Text | None = None
    """The other pipeline whose checkpoints this pipeline takes over, as the message of `CheckpointInUse` names it.
    After the takeover the field has no effect."""


class SparkSettings(Model):
    """Settings of Spark that Mainstem does not own."""

    conf: Options = Field(default_factory=dict)
    """Spark properties; Mainstem refuses the properties that it owns. `mainstem run` also accepts the properties of
    the UI, `spark.local.dir` and `spark.redaction.regex`. The operator refuses them, because a pod has its own
    values."""


class Restart(Model):
    """What happens when a query fails."""

    policy: Literal["OnFailure", "Never"] = "OnFailure"
    """`OnFailure` starts the query again in the same driver, while the other queries continue. `Never` does not."""
    max_retries: Annotated[int, Field(ge=0, le=1000)] = 5
    """Maximum number of restarts in a row; after that the query stays `Failed`."""
    backoff: Duration = "5 seconds"
    """Wait before the first restart; each further wait is twice as long."""
    max_backoff: Duration = "5 minutes"
    """The longest wait."""
    reset_after: Duration = "10 minutes"
    """After a query or a driver has run for this time, its number of restarts in a row is 0 again."""
    on_stall: Literal["report", "restart"] = "report"
    """What happens if a batch makes no progress: `report` only sets the condition `DataStalled`; `restart` also interrupts
    the batch and restarts the query, which counts for `maxRetries`."""
    stall_after: Duration = "10 minutes"
    """For `onStall: restart`: a batch makes no progress if it takes this time longer than the batch before it. Time in
    which the query waits for data or for a server does not count."""
    max_driver_retries: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Maximum number of restarts of a failed driver in a row; after that the pipeline is `Failed`. By default there
    is no limit. On a cluster only. Failures of the infrastructure do not count: evictions, lost nodes, servers that
    do not answer."""

    def wait_seconds(self, failures: int) -> float:
        """Seconds from the last of some failures in a row to the next start: `backoff`, doubled up to `maxBackoff`."""
        return pause_seconds(failures, seconds(self.backoff), seconds(self.max_backoff))


NOT_RUN: Final = ("suspend", "schedule", "rollback", "trial", "restartNonce")
"""Fields of `spec` that are not part of a revision: the operator carries them out, and no driver reads them."""


class Rollback(Model):
    """What happens if a changed document makes the pipeline fail."""

    policy: Literal["OnFailure", "Never"] = "OnFailure"
    """`OnFailure` returns to the last healthy revision. `Never` keeps the changed document, and tries it again."""
    progress_deadline: Duration = "10 minutes"
    """Time for a changed document, from its start. Mainstem rolls it back if not every query is active by then. It rolls it
    back earlier if a query fails permanently that the revision before ran, or if the driver fails repeatedly."""


RevisionName = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$", max_length=8)]


class Trial(Model):
    """A trial of each changed document beside the running driver, before the driver applies the change."""

    batches: Annotated[int, Field(ge=1, le=50)] = 5
    """The number of the last committed batches that both documents process again, for each changed query."""
    timeout: Duration = "30 minutes"
    """Time for the trial, with the start of its pod. After that the trial has failed."""
    promotion: Literal["Manual", "Automatic"] = "Manual"
    """`Manual` applies the changed document only once `promote` names its revision. `Automatic` also applies it once the
    trial has passed: all compared rows are equal. A trial that differs or fails never promotes a document."""
    promote: RevisionName | None = None
    """The revision to apply, as `status.trial.revision` shows it, whatever its trial has shown. Other revisions are not
    affected, so the value may stay. Quote it, because a revision may look like a number."""


class Drain(Model):
    """How a pipeline stops."""

    timeout: Duration = "60 seconds"
    """Time for running batches to finish; `onTimeout` decides about unfinished batches."""
    on_timeout: Literal["interrupt", "wait"] = "interrupt"
    """What happens to a batch that still runs after `timeout`: `interrupt` stops it, and it runs again at the next start;
    `wait` lets it finish. On a cluster `wait` has a limit of six hours, and does not apply when the pipeline is deleted."""


class PipelineSpec(Model):
    """The sources, the views, the queries with their sinks, and how the pipeline runs."""

    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] = ()
    """Values for `${name}` in strings of this document."""
    connections: Annotated[
        tuple[Connection, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ] = ()
    """Kafka clusters, S3 stores and databases."""
    packages: Packages = Field(default_factory=Packages)
    """Jars besides Mainstem's own: connectors, JDBC drivers, functions."""
    functions: Annotated[tuple[Function, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] = ()
    """Functions that SQL calls besides Spark's own."""
    sources: Annotated[
        tuple[Source, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ]
    """The sources that views and queries read."""
    views: Annotated[tuple[View, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)] = ()
    """Transformations: in SQL, in Python, or by a typed step."""
    queries: Annotated[
        tuple[Query, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_MAP)
    ]
    """The relations to write, each with its sinks, its own checkpoint and its own scheduler pool."""
    trigger: Trigger | None = None
    """When a batch starts, for each query of a stream that has no trigger of its own."""
    checkpoints: Checkpoints
    """Where Spark keeps the checkpoints."""
    time_zone: TimeZone = "UTC"
    """Time zone in which SQL reads and shows timestamps, and of times without a zone in Python code. A change moves the
    limits of days and hours: start a new generation."""
    spark: SparkSettings = Field(default_factory=SparkSettings)
    """Spark properties."""
    listeners: ListenerReferences = ()
    """Your own listeners, `module:class`: each is a `StreamingQueryListener` that gets the events of every query. An
    error in a listener does not stop a query."""
    restart: Restart = Field(default_factory=Restart)
    """What happens when a query fails."""
    drain: Drain = Field(default_factory=Drain)
    """How the pipeline stops."""
    suspend: bool = False
    """True drains the pipeline and does not start it again; false continues it from its checkpoints. This field and
    all below matter on a cluster only."""
    restart_nonce: RestartNonce | None = None
    """A number or a short text of your choice. A new value drains the driver and starts another one, also after a failure,
    and restores the budgets of `restart`. A suspended pipeline stays suspended."""
    schedule: Schedule | None = None
    """When a pipeline that ends runs again; without it, the pipeline runs once, and again after each change of the
    document."""
    rollback: Rollback = Field(default_factory=Rollback)
    """What happens if a changed document makes the pipeline fail. A pipeline with a `schedule`, or whose queries all end, is
    never rolled back."""
    trial: Trial | None = None
    """If set, a change that restarts a query is first tried on the last batches, in a pod beside the healthy driver, which
    runs on with the document before. Without it, changes are applied at once."""
    image: Text | None = None
    """Image of driver and executors; by default the operator's default image."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When Kubernetes pulls the images; by default as the operator sets it."""
    image_pull_secrets: PullSecrets = ()
    """Secrets with the credentials for pulling the images."""
    driver: Driver = Field(default_factory=Driver)
    """The driver pod."""
    executors: Executors = Field(default_factory=Executors)
    """The executor pods; by default there are none."""

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
    """Sources, views, queries, and how the pipeline runs."""

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

    def with_trigger(self, names: Collection[str]) -> "StreamingPipeline":
        """The same document with the trigger of the pipeline in these queries, and no longer beside the queries."""
        trigger = self.spec.trigger
        queries = tuple(
            query.model_copy(update={"trigger": trigger}) if query.name in names else query
            for query in self.spec.queries
        )
        return self.model_copy(
            update={"spec": self.spec.model_copy(update={"queries": queries, "trigger": None})}
        )

    def with_fields(self, fields: Mapping[str, Any]) -> "StreamingPipeline":
        """The same document with other values of some fields of `spec`.

        Raises:
            ValidationError: a value is not valid.
        """
        written = self.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self.model_copy(update={"spec": PipelineSpec.model_validate(written | dict(fields))})

    def with_generations(self, generations: Mapping[str, int]) -> "StreamingPipeline":
        """The same document with other generations of the checkpoints of some queries."""
        queries = tuple(
            query.with_generation(generations.get(query.name, query.checkpoint.generation))
            for query in self.spec.queries
        )
        return self.model_copy(update={"spec": self.spec.model_copy(update={"queries": queries})})
