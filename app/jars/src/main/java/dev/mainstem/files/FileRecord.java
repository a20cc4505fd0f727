package dev.mainstem.files;

import org.apache.spark.unsafe.types.UTF8String;

/** One record of a file: its text, and why it cannot be decoded, or null. The text is valid until the next record is read. */
final class FileRecord {
    final UTF8String value;
    final UTF8String fault;

    FileRecord(UTF8String value, UTF8String fault) {
        this.value = value;
        this.fault = fault;
    }
}
