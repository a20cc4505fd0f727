package dev.mainstem.files;

import java.util.Collection;
import org.apache.hadoop.fs.Path;

/**
 * Files that a source does not read.
 *
 * @param count their number
 * @param first the first path in alphabetical order; empty if there is no such file
 */
public record UnreadFiles(long count, String first) {
    static UnreadFiles among(Collection<Path> files) {
        return new UnreadFiles(files.size(), files.stream().map(Path::toString).min(String::compareTo).orElse(""));
    }
}
