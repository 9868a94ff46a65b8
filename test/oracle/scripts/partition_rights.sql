-- Rights on a partitioned table suffice for all that is done by its name; rights on a partition are asked for by the partition's own name.
--
-- distribute: rp(c), tr(c), other(c), pol(c), ref reference, refing(k)

-- on all nodes
DROP ROLE IF EXISTS o_part_all, o_part_cols, o_part_leaf, o_part_delete, o_part_owner, o_part_view;
-- on all nodes
CREATE ROLE o_part_all;
-- on all nodes
CREATE ROLE o_part_cols;
-- on all nodes
CREATE ROLE o_part_leaf;
-- on all nodes
CREATE ROLE o_part_delete;
-- on all nodes
CREATE ROLE o_part_owner;
-- on all nodes
CREATE ROLE o_part_view;
-- on all nodes
GRANT ALL ON SCHEMA o_partition_rights TO o_part_all, o_part_cols, o_part_leaf, o_part_delete, o_part_owner, o_part_view;

CREATE TABLE rp (a text, b int, c int, d int, PRIMARY KEY (a, b, c)) PARTITION BY RANGE (a);
CREATE TABLE rp_a PARTITION OF rp FOR VALUES FROM ('a') TO ('b');
CREATE TABLE rp_b PARTITION OF rp FOR VALUES FROM ('b') TO ('d') PARTITION BY LIST (b);
CREATE TABLE rp_b1 PARTITION OF rp_b FOR VALUES IN (1, 2, 3);
CREATE TABLE rp_bd PARTITION OF rp_b DEFAULT;
CREATE TABLE tr (a text, b int, c int) PARTITION BY LIST (a);
CREATE TABLE tr_a PARTITION OF tr FOR VALUES IN ('a');
CREATE TABLE tr_b PARTITION OF tr FOR VALUES IN ('b');
CREATE TABLE other (b int, c int PRIMARY KEY);
CREATE TABLE pol (a text, b int, c int) PARTITION BY LIST (a);
CREATE TABLE pol_a PARTITION OF pol FOR VALUES IN ('a');
CREATE TABLE pol_b PARTITION OF pol FOR VALUES IN ('b');
CREATE TABLE ref (id int PRIMARY KEY, v int);
CREATE TABLE refing (k int, r int REFERENCES ref);
INSERT INTO rp SELECT chr(97 + i % 3), i % 5, i, i FROM generate_series(1, 30) i;
INSERT INTO tr SELECT chr(97 + i % 2), i, i FROM generate_series(1, 10) i;
INSERT INTO other SELECT i % 7, i FROM generate_series(1, 10) i;
INSERT INTO pol SELECT chr(97 + i % 2), i % 4, i FROM generate_series(1, 20) i;
INSERT INTO ref SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO refing SELECT i, 1 + i % 5 FROM generate_series(1, 20) i;
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.b = NEW.b + 100; RETURN NEW; END $$;
CREATE TRIGGER up BEFORE INSERT OR UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION count_up();
CREATE VIEW rp_view AS SELECT * FROM rp WHERE d < 25;
ALTER VIEW rp_view OWNER TO o_part_all;
GRANT ALL ON rp, tr, other, pol TO o_part_all;
GRANT SELECT (a, c), UPDATE (d) ON rp TO o_part_cols;
GRANT SELECT, UPDATE, INSERT, DELETE ON rp_b, tr_a TO o_part_leaf;
GRANT SELECT ON other TO o_part_leaf, o_part_cols;
GRANT DELETE, SELECT (c) ON rp TO o_part_delete;
GRANT ALL ON rp_view TO o_part_view;
ALTER TABLE pol ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON pol USING (b % 2 = 0);
ALTER TABLE ref OWNER TO o_part_owner;
ALTER TABLE refing OWNER TO o_part_owner;

-- setup ends
SET ROLE o_part_all;
SELECT * FROM rp ORDER BY c FOR UPDATE;
SELECT * FROM rp WHERE c = 7 FOR NO KEY UPDATE;
SELECT * FROM rp JOIN other USING (c) ORDER BY c FOR SHARE OF rp;
SELECT c FROM rp WHERE a = 'b' ORDER BY c LIMIT 3 FOR UPDATE SKIP LOCKED;
UPDATE rp SET c = c + 100 WHERE b = 2 AND c < 20;
UPDATE rp SET d = (SELECT max(b) FROM other) WHERE c < 6;
UPDATE rp SET a = chr(98 + d % 2) WHERE d IN (8, 9) RETURNING a, d;
UPDATE rp SET d = other.b FROM other WHERE other.b = rp.b RETURNING rp.c < 0;
DELETE FROM rp WHERE d = (SELECT max(b) FROM other) AND c % 2 = 0;
INSERT INTO rp SELECT 'a', b, c + 1000, b FROM other;
INSERT INTO rp VALUES ('a', 1, 1, 1), ('b', 4, 4, 4) ON CONFLICT (a, b, c) DO UPDATE SET d = excluded.d + (SELECT max(b) FROM other);
MERGE INTO rp USING other ON rp.c = other.c WHEN MATCHED THEN UPDATE SET d = other.b WHEN NOT MATCHED THEN INSERT VALUES ('c', other.b, other.c, 0);
UPDATE tr SET c = c WHERE b = 1;
UPDATE tr SET b = b + 1;
UPDATE tr SET b = (SELECT max(b) FROM other) WHERE c < 4;
INSERT INTO tr VALUES ('a', 1, 50), ('b', 2, 51);
DELETE FROM tr WHERE b > 100 AND c < 3;
SELECT * FROM rp ORDER BY a, b, c;
SELECT * FROM tr ORDER BY c;
SELECT tableoid::regclass::text, count(*) FROM rp GROUP BY 1 ORDER BY 1;
SELECT * FROM rp_a WHERE c = 3;
SELECT * FROM rp_b ORDER BY 1, 2, 3 FOR UPDATE;
UPDATE rp_b SET d = (SELECT max(b) FROM other);
DELETE FROM rp_bd WHERE c = 3;
INSERT INTO tr_a VALUES ('a', 1, 90);
SELECT * FROM pol ORDER BY c FOR UPDATE;
UPDATE pol SET b = (SELECT max(b) FROM other) WHERE c < 6;
UPDATE pol SET c = c + 50 WHERE a = 'a';
DELETE FROM pol WHERE b = (SELECT max(b) FROM other);
INSERT INTO pol SELECT 'a', b + 1, c FROM other;
SELECT * FROM pol ORDER BY c, b;
UPDATE rp_view SET d = d + (SELECT min(b) FROM other);
TRUNCATE tr;
RESET ROLE;

-- Rights to columns.
SET ROLE o_part_cols;
SELECT a, c FROM rp WHERE c < 10 ORDER BY a, c;
SELECT d FROM rp;
UPDATE rp SET d = 5 WHERE c < 8;
UPDATE rp SET d = (SELECT max(b) FROM other) WHERE a = 'a';
UPDATE rp SET d = d + 1;
UPDATE rp SET b = (SELECT max(b) FROM other);
SELECT a, c FROM rp ORDER BY a, c FOR UPDATE;
SELECT * FROM rp FOR UPDATE;
DELETE FROM rp WHERE c = 5;
RESET ROLE;

-- Rights to partitions.
SET ROLE o_part_leaf;
SELECT * FROM rp;
SELECT count(*) FROM rp_b;
SELECT * FROM rp_b ORDER BY a, b, c FOR UPDATE;
UPDATE rp_b SET d = (SELECT max(b) FROM other) WHERE c < 20;
UPDATE rp_b1 SET d = (SELECT max(b) FROM other) WHERE c < 20;
UPDATE rp SET d = 1;
SELECT * FROM rp_bd;
UPDATE tr_a SET b = b + 1;
INSERT INTO tr_a VALUES ('a', 1, 60), ('a', 2, 61);
UPDATE tr SET b = b + 1;
RESET ROLE;

SET ROLE o_part_delete;
DELETE FROM rp WHERE c = 4;
DELETE FROM rp WHERE c IN (SELECT c + 1 FROM rp WHERE c BETWEEN 10 AND 12) RETURNING c;
DELETE FROM rp WHERE d = 4;
UPDATE rp SET d = 4;
RESET ROLE;

SET ROLE o_part_view;
SELECT * FROM rp_view ORDER BY c, a, b FOR UPDATE;
UPDATE rp_view SET d = d + 1;
UPDATE rp_view SET d = (SELECT max(d) FROM rp_view) WHERE c = 7;
DELETE FROM rp_view WHERE d = (SELECT max(d) FROM rp_view);
SELECT * FROM rp;
RESET ROLE;
SELECT * FROM rp ORDER BY a, b, c;
SELECT * FROM tr ORDER BY c;

-- The server makes foreign keys again for new types.
SET ROLE o_part_owner;
ALTER TABLE ref ALTER COLUMN id TYPE bigint;
-- statement needs: colocation
ALTER TABLE refing ALTER COLUMN r TYPE bigint;
ALTER TABLE ref ALTER COLUMN id TYPE int USING id + 1;
ALTER TABLE ref ALTER COLUMN id TYPE int, ALTER COLUMN v TYPE numeric USING v / 2.0;
INSERT INTO refing VALUES (100, 99);
DELETE FROM ref WHERE id = 3;
INSERT INTO refing VALUES (100, 3);
RESET ROLE;
ALTER TABLE ref ALTER COLUMN id TYPE bigint;
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'refing'::regclass;
DELETE FROM ref WHERE id = 3;

DROP OWNED BY o_part_all, o_part_cols, o_part_leaf, o_part_delete, o_part_owner, o_part_view CASCADE;
-- on all nodes
DROP ROLE IF EXISTS o_part_all, o_part_cols, o_part_leaf, o_part_delete, o_part_owner, o_part_view;
