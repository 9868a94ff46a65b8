"""One snapshot over standbys: sessions that read them see each transaction on all nodes or on none."""

import os
import random
import signal
import threading

import psycopg
import pytest

from harness import servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, in_thread, sees_wrong_sum, total
from harness.servers import rows, value, wait_until, wait_until_quiet
from harness.stopped import Stopped, is_stopped
from pomelo_cluster import find_free_ports

UPDATE_ALL = "UPDATE account SET balance = balance + 1"
READS = "-c citus.cluster_name=reports -c citus.use_secondary_nodes="


@pytest.fixture(scope="module")
def followed():
    """A cluster whose workers have a standby each, with the accounts."""
    with servers.cluster(purpose="check-follower-snapshots") as made:
        made.standbys = [follow(made, node) for node in made.workers]
        yield made


def follow(made, node, name="reports", source=None):
    """A standby of the node, as its secondary in a cluster of that name; it gets the WAL from source, another standby."""
    standby = made.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50))
    settings = {"hot_standby_feedback": "on", "wal_receiver_status_interval": "1s"}     # or it doesn't replay while a transaction reads it
    if source is not None:
        settings["primary_conninfo"] = source.dsn
    for setting, text in settings.items():
        standby.sql(f"ALTER SYSTEM SET {setting} = '{text}'")
    standby.reload()
    made.coordinator.sql(f"SELECT citus_add_secondary_node('127.0.0.1', {standby.port}, '127.0.0.1', {node.port}, '{name}')")
    return standby


@pytest.fixture
def accounts(followed):
    account_tables(followed)
    with connect_reader(followed) as reader:
        wait_until(lambda: succeeds(reader), "the standbys to have the accounts")
    yield followed
    Stopped.let_all_go()
    for standby in followed.standbys:
        if standby.sql("SELECT pg_is_in_recovery()") == "t":
            standby.sql("SELECT pg_wal_replay_resume()")
    wait_until_quiet(followed)


def connect_reader(followed, mode="always", options=""):
    return servers.connect(followed.coordinator, options=f"{READS}{mode} {options}")


def succeeds(connection):
    try:
        return total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
    except psycopg.Error:
        return False


def transfer_nested(connection):
    """Moves money in subtransactions, some of which are rolled back."""
    first, second = sorted(random.sample(range(1, ACCOUNTS + 1), 2))
    try:
        with connection.transaction():
            for key, amount in (first, -7), (second, 7):
                with connection.transaction():
                    connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s", [amount, key])
                with connection.transaction() as undone:
                    connection.execute("UPDATE account SET balance = 0 WHERE id = %s", [key])
                    raise psycopg.Rollback(undone)
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        pass


class Reads:
    """Checks on standbys, which may be refused where the machine is busy; some must not be."""

    def __init__(self, load, accounts):
        self.load, self.accounts, self.done = load, accounts, {}

    def add(self, check, mode="always", name_of_cluster="reports"):
        name = f"{check.__name__} {mode}"
        self.done[name] = 0

        def run(connection):
            try:
                check(connection)
                self.done[name] += 1
            except psycopg.errors.SerializationFailure:
                connection.rollback()

        self.load.add(self.accounts.coordinator, run, name, options=f"{READS}{mode} -c citus.cluster_name={name_of_cluster} -c citus.follower_wait_timeout=30s")

    def finish(self):
        self.load.finish(enough=lambda: all(self.done.values()))


def in_block(connection):
    with connection.transaction():
        check_total(connection)
        check_total(connection)


def repeatable(connection):
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        check_total(connection)
        one_by_one = sum(value(connection, "SELECT balance FROM account WHERE id = %s", [key]) for key in range(1, ACCOUNTS + 1, 1))
        assert one_by_one == ACCOUNTS * BALANCE


def test_anomaly_without(accounts):
    """With citus.distributed_snapshots off, sums are wrong soon: what the other tests look for does happen."""
    assert sees_wrong_sum(accounts, READS + "always -c citus.distributed_snapshots=off")


def test_sums(accounts):
    """Sums on standbys, at READ COMMITTED and REPEATABLE READ, in blocks and not, and as fresh as on primaries."""
    load = Load()
    load.add_transfers(accounts, clients=2)
    reads = Reads(load, accounts)
    for check in check_total, in_block, repeatable:
        reads.add(check)
    reads.finish()
    with servers.connect(accounts.coordinator) as writer, connect_reader(accounts, options="-c citus.follower_wait_timeout=60s") as reader:
        for _ in range(5):
            writer.execute(UPDATE_ALL)
            assert total(reader) == total(writer)


def test_subtransactions(accounts):
    """The same for transactions with subtransactions, which standbys' snapshots find by another way."""
    load = Load()
    for number, node in enumerate(accounts.nodes[:2]):
        load.add(node, transfer_nested, f"transfer{number}")
    reads = Reads(load, accounts)
    reads.add(check_total)
    reads.add(repeatable)
    reads.finish()


def test_mixed(accounts):
    """A node without a standby is read on its primary, as of the same time."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [accounts.standbys[1].port])
        load = Load()
        load.add_transfers(accounts, clients=2)
        reads = Reads(load, accounts)
        reads.add(check_total, "prefer")
        reads.add(repeatable, "prefer")
        reads.finish()
        connection.execute("SELECT citus_add_secondary_node('127.0.0.1', %s, '127.0.0.1', %s, 'reports')",
                           [accounts.standbys[1].port, accounts.workers[1].port])


def load_if_up(accounts):
    """Transfers, and checks of sums, by clients that wait for nodes that are down."""
    load = Load()
    for number in range(2):
        load.add(None, lambda _: transfer_if_up(accounts), f"transfer{number}")
    for check in (check_total, repeatable):
        load.add(None, lambda _, check=check: read_if_up(accounts, check), check.__name__)
    return load


@pytest.mark.parametrize("what", ["restart", "receiver", "primary"])
def test_restarts(accounts, what):
    """Restarts of a standby and of a primary, and lost WAL receivers, make reads wait or fail, and no sum wrong."""
    load = load_if_up(accounts)

    def disturb():
        for round_ in range(2):
            standby, node = accounts.standbys[round_ % 2], accounts.workers[round_ % 2]
            if what == "restart":
                standby.restart()
            elif what == "primary":
                node.restart()
            else:
                standby.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_wal_receiver")
            before = dict(load.counts)
            wait_until(lambda before=before: load.stop.is_set() or load.counts.get("check_total", 0) > before.get("check_total", 0) + 3, "reads")

    load.meanwhile(disturb)


def transfer_if_up(accounts):
    try:
        with servers.connect(accounts.coordinator) as connection:
            first, second = sorted(random.sample(range(1, ACCOUNTS + 1), 2))
            with connection.transaction():
                connection.execute("UPDATE account SET balance = balance - 1 WHERE id = %s", [first])
                connection.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", [second])
    except psycopg.Error:
        pass


def read_if_up(accounts, check):
    try:
        with connect_reader(accounts, options="-c citus.follower_wait_timeout=1s") as connection:
            check(connection)
    except psycopg.Error:
        pass


def sum_in_thread(connection):
    """Starts to read the sum in a transaction of its own; returns a function that waits for it, or for its error."""
    def read():
        with connection.transaction():
            return value(connection, "SELECT sum(balance) FROM account")

    return in_thread(read)


@pytest.mark.parametrize("step", ["commit-after-prepare", "commit-after-decision", "commit-between-commits"])
def test_undecided(accounts, step):
    """Between PREPARE and COMMIT PREPARED a read waits, within bounds, and then sees all or nothing."""
    stopped = Stopped(accounts.coordinator, step, UPDATE_ALL)
    limits = "-c citus.follower_wait_timeout=500ms -c citus.snapshot_timeout=500ms"
    with connect_reader(accounts, options=limits) as reader, connect_reader(accounts, options="-c citus.follower_wait_timeout=60s") as patient, \
            connect_reader(accounts, options="-c citus.follower_wait_timeout=60s -c default_transaction_isolation=repeatable\\ read") as repeating:
        # chooses its time once: that one's mark is written, however late
        waiting_long = sum_in_thread(repeating)
        for level in ("READ COMMITTED", "REPEATABLE READ"):
            with pytest.raises((psycopg.errors.SerializationFailure, psycopg.errors.LockNotAvailable), match="one point in time"), reader.transaction():
                reader.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
                total(reader)
        assert value(reader, "SELECT balance FROM account WHERE id = 1") in (BALANCE, BALANCE + 1)
        waiting = sum_in_thread(patient)
        assert stopped.go_on() is None
        assert waiting() == ACCOUNTS * (BALANCE + 1)
        assert waiting_long() in (ACCOUNTS * BALANCE, ACCOUNTS * (BALANCE + 1))


def test_waits(accounts):
    """A read that waits for a standby can be cancelled, ends in time, and ends if its connection is lost."""
    standby = accounts.standbys[0]
    replays(standby, False)
    replays(standby, True)
    for begin in "", "BEGIN ISOLATION LEVEL REPEATABLE READ":
        with connect_reader(accounts) as reader:
            reader.execute("SET citus.follower_wait_timeout = '10min'")
            reader.execute(begin)
            failures = []

            def read(reader=reader, failures=failures):
                try:
                    total(reader)
                except psycopg.Error as error:
                    failures.append(error)

            def waits():
                return standby.sql("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND backend_type = 'client backend'")

            for end in ("cancel", "terminate"):
                reading = threading.Thread(target=read)
                reading.start()
                pid = wait_until(waits, "the read to wait")
                if end == "cancel":
                    reader.cancel()
                else:
                    standby.sql(f"SELECT pg_terminate_backend({pid})")
                reading.join(servers.PATIENCE)
                wait_until(lambda: not waits(), "the wait on the standby to end")
                reader.rollback()
                reader.execute(begin)
            cancelled, terminated = failures
            assert isinstance(cancelled, psycopg.errors.QueryCanceled)
            assert isinstance(terminated, (psycopg.errors.AdminShutdown, psycopg.errors.ConnectionFailure))
            reader.execute("ROLLBACK; SET citus.follower_wait_timeout = '200ms'")
            with pytest.raises(psycopg.errors.SerializationFailure):
                total(reader)
            assert rows(reader, "SELECT 1") == [(1,)]
            replays(standby, False)
            reader.execute("SET citus.follower_wait_timeout = '60s'")
            check_total(reader)
            check_repeatable(reader)
        replays(standby, True)


def replays(standby, pause):
    standby.sql(f"SELECT pg_wal_replay_{'pause' if pause else 'resume'}()")
    wait_until(lambda: (standby.sql("SELECT pg_get_wal_replay_pause_state()") == "paused") == pause, "the standby to pause, or not to")


def test_clocks(accounts):
    """Readers wait for a time that is to come without their nodes' clocks running ahead, or each reader would put off the next."""
    standby = accounts.standbys[0]
    waits_for = "SELECT substring(query from '(\\d+)') FROM pg_stat_activity WHERE query LIKE 'SET citus.snapshot%' AND state = 'active' AND pid <> pg_backend_pid() LIMIT 1"

    def clock_is_behind():
        ending = sum_in_thread(reader)
        awaited = int(wait_until(lambda: standby.sql(waits_for), "the read to wait"))
        clock = int(accounts.coordinator.sql("SELECT citus_internal.snapshot_begin()"))
        reader.cancel()
        assert isinstance(ending(), psycopg.errors.QueryCanceled)
        return clock < awaited

    replays(standby, False)
    replays(standby, True)
    with connect_reader(accounts, options="-c citus.follower_wait_timeout=10min") as reader:
        wait_until(clock_is_behind, "a clock that isn't ahead")
    replays(standby, False)


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_too_late(accounts, level):
    """If standbys have replayed more than the chosen time when they are told of it, a later one is chosen."""
    connection = connect_reader(accounts, options="-c citus.follower_wait_timeout=60s")
    connection.execute(f"SET default_transaction_isolation = '{level}'")
    stopped = Stopped(accounts.coordinator, "mark-chosen", f"SELECT 1 / (sum(balance) = {ACCOUNTS * BALANCE})::int FROM account", connection)
    for standby in accounts.standbys * 3:
        wait_for_mark(standby)
    stops = 0
    while stopped.thread.is_alive():
        if is_stopped(stopped.pid):
            stops += 1
            os.kill(stopped.pid, signal.SIGCONT)
        stopped.thread.join(0.01)
    assert stopped.finish() is None
    assert stops > 1


def wait_for_mark(standby):
    """Until a standby has replayed another mark."""
    before = standby.sql("SHOW citus.replayed_mark")
    wait_until(lambda: standby.sql("SHOW citus.replayed_mark") != before, "a mark")


def test_late_mark(accounts):
    """What a late mark hides had not been vacuumed away: the row versions of before are there."""
    worker, standby = accounts.workers[0], accounts.standbys[0]
    launcher = int(worker.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'citus launcher'"))
    with servers.connect(accounts.coordinator) as writer, connect_reader(accounts, options="-c citus.follower_wait_timeout=60s") as reader:
        os.kill(launcher, signal.SIGSTOP)
        try:
            outcome = sum_in_thread(reader)
            wait_until(lambda: standby.sql("SELECT pid FROM pg_stat_activity WHERE query LIKE 'SET citus.snapshot%' AND state = 'active' AND pid <> pg_backend_pid()"),
                       "the read to wait")
            writer.execute(UPDATE_ALL)
            updated = worker.sql("SELECT pg_current_xact_id()")
            wait_until(lambda: worker.sql(f"SELECT bool_and(backend_xmin::text::bigint >= {updated}) FROM pg_stat_replication") == "t", "the standby to keep nothing")
            writer.execute("VACUUM account")
        finally:
            os.kill(launcher, signal.SIGCONT)
        # the latter if another standby has replayed more than the first choice
        assert outcome() in (ACCOUNTS * BALANCE, ACCOUNTS * (BALANCE + 1))


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_as_another_user(accounts, level):
    """In a SECURITY DEFINER function, standbys are told so only when they have their snapshots."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP FUNCTION IF EXISTS wealth(); DROP ROLE IF EXISTS keeper; CREATE ROLE keeper; GRANT SELECT ON account TO keeper")
        connection.execute("CREATE FUNCTION wealth() RETURNS numeric LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN (SELECT sum(balance) FROM account); END'")
        connection.execute("ALTER FUNCTION wealth() OWNER TO keeper")
        with connect_reader(accounts, options="-c citus.follower_wait_timeout=60s") as reader, reader.transaction():
            reader.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            assert value(reader, "SELECT wealth()") == ACCOUNTS * BALANCE
        connection.execute("DROP FUNCTION wealth(); DROP OWNED BY keeper; DROP ROLE keeper")


def test_marks(accounts):
    """Only nodes with secondaries write marks, and only while they should."""
    def written(node, meanwhile):
        """The number of records of marks that a node writes meanwhile."""
        start = node.sql("SELECT pg_current_wal_insert_lsn()")
        meanwhile()
        node.sql("SELECT pg_switch_wal()")
        return int(node.sql(f"SELECT count(*) FROM pg_get_wal_records_info('{start}', pg_current_wal_flush_lsn()) WHERE resource_manager IN ('citus', 'custom187') "
                            "AND record_type LIKE '%MARK%'"))

    worker = accounts.workers[0]
    for node in accounts.coordinator, worker:
        node.sql("SET citus.enable_ddl_propagation = off; CREATE EXTENSION IF NOT EXISTS pg_walinspect")
    assert written(worker, lambda: wait_for_mark(accounts.standbys[0])) > 0
    assert written(accounts.coordinator, lambda: wait_for_mark(accounts.standbys[0])) == 0
    worker.sql("ALTER SYSTEM SET citus.follower_snapshots = off")
    worker.reload()
    try:
        wait_until(lambda: written(worker, lambda: wait_for_mark(accounts.standbys[1])) == 0, "marks to end")
        with connect_reader(accounts, options="-c citus.follower_wait_timeout=300ms") as reader:
            with pytest.raises(psycopg.errors.SerializationFailure):
                total(reader)
            reader.execute("SET citus.distributed_snapshots = off")
            check_total(reader)
    finally:
        worker.sql("ALTER SYSTEM RESET citus.follower_snapshots")
        worker.reload()
    with connect_reader(accounts, options="-c citus.follower_wait_timeout=60s") as reader:
        check_total(reader)


def test_cascading(accounts):
    """A standby of a standby is read as of the same marks."""
    standby = follow(accounts, accounts.workers[0], "cascade", accounts.standbys[0])
    load = Load()
    load.add_transfers(accounts, clients=2)
    reads = Reads(load, accounts)
    reads.add(check_total, "prefer", "cascade")
    reads.add(repeatable, "prefer", "cascade")
    reads.finish()
    assert standby.sql("SHOW citus.replayed_mark") != "0"
    assert accounts.standbys[0].sql("SELECT count(*) FROM pg_stat_replication") == "1"
    accounts.coordinator.sql(f"SELECT citus_remove_node('127.0.0.1', {standby.port})")


def test_promotion(accounts):
    """A standby takes its node's place, and gets one itself: sums are right before, meanwhile, and afterwards."""
    node, standby = accounts.workers[0], accounts.standbys[0]
    node.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
    wait_until(lambda: "sync" in node.sql("SELECT string_agg(sync_state, ' ') FROM pg_stat_replication").split(), "a synchronous standby")
    load = load_if_up(accounts)

    def fail_over():
        load.stop.wait(1)
        node.kill()
        standby.promote()
        accounts.replace(node, standby)
        accounts.coordinator.sql(f"SELECT citus_update_node(nodeid, '127.0.0.1', {standby.port}) FROM pg_dist_node WHERE nodeport = {node.port}")
        for told in accounts.nodes:
            assert told.sql(f"SELECT noderole FROM pg_dist_node WHERE nodeport = {standby.port}") == "primary"
        accounts.standbys[0] = follow(accounts, standby)
        before = load.counts.get("check_total", 0)
        wait_until(lambda: load.stop.is_set() or load.counts.get("check_total", 0) > before + 3, "reads")

    load.meanwhile(fail_over)
    accounts.coordinator.sql("SELECT recover_prepared_transactions()")
    with connect_reader(accounts, options="-c citus.follower_wait_timeout=60s") as reader:
        wait_until(lambda: succeeds(reader), "reads to succeed")
