-- Unique keys without the distribution column: writes, ON CONFLICT, look-ups, and triggers that look.
--
-- distribute: t(tenant), o(tenant) with t, u(city), vc(tenant)

CREATE TABLE log (seq serial, what text);
SET citus.global_indexes = on;
CREATE TABLE t (tenant int, id int PRIMARY KEY, email text UNIQUE, gone timestamp, n int DEFAULT 0 CHECK (n < 1000), name varchar(20));
CREATE TABLE o (tenant int, id int, t_id int, amount numeric);
CREATE TABLE u (city text, a int, b date, c text, UNIQUE (a, b));
CREATE TABLE vc (tenant varchar(20), id int PRIMARY KEY, n int);
CREATE UNIQUE INDEX t_name ON t (lower(name)) WHERE gone IS NULL;
CREATE UNIQUE INDEX u_c ON u (upper(c), (a % 5));
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_global_keys.log (what) VALUES (concat_ws(' ', TG_WHEN, TG_LEVEL, TG_OP,
		(SELECT name FROM o_global_keys.t WHERE id = 3), (SELECT count(*) FROM o_global_keys.t WHERE email IN ('e3', 'e4', 'new'))));
	RETURN coalesce(NEW, OLD);
END $$;
INSERT INTO t SELECT i % 7, i, 'e' || i, CASE WHEN i % 5 = 0 THEN timestamp '2020-01-01' END, i, 'Name' || i FROM generate_series(1, 40) i;
INSERT INTO vc SELECT 't' || i % 7, i, 0 FROM generate_series(1, 20) i;
INSERT INTO o SELECT i % 7, i, i, i * 1.5 FROM generate_series(1, 60) i;
INSERT INTO u SELECT 'c' || i % 6, i, date '2020-01-01' + i % 3, 'c' || i FROM generate_series(1, 30) i;

CREATE FUNCTION marked(text) RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 || ''!''; END';
-- setup ends
SELECT marked(name) FROM t WHERE id = 3;
SELECT name FROM t WHERE email = 'e4' AND marked(name) <> '';
SELECT DISTINCT ON (name) name, marked(name) FROM t WHERE id = 4;
SELECT t.*, t.ctid IS NOT NULL FROM t WHERE id = 4;
SELECT marked(name) FROM t WHERE id = 999;
SELECT * FROM t WHERE id = 3;
SELECT tenant, name FROM t WHERE email = 'e4';
SELECT tenant FROM t WHERE lower(name) = 'name7' AND gone IS NULL;
SELECT tenant FROM t WHERE lower(name) = 'name5' AND gone IS NULL;
SELECT count(*), sum(n) FROM t WHERE id IN (1, 2, 99);
SELECT t.id, o.amount FROM t JOIN o ON o.tenant = t.tenant AND o.t_id = t.id WHERE t.email IN ('e8', 'e9', 'none') ORDER BY 1;
SELECT o.id, t.name FROM o LEFT JOIN t ON t.tenant = o.tenant AND t.id = 5 WHERE o.id < 8 ORDER BY 1;
SELECT (SELECT count(*) FROM u WHERE a = 4 AND b = '2020-01-02'), count(*) FROM o;
SELECT id FROM t WHERE id = 3 OR email = 'e4' ORDER BY 1;
SELECT id FROM t WHERE id = 3 AND id = 4;
SELECT city FROM u WHERE upper(c) = 'C7' AND a % 5 = 2;
-- params: 3
-- params: 77
-- params: NULL
SELECT name, count(*) OVER () FROM t WHERE id = $1;
-- params: '{3,4,5}'
-- params: '{}'
-- params: '{NULL,7}'
SELECT count(*), max(email) FROM t WHERE id = ANY ($1::int[]);
INSERT INTO t VALUES (1, 3, 'x');
INSERT INTO t VALUES (1, 100, 'e3');
INSERT INTO t VALUES (1, 100, 'e100', NULL, 1, 'NAME3');
INSERT INTO t VALUES (1, 100, 'e100', '2020-02-02', 1, 'NAME3'), (2, 101, NULL, NULL, 1, NULL);
INSERT INTO t VALUES (1, 102, 'a'), (2, 102, 'b');
UPDATE t SET gone = NULL WHERE id = 100;
UPDATE t SET id = 4 WHERE email = 'e3';
UPDATE t SET tenant = tenant + 1 WHERE id = 3 RETURNING tenant, id;
UPDATE t SET id = id + 1000 WHERE id BETWEEN 20 AND 25;
UPDATE t SET n = 2000 WHERE id = 6;
SELECT id, tenant FROM t WHERE id IN (3, 20, 1020, 25, 1025) ORDER BY 1;
INSERT INTO t VALUES (5, 3, 'y') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO t VALUES (5, 200, 'e3') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (5, 200, 'e3') ON CONFLICT (id) DO NOTHING;
INSERT INTO t VALUES (5, 3, 'y') ON CONFLICT (id) DO UPDATE SET n = t.n + 1, email = excluded.email || t.email RETURNING *;
INSERT INTO t VALUES (5, 3, 'e3'), (6, 201, 'e201') ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, email = excluded.email RETURNING tenant, id, email;
INSERT INTO t VALUES (5, 3, 'e4') ON CONFLICT (id) DO UPDATE SET email = excluded.email;
INSERT INTO t VALUES (5, 300, 'z'), (6, 300, 'zz') ON CONFLICT (id) DO UPDATE SET n = 5;
INSERT INTO t VALUES (5, 3, 'z'), (6, 3, 'zz') ON CONFLICT (id) DO UPDATE SET n = 5;
INSERT INTO t VALUES (5, 300, 'z'), (6, 300, 'zz'), (6, 301, 'z') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO t SELECT i % 4, i, 's' || i FROM generate_series(38, 43) i ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET name = excluded.email WHERE t.id <> 39 RETURNING id, name;
INSERT INTO t (tenant, id, name) VALUES (3, 400, 'NAME8') ON CONFLICT (lower(name)) WHERE gone IS NULL DO UPDATE SET n = 8 RETURNING id, n;
INSERT INTO t (tenant, id, name) VALUES (3, 400, 'NAME8') ON CONFLICT (lower(name)) DO NOTHING;
INSERT INTO t (tenant, id, n) VALUES (3, 9, 2000) ON CONFLICT (id) DO NOTHING;
INSERT INTO t (tenant, id) VALUES (3, 9) ON CONFLICT (id) DO UPDATE SET n = 2000;
INSERT INTO t (tenant, id) VALUES (3, 9) ON CONFLICT (id) DO UPDATE SET (n, name) = (SELECT max(a), min(c) FROM u WHERE a < t.id) RETURNING n, name;
INSERT INTO u VALUES ('x', 7, '2020-01-02', 'new') ON CONFLICT (b, a) DO UPDATE SET city = excluded.city, c = u.c || excluded.c RETURNING *;
-- params: 1, 500
-- params: 2, 500
-- params: 3, 501
INSERT INTO t (tenant, id) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = t.n + 1 RETURNING tenant, id, n;
MERGE INTO t USING (VALUES (1, 3), (2, 4), (3, 600)) v (x, y) ON t.id = v.y
	WHEN MATCHED AND y = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET id = 4 WHEN NOT MATCHED THEN INSERT (tenant, id) VALUES (x, y);
DELETE FROM t WHERE id = 4;
INSERT INTO t VALUES (6, 4, 'e4', NULL, 0, 'Name3') RETURNING id;
BEGIN;
DELETE FROM t WHERE email = 'e4';
INSERT INTO t VALUES (1, 4, 'e4');
SAVEPOINT s;
UPDATE t SET email = 'new' WHERE id = 4;
SELECT tenant FROM t WHERE email = 'new';
ROLLBACK TO s;
SELECT count(*) FROM t WHERE email IN ('new', 'e4');
INSERT INTO t VALUES (2, 4, 'f') ON CONFLICT (id) DO UPDATE SET tenant = 2 RETURNING tenant, email;
COMMIT;
WITH d AS (DELETE FROM t WHERE id = 10 RETURNING *) INSERT INTO t SELECT tenant + 1, id + 5000, email || 'x' FROM d RETURNING id;
INSERT INTO t VALUES (1, 3, 'e3', NULL, 0, 'three') ON CONFLICT DO NOTHING;
CREATE TRIGGER look_row AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER look_statement AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION look();
UPDATE t SET name = 'drei' WHERE id = 3;
DELETE FROM t WHERE id = 3;
INSERT INTO t VALUES (2, 3, 'new', NULL, 0, 'tre');
UPDATE t SET email = 'e3', tenant = 4 WHERE id = 3;
INSERT INTO t VALUES (2, 3, 'new', NULL, 0, 'tre') ON CONFLICT (id) DO UPDATE SET id = 33, email = 'new33';
SELECT what FROM log ORDER BY seq;
SELECT * FROM t ORDER BY id;
SELECT * FROM u ORDER BY a;

-- a distribution column whose values are compared as those of another type
SELECT * FROM vc WHERE id = 4;
UPDATE vc SET n = n + 1 WHERE id = 5 RETURNING *;
UPDATE vc SET n = n + 1 WHERE id IN (5, 6, 99) RETURNING *;
SELECT * FROM vc WHERE id = 5 FOR UPDATE;
DELETE FROM vc WHERE id = 7;
SELECT a.id, b.n FROM vc a JOIN vc b USING (tenant) WHERE a.id = 5;
INSERT INTO vc VALUES ('t1', 5, 9) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING *;
SELECT count(*), sum(n) FROM vc;
