-- Transactions and waits of all nodes.
--
-- A transaction is known by the session that began it and by the number that this has there, unique within the
-- session: the latter part of pg_locks.virtualtransaction. A node doesn't know the number of another node's
-- transaction that it works for; only the functions over all nodes show it.

CREATE FUNCTION pg_catalog.get_current_transaction_id(OUT database_id oid, OUT process_id integer,
	OUT initiator_node_identifier integer, OUT transaction_number bigint, OUT transaction_stamp timestamptz)
	RETURNS record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT d.oid, pg_backend_pid(), citus_nodeid_for_gpid(g.global_pid), g.transaction_number,
		CASE WHEN NOT g.is_worker_query THEN transaction_timestamp() END
	FROM citus_internal.process_gpid(pg_backend_pid()) g
	JOIN pg_database d ON d.datname = current_database()
$$;
COMMENT ON FUNCTION pg_catalog.get_current_transaction_id() IS
	'the transaction of this session; number and stamp are null in a session that works for another node''s';

CREATE FUNCTION pg_catalog.get_all_active_transactions(OUT datid oid, OUT process_id integer,
	OUT initiator_node_identifier integer, OUT worker_query boolean, OUT transaction_number bigint,
	OUT transaction_stamp timestamptz, OUT global_pid bigint)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT a.datid, a.pid, citus_nodeid_for_gpid(g.global_pid), g.is_worker_query, g.transaction_number,
		CASE WHEN NOT g.is_worker_query THEN a.xact_start END, g.global_pid
	FROM pg_stat_activity a, citus_internal.process_gpid(a.pid) g
	WHERE a.datname = current_database() AND a.xact_start IS NOT NULL
		AND (g.is_worker_query OR g.transaction_number IS NOT NULL)
		AND (pg_has_role(a.usesysid, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE'))
$$;
COMMENT ON FUNCTION pg_catalog.get_all_active_transactions() IS
	'sessions of this node that are in a transaction in this database, also those that other nodes have opened';

CREATE FUNCTION pg_catalog.get_global_active_transactions(OUT datid oid, OUT process_id integer,
	OUT initiator_node_identifier integer, OUT worker_query boolean, OUT transaction_number bigint,
	OUT transaction_stamp timestamptz, OUT global_pid bigint)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	WITH found AS MATERIALIZED (
		SELECT *
		FROM citus_internal.rows_of_all_nodes('SELECT * FROM pg_catalog.get_all_active_transactions()')
			AS t(datid oid, process_id integer, initiator_node_identifier integer, worker_query boolean,
				transaction_number bigint, transaction_stamp timestamptz, global_pid bigint)
	)
	SELECT f.datid, f.process_id, f.initiator_node_identifier, f.worker_query, initiator.transaction_number,
		initiator.transaction_stamp, f.global_pid
	FROM found f
	LEFT JOIN found initiator ON initiator.global_pid = f.global_pid AND NOT initiator.worker_query
$$;
COMMENT ON FUNCTION pg_catalog.get_global_active_transactions() IS
	'sessions of all nodes that are in a transaction; a transaction has the same number and stamp on all';

CREATE FUNCTION pg_catalog.dump_local_wait_edges(OUT waiting_gpid bigint, OUT waiting_pid integer,
	OUT waiting_node_id integer, OUT waiting_transaction_num bigint, OUT waiting_transaction_stamp timestamptz,
	OUT blocking_gpid bigint, OUT blocking_pid integer, OUT blocking_node_id integer,
	OUT blocking_transaction_num bigint, OUT blocking_transaction_stamp timestamptz,
	OUT blocking_transaction_waiting boolean)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	WITH graph AS MATERIALIZED (
		SELECT * FROM citus_internal.local_wait_graph()
	), edge AS (
		SELECT DISTINCT g.kind, g.pid, g.other_pid, g.other_lxid FROM graph g WHERE g.kind IN ('l', 'x')
	), process AS MATERIALIZED (
		-- a process that serves no client stands for itself
		SELECT p.pid, coalesce(g.global_pid, citus_calculate_gpid(own.nodeid, p.pid)) AS gpid, g.transaction_number,
			CASE WHEN g.transaction_number IS NOT NULL THEN a.xact_start END AS stamp
		FROM (SELECT pid FROM edge UNION SELECT other_pid FROM edge WHERE kind = 'l') p
		CROSS JOIN citus_internal.process_gpid(pg_backend_pid()) own
		LEFT JOIN citus_internal.process_gpid(p.pid) g ON true
		LEFT JOIN pg_stat_get_activity(NULL) a ON a.pid = p.pid
	), prepared AS (
		-- whoever prepares for another node says which of its processes began the transaction
		SELECT x.transaction, citus_calculate_gpid(n.nodeid, part[2]::integer) AS gpid
		FROM pg_prepared_xact() x
		CROSS JOIN regexp_match(x.gid, '^citus_(\d{1,9})_(\d{1,9})_\d+_') part
		JOIN pg_dist_node n ON n.groupid = part[1]::integer AND n.noderole = 'primary'
	)
	SELECT w.gpid, w.pid, citus_nodeid_for_gpid(w.gpid), w.transaction_number, w.stamp,
		coalesce(b.gpid, x.gpid), b.pid, citus_nodeid_for_gpid(coalesce(b.gpid, x.gpid)), b.transaction_number, b.stamp,
		e.kind = 'l' AND e.other_pid IN (SELECT pid FROM edge)
	FROM edge e
	JOIN process w ON w.pid = e.pid
	LEFT JOIN process b ON e.kind = 'l' AND b.pid = e.other_pid
	LEFT JOIN prepared x ON e.kind = 'x' AND x.transaction::text = e.other_lxid::text
$$;
COMMENT ON FUNCTION pg_catalog.dump_local_wait_edges() IS
	'waits for locks on this node; a prepared transaction that blocks has no process id here';

CREATE FUNCTION pg_catalog.dump_global_wait_edges(OUT waiting_gpid bigint, OUT waiting_pid integer,
	OUT waiting_node_id integer, OUT waiting_transaction_num bigint, OUT waiting_transaction_stamp timestamptz,
	OUT blocking_gpid bigint, OUT blocking_pid integer, OUT blocking_node_id integer,
	OUT blocking_transaction_num bigint, OUT blocking_transaction_stamp timestamptz,
	OUT blocking_transaction_waiting boolean)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	WITH edge AS MATERIALIZED (
		SELECT *
		FROM citus_internal.rows_of_all_nodes('SELECT * FROM pg_catalog.dump_local_wait_edges()')
			AS e(waiting_gpid bigint, waiting_pid integer, waiting_node_id integer, waiting_transaction_num bigint,
				waiting_transaction_stamp timestamptz, blocking_gpid bigint, blocking_pid integer,
				blocking_node_id integer, blocking_transaction_num bigint, blocking_transaction_stamp timestamptz,
				blocking_transaction_waiting boolean)
	), initiator AS MATERIALIZED (
		SELECT t.global_pid, t.transaction_number AS number, t.transaction_stamp AS stamp
		FROM get_global_active_transactions() t
		WHERE NOT t.worker_query
	)
	SELECT e.waiting_gpid, e.waiting_pid, e.waiting_node_id, coalesce(e.waiting_transaction_num, w.number),
		coalesce(e.waiting_transaction_stamp, w.stamp), e.blocking_gpid, e.blocking_pid, e.blocking_node_id,
		coalesce(e.blocking_transaction_num, b.number), coalesce(e.blocking_transaction_stamp, b.stamp),
		e.blocking_transaction_waiting OR
			coalesce(e.blocking_gpid IN (SELECT other.waiting_gpid FROM edge other), false)
	FROM edge e
	LEFT JOIN initiator w ON w.global_pid = e.waiting_gpid
	LEFT JOIN initiator b ON b.global_pid = e.blocking_gpid
$$;
COMMENT ON FUNCTION pg_catalog.dump_global_wait_edges() IS
	'waits for locks on all nodes; the processes are those on the node with the lock';

REVOKE ALL ON FUNCTION pg_catalog.dump_local_wait_edges(), pg_catalog.dump_global_wait_edges() FROM public;
GRANT EXECUTE ON FUNCTION pg_catalog.dump_local_wait_edges(), pg_catalog.dump_global_wait_edges(),
	citus_internal.local_wait_graph() TO pg_monitor;
