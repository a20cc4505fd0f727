package dev.mainstem.checkpoint;

import java.io.IOException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Writes checkpoint files to S3 so that no write fails silently, and only one writer creates a file.
 *
 * <p>Spark creates one manager for each folder: offsets, commits, state, and the log of a file sink. On {@code s3a://}
 * each file is one conditional PUT ({@link ConditionalOutputStream}). Other file systems have an atomic rename, so Spark's
 * own manager writes to them.
 *
 * <p>Before Spark plans a batch, {@link TopicIds} stores the ids of the topics that the batch reads.
 */
public final class ConditionalCheckpointFileManager implements CheckpointFileManager {

  private final CheckpointFileManager files;
  private final FileSystem store;
  private final Fence fence;
  private final Path checkpoint;

  /** The constructor that Spark calls, with the managed folder and the session's properties. */
  public ConditionalCheckpointFileManager(Path folder, Configuration conf) throws IOException {
    boolean onS3 = "s3a".equals(folder.toUri().getScheme());
    this.store = onS3 ? folder.getFileSystem(conf) : null;
    this.files = onS3 ? new FileSystemBasedCheckpointFileManager(folder, conf) : withRename(folder, conf);
    this.fence = Fence.from(conf);
    boolean plans = "offsets".equals(folder.getName());
    this.checkpoint = plans ? folder.getFileSystem(conf).makeQualified(folder).getParent() : null;
  }

  /** The manager that Spark itself chooses for a file system with rename. */
  private static CheckpointFileManager withRename(Path folder, Configuration conf) throws IOException {
    try {
      FileContext.getFileContext(folder.toUri(), conf);
    } catch (UnsupportedFileSystemException none) {
      return new FileSystemBasedCheckpointFileManager(folder, conf);
    }
    return new FileContextBasedCheckpointFileManager(folder, conf);
  }

  /**
   * Opens a stream whose {@code close} creates the file.
   *
   * <p>Without {@code overwriteIfPossible} (plans, commits, sink logs) {@code close} throws Hadoop's
   * {@code FileAlreadyExistsException} if another writer has created the file or owns the checkpoint. Spark reports this
   * as {@code CONCURRENT_STREAM_LOG_UPDATE}. With it (state) {@code close} replaces the file of an earlier attempt, unless
   * another driver owns the checkpoint.
   */
  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwriteIfPossible) {
    try {
      if (checkpoint != null) {
        TopicIds.beforePlan(checkpoint);
      }
      return store == null
          ? new FencedOutputStream(files.createAtomic(path, overwriteIfPossible), fence)
          : ConditionalOutputStream.open(store, path, fence, overwriteIfPossible);
    } catch (IOException error) {
      throw unchecked(error);
    }
  }

  @Override
  public FSDataInputStream open(Path path) {
    return files.open(path);
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    return files.list(path, filter);
  }

  @Override
  public void mkdirs(Path path) {
    files.mkdirs(path);
  }

  @Override
  public boolean exists(Path path) {
    return files.exists(path);
  }

  @Override
  public void delete(Path path) {
    files.delete(path);
  }

  @Override
  public boolean isLocal() {
    return files.isLocal();
  }

  @Override
  public Path createCheckpointDirectory() {
    return files.createCheckpointDirectory();
  }

  /** Throws a checked exception: Scala methods declare none, but Spark catches {@code FileAlreadyExistsException}. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException unchecked(Throwable error) throws E {
    throw (E) error;
  }
}
