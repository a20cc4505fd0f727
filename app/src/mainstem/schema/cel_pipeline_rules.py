"""The CEL rules of a whole pipeline and of its pods: names that refer to each other, sizes, Spark properties."""

from typing import Final

from mainstem.language.model.deployment import DynamicAllocation, Executors, Resources
from mainstem.language.model.pipeline import PipelineName, PipelineSpec, SparkSettings, StreamingPipeline
from mainstem.language.rules.connectors.owned_options import OWNED_CONF, OWNED_PREFIXES
from mainstem.schema.cel import CelRule, CelRules
from mainstem.schema.cel_traits import connections


_NAME: Final = PipelineName.__metadata__[0]  # type: ignore[attr-defined]
_DEAD: Final = (
    "(has(s.decode) ? s.decode.onMalformedRecord == 'deadLetter' : has(s.files) && has(s.files.onMalformedRecord) && "
    "s.files.onMalformedRecord == 'deadLetter')"
)
_ENDS: Final = "(has({0}.trigger.availableNow) || has({0}.trigger.once))"
_CHECKPOINT: Final = "(has({0}.checkpoint.id) ? {0}.checkpoint.id : {0}.name)"
_SAME_CHECKPOINT: Final = f"{_CHECKPOINT.format('q')} == {_CHECKPOINT.format('o')} && (q.checkpoint.generation == o.checkpoint.generation || q.checkpoint.onChange == 'newGeneration')"


PIPELINE_RULES: Final[CelRules] = {
    StreamingPipeline: (
        CelRule(
            f"self.metadata.name.size() <= {_NAME.max_length} && self.metadata.name.matches('{_NAME.pattern}')",
            f"metadata.name must be a DNS label of at most {_NAME.max_length} characters that starts with a letter",
        ),
    ),
    PipelineSpec: (
        CelRule(
            "self.queries.all(q, self.sources.exists(s, s.name == q.from) || self.views.exists(v, v.name == q.from || v.name + '_quarantine' == q.from) || "
            f"self.sources.exists(s, {_DEAD} && s.name + '_dead_letters' == q.from))",
            "each `from` must name a source, a view, a quarantine, or dead letters of a source with onMalformedRecord: deadLetter",
            ".queries",
            each=True,
        ),
        *connections(),
        CelRule(
            "self.views.all(v, !self.sources.exists(s, s.name == v.name))",
            "a view and a source have the same name; rename one, because SQL reads both by name",
            ".views",
            each=True,
        ),
        CelRule(
            f"self.sources.all(s, !({_DEAD}) || (!self.sources.exists(o, o.name == s.name + '_dead_letters') && "
            "!self.views.exists(v, v.name == s.name + '_dead_letters')))",
            "<source>_dead_letters is the name of the dead letters of a source; rename the other source or view",
            ".sources",
            each=True,
        ),
        CelRule(
            f"self.queries.all(q, self.queries.exists_one(o, {_SAME_CHECKPOINT}))",
            "two queries have the same checkpoint; give each query its own checkpoint.id",
            ".queries",
            each=True,
        ),
        CelRule(
            f"!has(self.schedule) || ((!has(self.trigger) || {_ENDS.format('self')}) && "
            f"self.queries.all(q, !has(q.trigger) || {_ENDS.format('q')}))",
            "a schedule needs queries that end; set trigger: {availableNow: true} for each query that reads a stream",
            ".schedule",
            each=True,
        ),
    ),
    SparkSettings: (
        CelRule(
            "self.conf.all(k, k.startsWith('spark.'))",
            "each Spark property must start with spark.",
            ".conf",
            each=True,
        ),
        CelRule(
            f"!self.conf.exists(k, k in {sorted(OWNED_CONF)} || {sorted(OWNED_PREFIXES)}.exists(p, k.startsWith(p)))",
            "the document sets a property that Mainstem sets itself; remove it",
            ".conf",
            each=True,
        ),
    ),
    Resources: (
        CelRule(
            "'memory' in self.limits",
            "limits.memory is missing; set it: the Java heap is derived from it, and these resources replace the defaults completely",
            ".limits",
        ),
    ),
    Executors: (
        CelRule(
            "!has(self.dynamicAllocation) || self.instances <= self.dynamicAllocation.maxExecutors",
            "instances is greater than dynamicAllocation.maxExecutors",
            ".instances",
        ),
    ),
    DynamicAllocation: (
        CelRule(
            "self.minExecutors <= self.maxExecutors",
            "minExecutors is greater than maxExecutors",
            ".minExecutors",
        ),
    ),
}
"""Model -> the rules that the API server checks on each object of this model."""
