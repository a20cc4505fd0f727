package dev.mainstem.files;

import org.apache.spark.unsafe.types.UTF8String;

/** Lines of a file, or whole records of several lines. A null is the last of a file that is damaged. */
interface Lines {
    boolean hasNext();

    /** The next one; it lives until the one behind it is asked for. */
    UTF8String next();
}
