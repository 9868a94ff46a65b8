-- MERGE: all kinds of actions, all mixes of table types.
--
-- distribute: t(id), src(id) with t, owner(id) with t, owned(id) with t, far(k) with none, r reference, rsrc reference, s single, l local

CREATE TABLE t (id int PRIMARY KEY, v int, w text DEFAULT 'dflt', gen int GENERATED ALWAYS AS (v + 1) STORED);
CREATE TABLE src (id int NOT NULL, v int, op text);
CREATE TABLE far (k text NOT NULL, id int, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE rsrc (id int, v int);
CREATE TABLE s (id int PRIMARY KEY, v int);
CREATE TABLE l (id int PRIMARY KEY, v int);
INSERT INTO t SELECT i, i, 'w' || i FROM generate_series(1, 20) i;
INSERT INTO src SELECT i, i * 10, (ARRAY['upd','del','ins'])[1 + i % 3] FROM generate_series(11, 30) i;
INSERT INTO far SELECT 'k' || i, i, -i FROM generate_series(5, 25) i;
INSERT INTO r SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO rsrc SELECT i, i * 100 FROM generate_series(4, 9) i;
INSERT INTO s SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO l SELECT i, i FROM generate_series(1, 6) i;
CREATE TABLE owner (id int PRIMARY KEY, v int);
-- statement needs: colocation
CREATE TABLE owned (id int PRIMARY KEY REFERENCES owner ON DELETE CASCADE);
INSERT INTO owner SELECT i, i FROM generate_series(1, 8) i;
-- statement needs: colocation
INSERT INTO owned SELECT i FROM generate_series(1, 4) i;

-- setup ends
-- rows that move are no deleted ones: their foreign keys' actions don't apply
BEGIN;
MERGE INTO owner o USING (VALUES (5), (6), (1)) AS s (k) ON o.id = s.k WHEN MATCHED AND o.v > 4 THEN UPDATE SET id = o.id + 100 WHEN MATCHED THEN DELETE;
SELECT * FROM owner ORDER BY id;
-- statement needs: colocation
SELECT * FROM owned ORDER BY id;
ROLLBACK;
-- statement needs: colocation
MERGE INTO owner o USING (VALUES (2)) AS s (k) ON o.id = s.k WHEN MATCHED THEN UPDATE SET id = o.id + 100;
-- statement needs: colocation
SELECT (SELECT count(*) FROM owner), (SELECT count(*) FROM owned);
BEGIN;
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET v = src.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (src.id, src.v);
SELECT * FROM t ORDER BY id;
ROLLBACK;
BEGIN;
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED AND op = 'del' THEN DELETE WHEN MATCHED AND op = 'upd' THEN UPDATE SET v = t.v + src.v, w = src.op WHEN NOT MATCHED AND op = 'ins' THEN INSERT VALUES (src.id, src.v, DEFAULT) WHEN NOT MATCHED THEN DO NOTHING;
SELECT * FROM t ORDER BY id;
ROLLBACK;
BEGIN;
MERGE INTO t AS x USING (SELECT * FROM src WHERE id = 15) AS y ON x.id = y.id AND x.id = 15 WHEN MATCHED THEN UPDATE SET w = 'one';
SELECT * FROM t WHERE id = 15;
MERGE INTO t USING far ON t.id = far.id WHEN MATCHED THEN UPDATE SET v = far.v, w = far.k;
SELECT count(*), sum(v) FROM t;
MERGE INTO t USING far ON t.id = far.id AND far.v > -10 WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND far.id > 20 THEN INSERT (id, v, w) VALUES (far.id + 100, far.v, far.k);
SELECT * FROM t ORDER BY id;
ROLLBACK;
BEGIN;
MERGE INTO t USING rsrc ON t.id = rsrc.id WHEN MATCHED THEN UPDATE SET v = rsrc.v WHEN NOT MATCHED THEN INSERT (id) VALUES (rsrc.id);
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.v > 3 THEN DELETE WHEN MATCHED THEN UPDATE SET w = 'single';
MERGE INTO t USING l ON t.id = l.id + 15 WHEN MATCHED THEN UPDATE SET w = 'local' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (500 + l.id, l.v);
MERGE INTO t USING (VALUES (1, 5), (600, 6)) AS x (id, v) ON t.id = x.id WHEN MATCHED THEN UPDATE SET v = t.v + x.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (x.id, x.v);
SELECT * FROM t ORDER BY id;
ROLLBACK;
BEGIN;
MERGE INTO t USING generate_series(18, 22) g ON t.id = g WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v) VALUES (g, NULL);
MERGE INTO t USING (SELECT id % 10 AS m, count(*) AS n FROM src GROUP BY 1) x ON t.id = x.m WHEN MATCHED THEN UPDATE SET v = x.n;
MERGE INTO t USING src JOIN far ON far.id = src.id ON t.id = src.id WHEN MATCHED THEN UPDATE SET w = far.k || src.op;
MERGE INTO t USING t AS u ON t.id = u.id + 1 AND t.id < 5 WHEN MATCHED THEN UPDATE SET v = u.v * 1000;
MERGE INTO t USING src ON false WHEN NOT MATCHED AND src.id < 13 THEN INSERT (id, v) VALUES (src.id + 700, src.v);
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED AND EXISTS (SELECT FROM rsrc WHERE rsrc.id = t.id - 10) THEN DELETE;
SELECT * FROM t ORDER BY id;
ROLLBACK;
BEGIN;
WITH c AS (SELECT id, max(v) AS v FROM far GROUP BY id) MERGE INTO t USING c ON t.id = c.id WHEN MATCHED THEN UPDATE SET (v, w) = (c.v, 'cte');
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET v = (SELECT max(v) FROM r) WHEN NOT MATCHED THEN INSERT (id, w) VALUES (src.id, (SELECT count(*)::text FROM r));
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED AND t.v = 6 THEN DO NOTHING WHEN MATCHED THEN DELETE;
SELECT * FROM t ORDER BY id;
ROLLBACK;
BEGIN;
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED AND t.id = 12 THEN UPDATE SET id = 812;
MERGE INTO t USING generate_series(18, 25) g ON t.id = g WHEN MATCHED THEN UPDATE SET id = g + 5000;
MERGE INTO t USING generate_series(5018, 5025) g ON t.id = g WHEN MATCHED AND g % 2 = 0 THEN UPDATE SET id = g - 5000 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (g);
SELECT id FROM t WHERE id IN (12, 812);
MERGE INTO far USING t ON far.id = t.id WHEN MATCHED THEN UPDATE SET v = t.v WHEN NOT MATCHED THEN INSERT VALUES ('new' || t.id, t.id, t.v);
SELECT count(*), sum(v), count(*) FILTER (WHERE k LIKE 'new%') FROM far;
ROLLBACK;
BEGIN;
MERGE INTO r USING rsrc ON r.id = rsrc.id WHEN MATCHED THEN UPDATE SET v = rsrc.v WHEN NOT MATCHED THEN INSERT VALUES (rsrc.id, rsrc.v);
MERGE INTO r USING t ON r.id = t.id WHEN MATCHED AND t.id < 3 THEN DELETE WHEN NOT MATCHED AND t.id > 18 THEN INSERT (id) VALUES (t.id);
MERGE INTO r USING l ON r.id = l.id WHEN MATCHED THEN UPDATE SET v = r.v + l.v;
SELECT * FROM r ORDER BY id;
MERGE INTO s USING t ON s.id = t.id WHEN MATCHED THEN UPDATE SET v = t.v * 5 WHEN NOT MATCHED AND t.id = 20 THEN INSERT VALUES (t.id, t.v);
MERGE INTO s USING rsrc ON s.id = rsrc.id WHEN MATCHED THEN DELETE;
SELECT * FROM s ORDER BY id;
MERGE INTO l USING t ON l.id = t.id WHEN MATCHED AND l.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -t.v WHEN NOT MATCHED AND t.id < 9 THEN INSERT VALUES (t.id, t.v);
MERGE INTO l USING far ON l.id = far.id WHEN MATCHED THEN UPDATE SET v = far.v;
MERGE INTO l USING r ON l.id = r.id WHEN NOT MATCHED THEN INSERT VALUES (r.id, r.v);
SELECT * FROM l ORDER BY id;
ROLLBACK;
MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 1) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET v = 1;
MERGE INTO t USING src ON t.id = src.id WHEN NOT MATCHED THEN INSERT (id) VALUES (1);
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET v = 1 / (src.id - 15);
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET nothing = 1;
MERGE INTO t USING src ON t.id = src.id WHEN NOT MATCHED THEN INSERT (id) VALUES (NULL);
SELECT count(*), sum(v) FROM t;
BEGIN;
WITH c AS MATERIALIZED (SELECT g AS a, g * 7 AS b FROM generate_series(1, 20) g)
  MERGE INTO t USING (SELECT 3 AS id OFFSET 0) o ON t.id = o.id WHEN MATCHED THEN UPDATE SET v = (SELECT b FROM c WHERE c.a = t.v), w = (SELECT t.w || count(*) FROM c WHERE c.a < t.gen);
WITH c AS MATERIALIZED (SELECT g AS a, g * 7 AS b FROM generate_series(1, 20) g)
  MERGE INTO r USING (SELECT 3 AS id OFFSET 0) o ON r.id = o.id WHEN MATCHED AND EXISTS (SELECT FROM c WHERE c.b > r.v) THEN UPDATE SET v = (SELECT b FROM c WHERE c.a = r.v) WHEN NOT MATCHED THEN INSERT VALUES (o.id, 1);
MERGE INTO t USING src ON t.id = src.id WHEN MATCHED AND t.v < (SELECT max(r.v) FROM r WHERE r.id < t.id) THEN DELETE WHEN MATCHED THEN UPDATE SET v = (SELECT count(*) FROM rsrc WHERE rsrc.v > t.v);
SELECT * FROM t ORDER BY id;
SELECT * FROM r ORDER BY id;
ROLLBACK;
