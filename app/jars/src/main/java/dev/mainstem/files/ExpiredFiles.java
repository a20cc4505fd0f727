package dev.mainstem.files;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;

/** The expired files since the start of the driver: they were deleted before their batch read them. */
public final class ExpiredFiles {
    /** Prefix of the error message that fails a query because of expired files. */
    public static final String MESSAGE = "mainstem:FilesExpired:";

    private static final int NAMED = 5;
    private static final Map<String, Set<String>> EXPIRED = new ConcurrentHashMap<>();

    private ExpiredFiles() {}

    /** Paths of the source's expired files, over all batches of the query. */
    public static List<String> paths(String query, String source) {
        return new ArrayList<>(EXPIRED.getOrDefault(key(query, source), Set.of()));
    }

    static void check(String query, String source, Set<Path> missing, boolean fail) {
        if (missing.isEmpty()) {
            return;
        }
        if (fail) {
            String some = missing.stream().limit(NAMED).map(Path::toString).collect(Collectors.joining(", "));
            String more = missing.size() > NAMED ? " and " + (missing.size() - NAMED) + " more" : "";
            throw new RuntimeException(MESSAGE + " source '" + source + "': " + some + more);
        }
        Set<String> known = EXPIRED.computeIfAbsent(key(query, source), key -> ConcurrentHashMap.newKeySet());
        missing.forEach(path -> known.add(path.toString()));
    }

    private static String key(String query, String source) {
        return query + "/" + source;
    }
}
