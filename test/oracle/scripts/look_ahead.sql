-- Correlated and lateral lookups whose values are known in advance, so that the rows of many are fetched together.
--
-- distribute: a(id), b(id) with none, c(id) with none, r reference, l local

CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN label AS text CHECK (VALUE <> '');
CREATE TABLE a (id int PRIMARY KEY, k int, n numeric, s text, v varchar(10), ch char(4), d date, e color, w label, big bigint, js jsonb, u uuid, f float8);
CREATE TABLE b (id int PRIMARY KEY, k int, n numeric, s text, v varchar(10), ch char(4), d date, e color, w label, big bigint, js jsonb, u uuid, f float8);
CREATE TABLE c (id int PRIMARY KEY, bid int, x int);
CREATE TABLE r (id int, k int);
CREATE TABLE l (id int, k int, s text);

-- setup ends
INSERT INTO a SELECT g, nullif(g % 50, 7), CASE WHEN g % 2 = 0 THEN g % 9 ELSE (g % 9)::numeric(10, 2) END, nullif('s' || g % 11, 's3'), 'v' || g % 13, 'c' || g % 3,
    date '2024-01-01' + g % 17, (enum_range(NULL::color))[1 + g % 3], 'w' || g % 5, g % 20, jsonb_build_object('k', g % 6), md5((g % 15)::text)::uuid,
    CASE g % 8 WHEN 1 THEN '-0'::float8 WHEN 2 THEN 'NaN' ELSE (g % 4) / 2.0 END FROM generate_series(1, 300) g;
INSERT INTO b SELECT g, g % 60, g % 10, 's' || g % 12, 'v' || g % 14, 'c' || g % 4, date '2024-01-01' + g % 19, (enum_range(NULL::color))[1 + g % 3],
    'w' || g % 6, g % 25, jsonb_build_object('k', g % 7), md5((g % 16)::text)::uuid, CASE g % 8 WHEN 1 THEN 0 WHEN 2 THEN 'NaN' ELSE (g % 5) / 2.0 END
    FROM generate_series(1, 2000) g;
INSERT INTO c SELECT g, g % 700, g % 5 FROM generate_series(1, 1500) g;
INSERT INTO r SELECT g, g % 7 FROM generate_series(1, 40) g;
INSERT INTO l SELECT g, g % 70, 's' || g % 15 FROM generate_series(1, 200) g;

SELECT a.id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, x.* FROM a CROSS JOIN LATERAL (SELECT b.id, b.s FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 2) x ORDER BY 1, 2;
SELECT a.id, x.* FROM a LEFT JOIN LATERAL (SELECT b.id, b.s FROM b WHERE b.k = a.k AND b.id > a.id * 5 ORDER BY b.id LIMIT 2) x ON true ORDER BY 1, 2;
SELECT a.id, (SELECT b.id FROM b WHERE b.n = a.n ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE b.s = a.s ORDER BY 1 LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.v = a.v ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE a.ch = b.ch ORDER BY 1 DESC LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.d = a.d ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE b.e = a.e ORDER BY 1 DESC LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.w = a.w ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE b.big = a.k ORDER BY 1 DESC LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.k = a.big ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE b.js = a.js ORDER BY 1 DESC LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.u = a.u ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE b.f = a.f ORDER BY 1 DESC LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.d = a.d::timestamp ORDER BY 1 LIMIT 1), (SELECT b.id FROM b WHERE b.ch = a.s ORDER BY 1 LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.s = lower('S' || a.k) COLLATE "C" ORDER BY 1 LIMIT 1) FROM a ORDER BY 1;
SELECT a.id, (SELECT b.id FROM b WHERE b.k = a.k + a.big % 3 AND b.s = a.s ORDER BY 1 LIMIT 1) FROM a ORDER BY 1;
SELECT max((SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1)), count(*) FROM a;
SELECT k, max((SELECT b.id FROM b WHERE b.k = a.id ORDER BY b.id DESC LIMIT 1)) FROM a GROUP BY k HAVING count(*) > 2 ORDER BY 1;
SELECT k, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a GROUP BY k ORDER BY 1;
SELECT id FROM a WHERE (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) > 1950 ORDER BY 1;
SELECT id FROM a ORDER BY (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1), id LIMIT 20;
SELECT id, rank() OVER (ORDER BY (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1)) FROM a ORDER BY 1;
SELECT id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a ORDER BY id LIMIT 30;
SELECT a.id, x.id, y.id FROM a CROSS JOIN LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 3) x
    CROSS JOIN LATERAL (SELECT c.id FROM c WHERE c.bid = x.id ORDER BY c.x, c.id LIMIT 2) y ORDER BY 1, 2, 3;
SELECT a.id, x.id, x.y FROM a CROSS JOIN LATERAL (SELECT b.id, (SELECT c.id FROM c WHERE c.bid = b.id AND c.x >= a.k % 3 ORDER BY c.id LIMIT 1) AS y
    FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 3) x ORDER BY 1, 2;
SELECT r.id, (SELECT b.id FROM b WHERE b.k = r.k ORDER BY b.id DESC LIMIT 1) FROM r ORDER BY 1;
SELECT l.id, x.id FROM l CROSS JOIN LATERAL (SELECT b.id FROM b WHERE b.k = l.k AND b.s <> l.s ORDER BY b.id DESC LIMIT 2) x ORDER BY 1, 2;
SELECT g, x.id FROM generate_series(1, 100) g LEFT JOIN LATERAL (SELECT b.id FROM b WHERE b.k = g % 65 ORDER BY b.id OFFSET 1 LIMIT 1) x ON true ORDER BY 1;
SELECT g, (SELECT x.id FROM (SELECT b.id FROM b WHERE b.k = g UNION ALL SELECT c.id FROM c WHERE c.bid = g) x ORDER BY 1 LIMIT 1) FROM generate_series(1, 100) g ORDER BY 1;
SELECT a.id FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.s = a.s LIMIT 2 OFFSET 0) IS NULL ORDER BY 1;
WITH RECURSIVE walk (id, depth) AS (SELECT id, 0 FROM a WHERE id < 30
    UNION ALL SELECT x.id, depth + 1 FROM walk CROSS JOIN LATERAL (SELECT c.id FROM c WHERE c.bid = walk.id ORDER BY c.id LIMIT 1) x WHERE depth < 4)
    SELECT * FROM walk ORDER BY 1, 2;
SELECT id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a WHERE id < 40 UNION ALL
    SELECT id, (SELECT c.id FROM c WHERE c.bid = a.k ORDER BY c.id DESC LIMIT 1) FROM a WHERE id < 40 ORDER BY 1, 2;
SELECT id, CASE WHEN id % 3 = 0 THEN (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) ELSE -1 END FROM a ORDER BY 1;
SELECT id, CASE WHEN k > 0 THEN (SELECT b.id FROM b WHERE b.k = 100 / nullif(a.k, 0) ORDER BY b.id DESC LIMIT 1) END FROM a ORDER BY 1;
SELECT id, ARRAY(SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 3) FROM a ORDER BY 1;
SELECT id, EXISTS (SELECT FROM b WHERE b.k = a.k AND b.id > a.id * 7 OFFSET 0) FROM a ORDER BY 1;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT l.id, (SELECT max(b.id) FROM b WHERE b.k = l.k OFFSET 0) FROM l ORDER BY 1;
SELECT r.id, (SELECT max(b.id) FROM b WHERE b.k = r.k + 1 OFFSET 0) FROM r ORDER BY r.k, r.id;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- params: 3
-- params: 40
-- params: NULL
SELECT a.id, x.id FROM a CROSS JOIN LATERAL (SELECT b.id FROM b WHERE b.k = a.k AND b.id > $1::int ORDER BY b.id LIMIT 2) x ORDER BY 1, 2;
BEGIN;
INSERT INTO b (id, k) SELECT 5000 + g, g FROM generate_series(1, 50) g;
SELECT a.id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a ORDER BY 1;
UPDATE a SET big = (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1);
SELECT id, big FROM a ORDER BY 1;
UPDATE l SET k = (SELECT b.id FROM b WHERE b.k = l.k ORDER BY b.id DESC LIMIT 1);
SELECT id, k FROM l ORDER BY 1;
DELETE FROM b WHERE id > (SELECT c.id FROM c WHERE c.bid = b.k ORDER BY c.id LIMIT 1);
SELECT count(*), sum(id) FROM b;
INSERT INTO c SELECT 10000 + a.id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1), 1 FROM a;
SELECT count(*), sum(bid) FROM c;
DECLARE some NO SCROLL CURSOR FOR SELECT a.id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a ORDER BY 1;
FETCH 30 FROM some;
UPDATE b SET id = id + 10000 WHERE k < 20;
FETCH 100 FROM some;
MOVE 50 FROM some;
DELETE FROM b;
FETCH ALL FROM some;
ROLLBACK;
