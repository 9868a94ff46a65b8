"""tools/console: what it serves, and to whom. test/console looks at the page in a browser."""

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
from pomelo_console import sections

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "console")


class Console:
    """A running console of a node."""

    def __init__(self, node, user):
        dsn = f"host=127.0.0.1 port={node.port} user={user} dbname=postgres"
        self.process = subprocess.Popen([sys.executable, TOOL, dsn, "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def get(self, path, **headers):
        with urllib.request.urlopen(urllib.request.Request(self.address + path, headers=headers), timeout=300) as answer:
            return answer.read().decode(), answer.headers

    def sections(self):
        """What each section shows."""
        return {name: json.loads(self.get(f"data/{name}")[0]) for name in sections.NAMES}

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
        data = console.sections()
    holder.rollback()
    assert running.finish() is None
    assert {name: found for name, found in data.items() if "error" in found or found.get("errors") and name != "slow"} == {}
    data = {name: found["rows"] for name, found in data.items()}
    assert [row["up"] for row in data["nodes"]] == [True] * len(cluster.nodes)
    assert table in [row["table_name"] for row in data["tables"]]
    assert {row["shardid"] for row in data["loads"]} >= {row["shardid"] for row in data["tables"] if row["table_name"] == table}
    assert statement in [row["waiting_statement"] for row in data["waits"]] and statement in [row["query"] for row in data["statements"]]
    assert {row["subject"] for row in data["health"]} >= {"setting fsync"}


def test_page(console):
    """The page needs nothing from elsewhere, and nothing but its files and the sections is served, to nobody who asks by another name."""
    text, headers = console.get("")
    assert text.startswith("<!DOCTYPE html>") and "default-src 'none'" in headers["Content-Security-Policy"]
    for path in ("", "console.css", "console.js", "treemap.js", "waits.js"):
        text = console.get(path)[0].replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text and "innerHTML" not in text
    for path in ("page.html", "../server.py", "data", "data/", "health", "data/health?x=1", "data/../server.py"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            console.get(path)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        console.get("data/health", Host="elsewhere.example")
    assert console.get("data/jobs", Host="localhost:1234")
    with pytest.raises(urllib.error.HTTPError, match="501"):
        urllib.request.urlopen(urllib.request.Request(console.address, data=b"x", method="POST"), timeout=300)


def test_reads_only(cluster):
    """Whatever a section asked for, by whatever role, it couldn't write."""
    dsn = cluster.coordinator.dsn_for("postgres", "postgres")
    assert sections.psql(dsn, "SELECT current_setting('transaction_read_only') AS x") == [{"x": "on"}]
    assert "read-only" in sections.psql(dsn, "SELECT nextval('pg_dist_shardid_seq')")
