-- Sizes of distributed tables, and the views.
CREATE SCHEMA sizes;
SET search_path = sizes, public;
SET citus.shard_count = 4;

CREATE TABLE dist (id int PRIMARY KEY, v text);
CREATE TABLE empty (id int);
CREATE TABLE ref (id int PRIMARY KEY, v text);
CREATE TABLE plain (id int);
SELECT create_distributed_table('dist', 'id');
SELECT create_distributed_table('empty', 'id');
SELECT create_reference_table('ref');
INSERT INTO dist SELECT g, repeat('x', 100) FROM generate_series(1, 1000) g;
INSERT INTO ref SELECT g, 'v' FROM generate_series(1, 100) g;

-- A table's size is the sum over its shards; an index has one too.
SELECT citus_relation_size('dist') = (SELECT sum(result::bigint) FROM run_command_on_shards('dist', $$SELECT pg_relation_size('%s')$$)) AS relation,
       citus_table_size('dist') = (SELECT sum(result::bigint) FROM run_command_on_shards('dist', $$SELECT pg_table_size('%s')$$)) AS table,
       citus_total_relation_size('dist') = (SELECT sum(result::bigint) FROM run_command_on_shards('dist', $$SELECT pg_total_relation_size('%s')$$)) AS total;
SELECT citus_relation_size('dist') < citus_table_size('dist') AS maps, citus_table_size('dist') < citus_total_relation_size('dist') AS indexes;
SELECT citus_relation_size('dist_pkey') = citus_total_relation_size('dist') - citus_table_size('dist') AS index;
SELECT citus_relation_size('empty'), citus_relation_size('ref') / 8192 AS pages_on_all_nodes;
SELECT citus_table_size('plain');
SELECT citus_total_relation_size('plain', fail_on_error => false);
SELECT citus_table_size('pg_class');

-- Also of what this transaction has made.
BEGIN;
CREATE TABLE new (id int);
SELECT create_distributed_table('new', 'id');
INSERT INTO new SELECT generate_series(1, 100);
SELECT citus_relation_size('new') > 0 AS has_size;
ROLLBACK;

-- The views.
SELECT table_name, citus_table_type, distribution_column, shard_count, table_owner, access_method,
       table_size = pg_size_pretty(citus_total_relation_size(table_name)) AS same_size
  FROM citus_tables WHERE table_name IN ('dist'::regclass, 'empty'::regclass, 'ref'::regclass);
SELECT table_name, citus_table_type, count(*) AS placements, count(DISTINCT shard_name) AS names, sum(shard_size) = citus_total_relation_size(table_name) AS same_size
  FROM citus_shards WHERE table_name IN ('dist'::regclass, 'empty'::regclass, 'ref'::regclass)
  GROUP BY table_name, citus_table_type ORDER BY table_name::text;
SELECT sum(size) = citus_total_relation_size('dist') AS same_size FROM citus_shard_sizes()
  WHERE shard_id IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'dist'::regclass);
SELECT count(*) FROM pg_dist_shard_placement JOIN pg_dist_shard USING (shardid)
  WHERE logicalrelid = 'ref'::regclass AND shardstate = 1;
SELECT role, active, count(*) FROM citus_nodes GROUP BY role, active ORDER BY role;
SELECT sum(result::int) FROM run_command_on_workers(
  $$SELECT count(*) FROM citus_shards_on_worker WHERE "Name" ~ '^dist_\d+$' AND "Type" = 'table'$$);
SELECT sum(result::int) FROM run_command_on_workers(
  $$SELECT count(*) FROM citus_shard_indexes_on_worker WHERE "Name" ~ '^dist_pkey_\d+$' AND "Table" ~ '^dist_\d+$'$$);

-- Any user may look.
SELECT bool_and(success) FROM run_command_on_all_nodes('CREATE ROLE sizes_reader');
GRANT USAGE ON SCHEMA sizes TO sizes_reader;
SET ROLE sizes_reader;
SELECT table_name, table_size IS NOT NULL AS has_size FROM citus_tables WHERE table_name = 'sizes.dist'::regclass;
SELECT count(*), count(shard_size) FROM citus_shards WHERE table_name = 'sizes.dist'::regclass;
RESET ROLE;
REVOKE USAGE ON SCHEMA sizes FROM sizes_reader;
SELECT bool_and(success) FROM run_command_on_all_nodes('DROP OWNED BY sizes_reader');
SELECT bool_and(success) FROM run_command_on_all_nodes('DROP ROLE sizes_reader');

-- A command for each shard, each placement, each pair of shards.
CREATE TABLE other (id int, n int);
SELECT create_distributed_table('other', 'id', colocate_with => 'dist');
INSERT INTO other SELECT g, g FROM generate_series(1, 10) g;
SELECT bool_and(success), count(*), sum(result::int) FROM run_command_on_shards('other', 'SELECT count(*) FROM %s');
SELECT bool_and(success), count(*), sum(result::int) FROM run_command_on_placements('ref', 'SELECT count(*) FROM %s');
SELECT bool_and(success), count(*), sum(result::int) FROM run_command_on_shards('ref', 'SELECT count(*) FROM %s');
SELECT bool_and(success), count(*), sum(result::int)
  FROM run_command_on_colocated_placements('dist', 'other', 'SELECT count(*) FROM %1$s d JOIN %2$s o USING (id)');
SELECT bool_and(success), sum(result::int)
  FROM run_command_on_colocated_placements('dist', 'other', 'SELECT count(*) FROM %s d JOIN %s o USING (id) WHERE ''%d%%'' <> %2$L');
SELECT bool_and(success), count(DISTINCT result) = count(*) AS all FROM run_command_on_shards('other', $$SELECT '%1$s'::regclass$$);
SELECT count(*) FROM run_command_on_shards('other', 'SELECT count(*) FROM %s JOIN %s USING (id)');
SELECT bool_and(success), min(result), max(result) FROM run_command_on_shards('other', 'SELECT %L LIKE ''%other%%'' AND 5 % 3 = 2 FROM (SELECT 1) s (x)');
SELECT DISTINCT success, result FROM run_command_on_placements('dist', 'SELECT 1 / 0 FROM %s');
SELECT count(*) FROM run_command_on_colocated_placements('dist', 'ref', 'SELECT 1');
SELECT count(*) FROM run_command_on_shards('plain', 'SELECT 1');

-- Global process ids.
SELECT citus_nodeid_for_gpid(citus_backend_gpid()) = citus_coordinator_nodeid() AS here,
       citus_pid_for_gpid(citus_backend_gpid()) = pg_backend_pid() AS this;
SELECT citus_calculate_gpid(3, 1234), citus_nodeid_for_gpid(30000001234), citus_pid_for_gpid(30000001234);
SELECT citus_nodename_for_nodeid(nodeid) = nodename AND citus_nodeport_for_nodeid(nodeid) = nodeport
       AND get_nodeid_for_groupid(groupid) = nodeid AS same FROM pg_dist_node;
SELECT citus_nodename_for_nodeid(4711), citus_nodeport_for_nodeid(4711);
SELECT get_nodeid_for_groupid(4711);

SET client_min_messages = warning;
DROP SCHEMA sizes CASCADE;
