package dev.mainstem.delta;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.execution.streaming.Sink;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** A sink of Delta that gets a batch only if the rows have the types of the table. */
final class CheckedSink implements Sink {
    /** The prefix of the error's message, by which the driver recognizes it. */
    private static final String CHANGED = "mainstem:TableChanged: ";

    private final Sink delta;
    private final SparkSession session;
    private final String path;
    private final boolean mergesSchema;

    CheckedSink(Sink delta, SparkSession session, String path, boolean mergesSchema) {
        this.delta = delta;
        this.session = session;
        this.path = path;
        this.mergesSchema = mergesSchema;
    }

    @Override
    public void addBatch(long batch, Dataset<Row> rows) {
        DeltaLog log = DeltaLog.forTable(session, path);
        Snapshot table = log.update(false, Option.empty(), Option.empty());
        if (log.tableExists() && !widens(table)) {
            String change = Types.difference("", rows.schema(), table.metadata().schema());
            if (change != null) {
                throw new IllegalStateException(CHANGED + change);
            }
        }
        delta.addBatch(batch, rows);
    }

    /** Whether Delta takes the types of the rows, where it can widen its own; a start has compared the others. */
    private boolean widens(Snapshot table) {
        boolean always = session.conf().get("spark.databricks.delta.schema.autoMerge.enabled", "false").equals("true");
        String widening = CollectionConverters.asJava(table.metadata().configuration()).get("delta.enableTypeWidening");
        return (mergesSchema || always) && Boolean.parseBoolean(widening);
    }

    @Override
    public String toString() {
        return delta.toString();
    }
}
