"""A copy of the cluster's servers, such as a restored backup, leaves the original alone, and becomes a cluster of its own."""

import json

import psycopg
import pytest

from harness import servers
from harness.gateways import Gateway
from harness.proxy import Proxy
from harness.servers import rows, value, wait_until
from pomelo_cluster import find_free_ports

pytestmark = pytest.mark.some(8)     # most make clusters of their own
ROWS = 100
NO_MAINTENANCE = "no maintenance is done"
NOT_KNOWN = "could not find out whether"


class Copied:
    """A cluster, and copies of some of its servers."""

    def __init__(self, made, nodes):
        self.made = made
        with servers.connect(made.coordinator) as connection:
            connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, b text); SELECT create_distributed_table('t', 'id')")
            connection.execute("CREATE TABLE r (id bigint PRIMARY KEY); SELECT create_reference_table('r')")
            connection.execute(f"INSERT INTO t SELECT g, 'original' FROM generate_series(1, {ROWS}) g; INSERT INTO r VALUES (1)")
            self.identity = value(connection, "SELECT citus_server_id()")
        for node in nodes:
            node.stop()
        ports = [find_free_ports(1, servers.FIRST_PORT + 50 + 10 * i) for i in range(len(nodes))]
        self.copies = [made.add_copy(node, port) for node, port in zip(nodes, ports)]
        for node in nodes:
            node.start()
        for copy in self.copies:        # they see at once that the originals are there
            wait_until(lambda copy=copy: NO_MAINTENANCE in copy.log_since(0), "the copy's daemon to say that it does nothing")
        self.addresses = {f"127.0.0.1:{node.port}": f"127.0.0.1:{copy.port}" for node, copy in zip(nodes, self.copies)}

    def separate(self, addresses=None):
        with servers.connect(self.copies[0]) as connection:
            connection.execute("SELECT citus_separate_copy(%s)", [json.dumps(addresses or self.addresses)])

    def check_original(self):
        """The original has its rows, its nodes and its identity, and all its nodes are usable."""
        for node in self.made.nodes:
            with servers.connect(node) as connection:
                assert rows(connection, "SELECT count(*), count(*) FILTER (WHERE b = 'original') FROM t") == [(ROWS, ROWS)]
                assert rows(connection, "SELECT id FROM r") == [(1,)]
                assert {port for port, in rows(connection, "SELECT nodeport FROM pg_dist_node")} == \
                    {node.port for node in self.made.nodes}
        with servers.connect(self.made.coordinator) as connection:
            assert value(connection, "SELECT citus_server_id()") == self.identity


@pytest.mark.parametrize("statement", [
    "INSERT INTO t VALUES (1000 + {n}, 'copy')", "UPDATE t SET b = 'copy'", "SELECT count(*) FROM t", "INSERT INTO r VALUES (2)",
    "ALTER TABLE t ADD COLUMN c int", "SELECT citus_update_node(2, '127.0.0.1', 1)",
    "SELECT citus_disable_node('127.0.0.1', nodeport, true, true) FROM pg_dist_node WHERE groupid = 1",
    "SELECT citus_drain_node('127.0.0.1', nodeport) FROM pg_dist_node WHERE groupid = 1", "SELECT citus_rebalance_start()",
    "SELECT recover_prepared_transactions()", "SELECT run_command_on_workers('DROP TABLE t')"])
def test_copy_is_kept_away(kept_away, statement):
    """Nothing that a copied coordinator is told to do reaches the original's workers."""
    with servers.connect(kept_away.copies[0]) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="this server is not the node at"):
            for number in range(20):        # some key is on another node
                connection.execute(statement.format(n=number))
    kept_away.check_original()


@pytest.fixture(scope="module")
def kept_away():
    with servers.cluster(purpose="check-copy") as made:
        yield Copied(made, made.nodes[:1])


def test_clients_of_the_copys_gateway(kept_away):
    """Nor does what comes through a copied node's gateway, which else sends statements directly to the node of their rows."""
    gateway = Gateway(kept_away.copies[0])
    with gateway.connect() as connection:
        for number in range(20):
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="this server is not the node at"):
                for again in range(20):     # some key is on another node
                    connection.execute("INSERT INTO t VALUES (%s, 'copy')", [1000 + 20 * number + again])
    kept_away.check_original()


def test_copied_worker(own_cluster):
    copied = Copied(own_cluster, own_cluster.nodes[1:2])
    with servers.connect(copied.copies[0]) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="this server is not the node at"):
            connection.execute("UPDATE t SET b = 'copy'")
    copied.check_original()


def test_separated(own_cluster):
    """With new addresses, the copies are a cluster of their own, which the original has nothing to do with."""
    copied = Copied(own_cluster, own_cluster.nodes)
    coordinator, worker = copied.copies[:2]
    copied.separate()
    copied.check_original()
    for copy in copied.copies:
        with servers.connect(copy) as connection:
            assert {port for port, in rows(connection, "SELECT nodeport FROM pg_dist_node")} == \
                {other.port for other in copied.copies}
            connection.execute("UPDATE t SET b = 'copy'; INSERT INTO r SELECT max(id) + 1 FROM r")
            assert rows(connection, "SELECT count(*) FROM citus_check_cluster_node_health() WHERE result") == [(9,)]
    with servers.connect(coordinator) as connection:
        assert value(connection, "SELECT citus_server_id()") != copied.identity
        connection.execute("CREATE TABLE u (id int); SELECT create_distributed_table('u', 'id')")
    copied.check_original()
    assert secret_of(worker) == secret_of(coordinator) != secret_of(own_cluster.coordinator)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="this server is not a copy"):
        copied.separate({f"127.0.0.1:{copy.port}": "127.0.0.1:1" for copy in copied.copies})
    with servers.connect(own_cluster.coordinator) as connection, pytest.raises(psycopg.Error, match="already belongs to a cluster"):
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [worker.port])


def secret_of(node):
    with servers.connect(node) as connection:
        return value(connection, "SELECT secret FROM pg_dist_node_secret")


def test_separation_is_checked(own_cluster):
    """Addresses that aren't those of copies are refused, before anything is changed; then the right ones are accepted."""
    copied = Copied(own_cluster, own_cluster.nodes)
    keys, values = list(copied.addresses), list(copied.addresses.values())
    for wrong, message in (
            ({}, "no address is given"),
            ({**copied.addresses, keys[1]: keys[1]}, "address of a node of the original"),
            ({**copied.addresses, keys[1]: keys[1].replace("127.0.0.1", "localhost")}, "is not a copy of node"),
            ({**copied.addresses, keys[1]: values[2], keys[2]: values[1]}, "is not a copy of node"),
            ({**copied.addresses, keys[1]: values[2]}, "is given as the address of two nodes"),
            ({**copied.addresses, keys[1]: "nowhere"}, "invalid address")):
        with pytest.raises(psycopg.Error, match=message):
            copied.separate(wrong if wrong else {"a:1": "b:2"})
    with servers.connect(copied.copies[1]) as connection:       # as after an interruption
        connection.execute("SELECT citus_internal.become_copy(jsonb_object_agg(nodeid, jsonb_build_object("
                           "'host', nodename, 'port', nodeport)), %s, 'x', 'ab') FROM pg_dist_node", [str(copied.identity)])
    copied.separate()
    with servers.connect(copied.copies[2]) as connection:
        connection.execute("UPDATE t SET b = 'copy'")
    copied.check_original()


def test_original_is_no_copy(cluster, coordinator):
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="this server is not a copy"):
        coordinator.execute("SELECT citus_separate_copy('{}')")


@pytest.fixture
def behind_proxy(make_cluster):
    """A cluster whose coordinator's address is that of a proxy."""
    made = make_cluster(workers=1, kind="bare")
    proxy = Proxy(made.coordinator.port)
    with servers.connect(made.coordinator) as connection:
        connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [proxy.port])
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [made.workers[0].port])
        connection.execute("CREATE TABLE t (id int PRIMARY KEY); SELECT create_distributed_table('t', 'id')")
    made.proxy = proxy
    yield made
    proxy.shut()


@pytest.mark.parametrize("what", ["nothing", "another node", "a standby"])
def test_healthy_node_is_not_refused(behind_proxy, what):
    """Whatever is at the node's address, if it is no server that has taken the node's place, work goes on; the log tells it."""
    node = behind_proxy.coordinator
    if what == "nothing":
        behind_proxy.proxy.shut()
    elif what == "another node":
        behind_proxy.proxy.target = behind_proxy.workers[0].port
    elif what == "a standby":
        behind_proxy.proxy.target = behind_proxy.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50)).port
    node.restart()
    with servers.connect(node) as connection:
        connection.execute("INSERT INTO t SELECT generate_series(1, 10)")
        assert value(connection, "SELECT count(*) FROM t") == 10
    assert NOT_KNOWN in node.log_since(0)


def test_original_has_moved(behind_proxy):
    """Nobody is at the address that the copy knows; but the other nodes know where the node is now."""
    node = behind_proxy.coordinator
    node.stop()
    copy = behind_proxy.add_copy(node, find_free_ports(1, servers.FIRST_PORT + 50))
    node.start()
    behind_proxy.proxy.shut()
    behind_proxy.proxy = Proxy(node.port)
    with servers.connect(node) as connection:
        connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [behind_proxy.proxy.port])
    copy.restart()
    with servers.connect(copy) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="this server is not the node at"):
            connection.execute("INSERT INTO t SELECT generate_series(1, 10)")
    with servers.connect(node) as connection:
        connection.execute("INSERT INTO t SELECT generate_series(1, 10)")
        assert value(connection, "SELECT count(*) FROM t") == 10


def test_failover_behind_one_address(behind_proxy):
    """The promoted standby works before and after it gets the address of the dead node."""
    node = behind_proxy.coordinator
    standby = behind_proxy.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50))
    wait_until(lambda: node.sql("SELECT sent_lsn = replay_lsn FROM pg_stat_replication") == "t", "the standby to have all")
    node.kill()
    standby.promote()
    with servers.connect(standby) as connection:
        connection.execute("INSERT INTO t SELECT generate_series(1, 10)")
    behind_proxy.proxy.target = standby.port
    with servers.connect(standby) as connection:
        connection.execute("INSERT INTO t SELECT generate_series(11, 20)")
    behind_proxy.replace(node, standby)
