-- Prepared statements: custom and generic plans, parameters of many types, pinning in many shapes.
--
-- distribute: t(id), d(t_id) with t, x(key) with none, big(id), r reference, s single, l local

CREATE TABLE t (id int PRIMARY KEY, grp int, v text, amount numeric, flags boolean, at timestamptz, ids int[], doc jsonb);
CREATE TABLE d (t_id int NOT NULL, n int NOT NULL, note text, PRIMARY KEY (t_id, n));
CREATE TABLE x (key text PRIMARY KEY, t_id int);
CREATE TABLE big (id bigint PRIMARY KEY, u uuid, day date);
CREATE TABLE r (id int PRIMARY KEY, name text);
CREATE TABLE s (id int PRIMARY KEY, name text);
CREATE TABLE l (id int PRIMARY KEY, name text);
INSERT INTO t SELECT i, i % 5, 'v' || i, i * 1.5, i % 2 = 0, timestamptz '2024-01-01 00:00+00' + i * interval '1 day', ARRAY[i, i + 1], jsonb_build_object('n', i) FROM generate_series(1, 50) i;
INSERT INTO d SELECT i % 52, i, nullif('note ' || i % 7, 'note 3') FROM generate_series(1, 150) i;
INSERT INTO x SELECT 'key' || i, i FROM generate_series(1, 30) i;
INSERT INTO big SELECT i * 1000000000::bigint, md5(i::text)::uuid, date '2024-01-01' + i FROM generate_series(1, 20) i;
INSERT INTO r SELECT i, 'r' || i FROM generate_series(0, 4) i;
INSERT INTO s SELECT i, 's' || i FROM generate_series(0, 4) i;
INSERT INTO l SELECT i, 'l' || i FROM generate_series(0, 4) i;

-- setup ends
-- Driver parameters; each statement goes from custom to generic plans.
-- params: 7
-- params: 8
-- params: 999
-- params: NULL
SELECT * FROM t WHERE id = $1;
-- params: 7, v7
-- params: 7, v8
SELECT id, grp FROM t WHERE id = $1 AND v = $2;
-- params: 3, 9
SELECT id FROM t WHERE id IN ($1, $2) ORDER BY id;
-- params: '{3,9,12}'
-- params: '{}'
-- params: '{NULL,4}'
-- params: NULL
SELECT id FROM t WHERE id = ANY ($1::int[]) ORDER BY id;
-- params: 5
-- params: 6
SELECT t.id, d.n, d.note FROM t JOIN d ON d.t_id = t.id WHERE t.id = $1 ORDER BY 2;
-- params: 5
-- params: 51
SELECT d.n FROM t RIGHT JOIN d ON d.t_id = t.id WHERE d.t_id = $1 ORDER BY 1;
-- params: 5, 5
-- params: 5, 6
SELECT t.id, d.n FROM t, d WHERE t.id = $1 AND d.t_id = $2 ORDER BY 2;
-- params: 12
SELECT t.id, r.name, s.name, l.name FROM t LEFT JOIN r ON r.id = t.grp LEFT JOIN s ON s.id = t.grp LEFT JOIN l ON l.id = t.grp WHERE t.id = $1;
-- params: 2
-- params: NULL
SELECT count(*), sum(amount) FROM t WHERE grp = $1;
-- params: 2, 10
SELECT grp, count(*) FROM t WHERE id > $2 GROUP BY grp HAVING count(*) > $1 ORDER BY 1;
-- params: 5, 3
SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2;
-- params: NULL, 45
SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2;
-- params: key3
-- params: nokey
SELECT t_id FROM x WHERE key = $1;
-- params: key3
SELECT t.v FROM x JOIN t ON t.id = x.t_id WHERE x.key = $1;
-- params: 3000000000
-- params: 1
SELECT day FROM big WHERE id = $1;
-- params: 3000000000
-- params: 7
SELECT id FROM t WHERE id = $1::bigint;
-- params: 7.0
-- params: 7.5
SELECT id FROM t WHERE id = $1::numeric;
-- params: '7'
SELECT id FROM t WHERE id = $1::text::int;
-- params: 7
SELECT id FROM t WHERE id = $1 + 1;
-- params: 7
SELECT id FROM t WHERE id + 1 = $1;
-- params: 1679091c-5a88-0faf-6fb5-e6087eb1b2dc
SELECT id FROM big WHERE u = $1;
-- params: 2024-01-05
SELECT id FROM big WHERE day = $1 OR day = $1::date + 1 ORDER BY id;
-- params: 'it''s, quoted'
-- params: ''
-- params: NULL
SELECT $1::text, $1 IS NULL, length($1), count(*) FROM t WHERE v <> $1 OR $1 IS NULL;
-- params: t, '{"n": 9}', '2024-01-20 00:00+00', '{4,5}'
SELECT id FROM t WHERE flags = $1 OR doc @> $2 OR at = $3 OR ids = $4 ORDER BY id;
-- params: 10
SELECT (SELECT count(*) FROM d WHERE t_id = $1), (SELECT v FROM t WHERE id = $1);
-- params: 10
SELECT id FROM t WHERE EXISTS (SELECT FROM d WHERE d.t_id = t.id AND d.n > $1) AND id < $1 ORDER BY id;
-- params: 10
WITH c AS (SELECT * FROM t WHERE id = $1) SELECT c.id, d.n FROM c JOIN d ON d.t_id = c.id ORDER BY 2;
-- params: 10
SELECT id FROM t WHERE id = $1 UNION ALL SELECT t_id FROM d WHERE t_id = $1;
-- params: 3
SELECT sum(id) OVER (ORDER BY id) FROM t WHERE grp = $1 AND id < 20 ORDER BY 1;
-- params: 9, 10
-- params: 9, NULL
-- params: NULL, NULL
SELECT count(*) FROM t WHERE id BETWEEN $1 AND $2;
-- params: 1
-- params: 0
SELECT 10 / $1::int FROM t WHERE id = 4;
-- params: abc
SELECT * FROM t WHERE id = $1;
-- params: 201, 1, one
-- params: 202, 2, NULL
-- params: 201, 1, twice
INSERT INTO t (id, grp, v) VALUES ($1, $2, $3) RETURNING id, v;
-- params: 211, 212
INSERT INTO t (id, v) VALUES ($1, 'a'), ($2, 'b') RETURNING id;
-- params: 211, again
-- params: 213, fresh
INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET v = excluded.v || '!' RETURNING id, v;
-- params: 201, upd
-- params: 999, none
UPDATE t SET v = $2 WHERE id = $1 RETURNING id, v;
-- params: 3, 100
UPDATE t SET amount = amount + $2 WHERE grp = $1;
-- params: 201
-- params: 999
DELETE FROM t WHERE id = $1 RETURNING id, v;
-- params: 200
DELETE FROM t WHERE id > $1;
-- params: 4, new
UPDATE r SET name = $2 WHERE id = $1 RETURNING *;
-- params: 4, new
UPDATE s SET name = $2 WHERE id = $1 RETURNING *;

-- PREPARE and EXECUTE.
PREPARE p1 (int) AS SELECT id, v FROM t WHERE id = $1;
EXECUTE p1 (1);
EXECUTE p1 (2);
EXECUTE p1 (3);
EXECUTE p1 (4);
EXECUTE p1 (5);
EXECUTE p1 (6);
EXECUTE p1 (7);
EXECUTE p1 (NULL);
EXECUTE p1 (2 + 3);
EXECUTE p1 ('8');
EXECUTE p1 ((SELECT 9));
EXECUTE p1 (1, 2);
SET plan_cache_mode = force_generic_plan;
EXECUTE p1 (10);
EXECUTE p1 (11);
PREPARE p2 (int, text) AS UPDATE t SET v = $2 WHERE id = $1 RETURNING v;
EXECUTE p2 (20, 'generic');
EXECUTE p2 (21, NULL);
PREPARE p3 AS SELECT count(*), sum(n) FROM d WHERE t_id = 5;
EXECUTE p3;
PREPARE p4 (text) AS SELECT t.id, x.key FROM t JOIN x ON x.t_id = t.id WHERE x.key = $1;
EXECUTE p4 ('key9');
EXECUTE p4 ('key10');
PREPARE p5 (int[]) AS SELECT id FROM t WHERE id = ANY ($1) ORDER BY id;
EXECUTE p5 ('{1,5,9}');
EXECUTE p5 (ARRAY[2, NULL]);
PREPARE p6 (int, int) AS SELECT count(*) FROM t a JOIN d b ON a.id = b.t_id WHERE a.id BETWEEN $1 AND $2;
EXECUTE p6 (3, 8);
PREPARE p7 (bigint) AS SELECT id FROM t WHERE id = $1;
EXECUTE p7 (12);
EXECUTE p7 (5000000000);
SET plan_cache_mode = force_custom_plan;
EXECUTE p4 ('key11');
EXECUTE p5 ('{7}');
EXECUTE p7 (13);
RESET plan_cache_mode;
PREPARE p8 (int, text) AS INSERT INTO t (id, v) VALUES ($1, $2);
EXECUTE p8 (301, 'a');
EXECUTE p8 (302, 'b');
EXECUTE p8 (301, 'c');
EXECUTE p8 (NULL, 'd');
SELECT id, v FROM t WHERE id > 300 ORDER BY id;
PREPARE p9 (int) AS DELETE FROM t WHERE id = $1;
EXECUTE p9 (301);
EXECUTE p9 (302);
EXECUTE p9 (302);
PREPARE p10 (int) AS SELECT * FROM (SELECT t_id, count(*) AS n FROM d GROUP BY t_id) q WHERE t_id = $1;
EXECUTE p10 (4);
EXECUTE p10 (44);
PREPARE p11 (int) AS SELECT r.name FROM r WHERE id = $1;
EXECUTE p11 (1);
PREPARE p12 (int) AS SELECT t.id FROM t, generate_series(1, $1) g WHERE t.id = g ORDER BY 1;
EXECUTE p12 (3);
PREPARE p13 (name, "char", float8, interval) AS SELECT $1, $2, $3, $4, count(*) FROM t WHERE id = 3;
EXECUTE p13 ('n', 'c', 'NaN', '1 day');
CREATE TABLE into_p1 AS EXECUTE p5 ('{1,2,3}');
SELECT * FROM into_p1 ORDER BY 1;
DROP TABLE into_p1;
SELECT name, parameter_types FROM pg_prepared_statements WHERE name IN ('p1', 'p2') ORDER BY name;
BEGIN;
EXECUTE p1 (30);
EXECUTE p2 (30, 'in transaction');
EXECUTE p1 (30);
ROLLBACK;
EXECUTE p1 (30);
DEALLOCATE p1;
EXECUTE p1 (1);
PREPARE p1 AS SELECT nothing FROM t;
PREPARE p2 (int) AS SELECT 1;
DEALLOCATE ALL;
EXECUTE p2 (1, 'x');
