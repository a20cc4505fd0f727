package dev.mainstem.checkpoint;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

import org.apache.commons.io.output.DeferredFileOutputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.CreateFileOptionKeys;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Writes one checkpoint file on S3: {@code close} writes the object, and fails unless the object exists then.
 *
 * <p>The PUT is conditional, so no writer replaces an object that it does not know:
 *
 * <ul>
 *   <li>A file of a log (plan, commit, sink log) is created with {@code If-None-Match: *}. Only one of several writers
 *       succeeds.
 *   <li>A file of state is created in the same way, at no further cost. If it exists, because a batch runs again, it is
 *       replaced with {@code If-Match}. The order is: read the ETag, check the fence, replace. So a driver that is no longer
 *       the owner replaces no file that the new owner has written: either the check fails, or the ETag has changed.
 * </ul>
 *
 * <p>The object has a token of its writer. If the answer to the PUT is lost, or the store refuses a retry because the first
 * attempt succeeded, the token shows which writer created the object. The content stays here until then: in memory, or in
 * a temporary file if it is long.
 */
final class ConditionalOutputStream extends CancellableFSDataOutputStream {

  private static final String TOKEN = "mainstem-writer";
  private static final String HEADER = "fs.s3a.create.header." + TOKEN;
  private static final String WRITER = "header." + TOKEN;
  private static final String ETAG = "header.ETag";
  private static final int IN_MEMORY = 1 << 20;
  private static final int REPLACEMENTS = 10;

  private final DeferredFileOutputStream content;
  private final FileSystem store;
  private final Path path;
  private final Fence fence;
  private final boolean replaces;
  private final String token = UUID.randomUUID().toString();
  private boolean closed;

  private ConditionalOutputStream(
      DeferredFileOutputStream content, FileSystem store, Path path, Fence fence, boolean replaces) {
    super(content);
    this.content = content;
    this.store = store;
    this.path = path;
    this.fence = fence;
    this.replaces = replaces;
  }

  /** A stream that creates a file; with {@code replaces} it replaces an existing one. */
  static ConditionalOutputStream open(FileSystem store, Path path, Fence fence, boolean replaces) throws IOException {
    DeferredFileOutputStream content =
        DeferredFileOutputStream.builder().setThreshold(IN_MEMORY).setPrefix("mainstem-").get();
    return new ConditionalOutputStream(content, store, path, fence, replaces);
  }

  /**
   * Writes the object.
   *
   * @throws FileAlreadyExistsException another writer has created the file, or another driver owns the checkpoint
   * @throws IOException the file is not written, or its state is unknown
   */
  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    try {
      super.close();
      if (!store.hasPathCapability(path, CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE)) {
        fence.check(); // the user accepts a store without conditional writes
        put(builder(replaces));
      } else if (replaces) {
        createOrReplace();
      } else {
        fence.check();
        create();
      }
    } finally {
      discard();
    }
  }

  private void create() throws IOException {
    IOException failure = tryPut(absent());
    if (failure != null && !token.equals(existing(failure).writer)) {
      fence.check(); // the newer driver is most likely the other writer
      FileAlreadyExistsException exists = new FileAlreadyExistsException(path + ": another writer has created it");
      exists.initCause(failure);
      throw exists;
    }
  }

  private void createOrReplace() throws IOException {
    IOException failure = tryPut(absent());
    for (int left = REPLACEMENTS; failure != null; left--) {
      Existing existing = existing(failure);
      if (token.equals(existing.writer)) {
        return;
      }
      fence.check(); // after the ETag is read
      if (left == 0) {
        throw failure;
      }
      failure = tryPut(unchanged(existing.etag));
      if (failure != null && isNotImplemented(failure)) {
        put(builder(true)); // the store supports If-None-Match only: another driver may take over after the check
        return;
      }
      if (failure != null && Objects.equals(existing.etag, existing(failure).etag)) {
        throw failure; // no other writer was the cause
      }
    }
  }

  private FSDataOutputStreamBuilder<?, ?> builder(boolean overwrite) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = store.createFile(path).create().recursive().overwrite(overwrite);
    builder.must(HEADER, token);
    return builder;
  }

  private FSDataOutputStreamBuilder<?, ?> absent() throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = builder(true);
    builder.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
    return builder;
  }

  private FSDataOutputStreamBuilder<?, ?> unchanged(String etag) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = builder(true);
    builder.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE_ETAG, etag);
    return builder;
  }

  /** Sends the content; the error if there is one. */
  private IOException tryPut(FSDataOutputStreamBuilder<?, ?> builder) {
    try {
      put(builder);
      return null;
    } catch (IOException error) {
      return error;
    }
  }

  private void put(FSDataOutputStreamBuilder<?, ?> builder) throws IOException {
    FSDataOutputStream object = builder.build();
    try {
      content.writeTo(object);
    } catch (IOException error) {
      object.abort();
      throw error;
    }
    object.close();
  }

  /** What the object's metadata tell after a failed PUT; throws the failure if there is no object or no answer. */
  private Existing existing(IOException failure) throws IOException {
    try {
      Map<String, byte[]> attributes = store.getXAttrs(path);
      return new Existing(text(attributes.get(WRITER)), text(attributes.get(ETAG)));
    } catch (FileNotFoundException absent) {
      throw failure;
    } catch (IOException unknown) {
      failure.addSuppressed(unknown);
      throw failure;
    }
  }

  private static String text(byte[] value) {
    return value == null ? "" : new String(value, StandardCharsets.UTF_8);
  }

  private static boolean isNotImplemented(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (String.valueOf(cause.getMessage()).contains("Status Code: 501")) {
        return true;
      }
    }
    return false;
  }

  private void discard() throws IOException {
    if (content.getFile() != null) {
      java.nio.file.Files.deleteIfExists(content.getFile().toPath());
    }
  }

  /** Discards the written bytes; does nothing after {@code close}. */
  @Override
  public synchronized void cancel() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      super.close();
      discard();
    } catch (IOException error) {
      // a temporary file is left, as after a kill
    }
  }

  /** The writer and the ETag of an existing object; empty where it has none. */
  private static final class Existing {

    private final String writer;
    private final String etag;

    private Existing(String writer, String etag) {
      this.writer = writer;
      this.etag = etag;
    }
  }
}
