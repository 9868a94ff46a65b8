-- Triggers of all kinds, on all kinds of tables; those of ON CONFLICT are in triggers_upsert.sql.
-- What fires, in which order and with which rows is in a log.
--
-- distribute: t(id), b(id) with t, c(id) with t, w(id) with t, tr(id) with t, one single, r reference, log single, tru(id) with t, nothing single

CREATE TABLE log (seq bigserial, what text);
CREATE TABLE t (id int PRIMARY KEY, v text, n int DEFAULT 0, g text GENERATED ALWAYS AS ('g' || v) STORED);
CREATE TABLE b (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE c (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE w (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE tr (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE one (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE r (id int PRIMARY KEY, v text, n int DEFAULT 0);
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_NAME, TG_WHEN, TG_LEVEL, TG_OP,
		'old=' || OLD::text, 'new=' || NEW::text, 'depth=' || pg_trigger_depth(), TG_ARGV));
	RETURN coalesce(NEW, OLD);
END $$;
-- on all nodes
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = 'skip' THEN
		RETURN NULL;
	ELSIF NEW.v = 'fail' THEN
		RAISE EXCEPTION 'not this one' USING ERRCODE = 'P0042';
	ELSIF NEW.v = 'move' THEN
		NEW.id := NEW.id + 1000;
	END IF;
	NEW.v := NEW.v || '!';
	NEW.n := NEW.n + coalesce(OLD.n, 0);
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.v LIKE 'keep%' THEN
		RETURN NULL;
	END IF;
	RETURN OLD;
END $$;
-- on all nodes
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.n := (SELECT count(*) FROM o_triggers.c);
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION changed_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP IN ('UPDATE', 'DELETE') THEN
		INSERT INTO o_triggers.log (what) SELECT TG_OP || ' old ' || x::text FROM old_rows x ORDER BY id;
	END IF;
	IF TG_OP IN ('UPDATE', 'INSERT') THEN
		INSERT INTO o_triggers.log (what) SELECT TG_OP || ' new ' || x::text FROM new_rows x ORDER BY id;
	END IF;
	RETURN NULL;
END $$;
-- on all nodes
CREATE FUNCTION cascade_to_b() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		DELETE FROM o_triggers.b WHERE id = OLD.id + 1;
	ELSE
		INSERT INTO o_triggers.b (id, v) VALUES (NEW.id + 1, 'of ' || NEW.id);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note('x', 'y z');
CREATE TRIGGER b_after AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER s_before BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON b FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER keep BEFORE DELETE ON b FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON b FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER count_rows BEFORE INSERT OR UPDATE ON c FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER of_v AFTER UPDATE OF v ON w FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER when_new AFTER INSERT ON w FOR EACH ROW WHEN (NEW.n > 5) EXECUTE FUNCTION note();
CREATE TRIGGER when_changed BEFORE UPDATE ON w FOR EACH ROW WHEN (OLD.n IS DISTINCT FROM NEW.n) EXECUTE FUNCTION note();
CREATE TRIGGER disabled AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION note();
ALTER TABLE w DISABLE TRIGGER disabled;
CREATE CONSTRAINT TRIGGER con AFTER DELETE ON w FOR EACH ROW WHEN (OLD.n > 5) EXECUTE FUNCTION note();
CREATE TRIGGER ins AFTER INSERT ON tr REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER upd AFTER UPDATE ON tr REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER del AFTER DELETE ON tr REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER cascade_to_b AFTER INSERT OR DELETE ON one FOR EACH ROW EXECUTE FUNCTION cascade_to_b();
CREATE TRIGGER a_note BEFORE INSERT OR UPDATE OR DELETE ON r FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON r FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER z_note AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON r FOR EACH STATEMENT EXECUTE FUNCTION note();

CREATE TABLE tru (id int PRIMARY KEY);
CREATE TABLE nothing ();
CREATE TRIGGER noted BEFORE INSERT ON nothing FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER origin BEFORE TRUNCATE ON tru FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER always BEFORE TRUNCATE ON tru FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER replica AFTER TRUNCATE ON tru FOR EACH STATEMENT EXECUTE FUNCTION note();
ALTER TABLE tru ENABLE ALWAYS TRIGGER always;
ALTER TABLE tru ENABLE REPLICA TRIGGER replica;

-- setup ends
INSERT INTO t (id, v) VALUES (1, 'one'), (2, 'two'), (3, 'three') RETURNING *;
INSERT INTO t (id, v) SELECT g, 'v' || g FROM generate_series(4, 7) g;
INSERT INTO t (id, v) SELECT 1, 'x' WHERE false;
INSERT INTO t (id, v) VALUES (8, 'eight'), (1, 'duplicate');
UPDATE t SET v = 'uno' WHERE id = 1 RETURNING *;
UPDATE t SET n = n + 1 WHERE id = 2;
UPDATE t SET id = id + 100 WHERE id = 4;
UPDATE t SET v = 'x' WHERE id = 99;
DELETE FROM t WHERE id = 104 RETURNING id;
BEGIN;
INSERT INTO t (id, v) VALUES (30, 'gone');
ROLLBACK;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

-- which of several rows an UPDATE or DELETE comes to first is open, and so is the order of writes in one statement
WITH i AS (INSERT INTO t (id, v) VALUES (20, 'cte') RETURNING id) DELETE FROM t USING i WHERE t.id = i.id - 13 RETURNING t.id;
UPDATE t SET n = n + 1 WHERE id IN (2, 3);
DELETE FROM t WHERE id IN (5, 3) RETURNING id;
MERGE INTO t USING (VALUES (1, 'eins'), (21, 'neu'), (2, 'del')) AS s (id, v) ON t.id = s.id
	WHEN MATCHED AND s.v = 'del' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
	WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);
TRUNCATE t;
SELECT what FROM log;
DELETE FROM log;

INSERT INTO b (id, v, n) VALUES (1, 'a', 1), (2, 'skip', 2), (3, 'move', 3), (4, 'keep', 4) RETURNING *;
INSERT INTO b (id, v, n) VALUES (5, 'b', 1), (6, 'fail', 1);
UPDATE b SET v = v || 'u', n = 10 WHERE id < 3 RETURNING *;
UPDATE b SET v = 'move' WHERE id = 1 RETURNING *;
UPDATE b SET v = 'skip';
UPDATE b SET v = 'fail';
DELETE FROM b RETURNING *;
SELECT * FROM b ORDER BY id;
SELECT what FROM log;
DELETE FROM log;

INSERT INTO c (id) SELECT g FROM generate_series(1, 5) g;
INSERT INTO c (id) VALUES (6), (7);
SELECT id, n FROM c ORDER BY id;

-- params: 1, 'p'
-- params: 2, 'q'
INSERT INTO w (id, v) VALUES ($1::int, $2);
INSERT INTO w VALUES (3, 'x', 6), (4, 'y', 5), (5, 'z', 7);
UPDATE w SET v = v || '+' WHERE id <= 3;
UPDATE w SET n = 6;
UPDATE w SET n = n + id % 2, v = 'new';
DELETE FROM w;
SELECT what FROM log;
DELETE FROM log;

INSERT INTO tr SELECT g, 'v' || g, g FROM generate_series(1, 6) g;
UPDATE tr SET n = n * 2 WHERE id > 4;
UPDATE tr SET id = id + 10 WHERE id < 3;
DELETE FROM tr WHERE id > 5;
DELETE FROM tr WHERE false;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO one (id) SELECT g FROM generate_series(51, 54) g;
SELECT * FROM b ORDER BY id;
DELETE FROM one WHERE id > 52;
SELECT * FROM b ORDER BY id;
INSERT INTO one (id) VALUES (51);
INSERT INTO one (id) VALUES (60), (51);
INSERT INTO one (id) VALUES (61), (62);
SELECT what FROM log;
DELETE FROM log;

INSERT INTO r (id, v, n) VALUES (1, 'a', 1), (2, 'b', 2), (3, 'skip', 3);
UPDATE r SET n = 5 WHERE id = 1 RETURNING *;
UPDATE r SET v = 'move' WHERE id = 2;
UPDATE r SET v = 'fail' WHERE id = 1;
DELETE FROM r WHERE id = 1;
SELECT * FROM r ORDER BY id;
TRUNCATE r;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO nothing DEFAULT VALUES;
INSERT INTO nothing SELECT FROM generate_series(1, 2) RETURNING nothing;
SELECT count(*) FROM nothing;
INSERT INTO tru VALUES (1), (2);
TRUNCATE tru;
SELECT count(*) FROM tru;
INSERT INTO tru VALUES (1), (2);
SET session_replication_role = replica;
TRUNCATE tru, t;
RESET session_replication_role;
SELECT count(*) FROM tru;
BEGIN;
TRUNCATE tru;
ROLLBACK;
TRUNCATE tru CASCADE;
SELECT what FROM log ORDER BY seq;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'tru'::regclass ORDER BY 1;
