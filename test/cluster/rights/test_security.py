"""Nodes trust nodes, never clients: what roles without rights try on every node."""

from functools import partial
from itertools import product

import psycopg
import pytest

from harness.servers import connect as open_connection, footprint, node_session, rows, value

ROLES = ("owner", "mallory")


@pytest.fixture(scope="module")
def roles(cluster):
    """An owner of tables and a role without rights, on every node."""
    names = [f"sec_{name}" for name in ROLES]
    with open_connection(cluster.coordinator) as connection:
        for name in names:
            connection.execute(f"CREATE ROLE {name} LOGIN")
    yield names
    with open_connection(cluster.coordinator) as connection:
        for name in names:
            connection.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


@pytest.fixture
def tables(coordinator, schema, roles):
    """The owner's distributed table `d` with 100 rows, reference table `r`, and single-shard table `s`."""
    coordinator.execute(f"""
        GRANT USAGE, CREATE ON SCHEMA {schema} TO {roles[0]};
        GRANT USAGE ON SCHEMA {schema} TO {roles[1]};
        CREATE TABLE {schema}.r (id int PRIMARY KEY, v text);
        CREATE TABLE {schema}.d (id int PRIMARY KEY, v text, r int REFERENCES {schema}.r);
        CREATE TABLE {schema}.s (id int PRIMARY KEY, v text);
        ALTER TABLE {schema}.r OWNER TO {roles[0]};
        ALTER TABLE {schema}.d OWNER TO {roles[0]};
        ALTER TABLE {schema}.s OWNER TO {roles[0]};
        SELECT create_reference_table('{schema}.r');
        SELECT create_distributed_table('{schema}.d', 'id');
        SELECT create_distributed_table('{schema}.s', NULL);
        INSERT INTO {schema}.r SELECT g, 'r' FROM generate_series(1, 10) g;
        INSERT INTO {schema}.d SELECT g, 'd', 1 + g % 10 FROM generate_series(1, 100) g;
    """)
    return schema


def run_everywhere(cluster, command):
    """Runs a command as superuser on every node by itself."""
    for node in cluster.nodes:
        with open_connection(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute(command)


TAGS = ["/*citus:shard {group}.{range}*/ ", "/*citus:shard {group}.{range} at*/ ", "/*citus:shard {group}.{range} lock*/ ",
        "/*citus:shard {group}.{range} policies 0*/ ", "/*citus:shard {group}.{range} blind unchecked*/ ",
        "/*citus:shard {group}.{range} as postgres*/ ", "/*citus:node*/ ", "/*citus:ddl*/ ", "/*citus:frames*/ ",
        "/*citus:shard -5.0:0*/ ", "/*citus:nonsense*/ "]

STATEMENTS = ["SELECT * FROM {s}.d", "INSERT INTO {s}.d VALUES (1000, 'x', 1)", "UPDATE {s}.d SET v = 'x'", "DELETE FROM {s}.r",
              "INSERT INTO {s}.d VALUES (1001, 'x', 999)", "TRUNCATE {s}.d", "COPY {s}.d FROM STDIN",
              "ALTER TABLE {s}.d ADD COLUMN c int", "DROP TABLE {s}.r", "EXPLAIN ANALYZE DELETE FROM {s}.d",
              "DO $$ BEGIN DELETE FROM {s}.r; END $$"]


@pytest.mark.parametrize("tag", TAGS)
def test_a_client_cannot_tag(cluster, coordinator, tables, roles, connect, tag):
    """Not even the owner, to whom foreign keys and the hash of a shard would be no limit otherwise."""
    group, = rows(coordinator, "SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = %s::regclass", [f"{tables}.d"])[0]
    for node, statement in product(cluster.nodes, STATEMENTS):
        text = tag.format(group=group, range="-1744830464:-1610612737") + statement.format(s=tables)
        connection = connect(node, user=roles[0])
        for attempt in (lambda: connection.execute(text), lambda: connection.execute(text, prepare=True),
                        lambda: connection.execute("DO $do$ BEGIN EXECUTE $x$" + text + "$x$; END $do$")):
            if statement.startswith("COPY"):
                attempt = partial(connection.execute, text)
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                attempt()
            assert "tag a statement" in str(caught.value)
    assert value(coordinator, f"SELECT count(*) FROM {tables}.d WHERE v = 'd' AND r <= 10") == 100


def test_a_wrong_proof_proves_nothing(cluster, tables, roles, connect):
    """A proof is for one login role, and made with the secret; a superuser needs none."""
    node = cluster.workers[0]
    with node_session(node, user=roles[0]) as right:
        proof = right.info.get_parameters()["options"]
        assert value(right, f"/*citus:node*/ SELECT count(*) FROM {tables}.r") == 10
        for reading in ("SHOW citus.node_proof", "SELECT current_setting('citus.node_proof')"):
            assert value(right, reading) == ""
        assert rows(right, "SELECT name FROM pg_settings WHERE name = 'citus.node_proof'") == []
        right.execute("SET citus.node_proof = 'another'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            right.execute(f"/*citus:node*/ SELECT count(*) FROM {tables}.r")
    for options in (proof, "-c citus.node_proof=x", "-c citus.node_proof=" + "0" * 97):
        with connect(node, user=roles[1], options=options) as wrong:
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                wrong.execute(f"/*citus:node*/ SELECT count(*) FROM {tables}.r")
            assert "tag a statement" in str(caught.value)
    with connect(node, options="-c citus.node_proof=superuser") as superuser:
        assert value(superuser, f"/*citus:node*/ SELECT count(*) FROM {tables}.r") == 10


@pytest.mark.parametrize("tag", ["shard {group}.0:1", "shard {group}.5:4", "shard {group}.2147483647:2147483648", "shard -5.0:0", "shards {group}.0:1,",
                                 "shard 99999999999.1:2", "node as no_such_role", "node x", "nonsense", ""])
def test_tags_that_are_wrong(cluster, coordinator, tables, tag):
    """A node's own: an error, never another statement than the one that was meant."""
    group = value(coordinator, "SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = %s::regclass", [f"{tables}.d"])
    with node_session(cluster.workers[0]) as peer:
        for statement in ("SELECT count(*) FROM {s}.d", "INSERT INTO {s}.d VALUES (1000, 'x', 1)", "DELETE FROM {s}.d", "DELETE FROM {s}.r"):
            with pytest.raises(psycopg.DatabaseError) as caught:
                peer.execute(f"/*citus:{tag.format(group=group)}*/ {statement.format(s=tables)}")
            assert caught.value.sqlstate in ("08P01", "CT001", "42704")
    assert rows(coordinator, f"SELECT (SELECT count(*) FROM {tables}.d), (SELECT count(*) FROM {tables}.r)") == [(100, 10)]


def test_the_secret_is_for_superusers(cluster, roles, connect):
    secrets = set()
    for node in cluster.nodes:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connect(node, user=roles[1]).execute("SELECT * FROM pg_dist_node_secret")
        secrets.add(value(connect(node), "SELECT secret FROM pg_dist_node_secret"))
    assert len(secrets) == 1


FUNCTIONS_FOR_NODES = """
    SELECT p.oid::regprocedure::text, p.pronargs, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
    FROM pg_proc p WHERE pronamespace = 'citus_internal'::regnamespace AND has_function_privilege(%s, p.oid, 'execute')
    AND prorettype <> 'trigger'::regtype AND 'internal'::regtype <> ALL (p.proargtypes)
"""

# Harmless to all but the session that calls them, views of what everybody may see, or done with the caller's rights alone.
# Those of sequences ask for the server's rights (test_sequences.py); gateway_pass_cancels sends the requests in the shared area.
FOR_EVERYBODY = {"alter_distributed_table", "analyzed_shards", "await_state", "change_shard_count", "check_columnar_table", "check_node", "columnar_chunks", "columnar_stripes", "check_strategy_function", "currval",
                 "distribute_again", "exchange_read", "exchange_send", "foreign_keys_of", "gateway_activity", "gateway_backend_pid", "gateway_blocking_pids", "gateway_cancel_backend", "gateway_locks", "gateway_pass_cancels", "gateway_prepared_statements", "gateway_processes", "gateway_query_route", "gateway_route",
                 "gateway_block_conflict", "gateway_terminate_backend", "gateway_unrouted", "global_index_write", "global_key", "group_subquery", "lastval",
                 "local_shard_copies", "local_traces", "local_shard_numbers", "local_shard_sizes", "lock_row", "logical_ctid", "logical_relation", "nextval", "notify", "pg_notify", "process_gpid", "rebalance_job",
                 "pg_indexes_size", "pg_relation_size", "pg_table_size", "pg_total_relation_size", "refuse_transaction_block", "require_coordinator", "row_image", "rows_of_all_nodes", "run_apart", "run_job", "running_rebalance", "setval", "stat_statements", "statements_view",
                 "server_instance", "connection_problems", "shard_ctid", "shard_ctids", "shard_moves", "shard_relation", "shard_sizes", "table_type", "task_error_is_transient", "task_plan", "tenant_lock_number", "texts_of_row",
                 "time_partition_column", "upsert_begin", "upsert_conflict", "upsert_conflicts", "upsert_once",
                 "upsert_ordinal", "upsert_row"} | {
                 "pg_stat_get_" + name for name in (
                     "numscans", "tuples_returned", "tuples_fetched", "tuples_inserted", "tuples_updated", "tuples_deleted", "tuples_hot_updated",
                     "tuples_newpage_updated", "live_tuples", "dead_tuples", "mod_since_analyze", "ins_since_vacuum", "blocks_fetched", "blocks_hit",
                     "lastscan", "last_vacuum_time", "last_autovacuum_time", "last_analyze_time", "last_autoanalyze_time", "vacuum_count",
                     "autovacuum_count", "analyze_count", "autoanalyze_count",
                     "total_vacuum_time", "total_autovacuum_time", "total_analyze_time", "total_autoanalyze_time")}

POLYMORPHIC = {"anyelement": "pg_catalog.pg_class"}


def hostile(type_name):
    """Arguments of a type that would do harm where nothing checks them."""
    return {"integer": ["-5", "2147483647"], "bigint": ["-1", "9223372036854775807"], "text": ["'x'", "NULL"],
            "regclass": ["'pg_class'::regclass", "0::regclass"], "oid": ["'pg_class'::regclass", "0"], "boolean": ["true"],
            "tid": ["'(4294967295,65535)'", "'(0,0)'"], "tid[]": ["ARRAY['(4294967295,65535)', NULL]"], "record": ["ROW(1, 'x', NULL)"],
            "bytea[]": ["NULL", "ARRAY['x', NULL]"],
            "text[]": ["ARRAY['DROP TABLE pg_class', 'CREATE TABLE citus_data.trap ()']"]}.get(type_name, ["NULL"])


def survives(connection, call):
    """Whatever arguments it gets, a call may fail, but not take the session or its server with it."""
    with connection.transaction(force_rollback=True):
        try:
            connection.execute("SET LOCAL statement_timeout = '5s'")
            connection.execute(call)
        except psycopg.OperationalError:
            assert not connection.closed, call
        except psycopg.Error:
            pass


def test_functions_for_nodes_refuse_clients(cluster, coordinator, tables, roles, connect):
    before = footprint(cluster)
    for node in cluster.nodes:
        connection = connect(node, user=roles[1])
        functions = rows(connection, FUNCTIONS_FOR_NODES, [roles[1]])
        assert len(functions) > 25
        for signature, _, types in functions:
            name = signature.split("(")[0].split(".")[1]
            choices = [hostile(type_name) for type_name in types]
            for turn in range(2):
                arguments = ", ".join(f"{choice[turn % len(choice)]}::{POLYMORPHIC.get(type_name, type_name)}"
                                      for choice, type_name in zip(choices, types))
                call = f"SELECT citus_internal.{name}({arguments})"
                if name in FOR_EVERYBODY:
                    survives(connection, call)
                    continue
                for text in (call, f"DO $do$ BEGIN PERFORM {call[7:]}; END $do$"):
                    strict_null = "NULL" in arguments
                    try:
                        connection.execute(text)
                    except psycopg.errors.InsufficientPrivilege:
                        continue
                    assert strict_null, f"{text} was executed"
    assert footprint(cluster) == before
    assert value(coordinator, f"SELECT count(*) FROM {tables}.d") == 100


@pytest.mark.parametrize("statement", ["INSERT INTO {s}.r VALUES (77, 'x')", "SELECT * FROM {s}.d WHERE id = 7 FOR UPDATE",
                                       "UPDATE {s}.d SET v = 'x' WHERE id = 7", "DELETE FROM {s}.local", "INSERT INTO {s}.ruled VALUES (1)"])
def test_routes_are_told_to_who_may_run_the_statement(coordinator, cluster, tables, roles, connect, statement):
    """Finding a route takes the statement's locks, which others don't get."""
    coordinator.execute(f"""
        CREATE TABLE {tables}.local (id int);
        CREATE TABLE {tables}.ruled (id int);
        CREATE RULE also AS ON INSERT TO {tables}.ruled DO ALSO DELETE FROM {tables}.local""")
    call = f"SELECT citus_internal.gateway_query_route($q${statement.format(s=tables)}$q$)"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect(cluster.coordinator, user=roles[1]).execute(call)
    coordinator.execute(call)


MANUAL_CHANGES = ["INSERT INTO {t} VALUES (-1, 'x', 1)", "UPDATE {t} SET id = -id", "DELETE FROM {t}", "TRUNCATE {t}",
                  "WITH w AS (DELETE FROM {t} RETURNING id) SELECT count(*) FROM w", "COPY {t} FROM STDIN",
                  "ALTER TABLE {t} DISABLE ROW LEVEL SECURITY", "ALTER TABLE {t} ADD COLUMN more int", "CREATE INDEX ON {t} (v)",
                  "DROP TABLE {t}", "GRANT ALL ON {t} TO PUBLIC", "DO $$ BEGIN DELETE FROM {t}; END $$",
                  "CREATE RULE r AS ON INSERT TO {t} DO INSTEAD NOTHING", "ALTER TABLE {t} RENAME id TO key",
                  "CREATE POLICY p ON {t} USING (true)", "MERGE INTO {t} d USING (SELECT 1) s ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (-1)",
                  "INSERT INTO {t} SELECT -id, v, r FROM {s}.d", "UPDATE {t} t SET id = -d.id FROM {s}.d WHERE d.id = t.id",
                  "WITH w AS (DELETE FROM {t} RETURNING id) SELECT count(*) FROM w JOIN {s}.d USING (id)",
                  "CREATE TABLE {s}.child () INHERITS ({t})", "CREATE TABLE {s}.refers (id int REFERENCES {t})",
                  "CREATE TABLE {s}.parent (LIKE {t}) PARTITION BY RANGE (id); ALTER TABLE {s}.parent ATTACH PARTITION {t} DEFAULT"]


def test_shards_are_not_changed_by_name(cluster, coordinator, tables, roles, connect):
    """Their owner reads them; a superuser may change them, and may let others."""
    for node in cluster.workers:
        shard = value(connect(node), "SELECT min(oid::regclass::text) FROM pg_class WHERE relnamespace = 'citus_data'::regnamespace "
                      "AND relkind = 'r' AND relname ~ '^d_'")
        owner = connect(node, user=roles[0])
        count = value(owner, f"SELECT count(*) FROM {shard}")
        for statement in MANUAL_CHANGES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                owner.execute(statement.format(t=shard, s=tables))
            assert "citus_data" in str(caught.value) or "to change shard" in str(caught.value)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute("SET citus.enable_manual_changes_to_shards = on")
        superuser = connect(node)
        with superuser.transaction(force_rollback=True):
            superuser.execute(f"DELETE FROM {shard}")
            superuser.execute(f"SET LOCAL citus.enable_manual_changes_to_shards = on; SET LOCAL ROLE {roles[0]}")
            superuser.execute(f"ALTER TABLE {shard} SET (fillfactor = 50)")
        assert value(owner, f"SELECT count(*) FROM {shard}") == count


def test_code_in_a_nodes_session_is_no_node(cluster, coordinator, tables, roles, connect):
    """A CHECK constraint's function runs in sessions of nodes; its statements are its owner's."""
    run_everywhere(cluster, f"""
        CREATE FUNCTION {tables}.trap(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $f$
        BEGIN
            IF $1 = 'tag' THEN
                EXECUTE '/*citus:node*/ DELETE FROM {tables}.r';
            ELSIF $1 = 'function' THEN
                PERFORM citus_internal.snapshot_set(9223372036854775807);
            ELSIF $1 = 'user' THEN
                PERFORM citus_internal.task_user('postgres', 0, NULL);
            END IF;
            RETURN true;
        END $f$""")
    coordinator.execute(f"ALTER TABLE {tables}.d ADD CONSTRAINT trap CHECK ({tables}.trap(v))")
    for node in cluster.nodes:
        connection = connect(node, user=roles[0])
        for word in ("tag", "function", "user"):
            for key in range(2000, 2004):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"INSERT INTO {tables}.d VALUES ({key}, '{word}', 1)")
    assert value(coordinator, f"SELECT count(*) FROM {tables}.r") == 10
    coordinator.execute(f"ALTER TABLE {tables}.d DROP CONSTRAINT trap")
    run_everywhere(cluster, f"DROP FUNCTION {tables}.trap")


def test_code_in_a_parallel_worker_is_no_node(cluster, coordinator, tables, roles, connect):
    """A worker has no client, but runs functions of one."""
    run_everywhere(cluster, f"""
        CREATE FUNCTION {tables}.peek(text) RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $f$
        DECLARE found text;
        BEGIN
            EXECUTE $1 INTO found;
            RETURN found;
        END $f$""")
    for node in cluster.nodes:
        mallory = connect(node, user=roles[1])
        for debug in ("force_parallel_mode", "debug_parallel_query"):
            if rows(mallory, "SELECT FROM pg_settings WHERE name = %s", [debug]):
                mallory.execute(f"SET {debug} = on")
        assert "Gather" in str(rows(mallory, f"EXPLAIN SELECT {tables}.peek('SELECT 1')"))
        for tag, table in product(("/*citus:node*/", "/*citus:node as postgres*/"), (f"{tables}.d", "pg_dist_node_secret")):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="tag a statement"):
                mallory.execute(f"SELECT {tables}.peek('{tag} SELECT string_agg(t::text, '' '') FROM {table} t')")
    run_everywhere(cluster, f"DROP FUNCTION {tables}.peek")


def test_questions_to_all_nodes_are_no_nodes(cluster, roles, connect):
    """A text that a client has another node asked is not the asking node's own, whatever it is on that node alone."""
    for node, other in product(cluster.nodes, range(3)):
        mallory = connect(node, user=roles[1])
        text = f"SELECT citus_internal.advance_clock(1) FROM pg_dist_local_group WHERE groupid = {other}"
        for ask in ("SELECT * FROM citus_internal.rows_of_all_nodes(%s) AS t(n bigint)", "SELECT * FROM run_command_on_all_nodes(%s) WHERE NOT success"):
            try:
                assert "permission denied for a function" in str(rows(mallory, ask, [text]))
            except psycopg.errors.InsufficientPrivilege as error:
                assert "permission denied for a function" in str(error)


SPRING = """
    CREATE FUNCTION {s}.spring(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $f$
    BEGIN
        PERFORM citus_internal.advance_clock(1);
        RAISE LOG 'trap in {s} sprung in %', $1;
        RETURN 1;
    EXCEPTION WHEN insufficient_privilege THEN
        RETURN 1;
    END $f$"""


def test_code_in_our_own_commands_is_no_node(cluster, coordinator, tables, roles, connect):
    """Commands that nodes compose may call functions for nodes; what users have put into tables may not, while those run."""
    run_everywhere(cluster, SPRING.format(s=tables))
    coordinator.execute(f"CREATE SEQUENCE {tables}.numbers; ALTER SEQUENCE {tables}.numbers OWNER TO {roles[0]}")
    marks = {node: node.log_mark() for node in cluster.nodes}
    owner = connect(cluster.coordinator, user=roles[0])
    owner.execute(f"CREATE TABLE {tables}.own (id int PRIMARY KEY, v text, CHECK ({tables}.spring('check') = 1))")
    owner.execute(f"CREATE INDEX ON {tables}.own (({tables}.spring('index')))")
    owner.execute(f"INSERT INTO {tables}.own SELECT generate_series(1, 20)")
    for statement in ("SELECT create_distributed_table('{s}.own', 'id')",
                      "ALTER TABLE {s}.own ADD COLUMN n bigint DEFAULT nextval('{s}.numbers') + {s}.spring('default')",
                      "SELECT alter_distributed_table('{s}.own', shard_count => 3, cascade_to_colocated => false)", "ANALYZE {s}.own", "SELECT undistribute_table('{s}.own')"):
        owner.execute(statement.format(s=tables))
    sprung = {line.split(" in ")[-1] for node, mark in marks.items() for line in node.log_since(mark).splitlines()
              if f"trap in {tables} sprung" in line}
    coordinator.execute(f"DROP TABLE {tables}.own; DROP SEQUENCE {tables}.numbers")
    run_everywhere(cluster, f"DROP FUNCTION {tables}.spring")
    assert not sprung


OWNERS_DDL = ["ALTER TABLE {s}.d ADD COLUMN a int", "ALTER TABLE {s}.d ADD COLUMN b timestamptz DEFAULT now()", "ALTER TABLE {s}.r ADD COLUMN b int DEFAULT 3",
              "ALTER TABLE {s}.d ADD CHECK (id > 0)", "CREATE INDEX ON {s}.d (v)", "CREATE STATISTICS {s}.st ON id, r FROM {s}.d",
              "ALTER STATISTICS {s}.st SET STATISTICS 10",
              "ALTER TABLE {s}.d RENAME COLUMN a TO c", "ALTER TABLE {s}.d DROP COLUMN c", "CREATE POLICY p ON {s}.d USING (true)",
              "GRANT SELECT ON {s}.d TO PUBLIC", "COMMENT ON TABLE {s}.d IS 'x'", "ANALYZE {s}.d", "VACUUM {s}.d", "REINDEX TABLE {s}.d",
              "ALTER TABLE {s}.d RENAME TO d2", "TRUNCATE {s}.d2", "DROP TABLE {s}.d2"]


def test_an_owner_may_do_ddl(cluster, coordinator, tables, roles, connect):
    """What nodes ask of each other for it is a node's, though its login role has no rights of its own."""
    run_everywhere(cluster, f"CREATE SCHEMA IF NOT EXISTS {tables}; GRANT USAGE, CREATE ON SCHEMA {tables} TO {roles[0]}")
    owner = connect(cluster.coordinator, user=roles[0])
    for statement in OWNERS_DDL:
        owner.execute(statement.format(s=tables))


# The one that is used in indexes must be immutable, and such a function executes no ALTER ROLE by itself.
ESCAPE = """
    CREATE FUNCTION {s}.become(attempt text) RETURNS void LANGUAGE plpgsql AS $f$
    BEGIN
        EXECUTE attempt;
        EXECUTE 'ALTER ROLE {mallory} SUPERUSER';
    EXCEPTION WHEN OTHERS THEN
    END $f$;
    CREATE FUNCTION {s}.escape(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $f$
    BEGIN
        PERFORM {s}.become('SELECT 1');
        PERFORM {s}.become('SET ROLE NONE');
        PERFORM {s}.become('RESET SESSION AUTHORIZATION');
        RETURN $1;
    END $f$;
    ALTER FUNCTION {s}.become(text) OWNER TO {owner};
    ALTER FUNCTION {s}.escape(text) OWNER TO {owner}"""


@pytest.mark.some(5)
@pytest.mark.parametrize("how", ["ANALYZE {s}.d", "ANALYZE", "VACUUM ANALYZE {s}.d", "REFRESH MATERIALIZED VIEW {s}.m", "SELECT {s}.definer()",
                                 "REINDEX TABLE {s}.d", "SELECT undistribute_table('{s}.d')", "SELECT create_distributed_table('{s}.l', 'id')",
                                 "SELECT create_distributed_table_concurrently('{s}.l', 'id')", "SELECT create_reference_table('{s}.l')",
                                 "SELECT citus_add_local_table_to_metadata('{s}.l')",
                                 "SELECT alter_distributed_table('{s}.d', shard_count => 3, cascade_to_colocated => false)",
                                 "SELECT isolate_tenant_to_new_shard('{s}.d', 7, shard_transfer_mode => 'block_writes')"])
def test_owners_code_does_not_become_superuser(cluster, coordinator, tables, roles, connect, how):
    """Code of a table's owner that a superuser's command runs on other nodes has its owner's rights there."""
    run_everywhere(cluster, ESCAPE.format(s=tables, owner=roles[0], mallory=roles[1]))
    coordinator.execute(f"""
        CREATE TABLE {tables}.l (id int PRIMARY KEY, v text CHECK ({tables}.escape(v) = v), g text GENERATED ALWAYS AS ({tables}.escape(v)) STORED);
        ALTER TABLE {tables}.l OWNER TO {roles[0]};
        CREATE INDEX ON {tables}.l (({tables}.escape('constant')));
        CREATE INDEX ON {tables}.l ({tables}.escape(v)) WHERE {tables}.escape(v) = v;
        SET ROLE {roles[0]};
        INSERT INTO {tables}.l SELECT g, 'x' FROM generate_series(1, 20) g;
        RESET ROLE;
        ALTER TABLE {tables}.d DROP CONSTRAINT d_r_fkey;
        CREATE INDEX escaping ON {tables}.d ({tables}.escape(v));
        CREATE INDEX ON {tables}.d (({tables}.escape('constant')));
        CREATE FUNCTION {tables}.definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS
            $f$ SELECT count(*) FROM {tables}.d WHERE v <> '' $f$;
        ALTER FUNCTION {tables}.definer OWNER TO {roles[0]};
        CREATE MATERIALIZED VIEW {tables}.m AS SELECT count(*) FROM {tables}.d WHERE v <> '' WITH NO DATA;
        ALTER MATERIALIZED VIEW {tables}.m OWNER TO {roles[0]};
        CREATE POLICY p ON {tables}.d USING ({tables}.escape(v) = v);
        ALTER TABLE {tables}.d ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    """)
    try:
        run_everywhere(cluster, f"ALTER ROLE {roles[1]} NOSUPERUSER")      # superusers' SELECTs run such code as themselves
        coordinator.execute(how.format(s=tables))
        for node in cluster.nodes:
            with open_connection(node) as connection:
                assert value(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = %s", [roles[1]]) is False
        with connect(cluster.coordinator, user=roles[0]) as owner:
            assert rows(owner, f"SELECT (SELECT count(*) FROM {tables}.d), (SELECT count(*) FROM {tables}.l)") == [(100, 20)]
    finally:
        coordinator.execute(f"DROP MATERIALIZED VIEW {tables}.m; DROP TABLE {tables}.d, {tables}.l CASCADE")
        run_everywhere(cluster, f"""DROP FUNCTION IF EXISTS {tables}.escape CASCADE; DROP FUNCTION IF EXISTS {tables}.become;
            DROP FUNCTION IF EXISTS {tables}.definer; ALTER ROLE {roles[1]} NOSUPERUSER""")


@pytest.fixture
def views(cluster, coordinator, tables, roles):
    """The owner's view `v` in a schema that mallory may use; the tables' schema mallory may not."""
    coordinator.execute(f"""
        REVOKE USAGE ON SCHEMA {tables} FROM {roles[1]};
        CREATE SCHEMA sec_open;
        CREATE VIEW sec_open.v AS SELECT * FROM {tables}.d;
        CREATE VIEW sec_open.vr AS SELECT * FROM {tables}.r;
        ALTER VIEW sec_open.v OWNER TO {roles[0]};
        ALTER VIEW sec_open.vr OWNER TO {roles[0]};
        GRANT USAGE ON SCHEMA sec_open TO {roles[1]};
        GRANT ALL ON sec_open.v, sec_open.vr TO {roles[1]};
    """)
    yield "sec_open"
    coordinator.execute("DROP SCHEMA sec_open CASCADE")


def test_rights_of_a_views_owner(cluster, coordinator, tables, views, roles, connect):
    """A role with rights on the view alone reads and writes through it on any node, one shard or all, again and again."""
    mallory = connect(cluster.coordinator, user=roles[1])
    for _ in range(4):
        for key in range(1, 9):
            assert value(mallory, f"SELECT v FROM {views}.v WHERE id = %s", [key]) == "d"
            assert mallory.execute(f"UPDATE {views}.v SET v = 'd' WHERE id = %s", [key]).rowcount == 1
        assert value(mallory, f"SELECT count(*) FROM {views}.v") == 100
        assert value(mallory, f"SELECT count(*) FROM {views}.v a JOIN {views}.v b USING (id)") == 100
        assert mallory.execute(f"UPDATE {views}.v SET v = 'd'").rowcount == 100
        assert mallory.execute(f"UPDATE {views}.v SET v = v || '' WHERE r IN (SELECT id FROM {views}.vr)").rowcount == 100
        assert mallory.execute(f"INSERT INTO {views}.v SELECT g, 'new', 1 FROM generate_series(501, 520) g").rowcount == 20
        assert mallory.execute(f"DELETE FROM {views}.v WHERE id > 500").rowcount == 20
        assert mallory.execute(f"UPDATE {views}.vr SET v = 'r'").rowcount == 10
        mallory.execute(f"EXPLAIN UPDATE {views}.v SET v = 'd' WHERE id = 1")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        mallory.execute(f"SELECT count(*) FROM {tables}.d")


def test_current_user_through_a_view(cluster, coordinator, tables, views, roles, connect):
    """Policies are those for the view's owner, and current_user in them is the role that uses the view."""
    coordinator.execute(f"""
        UPDATE {tables}.d SET v = '{roles[1]}' WHERE id <= 30;
        CREATE POLICY mine ON {tables}.d FOR ALL TO {roles[0]} USING (v = current_user);
        ALTER TABLE {tables}.d ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    """)
    mallory = connect(cluster.coordinator, user=roles[1])
    for _ in range(4):
        assert value(mallory, f"SELECT count(*) FROM {views}.v") == 30
        assert [value(mallory, f"SELECT count(*) FROM {views}.v WHERE id = %s", [key]) for key in range(27, 34)] == [1] * 4 + [0] * 3
        assert value(connect(cluster.coordinator, user=roles[0]), f"SELECT count(*) FROM {tables}.d") == 0


def test_a_view_in_a_transaction_that_has_written(cluster, coordinator, tables, views, roles, connect):
    """One connection per node serves the session, whoever's rights a statement needs: so it sees its own writes."""
    coordinator.execute(f"GRANT USAGE ON SCHEMA {tables} TO {roles[1]}; GRANT ALL ON {tables}.d TO {roles[1]}")
    mallory = connect(cluster.coordinator, user=roles[1])
    with mallory.transaction(force_rollback=True):
        assert mallory.execute(f"UPDATE {tables}.d SET v = 'mine'").rowcount == 100
        assert value(mallory, f"SELECT count(*) FROM {views}.v WHERE v = 'mine'") == 100
        assert mallory.execute(f"UPDATE {tables}.d SET v = 'again' WHERE id IN (SELECT id FROM {views}.v)").rowcount == 100


def test_a_function_in_a_transaction_that_has_written(cluster, coordinator, tables, roles, connect):
    """The same for SECURITY DEFINER functions, which read and write with their owner's rights; errors restore the user."""
    coordinator.execute(f"""
        CREATE FUNCTION {tables}.total() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $f$ SELECT count(*) FROM {tables}.d $f$;
        CREATE FUNCTION {tables}.put(k int, t text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS
            $f$ BEGIN INSERT INTO {tables}.d VALUES (k, t, 1); END $f$;
        ALTER FUNCTION {tables}.total OWNER TO {roles[0]};
        ALTER FUNCTION {tables}.put OWNER TO {roles[0]};
        CREATE TABLE {tables}.own (id int PRIMARY KEY);
        SELECT create_distributed_table('{tables}.own', 'id');
        GRANT ALL ON {tables}.own TO {roles[1]};
    """)
    mallory = connect(cluster.coordinator, user=roles[1], autocommit=False)
    mallory.execute(f"INSERT INTO {tables}.own SELECT generate_series(1, 50)")
    assert value(mallory, f"SELECT {tables}.total()") == 100
    for key in range(1001, 1009):
        mallory.execute(f"SELECT {tables}.put({key}, 'x')")
        mallory.execute("SAVEPOINT a")
        with pytest.raises(psycopg.errors.UniqueViolation):
            mallory.execute(f"SELECT {tables}.put({key}, 'x')")
        mallory.execute("ROLLBACK TO a")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            mallory.execute(f"SELECT count(*) FROM {tables}.d WHERE id = {key}")
        mallory.execute("ROLLBACK TO a")
    assert value(mallory, f"SELECT {tables}.total()") == 108
    assert value(mallory, f"SELECT count(*) FROM {tables}.own") == 50
    mallory.commit()
    assert value(coordinator, f"SELECT count(*) FROM {tables}.d") == 108


@pytest.mark.parametrize("call", ["add_colocation_metadata(-5, 32, 1, 0, 0)", "add_colocation_metadata(0, 32, 1, 0, 0)",
                                  "add_colocation_metadata(900000, 0, 1, 0, 0)", "add_partition_metadata('{t}.d', 'h', 'id', -5, 'c')",
                                  "add_shard_metadata('{t}.d', -1, 't', '0', '1')", "add_placement_metadata(1, 0, -7, 1)"])
def test_numbers_that_cannot_be_right(coordinator, tables, call):
    """Not even from a superuser or a node: a tag with such a group could not be read."""
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        coordinator.execute(f"SELECT citus_internal.{call.format(t=tables)}")


def test_damaged_metadata_harms_its_table_alone(cluster, coordinator, tables, roles, connect):
    coordinator.execute(f"CREATE TYPE {tables}.mood AS ENUM ('sad', 'ok')")
    coordinator.execute(f"CREATE TABLE {tables}.typed (id int PRIMARY KEY, m {tables}.mood)")
    coordinator.execute(f"SELECT create_distributed_table('{tables}.typed', 'id')")
    for damage in ("shardminvalue = 'junk'", "shardminvalue = '1'", "shardmaxvalue = '99999999999'"):
        shard, limits = rows(coordinator, "SELECT shardid, shardminvalue || ',' || shardmaxvalue FROM pg_dist_shard "
                             "WHERE logicalrelid = %s::regclass ORDER BY shardid LIMIT 1", [f"{tables}.d"])[0]
        coordinator.execute(f"UPDATE pg_dist_shard SET {damage} WHERE shardid = {shard}")
        with pytest.raises(psycopg.errors.DataCorrupted):
            coordinator.execute(f"SELECT count(*) FROM {tables}.d")
        assert value(coordinator, f"SELECT count(*) FROM {tables}.typed WHERE m = 'ok'") == 0
        assert value(coordinator, f"SELECT count(*) FROM {tables}.r") == 10
        low, high = limits.split(",")
        coordinator.execute("UPDATE pg_dist_shard SET shardminvalue = %s, shardmaxvalue = %s WHERE shardid = %s", [low, high, shard])
        assert value(coordinator, f"SELECT count(*) FROM {tables}.d") == 100
    coordinator.execute(f"UPDATE pg_dist_shard SET shardminvalue = 'junk' WHERE shardid = {shard}")
    coordinator.execute(f"DROP TABLE {tables}.d")
    assert value(coordinator, "SELECT count(*) FROM pg_dist_shard WHERE shardid = %s", [shard]) == 0


def test_temporary_relations_stand_in_for_no_catalogs(cluster, coordinator, roles, connect):
    """Functions with the superuser's rights don't read views that their caller has named like catalogs."""
    definers = rows(coordinator, "SELECT p.oid::regprocedure::text, p.proconfig FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid "
                    "AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' WHERE p.prosecdef")
    assert definers and all("search_path=pg_catalog, pg_temp" in settings for _, settings in definers), definers

    mallory = connect(cluster.coordinator, user=roles[1])
    mallory.execute("CREATE TEMP TABLE callers (name name)")
    mallory.execute("CREATE FUNCTION pg_temp.note() RETURNS int LANGUAGE sql AS "
                    "'INSERT INTO callers VALUES (current_user) RETURNING 1'")
    mallory.execute("CREATE TEMP VIEW pg_dist_shard AS SELECT pg_temp.note()::bigint AS shardid, 'pg_class'::regclass AS logicalrelid")
    mallory.execute("CREATE TEMP VIEW pg_dist_placement AS SELECT 1::bigint AS shardid, 0 AS groupid")
    mallory.execute("SELECT count(*) FROM citus_internal.local_shard_sizes()")
    assert {name for name, in rows(mallory, "SELECT name FROM callers")} <= {roles[1]}


@pytest.mark.parametrize("number", ["0", "1000000", "-1000000", "id", "NULL"])
def test_subqueries_are_not_named_by_clients(coordinator, tables, number):
    """What stands for a subquery while a statement is planned is made by the planner alone."""
    subquery = f"(SELECT v FROM {tables}.d e WHERE e.id = d.id ORDER BY v LIMIT 1)"
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        coordinator.execute(f"SELECT {subquery}, citus_internal.group_subquery({number}, id) FROM {tables}.d")
    coordinator.execute(f"CREATE FUNCTION {tables}.hidden(int) RETURNS record LANGUAGE sql AS 'SELECT citus_internal.group_subquery({number.replace('id', '$1')}, $1)'")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        coordinator.execute(f"SELECT {subquery}, {tables}.hidden(id) FROM {tables}.d")
    assert value(coordinator, f"SELECT count(*) FROM (SELECT {subquery} FROM {tables}.d) q") == 100


def test_noted_rows_are_of_their_type(coordinator, tables):
    """Rows that a batch of upserts has met aren't returned as what their type has become since."""
    note = f"SELECT citus_internal.upsert_conflict('(0,1)', ROW(%s)::{tables}.noted)"
    read = f"SELECT existing FROM citus_internal.upsert_conflicts(NULL::{tables}.noted)"
    coordinator.execute(f"CREATE TYPE {tables}.noted AS (a bigint)")
    for noted_again in (False, True):
        coordinator.execute("SELECT citus_internal.upsert_row(1)")
        coordinator.execute(note % "4000")
        coordinator.execute(f"ALTER TYPE {tables}.noted ALTER ATTRIBUTE a TYPE text")
        with pytest.raises(psycopg.errors.DatatypeMismatch):
            coordinator.execute(note % "'x'" if noted_again else read)
        coordinator.execute(f"DROP TYPE {tables}.noted; CREATE TYPE {tables}.noted AS (a bigint)")
    coordinator.execute("SELECT citus_internal.upsert_row(1)")
    coordinator.execute(note % "7")
    assert value(coordinator, read) == "(7)"


def test_rows_that_are_not_checked(cluster, connect, schema):
    """rows_of_texts(), which makes values of domains without checks, is for the texts of tasks: not for what a function executes in one."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute(f"""CREATE DOMAIN small AS int CHECK (VALUE < 10); CREATE TYPE holder AS (s small);
            CREATE FUNCTION is_refused(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
                PERFORM s FROM citus_internal.rows_of_texts(NULL::{schema}.holder, ARRAY[['50']]);
                RETURN false;
            EXCEPTION WHEN insufficient_privilege THEN RETURN true; END $$""")
        connection.execute("CREATE TABLE guarded (id int PRIMARY KEY, s small, CHECK (is_refused(id)))")
        connection.execute("SELECT create_distributed_table('guarded', 'id')")
        connection.execute("INSERT INTO guarded SELECT g, 1 FROM generate_series(1, 20) g")
        connection.execute("INSERT INTO guarded VALUES (21, 2)")
        connection.execute("UPDATE guarded SET id = id + 100, s = 3")
        assert rows(connection, "SELECT count(*), sum(s), min(id) FROM guarded") == [(21, 63, 101)]
