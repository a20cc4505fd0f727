package dev.mainstem.checkpoint;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.CreateFileOptionKeys;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Writes one checkpoint file on S3: {@code close} creates the object, and fails unless the object exists then.
 *
 * <p>The PUT of a new file is conditional ({@code If-None-Match: *}), so only one of several writers succeeds. The object
 * has a token of its writer. If the answer to the PUT is lost, or the store refuses a retry because the first attempt
 * succeeded, the token shows which writer created the object.
 */
final class ConditionalOutputStream extends CancellableFSDataOutputStream {

  private static final String TOKEN = "mainstem-writer";
  private static final String HEADER = "fs.s3a.create.header." + TOKEN;
  private static final String ATTRIBUTE = "header." + TOKEN;

  private final FSDataOutputStream object;
  private final FileSystem store;
  private final Path path;
  private final Fence fence;
  private final String token;
  private boolean closed;

  private ConditionalOutputStream(FSDataOutputStream object, FileSystem store, Path path, Fence fence, String token) {
    super(object);
    this.object = object;
    this.store = store;
    this.path = path;
    this.fence = fence;
    this.token = token;
  }

  /** A stream that creates a file that must not exist. */
  static ConditionalOutputStream creating(FileSystem store, Path path, Fence fence) throws IOException {
    String token = UUID.randomUUID().toString();
    boolean conditional =
        store.hasPathCapability(path, CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE);
    // If the user accepts a store without conditional writes, S3A checks for the object before it writes.
    FSDataOutputStreamBuilder<?, ?> builder = store.createFile(path).create().recursive().overwrite(conditional);
    builder.must(HEADER, token);
    if (conditional) {
      builder.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
    }
    return new ConditionalOutputStream(builder.build(), store, path, fence, token);
  }

  /** A stream that creates or replaces a file: state, which a batch that runs again writes again. */
  static ConditionalOutputStream replacing(FileSystem store, Path path) throws IOException {
    FSDataOutputStream object = store.createFile(path).create().recursive().overwrite(true).build();
    return new ConditionalOutputStream(object, store, path, null, null);
  }

  /**
   * Writes the object.
   *
   * @throws FileAlreadyExistsException another writer has created the file
   * @throws IOException the file is not written, or its state is unknown
   */
  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    if (token == null) {
      object.close();
      return;
    }
    try {
      fence.check();
    } catch (IOException error) {
      object.abort();
      throw error;
    }
    try {
      object.close();
    } catch (IOException error) {
      handleFailure(error);
    }
  }

  /** Handles a failed PUT: returns if this writer has created the object, else throws the error. */
  private void handleFailure(IOException error) throws IOException {
    String writer;
    try {
      writer = writer();
    } catch (java.io.FileNotFoundException absent) {
      throw error;
    } catch (IOException unknown) {
      error.addSuppressed(unknown);
      throw error;
    }
    if (!token.equals(writer)) {
      FileAlreadyExistsException exists = new FileAlreadyExistsException(path + ": another writer has created it");
      exists.initCause(error);
      throw exists;
    }
  }

  /** The token of the existing object; null if it has none. */
  private String writer() throws IOException {
    byte[] value = store.getXAttrs(path).get(ATTRIBUTE);
    return value == null ? null : new String(value, StandardCharsets.UTF_8);
  }

  /** Discards the written bytes; does nothing after {@code close}. */
  @Override
  public synchronized void cancel() {
    if (!closed) {
      closed = true;
      object.abort();
    }
  }
}
