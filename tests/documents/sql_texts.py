r"""SQL texts of many kinds over two relations, for our reader and Spark's to be compared on.

`departures` is a stream of `COLUMNS`, `airports` a table of `AIRPORTS`.
"""

from typing import Final


COLUMNS: Final = {
    "carrier": "STRING",
    "origin": "STRING",
    "dest": "STRING",
    "time_hour": "TIMESTAMP",
    "dep_delay": "INT",
    "distance": "DOUBLE",
    "tags": "ARRAY<STRING>",
    "legs": "ARRAY<STRUCT<faa: STRING, miles: INT>>",
    "props": "MAP<STRING, STRING>",
    "raw": "BINARY",
}
"""Of `departures`: name -> type."""
AIRPORTS: Final = "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, tz STRING, seats INT"
"""Columns of `airports`."""


def _texts(block: str) -> list[str]:
    return [text.strip("\n") for text in block.split("\n====\n") if text.strip()]


PLAIN: Final = [
    line
    for line in r"""
SELECT * FROM departures
SELECT * FROM DEPARTURES
SELECT * FROM `departures`
SELECT d.* FROM departures AS d
SELECT d.carrier FROM departures d WHERE d.dep_delay > 0
SELECT departures.carrier FROM departures
select carrier, origin from departures where dep_delay between 5 and 10
SELECT carrier AS `Größe der Linie`, dest AS `a b` FROM departures
SELECT carrier AS 東京 FROM departures
SELECT carrier `c`, dest d, origin AS `o``o` FROM departures
SELECT * EXCEPT (raw, props) FROM departures
SELECT CASE WHEN dep_delay > 15 THEN 'late' WHEN dep_delay IS NULL THEN 'unknown' ELSE 'fine' END AS s FROM departures
SELECT CASE carrier WHEN 'AA' THEN 1 ELSE 0 END FROM departures
SELECT if(dep_delay > 0, 'a', 'b'), coalesce(dest, 'none'), nullif(origin, dest), nvl(dest, '') FROM departures
SELECT dep_delay::BIGINT, dep_delay :: STRING, CAST(time_hour AS DATE), TRY_CAST(carrier AS INT) FROM departures
SELECT time_hour + INTERVAL 1 DAY, time_hour - INTERVAL '1' HOUR, time_hour + INTERVAL '1 02:03:04' DAY TO SECOND FROM departures
SELECT INTERVAL 1 YEAR 2 MONTHS, INTERVAL '2-3' YEAR TO MONTH, INTERVAL -5 SECONDS FROM departures
SELECT 1Y, 2S, 3L, 4.5F, 5.5D, 6.5BD, 1e3, .5, 0x1F IS NULL AS x1F, X'1F', -1, +1, ~1 FROM departures WHERE true OR carrier = 'x1F'
SELECT 1Y, 2S, 3L, 4.5F, 5.5D, 6.5BD, 1e3, .5, X'1F', -1, +1, ~1, TRUE, NULL FROM departures
SELECT DATE '2013-01-01', TIMESTAMP '2013-01-01 10:00:00', TIMESTAMP_NTZ '2013-01-01 10:00:00', TIMESTAMP_LTZ '2013-01-01 10:00:00' FROM departures
SELECT 'a' 'b' AS ab, 'it\'s', "double", "it's", 'it''s', 'semi;colon', '-- no comment', '/* nor this */' FROM departures
SELECT r'raw \d+', R"raw \n" FROM departures
SELECT r'\', ';' AS s FROM departures
SELECT '\u0041\x41\101', 'tab\tnew\nline', '%\%' FROM departures
SELECT ':name', '${name}', '{{ name }}', '?', '$1' FROM departures
SELECT * FROM departures WHERE carrier LIKE 'A%' AND dest NOT LIKE '_B%' ESCAPE '/' AND origin ILIKE 'j%'
SELECT * FROM departures WHERE carrier RLIKE '^A' OR carrier REGEXP 'B$' OR carrier LIKE ANY ('A%', 'B%') OR dest LIKE ALL ('x')
SELECT * FROM departures WHERE carrier IN ('AA', 'BB') AND dest NOT IN ('C') AND dep_delay IS NOT NULL AND origin IS DISTINCT FROM dest
SELECT * FROM departures WHERE carrier <=> dest AND dep_delay == 1 AND distance <> 2 AND distance != 3 AND NOT (dep_delay >= 4)
SELECT dep_delay DIV 2, dep_delay % 2, dep_delay & 1, dep_delay | 1, dep_delay ^ 1, dep_delay << 1, dep_delay >> 1 FROM departures
SELECT carrier || '-' || dest, concat(carrier, dest), concat_ws('-', carrier, dest) FROM departures
SELECT tags[0], legs[0].faa, legs.faa, props['x'], element_at(tags, 1), try_element_at(props, 'a') FROM departures
SELECT struct(carrier, dest) AS s, named_struct('a', 1), (carrier, dest) AS t, array(1, 2), map('a', 1) FROM departures
SELECT s.carrier FROM (SELECT struct(carrier, dest) AS s FROM departures)
SELECT extract(HOUR FROM time_hour), date_part('DAY', time_hour), year(time_hour), date_trunc('HOUR', time_hour) FROM departures
SELECT to_json(struct(*)) AS j FROM departures
SELECT from_json(carrier, 'a INT, b STRING').a FROM departures
SELECT get_json_object(carrier, '$.a'), json_tuple(carrier, 'a', 'b') FROM departures
SELECT parse_json(carrier):a.b::STRING FROM departures
SELECT variant_get(parse_json(carrier), '$.a', 'int') FROM departures
SELECT substring(carrier FROM 1 FOR 2), trim(BOTH ' ' FROM carrier), position('a' IN carrier), overlay(carrier PLACING 'x' FROM 1) FROM departures
SELECT ceil(distance), floor(distance), round(distance, 1), bround(distance), abs(dep_delay), greatest(1, dep_delay), least(1, 2) FROM departures
SELECT current_date, current_timestamp(), current_timestamp, now(), localtimestamp, current_catalog(), current_user() FROM departures
SELECT timestampadd(HOUR, 1, time_hour), timestampdiff(DAY, time_hour, time_hour), dateadd(DAY, 1, time_hour), date_diff(time_hour, time_hour) FROM departures
SELECT time_hour AT TIME ZONE 'UTC' FROM departures
SELECT to_timestamp(carrier, 'yyyy'), unix_timestamp(time_hour), from_unixtime(1), make_date(2013, 1, 1), make_interval(1) FROM departures
SELECT sha2(carrier, 256), md5(carrier), hash(*), xxhash64(carrier), crc32(carrier), uuid(), rand(), monotonically_increasing_id() FROM departures
SELECT collate(carrier, 'UTF8_LCASE'), carrier COLLATE UNICODE_CI FROM departures
SELECT transform(tags, x -> upper(x)), filter(tags, x -> x <> 'a'), exists(tags, x -> x = 'a'), forall(tags, x -> true) FROM departures
SELECT transform(tags, (x, i) -> concat(x, i)), aggregate(tags, '', (a, x) -> a || x), reduce(tags, 0, (a, x) -> a + 1, a -> a * 2) FROM departures
SELECT zip_with(tags, tags, (a, b) -> a || b), map_filter(props, (k, v) -> k = 'a'), transform_keys(props, (k, v) -> upper(k)), array_sort(tags, (l, r) -> 0) FROM departures
SELECT array_distinct(tags), array_union(tags, tags), array_max(tags), array_size(tags), flatten(array(tags)), sequence(1, 3), size(props), map_keys(props) FROM departures
SELECT explode(tags) FROM departures
SELECT explode(tags) AS t, carrier FROM departures
SELECT posexplode(tags) AS (i, t) FROM departures
SELECT inline(legs) FROM departures
SELECT explode(props) AS (k, v) FROM departures
SELECT stack(2, 'a', 1, 'b', 2) AS (k, v) FROM departures
SELECT explode_outer(tags) FROM departures
SELECT carrier, t FROM departures LATERAL VIEW explode(tags) x AS t
SELECT carrier, t, l FROM departures LATERAL VIEW explode(tags) AS t LATERAL VIEW OUTER explode(legs) y AS l
SELECT carrier, k, v FROM departures LATERAL VIEW explode(props) p AS k, v WHERE k = 'a'
SELECT carrier, i, t FROM departures LATERAL VIEW OUTER posexplode(tags) x AS i, t
SELECT d.carrier, e.* FROM departures d, LATERAL explode(d.tags) AS e(t)
SELECT d.carrier, x.u FROM departures d, LATERAL (SELECT upper(d.carrier) AS u) x
SELECT d.carrier, x.u FROM departures d JOIN LATERAL (SELECT upper(d.carrier) AS u) AS x
SELECT carrier FROM departures LIMIT 5
SELECT carrier FROM departures LIMIT 5 OFFSET 2
SELECT carrier FROM departures OFFSET 2
SELECT ALL carrier FROM departures
SELECT DISTINCT carrier FROM departures
SELECT DISTINCT ON (carrier) carrier FROM departures
SELECT * FROM departures TABLESAMPLE (10 PERCENT)
SELECT * FROM departures TABLESAMPLE (5 ROWS)
SELECT * FROM departures TABLESAMPLE (BUCKET 1 OUT OF 4)
SELECT * FROM departures TABLESAMPLE (10 PERCENT) REPEATABLE (42) AS d
SELECT /*+ REPARTITION(3) */ * FROM departures
SELECT /*+ COALESCE(1), REBALANCE */ carrier FROM departures
SELECT * FROM departures DISTRIBUTE BY carrier
SELECT * FROM departures CLUSTER BY carrier
SELECT * FROM departures SORT BY carrier
SELECT * FROM departures ORDER BY carrier
SELECT * FROM departures ORDER BY carrier DESC NULLS LAST, 2 LIMIT 3
SELECT * FROM (SELECT * FROM departures ORDER BY carrier)
SELECT carrier FROM departures ORDER BY ALL
(SELECT * FROM departures)
((SELECT * FROM departures))
(SELECT * FROM departures) LIMIT 3
(SELECT * FROM departures) ORDER BY carrier
SELECT * FROM (departures)
SELECT * FROM (departures) AS d
SELECT * FROM (SELECT * FROM departures)
SELECT * FROM (SELECT carrier, dest FROM departures) AS t(a, b) WHERE a = 'x'
SELECT * FROM departures AS d(a, b, c, e, f, g, h, i, j, k)
FROM departures
FROM departures SELECT carrier
FROM departures d SELECT d.carrier WHERE d.dep_delay > 1
FROM departures LATERAL VIEW explode(tags) x AS t SELECT t
FROM (SELECT carrier FROM departures) x SELECT x.carrier
FROM (FROM departures SELECT carrier AS c) SELECT c
TABLE departures
(TABLE departures)
SELECT * FROM (TABLE departures)
TABLE departures |> WHERE dep_delay > 1
SELECT * FROM STREAM departures
SELECT * FROM STREAM(departures)
SELECT * FROM STREAM departures AS d WHERE d.dep_delay > 1
SELECT * FROM session.departures
SELECT * FROM system.session.departures AS d
SELECT stream FROM (SELECT carrier AS stream FROM departures)
SELECT table FROM (SELECT carrier AS table FROM departures)
SELECT identifier, values, set, add FROM (SELECT 1 AS identifier, 2 AS values, 3 AS set, 4 AS add FROM departures)
SELECT insert, delete, update, merge, drop FROM (SELECT 1 AS insert, 2 AS delete, 3 AS update, 4 AS merge, 5 AS drop FROM departures)
SELECT date, timestamp, time, user, year, month, window FROM (SELECT 1 AS date, 2 AS timestamp, 3 AS time, 4 AS user, 5 AS year, 6 AS month, 7 AS window FROM departures)
SELECT from, select FROM (SELECT 1 AS from, 2 AS select FROM departures)
SELECT `from`, `select` FROM (SELECT 1 AS `from`, 2 AS `select` FROM departures)
SELECT count delete FROM (SELECT 1 AS count FROM departures)
SELECT a insert FROM (SELECT 1 AS a FROM departures)
SELECT reflect FROM (SELECT carrier AS reflect FROM departures)
SELECT 'reflect(1)', "java_method('x')" AS a FROM departures -- try_reflect('y')
SELECT carrier FROM departures WHERE carrier = 'x' -- trailing
SELECT carrier -- first line \
FROM departures
SELECT carrier /* one */ FROM /* two /* nested */ */ departures /* three */
SELECT carrier FROM departures; -- done
SELECT carrier FROM departures;
SELECT carrier FROM departures ; ;
SELECT * FROM departures WATERMARK time_hour DELAY OF INTERVAL 1 HOUR
SELECT w.carrier FROM departures WATERMARK time_hour DELAY OF INTERVAL 1 HOUR AS w
SELECT watermark FROM (SELECT carrier AS watermark FROM departures)
SELECT carrier FROM departures WHERE dep_delay > (SELECT avg(seats) FROM airports)
SELECT carrier, (SELECT max(seats) FROM airports) AS m FROM departures
SELECT carrier FROM departures WHERE dest IN (SELECT faa FROM airports)
SELECT carrier FROM departures WHERE dest NOT IN (SELECT faa FROM airports WHERE faa IS NOT NULL)
SELECT carrier FROM departures d WHERE EXISTS (SELECT 1 FROM airports a WHERE a.faa = d.dest)
SELECT carrier FROM departures d WHERE NOT EXISTS (SELECT 1 FROM airports a WHERE a.faa = d.dest AND a.seats > 1)
SELECT carrier FROM departures d WHERE dest = (SELECT first(faa) FROM airports a WHERE a.faa = d.origin)
SELECT carrier FROM departures WHERE (carrier, dest) IN (SELECT name, faa FROM airports)
SELECT faa FROM airports WHERE faa IN (SELECT dest FROM departures)
SELECT * FROM departures WHERE
SELECT * FROM departures WINDOW
SELECT explode(tags), explode(tags) FROM departures
FROM departures |> SELECT count(*)
SELECT array(SELECT 1) FROM departures
""".strip().splitlines()
    if line
]  # fmt: skip

JOINS: Final = [
    line
    for line in r"""
SELECT * FROM departures d JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d INNER JOIN airports a ON d.dest = a.faa AND a.seats > 1
SELECT * FROM departures d LEFT JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d LEFT OUTER JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d RIGHT JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d FULL OUTER JOIN airports a ON d.dest = a.faa
SELECT * FROM airports a LEFT JOIN departures d ON d.dest = a.faa
SELECT * FROM airports a RIGHT JOIN departures d ON d.dest = a.faa
SELECT * FROM departures d LEFT SEMI JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d SEMI JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d LEFT ANTI JOIN airports a ON d.dest = a.faa
SELECT * FROM departures d ANTI JOIN airports a ON d.dest = a.faa
SELECT * FROM departures CROSS JOIN airports
SELECT * FROM departures, airports
SELECT * FROM departures d, airports a WHERE d.dest = a.faa
SELECT * FROM departures JOIN airports
SELECT * FROM departures NATURAL JOIN airports
SELECT * FROM departures JOIN (SELECT faa AS dest, name FROM airports) USING (dest)
SELECT * FROM departures d JOIN airports a ON d.dest = a.faa JOIN airports b ON d.origin = b.faa
SELECT * FROM departures d JOIN (airports a JOIN airports b ON a.tz = b.tz) ON d.dest = a.faa
SELECT * FROM (departures d JOIN airports a ON d.dest = a.faa)
SELECT a.name FROM departures AS d LEFT JOIN airports AS a ON a.faa = d.dest WHERE a.name IS NULL
SELECT /*+ BROADCAST(a) */ * FROM departures d JOIN airports a ON d.dest = a.faa
SELECT /*+ MERGE(airports) */ * FROM departures JOIN airports ON dest = faa
SELECT * FROM departures a JOIN departures b ON a.carrier = b.carrier
SELECT a.carrier FROM departures a JOIN departures b ON a.carrier = b.carrier AND a.time_hour = b.time_hour
SELECT a.carrier FROM departures a LEFT JOIN departures b ON a.carrier = b.carrier AND a.time_hour = b.time_hour
SELECT a.carrier FROM departures a, departures b WHERE a.carrier = b.carrier
SELECT a.carrier FROM departures a JOIN departures b ON a.carrier = b.carrier AND b.time_hour BETWEEN a.time_hour AND a.time_hour + INTERVAL 1 HOUR
SELECT departures.carrier FROM departures JOIN airports ON departures.dest = airports.faa
SELECT airports.* FROM airports JOIN departures ON dest = faa
SELECT * FROM departures d JOIN LATERAL (SELECT name FROM airports a WHERE a.faa = d.dest) x
SELECT * FROM departures d LEFT JOIN LATERAL (SELECT name FROM airports a WHERE a.faa = d.dest) x ON true
SELECT d.carrier, x.m FROM departures d, LATERAL (SELECT max(seats) AS m FROM airports a WHERE a.faa = d.dest) x
SELECT d.carrier, x.m FROM departures d, LATERAL (SELECT d.dep_delay + a.seats AS m FROM airports a) x
SELECT d.carrier FROM departures d WHERE dep_delay > (SELECT max(seats) FROM airports a WHERE a.seats < d.dep_delay)
SELECT * FROM departures JOIN VALUES ('a', 1), ('b', 2) AS v(k, n) ON carrier = k
SELECT * FROM departures JOIN range(3) AS r ON dep_delay = r.id
SELECT * FROM VALUES (1), (2) AS v(n), departures
SELECT d.carrier, u.name FROM departures d JOIN (SELECT faa, max(name) AS name FROM airports GROUP BY faa) u ON u.faa = d.dest
SELECT d.carrier FROM departures d JOIN (SELECT DISTINCT faa FROM airports ORDER BY faa) u ON u.faa = d.dest
SELECT d.carrier, row_number() OVER (ORDER BY a.name) FROM airports a JOIN departures d ON a.faa = d.dest
SELECT d.carrier, a.n FROM departures d JOIN (SELECT faa, row_number() OVER (PARTITION BY tz ORDER BY name) AS n FROM airports) a ON a.faa = d.dest
SELECT * FROM departures d ASOF JOIN airports a ON d.dest = a.faa
SELECT carrier FROM departures UNION ALL SELECT faa FROM airports
SELECT carrier FROM departures UNION SELECT faa FROM airports
SELECT carrier FROM departures UNION DISTINCT SELECT dest FROM departures
SELECT carrier FROM departures UNION ALL SELECT dest FROM departures
TABLE departures UNION ALL TABLE departures
WITH x AS (TABLE departures) SELECT carrier FROM x UNION ALL SELECT dest FROM (TABLE `departures`) y
SELECT carrier FROM departures UNION ALL SELECT dest FROM departures UNION ALL SELECT origin FROM departures
SELECT carrier FROM departures UNION ALL BY NAME SELECT dest AS carrier FROM departures
SELECT carrier FROM departures INTERSECT SELECT faa FROM airports
SELECT carrier FROM departures INTERSECT ALL SELECT dest FROM departures
SELECT carrier FROM departures EXCEPT SELECT faa FROM airports
SELECT carrier FROM departures EXCEPT ALL SELECT faa FROM airports
SELECT faa FROM airports EXCEPT SELECT carrier FROM departures
SELECT carrier FROM departures MINUS SELECT faa FROM airports
(SELECT carrier FROM departures) UNION ALL (SELECT faa FROM airports)
(SELECT carrier FROM departures UNION ALL SELECT faa FROM airports) UNION ALL SELECT name FROM airports
SELECT * FROM (SELECT carrier FROM departures UNION ALL SELECT faa FROM airports) WHERE carrier > 'a'
SELECT carrier FROM departures UNION ALL SELECT faa FROM airports ORDER BY 1
SELECT carrier FROM departures UNION ALL SELECT faa FROM airports LIMIT 5
SELECT carrier FROM departures UNION ALL VALUES ('x')
TABLE departures UNION ALL TABLE departures
FROM departures SELECT carrier UNION ALL FROM airports SELECT faa
WITH x AS (SELECT * FROM departures) SELECT * FROM x
WITH x AS (SELECT * FROM departures), y AS (SELECT * FROM airports) SELECT * FROM x JOIN y ON x.dest = y.faa
WITH x AS (SELECT * FROM departures), y AS (SELECT * FROM x) SELECT * FROM y
WITH x(a) AS (SELECT carrier FROM departures) SELECT a FROM x
WITH x (SELECT carrier FROM departures) SELECT * FROM x
WITH x AS (SELECT carrier FROM departures) SELECT * FROM x UNION ALL SELECT * FROM x
WITH x AS (SELECT * FROM airports) SELECT * FROM departures d JOIN x a ON d.dest = a.faa JOIN x b ON d.origin = b.faa
WITH departures AS (SELECT * FROM departures WHERE dep_delay > 1) SELECT * FROM departures
WITH departures AS (SELECT * FROM airports) SELECT * FROM departures d
WITH airports AS (SELECT * FROM departures) SELECT * FROM airports
WITH airports AS (SELECT * FROM departures), d AS (SELECT * FROM airports) SELECT * FROM d
WITH departures AS (SELECT * FROM departures), d AS (SELECT * FROM departures) SELECT * FROM d JOIN airports ON dest = faa
WITH `Departures` AS (SELECT carrier AS c FROM departures) SELECT c FROM DEPARTURES
WITH x AS (WITH y AS (SELECT * FROM departures) SELECT * FROM y) SELECT * FROM x
WITH x AS (SELECT 1 AS a) SELECT * FROM (WITH x AS (SELECT * FROM departures) SELECT * FROM x)
WITH x AS (SELECT faa FROM airports) SELECT * FROM departures WHERE dest IN (SELECT faa FROM x)
WITH x AS (SELECT count(*) AS n FROM departures) SELECT * FROM x
WITH x AS (SELECT * FROM departures) SELECT count(*) FROM x
WITH x AS (SELECT * FROM departures) FROM x SELECT carrier
WITH unused AS (SELECT * FROM airports) SELECT * FROM departures
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM departures JOIN n ON dep_delay = i
WITH RECURSIVE n(i) MAX RECURSION LEVEL 5 AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM departures JOIN n ON dep_delay = i
WITH x AS (SELECT ')' AS p, carrier FROM departures) SELECT * FROM x
WITH x AS (SELECT count(1) delete, carrier FROM airports JOIN (SELECT 1 AS carrier) GROUP BY 2) SELECT * FROM departures JOIN x USING (carrier)
""".strip().splitlines()
    if line
]  # fmt: skip

AGGREGATES: Final = [
    line
    for line in r"""
SELECT count(*) FROM departures
SELECT count(*) AS n, carrier FROM departures GROUP BY carrier
SELECT carrier, count(*) FROM departures GROUP BY 1
SELECT carrier, count(*) FROM departures GROUP BY ALL
SELECT carrier AS c, sum(dep_delay) FROM departures GROUP BY c HAVING sum(dep_delay) > 5
SELECT carrier FROM departures GROUP BY carrier
SELECT carrier FROM departures GROUP BY carrier HAVING count(*) > 1
SELECT 1 FROM departures HAVING count(*) > 1
SELECT carrier, dest, count(*) FROM departures GROUP BY carrier, dest WITH ROLLUP
SELECT carrier, dest, count(*) FROM departures GROUP BY carrier, dest WITH CUBE
SELECT carrier, dest, count(*), grouping(carrier), grouping_id() FROM departures GROUP BY ROLLUP (carrier, dest)
SELECT carrier, dest, count(*) FROM departures GROUP BY CUBE (carrier, dest)
SELECT carrier, dest, count(*) FROM departures GROUP BY GROUPING SETS ((carrier), (dest), ())
SELECT carrier, dest, count(*) FROM departures GROUP BY carrier, ROLLUP (dest)
SELECT count(DISTINCT carrier) FROM departures
SELECT approx_count_distinct(carrier) FROM departures
SELECT count(*) FILTER (WHERE dep_delay > 1) AS late FROM departures
SELECT carrier, max(dep_delay) - min(dep_delay) AS spread, avg(distance), stddev(distance), percentile(distance, 0.5) FROM departures GROUP BY carrier
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY distance) FROM departures
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY distance DESC) FROM departures
SELECT mode() WITHIN GROUP (ORDER BY carrier) FROM departures
SELECT listagg(carrier, ',') WITHIN GROUP (ORDER BY carrier) FROM departures
SELECT string_agg(carrier) FROM departures
SELECT collect_list(carrier), collect_set(dest), array_agg(origin) FROM departures
SELECT first(carrier), last(dest), any_value(origin), max_by(carrier, dep_delay), min_by(carrier, dep_delay) FROM departures
SELECT bool_and(dep_delay > 0), bool_or(dep_delay > 0), every(true), some(false), bit_or(dep_delay), bit_xor(dep_delay) FROM departures
SELECT corr(distance, dep_delay), covar_pop(distance, dep_delay), skewness(distance), kurtosis(distance), regr_slope(distance, dep_delay) FROM departures
SELECT histogram_numeric(distance, 5), approx_percentile(distance, 0.5), median(distance), count_if(dep_delay > 1), try_avg(distance) FROM departures
SELECT hll_sketch_agg(carrier), bitmap_construct_agg(dep_delay), count_min_sketch(carrier, 0.5d, 0.5d, 1) FROM departures
SELECT product(distance) FROM departures
SELECT aggregate(collect_list(dep_delay), 0, (a, x) -> a + x) FROM departures
SELECT 1 + count(*) * 2 AS n FROM departures
SELECT struct(count(*) AS n, max(dep_delay) AS m).n FROM departures
SELECT CASE WHEN count(*) > 1 THEN 'many' ELSE 'few' END FROM departures
SELECT to_json(map('n', count(*))) FROM departures
SELECT window(time_hour, '1 hour') AS w, count(*) AS n FROM departures GROUP BY w
SELECT window(time_hour, '1 hour'), count(*) FROM departures GROUP BY 1
SELECT window.start, window.end, count(*) FROM departures GROUP BY window(time_hour, '1 hour')
SELECT window(time_hour, '1 hour', '10 minutes') AS w, carrier, count(*) AS n FROM departures GROUP BY 1, 2
SELECT window(time_hour, '1 hour', '10 minutes', '5 minutes') AS w, count(*) FROM departures GROUP BY 1
SELECT window_time(window), n FROM (SELECT window(time_hour, '1 hour') AS window, count(*) AS n FROM departures GROUP BY 1)
SELECT window(w, '1 day'), sum(n) FROM (SELECT window(time_hour, '1 hour') AS w, count(*) AS n FROM departures GROUP BY 1) GROUP BY 1
SELECT session_window(time_hour, '5 minutes') AS s, carrier, count(*) FROM departures GROUP BY 1, 2
SELECT session_window(time_hour, CASE WHEN carrier = 'AA' THEN '5 minutes' ELSE '1 hour' END) AS s, count(*) FROM departures GROUP BY 1
SELECT session_window.start, count(*) FROM departures GROUP BY session_window(time_hour, '5 minutes'), carrier
SELECT to_date(w.start) AS day, carrier, n FROM (SELECT window(time_hour, '1 day') AS w, carrier, count(*) AS n FROM departures GROUP BY 1, 2)
SELECT carrier, n FROM (SELECT carrier, count(*) AS n FROM departures GROUP BY carrier) WHERE n > 5
SELECT count(*) FROM (SELECT carrier, count(*) AS n FROM departures GROUP BY carrier)
SELECT count(*) FROM (SELECT * FROM departures)
SELECT sum(n) FROM (SELECT carrier, 1 AS n FROM departures) GROUP BY carrier
SELECT carrier, count(*) AS n FROM departures GROUP BY carrier ORDER BY n DESC
SELECT carrier, count(*) AS n FROM departures GROUP BY carrier ORDER BY n DESC LIMIT 5
SELECT * FROM (SELECT carrier, count(*) AS n FROM departures GROUP BY carrier) ORDER BY n
SELECT DISTINCT carrier, count(*) FROM departures GROUP BY carrier
SELECT count(*) FROM (SELECT DISTINCT carrier FROM departures)
SELECT a.tz, count(*) FROM departures d JOIN airports a ON d.dest = a.faa GROUP BY a.tz
SELECT a.tz, count(*) FROM airports a JOIN departures d ON d.dest = a.faa GROUP BY a.tz
SELECT d.carrier, n FROM departures d JOIN (SELECT count(*) AS n, dest FROM departures GROUP BY dest) c ON d.dest = c.dest
SELECT a.name, n FROM (SELECT dest, count(*) AS n FROM departures GROUP BY dest) d JOIN airports a ON a.faa = d.dest
SELECT a.name, n FROM airports a JOIN (SELECT dest, count(*) AS n FROM departures GROUP BY dest) d ON a.faa = d.dest
SELECT t, count(*) FROM departures LATERAL VIEW explode(tags) x AS t GROUP BY t
SELECT count(*) FROM departures, LATERAL explode(tags)
SELECT carrier, count(*) FROM departures GROUP BY carrier UNION ALL SELECT dest, count(*) FROM departures GROUP BY dest
SELECT carrier, count(*) FROM departures GROUP BY carrier UNION ALL SELECT faa, 1L FROM airports
SELECT carrier, sum(dep_delay) OVER (PARTITION BY carrier ORDER BY time_hour) FROM departures
SELECT row_number() OVER (PARTITION BY carrier ORDER BY dep_delay) AS r, * FROM departures
SELECT lag(dep_delay) OVER w, lead(dep_delay, 2) OVER w, rank() OVER w FROM departures WINDOW w AS (PARTITION BY carrier ORDER BY time_hour)
SELECT sum(count(*)) OVER () FROM departures GROUP BY carrier
SELECT * FROM departures PIVOT (count(*) FOR carrier IN ('AA', 'BB'))
SELECT * FROM (SELECT carrier, dest, dep_delay FROM departures) PIVOT (max(dep_delay) AS m FOR carrier IN ('AA' AS a, 'BB' AS b))
SELECT * FROM (SELECT carrier, dep_delay, seats FROM departures JOIN airports ON dest = faa) UNPIVOT (v FOR k IN (dep_delay, seats))
SELECT * FROM departures UNPIVOT INCLUDE NULLS (v FOR k IN (origin AS o, dest AS d))
SELECT count(*) FROM airports
SELECT tz, count(*) FROM airports GROUP BY tz
SELECT * FROM airports ORDER BY name
SELECT carrier, count(*) FROM departures WHERE dest IN (SELECT faa FROM airports GROUP BY faa HAVING count(*) > 1) GROUP BY carrier
SELECT d.carrier FROM departures d JOIN (SELECT count(*) AS n FROM airports) ON true
SELECT d.carrier FROM departures d WHERE d.dep_delay > (SELECT count(*) FROM airports)
SELECT max(carrier) FROM departures TABLESAMPLE (10 PERCENT)
SELECT count(*) FROM VALUES (1), (2)
SELECT carrier, count(*) FROM departures WATERMARK time_hour DELAY OF INTERVAL 1 HOUR GROUP BY carrier, window(time_hour, '1 hour')
SELECT count(*) FROM (SELECT * FROM departures) WATERMARK time_hour DELAY OF INTERVAL 1 HOUR GROUP BY window(time_hour, '1 hour')
SELECT count(*) FROM STREAM(departures) GROUP BY carrier
SELECT try_sum(dep_delay), sum(ALL dep_delay), avg(DISTINCT dep_delay) FROM departures
SELECT count(*) c, grouping__id FROM departures GROUP BY carrier, dest GROUPING SETS ((carrier, dest), carrier)
SELECT measure(carrier) FROM departures
SELECT carrier, count(*) FROM departures GROUP BY carrier DISTRIBUTE BY carrier
SELECT map_from_entries(collect_list(struct(carrier, dest))) FROM departures
SELECT sort_array(collect_set(carrier)), size(collect_list(1)) FROM departures GROUP BY origin
SELECT cast(count(*) AS STRING) || ' flights' FROM departures
FROM departures SELECT carrier, count(*) GROUP BY carrier
""".strip().splitlines()
    if line
]  # fmt: skip

PIPES: Final = [
    line
    for line in r"""
FROM departures |> WHERE dep_delay > 1
FROM departures |> SELECT carrier, dest |> WHERE dest = 'x'
FROM departures |> EXTEND dep_delay + 1 AS n |> SET n = n * 2 |> DROP raw
FROM departures |> AS d |> WHERE d.dep_delay > 1
FROM departures |> AGGREGATE count(*) AS n GROUP BY carrier
FROM departures |> AGGREGATE count(*) AS n
FROM departures |> AGGREGATE max(dep_delay) GROUP BY carrier, dest |> WHERE carrier > 'A'
FROM departures |> JOIN airports ON dest = faa |> SELECT carrier, name
FROM departures |> LEFT JOIN airports AS a ON dest = a.faa
FROM departures |> ORDER BY carrier
FROM departures |> LIMIT 3
FROM departures |> UNION ALL (SELECT * FROM departures)
FROM departures |> SELECT carrier |> UNION ALL SELECT faa FROM airports
FROM departures |> TABLESAMPLE (10 PERCENT)
FROM departures |> SELECT carrier, dep_delay |> PIVOT (sum(dep_delay) FOR carrier IN ('AA'))
FROM departures |> LATERAL VIEW explode(tags) AS t |> SELECT t
SELECT * FROM departures |> WHERE dep_delay > 1
SELECT carrier FROM departures WHERE dep_delay > 1 |> SELECT upper(carrier) AS u
(SELECT * FROM departures) |> WHERE dep_delay > 1
WITH x AS (FROM departures |> SELECT carrier) FROM x |> WHERE carrier = 'a'
FROM departures |> WHERE dest IN (SELECT faa FROM airports)
VALUES (1), (2) AS t(n) |> JOIN departures ON n = dep_delay
FROM departures |> AGGREGATE count(*) AS n GROUP BY window(time_hour, '1 hour') AS w |> SELECT w.start, n
""".strip().splitlines()
    if line
]  # fmt: skip

LONG: Final = _texts(r"""
SELECT
    d.carrier, -- who
    a.name     /* where */
FROM departures AS d
    LEFT JOIN airports AS a
        ON d.dest = a.faa
WHERE d.dep_delay > 15
====
WITH
late AS (
    SELECT *, window(time_hour, '1 hour') AS hour
    FROM departures
    WHERE dep_delay > 15
),
named AS (
    SELECT l.*, a.name
    FROM late l LEFT JOIN airports a ON l.dest = a.faa
)
SELECT hour.start AS hour, name, count(*) AS n, avg(dep_delay) AS mean
FROM named
GROUP BY hour, name
====
SELECT carrier,
       'a text over
two lines; with -- no comment and /* none */' AS t
FROM departures
====
/* a header
   of two lines */

SELECT * -- all
FROM departures
-- the end
====
SELECT `it's`, `--`, `/*`, `;` FROM (SELECT 1 AS `it's`, 2 AS `--`, 3 AS `/*`, 4 AS `;` FROM departures)
====
SELECT acos(sin(radians(a.lat)) * sin(radians(b.lat)) + cos(radians(a.lat)) * cos(radians(b.lat)) * cos(radians(b.lon - a.lon))) * 6371 AS km
FROM departures d JOIN airports a ON a.faa = d.origin JOIN airports b ON b.faa = d.dest
====
SELECT carrier, 1 AS a
FROM departures
WHERE CASE
        WHEN dep_delay IS NULL THEN false
        WHEN carrier IN (SELECT name FROM airports) THEN true
        ELSE dest IN ('A', 'B')
      END
====
SELECT decode(raw, 'UTF-8') AS text, cast(raw AS STRING), base64(raw), hex(raw), unbase64('YQ=='), encode('a', 'UTF-8')
FROM departures
====
SELECT transform(legs, l -> named_struct('faa', l.faa, 'km', l.miles * 1.609)) AS legs,
       aggregate(legs, CAST(0 AS INT), (sum, l) -> sum + l.miles, sum -> sum / 10) AS tens,
       map_zip_with(props, props, (k, a, b) -> a || b) AS twice
FROM departures
""")

REFUSED: Final = [
    line
    for line in r"""
SELECT
SELECT FROM departures
SELECT * departures
SELECT * FROM
SELECT * FROM departures GROUP carrier
SELECT carrier, FROM departures
SELECT carrier FROM departures WHERE dep_delay >
SELECT (carrier FROM departures
SELECT carrier) FROM departures
SELECT 'open FROM departures
SELECT "open FROM departures
SELECT `open FROM departures
SELECT carrier FROM departures /* open
SELECT nothing FROM departures
SELECT d.nothing FROM departures d
SELECT x.carrier FROM departures d
SELECT departures.carrier FROM departures AS d
SELECT nofunction(carrier) FROM departures
SELECT upper(carrier, 1, 2) FROM departures
SELECT carrier + tags FROM departures
SELECT carrier, count(*) FROM departures
SELECT carrier FROM departures GROUP BY dest
SELECT count(count(*)) FROM departures
SELECT carrier FROM departures WHERE count(*) > 1
SELECT carrier FROM departures HAVING dest > 'a'
SELECT sum(tags) FROM departures
SELECT * FROM departures JOIN airports USING (nothing)
SELECT faa FROM airports a JOIN airports b ON a.faa = b.faa
SELECT * FROM departures UNION ALL SELECT * FROM airports
SELECT * FROM nowhere
SELECT * FROM departures, nowhere
SELECT * FROM departures WHERE dest IN (SELECT x FROM nowhere)
WITH x AS (SELECT * FROM nowhere) SELECT * FROM departures
WITH x AS (SELECT * FROM y), y AS (SELECT * FROM departures) SELECT * FROM x
WITH x AS (SELECT 1), x AS (SELECT 2) SELECT * FROM x
WITH x AS (SELECT * FROM departures)
SELECT * FROM other.departures
SELECT * FROM a.b.c.d.departures
SELECT * FROM departures@v1
SELECT * FROM departures VERSION AS OF 1
SELECT * FROM departures TIMESTAMP AS OF '2013-01-01'
SELECT :name FROM departures
SELECT ? FROM departures
SELECT ${name} FROM departures
SELECT @name FROM departures
SELECT TOP 5 * FROM departures
SELECT * FROM departures FETCH FIRST 5 ROWS ONLY
SELECT * FROM departures LIMIT 'x'
SELECT carrier INTO t FROM departures
SELECT carrier FROM departures QUALIFY row_number() OVER (ORDER BY carrier) = 1
SELECT [carrier] FROM departures
SELECT carrier FROM departures FOR UPDATE
SELECT * FROM departures d FULL JOIN airports
SELECT row_number() FROM departures
SELECT explode(carrier) FROM departures
SELECT DATE 'never' FROM departures
SELECT INTERVAL 'x' DAY FROM departures
SELECT 1Z FROM departures
SELECT CAST(carrier AS NOTYPE) FROM departures
SELECT transform(tags, x) FROM departures
FROM departures |> NOTHING
FROM departures |> SELECT carrier |> WHERE dest = 'x'
|> SELECT 1
VALUES
TABLE
hello
42
""".strip().splitlines()
    if line
]  # fmt: skip

STATEMENTS: Final = [
    line
    for line in r"""
SET a = b
SET
SET spark.sql.ansi.enabled
SET TIME ZONE 'UTC'
set role admin
RESET
RESET spark.sql.ansi.enabled
ADD JAR '/tmp/x.jar'
ADD FILE '/tmp/x.txt'
LIST JARS
USE other
CREATE TABLE t (a INT)
CREATE TABLE t AS SELECT * FROM departures
CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM departures
CREATE TEMPORARY FUNCTION f AS 'x.Y'
CREATE DATABASE d
CREATE STREAMING TABLE t
DROP TABLE t
DROP VIEW departures
ALTER TABLE t ADD COLUMNS (b INT)
TRUNCATE TABLE t
INSERT INTO t SELECT * FROM departures
INSERT OVERWRITE TABLE t SELECT * FROM departures
INSERT INTO t VALUES (1)
INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT * FROM departures
WITH x AS (SELECT * FROM departures) INSERT INTO t SELECT * FROM x
WITH x AS (SELECT 1), y(a) AS (SELECT ')') INSERT OVERWRITE t SELECT * FROM x
WITH x AS (SELECT 1) DELETE FROM t
WITH x AS (SELECT 1) UPDATE t SET a = 1
WITH x AS (SELECT 1) MERGE INTO t USING x ON true WHEN MATCHED THEN DELETE
FROM departures INSERT INTO t SELECT carrier
FROM departures INSERT INTO t SELECT carrier INSERT INTO u SELECT dest
FROM (SELECT * FROM departures) x INSERT OVERWRITE TABLE t SELECT carrier
UPDATE t SET a = 1
DELETE FROM t WHERE a = 1
MERGE INTO t USING departures ON t.a = departures.carrier WHEN MATCHED THEN DELETE
CACHE TABLE departures
UNCACHE TABLE departures
CLEAR CACHE
REFRESH TABLE departures
REFRESH FUNCTION f
LOAD DATA INPATH '/tmp/x' INTO TABLE t
MSCK REPAIR TABLE t
REPAIR TABLE t
ANALYZE TABLE t COMPUTE STATISTICS
EXPLAIN SELECT * FROM departures
EXPLAIN EXTENDED SELECT 1
DESCRIBE departures
DESC departures
DESCRIBE QUERY SELECT 1
SHOW TABLES
SHOW FUNCTIONS
DECLARE x INT
EXECUTE IMMEDIATE 'SELECT 1'
CALL p()
COMMENT ON TABLE t IS 'x'
/* first */ DROP TABLE t
-- first
""".strip().splitlines()
    if line and line != "-- first"
] + ["-- first\nDROP TABLE t", "BEGIN SELECT 1; END", "SELECT 1; SELECT 2", "SELECT * FROM departures; DROP TABLE t"]  # fmt: skip

FORBIDDEN: Final = [
    line
    for line in r"""
SELECT TRANSFORM (carrier, dest) USING 'cat' AS (a, b) FROM departures
MAP carrier USING 'cat' AS c FROM departures
REDUCE carrier USING 'cat' AS c FROM departures
SELECT reflect('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT java_method('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT try_reflect('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT REFLECT ('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT `reflect`('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT `Java_Method` ('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT reflect/**/('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT builtin.reflect('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT system.builtin.`reflect`('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT 1 AS `--`, reflect('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT 1 AS `/*`, reflect('java.lang.Math', 'abs', dep_delay) AS `*/` FROM departures
SELECT r'\', reflect('java.lang.Math', 'abs', dep_delay) AS `'` FROM departures
SELECT 1 AS `'`, reflect('java.lang.Math', 'abs', dep_delay) AS `''` FROM departures
SELECT /* /*+ */ reflect('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT * FROM departures WHERE reflect('java.lang.Math', 'abs', dep_delay) = '1'
SELECT IDENTIFIER('reflect')('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT identifier ('ref' || 'lect')('java.lang.Math', 'abs', dep_delay) FROM departures
SELECT * FROM IDENTIFIER('departures')
FROM departures |> SELECT reflect('java.lang.Math', 'abs', dep_delay)
""".strip().splitlines()
    if line
] + [
    "SELECT 1 --\r, reflect('java.lang.Math', 'abs', dep_delay)\nFROM departures",
    "SELECT /* /*+ */ reflect('java.lang.Math', 'abs', dep_delay), '*/ 1 -- '\nFROM departures",
]  # fmt: skip
"""Spark takes these, and we do not."""

QUERIES: Final = PLAIN + JOINS + AGGREGATES + PIPES + LONG
"""Meant to be good SQL; a few are not, or not over a stream, which is for Spark to say."""

SHAPES: Final = [
    line
    for line in r"""
SELECT carrier FROM departures
WITH x AS (SELECT carrier, dest FROM departures) SELECT carrier FROM x
WITH x AS (SELECT carrier FROM departures) SELECT * FROM x UNION ALL SELECT * FROM x
WITH x AS (SELECT carrier, time_hour FROM departures) SELECT a.carrier FROM x a JOIN x b ON a.carrier = b.carrier
WITH x AS (SELECT * FROM departures), y AS (SELECT * FROM x WHERE dep_delay > 1) SELECT carrier FROM y UNION ALL SELECT dest FROM x
WITH x AS (SELECT * FROM departures) SELECT * FROM (WITH y AS (SELECT carrier FROM x) SELECT * FROM y)
SELECT d.carrier FROM departures d JOIN (WITH x AS (SELECT * FROM departures) SELECT * FROM x) e ON d.carrier = e.carrier
WITH x AS (SELECT * FROM departures), y AS (SELECT * FROM airports) SELECT x.carrier FROM x JOIN y ON x.dest = y.faa WHERE x.dest IN (SELECT faa FROM y)
WITH x AS (SELECT * FROM airports) SELECT carrier FROM departures WHERE dest IN (SELECT faa FROM x)
WITH unused AS (SELECT * FROM departures) SELECT carrier FROM departures
WITH x AS (SELECT * FROM departures) SELECT carrier, count(*) AS n FROM x GROUP BY carrier
SELECT carrier FROM departures d WHERE NOT EXISTS (SELECT 1 FROM airports a WHERE a.faa = d.dest)
SELECT carrier, (SELECT max(seats) FROM airports) AS m FROM departures
SELECT d.carrier, x.u FROM departures d, LATERAL (SELECT upper(d.carrier) AS u) x
SELECT d.carrier, e.t FROM departures d, LATERAL explode(d.tags) AS e(t)
SELECT carrier, t FROM departures LATERAL VIEW explode(tags) x AS t
SELECT carrier FROM departures UNION ALL SELECT dest FROM departures
SELECT carrier, n FROM departures JOIN VALUES ('AA', 1), ('b', 2) AS v(k, n) ON carrier = k
SELECT carrier FROM departures JOIN range(3) AS r ON dep_delay = r.id
SELECT d.carrier FROM departures d JOIN (SELECT * FROM (SELECT faa, tz FROM airports) PIVOT (count(tz) FOR tz IN ('UTC'))) p ON p.faa = d.dest
SELECT * FROM departures UNPIVOT (place FOR k IN (origin, dest))
SELECT /*+ REPARTITION(3) */ carrier FROM departures
FROM departures |> WHERE dep_delay > 1 |> AGGREGATE count(*) AS n GROUP BY carrier
""".strip().splitlines()
    if line
]  # fmt: skip
"""One text for each shape of Spark's analysed plan that streams can have."""
