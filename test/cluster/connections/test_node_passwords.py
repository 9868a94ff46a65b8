"""Passwords by which nodes log in on each other: what is missing is told, and they are set on all nodes at once."""

import threading

import psycopg
import pytest
from psycopg import sql

from harness import servers
from harness.servers import rows, value, wait_until


pytestmark = pytest.mark.some(4)     # each makes a cluster of its own


def want_password(node, role):
    """The node asks the role for a password."""
    with servers.connect(node) as connection:
        path = value(connection, "SHOW hba_file")
        with open(path, encoding="ascii") as file:
            rules = file.read()
        with open(path, "w", encoding="ascii") as file:
            file.write(f"host all {role} 127.0.0.1/32 scram-sha-256\n{rules}")
        connection.execute("SELECT pg_reload_conf()")
        wait_until(lambda: value(connection, "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method = 'scram-sha-256'") >= 1,
                   "the rules")

    def refused():
        try:
            servers.connect(node, user=role, password="nonsense").close()
        except psycopg.OperationalError:
            return True
        return False

    wait_until(refused, "the rules to be used")


@pytest.fixture
def alices(own_cluster):
    """A cluster where the first worker asks alice for her password."""
    with servers.connect(own_cluster.coordinator) as connection:
        connection.execute("CREATE ROLE alice LOGIN PASSWORD 'first'; CREATE TABLE t (id int)")
        connection.execute("SELECT create_distributed_table('t', 'id')")
        connection.execute("INSERT INTO t SELECT generate_series(1, 100); GRANT ALL ON t TO alice")
    want_password(own_cluster.workers[0], "alice")
    return own_cluster


def count(node):
    with servers.connect(node, user="alice", password="first") as connection:
        return value(connection, "SELECT count(*) FROM t")


def test_missing_row_is_named(alices):
    worker = alices.workers[0]
    with servers.connect(alices.coordinator) as connection:
        nodeid = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [worker.port])
        warned = []
        connection.add_notice_handler(lambda notice: warned.append(notice.message_primary))
        assert rows(connection, "SELECT DISTINCT to_nodeport FROM citus_check_cluster_node_health() WHERE NOT result") == [(worker.port,)]
        assert sorted(warned) == sorted(f"node 127.0.0.1:{node.port} can't connect to node 127.0.0.1:{worker.port} as role \"alice\""
                                        for node in alices.nodes)
        found = dict(rows(connection, "SELECT from_nodeport, problem FROM citus_node_problems WHERE role = 'alice'"))
        for node in alices.nodes:
            assert f"In pg_dist_authinfo of node 127.0.0.1:{node.port} there is no row with a password for rolename \"alice\" " \
                f"and nodeid {nodeid} or 0" in found.pop(node.port)
        assert not found
    with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
        count(alices.coordinator)
    assert "no row with a password for rolename \"alice\"" in caught.value.diag.message_hint
    assert "citus_disable_node" not in caught.value.diag.message_hint


def test_wrong_password_is_told(alices):
    with servers.connect(alices.coordinator) as connection:
        connection.execute("SELECT citus_set_node_password('alice', 'wrong')")
    with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
        count(alices.coordinator)
    assert "password authentication failed" in caught.value.diag.message_detail
    assert "is not the one in pg_dist_authinfo" in caught.value.diag.message_hint


def test_roles_of_standbys(own_cluster):
    """A role that replicates, by a password, is none that nodes need a password for, unless they have one."""
    with servers.connect(own_cluster.coordinator) as connection:
        connection.execute("CREATE ROLE replicator LOGIN REPLICATION PASSWORD 'first'")
        want_password(own_cluster.workers[0], "replicator")
        assert rows(connection, "SELECT * FROM citus_node_problems") == []
        connection.execute("SELECT citus_set_node_password('replicator', 'wrong')")
        assert {role for role, in rows(connection, "SELECT role FROM citus_node_problems")} == {"replicator"}


def test_set_once(alices):
    """One call, from any node, is enough for all; a node that is added later gets it too. Other parameters stay."""
    with servers.connect(alices.workers[1]) as connection:
        connection.execute("INSERT INTO pg_dist_authinfo VALUES (1, 'alice', 'sslmode=prefer password = ''a\\'' b'' connect_timeout=5')")
        connection.execute("SELECT citus_set_node_password('alice', %s)", ["first"])
        assert rows(connection, "SELECT nodeid, regexp_replace(authinfo, ' +', ' ', 'g') FROM pg_dist_authinfo ORDER BY 1") == [
            (0, "password='first'"), (1, "sslmode=prefer connect_timeout=5 password='first'")]
    assert [count(node) for node in alices.nodes] == [100] * 3
    with servers.connect(alices.coordinator) as connection:
        assert rows(connection, "SELECT * FROM citus_node_problems") == []
        removed = alices.workers[1].port
        connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", [removed])
        connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [removed])
        alices.workers[1].sql("DELETE FROM pg_dist_authinfo")
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [removed])
        assert rows(connection, "SELECT * FROM citus_node_problems") == []
        assert count(alices.workers[1]) == 100
        connection.execute("SELECT citus_set_node_password('alice', NULL)")
    for node in alices.nodes:
        assert node.sql("SELECT authinfo FROM pg_dist_authinfo") == ""


def test_any_password(alices):
    with servers.connect(alices.coordinator) as connection:
        for password in ("it's", "back\\slash", "'", "\\'", "a b=c", "\\"):
            connection.execute("BEGIN")
            connection.execute(sql.SQL("ALTER ROLE alice PASSWORD {}").format(password))
            connection.execute("SELECT citus_set_node_password('alice', %s)", [password])
            connection.execute("COMMIT")
            assert count(alices.coordinator) == 100


def test_rotation(alices):
    """The password is changed again and again in one transaction with pg_dist_authinfo: no new connection fails."""
    with servers.connect(alices.coordinator) as connection:
        connection.execute("SELECT citus_set_node_password('alice', 'first')")
        stop, failures, done = threading.Event(), [], [0, 0]

        def work(number):
            while not stop.is_set():
                try:
                    assert count(alices.coordinator) == 100
                    done[number] += 1
                except Exception as error:  # pylint: disable=broad-except
                    failures.append(error)

        threads = [threading.Thread(target=work, args=[number]) for number in range(2)]
        for thread in threads:
            thread.start()
        turn = 0
        while turn < 30 or min(done) < 30:
            turn += 1
            connection.execute("BEGIN")
            connection.execute(f"ALTER ROLE alice PASSWORD 'number {turn}'")
            connection.execute("SELECT citus_set_node_password('alice', %s)", [f"number {turn}"])
            connection.execute("COMMIT")
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[:3]


def test_only_superusers(alices):
    with servers.connect(alices.coordinator, user="alice") as connection:
        for statement in ("SELECT citus_set_node_password('alice', 'x')", "SELECT * FROM citus_node_problems"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_registration_tells_the_reason(make_cluster):
    """A server that can't log in on a node, or the node there: which row is missing where is told, and nothing is changed."""
    made = make_cluster(workers=2, kind="bare")
    first, second = made.workers
    for node in made.nodes:
        node.sql("CREATE ROLE boss SUPERUSER LOGIN PASSWORD 'secret'")
    made.coordinator.sql(f"SELECT citus_set_coordinator_host('127.0.0.1', {made.coordinator.port}); "
                         "SELECT citus_set_node_password('boss', 'secret')")

    def refused(connection, from_node, to_node, added):
        with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [added.port])
        assert caught.value.diag.message_primary == \
            f"node 127.0.0.1:{from_node.port} can't connect to node 127.0.0.1:{to_node.port} as role \"boss\""
        assert 'there is no row with a password for rolename "boss"' in caught.value.diag.message_detail
        assert value(connection, "SELECT count(*) FROM pg_dist_node WHERE nodeport = %s", [added.port]) == 0

    want_password(made.coordinator, "boss")
    with servers.connect(made.coordinator, user="boss", password="secret") as connection:
        refused(connection, first, made.coordinator, first)
        first.sql("SELECT citus_set_node_password('boss', 'secret')")
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [first.port])

        first.sql("DELETE FROM pg_dist_authinfo")
        second.sql("SELECT citus_set_node_password('boss', 'secret')")
        want_password(second, "boss")
        refused(connection, first, second, second)
        connection.execute("SELECT citus_set_node_password('boss', 'secret')")
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [second.port])


def test_registration_warns_of_the_daemon(make_cluster):
    """The maintenance daemons' role can't log in on the new node, so that deadlocks would last: a warning says so."""
    made = make_cluster(workers=1, kind="bare")
    for node in made.nodes:
        node.sql("CREATE ROLE boss SUPERUSER LOGIN")
    made.coordinator.sql(f"SELECT citus_set_coordinator_host('127.0.0.1', {made.coordinator.port})")
    with servers.connect(made.coordinator, user="boss") as connection:
        made.coordinator.sql("ALTER ROLE postgres PASSWORD 'secret'")
        want_password(made.coordinator, "postgres")
        warned = []
        connection.add_notice_handler(lambda notice: warned.append((notice.message_primary, notice.message_hint)))
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [made.workers[0].port])
        (primary, hint), = warned
        assert primary == f"node 127.0.0.1:{made.workers[0].port} can't connect to node 127.0.0.1:{made.coordinator.port} as role \"postgres\""
        assert "deadlocks" in hint
        assert (made.workers[0].port, "postgres") in rows(connection, "SELECT from_nodeport, role FROM citus_node_problems")
