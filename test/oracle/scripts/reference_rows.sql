-- Writes of reference tables that tell equal rows apart, or depend on more than a row's own columns.
-- distribute: r reference, k reference, d(id)

CREATE TABLE r (v int, f float8, j json, n numeric);
CREATE TABLE k (id int PRIMARY KEY, grp int, v int, w text);
CREATE TABLE d (id int, v int);
CREATE SEQUENCE sq;
INSERT INTO k SELECT g, g % 3, 0, 'w' || g FROM generate_series(1, 12) g;
INSERT INTO d SELECT g, g FROM generate_series(1, 12) g;
-- setup ends

-- equal rows, each with its own fate
INSERT INTO r SELECT 1, 1, '{}', 1.0 FROM generate_series(1, 8);
UPDATE r SET v = nextval('sq');
SELECT count(*), count(DISTINCT v) FROM r;
UPDATE r SET v = 1, f = random();
SELECT count(DISTINCT f) FROM r;
UPDATE r SET f = 1;
DELETE FROM r WHERE ctid IN (SELECT ctid FROM r LIMIT 3);
SELECT count(*) FROM r;
DELETE FROM r WHERE ctid = (SELECT ctid FROM r LIMIT 1) RETURNING v, f;
SELECT count(*) FROM r;
WITH one AS (SELECT ctid FROM r LIMIT 1 FOR UPDATE) UPDATE r SET v = 2 FROM one WHERE r.ctid = one.ctid RETURNING v;
SELECT v, count(*) FROM r GROUP BY v ORDER BY v;
WITH numbered AS (SELECT ctid, row_number() OVER () AS n FROM r) DELETE FROM r USING numbered WHERE r.ctid = numbered.ctid AND n > 2;
SELECT count(*) FROM r;
UPDATE r SET v = d.v FROM d WHERE d.id = 7;
SELECT v, count(*) FROM r GROUP BY v ORDER BY v;
MERGE INTO r USING (SELECT v, max(id) AS id FROM d GROUP BY v) s ON r.v = s.v WHEN MATCHED THEN UPDATE SET v = s.id + 100;
SELECT v, count(*) FROM r GROUP BY v ORDER BY v;
TRUNCATE r;

-- what settings of output and equality don't distinguish
INSERT INTO r (f) VALUES (1), (1.00000000001), (1.00000000002);
SET extra_float_digits = -5;
DELETE FROM r WHERE f IN (SELECT f FROM r ORDER BY f LIMIT 1);
RESET extra_float_digits;
SELECT f FROM r ORDER BY f;
TRUNCATE r;
INSERT INTO r (f, n) VALUES (0, 1.0), ('-0', 1.00), ('NaN', 'NaN'), (NULL, NULL);
DELETE FROM r WHERE ctid IN (SELECT ctid FROM r WHERE n::text = '1.00' LIMIT 1);
SELECT f, n FROM r ORDER BY f, n;
UPDATE r SET v = (SELECT count(*) FROM d WHERE d.id < 5) WHERE f IS NULL OR f = 'NaN';
SELECT v, f, n FROM r ORDER BY f, n;
TRUNCATE r;

-- keys
UPDATE k SET v = s.n FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM k) s WHERE s.id = k.id;
SELECT * FROM k ORDER BY id;
UPDATE k SET w = (SELECT string_agg(x.id::text, ',' ORDER BY x.id) FROM k x WHERE x.grp = k.grp);
SELECT * FROM k ORDER BY id;
DELETE FROM k a USING k b WHERE a.ctid < b.ctid AND a.grp = b.grp;
SELECT count(*) FROM k;
INSERT INTO k SELECT g, g % 3, 0, 'w' || g FROM generate_series(1, 12) g ON CONFLICT (id) DO UPDATE SET v = k.v + excluded.grp, w = k.w || '!';
SELECT count(*), count(DISTINCT grp), sum(id) FROM k;
UPDATE k SET v = 0, w = '';
UPDATE k SET v = v + 1 WHERE id = 1 AND xmin = (SELECT xmin FROM k WHERE id = 1);
SELECT v FROM k WHERE id = 1;
UPDATE k SET id = id + 100 WHERE id > (SELECT min(id) FROM d WHERE v > 5);
SELECT id FROM k ORDER BY id;
DELETE FROM k WHERE v = (SELECT max(v) FROM d) - 12;
SELECT id FROM k ORDER BY id;
