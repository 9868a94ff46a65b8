-- Actions of foreign keys between rows of one node, or to reference tables, that change keys of global indexes.
CREATE SCHEMA global_key_actions;
SET search_path = global_key_actions;
\set SHOW_CONTEXT never
CREATE VIEW shard_keys AS SELECT c.relname AS "table", k.conname, k.convalidated, (SELECT count(*) FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgname LIKE 'global\_key\_%') AS triggers
	FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE k.contype = 'f' AND k.connamespace = 'global_key_actions'::regnamespace;
CREATE FUNCTION keys_of_shards(relation regclass) RETURNS SETOF text LANGUAGE sql AS
	$$SELECT DISTINCT result FROM run_command_on_shards(relation, $c$SELECT count(*) FROM pg_constraint WHERE conrelid = '%s'::regclass AND contype = 'f'$c$)$$;
CREATE TABLE p (t int PRIMARY KEY, n int);
CREATE TABLE r (id int PRIMARY KEY, x int);
CREATE TABLE c (t int REFERENCES p ON DELETE CASCADE, id int PRIMARY KEY, r int REFERENCES r ON DELETE CASCADE ON UPDATE CASCADE, u text UNIQUE,
	k int REFERENCES r ON DELETE SET NULL);
SELECT create_distributed_table('p', 't');
SELECT create_reference_table('r');
SET citus.global_indexes = notice;
SELECT create_distributed_table('c', 't');
SELECT * FROM shard_keys ORDER BY 1, 2;
SELECT keys_of_shards('c');
INSERT INTO p SELECT i, i FROM generate_series(1, 20) i;
INSERT INTO r SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO c SELECT i % 20 + 1, i, i % 10 + 1, 'u' || i, 1 FROM generate_series(1, 100) i;
INSERT INTO c VALUES (21, 200, 1, 'x');
INSERT INTO c VALUES (1, 200, 11, 'x');
INSERT INTO c VALUES (1, 200, 1, 'x', 11);
DELETE FROM p WHERE t = 3;
DELETE FROM r WHERE id = 3;
UPDATE r SET id = 50 WHERE id = 5;
DELETE FROM r WHERE id = 1;
SELECT count(*), count(*) FILTER (WHERE r = 50), count(k), citus_check_global_index('c_pkey'), citus_check_global_index('c_u_key') FROM c;
INSERT INTO p VALUES (3, 3);
INSERT INTO c SELECT 3, 200 + i, 7, 'again' || i FROM generate_series(1, 10) i;
DELETE FROM p WHERE t < 10;
SELECT count(*), citus_check_global_index('c_pkey') FROM c;
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM r WHERE id = 7;
ROLLBACK;

-- an index that is made later changes the keys of its table, and those that lead to its rows
SET citus.global_indexes = notice;
CREATE TABLE a (t int PRIMARY KEY);
CREATE TABLE b (t int PRIMARY KEY CONSTRAINT of_a REFERENCES a ON DELETE CASCADE, v int);
CREATE TABLE d (t int CONSTRAINT of_b REFERENCES b ON DELETE CASCADE, n int, k int CONSTRAINT of_r REFERENCES r ON DELETE SET NULL);
SELECT create_distributed_table('a', 't', colocate_with => 'none');
SELECT create_distributed_table('b', 't', colocate_with => 'a');
SELECT create_distributed_table('d', 't', colocate_with => 'a');
INSERT INTO a SELECT i FROM generate_series(1, 20) i;
INSERT INTO b SELECT i FROM generate_series(1, 20) i;
INSERT INTO d SELECT i, i, 7 FROM generate_series(1, 20) i;
DELETE FROM a WHERE t = 1;
SELECT keys_of_shards('d'), keys_of_shards('b');
BEGIN;
CREATE UNIQUE INDEX d_n ON d (n);
SELECT keys_of_shards('d'), keys_of_shards('b');
ROLLBACK;
SELECT keys_of_shards('d'), keys_of_shards('b');
ALTER TABLE d ADD UNIQUE (n);
SELECT keys_of_shards('d'), keys_of_shards('b');
SELECT * FROM shard_keys WHERE "table" IN ('a', 'b', 'd') ORDER BY 1, 2;
DELETE FROM a WHERE t IN (2, 3);
DELETE FROM r WHERE id = 7;
SELECT count(*), count(k), citus_check_global_index('d_n_key') FROM d;
ALTER TABLE d DROP CONSTRAINT of_b;
ALTER TABLE d ADD CONSTRAINT of_b FOREIGN KEY (t) REFERENCES b ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;
ALTER TABLE d VALIDATE CONSTRAINT of_b;
ALTER TABLE d RENAME CONSTRAINT of_b TO of_some_b;
UPDATE b SET t = 21 WHERE t = 4;
INSERT INTO a VALUES (21);
UPDATE b SET t = 21 WHERE t = 4;
SELECT * FROM d WHERE t = 21;
-- they stay as they are without it
ALTER TABLE d DROP CONSTRAINT d_n_key;
DELETE FROM a WHERE t = 21;
SELECT count(*) FROM d;
ALTER TABLE d DROP CONSTRAINT of_some_b, DROP CONSTRAINT of_r;
ALTER TABLE d ADD CONSTRAINT of_b FOREIGN KEY (t) REFERENCES b ON DELETE CASCADE, ADD CONSTRAINT of_r FOREIGN KEY (k) REFERENCES r ON UPDATE SET NULL;
SELECT keys_of_shards('d');
CREATE INDEX CONCURRENTLY d_n ON d (n) WHERE citus_global_index();
CREATE UNIQUE INDEX CONCURRENTLY d_k ON d (k, n);
SELECT keys_of_shards('d');
DELETE FROM a WHERE t < 10;
UPDATE d SET k = 8;
UPDATE r SET id = 80 WHERE id = 8;
SELECT count(*), count(k), citus_check_global_index('d_k') FROM d;

-- types of columns that they reference, of a copy and of a shard
ALTER TABLE r ALTER COLUMN id TYPE bigint;
ALTER TABLE b ALTER COLUMN v TYPE bigint;
SELECT * FROM shard_keys WHERE "table" IN ('b', 'c', 'd') ORDER BY 1, 2;
INSERT INTO d VALUES (11, 100, 81);
INSERT INTO d VALUES (11, 100, 80);
DELETE FROM r WHERE id = 10;
UPDATE r SET id = 81 WHERE id = 80;
SELECT count(*), count(k), citus_check_global_index('d_k') FROM d;

-- what the setting is for, and what they can't be
SET citus.global_indexes = refuse;
ALTER TABLE d ADD CONSTRAINT again FOREIGN KEY (n) REFERENCES r ON DELETE CASCADE;
CREATE TABLE moves (t int REFERENCES a ON UPDATE CASCADE);
SELECT create_distributed_table('moves', 't', colocate_with => 'a');
SET citus.global_indexes = on;
SELECT create_distributed_table('moves', 't', colocate_with => 'a');
INSERT INTO moves VALUES (15), (15), (16);
UPDATE a SET t = 30 WHERE t = 15;
UPDATE a SET t = 31 WHERE t = 16;
DELETE FROM b WHERE t = 15;
UPDATE a SET t = 30 WHERE t = 15;
SELECT * FROM moves ORDER BY t;
CREATE TABLE parts (t int REFERENCES p ON DELETE CASCADE, day int, id int, UNIQUE (day, id)) PARTITION BY LIST (day);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
SELECT create_distributed_table('parts', 't');
ALTER TABLE parts DROP CONSTRAINT parts_t_fkey;
SELECT create_distributed_table('parts', 't');
ALTER TABLE parts ADD FOREIGN KEY (t) REFERENCES p ON DELETE CASCADE;
ALTER TABLE parts ADD FOREIGN KEY (t) REFERENCES p;
SELECT undistribute_table('b', cascade_via_foreign_keys => true);
SELECT * FROM shard_keys WHERE "table" IN ('b', 'd') ORDER BY 1, 2;
DELETE FROM a WHERE t = 12;
SELECT count(*) FROM d;

-- composite types
CREATE TYPE part AS (n int, s text);
CREATE TABLE things (id int PRIMARY KEY, place part, key part UNIQUE, x int, UNIQUE (x, key));
SELECT create_distributed_table('things', 'place', colocate_with => 'none');
INSERT INTO things (id, place.n, place.s, key.n, x) VALUES (3, 1, 'b', 1, 1), (4, 2, 'd', 2, 2);
INSERT INTO things SELECT i, (i, 's' || i)::part, (i, 'k')::part, i FROM generate_series(10, 30) i;
INSERT INTO things VALUES (100, (1, 'x'), (10, 'k'));
DELETE FROM things WHERE id < 15;
UPDATE things SET place = (7, 'all'), key.s = 'K' WHERE id > 20;
SELECT id, place FROM things WHERE key IN ((25, 'K')::part, (16, 'k')::part) ORDER BY 1;
SELECT citus_check_global_index('things_pkey'), citus_check_global_index('things_key_key'), citus_check_global_index('things_x_key_key');
CREATE UNIQUE INDEX CONCURRENTLY things_later ON things (id, key);
SELECT citus_check_global_index('things_later', repair => true);
CREATE TABLE of_things (n int, thing part REFERENCES things (key) ON UPDATE CASCADE ON DELETE CASCADE, x int);
SELECT create_distributed_table('of_things', 'n', colocate_with => 'none');
INSERT INTO of_things SELECT i, (i, 'k')::part, i FROM generate_series(15, 20) i;
INSERT INTO of_things VALUES (1, (1, 'z'), 1);
UPDATE things SET key.s = 'KK' WHERE id IN (15, 16, 17);
DELETE FROM things WHERE id IN (15, 18);
SELECT * FROM of_things ORDER BY 1;
ALTER TABLE of_things ADD FOREIGN KEY (thing, x) REFERENCES things (key, x);
SET client_min_messages = warning;
DROP SCHEMA global_key_actions CASCADE;
