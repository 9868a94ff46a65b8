"""Statements about objects other than tables: every node has the same schema after each of them, wherever it was started.

`MATRIX` has a list of statements for each kind of object: create, alter, rename, owner, schema, grant, comment, drop. Each
must change what pg_dump and pg_dumpall say of the initiator, and leave all nodes saying the same.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pomelo_cluster import host

from harness.servers import connect, rows, value, wait_until_quiet

SETUP = """
    CREATE ROLE obj_other; CREATE SCHEMA obj; CREATE SCHEMA obj2; GRANT ALL ON SCHEMA obj, obj2 TO obj_other;
    CREATE FUNCTION obj.helper(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + $2';
    CREATE FUNCTION obj.less(int, int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 < $2';
    CREATE FUNCTION obj.fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE FUNCTION obj.watches() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
    CREATE TYPE obj.pair AS (a int, b int);
    CREATE FUNCTION obj.to_pair(int) RETURNS obj.pair IMMUTABLE LANGUAGE sql AS 'SELECT ($1, $1)::obj.pair';
    CREATE VIEW obj.base AS SELECT 1 AS a, 2 AS b;
    CREATE TABLE obj.dist (id int PRIMARY KEY, b int);
    SELECT create_distributed_table('obj.dist', 'id', shard_count => 4)"""


def moves(kind, name, arguments=""):
    """Owner, comment, name, schema and end of an object with a schema."""
    renamed = name.replace("thing", "renamed")
    return f"""ALTER {kind} obj.{name}{arguments} OWNER TO obj_other; COMMENT ON {kind} obj.{name}{arguments} IS 'a comment';
        ALTER {kind} obj.{name}{arguments} RENAME TO {renamed}; ALTER {kind} obj.{renamed}{arguments} SET SCHEMA obj2;
        DROP {kind} obj2.{renamed}{arguments}"""


MATRIX = {
    "role": """CREATE ROLE obj_role; ALTER ROLE obj_role CREATEDB CONNECTION LIMIT 3; ALTER ROLE obj_role PASSWORD 'secret';
        ALTER ROLE obj_role SET work_mem = '5MB'; ALTER ROLE obj_role RESET work_mem; COMMENT ON ROLE obj_role IS 'a comment';
        ALTER ROLE obj_role IN DATABASE postgres SET work_mem = '6MB'; GRANT obj_other TO obj_role WITH ADMIN OPTION;
        REVOKE ADMIN OPTION FOR obj_other FROM obj_role; REVOKE obj_other FROM obj_role; ALTER ROLE obj_role RENAME TO obj_renamed;
        DROP ROLE obj_renamed""",
    "user": "CREATE USER obj_role PASSWORD 'x' VALID UNTIL '2040-01-01'; ALTER USER obj_role NOLOGIN; DROP USER obj_role",
    "group": "CREATE GROUP obj_role; ALTER GROUP obj_role ADD USER obj_other; ALTER GROUP obj_role DROP USER obj_other; DROP GROUP obj_role",
    "database": """ALTER DATABASE postgres SET work_mem = '7MB'; ALTER DATABASE postgres RESET work_mem;
        COMMENT ON DATABASE postgres IS 'mine'; COMMENT ON DATABASE postgres IS 'default administrative connection database';
        GRANT CREATE ON DATABASE postgres TO obj_other; REVOKE CREATE ON DATABASE postgres FROM obj_other""",
    "schema": """CREATE SCHEMA obj_s AUTHORIZATION obj_other; ALTER SCHEMA obj_s OWNER TO postgres; GRANT USAGE ON SCHEMA obj_s TO obj_other;
        REVOKE USAGE ON SCHEMA obj_s FROM obj_other; COMMENT ON SCHEMA obj_s IS 'a comment'; ALTER SCHEMA obj_s RENAME TO obj_s2;
        CREATE SEQUENCE obj_s2.s; CREATE TYPE obj_s2.t AS ENUM ('a'); DROP SCHEMA obj_s2 CASCADE""",
    "composite type": """CREATE TYPE obj.thing AS (a int, b text COLLATE "C"); ALTER TYPE obj.thing ADD ATTRIBUTE c int;
        ALTER TYPE obj.thing ALTER ATTRIBUTE c TYPE bigint; ALTER TYPE obj.thing RENAME ATTRIBUTE c TO d; ALTER TYPE obj.thing DROP ATTRIBUTE d;
        GRANT USAGE ON TYPE obj.thing TO obj_other; REVOKE USAGE ON TYPE obj.thing FROM PUBLIC; COMMENT ON COLUMN obj.thing.a IS 'x';"""
        + moves("TYPE", "thing"),
    "enum": """CREATE TYPE obj.thing AS ENUM ('a', 'b'); ALTER TYPE obj.thing ADD VALUE 'c'; ALTER TYPE obj.thing ADD VALUE 'aa' BEFORE 'b';
        ALTER TYPE obj.thing RENAME VALUE 'c' TO 'd';""" + moves("TYPE", "thing"),
    "range": "CREATE TYPE obj.thing AS RANGE (subtype = int4);" + moves("TYPE", "thing"),
    "base type": """CREATE TYPE obj.thing;
        CREATE FUNCTION obj.thing_in(cstring) RETURNS obj.thing IMMUTABLE STRICT LANGUAGE internal AS 'int4in';
        CREATE FUNCTION obj.thing_out(obj.thing) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'int4out';
        CREATE TYPE obj.thing (input = obj.thing_in, output = obj.thing_out, like = int4);
        DROP TYPE obj.thing CASCADE""",
    "domain": """CREATE DOMAIN obj.thing AS int; ALTER DOMAIN obj.thing SET DEFAULT 3; ALTER DOMAIN obj.thing SET NOT NULL;
        ALTER DOMAIN obj.thing DROP NOT NULL; ALTER DOMAIN obj.thing ADD CONSTRAINT c CHECK (VALUE > 0) NOT VALID;
        ALTER DOMAIN obj.thing VALIDATE CONSTRAINT c; ALTER DOMAIN obj.thing RENAME CONSTRAINT c TO d;
        COMMENT ON CONSTRAINT d ON DOMAIN obj.thing IS 'a comment'; GRANT USAGE ON DOMAIN obj.thing TO obj_other;
        ALTER DOMAIN obj.thing DROP CONSTRAINT d;""" + moves("DOMAIN", "thing"),
    "function": """CREATE FUNCTION obj.thing(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
        CREATE OR REPLACE FUNCTION obj.thing(int) RETURNS int LANGUAGE sql AS 'SELECT 2'; ALTER FUNCTION obj.thing(int) IMMUTABLE STRICT COST 5;
        ALTER FUNCTION obj.thing(int) SET search_path = obj; ALTER FUNCTION obj.thing(int) RESET ALL; GRANT EXECUTE ON FUNCTION obj.thing(int) TO obj_other;
        REVOKE EXECUTE ON FUNCTION obj.thing(int) FROM PUBLIC; ALTER FUNCTION obj.thing(int) SECURITY DEFINER;
        ALTER FUNCTION obj.thing(int) DEPENDS ON EXTENSION plpgsql;""" + moves("FUNCTION", "thing", "(int)"),
    "procedure": """CREATE PROCEDURE obj.thing(INOUT a int) LANGUAGE plpgsql AS 'BEGIN a := a + 1; END'; GRANT EXECUTE ON PROCEDURE obj.thing(int) TO obj_other;"""
        + moves("PROCEDURE", "thing", "(int)"),
    "aggregate": """CREATE AGGREGATE obj.thing(int) (sfunc = obj.helper, stype = int, initcond = '0');
        GRANT EXECUTE ON FUNCTION obj.thing(int) TO obj_other;""" + moves("AGGREGATE", "thing", "(int)"),
    "operator": """CREATE OPERATOR obj.<<| (function = obj.less, leftarg = int, rightarg = int); ALTER OPERATOR obj.<<| (int, int) SET (restrict = scalarltsel);
        ALTER OPERATOR obj.<<| (int, int) OWNER TO obj_other; COMMENT ON OPERATOR obj.<<| (int, int) IS 'a comment';
        ALTER OPERATOR obj.<<| (int, int) SET SCHEMA obj2; DROP OPERATOR obj2.<<| (int, int)""",
    "operator class": """CREATE OPERATOR CLASS obj.thing FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
        ALTER OPERATOR CLASS obj.thing USING hash OWNER TO obj_other; COMMENT ON OPERATOR CLASS obj.thing USING hash IS 'a comment';
        ALTER OPERATOR CLASS obj.thing USING hash RENAME TO renamed; ALTER OPERATOR CLASS obj.renamed USING hash SET SCHEMA obj2;
        DROP OPERATOR CLASS obj2.renamed USING hash; DROP OPERATOR FAMILY obj.thing USING hash""",
    "operator family": """CREATE OPERATOR FAMILY obj.thing USING btree; ALTER OPERATOR FAMILY obj.thing USING btree ADD OPERATOR 1 < (int, int);
        ALTER OPERATOR FAMILY obj.thing USING btree DROP OPERATOR 1 (int, int); ALTER OPERATOR FAMILY obj.thing USING btree OWNER TO obj_other;
        ALTER OPERATOR FAMILY obj.thing USING btree RENAME TO renamed; ALTER OPERATOR FAMILY obj.renamed USING btree SET SCHEMA obj2;
        COMMENT ON OPERATOR FAMILY obj2.renamed USING btree IS 'x'; DROP OPERATOR FAMILY obj2.renamed USING btree""",
    "cast": """CREATE CAST (int AS obj.pair) WITH FUNCTION obj.to_pair(int); COMMENT ON CAST (int AS obj.pair) IS 'a comment';
        DROP CAST (int AS obj.pair)""",
    "collation": """CREATE COLLATION obj.thing (provider = icu, locale = 'de'); ALTER COLLATION obj.thing OWNER TO obj_other;
        COMMENT ON COLLATION obj.thing IS 'a comment'; ALTER COLLATION obj.thing RENAME TO renamed; ALTER COLLATION obj.renamed SET SCHEMA obj2;
        DROP COLLATION obj2.renamed""",
    "conversion": """CREATE CONVERSION obj.thing FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;""" + moves("CONVERSION", "thing"),
    "text search configuration": """CREATE TEXT SEARCH CONFIGURATION obj.thing (COPY = english);
        ALTER TEXT SEARCH CONFIGURATION obj.thing ALTER MAPPING FOR word WITH simple; ALTER TEXT SEARCH CONFIGURATION obj.thing DROP MAPPING FOR email;
        ALTER TEXT SEARCH CONFIGURATION obj.thing ADD MAPPING FOR email WITH simple;""" + moves("TEXT SEARCH CONFIGURATION", "thing"),
    "text search dictionary": """CREATE TEXT SEARCH DICTIONARY obj.thing (template = simple, stopwords = english);
        ALTER TEXT SEARCH DICTIONARY obj.thing (accept = false);""" + moves("TEXT SEARCH DICTIONARY", "thing"),
    "text search parser": """CREATE TEXT SEARCH PARSER obj.thing (start = prsd_start, gettoken = prsd_nexttoken, end = prsd_end, lextypes = prsd_lextype);
        COMMENT ON TEXT SEARCH PARSER obj.thing IS 'a comment'; ALTER TEXT SEARCH PARSER obj.thing RENAME TO renamed;
        ALTER TEXT SEARCH PARSER obj.renamed SET SCHEMA obj2; DROP TEXT SEARCH PARSER obj2.renamed""",
    "text search template": """CREATE TEXT SEARCH TEMPLATE obj.thing (init = dsimple_init, lexize = dsimple_lexize);
        ALTER TEXT SEARCH TEMPLATE obj.thing RENAME TO renamed; ALTER TEXT SEARCH TEMPLATE obj.renamed SET SCHEMA obj2;
        DROP TEXT SEARCH TEMPLATE obj2.renamed""",
    "extension": """CREATE EXTENSION earthdistance SCHEMA obj CASCADE; COMMENT ON EXTENSION earthdistance IS 'a comment';
        ALTER EXTENSION cube SET SCHEMA obj2; ALTER EXTENSION cube ADD FUNCTION obj.helper(int, int);
        ALTER EXTENSION cube DROP FUNCTION obj.helper(int, int); DROP EXTENSION cube CASCADE""",
    "extension update": "CREATE EXTENSION hstore SCHEMA obj VERSION '1.4'; ALTER EXTENSION hstore UPDATE; DROP EXTENSION hstore",
    "sequence": """CREATE SEQUENCE obj.thing; ALTER SEQUENCE obj.thing INCREMENT BY 5 CACHE 3; GRANT USAGE ON SEQUENCE obj.thing TO obj_other;
        REVOKE USAGE ON SEQUENCE obj.thing FROM obj_other;""" + moves("SEQUENCE", "thing"),
    "view": """CREATE VIEW obj.thing AS SELECT * FROM obj.base; CREATE OR REPLACE VIEW obj.thing AS SELECT a + 1 AS a, b FROM obj.base;
        ALTER VIEW obj.thing ALTER COLUMN a SET DEFAULT 4; ALTER VIEW obj.thing SET (security_barrier); ALTER VIEW obj.thing RESET (security_barrier);
        ALTER VIEW obj.thing RENAME COLUMN b TO c; GRANT SELECT (a), UPDATE ON obj.thing TO obj_other; REVOKE ALL ON obj.thing FROM obj_other;
        COMMENT ON COLUMN obj.thing.a IS 'x';""" + moves("VIEW", "thing"),
    "view on a distributed table": "CREATE VIEW obj.thing AS SELECT id, count(*) FROM obj.dist GROUP BY id;" + moves("VIEW", "thing"),
    "rule": """CREATE RULE thing AS ON INSERT TO obj.base DO INSTEAD NOTHING; COMMENT ON RULE thing ON obj.base IS 'x';
        ALTER RULE thing ON obj.base RENAME TO renamed; DROP RULE renamed ON obj.base""",
    "trigger on a view": """CREATE TRIGGER thing INSTEAD OF INSERT ON obj.base FOR EACH ROW EXECUTE FUNCTION obj.fires();
        COMMENT ON TRIGGER thing ON obj.base IS 'x'; ALTER TRIGGER thing ON obj.base RENAME TO renamed; DROP TRIGGER renamed ON obj.base""",
    "publication": """CREATE PUBLICATION obj_p; ALTER PUBLICATION obj_p SET (publish = 'insert'); ALTER PUBLICATION obj_p ADD TABLE obj.dist;
        ALTER PUBLICATION obj_p DROP TABLE obj.dist; COMMENT ON PUBLICATION obj_p IS 'x'; ALTER PUBLICATION obj_p RENAME TO obj_p2;
        DROP PUBLICATION obj_p2""",
    "foreign server": """CREATE EXTENSION postgres_fdw SCHEMA obj; CREATE SERVER obj_server FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'h');
        ALTER SERVER obj_server OPTIONS (SET host 'i', ADD port '5'); GRANT USAGE ON FOREIGN SERVER obj_server TO obj_other;
        COMMENT ON SERVER obj_server IS 'x'; ALTER SERVER obj_server RENAME TO obj_server2;
        CREATE USER MAPPING FOR obj_other SERVER obj_server2 OPTIONS (user 'u'); ALTER USER MAPPING FOR obj_other SERVER obj_server2 OPTIONS (SET user 'v');
        CREATE FOREIGN TABLE obj.far (a int) SERVER obj_server2; ALTER FOREIGN TABLE obj.far ADD COLUMN b int; ALTER FOREIGN TABLE obj.far RENAME TO farther;
        GRANT SELECT ON obj.farther TO obj_other; DROP FOREIGN TABLE obj.farther;
        DROP USER MAPPING FOR obj_other SERVER obj_server2; DROP SERVER obj_server2; DROP EXTENSION postgres_fdw""",
    "foreign data wrapper": """CREATE FOREIGN DATA WRAPPER obj_fdw; ALTER FOREIGN DATA WRAPPER obj_fdw OPTIONS (a 'b');
        GRANT USAGE ON FOREIGN DATA WRAPPER obj_fdw TO obj_other; COMMENT ON FOREIGN DATA WRAPPER obj_fdw IS 'x';
        ALTER FOREIGN DATA WRAPPER obj_fdw RENAME TO obj_fdw2; DROP FOREIGN DATA WRAPPER obj_fdw2""",
    "event trigger": """CREATE EVENT TRIGGER obj_e ON ddl_command_end EXECUTE FUNCTION obj.watches(); ALTER EVENT TRIGGER obj_e DISABLE;
        COMMENT ON EVENT TRIGGER obj_e IS 'x'; ALTER EVENT TRIGGER obj_e RENAME TO obj_e2; DROP EVENT TRIGGER obj_e2""",
    "access method": """CREATE ACCESS METHOD obj_am TYPE TABLE HANDLER heap_tableam_handler; COMMENT ON ACCESS METHOD obj_am IS 'x';
        DROP ACCESS METHOD obj_am""",
    "language": """CREATE TRUSTED LANGUAGE obj_lang HANDLER plpgsql_call_handler; ALTER LANGUAGE obj_lang RENAME TO obj_lang2; GRANT USAGE ON LANGUAGE obj_lang2 TO obj_other;
        DROP LANGUAGE obj_lang2""",
    "default privileges": """ALTER DEFAULT PRIVILEGES IN SCHEMA obj GRANT SELECT ON TABLES TO obj_other;
        ALTER DEFAULT PRIVILEGES IN SCHEMA obj REVOKE SELECT ON TABLES FROM obj_other; ALTER DEFAULT PRIVILEGES FOR ROLE obj_other
        REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC; ALTER DEFAULT PRIVILEGES FOR ROLE obj_other GRANT EXECUTE ON FUNCTIONS TO PUBLIC""",
    "grants in a schema": """GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA obj TO obj_other; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA obj FROM obj_other;
        GRANT SELECT ON ALL TABLES IN SCHEMA obj TO obj_other; REVOKE SELECT ON ALL TABLES IN SCHEMA obj FROM obj_other""",
    "owned": """CREATE VIEW obj.thing AS SELECT 1 AS a; ALTER VIEW obj.thing OWNER TO obj_other; REASSIGN OWNED BY obj_other TO postgres;
        ALTER VIEW obj.thing OWNER TO obj_other; DROP OWNED BY obj_other; GRANT ALL ON SCHEMA obj, obj2 TO obj_other""",
    "within a function": """DO $$ BEGIN CREATE TYPE obj.thing AS ENUM ('a'); EXECUTE 'CREATE VIEW obj.v AS SELECT ''a''::obj.thing AS a'; END $$;
        DO $$ BEGIN DROP VIEW obj.v; DROP TYPE obj.thing; END $$""",
}


def split(text):
    """The statements of a text, whose quoted parts stay whole."""
    bodies = re.split(r"(\$\$.*?\$\$|'[^']*')", text, flags=re.DOTALL)
    marked = "".join(part.replace(";", "\0") if number % 2 else part for number, part in enumerate(bodies))
    return [part.replace("\0", ";").strip() for part in marked.split(";") if part.strip()]


# What differs between nodes by design: pg_dump's own token, and each node's slice of a sequence's values.
OWN = re.compile(r"^(\\restrict|\\unrestrict|    START WITH|    MINVALUE|    NO MINVALUE|    MAXVALUE|    NO MAXVALUE).*\n", re.MULTILINE)


ROLES = """
    SELECT rolname, to_jsonb(a) - 'oid' FROM pg_authid a WHERE rolname !~ '^pg_'
    UNION ALL SELECT 'member ' || roleid::regrole, to_jsonb(m) - '{oid,roleid,member,grantor}'::text[] || jsonb_build_object('of', member::regrole)
    FROM pg_auth_members m
    UNION ALL SELECT 'settings ' || setrole::regrole || setdatabase, to_jsonb(setconfig) FROM pg_db_role_setting WHERE setrole <> 0
    UNION ALL SELECT 'comment ' || objoid::regrole, to_jsonb(description) FROM pg_shdescription WHERE classoid = 'pg_authid'::regclass
    ORDER BY 1, 2"""


def schema_of(node):
    """The schema of a node as pg_dump writes it, without shards, and its roles and extensions."""
    done = host.run_server_program([node.program("pg_dump"), "--schema-only", "--create", "--exclude-schema=citus_data", "-d", node.dsn],
                                   capture_output=True)
    assert done.returncode == 0, done.stderr
    with connect(node) as connection:
        roles = rows(connection, ROLES)
        extensions = rows(connection, "SELECT extname, extversion FROM pg_extension ORDER BY 1")
    return "\n".join([OWN.sub("", done.stdout), *map(str, roles), *map(str, extensions)])


def common_schema(nodes):
    """The schema that all these nodes have, which must be the same."""
    with ThreadPoolExecutor(len(nodes)) as pool:
        texts = list(pool.map(schema_of, nodes))
    ours = texts[0].splitlines()
    for node, text in zip(nodes[1:], texts[1:]):
        theirs = text.splitlines()
        assert not set(theirs) ^ set(ours), f"{node.name} differs: only there {set(theirs) - set(ours)}, missing {set(ours) - set(theirs)}"
        assert text == texts[0], f"{node.name} has another order"
    return texts[0]


@pytest.fixture(scope="module")
def made(cluster):
    def clean(connection):
        connection.execute("DROP SCHEMA IF EXISTS obj, obj2, obj_s, obj_s2 CASCADE")
        for role in ("obj_role", "obj_other", "obj_renamed"):
            if rows(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", [role]):
                connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    with connect(cluster.coordinator) as connection:
        clean(connection)
        for statement in split(SETUP):
            connection.execute(statement)
        yield cluster
        clean(connection)


# `make check` has each kind from one of the two, in turn; `make check-all` from both.
CASES = [pytest.param(kind, initiator, id=f"{kind}-{('coordinator', '', 'worker')[initiator]}")
         for number, kind in enumerate(MATRIX) for initiator in (0, 2)
         if os.environ.get("POMELO_CHECK_ALL") or number % 2 * 2 == initiator]


@pytest.mark.parametrize("kind, initiator", CASES)
def test_same_schema_everywhere(made, connect, kind, initiator):
    connection = connect(made.nodes[initiator])
    first = before = common_schema(made.nodes)
    looked_at = [made.nodes[initiator], made.nodes[initiator - 1]]
    for statement in split(MATRIX[kind]):
        connection.execute(statement)
        after = common_schema(looked_at)
        assert after != before, f"this has changed nothing: {statement}"
        before = after
    assert common_schema(made.nodes) == first


# Objects of many kinds at once, some on a distributed table, and some that are local.
PLENTY = """
    CREATE ROLE obj_role LOGIN PASSWORD 'x' CONNECTION LIMIT 2; GRANT obj_other TO obj_role; ALTER ROLE obj_role SET search_path = 'a b', obj;
    ALTER DATABASE postgres SET work_mem = '7MB'; COMMENT ON ROLE obj_role IS 'a comment';
    CREATE EXTENSION hstore SCHEMA obj; CREATE TYPE obj.colour AS ENUM ('red', 'green'); CREATE DOMAIN obj.positive AS int CHECK (VALUE > 0);
    CREATE SEQUENCE obj.counter; CREATE COLLATION obj.german (provider = icu, locale = 'de'); GRANT USAGE ON SEQUENCE obj.counter TO obj_role;
    CREATE AGGREGATE obj.total(int) (sfunc = obj.helper, stype = int, initcond = '0');
    CREATE OPERATOR obj.<<| (function = obj.less, leftarg = int, rightarg = int);
    CREATE OPERATOR CLASS obj.class FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
    CREATE CAST (int AS obj.pair) WITH FUNCTION obj.to_pair(int); CREATE TEXT SEARCH CONFIGURATION obj.words (COPY = english);
    CREATE FOREIGN DATA WRAPPER obj_fdw; CREATE SERVER obj_server FOREIGN DATA WRAPPER obj_fdw; CREATE USER MAPPING FOR obj_role SERVER obj_server;
    CREATE FOREIGN TABLE obj.far (a int) SERVER obj_server; ALTER DEFAULT PRIVILEGES IN SCHEMA obj2 GRANT SELECT ON TABLES TO obj_role;
    CREATE EVENT TRIGGER obj_e ON ddl_command_end EXECUTE FUNCTION obj.watches(); CREATE PUBLICATION obj_p FOR TABLE obj.dist;
    CREATE RULE nothing AS ON DELETE TO obj.base DO INSTEAD NOTHING; COMMENT ON VIEW obj.base IS 'a comment';
    CREATE TRIGGER instead INSTEAD OF INSERT ON obj.base FOR EACH ROW EXECUTE FUNCTION obj.fires(); GRANT SELECT (a) ON obj.base TO obj_role;
    CREATE VIEW obj.on_dist AS SELECT id, count(*) AS n FROM obj.dist GROUP BY id; COMMENT ON COLUMN obj.on_dist.n IS 'a comment';
    CREATE FUNCTION obj.of_dist(obj.dist) RETURNS int LANGUAGE sql AS 'SELECT $1.b'; ALTER VIEW obj.on_dist OWNER TO obj_role; GRANT SELECT ON obj.dist TO obj_role;
    CREATE FUNCTION obj.later() RETURNS int RETURN (SELECT count(*)::int FROM obj.on_dist);
    SELECT create_distributed_function('obj.helper(int, int)', '$1', 'obj.dist');
    ALTER TABLE obj.dist ADD COLUMN c obj.colour DEFAULT 'red', ADD COLUMN p obj.positive DEFAULT 3;
    CREATE TRIGGER t BEFORE INSERT ON obj.dist FOR EACH ROW EXECUTE FUNCTION obj.fires()"""

LOCAL = """
    CREATE TABLE obj.here (id serial PRIMARY KEY, b int CHECK (b > 0)); CREATE VIEW obj.on_here AS SELECT * FROM obj.here;
    CREATE FUNCTION obj.of_here(obj.here) RETURNS int LANGUAGE sql AS 'SELECT $1.b'; CREATE TYPE obj.with_here AS (h obj.here);
    CREATE VIEW obj.of_both AS SELECT obj.of_here(h) FROM obj.on_here h0, obj.here h; COMMENT ON VIEW obj.on_here IS 'a comment';
    CREATE STATISTICS obj.here_stats ON id, b FROM obj.here; GRANT SELECT ON obj.here, obj.on_here TO obj_other"""

def names_like(node, pattern):
    with connect(node) as connection:
        return [row[0] for row in rows(connection, """
            SELECT relname::text FROM pg_class WHERE relnamespace = 'obj'::regnamespace AND relname LIKE %(p)s AND relkind IN ('r', 'v', 'S')
            UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'obj'::regnamespace AND proname LIKE %(p)s
            UNION ALL SELECT typname::text FROM pg_type WHERE typnamespace = 'obj'::regnamespace AND typtype = 'c' AND typname LIKE %(p)s
                AND typrelid IN (SELECT oid FROM pg_class WHERE relkind = 'c') ORDER BY 1""", {"p": pattern})]


def test_new_node_gets_objects(make_cluster, connect):
    nodes = make_cluster(kind="bare", workers=2)
    connection = connect(nodes.coordinator)
    for statement in [*split(SETUP), *split(PLENTY), *split(LOCAL)]:
        connection.execute(statement)
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[0].port])
    assert names_like(nodes.workers[0], "%here%") == []
    for statement in ("DROP TYPE obj.with_here", "DROP TABLE obj.here CASCADE", "CREATE VIEW obj.late AS SELECT 1 AS a"):
        connection.execute(statement)
    # a node that has been a member, and missed nothing that it keeps
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[1].port])
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [nodes.workers[1].port])
    connection.execute("CREATE VIEW obj.later_still AS SELECT 1 AS a")
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[1].port])
    schema = common_schema(nodes.nodes)
    assert all(name in schema for name in ("later_still", "of_dist", "obj_p", "obj_e", "obj_server", "german", "instead"))
    with connect(nodes.workers[1]) as worker:
        assert value(worker, "SELECT obj.later()") == 0
        assert rows(worker, RECORDS) == [("obj.helper(integer,integer)", 0, True, None)]


def test_new_node_has_another_object(make_cluster, connect):
    nodes = make_cluster(kind="bare", workers=1)
    connection = connect(nodes.coordinator)
    connection.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    with connect(nodes.workers[0]) as worker:
        worker.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2'")
        with pytest.raises(psycopg.errors.DuplicateFunction):
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[0].port])
        assert value(connection, "SELECT count(*) FROM pg_dist_node WHERE groupid <> 0") == 0
        worker.execute("DROP FUNCTION f()")
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[0].port])
    common_schema(nodes.nodes)


def test_dependents_follow_their_table(made, coordinator):
    first = common_schema(made.nodes)
    for statement in split(LOCAL):
        coordinator.execute(statement)
    alone = schema_of(made.coordinator)
    there = names_like(made.coordinator, "%here%") + names_like(made.coordinator, "of_both")
    assert [schema_of(worker) for worker in made.workers] == [first, first]
    assert len(there) == 6

    coordinator.execute("SELECT create_distributed_table('obj.here', 'id', shard_count => 4)")
    assert common_schema(made.nodes) != first
    coordinator.execute("INSERT INTO obj.here (b) VALUES (1), (2)")
    with connect(made.workers[0]) as worker:
        assert value(worker, "SELECT sum(of_here) FROM obj.of_both") == 6
        worker.execute("ALTER VIEW obj.on_here RENAME COLUMN b TO c")
        worker.execute("ALTER VIEW obj.on_here RENAME COLUMN c TO b")
    common_schema(made.nodes)

    coordinator.execute("SELECT undistribute_table('obj.here')")
    assert [schema_of(worker) for worker in made.workers] == [first, first]
    assert schema_of(made.coordinator) == alone
    coordinator.execute("DROP TYPE obj.with_here")
    coordinator.execute("DROP TABLE obj.here CASCADE")
    assert common_schema(made.nodes) == first


@pytest.mark.parametrize("initiator", [0, 2], ids=["coordinator", "worker"])
def test_all_nodes_or_none(made, connect, initiator):
    connection = connect(made.nodes[initiator], autocommit=False)
    before = common_schema(made.nodes)
    connection.execute("CREATE TYPE obj.thing AS ENUM ('a')")
    connection.execute("ALTER VIEW obj.base OWNER TO obj_other")
    connection.rollback()
    assert common_schema(made.nodes) == before

    connection.execute("CREATE TYPE obj.thing AS ENUM ('a')")
    connection.execute("SAVEPOINT s")
    connection.execute("ALTER TYPE obj.thing ADD VALUE 'b'")
    connection.execute("ROLLBACK TO s")
    connection.execute("ALTER TYPE obj.thing ADD VALUE 'c'")
    connection.commit()
    assert "'c'" in common_schema(made.nodes) and "'b'" not in common_schema(made.nodes)

    other = connect(made.workers[0])
    other.execute("SET citus.enable_metadata_sync = off")
    other.execute("CREATE VIEW obj.in_the_way AS SELECT 1 AS a")
    before = schema_of(made.coordinator)
    with pytest.raises(psycopg.errors.DuplicateTable) as error:
        connection.execute("CREATE VIEW obj.in_the_way AS SELECT 2 AS a")
        connection.commit()
    assert str(made.workers[0].port) in str(error.value) + str(error.value.diag.context)
    connection.rollback()
    assert schema_of(made.coordinator) == before == schema_of(made.workers[1])
    other.execute("DROP VIEW obj.in_the_way")
    connection.execute("DROP TYPE obj.thing")
    connection.commit()


def test_propagation_can_be_off(made, coordinator):
    before = schema_of(made.workers[0])
    for setting, statement in (("citus.enable_ddl_propagation", "CREATE VIEW obj.off_1 AS SELECT 1 AS a"),
                               ("citus.enable_metadata_sync", "CREATE VIEW obj.off_2 AS SELECT 1 AS a"),
                               ("citus.enable_create_role_propagation", "CREATE ROLE obj_role"),
                               ("citus.enable_alter_role_propagation", "ALTER ROLE obj_other CREATEDB"),
                               ("citus.enable_alter_role_set_propagation", "ALTER ROLE obj_other SET work_mem = '5MB'")):
        coordinator.execute(f"SET {setting} = off")
        coordinator.execute(statement)
        coordinator.execute(f"RESET {setting}")
    assert schema_of(made.workers[0]) == before
    assert schema_of(made.coordinator) != before
    # what other nodes lack can be dropped
    coordinator.execute("DROP VIEW obj.off_1, obj.off_2")
    coordinator.execute("DROP ROLE obj_role")
    coordinator.execute("ALTER ROLE obj_other NOCREATEDB")
    coordinator.execute("ALTER ROLE obj_other RESET work_mem")
    # a command for one node stays on it
    coordinator.execute("SELECT run_command_on_workers('CREATE VIEW obj.one AS SELECT 1 AS a')")
    assert names_like(made.coordinator, "one") == [] and names_like(made.workers[1], "one") == ["one"]
    coordinator.execute("SELECT run_command_on_workers('DROP VIEW obj.one')")
    assert common_schema(made.nodes) == before


def test_two_initiators(made, connect):
    """Statements about the same object from all nodes at once wait for each other, and none fails."""
    def replace(number):
        node = connect(made.nodes[number])
        for i in range(15):
            node.execute(f"CREATE OR REPLACE FUNCTION obj.thing() RETURNS int LANGUAGE sql AS 'SELECT {number * 100 + i}'")
            node.execute("COMMENT ON FUNCTION obj.thing() IS 'a comment'")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(replace, range(3)))
    common_schema(made.nodes)
    connect(made.workers[0]).execute("DROP FUNCTION obj.thing()")


RECORDS = """SELECT objid::regprocedure::text, distribution_argument_index, d.colocationid = p.colocationid, force_delegation
             FROM pg_dist_object d LEFT JOIN pg_dist_partition p ON p.logicalrelid = 'obj.dist'::regclass ORDER BY 1"""


def test_distributed_functions(made, connect):
    connection = connect(made.workers[1])
    connection.execute("CREATE FUNCTION obj.deposit(amount int, account int) RETURNS int LANGUAGE sql AS 'SELECT $1 + $2'")
    connection.execute("CREATE PROCEDURE obj.transfer(a text) LANGUAGE sql AS 'SELECT 1'")
    call = "SELECT create_distributed_function(%s, %s, colocate_with => %s)"
    connection.execute("SELECT create_distributed_function('obj.helper(int, int)')")
    connection.execute(call, ["obj.deposit(int, int)", "$1", "obj.dist"])
    connection.execute("SELECT create_distributed_function(oid, 'account', 'obj.dist', true) FROM pg_proc WHERE proname = 'deposit'")
    known = [("obj.deposit(integer,integer)", 1, True, True), ("obj.helper(integer,integer)", None, None, None)]
    assert [rows(connect(node), RECORDS) for node in made.nodes] == [known] * 3
    for arguments, error in ((["obj.deposit(int, int)", "amounts", "obj.dist"], psycopg.errors.InvalidParameterValue),
                             (["obj.deposit(int, int)", "$3", "obj.dist"], psycopg.errors.InvalidParameterValue),
                             (["obj.transfer(text)", "a", "obj.dist"], psycopg.errors.InvalidParameterValue),
                             (["obj.transfer(text)", "a", "default"], psycopg.errors.ObjectNotInPrerequisiteState),
                             (["obj.transfer(text)", "a", "obj.base"], psycopg.errors.WrongObjectType)):
        with pytest.raises(error):
            connection.execute(call, arguments)
    connection.execute("DROP FUNCTION obj.deposit(int, int)")
    connection.execute("DROP PROCEDURE obj.transfer(text)")
    assert [rows(connect(node), RECORDS) for node in made.nodes] == [known[1:]] * 3


def test_smaller_functions(made, connect, coordinator):
    block = connect(made.coordinator, autocommit=False)
    assert value(block, "SELECT lock_relation_if_exists('obj.dist', 'ACCESS EXCLUSIVE')") is True
    for node in made.nodes:
        with pytest.raises(psycopg.errors.LockNotAvailable):
            connect(node).execute("DO 'BEGIN LOCK TABLE obj.dist IN ACCESS SHARE MODE NOWAIT; END'")
    block.rollback()
    assert value(coordinator, "SELECT lock_relation_if_exists('obj.nothing', 'ROW SHARE')") is False
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        coordinator.execute("SELECT lock_relation_if_exists('obj.dist', 'SHARE MODE; DROP TABLE obj.dist; --')")
    port = made.workers[0].port
    coordinator.execute("SELECT start_metadata_sync_to_node('127.0.0.1', %s)", [port])
    coordinator.execute("SELECT stop_metadata_sync_to_node('127.0.0.1', %s)", [port])
    with pytest.raises(psycopg.errors.UndefinedObject):
        coordinator.execute("SELECT start_metadata_sync_to_node('127.0.0.1', 1)")


def test_sequences_do_not_collide(made, connect):
    connect(made.workers[0]).execute("CREATE SEQUENCE obj.counter")
    values = [value(connect(node), "SELECT nextval('obj.counter')") for node in made.nodes for _ in range(3)]
    assert len(set(values)) == 9
    connect(made.coordinator).execute("DROP SEQUENCE obj.counter")
    wait_until_quiet(made)
