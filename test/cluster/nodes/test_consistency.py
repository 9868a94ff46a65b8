"""citus_check_cluster(): what nodes disagree about, what is missing, and what is left over."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows

pytestmark = pytest.mark.some(2)

@pytest.fixture
def made(own_cluster):
    with servers.connect(own_cluster.coordinator) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, v text); SELECT create_distributed_table('t', 'id', shard_count => 4); "
                           "CREATE UNIQUE INDEX ON t (v)")       # a global one, with a table of entries
        connection.execute("CREATE TABLE r (id int PRIMARY KEY, v text); SELECT create_reference_table('r'); INSERT INTO r VALUES (1, 'one')")
    return own_cluster


def problems(made, check_rows=False, node=None):
    with servers.connect(node or made.coordinator) as connection:
        return rows(connection, "SELECT nodeport, subject, problem FROM citus_check_cluster(%s)", [check_rows])


def test_everything(made):
    """Faults that are made one after another, each found, from any node."""
    worker, other = made.workers
    assert problems(made, True) == problems(made, node=worker) == []
    with servers.connect(worker) as connection:
        for view in "citus_shards_on_worker", "citus_shard_indexes_on_worker":
            assert rows(connection, f"""SELECT * FROM {view} v JOIN pg_class ON relname = v."Name" AND relnamespace = 'citus_data'::regnamespace
                LEFT JOIN pg_index ON indexrelid = oid JOIN pg_dist_partition ON logicalrelid IN (oid, indrelid)""") == []
        lost, changed = (row[0] for row in rows(connection, "SELECT shard_name('t', shardid) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) "
                                                            "WHERE logicalrelid = 't'::regclass AND groupid = 1 ORDER BY shardid LIMIT 2"))
    worker.sql("SET allow_system_table_mods = on; "
               f"UPDATE pg_attribute SET attnotnull = true WHERE attrelid = '{changed}'::regclass AND attname = 'v'; "
               f"UPDATE pg_class SET relname = 'left_over' WHERE oid = '{lost}'::regclass")
    found = problems(made, node=other)
    assert found == sorted(found, key=lambda row: row[1])
    assert [(row[0], row[1]) for row in found] == [(worker.port, name) for name in sorted(["citus_data.left_over", lost, changed])]
    assert {row[2].split(":")[0] for row in found} == \
        {"is no shard of this node", "the shard is missing", "the shard has other columns than its table"}
    other.sql("UPDATE pg_dist_node SET shouldhaveshards = NOT shouldhaveshards")
    assert (other.port, "metadata", f"other nodes than on node 127.0.0.1:{made.coordinator.port}") in problems(made)
    other.kill()
    assert [row[1] for row in problems(made) if row[0] == other.port] == ["node"]


def test_reference_tables(made):
    """A copy whose rows differ is found if rows are to be checked."""
    with servers.connect(made.workers[0], options="-c citus.node_proof=superuser") as worker:
        worker.execute("/*citus:node*/ UPDATE r SET v = 'other'")       # as a task for this node
    assert problems(made) == []
    assert problems(made, True) == [(made.workers[0].port, "public.r", "has other rows than on the first node")]


def test_rights(cluster, coordinator):
    coordinator.execute("DROP ROLE IF EXISTS passerby; CREATE ROLE passerby LOGIN")
    try:
        with servers.connect(cluster.coordinator, user="passerby") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM citus_check_cluster()")
    finally:
        coordinator.execute("DROP ROLE passerby")
