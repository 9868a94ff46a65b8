-- ON CONFLICT DO UPDATE of rows that another part of the same WITH writes: a single server refuses these (21000), since it
-- can't update what the statement has written; rows that a part has deleted are gone; a part that comes later passes over
-- what an earlier one has written.
-- distribute: t(id), tt(id), p(id), q(id), o(id), r reference
CREATE TABLE t (id int PRIMARY KEY, v int, w int);
CREATE TABLE tt (id int, v int, w int, PRIMARY KEY (id));
CREATE TABLE o (id int PRIMARY KEY, v int);
CREATE TABLE r (id int PRIMARY KEY, v int, w int);
INSERT INTO o VALUES (1, 10), (2, 20), (3, 30);
CREATE FUNCTION bump() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.w := coalesce(NEW.w, 0) + 1; RETURN NEW; END $$;
CREATE TRIGGER bump BEFORE INSERT OR UPDATE ON tt FOR EACH ROW EXECUTE FUNCTION bump();
CREATE TABLE p (id int, v int, w int, PRIMARY KEY (id, w)) PARTITION BY RANGE (w);
CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (10) TO (20);
CREATE TABLE q (id int PRIMARY KEY, v int, w int);
INSERT INTO p SELECT i, i * 10, i * 3 FROM generate_series(1, 5) i;
-- setup ends

-- insert cte then upsert main, referenced
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (100,1,1) RETURNING id, v) INSERT INTO t SELECT id, v+1 FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM t;

-- insert cte not referenced; upsert main same key
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (100,1,1)) INSERT INTO t VALUES (100,2,2) ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- update cte, upsert main
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id = 1 RETURNING id) INSERT INTO t SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- update cte unreferenced
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id = 1) INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- update cte many, multi-shard, upsert const
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 RETURNING id) INSERT INTO t SELECT max(id), 5 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- delete cte, upsert
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM t WHERE id = 1 RETURNING id, v) INSERT INTO t SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- delete cte unreferenced
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM t WHERE id = 1) INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- delete all, upsert all
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM t RETURNING id, v) INSERT INTO t SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- upsert in cte, then upsert main, other key
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v) INSERT INTO t SELECT id + 1, v FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- upsert in cte, same key
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v) INSERT INTO t SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- two upsert ctes
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v), b AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v) SELECT * FROM a, b;
SELECT * FROM t;

-- upsert cte, update main of same row
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v) UPDATE t SET v = t.v + 100 FROM a WHERE t.id = a.id;
SELECT * FROM t;

-- upsert cte, delete main of same row
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v) DELETE FROM t USING a WHERE t.id = a.id;
SELECT * FROM t;

-- insert cte, do nothing main
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (100,1,1) RETURNING id, v) INSERT INTO t SELECT id, v+1 FROM a ON CONFLICT (id) DO NOTHING;
SELECT * FROM t;

-- insert cte, do update with WHERE false
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (100,1,1) RETURNING id, v) INSERT INTO t SELECT id, v+1 FROM a ON CONFLICT (id) DO UPDATE SET v = 1 WHERE t.v = 99;
SELECT * FROM t;

-- update cte, do update with WHERE false
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id = 1 RETURNING id) INSERT INTO t SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000 WHERE t.v = 99;
SELECT * FROM t;

-- delete one, upsert other written earlier in the transaction
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
BEGIN;
UPDATE t SET v = v + 1;
WITH a AS (DELETE FROM t WHERE id = 1 RETURNING id, v) INSERT INTO t SELECT id + 1, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
COMMIT;
SELECT * FROM t;

-- update cte of other table
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE o SET v = v + 1 RETURNING id, v) INSERT INTO t SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM t;

-- update cte of one row, upsert of others
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id IN (1,2) RETURNING id, v) INSERT INTO t SELECT id + 2, v FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM t;

-- MERGE main with upsert cte
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO o VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = o.v + 1 RETURNING id, v) INSERT INTO t SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000 RETURNING *;
SELECT * FROM t;

-- upsert with subquery in SET after update cte
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id = 1 RETURNING id, v) INSERT INTO t SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
SELECT * FROM t;

-- upsert with subquery in SET after update cte other row
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id = 1 RETURNING id, v) INSERT INTO t SELECT id+1, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
SELECT * FROM t;

-- delete cte depends on main upsert
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5),(9,9) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v), b AS (DELETE FROM t USING a WHERE t.id = a.id RETURNING t.*) SELECT * FROM b;
SELECT * FROM t;

-- update all in cte and upsert of a new row
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 RETURNING id, v) INSERT INTO t SELECT id+100, v FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;

-- cte upsert unreferenced, main update of the same
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1) UPDATE t SET v = v + 100 WHERE id IN (1, 2);
SELECT * FROM t;

-- cte upsert unreferenced, main delete of all
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1) DELETE FROM t;
SELECT * FROM t;

-- cte upsert unreferenced of one, main insert of same
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t VALUES (101, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1) INSERT INTO t VALUES (101, 1);
SELECT * FROM t;

-- one shard all routed
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET v = v + 1 WHERE id = 1) INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1000 RETURNING v;
SELECT * FROM t;

-- insert cte multi rows, upsert of many
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO t SELECT i, i FROM generate_series(50, 60) i RETURNING id) INSERT INTO t SELECT i, 0 FROM generate_series(58, 70) i ON CONFLICT (id) DO UPDATE SET v = -1;
SELECT * FROM t;

-- insert cte then upsert main, referenced
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (100,1,1) RETURNING id, v) INSERT INTO tt SELECT id, v+1 FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM tt;

-- insert cte not referenced; upsert main same key
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (100,1,1)) INSERT INTO tt VALUES (100,2,2) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- update cte, upsert main
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id = 1 RETURNING id) INSERT INTO tt SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- update cte unreferenced
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id = 1) INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- update cte many, multi-shard, upsert const
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 RETURNING id) INSERT INTO tt SELECT max(id), 5 FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- delete cte, upsert
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM tt WHERE id = 1 RETURNING id, v) INSERT INTO tt SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- delete cte unreferenced
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM tt WHERE id = 1) INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- delete all, upsert all
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM tt RETURNING id, v) INSERT INTO tt SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- upsert in cte, then upsert main, other key
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v) INSERT INTO tt SELECT id + 1, v FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- upsert in cte, same key
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v) INSERT INTO tt SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- two upsert ctes
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v), b AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v) SELECT * FROM a, b;
SELECT * FROM tt;

-- upsert cte, update main of same row
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v) UPDATE tt SET v = tt.v + 100 FROM a WHERE tt.id = a.id;
SELECT * FROM tt;

-- upsert cte, delete main of same row
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v) DELETE FROM tt USING a WHERE tt.id = a.id;
SELECT * FROM tt;

-- insert cte, do nothing main
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (100,1,1) RETURNING id, v) INSERT INTO tt SELECT id, v+1 FROM a ON CONFLICT (id) DO NOTHING;
SELECT * FROM tt;

-- insert cte, do update with WHERE false
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (100,1,1) RETURNING id, v) INSERT INTO tt SELECT id, v+1 FROM a ON CONFLICT (id) DO UPDATE SET v = 1 WHERE tt.v = 99;
SELECT * FROM tt;

-- update cte, do update with WHERE false
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id = 1 RETURNING id) INSERT INTO tt SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000 WHERE tt.v = 99;
SELECT * FROM tt;

-- delete one, upsert other written earlier in the transaction
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
BEGIN;
UPDATE tt SET v = v + 1;
WITH a AS (DELETE FROM tt WHERE id = 1 RETURNING id, v) INSERT INTO tt SELECT id + 1, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
COMMIT;
SELECT * FROM tt;

-- update cte of other table
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE o SET v = v + 1 RETURNING id, v) INSERT INTO tt SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM tt;

-- update cte of one row, upsert of others
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id IN (1,2) RETURNING id, v) INSERT INTO tt SELECT id + 2, v FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM tt;

-- MERGE main with upsert cte
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO o VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = o.v + 1 RETURNING id, v) INSERT INTO tt SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000 RETURNING *;
SELECT * FROM tt;

-- upsert with subquery in SET after update cte
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id = 1 RETURNING id, v) INSERT INTO tt SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
SELECT * FROM tt;

-- upsert with subquery in SET after update cte other row
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id = 1 RETURNING id, v) INSERT INTO tt SELECT id+1, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
SELECT * FROM tt;

-- delete cte depends on main upsert
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5),(9,9) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1 RETURNING id, v), b AS (DELETE FROM tt USING a WHERE tt.id = a.id RETURNING tt.*) SELECT * FROM b;
SELECT * FROM tt;

-- update all in cte and upsert of a new row
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 RETURNING id, v) INSERT INTO tt SELECT id+100, v FROM a ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000;
SELECT * FROM tt;

-- cte upsert unreferenced, main update of the same
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1) UPDATE tt SET v = v + 100 WHERE id IN (1, 2);
SELECT * FROM tt;

-- cte upsert unreferenced, main delete of all
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1) DELETE FROM tt;
SELECT * FROM tt;

-- cte upsert unreferenced of one, main insert of same
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt VALUES (101, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1) INSERT INTO tt VALUES (101, 1);
SELECT * FROM tt;

-- one shard all routed
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE tt SET v = v + 1 WHERE id = 1) INSERT INTO tt VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = tt.v + 1000 RETURNING v;
SELECT * FROM tt;

-- insert cte multi rows, upsert of many
DELETE FROM tt;
INSERT INTO tt VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO tt SELECT i, i FROM generate_series(50, 60) i RETURNING id) INSERT INTO tt SELECT i, 0 FROM generate_series(58, 70) i ON CONFLICT (id) DO UPDATE SET v = -1;
SELECT * FROM tt;

-- insert cte then upsert main, referenced
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (100,1,1) RETURNING id, v) INSERT INTO r SELECT id, v+1 FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM r;

-- insert cte not referenced; upsert main same key
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (100,1,1)) INSERT INTO r VALUES (100,2,2) ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- update cte, upsert main
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id = 1 RETURNING id) INSERT INTO r SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- update cte unreferenced
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id = 1) INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- update cte many, multi-shard, upsert const
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 RETURNING id) INSERT INTO r SELECT max(id), 5 FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- delete cte, upsert
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM r WHERE id = 1 RETURNING id, v) INSERT INTO r SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- delete cte unreferenced
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM r WHERE id = 1) INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- delete all, upsert all
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (DELETE FROM r RETURNING id, v) INSERT INTO r SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- upsert in cte, then upsert main, other key
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v) INSERT INTO r SELECT id + 1, v FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- upsert in cte, same key
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v) INSERT INTO r SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- two upsert ctes
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v), b AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v) SELECT * FROM a, b;
SELECT * FROM r;

-- upsert cte, update main of same row
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v) UPDATE r SET v = r.v + 100 FROM a WHERE r.id = a.id;
SELECT * FROM r;

-- upsert cte, delete main of same row
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v) DELETE FROM r USING a WHERE r.id = a.id;
SELECT * FROM r;

-- insert cte, do nothing main
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (100,1,1) RETURNING id, v) INSERT INTO r SELECT id, v+1 FROM a ON CONFLICT (id) DO NOTHING;
SELECT * FROM r;

-- insert cte, do update with WHERE false
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (100,1,1) RETURNING id, v) INSERT INTO r SELECT id, v+1 FROM a ON CONFLICT (id) DO UPDATE SET v = 1 WHERE r.v = 99;
SELECT * FROM r;

-- update cte, do update with WHERE false
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id = 1 RETURNING id) INSERT INTO r SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000 WHERE r.v = 99;
SELECT * FROM r;

-- delete one, upsert other written earlier in the transaction
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
BEGIN;
UPDATE r SET v = v + 1;
WITH a AS (DELETE FROM r WHERE id = 1 RETURNING id, v) INSERT INTO r SELECT id + 1, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
COMMIT;
SELECT * FROM r;

-- update cte of other table
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE o SET v = v + 1 RETURNING id, v) INSERT INTO r SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM r;

-- update cte of one row, upsert of others
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id IN (1,2) RETURNING id, v) INSERT INTO r SELECT id + 2, v FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 1000;
SELECT * FROM r;

-- MERGE main with upsert cte
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO o VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = o.v + 1 RETURNING id, v) INSERT INTO r SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000 RETURNING *;
SELECT * FROM r;

-- upsert with subquery in SET after update cte
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id = 1 RETURNING id, v) INSERT INTO r SELECT id, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
SELECT * FROM r;

-- upsert with subquery in SET after update cte other row
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id = 1 RETURNING id, v) INSERT INTO r SELECT id+1, 5 FROM a ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
SELECT * FROM r;

-- delete cte depends on main upsert
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5),(9,9) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING id, v), b AS (DELETE FROM r USING a WHERE r.id = a.id RETURNING r.*) SELECT * FROM b;
SELECT * FROM r;

-- update all in cte and upsert of a new row
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 RETURNING id, v) INSERT INTO r SELECT id+100, v FROM a ON CONFLICT (id) DO UPDATE SET v = r.v + 1000;
SELECT * FROM r;

-- cte upsert unreferenced, main update of the same
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1) UPDATE r SET v = v + 100 WHERE id IN (1, 2);
SELECT * FROM r;

-- cte upsert unreferenced, main delete of all
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1) DELETE FROM r;
SELECT * FROM r;

-- cte upsert unreferenced of one, main insert of same
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r VALUES (101, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1) INSERT INTO r VALUES (101, 1);
SELECT * FROM r;

-- one shard all routed
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE r SET v = v + 1 WHERE id = 1) INSERT INTO r VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = r.v + 1000 RETURNING v;
SELECT * FROM r;

-- insert cte multi rows, upsert of many
DELETE FROM r;
INSERT INTO r VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (INSERT INTO r SELECT i, i FROM generate_series(50, 60) i RETURNING id) INSERT INTO r SELECT i, 0 FROM generate_series(58, 70) i ON CONFLICT (id) DO UPDATE SET v = -1;
SELECT * FROM r;

-- rows that go to another shard, and MERGE
DELETE FROM t;
INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0);
WITH a AS (UPDATE t SET id = id + 100 WHERE id = 1 RETURNING id) INSERT INTO t SELECT id, 7 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
WITH a AS (UPDATE t SET id = id + 100 WHERE id = 1 RETURNING id) INSERT INTO t SELECT id - 100, 7 FROM a ON CONFLICT (id) DO UPDATE SET v = t.v + 1000;
SELECT * FROM t;
WITH a AS (INSERT INTO t VALUES (2, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 RETURNING id, v)
	MERGE INTO t USING (SELECT o.* FROM o, a) o ON t.id = o.id WHEN MATCHED AND t.id <> 2 THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT VALUES (o.id, o.v);
SELECT * FROM t;
WITH a AS (INSERT INTO t VALUES (3, 5) ON CONFLICT (id) DO UPDATE SET id = t.id + 200 RETURNING id, v), b AS (INSERT INTO t SELECT id, v FROM a ON CONFLICT (id) DO UPDATE SET v = -1 RETURNING *) SELECT * FROM b;
WITH a AS (INSERT INTO t VALUES (3, 5) ON CONFLICT (id) DO UPDATE SET id = t.id + 200 RETURNING id, v), b AS (INSERT INTO t SELECT id - 200, v FROM a ON CONFLICT (id) DO UPDATE SET v = -1 RETURNING *) SELECT * FROM b;
SELECT * FROM t;

-- many rows
DELETE FROM q;
INSERT INTO q SELECT i, i, 0 FROM generate_series(1, 20000) i;
WITH a AS (INSERT INTO q SELECT i, 0, 0 FROM generate_series(20001, 30000) i RETURNING id) INSERT INTO q SELECT id - 10001, 1 FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;
SELECT count(*), sum(id), sum(v) FROM q;
WITH a AS (INSERT INTO q SELECT i, 0, 0 FROM generate_series(30001, 40000) i RETURNING id) INSERT INTO q SELECT id - 1, 1 FROM a ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;
SELECT count(*), sum(id), sum(v) FROM q;

-- partitioned tables: allowed beside writes of other tables, refused beside other writes of the same
-- statement needs: colocation
WITH a AS (UPDATE o SET v = v + 1 RETURNING id, v) INSERT INTO p SELECT id, v, id * 3 FROM a ON CONFLICT (id, w) DO UPDATE SET v = p.v + EXCLUDED.v;
SELECT * FROM p;
-- cluster fails: 0A000
WITH a AS (UPDATE p SET v = v + 1 WHERE w < 10 RETURNING id, v) INSERT INTO p SELECT id, v, 0 FROM a ON CONFLICT (id, w) DO UPDATE SET v = p.v + EXCLUDED.v;
