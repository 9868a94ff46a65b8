-- MERGE with RETURNING and merge_action() (version 17), by each way that writes go.
-- needs: 17
-- distribute: t(k), u(k) with t, v(k) shards 3, r reference, s single, s2 single, p(k), g(k), i(k), l local, log local
CREATE TABLE t (k int PRIMARY KEY, a int, b text DEFAULT 'b', c int GENERATED ALWAYS AS (a * 2) STORED);
CREATE TABLE u (k int, a int);
CREATE TABLE v (k int, a int);
CREATE TABLE r (i int PRIMARY KEY, a int);
CREATE TABLE s (k int PRIMARY KEY, a int);
CREATE TABLE s2 (k int PRIMARY KEY, a int);
CREATE TABLE p (k int, y int, a int) PARTITION BY RANGE (y);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5) TO (10);
CREATE TABLE g (k int PRIMARY KEY, a int, n int DEFAULT 0);
CREATE TABLE i (k int, n int GENERATED ALWAYS AS IDENTITY, a int);
CREATE TABLE l (i int, a int);
CREATE TABLE log (action text, k int);
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.k % 10 = 3 THEN RETURN NULL; END IF;
  NEW.n := COALESCE(NEW.n, 0) + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER g_counts BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION count_up();
CREATE VIEW tv AS SELECT k, a, b, a + 1 AS a1 FROM t WHERE k < 40;
CREATE VIEW tc AS SELECT k, a FROM t WHERE a < 100 WITH CHECK OPTION;
INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 30) g;
INSERT INTO u SELECT g, g * 10 FROM generate_series(20, 40) g;
INSERT INTO v SELECT g, g + 1 FROM generate_series(25, 35) g;
INSERT INTO r SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO s SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO s2 SELECT g, g FROM generate_series(5, 15) g;
INSERT INTO p SELECT g, g % 10, g FROM generate_series(1, 30) g;
INSERT INTO g SELECT g, g FROM generate_series(1, 30) g;
INSERT INTO i (k, a) SELECT g, g FROM generate_series(1, 30) g;
INSERT INTO l SELECT g, g FROM generate_series(1, 5) g;
-- setup ends

-- All kinds of actions: colocated, moved, local and reference sources.
BEGIN;
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k, u.a) RETURNING merge_action(), t.*, u.*;
SELECT * FROM t ORDER BY k;
ROLLBACK;
BEGIN;
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a + t.a, b = t.b || t.k
  WHEN NOT MATCHED BY TARGET THEN INSERT (k, a) VALUES (u.k, u.a) WHEN NOT MATCHED BY SOURCE AND t.k < 4 THEN DELETE
  WHEN NOT MATCHED BY SOURCE AND t.a > 3 THEN UPDATE SET a = -t.a RETURNING *, merge_action();
ROLLBACK;
BEGIN;
MERGE INTO t USING v ON t.k = v.a WHEN MATCHED THEN UPDATE SET a = v.k + t.a WHEN NOT MATCHED AND v.k > 33 THEN DO NOTHING
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (v.a, v.k) RETURNING t, v, t.a - v.k AS d, lower(merge_action()) AS m;
ROLLBACK;
BEGIN;
MERGE INTO t USING l ON t.k = l.i WHEN MATCHED AND l.i < 3 THEN DELETE WHEN MATCHED THEN UPDATE SET b = 'l' || l.a
  RETURNING t.k, t.b, l.a, CASE merge_action() WHEN 'DELETE' THEN 'gone' ELSE t.b END;
ROLLBACK;
BEGIN;
MERGE INTO t USING r ON t.k = r.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.k > 28 THEN UPDATE SET a = NULL RETURNING t.*, r.i, r.i IS NULL;
ROLLBACK;
BEGIN;
MERGE INTO t USING (VALUES (1, 'one'), (50, 'fifty')) AS x(k, w) ON t.k = x.k WHEN MATCHED THEN UPDATE SET b = w WHEN NOT MATCHED THEN INSERT (k, b) VALUES (x.k, w)
  RETURNING merge_action(), w, b, c;
ROLLBACK;
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DO NOTHING RETURNING merge_action(), t.k;
MERGE INTO t USING u ON t.k = u.k AND false WHEN MATCHED THEN DELETE RETURNING merge_action(), t.k;

-- One row, by parameters; a constant of the distribution column.
BEGIN;
-- params: 3, 33
-- params: 55, 5
MERGE INTO t USING (SELECT $1::int AS k, $2::int AS a) x ON t.k = x.k WHEN MATCHED THEN UPDATE SET a = x.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (x.k, x.a)
  RETURNING merge_action(), t.k, t.a, t.c, $2 + 1;
ROLLBACK;
BEGIN;
MERGE INTO t USING u ON t.k = u.k AND t.k = 22 WHEN MATCHED THEN UPDATE SET a = u.a RETURNING merge_action(), t.*;
MERGE INTO t USING u ON t.k = u.k AND t.k = 22 AND u.k = 22 WHEN MATCHED THEN DELETE RETURNING merge_action(), t.*, u.a;
ROLLBACK;

-- Rows that move to other shards, beside rows that are deleted; columns that nodes can't update.
BEGIN;
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET k = t.k + 1000, a = u.a
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k, u.a) RETURNING merge_action(), t.k, t.a, t.c, u.k;
SELECT * FROM t ORDER BY k;
ROLLBACK;
BEGIN;
MERGE INTO i USING u ON i.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET n = DEFAULT, a = u.a RETURNING merge_action(), i.k, i.a, i.n > 0;
ROLLBACK;

-- Other kinds of tables.
BEGIN;
MERGE INTO r USING v ON r.i = v.k - 20 WHEN MATCHED AND v.k < 28 THEN DELETE WHEN MATCHED THEN UPDATE SET a = v.a
  WHEN NOT MATCHED THEN INSERT VALUES (v.k, v.a) WHEN NOT MATCHED BY SOURCE AND i < 3 THEN DELETE RETURNING merge_action(), r, r.*, v.k;
SELECT * FROM r ORDER BY i;
ROLLBACK;
BEGIN;
MERGE INTO s USING s2 ON s.k = s2.k WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s2.k, s2.a)
  WHEN MATCHED THEN UPDATE SET a = 0 RETURNING merge_action(), s.*, s2.a;
ROLLBACK;
BEGIN;
MERGE INTO s USING v ON s.k = v.k - 20 WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.k, v.a)
  WHEN MATCHED THEN UPDATE SET a = v.a RETURNING merge_action(), s.*, v.*;
ROLLBACK;
BEGIN;
MERGE INTO p USING u ON p.k = u.k WHEN MATCHED AND u.k > 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a, y = 9 - y
  WHEN NOT MATCHED THEN INSERT VALUES (u.k, u.k % 10, u.a) WHEN NOT MATCHED BY SOURCE AND y = 7 THEN DELETE RETURNING merge_action(), p.*, p, u.k;
SELECT * FROM p ORDER BY k;
ROLLBACK;
BEGIN;
-- cluster fails: 0A000
MERGE INTO p USING u ON p.k = u.k WHEN MATCHED THEN DELETE RETURNING p.tableoid::regclass;
ROLLBACK;
BEGIN;
MERGE INTO l USING t ON l.i = t.k WHEN MATCHED THEN UPDATE SET a = t.a WHEN NOT MATCHED AND t.k > 28 THEN INSERT VALUES (t.k, t.a) RETURNING merge_action(), l.*, t.a;
ROLLBACK;
BEGIN;
-- triggers change rows, and leave some out
MERGE INTO g USING u ON g.k = u.k WHEN MATCHED AND u.k > 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a
  WHEN NOT MATCHED THEN INSERT VALUES (u.k, u.a, 7) RETURNING merge_action(), g.*, u.a;
ROLLBACK;

-- Views: their columns, and conditions that new rows must meet.
BEGIN;
MERGE INTO tv USING u ON tv.k = u.k WHEN MATCHED AND u.k > 27 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k + 100, u.a)
  RETURNING merge_action(), tv.*, u.k;
ROLLBACK;
BEGIN;
MERGE INTO tc USING u ON tc.k = u.k AND u.k < 30 WHEN MATCHED AND u.k < 25 THEN UPDATE SET a = u.k WHEN MATCHED THEN DELETE RETURNING merge_action(), tc.*;
ROLLBACK;
BEGIN;
UPDATE t SET a = 99 WHERE k = 1;
MERGE INTO tc USING l ON tc.k = l.i WHEN MATCHED THEN DELETE RETURNING merge_action(), tc.*;
ROLLBACK;
BEGIN;
-- both fail: 44000
MERGE INTO tc USING u ON tc.k = u.k WHEN MATCHED THEN UPDATE SET a = u.a;
ROLLBACK;
BEGIN;
-- both fail: 44000
MERGE INTO tc USING v ON tc.k = v.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (v.a, 100 + v.k) RETURNING merge_action();
ROLLBACK;

-- In WITH, functions and COPY; subqueries, which don't see what is written.
BEGIN;
WITH m AS (MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.k < 25 THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a
    WHEN NOT MATCHED THEN INSERT (k, a) VALUES (u.k, u.a) RETURNING merge_action() AS action, t.k, t.a)
  SELECT action, count(*), sum(a), min(k) FROM m GROUP BY action;
WITH m AS (MERGE INTO t USING v ON t.k = v.a WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED THEN INSERT (k) VALUES (v.a) RETURNING merge_action() AS action, t.k)
  INSERT INTO log SELECT * FROM m;
SELECT * FROM log ORDER BY k;
WITH m AS (MERGE INTO t USING l ON t.k = l.i WHEN MATCHED THEN DELETE RETURNING t.k, l.a) INSERT INTO u SELECT k, a FROM m RETURNING *;
ROLLBACK;
BEGIN;
MERGE INTO t USING v ON t.k = v.a WHEN MATCHED THEN UPDATE SET a = -1 RETURNING merge_action(), (SELECT max(a) FROM t x), (SELECT sum(u.a) FROM u WHERE u.k = t.k),
  (SELECT merge_action() || v.k FROM l LIMIT 1), EXISTS (SELECT FROM r WHERE r.i = t.k);
ROLLBACK;
BEGIN;
COPY (MERGE INTO t USING v ON t.k = v.a WHEN MATCHED THEN DELETE RETURNING merge_action(), t.k) TO STDOUT;
ROLLBACK;
CREATE FUNCTION merged(int) RETURNS TABLE (action text, k int, a int) LANGUAGE sql
  AS $$ MERGE INTO t USING v ON t.k = v.a AND v.a < $1 WHEN MATCHED THEN UPDATE SET a = t.a + v.k WHEN NOT MATCHED THEN DO NOTHING RETURNING merge_action(), t.k, t.a $$;
SELECT * FROM merged(28);
DO $$
DECLARE got record;
BEGIN
  MERGE INTO t USING (SELECT 7 AS k) x ON t.k = x.k WHEN MATCHED THEN UPDATE SET b = 'seven' RETURNING merge_action() AS action, t.k, t.b INTO STRICT got;
  INSERT INTO log VALUES (got.action || got.b, got.k);
END $$;
SELECT * FROM log;

-- Sources with computed columns below outer joins.
BEGIN;
MERGE INTO t USING (SELECT u.k, COALESCE(v.a, -1) AS a FROM u LEFT JOIN v USING (k)) x ON t.k = x.k WHEN MATCHED THEN UPDATE SET a = x.a
  WHEN NOT MATCHED THEN INSERT (k, a) VALUES (x.k, x.a) WHEN NOT MATCHED BY SOURCE AND t.k > 15 THEN UPDATE SET a = 0 RETURNING merge_action(), t.k, t.a, x.a, x;
MERGE INTO t USING (SELECT k, 'c' AS c, a + 1 AS a FROM v) x ON t.k = x.k WHEN NOT MATCHED BY SOURCE AND t.k < 5 THEN DELETE WHEN MATCHED THEN UPDATE SET a = x.a
  RETURNING merge_action(), t.k, x.c, x.a;
UPDATE t SET a = x.a FROM u LEFT JOIN (SELECT k, COALESCE(a, 0) AS a, 'c' AS c FROM v) x USING (k) WHERE u.k = t.k RETURNING t.k, x.a, x.c;
ROLLBACK;
-- both fail: 42803
MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE RETURNING sum(t.a);
-- both fail: 42601
SELECT merge_action() FROM t;
-- both fail: 21000
MERGE INTO t USING (SELECT 1 AS k FROM v) x ON t.k = x.k WHEN MATCHED THEN UPDATE SET a = 0 RETURNING merge_action();

SELECT * FROM t ORDER BY k;
