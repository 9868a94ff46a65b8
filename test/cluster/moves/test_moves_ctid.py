"""What writes or locks rows by ctids that it has read itself doesn't miss rows because their shard is moved between the two."""

import psycopg
import pytest

from harness.servers import pid_of, rows, value, wait_until
from harness.statement import Statement

GATE = 7041


@pytest.fixture
def queue(coordinator, schema):
    """Forty rows of a table, and functions that return what they are given once the gate is open.

    The latter also locks a table, by which the session learns of moves before it locks rows.
    """
    coordinator.execute(f"""SET search_path = {schema};
        CREATE TABLE queue (id int, v text);
        SELECT create_distributed_table('queue', 'id', shard_count => 4, colocate_with => 'none');
        INSERT INTO queue SELECT g, 'new' FROM generate_series(1, 40) g;
        SET citus.enable_ddl_propagation = off;
        CREATE FUNCTION held(ctids tid[]) RETURNS tid[] LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN ctids; END';
        CREATE FUNCTION held(rows int) RETURNS int LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); PERFORM FROM pg_am; RETURN rows; END'""")
    return f"{schema}.queue"


FOUND = "(SELECT held(array_agg(ctid)) FROM (SELECT ctid FROM queue ORDER BY id LIMIT 6) x)"
FOUND_TEXT = FOUND.replace("held(array_agg(ctid))", "held(array_agg(ctid))::text[]")


@pytest.mark.parametrize("write", [
    f"UPDATE queue SET v = 'taken' WHERE ctid = ANY ({FOUND}::tid[])",
    f"DELETE FROM queue WHERE ctid = ANY ({FOUND}::tid[])",
    f"UPDATE queue SET v = 'taken' WHERE ctid::text = ANY ({FOUND_TEXT}::text[])",
    f"DELETE FROM queue WHERE position(ctid::text IN {FOUND_TEXT}::text) > 0",
    f"UPDATE queue SET v = 'taken' FROM unnest({FOUND}) f WHERE queue.ctid = f",
    f"WITH f AS MATERIALIZED (SELECT unnest({FOUND}) AS c) DELETE FROM queue WHERE ctid IN (SELECT c FROM f)",
    "SELECT id FROM queue ORDER BY id LIMIT held(6) FOR UPDATE SKIP LOCKED"])
def test_write_by_ctid(cluster, coordinator, connect, queue, write):
    """The moved shard's rows are at other places: the statement can't do its work, and says that it may be tried again."""
    gate, mover = connect(cluster.coordinator), connect(cluster.coordinator)
    gate.execute("SELECT pg_advisory_lock(%s)", [GATE])
    writer = Statement(coordinator, write)
    wait_until(lambda: value(gate, "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND NOT granted",
                             [pid_of(coordinator)]) == 1, "the write to stand at the gate")
    for shard, source in rows(mover, "SELECT shardid, nodeport FROM citus_shards WHERE table_name = %s::regclass", [queue]):
        target = next(node.port for node in cluster.workers if node.port != source)
        mover.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'force_logical')",
                      [shard, source, target])
    gate.execute("SELECT pg_advisory_unlock(%s)", [GATE])
    assert isinstance(writer.finish(), psycopg.errors.SerializationFailure)
    assert rows(coordinator, "SELECT v, count(*) FROM queue GROUP BY 1") == [("new", 40)]
    assert coordinator.execute(write).rowcount == 6
