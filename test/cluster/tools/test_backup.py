"""tools/backup: a backup that is taken under load is restored, beside the original, as a consistent cluster."""

import json
import os
import signal
import subprocess
import sys

import pytest

from harness import servers
from harness.load import Load, account_tables, check_total, transfer
from harness.servers import rows, value, wait_until
from pomelo_cluster import find_free_ports, host
from pomelo_cluster.node import Node

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "backup")


def backup(*arguments, fails=None):
    done = subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(fails), done.stderr
    assert (fails or "") in done.stderr
    return done.stdout


def dsn(node):
    return f"host=127.0.0.1 port={node.port} user=postgres dbname=postgres"


@pytest.mark.some(1)
def test_restored(make_cluster, tmp_path):
    """Sums are right, also of transactions over several nodes; the original goes on, and neither cluster knows of the other."""
    made = make_cluster()
    account_tables(made)
    folder = tmp_path / "backup"
    load = Load()
    for node in made.nodes:
        load.add(node, transfer, f"transfers on {node.name}")
    load.meanwhile(lambda: backup("take", dsn(made.workers[0]), folder))
    backup("take", dsn(made.coordinator), folder, fails="is not empty")
    for node in made.nodes:
        with servers.connect(node) as connection:
            check_total(connection)
    made.coordinator.sql("UPDATE account SET balance = balance + 1")      # after the backup
    shown = backup("show", folder)
    assert shown.count("\nnode ") == 3 and "the coordinator" in shown

    restored, addresses = [], []
    for node in json.loads((folder / "backup.json").read_text())["nodes"]:
        old = next(other for other in made.nodes if other.port == node["port"])
        port = find_free_ports(1, servers.FIRST_PORT + 100 + 10 * node["nodeid"])
        new = Node(f"restored{node['nodeid']}", port, os.path.join(made.folder, f"standby-restored{node['nodeid']}"), old.bindir)
        host.make_dir(new.folder)
        backup("restore", folder, node["nodeid"], new.data, "--set", f"port={port}", "--set", f"unix_socket_directories={new.folder}")
        restored.append(new)
        addresses.append(f"{node['nodeid']}=127.0.0.1:{port}")
    try:
        for node in restored:
            node.start()
            wait_until(lambda node=node: node.sql("SELECT pg_is_in_recovery()") == "f", "the end of recovery")
        assert "critical" not in backup("finish", folder, dsn(restored[0]), *addresses).replace("critical: setting", "")
        for node in restored:
            with servers.connect(node) as connection:
                check_total(connection)
                connection.execute("UPDATE account SET balance = balance + 0")
                assert sorted(port for port, in rows(connection, "SELECT nodeport FROM pg_dist_node")) == sorted(each.port for each in restored)
                assert value(connection, "SELECT count(*) FROM pg_prepared_xacts") == 0
                assert rows(connection, "SELECT name FROM pg_file_settings WHERE name ~ '^(recovery_target|restore_command)'") == []
                assert rows(connection, "SELECT * FROM citus_health() WHERE subject ~ 'recovery_target'") == []
        with servers.connect(made.coordinator) as connection:
            assert rows(connection, "SELECT count(*) FROM citus_node_problems") == [(0,)]
    finally:
        for node in restored:
            node.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_killed(cluster, tmp_path, number):
    """Ended by a signal while it copies, it leaves no slot and no program, and a folder that is no backup; the next one succeeds."""
    slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE 'pomelo_backup%'"
    copies = "SELECT count(*) FROM pg_stat_progress_basebackup"
    with subprocess.Popen([sys.executable, TOOL, "take", dsn(cluster.coordinator), tmp_path / "killed"], stderr=subprocess.PIPE, text=True) as tool:
        wait_until(lambda: any(node.sql(copies) != "0" for node in cluster.nodes) or tool.poll() is not None, "a copy")
        tool.send_signal(number)
        message = tool.communicate()[1]
    assert tool.returncode == 1 and f"ended by {number.name}" in message
    for node in cluster.nodes:
        assert node.sql(slots) == "0"
        wait_until(lambda node=node: node.sql("SELECT count(*) FROM pg_stat_replication") == "0", "the programs to end")
    backup("show", tmp_path / "killed", fails="is no complete backup")
    backup("take", dsn(cluster.coordinator), tmp_path / "killed", fails="is not empty")


def test_refusals(cluster, tmp_path):
    backup("show", tmp_path, fails="is no complete backup")
    backup("take", "host=127.0.0.1 port=1 user=postgres dbname=postgres", tmp_path / "new", fails="refused")
    backup("take", cluster.coordinator.dsn, tmp_path / "new", fails="give the connection string as")
    assert not (tmp_path / "new").exists()
