"""CREATE INDEX, DROP INDEX and REINDEX CONCURRENTLY of tables with shards."""

import psycopg
import pytest

from harness.servers import on_every_node, rows, value, wait_until
from harness.statement import Statement

# An index and its counterparts in shards: how many there are on a node, and how many are valid.
INDEXES = """
    SELECT count(*) FILTER (WHERE relname = '{0}'), count(*) FILTER (WHERE relname = '{0}' AND indisvalid),
           count(*) FILTER (WHERE relname ~ '^{0}_[0-9]+$'), count(*) FILTER (WHERE relname ~ '^{0}_[0-9]+$' AND indisvalid)
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid"""


def indexes(cluster, name):
    """(logical indexes, valid ones, those of shards, valid ones), summed over all nodes."""
    counts = on_every_node(cluster, INDEXES.format(name)).values()
    return tuple(sum(row[0][i] for row in counts) for i in range(4))


@pytest.fixture
def table(schema, coordinator):
    """A distributed table without a key."""
    coordinator.execute(f"CREATE TABLE {schema}.t (id int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id', shard_count => 4)")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT generate_series(1, 100)")
    return f"{schema}.t"


def shards(connection, table):
    return value(connection, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = %s::regclass", [table])


@pytest.mark.parametrize("initiator", [0, 1])
def test_made_rebuilt_and_dropped(cluster, connect, table, initiator):
    connection = connect(cluster.nodes[initiator])
    nodes, count = len(cluster.nodes), shards(connection, table)
    connection.execute(f"CREATE INDEX CONCURRENTLY slowly ON {table} ((id + abs(id))) WHERE id * 2 > 0")
    assert indexes(cluster, "slowly") == (nodes, nodes, count, count)
    connection.execute(f"REINDEX TABLE CONCURRENTLY {table}")
    connection.execute(f"REINDEX INDEX CONCURRENTLY {table.split('.')[0]}.slowly")
    assert indexes(cluster, "slowly") == (nodes, nodes, count, count)
    for statement in ("CREATE INDEX CONCURRENTLY other ON {}", "DROP INDEX CONCURRENTLY slowly"):
        with pytest.raises(psycopg.errors.ActiveSqlTransaction), connection.transaction():
            connection.execute(statement.format(f"{table} (id)"))
    connection.execute(f"DROP INDEX CONCURRENTLY {table.split('.')[0]}.slowly")
    assert indexes(cluster, "slowly") == (0, 0, 0, 0)


@pytest.mark.parametrize("initiator", [0, 1])
def test_others_write_meanwhile(cluster, connect, table, initiator):
    """The shards' indexes wait for a transaction that has the shard in use; other sessions don't wait for them."""
    shard = value(connect(cluster.coordinator), "SELECT min(shardid) FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) "
                  "WHERE groupid = 1 AND logicalrelid = %s::regclass", [table])
    holder = connect(cluster.workers[0], autocommit=False)
    holder.execute(f"LOCK TABLE citus_data.t_{shard} IN ROW EXCLUSIVE MODE")
    creating = Statement(connect(cluster.nodes[initiator]), f"CREATE INDEX CONCURRENTLY slowly ON {table} (id)")
    wait_until(lambda: value(connect(cluster.workers[0]), "SELECT count(*) FROM pg_stat_progress_create_index "
                             "WHERE phase LIKE 'waiting%'"), "the build to wait")
    for number, node in enumerate(cluster.nodes):
        other = connect(node)
        other.execute("SET lock_timeout = '3s'")
        other.execute(f"INSERT INTO {table} (id) SELECT generate_series(1000, 1100)")
        other.execute(f"DELETE FROM {table} WHERE id = 1000 + {number}")
    assert creating.running
    assert indexes(cluster, "slowly")[:2] == (len(cluster.nodes), 0)
    holder.commit()
    assert creating.finish() is None
    assert indexes(cluster, "slowly")[:2] == (len(cluster.nodes), len(cluster.nodes))


def test_what_a_failure_leaves(cluster, connect, coordinator, table):
    """An index that is invalid on all nodes, is not used, does not keep rows out, and goes with DROP INDEX."""
    schema = table.split(".")[0]
    coordinator.execute(f"INSERT INTO {table} (id) VALUES (7)")
    with pytest.raises(psycopg.errors.UniqueViolation) as error:
        coordinator.execute(f"CREATE UNIQUE INDEX CONCURRENTLY uniq ON {table} (id)")
    assert f"Index {schema}.uniq is left invalid" in error.value.diag.message_hint
    logical, valid, made, _ = indexes(cluster, "uniq")
    assert (logical, valid) == (len(cluster.nodes), 0) and made > 0
    connect(cluster.workers[1]).execute(f"DROP INDEX {schema}.uniq")
    assert indexes(cluster, "uniq") == (0, 0, 0, 0)
    coordinator.execute(f"DELETE FROM {table} WHERE id = 7")
    coordinator.execute(f"CREATE UNIQUE INDEX CONCURRENTLY uniq ON {table} (id)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        coordinator.execute(f"INSERT INTO {table} (id) VALUES (8)")


@pytest.mark.parametrize("statement, left", [("CREATE INDEX CONCURRENTLY i ON t (id)", 1), ("DROP INDEX CONCURRENTLY ready", 1)])
def test_node_fails_meanwhile(own_cluster, connect, statement, left):
    """The index is left invalid everywhere, also on the node that has failed, and DROP INDEX removes what there is of it."""
    connection = connect(own_cluster.coordinator)
    connection.execute("CREATE TABLE t (id int); SELECT create_distributed_table('t', 'id', shard_count => 4)")
    connection.execute("CREATE INDEX ready ON t (id)")
    worker = own_cluster.workers[0]
    holder = connect(worker, autocommit=False)
    shard = value(holder, "SELECT max(shardid) FROM pg_dist_placement WHERE groupid = 1")
    holder.execute(f"LOCK TABLE citus_data.t_{shard} IN ROW EXCLUSIVE MODE")
    running = Statement(connection, statement)
    wait_until(lambda: value(connect(worker), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
               "the statement to wait")
    worker.kill()
    assert "is left invalid" in running.finish().diag.message_hint
    worker.start()
    name = statement.split()[3]
    assert set(map(str, on_every_node(own_cluster, f"SELECT count(*), bool_or(indisvalid) FROM pg_index "
                                                   f"WHERE indexrelid = '{name}'::regclass").values())) == {f"[({left}, False)]"}
    connect(own_cluster.coordinator).execute(f"DROP INDEX {name}")
    assert indexes(own_cluster, name) == (0, 0, 0, 0)


def test_shards_lack_the_index(cluster, coordinator, table):
    """What CREATE INDEX CONCURRENTLY hasn't made can't be rebuilt: the hint says what can be done."""
    schema = table.split(".")[0]
    coordinator.execute(f"INSERT INTO {table} SELECT id FROM {table}")
    with pytest.raises(psycopg.errors.UniqueViolation):
        coordinator.execute(f"CREATE UNIQUE INDEX CONCURRENTLY uniq ON {table} (id)")
    assert indexes(cluster, "uniq")[2] < shards(coordinator, table)
    coordinator.execute(f"DELETE FROM {table}")
    with pytest.raises(psycopg.errors.UndefinedTable) as error:
        coordinator.execute(f"REINDEX INDEX CONCURRENTLY {schema}.uniq")
    assert "Drop it with DROP INDEX, and create it again." in error.value.diag.message_hint
    coordinator.execute(f"DROP INDEX {schema}.uniq")
    coordinator.execute(f"CREATE UNIQUE INDEX CONCURRENTLY uniq ON {table} (id)")
    assert indexes(cluster, "uniq")[2:] == (shards(coordinator, table),) * 2


def test_what_the_server_leaves_out(coordinator, schema):
    """Indexes of exclusion constraints are not rebuilt concurrently: no reason to say what a failure leaves."""
    hints = []
    coordinator.execute(f"CREATE TABLE {schema}.t (id int, EXCLUDE USING btree (id WITH =))")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id', shard_count => 2)")
    coordinator.add_notice_handler(lambda notice: hints.append((notice.message_primary.split()[:2], notice.message_hint)))
    coordinator.execute(f"REINDEX TABLE CONCURRENTLY {schema}.t")
    assert (["cannot", "reindex"], None) in hints
    assert {hint for _, hint in hints} == {None}


def test_nothing_to_rebuild(coordinator, table):
    """Of a table without valid indexes one message says so, not one of each shard; nothing else is said."""
    notices = []
    coordinator.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    coordinator.execute(f"REINDEX TABLE CONCURRENTLY {table}")
    coordinator.execute(f"INSERT INTO {table} VALUES (7)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        coordinator.execute(f"CREATE UNIQUE INDEX CONCURRENTLY uniq ON {table} (id)")
    coordinator.execute(f"REINDEX TABLE CONCURRENTLY {table}")
    assert [notice for notice in notices if "invalid index" not in notice] == ['table "t" has no indexes that can be reindexed concurrently'] * 2
    assert len(notices) == 3


def test_nothing_to_rebuild_in_partitions(coordinator, schema):
    """Nothing is said of partitions without indexes, as on one server."""
    coordinator.execute(f"CREATE TABLE {schema}.p (id int) PARTITION BY RANGE (id)")
    coordinator.execute(f"CREATE TABLE {schema}.p1 PARTITION OF {schema}.p FOR VALUES FROM (0) TO (10)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.p', 'id', shard_count => 2)")
    notices = []
    coordinator.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    coordinator.execute(f"REINDEX TABLE {schema}.p; REINDEX TABLE {schema}.p1")
    assert notices == ['table "p1" has no indexes to reindex']


def test_reference_table(cluster, connect, schema, coordinator):
    coordinator.execute(f"CREATE TABLE {schema}.r (id int, v int); INSERT INTO {schema}.r SELECT i, i FROM generate_series(1, 9) i")
    coordinator.execute(f"SELECT create_reference_table('{schema}.r')")
    worker = connect(cluster.workers[0])
    worker.execute(f"CREATE INDEX CONCURRENTLY slowly ON {schema}.r ((v + 1)) WHERE id > 3")
    definitions = on_every_node(cluster, "SELECT pg_get_indexdef(oid), relkind::text FROM pg_class WHERE relname = 'slowly'")
    assert len(set(map(str, definitions.values()))) == 1 and definitions["coordinator"]
    assert indexes(cluster, "slowly") == (3, 3, 0, 0)
    worker.execute(f"REINDEX TABLE CONCURRENTLY {schema}.r")
    worker.execute(f"DROP INDEX CONCURRENTLY {schema}.slowly")
    assert indexes(cluster, "slowly") == (0, 0, 0, 0)
    assert rows(worker, f"SELECT count(*) FROM {schema}.r") == [(9,)]
