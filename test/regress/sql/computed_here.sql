-- EXPLAIN tells what the nodes don't compute, and why.
CREATE SCHEMA computed_here;
SET search_path = computed_here;
SET citus.shard_count = 4;
CREATE TABLE p (id int PRIMARY KEY, v int, t text);
CREATE TABLE q (id int PRIMARY KEY, v int);
CREATE TABLE o (k int PRIMARY KEY, v int);
CREATE TABLE r (v int PRIMARY KEY);
SELECT create_distributed_table('p', 'id'), create_distributed_table('q', 'id'),
       create_distributed_table('o', 'k', colocate_with => 'none'), create_reference_table('r');
CREATE FUNCTION own(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN $1 > 0 THEN $1 END';
SET citus.enable_broadcast_joins = off;
SET citus.enable_repartition_joins = off;

CREATE FUNCTION computed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) %s', query) LOOP
		IF line ~ 'Join|Nested|Aggregate|WindowAgg|Distributed|Computed' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;

SELECT computed('SELECT count(*) FROM p JOIN q USING (id)');
SELECT computed('SELECT count(*) FROM p JOIN q USING (v)');
SELECT computed('SELECT count(*) FROM p JOIN o ON p.id = o.k');
SELECT computed('SELECT count(*) FROM p JOIN q ON p.id = q.id AND random() < p.v');
SELECT computed('SELECT count(*) FROM p JOIN q USING (id) WHERE own(p.v) > q.v');
SELECT computed('SELECT count(*) FROM r LEFT JOIN p USING (v)');
SELECT computed('SELECT count(*) FROM p WHERE v > ALL (SELECT v FROM q)');
SELECT computed('SELECT p.ctid FROM p JOIN q USING (id)');
SELECT computed('SELECT json_agg(id) FROM p');
SELECT computed('SELECT id, array_agg(v) FROM p GROUP BY id');
SELECT computed('SELECT v, count(*) FROM p GROUP BY ROLLUP (v)');
SELECT computed('SELECT rank() OVER (ORDER BY v) FROM p');
SELECT computed('UPDATE p SET v = q.v FROM q WHERE p.id = q.id');
SELECT computed('UPDATE p SET v = q.v FROM q WHERE p.v = q.v');

SET client_min_messages = warning;
DROP SCHEMA computed_here CASCADE;
