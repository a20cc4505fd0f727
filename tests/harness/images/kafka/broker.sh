#!/bin/sh
# broker.sh                  the broker; KAFKA_ADVERTISED is what clients are told to call, like kafka.default.svc:9092
#                            (default: this host's name); KAFKA_ADVERTISED_OUTSIDE the same for those who come by port
#                            9094, from outside the cluster; KAFKA_HEAP its heap, 384m.
# broker.sh CLASS ARGS...    one of Kafka's tools, like org.apache.kafka.tools.TopicCommand --list
set -eu
# The second compiler pays off in a life that is longer than that of a test or a demo.
run() { exec java -XX:TieredStopAtLevel=1 -Xmx"${KAFKA_HEAP:-384m}" -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '/opt/kafka/libs/*' "$@"; }
[ $# = 0 ] || run "$@"
config=/tmp/server.properties
outside="${KAFKA_ADVERTISED_OUTSIDE:-}"
{
    cat /opt/kafka/server.properties
    echo "listeners=CLUSTER://:9092,CONTROLLER://127.0.0.1:9093${outside:+,OUTSIDE://:9094}"
    echo "advertised.listeners=CLUSTER://${KAFKA_ADVERTISED:-$(hostname):9092}${outside:+,OUTSIDE://$outside}"
} > "$config"
# The broker's data may be there already: a restarted container keeps its volume.
[ -e /data/log/meta.properties ] || (run kafka.tools.StorageTool format --cluster-id=bWFpbnN0ZW0tdGVzdC1rYQ -c "$config")
run kafka.Kafka "$config"
