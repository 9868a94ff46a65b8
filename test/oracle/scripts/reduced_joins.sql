-- Outer, semi and anti joins whose outer side is small, and here or on all nodes: nodes return what can meet it.
--
-- distribute: big(id) shards 4, scales(id) shards 1, other(id) with none shards 3, r reference, l local
CREATE TABLE big (id int PRIMARY KEY, k int, v int, t text);
CREATE TABLE other (id bigint PRIMARY KEY, k bigint, t text, j json);
CREATE TABLE r (id int PRIMARY KEY, k int, t text);
CREATE TABLE l (id int PRIMARY KEY, k int, t text);
INSERT INTO big SELECT g, nullif(g % 97, 3), g % 5, nullif('t' || g % 31, 't4') FROM generate_series(1, 2000) g;
INSERT INTO other SELECT g, nullif(g % 89, 7), 't' || g % 40, json_build_object('g', g % 3) FROM generate_series(1, 900) g;
INSERT INTO r SELECT g, nullif(g * 3 % 120, 9), 't' || g FROM generate_series(0, 40) g;
INSERT INTO l SELECT g, nullif(g * 7 % 130, 14), nullif('t' || g % 35, 't6') FROM generate_series(0, 50) g;
CREATE TABLE scales (id int, k int, n numeric);
CREATE TABLE pairs (id int, k int);
INSERT INTO pairs SELECT g, g / 2 FROM generate_series(0, 119) g;
INSERT INTO scales SELECT g, g / 2, CASE WHEN g % 2 = 0 THEN 1.0 ELSE 1.00 END FROM generate_series(0, 201) g, generate_series(1, 20);
ANALYZE big, other, r, l, scales, pairs;
-- setup ends
SET citus.value_cost = 0;
SET citus.tuple_transfer_cost = 1000;
SET citus.exchange_cost = 1000000;

-- a local table, a reference table, another distributed table as the outer side
SELECT id FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k) ORDER BY id;
SELECT id FROM r WHERE NOT EXISTS (SELECT FROM big WHERE big.k = r.k) ORDER BY id;
SELECT id FROM other WHERE id < 100 AND NOT EXISTS (SELECT FROM big WHERE big.k = other.k) ORDER BY id;
SELECT id, t FROM l WHERE EXISTS (SELECT FROM big WHERE big.k = l.k AND big.t <> l.t) ORDER BY id;
SELECT id FROM r WHERE k IN (SELECT k FROM big WHERE v = 2) ORDER BY id;
SELECT id FROM l WHERE k NOT IN (SELECT k FROM other WHERE k IS NOT NULL) ORDER BY id;
SELECT l.id, big.id, big.v FROM l LEFT JOIN big ON big.k = l.k AND big.v > l.id % 4 AND big.id < 300 ORDER BY 1, 2;
SELECT r.id, count(big.id), sum(big.v) FROM r LEFT JOIN big ON big.k = r.k WHERE big.v IS DISTINCT FROM 2 GROUP BY r.id ORDER BY 1;
SELECT other.id, other.j, count(big.t) FROM l JOIN other ON other.id = l.id LEFT JOIN big ON big.t = l.t AND big.k > other.k
  GROUP BY other.id ORDER BY 1;
SELECT count(*) FROM big RIGHT JOIN (SELECT * FROM l WHERE k > 20) s ON s.k = big.k AND s.t = big.t;

-- columns of which nothing is distinct, or that have no equality
SELECT id FROM r WHERE EXISTS (SELECT FROM other WHERE other.t = r.t AND other.j->>'g' > r.k::text) ORDER BY id;
SELECT r.id, other.j FROM r LEFT JOIN other ON other.t = r.t AND other.id < 60 ORDER BY r.id, other.id;
SELECT count(*) FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v = 1 AND big.t = 't2');
-- equal values that differ, which only some comparisons see
SELECT count(*), sum(l.id) FROM pairs l WHERE EXISTS (SELECT FROM scales WHERE scales.k = l.k AND length(scales.n::text) = 3 + l.id % 2);
SELECT count(*), sum(l.id) FROM pairs l WHERE NOT EXISTS (SELECT FROM scales WHERE scales.k = l.k AND scales.n::text = '1.0' || repeat('0', l.id % 2));
SELECT count(*), sum(l.id) FROM pairs l WHERE EXISTS (SELECT FROM scales WHERE scales.k = l.k AND scales.n = l.id % 2);

-- both sides reduced; a side that is a join
SELECT id FROM l WHERE EXISTS (SELECT FROM big WHERE big.k = l.k) AND NOT EXISTS (SELECT FROM other WHERE other.t = l.t) ORDER BY id;
SELECT l.id FROM l WHERE NOT EXISTS (SELECT FROM big JOIN big b USING (id) WHERE big.k = l.k AND b.v > 3) ORDER BY 1;
SELECT r.id, l.id FROM r JOIN l USING (t) WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v < r.id) ORDER BY 1, 2;

-- chains, in which each outer side is computed once; one that doesn't fit in memory; empty ones
SELECT id FROM l WHERE EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v <> l.id % 5)
  AND NOT EXISTS (SELECT FROM big b WHERE b.k = l.k AND b.id > 1500 + l.id * 9) ORDER BY id;
SELECT id, k FROM other WHERE NOT EXISTS (SELECT FROM big WHERE big.k = other.k AND big.v < other.id % 5)
  AND EXISTS (SELECT FROM big b WHERE b.t = other.t) AND NOT EXISTS (SELECT FROM big c WHERE c.k = other.k AND c.id % 50 = other.id % 50) ORDER BY id;
SELECT l.id, big.id, b.id FROM l LEFT JOIN big ON big.k = l.k AND big.v = l.id % 5 LEFT JOIN big b ON b.k = big.id AND b.v = 3
  WHERE l.k < 40 ORDER BY 1, 2, 3;
SELECT count(*), count(DISTINCT other.k), sum(big.v) FROM other LEFT JOIN big ON big.k = other.k
  WHERE NOT EXISTS (SELECT FROM big b WHERE b.k = other.k AND b.t = other.t);
SET work_mem = 64;
SELECT count(*), sum(o.id), sum(p.id) FROM other o JOIN other p ON p.k = o.k WHERE NOT EXISTS (SELECT FROM big WHERE big.k = o.k AND big.t = p.t)
  AND EXISTS (SELECT FROM big b WHERE b.k = p.k AND b.v > p.id % 4);
RESET work_mem;
SET geqo_threshold = 2;
SELECT count(*), sum(l.id) FROM l JOIN r ON l.id = r.id WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v <> r.id % 3)
  AND EXISTS (SELECT FROM other WHERE other.t = l.t AND other.k <> l.id);
RESET geqo_threshold;
SELECT id FROM l WHERE id < 0 AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v <> l.id) AND EXISTS (SELECT FROM other WHERE other.t = l.t);
SELECT id FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v > 100) AND EXISTS (SELECT FROM other WHERE other.t = l.t) ORDER BY id;
SELECT g, n FROM generate_series(1, 3) g LEFT JOIN LATERAL (SELECT count(*) AS n FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k)
  AND EXISTS (SELECT FROM other WHERE other.t = l.t AND other.id > g) OFFSET 0) s ON true ORDER BY 1;
SELECT (SELECT count(*) FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k) AND EXISTS (SELECT FROM other WHERE other.t = l.t)) + g FROM generate_series(1, 3) g ORDER BY 1;
-- outer sides that depend on values of subqueries, which may depend on rows around
SELECT id FROM l WHERE k > (SELECT avg(k) FROM r) AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k)
  AND EXISTS (SELECT FROM other WHERE other.t = l.t AND other.k <> l.id) ORDER BY id;
SELECT id, (SELECT count(*) FROM l WHERE l.k > (SELECT min(r.k) FROM r WHERE r.id > o.id) AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k))
  FROM other o WHERE id < 20 ORDER BY id;
SELECT id, (SELECT count(*) FROM l WHERE l.k > (SELECT avg(r.k) FROM r) AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k) AND l.id > o.id)
  FROM r o WHERE id < 10 ORDER BY id;
SELECT o.id, s.n FROM r o, LATERAL (SELECT count(*) AS n FROM l WHERE l.k > (SELECT avg(id) + o.id FROM r) AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k)) s
  WHERE o.id < 8 ORDER BY 1;
SELECT o.id, s.n FROM r o LEFT JOIN LATERAL (SELECT count(*) + o.id AS n FROM l WHERE l.k > (SELECT avg(id) FROM r) AND EXISTS (SELECT FROM big WHERE big.k = l.k)
  AND NOT EXISTS (SELECT FROM other WHERE other.k = l.k AND other.id > 500) OFFSET 0) s ON true WHERE o.id < 8 ORDER BY 1;
SELECT g, (SELECT sum(l.id) FROM l WHERE k < (SELECT max(v) FROM big WHERE big.id < 50) * 20 AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v = 1)) FROM generate_series(1, 4) g ORDER BY 1;
SELECT l.id, l.t, big.id FROM l LEFT JOIN big ON big.k = l.k AND big.v = 2 WHERE l.k >= (SELECT avg(k) FROM other) ORDER BY 1, 2, 3;
PREPARE p (int) AS SELECT count(*) FROM l WHERE k > (SELECT avg(k) FROM r WHERE r.id > $1) AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k);
EXECUTE p (3);
EXECUTE p (30);
DEALLOCATE p;
BEGIN;
DECLARE s SCROLL CURSOR FOR SELECT id FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v <> l.id % 3)
  OR id < 5 ORDER BY id;
DECLARE t SCROLL CURSOR FOR SELECT id FROM l WHERE EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v <> l.id % 3)
  AND NOT EXISTS (SELECT FROM other WHERE other.t = l.t AND other.id > 800 + l.id) ORDER BY id;
FETCH 4 FROM t;
UPDATE l SET k = 1;
DELETE FROM big WHERE v = 1;
FETCH ALL FROM t;
FETCH BACKWARD 6 FROM t;
MOVE FIRST FROM t;
FETCH 3 FROM t;
FETCH ALL FROM s;
ROLLBACK;

-- outer sides that could be others when they run again, or aren't tables
SELECT count(*) FROM l TABLESAMPLE BERNOULLI (100) WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k);
SELECT count(*) FROM l WHERE random() >= 0 AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k);
SELECT count(*) FROM (SELECT k FROM l ORDER BY id LIMIT 20) s WHERE NOT EXISTS (SELECT FROM big WHERE big.k = s.k);
SELECT v FROM generate_series(90, 100) v WHERE NOT EXISTS (SELECT FROM big WHERE big.k = v) ORDER BY 1;
SELECT id FROM l WHERE k > (SELECT min(k) FROM r) AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k) ORDER BY 1;
SELECT id, (SELECT count(*) FROM r WHERE r.k > l.k AND NOT EXISTS (SELECT FROM big WHERE big.k = r.k)) FROM l WHERE id < 10 ORDER BY 1;

-- with parameters, in a cursor, below a write
-- params: 10, 't3'
-- params: 30, NULL
SELECT id FROM l WHERE id > $1 AND NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.t = $2::text) ORDER BY id;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v = 0) ORDER BY id;
FETCH 3 FROM c;
DELETE FROM big WHERE v = 0;
DELETE FROM l WHERE id % 2 = 0;
FETCH ALL FROM c;
SELECT id FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND big.v < 2) ORDER BY id;
INSERT INTO big SELECT 5000 + id, k, 9, t FROM l WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k);
UPDATE l SET t = 'none' WHERE NOT EXISTS (SELECT FROM big WHERE big.k = l.k AND v < 9);
DELETE FROM big WHERE NOT EXISTS (SELECT FROM other WHERE other.t = big.t) AND v = 3;
SELECT count(*), sum(id), sum(v) FROM big;
SELECT * FROM l ORDER BY id;
ROLLBACK;
