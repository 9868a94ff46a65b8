-- Columnar tables, local and distributed.
CREATE SCHEMA columnar_tables;
SET search_path = columnar_tables;
SET client_min_messages = warning;

CREATE TABLE t (a int, b text, c numeric, d date, e bool, f float8, g uuid) USING columnar;
CREATE TABLE h (LIKE t);
INSERT INTO h
	SELECT i, nullif('row ' || i % 50, 'row 7'), i * 1.25, date '2020-01-01' + i % 1000, i % 3 = 0, i / 7.0, md5(i::text)::uuid
	FROM generate_series(1, 25000) i;
INSERT INTO t SELECT * FROM h;
SELECT count(*), sum(a), sum(c), min(d), max(d), count(b), count(DISTINCT b), round(sum(f)::numeric, 3) FROM t;
-- no row differs, and most are stored in stripes
SELECT count(*) FROM (SELECT * FROM h EXCEPT ALL SELECT * FROM t) x;
SELECT pg_relation_size('t') * 10 < pg_relation_size('h') AS row_wise_part_is_small, pg_table_size('t') * 3 < pg_table_size('h') AS smaller;
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 't'::regclass;

-- system columns
SELECT count(DISTINCT ctid) = 25000, count(DISTINCT xmin::text), min(tableoid::regclass::text) FROM t;
SELECT a FROM t WHERE ctid = (SELECT ctid FROM t WHERE a = 20000);

-- changes
DELETE FROM t WHERE a % 100 = 1;

UPDATE t SET b = 'changed', c = -c WHERE a % 100 = 2;
UPDATE t SET b = 'twice' WHERE a = 102;
SELECT count(*), sum(a), sum(c), count(*) FILTER (WHERE b = 'changed') FROM t;
DELETE FROM h WHERE a % 100 = 1;
UPDATE h SET b = 'changed', c = -c WHERE a % 100 = 2;
UPDATE h SET b = 'twice' WHERE a = 102;
SELECT count(*) FROM (SELECT * FROM h EXCEPT ALL SELECT * FROM t) x;
MERGE INTO t USING (VALUES (3, 'merged'), (-3, 'new')) v (a, b) ON t.a = v.a
	WHEN MATCHED THEN UPDATE SET b = v.b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (v.a, v.b);
SELECT a, b FROM t WHERE a IN (3, -3) ORDER BY a;

-- transactions, savepoints; a command doesn't see its own rows
BEGIN;
DELETE FROM t WHERE a < 20000;
SELECT count(*) FROM t;
ROLLBACK;
SELECT count(*) FROM t;
BEGIN;
INSERT INTO t SELECT a + 100000 FROM h;
SAVEPOINT s;
INSERT INTO t SELECT a + 200000 FROM h;
DELETE FROM t WHERE a BETWEEN 100000 AND 110000;
SELECT count(*), max(a) FROM t;
ROLLBACK TO s;
SELECT count(*), max(a) FROM t;
INSERT INTO t SELECT a + 300000 FROM h LIMIT 5000;
SAVEPOINT s2;
SELECT count(*), max(a) > 300000 FROM t;		-- stores the rows in a subtransaction that fails
ROLLBACK TO s2;
COMMIT;
SELECT count(*), max(a) > 300000 FROM t;
INSERT INTO t SELECT * FROM t;
SELECT count(*) FROM t;
DELETE FROM t WHERE a > 100000;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a FROM t WHERE a BETWEEN 500 AND 503;
INSERT INTO t (a) SELECT 501 FROM generate_series(1, 2000);
FETCH ALL c;
FETCH BACKWARD 3 c;
ROLLBACK;

-- indexes
TRUNCATE t;
SELECT count(*) FROM t;
INSERT INTO t SELECT * FROM h;
CREATE INDEX ON t USING hash (b);
ALTER TABLE t ADD PRIMARY KEY (a);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT b FROM t WHERE a = 5000;
SELECT a, b, c FROM t WHERE a IN (2, 102, 5000, 20000, 101) ORDER BY a;
SELECT count(*) FROM t WHERE b = 'row 9';
RESET enable_seqscan;
INSERT INTO t (a) VALUES (5000);
INSERT INTO t (a) SELECT 30000 + i % 3000 FROM generate_series(1, 5000) i;
INSERT INTO t (a) VALUES (5000) ON CONFLICT DO NOTHING;
INSERT INTO t (a) VALUES (5000), (30001) ON CONFLICT (a) DO UPDATE SET b = 'upsert' RETURNING a, b, c;
UPDATE t SET a = 5000 WHERE a = 6000;
UPDATE t SET a = 60000 WHERE a = 6000;
SELECT a FROM t WHERE a IN (6000, 60000);
CREATE UNIQUE INDEX CONCURRENTLY t_unique ON t (a, b);
CREATE UNIQUE INDEX CONCURRENTLY t_invalid ON t (b) WHERE b = 'row 35';
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 't'::regclass AND indisunique ORDER BY indexrelid::regclass::text;
DROP INDEX t_unique, t_invalid;
CREATE INDEX CONCURRENTLY t_a_c ON t ((a + 1), c);
REINDEX INDEX CONCURRENTLY t_a_c;
SET enable_seqscan = off;
SELECT count(*), sum(a) FROM t WHERE a + 1 BETWEEN 100 AND 60001;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
RESET enable_seqscan;
SELECT count(*), sum(a) FROM t WHERE a + 1 BETWEEN 100 AND 60001;
RESET enable_indexscan;
RESET enable_bitmapscan;
DROP INDEX CONCURRENTLY t_a_c;
-- bounds of chunks do what a BRIN index does
CREATE INDEX t_brin ON t USING brin (a) WITH (pages_per_range = 4, autosummarize = on);
INSERT INTO t (a) SELECT 70000 + i FROM generate_series(1, 3000) i;
SELECT brin_summarize_new_values('t_brin') >= 0;
SELECT count(*) FROM t WHERE a BETWEEN 69000 AND 71000;
DROP INDEX t_brin;
CREATE INDEX t_gin ON t USING gin ((ARRAY[a]));
-- bitmap scans
SET enable_seqscan = off;
SET enable_indexscan = off;
SET columnar.enable_custom_scan = on;
EXPLAIN (COSTS OFF) SELECT a, b FROM t WHERE ARRAY[a] && ARRAY[5000, 70005];
SELECT a, b FROM t WHERE ARRAY[a] && ARRAY[5000, 70005, 12, 501] ORDER BY a;
SELECT count(*), sum(a), count(c) FROM t WHERE ARRAY[a] && (SELECT array_agg(i) FROM generate_series(1, 30000, 3) i);
EXPLAIN (COSTS OFF) SELECT count(*), sum(a) FROM t WHERE ARRAY[a] && ARRAY[77] OR b = 'row 9';
SELECT count(*), sum(a) FROM t WHERE ARRAY[a] && ARRAY[77] OR b = 'row 9';
SET work_mem = 64;
SELECT count(*), sum(a), count(c) FROM t WHERE a BETWEEN 10 AND 29000;
RESET work_mem;
SELECT i, t.a, t.b FROM generate_series(3, 70003, 35000) i, LATERAL (SELECT * FROM t WHERE ARRAY[t.a] && ARRAY[i]) t ORDER BY 1;
BEGIN;
SELECT a FROM t WHERE ARRAY[a] && ARRAY[3, 5000] ORDER BY a FOR UPDATE;
UPDATE t SET b = 'by a bitmap' WHERE ARRAY[a] && ARRAY[3, 5000] RETURNING a, b;
DELETE FROM t WHERE ARRAY[a] && ARRAY[4, 5001] RETURNING a;
SELECT a, b FROM t WHERE ARRAY[a] && ARRAY[3, 4, 5000, 5001] ORDER BY a;
ROLLBACK;
SELECT xmin IS NOT NULL FROM t WHERE ARRAY[a] && ARRAY[5000];
RESET enable_seqscan;
RESET enable_indexscan;
RESET columnar.enable_custom_scan;
SELECT count(*), sum(a), count(c) FROM t WHERE ARRAY[a] && (SELECT array_agg(i) FROM generate_series(1, 30000, 3) i);
SELECT count(*), sum(a), count(c) FROM t WHERE a BETWEEN 10 AND 29000;
-- samples: all rows or none; every row is in one of two complementary ones; by the same seed, the same rows
SELECT count(*) = (SELECT count(*) FROM t) FROM t TABLESAMPLE system (100);
SELECT count(*) = (SELECT count(*) FROM t), count(DISTINCT ctid) = count(*) FROM t TABLESAMPLE bernoulli (100);
SELECT count(*) FROM t TABLESAMPLE system (0);
SELECT count(*) BETWEEN 1000 AND 20000 FROM t TABLESAMPLE system (50) REPEATABLE (7);
SELECT count(*) BETWEEN 800 AND 3500 FROM t TABLESAMPLE bernoulli (10) REPEATABLE (7);
SELECT count(*) FROM (SELECT a FROM t TABLESAMPLE bernoulli (10) REPEATABLE (7) EXCEPT ALL
	SELECT a FROM t TABLESAMPLE bernoulli (10) REPEATABLE (7)) x;
BEGIN;
DELETE FROM t WHERE a % 2 = 0;
SELECT count(*) = (SELECT count(*) FROM t), bool_and(a % 2 = 1) FROM t TABLESAMPLE system (100);
ROLLBACK;
SELECT count(*), count(s) = count(*) FROM (VALUES (1), (2)) v (n), LATERAL (SELECT s FROM t s TABLESAMPLE bernoulli (100) WHERE s.a = v.n) x;
CLUSTER t USING t_pkey;

-- the scan node: columns that are read, chunk groups that are skipped
CREATE TABLE s (a int, b text COLLATE "C", c numeric, d date, n int, o oidvector) USING columnar;
SET columnar.chunk_group_row_limit = 1000;
SET columnar.row_wise_limit = 0;
INSERT INTO s SELECT i, 'v' || lpad((i / 1000)::text, 3, '0'), i / 4.0, date '2020-01-01' + i / 1000,
	CASE WHEN i > 5000 THEN i END, '1 2 3' FROM generate_series(1, 20000) i;
RESET columnar.row_wise_limit;
INSERT INTO s (a, b) VALUES (7, 'row-wise');
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION scan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		RETURN NEXT regexp_replace(replace(replace(replace(line, ' (returns $0)', ''), 'InitPlan expr_1', 'InitPlan 1'), '(InitPlan 1).col1', '$0'), '(actual.* rows=\d+)\.00', '\1');
	END LOOP;
END$$;
SELECT scan_of('SELECT count(*) FROM s');
SELECT scan_of('SELECT sum(c) FROM s WHERE a BETWEEN 3500 AND 4500');
SELECT scan_of('SELECT a FROM s WHERE a IN (3, 19500) OR d = ''2020-01-11'' AND b >= ''v010''');
SELECT scan_of('SELECT a FROM s WHERE n < 5000');
SELECT scan_of('SELECT a FROM s WHERE n IS NULL AND a > 30000');
SELECT scan_of('SELECT a FROM s WHERE c = (SELECT 2500.25)');
PREPARE p (int) AS SELECT count(*), sum(a) FROM s WHERE a < $1;
SET plan_cache_mode = force_generic_plan;
SELECT scan_of('EXECUTE p (2000)');
EXECUTE p (2000);
EXECUTE p (NULL);
RESET plan_cache_mode;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), sum(s.a) FROM (VALUES (10), (1500), (30000), (19999)) v (x), LATERAL (SELECT * FROM s WHERE s.a = v.x OFFSET 0) s;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT count(*) FROM s WHERE n IS NULL;
SELECT count(*) FROM s WHERE n <> 6000 OR a < 100;
SELECT s FROM s WHERE a = 1234;
SELECT a, ctid > '(2147483648,0)' AS in_stripe, tableoid::regclass, xmin IS NOT NULL AS has_xmin FROM s WHERE a = 7 ORDER BY b;
UPDATE s SET b = 'changed' WHERE a = 8 RETURNING a, b, n;
SELECT a, b FROM s WHERE a IN (7, 8) ORDER BY b FOR UPDATE;
-- another order than that of the bounds
ALTER TABLE s ALTER COLUMN b TYPE text COLLATE "POSIX";
SELECT scan_of('SELECT a FROM s WHERE b = ''v003'' AND a < 3010');
SET columnar.enable_qual_pushdown = off;
SELECT scan_of('SELECT a FROM s WHERE a = 3');
SET columnar.enable_custom_scan = off;
SELECT scan_of('SELECT a FROM s WHERE a = 3');
RESET columnar.enable_custom_scan;
RESET columnar.enable_qual_pushdown;

-- conditions on chunk groups fail for the rows only that are left
CREATE TABLE checked (a int, b text) USING columnar;
INSERT INTO checked SELECT i, CASE WHEN i % 500 = 0 THEN 'x' ELSE (i % 9)::text END FROM generate_series(1, 20000) i;
SELECT count(*) FROM checked WHERE b::int > 4;
SELECT count(*) FROM checked WHERE b <> 'x' AND b::int > 4;
SELECT count(*) FROM checked WHERE 10 / (a - 5) > 0 AND a > 5;
DELETE FROM checked WHERE b = 'x';
SELECT count(*) FROM checked WHERE b::int > 4;
DROP TABLE checked;

-- ANALYZE of more rows than it wants
CREATE TABLE sampled (a int, b int) USING columnar;
SELECT create_distributed_table('sampled', 'a', shard_count => 2);
SET default_statistics_target = 10;
INSERT INTO sampled SELECT i, i % 7 FROM generate_series(1, 20000) i;
ANALYZE sampled;
SELECT n_distinct FROM pg_stats WHERE tablename = 'sampled' AND attname = 'b';
RESET default_statistics_target;
DROP TABLE sampled;
RESET columnar.chunk_group_row_limit;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*), sum(a) FROM s;
SELECT count(*), sum(a) FROM s;
CREATE INDEX ON s (a);
SET enable_seqscan = off;
SET columnar.enable_custom_scan = off;
SELECT count(*) FROM generate_series(1, 20000) i JOIN s ON a = i;
SELECT count(*) FROM s WHERE a BETWEEN 100 AND 199;
RESET columnar.enable_custom_scan;
RESET enable_seqscan;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE s;
DROP FUNCTION scan_of;

-- foreign keys both ways, triggers
CREATE TABLE child (a int REFERENCES t ON DELETE CASCADE, n int) USING columnar;
INSERT INTO child SELECT a, a FROM t WHERE a < 3000;
INSERT INTO child VALUES (1, 1);
DELETE FROM t WHERE a BETWEEN 100 AND 110;
SELECT count(*) FROM child WHERE a BETWEEN 100 AND 110;
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
	RAISE WARNING '% % %', TG_OP, OLD.n, NEW.n; RETURN NULL; END$$;
CREATE TRIGGER child_changes AFTER INSERT OR UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION count_rows();
UPDATE child SET n = -n WHERE a = 300;
DELETE FROM child WHERE a IN (300, 400);
DROP TABLE child;

-- ALTER TABLE, VACUUM, ANALYZE
ALTER TABLE t ADD COLUMN added int DEFAULT 7, ADD COLUMN nothing text;
SELECT a, added, nothing FROM t WHERE a IN (5000, 5003);
ALTER TABLE t DROP COLUMN d;
SELECT a, c, e, added FROM t WHERE a = 5003;
ALTER TABLE t ALTER COLUMN a TYPE bigint, ALTER COLUMN c TYPE text;
SELECT a, c, e, added FROM t WHERE a = 5003;
VACUUM t;
VACUUM FULL t;
SELECT count(*), sum(a), sum(added) FROM t;
ANALYZE t;
SELECT reltuples = (SELECT count(*) FROM t) FROM pg_class WHERE oid = 't'::regclass;
SELECT n_distinct FROM pg_stats WHERE tablename = 't' AND schemaname = 'columnar_tables' AND attname = 'e';
CREATE TABLE ints (a int) WITH (fillfactor = 70);
INSERT INTO ints SELECT generate_series(1, 5000);
ALTER TABLE ints SET ACCESS METHOD columnar;
SELECT count(*), sum(a), pg_relation_size('ints') FROM ints;
ALTER TABLE ints SET ACCESS METHOD heap;
SELECT count(*), sum(a) FROM ints;
-- one without rows, too, gets what stripes are stored in
CREATE TABLE empty_ints (a int);
ALTER TABLE empty_ints SET ACCESS METHOD columnar;
INSERT INTO empty_ints SELECT generate_series(1, 5000);
SELECT sum(row_count) > 4000 AS in_stripes FROM columnar.stripe WHERE relation = 'empty_ints'::regclass;

-- values of all sizes; compression methods; CREATE TABLE AS
SET columnar.compression = pglz;
CREATE TABLE sizes USING columnar AS
	SELECT i, repeat(md5(i::text), i * i / 10) AS v, CASE WHEN i % 5 = 0 THEN ARRAY[i, NULL, 2] END AS a FROM generate_series(1, 300) i;
SELECT sum(length(v)), count(a), md5(string_agg(v, '' ORDER BY i)) FROM sizes;
SELECT sum(i * i / 10 * 32), md5(string_agg(repeat(md5(i::text), i * i / 10), '' ORDER BY i)) FROM generate_series(1, 300) i;
SET columnar.compression = none;
INSERT INTO sizes SELECT 1000, repeat('x', 9000000), NULL;
INSERT INTO sizes SELECT i + 1000, v, a FROM sizes, generate_series(1, 3) WHERE i < 1000;
SELECT sum(length(v)), count(*) FROM sizes;
SET columnar.compression = lz4;
CREATE UNLOGGED TABLE u USING columnar AS SELECT * FROM h;
SET columnar.compression = lz4hc;
CREATE TEMPORARY TABLE temporary_table USING columnar AS SELECT * FROM h;
SELECT count(*), sum(a) FROM u;
SELECT count(*), sum(a) FROM temporary_table;
SET columnar.compression = brotli;
RESET columnar.compression;
DROP TABLE temporary_table;

-- distributed, reference, partitioned
CREATE TABLE d (id bigint PRIMARY KEY, k int, v text) USING columnar;
INSERT INTO d SELECT i, i % 10, 'v' || i FROM generate_series(1, 5000) i;
SELECT create_distributed_table('d', 'id', shard_count => 4);
INSERT INTO d SELECT i, i % 10, 'v' || i FROM generate_series(5001, 20000) i;
SELECT DISTINCT result FROM run_command_on_shards('d',
	$$SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = '%s'::regclass$$);
SELECT k, count(*), max(id) FROM d GROUP BY k ORDER BY k;
UPDATE d SET v = 'x' WHERE id = 77 RETURNING *;
UPDATE d SET v = (SELECT max(v) FROM d) WHERE k = 3 AND id < 100;
DELETE FROM d WHERE ctid = (SELECT ctid FROM d WHERE id = 300);
INSERT INTO d VALUES (78), (20001) ON CONFLICT (id) DO UPDATE SET v = 'conflict' RETURNING *;
SELECT count(*), sum(id), count(*) FILTER (WHERE v = 'v9999') FROM d;
CREATE TABLE p (id int, day date) PARTITION BY RANGE (day);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2020-02-01') USING columnar;
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2020-02-01') TO ('2020-03-01');
SELECT create_distributed_table('p', 'id', shard_count => 4);
INSERT INTO p SELECT i, date '2020-01-15' + i % 31 FROM generate_series(1, 10000) i;
UPDATE p SET day = '2020-02-02' WHERE day = '2020-01-15';
SELECT count(*) FROM p1;
SELECT alter_table_set_access_method('p2', 'columnar');
SELECT count(*), sum(id) FROM p;
CREATE TABLE r (a int PRIMARY KEY) USING columnar;
SELECT create_reference_table('r');
INSERT INTO r SELECT generate_series(1, 1000);
SELECT count(*) FROM d JOIN r ON d.k = r.a;
SELECT undistribute_table('d');
SELECT count(*), sum(id) FROM d;

DROP SCHEMA columnar_tables CASCADE;
