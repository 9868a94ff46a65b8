-- Foreign keys' actions, in statements that write the referencing tables, too: they come after all other parts.
-- distribute: ref reference, sub reference, dist(k), noted(k), parent(id), child(id) with parent

CREATE TABLE ref (id int PRIMARY KEY, v int, w text, up int REFERENCES ref ON DELETE CASCADE);
CREATE TABLE sub (id int PRIMARY KEY, ref int REFERENCES ref ON DELETE CASCADE, v int);
CREATE TABLE dist (k int PRIMARY KEY, id int REFERENCES ref ON DELETE CASCADE, v int, sub int REFERENCES sub ON DELETE SET NULL);
CREATE TABLE noted (k int PRIMARY KEY, id int DEFAULT 0 REFERENCES ref ON DELETE SET DEFAULT, v int);
CREATE TABLE parent (id int PRIMARY KEY, v int);
CREATE TABLE child (id int REFERENCES parent ON DELETE CASCADE, n int, v int, PRIMARY KEY (id, n));
INSERT INTO ref VALUES (0, 0, 'none');
INSERT INTO ref SELECT g, g, 'w' || g FROM generate_series(1, 5) g;
INSERT INTO sub SELECT g, g % 5 + 1, g FROM generate_series(1, 10) g;
INSERT INTO dist SELECT g, g % 5 + 1, g, g % 10 + 1 FROM generate_series(1, 20) g;
INSERT INTO noted SELECT g, g % 5 + 1, g FROM generate_series(1, 20) g;
INSERT INTO parent SELECT g, g FROM generate_series(1, 8) g;
INSERT INTO child SELECT p, n, n FROM generate_series(1, 8) p, generate_series(1, 2) n;
-- setup ends

BEGIN;
WITH t AS (DELETE FROM ref RETURNING id) DELETE FROM dist USING t WHERE dist.id = t.id RETURNING dist.v;
SELECT count(*) FROM dist;
ROLLBACK;
BEGIN;
WITH t AS (DELETE FROM ref WHERE id > 0 RETURNING id) UPDATE dist SET id = NULL FROM t WHERE dist.id = t.id AND k < 8 RETURNING dist.k, t.id;
SELECT * FROM dist ORDER BY k;
SELECT * FROM noted ORDER BY k;
SELECT * FROM sub ORDER BY id;
ROLLBACK;
BEGIN;
WITH t AS (DELETE FROM ref WHERE id > 0 RETURNING *) UPDATE dist SET id = 0 FROM t WHERE dist.id = t.id AND t.v < 3;
SELECT * FROM dist ORDER BY k;
ROLLBACK;
BEGIN;
WITH x AS (UPDATE dist SET id = NULL WHERE k > 10 RETURNING v) DELETE FROM ref WHERE id > 0;
SELECT * FROM dist ORDER BY k;
ROLLBACK;
BEGIN;
WITH x AS (UPDATE dist SET id = NULL WHERE k > 10 RETURNING v) DELETE FROM ref WHERE id > 0 RETURNING ref, id + v, w, tableoid::regclass;
SELECT count(*) FROM dist;
ROLLBACK;
BEGIN;
WITH t AS (DELETE FROM ref WHERE id > 0 RETURNING id, v), x AS (UPDATE dist SET v = t.v FROM t WHERE dist.id = t.id RETURNING dist.v) SELECT v, count(*) FROM x GROUP BY v ORDER BY v;
SELECT count(*) FROM dist;
ROLLBACK;
BEGIN;
WITH t AS (DELETE FROM ref WHERE id IN (SELECT v FROM dist WHERE k < 4) RETURNING id), x AS (DELETE FROM dist USING t WHERE dist.id = t.id AND k > 9 RETURNING k)
  SELECT (SELECT array_agg(id ORDER BY id) FROM t), (SELECT array_agg(k ORDER BY k) FROM x);
SELECT * FROM dist ORDER BY k;
ROLLBACK;
BEGIN;
-- statement needs: colocation
WITH t AS (DELETE FROM ref WHERE id = 1) UPDATE noted SET id = 2 WHERE id = 1 AND k < 9;
SELECT * FROM noted ORDER BY k;
ROLLBACK;
BEGIN;
WITH t AS (DELETE FROM ref WHERE id = 1 RETURNING id) INSERT INTO dist SELECT 100 + k, 2, v FROM dist JOIN t USING (id) RETURNING k;
SELECT * FROM dist ORDER BY k;
ROLLBACK;

-- an action that leads to another one
BEGIN;
WITH t AS (DELETE FROM ref WHERE id < 3 RETURNING id) UPDATE sub SET ref = NULL FROM t WHERE sub.ref = t.id AND sub.v < 5 RETURNING sub.id;
SELECT * FROM sub ORDER BY id;
SELECT * FROM dist ORDER BY k;
ROLLBACK;
BEGIN;
WITH a AS (DELETE FROM ref WHERE id > 0 RETURNING id), b AS (DELETE FROM sub RETURNING id), c AS (DELETE FROM dist WHERE k < 5 RETURNING k)
  SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT count(*) FROM c);
SELECT (SELECT count(*) FROM ref), (SELECT count(*) FROM sub), (SELECT count(*) FROM dist);
ROLLBACK;
BEGIN;
WITH b AS (DELETE FROM sub WHERE id < 6 RETURNING id), c AS (UPDATE dist SET v = -v WHERE k < 5 RETURNING k) DELETE FROM ref WHERE id > 0 RETURNING id;
SELECT (SELECT count(*) FROM ref), (SELECT count(*) FROM sub), (SELECT count(*) FROM dist);
ROLLBACK;
BEGIN;
WITH c AS (UPDATE dist SET sub = NULL WHERE k < 5) DELETE FROM sub;
SELECT * FROM dist ORDER BY k;
ROLLBACK;

-- a table that references itself
BEGIN;
UPDATE ref SET up = 1 WHERE id IN (2, 3);
WITH t AS (DELETE FROM ref WHERE id = 1 RETURNING id) UPDATE ref SET up = NULL FROM t WHERE ref.up = t.id AND ref.id = 2 RETURNING ref.id;
SELECT * FROM ref ORDER BY id;
ROLLBACK;

-- between distributed tables
BEGIN;
WITH t AS (DELETE FROM parent WHERE id < 6 RETURNING id) DELETE FROM child USING t WHERE child.id = t.id RETURNING child.id, n;
SELECT count(*) FROM child;
ROLLBACK;
BEGIN;
WITH x AS (DELETE FROM child WHERE n = 1 RETURNING id), t AS (DELETE FROM parent WHERE id > 2 RETURNING parent) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM t);
SELECT * FROM child ORDER BY id, n;
ROLLBACK;
BEGIN;
WITH t AS (DELETE FROM parent WHERE id = 3 RETURNING id) DELETE FROM child USING t WHERE child.id = 3 AND t.id = 3 RETURNING n;
SELECT count(*) FROM child;
ROLLBACK;
BEGIN;
WITH x AS (UPDATE child SET v = 7 WHERE n = 2 RETURNING id) DELETE FROM parent USING x WHERE parent.id = x.id RETURNING parent.id;
SELECT count(*) FROM child;
ROLLBACK;

-- prepared, in functions, with data-modifying parts that nothing reads
CREATE FUNCTION leave(which int) RETURNS bigint LANGUAGE sql AS $$
  WITH t AS (DELETE FROM ref WHERE id = which RETURNING id), x AS (UPDATE dist SET id = NULL FROM t WHERE dist.id = t.id RETURNING k) SELECT count(*) FROM x $$;
BEGIN;
SELECT leave(1), leave(2);
SELECT count(*), count(id) FROM dist;
ROLLBACK;
PREPARE leaving AS WITH t AS (DELETE FROM ref WHERE id = $1), x AS (UPDATE dist SET id = NULL WHERE id = $1) SELECT 1;
BEGIN;
EXECUTE leaving(1);
EXECUTE leaving(2);
SELECT count(*), count(id) FROM dist;
ROLLBACK;
DEALLOCATE leaving;

-- an UPDATE that no action follows
BEGIN;
WITH t AS (UPDATE ref SET v = -v RETURNING id, v) UPDATE dist SET v = t.v FROM t WHERE dist.id = t.id;
SELECT * FROM dist ORDER BY k;
ROLLBACK;
