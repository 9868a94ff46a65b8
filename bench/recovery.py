"""How soon clients work again after a process is killed, with a gateway and without.

Clients move money between two accounts, in transactions by key, and connect again after an error.  Something is killed with
SIGKILL, and started again where nothing else does that; measured is the time until each client has committed a transaction
that it has begun after the kill.  In the end, nothing that was acknowledged may be lost, and nothing doubled.
"""

import argparse
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter

import psycopg

from servers import BASE_PORT, SETTINGS, WORKERS
from pomelo_cluster import Cluster

ACCOUNTS = 20_000
PATIENCE = 120  # seconds until the clients must be back


class Client(threading.Thread):
    """Moves money; `began` is when its last committed transaction began."""

    def __init__(self, dsn, number):
        super().__init__(daemon=True)
        self.dsn, self.number = dsn, number
        self.began, self.committed, self.unknown = 0.0, 0, 0
        self.errors = Counter()
        self.ending = threading.Event()

    def run(self):
        while not self.ending.is_set():
            try:
                with psycopg.connect(self.dsn, autocommit=True, connect_timeout=10, prepare_threshold=2) as connection:
                    while not self.ending.is_set():
                        self.transfer(connection)
            except psycopg.Error as error:
                self.errors[error.sqlstate or "connection lost"] += 1
                time.sleep(0.01)

    def transfer(self, connection):
        began = time.monotonic()
        one, other = random.sample(range(1, ACCOUNTS + 1), 2)
        connection.execute("BEGIN")
        connection.execute("UPDATE account SET balance = balance - 1 WHERE id = %s", [one])
        connection.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", [other])
        connection.execute("INSERT INTO done VALUES (%s, %s)", [one, self.number])
        self.unknown += 1   # until the answer comes
        connection.execute("COMMIT")
        self.unknown -= 1
        self.committed += 1
        self.began = began


def recovery(clients, action):
    """Seconds from the action to when each client has committed what it began after it."""
    killed = time.monotonic()
    action()
    while any(client.began < killed for client in clients):
        if time.monotonic() > killed + PATIENCE:
            raise SystemExit(f"recovery: a client did not come back within {PATIENCE} s")
        time.sleep(0.005)
    return time.monotonic() - killed


def kill_node(node):
    node.kill()
    node.start()


def kill_backend(node):
    """One session of another node, or a client's, which its server answers with a restart."""
    with psycopg.connect(node.dsn) as connection:
        pid = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                                 "AND pid <> pg_backend_pid() LIMIT 1").fetchone()[0]
    os.kill(pid, signal.SIGKILL)


def kill_gateway(node):
    with psycopg.connect(node.dsn) as connection:
        pids = [pid for pid, in connection.execute("SELECT pid FROM citus_stat_gateway").fetchall()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def create(node):
    with psycopg.connect(node.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS account, done")
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance int)")
        connection.execute("CREATE TABLE done (id int, client int)")
        connection.execute("SELECT create_distributed_table('account', 'id'), create_distributed_table('done', 'id')")
        connection.execute("INSERT INTO account SELECT g, 0 FROM generate_series(1, %s) g", [ACCOUNTS])


def check(node, clients):
    """Exits if money is lost, or transactions are."""
    with psycopg.connect(node.dsn, autocommit=True) as connection:
        connection.execute("SELECT recover_prepared_transactions()")
        balance, = connection.execute("SELECT sum(balance) FROM account").fetchone()
        found = dict(connection.execute("SELECT client, count(*) FROM done GROUP BY 1").fetchall())
    wrong = [client.number for client in clients
             if not client.committed <= found.get(client.number, 0) <= client.committed + client.unknown]
    if balance != 0 or wrong:
        raise SystemExit(f"recovery: sum {balance}, clients with other transactions than acknowledged: {wrong}")


def measure(made, dsn, kills, args):
    """Median recovery by what was killed."""
    create(made.coordinator)
    clients = [Client(dsn, number) for number in range(args.clients)]
    for client in clients:
        client.start()
    recovery(clients, lambda: None)
    taken = {name: [] for name in kills}
    for _ in range(args.rounds):
        for name, action in kills.items():
            time.sleep(2)
            taken[name].append(recovery(clients, action))
    for client in clients:
        client.ending.set()
    for client in clients:
        client.join(PATIENCE)
    check(made.coordinator, clients)
    errors = sum((client.errors for client in clients), Counter())
    print(f"  {sum(client.committed for client in clients):,} transactions, nothing lost, nothing doubled; errors: "
          + ", ".join(f"{name} {count:,}" for name, count in errors.most_common()), flush=True)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def main():
    """Runs the benchmark; exits with 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="bench/recovery", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--base-port", type=int, default=BASE_PORT)
    args = parser.parse_args()
    with Cluster.temporary("bench-recovery", args.base_port, settings=SETTINGS, workers=WORKERS, kind="cluster") as made:
        port = made.coordinator.start_gateway()
        worker, coordinator = made.workers[0], made.coordinator
        kills = {"a session of a worker": lambda: kill_backend(worker), "a worker": lambda: kill_node(worker),
                 "the coordinator": lambda: kill_node(coordinator)}
        print("without the gateway", flush=True)
        without = measure(made, coordinator.dsn, kills, args)
        print("through the gateway", flush=True)
        through = measure(made, f"postgresql://postgres@127.0.0.1:{port}/postgres",
                          kills | {"the gateway": lambda: kill_gateway(coordinator)}, args)
    for name, seconds in through.items():
        beside = f"{without[name] * 1000:7.0f} ms without it" if name in without else ""
        print(f"{name:24} {seconds * 1000:7.0f} ms through the gateway {beside}")


if __name__ == "__main__":
    sys.exit(main())
