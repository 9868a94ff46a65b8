"""Some clients ask more than a node can give, or one that answers nothing: those who ask others don't notice, and nobody starves."""

import threading

import psycopg
import pytest

from harness import servers
from harness.servers import PATIENCE, fill, rows, stopped, value

MANY, FEW = 12, 4       # clients that ask too much, and those that don't
ROUNDS = 10
LIMIT = "5s"            # citus.node_connection_timeout
KEYS = 200


@pytest.fixture(scope="module")
def busy():
    """Three workers with few connections each; keys: of some rows on each of them, by port."""
    with servers.cluster(purpose="check-busy", workers=3, settings={
            "max_connections": 30, "citus.node_connection_timeout": LIMIT, "citus.kept_connection_lifetime": 0}) as made:
        with servers.connect(made.coordinator) as connection:
            fill(connection, "t", KEYS)
            made.keys = dict(rows(connection, """
                SELECT nodeport, array_agg(id) FROM t JOIN citus_shards s ON s.shardid = get_shard_id_for_distribution_column('t', id)
                GROUP BY 1"""))
        yield made


class Clients:
    """Sessions of a node, of which each runs statements in a thread of its own until there are no more."""

    def __init__(self, node, count, statements):
        self.node = node
        self.statements = statements        # statements(number): those of the client of that number
        self.errors = []
        self.done = [0] * count
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        try:
            with servers.connect(self.node) as connection:
                for statement in self.statements(number):
                    try:
                        connection.execute(statement)
                    except psycopg.Error as error:
                        self.errors.append(error)
                    self.done[number] += 1
        except psycopg.Error as error:
            self.errors.append(error)

    def finish(self):
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def change(key):
    return f"UPDATE t SET payload = payload + 1 WHERE id = {key}"


def others(made, hot):
    """Statements of clients about rows that nobody else wants, on all nodes but those of the ports."""
    keys = [key for port, found in made.keys.items() if port not in hot for key in found[MANY:]]

    def statements(number):
        for i in range(ROUNDS):
            key = keys[(number + i * FEW) % len(keys)]
            yield change(key)
            yield f"SELECT * FROM t WHERE id = {key}"
    return statements


def test_hot_row(busy, connect):
    """Many sessions wait for one row's lock: rows beside it, in the same shard's node and elsewhere, are read and written."""
    key = busy.keys[busy.workers[0].port][0]
    holder = connect(busy.coordinator, autocommit=False)
    holder.execute(change(key))
    before = value(holder, "SELECT payload FROM t WHERE id = %s", [key])
    hot = Clients(busy.coordinator, MANY, lambda number: [change(key)])
    calm = Clients(busy.coordinator, FEW, others(busy, []))
    calm.finish()
    assert not calm.errors
    assert sum(hot.done) == 0
    holder.commit()
    hot.finish()
    assert not hot.errors
    assert value(holder, "SELECT payload FROM t WHERE id = %s", [key]) == before + MANY


@pytest.mark.parametrize("number", [0, 1, 2])
def test_stopped_node(busy, number):
    """Who asks a node that doesn't answer gets an error that names it, in time; who asks others gets answers."""
    node = busy.workers[number]
    with stopped(node):
        hot = Clients(busy.coordinator, MANY, lambda number: [change(busy.keys[node.port][number])])
        calm = Clients(busy.coordinator, FEW, others(busy, [node.port]))
        calm.finish()
        hot.finish()
    assert not calm.errors
    assert len(hot.errors) == MANY
    for error in hot.errors:
        assert error.sqlstate[:2] == "08" and f"127.0.0.1:{node.port}" in str(error)
    after = Clients(busy.coordinator, MANY, lambda number: [change(busy.keys[node.port][number])])
    after.finish()
    assert not after.errors


def test_ten_times_the_slots(busy):
    """Ten times more clients than the nodes' connections: while all of them go on, each gets its turns."""
    busy.coordinator.sql("ALTER SYSTEM SET citus.max_shared_pool_size = 2; SELECT pg_reload_conf()")
    stop = threading.Event()

    def statements(number):
        while not stop.is_set():
            yield change(number * 7 % KEYS + 1)
            yield "SELECT count(*) FROM t"

    clients = Clients(busy.coordinator, 20, statements)
    servers.wait_until(lambda: min(clients.done) >= 2 * ROUNDS or not all(thread.is_alive() for thread in clients.threads),
                       "each to get its turns")
    stop.set()
    clients.finish()
    assert not clients.errors
