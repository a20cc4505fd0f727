package dev.mainstem.files;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Fails a batch whose files lie in folders such as <code>k=v</code> that the source did not have when its query started.
 *
 * <p>If it had no such folder, Spark gives the batch another column. It assigns the columns of a batch to those of the source by
 * their place: the values of <code>k</code> become those of the schema's last column, unless the number of columns differs. If
 * it had another one, the value is lost. A query that starts again has the column.
 */
final class FolderCheck extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    /** Reader option: the names of the source's folder columns, one a line, as they were when the query started. */
    static final String FOLDERS = "mainstemfolders";

    private static final String MESSAGE = "mainstem:FolderColumnAppeared: ";

    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        plan.foreach(new AbstractFunction1<LogicalPlan, BoxedUnit>() {
            @Override
            public BoxedUnit apply(LogicalPlan node) {
                HadoopFsRelation files = FileBatches.files(node);
                String known = files == null ? null : FileBatches.option(files, FOLDERS);
                if (known != null) {
                    check(files, new HashSet<>(Arrays.asList(known.toLowerCase(Locale.ROOT).split("\n"))));
                }
                return BoxedUnit.UNIT;
            }
        });
        return BoxedUnit.UNIT;
    }

    /**
     * Checks the files that exist: the source may have looked for folders after others were deleted, and Spark plans its last
     * batch once more when a query starts.
     */
    private static void check(HadoopFsRelation files, Set<String> known) {
        FolderNames names = FileBatches.names(files);
        if (files.location() instanceof PartitioningAwareFileIndex) {
            PartitioningAwareFileIndex existing = (PartitioningAwareFileIndex) files.location();
            for (FileStatus file : CollectionConverters.asJava(existing.allFiles())) {
                for (String column : names.of(file.getPath()).keySet()) {
                    if (!known.contains(column)) {
                        fail(files, column, " of " + file.getPath());
                    }
                }
            }
        }
        for (String column : files.partitionSchema().fieldNames()) {
            if (!known.contains(column.toLowerCase(Locale.ROOT))) {
                fail(files, column, "");
            }
        }
    }

    private static void fail(HadoopFsRelation files, String column, String place) {
        String source = FileBatches.option(files, FileBatches.SOURCE);
        throw new RuntimeException(MESSAGE + "source '" + source + "', column " + column + place);
    }
}
