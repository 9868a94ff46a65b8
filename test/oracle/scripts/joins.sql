-- Joins of every kind between every mix of table types.
--
-- distribute: customers(id), orders(customer_id) with customers, items(order_id) with none
-- distribute: events(kind) with none, countries reference, currencies reference, config single
-- distribute: limits single, notes local

CREATE TABLE countries (code text PRIMARY KEY, name text, currency text);
CREATE TABLE currencies (currency text PRIMARY KEY, rate numeric);
CREATE TABLE customers (id int PRIMARY KEY, name text, country text, manager int);
CREATE TABLE orders (customer_id int NOT NULL, order_id int NOT NULL, total int, PRIMARY KEY (customer_id, order_id));
CREATE TABLE items (order_id int NOT NULL, line int NOT NULL, customer_id int, qty int, PRIMARY KEY (order_id, line));
CREATE TABLE events (kind text NOT NULL, customer_id int, n int);
CREATE TABLE config (id int, label text);
CREATE TABLE limits (country text, max_total int);
CREATE TABLE notes (customer_id int, body text);

INSERT INTO countries VALUES ('DE', 'Germany', 'EUR'), ('FR', 'France', 'EUR'), ('US', 'United States', 'USD'),
	('JP', 'Japan', 'JPY'), ('XX', 'Nowhere', NULL);
INSERT INTO currencies VALUES ('EUR', 1), ('USD', 1.1), ('JPY', 160), ('CHF', 0.95);
INSERT INTO customers SELECT i, 'c' || i, (ARRAY['DE','FR','US','ZZ',NULL])[1 + i % 5], nullif(i / 3, 0)
FROM generate_series(1, 30) i;
INSERT INTO orders SELECT c, 100 * c + o, (c * o * 13) % 97 FROM generate_series(1, 36) c, generate_series(1, 3) o WHERE c % 4 <> 0;
INSERT INTO items SELECT 100 * c + o, l, nullif(c, 5), (c + o + l) % 7
FROM generate_series(1, 38) c, generate_series(1, 4) o, generate_series(1, 2) l WHERE c % 3 <> 0;
INSERT INTO events SELECT (ARRAY['login','click','buy','leave'])[1 + i % 4], nullif(i % 33, 0), i FROM generate_series(1, 120) i;
INSERT INTO config SELECT i, 'label ' || i FROM generate_series(1, 8) i;
INSERT INTO limits VALUES ('DE', 50), ('FR', 20), ('JP', 10), (NULL, 5);
INSERT INTO notes SELECT i * 3, 'note ' || i FROM generate_series(1, 15) i;

-- setup ends
-- Colocated, on the distribution column.
SELECT count(*), sum(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT c.name, o.order_id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = 7 ORDER BY 2;
SELECT c.name, o.order_id FROM customers c, orders o WHERE o.customer_id = c.id AND o.customer_id = 7 ORDER BY 2;
SELECT c.id, o.order_id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY 1, 2;
SELECT c.id, o.order_id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id ORDER BY 1, 2;
SELECT c.id, o.customer_id, o.order_id FROM customers c FULL JOIN orders o ON o.customer_id = c.id ORDER BY 1, 2, 3;
SELECT c.id, o.customer_id FROM customers c FULL JOIN orders o ON o.customer_id = c.id AND o.total > 50 ORDER BY 1, 2;
SELECT c.id, o.order_id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total > 60 ORDER BY 1, 2;
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.order_id IS NULL ORDER BY 1;
SELECT c.id, o.total FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND c.country = 'DE' WHERE c.id < 12 ORDER BY 1, 2;
SELECT c.id, o.total FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND false ORDER BY 1;
SELECT count(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.customer_id = 7;
SELECT count(*) FROM customers c FULL JOIN orders o ON o.customer_id = c.id AND c.id = 7;
SELECT c.id, count(o.order_id) FROM customers c LEFT JOIN orders o ON c.id = o.customer_id GROUP BY c.id ORDER BY 2 DESC, 1 LIMIT 10;
SELECT count(*) FROM customers c JOIN orders o ON o.customer_id = c.id AND o.total > c.id;
SELECT count(*) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN orders p ON p.customer_id = c.id AND p.order_id > o.order_id;

-- Not colocated, or not on the distribution column.
SELECT count(*), sum(i.qty) FROM orders o JOIN items i ON i.order_id = o.order_id;
SELECT o.order_id, i.line, i.qty FROM orders o JOIN items i ON i.order_id = o.order_id WHERE o.customer_id = 7 ORDER BY 1, 2;
SELECT o.order_id, i.line FROM orders o LEFT JOIN items i USING (order_id) WHERE o.customer_id < 8 ORDER BY 1, 2;
SELECT order_id, o.total, i.qty FROM orders o FULL JOIN items i USING (order_id) WHERE order_id < 800 ORDER BY 1, 2, 3;
SELECT count(*), count(o.total), count(i.qty) FROM orders o FULL JOIN items i USING (order_id);
SELECT count(*) FROM orders o RIGHT JOIN items i ON i.order_id = o.order_id WHERE o.order_id IS NULL;
SELECT c.id, sum(i.qty) FROM customers c JOIN items i ON i.customer_id = c.id GROUP BY c.id ORDER BY c.id;
SELECT c.name, o.total, i.qty FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.order_id WHERE i.line = 1 AND i.qty > 4 ORDER BY 1, 2, 3;
SELECT c.country, e.kind, count(*) FROM customers c JOIN events e ON e.customer_id = c.id GROUP BY 1, 2 ORDER BY 1, 2;
SELECT c.id, e.kind FROM customers c LEFT JOIN events e ON e.customer_id = c.id AND e.kind = 'buy' ORDER BY 1, 2, e.n;
SELECT e.kind, count(*), count(c.id) FROM events e LEFT JOIN customers c ON c.id = e.customer_id GROUP BY 1 ORDER BY 1;
SELECT count(*), count(c.id), count(e.n) FROM events e FULL JOIN customers c ON c.id = e.customer_id AND e.n > 60;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.manager = b.id ORDER BY 1;
SELECT a.id, b.id FROM customers a LEFT JOIN customers b ON a.manager = b.id ORDER BY 1;
SELECT a.name, b.name, c.name FROM customers a JOIN customers b ON b.id = a.manager LEFT JOIN customers c ON c.id = b.manager ORDER BY a.id;
SELECT a.id, count(*) FROM customers a JOIN customers b ON a.country = b.country AND a.id <> b.id GROUP BY a.id ORDER BY a.id;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.id = b.id AND a.id < 5 ORDER BY 1;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.id = b.id + 1 WHERE a.id % 5 = 0 ORDER BY 1;

-- Without equality, without condition.
SELECT count(*) FROM customers c JOIN orders o ON o.customer_id < c.id;
SELECT count(*) FROM customers, orders;
SELECT count(*) FROM customers CROSS JOIN events;
SELECT a.id, b.id FROM customers a, customers b WHERE a.id + b.id = 58 ORDER BY 1;
SELECT a.id, b.id FROM customers a LEFT JOIN customers b ON b.id BETWEEN a.id + 28 AND a.id + 29 ORDER BY 1, 2;
SELECT count(*) FROM customers a JOIN customers b ON a.id = b.id OR a.manager = b.id;
SELECT a.id, e.n FROM customers a JOIN events e ON a.id = 7 AND e.n > 117 ORDER BY 2;
SELECT count(*) FROM customers a JOIN orders o ON true WHERE a.id = 3 AND o.customer_id = 5;
SELECT a.id, o.order_id FROM customers a, orders o WHERE a.id = 3 AND o.customer_id = 5 AND o.total > a.id ORDER BY 2;

-- Reference tables.
SELECT c.id, k.name FROM customers c JOIN countries k ON k.code = c.country ORDER BY 1;
SELECT c.id, k.name FROM customers c LEFT JOIN countries k ON k.code = c.country ORDER BY 1;
SELECT k.code, c.id FROM countries k LEFT JOIN customers c ON k.code = c.country ORDER BY 1, 2;
SELECT k.code, count(c.id) FROM countries k LEFT JOIN customers c ON k.code = c.country AND c.id < 10 GROUP BY 1 ORDER BY 1;
SELECT k.code, c.id FROM countries k FULL JOIN customers c ON k.code = c.country ORDER BY 1, 2;
SELECT c.id, k.code FROM customers c RIGHT JOIN countries k ON k.code = c.country ORDER BY 2, 1;
SELECT k.name, r.rate FROM countries k JOIN currencies r USING (currency) ORDER BY 1;
SELECT currency, k.name, r.rate FROM countries k FULL JOIN currencies r USING (currency) ORDER BY 1, 2;
SELECT k.currency, sum(o.total * r.rate) FROM orders o JOIN customers c ON c.id = o.customer_id JOIN countries k ON k.code = c.country JOIN currencies r ON r.currency = k.currency GROUP BY 1 ORDER BY 1;
SELECT c.name, k.name, o.total FROM orders o JOIN customers c ON c.id = o.customer_id LEFT JOIN countries k ON k.code = c.country WHERE c.id = 9 ORDER BY 3;
SELECT k.code, o.total FROM countries k LEFT JOIN (customers c JOIN orders o ON o.customer_id = c.id) ON c.country = k.code AND o.total > 70 ORDER BY 1, 2;
SELECT count(*) FROM countries k, customers c WHERE c.country > k.code;
SELECT k.code, c.id FROM countries k CROSS JOIN customers c WHERE c.id IN (1, 2) ORDER BY 1, 2;
SELECT k.code, c.id FROM countries k LEFT JOIN customers c ON c.id = 3 AND c.country = k.code ORDER BY 1;
SELECT count(*) FROM orders o JOIN currencies r ON o.total > r.rate;

-- Single-shard and local tables.
SELECT f.label, c.name FROM config f JOIN customers c ON c.id = f.id ORDER BY f.id;
SELECT f.id, o.order_id FROM config f LEFT JOIN orders o ON o.customer_id = f.id ORDER BY 1, 2;
SELECT c.id, f.label FROM customers c LEFT JOIN config f ON c.id = f.id WHERE c.id < 12 ORDER BY 1;
SELECT f.id, l.max_total FROM config f LEFT JOIN limits l ON l.max_total / 10 = f.id ORDER BY 1;
SELECT k.name, l.max_total FROM limits l JOIN countries k ON k.code = l.country ORDER BY 1;
SELECT k.name, l.max_total FROM limits l FULL JOIN countries k ON k.code = l.country ORDER BY 1, 2;
SELECT c.id, o.total, l.max_total FROM customers c JOIN orders o ON o.customer_id = c.id JOIN limits l ON l.country IS NOT DISTINCT FROM c.country WHERE o.total > l.max_total ORDER BY 1, 2;
SELECT n.body, c.name FROM notes n JOIN customers c ON c.id = n.customer_id ORDER BY n.customer_id;
SELECT n.body, c.name FROM notes n LEFT JOIN customers c ON c.id = n.customer_id ORDER BY n.customer_id;
SELECT c.name, n.body FROM customers c LEFT JOIN notes n ON c.id = n.customer_id ORDER BY c.id;
SELECT c.id, n.customer_id FROM customers c FULL JOIN notes n ON c.id = n.customer_id ORDER BY 1, 2;
SELECT n.body, f.label FROM notes n JOIN config f ON f.id = n.customer_id ORDER BY 1;
SELECT n.body, k.code FROM notes n, countries k WHERE n.customer_id < 5 ORDER BY 2;
SELECT n.body, c.name, k.name, o.total, f.label FROM notes n JOIN customers c ON c.id = n.customer_id LEFT JOIN countries k ON k.code = c.country LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN config f ON f.id = c.id ORDER BY c.id, o.order_id;
SELECT n.body, o.total FROM notes n JOIN orders o ON o.customer_id = n.customer_id WHERE o.customer_id = 9 ORDER BY 2;
SELECT n.body FROM notes n WHERE n.customer_id = 9;

-- NATURAL, USING, aliases of joins, nesting.
SELECT * FROM orders NATURAL JOIN items ORDER BY customer_id, order_id, line LIMIT 8;
SELECT * FROM customers NATURAL JOIN config ORDER BY id;
SELECT * FROM countries NATURAL LEFT JOIN currencies ORDER BY code;
SELECT order_id, customer_id, count(*) FROM orders JOIN items USING (order_id, customer_id) GROUP BY 1, 2 ORDER BY 1 LIMIT 7;
SELECT j.* FROM (orders JOIN items USING (order_id)) AS j (a, b, c, d, e, f) ORDER BY a, d LIMIT 4;
SELECT x.order_id, o.total FROM orders o JOIN items i USING (order_id) AS x WHERE i.line = 1 ORDER BY 1 LIMIT 5;
SELECT row_to_json(x.*) FROM orders o JOIN items i USING (order_id) AS x WHERE i.order_id = 7 AND i.line = 1;
SELECT row_to_json(x.*), row_to_json(ROW(o.total, 'f')) FROM orders o JOIN orders p USING (customer_id) AS x WHERE o.customer_id = 3 AND p.customer_id = 3 AND o.order_id = p.order_id;
SELECT row_to_json(x.*) FROM config a JOIN config b USING (id) AS x WHERE row_to_json(x.*)::text LIKE '%id%';
SELECT c.id, o.order_id, i.qty FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.order_id AND i.qty > 5) ON o.customer_id = c.id ORDER BY 1, 2, 3;
SELECT c.id, o.order_id, i.qty FROM customers c LEFT JOIN (orders o LEFT JOIN items i ON i.order_id = o.order_id AND i.qty = 6) ON o.customer_id = c.id AND o.total > 40 ORDER BY 1, 2, 3;
SELECT c.id, s.n FROM customers c LEFT JOIN (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) s ON s.customer_id = c.id ORDER BY 1;
SELECT c.id, s.n FROM customers c JOIN (SELECT customer_id, count(*) AS n FROM events GROUP BY customer_id) s ON s.customer_id = c.id ORDER BY 1;
SELECT s.country, t.kind, s.n, t.n FROM (SELECT country, count(*) AS n FROM customers GROUP BY country) s CROSS JOIN (SELECT kind, count(*) AS n FROM events GROUP BY kind) t ORDER BY 1, 2;
SELECT a.customer_id, a.total, b.qty FROM (SELECT * FROM orders WHERE total > 80) a LEFT JOIN (SELECT * FROM items WHERE qty = 3) b ON a.order_id = b.order_id ORDER BY 1, 2, 3;
SELECT count(*) FROM (SELECT DISTINCT country FROM customers) a JOIN (SELECT DISTINCT code FROM countries) b ON a.country = b.code;
SELECT x.a, c.name FROM (VALUES (1, 'x'), (2, 'y'), (99, 'z')) AS x (a, b) LEFT JOIN customers c ON c.id = x.a ORDER BY 1;
SELECT g, c.name FROM generate_series(28, 33) g LEFT JOIN customers c ON c.id = g ORDER BY 1;
SELECT c.id, g FROM customers c JOIN generate_series(1, 30, 7) g ON g = c.id ORDER BY 1;
SELECT g, count(o.order_id) FROM generate_series(0, 90, 10) g LEFT JOIN orders o ON o.total >= g AND o.total < g + 10 GROUP BY g ORDER BY g;
SELECT c.id, u.v FROM customers c, unnest(ARRAY[c.id, c.manager]) u (v) WHERE c.id < 5 ORDER BY 1, 2;

-- LATERAL.
SELECT c.id, o.order_id, o.total FROM customers c, LATERAL (SELECT * FROM orders WHERE customer_id = c.id ORDER BY total DESC, order_id LIMIT 1) o ORDER BY 1;
SELECT c.id, o.order_id FROM customers c LEFT JOIN LATERAL (SELECT * FROM orders WHERE customer_id = c.id ORDER BY order_id LIMIT 2) o ON true WHERE c.id < 10 ORDER BY 1, 2;
SELECT c.id, e.n FROM customers c, LATERAL (SELECT count(*) AS n FROM events WHERE customer_id = c.id) e ORDER BY 1;
SELECT c.id, e.n FROM customers c CROSS JOIN LATERAL (SELECT max(n) AS n FROM events WHERE events.customer_id = c.manager) e ORDER BY 1;
SELECT k.code, c.id FROM countries k LEFT JOIN LATERAL (SELECT id FROM customers WHERE country = k.code ORDER BY id DESC LIMIT 2) c ON true ORDER BY 1, 2;
SELECT n.customer_id, o.s FROM notes n, LATERAL (SELECT sum(total) AS s FROM orders WHERE customer_id = n.customer_id) o ORDER BY 1;
SELECT f.id, o.order_id, i.qty FROM config f, LATERAL (SELECT * FROM orders WHERE customer_id = f.id) o, LATERAL (SELECT sum(qty) AS qty FROM items WHERE order_id = o.order_id) i ORDER BY 1, 2;
SELECT g, o.total FROM generate_series(1, 3) g, LATERAL (SELECT total FROM orders WHERE customer_id = g ORDER BY total LIMIT 1) o ORDER BY 1;
SELECT c.id, x.v FROM customers c, LATERAL (VALUES (c.id * 2), (c.manager)) x (v) WHERE c.id <= 4 ORDER BY 1, 2;
SELECT c.id, g FROM customers c, LATERAL generate_series(c.id, c.id + 1) g WHERE c.id IN (5, 6) ORDER BY 1, 2;
SELECT a.id, b.id FROM customers a, LATERAL (SELECT id FROM customers WHERE id > a.id ORDER BY id LIMIT 1) b WHERE a.id % 6 = 0 ORDER BY 1;

-- Semi and anti joins.
SELECT id FROM customers c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.total > 80) ORDER BY 1;
SELECT id FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id) ORDER BY 1;
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM events WHERE kind = 'buy') ORDER BY 1;
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM items WHERE customer_id IS NOT NULL) ORDER BY 1;
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM items) ORDER BY 1;
SELECT code FROM countries k WHERE EXISTS (SELECT FROM customers c WHERE c.country = k.code) ORDER BY 1;
SELECT code FROM countries k WHERE NOT EXISTS (SELECT FROM customers c WHERE c.country = k.code) ORDER BY 1;
SELECT customer_id FROM notes n WHERE NOT EXISTS (SELECT FROM customers c WHERE c.id = n.customer_id) ORDER BY 1;
SELECT customer_id FROM notes n WHERE EXISTS (SELECT FROM orders o JOIN items i USING (order_id) WHERE o.customer_id = n.customer_id) ORDER BY 1;
SELECT count(*) FROM orders o WHERE EXISTS (SELECT FROM items i WHERE i.order_id = o.order_id AND i.qty > o.total);
SELECT o.order_id FROM orders o WHERE NOT EXISTS (SELECT FROM items i WHERE i.order_id = o.order_id) ORDER BY 1;

-- Wrong on purpose.
SELECT * FROM customers c JOIN orders o ON o.customer_id = c.nothing;
SELECT id FROM customers a JOIN customers b ON a.id = b.id;
SELECT c.id FROM customers c FULL JOIN orders o ON o.customer_id < c.id;
SELECT c.id, 10 / (o.total - o.total) FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT * FROM customers c JOIN LATERAL (SELECT 1) x ON c.id = y.id;
SELECT count(*) FROM customers c JOIN orders o ON o.customer_id = c.name;
