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

/** The columns of folders such as <code>k=v</code>, for files that are in no such folder: all are NULL. */
final class OutsideFolders {
    private final StructType columns;

    OutsideFolders(StructType columns) {
        this.columns = columns;
    }

    /** The values of the columns. */
    InternalRow values() {
        return new GenericInternalRow(columns.length());
    }

    /** Whether the query wants rows with these values. As in Spark, only conditions on the columns alone select folders. */
    boolean match(Seq<Expression> conditions) {
        for (Expression condition : CollectionConverters.asJava(conditions)) {
            if (isOnColumns(condition) && !Boolean.TRUE.equals(bound(condition).eval(values()))) {
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
