package dev.mainstem.files;

import java.io.IOException;
import java.util.function.Consumer;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.CompactibleFileStreamLog;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource.FileEntry;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The files that the batches of a query have planned so far, from Spark's log in the checkpoint.
 *
 * <p>The log is read entry by entry: it has all files that the query has ever read. Spark deletes a file of the log only minutes
 * after another one has its entries.
 */
public final class SourceLog {
    private final FileStreamSourceLog log;
    private final long last;

    private SourceLog(FileStreamSourceLog log, long last) {
        this.log = log;
        this.last = last;
    }

    /**
     * Opens a log as it is now; batches that are planned later are left out.
     *
     * @param session the session
     * @param folder the folder of the log
     * @return the log; null if no batch is planned
     */
    public static SourceLog open(SparkSession session, String folder) throws IOException {
        Path path = new Path(folder);
        if (!path.getFileSystem(session.sessionState().newHadoopConf()).exists(path)) {
            return null; // Spark's class creates a folder that does not exist
        }
        FileStreamSourceLog log = new FileStreamSourceLog(FileStreamSourceLog.VERSION(), session, folder);
        Option<Object> last = log.getLatestBatchId();
        return last.isEmpty() ? null : new SourceLog(log, (Long) last.get());
    }

    /** Passes each file on that was listed for a batch, in the order of the batches; one that was listed twice, twice. */
    void forEach(Consumer<FileEntry> take) {
        for (Object batch : CollectionConverters.asJava(CompactibleFileStreamLog.getAllValidBatches(last, log.compactInterval()))) {
            log.foreachInBatch((Long) batch, entry -> {
                take.accept(entry);
                return BoxedUnit.UNIT;
            });
        }
    }
}
