"""Clusters for tests, and what tests do to them."""

import hashlib
import hmac
import os
import signal
import socket
import time
from contextlib import contextmanager, suppress

import psycopg
import pytest

from pomelo_cluster import Cluster

from pomelo_check import FAST
from pomelo_check.sample import PART

FIRST_PORT = int(os.environ.get("POMELO_TEST_PORT", "20500")) + 200 * (PART - 1)     # others may not take what a test stops
PATIENCE = 90       # seconds that an awaited event may take
LENDING = 2         # seconds after which a gateway's client has a session for its statement
THROUGH_GATEWAY = "POMELO_GATEWAY" in os.environ
MULTIPLEXED = "POMELO_MULTIPLEXED" in os.environ
KEPT = {"citus.kept_connection_lifetime": os.environ["POMELO_KEPT"]} if "POMELO_KEPT" in os.environ else {}
# What moves of shards, and clones, could leave behind on a node.
LEFT = """
    SELECT 'record', object_name FROM pg_dist_cleanup
    UNION ALL SELECT 'slot', slot_name FROM pg_replication_slots
    UNION ALL SELECT 'publication', pubname FROM pg_publication
    UNION ALL SELECT 'subscription', subname FROM pg_subscription
    UNION ALL SELECT 'role', rolname FROM pg_roles WHERE rolname LIKE 'citus_shard%'
    UNION ALL SELECT 'prepared', gid FROM pg_prepared_xacts
    UNION ALL SELECT 'placement', shardid::text FROM pg_dist_placement WHERE shardstate <> 1
    UNION ALL SELECT 'relation', relname FROM pg_class c
    WHERE relnamespace = 'citus_data'::regnamespace AND relkind IN ('r', 'p') AND oid NOT IN (
        SELECT logicalrelid FROM pg_dist_partition UNION ALL SELECT to_regclass(shard_name(logicalrelid, shardid)) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
        JOIN pg_dist_local_group USING (groupid) WHERE to_regclass(shard_name(logicalrelid, shardid)) IS NOT NULL)"""
gateway_ports = {}  # by the port of their server, where tests connect through them


@contextmanager
def cluster(purpose="check-cluster", workers=2, kind="cluster", settings=None):
    """A cluster of its own for the duration of the `with`."""
    with Cluster.temporary(purpose, FIRST_PORT, workers=workers, kind=kind,
                           settings={**FAST, **KEPT, **(settings or {})}) as made:
        if MULTIPLEXED and kind == "cluster":
            from harness import links   # pylint: disable=import-outside-toplevel,cyclic-import
            links.give_gateways(made)
        elif THROUGH_GATEWAY and kind == "cluster":
            gateway_ports[made.coordinator.port] = made.coordinator.start_gateway()
        try:
            yield made
        finally:
            for node in made.nodes:
                gateway_ports.pop(node.port, None)


def connect(node, user="postgres", dbname="postgres", autocommit=True, **options):
    """A psycopg connection; outside transaction blocks unless autocommit is False."""
    port = gateway_ports.get(node.port, node.port)
    if port != node.port and node.pid():
        node.wait_for_gateway(port)
    return psycopg.connect(node.dsn_for(user, dbname), port=port, autocommit=autocommit,
                           connect_timeout=PATIENCE, **options)


def rows(connection, query, parameters=None):
    """All rows of a query."""
    return connection.execute(query, parameters).fetchall()


def value(connection, query, parameters=None):
    """The first column of the first row; None when there is no row."""
    row = connection.execute(query, parameters).fetchone()
    return None if row is None else row[0]


def context_bytes(connection, name):
    """What the session's memory contexts of a name and those below them take (before PostgreSQL 18: those just below)."""
    below = "m.parent = c.name" if connection.info.server_version < 180000 else "m.path[c.level] = c.path[c.level]"
    return value(connection, "WITH contexts AS MATERIALIZED (SELECT * FROM pg_backend_memory_contexts) SELECT sum(m.total_bytes) FROM contexts m "
                 f"WHERE EXISTS (SELECT FROM contexts c WHERE c.name = %s AND (m.name = c.name OR {below}))", [name])


def wait_until(condition, what, timeout=PATIENCE):
    """Waits until condition() is true and returns its result; fails after the timeout.

    A server that is just restarting counts as a condition that isn't true yet.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            result, trouble = condition(), ""
        except psycopg.OperationalError as error:
            result, trouble = None, f" ({error})"
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s for: {what}{trouble}")
        time.sleep(0.02)


def pid_of(connection):
    """The process that serves a connection. That of a gateway's client is known while its statement runs: else the test is skipped."""
    server = next((port for port, gateway in gateway_ports.items() if gateway == connection.info.port), None)
    if server is None:
        return connection.info.backend_pid
    with socket.socket(fileno=os.dup(connection.fileno())) as opened:
        address, port = opened.getsockname()
    deadline = time.monotonic() + LENDING
    with psycopg.connect(connection.info.dsn, user="postgres", port=server) as observer:
        while time.monotonic() < deadline:
            pid = value(observer, "SELECT pid FROM pg_stat_activity WHERE client_addr = %s AND client_port = %s AND state <> 'idle'",
                        [address, port])
            observer.rollback()
            if pid is not None:
                return pid
            time.sleep(0.02)
    return pytest.skip("is about one process")


def kill_process(pid, how=signal.SIGKILL):
    """Kills a process at once; SIGKILL makes its server restart as after a crash."""
    os.kill(pid, how)


@contextmanager
def stopped(node):
    """All processes of a server stand still: its connections stay, new ones are accepted, and nothing is answered."""
    pids = [node.pid()]
    try:
        kill_process(pids[0], signal.SIGSTOP)
        for pid in node.processes():
            with suppress(ProcessLookupError):
                kill_process(pid, signal.SIGSTOP)
                pids.append(pid)
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                kill_process(pid, signal.SIGCONT)


def kill_one_of(pids, chosen):
    """Kills one of the processes, which may end by themselves meanwhile; chosen, a random.Random, says which."""
    pids = list(pids)
    chosen.shuffle(pids)
    for pid in pids:
        try:
            kill_process(pid)
            return
        except ProcessLookupError:
            continue


def transactions(node):
    """Open transactions of clients and other nodes on a node: (pid, state, application, query)."""
    with connect(node) as connection:
        return rows(connection, """
            SELECT pid, state, application_name, left(query, 100) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
              AND (xact_start IS NOT NULL OR state <> 'idle')""")


def prepared_transactions(node):
    with connect(node) as connection:
        return [row[0] for row in rows(connection, "SELECT gid FROM pg_prepared_xacts")]


def wait_until_quiet(cluster_, timeout=PATIENCE):
    """Waits until no node has an open transaction or a prepared one."""
    for node in cluster_.nodes:
        try:
            wait_until(lambda: not transactions(node),
                       f"no open transaction on {node.name}", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}: {transactions(node)}") from None
        wait_until(lambda: not prepared_transactions(node),
                   f"no prepared transaction on {node.name}", timeout)


def on_every_node(cluster_, query, parameters=None):
    """The rows of a query, by the node's name."""
    found = {}
    for node in cluster_.nodes:
        with connect(node) as connection:
            found[node.name] = rows(connection, query, parameters)
    return found


def footprint(cluster_):
    """Everything that tables leave in a node's catalogs: by node, the rows as text.

    Two equal footprints mean that what happened between them left no trace.
    """
    return on_every_node(cluster_, """
        SELECT 'class', n.nspname, c.relname FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname !~ '^pg_(toast|temp)' AND n.nspname NOT IN ('information_schema')
        UNION ALL SELECT 'type', n.nspname, t.typname FROM pg_type t
          JOIN pg_namespace n ON n.oid = t.typnamespace
          WHERE n.nspname !~ '^pg_(toast|temp)' AND n.nspname NOT IN ('information_schema')
        UNION ALL SELECT 'schema', nspname, '' FROM pg_namespace WHERE nspname !~ '^pg_(toast|temp)'
        UNION ALL SELECT 'role', rolname, '' FROM pg_roles
        UNION ALL SELECT 'constraint', conrelid::text, conname FROM pg_constraint
        UNION ALL SELECT 'table', logicalrelid::text, partkey FROM pg_dist_partition
        UNION ALL SELECT 'shard', logicalrelid::text, shardid::text FROM pg_dist_shard
        UNION ALL SELECT 'placement', shardid::text, groupid::text FROM pg_dist_placement
        UNION ALL SELECT DISTINCT 'group', colocationid::text, shardcount::text FROM pg_dist_colocation
            JOIN pg_dist_partition USING (colocationid)     -- one without tables may be left for others like them
        ORDER BY 1, 2, 3""")


# A condition that takes about a second per row, can be interrupted, and is sent to the shards: a built-in,
# immutable function of a column.
SLOW = "factorial(30000 + payload) > 0"


def wait_until_slow(cluster_):
    """Waits until a part of a statement with SLOW is at work for another node."""
    def at_work():
        return any(row for found in on_every_node(cluster_, """
            SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%factorial%%'
              AND application_name LIKE 'citus_internal%%'""").values() for row in found)

    wait_until(at_work, "the statement to be at work on another node")


def client_sockets(port):
    """The local ports of the TCP connections to a port of this machine that are open at the client's end."""
    found = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            lines = [line.split() for line in list(file)[1:]]
        found |= {int(local.rpartition(":")[2], 16) for _, local, remote, state, *_ in lines
                  if state == "01" and int(remote.rpartition(":")[2], 16) == port}
    return found


def sessions_between(opener, node):
    """How many connections the sessions of clients of one node have to another, at one time.

    A session whose client has closed its connection takes a moment to notice: it doesn't count, nor do the opener's daemons.
    """
    with connect(opener) as connection:
        clients = [pid for pid, in rows(connection, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")]
    with psycopg.connect(node.dsn, autocommit=True) as watcher:
        ports = {port for port, in rows(watcher, """
            SELECT client_port FROM pg_stat_activity
            WHERE substring(application_name, '^citus_internal gpid=(\\d+)')::bigint %% 10000000000 = ANY (%s)""", [clients])}
    return len(ports if MULTIPLEXED else ports & client_sockets(node.port))


def fill(connection, table, count, key="id", payload="payload"):
    """Makes a hash-distributed table of (key, payload) with that many rows."""
    connection.execute(f"CREATE TABLE {table} ({key} bigint PRIMARY KEY, {payload} int)")
    connection.execute("SELECT create_distributed_table(%s, %s)", [table, key])
    connection.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, {count}) g")


def node_session(node, user="postgres", dbname="postgres", **options):
    """A connection that proves to be another node's, as nodes do through a pooler (src/catalog/node_session.c).

    Its statements may carry tags. The proof is `NONCE.PID.MAC` with MAC = HMAC-SHA256 over nonce and process id,
    the database and the login role, keyed with the cluster's secret.
    """
    with connect(node, dbname=dbname) as superuser:
        secret = value(superuser, "SELECT secret FROM pg_dist_node_secret")
    nonce = os.urandom(16).hex()
    claim = f"{nonce}.{os.getpid()}"
    message = "\n".join(["citus node session", claim, dbname, user])
    mac = hmac.new(secret, message.encode(), hashlib.sha256).hexdigest()
    return connect(node, user, dbname, options=f"-c citus.node_proof={claim}.{mac}", **options)
