package dev.mainstem.secrets;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A secret: a folder with a file for each key, as Kubernetes mounts it. Kubernetes replaces the files when it changes. */
final class Secret {

  private final Path folder;

  Secret(String folder) {
    this.folder = Path.of(folder);
  }

  /** The value of a key, without a newline at its end. */
  String value(String key) throws IOException {
    return Files.readString(folder.resolve(key)).replaceFirst("[\\r\\n]+$", "");
  }

  /** The values of two keys that belong together: none of them is older than a change of the other one. */
  String[] pair(String first, String second) throws IOException {
    while (true) {
      String before = value(first);
      String other = value(second);
      if (before.equals(value(first))) {
        return new String[] {before, other};
      }
    }
  }
}
