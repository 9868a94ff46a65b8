-- Partitioned tables on all nodes, and their shards; partitions by time.

CREATE SCHEMA partitions;
SET search_path = partitions;
SET citus.global_indexes = refuse;
\set SHOW_CONTEXT never
SET citus.shard_count = 4;
SET client_min_messages = warning;

CREATE TABLE e (id int, at date NOT NULL, v text, n int CHECK (n > 0)) PARTITION BY RANGE (at);
CREATE TABLE e1 PARTITION OF e FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
CREATE TABLE e2 PARTITION OF e FOR VALUES FROM ('2020-02-01') TO ('2020-03-01') PARTITION BY LIST (v);
CREATE TABLE e2a PARTITION OF e2 FOR VALUES IN ('a');
CREATE INDEX ei ON e (v);
INSERT INTO e SELECT i, '2020-01-01'::date + i % 31, 'a', i FROM generate_series(1, 100) i;
SELECT create_distributed_table('e1', 'id');
SELECT create_reference_table('e');
SELECT create_distributed_table('e', 'id');

-- what a node has of the tables: the same everywhere
CREATE VIEW on_nodes AS SELECT DISTINCT result FROM run_command_on_all_nodes($$
  SELECT string_agg(concat_ws(' ', relname, pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid),
      (SELECT string_agg(i.relname, ',' ORDER BY i.relname COLLATE "C") FROM pg_index x JOIN pg_class i ON i.oid = indexrelid WHERE indrelid = c.oid)),
    '; ' ORDER BY relname COLLATE "C")
  FROM pg_class c WHERE relnamespace = 'partitions'::regnamespace AND relkind IN ('r', 'p') $$);
-- what the shards have: each the same as its table, under names that follow from those of the table
CREATE VIEW in_shards AS SELECT DISTINCT regexp_replace(result, '_1\d{5,}', '_N', 'g') AS result FROM run_command_on_workers($$
  SELECT string_agg(DISTINCT concat_ws(' ', regexp_replace(relname, '_\d{6,}$', '_N'), pg_get_partkeydef(c.oid), pg_get_expr(relpartbound, c.oid),
      (SELECT string_agg(i.relname || CASE WHEN i.relispartition THEN ' attached' ELSE '' END, ',' ORDER BY i.relname COLLATE "C")
       FROM pg_index x JOIN pg_class i ON i.oid = indexrelid WHERE indrelid = c.oid),
      (SELECT string_agg(conname || ' ' || coninhcount, ',' ORDER BY conname COLLATE "C") FROM pg_constraint WHERE conrelid = c.oid AND contype <> 'n')), '; ')
  FROM pg_class c JOIN pg_dist_shard s ON relname = (SELECT relname FROM pg_class WHERE oid = s.logicalrelid) || '_' || shardid
  WHERE relnamespace = 'citus_data'::regnamespace AND s.logicalrelid::regclass::text LIKE 'partitions.%' $$);
SELECT * FROM on_nodes;
SELECT * FROM in_shards;
SELECT count(*) FROM e;
SELECT count(*) FROM e1;
SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid::text IN ('e', 'e1', 'e2', 'e2a');

-- indexes and constraints of the whole reach the partitions' shards under the names of the partitions' own
CREATE INDEX later ON e (n);
ALTER TABLE e ADD CONSTRAINT uniq UNIQUE (id, at, v);
ALTER TABLE e ADD CONSTRAINT below CHECK (n < 1000);
SELECT * FROM on_nodes;
SELECT * FROM in_shards;
INSERT INTO e VALUES (1, '2020-01-02', 'a', 5);
INSERT INTO e VALUES (1, '2020-01-02', 'b', 5000);
DROP INDEX later;
ALTER TABLE e DROP CONSTRAINT uniq;
ALTER TABLE e DROP CONSTRAINT below;

-- as pg_dump writes them: each table's by itself, then attached
CREATE TABLE one_by_one (k int NOT NULL, at date NOT NULL) PARTITION BY RANGE (at);
CREATE TABLE one_of_them PARTITION OF one_by_one FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
SELECT create_distributed_table('one_by_one', 'k');
ALTER TABLE ONLY one_by_one ADD CONSTRAINT whole PRIMARY KEY (k, at);
ALTER TABLE ONLY one_of_them ADD CONSTRAINT part PRIMARY KEY (k, at);
ALTER INDEX whole ATTACH PARTITION part;
CREATE INDEX whole_index ON ONLY one_by_one (at);
CREATE INDEX part_index ON one_of_them (at);
ALTER INDEX whole_index ATTACH PARTITION part_index;
SELECT DISTINCT result FROM run_command_on_workers($$
  SELECT string_agg(DISTINCT concat_ws(' ', regexp_replace(relname, '_\d{6,}$', '_N'), indisvalid, relispartition), ', ')
  FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname ~ '^(whole|part)(_index)?(_\d+)?$' $$);
DROP TABLE one_by_one;

-- new partitions; one with rows; one that goes and comes
CREATE TABLE e2b PARTITION OF e2 DEFAULT;
CREATE TABLE e3 (LIKE e INCLUDING ALL);
INSERT INTO e3 SELECT i, '2020-03-01', 'c', i FROM generate_series(1, 10) i;
ALTER TABLE e ATTACH PARTITION e3 FOR VALUES FROM ('2020-03-01') TO ('2020-04-01');
ALTER TABLE e DETACH PARTITION e2;
SELECT * FROM on_nodes;
SELECT * FROM in_shards;
ALTER TABLE e ATTACH PARTITION e2 FOR VALUES FROM ('2020-02-01') TO ('2020-03-01');
SELECT * FROM in_shards;
SELECT count(*) FROM e;

ALTER TABLE e DETACH PARTITION e3 CONCURRENTLY;
SELECT count(*) FROM run_command_on_placements('partitions.e3', $$SELECT relispartition FROM pg_class WHERE oid = '%s'::regclass$$) WHERE result = 'f';
ALTER TABLE e ATTACH PARTITION e3 FOR VALUES FROM ('2020-03-01') TO ('2020-04-01');

-- all partitions' indexes, those of shards among them, get new files
CREATE TEMP TABLE files AS
SELECT p.relid, shardid, result FROM pg_partition_tree('e') p, run_command_on_placements(p.relid, $$
  SELECT string_agg(pg_relation_filenode(indexrelid)::text, ',' ORDER BY indexrelid) FROM pg_index WHERE indrelid = '%s'::regclass $$);
REINDEX TABLE e;
REINDEX INDEX ei;
SELECT f.relid, bool_or(f.result = r.result) FROM files f, run_command_on_placements(f.relid, $$
  SELECT string_agg(pg_relation_filenode(indexrelid)::text, ',' ORDER BY indexrelid) FROM pg_index WHERE indrelid = '%s'::regclass $$) r
 WHERE f.shardid = r.shardid GROUP BY 1 ORDER BY 1;

-- what can't be
CREATE TABLE elsewhere (LIKE e);
SELECT create_distributed_table('elsewhere', 'n', colocate_with => 'none');
ALTER TABLE e ATTACH PARTITION elsewhere FOR VALUES FROM ('2021-03-01') TO ('2021-04-01');
CREATE TABLE by_hash (k int, m int) PARTITION BY RANGE (m);
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE by_mood (k int, m mood) PARTITION BY HASH (m);
SELECT create_distributed_table('by_mood', 'k');
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER t AFTER INSERT ON by_hash FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT create_distributed_table('by_hash', 'k');
CREATE TABLE by_hash2 (k int, m int);
SELECT create_distributed_table('by_hash2', 'k');
CREATE TRIGGER own AFTER INSERT ON by_hash2 FOR EACH ROW EXECUTE FUNCTION nothing();
ALTER TABLE by_hash ATTACH PARTITION by_hash2 FOR VALUES FROM (10) TO (19);
CREATE TABLE by_hash1 PARTITION OF by_hash FOR VALUES FROM (1) TO (9);
CREATE TRIGGER own AFTER INSERT ON by_hash1 FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT undistribute_table('e1');
ALTER TABLE e1 ADD PRIMARY KEY (n);

DROP TABLE by_mood, by_hash, by_hash2;

-- and back
SELECT undistribute_table('e');
SELECT tableoid::regclass, count(*) FROM e GROUP BY 1 ORDER BY 1;
SELECT * FROM on_nodes;
SELECT create_distributed_table('e', NULL);
SELECT tableoid::regclass, count(*) FROM e GROUP BY 1 ORDER BY 1;
DROP TABLE e;
SELECT DISTINCT result FROM run_command_on_all_nodes($$
  SELECT count(*) FROM pg_class WHERE relnamespace = 'citus_data'::regnamespace AND relname ~ '^e\d?[ab]?_\d+$' $$);

-- by time
RESET client_min_messages;
SET TimeZone = 'UTC';
CREATE TABLE d (id int, at date) PARTITION BY RANGE (at);
SELECT create_distributed_table('d', 'id');
SELECT * FROM get_missing_time_partition_ranges('d', '1 month', '2020-03-05', '2020-01-10');
SELECT create_time_partitions('d', '1 month', '2020-03-05', '2020-01-10');
SELECT create_time_partitions('d', '1 month', '2020-03-05', '2020-01-10');
SELECT create_time_partitions('d', '1 month', '2020-04-05', '2020-01-10');
INSERT INTO d SELECT i, '2020-01-01'::date + i FROM generate_series(0, 100) i;
SELECT partition, from_value, to_value, access_method, partition_column FROM time_partitions WHERE parent_table = 'd'::regclass;
SELECT DISTINCT result FROM run_command_on_all_nodes($$ SELECT count(*) FROM time_partitions WHERE partition::text ~ 'd_p2020_' $$);
SELECT create_time_partitions('d', '1 week', '2020-05-05', '2020-01-10');
SELECT create_time_partitions('d', '1 hour', '2020-05-05', '2020-01-10');
SELECT create_time_partitions('d', '1 month', '2020-01-05', '2020-01-10');
CALL drop_old_time_partitions('d', '2020-03-01');
SELECT tableoid::regclass, count(*) FROM d GROUP BY 1 ORDER BY 1;
SELECT * FROM on_nodes;
CREATE TABLE z (id int, at timestamptz) PARTITION BY RANGE (at);
CREATE TABLE w (id int, at timestamp) PARTITION BY RANGE (at);
SELECT * FROM get_missing_time_partition_ranges('z', '6 hours', '2020-01-02', '2020-01-01 07:00');
SELECT * FROM get_missing_time_partition_ranges('z', '15 minutes', '2020-01-01 02:10', '2020-01-01 01:20');
SELECT * FROM get_missing_time_partition_ranges('w', '1 week', '2020-01-20', '2020-01-01');
SELECT * FROM get_missing_time_partition_ranges('w', '3 months', '2020-07-20', '2020-02-01');
SELECT * FROM get_missing_time_partition_ranges('w', '1 year', '2021-07-20', '2020-02-01');
SELECT * FROM get_missing_time_partition_ranges('elsewhere', '1 year', '2021-07-20', '2020-02-01');
SELECT * FROM get_missing_time_partition_ranges('w', '0', '2021-07-20', '2020-02-01');

-- VACUUM and ANALYZE take the partitions too
CREATE TABLE v (id int, a int) PARTITION BY LIST (a);
CREATE TABLE v1 PARTITION OF v FOR VALUES IN (1);
SELECT create_distributed_table('v', 'id');
INSERT INTO v SELECT i, 1 FROM generate_series(1, 100) i;
VACUUM v;
SELECT sum(result::int) FROM run_command_on_placements('v1', $$ SELECT reltuples FROM pg_class WHERE oid = '%s'::regclass $$);
ANALYZE v;
SELECT relname, reltuples FROM pg_class WHERE oid IN ('v'::regclass, 'v1'::regclass) ORDER BY 1;
-- only who owns it, or has its privilege MAINTAIN, may CLUSTER a partitioned table
CREATE INDEX d_by_id ON d (id);
CREATE ROLE partitions_stranger;
GRANT USAGE ON SCHEMA partitions TO partitions_stranger;
SET ROLE partitions_stranger;
\set VERBOSITY sqlstate
CLUSTER d USING d_by_id;
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY partitions_stranger;
DROP ROLE partitions_stranger;

SET client_min_messages = warning;
DROP SCHEMA partitions CASCADE;
