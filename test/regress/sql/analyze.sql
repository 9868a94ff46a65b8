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

-- A sample says as much of a large table as it does on one server: 5000 values, not a sixth of the rows.
CREATE TABLE large (id int, v int, half int);
SELECT create_distributed_table('large', 'id');
INSERT INTO large SELECT g, g % 5000, nullif(g % 2, 0) FROM generate_series(1, 100000) g;
ANALYZE large;
SELECT attname, n_distinct BETWEEN 4000 AND 6000 AS five_thousand, n_distinct = -1 AS is_unique, null_frac BETWEEN 0.4 AND 0.6 AS half_null
  FROM pg_stats WHERE tablename = 'large' ORDER BY 1;
SELECT count(*) FROM run_command_on_all_nodes('SELECT n_distinct FROM pg_stats WHERE tablename = ''large'' AND attname = ''v''')
 WHERE result::float NOT BETWEEN 4000 AND 6000;

-- Targets; a small one has a part of the pages read.
ALTER TABLE large ALTER v SET STATISTICS 5, ALTER half SET STATISTICS 0, ALTER id SET (n_distinct = -0.25);
ANALYZE large;
SELECT attname, n_distinct = -0.25 AS as_told, array_length(histogram_bounds::text::text[], 1) FROM pg_stats WHERE tablename = 'large' AND attname <> 'half' ORDER BY 1;
ALTER TABLE large ALTER v SET STATISTICS -1, ALTER half SET STATISTICS -1;
SET default_statistics_target = 1;
ANALYZE large;
SELECT attname, null_frac BETWEEN 0.2 AND 0.8 AS half_null, n_distinct > 500 OR n_distinct < 0 AS many FROM pg_stats WHERE tablename = 'large' AND attname <> 'id' ORDER BY 1;
SELECT reltuples FROM pg_class WHERE oid = 'large'::regclass;
RESET default_statistics_target;

-- What the table's types run, runs with its owner's rights; of what an owner may not read there are no statistics.
SELECT count(*) > 0 AS made FROM run_command_on_all_nodes('CREATE ROLE analyzed_owner');
SELECT bool_and(success) AS made
  FROM run_command_on_all_nodes('CREATE FUNCTION analyzed.by_owner(int) RETURNS bool LANGUAGE sql AS $$SELECT current_user = ''analyzed_owner''$$');
GRANT ALL ON SCHEMA analyzed TO analyzed_owner;
SET ROLE analyzed_owner;
CREATE DOMAIN owners AS int CHECK (analyzed.by_owner(VALUE));
CREATE TABLE owned (id int, d owners);
SELECT create_distributed_table('owned', 'id');
INSERT INTO owned SELECT g, g FROM generate_series(1, 20) g;
RESET ROLE;
ANALYZE owned;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'owned' ORDER BY 1;
REVOKE SELECT ON owned FROM analyzed_owner;
ANALYZE owned;
DROP TABLE owned;
SELECT bool_and(success) AS dropped FROM run_command_on_all_nodes('DROP FUNCTION analyzed.by_owner CASCADE');
REVOKE ALL ON SCHEMA analyzed FROM analyzed_owner;
SELECT count(*) > 0 AS dropped FROM run_command_on_all_nodes('DROP OWNED BY analyzed_owner');
SELECT bool_and(success) AS dropped FROM run_command_on_all_nodes('DROP ROLE analyzed_owner');

DROP SCHEMA analyzed CASCADE;
