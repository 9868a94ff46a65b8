-- RETURNING and check options with subqueries: they don't see what their own statement writes.
--
-- distribute: d(id), o(id), one single, r reference, parent(id), child(id), grandchild(id), fires(id), noted(id), l local

CREATE TABLE d (id int PRIMARY KEY, a int, g int);
CREATE TABLE o (id int PRIMARY KEY, n text);
CREATE TABLE one (id int PRIMARY KEY, a int);
CREATE TABLE r (id int PRIMARY KEY, a int);
CREATE TABLE parent (id int PRIMARY KEY, v int);
CREATE TABLE child (id int PRIMARY KEY REFERENCES parent ON DELETE CASCADE, v int);
CREATE TABLE grandchild (id int PRIMARY KEY REFERENCES child ON DELETE CASCADE, v int);
CREATE TABLE fires (id int PRIMARY KEY, a int);
CREATE TABLE noted (id int, n bigint);
CREATE TABLE l (id int PRIMARY KEY, a int);
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO noted VALUES (new.id, (SELECT count(*) FROM fires));
	RETURN new;
END $$;
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON fires FOR EACH ROW EXECUTE FUNCTION note();
-- on all nodes
CREATE VIEW few AS SELECT * FROM d WHERE (SELECT count(*) FROM d) < 21 WITH CHECK OPTION;
-- on all nodes
CREATE VIEW rare AS SELECT * FROM d WHERE (SELECT count(*) FROM d x WHERE x.g = d.g) < 6 WITH CHECK OPTION;
INSERT INTO d SELECT i, i * 10, i % 4 FROM generate_series(1, 20) i;
INSERT INTO o SELECT i, 'o' || i FROM generate_series(1, 40) i;
INSERT INTO one SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO r SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO parent SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO child SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO grandchild SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO l SELECT i, i FROM generate_series(1, 6) i;

-- setup ends
-- Uncorrelated.
INSERT INTO d VALUES (5001, 1) RETURNING (SELECT count(*) FROM d WHERE id > 5000);
INSERT INTO d VALUES (5002, 1), (5003, 2) RETURNING id, (SELECT count(*) FROM d WHERE id > 5000);
INSERT INTO d SELECT i, i, i FROM generate_series(6001, 6010) i RETURNING id, (SELECT max(id) FROM d);
UPDATE d SET a = a + 1 RETURNING id, a, (SELECT sum(a) FROM d);
UPDATE d SET a = a + 1 WHERE id = 3 RETURNING a, (SELECT a FROM d WHERE id = 3), (SELECT sum(a) FROM d);
DELETE FROM d WHERE id > 6000 RETURNING id, (SELECT count(*) FROM d);
DELETE FROM d WHERE id = 5001 RETURNING EXISTS (SELECT FROM d WHERE id = 5001), 5001 IN (SELECT id FROM d), 7 IN (SELECT id FROM d WHERE id <> 7);
INSERT INTO one VALUES (6, 6) RETURNING (SELECT count(*) FROM one), (SELECT count(*) FROM d);
UPDATE one SET a = 0 RETURNING (SELECT sum(a) FROM one);
INSERT INTO r VALUES (6, 6) RETURNING (SELECT count(*) FROM r), (SELECT count(*) FROM d);
UPDATE r SET a = 0 RETURNING id, (SELECT sum(a) FROM r), (SELECT sum(a) FROM d);
INSERT INTO l VALUES (7, 7) RETURNING (SELECT count(*) FROM d);

-- Correlated, nested, joined, in a CTE that is read late.
INSERT INTO d VALUES (5011, 1, 1), (5012, 2, 1) RETURNING id, (SELECT count(*) FROM d x WHERE x.g = d.g);
UPDATE d SET a = a + 1, g = 5 WHERE id < 9 RETURNING id, (SELECT count(*) FROM d x WHERE x.g = d.g), (SELECT string_agg(x.a::text, ',' ORDER BY x.id) FROM d x WHERE x.id = d.id);
UPDATE d SET g = 6 FROM o WHERE o.id = d.id AND d.id < 5 RETURNING d.id, (SELECT count(*) FROM d x JOIN o y ON y.id = x.id WHERE x.g = 5 AND y.n >= o.n);
UPDATE d SET id = id + 100 WHERE id IN (9, 10) RETURNING id, (SELECT array_agg(x.id ORDER BY x.id) FROM d x WHERE x.id BETWEEN d.id - 101 AND d.id + 1);
DELETE FROM d WHERE id > 5000 RETURNING id, (SELECT min(x.id) FROM d x WHERE x.id > (SELECT avg(id) FROM d y WHERE y.id <= d.id));
DELETE FROM d WHERE id > 100 RETURNING (SELECT n FROM o WHERE o.id = d.id - 100);
WITH c AS MATERIALIZED (SELECT id, a FROM d) UPDATE d SET a = -1 WHERE id < 3 RETURNING id, (SELECT c.a FROM c WHERE c.id = d.id);
WITH c AS MATERIALIZED (SELECT id, a FROM d) UPDATE d SET a = -2 WHERE id = (SELECT min(id) FROM c) RETURNING id, (SELECT sum(c.a) FROM c);
WITH w AS (UPDATE d SET a = -3 WHERE id < 3 RETURNING id, (SELECT sum(a) FROM d)) SELECT w.*, (SELECT sum(a) FROM d) FROM w;
UPDATE one SET a = id RETURNING id, (SELECT sum(x.a) FROM one x WHERE x.id <= one.id);
UPDATE r SET a = id RETURNING id, (SELECT sum(x.a) FROM r x WHERE x.id <= r.id), (SELECT count(*) FROM d WHERE d.id < r.id);
UPDATE d SET a = 1 WHERE false RETURNING (SELECT 1 / (count(*) - count(*)) FROM d);

-- ON CONFLICT.
INSERT INTO d VALUES (1, 0, 7), (7001, 0, 7) ON CONFLICT (id) DO UPDATE SET g = 7 RETURNING id, (SELECT count(*) FROM d WHERE g = 7), (SELECT x.g FROM d x WHERE x.id = d.id);
INSERT INTO d VALUES (2, 0, 8) ON CONFLICT (id) DO UPDATE SET id = d.id + 7000 RETURNING id, (SELECT count(*) FROM d x WHERE x.id <= d.id);
INSERT INTO d VALUES (3, 0, 8), (4, 0, 8) ON CONFLICT DO NOTHING RETURNING id, (SELECT count(*) FROM d);
DELETE FROM d WHERE id > 7000;

-- What foreign keys' actions delete.
BEGIN;
DELETE FROM parent WHERE id = 1 RETURNING id, (SELECT count(*) FROM child), (SELECT count(*) FROM grandchild);
DELETE FROM parent WHERE id < 4 RETURNING id, (SELECT v FROM child WHERE child.id = parent.id), (SELECT v FROM grandchild WHERE grandchild.id = parent.id);
SELECT (SELECT count(*) FROM child), (SELECT count(*) FROM grandchild);
ROLLBACK;

-- What triggers write.
BEGIN;
INSERT INTO fires VALUES (1, 1), (2, 2), (3, 3) RETURNING id, (SELECT count(*) FROM fires), (SELECT count(*) FROM noted), (SELECT count(*) FROM fires x WHERE x.a <= fires.a), (SELECT sum(n) FROM noted WHERE noted.id = fires.id);
UPDATE fires SET a = a + 1 RETURNING id, (SELECT count(*) FROM noted), (SELECT sum(n) FROM noted WHERE noted.id = fires.id), (SELECT sum(a) FROM fires);
INSERT INTO fires VALUES (1, 1), (4, 4) ON CONFLICT (id) DO UPDATE SET a = (SELECT sum(x.a) FROM fires x WHERE x.id <> fires.id) RETURNING id, a, (SELECT count(*) FROM noted), (SELECT sum(a) FROM fires);
MERGE INTO fires USING (VALUES (1), (2), (5)) s (i) ON fires.id = s.i
	WHEN MATCHED THEN UPDATE SET a = (SELECT sum(x.a) FROM fires x WHERE x.id >= fires.id)
	WHEN NOT MATCHED THEN INSERT VALUES (i, (SELECT count(*) FROM fires x WHERE x.id < i));
SELECT * FROM fires ORDER BY id;
SELECT * FROM noted ORDER BY id, n;
ROLLBACK;

-- What can't be read for all rows beforehand is refused, if it is asked for at all.
UPDATE d SET a = 1 WHERE id = -1 RETURNING (SELECT count(*) FROM d x TABLESAMPLE SYSTEM (100) WHERE x.g = d.g);
UPDATE d SET a = 1 WHERE id = 3 RETURNING (SELECT n FROM o TABLESAMPLE SYSTEM (100) WHERE o.id = d.id);
UPDATE d SET a = 1 WHERE id = 3 RETURNING (SELECT count(*) FROM d TABLESAMPLE SYSTEM (100) WHERE id = 3);
-- cluster fails: 0A000
UPDATE d SET a = 1 WHERE id = 3 RETURNING (SELECT count(*) FROM d x TABLESAMPLE SYSTEM (100) WHERE x.id = d.id);

-- Check options of views.
BEGIN;
INSERT INTO few VALUES (8001, 1), (8002, 1), (8003, 1);
INSERT INTO few SELECT i, 1 FROM generate_series(8004, 8010) i RETURNING id, (SELECT count(*) FROM few);
INSERT INTO few VALUES (8011, 1);
ROLLBACK;
BEGIN;
INSERT INTO rare SELECT i, 1, 9 FROM generate_series(8004, 8010) i;
INSERT INTO rare VALUES (8011, 1, 9);
ROLLBACK;

-- Rows of one parameter or another.
-- params: 9001
-- params: 9002
INSERT INTO d VALUES ($1, 1, 3) RETURNING id, (SELECT count(*) FROM d x WHERE x.g = d.g AND x.id > 9000), (SELECT count(*) FROM d WHERE id = $1);
DELETE FROM d WHERE id > 9000 RETURNING id, (SELECT count(*) FROM d WHERE id > 9000);
SELECT * FROM d ORDER BY id;
