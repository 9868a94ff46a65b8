"""What a role makes in advance under the name of another's future object is not taken for that object."""

import psycopg
import pytest

from harness import servers
from harness.servers import on_every_node, rows, value

MALLORY = "mallory"

# Ways to put something into the schema of the shards, each of them a script of an ordinary role.
INTRUSIONS = {
    "table": "CREATE TABLE citus_data.victim_1 (id int)",
    "view": "CREATE VIEW citus_data.victim_1 AS SELECT 1",
    "domain": "CREATE DOMAIN citus_data.victim_1 AS int",
    "type": "CREATE TYPE citus_data.victim_1 AS (id int)",
    "function": "CREATE FUNCTION citus_data.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "sequence": "CREATE SEQUENCE citus_data.victim_1",
    "moved table": "CREATE TABLE moved (id int); ALTER TABLE moved SET SCHEMA citus_data",
    "moved view": "CREATE VIEW moved AS SELECT 1 AS x; ALTER VIEW moved SET SCHEMA citus_data",
    "moved sequence": "CREATE SEQUENCE moved; ALTER SEQUENCE moved SET SCHEMA citus_data",
    "moved domain": "CREATE DOMAIN moved AS int; ALTER DOMAIN moved SET SCHEMA citus_data",
    "moved type": "CREATE TYPE moved AS (id int); ALTER TYPE moved SET SCHEMA citus_data",
    "moved function": "CREATE FUNCTION moved() RETURNS int LANGUAGE sql AS 'SELECT 1';"
                      "ALTER FUNCTION moved() SET SCHEMA citus_data",
    "in a function": "DO $$ BEGIN CREATE TABLE citus_data.victim_1 (id int); END $$",
}


@pytest.fixture(scope="module")
def made():
    """A cluster with a role that may create in the schema public of all nodes."""
    with servers.cluster(purpose="check-advance") as cluster:
        for node in cluster.nodes:
            node.sql(f"SET citus.enable_ddl_propagation = off; CREATE ROLE {MALLORY} LOGIN;"
                     f"GRANT CREATE ON SCHEMA public TO {MALLORY}; GRANT CREATE ON DATABASE postgres TO {MALLORY}")
        yield cluster


@pytest.fixture
def admin(made, connect):
    return connect(made.coordinator)


@pytest.fixture
def mallory(made, connect):
    """Mallory's session on the first worker, for which nothing is propagated."""
    connection = connect(made.workers[0], user=MALLORY)
    connection.execute("SET citus.enable_ddl_propagation = off")
    return connection


@pytest.fixture
def own_shards(made, connect):
    """A distributed table of mallory's, and the names of its shards on the first worker."""
    connection = connect(made.coordinator, user=MALLORY)
    connection.execute("CREATE TABLE own (id int PRIMARY KEY, payload int)")
    connection.execute("SELECT create_distributed_table('own', 'id', shard_count => 4)")
    yield [row[0] for row in rows(connect(made.workers[0]), "SELECT relname FROM pg_class WHERE relname ~ '^own_\\d+$'")]
    connection.execute("DROP TABLE own")


def intruders(made):
    return on_every_node(made, "SELECT oid::regclass FROM pg_class WHERE relnamespace = 'citus_data'::regnamespace "
                         "AND relname !~ '^own_'")


@pytest.mark.parametrize("way", INTRUSIONS)
def test_no_way_into_the_schema_of_the_shards(made, mallory, way):
    with mallory.transaction(force_rollback=True):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for schema citus_data"):
            mallory.execute(INTRUSIONS[way])


def test_superusers_have_no_way_either(made, connect):
    """They would do it by mistake only."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect(made.workers[0]).execute("CREATE TABLE citus_data.victim_1 (id int)")


def test_own_shards_keep_their_names(made, mallory, own_shards):
    """A shard of a role's own table doesn't become one of another table, nor leave the schema."""
    for statement in ("ALTER TABLE citus_data.{} RENAME TO victim_1", "ALTER TABLE citus_data.{} SET SCHEMA public",
                      "ALTER INDEX citus_data.{}_pkey RENAME TO victim_1"):
        name = own_shards[0]
        if "INDEX" in statement:
            name = value(mallory, "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid "
                         "WHERE indrelid = %s::regclass", [f"citus_data.{name}"])
            statement = statement.replace("{}_pkey", "{}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
            mallory.execute(statement.format(name))


def test_functions_in_the_middle_of_our_commands(made, connect, own_shards):
    """A function that a command on the role's own shards runs has no more rights than otherwise."""
    for node in made.nodes:
        node.sql(f"""SET citus.enable_ddl_propagation = off; SET ROLE {MALLORY};
            CREATE FUNCTION public.intrude(int) RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN
              EXECUTE 'CREATE TABLE citus_data.victim_1 (id int)';
              RETURN true;
            END $$""")
    connection = connect(made.coordinator, user=MALLORY)
    connection.execute("INSERT INTO own SELECT g, g FROM generate_series(1, 10) g")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for schema citus_data"):
        connection.execute("ALTER TABLE own ADD CHECK (public.intrude(payload))")
    assert not any(intruders(made).values())
    for node in made.nodes:
        node.sql("SET citus.enable_ddl_propagation = off; DROP FUNCTION public.intrude(int)")


POSITIVE = "CREATE FUNCTION public.positive(int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 > 0'"
DROP_POSITIVE = "DROP FUNCTION public.positive(int)"

# What the superuser's table needs, and what mallory, or somebody with another idea of it, made before on a worker.
NEEDED = {
    "domain": ("CREATE DOMAIN public.thing AS int CHECK (value > 0)", "DROP DOMAIN public.thing",
               "CREATE TABLE victim (id int, x public.thing)"),
    "enum": ("CREATE TYPE public.thing AS ENUM ('a', 'b')", "DROP TYPE public.thing",
             "CREATE TABLE victim (id int, x public.thing)"),
    "composite": ("CREATE TYPE public.thing AS (a int, b text)", "DROP TYPE public.thing",
                  "CREATE TABLE victim (id int, x public.thing)"),
    "range": ("CREATE TYPE public.thing AS RANGE (subtype = int4)", "DROP TYPE public.thing",
              "CREATE TABLE victim (id int, x public.thing)"),
    "collation": ("CREATE COLLATION public.thing (locale = 'C')", "DROP COLLATION public.thing",
                  "CREATE TABLE victim (id int, x text COLLATE public.thing)"),
    "sequence": ("CREATE SEQUENCE public.thing", "DROP SEQUENCE public.thing",
                 "CREATE TABLE victim (id int, x bigint DEFAULT nextval('public.thing'))"),
    "schema": ("CREATE SCHEMA thing", "DROP SCHEMA thing", "CREATE TABLE thing.victim (id int, x int)"),
    "check": (POSITIVE, DROP_POSITIVE, "CREATE TABLE victim (id int, x int CHECK (public.positive(x)))"),
    "default": (POSITIVE, DROP_POSITIVE, "CREATE TABLE victim (id int, x bool DEFAULT public.positive(1))"),
    "index": (POSITIVE, DROP_POSITIVE, "CREATE TABLE victim (id int, x int); CREATE INDEX ON victim (public.positive(x))"),
    "operator": ("CREATE OPERATOR public.=== (FUNCTION = pg_catalog.int4eq, LEFTARG = int, RIGHTARG = int)", "DROP OPERATOR public.===(int, int)",
                 "CREATE TABLE victim (id int, x int CHECK (x OPERATOR(public.===) x))"),
    "policy": (POSITIVE, DROP_POSITIVE, "CREATE TABLE victim (id int, x int); CREATE POLICY p ON victim USING (public.positive(x))"),
    "trigger": ("CREATE FUNCTION public.fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'", "DROP FUNCTION public.fired()",
                "CREATE TABLE victim (id int, x int); CREATE TRIGGER t BEFORE INSERT ON victim FOR EACH ROW EXECUTE FUNCTION public.fired()"),
}

# The same names with other contents, by the superuser.
OTHER = {
    "domain": "CREATE DOMAIN public.thing AS int CHECK (value > 1)",
    "enum": "CREATE TYPE public.thing AS ENUM ('b', 'a')",
    "composite": "CREATE TYPE public.thing AS (a int, b int)",
    "range": "CREATE TYPE public.thing AS RANGE (subtype = int8)",
    "collation": "CREATE COLLATION public.thing (locale = 'POSIX')",
    "sequence": "CREATE SEQUENCE public.thing AS int",
    "check": POSITIVE.replace(">", "<"),
    "operator": "CREATE OPERATOR public.=== (FUNCTION = pg_catalog.int4ne, LEFTARG = int, RIGHTARG = int)",
}


@pytest.fixture
def distribute(made, admin):
    """Makes and distributes the superuser's table; what is left of it goes after the test."""
    used = []

    def run(kind):
        create, drop, table = NEEDED[kind]
        admin.execute("SET citus.enable_ddl_propagation = off")
        if not used:
            admin.execute(create)
            admin.execute(table)
        admin.execute("SET citus.enable_ddl_propagation = on")
        used.append(drop)
        name = table.split()[2]
        admin.execute("SELECT create_distributed_table(%s, 'id', shard_count => 4)", [name])
        admin.execute(f"DROP TABLE {name}")

    yield run
    admin.execute("DROP TABLE IF EXISTS victim")
    admin.execute("DROP TABLE IF EXISTS thing.victim")
    for node in made.nodes:
        node.sql("SET citus.enable_ddl_propagation = off;" + used[0].replace(" public", " IF EXISTS public").replace(
            "SCHEMA", "SCHEMA IF EXISTS"))


def refused_until_dropped(distribute, kind, owner):
    with pytest.raises(psycopg.errors.DuplicateObject, match="is not the same"):
        distribute(kind)
    owner.execute(NEEDED[kind][1])
    distribute(kind)


@pytest.mark.parametrize("kind", NEEDED)
def test_objects_of_another_owner_are_not_taken(mallory, distribute, kind):
    mallory.execute(NEEDED[kind][0])
    refused_until_dropped(distribute, kind, mallory)


@pytest.mark.parametrize("kind", OTHER)
def test_objects_with_other_contents_are_not_taken(made, connect, distribute, kind):
    other = connect(made.workers[1])
    other.execute("SET citus.enable_ddl_propagation = off")
    other.execute(OTHER[kind])
    refused_until_dropped(distribute, kind, other)


@pytest.mark.parametrize("kind", NEEDED)
def test_the_same_objects_are_taken(made, connect, distribute, kind):
    other = connect(made.workers[1])
    other.execute("SET citus.enable_ddl_propagation = off")
    other.execute(NEEDED[kind][0])
    distribute(kind)


OPERATORS = ["=", "<>", "<", ">", "<=", ">=", "~", "~~", "->>", "||", "+", "-"]

OPERANDS = ["name", "integer", "bigint", "oid", "regclass", '"char"', "text", "numeric", "jsonb", "noderole", "pg_lsn", "citus_job_status"]

# An operator for each pair of types for which the server has none of its own: it fits better than the server's.
BETTER_OPERATORS = f"""
    SET citus.enable_ddl_propagation = off;
    SET search_path = pg_catalog;
    SET client_min_messages = error;
    DO $do$
    DECLARE
        l text; r text; o text; f text;
    BEGIN
        FOREACH l IN ARRAY ARRAY['{"','".join(OPERANDS)}'] LOOP FOREACH r IN ARRAY ARRAY['{"','".join(OPERANDS)}'] LOOP
            f := format('public.%I', format('trap %s %s', replace(l, '"', ''), replace(r, '"', '')));
            EXECUTE format($f$CREATE FUNCTION %s(%s, %s) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $b$
                BEGIN
                    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
                        RAISE LOG 'trapped with %% and %%: %%', '%s', '%s', current_query();
                    END IF;
                    RETURN true;
                END $b$ $f$, f, l, r, l, r);
            FOREACH o IN ARRAY ARRAY['{"','".join(OPERATORS)}'] LOOP
                IF NOT EXISTS (SELECT FROM pg_operator WHERE oprname = o AND oprleft = l::regtype AND oprright = r::regtype) THEN
                    EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = %s, LEFTARG = %s, RIGHTARG = %s)', o, f, l, r);
                END IF;
            END LOOP;
        END LOOP; END LOOP;
    END $do$"""

WORK_OF_SUPERUSERS = """
    CALL citus_cleanup_orphaned_resources();
    CREATE TABLE ref (id int PRIMARY KEY); SELECT create_reference_table('ref');
    CREATE TABLE victim (id int PRIMARY KEY, x int); SELECT create_distributed_table('victim', 'id', shard_count => 2);
    SELECT citus_check_reference_table('ref'); SELECT recover_prepared_transactions(); SELECT citus_check_cluster_node_health();
    SELECT count(*) FROM citus_tables; SELECT count(*) FROM citus_shards; SELECT count(*) FROM citus_stat_activity; SELECT count(*) FROM citus_lock_waits;
    SELECT citus_move_shard_placement(min(shardid), 2, 3, 'force_logical') FROM citus_shards WHERE table_name OPERATOR(pg_catalog.=) 'victim'::regclass AND nodeport = {first};
    SELECT citus_rebalance_start(); SELECT citus_rebalance_status(); SELECT citus_rebalance_wait(); SELECT count(*) FROM citus_rebalance_progress;
    SELECT citus_update_node(3, 'localhost', {second}, true, 100);
    SELECT citus_update_node(3, '127.0.0.1', {second}, true, 100);
    SELECT citus_drain_node('127.0.0.1', {second}); SELECT citus_disable_node('127.0.0.1', {second}); SELECT citus_activate_node('127.0.0.1', {second});
    SELECT citus_remove_node('127.0.0.1', {second}); SELECT citus_add_node('127.0.0.1', {second});
    ANALYZE victim; DROP TABLE victim, ref"""


def test_better_operators(own_cluster, connect):
    """Whatever superusers and the daemon run of ours, they don't run the operators of a role that fit better than the server's."""
    marks = {}
    for node in own_cluster.nodes:
        node.sql(f"SET citus.enable_ddl_propagation = off; CREATE ROLE {MALLORY} LOGIN; GRANT CREATE ON SCHEMA public TO {MALLORY}")
        servers.connect(node, user=MALLORY).execute(BETTER_OPERATORS)
        marks[node] = node.log_mark()
    admin = connect(own_cluster.coordinator)
    for statement in WORK_OF_SUPERUSERS.format(first=own_cluster.workers[0].port, second=own_cluster.workers[1].port).split(";"):
        admin.execute(statement)
    for node, mark in marks.items():
        trapped = [line for line in node.log_since(mark).splitlines() if "trapped with" in line]
        assert not trapped, trapped[:5]


def test_better_operators_than_those_of_views(made, mallory, admin, connect):
    """A view's operators are those that it was made with, also where its shards are, whoever uses it with whatever search path."""
    admin.execute("CREATE TABLE listed (id int PRIMARY KEY, a int[]); SELECT create_distributed_table('listed', 'id', shard_count => 4);"
                  "INSERT INTO listed SELECT g, ARRAY[g] FROM generate_series(1, 20) g;"
                  "CREATE VIEW third AS SELECT id, array_length(a, 1) AS n FROM listed WHERE a = '{3}';"
                  "CREATE TABLE known (a int[]); SELECT create_reference_table('known'); INSERT INTO known VALUES ('{3}'), ('{5}');"
                  "CREATE VIEW common AS SELECT * FROM known WHERE a = '{3}'")
    create = """SET citus.enable_ddl_propagation = off; SET check_function_bodies = off;
        CREATE FUNCTION public.array_length(int[], int) RETURNS int LANGUAGE sql AS 'SELECT -1';
        CREATE FUNCTION public.never(int[], int[]) RETURNS boolean LANGUAGE sql AS 'SELECT false';
        CREATE OPERATOR public.= (FUNCTION = public.never, LEFTARG = int[], RIGHTARG = int[])"""
    drop = """SET citus.enable_ddl_propagation = off; DROP FUNCTION public.array_length(int[], int);
        DROP FUNCTION public.never(int[], int[]) CASCADE"""
    sessions = [mallory, *(connect(node, user=MALLORY) for node in (made.coordinator, made.workers[1]))]
    for session in sessions:
        session.execute(create)
    try:
        user = connect(made.coordinator)
        assert rows(user, "SELECT * FROM third") == [(3, 1)]
        assert rows(user, "SELECT * FROM third WHERE id = 3") == [(3, 1)]
        assert user.execute("UPDATE third SET id = id WHERE false").rowcount == 0
        assert value(user, "SELECT sum(n) FROM third") == 1
        assert "OPERATOR(pg_catalog.=)" in str(rows(user, "EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM third"))
        assert user.execute("UPDATE common SET a = '{4}'").rowcount == 1
    finally:
        for session in sessions:
            session.execute(drop)
        admin.execute("DROP TABLE listed, known CASCADE")
