-- Objects other than tables.

CREATE FUNCTION citus_internal.lock_object_names(keys oid[])
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_object_names';
COMMENT ON FUNCTION citus_internal.lock_object_names(oid[]) IS
	'for nodes: locks names of objects';

CREATE FUNCTION citus_internal.nextval(sequence regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_nextval';
COMMENT ON FUNCTION citus_internal.nextval(regclass) IS 'stands for nextval() in queries of nodes other than the coordinator';

CREATE FUNCTION citus_internal.currval(sequence regclass)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_currval';
COMMENT ON FUNCTION citus_internal.currval(regclass) IS 'stands for currval() in queries of nodes other than the coordinator';

CREATE FUNCTION citus_internal.lastval()
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lastval';
COMMENT ON FUNCTION citus_internal.lastval() IS 'stands for lastval() in queries of nodes other than the coordinator';

CREATE FUNCTION citus_internal.setval(sequence regclass, value bigint)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_setval';
COMMENT ON FUNCTION citus_internal.setval(regclass, bigint) IS 'stands for setval() in queries';

CREATE FUNCTION citus_internal.setval(sequence regclass, value bigint, is_called boolean)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_setval';
COMMENT ON FUNCTION citus_internal.setval(regclass, bigint, boolean) IS 'stands for setval() in queries';

CREATE FUNCTION citus_internal.take_sequence_values(sequence regclass, count integer)
	RETURNS bigint[] LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_take_sequence_values';
COMMENT ON FUNCTION citus_internal.take_sequence_values(regclass, integer) IS
	'for nodes: draws values from the coordinator''s sequence; the first and the last one';

CREATE FUNCTION citus_internal.adopt_sequence(sequence regclass, value bigint, is_called boolean)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_adopt_sequence';
COMMENT ON FUNCTION citus_internal.adopt_sequence(regclass, bigint, boolean) IS
	'for nodes: continues a sequence after a value that another node has drawn or set';

CREATE FUNCTION pg_catalog.create_distributed_function(function_name regprocedure, distribution_arg_name text DEFAULT NULL,
	colocate_with text DEFAULT 'default', force_delegation boolean DEFAULT NULL)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'create_distributed_function';
COMMENT ON FUNCTION pg_catalog.create_distributed_function(regprocedure, text, text, boolean) IS
	'records a function as distributed, by an argument that has the distribution value of the rows that it works on';

CREATE FUNCTION citus_internal.record_distributed_function(function regprocedure, argument integer, colocationid integer,
	force "char")
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_record_distributed_function';
COMMENT ON FUNCTION citus_internal.record_distributed_function(regprocedure, integer, integer, "char") IS
	'for nodes: records a function as distributed on this node';

CREATE FUNCTION pg_catalog.lock_relation_if_exists(table_name text, lock_mode text)
	RETURNS boolean LANGUAGE plpgsql STRICT
AS $$
BEGIN
	IF pg_catalog.upper(lock_mode) NOT IN ('ACCESS SHARE', 'ROW SHARE', 'ROW EXCLUSIVE', 'SHARE UPDATE EXCLUSIVE', 'SHARE',
		'SHARE ROW EXCLUSIVE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE') THEN
		RAISE EXCEPTION 'unknown lock mode: %', lock_mode USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF pg_catalog.to_regclass(table_name) IS NULL THEN
		RETURN false;
	END IF;
	EXECUTE pg_catalog.format('LOCK TABLE %s IN %s MODE', pg_catalog.to_regclass(table_name), lock_mode);
	RETURN true;
EXCEPTION WHEN undefined_table THEN
	RETURN false;
END;
$$;
COMMENT ON FUNCTION pg_catalog.lock_relation_if_exists(text, text) IS
	'locks a table in a mode, as LOCK TABLE does; false if there is no such table';

CREATE FUNCTION citus_internal.check_node(nodename text, nodeport integer)
	RETURNS void LANGUAGE plpgsql STRICT STABLE SET search_path = pg_catalog
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_dist_node n WHERE n.nodename = $1 AND n.nodeport = $2) THEN
		RAISE EXCEPTION 'node %:% does not exist', nodename, nodeport USING ERRCODE = 'undefined_object';
	END IF;
END;
$$;
COMMENT ON FUNCTION citus_internal.check_node(text, integer) IS 'fails unless there is a node of that address';

CREATE FUNCTION pg_catalog.start_metadata_sync_to_node(nodename text, nodeport integer)
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
BEGIN
	PERFORM citus_internal.check_node(nodename, nodeport);
	PERFORM start_metadata_sync_to_all_nodes();
END;
$$;
COMMENT ON FUNCTION pg_catalog.start_metadata_sync_to_node(text, integer) IS
	'sends nodes that were down the changes that they missed; other nodes have all metadata';
REVOKE ALL ON FUNCTION pg_catalog.start_metadata_sync_to_node(text, integer) FROM public;

CREATE FUNCTION pg_catalog.stop_metadata_sync_to_node(nodename text, nodeport integer, clear_metadata boolean DEFAULT true)
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
BEGIN
	PERFORM citus_internal.check_node(nodename, nodeport);
	RAISE NOTICE 'node %:% keeps its metadata', nodename, nodeport
		USING DETAIL = 'Every node of the cluster has all metadata.', HINT = 'Use citus_disable_node() to go on without the node.';
END;
$$;
COMMENT ON FUNCTION pg_catalog.stop_metadata_sync_to_node(text, integer, boolean) IS
	'has no effect: every node has all metadata';
REVOKE ALL ON FUNCTION pg_catalog.stop_metadata_sync_to_node(text, integer, boolean) FROM public;
