"""What plans cost: compilation, and scans that run many times."""

import pytest

from harness.servers import fill, rows, value


@pytest.fixture
def plan(coordinator):
    """The lines of EXPLAIN ANALYZE."""
    return lambda query: [line.strip() for line, in rows(coordinator, f"EXPLAIN (ANALYZE, COSTS OFF) {query}")]


def test_guessed_cost_is_no_reason_to_compile(coordinator, table, plan):
    """A table that was never analyzed passes for a large one."""
    coordinator.execute("SET jit_above_cost = 1000")
    assert value(coordinator, "SHOW jit") == "on"
    assert "JIT:" not in plan(f"SELECT count(*) FROM {table} a JOIN {table} b USING (id) JOIN {table} c USING (id)")


@pytest.mark.parametrize("correlation", ["b.payload >= a.id", "b.id = a.payload + 1", "a.id > 7"])
def test_scan_that_runs_often_keeps_its_rows(table, plan, correlation):
    """However many rows a query has, a correlated subquery asks the nodes for its own only a few times."""
    query = f"SELECT id, (SELECT count(*) FROM {table} b WHERE {correlation}) FROM {table} a WHERE id <= "
    assert "Rows Kept: true" in plan(query + "20")
    assert "Rows Kept: true" not in plan(query + "5")


def test_too_many_rows_are_not_kept(coordinator, schema, table, plan):
    coordinator.execute("SET citus.shard_count = 2")
    fill(coordinator, f"{schema}.large", 6000)
    lines = plan(f"SELECT id, (SELECT count(*) FROM {schema}.large b WHERE b.id = a.id) FROM {table} a")
    assert "Rows Kept: true" not in lines
