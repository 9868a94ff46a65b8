"""What plans cost."""

import pytest

from harness.servers import rows, value


@pytest.fixture
def plan(coordinator):
    """The lines of EXPLAIN ANALYZE."""
    return lambda query: [line.strip() for line, in rows(coordinator, f"EXPLAIN (ANALYZE, COSTS OFF) {query}")]


def test_guessed_cost_is_no_reason_to_compile(coordinator, table, plan):
    """A table that was never analyzed passes for a large one."""
    coordinator.execute("SET jit_above_cost = 1000")
    assert value(coordinator, "SHOW jit") == "on"
    assert "JIT:" not in plan(f"SELECT count(*) FROM {table} a JOIN {table} b USING (id) JOIN {table} c USING (id)")
