"""Fixtures: a cluster with something to see, its console, and a browser."""

import glob
import os
import shutil
import subprocess
import sys

import pytest

from harness import servers
from harness.gateways import Gateway
from pomelo_cluster import host

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CHROMIUM = os.environ.get("POMELO_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE = 1000 * servers.PATIENCE      # of the browser, in ms
SETTINGS = {"citus.stat_tenants_track": "all", "citus.stat_tenants_period": "2", "citus.stat_statements_track": "all", "fsync": "on", "full_page_writes": "on",
            "synchronous_commit": "off"}
ODD = """a'b"<script>hacked = 1</script>é"""


def has_statements():
    """Whether the server that is used has pg_stat_statements."""
    folder = subprocess.run([host.pg_config(), "--sharedir"], capture_output=True, text=True, check=True).stdout.strip()
    return glob.glob(os.path.join(folder, "extension", "pg_stat_statements.control")) != []


class Console:
    """A running console of a node."""

    def __init__(self, node, user="watcher"):
        dsn = f"host=127.0.0.1 port={node.port} user={user} dbname=postgres"
        self.process = subprocess.Popen([sys.executable, os.path.join(ROOT, "tools", "console"), dsn, "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def console():
    """Starts consoles of nodes."""
    started = []

    def start(node, user="watcher"):
        started.append(Console(node, user))
        return started[-1].address

    yield start
    for each in started:
        each.stop()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: tools/install-deps --console")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: tools/install-deps --console, or POMELO_CHROMIUM=program")
    with playwright.sync_playwright() as running:
        # Chromium doesn't make its sandbox as root, nor in most containers.
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """A page that must not have errors, nor dialogs, nor ask anybody else."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    made, wrong = context.new_page(), []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    made.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(("http://127.0.0.1:", "data:")) or request.method != "GET" else None)
    yield made
    context.close()
    assert wrong == []


@pytest.fixture(scope="session")
def scene(browser):
    """A cluster with two tables, one of which has an odd name, and a gateway; not made without a browser."""
    assert browser
    settings = {**SETTINGS, **({"shared_preload_libraries": "citus,pg_stat_statements"} if has_statements() else {})}
    with servers.cluster(purpose="check-console", settings=settings) as made:
        Gateway(made.coordinator)
        with servers.connect(made.coordinator) as connection:
            if has_statements():
                connection.execute("CREATE EXTENSION pg_stat_statements")
            connection.execute("CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE ROLE passerby LOGIN; CREATE SCHEMA shop")
            connection.execute("CREATE TABLE shop.orders (customer bigint, id bigint, note text, PRIMARY KEY (customer, id)); "
                               "SELECT create_distributed_table('shop.orders', 'customer', shard_count => 8); "
                               "INSERT INTO shop.orders SELECT g % 1000, g, repeat('x', 100) FROM generate_series(1, 50000) g")
            odd = '"' + ODD.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE shop.{odd} (customer text PRIMARY KEY, note text); ")
            connection.execute("SELECT create_distributed_table(%s, 'customer', shard_count => 4)", [f"shop.{odd}"])
            connection.execute(f"INSERT INTO shop.{odd} SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g")
            connection.execute("CREATE TABLE shop.countries (code text PRIMARY KEY); SELECT create_reference_table('shop.countries')")
        yield made
