-- EXPLAIN says which rung planned a query, its tasks, and the plan there.
CREATE SCHEMA explain;
SET search_path = explain;
SET citus.shard_count = 4;
CREATE TABLE t (id int PRIMARY KEY, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
SELECT create_distributed_table('t', 'id');
SELECT create_reference_table('r');
INSERT INTO t SELECT g, g FROM generate_series(1, 10) g;

-- Ports and shard ids differ from run to run.
CREATE FUNCTION stable_explain(options text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		line := regexp_replace(line, 'port=\d+', 'port=N', 'g');
		line := regexp_replace(line, '127.0.0.1:\d+', '127.0.0.1:N', 'g');
		line := regexp_replace(line, '_10\d{4}', '_N', 'g');
		line := regexp_replace(line, '(actual.* rows=\d+)\.00', '\1');
		line := regexp_replace(line, 'shard \d+\.\d+', 'shard N.N', 'g');
		line := regexp_replace(line, '(Time|time)([=:]) ?[\d.]+( ms)?(\.\.[\d.]+)?', '\1\2 N', 'g');
		line := regexp_replace(line, '(Memory( Usage)?).*: \d+', '\1: N', 'g');
		CONTINUE WHEN line ~ 'Index Searches';
		RETURN NEXT line;
	END LOOP;
END $$;

SELECT stable_explain('COSTS OFF', 'SELECT * FROM t WHERE id = 1');
SELECT stable_explain('COSTS OFF', 'SELECT t.v, r.v FROM t JOIN r USING (v) WHERE t.id = 1');
SELECT stable_explain('COSTS OFF', 'SELECT count(*) FROM t WHERE v < 5');
SELECT stable_explain('COSTS OFF', 'SELECT * FROM t a JOIN t b ON a.id = b.v');
SELECT stable_explain('COSTS OFF', 'INSERT INTO t VALUES (100, 1)');
SELECT stable_explain('COSTS OFF', 'UPDATE t SET v = v + 1 WHERE id = 1');
SELECT stable_explain('COSTS OFF', 'UPDATE t SET v = v + 1');
SELECT stable_explain('COSTS OFF', 'DELETE FROM t WHERE v = 3');
SELECT stable_explain('COSTS OFF', 'SELECT * FROM r');
SET citus.explain_all_tasks = on;
SELECT stable_explain('COSTS OFF', 'SELECT count(*) FROM t WHERE v < 5');
RESET citus.explain_all_tasks;
SELECT stable_explain('ANALYZE, BUFFERS OFF, COSTS OFF, SUMMARY OFF, TIMING OFF', 'SELECT * FROM t WHERE id = 1');
SELECT stable_explain('ANALYZE, BUFFERS OFF, COSTS OFF, SUMMARY OFF, TIMING OFF', 'SELECT count(*) FROM t');

-- A node looks a join's value up in one of its shards.
CREATE TABLE big (id int PRIMARY KEY, v int);
SELECT create_distributed_table('big', 'id', shard_count => 8, colocate_with => 'none');
CREATE TABLE large (LIKE big INCLUDING ALL);
SELECT create_distributed_table('large', 'id', colocate_with => 'big');
INSERT INTO big SELECT g, g FROM generate_series(1, 20000) g;
INSERT INTO large TABLE big;
ANALYZE big, large;
SELECT stable_explain('COSTS OFF', 'SELECT a.v, b.v FROM big a JOIN large b USING (id) WHERE a.v < 20');

-- EXPLAIN ANALYZE of a write writes.
BEGIN;
SELECT count(*) > 0 AS explained
  FROM stable_explain('ANALYZE, COSTS OFF', 'UPDATE t SET v = 1000 WHERE id = 1');
SELECT v FROM t WHERE id = 1;
ROLLBACK;

-- All formats are well-formed.
CREATE FUNCTION explained(format text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := '';
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (FORMAT %s, VERBOSE, ANALYZE, BUFFERS) %s', format, query) LOOP
		result := result || line || E'\n';
	END LOOP;
	RETURN result;
END $$;
SELECT q, jsonb_typeof(explained('json', q)::jsonb) AS json, explained('xml', q)::xml IS NOT NULL AS xml,
       length(explained('yaml', q)) > 0 AS yaml
  FROM (VALUES ('SELECT * FROM t WHERE id = 1'), ('SELECT count(*) FROM t'), ('SELECT * FROM r')) x(q);

-- What each node has taken, where times are wanted.
CREATE FUNCTION nodes_of(options text, query text) RETURNS TABLE(line text) LANGUAGE plpgsql AS $$
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, %s) %s', options, query) LOOP
		line := regexp_replace(regexp_replace(line, 'port=\d+', 'port=n', 'g'), '\d+\.\d+', 'n', 'g');
		IF line LIKE '%: tasks=%' THEN
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;
SELECT trim(line) AS line, count(*) FROM nodes_of('TIMING', 'UPDATE t SET v = v') GROUP BY 1 ORDER BY 1;
SELECT trim(line) AS line FROM nodes_of('TIMING OFF', 'UPDATE t SET v = v');
SELECT jsonb_path_query(explained('json', 'UPDATE t SET v = v')::jsonb, '$.**.Nodes[*]') ? 'Longest Task' AS described;

SET client_min_messages = warning;
DROP SCHEMA explain CASCADE;
