"""Adding, changing and removing nodes; refusals that change nothing."""

import psycopg
import pytest

from harness.servers import footprint, on_every_node, rows, value
from harness.stopped import Stopped

pytestmark = pytest.mark.some(7)     # each makes clusters of its own

NODES = "SELECT nodename, nodeport, groupid, isactive, shouldhaveshards, metadatasynced " \
        "FROM pg_dist_node ORDER BY nodeport"


def add(connection, node, function="citus_add_node"):
    return value(connection, f"SELECT {function}('127.0.0.1', %s)", [node.port])


def test_every_node_knows_all_nodes(cluster):
    known = on_every_node(cluster, NODES)
    assert known["coordinator"] == known["worker1"] == known["worker2"]
    assert [row[:2] for row in known["coordinator"]] == \
        [("127.0.0.1", node.port) for node in cluster.nodes]
    groups = [row[2] for row in known["coordinator"]]
    assert groups[0] == 0 and len(set(groups)) == len(groups)
    assert all(row[3] for row in known["coordinator"])


def test_is_coordinator(cluster, connect):
    for node in cluster.nodes:
        assert value(connect(node), "SELECT citus_is_coordinator()") == (node is cluster.coordinator)


def test_version_and_health(cluster, connect):
    connection = connect(cluster.coordinator)
    assert value(connection, "SELECT citus_version()")
    health = rows(connection, "SELECT * FROM citus_check_cluster_node_health()")
    assert len(health) == len(cluster.nodes) ** 2
    assert all(row[-1] for row in health)


def test_active_workers(cluster, coordinator):
    found = rows(coordinator, "SELECT * FROM citus_get_active_worker_nodes() ORDER BY 2")
    assert [row[1] for row in found] == [node.port for node in cluster.workers]


def test_run_command(cluster, coordinator):
    port = "SELECT inet_server_port()"
    for function, nodes in (("workers", cluster.workers), ("all_nodes", cluster.nodes)):
        found = rows(coordinator, f"SELECT success, result FROM run_command_on_{function}(%s) "
                     "ORDER BY result", [port])
        assert found == [(True, str(node.port)) for node in nodes]
    found = rows(coordinator, "SELECT success, result FROM run_command_on_workers('SELECT 1/0')")
    assert [row[0] for row in found] == [False, False]
    assert all("division by zero" in row[1] for row in found)


def test_one_server_is_a_cluster(make_cluster, connect):
    """Without any node added, tables are distributed over the one server there is."""
    connection = connect(make_cluster(kind="bare", workers=0).coordinator)
    connection.execute("CREATE TABLE t (a int PRIMARY KEY, b text)")
    connection.execute("CREATE TABLE r (b text PRIMARY KEY)")
    connection.execute("SELECT create_distributed_table('t', 'a')")
    connection.execute("SELECT create_reference_table('r')")
    connection.execute("INSERT INTO t SELECT g, g % 3 FROM generate_series(1, 300) g")
    connection.execute("INSERT INTO r VALUES ('1')")
    assert value(connection, "SELECT count(*) FROM t") == 300
    assert value(connection, "SELECT count(*) FROM t JOIN r USING (b)") == 100
    assert value(connection, "SELECT b FROM t WHERE a = 7") == "1"
    connection.execute("DROP TABLE t, r")
    assert value(connection, "SELECT count(*) FROM pg_dist_shard") == 0


def test_new_node_gets_what_exists(make_cluster, connect):
    """A node added later has the tables, the metadata, and the reference tables' rows."""
    made = make_cluster(kind="bare", workers=2)
    first = connect(made.coordinator)
    first.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [made.coordinator.port])
    add(first, made.workers[0])
    first.execute("""
        CREATE SCHEMA "Other Schema";
        CREATE TYPE "Other Schema".mood AS ENUM ('well', 'so so');
        CREATE TABLE t (a bigserial PRIMARY KEY, m "Other Schema".mood, n int DEFAULT 5);
        CREATE TABLE "Other Schema"."R" (a int PRIMARY KEY, b text);
        CREATE TABLE plain (a int);
    """)
    first.execute("SELECT create_distributed_table('t', 'a')")
    first.execute("""SELECT create_reference_table('"Other Schema"."R"')""")
    first.execute("INSERT INTO t (m) SELECT 'well' FROM generate_series(1, 200)")
    first.execute("""INSERT INTO "Other Schema"."R" VALUES (1, 'one'), (2, 'two')""")

    add(first, made.workers[1])

    other = connect(made.workers[1])
    assert value(other, "SELECT count(*) FROM t") == 200
    assert rows(other, """SELECT * FROM "Other Schema"."R" ORDER BY a""") == \
        [(1, "one"), (2, "two")]
    assert value(other, "SELECT to_regclass('plain')") is None
    metadata = on_every_node(made, "SELECT logicalrelid::text, partmethod, colocationid "
                                   "FROM pg_dist_partition ORDER BY 1")
    assert metadata["coordinator"] == metadata["worker2"]
    other.execute("INSERT INTO t (m) VALUES ('so so')")
    other.execute("""UPDATE "Other Schema"."R" SET b = 'uno' WHERE a = 1""")
    assert value(first, "SELECT n FROM t WHERE m = 'so so'") == 5
    assert value(connect(made.workers[0]), """SELECT b FROM "Other Schema"."R" WHERE a = 1""") == \
        "uno"

    # New tables use the new node.
    first.execute("CREATE TABLE later (a int); SELECT create_distributed_table('later', 'a', "
                  "colocate_with => 'none')")
    assert value(first, "SELECT count(DISTINCT nodeport) FROM citus_shards "
                 "WHERE table_name = 'later'::regclass") >= 2


def test_add_node_twice_gives_the_same_id(own_cluster, connect):
    connection = connect(own_cluster.coordinator)
    before = rows(connection, NODES)
    assert add(connection, own_cluster.workers[0]) == add(connection, own_cluster.workers[0])
    assert rows(connection, NODES) == before


def test_remove_and_add_again(own_cluster, connect):
    connection = connect(own_cluster.coordinator)
    node = own_cluster.workers[1]
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [node.port])
    assert node.port not in [row[1] for row in rows(connection, NODES)]
    assert [row[1] for row in rows(connect(own_cluster.workers[0]), NODES)] == \
        [n.port for n in own_cluster.nodes[:2]]
    add(connection, node)
    known = on_every_node(own_cluster, NODES)
    assert known["coordinator"] == known["worker1"] == known["worker2"]


def test_coordinator_does_not_leave(cluster, connect):
    """Called on the wrong server, leave_cluster() would make the coordinator forget all nodes and tables."""
    connection = connect(cluster.coordinator)
    before = rows(connection, NODES)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="the coordinator can't leave") as caught:
        connection.execute("SELECT citus_internal.leave_cluster()")
    assert "citus_remove_node" in caught.value.diag.message_hint
    assert rows(connection, NODES) == before


def test_node_with_shards_is_not_removed(own_cluster, connect):
    connection = connect(own_cluster.coordinator)
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a')")
    before = footprint(own_cluster)
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("SELECT citus_remove_node('127.0.0.1', %s)",
                           [own_cluster.workers[0].port])
    assert caught.value.diag.sqlstate not in (None, "XX000")
    assert footprint(own_cluster) == before


def test_should_have_shards(own_cluster, connect):
    """A node that should have no shards gets none of the next table."""
    connection = connect(own_cluster.coordinator)
    port = own_cluster.workers[1].port
    connection.execute("SELECT citus_set_node_property('127.0.0.1', %s, 'shouldhaveshards', false)",
                       [port])
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a')")
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE nodeport = %s", [port]) == 0


def test_inactive_node(make_cluster, connect):
    """A node may be known without being used, until it is activated."""
    made = make_cluster(kind="bare", workers=1)
    connection = connect(made.coordinator)
    port = made.workers[0].port
    connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)",
                       [made.coordinator.port])
    add(connection, made.workers[0], "citus_add_inactive_node")
    assert value(connection, "SELECT isactive FROM pg_dist_node WHERE nodeport = %s",
                 [port]) is False
    assert rows(connection, "SELECT * FROM citus_get_active_worker_nodes()") == []
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a')")
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE nodeport = %s", [port]) == 0
    connection.execute("SELECT citus_activate_node('127.0.0.1', %s)", [port])
    assert value(connection, "SELECT isactive FROM pg_dist_node WHERE nodeport = %s", [port])
    assert value(connect(made.workers[0]), "SELECT count(*) FROM t") == 0


class TestRefusals:
    """Nodes that can't be added: a clear error, and nothing has changed anywhere."""

    def refused(self, connection, made, port, *words):
        before = footprint(made), rows(connection, NODES)
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [port])
        text = f"{caught.value} {caught.value.diag.message_detail} " \
               f"{caught.value.diag.message_hint}".lower()
        for word in words:
            assert word in text
        assert caught.value.diag.sqlstate != "XX000"
        assert (footprint(made), rows(connection, NODES)) == before

    def test_unreachable(self, own_cluster, connect):
        connection = connect(own_cluster.coordinator)
        self.refused(connection, own_cluster, 1, "127.0.0.1:1")

    def test_without_extension(self, own_cluster, make_cluster, connect):
        plain = make_cluster(kind="plain")
        self.refused(connect(own_cluster.coordinator), own_cluster, plain.coordinator.port,
                     "extension")

    def test_belongs_to_another_cluster(self, own_cluster, make_cluster, connect):
        other = make_cluster(workers=1)
        self.refused(connect(own_cluster.coordinator), own_cluster, other.workers[0].port,
                     "cluster")
        assert rows(connect(other.coordinator), NODES)

    def test_unknown_node(self, own_cluster, connect):
        connection = connect(own_cluster.coordinator)
        for call in ("citus_remove_node('127.0.0.1', 1)", "citus_disable_node('127.0.0.1', 1)",
                     "citus_activate_node('127.0.0.1', 1)",
                     "citus_set_node_property('127.0.0.1', 1, 'shouldhaveshards', true)",
                     "citus_update_node(4711, '127.0.0.1', 1)"):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(f"SELECT {call}")
            assert caught.value.diag.sqlstate not in (None, "XX000"), call


def test_node_changes_roll_back(own_cluster, connect):
    """Node management is transactional: a rollback undoes it on every node."""
    connection = connect(own_cluster.coordinator, autocommit=False)
    before = on_every_node(own_cluster, NODES)
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [own_cluster.workers[1].port])
    connection.rollback()
    assert on_every_node(own_cluster, NODES) == before


def test_commit_whose_messages_are_late(own_cluster, connect):
    """A session that reads a placement anew before it hears of the node that came in the same transaction finds the node."""
    left = own_cluster.workers[1]
    connection, reader = connect(own_cluster.coordinator), connect(own_cluster.coordinator)
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [left.port])
    for table in "t", "u":
        connection.execute(f"CREATE TABLE {table} (k int); SELECT create_distributed_table('{table}', 'k', shard_count => 1)")
    reader.execute("SELECT * FROM u")
    stopped = Stopped(own_cluster.coordinator, "xact-after-commit", f"""BEGIN; SELECT citus_add_node('127.0.0.1', {left.port});
        UPDATE pg_dist_placement SET groupid = (SELECT max(groupid) FROM pg_dist_node); COMMIT""")
    with pytest.raises(psycopg.errors.UndefinedTable):      # as it asks that node, which has no such shard
        reader.execute("SELECT * FROM t")
    assert stopped.go_on() is None


def test_ordinary_users_may_not(cluster, coordinator, connect):
    """Node management is for superusers; a role without rights is told so."""
    coordinator.execute("DROP ROLE IF EXISTS node_nobody; CREATE ROLE node_nobody LOGIN")
    try:
        connection = connect(cluster.coordinator, user="node_nobody")
        for call in ("citus_add_node('127.0.0.1', 1)", "citus_remove_node('127.0.0.1', 1)",
                     "citus_set_coordinator_host('127.0.0.1', 1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT {call}")
    finally:
        connection.close()
        coordinator.execute("DROP ROLE node_nobody")
