package dev.mainstem.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of one batch: each file only once, with a report of files that no longer exist.
 *
 * <p>A planned file is read, because the checkpoint has it as read. Spark alone leaves a file out that lies beside folders
 * such as <code>k=v</code>, whose columns are NULL for it, and one whose name <code>pathGlobFilter</code> no longer has,
 * because the document was changed after its batch was planned.
 *
 * <p>Spark 4.2 lists all files of a batch again for each name with one of <code>*?[]{}\</code>
 * (DataSource.checkAndGlobPathIfNecessary with globbing off). And it silently skips files that were deleted after the
 * batch was planned.
 */
final class BatchFiles implements FileIndex {
    private static final Seq<Expression> NO_CONDITIONS = ArraySeq.unsafeWrapArray(new Expression[0]);

    private final SparkSession session;
    private final FileIndex index;
    private final FolderColumns columns;
    private final String query;
    private final String source;
    private final boolean failOnLoss;
    private Map<Path, FileStatus> planned;

    BatchFiles(
            SparkSession session,
            FileIndex index,
            FolderColumns columns,
            String query,
            String source,
            boolean failOnLoss) {
        this.session = session;
        this.index = index;
        this.columns = columns;
        this.query = query;
        this.source = source;
        this.failOnLoss = failOnLoss;
    }

    @Override
    public Seq<PartitionDirectory> listFiles(Seq<Expression> partitions, Seq<Expression> data) {
        if (!(index instanceof PartitioningAwareFileIndex)) {
            return index.listFiles(partitions, data);
        }
        Map<Path, FileStatus> existing = new LinkedHashMap<>(planned());
        ExpiredFiles.check(query, source, without(existing.keySet()), failOnLoss);
        List<PartitionDirectory> folders = new ArrayList<>();
        for (PartitionDirectory folder : CollectionConverters.asJava(index.listFiles(NO_CONDITIONS, data))) {
            CollectionConverters.asJava(folder.files()).forEach(file -> existing.remove(file.getPath()));
            if (index.partitionSchema().isEmpty() && !columns.schema().isEmpty()) {
                folders.addAll(byPath(folder));
            } else {
                InternalRow values = columns.values(index.partitionSchema(), folder.values());
                folders.add(folder.copy(values, distinct(folder.files())));
            }
        }
        existing.values().removeIf(file -> !isData(file));
        FileStatus[] leftOut = existing.values().toArray(new FileStatus[0]);
        folders.addAll(byPath(PartitionDirectory.apply(InternalRow.empty(), leftOut)));
        folders.removeIf(folder -> !columns.match(folder.values(), partitions));
        return ArraySeq.unsafeWrapArray(folders.toArray());
    }

    /** The files, by the values of their paths. */
    private List<PartitionDirectory> byPath(PartitionDirectory folder) {
        Map<Map<String, String>, List<FileStatusWithMetadata>> files = new LinkedHashMap<>();
        for (FileStatusWithMetadata file : CollectionConverters.asJava(distinct(folder.files()))) {
            files.computeIfAbsent(columns.texts(file.getPath()), texts -> new ArrayList<>()).add(file);
        }
        List<PartitionDirectory> folders = new ArrayList<>();
        files.forEach((texts, alike) ->
                folders.add(folder.copy(columns.values(texts), ArraySeq.unsafeWrapArray(alike.toArray()))));
        return folders;
    }

    /** Whether Spark reads the file in a folder: an empty file has no rows, and names such as _metadata are not data. */
    static boolean isData(FileStatus file) {
        String name = file.getPath().getName();
        return file.getLen() > 0 && !name.startsWith(".") && (!name.startsWith("_") || name.contains("="));
    }

    /** The planned files that exist: a listing has only files of the document's glob. */
    private synchronized Map<Path, FileStatus> planned() {
        if (planned == null) {
            Map<Path, FileStatus> existing = new LinkedHashMap<>();
            CollectionConverters.asJava(((PartitioningAwareFileIndex) index).allFiles())
                    .forEach(file -> existing.put(file.getPath(), file));
            Set<Path> others = without(existing.keySet());
            Configuration configuration = others.isEmpty() ? null : session.sessionState().newHadoopConf();
            others.forEach(path -> file(path, configuration).ifPresent(file -> existing.put(path, file)));
            planned = existing;
        }
        return planned;
    }

    /** The planned paths that are not among the files. */
    private Set<Path> without(Set<Path> files) {
        Set<Path> planned = new LinkedHashSet<>(CollectionConverters.asJava(index.rootPaths()));
        planned.removeAll(files);
        return planned;
    }

    private static Optional<FileStatus> file(Path path, Configuration configuration) {
        try {
            return Optional.of(path.getFileSystem(configuration).getFileStatus(path)).filter(FileStatus::isFile);
        } catch (FileNotFoundException error) {
            return Optional.empty();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static <T> Seq<T> distinct(Seq<T> values) {
        return ArraySeq.unsafeWrapArray(new LinkedHashSet<>(CollectionConverters.asJava(values)).toArray());
    }

    @Override
    public Seq<Path> rootPaths() {
        return distinct(index.rootPaths());
    }

    @Override
    public String[] inputFiles() {
        return new LinkedHashSet<>(List.of(index.inputFiles())).toArray(new String[0]);
    }

    @Override
    public void refresh() {
        index.refresh();
    }

    @Override
    public long sizeInBytes() {
        return index instanceof PartitioningAwareFileIndex
                ? planned().values().stream().mapToLong(FileStatus::getLen).sum()
                : index.sizeInBytes();
    }

    @Override
    public StructType partitionSchema() {
        return columns.schema();
    }

    @Override
    public Option<Object> metadataOpsTimeNs() {
        return index.metadataOpsTimeNs();
    }
}
