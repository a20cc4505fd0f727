package dev.mainstem.files;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's access to local files, without a process for each folder that is made and each file that is written.
 *
 * <p>Without its native library, which PySpark does not bring, Hadoop runs {@code chmod} and {@code readlink}. A batch with a
 * local checkpoint waited for a dozen of these processes. What Java itself cannot do, Hadoop does as before.
 */
final class LocalFiles extends RawLocalFileSystem {
    private static final int SPECIAL_BITS = 07000;

    /** As {@code chmod} does it, which keeps a folder's special bits: those are left to it. */
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        java.nio.file.Path file = pathToFile(path).toPath();
        try {
            int mode = (int) Files.getAttribute(file, "unix:mode");
            if ((mode & SPECIAL_BITS) == 0 && !permission.getStickyBit()) {
                Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permission.toString()));
                return;
            }
        } catch (UnsupportedOperationException notPosix) {
            // Hadoop knows what this file system can do instead.
        }
        super.setPermission(path, permission);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        boolean isLink = Files.isSymbolicLink(pathToFile(path).toPath());
        return isLink ? super.getFileLinkStatus(path) : getFileStatus(path);
    }
}
