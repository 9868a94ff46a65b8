"""Sessions that make and drop distributed tables at the same time."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.servers import on_every_node, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped

# Nothing else in the tests has that many shards: the group comes and goes with the tables made here.
SHARDS = 3


def make(connection, table):
    """A table of the default colocation group of that many shards."""
    connection.execute(f"SET citus.shard_count = {SHARDS}")
    connection.execute(f"CREATE TABLE {table} (id int)")
    connection.execute(f"SELECT create_distributed_table('{table}', 'id')")


def test_the_default_group_comes_and_goes(cluster, connect, schema):
    """Each makes tables of the default colocation group and drops them; who drops the last one drops the group."""
    def make_and_drop(number):
        connection = connect(cluster.coordinator)
        for _ in range(25):
            make(connection, f"{schema}.t{number}")
            connection.execute(f"DROP TABLE {schema}.t{number}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(make_and_drop, number) for number in range(4)]:
            done.result()


def test_last_two_tables_of_the_default_group_dropped_at_once(coordinator, schema, session):
    """Neither transaction sees that it drops the last one; new tables are colocated all the same."""
    make(coordinator, f"{schema}.a")
    make(coordinator, f"{schema}.b")
    sessions = [session(0), session(0)]
    for name, dropping in zip("ab", sessions):
        dropping.execute(f"DROP TABLE {schema}.{name}")
    for dropping in sessions:
        dropping.commit()
    make(coordinator, f"{schema}.c")
    make(coordinator, f"{schema}.d")
    groups = coordinator.execute("""
        SELECT count(*), count(DISTINCT colocationid) FROM pg_dist_partition
        WHERE logicalrelid IN (%s::regclass, %s::regclass)""", [f"{schema}.c", f"{schema}.d"])
    assert groups.fetchone() == (2, 1)


@pytest.mark.parametrize("last", ["DROP TABLE {}", "SELECT update_distributed_table_colocation('{}', 'none')"])
def test_group_goes_on_all_nodes(cluster, coordinator, two_tables, last):
    """Also if one of them doesn't see yet that another table has gone."""
    first, second = two_tables
    group = value(coordinator, f"SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = '{first}'::regclass")
    dropping = Stopped(cluster.coordinator, "commit-between-commits", f"DROP TABLE {first}")
    coordinator.execute(last.format(second))
    assert dropping.go_on() is None
    groups = on_every_node(cluster, f"SELECT * FROM pg_dist_colocation WHERE colocationid = {group}")
    assert not any(groups.values()), groups


def test_statistics_written_from_all_nodes_at_once(cluster, connect, table):
    """Nobody finds the rows of a table's statistics changed by another node's session, or waits in a circle."""
    def vacuum(node):
        connection = connect(node)
        for _ in range(15):
            connection.execute(f"VACUUM ANALYZE {table}")

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(vacuum, node) for node in cluster.nodes * 2]:
            done.result()


def test_renamed_while_others_wait(cluster, coordinator, connect, schema, session):
    """DDL that waited for a table that has another name now means the one that has got its name, on all nodes."""
    make(coordinator, f"{schema}.a")
    make(coordinator, f"{schema}.b")
    renaming = session(0)
    renaming.execute(f"ALTER TABLE {schema}.a RENAME TO old")
    renaming.execute(f"ALTER TABLE {schema}.b RENAME TO a")
    waits = Statement(connect(cluster.coordinator), f"ALTER TABLE {schema}.a RENAME TO c")
    wait_until(lambda: value(coordinator, "SELECT count(*) FROM pg_locks WHERE NOT granted"), "the statement to wait")
    renaming.commit()
    assert waits.finish() is None
    names = on_every_node(cluster, f"SELECT array_agg(relname::text ORDER BY relname) FROM pg_class "
                                   f"WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'")
    assert set(map(str, names.values())) == {str([(["c", "old"],)])}
    shards = on_every_node(cluster, f"SELECT logicalrelid::text, shardid FROM pg_dist_shard "
                                    f"WHERE logicalrelid IN ('{schema}.c'::regclass, '{schema}.old'::regclass) ORDER BY 2")
    assert len(set(map(str, shards.values()))) == 1


@pytest.fixture
def shards_here(cluster, coordinator):
    """The coordinator has shards as well."""
    me = ("127.0.0.1", cluster.coordinator.port, "shouldhaveshards")
    coordinator.execute("SELECT citus_set_node_property(%s, %s, %s, true)", me)
    yield
    coordinator.execute("SELECT citus_set_node_property(%s, %s, %s, false)", me)


@pytest.mark.parametrize("statement, after", [
    ("ALTER INDEX {schema}.i RENAME TO k", [("a", "old"), ("b", "k")]),
    ("DROP INDEX {schema}.i", [("a", "old")]),
    ("REINDEX INDEX {schema}.i", [("a", "old"), ("b", "i")]),
])
def test_index_renamed_while_others_wait(cluster, coordinator, connect, schema, shards_here, session, statement, after):
    """What is named i after the wait is an index of another table."""
    for table, index in ["ai", "bj"]:
        coordinator.execute(f"CREATE TABLE {schema}.{table} (id int)")
        coordinator.execute(f"SELECT create_distributed_table('{schema}.{table}', 'id', colocate_with => 'none')")
        coordinator.execute(f"CREATE INDEX {index} ON {schema}.{table} (id)")
    renaming = session(0)
    renaming.execute(f"ALTER INDEX {schema}.i RENAME TO old")
    renaming.execute(f"ALTER INDEX {schema}.j RENAME TO i")
    waits = Statement(connect(cluster.coordinator), statement.format(schema=schema))
    wait_for_waiter(coordinator)
    renaming.commit()
    assert waits.finish() is None
    names = on_every_node(cluster, f"""
        SELECT DISTINCT regexp_replace(t.relname, '_[0-9]{{6,}}$', ''), regexp_replace(i.relname, '_[0-9]{{6,}}$', '')
        FROM pg_index JOIN pg_class t ON t.oid = indrelid JOIN pg_class i ON i.oid = indexrelid
        LEFT JOIN pg_dist_shard ON t.relname IN ('a_' || shardid, 'b_' || shardid)
        WHERE t.relnamespace = '{schema}'::regnamespace OR logicalrelid IN ('{schema}.a'::regclass, '{schema}.b'::regclass)
        ORDER BY 1, 2""")
    assert names == {node.name: after for node in cluster.nodes}


@pytest.fixture
def two_tables(coordinator, schema):
    make(coordinator, f"{schema}.a")
    make(coordinator, f"{schema}.b")
    return [f"{schema}.a", f"{schema}.b"]


def wait_for_waiter(connection):
    wait_until(lambda: value(connection, "SELECT count(*) FROM pg_locks WHERE NOT granted"), "somebody to wait")


@pytest.mark.parametrize("statement", ["REINDEX TABLE {a}", "REINDEX INDEX {a}_id_idx", "DROP INDEX {a}_id_idx",
                                       "ALTER TABLE {a} ADD v int", "CLUSTER {a} USING a_id_idx"])
def test_ddl_gives_way_to_readers(cluster, coordinator, connect, two_tables, session, statement):
    """A transaction that has locked a table's indexes on one node, and then needs those of all others, goes on."""
    a, _ = two_tables
    coordinator.execute(f"CREATE INDEX ON {a} (id)")
    reading = session(1)
    reading.execute(f"EXPLAIN SELECT count(*) FROM {a}")
    ddl = Statement(connect(cluster.coordinator), statement.format(a=a))
    wait_for_waiter(connect(cluster.nodes[1]))
    assert value(reading, f"SELECT count(*) FROM {a}") == 0
    assert ddl.running
    reading.commit()
    assert ddl.finish() is None


@pytest.mark.parametrize("statement", ["VACUUM", "VACUUM {b}, {a}", "VACUUM ANALYZE {b}, {a}", "ANALYZE", "ANALYZE {b}, {a}"])
@pytest.mark.parametrize("node", [0, 1])
def test_dropped_during_vacuum(cluster, coordinator, connect, two_tables, session, statement, node):
    """A table that is dropped while VACUUM or ANALYZE is at another one is left out."""
    a, b = two_tables
    blocked = cluster.workers[0]
    shard = value(connect(blocked), f"SELECT relname FROM pg_class JOIN pg_dist_shard ON relname = 'b_' || shardid "
                                    f"WHERE logicalrelid = '{b}'::regclass")
    holder = session(1)
    holder.execute(f"LOCK TABLE citus_data.{shard} IN SHARE UPDATE EXCLUSIVE MODE")
    vacuum = Statement(connect(cluster.nodes[node]), statement.format(a=a, b=b))
    wait_for_waiter(connect(blocked))
    coordinator.execute("SET lock_timeout = '30s'")
    coordinator.execute(f"DROP TABLE {a}")
    holder.commit()
    assert vacuum.finish() is None


@pytest.mark.parametrize("node", [1, 2])
def test_schema_that_goes_during_analyze(cluster, coordinator, connect, node):
    """A node that still has a table, of which the coordinator has dropped even the schema, leaves it out."""
    coordinator.execute("CREATE SCHEMA going")
    make(coordinator, "going.t")
    dropping = Stopped(cluster.coordinator, "commit-between-commits", "DROP SCHEMA going CASCADE")
    analyze = Statement(connect(cluster.nodes[node]), "ANALYZE")
    watching = connect(cluster.nodes[node])
    wait_until(lambda: not analyze.running or value(watching, """
        SELECT count(*) FROM pg_stat_activity WHERE pid = %s
        AND (wait_event_type = 'Extension' OR (wait_event_type, wait_event) IN (('Lock', 'transactionid'), ('Lock', 'relation')))""",
        [analyze.connection.info.backend_pid]), "the table to go")
    assert dropping.go_on() is None
    assert analyze.finish() is None


def test_analyze_locks_one_table_at_a_time(cluster, coordinator, connect, two_tables, session):
    a, b = two_tables
    holder = session(0)
    holder.execute(f"LOCK TABLE {b} IN SHARE UPDATE EXCLUSIVE MODE")
    analyze = Statement(connect(cluster.coordinator), f"ANALYZE {a}, {b}")
    wait_for_waiter(coordinator)
    coordinator.execute("SET lock_timeout = '30s'")
    coordinator.execute(f"ALTER TABLE {a} ADD v int")
    holder.commit()
    assert analyze.finish() is None


@pytest.mark.parametrize("node", [0, 1])
def test_analyze_queues_on_the_coordinator(cluster, coordinator, connect, two_tables, session, node):
    """While it waits there, it holds nothing that others could wait for."""
    holder = session(0)
    holder.execute("SET citus.enable_ddl_propagation = off")
    holder.execute(f"LOCK TABLE {two_tables[0]} IN SHARE UPDATE EXCLUSIVE MODE")
    analyze = Statement(connect(cluster.nodes[node]), f"ANALYZE {two_tables[0]}")
    wait_for_waiter(coordinator)
    held = on_every_node(cluster, "SELECT relation::regclass FROM pg_locks WHERE mode = 'ShareUpdateExclusiveLock' AND granted "
                                  f"AND pid NOT IN ({holder.info.backend_pid}) AND relation::regclass::text LIKE '%a\\_%'")
    assert not any(held.values()), held
    holder.commit()
    assert analyze.finish() is None


@pytest.mark.parametrize("statement, new", [
    ("ALTER INDEX {a}_id_idx RENAME TO new_name", "pg_class WHERE relname = 'new_name'"),
    ("ALTER STATISTICS {a}_s RENAME TO new_name", "pg_statistic_ext WHERE stxname = 'new_name'"),
])
def test_rename_lets_others_read_and_write(cluster, coordinator, connect, two_tables, session, statement, new):
    """As on one server, whether they have begun before it or after it."""
    a, _ = two_tables
    coordinator.execute(f"ALTER TABLE {a} ADD v int")
    coordinator.execute(f"CREATE INDEX ON {a} (id)")
    coordinator.execute(f"CREATE STATISTICS {a}_s ON id, v FROM {a}")
    writing = session(1)
    writing.execute(f"INSERT INTO {a} VALUES (1), (2), (3)")
    renaming = session(0)
    renaming.execute("SET lock_timeout = '30s'")
    renaming.execute(statement.format(a=a))
    later = connect(cluster.workers[1])
    later.execute("SET lock_timeout = '30s'")
    later.execute(f"DELETE FROM {a} WHERE id = 4")
    writing.commit()
    renaming.commit()
    assert value(later, f"SELECT count(*) FROM {a} WHERE id > 0") == SHARDS
    found = on_every_node(cluster, f"SELECT count(*) FROM {new}")
    assert set(map(str, found.values())) == {"[(1,)]"}


GRANT = "GRANT SELECT ON {a} TO public"
OTHERS = [(0, "REVOKE ALL ON {a} FROM public"), (0, "GRANT INSERT (id) ON {b}, {a} TO public"),
          (0, "GRANT UPDATE ON ALL TABLES IN SCHEMA {schema} TO public"), (0, "ALTER TABLE {a} ALTER id SET NOT NULL"),
          (1, "TRUNCATE {b}, {a}"), (1, "ANALYZE {a}")]


@pytest.mark.parametrize("grant_first", [True, False])
@pytest.mark.parametrize("node, other", OTHERS)
def test_grant_next_to_other_ddl(cluster, connect, schema, two_tables, session, node, other, grant_first):
    """They wait for each other, on the coordinator, and neither finds that the other has changed the table."""
    a, b = two_tables
    nodes = [0, node] if grant_first else [node, 0]
    first, second = (GRANT, other) if grant_first else (other, GRANT)
    holder = session(nodes[0])
    holder.execute(first.format(a=a, b=b, schema=schema))
    waits = Statement(connect(cluster.nodes[nodes[1]]), second.format(a=a, b=b, schema=schema))
    wait_for_waiter(connect(cluster.coordinator))
    assert not any(count for (count,), in on_every_node(cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted "
                                                                 "AND locktype <> 'relation'").values())
    holder.commit()
    assert waits.finish() is None
    rights = on_every_node(cluster, f"SELECT DISTINCT relacl::text FROM pg_class WHERE relname ~ '^a(_[0-9]{{6,}})?$' AND "
                                    f"(oid = '{a}'::regclass OR relname IN (SELECT 'a_' || shardid FROM pg_dist_shard "
                                    f"WHERE logicalrelid = '{a}'::regclass))")
    assert len(set(map(str, rights.values()))) == 1 and len(rights["coordinator"]) == 1, rights


def test_grant_lets_others_read_and_write(cluster, connect, two_tables, session):
    granting = session(0)
    granting.execute(GRANT.format(a=two_tables[0]))
    for node in cluster.nodes:
        other = connect(node)
        other.execute("SET lock_timeout = '30s'")
        other.execute(f"INSERT INTO {two_tables[0]} VALUES (1)")
    assert value(other, f"SELECT count(*) FROM {two_tables[0]}") == len(cluster.nodes)
    granting.commit()


def test_grant_while_a_truncate_is_committed(cluster, connect, two_tables):
    """It waits on the nodes to which the commit has yet to come, too."""
    truncating = Stopped(cluster.workers[0], "commit-between-commits", f"TRUNCATE {two_tables[0]}")
    granting = Statement(connect(cluster.coordinator), GRANT.format(a=two_tables[0]))
    wait_until(lambda: any(count for [(count,)] in on_every_node(
        cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'").values()), "somebody to wait")
    assert truncating.go_on() is None
    assert granting.finish() is None


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_colocation_group_twice(cluster, connect, end):
    """Two sessions that add the same colocation group: the second waits for the first one's end, and doesn't fail."""
    add = "SELECT citus_internal.add_colocation_metadata(2000000000, 4, 1, 'int'::regtype, 0)"
    first, second = connect(cluster.coordinator), connect(cluster.coordinator)
    first.execute("BEGIN")
    first.execute(add)
    waiting = Statement(second, add)
    wait_until(lambda: value(first, "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted",
                             [second.info.backend_pid]) > 0, "the second session to wait")
    first.execute(end)
    try:
        assert waiting.finish() is None
        assert value(first, "SELECT count(*) FROM pg_dist_colocation WHERE colocationid = 2000000000") == 1
    finally:
        first.execute("SELECT citus_internal.delete_colocation_metadata(2000000000)")


def test_two_indexes_at_once(cluster, coordinator, connect, schema):
    """CREATE INDEX doesn't lock out another one of the same table; each tells other nodes of its own."""
    coordinator.execute(f"CREATE TABLE {schema}.t (a int, b int); SELECT create_distributed_table('{schema}.t', 'a')")
    cluster.coordinator.sql(f"""SET citus.enable_ddl_propagation = off;
        CREATE FUNCTION {schema}.hold() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
            IF current_setting('application_name') = '{schema}' THEN PERFORM pg_advisory_xact_lock(7); END IF; END $$;
        CREATE EVENT TRIGGER {schema}_hold ON ddl_command_start EXECUTE FUNCTION {schema}.hold()""")
    try:
        held = connect(cluster.coordinator)
        held.execute(f"SET application_name = '{schema}'")
        coordinator.execute("SELECT pg_advisory_lock(7)")
        creating = Statement(held, f"CREATE INDEX first ON {schema}.t (a)")
        wait_until(lambda: value(coordinator, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"),
                   "the first index to be begun here")
        connect(cluster.coordinator).execute(f"CREATE INDEX second ON {schema}.t (b)")
        coordinator.execute("SELECT pg_advisory_unlock(7)")
        assert creating.finish() is None
    finally:
        cluster.coordinator.sql(f"SET citus.enable_ddl_propagation = off; DROP EVENT TRIGGER {schema}_hold; DROP FUNCTION {schema}.hold")
    found = on_every_node(cluster, f"""
        SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '{schema}.t'::regclass ORDER BY 1""")
    assert all(definitions == found["coordinator"] and len(definitions) == 2 for definitions in found.values()), found
