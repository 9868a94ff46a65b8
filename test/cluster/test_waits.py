"""DDL and changes of nodes among sessions that write without a pause: each gets its turn, and no one fails."""

import time

import pytest

from harness import servers
from harness.load import Load
from harness.servers import value

LIMIT = 8           # seconds for what has to wait for other sessions' statements only
CLIENTS = 3         # on each node


def writers(cluster_, statements):
    """A load of sessions on every node that repeat statements, by turns."""
    load = Load()

    def repeat(statement):
        return lambda connection: connection.execute(statement)

    for node in cluster_.nodes:
        for number in range(CLIENTS):
            load.add(node, repeat(statements[number % len(statements)]), f"{node.name} {number}")
    return load


@pytest.mark.parametrize("kind", ["reference", "distributed"])
def test_ddl_among_writers(cluster, coordinator, connect, schema, kind):
    """ALTER TABLE gets the table on all nodes while sessions of all nodes write it one after the other."""
    table = f"{schema}.t"
    coordinator.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int)")
    coordinator.execute("SELECT create_reference_table(%s)" if kind == "reference" else
                        "SELECT create_distributed_table(%s, 'id')", [table])
    coordinator.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, 4) g")
    took = []

    def alter():
        connection = connect(cluster.coordinator)
        connection.execute(f"SET statement_timeout = '{LIMIT}s'")
        for number in range(5):
            begun = time.monotonic()
            connection.execute(f"ALTER TABLE {table} ADD COLUMN c{number} int")
            took.append(time.monotonic() - begun)

    load = writers(cluster, [f"UPDATE {table} SET v = v + 1 WHERE id = {key}" for key in (1, 2)])
    load.meanwhile(alter)
    print("seconds:", [round(seconds, 2) for seconds in took], "statements:", sum(load.counts.values()))
    assert value(coordinator, f"SELECT sum(v) FROM {table}") == sum(load.counts.values())
