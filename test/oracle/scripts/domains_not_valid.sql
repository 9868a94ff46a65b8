-- Rows whose values violate constraints of their domains that are NOT VALID: a server checks a value where it becomes one of the domain,
-- not where a row is updated, moved to another shard or partition, copied or returned.
-- distribute: t(id), tt(id), kept(id), part(id), o(id), r reference, rt reference
CREATE DOMAIN small AS int;
CREATE DOMAIN need AS text;
CREATE DOMAIN low AS numeric;
CREATE TABLE t (id int, v int, s small, n need, l low, g int, PRIMARY KEY (id));
CREATE TABLE tt (id int, v int, s small, n need, l low, g int, PRIMARY KEY (id));
CREATE TABLE o (id int PRIMARY KEY, v int);
CREATE FUNCTION trg() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.g := coalesce(NEW.g, 0) + 1; RETURN NEW; END $$;
CREATE TABLE r (id int, v int, s small, n need, l low, g int, PRIMARY KEY (id));
CREATE TABLE rt (id int, v int, s small, n need, l low, g int, PRIMARY KEY (id));
CREATE TABLE kept (id int, v int, s small, n need, l low, g int, PRIMARY KEY (id));
CREATE TABLE part (id int, w int, s small, n need, PRIMARY KEY (id, w)) PARTITION BY RANGE (w);
CREATE TABLE part0 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (10) TO (20);
CREATE TRIGGER trg BEFORE UPDATE ON tt FOR EACH ROW EXECUTE FUNCTION trg();
CREATE TRIGGER trg BEFORE UPDATE ON rt FOR EACH ROW EXECUTE FUNCTION trg();
INSERT INTO kept SELECT i, i, i * 100, CASE WHEN i % 2 = 0 THEN 'x' END, 1.50, 0 FROM generate_series(1, 6) i;
INSERT INTO part SELECT i, i, i * 100, NULL FROM generate_series(1, 6) i;
INSERT INTO o SELECT i, i * 10 FROM generate_series(1,6) i;
ALTER DOMAIN small ADD CONSTRAINT lt CHECK (VALUE < 50) NOT VALID;
ALTER DOMAIN need ADD CONSTRAINT nn CHECK (VALUE IS NOT NULL) NOT VALID;
ALTER DOMAIN low ADD CONSTRAINT lw CHECK (VALUE IS NOT NULL AND VALUE > 100) NOT VALID;
-- setup ends

-- plain
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = o.v FROM o WHERE o.id + 1 = t.id;
SELECT * FROM t;

-- reassign bad
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
UPDATE t SET s = 60 WHERE id = 1;
UPDATE t SET s = 6, n = 'ok', l = 200 WHERE id = 1;
UPDATE t SET s = s WHERE id = 2;
UPDATE t SET n = NULL WHERE id = 2;
SELECT * FROM t;

-- move
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
UPDATE t SET id = id + 100 WHERE id = 1;
UPDATE t SET id = id + 100;
UPDATE t SET id = id + 1000, v = 5 WHERE id > 100 RETURNING id, v, s, n;
UPDATE t SET id = id + 100 FROM o WHERE o.id = t.v;
SELECT * FROM t;

-- trigger
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
UPDATE tt SET v = v + 1 WHERE id = 1;
UPDATE tt SET v = v + 1;
UPDATE tt SET v = v + 1 RETURNING *;
UPDATE tt SET id = id + 100 RETURNING *;
SELECT * FROM tt;

-- upsert
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
INSERT INTO t VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO t VALUES (1, 0, 100, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO t VALUES (1, 0, 1, NULL, 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO tt VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO t VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
INSERT INTO t VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET id = t.id + 200;
SELECT * FROM t;
SELECT * FROM tt;

-- merge
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
MERGE INTO t USING o ON t.id = o.id WHEN MATCHED THEN UPDATE SET v = o.v;
MERGE INTO t USING o ON t.id = o.id WHEN MATCHED THEN UPDATE SET id = t.id + 300;
MERGE INTO t USING o ON t.id = o.id WHEN NOT MATCHED THEN INSERT (id, v, n, l) VALUES (o.id, 0, 'a', 101);
MERGE INTO t USING o ON t.id = o.id + 50 WHEN NOT MATCHED THEN INSERT (id, v, s) VALUES (o.id + 50, 0, 1);
MERGE INTO t USING o ON t.id = o.id WHEN MATCHED AND o.id < 3 THEN UPDATE SET v = o.v WHEN MATCHED THEN UPDATE SET s = 5 WHEN NOT MATCHED THEN INSERT (id, v, n, l) VALUES (o.id, 0, 'a', 101);
MERGE INTO tt USING o ON tt.id = o.id WHEN MATCHED THEN UPDATE SET v = o.v;
SELECT * FROM t;
SELECT * FROM tt;

-- delete
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
DELETE FROM t USING o WHERE o.id = t.id + 1 RETURNING t.*;
DELETE FROM tt RETURNING *;
SELECT * FROM t;

-- insert select
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
INSERT INTO t SELECT id + 500, v, s, n, l, g FROM tt;
INSERT INTO t SELECT id + 500, v FROM tt;
INSERT INTO t (id, s) SELECT id + 500, 1 FROM tt;
INSERT INTO t (id, s, n, l) SELECT id + 500, 1, 'q', 200 FROM tt;
SELECT * FROM t;

-- whole row
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
UPDATE t SET v = length((t.*)::text) WHERE id IN (SELECT id FROM o);
SELECT t FROM t;
SELECT o.id, t FROM o JOIN t ON o.v = t.id * 10;

-- with
DO $$ BEGIN DELETE FROM t; DELETE FROM tt; END $$;
INSERT INTO t SELECT * FROM kept;
INSERT INTO tt SELECT * FROM kept;
WITH a AS (UPDATE t SET id = id + 100 RETURNING *) SELECT * FROM a;
WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a;

-- plain
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
UPDATE r SET v = v + 1 WHERE id = 1;
UPDATE r SET v = o.v FROM o WHERE o.id + 1 = r.id;
SELECT * FROM r;

-- reassign bad
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
UPDATE r SET s = 60 WHERE id = 1;
UPDATE r SET s = 6, n = 'ok', l = 200 WHERE id = 1;
UPDATE r SET s = s WHERE id = 2;
UPDATE r SET n = NULL WHERE id = 2;
SELECT * FROM r;

-- move
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
UPDATE r SET id = id + 100 WHERE id = 1;
UPDATE r SET id = id + 100;
UPDATE r SET id = id + 1000, v = 5 WHERE id > 100 RETURNING id, v, s, n;
UPDATE r SET id = id + 100 FROM o WHERE o.id = r.v;
SELECT * FROM r;

-- trigger
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
UPDATE rt SET v = v + 1 WHERE id = 1;
UPDATE rt SET v = v + 1;
UPDATE rt SET v = v + 1 RETURNING *;
UPDATE rt SET id = id + 100 RETURNING *;
SELECT * FROM rt;

-- upsert
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
INSERT INTO r VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO r VALUES (1, 0, 100, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO r VALUES (1, 0, 1, NULL, 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO rt VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = 77;
INSERT INTO r VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(v) FROM o);
INSERT INTO r VALUES (1, 0, 1, 'y', 101) ON CONFLICT (id) DO UPDATE SET id = r.id + 200;
SELECT * FROM r;
SELECT * FROM rt;

-- merge
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
MERGE INTO r USING o ON r.id = o.id WHEN MATCHED THEN UPDATE SET v = o.v;
MERGE INTO r USING o ON r.id = o.id WHEN MATCHED THEN UPDATE SET id = r.id + 300;
MERGE INTO r USING o ON r.id = o.id WHEN NOT MATCHED THEN INSERT (id, v, n, l) VALUES (o.id, 0, 'a', 101);
MERGE INTO r USING o ON r.id = o.id + 50 WHEN NOT MATCHED THEN INSERT (id, v, s) VALUES (o.id + 50, 0, 1);
MERGE INTO r USING o ON r.id = o.id WHEN MATCHED AND o.id < 3 THEN UPDATE SET v = o.v WHEN MATCHED THEN UPDATE SET s = 5 WHEN NOT MATCHED THEN INSERT (id, v, n, l) VALUES (o.id, 0, 'a', 101);
MERGE INTO rt USING o ON rt.id = o.id WHEN MATCHED THEN UPDATE SET v = o.v;
SELECT * FROM r;
SELECT * FROM rt;

-- delete
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
DELETE FROM r USING o WHERE o.id = r.id + 1 RETURNING r.*;
DELETE FROM rt RETURNING *;
SELECT * FROM r;

-- insert select
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
INSERT INTO r SELECT id + 500, v, s, n, l, g FROM rt;
INSERT INTO r SELECT id + 500, v FROM rt;
INSERT INTO r (id, s) SELECT id + 500, 1 FROM rt;
INSERT INTO r (id, s, n, l) SELECT id + 500, 1, 'q', 200 FROM rt;
SELECT * FROM r;

-- whole row
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
UPDATE r SET v = length((r.*)::text) WHERE id IN (SELECT id FROM o);
SELECT r FROM r;
SELECT o.id, r FROM o JOIN r ON o.v = r.id * 10;

-- with
DO $$ BEGIN DELETE FROM r; DELETE FROM rt; END $$;
INSERT INTO r SELECT * FROM kept;
INSERT INTO rt SELECT * FROM kept;
WITH a AS (UPDATE r SET id = id + 100 RETURNING *) SELECT * FROM a;
WITH a AS (DELETE FROM r RETURNING *) SELECT * FROM a;

-- partitions
UPDATE part SET w = w + 10 WHERE id = 1;
UPDATE part SET w = w + 10 FROM o WHERE o.id = part.id AND part.id < 4;
UPDATE part SET w = w - 5 + (SELECT min(id) FROM o) WHERE w >= 10;
UPDATE part SET id = id + 100;
SELECT * FROM part;
