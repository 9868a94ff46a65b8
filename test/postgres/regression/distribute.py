"""A database in which each new table is distributed at once, by an event trigger."""

import re

__all__ = ["KINDS", "set_up"]

# what tables become -> how
KINDS = {
    "hash": "create_distributed_table(made.objid, key::text)",
    "mixed": "CASE WHEN made.relname = ANY ('{referenced}') THEN create_reference_table(made.objid) "
             "ELSE create_distributed_table(made.objid, key::text) END",
    "single": "create_distributed_table(made.objid, NULL, colocate_with => other)",
    "reference": "create_reference_table(made.objid)",
}

# What distributed tables don't have: a table that is to have it stays local.
LOCAL = [re.compile(pattern, re.IGNORECASE) for pattern in (
    r"\bINHERITS\s*\(([^()]*)\)", r"\bINHERIT\s+([\w.]+)", r"\bALTER\s+TABLE\s+(\w+)\s+INHERIT\b",
    r"\bATTACH\s+PARTITION\s+([\w.]+)",
    r"\bRULE\s[^;]*?\bTO\s+([\w.]+)")]

TRIGGER = """
CREATE SCHEMA regression_trigger;
CREATE TABLE regression_trigger.refused (relation text, state text, message text);
CREATE FUNCTION regression_trigger.distribute() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
DECLARE
    made record;
    key name;
    other text;
BEGIN
    FOR made IN SELECT t.objid::regclass, t.object_identity, c.relname FROM pg_event_trigger_ddl_commands() t
        JOIN pg_class c ON c.oid = t.objid
        WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND NOT c.relispartition
        AND t.command_tag IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO')
        AND c.relname <> ALL ('{local}')
        AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t.objid)
    LOOP
        -- the first column of a key, if there is one, else the first
        SELECT a.attname INTO key FROM pg_attribute a
            WHERE a.attrelid = made.objid AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY coalesce((SELECT array_position(k.conkey, a.attnum) IS NULL FROM pg_constraint k
                WHERE k.conrelid = made.objid AND k.contype IN ('p', 'u') LIMIT 1), true), a.attnum LIMIT 1;
        -- single-shard tables are together, as in a schema of a tenant
        SELECT coalesce(min(logicalrelid::regclass::text), 'none') INTO other FROM pg_dist_partition WHERE partmethod = 'n';
        BEGIN
            PERFORM {how};
        EXCEPTION WHEN OTHERS THEN
            INSERT INTO regression_trigger.refused VALUES (made.object_identity, sqlstate, sqlerrm);
        END;
    END LOOP;
END $$;
CREATE EVENT TRIGGER regression_trigger ON ddl_command_end
    WHEN tag IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO') EXECUTE FUNCTION regression_trigger.distribute();
"""


# What foreign keys lead to: in a mix, the tables that all nodes have.
REFERENCED = [re.compile(r"\bREFERENCES\s+([\w.]+)", re.IGNORECASE)]


def set_up(cluster, initiator, database, tables, scripts):
    """Make the database on all nodes; tables: one of KINDS, or None for a plain server. scripts: folder of the tests.

    The event trigger fires on the initiator alone.
    """
    for node in cluster.nodes:
        node.sql(f"CREATE DATABASE {database} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        if tables is not None:
            node.sql("CREATE EXTENSION citus", dbname=database)
    if tables is None:
        return
    first, *others = cluster.nodes
    first.sql(f"SELECT citus_set_coordinator_host('127.0.0.1', {first.port})", dbname=database)
    for node in others:
        first.sql(f"SELECT citus_add_node('127.0.0.1', {node.port})", dbname=database)
    how = KINDS[tables].format(referenced=array(named_tables(scripts, REFERENCED)))
    initiator.sql("SET citus.enable_ddl_propagation = off;" + TRIGGER.format(local=array(named_tables(scripts, LOCAL)), how=how),
                  dbname=database)


def array(names):
    """A set of names as PostgreSQL writes an array."""
    return "{" + ",".join(sorted(names)) + "}"


def named_tables(scripts, patterns):
    """Names of tables that a pattern finds in some script."""
    names = set()
    for script in scripts.glob("*.sql"):
        text = script.read_text(errors="replace")
        for pattern in patterns:
            for match in pattern.finditer(text):
                names.update(name.strip().split(".")[-1].lower() for name in match.group(1).split(","))
    return {name for name in names if re.fullmatch(r"\w+", name)}
