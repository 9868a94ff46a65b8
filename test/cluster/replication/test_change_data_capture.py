"""A server outside the cluster subscribes to distributed tables: one subscription for each node (src/decoding)."""

import psycopg
import pytest

from harness import servers
from harness.servers import connect as connect_to
from harness.servers import rows, value, wait_until
from harness.stopped import Stopped

pytestmark = pytest.mark.some(2)     # each makes a cluster

EVERYTHING = "SELECT * FROM events ORDER BY tenant, id", "SELECT * FROM kinds ORDER BY kind", "SELECT * FROM places ORDER BY place"


@pytest.fixture
def published(make_cluster):
    """A cluster that publishes tables of all kinds."""
    made = make_cluster(settings={"citus.enable_change_data_capture": "on"})
    with connect_to(made.coordinator) as connection:
        for statement in ("CREATE TABLE events (gone int, tenant int, extra text, id int, payload text, PRIMARY KEY (tenant, id))",
                          "CREATE TABLE kinds (kind int PRIMARY KEY, name text)",
                          "CREATE TABLE places (place int PRIMARY KEY, name text)",
                          "ALTER TABLE events DROP COLUMN gone",
                          "CREATE PUBLICATION published FOR TABLE events, kinds, places"):
            connection.execute(statement)
    return made


@pytest.fixture
def subscriber(published):
    """A connection to a plain server with the same tables, and without a subscription."""
    with servers.cluster(purpose="check-subscriber", kind="plain", workers=0, settings={"wal_retrieve_retry_interval": "100ms"}) as plain, \
            connect_to(plain.coordinator) as connection:
        connection.execute("CREATE TABLE events (tenant int, id int, payload text, extra text, added int, PRIMARY KEY (tenant, id))")
        connection.execute("CREATE TABLE kinds (kind int PRIMARY KEY, name text)")
        connection.execute("CREATE TABLE places (place int PRIMARY KEY, name text)")
        yield connection
        for name, in rows(connection, "SELECT subname FROM pg_subscription"):
            connection.execute(f"DROP SUBSCRIPTION {name}")


def subscribe(subscriber, nodes, publication="published"):
    for node in nodes:
        subscriber.execute(f"CREATE SUBSCRIPTION of_{node.name} CONNECTION 'host=127.0.0.1 port={node.port} user=postgres dbname=postgres' "
                           f"PUBLICATION {publication} WITH (copy_data = false)")


def contents(connection):
    return [rows(connection, query.replace("*", "tenant, id, payload, extra") if "events" in query else query) for query in EVERYTHING]


def wait_until_same(subscriber, node):
    """Until the subscriber has what the cluster has; what comes too late, or twice, is seen later, or never gets there."""
    with connect_to(node) as connection:
        expected = contents(connection)
    wait_until(lambda: contents(subscriber) == expected, "the subscriber to have what the cluster has")


def shard_of(connection, table, key):
    return value(connection, "SELECT get_shard_id_for_distribution_column(%s, %s)", [table, key])


def write(nodes, number):
    """Inserts, updates and deletes on all nodes, rows of all tables."""
    for position, node in enumerate(nodes):
        with connect_to(node) as connection:
            first = number * 1000 + position * 100
            connection.execute(f"INSERT INTO events SELECT g %% 13, NULL, g, repeat(g::text, 1000) FROM generate_series({first}, {first + 40}) g"
                               .replace("%%", "%"))
            with connection.cursor().copy("COPY events (tenant, id, payload) FROM STDIN") as copy:
                for g in range(first + 50, first + 90):
                    copy.write_row((g % 17, g, "copied"))
            connection.execute(f"UPDATE events SET extra = id::text WHERE id BETWEEN {first} AND {first + 20}")
            connection.execute(f"UPDATE events SET tenant = tenant + 100 WHERE id BETWEEN {first + 15} AND {first + 18}")
            connection.execute(f"DELETE FROM events WHERE id IN ({first + 3}, {first + 16}, {first + 60})")
            connection.execute(f"INSERT INTO kinds VALUES ({first}, 'a'), ({first + 1}, 'b')")
            connection.execute(f"UPDATE kinds SET name = 'c' WHERE kind = {first}")
            with connection.transaction():
                connection.execute(f"INSERT INTO places VALUES ({first}, 'one')")
                connection.execute(f"DELETE FROM kinds WHERE kind = {first + 1}")
                connection.execute(f"UPDATE events SET payload = 'both' WHERE id IN ({first + 30}, {first + 33})")


def distribute(connection):
    connection.execute("SELECT create_distributed_table('events', 'tenant', shard_count => 4)")
    connection.execute("SELECT create_reference_table('kinds')")
    connection.execute("SELECT create_distributed_table('places', NULL)")


def move_a_shard(connection, nodes):
    shard = shard_of(connection, "events", 1)
    source = value(connection, "SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = %s", [shard])
    target = next(node.port for node in nodes[1:] if node.port != source)
    connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s)", [shard, source, target])


def test_changes_come_once(published, subscriber):
    """From all nodes, whatever is copied between shards meanwhile, and under the table's name."""
    nodes = published.nodes
    subscribe(subscriber, nodes[:1])
    with connect_to(published.coordinator) as connection:
        connection.execute("INSERT INTO events SELECT g, 'x', g, 'local' FROM generate_series(1, 30) g")
        connection.execute("INSERT INTO kinds VALUES (1, 'local')")
        connection.execute("SELECT create_distributed_table('events', 'tenant', shard_count => 4)")
        connection.execute("SELECT create_reference_table('kinds')")
        connection.execute("SELECT create_distributed_table('places', NULL)")
        subscribe(subscriber, nodes[1:])
        connection.execute("UPDATE events SET extra = 'distributed' WHERE tenant = 5")
        write(nodes, 1)
        wait_until_same(subscriber, nodes[1])

        for key, target in ((1, nodes[2]), (1, nodes[1]), (1, nodes[2])):
            move = "SELECT citus_move_shard_placement(%s, %s, %s, '127.0.0.1', %s)"
            shard = shard_of(connection, "events", key)
            source = value(connection, "SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = %s", [shard])
            if source != target.port:
                connection.execute(move, [shard, "127.0.0.1", source, target.port])
        write(nodes, 2)
        wait_until_same(subscriber, nodes[2])

        connection.execute("SELECT isolate_tenant_to_new_shard('events', 3, 'CASCADE')")
        write(nodes, 3)
        wait_until_same(subscriber, nodes[0])


@pytest.mark.parametrize("point", ["move-slot-made", "move-before-switch"])
def test_changes_during_a_move(published, subscriber, point):
    """What is written while a shard is copied, and applied at its new place, comes once."""
    nodes = published.nodes
    with connect_to(published.coordinator) as connection:
        connection.execute("SELECT create_distributed_table('events', 'tenant', shard_count => 4)")
        connection.execute("SELECT create_reference_table('kinds')")
        connection.execute("SELECT create_distributed_table('places', NULL)")
        subscribe(subscriber, nodes)
        write(nodes, 1)
        shard = shard_of(connection, "events", 1)
        source = value(connection, "SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = %s", [shard])
        target = next(node.port for node in nodes[1:] if node.port != source)
        stopped = Stopped(published.coordinator, point,
                          f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {source}, '127.0.0.1', {target})")
        write(nodes, 2)
        assert stopped.go_on() is None
        write(nodes, 3)
        wait_until_same(subscriber, nodes[2])


def test_definitions_change(published, subscriber):
    """Columns that come and go, and other shards."""
    with connect_to(published.coordinator) as connection:
        connection.execute("SELECT create_distributed_table('events', 'tenant', shard_count => 4)")
        connection.execute("SELECT create_reference_table('kinds')")
        connection.execute("SELECT create_distributed_table('places', NULL)")
        subscribe(subscriber, published.nodes)
        write(published.nodes, 1)
        connection.execute("ALTER TABLE events ADD COLUMN added int DEFAULT 7")
        write(published.nodes, 2)
        connection.execute("ALTER TABLE events DROP COLUMN added")
        connection.execute("SELECT alter_distributed_table('events', shard_count => 6)")
        write(published.nodes, 3)
        connection.execute("SELECT alter_distributed_table('events', distribution_column => 'id')")
        write(published.nodes, 4)
        wait_until_same(subscriber, published.coordinator)


def test_truncate(published, subscriber):
    """It empties the subscriber's tables, and each node that has shards tells it once."""
    nodes = published.nodes
    with connect_to(published.coordinator) as connection:
        distribute(connection)
        subscribe(subscriber, nodes)
        for node in nodes:
            with connect_to(node) as there:
                there.execute("SELECT pg_create_logical_replication_slot('looked_at', 'pgoutput')")
        for number, truncating in enumerate((nodes[0], nodes[2])):
            write(nodes, number + 1)
            wait_until_same(subscriber, nodes[0])
            with connect_to(truncating) as there:
                there.execute("TRUNCATE events, kinds, places")
            wait_until_same(subscriber, nodes[0])
            assert contents(subscriber) == [[], [], []]
        write(nodes, 3)
        wait_until_same(subscriber, nodes[0])
        placed = {port for port, in rows(connection, "SELECT nodeport FROM citus_shards WHERE citus_table_type <> 'reference'")}
    for node in nodes:
        with connect_to(node) as there:
            messages = rows(there, "SELECT get_byte(data, 4) FROM pg_logical_slot_get_binary_changes('looked_at', NULL, NULL, "
                                   "'proto_version', '2', 'publication_names', 'published') WHERE get_byte(data, 0) = ascii('T')")
            there.execute("SELECT pg_drop_replication_slot('looked_at')")
        assert len(messages) == (2 if node == nodes[0] or node.port in placed else 0)
    assert len(placed) == 2


@pytest.mark.parametrize("objects", ["ALL TABLES", "TABLES IN SCHEMA public"])
def test_publications_without_a_list(published, subscriber, objects):
    """Subscribers see neither shards nor the catalogs of the extension."""
    nodes = published.nodes
    with connect_to(published.coordinator) as connection:
        distribute(connection)
        connection.execute(f"CREATE PUBLICATION broad FOR {objects}")
        subscribe(subscriber, nodes, "broad")
        assert value(subscriber, "SELECT count(DISTINCT srrelid) FROM pg_subscription_rel") == 3
        write(nodes, 1)
        move_a_shard(connection, nodes)
        connection.execute("SELECT isolate_tenant_to_new_shard('events', 3, 'CASCADE')")
        write(nodes, 2)
        wait_until_same(subscriber, nodes[1])


def test_no_replica_identity(published):
    """Updates that a subscriber could not follow are refused."""
    with connect_to(published.coordinator) as connection:
        for statement in ("CREATE TABLE unique_rows (tenant int UNIQUE, seen int)", "SELECT create_distributed_table('unique_rows', 'tenant')",
                          "CREATE PUBLICATION of_unique_rows FOR TABLE unique_rows",
                          "CREATE TABLE keyless (tenant int, seen int) PARTITION BY RANGE (seen)",
                          "CREATE TABLE keyless_1 PARTITION OF keyless FOR VALUES FROM (0) TO (10)",
                          "SELECT create_distributed_table('keyless', 'tenant')",
                          "INSERT INTO keyless VALUES (1, 1), (2, 2)",
                          "PREPARE by_tenant AS UPDATE keyless_1 SET seen = seen + 1 WHERE tenant = $1",
                          "EXECUTE by_tenant(1)",
                          "CREATE PUBLICATION of_keyless FOR TABLE keyless"):
            connection.execute(statement)
        for statement in ("EXECUTE by_tenant(1)", "UPDATE keyless SET seen = 3 WHERE tenant = 1", "DELETE FROM keyless",
                          "WITH gone AS (DELETE FROM keyless_1 RETURNING *) SELECT count(*) FROM gone",
                          "INSERT INTO unique_rows VALUES (1, 1) ON CONFLICT (tenant) DO UPDATE SET seen = 2",
                          "MERGE INTO unique_rows u USING keyless k ON u.tenant = k.tenant WHEN MATCHED THEN DELETE"):
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="replica identity"):
                connection.execute(statement)
        connection.execute("INSERT INTO keyless VALUES (3, 3)")
        connection.execute("INSERT INTO unique_rows VALUES (1, 1) ON CONFLICT (tenant) DO NOTHING")
        connection.execute("ALTER TABLE keyless_1 REPLICA IDENTITY FULL")
        connection.execute("EXECUTE by_tenant(1)")
        connection.execute("DELETE FROM keyless")


def test_conversions_between_writes(published, subscriber):
    """In one transaction: what they copy is left out, and nothing else."""
    nodes = published.nodes
    with connect_to(published.coordinator) as connection:
        connection.execute("SELECT create_distributed_table('events', 'tenant', shard_count => 4)")
        notices = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        connection.execute("CREATE PUBLICATION mixed FOR TABLE events, kinds")
        connection.execute("CREATE PUBLICATION of_events FOR TABLE events")
        assert notices == ['publication "mixed" is not on the other nodes']
        subscribe(subscriber, nodes, "of_events")
        connection.execute("INSERT INTO kinds VALUES (1, 'local'); INSERT INTO places VALUES (1, 'local')")
        insert = "INSERT INTO events SELECT g, NULL, {0} + g, 'x' FROM generate_series(1, 20) g"
        with connection.transaction():
            connection.execute(insert.format(0))
            connection.execute("SELECT create_reference_table('kinds')")
            connection.execute("INSERT INTO kinds VALUES (2, 'copied')")
            connection.execute("SELECT create_distributed_table('places', 'place', shard_count => 3)")
            connection.execute(insert.format(100))
            connection.execute("INSERT INTO places SELECT g, 'new' FROM generate_series(2, 10) g")
            connection.execute("SELECT alter_distributed_table('events', shard_count => 6)")
            connection.execute(insert.format(200))
            connection.execute("SELECT undistribute_table('places')")
        expected = rows(connection, "SELECT tenant, id FROM events ORDER BY 1, 2")
    wait_until(lambda: rows(subscriber, "SELECT tenant, id FROM events ORDER BY 1, 2") == expected, "the rows of events")


def test_wal2json(published):
    """It tells of shards by the table's name; the server may have to be told that it may be used."""
    with connect_to(published.coordinator) as connection, connect_to(published.workers[0]) as worker:
        distribute(connection)
        connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", [published.workers[1].port])
        if rows(worker, "SELECT FROM pg_settings WHERE name = 'output_plugin_libraries'"):
            worker.execute("SET output_plugin_libraries = 'wal2json'")
        try:
            worker.execute("SELECT pg_create_logical_replication_slot('json', 'wal2json')")
        except psycopg.errors.UndefinedFile:
            pytest.skip("wal2json is not installed in this server (Debian's postgresql-VERSION-wal2json)")
        for statement in ("INSERT INTO events VALUES (1, 'x', 2, 'y')", "UPDATE events SET extra = NULL", "DELETE FROM events",
                          "INSERT INTO kinds VALUES (1, 'a')", "INSERT INTO places VALUES (1, 'b')", "TRUNCATE places, events, kinds"):
            connection.execute(statement)
        changes = rows(worker, "SELECT c->>'action', c->>'schema', c->>'table' FROM pg_logical_slot_get_changes('json', NULL, NULL, "
                               "'format-version', '2', 'include-transaction', 'false') x, LATERAL (SELECT x.data::json AS c) y")
        worker.execute("SELECT pg_drop_replication_slot('json')")
    assert changes[:4] == [(action, "public", table) for action, table in zip("IUDI", ["events"] * 3 + ["places"])]
    assert sorted(changes[4:]) == [("T", "public", "events"), ("T", "public", "places")]
