"""What PostgreSQL 16, 17 and 18 bring that concerns nodes and roles; statements: oracle, version_17, version_18."""

import os
import subprocess

import psycopg
import pytest

from harness.gateways import Gateway
from harness.raw_client import Direct, bearer_login
from harness.servers import connect as open_connection, fill, rows, value, wait_until
from pomelo_cluster import find_free_ports, host, pg_config


def needs(connection, version):
    if connection.info.server_version < version * 10000:
        pytest.skip(f"PostgreSQL {version} brought it")


def test_role_options(coordinator):
    """Memberships have the same options on all nodes (16)."""
    needs(coordinator, 16)
    options = ("SELECT array_agg(DISTINCT result) FROM run_command_on_all_nodes($$SELECT concat_ws(' ', inherit_option, set_option, "
               "admin_option) FROM pg_auth_members WHERE roleid = 'new_group'::regrole AND member = 'new_member'::regrole$$)")
    coordinator.execute("CREATE ROLE new_group; CREATE ROLE new_member")
    try:
        coordinator.execute("GRANT new_group TO new_member WITH INHERIT FALSE, SET FALSE, ADMIN TRUE")
        assert value(coordinator, options) == ["f f t"]
        coordinator.execute("REVOKE ADMIN OPTION FOR new_group FROM new_member")
        coordinator.execute("GRANT new_group TO new_member WITH SET TRUE")
        assert value(coordinator, options) == ["f t f"]
    finally:
        coordinator.execute("DROP ROLE new_group, new_member")


def test_creator_of_roles(coordinator, connect, cluster):
    """A role with CREATEROLE manages, and may become, the roles it has created, no others, on all nodes (16)."""
    needs(coordinator, 16)
    memberships = ("SELECT array_agg(DISTINCT result) FROM run_command_on_all_nodes($$SELECT string_agg(concat_ws(' ', grantor::regrole, "
                   "inherit_option, set_option, admin_option), ', ' ORDER BY grantor::regrole::text) FROM pg_auth_members "
                   "WHERE roleid = 'made'::regrole$$)")
    coordinator.execute("CREATE ROLE creator CREATEROLE LOGIN; CREATE ROLE other")
    try:
        with connect(cluster.workers[0], user="creator") as creator:
            creator.execute("SET createrole_self_grant = 'set, inherit'")
            creator.execute("CREATE ROLE made LOGIN")
            assert value(coordinator, memberships) == ["creator t t f, postgres f f t"]
            creator.execute("ALTER ROLE made CONNECTION LIMIT 3; SET ROLE made; RESET ROLE")
            for refused in ("ALTER ROLE other LOGIN", "DROP ROLE other", "GRANT other TO made", "CREATE ROLE another REPLICATION"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    creator.execute(refused)
            creator.execute("DROP ROLE made")
        assert value(coordinator, "SELECT sum(result::int) FROM run_command_on_all_nodes("
                                  "$$SELECT count(*) FROM pg_roles WHERE rolname IN ('made', 'another')$$)") == 0
    finally:
        coordinator.execute("DROP ROLE IF EXISTS made; DROP ROLE creator, other")


def files_of_indexes(connection, table):
    return value(connection, "SELECT array_agg(result ORDER BY shardid) FROM run_command_on_shards(%s, $$SELECT string_agg(pg_relation_filenode("
                             "indexrelid)::text, ',') FROM pg_index WHERE indrelid = '%%s'::regclass$$)", [table])


def test_event_trigger_of_reindex(connect, cluster, schema):
    """It fires once, for the logical table (17)."""
    session = connect(cluster.coordinator)
    needs(session, 17)
    session.execute(f"SET search_path = {schema}")
    fill(session, "t", 100)
    session.execute(f"""CREATE TABLE r (a int PRIMARY KEY); SELECT create_reference_table('r'); CREATE TABLE noted (what text);
        CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO {schema}.noted VALUES (tg_event); END $$;
        CREATE FUNCTION note_end() RETURNS event_trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO {schema}.noted SELECT object_identity FROM pg_event_trigger_ddl_commands() WHERE schema_name = '{schema}'; END $$;
        CREATE EVENT TRIGGER noting ON ddl_command_start WHEN tag IN ('REINDEX') EXECUTE FUNCTION note();
        CREATE EVENT TRIGGER noting_end ON ddl_command_end WHEN tag IN ('REINDEX') EXECUTE FUNCTION note_end()""")
    try:
        for options in ("", "CONCURRENTLY "):
            for statement, indexes in ((f"TABLE {options}t", ["t"]), (f"TABLE {options}r", ["r"]), (f"SCHEMA {options}{schema}", ["r", "t"])):
                session.execute("DELETE FROM noted")
                session.execute(f"REINDEX {statement}")
                assert sorted(rows(session, "SELECT what FROM noted")) == [("ddl_command_start",), *((f"{schema}.{name}_pkey",) for name in indexes)]
    finally:
        session.execute("DROP EVENT TRIGGER noting; DROP EVENT TRIGGER noting_end")


def test_warning_of_md5(coordinator):
    """A password that is stored by MD5 warns once, not once for each node (18)."""
    needs(coordinator, 18)
    said = []
    coordinator.add_notice_handler(lambda notice: said.append((notice.sqlstate, notice.message_primary)))
    coordinator.execute("SET password_encryption = 'md5'")
    coordinator.execute("CREATE ROLE old_fashioned LOGIN PASSWORD 'x'")
    try:
        assert said == [("01P01", "setting an MD5-encrypted password")]
        coordinator.execute("SET md5_password_warnings = off; ALTER ROLE old_fashioned PASSWORD 'y'")
        assert len(said) == 1
        assert value(coordinator, "SELECT count(DISTINCT result) FROM run_command_on_all_nodes("
                                  "$$SELECT rolpassword FROM pg_authid WHERE rolname = 'old_fashioned'$$)") == 1
    finally:
        coordinator.execute("DROP ROLE old_fashioned; RESET password_encryption; RESET md5_password_warnings")


def test_restored_statistics(connect, cluster, schema):
    """What pg_dump --statistics-only writes is restored (18)."""
    session = connect(cluster.coordinator)
    needs(session, 18)
    session.execute(f"SET search_path = {schema}")
    fill(session, "t", 1000)
    session.execute("ANALYZE t")
    dumped = subprocess.run([cluster.coordinator.program("pg_dump"), "--statistics-only", "-t", f"{schema}.t", cluster.coordinator.dsn],
                            capture_output=True, text=True, check=True).stdout
    assert "pg_restore_relation_stats" in dumped and "'reltuples', '1000'" in dumped
    session.execute(f"SELECT pg_clear_relation_stats('{schema}', 't'); SELECT pg_clear_attribute_stats('{schema}', 't', 'id', false)")
    assert value(session, "SELECT reltuples FROM pg_class WHERE oid = 't'::regclass") < 1
    done = subprocess.run([cluster.coordinator.program("psql"), "-v", "ON_ERROR_STOP=1", "-qAtX", "-d", cluster.coordinator.dsn],
                          input=dumped, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert value(session, "SELECT reltuples FROM pg_class WHERE oid = 't'::regclass") == 1000
    assert value(session, "SELECT count(*) FROM pg_stats WHERE schemaname = %s AND tablename = 't' AND attname = 'id'", [schema]) == 1


def test_programs(connect, cluster, schema, tmp_path):
    """Options that vacuumdb, reindexdb and pg_dump have got (16, 17, 18)."""
    session = connect(cluster.coordinator)
    needs(session, 17)
    session.execute(f"SET search_path = {schema}")
    fill(session, "t", 100)
    session.execute("CREATE TABLE p (a int, b int, PRIMARY KEY (a, b)) PARTITION BY RANGE (b); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9); "
                    "SELECT create_distributed_table('p', 'a'); INSERT INTO p SELECT g, 1 FROM generate_series(1, 20) g")

    def call(program, *options):
        done = subprocess.run([cluster.coordinator.program(program), "-h", "127.0.0.1", "-p", str(cluster.coordinator.port), "-U", "postgres",
                               *options, "postgres"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = files_of_indexes(session, "t")
    call("vacuumdb", "--analyze", "--schema", schema, "--buffer-usage-limit", "256kB")
    assert value(session, "SELECT reltuples FROM pg_class WHERE oid = 't'::regclass") == 100
    call("vacuumdb", "--analyze-only", "--exclude-schema", schema)
    if session.info.server_version >= 180000:
        call("vacuumdb", "--analyze-in-stages", "--missing-stats-only", "--schema", schema)
    call("reindexdb", "--index", f"{schema}.t_pkey", "--index", f"{schema}.p1_pkey", "--jobs", "2")
    assert all(a != b for a, b in zip(before, files_of_indexes(session, "t")))
    assert "ATTACH PARTITION" in call("pg_dump", "--table-and-children", f"{schema}.p")
    chosen = tmp_path / "filter"
    chosen.write_text(f"include table {schema}.t\n")
    dumped = call("pg_dump", "--filter", str(chosen))
    assert f"COPY {schema}.t " in dumped and f"{schema}.p" not in dumped


def shard_bytes(connection, table):
    """What the table's shards take on all nodes."""
    return value(connection, "SELECT sum(result::bigint) FROM run_command_on_shards(%s, "
                             "$$SELECT pg_relation_size('%%s')$$)", [table])


@pytest.mark.parametrize("right", ["maintain", "pg_maintain", "database owner"])
def test_maintainer(cluster, coordinator, connect, schema, right):
    """Who may maintain tables, but owns none, does so on all nodes, shards included (17); a database's owner may VACUUM and ANALYZE."""
    if right != "database owner":
        needs(coordinator, 17)
    coordinator.execute(f"SET search_path = {schema}")
    fill(coordinator, "t", 1000)
    coordinator.execute(f"""CREATE ROLE keeper LOGIN; GRANT USAGE ON SCHEMA {schema} TO keeper;
        CREATE TABLE r (a int PRIMARY KEY); SELECT create_reference_table('r'); INSERT INTO r SELECT generate_series(1, 1000);
        CREATE TABLE p (a int, b int, PRIMARY KEY (a, b)) PARTITION BY RANGE (b); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9);
        SELECT create_distributed_table('p', 'a'); INSERT INTO p SELECT g, 1 FROM generate_series(1, 1000) g;
        CREATE MATERIALIZED VIEW m AS SELECT count(*) FROM t""")
    try:
        if right == "maintain":
            coordinator.execute("GRANT MAINTAIN ON t, r, p, p1, m TO keeper")
        elif right == "pg_maintain":
            coordinator.execute("GRANT pg_maintain TO keeper")
        else:
            for node in cluster.nodes:
                node.sql("SET citus.enable_ddl_propagation = off; ALTER DATABASE postgres OWNER TO keeper")
        for node in (cluster.coordinator, cluster.workers[0]):
            keeper = connect(node, user="keeper")
            keeper.add_notice_handler(lambda notice: pytest.fail(notice.message_primary))
            keeper.execute(f"SET search_path = {schema}")
            keeper.execute("ANALYZE t, r, p, m")
            assert rows(coordinator, "SELECT relname, reltuples FROM pg_class WHERE oid IN ('t'::regclass, 'r'::regclass, 'p1'::regclass)"
                                     "ORDER BY 1") == [("p1", 1000), ("r", 1000), ("t", 1000)]
            coordinator.execute("UPDATE pg_class SET reltuples = -1 WHERE oid IN ('t'::regclass, 'r'::regclass, 'p1'::regclass)")
            coordinator.execute("DELETE FROM t; DELETE FROM p; DELETE FROM r")
            keeper.execute("VACUUM (TRUNCATE) t, r, p")
            assert [shard_bytes(coordinator, name) for name in ("t", "p1")] == [0, 0]
            if right != "database owner":
                for statement in ("REINDEX TABLE t", "REINDEX INDEX t_pkey", "REINDEX TABLE CONCURRENTLY t", "REINDEX TABLE p", "CLUSTER t USING t_pkey",
                                  "CLUSTER p USING p_pkey", "REINDEX TABLE r", "CLUSTER r USING r_pkey", "VACUUM FULL t",
                                  "REFRESH MATERIALIZED VIEW m", "BEGIN; LOCK TABLE t, r, p IN ACCESS EXCLUSIVE MODE; COMMIT"):
                    keeper.execute(statement)
                assert [value(connect(each), f"SELECT count FROM {schema}.m") for each in cluster.nodes] == [0, 0, 0]
            for statement in ("SELECT FROM t", "ALTER TABLE t ADD c int", "CREATE INDEX ON t (payload)", "TRUNCATE t"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    keeper.execute(statement)
            coordinator.execute("INSERT INTO t SELECT g, 0 FROM generate_series(1, 1000) g; INSERT INTO r SELECT generate_series(1, 1000);"
                                "INSERT INTO p SELECT g, 1 FROM generate_series(1, 1000) g; REFRESH MATERIALIZED VIEW m")
    finally:
        for node in cluster.nodes:
            node.sql("SET citus.enable_ddl_propagation = off; ALTER DATABASE postgres OWNER TO postgres")
        coordinator.execute(f"DROP SCHEMA {schema} CASCADE; DROP ROLE keeper; CREATE SCHEMA {schema}")


def test_transaction_timeout(cluster, coordinator, connect, schema):
    """It ends what a transaction has running on other nodes (17)."""
    needs(coordinator, 17)
    session = connect(cluster.coordinator)
    session.execute(f"SET search_path = {schema}")
    fill(session, "t", 100)
    session.execute("SET transaction_timeout = '2s'")
    with pytest.raises(psycopg.errors.TransactionTimeout):
        session.execute("SELECT count(pg_sleep(600)) FROM t")
    for node in cluster.workers:
        wait_until(lambda node=node: rows(connect(node), "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' "
                                          "AND state = 'active' AND pid <> pg_backend_pid()") == [], "the nodes to stop")


@pytest.mark.parametrize("method", ["sync", "worker", "io_uring"])
def test_io_method(make_cluster, method):
    """Tables are read in each way (18)."""
    made = make_cluster(workers=1)
    with open_connection(made.coordinator) as connection:
        needs(connection, 18)
        if method not in value(connection, "SELECT enumvals FROM pg_settings WHERE name = 'io_method'"):
            pytest.skip("this server is built without it")
    for node in made.nodes:
        node.sql(f"ALTER SYSTEM SET io_method = '{method}'")
        node.stop()
        try:
            node.start()
        except Exception as error:      # pylint: disable=broad-except
            pytest.skip(f"this machine can't do it: {error}")
    with open_connection(made.coordinator) as connection:
        fill(connection, "t", 20000)
        connection.execute("CREATE TABLE c (k int, v text) USING columnar; SELECT create_distributed_table('c', 'k');"
                           "INSERT INTO c SELECT g, repeat('x', g % 50) FROM generate_series(1, 20000) g")
        for node in made.nodes:
            node.stop()
            node.start()
    with open_connection(made.coordinator) as connection:
        assert value(connection, "SELECT count(*) FROM t") == 20000
        assert rows(connection, "SELECT count(*), sum(length(v)) FROM c") == [(20000, 490000)]


def test_failover_slot(make_cluster):
    """A slot for changes of distributed tables exists on a node's standby, and goes on after its promotion (17)."""
    made = make_cluster(workers=1, settings={"citus.enable_change_data_capture": "on"})
    node = made.workers[0]
    with open_connection(made.coordinator) as connection:
        needs(connection, 17)
        fill(connection, "t", 100)
        connection.execute("CREATE PUBLICATION p FOR TABLE t")
    node.sql("SELECT pg_create_physical_replication_slot('of_standby')")
    standby = made.add_standby(node, find_free_ports(1, node.port + 20))
    standby.sql("ALTER SYSTEM SET primary_slot_name = 'of_standby'")
    standby.sql("ALTER SYSTEM SET hot_standby_feedback = on")
    standby.sql("SELECT pg_reload_conf()")
    with open_connection(node) as there, open_connection(standby) as second:
        there.execute("SELECT pg_create_logical_replication_slot('changes', 'pgoutput', failover => true)")

        def is_synced():
            there.execute("SELECT pg_log_standby_snapshot()")
            second.execute("SELECT pg_sync_replication_slots()")
            return rows(second, "SELECT FROM pg_replication_slots WHERE slot_name = 'changes' AND synced AND NOT temporary")

        wait_until(is_synced, "the slot to be copied")
        with open_connection(made.coordinator) as connection:
            connection.execute("UPDATE t SET payload = payload + 1")
        end = value(there, "SELECT pg_current_wal_lsn()")
        wait_until(lambda: value(second, "SELECT pg_last_wal_replay_lsn() >= %s", [end]), "the standby to have the changes")
    node.kill()
    standby.promote()
    with open_connection(standby) as second:
        assert value(second, "SELECT count(*) > 0 FROM pg_logical_slot_get_binary_changes('changes', NULL, NULL, "
                             "'proto_version', '1', 'publication_names', 'p')")


def test_createsubscriber(make_cluster):
    """pg_createsubscriber doesn't make a standby of a node a node; nothing is left of the attempt on the node (17)."""
    made = make_cluster(workers=1, settings={"wal_level": "logical"})
    node = made.workers[0]
    with open_connection(made.coordinator) as connection:
        needs(connection, 17)
        fill(connection, "t", 100)
        standby = made.add_standby(node, find_free_ports(1, node.port + 20))
        standby.stop()
        done = host.run_server_program([standby.program("pg_createsubscriber"), "-D", standby.data, "-d", "postgres", "-U", "postgres", "-s", standby.folder,
                                        "-P", f"host=127.0.0.1 port={node.port} user=postgres dbname=postgres"], capture_output=True)
        assert done.returncode != 0
        said = done.stderr + done.stdout
        assert "could not create subscription" in said and 'distributed or reference table "t" cannot be the target of a subscription' in said
        for each in made.nodes[:2]:
            assert each.sql("SELECT pubname FROM pg_publication UNION ALL SELECT slot_name FROM pg_replication_slots WHERE slot_type = 'logical'") == ""
        connection.execute("UPDATE t SET payload = 1")
        assert value(connection, "SELECT sum(payload) FROM t") == 100


VALIDATOR = """
#include "postgres.h"
#undef ENABLE_GSS
#include "fmgr.h"
#include "libpq/oauth.h"

PG_MODULE_MAGIC;

static bool
validate(const ValidatorModuleState *state, const char *token, const char *role, ValidatorModuleResult *result)
{
	result->authorized = true;
	result->authn_id = strncmp(token, "token-of-", 9) == 0 ? pstrdup(token + 9) : NULL;
	return true;
}

static const OAuthValidatorCallbacks callbacks = {PG_OAUTH_VALIDATOR_MAGIC, .validate_cb = validate};

const OAuthValidatorCallbacks *
_PG_oauth_validator_module_init(void)
{
	return &callbacks;
}
"""


def test_oauth(make_cluster):
    """The token of a gateway's client is checked by the server's validator, as on a direct connection (18)."""
    node = make_cluster(workers=0).coordinator
    with open_connection(node) as connection:
        needs(connection, 18)
    gateway = Gateway(node)
    source, library = (os.path.join(node.folder, f"validator.{suffix}") for suffix in ("c", "so"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(VALIDATOR)
    headers = subprocess.run([pg_config(), "--includedir-server"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{headers}", source, "-o", library], check=True)
    node.sql("CREATE ROLE dave LOGIN")
    node.sql(f"ALTER SYSTEM SET oauth_validator_libraries = '{library}'")
    gateway.set_rules('host all dave 127.0.0.1/32 oauth issuer="https://example.org" scope="openid"')
    for where in (Direct(node), gateway):
        assert [bearer_login(where, "dave", token) for token in ("token-of-dave", "token-of-alice", "another")] == ["", "28000", "28000"]
