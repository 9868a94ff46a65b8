"""A standby takes the place of a node that died: nothing acknowledged is lost, and nothing is seen in part."""

import random
import signal
import threading
import time

import psycopg
import pytest

from harness import bank, servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, total, transfer
from harness.proxy import Proxy
from harness.servers import (kill_process, pid_of, prepared_transactions, rows, value, wait_until,
                             wait_until_quiet)
from harness.stopped import Stopped, is_stopped
from pomelo_cluster import find_free_ports

UPDATE_ALL = "UPDATE account SET balance = balance + 1"


@pytest.fixture(scope="module")
def bank_cluster():
    """A cluster whose nodes know each other by addresses that can be given to other servers: those of proxies."""
    with servers.cluster(purpose="check-promotion", kind="bare",
                         settings={"citus.recover_2pc_interval": "1h"}) as made:
        made.proxies = [Proxy(node.port) for node in made.nodes]
        with servers.connect(made.coordinator) as connection:
            connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [made.proxies[0].port])
            for proxy in made.proxies[1:]:
                connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [proxy.port])
        yield made
        for proxy in made.proxies:
            proxy.shut()


@pytest.fixture
def accounts(bank_cluster):
    account_tables(bank_cluster)
    yield bank_cluster
    recover(bank_cluster)
    wait_until_quiet(bank_cluster)


def recover(made):
    for node in made.nodes:
        with servers.connect(node) as connection:
            connection.execute("SELECT recover_prepared_transactions()")


def clock(node):
    with servers.connect(node) as connection:
        return value(connection, "SELECT citus_internal.snapshot_begin()")


class Failover:
    """A node with a standby that has all that the node has acknowledged, and takes its place."""

    def __init__(self, made, number):
        self.made, self.number, self.node = made, number, made.nodes[number]
        self.standby = made.add_standby(self.node, find_free_ports(1, servers.FIRST_PORT))
        self.node.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
        wait_until(lambda: self.node.sql("SELECT sync_state FROM pg_stat_replication") == "sync",
                   "a synchronous standby")

    def in_place(self):
        """The standby gets the address of the node, which is dead."""
        self.standby.promote()
        self.made.replace(self.node, self.standby)
        self.made.proxies[self.number].target = self.standby.port

    def new_address(self):
        """All nodes are told of another address."""
        self.standby.promote()
        self.made.replace(self.node, self.standby)
        old, new = self.made.proxies[self.number], Proxy(self.standby.port)
        self.made.proxies[self.number] = new
        with servers.connect(self.made.coordinator) as connection:
            nodeid = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [old.port])
            connection.execute("SELECT citus_update_node(%s, '127.0.0.1', %s)", [nodeid, new.port])
        old.shut()


def check_replicas(made):
    with servers.connect(made.coordinator) as connection:
        replicas = rows(connection, "SELECT equal FROM citus_check_reference_table('rate')")
    assert replicas == [(True,)] * len(made.nodes), replicas


class Journal:
    """Transfers by one client, each with a number, in a transaction that also writes a reference table."""

    def __init__(self, made, number):
        self.made, self.number, self.acknowledged = made, number, 0

    def work(self, _):
        """On any node, until a connection is lost."""
        try:
            with servers.connect(random.choice(self.made.nodes)) as connection:
                connection.execute("SET lock_timeout = '2s'")
                for _ in range(20):
                    self.step(connection)
        except psycopg.OperationalError:
            time.sleep(0.05)    # the node is down: there is no event to wait for

    def step(self, connection):
        with connection.transaction():
            transfer(connection)
            if random.random() < 0.3:
                connection.execute("UPDATE rate SET percent = percent + 1")
            noted = value(connection, "UPDATE journal SET n = n + 1 WHERE client = %s RETURNING n", [self.number])
        assert noted > self.acknowledged, f"client {self.number}: {self.acknowledged} was lost"
        self.acknowledged = noted


def reader(made, number, work):
    """Repeats work on a node, whatever server it is now; a server may be away, but sums must be right."""
    def read(_):
        try:
            with servers.connect(made.nodes[number]) as connection:
                connection.execute("SET citus.snapshot_timeout = '2s'")
                for _ in range(20):
                    work(connection)
        except psycopg.OperationalError:
            time.sleep(0.05)

    return read


@pytest.mark.some(1)
@pytest.mark.parametrize("how", ["in_place", "new_address"])
@pytest.mark.parametrize("number", [1, 0], ids=["worker", "coordinator"])
def test_under_load(accounts, number, how):
    """The node is killed while transfers are under way; the load goes on afterwards."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS journal; CREATE TABLE journal (client int PRIMARY KEY, n int)")
        connection.execute("SELECT create_distributed_table('journal', 'client', colocate_with => 'account')")
        connection.execute("INSERT INTO journal SELECT g, 0 FROM generate_series(1, 6) g")
    failover = Failover(accounts, number)
    load = Load()
    journals = [Journal(accounts, number) for number in range(1, 7)]
    for journal in journals:
        load.add(None, journal.work, f"journal {journal.number}")
    for other in range(len(accounts.nodes)):
        load.add(None, reader(accounts, other, check_total), f"sum {other}")
        load.add(None, reader(accounts, other, check_repeatable), f"reader {other}")

    def progress(more, meanwhile=lambda: None):
        goals = [journal.acknowledged + more for journal in journals]

        def is_reached():
            meanwhile()
            return load.stop.is_set() or all(journal.acknowledged >= goal for journal, goal in zip(journals, goals))

        wait_until(is_reached, "transfers")

    def fail_over():
        progress(10)
        before = clock(failover.node)
        failover.node.kill()
        getattr(failover, how)()
        assert clock(failover.standby) >= before
        # again and again: recovery leaves a transaction alone whose session hasn't learnt yet that its connection is lost
        progress(10, meanwhile=lambda: recover(accounts))

    load.meanwhile(fail_over)
    recover(accounts)
    wait_until_quiet(accounts)
    check_replicas(accounts)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            check_total(connection)
            check_repeatable(connection)
            noted = dict(rows(connection, "SELECT client, n FROM journal"))
            assert all(noted[journal.number] >= journal.acknowledged for journal in journals)
            connection.execute("SET lock_timeout = '5s'; UPDATE account SET balance = balance")


@pytest.mark.parametrize("reading", [2, 1], ids=["from the other", "from the new"])
def test_decided_before(accounts, reading):
    """A transaction was committed on the node that died, but not yet on the other one: its timestamp is lost with the node."""
    failover = Failover(accounts, 1)
    stopped = Stopped(accounts.coordinator, "commit-between-commits", UPDATE_ALL)
    wait_until(lambda: not prepared_transactions(failover.node), "COMMIT PREPARED on the first node")
    assert prepared_transactions(accounts.nodes[2])
    failover.node.kill()
    failover.in_place()
    seen = []
    with servers.connect(accounts.nodes[reading]) as reader_:
        waiting = threading.Thread(target=lambda: seen.append(total(reader_)))
        waiting.start()
        wait_until(lambda: accounts.nodes[2].sql("SELECT 1 FROM pg_locks WHERE NOT granted"),
                   "the reader to wait")
        assert stopped.go_on() is None
        waiting.join(servers.PATIENCE)
    assert seen == [(ACCOUNTS * (BALANCE + 1), ACCOUNTS)]


@pytest.mark.some(2)
@pytest.mark.parametrize("step,number,committed", [
    ("commit-after-prepare", 1, True), ("commit-after-decision", 1, True), ("commit-between-commits", 2, True),
    ("commit-after-prepare", 0, False), ("commit-after-decision", 0, True), ("commit-between-commits", 0, True)])
def test_prepared(accounts, step, number, committed):
    """A participant, or the initiator, dies while the transaction is prepared: readers wait, and recovery ends it."""
    failover = Failover(accounts, number)
    stopped = Stopped(accounts.coordinator, step, UPDATE_ALL)
    failover.node.kill()
    failover.in_place()
    if number == 0:
        stopped.finish()
    else:
        for node in accounts.nodes:
            with servers.connect(node, options="-c citus.snapshot_timeout=200ms") as connection, \
                    pytest.raises(psycopg.errors.LockNotAvailable):
                total(connection)
        assert stopped.go_on() is None
    recover(accounts)
    assert not any(prepared_transactions(node) for node in accounts.nodes)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            assert total(connection) == (ACCOUNTS * (BALANCE + committed), ACCOUNTS)


def test_numbers_grow(accounts):
    """The standby doesn't give transactions the numbers of old ones, even if it was started before their node."""
    failover = Failover(accounts, 0)
    failover.node.restart()

    def next_number():
        stopped = Stopped(accounts.coordinator, "commit-after-prepare", UPDATE_ALL)
        gids = prepared_transactions(accounts.nodes[2])
        assert stopped.go_on() is None
        return int(gids[0].split("_")[3])

    before = next_number()
    failover.node.kill()
    failover.in_place()
    assert next_number() > before


@pytest.mark.parametrize("number", [1, 0], ids=["worker", "coordinator"])
def test_without_waiting(accounts, number):
    """A client that wouldn't wait for the standby may lose a transaction, but not half of one."""
    failover = Failover(accounts, number)
    kill_process(int(failover.node.sql("SELECT pid FROM pg_stat_replication")), signal.SIGSTOP)
    keys = [bank.keys_on(accounts, proxy.port)[0] for proxy in accounts.proxies[1:]]
    client = servers.connect(accounts.coordinator)
    client.execute("SET synchronous_commit = off")
    client.execute("SET citus.debug_points = 'commit-between-commits=stop'")

    def transfer_once():
        try:
            with client.transaction():
                client.execute("UPDATE account SET balance = balance - 5 WHERE id = %s", keys[:1])
                client.execute("UPDATE account SET balance = balance + 5 WHERE id = %s", keys[1:])
        except psycopg.Error:
            pass

    thread = threading.Thread(target=transfer_once)
    thread.start()
    wait_until(lambda: is_stopped(pid_of(client)) or
               failover.node.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"), "the commit")
    failover.node.kill()
    failover.in_place()
    if number == 1 and is_stopped(pid_of(client)):
        kill_process(pid_of(client), signal.SIGCONT)
    thread.join(servers.PATIENCE)
    client.close()
    recover(accounts)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            check_total(connection)


def test_two_trees(accounts):
    """Transactions that clients have prepared on the node that died: its standby ends them on all nodes at once."""
    failover = Failover(accounts, 1)
    for gid, condition in (("one", "id % 2 = 0"), ("two", "id % 2 = 1")):
        with servers.connect(failover.node) as connection:
            connection.execute("BEGIN")
            connection.execute(f"{UPDATE_ALL} WHERE {condition}")
            connection.execute(f"PREPARE TRANSACTION '{gid}'")
    failover.node.kill()
    failover.in_place()
    for gid in ("one", "two"):
        assert len(prepared_transactions(accounts.nodes[2])) == (2 if gid == "one" else 1)
        with servers.connect(failover.standby) as connection:
            connection.execute(f"COMMIT PREPARED '{gid}'")
    assert not any(prepared_transactions(node) for node in accounts.nodes)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            assert total(connection) == (ACCOUNTS * (BALANCE + 1), ACCOUNTS)


def test_jobs_go_on(accounts):
    """Background jobs of the coordinator go on at its standby: also a move that was about to switch."""
    with servers.connect(accounts.coordinator) as connection:
        ports = [proxy.port for proxy in accounts.proxies[1:]]
        connection.execute("SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', false)", ports[:1])
        failover = Failover(accounts, 0)
        connection.execute("ALTER SYSTEM SET citus.debug_points = 'move-before-switch=stop'")
        connection.execute("SELECT pg_reload_conf()")
        job = value(connection, "SELECT citus_rebalance_start()")
        running = "SELECT pid FROM pg_dist_background_task WHERE status = 'running' AND pid IS NOT NULL"
        wait_until(lambda: (pid := value(connection, running)) and is_stopped(pid), "a move to stand still")
    failover.node.kill()
    failover.in_place()
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("ALTER SYSTEM RESET citus.debug_points")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("SET statement_timeout = '90s'")
        connection.execute("SELECT citus_job_wait(%s, 'finished')", [job])
        assert rows(connection, "SELECT DISTINCT nodeport FROM citus_shards WHERE table_name = 'account'::regclass") == [(ports[1],)]
        check_total(connection)
        connection.execute("SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', true)", ports[:1])
