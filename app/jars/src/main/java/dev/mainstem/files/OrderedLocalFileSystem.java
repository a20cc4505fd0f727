package dev.mainstem.files;

import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Hadoop's local file system, with the files of a folder in the order of their names, as object stores list them.
 *
 * <p>A stream of files reads the files with the oldest modification time first, and files with equal times in the order of
 * the listing. Files that were copied together have equal times, and the operating system lists them in any order.
 *
 * @see LocalFiles
 */
public final class OrderedLocalFileSystem extends LocalFileSystem {
    private static final Comparator<FileStatus> BY_NAME = Comparator.comparing(status -> status.getPath().getName());

    /** The constructor that Hadoop calls. */
    public OrderedLocalFileSystem() {
        super(new LocalFiles());
    }

    @Override
    public FileStatus[] listStatus(Path folder) throws IOException {
        FileStatus[] files = super.listStatus(folder);
        Arrays.sort(files, BY_NAME);
        return files;
    }
}
