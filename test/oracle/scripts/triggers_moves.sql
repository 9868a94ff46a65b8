-- A row that UPDATE or MERGE moves to another partition fires DELETE and INSERT triggers, also if the table has none for UPDATE.
--
-- distribute: log single, d(k), i(k), b(at), s(k), plain(k), source(k)

CREATE TABLE log (seq bigserial, what text);
CREATE TABLE d (k int, at int, v text) PARTITION BY RANGE (at);
CREATE TABLE d1 PARTITION OF d FOR VALUES FROM (0) TO (10);
CREATE TABLE d2 PARTITION OF d FOR VALUES FROM (10) TO (20);
CREATE TABLE i (k int, at int, v text) PARTITION BY RANGE (at);
CREATE TABLE i1 PARTITION OF i FOR VALUES FROM (0) TO (10);
CREATE TABLE i2 (v text, at int, k int);
ALTER TABLE i ATTACH PARTITION i2 FOR VALUES FROM (10) TO (20);
-- partitioned and distributed by the same column
CREATE TABLE b (at int, v text) PARTITION BY LIST (at);
CREATE TABLE b1 PARTITION OF b FOR VALUES IN (1, 3, 5);
CREATE TABLE b2 PARTITION OF b DEFAULT;
-- the key of a partition's partitions
CREATE TABLE s (k int, at int, v text, n int) PARTITION BY RANGE (at);
CREATE TABLE s1 (n int, v text, at int, k int) PARTITION BY LIST (v);
CREATE TABLE s1a PARTITION OF s1 FOR VALUES IN ('a');
CREATE TABLE s1b PARTITION OF s1 DEFAULT;
ALTER TABLE s ATTACH PARTITION s1 FOR VALUES FROM (0) TO (10);
CREATE TABLE plain (k int, v text);
CREATE TABLE source (k int);
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_moves.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_NAME, TG_WHEN, TG_LEVEL, TG_OP,
		CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'INSERT' THEN OLD::text END,
		CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE' THEN NEW::text END));
	IF TG_WHEN = 'BEFORE' AND TG_LEVEL = 'ROW' AND TG_OP = 'DELETE' AND OLD.v LIKE 'keep%' THEN
		RETURN NULL;
	ELSIF TG_WHEN = 'BEFORE' AND TG_LEVEL = 'ROW' AND TG_OP = 'INSERT' THEN
		NEW.v := NEW.v || '!';
	END IF;
	RETURN coalesce(NEW, OLD);
END $$;
-- distribute now
INSERT INTO d SELECT g, g, CASE WHEN g % 3 = 0 THEN 'keep' ELSE 'v' END || g FROM generate_series(1, 9) g;
INSERT INTO i SELECT g, g, 'v' || g FROM generate_series(1, 9) g;
INSERT INTO b SELECT g, CASE WHEN g % 3 = 0 THEN 'keep' ELSE 'v' END || g FROM generate_series(1, 9) g;
INSERT INTO s SELECT g, g, CASE WHEN g % 2 = 0 THEN 'a' ELSE 'keep' END, 0 FROM generate_series(1, 9) g;
INSERT INTO plain SELECT g, 'keep' FROM generate_series(1, 9) g;
INSERT INTO source SELECT g FROM generate_series(1, 5) g;
CREATE TRIGGER row_before BEFORE DELETE ON d FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_after AFTER DELETE ON d FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER stmt BEFORE INSERT OR DELETE ON d FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER row_before BEFORE INSERT ON i FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_after AFTER INSERT ON i FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER stmt AFTER UPDATE ON i FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER row_before BEFORE DELETE ON b FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_before BEFORE DELETE ON s FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_before BEFORE DELETE ON plain FOR EACH ROW EXECUTE FUNCTION note();

-- setup ends
UPDATE d SET at = at + 10 WHERE k BETWEEN 2 AND 4;
UPDATE d SET at = 15 WHERE k = 6;
UPDATE d SET at = 15 WHERE k = 7 RETURNING *;
UPDATE d SET v = v || '.' WHERE k < 5;
SELECT * FROM d ORDER BY k;
SELECT what FROM log ORDER BY what;
TRUNCATE log;
UPDATE i SET at = at + 10 WHERE k IN (2, 3);
UPDATE i SET at = at + 10 FROM source WHERE source.k = i.k AND i.k > 4 RETURNING i.*;
UPDATE i SET at = at - 10 WHERE k = 2;
UPDATE i SET v = 'w' WHERE k = 3;
SELECT * FROM i ORDER BY k;
SELECT what FROM log ORDER BY what;
TRUNCATE log;
-- within a partition, nothing fires, also where the row changes its shard
UPDATE b SET at = at + 1 WHERE at IN (3, 5, 7);
UPDATE b SET at = 3 WHERE at = 1;
SELECT * FROM b ORDER BY at, v;
SELECT what FROM log ORDER BY what;
TRUNCATE log;
UPDATE s SET v = 'x' WHERE k < 5;
UPDATE s SET n = 1 WHERE k < 5;
SELECT * FROM s ORDER BY k;
SELECT what FROM log ORDER BY what;
TRUNCATE log;
UPDATE plain SET k = k + 100 WHERE k < 4;
SELECT * FROM plain ORDER BY k;
SELECT what FROM log;
MERGE INTO d USING source ON d.k = source.k WHEN MATCHED AND d.at > 9 THEN UPDATE SET at = d.at - 10
	WHEN MATCHED THEN UPDATE SET at = d.at + 10;
MERGE INTO b USING source ON b.at = source.k WHEN MATCHED THEN UPDATE SET at = b.at + 1;
SELECT * FROM d ORDER BY k;
SELECT * FROM b ORDER BY at, v;
SELECT what FROM log ORDER BY what;
