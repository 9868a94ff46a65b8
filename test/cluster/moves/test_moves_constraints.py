"""citus_move_shard_placement and others that copy a table's rows: what its constraints would reject."""

import psycopg
import pytest

from harness.servers import pid_of, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped

MODES = ["force_logical", "block_writes"]


def shard_of(connection, table, key):
    """A key's shard, and the port of its node."""
    return rows(connection, """
        SELECT shardid, nodeport FROM citus_shards
        WHERE table_name = %s::regclass AND shardid = get_shard_id_for_distribution_column(%s::regclass, %s)""",
                [table, table, key])[0]


def move(connection, shard, source, target, mode):
    connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, %s)", [shard, source, target, mode])


def test_values_that_their_domain_rejects(cluster, connect, schema):
    """A constraint that is NOT VALID is for new values: tables that have others are distributed, and their shards moved."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute("CREATE DOMAIN small AS int; CREATE DOMAIN need AS text; CREATE DOMAIN smalls AS small[]; "
                           "CREATE TYPE mood AS ENUM ('dull', 'fine'); CREATE TYPE pair AS (a small, b need, c mood)")
        for table in ("filled", "copied"):
            connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, s small, n need, a small[], p pair, ps pair[], d smalls)")
            connection.execute(f"""INSERT INTO {table} SELECT g, g * 100, NULL, ARRAY[g * 100, NULL], (g * 100, NULL, 'fine'::mood)::pair,
                ARRAY[(g * 100, NULL, 'dull'::mood)::pair, NULL], ARRAY[[g * 100], [1]] FROM generate_series(1, 20) g""")
        nested = rows(connection, "SELECT id, a::text, p::text, ps::text, d::text FROM filled ORDER BY id")
        connection.execute("""ALTER DOMAIN small ADD CHECK (VALUE < 50) NOT VALID;
            ALTER DOMAIN need ADD CHECK (VALUE IS NOT NULL) NOT VALID""")
        connection.execute("SELECT create_distributed_table('filled', 'id', shard_count => 2, colocate_with => 'none')")
        connection.execute("SELECT create_reference_table('copied')")
        for mode in MODES:
            shard, port = shard_of(connection, f"{schema}.filled", 1)
            target = next(node.port for node in cluster.workers if node.port != port)
            connection.execute(f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', {target}, '{mode}')")
        connection.execute("SELECT alter_distributed_table('filled', shard_count => 3)")
        assert rows(connection, "SELECT count(*), sum(s), count(n) FROM filled") == [(20, 21000, 0)]
        for table in ("filled", "copied"):
            assert rows(connection, f"SELECT id, a::text, p::text, ps::text, d::text FROM {table} ORDER BY id") == nested
        assert {tuple(row) for row in rows(connection, """SELECT result FROM run_command_on_all_nodes(
            format('SELECT (count(*), sum(s), count(n), sum(a[1]), sum((p).a), count((ps[1]).c), sum(d[1][1]))::text FROM %I.copied',
                current_schema()))""")} == {("(20,21000,0,21000,21000,20,21000)",)}
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO filled VALUES (30, 60, 'x')")
        with pytest.raises(psycopg.errors.CheckViolation), connection.cursor().copy("COPY filled FROM STDIN") as copy:
            copy.write("30\t60\tx\n")
        for column, text in (("a", "{60}"), ("p", "(60,x,fine)"), ("ps", '{"(60,x,dull)"}'), ("d", "{60}")):
            with pytest.raises(psycopg.errors.CheckViolation), connection.cursor().copy(f"COPY filled (id, {column}) FROM STDIN") as copy:
                copy.write(f"30\t{text}\n")


def test_rows_that_a_check_rejects(cluster, connect, schema):
    """A CHECK that is NOT VALID is for new rows: tables that have others are distributed and made local, and their shards moved and split."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute("CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id); "
                           "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100)")
        for table in ("filled", "copied", "parted"):
            if table != "parted":
                connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int)")
            connection.execute(f"INSERT INTO {table} SELECT g, -g FROM generate_series(1, 20) g")
            connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (v > 0) NOT VALID")
        connection.execute("SELECT create_distributed_table('filled', 'id', shard_count => 2, colocate_with => 'none'), "
                           "create_distributed_table('parted', 'id'), create_reference_table('copied')")
        for mode in MODES:
            shard, port = shard_of(connection, f"{schema}.filled", 1)
            target = next(node.port for node in cluster.workers if node.port != port)
            move(connection, shard, port, target, mode)
        connection.execute("SELECT alter_distributed_table('filled', shard_count => 3)")
        for table in ("filled", "parted", "copied"):
            assert rows(connection, f"SELECT count(*), sum(v) FROM {table}") == [(20, -210)]
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute(f"INSERT INTO {table} VALUES (30, -1)")
            with pytest.raises(psycopg.errors.CheckViolation), connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                copy.write("31\t-1\n")
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute(f"INSERT INTO {table} SELECT id + 40, v FROM copied")
        for table in ("filled", "copied"):
            connection.execute(f"SELECT undistribute_table('{table}')")
            assert rows(connection, f"SELECT count(*), sum(v) FROM {table}") == [(20, -210)]
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute(f"INSERT INTO {table} VALUES (30, -1)")


def test_rows_that_a_check_rejects_beside_other_ddl(cluster, connect, schema):
    """The same while so much else is changed that the session forgets all that it knows of tables."""
    with connect(cluster.coordinator) as connection, connect(cluster.coordinator) as other:
        connection.execute(f"SET search_path = {schema}")
        connection.execute("""CREATE FUNCTION wait_at_ten(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
            IF n = 10 AND pg_is_in_recovery() IS NOT NULL THEN
                PERFORM pg_advisory_lock_shared(7310); PERFORM pg_advisory_unlock_shared(7310); PERFORM FROM pg_am;
            END IF; RETURN n; END $$""")
        connection.execute("CREATE TABLE filled (id int PRIMARY KEY, v int, w int GENERATED ALWAYS AS (wait_at_ten(id)) STORED)")
        connection.execute("SELECT create_distributed_table('filled', 'id', shard_count => 2, colocate_with => 'none')")
        connection.execute("INSERT INTO filled SELECT g, -g FROM generate_series(1, 20) g")
        connection.execute("ALTER TABLE filled ADD CONSTRAINT positive CHECK (v > 0) NOT VALID")
        other.execute("SELECT pg_advisory_lock(7310)")
        making_local = Statement(connection, "SELECT undistribute_table('filled')")
        wait_until(lambda: value(other, "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted", [pid_of(connection)]) == 1,
                   "the statement to wait")
        other.execute("DO $$ BEGIN FOR i IN 1..400 LOOP CREATE TEMP TABLE zz (a int); DROP TABLE zz; END LOOP; END $$")
        other.execute("SELECT pg_advisory_unlock(7310)")
        assert making_local.finish() is None
        assert rows(connection, "SELECT count(*), sum(v) FROM filled") == [(20, -210)]
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO filled VALUES (30, -1)")


@pytest.mark.parametrize("point, change", [
    ("move-before-slot", "DROP CONSTRAINT positive"), ("move-before-slot", "OWNER TO new_owner"),
    ("move-slot-made", "ADD CONSTRAINT small CHECK (v < 9)"), ("move-slot-made", "OWNER TO new_owner")])
def test_changed_meanwhile(cluster, connect, schema, point, change):
    """A change of the table during a move doesn't end it with an error of the copy: of the constraint that some row violates now, of missing
    rights, of a constraint that the copy's snapshot doesn't show."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute("CREATE TABLE checked (id int, v int CONSTRAINT positive CHECK (v > 0))")
        connection.execute("SELECT create_distributed_table('checked', 'id', shard_count => 2, colocate_with => 'none')")
        shard, port = shard_of(connection, f"{schema}.checked", 1)
        target = next(node for node in cluster.workers if node.port != port)
        connection.execute("CREATE ROLE new_owner")
        moving = Stopped(cluster.coordinator, point, f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, "
                         f"'127.0.0.1', {target.port}, 'force_logical')")
        connection.execute("ALTER TABLE checked " + change)
        connection.execute(f"INSERT INTO checked VALUES (1, {-1 if 'DROP' in change else 1})")
        error = moving.go_on()
        assert error is not None and error.sqlstate == "55000", error
        connection.execute("DROP TABLE checked; DROP ROLE new_owner")


def check_forgotten_mark(connection, schema):
    """A key's statement that fails before it runs leaves no mark, by which another one in its place would find nothing."""
    for _ in range(5):
        connection.execute("SET citus.debug_points = 'left-shard-marked=error'")
        with pytest.raises(psycopg.errors.InternalError):
            connection.execute(f"DELETE FROM {schema}.kind WHERE id = 1")
        connection.execute("SET citus.debug_points = ''")
        connection.execute(f"DO $$BEGIN ASSERT (SELECT count(*) FROM {schema}.kind) = 20; ASSERT (SELECT count(*) FROM pg_am) > 1; END$$")
        assert value(connection, f"SELECT count(*) FROM {schema}.kind") == 20


@pytest.mark.parametrize("change", ["move", "split"])
def test_keys_of_shards_that_have_left(cluster, connect, schema, change):
    """The shard that a snapshot still needs on its old node has foreign keys, which find nothing any more, and so act on nothing."""
    with connect(cluster.coordinator) as connection, connect(cluster.coordinator) as reader:
        connection.execute(f"""
            SET search_path = {schema};
            CREATE TABLE kind (id int PRIMARY KEY);
            CREATE TABLE part (id int PRIMARY KEY);
            CREATE TABLE item (id int PRIMARY KEY, kind int REFERENCES kind, part int REFERENCES part ON DELETE CASCADE);
            SELECT create_reference_table('kind'), create_reference_table('part'),
                create_distributed_table('item', 'id', shard_count => 2, colocate_with => 'none');
            INSERT INTO kind SELECT generate_series(1, 20);
            INSERT INTO part SELECT generate_series(1, 20);
            INSERT INTO item SELECT g, g, g FROM generate_series(1, 20) g""")
        shard, port = shard_of(connection, "item", 1)
        other = next(node.port for node in cluster.workers if node.port != port)
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        count = f"SELECT count(*), sum(kind), sum(part) FROM {schema}.item"
        assert rows(reader, count) == [(20, 210, 210)]
        if change == "move":
            move(connection, shard, port, other, "force_logical")
        else:
            nodes = dict(rows(connection, "SELECT nodeport, nodeid FROM pg_dist_node"))
            connection.execute("SELECT citus_split_shard_by_split_points(%s, ARRAY['-1073741824'], %s, 'force_logical')",
                               [shard, [nodes[other], nodes[other]]])
        with connect(next(node for node in cluster.nodes if node.port == port)) as there:
            check_forgotten_mark(there, schema)
        for run in range(2):    # the second time, the statements of the keys have their plans already
            low, high = 1 + 5 * run, 5 + 5 * run
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                connection.execute(f"DELETE FROM kind WHERE id BETWEEN {low} AND {high}")
            connection.execute(f"DELETE FROM item WHERE id BETWEEN {low} AND {high}")
            connection.execute(f"DELETE FROM kind WHERE id BETWEEN {low} AND {high}")
        connection.execute("DELETE FROM part WHERE id > 15")
        assert rows(connection, count) == [(5, 65, 65)]
        assert rows(reader, count) == [(20, 210, 210)]
        reader.execute("COMMIT")
