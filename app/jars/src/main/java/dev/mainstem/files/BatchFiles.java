package dev.mainstem.files;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
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
 * <p>Spark 4.2 lists all files of a batch again for each name with one of <code>*?[]{}\</code>
 * (DataSource.checkAndGlobPathIfNecessary with globbing off). And it silently skips files that were deleted after the
 * batch was planned.
 */
final class BatchFiles implements FileIndex {
    private final FileIndex index;
    private final String query;
    private final String source;
    private final boolean failOnLoss;

    BatchFiles(FileIndex index, String query, String source, boolean failOnLoss) {
        this.index = index;
        this.query = query;
        this.source = source;
        this.failOnLoss = failOnLoss;
    }

    @Override
    public Seq<PartitionDirectory> listFiles(Seq<Expression> partitions, Seq<Expression> data) {
        if (index instanceof PartitioningAwareFileIndex) {
            ExpiredFiles.check(query, source, missing(), failOnLoss);
        }
        List<PartitionDirectory> folders = new ArrayList<>();
        for (PartitionDirectory folder : CollectionConverters.asJava(index.listFiles(partitions, data))) {
            folders.add(folder.copy(folder.values(), distinct(folder.files())));
        }
        return ArraySeq.unsafeWrapArray(folders.toArray());
    }

    /** The planned files that are not in the listing of the batch. */
    private Set<Path> missing() {
        Set<Path> missing = new LinkedHashSet<>(CollectionConverters.asJava(index.rootPaths()));
        Set<Path> existing = new HashSet<>();
        PartitioningAwareFileIndex listing = (PartitioningAwareFileIndex) index;
        CollectionConverters.asJava(listing.allFiles()).forEach(file -> existing.add(file.getPath()));
        missing.removeAll(existing);
        return missing;
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
        return index.sizeInBytes();
    }

    @Override
    public StructType partitionSchema() {
        return index.partitionSchema();
    }

    @Override
    public Option<Object> metadataOpsTimeNs() {
        return index.metadataOpsTimeNs();
    }
}
