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
 * Joins lines to CSV records whose quoted fields may contain line breaks. Within quotes each byte stays as it is.
 *
 * <p>A quote that is never closed affects only its own line, not the rest of the file. If no line within {@link #LIMIT}
 * bytes closes the quote, the line becomes a record of its own, which is malformed, and the next line begins a new record.
 */
final class QuotedLines implements Lines {
    private static final int LIMIT = 4 << 20;
    private static final int OPEN = -1;
    private final Lines lines;
    private final byte[] separator;
    private final byte quote;
    private final byte escape;
    private final byte[] lineBreak;
    private final boolean endsAtReturn;
    private final Deque<Part> pending = new ArrayDeque<>();
    private boolean damaged;

    /** The bytes of a line from one place on; the rest of a line is never copied, for a file may be one line. */
    private record Part(byte[] bytes, int from) {
        int size() {
            return bytes.length - from;
        }
    }

    /** Lines that end where {@link Layout#lineBreak()} is, and records of them. */
    QuotedLines(Lines lines, Layout layout) {
        CSVOptions options = layout.csv();
        this.lines = lines;
        this.separator = options.delimiter().getBytes(StandardCharsets.UTF_8);
        this.quote = (byte) options.quote();
        this.escape = (byte) options.escape();
        this.lineBreak = layout.lineBreak().getBytes(StandardCharsets.UTF_8);
        this.endsAtReturn = !layout.setsLineBreak();
    }

    @Override
    public boolean hasNext() {
        return !pending.isEmpty() || damaged || lines.hasNext();
    }

    @Override
    public UTF8String next() {
        Part first = line();
        if (first == null) {
            damaged = false;
            return null;
        }
        List<Part> record = new ArrayList<>(List.of(first));
        int end = end(first, false);
        int size = first.size();
        while (end == OPEN && size < LIMIT) {
            Part further = hasNext() && !(pending.isEmpty() && damaged) ? line() : null;
            if (further == null) {
                break;
            }
            record.add(further);
            size += further.size();
            end = end(further, true);
        }
        if (end == OPEN) {
            return alone(record);
        }
        putBackAfter(record.get(record.size() - 1), end);
        return joined(record, end);
    }

    /** The next line; null if the file is damaged. */
    private Part line() {
        if (!pending.isEmpty()) {
            return pending.removeFirst();
        }
        UTF8String line = damaged ? null : lines.next();
        damaged = line == null;
        return damaged ? null : new Part(line.getBytes(), 0);
    }

    /** The first line as a record; the others, and what follows a carriage return, begin new records. */
    private UTF8String alone(List<Part> record) {
        for (int place = record.size() - 1; place > 0; place--) {
            pending.addFirst(record.get(place));
        }
        Part first = record.get(0);
        int end = first.from;
        while (end < first.bytes.length && !isReturn(first.bytes[end])) {
            end++;
        }
        putBackAfter(first, end);
        return UTF8String.fromBytes(first.bytes, first.from, end - first.from);
    }

    /** A carriage return inside a line ends a record there; one at its end is part of the line break. */
    private void putBackAfter(Part line, int end) {
        if (end + 1 < line.bytes.length) {
            pending.addFirst(new Part(line.bytes, end + 1));
        }
    }

    private UTF8String joined(List<Part> record, int end) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        for (int place = 0; place < record.size() - 1; place++) {
            Part line = record.get(place);
            text.write(line.bytes, line.from, line.size());
            text.writeBytes(lineBreak);
        }
        Part last = record.get(record.size() - 1);
        text.write(last.bytes, last.from, end - last.from);
        return UTF8String.fromBytes(text.toByteArray());
    }

    /** Where the record ends in the line, {@link #OPEN} if a quoted field is open at its end; {@code open}: and before it. */
    private int end(Part part, boolean open) {
        byte[] line = part.bytes;
        boolean quoted = open;
        boolean start = !open;
        for (int at = part.from; at < line.length; at++) {
            if (quoted) {
                if (line[at] == escape && at + 1 < line.length && (line[at + 1] == quote || line[at + 1] == escape)) {
                    at++;
                } else if (line[at] == quote) {
                    quoted = false;
                }
            } else if (isReturn(line[at])) {
                return at;
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
        return quoted ? OPEN : line.length;
    }

    private boolean isReturn(byte each) {
        return endsAtReturn && each == '\r';
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
