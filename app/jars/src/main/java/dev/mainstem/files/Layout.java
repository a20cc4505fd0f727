package dev.mainstem.files;

import com.univocity.parsers.csv.CsvParser;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The options of the reader that determine where the records of a text file begin and end.
 *
 * <p><code>mainstemkind</code>: <code>csv</code>, <code>json</code> or <code>text</code>. <code>mainstemcolumns</code>:
 * the names that the header of a CSV file must have, one a line; without this option the header is not checked. As in
 * Spark: <code>header</code>, <code>multiLine</code>, <code>encoding</code>, <code>comment</code>, <code>sep</code>,
 * <code>quote</code>, <code>escape</code>, <code>lineSep</code>.
 */
final class Layout implements Serializable {
    private static final long serialVersionUID = 1L;
    private final HashMap<String, String> options;

    Layout(Map<String, String> options) {
        this.options = new HashMap<>();
        options.forEach((key, value) -> this.options.put(key.toLowerCase(java.util.Locale.ROOT), value));
    }

    boolean isCsv() {
        return "csv".equals(options.get("mainstemkind"));
    }

    /** Whether a record of CSV may have several lines. */
    boolean spansLines() {
        return isCsv() && isTrue("multiline");
    }

    /** What ends a line, as text. Without an option a line may also end at a carriage return, alone or before it. */
    String lineBreak() {
        return options.getOrDefault("linesep", "\n");
    }

    boolean setsLineBreak() {
        return options.containsKey("linesep");
    }

    /** Whether the first record of a CSV file has the names of the columns. */
    boolean hasHeader() {
        return isCsv() && isTrue("header");
    }

    /** The charset of the files; null for UTF-8, which needs no conversion. */
    String encoding() {
        String given = options.getOrDefault("encoding", options.getOrDefault("charset", "UTF-8"));
        return "UTF-8".equalsIgnoreCase(given) || "UTF8".equalsIgnoreCase(given) ? null : given;
    }

    /** The prefix of comment lines; null if the options set none. */
    byte[] comment() {
        CSVOptions csv = isCsv() ? csv() : null;
        return csv == null || !csv.isCommentSet() ? null : String.valueOf(csv.comment()).getBytes(UTF_8);
    }

    /** Spark's options of the format, without the encoding, because Spark accepts only a few of Java's encodings. */
    CSVOptions csv() {
        Map<String, String> syntax = new HashMap<>(options);
        syntax.keySet().removeAll(List.of("encoding", "charset"));
        return new CSVOptions(scala.collection.immutable.Map.from(CollectionConverters.asScala(syntax)), false, "UTC");
    }

    /** Why the header differs from the expected columns; null if it does not, or if no columns are expected. */
    String headerError(String header) {
        String names = options.get("mainstemcolumns");
        if (names == null) {
            return null;
        }
        String[] expected = names.split("\n", -1);
        String[] actual = new CsvParser(csv().asParserSettings()).parseLine(header);
        boolean fits = actual != null && actual.length == expected.length;
        for (int place = 0; fits && place < expected.length; place++) {
            fits = expected[place].equalsIgnoreCase(actual[place]);
        }
        return fits ? null : "the file's header has the columns " + Arrays.toString(actual) + ", the schema has " + Arrays.toString(expected);
    }

    private boolean isTrue(String option) {
        return "true".equalsIgnoreCase(options.get(option));
    }

    private static final java.nio.charset.Charset UTF_8 = java.nio.charset.StandardCharsets.UTF_8;
}
