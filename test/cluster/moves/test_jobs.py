"""Background jobs: order, failures, retries, cancellation, and what is left when processes or the server die."""

import psycopg
import pytest

from harness.servers import rows, value, wait_until


def make_job(connection, *tasks, kind="test"):
    """A job of tasks (command, positions of those it depends on, nodes involved); its number and those of its tasks."""
    with connection.transaction():
        job = connection.execute(
            "INSERT INTO pg_dist_background_job (job_type, description) VALUES (%s, 'a test') RETURNING job_id",
            (kind,)).fetchone()[0]
        ids = []
        for command, depends_on, nodes in tasks:
            ids.append(connection.execute(
                "INSERT INTO pg_dist_background_task (job_id, command, status, nodes_involved) "
                "VALUES (%s, %s, %s, %s) RETURNING task_id",
                (job, command, "blocked" if depends_on else "runnable", nodes)).fetchone()[0])
            for position in depends_on:
                connection.execute("INSERT INTO pg_dist_background_task_depend VALUES (%s, %s, %s)",
                                   (job, ids[-1], ids[position]))
    return job, ids


def statuses(connection, job):
    return [row[0] for row in rows(
        connection, "SELECT status FROM pg_dist_background_task WHERE job_id = %s ORDER BY task_id", (job,))]


def state(connection, job):
    return value(connection, "SELECT state FROM citus_job_list() WHERE job_id = %s", (job,))


def wait_for(connection, job, ids=(), status=None):
    """Waits until the job has ended, or the tasks have a status."""
    connection.execute("SET statement_timeout = '90s'")
    if status is None:
        connection.execute("SELECT citus_job_wait(%s)", (job,))
    for task in ids:
        connection.execute("SELECT citus_task_wait(%s, %s)", (task, status))


def task(connection, task_id, columns):
    return connection.execute(f"SELECT {columns} FROM pg_dist_background_task WHERE task_id = %s", (task_id,)).fetchone()


def test_tasks_run_in_order(coordinator, schema):
    """A task runs when all that it depends on are done; each is a transaction, or several, of its own."""
    job, ids = make_job(
        coordinator,
        (f"CREATE TABLE {schema}.log (n int); INSERT INTO {schema}.log VALUES (1)", [], None),
        (f"INSERT INTO {schema}.log SELECT count(*) + 1 FROM {schema}.log", [0], None),
        (f"INSERT INTO {schema}.log SELECT count(*) + 1 FROM {schema}.log", [0, 1], None),
        (f"VACUUM {schema}.log", [2], None))
    wait_for(coordinator, job)
    assert state(coordinator, job) == "finished"
    assert statuses(coordinator, job) == ["done"] * 4
    assert rows(coordinator, f"SELECT n FROM {schema}.log ORDER BY n") == [(1,), (2,), (3,)]
    wait_until(lambda: not rows(coordinator, "SELECT FROM pg_locks WHERE classid = 'pg_dist_background_task'::regclass"),
               "the tasks' processes to give their locks back")
    assert task(coordinator, ids[1], "message, pid, retry_count") == ("INSERT 1", None, None)
    details = value(coordinator, "SELECT details FROM citus_job_status(%s)", (job,))
    assert details == {"tasks": [], "task_state_counts": {"done": 4}}


def test_command_in_a_transaction(coordinator, schema):
    """A command may open transactions, but not leave one open: what is in it is rolled back."""
    job, ids = make_job(
        coordinator,
        (f"BEGIN; CREATE TABLE {schema}.a (n int); COMMIT; CREATE TABLE {schema}.b (n int)", [], None),
        (f"BEGIN; CREATE TABLE {schema}.c (n int)", [], None),
        (f"CREATE TABLE {schema}.d (n int); SELECT 1 / 0", [], None))
    wait_for(coordinator, job)
    assert statuses(coordinator, job) == ["done", "error", "error"]
    assert [value(coordinator, "SELECT to_regclass(%s) IS NOT NULL", (f"{schema}.{name}",)) for name in "abcd"] == [
        True, True, False, False]
    assert task(coordinator, ids[1], "message")[0].startswith("ERROR:  the command has left a transaction open")


def test_failure(coordinator):
    """What depends on a failed task isn't run, other tasks are; an error that would come again is final at once."""
    job, ids = make_job(coordinator, ("SELECT 1 / 0", [], None), ("SELECT 1", [0], None), ("SELECT 1", [1], None),
                        ("SELECT 1", [], None))
    wait_for(coordinator, job)
    assert state(coordinator, job) == "failed"
    assert statuses(coordinator, job) == ["error", "unscheduled", "unscheduled", "done"]
    assert task(coordinator, ids[0], "message, retry_count") == ("ERROR:  division by zero", None)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='instead of desired state "finished"'):
        coordinator.execute("SELECT citus_job_wait(%s, 'finished')", (job,))


def test_retry(coordinator, schema):
    """An error that can go away by itself is tried again, after a while."""
    coordinator.execute(f"CREATE TABLE {schema}.t (n int)")
    job, ids = make_job(coordinator, (f"SET lock_timeout = '10ms'; INSERT INTO {schema}.t VALUES (1)", [], None))
    with coordinator.transaction():
        coordinator.execute(f"LOCK {schema}.t")
        wait_until(lambda: task(coordinator, ids[0], "retry_count") == (1,), "the first try to fail")
    assert state(coordinator, job) == "running"
    assert task(coordinator, ids[0], "status, not_before > now() + '3 s'") == ("runnable", True)
    coordinator.execute("UPDATE pg_dist_background_task SET not_before = now() WHERE task_id = %s", ids)
    wait_for(coordinator, job)
    assert statuses(coordinator, job) == ["done"]


def test_cancel(coordinator):
    """What runs is stopped, what waits is not started."""
    job, ids = make_job(coordinator, ("SELECT pg_sleep(1000)", [], None), ("SELECT 1", [0], None), ("SELECT 1", [], None))
    wait_for(coordinator, job, [ids[0]], "running")
    wait_for(coordinator, job, [ids[2]], "done")
    wait_until(lambda: task(coordinator, ids[0], "pid")[0], "the process to begin")
    coordinator.execute("SELECT citus_job_cancel(%s)", (job,))
    wait_for(coordinator, job)
    assert state(coordinator, job) == "cancelled"
    assert statuses(coordinator, job) == ["cancelled", "cancelled", "done"]
    coordinator.execute("SELECT citus_job_cancel(%s)", (job,))
    assert state(coordinator, job) == "cancelled"


def test_limit_per_node(coordinator):
    """Tasks that involve the same node run after each other, others at the same time."""
    sleep = "SELECT pg_sleep(1000)"
    job, ids = make_job(coordinator, (sleep, [], [1, 2]), (sleep, [], [2, 3]), (sleep, [], [3, 4]), (sleep, [], None))
    wait_for(coordinator, job, [ids[0], ids[2], ids[3]], "running")
    assert statuses(coordinator, job) == ["running", "runnable", "running", "running"]
    coordinator.execute("SELECT citus_job_cancel(%s)", (job,))
    wait_for(coordinator, job)


def test_owner(coordinator, connect, cluster, schema):
    """A task has its owner's rights and no others, and only who has them may cancel it."""
    coordinator.execute("DROP ROLE IF EXISTS jobs_owner, jobs_other, jobs_group")
    coordinator.execute("CREATE ROLE jobs_owner LOGIN; CREATE ROLE jobs_other LOGIN; CREATE ROLE jobs_group")
    job, ids = make_job(coordinator, ("RESET SESSION AUTHORIZATION; CREATE ROLE jobs_super SUPERUSER", [], None),
                        ("CREATE TEMP TABLE pg_dist_background_task (task_id bigint); SET search_path = pg_temp; "
                         "SET default_transaction_read_only = on", [], None),
                        ("SELECT 1", [], None), ("SELECT pg_sleep(1000)", [], None))
    coordinator.execute("UPDATE pg_dist_background_task SET owner = CASE task_id WHEN %s THEN 'jobs_group' "
                        "ELSE 'jobs_owner' END::regrole, status = 'blocked' WHERE job_id = %s", (ids[2], job))
    wait_until(lambda: statuses(coordinator, job) == ["error", "done", "error", "running"], "the tasks to run")
    wait_until(lambda: task(coordinator, ids[3], "pid")[0], "the process to begin")
    message, = task(coordinator, ids[0], "message")     # of version 16 and later: the second
    assert message.startswith(("ERROR:  must be superuser to create superusers", "ERROR:  permission denied to create role"))
    assert task(coordinator, ids[2], "message")[0] == "The owner of the task is not permitted to log in."
    other = connect(cluster.coordinator, user="jobs_other")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        other.execute("SELECT citus_job_cancel(%s)", (job,))
    coordinator.execute("DELETE FROM pg_dist_background_task WHERE task_id = %s", (ids[2],))
    connect(cluster.coordinator, user="jobs_owner").execute("SELECT citus_job_cancel(%s)", (job,))
    wait_for(coordinator, job)
    coordinator.execute("DELETE FROM pg_dist_background_task WHERE job_id = %s", (job,))
    coordinator.execute("DROP ROLE jobs_owner, jobs_other, jobs_group")


def test_process_dies(coordinator):
    """A task whose process ends without a word is tried again."""
    job, ids = make_job(coordinator, ("SELECT pg_sleep(1000)", [], None))
    pid = wait_until(lambda: task(coordinator, ids[0], "pid")[0], "the task to run")
    coordinator.execute("SELECT pg_terminate_backend(%s)", (pid,))
    wait_until(lambda: task(coordinator, ids[0], "status, retry_count") == ("runnable", 1), "the loss to be noticed")
    coordinator.execute("UPDATE pg_dist_background_task SET not_before = now(), command = 'SELECT 1' WHERE job_id = %s",
                        (job,))
    wait_for(coordinator, job)
    assert state(coordinator, job) == "finished"


def test_daemon_dies(coordinator):
    """Without the maintenance worker its tasks end, and the next one starts them again."""
    job, ids = make_job(coordinator, ("SELECT pg_sleep(1000)", [], None))
    first = wait_until(lambda: task(coordinator, ids[0], "pid")[0], "the task to run")
    coordinator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE backend_type = 'citus maintenance' AND datname = current_database()")
    wait_until(lambda: task(coordinator, ids[0], "coalesce(pid, 0)")[0] not in (0, first), "another process to run the task")
    coordinator.execute("SELECT citus_job_cancel(%s)", (job,))
    wait_for(coordinator, job)


@pytest.mark.some(1)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_restart(make_cluster, connect, how):
    """Jobs go on after a restart of the server, and after its crash."""
    cluster = make_cluster(workers=0)
    connection = connect(cluster.coordinator)
    job, ids = make_job(connection, ("SELECT pg_sleep(1000)", [], None), ("SELECT 2", [0], None))
    wait_until(lambda: task(connection, ids[0], "pid")[0], "the task to run")
    connection.execute("UPDATE pg_dist_background_task SET command = 'SELECT 1' WHERE task_id = %s", (ids[0],))
    connection.close()
    getattr(cluster.coordinator, how)()
    cluster.coordinator.start()
    connection = connect(cluster.coordinator)
    wait_for(connection, job)
    assert statuses(connection, job) == ["done", "done"]
    assert task(connection, ids[0], "retry_count") == (1,)


def test_only_on_the_coordinator(cluster, connect):
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connect(cluster.workers[0]).execute("SELECT citus_job_cancel(1)")
