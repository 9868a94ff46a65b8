-- What version 19 of the server has that earlier ones don't: REPACK, ON CONFLICT DO SELECT, IGNORE NULLS, JSON of COPY TO.
-- needs: 19
-- distribute: t(id), u(id), keyed(id), r reference, one single, p(tenant)
CREATE TABLE t (id int PRIMARY KEY, v int);
CREATE TABLE u (id int, g int, v int);
SET citus.global_indexes = on;
CREATE TABLE keyed (id int PRIMARY KEY, v int UNIQUE);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE one (id int PRIMARY KEY, v int);
CREATE TABLE p (tenant int, n int) PARTITION BY RANGE (n);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY LIST (n);
CREATE TABLE p2a PARTITION OF p2 DEFAULT;
CREATE INDEX t_v ON t (v);
CREATE INDEX one_v ON one (v);
CREATE INDEX p_n ON p (n);
INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 100) i;
INSERT INTO u SELECT i, i % 5, CASE WHEN i % 3 > 0 THEN i END FROM generate_series(1, 60) i;
INSERT INTO keyed SELECT i, i + 1000 FROM generate_series(1, 50) i;
INSERT INTO r SELECT i, i % 7 FROM generate_series(1, 100) i;
INSERT INTO one SELECT i, i % 7 FROM generate_series(1, 100) i;
INSERT INTO p SELECT i, i % 20 FROM generate_series(1, 100) i;
-- setup ends
DELETE FROM t WHERE id > 80;
DELETE FROM p WHERE tenant > 80;
REPACK t;
REPACK r;
REPACK one;
REPACK (ANALYZE off) t;
REPACK t USING INDEX;
REPACK t USING INDEX nothing;
REPACK t USING INDEX t_v;
REPACK t USING INDEX;
REPACK one USING INDEX one_v;
SELECT i.relname, x.indisclustered FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid IN ('t'::regclass, 'one'::regclass) ORDER BY 1;
REPACK p;
REPACK p USING INDEX p_n;
REPACK p USING INDEX;
REPACK p USING INDEX nothing;
CLUSTER p;
BEGIN;
REPACK t;
COMMIT;
BEGIN;
REPACK p;
ROLLBACK;
SELECT count(*), sum(v) FROM t;
SELECT count(*), sum(n) FROM p;
-- cluster fails: 0A000
REPACK (CONCURRENTLY) t;
-- cluster fails: 0A000
REPACK (CONCURRENTLY) r;
-- cluster fails: 0A000
REPACK (ANALYZE) one;
-- cluster fails: 0A000
REPACK (ANALYZE) t (v);
INSERT INTO t VALUES (5, 1) ON CONFLICT (id) DO SELECT RETURNING *;
INSERT INTO t VALUES (5, 1), (6, 1), (500, 1) ON CONFLICT (id) DO SELECT RETURNING *;
INSERT INTO t VALUES (5, 1) ON CONFLICT (id) DO SELECT FOR UPDATE RETURNING *;
INSERT INTO t VALUES (5, 1) ON CONFLICT (id) DO SELECT FOR UPDATE WHERE t.v > 100 RETURNING *;
INSERT INTO t SELECT i, 1 FROM generate_series(78, 83) i ON CONFLICT (id) DO SELECT RETURNING *;
INSERT INTO t SELECT id, v FROM u ON CONFLICT (id) DO SELECT WHERE t.v = 3 RETURNING t.id, t.v;
WITH w AS (INSERT INTO t VALUES (7, 1), (501, 1) ON CONFLICT (id) DO SELECT RETURNING id, v) SELECT count(*), sum(v) FROM w;
INSERT INTO t VALUES (5, 1), (502, 1) ON CONFLICT (id) DO SELECT RETURNING old.*, new.*, id;
INSERT INTO t VALUES (6, 1) ON CONFLICT (id) DO SELECT RETURNING old.*, new.*, id;
INSERT INTO r VALUES (5, 1), (502, 1) ON CONFLICT (id) DO SELECT RETURNING old.*, new.*, id;
INSERT INTO r VALUES (5, 1), (501, 1) ON CONFLICT (id) DO SELECT RETURNING *;
INSERT INTO one VALUES (5, 1), (501, 1) ON CONFLICT (id) DO SELECT RETURNING *;
INSERT INTO t VALUES (5, 1) ON CONFLICT (id) DO SELECT;
-- cluster fails: 0A000
INSERT INTO t VALUES (5, 1), (6, 2) ON CONFLICT (id) DO SELECT WHERE t.id IN (SELECT id FROM u WHERE id > 5) RETURNING id;
-- cluster fails: 0A000
INSERT INTO keyed VALUES (77, 1005) ON CONFLICT (v) DO SELECT RETURNING *;
-- cluster fails: 0A000
INSERT INTO keyed VALUES (5, 1), (5, 2) ON CONFLICT (id) DO SELECT RETURNING *;
SELECT count(*), sum(v) FROM t;
SELECT count(*), sum(v) FROM r;
SELECT count(*), sum(v) FROM keyed;
SELECT id, lag(v) IGNORE NULLS OVER (ORDER BY id) FROM u ORDER BY id;
SELECT id, first_value(v) IGNORE NULLS OVER (PARTITION BY g ORDER BY id) FROM u ORDER BY id;
SELECT id, last_value(v) IGNORE NULLS OVER (PARTITION BY id ORDER BY g) FROM u ORDER BY id;
SELECT id, nth_value(v, 2) RESPECT NULLS OVER (PARTITION BY g ORDER BY id) FROM u ORDER BY id;
SELECT lead(v) IGNORE NULLS OVER (PARTITION BY id ORDER BY g) FROM u WHERE id = 7;
COPY (SELECT * FROM t ORDER BY id LIMIT 3) TO STDOUT (FORMAT json);
COPY (SELECT * FROM t ORDER BY id LIMIT 3) TO STDOUT (FORMAT json, FORCE_ARRAY true);
COPY (SELECT id, v FROM u WHERE id = 4) TO STDOUT (FORMAT json);
COPY t TO STDOUT (FORMAT json);
COPY one TO STDOUT (FORMAT json);
