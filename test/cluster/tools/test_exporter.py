"""packaging/monitoring: the queries give the metrics that alerts and dashboard use, also by Prometheus' exporter of Debian."""

import json
import os
import re
import shutil
import subprocess
import urllib.request

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


@pytest.mark.skipif(not shutil.which("prometheus-postgres-exporter"), reason="needs prometheus-postgres-exporter")
def test_exporter(cluster, watcher, table):
    """The exporter shows all metrics, with the type that is described."""
    port = find_free_ports(1, servers.FIRST_PORT + 60)
    environment = {**host.clean_env(), "DATA_SOURCE_NAME": f"postgresql://{watcher}@127.0.0.1:{cluster.coordinator.port}/postgres?sslmode=disable"}
    with subprocess.Popen(["prometheus-postgres-exporter", f"--extend.query-path={EXPORTER}", f"--web.listen-address=127.0.0.1:{port}",
                           "--disable-settings-metrics"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as exporter:
        try:
            def read():
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                        return answer.read().decode()
                except OSError:
                    return None

            text = wait_until(lambda: (found := read()) and "citus_node_up" in found and found, "the metrics")
        finally:
            exporter.terminate()
    types = dict(re.findall(r"^# TYPE (citus_\w+) (\w+)", text, re.M))
    expected = {name: usage.lower() for name, usage in metrics().items() if not name.startswith(("citus_job", "citus_tenant"))}
    assert {name: types.get(name) for name in expected} == expected
    assert re.search(rf'^citus_node_up{{.*node="127.0.0.1:{cluster.workers[0].port}".*}} 1$', text, re.M)
    assert table in text


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs prometheus")
def test_alerts():
    done = subprocess.run(["promtool", "check", "rules", os.path.join(FOLDER, "alerts.yaml")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
