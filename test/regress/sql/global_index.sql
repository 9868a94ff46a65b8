-- Unique indexes and constraints without the distribution column.
CREATE SCHEMA global_index;
SET search_path = global_index;
SET citus.global_indexes = refuse;

CREATE TABLE users (tenant int NOT NULL, id bigint PRIMARY KEY, email text, name text);
SELECT create_distributed_table('users', 'tenant');
SET citus.global_indexes = notice;
INSERT INTO users SELECT i % 10, i, 'u' || i || '@example.org', 'n' FROM generate_series(1, 100) i;
SELECT create_distributed_table('users', 'tenant');
SELECT citus_check_global_index('users_pkey');

-- a key is unique over all shards, whoever writes it
INSERT INTO users VALUES (3, 5, 'x', 'x');
INSERT INTO users VALUES (3, 101, 'u101@example.org', 'x');
INSERT INTO users SELECT t, 102, 'x', 'x' FROM generate_series(1, 3) t;
COPY users FROM STDIN;
7	103	u103@example.org	c
8	101	y	c
\.
UPDATE users SET id = 7 WHERE tenant = 8 AND id = 8;
UPDATE users SET name = 'other' WHERE tenant = 8;
SELECT citus_check_global_index('users_pkey');

-- a second one, over rows that exist, and one that rows violate
CREATE UNIQUE INDEX users_email ON users (email);
CREATE TABLE pairs (a int, b int);
SELECT create_distributed_table('pairs', 'a');
INSERT INTO pairs VALUES (1, 1), (2, 1);
ALTER TABLE pairs ADD CONSTRAINT pairs_b UNIQUE (b);
DELETE FROM pairs;
ALTER TABLE pairs ADD CONSTRAINT pairs_b UNIQUE (b);
DROP TABLE pairs;
UPDATE users SET email = 'u1@example.org' WHERE tenant = 2 AND id = 2;
INSERT INTO users VALUES (1, 200, NULL, 'x'), (2, 201, NULL, 'x');

-- keys that go can come again, in other shards
BEGIN;
DELETE FROM users WHERE tenant = 4 AND id = 4;
INSERT INTO users VALUES (5, 4, 'u4@example.org', 'moved');
COMMIT;
UPDATE users SET tenant = 6 WHERE tenant = 5 AND id = 4;
UPDATE users SET id = 201 - id + 300 WHERE id <= 50;
MERGE INTO users u USING (VALUES (6, 497, 'm@example.org')) v (tenant, id, email) ON u.tenant = v.tenant AND u.id = v.id
	WHEN MATCHED THEN UPDATE SET email = v.email WHEN NOT MATCHED THEN INSERT VALUES (v.tenant, v.id, v.email, 'merged');
DELETE FROM users WHERE id BETWEEN 60 AND 70;
SELECT tenant, id, email, name FROM users WHERE name IN ('moved', 'merged') ORDER BY id;
SELECT citus_check_global_index('users_pkey'), citus_check_global_index('users_email'), count(*) FROM users;

-- it is an index of the table, on every node
SELECT indexname FROM pg_indexes WHERE schemaname = 'global_index' ORDER BY 1;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_trigger WHERE tgrelid = 'global_index.users'::regclass AND tgisinternal$$);
ALTER INDEX users_email RENAME TO users_mail;
INSERT INTO users VALUES (3, 900, 'u1@example.org', 'x');

-- who writes needs no right on the entries, and has none
CREATE ROLE global_index_writer;
GRANT USAGE ON SCHEMA global_index TO global_index_writer;
GRANT SELECT, INSERT, DELETE ON users TO global_index_writer;
SET ROLE global_index_writer;
INSERT INTO users VALUES (3, 901, 'w@example.org', 'w');
INSERT INTO users VALUES (4, 901, 'v@example.org', 'w');
DELETE FROM users WHERE tenant = 3 AND id = 901;
SELECT citus_check_global_index('users_pkey');
RESET ROLE;
REVOKE ALL ON users FROM global_index_writer;
REVOKE ALL ON SCHEMA global_index FROM global_index_writer;
DROP ROLE global_index_writer;
SELECT citus_check_global_index('users_pkey');

-- beside writers, as far as the shards go; and again
CREATE TABLE later (a int PRIMARY KEY, b int, c int);
SELECT create_distributed_table('later', 'a');
INSERT INTO later SELECT i, i, i / 2 FROM generate_series(1, 20) i;
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY later_c ON later (c);
\set VERBOSITY default
CREATE UNIQUE INDEX CONCURRENTLY later_b ON later (b);
ALTER TABLE later ADD d int;
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'later'::regclass ORDER BY 1;
INSERT INTO later VALUES (21, 20, 21);
INSERT INTO later VALUES (21, 20, 21) ON CONFLICT DO NOTHING;
DROP INDEX later_c;
CREATE INDEX CONCURRENTLY later_c ON later (c) WHERE citus_global_index();
CREATE FUNCTION files(index regclass) RETURNS text LANGUAGE sql RETURN (SELECT string_agg(result, ',' ORDER BY shardid) FROM pg_depend,
	run_command_on_shards(objid, $$SELECT relfilenode FROM pg_class JOIN pg_index ON pg_class.oid = indexrelid WHERE indrelid = '%s'::regclass$$)
	WHERE refobjid = index AND deptype = 'i' AND classid = 'pg_class'::regclass);
SELECT files('later_b') AS b, files('later_c') AS c \gset
REINDEX INDEX later_b;
SELECT files('later_b') <> :'b', files('later_c') = :'c';
SELECT files('later_b') AS b, files('later_c') AS c \gset
REINDEX TABLE CONCURRENTLY later;
SELECT files('later_b') <> :'b', files('later_c') <> :'c';
SELECT citus_check_global_index('later_b'), citus_check_global_index('later_c');
DROP INDEX CONCURRENTLY later_c;
DROP TABLE later;
DROP FUNCTION files;

-- a damaged index is found, and repaired
CREATE TABLE damaged (a int, b int UNIQUE);
SELECT create_distributed_table('damaged', 'a');
INSERT INTO damaged SELECT i, i FROM generate_series(1, 20) i;
ALTER TABLE damaged DISABLE TRIGGER ALL;
DELETE FROM damaged WHERE b = 5;
UPDATE damaged SET b = 100 WHERE b = 6;
INSERT INTO damaged VALUES (21, 21), (22, 7);
ALTER TABLE damaged ENABLE TRIGGER ALL;
SELECT citus_check_global_index('damaged_b_key');
SELECT citus_check_global_index('damaged_b_key', repair => true);
INSERT INTO damaged VALUES (30, 5) ON CONFLICT (b) DO UPDATE SET a = 30;
DELETE FROM damaged WHERE a = 22;
SELECT citus_check_global_index('damaged_b_key', repair => true);
SELECT citus_check_global_index('damaged_b_key');
INSERT INTO damaged VALUES (30, 5), (31, 6) ON CONFLICT (b) DO NOTHING;
SELECT a FROM damaged WHERE b = 100;
SELECT citus_check_global_index('damaged_b_key', repair => true);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT citus_check_global_index('damaged_b_key', repair => true);
ROLLBACK;
SELECT citus_check_global_index('damaged', repair => true);
DROP TABLE damaged;

-- expressions and conditions
CREATE TABLE people (t int, id int PRIMARY KEY, email varchar(40), deleted_at date, active boolean DEFAULT true);
SELECT create_distributed_table('people', 't');
CREATE UNIQUE INDEX people_email ON people (lower(email));
INSERT INTO people VALUES (1, 1, 'Ann'), (2, 2, 'Bob'), (3, 3, NULL);
INSERT INTO people VALUES (4, 4, 'ANN');
DROP INDEX people_email;
CREATE UNIQUE INDEX people_live ON people (email) WHERE deleted_at IS NULL AND active = true;
INSERT INTO people VALUES (4, 4, 'Ann');
INSERT INTO people VALUES (4, 4, 'Ann', '2020-01-01', true), (5, 5, 'Ann', NULL, false);
UPDATE people SET active = true WHERE id = 5;
UPDATE people SET deleted_at = '2020-01-02' WHERE id = 1;
UPDATE people SET active = true WHERE id = 5;
UPDATE people SET deleted_at = NULL WHERE id = 4;
CREATE UNIQUE INDEX people_email ON people (lower(email));
DELETE FROM people WHERE id IN (1, 4);
CREATE UNIQUE INDEX people_email ON people (lower(email));
CREATE UNIQUE INDEX people_sum ON people ((id + 1), lower(email)) INCLUDE (active);
SELECT i, citus_check_global_index(i) FROM unnest('{people_pkey,people_live,people_email,people_sum}'::regclass[]) i;
INSERT INTO people VALUES (7, 7, 'ANN') ON CONFLICT (lower(email)) DO UPDATE SET email = excluded.email RETURNING *;
INSERT INTO people VALUES (7, 7, 'ANN') ON CONFLICT (email) WHERE deleted_at IS NULL AND active DO NOTHING;
INSERT INTO people VALUES (7, 7, 'ANN') ON CONFLICT (email) DO NOTHING;
ALTER TABLE people ALTER COLUMN email TYPE text;
INSERT INTO people VALUES (8, 8, 'bOB');
ALTER TABLE people RENAME COLUMN email TO mail;
INSERT INTO people VALUES (8, 8, 'bOB');
INSERT INTO people VALUES (8, 8, 'Bobb');
SELECT i, citus_check_global_index(i) FROM unnest('{people_pkey,people_live,people_email,people_sum}'::regclass[]) i;
SELECT * FROM people ORDER BY id;
ALTER TABLE people DROP COLUMN active;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'people'::regclass ORDER BY 1;
DROP TABLE people;

-- ON CONFLICT with rows of all shards
CREATE TABLE upserts (t int, k int PRIMARY KEY, e text UNIQUE, n int DEFAULT 0);
SELECT create_distributed_table('upserts', 't');
INSERT INTO upserts VALUES (1, 1, 'a') ON CONFLICT (k) DO NOTHING;
INSERT INTO upserts VALUES (2, 1, 'b') ON CONFLICT (k) DO NOTHING;
INSERT INTO upserts VALUES (2, 2, 'a') ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO upserts VALUES (2, 2, 'a') ON CONFLICT (k) DO NOTHING;
INSERT INTO upserts VALUES (2, 1, 'x') ON CONFLICT (k) DO UPDATE SET n = upserts.n + 1, e = excluded.e || upserts.e RETURNING *;
INSERT INTO upserts VALUES (3, 1, 'x') ON CONFLICT (k) DO UPDATE SET t = excluded.t RETURNING *;
INSERT INTO upserts VALUES (4, 1, 'y'), (5, 5, 'five'), (6, 6, 'six') ON CONFLICT (k) DO UPDATE SET t = excluded.t, n = 7 RETURNING *;
INSERT INTO upserts VALUES (4, 8, 'y'), (5, 8, 'z') ON CONFLICT (k) DO UPDATE SET n = 9;
INSERT INTO upserts VALUES (4, 8, 'y'), (5, 8, 'z') ON CONFLICT DO NOTHING;
INSERT INTO upserts SELECT i % 7, i, 'e' || i FROM generate_series(1, 20) i
	ON CONFLICT ON CONSTRAINT upserts_pkey DO UPDATE SET n = excluded.k WHERE upserts.k <> 8;
INSERT INTO upserts VALUES (1, 20, 'e19') ON CONFLICT (k) DO UPDATE SET e = excluded.e;
INSERT INTO upserts VALUES (1, 21, 'e19') ON CONFLICT (k) DO UPDATE SET e = excluded.e;
INSERT INTO upserts VALUES (1, 21, 'e19') ON CONFLICT (e) DO UPDATE SET k = excluded.k RETURNING *;
INSERT INTO upserts VALUES (1, 23, NULL), (1, 24, NULL) ON CONFLICT (e) DO NOTHING;
CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %', TG_WHEN, TG_OP, NEW; RETURN NEW; END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE ON upserts FOR EACH ROW EXECUTE FUNCTION fires();
CREATE TRIGGER a AFTER INSERT OR UPDATE ON upserts FOR EACH ROW EXECUTE FUNCTION fires();
INSERT INTO upserts VALUES (1, 25, 'new'), (2, 25, 'other'), (3, 26, 'new') ON CONFLICT DO NOTHING;
INSERT INTO upserts VALUES (2, 25, 'other'), (3, 27, 'newer') ON CONFLICT (k) DO UPDATE SET n = 4;
DROP TRIGGER a ON upserts;
DROP TRIGGER b ON upserts;
DROP FUNCTION fires;
PREPARE up(int, int, text) AS INSERT INTO upserts VALUES ($1, $2, $3) ON CONFLICT (k) DO UPDATE SET n = upserts.n + 1 RETURNING n;
BEGIN;
EXECUTE up(1, 31, 'q'); EXECUTE up(2, 31, 'q');
DELETE FROM upserts WHERE k = 31;
EXECUTE up(3, 31, 'q');
SAVEPOINT s;
EXECUTE up(4, 31, 'q');
ROLLBACK TO s;
EXECUTE up(5, 31, 'q'); EXECUTE up(6, 31, 'q'); EXECUTE up(7, 31, 'q');
COMMIT;
WITH i AS (INSERT INTO upserts VALUES (9, 31, 'z'), (9, 32, 'zz') ON CONFLICT (k) DO NOTHING RETURNING k) SELECT * FROM i;
SELECT * FROM upserts ORDER BY k;
SELECT citus_check_global_index('upserts_pkey'), citus_check_global_index('upserts_e_key');
DROP TABLE upserts;

-- the owner's policies hide no rows from it
\set SHOW_CONTEXT never
CREATE ROLE global_index_owner;
GRANT ALL ON SCHEMA global_index TO global_index_owner;
SET ROLE global_index_owner;
CREATE TABLE hidden (a int, b int);
SELECT create_distributed_table('hidden', 'a');
INSERT INTO hidden VALUES (1, 1), (2, 1);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY one ON hidden USING (a = 1) WITH CHECK (true);
CREATE UNIQUE INDEX ON hidden (b);
ALTER TABLE hidden NO FORCE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX ON hidden (b);
DELETE FROM hidden WHERE a = 2;
CREATE UNIQUE INDEX hidden_b ON hidden (b);
ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
INSERT INTO hidden VALUES (3, 1);
SELECT citus_check_global_index('hidden_b');
DROP TABLE hidden;
RESET ROLE;
REVOKE ALL ON SCHEMA global_index FROM global_index_owner;
DROP ROLE global_index_owner;
\set SHOW_CONTEXT errors

-- triggers of users find rows by their keys
CREATE TABLE seen (a int, b int UNIQUE, c text);
SELECT create_distributed_table('seen', 'a');
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %: % %', TG_WHEN, TG_OP, TG_LEVEL, (SELECT c FROM seen WHERE b = 5), (SELECT count(*) FROM seen WHERE b IN (5, 6));
	RETURN NEW;
END $$;
CREATE TRIGGER a_row AFTER INSERT OR UPDATE OR DELETE ON seen FOR EACH ROW EXECUTE FUNCTION see();
CREATE TRIGGER a_statement AFTER INSERT OR UPDATE ON seen FOR EACH STATEMENT EXECUTE FUNCTION see();
INSERT INTO seen VALUES (1, 5, 'x');
UPDATE seen SET a = 2, c = 'y';
UPDATE seen SET b = 6;
UPDATE seen SET b = 5;
DELETE FROM seen;
CREATE TRIGGER a_before BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION see();
INSERT INTO seen VALUES (1, 5, 'x'), (2, 6, 'y');
CREATE UNIQUE INDEX ON seen (a, b);
INSERT INTO seen VALUES (3, 7, 'z'), (2, 6, 'a') ON CONFLICT (a, b) DO NOTHING;
DROP TRIGGER a_row ON seen;
DROP TRIGGER a_before ON seen;
INSERT INTO seen VALUES (1, 5, 'u'), (4, 8, 'z') ON CONFLICT (a, b) DO UPDATE SET b = 9, c = excluded.c;
MERGE INTO seen USING (VALUES (1, 5), (2, 6), (1, 9)) v (x, y) ON a = x AND b = y WHEN MATCHED AND y = 9 THEN DELETE
	WHEN MATCHED THEN UPDATE SET b = 5 WHEN NOT MATCHED THEN INSERT VALUES (x, 6, 'm');
COPY seen FROM STDIN;
9	10	c
\.
SELECT * FROM seen ORDER BY b;
SELECT citus_check_global_index('seen_b_key');
DROP TABLE seen;
DROP FUNCTION see;

-- a domain's values are checked where they are stored
CREATE DOMAIN code AS varchar(5) CHECK (VALUE <> 'none');
CREATE TABLE coded (a int, b code UNIQUE);
SELECT create_distributed_table('coded', 'a');
INSERT INTO coded SELECT i, i FROM generate_series(1, 3) i;
INSERT INTO coded VALUES (4, '3');
INSERT INTO coded VALUES (4, 'none');
UPDATE coded SET b = b || 'x';
SELECT citus_check_global_index('coded_b_key');
SELECT format_type(atttypid, atttypmod) FROM pg_index JOIN pg_depend ON refobjid = indexrelid AND deptype = 'i' JOIN pg_attribute ON attrelid = objid AND attnum = 1
	WHERE indexrelid = 'coded_b_key'::regclass AND attname = 'b';
DROP TABLE coded;
DROP DOMAIN code;

TRUNCATE users;
SELECT citus_check_global_index('users_pkey');
INSERT INTO users VALUES (1, 1, 'a', 'x');
DROP INDEX users_mail;
INSERT INTO users VALUES (2, 2, 'a', 'x');
ALTER TABLE users DROP CONSTRAINT users_pkey;
INSERT INTO users VALUES (2, 1, 'a', 'x');
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname LIKE 'global\_index\_%' AND relkind = 'r'$$);
ALTER TABLE users ADD COLUMN code int;
CREATE UNIQUE INDEX users_code ON users (code, name);
INSERT INTO users VALUES (1, 3, 'a', 'x', 1), (2, 3, 'a', 'y', 1);
INSERT INTO users VALUES (2, 4, 'a', 'x', 1);
DELETE FROM users WHERE code = 1;
SELECT citus_check_global_index('users_code');
SELECT undistribute_table('users');
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname LIKE 'global\_index\_%' AND relkind = 'r'$$);
SET client_min_messages = warning;
DROP SCHEMA global_index CASCADE;
