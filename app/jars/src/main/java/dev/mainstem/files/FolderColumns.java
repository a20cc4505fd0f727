package dev.mainstem.files;

import java.time.ZoneId;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.execution.datasources.PartitioningUtils;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** The columns that a source has by the names of its folders, such as <code>k=v</code>. */
final class FolderColumns {
    private final StructType columns;
    private final FolderNames names;
    private final String zone;

    /** The columns are those of the source's folders, also in a batch without a file in such a folder. */
    FolderColumns(StructType columns, FolderNames names, String zone) {
        this.columns = columns;
        this.names = names;
        this.zone = zone;
    }

    StructType schema() {
        return columns;
    }

    /** The texts of a file's folders by its path, for a file for which Spark finds none: none for a file in no such folder. */
    Map<String, String> texts(Path file) {
        return names.of(file);
    }

    /** The values of such texts. */
    InternalRow values(Map<String, String> texts) {
        GenericInternalRow row = new GenericInternalRow(columns.length());
        for (int place = 0; place < columns.length(); place++) {
            StructField column = columns.apply(place);
            String text = texts.get(column.name().toLowerCase(Locale.ROOT));
            if (text != null) {
                row.update(place, value(column, text));
            }
        }
        return row;
    }

    /** As in Spark, also its error. */
    private Object value(StructField column, String text) {
        try {
            ZoneId known = DateTimeUtils.getZoneId(zone);
            return PartitioningUtils.castPartValueToDesiredType(column.dataType(), text, known);
        } catch (RuntimeException error) {
            throw new RuntimeException("[INVALID_PARTITION_VALUE] Failed to cast value '" + text + "' to data type \""
                    + column.dataType().sql() + "\" for partition column `" + column.name() + "`", error);
        }
    }

    /** The values of a folder by name, because the folders of a batch may have other columns: NULL for a missing one. */
    InternalRow values(StructType present, InternalRow folder) {
        if (present.equals(columns)) {
            return folder;
        }
        GenericInternalRow row = new GenericInternalRow(columns.length());
        for (int place = 0; place < columns.length(); place++) {
            String name = columns.apply(place).name();
            for (int other = 0; other < present.length(); other++) {
                if (present.apply(other).name().equalsIgnoreCase(name)) {
                    row.update(place, folder.get(other, present.apply(other).dataType()));
                }
            }
        }
        return row;
    }

    /** Whether the query reads a folder with these values. As in Spark, only conditions on the columns alone select folders. */
    boolean match(InternalRow values, Seq<Expression> conditions) {
        for (Expression condition : CollectionConverters.asJava(conditions)) {
            if (isOnColumns(condition) && !Boolean.TRUE.equals(bound(condition).eval(values))) {
                return false;
            }
        }
        return true;
    }

    private boolean isOnColumns(Expression condition) {
        Set<String> names = new HashSet<>(Arrays.asList(columns.fieldNames()));
        return CollectionConverters.asJava(condition.references().toSeq()).stream()
                .allMatch(attribute -> names.contains(attribute.name()));
    }

    private Expression bound(Expression condition) {
        return condition.transform(new AbstractPartialFunction<Expression, Expression>() {
            @Override
            public boolean isDefinedAt(Expression node) {
                return node instanceof AttributeReference;
            }

            @Override
            public <A extends Expression, B> B applyOrElse(A node, Function1<A, B> otherwise) {
                if (!isDefinedAt(node)) {
                    return otherwise.apply(node);
                }
                int place = columns.fieldIndex(((AttributeReference) node).name());
                @SuppressWarnings("unchecked")
                B column = (B) new BoundReference(place, node.dataType(), true);
                return column;
            }
        });
    }
}
