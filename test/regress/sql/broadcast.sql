-- The small side of a join is sent along: how EXPLAIN shows it, and the bound on its size.
CREATE SCHEMA broadcast;
SET search_path = broadcast;
SET citus.shard_count = 4;
CREATE TABLE p (id int PRIMARY KEY, v int, t text);
CREATE TABLE q (id int PRIMARY KEY, v int);
CREATE TABLE l (v int, t text);
SELECT create_distributed_table('p', 'id'), create_distributed_table('q', 'id');
INSERT INTO p SELECT g, g % 100, 't' || g % 10 FROM generate_series(1, 20000) g;
INSERT INTO q SELECT g, g % 100 FROM generate_series(1, 20000) g;
INSERT INTO l SELECT g % 20, 't' || g % 3 FROM generate_series(1, 20) g;
ANALYZE p, q, l;

CREATE FUNCTION explained(options text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		RETURN NEXT regexp_replace(regexp_replace(replace(replace(line, 'SubPlan exists_1', 'SubPlan 1'), 'unnamed_subquery_1', '"*SELECT* 2"'), '_10\d{4}', '_N'), '(actual.* rows=\d+)\.00', '\1');
	END LOOP;
END $$;

-- a local table, another distributed table, semi and outer joins
EXPLAIN (COSTS OFF) SELECT count(*) FROM p JOIN l USING (v);
EXPLAIN (COSTS OFF) SELECT count(*) FROM p WHERE NOT EXISTS (SELECT FROM l WHERE l.v = p.v AND l.t <> p.t);
EXPLAIN (COSTS OFF) SELECT p.id, l.t FROM p LEFT JOIN l USING (v) ORDER BY p.id LIMIT 3;
SELECT line FROM explained('ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF', 'SELECT count(*) FROM p JOIN q USING (v) WHERE q.id < 10') line
 WHERE line ~ 'rows=9 |Finalize';
SET citus.enable_broadcast_joins = off;
SELECT line FROM explained('COSTS OFF', 'SELECT count(*) FROM p JOIN l USING (v)') line WHERE line ~ 'Join|Scan on|Aggregate';
RESET citus.enable_broadcast_joins;

-- a small outer side is sent so that the nodes return what can meet it; not if it could be another when it runs again
EXPLAIN (COSTS OFF) SELECT v FROM l WHERE NOT EXISTS (SELECT FROM p WHERE p.v = l.v AND p.t <> l.t);
SELECT line FROM explained('COSTS OFF', 'SELECT p.id, l.t FROM l LEFT JOIN p ON p.v = l.v AND p.id < 10 AND l.t > p.t') line WHERE line ~ 'Join|Scan|EXISTS|UNNEST';
SET enable_hashjoin = off;
SELECT line FROM explained('COSTS OFF', 'SELECT v FROM l WHERE random() > 2 AND NOT EXISTS (SELECT FROM p WHERE p.v = l.v)') line WHERE line ~ 'Join|Scan|EXISTS|UNNEST';
RESET enable_hashjoin;

-- runs for each row of l, but asks the nodes and sends rows along once
SELECT line FROM explained('ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF', 'SELECT count(*) FROM l WHERE NOT EXISTS (
	SELECT sum(p.id) FROM p JOIN l m USING (v) HAVING sum(p.id) < 0 UNION ALL SELECT r FROM generate_series(1, l.v - 100) r)') line
 WHERE line ~ 'Seq Scan on l|^ *SubPlan|Scan.*loops=';

-- large sides: the nodes send rows to each other
EXPLAIN (COSTS OFF) SELECT p.id, q.id FROM p JOIN q ON p.id = q.v WHERE p.t <> 't1';
SELECT regexp_replace(line, '\m(p|broadcast_1)\.', '', 'g') AS line
  FROM explained('COSTS OFF', 'SELECT v, count(DISTINCT t) FROM p GROUP BY v HAVING count(DISTINCT id) > 7') line;
SET citus.enable_repartition_joins = off;
SELECT line FROM explained('COSTS OFF', 'SELECT p.id, q.id FROM p JOIN q ON p.id = q.v') line WHERE line ~ 'Join|Scan|Repartition';
RESET citus.enable_repartition_joins;

-- the nodes' planner knows what the arrays hold: here it finds all rows to be of one value
SELECT bool_and(estimated::numeric / actual::numeric BETWEEN 0.7 AND 1.5) AS close
  FROM explained('ANALYZE, TIMING OFF', 'SELECT count(*) FROM p JOIN (SELECT 5 AS v FROM l OFFSET 0) s USING (v)') line,
       LATERAL regexp_replace(line, '.* rows=(\d+) .*actual rows=.*', '\1') estimated,
       LATERAL regexp_replace(line, '.*actual rows=([\d.]+) .*', '\1') actual
 WHERE line ~ 'Hash Join.*actual rows';

-- more rows than were expected
CREATE FUNCTION many() RETURNS SETOF int LANGUAGE sql ROWS 10 AS 'SELECT g FROM generate_series(1, 50000) g OFFSET 0';
SET citus.max_intermediate_result_size = '64kB';
SELECT count(*) FROM p JOIN many() m ON p.v = m;
SET citus.max_intermediate_result_size = '16kB';
SELECT count(*) FROM p JOIN l USING (v) JOIN many() m ON p.v = m;
SET citus.max_intermediate_result_size = -1;
SELECT count(*) FROM p JOIN many() m ON p.v = m;
RESET citus.max_intermediate_result_size;
SELECT count(*) FROM p JOIN many() m ON p.v = m;

SET client_min_messages = warning;
DROP SCHEMA broadcast CASCADE;
