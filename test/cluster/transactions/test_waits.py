"""DDL and changes of nodes among sessions that write without a pause: each gets its turn, and no one fails."""

import time

import psycopg
import pytest

from harness import servers
from harness.load import Load
from harness.proxy import Proxy
from harness.servers import fill, on_every_node, value, wait_until
from harness.statement import Statement

LIMIT = 40          # seconds for what has to wait for other sessions' statements only
CLIENTS = 3         # on each node


def writers(nodes, statements):
    """A load of sessions on those nodes that repeat statements, by turns."""
    load = Load()

    def repeat(statement):
        return lambda connection: connection.execute(statement)

    for node in nodes:
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

    load = writers(cluster.nodes, [f"UPDATE {table} SET v = v + 1 WHERE id = {key}" for key in (1, 2)])
    load.meanwhile(alter)
    print("seconds:", [round(seconds, 2) for seconds in took], "statements:", sum(load.counts.values()))
    assert value(coordinator, f"SELECT sum(v) FROM {table}") == sum(load.counts.values())


def test_node_added_among_writers(make_cluster, connect):
    """citus_add_node and sessions that write a reference table don't deadlock, and the new node has every row."""
    made = make_cluster(kind="bare", workers=2)
    connection = connect(made.coordinator)
    connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [made.coordinator.port])
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [made.workers[0].port])
    connection.execute("CREATE TABLE ref (id int PRIMARY KEY, v int); CREATE TABLE log (id serial, v int)")
    connection.execute("SELECT create_reference_table('ref'), create_reference_table('log')")
    connection.execute("INSERT INTO ref SELECT g, 0 FROM generate_series(1, 10) g")
    load = writers(made.nodes[:2], ["UPDATE ref SET v = v + 1 WHERE id = 1", "INSERT INTO log (v) VALUES (1)",
                                    "BEGIN; INSERT INTO log (v) VALUES (1); UPDATE ref SET v = v + 1; COMMIT"])
    load.meanwhile(lambda: connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [made.workers[1].port]))
    for query in ("SELECT sum(v) FROM ref", "SELECT count(*) FROM log"):
        assert len({str(found) for found in on_every_node(made, query).values()}) == 1
    assert value(connection, "SELECT count(*) FROM log") > 0


class Switchover:
    """A worker of a cluster of its own; it is known by a proxy's address, and can be given its own instead."""

    def __init__(self, made):
        self.made, self.node = made, made.workers[0]
        self.proxy = Proxy(self.node.port)
        self.change = servers.connect(made.coordinator)
        self.nodeid = value(self.change, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [self.node.port])
        self.update("127.0.0.1", self.proxy.port)
        fill(self.change, "t", 200)
        self.key = value(self.change, """
            SELECT id FROM generate_series(1, 200) id JOIN citus_shards s
              ON s.shardid = get_shard_id_for_distribution_column('t', id::bigint) WHERE s.nodeport = %s""",
                         [self.proxy.port])
        self.write = f"UPDATE t SET payload = payload + 1 WHERE id = {self.key}"

    def update(self, host, port, *more):
        marks = "".join(", %s" for _ in more)
        self.change.execute(f"SELECT citus_update_node(%s, %s, %s{marks})", [self.nodeid, host, port, *more])


@pytest.fixture
def switchover(own_cluster):
    made = Switchover(own_cluster)
    yield made
    made.change.close()
    made.proxy.shut()


def waiting_for_lock(connect, node):
    watcher = connect(node)
    return lambda: value(watcher, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


def test_planned_switchover(switchover, connect):
    """Writes from all other nodes, and reads that come too late, wait until the node's new address is committed."""
    cluster_, node = switchover.made, switchover.node
    others = [cluster_.coordinator, cluster_.workers[1]]
    load = writers(others, [switchover.write])

    def switch():
        switchover.change.execute("BEGIN")
        switchover.update(f"{node.name}-demoted", 5432, True, 5000)
        wait_until(lambda: all(waiting_for_lock(connect, other)() >= CLIENTS for other in others), "the writers wait")
        node.stop()
        reader = Statement(connect(cluster_.coordinator), f"SELECT payload FROM t WHERE id = {switchover.key}")
        wait_until(lambda: waiting_for_lock(connect, cluster_.coordinator)() > CLIENTS, "the reader waits")
        assert reader.running
        node.start()
        switchover.update("127.0.0.1", node.port, True, 5000)
        switchover.change.execute("COMMIT")
        assert reader.finish() is None
        before = dict(load.counts)
        wait_until(lambda: all(load.counts[name] > before.get(name, 0) for name in before), "the writers go on")

    load.meanwhile(switch)
    assert value(connect(cluster_.workers[1]), f"SELECT payload FROM t WHERE id = {switchover.key}") == \
        sum(load.counts.values())


def test_switchover_is_prepared(switchover, connect):
    """A client may prepare the change; writes wait for its second phase."""
    switchover.change.execute("BEGIN")
    switchover.update("127.0.0.1", switchover.node.port)
    switchover.change.execute("PREPARE TRANSACTION 'move'")
    writer = Statement(connect(switchover.made.workers[1]), switchover.write)
    wait_until(waiting_for_lock(connect, switchover.made.workers[1]), "the writer waits")
    switchover.change.execute("COMMIT PREPARED 'move'")
    assert writer.finish() is None
    found = on_every_node(switchover.made, f"SELECT nodeport FROM pg_dist_node WHERE nodeid = {switchover.nodeid}")
    assert {str(rows) for rows in found.values()} == {f"[({switchover.node.port},)]"}


def test_forced_switchover(switchover, connect):
    """Without force the change waits for transactions that wrote there; with it they are ended after a while."""
    writers_ = [connect(node, autocommit=False) for node in (switchover.made.coordinator, switchover.made.workers[1])]
    for number, writer in enumerate(writers_):
        writer.execute(f"UPDATE t SET payload = 0 WHERE id = {switchover.key}" if number == 0 else
                       "INSERT INTO t SELECT g, 0 FROM generate_series(1001, 1100) g")
    switchover.change.execute("SET statement_timeout = '1s'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        switchover.update("127.0.0.1", switchover.node.port)
    switchover.change.execute("SET statement_timeout = 0")
    begun = time.monotonic()
    switchover.update("127.0.0.1", switchover.node.port, True, 300)
    assert time.monotonic() - begun >= 0.3
    for writer in writers_:
        with pytest.raises(psycopg.OperationalError):
            writer.execute("SELECT 1")
    connect(switchover.made.coordinator).execute(switchover.write)
