-- UPDATE and DELETE with joins on the distribution column, which each shard group runs, and others, which it must not.
CREATE TABLE t (id int PRIMARY KEY, v int, n numeric DEFAULT 0, note text CHECK (note <> 'bad'));
CREATE TABLE s (id int, k int, v int, PRIMARY KEY (id, k));
CREATE TABLE o (k int PRIMARY KEY, v int);
CREATE TABLE r (v int PRIMARY KEY, name text);
CREATE TABLE l (id int, name text);
CREATE TABLE child (id int REFERENCES t ON DELETE CASCADE, x int);
CREATE TABLE w (k int PRIMARY KEY, g int);
CREATE TABLE lw (k int);
CREATE TABLE few (v int PRIMARY KEY, name text);
-- distribute: w(k) with none, lw local, few reference, t(id) shards 4, s(id) with t, o(k) shards 3, r reference, l local, child(id) with t
INSERT INTO t SELECT g, g % 10, 0, 'n' || g % 4 FROM generate_series(1, 400) g;
INSERT INTO s SELECT g, k, g + k FROM generate_series(1, 500, 2) g, generate_series(1, 2) k;
INSERT INTO o SELECT g, g * 2 FROM generate_series(1, 40) g;
INSERT INTO r SELECT g, 'r' || g FROM generate_series(0, 6) g;
INSERT INTO l SELECT g * 3, 'l' || g FROM generate_series(1, 20) g;
INSERT INTO child SELECT g % 50 + 1, g FROM generate_series(1, 100) g;
ANALYZE t, s, o, r, l, child;
INSERT INTO w SELECT g, g % 7 FROM generate_series(1, 40) g;
INSERT INTO lw SELECT g % 15 FROM generate_series(1, 25) g;
INSERT INTO few SELECT g, 'f' || g FROM generate_series(0, 9) g;
-- setup ends

BEGIN;
UPDATE t SET v = t.v + s.v FROM s WHERE t.id = s.id AND s.k = 1;
UPDATE t SET v = s.v, note = r.name FROM s JOIN r ON r.v = s.k WHERE s.id = t.id AND s.k = 2 AND t.id < 50 RETURNING t.id, t.v, s.k, r.name;
UPDATE t x SET n = x.n + 1 FROM s, t y WHERE x.id = s.id AND y.id = s.id AND y.v > 100 AND s.k = 1;
UPDATE t SET n = g.total FROM (SELECT id, sum(v) AS total, count(*) AS c FROM s GROUP BY id) g WHERE g.id = t.id AND g.c > 1;
UPDATE t SET n = n + 1 WHERE EXISTS (SELECT FROM s WHERE s.id = t.id AND s.v > 300);
UPDATE t SET n = n - 1 WHERE NOT EXISTS (SELECT FROM s WHERE s.id = t.id);
UPDATE t SET n = 5 WHERE id IN (SELECT id FROM s WHERE v BETWEEN 10 AND 60) RETURNING id;
WITH big AS (SELECT id, max(v) AS m FROM s GROUP BY id) UPDATE t SET n = big.m FROM big WHERE big.id = t.id AND big.m > 400;
SELECT * FROM t ORDER BY id;
DELETE FROM t USING s WHERE s.id = t.id AND s.v = 203 RETURNING t.*, s.k;
DELETE FROM t USING s LEFT JOIN r ON s.k = r.v + 1 WHERE s.id = t.id AND r.name IS NOT NULL AND s.id > 300;
DELETE FROM s WHERE NOT EXISTS (SELECT FROM t WHERE t.id = s.id);
DELETE FROM t WHERE id IN (SELECT id FROM s WHERE k = 2 AND id < 20);
SELECT count(*), sum(x) FROM child;
SELECT * FROM t ORDER BY id;
SELECT * FROM s ORDER BY id, k;
ROLLBACK;

-- what a shard group can't do alone
BEGIN;
UPDATE t SET v = o.v FROM o WHERE o.k = t.id;
UPDATE t SET v = s.v FROM s WHERE s.v = t.id AND s.k = 1;
UPDATE t SET note = l.name FROM l WHERE l.id = t.id;
UPDATE t SET v = (SELECT max(v) FROM s WHERE s.id = t.id) WHERE id < 30;
UPDATE t SET v = s.v FROM s WHERE s.id = t.id AND s.k = 1 RETURNING t.id, (SELECT count(*) FROM s);
UPDATE t SET v = s.v + random()::int * 0 FROM s WHERE s.id = t.id AND s.k = 1;
UPDATE t SET id = t.id + 1000 FROM s WHERE s.id = t.id AND s.k = 1;
UPDATE r SET name = 's' || s.v FROM s WHERE s.id = 3 AND s.k = 1 AND s.k = r.v;
UPDATE t SET n = 1 FROM (SELECT id FROM s WHERE k = 1 ORDER BY v DESC LIMIT 5) top WHERE top.id = t.id - 1000;
DELETE FROM t USING o WHERE o.v = t.v;
SELECT * FROM t ORDER BY id;
SELECT * FROM r ORDER BY v;
ROLLBACK;

-- errors undo all of it
UPDATE t SET note = CASE WHEN s.v = 302 THEN 'bad' ELSE 'good' END FROM s WHERE s.id = t.id AND s.k = 1;
UPDATE t SET v = 1 / (s.v - 302) FROM s WHERE s.id = t.id AND s.k = 1;
SELECT count(*), sum(v), count(*) FILTER (WHERE note = 'good') FROM t;

-- what the transaction has written before is seen, and prepared statements
BEGIN;
INSERT INTO s VALUES (2, 1, 77);
UPDATE s SET v = 78 WHERE id = 3 AND k = 1;
UPDATE t SET v = s.v FROM s WHERE s.id = t.id AND s.v IN (77, 78) RETURNING t.id, t.v;
PREPARE joined (int) AS UPDATE t SET v = $1 FROM s WHERE s.id = t.id AND s.v > $1 RETURNING t.id;
EXECUTE joined (395);
EXECUTE joined (390);
DEALLOCATE joined;
ROLLBACK;

-- with rows from here, or of tables that are elsewhere
BEGIN;
CREATE TEMP TABLE given AS SELECT g AS n, g * 2 AS w, 'g' || g AS word FROM generate_series(1, 5) g;
ANALYZE given;
UPDATE t SET n = given.w FROM given WHERE given.n = t.v RETURNING t.id, t.n, given.word, given.w + t.v;
UPDATE t SET n = given.w, note = given.word || r.name FROM given, r WHERE given.n = t.v AND r.v = given.n AND t.id > 100;
UPDATE t SET n = x.w FROM (SELECT n, max(w) AS w FROM given GROUP BY n) x JOIN s ON s.k = x.n WHERE s.id = t.id AND t.v < 7;
UPDATE t SET n = n + 1 WHERE v IN (SELECT n FROM given WHERE w > 4);
UPDATE t SET n = n + 1 WHERE NOT EXISTS (SELECT FROM given WHERE given.n = t.v);
WITH few AS MATERIALIZED (SELECT n, word FROM given WHERE n < 4) UPDATE t SET note = few.word FROM few WHERE few.n = t.v RETURNING t.id, few.n;
UPDATE t SET note = (g)::text FROM given g WHERE g.n = t.v AND g.n = 2;
UPDATE t SET note = left(g::text, 3) FROM given g WHERE g.n = t.v AND g.n = 2 RETURNING t.id, g, t;
UPDATE t SET note = 'x' FROM given WHERE t.v = 3;
UPDATE t SET note = 'y' FROM given g LEFT JOIN r ON r.v = g.n WHERE t.v = g.n AND r.name IS NULL;
UPDATE t SET n = o.k FROM o WHERE o.v = t.v * 2 AND o.k < 9;
UPDATE t SET (n, note) = (g.w, g.word) FROM given g WHERE g.n = t.v AND t.id = 14 RETURNING *;
UPDATE t SET n = x.c FROM (SELECT v, count(*) AS c FROM t GROUP BY v) x WHERE x.v = t.v + 1;
UPDATE t SET id = t.id + 5000 FROM given g WHERE g.n = t.v AND g.n = 5 AND t.id > 60;
UPDATE t SET n = s.v FROM s JOIN given g ON g.w = s.k WHERE t.v = g.n AND s.id = 7;
SELECT * FROM t ORDER BY id;
DELETE FROM t USING given g WHERE g.n = t.v AND g.word > 'g3' RETURNING t.*, g.word;
DELETE FROM t WHERE v = ANY (SELECT n FROM given WHERE n < 3);
DELETE FROM t USING l, given g WHERE l.id = t.id AND g.n = t.v;
SELECT count(*), sum(x) FROM child;
SELECT * FROM t ORDER BY id;
PREPARE few (int) AS UPDATE t SET n = -1 FROM given g WHERE g.n = t.v AND g.w > $1 RETURNING t.id;
EXECUTE few (5);
EXECUTE few (100);
DEALLOCATE few;
-- both fail: 22012
UPDATE t SET n = 1 / (g.n - 3) FROM given g WHERE g.n = t.v;
ROLLBACK;
BEGIN;
INSERT INTO l VALUES (7, 'seven');
UPDATE t SET note = l.name FROM l WHERE l.id = t.v;
-- both fail: 23514
UPDATE t SET note = 'bad' FROM l WHERE l.id = t.v;
ROLLBACK;

-- in a CTE
BEGIN;
WITH u AS (UPDATE t SET n = t.n + x.q FROM unnest(ARRAY[3, 4, 5], ARRAY[1, 1, 2]) x(id, q) WHERE t.id = x.id AND t.id = ANY(ARRAY[3, 4, 5]) RETURNING t.id, t.n, x.q)
SELECT array_agg(n ORDER BY id), sum(q) FROM u;
WITH u AS (UPDATE t SET n = n + 10 WHERE v = 3 RETURNING id, n) SELECT count(*), sum(u.n), sum(t.n) FROM u JOIN t USING (id);
WITH u AS (UPDATE t SET n = n + 10 WHERE v = 4 RETURNING id, n) SELECT (SELECT sum(n) FROM t), (SELECT sum(n) FROM u);
WITH u AS (UPDATE t SET n = n + 10 WHERE v = 5) SELECT sum(n) FROM t;
WITH u AS (UPDATE t SET n = n + 10 WHERE v = 5 RETURNING 1) SELECT count(*) FROM u;
WITH u AS (UPDATE t SET n = n + 10 WHERE v = 5 RETURNING id) SELECT 1;
WITH u AS (UPDATE t SET n = n + 10 WHERE v = 5 RETURNING id) SELECT count(*) FROM (SELECT id FROM u ORDER BY id LIMIT 2) x;
WITH u AS (UPDATE t SET n = s.v FROM s WHERE s.id = t.id AND s.k = 2 RETURNING t.id, s.v), w AS (SELECT max(v) AS m FROM t) SELECT count(*), max(u.v), max(w.m) FROM u, w;
WITH u AS (UPDATE t SET n = t.n + l.id FROM l WHERE l.id = t.v RETURNING t.id, l.name) SELECT name, count(*) FROM u GROUP BY name ORDER BY 1;
WITH d AS (DELETE FROM t USING unnest(ARRAY[60, 61, 62]) x WHERE x = t.id RETURNING t.*) SELECT d.id, (SELECT count(*) FROM t WHERE t.v = d.v), (SELECT count(*) FROM s WHERE s.id = d.id) FROM d ORDER BY 1;
WITH a AS (UPDATE t SET n = 1 WHERE id = 70 RETURNING id), b AS (UPDATE t SET n = 2 FROM unnest(ARRAY[70, 71]) x WHERE x = t.id AND t.n <> 1 AND t.id <> 70 RETURNING t.id) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
WITH a AS (UPDATE t SET v = 77 WHERE id = 72 RETURNING id) UPDATE t SET note = 'seen' FROM unnest(ARRAY[77]) x WHERE t.v = x;
WITH a AS (UPDATE t SET v = 78 WHERE id = 73 RETURNING id, v) INSERT INTO o SELECT id + 1000, v FROM a;
WITH u AS (UPDATE t SET v = 79 WHERE id > 390 RETURNING id) SELECT count(*) FROM u WHERE EXISTS (SELECT FROM t WHERE t.id = u.id AND t.v = 79);
WITH u AS (UPDATE t SET n = 5 WHERE v = 6 RETURNING id, (SELECT max(n) FROM t) AS m) SELECT count(*), min(m) = max(m) FROM u;
WITH u AS (UPDATE t SET n = 6 WHERE v = 6 RETURNING id, (SELECT n FROM t y WHERE y.id = t.id) AS old) SELECT min(old), max(old) FROM u;
SELECT * FROM t ORDER BY id;
SELECT * FROM o WHERE k > 1000;
PREPARE sums (int[], int[]) AS WITH u AS (UPDATE t SET n = x.q FROM unnest($1, $2) x(id, q) WHERE t.id = x.id AND t.id = ANY($1) RETURNING t.id, t.n) SELECT sum(n), count(*) FROM u;
EXECUTE sums (ARRAY[5, 6], ARRAY[7, 8]);
EXECUTE sums (ARRAY[7], ARRAY[9]);
EXECUTE sums (ARRAY[]::int[], NULL);
DEALLOCATE sums;
DECLARE c CURSOR FOR SELECT id, n FROM t ORDER BY id;
FETCH 2 FROM c;
WITH u AS (UPDATE t SET n = -3 WHERE id < 10 RETURNING id) SELECT count(*) FROM u;
FETCH 3 FROM c;
-- both fail: 22012
WITH u AS (UPDATE t SET n = 1 / (x - 5) FROM unnest(ARRAY[4, 5]) x WHERE t.id = x RETURNING id) SELECT 1;
ROLLBACK;

-- a join's clause that is about a table in EXISTS; what it costs is a guess
BEGIN;
UPDATE w SET g = src.v FROM (SELECT v AS kk, count(name) AS v FROM few GROUP BY 1) src WHERE src.kk = w.g AND EXISTS (SELECT FROM w w1, lw WHERE w1.k = lw.k AND lw.k = w.g AND w.k = w1.k);
SELECT * FROM w;
DELETE FROM w USING (SELECT v AS kk, count(name) AS v FROM few GROUP BY 1) src WHERE src.kk = w.g AND EXISTS (SELECT FROM w w1, lw WHERE w1.k = lw.k AND lw.k = w.g AND w.k = w1.k);
SELECT * FROM w;
ROLLBACK;
