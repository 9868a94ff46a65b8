-- ORDER BY and DISTINCT ON a column that has the name of another output column, and columns with the names that texts for
-- nodes give to theirs.
--
-- distribute: t(k), u(k) with t, r reference, one single

CREATE TABLE t (k int PRIMARY KEY, c1 int, c2 int, name text);
CREATE TABLE u (k int, c1 int, c2 varchar(20), "Name" text, PRIMARY KEY (k, c1));
CREATE TABLE r (id int PRIMARY KEY, c1 int);
CREATE TABLE one (k int PRIMARY KEY, c1 int);
INSERT INTO t SELECT g, (g - 1) % 4 + 1, -g, 'n' || g * 7 % 50 FROM generate_series(1, 50) g;
INSERT INTO u SELECT g % 10, g, 'u' || 99 - g, 'N' || g * 3 % 50 FROM generate_series(1, 50) g;
INSERT INTO r SELECT g, -g FROM generate_series(1, 9) g;
INSERT INTO one SELECT g, -g FROM generate_series(1, 9) g;

-- setup ends

-- several shards
SELECT k, c1 FROM t ORDER BY c1, k DESC LIMIT 4;
SELECT c2, c1, k FROM t ORDER BY c1, k LIMIT 5;
SELECT k AS c2, c2 AS c1 FROM t ORDER BY t.c1, t.c2 LIMIT 5;
SELECT k AS c1, -c1 AS c2 FROM t ORDER BY t.c1, t.k LIMIT 3;
SELECT k AS name, name AS k FROM t ORDER BY t.name LIMIT 3;
SELECT upper(name) AS name FROM t ORDER BY t.name DESC LIMIT 3;
SELECT DISTINCT ON (t.c1) t.c1 AS k, k AS c1 FROM t ORDER BY t.c1, t.k;
SELECT c1, max(k) AS c2 FROM t GROUP BY c1 ORDER BY c1 LIMIT 2;
SELECT k, max(c1) AS c2 FROM u GROUP BY k ORDER BY k DESC LIMIT 2;
SELECT k, max(c2) FROM u GROUP BY k ORDER BY max(c2) DESC, k LIMIT 2;
SELECT t.k, u.c1, u.c2 FROM t JOIN u ON u.k = t.k ORDER BY u.c2 LIMIT 3;
SELECT t.k AS c2, u.c1, u.c2 AS k FROM t JOIN u ON u.k = t.k ORDER BY u.c2 LIMIT 3;
SELECT t.k, r.c1 FROM t JOIN r ON r.id = t.c1 ORDER BY r.c1, t.k LIMIT 3;
SELECT "Name" AS c2, c1 AS "Name" FROM u ORDER BY u."Name", u.c1 LIMIT 3;
SELECT * FROM (SELECT k AS c1, c1 AS c2 FROM t ORDER BY t.c1, t.k) x LIMIT 3;
SELECT k, row_number() OVER (PARTITION BY k ORDER BY c1) AS c1 FROM u ORDER BY u.c1 LIMIT 3;

-- one shard, one node
SELECT k AS c1, -c1 AS c2 FROM u WHERE k = 3 ORDER BY u.c1;
SELECT k AS c2, c1, c2 AS k FROM u WHERE k = 3 ORDER BY u.c2 LIMIT 2;
SELECT upper(c2) AS c1, lower(c2) AS c2, c1 AS q FROM u WHERE k = 3 ORDER BY u.c1 DESC;
SELECT -c1 AS c1 FROM u WHERE k IN (SELECT k FROM t WHERE t.k = 3) ORDER BY u.c1 LIMIT 2;
SELECT DISTINCT ON (u.c1) k AS c1, c1 AS k FROM u WHERE k = 3 ORDER BY u.c1;
SELECT -c1 AS c1 FROM u WHERE k = 3 ORDER BY u.c1 FOR UPDATE;
SELECT -id AS id, c1 FROM r ORDER BY r.id LIMIT 3;
SELECT -k AS k, c1 FROM one ORDER BY one.k LIMIT 3;
SELECT -k AS k FROM one ORDER BY -one.k LIMIT 3;
-- params: 3
-- params: 5
SELECT -c1 AS c1 FROM u WHERE k = $1::int ORDER BY u.c1 LIMIT 3;

-- writes that take their rows in an order
BEGIN;
INSERT INTO t SELECT k + 100 AS k, -c1 AS c1, k AS c2, name FROM t ORDER BY t.c1, t.k LIMIT 3;
SELECT * FROM t WHERE k > 100 ORDER BY k;
INSERT INTO u SELECT 3 AS k, -c1 AS c1, c2, "Name" FROM u WHERE k = 3 ORDER BY u.c1 LIMIT 2;
SELECT * FROM u WHERE k = 3 ORDER BY c1;
DELETE FROM u WHERE k = 3 AND c1 IN (SELECT x.q FROM (SELECT -c1 AS c1, c1 AS q FROM u WHERE k = 3 ORDER BY u.c1 LIMIT 2) x);
SELECT * FROM u WHERE k = 3 ORDER BY c1;
ROLLBACK;
SELECT k, ARRAY(SELECT -y.c1 AS c1 FROM u y WHERE y.k = t.k ORDER BY y.c1) FROM t WHERE k < 5 ORDER BY k;
