package dev.mainstem.files;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** Adds {@link FileBatches} to Spark's optimizer and {@link FolderCheck} to its analyzer, by {@code spark.sql.extensions}. */
public final class Extension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectOptimizerRule(new AbstractFunction1<>() {
            @Override
            public FileBatches apply(org.apache.spark.sql.SparkSession session) {
                return new FileBatches();
            }
        });
        extensions.injectCheckRule(new AbstractFunction1<>() {
            @Override
            public FolderCheck apply(org.apache.spark.sql.SparkSession session) {
                return new FolderCheck();
            }
        });
        return BoxedUnit.UNIT;
    }
}
