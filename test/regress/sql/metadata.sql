-- The catalogs and the functions that read them.
CREATE SCHEMA metadata;
SET search_path = metadata;
SET citus.shard_count = 4;

CREATE TABLE dist (id int PRIMARY KEY, v text, w int);
ALTER TABLE dist DROP COLUMN v;
CREATE TABLE colocated (w int, id int);
CREATE TABLE by_text (t text COLLATE "C", n int);
CREATE TABLE ref (id int PRIMARY KEY, v text);
CREATE TABLE single (id int);
CREATE TABLE plain (id int);
SELECT create_distributed_table('dist', 'id');
SELECT create_distributed_table('colocated', 'id', colocate_with => 'dist');
SELECT create_distributed_table('by_text', 't');
SELECT create_reference_table('ref');
SELECT create_distributed_table('single', NULL);

SELECT logicalrelid, partmethod, repmodel, autoconverted, column_to_column_name(logicalrelid, partkey),
       substring(partkey FROM ':varattno \d+') AS attribute
  FROM pg_dist_partition WHERE logicalrelid::text !~ '\.' ORDER BY logicalrelid::text;
SELECT shardminvalue, shardmaxvalue, shardstorage FROM pg_dist_shard
  WHERE logicalrelid = 'dist'::regclass ORDER BY shardid;
SELECT count(*), count(DISTINCT s.shardid), min(shardstate), max(shardstate)
  FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) WHERE logicalrelid = 'ref'::regclass;
SELECT shardcount, replicationfactor, distributioncolumntype::regtype, distributioncolumncollation <> 0 AS collation
  FROM pg_dist_colocation JOIN pg_dist_partition USING (colocationid) WHERE logicalrelid = 'by_text'::regclass;

-- All nodes hold the same rows.
SELECT count(DISTINCT result) FROM run_command_on_all_nodes($$
  SELECT md5(string_agg(p::text, ',' ORDER BY p.logicalrelid::text)) FROM pg_dist_partition p
  WHERE logicalrelid::text LIKE 'metadata.%'$$);
SELECT count(DISTINCT result) FROM run_command_on_all_nodes($$
  SELECT md5(string_agg(s::text || p::text, ',' ORDER BY s.shardid, p.placementid))
  FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) WHERE logicalrelid::text LIKE 'metadata.%'$$);

-- Columns in the catalog's form.
SELECT column_to_column_name('dist', column_name_to_column('dist', 'w'));
SELECT column_name_to_column('dist', 'nosuch');
SELECT column_name_to_column('dist', 'ctid');
SELECT column_to_column_name(1::oid, column_name_to_column('dist', 'w')) IS NULL AS of_a_dropped_table;
SELECT column_to_column_name('dist', 'rubbish');
SELECT column_to_column_name('dist', '{VAR :varno 1 :varattno');
SELECT column_to_column_name('dist', '{VAR :varno 1 :varattno 99999999999999999999 :vartype 23}');
SELECT column_to_column_name('plain', column_name_to_column('dist', 'w'));

-- Names of shards: shortened with a hash where they get too long, always the same.
SELECT shard_name('dist', 102008), shard_name('plain', 7);
SELECT shard_name('ref', (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'ref'::regclass));
SELECT shard_name('dist', 0);
CREATE TABLE a_table_with_a_name_that_leaves_no_room_for_anything_behind_it_ (id int);
SELECT shard_name('a_table_with_a_name_that_leaves_no_room_for_anything_behind_it_', 102008);
SELECT length(shard_name('a_table_with_a_name_that_leaves_no_room_for_anything_behind_it_', 9223372036854775807));
CREATE TABLE "Käse Käse Käse Käse Käse Käse Käse Käse Käse Käs" (id int);
SELECT shard_name('"Käse Käse Käse Käse Käse Käse Käse Käse Käse Käs"', 102008);

-- Which shard holds a value, whatever type it comes in.
SELECT get_shard_id_for_distribution_column('dist', 5) = get_shard_id_for_distribution_column('dist', '5') AS same_as_text,
       get_shard_id_for_distribution_column('dist', 5) = get_shard_id_for_distribution_column('dist', 5::bigint) AS same_as_bigint,
       get_shard_id_for_distribution_column('dist', 5) = get_shard_id_for_distribution_column('dist', 5::numeric) AS same_as_numeric;
INSERT INTO by_text SELECT 'key ' || g, g FROM generate_series(1, 50) g;
SELECT bool_and(result::int = (SELECT count(*) FROM by_text
                               WHERE get_shard_id_for_distribution_column('by_text', t) = shardid)), count(*)
  FROM run_command_on_shards('by_text', 'SELECT count(*) FROM %s');
SELECT get_shard_id_for_distribution_column('dist');
SELECT get_shard_id_for_distribution_column('dist', 'no number');
SELECT get_shard_id_for_distribution_column('plain', 1);
SELECT get_shard_id_for_distribution_column('ref') = shardid AS only_shard
  FROM pg_dist_shard WHERE logicalrelid = 'ref'::regclass;
SELECT worker_hash(1), worker_hash('a'::text), worker_hash(1::bigint);
SELECT worker_hash(point(1, 1));
SELECT bool_and(worker_hash(id) BETWEEN shardminvalue::int AND shardmaxvalue::int)
  FROM generate_series(1, 100) id, pg_dist_shard
  WHERE logicalrelid = 'dist'::regclass AND shardid = get_shard_id_for_distribution_column('dist', id);

-- Colocation.
SELECT distributed_tables_colocated('dist', 'colocated'), distributed_tables_colocated('dist', 'by_text'),
       distributed_tables_colocated('dist', 'dist');
SELECT distributed_tables_colocated('dist', 'plain');
SELECT 'dist'::regclass = ANY (get_colocated_table_array('colocated')), 'ref'::regclass = ANY (get_colocated_table_array('dist'));
SELECT d.shardid = ANY (get_colocated_shard_array(c.shardid)) AS together
  FROM pg_dist_shard d JOIN pg_dist_shard c USING (shardminvalue)
  WHERE d.logicalrelid = 'dist'::regclass AND c.logicalrelid = 'colocated'::regclass;
SELECT get_colocated_shard_array(1);

-- Plain SQL on the catalogs is seen at once, and undone by a rollback.
BEGIN;
DELETE FROM pg_dist_partition WHERE logicalrelid = 'single'::regclass;
SELECT get_shard_id_for_distribution_column('single', 1);
ROLLBACK;
SELECT get_shard_id_for_distribution_column('single', 1) > 0 AS found;
BEGIN;
SAVEPOINT s;
UPDATE pg_dist_shard SET shardid = 1 WHERE logicalrelid = 'single'::regclass;
SELECT get_shard_id_for_distribution_column('single', 1);
ROLLBACK TO s;
SELECT get_shard_id_for_distribution_column('single', 1) > 1 AS back;
COMMIT;

-- The rows are written for owners of the tables only.
SELECT bool_and(success) FROM run_command_on_all_nodes('CREATE ROLE metadata_other');
GRANT USAGE ON SCHEMA metadata TO metadata_other;
SET ROLE metadata_other;
SELECT citus_internal.add_partition_metadata('metadata.plain', 'n', NULL, 1, 't');
SELECT citus_internal.delete_colocation_metadata(colocationid) AS is_kept
	FROM pg_dist_partition WHERE logicalrelid = 'metadata.dist'::regclass;
SELECT count(*) AS groups FROM pg_dist_colocation JOIN pg_dist_partition USING (colocationid)
	WHERE logicalrelid = 'metadata.dist'::regclass;
SELECT citus_internal.add_shard_metadata('metadata.dist', 1, 't', NULL, NULL);
SELECT citus_internal.add_placement_metadata(get_shard_id_for_distribution_column('metadata.dist', 1), 0, 0, 1);
DELETE FROM pg_dist_partition;
SELECT count(*) > 0 AS readable FROM pg_dist_partition;
SELECT count(*) FROM pg_dist_authinfo;
RESET ROLE;
REVOKE USAGE ON SCHEMA metadata FROM metadata_other;
SELECT bool_and(success) FROM run_command_on_all_nodes('DROP OWNED BY metadata_other');
SELECT bool_and(success) FROM run_command_on_all_nodes('DROP ROLE metadata_other');

-- Nothing is left of a table that is dropped.
SELECT array_agg(shardid) AS shards FROM pg_dist_shard WHERE logicalrelid = 'dist'::regclass \gset
DROP TABLE dist;
SELECT count(*) FROM pg_dist_placement WHERE shardid = ANY (:'shards'::bigint[]);
SELECT count(*) FROM pg_dist_shard WHERE shardid = ANY (:'shards'::bigint[]);

SET client_min_messages = warning;
DROP SCHEMA metadata CASCADE;
