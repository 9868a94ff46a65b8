-- Functions that users' scripts and tools call in passing.

CREATE FUNCTION pg_catalog.master_get_table_ddl_events(table_name text)
	RETURNS SETOF text LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'master_get_table_ddl_events';
COMMENT ON FUNCTION pg_catalog.master_get_table_ddl_events(text) IS
	'the commands that make a table on another node';

-- Sizes are measured where they are asked for: there is none to bring up to date.
CREATE FUNCTION pg_catalog.citus_update_shard_statistics(shard_id bigint)
	RETURNS bigint LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_dist_shard WHERE shardid = $1) THEN
		RAISE EXCEPTION 'shard % does not exist', shard_id USING ERRCODE = 'undefined_object';
	END IF;
	RETURN (SELECT sum(s.size) FROM citus_shard_sizes() s WHERE s.shard_id = $1);
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_update_shard_statistics(bigint) IS 'the size of a shard';

CREATE FUNCTION pg_catalog.citus_update_table_statistics(relation regclass)
	RETURNS void LANGUAGE sql STRICT AS '';
COMMENT ON FUNCTION pg_catalog.citus_update_table_statistics(regclass) IS
	'nothing: sizes of shards are measured where they are asked for';

CREATE FUNCTION pg_catalog.mark_tables_colocated(source_table_name regclass, target_table_names regclass[])
	RETURNS void LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT update_distributed_table_colocation(name, source_table_name::text) FROM unnest(target_table_names) AS name
$$;
COMMENT ON FUNCTION pg_catalog.mark_tables_colocated(regclass, regclass[]) IS
	'puts tables into the colocation group of another one';

-- Intermediate results: temporary tables until the end of the transaction, on the node that has made them.
CREATE FUNCTION pg_catalog.create_intermediate_result(result_id text, query text)
	RETURNS bigint LANGUAGE plpgsql STRICT
AS $$
DECLARE
	count bigint;
BEGIN
	EXECUTE pg_catalog.format('CREATE TEMPORARY TABLE %I ON COMMIT DROP AS %s', 'citus_result_' || result_id, query);
	GET DIAGNOSTICS count = ROW_COUNT;
	RETURN count;
END;
$$;
COMMENT ON FUNCTION pg_catalog.create_intermediate_result(text, text) IS
	'keeps what a query returns until the end of the transaction; the number of rows';

CREATE FUNCTION pg_catalog.read_intermediate_result(result_id text, format citus_copy_format DEFAULT 'csv')
	RETURNS SETOF record LANGUAGE plpgsql STRICT
AS $$
BEGIN
	IF pg_catalog.to_regclass(pg_catalog.format('pg_temp.%I', 'citus_result_' || result_id)) IS NULL THEN
		RAISE EXCEPTION 'result "%" does not exist', result_id USING ERRCODE = 'undefined_file';
	END IF;
	RETURN QUERY EXECUTE pg_catalog.format('SELECT * FROM pg_temp.%I', 'citus_result_' || result_id);
END;
$$;
COMMENT ON FUNCTION pg_catalog.read_intermediate_result(text, citus_copy_format) IS
	'what create_intermediate_result has kept in this transaction';

CREATE FUNCTION pg_catalog.read_intermediate_results(result_ids text[], format citus_copy_format DEFAULT 'csv')
	RETURNS SETOF record LANGUAGE plpgsql STRICT
AS $$
DECLARE
	id text;
BEGIN
	FOREACH id IN ARRAY result_ids LOOP
		IF pg_catalog.to_regclass(pg_catalog.format('pg_temp.%I', 'citus_result_' || id)) IS NULL THEN
			RAISE EXCEPTION 'result "%" does not exist', id USING ERRCODE = 'undefined_file';
		END IF;
		RETURN QUERY EXECUTE pg_catalog.format('SELECT * FROM pg_temp.%I', 'citus_result_' || id);
	END LOOP;
END;
$$;
COMMENT ON FUNCTION pg_catalog.read_intermediate_results(text[], citus_copy_format) IS
	'the same of several results, one after the other';

-- What is refused, and what to do instead.
DO $do$
DECLARE
	refusal record;
BEGIN
	FOR refusal IN
		SELECT * FROM (VALUES
			('broadcast_intermediate_result(result_id text, query text)', 'bigint',
				'intermediate results cannot be sent to all nodes',
				'Use create_intermediate_result(), and join its result: the planner sends rows where they are needed.'),
			('fetch_intermediate_results(result_ids text[], node_name text, node_port integer)', 'bigint',
				'intermediate results cannot be fetched from other nodes',
				'Query the distributed tables from this node.'),
			('worker_partition_query_result(result_prefix text, query text, partition_column_index integer,
				partition_method citus.distribution_type, partition_min_values text[], partition_max_values text[],
				binary_copy boolean, allow_null_partition_column boolean DEFAULT false,
				generate_empty_results boolean DEFAULT false,
				OUT partition_index integer, OUT rows_written bigint, OUT bytes_written bigint)', 'SETOF record',
				'results of queries cannot be partitioned',
				'Use INSERT .. SELECT into a distributed table.'),
			('master_create_empty_shard(relation_name text)', 'bigint',
				'shards cannot be added to a table: tables are distributed by hash, so that all values have a shard',
				'Use a partitioned table, distributed by hash, to add and drop rows by range.'),
			('lock_shard_metadata(lock_mode integer, shard_id bigint[])', 'void',
				'shards cannot be locked apart from their table',
				'LOCK TABLE locks a table and its shards on all nodes.'),
			('lock_shard_resources(lock_mode integer, shard_id bigint[])', 'void',
				'shards cannot be locked apart from their table',
				'LOCK TABLE locks a table and its shards on all nodes.'),
			('assign_distributed_transaction_id(initiator_node_identifier integer, transaction_number bigint,
				transaction_stamp timestamptz)', 'void',
				'a session cannot be made part of another session''s transaction',
				'To read in several sessions what one transaction sees, use pg_export_snapshot() and SET TRANSACTION SNAPSHOT.'),
			('worker_apply_sequence_command(create_sequence_command text, sequence_type_id regtype DEFAULT ''bigint''::regtype)',
				'void', 'a sequence cannot be made on one node alone',
				'CREATE SEQUENCE makes a sequence that hands out its values on all nodes.'),
			('worker_create_or_replace_object(statement text)', 'boolean',
				'an object cannot be made on one node alone', 'Statements that create objects run on all nodes.'),
			('worker_create_or_replace_object(statements text[])', 'boolean',
				'an object cannot be made on one node alone', 'Statements that create objects run on all nodes.'),
			('worker_partial_agg(aggregate oid, value anyelement)', 'text',
				'an aggregate cannot be computed by its name in parts',
				'Call the aggregate itself: the planner splits those that have a combine function.'),
			('coord_combine_agg(aggregate oid, state text, value anyelement)', 'anyelement',
				'an aggregate cannot be computed by its name in parts',
				'Call the aggregate itself: the planner splits those that have a combine function.')
			) AS r (signature, result, message, hint)
	LOOP
		EXECUTE pg_catalog.format('CREATE FUNCTION pg_catalog.%s RETURNS %s LANGUAGE plpgsql AS %L', refusal.signature,
			refusal.result, pg_catalog.format('BEGIN RAISE EXCEPTION USING ERRCODE = ''feature_not_supported'', MESSAGE = %L, HINT = %L; END',
				refusal.message, refusal.hint));
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS ''refused''', (SELECT pg_catalog.max(p.oid)::pg_catalog.regprocedure
			FROM pg_catalog.pg_proc p WHERE p.proname = pg_catalog.split_part(refusal.signature, '(', 1)));
	END LOOP;
END;
$do$;

-- Types that only functions of other implementations use.
CREATE TYPE citus.split_copy_info AS (
	destination_shard_id bigint, destination_shard_min_value text, destination_shard_max_value text, destination_shard_node_id integer);
COMMENT ON TYPE citus.split_copy_info IS 'a shard that a split makes; has no use here';
CREATE TYPE citus.split_shard_info AS (
	source_shard_id bigint, distribution_column text, child_shard_id bigint, shard_min_value text, shard_max_value text, node_id integer);
COMMENT ON TYPE citus.split_shard_info IS 'a shard that is split, and one that it becomes; has no use here';
CREATE TYPE citus.replication_slot_info AS (node_id integer, slot_owner text, slot_name text);
COMMENT ON TYPE citus.replication_slot_info IS 'a replication slot of a split; has no use here';
ALTER TYPE citus.split_copy_info SET SCHEMA pg_catalog;
ALTER TYPE citus.split_shard_info SET SCHEMA pg_catalog;
ALTER TYPE citus.replication_slot_info SET SCHEMA pg_catalog;

-- What has to be repaired in other implementations is right here from the start.
CREATE AGGREGATE pg_catalog.array_cat_agg(anycompatiblearray) (
	SFUNC = array_cat, STYPE = anycompatiblearray, COMBINEFUNC = array_cat, PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.array_cat_agg(anycompatiblearray) IS 'concatenation of arrays';

CREATE AGGREGATE pg_catalog.jsonb_cat_agg(jsonb) (
	SFUNC = jsonb_concat, STYPE = jsonb, COMBINEFUNC = jsonb_concat, PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.jsonb_cat_agg(jsonb) IS 'concatenation of JSON values by ||, without nulls';

CREATE FUNCTION citus_internal.any_value_transfn(anyelement, anyelement)
	RETURNS anyelement LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'citus_internal_any_value_transfn';
COMMENT ON FUNCTION citus_internal.any_value_transfn(anyelement, anyelement) IS 'aggregate transition function';

-- The server has it from version 16 on, so pg_upgrade must not find it here (pg_upgrade.sql).
CREATE FUNCTION citus_internal.create_any_value()
	RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
	IF to_regprocedure('any_value(anyelement)') IS NOT NULL THEN
		RETURN false;
	END IF;
	CREATE AGGREGATE pg_catalog.any_value(anyelement) (SFUNC = citus_internal.any_value_transfn, STYPE = anyelement,
		COMBINEFUNC = citus_internal.any_value_transfn, PARALLEL = SAFE);
	COMMENT ON AGGREGATE pg_catalog.any_value(anyelement) IS 'any of the values that are not null';
	RETURN true;
END;
$$;
COMMENT ON FUNCTION citus_internal.create_any_value() IS 'creates the aggregate any_value on servers without one; whether it did';
REVOKE ALL ON FUNCTION citus_internal.create_any_value() FROM public;
SELECT citus_internal.create_any_value();

CREATE FUNCTION pg_catalog.worker_nextval(sequence regclass)
	RETURNS integer LANGUAGE sql STRICT
	RETURN pg_catalog.nextval((SELECT c.oid::regclass FROM pg_catalog.pg_class c WHERE c.oid = sequence))::integer;
COMMENT ON FUNCTION pg_catalog.worker_nextval(regclass) IS
	'same as nextval, which gives each node values of its own whatever the sequence''s type';

CREATE FUNCTION pg_catalog.worker_adjust_identity_column_seq_ranges(table_name regclass)
	RETURNS void LANGUAGE sql STRICT AS '';
COMMENT ON FUNCTION pg_catalog.worker_adjust_identity_column_seq_ranges(regclass) IS
	'nothing: values of identity columns are different on all nodes';

CREATE FUNCTION pg_catalog.fix_partition_shard_index_names(table_name regclass)
	RETURNS void LANGUAGE sql STRICT AS '';
COMMENT ON FUNCTION pg_catalog.fix_partition_shard_index_names(regclass) IS
	'nothing: names of shards'' indexes are those of the table''s indexes';

CREATE FUNCTION pg_catalog.fix_all_partition_shard_index_names()
	RETURNS SETOF regclass LANGUAGE sql STRICT AS 'SELECT NULL::pg_catalog.regclass WHERE false';
COMMENT ON FUNCTION pg_catalog.fix_all_partition_shard_index_names() IS
	'nothing, of no table: names of shards'' indexes are those of the table''s indexes';

CREATE FUNCTION pg_catalog.fix_pre_citus14_colocation_group_collation_mismatches()
	RETURNS void LANGUAGE sql STRICT AS '';
COMMENT ON FUNCTION pg_catalog.fix_pre_citus14_colocation_group_collation_mismatches() IS
	'nothing: tables whose distribution columns have different collations are never colocated';

-- A dump, restored into another cluster: pg_dump --section=pre-data, these commands, and the other two sections.
CREATE FUNCTION pg_catalog.citus_distribution_commands()
	RETURNS SETOF text LANGUAGE plpgsql STABLE SET search_path = pg_catalog
AS $$
BEGIN
	RETURN QUERY
		SELECT format('SELECT pg_catalog.citus_schema_distribute(%L);', schemaid::regnamespace)
		FROM pg_dist_schema ORDER BY colocationid;
	RETURN QUERY
		SELECT CASE type
			WHEN 'reference' THEN format('SELECT pg_catalog.create_reference_table(%L);', name)
			WHEN 'local' THEN format('SELECT pg_catalog.citus_add_local_table_to_metadata(%L);', name)
			WHEN 'distributed' THEN format('SELECT pg_catalog.create_distributed_table(%L, %L, colocate_with => %L%s);',
				name, dist_column, coalesce(first_of_group, 'none'),
				CASE WHEN first_of_group IS NULL AND dist_column IS NOT NULL THEN format(', shard_count => %s', shards) END)
			END
		FROM (
			SELECT p.logicalrelid::text AS name, citus_internal.table_type(partmethod, repmodel, colocationid) AS type,
				CASE WHEN partkey IS NOT NULL THEN column_to_column_name(logicalrelid, partkey) END AS dist_column,
				CASE WHEN min(p.logicalrelid::oid) OVER same <> p.logicalrelid THEN
					(min(p.logicalrelid::oid) OVER same)::regclass::text END AS first_of_group,
				(SELECT count(*) FROM pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid) AS shards,
				colocationid, logicalrelid
			FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
			WHERE NOT c.relispartition AND NOT EXISTS (SELECT FROM pg_dist_schema d WHERE d.colocationid = p.colocationid)
			WINDOW same AS (PARTITION BY colocationid)) t
		ORDER BY type <> 'reference', colocationid, logicalrelid::oid;
	RETURN QUERY
		SELECT format('SELECT pg_catalog.create_distributed_function(%L%s);', objid::regprocedure,
			CASE WHEN distribution_argument_index IS NOT NULL THEN
				format(', %L, colocate_with => %L, force_delegation => %L', '$' || distribution_argument_index + 1,
					(SELECT p.logicalrelid FROM pg_dist_partition p WHERE p.colocationid = o.colocationid ORDER BY 1 LIMIT 1),
					force_delegation)
			END)
		FROM pg_dist_object o WHERE classid = 'pg_proc'::regclass ORDER BY objid;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_distribution_commands() IS
	'the commands that distribute local tables as those of this cluster are';
