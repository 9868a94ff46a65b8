"""A task for a shard that has moved away finds it, or fails without harm."""

import pytest

from harness.servers import node_session, rows, wait_until
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


@pytest.mark.parametrize("query, expected", [
    ("SELECT count(*), sum(v), sum(n) FROM spread JOIN beside USING (k)", [(200, 20100, 200)]),
    ("SELECT k, sum(v) FROM spread GROUP BY k ORDER BY k LIMIT 2", [(1, 1), (2, 2)]),
    ("SELECT sum(v) FROM spread, (VALUES (1), (2)) small(k) WHERE spread.k > small.k", [(20099 + 20097,)]),
])
def test_task_for_several_shards_follows_one(own_cluster, connect, query, expected):
    """A task for all shards of a node is refused when one has left; each shard is read once on the node that has it."""
    nodes = [connect(node) for node in own_cluster.nodes]
    for table in ("spread (k int PRIMARY KEY, v int)", "beside (k int PRIMARY KEY, n int DEFAULT 1)"):
        nodes[0].execute(f"CREATE TABLE {table}")
    nodes[0].execute("SELECT create_distributed_table('spread', 'k', shard_count => 8), "
                     "create_distributed_table('beside', 'k', colocate_with => 'spread')")
    nodes[0].execute("INSERT INTO spread SELECT i, i FROM generate_series(1, 200) i")
    nodes[0].execute("INSERT INTO beside SELECT i FROM generate_series(1, 200) i")
    nodes[0].execute("ANALYZE spread, beside")
    assert rows(nodes[0], query) == expected
    placements = rows(nodes[0], "SELECT shardid, groupid FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid "
                      "IN ('spread'::regclass, 'beside'::regclass) AND shardminvalue = '-2147483648'")
    source = placements[0][1]
    target = 3 - source
    move = "UPDATE pg_dist_placement SET groupid = %s WHERE shardid = ANY (%s)"
    nodes[target].execute(move, [target, [shard for shard, _ in placements]])
    nodes[target].execute("SET citus.enable_manual_changes_to_shards = on")
    for shard, _ in placements:
        table = rows(nodes[0], "SELECT logicalrelid::text FROM pg_dist_shard WHERE shardid = %s", [shard])[0][0]
        nodes[target].execute("SELECT citus_internal.create_local_shards(%s)", [table])
        for row in rows(nodes[source], f"SELECT * FROM citus_data.{table}_{shard}"):
            nodes[target].execute(f"INSERT INTO citus_data.{table}_{shard} VALUES (%s, %s)", row)
    nodes[source].execute(move, [target, [shard for shard, _ in placements]])
    old = own_cluster.nodes[source]
    mark = old.log_mark()
    running = Statement(connect(own_cluster.coordinator), query)
    wait_until(lambda: "is not on this node" in old.log_since(mark), "the old node to refuse the task")
    nodes[0].execute(move, [target, [shard for shard, _ in placements]])
    assert running.finish() is None
    assert running.cursor.fetchall() == expected


def test_late_news(own_cluster, connect, shard):
    """They may take longer than two seconds: when a node that was down hears of the move by recovery."""
    old = own_cluster.nodes[shard.group]
    mark = old.log_mark()
    running = Statement(connect(own_cluster.coordinator), "SELECT sum(v) FROM moving")
    wait_until(lambda: old.log_since(mark).count("is not on this node") > 205, "the old node to refuse the task often")
    shard.tell(0)
    assert running.finish() is None
    assert running.cursor.fetchall() == [(210,)]


def test_error_when_the_shard_stays_away(own_cluster, connect, shard):
    """If no news come the statement fails with an error that says to try again, and nothing is written."""
    connection = connect(own_cluster.coordinator)
    with pytest.raises(Exception) as failure:
        connection.execute("UPDATE moving SET v = 0")
    assert failure.value.sqlstate == "40001"
    shard.tell(0)
    assert connection.execute("SELECT sum(v) FROM moving").fetchall() == [(210,)]


def halve(nodes, shardid, table):
    """Splits a shard by hand: the upper half of its hash values becomes a shard of its own, on the same node."""
    group, low, high = rows(nodes[0], "SELECT groupid, shardminvalue::int, shardmaxvalue::int FROM pg_dist_shard JOIN pg_dist_placement "
                            "USING (shardid) WHERE shardid = %s", [shardid])[0]
    middle = (low + high) // 2
    for node in nodes:
        with node.transaction():
            node.execute("UPDATE pg_dist_shard SET shardmaxvalue = %s WHERE shardid = %s", [str(middle), shardid])
            node.execute("INSERT INTO pg_dist_shard VALUES (%s::regclass, %s, 't', %s, %s)",
                         [table, shardid + 1000000, str(middle + 1), str(high)])
            node.execute("INSERT INTO pg_dist_placement VALUES (%s, %s, 1, 0, %s)", [shardid + 1000000, shardid + 1000000, group])
    owner = nodes[group]
    owner.execute("SELECT citus_internal.create_local_shards(%s)", [table])
    owner.execute("SET citus.enable_manual_changes_to_shards = on")
    for key, v in rows(owner, f"SELECT * FROM citus_data.{table}_{shardid}"):
        if rows(owner, "SELECT get_shard_id_for_distribution_column(%s, %s)", [table, key]) != [(shardid,)]:
            owner.execute(f"DELETE FROM citus_data.{table}_{shardid} WHERE k = %s", [key])
            owner.execute(f"INSERT INTO citus_data.{table}_{shardid + 1000000} VALUES (%s, %s)", [key, v])


def test_a_tag_keeps_its_meaning(own_cluster, connect):
    """The range of a shard never means other rows, also when a shard before it is split; that one's is refused then."""
    nodes = [connect(node) for node in own_cluster.nodes]
    nodes[0].execute("CREATE TABLE parted (k int PRIMARY KEY, v int)")
    nodes[0].execute("SELECT create_distributed_table('parted', 'k', shard_count => 6)")
    nodes[0].execute("INSERT INTO parted SELECT i, i FROM generate_series(1, 200) i")
    shards = rows(nodes[0], "SELECT shardid, colocationid || '.' || shardminvalue || ':' || shardmaxvalue, groupid FROM pg_dist_shard "
                  "JOIN pg_dist_placement USING (shardid) JOIN pg_dist_partition USING (logicalrelid) "
                  "WHERE logicalrelid = 'parted'::regclass ORDER BY shardminvalue::int")
    sessions = {group: node_session(own_cluster.nodes[group]) for group in (1, 2)}

    def read(place, group, kind="shard"):
        return sorted(rows(sessions[group], f"/*citus:{kind} {place}*/ SELECT k FROM parted"))

    before = {place: read(place, group) for _, place, group in shards}
    assert sum(map(len, before.values())) == 200 and all(before.values())
    nodes[1].execute("PREPARE one (int) AS SELECT v FROM parted WHERE k = $1")
    assert [rows(nodes[1], f"EXECUTE one ({key})") for key in range(1, 201)] == [[(key,)] for key in range(1, 201)]
    first, place, group = shards[0]
    halve(nodes, first, "parted")
    for _, other, other_group in shards[1:]:
        assert read(other, other_group) == before[other]
    assert read(place, group, "shards") == before[place]
    with pytest.raises(Exception) as failure:
        read(place, group)
    assert failure.value.sqlstate == "CT001"
    assert [rows(nodes[1], f"EXECUTE one ({key})") for key in range(1, 201)] == [[(key,)] for key in range(1, 201)]
    assert all(rows(node, "SELECT count(*), sum(v) FROM parted") == [(200, 20100)] for node in nodes)
    for session in sessions.values():
        session.close()


def test_two_placements(own_cluster, connect, shard):
    """While a shard has two placements, tasks go to the older one, and both nodes serve them."""
    place, = rows(shard.nodes[0], "SELECT colocationid || '.' || shardminvalue || ':' || shardmaxvalue FROM pg_dist_shard "
                  "JOIN pg_dist_partition USING (logicalrelid) WHERE shardid = %s", [shard.id])[0]
    for node in shard.nodes:
        node.execute("INSERT INTO pg_dist_placement VALUES (-1, %s, 1, 0, %s) ON CONFLICT DO NOTHING", [shard.id, shard.group])
        node.execute("UPDATE pg_dist_placement SET groupid = %s WHERE shardid = %s AND placementid > 0", [shard.target, shard.id])
    expected = rows(shard.nodes[0], "SELECT k FROM moving WHERE k = 7")
    assert expected == [(7,)]
    for group in (shard.group, shard.target):
        with node_session(own_cluster.nodes[group]) as session:
            assert (7,) in rows(session, f"/*citus:shard {place}*/ SELECT k FROM moving")
