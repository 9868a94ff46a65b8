"""tools/console: what it shows of a cluster, also of one with a node that is down."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import psycopg
import pytest

from harness import servers
from harness.statement import Statement

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "console")


class Console:
    """A running console of a node."""

    def __init__(self, node, user):
        dsn = f"host=127.0.0.1 port={node.port} user={user} dbname=postgres"
        self.process = subprocess.Popen([sys.executable, TOOL, dsn, "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=300) as answer:
            return answer.read().decode(), answer.headers

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def console(cluster, coordinator):
    coordinator.execute("DROP ROLE IF EXISTS watcher; CREATE ROLE watcher LOGIN IN ROLE pg_monitor")
    made = Console(cluster.workers[0], "watcher")
    yield made
    made.stop()
    coordinator.execute("DROP ROLE watcher")


def test_sections(cluster, console, table, connect):
    """Each section has rows or none, not an error; a session that waits is seen with what it waits for."""
    holder, waiting = connect(cluster.coordinator, autocommit=False), connect(cluster.workers[1])
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 1")
    waiting.execute("SET statement_timeout = '60s'")
    statement = f"UPDATE {table} SET payload = 2 WHERE id = 1"
    with psycopg.connect(cluster.coordinator.dsn_for()) as observer:
        running = Statement(waiting, statement)
        servers.wait_until(lambda: observer.execute("SELECT count(*) FROM citus_lock_waits").fetchone()[0] > 0, "the wait")
        data = json.loads(console.get("data")[0])
    holder.rollback()
    assert running.finish() is None
    assert {name: rows for name, rows in data.items() if isinstance(rows, str)} == {}
    assert [row["up"] for row in data["nodes"]] == [True] * len(cluster.nodes)
    assert table in [row["table_name"] for row in data["tables"]]
    assert statement in [row["blocked_statement"] for row in data["waits"]] and statement in [row["query"] for row in data["statements"]]
    assert {row["subject"] for row in data["health"]} >= {"setting fsync"}


def test_page(console):
    """The page needs nothing from elsewhere, and nothing but the two addresses is served."""
    text, headers = console.get("")
    assert text.startswith("<!DOCTYPE html>") and "http://" not in text and "https://" not in text and "innerHTML" not in text
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    for path in ("page.html", "../server.py", "data?x=1"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            console.get(path)
