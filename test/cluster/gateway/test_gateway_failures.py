"""Clients of a gateway at work while its process, servers and their sessions are killed: no write is lost or doubled.

POMELO_RANDOM_SECONDS says how long (4 by default), POMELO_RANDOM_SEED repeats a choice of actions.
"""

import os
import random
import signal
import threading
import time
from contextlib import nullcontext

import psycopg
import pytest

from pomelo_check.sample import SEED

from harness import servers
from harness.gateways import SESSION, Gateway
from harness.proxy import Proxy
from harness.servers import kill_one_of, kill_process, rows, value, wait_until
from harness.stopped import is_stopped

SECONDS = float(os.environ.get("POMELO_RANDOM_SECONDS", "4"))
CLIENTS = 8
KEYS = 200

# SQLSTATEs that PostgreSQL's clients see when servers die; without one: the connection has ended.
EXPECTED = {None, "08000", "08001", "08003", "08006", "08007", "40001", "40P01", "57P01", "57P02", "57P03", "53300", "57014"}


class Teller(threading.Thread):
    """A client that writes rows with numbers of its own, and remembers those whose writing was acknowledged."""

    def __init__(self, gateway, number, stop):
        super().__init__(daemon=True)
        self.gateway, self.number, self.stop = gateway, number, stop
        self.random = random.Random(SEED * 100 + number)
        self.last = 0
        self.acknowledged = []
        self.failures = []

    def run(self):
        while not self.stop.is_set():
            try:
                with self.gateway.connect(prepare_threshold=1, sslmode="disable") as connection:
                    while not self.stop.is_set():
                        self.write(connection)
            except psycopg.Error as error:
                if error.sqlstate not in EXPECTED:
                    self.failures.append(f"{error.sqlstate} {error}")
                self.stop.wait(0.05)    # the gateway may be down: there is no event to wait for

    def write(self, connection):
        """TPC-B's transaction over three tables, or one statement that is routed."""
        self.last += 1
        number, delta = self.last, self.random.randrange(-50, 50)
        account, teller = self.random.randrange(1, KEYS), self.random.randrange(1, KEYS)
        history = "INSERT INTO history VALUES (%s, %s, %s, %s)"
        if self.random.random() < 0.5:
            connection.execute(history, [account, self.number, number, 0])
        else:
            with connection.transaction():
                connection.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", [delta, account])
                connection.execute("SELECT balance FROM accounts WHERE id = %s", [account])
                connection.execute("UPDATE tellers SET balance = balance + %s WHERE id = %s", [delta, teller])
                connection.execute(history, [account, self.number, number, delta])
        self.acknowledged.append(number)


def kill_one(kind, made, gateway, chosen):
    """The gateway's process, a session of any server, or a server, which is then started again."""
    if kind == "gateway":
        for pid in gateway.processes():
            kill_process(pid)
        return
    node = chosen.choice(made.nodes)
    if kind == "node":
        node.kill()
        node.start()
        return
    with servers.connect(node) as connection:
        pids = [pid for pid, in rows(connection, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                                                 "AND pid <> pg_backend_pid() ORDER BY pid")]
    kill_one_of(pids, chosen)


@pytest.fixture(scope="module")
def cluster():
    """Three tables behind the coordinator's gateway."""
    with servers.cluster(purpose="check-gatekill", settings={"citus.recover_2pc_interval": "2s", "deadlock_timeout": "100ms"}) as made:
        with servers.connect(made.coordinator) as connection:
            for table in ("accounts", "tellers"):
                servers.fill(connection, table, KEYS, payload="balance")
            connection.execute("CREATE TABLE history (id bigint, client int, number int, delta int)")
            connection.execute("SELECT create_distributed_table('history', 'id')")
        made.gateway = Gateway(made.coordinator)
        yield made


def test_session_on_its_way_out(cluster):
    """Nobody gets a session that has said that it ends, however long that takes."""
    with servers.connect(cluster.coordinator) as server, cluster.gateway.connect() as other:
        with cluster.gateway.connect() as client:
            client.execute("SELECT count(*) FROM accounts")
            client.execute("SET citus.debug_points = 'remote-at-exit=stop'")
            pid = value(client, SESSION)
        server.execute("SELECT pg_terminate_backend(%s)", [pid])
        wait_until(lambda: is_stopped(pid), "the session to stop on its way out")
        try:
            assert value(other, SESSION) != pid
        finally:
            os.kill(pid, signal.SIGCONT)


def test_no_write_is_lost_or_doubled(cluster):
    print(f"POMELO_RANDOM_SEED={SEED}")
    gateway, stop, chosen = cluster.gateway, threading.Event(), random.Random(SEED)
    tellers = [Teller(gateway, number, stop) for number in range(CLIENTS)]
    for teller in tellers:
        teller.start()
    end = time.monotonic() + SECONDS
    kinds = []
    while time.monotonic() < end or len(kinds) < 3:
        kinds.append((["gateway", "session", "node"])[len(kinds) % 3])
        written = sum(len(teller.acknowledged) for teller in tellers)
        kill_one(kinds[-1], cluster, gateway, chosen)
        wait_until(lambda: sum(len(teller.acknowledged) for teller in tellers) > written + 50,
                           f"clients to write again after the end of a {kinds[-1]}")
    stop.set()
    for teller in tellers:
        teller.join(servers.PATIENCE)
    assert not any(teller.is_alive() for teller in tellers), "a client hangs"
    assert not [failure for teller in tellers for failure in teller.failures]
    for node in cluster.nodes:
        with servers.connect(node) as connection:
            connection.execute("SELECT recover_prepared_transactions()")
    servers.wait_until_quiet(cluster)
    with servers.connect(cluster.coordinator) as connection:
        found = {}
        for client, number, count in rows(connection, "SELECT client, number, count(*) FROM history GROUP BY 1, 2"):
            found[client, number] = count
        assert max(found.values()) == 1, "a write is doubled"
        lost = {(teller.number, number) for teller in tellers for number in teller.acknowledged} - set(found)
        assert not lost
        sums = rows(connection, "SELECT (SELECT sum(balance) FROM accounts), (SELECT sum(balance) FROM tellers), "
                                "(SELECT sum(delta) FROM history)")[0]
        assert len(set(sums)) == 1, sums
        print(f"{len(found)} writes, {len(kinds)} killed")


def test_database_without_clients(cluster):
    """It can be dropped, renamed and copied, although the gateway has kept sessions; not while it has clients."""
    with servers.connect(cluster.coordinator) as server:
        server.execute("CREATE DATABASE used")
        with cluster.gateway.connect(dbname="used") as client:
            client.execute("SELECT 1")
            with pytest.raises(psycopg.errors.ObjectInUse):
                server.execute("DROP DATABASE used")
        server.execute("DROP DATABASE used")
        for statement in ("CREATE DATABASE copied TEMPLATE kept", "ALTER DATABASE kept RENAME TO renamed", "DROP DATABASE kept"):
            server.execute("CREATE DATABASE kept")
            with cluster.gateway.connect(dbname="kept") as client:
                client.execute("SELECT 1")
            assert value(server, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'kept'") > 0
            server.execute(statement)
            for name in ("kept", "copied", "renamed"):
                server.execute(f"DROP DATABASE IF EXISTS {name}")


def routed(made):
    """How many statements went straight to another node, and how many did not since it could not be reached."""
    with servers.connect(made.coordinator) as server:
        return (value(server, "SELECT sum(routed) FROM citus_stat_gateway"),
                value(server, "SELECT sum(statements) FROM citus_stat_gateway_unrouted WHERE reason LIKE '%reached'"))


@pytest.fixture
def old_worker(make_cluster):
    """A cluster whose worker is known by a proxy's address, and the keys that are there."""
    made = make_cluster(workers=1)
    made.proxy = Proxy(made.workers[0].port)
    with servers.connect(made.coordinator) as server:
        server.execute("SELECT citus_update_node(nodeid, '127.0.0.1', %s) FROM pg_dist_node WHERE nodeport = %s",
                       [made.proxy.port, made.workers[0].port])
        servers.fill(server, "t", 100)
        made.keys = [key for key, in rows(server, """
            SELECT id FROM t JOIN citus_shards ON shardid = get_shard_id_for_distribution_column('t', id) WHERE nodeport = %s""",
                                          [made.proxy.port])]
    made.gateway = Gateway(made.coordinator)
    yield made
    made.proxy.shut()


def test_node_of_an_older_build(old_worker):
    """A node that refuses a setting of the gateway gets statements from the server, and from the gateway once it knows the setting."""
    made, written = old_worker, 0
    made.proxy.unknown = b"citus.answers_together"
    with made.gateway.connect(prepare_threshold=0) as client:
        def write():
            nonlocal written
            for block in (False, True):
                with client.transaction() if block else nullcontext():
                    for key in made.keys[:10]:
                        client.execute("UPDATE t SET payload = payload + 1 WHERE id = %s", [key])
            written += 20
            return routed(made)

        wait_until(lambda: write()[1] > 20, "statements that could have been routed")
        assert routed(made)[0] == 0
        mark = made.workers[0].log_mark()
        wait_until(lambda: write() and "citus.answers_togetheX" in made.workers[0].log_since(mark), "another attempt")
        made.proxy.unknown = b""
        wait_until(lambda: write()[0] > 20, "statements to be routed")
        assert value(client, "SELECT sum(payload) FROM t") == written


def test_functions_of_an_older_build(old_worker):
    """Without the functions that tell the routes, all statements run on the gateway's own server."""
    made = old_worker
    for name in ("gateway_route", "gateway_query_route"):
        made.coordinator.sql(f"ALTER FUNCTION citus_internal.{name}(text) RENAME TO {name}_hidden")
    with made.gateway.connect(prepare_threshold=0) as client, made.gateway.connect(cursor_factory=psycopg.ClientCursor) as simple:
        for key in made.keys * 4:
            client.execute("UPDATE t SET payload = payload + 1 WHERE id = %s", [key])
            simple.execute(f"UPDATE t SET payload = payload + 1 WHERE id = {key}")
        assert value(client, "SELECT sum(payload) FROM t") == 8 * len(made.keys)
        assert routed(made)[0] == 0
