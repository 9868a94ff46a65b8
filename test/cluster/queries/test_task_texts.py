"""Texts of tasks are kept by a statement's shape; what they name may get another name."""

import pytest

from harness.servers import value

SETUP = """
    CREATE TYPE {schema}.mood AS ENUM ('sad', 'happy');
    CREATE TYPE {schema}.pair AS (a int, b int);
    CREATE TABLE {schema}.t (k int PRIMARY KEY, mood {schema}.mood, pair {schema}.pair);
    SELECT create_distributed_table('{schema}.t', 'k');
    INSERT INTO {schema}.t VALUES (1, 'happy', (3, 4));
"""


@pytest.mark.parametrize("query, rename, query_after", [
    ("SELECT k FROM {schema}.t WHERE k = 1 AND mood = 'happy'",
     "ALTER TYPE {schema}.mood RENAME VALUE 'happy' TO 'glad'",
     "SELECT k FROM {schema}.t WHERE k = 1 AND mood = 'glad'"),
    ("SELECT (pair).a - 2 FROM {schema}.t WHERE k = 1",
     "ALTER TYPE {schema}.pair RENAME ATTRIBUTE a TO first",
     "SELECT (pair).first - 2 FROM {schema}.t WHERE k = 1"),
    ("SELECT k FROM {schema}.t WHERE k = 1 AND mood::text <> ''",
     "ALTER TYPE {schema}.mood RENAME TO temper",
     "SELECT k FROM {schema}.t WHERE k = 1 AND mood::text <> ''"),
    ("SELECT k FROM {schema}.t WHERE k = 1 AND mood = 'happy'::{schema}.mood",
     "ALTER TYPE {schema}.mood RENAME TO temper",
     "SELECT k FROM {schema}.t WHERE k = 1 AND mood = 'happy'::{schema}.temper"),
])
def test_renamed_by_another_session(cluster, coordinator, connect, schema, query, rename, query_after):
    coordinator.execute(SETUP.format(schema=schema))
    # once only: what a node has prepared knows objects by oid and goes on working
    assert value(coordinator, query.format(schema=schema)) == 1
    change = rename.format(schema=schema)
    if "RENAME VALUE" in change:
        connect(cluster.coordinator).execute(change)     # reaches all nodes
    else:
        assert value(coordinator, "SELECT bool_and(success) FROM run_command_on_all_nodes(%s)", [change])
    for _ in range(3):
        assert value(coordinator, query_after.format(schema=schema)) == 1


@pytest.mark.parametrize("query, rename", [
    ("SELECT k FROM {schema}.t WHERE k = %s AND coalesce(mood, 'happy') <> 'sad'",
     "ALTER TYPE {schema}.mood RENAME VALUE 'happy' TO 'glad'"),
    ("SELECT (pair).a - 2 FROM {schema}.t WHERE k = %s",
     "ALTER TYPE {schema}.pair RENAME ATTRIBUTE a TO first"),
    ("SELECT k FROM {schema}.t WHERE k = %s AND coalesce(mood, 'happy'::{schema}.mood) <> 'sad'",
     "ALTER TYPE {schema}.mood RENAME TO temper"),
    ("SELECT k FROM {schema}.t WHERE k = %s AND 'sad'::{schema}.mood <> ALL (coalesce(moods, '{{happy}}'::{schema}.mood[]))",
     "ALTER TYPE {schema}.mood RENAME TO temper"),
    ("SELECT count(*) FROM {schema}.t WHERE k + 0 = %s AND coalesce(mood, 'happy'::{schema}.mood) <> 'sad'",
     "ALTER TYPE {schema}.mood RENAME TO temper"),
    ("SELECT k FROM {schema}.t WHERE k = %s AND coalesce(name, '') || 'b' COLLATE {schema}.mine > 'a'",
     "ALTER COLLATION {schema}.mine RENAME TO yours"),
])
def test_renamed_under_a_prepared_statement(cluster, coordinator, connect, schema, query, rename):
    """The session's statement is prepared, and its plan kept; the nodes see the text in another session first."""
    coordinator.execute(SETUP.format(schema=schema))
    coordinator.execute(f"ALTER TABLE {schema}.t ADD moods {schema}.mood[], ADD name text")
    assert value(coordinator, "SELECT bool_and(success) FROM run_command_on_all_nodes(%s)",
                 [f"CREATE COLLATION {schema}.mine (locale = 'C')"])
    coordinator.execute("SET plan_cache_mode = force_generic_plan")
    assert coordinator.execute(query.format(schema=schema), [1], prepare=True).fetchone() == (1,)
    change = rename.format(schema=schema)
    if "RENAME VALUE" in change:
        connect(cluster.coordinator).execute(change)
    else:
        assert value(coordinator, "SELECT bool_and(success) FROM run_command_on_all_nodes(%s)", [change])
    # other connections to the nodes, where nothing is prepared
    value(coordinator, "SELECT count(*) FROM run_command_on_workers($$SELECT pg_terminate_backend(pid) "
          "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
          "AND application_name LIKE 'citus_internal%%'$$)", [])
    assert coordinator.execute(query.format(schema=schema), [1], prepare=True).fetchone() == (1,)
