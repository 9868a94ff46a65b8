"""Settings of the SQL interface of Citus: each does what it says, or says why it has no effect."""

import os
import re

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value
from harness.stopped import Stopped
from pomelo_docs import pages


@pytest.fixture
def table(schema, coordinator):
    coordinator.execute(f"CREATE TABLE {schema}.t (id int PRIMARY KEY, v int, j json, p point)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id', shard_count => 4)")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT g, g % 3, '{{}}', '(1,2)' FROM generate_series(1, 60) g")
    return f"{schema}.t"


def test_without_effect(coordinator):
    """The warning of such a setting says why, as the manual does."""
    said = {entry.name: entry.note.replace("`", "") for entry in pages.compatibility() if (entry.kind, entry.status) == ("setting", "without effect")}
    assert len(said) > 50
    found = {}
    coordinator.add_notice_handler(lambda notice: found.update({re.findall('"(.*)"', notice.message_primary)[0]: notice.message_detail}))
    for name in said:
        present = value(coordinator, f"SHOW {name}")
        other = {"on": "off", "off": "on"}.get(present, "7" if re.match("-?[0-9]", present) else "other")
        coordinator.execute(f"SET {name} = '{other}'")
        coordinator.execute(f"RESET {name}")
    assert {name: why.removesuffix(".").lower() for name, why in found.items()} == {name: why.lower() for name, why in said.items()}


@pytest.mark.parametrize("statement", [
    "UPDATE {0} SET v = v RETURNING v, id", "DELETE FROM {0} WHERE id < 50 RETURNING v, id, j, p", "INSERT INTO {0} SELECT g, g % 3 FROM generate_series(200, 100, -1) g RETURNING v, id",
    "INSERT INTO {0} VALUES (300, 1), (299, 1), (298, 0) RETURNING v, id", "UPDATE {0} SET v = 5 WHERE id = 7 RETURNING v, id",
    "UPDATE {0} SET v = other.v FROM {0} other WHERE other.v = t.id RETURNING t.v, t.id"])
def test_sort_returning(coordinator, table, statement):
    """By all columns, those without an order left out; prepared, in a transaction, and on a reference table, too."""
    coordinator.execute("SET citus.sort_returning = on")
    for _ in range(2):
        with coordinator.transaction(force_rollback=True):
            found = rows(coordinator, statement.format(table))
            assert found and [row[:2] for row in found] == sorted(row[:2] for row in found)
    with coordinator.transaction(force_rollback=True):
        coordinator.execute(f"WITH x AS ({statement.format(table)}) SELECT count(*) FROM x")
    schema = table.split(".")[0]
    coordinator.execute(f"CREATE TABLE {schema}.r (id int PRIMARY KEY, v int); SELECT create_reference_table('{schema}.r'); "
                        f"INSERT INTO {schema}.r SELECT g, -g FROM generate_series(1, 9) g")
    found = rows(coordinator, f"UPDATE {schema}.r SET v = v - random() RETURNING v, id")
    assert len(found) == 9 and found == sorted(found)
    coordinator.execute("RESET citus.sort_returning")


def test_explain_analyze_sort_method(coordinator, table):
    """The slowest task is shown; with taskId, or TIMING off, the first."""
    shards = [row[0] for row in rows(coordinator, "SELECT shardid FROM pg_dist_shard WHERE logicalrelid = %s::regclass ORDER BY shardminvalue::int", [table])]
    for slow in (0, 2, 3):
        coordinator.execute(f"DELETE FROM {table}")
        coordinator.execute(f"INSERT INTO {table} SELECT g FROM generate_series(1, 20000) g WHERE get_shard_id_for_distribution_column('{table}', g) = {shards[slow]} "
                            f"OR g < 40")
        counts = [value(coordinator, f"SELECT count(*) FROM {table} WHERE get_shard_id_for_distribution_column('{table}', id) = {shard}") for shard in shards]
        shown = {}
        for method in ("execution-time", "taskId"):
            coordinator.execute(f"SET citus.explain_analyze_sort_method = '{method}'; SET citus.explain_all_tasks = on")
            plan = "\n".join(row[0] for row in rows(coordinator, f"EXPLAIN (ANALYZE) UPDATE {table} SET v = 1"))
            shown[method] = [int(count) for count in re.findall(r"Seq Scan on t_\d+.*?actual.*?rows=(\d+)", plan)]
        assert shown["execution-time"][0] == max(counts), shown
        assert sorted(shown["execution-time"]) == sorted(shown["taskId"]) == sorted(counts)
        assert shown["taskId"] == counts
    coordinator.execute("RESET citus.explain_analyze_sort_method; RESET citus.explain_all_tasks")


def test_max_client_connections(own_cluster):
    """Clients of roles that aren't superusers are refused; nodes' sessions and superusers aren't, and room that is left is used."""
    node = own_cluster.workers[0]
    own_cluster.coordinator.sql("CREATE ROLE visitor LOGIN; CREATE TABLE t (id int); SELECT create_distributed_table('t', 'id'); INSERT INTO t SELECT generate_series(1, 100); "
                                "GRANT SELECT ON t TO visitor")
    node.sql("ALTER SYSTEM SET citus.max_client_connections = 3")
    node.sql("SELECT pg_reload_conf()")

    def visit():
        return servers.connect(node, user="visitor")

    def visits():
        try:
            visit().close()
        except psycopg.OperationalError:
            return False
        return True

    servers.wait_until(visits, "the former clients to leave")
    held = [visit() for _ in range(3)]
    with pytest.raises(psycopg.OperationalError, match="too many clients already"):
        visit()
    with servers.connect(node) as superuser, servers.connect(own_cluster.coordinator, user="visitor") as elsewhere:
        assert value(superuser, "SELECT count(*) FROM t") == value(elsewhere, "SELECT count(*) FROM t") == 100
    held.pop().close()
    servers.wait_until(visits, "room for one more")
    for connection in held:
        connection.close()


@pytest.mark.parametrize("mode", ["force_logical", "block_writes"])
def test_space_before_move(cluster, coordinator, table, mode):
    """A move that would leave too little of the target's disk fails before it does anything."""
    shard, source = rows(coordinator, "SELECT shardid, nodeport FROM citus_shards WHERE table_name = %s::regclass LIMIT 1", [table])[0]
    target = next(node.port for node in cluster.workers if node.port != source)
    move = f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {source}, '127.0.0.1', {target}, '{mode}')"
    back = f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {target}, '127.0.0.1', {source}, '{mode}')"
    coordinator.execute("SET citus.check_available_space_before_move = on; SET citus.desired_percent_disk_available_after_move = 100")
    with pytest.raises(psycopg.errors.DiskFull, match=f"disk of node 127.0.0.1:{target} would have too little space") as error:
        coordinator.execute(move)
    assert "desired_percent_disk_available_after_move is 100." in error.value.diag.message_detail
    coordinator.execute("SET citus.check_available_space_before_move = off")
    coordinator.execute(move)
    coordinator.execute("SET citus.check_available_space_before_move = on; SET citus.desired_percent_disk_available_after_move = 0")
    coordinator.execute(back)
    coordinator.execute("RESET citus.check_available_space_before_move; RESET citus.desired_percent_disk_available_after_move")


def niceness(pid):
    return os.getpriority(os.PRIO_PROCESS, pid)


def test_cpu_priority(cluster, coordinator, table, connect):
    """Of a session, and of the one that copies a moved shard's rows."""
    session = connect(cluster.coordinator)
    pid = value(session, "SELECT pg_backend_pid()")
    before = niceness(pid)
    nicer = min(before + 3, 19)
    session.execute(f"SET citus.cpu_priority = {nicer}")
    assert niceness(pid) == nicer
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        session.execute("SET citus.cpu_priority = 20")
    warnings = []
    session.add_notice_handler(lambda warning: warnings.append(warning.message_hint))
    session.execute("RESET citus.cpu_priority")
    assert niceness(pid) == (nicer if warnings else before)
    assert all("RLIMIT_NICE" in hint for hint in warnings)
    shard, source = rows(coordinator, "SELECT shardid, nodeport FROM citus_shards WHERE table_name = %s::regclass LIMIT 1", [table])[0]
    target = next(node.port for node in cluster.workers if node.port != source)
    mover = connect(cluster.coordinator)
    mover.execute(f"SET citus.cpu_priority_for_logical_replication_senders = {nicer}")
    stopped = Stopped(cluster.coordinator, "move-copied", f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {source}, '127.0.0.1', {target}, 'force_logical')", mover)
    try:
        with servers.connect(next(node for node in cluster.workers if node.port == source)) as there:
            pids = [row[0] for row in rows(there, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")]
        assert max(niceness(each) for each in pids) == nicer
    finally:
        assert stopped.go_on() is None
