-- ON CONFLICT DO UPDATE that changes keys which foreign keys reference: their actions, and refusals, are a single server's.
-- distribute: p(id), c(id), r reference, d(id), d2(id), d3(id), f(id), g(id), gd(id), s reference
CREATE TABLE p (id int PRIMARY KEY, k int, x text);
CREATE TABLE c (id int REFERENCES p ON DELETE CASCADE, n int, PRIMARY KEY (id, n));
CREATE TABLE r (id int PRIMARY KEY, k int UNIQUE, x text);
CREATE TABLE d (id int PRIMARY KEY, rk int REFERENCES r(k) ON UPDATE CASCADE ON DELETE SET NULL, n int);
CREATE TABLE d2 (id int PRIMARY KEY, rk int REFERENCES r(k) ON UPDATE SET NULL, n int);
CREATE TABLE d3 (id int PRIMARY KEY, rk int REFERENCES r(k), n int);
CREATE TABLE f (id int, k int, x text, PRIMARY KEY (id), UNIQUE (id, k));
CREATE TABLE g (id int, k int, n int, PRIMARY KEY (id, n), FOREIGN KEY (id, k) REFERENCES f (id, k));
CREATE TABLE gd (id int, k int, n int, PRIMARY KEY (id, n), FOREIGN KEY (id, k) REFERENCES f (id, k) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE s (id int PRIMARY KEY, k int UNIQUE, up int REFERENCES s(k) ON UPDATE CASCADE ON DELETE CASCADE);
-- distribute now
-- setup ends

-- upsert changes k of r, cascade
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
INSERT INTO r VALUES (1, 1, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + 1000;
SELECT * FROM r;
SELECT * FROM d;
SELECT * FROM d2;

-- multi rows
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
INSERT INTO r SELECT i, 1, 'n' FROM generate_series(1,3) i ON CONFLICT (id) DO UPDATE SET k = r.k + 1000 RETURNING *;
SELECT * FROM r;
SELECT * FROM d;
SELECT * FROM d2;

-- no action violation
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
INSERT INTO r VALUES (6, 1, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + 1000;
SELECT * FROM r;

-- upsert changes dist key of p
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
INSERT INTO p VALUES (1, 1, 'n') ON CONFLICT (id) DO UPDATE SET id = p.id + 1000;
SELECT * FROM p;
SELECT * FROM c;

-- upsert swaps
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
INSERT INTO r VALUES (1, 1, 'n'), (2, 2, 'n') ON CONFLICT (id) DO UPDATE SET k = CASE r.k WHEN 10 THEN 77 ELSE 10 END;
SELECT * FROM r;
SELECT * FROM d;

-- by stable function
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
INSERT INTO r VALUES (1, 1, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + extract(day from now())::int * 0 + 5;
SELECT * FROM r;
SELECT * FROM d;

-- with cte writing d
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
-- cluster fails: 0A000
WITH a AS (UPDATE d SET n = n + 100 WHERE id = 4 RETURNING id) INSERT INTO r VALUES (1, 1, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + 1000;

-- with cte writing d ref
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
-- cluster fails: 0A000
WITH a AS (UPDATE d SET n = n + 100 RETURNING id) INSERT INTO r SELECT id, 1, 'n' FROM a WHERE id < 4 ON CONFLICT (id) DO UPDATE SET k = r.k + 1000;

-- with upsert cte, write d
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
-- cluster fails: 0A000
WITH a AS (INSERT INTO r VALUES (1, 1, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + 1000 RETURNING *) UPDATE d SET n = n + 500 FROM a WHERE d.rk = 10 OR d.rk = a.k;

-- with upsert cte of p, insert c
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
WITH a AS (INSERT INTO p VALUES (100, 1, 'n') ON CONFLICT (id) DO UPDATE SET k = p.k + 1000 RETURNING *) INSERT INTO c SELECT id, 1 FROM a;
SELECT * FROM c;

-- with upsert cte of r, insert d
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
-- cluster fails: 0A000
WITH a AS (INSERT INTO r VALUES (100, 100, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + 1000 RETURNING *) INSERT INTO d SELECT 100, k FROM a;

-- with upsert cte of r that acts, insert d
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
-- cluster fails: 0A000
WITH a AS (INSERT INTO r VALUES (1, 100, 'n') ON CONFLICT (id) DO UPDATE SET k = r.k + 1000 RETURNING *) INSERT INTO d SELECT 100, k FROM a;

-- update key of r plain with cte writing d
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
-- cluster fails: 0A000
WITH a AS (UPDATE d SET n = n + 100 RETURNING id) UPDATE r SET k = k + 1000 WHERE id IN (SELECT id FROM a);

-- upsert do nothing with d
DO $$ BEGIN DELETE FROM d; DELETE FROM d2; DELETE FROM d3; DELETE FROM r; DELETE FROM c; DELETE FROM p; END $$;
INSERT INTO p SELECT i, i*10, 'p' FROM generate_series(1,6) i;
INSERT INTO c SELECT i, j FROM generate_series(1,6) i, generate_series(1,2) j;
INSERT INTO r SELECT i, i*10, 'r' FROM generate_series(1,6) i;
INSERT INTO d SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d2 SELECT i, (i%4+1)*10, i FROM generate_series(1,12) i;
INSERT INTO d3 SELECT i, 60, i FROM generate_series(1,3) i;
WITH a AS (UPDATE d SET n = n + 100 RETURNING id) INSERT INTO r SELECT id, 1000+id, 'n' FROM a ON CONFLICT (id) DO NOTHING;
SELECT * FROM r;
SELECT * FROM d;

-- key referenced
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO f VALUES (1, 0, 'n') ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;

-- key not referenced
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO f VALUES (7, 0, 'n') ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;

-- other column
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO f VALUES (1, 0, 'n') ON CONFLICT (id) DO UPDATE SET x = EXCLUDED.x;
SELECT * FROM f;

-- several rows, some referenced
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO f SELECT i, 0, 'n' FROM generate_series(3, 9) i ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;

-- deferred
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO f VALUES (4, 0, 'n') ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;

-- deferred mended
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
BEGIN;
INSERT INTO f VALUES (4, 0, 'n') ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
UPDATE gd SET k = 1040 WHERE id = 4;
COMMIT;
SELECT * FROM f;
SELECT * FROM gd;

-- dist key
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO f VALUES (1, 0, 'n') ON CONFLICT (id) DO UPDATE SET id = f.id + 1000;
INSERT INTO f VALUES (4, 0, 'n') ON CONFLICT (id) DO UPDATE SET id = f.id + 1000;
INSERT INTO f VALUES (9, 0, 'n') ON CONFLICT (id) DO UPDATE SET id = f.id + 1000;
SELECT * FROM f;

-- self
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO s VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET k = s.k + 1000;
SELECT * FROM s;

-- self many
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO s SELECT i, 1, 1 FROM generate_series(1,5) i ON CONFLICT (id) DO UPDATE SET k = s.k + 1000, up = s.up;
SELECT * FROM s;

-- self up
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
INSERT INTO s VALUES (3, 1, 1) ON CONFLICT (id) DO UPDATE SET up = 10;
SELECT * FROM s;
INSERT INTO s VALUES (3, 1, 1) ON CONFLICT (id) DO UPDATE SET up = 99;

-- with
DO $$ BEGIN DELETE FROM gd; DELETE FROM g; DELETE FROM f; DELETE FROM s; END $$;
INSERT INTO f SELECT i, i*10, 'p' FROM generate_series(1,9) i;
INSERT INTO g SELECT i, i*10, 1 FROM generate_series(1,3) i;
INSERT INTO gd SELECT i, i*10, 1 FROM generate_series(4,6) i;
INSERT INTO s SELECT i, i*10, CASE WHEN i > 1 THEN (i-1)*10 END FROM generate_series(1,5) i;
WITH a AS (INSERT INTO g VALUES (9, 90, 5) RETURNING id) INSERT INTO f SELECT id, 1, 'x' FROM a ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;
WITH a AS (DELETE FROM g WHERE id = 1 RETURNING id) INSERT INTO f SELECT id, 1, 'x' FROM a ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;
WITH a AS (DELETE FROM g RETURNING id) INSERT INTO f SELECT id, 1, 'x' FROM a ON CONFLICT (id) DO UPDATE SET k = f.k + 1000;
SELECT * FROM f;
WITH a AS (INSERT INTO f SELECT id, 1, 'x' FROM g ON CONFLICT (id) DO UPDATE SET k = f.k + 5000 RETURNING id, k) UPDATE g SET k = a.k FROM a WHERE a.id = g.id;
SELECT * FROM f;
SELECT * FROM g;
