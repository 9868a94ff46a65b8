"""citus_stat_statements: how often statements ran, by tenant, added up over the nodes that clients ask."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value

SETTINGS = {"shared_preload_libraries": "citus,pg_stat_statements", "citus.stat_statements_track": "all",
            "citus.stat_statements_max": "100"}
COUNTS = """
    SELECT query, partition_key, calls FROM citus_stat_statements
    WHERE query LIKE '%account%' AND userid = 'postgres'::regrole AND executor = 'adaptive' AND dbid > 0 AND queryid <> 0 ORDER BY 1, 2
"""


@pytest.fixture(scope="module")
def counting():
    """Such a cluster with a table, and a role without rights to others' statistics."""
    with servers.cluster(purpose="check-statements", settings=SETTINGS) as made:
        with servers.connect(made.coordinator) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements; CREATE ROLE teller LOGIN;"
                               "CREATE TABLE account (id bigint PRIMARY KEY, balance int)")
            connection.execute("SELECT create_distributed_table('account', 'id')")
            connection.execute("INSERT INTO account SELECT g, 0 FROM generate_series(1, 100) g; GRANT ALL ON account TO teller")
        yield made


@pytest.fixture
def connections(counting, connect):
    """Connections to all nodes; nothing has been counted."""
    opened = [connect(node) for node in counting.nodes]
    opened[0].execute("SELECT citus_stat_statements_reset()")
    return opened


def test_counts(counting, connections, connect):
    """Each statement counts once, on whatever node, with its tenant if it is about one."""
    for number, connection in enumerate(connections):
        for tenant in (1, 2, 2):
            connection.execute("SELECT balance FROM account WHERE id = %s", [tenant], prepare=number > 0)
        connection.execute("UPDATE account SET balance = 1 WHERE id = 3")
        connection.execute("SELECT count(*) FROM account")
        connection.execute("SELECT count(*) FROM account a JOIN account b USING (balance)")
        connection.execute("EXPLAIN SELECT count(*) FROM account")
        connection.execute("SELECT count(*) FROM generate_series(1, 3) AS account")
    nodes = len(connections)
    expected = [
        ("SELECT balance FROM account WHERE id = $1", "1", nodes),
        ("SELECT balance FROM account WHERE id = $1", "2", 2 * nodes),
        ("SELECT count(*) FROM account", None, nodes),
        ("SELECT count(*) FROM account a JOIN account b USING (balance)", None, nodes),
        ("UPDATE account SET balance = $1 WHERE id = $2", "3", nodes)]
    for connection in connections:
        assert rows(connection, COUNTS) == expected

    with connect(counting.workers[0], user="teller") as teller:
        teller.execute("SELECT * FROM account WHERE id = 7")
        seen = rows(teller, "SELECT query, partition_key, calls FROM citus_stat_statements")
        assert seen == [("SELECT * FROM account WHERE id = $1", "7", 1)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            teller.execute("SELECT citus_stat_statements_reset()")
    connections[2].execute("SELECT citus_stat_statements_reset()")
    assert rows(connections[0], COUNTS) == []


def test_writes_that_the_initiator_computes(connections):
    connection = connections[0]
    connection.execute("UPDATE account SET balance = (random() * 9)::int")
    connection.execute("INSERT INTO account SELECT g + 1000, 0 FROM generate_series(1, 10) g")
    connection.execute("DELETE FROM account WHERE id > 1000")
    found = rows(connection, COUNTS)
    assert [row[1:] for row in found] == [(None, 1)] * 3, found


def test_off(connections):
    connection = connections[0]
    connection.execute("SET citus.stat_statements_track = 'none'")
    connection.execute("SELECT balance FROM account WHERE id = 1; SELECT count(*) FROM account")
    assert rows(connection, COUNTS) == []


def test_rare_statements_make_room(connections):
    connection = connections[0]
    for _ in range(3):
        connection.execute("SELECT balance FROM account WHERE id = 5")
    for tenant in range(1000, 1300):
        connection.execute("SELECT balance FROM account WHERE id = %s", [tenant])
    found = rows(connection, COUNTS)
    assert 50 <= len(found) <= 100
    assert ("SELECT balance FROM account WHERE id = $1", "5", 3) in found


def test_without_texts(coordinator):
    with pytest.raises(psycopg.errors.UndefinedObject) as caught:
        coordinator.execute("SELECT * FROM citus_stat_statements")
    assert "shared_preload_libraries" in caught.value.diag.message_hint
    assert value(coordinator, "SELECT 1") == 1


def test_of_all_nodes(connections, connect, counting):
    """citus_node_statements has each node's own statistics: the statement, and its parts on other nodes; a role sees its own texts."""
    connections[0].execute("SELECT sum(balance) AS of_all_nodes FROM account")
    total = "SELECT nodeid, sum(calls) FROM citus_node_statements WHERE query LIKE '%%account%%' AND query !~ 'citus_node_statements' GROUP BY 1 ORDER BY 1"
    found = rows(connections[1], total)
    assert [nodeid for nodeid, _ in found] == [1, 2, 3] and all(calls > 0 for _, calls in found)
    assert value(connections[1], "SELECT count(*) FROM citus_node_statements() WHERE query LIKE '%%of_all_nodes%%' AND nodeid = 1 AND total_exec_time > 0") >= 1
    with connect(counting.workers[0], user="teller") as teller:
        assert not rows(teller, "SELECT * FROM citus_node_statements WHERE query LIKE '%%of_all_nodes%%'")
