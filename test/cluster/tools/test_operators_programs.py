"""Programs that operators use beside the cluster, as the manual describes: pgBackRest, HAProxy, pg_ctl. Skipped where a program isn't installed."""

import os
import shutil
import subprocess

import psycopg
import pytest

from harness import servers
from harness.load import Load, account_tables, check_total, transfer
from harness.servers import rows, value, wait_until
from pomelo_cluster import find_free_ports, host


def program(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") or pytest.skip(f"{name} is not installed")


def run(*arguments):
    done = host.run_server_program([str(argument) for argument in arguments], capture_output=True)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


PGBACKREST = """
[global]
repo1-path={folder}/repository
repo1-retention-full=2
log-path={folder}
lock-path={folder}
spool-path={folder}
log-level-console=warn
start-fast=y
{stanzas}
"""


def test_pgbackrest():
    """Each server has a stanza; after base backups under load and a restore point, all are restored to that point."""
    backrest = program("pgbackrest")
    with servers.cluster(purpose="check-pgbackrest", settings={"archive_mode": "on"}) as made:
        account_tables(made)
        folder = os.path.join(made.folder, "pgbackrest")
        host.make_dir(folder)
        config = os.path.join(folder, "pgbackrest.conf")
        stanzas = "".join(f"\n[{node.name}]\npg1-path={node.data}\npg1-port={node.port}\npg1-socket-path={node.folder}\npg1-user=postgres\n" for node in made.nodes)
        made.coordinator._write(config, PGBACKREST.format(folder=folder, stanzas=stanzas))      # pylint: disable=protected-access

        def back_up(node, command, *arguments):
            return run(backrest, f"--config={config}", f"--stanza={node.name}", *arguments, command)

        for node in made.nodes:
            node.sql(f"ALTER SYSTEM SET archive_command = '{backrest} --config={config} --stanza={node.name} archive-push %p'")
            node.sql("SELECT pg_reload_conf()")
            back_up(node, "stanza-create")
        load = Load()
        load.add_transfers(made)

        def take():
            for node in made.nodes:
                back_up(node, "backup", "--type=full")
            made.coordinator.sql("SELECT citus_create_restore_point('before the migration')")

        load.meanwhile(take)
        made.coordinator.sql("UPDATE account SET balance = 0")
        for node in made.nodes:
            node.sql("SELECT pg_switch_wal()")
            wait_until(lambda node=node: node.sql("SELECT last_archived_wal IS NOT NULL AND last_archived_time > now() - interval '1 min' FROM pg_stat_archiver") == "t", "WAL")
            back_up(node, "check")
        for node in made.nodes:
            node.stop()
        for node in made.nodes:
            back_up(node, "restore", "--delta", "--type=name", "--target=before the migration", "--target-action=promote")
        for node in made.nodes:
            node.start()
        for node in made.nodes:
            wait_until(lambda node=node: node.sql("SELECT pg_is_in_recovery()") == "f", "the end of recovery")
            node.sql("ALTER SYSTEM RESET recovery_target_name; ALTER SYSTEM RESET recovery_target_action; ALTER SYSTEM RESET restore_command; SELECT pg_reload_conf()")
        for node in made.nodes:
            with servers.connect(node) as connection:
                connection.execute("SELECT recover_prepared_transactions()")
        for node in made.nodes:
            with servers.connect(node) as connection:
                check_total(connection)
                assert value(connection, "SELECT count(*) FROM account WHERE balance <> 0") > 0
                transfer(connection)
                assert not rows(connection, "SELECT * FROM citus_check_cluster(check_rows => true)")


HAPROXY = """
defaults
    mode tcp
    timeout connect 2s
    timeout client 30m
    timeout server 30m
listen app
    bind 127.0.0.1:{port}
    balance leastconn
    option pgsql-check user postgres
    default-server inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


def test_haproxy():
    """Clients at one address use all nodes; when a node dies, its clients are disconnected, and connect to others."""
    proxy = program("haproxy")
    with servers.cluster(purpose="check-haproxy") as made:
        account_tables(made)
        port = find_free_ports(1, servers.FIRST_PORT + 60)
        config = os.path.join(made.folder, "haproxy.cfg")
        made.coordinator._write(config, HAPROXY.format(     # pylint: disable=protected-access
            port=port, servers="\n".join(f"    server {node.name} 127.0.0.1:{node.port} check" for node in made.nodes)))
        with subprocess.Popen([proxy, "-f", config, "-db"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            def connect():
                return psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres", autocommit=True, connect_timeout=5)

            try:
                wait_until(lambda: connect().close() is None, "HAProxy")
                clients = [connect() for _ in range(6)]
                ports = [value(client, "SELECT inet_server_port()") for client in clients]
                assert set(ports) == {node.port for node in made.nodes}
                for client in clients:
                    check_total(client)
                    transfer(client)
                made.workers[1].kill()
                for client, at in zip(clients, ports, strict=True):
                    if at == made.workers[1].port:
                        with pytest.raises(psycopg.OperationalError):
                            client.execute("SELECT 1")
                    else:
                        assert value(client, "SELECT percent FROM rate") == 0
                    client.close()
                wait_until(lambda: value(connect(), "SELECT percent FROM rate") == 0, "another node")
                for _ in range(6):
                    with connect() as client:
                        assert value(client, "SELECT inet_server_port()") != made.workers[1].port
                made.workers[1].start()

                def is_back():
                    with connect() as client:
                        return value(client, "SELECT inet_server_port()") == made.workers[1].port
                wait_until(is_back, "the node to be used again")
            finally:
                running.terminate()


def test_failover_by_hand():
    """A standby of a worker is promoted, the cluster is told, the old primary is rewound into its standby, and takes over again; no acknowledged write is lost."""
    with servers.cluster(purpose="check-by-hand", settings={"wal_log_hints": "on", "full_page_writes": "on", "wal_keep_size": "512MB"}) as made:
        account_tables(made)
        first = made.workers[0]
        second = made.add_standby(first, find_free_ports(1, servers.FIRST_PORT + 50))
        first.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
        wait_until(lambda: first.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "a synchronous standby")
        with servers.connect(made.coordinator) as connection:
            nodeid = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [first.port])
            for old, new in ((first, second), (second, first)):
                for _ in range(20):
                    transfer(connection)
                connection.execute("UPDATE account SET balance = balance + 1")
                connection.execute("UPDATE account SET balance = balance - 1")
                old.kill()
                new.promote()
                connection.execute("SELECT citus_update_node(%s, '127.0.0.1', %s, force => true)", [nodeid, new.port])
                new.sql("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()")
                wait_until(lambda: not connection.execute("SELECT recover_prepared_transactions()").fetchone()[0], "recovery")
                check_total(connection)
                transfer(connection)
                # the old primary, after its crash recovery, becomes the new one's standby
                old.start()
                old.stop()
                kept = {}
                for name in os.listdir(old.data):
                    if name.endswith(".conf"):
                        with open(os.path.join(old.data, name), encoding="utf-8") as file:
                            kept[name] = file.read()
                new.sql("CHECKPOINT")
                run(old.program("pg_rewind"), "-D", old.data, f"--source-server={new.dsn}")
                kept["postgresql.auto.conf"] += f"primary_conninfo = '{new.dsn}'\nsynchronous_standby_names = ''\n"
                for name, text in kept.items():
                    old._write(name, text)      # pylint: disable=protected-access
                old._write("standby.signal", "")            # pylint: disable=protected-access
                old.start()
                wait_until(lambda new=new: new.sql("SELECT state FROM pg_stat_replication") == "streaming", "the standby")
                place = new.sql("SELECT pg_current_wal_flush_lsn()")
                wait_until(lambda old=old, place=place: old.sql(f"SELECT pg_last_wal_replay_lsn() >= '{place}'") == "t", "the standby to catch up")
            check_total(connection)
            assert not rows(connection, "SELECT * FROM citus_check_cluster(check_rows => true)")
