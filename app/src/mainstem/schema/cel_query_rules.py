"""The CEL rules of queries, of state and of functions."""

from typing import Final

from mainstem.language.model.connectors.file_sink import FILE_FORMATS
from mainstem.language.model.functions import JavaFunction
from mainstem.language.model.queries import Query
from mainstem.language.model.views import Stateful
from mainstem.schema.cel import CelRule, CelRules


_MERGE: Final = "t, has(t.delta) && has(t.delta.merge)"
_FILES: Final = " || ".join(f"has(t.{kind})" for kind in FILE_FORMATS)


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
        CelRule(
            "self.outputMode != 'update' || self.to.all(t, !has(t.jdbc) || has(t.jdbc.upsert))",
            "in update mode changed rows replace earlier rows; set upsert: {keys: [...]} in the JDBC sink",
            ".outputMode",
        ),
        CelRule(
            "self.outputMode == 'append' || !self.to.exists(t, has(t.jdbc) && t.jdbc.delivery == 'atLeastOnce')",
            "delivery: atLeastOnce only appends rows; use outputMode: append",
            ".outputMode",
        ),
        CelRule(
            "self.to.size() == 1 || !self.to.exists(t, has(t.spark) && t.spark.mode == 'stream')",
            "with several sinks a connector must write batches; use mode: batch",
            ".to",
        ),
        CelRule(
            "self.outputMode != 'complete' || !self.to.exists(t, has(t.jdbc) && has(t.jdbc.upsert))",
            "upsert writes new and changed rows, and complete mode replaces all rows; use another outputMode or remove upsert",
            ".outputMode",
        ),
        CelRule(
            f"self.outputMode == 'append' || !self.to.exists(t, {_FILES})",
            "a file sink supports only append mode; use outputMode: append or a delta sink",
            ".outputMode",
        ),
        CelRule(
            "self.outputMode != 'update' || self.to.all(t, !has(t.delta) || has(t.delta.merge))",
            "a Delta sink without merge has no update mode; set merge: {keys: [...]}",
            ".outputMode",
        ),
        CelRule(
            f"self.outputMode != 'complete' || !self.to.exists({_MERGE})",
            "merge upserts new and changed rows, and complete mode replaces the table; use another outputMode or remove merge",
            ".outputMode",
        ),
        CelRule(
            f"!self.to.exists({_MERGE} && t.delta.options.size() > 0)",
            "options are for Delta's streaming writer, which a merge does not use; remove options",
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
