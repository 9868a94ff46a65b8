-- Global indexes that are deferred, treat nulls as equal, or aren't unique; reads of entries alone.
--
-- distribute: t(tenant), n(a), x(tenant)

SET citus.global_indexes = on;
CREATE FUNCTION citus_global_index() RETURNS boolean LANGUAGE sql IMMUTABLE RETURN true;
CREATE TABLE t (tenant int, id int PRIMARY KEY, pos int CONSTRAINT t_pos UNIQUE DEFERRABLE, email text CONSTRAINT t_email UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE n (a int, b int, c text, UNIQUE NULLS NOT DISTINCT (b, c));
CREATE TABLE x (tenant int, id int, kind text, at date, amount numeric, note text, PRIMARY KEY (tenant, id));
CREATE INDEX x_kind ON x (kind, at) INCLUDE (amount) WHERE citus_global_index();
CREATE INDEX x_expr ON x (lower(note)) WHERE citus_global_index() AND amount > 5;
INSERT INTO t SELECT i % 7, i, i, 'e' || i FROM generate_series(1, 40) i;
INSERT INTO n SELECT i, nullif(i % 10, 0), nullif('c' || i / 10, 'c2') FROM generate_series(1, 29) i;
INSERT INTO x SELECT i % 11, i, CASE WHEN i % 8 > 0 THEN 'k' || i % 8 END, CASE WHEN i % 5 > 0 THEN date '2024-01-01' + i % 5 END, i * 1.5, 'Note' || i % 20 FROM generate_series(1, 120) i;
-- setup ends
UPDATE t SET pos = pos + 1;
UPDATE t SET pos = 41 - pos + 1;
INSERT INTO t VALUES (1, 100, 3, 'e100');
INSERT INTO t VALUES (1, 100, 100, 'e3');
INSERT INTO t VALUES (1, 100, 3, 'e100') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, 3, 300, 'e300') ON CONFLICT (id) DO UPDATE SET email = 'e4';
BEGIN;
INSERT INTO t VALUES (2, 101, 101, 'e5');
SELECT id FROM t WHERE email = 'e5' ORDER BY id;
SELECT count(*) FROM t WHERE email IN ('e5', 'e6');
UPDATE t SET email = 'e5b' WHERE id = 5;
COMMIT;
BEGIN;
SET CONSTRAINTS t_pos DEFERRED;
UPDATE t SET pos = 7 WHERE id = 8;
SELECT count(*) FROM t WHERE pos = 7;
SAVEPOINT s;
DELETE FROM t WHERE pos = 7;
ROLLBACK TO s;
UPDATE t SET pos = 1000 WHERE id <> 8 AND pos = 7;
SET CONSTRAINTS ALL IMMEDIATE;
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO t SELECT tenant + 1, id + 1000, pos, email FROM t WHERE id < 10;
SELECT count(*), count(DISTINCT email) FROM t WHERE email IN ('e1', 'e2', 'e3');
DELETE FROM t WHERE id < 10;
COMMIT;
BEGIN;
SET CONSTRAINTS t_email IMMEDIATE;
INSERT INTO t VALUES (3, 2000, 2000, 'e20');
ROLLBACK;
SELECT * FROM t ORDER BY id;
INSERT INTO n VALUES (100, NULL, NULL);
INSERT INTO n VALUES (101, NULL, NULL);
INSERT INTO n VALUES (102, 1, NULL), (103, NULL, 'c1');
INSERT INTO n VALUES (104, NULL, 'c1') ON CONFLICT DO NOTHING;
INSERT INTO n VALUES (105, NULL, NULL) ON CONFLICT (b, c) DO UPDATE SET a = excluded.a RETURNING *;
UPDATE n SET b = NULL WHERE c = 'c0';
UPDATE n SET b = NULL, c = a WHERE c = 'c0';
DELETE FROM n WHERE b IS NULL;
INSERT INTO n VALUES (1, NULL, NULL), (2, NULL, '3');
SELECT * FROM n ORDER BY a, b, c;
-- params: 'k3'
-- params: 'none'
-- params: NULL
SELECT count(*), sum(amount), min(at) FROM x WHERE kind = $1;
SELECT id, tenant, amount FROM x WHERE kind = 'k5' AND at = '2024-01-02' ORDER BY amount DESC LIMIT 2;
SELECT at, count(*), sum(amount) FROM x WHERE kind = 'k1' GROUP BY ROLLUP (at) ORDER BY 1, 2;
SELECT DISTINCT tenant FROM x WHERE kind = 'k2' AND amount > 50 ORDER BY 1;
SELECT id, rank() OVER (ORDER BY amount) FROM x WHERE kind = 'k7' AND at IS NULL ORDER BY 1;
SELECT y.id, y.kind AS k FROM x y WHERE y.kind = 'k4' AND (y.id < 30 OR y.amount IS NULL) ORDER BY y.id;
SELECT x FROM x WHERE kind = 'k4' AND id = 12;
SELECT note FROM x WHERE kind = 'k4' ORDER BY id;
SELECT id FROM x WHERE lower(note) = 'note7' AND amount > 5 ORDER BY id;
SELECT id FROM x WHERE lower(note) = 'note2' ORDER BY id;
SELECT a.id, b.id FROM x a JOIN x b ON a.tenant = b.tenant AND a.kind = 'k1' AND b.kind = 'k2' AND a.at = b.at ORDER BY 1, 2;
SELECT id FROM x WHERE kind IN ('k1', 'k6') AND at = '2024-01-03' ORDER BY 1;
UPDATE x SET kind = 'k3', amount = amount + 1 WHERE kind = 'k2' RETURNING id;
UPDATE x SET tenant = tenant + 20, id = id + 1000 WHERE kind = 'k5';
DELETE FROM x WHERE kind = 'k6' AND at IS NULL RETURNING id;
UPDATE x SET kind = NULL WHERE at = '2024-01-04';
INSERT INTO x SELECT 5, 3000 + i, 'new', NULL, i, 'Note7' FROM generate_series(1, 5) i ON CONFLICT DO NOTHING;
MERGE INTO x USING (VALUES (5, 3001), (5, 4000)) v (a, b) ON tenant = a AND id = b WHEN MATCHED THEN UPDATE SET kind = 'newer' WHEN NOT MATCHED THEN INSERT VALUES (a, b, 'new');
SELECT kind, count(*), sum(amount) FROM x WHERE kind = 'new' GROUP BY kind;
BEGIN;
DELETE FROM x WHERE kind = 'new';
SELECT count(*) FROM x WHERE kind = 'new';
ROLLBACK;
SELECT count(*) FROM x WHERE kind = 'new';
SELECT * FROM x ORDER BY tenant, id;
