-- Functions in queries: volatility, set-returning ones, user-defined aggregates and operators, casts, settings.
--
-- distribute: t(id), u(k) with none, r reference, s single, l local

CREATE TABLE t (id int PRIMARY KEY, v int, w text, at timestamptz, arr int[], doc jsonb);
CREATE TABLE u (k text NOT NULL, id int, n int);
CREATE TABLE r (id int PRIMARY KEY, n int, name text);
CREATE TABLE s (id int, n int);
CREATE TABLE l (id int, n int);
CREATE SEQUENCE numbers;
-- on all nodes
CREATE TYPE span AS (lo int, hi int);
-- on all nodes
CREATE FUNCTION plus_one(int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN $1 + 1; END $$;
-- on all nodes
CREATE FUNCTION plus_two(int) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN $1 + 2; END $$;
-- on all nodes
CREATE FUNCTION plus_ten(i int, OUT a int, OUT b text) LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN a := i + 10; b := 'b' || i; END $$;
-- on all nodes
CREATE FUNCTION evens(int) RETURNS SETOF int LANGUAGE sql IMMUTABLE AS 'SELECT generate_series(0, $1, 2)';
-- on all nodes
CREATE FUNCTION fails(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF $1 = 13 THEN RAISE EXCEPTION 'thirteen' USING ERRCODE = 'P0013'; END IF; RETURN $1; END $$;
-- on all nodes
CREATE FUNCTION my_max_step(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT greatest($1, $2)';
-- on all nodes
CREATE AGGREGATE my_max (int) (SFUNC = my_max_step, STYPE = int, COMBINEFUNC = my_max_step, PARALLEL = SAFE);
-- on all nodes
CREATE AGGREGATE my_list (int) (SFUNC = array_append, STYPE = int[], INITCOND = '{}');
-- on all nodes
CREATE FUNCTION near(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT abs($1 - $2) <= 1';
-- on all nodes
CREATE OPERATOR <~> (LEFTARG = int, RIGHTARG = int, FUNCTION = near);
-- on all nodes
CREATE FUNCTION first_arg(VARIADIC int[]) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1[1]';
-- on all nodes
CREATE FUNCTION any_id(anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT $1';
-- on all nodes
CREATE FUNCTION of_s() RETURNS bigint LANGUAGE sql RETURN (SELECT sum(n) FROM s);
-- on all nodes
CREATE FUNCTION of_t(int) RETURNS int LANGUAGE sql RETURN (SELECT v FROM t WHERE id = $1);
-- on all nodes
CREATE FUNCTION of_both(int) RETURNS SETOF bigint LANGUAGE sql BEGIN ATOMIC UPDATE t SET v = v WHERE id = $1; SELECT sum(v) FROM t; END;
INSERT INTO t SELECT i, i % 8, 'w' || i, timestamptz '2024-01-01 00:00+00' + i * interval '1 hour', ARRAY[i, i + 1, i + 2], jsonb_build_object('a', i, 'b', jsonb_build_array(i, i * 2)) FROM generate_series(1, 32) i;
INSERT INTO u SELECT 'k' || i % 9, i, i * 2 FROM generate_series(1, 40) i;
INSERT INTO r SELECT i, i * 5, 'r' || i FROM generate_series(1, 6) i;
INSERT INTO s SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO l SELECT i, i FROM generate_series(1, 6) i;

-- setup ends
SELECT id, plus_one(v), plus_two(v) FROM t WHERE id = 5;
SELECT id FROM t WHERE id = plus_one(4);
SELECT id FROM t WHERE id = plus_two(4);
SELECT sum(plus_one(v)), sum(plus_two(v)) FROM t;
SELECT count(*) FROM t WHERE plus_one(v) = 3;
SELECT id, plus_ten(id), (plus_ten(id)).b FROM t WHERE id < 4 ORDER BY id;
SELECT id, p.a, p.b FROM t, plus_ten(t.id) p WHERE id < 4 ORDER BY id;
SELECT id, p.a FROM t, LATERAL plus_ten(t.id) p WHERE p.b = 'b7';
SELECT id, evens(v) FROM t WHERE id IN (4, 5) ORDER BY 1, 2;
SELECT id, e FROM t, evens(t.v) e WHERE id IN (4, 5) ORDER BY 1, 2;
SELECT id, unnest(arr), generate_series(1, 2) FROM t WHERE id < 3 ORDER BY 1, 2, 3;
SELECT count(*) FROM (SELECT unnest(arr) FROM t) q;
SELECT id, ord, x FROM t, unnest(arr) WITH ORDINALITY AS o (x, ord) WHERE id = 9 ORDER BY ord;
SELECT t.id, x, y FROM t, ROWS FROM (unnest(arr), evens(4)) AS f (x, y) WHERE id = 9 ORDER BY x;
SELECT id, key, value FROM t, jsonb_each(doc) WHERE id IN (1, 2) ORDER BY 1, 2;
SELECT id, jsonb_path_query(doc, '$.b[*]') FROM t WHERE id < 4 ORDER BY 1, 2;
SELECT j.a, j.b FROM t, jsonb_to_record(doc) AS j (a int, b int[]) WHERE id = 6;
SELECT fails(id) FROM t WHERE id <> 13 ORDER BY 1 LIMIT 3;
SELECT fails(id) FROM t WHERE id = 13;
SELECT sum(fails(id)) FROM t;
SELECT my_max(v), my_max(id) FROM t;
SELECT v, my_max(id) FROM t GROUP BY v ORDER BY v;
SELECT my_list(id ORDER BY id DESC) FROM t WHERE id < 6;
SELECT my_max(DISTINCT v) FILTER (WHERE v < 5) FROM t;
SELECT id, my_max(id) OVER (ORDER BY id ROWS 1 PRECEDING) FROM t WHERE id < 4 ORDER BY id;
SELECT a.id, b.id FROM t a JOIN t b ON a.id <~> b.id WHERE a.id = 7 ORDER BY 2;
SELECT id FROM t WHERE v <~> 6 ORDER BY id;
SELECT of_s(), of_t(5), of_both(6);
SELECT of_s() + of_t(n) FROM r ORDER BY 1;
SELECT first_arg(id, v), first_arg(VARIADIC arr), any_id(id), any_id(w) FROM t WHERE id = 3;
SELECT id FROM t WHERE at = any_id(timestamptz '2024-01-01 05:00+00');
SELECT count(*) FROM t WHERE at < now() AND at < statement_timestamp() AND at < clock_timestamp();
SELECT count(DISTINCT now()), count(DISTINCT transaction_timestamp()) FROM t;
SELECT count(*) FROM t WHERE now() = (SELECT now());
SELECT bool_and(now() = x.n) FROM t, (SELECT now() AS n) x;
SELECT count(DISTINCT current_date), count(DISTINCT current_user), count(DISTINCT session_user) FROM t;
SELECT DISTINCT current_setting('TimeZone'), current_schema() FROM t;
SELECT nextval('numbers') > 0 FROM t WHERE id = 1;
SELECT count(DISTINCT n), min(n) > 0 FROM (SELECT nextval('numbers') AS n FROM t) q;
SELECT currval('numbers') > 30;
INSERT INTO u SELECT 'seq', id, nextval('numbers') FROM t;
SELECT count(DISTINCT n) FROM u WHERE k = 'seq';
UPDATE u SET n = nextval('numbers') WHERE k = 'seq';
SELECT count(DISTINCT n) FROM u WHERE k = 'seq';
UPDATE t SET w = md5(random()::text);
SELECT count(DISTINCT w) FROM t;
UPDATE t SET at = now() WHERE v = 3;
SELECT count(DISTINCT at) FROM t WHERE v = 3;
UPDATE t SET v = plus_one(v) WHERE id < 4 RETURNING id, v, plus_two(v);
DELETE FROM u WHERE n = plus_one(n);
DELETE FROM u WHERE k = 'k' || plus_one(1) RETURNING plus_two(n) - n;
INSERT INTO t (id, v, w) VALUES (plus_one(99), plus_two(1), gen_random_uuid()::text) RETURNING id, v, length(w);
INSERT INTO t (id, w) SELECT 200 + g, random()::text FROM generate_series(1, 10) g;
SELECT count(DISTINCT w) FROM t WHERE id > 200;
UPDATE r SET n = plus_one(n), name = name || (random() * 0)::int;
UPDATE r SET name = random()::text WHERE id > 3;
SELECT count(DISTINCT name) FROM r WHERE id > 3;
SELECT id, n, plus_one(n) FROM r ORDER BY id;
SELECT t.id, r.n, s.n, l.n FROM t JOIN r ON r.id = plus_one(t.id) LEFT JOIN s ON s.id = r.id LEFT JOIN l ON l.id = plus_two(t.id) ORDER BY 1;
SELECT to_tsvector('simple', 'a fat cat') @@ to_tsquery('simple', 'cat'), count(*) FROM t WHERE to_tsvector('simple', w || ' x') @@ 'x';
SELECT format('%s-%s', id, v), id::text || v, lpad(id::text, 4, '0'), to_char(at, 'YYYY-MM') FROM t WHERE id = 20;
SELECT (ROW(id, v)::span).hi FROM t WHERE id = 20;
SELECT max(ROW(v, id)::span::text) FROM t;
SELECT id, pg_typeof(v), pg_typeof(arr), pg_typeof(ROW(id, v)::span) FROM t WHERE id = 20;
SELECT count(*) FROM t WHERE has_table_privilege('t', 'SELECT') AND pg_table_is_visible('t'::regclass);
SELECT 't'::regclass, 'plus_one'::regproc, 'span'::regtype, count(*) FROM t WHERE id = 1;
SELECT count(*) FROM t WHERE 't'::regclass = (SELECT 't'::regclass);
SELECT count(*) FROM pg_class c JOIN t ON t.id = 1 WHERE c.oid = 't'::regclass;
SELECT c.relname, count(t.*) FROM pg_class c LEFT JOIN t ON t.id < 0 WHERE c.relname IN ('t', 'u', 'r') AND c.relnamespace = 'o_functions'::regnamespace GROUP BY 1 ORDER BY 1;
SELECT plus_one('x');
SELECT plus_one(id, id) FROM t;
SELECT nothing(id) FROM t;
