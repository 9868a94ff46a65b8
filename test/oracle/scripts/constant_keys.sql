-- Groups of which a key is the same for all rows, below window functions.
--
-- distribute: p(stock) with none, l(price) with none

CREATE TABLE p (shop_id int, id int, name text, stock int, PRIMARY KEY (shop_id, id, stock));
CREATE TABLE l (shop_id int, order_id int, product_id int, qty int, price int);
INSERT INTO p SELECT s, i, 'product ' || i, (s * i) % 20 FROM generate_series(1, 25) s, generate_series(1, 8) i;
INSERT INTO l SELECT s, o, i, 1 + (o + i) % 3, i FROM generate_series(1, 24) s, generate_series(1, 6) o, generate_series(1, 8) i WHERE (i + o) % 3 = 0;

-- setup ends
SELECT p.id, coalesce(sum(l.qty), 0) AS sold, rank() OVER (ORDER BY coalesce(sum(l.qty), 0) DESC) FROM p LEFT JOIN l USING (shop_id) WHERE p.shop_id = 7 AND (l.product_id = p.id OR l.product_id IS NULL) GROUP BY p.shop_id, p.id ORDER BY 2 DESC, 1;
SELECT p.id, sum(l.qty), rank() OVER (ORDER BY p.id) FROM p JOIN l USING (shop_id) WHERE p.shop_id = 7 GROUP BY p.shop_id, p.id ORDER BY 1;
SELECT sum(qty), rank() OVER (ORDER BY sum(qty)) FROM l WHERE shop_id = 7 GROUP BY shop_id;
SELECT sum(qty), rank() OVER (ORDER BY sum(qty)) FROM l WHERE shop_id = 700 GROUP BY shop_id;
SELECT shop_id, sum(qty) FROM l WHERE shop_id = 700 GROUP BY shop_id;
SELECT shop_id, sum(qty) FROM l WHERE shop_id = 7 GROUP BY shop_id;
SELECT product_id, sum(qty), row_number() OVER (ORDER BY product_id) FROM l WHERE shop_id = 7 GROUP BY shop_id, product_id HAVING sum(qty) > 3 ORDER BY 1;
SELECT sum(qty), count(*) OVER () FROM l WHERE shop_id = 7 AND product_id = 3 GROUP BY shop_id, product_id;
SELECT sum(qty), count(*) OVER () FROM l WHERE shop_id = 7 AND product_id = 300 GROUP BY shop_id, product_id;
