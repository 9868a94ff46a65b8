"""An ordinary role that tries to do harm, on one node: a thread per node, statements made up from a seed.

Every attack is a list of statements.  An error is what an attack is to end with; it is counted, not judged.  What is
judged here is only what no error excuses: an internal error of the server, a connection that breaks by itself, and a
lock that the role could not have on a plain server.  The test judges the rest by what others see.
"""

import random
import re
import threading
from collections import Counter

import psycopg

from harness import servers
from harness.servers import rows

ROLE = "mallory"
VICTIM = "victim"

# Functions of the extension, in whatever schema, with the names of their arguments' types.
FUNCTIONS = """
    SELECT n.nspname, p.proname, p.prokind::text, p.proretset, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
    FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'citus'
    WHERE p.prorettype <> ALL ('{trigger,event_trigger}'::regtype[]) ORDER BY p.oid::regprocedure::text"""

# What everybody may look up, and so aim at.
AIMS = {
    "shard": f"""SELECT c.relname FROM pg_class c WHERE relnamespace = 'citus_data'::regnamespace AND relkind = 'r'
                 AND relowner <> '{ROLE}'::regrole ORDER BY random() LIMIT 20""",
    "number": """SELECT shardid FROM (SELECT shardid FROM pg_dist_shard UNION ALL SELECT placementid FROM pg_dist_placement
                 UNION ALL SELECT colocationid FROM pg_dist_colocation UNION ALL SELECT groupid FROM pg_dist_node
                 UNION ALL SELECT pid FROM pg_stat_activity UNION ALL SELECT backendid FROM pg_stat_get_backend_idset() backendid
                 UNION ALL SELECT citus_calculate_gpid(nodeid, pid) FROM pg_dist_node, pg_stat_activity WHERE pid IS NOT NULL
                 ) numbers ORDER BY random() LIMIT 40""",
    "gid": "SELECT gid FROM pg_prepared_xacts",
    "group": "SELECT colocationid FROM pg_dist_colocation",
    "future": "SELECT max(shardid) + 1 + floor(random() * 64)::bigint FROM pg_dist_shard",
    "advisory": "SELECT classid::bigint << 32 | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
}

# Locks of this session that a role without rights on the relation can't have on a plain server, nor a lock of another
# kind that an advisory or object lock of a client's own is not.
STRANGE_LOCKS = f"""
    SELECT l.locktype, l.mode, coalesce(l.relation::regclass::text, l.classid::regclass::text) FROM pg_locks l
    LEFT JOIN pg_class c ON c.oid = l.relation AND l.database <> 0
    WHERE l.pid = pg_backend_pid() AND l.granted AND (
        (l.locktype IN ('relation', 'tuple') AND c.relowner = '{VICTIM}'::regrole AND l.mode <> 'AccessShareLock')
        OR (l.locktype = 'relation' AND l.relation::bigint > 4294900000 AND l.mode = 'ExclusiveLock')     -- nodes, see catalog/node.c
        OR (l.locktype = 'object' AND l.classid = 'pg_class'::regclass AND l.objid IN ('bank.account'::regclass, 'bank.rate'::regclass)))"""

OWN_TABLES = f"""
    SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relowner = '{ROLE}'::regrole
    AND relkind = 'r' AND relname NOT IN ('own', 'trap') ORDER BY random() LIMIT 10"""

HARM = ["UPDATE bank.account SET balance = 0", "UPDATE bank.account SET balance = balance + 1 WHERE id = 7", "DELETE FROM bank.rate",
        "INSERT INTO bank.account VALUES (5000, 1, 1)", "INSERT INTO bank.rate VALUES (77, 1)", "TRUNCATE bank.account",
        "TRUNCATE bank.rate", "DROP TABLE bank.rate", "ALTER TABLE bank.account ADD COLUMN c int", "LOCK TABLE bank.account",
        "SELECT * FROM bank.account", "SELECT * FROM bank.account WHERE id = 7 FOR UPDATE", "SELECT * FROM bank.rate FOR UPDATE",
        "COPY bank.account FROM STDIN", "COPY bank.account TO STDOUT", "COPY bank.rate FROM STDIN", "ANALYZE bank.account",
        "VACUUM FULL bank.account", "REINDEX TABLE bank.account", "CREATE INDEX ON bank.account (last)", "CLUSTER bank.account USING account_pkey",
        "EXPLAIN ANALYZE DELETE FROM bank.account", "DO $$ BEGIN DELETE FROM bank.rate; END $$", "CREATE TABLE bank.mine (id int)",
        "MERGE INTO bank.account a USING bank.rate r ON a.id = r.id WHEN MATCHED THEN DELETE", "GRANT ALL ON bank.account TO public",
        "ALTER TABLE bank.account OWNER TO mallory", "REVOKE ALL ON bank.account FROM victim", "CREATE RULE r AS ON UPDATE TO bank.account DO INSTEAD NOTHING",
        "CREATE TRIGGER t BEFORE UPDATE ON bank.account FOR EACH ROW EXECUTE FUNCTION public.trap_trigger()",
        "CREATE POLICY p ON bank.account USING (false)", "ALTER TABLE bank.account ENABLE ROW LEVEL SECURITY",
        "COMMENT ON TABLE bank.account IS 'x'", "CREATE TABLE public.child () INHERITS (bank.account)",
        "CREATE TABLE public.refers (id int REFERENCES bank.rate)", "CREATE STATISTICS bank.s ON id, balance FROM bank.account",
        "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM bank.account", "UPDATE public.own SET payload = payload + 1", "SELECT count(*) FROM public.own"]

TAGS = ["/*citus:shard {group}.{range}*/ ", "/*citus:shard {group}.{range} at*/ ", "/*citus:shard {group}.{range} lock*/ ",
        "/*citus:shard {group}.{range} as postgres*/ ", "/*citus:shard {group}.{range} as victim explain 1*/ ", "/*citus:node*/ ", "/*citus:ddl*/ ",
        "/*citus:frames*/ ", "/*citus:node as victim*/ ", "/*citus:ddl as postgres*/ ", "/*citus:prepare*/ ", "/*citus:stamp {huge}*/ ",
        "/*citus:stamp -1*/ ", "/*citus:shard -5.0:0*/ ", "/*citus:shard 99999999999.1:2*/ ", "/*citus:shard {group}.2147483647:2147483648*/ ", "/*citus:shard {group}.5:4*/ ", "/*citus:shards {group}.0:1,*/ ", "/*citus:*/ ",
        "/*citus:nonsense*/ ", "/*citus:shard", "/*citus:node as %00*/ ", "/*citus:node as " + "x" * 200 + "*/ ", " /*citus:node*/ ", "/**//*citus:node*/ "]

TEXTS = ["NULL", "''", "'x'", "'-1'", "'id'", "'balance'", "'bank.account'", "'bank.rate'", "'public.own'", "'pg_class'", "repeat('x', 100000)",
         "'; DROP TABLE bank.account; --'", "'ALTER ROLE mallory SUPERUSER'", "'UPDATE %s SET balance = 0'", "'/*citus:node*/ DELETE FROM bank.rate'",
         "'SELECT citus_internal.snapshot_set(9223372036854775)'", "'COMMIT; SELECT citus_internal.run_commands(ARRAY[''DROP TABLE bank.rate''])'",
         "'localhost'", "'127.0.0.1'", "'postgres'", "'victim'", "'host=127.0.0.1 user=postgres'", "E'\\n\\\\'", "'%s%n'", "'table'", "'type'",
         "'public.trap_check(int)'", "'CREATE TABLE citus_data.trap ()'", "'SELECT 1'", "'LOCK TABLE bank.account'", "'default'", "'none'", "'{{}}'",
         "'citus_0_1_1_0'", "'2147483648'", "'name'", "'SELECT set_config(''role'', ''postgres'', false)'", "'pg_catalog.pg_dist_node'"]

CATALOGS = ["pg_dist_node", "pg_dist_partition", "pg_dist_shard", "pg_dist_placement", "pg_dist_colocation", "pg_dist_node_secret", "pg_dist_authinfo",
            "pg_dist_transaction", "pg_dist_object", "pg_dist_local_group", "pg_dist_node_metadata", "pg_dist_poolinfo", "pg_proc", "pg_authid"]

ON_CATALOGS = ["DELETE FROM {c}", "TRUNCATE {c}", "UPDATE {c} SET shardid = 1", "INSERT INTO {c} SELECT * FROM {c}", "DROP TABLE {c} CASCADE",
               "ALTER TABLE {c} ADD COLUMN x int", "ALTER TABLE {c} OWNER TO mallory", "GRANT ALL ON {c} TO mallory", "LOCK TABLE {c} IN {mode} MODE",
               "CREATE TRIGGER t BEFORE INSERT ON {c} FOR EACH ROW EXECUTE FUNCTION public.trap_trigger()", "COPY {c} FROM STDIN", "COPY {c} TO STDOUT",
               "CREATE RULE r AS ON INSERT TO {c} DO INSTEAD NOTHING", "CREATE INDEX ON {c} ((public.trap_check(1)))", "SELECT * FROM {c} FOR UPDATE",
               "SELECT create_distributed_table('{c}', 'shardid')", "SELECT create_reference_table('{c}')", "ALTER TABLE {c} SET SCHEMA public",
               "COMMENT ON TABLE {c} IS 'x'", "CREATE POLICY p ON {c} USING (false)", "SELECT undistribute_table('{c}')", "VACUUM FULL {c}"]

ON_OBJECTS = ["DROP EXTENSION citus CASCADE", "ALTER EXTENSION citus UPDATE TO '0'", "ALTER EXTENSION citus DROP FUNCTION citus_version()",
              "DROP SCHEMA bank CASCADE", "DROP SCHEMA citus_data CASCADE", "DROP SCHEMA citus_internal CASCADE", "ALTER SCHEMA bank RENAME TO b",
              "ALTER ROLE mallory SUPERUSER", "ALTER ROLE victim NOLOGIN", "ALTER ROLE victim SET search_path = public", "DROP ROLE victim",
              "GRANT victim TO mallory", "GRANT postgres TO mallory", "CREATE ROLE another SUPERUSER", "REASSIGN OWNED BY victim TO mallory",
              "DROP OWNED BY victim CASCADE", "SET ROLE postgres", "SET SESSION AUTHORIZATION victim", "ALTER SYSTEM SET citus.max_shared_pool_size = 1",
              "ALTER DATABASE postgres SET citus.enable_ddl_propagation = off", "DROP DATABASE postgres", "GRANT CREATE ON SCHEMA public TO victim",
              "CREATE OR REPLACE FUNCTION pg_catalog.citus_version() RETURNS text LANGUAGE sql AS 'SELECT 1'", "CREATE SCHEMA bank_2",
              "CREATE FUNCTION citus_internal.task_user() RETURNS int LANGUAGE sql AS 'SELECT 1'", "ALTER FUNCTION citus_version() OWNER TO mallory",
              "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO mallory", "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA citus_internal FROM public",
              "CREATE EVENT TRIGGER t ON ddl_command_end EXECUTE FUNCTION public.trap_trigger()", "CREATE PUBLICATION p FOR ALL TABLES",
              "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1' PUBLICATION p", "SELECT pg_reload_conf()", "LOAD 'citus'", "CHECKPOINT",
              "ALTER DEFAULT PRIVILEGES FOR ROLE victim GRANT ALL ON TABLES TO mallory", "SELECT setval('pg_dist_shardid_seq', 1)",
              "SELECT nextval('pg_dist_shardid_seq')", "SELECT lo_import('/etc/passwd')", "ALTER TYPE citus.distribution_type ADD VALUE 'x'",
              "SET TRANSACTION SNAPSHOT '00000003-0000001B-1'", "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT 'citus-0-1'",
              "SECURITY LABEL ON ROLE victim IS 'x'", "ALTER LARGE OBJECT 1 OWNER TO mallory", "NOTIFY citus, 'x'", "DISCARD ALL"]

ON_SHARDS = ["SELECT * FROM {s}", "UPDATE {s} SET balance = 0", "DELETE FROM {s}", "INSERT INTO {s} VALUES (-1, -1, -1)", "TRUNCATE {s}", "DROP TABLE {s}",
             "ALTER TABLE {s} ADD COLUMN c int", "ALTER TABLE {s} RENAME TO gone", "ALTER TABLE {s} SET SCHEMA public", "ALTER TABLE {s} OWNER TO mallory",
             "LOCK TABLE {s} IN {mode} MODE", "SELECT * FROM {s} FOR UPDATE", "COPY {s} FROM STDIN", "COPY {s} TO STDOUT", "GRANT ALL ON {s} TO mallory",
             "CREATE INDEX ON {s} (id)", "CREATE TRIGGER t BEFORE UPDATE ON {s} FOR EACH ROW EXECUTE FUNCTION public.trap_trigger()",
             "CREATE RULE r AS ON UPDATE TO {s} DO INSTEAD NOTHING", "CREATE TABLE public.child () INHERITS ({s})", "VACUUM FULL {s}", "REINDEX TABLE {s}",
             "CREATE TABLE public.refers (id int REFERENCES {s})", "ANALYZE {s}", "SELECT create_distributed_table('{s}', 'id')", "COMMENT ON TABLE {s} IS 'x'",
             "SELECT create_reference_table('{s}')", "SELECT undistribute_table('{s}')", "ALTER TABLE public.own INHERIT {s}", "CREATE VIEW public.w AS SELECT * FROM {s}",
             "SELECT shard_name('{s}', 1)", "CREATE POLICY p ON {s} USING (false)", "DO $$ BEGIN EXECUTE 'DELETE FROM {s}'; END $$"]

IN_ADVANCE = ["CREATE TABLE citus_data.{n} (id int)", "CREATE TABLE public.{n} (id int)", "CREATE VIEW citus_data.{n} AS SELECT 1 AS id",
              "CREATE TYPE citus_data.{n} AS (id int)", "CREATE TYPE public.{n} AS (id int)", "CREATE DOMAIN public.{n} AS int", "CREATE SEQUENCE citus_data.{n}",
              "CREATE TABLE public.{n} (id int); ALTER TABLE public.{n} SET SCHEMA citus_data", "CREATE TABLE bank.{n} (id int)",
              "CREATE FUNCTION public.{f}(text) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN PERFORM public.trap_check(1); RETURN 'x'; END $f$",
              "CREATE FUNCTION public.{f}(int) RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN RETURN public.trap_check(1); END $f$",
              "CREATE FUNCTION public.{f}(anyelement) RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN RETURN public.trap_check(1); END $f$",
              "CREATE OPERATOR public.= (FUNCTION = int4smaller, LEFTARG = int, RIGHTARG = text)",
              "CREATE SCHEMA citus_data_2", "CREATE FUNCTION citus_data.{f}(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
              "CREATE TEMP TABLE {n} (id int); CREATE TEMP TABLE account (id int, balance int, last int); CREATE TEMP TABLE pg_dist_node (nodeid int)",
              "CREATE TABLE public.account (id int, balance int, last int); SELECT create_distributed_table('public.account', 'id')",
              "CREATE TABLE public.{n} (id int); SELECT create_distributed_table('public.{n}', 'id', colocate_with => 'bank.account')",
              "CREATE TABLE public.{n} (id int); SELECT create_reference_table('public.{n}')",
              "CREATE TABLE public.{n} (id int); ALTER TABLE public.{n} RENAME TO account_{future}",
              "ALTER TABLE public.own RENAME TO account; ALTER TABLE public.account RENAME TO own", "CREATE INDEX account_{future} ON public.own (payload)",
              "CREATE TABLE public.pg_dist_node (LIKE pg_catalog.pg_dist_node); SET search_path = public, pg_catalog; SELECT count(*) FROM public.own"]

FUNCTION_NAMES = ["task_user", "citus_version", "create_distributed_table", "shard_name", "lock_row", "upsert_row", "snapshot_set", "int4eq", "sum",
                  "set_config", "current_user", "quote_ident", "format", "count", "citus_table_size", "nextval", "pg_get_querydef", "array_agg", "unnest"]

MODES = ["ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"]

GIDS = ["citus_0_1_1_0", "citus_9_9_9_9", "citus_0_{number}_{number}_0", "citus_", "citus_1_1_1_1_1", "mine_{node}"]

AFTER_SETTINGS = ["SELECT count(*) FROM public.own", "SELECT * FROM public.own WHERE id = 7", "UPDATE public.own SET payload = payload + 1 WHERE id < 5",
                  "SELECT count(*) FROM bank.rate", "INSERT INTO public.own VALUES (7, 7) ON CONFLICT DO NOTHING", "SELECT citus_check_cluster_node_health()",
                  "CREATE TABLE public.brief (id int); SELECT create_distributed_table('public.brief', 'id'); DROP TABLE public.brief"]

# The traps that the role makes on every node before it starts: code of its own that others' commands may come to run.
TRAPS = f"""
    SET citus.enable_ddl_propagation = off;
    CREATE FUNCTION public.trap_check(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $f$
    DECLARE attempt text;
    BEGIN
      FOREACH attempt IN ARRAY ARRAY['SET ROLE postgres', 'RESET SESSION AUTHORIZATION', 'ALTER ROLE {ROLE} SUPERUSER',
          '/*citus:node*/ DELETE FROM bank.rate', 'UPDATE bank.account SET balance = 0', 'SELECT citus_internal.snapshot_set(9223372036854775)',
          'SELECT citus_internal.task_user(''postgres'', 0, NULL)', 'SELECT citus_internal.run_commands(ARRAY[''DROP TABLE bank.rate''])',
          'SELECT set_config(''role'', ''none'', false)', 'LOCK TABLE bank.account', 'SELECT secret FROM pg_dist_node_secret'] LOOP
        BEGIN
          EXECUTE attempt;
          EXECUTE 'ALTER ROLE {ROLE} SUPERUSER';
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
      END LOOP;
      RETURN true;
    END $f$;
    CREATE FUNCTION public.trap_trigger() RETURNS trigger LANGUAGE plpgsql AS
      $f$ BEGIN PERFORM public.trap_check(1); RETURN NEW; END $f$"""

TRAP_TABLES = """
    CREATE TABLE public.own (id int PRIMARY KEY, payload int);
    SELECT create_distributed_table('public.own', 'id', shard_count => 4);
    INSERT INTO public.own SELECT g, g FROM generate_series(1, 50) g;
    CREATE TABLE public.trap (id int PRIMARY KEY, payload int CHECK (public.trap_check(payload)));
    CREATE INDEX ON public.trap ((public.trap_check(payload)));
    SELECT create_distributed_table('public.trap', 'id', shard_count => 4);
    CREATE POLICY p ON public.trap USING (public.trap_check(payload));
    ALTER TABLE public.trap ENABLE ROW LEVEL SECURITY;
    CREATE TRIGGER t BEFORE INSERT ON public.trap FOR EACH ROW EXECUTE FUNCTION public.trap_trigger();
    INSERT INTO public.trap SELECT g, g FROM generate_series(1, 20) g;
    GRANT ALL ON public.trap, public.own TO PUBLIC"""


class Adversary(threading.Thread):
    """One session after the other on one node, until it is stopped."""

    def __init__(self, node, seed, stop):
        super().__init__(name=f"adversary on {node.name}")
        self.node, self.stop = node, stop
        self.random = random.Random(f"{seed} {node.name}")
        self.done, self.refused = Counter(), Counter()
        self.internal, self.failure = {}, None
        self.functions, self.settings, self.aims = [], [], {}

    def run(self):
        while not self.stop.is_set() and self.failure is None:
            try:
                options = self.random.choice(["", "", "-c citus.node_proof=superuser", "-c citus.enable_ddl_propagation=off",
                                              "-c citus.node_proof=" + "0" * 32 + "." + "0" * 64])
                with servers.connect(self.node, user=ROLE, options=options) as connection:
                    self.attack_for_a_while(connection)
            except psycopg.OperationalError as error:
                # Its own pg_terminate_backend, and its own settings of ALTER ROLE, end sessions; crashes are told by the logs.
                self.refused[error.sqlstate or "connection"] += 1
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error

    def attack_for_a_while(self, connection):
        connection.execute("SET statement_timeout = '2s'; SET lock_timeout = '500ms'")
        if not self.functions:
            self.functions = rows(connection, FUNCTIONS)
            self.settings = [name for (name,) in rows(connection, "SELECT name FROM pg_settings WHERE name LIKE 'citus.%'")]
            self.settings += ["citus.node_proof", "citus.debug_points", "citus.enable_manual_changes_to_shards", "citus.nonsense", "application_name", "role",
                              "session_authorization", "session_replication_role", "search_path", "default_transaction_isolation"]
        if self.random.random() < 0.3:
            self.tidy(connection)
        self.aims = {name: [row[0] for row in rows(connection, query)] for name, query in AIMS.items()}
        attacks = [self.function] * 8 + [self.tag] * 6 + [self.setting] * 3 + [self.shard] * 4 + [self.in_advance] * 3 + \
            [self.prepare] * 2 + [self.lock, self.catalog, self.objects]
        for _ in range(self.random.randrange(5, 80)):
            if self.stop.is_set() or connection.closed:
                return
            attack = self.random.choice(attacks)
            self.attempt(connection, attack.__name__, attack())

    def tidy(self, connection):
        """Drops what it has made in advance, so that it makes it again, and ends what it has prepared."""
        ends = [f"DROP TABLE IF EXISTS {table} CASCADE" for (table,) in rows(connection, OWN_TABLES)]
        ends += [f"ROLLBACK PREPARED '{gid}'" for (gid,) in rows(connection, "SELECT gid FROM pg_prepared_xacts WHERE owner = current_user")]
        for end in ends:
            try:
                connection.execute(end)
            except psycopg.Error:
                self.refused["tidy"] += 1

    def attempt(self, connection, name, statements):
        """Runs an attack: as it is, or in a transaction block in which the locks that it got are looked at."""
        block = self.random.random() < 0.5 and name not in ("prepare", "in_advance")
        try:
            if block:
                connection.execute("BEGIN")
            for statement in statements:
                self.execute(connection, statement)
                self.done[name] += 1
            if block:
                strange = rows(connection, STRANGE_LOCKS)
                if strange:
                    raise AssertionError(f"{statements} holds {strange}")
        except psycopg.Error as error:
            if connection.closed:
                raise psycopg.OperationalError(str(error)) from error
            self.refused[name] += 1
            if (error.sqlstate or "").startswith("XX"):
                self.internal.setdefault(re.sub(r"\d+", "N", str(error).split("\n", maxsplit=1)[0]), statements)
        finally:
            if not connection.closed:
                connection.execute("ROLLBACK; RESET ALL; SET statement_timeout = '2s'; SET lock_timeout = '500ms'")

    def execute(self, connection, statement):
        """With the simple protocol, the extended one or a prepared statement; COPY gets a few lines."""
        if re.match(r"(/\*.*?\*/|\s)*COPY", statement):
            with connection.cursor().copy(statement) as copy:
                if "STDIN" in statement:
                    copy.write(self.random.choice(["7\t7\t7\n", "\\x00\n", "PGCOPY\n\xff\r\n\0", "x" * 10000]))
                else:
                    list(copy)
        else:
            how = self.random.random()
            if how < 0.4 or ";" in statement:
                connection.execute(statement)
            elif how < 0.6:
                connection.execute(statement, prepare=True)
            elif how < 0.8:
                connection.execute(statement, binary=True)
            else:
                connection.execute("DO $do$ BEGIN EXECUTE $x$" + statement + "$x$; END $do$")

    def aim(self, name, otherwise):
        return self.random.choice(self.aims.get(name) or [otherwise])

    # -- attacks: each returns statements

    def argument(self, type_name):
        chosen = self.random
        numbers = ["NULL", "0", "1", "'-1'", "7", "32767", "2147483647", "'-2147483648'", str(self.aim("number", 1)), str(self.aim("future", 1))]
        values = {
            "text": TEXTS + [f"'citus_data.{self.aim('shard', 'x')}'", f"$q${chosen.choice(HARM)}$q$"],
            "regclass": ["NULL", "0", "'bank.account'", "'bank.rate'", "'public.own'", "'public.trap'", "'pg_class'", "'pg_dist_node'", "2147483647",
                         f"'citus_data.{self.aim('shard', 'x')}'", "'bank.account_pkey'", "'bank.total'", "'pg_dist_shardid_seq'"],
            "smallint": numbers[:6], "integer": numbers, "bigint": numbers + ["9223372036854775807", "'-9223372036854775808'", "848653940931024"],
            "boolean": ["NULL", "true", "false"], "\"char\"": ["NULL", "'h'", "'n'", "'r'", "''", "'\\377'"],
            "text[]": ["NULL", "'{}'", "ARRAY[NULL]", f"ARRAY[$q${chosen.choice(HARM)}$q$]", f"ARRAY[{chosen.choice(TEXTS)}, {chosen.choice(TEXTS)}]"],
            "double precision": ["NULL", "'NaN'", "'-1'", "1e308", "'-Infinity'"], "real": ["NULL", "'NaN'", "'-1'", "2"],
            "name": ["NULL", "''", "'default'", "'x'"], "noderole": ["NULL", "'primary'", "'secondary'"], "smallint[]": ["NULL", "'{}'", "'{1,-1,32767}'"],
            "citus.distribution_type": ["NULL", "'hash'", "'range'", "'append'"], "oid": ["NULL", "0", "1", "2147483647"],
            "regtype": ["NULL", "0", "'int'", "'public.own'"], "tid": ["NULL", "'(0,1)'", "'(4294967295,65535)'"], "xid": ["NULL", "'0'", "'3'"],
            "cid": ["NULL", "'0'"], "record": ["NULL", "ROW(1, 2)"], "anyelement": ["NULL::int", "1", "'x'::text", "ROW(1)", "ARRAY[1]"],
            "\"any\"": ["NULL", "1", "'x'::text", "1.5", "'2020-01-01'::date"],
        }.get(type_name, ["NULL"])
        picked = chosen.choice(values)
        return picked if type_name in ("anyelement", '"any"', "record") else f"{picked}::{type_name}"

    def function(self):
        schema, name, kind, is_set, types = self.random.choice(self.functions)
        call = f"{schema}.{name}({', '.join(self.argument(type_name) for type_name in types)})"
        if kind == "p":
            return ["CALL " + call]
        if kind == "a":
            return [f"SELECT {call} FROM generate_series(1, 3)"]
        return [self.random.choice(["SELECT * FROM " if is_set else "SELECT ", "SELECT ", "SELECT count(*) FROM bank.rate WHERE id = (SELECT 1 FROM "
                                    + call + " LIMIT 1) --"]) + call]

    def range(self):
        """The hash values of a shard of a table with 32."""
        low = -2**31 + self.random.randrange(32) * 2**27
        return f"{low}:{low + 2**27 - 1}"

    def tag(self):
        text = self.random.choice(TAGS).format(group=self.aim("group", 1), range=self.range(), huge=9223372036854775807)
        statement = self.random.choice(HARM + [f"SELECT {self.function()[0][7:]}", "PREPARE TRANSACTION 'x'", "COMMIT PREPARED 'x'", "COMMIT", "BEGIN"])
        return [self.random.choice(["", "", "", "SELECT 1; "]) + text + statement]

    def setting(self):
        name = self.random.choice(self.settings)
        new = self.random.choice(["''", "'x'", "-1", "0", "1", "2147483647", "on", "off", "'postgres'", "DEFAULT", "'citus_internal gpid=1'", "'0.5'"])
        scope = self.random.choice(["SET {} = {}", "SET {} = {}", "SET LOCAL {} = {}", "ALTER ROLE victim SET {} = {}", "ALTER DATABASE postgres SET {} = {}",
                                    "ALTER SYSTEM SET {} = {}", "ALTER ROLE postgres SET {} = {}", "ALTER FUNCTION citus_version() SET {} = {}"])
        return [scope.format(name, new)] + self.random.sample(AFTER_SETTINGS, 2)

    def shard(self):
        return [self.random.choice(ON_SHARDS).format(s=f"citus_data.{self.aim('shard', 'x')}", mode=self.random.choice(MODES))]

    def in_advance(self):
        number = self.aim("future", 1)
        name = self.random.choice([f"account_{number}", f"t_{number}", f"rate_{number}", f"brief_{number}", f"account_pkey_{number}", "v_1"])
        return [self.random.choice(["SET citus.enable_ddl_propagation = off", "SELECT 1"]),
                self.random.choice(IN_ADVANCE).format(n=name, f=self.random.choice(FUNCTION_NAMES), future=number)]

    def prepare(self):
        gid = self.random.choice(GIDS).format(number=self.random.randrange(1, 10**6), node=self.node.name)
        other = self.aim("gid", gid)
        tag = self.random.choice(["", "", self.random.choice(TAGS[5:13]).format(group=1, range=self.range(), huge=9223372036854775807)])
        write = self.random.choice(AFTER_SETTINGS[:5])
        if self.random.random() < 0.5:
            return [f"{tag}{self.random.choice(['COMMIT', 'ROLLBACK'])} PREPARED '{other}'"]
        return ["BEGIN", write, f"{tag}PREPARE TRANSACTION '{gid}'", f"ROLLBACK PREPARED '{gid}'"]

    def lock(self):
        table = self.random.choice(["bank.account", "bank.rate", "bank.total", "pg_dist_node", "pg_class", f"citus_data.{self.aim('shard', 'x')}"])
        return [self.random.choice([f"LOCK TABLE {table} IN {self.random.choice(MODES)} MODE", f"LOCK TABLE ONLY {table} IN {self.random.choice(MODES)} MODE NOWAIT",
                                    f"SELECT pg_try_advisory_lock({self.aim('advisory', 1)})", f"SELECT pg_try_advisory_lock({self.random.randrange(5)}, 0)",
                                    f"SELECT citus_internal.lock_reference_table('{table}', true, true)"])]

    def catalog(self):
        return [self.random.choice(ON_CATALOGS).format(c=self.random.choice(CATALOGS), mode=self.random.choice(MODES))]

    def objects(self):
        return [self.random.choice(ON_OBJECTS)]
