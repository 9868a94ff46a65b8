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
