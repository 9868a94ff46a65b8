-- Row locks, system columns, whole rows, TABLESAMPLE.
--
-- distribute: t(id), c(t_id) with t, x(k) with none, r reference, s single, l local

CREATE TABLE t (id int PRIMARY KEY, v int, w text);
CREATE TABLE c (t_id int NOT NULL, n int);
CREATE TABLE x (k text PRIMARY KEY, id int);
CREATE TABLE r (id int PRIMARY KEY, name text);
CREATE TABLE s (id int PRIMARY KEY, v int);
CREATE TABLE l (id int PRIMARY KEY, v int);
INSERT INTO t SELECT i, i % 7, 'w' || i FROM generate_series(1, 40) i;
INSERT INTO c SELECT 1 + i % 40, i FROM generate_series(1, 80) i;
INSERT INTO x SELECT 'k' || i, i FROM generate_series(1, 20) i;
INSERT INTO r SELECT i, 'r' || i FROM generate_series(1, 6) i;
INSERT INTO s SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO l SELECT i, i FROM generate_series(1, 6) i;

-- setup ends
SELECT * FROM t WHERE id = 3 FOR UPDATE;
SELECT * FROM t WHERE id = 3 FOR NO KEY UPDATE;
SELECT * FROM t WHERE id = 3 FOR SHARE;
SELECT * FROM t WHERE id = 3 FOR KEY SHARE;
SELECT * FROM t WHERE id = 3 FOR UPDATE NOWAIT;
SELECT * FROM t WHERE id = 3 FOR UPDATE SKIP LOCKED;
SELECT * FROM t WHERE v = 2 ORDER BY id FOR UPDATE;
SELECT id FROM t WHERE v = 2 ORDER BY id LIMIT 2 FOR UPDATE;
SELECT id FROM t WHERE v = 2 ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED;
SELECT id FROM t ORDER BY id DESC LIMIT 3 FOR SHARE;
SELECT t.id, c.n FROM t JOIN c ON c.t_id = t.id WHERE t.id = 5 ORDER BY 2 FOR UPDATE;
SELECT t.id, c.n FROM t JOIN c ON c.t_id = t.id WHERE t.v = 5 ORDER BY 1, 2 FOR UPDATE OF t;
SELECT t.id, x.k FROM t JOIN x ON x.id = t.id WHERE t.v = 1 ORDER BY 1 FOR UPDATE OF x FOR SHARE OF t;
SELECT t.id, r.name FROM t JOIN r ON r.id = t.id ORDER BY 1 FOR UPDATE OF t;
SELECT t.id, r.name FROM t JOIN r ON r.id = t.id WHERE t.id = 2 FOR UPDATE;
SELECT * FROM r WHERE id = 1 FOR UPDATE;
SELECT * FROM r ORDER BY id FOR SHARE;
SELECT * FROM s WHERE id = 1 FOR UPDATE;
SELECT * FROM l WHERE id = 1 FOR UPDATE;
SELECT l.id, t.w FROM l JOIN t USING (id) ORDER BY 1 FOR UPDATE OF l;
SELECT l.id, t.w FROM l JOIN t USING (id) ORDER BY 1 FOR UPDATE;
SELECT id FROM (SELECT * FROM t WHERE id = 6 FOR UPDATE) q;
SELECT id FROM (SELECT * FROM t WHERE v = 6 FOR UPDATE) q ORDER BY id;
WITH q AS (SELECT * FROM t WHERE id = 7 FOR UPDATE) SELECT w FROM q;
WITH q AS (SELECT id FROM t WHERE v = 3 ORDER BY id LIMIT 2 FOR UPDATE) UPDATE t SET v = 100 FROM q WHERE q.id = t.id RETURNING t.id;
UPDATE t SET v = 200 WHERE id = (SELECT id FROM t WHERE v = 4 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id;
DELETE FROM c WHERE t_id IN (SELECT id FROM t WHERE v = 100 FOR UPDATE);
BEGIN;
SELECT id FROM t WHERE id = 8 FOR UPDATE;
UPDATE t SET v = 8 WHERE id = 8;
SELECT v FROM t WHERE id = 8 FOR SHARE;
SELECT count(*) FROM (SELECT FROM t FOR UPDATE) q;
COMMIT;
SELECT count(*) FROM t FOR UPDATE;
SELECT v FROM t GROUP BY v FOR UPDATE;
SELECT DISTINCT v FROM t FOR UPDATE;
SELECT id FROM t UNION SELECT id FROM r FOR UPDATE;
SELECT id FROM t WHERE id = 1 FOR UPDATE OF nothing;
SELECT t.id FROM t LEFT JOIN c ON c.t_id = t.id FOR UPDATE;

-- System columns.
SELECT tableoid::regclass, count(*) FROM t GROUP BY 1;
SELECT tableoid::regclass FROM t WHERE id = 3;
SELECT tableoid::regclass, id FROM r WHERE id = 1;
SELECT tableoid::regclass, id FROM s WHERE id = 1;
SELECT tableoid = 't'::regclass FROM t WHERE id = 1;
SELECT count(*) FROM t WHERE tableoid = 't'::regclass;
SELECT t.tableoid::regclass, c.tableoid::regclass FROM t JOIN c ON c.t_id = t.id WHERE t.id = 5 LIMIT 1;
SELECT t.tableoid::regclass, relname FROM t JOIN pg_class p ON p.oid = t.tableoid WHERE id = 3;
SELECT count(*) FROM t WHERE ctid IS NOT NULL AND xmin IS NOT NULL AND cmin IS NOT NULL AND xmax IS NOT NULL AND cmax IS NOT NULL;
SELECT id FROM t WHERE id = 3 AND ctid = (SELECT ctid FROM t WHERE id = 3);
SELECT count(*) FROM r WHERE xmin::text::bigint > 0;
SELECT ctid IS NOT NULL FROM t WHERE id = 4;
SELECT pg_typeof(ctid), pg_typeof(xmin), pg_typeof(tableoid) FROM t WHERE id = 4;

-- Whole rows.
SELECT t FROM t WHERE id = 3;
SELECT t FROM t ORDER BY t LIMIT 3;
SELECT t, c FROM t JOIN c ON c.t_id = t.id WHERE t.id < 3 ORDER BY t, c;
SELECT c FROM t LEFT JOIN c ON c.t_id = t.id AND c.n < 0 WHERE t.id = 1;
SELECT x, r FROM x LEFT JOIN r ON r.id = x.id ORDER BY x.id;
SELECT (t).w, (t.*)::text FROM t WHERE id IN (3, 4) ORDER BY id;
SELECT to_jsonb(t) FROM t WHERE id = 5;
SELECT row_to_json(t) FROM t WHERE v = 5 ORDER BY id;
SELECT count(t), count(DISTINCT t) FROM t;
SELECT array_agg(t ORDER BY id) FROM t WHERE id < 4;
SELECT t IS NULL, t IS NOT NULL, t.* IS NOT DISTINCT FROM ROW(3, 3, 'w3') FROM t WHERE id = 3;
SELECT id FROM t WHERE t = ROW(3, 100, 'w3')::t;
SELECT id FROM t WHERE t IN (SELECT u FROM t u WHERE id < 3) ORDER BY id;
SELECT max(t::text) FROM t;
SELECT (jsonb_populate_record(t, '{"w": "new"}')).* FROM t WHERE id = 6;
SELECT r, s, l FROM r JOIN s USING (id) JOIN l USING (id) ORDER BY id LIMIT 2;
SELECT pg_typeof(t) FROM t WHERE id = 1;

-- TABLESAMPLE, where it is determined.
SELECT count(*) FROM t TABLESAMPLE BERNOULLI (100);
SELECT count(*) FROM t TABLESAMPLE SYSTEM (100);
SELECT count(*) FROM t TABLESAMPLE BERNOULLI (0);
SELECT count(*) FROM r TABLESAMPLE SYSTEM (100) REPEATABLE (5);
SELECT id FROM t TABLESAMPLE BERNOULLI (100) WHERE id = 9;
SELECT count(*) FROM t a TABLESAMPLE BERNOULLI (100) JOIN c ON c.t_id = a.id;
SELECT pct, count(id) FROM (VALUES (0), (100)) p (pct), LATERAL (SELECT * FROM t TABLESAMPLE BERNOULLI (pct)) s GROUP BY pct;
SELECT count(*) BETWEEN 0 AND 40 FROM t TABLESAMPLE BERNOULLI (50) REPEATABLE (1);
SELECT count(*) FROM t TABLESAMPLE BERNOULLI (101);
SELECT count(*) FROM t TABLESAMPLE nothing (10);
