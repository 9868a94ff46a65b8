"""citus_move_shard_placement: under load, with every kind of table, killed at each step; nothing lost, nothing left."""

import random
import signal
import time
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from harness import servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, total, transfer
from harness.servers import LEFT, kill_process, on_every_node, pid_of, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped, is_stopped
from pomelo_cluster import host

MODES = ["force_logical", "block_writes"]

# Points that the caller's session reaches, and those of the session on the node that gives the shard away.
CALLER = ["move-begun", "move-slot-made", "move-copied", "move-subscribed", "move-before-switch", "move-switched"]
SOURCE = ["move-shards-locked", "move-before-commit", "commit-before-prepare", "commit-after-prepare",
          "commit-after-decision", "commit-between-commits"]

MOVER = "mover"      # debug points are settings of this role


@pytest.fixture(scope="module")
def bank_cluster():
    """A cluster that the tests of this file share."""
    with servers.cluster(purpose="check-moves") as made:
        made.coordinator.sql(f"CREATE ROLE {MOVER} SUPERUSER LOGIN")
        yield made


@pytest.fixture
def accounts(bank_cluster):
    """Accounts, of which nothing else is left behind than what they are made of."""
    account_tables(bank_cluster)
    yield bank_cluster
    check_clean(bank_cluster)


def check_clean(made, timeout=servers.PATIENCE):
    """Recovery and clean-up leave nothing of any move."""
    def left():
        with servers.connect(made.coordinator) as connection:
            for node in made.nodes:
                with servers.connect(node) as other:
                    other.execute("SELECT recover_prepared_transactions()")
            connection.execute("CALL citus_cleanup_orphaned_resources()")
        return [found for found in on_every_node(made, LEFT).values() if found]

    try:
        wait_until(lambda: not left(), "nothing to be left of moves", timeout)
    except AssertionError as error:
        raise AssertionError(f"{error}: {on_every_node(made, LEFT)}") from None


def shard_of(connection, table, key):
    """A key's shard, and the port of its node."""
    return rows(connection, """
        SELECT shardid, nodeport FROM citus_shards
        WHERE table_name = %s::regclass AND shardid = get_shard_id_for_distribution_column(%s::regclass, %s)""",
                [table, table, key])[0]


def move(connection, shard, source, target, mode="auto"):
    connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, %s)",
                       [shard, source, target, mode])


def move_key(made, connection, table, key, mode="auto"):
    """Moves the shard of a key to the next node."""
    shard, source = shard_of(connection, table, key)
    ports = [node.port for node in made.nodes]
    target = ports[(ports.index(source) + 1) % len(ports)]
    move(connection, shard, source, target, mode)
    assert shard_of(connection, table, key) == (shard, target)
    return shard, source, target


@pytest.mark.parametrize("mode", MODES)
def test_transfers(accounts, mode):
    """Money moves between accounts, and sums stay, from all nodes at each level, while shards are moved."""
    moved = []
    acknowledged = []

    def move_one(connection):
        move_key(accounts, connection, "account", 1 + 7 * len(moved) % ACCOUNTS, mode)
        moved.append(True)

    def note(connection):
        number = value(connection, "INSERT INTO ledger VALUES (DEFAULT, %s) RETURNING number", [len(acknowledged)])
        acknowledged.append(number)

    def transfer_again(connection):
        """At REPEATABLE READ: conflicts are answered with 40001, also those with a move."""
        try:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                transfer(connection)
        except psycopg.errors.SerializationFailure:
            pass

    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS ledger; CREATE TABLE ledger (number serial PRIMARY KEY, n int)")
        connection.execute("SELECT create_distributed_table('ledger', 'number', colocate_with => 'account')")
    load = Load()
    load.add_transfers(accounts)
    for node in accounts.nodes:
        load.add(node, check_total, f"reader {node.name}")
        load.add(node, check_repeatable, f"repeatable {node.name}")
        load.add(node, note, f"ledger {node.name}")
    load.add(accounts.nodes[1], move_one, "mover")
    load.finish(enough=lambda: len(moved) > 1)
    with servers.connect(accounts.nodes[2]) as connection:
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
        assert sorted(number for number, in rows(connection, "SELECT number FROM ledger")) == sorted(acknowledged)
        connection.execute("DROP TABLE ledger")


@pytest.mark.parametrize("mode", MODES)
def test_old_snapshot(accounts, mode):
    """A REPEATABLE READ transaction that began before the move reads on, and can't write what was moved."""
    with servers.connect(accounts.coordinator) as mover, servers.connect(accounts.nodes[1]) as writer:
        for node in accounts.nodes:
            with servers.connect(node) as reader:
                reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                balance = value(reader, "SELECT balance FROM account WHERE id = 1")
                shard, _, _ = move_key(accounts, mover, "account", 1, mode)
                writer.execute("UPDATE account SET balance = balance + 5 WHERE id = 1")
                assert total(reader) == (ACCOUNTS * BALANCE, ACCOUNTS)
                assert value(reader, "SELECT balance FROM account WHERE id = 1") == balance
                assert value(reader, "SELECT count(*) FROM account a JOIN account b USING (id)") == ACCOUNTS
                with pytest.raises(psycopg.errors.SerializationFailure):
                    reader.execute("UPDATE account SET balance = 0 WHERE id = 1")
                reader.execute("ROLLBACK")
            writer.execute("UPDATE account SET balance = balance - 5 WHERE id = 1")
            assert total(writer) == (ACCOUNTS * BALANCE, ACCOUNTS)


def test_open_cursor(accounts):
    """A cursor goes on with the rows of when it was opened; its shards' former placement stays as long."""
    with servers.connect(accounts.coordinator) as mover, servers.connect(accounts.nodes[2]) as reader:
        with reader.transaction():
            reader.execute("DECLARE c CURSOR FOR SELECT balance FROM account")
            first = rows(reader, "FETCH 10 FROM c")
            move_key(accounts, mover, "account", 1)
            move_key(accounts, mover, "account", 2)
            mover.execute("UPDATE account SET balance = balance + 1 WHERE id IN (1, 2)")
            assert sum(balance for balance, in first + rows(reader, "FETCH ALL FROM c")) == ACCOUNTS * BALANCE
        mover.execute("UPDATE account SET balance = balance - 1 WHERE id IN (1, 2)")


def test_renamed_before_cleanup(accounts):
    """A former placement of a table that has been renamed is removed as any other, and the shard can move again."""
    with servers.connect(accounts.coordinator) as mover:
        mover.execute("""CREATE TABLE "Old name" (id int PRIMARY KEY)""")
        mover.execute("""SELECT create_distributed_table('"Old name"', 'id', colocate_with => 'none')""")
        with ExitStack() as readers:
            for node in accounts.nodes:
                reader = readers.enter_context(servers.connect(node))
                readers.enter_context(reader.transaction())
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1")
            move_key(accounts, mover, '"Old name"', 1)
            mover.execute("""ALTER TABLE "Old name" RENAME TO new_name""")
        check_clean(accounts)
        move_key(accounts, mover, "new_name", 1)
        mover.execute("DROP TABLE new_name")
    check_clean(accounts)


def test_transaction_goes_on(accounts):
    """A block that has written on a node goes on when another shard of that node was moved away meanwhile."""
    with servers.connect(accounts.coordinator) as mover:
        for node in accounts.nodes:
            with servers.connect(node) as client:
                keys = rows(mover, """
                    SELECT min(id) FROM account a JOIN citus_shards s
                    ON s.table_name = 'account'::regclass AND s.shardid = get_shard_id_for_distribution_column('account', a.id)
                    WHERE nodeport = (SELECT nodeport FROM citus_shards WHERE table_name = 'account'::regclass
                                      AND shardid = get_shard_id_for_distribution_column('account', 1))
                    GROUP BY s.shardid ORDER BY 1 LIMIT 2""")
                if len(keys) < 2:
                    continue
                client.execute("PREPARE take (int) AS UPDATE account SET balance = balance - 1 WHERE id = $1")
                client.execute("PREPARE give (int) AS UPDATE account SET balance = balance + 1 WHERE id = $1")
                with client.transaction():
                    client.execute(f"EXECUTE take ({keys[0][0]})")
                    with client.transaction():
                        move_key(accounts, mover, "account", keys[1][0], "block_writes")     # a slot would wait for the client
                        client.execute(f"EXECUTE give ({keys[1][0]})")
                    assert total(client) == (ACCOUNTS * BALANCE, ACCOUNTS)
    with servers.connect(accounts.coordinator) as connection:
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)


def test_long_writer(accounts):
    """A transaction that has written to the shard keeps its move from ending; others write on, and the move gives up.

    They wait for each of its attempts, so it makes few of them.
    """
    for node in accounts.nodes:
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET log_statement = 'all'")
    with servers.connect(accounts.coordinator) as holder, servers.connect(accounts.coordinator, user=MOVER) as mover, \
            servers.connect(accounts.nodes[1]) as other:
        shard = shard_of(mover, "account", 1)
        source = next(node for node in accounts.nodes if node.port == shard[1])
        mark = source.log_mark()
        sibling = value(mover, "SELECT min(id) FROM account WHERE id > 1 AND "
                        "get_shard_id_for_distribution_column('account', id) = %s", [shard[0]])
        mover.execute("SET citus.move_switch_timeout = '5s'; SET citus.move_pause_limit = '100ms'")
        other.execute("SET lock_timeout = '5s'")
        holder.execute("BEGIN; UPDATE account SET balance = balance WHERE id = 1")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            move_key(accounts, mover, "account", 1, "block_writes")
        assert 1 < source.log_since(mark).count("statement: SELECT citus_internal.move_switch()") < 8
        mover.execute("SET citus.move_switch_timeout = '1s'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            move_key(accounts, mover, "account", 1, "force_logical")     # a slot waits, too
        other.execute("UPDATE account SET balance = balance WHERE id = %s", [sibling])
        assert shard_of(mover, "account", 1) == shard
        holder.execute("COMMIT")
        mover.execute("RESET citus.move_pause_limit; RESET citus.move_switch_timeout")
        move_key(accounts, mover, "account", 1)
    for node in accounts.nodes:
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET log_statement")


@pytest.mark.parametrize("point", CALLER + SOURCE)
@pytest.mark.parametrize("mode", [pytest.param(mode, marks=pytest.mark.one_of("mode")) for mode in MODES])
def test_killed(accounts, point, mode):
    """kill -9 of the session that stands at a point: the shard is at one place with all its rows, and nothing is left."""
    with servers.connect(accounts.coordinator) as connection:
        shard, source = shard_of(connection, "account", 1)
        connection.execute(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = '{point}=kill'")
    for node in accounts.nodes[1:]:
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = '{point}=kill'")
    caller = next(node for node in accounts.nodes if node.port != source)
    reached = True
    try:
        with servers.connect(caller, user=MOVER) as mover:
            move_key(accounts, mover, "account", 1, mode)
        reached = False
    except psycopg.Error:
        pass
    for node in accounts.nodes:
        wait_until(lambda node=node: is_up(node), "the server to be up again")
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET citus.debug_points")
    assert reached != (point in ("move-slot-made", "move-copied", "move-subscribed") and mode == "block_writes")
    check_clean(accounts)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
            connection.execute("UPDATE account SET balance = balance WHERE id < 50")
    with servers.connect(accounts.coordinator) as connection:
        move_key(accounts, connection, "account", 1, mode)


def is_up(node):
    try:
        node.sql("SELECT 1")
    except Exception:
        return False
    return True


def test_slow_cleanup(accounts):
    """A session that cleans up takes nothing of a move for what another session has cleaned up meanwhile."""
    with servers.connect(accounts.coordinator) as mover:
        shard, port = shard_of(mover, "account", 1)
        source = next(node for node in accounts.nodes if node.port == port)
        target = next(node for node in accounts.nodes if node.port != port)
        with servers.connect(source) as other:
            other.execute("""
                INSERT INTO pg_dist_cleanup (operation_id, object_type, object_name, node_group_id, policy_type)
                SELECT 0, 1, %s, groupid, 1 FROM pg_dist_node WHERE nodeport = %s""", [f"citus_data.account_{shard}", target.port])
            slow = Stopped(source, "cleanup-records-read", "SELECT citus_internal.cleanup()")
            wait_until(lambda: value(other, "SELECT citus_internal.cleanup()") == 0, "the record to be gone")
        mover.execute("SET citus.debug_points = 'move-copied=stop'")
        pid = pid_of(mover)
        moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port})")
        wait_until(lambda: is_stopped(pid), "the move to stand still")
        slow.go_on()
        assert slow.error is None
        kill_process(pid, signal.SIGCONT)
        assert moving.finish() is None
        assert total(mover) == (ACCOUNTS * BALANCE, ACCOUNTS)


@contextmanager
def standing_at(node, point):
    """The move that MOVER begins on a node, which has the shard, stands still at a point of its driver or of its source."""
    node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = '{point}=stop'")
    with servers.connect(node) as connection, servers.connect(node, user=MOVER) as mover:
        def standing():
            pids = rows(connection, f"SELECT pid FROM pg_stat_activity WHERE usename = '{MOVER}'")
            return next((pid for pid, in pids if is_stopped(pid)), None)

        try:
            yield mover, lambda: wait_until(standing, "the move to stand still")
        finally:
            if standing():
                kill_process(standing(), signal.SIGCONT)
            node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET citus.debug_points")


def note(connection, kind, name, port):
    """Records what a dead move has left on a node."""
    connection.execute("""
        INSERT INTO pg_dist_cleanup (operation_id, object_type, object_name, node_group_id, policy_type)
        SELECT -1, %s, %s, groupid, 1 FROM pg_dist_node WHERE nodeport = %s""", [kind, f"citus_data.{name}", port])


@pytest.mark.parametrize("point", ["move-copied", "move-before-switch"])
def test_record_of_earlier_move(accounts, point):
    """What a dead move has left is recorded on a third node: the copy that another move makes at the same place stays."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
        source, target, third = sorted(accounts.nodes, key=lambda node: node.port != port)
        with standing_at(source, point) as (mover, standing):
            moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port})")
            pid = standing()
            with servers.connect(third) as other:
                note(other, 1, f"account_{shard}", target.port)
                assert value(other, "SELECT citus_internal.cleanup()") == 0
            kill_process(pid, signal.SIGCONT)
            assert moving.finish() is None
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)


def test_identity_of_earlier_move(accounts):
    """The replica identity that a dead move has set, and a later one needs, stays until the later one is over."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("CREATE TABLE keyless (n int, i int)")
        connection.execute("SELECT create_distributed_table('keyless', 'n', shard_count => 4, colocate_with => 'none')")
        connection.execute("INSERT INTO keyless SELECT g, 0 FROM generate_series(1, 50) g")
        shard, port = shard_of(connection, "keyless", 1)
        source, target, _ = sorted(accounts.nodes, key=lambda node: node.port != port)
        with standing_at(source, "move-copied") as (mover, standing):
            moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port})")
            pid = standing()
            with servers.connect(source) as other:
                note(other, 7, f"keyless_{shard}", port)
                # that of the move itself is left
                wait_until(lambda: value(other, "SELECT citus_internal.cleanup()") >= 0 and value(
                    other, "SELECT count(*) FROM pg_dist_cleanup WHERE operation_id = -1") == 0, "the record to be gone")
            connection.execute("UPDATE keyless SET i = i + 1")
            kill_process(pid, signal.SIGCONT)
            assert moving.finish() is None
        assert rows(connection, "SELECT DISTINCT i FROM keyless") == [(1,)]
        connection.execute("DROP TABLE keyless")


def test_identity_while_published(accounts):
    """Clean-up that can't drop a move's publication yet leaves the identity, without which the server refuses to change published rows."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("CREATE TABLE keyless (n int, i int)")
        connection.execute("SELECT create_distributed_table('keyless', 'n', shard_count => 4, colocate_with => 'none');"
                           "INSERT INTO keyless SELECT g, 0 FROM generate_series(1, 50) g")
        shard, port = shard_of(connection, "keyless", 1)
        source = next(node for node in accounts.nodes if node.port == port)
        with servers.connect(source) as cleaner, servers.connect(source) as holder:
            cleaner.execute(f"SET citus.enable_ddl_propagation = off; ALTER TABLE citus_data.keyless_{shard} REPLICA IDENTITY FULL;"
                            f"CREATE PUBLICATION \"citus_data.left_behind\" FOR TABLE citus_data.keyless_{shard}")
            note(cleaner, 4, "left_behind", port)
            note(cleaner, 7, f"keyless_{shard}", port)
            holder.execute("BEGIN; SELECT FROM pg_dist_cleanup WHERE object_type = 4 AND operation_id = -1 FOR UPDATE")
            cleaner.execute("SELECT citus_internal.cleanup()")
            connection.execute("UPDATE keyless SET i = i + 1")
            holder.execute("COMMIT")
            wait_until(lambda: value(cleaner, "SELECT citus_internal.cleanup() + count(*) FROM pg_dist_cleanup WHERE operation_id = -1") == 0, "no record")
            assert value(cleaner, f"SELECT relreplident::text FROM pg_class WHERE relname = 'keyless_{shard}'") == "d"
        connection.execute("DROP TABLE keyless")


@pytest.mark.parametrize("step, mode, sqlstate", [("move-copied", "force_logical", "42P01"), ("move-before-switch", "force_logical", "55000"),
                                                  ("move-before-switch", "block_writes", "55000")])
def test_table_dropped_meanwhile(accounts, step, mode, sqlstate):
    """The move ends at once, and says why: it doesn't wait for transactions that would let it go on."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("CREATE SCHEMA going; CREATE TABLE going.t (id int PRIMARY KEY, v text)")
        connection.execute("SELECT create_distributed_table('going.t', 'id', shard_count := 2, colocate_with := 'none')")
        connection.execute("INSERT INTO going.t SELECT g, 'x' FROM generate_series(1, 100) g")
        shard, port = shard_of(connection, "going.t", 1)
        source, target, *_ = sorted(accounts.nodes, key=lambda node: node.port != port)
        stopped = Stopped(target, step,
                          f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port}, '{mode}')")
        connection.execute("SET client_min_messages = warning; DROP SCHEMA going CASCADE")
        error = stopped.go_on()
        assert error is not None and error.sqlstate == sqlstate
    check_clean(accounts)


@pytest.mark.parametrize("mode", MODES)
def test_table_dropped_before_the_move_begins(cluster, coordinator, connect, mode):
    """A move that has waited for the transaction that drops its table says so."""
    coordinator.execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS gone CASCADE; CREATE SCHEMA gone; CREATE TABLE gone.t (id int)")
    coordinator.execute("SELECT create_distributed_table('gone.t', 'id', shard_count => 2, colocate_with => 'none')")
    shard, port = shard_of(coordinator, "gone.t", 1)
    target = next(node.port for node in cluster.workers if node.port != port)
    mover = connect(cluster.coordinator)
    with coordinator.transaction():
        coordinator.execute("DROP SCHEMA gone CASCADE")
        move = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target}, '{mode}')")
        wait_until(lambda: value(coordinator, "SELECT count(*) > 0 FROM citus_lock_waits"), "the move to wait for the DROP")
    error = move.finish()
    assert error is not None and error.sqlstate == "55000" and "dropped" in str(error)


def test_slot_made_late(accounts):
    """A slot that is made when all else of the move is cleaned up already goes, too."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
    source, target, *_ = sorted(accounts.nodes, key=lambda node: node.port != port)
    late = Stopped(target, "move-before-slot",
                   f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port}, 'force_logical')")
    with servers.connect(source) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%citus.move_rate_limit TO%' "
                      "AND pid <> pg_backend_pid()")
        wait_until(lambda: value(other, "SELECT citus_internal.cleanup()") == 0, "all to be gone")
        assert late.go_on() is not None
        wait_until(lambda: value(other, "SELECT citus_internal.cleanup()") == 0, "the slot to be gone")
        assert rows(other, "SELECT slot_name FROM pg_replication_slots") == []
    check_clean(accounts)


@pytest.mark.parametrize("statement, at_last", [("DROP TABLE own, lot", "DROP TABLE own, lot"),
                                                ("DROP INDEX own_i, lot_i", "DROP TABLE own, lot")])
def test_drop_beside_cleanup(accounts, statement, at_last):
    """Former placements that clean-up drops while a DROP of several objects waits for the last of them are not missed by it."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("CREATE TABLE own (id int); CREATE TABLE lot (id int)")
        connection.execute("SELECT create_distributed_table('own', 'id', shard_count => 4, colocate_with => 'none')")
        connection.execute("SELECT create_distributed_table('lot', 'id', colocate_with => 'own')")
        connection.execute("CREATE INDEX own_i ON own (id); CREATE INDEX lot_i ON lot (id)")
        port = shard_of(connection, "own", 1)[1]
        source = next(node for node in accounts.nodes if node.port == port)
        with servers.connect(source) as reader, servers.connect(source) as holder, servers.connect(source) as dropper:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM account")
            move_key(accounts, connection, "own", 1)
            holder.execute("BEGIN; SELECT count(*) FROM lot")
            dropping = Statement(dropper, statement)
            wait_until(lambda: value(connection, "SELECT count(*) FROM citus_lock_waits") > 0, "the statement to wait")
            reader.execute("COMMIT")
            wait_until(lambda: value(holder, "SELECT citus_internal.cleanup()") == 0, "former placements to be gone")
            holder.execute("COMMIT")
            assert dropping.finish() is None
            connection.execute(at_last.replace("DROP TABLE", "DROP TABLE IF EXISTS"))


@pytest.mark.parametrize("mode", MODES)
def test_offered_before_move(accounts, mode):
    """A read whose time was offered to the old node, and not to the new one, is answered."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("CREATE TABLE two (n int)")
        connection.execute("SELECT create_distributed_table('two', 'n', shard_count => 2, colocate_with => 'none')")
        connection.execute("INSERT INTO two SELECT generate_series(1, 100)")
        places = rows(connection, "SELECT shardid, nodeport FROM citus_shards WHERE table_name = 'two'::regclass")
        reader = next(node for node in accounts.nodes if node.port == places[0][1])
        target = next(node for node in accounts.nodes if node.port not in [port for _, port in places])
        stopped = Stopped(reader, "snapshot-offered", "SELECT 1 / (count(*) = 100)::int FROM two")
        move(connection, *places[1], target.port, mode)
        assert stopped.go_on() is None
        connection.execute("DROP TABLE two")


@pytest.mark.parametrize("point", ["target-copies-made", "target-subscribed"])
def test_target_late(accounts, point):
    """What the target's session commits when the move is over, since its driver was killed, goes, too."""
    with servers.connect(accounts.coordinator) as connection:
        places = [shard_of(connection, "account", key) for key in range(1, ACCOUNTS + 1)]
    shard, port = next(place for place in places if place[1] != accounts.coordinator.port)     # whose server restarts
    source, target = sorted(accounts.workers, key=lambda node: node.port != port)
    target.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = '{point}=stop'")
    with servers.connect(source) as there, servers.connect(target) as here:
        mover = servers.connect(accounts.coordinator, user=MOVER)
        driver = pid_of(mover)
        moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port}, "
                           "'force_logical')")
        pids = f"SELECT pid FROM pg_stat_activity WHERE usename = '{MOVER}'"
        late = wait_until(lambda: next((pid for pid, in rows(here, pids) if is_stopped(pid)), None), "the target to stand still")
        here.execute(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET citus.debug_points")
        kill_process(driver)
        assert moving.finish() is not None
        wait_until(lambda: not rows(there, pids), "the source's session to end")
        wait_until(lambda: is_up(accounts.coordinator), "the server to be up again")
        left = value(there, "SELECT citus_internal.cleanup()")
        kill_process(late, signal.SIGCONT)
        assert left > 0
    check_clean(accounts)


def test_target_of_earlier_move(accounts):
    """A session of a dead move that is so late that a later move of the shard has begun makes nothing for that one."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
        group, low, high = rows(connection, "SELECT colocationid, shardminvalue, shardmaxvalue FROM pg_dist_shard "
                                "JOIN pg_dist_partition USING (logicalrelid) WHERE shardid = %s", [shard])[0]
    source, target, _ = sorted(accounts.nodes, key=lambda node: node.port != port)
    with standing_at(source, "move-begun") as (mover, standing), servers.connect(target) as late:
        moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port}, "
                           "'force_logical')")
        pid = standing()
        operation = value(late, "SELECT shardlength FROM pg_dist_placement WHERE shardid = %s AND shardstate <> 1", [shard])
        with pytest.raises(psycopg.errors.ObjectInUse, match="is over"):
            late.execute("SELECT citus_internal.make_shard_copies(%s, %s, %s, %s)", [group, low, high, operation - 1])
        kill_process(pid, signal.SIGCONT)
        assert moving.finish() is None


def test_cleanup_waits_briefly(accounts):
    """Clean-up of former placements gives way to a transaction that holds their rows on another node, such as a DROP's."""
    with servers.connect(accounts.coordinator) as connection:
        source, other, _ = sorted(accounts.nodes, key=lambda node: node.port != shard_of(connection, "account", 1)[1])
        with servers.connect(source) as there, servers.connect(source) as reader, servers.connect(other) as holder:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM account")
            move_key(accounts, connection, "account", 1)
            holder.execute("BEGIN; SELECT FROM pg_dist_placement WHERE shardstate = 4 FOR UPDATE")
            reader.execute("COMMIT")
            there.execute("SET statement_timeout = '30s'")
            assert value(there, "SELECT citus_internal.cleanup()") > 0
            holder.execute("COMMIT")


def test_cleanup_with_a_node_down(make_cluster):
    """A node that can't be reached is tried to be reached once, not for each thing that is to be removed; what is here goes."""
    made = make_cluster(settings={"citus.defer_shard_delete_interval": "-1"})
    node, down = made.coordinator, made.workers[0]
    with servers.connect(node) as connection:
        connection.execute("""
            INSERT INTO pg_dist_cleanup (operation_id, object_type, object_name, node_group_id, policy_type)
            SELECT 0, kind, 'citus_data.of_a_dead_move_' || g, groupid, 0
            FROM pg_dist_node, generate_series(1, 3) g, unnest(ARRAY[2, 4, 5]) kind WHERE nodeport = %s""", [down.port])
        down.kill()
        mark = node.log_mark()
        assert value(connection, "SELECT citus_internal.cleanup()") == 6
        assert node.log_since(mark).count("could not clean up") == 1
        down.start()
        assert value(connection, "SELECT citus_internal.cleanup()") == 0


def test_prepared_elsewhere(accounts):
    """Clean-up waits for the end of a transaction that is decided on the source, but only prepared on other nodes."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
    source = next(node for node in accounts.nodes if node.port == port)
    source.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = 'commit-after-decision=kill'")
    with servers.connect(accounts.coordinator, user=MOVER) as mover, pytest.raises(psycopg.OperationalError):
        move_key(accounts, mover, "account", 1)
    wait_until(lambda: is_up(source), "the server to be up again")
    source.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET citus.debug_points")
    with servers.connect(source) as connection:
        left = value(connection, "SELECT citus_internal.cleanup()")
    assert left > 0 or not any(servers.prepared_transactions(node) for node in accounts.nodes), "clean-up has not waited"
    check_clean(accounts)


def test_cancelled(accounts):
    """A move that is cancelled while it waits leaves nothing, at once."""
    with servers.connect(accounts.coordinator) as holder, servers.connect(accounts.nodes[1]) as mover:
        shard = shard_of(mover, "account", 1)
        holder.execute("BEGIN; UPDATE account SET balance = balance WHERE id = 1")
        mover.execute("SET statement_timeout = '2s'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            move_key(accounts, mover, "account", 1)
        mover.execute("RESET statement_timeout")
        holder.execute("ROLLBACK")
        assert shard_of(mover, "account", 1) == shard


def dump(node, table):
    """pg_dump of one relation, as lines without comments."""
    done = host.run_server_program(
        [node.program("pg_dump"), "-t", table, "-d", node.dsn + "?options=-c%20citus.override_table_visibility%3Doff"],
        capture_output=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\"))]


EVERYTHING = """
    CREATE TABLE kinds (gone int, id bigint GENERATED BY DEFAULT AS IDENTITY, tenant int, "odd name" text COLLATE "C" DEFAULT 'x',
        twice int GENERATED ALWAYS AS (tenant * 2) STORED, wide text, part int REFERENCES rates (id),
        CHECK (tenant > -10), PRIMARY KEY (tenant, id), EXCLUDE USING btree (tenant WITH =, id WITH =)) WITH (fillfactor = 70);
    ALTER TABLE kinds DROP COLUMN gone;
    ALTER TABLE kinds ALTER COLUMN wide SET STORAGE EXTERNAL;
    CREATE INDEX "odd index" ON kinds (lower("odd name")) WHERE tenant > 5;
    ALTER TABLE kinds CLUSTER ON kinds_pkey;
    CREATE UNIQUE INDEX kinds_identity ON kinds (tenant, id);
    ALTER TABLE kinds REPLICA IDENTITY USING INDEX kinds_identity;
    CREATE STATISTICS kinds_stats ON tenant, part FROM kinds;
    COMMENT ON TABLE kinds IS 'of all kinds';
    GRANT SELECT ON kinds TO PUBLIC;
    ALTER TABLE kinds ENABLE ROW LEVEL SECURITY;
    CREATE POLICY lucky ON kinds FOR SELECT USING (tenant <> 13);
    ALTER TABLE kinds ALTER COLUMN part SET STATISTICS 17;
    SELECT create_distributed_table('kinds', 'tenant', shard_count => 4);
    INSERT INTO kinds (tenant, "odd name", wide, part) SELECT g, 'n' || g, repeat(md5(g::text), 300), g % 5 + 1
    FROM generate_series(1, 400) g;
    CREATE TABLE lines (tenant int, id bigint, line int, PRIMARY KEY (tenant, id, line),
        FOREIGN KEY (tenant, id) REFERENCES kinds ON DELETE CASCADE);
    SELECT create_distributed_table('lines', 'tenant', colocate_with => 'kinds');
    INSERT INTO lines SELECT tenant, id, 1 FROM kinds;
    CREATE TABLE events (tenant int, at date, note text, rate int REFERENCES rates (id), PRIMARY KEY (tenant, at, note))
        PARTITION BY RANGE (at);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
    CREATE TABLE events_2 PARTITION OF events DEFAULT;
    CREATE INDEX ON events (at);
    SELECT create_distributed_table('events', 'tenant', colocate_with => 'kinds');
    INSERT INTO events SELECT g % 50, date '2020-12-01' + g, 'e' || g FROM generate_series(1, 200) g;"""


@pytest.mark.parametrize("mode", MODES)
def test_everything_comes_along(bank_cluster, mode):
    """Tables of all kinds, with other owners: shards are the same afterwards, and so are answers and constraints."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS lines, kinds, events, rates; DROP ROLE IF EXISTS keeper")
        connection.execute("CREATE ROLE keeper; CREATE TABLE rates (id int PRIMARY KEY); "
                           "SELECT create_reference_table('rates'); INSERT INTO rates SELECT generate_series(1, 5)")
        connection.execute(EVERYTHING)
        connection.execute("ALTER TABLE lines OWNER TO keeper")
        tables = ["kinds", "lines", "events_1", "events_2", "events"]
        before = [rows(connection, f"SELECT t::text FROM {table} t ORDER BY 1") for table in tables]
        shards = {table: shard_of(connection, table, 7)[0] for table in tables}
        source = next(n for n in bank_cluster.nodes if n.port == shard_of(connection, "kinds", 7)[1])
        dumps = {table: dump(source, f"citus_data.{table}_{shard}") for table, shard in shards.items()}
        _, _, port = move_key(bank_cluster, connection, "kinds", 7, mode)
        target = next(n for n in bank_cluster.nodes if n.port == port)
        for table, shard in shards.items():
            assert shard_of(connection, table, 7) == (shard, port)
            assert sorted(dump(target, f"citus_data.{table}_{shard}")) == sorted(dumps[table])
        assert [rows(connection, f"SELECT t::text FROM {table} t ORDER BY 1") for table in tables] == before
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("INSERT INTO lines VALUES (7, 12345, 1)")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("INSERT INTO kinds (tenant, part) VALUES (7, 99)")
        connection.execute("DELETE FROM kinds WHERE tenant = 7")
        assert value(connection, "SELECT count(*) FROM lines WHERE tenant = 7") == 0
        connection.execute("ALTER TABLE kinds ADD COLUMN late int DEFAULT 3")
        assert value(connection, "SELECT sum(late) FROM kinds") == 3 * 399
        connection.execute("DROP TABLE lines, kinds, events, rates; DROP ROLE keeper")
    check_clean(bank_cluster)


def test_worker_is_not_superuser(bank_cluster):
    """What an owner has put into an index or a constraint runs with the owner's rights on the target, not a superuser's."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("CREATE ROLE sly; GRANT CREATE ON SCHEMA public TO sly; CREATE TABLE log (who text)")
        connection.execute("SET ROLE sly; CREATE FUNCTION look (int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN "
                           "IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN RAISE EXCEPTION 'superuser'; END IF; "
                           "RETURN $1; END$$")
        connection.execute("CREATE TABLE trap (id int, n int CHECK (look(n) > 0)); CREATE INDEX ON trap (look(n))")
        connection.execute("SELECT create_distributed_table('trap', 'id', shard_count => 2, colocate_with => 'none')")
        connection.execute("INSERT INTO trap SELECT g, g FROM generate_series(1, 100) g; RESET ROLE")
        for mode in MODES:
            shard, _, _ = move_key(bank_cluster, connection, "trap", 1, mode)
        middle = value(connection, "SELECT (shardminvalue::bigint + shardmaxvalue::bigint) / 2 FROM pg_dist_shard WHERE shardid = %s",
                       [shard])
        nodes = [node for node, in rows(connection, "SELECT nodeid FROM pg_dist_node LIMIT 2")]
        connection.execute("SELECT citus_split_shard_by_split_points(%s, %s::text[], %s)", [shard, [str(middle)], nodes])
        assert value(connection, "SELECT count(*) FROM trap") == 100
        connection.execute("DROP TABLE trap, log; DROP FUNCTION look; REVOKE CREATE ON SCHEMA public FROM sly; DROP ROLE sly")
    check_clean(bank_cluster)


def test_owner(bank_cluster):
    """Who owns all tables of a group, without being a superuser, moves, splits and merges its shards, and rebalances them."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("CREATE ROLE mine LOGIN; GRANT CREATE ON SCHEMA public TO mine")
        for node in bank_cluster.nodes:
            with servers.connect(node, user="mine") as owner:
                owner.execute("CREATE TABLE own (id int PRIMARY KEY); CREATE TABLE lot (id int)")
                owner.execute("SELECT create_distributed_table('own', 'id', shard_count => 4, colocate_with => 'none')")
                owner.execute("INSERT INTO own SELECT generate_series(1, 100)")
                owner.execute("SELECT create_distributed_table('lot', 'id', colocate_with => 'own')")
                for mode in MODES:
                    move_key(bank_cluster, owner, "own", 1, mode)
                owner.execute("SELECT isolate_tenant_to_new_shard('own', 1, 'CASCADE'), isolate_tenant_to_new_shard('own', 7, 'CASCADE')")
                assert value(owner, "SELECT count(*) FROM citus_shards WHERE table_name = 'lot'::regclass") > 5
                if node is bank_cluster.coordinator:
                    owner.execute("SELECT rebalance_table_shards('own', rebalance_strategy => 'by_shard_count', threshold => 0)")
                    assert value(owner, "SELECT max(status) FROM citus_rebalance_history") == "done"
                assert value(owner, "SELECT count(*) FROM own") == 100
                connection.execute("ALTER TABLE lot OWNER TO CURRENT_USER")
                for statement in ("SELECT isolate_tenant_to_new_shard('own', 2, 'CASCADE')",
                                  "SELECT citus_move_shard_placement(s.shardid, s.nodename, s.nodeport, n.nodename, n.nodeport) "
                                  "FROM citus_shards s, pg_dist_node n WHERE table_name = 'own'::regclass AND n.nodeport <> s.nodeport"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        owner.execute(statement)
                connection.execute("DROP TABLE own, lot")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM mine; DROP ROLE mine")
    check_clean(bank_cluster)


def test_slow_wal_writer(accounts):
    """A move's end doesn't wait until the new node's WAL writer flushes the last changes, while their writers wait."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
        source, target, _ = sorted(accounts.nodes, key=lambda node: node.port != port)
        target.sql("ALTER SYSTEM SET wal_writer_delay = '10s'")
        target.sql("SELECT pg_reload_conf()")
        connection.execute("SET citus.move_switch_timeout = '3s'")
        load = Load()
        load.add(source, lambda writer: writer.execute("UPDATE account SET balance = balance WHERE id = 1"), "writer")
        try:
            load.meanwhile(lambda: move(connection, shard, port, target.port, "force_logical"))
        finally:
            target.sql("ALTER SYSTEM RESET wal_writer_delay")
            target.sql("SELECT pg_reload_conf()")


def test_slow_target(accounts):
    """A move ends although its shard is written faster than the new node applies that: writers wait now and then."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS slow; CREATE TABLE slow (id int PRIMARY KEY, load text, n int)")
        connection.execute("ALTER TABLE slow ALTER load SET STORAGE EXTERNAL")
        connection.execute("""
            CREATE OR REPLACE FUNCTION slowly(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_catalog.pg_sleep(CASE WHEN current_user LIKE 'citus_shard%' THEN 0.010 ELSE 0.006 END);
                RETURN n;
            END $$""")
        connection.execute("SELECT create_distributed_table('slow', 'id', shard_count => 1, colocate_with => 'none')")
        connection.execute("CREATE INDEX ON slow (slowly(n)); INSERT INTO slow VALUES (1, repeat('x', 30000), 0)")
        shard, port = shard_of(connection, "slow", 1)
        source, target, _ = sorted(accounts.nodes, key=lambda node: node.port != port)
        written = []

        def write(writer):
            writer.execute("UPDATE slow SET n = n + 1, load = repeat('y', 30000) WHERE id = 1")
            written.append(True)

        def move_away():
            with standing_at(source, "move-copied") as (mover, standing):
                mover.execute("SET citus.logical_replication_timeout = '45s'; SET citus.move_pause_limit = '300ms'")
                moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port})")
                pid = standing()
                wait_until(lambda: len(written) > 100, "writers to be ahead")
                kill_process(pid, signal.SIGCONT)
                assert moving.finish() is None

        load = Load()
        load.add(source, write, "writer")
        load.meanwhile(move_away)
        assert value(connection, "SELECT n FROM slow") == len(written)
        connection.execute("DROP TABLE slow; DROP FUNCTION slowly")


def test_stopped_worker(accounts):
    """While the new node applies nothing, a move makes writers wait a few times only, and ends when it goes on."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
        source, target, _ = sorted(accounts.nodes, key=lambda node: node.port != port)
        with standing_at(source, "move-subscribed") as (mover, standing), servers.connect(target) as there:
            mover.execute("SET citus.move_pause_limit = '100ms'")
            source.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET log_statement = 'all'")
            mark = source.log_mark()
            moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port})")
            pid = standing()
            worker = "SELECT pid FROM pg_stat_subscription WHERE received_lsn IS NOT NULL"
            wait_until(lambda: rows(there, worker), "the worker to follow")
            worker = value(there, worker)
            kill_process(worker, signal.SIGSTOP)
            try:
                for _ in range(50):
                    connection.execute("UPDATE account SET pad = %s WHERE id = 1", [random.randbytes(30000).hex()])
                kill_process(pid, signal.SIGCONT)
                wait_until(lambda: source.log_since(mark).count("statement: SELECT citus_internal.move_switch()") > 4, "pauses")
                connection.execute("SET lock_timeout = '5s'; UPDATE account SET pad = 'end' WHERE id = 1")
            finally:
                kill_process(worker, signal.SIGCONT)
            assert moving.finish() is None
        source.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET log_statement")
        assert value(connection, "SELECT pad FROM account WHERE id = 1") == "end"
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)


def test_rate_limit(bank_cluster):
    """Rows are not copied faster than citus.move_rate_limit says, by moves and by splits, here and to other nodes."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("CREATE TABLE heavy (id int PRIMARY KEY, load text)")
        connection.execute("ALTER TABLE heavy ALTER load SET STORAGE EXTERNAL")
        connection.execute("SELECT create_distributed_table('heavy', 'id', shard_count => 1, colocate_with => 'none')")
        connection.execute("INSERT INTO heavy SELECT g, repeat('x', 4000) FROM generate_series(1, 200) g")
        connection.execute("SET citus.move_rate_limit = '400kB'")
        begin = time.monotonic()
        shard, _, _ = move_key(bank_cluster, connection, "heavy", 1)
        assert time.monotonic() - begin > 1.5
        nodes = [node for node, in rows(connection, "SELECT nodeid FROM pg_dist_node LIMIT 3")]
        begin = time.monotonic()
        connection.execute("SELECT citus_split_shard_by_split_points(%s, '{-1000000000, 1000000000}', %s)", [shard, nodes])
        assert time.monotonic() - begin > 1.5
        assert value(connection, "SELECT count(*) FROM heavy") == 200
        connection.execute("DROP TABLE heavy")
    check_clean(bank_cluster)


@pytest.mark.parametrize("method", ["heap", "columnar"])
def test_no_key(bank_cluster, method):
    """A table without any key is written while it moves: updates and deletes arrive."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute(f"CREATE TABLE loose (id int, n int) USING {method}")
        connection.execute("SELECT create_distributed_table('loose', 'id', shard_count => 2, colocate_with => 'none')")
        connection.execute("INSERT INTO loose SELECT g, 0 FROM generate_series(1, 200) g")
        connection.execute("VACUUM FULL loose")
        changed = []

        def change(writer):
            key = len(changed) % 200 + 1
            writer.execute("UPDATE loose SET n = n + 1 WHERE id = %s", [key])
            changed.append(key)

        load = Load()
        load.add(bank_cluster.nodes[1], change, "writer")
        load.meanwhile(lambda: [move_key(bank_cluster, connection, "loose", 1, "force_logical") for _ in range(3)])
        assert value(connection, "SELECT sum(n) FROM loose") == len(changed)
        assert value(connection, "SELECT count(*) FROM loose") == 200
        connection.execute("DROP TABLE loose")
    check_clean(bank_cluster)


def test_identity_comes_back(bank_cluster):
    """A move that fails leaves what tells rows in logical replication as it was."""
    with servers.connect(bank_cluster.coordinator) as connection, servers.connect(bank_cluster.nodes[1]) as mover:
        connection.execute("CREATE TABLE quiet (id int, n int); ALTER TABLE quiet REPLICA IDENTITY NOTHING")
        connection.execute("SELECT create_distributed_table('quiet', 'id', shard_count => 2, colocate_with => 'none')")
        shard, port = shard_of(connection, "quiet", 1)
        source = next(node for node in bank_cluster.nodes if node.port == port)
        query = f"SELECT relreplident::text FROM pg_class WHERE relname = 'quiet_{shard}'"
        with servers.connect(source) as there:
            before = value(there, query)
            mover.execute("SET citus.debug_points = 'move-before-switch=error'")
            with pytest.raises(psycopg.Error):
                move_key(bank_cluster, mover, "quiet", 1, "force_logical")
            check_clean(bank_cluster)
            assert value(there, query) == before == "n"
        mover.execute("RESET citus.debug_points")
        move_key(bank_cluster, mover, "quiet", 1, "force_logical")
        connection.execute("DROP TABLE quiet")
    check_clean(bank_cluster)


def test_identity_comes_back_under_another_name(bank_cluster):
    """So does one that is killed, also if the table is renamed meanwhile."""
    with servers.connect(bank_cluster.coordinator) as connection, \
            servers.connect(bank_cluster.nodes[1], autocommit=True) as mover:
        connection.execute("""CREATE TABLE "Quiet" (id int, n int); ALTER TABLE "Quiet" REPLICA IDENTITY NOTHING""")
        connection.execute("""SELECT create_distributed_table('"Quiet"', 'id', shard_count => 2, colocate_with => 'none')""")
        shard, port = shard_of(connection, '"Quiet"', 1)
        source = next(node for node in bank_cluster.nodes if node.port == port)
        target = next(node.port for node in bank_cluster.nodes[1:] if node.port != port)
        query = f"SELECT relreplident::text FROM pg_class WHERE relname ~ '_{shard}$'"
        with servers.connect(source) as there:
            mover.execute("SET citus.debug_points = 'move-before-switch=stop'")
            pid = pid_of(mover)
            moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target})")
            wait_until(lambda: is_stopped(pid), "the move to stand still")
            assert value(there, query) == "f"
            connection.execute("""ALTER TABLE "Quiet" RENAME TO "Still quiet" """)
            kill_process(pid, signal.SIGTERM)
            kill_process(pid, signal.SIGCONT)
            assert isinstance(moving.finish(), psycopg.OperationalError)
            check_clean(bank_cluster)
            assert value(there, query) == "n"
        move_key(bank_cluster, connection, '"Still quiet"', 1, "force_logical")
        connection.execute("""DROP TABLE "Still quiet" """)
    check_clean(bank_cluster)


@pytest.mark.parametrize("point", ["move-slot-made", "move-copied", "move-before-switch"])
def test_ddl_meanwhile(accounts, point):
    """DDL doesn't wait for a move, which then fails, and succeeds when it is tried again."""
    with servers.connect(accounts.coordinator) as holder, servers.connect(accounts.nodes[1], autocommit=True) as mover, \
            servers.connect(accounts.nodes[2]) as ddl:
        mover.execute(f"SET citus.debug_points = '{point}=stop'")
        shard, source = shard_of(holder, "account", 1)
        target = next(node.port for node in accounts.nodes if node.port != source)
        pid = pid_of(mover)
        moving = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {source}, '127.0.0.1', {target})")
        wait_until(lambda: is_stopped(pid), "the move to stand still")
        ddl.execute("SET lock_timeout = '10s'")
        ddl.execute("ALTER TABLE account ADD COLUMN extra int DEFAULT 1")
        kill_process(pid, signal.SIGCONT)
        assert isinstance(moving.finish(), psycopg.errors.ObjectNotInPrerequisiteState)
        mover.execute("RESET citus.debug_points")
        move_key(accounts, holder, "account", 1)
        assert value(holder, "SELECT sum(extra) FROM account") == ACCOUNTS


@pytest.mark.parametrize("statement, error", [
    ("BEGIN; SELECT citus_move_shard_placement({shard}, {source}, {target})", psycopg.errors.ActiveSqlTransaction),
    ("SELECT citus_move_shard_placement({shard}, {target}, {other})", psycopg.errors.UndefinedObject),
    ("SELECT citus_move_shard_placement(1, {source}, {target})", psycopg.errors.UndefinedObject),
    ("SELECT citus_move_shard_placement({shard}, {source}, 77)", psycopg.errors.UndefinedObject),
    ("SELECT citus_move_shard_placement({shard}, '127.0.0.1', 1, '127.0.0.1', 2)", psycopg.errors.UndefinedObject),
    ("SELECT citus_internal.move_switch()", psycopg.errors.ObjectNotInPrerequisiteState),
    ("SET ROLE pg_monitor; SELECT citus_move_shard_placement({shard}, {source}, {target})",
     psycopg.errors.InsufficientPrivilege),
    ("SET ROLE pg_monitor; SELECT citus_internal.move_switch()", psycopg.errors.InsufficientPrivilege),
])
def test_refused(accounts, statement, error):
    """What can't be moved is refused in plain words, and changes nothing."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
        ids = dict(rows(connection, "SELECT nodeport, nodeid FROM pg_dist_node"))
        source = ids.pop(port)
        target, other = ids.values()
        with pytest.raises(error):
            for part in statement.format(shard=shard, source=source, target=target, other=other).split("; "):
                connection.execute(part)
        connection.execute("ROLLBACK")
        connection.execute("RESET ROLE")
        assert shard_of(connection, "account", 1) == (shard, port)


def test_already_there(accounts):
    """A move to where the shard is does nothing."""
    with servers.connect(accounts.coordinator) as connection:
        shard, port = shard_of(connection, "account", 1)
        other = next(node.port for node in accounts.nodes if node.port != port)
        move(connection, shard, other, port)
        assert shard_of(connection, "account", 1) == (shard, port)


def test_drop_beside_cleanup_of_a_mark(accounts):
    """DROP of a table, one of whose placements clean-up deletes first."""
    with servers.connect(accounts.coordinator) as connection, servers.connect(accounts.coordinator) as cleaner:
        connection.execute("CREATE TABLE own (id int)")
        connection.execute("SELECT create_distributed_table('own', 'id', shard_count => 4, colocate_with => 'none')")
        shard, _ = shard_of(connection, "own", 1)
        cleaner.execute("BEGIN; SET LOCAL citus.enable_ddl_propagation = off")
        cleaner.execute("DELETE FROM pg_dist_placement WHERE shardid = %s", [shard])
        dropping = Statement(connection, "DROP TABLE own")
        wait_until(lambda: value(cleaner, "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'transactionid' AND NOT granted",
                                 [pid_of(connection)]) == 1, "the statement to wait")
        cleaner.execute("COMMIT")
        assert dropping.finish() is None


def test_cleanup_gives_way(accounts):
    """Clean-up that has locked something that a client waits for doesn't wait for the client: no deadlock ends the client's statement."""
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("CREATE TABLE own (id int); CREATE TABLE lot (id int)")
        connection.execute("SELECT create_distributed_table('own', 'id', shard_count => 4, colocate_with => 'none')")
        connection.execute("SELECT create_distributed_table('lot', 'id', colocate_with => 'own')")
        source = next(node for node in accounts.nodes if node.port == shard_of(connection, "own", 1)[1])
        with servers.connect(source) as reader, servers.connect(source) as dropper:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM account")
            move_key(accounts, connection, "own", 1, "block_writes")
            first, second = [name for name, in rows(dropper, """
                SELECT object_name FROM pg_dist_cleanup WHERE object_name ~ '(own|lot)_' AND object_type = 1 ORDER BY record_id""")]
            dropper.execute("SET deadlock_timeout = '500ms'; BEGIN")
            dropper.execute(f"LOCK TABLE {second}")
            cleaner = servers.connect(source)
            cleaner.execute("SET deadlock_timeout = '1min'")
            reader.execute("COMMIT")
            cleaning = Stopped(source, "cleanup-record-gone", "SELECT citus_internal.cleanup()", cleaner)
            locking = Statement(dropper, f"LOCK TABLE {first}")
            wait_until(lambda: value(reader, "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted", [pid_of(dropper)]) == 1,
                       "the statement to wait")
            assert cleaning.go_on() is None
            assert "does not exist" in str(locking.finish())
            dropper.execute("ROLLBACK")
        connection.execute("DROP TABLE own, lot")


def test_drop_beside_cleanup_of_a_subscription(accounts):
    """Clean-up drops no subscription whose table is being dropped: either would find the other's row of pg_subscription_rel deleted."""
    with servers.connect(accounts.coordinator) as connection, servers.connect(accounts.coordinator) as dropper, \
            servers.connect(accounts.nodes[1]) as mover:
        connection.execute("CREATE TABLE own (id int PRIMARY KEY)")
        connection.execute("SELECT create_distributed_table('own', 'id', shard_count => 4, colocate_with => 'none')")
        shard, port = shard_of(connection, "own", 1)
        source = next(node for node in accounts.nodes if node.port == port)
        target = next(node for node in accounts.nodes[1:] if node.port != port)
        mover.execute("SET statement_timeout = '60s'")
        moving = Stopped(accounts.nodes[1], "move-switched",
                         f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target.port}, 'force_logical')", mover)
        dropper.execute("BEGIN; DROP TABLE own")
        assert moving.go_on() is None
        with servers.connect(source) as cleaner:
            cleaner.execute("SET statement_timeout = '20s'")
            assert value(cleaner, "SELECT citus_internal.cleanup()") > 0
        dropper.execute("COMMIT")
