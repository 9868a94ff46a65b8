-- Foreign keys between rows of different nodes.
CREATE SCHEMA global_key;
SET search_path = global_key;
SET citus.global_indexes = refuse;
\set SHOW_CONTEXT never
CREATE TABLE users (id bigint PRIMARY KEY, email text UNIQUE, name text);
CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint, total int);
CREATE TABLE payments (order_id bigint NOT NULL, id bigint, amount int, email text);
SELECT create_distributed_table('orders', 'id');
SELECT create_distributed_table('payments', 'id');
ALTER TABLE payments ADD CONSTRAINT payments_order FOREIGN KEY (order_id) REFERENCES orders ON DELETE CASCADE ON UPDATE CASCADE;
SET citus.global_indexes = notice;
SELECT create_distributed_table('users', 'name');
ALTER TABLE orders ADD CONSTRAINT orders_user FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE payments ADD CONSTRAINT payments_order FOREIGN KEY (order_id) REFERENCES orders ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE payments ADD CONSTRAINT payments_email FOREIGN KEY (email) REFERENCES users (email) ON DELETE SET NULL ON UPDATE CASCADE;
SET citus.global_indexes = on;

INSERT INTO users SELECT i, 'u' || i, 'name' || i FROM generate_series(1, 20) i;
INSERT INTO orders SELECT i, i % 20 + 1, i FROM generate_series(1, 60) i;
INSERT INTO payments SELECT i % 60 + 1, i, i, 'u' || i % 20 + 1 FROM generate_series(1, 200) i;

-- children need parents
INSERT INTO orders VALUES (100, 21, 1);
INSERT INTO orders VALUES (100, NULL, 1), (101, 20, 1);
UPDATE orders SET user_id = 22 WHERE id = 5;
UPDATE orders SET total = 22 WHERE id = 5;
UPDATE orders SET user_id = 3 WHERE id = 5;
INSERT INTO payments VALUES (1, 300, 1, 'nobody');
COPY payments FROM STDIN;
1	301	1	u1
77	302	1	u1
\.
INSERT INTO orders VALUES (100, 1, 5) ON CONFLICT (id) DO UPDATE SET user_id = 99;
INSERT INTO orders VALUES (100, 1, 5) ON CONFLICT (id) DO UPDATE SET user_id = 9 RETURNING *;
MERGE INTO orders USING (VALUES (100, 50)) v (x, y) ON id = x WHEN MATCHED THEN UPDATE SET user_id = y;
INSERT INTO orders SELECT i, i, i FROM generate_series(1000, 1002) i;
WITH o AS (INSERT INTO orders VALUES (1000, 1000, 1)) INSERT INTO users VALUES (1000, 'u1000', 'x');
BEGIN;
INSERT INTO users VALUES (1001, 'u1001', 'y');
INSERT INTO orders VALUES (1001, 1001, 1);
SAVEPOINT s;
INSERT INTO orders VALUES (1002, 1002, 1);
ROLLBACK TO s;
DELETE FROM users WHERE id = 1001;
ROLLBACK;

-- parents stay while they have children, or these follow
DELETE FROM users WHERE id = 1000;
DELETE FROM users WHERE id IN (1, 2);
UPDATE users SET id = 5000 WHERE id = 3;
UPDATE users SET name = 'other' WHERE id = 3;
UPDATE users SET email = 'changed' WHERE id = 4;
SELECT email, count(*) FROM payments WHERE email IN ('changed', 'u4') GROUP BY 1;
UPDATE orders SET id = id + 2000 WHERE id BETWEEN 10 AND 12;
SELECT order_id, count(*) FROM payments WHERE order_id BETWEEN 10 AND 12 OR order_id > 2000 GROUP BY 1 ORDER BY 1;
DELETE FROM orders WHERE user_id = 5 OR id > 2000;
SELECT count(*) FROM payments;
DELETE FROM users WHERE id = 5;
SELECT count(*), count(email) FROM payments;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO orders VALUES (102, 4, 1);
DELETE FROM users WHERE id = 6;
ROLLBACK;
TRUNCATE orders;
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'global_key'::regnamespace AND contype = 'f' ORDER BY 1;
SELECT DISTINCT result FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'global\_key\_%' AND tgrelid::regclass::text LIKE 'global_key.%'$$);

-- who writes needs no right on the other table
CREATE ROLE global_key_writer;
GRANT USAGE ON SCHEMA global_key TO global_key_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO global_key_writer;
SET ROLE global_key_writer;
INSERT INTO orders VALUES (500, 7, 1);
INSERT INTO orders VALUES (501, 70, 1);
UPDATE orders SET id = 502 WHERE id = 500;
SELECT * FROM users;
RESET ROLE;
INSERT INTO payments VALUES (502, 1000, 5, 'u7');
SET ROLE global_key_writer;
DELETE FROM orders WHERE id = 502;
RESET ROLE;
SELECT count(*) FROM payments WHERE order_id = 502;
REVOKE ALL ON orders FROM global_key_writer;
REVOKE ALL ON SCHEMA global_key FROM global_key_writer;
DROP ROLE global_key_writer;

-- NOT VALID, VALIDATE, RENAME, DROP
ALTER TABLE orders DROP CONSTRAINT orders_user;
INSERT INTO orders VALUES (600, 77, 1);
ALTER TABLE orders ADD CONSTRAINT orders_user FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE orders ADD CONSTRAINT orders_user FOREIGN KEY (user_id) REFERENCES users NOT VALID;
INSERT INTO orders VALUES (601, 77, 1);
ALTER TABLE orders VALIDATE CONSTRAINT orders_user;
DELETE FROM orders WHERE id = 600;
ALTER TABLE orders VALIDATE CONSTRAINT orders_user;
SELECT convalidated FROM pg_constraint WHERE conname = 'orders_user' AND connamespace = 'global_key'::regnamespace;
ALTER TABLE orders RENAME CONSTRAINT orders_user TO orders_user_fkey;
INSERT INTO orders VALUES (601, 77, 1);
ALTER TABLE users RENAME COLUMN id TO number;
ALTER TABLE users RENAME TO people;
INSERT INTO orders VALUES (601, 77, 1);
INSERT INTO orders VALUES (601, 7, 1);
DELETE FROM people WHERE number = 7;
ALTER TABLE orders DROP COLUMN user_id;
DELETE FROM people WHERE number = 7;
DROP TABLE people CASCADE;

-- checked at the end of the transaction
CREATE TABLE nodes (t int, id int PRIMARY KEY, parent int REFERENCES nodes DEFERRABLE INITIALLY DEFERRED);
SELECT create_distributed_table('nodes', 't');
INSERT INTO nodes VALUES (1, 1, 2), (2, 2, 1), (3, 3, NULL);
INSERT INTO nodes VALUES (4, 4, 40);
BEGIN;
INSERT INTO nodes VALUES (4, 4, 40), (5, 5, 50);
UPDATE nodes SET parent = 4 WHERE id = 5;
INSERT INTO nodes VALUES (40, 40, 3);
COMMIT;
BEGIN;
INSERT INTO nodes VALUES (6, 6, 60);
SET CONSTRAINTS nodes_parent_fkey IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO nodes VALUES (6, 6, 60);
ROLLBACK;
BEGIN;
DELETE FROM nodes WHERE id = 1;
INSERT INTO nodes VALUES (9, 1, 1);
COMMIT;
BEGIN;
DELETE FROM nodes WHERE id = 1;
SAVEPOINT s;
INSERT INTO nodes VALUES (7, 7, 70);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
COMMIT;
DELETE FROM nodes WHERE id = 1;
SELECT * FROM nodes ORDER BY id;
DELETE FROM nodes;
ALTER TABLE nodes ALTER CONSTRAINT nodes_parent_fkey NOT DEFERRABLE;
DROP TABLE nodes;

-- a tree that goes as a whole, defaults, several columns
CREATE TABLE tree (t int, id int PRIMARY KEY, parent int REFERENCES tree ON DELETE CASCADE);
SELECT create_distributed_table('tree', 't');
INSERT INTO tree SELECT i, i, nullif(i / 2, 0) FROM generate_series(1, 31) i;
DELETE FROM tree WHERE id = 2;
SELECT count(*) FROM tree;
DELETE FROM tree WHERE id = 1;
SELECT count(*) FROM tree;
DROP TABLE tree;
CREATE TABLE p2 (t int, a int, b text, UNIQUE (b, a));
CREATE TABLE c2 (t int, b text DEFAULT 'none', a int DEFAULT 0, n int, FOREIGN KEY (a, b) REFERENCES p2 (a, b) ON DELETE SET DEFAULT ON UPDATE CASCADE);
SELECT create_distributed_table('p2', 't');
SELECT create_distributed_table('c2', 'n', colocate_with => 'none');
INSERT INTO p2 SELECT i, i % 5, 'b' || i FROM generate_series(0, 30) i;
INSERT INTO c2 SELECT i, 'b' || i, i % 5, i FROM generate_series(1, 30) i;
INSERT INTO c2 VALUES (1, 'b1', 2, 1);
INSERT INTO c2 VALUES (1, NULL, 2, 41);
INSERT INTO c2 VALUES (1, 'none', 0, 1), (2, 'b7', 2, 40);
UPDATE p2 SET b = b || 'x', t = 7 WHERE b IN ('b7', 'b8');
SELECT * FROM c2 WHERE b LIKE '%x' ORDER BY n;
DELETE FROM p2 WHERE b = 'b9';
INSERT INTO p2 VALUES (5, 0, 'none');
DELETE FROM p2 WHERE b = 'b9';
SELECT * FROM c2 WHERE b = 'none';
CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', TG_OP, OLD; RETURN NULL; END $$;
CREATE TRIGGER seen AFTER UPDATE OR DELETE ON c2 FOR EACH ROW EXECUTE FUNCTION seen();
DELETE FROM p2 WHERE b = 'b10';
DROP TABLE c2;

-- rows that another foreign key's action would change by itself: it becomes global, too
CREATE TABLE tenants (t int PRIMARY KEY);
SELECT create_distributed_table('tenants', 't');
CREATE TABLE owned (t int REFERENCES tenants ON DELETE CASCADE, id int, UNIQUE (t, id));
SELECT create_distributed_table('owned', 't', colocate_with => 'tenants');
CREATE TABLE c4 (n int, t int, id int);
SELECT create_distributed_table('c4', 'n', colocate_with => 'none');
INSERT INTO tenants VALUES (1), (2);
INSERT INTO owned VALUES (1, 1);
SET citus.global_indexes = refuse;
ALTER TABLE c4 ADD FOREIGN KEY (t, id) REFERENCES owned (t, id);
SET citus.global_indexes = notice;
ALTER TABLE c4 ADD FOREIGN KEY (t, id) REFERENCES owned (t, id);
SELECT DISTINCT result FROM run_command_on_shards('owned', $$SELECT count(*) FROM pg_constraint WHERE conrelid = '%s'::regclass AND contype = 'f'$$);
INSERT INTO owned VALUES (3, 1);
INSERT INTO c4 VALUES (1, 1, 1);
INSERT INTO c4 VALUES (1, 1, 2);
DELETE FROM tenants WHERE t = 1;
ALTER TABLE owned DROP CONSTRAINT owned_t_fkey;
SET citus.global_indexes = refuse;
ALTER TABLE owned ADD FOREIGN KEY (t) REFERENCES tenants ON DELETE CASCADE;
SET citus.global_indexes = on;
ALTER TABLE owned ADD FOREIGN KEY (t) REFERENCES tenants ON DELETE CASCADE;
DELETE FROM tenants WHERE t = 1;
DELETE FROM tenants WHERE t = 2;
DELETE FROM owned;
SELECT update_distributed_table_colocation('c4', colocate_with => 'none');
SELECT alter_distributed_table('c4', distribution_column => 't');
INSERT INTO c4 VALUES (1, 1, 2);
SELECT alter_distributed_table('c4', colocate_with => 'global_key.owned', cascade_to_colocated => false);
INSERT INTO c4 VALUES (1, 1, 2);
DELETE FROM owned;
DROP TABLE c4;

-- types that are converted, and all columns or none
CREATE TABLE p5 (t int, a bigint, n numeric, s text, UNIQUE (a, s), UNIQUE (n));
SELECT create_distributed_table('p5', 't');
INSERT INTO p5 SELECT i % 3, i, i, 's' || i FROM generate_series(1, 5) i;
CREATE TABLE c5 (t int, a int, s varchar(10), n int REFERENCES p5 (n) ON UPDATE CASCADE, FOREIGN KEY (a, s) REFERENCES p5 (a, s) MATCH FULL ON DELETE SET NULL);
SELECT create_distributed_table('c5', 't', colocate_with => 'none');
INSERT INTO c5 VALUES (1, 1, 's1', 1), (2, NULL, NULL, 2), (3, 3, 's3', NULL), (4, 4, 's4', 4);
INSERT INTO c5 VALUES (1, 1, 's2', NULL);
INSERT INTO c5 VALUES (1, 1, NULL, NULL);
INSERT INTO c5 VALUES (1, NULL, NULL, 6);
UPDATE c5 SET s = NULL WHERE a = 1;
UPDATE p5 SET n = 40 WHERE n = 4;
DELETE FROM p5 WHERE a = 3;
DELETE FROM p5 WHERE a = 2;
SELECT * FROM c5 ORDER BY t;
ALTER TABLE c5 DROP CONSTRAINT c5_a_s_fkey;
INSERT INTO c5 VALUES (5, 5, NULL, NULL);
ALTER TABLE c5 ADD FOREIGN KEY (a, s) REFERENCES p5 (a, s) MATCH FULL;
UPDATE c5 SET s = 's6' WHERE t = 5;
ALTER TABLE c5 ADD FOREIGN KEY (a, s) REFERENCES p5 (a, s) MATCH FULL;
ALTER TABLE c5 ADD FOREIGN KEY (a, s) REFERENCES p5 (a, s) MATCH FULL DEFERRABLE;
DELETE FROM c5 WHERE t = 5;
ALTER TABLE c5 ADD FOREIGN KEY (a, s) REFERENCES p5 (a, s) MATCH FULL;
DROP TABLE c5, p5;

-- what they can't be
CREATE TABLE c3 (t int, a bigint, b text);
SELECT create_distributed_table('c3', 't', colocate_with => 'none');
ALTER TABLE c3 ADD FOREIGN KEY (a, b) REFERENCES p2 (a, b);
ALTER TABLE c3 ALTER COLUMN a TYPE int;
ALTER TABLE c3 ADD FOREIGN KEY (a, b) REFERENCES p2 (a, b) MATCH FULL DEFERRABLE;
ALTER TABLE c3 ADD FOREIGN KEY (a, b) REFERENCES p2 (a, b);
INSERT INTO c3 VALUES (1, 1, 'b1');
SELECT undistribute_table('c3');
SELECT undistribute_table('c3', cascade_via_foreign_keys => true);
INSERT INTO c3 VALUES (1, 2, 'b1');
DELETE FROM p2 WHERE b = 'b1';
-- a change of colocation would have them enforced in another way
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE apart (pid int CONSTRAINT apart_key REFERENCES parent, id int);
CREATE TABLE beside (pid int CONSTRAINT beside_key REFERENCES parent, id int);
SELECT create_distributed_table('parent', 'id', colocate_with => 'none');
SELECT create_distributed_table('beside', 'pid', colocate_with => 'parent');
SELECT create_distributed_table('apart', 'pid', colocate_with => 'none');
SELECT update_distributed_table_colocation('apart', colocate_with => 'parent');
SELECT update_distributed_table_colocation('beside', colocate_with => 'none');
ALTER TABLE apart DROP CONSTRAINT apart_key;
SELECT update_distributed_table_colocation('apart', colocate_with => 'parent');
ALTER TABLE apart ADD CONSTRAINT apart_key FOREIGN KEY (pid) REFERENCES parent;
INSERT INTO apart VALUES (1, 1);
INSERT INTO beside VALUES (1, 1);
SET client_min_messages = warning;
DROP SCHEMA global_key CASCADE;
