"""Sessions that make and drop distributed tables at the same time."""

from concurrent.futures import ThreadPoolExecutor

from harness.servers import on_every_node, value, wait_until
from harness.statement import Statement

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
