-- Aggregates of the inner side of an outer join, which nodes compute in front of it.
--
-- distribute: facts(id) shards 4, owners(id) with none shards 3, r reference, l local
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE facts (id int PRIMARY KEY, k int, big_k bigint, t text, v int, s smallint, b bigint, n numeric(10, 2), f float8, m mood, d date);
CREATE TABLE owners (id int, k int, name text);
CREATE TABLE r (id int PRIMARY KEY, k int, name text, note text);
CREATE TABLE l (id int, k bigint, name text);
INSERT INTO facts SELECT g, nullif(g % 23, 5), g % 29, nullif('t' || g % 11, 't3'), nullif(g % 17, 4), g % 13, g * 1000000000::bigint,
  nullif(g % 19, 6) / 8.0, g % 4, (ARRAY['low', 'high'])[1 + g % 2]::mood, date '2020-01-01' + g % 40 FROM generate_series(1, 800) g;
INSERT INTO owners SELECT g, nullif(g % 31, 7), 'n' || g % 5 FROM generate_series(1, 70) g;
INSERT INTO r SELECT g, nullif(g * 3 % 40, 9), 't' || g % 14, 'note ' || g FROM generate_series(1, 45) g;
INSERT INTO l SELECT g, nullif(g * 7 % 33, 14), nullif('t' || g % 12, 't6') FROM generate_series(1, 40) g;
INSERT INTO l SELECT * FROM l WHERE id < 20;
ANALYZE facts, owners, r, l;
-- setup ends
SET citus.tuple_transfer_cost = 1000;
SET citus.exchange_cost = 1000000;

-- every aggregate; rows that meet none, many, and null keys; equal rows outside
SELECT r.id, count(*), count(f.v), sum(f.v), sum(f.s), sum(f.b), sum(f.n), min(f.t), max(f.n), min(f.m), max(f.d)
  FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT l.id, l.k, count(*), count(f.id), sum(f.v), sum(f.b), max(f.b) FROM l LEFT JOIN facts f ON f.k = l.k GROUP BY l.id, l.k ORDER BY 1, 2;
SELECT l.name, count(*), count(f.id), sum(f.n) FROM l LEFT JOIN facts f ON l.name = f.t GROUP BY l.name ORDER BY 1;
SELECT o.name, count(*), count(f.v), sum(f.v), min(f.id) FROM owners o LEFT JOIN facts f ON f.k = o.k GROUP BY o.name ORDER BY 1;
SELECT r.k % 3 AS third, count(*), sum(f.v) FROM r LEFT JOIN facts f ON f.big_k = r.k + 1 GROUP BY third ORDER BY 1;
SELECT l.k, count(*), count(f.v) FROM l LEFT JOIN facts f ON f.k = l.id AND f.big_k = l.k GROUP BY l.k ORDER BY 1;
SELECT r.id, r.note, count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;

-- filters of either side; nothing left of one
SELECT r.id, count(*), count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k AND f.v > 3 AND f.t LIKE '%1%' WHERE r.id < 30 GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*), sum(f.v), min(f.v) FROM r LEFT JOIN facts f ON f.k = r.k AND f.v > 1000 GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*), sum(f.v) FROM r LEFT JOIN facts f ON f.k = r.k WHERE r.id > 1000 GROUP BY r.id;
SELECT r.id, count(*), count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k AND r.id > 20 GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*), count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k AND f.v > r.id GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*) FROM r LEFT JOIN facts f ON f.k = r.k WHERE f.v IS NULL GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*) FROM r LEFT JOIN facts f ON f.k IS NOT DISTINCT FROM r.k GROUP BY r.id ORDER BY 1;

-- above the groups
SELECT r.name, count(f.v) + 1 AS c, sum(f.v) * 2 FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.name HAVING count(*) > 30 AND max(f.v) < 17 ORDER BY c DESC, 1;
SELECT c, count(*) FROM (SELECT l.id, count(f.v) FROM l LEFT JOIN facts f ON f.k = l.k AND f.t <> 't7' GROUP BY l.id) x (id, c) GROUP BY c ORDER BY 1;
WITH x AS (SELECT r.id, sum(f.b) AS s FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id) SELECT count(*), sum(s), count(DISTINCT s) FROM x;
SELECT id FROM owners o WHERE id IN (SELECT count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id) ORDER BY 1;
SELECT id, (SELECT max(c) FROM (SELECT r.id, count(f.v) + o.id AS c FROM r LEFT JOIN facts f ON f.k = r.k AND f.v <> o.k GROUP BY r.id) x) FROM owners o WHERE id < 4 ORDER BY 1;
SELECT r.id, sum(sum(f.v)) OVER (ORDER BY r.id) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT r.name, r.k, count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY GROUPING SETS ((r.name), (r.k), ()) ORDER BY 1, 2, 3;
SELECT DISTINCT count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT r.id, count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 2 DESC, 1 LIMIT 5;

-- what is no aggregate of parts, or not of the inner side alone
SELECT r.id, avg(f.v), count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT r.name, count(DISTINCT f.v), count(f.v) FILTER (WHERE f.v > 4) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.name ORDER BY 1;
SELECT r.name, sum(r.id), count(r.k), count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.name ORDER BY 1;
SELECT r.name, count(coalesce(f.v, 0)), count(f), sum(f.v + r.id) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.name ORDER BY 1;
SELECT r.name, f.k, count(*), sum(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.name, f.k ORDER BY 1, 2;
SELECT r.name FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.name ORDER BY 1;
SELECT count(*), count(f.v), sum(f.v) FROM r LEFT JOIN facts f ON f.k = r.k;

-- other joins
SELECT k, count(*), count(f.v) FROM r LEFT JOIN facts f USING (k) GROUP BY k ORDER BY 1;
SELECT r.id, count(*), count(f.v) FROM facts f RIGHT JOIN r ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*), count(f.v) FROM r JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT r.id, count(*), count(f.v) FROM r FULL JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT o.name, r.name, count(*), sum(f.v) FROM owners o JOIN r ON r.id = o.k LEFT JOIN facts f ON f.k = r.k AND f.big_k = o.id GROUP BY 1, 2 ORDER BY 1, 2;
SELECT r.id, count(*), sum(f.v) FROM r LEFT JOIN owners o ON o.k = r.k LEFT JOIN facts f ON f.k = o.id GROUP BY r.id ORDER BY 1;
SELECT a.id, count(*), sum(b.v) FROM facts a LEFT JOIN facts b ON b.k = a.v WHERE a.id < 40 GROUP BY a.id ORDER BY 1;
SELECT r.id, count(*), sum(x.v) FROM r LEFT JOIN (SELECT k, v FROM facts WHERE v < 9) x ON x.k = r.k GROUP BY r.id ORDER BY 1;

-- with parameters; below a write; in a cursor
-- params: 3, 't1'
-- params: NULL, NULL
SELECT r.id, count(*), count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k AND f.v > $1 AND f.t <> $2::text WHERE r.id > $1 GROUP BY r.id ORDER BY 1;
BEGIN;
DECLARE c CURSOR FOR SELECT r.id, count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
FETCH 3 FROM c;
DELETE FROM facts WHERE v < 9;
FETCH 5 FROM c;
INSERT INTO owners SELECT r.id + 1000, count(f.v), 'new' FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id;
SELECT count(*), sum(k) FROM owners WHERE id > 1000;
CREATE VIEW counted AS SELECT r.id, count(f.v) AS c, sum(f.b) AS s FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id;
SELECT sum(c), sum(s), count(*) FROM counted;
ROLLBACK;

-- joins that GEQO tries, which notes why nodes can't compute them
SET geqo_threshold = 2;
SELECT r.id, count(f.v) FROM r LEFT JOIN facts f ON f.k = r.k GROUP BY r.id ORDER BY 1;
SELECT l.id, count(f.v), sum(l.id) FROM l LEFT JOIN facts f ON f.k = l.k LEFT JOIN owners o ON o.k = f.v GROUP BY l.id ORDER BY 1;
RESET geqo_threshold;
