-- Sizes, shards and colocation.

CREATE FUNCTION pg_catalog.citus_table_size(logicalrelid regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_table_size';
COMMENT ON FUNCTION pg_catalog.citus_table_size(regclass) IS
	'disk space of a distributed table on all nodes, without indexes';

CREATE FUNCTION pg_catalog.citus_relation_size(logicalrelid regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_relation_size';
COMMENT ON FUNCTION pg_catalog.citus_relation_size(regclass) IS
	'disk space of the main fork of a distributed table, or of an index of one, on all nodes';

CREATE FUNCTION pg_catalog.citus_total_relation_size(logicalrelid regclass, fail_on_error boolean DEFAULT true)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_total_relation_size';
COMMENT ON FUNCTION pg_catalog.citus_total_relation_size(regclass, boolean) IS
	'disk space of a distributed table on all nodes, with indexes';

CREATE FUNCTION citus_internal.local_shard_sizes(OUT shardid bigint, OUT size bigint)
	RETURNS SETOF record LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.shardid, pg_total_relation_size(to_regclass(shard_name(s.logicalrelid, s.shardid)))
	FROM pg_dist_shard s
	JOIN pg_dist_placement p ON p.shardid = s.shardid
	WHERE p.shardstate = 1 AND p.groupid = (SELECT g.groupid FROM pg_dist_local_group g)
$$;
COMMENT ON FUNCTION citus_internal.local_shard_sizes() IS 'disk space of the shards on this node';

CREATE FUNCTION citus_internal.shard_sizes(OUT groupid integer, OUT shardid bigint, OUT size bigint)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_shard_sizes';
COMMENT ON FUNCTION citus_internal.shard_sizes() IS 'disk space of the shards on all nodes';

CREATE FUNCTION citus_internal.local_shard_numbers(statistics boolean, name_of_schema text, name_of_table text, OUT schema_name text,
	OUT table_name text, OUT part text, OUT shards integer, OUT numbers bigint[])
	RETURNS SETOF record LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_local_shard_numbers';
COMMENT ON FUNCTION citus_internal.local_shard_numbers(boolean, text, text) IS
	'disk space, or statistics, of the relations of a table, or of all, in shards on this node';

CREATE FUNCTION citus_internal.pg_relation_size(relation regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_pg_relation_size';
COMMENT ON FUNCTION citus_internal.pg_relation_size(regclass) IS
	'stands for pg_relation_size() in queries: of a distributed table, the sum over its shards';

CREATE FUNCTION citus_internal.pg_relation_size(relation regclass, fork text)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_pg_relation_size';
COMMENT ON FUNCTION citus_internal.pg_relation_size(regclass, text) IS
	'stands for pg_relation_size() in queries: of a distributed table, the sum over its shards';

CREATE FUNCTION citus_internal.pg_table_size(relation regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_pg_table_size';
COMMENT ON FUNCTION citus_internal.pg_table_size(regclass) IS
	'stands for pg_table_size() in queries: of a distributed table, the sum over its shards';

CREATE FUNCTION citus_internal.pg_indexes_size(relation regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_pg_indexes_size';
COMMENT ON FUNCTION citus_internal.pg_indexes_size(regclass) IS
	'stands for pg_indexes_size() in queries: of a distributed table, the sum over its shards';

CREATE FUNCTION citus_internal.pg_total_relation_size(relation regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_pg_total_relation_size';
COMMENT ON FUNCTION citus_internal.pg_total_relation_size(regclass) IS
	'stands for pg_total_relation_size() in queries: of a distributed table, the sum over its shards';

CREATE FUNCTION citus_internal.create_relation_statistics()
	RETURNS SETOF regprocedure LANGUAGE plpgsql SET search_path = pg_catalog
AS $do$
DECLARE
	statistic record;
BEGIN
	FOR statistic IN
		SELECT proname, format_type(prorettype, NULL) AS type FROM pg_proc
		WHERE pronamespace = 'pg_catalog'::regnamespace AND pronargs = 1 AND proargtypes[0] = 'oid'::regtype
			AND proname IN ('pg_stat_get_numscans', 'pg_stat_get_tuples_returned', 'pg_stat_get_tuples_fetched',
				'pg_stat_get_tuples_inserted', 'pg_stat_get_tuples_updated', 'pg_stat_get_tuples_deleted',
				'pg_stat_get_tuples_hot_updated', 'pg_stat_get_tuples_newpage_updated', 'pg_stat_get_live_tuples',
				'pg_stat_get_dead_tuples', 'pg_stat_get_mod_since_analyze', 'pg_stat_get_ins_since_vacuum',
				'pg_stat_get_blocks_fetched', 'pg_stat_get_blocks_hit', 'pg_stat_get_lastscan',
				'pg_stat_get_last_vacuum_time', 'pg_stat_get_last_autovacuum_time', 'pg_stat_get_last_analyze_time',
				'pg_stat_get_last_autoanalyze_time', 'pg_stat_get_vacuum_count', 'pg_stat_get_autovacuum_count',
				'pg_stat_get_analyze_count', 'pg_stat_get_autoanalyze_count',
				'pg_stat_get_total_vacuum_time', 'pg_stat_get_total_autovacuum_time',
				'pg_stat_get_total_analyze_time', 'pg_stat_get_total_autoanalyze_time')
			AND to_regprocedure(format('citus_internal.%I(oid)', proname)) IS NULL
	LOOP
		EXECUTE format($$CREATE FUNCTION citus_internal.%I(relation oid)
			RETURNS %s STABLE LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_relation_statistic'$$,
			statistic.proname, statistic.type);
		EXECUTE format('COMMENT ON FUNCTION citus_internal.%I(oid) IS %L', statistic.proname,
			'stands for ' || statistic.proname || '() in queries: of a distributed table, that of its shards');
		RETURN NEXT to_regprocedure(format('citus_internal.%I(oid)', statistic.proname));
	END LOOP;
END;
$do$;
COMMENT ON FUNCTION citus_internal.create_relation_statistics() IS
	'creates those functions that stand for statistics of relations which this version of the server has, and that are missing; which';
REVOKE ALL ON FUNCTION citus_internal.create_relation_statistics() FROM public;
SELECT citus_internal.create_relation_statistics();

CREATE FUNCTION pg_catalog.citus_shard_sizes(OUT shard_id integer, OUT size bigint)
	RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog
AS $$
	SELECT shardid::integer, size FROM citus_internal.shard_sizes()
$$;
COMMENT ON FUNCTION pg_catalog.citus_shard_sizes() IS 'disk space of the shards on all nodes';

CREATE FUNCTION pg_catalog.citus_local_disk_space_stats(OUT available_disk_size bigint, OUT total_disk_size bigint)
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_local_disk_space_stats';
COMMENT ON FUNCTION pg_catalog.citus_local_disk_space_stats() IS
	'free and total bytes of the file system with this node''s data';
REVOKE ALL ON FUNCTION pg_catalog.citus_local_disk_space_stats() FROM public;
GRANT EXECUTE ON FUNCTION pg_catalog.citus_local_disk_space_stats() TO pg_monitor;

CREATE FUNCTION pg_catalog.get_shard_id_for_distribution_column(table_name regclass,
	distribution_value "any" DEFAULT NULL)
	RETURNS bigint LANGUAGE C STABLE AS 'MODULE_PATHNAME', 'get_shard_id_for_distribution_column';
COMMENT ON FUNCTION pg_catalog.get_shard_id_for_distribution_column(regclass, "any") IS
	'the shard that holds the rows with a value of the distribution column';

CREATE FUNCTION pg_catalog.worker_hash(value anyelement)
	RETURNS integer LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'worker_hash';
COMMENT ON FUNCTION pg_catalog.worker_hash(anyelement) IS
	'the hash by which a value of a distribution column finds its shard';

CREATE FUNCTION pg_catalog.get_colocated_table_array(regclass)
	RETURNS regclass[] LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'get_colocated_table_array';
COMMENT ON FUNCTION pg_catalog.get_colocated_table_array(regclass) IS 'tables colocated with a table, and it';

CREATE FUNCTION pg_catalog.get_colocated_shard_array(bigint)
	RETURNS bigint[] LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'get_colocated_shard_array';
COMMENT ON FUNCTION pg_catalog.get_colocated_shard_array(bigint) IS 'shards colocated with a shard, and it';

CREATE FUNCTION pg_catalog.distributed_tables_colocated(table1 regclass, table2 regclass)
	RETURNS boolean LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'distributed_tables_colocated';
COMMENT ON FUNCTION pg_catalog.distributed_tables_colocated(regclass, regclass) IS
	'whether two tables are colocated';

-- Global process ids

CREATE FUNCTION pg_catalog.citus_backend_gpid()
	RETURNS bigint LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_backend_gpid';
COMMENT ON FUNCTION pg_catalog.citus_backend_gpid() IS 'global process id of this session';

CREATE FUNCTION pg_catalog.citus_calculate_gpid(nodeid integer, pid integer)
	RETURNS bigint LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_calculate_gpid';
COMMENT ON FUNCTION pg_catalog.citus_calculate_gpid(integer, integer) IS
	'global process id of a process on a node';

CREATE FUNCTION pg_catalog.citus_nodeid_for_gpid(global_pid bigint)
	RETURNS integer LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_nodeid_for_gpid';
COMMENT ON FUNCTION pg_catalog.citus_nodeid_for_gpid(bigint) IS 'node of a global process id';

CREATE FUNCTION pg_catalog.citus_pid_for_gpid(global_pid bigint)
	RETURNS integer LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_pid_for_gpid';
COMMENT ON FUNCTION pg_catalog.citus_pid_for_gpid(bigint) IS 'process id, on its node, of a global process id';
