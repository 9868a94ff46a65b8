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

-- The server's functions tell the same of tables with shards.
SELECT pg_relation_size('dist') = citus_relation_size('dist') AS relation, pg_table_size('dist') = citus_table_size('dist') AS table,
       pg_total_relation_size('dist') = citus_total_relation_size('dist') AS total,
       pg_indexes_size('dist') = citus_relation_size('dist_pkey') AS indexes, pg_relation_size('dist_pkey') = citus_relation_size('dist_pkey') AS index;
SELECT fork, pg_relation_size('dist', fork) = (SELECT sum(result::bigint)
         FROM run_command_on_shards('dist', format($$SELECT pg_relation_size('%%s', %L)$$, fork))) AS same
  FROM unnest(ARRAY['main', 'fsm', 'vm', 'init']) fork;
SELECT pg_relation_size('dist', 'spoon');
SELECT pg_relation_size(0), pg_table_size(4711), pg_total_relation_size(NULL), pg_indexes_size(4711);
SELECT pg_relation_size('empty'), pg_relation_size('ref') = 8192 AS one_copy, pg_relation_size('plain');
-- With all that belongs to them; a partitioned table has nothing itself.
CREATE TABLE wide (id int PRIMARY KEY, v text);
ALTER TABLE wide ALTER v SET STORAGE EXTERNAL;
SELECT create_distributed_table('wide', 'id');
INSERT INTO wide SELECT g, repeat('x', 10000) FROM generate_series(1, 100) g;
SELECT pg_total_relation_size('wide') = citus_total_relation_size('wide') AS total, pg_table_size('wide') = citus_table_size('wide') AS table,
       pg_relation_size(reltoastrelid) > 1000000 AS toast, pg_indexes_size(reltoastrelid) BETWEEN 1 AND 200000 AS toast_indexes,
       pg_total_relation_size(reltoastrelid) = pg_table_size('wide') - (SELECT sum(pg_relation_size('wide', f)) FROM unnest(ARRAY['main', 'fsm', 'vm']) f) AS part
  FROM pg_class WHERE oid = 'wide'::regclass;
CREATE TABLE whole (id int, day int) PARTITION BY RANGE (day);
CREATE TABLE whole_1 PARTITION OF whole FOR VALUES FROM (0) TO (10);
CREATE TABLE whole_2 PARTITION OF whole FOR VALUES FROM (10) TO (20);
CREATE INDEX ON whole (day);
SELECT create_distributed_table('whole', 'id');
INSERT INTO whole SELECT g, g % 20 FROM generate_series(1, 1000) g;
SELECT relid, pg_total_relation_size(relid) > 0 AS has_size, pg_total_relation_size(relid) = citus_total_relation_size(relid) AS same
  FROM pg_partition_tree('whole');
SELECT sum(pg_total_relation_size(relid)) > 100000 AS total FROM pg_partition_tree('whole');
SELECT relid, pg_relation_size(relid) > 0 AS has_size FROM pg_partition_tree('whole_day_idx');
CREATE TABLE single (id int);
SELECT create_distributed_table('single', NULL);
INSERT INTO single SELECT generate_series(1, 1000);
SELECT pg_relation_size('single') > 8192 AS single_shard;
-- Of many tables in one statement, and in the same plan of different ones.
SELECT string_agg(format('CREATE TABLE many_%s (id int); SELECT create_distributed_table(%L, %L, shard_count := 2); INSERT INTO many_%s VALUES (1);',
                         g, 'many_' || g, 'id', g), ' ') AS command FROM generate_series(1, 12) g \gset
\o /dev/null
:command
\o
SELECT bool_and(pg_total_relation_size(oid) = 8192) AS all, count(*) FROM pg_class
  WHERE relname ~ '^many_' AND relnamespace = 'sizes'::regnamespace AND relkind = 'r';
SELECT relname, pg_table_size(c.oid) = citus_table_size(c.oid) AS same
  FROM pg_class c WHERE relnamespace = 'sizes'::regnamespace AND relname ~ '^(many_1|dist|wide)' AND relkind = 'r' ORDER BY relname;
PREPARE size(regclass) AS SELECT pg_relation_size($1) > 0 AS has_size;
EXECUTE size('dist');
EXECUTE size('empty');
-- Each statement of a function asks again.
DO $$
DECLARE
	before bigint := pg_relation_size('dist');
	after bigint;
BEGIN
	INSERT INTO dist SELECT g, repeat('x', 100) FROM generate_series(1001, 3000) g;
	after := pg_relation_size('dist');
	RAISE NOTICE 'grown: %', after > before;
END $$;
-- What tools show, and what is stored.
CREATE TABLE small (id int PRIMARY KEY);
SELECT create_distributed_table('small', 'id');
INSERT INTO small VALUES (1);
\t on
\dt+ small
\di+ small_pkey
\t off
CREATE VIEW sized AS SELECT pg_size_pretty(pg_relation_size('sizes.dist')) AS size;
SELECT pg_get_viewdef('sized');
SELECT size <> '0 bytes' AS has_size FROM sized;
CREATE TABLE noted (id int, size bigint DEFAULT pg_relation_size('sizes.dist'));
SELECT create_distributed_table('noted', 'id');
INSERT INTO noted VALUES (1), (2);
INSERT INTO noted SELECT 3, pg_relation_size('dist') FROM dist LIMIT 1;
SELECT count(*), bool_and(size = pg_relation_size('dist')) AS same FROM noted;
SELECT count(*) FROM noted WHERE size = pg_relation_size('dist') AND id = 3;
-- This node's empty table.
SET citus.sum_over_shards = off;
SELECT pg_relation_size('dist'), pg_relation_size('dist_pkey'), pg_table_size('dist'), pg_relation_size('ref');
RESET citus.sum_over_shards;

-- Also of what this transaction has made.
BEGIN;
CREATE TABLE new (id int);
SELECT create_distributed_table('new', 'id');
INSERT INTO new SELECT generate_series(1, 100);
SELECT citus_relation_size('new') > 0 AS has_size;
SELECT pg_relation_size('new') > 0 AS has_size;
ALTER TABLE new RENAME TO newer;
SELECT pg_relation_size('newer') > 0 AS has_size;
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
SELECT oid AS dist FROM pg_class WHERE oid = 'dist'::regclass \gset
SET ROLE sizes_reader;
SELECT pg_relation_size(:dist) > 0 AS has_size, pg_total_relation_size(:dist) > pg_table_size(:dist) AS indexes;
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
