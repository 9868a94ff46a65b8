-- Which rights an UPDATE, MERGE or ON CONFLICT needs that assigns the distribution column, so that rows go to other shards.
--
-- distribute: w(id), p(id), pol(id), trig(id)

-- on all nodes
DROP ROLE IF EXISTS o_move_cols, o_move_blind, o_move_all, o_move_owner;
-- on all nodes
CREATE ROLE o_move_cols;
-- on all nodes
CREATE ROLE o_move_blind;
-- on all nodes
CREATE ROLE o_move_all;
-- on all nodes
CREATE ROLE o_move_owner;
-- on all nodes
GRANT ALL ON SCHEMA o_moved_row_rights TO o_move_cols, o_move_blind, o_move_all, o_move_owner;

CREATE TABLE w (id int PRIMARY KEY, a int, secret text DEFAULT 'none');
CREATE TABLE p (id int, a int, secret text) PARTITION BY RANGE (a);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM (10) TO (200);
CREATE TABLE pol (id int, a int, secret text);
CREATE TABLE trig (id int, a int, secret text);
INSERT INTO w SELECT g, g, 's' || g FROM generate_series(1, 30) g;
INSERT INTO p SELECT g, g, 's' || g FROM generate_series(1, 30) g;
INSERT INTO pol SELECT g, g, 's' || g FROM generate_series(1, 30) g;
INSERT INTO trig SELECT g, g, 's' || g FROM generate_series(1, 30) g;
GRANT SELECT (id, a), UPDATE (id, a) ON w, p, pol, trig TO o_move_cols;
GRANT INSERT (id, a) ON w TO o_move_cols;
GRANT UPDATE (id) ON w, p, pol, trig TO o_move_blind;
GRANT SELECT (id), UPDATE (id), DELETE ON pol TO o_move_all;
ALTER TABLE pol ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON pol FOR SELECT USING (id < 1000);
CREATE POLICY moved ON pol FOR UPDATE USING (a < 20) WITH CHECK (id <> 999);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.secret := NEW.secret || '+'; RETURN NEW; END $$;
CREATE TRIGGER note BEFORE UPDATE ON trig FOR EACH ROW EXECUTE FUNCTION note();
-- on all nodes
CREATE VIEW v AS SELECT id, a FROM w WHERE a > 20;
-- on all nodes
ALTER VIEW v OWNER TO o_move_cols;
-- on all nodes
GRANT SELECT, UPDATE ON v TO o_move_all;

-- setup ends

SET ROLE o_move_cols;
UPDATE w SET id = id + 100 WHERE id = 3;
UPDATE w SET id = id + 1000, a = 4 WHERE a BETWEEN 10 AND 15;
UPDATE w SET id = 200 WHERE id = 4 RETURNING id, a;
UPDATE w SET id = 201 WHERE id = 5 RETURNING *;
UPDATE w SET id = 202 WHERE secret = 's5';
UPDATE w SET id = 203, secret = 'x' WHERE id = 5;
UPDATE w SET id = a + 300 FROM (VALUES (6), (7)) x (k) WHERE w.id = k;
MERGE INTO w USING (VALUES (8, 400), (9, 401)) x (k, n) ON w.id = k WHEN MATCHED THEN UPDATE SET id = n;
MERGE INTO w USING (VALUES (16, 400)) x (k, n) ON w.id = k WHEN MATCHED THEN DELETE;
INSERT INTO w (id, a) VALUES (17, 1) ON CONFLICT (id) DO UPDATE SET id = 500;
INSERT INTO w (id, a) VALUES (18, 1) ON CONFLICT (id) DO UPDATE SET id = 501, secret = 'x';
DELETE FROM w WHERE id = 500;
UPDATE p SET id = id + 100 WHERE id < 5;
UPDATE p SET id = id + 100, a = 100 + a WHERE id BETWEEN 5 AND 7;
UPDATE p_1 SET id = 300 WHERE a = 8;
UPDATE trig SET id = id + 100 WHERE id < 5;
UPDATE pol SET id = id + 100 WHERE id < 5;
UPDATE pol SET id = 999 WHERE id = 6;
UPDATE pol SET id = 2000 WHERE id = 6;
UPDATE pol SET id = id + 100 WHERE a > 18;
SET ROLE o_move_blind;
UPDATE w SET id = 600 WHERE id = 19;
UPDATE p SET id = 601;
UPDATE trig SET id = 602;
UPDATE pol SET id = 603;
INSERT INTO w (id) VALUES (7000);
SET ROLE o_move_all;
UPDATE v SET id = 700 WHERE id = 21;
UPDATE v SET id = 701, a = 1 WHERE id = 22 RETURNING *;
UPDATE pol SET id = 604 WHERE id < 700;
DELETE FROM pol;
RESET ROLE;
SELECT * FROM w ORDER BY id;
SELECT * FROM p ORDER BY id, a;
SELECT * FROM trig ORDER BY id, a;
SELECT * FROM pol ORDER BY id, a;
SELECT count(*) FROM w WHERE id IN (103, 200, 306, 307, 400, 401, 500, 700, 701);
