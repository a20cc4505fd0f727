package dev.mainstem.files;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.deploy.SparkHadoopUtil;
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
 * The files below a source's path that no batch reads, because of the folder they lie in.
 *
 * <p>Spark lists all files below a path. If no folder is called like <code>k=v</code>, it reads only those directly in the
 * path. If one is, a stream reads all of them, and a table only those in such folders. Any other file is in no plan and no count.
 */
public final class PassedOverFiles {
    private static final int THREADS = 40;
    private static final Seq<Expression> ALL = ArraySeq.unsafeWrapArray(new Expression[0]);

    private final long count;
    private final String first;

    private PassedOverFiles(long count, String first) {
        this.count = count;
        this.first = first;
    }

    /** The number of files, without those that are no data. */
    public long count() {
        return count;
    }

    /** The first path in alphabetical order; empty if there is no such file. */
    public String first() {
        return first;
    }

    /**
     * Lists the files as Spark does.
     *
     * @param session the session
     * @param path the source's path, or a glob
     * @param options the options of the source's reader
     * @param isStream whether the source is a stream
     * @param read other paths or globs that the document reads: files below them are left out
     * @param written the paths that the document writes: the same
     * @return the files; null if nothing exists at the path
     */
    public static PassedOverFiles below(
            SparkSession session,
            String path,
            Map<String, String> options,
            boolean isStream,
            List<String> read,
            List<String> written)
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
            return new PassedOverFiles(0, ""); // of a sink's folder Spark reads what the sink has committed
        }
        Seq<Path> roots = DataSource$.MODULE$.checkAndGlobPathIfNecessary(paths, hadoop, false, false, THREADS, true);
        if (CollectionConverters.asJava(roots).isEmpty()) {
            return null;
        }
        InMemoryFileIndex index = new InMemoryFileIndex(
                session, roots, given, Option.apply(new StructType()), NoopCache$.MODULE$, Option.empty(), Option.empty());
        Map<Path, FileStatus> passed = new LinkedHashMap<>(CollectionConverters.asJava(index.leafFiles()));
        if (isStream) {
            CollectionConverters.asJava(index.allFiles()).forEach(file -> passed.remove(file.getPath()));
        } else {
            CollectionConverters.asJava(index.listFiles(ALL, ALL)).forEach(folder ->
                    CollectionConverters.asJava(folder.files()).forEach(file -> passed.remove(file.getPath())));
        }
        List<Path> folders = CollectionConverters.asJava(index.rootPaths());
        DocumentPaths elsewhere = new DocumentPaths(system, read, written);
        passed.values().removeIf(file -> !BatchFiles.isData(file)
                || !index.matchPathPattern(file)
                || elsewhere.have(file.getPath(), folders));
        String first = passed.keySet().stream().map(Path::toString).min(String::compareTo).orElse("");
        return new PassedOverFiles(passed.size(), first);
    }
}
