"""Sessions that make and drop distributed tables at the same time."""

from concurrent.futures import ThreadPoolExecutor

# Nothing else in the tests has that many shards: the group comes and goes with the tables made here.
SHARDS = 3


def test_the_default_group_comes_and_goes(cluster, connect, schema):
    """Each makes tables of the default colocation group and drops them; who drops the last one drops the group."""
    def make_and_drop(number):
        connection = connect(cluster.coordinator)
        connection.execute(f"SET citus.shard_count = {SHARDS}")
        for _ in range(25):
            connection.execute(f"CREATE TABLE {schema}.t{number} (id int)")
            connection.execute(f"SELECT create_distributed_table('{schema}.t{number}', 'id')")
            connection.execute(f"DROP TABLE {schema}.t{number}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(make_and_drop, number) for number in range(4)]:
            done.result()
