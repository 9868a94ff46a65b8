"""Deadlocks that no single node can see: broken in time, the youngest gives way, and never a false alarm."""

import signal
import threading
import time

import psycopg
import pytest

from harness import servers
from harness.servers import fill, kill_process, on_every_node, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped
from test_jobs import make_job

LIMIT = 2.0     # citus.distributed_deadlock_detection_factor * deadlock_timeout, in seconds
GRACE = 15.0    # what a loaded machine may add


def waiting(cluster):
    """How many waits for locks there are on all nodes."""
    return sum(row[0] for found in on_every_node(cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()
               for row in found)


def wait_for_waits(cluster, count):
    wait_until(lambda: waiting(cluster) >= count, f"{count} waits for locks")


def key_on(connection, table, node, skip=0):
    """A value of the distribution column whose row is on a node."""
    return rows(connection, """
        SELECT g FROM generate_series(1, 100) g, pg_dist_placement p, pg_dist_node n
        WHERE p.shardid = get_shard_id_for_distribution_column(%s::regclass, g::bigint)
          AND n.groupid = p.groupid AND n.nodeport = %s ORDER BY g""", [table, node.port])[skip][0]


def update(table, key):
    return f"UPDATE {table} SET payload = payload + 1 WHERE id = {key}"


def close_circle(cluster, sessions, statements):
    """Runs statements, each of which waits for the next session, so that the last one makes a deadlock.

    Exactly one is cancelled, in time, and the rest goes on. Returns who. A statement may be a pair of a
    COPY FROM STDIN and its rows.
    """
    running = []
    for session, statement in zip(sessions, statements):
        running.append(Statement(session, *([statement] if isinstance(statement, str) else statement)))
        if len(running) < len(sessions):
            wait_for_waits(cluster, len(running))
    began = time.monotonic()
    wait_until(lambda: any(statement.error for statement in running), "a victim", LIMIT + GRACE)
    took = time.monotonic() - began
    victims = [i for i, statement in enumerate(running) if statement.error]
    assert len(victims) == 1
    error = running[victims[0]].error
    assert isinstance(error, psycopg.errors.DeadlockDetected), error
    assert error.diag.message_primary == "deadlock detected"
    assert error.diag.message_detail.count("blocked by process") >= 2
    assert "See server log" in error.diag.message_hint
    assert took < LIMIT + GRACE
    sessions[victims[0]].rollback()
    # the others end one after the other
    while any(statement.running for statement in running):
        for session, statement in zip(sessions, running):
            if not statement.running:
                session.commit()
        time.sleep(0.01)
    assert [i for i, statement in enumerate(running) if statement.finish()] == victims
    for session in sessions:
        session.commit()
    return victims[0]


@pytest.fixture
def keys(cluster, coordinator, table):
    """A key of the table on each worker."""
    return [key_on(coordinator, table, worker) for worker in cluster.workers]


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1), (1, 2), (2, 1)])
def test_two_rows_on_two_nodes(coordinator, cluster, table, keys, session, nodes):
    """Each session has a row on one node, and wants the other's on another."""
    sessions = [session(node) for node in nodes]
    for one, key in zip(sessions, keys):
        one.execute(update(table, key))
    victim = close_circle(cluster, sessions, [update(table, keys[1]), update(table, keys[0])])
    assert victim == 1, "the younger one gives way"
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 2


def test_the_youngest_gives_way(cluster, table, keys, session):
    """Also if it isn't the one that closes the circle."""
    younger, older = session(1), session(2)
    older.execute("SELECT now()")
    younger.execute(update(table, keys[0]))
    older.execute(update(table, keys[1]))
    assert close_circle(cluster, [younger, older], [update(table, keys[1]), update(table, keys[0])]) == 0


@pytest.mark.parametrize("nodes", [(0, 1, 2), (1, 1, 0)])
def test_three_sessions(cluster, coordinator, table, keys, session, nodes):
    third = key_on(coordinator, table, cluster.workers[0], skip=1)
    held = [*keys, third]
    sessions = [session(node) for node in nodes]
    for one, key in zip(sessions, held):
        one.execute(update(table, key))
    close_circle(cluster, sessions, [update(table, key) for key in held[1:] + held[:1]])


def test_statement_over_all_shards(cluster, table, keys, session):
    """One wants a row on each node, and has got the other's."""
    sessions = [session(0), session(2)]
    sessions[1].execute(update(table, keys[0]))
    close_circle(cluster, sessions, [f"UPDATE {table} SET payload = payload + 1", update(table, keys[1])])


@pytest.mark.parametrize("nodes", [(0, 1), (1, 2), (2, 2)])
def test_reference_table_and_row(cluster, schema, coordinator, table, keys, session, nodes):
    """One writes the reference table and wants a row, the other has the row."""
    coordinator.execute(f"CREATE TABLE {schema}.r (id int PRIMARY KEY, payload int)")
    coordinator.execute(f"SELECT create_reference_table('{schema}.r')")
    coordinator.execute(f"INSERT INTO {schema}.r VALUES (1, 0)")
    sessions = [session(node) for node in nodes]
    sessions[0].execute(update(f"{schema}.r", 1))
    sessions[1].execute(update(table, keys[1]))
    close_circle(cluster, sessions, [update(table, keys[1]), update(f"{schema}.r", 1)])


def test_two_reference_tables(cluster, schema, coordinator, session):
    """All waits are on the node that orders writers: PostgreSQL's own detector may be first."""
    for name in ("r", "s"):
        coordinator.execute(f"CREATE TABLE {schema}.{name} (id int PRIMARY KEY, payload int)")
        coordinator.execute(f"SELECT create_reference_table('{schema}.{name}')")
        coordinator.execute(f"INSERT INTO {schema}.{name} VALUES (1, 0)")
    sessions = [session(1), session(2)]
    sessions[0].execute(update(f"{schema}.r", 1))
    sessions[1].execute(update(f"{schema}.s", 1))
    close_circle(cluster, sessions, [update(f"{schema}.s", 1), update(f"{schema}.r", 1)])


def test_row_and_local_table(cluster, schema, coordinator, table, keys, session):
    """A table that only the coordinator has is part of the circle."""
    coordinator.execute(f"CREATE TABLE {schema}.here (id int)")
    sessions = [session(0), session(0)]
    sessions[0].execute(f"LOCK TABLE {schema}.here")
    sessions[1].execute(update(table, keys[0]))
    close_circle(cluster, sessions, [update(table, keys[0]), f"SELECT * FROM {schema}.here"])


def test_unique_keys(cluster, table, keys, session):
    """Each inserts what the other has inserted."""
    sessions = [session(1), session(0)]
    new = [key + 1000 for key in keys]
    for one, key in zip(sessions, new):
        one.execute(f"INSERT INTO {table} VALUES ({key}, 1)")
    statements = [f"INSERT INTO {table} VALUES ({key}, 2) ON CONFLICT (id) DO UPDATE SET payload = 3"
                  for key in (new[1], new[0])]
    close_circle(cluster, sessions, statements)


@pytest.mark.parametrize("nodes", [(0, 0), (0, 2)])
def test_ddl_late_in_a_transaction(cluster, table, keys, session, nodes):
    """DDL wants the whole table, of which another has a row and wants one of ours."""
    sessions = [session(node) for node in nodes]
    for one, key in zip(sessions, keys):
        one.execute(update(table, key))
    close_circle(cluster, sessions[::-1], [update(table, keys[0]), f"ALTER TABLE {table} ADD COLUMN late int"])


@pytest.mark.parametrize("nodes", [(0, 1), (1, 2)])
def test_first_queries(cluster, schema, coordinator, connect, nodes):
    """Sessions that have run commands only, and wait for a lock before their first query is planned."""
    for name in "ab":
        coordinator.execute(f"CREATE TABLE {schema}.{name} (id bigint)")
        coordinator.execute(f"SELECT create_distributed_table('{schema}.{name}', 'id')")
    sessions = [connect(cluster.nodes[node]) for node in nodes]
    for session, name in zip(sessions, "ab"):
        session.execute("BEGIN")
        session.execute(f"LOCK TABLE {schema}.{name}")
    close_circle(cluster, sessions, [f"SELECT FROM {schema}.{name} WHERE id = 1" for name in "ba"])


def test_ddl_that_gives_way(cluster, connect, table, keys, session):
    """DDL outside a transaction block gives its locks back again and again; nobody is cancelled meanwhile."""
    holder = session(2)
    holder.execute(update(table, keys[1]))
    coordinator = connect(cluster.coordinator)
    ddl = Statement(coordinator, f"ALTER TABLE {table} ADD COLUMN late int")
    observer = connect(cluster.coordinator)
    wait_until(lambda: value(observer, f"SELECT clock_timestamp() - query_start > interval '{2 * LIMIT} s' "
                             "FROM pg_stat_activity WHERE pid = %s", [coordinator.info.backend_pid]), "a long wait")
    holder.execute(update(table, keys[0]))
    assert ddl.running
    holder.commit()
    assert ddl.finish() is None


def test_caught(cluster, table, keys, session):
    """PL/pgSQL can catch it as deadlock_detected, and go on with what was done before."""
    sessions = [session(1), session(0)]
    for one, key in zip(sessions, keys):
        one.execute(update(table, key))
    first = Statement(sessions[0], update(table, keys[1]))
    wait_for_waits(cluster, 1)
    catcher = Statement(sessions[1], f"""DO $$ BEGIN
        {update(table, keys[0])};
        EXCEPTION WHEN deadlock_detected THEN {update(table, keys[1])};
    END $$""")
    assert catcher.finish() is None
    sessions[1].commit()
    assert first.finish() is None
    sessions[0].commit()
    assert rows(sessions[0], f"SELECT sum(payload) FROM {table}") == [(4,)]


def test_statement_inside_another(cluster, table, keys, session):
    """What another node does for us on a third one is in the circle too; the client's session gives way."""
    sessions = [session(1), session(2)]
    sessions[1].execute(update(table, keys[1]))
    sessions[0].execute(update(table, keys[0]))
    nested = f"SELECT run_command_on_coordinator('{update(table, keys[1])}')"
    close_circle(cluster, sessions, [nested, update(table, keys[0])])


def test_prepared_transaction(cluster, schema, coordinator, session):
    """A deferred constraint makes one node's PREPARE wait, while what another node has prepared is waited for."""
    name = f"{schema}.d"
    coordinator.execute(f"CREATE TABLE {name} (id bigint, payload int, UNIQUE (id, payload) DEFERRABLE INITIALLY DEFERRED)")
    coordinator.execute("SELECT create_distributed_table(%s, 'id')", [name])
    keys = [key_on(coordinator, name, worker) for worker in cluster.workers]
    coordinator.execute(f"INSERT INTO {name} VALUES ({keys[0]}, 0)")
    committer, other = session(0), session(1)
    other.execute(f"INSERT INTO {name} VALUES ({keys[1]}, 1)")
    committer.execute(update(name, keys[0]))
    committer.execute(f"INSERT INTO {name} VALUES ({keys[1]}, 1)")
    close_circle(cluster, [committer, other], ["COMMIT", update(name, keys[0])])


def test_alone(cluster, table, keys, session):
    """A session waits for itself, by what another node does for it in a transaction of its own: only that fails."""
    one = session(1)
    one.execute(update(table, keys[0]))
    assert rows(one, f"SELECT success, result FROM run_command_on_coordinator('{update(table, keys[0])}')") == [
        (False, "ERROR: deadlock detected")]
    one.commit()
    assert rows(one, f"SELECT sum(payload) FROM {table}") == [(1,)]


def test_write_that_commits_by_itself(cluster, connect, coordinator, table, keys, session):
    """It is sent to its node without a transaction; it holds a lock on the table meanwhile."""
    block, alone = session(0), connect(cluster.coordinator)
    block.execute(update(table, keys[0]))
    assert close_circle(cluster, [alone, block], [update(table, keys[0]), f"LOCK TABLE {table}"]) == 0
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 1


def test_copy(cluster, table, keys, session):
    """COPY waits for a key that another has inserted."""
    sessions = [session(1), session(0)]
    new = [key + 1000 for key in keys]
    for one, key in zip(sessions, new):
        with one.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write_row([key, 1])
    copies = [(f"COPY {table} FROM STDIN", [[key, 2]]) for key in (new[1], new[0])]
    close_circle(cluster, sessions, copies)


def all_waited(cluster, count, seconds):
    """Waits until so many waits for locks are older than that."""
    wait_until(lambda: sum(row[0] for found in on_every_node(cluster, f"""
        SELECT count(*) FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - interval '{seconds} s'
        """).values() for row in found) >= count, f"{count} waits for more than {seconds} s")


def test_idle_holder(cluster, table, keys, session):
    """Whoever waits for a session that waits for its client is in no deadlock, however long that takes."""
    holder, middle, last = session(0), session(1), session(2)
    holder.execute(update(table, keys[0]))
    middle.execute(update(table, keys[1]))
    waits = [Statement(middle, update(table, keys[0]))]
    wait_for_waits(cluster, 1)
    waits.append(Statement(last, update(table, keys[1])))
    all_waited(cluster, 2, 1.5 * LIMIT)
    assert not any(found[0][0] for found in on_every_node(cluster, "SELECT check_distributed_deadlocks()").values())
    assert all(wait.running for wait in waits)
    holder.commit()
    assert waits[0].finish() is None
    middle.commit()
    assert waits[1].finish() is None
    last.commit()


def test_who_is_asked(cluster, connect, table, keys, session):
    """A node where a session waits asks for what that may wait for, and no other node."""
    first, second = session(0), session(0)
    first.execute(update(table, keys[0]))
    statement = Statement(second, update(table, keys[0]))
    wait_for_waits(cluster, 1)
    searcher = connect(cluster.workers[0])
    assert not value(searcher, "SELECT check_distributed_deadlocks()")
    here = value(searcher, "SELECT citus_backend_gpid()")
    asked = {name for name, found in on_every_node(
        cluster, f"SELECT 1 FROM pg_stat_activity WHERE application_name = 'citus_internal gpid={here}'").items() if found}
    assert asked == {cluster.coordinator.name}
    first.commit()
    assert statement.finish() is None


def test_given_up(cluster, table, keys, session):
    """A session on another node that was given up, and hangs in a lock still, is nobody's wait any more."""
    one, other = session(0), session(0)
    other.execute(update(table, keys[0]))
    one.execute(update(table, keys[1]))
    one.execute("SAVEPOINT s")
    one.execute("SET LOCAL citus.node_connection_timeout = '300ms'")
    statement = Statement(one, update(table, keys[0]))
    wait_for_waits(cluster, 1)
    with servers.connect(cluster.workers[0]) as observer:
        pid = value(observer, "SELECT pid FROM pg_locks WHERE NOT granted")
    kill_process(pid, signal.SIGSTOP)
    try:
        one.cancel()
        assert isinstance(statement.finish(), psycopg.errors.QueryCanceled)
        one.execute("ROLLBACK TO s")
        statements = [Statement(other, update(table, keys[1])), Statement(one, "SELECT pg_sleep(60)")]
        all_waited(cluster, 2, 1.5 * LIMIT)
        assert all(statement.running for statement in statements)
    finally:
        kill_process(pid, signal.SIGCONT)
    one.cancel()
    assert isinstance(statements[1].finish(), psycopg.errors.QueryCanceled)
    one.rollback()
    assert statements[0].finish() is None
    other.commit()


def test_victim_that_goes_on(coordinator, connect, cluster):
    """A session whose transaction ends while it is being cancelled is not cancelled in its next one."""
    def work():
        for seconds in (1, 3):
            try:
                session.execute(f"SELECT pg_sleep({seconds})")
            except psycopg.Error as error:
                errors.append(error)

    session, errors = connect(cluster.coordinator), []
    pid = servers.pid_of(session)
    thread = threading.Thread(target=work)
    thread.start()
    lxid, begun = wait_until(lambda: rows(coordinator, """
        SELECT split_part(virtualtransaction, '/', 2), query_start FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE pid = %s AND locktype = 'virtualxid' AND wait_event = 'PgSleep'""", [pid]), "the session to be at work")[0]
    canceling = Stopped(cluster.coordinator, "deadlock-victim-found", f"SELECT citus_internal.cancel_deadlock_victim({pid}, {lxid}, 'x')")
    # the function of the view, since whoever is stopped may hold locks of the lock manager
    wait_until(lambda: value(coordinator, "SELECT wait_event_type = 'LWLock' OR query_start > %s AND wait_event = 'PgSleep' "
                             "FROM pg_stat_get_activity(%s)", [begun, pid]), "the transaction to end")
    assert canceling.go_on() is None
    thread.join(servers.PATIENCE)
    assert errors == []


@pytest.mark.some(1)
def test_background_tasks(coordinator, connect, cluster, table, keys):
    """Tasks of a job that wait for each other on two nodes: one gives way, and is tried again."""
    def task(first, second):
        return f"DO $$ BEGIN {update(table, first)}; PERFORM pg_advisory_xact_lock_shared(37); {update(table, second)}; END $$"

    with connect(cluster.coordinator) as holder:
        holder.execute("SELECT pg_advisory_lock(37)")
        job, _ = make_job(coordinator, (task(*keys), [], None), (task(*reversed(keys)), [], None))
        wait_until(lambda: value(coordinator, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == 2,
                   "both tasks to have a row")
    coordinator.execute("SET statement_timeout = '90s'")
    coordinator.execute("SELECT citus_job_wait(%s, 'finished')", (job,))
    tried = rows(coordinator, "SELECT coalesce(retry_count, 0) FROM pg_dist_background_task WHERE job_id = %s ORDER BY 1", (job,))
    assert tried == [(0,), (1,)]


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_unreachable_node(make_cluster, how):
    """A node that is down, or doesn't answer, doesn't keep the others' deadlocks from being broken."""
    made = make_cluster(workers=3)
    with servers.connect(made.coordinator) as connection:
        fill(connection, "t", 100)
        keys = [key_on(connection, "t", worker) for worker in made.workers[:2]]
    with servers.connect(made.nodes[1], autocommit=False) as one, \
            servers.connect(made.nodes[2], autocommit=False) as other:
        one.execute(update("t", keys[0]))
        other.execute(update("t", keys[1]))
        if how == "kill":
            made.workers[2].kill()
        else:
            kill_process(made.workers[2].pid(), signal.SIGSTOP)
        try:
            statements = [Statement(one, update("t", keys[1])), Statement(other, update("t", keys[0]))]
            victim = wait_until(lambda: [s for s in statements if s.error], "a victim")[0]
            victim.connection.rollback()
            errors = [statement.finish() for statement in statements]
        finally:
            if how == "freeze":
                kill_process(made.workers[2].pid(), signal.SIGCONT)
        assert isinstance(victim.error, psycopg.errors.DeadlockDetected)
        assert errors.count(None) == 1


@pytest.mark.parametrize("begin", [
    ["SELECT 1 / 0", "BEGIN", "change"],
    ["BEGIN", "change", "SAVEPOINT before", "SELECT 1 / 0", "ROLLBACK TO before"],
    ["BEGIN", "SELECT 1 / 0", "SELECT 1", "ROLLBACK", "BEGIN", "change"],
], ids=["statement", "savepoint", "block"])
def test_prepared_statements_after_an_error(cluster, coordinator, connect, table, keys, session, begin):
    """The victim's statements are about its own node and have their plans, and its session has seen an error.

    What is between is sent past psycopg, which forgets prepared statements after a ROLLBACK.
    """
    own = [keys[0], key_on(coordinator, table, cluster.workers[0], skip=1)]
    victim = connect(cluster.workers[0])
    victim.execute("SET plan_cache_mode = force_generic_plan")
    changes = [f"UPDATE {table} SET payload = payload + {key} WHERE id = {key}" for key in own]
    for change in changes * 8:
        victim.execute(change, prepare=True)
    first, second = session(2), session(0)
    first.execute(update(table, own[1]))
    second.execute(update(table, keys[1]))
    for statement in begin:
        if statement == "change":
            victim.execute(changes[0])
        else:
            victim.pgconn.exec_(statement.encode())
    waits = [Statement(victim, changes[1])]
    wait_for_waits(cluster, 1)
    waits.append(Statement(first, update(table, keys[1])))
    wait_for_waits(cluster, 2)
    waits.append(Statement(second, update(table, own[0])))
    assert isinstance(waits[0].finish(), psycopg.errors.DeadlockDetected), waits[0].error
    victim.execute("ROLLBACK")
    assert waits[2].finish() is None
    second.commit()
    assert waits[1].finish() is None
    first.commit()


def test_command_that_waits_for_its_own_transaction(cluster, schema, connect):
    """A command on single nodes that waits for its caller's transaction fails alone: the caller gets that as a row."""
    for node in cluster.nodes:
        caller = connect(node)
        view = f"{schema}.seen_{node.port}"
        with caller.transaction():
            caller.execute(f"CREATE VIEW {view} AS SELECT 1 AS a")
            found = rows(caller, "SELECT success, result FROM run_command_on_all_nodes(%s)", [f"CREATE VIEW {view} AS SELECT 2 AS a"])
            assert found == [(False, "ERROR: deadlock detected")] * len(cluster.nodes)
        assert list(on_every_node(cluster, f"SELECT a FROM {view}").values()) == [[(1,)]] * len(cluster.nodes)
        assert all(not success for success, in rows(
            caller, "SELECT success FROM run_command_on_all_nodes(%s)", [f"CREATE VIEW {view} AS SELECT 2 AS a"]))
