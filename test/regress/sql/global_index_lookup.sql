-- Statements that find their rows by the key of a global index.
CREATE SCHEMA global_index_lookup;
SET search_path = global_index_lookup;
SET citus.global_indexes = on;
CREATE TABLE users (tenant int, id bigint PRIMARY KEY, email varchar(50) UNIQUE, a int, b date, UNIQUE (a, b));
SELECT create_distributed_table('users', 'tenant');
INSERT INTO users SELECT i % 10, i, 'u' || i, i % 7, date '2020-01-01' + i FROM generate_series(1, 100) i;

-- which statements
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM users WHERE email = 'u7';
EXPLAIN (COSTS OFF) SELECT id FROM users WHERE 7 = id AND a > 0 ORDER BY b LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM users WHERE b = '2020-01-08' AND a = 0 FOR UPDATE;
EXPLAIN (COSTS OFF) UPDATE users SET email = 'x' WHERE id = 7::smallint;
EXPLAIN (COSTS OFF) DELETE FROM users WHERE id = (-7) * (-1) RETURNING *;
-- and which not
CREATE FUNCTION asks_one(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line LIKE '%GlobalIndexLookup%' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT statement, asks_one(statement) FROM unnest(ARRAY[
	'SELECT * FROM users WHERE id = 7',
	'SELECT * FROM users WHERE id = 7 AND tenant = 7',
	'SELECT count(*) FROM users WHERE id = 7',
	'SELECT 1 FROM users WHERE id = 7 GROUP BY ()',
	'SELECT * FROM users WHERE id = 7 OR id = 8',
	'SELECT * FROM users WHERE id = 7.0',
	'SELECT * FROM users WHERE id = random()::int',
	'SELECT * FROM users WHERE id = (SELECT 7)',
	'SELECT * FROM users WHERE email = ''u7'' COLLATE "C"',
	'SELECT * FROM users WHERE a = 0',
	'SELECT * FROM users u JOIN users v USING (tenant) WHERE u.id = 7',
	'UPDATE users SET a = 1 WHERE id = 7 AND tenant = 7']) statement;

CREATE TABLE people (t int, id int, email varchar(40), deleted_at date, active boolean DEFAULT true);
SELECT create_distributed_table('people', 't');
CREATE UNIQUE INDEX people_email ON people (lower(email));
CREATE UNIQUE INDEX people_live ON people (id) WHERE deleted_at IS NULL AND active = true;
INSERT INTO people SELECT i, i / 2, 'U' || i, CASE WHEN i % 2 = 0 THEN now() END, i > 5 FROM generate_series(1, 50) i;
SELECT statement, asks_one(statement) FROM unnest(ARRAY[
	'SELECT * FROM people WHERE lower(email) = ''u7''',
	'SELECT * FROM people WHERE upper(email) = ''U7''',
	'SELECT * FROM people WHERE email = ''U7''',
	'SELECT * FROM people WHERE id = 3',
	'SELECT * FROM people WHERE id = 3 AND deleted_at IS NULL',
	'SELECT * FROM people WHERE id = 3 AND deleted_at IS NULL AND active',
	'SELECT * FROM people WHERE active AND deleted_at IS NULL AND t > 0 AND 3 = id']) statement;
SELECT t, email FROM people WHERE lower(email) = 'u7';
SELECT t, email FROM people WHERE lower(email) IN ('u7', 'u8', 'U9') ORDER BY 1;
SELECT t, email FROM people WHERE id = 3 AND deleted_at IS NULL AND active;
SELECT t, email FROM people WHERE id = 2 AND deleted_at IS NULL AND active;
UPDATE people SET active = false WHERE id = 3 AND deleted_at IS NULL AND active;
SELECT t, email FROM people WHERE id = 3 AND deleted_at IS NULL AND active;

-- what they return
SELECT * FROM users WHERE email = 'u7';
SELECT * FROM users WHERE email = 'none';
SELECT * FROM users WHERE email = NULL;
SELECT id FROM users WHERE id = 7 AND a = 3;
SELECT id, generate_series(1, 2) FROM users WHERE a = 3 AND b = '2020-01-11';
PREPARE by_id(bigint, int) AS SELECT email, $2 + a FROM users WHERE id = $1;
EXECUTE by_id(1, 10); EXECUTE by_id(2, 20); EXECUTE by_id(3, 30); EXECUTE by_id(4, 40); EXECUTE by_id(5, 50);
EXECUTE by_id(6, 60); EXECUTE by_id(7, 70); EXECUTE by_id(-1, 0);
UPDATE users SET a = -1 WHERE id = 7;
UPDATE users SET email = 'seven', tenant = 3 WHERE id = 7 RETURNING *;
UPDATE users SET a = -1 WHERE id = 8 AND a = 99;
SELECT tenant, email FROM users WHERE id = 7;
SELECT id FROM users WHERE email = 'seven' FOR UPDATE;
DELETE FROM users WHERE email = 'seven' RETURNING id;
DELETE FROM users WHERE email = 'seven';
SELECT citus_check_global_index('users_pkey');
BEGIN;
INSERT INTO users VALUES (1, 1000, 'new', 1, '2000-01-01');
SELECT tenant FROM users WHERE email = 'new';
SAVEPOINT s;
UPDATE users SET email = 'newer' WHERE email = 'new';
SELECT tenant FROM users WHERE email = 'new';
SELECT tenant FROM users WHERE email = 'newer';
ROLLBACK TO s;
SELECT tenant FROM users WHERE email = 'new';
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT tenant FROM users WHERE id = 9;
DELETE FROM users WHERE id = 9;
SELECT tenant FROM users WHERE id = 9;
ROLLBACK;
DO $$
DECLARE
	found_tenant int;
	row record;
BEGIN
	FOR i IN 1..9 LOOP
		SELECT tenant INTO STRICT found_tenant FROM users WHERE id = 10 + i;
		ASSERT found_tenant = i;
		FOR row IN SELECT * FROM users WHERE email = 'u' || i + 20 LOOP ASSERT row.id = i + 20; END LOOP;
		UPDATE users SET a = i WHERE email = 'u' || i + 20;
		ASSERT FOUND;
	END LOOP;
END $$;
CREATE TABLE copied AS SELECT * FROM users WHERE id = 12;
INSERT INTO copied SELECT * FROM users WHERE id = 13;
SELECT id FROM copied ORDER BY id;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id FROM users WHERE id = 14;
FETCH c;
FETCH BACKWARD c;
CLOSE c;
BEGIN READ ONLY;
SELECT id FROM users WHERE id = 12;
UPDATE users SET a = 1 WHERE id = 12;
ROLLBACK;

-- other queries ask the entries for the shards of the keys, if that costs less
CREATE TABLE orders (tenant int, user_id bigint, amount int);
SELECT create_distributed_table('orders', 'tenant', colocate_with => 'users');
INSERT INTO orders SELECT i % 10, i, j FROM generate_series(1, 100) i, generate_series(1, 3) j;
CREATE FUNCTION asks_entries(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line LIKE '%(DistributedScan) on global_index_%' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SET citus.round_trip_cost = 0;
SET citus.task_cost = 0;
SELECT statement, asks_entries(statement) FROM unnest(ARRAY[
	'SELECT count(*) FROM users WHERE id = 17',
	'SELECT count(*) FROM users WHERE a = 3 AND b IN (''2020-01-11'', ''2020-01-18'')',
	'SELECT o.amount FROM users u JOIN orders o USING (tenant) WHERE u.email IN (''u17'', ''u18'') AND o.user_id = u.id',
	'SELECT count(*) FROM users WHERE a = 3',
	'SELECT count(*) FROM users WHERE id = ANY (SELECT 17)',
	'SELECT count(*) FROM users WHERE id = 17 AND tenant = 7',
	'SELECT * FROM users WHERE id IN (17, 18) FOR UPDATE',
	'SELECT * FROM users u JOIN orders o USING (tenant) WHERE u.id = 17 AND o.tenant = 7',
	'SELECT (SELECT count(*) FROM users WHERE id = o.user_id) FROM orders o',
	'SELECT (SELECT count(*) FROM users WHERE id = 18) FROM orders o',
	'WITH w AS (UPDATE orders SET amount = 1 RETURNING 1) SELECT count(*) FROM w, users WHERE id = 17',
	'SELECT count(*) FROM orders o LEFT JOIN users u ON u.tenant = o.tenant AND u.id IN (17, 18)']) statement;
SELECT count(*), sum(id) FROM users WHERE id = 17;
SELECT count(*), sum(id) FROM users WHERE id IN (17, 18, 17, NULL, -5);
SELECT count(*) FROM users WHERE id = ANY ('{}');
SELECT u.id, sum(o.amount) FROM users u JOIN orders o USING (tenant) WHERE u.email IN ('u17', 'u18') AND o.user_id = u.id GROUP BY u.id ORDER BY 1;
SELECT o.user_id, u.id FROM orders o LEFT JOIN users u ON u.tenant = o.tenant AND u.id IN (17, 18) WHERE o.amount = 1 AND o.user_id IN (17, 19, 27) ORDER BY 1;
SELECT (SELECT count(*) FROM users WHERE id = 18), count(*) FROM orders;
PREPARE by_ids(bigint[]) AS SELECT count(*), min(email) FROM users WHERE id = ANY ($1);
EXECUTE by_ids('{17}'); EXECUTE by_ids('{17,18}'); EXECUTE by_ids('{}'); EXECUTE by_ids(NULL); EXECUTE by_ids('{-1}');
EXECUTE by_ids('{19,20,21}'); EXECUTE by_ids('{22,23}');
BEGIN;
UPDATE users SET tenant = tenant + 1, email = 'new' WHERE id = 17;
SELECT count(*), sum(tenant) FROM users WHERE email IN ('new', 'u18');
ROLLBACK;

-- rights, and policies
CREATE ROLE global_index_reader;
GRANT USAGE ON SCHEMA global_index_lookup TO global_index_reader;
GRANT SELECT (email, a), UPDATE (a) ON users TO global_index_reader;
SET ROLE global_index_reader;
SELECT a FROM users WHERE email = 'u15';
UPDATE users SET a = 5 WHERE email = 'u15';
SELECT * FROM users WHERE email = 'u15';
SELECT a FROM users WHERE id = 15;
SELECT count(a) FROM users WHERE email IN ('u15', 'u16');
SELECT count(*) FROM users WHERE id IN (15, 16);
DELETE FROM users WHERE email = 'u15';
RESET ROLE;
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON users FOR SELECT TO global_index_reader USING (id % 2 = 0);
GRANT SELECT ON users TO global_index_reader;
SET ROLE global_index_reader;
SELECT id FROM users WHERE email = 'u15';
SELECT id FROM users WHERE email = 'u16';
SELECT count(*) FROM users WHERE email IN ('u15', 'u16');
RESET ROLE;

-- other values than the columns have
SELECT id FROM users WHERE email = 'u16'::text;
SELECT id FROM users WHERE id = 16::int AND email = 'u16';
DROP INDEX IF EXISTS users_a_b_key;
ALTER TABLE users DROP CONSTRAINT users_email_key;
SELECT id FROM users WHERE email = 'u16';
EXECUTE by_id(16, 0);
-- columns have other names than in the entries
INSERT INTO users VALUES (1, 2001, 'n1', 8, '2000-01-01');
SELECT id FROM users WHERE a = 8 AND b = '2000-01-01';
ALTER TABLE users RENAME COLUMN a TO renamed;
INSERT INTO users VALUES (2, 2002, 'n2', 9, '2000-01-01');
SELECT id FROM users WHERE renamed = 8 AND b = '2000-01-01';
DELETE FROM users WHERE id > 2000;
SELECT citus_check_global_index('users_pkey'), citus_check_global_index('users_a_b_key');
SET citus.enable_global_index_lookups = off;
SELECT asks_one('SELECT id FROM users WHERE id = 16');
SELECT asks_entries('SELECT count(*) FROM users WHERE id = 16');
-- writes, and row locks, by several keys or a key of several rows: their shards only
RESET citus.round_trip_cost;
RESET citus.task_cost;
RESET citus.enable_global_index_lookups;
CREATE TABLE many (t int, id int PRIMARY KEY, k int NOT NULL, g int, n int DEFAULT 0);
CREATE INDEX many_g ON many (g, k) WHERE citus_global_index();
SELECT create_distributed_table('many', 't', shard_count => 32);
INSERT INTO many SELECT i, i, i, i / 4 FROM generate_series(1, 200) i;
ANALYZE many;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE many SET n = n + 1 WHERE id IN (1, 2, 3);
EXPLAIN (COSTS OFF) DELETE FROM many WHERE g = 7;
EXPLAIN (COSTS OFF) SELECT n FROM many WHERE id = ANY ('{5,6}') FOR UPDATE;
SELECT statement, asks_one(statement) FROM unnest(ARRAY[
	'UPDATE many SET n = 1 WHERE g = 7 AND k IN (28, 29)',
	'UPDATE many SET id = id + 1000 WHERE id IN (1, 2)',
	'DELETE FROM many WHERE id = ANY (ARRAY[1, 2]) RETURNING *',
	'UPDATE many SET n = 1 WHERE id IN (1, 2) AND t = 1',
	'UPDATE many SET n = 1 WHERE k = 7',
	'UPDATE many SET n = 1 WHERE id IN (SELECT 1)',
	'UPDATE many SET n = 1 WHERE id IN (1, 2) OR g = 1',
	'UPDATE many SET n = 1 WHERE id IN (' || (SELECT string_agg(i::text, ',') FROM generate_series(1, 40) i) || ')']) statement;
UPDATE many SET n = n + 1 WHERE id IN (1, 2, 3, 3, NULL, 5000);
UPDATE many SET n = n + 1 WHERE id = ANY (NULL);
UPDATE many SET n = n + 1 WHERE id = ANY ('{}');
UPDATE many SET n = n + 1 WHERE g = 7;
UPDATE many SET t = t + 1, id = id + 1000 WHERE id IN (10, 5000) RETURNING t, id;
DELETE FROM many WHERE g = 8 AND n = 0;
SELECT id, n FROM many WHERE id IN (28, 29) ORDER BY id FOR UPDATE;
PREPARE many_ids(int[], int) AS UPDATE many SET n = $2 WHERE id = ANY ($1);
EXECUTE many_ids('{41}', 1); EXECUTE many_ids('{42,43}', 2); EXECUTE many_ids(NULL, 3); EXECUTE many_ids('{}', 4); EXECUTE many_ids('{44,45}', 5);
EXECUTE many_ids('{46,1000}', 6); EXECUTE many_ids('{47,48}', 7);
SELECT id, n FROM many WHERE n > 0 ORDER BY id;
BEGIN;
INSERT INTO many VALUES (1000, 2000, 1, 7), (1001, 2001, 1, 7);
UPDATE many SET n = 100 WHERE g = 7;
UPDATE many SET n = n + 1 WHERE id IN (2000, 2001);
SELECT id, n FROM many WHERE g = 7 ORDER BY id;
ROLLBACK;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', TG_OP, TG_LEVEL; RETURN NULL; END $$;
CREATE TRIGGER tell AFTER UPDATE ON many EXECUTE FUNCTION tell();
UPDATE many SET n = n WHERE id = 5000;
UPDATE many SET n = n WHERE id IN (28, 29);
SELECT citus_check_global_index('many_pkey'), citus_check_global_index('many_g');

SET client_min_messages = warning;
DROP SCHEMA global_index_lookup CASCADE;
DROP OWNED BY global_index_reader;
DROP ROLE global_index_reader;
