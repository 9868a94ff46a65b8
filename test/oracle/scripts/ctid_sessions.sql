-- ctid in transactions, savepoints, functions, triggers, policies and views with a check option.
-- distribute: q(id), o(k), l local
DROP ROLE IF EXISTS o_ctid_reader;
CREATE TABLE q (id int PRIMARY KEY, k int, v text, done bool DEFAULT false);
CREATE TABLE o (k int, n int);
CREATE TABLE l (c tid, id int);
INSERT INTO q SELECT g, g % 5, 'v' || g FROM generate_series(1, 80) g;
INSERT INTO o SELECT g % 9, g FROM generate_series(1, 40) g;
CREATE FUNCTION take(n int) RETURNS SETOF q LANGUAGE plpgsql AS $$
BEGIN
 RETURN QUERY UPDATE q SET done = true WHERE ctid = ANY (ARRAY(SELECT ctid FROM q WHERE NOT done ORDER BY id LIMIT n FOR UPDATE SKIP LOCKED)) RETURNING *;
END $$;
CREATE FUNCTION dedupe() RETURNS int LANGUAGE plpgsql AS $$
DECLARE r record; n int := 0;
BEGIN
 FOR r IN SELECT a.ctid AS c, a.k FROM o a WHERE EXISTS (SELECT FROM o b WHERE b.k = a.k AND b.ctid < a.ctid) LOOP
  BEGIN
   DELETE FROM o WHERE o.ctid = r.c AND o.k = r.k;
   IF FOUND THEN n := n + 1; END IF;
   IF n % 7 = 0 THEN RAISE EXCEPTION 'undo'; END IF;
  EXCEPTION WHEN raise_exception THEN n := n - 1; END;
 END LOOP;
 RETURN n;
END $$;
CREATE FUNCTION old_place() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO l SELECT ctid, OLD.id FROM q WHERE id = OLD.id; RETURN OLD; END $$;
CREATE TRIGGER t BEFORE DELETE ON q FOR EACH ROW EXECUTE FUNCTION old_place();
-- setup ends
SELECT id, done FROM take(3) ORDER BY id;
SELECT id, done FROM take(3) ORDER BY id;
BEGIN; SELECT count(*) FROM take(4); SAVEPOINT a; SELECT count(*) FROM take(4); ROLLBACK TO a; SELECT count(*) FROM q WHERE done; COMMIT;
SELECT count(*) FROM q WHERE done;
SELECT dedupe() > 0;
SELECT count(DISTINCT k) FROM o;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TEMP TABLE p AS SELECT ctid AS c, id FROM q WHERE k = 1;
UPDATE q SET v = 'rr' WHERE ctid IN (SELECT c FROM p WHERE id < 30);
SELECT count(*) FROM q WHERE v = 'rr';
SELECT count(*) FROM p JOIN q ON q.ctid = p.c;
UPDATE q SET v = 'rr2' WHERE ctid IN (SELECT c FROM p);
SELECT v, count(*) FROM q WHERE k = 1 GROUP BY 1 ORDER BY 1;
COMMIT;
DELETE FROM q WHERE ctid = (SELECT ctid FROM q WHERE id = 40) RETURNING id;
DELETE FROM q WHERE ctid IN (SELECT ctid FROM q WHERE k = 2 ORDER BY id LIMIT 2) RETURNING id;
SELECT count(*), count(DISTINCT c) FROM l;
-- an update makes another version
BEGIN;
SELECT count(*) FROM (SELECT ctid AS c FROM q WHERE id = 50) x JOIN q ON q.ctid = c;
CREATE TEMP TABLE one AS SELECT ctid AS c FROM q WHERE id = 50;
UPDATE q SET v = 'x' WHERE id = 50;
SELECT count(*) FROM one JOIN q ON q.ctid = c;
DELETE FROM q USING one WHERE q.ctid = c;
SELECT count(*) FROM q WHERE id = 50;
ROLLBACK;
ALTER TABLE q ENABLE ROW LEVEL SECURITY;
CREATE POLICY pol ON q USING (ctid IS NOT NULL AND k <> 3);
CREATE ROLE o_ctid_reader;
GRANT SELECT, INSERT, DELETE, UPDATE ON q TO o_ctid_reader;
GRANT INSERT ON l TO o_ctid_reader;
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO o_ctid_reader', current_schema()); END $$;
BEGIN;
SET LOCAL ROLE o_ctid_reader;
SELECT count(*) FROM q;
DELETE FROM q WHERE ctid IN (SELECT ctid FROM q ORDER BY id LIMIT 3) RETURNING k;
UPDATE q SET v = 'seen' WHERE ctid = ANY (ARRAY(SELECT ctid FROM q ORDER BY id LIMIT 5)) RETURNING k <> 3;
UPDATE q SET id = id + 1000 WHERE id IN (70, 71, 72, 74, 75) RETURNING id, ctid IS NOT NULL;
UPDATE q SET id = id + 1000 WHERE ctid IN (SELECT ctid FROM q ORDER BY id LIMIT 5) RETURNING k <> 3;
INSERT INTO q VALUES (900, 1, 'new'), (901, 2, 'new') RETURNING id, ctid IS NOT NULL;
INSERT INTO q VALUES (900, 1, 'again') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING v;
SELECT id, v FROM q WHERE id > 899 ORDER BY id;
ROLLBACK;
-- a row that isn't stored yet
ALTER POLICY pol ON q USING (k <> 3) WITH CHECK (ctid::text = '(4294967295,0)' AND xmin IS NOT NULL AND k < 5);
BEGIN;
SET LOCAL ROLE o_ctid_reader;
UPDATE q SET id = id + 1000 WHERE id IN (70, 71, 72, 74, 75) RETURNING id;
INSERT INTO q SELECT g, 1, 'new' FROM generate_series(900, 909) g;
INSERT INTO q VALUES (900, 1, 'again') ON CONFLICT (id) DO UPDATE SET id = 1900 RETURNING id;
SAVEPOINT a;
-- against the policy
UPDATE q SET id = id + 1000, k = 9 WHERE id = 77;
ROLLBACK;
DROP POLICY pol ON q;
DROP OWNED BY o_ctid_reader;
DROP ROLE o_ctid_reader;
-- views with check option
CREATE VIEW cv AS SELECT ctid AS c, * FROM q WHERE k < 3 WITH CHECK OPTION;
UPDATE cv SET v = 'cv' WHERE c IN (SELECT c FROM cv ORDER BY id LIMIT 3) RETURNING id;
-- both fail: 44000
UPDATE cv SET k = 4 WHERE c = (SELECT c FROM cv ORDER BY id LIMIT 1);
INSERT INTO l SELECT c, id FROM cv WHERE id < 20;
SELECT count(*) FROM l JOIN q ON q.ctid = l.c AND q.id = l.id;
SELECT count(*) FROM q FULL JOIN (SELECT ctid AS c, id FROM q) y ON q.ctid = y.c AND q.id = y.id WHERE q.id IS NULL OR y.id IS NULL;
WITH t AS (SELECT ctid AS c, ntile(4) OVER (ORDER BY id) AS n FROM q) SELECT n, count(*) FROM t JOIN q ON q.ctid = t.c GROUP BY 1 ORDER BY 1;
DELETE FROM q WHERE ctid = ANY (SELECT ctid FROM q WHERE k = 4);
SELECT count(*) FROM q WHERE k = 4;
DELETE FROM q WHERE ctid = ALL (SELECT ctid FROM q WHERE id = 60);
SELECT count(*) FROM q;
DELETE FROM q WHERE NOT ctid = ANY (ARRAY(SELECT ctid FROM q WHERE id > 20));
SELECT count(*), min(id) FROM q;
UPDATE q SET v = (SELECT string_agg(b.v, ',' ORDER BY b.id) FROM q b WHERE b.ctid = q.ctid OR b.id = 61) RETURNING length(v) > 0;
TRUNCATE q;
INSERT INTO q SELECT g, 1, 'n' FROM generate_series(1, 5) g RETURNING id, ctid IS NOT NULL;
SELECT count(*) FROM q a, q b WHERE a.ctid = b.ctid;
