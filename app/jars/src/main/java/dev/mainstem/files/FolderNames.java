package dev.mainstem.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;

/**
 * The folders such as <code>k=v</code> between the path of a source and a file, by the rules of Spark's PartitioningUtils.
 *
 * <p>For a path with a glob they are those below the folder that it matches, as when Spark looks for them at the start of a
 * query. In a batch Spark has only files, and then finds none.
 */
final class FolderNames {
    private final int depth;
    private final Map<Path, Map<String, String>> folders = new ConcurrentHashMap<>();

    private FolderNames(int depth) {
        this.depth = depth;
    }

    /** No folder gives a column. */
    static FolderNames none() {
        return new FolderNames(Integer.MAX_VALUE);
    }

    /** For the source's path, which may be relative to Hadoop's working directory. */
    FolderNames(String path, Configuration configuration) {
        Path root = new Path(path);
        try {
            Path qualified = root.getFileSystem(configuration).makeQualified(root);
            this.depth = qualified.toUri().getPath().isEmpty() ? 0 : qualified.depth();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Column in lower case to its text, which is escaped. */
    Map<String, String> of(Path file) {
        return folders.computeIfAbsent(file.getParent(), this::above);
    }

    private Map<String, String> above(Path parent) {
        Map<String, String> values = new LinkedHashMap<>();
        for (Path folder = parent; folder != null && folder.depth() > depth; folder = folder.getParent()) {
            String name = folder.getName();
            int end = name.indexOf('=');
            if (end > 0) {
                String column = ExternalCatalogUtils.unescapePathName(name.substring(0, end)).toLowerCase(Locale.ROOT);
                values.putIfAbsent(column, name.substring(end + 1));
            } else if (!values.isEmpty()) {
                break;
            }
        }
        return values;
    }
}
