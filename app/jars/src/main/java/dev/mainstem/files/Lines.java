package dev.mainstem.files;

import org.apache.spark.unsafe.types.UTF8String;

/** Lines of a file, or records of several lines. The last line of a damaged file is null. */
interface Lines {
    boolean hasNext();

    /** The next line; it is valid until the next call. */
    UTF8String next();
}
