-- Values of domains within arrays and composite types that violate a constraint which is NOT VALID: they are read, compared and replaced.
-- distribute: t(id), n(id), copied(id), r reference
CREATE DOMAIN small AS int;
CREATE DOMAIN need AS text;
CREATE DOMAIN smalls AS small[];
CREATE TYPE pair AS (a small, b need);
CREATE TABLE t (id int PRIMARY KEY, v int, arr small[], p pair, ps pair[], d smalls);
CREATE TABLE r (id int PRIMARY KEY, arr small[], p pair);
CREATE TABLE n (id int PRIMARY KEY, m int[], a small[]);
CREATE TABLE copied (id int PRIMARY KEY, s small, n need);
INSERT INTO t SELECT g, g, ARRAY[g * 100, NULL], ROW(g * 100, NULL)::pair, ARRAY[ROW(g * 100, NULL)::pair, NULL], ARRAY[g * 100] FROM generate_series(1, 6) g;
INSERT INTO r SELECT g, ARRAY[g * 100], ROW(g * 100, NULL)::pair FROM generate_series(1, 6) g;
INSERT INTO n VALUES (1, '{{1,NULL},{3,4}}', '[0:1][2:3]={{1,NULL},{3,4}}'), (2, '{}', '{}'), (3, NULL, NULL);
ALTER DOMAIN small ADD CONSTRAINT lt CHECK (VALUE < 50) NOT VALID;
ALTER DOMAIN need ADD CONSTRAINT nn CHECK (VALUE IS NOT NULL) NOT VALID;
-- setup ends
SELECT * FROM t;
SELECT id, (p).a, (p).b, arr[1], ps[1], (ps[1]).a FROM t;
SELECT max(arr), count(DISTINCT p) FROM t;
SELECT t.id, t.arr, o.p, o.ps FROM t JOIN t o ON o.v = t.id + 1;
SELECT t.id, r.arr, r.p FROM t JOIN r ON r.id = t.v;
SELECT * FROM t ORDER BY arr DESC LIMIT 2;
SELECT id, row_number() OVER (ORDER BY p) FROM t;
SELECT * FROM n;
SELECT id, unnest(arr) FROM t WHERE id = 3;
SELECT array_agg(p ORDER BY id) FROM t;
UPDATE t SET v = v + 1 WHERE id = 1 RETURNING *;
UPDATE t SET arr = ARRAY[1, 2], p = ROW(1, 'y'), ps = NULL, d = '{1}' WHERE id = 2 RETURNING *;
UPDATE t SET arr = ARRAY[60] WHERE id = 3;
UPDATE t SET p.a = 60 WHERE id = 3;
DELETE FROM t WHERE arr[1] = 300 RETURNING *;
SELECT * FROM t;
-- whole rows are copied, and sent to other shards
INSERT INTO t SELECT id + 100, v, arr, p, ps, d FROM t;
UPDATE t SET id = id + 1000 WHERE id > 100 RETURNING *;
INSERT INTO r SELECT id + 100, arr, p FROM r;
INSERT INTO t (id, arr, p) SELECT id + 5000, arr, p FROM r;
INSERT INTO t SELECT * FROM t ON CONFLICT (id) DO UPDATE SET arr = excluded.arr, v = t.v + 1;
WITH gone AS (DELETE FROM t WHERE id > 5000 RETURNING *) INSERT INTO t SELECT id - 3000, v, arr, p, ps, d FROM gone;
UPDATE r SET p = t.p, arr = t.arr FROM t WHERE t.id = r.id + 1;
INSERT INTO t (id, p) VALUES (9000, ROW(60, 'x'));
SELECT * FROM t;
SELECT * FROM r;
CREATE TABLE made AS SELECT * FROM t;
SELECT * FROM made;
COPY (SELECT * FROM t ORDER BY id) TO STDOUT;
