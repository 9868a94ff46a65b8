"""Processes that die at each point at which columnar tables are written, like kill -9: nothing is lost or doubled, on a standby neither."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until
from harness.stopped import commit_at
from pomelo_cluster import find_free_ports

WRITES = ["INSERT INTO s.t SELECT i, 1 FROM generate_series(10001, 13000) i",
          "WITH d AS (DELETE FROM s.t WHERE a % 10 = 3 RETURNING a) INSERT INTO s.t SELECT a + 20000, 2 FROM d"]
CHANGES = ["DELETE FROM s.t WHERE a % 10 = 4", "UPDATE s.t SET v = v + 1 WHERE a % 10 = 5", "SELECT FROM s.t WHERE a % 10 = 6 FOR UPDATE"]
MAINTENANCE = ["SELECT columnar.compact('s.t')", "VACUUM FULL s.t", "CLUSTER s.t USING t_pkey", "ALTER TABLE s.t ALTER v TYPE bigint",
               "CREATE MATERIALIZED VIEW s.m USING columnar AS TABLE s.t"]
POINTS = {
    "columnar-reserve": WRITES + MAINTENANCE,
    "columnar-stream": WRITES + MAINTENANCE,
    "columnar-store": WRITES + MAINTENANCE,
    "columnar-complete": WRITES + MAINTENANCE,
    "columnar-head": CHANGES,
    "columnar-mark": CHANGES[:2] + WRITES[1:],
    "columnar-move": MAINTENANCE[:1],
    "columnar-compacted": MAINTENANCE[:1],
    "columnar-rewrite": MAINTENANCE[1:3],
    "columnar-vacuum": ["VACUUM s.t", "VACUUM (FREEZE) s.t"],
    "columnar-index": ["REINDEX TABLE s.t", "CREATE INDEX ON s.t (v)", "VACUUM FULL s.t", "CREATE INDEX CONCURRENTLY i ON s.t (v); DROP INDEX s.i"],
}
CONTENT = "SELECT count(*), sum(a), sum(v), count(DISTINCT a) FROM s.t"


def fill(connection):
    """Stripes, one of them with deleted and updated rows, and rows beside them."""
    connection.execute("DROP SCHEMA IF EXISTS s CASCADE; CREATE SCHEMA s; CREATE TABLE s.t (a int PRIMARY KEY, v int) USING columnar "
                       "WITH (columnar.stripe_row_limit = 1000)")
    connection.execute("INSERT INTO s.t SELECT i, 0 FROM generate_series(1, 3000) i; DELETE FROM s.t WHERE a % 10 = 1; UPDATE s.t SET v = 7 WHERE a % 10 = 2")


def is_sound(connection):
    """No damage, and indexes find the rows."""
    assert rows(connection, "SELECT * FROM columnar.check_table('s.t')") == []
    found = rows(connection, "SELECT a, v FROM s.t ORDER BY a")
    with connection.transaction():
        connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off; SET LOCAL columnar.enable_custom_scan = off")
        assert rows(connection, "SELECT a, v FROM s.t WHERE a > 0 ORDER BY a") == found


def connect_again(node):
    """A session, once the server has recovered."""
    opened = []

    def can_connect():
        try:
            opened.append(servers.connect(node))
            return True
        except psycopg.OperationalError:
            return False

    wait_until(can_connect, "the server to recover")
    return opened[0]


def kill_at(node, point, statement):
    """Runs the statement's first part up to the point, where its process dies; returns when the server has told all sessions."""
    with servers.connect(node) as other:
        with pytest.raises(psycopg.OperationalError):
            commit_at(node, point, "kill").execute(statement.split(";")[0])

        def is_gone():
            try:
                return value(other, "SELECT false")
            except psycopg.OperationalError:
                return True

        wait_until(is_gone, "the server to end all sessions")


@pytest.mark.one_of("point")
@pytest.mark.parametrize("point", POINTS)
def test_kill_at(make_cluster, point):
    made = make_cluster(kind="bare", workers=0, settings={"autovacuum": "off", "columnar.row_wise_limit": "100"})
    node = made.coordinator
    standby = made.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50))
    for statement in POINTS[point]:
        with connect_again(node) as connection:
            fill(connection)
            before = rows(connection, CONTENT)
        kill_at(node, point, statement)
        with connect_again(node) as connection:
            assert rows(connection, CONTENT) == before, statement
            connection.execute("DROP INDEX IF EXISTS s.i")
            is_sound(connection)
            connection.execute("SELECT columnar.compact('s.t')")
            assert rows(connection, CONTENT) == before, statement
            for command in statement.split(";"):
                connection.execute(command)
            is_sound(connection)
    with connect_again(node) as connection:
        fill(connection)
    kill_at(node, point, POINTS[point][0])
    with connect_again(node) as connection:
        after = rows(connection, CONTENT)
        end = value(connection, "SELECT pg_current_wal_flush_lsn()")
    with servers.connect(standby) as connection:
        wait_until(lambda: value(connection, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [end]), "the standby to have all")
        assert rows(connection, CONTENT) == after
        is_sound(connection)
    node.kill()
    standby.promote()
    with servers.connect(standby) as connection:
        is_sound(connection)
        for command in ("INSERT INTO s.t SELECT i, 1 FROM generate_series(50001, 53000) i", "VACUUM s.t", "REINDEX TABLE s.t"):
            connection.execute(command)
        assert rows(connection, CONTENT)[0][0] == after[0][0] + 3000
        is_sound(connection)
