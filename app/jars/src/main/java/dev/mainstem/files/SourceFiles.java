package dev.mainstem.files;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.DataSource$;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.streaming.sinks.FileStreamSink;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * All files below a source's path, and which of them no batch reads.
 *
 * <p>Spark lists all files below a path. If no folder is called like <code>k=v</code>, it reads only those directly in the
 * path. If one is, a stream reads all of them, and a table only those in such folders. Any other file is in no plan and no count.
 * A stream does not read a file again that changes.
 */
public final class SourceFiles {
    private static final int THREADS = 40;
    private static final Seq<Expression> ALL = ArraySeq.unsafeWrapArray(new Expression[0]);

    private final FileSystem system;
    private final List<Path> roots;
    private final boolean isStream;
    private final Map<String, FileStatus> offered = new LinkedHashMap<>();
    private final Map<Path, FileStatus> others = new LinkedHashMap<>();

    private SourceFiles(FileSystem system, List<Path> roots, boolean isStream) {
        this.system = system;
        this.roots = roots;
        this.isStream = isStream;
    }

    /**
     * Lists the files as Spark does.
     *
     * @param session the session
     * @param path the source's path, or a glob
     * @param options the options of the source's reader
     * @param isStream whether the source is a stream
     * @return the files; null if nothing exists at the path
     */
    public static SourceFiles list(SparkSession session, String path, Map<String, String> options, boolean isStream)
            throws IOException {
        scala.collection.immutable.Map<String, String> given =
                scala.collection.immutable.Map.from(CollectionConverters.asScala(options));
        Configuration hadoop = session.sessionState().newHadoopConfWithOptions(given);
        Seq<String> paths = ArraySeq.unsafeWrapArray(new String[] {path});
        Path root = new Path(path);
        FileSystem system = root.getFileSystem(hadoop);
        boolean isGlob = SparkHadoopUtil.get().isGlobPath(root);
        if (!isGlob && !system.exists(root)) {
            return null;
        }
        if (!isGlob && FileStreamSink.hasMetadata(paths, hadoop, session.sessionState().conf())) {
            return new SourceFiles(system, List.of(), isStream); // of a sink's folder Spark reads what the sink has committed
        }
        Seq<Path> roots = DataSource$.MODULE$.checkAndGlobPathIfNecessary(paths, hadoop, false, false, THREADS, true);
        if (CollectionConverters.asJava(roots).isEmpty()) {
            return null;
        }
        InMemoryFileIndex index = new InMemoryFileIndex(
                session, roots, given, Option.apply(new StructType()), NoopCache$.MODULE$, Option.empty(), Option.empty());
        SourceFiles files = new SourceFiles(system, CollectionConverters.asJava(index.rootPaths()), isStream);
        files.add(index);
        return files;
    }

    private void add(InMemoryFileIndex index) {
        others.putAll(CollectionConverters.asJava(index.leafFiles()));
        if (isStream) {
            CollectionConverters.asJava(index.allFiles()).forEach(this::offer);
        } else {
            CollectionConverters.asJava(index.listFiles(ALL, ALL)).forEach(folder ->
                    CollectionConverters.asJava(folder.files()).forEach(file -> offer(file.fileStatus())));
        }
        others.values().removeIf(file -> !BatchFiles.isData(file) || !index.matchPathPattern(file));
    }

    private void offer(FileStatus file) {
        others.remove(file.getPath());
        if (isStream && BatchFiles.isData(file)) {
            offered.put(SparkPath.fromFileStatus(file).urlEncoded(), file);
        }
    }

    /**
     * The files that no batch reads, because of the folder they lie in.
     *
     * @param read other paths or globs that the document reads: files below them are left out
     * @param written the paths that the document writes: the same
     */
    public FileCount passedOver(List<String> read, List<String> written) {
        DocumentPaths elsewhere = new DocumentPaths(system, read, written);
        List<Path> passed = new ArrayList<>(others.keySet());
        passed.removeIf(file -> elsewhere.have(file, roots));
        return FileCount.of(passed);
    }

    /**
     * The files that a stream does not read again, although they are not as they were when Spark listed them for a batch.
     *
     * <p>Their time differs from that of the log. The log must be opened before the files are listed: a file that is listed for a
     * batch afterwards may have another time there. Spark alone forgets old files, and then reads one again that has changed: of
     * a file that is twice in the log of an earlier release, the last time counts.
     *
     * @param log the log of the source in the query's checkpoint
     * @param byName whether files of one name are one file to the query, whatever their folder
     */
    public FileCount changed(SourceLog log, boolean byName) {
        if (offered.isEmpty()) {
            return FileCount.of(Set.of()); // the log may be long
        }
        Map<String, List<FileStatus>> named = byName ? byName() : Map.of();
        Set<Path> same = new HashSet<>();
        Set<Path> changed = new HashSet<>();
        log.forEach(entry -> {
            for (FileStatus file : byName ? named.getOrDefault(name(entry.path()), List.of()) : at(entry.path())) {
                if (file.getModificationTime() == entry.timestamp()) {
                    changed.remove(file.getPath());
                    if (byName) {
                        same.add(file.getPath()); // other files of the name have other times
                    }
                } else if (!same.contains(file.getPath())) {
                    changed.add(file.getPath());
                }
            }
        });
        return FileCount.of(changed);
    }

    private List<FileStatus> at(String path) {
        FileStatus file = offered.get(path);
        return file == null ? List.of() : List.of(file);
    }

    private Map<String, List<FileStatus>> byName() {
        Map<String, List<FileStatus>> named = new HashMap<>();
        offered.forEach((path, file) -> named.computeIfAbsent(name(path), key -> new ArrayList<>()).add(file));
        return named;
    }

    /** The name of a file, as unequal to others as Spark's own, which is not encoded. */
    private static String name(String urlEncoded) {
        return urlEncoded.substring(urlEncoded.lastIndexOf('/') + 1);
    }
}
