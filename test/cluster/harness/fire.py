"""Clients of all nodes at work while shards are moved, split and merged, and servers and sessions are killed.

POMELO_RANDOM_SECONDS says how long, POMELO_RANDOM_SEED repeats the choices of what is done.
"""

import random
import threading
import time
from collections import Counter

import psycopg

from pomelo_check.sample import SEED

from . import servers
from .servers import kill_one_of, rows, wait_until

SETTINGS = {"citus.recover_2pc_interval": "2s", "deadlock_timeout": "100ms", "citus.defer_shard_delete_interval": "1s"}
CHANGER = "changer"     # whose sessions are killed at debug points

# What clients of servers that die and of transactions that block each other may get to see.
EXPECTED = {
    "55P03": "lock timeout", "40P01": "deadlock", "40001": "serialization failure",
    "08000": "connection", "08001": "connection", "08003": "connection", "08004": "connection",
    "08006": "connection", "08007": "connection, outcome unknown",
    "57P01": "server shut down", "57P02": "crash of another process", "57P03": "server starts",
    "25P02": "earlier error", "53300": "too many connections",
}

# Errors after which it is sure that nothing was written.
NOTHING_DONE = {"55P03", "40P01", "40001", "25P02", "57P03", "08001"}

# What a change of shards may end with besides: somebody else's change of the same ones, or one of their tables.
EXPECTED_OF_CHANGES = {"55006": "in use", "55000": "changed meanwhile", "42704": "no such shard any more",
                       "42710": "isolated already", "57014": "took too long", "58000": "replication broken off",
                       "22023": "other shards meanwhile"}


class Client(threading.Thread):
    """Repeats actions on a connection to any node, and on another one when that has died.

    actions: functions of a connection, each as often in the list as it is likely.
    """

    def __init__(self, made, number, stop):
        super().__init__()
        self.made, self.stop, self.number = made, stop, number
        self.random = random.Random(SEED * 100 + number)
        self.actions = []
        self.done = Counter()
        self.failed = Counter()     # by SQLSTATE, as expected
        self.failure = None

    def run(self):
        while not self.stop.is_set() and self.failure is None:
            try:
                with servers.connect(self.random.choice(self.made.nodes)) as connection:
                    connection.execute("SET lock_timeout = '3s'; SET statement_timeout = '60s'")
                    self.work(connection)
            except psycopg.OperationalError:
                time.sleep(0.05)    # the node is down: there is no event to wait for
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error

    def work(self, connection):
        for _ in range(self.random.randrange(5, 60)):
            if self.stop.is_set():
                return
            action = self.random.choice(self.actions)
            try:
                action(connection)
                self.done[action.__name__] += 1
            except psycopg.Rollback:
                return      # the server has died before it was told of it
            except psycopg.Error as error:
                if error.sqlstate is not None and error.sqlstate not in EXPECTED:
                    raise AssertionError(f"{action.__name__}: {error.sqlstate} {error}") from error
                self.failed[error.sqlstate] += 1
                if connection.closed or connection.broken:
                    return
                connection.rollback()


def check_rows_told(written, found):
    """Whether the rows found are those that have been written: by id, True, False or, if nobody knows, None."""
    lost = {number for number, there in written.items() if there} - set(found)
    undone = {number for number, there in written.items() if there is False} & set(found)
    assert not lost and not undone and len(found) == len(set(found)) and set(found) <= set(written), {
        "lost": sorted(lost), "undone": sorted(undone), "found": len(found), "different": len(set(found)),
        "unknown": sorted(set(found) - set(written))}


class Changer(threading.Thread):
    """Changes shards from any node: change(random, connection) returns what it did."""

    def __init__(self, made, number, stop, change):
        super().__init__()
        self.made, self.stop, self.change = made, stop, change
        self.random = random.Random(SEED * 100 + 50 + number)
        self.done = Counter()
        self.failed = Counter()
        self.failure = None

    def run(self):
        while not self.stop.is_set() and self.failure is None:
            try:
                with servers.connect(self.random.choice(self.made.nodes), user=CHANGER) as connection:
                    connection.execute("SET citus.move_switch_timeout = '10s'; SET statement_timeout = '60s'")
                    what = self.change(self.random, connection)
                self.done[what] += 1
            except psycopg.Error as error:
                if error.sqlstate is not None and error.sqlstate not in {**EXPECTED, **EXPECTED_OF_CHANGES}:
                    self.failure = error
                self.failed[error.sqlstate] += 1
                self.stop.wait(0.05)
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error


def alter_changer(made, setting):
    """Changes a setting of the role that changes shards, on all nodes, also those that are just starting."""
    def alter(node):
        with servers.connect(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute(f"ALTER ROLE {CHANGER} " + setting)
            return True

    for node in made.nodes:
        wait_until(lambda node=node: alter(node), "a setting to be changed")


def kill_at_point(made, chosen, points):
    """Has sessions that change shards, and begin in the next moment, die at a point of theirs."""
    alter_changer(made, f"SET citus.debug_points = '{chosen.choice(points)}=kill'")
    time.sleep(chosen.random())
    alter_changer(made, "RESET citus.debug_points")


def kill_something(made, chosen, points):
    """A whole server, which is then started again, or one of its processes; returns which."""
    node = chosen.choice(made.nodes)
    how = chosen.choice(["server", "server", "session", "terminate", "restart", "point", "point", "nothing", "nothing"])
    if how == "server":
        node.kill()
        time.sleep(chosen.random() * 0.5)
        node.start()
    elif how == "restart":
        node.restart()
    elif how == "point":
        kill_at_point(made, chosen, points)
    elif how != "nothing":
        with servers.connect(node) as connection:
            pids = [pid for (pid,) in rows(connection, """
                SELECT pid FROM pg_stat_activity
                WHERE backend_type NOT IN ('checkpointer', 'background writer', 'walwriter', 'logger', 'startup')
                  AND pid <> pg_backend_pid()""")]
            if how == "session":
                kill_one_of(pids, chosen)
            elif pids:
                connection.execute("SELECT pg_terminate_backend(%s)", [chosen.choice(pids)])
    return how


def under_fire(made, stop, clients, changers, points, seconds):
    """Runs clients and changers for so long while things are killed; nothing fails or hangs, and each action goes through."""
    print(f"POMELO_RANDOM_SEED={SEED}")
    everybody = clients + changers
    for thread in everybody:
        thread.start()
    chosen, kills = random.Random(SEED), Counter()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and not any(thread.failure for thread in everybody):
            stop.wait(0.3 + chosen.random())
            try:
                kills[kill_something(made, chosen, points)] += 1
            except (psycopg.OperationalError, ProcessLookupError):
                pass    # it was restarting, or the session had ended
    finally:
        stop.set()
        for thread in everybody:
            thread.join(90)
    made.start()
    done = sum((client.done for client in clients), Counter())
    print("killed", dict(kills))
    print("changes", [(dict(changer.done), dict(changer.failed)) for changer in changers])
    print("done", dict(done), "failed", dict(sum((client.failed for client in clients), Counter())))
    failures = [repr(thread.failure) for thread in everybody if thread.failure]
    print(*failures, sep="\n")
    assert not failures
    assert not any(thread.is_alive() for thread in everybody), "a client hangs"
    idle = {action.__name__ for client in clients for action in client.actions} - set(done)
    assert not idle, f"did not go through: {idle}"
