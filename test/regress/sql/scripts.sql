-- What users' scripts and tools call in passing.

CREATE SCHEMA scripts;
SET search_path = scripts;
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 7;
CREATE TABLE t (k int PRIMARY KEY, v text DEFAULT 'x' CHECK (v <> ''));
CREATE INDEX ti ON t (v);
CREATE TABLE u (k int, n int);
CREATE TABLE r (id int);
SELECT create_distributed_table('t', 'k', colocate_with => 'none');
SELECT create_distributed_table('u', 'k', colocate_with => 'none');
SELECT create_reference_table('r');
INSERT INTO t SELECT g, 'v' || g % 3 FROM generate_series(1, 30) g;

SELECT replace(c, 'CONSTRAINT t_k_not_null ', '') AS c FROM master_get_table_ddl_events('scripts.t') c WHERE c ~ '^(CREATE TABLE|CREATE INDEX|ALTER TABLE .*(CHECK|PRIMARY))';
SELECT master_get_table_ddl_events('nowhere');
SELECT citus_update_table_statistics('t');
SELECT count(*), min(citus_update_shard_statistics(shardid)) > 0 FROM pg_dist_shard WHERE logicalrelid = 't'::regclass;
SELECT citus_update_shard_statistics(0);
SELECT mark_tables_colocated('t', ARRAY['u']::regclass[]);
SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid IN ('t'::regclass, 'u'::regclass);

-- intermediate results last as long as their transaction
BEGIN;
SELECT create_intermediate_result('one', 'SELECT v, count(*) FROM t GROUP BY v');
SELECT create_intermediate_result('two', 'SELECT ''more'', 7::bigint');
SELECT * FROM read_intermediate_result('one', 'binary') AS res (v text, n bigint) ORDER BY v;
SELECT * FROM read_intermediate_results(ARRAY['two', 'one']) AS res (v text, n bigint) ORDER BY v;
SELECT count(*) FROM t JOIN read_intermediate_result('one') AS res (v text, n bigint) USING (v);
COMMIT;
SELECT * FROM read_intermediate_result('one') AS res (v text, n bigint);
SELECT * FROM read_intermediate_results(ARRAY['one']) AS res (v text, n bigint);

-- functions with the names of views
SELECT count(*) FROM citus_stat_activity() WHERE global_pid = citus_backend_gpid() AND NOT is_worker_query;
SELECT count(*) > 0 FROM citus_locks() WHERE global_pid = citus_backend_gpid() AND relation_name = 'pg_locks';
SELECT run_command_on_workers($$SELECT count(*) > 0 FROM citus_shards_on_worker() WHERE "Name" LIKE 't\_%'$$)::text ~ ',t,t\)$' AS found;
SELECT run_command_on_workers($$SELECT count(*) > 0 FROM citus_shard_indexes_on_worker() WHERE "Name" LIKE 'ti\_%' AND "Table" LIKE 't\_%'$$)::text ~ ',t,t\)$' AS found;
SHOW citus.version;
SELECT citus_version() LIKE '%' || current_setting('citus.version') || '%' AS same;
SET citus.version = '1';

-- aggregates
CREATE TABLE lists (k int, a int[], j jsonb);
SELECT create_distributed_table('lists', 'k', colocate_with => 'none');
INSERT INTO lists SELECT g, CASE WHEN g % 5 > 0 THEN ARRAY[g, -g] END, CASE WHEN g % 5 > 0 THEN jsonb_build_object(g % 3, 0) END
	FROM generate_series(1, 20) g;
SELECT (SELECT array_agg(e ORDER BY e) FROM unnest(array_cat_agg(a)) e) =
	(SELECT array_agg(e ORDER BY e) FROM lists, unnest(a) e) AS same, jsonb_cat_agg(j) FROM lists;
SELECT k, array_cat_agg(a), jsonb_cat_agg(j) FROM lists WHERE k IN (4, 5) GROUP BY k ORDER BY k;
SELECT array_cat_agg(ARRAY[v, v || 'x'] ORDER BY k) FROM t WHERE k < 4;
SELECT array_cat_agg(a), any_value(a), jsonb_cat_agg(j) FROM lists WHERE k < 0;
SELECT any_value(k) BETWEEN 1 AND 20 AS one, any_value(a) IS NOT NULL AS no_null, any_value(CASE WHEN k = 7 THEN 'seven' END) AS seven FROM lists;
SELECT v, any_value(v) FROM t GROUP BY v ORDER BY v;
DROP TABLE lists;

-- what is refused says what to do
SELECT broadcast_intermediate_result('one', 'SELECT 1');
SELECT fetch_intermediate_results(ARRAY['one'], 'localhost', 5432);
SELECT worker_partition_query_result('p', 'SELECT 1', 0, 'hash', '{0}', '{1}', false);
SELECT master_create_empty_shard('t');

-- the commands that distribute tables as these are
SELECT create_distributed_table('u', NULL);
SELECT undistribute_table('u');
SELECT create_distributed_table('u', NULL, colocate_with => 'none');
CREATE TABLE p (k int, at date) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
SELECT create_distributed_table('p', 'k', colocate_with => 't');
CREATE TABLE l (id int);
SELECT citus_add_local_table_to_metadata('l');
CREATE FUNCTION f(a text, k int) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT create_distributed_function('f(text, int)', 'k', colocate_with => 't');
SELECT * FROM citus_distribution_commands() c WHERE c ~ '\(''scripts\.';
DROP SCHEMA scripts CASCADE;
