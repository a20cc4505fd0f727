"""As `bad`, for code of the user's own: functions, views in Python, deduplication, state."""

from typing import Final

from documents.bad import Bad


STEPS: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: steps}
spec:
  functions:
    - name: geometric
      python: {function: "shop:geometric", returns: DOUBLE}
    - name: longest
      java: {class: com.example.Longest, aggregate: true}
  sources:
    - name: events
      files: {path: /data/events, format: json, schema: "user STRING, n INT, at TIMESTAMP"}
      watermark: {column: at, delay: 1 minute}
    - name: before
      static: {json: {path: /data/before.json}}
  views:
    - name: enriched
      python: {function: "shop:priced", inputs: [events, before], arguments: {least: "2"}}
    - name: once
      deduplicate: {from: events, columns: [user], withinWatermark: true}
    - name: visits
      state:
        from: events
        keys: [user]
        processor: visits:Counter
        schema: user STRING, n BIGINT
        timeMode: EventTime
        initialState: {from: before}
    - name: means
      sql: SELECT geometric(collect_list(n)) AS g FROM events
  queries:
    - {name: enriched, from: enriched, to: [{name: out, console: {}}]}
    - {name: once, from: once, to: [{name: out, console: {}}]}
    - {name: visits, from: visits, to: [{name: out, console: {}}]}
    - {name: means, from: means, outputMode: complete, to: [{name: out, console: {}}]}
  checkpoints: {location: /ckpt/steps}
"""
_FUNCTION: Final = (
    ("processor: visits:Counter", "function: visits:counted"),
    ("timeMode: EventTime", "timeout: EventTimeTimeout"),
    ("        initialState: {from: before}\n", ""),
)
_NO_WATERMARK: Final = ("      watermark: {column: at, delay: 1 minute}\n", "")


def _bad(name: str, edits: tuple[tuple[str, str], ...], *problems: str) -> Bad:
    return Bad(name, edits, problems, STEPS)


BAD_STEPS: Final = [
    _bad("state over a column with a dot", (("user STRING, n INT, at TIMESTAMP", "user STRING, `n.1` INT, at TIMESTAMP"), ("collect_list(n)", "collect_list(`n.1`)")), "23:15: spec.views[2].state.from: PySpark passes no column with a dot in its name to code that keeps state: 'n.1'; give it another name in a view, such as n_1 [StateNotAllowed]"),
    _bad("reference without a module", (('"shop:priced"', '"priced"'),), "18:26: spec.views[0].python.function: 'priced' is not an object of a Python module, such as package.module:function [InvalidName]"),
    _bad("class that is none", (("com.example.Longest", "com/example/Longest"),), "9:21: spec.functions[1].java.class: 'com/example/Longest' is not a Java class with its package, such as com.example.Soundex [InvalidName]"),
    _bad("function twice", (("name: longest", "name: geometric"),), "8:13: spec.functions[1].name: the name 'geometric' is taken by an earlier entry of functions [DuplicateName]"),
    _bad("function called as Spark's", (("- name: longest", "- name: upper"),), "8:13: spec.functions[1].name: Spark has a function 'upper', and would call that function instead; choose another name [FunctionNameTaken]"),
    _bad("type of a Java aggregate", (("aggregate: true", "aggregate: true, returns: STRING"),), "9:68: spec.functions[1].java.returns: the class of an aggregate defines its own type; leave returns out [FieldNotAllowed]"),
    _bad(
        "aggregate in Python over a stream",
        (("returns: DOUBLE", "returns: DOUBLE, aggregate: true"), ("geometric(collect_list(n))", "n % 2 AS k, geometric(n)"), ("AS g FROM events", "AS g FROM events GROUP BY 1")),
        "30:31: spec.views[3].sql: geometric aggregates pandas Series, which Spark does not support over a stream; write a function that takes a list, without aggregate: true, and call geometric(collect_list(...)) [AggregateNotAllowed]",
    ),
    _bad("argument that is no name", (('{least: "2"}', '{"at least": "2"}'),), "18:79: spec.views[0].python.arguments[at least]: 'at least' is not a valid name of a Python argument; use an identifier that is not a keyword [InvalidName]"),
    _bad("credential among arguments", (('{least: "2"}', '{least: "2", password: x}'), ("timeMode: EventTime", "timeMode: EventTime\n        arguments: {apiSecret: x}")), "18:91: spec.views[0].python.arguments.password: password is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]", "28:21: spec.views[2].state.arguments.apiSecret: apiSecret is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]"),
    _bad("listener without a module", (("  queries:", "  listeners: [Listener]\n  queries:"),), "31:15: spec.listeners[0]: 'Listener' is not an object of a Python module, such as package.module:function [InvalidName]"),
    _bad("input that is not there", (("inputs: [events", "inputs: [evnts"),), "18:50: spec.views[0].python.inputs[0]: no source or view is called 'evnts'; did you mean 'events'? [UnknownRelation]"),
    _bad("steps in a circle", (("inputs: [events, before]", "inputs: [events, again]"), ("- name: once", "- {name: again, sql: SELECT * FROM enriched}\n    - name: once")), "18:58: spec.views[0].python.inputs[1]: views read each other: enriched -> again -> enriched [CyclicViews]"),
    _bad("step over itself", (("deduplicate: {from: events", "deduplicate: {from: once"),), "20:27: spec.views[1].deduplicate.from: the view reads itself [CyclicViews]"),
    _bad("column that the source has not", (("columns: [user]", "columns: [usr]"), ("keys: [user]", "keys: [users]")), "20:45: spec.views[1].deduplicate.columns[0]: 'events' has no column 'usr'; did you mean 'user'? [UnknownColumn]", "24:16: spec.views[2].state.keys[0]: 'events' has no column 'users'; did you mean 'user'? [UnknownColumn]"),
    _bad("within no watermark", (_NO_WATERMARK, ("timeMode: EventTime", "timeMode: None")), "19:20: spec.views[1].deduplicate: withinWatermark needs a watermark, and no source or view below has one; give one of them a watermark [WatermarkNeeded]"),
    _bad("within the watermark of what does not stream", (("{from: events, columns: [user]", "{from: before, columns: [user]"),), "20:69: spec.views[1].deduplicate.withinWatermark: 'before' is not a stream, so it has no watermark; leave withinWatermark out [WatermarkNotAllowed]"),
    _bad("state that grows, and an unknown column", (("columns: [user], withinWatermark: true", "columns: [user]"), ("keys: [user]", "keys: [users]")), "20:20: warning: spec.views[1].deduplicate: the query keeps every row as state for ever; give the source a watermark, and either name its column in columns or set withinWatermark: true [StateUnbounded]", "24:16: spec.views[2].state.keys[0]: 'events' has no column 'users'; did you mean 'user'? [UnknownColumn]"),
    _bad("event clock without a watermark", (_NO_WATERMARK, (", withinWatermark: true", "")), "19:20: warning: spec.views[1].deduplicate: the query keeps every row as state for ever; give the source a watermark, and either name its column in columns or set withinWatermark: true [StateUnbounded]", "26:19: spec.views[2].state.timeMode: event time needs a watermark, and 'events' has none; declare one [WatermarkNeeded]"),
    _bad("time-out by event time without a watermark", (_NO_WATERMARK, (", withinWatermark: true", ""), *_FUNCTION, ("schema: user STRING, n BIGINT", "schema: user STRING, n BIGINT\n        stateSchema: n BIGINT")), "19:20: warning: spec.views[1].deduplicate: the query keeps every row as state for ever; give the source a watermark, and either name its column in columns or set withinWatermark: true [StateUnbounded]", "27:18: spec.views[2].state.timeout: event time needs a watermark, and 'events' has none; declare one [WatermarkNeeded]"),
    _bad("fields of a processor at a function", (*_FUNCTION[:2], ("initialState: {from: before}", "initialState: {from: before}\n        pandas: true")), "23:9: spec.views[2].state: a function needs stateSchema, the columns of its state, such as 'visits INT' [MissingField]", "28:9: spec.views[2].state.initialState: initialState is not a field of a function; leave it out [FieldNotAllowed]", "29:9: spec.views[2].state.pandas: a function always takes and returns pandas DataFrames; leave pandas out, which is for processors [FieldNotAllowed]"),
    _bad("fields of a function at a processor", (("timeMode: EventTime", "timeout: NoTimeout"),), "27:9: spec.views[2].state.timeout: timeout is not a field of a processor; leave it out [FieldNotAllowed]"),
    _bad("state that starts from a stream", (("initialState: {from: before}", "initialState: {from: events}"),), "28:30: spec.views[2].state.initialState.from: 'events' is a stream; the initial state must come from a static relation [StreamNotAllowed]"),
    _bad("a processor's state on the Java heap", (("{name: visits, from: visits,", "{name: visits, from: visits, state: {provider: hdfs},"),), "34:54: spec.queries[2].state.provider: the processor of 'visits' can keep its state only in RocksDB; leave provider out [ProviderNotAllowed]"),
    _bad("a session window alone", (("SELECT geometric(collect_list(n)) AS g FROM events", "SELECT session_window(at, '5 minutes') AS s, geometric(collect_list(n)) AS g FROM events GROUP BY 1"),), "30:12: spec.views[3].sql: the session window is the only grouping key, and Spark needs another one; group by another column too, for example a constant: FROM (SELECT *, 1 AS one FROM ...) [KeyNeeded]"),
    _bad("streams joined without an equality", (("SELECT geometric(collect_list(n)) AS g FROM events", "SELECT l.n FROM events l JOIN events r ON l.n < r.n"), ("outputMode: complete, ", "")), "30:42: spec.views[3].sql: a join of two streams needs an equality in its condition, and this join has none; add one, such as ON a.id = b.id, beside the time range [EqualityNeeded]"),
    _bad("a function's mode", (*_FUNCTION, ("schema: user STRING, n BIGINT", "schema: user STRING, n BIGINT\n        stateSchema: n BIGINT\n        outputMode: update")), "23:9: spec.views[2].state: the outputMode of the function is update, and that of 'visits' is append; leave it out of the function [StateNotAllowed]"),
    _bad("two kinds of state", (("processor: visits:Counter", "processor: visits:Counter\n        function: visits:counted"),), "23:9: spec.views[2].state: exactly one of processor, function must be given, found processor, function [NotExactlyOne]"),
]  # fmt: skip
