-- Virtual generated columns (version 18) where the initiator computes writes, and in OLD and NEW.
-- needs: 18
-- distribute: t(k), u(k) with t, r reference, n reference, g(k), p(k), l local, log local
CREATE TABLE t (k int PRIMARY KEY, a int, b text DEFAULT 'b', d int GENERATED ALWAYS AS (a * 3) VIRTUAL, e text GENERATED ALWAYS AS (b || k) VIRTUAL);
CREATE TABLE u (k int, a int);
CREATE TABLE r (k int PRIMARY KEY, a int, d int GENERATED ALWAYS AS (a * 3) VIRTUAL, b text DEFAULT 'b');
CREATE TABLE n (k int, d int GENERATED ALWAYS AS (a * 3) VIRTUAL, a int);
CREATE TABLE g (k int PRIMARY KEY, a int, d int GENERATED ALWAYS AS (a * 3) VIRTUAL);
CREATE TABLE p (k int, a int, d int GENERATED ALWAYS AS (a * 3) VIRTUAL) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5) TO (1000);
CREATE TABLE l (i int, a int);
CREATE TABLE log (old text, new text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (OLD.k || ' ' || OLD.a, NEW.k || ' ' || NEW.a); RETURN NEW; END $$;
CREATE TRIGGER g_notes AFTER UPDATE ON g FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t (k, a) SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO u SELECT g, g FROM generate_series(1, 5) g;
INSERT INTO r (k, a) SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO n (k, a) SELECT g % 3, g % 2 FROM generate_series(1, 10) g;
INSERT INTO g (k, a) SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO p (k, a) SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO l SELECT g, g FROM generate_series(3, 12) g;
-- setup ends

-- Rows that move keep the columns that aren't assigned.
UPDATE t SET k = k + 100 WHERE k > 8 RETURNING *;
UPDATE t SET k = t.k + 100 FROM u WHERE u.a = t.k AND u.k = 1 RETURNING t.*, old, new, old.d, new.e;
UPDATE t SET a = t.a + 1 FROM u WHERE u.a = t.k RETURNING old, new, t, old.d, new.d, d, e;
UPDATE t SET a = a + 1 WHERE d > 20 RETURNING old.d, new.d, old.e || new.e;
UPDATE t SET a = a + 1 WHERE k = 2 RETURNING old, old.d, new.d;
DELETE FROM t USING l WHERE l.i = t.k AND l.a = 4 RETURNING old, old.d, new, new.d, d;
INSERT INTO t (k, a) SELECT i, a FROM l ON CONFLICT (k) DO UPDATE SET a = excluded.a + t.d RETURNING old.d, new.d, old, new;
INSERT INTO t (k, a) SELECT i, a FROM l WHERE i < 8 ON CONFLICT (k) DO UPDATE SET a = excluded.d + t.d + (SELECT max(a) FROM u), b = t.e RETURNING d, e, t;
MERGE INTO t USING u ON t.k = u.a + 2 WHEN MATCHED AND t.d % 2 = 0 THEN UPDATE SET k = t.k + 50, a = t.d WHEN MATCHED THEN DELETE
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k + 1000, u.a) RETURNING merge_action(), t.k, t.a, t.d, old.d, new.d, new.e, t, old, new;
SELECT * FROM t ORDER BY k;

-- Rows of reference tables are the same on all nodes, with and without a key.
UPDATE r SET a = u.a + 10 FROM u WHERE u.a = r.k RETURNING r.*, old.d;
DELETE FROM r USING u WHERE u.k = r.k AND u.k > 4 RETURNING r.d;
UPDATE n SET a = u.a + n.d FROM u WHERE u.a = n.k RETURNING n.*, old.d;
MERGE INTO n USING u ON n.k = u.k AND u.k = 2 WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND u.k = 5 THEN INSERT (k, a) VALUES (u.k, u.a) RETURNING merge_action(), n.*;
SELECT * FROM r ORDER BY k;
SELECT * FROM n ORDER BY k, a;

-- Triggers get the old row.
UPDATE g SET a = u.a + 10 FROM u WHERE u.a = g.k RETURNING g.*;
UPDATE g SET a = a + 1 WHERE k > 8;
SELECT * FROM log ORDER BY old;

-- Partitions.
UPDATE p SET a = p.a + 3 FROM u WHERE u.a = p.k RETURNING p.*, old.d, new.d;
UPDATE p SET k = k + 10, a = 7 WHERE k < 4;
DELETE FROM p USING l WHERE l.i = p.k AND p.d > 20 RETURNING p.*, old;
SELECT * FROM p ORDER BY k;
