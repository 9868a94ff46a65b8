"""A columnar table when the disk has no more room: statements fail, and no row is lost or doubled."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value

# A WAL segment must fit, since a server that can't write WAL stops.
LIMIT = 17 * 1024 * 1024
ROWS = 300_000
CONTENT = "SELECT count(*), count(DISTINCT a), sum(a), sum(v), count(*) FILTER (WHERE t = md5(a::text)) FROM t"


def fails_for_room(connection, statement):
    """The statement fails since its session can't extend a file; the session stays."""
    with pytest.raises(psycopg.Error) as failed:
        connection.execute(statement)
    assert "could not extend file" in str(failed.value), failed.value


def test_out_of_disk(make_cluster):
    """The limit is one of the session's process: files that it writes must not be longer."""
    made = make_cluster(settings={"columnar.compaction_naptime": "-1", "autovacuum": "off"}, workers=0)
    with servers.connect(made.coordinator) as session, servers.connect(made.coordinator) as limited:
        session.execute("CREATE TABLE t (a int, v int, t text) USING columnar WITH (columnar.compression = none)")
        session.execute(f"INSERT INTO t SELECT i, 0, md5(i::text) FROM generate_series(1, {ROWS}) i")
        session.execute("CREATE INDEX ON t (a)")
        session.execute("UPDATE t SET v = 1 WHERE a % 1000 = 0; DELETE FROM t WHERE a % 1000 = 1")
        expected = rows(session, CONTENT)
        session.execute(f"COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; prlimit --fsize={LIMIT} --pid {limited.info.backend_pid}'")
        fails_for_room(limited, f"INSERT INTO t SELECT i, 0, md5(i::text) FROM generate_series({ROWS + 1}, {2 * ROWS}) i")
        assert rows(limited, CONTENT) == expected == rows(session, CONTENT)
        fails_for_room(limited, "SELECT columnar.compact('t')")
        assert rows(limited, CONTENT) == expected == rows(session, CONTENT)
        limited.execute("BEGIN; UPDATE t SET v = 2 WHERE a = 5000; SAVEPOINT s")
        fails_for_room(limited, f"INSERT INTO t SELECT i, 0, md5(i::text) FROM generate_series({ROWS + 1}, {2 * ROWS}) i")
        limited.execute("ROLLBACK TO s; UPDATE t SET v = 1 WHERE a = 5000; COMMIT")
        assert rows(limited, CONTENT) == expected == rows(session, CONTENT)
        session.execute("VACUUM t")
        assert value(session, "SELECT columnar.compact('t')") > 0
        session.execute("VACUUM t")
        session.execute("SET enable_seqscan = off")
        assert rows(session, CONTENT) == expected
        assert value(session, "SELECT t = md5('77777') FROM t WHERE a = 77777")
        session.execute("DELETE FROM t WHERE a % 2 = 0")
        session.execute("VACUUM FULL t")
        assert value(limited, "SELECT count(*) FROM t") == ROWS / 2 - ROWS / 1000
