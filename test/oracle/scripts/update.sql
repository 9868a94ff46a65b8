-- UPDATE: one shard, many shards, FROM all table types, sub-selects, moving rows.
--
-- distribute: t(id), c(t_id) with t, other(k) with none, r reference, s single, l local

CREATE TABLE t (id int NOT NULL, sub int NOT NULL, v int, w text, arr int[], doc jsonb, PRIMARY KEY (id, sub));
CREATE TABLE c (t_id int NOT NULL, n int, note text);
CREATE TABLE other (k text NOT NULL, id int, v int);
CREATE TABLE r (id int PRIMARY KEY, name text, n int);
CREATE TABLE s (id int, v int);
CREATE TABLE l (id int, v int);
INSERT INTO t SELECT i, x, i * 10 + x, 'w' || i % 5, ARRAY[i, x], jsonb_build_object('i', i) FROM generate_series(1, 20) i, generate_series(1, 3) x;
INSERT INTO c SELECT i % 22 + 1, i, 'c' || i FROM generate_series(1, 50) i;
INSERT INTO other SELECT 'k' || i, i, i * i FROM generate_series(1, 25) i;
INSERT INTO r SELECT i, 'r' || i, 0 FROM generate_series(1, 10) i;
INSERT INTO s SELECT i, i * 1000 FROM generate_series(1, 8) i;
INSERT INTO l SELECT i, i * 7 FROM generate_series(1, 8) i;

-- setup ends
-- Own columns.
UPDATE t SET v = 0 WHERE id = 3 AND sub = 1;
UPDATE t SET v = v + 1 WHERE id = 3 RETURNING *;
UPDATE t SET v = v + 1, w = upper(w) WHERE id IN (4, 5) RETURNING id, sub, v, w;
UPDATE t SET v = v * 2 WHERE v > 190;
UPDATE t SET v = v - 1;
UPDATE t SET v = v WHERE false;
UPDATE t SET v = 1 WHERE id = 999;
UPDATE t SET v = DEFAULT, w = NULL WHERE id = 6 RETURNING v, w;
UPDATE t SET (v, w) = (1, 'pair') WHERE id = 7 RETURNING v, w;
UPDATE t SET (v, w) = ROW (2, 'row') WHERE id = 7 AND sub = 2 RETURNING v, w;
UPDATE t SET arr[1] = 99, doc = doc || '{"x": true}' WHERE id = 8 RETURNING arr, doc;
UPDATE t SET doc['y'] = '[1]' WHERE id = 8 AND sub = 1 RETURNING doc;
UPDATE t AS z SET v = z.v + z.sub WHERE z.id < 3 RETURNING z.*;
UPDATE ONLY t SET v = v + 1 WHERE id = 9 RETURNING v;
UPDATE t SET w = CASE WHEN sub = 1 THEN 'first' ELSE coalesce(w, '?') END WHERE id > 15;
UPDATE t SET w = now()::date - now()::date || w WHERE id = 10 RETURNING w;
UPDATE t SET v = (random() * 0)::int WHERE id = 11 RETURNING v;
UPDATE t SET v = length(w) WHERE w IS NOT NULL AND id < 5 RETURNING id, v;
UPDATE t SET sub = sub + 10 WHERE id = 12 RETURNING id, sub;
SELECT * FROM t ORDER BY id, sub;

-- FROM.
UPDATE t SET v = c.n FROM c WHERE c.t_id = t.id AND c.n = t.id RETURNING t.id, t.sub, t.v, c.note;
UPDATE t SET w = c.note FROM c WHERE c.t_id = t.id AND t.id = 4 AND c.n < 10;
UPDATE t SET w = r.name FROM r WHERE r.id = t.sub AND t.id > 17 RETURNING t.*, r.name AS joined;
UPDATE t SET w = r.name FROM r WHERE r.id = t.id AND t.id = 2 RETURNING r.*, w;
UPDATE t SET v = o.v FROM other o WHERE o.id = t.id AND t.sub = 2 RETURNING t.id, t.v, o.k;
UPDATE t SET v = o.v FROM other o WHERE o.k = t.w RETURNING t.id;
UPDATE t SET v = s.v FROM s WHERE s.id = t.id AND t.sub = 3 RETURNING t.id, t.v;
UPDATE t SET v = l.v FROM l WHERE l.id = t.id AND t.sub = 1 RETURNING t.id, t.v;
UPDATE t SET v = x.b FROM (VALUES (1, 100), (2, 200)) x (a, b) WHERE x.a = t.id RETURNING t.id, t.v;
UPDATE t SET v = x.n FROM (SELECT t_id, count(*) AS n FROM c GROUP BY t_id) x WHERE x.t_id = t.id RETURNING t.id, t.sub, x.n;
UPDATE t SET v = x.n FROM (SELECT sub, max(v) AS n FROM t GROUP BY sub) x WHERE x.sub = t.sub AND t.id = 1 RETURNING t.id, t.sub, t.v;
UPDATE t SET v = a.v + 1 FROM t a WHERE a.id = t.id AND a.sub = t.sub AND t.id < 3 RETURNING t.id, t.sub, t.v, a.v;
UPDATE t SET v = a.v FROM t a WHERE a.id = t.id - 1 AND a.sub = t.sub AND t.id BETWEEN 10 AND 12 RETURNING t.id, t.v;
UPDATE t SET w = r.name || c.note FROM c JOIN r ON r.id = c.n WHERE c.t_id = t.id RETURNING t.id, t.w;
UPDATE t SET w = 'u' FROM unnest(ARRAY[1, 2]) u WHERE u = t.id;
UPDATE t SET v = g FROM generate_series(13, 14) g WHERE t.id = g RETURNING id, v;
UPDATE t SET w = x.m FROM LATERAL (SELECT max(note) AS m FROM c) x WHERE id = 15 RETURNING w;
SELECT id, sub, v, w FROM t ORDER BY id, sub;

-- Sub-selects.
UPDATE t SET v = (SELECT count(*) FROM c) WHERE id = 1 RETURNING v;
UPDATE t SET v = (SELECT count(*) FROM c WHERE c.t_id = t.id) WHERE id < 6 RETURNING id, v;
UPDATE t SET v = (SELECT max(n) FROM c WHERE c.t_id = t.id);
UPDATE t SET v = (SELECT o.v FROM other o WHERE o.id = t.id) WHERE sub = 1 RETURNING id, v;
UPDATE t SET w = (SELECT name FROM r WHERE r.id = t.id) WHERE id > 8 RETURNING id, w;
UPDATE t SET v = 5 WHERE id IN (SELECT t_id FROM c WHERE n > 40) RETURNING id;
UPDATE t SET v = 6 WHERE v IN (SELECT v FROM other) RETURNING id, sub;
UPDATE t SET v = 7 WHERE EXISTS (SELECT FROM r WHERE r.id = t.id AND r.n = 0) AND sub = 1 RETURNING id;
UPDATE t SET v = 8 WHERE NOT EXISTS (SELECT FROM c WHERE c.t_id = t.id);
UPDATE t SET v = 9 WHERE id = (SELECT max(id) FROM t) RETURNING id, sub;
UPDATE t SET v = 10 WHERE id IN (SELECT id FROM l) AND sub IN (SELECT id FROM s) RETURNING id, sub;
UPDATE t SET (v, w) = (SELECT o.v, o.k FROM other o WHERE o.id = t.id) WHERE id IN (4, 5) RETURNING id, v, w;
UPDATE t SET (v, w) = (SELECT 1, 'none' WHERE false) WHERE id = 6 RETURNING v, w;
UPDATE t SET v = (SELECT n FROM c) WHERE id = 1;
UPDATE t SET v = 3 WHERE id = 2 RETURNING (SELECT count(*) FROM c WHERE t_id = t.id), id;
WITH x AS (SELECT t_id, sum(n) AS n FROM c GROUP BY 1) UPDATE t SET v = x.n FROM x WHERE x.t_id = t.id AND sub = 2 RETURNING id, v;
WITH x AS (UPDATE c SET n = n + 1 WHERE t_id = 3 RETURNING *) UPDATE t SET v = (SELECT max(n) FROM x) WHERE id = 3 RETURNING v;
SELECT id, sub, v, w FROM t ORDER BY id, sub;

-- The distribution column.
UPDATE t SET id = 100 WHERE id = 19 RETURNING id, sub;
SELECT id, sub, w FROM t WHERE id IN (19, 100) ORDER BY 1, 2;
UPDATE t SET id = id + 1000 WHERE sub = 3;
SELECT count(*), sum(id) FROM t WHERE id > 1000;
SELECT id, sub FROM t WHERE id = 1007;
UPDATE t SET id = id WHERE id = 20 RETURNING id;
UPDATE t SET id = 1, sub = 1 WHERE id = 2 AND sub = 1;
UPDATE t SET id = NULL WHERE id = 1;
UPDATE t SET id = o.id + 2000 FROM other o WHERE o.k = 'k7' AND t.id = o.id RETURNING t.id, o.k;
UPDATE c SET t_id = t_id % 3 WHERE t_id > 15;
SELECT t_id, count(*), sum(n) FROM c GROUP BY t_id ORDER BY t_id;
UPDATE other SET k = k || '!' WHERE id < 5 RETURNING k;
UPDATE other SET k = (SELECT name FROM r WHERE r.id = other.id) WHERE id = 9 RETURNING *;

-- Reference, single-shard and local tables.
UPDATE r SET n = n + 1;
UPDATE r SET name = name || '!' WHERE id = 3 RETURNING *;
UPDATE r SET n = (SELECT count(*) FROM c WHERE t_id = r.id);
UPDATE r SET n = t.v FROM t WHERE t.id = r.id AND t.sub = 1 RETURNING r.id, r.n;
UPDATE r SET n = l.v FROM l WHERE l.id = r.id AND l.id < 3 RETURNING r.*, l.v;
UPDATE r SET n = s.v FROM s WHERE s.id = r.id AND s.id = 4 RETURNING r.n;
UPDATE r SET n = a.n + 1 FROM r a WHERE a.id = r.id + 1 RETURNING r.id, r.n;
UPDATE r SET n = n WHERE id IN (SELECT t_id FROM c) RETURNING id;
SELECT * FROM r ORDER BY id;
UPDATE s SET v = v + 1 WHERE id = 1 RETURNING *;
UPDATE s SET v = t.v FROM t WHERE t.id = s.id AND t.sub = 1 RETURNING s.id, s.v;
UPDATE s SET v = (SELECT count(*) FROM t) WHERE id = 8 RETURNING v;
UPDATE s SET v = r.n FROM r WHERE r.id = s.id RETURNING s.id, s.v;
UPDATE l SET v = t.v FROM t WHERE t.id = l.id AND t.sub = 2 RETURNING l.id, l.v;
UPDATE l SET v = (SELECT sum(n) FROM c WHERE c.t_id = l.id) RETURNING id, v;
UPDATE l SET v = r.n + s.v FROM r, s WHERE r.id = l.id AND s.id = l.id RETURNING l.id, l.v;

-- Several columns from one subquery, in another order than the table's.
UPDATE t SET (w, v) = (SELECT 'sub', t.id) WHERE id = 7 RETURNING id, sub, v, w;
UPDATE t SET (w, v) = (SELECT t.w || '!', t.v + 1);
UPDATE t SET (w, arr[2]) = (SELECT 'el', 77), (doc, v) = (SELECT '{}'::jsonb, 3) WHERE id = 9 RETURNING *;
UPDATE t SET (doc, w, v) = (SELECT to_jsonb(name), name, n FROM r WHERE r.id = t.sub) WHERE id < 4;
UPDATE r SET (n, name) = (SELECT 5, 'swapped') WHERE id < 4 RETURNING *;
UPDATE s SET (v, id) = (SELECT s.id, s.v);
UPDATE l SET (v, id) = (SELECT max(t.id), l.id FROM t) RETURNING *;
SELECT id, sub, v, w, doc FROM t ORDER BY id, sub;
SELECT * FROM s ORDER BY id;

-- Failures.
UPDATE t SET v = 1 / (v - v);
UPDATE t SET v = 1 / (id - 5) WHERE id < 9;
UPDATE t SET nothing = 1;
UPDATE t SET v = 'x' WHERE id = 1;
UPDATE t SET sub = 1 WHERE id = 5;
UPDATE t SET v = 3000000000 WHERE id = 5;
UPDATE t SET v = 1, v = 2;
UPDATE r SET id = 1 WHERE id = 2;
SELECT count(*), sum(v) FROM t;
