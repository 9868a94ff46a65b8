-- Statements of tenants: counts, and limits.

CREATE FUNCTION citus_internal.stat_tenants(return_all boolean, OUT colocation_id integer, OUT tenant_attribute text,
	OUT read_count_in_this_period integer, OUT read_count_in_last_period integer,
	OUT query_count_in_this_period integer, OUT query_count_in_last_period integer,
	OUT cpu_usage_in_this_period double precision, OUT cpu_usage_in_last_period double precision, OUT score bigint,
	OUT hash integer)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_stat_tenants';
COMMENT ON FUNCTION citus_internal.stat_tenants(boolean) IS 'statements of tenants on this node; NULL is all of a colocation group';

CREATE FUNCTION pg_catalog.citus_stat_tenants_local(return_all_tenants boolean DEFAULT false, OUT colocation_id integer,
	OUT tenant_attribute text, OUT read_count_in_this_period integer, OUT read_count_in_last_period integer,
	OUT query_count_in_this_period integer, OUT query_count_in_last_period integer,
	OUT cpu_usage_in_this_period double precision, OUT cpu_usage_in_last_period double precision, OUT score bigint)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT t.colocation_id, coalesce(t.tenant_attribute, s.schemaid::regnamespace::text), t.read_count_in_this_period,
		t.read_count_in_last_period, t.query_count_in_this_period, t.query_count_in_last_period,
		t.cpu_usage_in_this_period, t.cpu_usage_in_last_period, t.score
	FROM citus_internal.stat_tenants(return_all_tenants) t
	LEFT JOIN pg_dist_schema s ON s.colocationid = t.colocation_id
$$;
COMMENT ON FUNCTION pg_catalog.citus_stat_tenants_local(boolean) IS
	'statements, and CPU time in seconds, of the busiest tenants on this node, or of all that are known';

CREATE VIEW citus.citus_stat_tenants_local AS
	SELECT colocation_id, tenant_attribute, read_count_in_this_period, read_count_in_last_period, query_count_in_this_period,
		query_count_in_last_period, cpu_usage_in_this_period, cpu_usage_in_last_period
	FROM pg_catalog.citus_stat_tenants_local() ORDER BY score DESC;
COMMENT ON VIEW citus.citus_stat_tenants_local IS 'statements of the busiest tenants on this node';
ALTER VIEW citus.citus_stat_tenants_local SET SCHEMA pg_catalog;

CREATE FUNCTION pg_catalog.citus_stat_tenants(return_all_tenants boolean DEFAULT false, OUT nodeid integer,
	OUT colocation_id integer, OUT tenant_attribute text, OUT read_count_in_this_period integer,
	OUT read_count_in_last_period integer, OUT query_count_in_this_period integer, OUT query_count_in_last_period integer,
	OUT cpu_usage_in_this_period double precision, OUT cpu_usage_in_last_period double precision, OUT score bigint)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT r.*
	FROM citus_internal.rows_of_all_nodes(format($query$
		SELECT n.nodeid, t.* FROM pg_catalog.citus_stat_tenants_local(%L) t,
			(SELECT nodeid FROM pg_catalog.pg_dist_node WHERE noderole = 'primary'
				AND groupid = (SELECT groupid FROM pg_catalog.pg_dist_local_group)) n
		$query$, return_all_tenants))
		AS r(nodeid integer, colocation_id integer, tenant_attribute text, read_count_in_this_period integer,
			read_count_in_last_period integer, query_count_in_this_period integer, query_count_in_last_period integer,
			cpu_usage_in_this_period double precision, cpu_usage_in_last_period double precision, score bigint)
	ORDER BY r.score DESC
	LIMIT CASE WHEN NOT return_all_tenants THEN current_setting('citus.stat_tenants_limit')::bigint END
$$;
COMMENT ON FUNCTION pg_catalog.citus_stat_tenants(boolean) IS
	'statements, and CPU time in seconds, of the busiest tenants on all nodes, or of all that are known';

CREATE VIEW citus.citus_stat_tenants AS
	SELECT nodeid, colocation_id, tenant_attribute, read_count_in_this_period, read_count_in_last_period,
		query_count_in_this_period, query_count_in_last_period, cpu_usage_in_this_period, cpu_usage_in_last_period
	FROM pg_catalog.citus_stat_tenants() ORDER BY score DESC;
COMMENT ON VIEW citus.citus_stat_tenants IS 'statements of the busiest tenants on all nodes';
ALTER VIEW citus.citus_stat_tenants SET SCHEMA pg_catalog;

CREATE FUNCTION citus_internal.stat_statements(OUT queryid bigint, OUT userid oid, OUT partition_key text, OUT calls bigint)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_stat_statements';
COMMENT ON FUNCTION citus_internal.stat_statements() IS
	'how often statements over shards ran that clients of this node asked for, for those whose statistics the caller may read';

CREATE FUNCTION citus_internal.stat_statements_reset()
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_stat_statements_reset';
COMMENT ON FUNCTION citus_internal.stat_statements_reset() IS 'forgets how often statements ran on this node';
REVOKE ALL ON FUNCTION citus_internal.stat_statements_reset() FROM public;

CREATE FUNCTION citus_internal.statements_view() RETURNS text
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog
AS $$
DECLARE
	view text := (SELECT format('%I.pg_stat_statements', e.extnamespace::regnamespace::name) FROM pg_extension e
		WHERE e.extname = 'pg_stat_statements');
BEGIN
	IF view IS NULL THEN
		RAISE EXCEPTION 'extension "pg_stat_statements" does not exist' USING ERRCODE = 'undefined_object',
			HINT = 'Add pg_stat_statements to shared_preload_libraries on all nodes, after citus, and use CREATE EXTENSION.';
	END IF;
	RETURN view;
END;
$$;
COMMENT ON FUNCTION citus_internal.statements_view() IS 'the name of the view pg_stat_statements; an error if there is none';

-- A statement has another queryid on each node, so it is its text that is the same on all.
CREATE FUNCTION pg_catalog.citus_stat_statements(OUT queryid bigint, OUT userid oid, OUT dbid oid, OUT query text, OUT executor text,
	OUT partition_key text, OUT calls bigint)
	RETURNS SETOF record LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
DECLARE
	texts text := citus_internal.statements_view();
BEGIN
	RETURN QUERY
		SELECT min(r.queryid), a.oid, d.oid, r.query, 'adaptive', r.partition_key, sum(r.calls)::bigint
		FROM citus_internal.rows_of_all_nodes(format($query$
			SELECT c.queryid, pg_catalog.pg_get_userbyid(c.userid), s.query, c.partition_key, c.calls
			FROM citus_internal.stat_statements() c
			JOIN pg_catalog.pg_database d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
			CROSS JOIN LATERAL (SELECT t.query FROM %s t WHERE t.queryid OPERATOR(pg_catalog.=) c.queryid
				AND t.userid OPERATOR(pg_catalog.=) c.userid AND t.dbid OPERATOR(pg_catalog.=) d.oid LIMIT 1) s
			$query$, texts)) AS r(queryid bigint, usename name, query text, partition_key text, calls bigint)
		JOIN pg_roles a ON a.rolname = r.usename
		JOIN pg_database d ON d.datname = current_database()
		GROUP BY a.oid, d.oid, r.query, r.partition_key;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_stat_statements() IS
	'how often statements over shards ran that clients of all nodes asked for, by value of the distribution column; null for several values';

CREATE VIEW citus.citus_stat_statements AS SELECT * FROM pg_catalog.citus_stat_statements();
COMMENT ON VIEW citus.citus_stat_statements IS
	'how often statements over shards ran that clients of all nodes asked for, by value of the distribution column; null for several values';
ALTER VIEW citus.citus_stat_statements SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_stat_statements TO public;

CREATE FUNCTION pg_catalog.citus_node_statements(OUT nodeid integer, OUT usename name, OUT queryid bigint, OUT query text,
	OUT calls bigint, OUT total_exec_time double precision, OUT rows bigint, OUT shared_blks_hit bigint, OUT shared_blks_read bigint,
	OUT temp_blks_written bigint, OUT wal_bytes numeric)
	RETURNS SETOF record LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
DECLARE
	texts text := citus_internal.statements_view();
BEGIN
	RETURN QUERY
		SELECT r.* FROM citus_internal.rows_of_all_nodes(format($query$
			SELECT g.nodeid, pg_catalog.pg_get_userbyid(s.userid), s.queryid, s.query, s.calls, s.total_exec_time, s.rows,
				s.shared_blks_hit, s.shared_blks_read, s.temp_blks_written, s.wal_bytes
			FROM %s s JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.dbid,
				citus_internal.process_gpid(pg_catalog.pg_backend_pid()) g
			WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
			$query$, texts)) AS r(nodeid integer, usename name, queryid bigint, query text, calls bigint, total_exec_time double precision,
			rows bigint, shared_blks_hit bigint, shared_blks_read bigint, temp_blks_written bigint, wal_bytes numeric);
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_node_statements() IS
	'pg_stat_statements of all nodes, for this database: what clients of each node asked for, and the parts of other nodes'' statements';

CREATE VIEW citus.citus_node_statements AS SELECT * FROM pg_catalog.citus_node_statements();
COMMENT ON VIEW citus.citus_node_statements IS
	'pg_stat_statements of all nodes, for this database: what clients of each node asked for, and the parts of other nodes'' statements';
ALTER VIEW citus.citus_node_statements SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_node_statements TO public;

CREATE FUNCTION pg_catalog.citus_stat_statements_reset()
	RETURNS void LANGUAGE sql SET search_path = pg_catalog
AS $$
	SELECT count(r.*) FROM citus_internal.rows_of_all_nodes('SELECT citus_internal.stat_statements_reset()') AS r(done text)
$$;
COMMENT ON FUNCTION pg_catalog.citus_stat_statements_reset() IS 'forgets how often statements ran, on all nodes';
REVOKE ALL ON FUNCTION pg_catalog.citus_stat_statements_reset() FROM public;

CREATE FUNCTION pg_catalog.citus_stat_tenants_local_reset()
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_stat_tenants_local_reset';
COMMENT ON FUNCTION pg_catalog.citus_stat_tenants_local_reset() IS 'forget the statements of tenants on this node';

CREATE FUNCTION pg_catalog.citus_stat_tenants_reset()
	RETURNS void LANGUAGE sql SET search_path = pg_catalog
AS $$
	SELECT count(r.*) FROM citus_internal.rows_of_all_nodes('SELECT pg_catalog.citus_stat_tenants_local_reset()') AS r(done text)
$$;
COMMENT ON FUNCTION pg_catalog.citus_stat_tenants_reset() IS 'forget the statements of tenants on all nodes';

-- Limits

CREATE FUNCTION citus_internal.record_tenant_limits(colocationid integer, tenant text, max_concurrent integer,
	max_cpu_share double precision)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_record_tenant_limits';
COMMENT ON FUNCTION citus_internal.record_tenant_limits(integer, text, integer, double precision) IS
	'for nodes: records the limits of a tenant on this node, or removes them';

CREATE FUNCTION citus_internal.tenant_lock_number(colocationid integer, tenant text)
	RETURNS oid LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_tenant_lock_number';
COMMENT ON FUNCTION citus_internal.tenant_lock_number(integer, text) IS 'the object of a tenant''s locks in pg_locks';

CREATE FUNCTION pg_catalog.citus_set_tenant_limits(table_name regclass, tenant "any", max_concurrent integer DEFAULT NULL,
	max_cpu_share double precision DEFAULT NULL)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'citus_set_tenant_limits';
COMMENT ON FUNCTION pg_catalog.citus_set_tenant_limits(regclass, "any", integer, double precision) IS
	'set the limits of a tenant on each node: concurrent transactions, share of CPU time; NULL: no limit';

CREATE VIEW citus.citus_tenant_limits AS
	SELECT l.colocationid AS colocation_id,
		coalesce(nullif(l.tenant_attribute, ''), s.schemaid::pg_catalog.regnamespace::pg_catalog.text) AS tenant_attribute,
		l.max_concurrent, l.max_cpu_share,
		pg_catalog.count(w.pid) FILTER (WHERE w.granted AND w.number < 65534) AS running,
		pg_catalog.count(DISTINCT ROW(w.nodeid, w.pid)) FILTER (WHERE NOT w.granted OR w.number >= 65534) AS waiting,
		pg_catalog.array_agg(DISTINCT w.global_pid) FILTER (WHERE NOT w.granted OR w.number >= 65534) AS waiting_gpids
	FROM pg_catalog.pg_dist_tenant_limit l
	JOIN pg_catalog.pg_dist_colocation c USING (colocationid)
	LEFT JOIN pg_catalog.pg_dist_schema s USING (colocationid)
	LEFT JOIN citus_internal.rows_of_all_nodes($query$
		SELECT l.objid, l.objsubid::integer OPERATOR(pg_catalog.&) 65535, l.granted, l.pid, g.nodeid, g.global_pid
		FROM pg_catalog.pg_locks l, citus_internal.process_gpid(l.pid) g
		WHERE l.locktype OPERATOR(pg_catalog.=) 'object'
			AND l.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_dist_tenant_limit'::pg_catalog.regclass
	$query$) AS w(objid oid, number integer, granted boolean, pid integer, nodeid integer, global_pid bigint)
		ON w.objid = citus_internal.tenant_lock_number(l.colocationid, l.tenant_attribute)
	GROUP BY l.colocationid, l.tenant_attribute, s.schemaid, l.max_concurrent, l.max_cpu_share;
COMMENT ON VIEW citus.citus_tenant_limits IS 'tenants with limits: transactions that run for them on all nodes, and sessions that wait';
ALTER VIEW citus.citus_tenant_limits SET SCHEMA pg_catalog;

-- Values of distribution columns are data: not for everybody.
REVOKE ALL ON FUNCTION citus_internal.stat_tenants(boolean), pg_catalog.citus_stat_tenants_local(boolean),
	pg_catalog.citus_stat_tenants(boolean), pg_catalog.citus_stat_tenants_local_reset(), pg_catalog.citus_stat_tenants_reset()
	FROM public;
GRANT EXECUTE ON FUNCTION citus_internal.stat_tenants(boolean), pg_catalog.citus_stat_tenants_local(boolean),
	pg_catalog.citus_stat_tenants(boolean)
	TO pg_monitor;
GRANT SELECT ON pg_catalog.citus_stat_tenants, pg_catalog.citus_stat_tenants_local, pg_catalog.citus_tenant_limits TO pg_monitor;
