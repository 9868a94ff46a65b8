"""What nodes hold while they come, go and move; changes of nodes beside other sessions' writes."""

import threading

import psycopg
import pytest

from harness.servers import PATIENCE, on_every_node, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped

pytestmark = pytest.mark.some(7)     # each makes clusters of its own

NODES = "SELECT nodename, nodeport, groupid, isactive FROM pg_dist_node ORDER BY nodeport"
REFERENCE = "SELECT k, v FROM ref ORDER BY k"


def call(connection, function, node, *more):
    marks = "".join(", %s" for _ in more)
    return value(connection, f"SELECT {function}('127.0.0.1', %s{marks})", [node.port, *more])


@pytest.fixture
def bare(make_cluster, connect):
    """A cluster with a reference table and one of its two workers added; and its coordinator."""
    made = make_cluster(kind="bare", workers=2)
    connection = connect(made.coordinator)
    call(connection, "citus_set_coordinator_host", made.coordinator)
    call(connection, "citus_add_node", made.workers[0])
    connection.execute("CREATE TABLE ref (k int PRIMARY KEY, v text)")
    connection.execute("SELECT create_reference_table('ref')")
    connection.execute("INSERT INTO ref VALUES (1, 'one'), (2, NULL)")
    return made, connection


def in_background(work):
    """Starts a thread for a statement that will have to wait; returns the thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def waits_for_lock(connect, node):
    watcher = connect(node)
    return lambda: value(watcher, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


def test_disabled_node_catches_up(bare, connect):
    """A node that was disabled gets all that has changed meanwhile when it is activated."""
    made, connection = bare
    node = made.workers[1]
    call(connection, "citus_add_node", node)
    call(connection, "citus_disable_node", node)
    connection.execute("UPDATE ref SET v = 'two' WHERE k = 2")
    connection.execute("ALTER TABLE ref ADD COLUMN w int DEFAULT 3")
    connection.execute("CREATE TABLE gone_later (k int); SELECT create_reference_table('gone_later')")
    assert rows(connection, "SELECT count(*) FROM pg_dist_shard_placement WHERE nodeport = %s",
                [node.port]) == [(0,)]

    call(connection, "citus_activate_node", node)
    assert set(map(tuple, on_every_node(made, REFERENCE).values())) == {((1, "one"), (2, "two"))}
    assert on_every_node(made, "SELECT sum(w) FROM ref")["worker2"] == [(6,)]
    known = on_every_node(made, NODES)
    assert known["coordinator"] == known["worker1"] == known["worker2"]
    assert value(connection, "SELECT count(*) FROM pg_dist_shard_placement WHERE nodeport = %s",
                 [node.port]) == 2


def test_removed_node_forgets_the_cluster(bare, connect):
    made, connection = bare
    node = made.workers[1]
    call(connection, "citus_add_node", node)
    call(connection, "citus_remove_node", node)
    left = connect(node)
    assert value(left, "SELECT to_regclass('ref')") is None
    assert rows(left, NODES) == []
    assert value(left, "SELECT citus_is_coordinator()")
    left.execute("CREATE TABLE own (a int); SELECT create_distributed_table('own', 'a'); DROP TABLE own")


def test_node_removed_while_down_joins_again(bare, connect):
    made, connection = bare
    node = made.workers[1]
    call(connection, "citus_add_node", node)
    node.stop()
    call(connection, "citus_remove_node", node)
    connection.execute("INSERT INTO ref VALUES (3, 'three')")
    node.start()
    assert rows(connect(node), NODES) != []

    call(connection, "citus_add_node", node)
    assert rows(connect(node), REFERENCE) == [(1, "one"), (2, None), (3, "three")]
    known = on_every_node(made, NODES)
    assert known["coordinator"] == known["worker1"] == known["worker2"]


def test_failed_addition_leaves_no_trace(bare, connect):
    """A table in the way on the new node: the error names it, and nothing has changed anywhere."""
    made, connection = bare
    node = made.workers[1]
    connect(node).execute("CREATE TABLE ref (other text)")
    before = rows(connection, NODES)
    with pytest.raises(psycopg.errors.DuplicateTable):
        call(connection, "citus_add_node", node)
    assert rows(connection, NODES) == before
    assert rows(connect(node), NODES) == []
    assert value(connect(node), "SELECT groupid FROM pg_dist_local_group") == 0
    connect(node).execute("DROP TABLE ref")
    call(connection, "citus_add_node", node)
    assert rows(connect(node), REFERENCE) == [(1, "one"), (2, None)]


def test_same_server_under_another_name(bare):
    made, connection = bare
    for node in made.nodes[:2]:
        with pytest.raises(psycopg.errors.DuplicateObject):
            connection.execute("SELECT citus_add_node('localhost', %s)", [node.port])


def test_coordinator_host_must_be_the_coordinator(bare):
    made, connection = bare
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        call(connection, "citus_set_coordinator_host", made.workers[1])


def test_new_address(bare, connect):
    """A node that moved is used at its new address, by all nodes; its id stays."""
    made, connection = bare
    node = made.workers[0]
    before = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [node.port])
    connection.execute("SELECT citus_update_node(%s, 'localhost', %s)", [before, node.port])
    assert on_every_node(made, "SELECT nodeid, nodename FROM pg_dist_node WHERE nodeport = "
                               f"{node.port}")["worker1"] == [(before, "localhost")]
    connection.execute("INSERT INTO ref VALUES (9, 'nine')")
    assert value(connect(node), "SELECT v FROM ref WHERE k = 9") == "nine"


def test_own_new_address(bare, connect):
    """The coordinator, as Patroni has it after a failover, tells its own address: it has missed nothing."""
    made, connection = bare
    connection.execute("SELECT citus_update_node(nodeid, 'localhost', nodeport) FROM pg_dist_node WHERE groupid = 0")
    for node in made.nodes[:2]:
        assert rows(connect(node), "SELECT nodename, metadatasynced FROM pg_dist_node WHERE groupid = 0") == [("localhost", True)]


def test_new_address_of_a_node_that_is_down(bare, connect):
    made, connection = bare
    node = made.workers[0]
    nodeid = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [node.port])
    node.stop()
    connection.execute("SELECT citus_update_node(%s, '127.0.0.1', 1)", [nodeid])
    connection.execute("SELECT citus_update_node(%s, '127.0.0.1', %s)", [nodeid, node.port])
    node.start()
    connection.execute("INSERT INTO ref VALUES (9, 'nine')")
    assert value(connect(node), "SELECT v FROM ref WHERE k = 9") == "nine"


def test_nodes_do_not_change_under_a_writer(bare, connect):
    """citus_add_node waits for a transaction that wrote a reference table, and copies its row."""
    made, connection = bare
    writer = connect(made.workers[0], autocommit=False)
    writer.execute("INSERT INTO ref VALUES (10, 'before')")
    thread = in_background(lambda: call(connection, "citus_add_node", made.workers[1]))
    wait_until(waits_for_lock(connect, made.workers[0]), "citus_add_node waits for the writer")
    writer.commit()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert set(map(tuple, on_every_node(made, REFERENCE).values())) == \
        {((1, "one"), (2, None), (10, "before"))}


def test_reference_tables_are_written_while_they_are_copied(bare, connect):
    """What is written during the copy is there in the end; large values, keys of several columns and without one as well."""
    made, connection = bare
    connection.execute("""
        CREATE TYPE mood AS ENUM ('sad', 'fine');
        CREATE TABLE pairs (a char(5), "B" mood, v text, twice text GENERATED ALWAYS AS (v || v) STORED, PRIMARY KEY (a, "B"));
        CREATE TABLE loose (v text);
        CREATE TABLE lists (k int[] PRIMARY KEY, v int);
        SELECT create_reference_table(t) FROM unnest(ARRAY['pairs', 'loose', 'lists']) t;
        INSERT INTO pairs SELECT 'a' || g, (ARRAY['sad', 'fine'])[g % 2 + 1]::mood, repeat(md5(g::text), 200)
            FROM generate_series(1, 1200) g;
        INSERT INTO loose VALUES ('one'), ('two'), ('two');
        INSERT INTO lists VALUES ('{1,2}', 1), ('{3}', 3);
    """)
    adding = Stopped(made.coordinator, "node-tables-copied", f"SELECT citus_add_node('127.0.0.1', {made.workers[1].port})")
    for node in (made.workers[0], made.coordinator):
        with connect(node) as writer:
            writer.execute("SET statement_timeout = '20s'")
            writer.execute("INSERT INTO pairs VALUES (%s, 'sad', 'new')", [node.name[:5]])
            writer.execute("INSERT INTO ref SELECT %s + g, 'later' FROM generate_series(1, 10) g", [node.port * 100])
    connection.execute("""
        SET statement_timeout = '20s';
        UPDATE pairs SET v = v || 'x' WHERE a LIKE 'a9%';
        DELETE FROM pairs WHERE a LIKE 'a1%';
        UPDATE ref SET k = k + 1000000 WHERE k < 3;
        DELETE FROM loose WHERE v = 'one';
        INSERT INTO loose VALUES (NULL);
        UPDATE lists SET v = 4 WHERE k = '{3}';
    """)
    connection.execute("BEGIN; DELETE FROM pairs; ROLLBACK")
    connection.execute("VACUUM pairs")
    assert adding.go_on() is None
    for table in ("pairs", "loose", "lists", "ref"):
        seen = on_every_node(made, f"SELECT md5(string_agg(t::text, ';' ORDER BY t::text)), count(*) FROM {table} t")
        assert len(set(map(tuple, seen.values()))) == 1, table
        assert seen["coordinator"][0][1] > 0


def test_writer_waits_for_a_node_being_added(bare, connect):
    """A write that begins while a node is being added reaches the new node too."""
    made, _ = bare
    adder = connect(made.coordinator, autocommit=False)
    call(adder, "citus_add_node", made.workers[1])
    writer = connect(made.workers[0])
    thread = in_background(lambda: writer.execute("INSERT INTO ref VALUES (11, 'after')"))
    wait_until(waits_for_lock(connect, made.workers[0]), "the writer waits for citus_add_node")
    adder.commit()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert set(map(tuple, on_every_node(made, REFERENCE).values())) == \
        {((1, "one"), (2, None), (11, "after"))}


def test_table_creation_waits_for_a_node_being_added(bare, connect):
    made, _ = bare
    adder = connect(made.coordinator, autocommit=False)
    call(adder, "citus_add_node", made.workers[1])
    creator = connect(made.coordinator)
    creator.execute("CREATE TABLE late (a int)")
    thread = in_background(lambda: creator.execute("SELECT create_reference_table('late')"))
    wait_until(waits_for_lock(connect, made.coordinator), "the creation waits for citus_add_node")
    adder.commit()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert value(connect(made.workers[1]), "SELECT count(*) FROM late") == 0


def test_first_tables_of_a_lone_server_at_once(make_cluster, connect):
    """Two sessions that both find a server without nodes register it once."""
    made = make_cluster(kind="bare", workers=0)
    first = connect(made.coordinator, autocommit=False)
    second = connect(made.coordinator)
    first.execute("CREATE TABLE a (k int); SELECT create_distributed_table('a', 'k')")
    second.execute("CREATE TABLE b (k int)")
    thread = in_background(lambda: second.execute("SELECT create_distributed_table('b', 'k')"))
    wait_until(waits_for_lock(connect, made.coordinator), "the second waits for the first")
    first.commit()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert value(second, "SELECT count(*) FROM pg_dist_node") == 1
    assert value(second, "SELECT count(*) FROM citus_tables") == 2


def test_node_that_was_down_is_told_later(bare, connect):
    """A node that is down when another one moves learns that when it is back."""
    made, connection = bare
    down, moved = made.workers
    call(connection, "citus_add_node", moved)
    down.stop()
    connection.execute("SELECT citus_update_node(nodeid, 'localhost', nodeport) FROM pg_dist_node "
                       "WHERE nodeport = %s", [moved.port])
    synced = "SELECT bool_and(metadatasynced) FROM pg_dist_node"
    assert value(connection, synced) is False
    down.start()
    wait_until(lambda: value(connection, synced), "the daemon tells the node")
    known = on_every_node(made, NODES)
    assert known["coordinator"] == known["worker1"] == known["worker2"]
    assert ("localhost", moved.port) in [row[:2] for row in known["worker1"]]


@pytest.mark.parametrize("down", [False, True])
def test_removed_after_moves(bare, connect, down):
    """What shards were before they left a node goes before it is removed, or with it if it is down; they move on."""
    def move(shard, source, target):
        connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')",
                           [shard, source.port, target.port])

    def remove():
        try:
            call(connection, "citus_remove_node", node)
        except psycopg.errors.ObjectInUse as error:
            assert "transactions may still read there" in str(error)
            return False
        return True

    made, connection = bare
    stays, node = made.workers
    call(connection, "citus_add_node", node)
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a', shard_count => 4)")
    connection.execute("INSERT INTO t SELECT generate_series(1, 50)")
    shards = [shard for shard, in rows(connection, "SELECT shardid FROM citus_shards WHERE table_name = 't'::regclass "
                                      "AND nodeport = %s ORDER BY 1", [node.port])]
    reader = connect(made.coordinator)
    reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t")
    for shard in shards:
        move(shard, node, stays)
    connection.execute("""
        INSERT INTO pg_dist_cleanup (operation_id, object_type, object_name, node_group_id, policy_type)
        SELECT 0, kind, 'citus_data.of_a_dead_move', groupid, 1 FROM pg_dist_node, unnest(ARRAY[1, 2, 5]) kind
        WHERE nodeport = %s""", [node.port])
    if down:
        node.stop()
    else:
        assert not remove()
        assert value(reader, "SELECT count(*) FROM t") == 50
    reader.close()
    wait_until(remove, "the node to be removed")
    for other in (made.coordinator, stays):
        assert rows(connect(other), "SELECT DISTINCT shardstate FROM pg_dist_placement") == [(1,)]
    assert value(connection, "SELECT citus_internal.cleanup()") == 0
    move(shards[0], stays, made.coordinator)
    if down:
        node.start()
    call(connection, "citus_add_node", node)
    move(shards[1], stays, node)
    assert value(connection, "SELECT count(*) FROM t") == 50


def test_two_nodes_that_are_down_are_removed(bare, connect):
    made, connection = bare
    call(connection, "citus_add_node", made.workers[1])
    for node in made.workers:
        node.stop()
    for node in made.workers:
        call(connection, "citus_remove_node", node)
    assert [row[1] for row in rows(connection, NODES)] == [made.coordinator.port]
    connection.execute("INSERT INTO ref VALUES (5, 'five')")
    assert value(connection, "SELECT count(*) FROM ref") == 3
    for node in made.workers:
        node.start()
        call(connection, "citus_add_node", node)
    assert len(set(map(tuple, on_every_node(made, REFERENCE).values()))) == 1


def test_views_with_a_node_down(bare, connect):
    made, connection = bare
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a')")
    made.workers[0].stop()
    assert rows(connection, "SELECT table_name::text, table_size IS NULL FROM citus_tables") == \
        [("ref", False), ("t", True)]
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE shard_size IS NULL") > 1
    made.workers[0].start()
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE shard_size IS NULL") == 0


@pytest.mark.parametrize("point, change", [
    ("reshape-before-switch", "citus_split_shard_by_split_points({shard}, '{{{middle}}}', '{{{node},{other}}}')"),
    ("move-before-switch", "citus_move_shard_placement({shard}, {node}, {other}, 'block_writes')")])
def test_added_beside_change_of_shards(bare, connect, point, change):
    """A node that is added while shards are split or moved gets what becomes of them."""
    made, connection = bare
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a', shard_count => 4)")
    connection.execute("INSERT INTO t SELECT generate_series(1, 50)")
    shard, first, last, node = rows(connection, """
        SELECT shardid, shardminvalue::int, shardmaxvalue::int, nodeid FROM pg_dist_shard
        JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 't'::regclass ORDER BY 1""")[0]
    other = value(connection, "SELECT min(nodeid) FROM pg_dist_node WHERE nodeid <> %s", [node])
    changing = Stopped(made.coordinator, point, "SELECT " + change.format(shard=shard, node=node, other=other, middle=(first + last) // 2))
    call(connection, "citus_add_node", made.workers[1])
    assert changing.go_on() is None
    wait_until(lambda: connection.execute("CALL citus_cleanup_orphaned_resources()") and value(
        connection, "SELECT count(*) FROM pg_dist_placement WHERE shardstate <> 1") == 0, "former placements to be gone")
    for catalog in ("pg_dist_placement", "pg_dist_shard"):
        answers = on_every_node(made, f"SELECT {catalog}::text FROM {catalog} ORDER BY shardid, 1")
        assert len(set(map(str, answers.values()))) == 1, answers
    for each in made.nodes:
        assert value(connect(each), "SELECT count(*) FROM t") == 50


@pytest.mark.parametrize("where", [0, 1, 2])
def test_removed_beside_transactions(bare, connect, where):
    """A removal names the transactions that it waits for, within limits, and others go on meanwhile."""
    made, connection = bare
    stays, node = made.workers
    call(connection, "citus_add_node", node)
    connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a', shard_count => 4)")
    call(connection, "citus_drain_node", node)
    connection.execute("CALL citus_cleanup_orphaned_resources()")
    user, other = connect(made.nodes[where]), connect(stays)
    user.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; " + (
        "SELECT count(*) FROM t" if made.nodes[where] is node else "UPDATE ref SET v = 'three' WHERE k = 1"))
    pid = str(value(user, "SELECT citus_backend_gpid()"))
    notices = []
    connection.add_notice_handler(lambda notice: notices.append((notice.message_primary, notice.message_detail)))

    connection.execute("SET lock_timeout = '1500ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable) as caught:
        call(connection, "citus_remove_node", node)
    assert pid in caught.value.diag.message_detail
    connection.execute("RESET lock_timeout")
    notices.clear()
    removing = Statement(connection, f"SELECT citus_remove_node('127.0.0.1', {node.port})")
    wait_until(lambda: notices, "a notice")
    assert "waiting for transactions on node" in notices[0][0] and pid in notices[0][1]
    other.execute("SET lock_timeout = '5s'; CREATE TABLE u (a int); SELECT create_reference_table('u'); DROP TABLE u")
    connection.cancel()
    assert isinstance(removing.finish(), psycopg.errors.QueryCanceled)
    removing = Statement(connection, f"SELECT citus_remove_node('127.0.0.1', {node.port})")
    wait_until(lambda: len(notices) > 1, "a notice")
    user.execute("COMMIT")
    assert removing.finish() is None
    assert value(other, "SELECT count(*) FROM pg_dist_node") == 2


def test_removed_and_added_in_one_transaction(bare, connect):
    """That would wait for itself, so it is refused; a savepoint undoes the removal on all nodes."""
    made, connection = bare
    before = on_every_node(made, NODES)["coordinator"]
    with connection.transaction():
        with pytest.raises(psycopg.errors.ObjectInUse):
            with connection.transaction():
                call(connection, "citus_remove_node", made.workers[0])
                call(connection, "citus_add_node", made.workers[0])
        connection.execute("INSERT INTO ref VALUES (6, 'six')")
    assert rows(connection, NODES) == rows(connect(made.workers[0]), NODES) == before
    assert value(connect(made.workers[0]), "SELECT v FROM ref WHERE k = 6") == "six"


def test_node_added_between_changes_of_one_transaction(bare, connect):
    made, connection = bare
    with connection.transaction():
        connection.execute("INSERT INTO ref VALUES (7, 'seven')")
        connection.execute("CREATE TABLE t (a int); SELECT create_distributed_table('t', 'a')")
        connection.execute("INSERT INTO t SELECT generate_series(1, 50)")
        call(connection, "citus_add_node", made.workers[1])
        connection.execute("INSERT INTO ref VALUES (8, 'eight')")
        connection.execute("INSERT INTO t SELECT generate_series(51, 100)")
    assert len(set(map(tuple, on_every_node(made, REFERENCE).values()))) == 1
    assert value(connect(made.workers[1]), "SELECT count(*) FROM t") == 100


def test_node_gets_triggers(bare, connect):
    """After the rows of reference tables, which fire none; a client of the new node fires them like any other."""
    made, connection = bare
    function = """CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        NEW.v := coalesce(NEW.v, '') || '!'; RETURN NEW; END$$"""
    connection.execute(function)
    connection.execute("CREATE TRIGGER mark BEFORE INSERT ON ref FOR EACH ROW EXECUTE FUNCTION mark()")
    connection.execute("CREATE TRIGGER off BEFORE INSERT ON ref FOR EACH ROW EXECUTE FUNCTION mark()")
    connection.execute("ALTER TABLE ref DISABLE TRIGGER off")
    node = made.workers[1]
    call(connection, "citus_add_node", node)
    connect(node).execute("INSERT INTO ref VALUES (3, 'three')")
    assert set(map(tuple, on_every_node(made, REFERENCE).values())) == {((1, "one"), (2, None), (3, "three!"))}
    states = on_every_node(made, "SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'ref'::regclass"
                                 " AND NOT tgisinternal ORDER BY 1")
    assert states["worker2"] == states["coordinator"] == states["worker1"] and len(states["worker2"]) == 2


def test_nodes_by_their_sockets(bare, connect):
    """Nodes of one machine can be registered by the folders of their Unix sockets, which cost less than TCP."""
    made, connection = bare
    folders = {node.port: str(node.folder) for node in made.nodes}
    connection.execute("SELECT citus_set_coordinator_host(%s, %s)", [folders[made.coordinator.port], made.coordinator.port])
    connection.execute("SELECT citus_update_node(nodeid, %s, nodeport) FROM pg_dist_node WHERE groupid = 1",
                       [folders[made.workers[0].port]])
    connection.execute("SELECT citus_add_node(%s, %s)", [folders[made.workers[1].port], made.workers[1].port])
    connection.execute("CREATE TABLE near (id int PRIMARY KEY, v int)")
    connection.execute("SELECT create_distributed_table('near', 'id')")
    for node in made.nodes:
        session = connect(node)
        session.execute("INSERT INTO near SELECT g, 1 FROM generate_series(%s::int, %s) g", [node.port * 100, node.port * 100 + 99])
        session.execute("UPDATE ref SET v = v || 'x'")
        assert rows(session, "SELECT nodename FROM pg_dist_node ORDER BY nodeport") == [(folders[n.port],) for n in made.nodes]
        clients = on_every_node(made, "SELECT DISTINCT client_addr FROM pg_stat_activity WHERE application_name LIKE 'citus_internal%%'")
        assert [(None,)] in clients.values() and all(found in ([], [(None,)]) for found in clients.values())
    assert value(connection, "SELECT sum(v) FROM near") == 300
    assert rows(connection, "SELECT bool_and(result) FROM citus_check_cluster_node_health()") == [(True,)]


def test_going_on_without_a_node(bare, connect):
    """A node that is down with shards is disabled by force; when it is back, it is activated with them."""
    made, connection = bare
    lost = made.workers[1]
    call(connection, "citus_add_node", lost)
    connection.execute("""
        CREATE TABLE kept (id int PRIMARY KEY, k int REFERENCES ref);
        CREATE TABLE given_up (id int);
        SELECT create_distributed_table('kept', 'id'), create_distributed_table('given_up', 'id');
        INSERT INTO kept SELECT g, 1 FROM generate_series(1, 100) g""")
    lost.kill()
    with pytest.raises(psycopg.errors.ObjectInUse, match="only placement"):
        call(connection, "citus_disable_node", lost)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("INSERT INTO ref VALUES (3, 'three')")
    call(connection, "citus_disable_node", lost, False, True)

    connection.execute("INSERT INTO ref VALUES (3, 'three')")
    connect(made.workers[0]).execute("UPDATE ref SET v = 'two' WHERE k = 2")
    connection.execute("ALTER TABLE ref ADD COLUMN w int DEFAULT 3")
    connection.execute("CREATE TABLE later (id int); SELECT create_distributed_table('later', 'id', "
                       "colocate_with => 'none'); INSERT INTO later SELECT generate_series(1, 100)")
    connection.execute("DROP TABLE given_up")
    for statement in ("SELECT count(*) FROM kept", "UPDATE kept SET k = 2", "ALTER TABLE kept ADD COLUMN c int",
                      "CREATE INDEX ON kept (k)", "TRUNCATE kept"):
        with pytest.raises(psycopg.errors.UndefinedObject, match="not active"):
            connection.execute(statement)

    lost.start()
    call(connection, "citus_activate_node", lost)
    for node in made.nodes:
        client = connect(node)
        assert rows(client, "SELECT * FROM ref ORDER BY k") == [(1, "one", 3), (2, "two", 3), (3, "three", 3)]
        assert value(client, "SELECT count(*) FROM kept") == value(client, "SELECT count(*) FROM later") == 100
    connection.execute("ALTER TABLE kept ADD COLUMN c int DEFAULT 7")
    assert value(connection, "SELECT sum(c) FROM kept") == 700
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("UPDATE kept SET k = 99")
    assert value(connect(lost), "SELECT bool_and(EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND "
                 "contype = 'f')) FROM pg_class c WHERE relkind = 'r' AND relname ~ '^kept_[0-9]'") is True
    known = on_every_node(made, NODES)
    assert known["coordinator"] == known["worker1"] == known["worker2"]
