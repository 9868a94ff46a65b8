"""Scans of columnar tables that go back, and scans of ranges of ctids; what index scans are expected to cost."""

import random

import psycopg
import pytest

from harness.servers import rows, value
from pomelo_check.sample import SEED

ROWS = 5000
STEPS = 60
FIRST_STRIPE = 2147483648
QUERIES = ["SELECT a, b FROM {t}", "SELECT a, b FROM {t} WHERE a % 3 = 0", "SELECT a FROM {t} WHERE b LIKE 'k1%' AND a <> 77",
           "SELECT a FROM {t} WHERE a < 0", "SELECT ctid, a FROM {t} WHERE ctid > '(0,3)' AND ctid < '(2147483655,77)'",
           "SELECT ctid, xmin = '1', a FROM {t}", "SELECT * FROM {t} ORDER BY a DESC LIMIT 40 OFFSET 5"]


@pytest.fixture
def table(schema, coordinator):
    """A local columnar table with several stripes, deleted rows and rows beside the stripes."""
    coordinator.execute(f"CREATE TABLE {schema}.t (a int PRIMARY KEY, b text) USING columnar "
                        "WITH (columnar.chunk_group_row_limit = 1000, columnar.stripe_row_limit = 2000)")
    coordinator.execute("SET columnar.row_wise_limit = 0; SET max_parallel_workers_per_gather = 0")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT i, 'k' || i % 20 FROM generate_series(1, {ROWS}) i")
    coordinator.execute(f"UPDATE {schema}.t SET b = 'k1' WHERE a % 100 = 0; DELETE FROM {schema}.t WHERE a % 7 = 0 OR a BETWEEN 1000 AND 2100; ANALYZE {schema}.t")
    return f"{schema}.t"


def test_columns_of_few_rows_are_fetched_late(table, schema, coordinator):
    """The rows are those that the server sorts whole: of stripes, of the row-wise part, and changed by the transaction itself."""
    coordinator.execute(f"ALTER TABLE {table} ADD COLUMN c numeric DEFAULT 1.50, ADD COLUMN d text")
    coordinator.execute(f"UPDATE {table} SET d = repeat(md5(a::text), 300) WHERE a % 11 = 0")
    queries = ["SELECT * FROM {t} ORDER BY a DESC LIMIT 10", "SELECT 7, d, b, ctid, tableoid, c * a FROM {t} WHERE a % 3 = 0 ORDER BY b DESC, a LIMIT 10 OFFSET 20",
               "SELECT t FROM {t} t WHERE b LIKE 'k%' ORDER BY length(b), a LIMIT 5", "SELECT c, d FROM {t} ORDER BY d NULLS FIRST, a LIMIT 3",
               "SELECT x, (SELECT d FROM {t} WHERE a > x * 100 ORDER BY a LIMIT 1 OFFSET 2) FROM generate_series(1, 20) x", "SELECT a, b FROM {t} ORDER BY a LIMIT 0",
               "SELECT count(*), max(b) FROM (SELECT * FROM {t} ORDER BY a LIMIT 7) s"]
    with coordinator.transaction(force_rollback=True):
        for changes in ("", "UPDATE {t} SET b = 'new' WHERE a IN (4999, 5, 8); DELETE FROM {t} WHERE a = 4998; INSERT INTO {t} VALUES (9999, 'last')"):
            if changes:
                coordinator.execute(changes.format(t=table))
            for query in queries:
                coordinator.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL columnar.enable_vectorization = off")
                expected = rows(coordinator, query.format(t=table))
                coordinator.execute("SET LOCAL columnar.enable_vectorization = on")
                assert rows(coordinator, query.format(t=table)) == expected, query
        assert "ColumnarFetch" in str(rows(coordinator, "EXPLAIN " + queries[0].format(t=table)))
        assert "ColumnarFetch" not in str(rows(coordinator, f"EXPLAIN SELECT a FROM {table} ORDER BY a LIMIT 10"))
        assert "ColumnarFetch" not in str(rows(coordinator, f"EXPLAIN SELECT * FROM {table} ORDER BY a LIMIT 1000"))


def test_conditions_in_vectors_cost_less(table, coordinator):
    """So that a scan is chosen where an index finds many rows; not those that the executor evaluates, nor those of ctids."""
    for condition, less in (("a < 100", True), ("a > 10 AND (b = 'k1' OR b IS NULL)", True), ("a % 7 = 0", False), ("ctid < '(2147483655,77)'", False)):
        costs = []
        for setting in ("on", "off"):
            coordinator.execute(f"SET columnar.enable_vectorization = {setting}; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_tidscan = off")
            costs.append(rows(coordinator, f"EXPLAIN (FORMAT json) SELECT a FROM {table} WHERE {condition}")[0][0][0]["Plan"]["Total Cost"])
        assert (costs[0] < costs[1] * 0.9) == less, condition


def test_current_row_of_a_late_fetch(table, coordinator):
    """UPDATE .. WHERE CURRENT OF changes the row that the cursor has returned last, of stripes or not."""
    coordinator.execute(f"ALTER TABLE {table} ADD COLUMN c text")
    coordinator.execute(f"UPDATE {table} SET c = 'wise' WHERE a = 4997")
    query = f"SELECT * FROM {table} ORDER BY a DESC LIMIT 5"
    coordinator.execute("SET enable_indexscan = off")
    assert "ColumnarFetch" in str(rows(coordinator, "EXPLAIN " + query))
    with coordinator.transaction(force_rollback=True):
        keys = [row[0] for row in rows(coordinator, query)]
        assert 4997 in keys
        coordinator.execute("DECLARE c SCROLL CURSOR FOR " + query)
        for key in keys:
            coordinator.execute("FETCH c")
            assert coordinator.execute(f"UPDATE {table} SET c = 'current' WHERE CURRENT OF c").rowcount == 1
            assert value(coordinator, f"SELECT c FROM {table} WHERE a = {key}") == "current"
        coordinator.execute("FETCH c")
        with pytest.raises(psycopg.errors.InvalidCursorState), coordinator.transaction():
            coordinator.execute(f"DELETE FROM {table} WHERE CURRENT OF c")
        coordinator.execute("MOVE FIRST c")
        assert coordinator.execute(f"DELETE FROM {table} WHERE CURRENT OF c").rowcount == 1     # its next version
        assert [row[0] for row in rows(coordinator, f"SELECT a FROM {table} WHERE c = 'current' ORDER BY a DESC")] == keys[1:]


@pytest.mark.parametrize("scroll", ["", "SCROLL"])
@pytest.mark.parametrize("query", QUERIES)
def test_cursor_goes_anywhere(table, coordinator, query, scroll):
    """Whether it was declared so, or the plan can."""
    expected = rows(coordinator, query.format(t=table))
    chosen, at = random.Random(SEED), 0     # the position: 0 before the first row
    with coordinator.transaction():
        coordinator.execute(f"DECLARE c {scroll} CURSOR FOR " + query.format(t=table))
        for _ in range(STEPS):
            count = chosen.choice([1, 2, 10, 900, 3000])
            if chosen.random() < 0.5:
                seen, at = expected[at:at + count], min(at + count, len(expected) + 1)
                assert rows(coordinator, f"FETCH FORWARD {count} FROM c") == seen, SEED
            else:
                seen, at = expected[max(at - 1 - count, 0):max(at - 1, 0)][::-1], max(at - count, 0)
                assert rows(coordinator, f"FETCH BACKWARD {count} FROM c") == seen, SEED
        assert rows(coordinator, "FETCH LAST FROM c") == expected[-1:]
        assert rows(coordinator, "FETCH FIRST FROM c") == expected[:1]


def test_ranges_of_ctids(table, coordinator):
    """Their rows are those of all rows by the condition, in the order of ctids."""
    everything = rows(coordinator, f"SELECT ctid, a FROM {table} ORDER BY ctid")
    block = FIRST_STRIPE + value(coordinator, f"SELECT max(stripe_num) FROM columnar.stripe WHERE relation = '{table}'::regclass")
    ends = ["(0,0)", "(0,5)", "(1,1)", f"({FIRST_STRIPE},0)", f"({FIRST_STRIPE},1)", f"({FIRST_STRIPE + 2},100)", f"({block},1)", f"({block + 1},7)",
            "(4294967295,1)"]
    for least in ends:
        for greatest in ends:
            condition = f"ctid >= '{least}' AND ctid <= '{greatest}'"
            found = rows(coordinator, f"SELECT ctid, a FROM {table} WHERE {condition}")
            coordinator.execute("SET enable_tidscan = off")
            assert found == rows(coordinator, f"SELECT ctid, a FROM {table} WHERE {condition} ORDER BY ctid"), condition
            coordinator.execute("RESET enable_tidscan")
            assert set(found) <= set(everything)
    assert "Tid Range Scan" in str(rows(coordinator, f"EXPLAIN SELECT * FROM {table} WHERE ctid >= '({block},1)'"))
    assert value(coordinator, f"WITH d AS (DELETE FROM {table} WHERE ctid >= '({block},1)' RETURNING a) SELECT count(*) FROM d") == \
        sum(1 for ctid, _ in everything if int(ctid[1:].split(",")[0]) >= block)


def test_cost_of_lookups(table, schema, coordinator):
    """Lookups by a join expand each chunk once if the session's cache has room for them."""
    coordinator.execute(f"CREATE TABLE {schema}.few AS SELECT i * 7 AS a FROM generate_series(1, 500) i; ANALYZE {schema}.few; "
                        "SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off")
    query = f"SELECT count(b) FROM {schema}.few JOIN {table} USING (a)"

    def cost():
        plan = rows(coordinator, f"EXPLAIN (FORMAT JSON) {query}")[0][0][0]["Plan"]
        assert "Index Scan" in str(plan)
        return plan["Total Cost"]

    expected = value(coordinator, query)
    with_cache = cost()
    coordinator.execute("SET columnar.chunk_cache_size = 0")
    assert with_cache < cost() * 0.9
    assert value(coordinator, query) == expected
