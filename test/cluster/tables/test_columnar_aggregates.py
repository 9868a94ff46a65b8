"""Aggregates over columnar tables have the results of those over heaps, whatever is computed in vectors."""

import random

import psycopg
import pytest

from harness.servers import rows
from pomelo_check.sample import SEED

QUERIES = 150
COLUMNS = ("key int, a int, b bigint, s smallint, d date, n numeric(12,2), m numeric, w numeric, f float8, r float4, t text, "
           "k text COLLATE \"C\", j timestamptz, e bool, z int[], y date, c char(6), v varchar(20), u text, i timestamp")
# n has one scale; m has many, NaN and infinities; w is too large for integers, in some chunk groups.
VALUES = """SELECT g, CASE WHEN g % 17 > 0 THEN (random() * 2000 - 1000)::int END,
    CASE WHEN g % 13 > 0 THEN (random() * 1e12)::bigint END, (g % 100 - 50)::smallint, date '2020-01-01' + g % 300,
    CASE WHEN g % 11 > 0 THEN (random() * 1e9 - 1e8)::numeric(12,2) END,
    CASE g % 31 WHEN 0 THEN NULL WHEN 1 THEN {special} WHEN 2 THEN (random() * 1e9)::numeric WHEN 3 THEN g::numeric(20,5) ELSE g END,
    CASE WHEN g / 1000 % 2 = 0 THEN g * power(10::numeric, {digits}) ELSE round(g / 7.0, 4) END,
    CASE g % 29 WHEN 0 THEN NULL WHEN 1 THEN -0.0 WHEN 2 THEN 0 ELSE random() * 100 - 50 END, random() * 10,
    't' || g % 40, CASE WHEN g % 5 > 0 THEN 'k' || g % 7 END, timestamptz '2024-01-01' + g * interval '1 s', g % 3 = 0,
    ARRAY[g % 4, NULL], CASE WHEN g % 23 = 0 THEN NULL WHEN g / 1000 % 2 = 0 AND g % 50 = 1 THEN 'infinity' WHEN g / 1000 % 2 = 0 AND g % 50 = 2 THEN '-infinity'
    ELSE date '2020-01-01' + g % 170 END, CASE WHEN g % 21 > 0 THEN 'c' || g % 9 || repeat(' ', g % 2) END, CASE WHEN g % 6 > 0 THEN 'v%' || g % 12 ELSE '' END,
    CASE WHEN g % 37 > 0 THEN md5(g::text) || CASE WHEN g % 3 = 0 THEN 'äöü€' ELSE '' END || left(md5((g + 1)::text), g % 5) END,
    CASE WHEN g % 41 = 0 THEN NULL WHEN g > 5000 AND g < 5500 THEN timestamp '0003-02-27 23:59:59.999999 BC' + g * interval '100 days 1 s' WHEN g % 900 = 7 AND g / 1000 % 2 = 0 THEN 'infinity'
    ELSE timestamp '1999-11-28 13:14:15.678901' + g * interval '1 h 3 min' END FROM generate_series(1, {count}) g"""
ARGUMENTS = {
    "int": ["a", "b", "s", "a + s", "a * 3", "b - a", "b + 1", "a * s", "(a)::bigint * b", "s * s", "CASE WHEN e THEN a ELSE 1 END",
            "a * 3000000", "b * 9999999", "extract(year FROM d)::int", "CASE WHEN k = 'k3' THEN a WHEN b > 500000000000 THEN s END",
            "CASE WHEN s = 0 THEN 0 WHEN a / s > 3 THEN a * 3000000 ELSE -1 END", "a / 7", "b / 1000", "a / NULLIF(s, 0)", "b / -3", "a / s",
            "b / (s + 60)", "extract(dow FROM d)::int", "date_trunc('month', i)::date - d", "i::date - d", "length(u)", "char_length(v) * 2", "length(t || k)", "length(u) - length(k)", "d - date '2020-03-01'", "y - d", "y - date '2019-12-31'"],
    "numeric": ["n", "m", "w", "n * (1 - n / 100)", "n * (1 - s)", "n * (1 - 0.05) * (2 + n)", "n + m", "w * w", "n - 1.5", "a::numeric * n",
                "n * 123456789.123", "w + 0.00001", "CASE WHEN t LIKE 't1%' THEN n * (1 - n / 100) ELSE 0 END",
                "CASE WHEN a > 100 THEN n WHEN e THEN m END", "CASE WHEN s = 0 THEN w WHEN a / s > 3 THEN n ELSE 1.50 END",
                "CASE WHEN n > 5e8 THEN 1 - n END", "extract(year FROM d)", "extract(doy FROM y)", "extract(month FROM i) * 2 + s",
                "extract(minute FROM i)", "extract(week FROM i)", "extract(isodow FROM d) * 100 + extract(quarter FROM d)",
                "extract(epoch FROM i)", "extract(second FROM i)", "extract(year FROM i)", "extract(day FROM j)"],
    "float": ["f", "f * 2", "f + f", "f * f - 1", "f * 1e300", "1e-300 * f", "r::float8 + f", "f / 3", "f / 1e-300", "3 / f", "r::float8 / (r + 1)", "CASE WHEN e THEN f ELSE 0 END", "date_part('hour', i)", "date_part('year', d)"],
    "ordered": ["d", "j", "t", "k", "e::int", "r", "d + s", "d - a", "y + 5", "y - 1", "d + a * 3000000", "n", "m", "f", "a", "c", "v", "u", "v || k", "date_trunc('month', i)", "date_trunc('week', i)", "date_trunc('minute', i)", "date_trunc('year', d)",
                "date_trunc('quarter', i)", "i::date", "d::timestamp", "CASE WHEN e THEN u END"],
}
CALLS = {"int": ["sum", "avg", "min", "max", "count", "stddev", "bit_or"], "numeric": ["sum", "avg", "min", "max", "count", "variance"],
         "float": ["sum", "avg", "min", "max", "count", "var_pop"], "ordered": ["min", "max", "count"]}
OTHERS = ["count(*)", "bool_and(e)", "array_agg(a)", "string_agg(k, ',')", "count(z)", "max(z)", "covar_pop(f, r)"]
# The server sorts rows for these, so sums of floats beside them aren't those of vectors.
EXACT_OTHERS = ["count(*)", "bool_and(e)", "count(DISTINCT k)", "sum(DISTINCT a)"]
FILTERS = ["a > 0", "e", "k = 'k3'", "n < 1000 AND a <> 5", "m = 'NaN'", "f IS NULL", "n BETWEEN 10 AND 1e8", "n > 17.005", "w <= 300.25",
           "d < y", "y >= d", "d <> y", "s < a", "b > a", "d >= timestamp '2020-05-01'", "d < timestamp '2020-05-01 12:00'", "y = timestamp '2020-03-01'",
           "timestamp '2020-05-01 12:00' <= d", "y < timestamp 'infinity'", "y <> timestamp '2020-03-01 01:00'", "y > timestamp '1999-12-30 23:00'",
           "d <= date '2020-01-01' + interval '3 months'", "y >= timestamp '-infinity'",
           "t IN ('t1', 't22', 'x')", "t NOT IN ('t1', 't22', 'x')", "k LIKE 'k%'", "k NOT LIKE '%2'", "t LIKE '%1%'", "k <> 'k1'", "t = 't5'",
           "k IN ('k1', NULL)", "k NOT IN ('k1', NULL)", "a IN (1, 2, 3, 500, -7)", "a NOT IN (1, 2, 3)", "s IN (" + ", ".join(map(str, range(-30, 30, 3))) + ")",
           "s NOT IN (" + ", ".join(map(str, range(-30, 30, 3))) + ")", "d IN ('2020-02-02', '2020-05-05')", "b IN (1, NULL)", "c = 'c3'", "c <> 'c3 '", "c IN ('c1', 'c2  ', 'x')",
           "c LIKE 'c3'", "c LIKE 'c%3 %'", "v LIKE 'v\\%1%'", "v LIKE 'v_1%'", "v = ''", "v <> 'v%3'", "v LIKE '%'", "v LIKE ''", "u LIKE '%ab%cd%'", "u LIKE 'a%f%'", "u LIKE '%ä%'",
           "u NOT LIKE '%a%b%c%d%'", "u LIKE '%€_'", "u LIKE '_%'", "u LIKE '%a__ä%'", "u LIKE '____'", "u LIKE '%_ü€%_'", "u LIKE '%_'", "u LIKE '%\\_%'", "v LIKE 'v\\%_'", "v LIKE '_\\%1%'", "c LIKE '_3%'", "u LIKE '%1_2%_'", "length(u) > 34", "u LIKE '%€%'", "u LIKE 'äö'", "u > 'f'", "u = md5('77')", "u IN (md5('76'), md5('77'), md5('3') || 'äöü€')", "t ILIKE 'T3%'",
           "(n > 5e8 AND s > 0) OR (n < 1000 AND a IS NULL) OR k = 'k3'", "(a > 0 OR b IS NULL) AND (d < y OR e OR m = 1.00)", "(s BETWEEN -9 AND 3 AND (k IN ('k1', 'k2') OR n = 17.005)) OR f > 1",
           "a < NULL OR s = 5", "a = 1 OR k ILIKE 'K2'", "u LIKE '%aa'", "u LIKE 'aa%'", "NOT (u LIKE '%0%' OR k = 'k2')", "k = ANY (ARRAY['k1', 'k2'])", "k = ALL (ARRAY['k1'])", "k <> ALL (ARRAY[]::text[])", "extract(year FROM i) = 2000", "date_trunc('month', i) = '2000-01-01'"]
KEYS = ["k", "t", "k, t", "s", "d", "s % 5", "e, k", "k, s", "m", "n % 10", "f", "z", "d, e, s % 2", "date_trunc('month', d)", "key % 3, t",
        "w", "extract(year FROM i)", "extract(month FROM d), k", "date_trunc('month', i)", "v", "c", "extract(minute FROM i), v", "u", "date_part('dow', i)", "i::date, e",
        "extract(year FROM y), extract(dow FROM i)", "n * 2, s", "s::bit(5)", "(s % 3)::money, k", "ARRAY[(s % 3)::money]", "ROW(k, s % 2)"]
HAVING = ["count(*) > 10", "sum(a) > 0", "max(k) IS NOT NULL"]


def aggregate(chosen, exact):
    if chosen.random() < 0.15:
        text = chosen.choice(EXACT_OTHERS if exact else OTHERS)
    else:
        kind = chosen.choice(["int", "numeric", "ordered"] if exact else list(CALLS))
        text = f"{chosen.choice(CALLS[kind])}({chosen.choice(ARGUMENTS[kind])})"
    return text + (f" FILTER (WHERE {chosen.choice(FILTERS)})" if chosen.random() < 0.25 else "")


def query(chosen, exact):
    """A query of {}. exact: its results don't depend on the order of rows."""
    keys = chosen.choice(KEYS) if chosen.random() < 0.7 else ""
    columns = ([keys] if keys else []) + [aggregate(chosen, exact) for _ in range(chosen.randint(1, 6))]
    text = f"SELECT {', '.join(columns)} FROM {{}}"
    if chosen.random() < 0.5:
        text += f" WHERE {chosen.choice(FILTERS)}"
    if keys:
        text += f" GROUP BY {keys}"
        if chosen.random() < 0.3:
            text += f" HAVING {chosen.choice(HAVING)}"
    return text


def answer(connection, text):
    """The rows as text, in an order of their own; or the class of the error, of which there may be several."""
    try:
        return sorted(row[0] for row in rows(connection, f"SELECT x::text FROM ({text}) x"))
    except psycopg.Error as error:
        return error.sqlstate[:2]


@pytest.fixture
def tables(schema, coordinator):
    """A heap and columnar tables, of which one is distributed, with the same rows."""
    for name, method in (("heap", "heap"), ("columnar", "columnar"), ("shards", "columnar")):
        coordinator.execute(f"CREATE TABLE {schema}.{name} ({COLUMNS}) USING {method}")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.shards', 'key')")
    coordinator.execute("SET columnar.chunk_group_row_limit = 1000")
    coordinator.execute(f"SELECT setseed({random.Random(SEED).random()})")
    for special, digits, count in (("'NaN'::numeric", "8", 5000), ("'Infinity'::numeric", "25", 7000), ("5", "-9", 40)):
        coordinator.execute(f"CREATE TABLE {schema}.new (LIKE {schema}.heap)")
        coordinator.execute(f"INSERT INTO {schema}.new " + VALUES.format(special=special, digits=digits, count=count))
        for name in ("heap", "columnar", "shards"):
            coordinator.execute(f"INSERT INTO {schema}.{name} SELECT * FROM {schema}.new ORDER BY key")
        coordinator.execute(f"DROP TABLE {schema}.new")
    for name in ("heap", "columnar", "shards"):
        coordinator.execute(f"DELETE FROM {schema}.{name} WHERE key % 19 = 3")
        coordinator.execute(f"ANALYZE {schema}.{name}")
    coordinator.execute(f"CREATE TABLE {schema}.small (LIKE {schema}.heap) USING columnar WITH (autovacuum_enabled = off)")
    coordinator.execute(f"INSERT INTO {schema}.small SELECT * FROM {schema}.heap")
    return {name: f"{schema}.{name}" for name in ("heap", "columnar", "shards", "small")}


def test_random_aggregates(tables, coordinator):
    """Also those whose results depend on the order of rows, which a columnar table doesn't share with a heap."""
    chosen = random.Random(SEED)
    coordinator.execute("SET max_parallel_workers_per_gather = 0")
    for _ in range(QUERIES):
        exact = chosen.random() < 0.5
        text = query(chosen, exact)
        found = answer(coordinator, text.format(tables["columnar"]))
        coordinator.execute("SET columnar.enable_vectorization = off")
        coordinator.execute("SET enable_sort = off")       # which gives the rows of a group any order
        assert found == answer(coordinator, text.format(tables["heap" if exact else "columnar"])), text
        coordinator.execute("RESET columnar.enable_vectorization; RESET enable_sort")


def test_random_aggregates_in_parallel(tables, coordinator):
    """By parallel workers, and by nodes, each of several shards: states are combined."""
    chosen = random.Random(SEED)
    for _ in range(QUERIES // 3):
        text = query(chosen, exact=True)
        expected = answer(coordinator, text.format(tables["heap"]))
        assert answer(coordinator, text.format(tables["shards"])) == expected, text
        coordinator.execute("SET debug_parallel_query = on" if coordinator.info.server_version >= 160000 else "SET force_parallel_mode = on")
        coordinator.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0")
        assert answer(coordinator, text.format(tables["columnar"])) == expected, text
        coordinator.execute("RESET ALL")


def test_conditions(tables, coordinator):
    """Each one by itself, in vectors and not, of all tables."""
    for condition in FILTERS:
        found = [rows(coordinator, f"SELECT count(*), sum(key), min(key), max(key) FROM {tables[name]} WHERE {condition}")
                 for name in ("heap", "columnar", "shards", "small")]
        assert found == found[:1] * 4, condition


@pytest.mark.parametrize("memory", ["64kB", "4MB"])
def test_distinct(tables, coordinator, memory):
    """Also if the different values don't fit in memory; groups come in the order that the query wants."""
    coordinator.execute(f"SET work_mem = '{memory}'; SET hash_mem_multiplier = 1; SET max_parallel_workers_per_gather = 0")
    for keys in ("", "k", "s, e", "t", "d", "extract(month FROM i)", "key % 1000"):
        for calls in ("count(DISTINCT a), sum(DISTINCT s), avg(DISTINCT b)", "count(DISTINCT u), count(*)", "count(DISTINCT d) FILTER (WHERE e), count(DISTINCT t), sum(a)",
                      "count(DISTINCT v::text), count(DISTINCT i)", "count(DISTINCT CASE WHEN e THEN a ELSE s END), max(u)", "count(DISTINCT key), count(DISTINCT a / 7)"):
            text = f"SELECT {keys + ', ' if keys else ''}{calls} FROM {{}} WHERE key % 5 > 0" + (f" GROUP BY {keys} ORDER BY {keys}" if keys else "")
            expected = rows(coordinator, text.format(tables["heap"]))
            for name in ("columnar", "small", "shards"):
                assert rows(coordinator, text.format(tables[name])) == expected, (text, name)
    again = f"SELECT x, (SELECT count(DISTINCT u) FROM {{}} WHERE s = x) FROM generate_series(-60, 60, 7) x"
    assert rows(coordinator, again.format(tables["columnar"])) == rows(coordinator, again.format(tables["heap"]))


def test_plans(tables, coordinator):
    """Aggregates that the node can compute are its own."""
    def plan(text):
        return "\n".join(row[0] for row in rows(coordinator, f"EXPLAIN {text}"))

    coordinator.execute("SET max_parallel_workers_per_gather = 0")
    assert "ColumnarAggregate" in plan(f"SELECT count(*), sum(a) FROM {tables['columnar']} WHERE e")
    assert "ColumnarAggregate" in plan(f"SELECT k, avg(n) FILTER (WHERE e) FROM {tables['columnar']} GROUP BY k HAVING count(*) > 1")
    assert "ColumnarAggregate" in plan(f"SELECT count(DISTINCT a) FROM {tables['columnar']}")
    assert "ColumnarAggregate" in plan(f"SELECT k, count(DISTINCT u) FROM {tables['columnar']} GROUP BY k ORDER BY k DESC")
    assert "ColumnarAggregate" not in plan(f"SELECT count(DISTINCT n) FROM {tables['columnar']}")
    assert "ColumnarAggregate" not in plan(f"SELECT count(*) FROM {tables['heap']}")
    coordinator.execute("SET columnar.enable_vectorization = off")
    assert "ColumnarAggregate" not in plan(f"SELECT count(*) FROM {tables['columnar']}")


def test_groups_beyond_memory(tables, coordinator):
    """Where the planner has expected few groups; also when the node runs again."""
    coordinator.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '192kB'; SET hash_mem_multiplier = 1; SET enable_sort = off")
    for key in ("key", "key::text || 'x'", "key * 1.5", "key + 1"):
        group = f"SELECT {key}, count(*), sum(key), max(t), sum(f) FILTER (WHERE e) FROM {{}} GROUP BY 1"
        assert "ColumnarAggregate" in str(rows(coordinator, "EXPLAIN " + group.format(tables["small"])))
        found = answer(coordinator, group.format(tables["small"]))
        again = group.format(tables["small"] + " WHERE key > x")
        again = rows(coordinator, f"SELECT (SELECT count(y::text) FROM ({again}) y) FROM (VALUES (0), (3000), (0)) v (x)")
        assert again[0] == again[2] == (len(found),) != again[1]
        coordinator.execute("SET columnar.enable_vectorization = off")
        assert found == answer(coordinator, group.format(tables["small"]))
        coordinator.execute("RESET columnar.enable_vectorization")


@pytest.mark.parametrize("memory", ["64kB", "4MB"])
def test_first_groups(tables, coordinator, memory):
    """Groups that a LIMIT can't need are left out, no others; whether they have memory or not, and however the planner expects to group."""
    coordinator.execute(f"SET work_mem = '{memory}'; SET hash_mem_multiplier = 1; SET max_parallel_workers_per_gather = 0")
    orders = {"key": ["count(*) DESC, key", "sum(a) DESC, key", "key DESC"], "k, s": ["count(*), s DESC, k", "max(d) DESC NULLS LAST, k, s", "sum(a) NULLS FIRST, k, s"],
              "u": ["count(DISTINCT s) DESC, u", "avg(n), u"], "m": ["count(*) DESC, m"], "y, extract(minute FROM i)": ["count(*) DESC, y, 2", "y DESC, 2", "y NULLS FIRST, 2 DESC"],
              "e, key % 999, t": ["2, 1, t", "count(*) DESC, 1, 2, t"], "n, c": ["count(f), n, c"], "m * 1.0, round(w, 9)": ["count(*) DESC, 1, 2"]}
    for keys, chosen in orders.items():
        for order in chosen:
            for having, limit in (("", "LIMIT 10"), ("HAVING count(*) % 2 = 0 OR min(a) < 0", "LIMIT 5 OFFSET 7"), ("", "LIMIT 0"), ("HAVING bool_or(e)", "LIMIT 100000")):
                text = f"SELECT x::text FROM (SELECT {keys}, count(*), min(n), max(u), sum(b) FROM {{}} WHERE key % 7 > 0 GROUP BY {keys} {having} ORDER BY {order} {limit}) x"
                expected = rows(coordinator, text.format(tables["heap"]))
                for name in ("columnar", "small", "shards"):
                    assert rows(coordinator, text.format(tables[name])) == expected, (text, name)


def test_toasted_values_are_those_of_stripes(schema, coordinator):
    """Rows beside the stripes may have compressed values, rows of stripes don't."""
    for name, method in (("h", "heap"), ("t", "columnar")):
        coordinator.execute(f"CREATE TABLE {schema}.{name} (a int, b text) USING {method}; ALTER TABLE {schema}.{name} ALTER COLUMN b SET STORAGE MAIN")
        coordinator.execute(f"INSERT INTO {schema}.{name} SELECT i, repeat('x', 3000 + i % 5) FROM generate_series(1, 2000) i; "
                            f"INSERT INTO {schema}.{name} SELECT i, repeat('x', 3000 + i % 7) FROM generate_series(1, 50) i")
    for text in ("SELECT count(DISTINCT b) FROM {}", "SELECT b, count(*) FROM {} GROUP BY b ORDER BY b", "SELECT a % 3, count(DISTINCT b) FROM {} GROUP BY 1 ORDER BY 1"):
        assert rows(coordinator, text.format(f"{schema}.t")) == rows(coordinator, text.format(f"{schema}.h")), text


def test_rescan(tables, coordinator):
    """The node runs again with other parameters."""
    text = ("SELECT x, (SELECT (count(*), sum(n), max(t) FILTER (WHERE a > x))::text FROM {} WHERE s = x) FROM generate_series(-60, 60, 7) x")
    assert rows(coordinator, text.format(tables["columnar"])) == rows(coordinator, text.format(tables["heap"]))
    coordinator.execute("PREPARE p(int) AS SELECT count(*), sum(b) FILTER (WHERE a < $1) FROM " + tables["columnar"] + " WHERE s < $1")
    for x in (-10, 0, 5, 20, 30, 40, 45):
        assert rows(coordinator, f"EXECUTE p({x})") == rows(
            coordinator, f"SELECT count(*), sum(b) FILTER (WHERE a < {x}) FROM {tables['heap']} WHERE s < {x}")
    coordinator.execute("DEALLOCATE p")


def test_grouping(tables, coordinator):
    """GROUPING() in the target list and in HAVING, with and without grouping sets."""
    for text in ("SELECT s, grouping(s) FROM {} GROUP BY s HAVING grouping(s) >= 0 ORDER BY 2, 1", "SELECT k, t, grouping(t, k) + count(*) FROM {} GROUP BY t, k ORDER BY 1, 2",
                 "SELECT s, count(*) FROM {} GROUP BY GROUPING SETS (s) HAVING grouping(s) < 1 ORDER BY 1", "SELECT s % 5, grouping(s % 5), max(n) FROM {} GROUP BY ROLLUP (s % 5) ORDER BY 1"):
        expected = rows(coordinator, text.format(tables["heap"]))
        for name in ("columnar", "small", "shards"):
            assert rows(coordinator, text.format(tables[name])) == expected, (text, name)
