-- Triggers beside foreign keys with actions: those that the actions don't fire.
--
-- distribute: parent(id), child(id) with parent, r reference, log single

CREATE TABLE log (seq serial, what text);
CREATE TABLE r (id int PRIMARY KEY, v text);
CREATE TABLE parent (id int, n int, PRIMARY KEY (id, n));
CREATE TABLE child (id int, n int, r int DEFAULT 1 REFERENCES r ON DELETE SET DEFAULT ON UPDATE CASCADE, v text, twice int GENERATED ALWAYS AS (r * 2) STORED, FOREIGN KEY (id, n) REFERENCES parent ON DELETE SET NULL (n));
INSERT INTO r SELECT i, 'r' || i FROM generate_series(1, 5) i;
INSERT INTO parent SELECT i, 1 FROM generate_series(1, 20) i;
INSERT INTO child SELECT i, 1, 1 + i % 5, 'c' || i FROM generate_series(1, 20) i;
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_keys.log (what) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_OP, 'old=' || OLD::text, 'new=' || NEW::text));
	RETURN coalesce(NEW, OLD);
END $$;

-- setup ends
CREATE TRIGGER texts AFTER INSERT OR UPDATE OF v ON child FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER ids BEFORE UPDATE OF id, v ON child FOR EACH ROW WHEN (NEW.v <> 'quiet') EXECUTE FUNCTION note();
CREATE TRIGGER gone AFTER DELETE ON child FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER never AFTER UPDATE OF r ON child FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION note();
DROP TRIGGER IF EXISTS never ON child;
CREATE TRIGGER never AFTER UPDATE OF twice ON child FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION note();
DROP TRIGGER IF EXISTS never ON child;
CREATE TRIGGER never AFTER UPDATE ON child FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION note();
DROP TRIGGER IF EXISTS never ON child;
DELETE FROM r WHERE id = 3;
UPDATE r SET id = 40 WHERE id = 4;
DELETE FROM parent WHERE id IN (7, 8);
UPDATE child SET v = 'quiet' WHERE id = 9;
UPDATE child SET v = upper(v), r = 2 WHERE id < 3;
DELETE FROM child WHERE id = 12;
SELECT what FROM log ORDER BY seq;
SELECT * FROM child ORDER BY id;
ALTER TABLE child DROP CONSTRAINT child_id_n_fkey;
ALTER TABLE child ADD FOREIGN KEY (id, n) REFERENCES parent ON DELETE CASCADE;
DELETE FROM parent WHERE id = 15;
SELECT what FROM log ORDER BY seq;
SELECT * FROM child ORDER BY id;
