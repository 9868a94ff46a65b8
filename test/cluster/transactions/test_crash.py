"""kill -9 at each debug point, of each process that takes part: nothing half-done, nothing left.

A case stops a process at a debug point, kills the victim (and so, as the server restarts itself
then, all other sessions of that server), lets the rest go on, and looks at the bank.
"""

import itertools
import os
import re
import signal
import threading

import psycopg
import pytest

from harness import bank, servers
from harness.servers import kill_process, on_every_node, pid_of, value, wait_until

USER = "crash"      # debug points are its settings on one node, so that nobody else runs into them

VICTIMS = ["backend", "worker_backend", "coordinator", "worker"]

# Points that the initiator reaches, and those that the worker's backend does.
SHARD_WRITE = [("task-resolved", "worker1")]
ONE_PHASE = [
    ("remote-after-send", "coordinator"),
    ("commit-before-one-phase", "coordinator"), ("commit-after-one-phase", "coordinator"),
    ("xact-before-commit", "worker1"), ("xact-after-commit", "worker1")]
TWO_PHASE = [
    ("remote-after-send", "coordinator"),
    ("commit-before-prepare", "coordinator"), ("commit-between-prepares", "coordinator"),
    ("commit-after-prepare", "coordinator"), ("commit-after-decision", "coordinator"),
    ("commit-between-commits", "coordinator"), ("commit-after-second-phase", "coordinator"),
    ("xact-before-prepare", "worker1"), ("xact-after-prepare", "worker1"),
    ("xact-before-finish-prepared", "worker1"), ("xact-after-finish-prepared", "worker1")]
TREE = [     # worker1 initiates too: a CHECK function there writes on worker2
    ("commit-between-prepares", "coordinator"), ("commit-after-prepare", "coordinator"),
    ("commit-after-decision", "coordinator"),
    ("commit-before-prepare", "worker1"), ("commit-after-prepare", "worker1"),
    ("xact-after-prepare", "worker1"),
    ("xact-before-finish-prepared", "worker1"), ("xact-after-finish-prepared", "worker1")]
ABORT = [("abort-before-rollback", "coordinator")]
RECOVERY = [("recovery-before-finish", "coordinator"), ("recovery-after-finish", "coordinator"),
            ("xact-before-finish-prepared", "worker1"), ("xact-after-finish-prepared", "worker1")]


@pytest.fixture(scope="module")
def bank_cluster():
    """1,000 accounts on all nodes, and a reference table.

    The daemons recover nothing, or they could be faster than the tests' clients.
    """
    with servers.cluster(purpose="check-crash", settings={"citus.recover_2pc_interval": "-1"}) as made:
        for node in made.nodes:
            node.sql(f"SET citus.enable_ddl_propagation = off; CREATE ROLE {USER} SUPERUSER LOGIN")
        bank.create(made)
        made.keys = {node.name: bank.keys_on(made, node.port) for node in made.workers}
        create_orders(made)
        made.numbers = itertools.count(1)
        yield made


def create_orders(made):
    """A table whose CHECK function, which runs at the row's node, moves money between the two workers."""
    payer, payee = made.keys["worker1"][0], made.keys["worker2"][0]
    made.coordinator.sql(f"""
        CREATE FUNCTION pay(number int) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN
            IF number > 0 THEN
                {transfer(payer, payee, "number")}
            END IF;
            RETURN true;
        END$$""")
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, last int CHECK (pay(last)))")
        connection.execute("SELECT create_distributed_table('orders', 'id', colocate_with => 'account')")
        connection.execute("INSERT INTO orders VALUES (%s, 0)", [payer])


def transfer(payer, payee, number):
    return (f"UPDATE account SET balance = balance - 1, last = {number} WHERE id = {payer};"
            f"UPDATE account SET balance = balance + 1, last = {number} WHERE id = {payee};")


def writes(cluster_, kind, number):
    """The statements of a transaction of that kind."""
    if kind == "reference":
        return f"UPDATE rate SET last = {number};"
    first, second = cluster_.keys["worker1"]
    if kind == "tree":
        return (f"UPDATE orders SET last = {number} WHERE id = {first};"
                f"UPDATE account SET last = {number} WHERE id = {cluster_.keys['worker2'][1]};")
    return transfer(first, second if kind == "single" else cluster_.keys["worker2"][0], number)


class Client:
    """A session that runs into a debug point on a node, in a thread."""

    def __init__(self, cluster_, point, where, statements):
        node = cluster_.node(where)
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {USER} SET citus.debug_points = '{point}=stop'")
        mark = node.log_mark()
        self.connection = servers.connect(cluster_.coordinator, user=USER)
        self.pid = pid_of(self.connection)
        self.error = None
        self.thread = threading.Thread(target=self.run, args=[statements])
        self.thread.start()
        self.stopped = wait_until(lambda: self.stopped_process(node, mark, point),
                                  f"a process to stop at {point}")
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {USER} RESET citus.debug_points")

    def stopped_process(self, node, mark, point):
        found = re.search(rf"process (\d+) stopped at {point}\n", node.log_since(mark))
        return found and int(found.group(1))

    def run(self, statements):
        try:
            self.connection.execute(statements)
        except psycopg.Error as error:
            print("the client got:", error.sqlstate, error)
            self.error = error

    def finish(self):
        """Lets the stopped process go on, however often it stops, and waits for the client's end."""
        wait_until(self.ended, "the client's end")
        self.connection.close()

    def ended(self):
        try:
            os.kill(self.stopped, signal.SIGCONT)
        except ProcessLookupError:
            pass
        self.thread.join(0.02)
        return not self.thread.is_alive()

    def outcome(self):
        """True or False if the client was told, None if it wasn't."""
        if self.error is None:
            return True
        if self.error.sqlstate is None or self.error.sqlstate in ("08007", "57P02"):
            return None
        return False


def kill_victim(cluster_, client, victim):
    """Kills a process, or a server; afterwards the server is up again."""
    node = cluster_.coordinator if victim in ("backend", "coordinator") else cluster_.workers[0]
    mark = node.log_mark()
    if victim in ("coordinator", "worker"):
        node.kill()
        client.finish()
        node.start()
        return
    pid = client.pid
    if victim == "worker_backend":
        with servers.connect(node) as watcher:
            pid = value(watcher, "SELECT pid FROM pg_stat_activity WHERE usename = %s", [USER])
        assert pid is not None, f"no session of {USER} on {node.name}"
    kill_process(pid)
    client.finish()
    wait_until(lambda: "ready to accept connections" in node.log_since(mark), f"{node.name} to be back")


def outcome_everywhere(cluster_, kind, number):
    """Whether the transaction happened; fails if that depends on whom one asks."""
    table, whole = {"reference": ("rate", bank.RATES), "tree": ("account", 3)}.get(kind, ("account", 2))
    seen = on_every_node(cluster_, f"SELECT count(*) FROM {table} WHERE last = %s", [number])
    counts = {count for ((count,),) in seen.values()}
    assert counts in ({0}, {whole}), f"seen in part: {seen}"
    return counts == {whole}


def check(cluster_, kind, number, expected):
    """The bank is in order, and the transaction is everywhere or nowhere, as the client was told."""
    bank.check(cluster_)
    assert outcome_everywhere(cluster_, kind, number) in ((True, False) if expected is None else (expected,))


def cases(points, kinds, name):
    """Each victim at each point; make check takes one of the victims of each point."""
    return [pytest.param(kind, point, where, victim, id=f"{place}-{victim}", marks=pytest.mark.one_of(place))
            for kind in kinds for point, where in points
            for place in [f"{name}-{kind}-{where}-{point}"] for victim in VICTIMS]


@pytest.mark.parametrize("kind,point,where,victim",
                         cases(SHARD_WRITE, ["single", "two"], "commit") +
                         cases(ONE_PHASE, ["single"], "commit") +
                         cases(TWO_PHASE, ["two", "reference"], "commit") +
                         cases(TREE, ["tree"], "commit") +
                         cases(ABORT, ["single", "two", "reference", "tree"], "rollback"))
def test_killed(bank_cluster, kind, point, where, victim):
    number = next(bank_cluster.numbers)
    end = "ROLLBACK" if point.startswith("abort") else "COMMIT"
    client = Client(bank_cluster, point, where, f"BEGIN; {writes(bank_cluster, kind, number)} {end}")
    kill_victim(bank_cluster, client, victim)
    check(bank_cluster, kind, number, False if end == "ROLLBACK" else client.outcome())


@pytest.mark.parametrize("kind,point,where,victim", cases(RECOVERY, ["two", "reference"], "recovery"))
def test_killed_in_recovery(bank_cluster, kind, point, where, victim):
    """What a failure left is finished in the end, though recovery is interrupted too."""
    number = next(bank_cluster.numbers)
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("SET citus.debug_points = 'commit-after-decision=error'")
        connection.execute(f"BEGIN; {writes(bank_cluster, kind, number)} COMMIT")
    client = Client(bank_cluster, point, where, "SELECT recover_prepared_transactions()")
    kill_victim(bank_cluster, client, victim)
    check(bank_cluster, kind, number, True)


@pytest.mark.parametrize("point", ["xact-before-commit", "xact-after-commit"])
def test_cancelled_while_the_writer_commits(bank_cluster, point):
    """A request to cancel that comes too late has no effect: the client isn't told of a failure."""
    number = next(bank_cluster.numbers)
    client = Client(bank_cluster, point, "worker1", f"BEGIN; {writes(bank_cluster, 'single', number)} COMMIT")
    client.connection.cancel()
    client.finish()
    outcome = client.outcome()
    assert outcome or point == "xact-before-commit" and outcome is False
    check(bank_cluster, "single", number, outcome)
