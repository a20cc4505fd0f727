package dev.mainstem.files;

import java.util.Collection;
import org.apache.hadoop.fs.Path;

/**
 * How many files, and the first of them.
 *
 * @param count their number
 * @param first the first path in alphabetical order; empty if there is no such file
 */
public record FileCount(long count, String first) {
    static FileCount of(Collection<Path> files) {
        return new FileCount(files.size(), files.stream().map(Path::toString).min(String::compareTo).orElse(""));
    }
}
