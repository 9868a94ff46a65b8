-- Scans that run many times in a statement: correlated subqueries and lateral joins, whose rows may be kept.
--
-- distribute: t(k), u(k) with t, v(id) with none, big(k) with none, one single, r reference

CREATE TABLE t (k int PRIMARY KEY, g int, x int, s text);
CREATE TABLE u (k int, n int, y int, s text, d date, PRIMARY KEY (k, n));
CREATE TABLE v (id bigint PRIMARY KEY, k int, z int, doc jsonb);
CREATE TABLE big (k int, x int);
CREATE TABLE one (k int, z int);
CREATE TABLE r (id int PRIMARY KEY, name text);

-- setup ends
INSERT INTO t SELECT n, n % 4, nullif(n % 7, 3), 's' || n % 5 FROM generate_series(1, 40) n;
INSERT INTO u SELECT n % 30, n, nullif(n % 9, 5), 's' || n % 6, date '2024-01-01' + n FROM generate_series(1, 90) n;
INSERT INTO v SELECT n, nullif(n % 11, 4), n % 5, jsonb_build_object('n', n) FROM generate_series(1, 50) n;
INSERT INTO big SELECT n, n % 100 FROM generate_series(1, 15000) n;
INSERT INTO one SELECT n % 8, n FROM generate_series(1, 20) n;
INSERT INTO r SELECT n, 's' || n FROM generate_series(0, 9) n;

SELECT k, (SELECT count(*) FROM u WHERE u.k = t.k) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM u WHERE u.y > t.x) FROM t ORDER BY k;
SELECT k, (SELECT sum(y) FROM u WHERE u.y > t.x AND u.s = t.s AND u.n > 10) FROM t ORDER BY k;
SELECT k, (SELECT max(u.s || t.s) FROM u WHERE u.k = t.x) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM u WHERE u.y IS NOT DISTINCT FROM t.x) FROM t ORDER BY k;
SELECT k, (SELECT string_agg(n::text, ',' ORDER BY n) FROM u WHERE u.k IN (t.k, t.g, t.x)) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM one WHERE one.k = t.g) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM big WHERE big.x < t.x) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM big WHERE big.k = t.k) FROM t ORDER BY k;
SELECT k, (SELECT (SELECT count(*) FROM v WHERE v.k = u.y AND v.z > t.g) FROM u WHERE u.n = t.k) FROM t ORDER BY k;
SELECT k FROM t WHERE EXISTS (SELECT FROM u WHERE u.y = t.x AND u.n > t.k OR u.s < t.s) ORDER BY k;
SELECT k FROM t WHERE t.x NOT IN (SELECT z FROM v WHERE v.k > t.g) ORDER BY k;
SELECT k FROM t WHERE t.g = ANY (SELECT y FROM u WHERE u.s = t.s ORDER BY y LIMIT 3) ORDER BY k;
SELECT t.k, l.* FROM t, LATERAL (SELECT u.n, u.d FROM u WHERE u.y > t.x ORDER BY u.n DESC LIMIT 2) l ORDER BY 1, 2;
SELECT t.k, l.* FROM t LEFT JOIN LATERAL (SELECT u.n, v.doc FROM u JOIN v ON v.z = u.y WHERE u.k = t.g AND v.k < t.k) l ON true ORDER BY 1, 2, 3;
SELECT t.k, (SELECT u FROM u WHERE u.n = t.k) FROM t ORDER BY 1;
SELECT t.k, (SELECT u.tableoid = 'u'::regclass FROM u WHERE u.n = t.k) FROM t ORDER BY 1;
SELECT t.k, (SELECT count(*) FROM u WHERE u.n = t.k AND u.ctid IS NOT NULL AND u.xmin IS NOT NULL) FROM t ORDER BY 1;
SELECT t.k, x.c >= 0 FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.ctid = t.ctid) x ORDER BY 1;
SELECT t.k, x.c >= 0 FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.ctid = t.ctid AND u.xmin <> '0') x ORDER BY 1;
SELECT t.k, x.c >= 0 FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.ctid = t.ctid AND u.xmin::text <> t.k::text) x ORDER BY 1;
SELECT t.k, (SELECT v.doc ->> 'n' FROM v WHERE v.id = t.k AND v.doc @> jsonb_build_object('n', t.k)) FROM t ORDER BY 1;

-- a filter that would fail for rows that others leave out
SELECT k, (SELECT sum(100 / y) FROM u WHERE u.n = t.k AND u.y > 0) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM u WHERE u.y > coalesce(t.x, 0) AND 100 / u.y > 20) FROM t WHERE t.x >= 0 ORDER BY k;

-- filters that stay at the initiator
SELECT k, (SELECT count(*) FROM u WHERE u.y > t.x AND u.s IN (SELECT name FROM r WHERE r.id < t.g)) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM u WHERE u.k = (SELECT max(id) FROM r WHERE r.id <= t.g)) FROM t ORDER BY k;

-- one inside the other, and joins in them
SELECT k, (SELECT count(*) FROM u JOIN v ON v.k = u.y WHERE u.s = t.s) FROM t ORDER BY k;
SELECT k, (SELECT count(*) FROM u LEFT JOIN v ON v.k = u.y AND v.z = t.g) FROM t ORDER BY k;
SELECT k, (SELECT sum(c) FROM (SELECT (SELECT count(*) FROM v WHERE v.z = u.y + t.g) AS c FROM u WHERE u.k < t.g) q) FROM t ORDER BY k;
WITH RECURSIVE walk (k, depth) AS (SELECT 1, 0 UNION SELECT u.y + walk.k, depth + 1 FROM walk, u WHERE u.k = walk.k AND depth < 12)
    SELECT count(*), sum(k), max(depth) FROM walk;
-- params: 3
-- params: 7
-- params: NULL
SELECT k, (SELECT count(*) FROM u WHERE u.y > t.x AND u.n > $1::int) FROM t ORDER BY k;

-- what the statement or its transaction writes
WITH written AS (UPDATE u SET y = 100 RETURNING k) SELECT (SELECT count(*) FROM u WHERE u.y > t.x), (SELECT count(*) FROM written) FROM t ORDER BY t.k;
BEGIN;
DELETE FROM u WHERE n % 3 = 0;
SELECT k, (SELECT count(*) FROM u WHERE u.y > t.x) FROM t ORDER BY k;
DECLARE c SCROLL CURSOR FOR SELECT k, (SELECT count(*) FROM u WHERE u.n > t.k) FROM t ORDER BY k;
FETCH 12 FROM c;
DELETE FROM u;
FETCH 12 FROM c;
FETCH BACKWARD 20 FROM c;
ROLLBACK;

-- the inner side of a nested loop, which a cursor reads while its transaction goes on
BEGIN;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off;
DECLARE c CURSOR FOR SELECT t.k, v.id FROM t JOIN v ON v.z + 3 > t.k AND v.id < 9 ORDER BY t.k + 0, v.id + 0;
DECLARE d CURSOR FOR SELECT count(*) OVER (), t.k, v.id FROM t JOIN v ON v.z + 3 > t.k AND v.id < 9;
DECLARE e NO SCROLL CURSOR FOR SELECT 1 FROM t, v WHERE v.z + 3 > t.k AND v.id < 20;
FETCH 2 FROM e;
DELETE FROM v WHERE id % 2 = 0;
UPDATE t SET k = k + 1000 WHERE k % 2 = 0;
FETCH 1000 FROM c;
-- unordered
FETCH 1000 FROM d;
FETCH 1000 FROM e;
ROLLBACK;
UPDATE t SET x = (SELECT max(y) FROM u WHERE u.s = t.s AND u.n < t.k * 2) WHERE g > 0;
SELECT * FROM t ORDER BY k;
DELETE FROM t WHERE x < (SELECT avg(z) FROM v WHERE v.k >= t.g);
SELECT count(*), sum(k) FROM t;
