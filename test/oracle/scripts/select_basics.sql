-- Single-table SELECTs: filters, pruning, expressions, ordering, limits.
--
-- distribute: orders(customer_id), countries reference, config single, notes local

CREATE TABLE countries (code char(2) PRIMARY KEY, name text NOT NULL, continent text);
CREATE TABLE orders (
	customer_id int NOT NULL,
	order_id bigint NOT NULL,
	country char(2),
	status text,
	amount numeric(10,2),
	placed timestamp,
	tags text[],
	PRIMARY KEY (customer_id, order_id)
);
CREATE TABLE config (key text PRIMARY KEY, value text);
CREATE TABLE notes (id int PRIMARY KEY, customer_id int, body text);

INSERT INTO countries VALUES ('DE', 'Germany', 'Europe'), ('FR', 'France', 'Europe'),
	('US', 'United States', 'America'), ('BR', 'Brazil', 'America'), ('JP', 'Japan', 'Asia'),
	('AQ', 'Antarctica', NULL);
INSERT INTO orders
SELECT c, o, (ARRAY['DE','FR','US','BR','JP',NULL])[1 + (c + o) % 6],
	(ARRAY['new','paid','sent','void'])[1 + (c * 3 + o) % 4],
	CASE WHEN (c + o) % 11 = 0 THEN NULL ELSE (c * 37 + o * 11) % 500 + 0.25 END,
	timestamp '2024-01-01' + ((c * 7 + o) % 90) * interval '1 day' + o * interval '1 hour',
	CASE WHEN o % 3 = 0 THEN NULL ELSE ARRAY['t' || o % 4, 'c' || c % 5] END
FROM generate_series(1, 40) c, generate_series(1, 6) o;
INSERT INTO config VALUES ('theme', 'dark'), ('limit', '10'), ('empty', ''), ('nothing', NULL);
INSERT INTO notes SELECT i, i * 2, 'note ' || i FROM generate_series(1, 25) i;

-- setup ends
SELECT count(*) FROM orders;
SELECT * FROM orders WHERE customer_id = 7 ORDER BY order_id;
SELECT * FROM orders WHERE customer_id = 7;
SELECT order_id, amount FROM orders WHERE customer_id = 7 AND order_id = 3;
SELECT order_id, amount FROM orders WHERE order_id = 3 AND 7 = customer_id;
SELECT * FROM orders WHERE customer_id = 9999;
SELECT customer_id, order_id FROM orders WHERE customer_id IN (3, 5, 9) ORDER BY 1, 2;
SELECT customer_id, order_id FROM orders WHERE customer_id = ANY (ARRAY[3, 5, 9, NULL]) ORDER BY 1, 2;
SELECT customer_id, order_id FROM orders WHERE customer_id = 3 OR customer_id = 11 ORDER BY 1, 2;
SELECT customer_id, order_id FROM orders WHERE (customer_id = 3 AND order_id < 3) OR (customer_id = 11 AND order_id > 4) ORDER BY 1, 2;
SELECT customer_id, order_id FROM orders WHERE customer_id = 3 OR order_id = 1 ORDER BY 1, 2;
SELECT count(*) FROM orders WHERE customer_id = 3 AND customer_id = 4;
SELECT count(*) FROM orders WHERE customer_id = 3 AND customer_id IN (3, 4);
SELECT count(*) FROM orders WHERE customer_id = NULL;
SELECT count(*) FROM orders WHERE customer_id IS NULL;
SELECT count(*) FROM orders WHERE customer_id IS NOT NULL;
SELECT count(*) FROM orders WHERE false;
SELECT count(*) FROM orders WHERE customer_id = 7::bigint;
SELECT count(*) FROM orders WHERE customer_id = 7::smallint;
SELECT count(*) FROM orders WHERE customer_id = 7.0;
SELECT count(*) FROM orders WHERE customer_id = 7.5;
SELECT count(*) FROM orders WHERE customer_id = 7::float8;
SELECT count(*) FROM orders WHERE customer_id = '7';
SELECT count(*) FROM orders WHERE customer_id = 3000000000;
SELECT count(*) FROM orders WHERE customer_id IN (1, 2, 3000000000);
SELECT count(*) FROM orders WHERE customer_id = 3 + 4;
SELECT count(*) FROM orders WHERE customer_id = length('seven12');
SELECT count(*) FROM orders WHERE customer_id - 1 = 6;
SELECT count(*) FROM orders WHERE customer_id BETWEEN 10 AND 12;
SELECT count(*) FROM orders WHERE customer_id > 38;
SELECT count(*) FROM orders WHERE customer_id NOT IN (1, 2, 3);
SELECT count(*) FROM orders WHERE customer_id <> 7;
SELECT count(*) FROM orders WHERE NOT (customer_id = 7);
SELECT count(*) FROM orders WHERE (customer_id = 7) IS TRUE;
SELECT count(*) FROM orders WHERE (customer_id = 7) IS NOT TRUE;
SELECT count(*) FROM orders WHERE (customer_id, order_id) = (7, 2);
SELECT count(*) FROM orders WHERE (customer_id, order_id) IN ((7, 2), (8, 3), (9, 99));
SELECT count(*) FROM orders WHERE (customer_id, order_id) > (39, 3);
SELECT count(*) FROM orders WHERE customer_id IS NOT DISTINCT FROM 7;
SELECT count(*) FROM orders WHERE customer_id = CASE WHEN order_id > 3 THEN 7 ELSE 8 END;
SELECT DISTINCT status FROM orders ORDER BY status;
SELECT DISTINCT country, status FROM orders WHERE customer_id < 5;
SELECT DISTINCT ON (customer_id) customer_id, order_id, amount FROM orders ORDER BY customer_id, order_id DESC;
SELECT DISTINCT ON (country) country, amount, customer_id, order_id FROM orders ORDER BY country NULLS FIRST, amount DESC NULLS LAST, customer_id, order_id;
SELECT DISTINCT ON (status, country) status, country, customer_id FROM orders WHERE customer_id % 2 = 0 ORDER BY status, country, customer_id, order_id;
SELECT customer_id, order_id, amount FROM orders ORDER BY amount DESC NULLS LAST, customer_id, order_id LIMIT 10;
SELECT customer_id, order_id, amount FROM orders ORDER BY amount NULLS FIRST, customer_id, order_id LIMIT 10 OFFSET 15;
SELECT customer_id, order_id FROM orders ORDER BY customer_id, order_id OFFSET 230;
SELECT customer_id, order_id FROM orders ORDER BY customer_id, order_id LIMIT 0;
SELECT customer_id, order_id FROM orders ORDER BY customer_id, order_id LIMIT ALL OFFSET 236;
SELECT customer_id, order_id FROM orders ORDER BY customer_id, order_id LIMIT NULL OFFSET 237;
SELECT customer_id FROM orders ORDER BY customer_id DESC FETCH FIRST 3 ROWS ONLY;
SELECT customer_id FROM orders ORDER BY customer_id DESC FETCH FIRST 3 ROWS WITH TIES;
SELECT status, customer_id FROM orders WHERE order_id = 1 ORDER BY status, customer_id OFFSET 2 ROWS FETCH NEXT 4 ROWS ONLY;
-- unordered
SELECT order_id FROM orders ORDER BY order_id FETCH FIRST 2 ROWS WITH TIES;
SELECT customer_id, order_id FROM orders ORDER BY customer_id, order_id LIMIT (SELECT count(*) FROM countries);
SELECT customer_id, order_id FROM orders ORDER BY customer_id, order_id LIMIT (SELECT max(order_id) FROM orders) OFFSET (SELECT 2);
SELECT customer_id FROM orders LIMIT -1;
SELECT customer_id FROM orders OFFSET -1;
SELECT count(*) FROM (SELECT 1 FROM orders LIMIT 17) s;
SELECT count(*) FROM (SELECT customer_id FROM orders WHERE status = 'new' OFFSET 5) s;
SELECT customer_id + order_id AS s, upper(status) FROM orders WHERE customer_id < 4 ORDER BY s, 2, order_id;
SELECT customer_id, order_id FROM orders WHERE customer_id < 10 ORDER BY -customer_id, order_id % 2, order_id;
SELECT order_id % 3 AS bucket, amount FROM orders WHERE customer_id = 5 ORDER BY bucket, amount NULLS FIRST;
SELECT customer_id, status FROM orders WHERE order_id = 2 ORDER BY status USING >, customer_id USING <;
SELECT customer_id, coalesce(country, '??'), nullif(status, 'new') FROM orders WHERE order_id = 4 ORDER BY customer_id;
SELECT customer_id, CASE status WHEN 'new' THEN 0 WHEN 'paid' THEN 1 ELSE 2 END AS rank FROM orders WHERE order_id = 5 ORDER BY rank, customer_id;
SELECT CASE WHEN amount > 400 THEN 'high' WHEN amount > 200 THEN 'mid' WHEN amount IS NULL THEN 'none' ELSE 'low' END AS class, count(*) FROM orders GROUP BY 1 ORDER BY 1;
SELECT customer_id, amount::int, amount::text || ' EUR', round(amount, 1) FROM orders WHERE customer_id IN (1, 2) AND amount IS NOT NULL ORDER BY order_id, customer_id;
SELECT count(*) FROM orders WHERE status LIKE 'p%' OR status ILIKE 'V___';
SELECT count(*) FROM orders WHERE status SIMILAR TO '(new|paid)';
SELECT count(*) FROM orders WHERE status ~ '^[ns]' AND status !~ 'x';
SELECT count(*) FROM orders WHERE amount IS NULL;
SELECT count(*) FROM orders WHERE country IS NULL OR amount IS NULL;
SELECT count(*), count(country), count(amount), count(DISTINCT country) FROM orders;
SELECT count(*) FROM orders WHERE 't1' = ANY (tags);
SELECT count(*) FROM orders WHERE tags @> ARRAY['t1', 'c2'];
SELECT count(*) FROM orders WHERE tags && ARRAY['c0', 'c1'];
SELECT customer_id, order_id, tags[1], array_length(tags, 1) FROM orders WHERE customer_id = 8 ORDER BY order_id;
SELECT count(*) FROM orders WHERE placed >= '2024-02-01' AND placed < '2024-03-01';
SELECT date_trunc('month', placed) AS month, count(*), sum(amount) FROM orders GROUP BY month ORDER BY month;
SELECT extract(dow FROM placed) AS dow, count(*) FROM orders GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM orders WHERE placed + interval '1 month' > timestamp '2024-04-15';
SELECT min(placed), max(placed), max(placed) - min(placed) FROM orders;
SELECT 1 FROM orders WHERE customer_id = 7;
SELECT FROM orders WHERE customer_id = 7;
SELECT FROM orders WHERE customer_id > 30;
SELECT 'constant' AS label, NULL AS nothing, 1 + 1 AS two FROM orders WHERE customer_id = 1;
SELECT customer_id AS a, customer_id AS a, order_id AS "Order Id" FROM orders WHERE customer_id = 2;
SELECT o.* FROM orders o WHERE o.customer_id = 4 AND o.status <> 'void' ORDER BY o.order_id;
SELECT o.a, o.b FROM orders AS o (a, b) WHERE o.a = 4 ORDER BY o.b;
SELECT * FROM ONLY orders WHERE customer_id = 12 ORDER BY order_id;
SELECT count(*) FROM ONLY orders;
SELECT * FROM countries ORDER BY code;
SELECT continent, count(*) FROM countries GROUP BY continent ORDER BY continent;
SELECT name FROM countries WHERE code = 'DE';
SELECT * FROM config ORDER BY key;
SELECT value FROM config WHERE key = 'theme';
SELECT count(*) FROM config WHERE value IS NULL OR value = '';
SELECT body FROM notes WHERE id = 3;
SELECT count(*), sum(id) FROM notes WHERE customer_id > 10;
TABLE countries;
TABLE config ORDER BY key LIMIT 2;
VALUES (1, 'a'), (2, NULL), (3, 'c');
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (id, name) ORDER BY id DESC;
SELECT count(*) FROM orders HAVING count(*) > 1000;
SELECT count(*) FROM orders HAVING sum(amount) > 0;
SELECT 1 AS one FROM orders HAVING count(*) > 0;
SELECT status, count(*) FROM orders GROUP BY status HAVING count(*) > 55 ORDER BY status;
SELECT customer_id, sum(amount) FROM orders GROUP BY customer_id HAVING max(order_id) = 6 AND sum(amount) > 1500 ORDER BY 2 DESC, 1;
SELECT customer_id % 4 AS m, min(amount), max(amount), round(avg(amount), 4) FROM orders GROUP BY m ORDER BY m;
SELECT count(*) FROM orders GROUP BY customer_id, status ORDER BY 1 DESC LIMIT 5;
SELECT customer_id FROM orders GROUP BY customer_id ORDER BY sum(amount) DESC NULLS LAST, customer_id LIMIT 4;
SELECT customer_id, order_id, status, amount FROM orders GROUP BY customer_id, order_id ORDER BY 1, 2 LIMIT 3;
SELECT current_schema() = 'o_select_basics', count(*) FROM orders;
SELECT count(*) FROM orders WHERE placed < now();
SELECT count(*) FROM orders WHERE placed < current_date AND current_user IS NOT NULL;
SELECT count(*) FROM orders WHERE random() >= 0;
SELECT count(*) FROM orders WHERE random() < 0;
SELECT count(DISTINCT r) <= 240 FROM (SELECT random() AS r FROM orders) s;
SELECT sum(1), sum(customer_id), sum(DISTINCT customer_id), avg(customer_id) FROM orders;
SELECT every(amount > 0), bool_or(status = 'void'), bool_and(country IS NOT NULL) FROM orders;
SELECT greatest(customer_id, order_id), least(customer_id, order_id) FROM orders WHERE customer_id IN (2, 4) ORDER BY 1, 2;
SELECT customer_id FROM orders WHERE order_id = 1 AND customer_id < 6 ORDER BY random() * 0, customer_id;
SELECT no_such_column FROM orders;
SELECT * FROM no_such_table;
SELECT count(*) FROM orders WHERE customer_id = 'abc';
SELECT status, count(*) FROM orders;
SELECT sum(count(*)) FROM orders;
SELECT * FROM orders WHERE sum(amount) > 1;
SELECT customer_id / 0 FROM orders;
SELECT 1 / (customer_id - 7) FROM orders WHERE order_id = 1;
SELECT count(*) FROM orders WHERE 1 / (order_id - 9) < 5;
SELECT status::int FROM orders WHERE customer_id = 3;
SELECT sum(status::int) FROM orders;
