"""Tables with almost as many columns as a table can have."""

from harness.servers import rows, value

COLUMNS = 1500


def test_a_table_with_1500_defaults_is_distributed_in_seconds(cluster, connect, coordinator, schema):
    """The time grows with the number of columns, not with its cube: it took a minute, and more with load."""
    columns = ", ".join(f"c{i} int DEFAULT {i} + 1" for i in range(COLUMNS))
    coordinator.execute(f"CREATE TABLE {schema}.wide (id int PRIMARY KEY, {columns})")
    coordinator.execute("SET statement_timeout = '30s'")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.wide', 'id')")
    coordinator.execute("RESET statement_timeout")
    connect(cluster.workers[0]).execute(f"INSERT INTO {schema}.wide (id, c3) VALUES (1, 7), (2, DEFAULT)")
    assert rows(coordinator, f"SELECT c0, c3, c{COLUMNS - 1} FROM {schema}.wide ORDER BY id") == [(1, 7, COLUMNS), (1, 4, COLUMNS)]
    assert value(connect(cluster.workers[1]), f"SELECT count(*) FROM pg_attrdef WHERE adrelid = '{schema}.wide'::regclass") == COLUMNS
