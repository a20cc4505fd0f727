"""The CEL rules of a whole pipeline and of its pods: names that refer to each other, sizes, Spark properties."""

from typing import Final

from mainstem.language.model.deployment import DynamicAllocation, Executors, Resources
from mainstem.language.model.pipeline import PipelineName, PipelineSpec, SparkSettings, StreamingPipeline
from mainstem.language.rules.connectors.owned_options import OWNED_CONF, OWNED_PREFIXES
from mainstem.schema.cel import CelRule, CelRules


_NAME: Final = PipelineName.__metadata__[0]  # type: ignore[attr-defined]
_DEAD: Final = (
    "(has(s.decode) ? s.decode.onMalformedRecord == 'deadLetter' : has(s.files) && has(s.files.onMalformedRecord) && "
    "s.files.onMalformedRecord == 'deadLetter')"
)
_CHECKPOINT: Final = "(has({0}.checkpoint.id) ? {0}.checkpoint.id : {0}.name)"
_SAME_CHECKPOINT: Final = f"{_CHECKPOINT.format('q')} == {_CHECKPOINT.format('o')} && q.checkpoint.generation == o.checkpoint.generation"


PIPELINE_RULES: Final[CelRules] = {
    StreamingPipeline: (
        CelRule(
            f"self.metadata.name.size() <= {_NAME.max_length} && self.metadata.name.matches('{_NAME.pattern}')",
            f"metadata.name must be a DNS label of at most {_NAME.max_length} characters, a letter first",
        ),
    ),
    PipelineSpec: (
        CelRule(
            "self.queries.all(q, self.sources.exists(s, s.name == q.from) || self.views.exists(v, v.name == q.from || v.name + '_quarantine' == q.from) || "
            f"self.sources.exists(s, {_DEAD} && s.name + '_dead_letters' == q.from))",
            "each `from` names a source, a view, a view's quarantine, or dead letters of a source (onMalformedRecord: deadLetter)",
            ".queries",
        ),
        CelRule(
            "self.sources.all(s, !has(s.kafka) || "
            "self.connections.exists(c, c.name == s.kafka.connection && has(c.kafka)))",
            "each Kafka source names a Kafka connection",
            ".sources",
        ),
        CelRule(
            "self.sources.all(s, !has(s.static) || !has(s.static.jdbc) || "
            "self.connections.exists(c, c.name == s.static.jdbc.connection && has(c.jdbc)))",
            "each JDBC table names a JDBC connection",
            ".sources",
        ),
        CelRule(
            "self.queries.all(q, q.to.all(t, !has(t.jdbc) || "
            "self.connections.exists(c, c.name == t.jdbc.connection && has(c.jdbc))))",
            "each JDBC sink names a JDBC connection",
            ".queries",
        ),
        CelRule(
            "self.queries.all(q, q.to.all(t, !has(t.kafka) || "
            "self.connections.exists(c, c.name == t.kafka.connection && has(c.kafka))))",
            "each Kafka sink names a Kafka connection",
            ".queries",
        ),
        CelRule(
            "self.views.all(v, !self.sources.exists(s, s.name == v.name))",
            "a view and a source have the same name; SQL could not tell them apart",
            ".views",
        ),
        CelRule(
            f"self.sources.all(s, !({_DEAD}) || (!self.sources.exists(o, o.name == s.name + '_dead_letters') && "
            "!self.views.exists(v, v.name == s.name + '_dead_letters')))",
            "<source>_dead_letters is the relation of a source's dead letters, and the name is taken",
            ".sources",
        ),
        CelRule(
            f"self.queries.all(q, self.queries.exists_one(o, {_SAME_CHECKPOINT}))",
            "two queries share a checkpoint; give each its own checkpoint.id",
            ".queries",
        ),
        CelRule(
            "!has(self.schedule) || self.queries.all(q, !has(q.trigger) || has(q.trigger.availableNow) || has(q.trigger.once))",
            "a schedule is for pipelines that come to an end: give a query over a stream trigger: {availableNow: true}",
            ".schedule",
        ),
    ),
    SparkSettings: (
        CelRule("self.conf.all(k, k.startsWith('spark.'))", "Spark properties start with spark.", ".conf"),
        CelRule(
            f"!self.conf.exists(k, k in {sorted(OWNED_CONF)} || {sorted(OWNED_PREFIXES)}.exists(p, k.startsWith(p)))",
            "a property that Mainstem owns cannot be set here",
            ".conf",
        ),
    ),
    Resources: (
        CelRule(
            "'memory' in self.limits",
            "limits.memory is missing; the Java heap is derived from it, and resources are replaced as a whole",
            ".limits",
        ),
    ),
    Executors: (
        CelRule(
            "!has(self.dynamicAllocation) || self.instances <= self.dynamicAllocation.maxExecutors",
            "instances is above dynamicAllocation.maxExecutors",
            ".instances",
        ),
    ),
    DynamicAllocation: (
        CelRule(
            "self.minExecutors <= self.maxExecutors", "minExecutors is above maxExecutors", ".minExecutors"
        ),
    ),
}
"""Model -> the rules that the API server checks on each object of this model."""
