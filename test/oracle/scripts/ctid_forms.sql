-- ctid in more places: functions, views, RETURNING, trees of partitions, MERGE, reference tables, cursors, parameters, COPY.
-- distribute: ev(id), up(id), p(id), s single, m(id), r reference, l local, f(id), k(id) with m, noid(v)
CREATE TABLE ev (id bigint, k int, v text);
CREATE TABLE up (id bigint PRIMARY KEY, done bool DEFAULT false);
CREATE TABLE p (id int, at date, v int) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY LIST (v);
CREATE TABLE p1a PARTITION OF p1 FOR VALUES IN (0, 1);
CREATE TABLE p1b PARTITION OF p1 DEFAULT PARTITION BY RANGE (id);
CREATE TABLE p1b1 PARTITION OF p1b FOR VALUES FROM (MINVALUE) TO (20);
CREATE TABLE p1b2 PARTITION OF p1b DEFAULT;
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE TABLE s (id int, v int);
CREATE TABLE m (id int PRIMARY KEY, v int);
CREATE TABLE k (id int PRIMARY KEY, v int);
CREATE TABLE r (id int, v int);
CREATE TABLE l (id int, v int);
CREATE TABLE f (id int, v int, fk int);
CREATE TABLE noid (id int, v int);
INSERT INTO ev SELECT g, g % 10, 'v' || g FROM generate_series(1, 200) g;
INSERT INTO up SELECT g FROM generate_series(1, 64) g;
INSERT INTO p SELECT g, date '2020-06-01' + g % 2 * 365, g % 4 FROM generate_series(1, 64) g;
INSERT INTO s SELECT g, g % 4 FROM generate_series(1, 20) g;
INSERT INTO m SELECT g, g % 4 FROM generate_series(1, 40) g;
INSERT INTO k SELECT g, g % 4 FROM generate_series(1, 40) g;
INSERT INTO f SELECT g, g % 4, g % 7 FROM generate_series(1, 40) g;
INSERT INTO noid SELECT g, g % 4 FROM generate_series(1, 40) g;
INSERT INTO r SELECT g % 5, g % 4 FROM generate_series(1, 20) g;
INSERT INTO l SELECT g % 5, g % 4 FROM generate_series(1, 20) g;
CREATE VIEW v1 AS SELECT ctid AS c, id, v FROM m;
CREATE VIEW v2 AS SELECT id, v FROM m WHERE ctid IN (SELECT ctid FROM m WHERE v = 1);
CREATE FUNCTION place(i int) RETURNS tid LANGUAGE sql STABLE AS 'SELECT ctid FROM m WHERE id = i';
CREATE FUNCTION by_place(t tid) RETURNS int LANGUAGE sql STABLE AS 'SELECT id FROM m WHERE ctid = t';
CREATE FUNCTION by_place_pl(t tid) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT id FROM m WHERE ctid = t); END';
CREATE FUNCTION set_place(t tid, n int) RETURNS int LANGUAGE plpgsql AS 'DECLARE x int; BEGIN UPDATE m SET v = n WHERE ctid = t; GET DIAGNOSTICS x = ROW_COUNT; RETURN x; END';
CREATE FUNCTION set_place_sql(t tid, n int) RETURNS SETOF int LANGUAGE sql AS 'UPDATE m SET v = n WHERE ctid = t RETURNING id';
CREATE PROCEDURE drain() LANGUAGE plpgsql AS $$
DECLARE c tid; n int := 0; x int;
BEGIN
	FOR c IN SELECT ctid FROM ev WHERE k = 9 LOOP
		DELETE FROM ev WHERE ctid = c; GET DIAGNOSTICS x = ROW_COUNT; n := n + x;
	END LOOP;
 IF n <> 20 THEN RAISE 'deleted %', n; END IF;
END $$;
-- setup ends
SELECT count(*) FROM generate_series(1, 40) g WHERE by_place(place(g)) = g;
SELECT count(*) FROM generate_series(1, 40) g WHERE by_place_pl(place(g)) = g;
SELECT count(*) FROM m WHERE by_place(ctid) = id;
SELECT count(*) FROM m WHERE by_place_pl(ctid) = id;
SELECT count(*) FROM m WHERE place(id) = ctid;
SELECT set_place(ctid, 77) FROM m WHERE id = 5;
SELECT id FROM m WHERE v = 77;
SELECT set_place_sql(ctid, 78) FROM m WHERE id = 6;
SELECT id FROM m WHERE v = 78;
SELECT sum(set_place(place(g), 79)) FROM generate_series(1, 10) g;
SELECT count(*) FROM m WHERE v = 79;
CALL drain();
SELECT count(*) FROM ev;
-- views
SELECT count(*) FROM v1 JOIN m ON v1.c = m.ctid AND m.id = v1.id;
SELECT count(*) FROM v1 WHERE c = (SELECT c FROM v1 WHERE id = 3);
UPDATE v1 SET v = 101 WHERE c = (SELECT c FROM v1 WHERE id = 3) RETURNING id, v;
DELETE FROM v1 WHERE c IN (SELECT c FROM v1 ORDER BY id LIMIT 2) RETURNING id;
UPDATE v2 SET v = 55 WHERE id IN (SELECT max(id) FROM v2) RETURNING id;
SELECT count(*) FROM v2;
SELECT max(id) FROM m;
-- RETURNING
WITH x AS (INSERT INTO m VALUES (500, 1), (501, 1), (502, 1) RETURNING ctid, id) SELECT id FROM x ORDER BY 1;
SELECT count(*) FROM m WHERE id >= 500;
BEGIN;
CREATE TEMP TABLE got (c tid, id int);
WITH x AS (UPDATE m SET v = v + 1 WHERE id > 10 RETURNING ctid, id) INSERT INTO got SELECT * FROM x;
SELECT count(*) FROM got JOIN m ON m.ctid = got.c AND m.id = got.id;
SELECT count(*) FROM got JOIN m ON m.ctid = got.c;
DELETE FROM got;
WITH x AS (INSERT INTO m SELECT g, 1 FROM generate_series(600, 640) g RETURNING ctid, id) INSERT INTO got SELECT * FROM x;
SELECT count(*) FROM got JOIN m ON m.ctid = got.c AND m.id = got.id;
DELETE FROM got;
WITH x AS (INSERT INTO m SELECT g, 1 FROM generate_series(600, 640) g ON CONFLICT (id) DO UPDATE SET v = 9 RETURNING ctid, id) INSERT INTO got SELECT * FROM x;
SELECT count(*) FROM got JOIN m ON m.ctid = got.c AND m.id = got.id;
DELETE FROM got;
INSERT INTO got SELECT ctid, id FROM m;
DELETE FROM m USING got WHERE got.c = m.ctid AND got.id % 2 = 0 RETURNING m.id = got.id;
SELECT count(*), sum(id) FROM m;
ROLLBACK;
BEGIN;
CREATE TEMP TABLE got2 (c tid, id int);
WITH x AS (DELETE FROM m WHERE id < 10 RETURNING ctid, id) INSERT INTO got2 SELECT * FROM x;
SELECT count(DISTINCT c) = count(*) FROM got2;
SELECT count(*) FROM got2 JOIN m ON m.ctid = got2.c;
ROLLBACK;
-- joins by ctid and other things of writes
UPDATE m SET v = x.v FROM m x WHERE x.ctid = m.ctid AND x.id < 20;
UPDATE m SET v = k.v FROM k JOIN m x ON x.id = k.id WHERE x.ctid = m.ctid AND k.id < 20;
UPDATE m SET v = l.v FROM l, m x WHERE x.ctid = m.ctid AND l.id = 3 AND l.v = 0 AND x.id = 12;
UPDATE m SET v = (SELECT count(*) FROM m y WHERE y.ctid <= m.ctid) * 0 + 3 WHERE id = 13 RETURNING *;
UPDATE m SET v = (SELECT y.v + 100 FROM m y WHERE y.ctid = m.ctid) WHERE id BETWEEN 14 AND 16 RETURNING id, v;
DELETE FROM m USING m b WHERE m.v = b.v AND m.ctid <> b.ctid AND m.id > b.id;
SELECT * FROM m ORDER BY id;
INSERT INTO m SELECT g, g % 4 FROM generate_series(700, 760) g;
DELETE FROM m WHERE EXISTS (SELECT FROM m b WHERE m.v = b.v AND m.id > 700 AND b.id > 700 AND m.ctid > b.ctid);
SELECT v, count(*) FROM m WHERE id > 700 GROUP BY 1 ORDER BY 1;
INSERT INTO m SELECT g, g % 4 FROM generate_series(800, 860) g;
DELETE FROM m WHERE id >= 800 AND ctid NOT IN (SELECT DISTINCT ON (v) ctid FROM m WHERE id >= 800 ORDER BY v, id);
SELECT * FROM m WHERE id >= 800 ORDER BY id;
DELETE FROM m WHERE ctid IN (SELECT m.ctid FROM m JOIN k USING (v) ORDER BY m.id LIMIT 3) RETURNING id;
DELETE FROM m WHERE ctid IN (SELECT ctid FROM m WHERE id = 12 UNION ALL SELECT ctid FROM m WHERE id = 15) RETURNING id;
DELETE FROM m WHERE ctid = (SELECT c FROM (SELECT ctid AS c, lag(ctid) OVER (ORDER BY id) AS b FROM m) x ORDER BY b NULLS FIRST LIMIT 1);
SELECT count(*) FROM m;
-- a FOR UPDATE queue over a partition tree
DELETE FROM p WHERE (tableoid, ctid) IN (SELECT tableoid, ctid FROM p ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED) RETURNING id;
UPDATE p1 SET v = 0 WHERE (ctid, tableoid) IN (SELECT ctid, tableoid FROM p1 ORDER BY id LIMIT 3) RETURNING id;
DELETE FROM p1b WHERE (ctid, tableoid) IN (SELECT ctid, tableoid FROM p1b ORDER BY id LIMIT 2) RETURNING id;
SELECT count(*), count(DISTINCT (tableoid, ctid)) FROM p1b;
UPDATE p1b SET at = '2020-01-05' FROM (SELECT tableoid AS o, ctid AS c FROM p WHERE id = 22) x WHERE p1b.ctid = c AND p1b.tableoid = o RETURNING id, v, at;
UPDATE p SET at = '2021-03-03' WHERE (ctid, tableoid) IN (SELECT ctid, tableoid FROM p WHERE id IN (30, 32, 34)) RETURNING id;
SELECT tableoid::regclass, count(*), sum(id) FROM p GROUP BY 1 ORDER BY 1;
MERGE INTO p USING (SELECT ctid AS c, tableoid AS o FROM p ORDER BY id LIMIT 4) x ON p.ctid = x.c AND p.tableoid = x.o WHEN MATCHED THEN DELETE;
SELECT count(*), sum(id) FROM p;
MERGE INTO p1 USING (SELECT ctid AS c, tableoid AS o FROM p1 ORDER BY id LIMIT 4) x ON p1.ctid = x.c AND p1.tableoid = x.o WHEN MATCHED THEN UPDATE SET v = 7;
SELECT id FROM p WHERE v = 7 ORDER BY id;
-- MERGE
MERGE INTO k USING (SELECT min(ctid) AS c FROM k GROUP BY v) x ON k.ctid = x.c WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (9999, 1);
SELECT count(*) FROM k;
MERGE INTO k USING (SELECT k.ctid AS c, f.v FROM k JOIN f ON f.fk = k.id AND f.id < 8) x ON k.ctid = x.c WHEN MATCHED THEN UPDATE SET v = 555;
SELECT count(*) FROM k WHERE v = 555;
MERGE INTO s USING (SELECT ctid AS c FROM s ORDER BY id LIMIT 3) x ON s.ctid = x.c WHEN MATCHED THEN DELETE;
SELECT count(*) FROM s;
MERGE INTO r USING (SELECT ctid AS c FROM r LIMIT 3) x ON r.ctid = x.c WHEN MATCHED THEN DELETE;
SELECT count(*) FROM r;
MERGE INTO l USING (SELECT ctid AS c FROM l LIMIT 3) x ON l.ctid = x.c WHEN MATCHED THEN DELETE;
SELECT count(*) FROM l;
-- reference tables
DELETE FROM r WHERE ctid = ANY (ARRAY(SELECT ctid FROM r LIMIT 2));
DELETE FROM r a USING r b WHERE a.id = b.id AND a.v = b.v AND a.ctid < b.ctid;
SELECT count(*) FROM r;
WITH x AS (SELECT ctid FROM r LIMIT 1 FOR UPDATE) UPDATE r SET v = 99 FROM x WHERE r.ctid = x.ctid;
SELECT count(*) FROM r WHERE v = 99;
SELECT count(*) FROM r JOIN r b ON r.ctid = b.ctid;
SELECT count(*) FROM f JOIN r ON f.v = r.id AND r.ctid = (SELECT max(ctid) FROM r WHERE r.id = f.v);
-- cursors
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM up ORDER BY id FOR UPDATE;
MOVE 3 IN c;
DELETE FROM up WHERE CURRENT OF c RETURNING id;
FETCH 1 FROM c;
UPDATE up SET done = true WHERE CURRENT OF c RETURNING id;
COMMIT;
CREATE FUNCTION walk() RETURNS int LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT id, ctid FROM up ORDER BY id FOR UPDATE; n int := 0; x int;
BEGIN
 FOR q IN c LOOP
  IF q.id % 3 = 0 THEN UPDATE up SET done = true WHERE CURRENT OF c; DELETE FROM up WHERE ctid = q.ctid; GET DIAGNOSTICS x = ROW_COUNT; n := n + x; END IF;
 END LOOP; RETURN n; END $$;
SELECT walk();
SELECT count(*) FILTER (WHERE done) FROM up;
-- prepared
DO $$ DECLARE c tid; i int; a tid[]; n int; BEGIN
 FOR i IN 1..12 LOOP
  SELECT ctid INTO c FROM ev WHERE id = i;
  EXECUTE 'SELECT id FROM ev WHERE ctid = $1' INTO n USING c;
  IF n IS DISTINCT FROM i AND c IS NOT NULL THEN RAISE '% %', n, i; END IF;
 END LOOP;
 SELECT array_agg(ctid) INTO a FROM ev WHERE k = 5;
 EXECUTE 'SELECT count(*) FROM ev WHERE ctid = ANY ($1)' INTO n USING a;
 IF n <> 20 THEN RAISE 'any %', n; END IF;
 EXECUTE 'WITH d AS (DELETE FROM ev WHERE ctid = ANY ($1) RETURNING k) SELECT count(*) FROM d WHERE k = 5' INTO n USING a;
 IF n <> 20 THEN RAISE 'del any %', n; END IF;
END $$;
-- COPY
COPY (SELECT id FROM ev WHERE ctid = (SELECT ctid FROM ev WHERE id = 17)) TO STDOUT;
COPY (SELECT count(DISTINCT ctid) FROM ev) TO STDOUT;
COPY (DELETE FROM ev WHERE ctid IN (SELECT ctid FROM ev ORDER BY id LIMIT 2) RETURNING id) TO STDOUT;
COPY (WITH x AS (UPDATE ev SET v = 'c' WHERE ctid = (SELECT max(ctid) FROM ev) RETURNING v) SELECT * FROM x) TO STDOUT;
-- odd expressions
SELECT count(*) FROM ev WHERE ctid IS DISTINCT FROM (SELECT ctid FROM ev WHERE id = 17);
SELECT count(*) FROM ev WHERE ROW(ctid, id) = (SELECT ctid, id FROM ev WHERE id = 17);
SELECT count(*) FROM ev a WHERE (SELECT count(*) FROM ev b WHERE b.ctid = a.ctid) <> 1;
SELECT count(*) FROM ev WHERE CASE WHEN k = 1 THEN ctid IN (SELECT ctid FROM ev WHERE k = 1) ELSE false END;
SELECT count(*) FROM ev WHERE coalesce(ctid, '(0,0)') = (SELECT ctid FROM ev WHERE id = 17);
SELECT count(*) FROM ev WHERE nullif(ctid, (SELECT ctid FROM ev WHERE id = 17)) IS NULL;
SELECT count(*) FROM ev GROUP BY ctid HAVING count(*) > 1;
SELECT count(DISTINCT ctid), count(DISTINCT ctid::text), count(DISTINCT (ctid, k)), count(DISTINCT hashtid(ctid)) > 100 FROM ev;
SELECT count(*) FROM (SELECT ctid, * FROM ev) x JOIN (SELECT ctid, * FROM ev) y USING (ctid) WHERE x.id = y.id;
SELECT count(*) FROM (SELECT * FROM ev, LATERAL (SELECT ev.ctid AS c) x) y JOIN ev e ON e.ctid = y.c;
SELECT count(*) FROM ev NATURAL JOIN (SELECT ctid AS c, id FROM ev) x WHERE ev.ctid = x.c;
SELECT count(*) FROM ev a FULL JOIN ev b ON a.ctid = b.ctid;
SELECT count(*) FROM ev a LEFT JOIN ev b ON a.ctid = b.ctid AND b.k = 1 WHERE b.id IS NULL;
SELECT count(*) FROM m JOIN k ON m.ctid = k.ctid AND m.id <> k.id WHERE false;
SELECT count(*) FROM ev WHERE ctid > '(0,0)' AND ctid < '(4294967295,65535)';
SELECT count(*) FROM (SELECT ctid FROM ev ORDER BY ctid DESC LIMIT 1) x JOIN ev ON ev.ctid = x.ctid;
SELECT bool_and(ctid = c) FROM (SELECT ctid, first_value(ctid) OVER (PARTITION BY id) AS c FROM ev) x;
SELECT count(*) FROM ev TABLESAMPLE SYSTEM (100) WHERE ctid IN (SELECT ctid FROM ev);
SELECT count(*) FROM (SELECT jsonb_agg(ctid::text) AS j FROM ev) x, jsonb_array_elements_text(j) t JOIN ev ON ctid = t::tid;
SELECT count(*) FROM noid WHERE ctid IN (SELECT ctid FROM noid WHERE v = 1);
DELETE FROM noid WHERE ctid IN (SELECT ctid FROM noid ORDER BY id LIMIT 1) AND v = 1 RETURNING id;
UPDATE noid SET v = v + 10 WHERE ctid = (SELECT ctid FROM noid ORDER BY id DESC LIMIT 1) RETURNING id, v;
SELECT id, v FROM noid WHERE ctid = (SELECT ctid FROM noid ORDER BY id DESC LIMIT 1);
INSERT INTO m SELECT id + 10000, v FROM m WHERE ctid IN (SELECT ctid FROM m WHERE v = 1);
SELECT count(*) FROM m WHERE id > 10000;
INSERT INTO m VALUES (20000, (SELECT count(*) FROM m a JOIN m b ON a.ctid = b.ctid));
SELECT v = (SELECT count(*) - 1 FROM m) FROM m WHERE id = 20000;
SELECT count(*) FROM ev e WHERE e.ctid IN (SELECT x.ctid FROM ev x WHERE x.id = e.id FOR UPDATE);
SELECT id FROM ev WHERE ctid IN (SELECT ctid FROM ev ORDER BY id LIMIT 3) FOR UPDATE;
CREATE TABLE copy_of AS SELECT ctid AS c, id FROM ev;
SELECT count(*) FROM copy_of JOIN ev ON ev.ctid = c AND ev.id = copy_of.id;
CREATE MATERIALIZED VIEW mv AS SELECT ctid AS c, id FROM ev;
SELECT count(*) FROM mv JOIN ev ON ev.ctid = c AND ev.id = mv.id;
SELECT count(*) FROM pg_class c JOIN ev ON c.ctid = ev.ctid WHERE false;
WITH RECURSIVE t AS (SELECT ctid AS c, id FROM ev WHERE id = 40 UNION ALL SELECT ev.ctid, ev.id FROM t JOIN ev ON ev.id = t.id + 1 AND ev.ctid <> t.c WHERE t.id < 60) SELECT count(*), count(DISTINCT c) FROM t;
