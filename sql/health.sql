-- Findings about the health of the cluster: citus_health().
--
-- Each node looks at itself (local_health); the node that is asked compares what all have answered. A check is a function that
-- returns findings, and a line in local_health() or citus_health(). The remedy of a finding is SQL, which a superuser pastes: names
-- and values of others are quoted in it, and no code of others is called. What must be done outside of SQL is in a comment.

CREATE TYPE citus_internal.finding AS (severity text, subject text, finding text, detail text, remedy text);

CREATE FUNCTION citus_internal.health_of_sessions(patience interval) RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	-- Connections near their limit
	SELECT CASE WHEN used >= 0.95 * most THEN 'critical' ELSE 'warning' END, 'connections', format('%s of %s are in use', used, most),
		format('%s by clients, %s by sessions of other nodes. Which are idle: SELECT * FROM citus_stat_activity', used - by_nodes, by_nodes),
		format('ALTER SYSTEM SET max_connections = %s;  -- then restart this server; standbys first', 2 * setting)
	FROM (SELECT count(*) AS used, count(*) FILTER (WHERE g.is_worker_query) AS by_nodes
			FROM pg_stat_activity a LEFT JOIN LATERAL citus_internal.process_gpid(a.pid) g ON true
			WHERE a.backend_type = 'client backend') u,
		(SELECT current_setting('max_connections')::integer AS setting,
			current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS most) m
	WHERE used >= 0.8 * most
	UNION ALL
	-- Transactions that take long: what works takes longer than what is idle
	SELECT CASE WHEN state = 'active' THEN 'notice' ELSE 'warning' END, format('session %s', g.global_pid),
		format('is in a transaction since %s, %s', a.xact_start::timestamptz(0), a.state),
		format('It keeps its locks, and rows that have died since. Role %s, application "%s": %s', a.usename, a.application_name,
			left(a.query, 200)),
		format('SELECT %s(%s)', CASE WHEN a.state = 'active' THEN 'pg_cancel_backend' ELSE 'pg_terminate_backend' END, g.global_pid)
	FROM pg_stat_activity a, citus_internal.process_gpid(a.pid) g
	WHERE a.backend_type = 'client backend' AND NOT g.is_worker_query AND a.datname = current_database()
		AND a.xact_start < clock_timestamp() - patience * CASE WHEN a.state = 'active' THEN 6 ELSE 1 END
	UNION ALL
	-- Sessions for which others have waited for long
	SELECT 'warning', format('session %s', blocker.global_pid), format('keeps %s sessions waiting for locks', count(DISTINCT l.pid)),
		format('Since %s. State: %s. Statement: %s', min(l.waitstart)::timestamptz(0), a.state, left(a.query, 200)),
		format('SELECT %s(%s)', CASE WHEN a.state = 'active' THEN 'pg_cancel_backend' ELSE 'pg_terminate_backend' END, blocker.global_pid)
	FROM pg_locks l, unnest(pg_blocking_pids(l.pid)) holder (pid), citus_internal.process_gpid(holder.pid) blocker, pg_stat_activity a
	WHERE NOT l.granted AND l.waitstart < clock_timestamp() - least(patience, '1 minute') AND blocker.global_pid IS NOT NULL
		AND a.pid = holder.pid
		AND NOT EXISTS (SELECT FROM pg_locks other WHERE other.pid = holder.pid AND NOT other.granted)
	GROUP BY blocker.global_pid, a.state, a.query
$$;
COMMENT ON FUNCTION citus_internal.health_of_sessions(interval) IS
	'findings about this node''s connections, and about sessions that hold back others';

CREATE FUNCTION citus_internal.health_of_prepared_transactions(patience interval) RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT CASE WHEN part[5] IS NOT NULL THEN 'notice' WHEN x.prepared < clock_timestamp() - patience THEN 'critical' ELSE 'warning' END,
		format('prepared transaction "%s"', x.gid), format('waits for its end since %s', x.prepared::timestamptz(0)),
		'It keeps its locks, and rows that have died since. ' || CASE
			WHEN part IS NULL THEN format('Role %s has prepared it. If the transaction is committed elsewhere, use COMMIT PREPARED.', x.owner)
			WHEN part[5] IS NOT NULL THEN 'It is a part of one that a client has prepared on another node, and ends with that.'
			ELSE coalesce((SELECT format('Node %s:%s has begun it, and knows whether it is committed.', n.nodename, n.nodeport)
				FROM pg_dist_node n WHERE n.groupid = part[1]::integer AND n.noderole = 'primary'),
				'The node that has begun it is no node of this cluster any more.') END,
		CASE WHEN part IS NULL THEN format('ROLLBACK PREPARED %L', x.gid)
			ELSE 'SELECT run_command_on_all_nodes(''SELECT recover_prepared_transactions()'')' END
	FROM pg_prepared_xacts x
	LEFT JOIN regexp_match(x.gid, '^citus_(\d{1,9})_(\d+)_(\d+)_(\d+)(?:_(\d+))?$') part ON true
	WHERE x.database = current_database() AND x.prepared < clock_timestamp() - least(patience, '5 s')
$$;
COMMENT ON FUNCTION citus_internal.health_of_prepared_transactions(interval) IS
	'findings about transactions that are prepared on this node';

CREATE FUNCTION citus_internal.health_of_storage() RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT CASE WHEN available_disk_size < 0.05 * total_disk_size THEN 'critical' ELSE 'warning' END, 'disk',
		format('%s of %s are free', pg_size_pretty(available_disk_size), pg_size_pretty(total_disk_size)),
		'The file system with the data. When it is full, the server stops.',
		'SELECT citus_rebalance_start(rebalance_strategy => ''by_disk_size'');  -- or give the server more space, or drop what is not needed'
	FROM citus_local_disk_space_stats() WHERE available_disk_size < 0.1 * total_disk_size
	UNION ALL
	SELECT 'warning', 'archive', format('could not archive %s since %s', last_failed_wal, last_failed_time::timestamptz(0)),
		'Backups are incomplete from there on, and pg_wal grows. The server''s log has the message of archive_command.',
		'-- mend what keeps archive_command from succeeding'
	FROM pg_stat_archiver
	WHERE current_setting('archive_mode') <> 'off' AND last_failed_time > coalesce(last_archived_time, '-infinity')
	UNION ALL
	SELECT 'warning', format('replication slot "%s"', slot_name), format('keeps %s of write-ahead log', pg_size_pretty(kept)),
		'Nobody reads from it.', format('SELECT pg_drop_replication_slot(%L);  -- or start its reader', slot_name)
	FROM (SELECT slot_name, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
			restart_lsn) AS kept FROM pg_replication_slots WHERE NOT active AND slot_name !~ '^citus_shard_move_slot_') s
	WHERE kept > pg_size_bytes(current_setting('max_wal_size'))
$$;
COMMENT ON FUNCTION citus_internal.health_of_storage() IS
	'findings about this node''s disk space and write-ahead log';

CREATE FUNCTION citus_internal.health_of_settings() RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT c.severity, format('setting %s', s.name), format('is %s', s.setting), c.why,
		format('ALTER SYSTEM SET %s = %s;', s.name, c.better) || CASE WHEN s.context = 'postmaster' THEN '  -- then restart this server'
			ELSE E'\nSELECT pg_reload_conf();' END
	FROM pg_settings s, LATERAL (VALUES
		('fsync', 'critical', s.setting = 'off', 'on', 'A crash of the operating system destroys the data.'),
		('full_page_writes', 'critical', s.setting = 'off', 'on', 'A crash of the operating system destroys the data.'),
		('autovacuum', 'warning', s.setting = 'off', 'on', 'Tables grow, and statistics get old.'),
		('wal_level', 'notice', s.setting <> 'logical', 'logical', 'Moves of shards block writers.'),
		('max_prepared_transactions', 'warning', CASE WHEN s.vartype = 'integer' THEN s.setting::bigint END < current_setting('max_connections')::integer,
			current_setting('max_connections')::integer * 2 || '', 'Less than max_connections: commits over several nodes may fail.'),
		(CASE WHEN s.name ~ '^recovery_target_(name|time|lsn|xid)$' THEN s.name END, 'warning',
			s.setting <> '' AND NOT s.pending_restart AND NOT pg_is_in_recovery(), quote_literal(''),
			'Left of a restore: a standby that is made of this server stops there, and can''t be promoted.')
	) c (name, severity, found, better, why)
	WHERE s.name = c.name AND c.found
$$;
COMMENT ON FUNCTION citus_internal.health_of_settings() IS
	'findings about settings of this node that lose data or speed';

CREATE FUNCTION citus_internal.health_of_standbys(patience interval) RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT 'critical', 'server', 'is a standby', 'Nothing can be written here. Has the node''s primary failed, or was it replaced?',
		'SELECT pg_promote();  -- unless another server is the primary: then citus_update_node() with its address'
	WHERE pg_is_in_recovery()
	UNION ALL
	SELECT 'critical', 'synchronous standby', 'is missing', format('Commits wait for a standby in synchronous_standby_names (%s).',
			current_setting('synchronous_standby_names')),
		E'ALTER SYSTEM SET synchronous_standby_names = '''';  -- or start the standby\nSELECT pg_reload_conf();'
	WHERE current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery()
		AND NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))
	UNION ALL
	SELECT 'warning', format('standby "%s"', application_name), format('is %s behind', coalesce(replay_lag::interval(0)::text,
			pg_size_pretty(behind))),
		format('Address %s, state %s, %s of write-ahead log are still to be replayed.', coalesce(client_addr::text, 'local'), state,
			pg_size_pretty(behind)),
		'-- look at its load, its log, and at queries that hold replay back (max_standby_streaming_delay)'
	FROM (SELECT *, CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) END AS behind
		FROM pg_stat_replication WHERE application_name !~ '^citus_shard_move') r
	WHERE replay_lag > least(patience, '1 minute') OR behind > pg_size_bytes(current_setting('max_wal_size'))
$$;
COMMENT ON FUNCTION citus_internal.health_of_standbys(interval) IS
	'findings about the standbys of this node';

-- A distributed table's index is there on all nodes: the coordinator tells.
CREATE FUNCTION citus_internal.health_of_tables() RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog SET citus.sum_over_shards = off		-- other nodes are not asked
AS $$
	SELECT 'warning', format('index %s', i.indexrelid::regclass), 'is invalid', format('Statements on table %s do not use it: '
			'CREATE or REINDEX INDEX CONCURRENTLY has failed. It was to be: %s', i.indrelid::regclass, pg_get_indexdef(i.indexrelid)),
		format('DROP INDEX %s;  -- then create it anew, if it is still wanted', i.indexrelid::regclass)
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE NOT i.indisvalid AND c.relkind = 'i' AND c.relnamespace NOT IN ('citus_data'::regnamespace, 'pg_toast'::regnamespace)
		AND (citus_is_coordinator() OR NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = i.indrelid))
		AND NOT EXISTS (SELECT FROM pg_locks l WHERE l.relation = i.indrelid AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted)
	UNION ALL
	SELECT 'warning', format('table %s', max(s.logicalrelid::regclass::text)),
		format('has %s dead rows in %s shards of this node', sum(s.n_dead_tup), count(*)),
		'Autovacuum is far behind: old transactions, prepared ones and slots hold it back, or it is slow (autovacuum_vacuum_cost_limit).',
		format('VACUUM (ANALYZE) %s', s.logicalrelid::regclass)
	FROM (SELECT coalesce(d.logicalrelid, t.relid) AS logicalrelid, t.n_dead_tup, t.n_live_tup
			FROM pg_stat_all_tables t
			LEFT JOIN (SELECT d.logicalrelid, to_regclass(shard_name(d.logicalrelid, d.shardid)) AS shard
				FROM pg_dist_shard d JOIN pg_dist_placement p USING (shardid)
				WHERE p.groupid = (SELECT g.groupid FROM pg_dist_local_group g)) d ON d.shard = t.relid
			WHERE d.shard IS NOT NULL OR NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = t.relid)) s
	WHERE s.n_dead_tup > 10000 AND s.n_dead_tup > 3 * (current_setting('autovacuum_vacuum_threshold')::float8 +
		current_setting('autovacuum_vacuum_scale_factor')::float8 * s.n_live_tup)
	GROUP BY s.logicalrelid
	UNION ALL
	SELECT 'critical', 'transaction ids', format('run out: the oldest rows are %s transactions old', age(datfrozenxid)),
		'At 2,100,000,000 the server refuses writes. Old transactions, prepared ones and slots keep VACUUM from helping.',
		'VACUUM (FREEZE)'
	FROM pg_database WHERE datname = current_database() AND age(datfrozenxid) > 1200000000
$$;
COMMENT ON FUNCTION citus_internal.health_of_tables() IS
	'findings about indexes, shards and tables on this node';

CREATE FUNCTION citus_internal.health_of_jobs() RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT 'warning', format('background job %s', j.job_id), format('has failed at %s', j.finished_at::timestamptz(0)),
		format('%s: %s', j.description, (SELECT left(string_agg(DISTINCT t.message, '; '), 500) FROM pg_dist_background_task t
			WHERE t.job_id = j.job_id AND t.status = 'error')),
		CASE j.job_type WHEN 'rebalance' THEN 'SELECT citus_rebalance_start()'
			ELSE format('-- do again what is left of it: SELECT * FROM citus_job_status(%s)', j.job_id) END
	FROM pg_dist_background_job j
	WHERE j.state = 'failed' AND j.finished_at > clock_timestamp() - interval '7 days'
		AND NOT EXISTS (SELECT FROM pg_dist_background_job later WHERE later.job_type = j.job_type AND later.job_id > j.job_id
			AND later.state <> 'cancelled')
$$;
COMMENT ON FUNCTION citus_internal.health_of_jobs() IS 'findings about background jobs; on the coordinator';

-- Of the CPU time that all tenants have used in this period and the last one.
CREATE FUNCTION citus_internal.health_of_tenants() RETURNS SETOF citus_internal.finding
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT 'notice', format('tenant %L of %s', t.tenant_attribute, p.logicalrelid),
		format('uses %s %% of the CPU time of tenants on this node', round(100 * t.cpu::numeric / t.total::numeric)),
		format('%s s in this period and the last one, of %s s each. It may be given a shard of its own, which can be moved to a node with less load: '
			'isolate_tenant_to_new_shard().', round(t.cpu::numeric, 1), period),
		format('SELECT citus_set_tenant_limits(%L, %L, max_cpu_share => 0.5)', p.logicalrelid, t.tenant_attribute)
	FROM (SELECT colocation_id, tenant_attribute, cpu, sum(cpu) OVER () AS total
			FROM citus_stat_tenants_local(true), LATERAL (SELECT cpu_usage_in_this_period + cpu_usage_in_last_period AS cpu) u) t,
		(SELECT extract(epoch FROM current_setting('citus.stat_tenants_period')::interval)::integer AS period) q,
		LATERAL (SELECT logicalrelid FROM pg_dist_partition WHERE colocationid = t.colocation_id AND partmethod = 'h'
			ORDER BY logicalrelid LIMIT 1) p
	WHERE t.cpu > 0.5 * t.total AND t.total > 0.08 * period
		AND NOT EXISTS (SELECT FROM pg_dist_tenant_limit l WHERE l.colocationid = t.colocation_id AND l.tenant_attribute = t.tenant_attribute)
$$;
COMMENT ON FUNCTION citus_internal.health_of_tenants() IS 'findings about tenants that use most of this node';

-- What the node that is asked compares: versions, settings, the clock, sizes of shards, and operations under way, which use slots.
CREATE FUNCTION citus_internal.local_health(patience interval) RETURNS jsonb
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT jsonb_build_object(
		'findings', (SELECT coalesce(jsonb_agg(f), '[]') FROM (
			SELECT * FROM citus_internal.health_of_sessions(patience)
			UNION ALL SELECT * FROM citus_internal.health_of_prepared_transactions(patience)
			UNION ALL SELECT * FROM citus_internal.health_of_storage()
			UNION ALL SELECT * FROM citus_internal.health_of_settings()
			UNION ALL SELECT * FROM citus_internal.health_of_standbys(patience)
			UNION ALL SELECT * FROM citus_internal.health_of_tables()
			UNION ALL SELECT * FROM citus_internal.health_of_jobs()
			UNION ALL SELECT * FROM citus_internal.health_of_tenants()) f),
		'versions', jsonb_build_object('PostgreSQL', current_setting('server_version'),
			'the extension', (SELECT extversion FROM pg_extension WHERE extname = 'citus'),
			'the library', current_setting('citus.library_version')),
		'settings', (SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE name IN ('max_connections',
			'max_prepared_transactions', 'max_worker_processes', 'wal_level', 'citus.transport', 'citus.node_conninfo')),
		'slots', (SELECT coalesce(jsonb_object_agg(slot_name, active), '{}') FROM pg_replication_slots
			WHERE slot_name ~ '^citus_shard_move_slot_' AND database = current_database()),
		'operations', (SELECT coalesce(jsonb_agg(objid::bigint), '[]') FROM pg_locks
			WHERE locktype = 'object' AND classid = 'pg_dist_cleanup'::regclass),
		'sizes', (SELECT coalesce(jsonb_object_agg(shardid, size), '{}') FROM citus_internal.local_shard_sizes()),
		'clock', clock_timestamp())
$$;
COMMENT ON FUNCTION citus_internal.local_health(interval) IS 'this node''s part of citus_health()';

-- answers: an array of {nodeid, success, answer or error}, of all active nodes.
CREATE FUNCTION citus_internal.health_of_nodes(answers jsonb, asked timestamptz,
	OUT nodeid integer, OUT finding citus_internal.finding)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	WITH answer AS MATERIALIZED (
		SELECT n.nodeid, n.groupid, n.nodename, n.nodeport, (a->>'success')::boolean AS success, a->>'error' AS error, a->'answer' AS said
		FROM jsonb_array_elements(answers) a JOIN pg_dist_node n ON n.nodeid = (a->>'nodeid')::integer
	), first AS (
		SELECT * FROM answer WHERE success ORDER BY groupid LIMIT 1
	)
	SELECT a.nodeid, ROW('critical', 'node', CASE WHEN a.error ~ '^ERROR: ' THEN 'did not answer' ELSE 'cannot be reached' END, a.error,
		CASE WHEN a.groupid = 0 THEN format('-- start its server, or promote its standby and give its address: '
				'SELECT citus_update_node(%s, ''..'', ..)', a.nodeid)
			ELSE format('SELECT citus_disable_node(%L, %s, force => true);  -- goes on without it; or start its server, or promote its standby',
				a.nodename, a.nodeport) END)::citus_internal.finding
	FROM answer a WHERE NOT a.success
	UNION ALL
	SELECT n.nodeid, ROW('critical', 'node', 'is disabled', 'Its shards are not available.',
		format('SELECT citus_activate_node(%L, %s)', n.nodename, n.nodeport))::citus_internal.finding
	FROM pg_dist_node n WHERE n.noderole = 'primary' AND NOT n.isactive
	UNION ALL
	SELECT n.nodeid, ROW('warning', 'node', 'has missed changes of nodes', 'It was down meanwhile. It gets them when it can be reached, '
			'every citus.metadata_sync_interval.', 'SELECT start_metadata_sync_to_all_nodes()')::citus_internal.finding
	FROM pg_dist_node n WHERE n.noderole = 'primary' AND n.isactive AND NOT n.metadatasynced AND n.groupid <> 0
	UNION ALL
	SELECT a.nodeid, ROW(CASE WHEN v.key = 'PostgreSQL' THEN 'notice' ELSE 'warning' END, format('version of %s', v.key),
		format('is %s', v.value), format('It is %s on node %s:%s.', first.said->'versions'->>v.key, first.nodename, first.nodeport),
		CASE v.key WHEN 'the extension' THEN 'ALTER EXTENSION citus UPDATE' ELSE '-- install the same on all nodes, and restart them' END
		)::citus_internal.finding
	FROM answer a, first, jsonb_each_text(a.said->'versions') v
	WHERE a.success AND v.value <> first.said->'versions'->>v.key
	UNION ALL
	SELECT a.nodeid, ROW('notice', format('setting %s', s.key), format('is %s', quote_literal(s.value)),
		format('It is %s on node %s:%s.', quote_literal(first.said->'settings'->>s.key), first.nodename, first.nodeport),
		format('ALTER SYSTEM SET %s = %L;  -- then restart this server', s.key, first.said->'settings'->>s.key))::citus_internal.finding
	FROM answer a, first, jsonb_each_text(a.said->'settings') s
	WHERE a.success AND s.value <> first.said->'settings'->>s.key
	UNION ALL
	SELECT a.nodeid, ROW('warning', 'clock', format('differs by %s', clock - CASE WHEN clock < asked THEN asked ELSE clock_timestamp() END),
		'Snapshots over all nodes wait for the clock that is ahead.', '-- have all servers get the time from the same servers (chrony)'
		)::citus_internal.finding
	FROM answer a, LATERAL (SELECT (a.said->>'clock')::timestamptz AS clock) c
	WHERE a.success AND (clock < asked - interval '1 s' OR clock > clock_timestamp() + interval '1 s')
	UNION ALL
	SELECT a.nodeid, ROW('warning', format('replication slot "%s"', s.key), 'is left of a move that was interrupted',
		'It keeps write-ahead log. Nodes remove what is left every citus.defer_shard_delete_interval, if they can.',
		'CALL citus_cleanup_orphaned_resources()')::citus_internal.finding
	FROM answer a, jsonb_each(a.said->'slots') s
	WHERE a.success AND s.value = 'false'
		AND NOT EXISTS (SELECT FROM answer o WHERE o.success AND o.said->'operations' @> to_jsonb(substring(s.key, '\d+$')::bigint))
$$;
COMMENT ON FUNCTION citus_internal.health_of_nodes(jsonb, timestamptz) IS 'findings about nodes that differ, or don''t answer';

-- Where a shard is large beside the others of its tables, and where a node has much more than others, or much less.
CREATE FUNCTION citus_internal.health_of_sizes(answers jsonb, OUT nodeid integer, OUT finding citus_internal.finding)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	WITH shard AS MATERIALIZED (
		SELECT n.nodeid, p.colocationid, s.shardminvalue, min(s.shardid) AS shardid, max(s.shardmaxvalue) AS shardmaxvalue,
			sum(z.value::bigint) AS size, (array_agg(s.logicalrelid ORDER BY z.value::bigint DESC))[1] AS largest,
			(array_agg(p.partkey ORDER BY z.value::bigint DESC))[1] AS partkey, count(*) AS tables
		FROM jsonb_array_elements(answers) a JOIN pg_dist_node n ON n.nodeid = (a->>'nodeid')::integer,
			jsonb_each_text(a->'answer'->'sizes') z JOIN pg_dist_shard s ON s.shardid = z.key::bigint
			JOIN pg_dist_partition p USING (logicalrelid)
		WHERE p.partmethod = 'h'
		GROUP BY n.nodeid, p.colocationid, s.shardminvalue
	), large AS (
		SELECT s.*, mean, column_to_column_name(s.largest, s.partkey) AS key
		FROM shard s JOIN (SELECT colocationid, avg(size) AS mean FROM shard GROUP BY 1 HAVING count(*) > 1) m USING (colocationid)
		WHERE s.size > 4 * mean AND s.size > 67108864 AND s.shardminvalue <> s.shardmaxvalue
	), node AS (
		SELECT n.nodeid, coalesce(sum(s.size), 0) AS size FROM pg_dist_node n LEFT JOIN shard s USING (nodeid)
		WHERE n.noderole = 'primary' AND n.isactive AND n.shouldhaveshards GROUP BY 1
	)
	SELECT l.nodeid, ROW('warning', format('shard %s of %s', l.shardid, l.largest),
		format('has %s, %s times the mean', pg_size_pretty(l.size), round(l.size / l.mean, 1)),
		CASE WHEN tenant IS NULL THEN 'Its rows have many values of the distribution column. The remedy cuts it into two.'
			ELSE format('The value %L of %s has many of its rows. The remedy gives them a shard of their own, which can be moved.',
				tenant, l.key) END,
		CASE WHEN tenant IS NULL THEN format('SELECT citus_internal.split_large_shard(%s)', l.shardid)
			ELSE format('SELECT isolate_tenant_to_new_shard(%L, %L%s)', l.largest, tenant, CASE WHEN l.tables > 1 THEN ', ''CASCADE''' END) END
		)::citus_internal.finding
	FROM large l LEFT JOIN LATERAL (
		SELECT m.value AS tenant
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = l.key
			-- no domain, whose checks would run with the caller's rights
			JOIN pg_type y ON y.oid = a.atttypid AND y.typtype IN ('b', 'e') AND y.typelem = 0
			JOIN pg_stats t ON t.schemaname = n.nspname AND t.tablename = c.relname AND t.attname = l.key,
			unnest(t.most_common_vals::text::text[], t.most_common_freqs) m (value, frequency)
		WHERE c.oid = l.largest AND m.frequency > 0.02 AND get_shard_id_for_distribution_column(l.largest, m.value) = (
			SELECT s.shardid FROM pg_dist_shard s WHERE s.logicalrelid = l.largest AND s.shardminvalue = l.shardminvalue)
		ORDER BY m.frequency DESC LIMIT 1) t ON true
	UNION ALL
	SELECT n.nodeid, ROW('notice', 'shards', format('have %s here, %s on each node on average', pg_size_pretty(n.size), pg_size_pretty(mean)),
		'What a rebalance would do: SELECT * FROM get_rebalance_table_shards_plan()', 'SELECT citus_rebalance_start()')::citus_internal.finding
	FROM node n, (SELECT avg(size) AS mean FROM node) m
	WHERE mean > 33554432 AND (n.size > 1.5 * mean OR n.size < 0.5 * mean)
		AND NOT answers @> '[{"success": false}]'
$$;
COMMENT ON FUNCTION citus_internal.health_of_sizes(jsonb) IS 'findings about shards and nodes that are larger than others';

CREATE FUNCTION citus_internal.health_of_connections(OUT nodeid integer, OUT finding citus_internal.finding)
	RETURNS SETOF record LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT n.nodeid, ROW(CASE WHEN p.role IS NULL THEN 'warning' ELSE 'critical' END,
		format('node %s:%s', p.to_nodename, p.to_nodeport),
		CASE WHEN p.role IS NULL THEN 'does not go together with this one' ELSE format('cannot be logged in on as %s from here', p.role) END,
		p.problem, CASE WHEN p.role IS NULL THEN '-- make them equal'
			ELSE format('SELECT citus_set_node_password(%L, ''..'');  -- with its password; or let it in by pg_hba.conf there', p.role) END
		)::citus_internal.finding
	FROM citus_internal.node_problems() p JOIN pg_dist_node n ON n.nodename = p.from_nodename AND n.nodeport = p.from_nodeport
		JOIN pg_dist_node other ON other.nodename = p.to_nodename AND other.nodeport = p.to_nodeport
	WHERE p.role IS NOT NULL OR n.nodeid < other.nodeid
$$;
COMMENT ON FUNCTION citus_internal.health_of_connections() IS 'findings about logins between nodes';

CREATE FUNCTION pg_catalog.citus_health(patience interval DEFAULT '10 minutes', check_logins boolean DEFAULT true,
	OUT severity text, OUT nodename text, OUT nodeport integer, OUT subject text, OUT finding text, OUT detail text, OUT remedy text)
	RETURNS SETOF record LANGUAGE plpgsql STRICT
	SET search_path = pg_catalog
	SET citus.node_connection_timeout = '5s'
	SET client_min_messages = error		-- a node that is down is a finding
AS $$
DECLARE
	asked timestamptz := clock_timestamp();
	answers jsonb;
BEGIN
	SELECT jsonb_agg(jsonb_build_object('nodeid', r.nodeid, 'success', r.success,
		CASE WHEN r.success THEN 'answer' ELSE 'error' END, CASE WHEN r.success THEN r.result::jsonb ELSE to_jsonb(r.result) END))
	INTO answers
	FROM run_command_on_all_nodes(format('SELECT citus_internal.local_health(%L)', patience),
		give_warning_for_connection_errors => true) r;
	RETURN QUERY
		SELECT (found.finding).severity, coalesce(n.nodename, 'localhost'), coalesce(n.nodeport, current_setting('port')::integer),
			(found.finding).subject, (found.finding).finding, (found.finding).detail, (found.finding).remedy
		FROM (
			SELECT (a->>'nodeid')::integer AS nodeid, f AS finding
			FROM jsonb_array_elements(answers) a, jsonb_populate_recordset(NULL::citus_internal.finding, a->'answer'->'findings') f
			WHERE (a->>'success')::boolean
			UNION ALL SELECT * FROM citus_internal.health_of_nodes(answers, asked)
			UNION ALL SELECT * FROM citus_internal.health_of_sizes(answers)
			-- not while a node is down, for which each of the others would wait
			UNION ALL SELECT c.* FROM (SELECT WHERE check_logins AND NOT answers @> '[{"success": false}]'
				AND has_function_privilege('citus_internal.node_problems()', 'EXECUTE')) w, citus_internal.health_of_connections() c) found
		LEFT JOIN pg_dist_node n USING (nodeid)
		ORDER BY array_position(ARRAY['critical', 'warning', 'notice'], (found.finding).severity), n.nodeid, 4, 5;
END
$$;
COMMENT ON FUNCTION pg_catalog.citus_health(interval, boolean) IS
	'what is wrong or soon will be, on all nodes, with SQL that mends it, to be run on that node; transactions may take as long as patience';

REVOKE ALL ON FUNCTION citus_internal.health_of_sessions(interval), citus_internal.health_of_prepared_transactions(interval),
	citus_internal.health_of_storage(), citus_internal.health_of_settings(), citus_internal.health_of_standbys(interval),
	citus_internal.health_of_tables(), citus_internal.health_of_jobs(), citus_internal.health_of_tenants(),
	citus_internal.local_health(interval), citus_internal.health_of_nodes(jsonb, timestamptz), citus_internal.health_of_sizes(jsonb),
	citus_internal.health_of_connections(), pg_catalog.citus_health(interval, boolean) FROM public;
GRANT EXECUTE ON FUNCTION citus_internal.health_of_sessions(interval), citus_internal.health_of_prepared_transactions(interval),
	citus_internal.health_of_storage(), citus_internal.health_of_settings(), citus_internal.health_of_standbys(interval),
	citus_internal.health_of_tables(), citus_internal.health_of_jobs(), citus_internal.health_of_tenants(),
	citus_internal.local_health(interval), citus_internal.health_of_nodes(jsonb, timestamptz), citus_internal.health_of_sizes(jsonb),
	citus_internal.health_of_connections(), pg_catalog.citus_health(interval, boolean) TO pg_monitor;
GRANT SELECT ON pg_catalog.pg_dist_tenant_limit TO pg_monitor;

-- What each node has to do: for dashboards, the console and exporters.

CREATE FUNCTION citus_internal.local_load() RETURNS jsonb
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	SELECT to_jsonb(s) || to_jsonb(d) || to_jsonb(z) || to_jsonb(f) || coalesce(to_jsonb(c), '{}')
	FROM (SELECT count(*) FILTER (WHERE NOT g.is_worker_query) AS clients, count(*) FILTER (WHERE g.is_worker_query) AS node_sessions,
			count(*) FILTER (WHERE a.state = 'active' AND a.pid <> pg_backend_pid()) AS active_sessions,
			count(*) FILTER (WHERE a.wait_event_type = 'Lock') AS lock_waits,
			coalesce(max(extract(epoch FROM clock_timestamp() - a.xact_start)) FILTER (WHERE a.pid <> pg_backend_pid()), 0) AS oldest_transaction,
			current_setting('max_connections')::integer AS max_connections,
			(SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()) AS prepared_transactions
		FROM pg_stat_activity a LEFT JOIN LATERAL citus_internal.process_gpid(a.pid) g ON true
		WHERE a.backend_type = 'client backend') s,
		(SELECT xact_commit AS commits, xact_rollback AS rollbacks, deadlocks, tup_returned + tup_fetched AS rows_read,
			tup_inserted + tup_updated + tup_deleted AS rows_written, blks_hit AS blocks_hit, blks_read AS blocks_read
		FROM pg_stat_database WHERE datname = current_database()) d,
		(SELECT count(*) AS shards, coalesce(sum(size), 0)::bigint AS shard_size FROM citus_internal.local_shard_sizes()) z,
		(SELECT available_disk_size AS disk_free, total_disk_size AS disk_size FROM citus_local_disk_space_stats()) f
		LEFT JOIN LATERAL (SELECT query_execution_single_shard AS single_shard_statements, query_execution_multi_shard AS multi_shard_statements
			FROM citus_stat_counters WHERE name = current_database()) c ON true
$$;
COMMENT ON FUNCTION citus_internal.local_load() IS 'this node''s part of citus_stat_nodes';

CREATE FUNCTION pg_catalog.citus_stat_nodes(OUT nodeid integer, OUT nodename text, OUT nodeport integer, OUT up boolean,
	OUT clients integer, OUT node_sessions integer, OUT active_sessions integer, OUT max_connections integer, OUT lock_waits integer,
	OUT oldest_transaction double precision, OUT prepared_transactions integer, OUT commits bigint, OUT rollbacks bigint,
	OUT deadlocks bigint, OUT rows_read bigint, OUT rows_written bigint, OUT blocks_hit bigint, OUT blocks_read bigint,
	OUT single_shard_statements bigint, OUT multi_shard_statements bigint, OUT shards integer, OUT shard_size bigint,
	OUT disk_free bigint, OUT disk_size bigint)
	RETURNS SETOF record LANGUAGE sql STRICT
	SET search_path = pg_catalog
	SET citus.node_connection_timeout = '5s'
	SET client_min_messages = error
AS $$
	SELECT r.nodeid, coalesce(n.nodename, 'localhost'), coalesce(n.nodeport, current_setting('port')::integer), r.success, l.*
	FROM run_command_on_all_nodes('SELECT citus_internal.local_load()', give_warning_for_connection_errors => true) r
	LEFT JOIN pg_dist_node n USING (nodeid)
	LEFT JOIN LATERAL jsonb_to_record(CASE WHEN r.success THEN r.result::jsonb END) AS l(clients integer, node_sessions integer,
		active_sessions integer, max_connections integer, lock_waits integer, oldest_transaction double precision,
		prepared_transactions integer, commits bigint, rollbacks bigint, deadlocks bigint, rows_read bigint, rows_written bigint,
		blocks_hit bigint, blocks_read bigint, single_shard_statements bigint, multi_shard_statements bigint, shards integer,
		shard_size bigint, disk_free bigint, disk_size bigint) ON true
	ORDER BY n.groupid
$$;
COMMENT ON FUNCTION pg_catalog.citus_stat_nodes() IS 'load of each active node: sessions, transactions, rows, shards, disk space; nulls for one that is down';

CREATE VIEW citus.citus_stat_nodes AS SELECT * FROM pg_catalog.citus_stat_nodes();
COMMENT ON VIEW citus.citus_stat_nodes IS 'load of each active node: sessions, transactions, rows, shards, disk space; nulls for one that is down';
ALTER VIEW citus.citus_stat_nodes SET SCHEMA pg_catalog;

REVOKE ALL ON FUNCTION citus_internal.local_load(), pg_catalog.citus_stat_nodes() FROM public;
GRANT EXECUTE ON FUNCTION citus_internal.local_load(), pg_catalog.citus_stat_nodes() TO pg_monitor;
GRANT SELECT ON pg_catalog.citus_stat_nodes TO pg_monitor;
