"""A cluster of a hundred small servers: made, used from ten of them, one killed and replaced, one added, one drained."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg

import usage
from pomelo_cluster import Cluster

SETTINGS = {"shared_buffers": "16MB", "max_connections": "60", "max_prepared_transactions": "120", "max_worker_processes": "16",
            "max_wal_size": "64MB", "min_wal_size": "32MB", "wal_init_zero": "off", "citus.shard_count": "256", "autovacuum_naptime": "10min"}
TABLES = 10
USERS = 10          # nodes that clients connect to
ROWS = 10_000       # of each table


def connect(node):
    return psycopg.connect(node.dsn, autocommit=True)


class Steps:
    """Prints what each step took."""

    def __init__(self):
        self.made = None

    def run(self, name, step, times=1):
        """A step's result; times: how often it does the same."""
        before, start = usage.cpu(self.made) if self.made else 0, time.monotonic()
        result = step()
        seconds = time.monotonic() - start
        spent = usage.cpu(self.made) - before if self.made else 0
        print(f"{name:58}{seconds / times:9.3f} s{spent / times:10.1f} ms CPU", flush=True)
        return result


def memory(made):
    """Gigabytes of all servers' processes (PSS)."""
    return sum(usage.pss_of(made).values()) / 1024


def add(made, new):
    with connect(made.coordinator) as connection:
        connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [new.port])


def form(made, steps, spare):
    """Joins the servers, but the last ones."""
    with connect(made.coordinator) as connection:
        connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [made.coordinator.port])
    workers = made.workers[:len(made.workers) - spare]
    for i in range(0, len(workers), 33):
        part = workers[i:i + 33]
        steps.run(f"a node added, mean of those up to number {i + len(part)}", lambda part=part: [add(made, node) for node in part], len(part))


def make_tables(made):
    with connect(made.coordinator) as connection:
        for number in range(TABLES):
            connection.execute(f"CREATE TABLE t{number} (id bigint PRIMARY KEY, other int, filler text)")
            connection.execute(f"SELECT create_distributed_table('t{number}', 'id')")


def fill(made):
    with connect(made.coordinator) as connection:
        for number in range(TABLES):
            connection.execute(f"INSERT INTO t{number} SELECT g, g, 'x' FROM generate_series(1, {ROWS}) g")


def by_users(made, statement, times):
    """Sessions of some nodes at once, each of which runs a statement some times; what failed."""
    def run(number, node):
        failed = []
        with connect(node) as connection:
            for i in range(times):
                try:
                    connection.execute(statement.format(table=f"t{(number + i) % TABLES}", key=(number * 997 + i * 31) % (ROWS - 1) + 1))
                except psycopg.Error as error:
                    failed.append(str(error).splitlines()[0])
        return failed

    stay = made.nodes[:-3]      # the others are killed, drained and added
    users = stay[::max(1, len(stay) // USERS)][:USERS]
    with ThreadPoolExecutor(USERS) as threads:
        return sum(threads.map(run, range(USERS), users), [])


USES = {
    "routed SELECT": ("SELECT * FROM {table} WHERE id = {key}", 100),
    "UPDATE of a row": ("UPDATE {table} SET other = other + 1 WHERE id = {key}", 100),
    "two-phase commit": ("UPDATE {table} SET other = other + 1 WHERE id IN ({key}, {key} + 1)", 30),
    "count(*)": ("SELECT count(*) FROM {table}", 10),
    "GROUP BY of a join by key": ("SELECT b.other % 10, count(*) FROM {table} a JOIN t1 b USING (id) GROUP BY 1", 3),
}


def use(made, steps, expected=0):
    for name, (statement, times) in USES.items():
        failed = steps.run(f"{name}, of {USERS} nodes at once", lambda statement=statement, times=times: by_users(made, statement, times),
                           USERS * times)
        if len(failed) > expected:
            print(f"  {len(failed)} failed: {set(failed)}", flush=True)


def replace(made, steps):
    """One node is killed; its standby takes its place."""
    lost = made.workers[-3]
    standby = steps.run("a standby made", lambda: made.add_standby(lost, made.workers[-1].port + 1))
    lost.kill()
    with connect(made.coordinator) as connection:
        steps.run("count(*) while a node is down, until it fails", lambda: fails(connection, "SELECT count(*) FROM t0"))
        failed = steps.run("routed SELECT of all keys' nodes while one is down", lambda: by_users(made, USES["routed SELECT"][0], 100), USERS * 100)
        print(f"  {len(failed)} of {USERS * 100} failed: {set(failed)}")
        standby.promote()
        group, = connection.execute("SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [lost.port]).fetchone()
        steps.run("citus_update_node", lambda: connection.execute("SELECT citus_update_node(%s, '127.0.0.1', %s)", [group, standby.port]))
        made.replace(lost, standby)
        steps.run("count(*), first after that", lambda: connection.execute("SELECT count(*) FROM t0"))


def fails(connection, statement):
    try:
        connection.execute(statement)
    except psycopg.Error as error:
        print(f"  {str(error).splitlines()[0]}", flush=True)
        return
    raise RuntimeError(f"did not fail: {statement}")


def grow_and_shrink(made, steps):
    """One node is added, and gets shards; another one is drained, and removed."""
    steps.run("a node added, beside tables", lambda: add(made, made.workers[-1]))
    with connect(made.coordinator) as connection:
        port = made.workers[-2].port
        shards, = connection.execute("SELECT count(*) FROM citus_shards WHERE nodeport = %s", [port]).fetchone()
        steps.run(f"a node drained of {shards} shards", lambda: connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", [port]))
        steps.run("it is removed", lambda: connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [port]))
        for number in range(TABLES):
            count, = connection.execute(f"SELECT count(*) FROM t{number}").fetchone()
            assert count == ROWS


def run(args):
    steps = Steps()
    with Cluster.temporary("bench-hundred", args.port, workers=args.workers, kind="bare", settings=SETTINGS) as made:
        steps.made = made
        print(f"{len(made.nodes)} servers, {memory(made):.2f} GB of memory (PSS), {os.getloadavg()[0]:.0f} waiting processes", flush=True)
        form(made, steps, 1)
        steps.run(f"{TABLES} tables of {SETTINGS['citus.shard_count']} shards, each", lambda: make_tables(made), TABLES)
        steps.run(f"{ROWS} rows for each table", lambda: fill(made), TABLES)
        use(made, steps)
        print(f"{memory(made):.2f} GB of memory (PSS), {usage.backends(made)} sessions on the fullest node", flush=True)
        replace(made, steps)
        grow_and_shrink(made, steps)
        use(made, steps)
        print(f"{memory(made):.2f} GB of memory (PSS), {usage.backends(made)} sessions on the fullest node", flush=True)
