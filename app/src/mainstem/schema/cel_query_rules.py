"""The CEL rules of queries, of state and of functions."""

from typing import Final

from mainstem.language.model.functions import JavaFunction
from mainstem.language.model.queries import Query
from mainstem.language.model.views import Stateful
from mainstem.schema.cel import CelRule, CelRules
from mainstem.schema.cel_traits import output_modes


QUERY_RULES: Final[CelRules] = {
    Query: (
        CelRule(
            "!has(self.trigger) || !has(self.trigger.realTime) || self.outputMode == 'update'",
            "the trigger realTime supports only update mode; use outputMode: update",
            ".outputMode",
        ),
        CelRule(
            "!has(self.asyncProgressTracking) || !has(self.trigger) || has(self.trigger.processingTime)",
            "asyncProgressTracking supports only the default trigger and processingTime",
            ".asyncProgressTracking",
        ),
        *output_modes(),
        CelRule(
            "self.to.size() == 1 || !self.to.exists(t, has(t.spark) && t.spark.mode == 'stream')",
            "with several sinks a connector must write batches; use mode: batch",
            ".to",
        ),
    ),
    Stateful: (
        CelRule(
            "has(self.__function__) == has(self.stateSchema)",
            "function and stateSchema need each other; set both or neither",
            ".stateSchema",
        ),
        CelRule(
            "!has(self.__function__) || !(has(self.timeMode) || has(self.eventTimeColumn) || has(self.initialState) || self.pandas)",
            "timeMode, eventTimeColumn, initialState and pandas need a processor; remove them or replace function",
            ".function",
        ),
        CelRule(
            "!has(self.processor) || !has(self.timeout)", "timeout needs a function; remove it", ".timeout"
        ),
    ),
    JavaFunction: (
        CelRule(
            "!self.aggregate || !has(self.returns)",
            "the class of an aggregate defines the type; remove returns",
            ".returns",
        ),
    ),
}
"""Model -> the rules that the API server checks on each object of this model."""
