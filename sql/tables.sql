-- Distributed and reference tables: conversion, and what nodes call on each other for it.

-- Shards are made with the rights of the table's owner, which the server checks; the
-- library lets no other command make, move or rename anything here.
GRANT CREATE ON SCHEMA citus_data TO public;

CREATE FUNCTION citus_internal.run_commands(commands text[])
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_run_commands';
COMMENT ON FUNCTION citus_internal.run_commands(text[]) IS
	'runs commands in order on this node, with search_path = pg_catalog';

CREATE FUNCTION citus_internal.create_if_missing(kind text, name text, identity text, commands text[])
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_create_if_missing';
COMMENT ON FUNCTION citus_internal.create_if_missing(text, text, text, text[]) IS
	'runs commands unless this node has an object of that kind, name and identity';

CREATE FUNCTION citus_internal.set_index_valid(index regclass, valid boolean)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_set_index_valid';
COMMENT ON FUNCTION citus_internal.set_index_valid(regclass, boolean) IS
	'marks an index of a table with shards as valid or invalid';

CREATE FUNCTION citus_internal.next_id(sequence regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_next_id';
COMMENT ON FUNCTION citus_internal.next_id(regclass) IS
	'on the coordinator, the next id of a shard, placement, colocation group or node';

CREATE FUNCTION citus_internal.lock_colocation()
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_colocation';
COMMENT ON FUNCTION citus_internal.lock_colocation() IS
	'keeps other sessions from changing colocation groups';

CREATE FUNCTION citus_internal.try_lock_colocation()
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_try_lock_colocation';
COMMENT ON FUNCTION citus_internal.try_lock_colocation() IS
	'keeps other sessions from choosing colocation groups; false if one is doing so';

CREATE FUNCTION citus_internal.lock_node_set(groupid integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_node_set';
COMMENT ON FUNCTION citus_internal.lock_node_set(integer) IS
	'on the coordinator, keeps the set of nodes from changing; errors unless the node of a group is active';

CREATE FUNCTION citus_internal.lock_group_placements(colocation_id integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_group_placements';
COMMENT ON FUNCTION citus_internal.lock_group_placements(integer) IS
	'on this node, keeps tables from joining a colocation group while its shards change';
REVOKE ALL ON FUNCTION citus_internal.lock_group_placements(integer) FROM public;

CREATE FUNCTION citus_internal.create_local_shards(relation regclass)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_create_local_shards';
COMMENT ON FUNCTION citus_internal.create_local_shards(regclass) IS
	'creates the shards of a table that are placed on this node and missing, without foreign keys';

CREATE FUNCTION citus_internal.create_local_shard_keys(relation regclass)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_create_local_shard_keys';
COMMENT ON FUNCTION citus_internal.create_local_shard_keys(regclass) IS
	'adds the foreign keys that shards of a table on this node lack';

CREATE FUNCTION citus_internal.global_index_attach(index regclass, entries regclass)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_global_index_attach';
COMMENT ON FUNCTION citus_internal.global_index_attach(regclass, regclass) IS
	'marks an index of a distributed table on this node as a global one with that table of entries';

CREATE FUNCTION citus_internal.global_index_write()
	RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_global_index_write';
COMMENT ON FUNCTION citus_internal.global_index_write() IS
	'keeps the entries of a global index: its triggers call it';

CREATE FUNCTION citus_internal.global_key_attach(relation regclass, name text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_global_key_attach';
COMMENT ON FUNCTION citus_internal.global_key_attach(regclass, text) IS
	'has this node enforce a foreign key of a distributed table between rows of different nodes';

CREATE FUNCTION citus_internal.global_key()
	RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_global_key';
COMMENT ON FUNCTION citus_internal.global_key() IS
	'enforces a foreign key between rows of different nodes: its triggers call it';

CREATE FUNCTION pg_catalog.citus_global_index()
	RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN true;
COMMENT ON FUNCTION pg_catalog.citus_global_index() IS
	'true; as the condition of an index, has it be a global one, for look-ups: CREATE INDEX .. WHERE citus_global_index()';

CREATE FUNCTION pg_catalog.citus_check_global_index(index regclass, repair boolean DEFAULT false)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_check_global_index';
COMMENT ON FUNCTION pg_catalog.citus_check_global_index(regclass, boolean) IS
	'how many rows and entries of a global index have no match on the other side; 0 if it is sound; makes the entries again if not and asked to';

CREATE FUNCTION citus_internal.require_trigger_function(name text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_require_trigger_function';
COMMENT ON FUNCTION citus_internal.require_trigger_function(text) IS
	'errors if the function of a trigger is missing on this node';

CREATE FUNCTION pg_catalog.create_distributed_table(table_name regclass, distribution_column text,
	distribution_type citus.distribution_type DEFAULT 'hash', colocate_with text DEFAULT 'default',
	shard_count integer DEFAULT NULL)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'create_distributed_table';
COMMENT ON FUNCTION pg_catalog.create_distributed_table(regclass, text, citus.distribution_type, text, integer) IS
	'distributes a table over the nodes by a column, or to one node if it is null';

CREATE FUNCTION pg_catalog.create_distributed_table_concurrently(table_name regclass, distribution_column text,
	distribution_type citus.distribution_type DEFAULT 'hash', colocate_with text DEFAULT 'default',
	shard_count integer DEFAULT NULL)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'create_distributed_table_concurrently';
COMMENT ON FUNCTION pg_catalog.create_distributed_table_concurrently(regclass, text, citus.distribution_type, text, integer) IS
	'distributes a table that has a primary key while others read and write it';

CREATE FUNCTION pg_catalog.create_reference_table(table_name regclass)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'create_reference_table';
COMMENT ON FUNCTION pg_catalog.create_reference_table(regclass) IS
	'makes a table a reference table, kept on every node';

CREATE FUNCTION citus_internal.local_shard_sizes(relation regclass, OUT pages bigint, OUT tuples double precision)
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_local_shard_sizes';
COMMENT ON FUNCTION citus_internal.local_shard_sizes(regclass) IS
	'pages and rows of a table''s shards on this node, as far as ANALYZE has counted them';

CREATE FUNCTION citus_internal.set_relation_sizes(relation regclass, pages bigint, tuples double precision)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_set_relation_sizes';
COMMENT ON FUNCTION citus_internal.set_relation_sizes(regclass, bigint, double precision) IS
	'stores the sums over a distributed table''s shards for the planner of this node';

CREATE FUNCTION citus_internal.analyzed_shards(OUT first_shardid bigint, OUT rows double precision, OUT new_rows double precision)
	RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog SET citus.sum_over_shards = off
AS $$
	SELECT t.first_shardid, sum(greatest(c.reltuples, 0)),
		coalesce(sum(greatest(c.reltuples, 1)) FILTER (
			WHERE greatest(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid)) >
				coalesce(pg_stat_get_last_analyze_time(t.logicalrelid), '-infinity')), 0)
	FROM (SELECT logicalrelid, shardid, min(shardid) OVER (PARTITION BY logicalrelid) AS first_shardid
		FROM pg_dist_shard) t
	JOIN pg_dist_placement p ON p.shardid = t.shardid
	JOIN pg_class c ON c.oid = to_regclass(shard_name(t.logicalrelid, t.shardid))
	WHERE p.shardstate = 1 AND p.groupid = (SELECT g.groupid FROM pg_dist_local_group g)
	GROUP BY t.first_shardid
$$;
COMMENT ON FUNCTION citus_internal.analyzed_shards() IS
	'rows of the tables in shards on this node, and of those in shards that were analyzed after their table was';

CREATE FUNCTION citus_internal.set_missing_value(relation regclass, column_name text, value text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_set_missing_value';
COMMENT ON FUNCTION citus_internal.set_missing_value(regclass, text, text) IS
	'sets the value of existing rows in a column that was added with a stable default';

CREATE FUNCTION citus_internal.add_shard_constraint(relation regclass, name text, inherited boolean)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_add_shard_constraint';
COMMENT ON FUNCTION citus_internal.add_shard_constraint(regclass, text, boolean) IS
	'for nodes: adds a constraint of a table to its shards on this node';

CREATE FUNCTION pg_catalog.undistribute_table(table_name regclass, cascade_via_foreign_keys boolean DEFAULT false)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'undistribute_table';
COMMENT ON FUNCTION pg_catalog.undistribute_table(regclass, boolean) IS
	'makes a distributed or reference table a local table of the coordinator again';

CREATE FUNCTION pg_catalog.citus_add_local_table_to_metadata(table_name regclass,
	cascade_via_foreign_keys boolean DEFAULT false)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_add_local_table_to_metadata';
COMMENT ON FUNCTION pg_catalog.citus_add_local_table_to_metadata(regclass, boolean) IS
	'adds a local table to the metadata of all nodes; its rows stay on this node';

CREATE FUNCTION pg_catalog.remove_local_tables_from_metadata()
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	connected oid[];
BEGIN
	SELECT array_agg(o) INTO connected FROM (
		SELECT conrelid FROM pg_constraint WHERE contype = 'f' UNION SELECT confrelid FROM pg_constraint WHERE contype = 'f') c (o);
	PERFORM undistribute_table(p.logicalrelid)
		FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
		WHERE citus_internal.table_type(p.partmethod, p.repmodel, p.colocationid) = 'local'
		AND NOT c.relispartition AND c.oid <> ALL (coalesce(connected, '{}'))
		AND pg_has_role(c.relowner, 'usage');
END;
$$;
COMMENT ON FUNCTION pg_catalog.remove_local_tables_from_metadata() IS
	'makes tables that citus_add_local_table_to_metadata() has added local ones, if no foreign key connects them to others';

CREATE FUNCTION pg_catalog.truncate_local_data_after_distributing_table(table_name regclass)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'truncate_local_data_after_distributing_table';
COMMENT ON FUNCTION pg_catalog.truncate_local_data_after_distributing_table(regclass) IS
	'removes rows that a distributed table still has outside its shards';

CREATE FUNCTION pg_catalog.update_distributed_table_colocation(table_name regclass, colocate_with text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'update_distributed_table_colocation';
COMMENT ON FUNCTION pg_catalog.update_distributed_table_colocation(regclass, text) IS
	'puts a table into the colocation group of another one, or into one of its own';

CREATE FUNCTION citus_internal.set_column_statistics(relation regclass, column_name text, null_fraction real,
	width integer, distinct_values real, kinds smallint[], numbers text[], value_lists text[])
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_set_column_statistics';
COMMENT ON FUNCTION citus_internal.set_column_statistics(regclass, text, real, integer, real, smallint[], text[],
	text[]) IS 'stores what ANALYZE has found in a sample of a distributed table''s rows for the planner of this node';
