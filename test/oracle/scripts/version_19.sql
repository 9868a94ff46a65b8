-- What version 19 of the server has that earlier ones don't: REPACK.
-- needs: 19
-- distribute: t(id), r reference, one single, p(tenant)
CREATE TABLE t (id int PRIMARY KEY, v int);
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
