"""As `bad`, for packages."""

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
  sources:
    - {name: raw, files: {path: /data/raw}}
  queries:
    - name: copy
      from: raw
      to: [{name: lines, parquet: {path: /lake/lines}}]
  checkpoints: {location: /ckpt/connectors}
"""

BAD_CONNECTORS: Final = [
    Bad(
        "a version that moves",
        (("client:3.5.6", "client:LATEST"),),
        (
            "6:13: spec.packages.maven[0]: the version LATEST of mariadb-java-client changes with time, so two starts of one document could run different code; name one release [VersionNotPinned]",
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
            "7:12: spec.packages.jars[0]: 'https://example.com/orders.jar' is not a local path that ends in .jar; artifacts of a repository go under maven [InvalidValue]",
        ),
        CONNECTORS,
    ),
    Bad(
        "two jars of one name",
        (("jars/orders.jar", "jars/orders.jar, old/orders.jar"),),
        (
            "7:29: spec.packages.jars[1]: 'old/orders.jar' and 'jars/orders.jar' have the same file name; an image keeps all jars in one folder [DuplicateName]",
        ),
        CONNECTORS,
    ),
    Bad(
        "a repository with a password",
        (("https://repo", "https://me:word@repo"),),
        (
            "8:20: spec.packages.repositories[0]: the address holds a user name and password; credentials never stand in a document [SecretInDocument]",
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
]
