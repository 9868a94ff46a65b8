"""Savepoints and PL/pgSQL exception blocks while a shard moves do what they do when nothing moves."""

import os
import random
import signal

import psycopg
import pytest

from harness import servers
from harness.servers import on_every_node, pid_of, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import commit_at, is_stopped
from pomelo_check.sample import SEED

NODES = ["coordinator", "worker1", "worker2"]


@pytest.fixture(scope="module")
def moving():
    """A cluster in which a shard's move stands still: its writers send guarded tasks.  Yields cluster and the shard's keys."""
    with servers.cluster(purpose="check-moves-savepoints") as made:
        made.coordinator.sql("""
            CREATE TABLE mv (k int PRIMARY KEY, v text);
            SELECT create_distributed_table('mv', 'k', shard_count => 2, colocate_with => 'none');
            CREATE FUNCTION try_twice(key int) RETURNS text LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO mv VALUES (key, 'first');
                BEGIN
                    UPDATE mv SET v = 'second' WHERE k = key;
                    INSERT INTO mv VALUES (key, 'twice');
                EXCEPTION WHEN unique_violation THEN
                    UPDATE mv SET v = v || ' third' WHERE k = key;
                END;
                BEGIN
                    UPDATE mv SET v = v || ' fourth' WHERE k = key;
                END;
                RETURN (SELECT v FROM mv WHERE k = key);
            END $$""")
        for node in made.nodes:
            node.sql("SET citus.enable_ddl_propagation = off; CREATE TABLE plain (k int PRIMARY KEY, v text)")
        with servers.connect(made.coordinator) as connection:
            source = made.nodes[1].port
            shard, = rows(connection, """SELECT shardid FROM citus_shards WHERE table_name = 'mv'::regclass
                                         AND nodeport = %s LIMIT 1""", [source])[0]
            keys = {here: [key for key, in rows(connection, f"""
                SELECT k FROM generate_series(1, 200) k
                WHERE (get_shard_id_for_distribution_column('mv', k) = %s) = {here}""", [shard])] for here in (True, False)}
        target = made.nodes[2].port
        mover = commit_at(made.coordinator, "move-copied", "stop")
        pid = pid_of(mover)
        move = Statement(mover, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {source}, '127.0.0.1', {target}, "
                                "'force_logical')")
        wait_until(lambda: is_stopped(pid), "the move to stand still")
        try:
            yield made, keys
            assert is_stopped(pid)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert move.finish() is None
        mover.close()


@pytest.fixture(params=range(3), ids=NODES)
def client(moving, request):
    made, _ = moving
    with servers.connect(made.nodes[request.param]) as connection:
        yield connection
        connection.execute("ROLLBACK")
        connection.execute("DELETE FROM mv")


@pytest.mark.parametrize("statements, expected", [
    (["INSERT INTO mv VALUES ({k}, 'a')", "SAVEPOINT s", "UPDATE mv SET v = 'b' WHERE k = {k}", "ROLLBACK TO s"], "a"),
    (["INSERT INTO mv VALUES ({k}, 'a')", "SAVEPOINT s", "UPDATE mv SET v = 'b' WHERE k = {k}", "RELEASE s",
      "UPDATE mv SET v = v || 'c' WHERE k = {k}"], "bc"),
    (["INSERT INTO mv VALUES ({k}, 'a')", "SAVEPOINT s", "SAVEPOINT t", "UPDATE mv SET v = 'b' WHERE k = {k}", "ROLLBACK TO s",
      "UPDATE mv SET v = v || 'd' WHERE k = {k}", "ROLLBACK TO s", "UPDATE mv SET v = v || 'e' WHERE k = {k}"], "ae"),
    (["SAVEPOINT s", "INSERT INTO mv VALUES ({k}, 'a')", "ROLLBACK TO s", "INSERT INTO mv VALUES ({k}, 'b')", "RELEASE s"], "b"),
    (["SAVEPOINT s", "UPDATE mv SET v = 'x'", "INSERT INTO mv VALUES ({k}, 'a')", "SAVEPOINT s",
      "UPDATE mv SET v = v || 'y'", "RELEASE s", "UPDATE mv SET v = v || 'z'", "ROLLBACK TO s",
      "INSERT INTO mv VALUES ({k}, 'b')"], "b"),
    (["SELECT try_twice({k})"], "first third fourth"),
    (["SELECT try_twice({other})", "SAVEPOINT s", "SELECT try_twice({k})", "RELEASE s"], "first third fourth"),
])
def test_statements(moving, client, statements, expected):
    _, keys = moving
    with client.transaction():
        for statement in statements:
            client.execute(statement.format(k=keys[True][0], other=keys[False][0]))
        assert value(client, "SELECT v FROM mv WHERE k = %s", [keys[True][0]]) == expected
    assert value(client, "SELECT v FROM mv WHERE k = %s", [keys[True][0]]) == expected


def random_statement(chosen, keys):
    """A statement; only the first kind can fail."""
    key = chosen.choice(keys)
    return chosen.choice([
        f"INSERT INTO mv VALUES ({key}, 'n')",
        f"INSERT INTO mv VALUES ({key}, 'i') ON CONFLICT (k) DO UPDATE SET v = mv.v || 'i'",
        f"UPDATE mv SET v = v || 'u' WHERE k = {key}", "UPDATE mv SET v = v || 'a'",
        f"DELETE FROM mv WHERE k = {key}", f"SELECT * FROM mv WHERE k = {key}", "SELECT count(*) FROM mv",
        f"INSERT INTO mv SELECT k, 's' FROM unnest(ARRAY{keys}) k ON CONFLICT DO NOTHING",
        f"DO $$ BEGIN INSERT INTO mv VALUES ({key}, 'd'); EXCEPTION WHEN unique_violation THEN "
        f"UPDATE mv SET v = v || 'e' WHERE k = {key}; END $$",
    ])


def run_both(client, statement):
    """The statement on the distributed table, and on the plain one of the initiator: both fail, or none does."""
    both = [statement, statement.replace("mv", "plain")]
    if not statement.endswith("'n')"):
        client.execute("; ".join(both))
        return
    errors = []
    for text in both:
        client.execute("SAVEPOINT one")
        try:
            client.execute(text)
            errors.append(None)
        except psycopg.errors.UniqueViolation as error:
            errors.append(error.sqlstate)
            client.execute("ROLLBACK TO one")
        client.execute("RELEASE one")
    assert errors[0] == errors[1], (statement, errors)


def test_random_nesting(moving, client):
    """Random nesting of savepoints, of which some are rolled back, leaves what it leaves in a plain table."""
    _, keys = moving
    chosen = random.Random(SEED)
    some_keys = keys[True][:3] + keys[False][:2]
    for _ in range(8):
        open_savepoints = []
        with client.transaction():
            for _ in range(25):
                what = chosen.random()
                if what < 0.2:
                    open_savepoints.append(f"s{len(open_savepoints)}")
                    client.execute(f"SAVEPOINT {open_savepoints[-1]}")
                elif what < 0.4 and open_savepoints:
                    at = chosen.randrange(len(open_savepoints))
                    undone = chosen.random() < 0.6
                    client.execute(f"{'ROLLBACK TO' if undone else 'RELEASE'} {open_savepoints[at]}")
                    del open_savepoints[at + undone:]
                else:
                    run_both(client, random_statement(chosen, some_keys))
            assert rows(client, "SELECT * FROM mv ORDER BY k") == rows(client, "SELECT * FROM plain ORDER BY k")
        assert rows(client, "SELECT * FROM mv ORDER BY k") == rows(client, "SELECT * FROM plain ORDER BY k")
    client.execute("DELETE FROM plain")
    assert not any(on_every_node(moving[0], "SELECT gid FROM pg_prepared_xacts").values())
