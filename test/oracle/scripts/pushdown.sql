-- Joins, aggregates, windows and limits that the nodes compute: tables are large enough for that to cost less.
CREATE COLLATION o_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE p (id int PRIMARY KEY, x numeric, f float8, t text, v int, n int);
CREATE TABLE q (id int, k int, x numeric, note text, PRIMARY KEY (id, k));
CREATE TABLE words (w text, v int);
CREATE TABLE r (v int PRIMARY KEY, name text);
CREATE TABLE l (v int, label text);
CREATE TABLE docs (id int PRIMARY KEY, doc json);
-- distribute: p(id) shards 4, docs(id) with p, q(id) with p, words(w) shards 4, r reference, l local
INSERT INTO p SELECT g, CASE g % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2 END,
       CASE WHEN g % 2 = 0 THEN 0.0 ELSE '-0'::float8 END, CASE WHEN g % 4 < 2 THEN 'A' ELSE 'a' END || g % 7,
       g % 11, nullif(g % 5, 0)
  FROM generate_series(1, 3000) g;
INSERT INTO q SELECT g, k, g * 0.5 + k, CASE WHEN k > 1 THEN 'n' || k END FROM generate_series(1, 3500, 2) g, generate_series(1, 3) k;
INSERT INTO words SELECT CASE WHEN g / 50 % 2 = 0 THEN 'W' ELSE 'w' END || g % 50, g FROM generate_series(1, 3000) g;
INSERT INTO r SELECT g, 'r' || g FROM generate_series(0, 8) g;
INSERT INTO l SELECT g % 13, 'l' || g FROM generate_series(0, 20) g;
INSERT INTO docs SELECT g, json_build_object('n', g) FROM generate_series(1, 1000) g;
ANALYZE p, q, words, r, l, docs;
-- on all nodes
CREATE FUNCTION count_call() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN set_config('o_pushdown.calls', (current_setting('o_pushdown.calls')::int + 1)::text, false); END $$;
-- setup ends

-- an outer join that becomes an anti-join, with a filter about the side without a match
SELECT count(*), min(p.id) FROM p LEFT JOIN r ON r.v = p.v JOIN q ON q.id = p.id AND q.k = coalesce(length(r.name), 3) WHERE r.v IS NULL;
SELECT count(*), min(p.id) FROM p LEFT JOIN r ON r.v = p.v JOIN q ON q.id = p.id WHERE r.v IS NULL AND coalesce(q.k, 1) = coalesce(length(r.name), 3);
SELECT count(*), min(p.id) FROM (p JOIN q USING (id)) LEFT JOIN r ON r.v = p.v WHERE r.v IS NULL AND coalesce(length(r.name), 3) = q.k;
SELECT p.id, r.name FROM (p JOIN q USING (id)) LEFT JOIN r ON r.v = p.v WHERE r.v IS NULL AND coalesce(length(r.name), 3) = q.k ORDER BY 1 LIMIT 3;

-- equal values that are not the same
SELECT count(DISTINCT x), count(DISTINCT x::text), count(DISTINCT f), count(DISTINCT f::text) FROM p;
SELECT v, count(DISTINCT x::text), min(x::text), max(x::text), min(f::text) FROM p GROUP BY v ORDER BY v;
SELECT v, count(DISTINCT x::text) FILTER (WHERE f::text = '-0') FROM p GROUP BY v ORDER BY v;
SELECT max(length(x::text)), bool_or(x::text = '1.00') FROM p;
SELECT (x + v)::int AS s, count(DISTINCT x::text || f::text) FROM p GROUP BY x + v HAVING count(DISTINCT x::text) > 1 ORDER BY 1;
SELECT count(*) FROM (SELECT DISTINCT x::text, f::text FROM p) s;
SELECT x::text, count(*) FROM p GROUP BY 1 ORDER BY 1;

-- an error in rows that FILTER leaves out isn't due
SELECT min(1 / (n - 1)) FILTER (WHERE n > 1), count(DISTINCT 12 / (n - 1)) FILTER (WHERE n > 1) FROM p;
-- both fail: 22012
SELECT min(1 / (n - 1)) FROM p;

-- a column that depends on the key, and has no equality
SELECT id, doc, count(*), sum(x) FROM docs JOIN q USING (id) WHERE id < 20 GROUP BY docs.id ORDER BY id;
SELECT id, doc FROM docs WHERE id > 990 GROUP BY id ORDER BY id;

-- collations
SELECT lower(w COLLATE o_nocase) AS l, count(*) FROM words GROUP BY w COLLATE o_nocase ORDER BY 1;
SELECT count(*) FROM (SELECT DISTINCT w COLLATE o_nocase FROM words) s;
SELECT count(DISTINCT w), count(DISTINCT w COLLATE o_nocase) FROM words;
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY w COLLATE o_nocase) AS n FROM words) s;
SELECT count(*) FROM words WHERE w COLLATE o_nocase = 'w' || v % 50;
SELECT count(*) FROM words WHERE w = ('w' || v % 50) COLLATE o_nocase AND v > 1000;
SELECT count(*) FROM words a JOIN words b ON a.w = b.w COLLATE o_nocase WHERE a.v < 100 AND b.v < 300;
SELECT count(*) FROM words a JOIN words b ON a.w = b.w AND a.w COLLATE o_nocase < lower(b.w) COLLATE o_nocase;
SELECT w FROM words ORDER BY w COLLATE "C", v LIMIT 3;
SELECT w FROM words ORDER BY w COLLATE "C" DESC, v LIMIT 3;
SELECT min(w COLLATE "C"), max(w COLLATE "C"), min(w COLLATE o_nocase) = 'W0' COLLATE o_nocase FROM words;
SELECT (SELECT count(*) FROM words WHERE w = x.w) FROM (VALUES ('W1' COLLATE o_nocase), ('w2')) x(w) ORDER BY 1;
SELECT (SELECT count(*) FROM words WHERE lower(w) = x.w) FROM (SELECT 'W' || g AS w FROM generate_series(1, 2) g) x;
-- both fail: 42P21
SELECT count(*) FROM words a JOIN words b ON a.w COLLATE "C" = b.w COLLATE o_nocase;

-- partial and whole aggregates
SELECT v, count(*), sum(n), avg(n), min(t), max(t), bool_and(n > 1), bit_or(n), stddev(n), sum(x), avg(x), variance(x)
  FROM p GROUP BY v ORDER BY v;
SELECT v, n, count(*) FILTER (WHERE t LIKE 'A%'), sum(x) FILTER (WHERE n IS NULL) FROM p GROUP BY v, n
HAVING count(n) > 50 OR n IS NULL ORDER BY v, n;
SELECT count(*), sum(n), avg(v) FROM p WHERE id < 0;
SELECT v, count(*) FROM p WHERE id < 0 GROUP BY v;
SELECT count(*) FROM p HAVING sum(n) < 0;
SELECT 1 FROM p HAVING count(*) > 10;
SELECT id, count(*), sum(q.x) FROM p JOIN q USING (id) GROUP BY id ORDER BY id LIMIT 5;
SELECT p.v, count(DISTINCT q.note), count(q.note), sum(q.k) FROM p LEFT JOIN q USING (id) GROUP BY p.v ORDER BY p.v;
SELECT max(c), sum(c), count(*) FROM (SELECT id, count(*) AS c FROM q GROUP BY id) s;
SELECT max(c) FROM (SELECT p.id, p.t, count(*) AS c FROM p JOIN q USING (id) GROUP BY p.id) s WHERE t = 'A1';
SELECT array_agg(DISTINCT n ORDER BY n), string_agg(DISTINCT t, ',' ORDER BY t) FROM p;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), mode() WITHIN GROUP (ORDER BY n) FROM p;
SELECT regr_slope(v, n), corr(v, v), covar_pop(v, n) IS NOT NULL FROM p WHERE n < 3 AND v < 3 AND id < 10;

-- joins of all kinds
SELECT count(*), sum(q.x) FROM p JOIN q ON p.id = q.id AND p.v > q.k;
SELECT count(*), count(p.id), count(q.id) FROM p FULL JOIN q ON p.id = q.id;
SELECT count(*), count(p.id), count(q.id) FROM p RIGHT JOIN q ON p.id = q.id AND p.n = 1;
SELECT count(*) FROM p WHERE EXISTS (SELECT FROM q WHERE q.id = p.id AND q.k = p.n);
SELECT count(*) FROM p WHERE NOT EXISTS (SELECT FROM q WHERE q.id = p.id AND q.k = p.n);
SELECT count(*) FROM p WHERE id NOT IN (SELECT id FROM q);
SELECT count(*), count(r.name) FROM p LEFT JOIN r USING (v);
SELECT count(*), count(p.id) FROM p RIGHT JOIN r USING (v);
SELECT r.name, count(*) FROM r LEFT JOIN p ON p.v = r.v AND p.n = 2 GROUP BY r.name ORDER BY 1;
SELECT l.label, count(*), sum(p.x) FROM p JOIN l USING (v) GROUP BY l.label ORDER BY 1;
SELECT count(*), count(l.label) FROM p LEFT JOIN l ON p.v = l.v AND l.label > 'l5';
SELECT count(*) FROM p WHERE EXISTS (SELECT FROM l WHERE l.v = p.v AND l.label <> p.t);
SELECT count(*) FROM p WHERE NOT EXISTS (SELECT FROM l WHERE l.v = p.v + 5);
SELECT count(*), sum(a.v) FROM p a JOIN (SELECT v, min(id) AS first FROM p GROUP BY v) b ON a.id > b.first AND a.v = b.v;
SELECT count(*) FROM p a JOIN (SELECT n, max(x) AS m FROM p GROUP BY n) b ON a.n = b.n AND a.x = b.m;
SELECT count(*) FROM p WHERE x > (SELECT avg(q.k) FROM q WHERE q.k = p.n);
SELECT count(*) FROM p JOIN q ON p.v = q.k JOIN r ON r.v = q.k WHERE p.id < 100 AND q.id < 100;

-- windows and limits
SELECT id, k, sum(x) OVER (PARTITION BY id ORDER BY k) FROM q ORDER BY id, k LIMIT 7 OFFSET 2;
SELECT max(s) FROM (SELECT sum(x) OVER (PARTITION BY id) AS s FROM q) w;
SELECT id, x FROM q ORDER BY x DESC, id, k LIMIT 4;
SELECT DISTINCT v, n FROM p ORDER BY v DESC, n NULLS FIRST LIMIT 6;
SELECT v, count(*) AS c FROM p GROUP BY v ORDER BY c DESC, v LIMIT 3;
SELECT id, sum(x) FROM q GROUP BY id ORDER BY sum(x) DESC, id LIMIT 3;
-- sorted by constants alone
SELECT 7, 8 FROM (SELECT id, n FROM p ORDER BY 1, 2) s ORDER BY 1, 2 DESC LIMIT 5 OFFSET 1;
SELECT 7, count(*) FROM p GROUP BY 1 ORDER BY 1 LIMIT 2;
SELECT v FROM p ORDER BY v FETCH FIRST 2 ROWS WITH TIES;


-- subqueries with windows and DISTINCT as parts of joins and aggregates
SELECT count(*), sum(n) FROM p JOIN (SELECT id, k, row_number() OVER (PARTITION BY id ORDER BY x DESC) AS n FROM q) w USING (id) WHERE w.n <= 2;
SELECT p.v, max(w.share), min(w.r) FROM p JOIN (SELECT id, k / sum(k) OVER (PARTITION BY id) * 1.0 AS share, rank() OVER (PARTITION BY id, k) AS r FROM q) w USING (id) GROUP BY p.v ORDER BY p.v;
SELECT count(*), sum(v) FROM p JOIN (SELECT DISTINCT id, note FROM q) d USING (id);
SELECT count(*) FROM p LEFT JOIN (SELECT DISTINCT id, k > 1 AS more FROM q) d ON d.id = p.id AND d.more;
SELECT count(*) FROM p WHERE EXISTS (SELECT FROM (SELECT DISTINCT id, k % 2 AS odd FROM q) d WHERE d.id = p.id AND d.odd = 0);
SELECT max(s), count(*) FROM (SELECT id, sum(sum(k)) OVER (PARTITION BY id) AS s FROM q GROUP BY id, note) g;
SELECT id, r FROM (SELECT id, rank() OVER (PARTITION BY id ORDER BY k) AS r, 7 AS c FROM q) s WHERE r = 3 ORDER BY id LIMIT 4;
SELECT DISTINCT id, count(*) OVER (PARTITION BY id) FROM q ORDER BY id LIMIT 3;
SELECT sum(c) FROM (SELECT DISTINCT v, n, 1 AS c FROM p) s;
SELECT count(*) FROM (SELECT DISTINCT id % 3 FROM p) s JOIN r ON r.v = 1;
SELECT id, first_value(x) OVER w, lag(k) OVER w FROM q WINDOW w AS (PARTITION BY id ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY id, k LIMIT 5;
SELECT count(*) FROM (SELECT id, ntile(2) OVER (PARTITION BY id ORDER BY k) AS half FROM q WHERE k > 0 OFFSET 0) s WHERE half = 1;

-- UNION ALL in FROM
SELECT count(*), sum(id), count(DISTINCT k) FROM (SELECT id, v AS k FROM p UNION ALL SELECT id, k FROM q WHERE k > 1) s;
SELECT id, count(*), min(src) FROM (SELECT id, 'p' AS src FROM p UNION ALL SELECT id, 'q' FROM q) s GROUP BY id ORDER BY count(*) DESC, id LIMIT 4;
SELECT s.id, r.name FROM (SELECT id, v FROM p WHERE n = 1 UNION ALL SELECT id, k FROM q WHERE note IS NULL) s JOIN r USING (v) JOIN p ON p.id = s.id ORDER BY 1, 2 LIMIT 5;
SELECT count(*) FROM (SELECT id FROM p UNION ALL SELECT id FROM q UNION ALL SELECT id + 1 FROM q) s JOIN p USING (id) WHERE p.v = 3;
SELECT count(*) FROM (SELECT id, v FROM p UNION ALL SELECT v, 0 FROM r) s;
SELECT count(*) FROM (SELECT id, v FROM p UNION ALL SELECT v, v FROM l) s WHERE v < 4;
SELECT count(*) FROM (SELECT id::text FROM p UNION ALL SELECT w FROM words) s;
SELECT count(*) FROM (SELECT v, id FROM p UNION ALL SELECT id, k FROM q) s JOIN p ON p.id = s.id;
SELECT s.* FROM (SELECT id, x FROM p WHERE v = 2 UNION ALL SELECT id, sum(x) FROM q GROUP BY id) s ORDER BY x DESC, id LIMIT 3;
SELECT count(*), count(q.k) FROM (SELECT id FROM p WHERE v = 1 UNION ALL SELECT id FROM p WHERE v = 2) s LEFT JOIN q ON q.id = s.id AND q.k = 2;
SELECT count(*) FROM p WHERE EXISTS (SELECT FROM (SELECT id, k FROM q WHERE k = 1 UNION ALL SELECT id, v FROM p WHERE v = 9) s WHERE s.id = p.id AND s.k > p.n);
SELECT count(s) FROM (SELECT id, v FROM p UNION ALL SELECT id, k FROM q) s;
SELECT max(c) FROM (SELECT id, count(*) AS c FROM (SELECT id FROM p WHERE id IN (SELECT id FROM q) UNION ALL SELECT id FROM q) s GROUP BY id) t;
SELECT count(*) FROM (SELECT id FROM p WHERE v > (SELECT min(k) FROM q) UNION ALL SELECT id FROM q) s;
SELECT count(*) FROM (SELECT id, n FROM p WHERE id = 7 UNION ALL SELECT id, k FROM q WHERE id = 7) s;
-- params: 3, 2
-- params: 1, NULL
SELECT count(*) FROM (SELECT id, v FROM p WHERE v > $1 UNION ALL SELECT id, k FROM q WHERE k = $2) s WHERE v < 9;

-- UNION, INTERSECT and EXCEPT, aligned on the distribution column or not
SELECT count(*), sum(id) FROM (SELECT id FROM p UNION SELECT id FROM q) s;
SELECT count(*), sum(id) FROM (SELECT id FROM p INTERSECT SELECT id FROM q) s;
SELECT count(*), sum(id) FROM (SELECT id FROM q INTERSECT ALL SELECT id FROM q WHERE k < 3) s;
SELECT count(*), sum(id) FROM (SELECT id FROM q EXCEPT ALL SELECT id FROM p) s;
SELECT count(*), sum(id) FROM (SELECT id FROM q EXCEPT SELECT id FROM p) s;
SELECT id FROM p EXCEPT SELECT id FROM q ORDER BY id DESC LIMIT 4;
SELECT id, v FROM p UNION SELECT id, k FROM q ORDER BY 1, 2 LIMIT 5 OFFSET 3;
SELECT id FROM p UNION ALL (SELECT id FROM q EXCEPT SELECT id FROM p) ORDER BY 1 DESC LIMIT 5;
(SELECT id, 'p' AS src FROM p INTERSECT SELECT id, 'p' FROM q) EXCEPT SELECT id, 'p' FROM q WHERE k = 3 AND x < 900 ORDER BY 1, 2 LIMIT 5;
SELECT v FROM p UNION SELECT k FROM q;
SELECT v, n FROM p INTERSECT SELECT k, k FROM q;
SELECT v FROM p EXCEPT SELECT k FROM q;
SELECT v FROM p EXCEPT ALL SELECT k FROM q WHERE id < 300;
SELECT v FROM p UNION SELECT v FROM words WHERE v < 20 UNION SELECT v FROM l UNION SELECT v FROM r;
SELECT t FROM p INTERSECT SELECT w FROM words;
SELECT t FROM p WHERE v = 1 UNION SELECT lower(w) FROM words WHERE v < 20 ORDER BY 1 DESC LIMIT 3;
SELECT count(*), count(x) FROM (SELECT id, x FROM p UNION SELECT id, NULL FROM q UNION SELECT id, x FROM q) s;
SELECT count(*) FROM (SELECT id::numeric FROM p UNION SELECT x FROM q) s;
SELECT count(*) FROM (SELECT id FROM p UNION SELECT x FROM q) s;
SELECT count(*) FROM (SELECT id::bigint FROM p INTERSECT SELECT id FROM q) s;
SELECT count(*) FROM (SELECT f FROM p UNION SELECT x FROM p) s;
SELECT count(*) FROM (SELECT id AS a, v AS b FROM p UNION SELECT k, id FROM q) s;
SELECT count(*) FROM (SELECT id, id FROM p UNION SELECT id, k FROM q) s(a, b) WHERE a = b;
SELECT count(*) FROM (SELECT w COLLATE o_nocase FROM words UNION SELECT t COLLATE o_nocase FROM p) s;
SELECT count(*) FROM (SELECT w COLLATE o_nocase FROM words INTERSECT SELECT w COLLATE o_nocase FROM words) s;
SELECT s.id, p.v, q.k FROM (SELECT id FROM p WHERE v = 3 INTERSECT SELECT id FROM q) s JOIN p USING (id) JOIN q USING (id) ORDER BY 1 DESC, 3 LIMIT 4;
SELECT s.m, count(*) FROM (SELECT id, max(k) AS m FROM q GROUP BY id UNION SELECT id, v FROM p) s GROUP BY s.m ORDER BY 1;
SELECT id, count(*) FROM (SELECT id, v FROM p UNION SELECT id, k FROM q) s GROUP BY id ORDER BY 2 DESC, 1 LIMIT 3;
SELECT count(*) FROM p WHERE id IN (SELECT id FROM q WHERE k = 1 EXCEPT SELECT id FROM p WHERE v < 5);
SELECT count(*) FROM p WHERE EXISTS (SELECT k FROM q WHERE q.id = p.id INTERSECT SELECT p.n);
SELECT count(*) FROM p WHERE v > (SELECT count(*) FROM (SELECT k FROM q WHERE q.id = p.id UNION SELECT v FROM r) s) AND id < 20;
SELECT count(*) FROM (SELECT id FROM p UNION SELECT s.id FROM (SELECT id FROM p EXCEPT SELECT id FROM q) s) u;
SELECT count(*) FROM (SELECT id FROM p WHERE v IN (SELECT v FROM l) UNION SELECT id FROM q) u;
WITH u AS MATERIALIZED (SELECT id FROM p EXCEPT SELECT id FROM q) SELECT count(*), max(a.id) FROM u a JOIN u b USING (id);
WITH RECURSIVE c(id) AS (SELECT id FROM p WHERE id = 1 UNION SELECT p.id FROM c JOIN p ON p.id = c.id + 1 WHERE p.id < 12) SELECT count(*) FROM c;
SELECT (SELECT count(*) FROM (SELECT id FROM p UNION SELECT id FROM q) s WHERE s.id < x.v * 100) FROM r x WHERE x.v IN (1, 3) ORDER BY 1;
-- params: 2, 7
-- params: 3, NULL
SELECT count(*), sum(id) FROM (SELECT id FROM q WHERE k = $1 EXCEPT SELECT id FROM p WHERE v = $2) s;
BEGIN;
INSERT INTO p (id) SELECT id FROM q EXCEPT SELECT id FROM p;
SELECT count(*), count(v) FROM p;
DELETE FROM p USING (SELECT id FROM q UNION SELECT id FROM p WHERE v = 3) s WHERE s.id = p.id AND p.n = 1;
SELECT count(*), sum(id) FROM p;
ROLLBACK;

-- GROUPING SETS, CUBE and ROLLUP
SELECT v, n, count(*), sum(x), avg(n), grouping(v), grouping(n, v) FROM p GROUP BY CUBE (v, n) ORDER BY 1, 2, 6, 7;
SELECT v, n, count(*) FROM p GROUP BY GROUPING SETS ((v), (n), (v, n), ()) HAVING count(*) > 250 OR grouping(v) = 0 ORDER BY 1, 2, 3;
SELECT v, count(*) FROM p GROUP BY GROUPING SETS ((v), (v), ()) ORDER BY 1, 2;
SELECT v, n, stddev(n), bool_or(n > 2) FROM p WHERE v < 4 GROUP BY ROLLUP (v, n) ORDER BY grouping(v, n), 1, 2 LIMIT 7;
SELECT id, n, sum(v), grouping(n) FROM p GROUP BY GROUPING SETS ((id), (id, n)) ORDER BY 1 DESC, 2, 4 LIMIT 6;
SELECT max(c), count(*) FROM (SELECT id, k, count(*) AS c FROM q GROUP BY GROUPING SETS ((id), (id, k))) s;
SELECT count(*), sum(s.c) FROM p JOIN (SELECT id, k, count(*) AS c FROM q GROUP BY id, ROLLUP (k)) s USING (id);
SELECT id, k, sum(sum(x)) OVER (PARTITION BY id) FROM q GROUP BY id, ROLLUP (k) ORDER BY 1, 2 LIMIT 5;
SELECT n, rank() OVER (ORDER BY sum(v)) FROM p GROUP BY ROLLUP (n) ORDER BY 1, 2;
SELECT count(*), sum(x) FROM p WHERE id < 0 GROUP BY ROLLUP (v);
SELECT count(*), sum(x) FROM p WHERE id < 0 GROUP BY GROUPING SETS ((), (v));
SELECT count(*) FROM p WHERE id IN (-1, -2) AND id = n GROUP BY ROLLUP (v);
SELECT count(*) FROM p WHERE id = 3 AND id = 4 GROUP BY ROLLUP (v);
SELECT 7, count(*) FROM p GROUP BY ();
SELECT 7 FROM p GROUP BY ();
SELECT 7 FROM p WHERE v > 100 GROUP BY GROUPING SETS ((), ());
SELECT v + 1, v % 2, count(*) FROM p GROUP BY ROLLUP (v + 1, v % 2) ORDER BY 1, 2, 3;
SELECT v % 2 + 10, coalesce(v % 2, 5), count(*) FROM p GROUP BY CUBE (v % 2) ORDER BY 1, 2;
SELECT v, 1 AS one, count(*) FROM p GROUP BY CUBE (v, 1) ORDER BY 1, 2, 3;
SELECT id, t, count(*) FROM p GROUP BY GROUPING SETS ((id, v), (id)) ORDER BY 1, 3 LIMIT 3;
SELECT v, count(DISTINCT n), array_agg(DISTINCT n ORDER BY n) FROM p GROUP BY ROLLUP (v) ORDER BY 1;
SELECT r.name, p.n, count(*), sum(q.x) FROM p JOIN q USING (id) JOIN r USING (v) GROUP BY CUBE (r.name, p.n) ORDER BY 1, 2, 3;
SELECT l.label, p.n, count(*) FROM p JOIN l USING (v) GROUP BY ROLLUP (l.label, p.n) HAVING count(*) > 100 ORDER BY 1, 2, 3;
SELECT DISTINCT grouping(v, n), v FROM p GROUP BY CUBE (v, n) ORDER BY 1, 2;
SELECT s.v, s.c FROM (SELECT v, count(*) AS c FROM p GROUP BY ROLLUP (v) UNION SELECT k, count(*) FROM q GROUP BY ROLLUP (k)) s ORDER BY 1, 2;
-- params: 3
-- params: 2
SELECT v % $1, n, count(*) FROM p GROUP BY ROLLUP (v % $1, n) ORDER BY 1, 2, 3;
SELECT w, v % 2, count(*) FROM words WHERE v < 90 GROUP BY CUBE (w, (v % 2)) ORDER BY 1, 2, 3;
SELECT w COLLATE o_nocase, count(*) FROM words GROUP BY ROLLUP (w COLLATE o_nocase) HAVING count(*) > 100;

-- statements that are a UNION ALL
SELECT id FROM p UNION ALL SELECT id FROM q ORDER BY 1 DESC LIMIT 5;
SELECT id, v AS k FROM p WHERE v = 3 UNION ALL SELECT id, k FROM q WHERE note IS NULL UNION ALL SELECT id, count(*) FROM q GROUP BY id ORDER BY 1 DESC, 2 LIMIT 6 OFFSET 1;
SELECT id + 1, 'p' AS src FROM p UNION ALL SELECT id, 'q' FROM q ORDER BY 1, 2 LIMIT 4;
SELECT v FROM p UNION ALL SELECT v FROM r ORDER BY 1 DESC LIMIT 3;
SELECT id, x FROM p UNION ALL (SELECT id, x FROM q ORDER BY x DESC, id LIMIT 2) ORDER BY x DESC, 1 LIMIT 3;
SELECT id FROM p UNION ALL SELECT p.id FROM p JOIN q USING (id) WHERE q.k = 1 ORDER BY 1 DESC LIMIT 3;
SELECT id, NULL FROM p WHERE id < 3 UNION ALL SELECT id, note FROM q WHERE id < 3 ORDER BY 1, 2;
SELECT id FROM p UNION ALL SELECT x FROM q ORDER BY 1 DESC LIMIT 3;
SELECT id, (SELECT count(*) FROM q WHERE q.id = p.id) FROM p WHERE v = 1 UNION ALL SELECT id, k FROM q ORDER BY 1, 2 LIMIT 6;
BEGIN;
INSERT INTO p (id, v) SELECT id + 100000, k FROM q WHERE k = 1 UNION ALL SELECT id + 200000, v FROM p;
INSERT INTO q (id, k) SELECT id, 50 FROM p WHERE id < 100000 UNION ALL SELECT id, 60 + k FROM q;
SELECT (SELECT count(*) FROM p), (SELECT sum(k) FROM q);
ROLLBACK;

-- volatile functions are called for each row, after a LIMIT's sort
SELECT set_config('o_pushdown.calls', '0', false);
SELECT id, count_call() FROM p ORDER BY x, id LIMIT 3;
SELECT id, count_call() FROM p ORDER BY f DESC, id LIMIT 2 OFFSET 2;
SELECT v, count(*), count_call() FROM p GROUP BY v ORDER BY v LIMIT 3;
SELECT DISTINCT v, id, row_number() OVER (PARTITION BY id), count_call() > 0 FROM p ORDER BY v, id LIMIT 3;
SELECT id, (SELECT count(*) FROM q WHERE q.id = p.id), count_call() FROM p ORDER BY id LIMIT 3;
SELECT current_setting('o_pushdown.calls')::int;
SELECT count(*) FROM (SELECT DISTINCT v, random() FROM p) s;
SELECT count(*) FROM (SELECT DISTINCT p.v, random() FROM p JOIN q USING (id)) s;
SELECT count(*) FROM (SELECT v, random() FROM p GROUP BY 1, 2) s;
SELECT count(*), sum(c) FROM (SELECT v, random(), count(*) AS c FROM p GROUP BY GROUPING SETS ((1, 2))) s;
SELECT v, count(DISTINCT random()), count(DISTINCT n) FROM p GROUP BY v ORDER BY v;
SELECT v, count(DISTINCT n) FROM p GROUP BY v HAVING count(DISTINCT random()) > 272 ORDER BY v;
