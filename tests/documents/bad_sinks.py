"""As `bad`, for what a query's sinks may be asked for."""

from typing import Final

from documents.bad import Bad


SINKS: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: sinks}
spec:
  connections:
    - {name: events, kafka: {bootstrapServers: "kafka:9092"}}
    - {name: shop, jdbc: {url: "jdbc:postgresql://db/shop"}}
  sources:
    - {name: raw, kafka: {connection: events, subscribe: [raw]}}
  views:
    - {name: counts, sql: "SELECT topic, count(*) AS n FROM raw GROUP BY topic"}
  queries:
    - name: copy
      from: raw
      to:
        - name: topic
          kafka: {connection: events, topic: copy, valueColumn: value}
        - name: lines
          parquet: {path: /lake/lines}
    - name: counts
      from: counts
      outputMode: update
      to:
        - name: table
          jdbc: {connection: shop, table: counts, upsert: {keys: [topic]}}
  checkpoints: {location: /ckpt/sinks}
"""

BAD_SINKS: Final = [
    Bad(
        "value twice",
        (("valueColumn: value", "valueColumn: value, value: [topic]"),),
        (
            "17:52: spec.queries[0].to[0].kafka.valueColumn: value and valueColumn both set the value of a record; remove one of them [FieldsConflict]",
        ),
        SINKS,
    ),
    Bad(
        "column of a record that is none",
        (("valueColumn: value", "valueColumn: valeu, headers: {at: offset, from: topics}"),),
        (
            "17:65: spec.queries[0].to[0].kafka.valueColumn: 'raw' has no column 'valeu'; did you mean 'value'? [UnknownColumn]",
            "17:100: spec.queries[0].to[0].kafka.headers.from: 'raw' has no column 'topics'; did you mean 'topic'? [UnknownColumn]",
        ),
        SINKS,
    ),
    Bad(
        "column of a view that is none",
        (("upsert: {keys: [topic]}", "upsert: {keys: [topics]}"),),
        (
            "25:67: spec.queries[1].to[0].jdbc.upsert.keys[0]: 'counts' has no column 'topics'; did you mean 'topic'? [UnknownColumn]",
        ),
        SINKS,
    ),
    Bad(
        "types that a table, a folder and a merge do not take",
        (
            (
                "{name: raw, kafka: {connection: events, subscribe: [raw]}}",
                "{name: raw, files: {path: /in, format: json, schema: 'id INT, m MAP<STRING, INT>, d INTERVAL DAY, b BINARY'}}",
            ),
            (
                "SELECT topic, count(*) AS n FROM raw GROUP BY topic",
                "SELECT id AS topic, count(*) AS n FROM raw GROUP BY id",
            ),
            (
                "kafka: {connection: events, topic: copy, valueColumn: value}",
                "delta: {path: /lake/table, partitionBy: [b], merge: {keys: [m], sequenceBy: id}}",
            ),
            ("parquet: {path: /lake/lines}", "csv: {path: /lake/lines}"),
        ),
        (
            "17:11: spec.queries[0].to[0].delta: 'raw' has the column 'd' of the type INTERVAL DAY, and delta has no type INTERVAL DAY; write its length as a number, or cast it to STRING in a view [TypeNotSupported]",
            "17:52: spec.queries[0].to[0].delta.partitionBy[0]: 'raw' has the partition column 'b' of the type BINARY, and a partition keeps text only; use hex or base64 of it in a view [PartitionTypeNotSupported]",
            "17:71: spec.queries[0].to[0].delta.merge.keys[0]: 'raw' has the column 'm' of the type MAP<STRING, INT>, and Spark compares no MAP and no VARIANT; write to_json of it in a view [TypeNotSupported]",
            "19:11: spec.queries[0].to[1].csv: 'raw' has the column 'm' of the type MAP<STRING, INT>, and csv has no type MAP<STRING, INT>; write to_json of it in a view [TypeNotSupported]",
        ),
        SINKS,
    ),
    Bad(
        "columns of one name for a table, a folder and a record",
        (
            ("count(*) AS n FROM raw GROUP BY topic", "count(*) AS Topic FROM raw GROUP BY topic"),
            ("copy\n      from: raw", "copy\n      from: joined"),
            ("valueColumn: value", "key: [topic]"),
            (
                "  queries:",
                "    - {name: joined, sql: SELECT * FROM raw a JOIN raw b ON a.offset = b.offset AND a.timestamp = b.timestamp}\n  queries:",
            ),
        ),
        (
            "12:52: warning: spec.views[1].sql: this join of two streams keeps every row of both sides for ever: give both streams a watermark, and the condition a range of their event times (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window; the lower end bounds b, and the upper end bounds a [StateUnbounded]",
            "18:11: spec.queries[0].to[0].kafka: 'joined' has more than one column 'key', 'offset', 'partition', 'timestamp', 'timestamptype', 'topic', 'value'; give each its own name in a view, such as b.id AS b_id, or leave it out [DuplicateColumn]",
            "20:11: spec.queries[0].to[1].parquet: 'joined' has more than one column 'key', 'offset', 'partition', 'timestamp', 'timestamptype', 'topic', 'value'; give each its own name in a view, such as b.id AS b_id, or leave it out [DuplicateColumn]",
            "26:11: spec.queries[1].to[0].jdbc: 'counts' has more than one column 'topic'; give each its own name in a view, such as b.id AS b_id, or leave it out [DuplicateColumn]",
        ),
        SINKS,
    ),
    Bad(
        "options that no writer has, beside a pattern that Spark refuses",
        (
            (
                "parquet: {path: /lake/lines}",
                "csv: {path: /lake/lines, options: {Header: 'true', hedaer: 'true', inferSchema: 'true', parquet.block.size: '1', dateFormat: YYYY-MM-dd}}",
            ),
        ),
        (
            "19:62: warning: spec.queries[0].to[1].csv.options.hedaer: Spark's writer of csv has no option 'hedaer' and ignores it; did you mean 'header'? [UnknownOption]",
            "19:78: warning: spec.queries[0].to[1].csv.options.inferSchema: Spark's writer of csv has no option 'inferSchema' and ignores it; known names are maxRecordsPerFile, retention, compression, lineSep, encoding, dateFormat, timestampFormat, timestampNTZFormat, timeFormat, timeZone, locale, charset, codec, charToEscapeQuoteEscaping, comment, delimiter, emptyValue, escape, escapeQuotes, header, ignoreLeadingWhiteSpace, ignoreTrailingWhiteSpace, nullValue, quote, quoteAll, sep [UnknownOption]",
            "19:136: spec.queries[0].to[1].csv.options.dateFormat: 'YYYY-MM-dd', character 1: 'Y' is not a pattern letter of Spark; use y for the year [InvalidPattern]",
        ),
        SINKS,
    ),
    Bad(
        "patterns that Spark refuses, or hardly means",
        (
            (
                "parquet: {path: /lake/lines}",
                'json: {path: /lake/lines, options: {timestampFormat: "YYYY-MM-DD hh:mm:ss", dateFormat: "E dd"}}',
            ),
        ),
        (
            "19:65: spec.queries[0].to[1].json.options.timestampFormat: 'YYYY-MM-DD hh:mm:ss', character 1: 'Y' is not a pattern letter of Spark; use y for the year [InvalidPattern]",
            "19:73: warning: spec.queries[0].to[1].json.options.timestampFormat: 'YYYY-MM-DD hh:mm:ss', character 9: 'DD' is the day of the year; use d for the day of the month [UnlikelyPattern]",
            "19:76: warning: spec.queries[0].to[1].json.options.timestampFormat: 'YYYY-MM-DD hh:mm:ss', character 12: 'hh' is an hour of a half day, and the pattern has no a for AM or PM; add a, or use HH for 0 to 23 [UnlikelyPattern]",
        ),
        SINKS,
    ),
    Bad(
        "a pattern that Spark writes and does not read",
        (
            (
                "subscribe: [raw]}}",
                "subscribe: [raw]}, decode: {json: {schema: 'a DATE', options: {dateFormat: E dd}}}}",
            ),
            (
                "        - name: topic\n          kafka: {connection: events, topic: copy, valueColumn: value}\n",
                "",
            ),
        ),
        (
            "9:122: spec.sources[0].decode.json.options.dateFormat: 'E dd', character 1: Spark writes 'E', but cannot read it; remove it [InvalidPattern]",
        ),
        SINKS,
    ),
    Bad(
        "text of several columns",
        (("parquet: {path: /lake/lines}", "text: {path: /lake/lines, partitionBy: [topic]}"),),
        (
            "19:11: spec.queries[0].to[1].text: a text sink writes one column, and the rows have key, offset, partition, timestamp, timestampType, value; select one in a view [TextNeedsOneColumn]",
        ),
        SINKS,
    ),
    Bad(
        "two tables at one place",
        (("parquet: {path: /lake/lines}", "delta: {path: /a}\n        - {name: twice, delta: {path: //a}}"),),
        (
            "20:39: spec.queries[0].to[2].delta.path: the sink 'lines' of this query writes this folder already; use another folder [FolderShared]",
        ),
        SINKS,
    ),
    Bad(
        "one table of a database twice",
        (
            (
                "upsert: {keys: [topic]}}",
                "upsert: {keys: [topic]}}\n        - name: twice\n          jdbc: {connection: shop, table: counts, upsert: {keys: [topic]}}",
            ),
        ),
        (
            "27:43: spec.queries[1].to[1].jdbc.table: the sink 'table' of this query writes this table already; use another table [TableShared]",
        ),
        SINKS,
    ),
    Bad(
        "table of three parts",
        (("table: counts", "table: db.public.counts"),),
        (
            "25:43: spec.queries[1].to[0].jdbc.table: 'db.public.counts' is not a table name; write name or schema.name [InvalidValue]",
        ),
        SINKS,
    ),
    Bad(
        "database that is not PostgreSQL",
        (("jdbc:postgresql://db/shop", "jdbc:mysql://db/shop"),),
        (
            "25:30: spec.queries[1].to[0].jdbc.connection: only PostgreSQL has exactly-once delivery, and 'jdbc:mysql://db/shop' is not a PostgreSQL URL; set delivery: atLeastOnce, or use a python sink [DatabaseNotSupported]",
        ),
        SINKS,
    ),
    Bad(
        "update without upsert",
        ((", upsert: {keys: [topic]}", ""),),
        (
            "22:19: spec.queries[1].outputMode: rows that changed replace those of their keys; give the sink upsert: {keys: [...]} [UpsertNeeded]",
        ),
        SINKS,
    ),
    Bad(
        "upsert of all",
        (("outputMode: update", "outputMode: complete"),),
        (
            "25:59: spec.queries[1].to[0].jdbc.upsert: upsert writes rows that are new or changed, and complete replaces all rows; use update [OutputModeNotAllowed]",
        ),
        SINKS,
    ),
    Bad(
        "owned options of writers",
        (
            ("table: counts", "table: counts, options: {isolationLevel: NONE}"),
            ("/lake/lines}", "/lake/lines, options: {extension: dat}}"),
        ),
        (
            "19:50: spec.queries[0].to[1].parquet.options.extension: extension is set by Mainstem and cannot be changed [OwnedOption]",
            "25:61: spec.queries[1].to[0].jdbc.options.isolationLevel: isolationLevel is set by Mainstem and cannot be changed [OwnedOption]",
        ),
        SINKS,
    ),
    Bad(
        "connection of another kind",
        (("{connection: shop,", "{connection: events,"),),
        (
            "25:30: spec.queries[1].to[0].jdbc.connection: the connection 'events' is of kind kafka; name a connection of kind jdbc [WrongConnection]",
        ),
        SINKS,
    ),
    Bad(
        "code that is no name, and a password for it",
        (
            (
                "parquet: {path: /lake/lines}",
                'python: {foreach: acme.sinks.Rows, arguments: {password: "x"}}',
            ),
        ),
        (
            "19:29: spec.queries[0].to[1].python.foreach: 'acme.sinks.Rows' is not an object of a Python module, such as package.module:function [InvalidName]",
        ),
        SINKS,
    ),
    Bad(
        "password in the arguments of code",
        (
            (
                "parquet: {path: /lake/lines}",
                'python: {foreach: "acme.sinks:Rows", arguments: {password: "x"}}',
            ),
        ),
        (
            "19:60: spec.queries[0].to[1].python.arguments.password: password is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
        SINKS,
    ),
    Bad(
        "memory, beside a refusal",
        (("parquet: {path: /lake/lines}", "memory: {}"), (", upsert: {keys: [topic]}", "")),
        (
            "19:11: warning: spec.queries[0].to[1].memory: the driver keeps the rows in its memory, and they are lost when it ends; use it for tests only [NotDurable]",
            "22:19: spec.queries[1].outputMode: rows that changed replace those of their keys; give the sink upsert: {keys: [...]} [UpsertNeeded]",
        ),
        SINKS,
    ),
]
