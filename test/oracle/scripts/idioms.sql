-- What applications write: gaps and islands, pivots, newest rows, trees, pages by key, upserts, queues, documents, ranges, texts.
--
-- distribute: events(user_id), orders(id) with none, items(order_id) with orders, queue(id) with none, tree(id) with none, products(sku) with none, cats reference, audit(id) with none, bookings(room), docs(id) with none, measures(device) with none

CREATE TABLE events (user_id int, at timestamp, kind text, amount numeric(10,2), props jsonb, PRIMARY KEY (user_id, at));
CREATE TABLE orders (id bigint PRIMARY KEY, customer int, status text NOT NULL DEFAULT 'new', total numeric, created timestamptz, meta jsonb, tags text[]);
CREATE TABLE items (order_id bigint, line int, sku text, qty int CHECK (qty > 0), price numeric(8,2), PRIMARY KEY (order_id, line));
CREATE TABLE queue (id int PRIMARY KEY, payload text, state text DEFAULT 'ready', prio int, locked_by text);
CREATE TABLE tree (id int PRIMARY KEY, parent int, name text);
CREATE TABLE products (sku text PRIMARY KEY, name text, cat int, price numeric(8,2), attrs jsonb, updated int DEFAULT 0);
CREATE TABLE cats (id int PRIMARY KEY, name text, parent int);
CREATE TABLE audit (id int, op text, old jsonb, new jsonb);
CREATE TABLE bookings (room int, during int4range, who text, PRIMARY KEY (room, during));
CREATE TABLE docs (id int PRIMARY KEY, title text, body text, ts tsvector GENERATED ALWAYS AS (to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, ''))) STORED);
CREATE TABLE measures (device int, at timestamptz, val float8, PRIMARY KEY (device, at)) PARTITION BY RANGE (at);
CREATE TABLE measures_1 PARTITION OF measures FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE measures_2 PARTITION OF measures FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE measures_d PARTITION OF measures DEFAULT;
CREATE INDEX ON docs USING gin (ts);
CREATE INDEX ON products USING gin (attrs jsonb_path_ops);

-- setup ends
INSERT INTO events SELECT g % 13, timestamp '2024-01-01' + (g * 37 % 1000) * interval '1 hour' + g * interval '1 second', (ARRAY['view','click','buy'])[1 + g % 3], g % 50 + 0.25, jsonb_build_object('page', 'p' || g % 7, 'n', g % 5, 'list', jsonb_build_array(g % 3, g % 4)) FROM generate_series(1, 400) g;
INSERT INTO orders SELECT g, g % 23, (ARRAY['new','paid','shipped','done'])[1 + g % 4], NULL, timestamptz '2024-01-01 00:00+00' + g * interval '7 hours', jsonb_build_object('src', 's' || g % 3, 'a', jsonb_build_object('b', g % 4)), ARRAY['t' || g % 3, 't' || g % 5] FROM generate_series(1, 120) g;
INSERT INTO items SELECT g % 120 + 1, g / 120 + 1, 'sku' || g % 17, 1 + g % 4, (g % 90) + 0.99 FROM generate_series(0, 359) g;
INSERT INTO queue SELECT g, 'job' || g, 'ready', g % 5 FROM generate_series(1, 60) g;
INSERT INTO tree SELECT g, CASE WHEN g > 1 THEN g / 3 + CASE WHEN g / 3 = 0 THEN 1 ELSE 0 END END, 'n' || g FROM generate_series(1, 60) g;
INSERT INTO products SELECT 'sku' || g, 'Product ' || g, g % 4, g * 1.5, jsonb_build_object('color', (ARRAY['red','blue','green'])[1 + g % 3], 'size', g % 6, 'dims', jsonb_build_array(g, g + 1)) FROM generate_series(0, 25) g;
INSERT INTO cats VALUES (0, 'root', NULL), (1, 'tools', 0), (2, 'toys', 0), (3, 'blocks', 2);
INSERT INTO docs SELECT g, (ARRAY['Quick foxes','Lazy dogs','Sharded databases','Running queries'])[1 + g % 4], 'The text number ' || g || ' about ' || (ARRAY['cats and dogs','replication','indexing of trees','nothing'])[1 + g % 4] FROM generate_series(1, 60) g;
INSERT INTO measures SELECT g % 9, timestamptz '2024-01-10 00:00+00' + g * interval '3 hours', (g * 7 % 31) / 2.0 FROM generate_series(1, 500) g;

-- gaps and islands
SELECT user_id, min(d), max(d), count(*) FROM (SELECT user_id, d, d - (row_number() OVER (PARTITION BY user_id ORDER BY d))::int AS grp FROM (SELECT DISTINCT user_id, at::date AS d FROM events) x) y GROUP BY user_id, grp ORDER BY 1, 2;
SELECT user_id, at, kind, sum(start) OVER (PARTITION BY user_id ORDER BY at) AS session FROM (SELECT *, CASE WHEN at - lag(at) OVER (PARTITION BY user_id ORDER BY at) > interval '10 hours' THEN 1 ELSE 0 END AS start FROM events) e ORDER BY 1, 2;
SELECT id + 1 AS gap_start, next - 1 AS gap_end FROM (SELECT id, lead(id) OVER (ORDER BY id) AS next FROM orders WHERE id % 5 <> 0) s WHERE next - id > 1 ORDER BY 1;
SELECT s.d FROM generate_series(date '2024-01-01', date '2024-02-20', interval '1 day') s (d) LEFT JOIN events e ON e.at::date = s.d WHERE e.user_id IS NULL ORDER BY 1;
-- pivots
SELECT user_id, count(*) FILTER (WHERE kind = 'view') AS views, sum(amount) FILTER (WHERE kind = 'buy') AS bought, round(avg(amount) FILTER (WHERE kind = 'click'), 3) FROM events GROUP BY user_id ORDER BY 1;
SELECT to_char(created AT TIME ZONE 'UTC', 'YYYY-MM') AS month, jsonb_object_agg(status, n ORDER BY status) FROM (SELECT created, status, count(*) AS n FROM orders GROUP BY 1, 2) x GROUP BY 1 ORDER BY 1;
SELECT coalesce(kind, 'all'), coalesce(user_id::text, '*'), count(*), sum(amount), grouping(kind, user_id) FROM events GROUP BY CUBE (kind, user_id) ORDER BY 5, 1, 2;
SELECT date_trunc('week', at), kind, count(*), sum(count(*)) OVER (PARTITION BY kind ORDER BY date_trunc('week', at)), round(100.0 * count(*) / sum(count(*)) OVER (PARTITION BY date_trunc('week', at)), 2) FROM events GROUP BY 1, 2 ORDER BY 1, 2;
-- top n per group
SELECT * FROM (SELECT o.*, row_number() OVER (PARTITION BY customer ORDER BY created DESC, id) AS rn FROM orders o) x WHERE rn <= 2 ORDER BY customer, rn;
SELECT DISTINCT ON (customer) customer, id, status FROM orders ORDER BY customer, created DESC;
SELECT c.customer, l.* FROM (SELECT DISTINCT customer FROM orders) c CROSS JOIN LATERAL (SELECT id, created FROM orders o WHERE o.customer = c.customer ORDER BY created DESC LIMIT 2) l ORDER BY 1, 3 DESC;
SELECT customer, (array_agg(id ORDER BY created DESC))[1:3], (array_agg(status ORDER BY id))[1] FROM orders GROUP BY 1 ORDER BY 1;
SELECT o.id FROM orders o LEFT JOIN orders o2 ON o2.customer = o.customer AND o2.id > o.id WHERE o2.id IS NULL ORDER BY 1;
-- recursion
WITH RECURSIVE t AS (SELECT id, parent, name, name::text AS path, 0 AS depth FROM tree WHERE parent IS NULL UNION ALL SELECT c.id, c.parent, c.name, t.path || '/' || c.name, depth + 1 FROM tree c JOIN t ON c.parent = t.id) SELECT * FROM t ORDER BY path;
WITH RECURSIVE t AS (SELECT id, parent FROM tree WHERE id = 40 UNION ALL SELECT p.id, p.parent FROM tree p JOIN t ON p.id = t.parent WHERE p.id <> t.id) SELECT id FROM t ORDER BY 1;
WITH RECURSIVE t (id, parent) AS (SELECT id, parent FROM tree WHERE id = 1 UNION ALL SELECT c.id, c.parent FROM tree c JOIN t ON c.parent = t.id) SEARCH DEPTH FIRST BY id SET ord SELECT id FROM t ORDER BY ord;
WITH RECURSIVE t (id, parent) AS (SELECT id, parent FROM tree WHERE id = 1 UNION ALL SELECT c.id, c.parent FROM tree c JOIN t ON c.parent = t.id) CYCLE id SET looped USING p SELECT id, looped, p FROM t ORDER BY id;
WITH RECURSIVE c AS (SELECT id, name, ARRAY[id] AS p FROM cats WHERE parent IS NULL UNION ALL SELECT k.id, k.name, p || k.id FROM cats k JOIN c ON k.parent = c.id) SELECT c.name, count(pr.sku), sum(pr.price) FROM c LEFT JOIN products pr ON pr.cat = ANY (SELECT c2.id FROM c c2 WHERE c.id = ANY (c2.p)) GROUP BY c.name ORDER BY 1;
-- keyset pagination
SELECT id, customer, created FROM orders WHERE (customer, id) > (5, 28) ORDER BY customer, id LIMIT 10;
SELECT id, customer FROM orders WHERE customer < 10 OR (customer = 10 AND id < 60) ORDER BY customer DESC, id DESC FETCH FIRST 7 ROWS ONLY;
SELECT * FROM (SELECT customer, count(*) FROM orders GROUP BY customer ORDER BY count(*) DESC FETCH FIRST 4 ROWS WITH TIES) r ORDER BY count DESC, customer;
SELECT * FROM orders ORDER BY (meta -> 'a' ->> 'b')::int, id OFFSET 20 LIMIT 5;
SELECT id, count(*) OVER () AS total FROM orders WHERE status = 'paid' ORDER BY id LIMIT 5 OFFSET 5;
-- upserts
-- statement needs: colocation
INSERT INTO products (sku, name, price) SELECT * FROM unnest(ARRAY['sku1','sku2','new1','new2'], ARRAY['A','B','C','D'], ARRAY[1.0, 2.0, 3.0, 4.0]) ON CONFLICT (sku) DO UPDATE SET name = excluded.name, price = products.price + excluded.price, updated = products.updated + 1 WHERE products.price < 3 RETURNING sku, name, price, updated, xmax = 0 AS inserted;
INSERT INTO products (sku, name) VALUES ('sku1', 'x'), ('new3', 'y') ON CONFLICT DO NOTHING RETURNING sku;
WITH input (sku, name) AS (VALUES ('sku3', 'q'), ('new4', 'r')), ins AS (INSERT INTO products (sku, name) SELECT * FROM input ON CONFLICT (sku) DO NOTHING RETURNING sku, 'ins' AS how) SELECT * FROM ins UNION ALL SELECT p.sku, 'old' FROM products p JOIN input USING (sku) ORDER BY 1, 2;
MERGE INTO products p USING (VALUES ('sku4', 10.0), ('new5', 20.0), ('sku5', NULL)) v (sku, price) ON p.sku = v.sku WHEN MATCHED AND v.price IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET price = v.price, updated = updated + 1 WHEN NOT MATCHED THEN INSERT (sku, price) VALUES (v.sku, v.price);
MERGE INTO products p USING (SELECT sku, sum(qty) AS q FROM items GROUP BY sku) s ON p.sku = s.sku WHEN MATCHED AND s.q > 40 THEN UPDATE SET updated = s.q WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (sku, name) VALUES (s.sku, 'from items');
SELECT sku, name, price, updated FROM products ORDER BY 1;
UPDATE orders o SET total = s.t FROM (SELECT order_id, sum(qty * price) AS t FROM items GROUP BY order_id) s WHERE s.order_id = o.id;
SELECT id, total FROM orders ORDER BY 1;
UPDATE products SET price = v.price FROM (VALUES ('sku6', 66.0), ('sku7', 77.0)) v (sku, price) WHERE products.sku = v.sku RETURNING products.sku, products.price;
UPDATE products p SET cat = c.id FROM cats c WHERE c.name = 'toys' AND p.attrs ->> 'color' = 'red' RETURNING p.sku, c.name, p.cat;
UPDATE orders SET (status, tags) = (SELECT 'bulk', array_agg(DISTINCT sku ORDER BY sku) FROM items WHERE order_id = orders.id) WHERE id % 10 = 0 RETURNING id, status, tags;
-- queues
BEGIN;
UPDATE queue SET state = 'taken', locked_by = 'w1' WHERE id = (SELECT id FROM queue WHERE state = 'ready' ORDER BY prio DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *;
WITH next AS (SELECT id FROM queue WHERE state = 'ready' ORDER BY prio, id LIMIT 5 FOR UPDATE SKIP LOCKED) UPDATE queue q SET state = 'taken', locked_by = 'w2' FROM next WHERE q.id = next.id RETURNING q.id, q.payload;
DELETE FROM queue USING (SELECT id FROM queue WHERE state = 'ready' ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED) d WHERE queue.id = d.id RETURNING queue.id;
DELETE FROM queue WHERE ctid IN (SELECT ctid FROM queue WHERE state = 'ready' ORDER BY id LIMIT 4) RETURNING id;
COMMIT;
SELECT state, locked_by, count(*), min(id), max(id) FROM queue GROUP BY 1, 2 ORDER BY 1, 2;
WITH moved AS (DELETE FROM queue WHERE state = 'taken' RETURNING *) INSERT INTO audit SELECT id, 'moved', to_jsonb(moved), NULL FROM moved;
SELECT id, op, old ->> 'payload' FROM audit ORDER BY 1;
-- json
SELECT props ->> 'page', count(*), jsonb_agg(DISTINCT props -> 'n' ORDER BY props -> 'n') FROM events WHERE props @> '{"n": 2}' OR props ? 'list' GROUP BY 1 ORDER BY 1;
SELECT e.user_id, x.v, count(*) FROM events e, jsonb_array_elements(e.props -> 'list') WITH ORDINALITY x (v, n) WHERE x.n = 1 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT sku, jsonb_path_query_first(attrs, '$.dims[*] ? (@ > 10)'), attrs @? '$.dims[*] ? (@ == 5)', attrs #>> '{dims,0}' FROM products WHERE attrs IS NOT NULL ORDER BY 1;
SELECT sku FROM products WHERE attrs @> '{"color": "red"}' AND (attrs ->> 'size')::int BETWEEN 1 AND 4 ORDER BY 1;
SELECT p.sku, r.* FROM products p, jsonb_to_record(p.attrs) r (color text, size int) WHERE r.size > 3 ORDER BY 1;
UPDATE products SET attrs = jsonb_set(attrs, '{size}', to_jsonb((attrs ->> 'size')::int + 1)) || '{"seen": true}' - 'dims' WHERE attrs ->> 'color' = 'blue' RETURNING sku, attrs;
SELECT k, count(*), min(v::text) FROM products, jsonb_each(attrs) a (k, v) GROUP BY k ORDER BY 1;
SELECT json_build_object('id', o.id, 'items', (SELECT json_agg(json_build_object('sku', i.sku, 'qty', i.qty) ORDER BY i.line) FROM items i WHERE i.order_id = o.id)) FROM orders o WHERE o.id < 6 ORDER BY o.id;
SELECT row_to_json(x) FROM (SELECT o.id, o.status, array_agg(i.sku ORDER BY i.line) AS skus FROM orders o JOIN items i ON i.order_id = o.id WHERE o.id < 5 GROUP BY o.id, o.status) x ORDER BY 1 #>> '{id}';
SELECT o.id, p.sku, p.attrs FROM orders o JOIN items i ON i.order_id = o.id LEFT JOIN products p USING (sku) WHERE o.id < 10 ORDER BY 1, 2, i.line;
-- arrays
SELECT t, count(*), array_agg(id ORDER BY id) FROM orders, unnest(tags) t GROUP BY t ORDER BY 1;
SELECT id FROM orders WHERE tags && ARRAY['t4'] AND NOT tags @> ARRAY['t1'] ORDER BY 1;
SELECT id, array_position(tags, 't2'), cardinality(tags), array_to_string(array_remove(tags, 't0'), '|') FROM orders WHERE id < 12 ORDER BY 1;
-- ranges
INSERT INTO bookings VALUES (1, '[1,5)', 'a'), (1, '[5,9)', 'b'), (2, '[1,9)', 'c');
INSERT INTO bookings VALUES (1, '[4,6)', 'd');
INSERT INTO bookings VALUES (2, '[9,10)', 'e') ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO bookings VALUES (2, '[9,10)', 'e') ON CONFLICT DO NOTHING RETURNING *;
SELECT room, range_agg(during ORDER BY during), sum(upper(during) - lower(during)) FROM bookings GROUP BY room ORDER BY 1;
SELECT a.room, a.who, b.who FROM bookings a JOIN bookings b ON a.during && b.during AND a.who < b.who ORDER BY 1, 2, 3;
SELECT room, unnest(int4multirange(int4range(0, 12)) - range_agg(during)) FROM bookings GROUP BY room ORDER BY 1, 2;
-- full-text search
SELECT id, ts_rank(ts, q) > 0, ts_headline('english', body, q) FROM docs, to_tsquery('english', 'dog | replicate') q WHERE ts @@ q ORDER BY id LIMIT 10;
SELECT count(*), min(id) FROM docs WHERE ts @@ websearch_to_tsquery('english', '"cats and dogs" -lazy');
SELECT count(*) FROM docs WHERE to_tsvector('english', body) @@ phraseto_tsquery('english', 'indexing of trees');
SELECT word, ndoc, nentry FROM ts_stat('SELECT to_tsvector(''simple'', name) FROM cats') ORDER BY 1;
-- time series
SELECT device, time_bucket, avg, lag(avg) OVER (PARTITION BY device ORDER BY time_bucket) FROM (SELECT device, date_bin('7 days', at, '2024-01-01') AS time_bucket, round(avg(val)::numeric, 4) AS avg FROM measures GROUP BY 1, 2) x ORDER BY 1, 2;
SELECT b, count(m.*), coalesce(max(val), 0) FROM generate_series(timestamptz '2024-01-10 00:00+00', '2024-01-14 00:00+00', '12 hours') b LEFT JOIN measures m ON m.at >= b AND m.at < b + interval '12 hours' AND m.device < 5 GROUP BY b ORDER BY b;
SELECT DISTINCT ON (device) device, at, val FROM measures WHERE at < '2024-02-01' ORDER BY device, at DESC;
SELECT device, percentile_cont(0.5) WITHIN GROUP (ORDER BY val), mode() WITHIN GROUP (ORDER BY val), corr(val, device) IS NULL FROM measures GROUP BY 1 ORDER BY 1;
SELECT device, at, first_value(val) OVER w, nth_value(val, 2) OVER w, avg(val) OVER (PARTITION BY device ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM measures WHERE device < 2 WINDOW w AS (PARTITION BY device ORDER BY at RANGE BETWEEN interval '1 day' PRECEDING AND CURRENT ROW) ORDER BY 1, 2;
INSERT INTO measures SELECT device, at + interval '40 days', val FROM measures WHERE device = 3 ON CONFLICT (device, at) DO UPDATE SET val = excluded.val + 100;
SELECT tableoid::regclass::text, count(*), sum(val) FROM measures GROUP BY 1 ORDER BY 1;
DELETE FROM measures m USING (SELECT device, max(at) AS at FROM measures GROUP BY device) k WHERE m.device = k.device AND m.at = k.at RETURNING m.device, m.at, m.val;
-- relational division, anti joins, sets
SELECT customer FROM orders GROUP BY customer HAVING count(DISTINCT status) = (SELECT count(DISTINCT status) FROM orders) ORDER BY 1;
SELECT sku FROM products p WHERE NOT EXISTS (SELECT FROM items i WHERE i.sku = p.sku) ORDER BY 1;
SELECT sku FROM products EXCEPT SELECT sku FROM items ORDER BY 1;
SELECT sku FROM items INTERSECT ALL SELECT sku FROM products ORDER BY 1;
SELECT o1.customer, o2.customer, count(*) FROM orders o1 JOIN items i1 ON i1.order_id = o1.id JOIN items i2 ON i2.sku = i1.sku JOIN orders o2 ON o2.id = i2.order_id AND o2.customer > o1.customer GROUP BY 1, 2 HAVING count(*) > 9 ORDER BY 3 DESC, 1, 2;
SELECT i1.sku, i2.sku, count(DISTINCT i1.order_id) FROM items i1 JOIN items i2 ON i1.order_id = i2.order_id AND i1.sku < i2.sku GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 12;
-- duplicates
DELETE FROM audit a USING audit b WHERE a.id = b.id AND a.ctid > b.ctid;
INSERT INTO audit SELECT id % 3, 'dup', NULL, NULL FROM orders WHERE id < 20;
DELETE FROM audit WHERE ctid NOT IN (SELECT min(ctid) FROM audit WHERE op = 'dup' GROUP BY id) AND op = 'dup';
SELECT id, op FROM audit WHERE op = 'dup' ORDER BY 1;
DELETE FROM audit WHERE (id, op) IN (SELECT id, op FROM audit GROUP BY 1, 2 HAVING count(*) > 0) RETURNING id, op;
-- running totals, running differences, medians, histograms
SELECT id, total, sum(total) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING), total - lag(total, 1, 0) OVER (ORDER BY id), ntile(4) OVER (ORDER BY total, id), percent_rank() OVER (ORDER BY total), cume_dist() OVER (ORDER BY total) FROM orders WHERE total IS NOT NULL ORDER BY 1;
SELECT width_bucket(total, 0, 500, 5) AS bucket, count(*), min(total), max(total) FROM orders GROUP BY 1 ORDER BY 1;
SELECT regr_slope(qty, price)::numeric(12, 6), var_pop(price)::numeric(14, 6), bit_or(qty), every(qty > 0) FROM items;
SELECT string_agg(sku, ', ' ORDER BY price DESC, sku) FILTER (WHERE price > 30), array_agg(DISTINCT cat) FROM products;
SELECT o.status, x.* FROM (SELECT DISTINCT status FROM orders) o, LATERAL (SELECT count(*), max(i.price) FROM items i JOIN orders oo ON oo.id = i.order_id WHERE oo.status = o.status) x ORDER BY 1;
VALUES (1, (SELECT count(*) FROM orders)), (2, (SELECT count(*) FROM items)) ORDER BY 1;
TABLE cats ORDER BY id;
SELECT (o).id, (o).status FROM (SELECT o FROM orders o WHERE id < 4) x ORDER BY 1;
SELECT o FROM orders o WHERE id = 3;
SELECT count(o), count(o.*), count(DISTINCT o) FROM orders o;
SELECT * FROM orders TABLESAMPLE BERNOULLI (100) WHERE id < 4 ORDER BY id;
SELECT CASE WHEN EXISTS (SELECT FROM orders WHERE status = 'nope') THEN 'y' ELSE 'n' END, (SELECT id FROM orders WHERE customer = 3 ORDER BY id LIMIT 1);
SELECT a.id, b.id FROM orders a FULL JOIN (SELECT id FROM queue) b USING (id) WHERE id < 8 OR id > 118 ORDER BY 1, 2;
SELECT * FROM items NATURAL JOIN products ORDER BY order_id, line LIMIT 6;
SELECT xmlelement(name o, xmlattributes(id AS id), status) FROM orders WHERE id < 3 ORDER BY id;
SELECT id, format('%s-%s', customer, lpad(id::text, 5, '0')), regexp_replace(status, '(.)(.*)', '\2\1'), status ~* '^S', substring(status FROM 2 FOR 2), md5(status) FROM orders WHERE id < 9 ORDER BY 1;
