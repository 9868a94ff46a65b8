"""A task for a shard that has moved away finds it, or fails without harm."""

import pytest

from harness.servers import wait_until
from harness.statement import Statement

SETUP = """
    CREATE TABLE moving (k int PRIMARY KEY, v int);
    SELECT create_distributed_table('moving', 'k', shard_count => 2);
    INSERT INTO moving SELECT i, i FROM generate_series(1, 20) i;
"""


class Shard:
    """The shard of a key, and what it takes to move it by hand, node after node."""

    def __init__(self, cluster, connect, key):
        self.nodes = [connect(node) for node in cluster.nodes]
        self.id, self.group = self.nodes[0].execute(
            "SELECT shardid, groupid FROM pg_dist_placement"
            " WHERE shardid = get_shard_id_for_distribution_column('moving', %s)", (key,)).fetchone()
        self.target = 3 - self.group

    def copy(self):
        """Makes the shard on its new node."""
        rows = self.nodes[self.group].execute(f"SELECT k, v FROM citus_data.moving_{self.id}").fetchall()
        target = self.nodes[self.target]
        self.tell(self.target)
        target.execute("SELECT citus_internal.create_local_shards('moving')")
        for row in rows:
            target.execute(f"INSERT INTO citus_data.moving_{self.id} VALUES (%s, %s)", row)

    def tell(self, index):
        """Has a node know the new place."""
        self.nodes[index].execute("UPDATE pg_dist_placement SET groupid = %s WHERE shardid = %s",
                                  (self.target, self.id))


@pytest.fixture
def shard(own_cluster, connect):
    with connect(own_cluster.coordinator) as connection:
        connection.execute(SETUP)
    moved = Shard(own_cluster, connect, 7)
    moved.copy()
    moved.tell(moved.group)
    return moved


@pytest.mark.parametrize("statement, expected", [
    ("SELECT v FROM moving WHERE k = 7", [(7,)]),
    ("SELECT sum(v) FROM moving", [(210,)]),
    ("UPDATE moving SET v = v + 100 WHERE k = 7 RETURNING v", [(107,)]),
    ("UPDATE moving SET v = v + 1 RETURNING true", [(True,)] * 20),
])
def test_task_follows_the_shard(own_cluster, connect, shard, statement, expected):
    """The initiator hears of the move after a node has refused its task; the client notices nothing."""
    old = own_cluster.nodes[shard.group]
    mark = old.log_mark()
    running = Statement(connect(own_cluster.coordinator), statement)
    wait_until(lambda: "is not on this node" in old.log_since(mark), "the old node to refuse the task")
    shard.tell(0)
    assert running.finish() is None
    assert running.cursor.fetchall() == expected


def test_error_when_the_shard_stays_away(own_cluster, connect, shard):
    """If no news come the statement fails with the SQLSTATE made for that, and nothing is written."""
    connection = connect(own_cluster.coordinator)
    with pytest.raises(Exception) as failure:
        connection.execute("UPDATE moving SET v = 0")
    assert failure.value.sqlstate == "CT001"
    shard.tell(0)
    assert connection.execute("SELECT sum(v) FROM moving").fetchall() == [(210,)]
