-- Options of columnar tables, local and distributed.
CREATE SCHEMA columnar_options;
SET search_path = columnar_options;
SET client_min_messages = warning;

CREATE TABLE t (a int, b text) USING columnar WITH (columnar.compression = none, fillfactor = 50);
SELECT * FROM columnar.options WHERE relation = 't'::regclass;
ALTER TABLE t SET (columnar.compression = pglz, columnar.stripe_row_limit = 2000);
ALTER TABLE t SET (fillfactor = 70);
ALTER TABLE t RESET (columnar.compression, fillfactor), SET (columnar.compression_level = '7');
SELECT reloptions FROM pg_class WHERE oid = 't'::regclass;
SELECT * FROM columnar.options WHERE relation = 't'::regclass;
SELECT alter_columnar_table_set('t', chunk_group_row_limit => 1000, compression => 'lz4');
SELECT alter_columnar_table_reset('t', stripe_row_limit => true, compression_level => true);
SELECT reloptions FROM pg_class WHERE oid = 't'::regclass;
VACUUM FULL t;
SELECT reloptions FROM pg_class WHERE oid = 't'::regclass;
-- as pg_dump writes them
CREATE TABLE dumped (a int) USING columnar WITH ("columnar.compression"='zstd', "columnar.stripe_row_limit"='5000');
SELECT reloptions FROM pg_class WHERE oid = 'dumped'::regclass;
BEGIN;
ALTER TABLE t RESET (columnar.compression);
ROLLBACK;
SELECT compression FROM columnar.options WHERE relation = 't'::regclass;

-- rows are stored so
SET columnar.row_wise_limit = 0;
CREATE TABLE plain USING columnar WITH (columnar.compression = none) AS SELECT repeat('abc', 1000) AS x FROM generate_series(1, 500);
CREATE TABLE small USING columnar AS SELECT * FROM plain;
CREATE TABLE altered (x text) USING columnar;
ALTER TABLE altered SET (columnar.compression = none);
INSERT INTO altered SELECT repeat(md5(i::text), 50) FROM generate_series(1, 500) i;
SELECT compression FROM columnar.options WHERE relation = 'small'::regclass;
CREATE TABLE altered_zstd (LIKE altered) USING columnar;
INSERT INTO altered_zstd SELECT * FROM altered;
SELECT pg_table_size('altered') > 5 * pg_table_size('altered_zstd') AS larger;
CREATE MATERIALIZED VIEW m USING columnar WITH (columnar.compression = none) AS SELECT * FROM altered;
SELECT pg_table_size('m') > 5 * pg_table_size('altered_zstd') AS larger;
ALTER MATERIALIZED VIEW m SET (columnar.compression = zstd);
REFRESH MATERIALIZED VIEW m;
SELECT pg_table_size('m') > 5 * pg_table_size('altered_zstd') AS larger;
RESET columnar.row_wise_limit;

-- what is stored
SET columnar.row_wise_limit = 0;
CREATE TABLE v (a int, gone int, b text) USING columnar
	WITH (columnar.stripe_row_limit = 2000, columnar.chunk_group_row_limit = 1000, columnar.compression = pglz);
INSERT INTO v SELECT i, 0, CASE WHEN i > 1000 THEN repeat('x', i % 10) END FROM generate_series(1, 3500) i;
RESET columnar.row_wise_limit;
ALTER TABLE v DROP COLUMN gone;
INSERT INTO v VALUES (-1, 'row-wise');
DELETE FROM v WHERE a % 100 = 0;
SELECT stripe_num, data_length > 0 AS has_data, column_count, row_count, chunk_group_count, first_row_number, deleted_rows
	FROM columnar.stripe WHERE relation = 'v'::regclass ORDER BY 1;
SELECT stripe_num, chunk_group_num, row_count FROM columnar.chunk_group WHERE relation = 'v'::regclass ORDER BY 1, 2;
SELECT stripe_num, attr_num, chunk_group_num, minimum_value, maximum_value, value_compression_type, value_count
	FROM columnar.chunk WHERE relation = 'v'::regclass ORDER BY 1, 2, 3;
SELECT count(*) FROM columnar.storage s JOIN pg_class c ON c.reltoastrelid = s.storage_id WHERE relation = 'v'::regclass;

-- rows are sorted by compaction and VACUUM FULL
CREATE TABLE sorted (a int, b text, gone int, "C c" int) USING columnar WITH (columnar.chunk_group_row_limit = 1000, columnar.sort_by = '"C c", b');
ALTER TABLE sorted DROP COLUMN gone;
CREATE INDEX ON sorted (a);
SET columnar.row_wise_limit = 0;
INSERT INTO sorted SELECT i, 'b' || i % 10, CASE WHEN i % 500 > 0 THEN i * 7 % 100 END FROM generate_series(1, 5000) i;
RESET columnar.row_wise_limit;
INSERT INTO sorted VALUES (-1, 'b', 50), (-2, 'a', 50);
CREATE VIEW bounds AS SELECT stripe_num, chunk_group_num, minimum_value, maximum_value FROM columnar.chunk
	WHERE relation = 'sorted'::regclass AND attr_num = 4;
SELECT count(*), sum(a), sum("C c") FROM sorted;
SELECT chunk_group_num, minimum_value, maximum_value FROM bounds ORDER BY stripe_num, 1;
SELECT columnar.compact('sorted');
SELECT chunk_group_num, minimum_value, maximum_value FROM bounds ORDER BY stripe_num, 1;
SELECT columnar.compact('sorted');
SELECT count(*), sum(a), sum("C c") FROM sorted;
SELECT a, b FROM sorted WHERE a IN (-1, -2, 77, 500) ORDER BY a;
SELECT string_agg(b, ' ') FROM (SELECT b FROM sorted WHERE "C c" = 50 LIMIT 3) x;
SET columnar.row_wise_limit = 0;
INSERT INTO sorted SELECT i, 'b', i FROM generate_series(1, 2000) i;
RESET columnar.row_wise_limit;
VACUUM FULL sorted;
SELECT chunk_group_num, minimum_value, maximum_value FROM bounds ORDER BY stripe_num, 1;
ALTER TABLE sorted SET (columnar.sort_by = 'a, nothing');
ALTER TABLE sorted SET (columnar.sort_by = '');
ALTER TABLE sorted RENAME "C c" TO c;
VACUUM FULL sorted;
ALTER TABLE sorted RESET (columnar.sort_by);
SELECT columnar.compact('sorted');
DROP TABLE sorted CASCADE;

-- CLUSTER sorts all rows, of stripes and others, and keeps what the bounds can tell
CREATE TABLE c (a int, b int, big text) USING columnar
	WITH (columnar.stripe_row_limit = 2000, columnar.chunk_group_row_limit = 1000);
INSERT INTO c SELECT i * 7 % 5000, i, 'v' || i FROM generate_series(1, 4999) i;
INSERT INTO c VALUES (5000, 5000, repeat('x', 100000)), (NULL, 0, NULL);
DELETE FROM c WHERE a % 100 = 3;
CREATE TABLE before AS SELECT * FROM c;
CREATE INDEX c_a ON c (a DESC);
CREATE INDEX c_hash ON c USING hash (a);
CREATE INDEX c_expression ON c ((a % 10), a);
CLUSTER c USING c_a;
SELECT count(*) FROM (TABLE before EXCEPT ALL TABLE c) x;
SELECT count(*) FROM c;
SELECT bool_and(next IS NULL OR a >= next) AS descending
	FROM (SELECT a, lead(a) OVER (ORDER BY ctid) AS next FROM c) x;
SELECT minimum_value, maximum_value FROM columnar.chunk
	WHERE relation = 'c'::regclass AND attr_num = 1 ORDER BY stripe_num, chunk_group_num LIMIT 3;
CLUSTER c USING c_expression;
SELECT count(*), sum(b), max(length(big)) FROM c;
SELECT count(DISTINCT a % 10) FROM (SELECT a FROM c ORDER BY ctid LIMIT 400) x;
SET enable_seqscan = off;
SET columnar.enable_custom_scan = off;
SELECT b FROM c WHERE a = 14;
RESET columnar.enable_custom_scan;
RESET enable_seqscan;
CLUSTER c;
CLUSTER c USING c_hash;
SELECT alter_columnar_table_set('c', compression => 'none');
CREATE INDEX c_gist ON c USING gist (int4range(a, a, '[]'));
CLUSTER c USING c_gist;

-- another access method
ALTER TABLE t SET ACCESS METHOD heap;
SELECT reloptions FROM pg_class WHERE oid = 't'::regclass;
ALTER TABLE t SET (columnar.compression = zstd);
ALTER TABLE t SET ACCESS METHOD columnar, SET (columnar.compression = lz4hc);
SELECT reloptions FROM pg_class WHERE oid = 't'::regclass;

-- errors
ALTER TABLE t SET (columnar.compression = brotli);
ALTER TABLE t SET (columnar.compression_level = 20);
ALTER TABLE t SET (columnar.stripe_row_limit = many);
ALTER TABLE t SET (columnar.compression);
ALTER TABLE t SET (columnar.speed = 1);
ALTER TABLE t RESET (columnar.speed);
ALTER TABLE t SET (other.compression = zstd);
ALTER TABLE missing SET (columnar.compression = zstd);
ALTER TABLE IF EXISTS missing SET (columnar.compression = zstd);
CREATE TABLE heap (a int) WITH (columnar.compression = zstd);
CREATE TABLE parted (a int) PARTITION BY RANGE (a) WITH (columnar.compression = zstd);
CREATE TABLE IF NOT EXISTS t (a int) USING columnar WITH (columnar.compression = none);
SELECT compression FROM columnar.options WHERE relation = 't'::regclass;
CREATE ROLE columnar_other;
GRANT USAGE ON SCHEMA columnar_options TO columnar_other;
SET ROLE columnar_other;
ALTER TABLE t SET (columnar.compression = zstd);
SELECT alter_columnar_table_set('t', compression => 'zstd');
SELECT count(*) FROM columnar.stripe;
SELECT count(*) FROM columnar.chunk;
RESET ROLE;
SELECT count(*) FROM citus_internal.columnar_chunks('pg_class');

-- shards
SET citus.shard_count = 4;
CREATE TABLE d (k int, v text) USING columnar WITH (columnar.compression = pglz);
SELECT create_distributed_table('d', 'k');
SELECT DISTINCT result FROM run_command_on_shards('d',
	$$SELECT compression || stripe_row_limit FROM columnar.options WHERE relation = '%s'::regclass$$);
ALTER TABLE d SET (columnar.compression = none, columnar.stripe_row_limit = 3000);
SELECT DISTINCT result FROM run_command_on_shards('d',
	$$SELECT compression || stripe_row_limit FROM columnar.options WHERE relation = '%s'::regclass$$);
SELECT DISTINCT result FROM run_command_on_all_nodes(
	$$SELECT compression || stripe_row_limit FROM columnar.options WHERE relation = 'columnar_options.d'::regclass$$);
SELECT alter_columnar_table_reset('d', compression => true);
SELECT DISTINCT result FROM run_command_on_shards('d',
	$$SELECT compression || stripe_row_limit FROM columnar.options WHERE relation = '%s'::regclass$$);
SELECT alter_distributed_table('d', shard_count => 2);
SELECT DISTINCT result FROM run_command_on_shards('d',
	$$SELECT compression || stripe_row_limit FROM columnar.options WHERE relation = '%s'::regclass$$);
SELECT undistribute_table('d');
SELECT stripe_row_limit FROM columnar.options WHERE relation = 'd'::regclass;

CREATE EXTENSION citus_columnar;
DROP EXTENSION citus_columnar;
DROP SCHEMA columnar_options CASCADE;
DROP ROLE columnar_other;
