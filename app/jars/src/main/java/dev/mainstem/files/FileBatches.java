package dev.mainstem.files;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Gives each batch of a file stream an exact list of files.
 *
 * <p>The rule changes only streams whose reader has the option {@link #SOURCE}.
 */
final class FileBatches extends Rule<LogicalPlan> {
    /** Reader option: the name of the source's occurrence in its query. */
    static final String SOURCE = "mainstemsource";

    /** Reader option: the path of the source. */
    static final String PATH = "mainstempath";

    /** Reader option: whether a batch fails if one of its files has expired; by default true. */
    static final String FAIL_ON_LOSS = "mainstemfailondataloss";

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan.transform(new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
            @Override
            public boolean isDefinedAt(LogicalPlan node) {
                return files(node) != null;
            }

            @Override
            public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> otherwise) {
                HadoopFsRelation files = files(node);
                @SuppressWarnings("unchecked")
                B result = files == null ? otherwise.apply(node) : (B) exact((LogicalRelation) node, files);
                return result;
            }
        });
    }

    /** The files of a batch as Spark has planned it; null if the node is something else, or this rule has changed it. */
    static HadoopFsRelation files(LogicalPlan node) {
        if (node instanceof LogicalRelation
                && ((LogicalRelation) node).relation() instanceof HadoopFsRelation) {
            HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) node).relation();
            boolean ours = option(files, SOURCE) != null && ((LogicalRelation) node).isStreaming();
            return ours && !(files.location() instanceof BatchFiles) ? files : null;
        }
        return null;
    }

    private static LogicalPlan exact(LogicalRelation node, HadoopFsRelation files) {
        boolean fail = !"false".equals(option(files, FAIL_ON_LOSS));
        String query = files.sparkSession().sparkContext().getLocalProperty("sql.streaming.queryId");
        FolderColumns columns = new FolderColumns(files.partitionSchema(), names(files), zone(files));
        FileIndex index =
                new BatchFiles(files.sparkSession(), files.location(), columns, query, option(files, SOURCE), fail);
        HadoopFsRelation exact = files.copy(
                index, files.partitionSchema(), files.dataSchema(), files.bucketSpec(), files.fileFormat(), files.options(),
                files.sparkSession());
        return node.copy(exact, node.output(), node.catalogTable(), node.isStreaming(), node.stream());
    }

    /** The folders of the source's files; none if it reads all files below its path without them. */
    static FolderNames names(HadoopFsRelation files) {
        boolean none = option(files, PATH) == null || "true".equalsIgnoreCase(option(files, "recursivefilelookup"));
        // Spark sets this option where the path has no glob, and else leaves it to the document.
        String root = option(files, "basepath") == null ? option(files, PATH) : option(files, "basepath");
        return none ? FolderNames.none() : new FolderNames(root, files.sparkSession().sessionState().newHadoopConf());
    }

    /** The time zone of times in the names of folders, as in Spark. */
    private static String zone(HadoopFsRelation files) {
        String own = option(files, "timezone");
        return own == null ? files.sparkSession().sessionState().conf().sessionLocalTimeZone() : own;
    }

    static String option(HadoopFsRelation files, String name) {
        return CollectionConverters.asJava(files.options()).get(name);
    }
}
