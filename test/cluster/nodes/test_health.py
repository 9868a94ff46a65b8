"""citus_health(): each fault is found, and its remedy, pasted on the node that the finding names, mends it."""

import os
import subprocess
import threading
import time

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until
from harness.stopped import Stopped
from harness.statement import Statement
from pomelo_cluster import find_free_ports, host

pytestmark = pytest.mark.some(6)
MB = 2**20
SETTINGS = {"fsync": "on", "full_page_writes": "on", "citus.recover_2pc_interval": "-1", "citus.defer_shard_delete_interval": "1h",
            "max_wal_size": "32MB", "min_wal_size": "32MB", "synchronous_commit": "off"}


@pytest.fixture(scope="module")
def made():
    """A cluster in good health, whose nodes mend nothing by themselves."""
    with servers.cluster(purpose="check-health", settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def healthy(made):
    """That cluster; a test leaves it so."""
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE SCHEMA h")
        connection.execute("CREATE TABLE h.t (id bigint PRIMARY KEY, v text); SELECT create_distributed_table('h.t', 'id', shard_count => 8)")
    yield made
    with servers.connect(made.coordinator) as connection:
        connection.execute("DROP SCHEMA h CASCADE")


class Finding:
    """A row of citus_health()."""

    def __init__(self, row):
        self.severity, self.host, self.port, self.subject, self.finding, self.detail, self.remedy = row

    def __repr__(self):
        return f"{self.severity} {self.port} {self.subject}: {self.finding} ({self.detail}) {self.remedy}"


def findings(made, patience="10 minutes", node=None, subject=""):
    with servers.connect(node or made.coordinator) as connection:
        found = [Finding(row) for row in rows(connection, "SELECT * FROM citus_health(%s)", [patience])]
    return [finding for finding in found if finding.subject.startswith(subject)]


def paste(made, finding):
    """Runs a remedy as psql does: statement by statement; restarts the server if it says so."""
    node = next(node for node in made.nodes if node.port == finding.port)
    done = psycopg_statements(node, finding.remedy)
    if "restart this server" in finding.remedy:
        node.restart()
    return done


def psycopg_statements(node, text):
    with servers.connect(node) as connection:
        for statement in filter(None, (line.split("  --")[0].strip() for line in text.splitlines())):
            connection.execute(statement)


def check(made, subject, severity, patience="10 minutes", count=1, finding=""):
    """That fault is found; after its remedy it is not."""
    found = wait_until(lambda: findings(made, patience, subject=subject), f"a finding about {subject}")
    assert len(found) == count, found
    assert {each.severity for each in found} == {severity}, found
    assert all(finding in each.finding for each in found), found
    for each in found:
        paste(made, each)
    wait_until(lambda: not findings(made, patience, subject=subject), f"an end of {found}")
    return found[0]


def test_in_any_cluster(cluster, coordinator):
    """On any node, by any superuser or monitor, in a read-only transaction; not by others."""
    coordinator.execute("DROP ROLE IF EXISTS watcher; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; "
                        "DROP ROLE IF EXISTS passerby; CREATE ROLE passerby LOGIN")
    try:
        for node in cluster.nodes:
            with servers.connect(node, user="watcher") as connection:
                connection.execute("SET default_transaction_read_only = on")
                subjects = {row[3] for row in rows(connection, "SELECT * FROM citus_health()")}
                assert subjects == {"setting fsync", "setting full_page_writes"}
            with servers.connect(node, user="passerby") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT * FROM citus_health()")
    finally:
        coordinator.execute("DROP ROLE watcher, passerby")


def test_alone(make_cluster):
    made = make_cluster(workers=0, kind="bare")
    assert {(finding.subject, finding.host) for finding in findings(made)} == \
        {("setting fsync", "localhost"), ("setting full_page_writes", "localhost")}


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """A file system of 400 MB, in memory, where clusters are made."""
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", tmp_path], check=False).returncode != 0:
        pytest.skip("a file system can't be mounted here")
    os.chmod(tmp_path, 0o755)
    for folder in list(tmp_path.parents)[:2]:
        os.chmod(folder, 0o755)     # the servers' user looks for its own folder
    host.give(tmp_path)
    monkeypatch.setenv("POMELO_STATE", str(tmp_path))
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def test_full_disk(small_disk):
    """A disk with little space is found within ten seconds, sooner or later critical, and not once there is space again."""
    with servers.cluster(purpose="check-full-disk", workers=1, settings={"max_wal_size": "32MB", "min_wal_size": "32MB"}) as made:
        def fill(share):
            """Leaves that share of the file system free."""
            found = os.statvfs(small_disk)
            with open(small_disk / "filler", "ab") as filler:
                os.posix_fallocate(filler.fileno(), 0, os.fstat(filler.fileno()).st_size +
                                   max(0, found.f_bavail - int(share * found.f_blocks)) * found.f_frsize)

        assert not findings(made, subject="disk")
        for share, severity in ((0.08, "warning"), (0.03, "critical")):
            fill(share)
            start = time.monotonic()
            found = wait_until(lambda: findings(made, subject="disk"), "a finding")
            assert time.monotonic() - start < 10
            assert [each.severity for each in found] == [severity] * 2 and "are free" in found[0].finding
        os.unlink(small_disk / "filler")
        assert not findings(made, subject="disk")


@pytest.mark.parametrize("number", [1, 0], ids=["worker", "coordinator"])
@pytest.mark.parametrize("how", ["kill", "hang"])
def test_node_is_down(healthy, number, how):
    """Within ten seconds, from any other node."""
    node, other = healthy.nodes[number], healthy.nodes[2]
    if how == "kill":
        node.kill()
    else:
        servers.kill_process(node.pid(), servers.signal.SIGSTOP)
    try:
        with servers.connect(other) as connection:
            began = time.monotonic()
            found, = rows(connection, "SELECT severity, nodeport, subject, finding, remedy FROM citus_health()")
            assert time.monotonic() - began < 10
    finally:
        if how == "hang":
            servers.kill_process(node.pid(), servers.signal.SIGCONT)
        else:
            node.start()
    assert found[:4] == ("critical", node.port, "node", "cannot be reached")
    assert found[4].startswith("-- start its server" if number == 0 else "SELECT citus_disable_node")


def test_disabled(healthy):
    """A node that is down is taken out of use by the remedy, and brought back by the next finding's."""
    worker = healthy.workers[0]
    worker.kill()
    found, = findings(healthy, subject="node")
    psycopg_statements(healthy.coordinator, found.remedy)
    worker.start()
    found, = findings(healthy, subject="node")
    assert found.finding == "is disabled"
    psycopg_statements(healthy.coordinator, found.remedy)
    assert findings(healthy) == []


def test_missed_changes(healthy):
    for node in healthy.nodes:
        node.sql("ALTER SYSTEM SET citus.metadata_sync_interval = '1d'; ")
        node.sql("SELECT pg_reload_conf()")
    healthy.coordinator.sql(f"UPDATE pg_dist_node SET metadatasynced = false WHERE nodeport = {healthy.workers[1].port}")
    found, = findings(healthy)
    assert found.finding == "has missed changes of nodes"
    psycopg_statements(healthy.coordinator, found.remedy)
    assert findings(healthy) == []


def test_prepared_by_a_node(healthy):
    """A node's transaction whose initiator died between the phases of its commit."""
    healthy.coordinator.sql("INSERT INTO h.t SELECT generate_series(1, 100)")
    stopped = Stopped(healthy.coordinator, "commit-between-commits", "UPDATE h.t SET v = 'new'")
    servers.kill_process(stopped.pid)
    assert stopped.finish() is not None
    wait_until(lambda: findings(healthy, "0 s", subject="prepared"), "the finding")
    check(healthy, "prepared transaction", "critical", "0 s")
    assert healthy.coordinator.sql("SELECT count(*) FROM h.t WHERE v = 'new'") == "100"


def test_prepared_by_a_client(healthy):
    with servers.connect(healthy.workers[0]) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO h.t SELECT generate_series(1, 100)")
        connection.execute("PREPARE TRANSACTION 'for''gotten'")
    own, = [found for found in findings(healthy, "0 s", subject="prepared") if found.severity == "critical"]
    assert "Role postgres" in own.detail
    paste(healthy, own)
    assert findings(healthy, "0 s", subject="prepared") == []


def test_long_transaction(healthy):
    idle = servers.connect(healthy.workers[0], autocommit=False)
    idle.execute("SELECT count(*) FROM h.t")
    found = check(healthy, "session", "warning", "0.1 s", finding="idle in transaction")
    assert "SELECT count(*) FROM h.t" in found.detail
    with pytest.raises(psycopg.OperationalError):
        idle.execute("SELECT 1")


def test_lock(healthy):
    """A session on one node that another one, on another node, waits for."""
    healthy.coordinator.sql("INSERT INTO h.t VALUES (1)")
    holder = servers.connect(healthy.workers[0], autocommit=False)
    holder.execute("UPDATE h.t SET v = 'held'")
    waiting = Statement(servers.connect(healthy.workers[1]), "UPDATE h.t SET v = 'waited' WHERE id = 1")
    wait_until(lambda: [found for found in findings(healthy, "1 s", subject="session") if "waiting" in found.finding], "a wait")
    found, = [found for found in findings(healthy, "1 s", subject="session") if "waiting" in found.finding]
    paste(healthy, found)
    assert waiting.finish() is None


def test_connections(healthy):
    node = healthy.workers[1]
    most = int(node.sql("SHOW max_connections"))
    opened = [servers.connect(node) for _ in range(int(most * 0.85))]
    try:
        found, = findings(healthy, subject="connections")
        assert found.severity == "warning" and found.port == node.port
    finally:
        for connection in opened:
            connection.close()
    node.sql("ALTER SYSTEM SET max_connections = 31")
    node.restart()
    differs = findings(healthy, subject="setting max_connections")
    assert [(found.severity, found.port) for found in differs] == [("notice", node.port)]
    paste(healthy, differs[0])
    assert findings(healthy) == []


@pytest.mark.parametrize("setting, bad, severity", [
    ("fsync", "off", "critical"), ("full_page_writes", "off", "critical"), ("autovacuum", "off", "warning"),
    ("wal_level", "replica", "notice"), ("max_prepared_transactions", "10", "warning"),
    ("recovery_target_name", "'before'", "warning")])
def test_setting(healthy, setting, bad, severity):
    node = healthy.workers[0]
    node.sql(f"ALTER SYSTEM SET {setting} = {bad}")
    node.restart()
    found, *other = findings(healthy, subject=f"setting {setting}")
    assert found.severity == severity and found.port == node.port and len(other) <= 1
    paste(healthy, found)
    for differs in findings(healthy, subject=f"setting {setting}"):
        paste(healthy, differs)
    assert findings(healthy) == []


def test_answers_differ(healthy):
    healthy.workers[0].sql("ALTER DATABASE postgres SET \"DateStyle\" = 'German'")
    healthy.workers[0].sql("SELECT set_config('citus.enable_ddl_propagation', 'off', false); ALTER DATABASE postgres SET extra_float_digits = 0")
    try:
        found = findings(healthy, subject="node")
        assert found and {each.finding for each in found} == {"does not go together with this one"}
        assert "extra_float_digits" in found[0].detail
    finally:
        for node in healthy.nodes:
            node.sql("SET citus.enable_ddl_propagation = off; ALTER DATABASE postgres RESET ALL")


def test_slots(healthy):
    """Of a move that was interrupted, and of a reader that has gone."""
    node = healthy.workers[0]
    node.sql("SELECT pg_create_logical_replication_slot('citus_shard_move_slot_1_10_4711', 'pgoutput')")
    check(healthy, "replication slot", "warning", finding="is left of a move")
    node.sql("SELECT pg_create_physical_replication_slot('gone', true)")
    node.sql("CREATE TABLE filler (v text); ALTER TABLE filler ALTER v SET STORAGE EXTERNAL;"
             f"INSERT INTO filler SELECT repeat('x', {MB}) FROM generate_series(1, 40); DROP TABLE filler")
    check(healthy, 'replication slot "gone"', "warning", finding="of write-ahead log")


def test_archive(healthy):
    node = healthy.workers[0]
    node.sql("ALTER SYSTEM SET archive_mode = on")
    node.sql("ALTER SYSTEM SET archive_command = 'false'")
    node.restart()
    node.sql("SELECT pg_switch_wal()")
    wait_until(lambda: findings(healthy, subject="archive"), "the finding")
    node.sql("ALTER SYSTEM SET archive_command = 'true'")
    node.sql("SELECT pg_reload_conf()")
    node.sql("SELECT pg_switch_wal()")
    wait_until(lambda: not findings(healthy, subject="archive"), "its end")
    node.sql("ALTER SYSTEM RESET ALL")
    node.restart()


def test_standbys(healthy):
    node = healthy.workers[0]
    standby = healthy.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 20))
    try:
        node.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        node.sql("SELECT pg_reload_conf()")
        wait_until(lambda: node.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "a synchronous standby")
        assert findings(healthy) == []
        standby.sql("SELECT pg_wal_replay_pause()")
        node.sql("SET synchronous_commit = local; CREATE TABLE filler (v text); ALTER TABLE filler ALTER v SET STORAGE EXTERNAL;"
                 f"INSERT INTO filler SELECT repeat('x', {MB}) FROM generate_series(1, 40); DROP TABLE filler")
        found, = findings(healthy, subject="standby")
        assert "behind" in found.finding
        standby.sql("SELECT pg_wal_replay_resume()")
        wait_until(lambda: not findings(healthy, subject="standby"), "the standby to replay")
        standby.kill()
        check(healthy, "synchronous standby", "critical", finding="is missing")
    finally:
        standby.kill()
        node.sql("ALTER SYSTEM RESET ALL")
        node.sql("SELECT pg_reload_conf()")


def test_invalid_index(healthy):
    with servers.connect(healthy.coordinator) as connection:
        connection.execute("INSERT INTO h.t SELECT g, 'same' FROM generate_series(1, 9) g")
        connection.execute("CREATE TABLE h.u (id int); SELECT create_distributed_table('h.u', 'id'); INSERT INTO h.u VALUES (7), (7)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("CREATE UNIQUE INDEX CONCURRENTLY uniq ON h.u (id)")
    found = check(healthy, "index h.uniq", "warning", finding="is invalid")
    assert "CREATE UNIQUE INDEX uniq ON" in found.detail


def test_dead_rows(healthy):
    with servers.connect(healthy.coordinator) as connection:
        connection.execute("CREATE TABLE h.d (id int, v int) WITH (autovacuum_enabled = off); SELECT create_distributed_table('h.d', 'id')")
        connection.execute("INSERT INTO h.d SELECT 1, 0 FROM generate_series(1, 12000); UPDATE h.d SET v = 1")
    check(healthy, "table h.d", "warning", finding="dead rows")


def test_failed_job(healthy):
    """A rebalance that fails; the remedy is another one, which finds that there is nothing to do."""
    with servers.connect(healthy.coordinator) as connection:
        connection.execute("INSERT INTO pg_dist_background_job (state, job_type, description, started_at, finished_at) "
                           "VALUES ('failed', 'rebalance', 'Rebalance all', now(), now()) ")
        found, = findings(healthy, subject="background job")
        connection.execute("UPDATE pg_dist_node SET shouldhaveshards = shouldhaveshards")
        paste(healthy, found)
        connection.execute("DELETE FROM pg_dist_background_job WHERE state = 'failed'")


def large_rows(connection, table, count, ids):
    connection.execute(f"ALTER TABLE {table} ALTER v SET STORAGE EXTERNAL")
    connection.execute(f"INSERT INTO {table} SELECT {ids}, repeat('x', {MB}) FROM generate_series(1, {count}) g")
    connection.execute(f"ANALYZE {table}")


def test_skewed_tenant(healthy):
    with servers.connect(healthy.coordinator) as connection:
        connection.execute("CREATE TABLE h.s (tenant text, v text); SELECT create_distributed_table('h.s', 'tenant', shard_count => 8)")
        large_rows(connection, "h.s", 70, "'it''s big'")
        shards = value(connection, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'h.s'::regclass")
        found = check(healthy, "shard ", "warning", finding="times the mean")
        assert "it''s big" in found.detail
        assert value(connection, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'h.s'::regclass") > shards
        assert [(found.severity, "get_rebalance_table_shards_plan" in found.detail) for found in findings(healthy, subject="shards")] == \
            [("notice", True)] * 2


def test_large_shard(healthy):
    """Without a value that is frequent, it is cut into two."""
    with servers.connect(healthy.coordinator) as connection:
        connection.execute("CREATE TABLE h.l (id int, v text); SELECT create_distributed_table('h.l', 'id', shard_count => 8)")
        shard = "(SELECT min(shardid) FROM pg_dist_shard WHERE logicalrelid = 'h.l'::regclass)"
        ids = value(connection, "SELECT array_agg(g) FROM (SELECT g FROM generate_series(1, 2000) g "
                                f"WHERE get_shard_id_for_distribution_column('h.l', g) = {shard} LIMIT 70) q")
        large_rows(connection, "h.l", 70, f"('{{{','.join(map(str, ids))}}}'::int[])[g]")
        check(healthy, "shard ", "warning", finding="times the mean")


def test_tenants_cpu(healthy):
    node = healthy.workers[0]
    for each in healthy.nodes:
        each.sql("ALTER SYSTEM SET citus.stat_tenants_track = 'all'")
        each.sql("ALTER SYSTEM SET citus.stat_tenants_period = 2")
        each.sql("SELECT pg_reload_conf()")
    try:
        busy = threading.Event()

        def work():
            with servers.connect(node) as connection:
                while not busy.is_set():
                    connection.execute("SELECT sum(factorial(2000 + g)) FROM h.t, generate_series(1, 100) g WHERE id = 7")

        node.sql("INSERT INTO h.t VALUES (7)")
        thread = threading.Thread(target=work)
        thread.start()
        found = wait_until(lambda: findings(healthy, subject="tenant '7' of h.t"), "the tenant to be found")
        paste(healthy, found[0])
        wait_until(lambda: not findings(healthy, subject="tenant"), "the tenant's limit")
        busy.set()
        thread.join()
    finally:
        busy.set()
        for each in healthy.nodes:
            each.sql("ALTER SYSTEM RESET ALL")
            each.sql("SELECT pg_reload_conf()")
