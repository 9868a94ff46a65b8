-- Functions and VALUES in FROM, by themselves and for each row of a distributed table.
-- distribute: doc(id), item(id) with doc, other(k), kind reference, sums(id) with doc, lines(id) with doc
CREATE TABLE doc (id int PRIMARY KEY, x int, tags text[], data jsonb);
CREATE TABLE item (id int, n int, v numeric, PRIMARY KEY (id, n));
CREATE TABLE other (k int, x int);
CREATE TABLE kind (x int PRIMARY KEY, name text);
CREATE TABLE place (id int, note text);
CREATE TABLE sums (id int PRIMARY KEY, total int, n int);
CREATE TABLE lines (id int, n bigint, line text);
INSERT INTO doc SELECT g, g % 7, ARRAY['t' || g % 3, 't' || g % 5, NULL],
	jsonb_build_object('a', jsonb_build_array(g, g + 1, g % 4), 'o', jsonb_build_object('p', g, 'q', g % 2), 's', 'w' || g || ' v u')
	FROM generate_series(1, 60) g;
INSERT INTO doc VALUES (61, NULL, NULL, NULL), (62, 3, '{}', '{"a": []}');
INSERT INTO item SELECT g, n, g * n FROM generate_series(1, 40) g, generate_series(1, 3) n;
INSERT INTO other SELECT g, g % 9 FROM generate_series(1, 50) g;
INSERT INTO kind SELECT g, 'kind ' || g FROM generate_series(0, 6) g;
INSERT INTO place VALUES (1, 'one'), (2, 'two');
ANALYZE doc, item, other, kind, place;
-- for each row
SELECT count(*), sum(a::int) FROM doc, jsonb_array_elements(data -> 'a') a;
SELECT id, a, o FROM doc, jsonb_array_elements(data -> 'a') WITH ORDINALITY AS e(a, o) WHERE id < 5;
SELECT id, a, o FROM doc, jsonb_array_elements(data -> 'a') WITH ORDINALITY AS e(a, o) ORDER BY id DESC, o LIMIT 4;
SELECT o, count(*), count(DISTINCT a) FROM doc, jsonb_array_elements(data -> 'a') WITH ORDINALITY AS e(a, o) GROUP BY o;
SELECT id, count(*) FROM doc, unnest(tags) t WHERE t IS NOT NULL GROUP BY id HAVING count(*) > 1;
SELECT t, count(*) FROM doc, unnest(tags) t GROUP BY t;
SELECT t, count(*) FROM doc LEFT JOIN unnest(tags) t ON t LIKE 't1%' GROUP BY t;
SELECT count(*), count(t) FROM doc LEFT JOIN LATERAL unnest(tags) t ON true;
SELECT doc.id, t FROM jsonb_object_keys('{"b": 1, "c": 2}') t, doc WHERE doc.id < 3;
SELECT count(*) FROM unnest(ARRAY['t1', 't2']) u, doc, unnest(tags) t WHERE t = u;
SELECT k, v FROM doc, jsonb_each(data -> 'o') AS j(k, v) WHERE id IN (3, 4, 5);
SELECT sum(p), sum(q) FROM doc, jsonb_to_record(data -> 'o') AS r(p int, q int);
SELECT id, r.* FROM doc, jsonb_to_recordset(jsonb_build_array(data -> 'o', data -> 'o')) AS r(q int, p text) WHERE id < 4;
SELECT word, count(*) FROM doc, regexp_split_to_table(data ->> 's', ' ') word WHERE word !~ '^w' GROUP BY word;
SELECT m[1], count(*) FROM doc, regexp_matches(data ->> 's', '([uv])', 'g') m GROUP BY 1;
SELECT count(*) FROM doc, generate_series(1, x) g;
SELECT id, g FROM doc, generate_series(id, id + x) g WHERE id BETWEEN 9 AND 11;
SELECT a, b, count(*) FROM doc, ROWS FROM (unnest(tags), generate_series(1, 2)) AS r(a, b) GROUP BY a, b;
SELECT count(*) FROM doc, xmltable('/r/i' PASSING xmlparse(document '<r><i>' || id || '</i><i>2</i></r>') COLUMNS i int PATH '.') t WHERE t.i > 1;
SELECT v.n, sum(v.c) FROM doc, LATERAL (VALUES ('id', id), ('x', x)) v(n, c) GROUP BY v.n;
SELECT v.n, v.c FROM doc CROSS JOIN LATERAL (VALUES ('id', id), ('x', x), ('both', id + x)) v(n, c) WHERE id IN (6, 61);
SELECT d.id, e.value FROM doc d, jsonb_array_elements_text(d.data -> 'a') e WHERE d.id = 17;
SELECT (SELECT count(*) FROM unnest(tags) t WHERE t = 't1') AS n, count(*) FROM doc GROUP BY 1;
SELECT count(*) FROM doc WHERE EXISTS (SELECT FROM unnest(tags) t WHERE t = 't2');
SELECT count(*) FROM doc WHERE NOT EXISTS (SELECT FROM jsonb_array_elements_text(data -> 'a') a WHERE a::int % 4 = 0);
SELECT count(*) FROM doc WHERE 3 IN (SELECT a::int FROM jsonb_array_elements_text(data -> 'a') a);
-- with other tables
SELECT count(*), sum(v) FROM doc, jsonb_array_elements_text(data -> 'a') a, item WHERE item.id = doc.id AND item.n = a::int;
SELECT doc.id, a, item.v FROM doc, jsonb_array_elements_text(data -> 'a') a LEFT JOIN item ON item.n = a::int AND item.id = 3 WHERE doc.id IN (3, 4);
SELECT name, count(*) FROM doc, unnest(tags) t, kind WHERE kind.x = doc.x GROUP BY name;
SELECT name, count(*) FROM doc, generate_series(0, 2) g, kind WHERE kind.x = g AND doc.x = g GROUP BY name;
SELECT count(*) FROM doc, unnest(tags) t, place WHERE place.id = doc.id;
SELECT count(*) FROM doc, jsonb_array_elements_text(data -> 'a') a, other WHERE other.k = a::int;
SELECT count(*) FROM doc, generate_series(1, x) g, other WHERE other.x = g AND other.k = doc.id;
SELECT count(*) FROM doc JOIN other ON other.x = doc.x, generate_series(doc.id, other.k) g;
SELECT count(*) FROM other, doc, unnest(ARRAY[other.k, doc.id]) u WHERE other.k = doc.id;
SELECT count(*) FROM kind, generate_series(1, kind.x) g;
SELECT count(*) FROM kind, generate_series(1, kind.x) g, doc WHERE doc.x = kind.x;
SELECT g, count(doc.id) FROM generate_series(0, 8) g LEFT JOIN doc ON doc.x = g GROUP BY g;
SELECT g, count(*) FROM generate_series(0, 8) g WHERE NOT EXISTS (SELECT FROM doc WHERE doc.x = g) GROUP BY g;
SELECT count(*) FROM doc RIGHT JOIN generate_series(55, 65) g ON doc.id = g;
SELECT count(*), count(doc.id), count(g) FROM doc FULL JOIN generate_series(55, 65) g ON doc.id = g;
SELECT count(*) FROM (SELECT id, t FROM doc, unnest(tags) t) s JOIN item ON item.id = s.id;
SELECT s.id, s.n, item.v FROM (SELECT id, count(t) AS n FROM doc, unnest(tags) t GROUP BY id) s JOIN item ON item.id = s.id AND item.n = s.n WHERE s.id < 4;
SELECT id, t, row_number() OVER (PARTITION BY id ORDER BY t) FROM doc, unnest(tags) t WHERE id < 4;
SELECT DISTINCT t FROM doc, unnest(tags) t;
SELECT t FROM doc, unnest(tags) t UNION SELECT name FROM kind;
WITH w AS MATERIALIZED (SELECT id, t FROM doc, unnest(tags) t) SELECT t, count(*) FROM w GROUP BY t;
SELECT j.id, j FROM doc d, jsonb_to_record(d.data -> 'o') AS j(id int, p int) WHERE d.id = 2;
SELECT t FROM doc, unnest(tags) t WHERE id = 3;
SELECT t.t FROM doc, unnest(tags) t WHERE id < 3 AND t.t IS NOT NULL;
-- not the same on all nodes, or not the server's
CREATE FUNCTION upto(n int) RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN QUERY SELECT generate_series(1, n); END $$;
CREATE FUNCTION inlined(n int) RETURNS SETOF int LANGUAGE sql IMMUTABLE AS $$ SELECT generate_series(1, n) $$;
SELECT count(*) FROM doc, upto(x) u;
SELECT count(*) FROM doc, inlined(x) u;
SELECT count(*) FROM doc, upto(3) u WHERE doc.x = u;
SELECT count(*) FROM doc, pg_stat_get_activity(pg_backend_pid()) a WHERE a.pid = pg_backend_pid();
SELECT count(*) FROM doc, generate_series(now(), now() + '2 days', '1 day') g;
SELECT count(*) FROM doc, generate_series('2024-01-01'::timestamp, '2024-01-01'::timestamp + make_interval(days => x), '1 day') g;
SELECT count(r) FROM doc, LATERAL (SELECT random() AS r FROM generate_series(1, 2)) s;
SELECT count(*) FROM doc, unnest(tags) t WHERE t = current_setting('search_path');
PREPARE p(int, text) AS SELECT count(*), min(t) FROM doc, generate_series(1, $1) g, unnest(tags) t WHERE doc.x = g AND t >= $2;
EXECUTE p(3, 't1');
EXECUTE p(6, 't');
-- views of others, writes
CREATE VIEW words AS SELECT id, t FROM doc, unnest(tags) WITH ORDINALITY AS w(t, o) WHERE o < 3;
SELECT t, count(*) FROM words GROUP BY t;
INSERT INTO sums SELECT id, sum(a::int), count(*) FROM doc, jsonb_array_elements(data -> 'a') a GROUP BY id;
INSERT INTO lines SELECT id, o, a FROM doc, jsonb_array_elements_text(data -> 'a') WITH ORDINALITY AS e(a, o);
INSERT INTO lines SELECT a::int, o, 'moved' FROM doc, jsonb_array_elements_text(data -> 'a') WITH ORDINALITY AS e(a, o) WHERE doc.x = 3;
SELECT * FROM sums WHERE id < 6;
SELECT line, count(*), sum(n) FROM lines GROUP BY line;
UPDATE sums SET total = total + a::int FROM doc, jsonb_array_elements(data -> 'a') WITH ORDINALITY AS e(a, o) WHERE doc.id = sums.id AND o = 1;
DELETE FROM sums USING doc, unnest(tags) t WHERE doc.id = sums.id AND t = 't2';
UPDATE sums SET n = g FROM generate_series(100, 140) g WHERE sums.id = g - 99;
SELECT * FROM sums;
-- functions that tell of their node
SELECT count(*) > 0 FROM doc, LATERAL pg_stat_get_activity(pg_backend_pid() + x * 0) p WHERE x = 1;
-- rows of a table with a dropped column
-- distribute: dropped(id) with none
CREATE TABLE dropped (id int, gone int, n int);
ALTER TABLE dropped DROP COLUMN gone;
INSERT INTO dropped SELECT g, nullif(g % 3, 0) FROM generate_series(1, 12) g;
INSERT INTO dropped VALUES (NULL, NULL);
SELECT count(*) FROM dropped d WHERE d IS NOT NULL;
SELECT count(*) FROM dropped d WHERE d IS NULL;
SELECT count(*) FROM dropped d WHERE NOT d IS NULL;
SELECT id, d IS NOT NULL, d IS NULL, d = d, d FROM dropped d;
SELECT count(*) FROM dropped d LEFT JOIN dropped e ON e.n = d.id WHERE e IS NULL;
SELECT count(*) FROM doc WHERE EXISTS (SELECT FROM dropped d WHERE d IS NOT NULL AND d.id = doc.id AND doc IS NOT NULL);
SELECT count(*) FROM dropped d WHERE id = 4 AND d IS NOT NULL;
