-- TABLESAMPLE, row locks and system columns in correlated, LATERAL and other subqueries. Samples of all rows or of none, so that
-- the answer is determined.
--
-- distribute: a(k), b(k) with a, far(id) with none, part(k) with none, r reference, one single

CREATE TABLE a (k int PRIMARY KEY, v int);
CREATE TABLE b (k int, n int, PRIMARY KEY (k, n));
CREATE TABLE far (id int PRIMARY KEY, k int);
CREATE TABLE part (k int, n int) PARTITION BY RANGE (n);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (20);
CREATE TABLE part_2 PARTITION OF part DEFAULT;
CREATE TABLE r (k int PRIMARY KEY, v int);
CREATE TABLE one (k int PRIMARY KEY, v int);
INSERT INTO a SELECT g, g FROM generate_series(1, 40) g;
INSERT INTO b SELECT g % 40, g FROM generate_series(1, 100) g;
INSERT INTO far SELECT 100 - g, g FROM generate_series(1, 40) g;
INSERT INTO part SELECT g % 30, g FROM generate_series(1, 40) g;
INSERT INTO r SELECT g, g FROM generate_series(1, 40) g;
INSERT INTO one SELECT g, g FROM generate_series(1, 40) g;

-- setup ends

SELECT count(*) FROM a x WHERE x.v >= ANY (SELECT count(y.v) FROM a y TABLESAMPLE BERNOULLI (100) WHERE x.k = y.k);
SELECT count(*) FROM a x WHERE x.v >= ALL (SELECT y.v FROM a y TABLESAMPLE BERNOULLI (0) WHERE x.k = y.k);
SELECT k, (SELECT count(*) FROM b TABLESAMPLE SYSTEM (100) WHERE b.k = a.k) FROM a;
SELECT k, (SELECT max(n) FROM b TABLESAMPLE SYSTEM (0) WHERE b.k = a.k) FROM a WHERE k < 5;
SELECT k, (SELECT sum(b.n) FROM b JOIN a y TABLESAMPLE BERNOULLI (100) ON y.k = b.k WHERE b.k = a.k) FROM a;
SELECT k, ARRAY(SELECT n FROM b TABLESAMPLE BERNOULLI (100) REPEATABLE (3) WHERE b.k = a.k ORDER BY n) FROM a WHERE k < 9;
SELECT * FROM a WHERE EXISTS (SELECT FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k AND b.n > 80);
SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k AND b.n < 80);
SELECT count(*) FROM a WHERE k IN (SELECT k FROM b TABLESAMPLE SYSTEM (100) WHERE b.n > 50);
SELECT a.k, x.* FROM a LEFT JOIN LATERAL (SELECT count(*), max(n) FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k) x ON true WHERE a.k < 9;
SELECT a.k, x.n FROM a CROSS JOIN LATERAL (SELECT n FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k ORDER BY n DESC LIMIT 1) x;
SELECT k, (SELECT count(*) FROM b TABLESAMPLE BERNOULLI (a.k * 0 + 100) WHERE b.k = a.k) FROM a;
SELECT k, (SELECT count(*) FROM far TABLESAMPLE BERNOULLI (100) WHERE far.k = a.k) FROM a;
SELECT k, (SELECT count(*) FROM r TABLESAMPLE BERNOULLI (100) WHERE r.k = a.k) FROM a;
SELECT k, (SELECT count(*) FROM one TABLESAMPLE BERNOULLI (100) WHERE one.k = a.k) FROM a;
SELECT k, (SELECT count(*) FROM one x TABLESAMPLE BERNOULLI (100) WHERE one.k = x.k) FROM one;
SELECT k, (SELECT count(*) FROM part TABLESAMPLE SYSTEM (100) WHERE part.k = a.k) FROM a;
SELECT n, (SELECT count(*) FROM part x TABLESAMPLE BERNOULLI (100) WHERE x.k = part.k) FROM part;
SELECT k, (SELECT count(*) FROM (SELECT * FROM b TABLESAMPLE BERNOULLI (100)) x WHERE x.k = a.k) FROM a;
SELECT k, (WITH x AS (SELECT * FROM b TABLESAMPLE BERNOULLI (100)) SELECT count(*) FROM x WHERE x.k = a.k) FROM a;
SELECT * FROM (SELECT k FROM a TABLESAMPLE BERNOULLI (100) UNION SELECT k FROM b TABLESAMPLE SYSTEM (100)) x;
SELECT k, count(*) FROM (SELECT k FROM a TABLESAMPLE BERNOULLI (100) UNION ALL SELECT k FROM b) x GROUP BY k;
SELECT * FROM (SELECT k, count(*) FROM b TABLESAMPLE BERNOULLI (100) GROUP BY k) x JOIN a USING (k);
SELECT k, (SELECT max(x.n) FROM (SELECT n FROM b WHERE b.k = a.k ORDER BY n FOR UPDATE) x) FROM a;
SELECT k, (SELECT n FROM b WHERE b.k = a.k ORDER BY n LIMIT 1 FOR SHARE) FROM a;
SELECT k, (SELECT count(b.ctid) FROM b WHERE b.k = a.k) FROM a;
SELECT k, (SELECT count(DISTINCT b.tableoid) FROM b WHERE b.k = a.k) FROM a;
SELECT k, (SELECT count(*) FROM b WHERE b.k = a.k AND b.xmin IS NOT NULL) FROM a;
SELECT k, (SELECT count(*) FROM b WHERE b.k = a.k AND b IS NOT NULL) FROM a;
UPDATE a SET v = (SELECT count(*) FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k);
SELECT * FROM a;
DELETE FROM a WHERE v > (SELECT count(*) FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k AND n < 50);
SELECT * FROM a;
INSERT INTO a SELECT k + 100, (SELECT count(*) FROM b TABLESAMPLE BERNOULLI (100) WHERE b.k = a.k) FROM a;
SELECT * FROM a;
