"""What each tenant does, as the nodes count it, and what it may do at most."""

import itertools
import time

import psycopg
import pytest

from harness import load
from harness.servers import connect as connect_to, rows, value, wait_until
from harness.statement import Statement

ALL = "SELECT tenant_attribute, read_count_in_this_period, query_count_in_this_period FROM citus_stat_tenants(true) ORDER BY 1"


SETTINGS = {"citus.stat_tenants_track": "all", "citus.stat_tenants_period": "86400"}


@pytest.fixture(scope="module")
def counting_cluster(cluster):
    """Its nodes count, in periods that don't end."""
    def set_up(node, values):
        for name, setting in values.items():
            node.sql(f"ALTER SYSTEM SET {name} = '{setting}'")
        node.sql("SELECT pg_reload_conf()")
        with connect_to(node) as connection:
            wait_until(lambda: rows(connection, "SELECT FROM pg_settings WHERE (name, setting) IN (VALUES " +
                                    ", ".join(f"('{name}', '{value}')" for name, value in values.items()) + ")") == [()] * 2,
                       "the settings")

    for node in cluster.nodes:
        set_up(node, SETTINGS)
    cluster.coordinator.sql("DROP ROLE IF EXISTS tenants_nobody; CREATE ROLE tenants_nobody LOGIN")
    yield cluster
    cluster.coordinator.sql("DROP ROLE tenants_nobody")
    for node in cluster.nodes:
        set_up(node, {"citus.stat_tenants_track": "none", "citus.stat_tenants_period": "60"})


@pytest.fixture
def counting(counting_cluster, schema, connect):
    """Such a cluster with a table; connections to its nodes, the coordinator's first, in whose schema it is."""
    connections = [connect(node, options=f"-c search_path={schema}") for node in counting_cluster.nodes]
    connections[0].execute("CREATE TABLE account (id bigint PRIMARY KEY, name text, balance int);"
                           "SELECT create_distributed_table('account', 'id', colocate_with => 'none');"
                           "INSERT INTO account SELECT g, 'name', 0 FROM generate_series(1, 200) g;"
                           "SELECT citus_stat_tenants_reset()")
    return counting_cluster, connections


def test_counts(counting, connect):
    """Statements of one value count for it, wherever they come from and however they are sent; others don't."""
    made, connections = counting
    for number, connection in enumerate(connections):
        for tenant in (1, 2, 3):
            connection.execute("SELECT * FROM account WHERE id = %s", (tenant,), prepare=number == 0)
            connection.execute(f"UPDATE account SET balance = 1 WHERE id = {tenant}")
        connection.execute("SELECT count(*) FROM account a JOIN account b USING (id) WHERE id = 4")
        connection.execute("INSERT INTO account VALUES (%s, 'new', 0)", (1000 + number,))
        connection.execute("SELECT count(*) FROM account")
        connection.execute("UPDATE account SET balance = 0 WHERE id IN (5, 6)")
        connection.execute("EXPLAIN SELECT * FROM account WHERE id = 7")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT balance / 0 FROM account WHERE id = 8")
    nodes = len(made.nodes)
    expected = [(str(tenant), nodes, 2 * nodes) for tenant in (1, 2, 3)] + [("4", nodes, nodes), ("8", nodes, nodes)]
    expected += [(str(1000 + number), 0, 1) for number in range(nodes)]
    assert sorted(rows(connections[1], ALL)) == sorted(expected)
    assert value(connections[0], "SELECT bool_and(cpu_usage_in_this_period > 0) FROM citus_stat_tenants")
    groups = value(connections[0], "SELECT array_agg(DISTINCT nodeid) FROM citus_stat_tenants")
    assert len(groups) == 2

    for function in ("citus_stat_tenants(true)", "citus_stat_tenants_local(true)", "citus_tenant_limits"):
        for node in made.nodes:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connect(node, user="tenants_nobody").execute(f"SELECT * FROM {function}")
    connections[2].execute("SELECT citus_stat_tenants_reset()")
    assert rows(connections[0], ALL) == []


def test_busiest_are_known(counting, connect):
    """However many tenants do little, one that does much is counted, and stands first."""
    made, connections = counting
    connection = connections[0]
    for _ in range(20):
        connection.execute("SELECT * FROM account WHERE id = 77")
    for tenant in range(1000, 1700):
        connection.execute("SELECT * FROM account WHERE id = %s", (tenant,))
    assert rows(connection, "SELECT tenant_attribute, query_count_in_this_period FROM citus_stat_tenants LIMIT 1") == [("77", 20)]
    assert value(connection, "SELECT count(*) FROM citus_stat_tenants") == 100
    assert value(connection, "SELECT count(*) <= 600 FROM citus_stat_tenants(true)")


def test_schemas(counting):
    """A distributed schema is a tenant."""
    made, connections = counting
    connections[0].execute("DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA shop; CREATE TABLE shop.item (id int);"
                           "SELECT citus_schema_distribute('shop')")
    for connection in connections:
        connection.execute("SELECT * FROM shop.item")
        connection.execute("INSERT INTO shop.item VALUES (1)")
    assert rows(connections[1], ALL) == [("shop", len(made.nodes), 2 * len(made.nodes))]
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connections[1].execute("SELECT citus_set_tenant_limits('shop.item', 1, 1)")
    connections[1].execute("SELECT citus_set_tenant_limits('shop.item', NULL::int, 1)")
    assert rows(connections[2], "SELECT tenant_attribute, max_concurrent FROM citus_tenant_limits") == [("shop", 1)]
    connections[0].execute("DROP SCHEMA shop CASCADE")
    for connection in connections:
        assert rows(connection, "SELECT * FROM pg_dist_tenant_limit") == []


def test_places(counting, connect, schema):
    """A tenant with two places has two transactions at a time; a third waits, visibly, and others go on."""
    made, connections = counting

    def session(node, options=""):
        return connect(node, options=f"-c search_path={schema} {options}")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect(made.workers[0], user="tenants_nobody").execute(
            "SELECT citus_set_tenant_limits(%s::oid, 9, 2)", (value(connections[1], "SELECT 'account'::regclass::oid"),))
    connections[1].execute("SELECT citus_set_tenant_limits('account', '9', max_concurrent => 2)")
    statement = "UPDATE account SET balance = balance + 1 WHERE id = 9 AND name = 'none'"
    holders = [session(node) for node in made.nodes[:2]]
    for holder in holders:
        holder.execute("BEGIN")
        holder.execute(statement)
        holder.execute(statement)
    waiters = [Statement(session(node), statement) for node in made.nodes]
    limits = "SELECT tenant_attribute, max_concurrent, running, waiting FROM citus_tenant_limits"
    wait_until(lambda: rows(connections[2], limits) == [("9", 2, 2, 3)], "three statements to wait")
    connections[0].execute("UPDATE account SET balance = 5 WHERE id = 10")
    assert all(waiter.running for waiter in waiters)
    cancelled = waiters[-1]
    cancelled.connection.cancel()
    assert isinstance(cancelled.finish(), psycopg.errors.QueryCanceled)
    for holder in holders:
        holder.execute("COMMIT")
    assert [waiter.finish() for waiter in waiters[:-1]] == [None, None]
    wait_until(lambda: rows(connections[0], limits) == [("9", 2, 0, 0)], "the places to be free")

    with session(made.workers[1], "-c lock_timeout=100ms") as impatient:
        for holder in holders:
            holder.execute("BEGIN")
            holder.execute(statement)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            impatient.execute(statement)
        connections[1].execute("SELECT citus_set_tenant_limits('account', 9)")
        impatient.execute(statement)
    assert rows(connections[0], limits) == []


def test_deadlock(counting):
    """Whoever waits for a place, and is waited for, is found."""
    made, connections = counting
    connections[0].execute("SELECT citus_set_tenant_limits('account', 9, 1)")
    one, two = connections[1:]
    one.execute("BEGIN")
    one.execute("UPDATE account SET balance = 1 WHERE id = 11")
    two.execute("BEGIN")
    two.execute("UPDATE account SET balance = 1 WHERE id = 9")
    waits = [Statement(one, "UPDATE account SET balance = 1 WHERE id = 9"),
             Statement(two, "UPDATE account SET balance = 1 WHERE id = 11")]
    victims = wait_until(lambda: [i for i in (0, 1) if not waits[i].running and
                                  isinstance(waits[i].finish(), psycopg.errors.DeadlockDetected)], "the deadlock to be found")
    victim, = victims       # the other one may have ended since
    waits[victim].connection.execute("ROLLBACK")
    assert waits[1 - victim].finish() is None
    waits[1 - victim].connection.execute("COMMIT")


def test_share_of_time(counting):
    """A tenant that uses more CPU time than its share is slowed down; nothing fails."""
    made, connections = counting
    cores = value(connections[0], "SELECT count(*) FROM regexp_matches(pg_read_file('/proc/cpuinfo'), '^processor', 'gn')")
    share = 0.05
    connections[1].execute("SELECT citus_set_tenant_limits('account', 12, max_cpu_share => %s)", (share,))
    begin = time.monotonic()
    used = []
    for connection in connections:
        connection.execute("SELECT count(*) FROM account, generate_series(1, 200000) g WHERE id = 12")
        used.append(value(connections[0], "SELECT sum(cpu_usage_in_this_period) FROM citus_stat_tenants "
                          "WHERE tenant_attribute = '12'"))
    elapsed = time.monotonic() - begin
    assert elapsed >= used[-2] / (share * cores) > 0
    for arguments in ("12, 1001", "12, -1", "12, NULL, 1.5", "12, NULL, 'NaN'"):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connections[0].execute(f"SELECT citus_set_tenant_limits('account', {arguments})")


def test_hot_shards(counting):
    """The strategy by_load moves shards of busy tenants away from each other."""
    made, connections = counting
    connection = connections[0]
    plan = "SELECT count(*) FROM get_rebalance_table_shards_plan('account', rebalance_strategy => 'by_load')"
    where = "SELECT nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('account', %s)"
    shards = "SELECT get_shard_id_for_distribution_column('account', %s)"
    hot = {}
    for tenant in range(1, 200):
        if value(connection, where, (tenant,)) == made.workers[0].port:
            hot.setdefault(value(connection, shards, (tenant,)), tenant)
    hot = sorted(hot.values())[:2]
    for _ in range(2):
        for tenant in hot:
            connection.execute("SELECT count(*) FROM account, generate_series(1, 400000) g WHERE id = %s", (tenant,))
    assert value(connection, plan) >= 1
    connection.execute("SELECT rebalance_table_shards('account', rebalance_strategy => 'by_load', shard_transfer_mode => 'block_writes')")
    assert sorted(value(connection, where, (tenant,)) for tenant in hot) == sorted(worker.port for worker in made.workers)
    assert value(connection, "SELECT count(*) FROM account") == 200


def test_hot_tenant(make_cluster, connect):
    """A tenant that makes most of the load is found by the view, isolated by one call and moved by another, under load."""
    made = make_cluster(workers=2, settings={"citus.stat_tenants_track": "all"})
    load.account_tables(made)
    connection = connect(made.coordinator)
    connection.execute("CREATE TABLE visit (account int, n int, PRIMARY KEY (account, n))")
    connection.execute("SELECT create_distributed_table('visit', 'account', colocate_with => 'account')")
    connection.execute("INSERT INTO visit SELECT 1 + g % 60, g FROM generate_series(1, 600) g")
    turns = itertools.count()

    def visit(client):
        """Nine of ten are the hot tenant's."""
        turn = next(turns)
        account = 7 if turn % 10 else 1 + turn // 10 % 60
        client.execute("INSERT INTO visit VALUES (%s, %s)", (account, 1000 + turn))
        assert value(client, "SELECT count(*) FROM account JOIN visit ON account = id WHERE id = %s", (account,)) > 0

    def cool_down():
        begin = time.monotonic()
        tenant = wait_until(lambda: value(connection, """
            SELECT tenant_attribute FROM (
                SELECT tenant_attribute, sum(query_count_in_this_period + query_count_in_last_period) AS queries
                FROM citus_stat_tenants GROUP BY colocation_id, tenant_attribute) t
            WHERE queries > 50 AND queries > (SELECT 0.5 * sum(query_count_in_this_period + query_count_in_last_period)
                                              FROM citus_stat_tenants)"""), "a hot tenant to be found")
        assert tenant == "7" and time.monotonic() - begin < 60
        shard = value(connection, "SELECT isolate_tenant_to_new_shard('account', %s::int, 'CASCADE')", (tenant,))
        target = value(connection, "SELECT nodeid FROM pg_dist_node WHERE groupid > 0 AND nodeport <> "
                       "(SELECT nodeport FROM citus_shards WHERE shardid = %s)", (shard,))
        source = value(connection, "SELECT nodeid FROM pg_dist_node JOIN citus_shards USING (nodename, nodeport) WHERE shardid = %s",
                       (shard,))
        connection.execute("SELECT citus_move_shard_placement(%s, %s, %s)", (shard, source, target))
        # alone in its shards, there; they serve it from now on
        places = rows(connection, "SELECT table_name::text, nodeid FROM citus_shards JOIN pg_dist_node USING (nodename, nodeport) "
                      "WHERE shardid IN (get_shard_id_for_distribution_column('account', 7), "
                      "get_shard_id_for_distribution_column('visit', 7)) ORDER BY 1")
        assert places == [("account", target), ("visit", target)]
        assert rows(connection, "SELECT id FROM account WHERE get_shard_id_for_distribution_column('account', id) = %s",
                    (shard,)) == [(7,)]
        connection.execute("SELECT citus_stat_tenants_reset()")
        wait_until(lambda: value(connection, "SELECT query_count_in_this_period > 10 FROM citus_stat_tenants "
                                 "WHERE tenant_attribute = '7' AND nodeid = %s", (target,)), "the tenant to be served there")

    clients = load.Load()
    for number, node in enumerate(made.nodes):
        clients.add(node, visit, f"visitor{number}")
    clients.add(made.nodes[1], load.transfer, "transfer")
    clients.add(made.nodes[2], load.check_total, "total")
    clients.meanwhile(cool_down)
    load.check_total(connection)
    assert value(connection, "SELECT count(*) FROM visit") == 600 + next(turns)


def test_new_node(make_cluster, connect):
    """A node that joins knows the limits."""
    made = make_cluster(workers=2)
    connection = connect(made.coordinator)
    connection.execute("CREATE TABLE account (id text PRIMARY KEY); SELECT create_distributed_table('account', 'id')")
    connection.execute("SELECT citus_set_tenant_limits('account', 'it''s', 3, 0.5)")
    port = made.workers[1].port
    connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", (port,))
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", (port,))
    assert rows(connect(made.workers[1]), "SELECT * FROM pg_dist_tenant_limit") == []
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", (port,))
    assert rows(connect(made.workers[1]), "SELECT tenant_attribute, max_concurrent, max_cpu_share FROM pg_dist_tenant_limit") == [
        ("it's", 3, 0.5)]
