"""Rebalances that move shards: by jobs, in the foreground, and without being asked."""

import contextlib
import os
import signal
import time

import psycopg
import pytest

from harness import load
from harness.servers import kill_process, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped, is_stopped

pytestmark = pytest.mark.some(6)     # each makes clusters of its own

SHARDS = 8


@pytest.fixture
def moving(make_cluster, connect):
    """A coordinator and three workers, the last of which has no shards of the tables."""
    made = make_cluster(workers=3)
    connection = connect(made.coordinator)
    connection.execute("SET statement_timeout = '120s'")
    keep_shards_off(connection, made.workers[2])
    connection.execute(f"""
        SET citus.shard_count = {SHARDS};
        CREATE TABLE account (id int PRIMARY KEY, balance int);
        CREATE TABLE entry (account int REFERENCES account, n int, PRIMARY KEY (account, n));
        CREATE TABLE other (id text PRIMARY KEY);
        SELECT create_distributed_table('account', 'id');
        SELECT create_distributed_table('entry', 'account');
        SELECT create_distributed_table('other', 'id');
        INSERT INTO account SELECT g, 10 FROM generate_series(1, 1000) g;
        INSERT INTO entry SELECT 1 + g % 1000, g FROM generate_series(1, 5000) g;
        INSERT INTO other SELECT 'number ' || g FROM generate_series(1, 1000) g""")
    yield made, connection
    connection = connect(made.coordinator)
    assert rows(connection, "SELECT count(*), sum(balance) FROM account") == [(1000, 10000)]
    assert rows(connection, "SELECT count(*), sum(n) FROM entry JOIN account ON account = id") == [(5000, 12502500)]
    assert value(connection, "SELECT count(DISTINCT id) FROM other") == 1000


def keep_shards_off(connection, node, should_have_shards=False):
    connection.execute("SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', %s)",
                       (node.port, should_have_shards))


def groups_of(connection, made):
    """How many shard groups each worker has."""
    counts = dict(rows(connection, "SELECT nodeport, count(*) FROM citus_shards WHERE table_name IN "
                       "('account'::regclass, 'other'::regclass) GROUP BY nodeport"))
    assert rows(connection, "SELECT count(*) FROM citus_shards a JOIN citus_shards e ON e.table_name = 'entry'::regclass "
                "AND e.shardid = ANY (get_colocated_shard_array(a.shardid)) AND e.nodeport = a.nodeport "
                "WHERE a.table_name = 'account'::regclass") == [(SHARDS,)]
    return [counts.get(worker.port, 0) for worker in made.workers]


def test_job(moving):
    """A node that joins gets its part, in a job; a balanced cluster is left alone."""
    made, connection = moving
    assert groups_of(connection, made) == [8, 8, 0]
    assert value(connection, "SELECT citus_rebalance_start()") is None
    keep_shards_off(connection, made.workers[2], True)
    job = value(connection, "SELECT citus_rebalance_start()")
    with pytest.raises(psycopg.errors.ObjectInUse, match="a rebalance is already running"):
        connection.execute("SELECT citus_rebalance_start()")
    connection.execute("SELECT citus_job_wait(%s, 'finished')", (job,))
    assert max(groups_of(connection, made)) <= 6
    state, details = connection.execute("SELECT state, details FROM citus_rebalance_status()").fetchone()
    assert (state, details["tasks"], list(details["task_state_counts"])) == ("finished", [], ["done"])
    history = rows(connection, "SELECT status, automatic, reason FROM citus_rebalance_history WHERE job_id = %s", (job,))
    assert {(status, automatic) for status, automatic, _ in history} == {("done", False)}
    assert all("of the average load" in reason for _, _, reason in history)
    assert value(connection, "SELECT citus_rebalance_start()") is None


def test_foreground(moving):
    """rebalance_table_shards for one table, for all, and citus_drain_node: all done when they return."""
    made, connection = moving
    keep_shards_off(connection, made.workers[2], True)
    connection.execute("SELECT rebalance_table_shards('other', rebalance_strategy => 'by_shard_count')")
    assert sorted(count for count, in rows(connection, "SELECT count(*) FROM citus_shards WHERE table_name = 'other'::regclass "
                                           "GROUP BY nodeport")) == [2, 3, 3]
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE table_name = 'account'::regclass AND nodeport = %s",
                 (made.workers[2].port,)) == 0
    connection.execute("SELECT rebalance_table_shards(threshold => 0, rebalance_strategy => 'by_shard_count')")
    assert sorted(groups_of(connection, made)) == [5, 5, 6]
    connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", (made.workers[0].port,))
    counts = groups_of(connection, made)
    assert counts[0] == 0 and sorted(counts[1:]) == [8, 8]
    assert value(connection, "SELECT count(*) FROM get_rebalance_progress()") == 0
    with pytest.raises(psycopg.errors.ActiveSqlTransaction), connection.transaction():
        connection.execute("SELECT rebalance_table_shards()")


def test_cancelled(moving, connect):
    """A cancelled statement cancels its job; so does citus_rebalance_stop."""
    made, connection = moving
    keep_shards_off(connection, made.workers[2], True)
    connection.execute("ALTER SYSTEM SET citus.max_background_task_executors = 1")
    connection.execute("SELECT pg_reload_conf()")
    with connect(made.coordinator) as blocker:
        task = blocker.execute(
            "WITH job AS (INSERT INTO pg_dist_background_job (job_type, description) VALUES ('test', '') RETURNING job_id) "
            "INSERT INTO pg_dist_background_task (job_id, command) SELECT job_id, 'SELECT pg_sleep(1000)' FROM job "
            "RETURNING task_id").fetchone()
        blocker.execute("SELECT citus_task_wait(%s, 'running')", task)
    session = connect(made.coordinator)
    statement = Statement(session, "SELECT rebalance_table_shards()")
    running = "SELECT job_id FROM citus_job_list() WHERE job_type = 'rebalance' AND finished_at IS NULL"
    job = wait_until(lambda: value(connection, running), "the job to be made")
    progress = rows(connection, "SELECT progress, status, target_shard_size FROM get_rebalance_progress()")
    assert progress and set(progress) == {(0, "Not Started Yet", 0)}
    assert connection.execute("SELECT state, moves_done, percent, time_left FROM citus_rebalance_progress").fetchone() == (
        "scheduled", 0, 0, None)
    wait_until(lambda: value(connection, "SELECT wait_event FROM pg_stat_activity WHERE pid = %s",
                             (session.info.backend_pid,)) == "PgSleep", "the statement to wait for its job")
    session.cancel()
    statement.thread.join()
    assert isinstance(statement.error, psycopg.errors.QueryCanceled)
    wait_until(lambda: value(connection, running) is None, "the job to be cancelled")
    assert rows(connection, "SELECT state FROM citus_job_list() WHERE job_id = %s", (job,)) == [("cancelled",)]

    job = value(connection, "SELECT citus_rebalance_start()")
    connection.execute("SELECT citus_rebalance_stop()")
    connection.execute("SELECT citus_job_wait(%s, 'cancelled')", (job,))
    assert groups_of(connection, made) == [8, 8, 0]
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no ongoing rebalance"):
        connection.execute("SELECT citus_rebalance_stop()")


def test_retire(moving):
    """A node that is to leave empties, and is removed."""
    made, connection = moving
    port = made.workers[0].port
    job = value(connection, "SELECT citus_retire_node('127.0.0.1', %s)", (port,))
    keep_shards_off(connection, made.workers[2], True)
    connection.execute("SELECT citus_job_wait(%s, 'finished')", (job,))
    assert groups_of(connection, made) == [0, 16, 0]
    assert value(connection, "SELECT count(*) FROM pg_dist_node WHERE nodeport = %s", (port,)) == 0


def test_dropped_table(moving):
    """A move whose table is dropped fails, and stops no others."""
    made, connection = moving
    connection.execute("CREATE TABLE dropped (id int PRIMARY KEY)")
    connection.execute("SELECT create_distributed_table('dropped', 'id', colocate_with => 'none', shard_count => 4)")
    keep_shards_off(connection, made.workers[2], True)
    keep_shards_off(connection, made.workers[1])
    keep_shards_off(connection, made.workers[0])
    with connection.transaction():
        job = value(connection, "SELECT citus_rebalance_start()")
        connection.execute("DROP TABLE dropped")
    connection.execute("SELECT citus_job_wait(%s, 'failed')", (job,))
    assert groups_of(connection, made) == [0, 0, 16]
    counts = value(connection, "SELECT details->'task_state_counts' FROM citus_rebalance_status()")
    assert counts == {"done": 16, "error": 4}


def test_progress(moving):
    """A move that is about to switch shows that its rows have arrived, and how far what was written since has."""
    made, connection = moving
    keep_shards_off(connection, made.workers[2], True)
    for setting in ("citus.max_background_task_executors = 1", "citus.debug_points = 'move-before-switch=stop'"):
        connection.execute(f"ALTER SYSTEM SET {setting}")
    connection.execute("SELECT pg_reload_conf()")
    job = value(connection, "SELECT citus_rebalance_start()")
    states = "SELECT status, progress, source_shard_size > 0, target_shard_size > 0, source_lsn > '0/0', target_lsn > '0/0', sessionid " \
        "FROM get_rebalance_progress() ORDER BY sessionid LIMIT 1"

    def state():
        found = connection.execute(states).fetchone()
        return found[-1] if found[:-1] == ("Catching Up", 1, True, True, True, True) else None

    pid = wait_until(state, "a move to catch up")
    wait_until(lambda: is_stopped(pid), "the move to stop")
    connection.execute("ALTER SYSTEM RESET citus.debug_points")
    connection.execute("SELECT pg_reload_conf()")
    wait_until(lambda: value(connection, "SHOW citus.debug_points") == "", "the settings to be read")
    kill_process(pid, signal.SIGCONT)
    connection.execute("SELECT citus_job_wait(%s, 'finished')", (job,))


@pytest.mark.parametrize("victim", ["source", "target", "coordinator"])
def test_crash(moving, connect, victim):
    """A rebalance goes on after the crash of a node in the middle of a move, and nothing is left of that move."""
    made, connection = moving
    keep_shards_off(connection, made.workers[2], True)
    connection.execute("ALTER SYSTEM SET citus.debug_points = 'move-before-switch=stop'")
    connection.execute("SELECT pg_reload_conf()")
    job = value(connection, "SELECT citus_rebalance_start()")
    pid, source = wait_until(lambda: connection.execute(
        "SELECT t.pid, h.source_nodeid FROM pg_dist_background_task t JOIN pg_dist_rebalance_history h USING (task_id) "
        "WHERE t.status = 'running' AND t.pid IS NOT NULL").fetchone(), "a move to run")
    wait_until(lambda: is_stopped(pid), "the move to stop")
    port = value(connection, "SELECT nodeport FROM pg_dist_node WHERE nodeid = %s", (source,))
    node = {"target": made.workers[2], "coordinator": made.coordinator}.get(victim) or next(
        worker for worker in made.workers if worker.port == port)
    connection.execute("ALTER SYSTEM RESET citus.debug_points")
    connection.execute("SELECT pg_reload_conf()")
    wait_until(lambda: value(connection, "SHOW citus.debug_points") == "", "the settings to be read")
    node.kill()
    with contextlib.suppress(ProcessLookupError):       # it may have ended with its server
        kill_process(pid, signal.SIGCONT)
    node.start()
    if victim == "coordinator":
        connection = connect(made.coordinator)
    connection.execute("SELECT citus_job_wait(%s, 'finished')", (job,))
    assert max(groups_of(connection, made)) <= 6
    wait_until(lambda: connection.execute("CALL citus_cleanup_orphaned_resources()") and value(
        connection, "SELECT sum(result::int) FROM run_command_on_all_nodes('SELECT count(*) FROM pg_dist_cleanup')") == 0,
        "everything to be cleaned up")
    for query in ("SELECT count(*) FROM pg_replication_slots", "SELECT count(*) FROM pg_subscription",
                  "SELECT count(*) FROM pg_publication"):
        assert value(connection, "SELECT sum(result::int) FROM run_command_on_all_nodes(%s)", (query,)) == 0, query


def test_estimate(moving):
    """The rest of a rebalance takes as long for each byte as what is done has taken."""
    _, connection = moving
    assert rows(connection, "SELECT * FROM citus_rebalance_progress") == []
    shards = [shardid for shardid, in rows(connection, "SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'other'::regclass "
                                           "ORDER BY shardid LIMIT 4")]
    job = value(connection, "INSERT INTO pg_dist_background_job (job_type, description, state, started_at) "
                "VALUES ('rebalance', '', 'running', now() - interval '60 s') RETURNING job_id")
    for number, shardid in enumerate(shards):
        connection.execute("""
            WITH task AS (INSERT INTO pg_dist_background_task (job_id, command, status, not_before)
                          VALUES (%s, 'SELECT 1', %s, now() + interval '1 h') RETURNING job_id, task_id)
            INSERT INTO pg_dist_rebalance_history SELECT job_id, task_id, now(), false, 'other', %s, 0,
                source.nodeid, source.nodename, source.nodeport, target.nodeid, target.nodename, target.nodeport, ''
            FROM task, pg_dist_node source, pg_dist_node target
            WHERE source.groupid = (SELECT groupid FROM pg_dist_placement WHERE shardid = %s) AND target.groupid = 3
            """, (job, "done" if number == 0 else "runnable", shardid, shardid))
    percent, moves, moves_done, time_left = connection.execute(
        "SELECT percent, moves, moves_done, extract(epoch FROM time_left) FROM citus_rebalance_progress").fetchone()
    assert 20 <= percent <= 30 and (moves, moves_done) == (4, 1)
    assert 140 < time_left < 240
    connection.execute("SELECT citus_rebalance_stop()")


def test_large_plan(make_cluster, connect):
    """A plan of 2,000 shard groups on one of two nodes takes seconds, and halves them."""
    made = make_cluster(workers=2)
    connection = connect(made.coordinator)
    connection.execute("CREATE TABLE large (id int)")
    connection.execute("SELECT create_distributed_table('large', 'id', shard_count => 2000)")
    connection.execute("UPDATE pg_dist_placement SET groupid = 1")
    start = time.monotonic()
    moves = rows(connection, "SELECT targetport, count(*), count(DISTINCT shardid) FROM get_rebalance_table_shards_plan() GROUP BY 1")
    assert time.monotonic() - start < 5
    assert len(moves) == 1 and moves[0][0] == made.workers[1].port and 900 <= moves[0][1] == moves[0][2] <= 1000


MEGABYTE = 1024 * 1024


def test_plan_of_100_gigabytes(make_cluster, connect):
    """A plan by sizes, of shards whose files have holes, and what the whole may take when a part of it is done."""
    made = make_cluster(workers=2, settings={"citus.background_task_queue_interval": "-1"})
    connection = connect(made.coordinator)
    connection.execute("CREATE TABLE large (id int)")
    connection.execute("SELECT create_distributed_table('large', 'id', shard_count => 2000)")
    for node, megabytes in zip(made.workers, (80, 20)):
        with connect(node) as there:
            for path, in rows(there, "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^large_[0-9]'"):
                os.truncate(os.path.join(node.data, path), megabytes * MEGABYTE)
    connection.execute("SET citus.rebalancer_by_disk_size_base_cost = 0")
    assert value(connection, "SELECT sum(size) FROM citus_shard_sizes()") == 100_000 * MEGABYTE
    start = time.monotonic()
    moves = rows(connection, "SELECT shard_size, sourceport, targetport FROM get_rebalance_table_shards_plan()")
    assert time.monotonic() - start < 5
    ports = [node.port for node in made.workers]
    assert set(moves) == {(80 * MEGABYTE, *ports)}
    assert 25_000 <= 80 * len(moves) <= 30_000      # no more than what is needed: from 80 % to between 55 % and 50 %

    job = value(connection, "SELECT citus_rebalance_start()")
    with connection.transaction():
        done = len(moves) // 4
        connection.execute("UPDATE pg_dist_background_task SET status = 'done' WHERE task_id IN "
                           "(SELECT task_id FROM pg_dist_background_task WHERE job_id = %s ORDER BY task_id LIMIT %s)", (job, done))
        connection.execute("UPDATE pg_dist_background_job SET state = 'running', started_at = now() - interval '1 h' WHERE job_id = %s",
                           (job,))
    found = connection.execute("SELECT moves, moves_done, percent, extract(epoch FROM time_left)::int / 60, "
                               "size = pg_size_pretty(%s::bigint) FROM citus_rebalance_progress",
                               (80 * len(moves) * MEGABYTE,)).fetchone()
    assert found[:2] == (len(moves), done) and 24 <= found[2] <= 25 and 180 <= found[3] <= 190 and found[4], found


def test_large_shards_are_split(make_cluster, connect):
    """Shards beyond a size are split without being asked, where their rows are; what has one value is left alone."""
    made = make_cluster(workers=2, settings={"citus.defer_shard_delete_interval": "200ms"})
    connection = connect(made.coordinator)
    load.account_tables(made)
    connection.execute("CREATE TABLE note (tenant int, n int, pad text)")
    connection.execute("ALTER TABLE note ALTER pad SET STORAGE PLAIN")
    connection.execute("SELECT create_distributed_table('note', 'tenant', shard_count => 2, colocate_with => 'none')")
    # half of the rows, and one more, are one tenant's
    connection.execute("INSERT INTO note SELECT CASE g % 2 WHEN 0 THEN 1 ELSE g END, g, repeat('x', 400) FROM generate_series(1, 20000) g")
    for name, setting in (("split_shard_size", "2MB"), ("rebalance_interval", "200ms"), ("rebalance_automatically", "on")):
        connection.execute(f"ALTER SYSTEM SET citus.{name} = '{setting}'")

    def are_small():
        """But for that of the one tenant."""
        failed = rows(connection, "SELECT * FROM citus_rebalance_history WHERE status IN ('error', 'cancelled')")
        assert not failed, failed
        found = rows(connection, "SELECT shard_size > 2 * 1024 * 1024, shardminvalue = shardmaxvalue FROM citus_shards "
                     "JOIN pg_dist_shard USING (shardid) WHERE table_name = 'note'::regclass")
        return sorted(each for each in found if each[0]) == [(True, True)]

    def split_all():
        connection.execute("SELECT pg_reload_conf()")
        wait_until(are_small, "large shards to be split", timeout=200)

    clients = load.Load()
    for number, node in enumerate(made.nodes):
        clients.add(node, load.transfer, f"transfer{number}")
        clients.add(node, lambda connection: connection.execute("UPDATE note SET n = n WHERE tenant = 3"), f"writer{number}")
    clients.meanwhile(split_all)
    assert rows(connection, "SELECT count(*), sum(n), count(*) FILTER (WHERE tenant = 1) FROM note") == [(20000, 200010000, 10001)]
    told = rows(connection, "SELECT automatic, targetport, reason FROM citus_rebalance_history WHERE table_name = 'note'::regclass "
                "AND status = 'done' AND targetport IS NULL")
    assert len(told) >= 3 and {each[:2] for each in told} == {(True, None)}
    assert all(reason.endswith("MB, more than citus.split_shard_size.") for _, _, reason in told)


def test_progress_of_one_move(moving, connect):
    """A move that is no part of a rebalance is shown as well, from any node, while it is being made."""
    made, connection = moving
    shard, source, shards = connection.execute(
        "SELECT shardid, nodeport, get_colocated_shard_array(shardid) FROM citus_shards WHERE table_name = 'account'::regclass "
        "ORDER BY 1 LIMIT 1").fetchone()
    ports = [source, made.workers[2].port]
    moved = Stopped(made.coordinator, "move-before-switch", "SELECT citus_move_shard_placement({}, '127.0.0.1', {}, '127.0.0.1', {})"
                    .format(shard, *ports))
    with connect(made.workers[0]) as watcher:
        seen = rows(watcher, "SELECT sessionid, shardid, sourceport, targetport, progress, operation_type, status, "
                    "target_shard_size > 0 FROM get_rebalance_progress()")
    assert seen == [(0, shardid, *ports, 1, "move", "Catching Up", True) for shardid in sorted(shards)]
    moves = rows(connection, "SELECT shardid, source, target, status, percent > 0, behind IS NOT NULL, "
                 "elapsed BETWEEN '0' AND '5 minutes', time_left >= '0' FROM citus_move_progress")
    assert moves == [(min(shards), f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", "Catching Up", True, True, True, True)]
    assert rows(connection, "SELECT * FROM citus_rebalance_progress") == []
    assert moved.go_on() is None
    assert rows(connection, "SELECT * FROM get_rebalance_progress()") == rows(connection, "SELECT * FROM citus_move_progress") == []


def test_without_being_asked(moving):
    """With the setting on, a node that joins is filled and one that should have no shards is emptied, and a view says why."""
    made, connection = moving
    connection.execute("ALTER SYSTEM SET citus.rebalance_interval = '200ms'")
    connection.execute("ALTER SYSTEM SET citus.rebalance_automatically = on")
    now = value(connection, "SELECT now()")
    connection.execute(f"ALTER SYSTEM SET citus.rebalance_window = '{window(now, 2, 3)}'")
    connection.execute("SELECT pg_reload_conf()")
    keep_shards_off(connection, made.workers[2], True)
    wait_until(lambda: value(connection, "SHOW citus.rebalance_window") == window(now, 2, 3), "the settings to be read")
    connection.execute(f"ALTER SYSTEM SET citus.rebalance_window = '{window(now, -2, 3)}'")
    assert groups_of(connection, made) == [8, 8, 0]
    connection.execute("SELECT pg_reload_conf()")
    wait_until(lambda: max(groups_of(connection, made)) <= 6, "the new node to be filled")
    keep_shards_off(connection, made.workers[0])
    wait_until(lambda: groups_of(connection, made)[0] == 0, "the node to be emptied")
    assert {automatic for automatic, in rows(connection, "SELECT automatic FROM citus_rebalance_history")} == {True}
    port = made.workers[0].port
    assert value(connection, "SELECT count(*) FROM citus_rebalance_history WHERE reason = %s AND sourceport = %s",
                 (f"Node 127.0.0.1:{port} is to hold no shards.", port)) > 0


def sizes(connection):
    """Bytes of the shards of each node that may have some, as parts of their average."""
    found = rows(connection, "SELECT coalesce(sum(shard_size), 0)::float FROM pg_dist_node n LEFT JOIN citus_shards s "
                 "ON s.nodeport = n.nodeport AND s.citus_table_type = 'distributed' WHERE n.shouldhaveshards GROUP BY n.nodeid")
    average = sum(size for size, in found) / len(found)
    return sorted(size / average for size, in found)


def is_balanced(connection, nodes):
    found = sizes(connection)
    return len(found) == nodes and found[0] >= 0.9 and found[-1] <= 1.1


def retire(connection, node):
    """Has a node leave; waits until it is gone. A rebalance that is running is waited for."""
    def start():
        try:
            return value(connection, "SELECT citus_retire_node('127.0.0.1', %s)", (node.port,))
        except psycopg.errors.ObjectInUse:
            return None

    connection.execute("SELECT citus_job_wait(%s, 'finished')", (wait_until(start, "the retirement to start", timeout=120),))
    assert value(connection, "SELECT count(*) FROM pg_dist_node WHERE nodeport = %s", (node.port,)) == 0


def test_from_two_to_four_nodes_and_back(make_cluster, connect):
    """Nodes that join are filled by size, and those that are to leave are emptied and removed, under load and unattended."""
    made = make_cluster(workers=4, settings={"citus.rebalancer_by_disk_size_base_cost": "0"})
    connection = connect(made.coordinator)
    guests = made.workers[2:]
    for node in guests:
        connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", (node.port,))
    load.account_tables(made)
    connection.execute("CREATE TABLE event (tenant int, n int, pad text)")
    connection.execute("SELECT create_distributed_table('event', 'tenant', shard_count => 24, colocate_with => 'none')")
    connection.execute("INSERT INTO event SELECT 1 + sqrt(g)::int, g, repeat('x', 300) FROM generate_series(1, 60000) g")
    connection.execute("ALTER SYSTEM SET citus.rebalance_interval = '500ms'")
    connection.execute("ALTER SYSTEM SET citus.rebalance_automatically = on")
    connection.execute("SELECT pg_reload_conf()")

    def story():
        for node in guests:
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", (node.port,))
        wait_until(lambda: is_balanced(connection, 4), "four nodes to be in balance", timeout=200)
        for node in guests:
            retire(connection, node)
        wait_until(lambda: is_balanced(connection, 2), "two nodes to be in balance", timeout=100)

    clients = load.Load()
    for number, node in enumerate(made.nodes[:3]):
        clients.add(node, load.transfer, f"transfer{number}")
        clients.add(node, load.check_total, f"total{number}")
    clients.meanwhile(story)
    load.check_total(connection)
    assert rows(connection, "SELECT count(*), sum(n) FROM event") == [(60000, 1800030000)]
    assert value(connection, "SELECT count(*) FROM citus_rebalance_history WHERE status <> 'done'") == 0
    for node in guests:
        # filled without being asked, emptied, and removed when the last shard has gone
        told = rows(connection, "SELECT targetport = %(port)s, automatic, shardid IS NULL, reason FROM citus_rebalance_history "
                    "WHERE %(port)s IN (sourceport, targetport) ORDER BY task_id", {"port": node.port})
        assert told[0][:3] == (True, True, False) and "of the average load" in told[0][3], told
        assert told[-2][:3] == (False, False, False) and "is to hold no shards" in told[-2][3], told
        assert told[-1] == (None, False, True, f"Node 127.0.0.1:{node.port} is to leave."), told


def window(now, begins, ends):
    """A window of the day, in hours from now."""
    return f"{(now.hour + begins) % 24:02}:{now.minute:02}-{(now.hour + ends) % 24:02}:{now.minute:02}"
