-- Indexes of all kinds, and statistics objects: on the logical table and on the shards.
CREATE SCHEMA indexes; SET search_path = indexes;
SET citus.global_indexes = refuse;
\set VERBOSITY terse
SET citus.shard_count = 4;
CREATE TABLE t (id int, v text, j jsonb, r int4range, n int);
CREATE INDEX before ON t (v) WHERE n > 3;
SELECT create_distributed_table('t', 'id');
CREATE VIEW shard_indexes AS
  SELECT regexp_replace(result, '_\d{6,}', '_N', 'g') AS def, count(*)
    FROM run_command_on_placements('indexes.t', $$
      SELECT string_agg(pg_get_indexdef(indexrelid), E'\n' ORDER BY pg_get_indexdef(indexrelid))
        FROM pg_index WHERE indrelid = '%s'::regclass $$) GROUP BY 1;

CREATE INDEX ON t (v);
CREATE INDEX ON t (v);
CREATE INDEX named ON t (lower(v) COLLATE "C" text_pattern_ops DESC NULLS LAST) INCLUDE (n) WITH (fillfactor = 70);
CREATE INDEX CONCURRENTLY conc ON t USING gin (j jsonb_path_ops);
CREATE INDEX ON t USING gist (r);
CREATE UNIQUE INDEX uniq ON t (id, n) NULLS NOT DISTINCT;
CREATE INDEX IF NOT EXISTS uniq ON t (id, n);
SELECT * FROM shard_indexes;
CREATE UNIQUE INDEX refused ON t (n);
INSERT INTO t (id, n) VALUES (1, NULL);
INSERT INTO t (id, n) VALUES (1, NULL);
INSERT INTO t (id, n) VALUES (1, 1) ON CONFLICT (id, n) DO UPDATE SET v = 'conflict';
INSERT INTO t (id, n) VALUES (1, 1) ON CONFLICT (id, n) DO UPDATE SET v = 'conflict';
SELECT id, n, v FROM t ORDER BY n;

ALTER INDEX named RENAME TO "Re Named";
ALTER INDEX "Re Named" SET (fillfactor = 80);
ALTER INDEX "Re Named" ALTER COLUMN 1 SET STATISTICS 200;
ALTER TABLE t ADD CONSTRAINT key_of_index UNIQUE USING INDEX uniq;
DROP INDEX before, conc;
DROP INDEX IF EXISTS nothing_here;
SELECT * FROM shard_indexes;
ALTER TABLE t CLUSTER ON key_of_index;
CLUSTER t;
CLUSTER t USING t_v_idx;
REINDEX TABLE t;
REINDEX INDEX t_v_idx1;
REINDEX TABLE CONCURRENTLY t;
CREATE TABLE bare (id int);
SELECT create_reference_table('bare');
REINDEX TABLE CONCURRENTLY bare;
DROP TABLE bare;

CREATE STATISTICS st ON id, n FROM t;
ALTER STATISTICS st RENAME TO st2;
ALTER STATISTICS st2 SET STATISTICS 300;
SELECT DISTINCT result FROM run_command_on_placements('indexes.t', $$
  SELECT count(*) || ' ' || min(stxstattarget) FROM pg_statistic_ext WHERE stxrelid = '%s'::regclass $$);
CREATE SCHEMA indexes_other;
ALTER STATISTICS st2 SET SCHEMA indexes_other;
CREATE TABLE same_name (id int, v int);
SELECT create_distributed_table('same_name', 'id');
CREATE STATISTICS st2 ON id, v FROM same_name;
ALTER STATISTICS st2 OWNER TO CURRENT_USER;
SELECT DISTINCT result FROM run_command_on_all_nodes($$
  SELECT string_agg(stxnamespace::regnamespace::text, ',' ORDER BY stxnamespace::regnamespace::text) FROM pg_statistic_ext WHERE stxname = 'st2' $$);
DROP STATISTICS indexes_other.st2;
DROP SCHEMA indexes_other;
DROP TABLE same_name;
SELECT DISTINCT result FROM run_command_on_placements('indexes.t', $$
  SELECT count(*) FROM pg_statistic_ext WHERE stxrelid = '%s'::regclass $$);
BEGIN;
CREATE INDEX rolled_back ON t (n);
ROLLBACK;
SELECT DISTINCT result FROM run_command_on_placements('indexes.t', $$
  SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass $$);
SET client_min_messages = warning;
DROP SCHEMA indexes CASCADE;
