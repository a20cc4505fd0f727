package dev.mainstem.files;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.GlobPattern;
import org.apache.hadoop.fs.Path;

/** The paths of a document in one file system: those that it reads may be globs. */
final class DocumentPaths {
    private final List<Path> globs;
    private final List<Path> folders;

    DocumentPaths(FileSystem system, List<String> read, List<String> written) {
        this.globs = qualified(system, read);
        this.folders = qualified(system, written);
    }

    /** Whether one of the paths is the file or a folder above it, below the root above the file. */
    boolean have(Path file, List<Path> roots) {
        int depth = 0;
        for (Path root : roots) {
            if (root.depth() <= file.depth() && root.equals(ancestor(file, root.depth()))) {
                depth = Math.max(depth, root.depth());
            }
        }
        return has(folders, file, depth, false) || has(globs, file, depth, true);
    }

    private static boolean has(List<Path> paths, Path file, int above, boolean areGlobs) {
        for (Path path : paths) {
            if (path.depth() > above && path.depth() <= file.depth()) {
                Path folder = ancestor(file, path.depth());
                if (path.equals(folder) || areGlobs && matches(path, folder)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether the names match one by one; both paths have the same depth. */
    private static boolean matches(Path glob, Path folder) {
        if (folder.getParent() == null) {
            return true;
        }
        boolean alike = glob.getName().equals(folder.getName()) || new GlobPattern(glob.getName()).matches(folder.getName());
        return alike && matches(glob.getParent(), folder.getParent());
    }

    private static Path ancestor(Path path, int depth) {
        Path ancestor = path;
        while (ancestor.depth() > depth) {
            ancestor = ancestor.getParent();
        }
        return ancestor;
    }

    private static List<Path> qualified(FileSystem system, List<String> texts) {
        List<Path> paths = new ArrayList<>();
        for (String text : texts) {
            try {
                paths.add(system.makeQualified(new Path(text)));
            } catch (IllegalArgumentException error) {
                continue; // of another file system, or no path: nothing is below it here
            }
        }
        return paths;
    }
}
