-- Sessions and locks of all nodes.

CREATE FUNCTION citus_internal.rows_of_all_nodes(query text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_rows_of_all_nodes';
COMMENT ON FUNCTION citus_internal.rows_of_all_nodes(text) IS
	'rows of a query from every node that can be reached';

CREATE FUNCTION citus_internal.process_gpid(pid integer, OUT global_pid bigint, OUT nodeid integer,
	OUT is_worker_query boolean, OUT transaction_number bigint)
	RETURNS record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_process_gpid';
COMMENT ON FUNCTION citus_internal.process_gpid(integer) IS
	'the session that a process of this node works for, this node, whether another node has opened the process''s session, and otherwise the number of its transaction';

-- double precision, which PostgreSQL prefers among types of numbers, leaves no call ambiguous
-- (src/resolve/process_parameter.c).
CREATE FUNCTION pg_catalog.pg_cancel_backend(global_pid double precision)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_cancel_backend';
COMMENT ON FUNCTION pg_catalog.pg_cancel_backend(double precision) IS
	'cancels the query of a session on any node, by its global process id';

CREATE FUNCTION pg_catalog.pg_terminate_backend(global_pid double precision, timeout bigint DEFAULT 0)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_terminate_backend';
COMMENT ON FUNCTION pg_catalog.pg_terminate_backend(double precision, bigint) IS
	'terminates a session on any node, by its global process id';

CREATE VIEW citus.citus_stat_activity AS
	SELECT *
	FROM citus_internal.rows_of_all_nodes($query$
		SELECT g.global_pid,
			g.nodeid, g.is_worker_query,
			a.datid, a.datname, a.pid, a.leader_pid, a.usesysid, a.usename, a.application_name, a.client_addr,
			a.client_hostname, a.client_port, a.backend_start, a.xact_start, a.query_start, a.state_change,
			a.wait_event_type, a.wait_event, a.state, a.backend_xid, a.backend_xmin, a.query_id, a.query, a.backend_type
		FROM pg_catalog.pg_stat_activity a, citus_internal.process_gpid(a.pid) g
		WHERE g.global_pid IS NOT NULL
	$query$) AS activity(global_pid bigint, nodeid integer, is_worker_query boolean,
		datid oid, datname name, pid integer, leader_pid integer, usesysid oid, usename name, application_name text,
		client_addr inet, client_hostname text, client_port integer, backend_start timestamptz,
		xact_start timestamptz, query_start timestamptz, state_change timestamptz, wait_event_type text,
		wait_event text, state text, backend_xid xid, backend_xmin xid, query_id bigint, query text, backend_type text);
COMMENT ON VIEW citus.citus_stat_activity IS 'sessions on all nodes, also those that nodes have opened for others';
ALTER VIEW citus.citus_stat_activity SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_stat_activity TO public;

CREATE FUNCTION pg_catalog.citus_stat_activity() RETURNS SETOF pg_catalog.citus_stat_activity
	LANGUAGE sql STRICT AS 'SELECT * FROM pg_catalog.citus_stat_activity';
COMMENT ON FUNCTION pg_catalog.citus_stat_activity() IS 'same as the view citus_stat_activity';

CREATE VIEW citus.citus_dist_stat_activity AS
	SELECT * FROM pg_catalog.citus_stat_activity WHERE NOT is_worker_query;
COMMENT ON VIEW citus.citus_dist_stat_activity IS 'sessions of clients on all nodes';
ALTER VIEW citus.citus_dist_stat_activity SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_dist_stat_activity TO public;

CREATE FUNCTION citus_internal.local_traces(OUT trace_id text, OUT span_id text, OUT parent_id text, OUT name text,
	OUT start_time timestamptz, OUT duration_ms double precision, OUT pid integer, OUT role oid, OUT target_group integer,
	OUT amount bigint, OUT detail text, OUT failed boolean, OUT database oid)
	RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_internal_local_traces';
COMMENT ON FUNCTION citus_internal.local_traces() IS 'spans of traced statements that this node has kept';

CREATE VIEW citus.citus_traces AS
	SELECT traces.trace_id, traces.span_id, traces.parent_id, traces.name, traces.start_time, traces.duration_ms,
		traces.nodeid, target.nodeid AS target_nodeid, traces.amount, traces.detail, traces.failed, traces.pid,
		traces.usename
	FROM citus_internal.rows_of_all_nodes($query$
		SELECT t.trace_id, t.span_id, t.parent_id, t.name, t.start_time, t.duration_ms, g.nodeid, t.target_group,
			t.amount, t.detail, t.failed, t.pid, pg_catalog.pg_get_userbyid(t.role)
		FROM citus_internal.local_traces() t, citus_internal.process_gpid(pg_catalog.pg_backend_pid()) g
	$query$) AS traces(trace_id text, span_id text, parent_id text, name text, start_time timestamptz,
		duration_ms double precision, nodeid integer, target_group integer, amount bigint, detail text, failed boolean,
		pid integer, usename name)
	LEFT JOIN pg_catalog.pg_dist_node target
		ON target.groupid = traces.target_group AND target.noderole = 'primary' AND target.isactive;
COMMENT ON VIEW citus.citus_traces IS 'what traced statements did on all nodes, and how long that took; a role sees its own';
ALTER VIEW citus.citus_traces SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_traces TO public;

CREATE VIEW citus.citus_locks AS
	SELECT *
	FROM citus_internal.rows_of_all_nodes($query$
		SELECT g.global_pid, g.nodeid,
			l.locktype, l.database, l.relation,
			CASE WHEN l.database OPERATOR(pg_catalog.=) d.oid THEN l.relation::pg_catalog.regclass::text END, l.page,
			l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid, l.objsubid, l.virtualtransaction, l.pid, l.mode,
			l.granted, l.fastpath, l.waitstart
		FROM pg_catalog.pg_locks l
		JOIN pg_catalog.pg_database d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database(),
		citus_internal.process_gpid(l.pid) g
		WHERE g.global_pid IS NOT NULL
	$query$) AS locks(global_pid bigint, nodeid integer,
		locktype text, database oid, relation oid, relation_name text, page integer, tuple smallint, virtualxid text,
		transactionid xid, classid oid, objid oid, objsubid smallint, virtualtransaction text, pid integer, mode text,
		granted boolean, fastpath boolean, waitstart timestamptz);
COMMENT ON VIEW citus.citus_locks IS 'locks of sessions on all nodes';
ALTER VIEW citus.citus_locks SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_locks TO public;

CREATE FUNCTION pg_catalog.citus_locks() RETURNS SETOF pg_catalog.citus_locks
	LANGUAGE sql STRICT AS 'SELECT * FROM pg_catalog.citus_locks';
COMMENT ON FUNCTION pg_catalog.citus_locks() IS 'same as the view citus_locks';

CREATE VIEW citus.citus_lock_waits AS
	SELECT waits.waiting_gpid, waits.blocking_gpid, waiting.query AS blocked_statement,
		blocking.query AS current_statement_in_blocking_process,
		pg_catalog.citus_nodeid_for_gpid(waits.waiting_gpid) AS waiting_nodeid,
		pg_catalog.citus_nodeid_for_gpid(waits.blocking_gpid) AS blocking_nodeid
	FROM (
		SELECT DISTINCT waiting_gpid, blocking_gpid
		FROM citus_internal.rows_of_all_nodes($query$
			SELECT waiting.global_pid, blocking.global_pid
			FROM pg_catalog.pg_locks l, pg_catalog.unnest(pg_catalog.pg_blocking_pids(l.pid)) blocker,
				citus_internal.process_gpid(l.pid) waiting, citus_internal.process_gpid(blocker) blocking
			WHERE NOT l.granted AND waiting.global_pid IS NOT NULL AND blocking.global_pid IS NOT NULL
		$query$) AS edges(waiting_gpid bigint, blocking_gpid bigint)
		WHERE waiting_gpid OPERATOR(pg_catalog.<>) blocking_gpid
	) waits
	LEFT JOIN pg_catalog.citus_dist_stat_activity waiting
		ON waiting.global_pid OPERATOR(pg_catalog.=) waits.waiting_gpid
	LEFT JOIN pg_catalog.citus_dist_stat_activity blocking
		ON blocking.global_pid OPERATOR(pg_catalog.=) waits.blocking_gpid;
COMMENT ON VIEW citus.citus_lock_waits IS 'sessions that wait for locks of others, on all nodes';
ALTER VIEW citus.citus_lock_waits SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_lock_waits TO public;

CREATE FUNCTION pg_catalog.citus_stat_counters(database_id oid DEFAULT 0, OUT database_id oid,
	OUT connection_establishment_succeeded bigint, OUT connection_establishment_failed bigint, OUT connection_reused bigint,
	OUT query_execution_single_shard bigint, OUT query_execution_multi_shard bigint, OUT stats_reset timestamptz)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_stat_counters';
COMMENT ON FUNCTION pg_catalog.citus_stat_counters(oid) IS
	'what sessions of this node with citus.enable_stat_counters have done: connections to nodes, statements over shards';

CREATE FUNCTION pg_catalog.citus_stat_counters_reset(database_oid oid DEFAULT 0)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_stat_counters_reset';
COMMENT ON FUNCTION pg_catalog.citus_stat_counters_reset(oid) IS
	'resets the counters, of this or another database';
REVOKE ALL ON FUNCTION pg_catalog.citus_stat_counters_reset(oid) FROM public;

CREATE VIEW citus.citus_stat_counters AS
	SELECT d.oid, d.datname AS name, c.connection_establishment_succeeded, c.connection_establishment_failed,
		c.connection_reused, c.query_execution_single_shard, c.query_execution_multi_shard, c.stats_reset
	FROM pg_catalog.citus_stat_counters() c
	JOIN pg_catalog.pg_database d ON d.oid = c.database_id;
COMMENT ON VIEW citus.citus_stat_counters IS
	'what sessions of this node with citus.enable_stat_counters have done: connections to nodes, statements over shards';
ALTER VIEW citus.citus_stat_counters SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_stat_counters TO public;

CREATE FUNCTION citus_internal.connections(OUT pid integer, OUT groupid integer)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_connections';
COMMENT ON FUNCTION citus_internal.connections() IS
	'the connections to other nodes that processes of this node have open';
REVOKE ALL ON FUNCTION citus_internal.connections() FROM public;

CREATE FUNCTION pg_catalog.citus_remote_connection_stats(OUT hostname text, OUT port integer, OUT database_name text,
	OUT connection_count_to_node integer)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT n.nodename, n.nodeport, a.datname::text, count(*)::integer
	FROM citus_internal.connections() c
	JOIN pg_stat_activity a USING (pid)
	JOIN pg_dist_node n ON n.groupid = c.groupid AND n.noderole = 'primary'
	GROUP BY 1, 2, 3
$$;
COMMENT ON FUNCTION pg_catalog.citus_remote_connection_stats() IS
	'how many connections to other nodes the sessions of this node have open';
REVOKE ALL ON FUNCTION pg_catalog.citus_remote_connection_stats() FROM public;
GRANT EXECUTE ON FUNCTION citus_internal.connections(), pg_catalog.citus_remote_connection_stats() TO pg_monitor;
