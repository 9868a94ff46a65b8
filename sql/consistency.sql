-- Whether the nodes agree on what there is, and have it: citus_check_cluster(), for after a restore.

CREATE FUNCTION citus_internal.local_consistency() RETURNS jsonb
	LANGUAGE sql STRICT SET search_path = pg_catalog
AS $$
	WITH own AS (
		SELECT groupid FROM pg_dist_local_group
	), shard AS MATERIALIZED (
		SELECT s.logicalrelid, s.shardid, shard_name(s.logicalrelid, s.shardid) AS name,
			to_regclass(shard_name(s.logicalrelid, s.shardid)) AS relation
		FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN own USING (groupid) WHERE p.shardstate = 1
	), columns AS MATERIALIZED (
		SELECT attrelid, string_agg(format('%s %s%s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN ' NOT NULL' END),
			', ' ORDER BY attnum) AS list
		FROM pg_attribute
		WHERE attnum > 0 AND NOT attisdropped AND attrelid IN (SELECT logicalrelid FROM pg_dist_partition UNION SELECT relation FROM shard)
		GROUP BY attrelid
	)
	SELECT jsonb_build_object(
		'missing', (SELECT coalesce(jsonb_agg(name), '[]') FROM shard WHERE relation IS NULL),
		'different', (SELECT coalesce(jsonb_agg(s.name), '[]') FROM shard s JOIN columns t ON t.attrelid = s.logicalrelid
			JOIN columns c ON c.attrelid = s.relation WHERE s.relation <> s.logicalrelid AND t.list <> c.list),
		'unknown', (SELECT coalesce(jsonb_agg(c.oid::regclass::text), '[]') FROM pg_class c
			WHERE c.relnamespace = 'citus_data'::regnamespace AND c.relkind IN ('r', 'p', 'f')
				AND NOT EXISTS (SELECT FROM shard s WHERE s.relation = c.oid)
				AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)),
		'digests', (SELECT jsonb_object_agg(name, md5(coalesce(digest, ''))) FROM (VALUES
			('nodes', (SELECT string_agg(ROW(nodeid, groupid, nodename, nodeport, noderole, isactive, shouldhaveshards)::text, ';'
				ORDER BY nodeid) FROM pg_dist_node)),
			('tables', (SELECT string_agg(ROW(logicalrelid::regclass::text, partmethod, column_to_column_name(logicalrelid, partkey), repmodel,
				colocationid)::text, ';' ORDER BY logicalrelid::regclass::text COLLATE "C") FROM pg_dist_partition)),
			('columns of tables', (SELECT string_agg(ROW(logicalrelid::regclass::text, list)::text, ';'
				ORDER BY logicalrelid::regclass::text COLLATE "C") FROM pg_dist_partition JOIN columns ON attrelid = logicalrelid)),
			('shards', (SELECT string_agg(ROW(logicalrelid::regclass::text, shardid, shardminvalue, shardmaxvalue)::text, ';' ORDER BY shardid)
				FROM pg_dist_shard)),
			('placements', (SELECT string_agg(ROW(shardid, groupid)::text, ';' ORDER BY shardid, groupid) FROM pg_dist_placement
				WHERE shardstate = 1)),
			('colocation groups', (SELECT string_agg(ROW(colocationid, shardcount, distributioncolumntype::regtype::text)::text, ';'
				ORDER BY colocationid) FROM pg_dist_colocation)),
			('distributed schemas', (SELECT string_agg(ROW(schemaid::regnamespace::text, colocationid)::text, ';' ORDER BY colocationid)
				FROM pg_dist_schema))) d (name, digest)))
$$;
COMMENT ON FUNCTION citus_internal.local_consistency() IS 'this node''s part of citus_check_cluster()';

CREATE FUNCTION pg_catalog.citus_check_cluster(check_rows boolean DEFAULT false,
	OUT nodename text, OUT nodeport integer, OUT subject text, OUT problem text)
	RETURNS SETOF record LANGUAGE plpgsql STRICT
	SET search_path = pg_catalog
	SET client_min_messages = error
AS $$
DECLARE
	answers jsonb;
	relation regclass;
BEGIN
	SELECT jsonb_agg(jsonb_build_object('nodeid', r.nodeid, CASE WHEN r.success THEN 'answer' ELSE 'error' END,
		CASE WHEN r.success THEN r.result::jsonb ELSE to_jsonb(r.result) END)) INTO answers
	FROM run_command_on_all_nodes('SELECT citus_internal.local_consistency()', give_warning_for_connection_errors => true) r;
	RETURN QUERY
		WITH answer AS MATERIALIZED (
			SELECT n.groupid, n.nodename, n.nodeport, a->>'error' AS error, a->'answer' AS said
			FROM jsonb_array_elements(answers) a LEFT JOIN pg_dist_node n ON n.nodeid = (a->>'nodeid')::integer
		), first AS (
			SELECT * FROM answer WHERE said IS NOT NULL ORDER BY groupid LIMIT 1
		)
		SELECT coalesce(a.nodename, 'localhost'), coalesce(a.nodeport, current_setting('port')::integer), p.subject, p.problem
		FROM answer a, first, LATERAL (
			SELECT 'node' AS subject, a.error AS problem WHERE a.error IS NOT NULL
			UNION ALL SELECT 'metadata', format('other %s than on node %s:%s', d.key, first.nodename, first.nodeport)
				FROM jsonb_each_text(a.said->'digests') d WHERE d.value <> first.said->'digests'->>d.key
			UNION ALL SELECT s.value, 'the shard is missing' FROM jsonb_array_elements_text(a.said->'missing') s
			UNION ALL SELECT s.value, 'the shard has other columns than its table' FROM jsonb_array_elements_text(a.said->'different') s
			UNION ALL SELECT s.value, 'is no shard of this node: CALL citus_cleanup_orphaned_resources(), or drop it'
				FROM jsonb_array_elements_text(a.said->'unknown') s) p
		ORDER BY a.groupid, 3, 4;
	IF NOT check_rows OR answers @? '$[*].error' THEN
		RETURN;
	END IF;
	FOR relation IN SELECT p.logicalrelid FROM pg_dist_partition p WHERE p.partmethod = 'n' AND p.repmodel = 't' ORDER BY 1 LOOP
		RETURN QUERY SELECT c.nodename, c.nodeport, relation::text, 'has other rows than on the first node' FROM citus_check_reference_table(relation) c
			WHERE NOT c.equal;
	END LOOP;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_check_cluster(boolean) IS
	'what nodes disagree about, and shards that are missing or too many; with check_rows, also whether copies of reference tables are equal';
REVOKE ALL ON FUNCTION citus_internal.local_consistency(), pg_catalog.citus_check_cluster(boolean) FROM public;
