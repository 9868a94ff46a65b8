-- OLD and NEW in RETURNING (version 18), by each way that writes go.
-- needs: 18
-- distribute: t(k), u(k) with t, v(k) shards 3, r reference, s single, p(k), g(k), l local
CREATE TABLE t (k int PRIMARY KEY, a int, b text DEFAULT 'b', c int GENERATED ALWAYS AS (a * 2) STORED);
CREATE TABLE u (k int, a int);
CREATE TABLE v (k int, a int);
CREATE TABLE r (i int PRIMARY KEY, a int);
CREATE TABLE s (k int PRIMARY KEY, a int);
CREATE TABLE p (k int, y int, a int, PRIMARY KEY (k, y)) PARTITION BY RANGE (y);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5) TO (10);
CREATE TABLE g (k int PRIMARY KEY, a int, n int DEFAULT 0);
CREATE TABLE l (i int, a int);
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.n := COALESCE(NEW.n, 0) + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER g_counts BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION count_up();
CREATE VIEW tv AS SELECT k, a + 1 AS a1, b FROM t;
CREATE VIEW gv AS SELECT k, a, a + n AS total FROM g;
INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 30) g;
INSERT INTO u SELECT g, g * 10 FROM generate_series(1, 30) g;
INSERT INTO v SELECT g, g + 1 FROM generate_series(1, 30) g;
INSERT INTO r SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO s SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO p SELECT g, g % 10, g FROM generate_series(1, 30) g;
INSERT INTO g SELECT g, g FROM generate_series(1, 30) g;
INSERT INTO l SELECT g, g FROM generate_series(1, 5) g;
-- setup ends

-- Sent as text.
INSERT INTO t VALUES (100, 1) RETURNING old.k, new.k, k, old, new, old.a IS NULL;
INSERT INTO t VALUES (101, 1), (102, 2), (103, 3) RETURNING old.k, new.k, old.*, new.*;
INSERT INTO t VALUES (100, 5) ON CONFLICT (k) DO UPDATE SET a = excluded.a RETURNING old.a, new.a, a;
INSERT INTO t VALUES (104, 5) ON CONFLICT (k) DO UPDATE SET a = excluded.a RETURNING old.a, new.a, a;
INSERT INTO t VALUES (100, 6), (105, 6) ON CONFLICT (k) DO UPDATE SET a = excluded.a RETURNING old.a, new.a, old IS NULL AS added;
INSERT INTO t VALUES (100, 7), (106, 7) ON CONFLICT DO NOTHING RETURNING old, new.a;
UPDATE t SET a = a + 1 WHERE k = 1 RETURNING old.a, new.a, a, old.c, new.c, old, new;
UPDATE t SET a = a + 1 WHERE k < 9 RETURNING k, old.a, new.a, new.a - old.a;
UPDATE t AS x SET a = a + 1 WHERE k = 2 RETURNING WITH (OLD AS o, NEW AS n) x.k, o.a, n.a, n.c - o.c;
UPDATE t SET b = upper(b) WHERE k = 2 RETURNING old.b || new.b;
DELETE FROM t WHERE k = 100 RETURNING old.a, new.a, a, old, new;
DELETE FROM t WHERE k > 100 RETURNING old.*, new.*;
-- params: 1
-- params: 2
UPDATE t SET a = a + $1 WHERE k = 3 RETURNING old.a + $1, new.a;
UPDATE s SET a = a + 1 RETURNING old.a, new.a;
INSERT INTO s VALUES (1, 1), (20, 1) ON CONFLICT (k) DO UPDATE SET a = s.a + 100 RETURNING old.a, new.a;
UPDATE r SET a = a + 1 WHERE i < 4 RETURNING old.a, new.a;
INSERT INTO r VALUES (1, 1), (20, 1) ON CONFLICT (i) DO UPDATE SET a = r.a + 100 RETURNING old.a, new.a;
DELETE FROM r WHERE i = 20 RETURNING old.a, new.a;

-- Joins and subqueries, colocated and not.
UPDATE t SET a = u.a FROM u WHERE u.k = t.k AND t.k < 6 RETURNING t.k, old.a, new.a, u.a;
UPDATE t SET a = v.a FROM v WHERE v.k = t.k AND t.k < 6 RETURNING t.k, old.a, new.a, v.a;
UPDATE t SET a = v.a FROM v WHERE v.a = t.a RETURNING t.k, old.a, new.a, old, new, v;
UPDATE t SET a = l.a FROM l WHERE l.i = t.k RETURNING t.k, old.a, new.a, l.a;
UPDATE t SET a = r.a FROM r WHERE r.i = t.k RETURNING t.k, old.a, new.a, r.i;
DELETE FROM t USING v WHERE v.a = t.a AND t.k > 20 RETURNING old.k, new.k, v.k IS NOT NULL;
INSERT INTO t SELECT k + 200, a FROM u WHERE k < 5 RETURNING old.k, new.k, new.c;
INSERT INTO t SELECT a + 300, k FROM v WHERE k < 5 RETURNING old, new.k, new.c;
INSERT INTO t SELECT a + 300, k + 1 FROM v WHERE k < 7 ON CONFLICT (k) DO NOTHING RETURNING old.k, new.k;
UPDATE t SET a = (SELECT max(a) FROM v) WHERE k < 4 RETURNING old.a, new.a;
UPDATE t SET a = a + 1 WHERE a IN (SELECT a FROM v) RETURNING k, old.a, new.a;

-- Computed here.
UPDATE t SET a = floor(random() * 0)::int + k WHERE k < 8 RETURNING k, old.a, new.a, old.c, new.c;
UPDATE t SET k = k + 1000 WHERE k < 5 RETURNING old.k, new.k, k, old, new;
UPDATE t SET k = k - 1000 WHERE k > 1000 RETURNING old.k, new.k, old.k - new.k;
DELETE FROM t WHERE k = floor(random() * 0)::int + 8 RETURNING old.a, new.a, old, new;
UPDATE t SET a = 1 WHERE k < 4 RETURNING old.a, (SELECT count(*) FROM v WHERE v.a <= old.a), (SELECT new.a + old.a + max(v.k) FROM v);
UPDATE t SET a = 2 WHERE k < 4 RETURNING CASE WHEN old.a = new.a THEN 'same' ELSE 'other' END, (SELECT o FROM (SELECT old.a AS o) x);
DELETE FROM t WHERE k = 3 RETURNING (SELECT count(*) FROM v WHERE v.a <= new.a), (SELECT old.a + max(v.k) FROM v);
UPDATE r SET a = floor(random() * 0)::int + i RETURNING old.a, new.a;
UPDATE s SET a = (SELECT max(a) FROM v) RETURNING old.a, new.a;
UPDATE p SET a = a + 1 WHERE k < 5 RETURNING old.a, new.a;
UPDATE p SET y = 9 - y WHERE k < 5 RETURNING old.y, new.y, old, new;
UPDATE p SET a = v.a FROM v WHERE v.a = p.a AND v.k < 6 RETURNING p.k, old.a, new.a, old.tableoid::regclass;
DELETE FROM p WHERE k < 3 RETURNING old.y, new.y;

-- Triggers.
INSERT INTO g VALUES (100, 1, 5), (101, 1, NULL) RETURNING old.n, new.n, n;
UPDATE g SET a = a + 1 WHERE k < 4 RETURNING old.n, new.n, old.a, new.a;
UPDATE g SET k = k + 1000 WHERE k = 4 RETURNING old, new;
DELETE FROM g WHERE k < 4 RETURNING old.n, new.n;
INSERT INTO g VALUES (5, 1), (200, 1) ON CONFLICT (k) DO NOTHING RETURNING old.n, new.n;

-- Views, CTEs, PL/pgSQL.
UPDATE tv SET b = 'v' WHERE k = 6 RETURNING old.a1, new.a1, old.b, new.b, old, new;
UPDATE tv SET b = 'w' FROM v WHERE v.a = tv.a1 AND v.k < 6 RETURNING tv.k, old.a1, new.a1, old.b, new.b, old, new;
INSERT INTO tv (k, b) VALUES (400, 'x') RETURNING old.a1, new.a1, old.b, new.b;
INSERT INTO tv (k, b) SELECT v.a + 400, 'x' FROM v WHERE k < 4 RETURNING old.a1, new.a1, old.b, new.b, old.k, old;
DELETE FROM tv USING v WHERE tv.k >= 400 AND v.a = tv.k - 400 RETURNING old.a1, new.a1, old.k, new.k;
UPDATE gv SET a = 50 WHERE k < 8 RETURNING old.total, new.total;
WITH w AS (UPDATE t SET a = a + 10 WHERE k < 9 RETURNING k, old.a AS o, new.a AS n) SELECT sum(n - o), count(*) FROM w;
WITH w AS (UPDATE t SET a = a + 10 WHERE k < 9 RETURNING k, old.a AS o, new.a AS n), x AS (INSERT INTO v SELECT k, o FROM w RETURNING old.a, new.a)
  SELECT count(*), count(a) FROM x AS x(a, b);
DO $$
DECLARE
  before int;
  after int;
BEGIN
  UPDATE t SET a = a + 1 WHERE k = 9 RETURNING old.a, new.a INTO before, after;
  IF after - before <> 1 THEN
    RAISE EXCEPTION 'wrong';
  END IF;
END $$;

-- Columns of the system.
UPDATE t SET a = a WHERE k = 10 RETURNING old.ctid = new.ctid, old.ctid = t.ctid, old.tableoid::regclass, new.tableoid = old.tableoid;
DELETE FROM t WHERE k = 10 RETURNING old.ctid IS NULL, new.ctid, old.xmax IS NULL;

-- ON CONFLICT DO UPDATE, computed here.
INSERT INTO t (k, a) SELECT k + 2, k + 100 FROM v WHERE k BETWEEN 9 AND 14 ON CONFLICT (k) DO UPDATE SET a = excluded.a
  RETURNING k, old.a, new.a, old, new, old.c, old IS NULL, (SELECT count(*) FROM v WHERE v.k < old.k);
INSERT INTO t VALUES (12, floor(random() * 0)::int), (501, 1) ON CONFLICT (k) DO UPDATE SET a = excluded.a, b = 'again'
  RETURNING old.*, new.*, old.ctid IS NULL, old.tableoid::regclass;
INSERT INTO tv (k, b) VALUES (12, 'v'), (502, 'v') ON CONFLICT (k) DO UPDATE SET b = excluded.b
  RETURNING k, old.a1, new.a1, old.b, new.b, old IS NULL;
INSERT INTO tv (k, b) VALUES (503, 'v') ON CONFLICT (k) DO UPDATE SET b = excluded.b RETURNING k, old.a1, new.a1;
INSERT INTO r SELECT k, a FROM v WHERE k BETWEEN 9 AND 12 ON CONFLICT (i) DO UPDATE SET a = excluded.a RETURNING i, old.a, new.a;
INSERT INTO s SELECT k, a FROM v WHERE k BETWEEN 9 AND 12 ON CONFLICT (k) DO UPDATE SET a = excluded.a RETURNING k, old.a, new.a;
INSERT INTO p SELECT k, k % 10, a FROM v WHERE k BETWEEN 29 AND 31 ON CONFLICT (k, y) DO UPDATE SET a = 0 RETURNING k, old.a, new.a;

-- Not with row triggers, or if the nodes can't execute it.
BEGIN;
-- cluster fails: 0A000
INSERT INTO g VALUES (5, 1), (201, 1) ON CONFLICT (k) DO UPDATE SET a = g.a + 1 RETURNING old.n, new.n;
ROLLBACK;
BEGIN;
-- cluster fails: 0A000
INSERT INTO t VALUES (12, 1), (504, 1) ON CONFLICT (k) DO UPDATE SET a = (SELECT max(a) FROM v WHERE v.k > t.k) RETURNING old.a;
ROLLBACK;
INSERT INTO g VALUES (5, 1), (202, 1) ON CONFLICT (k) DO UPDATE SET a = 7 RETURNING new.k, new.a;
-- both fail: 42P01
UPDATE t SET a = old.a WHERE k = 1;
SELECT * FROM t ORDER BY k;
SELECT * FROM g ORDER BY k;
SELECT * FROM r ORDER BY i;
SELECT * FROM p ORDER BY k, y;
