-- Distributed transactions.

CREATE FUNCTION pg_catalog.recover_prepared_transactions() RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.recover_prepared_transactions() IS
	'ends the prepared transactions that this node began and could not end';

-- Deadlocks

CREATE FUNCTION citus_internal.local_wait_graph(OUT kind "char", OUT pid integer, OUT lxid bigint,
	OUT other_group integer, OUT other_pid integer, OUT other_lxid bigint, OUT wait_start bigint,
	OUT age bigint, OUT what text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_local_wait_graph';
COMMENT ON FUNCTION citus_internal.local_wait_graph() IS 'who waits for whom on this node';
REVOKE ALL ON FUNCTION citus_internal.local_wait_graph() FROM public;

CREATE FUNCTION pg_catalog.check_distributed_deadlocks()
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'check_distributed_deadlocks';
COMMENT ON FUNCTION pg_catalog.check_distributed_deadlocks() IS
	'searches for deadlocks across nodes, and breaks those that this node is responsible for; whether there were any';
REVOKE ALL ON FUNCTION pg_catalog.check_distributed_deadlocks() FROM public;

CREATE FUNCTION citus_internal.cancel_deadlock_victim(pid integer, lxid bigint, detail text)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_cancel_deadlock_victim';
COMMENT ON FUNCTION citus_internal.cancel_deadlock_victim(integer, bigint, text) IS
	'cancels a transaction of this node to break a deadlock';
REVOKE ALL ON FUNCTION citus_internal.cancel_deadlock_victim(integer, bigint, text) FROM public;

-- Backup and checks

CREATE FUNCTION pg_catalog.citus_create_restore_point(name text) RETURNS pg_lsn
	LANGUAGE c STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_create_restore_point(text) IS
	'creates a consistent restore point on all nodes';
REVOKE ALL ON FUNCTION pg_catalog.citus_create_restore_point(text) FROM public;

CREATE FUNCTION pg_catalog.citus_cluster_changes_block(timeout_ms integer DEFAULT 300000) RETURNS boolean
	LANGUAGE c STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_cluster_changes_block(integer) IS
	'holds off commits over several nodes, and changes of nodes, so that the disks of all servers can be copied: until citus_cluster_changes_unblock(), or for so long';
REVOKE ALL ON FUNCTION pg_catalog.citus_cluster_changes_block(integer) FROM public;

CREATE FUNCTION pg_catalog.citus_cluster_changes_unblock() RETURNS boolean
	LANGUAGE c STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_cluster_changes_unblock() IS
	'ends what citus_cluster_changes_block() began; an error if it has not held on all nodes up to now';
REVOKE ALL ON FUNCTION pg_catalog.citus_cluster_changes_unblock() FROM public;

CREATE FUNCTION pg_catalog.citus_cluster_changes_block_status(OUT state text, OUT worker_pid integer,
	OUT requestor_pid integer, OUT block_start_time timestamptz, OUT timeout_ms integer, OUT node_count integer,
	OUT problem text)
	RETURNS record LANGUAGE c STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.citus_cluster_changes_block_status() IS
	'the block of changes that this node holds, or the last one';
REVOKE ALL ON FUNCTION pg_catalog.citus_cluster_changes_block_status() FROM public;
GRANT EXECUTE ON FUNCTION pg_catalog.citus_cluster_changes_block_status() TO pg_monitor;

CREATE FUNCTION pg_catalog.citus_check_reference_table(table_name regclass,
	OUT nodename text, OUT nodeport integer, OUT row_count bigint, OUT digest text, OUT equal boolean)
	RETURNS SETOF record LANGUAGE plpgsql STRICT SET search_path = pg_catalog AS $$
DECLARE
	table_text text := table_name;
	first_digest text;
	answer record;
BEGIN
	IF NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = table_name AND partmethod = 'n' AND repmodel = 't') THEN
		RAISE EXCEPTION '"%" is not a reference table', table_text USING ERRCODE = 'wrong_object_type';
	END IF;

	-- waits for all writers, on every node, and holds off new ones
	EXECUTE format('LOCK TABLE %s IN SHARE MODE', table_text);
	FOR answer IN
		SELECT n.nodename, n.nodeport, r.success, r.result
		FROM run_command_on_all_nodes(format(
			'SELECT pg_catalog.format(''%%s %%s'', pg_catalog.count(*), pg_catalog.md5(coalesce(pg_catalog.string_agg(
				t::text, '','' ORDER BY t::text COLLATE "C"), ''''))) FROM %s t',
			table_text)) r
		JOIN pg_dist_node n USING (nodeid) ORDER BY n.groupid
	LOOP
		IF NOT answer.success THEN
			RAISE EXCEPTION 'could not read "%" on node %:%', table_text, answer.nodename, answer.nodeport
				USING ERRCODE = 'connection_failure', DETAIL = answer.result;
		END IF;
		nodename := answer.nodename;
		nodeport := answer.nodeport;
		row_count := split_part(answer.result, ' ', 1);
		digest := split_part(answer.result, ' ', 2);
		first_digest := coalesce(first_digest, digest);
		equal := digest = first_digest;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION pg_catalog.citus_check_reference_table(regclass) IS
	'compares a reference table''s rows on all nodes with those on the first one, while no one writes them';
REVOKE ALL ON FUNCTION pg_catalog.citus_check_reference_table(regclass) FROM public;

CREATE FUNCTION citus_internal.pg_notify(channel text, payload text)
	RETURNS void LANGUAGE C PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'citus_internal_pg_notify';
COMMENT ON FUNCTION citus_internal.pg_notify(text, text) IS
	'stands for pg_notify() in queries: notifies the listeners of all nodes';

CREATE FUNCTION citus_internal.notify(messages text[])
	RETURNS void LANGUAGE C STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'citus_internal_notify';
COMMENT ON FUNCTION citus_internal.notify(text[]) IS
	'for nodes: notifies the listeners of this node; each notification is a channel and a payload';
