"""Splits, merges and isolated tenants: under load among moves, read under older snapshots, killed at each step.

POMELO_RANDOM_SEED repeats the choice of what is changed under load.
"""

import contextlib
import os
import random
import signal
from collections import Counter

import psycopg
import pytest
import test_moves
from harness import servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, total
from harness.servers import kill_process, pid_of, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped, is_stopped
from test_moves import MOVER, check_clean, is_up, shard_of

POINTS = ["reshape-begun", "reshape-before-switch", "reshape-filled", "reshape-shards-locked", "reshape-before-commit",
          "commit-before-prepare", "commit-after-prepare", "commit-after-decision", "commit-between-commits", "reshape-switched"]


@pytest.fixture(scope="module")
def split_cluster():
    """A cluster that the tests of this file share."""
    with servers.cluster(purpose="check-splits") as made:
        made.coordinator.sql(f"CREATE ROLE {MOVER} SUPERUSER LOGIN")
        yield made


@pytest.fixture
def accounts(split_cluster):
    """Accounts; nothing of a split is left behind."""
    account_tables(split_cluster)
    yield split_cluster
    check_clean(split_cluster)


def shards(connection, table="account"):
    """All shards: id, first and last hash value, node id."""
    return rows(connection, """
        SELECT s.shardid, s.shardminvalue::int, s.shardmaxvalue::int, n.nodeid FROM pg_dist_shard s
        JOIN pg_dist_placement p ON p.shardid = s.shardid AND p.shardstate = 1 JOIN pg_dist_node n USING (groupid)
        WHERE s.logicalrelid = %s::regclass ORDER BY 2""", [table])


def split(connection, shard, nodes):
    """Splits a shard into as many equal parts as there are nodes (ids)."""
    shardid, first, last, _ = shard
    width = (last - first + 1) // len(nodes)
    connection.execute("SELECT citus_split_shard_by_split_points(%s, %s, %s)",
                       [shardid, [str(first + width * (i + 1) - 1) for i in range(len(nodes) - 1)], nodes])


def neighbours(connection, table):
    """Pairs of neighbours on one node."""
    found = shards(connection, table)
    return [(left, right) for left, right in zip(found, found[1:]) if left[3] == right[3]]


def change_one(choice, connection, table="account", mode="block_writes"):
    """Splits, merges, moves or isolates something."""
    nodes = [nodeid for nodeid, in rows(connection, "SELECT nodeid FROM pg_dist_node ORDER BY 1")]
    what = choice.choice(["split", "split", "merge", "merge", "move", "isolate"])
    pairs = neighbours(connection, table)
    shard = choice.choice([shard for shard in shards(connection, table) if shard[2] - shard[1] > 3])
    if what == "merge" and pairs:
        left, right = choice.choice(pairs)
        connection.execute("SELECT citus_merge_shards(%s, %s)", [left[0], right[0]])
    elif what == "move":
        others = [nodeid for nodeid in nodes if nodeid != shard[3]]
        connection.execute("SELECT citus_move_shard_placement(%s, %s, %s, %s)",
                           [shard[0], shard[3], choice.choice(others), mode])
    elif what == "isolate":
        try:
            connection.execute("SELECT isolate_tenant_to_new_shard(%s, %s::int, 'CASCADE')",
                               [table, choice.randint(1, ACCOUNTS)])
        except psycopg.errors.DuplicateObject:
            pass                # it is alone already
    else:
        split(connection, shard, [choice.choice(nodes) for _ in range(choice.randint(2, 3))])
    return what


def test_transfers(accounts):
    """Money moves and sums stay, from all nodes at both levels, while shards are split, merged, isolated and moved."""
    seed = int(os.environ.get("POMELO_RANDOM_SEED", random.randrange(1 << 30)))
    choice = random.Random(seed)
    done = []
    acknowledged = []

    def note(connection):
        """Rows of several shards in one statement; all that were acknowledged must be there."""
        numbers = [len(acknowledged) * 10 + i for i in range(3)]
        found = rows(connection, "INSERT INTO ledger SELECT n FROM unnest(%s::int[]) n ON CONFLICT DO NOTHING RETURNING number",
                     [numbers])
        acknowledged.extend(number for number, in found)

    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS ledger; CREATE TABLE ledger (number int PRIMARY KEY)")
        connection.execute("SELECT create_distributed_table('ledger', 'number', colocate_with => 'account')")
    print(f"POMELO_RANDOM_SEED={seed}")
    load = Load()
    load.add_transfers(accounts, clients=3)
    for node in accounts.nodes:
        load.add(node, check_total, f"reader {node.name}")
        load.add(node, check_repeatable, f"repeatable {node.name}")
    load.add(accounts.nodes[0], note, "ledger")
    load.add(accounts.nodes[1], lambda connection: done.append(change_one(choice, connection)), "changer")
    load.finish(seconds=8, enough=lambda: len(done) > 2)
    with servers.connect(accounts.nodes[2]) as connection:
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
        assert sorted(number for number, in rows(connection, "SELECT number FROM ledger")) == sorted(acknowledged)
        assert value(connection, "SELECT count(*) FROM account WHERE get_shard_id_for_distribution_column('account', id) "
                     "NOT IN (SELECT shardid FROM citus_shards)") == 0
        connection.execute("DROP TABLE ledger")


def test_shard_count(accounts):
    """The number of shards of all colocated tables changes under load, from any node, and evenly over the nodes."""
    def change(count):
        return f"SELECT alter_distributed_table('account', shard_count => {count}, cascade_to_colocated => true)"

    def check(connection, count):
        found = shards(connection)
        assert [len(found), len(shards(connection, "beside"))] == [count, count]
        assert value(connection, "SELECT shard_count FROM citus_tables WHERE table_name = 'beside'::regclass") == count
        held = Counter(nodeid for _, _, _, nodeid in found)
        assert max(held.values()) - min(held.values()) <= 1, found
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
        assert value(connection, "SELECT count(*) FROM account JOIN beside USING (id)") == ACCOUNTS

    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS beside; CREATE TABLE beside (id int)")
        connection.execute("SELECT create_distributed_table('beside', 'id', colocate_with => 'account')")
        connection.execute("INSERT INTO beside SELECT id FROM account")
        load = Load()
        load.add_transfers(accounts, clients=2)
        load.add(accounts.nodes[1], check_total, "reader")
        load.add(accounts.nodes[2], check_repeatable, "repeatable")
        load.meanwhile(lambda: accounts.nodes[2].sql(change(6)))
        check(connection, 6)

        standing = Stopped(accounts.nodes[1], "reshape-before-switch", change(9))
        connection.execute("SET lock_timeout = '20s'; UPDATE account SET balance = balance")

        def is_done():
            if standing.thread.is_alive() and is_stopped(standing.pid):
                kill_process(standing.pid, signal.SIGCONT)
            return not standing.thread.is_alive()

        wait_until(is_done, "the number to be changed", timeout=120)
        assert standing.finish() is None
        check(connection, 9)
        connection.execute("BEGIN; UPDATE account SET balance = balance WHERE id = 1")
        connection.execute(change(3) + "; COMMIT")      # as part of a transaction it can't be online
        check(connection, 3)
        connection.execute("DROP TABLE beside")


def test_old_snapshot(accounts):
    """A REPEATABLE READ transaction that is older than splits and a merge reads on, and can't write what was split."""
    with servers.connect(accounts.coordinator) as changer, servers.connect(accounts.nodes[1]) as writer:
        nodes = [nodeid for nodeid, in rows(changer, "SELECT nodeid FROM pg_dist_node ORDER BY 1")]
        for node in accounts.nodes:
            with servers.connect(node) as reader:
                last = shards(changer)[-1]
                split(changer, last, [last[3]] * 2)
                reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                balances = rows(reader, "SELECT id, balance FROM account ORDER BY id")
                reader.execute("DECLARE c CURSOR FOR SELECT id, balance FROM account")
                first = rows(reader, "FETCH 5 FROM c")
                shardid = shard_of(changer, "account", 1)[0]
                shard = next(shard for shard in shards(changer) if shard[0] == shardid)
                split(changer, shard, [shard[3], next(nodeid for nodeid in nodes if nodeid != shard[3])])
                left, right = shards(changer)[-2:]
                changer.execute("SELECT citus_merge_shards(%s, %s)", [left[0], right[0]])
                writer.execute("UPDATE account SET balance = balance + 5")
                assert rows(reader, "SELECT id, balance FROM account ORDER BY id") == balances
                assert [rows(reader, "SELECT id, balance FROM account WHERE id = %s", [key])[0] for key, _ in balances] == balances
                assert sorted(first + rows(reader, "FETCH ALL FROM c")) == balances
                assert value(reader, "SELECT count(*) FROM account a JOIN account b USING (id)") == ACCOUNTS
                assert value(reader, "SELECT sum(balance) FROM account WHERE id = 1") == balances[0][1]
                with pytest.raises(psycopg.errors.SerializationFailure):
                    reader.execute("UPDATE account SET balance = 0 WHERE id = 1")
                reader.execute("ROLLBACK")
            writer.execute("UPDATE account SET balance = balance - 5")
            assert total(writer) == (ACCOUNTS * BALANCE, ACCOUNTS)


def test_waits_for_writers(accounts):
    """A split waits for a transaction that has written to the table, which goes on; it gives up in time."""
    with servers.connect(accounts.coordinator) as holder, servers.connect(accounts.nodes[1]) as changer, \
            servers.connect(accounts.nodes[2]) as other:
        changer.execute("SET citus.move_switch_timeout = '2s'; SET citus.move_pause_limit = '200ms'")
        before = shards(changer)
        holder.execute("BEGIN; UPDATE account SET balance = balance WHERE id = 1")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            split(changer, before[0], [before[0][3]] * 2)
        other.execute("SET lock_timeout = '30s'; UPDATE account SET balance = balance WHERE id = 2")
        assert shards(changer) == before
        holder.execute("UPDATE account SET balance = balance WHERE id < 20; COMMIT")
        changer.execute("RESET citus.move_pause_limit; RESET citus.move_switch_timeout")
        split(changer, before[0], [before[0][3]] * 2)
        assert len(shards(changer)) == len(before) + 1


@pytest.mark.parametrize("point", POINTS)
def test_killed(accounts, point):
    """kill -9 of the session that stands at a point: all rows are there once, and nothing is left."""
    with servers.connect(accounts.coordinator) as connection:
        shard = shards(connection)[0]
        count = len(shards(connection))
        nodes = [nodeid for nodeid, in rows(connection, "SELECT nodeid FROM pg_dist_node ORDER BY 1")]
    for node in accounts.nodes:
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = '{point}=kill'")
    with pytest.raises(psycopg.Error), servers.connect(accounts.coordinator, user=MOVER) as changer:
        split(changer, shard, nodes[:2])
    for node in accounts.nodes:
        wait_until(lambda node=node: is_up(node), "the server to be up again")
        node.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET citus.debug_points")
    check_clean(accounts)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
            connection.execute("UPDATE account SET balance = balance WHERE id < 50")
            assert len(shards(connection)) in (count, count + 1)
    with servers.connect(accounts.coordinator) as connection:
        split(connection, shards(connection)[0], nodes[:2])


def test_again_before_cleanup(accounts):
    """A split can be made again while what a dead one was making is still there."""
    def set_interval(change):
        for node in accounts.nodes:
            node.sql(f"ALTER SYSTEM {change}")
            node.sql("SELECT pg_reload_conf()")

    def split_again():
        try:
            split(connection, shard, [shard[3]] * 2)
        except psycopg.errors.ObjectInUse:      # the dead session's node hasn't noticed yet
            return False
        return True

    with servers.connect(accounts.coordinator) as connection:
        shard = shards(connection)[0]
        set_interval("SET citus.defer_shard_delete_interval = '1h'")
        middle = (shard[1] + shard[2]) // 2
        dying = Stopped(accounts.coordinator, "reshape-before-switch",
                        f"SELECT citus_split_shard_by_split_points({shard[0]}, '{{{middle}}}', '{{{shard[3]},{shard[3]}}}')")
        connection.execute("SELECT pg_terminate_backend(%s)", [dying.pid])
        assert isinstance(dying.go_on(), psycopg.OperationalError)
        wait_until(split_again, "the shard to be free")
        assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)
        assert [first for _, first, _, _ in shards(connection)][:2] == [shard[1], middle + 1]
        set_interval("RESET citus.defer_shard_delete_interval")


def test_before_cleanup_of_move(accounts):
    """While the marks of a failed move are still there, its shard is neither split nor moved; a split has them removed first."""
    with servers.connect(accounts.coordinator) as mover:
        shard = shards(mover)[0]
        target, other = [nodeid for nodeid, in rows(mover, "SELECT nodeid FROM pg_dist_node ORDER BY 1") if nodeid != shard[3]]
        port = value(mover, "SELECT nodeport FROM pg_dist_node WHERE nodeid = %s", [shard[3]])
        pid = pid_of(mover)
        mover.execute("SET citus.debug_points = 'move-before-switch=stop'")
        moving = Statement(mover, f"SELECT citus_move_shard_placement({shard[0]}, {shard[3]}, {target}, 'block_writes')")
        wait_until(lambda: is_stopped(pid), "the move to stand still")
        with servers.connect(next(node for node in accounts.nodes if node.port == port)) as keeper:
            keeper.execute("BEGIN; SELECT FROM pg_dist_cleanup FOR UPDATE")      # which clean-up passes over then
            mover.cancel()
            kill_process(pid, signal.SIGCONT)
            assert isinstance(moving.finish(), psycopg.errors.QueryCanceled)

            def is_refused():
                with pytest.raises(psycopg.errors.ObjectInUse) as caught:
                    split(mover, shard, [shard[3]] * 2)
                return "has left is being removed" in str(caught.value)

            wait_until(is_refused, "the failed move's session to be gone")
            with pytest.raises(psycopg.errors.ObjectInUse, match="has left is being removed"):
                mover.execute("SELECT citus_move_shard_placement(%s, %s, %s)", [shard[0], shard[3], other])
            keeper.execute("COMMIT")
        split(mover, shard, [shard[3]] * 2)
        assert total(mover) == (ACCOUNTS * BALANCE, ACCOUNTS)


def test_two_at_once(accounts):
    """Splits of one colocation group on two nodes at a time don't wait for each other in a circle."""
    with contextlib.ExitStack() as stack:
        connection, holder, *others = [stack.enter_context(servers.connect(accounts.coordinator)) for _ in range(4)]
        by_node = {shard[3]: shard for shard in shards(connection)}
        colocation = value(connection, "SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'account'::regclass")
        holder.execute(f"BEGIN; SELECT citus_internal.lock_group_placements({colocation})")
        changing = [Statement(other, "SELECT citus_split_shard_by_split_points({}, '{{{}}}', '{{{},{}}}')".format(
            shard[0], (shard[1] + shard[2]) // 2, shard[3], shard[3])) for other, shard in zip(others, by_node.values())]
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND classid = 'pg_dist_colocation'::regclass"
        wait_until(lambda: value(connection, waiting) == len(changing) == 2, "both to wait on the coordinator")
        holder.execute("COMMIT")
        assert [each.finish() for each in changing] == [None, None]


@pytest.mark.parametrize("statement", [
    "SELECT citus_move_shard_placement({shard}, {node}, {other})",
    "SELECT citus_move_shard_placement({shard}, {node}, {node})",
    "SELECT citus_split_shard_by_split_points({shard}, '{{{middle}}}', '{{{node},{node}}}')",
    "SELECT citus_merge_shards({shard}, {shard})",
])
def test_split_meanwhile(accounts, statement):
    """A shard that was just split, and is kept for older snapshots, is neither moved nor split any more."""
    with servers.connect(accounts.coordinator) as connection, servers.connect(accounts.nodes[1]) as reader:
        shardid, first, last, node = shard = shards(connection)[0]
        other = next(nodeid for nodeid, in rows(connection, "SELECT nodeid FROM pg_dist_node ORDER BY 1") if nodeid != node)
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM account")
        split(connection, shard, [node, node])
        assert value(connection, "SELECT count(*) FROM pg_dist_shard WHERE shardid = %s", [shardid]) == 1
        with pytest.raises(psycopg.errors.UndefinedObject, match=f"shard {shardid} does not exist any more"):
            connection.execute(statement.format(shard=shardid, node=node, other=other, middle=(first + last) // 2))
        assert total(reader) == (ACCOUNTS * BALANCE, ACCOUNTS)


WRITES = """
    INSERT INTO keyed SELECT g, 2, repeat(md5(g::text), 200) FROM generate_series(150, 250) g;
    UPDATE keyed SET t = 'changed' WHERE id % 3 = 0;
    UPDATE keyed SET k = k + 10 WHERE id % 5 = 0;
    DELETE FROM keyed WHERE id % 7 = 0;
    INSERT INTO keyed SELECT g, 1, 'again' FROM generate_series(7, 70, 7) g;
    INSERT INTO loose SELECT g, 2 FROM generate_series(1, 50) g"""


@pytest.mark.parametrize("count, method", [(1, "heap"), (2, "heap"), (1, "columnar"), (2, "columnar")])
@pytest.mark.parametrize("loose", ["UPDATE loose SET n = n + 1 WHERE id < 20; DELETE FROM loose WHERE id = 9", "SELECT"])
def test_written_meanwhile(accounts, loose, count, method):
    """Writers don't wait while rows are copied, here and to another node; what they do is copied as well.

    One shard is split into three, or two are merged. Rows of columnar tables are in stripes before.
    """
    with servers.connect(accounts.coordinator) as connection, servers.connect(accounts.nodes[1], user=MOVER) as changer:
        connection.execute(f"""CREATE TABLE keyed (id int, k int, t text, PRIMARY KEY (id, k)) USING {method};
            CREATE TABLE loose (id int, n int) USING {method}""")
        connection.execute("SELECT create_distributed_table('keyed', 'id', shard_count => %s, colocate_with => 'none')", [count])
        connection.execute("SELECT create_distributed_table('loose', 'id', colocate_with => 'keyed')")
        connection.execute("INSERT INTO keyed SELECT g, 1, 'x' FROM generate_series(1, 200) g; INSERT INTO loose SELECT id, k FROM keyed")
        connection.execute("VACUUM FULL keyed, loose")
        nodes = [nodeid for nodeid, in rows(connection, "SELECT nodeid FROM pg_dist_node ORDER BY 1")]
        shard, *others = shards(connection, "keyed")
        for other in others:
            connection.execute("SELECT citus_move_shard_placement(%s, %s, %s)", [other[0], other[3], shard[3]])
        source = next(n for n in accounts.nodes if n.port == shard_of(connection, "keyed", 1)[1])
        source.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} SET citus.debug_points = 'reshape-filled=stop'")
        changing = Statement(changer, f"SELECT citus_merge_shards({shard[0]}, {others[0][0]})" if others else
                             f"SELECT citus_split_shard_by_split_points({shard[0]}, '{{-1000000000,1000000000}}', ARRAY{nodes})")
        with servers.connect(source) as watcher:
            def stopped():
                found = rows(watcher, "SELECT pid FROM pg_stat_activity WHERE query LIKE '%%internal.reshape_switch%%' "
                             "AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
                return next((pid for pid, in found if is_stopped(pid)), None)

            wait_until(stopped, "the rows to be copied")
            pid = stopped()
        connection.execute("SET lock_timeout = '20s'")
        connection.execute(WRITES)
        connection.execute(loose)
        before = [rows(connection, f"SELECT t::text FROM {table} t ORDER BY 1") for table in ("keyed", "loose")]
        kill_process(pid, signal.SIGCONT)
        assert changing.finish() is None
        source.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {MOVER} RESET citus.debug_points")
        assert len(shards(connection, "keyed")) == (1 if others else 3)
        assert [rows(connection, f"SELECT t::text FROM {table} t ORDER BY 1") for table in ("keyed", "loose")] == before
        connection.execute("DROP TABLE keyed, loose")


def test_table_distributed_meanwhile(accounts):
    """A table that is being distributed beside shards that are split is not put beside others; the next call does it."""
    call = "SELECT create_distributed_table_concurrently('visit', 'id', colocate_with => 'account')"
    changes = """UPDATE visit SET day = day + 200 WHERE id % 3 = 0 AND day < '2021-02-01'; DELETE FROM visit WHERE id % 5 = 0;
        INSERT INTO visit SELECT g, '2021-03-03' FROM generate_series(1, 100) g"""
    with servers.connect(accounts.nodes[1]) as connection:
        connection.execute("""DROP TABLE IF EXISTS visit;
            CREATE TABLE visit (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
            CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
            CREATE TABLE visit_2 PARTITION OF visit FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
            INSERT INTO visit SELECT g, '2020-01-01'::date + g % 500 FROM generate_series(1, 1500) g""")
        first = Stopped(accounts.nodes[1], "online-rows-copied", call)
        shard = shards(connection)[0]
        split(connection, shard, [shard[3]] * 2)
        assert isinstance(first.go_on(), psycopg.errors.ObjectNotInPrerequisiteState)
        second = Stopped(accounts.nodes[1], "online-rows-copied", call)
        connection.execute(changes)
        before = rows(connection, "SELECT * FROM visit ORDER BY id, day")
        assert second.go_on() is None
        assert rows(connection, "SELECT * FROM visit ORDER BY id, day") == before
        assert [shard[1:] for shard in shards(connection, "visit_2")] == [shard[1:] for shard in shards(connection)]
        assert value(connection, "SELECT count(*) FROM visit JOIN account USING (id)") > 0
        connection.execute("DROP TABLE visit")


def test_table_beside(accounts):
    """A table that a transaction has placed beside shards keeps them from being split or moved until that ends."""
    with servers.connect(accounts.nodes[1]) as maker, servers.connect(accounts.coordinator) as changer:
        changer.execute("SET citus.move_switch_timeout = '1s'; SET citus.move_pause_limit = '200ms'")
        maker.execute("DROP TABLE IF EXISTS late; CREATE TABLE late (id int)")
        with maker.transaction():
            maker.execute("SELECT create_distributed_table('late', 'id', colocate_with => 'account')")
            shard = shards(changer)[0]
            with pytest.raises(psycopg.errors.LockNotAvailable):
                split(changer, shard, [shard[3]] * 2)
            with pytest.raises(psycopg.errors.LockNotAvailable):
                test_moves.move_key(accounts, changer, "account", 1, "block_writes")
        changer.execute("RESET citus.move_switch_timeout; RESET citus.move_pause_limit")
        split(changer, shard, [shard[3]] * 2)
        assert [shard[1:] for shard in shards(changer, "late")] == [shard[1:] for shard in shards(changer)]
        changer.execute("DROP TABLE late")


KINDS = test_moves.EVERYTHING + """
    ALTER TABLE kinds ADD COLUMN added text DEFAULT 'fast';
    CREATE TYPE colour AS ENUM ('red', 'green', 'blue', 'white', 'black', 'grey');
    CREATE TABLE coloured (c colour, n int);
    SELECT create_distributed_table('coloured', 'c', shard_count => 1, colocate_with => 'none');
    INSERT INTO coloured SELECT c, n FROM unnest(enum_range(NULL::colour)) c, generate_series(1, 10) n;
    INSERT INTO coloured VALUES (NULL, 1);
    CREATE TABLE words (w varchar(40), n int) WITH (autovacuum_enabled = off);
    SELECT create_distributed_table('words', 'w', shard_count => 1, colocate_with => 'none');
    INSERT INTO words SELECT md5(g::text), g FROM generate_series(1, 200) g;"""


def test_everything(split_cluster):
    """Tables of all kinds and types are split and merged again: all rows, indexes, constraints, and what owners have set."""
    tables = ["kinds", "lines", "events_1", "events_2", "events", "coloured", "words"]
    with servers.connect(split_cluster.coordinator) as connection, servers.connect(split_cluster.nodes[1]) as reader:
        connection.execute("DROP TABLE IF EXISTS lines, kinds, events, rates, coloured, words; DROP TYPE IF EXISTS colour; "
                           "CREATE TABLE rates (id int PRIMARY KEY); SELECT create_reference_table('rates'); "
                           "INSERT INTO rates SELECT generate_series(1, 5)")
        connection.execute(KINDS)
        before = [rows(connection, f"SELECT t::text FROM {table} t ORDER BY 1") for table in tables]
        nodes = [nodeid for nodeid, in rows(connection, "SELECT nodeid FROM pg_dist_node ORDER BY 1")]
        with reader.transaction():
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM kinds")
            for table in ["kinds", "coloured", "words"]:
                split(connection, shards(connection, table)[0], nodes)
            assert [rows(connection, f"SELECT t::text FROM {table} t ORDER BY 1") for table in tables] == before
            assert [rows(reader, f"SELECT t::text FROM {table} t ORDER BY 1") for table in tables] == before
        for table in ["kinds", "lines", "events", "coloured", "words"]:
            column = {"coloured": "c", "words": "w"}.get(table, "tenant")
            assert value(connection, f"SELECT count(*) FROM (SELECT DISTINCT {column} AS k FROM {table} WHERE {column} IS NOT NULL) "
                         f"d JOIN {table} t ON t.{column} = d.k") == \
                value(connection, f"SELECT count({column}) FROM {table}")
        parts = sorted(shards(connection, "coloured"))
        assert len(parts) == 3
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("INSERT INTO lines VALUES (7, 12345, 1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO kinds (tenant, id, part) SELECT tenant, id, part FROM kinds LIMIT 3")
        connection.execute("DELETE FROM kinds WHERE tenant = 7")
        assert value(connection, "SELECT count(*) FROM lines WHERE tenant = 7") == 0
        connection.execute("ALTER TABLE kinds ADD COLUMN late int DEFAULT 3; CREATE INDEX ON events (note)")
        assert value(connection, "SELECT sum(late) FROM kinds") == 3 * 399
        connection.execute("CREATE TABLE beside (tenant int); SELECT create_distributed_table('beside', 'tenant', "
                           "colocate_with => 'kinds'); INSERT INTO beside SELECT tenant FROM kinds")
        assert value(connection, "SELECT count(*) FROM beside JOIN kinds USING (tenant)") == 399
        connection.execute("DROP TABLE lines, kinds, events, rates, coloured, words, beside; DROP TYPE colour")
    check_clean(split_cluster)


@pytest.mark.parametrize("statement, error", [
    ("SELECT citus_split_shard_by_split_points(1, '{0}', '{1,1}')", psycopg.errors.UndefinedObject),
    ("SELECT citus_split_shard_by_split_points({shard}, '{{2147483647}}', '{{1,1}}')", psycopg.errors.InvalidParameterValue),
    ("SELECT citus_split_shard_by_split_points({shard}, '{{-2000000000,-2000000000}}', '{{1,1,1}}')",
     psycopg.errors.InvalidParameterValue),
    ("SELECT citus_split_shard_by_split_points({shard}, '{{-2000000000}}', '{{1}}')", psycopg.errors.InvalidParameterValue),
    ("SELECT citus_split_shard_by_split_points({shard}, '{{-2000000000}}', '{{1,999}}')", psycopg.errors.UndefinedObject),
    ("SELECT citus_split_shard_by_split_points({shard}, '{{x}}', '{{1,1}}')", psycopg.errors.InvalidTextRepresentation),
    ("BEGIN; SELECT citus_split_shard_by_split_points({shard}, '{{-2000000000}}', '{{1,1}}')",
     psycopg.errors.ActiveSqlTransaction),
    ("SELECT citus_merge_shards({shard}, {shard})", psycopg.errors.InvalidParameterValue),
    ("SELECT isolate_tenant_to_new_shard('rate', 1)", psycopg.errors.WrongObjectType),
    ("SELECT isolate_tenant_to_new_shard('account', NULL::int)", psycopg.errors.NullValueNotAllowed),
    ("SET ROLE pg_monitor; SELECT isolate_tenant_to_new_shard('account', 1)", psycopg.errors.InsufficientPrivilege),
    ("SELECT citus_internal.reshape_begin(1, 0, 0, '{0}', '{1}')", psycopg.errors.UndefinedObject),
    ("SELECT citus_internal.move_begin(1, 1, 'auto')", psycopg.errors.UndefinedObject),
    ("SET ROLE pg_monitor; SELECT citus_internal.reshape_switch()", psycopg.errors.InsufficientPrivilege),
])
def test_refused(accounts, statement, error):
    with servers.connect(accounts.coordinator) as connection:
        before = shards(connection)
        if "{shard}" in statement:
            statement = statement.format(shard=before[0][0])
        with pytest.raises(error):
            for part in statement.split("; "):
                connection.execute(part)
        connection.execute("ROLLBACK; RESET ROLE")
        assert shards(connection) == before


@pytest.mark.parametrize("change", ["split", "move", "merge"])
@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_own_neighbours(accounts, change, level):
    """A node reads neighbours of its own; one of them changes when it has looked where they are, and the others stay."""
    with servers.connect(accounts.coordinator) as changer:
        shard = shards(changer)[0]
        split(changer, shard, [shard[3]] * 3)
        left, right = neighbours(changer, "account")[0]
        nodes = dict(rows(changer, "SELECT nodeid, nodeport FROM pg_dist_node"))
        other = next(nodeid for nodeid in nodes if nodeid != left[3])
        home = next(node for node in accounts.nodes if node.port == nodes[left[3]])
        with servers.connect(home) as reader:
            reader.execute(f"SET default_transaction_isolation = '{level}'; SET citus.debug_points = 'local-task-locked=stop'")
            reading = Statement(reader, "SELECT sum(balance), count(*) FROM account")
            pid = reader.info.backend_pid
            wait_until(lambda: is_stopped(pid), "the reader to stop")
            if change == "split":
                split(changer, right, [other, right[3]])
            elif change == "move":
                changer.execute("SELECT citus_move_shard_placement(%s, %s, %s, 'block_writes')", [right[0], right[3], other])
            else:
                changer.execute("SELECT citus_merge_shards(%s, %s)", [left[0], right[0]])
            wait_until(lambda: kill_process(pid, signal.SIGCONT) or not reading.running, "the statement's end")
            assert reading.finish() is None
            assert reading.cursor.fetchall() == [(ACCOUNTS * BALANCE, ACCOUNTS)]


def test_no_colocation_of_other_ranges(split_cluster):
    """Tables whose shards have the same number and nodes, but other ranges of hash values, don't become colocated."""
    with servers.connect(split_cluster.coordinator) as connection:
        connection.execute("""SET citus.shard_count = 2; CREATE TABLE first_split (id int, v int); CREATE TABLE last_split (id int, v int);
            SELECT create_distributed_table('first_split', 'id', colocate_with => 'none');
            SELECT create_distributed_table('last_split', 'id', colocate_with => 'none')""")
        node = value(connection, "SELECT min(nodeid) FROM pg_dist_node WHERE shouldhaveshards")
        for table, which in (("first_split", 0), ("last_split", -1)):
            for shardid, _, _, at in shards(connection, table):
                if at != node:
                    connection.execute("SELECT citus_move_shard_placement(%s, %s, %s, 'block_writes')", [shardid, at, node])
            split(connection, shards(connection, table)[which], [node, node])
        try:
            with pytest.raises(psycopg.errors.InvalidTableDefinition) as refused:
                connection.execute("SELECT update_distributed_table_colocation('first_split', 'last_split')")
            assert "ranges" in refused.value.diag.message_detail
        finally:
            connection.execute("DROP TABLE first_split, last_split")


def test_shards_beside_others_are_found_by_range(split_cluster):
    """With metadata read before and after a merge, no shard is named beside one of another range."""
    with servers.connect(split_cluster.coordinator) as connection:
        connection.execute("""SET citus.shard_count = 4; CREATE TABLE wide (id int); CREATE TABLE narrow (id int);
            SELECT create_distributed_table('wide', 'id', colocate_with => 'none');
            SELECT create_distributed_table('narrow', 'id', colocate_with => 'wide')""")
        before = {table: shards(connection, table) for table in ("wide", "narrow")}
        connection.execute("BEGIN")
        connection.execute("DELETE FROM pg_dist_placement WHERE shardid = %s", [before["narrow"][1][0]])
        connection.execute("DELETE FROM pg_dist_shard WHERE shardid = %s", [before["narrow"][1][0]])
        connection.execute("UPDATE pg_dist_shard SET shardmaxvalue = %s WHERE shardid = %s",
                           [str(before["narrow"][1][2]), before["narrow"][0][0]])
        beside = [value(connection, "SELECT get_colocated_shard_array(%s)", [shard[0]]) for shard in before["wide"]]
        assert [sorted(found) for found in beside] == [
            [before["wide"][0][0]], [before["wide"][1][0]],
            sorted([before["wide"][2][0], before["narrow"][2][0]]), sorted([before["wide"][3][0], before["narrow"][3][0]])]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no shard colocated with"):
            connection.execute("SELECT * FROM run_command_on_colocated_placements('wide', 'narrow', 'SELECT 1')")
        connection.execute("ROLLBACK")
        connection.execute("DROP TABLE wide, narrow")
