"""What goes wrong in a cluster: the console and citus_health() show it within ten seconds, with a remedy that mends it."""

import os
import subprocess
import threading
import time

import psycopg
import pytest

from conftest import PATIENCE, SETTINGS
from harness import servers
from pomelo_cluster import host

SECONDS = 10
MB = 2**20


@pytest.fixture(scope="module")
def made(browser):
    assert browser
    with servers.cluster(purpose="check-faults", settings={**SETTINGS, "citus.stat_tenants_period": "60", "max_wal_size": "32MB", "min_wal_size": "32MB"}) as cluster:
        cluster.coordinator.sql("CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE TABLE t (tenant int, id int, v text, PRIMARY KEY (tenant, id));"
                                "SELECT create_distributed_table('t', 'tenant', shard_count => 8); INSERT INTO t SELECT g % 100, g FROM generate_series(1, 1000) g")
        yield cluster


class Shown:
    """What the page and the function have to show, from a moment on."""

    def __init__(self, page, node, subject, since=None):
        self.page, self.node, self.subject = page, node, subject
        self.since = since or time.monotonic()

    def rows(self):
        return self.page.locator("#health tbody tr").filter(has_text=self.subject)

    def by_function(self):
        with servers.connect(self.node) as connection:
            return servers.rows(connection, "SELECT severity, nodeport, remedy FROM citus_health() WHERE subject || ' ' || finding LIKE %s", [f"%{self.subject}%"])

    def remedy(self, severity):
        """Waits until both show it, with the same remedy; which."""
        self.rows().first.wait_for(timeout=PATIENCE)
        took = time.monotonic() - self.since
        found = self.by_function()
        assert found, "the page shows what citus_health() doesn't"
        assert self.rows().first.locator(".badge").inner_text() == severity == found[0][0]
        shown = self.rows().first.locator("pre").inner_text()
        assert shown == found[0][2].strip()
        print(f"{self.subject}: shown after {took:.1f} s: {shown}")
        assert took < SECONDS
        return found[0]

    def wait_for_end(self):
        servers.wait_until(lambda: self.rows().count() == 0 and not self.by_function(), f"an end of {self.subject}")


def paste(made, port, text):
    """Runs a remedy on the node of the finding, as psql does."""
    node = next(node for node in made.nodes if node.port == port)
    with servers.connect(node) as connection:
        for line in text.splitlines():
            if line.split("--")[0].strip():
                connection.execute(line.split("  --")[0])


def test_killed_coordinator(made, console, page):
    page.goto(console(made.workers[0]))
    page.locator("#health").get_by_text("No findings").wait_for()
    made.coordinator.kill()
    try:
        shown = Shown(page, made.workers[0], "cannot be reached")
        _, port, text = shown.remedy("critical")
        assert port == made.coordinator.port and text.startswith("-- start its server")
        page.locator("#nodes tr").filter(has_text=str(port)).locator(".badge", has_text="down").wait_for()
    finally:
        made.coordinator.start()
    shown.wait_for_end()


def test_forgotten_prepared_transaction(made, console, page):
    page.goto(console(made.coordinator))
    page.locator("#health").get_by_text("No findings").wait_for()
    with servers.connect(made.workers[1], autocommit=False) as connection:
        connection.execute("UPDATE t SET v = 'x' WHERE tenant = 7")
        connection.execute("PREPARE TRANSACTION 'forgotten'")
    shown = Shown(page, made.coordinator, 'prepared transaction "forgotten"')
    _, port, text = shown.remedy("warning")
    assert port == made.workers[1].port
    paste(made, port, text)
    shown.wait_for_end()
    made.coordinator.sql("UPDATE t SET v = 'y' WHERE tenant = 7")


def test_skewed_tenant(made, console, page):
    """A tenant that uses a node's CPU time: from when it has used five seconds of it."""
    page.goto(console(made.workers[0]))
    page.locator("#health").get_by_text("No findings").wait_for()
    ended = threading.Event()

    def work():
        with servers.connect(made.coordinator) as connection:
            while not ended.is_set():
                connection.execute("SELECT sum(factorial(500 + g)) FROM t, generate_series(1, 100) g WHERE tenant = 42 AND id = 42")

    threads = [threading.Thread(target=work) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        servers.wait_until(lambda: float(made.coordinator.sql(
            "SELECT coalesce(max(cpu_usage_in_this_period + cpu_usage_in_last_period), 0) FROM citus_stat_tenants WHERE tenant_attribute = '42'")) > 5, "CPU time")
        shown = Shown(page, made.workers[0], "tenant '42' of public.t")
        _, port, text = shown.remedy("notice")
        assert page.locator("#tenants tbody tr").first.inner_text().startswith("42")
        paste(made, port, text)
        shown.wait_for_end()
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert made.coordinator.sql("SELECT max_cpu_share FROM citus_tenant_limits WHERE tenant_attribute = '42'") == "0.5"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 MB, in memory."""
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", tmp_path], check=False).returncode != 0:
        pytest.skip("a file system can't be mounted here")
    for folder in [tmp_path, *list(tmp_path.parents)[:2]]:
        os.chmod(folder, 0o755)     # the servers' user looks for its own folder
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def fill(folder, left):
    """Leaves that much of a file system."""
    with open(folder / "filler", "ab") as filler:
        free = os.statvfs(folder)
        os.posix_fallocate(filler.fileno(), os.fstat(filler.fileno()).st_size, free.f_bavail * free.f_frsize - left)


def test_full_disk(made, console, page, small_disk):
    """One worker has most of the data, on a disk that fills up: the remedy moves shards to the other. One that is full stops its server."""
    first, second = made.workers
    with servers.connect(made.coordinator) as connection:
        for shard, in servers.rows(connection, "SELECT shardid FROM citus_shards WHERE nodeport = %s AND citus_table_type = 'distributed'", [second.port]):
            connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')", [shard, second.port, first.port])
        connection.execute("ALTER TABLE t ALTER v SET STORAGE EXTERNAL")
        connection.execute(f"INSERT INTO t SELECT g, -1, repeat('x', {MB}) FROM generate_series(1, 100) g")
    first.sql("CHECKPOINT")
    first.stop()
    place = small_disk / "data"
    subprocess.run(["mv", first.data, place], check=True)
    os.symlink(place, first.data)
    first.start()
    page.goto(console(made.coordinator))
    page.locator("#nodes .badge").filter(has_text="up").nth(2).wait_for()
    try:
        fill(small_disk, 16 * MB)
        shown = Shown(page, made.coordinator, "disk")
        _, port, text = shown.remedy("critical")
        assert port == first.port
        paste(made, made.coordinator.port, text)
        shown.wait_for_end()
        assert made.coordinator.sql("SELECT count(*) FROM t WHERE v LIKE 'x%'") == "100"

        # Now nothing is left: not even the write-ahead log can be written.
        fill(small_disk, 0)
        with servers.connect(made.coordinator) as connection, pytest.raises((psycopg.errors.DiskFull, psycopg.errors.ConnectionFailure)):
            connection.execute(f"INSERT INTO t SELECT g, -2, repeat('full', {MB} / 4) FROM generate_series(1, 100) g")
        since = time.monotonic()
        shown = servers.wait_until(lambda: next((found for subject in ("disk", "cannot be reached")
                                                 if (found := Shown(page, made.coordinator, subject, since)).by_function()), None), "a finding")
        assert shown.remedy("critical")[1] == first.port
    finally:
        os.unlink(small_disk / "filler")
        first.stop("immediate")
        os.unlink(first.data)
        subprocess.run(["mv", place, first.data], check=True)
        first.start()
    shown.wait_for_end()
    assert made.coordinator.sql("SELECT count(*) FILTER (WHERE v LIKE 'x%'), count(*) FILTER (WHERE v LIKE 'full%') FROM t") == "100|0"
