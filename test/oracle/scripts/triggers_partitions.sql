-- Triggers of partitioned tables: which partition's fire, also for rows that move, with which rows.
--
-- distribute: p(k), log single, q(k) with p, o(k)

CREATE TABLE log (seq bigserial, what text);
CREATE TABLE p (k int, at int, v text, n int DEFAULT 0, g text GENERATED ALWAYS AS ('g' || v) STORED) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (v text, gone int, n int DEFAULT 0, k int, at int, g text GENERATED ALWAYS AS ('g' || v) STORED);
ALTER TABLE p2 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (40) PARTITION BY LIST (n);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES IN (0, 1);
CREATE TABLE p3b PARTITION OF p3 DEFAULT;
CREATE TABLE q (k int, at int, v text, PRIMARY KEY (k, at)) PARTITION BY RANGE (at);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10);
CREATE TABLE q2 PARTITION OF q FOR VALUES FROM (10) TO (20);
CREATE TABLE o (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE o1 PARTITION OF o FOR VALUES FROM (0) TO (10);
CREATE TABLE o2 (gone int, k int, v text);
ALTER TABLE o2 DROP COLUMN gone;
ALTER TABLE o ATTACH PARTITION o2 FOR VALUES FROM (10) TO (20);
CREATE TABLE o3 (v text, k int);
ALTER TABLE o ATTACH PARTITION o3 FOR VALUES FROM (20) TO (30);
-- on all nodes
CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_partitions.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_NAME, OLD, NEW));
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_partitions.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_NAME, TG_WHEN, TG_LEVEL, TG_OP,
		'old=' || CASE WHEN TG_OP <> 'INSERT' AND TG_LEVEL = 'ROW' THEN concat_ws(',', OLD.k, OLD.at, OLD.v, OLD.n, OLD.g) END,
		'new=' || CASE WHEN TG_OP <> 'DELETE' AND TG_LEVEL = 'ROW' THEN concat_ws(',', NEW.k, NEW.at, NEW.v, NEW.n, NEW.g) END));
	RETURN coalesce(NEW, OLD);
END $$;
-- on all nodes
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = 'skip' THEN
		RETURN NULL;
	ELSIF NEW.v = 'far' THEN
		NEW.at := NEW.at + 10;
	END IF;
	NEW.v := NEW.v || '!';
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
CREATE FUNCTION changed_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP IN ('UPDATE', 'DELETE') THEN
		INSERT INTO o_triggers_partitions.log (what) SELECT TG_OP || ' old ' || x::text FROM old_rows x ORDER BY k, at;
	END IF;
	IF TG_OP IN ('UPDATE', 'INSERT') THEN
		INSERT INTO o_triggers_partitions.log (what) SELECT TG_OP || ' new ' || x::text FROM new_rows x ORDER BY k, at;
	END IF;
	RETURN NULL;
END $$;
-- on all nodes
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.v := (SELECT count(*) FROM o_triggers_partitions.q);
	RETURN NEW;
END $$;
CREATE TRIGGER a_note BEFORE INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON p FOR EACH ROW WHEN (NEW.v <> 'same') EXECUTE FUNCTION change();
CREATE TRIGGER keep BEFORE DELETE ON p FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TRIGGER z_note AFTER INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER of_n AFTER UPDATE OF n ON p FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER stmt BEFORE INSERT OR UPDATE OR DELETE ON p FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER ins AFTER INSERT ON p REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER upd AFTER UPDATE ON p REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER del AFTER DELETE ON p REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER counts BEFORE INSERT ON q FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER of_v AFTER UPDATE OF v ON o FOR EACH ROW EXECUTE FUNCTION say();
-- distribute now

-- setup ends
-- which of several rows an UPDATE or DELETE comes to first is open
INSERT INTO p VALUES (1, 5, 'a'), (2, 15, 'b', 2), (3, 25, 'c', 1), (4, 35, 'd', 7), (5, 6, 'skip');
SELECT * FROM p ORDER BY k;
SELECT what FROM log ORDER BY seq;
TRUNCATE log;
INSERT INTO p SELECT 100 + i, i * 5, 'many' FROM generate_series(0, 7) i;
INSERT INTO p VALUES (9, 50, 'nowhere');
INSERT INTO p VALUES (9, 5, 'far');
SELECT what FROM log ORDER BY seq;
TRUNCATE log;
UPDATE p SET n = n + 1 WHERE k = 2;
UPDATE p SET v = 'same', n = 1 WHERE k < 5;
SELECT what FROM log;
TRUNCATE log;
-- to other partitions, and back, by the statement and by a trigger
UPDATE p SET at = at + 10 WHERE k = 1;
UPDATE p SET at = at - 10 WHERE k IN (1, 2) RETURNING k, at, v, g;
UPDATE p SET v = 'far' WHERE k = 2;
UPDATE p SET n = 5 WHERE k = 3;
UPDATE p SET v = 'keep it' WHERE k = 4;
UPDATE p SET at = 1 WHERE k = 4;
UPDATE p SET at = 100 WHERE k = 4;
UPDATE p SET k = k + 50, at = 12 WHERE k = 3;
SELECT * FROM p WHERE k < 100 ORDER BY k;
SELECT what FROM log;
TRUNCATE log;
DELETE FROM p WHERE k < 100;
SELECT * FROM p ORDER BY k;
SELECT what FROM log;
TRUNCATE log;
MERGE INTO p USING (SELECT i AS k, i * 5 AS at FROM generate_series(104, 106) i) s ON p.k = s.k
	WHEN MATCHED AND p.k = 104 THEN UPDATE SET v = 'merged', n = 1 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN DO NOTHING;
SELECT * FROM p ORDER BY k;
SELECT what FROM log;
TRUNCATE log;
-- a partition by its name
INSERT INTO p1 (k, at, v) VALUES (200, 3, 'direct'), (201, 4, 'far');
INSERT INTO p1 (k, at, v) VALUES (200, 3, 'direct');
UPDATE p2 SET n = n + 1 WHERE k = 102;
DELETE FROM p3a;
SELECT what FROM log;
TRUNCATE log;
-- switched off, and with statements of their own
ALTER TABLE p DISABLE TRIGGER a_note;
ALTER TABLE p2 DISABLE TRIGGER z_note;
INSERT INTO p VALUES (300, 5, 'x'), (301, 15, 'y');
SELECT what FROM log ORDER BY seq;
ALTER TABLE p DETACH PARTITION p2;
INSERT INTO p2 (k, at, v) VALUES (400, 15, 'alone');
SELECT count(*) FROM log WHERE what LIKE 'p2%';
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
TRUNCATE log;
INSERT INTO p VALUES (401, 15, 'again');
SELECT what FROM log ORDER BY seq;
INSERT INTO q SELECT i, i FROM generate_series(1, 19, 3) i;
SELECT * FROM q ORDER BY k;
ALTER TRIGGER counts ON q RENAME TO counted;
DROP TRIGGER counted ON q;
INSERT INTO q VALUES (30, 1, 'plain');
SELECT * FROM q WHERE k = 30;
-- COPY
TRUNCATE log;
COPY p (k, at, v) FROM STDIN;
500	1	copied
501	11	far
502	22	skip
503	33	copied
\.
SELECT what FROM log ORDER BY seq;
SELECT * FROM p WHERE k >= 500 ORDER BY k;
-- a trigger of some columns, which partitions have in other places
TRUNCATE log;
INSERT INTO o VALUES (1, 'a'), (11, 'b'), (21, 'c');
UPDATE o SET k = k + 2;
SELECT what FROM log;
UPDATE o SET v = v || '!';
SELECT what FROM log;
