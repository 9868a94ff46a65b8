"""What PostgreSQL 16, 17 and 18 bring that concerns nodes and roles; statements: oracle, version_17, version_18."""

import psycopg
import pytest

from harness.servers import connect as open_connection, fill, rows, value, wait_until
from pomelo_cluster import find_free_ports


def needs(connection, version):
    if connection.info.server_version < version * 10000:
        pytest.skip(f"PostgreSQL {version} brought it")


def test_role_options(coordinator):
    """Memberships have the same options on all nodes (16)."""
    needs(coordinator, 16)
    options = ("SELECT array_agg(DISTINCT result) FROM run_command_on_all_nodes($$SELECT concat_ws(' ', inherit_option, set_option, "
               "admin_option) FROM pg_auth_members WHERE roleid = 'new_group'::regrole AND member = 'new_member'::regrole$$)")
    coordinator.execute("CREATE ROLE new_group; CREATE ROLE new_member")
    try:
        coordinator.execute("GRANT new_group TO new_member WITH INHERIT FALSE, SET FALSE, ADMIN TRUE")
        assert value(coordinator, options) == ["f f t"]
        coordinator.execute("REVOKE ADMIN OPTION FOR new_group FROM new_member")
        coordinator.execute("GRANT new_group TO new_member WITH SET TRUE")
        assert value(coordinator, options) == ["f t f"]
    finally:
        coordinator.execute("DROP ROLE new_group, new_member")


def test_transaction_timeout(cluster, coordinator, connect, schema):
    """It ends what a transaction has running on other nodes (17)."""
    needs(coordinator, 17)
    session = connect(cluster.coordinator)
    session.execute(f"SET search_path = {schema}")
    fill(session, "t", 100)
    session.execute("SET transaction_timeout = '2s'")
    with pytest.raises(psycopg.errors.TransactionTimeout):
        session.execute("SELECT count(pg_sleep(600)) FROM t")
    for node in cluster.workers:
        wait_until(lambda node=node: rows(connect(node), "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' "
                                          "AND state = 'active' AND pid <> pg_backend_pid()") == [], "the nodes to stop")


@pytest.mark.parametrize("method", ["sync", "worker", "io_uring"])
def test_io_method(make_cluster, method):
    """Tables are read in each way (18)."""
    made = make_cluster(workers=1)
    with open_connection(made.coordinator) as connection:
        needs(connection, 18)
        if method not in value(connection, "SELECT enumvals FROM pg_settings WHERE name = 'io_method'"):
            pytest.skip("this server is built without it")
    for node in made.nodes:
        node.sql(f"ALTER SYSTEM SET io_method = '{method}'")
        node.stop()
        try:
            node.start()
        except Exception as error:      # pylint: disable=broad-except
            pytest.skip(f"this machine can't do it: {error}")
    with open_connection(made.coordinator) as connection:
        fill(connection, "t", 20000)
        connection.execute("CREATE TABLE c (k int, v text) USING columnar; SELECT create_distributed_table('c', 'k');"
                           "INSERT INTO c SELECT g, repeat('x', g % 50) FROM generate_series(1, 20000) g")
        for node in made.nodes:
            node.stop()
            node.start()
    with open_connection(made.coordinator) as connection:
        assert value(connection, "SELECT count(*) FROM t") == 20000
        assert rows(connection, "SELECT count(*), sum(length(v)) FROM c") == [(20000, 490000)]


def test_failover_slot(make_cluster):
    """A slot for changes of distributed tables exists on a node's standby, and goes on after its promotion (17)."""
    made = make_cluster(workers=1, settings={"citus.enable_change_data_capture": "on"})
    node = made.workers[0]
    with open_connection(made.coordinator) as connection:
        needs(connection, 17)
        fill(connection, "t", 100)
        connection.execute("CREATE PUBLICATION p FOR TABLE t")
    node.sql("SELECT pg_create_physical_replication_slot('of_standby')")
    standby = made.add_standby(node, find_free_ports(1, node.port + 20))
    standby.sql("ALTER SYSTEM SET primary_slot_name = 'of_standby'")
    standby.sql("ALTER SYSTEM SET hot_standby_feedback = on")
    standby.sql("SELECT pg_reload_conf()")
    with open_connection(node) as there, open_connection(standby) as second:
        there.execute("SELECT pg_create_logical_replication_slot('changes', 'pgoutput', failover => true)")

        def is_synced():
            there.execute("SELECT pg_log_standby_snapshot()")
            second.execute("SELECT pg_sync_replication_slots()")
            return rows(second, "SELECT FROM pg_replication_slots WHERE slot_name = 'changes' AND synced AND NOT temporary")

        wait_until(is_synced, "the slot to be copied")
        with open_connection(made.coordinator) as connection:
            connection.execute("UPDATE t SET payload = payload + 1")
        end = value(there, "SELECT pg_current_wal_lsn()")
        wait_until(lambda: value(second, "SELECT pg_last_wal_replay_lsn() >= %s", [end]), "the standby to have the changes")
    node.kill()
    standby.promote()
    with open_connection(standby) as second:
        assert value(second, "SELECT count(*) > 0 FROM pg_logical_slot_get_binary_changes('changes', NULL, NULL, "
                             "'proto_version', '1', 'publication_names', 'p')")
