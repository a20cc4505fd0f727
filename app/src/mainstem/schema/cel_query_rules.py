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
            "realTime writes in update mode only; use outputMode: update",
            ".outputMode",
        ),
        CelRule(
            "!has(self.asyncProgressTracking) || !has(self.trigger) || has(self.trigger.processingTime)",
            "asyncProgressTracking is for the default trigger and processingTime",
            ".asyncProgressTracking",
        ),
        CelRule(
            "self.outputMode != 'update' || self.to.all(t, !has(t.jdbc) || has(t.jdbc.upsert))",
            "rows that changed replace those of their keys; give the JDBC sink upsert: {keys: [...]}",
            ".outputMode",
        ),
        CelRule(
            "self.outputMode == 'append' || !self.to.exists(t, has(t.jdbc) && t.jdbc.delivery == 'atLeastOnce')",
            "delivery: atLeastOnce appends rows; use append",
            ".outputMode",
        ),
        CelRule(
            "self.to.size() == 1 || !self.to.exists(t, has(t.spark) && t.spark.mode == 'stream')",
            "beside other sinks a connector writes batches; use mode: batch",
            ".to",
        ),
        CelRule(
            "self.outputMode != 'complete' || !self.to.exists(t, has(t.jdbc) && has(t.jdbc.upsert))",
            "upsert writes rows that are new or changed; complete replaces all rows",
            ".outputMode",
        ),
        CelRule(
            f"self.outputMode == 'append' || !self.to.exists(t, {_FILES})",
            "a folder of files can only be appended to; use delta",
            ".outputMode",
        ),
        CelRule(
            "self.outputMode != 'update' || self.to.all(t, !has(t.delta) || has(t.delta.merge))",
            "Delta has no update mode; give the sink merge: {keys: [...]} to upsert",
            ".outputMode",
        ),
        CelRule(
            f"self.outputMode != 'complete' || !self.to.exists({_MERGE})",
            "merge upserts rows that are new or changed; complete replaces the table",
            ".outputMode",
        ),
        CelRule(
            f"!self.to.exists({_MERGE} && t.delta.options.size() > 0)",
            "options go to Delta's streaming writer, which a merge does not use",
            ".to",
        ),
    ),
    Stateful: (
        CelRule(
            "has(self.__function__) == has(self.stateSchema)",
            "stateSchema goes with a function, and a function needs it",
            ".stateSchema",
        ),
        CelRule(
            "!has(self.__function__) || !(has(self.timeMode) || has(self.eventTimeColumn) || has(self.initialState) || self.pandas)",
            "timeMode, eventTimeColumn, initialState and pandas go with a processor",
            ".function",
        ),
        CelRule("!has(self.processor) || !has(self.timeout)", "timeout goes with a function", ".timeout"),
    ),
    JavaFunction: (
        CelRule(
            "!self.aggregate || !has(self.returns)",
            "the class of an aggregate says its type itself",
            ".returns",
        ),
    ),
}
"""Model -> the rules that the API server checks on each object of this model."""
