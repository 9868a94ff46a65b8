"""A standby of a worker becomes a node beside it: shards are divided without copying, while clients read and write."""

import psycopg
import pytest

from harness import servers
from harness.load import ACCOUNTS, Load, account_tables, check_repeatable, check_total, transfer
from harness.servers import LEFT, rows, value, wait_until, wait_until_quiet
from harness.stopped import Stopped, commit_at
from pomelo_cluster import find_free_ports


@pytest.fixture
def made():
    with servers.cluster(purpose="check-clones") as cluster:
        account_tables(cluster)
        yield cluster


@pytest.fixture(scope="module")
def kept():
    """A cluster that tests share which leave it as it is, with a standby of its first worker."""
    with servers.cluster(purpose="check-clones-kept") as cluster:
        account_tables(cluster)
        cluster.standby = standby_of(cluster, cluster.workers[0])
        yield cluster


def standby_of(cluster, node):
    return cluster.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50))


def add_clone(connection, standby, primary):
    return value(connection, "SELECT citus_add_clone_node('127.0.0.1', %s, '127.0.0.1', %s)", [standby.port, primary.port])


def nothing_left(cluster):
    def left():
        with servers.connect(cluster.coordinator) as connection:
            for node in cluster.nodes:
                with servers.connect(node) as other:
                    other.execute("SELECT recover_prepared_transactions()")
            connection.execute("CALL citus_cleanup_orphaned_resources()")
        return [found for found in servers.on_every_node(cluster, LEFT).values() if found]

    try:
        wait_until(lambda: not left(), "nothing to be left")
    except AssertionError as error:
        raise AssertionError(f"{error}: {servers.on_every_node(cluster, LEFT)}") from None


def more_tables(connection):
    """Tables of all kinds beside those of the load."""
    connection.execute("""
        CREATE TABLE entry (account int REFERENCES account, n bigserial, at int, PRIMARY KEY (account, n, at)) PARTITION BY RANGE (at);
        CREATE TABLE entry_1 PARTITION OF entry FOR VALUES FROM (0) TO (100);
        SELECT create_distributed_table('entry', 'account', colocate_with => 'account');
        CREATE TABLE single (id int PRIMARY KEY, v int);
        SELECT create_distributed_table('single', NULL);
        CREATE SEQUENCE numbers;
        CREATE TABLE journal (number bigint PRIMARY KEY DEFAULT nextval('numbers'), v int);
        SELECT create_distributed_table('journal', 'number');
        INSERT INTO entry (account, at) SELECT g % 60 + 1, g % 100 FROM generate_series(1, 500) g;
        INSERT INTO single SELECT g, g FROM generate_series(1, 10) g;""")


def test_under_load(made):
    """Money moves between accounts, from all nodes, while the clone takes over its half; nothing is lost, copied or left."""
    primary = made.workers[0]
    with servers.connect(made.coordinator) as connection:
        more_tables(connection)
        primary.sql("SELECT pg_create_physical_replication_slot('for_clone', true)")
        standby = standby_of(made, primary)
        standby.sql("ALTER SYSTEM SET primary_slot_name = 'for_clone'")
        standby.sql("SELECT pg_reload_conf()")
        wait_until(lambda: primary.sql("SELECT active FROM pg_replication_slots") == "t", "the standby to use its slot")
        wait_until(lambda: standby.sql("SELECT status, slot_name FROM pg_stat_wal_receiver") == "streaming|for_clone", "the standby to stream")
        clone = add_clone(connection, standby, primary)
        assert rows(connection, "SELECT noderole::text, isactive, nodeisclone, nodeprimarynodeid = (SELECT nodeid FROM pg_dist_node WHERE nodeport = %s) "
                    "FROM pg_dist_node WHERE nodeid = %s", [primary.port, clone]) == [("unavailable", False, True, True)]
        plan = rows(connection, "SELECT shardid, placement_node FROM get_snapshot_based_node_split_plan('127.0.0.1', %s, '127.0.0.1', %s, 'by_shard_count')",
                    [primary.port, standby.port])
        inserted = []

        def insert(writer):
            inserted.append(value(writer, "INSERT INTO journal (v) VALUES (1) RETURNING number"))

        def change_rate(writer):
            writer.execute("UPDATE rate SET percent = percent + 1")

        load = Load()
        load.add_transfers(made)
        load.add(made.coordinator, check_total, "sums")
        load.add(made.workers[1], check_repeatable, "repeatable")
        load.add(primary, check_repeatable, "repeatable there")
        load.add(primary, insert, "insert there")
        load.add(made.coordinator, insert, "insert")
        load.add(made.workers[1], change_rate, "rate")

        def promote():
            wait_until(lambda: load.stop.is_set() or len(load.counts) == len(load.threads), "all to work")
            connection.execute("SELECT citus_promote_clone_and_rebalance(%s, 'by_shard_count')", [clone])
            before = dict(load.counts)
            wait_until(lambda: load.stop.is_set() or all(load.counts[name] > before[name] for name in before), "all to go on")

        load.meanwhile(promote)
        made.nodes.append(standby)
        wait_until_quiet(made)
        nothing_left(made)
        assert len({shard for shard, node in plan if node.endswith(str(standby.port))}) in (len(plan) // 2, (len(plan) + 1) // 2)
        for shard, node in plan:
            assert value(connection, "SELECT '127.0.0.1:' || nodeport FROM citus_shards WHERE shardid = %s", [shard]) == node
        assert primary.sql("SELECT count(*) FROM pg_replication_slots") == "0"
        for node in made.nodes:
            with servers.connect(node) as other:
                check_total(other)
                check_repeatable(other)
                assert value(other, "SELECT count(*) FROM entry") == 500
                assert value(other, "SELECT sum(v) FROM single") == 55
                assert sorted(inserted) == [number for number, in rows(other, "SELECT number FROM journal ORDER BY 1")]
                for _ in range(3):
                    transfer(other)
                    insert(other)
                    change_rate(other)
        assert len(inserted) == len(set(inserted))
        assert value(connection, "SELECT bool_and(equal) FROM citus_check_reference_table('rate')")
        assert not rows(connection, "SELECT * FROM citus_check_cluster()")
        assert value(connection, "SELECT count(DISTINCT result) FROM run_command_on_all_nodes('SELECT citus_server_id()')") == 4
        # it is a node like others
        connection.execute("CREATE TABLE later (id int PRIMARY KEY); SELECT create_distributed_table('later', 'id', shard_count => 4); "
                           "INSERT INTO later SELECT generate_series(1, 100)")
        connection.execute("SELECT citus_drain_node('127.0.0.1', %s, 'block_writes')", [standby.port])
        nothing_left(made)
        connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [standby.port])
        check_total(connection)


def break_at(node, step, action):
    node.sql(f"ALTER SYSTEM SET citus.debug_points = '{step}={action}'")
    node.sql("SELECT pg_reload_conf()")


def mend(node):
    with servers.connect(node) as connection:
        connection.execute("ALTER SYSTEM RESET citus.debug_points")
        return connection.execute("SELECT pg_reload_conf()").fetchone()[0]


def promote_and_fail(made, clone, step, action):
    """The driver's session, or that of the primary, dies at a step; the error."""
    promotion = f"SELECT citus_promote_clone_and_rebalance({clone})"
    if step == "clone-begun":
        with commit_at(made.coordinator, step, action) as driver, pytest.raises(psycopg.Error) as failure:
            driver.execute(promotion)
        return failure.value
    # a step of the commit comes after the switch has begun
    driver = Stopped(made.coordinator, "clone-begun", promotion)
    break_at(made.workers[0], step, action)
    error = driver.go_on()
    wait_until(lambda: mend(made.workers[0]), "the primary to be up and not about to restart")
    assert error is not None
    return error


def check_usable(made):
    for node in made.nodes:
        with servers.connect(node) as connection:
            check_total(connection)
            connection.execute("UPDATE account SET balance = balance; UPDATE rate SET percent = 1")


@pytest.mark.parametrize("step", ["clone-begun", "clone-locked", "clone-promoted", "clone-before-commit", "commit-after-prepare"])
def test_failure(made, step):
    """All is as before; before the promotion, it can be tried again."""
    standby = standby_of(made, made.workers[0])
    with servers.connect(made.coordinator) as connection:
        clone = add_clone(connection, standby, made.workers[0])
        places = rows(connection, "SELECT shardid, groupid FROM pg_dist_placement ORDER BY 1, 2")
        error = promote_and_fail(made, clone, step, "error")
        nothing_left(made)
        assert rows(connection, "SELECT shardid, groupid FROM pg_dist_placement ORDER BY 1, 2") == places
        check_usable(made)
        if step in ("clone-begun", "clone-locked"):
            connection.execute("SELECT citus_promote_clone_and_rebalance(%s)", [clone])
            made.nodes.append(standby)
            nothing_left(made)
            check_usable(made)
            return
        assert "citus_remove_clone_node" in str(error) or step.startswith("commit")
        # the copy of the primary does no harm
        with servers.connect(standby) as other, pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            check_total(other)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="can't be a clone"):
            connection.execute("SELECT citus_promote_clone_and_rebalance(%s)", [clone])
        connection.execute("SELECT citus_remove_clone_node('127.0.0.1', %s)", [standby.port])
        check_total(connection)


@pytest.mark.parametrize("step", ["commit-after-decision", "commit-between-commits"])
def test_crash_after_decision(made, step):
    """The primary crashes when it has decided that the clone is a node: recovery tells the clone."""
    standby = standby_of(made, made.workers[0])
    with servers.connect(made.coordinator) as connection:
        clone = add_clone(connection, standby, made.workers[0])
        promote_and_fail(made, clone, step, "kill")
        made.nodes.append(standby)
        nothing_left(made)
        assert rows(connection, "SELECT isactive, nodeisclone FROM pg_dist_node WHERE nodeid = %s", [clone]) == [(True, False)]
        check_usable(made)


def test_prepared(made):
    """Prepared transactions: those on shards that leave are waited for; those on others are the primary's."""
    primary = made.workers[0]
    standby = standby_of(made, primary)
    with servers.connect(made.coordinator) as connection, servers.connect(primary) as writer:
        clone = add_clone(connection, standby, primary)
        plan = dict(rows(connection, "SELECT shardid, placement_node FROM get_snapshot_based_node_split_plan('127.0.0.1', %s, '127.0.0.1', %s)",
                         [primary.port, standby.port]))
        place = {key: plan.get(value(connection, "SELECT get_shard_id_for_distribution_column('account', %s)", [key])) for key in range(1, ACCOUNTS + 1)}
        stays = next(key for key in place if place[key] and place[key].endswith(str(primary.port)))
        leaves = next(key for key in place if place[key] and place[key].endswith(str(standby.port)))
        for gid, key in (("stays", stays), ("leaves", leaves)):
            writer.execute("BEGIN")
            writer.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", [key])
            writer.execute(f"PREPARE TRANSACTION '{gid}'")
        connection.execute("SET citus.move_switch_timeout = '2s'; SET citus.move_pause_limit = '200ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable, match="could not promote clone"):
            connection.execute("SELECT citus_promote_clone_and_rebalance(%s)", [clone])
        writer.execute("COMMIT PREPARED 'leaves'")
        connection.execute("SELECT citus_promote_clone_and_rebalance(%s)", [clone])
        made.nodes.append(standby)
        assert not servers.prepared_transactions(standby)
        writer.execute("COMMIT PREPARED 'stays'")
        wait_until_quiet(made)
        nothing_left(made)
        for node in made.nodes:
            with servers.connect(node) as other:
                assert value(other, "SELECT sum(balance) FROM account") == ACCOUNTS * 1000 + 2


def test_refusals(kept):
    """Only an asynchronous streaming standby of that worker is a clone; one can be removed again, and nothing else be done with it."""
    primary, other = kept.workers
    standby = kept.standby
    with servers.connect(kept.coordinator) as connection:
        def refused(error, match, query, *parameters):
            with pytest.raises(error, match=match):
                connection.execute(query, parameters)

        state, add = psycopg.errors.ObjectNotInPrerequisiteState, "SELECT citus_add_clone_node('127.0.0.1', %s, '127.0.0.1', %s)"
        refused(state, "doesn't have that node's data", add, standby.port, other.port)
        refused(state, "Only active workers", add, standby.port, kept.coordinator.port)
        refused(psycopg.errors.DuplicateObject, "already exists", add, other.port, primary.port)
        refused(psycopg.errors.UndefinedObject, "does not exist", add, standby.port, 1)
        refused(psycopg.OperationalError, "could not connect", add, 1, primary.port)
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
        wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "a synchronous standby")
        refused(state, "synchronous standby", add, standby.port, primary.port)
        primary.sql("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()")
        wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "async", "an asynchronous standby")

        nodeid = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [primary.port])
        clone = value(connection, "SELECT citus_add_clone_node_with_nodeid('127.0.0.1', %s, %s)", [standby.port, nodeid])
        refused(psycopg.errors.DuplicateObject, "already exists", add, standby.port, primary.port)
        refused(psycopg.errors.WrongObjectType, "is a clone", "SELECT citus_activate_node('127.0.0.1', %s)", standby.port)
        refused(psycopg.errors.ObjectInUse, "has a clone", "SELECT citus_remove_node('127.0.0.1', %s)", primary.port)
        refused(psycopg.errors.WrongObjectType, "is not a clone", "SELECT citus_promote_clone_and_rebalance(%s)", nodeid)
        refused(psycopg.errors.WrongObjectType, "is not a clone", "SELECT citus_remove_clone_node_with_nodeid(%s)", nodeid)
        refused(psycopg.errors.InvalidParameterValue, "is not a clone of", "SELECT * FROM get_snapshot_based_node_split_plan('127.0.0.1', %s, '127.0.0.1', %s)",
                other.port, standby.port)
        refused(psycopg.errors.NullValueNotAllowed, "must not be null", "SELECT * FROM get_snapshot_based_node_split_plan(NULL, NULL, NULL, NULL)")
        refused(psycopg.errors.InvalidParameterValue, "must be given", "SELECT citus_promote_clone_and_rebalance(NULL)")
        refused(psycopg.errors.ActiveSqlTransaction, "transaction block", f"BEGIN; SELECT citus_promote_clone_and_rebalance({clone}); COMMIT")
        connection.execute("ROLLBACK")
        connection.execute("CREATE UNLOGGED TABLE fleeting (id int); SELECT create_distributed_table('fleeting', 'id')")
        refused(state, "is unlogged", "SELECT citus_promote_clone_and_rebalance(%s)", clone)
        connection.execute("DROP TABLE fleeting")
        standby.sql("SELECT pg_wal_replay_pause()")
        connection.execute("INSERT INTO account SELECT g, 0, repeat(md5(g::text), 30) FROM generate_series(1000, 9000) g")
        refused(state, "has not caught up", "SELECT citus_promote_clone_and_rebalance(%s, catchup_timeout_seconds => 1)", clone)
        standby.sql("SELECT pg_wal_replay_resume()")
        connection.execute("DELETE FROM account WHERE id >= 1000")
        with servers.connect(primary) as there, pytest.raises(state, match="not a promoted standby"):
            there.execute("SELECT citus_internal.become_promoted_clone(%s)", [clone])
        with servers.connect(primary) as there, pytest.raises(state, match="has not begun"):
            there.execute("SELECT citus_internal.clone_switch()")
        connection.execute("SELECT citus_remove_clone_node_with_nodeid(%s)", [clone])
        assert value(connection, "SELECT count(*) FROM pg_dist_node") == 3
        check_total(connection)
