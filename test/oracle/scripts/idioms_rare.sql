-- Forms of SQL that are seldom written: frames of windows, composite values, subscripts, functions in FROM, chains of writing CTEs, cursors.
--
-- distribute: t(id), u(id) with none, w(k) with none, comp(id) with none, m(id) with none, ref reference, s single, log(at) with none

CREATE TYPE addr AS (street text, zip int, geo point);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN posint AS int CHECK (VALUE > 0);
CREATE DOMAIN shortlist AS int[] CHECK (cardinality(VALUE) < 5);
CREATE TABLE t (id int PRIMARY KEY, g int, x int, y numeric, s text, d date, m mood, arr int[], js jsonb);
CREATE TABLE u (id int, tid int, v text, n posint, PRIMARY KEY (id, n));
CREATE TABLE w (k text PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c int DEFAULT 7, ts timestamp DEFAULT '2020-01-01');
CREATE TABLE comp (id int PRIMARY KEY, a addr, aa addr[], l shortlist, p posint);
CREATE TABLE m (id int PRIMARY KEY, q int, note text);
CREATE TABLE ref (id int PRIMARY KEY, name text);
CREATE TABLE s (id int PRIMARY KEY, v text, tid int);
CREATE TABLE log (at int, what text, n bigint);
CREATE FUNCTION addmul(int, int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 1) * 31 + $2 * $3';
CREATE AGGREGATE digest (int, int) (SFUNC = addmul, STYPE = int, INITCOND = '1');
CREATE FUNCTION f_loop(lim int) RETURNS SETOF t LANGUAGE plpgsql AS $$ DECLARE r t; c CURSOR (n int) FOR SELECT * FROM t WHERE id <= n ORDER BY id DESC; BEGIN
    OPEN c(lim); LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; r.s := r.s || '!'; RETURN NEXT r; END LOOP; CLOSE c; RETURN; END $$;
CREATE FUNCTION f_dyn(tab regclass, col text, val int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN
    EXECUTE format('UPDATE %s SET %I = %I WHERE %I = $1', tab, col, col, col) USING val; GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$;
CREATE FUNCTION f_cond(i int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE a int; b text; BEGIN
    SELECT x, s INTO STRICT a, b FROM t WHERE id = i; RETURN a || b; EXCEPTION WHEN no_data_found THEN RETURN 'none'; WHEN too_many_rows THEN RETURN 'many'; END $$;
CREATE VIEW tv AS SELECT t.id, t.s, u.v FROM t JOIN u ON u.tid = t.id;
CREATE FUNCTION tv_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'UPDATE' THEN UPDATE t SET s = NEW.s WHERE id = OLD.id; RETURN NEW; ELSE DELETE FROM u WHERE tid = OLD.id; RETURN OLD; END IF; END $$;
CREATE OPERATOR |+| (FUNCTION = int4pl, LEFTARG = int, RIGHTARG = int);

-- setup ends
CREATE TRIGGER tvt INSTEAD OF UPDATE OR DELETE ON tv FOR EACH ROW EXECUTE FUNCTION tv_write();
INSERT INTO t SELECT g, g % 5, nullif(g % 7, 3), (g % 11) * 1.1, 's' || g % 4, date '2024-02-01' + g % 9, (enum_range(NULL::mood))[1 + g % 3], ARRAY[g, g % 3, NULL], jsonb_build_object('a', g % 4, 'b', jsonb_build_array(g, NULL)) FROM generate_series(1, 60) g;
INSERT INTO u SELECT g % 40, g % 61, 'v' || g % 6, 1 + g FROM generate_series(1, 120) g;
INSERT INTO w (k, a) SELECT 'k' || g, g FROM generate_series(1, 20) g;
INSERT INTO comp SELECT g, ROW('st' || g, g, point(g, 1))::addr, ARRAY[ROW('a', g, NULL)::addr, NULL], ARRAY[g, g + 1], g FROM generate_series(1, 15) g;
INSERT INTO m SELECT g, g % 3, 'n' FROM generate_series(1, 12) g;
INSERT INTO ref SELECT g, 'r' || g FROM generate_series(0, 6) g;
INSERT INTO s SELECT g, 'v' || g % 6, g * 2 FROM generate_series(1, 25) g;

SELECT g, sum(x) OVER (PARTITION BY g ORDER BY id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW), count(*) OVER (PARTITION BY g ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING EXCLUDE TIES) FROM t ORDER BY g, id;
SELECT rank(3) WITHIN GROUP (ORDER BY x), dense_rank(3) WITHIN GROUP (ORDER BY x), cume_dist(3) WITHIN GROUP (ORDER BY x)::numeric(8, 5), percentile_cont(0.25) WITHIN GROUP (ORDER BY y::float8) FROM t;
SELECT g, digest(x, id ORDER BY id) FROM t GROUP BY g ORDER BY g;
SELECT digest(DISTINCT g, x ORDER BY g, x) FROM t;
SELECT g, (SELECT count(*) FROM u WHERE u.n > max(t.x)) FROM t GROUP BY g ORDER BY g;
SELECT (SELECT max(t.x) FROM ref LIMIT 1) FROM t;
SELECT (SELECT count(t.x)) FROM t;
SELECT max(x) FROM t HAVING count(*) > 100;
SELECT 1 FROM t HAVING count(*) > 10;
SELECT g, count(*) FROM t GROUP BY DISTINCT GROUPING SETS ((g), (g), ()) ORDER BY 1;
SELECT g, m, count(*), grouping(g, m) FROM t GROUP BY GROUPING SETS (g, m, ROLLUP (g, m)) ORDER BY 4, 1, 2, 3;
SELECT count(*) FROM t WHERE (g, x) IN ((1, 2), (3, 4), (0, NULL));
SELECT id FROM t WHERE (g, x, s) > (2, 3, 's1') AND (g, x) <= (3, 2) ORDER BY id;
SELECT id FROM t WHERE x = ALL (ARRAY[2, 2]) OR x <> ALL (SELECT a FROM w WHERE a < 5) AND g = 1 ORDER BY id;
SELECT t.id, u.n FROM t JOIN u ON t.x IS NOT DISTINCT FROM nullif(u.tid % 7, 3) AND t.id = u.id ORDER BY 1, 2;
SELECT a, b, c FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['x', 'y']), jsonb_object_keys('{"q": 1}')) WITH ORDINALITY AS r (a, b, c, o) ORDER BY o;
SELECT t.id, e, o FROM t, unnest(t.arr) WITH ORDINALITY x (e, o) WHERE t.id < 5 ORDER BY 1, 3;
SELECT id, unnest(arr), generate_series(1, 2) FROM t WHERE id < 4 ORDER BY 1, 3, 2;
SELECT generate_subscripts(arr, 1), count(*) FROM t GROUP BY 1 ORDER BY 1;
SELECT id, (regexp_matches(s || id, '(\D)(\d)', 'g'))[2] FROM t WHERE id < 14 ORDER BY 1, 2;
SELECT x.p, count(*) FROM t, string_to_table(s || ',' || m, ',') x (p) GROUP BY 1 ORDER BY 1;
SELECT t.id, x.* FROM t, jsonb_to_recordset(jsonb_build_array(t.js)) x (a int, b jsonb) WHERE t.id < 4 ORDER BY 1;
SELECT x.* FROM t, XMLTABLE('/r/i' PASSING xmlparse(DOCUMENT '<r><i n="1">' || t.id || '</i></r>') COLUMNS n int PATH '@n', v int PATH '.') x WHERE t.id < 4 ORDER BY 2;
SELECT * FROM t JOIN LATERAL (VALUES (t.id + 1), (t.id + 2)) v (q) ON q % 2 = 0 WHERE t.id < 6 ORDER BY t.id;
SELECT a.id, b.id FROM (t a LEFT JOIN u b ON a.id = b.tid AND b.n > 100) RIGHT JOIN ref r ON r.id = a.g AND a.id < 10 ORDER BY 1, 2, r.id;
SELECT id, name, v FROM ref NATURAL FULL JOIN (SELECT id, v FROM s) z ORDER BY id;
SELECT * FROM ref JOIN s USING (id) AS j WHERE j.id > 3 ORDER BY j.id;
SELECT id FROM t ORDER BY id LIMIT (SELECT count(*) FROM ref) OFFSET (SELECT min(a) FROM w);
SELECT id FROM t ORDER BY m DESC, s USING >, id LIMIT 6;
SELECT s COLLATE "C", count(*) FROM t GROUP BY s COLLATE "C" ORDER BY s COLLATE "C" DESC;
SELECT id |+| x FROM t WHERE id < 5 ORDER BY id;
SELECT id FROM t WHERE s SIMILAR TO 's(1|2)' AND s ILIKE 'S%' AND s !~ '2' AND d BETWEEN SYMMETRIC '2024-02-09' AND '2024-02-03' ORDER BY id;
SELECT d, count(*) FILTER (WHERE EXISTS (SELECT FROM u WHERE u.tid = t.id AND u.n > 60)) FROM t GROUP BY d ORDER BY d;
SELECT g, array_agg(x ORDER BY x DESC NULLS LAST, id) FILTER (WHERE x > (SELECT min(a) FROM w)), xmlagg(xmlelement(name i, id) ORDER BY id)::text FROM t WHERE id < 12 GROUP BY g ORDER BY g;
SELECT sum(sum(x)) OVER (ORDER BY g), lag(count(*), 2, 0::bigint) OVER (ORDER BY g), max(g) FROM t GROUP BY g ORDER BY g;
SELECT DISTINCT ON (g, m) g, m, id FROM t ORDER BY g, m, id DESC;
SELECT DISTINCT count(*) FROM t GROUP BY g, x ORDER BY 1;
SELECT m, min(m) OVER (), max(m) OVER (PARTITION BY g), m > 'sad' FROM t WHERE id < 8 ORDER BY id;
SELECT enum_first(m), m::text || '', m = ANY ('{ok,happy}') FROM t WHERE id < 4 ORDER BY id;
-- composites, arrays, subscripts
SELECT id, (a).street, (a).geo[0], (aa[1]).zip, l[2:], p FROM comp ORDER BY id LIMIT 4;
UPDATE comp SET a.zip = (a).zip + 1, l[1] = 99, aa[2] = ROW('z', 1, NULL)::addr WHERE id % 3 = 0 RETURNING id, a, aa, l;
UPDATE comp SET p = -1 WHERE id = 4;
UPDATE comp SET l = ARRAY[1, 2, 3, 4, 5] WHERE id = 4;
INSERT INTO comp (id, a.street, a.zip) VALUES (50, 'q', 3) RETURNING *;
SELECT a, count(*) FROM comp GROUP BY a ORDER BY a LIMIT 3;
SELECT id FROM comp WHERE a = ROW('st5', 5, point(5, 1))::addr;
SELECT id FROM comp WHERE (a).zip > 8 ORDER BY a;
SELECT (a).* FROM comp WHERE id = 2;
UPDATE t SET js['a'] = '9', arr[2] = 77 WHERE id IN (2, 4) RETURNING id, js, arr;
SELECT js['b'][0], arr[1:2], arr[5], array_length(arr, 1) FROM t WHERE id < 5 ORDER BY id;
-- writes
INSERT INTO w (k, a) VALUES ('n1', DEFAULT), ('n2', 5) RETURNING *;
INSERT INTO w (k, a, b) VALUES ('n3', 1, DEFAULT) RETURNING b;
INSERT INTO w (k, a, b) VALUES ('n4', 1, 2);
UPDATE w SET a = DEFAULT, c = DEFAULT, b = DEFAULT WHERE k = 'k3' RETURNING *;
UPDATE w SET (a, c) = (c, a), k = k || 'x' WHERE a > 18 RETURNING *;
UPDATE w SET (a, c) = (SELECT max(id), min(g) FROM t WHERE t.id < w.a) WHERE k < 'k15' RETURNING k, a, b, c;
UPDATE t SET x = (SELECT count(*) FROM u WHERE u.tid = t.id), s = (SELECT name FROM ref WHERE ref.id = t.g) WHERE id % 4 = 1 RETURNING id, x, s, (SELECT sum(n) FROM u WHERE u.tid = t.id);
DELETE FROM u USING t, LATERAL (SELECT max(a) AS mx FROM w WHERE w.a < t.id) z WHERE u.tid = t.id AND z.mx > 15 RETURNING u.id, u.n, z.mx;
WITH x AS MATERIALIZED (SELECT id, g FROM t WHERE x IS NULL), y AS (UPDATE m SET note = 'upd' FROM x WHERE m.id = x.g RETURNING m.id), z AS (INSERT INTO log SELECT id, 'y', count(*) OVER () FROM y RETURNING at) SELECT (SELECT count(*) FROM y), (SELECT array_agg(at ORDER BY at) FROM z), (SELECT count(*) FROM m WHERE note = 'upd');
WITH RECURSIVE f (n, a, b) AS (VALUES (1, 0, 1) UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 12), i AS (INSERT INTO log SELECT n, 'fib', a FROM f RETURNING *) SELECT sum(n) FROM i;
MERGE INTO m USING (SELECT id, x FROM t WHERE id < 20) z ON m.id = z.id WHEN MATCHED AND z.x IS NULL THEN DELETE WHEN MATCHED AND m.q = 1 THEN UPDATE SET q = q + z.x, note = DEFAULT WHEN NOT MATCHED AND z.x > 2 THEN INSERT VALUES (z.id, z.x, 'merged') WHEN NOT MATCHED THEN DO NOTHING;
SELECT * FROM m ORDER BY id;
UPDATE tv SET s = 'by view' WHERE id = 7;
DELETE FROM tv WHERE id = 8;
SELECT id, s FROM t WHERE id IN (7, 8) ORDER BY id;
SELECT count(*) FROM u WHERE tid = 8;
INSERT INTO log SELECT at + 100, what, n FROM log ORDER BY n DESC LIMIT 3 RETURNING at > 100;
INSERT INTO t (id, s) SELECT max(id) + 1, 'next' FROM t RETURNING id;
INSERT INTO t (id, s) VALUES ((SELECT max(id) + 1 FROM t), (SELECT name FROM ref WHERE id = 1)) RETURNING id, s;
INSERT INTO s SELECT id + 1000, v, 0 FROM s ON CONFLICT (id) DO NOTHING;
INSERT INTO s (id, v) SELECT id, 'dup' FROM t WHERE id < 4 ON CONFLICT (id) DO UPDATE SET v = s.v || excluded.v, tid = (SELECT count(*) FROM ref) RETURNING *;
INSERT INTO ref SELECT id, 'from t' FROM t WHERE id BETWEEN 5 AND 9 ON CONFLICT (id) DO UPDATE SET name = ref.name || '+' RETURNING *;
DELETE FROM ref WHERE id IN (SELECT g FROM t WHERE s = 'by view') RETURNING *;
TRUNCATE log;
SELECT count(*) FROM log;
-- functions
SELECT id, s FROM f_loop(4);
SELECT f_dyn('t', 'g', 3), f_dyn('w', 'c', 7);
SELECT f_cond(1), f_cond(1000), f_cond(3);
SELECT t.id, f.s FROM t JOIN f_loop(3) f USING (id) ORDER BY 1;
DO $$ DECLARE r record; total int := 0; names text[]; BEGIN
    FOR r IN EXECUTE 'SELECT g, count(*) AS c FROM t GROUP BY g ORDER BY g' LOOP total := total + r.c * r.g; END LOOP;
    SELECT array_agg(name ORDER BY id) INTO names FROM ref; FOREACH r IN ARRAY ARRAY[ROW(1), ROW(2)] LOOP NULL; END LOOP;
    INSERT INTO log VALUES (total, array_to_string(names, ','), cardinality(names)); END $$;
DO $$ DECLARE n int; c refcursor; r record; BEGIN OPEN c FOR SELECT id FROM t WHERE id < 6 ORDER BY id FOR UPDATE; LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; UPDATE t SET x = -r.id WHERE CURRENT OF c; END LOOP;
    UPDATE t SET x = x WHERE x < 0; GET DIAGNOSTICS n = ROW_COUNT; INSERT INTO log VALUES (n, 'rows', n); END $$;
SELECT * FROM log ORDER BY 1, 2;
SELECT id, x FROM t WHERE x < 0 ORDER BY id;
-- locks, transactions
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT id FROM t WHERE id IN (1, 2) ORDER BY id FOR UPDATE;
SELECT t.id, ref.name FROM t JOIN ref ON ref.id = t.g WHERE t.id < 4 ORDER BY 1 FOR SHARE OF t;
SELECT count(*) FROM (SELECT id FROM t WHERE id < 9 FOR NO KEY UPDATE NOWAIT) x;
DECLARE c SCROLL CURSOR FOR SELECT id, s FROM t ORDER BY id;
FETCH ABSOLUTE 5 FROM c;
FETCH BACKWARD 3 FROM c;
FETCH LAST FROM c;
FETCH RELATIVE -2 FROM c;
MOVE FIRST FROM c;
FETCH PRIOR FROM c;
SAVEPOINT a;
DELETE FROM t WHERE id < 30;
SELECT 1 / (count(*) - count(*)) FROM t;
ROLLBACK TO a;
SELECT count(*) FROM t WHERE id < 30;
COMMIT;
CREATE TABLE made AS SELECT g, count(*) AS n FROM t GROUP BY g WITH NO DATA;
INSERT INTO made SELECT g, count(*) FROM t GROUP BY g;
SELECT * FROM made ORDER BY g;
CREATE MATERIALIZED VIEW mv AS SELECT s, count(*) AS n, sum(y) AS y FROM t GROUP BY s;
CREATE UNIQUE INDEX ON mv (s);
UPDATE t SET y = y + 1 WHERE id < 10;
REFRESH MATERIALIZED VIEW CONCURRENTLY mv;
SELECT * FROM mv ORDER BY s;
CREATE TEMP VIEW tmpv AS SELECT id, rank() OVER (ORDER BY y DESC, id) AS r FROM t;
SELECT * FROM tmpv WHERE r < 4 ORDER BY r;
ALTER TABLE t ADD COLUMN extra int DEFAULT 5 CHECK (extra > 0), ALTER COLUMN s SET DEFAULT 'def';
UPDATE t SET extra = 0 WHERE id = 3;
INSERT INTO t (id) VALUES (500) RETURNING extra, s;
ALTER TABLE t DROP COLUMN extra, ALTER COLUMN x TYPE bigint USING x * 10;
SELECT id, x FROM t WHERE id < 4 ORDER BY id;
CREATE INDEX ON t (lower(s)) WHERE id > 10;
CREATE UNIQUE INDEX ON t (id, (g + 1)) INCLUDE (s);
SELECT count(*) FROM t WHERE lower(s) = 's1' AND id > 10;
COPY t (id, s, m) FROM STDIN WITH (FORMAT csv, NULL 'NIL', HEADER);
id,s,m
601,"a,""b",happy
602,NIL,NIL
\.
COPY (SELECT id, s, m FROM t WHERE id > 600 ORDER BY id) TO STDOUT;
