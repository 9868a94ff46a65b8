"""A write that is its client's whole transaction commits with its statement; none other does."""

import threading

import psycopg
import pytest

from harness import servers
from harness.servers import fill, pid_of, rows, value, wait_until


def key_of_worker(connection, table):
    """A key of the first worker."""
    return value(connection, f"""
        SELECT id FROM {table} JOIN pg_dist_placement
            ON shardid = get_shard_id_for_distribution_column('{table}', id)
        WHERE groupid = 1 ORDER BY id LIMIT 1""")


@pytest.fixture
def key(table, coordinator):
    return key_of_worker(coordinator, table)


def other_sessions(cluster, condition):
    with servers.connect(cluster.workers[0]) as worker:
        return rows(worker, f"SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'citus_internal%' "
                            f"AND {condition}")


@pytest.mark.parametrize("prepare", [False, True])
def test_second_failure_in_a_pipeline_undoes_the_first(coordinator, connect, cluster, table, key, prepare):
    """Statements before Sync are one transaction, although each looks like one of its own."""
    connection = connect(cluster.coordinator)
    with pytest.raises(psycopg.errors.DivisionByZero):
        with connection.pipeline():
            connection.execute(f"UPDATE {table} SET payload = -1 WHERE id = %s", [key], prepare=prepare)
            connection.execute(f"UPDATE {table} SET payload = 1 / (payload + 1) WHERE id = %s", [key],
                               prepare=prepare)
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


def test_second_failure_in_one_message_undoes_the_first(coordinator, table, key):
    with pytest.raises(psycopg.errors.DivisionByZero):
        coordinator.execute(f"UPDATE {table} SET payload = -1 WHERE id = {key};"
                            f"UPDATE {table} SET payload = 1 / (payload + 1) WHERE id = {key}")
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


def test_failure_after_a_function_undoes_its_write(coordinator, schema, table, key):
    coordinator.execute(f"""
        CREATE FUNCTION {schema}.change(key int) RETURNS int LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE {table} SET payload = -1 WHERE id = key;
            RETURN 0;
        END $$""")
    with pytest.raises(psycopg.errors.DivisionByZero):
        coordinator.execute(f"SELECT 1 / {schema}.change(%s)", [key])
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


def test_failure_in_a_block_undoes_the_write(coordinator, cluster, connect, table, key):
    connection = connect(cluster.coordinator, autocommit=False)
    connection.execute(f"UPDATE {table} SET payload = -1 WHERE id = %s", [key])
    connection.rollback()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


@pytest.mark.parametrize("statement, tag", [
    ("INSERT INTO {table} VALUES (1000, 1)", "INSERT 0 1"),
    ("INSERT INTO {table} SELECT {key}, n FROM generate_series(1, 20) n ON CONFLICT DO NOTHING", "INSERT 0 0"),
    ("UPDATE {table} SET payload = payload + 1 WHERE id = {key}", "UPDATE 1"),
    ("DELETE FROM {table} WHERE id = {key}", "DELETE 1"),
])
@pytest.mark.parametrize("binary", [False, True])
def test_the_node_commits_it_once(cluster, connect, table, key, statement, tag, binary):
    """No COMMIT is sent, where a transaction block sends one."""
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.debug_points = 'commit-before-one-phase=error'")
    cursor = connection.execute(statement.format(table=table, key=key), binary=binary)
    assert cursor.statusmessage == tag
    with pytest.raises(psycopg.Error, match="commit-before-one-phase"), connection.transaction():
        connection.execute(f"UPDATE {table} SET payload = 5 WHERE id = {key}")


@pytest.mark.parametrize("values", ["({key}, 1, chr(8364))", "({key}, 1, chr(8364)), ({key}, 2, chr(8364))"])
@pytest.mark.parametrize("binary", [False, True])
def test_row_that_the_client_cannot_be_told_is_not_written(cluster, connect, schema, key, values, binary):
    """Sending the answer is a part of the statement."""
    connection = connect(cluster.coordinator)
    connection.execute(f"CREATE TABLE {schema}.sign (key bigint, n int, sign text)")
    connection.execute(f"SELECT create_distributed_table('{schema}.sign', 'key')")
    connection.execute("SET client_encoding = 'LATIN1'")
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        connection.execute(f"INSERT INTO {schema}.sign VALUES {values.format(key=key)} RETURNING sign", binary=binary)
    assert value(connection, f"SELECT count(*) FROM {schema}.sign") == 0


def test_held_cursors(cluster, connect, schema, table, key):
    """One of an earlier transaction is no matter. One that a write's function declares can make the commit fail, which undoes the write."""
    connection = connect(cluster.coordinator)
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("DECLARE held CURSOR WITH HOLD FOR SELECT 1; SET citus.debug_points = 'commit-before-one-phase=error'")
    update = f"UPDATE {table} SET payload = payload + 1 WHERE id = {key}"
    assert connection.execute(update).statusmessage == "UPDATE 1"
    connection.execute(f"""RESET citus.debug_points;
        CREATE FUNCTION {schema}.hold() RETURNS bool LANGUAGE plpgsql AS $$
        BEGIN
            EXECUTE 'DECLARE wrong CURSOR WITH HOLD FOR SELECT 1 / (random() * 0)::int';
            RETURN true;
        END $$""")
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute(f"{update} AND {schema}.hold()")
    assert value(connection, f"SELECT payload FROM {table} WHERE id = {key}") == 1
    assert notices == []


class Waiting:
    """An UPDATE that waits for a lock at its node, in a thread of its own."""

    def __init__(self, cluster, connect, table, key):
        self.holder = connect(cluster.coordinator, autocommit=False)
        self.holder.execute(f"SELECT * FROM {table} WHERE id = %s FOR UPDATE", [key])
        self.connection = connect(cluster.coordinator)
        self.key = key
        self.error = None
        self.thread = threading.Thread(target=self.run, args=[f"UPDATE {table} SET payload = -1 WHERE id = {key}"])

    def run(self, statement):
        try:
            self.connection.execute(statement)
        except psycopg.Error as error:
            self.error = error

    def start(self, cluster):
        self.thread.start()
        wait_until(lambda: other_sessions(cluster, "wait_event_type = 'Lock'"), "the update to wait")

    def finish(self):
        self.thread.join(servers.PATIENCE)
        assert not self.thread.is_alive(), "the statement goes on"
        return self.error


@pytest.fixture
def waiting(cluster, connect, table, key):
    return Waiting(cluster, connect, table, key)


def test_cancel(cluster, coordinator, table, key, waiting):
    waiting.start(cluster)
    waiting.connection.cancel()
    error = waiting.finish()
    assert isinstance(error, psycopg.errors.QueryCanceled) and "user request" in str(error)
    waiting.holder.rollback()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


def test_statement_timeout(cluster, coordinator, table, key, waiting):
    waiting.connection.execute("SET statement_timeout = '200ms'")
    waiting.thread.start()
    error = waiting.finish()
    assert isinstance(error, psycopg.errors.QueryCanceled) and "statement timeout" in str(error)
    waiting.holder.rollback()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


def test_terminated_session(cluster, coordinator, table, key, waiting):
    """The node's session ends with it, so that the lock comes too late."""
    waiting.start(cluster)
    coordinator.execute("SELECT pg_terminate_backend(%s)", [pid_of(waiting.connection)])
    assert isinstance(waiting.finish(), psycopg.OperationalError)
    wait_until(lambda: not other_sessions(cluster, "wait_event_type = 'Lock'"), "the update to end")
    waiting.holder.rollback()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


def test_terminated_node_session(cluster, coordinator, connect, table, key, waiting):
    """The node says that it gave up, so nothing was committed."""
    waiting.start(cluster)
    with servers.connect(cluster.workers[0]) as worker:
        for pid, in other_sessions(cluster, "wait_event_type = 'Lock'"):
            worker.execute("SELECT pg_terminate_backend(%s)", [pid])
    error = waiting.finish()
    assert error is not None and error.sqlstate == "08006", error
    waiting.holder.rollback()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 0


@pytest.fixture
def waiting_alone(own_cluster, connect):
    """The same in a cluster whose servers may be killed."""
    setup = connect(own_cluster.coordinator)
    fill(setup, "t", 100)
    return Waiting(own_cluster, connect, "t", key_of_worker(setup, "t"))


def test_killed_node_session_leaves_the_outcome_open(own_cluster, waiting_alone):
    """The node vanishes without a word: whether it committed can't be known."""
    waiting_alone.start(own_cluster)
    own_cluster.workers[0].kill()
    error = waiting_alone.finish()
    assert error is not None and error.sqlstate == "08007", error


def test_end_of_the_server_leaves_the_outcome_open(own_cluster, waiting_alone):
    """The session can't wait for the answer any more, and doesn't take an earlier statement's error for it."""
    waiting_alone.connection.execute("SET statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        waiting_alone.connection.execute("SELECT FROM t WHERE id = %s FOR UPDATE", [waiting_alone.key])
    waiting_alone.connection.execute("SET statement_timeout = 0")
    waiting_alone.start(own_cluster)
    servers.kill_process(own_cluster.coordinator.pid())
    error = waiting_alone.finish()
    assert error is not None and error.sqlstate == "08007", error


def test_cancel_that_comes_too_late_is_forgotten(cluster, connect, table, key):
    """A statement that is done says so; the next one isn't hit."""
    connection = connect(cluster.coordinator)
    for number in range(50):
        canceller = threading.Thread(target=connection.cancel)
        canceller.start()
        try:
            connection.execute(f"UPDATE {table} SET payload = {number} WHERE id = {key}")
            done = True
        except psycopg.errors.QueryCanceled:
            done = False
        canceller.join()
        # a cancel request may still hit this one, but never silently
        try:
            found = value(connection, f"SELECT payload FROM {table} WHERE id = {key}")
        except psycopg.errors.QueryCanceled:
            found = value(connection, f"SELECT payload FROM {table} WHERE id = {key}")
        assert (found == number) == done
