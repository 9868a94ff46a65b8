-- Views.

CREATE VIEW citus.pg_dist_shard_placement AS
	SELECT p.shardid, p.shardstate, p.shardlength, n.nodename, n.nodeport, p.placementid
	FROM pg_catalog.pg_dist_placement p
	JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid
	WHERE p.shardstate = 1 AND n.noderole = 'primary';
COMMENT ON VIEW citus.pg_dist_shard_placement IS 'shards and the nodes that hold them';
ALTER VIEW citus.pg_dist_shard_placement SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.pg_dist_shard_placement TO public;

CREATE FUNCTION citus_internal.table_type(partmethod "char", repmodel "char", colocationid integer)
	RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog
AS $$
	SELECT CASE
		WHEN partmethod = 'n' AND repmodel = 't' THEN 'reference'
		WHEN EXISTS (SELECT FROM pg_dist_colocation c
			WHERE c.colocationid = table_type.colocationid AND c.replicationfactor < -1) THEN 'local'
		WHEN EXISTS (SELECT FROM pg_dist_schema s WHERE s.colocationid = table_type.colocationid) THEN 'schema'
		ELSE 'distributed'
	END
$$;
COMMENT ON FUNCTION citus_internal.table_type("char", "char", integer) IS
	'kind of a table as the views name it';

CREATE VIEW citus.citus_tables AS
	SELECT
		p.logicalrelid AS table_name,
		citus_internal.table_type(p.partmethod, p.repmodel, p.colocationid) AS citus_table_type,
		coalesce(pg_catalog.column_to_column_name(p.logicalrelid, p.partkey), '<none>') AS distribution_column,
		p.colocationid AS colocation_id,
		pg_catalog.pg_size_pretty(sizes.size) AS table_size,
		coalesce(sizes.shard_count, 0) AS shard_count,
		pg_catalog.pg_get_userbyid(c.relowner) AS table_owner,
		a.amname AS access_method
	FROM pg_catalog.pg_dist_partition p
	JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
	LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam
	LEFT JOIN (
		SELECT s.logicalrelid, pg_catalog.count(DISTINCT s.shardid) AS shard_count, pg_catalog.sum(z.size) AS size
		FROM pg_catalog.pg_dist_shard s
		LEFT JOIN citus_internal.shard_sizes() z ON z.shardid = s.shardid
		WHERE EXISTS (SELECT FROM pg_catalog.pg_dist_placement l WHERE l.shardid = s.shardid AND l.shardstate = 1)
		GROUP BY s.logicalrelid
	) sizes ON sizes.logicalrelid = p.logicalrelid
	ORDER BY p.logicalrelid::text;
COMMENT ON VIEW citus.citus_tables IS 'distributed and reference tables';

CREATE VIEW citus.citus_schemas AS
	SELECT
		s.schemaid::regnamespace AS schema_name,
		s.colocationid AS colocation_id,
		pg_catalog.pg_size_pretty(coalesce(pg_catalog.sum(z.size), 0)) AS schema_size,
		pg_catalog.pg_get_userbyid(n.nspowner) AS schema_owner
	FROM pg_catalog.pg_dist_schema s
	JOIN pg_catalog.pg_namespace n ON n.oid = s.schemaid
	LEFT JOIN pg_catalog.pg_dist_partition p ON p.colocationid = s.colocationid
	LEFT JOIN pg_catalog.pg_dist_shard h ON h.logicalrelid = p.logicalrelid
	LEFT JOIN citus_internal.shard_sizes() z ON z.shardid = h.shardid
	GROUP BY s.schemaid, s.colocationid, n.nspowner
	ORDER BY s.schemaid::regnamespace::text;
COMMENT ON VIEW citus.citus_schemas IS 'distributed schemas';

-- In pg_catalog, as the other views: in public, tools that read a schema's tables would take them for a user's.
ALTER VIEW citus.citus_tables SET SCHEMA pg_catalog;
ALTER VIEW citus.citus_schemas SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_tables, pg_catalog.citus_schemas TO public;

CREATE VIEW citus.citus_shards AS
	SELECT
		s.logicalrelid AS table_name,
		s.shardid,
		pg_catalog.shard_name(s.logicalrelid, s.shardid) AS shard_name,
		citus_internal.table_type(p.partmethod, p.repmodel, p.colocationid) AS citus_table_type,
		p.colocationid AS colocation_id,
		n.nodename,
		n.nodeport,
		z.size AS shard_size
	FROM pg_catalog.pg_dist_shard s
	JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = s.logicalrelid
	JOIN pg_catalog.pg_dist_placement l ON l.shardid = s.shardid AND l.shardstate = 1
	JOIN pg_catalog.pg_dist_node n ON n.groupid = l.groupid AND n.noderole = 'primary'
	LEFT JOIN citus_internal.shard_sizes() z ON z.shardid = s.shardid AND z.groupid = l.groupid
	ORDER BY s.logicalrelid::text, s.shardid, n.nodename, n.nodeport;
COMMENT ON VIEW citus.citus_shards IS 'shards, where they are, and their sizes';
ALTER VIEW citus.citus_shards SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_shards TO public;

CREATE VIEW citus.citus_nodes AS
	SELECT nodename, nodeport,
		CASE WHEN groupid = 0 THEN 'coordinator' ELSE 'worker' END AS role,
		isactive AS active
	FROM pg_catalog.pg_dist_node;
COMMENT ON VIEW citus.citus_nodes IS 'nodes of the cluster';
ALTER VIEW citus.citus_nodes SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_nodes TO public;

CREATE VIEW citus.citus_shards_on_worker AS
	SELECT n.nspname AS "Schema", c.relname AS "Name",
		CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'f' THEN 'foreign table' END
			AS "Type",
		pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"
	FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = 'citus_data' AND c.relkind IN ('r', 'p', 'f')
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = c.oid)
	ORDER BY 1, 2;
COMMENT ON VIEW citus.citus_shards_on_worker IS 'shards on this node';
ALTER VIEW citus.citus_shards_on_worker SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_shards_on_worker TO public;

CREATE FUNCTION pg_catalog.citus_shards_on_worker() RETURNS SETOF pg_catalog.citus_shards_on_worker
	LANGUAGE sql STRICT AS 'SELECT * FROM pg_catalog.citus_shards_on_worker';
COMMENT ON FUNCTION pg_catalog.citus_shards_on_worker() IS 'same as the view citus_shards_on_worker';

CREATE VIEW citus.citus_shard_indexes_on_worker AS
	SELECT n.nspname AS "Schema", c.relname AS "Name", 'index'::text AS "Type",
		pg_catalog.pg_get_userbyid(c.relowner) AS "Owner", t.relname AS "Table"
	FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
	JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
	WHERE n.nspname = 'citus_data'
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = t.oid)
	ORDER BY 1, 2;
COMMENT ON VIEW citus.citus_shard_indexes_on_worker IS 'indexes of the shards on this node';
ALTER VIEW citus.citus_shard_indexes_on_worker SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_shard_indexes_on_worker TO public;

CREATE FUNCTION pg_catalog.citus_shard_indexes_on_worker() RETURNS SETOF pg_catalog.citus_shard_indexes_on_worker
	LANGUAGE sql STRICT AS 'SELECT * FROM pg_catalog.citus_shard_indexes_on_worker';
COMMENT ON FUNCTION pg_catalog.citus_shard_indexes_on_worker() IS 'same as the view citus_shard_indexes_on_worker';

CREATE VIEW citus.citus_stats AS
	SELECT s.schemaname, s.tablename, s.attname, s.null_frac,
		s.most_common_vals::text::text[] AS most_common_vals, s.most_common_freqs
	FROM pg_catalog.pg_stats s
	JOIN pg_catalog.pg_class c ON c.relname = s.tablename
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = s.schemaname
	JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = c.oid;
COMMENT ON VIEW citus.citus_stats IS 'what ANALYZE has found in the columns of distributed and reference tables';
ALTER VIEW citus.citus_stats SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_stats TO public;
