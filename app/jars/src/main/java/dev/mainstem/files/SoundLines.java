package dev.mainstem.files;

import java.util.function.Supplier;
import java.util.zip.ZipException;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.Iterator;

/** The lines from Spark's text reader, up to the end of the file or to its damaged part. */
final class SoundLines implements Lines {
    private static final UTF8String BYTE_ORDER_MARK = UTF8String.fromBytes(new byte[] {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF});
    private final Supplier<Iterator<InternalRow>> open;
    private Iterator<InternalRow> lines;
    private boolean first;
    private boolean damaged;
    private boolean ended;

    SoundLines(Supplier<Iterator<InternalRow>> open, boolean first) {
        this.open = open;
        this.first = first;
    }

    @Override
    public boolean hasNext() {
        if (damaged) {
            return !ended;
        }
        try {
            if (lines == null) {
                lines = open.get();
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
    public UTF8String next() {
        if (damaged) {
            ended = true;
            return null;
        }
        UTF8String line = lines.next().getUTF8String(0);
        boolean marked = first && line.startsWith(BYTE_ORDER_MARK);
        first = false;
        return marked ? UTF8String.fromBytes(line.getBytes(), BYTE_ORDER_MARK.numBytes(), line.numBytes() - BYTE_ORDER_MARK.numBytes()) : line;
    }

    /**
     * Whether the content of the file is damaged: a checksum or a codec has reported it. False if a store fails or a
     * permission is missing, because reading the file again may help.
     */
    private static boolean isDamage(Throwable error) {
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
