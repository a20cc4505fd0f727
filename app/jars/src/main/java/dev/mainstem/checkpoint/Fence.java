package dev.mainstem.checkpoint;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Keeps a driver that no longer owns its checkpoint from writing to it.
 *
 * <p>Before a driver starts a query, it writes an owner record, and sets the record's path and its own token in the query's
 * session ({@code mainstem.runtime.checkpoint.ownership}). The next driver replaces the record, with the next epoch and a
 * token of its own. A driver or executor whose token is no longer in the record belongs to an older epoch, and cannot write.
 */
final class Fence {

  private static final String RECORD = "spark.mainstem.checkpoint.owner.record";
  private static final String TOKEN = "spark.mainstem.checkpoint.owner.token";
  private static final int LENGTH = 1024;

  private final Path record;
  private final String token;
  private final Configuration conf;

  private Fence(Path record, String token, Configuration conf) {
    this.record = record;
    this.token = token;
    this.conf = conf;
  }

  /** The fence of a session; without an owner record it never refuses. */
  static Fence from(Configuration conf) {
    String record = conf.get(RECORD);
    return new Fence(record == null ? null : new Path(record), conf.get(TOKEN, ""), conf);
  }

  /**
   * Checks that no other driver owns the checkpoint.
   *
   * @throws FileAlreadyExistsException another driver owns it; Spark reports this as a concurrent update of its log
   * @throws IOException the record cannot be read
   */
  void check() throws IOException {
    if (record == null) {
      return;
    }
    String owner;
    try (InputStream in = open()) {
      owner = new String(in.readNBytes(LENGTH), StandardCharsets.UTF_8);
    } catch (FileNotFoundException absent) {
      return;
    }
    if (!owner.contains('"' + token + '"')) {
      throw new FileAlreadyExistsException("MAINSTEM_CHECKPOINT_OWNER " + record + ' ' + owner.strip());
    }
  }

  /** Opens the record with its known length, which saves S3A a request for the length. */
  private InputStream open() throws IOException {
    FileSystem files = record.getFileSystem(conf);
    try {
      return files.openFile(record).optLong("fs.option.openfile.length", LENGTH).build().get();
    } catch (ExecutionException error) {
      if (error.getCause() instanceof IOException) {
        throw (IOException) error.getCause();
      }
      throw new IOException(error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(error.getMessage());
    }
  }
}
