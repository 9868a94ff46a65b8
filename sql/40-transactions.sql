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
	'looks for deadlocks across nodes, and breaks those that it is for this node to break; whether there were any';
REVOKE ALL ON FUNCTION pg_catalog.check_distributed_deadlocks() FROM public;

CREATE FUNCTION citus_internal.cancel_deadlock_victim(pid integer, lxid bigint, detail text)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_cancel_deadlock_victim';
COMMENT ON FUNCTION citus_internal.cancel_deadlock_victim(integer, bigint, text) IS
	'cancels a transaction of this node to break a deadlock';
REVOKE ALL ON FUNCTION citus_internal.cancel_deadlock_victim(integer, bigint, text) FROM public;
