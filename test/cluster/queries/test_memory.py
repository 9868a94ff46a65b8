"""What a session's memory is bounded by."""

import re
import threading
from contextlib import contextmanager

import psycopg
import pytest

from harness.servers import connect as connect_to
from harness.servers import context_bytes, kill_process, pid_of, rows, value, wait_until

MB = 1024 * 1024
TEXT = "repeat(md5(i::text), 300)"      # about 10 kB


def private_memory(pid):
    """Bytes of memory that are a process's own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))


@contextmanager
def grows_by_less_than(connection, limit, others=()):
    """Fails if the session's own memory, or that of one of other processes, grows by more, at any time that we look."""
    def growth():
        return max(private_memory(pid) - before[pid] for pid in before)

    def watch():
        while not done.wait(0.01):
            most[0] = max(most[0], growth())

    done = threading.Event()
    before = {pid: private_memory(pid) for pid in (pid_of(connection), *others)}
    most = [0]
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert most[0] < limit


@pytest.fixture(params=["shards", "reference"])
def wide(request, coordinator, schema):
    """A table of many shards, or a reference table, for wide rows."""
    coordinator.execute(f"CREATE TABLE {schema}.t (id int PRIMARY KEY, v text)")
    if request.param == "shards":
        coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id', shard_count => 64)")
    else:
        coordinator.execute(f"SELECT create_reference_table('{schema}.t')")
    coordinator.execute("SET citus.write_buffer_size = '1MB'")
    return f"{schema}.t"


@pytest.mark.some(2)
@pytest.mark.parametrize("conflict", ["", "ON CONFLICT (id) DO NOTHING", "ON CONFLICT (id) DO UPDATE SET v = excluded.v"])
def test_insert_select(coordinator, wide, conflict):
    """Memory doesn't grow with the rows, nor with the number of shards."""
    assert value(coordinator, f"SELECT count(*) FROM {wide}") == 0
    with grows_by_less_than(coordinator, 15 * MB):
        for _ in range(1 if conflict == "" else 2):
            coordinator.execute(f"INSERT INTO {wide} SELECT i, {TEXT} FROM generate_series(1, 4000) i {conflict}")
    assert value(coordinator, f"SELECT sum(length(v)) FROM {wide}") == 4000 * 9600


@pytest.mark.some(1)

def test_no_row_twice(coordinator, wide):
    """ON CONFLICT DO UPDATE must not write a row twice, in whichever batches the rows are."""
    upsert = f"INSERT INTO {wide} SELECT i %% %s + 1, {TEXT} FROM generate_series(0, 3999) i " \
             "ON CONFLICT (id) DO UPDATE SET v = left(excluded.v, 5) || left(t.v, 5)"
    for _ in range(2):          # with no row there, and with all
        with pytest.raises(psycopg.errors.CardinalityViolation) as caught:
            coordinator.execute(upsert, [2000])
        assert "cannot affect row a second time" in str(caught.value)
        coordinator.execute(upsert + " WHERE false", [2000])
    with coordinator.transaction():
        # what the transaction has written before is another matter
        coordinator.execute(f"UPDATE {wide} SET v = 'new'")
        assert coordinator.execute(upsert, [4000]).rowcount == 4000
        assert coordinator.execute(upsert, [4000]).rowcount == 4000
    assert value(coordinator, f"SELECT count(*) FROM {wide} WHERE length(v) = 10") == 4000


def test_streams(cluster, coordinator, schema, connect):
    """Rows that pass through a session, or from node to node, are not collected: here 90 MB."""
    def tasks():
        name = f"%gpid={value(coordinator, 'SELECT citus_backend_gpid()')}%"
        return [pid for node in cluster.workers
                for (pid,) in connect(node).execute("SELECT pid FROM pg_stat_activity WHERE application_name LIKE %s", [name])]

    coordinator.execute(f"CREATE TABLE {schema}.t (id int, k int, v text)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id', shard_count => 4)")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT i, i % 70000, repeat(md5(i::text), 20) FROM generate_series(1, 140000) i")
    coordinator.execute(f"ANALYZE {schema}.t")
    coordinator.execute("SET citus.max_adaptive_executor_pool_size = 1; SET citus.enable_broadcast_joins = off")
    coordinator.execute("SET citus.value_cost = 0; SET citus.tuple_transfer_cost = 1")
    join = f"SELECT count(*), max(a.v || b.v) FROM {schema}.t a JOIN {schema}.t b ON a.k = b.k AND a.id <> b.id"
    assert str(coordinator.execute(f"EXPLAIN {join}").fetchall()).count("exchange_send") == 2
    assert value(coordinator, f"SELECT count(*) FROM {schema}.t") == 140000
    others = tasks()
    assert len(others) == 2
    with grows_by_less_than(coordinator, 15 * MB, others):
        with coordinator.transaction():
            coordinator.execute(f"DECLARE c CURSOR FOR SELECT * FROM {schema}.t")
            assert sum(len(coordinator.execute("FETCH 500 FROM c").fetchall()) for _ in range(280)) == 140000
        with coordinator.cursor().copy(f"COPY (SELECT * FROM {schema}.t) TO STDOUT") as copy:
            assert sum(1 for _ in copy) >= 140000
    with grows_by_less_than(coordinator, 60 * MB, others):      # several times work_mem
        assert value(coordinator, join) == 140000


def test_texts_of_large_statements(coordinator, schema):
    """The cache of texts has a size in bytes."""
    coordinator.execute(f"CREATE TABLE {schema}.t (id int, a int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    for count in range(300, 400):
        conditions = " OR ".join(f"a + {number} = id" for number in range(count))
        coordinator.execute(f"SELECT a FROM {schema}.t WHERE id = 7 AND ({conditions})")
    size = value(coordinator, "SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'citus task text'")
    assert 2 * MB < size <= 4 * MB


@pytest.mark.parametrize("shards,limit", [(4, 1024), (32, 4096)])
def test_metadata_of_a_table(cluster, coordinator, schema, connect, shards, limit):
    """A session may come across thousands of tables: it keeps what their metadata consist of, not what reading them took."""
    coordinator.execute(f"CREATE TABLE {schema}.t (id int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id', shard_count => {shards}, colocate_with => 'none')")
    session = connect(cluster.coordinator)
    assert not rows(session, f"SELECT * FROM {schema}.t WHERE id = 1")
    size = value(session, "SELECT max(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'citus table'")
    assert 0 < size <= limit


def test_drop_of_many_shards(make_cluster, connect):
    """Locks for more shards than there is room for: the error says what to set, and then it works."""
    few = {"max_locks_per_transaction": 10, "max_connections": 20, "max_prepared_transactions": 5}
    made = make_cluster(workers=1, settings={**few, "max_worker_processes": 4})
    connection = connect(made.coordinator)
    connection.execute("CREATE SCHEMA many")
    connection.execute("SET citus.shard_count = 40")
    for number in range(40):
        connection.execute(f"CREATE TABLE many.t{number} (id int)")
        connection.execute(f"SELECT create_distributed_table('many.t{number}', 'id')")
    with pytest.raises(psycopg.errors.OutOfMemory) as caught:
        connection.execute("DROP SCHEMA many CASCADE")
    hint = caught.value.diag.message_hint
    assert "40 distributed tables with 1600 shards" in hint
    needed = int(re.search(r"max_locks_per_transaction to at least (\d+)", hint).group(1))
    connection.close()
    for node in made.nodes:
        node.sql(f"ALTER SYSTEM SET max_locks_per_transaction = {needed}")
        node.restart()
    connection = connect(made.coordinator)
    connection.execute("DROP SCHEMA many CASCADE")
    assert value(connection, "SELECT count(*) FROM pg_dist_shard") == 0


def test_caches_of_many_shards(cluster, coordinator, schema, connect):
    """A session that comes across many shards lets its caches go at the limit, and goes on."""
    for number in range(10):
        coordinator.execute(f"CREATE TABLE {schema}.t{number} (id int PRIMARY KEY, v text)")
        coordinator.execute(f"SELECT create_distributed_table('{schema}.t{number}', 'id', shard_count => 64, colocate_with => 'none')")
        coordinator.execute(f"INSERT INTO {schema}.t{number} SELECT generate_series(1, 100), 'x'")
    sizes = {}
    for limit in ("-1", "2MB"):
        session = connect(cluster.workers[0])
        session.execute(f"SET citus.max_session_cache_size = '{limit}'")
        session.execute("SET citus.enable_node_tasks = off")
        session.execute(f"PREPARE p AS SELECT count(*) FROM {schema}.t0")
        for _ in range(2):
            for number in range(10):
                assert value(session, f"SELECT count(*) FROM {schema}.t{number}") == 100
                assert value(session, "EXECUTE p") == 100
        sizes[limit] = context_bytes(session, "CacheMemoryContext")
    parts = 2 if session.info.server_version < 180000 else 3      # of four; 18 counts more of the server's own caches
    assert sizes["2MB"] * 4 < sizes["-1"] * parts


def test_exchange_limit(cluster, coordinator, schema, connect):
    """temp_file_limit bounds what a node stores of the rows that are sent to it, however many batches they come in."""
    coordinator.execute(f"CREATE TABLE {schema}.t (id int, k int, v text)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT i, i % 5000, md5(i::text) FROM generate_series(1, 40000) i")
    coordinator.execute(f"ANALYZE {schema}.t")
    worker = connect(cluster.workers[0])
    query = f"SELECT sum(n) FROM (SELECT count(DISTINCT v) AS n FROM {schema}.t GROUP BY k) x"
    worker.execute("SET citus.exchange_cost = 0; SET citus.value_cost = 0")
    assert "exchange_send" in str(worker.execute(f"EXPLAIN {query}").fetchall())
    worker.execute("SET temp_file_limit = '300kB'")
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
        worker.execute(query)
    worker.execute("RESET temp_file_limit")
    assert value(worker, query) == 40000


@pytest.mark.parametrize("how", ["cancelled", "terminated", "killed"])
def test_files_of_an_ended_statement(how, own_cluster):
    """Rows that nodes have sent to each other go with the statement, however it ends."""
    with connect_to(own_cluster.coordinator) as admin, connect_to(own_cluster.coordinator) as session:
        admin.execute("CREATE TABLE t (id int, k int, v text)")
        admin.execute("SELECT create_distributed_table('t', 'id')")
        admin.execute("INSERT INTO t SELECT i, i % 10, md5(i::text) FROM generate_series(1, 100000) i")
        admin.execute("ANALYZE t")
        session.execute("SET citus.exchange_cost = 0; SET citus.enable_broadcast_joins = off")
        query = "SELECT count(*), max(a.v || b.v) FROM t a JOIN t b ON a.k = b.k"
        assert "exchange_send" in str(session.execute(f"EXPLAIN (VERBOSE) {query}").fetchall())

        def stored():
            return sum(value(node, "SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false)") for node in nodes)

        pid, errors = pid_of(session), []

        def run():
            try:
                session.execute(query)
            except psycopg.Error as error:
                errors.append(error)

        nodes = [connect_to(worker) for worker in own_cluster.workers]
        runner = threading.Thread(target=run)
        runner.start()
        try:
            wait_until(stored, "rows that are sent")
            if how == "killed":
                kill_process(pid)
            else:
                admin.execute(f"SELECT {'pg_cancel_backend' if how == 'cancelled' else 'pg_terminate_backend'}(%s)", [pid])
        finally:
            runner.join()
        assert errors
        wait_until(lambda: stored() == 0, "the files to go")
        for node in nodes:
            node.close()
