"""Columnar scans below hash joins leave out rows without a match: joins have the rows that they have of heaps."""

import random

import pytest

from harness.servers import rows, value, wait_until
from harness.statement import Statement
from pomelo_check.sample import SEED

QUERIES = 200
COLUMNS = "id int, a int, b bigint, s smallint, n numeric, m numeric(10,2), t text, v varchar(20), c char(6), x text COLLATE {schema}.either, d date, i timestamp, j timestamptz, u uuid, e bool, f float8"
VALUES = """SELECT g, CASE WHEN g % 13 > 0 THEN g % {step} * 7 END, CASE WHEN g % 17 > 0 THEN (g % {step} * 7)::bigint END, (g % 90 - 45)::smallint,
    CASE g % 11 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 1.0 WHEN 3 THEN 1.00 ELSE (g % {step} * 7)::numeric(12,3) END, (g % {step} / 4.0)::numeric(10,2),
    CASE WHEN g % 19 > 0 THEN md5((g % {step})::text) END, 'v' || g % {step}, 'c' || g % {step} % 50, CASE WHEN g % 2 = 0 THEN 'Ab' ELSE 'aB' END || g % {step},
    date '2020-01-01' + g % {step}, timestamp '2020-01-01' + g % {step} * interval '1 h', timestamptz '2020-01-01 00:00 UTC' + g % {step} * interval '1 h',
    md5((g % {step})::text)::uuid, g % 3 = 0, CASE g % 9 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 'NaN' ELSE g % {step} END FROM generate_series({first}, {last}) g"""
KEYS = ["{p}.a = {q}.a", "{p}.a = {q}.b", "{p}.b = {q}.s", "{p}.s = {q}.a", "{p}.n = {q}.n", "{p}.n = {q}.m", "{p}.n = {q}.a", "{p}.t = {q}.t", "{p}.v = {q}.v", "{p}.v = {q}.t",
        "{p}.c = {q}.c", "{p}.x = {q}.x", "{p}.d = {q}.d", "{p}.i = {q}.i", "{p}.j = {q}.j", "{p}.u = {q}.u", "{p}.e = {q}.e AND {p}.id = {q}.id", "{p}.f = {q}.f", "{p}.id = {q}.a",
        "{p}.id = {q}.id", "{p}.a + 1 = {q}.a", "{p}.a = {q}.a AND {p}.t = {q}.t", "{p}.a = {q}.b AND {p}.id < {q}.id", "{p}.m = {q}.f", "{p}.d = {q}.i"]
SMALL = ["true", "{p}.id < 20", "{p}.id < 0", "{p}.id % 10 = 3", "{p}.t LIKE 'a%'", "{p}.a IS NULL", "{p}.d < '2020-01-09'"]
LARGE = ["true", "{p}.id % 3 > 0", "{p}.s > 0", "{p}.a BETWEEN 100 AND 900", "{p}.a / ({p}.s + 100) > 1"]
KINDS = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
MEMORY = ["64kB", "4MB"]


def condition(chosen, of, p):
    return chosen.choice(of).format(p=p)


def on(chosen, p, q):
    return chosen.choice(KEYS).format(p=p, q=q)


def query(chosen):
    """A join of {large} with {small}, in one of several shapes."""
    where = f"{condition(chosen, LARGE, 'l')} AND {condition(chosen, SMALL, 'k')}"
    shape = chosen.randrange(9)
    if shape == 0:
        return f"SELECT l.id, k.id, l.t FROM {{large}} l {chosen.choice(KINDS)} {{small}} k ON {on(chosen, 'l', 'k')} AND {condition(chosen, SMALL, 'k')} WHERE {condition(chosen, LARGE, 'l')}"
    if shape == 1:
        return f"SELECT l.id, l.b FROM {{large}} l WHERE {chosen.choice(['', 'NOT '])}EXISTS (SELECT FROM {{small}} k WHERE {on(chosen, 'l', 'k')} AND {condition(chosen, SMALL, 'k')})"
    if shape == 2:
        other = chosen.choice(KINDS)
        return f"SELECT l.id, k.id, o.s FROM {{large}} l {other} {{other}} o ON {on(chosen, 'l', 'o')} JOIN {{small}} k ON {on(chosen, chosen.choice('lo'), 'k')} WHERE {where} AND l.id < 600"
    if shape == 3:
        return f"SELECT k.id, g.c, g.y FROM (SELECT a, t, count(*) AS c, max(id) AS y FROM {{large}} l GROUP BY a, t) g JOIN {{small}} k ON g.{chosen.choice(['a = k.a', 't = k.t', 'a = k.b'])} WHERE {condition(chosen, SMALL, 'k')}"
    if shape == 4:
        return f"SELECT l.id, k.id FROM (SELECT id, a, t, b, s, n, m, v, c, x, d, i, j, u, e, f FROM {{large}} UNION ALL SELECT id, a, t, b, s, n, m, v, c, x, d, i, j, u, e, f FROM {{other}}) l JOIN {{small}} k ON {on(chosen, 'l', 'k')} WHERE {where}"
    if shape == 5:
        return f"SELECT k.id, (SELECT count(*) FROM {{large}} l JOIN {{other}} o ON {on(chosen, 'l', 'o')} WHERE o.id < k.id AND l.s = k.s) FROM {{small}} k WHERE k.id < 12"
    if shape == 6:
        return f"SELECT count(*), sum(l.m), min(k.t) FROM {{large}} l JOIN {{small}} k ON {on(chosen, 'l', 'k')} WHERE {where}"
    if shape == 7:
        return f"SELECT l.id, y.id FROM {{large}} l JOIN (SELECT o.id, o.a, o.b, o.t FROM {{other}} o JOIN {{small}} k ON {on(chosen, 'o', 'k')} WHERE {condition(chosen, SMALL, 'k')}) y ON l.{chosen.choice(['a = y.a', 't = y.t', 'b = y.b', 'id = y.id'])} WHERE l.id < 2000"
    return f"SELECT s.id, s.r, k.id FROM (SELECT id, a, t, b, n, row_number() OVER (PARTITION BY s ORDER BY id) AS r FROM {{large}} LIMIT 900) s JOIN {{small}} k ON s.{chosen.choice(['a = k.a', 't = k.t', 'n = k.n'])}"


@pytest.fixture
def tables(schema, coordinator):
    """Three tables as heaps and as columnar ones, with rows of both parts, deleted and changed ones."""
    coordinator.execute(f"CREATE COLLATION {schema}.either (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    coordinator.execute("SET columnar.chunk_group_row_limit = 1000; SET columnar.stripe_row_limit = 3000")
    for name, step, last in (("large", 400, 8000), ("other", 900, 1500), ("small", 35, 120)):
        coordinator.execute(f"CREATE TABLE {schema}.{name}_heap ({COLUMNS.format(schema=schema)})")
        coordinator.execute(f"INSERT INTO {schema}.{name}_heap " + VALUES.format(step=step, first=1, last=last))
        coordinator.execute(f"CREATE TABLE {schema}.{name}_columnar (LIKE {schema}.{name}_heap) USING columnar")
        coordinator.execute(f"SET columnar.row_wise_limit = 0; INSERT INTO {schema}.{name}_columnar TABLE {schema}.{name}_heap ORDER BY id; RESET columnar.row_wise_limit")
        for method in ("heap", "columnar"):
            coordinator.execute(f"DELETE FROM {schema}.{name}_{method} WHERE id % 101 = 5; UPDATE {schema}.{name}_{method} SET a = a + 7 WHERE id % 53 = 0")
            coordinator.execute(f"INSERT INTO {schema}.{name}_{method} " + VALUES.format(step=step, first=last + 1, last=last + 40))
            coordinator.execute(f"CREATE INDEX ON {schema}.{name}_{method} (a); ANALYZE {schema}.{name}_{method}")
    return {method: {name: f"{schema}.{name}_{method}" for name in ("large", "other", "small")} for method in ("heap", "columnar")}


def answer(connection, text):
    return sorted(row[0] for row in rows(connection, f"SELECT y::text FROM ({text}) y"))


def test_random_joins(tables, coordinator):
    """Also with inner sides that don't fit in memory, and of all the joins that the planner may choose."""
    chosen = random.Random(SEED)
    filtered = 0
    for _ in range(QUERIES):
        text = query(chosen)
        mixed = {name: tables[chosen.choice(["columnar", "columnar", "heap"])][name] for name in ("large", "other", "small")}
        coordinator.execute(f"SET max_parallel_workers_per_gather = 0; SET work_mem = '{chosen.choice(MEMORY)}'; SET hash_mem_multiplier = 1")
        coordinator.execute(f"SET enable_nestloop = {chosen.choice(['on', 'off', 'off'])}; SET enable_mergejoin = {chosen.choice(['on', 'off', 'off'])}")
        filtered += "Columnar Join Filters" in str(rows(coordinator, "EXPLAIN " + text.format(**mixed)))
        assert answer(coordinator, text.format(**mixed)) == answer(coordinator, text.format(**tables["heap"])), text
    assert filtered > QUERIES / 4


def test_random_joins_in_parallel(tables, coordinator):
    chosen = random.Random(SEED)
    for _ in range(QUERIES // 5):
        text = query(chosen)
        expected = answer(coordinator, text.format(**tables["heap"]))
        coordinator.execute("SET debug_parallel_query = on" if coordinator.info.server_version >= 160000 else "SET force_parallel_mode = on")
        coordinator.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_mergejoin = off; SET enable_nestloop = off")
        coordinator.execute(f"SET enable_parallel_hash = {chosen.choice(['on', 'off'])}")
        assert answer(coordinator, text.format(**tables["columnar"])) == expected, text
        coordinator.execute("RESET ALL")


def plan(connection, text):
    return "\n".join(row[0] for row in rows(connection, f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {text}"))


def test_rows_and_chunk_groups_are_left_out(tables, coordinator):
    """EXPLAIN says how many; no filter for rows that the join keeps."""
    names = tables["columnar"]
    coordinator.execute("SET max_parallel_workers_per_gather = 0; SET enable_mergejoin = off; SET enable_nestloop = off")
    joined = "SELECT count(l.t) FROM {large} l {kind} {small} k ON l.id = k.id AND k.id < 10"
    found = plan(coordinator, joined.format(kind="JOIN", **names))
    assert "Columnar Join Filters: id" in found and "ColumnarJoinKeys" in found
    assert "Rows Removed by Join Filters: 9" in found and "Columnar Chunk Groups Read: 1\n" in found
    assert "Columnar Join Filters" not in plan(coordinator, joined.format(kind="LEFT JOIN", **names))
    assert "Columnar Join Filters" in plan(coordinator, "SELECT count(l.t) FROM {large} l WHERE EXISTS (SELECT FROM {small} k WHERE k.t = l.t)".format(**names))
    assert "Columnar Join Filters" not in plan(coordinator, "SELECT count(l.t) FROM {large} l WHERE NOT EXISTS (SELECT FROM {small} k WHERE k.t = l.t)".format(**names))
    coordinator.execute("SET columnar.enable_join_filters = off")
    assert "Columnar Join" not in plan(coordinator, joined.format(kind="JOIN", **names))


def test_joins_by_bitmaps(tables, coordinator):
    """Few rows of each bitmap are looked up, many expanded with their chunk groups."""
    coordinator.execute("SET max_parallel_workers_per_gather = 0; SET enable_mergejoin = off; SET enable_hashjoin = off; SET enable_indexscan = off; SET enable_seqscan = off; SET enable_material = off")
    text = "SELECT l.id, l.{columns}, k.id FROM {large} l JOIN {small} k ON l.a {operator} k.a WHERE k.id < 25 AND l.s > -20"
    for columns in ("t", "n", "*"):
        for operator in ("=", "BETWEEN k.a - 20 AND"):
            assert "ColumnarBitmapScan" in str(rows(coordinator, "EXPLAIN " + text.format(columns=columns, operator=operator, **tables["columnar"])))
            found = [answer(coordinator, text.format(columns=columns, operator=operator, **tables[method])) for method in ("heap", "columnar")]
            assert found[0] == found[1] and found[0]


def test_costs(tables, schema, coordinator):
    """A scan with a filter is expected to cost less than one without, so that it is chosen instead of an index scan for each row."""
    names = tables["columnar"]
    coordinator.execute("SET max_parallel_workers_per_gather = 0")
    text = "SELECT count(l.t) FROM {large} l JOIN {small} k ON l.a = k.a WHERE k.id < 90".format(**names)
    costs = {}
    for setting in ("on", "off"):
        coordinator.execute(f"SET columnar.enable_join_filters = {setting}; SET enable_nestloop = off; SET enable_mergejoin = off")
        costs[setting] = rows(coordinator, f"EXPLAIN (FORMAT json) {text}")[0][0][0]["Plan"]["Total Cost"]
    assert costs["on"] < costs["off"] * 0.9


def test_rows_that_change_meanwhile(tables, coordinator, connect, cluster):
    """A row that another session has changed is joined with what it is now (EvalPlanQual)."""
    names = tables["columnar"]
    update = f"UPDATE {names['large']} l SET m = -1 FROM {names['small']} k WHERE l.a = k.a AND k.id < 3 RETURNING l.id"
    first, second = (connect(cluster.coordinator, autocommit=False) for _ in range(2))
    second.execute("SET enable_mergejoin = off; SET enable_nestloop = off; SET max_parallel_workers_per_gather = 0")
    matching = rows(second, f"SELECT l.id FROM {names['large']} l JOIN {names['small']} k ON l.a = k.a AND k.id < 3 ORDER BY 1")
    gone, kept = matching[3][0], matching[5][0]
    second.rollback()
    first.execute(f"UPDATE {names['large']} SET a = -1 WHERE id = {gone}; UPDATE {names['large']} SET s = s + 1 WHERE id = {kept}")
    running = Statement(second, "SET enable_mergejoin = off; SET enable_nestloop = off; " + update)
    wait_until(lambda: value(coordinator, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [second.info.backend_pid]), "the statement waits")
    first.commit()
    assert running.finish() is None
    second.commit()
    changed = rows(coordinator, f"SELECT id FROM {names['large']} WHERE m = -1 ORDER BY 1")
    assert changed == [row for row in matching if row[0] != gone]


def test_rescans(tables, coordinator):
    """The inner side is read again, by batches and not, for each row of an outer query."""
    coordinator.execute("SET max_parallel_workers_per_gather = 0; SET enable_mergejoin = off; SET enable_nestloop = off; SET enable_material = off; SET hash_mem_multiplier = 1")
    text = ("SELECT g, z.* FROM generate_series(1, 5) g CROSS JOIN LATERAL (SELECT count(*), sum(l.id) FROM {large} l JOIN {other} o ON l.a = o.a AND l.t = o.t "
            "WHERE l.s > g {more}) z")
    for memory in MEMORY:
        coordinator.execute(f"SET work_mem = '{memory}'")
        for more in ("", "AND o.s < g"):
            found = [answer(coordinator, text.format(more=more, **tables[method])) for method in ("heap", "columnar")]
            assert found[0] == found[1]
