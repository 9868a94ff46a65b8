"""packaging/monitoring: the queries give the metrics that alerts and dashboard use, also by Prometheus' exporter of Debian."""

import json
import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

from harness import servers
from harness.exporter import EXPORTER, FOLDER, groups, metrics, text_of
from harness.servers import wait_until
from pomelo_cluster import find_free_ports, host

@pytest.fixture
def watcher(coordinator):
    coordinator.execute("DROP ROLE IF EXISTS watcher; CREATE ROLE watcher LOGIN IN ROLE pg_monitor")
    yield "watcher"
    coordinator.execute("DROP ROLE watcher")


def test_queries(cluster, watcher, table):
    """Each query runs on each node, as a member of pg_monitor, and gives the columns that are described."""
    found = list(groups())
    assert len(found) > 4 and table
    for node in cluster.nodes:
        with servers.connect(node, user=watcher) as connection:
            for name, query, columns in found:
                cursor = connection.execute(query)
                assert [column.name for column in cursor.description] == list(columns), name
                assert cursor.fetchall() or name in ("citus_job", "citus_tenant"), name


def test_metrics_are_used():
    """Alerts and dashboard have no metrics that don't exist; the dashboard has all but a few."""
    panels = json.loads(text_of("dashboard.json"))["panels"]
    shown = set(re.findall(r"citus_\w+", " ".join(target["expr"] for panel in panels for target in panel["targets"])))
    alerts = set(re.findall(r"citus_\w+", " ".join(re.findall(r"expr: (.*)", text_of("alerts.yaml")))))
    known = set(metrics())
    assert shown - known == set() and alerts - known == set()
    assert len(panels) == len({panel["id"] for panel in panels}) > 10 and len(shown) > 15


def test_loads_add_up(cluster, coordinator, table):
    shards = servers.value(coordinator, "SELECT count(*) FROM pg_dist_placement")
    found = servers.rows(coordinator, "SELECT up, shards, shard_size, disk_free < disk_size, clients FROM citus_stat_nodes")
    assert len(found) == len(cluster.nodes) and sum(row[1] for row in found) == shards
    assert {(row[0], row[3]) for row in found} == {(True, True)} and found[0][4] > 0
    assert sum(row[2] for row in found) >= servers.value(coordinator, "SELECT citus_total_relation_size(%s)", [table])


def test_node_is_down(own_cluster):
    own_cluster.workers[0].kill()
    with servers.connect(own_cluster.workers[1]) as connection:
        found = servers.rows(connection, "SELECT nodeport, up, clients IS NULL FROM citus_stat_nodes ORDER BY 1")
    assert found == [(node.port, node is not own_cluster.workers[0], node is own_cluster.workers[0]) for node in own_cluster.nodes]


def answer(address):
    """What is there, or None."""
    try:
        with urllib.request.urlopen(address) as found:
            return found.read().decode()
    except OSError:
        return None


@contextmanager
def program(*arguments, **environment):
    """A program that runs meanwhile."""
    with subprocess.Popen(arguments, env={**host.clean_env(), **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            yield
        finally:
            started.terminate()


@pytest.fixture
def exporter(cluster, watcher):
    """The address of the exporter, which has metrics of the cluster."""
    if not shutil.which("prometheus-postgres-exporter"):
        pytest.skip("needs prometheus-postgres-exporter")
    address = f"127.0.0.1:{find_free_ports(1, servers.FIRST_PORT + 60)}"
    with program("prometheus-postgres-exporter", f"--extend.query-path={EXPORTER}", f"--web.listen-address={address}", "--disable-settings-metrics",
                 DATA_SOURCE_NAME=f"postgresql://{watcher}@127.0.0.1:{cluster.coordinator.port}/postgres?sslmode=disable"):
        wait_until(lambda: "citus_node_up" in (answer(f"http://{address}/metrics") or ""), "the metrics")
        yield address


def test_exporter(cluster, table, exporter):
    """The exporter shows all metrics, with the type that is described."""
    text = wait_until(lambda: table in (found := answer(f"http://{exporter}/metrics")) and found, "the table's metrics")
    types = dict(re.findall(r"^# TYPE (citus_\w+) (\w+)", text, re.M))
    expected = {name: usage.lower() for name, usage in metrics().items() if not name.startswith(("citus_job", "citus_tenant"))}
    assert {name: types.get(name) for name in expected} == expected
    assert re.search(rf'^citus_node_up{{.*node="127.0.0.1:{cluster.workers[0].port}".*}} 1$', text, re.M)


@pytest.mark.skipif(not shutil.which("prometheus"), reason="needs prometheus")
def test_expressions(table, exporter, tmp_path):
    """Prometheus evaluates the expressions of dashboard and alerts; those of the dashboard have values, those of alerts none."""
    assert table
    address = f"127.0.0.1:{find_free_ports(1, servers.FIRST_PORT + 70)}"
    (tmp_path / "prometheus.yml").write_text("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n"
                                             f"  - {{job_name: cluster, static_configs: [{{targets: ['{exporter}']}}]}}\n")

    def value_of(expression):
        text = answer(f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': expression.replace('$__rate_interval', '1m')})}")
        return text and json.loads(text)["data"]["result"]

    shown = [target["expr"] for panel in json.loads(text_of("dashboard.json"))["panels"] for target in panel["targets"]]
    alerts = re.findall(r"expr: (.*)", text_of("alerts.yaml"))
    with program("prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address={address}"):
        wait_until(lambda: value_of("rate(citus_node_commits_total[1m])"), "two scrapes")
        empty = [expression for expression in shown if not value_of(expression)]
        assert [expression for expression in empty if not re.search("citus_(job|tenant)_", expression)] == []
        assert [expression for expression in alerts if value_of(expression) is None] == []
        assert value_of("citus_node_up == 0") == value_of("absent(citus_node_up)") == []


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs prometheus")
def test_alerts():
    done = subprocess.run(["promtool", "check", "rules", os.path.join(FOLDER, "alerts.yaml")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
