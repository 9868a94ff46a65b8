"""citus_create_restore_point(): all nodes can be restored to it together, money and all."""

import os
import shutil
import threading

import psycopg
import pytest

from harness import bank, servers
from harness.servers import on_every_node, value, wait_until
from pomelo_cluster import host


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A directory that the servers may write to."""
    folder = os.path.join(host.state_dir(), f"restore-point-{os.getpid()}")
    host.make_dir(folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def archived(archive):
    """A bank whose servers archive their write-ahead logs."""
    settings = {"archive_mode": "on", "archive_command": f"mkdir -p {archive}/$(basename $(dirname $PWD)) && "
                f"cp %p {archive}/$(basename $(dirname $PWD))/%f"}
    with servers.cluster(purpose="check-restore", settings=settings) as made:
        bank.create(made)
        yield made


def test_waits_for_decisions_only(archived):
    """It waits for a decision under way, and holds off others, but not writes on one node."""
    keys = {node.name: bank.keys_on(archived, node.port) for node in archived.workers}
    two = "; ".join(f"UPDATE account SET last = 1 WHERE id = {found[0]}" for found in keys.values())
    with servers.connect(archived.coordinator) as decider, servers.connect(archived.workers[0]) as pointer, \
            servers.connect(archived.coordinator) as watcher:
        # hold the lock as a decision does
        decider.execute("BEGIN; LOCK TABLE pg_dist_transaction IN ROW EXCLUSIVE MODE")
        thread = threading.Thread(target=pointer.execute, args=["SELECT citus_create_restore_point('waits')"])
        thread.start()
        wait_until(lambda: value(watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 1,
                   "the restore point to wait")
        watcher.execute("SET lock_timeout = '200ms'")
        watcher.execute(f"UPDATE account SET last = 1 WHERE id = {keys['worker1'][0]}")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            watcher.execute(f"BEGIN; {two}; COMMIT")
        watcher.execute("ROLLBACK")
        decider.execute("COMMIT")
        thread.join(servers.PATIENCE)
        assert not thread.is_alive()
        watcher.execute(f"BEGIN; {two}; COMMIT")


class Mover(threading.Thread):
    """Moves money between the workers, for ever."""

    def __init__(self, node, stop):
        super().__init__()
        self.node, self.stop, self.count = node, stop, 0

    def run(self):
        with servers.connect(self.node) as connection:
            while not self.stop.is_set():
                payer = self.count * 7 % bank.ACCOUNTS + 1
                payee = (self.count * 7 + 501) % bank.ACCOUNTS + 1
                try:
                    with connection.transaction():
                        connection.execute("SET LOCAL lock_timeout = '100ms'")
                        connection.execute("UPDATE account SET balance = balance - 1 WHERE id = %s", [payer])
                        connection.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", [payee])
                except psycopg.errors.LockNotAvailable:
                    pass
                self.count += 1


def test_restore(archived, archive):
    """Backups taken at different times are restored to one point, under load, on all nodes."""
    stop = threading.Event()
    movers = [Mover(node, stop) for node in archived.nodes]
    for mover in movers:
        mover.start()
    for node in archived.nodes:
        done = host.run_server_program(
            [node.program("pg_basebackup"), "-h", "127.0.0.1", "-p", str(node.port), "-U", "postgres",
             "-D", f"{node.folder}/backup", "-X", "none", "-c", "fast", "--no-sync"], capture_output=True)
        assert done.returncode == 0, done.stderr
    before = sum(mover.count for mover in movers)
    wait_until(lambda: sum(mover.count for mover in movers) > before + 50, "some transfers")
    with servers.connect(archived.coordinator) as connection:
        connection.execute("SELECT citus_create_restore_point('here')")
        connection.execute("UPDATE rate SET last = 9")
    before = sum(mover.count for mover in movers)
    wait_until(lambda: sum(mover.count for mover in movers) > before + 50, "some transfers")
    stop.set()
    for mover in movers:
        mover.join()
    for node in archived.nodes:
        node.sql("SELECT pg_switch_wal()")
    archived.down()
    for node in archived.nodes:
        restore(node, f"{archive}/{node.name}")
    archived.start()
    for node in archived.nodes:
        with servers.connect(node) as connection:
            wait_until(lambda: not value(connection, "SELECT pg_is_in_recovery()"), f"{node.name} to be promoted")
    assert set(map(tuple, on_every_node(archived, "SELECT max(last) FROM rate").values())) == {((0,),)}
    bank.check(archived)


def restore(node, archived_log):
    """Puts a backup in the place of a node's data, to be recovered when it starts."""
    shutil.rmtree(node.data)
    os.rename(f"{node.folder}/backup", node.data)
    with open(f"{node.data}/postgresql.conf", "a", encoding="utf-8") as conf:
        conf.write(f"\nrestore_command = 'cp {archived_log}/%f %p'\nrecovery_target_name = 'here'\n"
                   "recovery_target_action = 'promote'\narchive_mode = off\n")
    signal_file = f"{node.data}/recovery.signal"
    with open(signal_file, "w", encoding="utf-8"):
        pass
    host.give(signal_file)
