"""Statements about all tables of a schema or database: REINDEX SCHEMA, REINDEX DATABASE, CLUSTER."""

import psycopg
import pytest

from harness.servers import fill, value


def files(connection, table):
    """The files of each shard and its indexes."""
    return value(connection, "SELECT array_agg(result ORDER BY shardid) FROM run_command_on_shards(%s, $$SELECT string_agg(pg_relation_filenode(oid)::text, "
                             "' ' ORDER BY oid) FROM pg_class, (SELECT '%%s'::regclass AS shard) s WHERE oid = shard OR oid IN "
                             "(SELECT indexrelid FROM pg_index WHERE indrelid = shard)$$)", [table])


@pytest.mark.parametrize("options", ["", "(CONCURRENTLY, VERBOSE) "])
def test_reindex(connect, cluster, schema, options):
    """It reaches the shards of all nodes, and the entries of global indexes; users are told of others' tables."""
    session = connect(cluster.coordinator)
    said = []
    session.add_notice_handler(lambda notice: said.append(notice.message_primary) if notice.severity_nonlocalized == "WARNING" else None)
    session.execute(f"SET search_path = {schema}; SET citus.global_indexes = on")
    fill(session, "t", 100)
    session.execute("ALTER TABLE t ADD COLUMN u int; UPDATE t SET u = id; CREATE UNIQUE INDEX u ON t (u); "
                    "CREATE TABLE r (a int PRIMARY KEY); SELECT create_reference_table('r')")
    entries = value(session, "SELECT objid::regclass::text FROM pg_depend WHERE refobjid = 'u'::regclass "
                             "AND deptype = 'i' AND classid = 'pg_class'::regclass")
    tables = ["t", "r", entries]
    seen = [[files(session, table) for table in tables]]
    for statement in (f"SCHEMA {schema}", "DATABASE postgres", "DATABASE"):
        if statement != "DATABASE" or session.info.server_version >= 160000:
            session.execute(f"REINDEX {options}{statement}")
            seen.append([files(session, table) for table in tables])
    assert len(said) == (1 if options and session.info.server_version < 160000 else 0), said       # about system catalogs
    for states in zip(*seen):
        assert all(len(set(of_one_shard)) == len(seen) for of_one_shard in zip(*states))
    with pytest.raises(psycopg.errors.ActiveSqlTransaction), session.transaction():
        session.execute(f"REINDEX SCHEMA {schema}")
    session.execute(f"CREATE ROLE schema_owner LOGIN; ALTER SCHEMA {schema} OWNER TO schema_owner")
    try:
        with connect(cluster.coordinator, user="schema_owner") as owner:
            said = []
            owner.add_notice_handler(lambda notice: said.append(notice.message_primary))
            owner.execute(f"REINDEX SCHEMA {schema}")
            assert said == ['permission denied to reindex shards of "t", skipping them']
    finally:
        session.execute(f"ALTER SCHEMA {schema} OWNER TO postgres; DROP ROLE schema_owner")


def test_cluster(connect, cluster, schema):
    """Without a table, it is about those of all nodes that were clustered before."""
    session = connect(cluster.workers[0])
    session.execute(f"SET search_path = {schema}")
    fill(session, "t", 100)
    fill(session, "other", 100)
    session.execute("CLUSTER t USING t_pkey")
    before, others = files(session, "t"), files(session, "other")
    session.execute("CLUSTER VERBOSE")
    assert all(a != b for a, b in zip(before, files(session, "t")))
    assert files(session, "other") == others
    with pytest.raises(psycopg.errors.ActiveSqlTransaction), session.transaction():
        session.execute("CLUSTER")
