-- Savepoints in depth: many levels, exception blocks in loops, errors on one of several nodes, cursors and settings across them.
--
-- distribute: t(id), u(k) with none, wide(id), r reference, s single, l local

CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 1000));
CREATE TABLE u (k text NOT NULL, v int);
CREATE TABLE wide (id int PRIMARY KEY, v int, pad text);
CREATE TABLE r (id int PRIMARY KEY, v int UNIQUE);
CREATE TABLE s (id int PRIMARY KEY, v int);
CREATE TABLE l (id int PRIMARY KEY, v int);
INSERT INTO t SELECT i, i FROM generate_series(1, 40) i;
INSERT INTO u SELECT 'k' || i, i FROM generate_series(1, 40) i;
INSERT INTO wide SELECT i, 1, repeat('x', 300) FROM generate_series(1, 4000) i;
INSERT INTO r SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO s SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO l SELECT i, i FROM generate_series(1, 5) i;
-- on all nodes
CREATE FUNCTION dive(level int, fail_at int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	below text := '';
BEGIN
	UPDATE t SET v = v + 1 WHERE id = level % 40 + 1;
	IF level = fail_at THEN
		UPDATE t SET v = 10 / (id - id) WHERE id = (level + 7) % 40 + 1;
	END IF;
	IF level > 0 THEN
		below := dive(level - 1, fail_at);
	END IF;
	RETURN below;
EXCEPTION WHEN division_by_zero THEN
	INSERT INTO u VALUES ('failed', level);
	RETURN 'caught at ' || level;
END $$;
-- on all nodes
CREATE FUNCTION each_way(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	caught int := 0;
BEGIN
	FOR i IN 1..n LOOP
		BEGIN
			INSERT INTO t VALUES (100 + i, i);
			INSERT INTO u VALUES ('way' || i, i);
			UPDATE s SET v = v + 1 WHERE id = 1;
			CASE i % 7
				WHEN 0 THEN INSERT INTO t VALUES (i % 40 + 1, 0);
				WHEN 1 THEN UPDATE t SET v = v + 990;
				WHEN 2 THEN INSERT INTO r VALUES (99, 3);
				WHEN 3 THEN INSERT INTO l VALUES (1, 1);
				WHEN 4 THEN PERFORM 1 / (v - v) FROM u WHERE k = 'k7';
				WHEN 5 THEN RAISE EXCEPTION 'mine';
				ELSE NULL;
			END CASE;
		EXCEPTION
			WHEN unique_violation OR check_violation THEN caught := caught + 1;
			WHEN division_by_zero THEN caught := caught + 100;
			WHEN raise_exception THEN caught := caught + 10000;
		END;
	END LOOP;
	RETURN caught;
END $$;

-- setup ends
SELECT dive(5, -1);
SELECT dive(110, -1);
SELECT sum(v) FROM t;
SELECT dive(110, 3);
SELECT dive(110, 60);
SELECT dive(20, 20);
SELECT count(*), sum(v) FROM t;
SELECT v, count(*) FROM u WHERE k = 'failed' GROUP BY v ORDER BY v;
BEGIN;
SELECT dive(100, 50);
SAVEPOINT a;
SELECT dive(100, 0);
ROLLBACK TO a;
COMMIT;
SELECT sum(v) FROM t;
SELECT v, count(*) FROM u WHERE k = 'failed' GROUP BY v ORDER BY v;

SELECT each_way(30);
SELECT count(*), sum(v) FROM t;
SELECT count(*), sum(v) FROM u;
SELECT v FROM s WHERE id = 1;
SELECT count(*), sum(v) FROM r;
BEGIN;
DELETE FROM t WHERE id > 100;
SELECT each_way(10);
SAVEPOINT x;
SELECT each_way(20);
ROLLBACK TO x;
SELECT count(*), sum(v) FROM t;
ROLLBACK;

-- The same name again and again: the latest counts, and earlier ones come back.
BEGIN;
SAVEPOINT a;
UPDATE t SET v = 101 WHERE id = 1;
SAVEPOINT a;
UPDATE t SET v = 102 WHERE id = 2;
SAVEPOINT a;
UPDATE t SET v = 103 WHERE id = 3;
ROLLBACK TO a;
SELECT id, v FROM t WHERE v > 100 AND id < 4 ORDER BY id;
RELEASE a;
ROLLBACK TO a;
SELECT id, v FROM t WHERE v > 100 AND id < 4 ORDER BY id;
RELEASE a;
UPDATE t SET v = 104 WHERE id = 4;
ROLLBACK TO a;
SELECT id, v FROM t WHERE v > 100 AND id < 5 ORDER BY id;
UPDATE t SET v = 105 WHERE id = 5;
COMMIT;
SELECT id, v FROM t WHERE v > 100 AND id < 6 ORDER BY id;

-- Errors on one node of several, and on none (at the parser, in a local function).
BEGIN;
UPDATE t SET v = 200 WHERE id IN (1, 2, 3, 4);
SAVEPOINT a;
UPDATE t SET v = 100 / (id - 7);
ROLLBACK TO a;
SELECT count(*) FROM t WHERE v = 200;
UPDATE t SET v = 201 WHERE id = 1;
SELEC 1;
ROLLBACK TO a;
SELECT nonsense FROM t;
ROLLBACK TO a;
SELECT 1 / 0;
ROLLBACK TO a;
ROLLBACK TO a;
SELECT count(*) FROM t WHERE v = 200;
INSERT INTO t VALUES (1, 1), (2, 2), (500, 1);
ROLLBACK TO a;
INSERT INTO r VALUES (6, 1);
ROLLBACK TO a;
INSERT INTO r VALUES (6, 6);
RELEASE a;
ROLLBACK TO a;
ROLLBACK;
SELECT count(*) FROM t WHERE v = 200;

-- A node that is used first below a savepoint, which is released or rolled back.
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
SAVEPOINT c;
UPDATE t SET v = 300 WHERE id = 11;
RELEASE c;
UPDATE t SET v = 300 WHERE id = 12;
ROLLBACK TO b;
UPDATE t SET v = 300 WHERE id = 13;
RELEASE a;
UPDATE t SET v = 300 WHERE id = 14;
COMMIT;
SELECT id FROM t WHERE v = 300 ORDER BY id;
BEGIN;
SAVEPOINT a;
UPDATE t SET v = 301;
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM t WHERE v = 301;
BEGIN;
SAVEPOINT a;
SELECT count(*) FROM t;
ROLLBACK TO a;
RELEASE a;
SELECT count(*) FROM t;
COMMIT;

-- Cursors: opened before a savepoint, inside one, and inside one that is rolled back.
BEGIN;
DECLARE before CURSOR FOR SELECT id FROM t WHERE id <= 40 ORDER BY id;
FETCH 2 FROM before;
SAVEPOINT a;
DECLARE inside CURSOR FOR SELECT id FROM t WHERE id <= 40 ORDER BY id DESC;
FETCH 2 FROM inside;
FETCH 2 FROM before;
UPDATE t SET v = 0 WHERE id = 1;
ROLLBACK TO a;
FETCH 2 FROM before;
SAVEPOINT b;
FETCH 2 FROM inside;
ROLLBACK TO b;
FETCH 2 FROM before;
SAVEPOINT c;
DECLARE inside SCROLL CURSOR FOR SELECT id FROM t WHERE id <= 40 ORDER BY id DESC;
FETCH 3 FROM inside;
RELEASE c;
FETCH BACKWARD 1 FROM inside;
FETCH LAST FROM inside;
FETCH BACKWARD 2 FROM inside;
DELETE FROM t WHERE id = 20;
FETCH ALL FROM before;
COMMIT;
BEGIN;
DECLARE kept CURSOR WITH HOLD FOR SELECT id, v FROM t WHERE id IN (2, 3, 4) ORDER BY id;
SAVEPOINT a;
UPDATE t SET v = 77 WHERE id IN (2, 3, 4);
ROLLBACK TO a;
UPDATE t SET v = 78 WHERE id IN (2, 3, 4);
FETCH 1 FROM kept;
COMMIT;
FETCH ALL FROM kept;
BEGIN;
FETCH ABSOLUTE 1 FROM kept;
ROLLBACK;
CLOSE kept;
BEGIN;
SAVEPOINT a;
DECLARE kept SCROLL CURSOR WITH HOLD FOR SELECT id FROM t WHERE id < 6 ORDER BY id;
RELEASE a;
FETCH 2 FROM kept;
COMMIT;
FETCH BACKWARD 1 FROM kept;
FETCH ALL FROM kept;
CLOSE kept;
BEGIN;
UPDATE t SET v = 79 WHERE id = 2;
DECLARE gone CURSOR WITH HOLD FOR SELECT 10 / (id - 3) FROM t WHERE id < 6 ORDER BY id;
COMMIT;
FETCH 1 FROM gone;
SELECT v FROM t WHERE id = 2;

-- Rows that are still to come when a savepoint begins, or is rolled back; many enough to go to a file.
SET work_mem = '64kB';
BEGIN;
DECLARE many CURSOR FOR SELECT id, v, pad FROM wide;
SAVEPOINT a;
MOVE 10 FROM many;
ROLLBACK TO a;
MOVE 1000 FROM many;
SAVEPOINT b;
MOVE 10 FROM many;
INSERT INTO wide VALUES (1, 1);
ROLLBACK TO b;
MOVE 500 FROM many;
RELEASE b;
MOVE ALL FROM many;
ROLLBACK;
BEGIN;
INSERT INTO wide VALUES (0, 0, '');
DECLARE many CURSOR FOR SELECT id, v, pad FROM wide;
MOVE 10 FROM many;
SAVEPOINT a;
SELECT 1 / 0;
ROLLBACK TO a;
MOVE 1000 FROM many;
SAVEPOINT b;
DELETE FROM wide WHERE id % 2 = 0;
RELEASE b;
MOVE ALL FROM many;
SELECT count(*) FROM wide;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT a;
DECLARE many CURSOR FOR SELECT id, v, pad FROM wide;
RELEASE a;
SAVEPOINT b;
MOVE 10 FROM many;
SELECT 1 / 0;
ROLLBACK TO b;
MOVE ALL FROM many;
COMMIT;
BEGIN;
DECLARE many CURSOR FOR SELECT 1 / (v - 1) FROM wide WHERE id <= 3000;
SAVEPOINT a;
FETCH ALL FROM many;
ROLLBACK TO a;
FETCH 1 FROM many;
ROLLBACK TO a;
DELETE FROM wide;
SAVEPOINT b;
SELECT count(*) FROM wide;
ROLLBACK;
RESET work_mem;

-- Settings: local ones, and others that are rolled back, on all nodes.
SET TimeZone = 'UTC';
BEGIN;
SET LOCAL TimeZone = 'Asia/Tokyo';
SELECT DISTINCT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id < 20;
SAVEPOINT a;
SET TimeZone = 'America/New_York';
SELECT DISTINCT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id < 20;
SAVEPOINT b;
SET LOCAL TimeZone = 'Europe/Berlin';
SELECT DISTINCT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id < 20;
ROLLBACK TO b;
SELECT DISTINCT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id < 20;
ROLLBACK TO a;
SELECT DISTINCT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id < 20;
COMMIT;
SELECT DISTINCT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id < 20;
BEGIN;
SET TimeZone = 'Asia/Tokyo';
SELECT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id = 2;
ROLLBACK;
SELECT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id = 2;
BEGIN;
SET LOCAL TimeZone = 'Asia/Tokyo';
SET SESSION TimeZone = 'Asia/Kolkata';
SELECT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id = 2;
COMMIT AND CHAIN;
SELECT (timestamptz '2024-01-01 00:00Z' + id * interval '0')::text FROM t WHERE id = 2;
ROLLBACK;
RESET TimeZone;
