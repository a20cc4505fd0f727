"""Documents that are each a small edit away from a sound one, with all their messages.

Each expectation is the line that a user reads: `line:column: path: message [Reason]`, behind the name of the file.
"""

from typing import Final, NamedTuple


class Bad(NamedTuple):
    """A document that is refused.

    Attributes:
        name: what is wrong with it.
        edits: pieces of `BASE`, each there exactly once, and what they become.
        problems: all messages, in order.
        text: the whole document, in place of edits.
    """

    name: str
    edits: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]
    text: str | None = None

    def document(self) -> str:
        """The text of the edited document."""
        document = BASE if self.text is None else self.text
        for old, new in self.edits:
            assert document.count(old) == 1, f"{old!r} is there {document.count(old)} times"
            document = document.replace(old, new)
        return document


BASE: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: flights}
spec:
  parameters:
    - {name: lake, value: s3a://lake/flights}
  connections:
    - name: events
      kafka: {bootstrapServers: "kafka:9092", properties: {client.id: flights}}
    - name: store
      s3: {buckets: [lake, checkpoints], endpoint: "http://s3:7070"}
  sources:
    - name: departures
      kafka: {connection: events, subscribe: [departures], maxOffsetsPerTrigger: 5000}
      decode:
        json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}
        onMalformedRecord: deadLetter
        keep: [offset]
      watermark: {column: time_hour, delay: 1 day}
    - name: weather
      files: {path: /data/weather, format: json, schema: "origin STRING, temp DOUBLE"}
    - name: ticks
      rate: {rowsPerSecond: 5}
    - name: airports
      static:
        csv: {path: "${lake}/airports.csv", header: true}
  views:
    - name: enriched
      sql: |
        -- every departure with its airport
        SELECT d.*, a.name AS airport
        FROM departures d
        LEFT JOIN airports a ON d.dest = a.faa
    - name: carrier_days
      sql: >-
        SELECT window(time_hour, '1 day') AS day, carrier, count(*) AS flights
        FROM enriched
        GROUP BY 1, 2
    - name: parity
      sql: SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1
  queries:
    - name: archive
      from: enriched
      to:
        - name: files
          parquet: {path: "${lake}/archive", partitionBy: [carrier]}
      trigger: {processingTime: 30 seconds}
    - name: carrier-days
      from: carrier_days
      outputMode: update
      to:
        - name: table
          delta: {path: "${lake}/carrier_days", merge: {keys: [day, carrier]}}
    - name: dead-letters
      from: departures_dead_letters
      to:
        - name: topic
          kafka: {connection: events, topic: dead-letters}
    - name: temperatures
      from: weather
      to:
        - name: screen
          console: {}
    - name: parity
      from: parity
      outputMode: complete
      to:
        - name: screen
          console: {truncate: false}
  checkpoints: {location: s3a://checkpoints/flights}
  timeZone: UTC
  spark:
    conf: {spark.locality.wait: "0"}
  restart: {maxRetries: 5, backoff: 5 seconds}
  drain: {timeout: 60 seconds}
"""

BAD: Final = [
    Bad(
        "tab for indentation",
        (("  checkpoints: {loc", "\tcheckpoints: {loc"),),
        (
            "70:1: $: not YAML: found character that cannot start any token; this is a tab, indent YAML with spaces [InvalidYaml]",
        ),
    ),
    Bad(
        "bracket not closed",
        (("[lake, checkpoints]", "[lake, checkpoints"),),
        (
            "11:67: $: not YAML: did not find expected ',' or ']'; a bracket is not closed, or a value that holds ${, a bracket or a comma needs quotes [InvalidYaml]",
        ),
    ),
    Bad(
        "quote not closed",
        (('"${lake}/archive"', '"${lake}/archive'),),
        (
            "53:26: $: not YAML: did not find expected ',' or '}', while parsing a flow mapping that begins in line 46; a bracket is not closed, or a value that holds ${, a bracket or a comma needs quotes [InvalidYaml]",
        ),
    ),
    Bad(
        "key twice",
        (("  timeZone: UTC", "  timeZone: UTC\n  timeZone: UTC"),),
        ("72:3: spec.timeZone: the mapping has the key 'timeZone' twice; remove one [DuplicateKey]",),
    ),
    Bad(
        "a colon in a plain value",
        (("value % 2 AS odd", "value % 2 AS odd, 'a: b' AS c"),),
        (
            "40:39: $: not YAML: mapping values are not allowed in this context; put a value that holds ': ' in quotes, and check the indentation [InvalidYaml]",
        ),
    ),
    Bad(
        "parameter in flow style without quotes",
        (('{path: "${lake}/archive"', "{path: ${lake}/archive"),),
        (
            "46:28: $: not YAML: did not find expected ',' or '}'; a bracket is not closed, or a value that holds ${, a bracket or a comma needs quotes [InvalidYaml]",
        ),
    ),
    Bad(
        "value that starts with a backquote",
        (("sql: SELECT value % 2", "sql: `value` % 2"),),
        (
            "40:12: $: not YAML: found character that cannot start any token; put a value that starts with ` in quotes [InvalidYaml]",
        ),
    ),
    Bad(
        "alias without anchor",
        (("timeZone: UTC", "timeZone: *zone"),),
        ("71:13: $: not YAML: found undefined alias [InvalidYaml]",),
    ),
    Bad(
        "tag",
        (("timeZone: UTC", "timeZone: !zone UTC"),),
        ("71:13: $: the tag !zone has no meaning here; remove it [InvalidYaml]",),
    ),
    Bad(
        "list as a key",
        (("  timeZone: UTC", "  ? [timeZone]\n  : UTC"),),
        ("71:5: spec: a key must be a string, not a list or a mapping [InvalidYaml]",),
    ),
    Bad(
        "merge of a word",
        (("  restart: {maxR", "  restart: {<<: often, maxR"),),
        ("74:17: spec.restart: the value of << must be another mapping or a list of mappings [InvalidYaml]",),
    ),
    Bad(
        "number beyond all range",
        (("rowsPerSecond: 5", "rowsPerSecond: 1e999"),),
        ("23:29: spec.sources[2].rate.rowsPerSecond: the number 1e999 is too large [InvalidYaml]",),
    ),
    Bad(
        "control character",
        (("timeZone: UTC", 'timeZone: "UTC\x07"'),),
        ("71:17: $: not YAML: the control character U+0007 [InvalidYaml]",),
    ),
    Bad(
        "empty file", (), ("1:1: $: the file is empty; a StreamingPipeline is expected [EmptyDocument]",), ""
    ),
    Bad(
        "only a comment",
        (),
        ("1:1: $: the file is empty; a StreamingPipeline is expected [EmptyDocument]",),
        "# to do\n",
    ),
    Bad("a word", (), ("1:1: $: a StreamingPipeline is expected, found 'flights' [WrongKind]",), "flights\n"),
    Bad("a list", (), ("1:1: $: a StreamingPipeline is expected, found a list [WrongKind]",), "- flights\n"),
    Bad(
        "another kind",
        (),
        ("2:7: kind: a StreamingPipeline is expected, found 'Deployment' [WrongKind]",),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
    ),
    Bad(
        "kind misspelt",
        (("kind: StreamingPipeline", "kind: StreamingPipelin"),),
        (
            "2:7: kind: a StreamingPipeline is expected, found 'StreamingPipelin'; did you mean 'StreamingPipeline'? [WrongKind]",
        ),
    ),
    Bad(
        "kind missing",
        (("kind: StreamingPipeline\n", ""),),
        ("1:1: kind: the field 'kind' is required [MissingField]",),
    ),
    Bad(
        "another version",
        (("v1alpha1", "v1"),),
        (
            "1:13: apiVersion: 'mainstem.dev/v1' is not allowed here; the only value is mainstem.dev/v1alpha1 [InvalidValue]",
        ),
    ),
    Bad(
        "name too long",
        (("{name: flights}", "{name: " + "a" * 46 + "}"),),
        ("3:18: metadata.name: 46 characters are too long: at most 45 allowed [OutOfRange]",),
    ),
    Bad(
        "name not a label",
        (("{name: flights}", "{name: my_flights}"),),
        (
            "3:18: metadata.name: 'my_flights' is not a DNS label: lower case letters, digits and hyphens, starting with a letter, at most 45 characters [InvalidName]",
        ),
    ),
    Bad(
        "name missing",
        (("{name: flights}", "{labels: {a: b}}"),),
        ("3:11: metadata.name: the field 'name' is required [MissingField]",),
    ),
    Bad(
        "field missing",
        (("{connection: events, topic: dead-letters}", "{topic: dead-letters}"),),
        ("58:18: spec.queries[2].to[0].kafka.connection: the field 'connection' is required [MissingField]",),
    ),
    Bad(
        "field missing in a list",
        (("    - name: ticks\n      rate:", "    - rate:"),),
        ("22:7: spec.sources[2].name: the field 'name' is required [MissingField]",),
    ),
    Bad(
        "list missing",
        (("  checkpoints: {location: s3a://checkpoints/flights}\n", ""),),
        ("5:3: spec.checkpoints: the field 'checkpoints' is required [MissingField]",),
    ),
    Bad(
        "unknown field, near",
        (("rowsPerSecond: 5", "rowPerSecond: 5"),),
        (
            "23:14: spec.sources[2].rate.rowPerSecond: unknown field 'rowPerSecond'; did you mean 'rowsPerSecond'? [UnknownField]",
        ),
    ),
    Bad(
        "unknown field, snake case",
        (("rowsPerSecond: 5", "rows_per_second: 5"),),
        (
            "23:14: spec.sources[2].rate.rows_per_second: unknown field 'rows_per_second'; did you mean 'rowsPerSecond'? [UnknownField]",
        ),
    ),
    Bad(
        "unknown field, far",
        (("rowsPerSecond: 5", "speed: 5"),),
        (
            "23:14: spec.sources[2].rate.speed: unknown field 'speed'; known fields are rowsPerSecond, rampUpTime, numPartitions [UnknownField]",
        ),
    ),
    Bad(
        "unknown field of spec",
        (("  timeZone: UTC", "  zone: UTC"),),
        ("71:3: spec.zone: unknown field 'zone'; did you mean 'timeZone'? [UnknownField]",),
    ),
    Bad(
        "two kinds of sink",
        (("console: {}", "console: {}\n          delta: {path: /t}"),),
        (
            "62:11: spec.queries[3].to[0]: exactly one of kafka, delta, parquet, orc, csv, json, text, jdbc, spark, python, console, memory, noop must be given, found delta, console [NotExactlyOne]",
        ),
    ),
    Bad(
        "no kind of source",
        (("      rate: {rowsPerSecond: 5}\n", ""),),
        (
            "22:7: spec.sources[2]: exactly one of kafka, files, delta, rate, rateMicroBatch, socket, spark, static must be given, found none [NotExactlyOne]",
        ),
    ),
    Bad(
        "kind of source unknown",
        (("rate: {rowsPerSecond: 5}", "jdbc: {}"),),
        (
            "23:7: spec.sources[2].jdbc: unknown field 'jdbc'; known fields are name, kafka, files, delta, rate, rateMicroBatch, socket, spark, static, decode, watermark [UnknownField]",
        ),
    ),
    Bad(
        "empty trigger",
        (("{processingTime: 30 seconds}", "{}"),),
        (
            "47:16: spec.queries[0].trigger: exactly one of processingTime, availableNow, once, continuous, realTime must be given, found none [NotExactlyOne]",
        ),
    ),
    Bad(
        "topics and pattern",
        (("subscribe: [departures]", "subscribe: [departures], subscribePattern: d.*"),),
        (
            "14:14: spec.sources[0].kafka: exactly one of subscribe, subscribePattern, assign must be given, found subscribe, subscribePattern [NotExactlyOne]",
        ),
    ),
    Bad(
        "number in quotes",
        (("rowsPerSecond: 5", 'rowsPerSecond: "5"'),),
        (
            "23:29: spec.sources[2].rate.rowsPerSecond: '5' is not a whole number; remove the quotes [InvalidType]",
        ),
    ),
    Bad(
        "fraction",
        (("rowsPerSecond: 5", "rowsPerSecond: 0.5"),),
        ("23:29: spec.sources[2].rate.rowsPerSecond: 0.5 is not a whole number [InvalidType]",),
    ),
    Bad(
        "number out of range, low",
        (("rowsPerSecond: 5", "rowsPerSecond: 0"),),
        ("23:29: spec.sources[2].rate.rowsPerSecond: 0 is out of range: it must be 1 or more [OutOfRange]",),
    ),
    Bad(
        "number out of range, high",
        (("maxRetries: 5", "maxRetries: 1001"),),
        ("74:25: spec.restart.maxRetries: 1001 is out of range: it must be at most 1000 [OutOfRange]",),
    ),
    Bad(
        "number too large for anything",
        (("maxRetries: 5", "maxRetries: 100000000000000000000000"),),
        (
            "74:25: spec.restart.maxRetries: 100000000000000000000000 is out of range: it must be at most 1000 [OutOfRange]",
        ),
    ),
    Bad(
        "a quoted no for false",
        (("truncate: false", "truncate: 'no'"),),
        (
            "69:31: spec.queries[4].to[0].console.truncate: 'no' is not true or false; write false [InvalidType]",
        ),
    ),
    Bad(
        "a bare on for a string",
        (("properties: {client.id: flights}", "properties: {client.id: on}"),),
        (
            "9:71: spec.connections[0].kafka.properties[client.id]: on, which YAML reads as true, is not a string; put it in quotes [InvalidType]",
        ),
    ),
    Bad(
        "a bare n for one of some words",
        (("outputMode: complete", "outputMode: n"),),
        (
            "66:19: spec.queries[4].outputMode: n, which YAML reads as false, is not one of append, update, complete [InvalidValue]",
        ),
    ),
    Bad(
        "bool as option",
        (('"0"}', "true}"),),
        (
            "73:33: spec.spark.conf[spark.locality.wait]: true is not a string; put it in quotes [InvalidType]",
        ),
    ),
    Bad(
        "number as string",
        (("timeZone: UTC", "timeZone: 0"),),
        ("71:13: spec.timeZone: 0 is not a string; put it in quotes [InvalidType]",),
    ),
    Bad(
        "mapping as string",
        (("/data/weather,", "{a: b},"),),
        ("21:21: spec.sources[1].files.path: a mapping is not a string [InvalidType]",),
    ),
    Bad(
        "null",
        (("console: {truncate: false}", "console: {truncate: null}"),),
        (
            "69:31: spec.queries[4].to[0].console.truncate: null is not true or false; set a value, or remove the field [InvalidType]",
        ),
    ),
    Bad(
        "word for a list",
        (("subscribe: [departures]", "subscribe: departures"),),
        (
            "14:46: spec.sources[0].kafka.subscribe: 'departures' is not a list; write [departures] [InvalidType]",
        ),
    ),
    Bad(
        "list for a mapping",
        (("rate: {rowsPerSecond: 5}", "rate: [5]"),),
        ("23:13: spec.sources[2].rate: a list is not a mapping [InvalidType]",),
    ),
    Bad(
        "null for a mapping",
        (("{timeout: 60 seconds}", ""),),
        ("75:9: spec.drain: null is not a mapping; set a value, or remove the field [InvalidType]",),
    ),
    Bad(
        "empty list",
        (("subscribe: [departures]", "subscribe: []"),),
        ("14:46: spec.sources[0].kafka.subscribe: must not be empty [OutOfRange]",),
    ),
    Bad(
        "empty string",
        (("path: /data/weather", 'path: ""'),),
        ("21:21: spec.sources[1].files.path: must not be empty [OutOfRange]",),
    ),
    Bad(
        "SQL too long",
        (("SELECT value % 2", "SELECT " + "1 + " * 4096 + "value % 2"),),
        ("40:12: spec.views[2].sql: 16444 characters are too long: at most 16384 allowed [OutOfRange]",),
    ),
    Bad(
        "nine sinks",
        (
            (
                "          console: {}\n",
                "          console: {}\n" + "        - {name: again, console: {}}\n" * 8,
            ),
        ),
        ("62:9: spec.queries[3].to: 9 entries are too many: at most 8 allowed [OutOfRange]",),
    ),
    Bad(
        "two sinks of one name",
        (("          console: {}\n", "          console: {}\n        - {name: screen, noop: {}}\n"),),
        (
            "64:18: spec.queries[3].to[1].name: the name 'screen' is taken by an earlier entry of to [DuplicateName]",
        ),
    ),
    Bad(
        "choice, near",
        (("outputMode: complete", "outputMode: Complete"),),
        (
            "66:19: spec.queries[4].outputMode: 'Complete' is not one of append, update, complete; did you mean 'complete'? [InvalidValue]",
        ),
    ),
    Bad(
        "choice, far",
        (("format: json", "format: avro"),),
        (
            "21:44: spec.sources[1].files.format: 'avro' is not one of csv, json, orc, parquet, text [InvalidValue]",
        ),
    ),
    Bad(
        "false where only true makes sense",
        (("{processingTime: 30 seconds}", "{availableNow: false}"),),
        (
            "47:31: spec.queries[0].trigger.availableNow: false is not allowed here; the only value is true [InvalidValue]",
        ),
    ),
    Bad(
        "duration without unit",
        (("timeout: 60 seconds", "timeout: 60"),),
        ("75:20: spec.drain.timeout: 60 is not a duration such as '30 seconds' or '30s' [InvalidType]",),
    ),
    Bad(
        "duration of two units",
        (("backoff: 5 seconds", "backoff: 1 minute 5 seconds"),),
        (
            "74:37: spec.restart.backoff: '1 minute 5 seconds' is not a duration such as '30 seconds' or '30s' [InvalidDuration]",
        ),
    ),
    Bad(
        "source name not an identifier",
        (("- name: ticks", "- name: Ticks"),),
        (
            "22:13: spec.sources[2].name: 'Ticks' is not a SQL identifier: lower case letters, digits and underscores, starting with a letter, at most 63 characters [InvalidName]",
        ),
    ),
    Bad(
        "query name not a label",
        (("- name: carrier-days", "- name: carrier_days"),),
        (
            "48:13: spec.queries[1].name: 'carrier_days' is not a DNS label: lower case letters, digits and hyphens, starting with a letter, at most 63 characters [InvalidName]",
        ),
    ),
    Bad(
        "parameter name",
        (("- {name: lake,", "- {name: the-lake,"),),
        (
            "6:14: spec.parameters[0].name: 'the-lake' is not a name: letters, digits and underscores, at most 63 characters [InvalidName]",
        ),
    ),
    Bad(
        "bucket with scheme",
        (("[lake, checkpoints]", "[s3a://lake, checkpoints]"),),
        (
            "11:22: spec.connections[1].s3.buckets[0]: 's3a://lake' is not a bucket name, without s3a:// and without a path [InvalidName]",
        ),
    ),
    Bad(
        "time zone unknown",
        (("timeZone: UTC", "timeZone: Europe/Zurick"),),
        (
            "71:13: spec.timeZone: 'Europe/Zurick' is no such time zone, use a name like UTC or Europe/Zurich; did you mean 'Europe/Zurich'? [UnknownTimeZone]",
        ),
    ),
    Bad(
        "parameter unknown",
        (("${lake}/archive", "${lak}/archive"),),
        (
            "46:28: spec.queries[0].to[0].parquet.path: unknown parameter ${lak}; did you mean 'lake'? [UnknownParameter]",
        ),
    ),
    Bad(
        "parameter not closed",
        (("${lake}/archive", "${lake/archive"),),
        (
            "46:28: spec.queries[0].to[0].parquet.path: ${ has no closing brace; close it, or write $${ for a literal ${ [UnknownParameter]",
        ),
    ),
    Bad(
        "parameter in SQL unknown",
        (("FROM departures d\n", "FROM departures d -- ${x}\n"),),
        ("32:30: spec.views[0].sql: unknown parameter ${x}; the parameters are lake [UnknownParameter]",),
    ),
    Bad(
        "parameter in a name",
        (("- name: ticks", "- name: ${lake}"),),
        (
            "22:13: spec.sources[2].name: '${lake}' is not a SQL identifier: lower case letters, digits and underscores, starting with a letter, at most 63 characters; this field cannot contain parameters [InvalidName]",
        ),
    ),
    Bad(
        "parameter in a number",
        (("rowsPerSecond: 5", 'rowsPerSecond: "${lake}"'),),
        (
            "23:29: spec.sources[2].rate.rowsPerSecond: '${lake}' is not a whole number; this field cannot contain parameters [InvalidType]",
        ),
    ),
    Bad(
        "parameter in a choice",
        (("outputMode: complete", "outputMode: ${lake}"),),
        (
            "66:19: spec.queries[4].outputMode: '${lake}' is not one of append, update, complete; this field cannot contain parameters [InvalidValue]",
        ),
    ),
    Bad(
        "parameter in a duration",
        (("timeout: 60 seconds", 'timeout: "${lake}"'),),
        (
            "75:20: spec.drain.timeout: '${lake}' is not a duration such as '30 seconds' or '30s'; this field cannot contain parameters [InvalidDuration]",
        ),
    ),
    Bad(
        "parameter in a time zone",
        (("timeZone: UTC", "timeZone: ${lake}"),),
        (
            "71:13: spec.timeZone: '${lake}' is no such time zone, use a name like UTC or Europe/Zurich; this field cannot contain parameters [UnknownTimeZone]",
        ),
    ),
    Bad(
        "parameter in a key",
        (("{spark.locality.wait:", '{"spark.${lake}":'),),
        (
            "73:12: spec.spark.conf[spark.${lake}]: a key cannot contain a parameter; only values can [UnknownParameter]",
        ),
    ),
    Bad(
        "parameter in the text of a folded block",
        (("SELECT window(time_hour", "SELECT '${nope}' AS x, window(time_hour"),),
        ("36:17: spec.views[1].sql: unknown parameter ${nope}; the parameters are lake [UnknownParameter]",),
    ),
    Bad(
        "parameter that fills in nothing",
        (("value: s3a://lake/flights", 'value: ""'), ('"${lake}/archive"', '"${lake}"')),
        ("46:27: spec.queries[0].to[0].parquet.path: must not be empty [OutOfRange]",),
    ),
    Bad(
        "parameter twice",
        (
            (
                "    - {name: lake, value: s3a://lake/flights}\n",
                "    - {name: lake, value: s3a://lake/flights}\n    - {name: lake, value: b}\n",
            ),
        ),
        (
            "7:14: spec.parameters[1].name: the name 'lake' is taken by an earlier entry of parameters [DuplicateName]",
        ),
    ),
    Bad(
        "connection twice",
        (("- name: store", "- name: events"),),
        (
            "10:13: spec.connections[1].name: the name 'events' is taken by an earlier entry of connections [DuplicateName]",
        ),
    ),
    Bad(
        "source twice",
        (("- name: weather", "- name: ticks"), ("from: weather", "from: ticks")),
        (
            "22:13: spec.sources[2].name: the name 'ticks' is taken by an earlier entry of sources [DuplicateName]",
        ),
    ),
    Bad(
        "query twice",
        (("- name: temperatures", "- name: archive"),),
        (
            "59:13: spec.queries[3].name: the name 'archive' is taken by an earlier entry of queries [DuplicateName]",
        ),
    ),
    Bad(
        "view called as a source",
        (("    - name: parity\n      sql", "    - name: ticks\n      sql"), ("from: parity", "from: ticks")),
        (
            "39:13: spec.views[2].name: a source is called 'ticks' already; sources and views share one namespace in SQL; rename the view [DuplicateRelation]",
        ),
    ),
    Bad(
        "view called as dead letters",
        (
            ("    - name: parity\n      sql", "    - name: departures_dead_letters\n      sql"),
            ("from: parity", "from: ticks"),
        ),
        (
            "13:13: spec.sources[0].name: 'departures_dead_letters' is the relation of this source's dead letters, and another relation has that name; rename one of the two [DuplicateRelation]",
        ),
    ),
    Bad(
        "connection unknown",
        (
            ("topic: dead-letters}", "topic: dead-letters}"),
            ("connection: events, subscribe", "connection: event, subscribe"),
        ),
        (
            "14:27: spec.sources[0].kafka.connection: no connection is called 'event'; did you mean 'events'? [UnknownConnection]",
        ),
    ),
    Bad(
        "connection of the wrong kind",
        (("connection: events, topic", "connection: store, topic"),),
        (
            "58:31: spec.queries[2].to[0].kafka.connection: the connection 'store' is of kind s3; name a connection of kind kafka [WrongConnection]",
        ),
    ),
    Bad(
        "Avro schema of something else than a record",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                """avro: {schema: '{"type": "enum", "name": "x", "symbols": []}'}""",
            ),
        ),
        (
            '16:24: spec.sources[0].decode.avro.schema: the value is not the JSON schema of an Avro record; write {"type": "record", "name": "Flight", "fields": [...]} [SchemaInvalid]',
        ),
    ),
    Bad(
        "mistyped type in a schema",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INTT"}',
            ),
        ),
        (
            "16:85: spec.sources[0].decode.json.schema: INTT is no type of Spark; did you mean INT? [SchemaInvalid]",
        ),
    ),
    Bad(
        "name that needs backticks in a schema",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep-delay INT"}',
            ),
        ),
        (
            "16:75: spec.sources[0].decode.json.schema: the name dep-delay needs backticks: `dep-delay` [SchemaInvalid]",
        ),
    ),
    Bad(
        "column of a schema with a length",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay ARRAY<VARCHAR(3)>"}',
            ),
        ),
        (
            "16:75: spec.sources[0].decode.json.schema: Spark reads no column of type ARRAY<VARCHAR(3)>; write STRING for 'dep_delay' [SchemaInvalid]",
        ),
    ),
    Bad(
        "two columns of one name in a schema",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay STRUCT<a: INT, A: INT>"}',
            ),
        ),
        (
            "16:100: spec.sources[0].decode.json.schema: the schema has 'A' twice, because Spark ignores the case of names; rename one of the two [DuplicateColumn]",
        ),
    ),
    Bad(
        "event time of another type",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                'json: {schema: "carrier STRING, dest STRING, time_hour STRING, dep_delay INT"}',
            ),
        ),
        (
            "19:27: spec.sources[0].watermark.column: 'time_hour' is of type STRING, and event time is a TIMESTAMP; declare it as one in the schema [WatermarkNotAllowed]",
        ),
    ),
    Bad(
        "decoded column and kept one with the same name, in Avro",
        (
            (
                'json: {schema: "carrier STRING, dest STRING, time_hour TIMESTAMP, dep_delay INT"}',
                """avro: {schema: '{"type": "record", "name": "x", "fields": [{"name": "Offset", "type": "int"}]}'}""",
            ),
            ("{column: time_hour, delay: 1 day}", "{column: ofset, delay: 1 day}"),
        ),
        (
            "18:16: spec.sources[0].decode.keep[0]: the schema has a column 'offset' already; leave the name out of keep, or rename the column in the schema [DuplicateColumn]",
            "19:27: spec.sources[0].watermark.column: the source has no column 'ofset'; did you mean 'offset'? [UnknownColumn]",
            "33:35: spec.views[0].sql: 'd' has no column 'dest'; known names are Offset, offset [UnknownColumn]",
            "36:23: spec.views[1].sql: 'enriched' has no column 'time_hour'; known names are Offset, offset, airport [UnknownColumn]",
            "36:51: spec.views[1].sql: 'enriched' has no column 'carrier'; known names are Offset, offset, airport [UnknownColumn]",
            "46:60: spec.queries[0].to[0].parquet.partitionBy[0]: 'enriched' has no column 'carrier'; known names are Offset, offset, airport [UnknownColumn]",
        ),
    ),
    Bad(
        "files that are cleaned up under another reader, into the folder that is read, limited twice",
        (
            (
                'files: {path: /data/weather, format: json, schema: "origin STRING, temp DOUBLE"}',
                'files: {path: /data/weather, format: json, schema: "origin STRING, temp DOUBLE", schemaFile: w.json, maxFilesPerTrigger: 1, maxBytesPerTrigger: 1, cleanSource: {archive: /data/weather/done}}',
            ),
            ("from: departures_dead_letters", "from: weather"),
            ("onMalformedRecord: deadLetter", "onMalformedRecord: drop"),
        ),
        (
            "21:100: spec.sources[1].files.schemaFile: schema and schemaFile both define the columns; remove one of them [FieldsConflict]",
            "21:151: spec.sources[1].files.maxBytesPerTrigger: maxFilesPerTrigger limits a batch already, and Spark accepts one limit; remove one of them [FieldsConflict]",
            "21:167: spec.sources[1].files.cleanSource: dead-letters and temperatures read these files independently, so one can miss files that another one cleans up; remove cleanSource, or give each query its own folder [CleanSourceShared]",
            "21:177: spec.sources[1].files.cleanSource.archive: the archive and the folder that is read are the same or nested; use separate folders [FolderShared]",
        ),
    ),
    Bad(
        "database that is no address, with a password, and a table through another's connection",
        (
            (
                '      s3: {buckets: [lake, checkpoints], endpoint: "http://s3:7070"}\n',
                '      s3: {buckets: [lake, checkpoints], endpoint: "http://s3:7070"}\n    - {name: shop, jdbc: {url: "postgresql://shop/orders;password=x", properties: {user: me}}}\n',
            ),
            (
                'csv: {path: "${lake}/airports.csv", header: true}',
                "jdbc: {connection: store, table: airports}",
            ),
        ),
        (
            "12:32: spec.connections[2].jdbc.url: 'postgresql://shop/orders;password=x' is not a JDBC URL; write for example jdbc:postgresql://host/database [InvalidAddress]",
            "12:32: spec.connections[2].jdbc.url: the address contains credentials, which a document must not contain; use a secret or the environment [SecretInDocument]",
            "12:84: spec.connections[2].jdbc.properties.user: user is set by Mainstem; use secretRef [OwnedOption]",
            "27:28: spec.sources[3].static.jdbc.connection: the connection 'store' is of kind s3; name a connection of kind jdbc [WrongConnection]",
        ),
    ),
    Bad(
        "Delta table at a version and at a time",
        (
            (
                'csv: {path: "${lake}/airports.csv", header: true}',
                'delta: {path: "${lake}/airports", version: 3, timestamp: "2026-01-31"}',
            ),
        ),
        (
            "26:66: spec.sources[3].static.delta.timestamp: version and timestamp both select a version of the table; remove one of them [FieldsConflict]",
        ),
    ),
    Bad(
        "query reads nothing known, near",
        (("from: weather", "from: wether"),),
        (
            "60:13: spec.queries[3].from: no source or view is called 'wether'; did you mean 'weather'? [UnknownRelation]",
        ),
    ),
    Bad(
        "query reads nothing known, far",
        (("from: weather", "from: nowhere"),),
        (
            "60:13: spec.queries[3].from: no source or view is called 'nowhere'; known names are airports, carrier_days, departures, departures_dead_letters, enriched, parity, ticks, weather [UnknownRelation]",
        ),
    ),
    Bad(
        "dead letters that are not offered",
        (("onMalformedRecord: deadLetter", "onMalformedRecord: drop"),),
        (
            "55:13: spec.queries[2].from: no relation 'departures_dead_letters': the source 'departures' has it only with decode.onMalformedRecord: deadLetter [UnknownRelation]",
        ),
    ),
    Bad(
        "SQL reads nothing known, literal block",
        (("LEFT JOIN airports a", "LEFT JOIN airport a"),),
        (
            "33:19: spec.views[0].sql: no source or view is called 'airport'; did you mean 'airports'? [UnknownRelation]",
        ),
    ),
    Bad(
        "SQL reads nothing known, folded",
        (("FROM enriched", "FROM enrich"),),
        (
            "37:14: spec.views[1].sql: no source or view is called 'enrich'; did you mean 'enriched'? [UnknownRelation]",
        ),
    ),
    Bad(
        "SQL reads nothing known, plain",
        (("FROM ticks", "FROM `tick`"),),
        (
            "40:56: spec.views[2].sql: no source or view is called 'tick'; did you mean 'ticks'? [UnknownRelation]",
        ),
    ),
    Bad(
        "SQL reads nothing known, behind a parameter",
        (
            ("-- every departure", "-- ${lake} and on\n        -- $${x} ${lake}, every departure"),
            ("LEFT JOIN airports a", "LEFT JOIN airport a"),
        ),
        (
            "34:19: spec.views[0].sql: no source or view is called 'airport'; did you mean 'airports'? [UnknownRelation]",
        ),
    ),
    Bad(
        "views in a circle",
        (("FROM departures d", "FROM carrier_days d"),),
        (
            "32:14: spec.views[0].sql: views read each other: enriched -> carrier_days -> enriched [CyclicViews]",
        ),
    ),
    Bad(
        "view that reads itself",
        (("FROM ticks", "FROM parity"),),
        ("40:56: spec.views[2].sql: the view reads itself [CyclicViews]",),
    ),
    Bad(
        "SQL: SET",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SET spark.sql.ansi.enabled = false",
            ),
        ),
        ("41:9: spec.views[2].sql: SET is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: a file of the pod",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "SELECT * FROM text.`/var/run/secrets/kubernetes.io/serviceaccount/token`",
            ),
        ),
        (
            "40:31: spec.views[2].sql: text.`/var/run/secrets/kubernetes.io/serviceaccount/token` reads files by path; add a source of kind files or static instead [FileInSql]",
        ),
    ),
    Bad(
        "SQL: a table by its path, in a subquery",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "SELECT value FROM ticks WHERE value IN (SELECT id FROM delta.`s3a://lake/t`)",
            ),
        ),
        (
            "40:73: spec.views[2].sql: delta.`s3a://lake/t` reads files by path; add a source of kind files or static instead [FileInSql]",
        ),
    ),
    Bad(
        "SQL: the change feed of a table by its path",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "SELECT id AS odd, 1 AS n FROM table_changes_by_path('s3a://lake/t', 0)",
            ),
        ),
        (
            "40:42: spec.views[2].sql: table_changes_by_path reads files by path; add a delta source with readChangeFeed for the table instead [FileInSql]",
        ),
    ),
    Bad(
        "owned conf: spark.sql.runSQLOnFiles",
        (("spark.locality.wait", "spark.sql.runSQLOnFiles"),),
        (
            "73:12: spec.spark.conf[spark.sql.runSQLOnFiles]: spark.sql.runSQLOnFiles is set by Mainstem; use sources [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf: spark.plugins",
        (("spark.locality.wait", "spark.plugins"),),
        (
            "73:12: spec.spark.conf[spark.plugins]: spark.plugins is set by Mainstem and cannot be changed [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf: spark.files",
        (("spark.locality.wait", "spark.files"),),
        (
            "73:12: spec.spark.conf[spark.files]: spark.files is set by Mainstem and cannot be changed [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf: spark.jars.repositories",
        (("spark.locality.wait", "spark.jars.repositories"),),
        (
            "73:12: spec.spark.conf[spark.jars.repositories]: spark.jars.repositories is set by Mainstem; use spec.packages [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf: spark.extraListeners",
        (("spark.locality.wait", "spark.extraListeners"),),
        (
            "73:12: spec.spark.conf[spark.extraListeners]: spark.extraListeners is set by Mainstem; use listeners [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf: spark.executor.extraClassPath",
        (("spark.locality.wait", "spark.executor.extraClassPath"),),
        (
            "73:12: spec.spark.conf[spark.executor.extraClassPath]: spark.executor.extraClassPath is set by Mainstem; use spec.packages [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf: spark.executor.defaultJavaOptions",
        (("spark.locality.wait", "spark.executor.defaultJavaOptions"),),
        (
            "73:12: spec.spark.conf[spark.executor.defaultJavaOptions]: spark.executor.defaultJavaOptions is set by Mainstem; use JAVA_TOOL_OPTIONS in env of the container executor in spec.executors.template [OwnedConf]",
        ),
    ),
    Bad(
        "SQL: ADD JAR",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        ADD JAR s3a://lake/evil.jar",
            ),
        ),
        ("41:9: spec.views[2].sql: ADD is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: DDL",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        CREATE TABLE t AS SELECT * FROM ticks",
            ),
        ),
        ("41:9: spec.views[2].sql: CREATE is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: INSERT",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        insert into t SELECT * FROM ticks",
            ),
        ),
        ("41:9: spec.views[2].sql: INSERT is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: INSERT behind WITH",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        WITH t AS (SELECT * FROM ticks) INSERT INTO u SELECT * FROM t",
            ),
        ),
        ("41:41: spec.views[2].sql: INSERT is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: DELETE behind WITH",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        WITH t AS (SELECT 1) DELETE FROM u",
            ),
        ),
        ("41:30: spec.views[2].sql: DELETE is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: INSERT behind FROM",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        FROM ticks INSERT INTO u SELECT value",
            ),
        ),
        ("41:20: spec.views[2].sql: INSERT is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: EXECUTE IMMEDIATE",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        EXECUTE IMMEDIATE 'SELECT 1'",
            ),
        ),
        ("41:9: spec.views[2].sql: EXECUTE is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: script",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        BEGIN SELECT 1; END",
            ),
        ),
        ("41:9: spec.views[2].sql: BEGIN is a statement; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: two queries",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT 1 FROM ticks; SELECT 2 FROM ticks",
            ),
        ),
        ("41:30: spec.views[2].sql: the text has 2 statements; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: query and statement",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT 1 FROM ticks; DROP TABLE t",
            ),
        ),
        ("41:30: spec.views[2].sql: the text has 2 statements; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: no query",
        (("SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1", "|-\n        /* later */"),),
        ("41:9: spec.views[2].sql: the text is empty; a view is exactly one query [NotAQuery]",),
    ),
    Bad(
        "SQL: reflect",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT reflect('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:16: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: java_method in upper case",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT JAVA_METHOD('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:16: spec.views[2].sql: the function java_method is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: try_reflect in backquotes",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT value, `try_reflect`('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:23: spec.views[2].sql: the function try_reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect with its path",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT value, system.builtin.reflect('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:38: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect before a comment",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT reflect /* well */ ('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:16: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect behind a quoted comment",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT 1 AS `--`, reflect('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:27: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect behind a raw string",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT r'\\', reflect('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:22: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect behind a lone quote",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT value AS `'`, reflect('a', 'b') AS `'` FROM ticks",
            ),
        ),
        (
            "41:30: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect by another way",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "|-\n        SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'exit', 0) FROM ticks",
            ),
        ),
        (
            "41:16: spec.views[2].sql: IDENTIFIER(...) is not allowed, because it hides the name of a relation or function; write the name [ForbiddenFunction]",
        ),
    ),
    Bad(
        "SQL: reflect behind a comment ended by CR",
        (
            (
                "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "\"SELECT 1 --\\r, reflect('a', 'b') FROM ticks\"",
            ),
        ),
        (
            "40:28: spec.views[2].sql: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
    ),
    Bad(
        "owned option of a source",
        (("maxOffsetsPerTrigger: 5000", "options: {startingOffsets: earliest}"),),
        (
            "14:70: spec.sources[0].kafka.options.startingOffsets: startingOffsets is a field one level up; move it out of options [OwnedOption]",
        ),
    ),
    Bad(
        "owned option in other letters",
        (("maxOffsetsPerTrigger: 5000", "options: {KAFKA.Group.ID: g}"),),
        (
            "14:70: spec.sources[0].kafka.options[KAFKA.Group.ID]: KAFKA.Group.ID is set by Mainstem; use groupIdPrefix, among a source's options [OwnedOption]",
        ),
    ),
    Bad(
        "what plain consumers are told",
        (
            (
                "maxOffsetsPerTrigger: 5000",
                "options: {kafka.auto.offset.reset: earliest, kafka.interceptor.classes: x.Y}",
            ),
            ("{client.id: flights}", "{auto.offset.reset: earliest}"),
        ),
        (
            "9:60: spec.connections[0].kafka.properties[auto.offset.reset]: auto.offset.reset is set by Mainstem; use startingOffsets [OwnedOption]",
            "14:70: spec.sources[0].kafka.options[kafka.auto.offset.reset]: kafka.auto.offset.reset is set by Mainstem; use startingOffsets [OwnedOption]",
            "14:105: spec.sources[0].kafka.options[kafka.interceptor.classes]: kafka.interceptor.classes is set by Mainstem and cannot be changed [OwnedOption]",
        ),
    ),
    Bad(
        "owned option of files",
        (("format: json,", "format: json, options: {maxFilesPerTrigger: '5'},"),),
        (
            "21:60: spec.sources[1].files.options.maxFilesPerTrigger: maxFilesPerTrigger is a field one level up; move it out of options [OwnedOption]",
        ),
    ),
    Bad(
        "owned option of JSON",
        (('dep_delay INT"}', 'dep_delay INT", options: {mode: DROPMALFORMED}}'),),
        (
            "16:101: spec.sources[0].decode.json.options.mode: mode is set by Mainstem; use onMalformedRecord [OwnedOption]",
        ),
    ),
    Bad(
        "owned option of a static source",
        (("header: true}", "options: {header: 'true'}}"),),
        (
            "26:55: spec.sources[3].static.csv.options.header: header is a field one level up; move it out of options [OwnedOption]",
        ),
    ),
    Bad(
        "owned option of a sink",
        (("topic: dead-letters}", "topic: dead-letters, options: {topic: t}}"),),
        (
            "58:70: spec.queries[2].to[0].kafka.options.topic: topic is a field one level up; move it out of options [OwnedOption]",
        ),
    ),
    Bad(
        "owned option of files written",
        (("partitionBy: [carrier]}", "options: {checkpointLocation: /c}}"),),
        (
            "46:56: spec.queries[0].to[0].parquet.options.checkpointLocation: checkpointLocation is set by Mainstem; use checkpoints [OwnedOption]",
        ),
    ),
    Bad(
        "owned property of a client",
        (("{client.id: flights}", "{group.id: flights}"),),
        (
            "9:60: spec.connections[0].kafka.properties[group.id]: group.id is set by Mainstem; use groupIdPrefix, among a source's options [OwnedOption]",
        ),
    ),
    Bad(
        "owned conf",
        (("spark.locality.wait", "spark.sql.shuffle.partitions"),),
        (
            "73:12: spec.spark.conf[spark.sql.shuffle.partitions]: spark.sql.shuffle.partitions is set by Mainstem; use queries[].state.partitions [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf without a way",
        (("spark.locality.wait", "spark.jars.packages"),),
        (
            "73:12: spec.spark.conf[spark.jars.packages]: spark.jars.packages is set by Mainstem; use spec.packages [OwnedConf]",
        ),
    ),
    Bad(
        "owned conf by its beginning",
        (("spark.locality.wait", "spark.driver.extraClassPath"),),
        (
            "73:12: spec.spark.conf[spark.driver.extraClassPath]: spark.driver.extraClassPath is set by Mainstem; use spec.packages [OwnedConf]",
        ),
    ),
    Bad(
        "memory of the driver",
        (("spark.locality.wait", "spark.driver.memory"),),
        (
            "73:12: spec.spark.conf[spark.driver.memory]: spark.driver.memory is set by Mainstem; use `mainstem run --heap`, or driver.heap on a cluster [OwnedConf]",
        ),
    ),
    Bad(
        "not a conf of Spark",
        (("spark.locality.wait", "locality.wait"),),
        (
            "73:12: spec.spark.conf[locality.wait]: 'locality.wait' is not a Spark property; names of Spark properties start with spark. [InvalidConf]",
        ),
    ),
    Bad(
        "password as a property",
        (("{client.id: flights}", "{ssl.key.password: hunter2}"),),
        (
            "9:60: spec.connections[0].kafka.properties[ssl.key.password]: ssl.key.password is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
    ),
    Bad(
        "JAAS line as an option",
        (
            (
                "maxOffsetsPerTrigger: 5000",
                "options: {kafka.sasl.jaas.config: PlainLoginModule required password=x}",
            ),
        ),
        (
            "14:70: spec.sources[0].kafka.options[kafka.sasl.jaas.config]: kafka.sasl.jaas.config is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
    ),
    Bad(
        "key as conf",
        (('{spark.locality.wait: "0"}', "{spark.hadoop.fs.azure.account.oauth2.client.secret: x}"),),
        (
            "73:12: spec.spark.conf[spark.hadoop.fs.azure.account.oauth2.client.secret]: spark.hadoop.fs.azure.account.oauth2.client.secret is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
    ),
    Bad(
        "password in an address",
        (("http://s3:7070", "http://me:hunter2@s3:7070"),),
        (
            "11:52: spec.connections[1].s3.endpoint: the address contains credentials, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
    ),
    Bad(
        "password in a path",
        (("s3a://lake/flights}", "s3a://AKIA:hunter2@lake/flights}"),),
        (
            "26:21: spec.sources[3].static.csv.path: the address contains credentials, which a document must not contain; use a secret or the environment [SecretInDocument]",
            "46:27: spec.queries[0].to[0].parquet.path: the address contains credentials, which a document must not contain; use a secret or the environment [SecretInDocument]",
            "53:25: spec.queries[1].to[0].delta.path: the address contains credentials, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
    ),
    Bad(
        "s3 for s3a",
        (("s3a://checkpoints/flights", "s3://checkpoints/flights"),),
        (
            "70:27: spec.checkpoints.location: 's3://checkpoints/flights': unknown scheme s3:; did you mean s3a://? [UnknownScheme]",
        ),
    ),
    Bad(
        "scheme unknown",
        (("/data/weather,", "hdfs://data/weather,"),),
        (
            "21:21: spec.sources[1].files.path: 'hdfs://data/weather': unknown scheme hdfs:; use s3a:// or a local path [UnknownScheme]",
        ),
    ),
    Bad(
        "no bucket",
        (("s3a://checkpoints/flights", "s3a:///flights"),),
        (
            "70:27: spec.checkpoints.location: 's3a:///flights' has no bucket; write s3a://bucket/path [BucketMissing]",
        ),
    ),
    Bad(
        "checkpoint shared",
        (("    - name: temperatures\n", "    - name: temperatures\n      checkpoint: {id: archive}\n"),),
        (
            "60:24: spec.queries[3].checkpoint.id: the query 'archive' has the same checkpoint, 'archive/1'; give each query its own id [CheckpointShared]",
        ),
    ),
    Bad(
        "generation of another query",
        (
            (
                "    - name: temperatures\n",
                "    - name: temperatures\n      checkpoint: {id: archive, generation: 7, onChange: newGeneration}\n",
            ),
        ),
        (
            "60:58: spec.queries[3].checkpoint.onChange: the query 'archive' has the same checkpoint.id, 'archive', so onChange: newGeneration may take its generation; give each query its own id [CheckpointShared]",
        ),
    ),
    Bad(
        "folder of two writers",
        (("          console: {}\n", '          parquet: {path: "${lake}/archive/"}\n'),),
        (
            "63:27: spec.queries[3].to[0].parquet.path: the query 'archive' writes this folder already; use another folder for these files [FolderShared]",
        ),
    ),
    Bad(
        "folder of two writers, spelled differently",
        (("          console: {}\n", "          parquet: {path: s3a://lake/flights//x/../archive}\n"),),
        (
            "63:27: spec.queries[3].to[0].parquet.path: the query 'archive' writes this folder already; use another folder for these files [FolderShared]",
        ),
    ),
    Bad(
        "folder within another sink's",
        (("          console: {}\n", "          delta: {path: s3a://lake/flights/archive/late}\n"),),
        (
            "63:25: spec.queries[3].to[0].delta.path: this folder and the folder of the query 'archive' are nested; use separate folders [FolderShared]",
        ),
    ),
    Bad(
        "checkpoints within a folder",
        (("          console: {}\n", "          parquet: {path: s3a://checkpoints}\n"),),
        (
            "63:27: spec.queries[3].to[0].parquet.path: checkpoints.location is inside this folder; move it out, or name it _checkpoints [FolderInCheckpoints]",
        ),
    ),
    Bad(
        "folder within the checkpoints",
        (("          console: {}\n", "          parquet: {path: s3a://checkpoints/flights/out}\n"),),
        (
            "63:27: spec.queries[3].to[0].parquet.path: the folder is inside checkpoints.location; use a folder outside of it [FolderInCheckpoints]",
        ),
    ),
    Bad(
        "folder that is read",
        (("          console: {}\n", "          parquet: {path: /data/weather/}\n"),),
        (
            "63:27: spec.queries[3].to[0].parquet.path: the query reads this folder and would read its own output; use another folder [SinkIsSource]",
        ),
    ),
    Bad(
        "address that is no URL",
        (('endpoint: "http://s3:7070"', "endpoint: minio:9000"),),
        (
            "11:52: spec.connections[1].s3.endpoint: 'minio:9000' is not a URL such as https://minio:9000; did you mean http://minio:9000? [InvalidAddress]",
        ),
    ),
    Bad(
        "address with a port that is none",
        (('endpoint: "http://s3:7070"', 'endpoint: "http://s3:x"'),),
        (
            "11:52: spec.connections[1].s3.endpoint: 'http://s3:x' is not a URL such as https://minio:9000 [InvalidAddress]",
        ),
    ),
    Bad(
        "broker without a port",
        (('bootstrapServers: "kafka:9092"', 'bootstrapServers: "kafka:9092, other"'),),
        (
            "9:33: spec.connections[0].kafka.bootstrapServers: 'other' is not host:port, such as kafka:9092 [InvalidAddress]",
        ),
    ),
    Bad(
        "client property with Spark's prefix",
        (("client.id: flights", "kafka.security.protocol: SSL"),),
        (
            "9:60: spec.connections[0].kafka.properties[kafka.security.protocol]: kafka.security.protocol has Spark's prefix, and properties are those of Kafka's clients; write security.protocol [KafkaPrefix]",
        ),
    ),
    Bad(
        "key as text",
        (("client.id: flights", "ssl.truststore.certificates: '-----BEGIN RSA PRIVATE KEY----- x'"),),
        (
            "9:60: spec.connections[0].kafka.properties[ssl.truststore.certificates]: ssl.truststore.certificates is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
    ),
    Bad(
        "topic listed twice",
        (("subscribe: [departures]", "subscribe: [departures, other, departures]"),),
        ("14:46: spec.sources[0].kafka.subscribe: 'departures' is listed twice [DuplicateEntry]",),
    ),
    Bad(
        "kept headers that are not read",
        (("keep: [offset]", "keep: [offset, headers]"),),
        (
            "18:24: spec.sources[0].decode.keep[1]: the record has no column 'headers' without kafka.includeHeaders: true [UnknownColumn]",
        ),
    ),
    Bad(
        "kept column that the schema has too",
        (('dep_delay INT"}', 'dep_delay INT, OFFSET INT"}'),),
        (
            "18:16: spec.sources[0].decode.keep[0]: the schema has a column 'offset' already; leave the name out of keep, or rename the column in the schema [DuplicateColumn]",
        ),
    ),
    Bad(
        "offsets misspelled",
        (("maxOffsetsPerTrigger: 5000", "startingOffsets: erliest"),),
        (
            "14:77: spec.sources[0].kafka.startingOffsets: 'erliest' is neither earliest, latest nor JSON such as {\"orders\": {\"0\": 42}}; did you mean 'earliest'? [InvalidValue]",
        ),
    ),
    Bad(
        "offsets of another shape",
        (("maxOffsetsPerTrigger: 5000", "startingOffsets: '{\"departures\": 5}'"),),
        (
            '14:77: spec.sources[0].kafka.startingOffsets: \'{"departures": 5}\' is neither earliest, latest nor JSON such as {"orders": {"0": 42}} [InvalidValue]',
        ),
    ),
    Bad(
        "bucket of two connections",
        (("  sources:\n", "    - name: other\n      s3: {buckets: [lake]}\n  sources:\n"),),
        (
            "13:22: spec.connections[2].s3.buckets[0]: the connection 'store' lists the bucket 'lake' already; remove it from one of them [BucketShared]",
        ),
    ),
    Bad(
        "decode of a rate",
        (("rate: {rowsPerSecond: 5}", "rate: {rowsPerSecond: 5}\n      decode: {json: {schema: a INT}}"),),
        (
            "24:15: spec.sources[2].decode: a rate source has columns already; decode is for kafka and text files; leave it out [DecodeNotAllowed]",
        ),
    ),
    Bad(
        "decode of files with columns",
        (('temp DOUBLE"}', 'temp DOUBLE"}\n      decode: {json: {schema: a INT}}'),),
        (
            "22:15: spec.sources[1].decode: files of format json have columns already; decode needs format: text; leave decode out, because files.schema decodes the records; set files.onMalformedRecord [DecodeNotAllowed]",
        ),
    ),
    Bad(
        "files without records to put aside, in an encoding without lines",
        (
            (
                'format: json, schema: "origin STRING, temp DOUBLE"}',
                "format: text, onMalformedRecord: drop, options: {ENCODING: utf-16le}}\n      decode: {csv: {schema: a INT}}",
            ),
            (
                "rate: {rowsPerSecond: 5}",
                "files: {path: /data/ticks, format: parquet, schema: a INT, onMalformedRecord: drop}",
            ),
        ),
        (
            "21:50: spec.sources[1].files.onMalformedRecord: text files have onMalformedRecord in decode; move it there [FieldNotAllowed]",
            "21:95: spec.sources[1].files.options.ENCODING: lines of utf-16le text cannot be split by their bytes; convert the files to UTF-8 [EncodingNotSupported]",
            "24:66: spec.sources[2].files.onMalformedRecord: Spark reads a parquet file completely or not at all; remove onMalformedRecord [FieldNotAllowed]",
        ),
    ),
    Bad(
        "files without JSON that could lack the columns",
        (
            (
                'format: json, schema: "origin STRING, temp DOUBLE"}',
                "format: text, allowRecordsWithoutColumns: true}\n      decode: {json: {schema: a INT}}",
            ),
            (
                "rate: {rowsPerSecond: 5}",
                "files: {path: /data/ticks, format: csv, schema: value INT, allowRecordsWithoutColumns: true}",
            ),
        ),
        (
            "21:50: spec.sources[1].files.allowRecordsWithoutColumns: text files have allowRecordsWithoutColumns in decode.json; move it there [FieldNotAllowed]",
            "24:66: spec.sources[2].files.allowRecordsWithoutColumns: only JSON objects name their columns, and these files are csv; remove the field [FieldNotAllowed]",
        ),
    ),
    Bad(
        "columns of Kafka kept of files",
        (
            (
                'format: json, schema: "origin STRING, temp DOUBLE"}',
                "format: text}\n      decode: {json: {schema: a INT}, keep: [topic]}",
            ),
        ),
        ("22:45: spec.sources[1].decode.keep: only Kafka records have these columns [DecodeNotAllowed]",),
    ),
    Bad(
        "tombstones of files",
        (
            (
                'format: json, schema: "origin STRING, temp DOUBLE"}',
                "format: text}\n      decode: {json: {schema: a INT}, onTombstone: skip}",
            ),
        ),
        (
            "22:52: spec.sources[1].decode.onTombstone: only Kafka has records without a value; leave onTombstone out [DecodeNotAllowed]",
        ),
    ),
    Bad(
        "schema of text",
        (("format: json,", "format: text,"),),
        (
            "21:58: spec.sources[1].files.schema: text files have only the column value; set the schema in decode, or use another format [SchemaNotAllowed]",
        ),
    ),
    Bad(
        "schema missing",
        ((', schema: "origin STRING, temp DOUBLE"', ""),),
        (
            "21:14: spec.sources[1].files: a stream of json files needs a schema; set one, such as 'carrier STRING, delay INT' [SchemaNeeded]",
        ),
    ),
    Bad(
        "bound of the future where nothing is decoded",
        (
            (
                "    - name: parity\n      sql: SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "    - name: parity\n      sql: SELECT timestamp, value FROM ticks\n      watermark: {column: timestamp, delay: 1 day, maxFuture: 1 hour}",
            ),
        ),
        (
            "41:63: spec.views[2].watermark.maxFuture: maxFuture needs a source with decode; leave it out, or use an expectation of a view: expect: at <= current_timestamp() + INTERVAL 1 HOUR [FieldNotAllowed]",
            "67:19: spec.queries[4].outputMode: complete mode writes the whole result of an aggregation, and 'parity' has none; use append [AggregationNeeded]",
        ),
    ),
    Bad(
        "watermark on a static source",
        (("header: true}", "header: true}\n      watermark: {column: faa, delay: 1 day}"),),
        (
            "27:18: spec.sources[3].watermark: a static source cannot have a watermark; leave watermark out [WatermarkNotAllowed]",
        ),
    ),
    Bad(
        "watermark on a view of a static source",
        (
            (
                "    - name: parity\n      sql",
                "    - name: names\n      sql: SELECT name FROM airports\n      watermark: {column: name, delay: 1 day}\n    - name: parity\n      sql",
            ),
        ),
        (
            "39:13: warning: spec.views[2].name: no query reads 'names' [UnusedSource]",
            "41:18: spec.views[2].watermark: the view reads only static sources, which cannot have a watermark; leave watermark out [WatermarkNotAllowed]",
        ),
    ),
    Bad(
        "watermark on no column, near",
        (("{column: time_hour,", "{column: timehour,"),),
        (
            "19:27: spec.sources[0].watermark.column: the source has no column 'timehour'; did you mean 'time_hour'? [UnknownColumn]",
        ),
    ),
    Bad(
        "watermark on no column, far",
        (("{column: time_hour,", "{column: ts,"),),
        (
            "19:27: spec.sources[0].watermark.column: the source has no column 'ts'; known names are carrier, dest, time_hour, dep_delay, offset [UnknownColumn]",
        ),
    ),
    Bad(
        "occurrence called as a source",
        (
            ("- name: weather", "- name: ticks_2"),
            ("FROM ticks GROUP", "FROM ticks JOIN ticks AS b USING (value) GROUP"),
            ("from: weather", "from: ticks_2"),
        ),
        (
            "40:67: warning: spec.views[2].sql: this join of two streams keeps every row of both sides for ever: give both streams a watermark, and the condition a range of their event times (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window; the lower end bounds b, and the upper end bounds a [StateUnbounded]",
            "65:13: spec.queries[4].from: the query reads 'ticks' more than once, so one occurrence is called 'ticks_2', but a relation of the document has that name; rename that relation [OccurrenceName]",
            "66:19: spec.queries[4].outputMode: 'parity' has an inner join of two streams, which allows append or update mode, not complete [OutputModeNotAllowed]",
        ),
    ),
    Bad(
        "dead letters unread",
        (("from: departures_dead_letters", "from: departures"),),
        (
            "17:28: spec.sources[0].decode.onMalformedRecord: no query reads 'departures_dead_letters', so malformed records would be lost; add a query that reads it, or use drop [DeadLettersUnread]",
        ),
    ),
    Bad(
        "dead letters read twice",
        (("from: weather", "from: departures_dead_letters"),),
        (
            "17:28: spec.sources[0].decode.onMalformedRecord: 'departures_dead_letters' is read by dead-letters and temperatures; only one query may read it, so change the others [DeadLettersReadTwice]",
            "20:13: warning: spec.sources[1].name: no query reads 'weather' [UnusedSource]",
        ),
    ),
    Bad(
        "a trigger of a query over static tables",
        (
            ("from: weather", "from: airports"),
            ("          console: {}\n", "          console: {}\n      trigger: {processingTime: 1s}\n"),
        ),
        (
            "20:13: warning: spec.sources[1].name: no query reads 'weather' [UnusedSource]",
            "64:33: spec.queries[3].trigger.processingTime: processingTime is for streams, and 'airports' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "two starts",
        (("maxOffsetsPerTrigger: 5000", "startingOffsets: earliest, startingTimestamp: '0'"),),
        (
            "14:87: spec.sources[0].kafka.startingTimestamp: startingOffsets and startingTimestamp both set where to start; remove one of them [AmbiguousOffsets]",
        ),
    ),
    Bad(
        "two ends",
        (("maxOffsetsPerTrigger: 5000", "endingOffsets: latest, endingOffsetsByTimestamp: '{}'"),),
        (
            "14:83: spec.sources[0].kafka.endingOffsetsByTimestamp: endingOffsets and endingOffsetsByTimestamp both set where to end; remove one of them [AmbiguousOffsets]",
            "47:33: spec.queries[0].trigger.processingTime: processingTime is for streams, and 'enriched' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "a time that is none",
        (("maxOffsetsPerTrigger: 5000", "startingTimestamp: 2026-13-01T00:00:00Z"),),
        (
            "14:79: spec.sources[0].kafka.startingTimestamp: '2026-13-01T00:00:00Z' is not a time such as 2026-01-01T00:00:00Z, or milliseconds since 1970 [InvalidValue]",
        ),
    ),
    Bad(
        "a time without a zone",
        (("maxOffsetsPerTrigger: 5000", "startingTimestamp: 2026-01-01T00:00:00.5"),),
        (
            "14:79: spec.sources[0].kafka.startingTimestamp: '2026-01-01T00:00:00.5' is not a time such as 2026-01-01T00:00:00Z, or milliseconds since 1970 [InvalidValue]",
        ),
    ),
    Bad(
        "offsets by a time that is no JSON",
        (("maxOffsetsPerTrigger: 5000", "startingOffsetsByTimestamp: earliest"),),
        (
            '14:88: spec.sources[0].kafka.startingOffsetsByTimestamp: \'earliest\' is not JSON such as {"orders": {"0": 1767225600000}} [InvalidValue]',
        ),
    ),
    Bad(
        "a bounded source from the latest",
        (("maxOffsetsPerTrigger: 5000", "startingOffsets: ' Latest', endingOffsets: latest"),),
        (
            "14:77: spec.sources[0].kafka.startingOffsets: a source with an end cannot start at latest, because it would read nothing; use another offset [EmptyRange]",
            "47:33: spec.queries[0].trigger.processingTime: processingTime is for streams, and 'enriched' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "a bounded source from the latest of a partition",
        (("maxOffsetsPerTrigger: 5000", 'startingOffsets: \'{"d": {"0": -1}}\', endingOffsets: latest'),),
        (
            "14:77: spec.sources[0].kafka.startingOffsets: a source with an end cannot start at latest, because it would read nothing; use another offset [EmptyRange]",
            "47:33: spec.queries[0].trigger.processingTime: processingTime is for streams, and 'enriched' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "a bounded source up to the earliest",
        (("maxOffsetsPerTrigger: 5000", "endingOffsets: earliest"),),
        (
            "14:75: spec.sources[0].kafka.endingOffsets: a source with an end cannot end at earliest, because it would read nothing; use another offset [EmptyRange]",
            "47:33: spec.queries[0].trigger.processingTime: processingTime is for streams, and 'enriched' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "a bounded source up to the earliest of a partition",
        (("maxOffsetsPerTrigger: 5000", 'endingOffsets: \'{"d": {"0": -2}}\''),),
        (
            "14:75: spec.sources[0].kafka.endingOffsets: a source with an end cannot end at earliest, because it would read nothing; use another offset [EmptyRange]",
            "47:33: spec.queries[0].trigger.processingTime: processingTime is for streams, and 'enriched' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "a limit of batches on a bounded source",
        (("maxOffsetsPerTrigger: 5000", "maxOffsetsPerTrigger: 5, endingOffsets: latest"),),
        (
            "14:60: spec.sources[0].kafka.maxOffsetsPerTrigger: maxOffsetsPerTrigger limits a batch, and a source with an end has no batches; use maxRecordsPerPartition [FieldsConflict]",
            "47:33: spec.queries[0].trigger.processingTime: processingTime is for streams, and 'enriched' reads static and bounded sources only; leave the trigger out: the query runs once and ends [TriggerNotAllowed]",
        ),
    ),
    Bad(
        "nothing to wait for",
        (("maxOffsetsPerTrigger: 5000", "maxTriggerDelay: 5s"),),
        (
            "14:60: spec.sources[0].kafka.maxTriggerDelay: maxTriggerDelay has no effect without minOffsetsPerTrigger; set both or remove it [FieldsConflict]",
        ),
    ),
    Bad(
        "the least above the most",
        (("maxOffsetsPerTrigger: 5000", "minOffsetsPerTrigger: 5001, maxOffsetsPerTrigger: 5000"),),
        (
            "14:82: spec.sources[0].kafka.minOffsetsPerTrigger: 5001 is above maxOffsetsPerTrigger, 5000; lower it or raise maxOffsetsPerTrigger [FieldsConflict]",
        ),
    ),
    Bad(
        "security of nothing",
        (("properties: {client.id: flights}", "security: {}"),),
        (
            "9:57: spec.connections[0].kafka.security: at least one of sasl, tls must be given [SecurityEmpty]",
        ),
    ),
    Bad(
        "security undone by a source and a sink",
        (
            ("properties: {client.id: flights}", "security: {tls: {}}"),
            ("maxOffsetsPerTrigger: 5000", "options: {kafka.security.protocol: PLAINTEXT}"),
            ("topic: dead-letters}", "topic: dead-letters, options: {kafka.ssl.truststore.location: /t}}"),
        ),
        (
            "14:70: spec.sources[0].kafka.options[kafka.security.protocol]: kafka.security.protocol is set by Mainstem from the connection's security; remove it [OwnedOption]",
            "58:70: spec.queries[2].to[0].kafka.options[kafka.ssl.truststore.location]: kafka.ssl.truststore.location is set by Mainstem from the connection's security; remove it [OwnedOption]",
        ),
    ),
    Bad(
        "security beside properties of it",
        (("properties: {client.id: flights}", "security: {tls: {}}, properties: {Security.Protocol: SSL}"),),
        (
            "9:81: spec.connections[0].kafka.properties[Security.Protocol]: Security.Protocol is set by Mainstem from the connection's security; remove it [OwnedOption]",
        ),
    ),
    Bad(
        "a password for all to read",
        (
            (
                "properties: {client.id: flights}",
                "security: {sasl: {mechanism: PLAIN, secretRef: {name: k}}}",
            ),
            ("from: weather", "from: wether"),
        ),
        (
            "9:64: warning: spec.connections[0].kafka.security.sasl: PLAIN without tls sends the password unencrypted; set tls, or use a SCRAM mechanism [PasswordInClear]",
            "60:13: spec.queries[3].from: no source or view is called 'wether'; did you mean 'weather'? [UnknownRelation]",
        ),
    ),
    Bad(
        "owned option of a source, by time",
        (("maxOffsetsPerTrigger: 5000", "options: {startingTimestamp: '0'}"),),
        (
            "14:70: spec.sources[0].kafka.options.startingTimestamp: startingTimestamp is a field one level up; move it out of options [OwnedOption]",
        ),
    ),
    Bad(
        "Parquet in update mode",
        (("      from: enriched\n", "      from: enriched\n      outputMode: update\n"),),
        (
            "44:19: spec.queries[0].outputMode: a folder of parquet files can only be appended to, not written in update mode; use delta [OutputModeNotAllowed]",
        ),
    ),
    Bad(
        "Delta in update mode without merge",
        ((", merge: {keys: [day, carrier]}", ""),),
        (
            "50:19: spec.queries[1].outputMode: Delta has no update mode; give the sink merge: {keys: [...]} to upsert [MergeNeeded]",
        ),
    ),
    Bad(
        "merge in complete mode",
        (("      outputMode: update\n", "      outputMode: complete\n"),),
        (
            "53:56: spec.queries[1].to[0].delta.merge: merge upserts rows that are new or changed, and complete replaces the table; use update [OutputModeNotAllowed]",
        ),
    ),
    Bad(
        "merge with options",
        (("keys: [day, carrier]}", "keys: [day, carrier]}, options: {userMetadata: days}"),),
        (
            "53:89: spec.queries[1].to[0].delta.options: options go to Delta's streaming writer, which a merge does not use [OptionsNotAllowed]",
        ),
    ),
    Bad(
        "complete without aggregation",
        (("      from: parity\n", "      from: ticks\n"),),
        (
            "39:13: warning: spec.views[2].name: no query reads 'parity' [UnusedSource]",
            "66:19: spec.queries[4].outputMode: complete mode writes the whole result of an aggregation, and 'ticks' has none; use append [AggregationNeeded]",
        ),
    ),
    Bad(
        "append of an aggregation without watermark",
        (("      outputMode: complete\n", ""),),
        (
            "64:7: spec.queries[4].outputMode: 'parity' aggregates a stream without a watermark, so no row would ever be final; give the source a watermark, or use update or complete [WatermarkNeeded]",
        ),
    ),
    Bad(
        "sorted stream",
        (("ON d.dest = a.faa", "ON d.dest = a.faa\n        ORDER BY time_hour"),),
        (
            "34:9: spec.views[0].sql: ORDER BY cannot sort a stream, only the result of an aggregation in complete mode [SortNotAllowed]",
        ),
    ),
    Bad(
        "five at once",
        (
            ("rowsPerSecond: 5", "rowsPerSecond: 0"),
            ("timeZone: UTC", "timeZone: Mars"),
            ("- name: ticks", "- name: Ticks"),
            ("{connection: events, topic: dead-letters}", "{connections: events, topic: dead-letters}"),
        ),
        (
            "22:13: spec.sources[2].name: 'Ticks' is not a SQL identifier: lower case letters, digits and underscores, starting with a letter, at most 63 characters [InvalidName]",
            "23:29: spec.sources[2].rate.rowsPerSecond: 0 is out of range: it must be 1 or more [OutOfRange]",
            "58:18: spec.queries[2].to[0].kafka.connection: the field 'connection' is required [MissingField]",
            "58:19: spec.queries[2].to[0].kafka.connections: unknown field 'connections'; did you mean 'connection'? [UnknownField]",
            "71:13: spec.timeZone: 'Mars' is no such time zone, use a name like UTC or Europe/Zurich [UnknownTimeZone]",
        ),
    ),
    Bad(
        "a column of both sides of a join",
        (("LEFT JOIN airports a ON d.dest = a.faa", "LEFT JOIN departures a ON d.dest = dest"),),
        (
            "24:13: warning: spec.sources[3].name: no query reads 'airports' [UnusedSource]",
            "31:23: spec.views[0].sql: 'a' has no column 'name'; known names are carrier, dest, time_hour, dep_delay, offset [UnknownColumn]",
            "33:19: spec.views[0].sql: a left outer join of two streams must know when no match can arrive any more; give the right side a watermark, and the condition a time range (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window [WatermarkNeeded]",
            "33:44: spec.views[0].sql: d and a have a column 'dest' each; write d.dest or a.dest [AmbiguousColumn]",
            "50:19: spec.queries[1].outputMode: 'enriched' has a left outer join of two streams, which allows append mode, not update [OutputModeNotAllowed]",
        ),
    ),
    Bad(
        "columns that what is read has not, in texts of every style",
        (
            ("SELECT d.*, a.name AS airport", "SELECT d.*, d.carier, a.name AS airport, nofn(a.lat) AS lat"),
            (
                "SELECT window(time_hour, '1 day') AS day, carrier,",
                "SELECT window(time_hours, '1 day') AS day, carrier,",
            ),
            (
                "sql: SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "sql: 'SELECT vaule % 2 AS odd, concat(''it'', \"s\", nothing) AS n FROM ticks'\n    - name: late\n      sql: \"SELECT '${lake}' AS lake, \\\"${lake}\\\" AS l,\\n\\tt.valu \\\n        FROM ticks t\"\n    - name: plain\n      sql: SELECT '${lake}' AS lake,\n        vals\n        FROM ticks",
            ),
        ),
        (
            "31:23: spec.views[0].sql: 'd' has no column 'carier'; did you mean 'carrier'? [UnknownColumn]",
            "31:50: spec.views[0].sql: neither Spark nor the document has a function 'nofn'; declare your own functions in spec.functions [UnknownFunction]",
            "36:23: spec.views[1].sql: 'enriched' has no column 'time_hours'; did you mean 'time_hour'? [UnknownColumn]",
            "40:20: spec.views[2].sql: 'ticks' has no column 'vaule'; did you mean 'value'? [UnknownColumn]",
            "40:58: spec.views[2].sql: 'ticks' has no column 'nothing'; known names are timestamp, value [UnknownColumn]",
            "41:13: warning: spec.views[3].name: no query reads 'late' [UnusedSource]",
            "42:62: spec.views[3].sql: 't' has no column 'valu'; did you mean 'value'? [UnknownColumn]",
            "44:13: warning: spec.views[4].name: no query reads 'plain' [UnusedSource]",
            "46:9: spec.views[4].sql: 'ticks' has no column 'vals'; did you mean 'value'? [UnknownColumn]",
            "73:19: spec.queries[4].outputMode: complete mode writes the whole result of an aggregation, and 'parity' has none; use append [AggregationNeeded]",
        ),
    ),
    Bad(
        "five rules at once",
        (
            ("from: weather", "from: wether"),
            ("FROM enriched", "FROM enrich"),
            ("spark.locality.wait", "spark.master"),
            ("s3a://checkpoints/flights", "s3://checkpoints/flights"),
            ("connection: events, topic", "connection: event, topic"),
        ),
        (
            "37:14: spec.views[1].sql: no source or view is called 'enrich'; did you mean 'enriched'? [UnknownRelation]",
            "58:31: spec.queries[2].to[0].kafka.connection: no connection is called 'event'; did you mean 'events'? [UnknownConnection]",
            "60:13: spec.queries[3].from: no source or view is called 'wether'; did you mean 'weather'? [UnknownRelation]",
            "70:27: spec.checkpoints.location: 's3://checkpoints/flights': unknown scheme s3:; did you mean s3a://? [UnknownScheme]",
            "73:12: spec.spark.conf[spark.master]: spark.master is set by Mainstem; use `mainstem run --cores`, or executors on a cluster [OwnedConf]",
        ),
    ),
    Bad(
        "update mode with a limit",
        (
            (
                "sql: SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "sql: SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1 LIMIT 2",
            ),
            ("outputMode: complete", "outputMode: update"),
        ),
        (
            "66:19: spec.queries[4].outputMode: update mode does not allow LIMIT, and 'parity' has one; use append or complete, or leave LIMIT out [LimitNotAllowed]",
        ),
    ),
    Bad(
        "stream sampled",
        (("FROM departures d\n        LEFT", "FROM departures TABLESAMPLE (10 PERCENT) d\n        LEFT"),),
        (
            "32:14: spec.views[0].sql: a stream cannot be sampled; filter by a column, such as hash(id) % 10 = 0 [SampleNotAllowed]",
        ),
    ),
    Bad(
        "window function over a stream",
        (("SELECT d.*, a.name", "SELECT d.*, row_number() OVER (ORDER BY d.carrier) AS r, a.name"),),
        (
            "31:51: spec.views[0].sql: a window function with OVER would sort the whole stream; a `deduplicate` step keeps the row of each key that arrives first, and max_by(<column>, <event time>) of a group its newest [WindowFunctionNotAllowed]",
        ),
    ),
    Bad(
        "version of a relation",
        (
            (
                "FROM departures d\n        LEFT",
                "FROM departures FOR SYSTEM_TIME AS OF d.time d\n        LEFT",
            ),
        ),
        (
            "32:14: spec.views[0].sql: no earlier version of 'departures' can be read in SQL; `static: {delta: {version: 3}}` reads a fixed version of a table, a `static` source is otherwise joined as it is now, and a `state` step over two streams finds the row that was valid at the time of an event [TimeTravelNotAllowed]",
        ),
    ),
    Bad(
        "subquery over a stream",
        (
            (
                "ON d.dest = a.faa",
                "ON d.dest = a.faa\n        WHERE d.carrier IN (SELECT origin FROM weather)",
            ),
        ),
        (
            "34:36: spec.views[0].sql: a subquery within an expression cannot read a stream; write a join, such as LEFT SEMI JOIN for IN and EXISTS [SubqueryNotAllowed]",
        ),
    ),
    Bad(
        "row ids of a stream",
        (("SELECT d.*, a.name", "SELECT d.*, monotonically_increasing_id() AS i, a.name"),),
        (
            "31:16: spec.views[0].sql: monotonically_increasing_id() starts again in every batch; use uuid(), or columns that identify a row [FunctionNotAllowed]",
        ),
    ),
    Bad(
        "distinct aggregate of a stream",
        (("count(*) AS n FROM ticks", "count(DISTINCT timestamp) AS n FROM ticks"),),
        (
            "40:12: spec.views[2].sql: an aggregate of DISTINCT values would keep all of them as state; use approx_count_distinct, or collect_set [DistinctNotAllowed]",
        ),
    ),
    Bad(
        "stream united with a table",
        (
            (
                "sql: SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY 1",
                "sql: SELECT count(*) AS n FROM (SELECT carrier FROM departures UNION ALL SELECT faa FROM airports)",
            ),
        ),
        (
            "22:13: warning: spec.sources[2].name: no query reads 'ticks' [UnusedSource]",
            "40:87: spec.views[2].sql: UNION cannot combine a stream with a table; read the table as a stream, or write the table in a query of its own [SetOperationNotAllowed]",
        ),
    ),
    Bad(
        "table that keeps its rows",
        (("LEFT JOIN airports", "RIGHT JOIN airports"),),
        (
            "33:20: spec.views[0].sql: a right outer join of a stream and a table must not keep unmatched rows of the table; start from the table, or use an inner join [JoinNotAllowed]",
        ),
    ),
    Bad(
        "two streams without an end",
        (
            (
                "LEFT JOIN airports a ON d.dest = a.faa",
                "JOIN airports a ON d.dest = a.faa\n        JOIN weather w ON w.origin = d.dest\n        ORDER BY carrier",
            ),
        ),
        (
            "34:14: warning: spec.views[0].sql: this join of two streams keeps every row of both sides for ever: give both streams a watermark, and the condition a range of their event times (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window; the lower end bounds b, and the upper end bounds a [StateUnbounded]",
            "35:9: spec.views[0].sql: ORDER BY cannot sort a stream, only the result of an aggregation in complete mode [SortNotAllowed]",
        ),
    ),
    Bad(
        "outer join of two streams without a range",
        (
            (
                "LEFT JOIN airports a ON d.dest = a.faa",
                "JOIN airports a ON d.dest = a.faa\n        LEFT JOIN weather w ON w.origin = d.dest",
            ),
        ),
        (
            "34:19: spec.views[0].sql: a left outer join of two streams must know when no match can arrive any more; give the right side a watermark, and the condition a time range (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window [WatermarkNeeded]",
            "51:19: spec.queries[1].outputMode: 'enriched' has a left outer join of two streams, which allows append mode, not update [OutputModeNotAllowed]",
        ),
    ),
    Bad(
        "a group by the start of a window",
        (
            (
                "SELECT window(time_hour, '1 day') AS day, carrier, count(*)",
                "SELECT w.start AS day, carrier, count(*)",
            ),
            (
                "FROM enriched\n        GROUP BY 1, 2",
                "FROM (SELECT *, window(time_hour, '1 day') AS w FROM enriched)\n        GROUP BY carrier, w.start",
            ),
            ("outputMode: update\n      to:\n        - name: table", "to:\n        - name: table"),
        ),
        (
            "38:27: spec.views[1].sql: the start or end of a window is not event time for Spark, only the window itself is, so no group would ever be final; group by the window, and take its start in a query above: SELECT w.start, n FROM (SELECT w, count(*) AS n FROM ... GROUP BY w) [WindowKeyNeeded]",
        ),
    ),
    Bad(
        "a join that is bounded by no event time",
        (
            (
                'temp DOUBLE"}',
                'temp DOUBLE, ts TIMESTAMP, until TIMESTAMP"}\n      watermark: {column: ts, delay: 1 hour}',
            ),
            (
                "LEFT JOIN airports a ON d.dest = a.faa",
                "JOIN airports a ON d.dest = a.faa\n        JOIN weather w ON w.origin = d.dest AND d.time_hour <= w.until\n        ORDER BY carrier",
            ),
        ),
        (
            "35:14: warning: spec.views[0].sql: the condition compares w.until, and Spark drops rows of that side by their event time 'ts': a row whose w.until is later than its 'ts' loses the matches that arrive in between; declare the watermark of that side on that column, or add a bound by event time, such as b.time <= a.time + INTERVAL 1 DAY [JoinRowsLost]",
            "35:14: warning: spec.views[0].sql: this join of two streams keeps every row of its left side for ever: give both streams a watermark, and the condition a range of their event times (b.time BETWEEN a.time AND a.time + INTERVAL 1 HOUR) or an equal window; the lower end bounds b, and the upper end bounds a [StateUnbounded]",
            "36:9: spec.views[0].sql: ORDER BY cannot sort a stream, only the result of an aggregation in complete mode [SortNotAllowed]",
        ),
    ),
    Bad(
        "watermark twice",
        (
            (
                "LEFT JOIN airports a ON d.dest = a.faa\n",
                "LEFT JOIN airports a ON d.dest = a.faa\n    - name: late\n      sql: SELECT carrier, time_hour FROM departures\n      watermark: {column: time_hour, delay: 2 days}\n",
            ),
            ("      from: weather", "      from: late"),
        ),
        (
            "20:13: warning: spec.sources[1].name: no query reads 'weather' [UnusedSource]",
            "36:18: spec.views[1].watermark: a relation below has a watermark already, and Spark allows only one; keep one of the two watermarks [WatermarkTwice]",
        ),
    ),
    Bad(
        "append of distinct rows without event time",
        (
            (
                "LEFT JOIN airports a ON d.dest = a.faa\n",
                "LEFT JOIN airports a ON d.dest = a.faa\n    - name: carriers\n      sql: SELECT DISTINCT carrier FROM departures\n",
            ),
            ("      from: weather", "      from: carriers"),
        ),
        (
            "20:13: warning: spec.sources[1].name: no query reads 'weather' [UnusedSource]",
            "61:7: spec.queries[3].outputMode: without event time among the columns of DISTINCT or UNION in 'carriers' no row would ever be final; write a `deduplicate` step, which passes on the first of equal rows at once, or use update or complete [WatermarkNeeded]",
        ),
    ),
    Bad(
        "append of groups without event time",
        (
            ("GROUP BY 1, 2", "GROUP BY ALL"),
            ("window(time_hour, '1 day') AS day", "to_date(time_hour) AS day"),
            (
                "      from: carrier_days\n      outputMode: update",
                "      from: carrier_days\n      outputMode: append",
            ),
        ),
        (
            "50:19: spec.queries[1].outputMode: no key of the aggregation in 'carrier_days' is event time itself or a window over it, so no group would ever be final; group by window(<event time>, '1 hour') or the like, or use update or complete [WatermarkNeeded]",
        ),
    ),
    Bad(
        "sessions in update mode",
        (("window(time_hour, '1 day')", "session_window(time_hour, '1 day')"),),
        (
            "50:19: spec.queries[1].outputMode: session windows can merge, so 'carrier_days' cannot be written in update mode; use append or complete [OutputModeNotAllowed]",
        ),
    ),
]
