package dev.mainstem.files;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Spark's file format of undecoded records: {@link #VALUE} has the record's text, {@link #FAULT} the reason why it
 * cannot be decoded, or null, and {@link #INDEX} its number in its part of the file.
 *
 * <p>Options: those of Spark's text reader and of {@link Layout}.
 */
public final class RecordFormat extends TextFileFormat {
    /** Column with the text of the record; null for the unreadable part of a damaged file. */
    static final String VALUE = "__mainstem_value";

    /** Column with the reason why the record cannot be decoded; null for most records. */
    static final String FAULT = "__mainstem_fault";

    /** Column with the number of the record in its part of the file, from 0. */
    static final String INDEX = "__mainstem_index";

    private static final long serialVersionUID = 1L;
    private static final StructType TEXT = new StructType().add("value", DataTypes.StringType);

    @Override
    public String shortName() {
        return "mainstem-records";
    }

    @Override
    public String toString() {
        return "Records";
    }

    @Override
    public Option<StructType> inferSchema(SparkSession session, Map<String, String> options, Seq<FileStatus> files) {
        return Option.apply(new StructType()
                .add(VALUE, DataTypes.StringType).add(FAULT, DataTypes.StringType).add(INDEX, DataTypes.LongType));
    }

    @Override
    public boolean supportDataType(DataType type) {
        return type.equals(DataTypes.LongType) || super.supportDataType(type);
    }

    @Override
    public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
        boolean spansLines = new Layout(CollectionConverters.asJava(options)).spansLines();
        return !spansLines && super.isSplitable(session, options, path);
    }

    @Override
    public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
            SparkSession session, StructType data, StructType partitions, StructType required, Seq<Filter> filters,
            Map<String, String> options, Configuration hadoop) {
        Layout layout = new Layout(CollectionConverters.asJava(options));
        // Spark's reader of text would take every carriage return for the end of a line, also within quotes.
        Map<String, String> lines = layout.spansLines() ? options.updated("linesep", layout.lineBreak()) : options;
        return new Reader(
                super.buildReader(session, TEXT, partitions, TEXT, filters, lines, hadoop),
                required.fieldNames(), layout);
    }

    private static final class Reader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>>
            implements Serializable {
        private static final long serialVersionUID = 1L;
        private final Function1<PartitionedFile, Iterator<InternalRow>> text;
        private final String[] columns;
        private final Layout layout;

        Reader(Function1<PartitionedFile, Iterator<InternalRow>> text, String[] columns, Layout layout) {
            this.text = text;
            this.columns = columns;
            this.layout = layout;
        }

        @Override
        public Iterator<InternalRow> apply(PartitionedFile file) {
            return new Rows(new FileRecords(text, file, layout), columns);
        }
    }

    private static final class Rows extends AbstractIterator<InternalRow> {
        private final FileRecords records;
        private final String[] columns;
        private final UnsafeRowWriter row;
        private long index;

        Rows(FileRecords records, String[] columns) {
            this.records = records;
            this.columns = columns;
            this.row = new UnsafeRowWriter(columns.length);
        }

        @Override
        public boolean hasNext() {
            return records.hasNext();
        }

        @Override
        public InternalRow next() {
            FileRecord next = records.next();
            row.reset();
            row.zeroOutNullBytes();
            for (int field = 0; field < columns.length; field++) {
                if (columns[field].equals(INDEX)) {
                    row.write(field, index);
                } else {
                    write(field, columns[field].equals(VALUE) ? next.value : next.fault);
                }
            }
            index++;
            return row.getRow();
        }

        private void write(int field, UTF8String text) {
            if (text == null) {
                row.setNullAt(field);
            } else {
                row.write(field, text);
            }
        }
    }
}
