-- ctid of tables: batch deletes, queues, removal of duplicates. Values of ctid are not compared, but what they select.
-- distribute: ev(id), up(id), du(id), p(id), s single, m(id)

CREATE TABLE ev (id bigint, k int, v text);
CREATE TABLE up (id bigint, done bool DEFAULT false);
CREATE TABLE du (id bigint, email text);
CREATE TABLE p (id int, at date, v int) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE TABLE s (id int, v int);
CREATE TABLE m (id int, v int);
CREATE VIEW ev_view AS SELECT ctid AS place, * FROM ev;
INSERT INTO ev SELECT g, g % 10, 'v' || g FROM generate_series(1, 200) g;
INSERT INTO up SELECT g FROM generate_series(1, 64) g;
INSERT INTO du SELECT g, 'e' || (g % 5) FROM generate_series(1, 100) g;
INSERT INTO p SELECT g, date '2020-06-01' + g % 2 * 365, g FROM generate_series(1, 64) g;
INSERT INTO s SELECT g, g % 4 FROM generate_series(1, 20) g;
INSERT INTO m SELECT g, g % 4 FROM generate_series(1, 40) g;
-- setup ends

SELECT count(*), count(DISTINCT ctid) FROM ev;
SELECT count(*) FROM ev a JOIN ev b ON a.ctid = b.ctid;
SELECT count(*) FROM ev a JOIN ev b ON a.ctid = b.ctid AND a.id = b.id;
SELECT count(*) FROM (SELECT ctid FROM ev GROUP BY ctid HAVING count(*) > 1) x;
SELECT count(*) FROM ev WHERE ctid IN (SELECT ctid FROM ev WHERE k = 3);
SELECT count(*) FROM ev WHERE ctid = ANY (ARRAY(SELECT ctid FROM ev WHERE k = 3));
SELECT count(*) FROM ev WHERE ctid = (SELECT ctid FROM ev WHERE id = 17);
SELECT id FROM ev WHERE ctid = (SELECT ctid FROM ev WHERE id = 17);
SELECT count(*) FROM ev WHERE ctid <> (SELECT ctid FROM ev WHERE id = 17);
SELECT count(*) FROM ev WHERE ctid::text IN (SELECT ctid::text FROM ev WHERE k = 4);
SELECT count(*) FROM ev a WHERE EXISTS (SELECT FROM ev b WHERE b.ctid = a.ctid AND b.k = 5);
SELECT count(*) FROM ev a WHERE NOT EXISTS (SELECT FROM ev b WHERE b.ctid <> a.ctid AND b.id = a.id);
SELECT count(*) FROM ev_view a JOIN ev_view b USING (place);
SELECT a.id, b.id FROM ev a JOIN ev b ON a.ctid = b.ctid WHERE a.k = 7 AND a.id < 60 ORDER BY a.id;
SELECT count(*) FROM (SELECT DISTINCT ctid FROM ev WHERE id = 5 UNION SELECT ctid FROM ev WHERE id IN (5, 6)) x;
SELECT count(*) FROM ev WHERE ctid >= (SELECT min(ctid) FROM ev);
SELECT count(*) FROM ev WHERE ctid <= (SELECT max(ctid) FROM ev);
SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY ctid) AS n FROM ev) x WHERE n > 1;
SELECT count(*) FROM ev WHERE ctid = '(4294967295,65535)';
SELECT count(*) FROM ev WHERE id = 3 AND ctid = (SELECT ctid FROM ev WHERE id = 3);
SELECT count(*) FROM ev WHERE id = 3 AND ctid = (SELECT ctid FROM ev WHERE id = 4);

-- batch deletes and updates
DELETE FROM ev WHERE ctid IN (SELECT ctid FROM ev WHERE k = 3 ORDER BY id LIMIT 5);
SELECT count(*), sum(id) FROM ev;
DELETE FROM ev WHERE ctid = ANY (ARRAY(SELECT ctid FROM ev WHERE k = 3 ORDER BY id LIMIT 5)) RETURNING id, k;
DELETE FROM ev WHERE id = 11 AND ctid IN (SELECT ctid FROM ev WHERE id = 11 LIMIT 1);
SELECT count(*), sum(id) FROM ev;
UPDATE ev SET v = 'one' WHERE ctid = (SELECT ctid FROM ev ORDER BY id LIMIT 1) RETURNING id;
UPDATE ev SET v = 'few' WHERE ctid IN (SELECT ctid FROM ev ORDER BY id DESC LIMIT 7);
SELECT v, count(*) FROM ev WHERE v NOT LIKE 'v%' GROUP BY v ORDER BY v;
UPDATE up SET done = true WHERE ctid = (SELECT ctid FROM up ORDER BY id LIMIT 1);
SELECT count(*) FILTER (WHERE done) FROM up;
UPDATE up SET done = true WHERE ctid IN (SELECT ctid FROM up WHERE NOT done ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED) RETURNING id;
SELECT count(*) FILTER (WHERE done) FROM up;
WITH x AS (SELECT ctid AS c FROM up WHERE id = 7 FOR UPDATE) DELETE FROM up USING x WHERE up.ctid = x.c;
SELECT count(*) FROM up;
WITH x AS (DELETE FROM up WHERE ctid IN (SELECT ctid FROM up ORDER BY id LIMIT 2) RETURNING id) SELECT * FROM x ORDER BY id;
UPDATE up SET id = id + 1000 WHERE ctid = (SELECT ctid FROM up ORDER BY id LIMIT 1);
SELECT count(*), max(id) FROM up;

-- duplicates
DELETE FROM du a USING du b WHERE a.email = b.email AND a.ctid < b.ctid;
SELECT email, count(*) FROM du GROUP BY 1 ORDER BY 1;
INSERT INTO du SELECT g, 'e' || (g % 5) FROM generate_series(1, 100) g;
DELETE FROM du WHERE ctid NOT IN (SELECT min(ctid) FROM du GROUP BY email);
SELECT email, count(*) FROM du GROUP BY 1 ORDER BY 1;
INSERT INTO du SELECT g, 'e' || (g % 5) FROM generate_series(1, 100) g;
DELETE FROM du WHERE ctid IN (SELECT ctid FROM (SELECT ctid, row_number() OVER (PARTITION BY email) AS n FROM du) x WHERE n > 1);
SELECT email, count(*) FROM du GROUP BY 1 ORDER BY 1;

-- single shard
DELETE FROM s WHERE ctid IN (SELECT ctid FROM s ORDER BY id LIMIT 3);
DELETE FROM s a USING s b WHERE a.v = b.v AND a.ctid > b.ctid;
SELECT count(*) FROM s;

-- MERGE
MERGE INTO m USING (SELECT ctid AS c FROM m ORDER BY id LIMIT 3) x ON m.ctid = x.c WHEN MATCHED THEN UPDATE SET v = 100;
SELECT count(*) FROM m WHERE v = 100;
MERGE INTO m USING (SELECT ctid AS c, id FROM m ORDER BY id LIMIT 3) x ON m.ctid = x.c AND m.id = x.id WHEN MATCHED THEN DELETE;
SELECT count(*) FROM m;

-- partitions (ids of rows that PostgreSQL could confuse are not asked for)
SELECT count(*) FROM p a JOIN p b ON a.ctid = b.ctid AND a.tableoid = b.tableoid;
SELECT count(DISTINCT (tableoid, ctid)) FROM p;
DELETE FROM p WHERE (tableoid, ctid) IN (SELECT tableoid, ctid FROM p ORDER BY id LIMIT 5);
SELECT count(*), sum(id) FROM p;
DELETE FROM p1 WHERE ctid IN (SELECT ctid FROM p1 ORDER BY id LIMIT 5);
SELECT count(*), sum(id) FROM p;
UPDATE p2 SET v = 0 WHERE ctid = (SELECT ctid FROM p2 ORDER BY id LIMIT 1);
SELECT count(*) FROM p WHERE v = 0;

-- through a client: as text
DO $$
DECLARE place text; n int;
BEGIN
	FOR i IN 1..200 LOOP
		SELECT ctid::text INTO place FROM ev WHERE id = i;
		CONTINUE WHEN place IS NULL;
		SELECT count(*) INTO n FROM ev WHERE ctid = place::tid;
		IF n <> 1 THEN RAISE 'row % by ctid: %', i, n; END IF;
		EXECUTE format('UPDATE ev SET k = -1 WHERE ctid = %L AND id = %s', place, i);
		GET DIAGNOSTICS n = ROW_COUNT;
		IF n <> 1 THEN RAISE 'row % updated by ctid: %', i, n; END IF;
	END LOOP;
END $$;
SELECT k, count(*) FROM ev GROUP BY k;

-- a loop that empties the table in batches
CREATE FUNCTION purge(batch int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int; rounds int := 0;
BEGIN
	LOOP
		DELETE FROM ev WHERE ctid = ANY (ARRAY(SELECT ctid FROM ev LIMIT batch));
		GET DIAGNOSTICS n = ROW_COUNT;
		EXIT WHEN n = 0;
		rounds := rounds + 1;
	END LOOP;
	RETURN rounds;
END $$;
SELECT purge(50);
SELECT count(*) FROM ev;
INSERT INTO ev VALUES (1, 1, 'x') RETURNING ctid = (SELECT ctid FROM ev WHERE id = -1), id;

-- beside whole rows, xmin, tableoid and outer joins
SELECT count(*) FROM ev e WHERE ctid = ANY (ARRAY(SELECT ctid FROM ev)) AND e IS NOT NULL;
SELECT count(e), count(*) FROM m LEFT JOIN ev e ON e.id = m.id AND e.ctid = (SELECT ctid FROM ev WHERE id = 1 AND k = 1);
SELECT m.id, e FROM m LEFT JOIN ev e ON e.id = m.id AND e.ctid = (SELECT max(ctid) FROM ev WHERE id = 1) ORDER BY m.id LIMIT 3;
SELECT to_jsonb(e) FROM ev e WHERE ctid = (SELECT ctid FROM ev WHERE k = 1 ORDER BY id LIMIT 1);
SELECT e.*, e FROM ev e WHERE ctid <= (SELECT max(ctid) FROM ev);
SELECT count(*) FROM m a, LATERAL (SELECT b.ctid FROM m b WHERE b.ctid = a.ctid) x;
SELECT count(*) FROM m WHERE (ctid, id) IN (SELECT ctid, id FROM m WHERE v = 1);
SELECT tableoid::regclass, count(*), count(DISTINCT ctid) FROM m GROUP BY 1;
SELECT count(*) FROM m WHERE xmin::text IN (SELECT xmin::text FROM m) AND ctid IS NOT NULL;
SELECT count(*) FROM (SELECT ctid, id FROM m ORDER BY ctid LIMIT 5) x JOIN m USING (ctid);
SELECT count(*) FROM (SELECT ctid FROM m EXCEPT SELECT ctid FROM m WHERE v = 2) x;
SELECT count(*) FROM (SELECT unnest(array_agg(ctid)) AS c FROM m GROUP BY v) x JOIN m ON m.ctid = x.c;
SELECT v, count(DISTINCT ctid) FROM m GROUP BY v ORDER BY v;
SELECT id FROM m WHERE ctid IN (SELECT ctid FROM m WHERE v = 1) ORDER BY id;
CREATE TEMP TABLE places AS SELECT id, ctid AS place FROM m;
SELECT count(*) FROM places JOIN m ON m.ctid = place AND m.id = places.id;
DELETE FROM m USING places WHERE m.ctid = place AND m.v = 1;
UPDATE m SET v = v + 100 FROM places WHERE m.ctid = place AND places.id < 12;
SELECT id, v FROM m ORDER BY id;
BEGIN;
DECLARE c CURSOR FOR SELECT id, ctid FROM m ORDER BY id FOR UPDATE;
MOVE 2 IN c;
UPDATE m SET v = -5 WHERE CURRENT OF c;
COMMIT;
SELECT count(*) FROM m WHERE v = -5;
