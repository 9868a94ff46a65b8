-- A multi-tenant application: shops, products, carts, orders; what its pages and reports ask.
--
-- distribute: shops(id), users(shop_id) with shops, products(shop_id) with shops, carts(shop_id) with shops
-- distribute: orders(shop_id) with shops, lines(shop_id) with shops, currencies reference, flags single, audit local

CREATE TYPE order_state AS ENUM ('open', 'paid', 'shipped', 'cancelled');
CREATE TABLE currencies (code char(3) PRIMARY KEY, rate numeric NOT NULL);
CREATE TABLE shops (id int PRIMARY KEY, name text NOT NULL, currency char(3) REFERENCES currencies, plan text DEFAULT 'free', created date);
CREATE TABLE users (shop_id int NOT NULL REFERENCES shops, id int NOT NULL, email text, prefs jsonb DEFAULT '{}', PRIMARY KEY (shop_id, id), UNIQUE (shop_id, email));
CREATE TABLE products (shop_id int NOT NULL REFERENCES shops, id int NOT NULL, name text, price numeric(10,2), stock int CHECK (stock >= 0), PRIMARY KEY (shop_id, id));
CREATE TABLE carts (shop_id int NOT NULL, user_id int NOT NULL, product_id int NOT NULL, qty int, PRIMARY KEY (shop_id, user_id, product_id));
CREATE TABLE orders (shop_id int NOT NULL, id int NOT NULL, user_id int, state order_state NOT NULL DEFAULT 'open', placed timestamptz, PRIMARY KEY (shop_id, id),
	FOREIGN KEY (shop_id, user_id) REFERENCES users (shop_id, id));
CREATE TABLE lines (shop_id int NOT NULL, order_id int NOT NULL, product_id int NOT NULL, qty int, price numeric(10,2), PRIMARY KEY (shop_id, order_id, product_id),
	FOREIGN KEY (shop_id, order_id) REFERENCES orders (shop_id, id) ON DELETE CASCADE);
CREATE TABLE flags (name text PRIMARY KEY, on_for int[]);
CREATE TABLE audit (n int, what text);
-- distribute now
INSERT INTO currencies VALUES ('EUR', 1), ('USD', 1.25), ('JPY', 160);
INSERT INTO shops SELECT i, 'shop ' || i, (ARRAY['EUR','USD','JPY'])[1 + i % 3], CASE WHEN i % 4 = 0 THEN 'pro' ELSE 'free' END, date '2023-01-01' + i * 20 FROM generate_series(1, 25) i;
INSERT INTO users SELECT s, u, 'u' || u || '@s' || s, jsonb_build_object('lang', (ARRAY['de','en'])[1 + u % 2], 'n', u) FROM generate_series(1, 25) s, generate_series(1, 4) u;
INSERT INTO products SELECT s, p, 'product ' || p, p * 10 + s, (s * p) % 20 FROM generate_series(1, 25) s, generate_series(1, 8) p;
INSERT INTO orders SELECT s, o, 1 + (s + o) % 4, (enum_range(NULL::order_state))[1 + (s * o) % 4], timestamptz '2024-01-01 00:00+00' + (s + o * 7) * interval '31 hours' FROM generate_series(1, 24) s, generate_series(1, 6) o;
INSERT INTO lines SELECT o.shop_id, o.id, p.id, 1 + (o.id + p.id) % 3, p.price FROM orders o JOIN products p ON p.shop_id = o.shop_id AND (p.id + o.id) % 3 = 0;
INSERT INTO carts SELECT s, u, p, p FROM generate_series(1, 25) s, generate_series(1, 2) u, generate_series(1, 3) p WHERE (s + u + p) % 4 = 0;
INSERT INTO flags VALUES ('beta', '{1,2,3}'), ('dark', '{5}');
INSERT INTO audit VALUES (0, 'start');

-- setup ends
-- One shop.
SELECT s.name, c.rate FROM shops s JOIN currencies c ON c.code = s.currency WHERE s.id = 7;
SELECT u.id, u.email, count(o.id) FROM users u LEFT JOIN orders o ON o.shop_id = u.shop_id AND o.user_id = u.id WHERE u.shop_id = 7 GROUP BY u.shop_id, u.id ORDER BY 1;
SELECT o.id, o.state, sum(l.qty * l.price) AS total FROM orders o JOIN lines l ON l.shop_id = o.shop_id AND l.order_id = o.id WHERE o.shop_id = 7 GROUP BY o.shop_id, o.id ORDER BY total DESC, o.id;
SELECT p.name, coalesce(sum(l.qty), 0) AS sold, rank() OVER (ORDER BY coalesce(sum(l.qty), 0) DESC) FROM products p LEFT JOIN lines l USING (shop_id) WHERE p.shop_id = 7 AND (l.product_id = p.id OR l.product_id IS NULL) GROUP BY p.shop_id, p.id ORDER BY 2 DESC, 1;
SELECT u.email, (SELECT string_agg(p.name, ', ' ORDER BY p.id) FROM carts c JOIN products p ON p.shop_id = c.shop_id AND p.id = c.product_id WHERE c.shop_id = u.shop_id AND c.user_id = u.id) FROM users u WHERE u.shop_id = 7 ORDER BY 1;
WITH spend AS (SELECT o.user_id, sum(l.qty * l.price) AS s FROM orders o JOIN lines l ON l.shop_id = o.shop_id AND l.order_id = o.id WHERE o.shop_id = 7 GROUP BY 1) SELECT u.email, spend.s FROM users u LEFT JOIN spend ON spend.user_id = u.id WHERE u.shop_id = 7 ORDER BY 2 DESC NULLS LAST, 1;
SELECT state, count(*) FROM orders WHERE shop_id = 7 GROUP BY ROLLUP (state) ORDER BY state;
SELECT DISTINCT ON (user_id) user_id, id, placed FROM orders WHERE shop_id = 7 ORDER BY user_id, placed DESC;
SELECT id FROM products WHERE shop_id = 7 EXCEPT SELECT product_id FROM lines WHERE shop_id = 7 ORDER BY 1;
SELECT generate_series(min(placed)::date, max(placed)::date, interval '5 days')::date AS day FROM orders WHERE shop_id = 7 ORDER BY 1 LIMIT 3;
SELECT prefs ->> 'lang', jsonb_agg(prefs -> 'n' ORDER BY id) FROM users WHERE shop_id = 7 GROUP BY 1 ORDER BY 1;
SELECT EXISTS (SELECT FROM flags WHERE name = 'beta' AND 7 = ANY (on_for)), (SELECT name FROM shops WHERE id = 7);
SELECT id FROM shops WHERE id = ANY ((SELECT on_for FROM flags WHERE name = 'beta')::int[]) ORDER BY id;
WITH RECURSIVE days AS (SELECT min(placed)::date AS d FROM orders WHERE shop_id = 7 UNION ALL SELECT d + 10 FROM days WHERE d + 10 <= '2024-03-01') SELECT d, (SELECT count(*) FROM orders WHERE shop_id = 7 AND placed::date >= d) FROM days ORDER BY d;

-- A checkout.
BEGIN;
SELECT stock FROM products WHERE shop_id = 9 AND id IN (SELECT product_id FROM carts WHERE shop_id = 9 AND user_id = 1) ORDER BY id FOR UPDATE;
INSERT INTO orders (shop_id, id, user_id, placed) SELECT 9, max(id) + 1, 1, '2024-06-01 00:00+00' FROM orders WHERE shop_id = 9 RETURNING id, state;
INSERT INTO lines SELECT c.shop_id, 7, c.product_id, c.qty, p.price FROM carts c JOIN products p ON p.shop_id = c.shop_id AND p.id = c.product_id WHERE c.shop_id = 9 AND c.user_id = 1 RETURNING *;
UPDATE products p SET stock = stock - l.qty FROM lines l WHERE l.shop_id = p.shop_id AND l.product_id = p.id AND p.shop_id = 9 AND l.order_id = 7 RETURNING p.id, p.stock;
DELETE FROM carts WHERE shop_id = 9 AND user_id = 1 RETURNING product_id;
UPDATE orders SET state = 'paid' WHERE (shop_id, id) = (9, 7) RETURNING *;
INSERT INTO audit VALUES (1, 'order');
COMMIT;
SELECT sum(qty * price) FROM lines WHERE shop_id = 9 AND order_id = 7;
BEGIN;
UPDATE products SET stock = stock - 1000 WHERE shop_id = 9 AND id = 2;
ROLLBACK;
WITH moved AS (DELETE FROM carts WHERE shop_id = 10 RETURNING *), made AS (INSERT INTO orders (shop_id, id, user_id) SELECT DISTINCT shop_id, 100 + user_id, user_id FROM moved RETURNING *) INSERT INTO lines (shop_id, order_id, product_id, qty) SELECT m.shop_id, 100 + m.user_id, m.product_id, m.qty FROM moved m JOIN made o ON o.shop_id = m.shop_id AND o.user_id = m.user_id WHERE false;
SELECT shop_id, id, user_id FROM orders WHERE id > 100 ORDER BY 1, 2;
INSERT INTO carts VALUES (11, 1, 1, 5), (11, 1, 2, 6), (12, 1, 1, 7) ON CONFLICT (shop_id, user_id, product_id) DO UPDATE SET qty = carts.qty + excluded.qty RETURNING *;
INSERT INTO orders VALUES (11, 200, 99);
DELETE FROM orders WHERE shop_id = 12 AND id = 3;
SELECT count(*) FROM lines WHERE shop_id = 12 AND order_id = 3;
DELETE FROM users WHERE shop_id = 13;
DELETE FROM shops WHERE id = 25;
DELETE FROM products WHERE shop_id = 25;
DELETE FROM users WHERE shop_id = 25;
DELETE FROM shops WHERE id = 25 RETURNING name;

-- All shops.
SELECT s.plan, count(DISTINCT s.id), count(o.id), sum(l.qty * l.price) FROM shops s LEFT JOIN orders o ON o.shop_id = s.id LEFT JOIN lines l ON l.shop_id = o.shop_id AND l.order_id = o.id GROUP BY s.plan ORDER BY 1;
SELECT s.currency, round(sum(l.qty * l.price / c.rate), 4) FROM lines l JOIN shops s ON s.id = l.shop_id JOIN currencies c ON c.code = s.currency GROUP BY 1 ORDER BY 1;
SELECT s.id, top.name, top.n FROM shops s CROSS JOIN LATERAL (SELECT p.name, sum(l.qty) AS n FROM lines l JOIN products p ON p.shop_id = l.shop_id AND p.id = l.product_id WHERE l.shop_id = s.id GROUP BY p.id, p.name ORDER BY n DESC, p.id LIMIT 1) top ORDER BY 1;
SELECT state, date_trunc('month', placed) AS month, count(*) FROM orders WHERE placed IS NOT NULL GROUP BY CUBE (state, month) ORDER BY 1, 2, 3;
SELECT shop_id, user_id, placed, placed - lag(placed) OVER (PARTITION BY shop_id, user_id ORDER BY placed) AS gap FROM orders WHERE shop_id < 6 AND placed IS NOT NULL ORDER BY 1, 2, 3;
SELECT s.id FROM shops s WHERE NOT EXISTS (SELECT FROM orders o WHERE o.shop_id = s.id AND o.state = 'shipped') ORDER BY 1;
SELECT u.email FROM users u WHERE (SELECT count(*) FROM orders o WHERE o.shop_id = u.shop_id AND o.user_id = u.id) > 2 ORDER BY 1;
SELECT p.name, count(DISTINCT p.shop_id), percentile_cont(0.5) WITHIN GROUP (ORDER BY p.price) FROM products p GROUP BY p.name ORDER BY 1;
SELECT a.id, b.id FROM shops a JOIN shops b ON a.created + 20 = b.created AND a.plan <> b.plan ORDER BY 1;
SELECT avg(total)::numeric(20,6), max(total) FROM (SELECT sum(qty * price) AS total FROM lines GROUP BY shop_id, order_id) x;
SELECT email FROM users WHERE prefs @> '{"lang": "de"}' AND shop_id % 5 = 0 ORDER BY 1;
SELECT q.quartile, count(*), min(total), max(total) FROM (SELECT ntile(4) OVER (ORDER BY sum(qty * price), shop_id) AS quartile, sum(qty * price) AS total FROM lines GROUP BY shop_id) q GROUP BY 1 ORDER BY 1;
SELECT f.name, s.name FROM flags f JOIN shops s ON s.id = ANY (f.on_for) ORDER BY 1, 2;
UPDATE products SET price = round(price * 1.1, 2) WHERE shop_id IN (SELECT id FROM shops WHERE plan = 'pro');
SELECT sum(price) FROM products;
UPDATE shops SET plan = 'busy' WHERE (SELECT count(*) FROM orders o WHERE o.shop_id = shops.id AND o.state = 'paid') > 1 RETURNING id;
UPDATE users SET prefs = prefs || jsonb_build_object('orders', (SELECT count(*) FROM orders o WHERE o.shop_id = users.shop_id AND o.user_id = users.id)) WHERE id = 1;
SELECT shop_id, prefs -> 'orders' FROM users WHERE id = 1 ORDER BY 1;
DELETE FROM lines l USING orders o WHERE o.shop_id = l.shop_id AND o.id = l.order_id AND o.state = 'cancelled';
DELETE FROM orders WHERE state = 'cancelled';
SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM lines);
INSERT INTO audit SELECT shop_id, state::text FROM orders WHERE state = 'shipped' ORDER BY 1 LIMIT 3 RETURNING *;
SELECT a.n, s.name FROM audit a LEFT JOIN shops s ON s.id = a.n ORDER BY 1, 2;
