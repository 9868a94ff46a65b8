-- Constraint violations and other errors that happen on shards.
--
-- distribute: parent(tenant), child(tenant) with parent, loose(tenant) with parent, uniq(k) with none, chk(id) with none
-- distribute: lookup reference, uses(id) with none, refchild reference, solo single, loc local, excl(room) with none
-- distribute: numbers reference, d_parent(id) with none, d_child(id) with d_parent, d_parts(id) with none

CREATE TABLE lookup (code text PRIMARY KEY, label text NOT NULL);
CREATE TABLE refchild (id int PRIMARY KEY, code text REFERENCES lookup ON DELETE CASCADE);
CREATE TABLE parent (tenant int NOT NULL, id int NOT NULL, name text NOT NULL, PRIMARY KEY (tenant, id));
CREATE TABLE child (tenant int NOT NULL, id int NOT NULL, parent_id int, PRIMARY KEY (tenant, id),
	FOREIGN KEY (tenant, parent_id) REFERENCES parent (tenant, id) ON DELETE CASCADE);
CREATE TABLE loose (tenant int NOT NULL, id int NOT NULL, parent_id int, PRIMARY KEY (tenant, id),
	FOREIGN KEY (tenant, parent_id) REFERENCES parent (tenant, id) ON DELETE SET NULL (parent_id));
CREATE TABLE uses (id int PRIMARY KEY, code text REFERENCES lookup (code), v int);
CREATE TABLE uniq (k int NOT NULL, a int, b text, UNIQUE (k, a), CONSTRAINT named UNIQUE NULLS NOT DISTINCT (k, b));
CREATE TABLE chk (id int PRIMARY KEY, v int CHECK (v > 0), w int, CONSTRAINT ordered CHECK (v < w), t text NOT NULL DEFAULT 'x');
CREATE TABLE excl (room int NOT NULL, slot int, EXCLUDE (room WITH =, slot WITH =) WHERE (slot > 0));
CREATE TABLE solo (id int PRIMARY KEY, v int UNIQUE);
CREATE TABLE loc (id int PRIMARY KEY, v int CHECK (v <> 13));
CREATE TABLE numbers (n int PRIMARY KEY);
CREATE TABLE d_parent (id int, n int, PRIMARY KEY (id, n));
CREATE TABLE d_child (id int, n int DEFAULT 7, m int DEFAULT 1 REFERENCES numbers ON DELETE SET DEFAULT ON UPDATE SET DEFAULT,
	u int REFERENCES numbers ON DELETE SET DEFAULT, FOREIGN KEY (id, n) REFERENCES d_parent ON DELETE SET DEFAULT (n));
CREATE TABLE d_parts (id int, n int DEFAULT 1 REFERENCES numbers ON DELETE SET DEFAULT, at int) PARTITION BY RANGE (at);
CREATE TABLE d_part PARTITION OF d_parts FOR VALUES FROM (1) TO (10);
-- distribute now
INSERT INTO numbers SELECT generate_series(1, 20);
INSERT INTO d_parent SELECT i, n FROM generate_series(1, 10) i, LATERAL (VALUES (7), (i + 10)) v (n);
INSERT INTO d_child SELECT i, i + 10, i, i FROM generate_series(1, 10) i;
INSERT INTO d_parts SELECT i, i, i FROM generate_series(1, 9) i;
INSERT INTO lookup VALUES ('a', 'A'), ('b', 'B'), ('c', 'C');
INSERT INTO parent SELECT t, i, 'p' || i FROM generate_series(1, 10) t, generate_series(1, 3) i;
INSERT INTO child SELECT t, i, 1 + i % 3 FROM generate_series(1, 10) t, generate_series(1, 6) i;
INSERT INTO loose SELECT t, i, 1 + i % 3 FROM generate_series(7, 10) t, generate_series(1, 6) i;
INSERT INTO uses SELECT i, (ARRAY['a','b',NULL])[1 + i % 3], i FROM generate_series(1, 12) i;
INSERT INTO refchild VALUES (1, 'a'), (2, 'b'), (3, NULL);
INSERT INTO chk SELECT i, i, i + 10 FROM generate_series(1, 10) i;

-- setup ends
INSERT INTO parent VALUES (1, 1, 'dup');
INSERT INTO parent VALUES (1, 9, NULL);
INSERT INTO parent (tenant, name) VALUES (1, 'no id');
INSERT INTO parent VALUES (1, 20, 'a'), (2, 1, 'dup'), (3, 20, 'c');
SELECT count(*) FROM parent;
UPDATE parent SET id = 1 WHERE tenant = 4;
UPDATE parent SET name = NULL WHERE tenant < 3;
INSERT INTO child VALUES (1, 100, 99);
INSERT INTO child VALUES (1, 100, NULL) RETURNING *;
INSERT INTO child VALUES (1, 101, 1), (2, 101, 55);
UPDATE child SET parent_id = 77 WHERE tenant = 3;
UPDATE parent SET id = 30 WHERE tenant = 5 AND id = 1;
-- a row that moves to another shard is not one that its children go with
UPDATE parent SET tenant = tenant + 100 WHERE tenant > 2;
SELECT count(*) FROM child WHERE tenant > 2;
UPDATE parent SET tenant = tenant + 100 WHERE tenant > 2 AND NOT EXISTS (SELECT FROM child WHERE child.tenant = parent.tenant AND parent_id = parent.id) RETURNING id;
SELECT count(*), sum(tenant) FROM parent;
MERGE INTO parent p USING generate_series(1, 10) g ON p.tenant = g WHEN MATCHED AND p.id > 5 THEN DELETE WHEN MATCHED THEN UPDATE SET tenant = p.tenant + 100;
SELECT count(*) FROM child;
DELETE FROM parent WHERE tenant = 6 AND id = 2 RETURNING *;
SELECT count(*) FROM child WHERE tenant = 6;
DELETE FROM parent WHERE id = 3;
SELECT tenant, count(*), count(parent_id), sum(id) FILTER (WHERE parent_id IS NULL) FROM loose GROUP BY tenant ORDER BY tenant;
SELECT tenant, count(*) FROM child GROUP BY tenant ORDER BY tenant;
INSERT INTO uses VALUES (100, 'zz', 1);
INSERT INTO uses VALUES (100, 'c', 1);
UPDATE uses SET code = 'nope' WHERE id = 1;
UPDATE uses SET code = 'nope';
DELETE FROM lookup WHERE code = 'a';
DELETE FROM lookup WHERE code = 'c';
UPDATE uses SET code = 'b' WHERE code = 'c';
DELETE FROM lookup WHERE code = 'c' RETURNING *;
UPDATE lookup SET code = 'bb' WHERE code = 'b';
UPDATE lookup SET label = NULL;
INSERT INTO lookup VALUES ('a', 'again');
INSERT INTO refchild VALUES (4, 'zz');
UPDATE uses SET code = NULL;
DELETE FROM lookup WHERE code = 'b';
SELECT * FROM refchild ORDER BY id;
INSERT INTO uniq VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, 'x'), (3, NULL, NULL), (3, NULL, 'z');
INSERT INTO uniq VALUES (1, 1, 'other');
INSERT INTO uniq VALUES (1, 3, 'x');
INSERT INTO uniq VALUES (3, 5, NULL);
INSERT INTO uniq VALUES (4, 1, 'x'), (4, 1, 'y');
UPDATE uniq SET a = 1 WHERE k = 1;
UPDATE uniq SET b = 'same';
SELECT * FROM uniq ORDER BY 1, 2, 3;
INSERT INTO chk VALUES (11, 0, 1);
INSERT INTO chk VALUES (11, 5, 5);
INSERT INTO chk VALUES (11, NULL, NULL, NULL);
INSERT INTO chk VALUES (11, NULL, NULL);
UPDATE chk SET v = v - 5;
UPDATE chk SET w = v WHERE id = 3;
UPDATE chk SET v = v + 100, w = w + 100;
SELECT count(*), sum(v) FROM chk;
INSERT INTO excl VALUES (1, 1), (1, 2), (2, 1), (2, 0), (2, 0);
INSERT INTO excl VALUES (1, 2);
INSERT INTO excl VALUES (1, 2) ON CONFLICT DO NOTHING;
SELECT count(*) FROM excl;
INSERT INTO solo VALUES (1, 1), (2, 2);
INSERT INTO solo VALUES (1, 3);
INSERT INTO solo VALUES (3, 1);
UPDATE solo SET v = 2;
INSERT INTO loc VALUES (1, 13);
INSERT INTO loc SELECT id, v FROM chk WHERE id <= 3;
INSERT INTO loc SELECT id, 13 FROM chk WHERE id > 3;
INSERT INTO loc SELECT id, v FROM chk WHERE id = 3;

-- Errors of evaluation.
SELECT 1 / (v - 105) FROM chk;
SELECT sqrt(-v) FROM chk WHERE v IS NOT NULL;
SELECT ln(id - 1) FROM chk;
SELECT id::int2 * 32767::int2 FROM chk;
SELECT (id * 1000000000)::int FROM chk;
SELECT t::int FROM chk WHERE id = 2;
SELECT substring(t FROM 1 FOR -1) FROM chk WHERE id = 2;
SELECT ('{' || t)::jsonb FROM chk WHERE id = 2;
SELECT (t || '-01')::date FROM chk WHERE id < 4;
SELECT (ARRAY[1, 2])[id]::text::date FROM chk WHERE id = 1;
SELECT regexp_replace(t, '(', '') FROM chk;
SELECT * FROM chk WHERE t ~ '[';
SELECT repeat('x', 2000000000) || t || repeat('y', 2000000000) FROM chk WHERE id = 1;
SELECT chr(-id) FROM chk WHERE id = 5;
SELECT to_date(t, 'YYYY') FROM chk WHERE id = 1;
SELECT generate_series(1, 3, 0) FROM chk WHERE id = 1;
SELECT factorial(-id) FROM chk WHERE id = 4;
SELECT set_config('nothing_at_all', 'x', true) FROM chk WHERE id = 1;
SELECT current_setting('no.such') FROM chk WHERE id = 1;
SELECT nextval('no_such_seq') FROM chk;
SELECT pg_typeof(1 / (id - id)) FROM chk;
SELECT array_fill(id, ARRAY[-1]) FROM chk WHERE id = 3;
SELECT v FROM chk WHERE id = 1 AND (SELECT id FROM uses) = 1;
UPDATE chk SET w = w + 1 / (id - 7);
DELETE FROM chk WHERE 1 / (id - 7) = 1;
INSERT INTO chk SELECT id + 50, 1, 100 + 20 / (id - 7) FROM chk;
SELECT count(*), sum(w) FROM chk;

-- Actions that set defaults, which are the logical table's.
ALTER TABLE d_part ALTER n SET DEFAULT 2;
DELETE FROM numbers WHERE n IN (3, 4);
SELECT * FROM d_child ORDER BY id;
SELECT * FROM d_parts ORDER BY id;
UPDATE numbers SET n = 105 WHERE n = 5;
UPDATE numbers SET n = 105 WHERE n = 18;
DELETE FROM d_parent WHERE n = 13;
SELECT * FROM d_child ORDER BY id;
ALTER TABLE d_child ALTER m SET DEFAULT 2, ALTER n SET DEFAULT 99, ALTER u SET DEFAULT 9;
DELETE FROM numbers WHERE n = 6;
DELETE FROM d_parent WHERE n = 17;
SELECT * FROM d_child ORDER BY id;
ALTER TABLE d_child ALTER m DROP DEFAULT, ALTER n SET DEFAULT 7, ALTER u SET DEFAULT 2 + 8;
DELETE FROM numbers WHERE n = 7;
DELETE FROM d_parent WHERE n = 18;
SELECT * FROM d_child ORDER BY id;

-- Keys that partitions have from their parents: by name on all at once, on one, and after they are detached.
-- distribute: k_parts(id) with none
CREATE TABLE k_parts (id int, n int, PRIMARY KEY (id, n)) PARTITION BY LIST (n);
CREATE TABLE k_parts_1 PARTITION OF k_parts FOR VALUES IN (201);
ALTER TABLE k_parts ADD CONSTRAINT k_fk FOREIGN KEY (n) REFERENCES numbers DEFERRABLE;
CREATE TABLE k_parts_2 PARTITION OF k_parts FOR VALUES IN (202, 203) PARTITION BY LIST (n);
CREATE TABLE k_parts_3 PARTITION OF k_parts_2 FOR VALUES IN (202);
CREATE TABLE k_parts_4 (id int NOT NULL, n int NOT NULL, CONSTRAINT k_fk FOREIGN KEY (n) REFERENCES numbers DEFERRABLE);
ALTER TABLE k_parts_2 ATTACH PARTITION k_parts_4 FOR VALUES IN (203);
BEGIN;
SET CONSTRAINTS k_fk DEFERRED;
INSERT INTO k_parts VALUES (1, 201), (1, 202), (2, 202), (3, 203);
INSERT INTO numbers VALUES (201), (202), (203);
COMMIT;
BEGIN;
SET CONSTRAINTS k_fk DEFERRED;
DELETE FROM numbers WHERE n = 202;
-- both fail: 23503
COMMIT;
ROLLBACK;
ALTER TABLE k_parts_3 RENAME CONSTRAINT k_fk TO k_fk_3;
-- both fail: 42P16
ALTER TABLE k_parts_3 DROP CONSTRAINT k_fk_3;
ALTER TABLE k_parts DETACH PARTITION k_parts_1;
ALTER TABLE k_parts_1 ALTER CONSTRAINT k_fk INITIALLY DEFERRED;
ALTER TABLE k_parts_1 DROP CONSTRAINT k_fk;
INSERT INTO k_parts_1 VALUES (1, 301);
ALTER TABLE k_parts_2 DETACH PARTITION k_parts_3;
ALTER TABLE k_parts_3 DROP CONSTRAINT k_fk_3;
INSERT INTO k_parts_3 VALUES (1, 302);
INSERT INTO k_parts VALUES (1, 203), (5, 203), (6, 203);
-- both fail: 23503
DELETE FROM numbers WHERE n = 203;
ALTER TABLE k_parts_2 DETACH PARTITION k_parts_4;
ALTER TABLE k_parts_4 DROP CONSTRAINT k_fk;
DELETE FROM numbers WHERE n = 203;
SELECT * FROM k_parts_4 ORDER BY 1;
