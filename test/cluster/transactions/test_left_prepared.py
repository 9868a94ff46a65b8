"""What a client was told to be committed is seen at once, also by statements of one shard, if a node has it prepared only."""

import threading

import psycopg
import pytest

from harness import servers
from harness.load import in_thread
from harness.stopped import Stopped
from harness.servers import rows, value, wait_until

ROWS = 20


@pytest.fixture(scope="module")
def patient():
    """A cluster that doesn't recover by itself; pair has rows on both workers, still has rows that nobody writes, copied is on all nodes; child references pair and copied."""
    with servers.cluster(purpose="check-left", settings={"citus.recover_2pc_interval": "-1"}) as made:
        with servers.connect(made.coordinator) as connection:
            connection.execute(f"""CREATE TABLE pair (k int PRIMARY KEY, v int); CREATE TABLE still (k int PRIMARY KEY, v int);
                CREATE TABLE copied (k int PRIMARY KEY, v int);
                SELECT create_distributed_table('pair', 'k', shard_count => 4, colocate_with => 'none');
                SELECT create_distributed_table('still', 'k', shard_count => 4, colocate_with => 'none');
                SELECT create_reference_table('copied');
                CREATE TABLE child (k int REFERENCES pair, c int REFERENCES copied);
                SELECT create_distributed_table('child', 'k', colocate_with => 'pair');
                INSERT INTO pair SELECT i, 0 FROM generate_series(1, {ROWS}) i;
                INSERT INTO still SELECT i, 0 FROM generate_series(1, {ROWS}) i;
                INSERT INTO copied VALUES (1, 0)""")
        yield made


@pytest.fixture
def written(patient):
    yield patient
    recover(patient)
    with servers.connect(patient.coordinator) as connection:
        connection.execute("UPDATE pair SET v = 0; UPDATE copied SET v = 0")


def recover(made):
    with servers.connect(made.coordinator) as connection:
        connection.execute("SELECT recover_prepared_transactions()")


def end_session(node):
    """Ends the session that has prepared a transaction."""
    with servers.connect(node) as connection:
        assert rows(connection, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                                " WHERE query LIKE '%PREPARE TRANSACTION%' AND pid <> pg_backend_pid()") == [(True,)]


def leave_prepared(made, how, statement="UPDATE pair SET v = 1"):
    """A write of both workers that its client is told of, while the first one has it prepared only."""
    stopped = Stopped(made.coordinator, "commit-after-decision", statement)
    how(made.workers[0])
    assert stopped.go_on() is None


def keys_of(made, table):
    """A key of the first worker's, by the table."""
    with servers.connect(made.coordinator) as connection:
        return value(connection, f"""SELECT k FROM {table} JOIN citus_shards ON shardid = get_shard_id_for_distribution_column('{table}', k)
            WHERE nodeport = %s ORDER BY k LIMIT 1""", [made.workers[0].port])


READS = ["SELECT v FROM pair WHERE k = {k}", "SELECT v FROM pair WHERE k = {k} FOR UPDATE",
         "UPDATE pair SET v = v + 1 WHERE k = {k} RETURNING v - 1"]


@pytest.mark.parametrize("how", [end_session, lambda node: node.restart()], ids=["session", "restart"])
def test_waits_for_recovery(written, how):
    """Statements of one shard from any node wait for recovery, and then see what was committed."""
    key = keys_of(written, "pair")
    leave_prepared(written, how)
    found, readers = [], []
    for node, query in zip(written.nodes, READS[:1] * 3):
        readers.append(threading.Thread(target=lambda node=node, query=query: found.append(
            value(servers.connect(node), query.format(k=key)))))
        readers[-1].start()
    with servers.connect(written.workers[0]) as connection:
        wait_until(lambda: value(connection, "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted") == 3,
                   "three readers to wait")
    assert found == []
    recover(written)
    for reader in readers:
        reader.join(servers.PATIENCE)
    assert found == [1, 1, 1]


@pytest.mark.parametrize("how", [end_session, lambda node: node.restart()], ids=["session", "restart"])
@pytest.mark.parametrize("read", READS)
def test_wait_is_limited(written, how, read):
    """The wait ends with an error that names the transaction; other tables are read and written at once; without snapshots, so is this one."""
    key, other = keys_of(written, "pair"), keys_of(written, "still")
    leave_prepared(written, how)
    for node in written.nodes:
        with servers.connect(node, options="-c citus.snapshot_timeout=300ms") as reader:
            with pytest.raises(psycopg.errors.LockNotAvailable) as failure:
                reader.execute(read.format(k=key))
            assert "prepared transaction \"citus_0_" in failure.value.diag.context
            assert value(reader, f"UPDATE still SET v = 5 WHERE k = {other} RETURNING v") == 5
            assert value(reader, f"SELECT v FROM still WHERE k = {other}") == 5
            reader.execute("SET citus.distributed_snapshots = off")
            assert value(reader, READS[0].format(k=key)) == 0


@pytest.mark.parametrize("how", ["cancel", "terminate", "statement_timeout"])
def test_wait_ends(written, connect, how):
    """A statement that waits can be cancelled, and ends with its session and in time; nothing keeps waiting on the node."""
    key = keys_of(written, "pair")
    leave_prepared(written, end_session)
    node, observer = written.workers[0], connect(written.workers[0])
    reader = connect(written.workers[1])
    if how == "statement_timeout":
        reader.execute("SET statement_timeout = '500ms'")
    outcome = in_thread(lambda: value(reader, READS[0].format(k=key)))
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
    wait_until(lambda: how == "statement_timeout" or value(observer, waits) == 1, "the reader to wait")
    if how == "cancel":
        reader.cancel()
    elif how == "terminate":
        connect(written.workers[1]).execute("SELECT pg_terminate_backend(%s)", [reader.info.backend_pid])
    assert isinstance(outcome(), psycopg.errors.AdminShutdown if how == "terminate" else psycopg.errors.QueryCanceled)
    wait_until(lambda: value(observer, waits) == 0, f"nothing to wait on {node.name}")
    recover(written)
    assert value(connect(written.workers[1]), READS[0].format(k=key)) == 1


def test_prepared_statements(written, connect):
    """A session whose plans are made long ago waits, too, at its next execution."""
    key = keys_of(written, "pair")
    readers = [connect(node) for node in written.nodes]
    for reader in readers:
        reader.execute(f"PREPARE get (int) AS SELECT v FROM pair WHERE k = $1; SET citus.snapshot_timeout = '300ms'")
        for _ in range(7):
            assert value(reader, f"EXECUTE get ({key})") == 0
    leave_prepared(written, end_session)
    for reader in readers:
        with pytest.raises(psycopg.errors.LockNotAvailable):
            reader.execute(f"EXECUTE get ({key})")
    recover(written)
    for reader in readers:
        assert value(reader, f"EXECUTE get ({key})") == 1


def test_reference_copies(written, connect):
    """A copy of a reference table that lacks an acknowledged write isn't read."""
    leave_prepared(written, end_session, "UPDATE copied SET v = 1")
    reader = connect(written.workers[0])
    reader.execute("SET citus.snapshot_timeout = '300ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        reader.execute("SELECT v FROM copied WHERE k = 1")
    with pytest.raises(psycopg.errors.LockNotAvailable), reader.cursor().copy("COPY copied TO STDOUT") as copy:
        list(copy)
    recover(written)
    assert value(reader, "SELECT v FROM copied WHERE k = 1") == 1


@pytest.mark.parametrize("statement", [f"INSERT INTO pair SELECT i, 0 FROM generate_series({ROWS + 1}, {2 * ROWS}) i",
                                       "INSERT INTO copied VALUES (2, 0)"], ids=["pair", "copied"])
def test_referenced_rows(written, connect, statement):
    """A row that references an acknowledged one, which its node has prepared only, waits for recovery, and is then stored."""
    client = connect(written.coordinator)
    parent = value(client, f"""SELECT min(i) FROM generate_series({ROWS + 1}, {2 * ROWS}) i
        JOIN citus_shards ON shardid = get_shard_id_for_distribution_column('pair', i) WHERE nodeport = %s""", [written.workers[0].port])
    row = f"{parent}, 1" if "pair" in statement else f"{keys_of(written, 'pair')}, 2"
    leave_prepared(written, end_session, statement)
    impatient = connect(written.workers[1])
    impatient.execute("SET citus.snapshot_timeout = '300ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        impatient.execute(f"INSERT INTO child VALUES ({row})")
    stored = []

    def store(node):
        with servers.connect(node) as writer:
            stored.append(writer.execute(f"INSERT INTO child VALUES ({row})").statusmessage)

    writers = [threading.Thread(target=store, args=[node]) for node in written.nodes]
    for writer in writers:
        writer.start()
    with servers.connect(written.workers[0]) as connection:
        wait_until(lambda: value(connection, "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted") == 3,
                   "three writers to wait")
    recover(written)
    for writer in writers:
        writer.join(servers.PATIENCE)
    assert stored == ["INSERT 0 1"] * 3
    client.execute(f"DELETE FROM child; DELETE FROM pair WHERE k > {ROWS}; DELETE FROM copied WHERE k > 1")


def test_client_decides(written, connect):
    """Nobody waits for what a client has prepared, not even after a restart of the node."""
    key = keys_of(written, "pair")
    with servers.connect(written.coordinator) as writer:
        writer.execute("BEGIN; UPDATE pair SET v = 1; PREPARE TRANSACTION 'mine'")
    written.workers[0].restart()
    reader = connect(written.workers[1])
    reader.execute("SET citus.snapshot_timeout = '300ms'")
    assert value(reader, READS[0].format(k=key)) == 0
    assert value(reader, "SELECT sum(v) FROM pair") == 0
    connect(written.coordinator).execute("COMMIT PREPARED 'mine'")
    assert value(reader, READS[0].format(k=key)) == 1


def test_server_functions_revoked(written, connect):
    """After a restart, a session finds what is prepared whatever rights its role has."""
    key, functions = keys_of(written, "pair"), "pg_lock_status(), pg_prepared_xact()"
    connect(written.coordinator).execute("CREATE ROLE plain LOGIN; GRANT SELECT ON pair TO plain")
    for node in written.nodes:
        node.sql(f"REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC")
    try:
        for node in written.nodes:
            node.restart()
            with servers.connect(node, user="plain") as reader:
                assert value(reader, f"SELECT v FROM pair WHERE k = {key}") == 0
    finally:
        for node in written.nodes:
            node.sql(f"GRANT EXECUTE ON FUNCTION {functions} TO PUBLIC")
        with servers.connect(written.coordinator) as connection:
            connection.execute("DROP OWNED BY plain; DROP ROLE plain")
