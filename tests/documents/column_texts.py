r"""SQL texts about names of columns and functions, over the relations of `sql_texts`, for our reader and Spark's.

`departures` and `airports` have no columns beyond those declared there.
"""

import re
from typing import Final

from mainstem.language.sql.builtins import BUILTINS
from mainstem.language.sql.columns import Resolver
from mainstem.language.sql.facts import read, unknown_calls
from mainstem.language.sql.scope import UNKNOWN, ColumnSet, Lookup


TAKEN: Final = [
    line
    for line in r"""
SELECT parse_json(carrier):price::decimal(5, 2) AS price, parse_json(dest):['a b'][0].c FROM departures
SELECT window(time_hour, '1 hour') AS w, carrier, count(*) AS n FROM departures GROUP BY window(time_hour, '1 hour'), carrier
SELECT window, count(*) AS n FROM (SELECT window(time_hour, '1 hour') AS window FROM departures) GROUP BY window
SELECT offset, values, table, stream FROM (SELECT 1 AS offset, 2 AS values, 3 AS table, 4 AS stream FROM departures)
SELECT offset, count(DISTINCT values) FROM (SELECT 1 AS offset, 2 AS values FROM departures) GROUP BY offset ORDER BY offset
SELECT first_value(carrier, true), corr(DISTINCT dep_delay, distance), shuffle(array(1, 2), 3) FROM departures
SELECT CARRIER, Departures.Dest, D.origin FROM departures d JOIN (SELECT 1 AS x) Departures2 ON TRUE JOIN (SELECT 'a' AS dest) departures ON TRUE
SELECT carrier AS a, a || 'x' AS b, upper(b) AS c FROM departures
SELECT carrier AS a, a FROM departures
SELECT dep_delay + 1 AS carrier, carrier FROM departures
SELECT upper(carrier) AS u, count(*) AS n FROM departures GROUP BY u HAVING n > 1
SELECT carrier, count(*) AS n FROM departures GROUP BY carrier HAVING max(dep_delay) > 3 AND carrier > 'a'
SELECT faa AS code FROM airports ORDER BY code
SELECT faa AS code FROM airports ORDER BY faa, seats
SELECT faa AS code FROM airports SORT BY code
SELECT faa AS code FROM airports DISTRIBUTE BY faa
SELECT legs.faa, legs[0].miles, tags[0], props.anything, props['x'] FROM departures
SELECT departures.legs.faa, d.x.y FROM departures, (SELECT named_struct('y', 1) AS x) d
SELECT s.a.b FROM (SELECT named_struct('a', named_struct('b', 1)) AS s FROM departures)
SELECT s.* FROM (SELECT named_struct('a', 1, 'b', 2) AS s FROM departures)
SELECT a, b FROM (SELECT s.* FROM (SELECT named_struct('a', 1, 'b', 2) AS s FROM departures))
SELECT d.* EXCEPT (raw) FROM departures d
SELECT * EXCEPT (carrier), upper(carrier) AS carrier FROM departures
SELECT transform(tags, x -> concat(x, carrier)) AS t FROM departures
SELECT transform(tags, x -> transform(tags, y -> concat(x, y, carrier))) FROM departures
SELECT filter(legs, l -> l.miles > dep_delay), exists(tags, carrier -> carrier = 'x') FROM departures
SELECT transform(tags, (x, i) -> named_struct('x', x, 'i', i)).x FROM departures
SELECT aggregate(tags, 0, (acc, x) -> acc + length(x), acc -> acc * 2) FROM departures
SELECT map_filter(props, (k, v) -> k = carrier OR v = dest) FROM departures
SELECT (SELECT max(a.seats) FROM airports a WHERE a.faa = departures.dest) FROM departures
SELECT carrier FROM departures d WHERE EXISTS (SELECT 1 FROM airports WHERE faa = dest AND d.dep_delay > seats)
SELECT carrier FROM departures d WHERE EXISTS (SELECT 1 FROM airports a WHERE a.faa = d.dest AND carrier IS NOT NULL)
SELECT carrier, faa FROM departures JOIN airports ON dest = faa
SELECT dest, name FROM departures JOIN (SELECT faa AS dest, name FROM airports) USING (dest)
SELECT d.dest, a.dest, dest FROM departures d JOIN (SELECT faa AS dest, name FROM airports) a USING (DEST)
SELECT dest, name FROM departures NATURAL JOIN (SELECT faa AS dest, name FROM airports)
SELECT dest FROM departures LEFT SEMI JOIN (SELECT faa AS dest FROM airports) a USING (dest)
SELECT dest FROM departures LEFT SEMI JOIN (SELECT faa AS dest FROM airports) a ON departures.dest = a.dest
SELECT dest FROM departures LEFT ANTI JOIN (SELECT faa AS dest FROM airports) a ON departures.dest = a.dest
SELECT x.faa, y.faa FROM departures d JOIN (airports x JOIN airports y ON x.tz = y.tz) ON d.dest = x.faa
SELECT x.a, x.b FROM (SELECT carrier, dest FROM departures) AS x(a, b)
SELECT a, b FROM (SELECT carrier, dest FROM departures) AS x(a, b)
WITH c(a) AS (SELECT carrier FROM departures) SELECT a, c.a FROM c
WITH c AS (SELECT carrier AS a FROM departures), d AS (SELECT a AS b FROM c) SELECT b FROM d
WITH departures AS (SELECT faa AS x FROM airports) SELECT x FROM departures
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n
SELECT t FROM departures LATERAL VIEW explode(tags) x AS t WHERE x.t = carrier
SELECT k, v FROM departures LATERAL VIEW explode(props) p AS k, v
SELECT col FROM departures LATERAL VIEW explode(tags) x
SELECT key, value FROM departures LATERAL VIEW explode(props) x
SELECT l.faa, faa2 FROM departures LATERAL VIEW explode(legs) x AS l LATERAL VIEW explode(array(l.faa)) y AS faa2
SELECT faa, miles FROM (SELECT inline(legs) FROM departures)
SELECT col FROM (SELECT explode(tags) FROM departures)
SELECT key, value, pos FROM (SELECT posexplode(props) FROM departures)
SELECT col0, col1 FROM (SELECT stack(2, 'a', 1, 'b', 2) FROM departures)
SELECT c0 FROM (SELECT json_tuple(carrier, 'a') FROM departures)
SELECT e.t, t FROM departures, LATERAL explode(tags) AS e(t)
SELECT u, x.u, carrier FROM departures d, LATERAL (SELECT upper(d.carrier) AS u) x
SELECT u FROM departures, LATERAL (SELECT upper(carrier) AS u)
SELECT id FROM range(3)
SELECT r.id, id FROM departures JOIN range(3) AS r ON dep_delay = id
SELECT col1, col2 FROM VALUES (1, 'a'), (2, 'b')
SELECT n, v.n FROM VALUES (1), (2) AS v(n)
SELECT x.col1 FROM (VALUES (1)) x
SELECT sum(dep_delay) OVER w FROM departures WINDOW w AS (PARTITION BY carrier ORDER BY time_hour)
SELECT AA, BB FROM (SELECT carrier, dep_delay FROM departures) PIVOT (max(dep_delay) FOR carrier IN ('AA', 'BB'))
SELECT k, v FROM (SELECT carrier, dest, origin FROM departures) UNPIVOT (v FOR k IN (origin, dest))
SELECT window.start, window.end, count(*) FROM departures GROUP BY window(time_hour, '1 hour')
SELECT session_window.start, count(*) FROM departures GROUP BY session_window(time_hour, '1 hour'), carrier
SELECT window.start FROM (SELECT window(time_hour, '1 hour'), count(*) FROM departures GROUP BY 1)
SELECT `count(1)`, `upper(carrier)` FROM (SELECT count(*), upper(carrier) FROM departures GROUP BY upper(carrier))
SELECT `1`, `NULL`, `true` FROM (SELECT 1, NULL, true FROM departures)
SELECT x FROM (SELECT 'x' FROM departures)
SELECT faa FROM (SELECT s.faa FROM (SELECT legs[0] AS s FROM departures))
SELECT carrier FROM (SELECT departures.carrier FROM departures)
SELECT a FROM (SELECT carrier AS a FROM departures UNION ALL SELECT faa FROM airports)
SELECT carrier FROM (TABLE departures)
SELECT carrier, name FROM (departures JOIN airports ON dest = faa)
SELECT current_date, current_timestamp, current_user, user, session_user, localtimestamp() FROM departures
SELECT grouping__id, count(*) FROM departures GROUP BY carrier, dest GROUPING SETS ((carrier, dest), carrier)
SELECT dateadd(DAY, 1, time_hour), date_diff(HOUR, time_hour, time_hour), timestampdiff(MINUTE, time_hour, time_hour), date_add(MONTH, 1, time_hour) FROM departures
SELECT extract(DAY FROM time_hour), date_trunc('HOUR', time_hour), trunc(time_hour, 'MM'), timestampadd(QUARTER, 1, time_hour) FROM departures
SELECT named_struct('a', carrier).a, struct(carrier AS b).b, map('k', carrier).k FROM departures
SELECT mask(carrier, lowerChar => 'q') FROM departures
SELECT /*+ BROADCAST(airports), REPARTITION(4, carrier) */ carrier FROM departures JOIN airports ON dest = faa
SELECT max(carrier) FILTER (WHERE dep_delay > 1), max_by(carrier, dep_delay) FROM departures
SELECT faa, row_number() OVER (PARTITION BY tz ORDER BY seats DESC) AS r FROM airports
SELECT faa FROM (SELECT faa, row_number() OVER (PARTITION BY tz ORDER BY seats) AS r FROM airports) WHERE r = 1
SELECT carrier FROM departures WHERE (carrier, dest) IN (SELECT name, faa FROM airports)
SELECT CASE WHEN dep_delay > 1 THEN carrier ELSE dest END AS x FROM departures
SELECT parse_json(carrier):a.b::STRING AS x FROM departures
SELECT carrier COLLATE UTF8_LCASE AS x FROM departures
SELECT listagg(faa, ',') WITHIN GROUP (ORDER BY seats) FROM airports
SELECT lower(carrier), `lower`(dest), builtin.lower(carrier), system.builtin.lower(carrier) FROM departures
SELECT TRY_CAST(carrier AS INT), CAST(dep_delay AS STRING), dep_delay::STRING, try_to_number(carrier, '9') FROM departures
SELECT faa AS x, 1 AS y FROM airports GROUP BY ALL
SELECT faa, name FROM airports ORDER BY ALL
SELECT any(dep_delay > 1), some(true), every(true) FROM departures
SELECT a.faa FROM airports a JOIN airports b ON a.faa = b.faa
SELECT * FROM airports a JOIN airports b ON a.faa = b.faa
SELECT faa FROM (SELECT faa, faa FROM airports)
SELECT k FROM (SELECT faa AS k FROM airports) a LEFT JOIN (SELECT tz AS z FROM airports) b ON k = z
SELECT airports.faa FROM airports
SELECT faa FROM airports AS airports
SELECT d.carrier FROM departures AS d LEFT JOIN airports AS a ON a.faa = d.dest LEFT JOIN airports AS o ON o.faa = d.origin
FROM departures |> EXTEND dep_delay * 2 AS twice |> WHERE twice > 1 |> SELECT twice, carrier
FROM departures |> SET dep_delay = dep_delay + 1 |> DROP raw |> SELECT dep_delay
FROM departures |> AS d |> SELECT d.carrier
FROM departures |> AGGREGATE count(*) AS n GROUP BY carrier |> WHERE n > 1 AND carrier > 'a'
FROM departures |> JOIN airports ON dest = faa |> SELECT carrier, name
FROM departures |> SELECT carrier AS c |> EXTEND upper(c) AS u |> SELECT u, c
""".strip().splitlines()
    if line
]  # fmt: skip

WRONG: Final = [
    tuple(line.rsplit(" -- ", 1))
    for line in r"""
SELECT carier FROM departures -- carier
SELECT carrier FROM departures WHERE dep_dely > 1 -- dep_dely
SELECT carrier AS a FROM departures WHERE a > 'x' -- a
SELECT d.carier FROM departures d -- d.carier
SELECT departures.carrier FROM departures AS d -- departures
SELECT x.carrier FROM departures d -- x
SELECT x.* FROM departures d -- x
SELECT carrier, count(*) FROM departures GROUP BY carier -- carier
SELECT carrier, count(*) AS n FROM departures GROUP BY carrier HAVING m > 1 -- m
SELECT faa FROM airports ORDER BY faaa -- faaa
SELECT upper(carier) AS u, concat(dest, destt) AS v FROM departures -- carier destt
SELECT carrier FROM departures d JOIN airports a ON d.dest = a.fa -- a.fa
SELECT carrier FROM departures JOIN airports USING (faa) -- faa
SELECT faa FROM airports a JOIN airports b ON a.tz = b.tz -- ?faa
SELECT a.faa FROM airports a JOIN airports b ON tz = b.tz -- ?tz
SELECT a.faa FROM airports a JOIN airports b ON a.tz = b.tz WHERE seats > 1 -- ?seats
SELECT a.name, n FROM (SELECT dest, count(*) AS n FROM departures GROUP BY dest) d JOIN airports a ON a.faa = d.origin -- d.origin
SELECT b FROM (SELECT carrier AS a FROM departures) -- b
SELECT carrier FROM (SELECT carrier AS a FROM departures) -- carrier
WITH c AS (SELECT carrier AS a FROM departures) SELECT b FROM c -- b
WITH c(x) AS (SELECT carrier AS a FROM departures) SELECT a FROM c -- a
WITH c AS (SELECT nme FROM airports) SELECT * FROM departures JOIN c ON true -- nme
SELECT carrier FROM departures WHERE dest IN (SELECT fa FROM airports) -- fa
SELECT carrier FROM departures d WHERE EXISTS (SELECT 1 FROM airports a WHERE a.faa = d.dst) -- d.dst
SELECT transform(tags, x -> concat(x, y)) FROM departures -- y
SELECT x FROM departures LATERAL VIEW explode(tags) t AS y -- x
SELECT t.z FROM departures LATERAL VIEW explode(tags) t AS y -- t.z
SELECT m FROM VALUES (1), (2) AS v(n) -- m
SELECT carrier FROM departures UNION ALL SELECT fa FROM airports -- fa
SELECT dest FROM departures LEFT SEMI JOIN airports ON dest = faa WHERE faa > 'a' -- faa
SELECT a + 1 -- a
SELECT CASE WHEN dep_dely > 1 THEN 'late' END FROM departures -- dep_dely
SELECT sum(dep_delay) OVER (PARTITION BY carier) FROM departures -- carier
SELECT nofunction(carrier) FROM departures -- nofunction()
SELECT upper(nofunction(carrier)) FROM departures WHERE other_one(dest) > 1 -- nofunction() other_one()
SELECT carrier FROM departures GROUP BY carrier HAVING counts(*) > 1 -- counts()
SELECT quantile(distance, 0.5) FROM departures -- quantile()
SELECT array_length(tags) FROM departures -- array_length()
SELECT group_concat(carrier) FROM departures -- group_concat()
SELECT to_hex(raw) FROM departures -- to_hex()
SELECT `nofunction`(carrier) FROM departures -- nofunction()
FROM departures |> WHERE dep_dely > 1 -- dep_dely
FROM departures |> SELECT carrier |> WHERE dest = 'x' -- dest
""".strip().splitlines()
    if line
]  # fmt: skip
"""A text, and the names that are wrong: `relation.column`, `?ambiguous`, `function()`."""

RELATIONS: Final = {
    "departures": "carrier origin dest time_hour dep_delay distance tags legs props raw",
    "airports": "faa name lat lon tz seats",
}


def declared(name: str) -> ColumnSet:
    """The columns of the two relations; nothing of any other."""
    return ColumnSet(tuple(RELATIONS[name].split()), open=False) if name in RELATIONS else UNKNOWN


def _word(sql: str, end: int) -> int:
    """Where the word begins behind whose dot something stands."""
    return end - len(re.search(r"(\w+\.)?$", sql[:end])[0])


def wrong_names(sql: str, lookup: Lookup = declared) -> list[str]:
    """The names in a text that are wrong as we read it, in its order, as `WRONG` writes them."""
    facts = read(sql)
    if facts.tree is None or facts.references is None:
        return []
    resolver = Resolver(lookup)
    resolver.columns(facts.tree)
    wrong = [
        (
            fault.start,
            f"?{fault.name}" if fault.owners else sql[_word(sql, fault.start) : fault.start] + fault.name,
        )
        for fault in resolver.faults
    ]
    wrong += [(start, f"{name}()") for name, start in unknown_calls(facts, BUILTINS)]
    for start, name in wrong:
        word = name.lstrip("?").rpartition(".")[2].rstrip("()")
        assert sql[start:].lower().lstrip("`").startswith(word.lower())
    return [name for _, name in sorted(wrong)]
