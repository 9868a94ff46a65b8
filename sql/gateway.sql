-- Functions that the gateway calls in its sessions (src/gateway).

CREATE FUNCTION citus_internal.gateway_route(name text) RETURNS text STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_route';
COMMENT ON FUNCTION citus_internal.gateway_route(text) IS
	'the route of a statement that this session has prepared: the deciding parameter, and the node of each hash value; NULL: none';

CREATE FUNCTION citus_internal.gateway_query_route(statement text) RETURNS text STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_query_route';
COMMENT ON FUNCTION citus_internal.gateway_query_route(text) IS
	'the route of a text without parameters: the position of the deciding literal, and the node of each hash value';

CREATE FUNCTION citus_internal.gateway_block_conflict() RETURNS void
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_block_conflict';
COMMENT ON FUNCTION citus_internal.gateway_block_conflict() IS
	'fails, since rows have changed while the gateway moved a transaction block from one node to another';

CREATE FUNCTION citus_internal.gateway_processes(OUT pid int, OUT paused boolean, OUT clients bigint, OUT waiting bigint,
		OUT active bigint, OUT pools bigint, OUT sessions bigint, OUT node_sessions bigint, OUT logins bigint,
		OUT transactions bigint, OUT routed bigint, OUT pipelined bigint, OUT resent bigint,
		OUT node_blocks bigint, OUT moved_blocks bigint, OUT unrouted bigint,
		OUT restores bigint, OUT received bigint, OUT sent bigint, OUT median_wait_ms float8, OUT p99_wait_ms float8,
		OUT max_wait_ms float8)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_gateway_processes';
COMMENT ON FUNCTION citus_internal.gateway_processes() IS 'what the processes of this node''s gateway do';

CREATE FUNCTION citus_internal.gateway_cancel(pid int, key int) RETURNS boolean
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_gateway_cancel';
COMMENT ON FUNCTION citus_internal.gateway_cancel(int, int) IS
	'passes a cancel request that has come to another node on to this node''s gateway, which may have the client';

CREATE FUNCTION citus_internal.gateway_pass_cancels() RETURNS void
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_pass_cancels';
COMMENT ON FUNCTION citus_internal.gateway_pass_cancels() IS
	'passes cancel requests on that have come to this node''s gateway for clients that it does not have';

CREATE FUNCTION citus_internal.gateway_backend_pid() RETURNS int STABLE PARALLEL RESTRICTED
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_backend_pid';
COMMENT ON FUNCTION citus_internal.gateway_backend_pid() IS
	'pg_backend_pid() for clients of this node''s gateway: the number that a client got as process id at its start';

CREATE FUNCTION citus_internal.gateway_activity(pid int) RETURNS SETOF record STABLE PARALLEL RESTRICTED
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_activity';
COMMENT ON FUNCTION citus_internal.gateway_activity(int) IS
	'pg_stat_get_activity() for clients of this node''s gateway: with the numbers of clients, also of those without a session';

CREATE FUNCTION citus_internal.gateway_locks() RETURNS SETOF record
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_locks';
COMMENT ON FUNCTION citus_internal.gateway_locks() IS
	'pg_lock_status() for clients of this node''s gateway: with the numbers of clients';

CREATE FUNCTION citus_internal.gateway_prepared_statements() RETURNS SETOF record STABLE PARALLEL RESTRICTED
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_prepared_statements';
COMMENT ON FUNCTION citus_internal.gateway_prepared_statements() IS
	'pg_prepared_statement() for clients of this node''s gateway: their own statements';

CREATE FUNCTION citus_internal.gateway_blocking_pids(pid int) RETURNS int[] STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_blocking_pids';
COMMENT ON FUNCTION citus_internal.gateway_blocking_pids(int) IS
	'pg_blocking_pids() for clients of this node''s gateway: with the numbers of clients';

CREATE FUNCTION citus_internal.gateway_cancel_backend(pid int) RETURNS boolean STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_cancel_backend';
COMMENT ON FUNCTION citus_internal.gateway_cancel_backend(int) IS
	'pg_cancel_backend() on a server with a gateway: also by the number of a client';

CREATE FUNCTION citus_internal.gateway_terminate_backend(pid int, timeout bigint DEFAULT 0) RETURNS boolean STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_gateway_terminate_backend';
COMMENT ON FUNCTION citus_internal.gateway_terminate_backend(int, bigint) IS
	'pg_terminate_backend() on a server with a gateway: also by the number of a client';

CREATE FUNCTION citus_internal.gateway_unrouted(OUT pid int, OUT reason text, OUT statements bigint)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_gateway_unrouted';
COMMENT ON FUNCTION citus_internal.gateway_unrouted() IS
	'why statements, and transaction blocks, of the gateway''s clients ran in sessions of this node';

CREATE VIEW citus.citus_stat_gateway_unrouted AS
	SELECT reason, sum(statements)::bigint AS statements FROM citus_internal.gateway_unrouted() GROUP BY reason;
COMMENT ON VIEW citus.citus_stat_gateway_unrouted IS
	'why statements, and transaction blocks, of this node''s gateway did not go straight to the node that has their rows';
ALTER VIEW citus.citus_stat_gateway_unrouted SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_stat_gateway_unrouted TO public;

CREATE VIEW citus.citus_stat_gateway AS SELECT * FROM citus_internal.gateway_processes();
COMMENT ON VIEW citus.citus_stat_gateway IS
	'processes of this node''s gateway: clients and sessions, and since their start, statements, bytes and waits for a session';
ALTER VIEW citus.citus_stat_gateway SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_stat_gateway TO public;

CREATE FUNCTION pg_catalog.citus_gateway_pause() RETURNS void
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_gateway_pause';
COMMENT ON FUNCTION pg_catalog.citus_gateway_pause() IS
	'lets clients of this node''s gateway wait when they have ended their transactions; citus_stat_gateway.active is 0 when all have';
REVOKE EXECUTE ON FUNCTION pg_catalog.citus_gateway_pause() FROM public;

CREATE FUNCTION pg_catalog.citus_gateway_resume() RETURNS void
	LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_gateway_resume';
COMMENT ON FUNCTION pg_catalog.citus_gateway_resume() IS 'has this node''s gateway serve its clients again';
REVOKE EXECUTE ON FUNCTION pg_catalog.citus_gateway_resume() FROM public;
