"""As `bad`, for packages, connectors and catalogs."""

from typing import Final

from documents.bad import Bad


CONNECTORS: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: connectors}
spec:
  packages:
    maven: ["org.mariadb.jdbc:mariadb-java-client:3.5.6"]
    jars: [jars/orders.jar]
    repositories: ["https://repo.example.com/maven"]
  connections:
    - {name: mongo, spark: {options: {database: shop}, secretOptions: {token: {name: mongo, key: token}}}}
    - {name: shop, jdbc: {url: "jdbc:mysql://db/shop?permitMysqlScheme"}}
    - {name: stock, catalog: {class: com.example.Catalog}}
  sources:
    - {name: raw, spark: {format: mongodb, connection: mongo, options: {collection: raw}}}
  queries:
    - name: copy
      from: raw
      to: [{name: lines, spark: {format: mongodb, connection: mongo}}]
    - name: table
      from: raw
      to: [{name: rows, jdbc: {connection: shop, table: raw, delivery: atLeastOnce}}]
  checkpoints: {location: /ckpt/connectors}
"""

BAD_CONNECTORS: Final = [
    Bad(
        "a version that moves",
        (("client:3.5.6", "client:LATEST"),),
        (
            "6:13: spec.packages.maven[0]: the version LATEST of mariadb-java-client changes with time, so two starts of a document could run different code; use one fixed release [VersionNotPinned]",
        ),
        CONNECTORS,
    ),
    Bad(
        "an artifact of another Scala",
        (("org.mariadb.jdbc:mariadb-java-client:3.5.6", "com.example:connector_2.12:1.0"),),
        (
            "6:13: spec.packages.maven[0]: connector_2.12 is built for Scala 2.12, and Spark 4 runs Scala 2.13; use connector_2.13, in a version for Spark 4 [ScalaMismatch]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a range of versions",
        (("client:3.5.6", "client:[3,4)"),),
        (
            "6:13: spec.packages.maven[0]: 'org.mariadb.jdbc:mariadb-java-client:[3,4)' is not an artifact with one version: group:artifact:version [InvalidValue]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a jar of elsewhere",
        (("jars/orders.jar", '"https://example.com/orders.jar"'),),
        (
            "7:12: spec.packages.jars[0]: 'https://example.com/orders.jar' is not a local path that ends in .jar; put artifacts of a repository under maven [InvalidValue]",
        ),
        CONNECTORS,
    ),
    Bad(
        "two jars of one name",
        (("jars/orders.jar", "jars/orders.jar, old/orders.jar"),),
        (
            "7:29: spec.packages.jars[1]: 'old/orders.jar' and 'jars/orders.jar' have the same file name, and an image keeps all jars in one folder; remove one of them [DuplicateName]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a repository with a password",
        (("https://repo", "https://me:word@repo"),),
        (
            "8:20: spec.packages.repositories[0]: the address contains credentials, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a repository that is no URL",
        (("https://repo", "repo"),),
        (
            "8:20: spec.packages.repositories[0]: 'repo.example.com/maven' is not a URL such as https://repo.example.com/maven [InvalidAddress]",
        ),
        CONNECTORS,
    ),
    Bad(
        "formats that have a field, or read files",
        (
            ("raw, spark: {format: mongodb", "raw, spark: {format: Kafka"),
            (
                "lines, spark: {format: mongodb",
                "lines, spark: {format: org.apache.spark.sql.execution.datasources.v2.text.TextDataSourceV2",
            ),
        ),
        (
            "14:35: spec.sources[0].spark.format: the document has a field for Kafka, with known delivery guarantees; use kafka [FormatOwned]",
            "18:42: spec.queries[0].to[0].spark.format: org.apache.spark.sql.execution.datasources.v2.text.TextDataSourceV2 is a connector of Spark that can read files or checkpoints of the machine; it is not allowed here [FormatOwned]",
        ),
        CONNECTORS,
    ),
    Bad(
        "files by their path",
        (("raw, spark: {format: mongodb", "raw, spark: {format: binaryFile"),),
        (
            "14:35: spec.sources[0].spark.format: binaryFile is a connector of Spark that can read files or checkpoints of the machine; it is not allowed here [FormatOwned]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a stream beside other sinks",
        (("connection: mongo}}]", "connection: mongo}}, {name: screen, console: {}}]"),),
        (
            "18:33: spec.queries[0].to[0].spark.mode: mode stream allows one sink, and the query has 2; use mode: batch [SinkModeNotAllowed]",
        ),
        CONNECTORS,
    ),
    Bad(
        "an option twice",
        (("database: shop", "database: shop, Token: x"),),
        (
            "10:82: spec.connections[0].spark.secretOptions.token: options sets token too; remove one of them [FieldsConflict]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a connection of another kind for a connector",
        (("mongodb, connection: mongo, options", "mongodb, connection: shop, options"),),
        (
            "14:56: spec.sources[0].spark.connection: the connection 'shop' is of kind jdbc; name a connection of kind spark [WrongConnection]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a password in an address among options",
        (("database: shop", '"connection.uri": "mongodb://me:word@db/shop"'),),
        (
            "10:39: spec.connections[0].spark.options[connection.uri]: connection.uri is a credential, which a document must not contain; use a secret or the environment [SecretInDocument]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a scheme without a dialect",
        (("jdbc:mysql:", "jdbc:mariadb:"),),
        (
            "11:32: spec.connections[1].jdbc.url: Spark has no dialect for jdbc:mariadb: and would read column names in place of values; use jdbc:mysql://host/database?permitMysqlScheme, which MariaDB's driver also accepts [DatabaseNotSupported]",
        ),
        CONNECTORS,
    ),
    Bad(
        "exactly once on MySQL",
        ((", delivery: atLeastOnce", ""),),
        (
            "21:44: spec.queries[1].to[0].jdbc.connection: only PostgreSQL has exactly-once delivery, and 'jdbc:mysql://db/shop?permitMysqlScheme' is not a PostgreSQL URL; set delivery: atLeastOnce, or use a python sink [DatabaseNotSupported]",
        ),
        CONNECTORS,
    ),
    Bad(
        "upsert at least once",
        (("delivery: atLeastOnce", "delivery: atLeastOnce, upsert: {keys: [id]}"),),
        (
            "21:93: spec.queries[1].to[0].jdbc.upsert: upsert needs exactly-once delivery, which only PostgreSQL has; remove upsert or delivery: atLeastOnce [FieldsConflict]",
        ),
        CONNECTORS,
    ),
    Bad(
        "an update at least once",
        (
            (
                "from: raw\n      to: [{name: rows",
                "from: raw\n      outputMode: update\n      to: [{name: rows",
            ),
        ),
        (
            "21:19: spec.queries[1].outputMode: delivery: atLeastOnce appends rows, and is not for update mode; use append [OutputModeNotAllowed]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a catalog of Spark's own",
        (("{name: stock,", "{name: spark_catalog,"),),
        (
            "12:14: spec.connections[2].name: spark_catalog is a catalog of Spark; choose another name [DuplicateName]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a catalog set up twice",
        (("  checkpoints:", "  spark: {conf: {spark.sql.catalog.stock.url: x}}\n  checkpoints:"),),
        (
            "12:14: spec.connections[2].name: spark.conf configures the catalog stock too; remove one of them [FieldsConflict]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a trigger that takes no connector",
        (("connection: mongo}}]", "connection: mongo}}]\n      trigger: {continuous: 1 second}"),),
        (
            "19:29: spec.queries[0].trigger.continuous: continuous reads kafka, rate and socket, and the source 'raw' is spark; use another trigger [TriggerNotForSource]",
            "19:29: spec.queries[0].trigger.continuous: continuous writes kafka, console and noop, and the sink 'lines' is spark; use another trigger, or write to Kafka, and from Kafka in a second query [TriggerNotForSink]",
        ),
        CONNECTORS,
    ),
]
