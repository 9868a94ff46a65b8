-- Moves of shards between nodes, and what they leave behind.

CREATE FUNCTION pg_catalog.citus_move_shard_placement(shard_id bigint, source_node_name text, source_node_port integer,
	target_node_name text, target_node_port integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement';
COMMENT ON FUNCTION pg_catalog.citus_move_shard_placement(bigint, text, integer, text, integer, citus.shard_transfer_mode) IS
	'moves a shard, and those that are colocated with it, to another node';

CREATE FUNCTION pg_catalog.citus_move_shard_placement(shard_id bigint, source_node_id integer, target_node_id integer,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement_with_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_move_shard_placement(bigint, integer, integer, citus.shard_transfer_mode) IS
	'moves a shard, and those that are colocated with it, to another node';

-- The reference has two names for the mode, and named notation finds functions by them.
CREATE FUNCTION pg_catalog.citus_move_shard_placement(shard_id bigint, source_node_name text, source_node_port integer,
	target_node_name text, target_node_port integer, transfer_mode text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement';
COMMENT ON FUNCTION pg_catalog.citus_move_shard_placement(bigint, text, integer, text, integer, text) IS
	'moves a shard, and those that are colocated with it, to another node';

CREATE FUNCTION pg_catalog.citus_move_shard_placement(shard_id bigint, source_node_id integer, target_node_id integer,
	transfer_mode text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_move_shard_placement_with_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_move_shard_placement(bigint, integer, integer, text) IS
	'moves a shard, and those that are colocated with it, to another node';

CREATE FUNCTION citus_internal.move_begin(shardid bigint, target_group integer, mode text)
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_begin';
COMMENT ON FUNCTION citus_internal.move_begin(bigint, integer, text) IS
	'begins to move a shard group of this node; returns the operation''s number if the group can be written meanwhile';
REVOKE ALL ON FUNCTION citus_internal.move_begin(bigint, integer, text) FROM public;

CREATE FUNCTION citus_internal.move_publish(OUT slot text, OUT publication text, OUT subscription text, OUT owner text,
	OUT role text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_publish';
COMMENT ON FUNCTION citus_internal.move_publish() IS
	'publishes the shards that this session moves; returns the names of the replication objects, for each owner';
REVOKE ALL ON FUNCTION citus_internal.move_publish() FROM public;

CREATE FUNCTION citus_internal.move_copy(slot text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_copy';
COMMENT ON FUNCTION citus_internal.move_copy(text) IS
	'copies the rows of a slot''s tables to the node that gets the shards, as the transaction''s snapshot shows them';
REVOKE ALL ON FUNCTION citus_internal.move_copy(text) FROM public;

CREATE FUNCTION citus_internal.move_switch()
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_switch';
COMMENT ON FUNCTION citus_internal.move_switch() IS
	'switches the shards that this session moves to the other node; false if that isn''t possible now';
REVOKE ALL ON FUNCTION citus_internal.move_switch() FROM public;

CREATE FUNCTION citus_internal.move_end()
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_end';
COMMENT ON FUNCTION citus_internal.move_end() IS
	'ends this session''s part in a move of shards';
REVOKE ALL ON FUNCTION citus_internal.move_end() FROM public;

CREATE FUNCTION citus_internal.make_shard_copies(colocation_id integer, min_hash integer, max_hash integer, operation bigint)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_make_shard_copies';
COMMENT ON FUNCTION citus_internal.make_shard_copies(integer, integer, integer, bigint) IS
	'makes the shards of a group that is to be moved here, without indexes';
REVOKE ALL ON FUNCTION citus_internal.make_shard_copies(integer, integer, integer, bigint) FROM public;

CREATE FUNCTION citus_internal.index_shard_copies(colocation_id integer, min_hash integer, max_hash integer, operation bigint)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_index_shard_copies';
COMMENT ON FUNCTION citus_internal.index_shard_copies(integer, integer, integer, bigint) IS
	'creates the indexes of the shards of a group that this session has made, after these got their rows';
REVOKE ALL ON FUNCTION citus_internal.index_shard_copies(integer, integer, integer, bigint) FROM public;

CREATE FUNCTION citus_internal.complete_shard_copies(colocation_id integer, min_hash integer, max_hash integer, operation bigint)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_complete_shard_copies';
COMMENT ON FUNCTION citus_internal.complete_shard_copies(integer, integer, integer, bigint) IS
	'adds the foreign keys of the shards of a group that was moved here';
REVOKE ALL ON FUNCTION citus_internal.complete_shard_copies(integer, integer, integer, bigint) FROM public;

CREATE FUNCTION citus_internal.move_subscribe(colocation_id integer, min_hash integer, max_hash integer, operation bigint,
	subscription text, source_group integer, publication text, slot text, owner name, role name)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_subscribe';
COMMENT ON FUNCTION citus_internal.move_subscribe(integer, integer, integer, bigint, text, integer, text, text, name, name) IS
	'subscribes to a publication of another node with the rights of the owner of its tables';
REVOKE ALL ON FUNCTION citus_internal.move_subscribe(integer, integer, integer, bigint, text, integer, text, text, name, name) FROM public;

CREATE FUNCTION citus_internal.move_launch(subscription text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_launch';
COMMENT ON FUNCTION citus_internal.move_launch(text) IS
	'starts the worker of a subscription';
REVOKE ALL ON FUNCTION citus_internal.move_launch(text) FROM public;

CREATE FUNCTION citus_internal.move_flush(subscription text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_move_flush';
COMMENT ON FUNCTION citus_internal.move_flush(text) IS
	'makes the worker of a subscription tell soon how far it has applied changes';
REVOKE ALL ON FUNCTION citus_internal.move_flush(text) FROM public;

CREATE FUNCTION citus_internal.cleanup()
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_cleanup';
COMMENT ON FUNCTION citus_internal.cleanup() IS
	'removes what operations of this node have left behind; returns how much could not be removed';
REVOKE ALL ON FUNCTION citus_internal.cleanup() FROM public;

CREATE FUNCTION citus_internal.drop_shard_copy(name text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_drop_shard_copy';
COMMENT ON FUNCTION citus_internal.drop_shard_copy(text) IS
	'drops a shard''s relation on this node, unless the shard is placed here';
REVOKE ALL ON FUNCTION citus_internal.drop_shard_copy(text) FROM public;

CREATE PROCEDURE pg_catalog.citus_cleanup_orphaned_resources()
	LANGUAGE plpgsql
	SET search_path = pg_catalog
AS $$
DECLARE
	remaining integer;
BEGIN
	SELECT sum(result::integer) INTO remaining
	FROM pg_catalog.run_command_on_all_nodes('SELECT citus_internal.cleanup()') WHERE success;
	IF remaining > 0 THEN
		RAISE NOTICE '% objects can''t be removed yet', remaining
			USING DETAIL = 'Operations that go on, or transactions with older snapshots, may need them.';
	END IF;
END;
$$;
COMMENT ON PROCEDURE pg_catalog.citus_cleanup_orphaned_resources() IS
	'removes what moves of shards have left behind on all nodes';
REVOKE ALL ON PROCEDURE pg_catalog.citus_cleanup_orphaned_resources() FROM public;

CREATE FUNCTION pg_catalog.citus_copy_shard_placement(shard_id bigint, source_node_id integer, target_node_id integer,
	transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
DECLARE
	kind text := (SELECT citus_internal.table_type(p.partmethod, p.repmodel, p.colocationid)
		FROM pg_dist_shard s JOIN pg_dist_partition p USING (logicalrelid) WHERE s.shardid = shard_id);
	nodes_with_copy integer[] := ARRAY(SELECT n.nodeid FROM pg_dist_placement l JOIN pg_dist_node n USING (groupid)
		WHERE l.shardid = shard_id AND l.shardstate = 1);
BEGIN
	IF kind IS NULL THEN
		RAISE EXCEPTION 'shard % does not exist', shard_id USING ERRCODE = 'undefined_object';
	ELSIF NOT source_node_id = ANY (nodes_with_copy) THEN
		RAISE EXCEPTION 'shard % is not on node %', shard_id, source_node_id USING ERRCODE = 'object_not_in_prerequisite_state';
	ELSIF target_node_id = ANY (nodes_with_copy) THEN
		RAISE NOTICE 'shard % is on node % already', shard_id, target_node_id;
	ELSIF kind = 'reference' THEN
		RAISE EXCEPTION 'node % cannot be given a copy of a single reference table', target_node_id
			USING ERRCODE = 'feature_not_supported', HINT = 'Use citus_activate_node(), which copies all of them.';
	ELSE
		RAISE EXCEPTION 'cannot make a copy of shard %', shard_id USING ERRCODE = 'feature_not_supported',
			DETAIL = 'A shard of a distributed table has one placement.',
			HINT = 'Use citus_move_shard_placement() to move it. To keep a copy of a node, use a standby server.';
	END IF;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_copy_shard_placement(bigint, integer, integer, citus.shard_transfer_mode) IS
	'checks that a shard has a placement on a node; it can not be given another one';
REVOKE ALL ON FUNCTION pg_catalog.citus_copy_shard_placement(bigint, integer, integer, citus.shard_transfer_mode) FROM public;

CREATE FUNCTION pg_catalog.citus_copy_shard_placement(shard_id bigint, source_node_name text, source_node_port integer,
	target_node_name text, target_node_port integer, transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
BEGIN
	PERFORM citus_internal.check_node(source_node_name, source_node_port);
	PERFORM citus_internal.check_node(target_node_name, target_node_port);
	PERFORM citus_copy_shard_placement(shard_id,
		(SELECT nodeid FROM pg_dist_node WHERE nodename = source_node_name AND nodeport = source_node_port),
		(SELECT nodeid FROM pg_dist_node WHERE nodename = target_node_name AND nodeport = target_node_port), transfer_mode);
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_copy_shard_placement(bigint, text, integer, text, integer, citus.shard_transfer_mode) IS
	'checks that a shard has a placement on a node; it can not be given another one';
REVOKE ALL ON FUNCTION pg_catalog.citus_copy_shard_placement(bigint, text, integer, text, integer, citus.shard_transfer_mode)
	FROM public;
