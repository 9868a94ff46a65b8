"""COPY of distributed and reference tables: what goes wrong in the middle, memory, several nodes."""

import signal
import subprocess
import threading

import psycopg
import pytest

from harness.servers import (kill_process, on_every_node, pid_of, rows, transactions, value,
                             wait_until, wait_until_quiet)


@pytest.fixture
def table(coordinator, schema):
    """A distributed table (k int, v text) and its name."""
    name = f"{schema}.t"
    coordinator.execute(f"CREATE TABLE {name} (k int NOT NULL, v text)")
    coordinator.execute(f"SELECT create_distributed_table('{name}', 'k', shard_count => 4)")
    return name


def lines(first, last, width=20):
    return "".join(f"{k}\t{'x' * width}\n" for k in range(first, last))


def fill_all_nodes(copy, megabytes=8):
    """Sends so much that every node has received some of it."""
    for part in range(megabytes):
        copy.write(lines(part * 1000, (part + 1) * 1000, 1024))


def receivers(cluster):
    """Backends of workers that receive frames: (node, pid)."""
    found = []
    for node in cluster.workers:
        found += [(node, row[0]) for row in transactions(node) if "citus:frames" in row[3]]
    return found


def wait_until_all_receive(cluster):
    return wait_until(lambda: len({node.name for node, _ in receivers(cluster)}) == len(cluster.workers)
                      and receivers(cluster), "COPY on every worker")


def assert_nothing_left(cluster, connection, name):
    wait_until_quiet(cluster)
    assert value(connection, f"SELECT count(*) FROM {name}") == 0


def test_client_dies(cluster, coordinator, connect, table):
    """A client that vanishes leaves nothing."""
    client = connect(cluster.coordinator)
    with pytest.raises(psycopg.Error):
        with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            fill_all_nodes(copy)
            wait_until_all_receive(cluster)
            client.pgconn.finish()
            copy.write(lines(0, 1))
    assert_nothing_left(cluster, coordinator, table)


def test_client_gives_up(cluster, coordinator, connect, table):
    """A client that ends its data with an error leaves nothing, and goes on."""
    client = connect(cluster.coordinator)
    with pytest.raises(ZeroDivisionError):
        with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            fill_all_nodes(copy)
            1 / 0
    assert value(client, f"SELECT count(*) FROM {table}") == 0
    assert_nothing_left(cluster, coordinator, table)


@pytest.mark.parametrize("victim", ["statement", "session", "receiver"])
def test_insert_is_stopped(cluster, coordinator, connect, table, victim):
    """An INSERT whose rows are sent as COPY sends them leaves nothing, whichever part of it ends."""
    client = connect(cluster.coordinator)
    errors = []

    def insert():
        try:
            client.execute(f"INSERT INTO {table} SELECT generate_series(1, 1000000000), 'x'")
        except psycopg.Error as error:
            errors.append(error.sqlstate)

    thread = threading.Thread(target=insert)
    thread.start()
    node, pid = wait_until_all_receive(cluster)[0]
    if victim == "receiver":
        with connect(node) as other:
            other.execute(f"SELECT pg_terminate_backend({pid})")
    else:
        function = "pg_cancel_backend" if victim == "statement" else "pg_terminate_backend"
        coordinator.execute(f"SELECT {function}({pid_of(client)})")
    thread.join()
    assert errors == [{"statement": "57014", "session": "57P01", "receiver": "08006"}[victim]]
    assert_nothing_left(cluster, coordinator, table)


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_backend_is_stopped(cluster, coordinator, connect, table, function):
    client = connect(cluster.coordinator)
    with pytest.raises(psycopg.Error):
        with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            fill_all_nodes(copy)
            wait_until_all_receive(cluster)
            coordinator.execute(f"SELECT {function}({pid_of(client)})")
            for _ in range(100):
                copy.write(lines(0, 1000, 1024))
    assert_nothing_left(cluster, coordinator, table)


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_worker_backend_is_stopped(cluster, coordinator, connect, table, function):
    """The statement fails and names the node."""
    client = connect(cluster.coordinator)
    with pytest.raises(psycopg.Error) as caught:
        with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            fill_all_nodes(copy)
            node, pid = wait_until_all_receive(cluster)[0]
            connect(node).execute(f"SELECT {function}({pid})")
            for _ in range(100):
                copy.write(lines(0, 1000, 1024))
    assert str(node.port) in str(caught.value)
    assert value(client, f"SELECT count(*) FROM {table}") == 0
    assert_nothing_left(cluster, coordinator, table)


def test_worker_crashes(own_cluster, connect):
    connection = connect(own_cluster.coordinator)
    connection.execute("CREATE TABLE t (k int NOT NULL, v text)")
    connection.execute("SELECT create_distributed_table('t', 'k', shard_count => 4)")
    worker = own_cluster.workers[1]
    with pytest.raises(psycopg.Error):
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            fill_all_nodes(copy)
            wait_until_all_receive(own_cluster)
            worker.kill()
            for _ in range(100):
                copy.write(lines(0, 1000, 1024))
    worker.start()
    wait_until_quiet(own_cluster)
    assert value(connection, "SELECT count(*) FROM t") == 0
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write(lines(0, 100))
    assert value(connection, "SELECT count(*) FROM t") == 100


def test_coordinator_backend_crashes(own_cluster, connect):
    connection = connect(own_cluster.coordinator)
    connection.execute("CREATE TABLE t (k int NOT NULL, v text)")
    connection.execute("SELECT create_distributed_table('t', 'k', shard_count => 4)")
    client = connect(own_cluster.coordinator)
    with pytest.raises(psycopg.Error):
        with client.cursor().copy("COPY t FROM STDIN") as copy:
            fill_all_nodes(copy)
            wait_until_all_receive(own_cluster)
            kill_process(pid_of(client), signal.SIGKILL)
            for _ in range(100):
                copy.write(lines(0, 1000, 1024))
    wait_until_quiet(own_cluster)
    assert value(connect(own_cluster.coordinator), "SELECT count(*) FROM t") == 0


def test_line_number_of_shard_error(cluster, coordinator, connect, table):
    """A constraint of a shard names the line of the input."""
    coordinator.execute(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (k >= 0)")
    client = connect(cluster.coordinator)
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write(lines(0, 54321))
            copy.write("-5\toops\n")
            for part in range(1, 100):
                copy.write(lines(part * 1000, (part + 1) * 1000, 1024))
    assert "COPY t, line 54322" in caught.value.diag.context
    assert caught.value.diag.table_name == "t"
    assert caught.value.diag.constraint_name == "positive"
    assert_nothing_left(cluster, coordinator, table)


def test_big_rows(cluster, coordinator, connect, table):
    """Rows of a megabyte, and of more than the buffers may hold."""
    client = connect(cluster.coordinator)
    with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for k in range(40):
            copy.write(f"{k}\t{chr(97 + k % 26) * 1000000}\n")
        copy.write(f"100\t{'z' * 40000000}\n")
    assert rows(client, f"SELECT count(*), sum(length(v)) FROM {table}") == [(41, 80000000)]
    with client.cursor().copy(f"COPY {table} (v, k) FROM STDIN WHERE k > 1000") as copy:
        copy.write(f"{'z' * 20000000}\t200\n")
        copy.write(f"{'y' * 20000000}\t2000\n")
    assert value(client, f"SELECT max(length(v)) FROM {table} WHERE k = 2000") == 20000000


def anonymous_memory(pid):
    """Memory of a process that is its own, in kB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("RssAnon")).split()[1])


@pytest.mark.parametrize("where", ["", " WHERE k >= 0"])
def test_memory_is_bounded(cluster, coordinator, connect, table, where):
    """200,000 rows of 1 kB through one backend that grows by much less."""
    client = connect(cluster.coordinator)
    before = anonymous_memory(pid_of(client))
    with client.cursor().copy(f"COPY {table} FROM STDIN{where}") as copy:
        for part in range(200):
            copy.write(lines(part * 1000, (part + 1) * 1000, 1000))
            if part % 20 == 0:
                assert anonymous_memory(pid_of(client)) - before < 40 * 1024
                for _, pid in receivers(cluster):
                    assert anonymous_memory(pid) < 60 * 1024
    assert value(client, f"SELECT count(*) FROM {table}") == 200000


def test_from_every_node(cluster, coordinator, connect, schema, table):
    """Each node can run COPY, and all see its rows."""
    coordinator.execute(f"CREATE TABLE {schema}.r (k int PRIMARY KEY, v text)")
    coordinator.execute(f"SELECT create_reference_table('{schema}.r')")
    for number, node in enumerate(cluster.nodes):
        connection = connect(node)
        for name in (table, f"{schema}.r"):
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                copy.write(lines(number * 1000, number * 1000 + 1000))
    for name in (table, f"{schema}.r"):
        expected = [(1000 * len(cluster.nodes), len(cluster.nodes) * 1000 - 1)]
        for found in on_every_node(cluster, f"SELECT count(*), max(k) FROM {name}").values():
            assert found == expected


def test_initiator_has_shards(cluster, coordinator, schema):
    """Shards of the node that runs the COPY are written by its own backend, with the same errors."""
    own = ("127.0.0.1", cluster.coordinator.port, "shouldhaveshards")
    coordinator.execute("SELECT citus_set_node_property(%s, %s, %s, true)", own)
    try:
        coordinator.execute(f"CREATE TABLE {schema}.m (k int PRIMARY KEY, v text CHECK (v <> 'bad'), d int DEFAULT 5)")
        coordinator.execute(f"SELECT create_distributed_table('{schema}.m', 'k', shard_count => 9, "
                            "colocate_with => 'none')")
    finally:
        coordinator.execute("SELECT citus_set_node_property(%s, %s, %s, false)", own)
    assert value(coordinator, "SELECT count(DISTINCT groupid) FROM pg_dist_placement JOIN pg_dist_shard "
                 f"USING (shardid) WHERE logicalrelid = '{schema}.m'::regclass") == len(cluster.nodes)
    for columns, where in (("k, v", ""), ("k, v, d", " WHERE d < 1000")):
        with coordinator.cursor().copy(f"COPY {schema}.m ({columns}) FROM STDIN{where}") as copy:
            for k in range(20000):
                copy.write(f"{k}\tgood\n" if columns == "k, v" else f"{k + 20000}\tgood\t6\n")
    assert rows(coordinator, f"SELECT d, count(*) FROM {schema}.m GROUP BY d ORDER BY d") == [(5, 20000), (6, 20000)]
    for k in range(50000, 50020):
        with pytest.raises(psycopg.errors.CheckViolation) as caught:
            with coordinator.cursor().copy(f"COPY {schema}.m (k, v) FROM STDIN") as copy:
                copy.write(f"60000\tgood\n{k}\tbad\n60001\tgood\n")
        assert f'COPY m, line 2: "{k}\tbad"' in caught.value.diag.context
        assert (caught.value.diag.table_name, caught.value.diag.schema_name) == ("m", schema)
        assert "_1" not in str(caught.value)
    assert value(coordinator, f"SELECT count(*) FROM {schema}.m") == 40000


def test_prepared_commit(cluster, coordinator, connect, table):
    """A COPY that is still open when its transaction rolls back, and one that commits on all nodes."""
    client = connect(cluster.coordinator, autocommit=False)
    with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write(lines(0, 100))
    client.rollback()
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 0
    with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write(lines(0, 100))
    client.execute(f"DELETE FROM {table} WHERE k < 10")
    with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write(lines(0, 5))
    client.commit()
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 95
    wait_until_quiet(cluster)


def test_default_that_queries(coordinator, schema, table):
    """A default expression that needs the connections on which rows are under way."""
    coordinator.execute(f"""
        CREATE FUNCTION {schema}.known(int) RETURNS bigint LANGUAGE plpgsql VOLATILE
        AS $$ BEGIN RETURN (SELECT count(*) FROM {table} WHERE k % 10 = $1); END $$""")
    coordinator.execute(f"CREATE TABLE {schema}.d (k int, v text, n bigint DEFAULT {schema}.known(3))")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.d', 'k', shard_count => 4)")
    with coordinator.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write(lines(0, 100))
    coordinator.execute("SET citus.copy_buffer_size = '256kB'")
    with coordinator.cursor().copy(f"COPY {schema}.d (k, v) FROM STDIN") as copy:
        copy.write("".join(f"{k}\t{'x' * 2000}\n" for k in range(500)))
    assert rows(coordinator, f"SELECT n, count(*) FROM {schema}.d GROUP BY n") == [(10, 500)]


def test_concurrent_reference_tables(cluster, connect, coordinator, schema):
    """COPYs of the same keys into a reference table, from all nodes: one wins each time, none deadlocks."""
    coordinator.execute(f"CREATE TABLE {schema}.r (k int PRIMARY KEY, v text)")
    coordinator.execute(f"SELECT create_reference_table('{schema}.r')")
    outcomes = []

    def load(node, order):
        connection = connect(node)
        data = "".join(f"{k}\tx\n" for k in (range(1000) if order else range(999, -1, -1)))
        try:
            with connection.cursor().copy(f"COPY {schema}.r FROM STDIN") as copy:
                copy.write(data)
            outcomes.append("stored")
        except psycopg.Error as error:
            outcomes.append(error.sqlstate)

    threads = [threading.Thread(target=load, args=(node, order))
               for node in cluster.nodes for order in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["23505"] * 5 + ["stored"]
    for found in on_every_node(cluster, f"SELECT count(*) FROM {schema}.r").values():
        assert found == [(1000,)]


def test_psql_copy(cluster, coordinator, table, tmp_path):
    """psql's \\copy, both ways."""
    source = tmp_path / "in.csv"
    target = tmp_path / "out.csv"
    source.write_text("v,k\n" + "".join(f"value {k},{k}\n" for k in range(1000)))
    commands = (f"\\copy {table} (v, k) from '{source}' csv header",
                f"\\copy (select v, k from {table} order by k) to '{target}' csv header")
    psql = ["psql", "-XAt", cluster.coordinator.dsn_for("postgres", "postgres")]
    for command in commands:
        subprocess.run(psql + ["-c", command], check=True, capture_output=True)
    assert target.read_text() == source.read_text()


def test_progress(cluster, coordinator, connect, table):
    """pg_stat_progress_copy tells of the statement."""
    client = connect(cluster.coordinator)
    query = f"SELECT relid::regclass::text, command, type, tuples_processed > 0 FROM pg_stat_progress_copy " \
            f"WHERE pid = {pid_of(client)}"
    with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        fill_all_nodes(copy)
        wait_until(lambda: rows(coordinator, query) == [(table, "COPY FROM", "PIPE", True)], "progress")
    assert rows(coordinator, query) == []


def test_settings_travel(cluster, coordinator, schema):
    """What a line means is decided by the session that sends it, on whatever node it is parsed."""
    coordinator.execute(f"CREATE TABLE {schema}.s (k int, d date, i interval)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.s', 'k', shard_count => 4)")
    with coordinator.transaction():
        coordinator.execute("SET LOCAL datestyle = 'sql, dmy'")
        coordinator.execute("SET LOCAL intervalstyle = 'sql_standard'")
        with coordinator.cursor().copy(f"COPY {schema}.s FROM STDIN") as copy:
            copy.write("".join(f"{k}\t02/01/2020\t-1 2:00\n" for k in range(20)))
    found = rows(coordinator, f"SELECT DISTINCT d::text, extract(epoch FROM i)::int FROM {schema}.s")
    assert found == [("2020-01-02", -86400 - 7200)]
