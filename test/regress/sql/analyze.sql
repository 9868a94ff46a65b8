-- Statistics of distributed tables, also by ANALYZE and VACUUM without a list of tables.
CREATE SCHEMA analyzed;
SET search_path = analyzed, public;
SET citus.shard_count = 4;
SET client_min_messages = error;

CREATE TABLE dist (id int PRIMARY KEY, v int);
SELECT create_distributed_table('dist', 'id');
INSERT INTO dist SELECT g, g % 10 FROM generate_series(1, 1000) g;
CREATE VIEW known AS
SELECT reltuples, relpages > 0 AS has_pages, (SELECT count(*) FROM pg_statistic WHERE starelid = c.oid) AS columns
  FROM pg_class c WHERE oid = 'dist'::regclass;
CREATE FUNCTION known_everywhere() RETURNS bigint LANGUAGE sql AS $$
SELECT count(*) FROM run_command_on_all_nodes('SELECT reltuples FROM pg_class WHERE oid = ''analyzed.dist''::regclass')
 WHERE result = (SELECT reltuples::text FROM pg_class WHERE oid = 'analyzed.dist'::regclass) $$;

ANALYZE dist;
SELECT * FROM known;
INSERT INTO dist SELECT g, g % 10 FROM generate_series(1001, 2000) g;

-- Without a list: every table, on all nodes; in a transaction block too.
BEGIN;
ANALYZE;
SELECT * FROM known;
ROLLBACK;
ANALYZE;
SELECT * FROM known;
SELECT known_everywhere() = (SELECT count(*) FROM run_command_on_all_nodes('SELECT 1')) AS everywhere;

-- VACUUM keeps the statistics of the empty logical table as they are.
VACUUM;
SELECT * FROM known;
INSERT INTO dist SELECT g, g % 10 FROM generate_series(2001, 3000) g;
VACUUM (ANALYZE);
SELECT * FROM known;

-- By name, with nothing to warn of.
SET client_min_messages = warning;
VACUUM (ANALYZE) dist;
VACUUM (PARALLEL 2, INDEX_CLEANUP off, VERBOSE false) dist;
ANALYZE dist;

-- Statistics of multiranges are about ranges.
CREATE TABLE spans (id int, r numrange, m nummultirange);
SELECT create_distributed_table('spans', 'id');
INSERT INTO spans SELECT g, numrange(g, g + 1.5), nummultirange(numrange(g, g + 1), numrange(g + 2, g + 3.5)) FROM generate_series(1, 100) g;
ANALYZE spans;
SELECT attname, histogram_bounds IS NOT NULL AS has_histogram FROM pg_stats WHERE tablename = 'spans' ORDER BY 1;
SELECT count(*) FROM spans WHERE m && numrange(50, 51) AND r << numrange(60, 61);

DROP SCHEMA analyzed CASCADE;
