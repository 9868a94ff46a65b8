"""Logical replication from and to tables of the cluster: refused, rather than rows lost."""

import re

import psycopg
import pytest

from harness.servers import connect as connect_to
from harness.servers import rows, value, wait_until


@pytest.fixture
def publisher(cluster):
    """A database of a worker's server, without the extension, that publishes tables t and u."""
    node = cluster.workers[0]
    with connect_to(node) as connection:
        connection.execute("CREATE DATABASE published")
        with connect_to(node, dbname="published") as published:
            published.execute("CREATE TABLE t (k int PRIMARY KEY); CREATE TABLE u (k int PRIMARY KEY)")
            published.execute("INSERT INTO t VALUES (1); CREATE PUBLICATION both_tables FOR TABLE t, u")
            yield published
        connection.execute("DROP DATABASE published WITH (FORCE)")


@pytest.fixture
def tables(coordinator):
    coordinator.execute("CREATE TABLE t (k int PRIMARY KEY); CREATE TABLE u (k int PRIMARY KEY)")
    yield coordinator
    coordinator.execute("DROP TABLE t, u")


def subscribe(publisher, options=""):
    return (f"CREATE SUBSCRIPTION subscribed CONNECTION 'host=127.0.0.1 port={publisher.info.port} user=postgres "
            f"dbname=published' PUBLICATION both_tables {options}")


@pytest.mark.parametrize("distribute", ["create_distributed_table('t', 'k')", "create_reference_table('t')"])
def test_no_rows_beside_the_shards(publisher, tables, distribute):
    """Neither for a table that is distributed, nor for one that is going to be; and nothing is left at the publisher."""
    tables.execute(f"SELECT {distribute}")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="\"t\" cannot be the target of a subscription"):
        tables.execute(subscribe(publisher))
    assert value(publisher, "SELECT count(*) FROM pg_replication_slots WHERE database = 'published'") == 0
    assert value(tables, "SELECT count(*) FROM pg_subscription") == 0
    tables.execute("SELECT undistribute_table('t')")
    tables.execute(subscribe(publisher, "WITH (connect = false)"))
    tables.execute("ALTER SUBSCRIPTION subscribed SET (slot_name = NONE)")
    tables.execute("DROP SUBSCRIPTION subscribed")
    publisher.execute("SELECT pg_create_logical_replication_slot('own', 'pgoutput')")
    tables.execute(subscribe(publisher, "WITH (create_slot = false, slot_name = own, enabled = false)"))
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot distribute relation \"t\""):
        tables.execute(f"SELECT {distribute}")
    tables.execute("ALTER SUBSCRIPTION subscribed SET (slot_name = NONE)")
    tables.execute("DROP SUBSCRIPTION subscribed")
    tables.execute(f"SELECT {distribute}")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        tables.execute(subscribe(publisher, "WITH (create_slot = false, slot_name = own)"))
    assert rows(publisher, "SELECT slot_name FROM pg_replication_slots WHERE database = 'published'") == [("own",)]
    publisher.execute("SELECT pg_drop_replication_slot('own')")


def test_publications_say_what_they_lack(tables):
    """And stay on the node of the local tables that they have."""
    notices = []
    tables.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    tables.execute("SELECT create_distributed_table('t', 'k')")
    tables.execute("CREATE PUBLICATION published FOR TABLE t, u")
    tables.execute("ALTER PUBLICATION published DROP TABLE t")
    tables.execute("ALTER PUBLICATION published ADD TABLE t")
    tables.execute("DROP PUBLICATION published")
    assert notices == ["changes of distributed table \"t\" are not published"] * 2


def test_shards_can_be_published(cluster, tables):
    """Each node publishes the changes of its shards: together all rows, once, in relations named for the table."""
    tables.execute("SELECT create_distributed_table('t', 'k', shard_count => 4)")
    tables.execute("CREATE PUBLICATION shards FOR TABLES IN SCHEMA citus_data")
    slot = "SELECT FROM pg_create_logical_replication_slot('shards', 'pgoutput')"
    changes = "SELECT data FROM pg_logical_slot_get_binary_changes('shards', NULL, NULL, 'proto_version', '1', 'publication_names', 'shards')"
    for worker in cluster.workers:
        with connect_to(worker) as connection:
            connection.execute(slot)
    tables.execute("INSERT INTO t SELECT generate_series(1, 20)")
    seen = []
    for worker in cluster.workers:
        with connect_to(worker) as connection:
            seen += [bytes(message) for message, in rows(connection, changes)]
            connection.execute("SELECT pg_drop_replication_slot('shards')")
    inserted = sorted(int(message[13:]) for message in seen if message[:1] == b"I")
    assert inserted == list(range(1, 21))
    assert all(re.match(rb"R....citus_data\0t_\d+\0", message, re.DOTALL) for message in seen if message[:1] == b"R")
    tables.execute("DROP PUBLICATION shards")


FORWARD = """
CREATE FUNCTION forward() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO forwarded.t SELECT NEW.*;
    ELSIF TG_OP = 'UPDATE' THEN
        UPDATE forwarded.t SET k = NEW.k WHERE k = OLD.k;
    ELSE
        DELETE FROM forwarded.t WHERE k = OLD.k;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER forward AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION forward();
ALTER TABLE t ENABLE ALWAYS TRIGGER forward
"""


def test_a_local_table_passes_rows_on(publisher, tables):
    """What the hint says, and docs/README.md: first the rows that are there, then changes."""
    tables.execute("CREATE SCHEMA forwarded")
    try:
        tables.execute("CREATE TABLE forwarded.t (LIKE t INCLUDING ALL)")
        tables.execute("SELECT create_distributed_table('forwarded.t', 'k', shard_count => 4)")
        tables.execute(FORWARD)
        tables.execute(subscribe(publisher))
        publisher.execute("INSERT INTO t SELECT generate_series(2, 20)")
        publisher.execute("UPDATE t SET k = k + 100 WHERE k = 1")
        publisher.execute("DELETE FROM t WHERE k IN (5, 6)")
        expected = rows(publisher, "SELECT k FROM t ORDER BY k")
        wait_until(lambda: rows(tables, "SELECT k FROM forwarded.t ORDER BY k") == expected, "the rows to be in the shards")
    finally:
        tables.execute("DROP SUBSCRIPTION IF EXISTS subscribed")
        tables.execute("DROP SCHEMA forwarded CASCADE; DROP FUNCTION forward CASCADE")
