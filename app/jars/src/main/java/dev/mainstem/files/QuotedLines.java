package dev.mainstem.files;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Joins lines to CSV records whose quoted fields may contain line breaks.
 *
 * <p>A quote that is never closed affects only its own line, not the rest of the file. If no line within {@link #LIMIT}
 * bytes closes the quote, the line becomes a record of its own, which is malformed, and the next line begins a new record.
 */
final class QuotedLines implements Lines {
    private static final int LIMIT = 4 << 20;
    private final Lines lines;
    private final byte[] separator;
    private final byte quote;
    private final byte escape;
    private final Deque<byte[]> pending = new ArrayDeque<>();
    private boolean damaged;

    QuotedLines(Lines lines, CSVOptions options) {
        this.lines = lines;
        this.separator = options.delimiter().getBytes(StandardCharsets.UTF_8);
        this.quote = (byte) options.quote();
        this.escape = (byte) options.escape();
    }

    @Override
    public boolean hasNext() {
        return !pending.isEmpty() || damaged || lines.hasNext();
    }

    @Override
    public UTF8String next() {
        byte[] first = line();
        if (first == null) {
            damaged = false;
            return null;
        }
        boolean open = isOpen(first, false);
        List<byte[]> record = new ArrayList<>(List.of(first));
        int size = first.length;
        while (open && size < LIMIT) {
            byte[] further = hasNext() && !(pending.isEmpty() && damaged) ? line() : null;
            if (further == null) {
                break;
            }
            record.add(further);
            size += further.length;
            open = isOpen(further, true);
        }
        if (!open) {
            return joined(record);
        }
        for (int place = record.size() - 1; place > 0; place--) {
            pending.addFirst(record.get(place));
        }
        return UTF8String.fromBytes(first);
    }

    /** The next line; null if the file is damaged. */
    private byte[] line() {
        if (!pending.isEmpty()) {
            return pending.removeFirst();
        }
        UTF8String line = damaged ? null : lines.next();
        damaged = line == null;
        return damaged ? null : line.getBytes();
    }

    private static UTF8String joined(List<byte[]> record) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        for (int place = 0; place < record.size(); place++) {
            if (place > 0) {
                text.write('\n');
            }
            text.writeBytes(record.get(place));
        }
        return UTF8String.fromBytes(text.toByteArray());
    }

    /** Whether a quoted field is open after the line; {@code open}: whether one was open before it. */
    private boolean isOpen(byte[] line, boolean open) {
        boolean quoted = open;
        boolean start = !open;
        for (int at = 0; at < line.length; at++) {
            if (quoted) {
                if (line[at] == escape && at + 1 < line.length && (line[at + 1] == quote || line[at + 1] == escape)) {
                    at++;
                } else if (line[at] == quote) {
                    quoted = false;
                }
            } else if (start && line[at] == quote) {
                quoted = true;
                start = false;
            } else if (separates(line, at)) {
                at += separator.length - 1;
                start = true;
            } else {
                start = start && line[at] == ' ';
            }
        }
        return quoted;
    }

    private boolean separates(byte[] line, int at) {
        if (at + separator.length > line.length) {
            return false;
        }
        for (int offset = 0; offset < separator.length; offset++) {
            if (line[at + offset] != separator[offset]) {
                return false;
            }
        }
        return true;
    }
}
