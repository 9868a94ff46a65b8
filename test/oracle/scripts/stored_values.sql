-- How values are stored: what only the node with the row can tell.
--
-- needs: citus.enable_query_pushdown heap colocation
--
-- distribute: cs(id), other(id) with cs, part(id), one single, r reference

CREATE TABLE cs (id int PRIMARY KEY, v text, w text);
CREATE TABLE other (id int PRIMARY KEY, v text);
CREATE TABLE part (id int, k int, v text) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF part DEFAULT;
CREATE TABLE one (id int, v text);
CREATE TABLE r (id int PRIMARY KEY, v text);
ALTER TABLE cs ALTER w SET STORAGE EXTERNAL;
INSERT INTO cs SELECT g, repeat('x', g * 1000), repeat('y', g) FROM generate_series(1, 20) g;
INSERT INTO other SELECT g, repeat('z', g * 3000) FROM generate_series(1, 20) g;
INSERT INTO part SELECT g, g, repeat('p', g * 500) FROM generate_series(1, 20) g;
INSERT INTO one SELECT g, repeat('o', g * 500) FROM generate_series(1, 20) g;
INSERT INTO r SELECT g, repeat('r', g * 500) FROM generate_series(1, 20) g;

-- setup ends

SELECT id, pg_column_size(v), pg_column_compression(v), pg_column_size(w) FROM cs WHERE id = 7;
SELECT id, pg_column_size(v), pg_column_compression(v), pg_column_size(w) FROM cs;
SELECT id, pg_column_size(v) + pg_column_size(w) AS both, length(v) FROM cs WHERE id > 2 ORDER BY id;
SELECT id, v = '' AS empty, pg_column_size(v) FROM cs ORDER BY pg_column_size(v) DESC, id LIMIT 4;
SELECT id, pg_column_size(v) FROM cs ORDER BY id LIMIT 3 OFFSET 2;
SELECT pg_column_size(v) FROM cs ORDER BY pg_column_size(v) + id LIMIT 3;
SELECT DISTINCT pg_column_compression(v) FROM cs;
SELECT pg_column_compression(v), count(*), sum(pg_column_size(v)) FROM cs GROUP BY 1;
SELECT sum(pg_column_size(v)), max(pg_column_size(w)) FROM cs;
SELECT count(*) FROM cs WHERE pg_column_size(v) < 100;
SELECT cs.id, pg_column_size(cs.v), pg_column_size(other.v) FROM cs JOIN other USING (id);
SELECT cs.id, pg_column_size(cs.v), pg_column_size(r.v) FROM cs JOIN r USING (id) ORDER BY 1;
SELECT cs.id, pg_column_size(cs.v) FROM cs LEFT JOIN r ON r.id = cs.id AND r.id < 5 WHERE r.id IS NULL ORDER BY 1 LIMIT 5;
SELECT id, k, pg_column_size(v) FROM part;
SELECT id, pg_column_size(v) FROM one ORDER BY id;
SELECT id, pg_column_size(v) FROM r ORDER BY id;
SELECT * FROM (SELECT id, pg_column_size(v) AS size FROM cs) s WHERE size > 50;
SELECT avg(size) FROM (SELECT id, pg_column_size(v) AS size FROM cs ORDER BY id LIMIT 7) s;
WITH s AS MATERIALIZED (SELECT id, pg_column_size(v) AS size FROM cs) SELECT a.id, a.size, b.size FROM s a JOIN s b ON b.id = a.id + 1;
SELECT id, (SELECT pg_column_size(o.v) FROM other o WHERE o.id = cs.id), pg_column_size(v) FROM cs;
SELECT id, pg_column_size(v) FROM cs WHERE id < 4 UNION ALL SELECT id, pg_column_size(v) FROM other WHERE id < 4 ORDER BY 1, 2;
SELECT id, pg_column_size(v), random() < 0 AS never FROM cs ORDER BY id LIMIT 2 OFFSET 18;
SELECT pg_column_size(1), pg_column_size('abc'::text), id FROM cs ORDER BY id LIMIT 2;
UPDATE cs SET w = pg_column_size(v) WHERE id < 5 RETURNING id, w, pg_column_size(v);
-- params: 5
-- params: 9
SELECT id, pg_column_size(v) FROM cs WHERE id < $1 ORDER BY id;
