package dev.mainstem.files;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.Iterator;

/**
 * The records of a file or of a part of it, in UTF-8, without byte order mark, comments and header. If the header does not
 * fit, every record of the file is malformed. A damaged file has a last record without a value.
 */
final class FileRecords {
    private static final UTF8String DAMAGED = UTF8String.fromString(
            "the file is truncated or damaged: the part after the last record cannot be read");
    private final Layout layout;
    private final byte[] comment;
    private final CharsetDecoder decoder;
    private final UTF8String undecodable;
    private final Lines lines;
    private final Function1<PartitionedFile, Iterator<InternalRow>> text;
    private final PartitionedFile file;
    private UTF8String headerError;
    private boolean started;
    private FileRecord next;

    FileRecords(Function1<PartitionedFile, Iterator<InternalRow>> text, PartitionedFile file, Layout layout) {
        this.text = text;
        this.file = file;
        this.layout = layout;
        this.comment = layout.comment();
        this.decoder = layout.encoding() == null ? null : Charset.forName(layout.encoding()).newDecoder();
        this.undecodable = UTF8String.fromString("not valid " + layout.encoding());
        Lines read = new SoundLines(() -> text.apply(file), file.start() == 0);
        this.lines = layout.spansLines() ? new QuotedLines(read, layout) : read;
    }

    boolean hasNext() {
        if (!started) {
            started = true;
            headerError = layout.hasHeader() ? readHeader() : null;
        }
        while (next == null && lines.hasNext()) {
            UTF8String line = lines.next();
            if (line == null) {
                next = new FileRecord(null, DAMAGED);
            } else if (!isComment(line)) {
                next = record(line);
            }
        }
        return next != null;
    }

    FileRecord next() {
        FileRecord record = next;
        next = null;
        return record;
    }

    /** The error of the file's header, or null; skips the header if this part of the file has it. */
    private UTF8String readHeader() {
        if (file.start() == 0) {
            return headerErrorIn(lines);
        }
        PartitionedFile head = file.copy(
                file.partitionValues(), file.filePath(), 0, file.start(), file.locations(), file.modificationTime(),
                file.fileSize(), file.otherConstantMetadataColumnValues());
        return headerErrorIn(new SoundLines(() -> text.apply(head), true));
    }

    private UTF8String headerErrorIn(Lines from) {
        while (from.hasNext()) {
            UTF8String line = from.next();
            if (line == null) {
                next = new FileRecord(null, DAMAGED);
                return null;
            }
            if (!isComment(line) && !line.trim().equals(UTF8String.EMPTY_UTF8)) {
                String error = layout.headerError(String.valueOf(record(line).value));
                return error == null ? null : UTF8String.fromString(error);
            }
        }
        return null;
    }

    private boolean isComment(UTF8String line) {
        return comment != null && line.startsWith(UTF8String.fromBytes(comment));
    }

    private FileRecord record(UTF8String line) {
        if (decoder == null) {
            return new FileRecord(line, headerError);
        }
        try {
            return new FileRecord(UTF8String.fromString(decoder.decode(ByteBuffer.wrap(line.getBytes())).toString()), headerError);
        } catch (CharacterCodingException error) {
            return new FileRecord(line, undecodable);
        }
    }
}
