-- MERGE with RETURNING OLD and NEW (version 18).
-- needs: 18
-- distribute: t(k), u(k) with t, v(k) shards 3, r reference, s single, p(k), g(k)
CREATE TABLE t (k int PRIMARY KEY, a int, b text DEFAULT 'b', c int GENERATED ALWAYS AS (a * 2) STORED, d int GENERATED ALWAYS AS (a * 3) VIRTUAL);
CREATE TABLE u (k int, a int);
CREATE TABLE v (k int, a int);
CREATE TABLE r (i int PRIMARY KEY, a int);
CREATE TABLE s (k int PRIMARY KEY, a int);
CREATE TABLE p (k int, y int, a int) PARTITION BY RANGE (y);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5) TO (10);
CREATE TABLE g (k int PRIMARY KEY, a int, n int DEFAULT 0);
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.n := COALESCE(NEW.n, 0) + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER g_counts BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION count_up();
CREATE VIEW tv AS SELECT k, a, b, a + 1 AS a1, 'const' AS d FROM t;
INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 30) g;
INSERT INTO u SELECT g, g * 10 FROM generate_series(20, 40) g;
INSERT INTO v SELECT g, g + 1 FROM generate_series(25, 35) g;
INSERT INTO r SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO s SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO p SELECT g, g % 10, g FROM generate_series(1, 30) g;
INSERT INTO g SELECT g, g FROM generate_series(1, 30) g;
-- setup ends

BEGIN;
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a, b = 'new'
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k, u.a) WHEN NOT MATCHED BY SOURCE AND t.k < 3 THEN DELETE
  RETURNING merge_action(), old.*, new.*, t.*, u.k;
ROLLBACK;
BEGIN;
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a, b = 'new'
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k, u.a) RETURNING old, new, t, old IS NULL, new IS NULL, old.ctid IS NULL, new.ctid IS NULL;
ROLLBACK;
BEGIN;
MERGE INTO t USING v ON t.k = v.a WHEN MATCHED AND v.k < 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = t.a + v.k, k = t.k + 100
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (v.a, v.k) RETURNING WITH (OLD AS o, NEW AS n) merge_action(), o.k, n.k, n.a - o.a, t.k, o.d, n.d, v;
ROLLBACK;
BEGIN;
MERGE INTO r USING v ON r.i = v.k - 20 WHEN MATCHED AND v.k < 28 THEN DELETE WHEN MATCHED THEN UPDATE SET a = v.a
  WHEN NOT MATCHED THEN INSERT VALUES (v.k, v.a) WHEN NOT MATCHED BY SOURCE AND i < 3 THEN DELETE RETURNING merge_action(), old, new, r.a, v.k;
ROLLBACK;
BEGIN;
MERGE INTO s USING v ON s.k = v.k - 20 WHEN MATCHED AND v.k < 28 THEN DELETE WHEN MATCHED THEN UPDATE SET a = v.a
  WHEN NOT MATCHED THEN INSERT VALUES (v.k, v.a) RETURNING merge_action(), old, new, s.a, v.k;
MERGE INTO s USING r ON s.k = r.i WHEN MATCHED THEN UPDATE SET a = r.a + 1 WHEN NOT MATCHED THEN INSERT VALUES (r.i, r.a) RETURNING old.a, new.a, merge_action();
ROLLBACK;
BEGIN;
MERGE INTO p USING u ON p.k = u.k WHEN MATCHED AND u.k > 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a, y = 9 - y
  WHEN NOT MATCHED THEN INSERT VALUES (u.k, u.k % 10, u.a) RETURNING merge_action(), old.*, new.*, p.a;
ROLLBACK;
BEGIN;
MERGE INTO g USING u ON g.k = u.k WHEN MATCHED AND u.k > 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a
  WHEN NOT MATCHED THEN INSERT VALUES (u.k, u.a, 7) RETURNING merge_action(), old.n, new.n, n;
ROLLBACK;
BEGIN;
MERGE INTO tv USING u ON tv.k = u.k WHEN MATCHED AND u.k > 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k, u.a)
  RETURNING merge_action(), old.*, new.*, tv.*;
ROLLBACK;
BEGIN;
MERGE INTO t USING v ON t.k = v.a WHEN MATCHED THEN UPDATE SET a = -1 WHEN NOT MATCHED THEN INSERT (k, a) VALUES (v.a, 0)
  RETURNING (SELECT old.a || merge_action()), (SELECT sum(u.a + new.a) FROM u WHERE u.k = old.k), COALESCE(new.a, old.a);
WITH m AS (MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE RETURNING old.a AS o, new.a AS n) SELECT count(*), sum(o), count(n) FROM m;
ROLLBACK;
-- params: 3
-- params: 99
MERGE INTO t USING (SELECT $1::int AS k) x ON t.k = x.k WHEN MATCHED THEN UPDATE SET a = t.a + 1 WHEN NOT MATCHED THEN INSERT (k, a) VALUES (x.k, 0) RETURNING old.a, new.a;
SELECT * FROM t ORDER BY k;
