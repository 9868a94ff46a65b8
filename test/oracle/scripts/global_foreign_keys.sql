-- Foreign keys between rows of different nodes: both sides, actions, modes of constraints, triggers that see them.
--
-- distribute: users(name), orders(total), payments(id), tree(t), log local

CREATE TABLE log (seq serial, what text);
SET citus.global_indexes = on;
CREATE TABLE users (id bigint PRIMARY KEY, email varchar(40) UNIQUE, name text, n int DEFAULT 0);
CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint REFERENCES users, total int DEFAULT 5, day date);
CREATE TABLE payments (order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE ON UPDATE CASCADE, id bigint,
	email varchar(40) REFERENCES users (email) ON DELETE SET NULL ON UPDATE CASCADE, amount numeric);
CREATE TABLE tree (t int, id int PRIMARY KEY, parent int REFERENCES tree ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	friend int REFERENCES tree ON DELETE SET DEFAULT);
INSERT INTO users SELECT i, 'u' || i, 'name' || i % 7 FROM generate_series(1, 20) i;
INSERT INTO orders SELECT i, i % 20 + 1, i % 11, date '2024-01-01' + i FROM generate_series(1, 50) i;
INSERT INTO payments SELECT i % 50 + 1, i, 'u' || i % 20 + 1, i * 1.5 FROM generate_series(1, 150) i;
INSERT INTO tree SELECT i, i, nullif(i / 2, 0), nullif(i % 3, 0) FROM generate_series(1, 31) i;
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_global_foreign_keys.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_OP, OLD.id,
		(SELECT count(*) FROM o_global_foreign_keys.payments), (SELECT count(*) FROM o_global_foreign_keys.orders)));
	RETURN NULL;
END $$;
-- setup ends
SET citus.global_indexes = on;
INSERT INTO orders VALUES (100, 21);
INSERT INTO orders VALUES (100, 20), (101, NULL) RETURNING *;
INSERT INTO orders SELECT i, i FROM generate_series(18, 22) i;
INSERT INTO orders SELECT i + 200, i FROM generate_series(16, 20) i RETURNING id;
UPDATE orders SET user_id = id WHERE id < 5 RETURNING *;
UPDATE orders SET user_id = id WHERE id = 50;
UPDATE orders SET user_id = NULL, total = 12 WHERE id = 6;
UPDATE orders SET total = total + 1, user_id = user_id WHERE id < 10;
INSERT INTO orders VALUES (1, 3), (300, 4) ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, day = NULL RETURNING *;
INSERT INTO orders VALUES (1, 3), (300, 40) ON CONFLICT (id) DO UPDATE SET user_id = 99;
MERGE INTO orders o USING (VALUES (300, 5), (301, 6)) v (x, y) ON o.id = x WHEN MATCHED THEN UPDATE SET user_id = y
	WHEN NOT MATCHED THEN INSERT (id, user_id) VALUES (x, y);
MERGE INTO orders o USING (VALUES (300, 55)) v (x, y) ON o.id = x WHEN MATCHED THEN UPDATE SET user_id = y;
WITH o AS (INSERT INTO orders VALUES (400, 400) RETURNING id) INSERT INTO users SELECT id, 'u' || id FROM o;
WITH o AS (INSERT INTO orders VALUES (401, 401)), u AS (INSERT INTO users VALUES (401, 'u401')) SELECT 1;
WITH u AS (DELETE FROM users WHERE id = 401 RETURNING id) DELETE FROM orders WHERE user_id IN (SELECT id FROM u);
DELETE FROM users WHERE id = 3;
DELETE FROM users WHERE n = 0 AND id NOT IN (SELECT user_id FROM orders WHERE user_id IS NOT NULL);
UPDATE users SET id = id + 1000 WHERE id = 7;
UPDATE users SET email = 'x' || email WHERE id IN (8, 9) RETURNING email;
SELECT email, count(*) FROM payments GROUP BY 1 ORDER BY 1;
UPDATE orders SET id = id + 5000 WHERE id BETWEEN 40 AND 45;
UPDATE orders SET id = 39 WHERE id = 38;
SELECT order_id, count(*) FROM payments WHERE order_id > 35 GROUP BY 1 ORDER BY 1;
DELETE FROM orders WHERE id > 5000 RETURNING id;
SELECT count(*), sum(amount), count(email) FROM payments;
BEGIN;
DELETE FROM orders WHERE id BETWEEN 20 AND 25;
INSERT INTO orders VALUES (20, 2);
SAVEPOINT s;
DELETE FROM orders WHERE id = 26;
ROLLBACK TO s;
INSERT INTO payments VALUES (20, 1000, 'u2', 1), (26, 1001, NULL, 2);
COMMIT;
SELECT order_id, count(*) FROM payments WHERE order_id BETWEEN 20 AND 26 GROUP BY 1 ORDER BY 1;
BEGIN;
INSERT INTO tree VALUES (1, 100, 101), (1, 101, 102);
SAVEPOINT s;
INSERT INTO tree VALUES (1, 103, 999);
ROLLBACK TO s;
INSERT INTO tree VALUES (5, 102, 1);
COMMIT;
BEGIN;
INSERT INTO tree VALUES (1, 110, 111);
SAVEPOINT s;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
UPDATE tree SET parent = 1 WHERE id = 110;
SET CONSTRAINTS tree_parent_fkey IMMEDIATE;
INSERT INTO tree VALUES (1, 112, 113);
ROLLBACK;
BEGIN;
INSERT INTO tree VALUES (1, 120, 121);
DELETE FROM tree WHERE id = 120;
COMMIT;
INSERT INTO tree VALUES (1, 130, 131);
DELETE FROM tree WHERE id = 1;
SELECT * FROM tree ORDER BY id;
DELETE FROM tree WHERE id IN (2, 3);
SELECT * FROM tree ORDER BY id;
DELETE FROM tree;
CREATE TRIGGER look_payments AFTER DELETE OR UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION look();
DELETE FROM orders WHERE id = 15;
UPDATE orders SET id = 6000 WHERE id = 16;
SELECT what FROM log ORDER BY what;
TRUNCATE users;
TRUNCATE users, orders, payments;
INSERT INTO orders VALUES (1, 1);
ALTER TABLE orders DROP CONSTRAINT orders_user_id_fkey;
INSERT INTO orders VALUES (1, 1);
ALTER TABLE orders ADD FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE orders ADD FOREIGN KEY (user_id) REFERENCES users NOT VALID;
INSERT INTO orders VALUES (2, 1);
ALTER TABLE orders VALIDATE CONSTRAINT orders_user_id_fkey;
INSERT INTO users VALUES (1);
ALTER TABLE orders VALIDATE CONSTRAINT orders_user_id_fkey;
INSERT INTO orders VALUES (2, 1);
DROP TABLE users;
DROP TABLE users CASCADE;
INSERT INTO orders VALUES (3, 3);
SELECT * FROM orders ORDER BY id;
