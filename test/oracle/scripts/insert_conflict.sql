-- INSERT .. ON CONFLICT that the initiator resolves: the row moves, or an expression can't be evaluated elsewhere.
--
-- distribute: t(id), two(a) with t, s(id) with t, parts(id), js(id), one single, r reference, l local

CREATE TABLE t (id int PRIMARY KEY, v text, n int NOT NULL DEFAULT 0 CHECK (n < 1000), g text GENERATED ALWAYS AS ('g' || v) STORED);
CREATE TABLE two (a int, b int, v text, PRIMARY KEY (a, b));
CREATE TABLE s (id int, v text);
CREATE TABLE one (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE r (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE l (id int PRIMARY KEY, v text);
CREATE TYPE pair AS (x int, y int);
CREATE TYPE pairs AS (p pair, a int[]);
CREATE DOMAIN some_pair AS pair;
CREATE DOMAIN checked_pair AS pair CHECK ((VALUE).x IS NOT NULL);
CREATE DOMAIN numbers AS int[] CHECK (VALUE[1] IS NOT NULL);
CREATE TABLE parts (id int PRIMARY KEY, arr int[], c pair, cs pair[], p pairs, d some_pair, k checked_pair, n numbers);
CREATE TABLE js (id int, data jsonb, PRIMARY KEY (id, data));
CREATE FUNCTION twice(text) RETURNS text LANGUAGE sql AS $$ SELECT $1 || $1 $$;
CREATE VIEW tv AS SELECT v AS vv, id AS ii, n FROM t;
INSERT INTO t SELECT i, 'v' || i, i FROM generate_series(1, 10) i;
INSERT INTO two SELECT i, i % 3, 'v' || i FROM generate_series(1, 10) i;
INSERT INTO s SELECT i, 's' || i FROM generate_series(5, 15) i;
INSERT INTO one SELECT i, 'v' || i FROM generate_series(1, 5) i;
INSERT INTO r SELECT i, 'v' || i FROM generate_series(1, 5) i;
INSERT INTO parts SELECT i, ARRAY[i, 2, 3], ROW(i, i)::pair, ARRAY[ROW(i, i)::pair, ROW(0, 0)::pair], ROW(ROW(1, 2)::pair, '{1,2,3}')::pairs, ROW(i, i)::pair, ROW(i, i)::pair, ARRAY[i, i] FROM generate_series(1, 5) i;
INSERT INTO js SELECT i, jsonb_build_object('a', i) FROM generate_series(1, 5) i;
INSERT INTO l VALUES (1, 'l1'), (2, 'l2');

-- setup ends
-- Functions that other nodes don't have.
INSERT INTO t (id, v) VALUES (1, 'x'), (2, 'y'), (21, 'z') ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v) || t.v RETURNING *;
INSERT INTO t (id, v) SELECT id, v FROM s ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = t.n + 1 WHERE t.id % 2 = 0 RETURNING id, v, g;
SELECT * FROM t ORDER BY id;
INSERT INTO t (id, v) VALUES (3, 'a'), (3, 'b') ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v);
INSERT INTO t (id, v) VALUES (3, 'a'), (4, 'b') ON CONFLICT (id) DO UPDATE SET n = length(twice(excluded.v)) + 999;
INSERT INTO one (id, v) VALUES (1, 'x'), (7, 'y') ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v) RETURNING *;
INSERT INTO r (id, v) VALUES (1, 'x'), (7, 'y') ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = r.n + 1 RETURNING *;
SELECT * FROM r ORDER BY id;
INSERT INTO t (id, v) SELECT 5, 'w' ON CONFLICT (id) DO UPDATE SET v = (random() < 2)::text RETURNING v;

-- Whole rows of views.
INSERT INTO tv (ii, vv) VALUES (5, 'new') ON CONFLICT (ii) DO UPDATE SET vv = 'not ' || excluded.* WHERE excluded.ii > 0 RETURNING *;
INSERT INTO tv (ii, vv) SELECT id, v FROM s WHERE id < 7 ON CONFLICT (ii) DO UPDATE SET vv = excluded.* || ' after ' || tv.vv RETURNING ii, vv;

-- Subqueries.
INSERT INTO t (id, v) SELECT 6, 'six' ON CONFLICT (id) DO UPDATE SET v = (SELECT v FROM s WHERE s.id = excluded.id + t.n * 0) RETURNING v;
INSERT INTO t (id, v) SELECT 31, 'new' ON CONFLICT (id) DO UPDATE SET v = (SELECT v FROM s WHERE s.id = excluded.id);
INSERT INTO t (id, v) SELECT 2, 'two' ON CONFLICT (id) DO UPDATE SET (v, n) = (SELECT l.v, l.id FROM l WHERE l.id = t.id) RETURNING *;
INSERT INTO t (id, v) SELECT 2, 'two' ON CONFLICT (id) DO UPDATE SET n = t.n WHERE EXISTS (SELECT FROM s WHERE s.id = t.id);
INSERT INTO t (id, v) SELECT i, 'n' || i FROM generate_series(9, 52) i ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = (SELECT count(*) FROM t) RETURNING *;
INSERT INTO t (id, v) VALUES (9, 'a'), (53, 'b'), (10, 'c'), (54, 'd') ON CONFLICT (id) DO UPDATE SET id = t.id, n = (SELECT count(*) FROM t) RETURNING *;

-- Correlated subqueries, for many rows: they don't see what the statement writes.
BEGIN;
INSERT INTO t (id, v) SELECT id, v FROM s ON CONFLICT (id) DO UPDATE SET v = (SELECT s.v || '!' FROM s WHERE s.id = t.id), n = t.n + 1 RETURNING *;
SELECT * FROM t ORDER BY id;
INSERT INTO t (id, v) SELECT i, 'n' || i FROM generate_series(1, 80) i
	ON CONFLICT (id) DO UPDATE SET id = t.id, n = (SELECT count(*) FROM t x WHERE x.id <= excluded.id) RETURNING *;
INSERT INTO t (id, v) SELECT i, 'm' || i FROM generate_series(1, 90) i
	ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = (SELECT count(*) + excluded.id FROM t) RETURNING *;
INSERT INTO t (id, v) SELECT i, 'w' FROM generate_series(70, 99) i
	ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v) WHERE NOT EXISTS (SELECT FROM t x WHERE x.id = excluded.id + 5 AND x.v <> 'w') RETURNING id, v;
INSERT INTO t (id, v) VALUES (1, 'x'), (2, 'y'), (7, 'z'), (401, 'q')
	ON CONFLICT (id) DO UPDATE SET (v, n) = (SELECT l.v, l.id + x.n FROM l JOIN t x ON x.id = l.id + 1 WHERE l.id = t.id), id = t.id + 100 WHERE t.id < 7 RETURNING *;
ROLLBACK;
BEGIN;
INSERT INTO t (id, v) SELECT i, 'n' || i FROM generate_series(1, 30) i
	ON CONFLICT (id) DO UPDATE SET id = t.id + 200, n = (SELECT count(*) FROM t x JOIN s ON s.id = x.id WHERE x.id >= excluded.id) RETURNING *;
SELECT count(*), sum(id), sum(n) FROM t;
WITH c AS (INSERT INTO t (id, v) SELECT i, 'c' || i FROM generate_series(11, 40) i
	ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = (SELECT count(*) FROM t x WHERE x.v = t.v) RETURNING *)
SELECT count(*), sum(n), (SELECT count(*) FROM t) FROM c;
SELECT count(*), sum(id), sum(n) FROM t;
INSERT INTO t (id, v) SELECT id, v FROM t LIMIT 7 ON CONFLICT (id) DO UPDATE SET v = twice((SELECT v FROM s WHERE s.id = t.id));
ROLLBACK;
BEGIN;
INSERT INTO one (id, v) SELECT i, 'n' || i FROM generate_series(1, 9) i
	ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = (SELECT count(*) FROM one x WHERE x.id >= excluded.id) RETURNING *;
INSERT INTO r (id, v) SELECT i, 'n' || i FROM generate_series(1, 9) i
	ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = (SELECT count(*) FROM r x, t WHERE x.id >= excluded.id AND t.id > r.id) RETURNING *;
INSERT INTO r (id, v) SELECT i, 'n' || i FROM generate_series(1, 12) i
	ON CONFLICT (id) DO UPDATE SET n = (SELECT count(*) FROM one, l WHERE one.id >= excluded.id AND l.id <= r.id) RETURNING *;
PREPARE p (int) AS INSERT INTO t (id, v) SELECT i, 'p' || i FROM generate_series($1, $1 + 20) i
	ON CONFLICT (id) DO UPDATE SET v = twice(excluded.v), n = (SELECT count(*) + $1 FROM t x WHERE x.id <= t.id) RETURNING *;
EXECUTE p (1);
EXECUTE p (11);
EXECUTE p (21);
EXECUTE p (21);
EXECUTE p (31);
EXECUTE p (31);
EXECUTE p (41);
DEALLOCATE p;
ROLLBACK;
BEGIN;
-- cluster fails: 0A000
INSERT INTO t (id, v) VALUES (9, 'a'), (10, 'b') ON CONFLICT (id) DO UPDATE SET v = twice((SELECT x.v FROM t x TABLESAMPLE SYSTEM (100) WHERE x.id = excluded.id));
ROLLBACK;

-- Rows that move.
INSERT INTO t (id, v) VALUES (1, 'one') ON CONFLICT (id) DO UPDATE SET id = t.id + 100, v = excluded.v RETURNING *;
INSERT INTO t (id, v) VALUES (2, 'same') ON CONFLICT (id) DO UPDATE SET id = excluded.id, v = excluded.v RETURNING *;
INSERT INTO t (id, v) VALUES (2, 'same'), (3, 'three'), (61, 'new') ON CONFLICT (id) DO UPDATE SET (v, id) = (excluded.v, excluded.id) RETURNING id, v;
INSERT INTO t (id, v) VALUES (3, 'taken') ON CONFLICT (id) DO UPDATE SET id = 4;
INSERT INTO t (id, v) VALUES (3, 'null') ON CONFLICT (id) DO UPDATE SET id = NULL;
INSERT INTO two SELECT id, id % 3, v FROM s ON CONFLICT (a, b) DO UPDATE SET a = two.a + 50, v = two.v || excluded.v;
SELECT * FROM two ORDER BY a;
SELECT * FROM two WHERE a = 55;
INSERT INTO two VALUES (1, 1, 'one') ON CONFLICT (a, b) DO UPDATE SET (a, b, v) = (SELECT 61, 62, v FROM s WHERE id = 6) RETURNING *;
BEGIN;
INSERT INTO t (id, v) VALUES (4, 'four') ON CONFLICT (id) DO UPDATE SET id = 104;
SELECT id, v FROM t WHERE id IN (4, 104);
ROLLBACK;
SELECT id, v FROM t WHERE id IN (4, 104);
PREPARE p (int, text) AS INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET id = t.id + 1000, v = $2 || excluded.v RETURNING *;
EXECUTE p (6, 'x');
EXECUTE p (6, 'y');
EXECUTE p (6, 'z');
DEALLOCATE p;
SELECT id, v, n, g FROM t ORDER BY id;

-- Several parts of one column.
INSERT INTO js VALUES (1, '{"a": 1}'), (2, '{"a": 2}') ON CONFLICT (id, data) DO UPDATE SET data['d'] = '4', data['b'] = to_jsonb(excluded.id) RETURNING *;
INSERT INTO js VALUES (3, '{"a": 3}') ON CONFLICT (id, data) DO UPDATE SET data['d'] = '4', data['b']['c'] = '5' RETURNING *;
INSERT INTO js VALUES (4, '{"a": 4}') ON CONFLICT (id, data) DO UPDATE SET data['d'] = '4' WHERE js.id = 4 RETURNING *;
INSERT INTO parts (id, k, n) VALUES (1, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET arr[1] = 11, arr[3] = 13 + excluded.id, c.x = 21, c.y = parts.arr[1] RETURNING *;
INSERT INTO parts (id, k, n) VALUES (1, (1, 1), '{1}'), (2, (1, 1), '{1}'), (9, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET cs[1].x = 11, cs[2].y = 12, p.p.x = 13, p.a[2] = 14, p.a[3] = excluded.id RETURNING *;
INSERT INTO parts (id, k, n) VALUES (3, (1, 1), '{1}'), (4, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET cs[1].x = 11, cs[1].y = 12, arr[1:2] = ARRAY[5, 6] RETURNING *;
INSERT INTO parts (id, k, n) VALUES (3, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET d.x = 31, k.x = 32, n[1] = 33 RETURNING *;
INSERT INTO parts (id, k, n) VALUES (3, (1, 1), '{1}'), (4, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET d.x = 41, d.y = 42, k.x = 43, k.y = 44, n[1] = 45, n[2] = 46 RETURNING *;
INSERT INTO parts (id, k, n) VALUES (4, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET k.x = NULL, k.y = 1;
INSERT INTO parts (id, k, n) VALUES (5, (1, 1), '{1}'), (4, (1, 1), '{1}') ON CONFLICT (id) DO UPDATE SET (arr[1], arr[2], c.x) = (SELECT 1, 2, count(*) FROM js WHERE js.id = parts.id), c.y = 3 RETURNING *;
UPDATE parts SET d.x = 51, d.y = 52, arr[1] = 53, arr[2] = 54;
UPDATE parts SET c.x = 61, c.y = 62, p.a[1] = 63, p.a[2] = 64 WHERE id < 3;
MERGE INTO parts USING (VALUES (1), (3)) s (i) ON parts.id = s.i WHEN MATCHED THEN UPDATE SET c.x = i, c.y = 71, arr[2] = 72, arr[3] = 73;
SELECT * FROM parts ORDER BY id;
SELECT p.id, q.k, q.n FROM parts p LEFT JOIN parts q ON q.id = p.id AND q.id < 0 WHERE p.id = 1;
