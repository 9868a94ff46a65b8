"""Objects of all kinds, statements about them, and whether all nodes have the same.

`MATRIX` has a list of statements for each kind of object: create, alter, rename, owner, schema, grant, comment, drop. Each
changes what pg_dump and pg_dumpall say of the initiator.
"""

import re
from concurrent.futures import ThreadPoolExecutor

from pomelo_cluster import host

from .servers import connect, rows

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
    CREATE TABLE obj.own (id int PRIMARY KEY, b int);
    SELECT create_distributed_table('obj.dist', 'id', shard_count => 4), create_distributed_table('obj.own', 'id', shard_count => 4)"""


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
    "sequence": """CREATE SEQUENCE obj.thing; ALTER SEQUENCE obj.thing INCREMENT BY 5 CACHE 3; ALTER SEQUENCE obj.thing AS smallint;
        ALTER SEQUENCE obj.thing MINVALUE -9 MAXVALUE 90; ALTER SEQUENCE obj.thing MINVALUE 1; GRANT USAGE ON SEQUENCE obj.thing TO obj_other;
        REVOKE USAGE ON SEQUENCE obj.thing FROM obj_other;""" + moves("SEQUENCE", "thing"),
    "view": """CREATE VIEW obj.thing AS SELECT * FROM obj.base; CREATE OR REPLACE VIEW obj.thing AS SELECT a + 1 AS a, b FROM obj.base;
        ALTER VIEW obj.thing ALTER COLUMN a SET DEFAULT 4; ALTER VIEW obj.thing SET (security_barrier); ALTER VIEW obj.thing RESET (security_barrier);
        ALTER VIEW obj.thing RENAME COLUMN b TO c; GRANT SELECT (a), UPDATE ON obj.thing TO obj_other; REVOKE ALL ON obj.thing FROM obj_other;
        COMMENT ON COLUMN obj.thing.a IS 'x';""" + moves("VIEW", "thing"),
    "view on a distributed table": "CREATE VIEW obj.thing AS SELECT id, count(*) FROM obj.dist GROUP BY id;" + moves("VIEW", "thing"),
    "materialized view": """CREATE MATERIALIZED VIEW obj.thing (a, n) WITH (fillfactor = 70) AS SELECT id, random() FROM obj.dist;
        CREATE UNIQUE INDEX ON obj.thing (a); CREATE INDEX CONCURRENTLY thing_n ON obj.thing (n); ALTER INDEX obj.thing_n RENAME TO thing_n2;
        ALTER INDEX obj.thing_n2 SET (fillfactor = 60); DROP INDEX CONCURRENTLY obj.thing_n2; ALTER MATERIALIZED VIEW obj.thing CLUSTER ON thing_a_idx;
        CREATE STATISTICS obj.thing_s ON a, n FROM obj.thing; ALTER MATERIALIZED VIEW obj.thing RENAME COLUMN n TO m;
        ALTER MATERIALIZED VIEW obj.thing ALTER m SET STATISTICS 7; ALTER MATERIALIZED VIEW obj.thing RESET (fillfactor);
        CREATE ACCESS METHOD obj_heap TYPE TABLE HANDLER heap_tableam_handler; ALTER MATERIALIZED VIEW obj.thing SET ACCESS METHOD obj_heap;
        ALTER MATERIALIZED VIEW obj.thing SET ACCESS METHOD heap; DROP ACCESS METHOD obj_heap;
        CREATE VIEW obj.over AS SELECT * FROM obj.thing; DROP VIEW obj.over; GRANT SELECT ON obj.thing TO obj_other;
        REVOKE ALL ON obj.thing FROM obj_other; COMMENT ON COLUMN obj.thing.a IS 'x';""" + moves("MATERIALIZED VIEW", "thing"),
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
    "transform": """CREATE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION prsd_lextype(internal), TO SQL WITH FUNCTION int4recv(internal));
        COMMENT ON TRANSFORM FOR int LANGUAGE sql IS 'x';
        CREATE OR REPLACE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION prsd_lextype(internal)); DROP TRANSFORM FOR int LANGUAGE sql""",
    "distributed table": """ALTER TABLE obj.own ADD COLUMN c int DEFAULT 3 CHECK (c > 0); ALTER TABLE obj.own ALTER c SET NOT NULL, ALTER b TYPE bigint;
        ALTER TABLE obj.own RENAME c TO d; ALTER TABLE obj.own RENAME CONSTRAINT own_c_check TO thing; COMMENT ON CONSTRAINT thing ON obj.own IS 'x';
        ALTER TABLE obj.own DROP COLUMN d, ALTER b TYPE int; GRANT SELECT, INSERT (b) ON obj.own TO obj_other; REVOKE ALL ON obj.own FROM obj_other;
        COMMENT ON TABLE obj.own IS 'x'; COMMENT ON TABLE obj.own IS NULL; ALTER TABLE obj.own OWNER TO obj_other; ALTER TABLE obj.own SET SCHEMA obj2;
        ALTER TABLE obj2.own RENAME TO thing; ALTER TABLE obj2.thing OWNER TO postgres; ALTER TABLE obj2.thing RENAME TO own; ALTER TABLE obj2.own SET SCHEMA obj;
        ALTER TABLE obj.own REPLICA IDENTITY FULL, ENABLE ROW LEVEL SECURITY, SET (fillfactor = 50);
        ALTER TABLE obj.own REPLICA IDENTITY DEFAULT, DISABLE ROW LEVEL SECURITY, RESET (fillfactor)""",
    "index": """CREATE INDEX thing ON obj.dist (b); COMMENT ON INDEX obj.thing IS 'x'; ALTER INDEX obj.thing SET (fillfactor = 60);
        ALTER INDEX obj.thing RENAME TO renamed; ALTER TABLE obj.dist CLUSTER ON renamed; CREATE INDEX CONCURRENTLY thing ON obj.dist ((b + 1));
        ALTER INDEX obj.thing ALTER COLUMN 1 SET STATISTICS 7; DROP INDEX obj.renamed; DROP INDEX CONCURRENTLY obj.thing""",
    "policy": """CREATE POLICY thing ON obj.dist USING (b > 0); ALTER POLICY thing ON obj.dist TO obj_other WITH CHECK (b > 1);
        COMMENT ON POLICY thing ON obj.dist IS 'x'; ALTER POLICY thing ON obj.dist RENAME TO renamed; DROP POLICY renamed ON obj.dist""",
    "trigger": """CREATE TRIGGER thing BEFORE INSERT ON obj.dist FOR EACH ROW EXECUTE FUNCTION obj.fires(); COMMENT ON TRIGGER thing ON obj.dist IS 'x';
        ALTER TABLE obj.dist DISABLE TRIGGER thing; ALTER TRIGGER thing ON obj.dist RENAME TO renamed; DROP TRIGGER renamed ON obj.dist""",
    "statistics": """CREATE STATISTICS obj.thing ON id, b FROM obj.dist; ALTER STATISTICS obj.thing SET STATISTICS 7;""" + moves("STATISTICS", "thing"),
    "within a function": """DO $$ BEGIN CREATE TYPE obj.thing AS ENUM ('a'); EXECUTE 'CREATE VIEW obj.v AS SELECT ''a''::obj.thing AS a'; END $$;
        DO $$ BEGIN DROP VIEW obj.v; DROP TYPE obj.thing; END $$""",
}


def split(text):
    """The statements of a text, whose quoted parts stay whole."""
    bodies = re.split(r"(\$\$.*?\$\$|'[^']*')", text, flags=re.DOTALL)
    marked = "".join(part.replace(";", "\0") if number % 2 else part for number, part in enumerate(bodies))
    return [part.replace("\0", ";").strip() for part in marked.split(";") if part.strip()]


# What differs between nodes by design: pg_dump's own token.
OWN = re.compile(r"^(\\restrict|\\unrestrict).*\n", re.MULTILINE)


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
