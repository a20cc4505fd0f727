package dev.mainstem.checkpoint;

import java.io.IOException;

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Writes one checkpoint file on a file system with rename: {@code close} checks the fence, and then renames the file.
 *
 * <p>These are two steps. Another driver can take over between them.
 */
final class FencedOutputStream extends CancellableFSDataOutputStream {

  private final CancellableFSDataOutputStream file;
  private final Fence fence;

  FencedOutputStream(CancellableFSDataOutputStream file, Fence fence) {
    super(file);
    this.file = file;
    this.fence = fence;
  }

  @Override
  public void close() throws IOException {
    try {
      fence.check();
    } catch (IOException error) {
      file.cancel();
      throw error;
    }
    file.close();
  }

  @Override
  public void cancel() {
    file.cancel();
  }
}
