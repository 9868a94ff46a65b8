-- Join clauses with sub-queries, which scans of shards that a join's other side chooses don't evaluate.
--
-- distribute: a(k), r reference

CREATE TABLE a (k int PRIMARY KEY, g int, f bool);
CREATE TABLE r (id int PRIMARY KEY, label text, w int);
INSERT INTO a SELECT n, CASE n WHEN 3 THEN 5 ELSE 1 END, n % 2 = 1 FROM generate_series(1, 30) n;
INSERT INTO r SELECT n, 't' || n, n FROM generate_series(0, 9) n;

-- setup ends
SELECT * FROM a, unnest('{1,2,3}'::int[], '{t1,t2,NULL}'::text[]) v (c0, c1) WHERE a.k = v.c0 AND a.g = (SELECT min(1) FROM LATERAL (SELECT * FROM r WHERE v.c1 = r.label ORDER BY id LIMIT 1) n WHERE a.f);
SELECT * FROM a, unnest('{1,2,3}'::int[], '{t1,t2,NULL}'::text[]) v (c0, c1) WHERE a.k = v.c0 AND a.g = (SELECT min(id) FROM r WHERE v.c1 = r.label AND a.f);
SELECT * FROM a RIGHT JOIN (VALUES (1, 't1'), (2, 't2'), (3, NULL), (NULL, 't3')) v (c0, c1) ON a.k = v.c0 WHERE a.g = (SELECT min(id) FROM r WHERE v.c1 = r.label AND a.f);
SELECT * FROM a RIGHT JOIN (VALUES (1, 't1'), (2, 't2'), (3, NULL), (NULL, 't3')) v (c0, c1) ON a.k = v.c0 AND a.g = (SELECT min(id) FROM r WHERE v.c1 = r.label AND a.f);
SELECT * FROM a, unnest('{1,2,3}'::int[], '{t1,t2,NULL}'::text[]) v (c0, c1) WHERE a.k = v.c0 AND length(v.c1) + a.g = 3;
SELECT * FROM a, unnest('{1,2,3}'::int[], '{t1,t2,NULL}'::text[]) v (c0, c1) WHERE a.k = v.c0 AND EXISTS (SELECT FROM r WHERE v.c1 = r.label AND r.id = a.g);
SELECT * FROM a, unnest('{1,2,3}'::int[], '{t1,t2,NULL}'::text[]) v (c0, c1) WHERE a.k = v.c0 AND a.g NOT IN (SELECT id FROM r WHERE v.c1 = r.label);
