"""A pooler in transaction mode between nodes, or a gateway, which gives each transaction another session of the node."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from pomelo_cluster import pooler

from harness import servers
from harness.servers import prepared_transactions, rows, value

pytestmark = [pytest.mark.skipif(pooler.PROGRAM is None, reason="pgbouncer is not installed: tools/install-deps does it"),
              pytest.mark.some(12)]

SESSIONS = 8
ROUNDS = 40
ROLES = ("alice", "bob")

# Round robin: a client's next transaction is served by another session than its last one.
SETTINGS = {"default_pool_size": 40, "min_pool_size": 5, "server_round_robin": 1}


def make_tables(made):
    for node in made.nodes:
        node.sql("SET citus.enable_ddl_propagation = off;" + "".join(f"CREATE ROLE {role} LOGIN;" for role in ROLES))
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, owner text, payload int)")
        connection.execute("SELECT create_distributed_table('t', 'id', shard_count => 8)")
        connection.execute("INSERT INTO t SELECT g, (array['alice', 'bob'])[1 + g % 2], 0 FROM generate_series(1, 100) g")
        connection.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY own ON t USING (owner = current_user)")
        connection.execute("GRANT SELECT, UPDATE ON t TO alice, bob")


def pooler_query(made, ports, declared):
    """What tells the coordinator of the poolers, and what makes it forget them again."""
    if declared:
        return ["INSERT INTO pg_dist_poolinfo SELECT nodeid, 'host=127.0.0.1 port=' || CASE nodeport "
                + " ".join(f"WHEN {node.port} THEN {port}" for node, port in zip(made.workers, ports))
                + " END FROM pg_dist_node WHERE groupid <> 0"], ["DELETE FROM pg_dist_poolinfo"]
    moves = [(node.port, port) for node, port in zip(made.workers, ports)]
    there = [f"SELECT citus_update_node(nodeid, '127.0.0.1', {new}) FROM pg_dist_node WHERE nodeport = {old}"
             for old, new in moves]
    back = [f"SELECT citus_update_node(nodeid, '127.0.0.1', {old}) FROM pg_dist_node WHERE nodeport = {new}"
            for old, new in moves]
    return there, back


@pytest.fixture(scope="module")
def direct_cluster():
    with servers.cluster(purpose="check-poolers") as made, ExitStack() as stack:
        make_tables(made)
        gateways = [node.start_gateway({"gateway_pool_size": 15}) for node in made.workers]
        ports = [stack.enter_context(pooler.pooler(node, ("postgres", *ROLES), SETTINGS)).port for node in made.workers]
        yield made, ports, gateways


@pytest.fixture(params=["declared", "undeclared", "gateway"])
def pooled(request, direct_cluster):
    """A cluster with poolers, or the nodes' gateways, in pg_dist_poolinfo, or poolers as the nodes' registered addresses."""
    made, ports, gateways = direct_cluster
    there, back = pooler_query(made, gateways if request.param == "gateway" else ports, request.param != "undeclared")
    with servers.connect(made.coordinator) as connection:
        for query in there:
            connection.execute(query)
        connection.execute("UPDATE t SET payload = 0")
        yield made, request.param != "undeclared"
        for query in back:
            connection.execute(query)


def connections_of(node):
    """How many sessions of the node other nodes have, or poolers for them."""
    with servers.connect(node) as connection:
        return value(connection, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                     "AND pid <> pg_backend_pid() AND application_name LIKE 'citus_internal%'")


def test_the_pooler_is_used(pooled):
    """More sessions than the pooler has opened: so they go through it."""
    made, _ = pooled
    with ExitStack() as stack:
        clients = [stack.enter_context(servers.connect(made.coordinator)) for _ in range(20)]
        for client in clients:
            assert value(client, "SELECT count(*) FROM t") == 100
        assert connections_of(made.workers[0]) < len(clients)


def ask(made, number):
    """One session's statements, whose texts are its own, and the wrong answers to them."""
    wrong = []
    with servers.connect(made.coordinator) as connection:
        connection.execute(f"SET myapp.number = {number}")
        connection.execute(f"SET search_path = public, s{number}")
        for turn in range(ROUNDS):
            key = 1 + turn % 100
            found = rows(connection, f"SELECT id, {number}, current_setting('myapp.number')::int, "
                         f"current_schemas(false)::text FROM t WHERE id = {key} AND payload < {1000 + number}")
            if found != [(key, number, number, "{public}")]:
                wrong.append(found)
            found = value(connection, f"SELECT count(*) + {number} FROM t WHERE current_setting('myapp.number') = '{number}'")
            if found != 100 + number:
                wrong.append(found)
        connection.execute("RESET myapp.number")
    return wrong


def test_answers(pooled):
    """Statements and settings of sessions don't meet in a session of the node."""
    made, _ = pooled
    with ThreadPoolExecutor(SESSIONS) as threads:
        answers = list(threads.map(lambda number: ask(made, number), range(SESSIONS)))
    assert answers == [[]] * SESSIONS


def test_settings_do_not_stay(pooled):
    """What one session has set is not there for another one, which has not set it."""
    made, _ = pooled
    with servers.connect(made.coordinator) as first, servers.connect(made.coordinator) as second:
        for turn in range(10):
            first.execute(f"SET myapp.mark = 'x{turn}'")
            assert value(first, f"SELECT count(*) FROM t WHERE current_setting('myapp.mark', true) = 'x{turn}'") == 100
        for key in range(1, 30):
            query = f"SELECT nullif(current_setting('myapp.mark', true), '') FROM t WHERE id = {key} AND payload > -{key}"
            assert rows(second, query) == [(None,)]


def write_as(made, number):
    """One session's reads and writes with a role that it takes; the wrong answers."""
    role = ROLES[number % 2]
    keys = [10 * number + 2 * i + number % 2 for i in range(1, 5)]
    wrong = []
    with servers.connect(made.coordinator) as connection:
        connection.execute(f"SET ROLE {role}")
        for _ in range(ROUNDS // 4):
            found = rows(connection, "SELECT DISTINCT owner, current_user::text FROM t")
            if found != [(role, role)]:
                wrong.append(found)
            with connection.transaction():
                connection.execute("SAVEPOINT a")
                connection.execute("UPDATE t SET payload = -1 WHERE id = ANY (%s)", [keys])
                connection.execute("ROLLBACK TO a")
                connection.execute("UPDATE t SET payload = payload + 1 WHERE id = ANY (%s)", [keys])
    return wrong


def test_roles_and_transactions(pooled):
    """A session's role holds for all that it does, and two-phase commits end by themselves."""
    made, _ = pooled
    with ThreadPoolExecutor(SESSIONS) as threads:
        answers = list(threads.map(lambda number: write_as(made, number), range(SESSIONS)))
    assert answers == [[]] * SESSIONS
    assert [prepared_transactions(node) for node in made.nodes] == [[], [], []]
    with servers.connect(made.coordinator) as connection:
        assert rows(connection, "SELECT payload, count(*) FROM t GROUP BY 1 ORDER BY 1") == \
            [(0, 100 - 4 * SESSIONS), (ROUNDS // 4, 4 * SESSIONS)]


def test_copy(pooled):
    made, _ = pooled
    with servers.connect(made.coordinator) as connection:
        with connection.transaction(force_rollback=True), connection.cursor() as cursor:
            with cursor.copy("COPY t FROM STDIN") as copy:
                for key in range(1000, 1100):
                    copy.write_row((key, "alice", key))
            assert value(connection, "SELECT sum(payload) FROM t WHERE id >= 1000") == sum(range(1000, 1100))


def test_outside_transactions(pooled):
    """VACUUM can't go through the pooler: it goes to the node itself, if that is known."""
    made, declared = pooled
    with servers.connect(made.coordinator) as connection:
        if declared:
            connection.execute("VACUUM t")
        else:
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="through a connection pooler"):
                connection.execute("VACUUM t")
        assert value(connection, "SELECT count(*) FROM t") == 100


@pytest.mark.parametrize("poolinfo", ["user=postgres", "host=a password=b", "nonsense"])
def test_poolinfo_is_checked(direct_cluster, poolinfo):
    made = direct_cluster[0]
    with servers.connect(made.coordinator) as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("INSERT INTO pg_dist_poolinfo VALUES (1, %s)", [poolinfo])
