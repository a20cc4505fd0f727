package dev.mainstem.plans;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.classic.Dataset;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Carries a column from the sources of a plan through the views above them, although no view names it.
 *
 * <p>It passes only through steps that keep each row as it is, so that a value still belongs to the record that the row
 * comes from. It ends at an aggregation, at a deduplication, which keeps any one of equal rows, at a join of two streams,
 * whose stored state must not change, and at every step that is not listed here.
 */
public final class CarriedColumn {
    private static final List<Class<? extends LogicalPlan>> KEEPS_ROWS = List.of(
            Project.class, Filter.class, SubqueryAlias.class, View.class, EventTimeWatermark.class, CollectMetrics.class,
            Generate.class, Union.class, ResolvedHint.class, RepartitionOperation.class);

    private CarriedColumn() {}

    /** The rows with the column behind their own columns; the rows as they are if the column does not reach them. */
    public static Dataset<Row> carried(Dataset<Row> rows, String column) {
        LogicalPlan plan = withSingleReferences(rows.queryExecution().analyzed());
        LogicalPlan carrying = plan == null ? null : carrying(plan, column);
        if (carrying == null) {
            return rows;
        }
        Seq<Attribute> output = rows.queryExecution().analyzed().output();
        return Dataset.ofRows(rows.sparkSession(), project(output, carrying, column));
    }

    /** The plan without WITH clauses; null if a clause has several references, which would read its sources again. */
    private static LogicalPlan withSingleReferences(LogicalPlan plan) {
        Set<Long> referenced = new HashSet<>();
        for (LogicalPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
            if (leaf instanceof CTERelationRef && !referenced.add(((CTERelationRef) leaf).cteId())) {
                return null;
            }
        }
        return new InlineCTE(false, false).apply(plan);
    }

    /** The plan whose output has the column; null if the column does not reach it. */
    private static LogicalPlan carrying(LogicalPlan plan, String column) {
        if (attribute(plan, column) != null) {
            return plan;
        }
        List<LogicalPlan> children = new ArrayList<>();
        int carriers = 0;
        for (LogicalPlan child : CollectionConverters.asJava(plan.children())) {
            LogicalPlan carrying = isSide(plan, child) ? null : carrying(child, column);
            carriers += carrying == null ? 0 : 1;
            children.add(carrying == null ? child : project(child.output(), carrying, column));
        }
        if (carriers == 0 || !passes(plan, carriers)) {
            return null;
        }
        if (plan instanceof Project) {
            return project(((Project) plan).projectList(), children.get(0), column);
        }
        LogicalPlan carrying = (LogicalPlan) plan.withNewChildren(seq(children));
        return attribute(carrying, column) == null ? null : carrying;
    }

    /** Whether a child is the table that a stream is joined with. */
    private static boolean isSide(LogicalPlan plan, LogicalPlan child) {
        return plan instanceof Join && plan.isStreaming() && !child.isStreaming();
    }

    /** Whether a step keeps each row as it is, beside the column that some of its children carry. */
    private static boolean passes(LogicalPlan plan, int carriers) {
        List<LogicalPlan> children = CollectionConverters.asJava(plan.children());
        if (plan instanceof Join) {
            return carriers == 1 && !children.stream().allMatch(LogicalPlan::isStreaming);
        }
        return carriers == children.size() && KEEPS_ROWS.stream().anyMatch(kind -> kind.isInstance(plan));
    }

    private static Attribute attribute(LogicalPlan plan, String column) {
        for (Attribute attribute : CollectionConverters.asJava(plan.output())) {
            if (attribute.name().equals(column)) {
                return attribute;
            }
        }
        return null;
    }

    /** The columns, and behind them the carried one. */
    private static Project project(Seq<? extends NamedExpression> columns, LogicalPlan carrying, String column) {
        List<NamedExpression> all = new ArrayList<>(CollectionConverters.asJava(columns));
        all.removeIf(other -> other.name().equals(column));
        all.add(attribute(carrying, column));
        return new Project(seq(all), carrying);
    }

    private static <T> Seq<T> seq(List<T> values) {
        return ArraySeq.unsafeWrapArray(values.toArray());
    }
}
