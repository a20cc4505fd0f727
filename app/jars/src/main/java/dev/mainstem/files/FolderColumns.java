package dev.mainstem.files;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** The columns that a source has by the names of its folders, such as <code>k=v</code>. */
final class FolderColumns {
    private final StructType columns;

    FolderColumns(StructType columns) {
        this.columns = columns;
    }

    StructType schema() {
        return columns;
    }

    /** The values of files in no such folder: all are NULL. */
    InternalRow outside() {
        return new GenericInternalRow(columns.length());
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
