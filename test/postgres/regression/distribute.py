"""A database in which each new table is distributed at once, by an event trigger."""

import re

__all__ = ["KINDS", "set_up", "local_tables", "referenced_tables"]

# The columns that are tried, in turn: those that are in every key, as a distributed table's keys need its distribution column; or in none.
IN_EVERY_KEY = "EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = made.objid AND k.contype IN ('p', 'u') AND a.attnum <> ALL (k.conkey))"
IN_NO_KEY = "EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = made.objid AND k.contype IN ('p', 'u') AND a.attnum = ANY (k.conkey))"

# What tables become -> (how, the order of the columns that are tried)
HASH = "create_distributed_table(made.objid, key::text)"
REFERENCED = "CASE WHEN made.relname = ANY (string_to_array(current_setting('regression.referenced'), ','))" \
             f" THEN create_reference_table(made.objid) ELSE {HASH} END"
KINDS = {
    "hash": (REFERENCED, f"{IN_EVERY_KEY}, a.attnum"),  # by the first column that can be; what foreign keys lead to is a reference table
    "last": (HASH, f"{IN_EVERY_KEY}, a.attnum DESC"),   # by the last column that can be
    "keys": (HASH, f"{IN_NO_KEY}, a.attnum DESC"),      # by the last column that is in no key, if there is one
    "single": ("create_distributed_table(made.objid, NULL, colocate_with => other)", "a.attnum"),   # colocated, as in a tenant's schema
    "reference": ("create_reference_table(made.objid)", "a.attnum"),
    "columnar": None,                   # local columnar tables
}

# Settings of the database: rows go to stripes as early as they can; only tables whose keys contain the distribution column are distributed, but for one kind.
DATABASE_SETTINGS = {"hash": {"citus.global_indexes": "refuse"}, "last": {"citus.global_indexes": "refuse"},
                     "columnar": {"default_table_access_method": "columnar", "columnar.row_wise_limit": "0"},
                     "keys": {"citus.global_indexes": "on"}}

# What distributed tables don't have: a table that is to have it stays local.
LOCAL = [re.compile(pattern, re.IGNORECASE) for pattern in (
    r"\bINHERITS\s*\(([^()]*)\)", r"\bINHERIT\s+([\w.]+)", r"\bALTER\s+TABLE\s+(?:ONLY\s+)?([\w.]+)\s+INHERIT\b",
    r"\bATTACH\s+PARTITION\s+([\w.]+)", r"^CREATE\s(?:OR REPLACE )?RULE\s.*?\bTO\s+([\w.]+)")]
REFERENCES = [re.compile(r"\bREFERENCES\s+([\w.]+)", re.IGNORECASE)]

TRIGGER = """
CREATE SCHEMA regression_trigger;
CREATE TABLE regression_trigger.refused (relation text, state text, message text);
CREATE FUNCTION regression_trigger.distribute() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET client_min_messages = warning AS $$
DECLARE
    made record;
    key name;
    other text;
BEGIN
    FOR made IN SELECT t.objid::regclass, t.object_identity, c.relname FROM pg_event_trigger_ddl_commands() t
        JOIN pg_class c ON c.oid = t.objid
        WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND NOT c.relispartition
        AND t.command_tag IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO')
        AND c.relname <> ALL (string_to_array(current_setting('regression.local'), ','))
        AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t.objid)
    LOOP
        -- single-shard tables are together, as in a schema of a tenant
        SELECT coalesce(min(logicalrelid::regclass::text), 'none') INTO other FROM pg_dist_partition WHERE partmethod = 'n';
        FOR key IN SELECT a.attname FROM pg_attribute a
            WHERE a.attrelid = made.objid AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY {order} LIMIT 6
        LOOP
            BEGIN
                PERFORM {how};
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                INSERT INTO regression_trigger.refused VALUES (made.object_identity, sqlstate, sqlerrm);
            END;
        END LOOP;
    END LOOP;
END $$;
CREATE EVENT TRIGGER regression_trigger ON ddl_command_end
    WHEN tag IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO') EXECUTE FUNCTION regression_trigger.distribute();
"""


def set_up(cluster, initiator, database, kind):
    """Make the database on all nodes; kind: one of KINDS. The event trigger and settings are the initiator's alone."""
    for node in cluster.nodes:
        node.sql(f"CREATE DATABASE {database} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        node.sql("CREATE EXTENSION citus", dbname=database)
    first, *others = cluster.nodes
    first.sql(f"SELECT citus_set_coordinator_host('127.0.0.1', {first.port})", dbname=database)
    for node in others:
        first.sql(f"SELECT citus_add_node('127.0.0.1', {node.port})", dbname=database)
    for name, value in DATABASE_SETTINGS.get(kind, {}).items():
        initiator.sql(f"SET citus.enable_ddl_propagation = off; ALTER DATABASE {database} SET {name} = {value}", dbname=database)
    if KINDS[kind] is None:
        return
    how, order = KINDS[kind]
    initiator.sql("SET citus.enable_ddl_propagation = off;" + TRIGGER.format(how=how, order=order), dbname=database)


def local_tables(statements):
    """Names of tables that a script gives what distributed tables can't have."""
    return named_tables(statements, LOCAL)


def referenced_tables(statements):
    """Names of tables that a script's foreign keys lead to."""
    return named_tables(statements, REFERENCES)


def named_tables(statements, patterns):
    """Names of tables that a pattern finds in some statement, sorted."""
    names = set()
    for statement in statements:
        for pattern in patterns:
            for match in pattern.finditer(statement.code):
                names.update(name.strip().split(".")[-1].lower() for name in match.group(1).split(","))
    return sorted(name for name in names if re.fullmatch(r"\w+", name))
