-- Foreign keys between rows of different nodes: from and to tables without a distribution column; ALTER CONSTRAINT.
CREATE SCHEMA global_key_kinds;
SET search_path = global_key_kinds;
SET citus.global_indexes = on;
\set VERBOSITY terse

CREATE TABLE users (t int, id int PRIMARY KEY, email text UNIQUE);
SELECT create_distributed_table('users', 't', shard_count => 6);
INSERT INTO users SELECT i % 5, i, 'u' || i FROM generate_series(1, 20) i;

-- from a reference table
CREATE TABLE vips (user_id int REFERENCES users ON DELETE CASCADE, email text REFERENCES users (email) ON UPDATE CASCADE, n int);
SELECT create_reference_table('vips');
INSERT INTO vips VALUES (1, 'u2', 1), (3, NULL, 2);
INSERT INTO vips VALUES (21, NULL, 3);
INSERT INTO vips SELECT i, 'u' || i + 10, i FROM generate_series(18, 22) i;
INSERT INTO vips SELECT i, 'u' || i FROM generate_series(18, 20) i RETURNING *;
UPDATE vips SET user_id = 99 WHERE n = 1;
UPDATE vips SET user_id = 4, n = 10 WHERE n = 1;
UPDATE vips SET n = n + 1;
COPY vips FROM stdin;
5	u5	5
\.
COPY vips FROM stdin;
50	u5	5
\.
DELETE FROM users WHERE id = 2;
UPDATE users SET email = 'v' || email WHERE id IN (2, 5);
DELETE FROM users WHERE id IN (3, 18);
SELECT * FROM vips ORDER BY user_id, n;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT md5(string_agg(v::text, ',' ORDER BY user_id, email)) FROM global_key_kinds.vips v$$);
DELETE FROM vips WHERE email = 'vu2';
DELETE FROM users WHERE id = 2;
-- with rows that exist
CREATE TABLE notes (id int PRIMARY KEY, user_id int);
INSERT INTO notes VALUES (1, 1), (2, 100);
SELECT create_reference_table('notes');
ALTER TABLE notes ADD CONSTRAINT notes_user FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE notes ADD CONSTRAINT notes_user FOREIGN KEY (user_id) REFERENCES users NOT VALID;
INSERT INTO notes VALUES (3, 100);
ALTER TABLE notes VALIDATE CONSTRAINT notes_user;
UPDATE notes SET user_id = 6 WHERE id = 2;
ALTER TABLE notes VALIDATE CONSTRAINT notes_user;
DELETE FROM users WHERE id = 6;
TRUNCATE users;
ALTER TABLE notes DROP CONSTRAINT notes_user;
DELETE FROM users WHERE id = 6;

-- from a table that stays on this node, and to it
CREATE TABLE local_notes (id int PRIMARY KEY, user_id int REFERENCES users);
INSERT INTO local_notes VALUES (1, 7);
SELECT citus_add_local_table_to_metadata('local_notes');
INSERT INTO local_notes VALUES (1, 7), (2, 8);
INSERT INTO local_notes VALUES (3, 700);
DELETE FROM users WHERE id = 8;
CREATE TABLE marks (t int, note int REFERENCES local_notes ON DELETE SET NULL);
SELECT create_distributed_table('marks', 't');
INSERT INTO marks VALUES (1, 1), (2, 2);
INSERT INTO marks VALUES (1, 10);
DELETE FROM local_notes WHERE id = 2;
SELECT * FROM marks ORDER BY t;
CREATE TABLE plain (user_id int);
INSERT INTO plain VALUES (1);
ALTER TABLE plain ADD FOREIGN KEY (user_id) REFERENCES users;

-- of tables of a distributed schema
SET citus.enable_schema_based_sharding = on;
CREATE SCHEMA global_key_tenant;
CREATE TABLE global_key_tenant.items (id int PRIMARY KEY, user_id int REFERENCES users ON DELETE CASCADE);
CREATE TABLE global_key_tenant.parts (item int REFERENCES global_key_tenant.items ON DELETE CASCADE);
RESET citus.enable_schema_based_sharding;
INSERT INTO global_key_tenant.items VALUES (1, 9), (2, 10);
INSERT INTO global_key_tenant.items VALUES (3, 90);
INSERT INTO global_key_tenant.parts VALUES (2);
INSERT INTO global_key_tenant.parts VALUES (3);
DELETE FROM users WHERE id = 9;
SELECT * FROM global_key_tenant.items;

-- when they are checked
CREATE TABLE orders (t int, user_id int CONSTRAINT orders_user REFERENCES users);
SELECT create_distributed_table('orders', 't');
ALTER TABLE orders ALTER CONSTRAINT orders_user DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO orders VALUES (1, 1000);
INSERT INTO users VALUES (1, 1000);
COMMIT;
BEGIN;
INSERT INTO orders VALUES (1, 1001);
COMMIT;
BEGIN;
DELETE FROM users WHERE id = 1000;
DELETE FROM orders;
COMMIT;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT string_agg(DISTINCT tgdeferrable::text || tginitdeferred, ',' ORDER BY tgdeferrable::text || tginitdeferred)
	FROM pg_trigger t JOIN pg_constraint c ON c.oid = tgconstraint WHERE conname = 'orders_user' AND tgname LIKE 'global\_key\_check%'$$);
ALTER TABLE orders ALTER CONSTRAINT orders_user DEFERRABLE INITIALLY IMMEDIATE;
BEGIN;
SET CONSTRAINTS orders_user DEFERRED;
INSERT INTO orders VALUES (1, 1002);
ROLLBACK;
INSERT INTO orders VALUES (1, 1002);
ALTER TABLE orders ALTER CONSTRAINT orders_user NOT DEFERRABLE;
BEGIN;
SET CONSTRAINTS orders_user DEFERRED;
ROLLBACK;
CREATE TABLE pairs (a int, b int, UNIQUE (a, b), t int);
SELECT create_distributed_table('pairs', 't');
CREATE TABLE of_pairs (a int, b int, CONSTRAINT full_pair FOREIGN KEY (a, b) REFERENCES pairs (a, b) MATCH FULL, t int);
SELECT create_distributed_table('of_pairs', 't', colocate_with => 'none');
ALTER TABLE of_pairs ALTER CONSTRAINT full_pair DEFERRABLE;

SELECT undistribute_table('vips');
SET client_min_messages = warning;
DROP SCHEMA global_key_kinds, global_key_tenant CASCADE;
