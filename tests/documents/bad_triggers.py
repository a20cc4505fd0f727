"""Triggers that a source, a sink, an output mode or a plan does not allow, with all their messages."""

from typing import Final

from documents.bad import Bad


STREAMS: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: low-latency}
spec:
  connections:
    - name: events
      kafka: {bootstrapServers: "kafka:9092"}
  sources:
    - name: orders
      kafka: {connection: events, subscribe: [orders]}
      watermark: {column: timestamp, delay: 1 hour}
    - name: ticks
      rate: {}
    - name: shops
      static: {parquet: {path: /lake/shops}}
  views:
    - name: texts
      sql: SELECT CAST(value AS STRING) AS text FROM orders
    - name: counted
      sql: SELECT CAST(value AS STRING) AS text, count(*) AS n FROM orders GROUP BY 1
    - name: known
      sql: SELECT o.key, s.name FROM orders o JOIN shops s ON CAST(o.key AS STRING) = s.id
  queries:
    - name: forward
      from: texts
      outputMode: update
      to:
        - name: topic
          kafka: {connection: events, topic: out}
      trigger: {realTime: 10 seconds}
    - name: counts
      from: counted
      outputMode: update
      to:
        - name: screen
          console: {}
    - name: known
      from: known
      to:
        - name: files
          parquet: {path: /lake/known}
    - name: ticks
      from: ticks
      to:
        - name: shown
          console: {truncate: false}
      trigger: {continuous: 1 second}
  checkpoints: {location: /ckpt/low-latency}
"""

BAD_TRIGGERS: Final = [
    Bad(
        "real time in append mode",
        (("      from: texts\n      outputMode: update\n", "      from: texts\n"),),
        (
            "29:27: spec.queries[0].trigger.realTime: realTime writes in update mode only, and the mode is append; use outputMode: update [TriggerNotForOutputMode]",
        ),
        STREAMS,
    ),
    Bad(
        "refresh of a fixed version, and all the time",
        (("{parquet: {path: /lake/shops}}", "{delta: {path: /lake/shops, version: 3}, refresh: 500ms}"),),
        (
            "15:65: spec.sources[2].static.refresh: 500ms is too short, because each refresh restarts queries; set 1 second or more, better minutes [OutOfRange]",
            "15:65: spec.sources[2].static.refresh: a fixed version of a table never changes; remove refresh, or the version or timestamp [RefreshNotAllowed]",
        ),
        STREAMS,
    ),
    Bad(
        "refresh for a query that ends",
        (
            ("{parquet: {path: /lake/shops}}", "{parquet: {path: /lake/shops}, refresh: 1 hour}"),
            ("      from: known\n", "      from: known\n      trigger: {availableNow: true}\n"),
        ),
        (
            "15:55: spec.sources[2].static.refresh: only queries that end by themselves read 'shops' (known), and each reads it when it starts; remove refresh [RefreshNotAllowed]",
        ),
        STREAMS,
    ),
    Bad(
        "real time of a rate",
        (
            ("from: ticks\n      to", "from: ticks\n      outputMode: update\n      to"),
            ("trigger: {continuous: 1 second}", "trigger: {realTime: 5s}"),
        ),
        (
            "48:27: spec.queries[3].trigger.realTime: realTime reads kafka, and the source 'ticks' is rate; use another trigger [TriggerNotForSource]",
        ),
        STREAMS,
    ),
    Bad(
        "real time of an aggregation",
        (("console: {}\n", "console: {}\n      trigger: {realTime: 9 seconds}\n"),),
        (
            "37:27: spec.queries[1].trigger.realTime: realTime takes plans that keep no state, sort nothing, join by an equality and call no Python, and 'counted' aggregates; use another trigger [TriggerNotForPlan]",
        ),
        STREAMS,
    ),
    Bad(
        "real time to files",
        (("known}\n", "known}\n      trigger: {realTime: 9 seconds}\n"),),
        (
            "42:27: spec.queries[2].trigger.realTime: realTime writes in update mode only, and the mode is append; use outputMode: update [TriggerNotForOutputMode]",
            "42:27: spec.queries[2].trigger.realTime: realTime writes kafka, python.foreach and console, and the sink 'files' is parquet; use another trigger, or write to Kafka, and from Kafka in a second query [TriggerNotForSink]",
        ),
        STREAMS,
    ),
    Bad(
        "real time with a limit on each batch",
        (("subscribe: [orders]}", "subscribe: [orders], maxOffsetsPerTrigger: 5, minPartitions: 2}"),),
        (
            "30:27: spec.queries[0].trigger.realTime: realTime reads all available data of each partition at once, and the source 'orders' has maxOffsetsPerTrigger; leave it out [TriggerNotForSource]",
            "30:27: spec.queries[0].trigger.realTime: realTime reads all available data of each partition at once, and the source 'orders' has minPartitions; leave it out [TriggerNotForSource]",
        ),
        STREAMS,
    ),
    Bad(
        "real time as if it were latency",
        (("realTime: 10 seconds", "realTime: 100 ms"),),
        (
            "30:27: spec.queries[0].trigger.realTime: the value of realTime is the duration of a batch, at least 5 seconds, and 100 ms is less; use a longer duration; rows do not wait for the end of a batch [TriggerInterval]",
        ),
        STREAMS,
    ),
    Bad(
        "continuous behind a watermark",
        (("trigger: {realTime: 10 seconds}", "trigger: {continuous: 500 ms}"),),
        (
            "30:29: spec.queries[0].trigger.continuous: continuous takes columns, expressions and WHERE over one relation, and 'orders' has a watermark; leave the watermark out [TriggerNotForPlan]",
        ),
        STREAMS,
    ),
    Bad(
        "continuous in complete mode, of an aggregation",
        (
            ("from: counted\n      outputMode: update", "from: counted\n      outputMode: complete"),
            ("console: {}\n", "console: {}\n      trigger: {continuous: 2 seconds}\n"),
        ),
        (
            "37:29: spec.queries[1].trigger.continuous: continuous does not aggregate, and complete mode needs an aggregation; use outputMode: append [TriggerNotForOutputMode]",
            "37:29: spec.queries[1].trigger.continuous: continuous takes columns, expressions and WHERE over one relation, and 'counted' aggregates; use another trigger [TriggerNotForPlan]",
            "37:29: spec.queries[1].trigger.continuous: continuous takes columns, expressions and WHERE over one relation, and 'orders' has a watermark; leave the watermark out [TriggerNotForPlan]",
        ),
        STREAMS,
    ),
    Bad(
        "continuous join to files",
        (("known}\n", "known}\n      trigger: {continuous: 2 seconds}\n"),),
        (
            "42:29: spec.queries[2].trigger.continuous: continuous takes columns, expressions and WHERE over one relation, and 'known' joins; use another trigger [TriggerNotForPlan]",
            "42:29: spec.queries[2].trigger.continuous: continuous takes columns, expressions and WHERE over one relation, and 'orders' has a watermark; leave the watermark out [TriggerNotForPlan]",
            "42:29: spec.queries[2].trigger.continuous: continuous writes kafka, console and noop, and the sink 'files' is parquet; use another trigger, or write to Kafka, and from Kafka in a second query [TriggerNotForSink]",
        ),
        STREAMS,
    ),
    Bad(
        "async progress with real time",
        (
            (
                "trigger: {realTime: 10 seconds}",
                "trigger: {realTime: 10 seconds}\n      asyncProgressTracking: {}",
            ),
        ),
        (
            "31:30: spec.queries[0].asyncProgressTracking: asyncProgressTracking is for the default trigger and processingTime, and the trigger is realTime; leave one of them out [AsyncProgressNotAllowed]",
        ),
        STREAMS,
    ),
    Bad(
        "async progress of files",
        (("known}\n", "known}\n      asyncProgressTracking: {}\n"),),
        (
            "42:30: spec.queries[2].asyncProgressTracking: asyncProgressTracking is for queries that write a topic, and the sink 'files' is parquet; leave it out [AsyncProgressNotAllowed]",
        ),
        STREAMS,
    ),
    Bad(
        "async progress of a table",
        (
            ("from: counted", "from: shops"),
            ("console: {}\n", "console: {}\n      asyncProgressTracking: {}\n"),
        ),
        (
            "19:13: warning: spec.views[1].name: no query reads 'counted' [UnusedSource]",
            "37:30: spec.queries[1].asyncProgressTracking: asyncProgressTracking is for streams, and 'shops' reads static and bounded sources only; leave it out [AsyncProgressNotAllowed]",
        ),
        STREAMS,
    ),
    Bad(
        "async progress of an aggregation",
        (("console: {}\n", "console: {}\n      asyncProgressTracking: {checkpointInterval: 2s}\n"),),
        (
            "37:30: spec.queries[1].asyncProgressTracking: asyncProgressTracking is for queries without state, and 'counted' aggregates; leave it out [AsyncProgressNotAllowed]",
        ),
        STREAMS,
    ),
    Bad(
        "warnings stand beside refusals",
        (
            ("realTime: 10 seconds", "realTime: 2 minutes"),
            ("      from: texts\n      outputMode: update\n", "      from: texts\n"),
            ("trigger: {continuous: 1 second}", "trigger: {once: true}"),
        ),
        (
            "29:27: warning: spec.queries[0].trigger.realTime: drain.timeout is 60 seconds: each stop would interrupt the batch of 2 minutes, and the next start would write its rows again; raise drain.timeout above it, or checkpoint more often [DrainTooShort]",
            "29:27: spec.queries[0].trigger.realTime: realTime writes in update mode only, and the mode is append; use outputMode: update [TriggerNotForOutputMode]",
            "46:23: warning: spec.queries[3].trigger.once: once is deprecated: it reads all available data in one batch and ignores rate limits; use availableNow [TriggerDeprecated]",
        ),
        STREAMS,
    ),
    Bad(
        "nothing runs",
        (
            ("name: forward\n      from", "name: forward\n      suspend: true\n      from"),
            ("name: counts\n      from", "name: counts\n      suspend: true\n      from"),
            ("name: known\n      from", "name: known\n      suspend: true\n      from"),
            ("name: ticks\n      from", "name: ticks\n      suspend: true\n      from"),
        ),
        (
            "24:5: spec.queries: every query is suspended, so nothing would run; on a cluster use spec.suspend: true [NothingRuns]",
        ),
        STREAMS,
    ),
]
