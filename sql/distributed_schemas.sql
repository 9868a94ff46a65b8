-- Distributed schemas.

CREATE FUNCTION pg_catalog.citus_schema_distribute(schemaname regnamespace)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_schema_distribute';
COMMENT ON FUNCTION pg_catalog.citus_schema_distribute(regnamespace) IS
	'makes a schema a distributed one, all of whose tables are on one node';

CREATE FUNCTION pg_catalog.citus_schema_undistribute(schemaname regnamespace)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_schema_undistribute';
COMMENT ON FUNCTION pg_catalog.citus_schema_undistribute(regnamespace) IS
	'makes the tables of a distributed schema local tables of this node';

CREATE FUNCTION citus_internal.record_distributed_schema(schema regnamespace, colocationid integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_record_distributed_schema';
COMMENT ON FUNCTION citus_internal.record_distributed_schema(regnamespace, integer) IS
	'for nodes: records the colocation group of a distributed schema on this node, or removes it';

CREATE FUNCTION pg_catalog.citus_schema_move(schema_id regnamespace, target_node_id integer,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
DECLARE
	shard record;
BEGIN
	SELECT h.shardid, n.nodeid INTO shard
		FROM pg_dist_schema s JOIN pg_dist_partition p USING (colocationid) JOIN pg_dist_shard h USING (logicalrelid)
		JOIN pg_dist_placement l USING (shardid) JOIN pg_dist_node n ON n.groupid = l.groupid AND n.noderole = 'primary'
		WHERE s.schemaid = schema_id LIMIT 1;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'schema % is not distributed, or has no tables', schema_id
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	PERFORM citus_move_shard_placement(shard.shardid, shard.nodeid, target_node_id, shard_transfer_mode);
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_schema_move(regnamespace, integer, citus.shard_transfer_mode) IS
	'moves the tables of a distributed schema to another node';
REVOKE ALL ON FUNCTION pg_catalog.citus_schema_move(regnamespace, integer, citus.shard_transfer_mode) FROM public;

CREATE FUNCTION pg_catalog.citus_schema_move(schema_id regnamespace, target_node_name text, target_node_port integer,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT citus_schema_move(schema_id, nodeid, shard_transfer_mode)
	FROM pg_dist_node WHERE nodename = target_node_name AND nodeport = target_node_port
$$;
COMMENT ON FUNCTION pg_catalog.citus_schema_move(regnamespace, text, integer, citus.shard_transfer_mode) IS
	'moves the tables of a distributed schema to another node';
REVOKE ALL ON FUNCTION pg_catalog.citus_schema_move(regnamespace, text, integer, citus.shard_transfer_mode) FROM public;
