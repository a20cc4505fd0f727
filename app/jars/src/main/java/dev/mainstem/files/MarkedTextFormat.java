package dev.mainstem.files;

import java.io.Serializable;
import java.util.zip.ZipException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** Lines of text; a file whose content ends or breaks before its time has a last line that is null. */
final class MarkedTextFormat extends TextFileFormat {
    private static final long serialVersionUID = 1L;

    @Override
    public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
            SparkSession session, StructType data, StructType partitions, StructType required, Seq<Filter> filters,
            Map<String, String> options, Configuration hadoop) {
        return new Reader(
                super.buildReader(session, data, partitions, required, filters, options, hadoop), required.length());
    }

    private static final class Reader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>>
            implements Serializable {
        private static final long serialVersionUID = 1L;
        private final Function1<PartitionedFile, Iterator<InternalRow>> text;
        private final int fields;

        Reader(Function1<PartitionedFile, Iterator<InternalRow>> text, int fields) {
            this.text = text;
            this.fields = fields;
        }

        @Override
        public Iterator<InternalRow> apply(PartitionedFile file) {
            return new Lines(() -> text.apply(file), fields);
        }
    }

    private interface Opening {
        Iterator<InternalRow> open();
    }

    private static final class Lines extends AbstractIterator<InternalRow> {
        private final Opening opening;
        private final int fields;
        private Iterator<InternalRow> lines;
        private boolean damaged;
        private boolean over;

        Lines(Opening opening, int fields) {
            this.opening = opening;
            this.fields = fields;
        }

        @Override
        public boolean hasNext() {
            if (damaged) {
                return !over;
            }
            try {
                if (lines == null) {
                    lines = opening.open();
                }
                return lines.hasNext();
            } catch (Throwable error) {
                if (!isDamage(error)) {
                    throw error;
                }
                damaged = true;
                return true;
            }
        }

        @Override
        public InternalRow next() {
            if (!damaged) {
                return lines.next();
            }
            over = true;
            return mark();
        }

        private InternalRow mark() {
            UnsafeRowWriter row = new UnsafeRowWriter(fields);
            row.resetRowWriter();
            for (int field = 0; field < fields; field++) {
                row.setNullAt(field);
            }
            return row.getRow();
        }
    }

    /**
     * True where the content is at fault: a checksum or a codec says so. Of a store that fails or a right that is missing
     * it is false, for reading the file again may help.
     */
    static boolean isDamage(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof ChecksumException || cause instanceof ZipException || fromCodec(cause)) {
                return true;
            }
        }
        return false;
    }

    private static boolean fromCodec(Throwable error) {
        StackTraceElement[] frames = error.getStackTrace();
        return frames.length > 0 && frames[0].getClassName().startsWith("org.apache.hadoop.io.compress.");
    }
}
