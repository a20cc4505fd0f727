package dev.mainstem.delta;

import java.util.TreeMap;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The format of Delta's streaming sink, which compares the types of rows and table before each batch.
 *
 * <p>Delta converts rows by the rules of an INSERT, which cut and round. A query gives its rows the table's types when it
 * starts. So another type shows that another writer has made the table since then, or has made it anew.
 */
public final class CheckedDelta implements StreamSinkProvider {
    @Override
    public Sink createSink(
            SQLContext context, Map<String, String> options, Seq<String> partitions, OutputMode mode) {
        Sink delta = new DeltaDataSource().createSink(context, options, partitions, mode);
        java.util.Map<String, String> given = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        given.putAll(CollectionConverters.asJava(options));
        return Boolean.parseBoolean(given.get("overwriteSchema"))
                ? delta
                : new CheckedSink(
                        delta,
                        context.sparkSession(),
                        given.get("path"),
                        Boolean.parseBoolean(given.get("mergeSchema")));
    }
}
