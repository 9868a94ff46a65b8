-- Trees of partitions: joined, grouped, and looked into by LATERAL, with PostgreSQL's settings that plan partition by partition.
--
-- distribute: ta(a), tb(a) with ta, lst(k) with ta, tc(a) with ta, r reference, l local

CREATE TABLE ta (a int, b int, c int) PARTITION BY RANGE (a);
CREATE TABLE ta1 PARTITION OF ta FOR VALUES FROM (0) TO (10);
CREATE TABLE ta2 PARTITION OF ta FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (b);
CREATE TABLE ta21 PARTITION OF ta2 FOR VALUES FROM (0) TO (3);
CREATE TABLE ta22 PARTITION OF ta2 FOR VALUES FROM (3) TO (1000);
CREATE TABLE tb (a int, b int, c int) PARTITION BY RANGE (b);
CREATE TABLE tb1 PARTITION OF tb FOR VALUES FROM (0) TO (10);
CREATE TABLE tb2 PARTITION OF tb FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (a);
CREATE TABLE tb21 PARTITION OF tb2 FOR VALUES FROM (0) TO (1000);
CREATE TABLE lst (k int, kind text, v int) PARTITION BY LIST (kind);
CREATE TABLE lst_a PARTITION OF lst FOR VALUES IN ('a') PARTITION BY HASH (k);
CREATE TABLE lst_a0 PARTITION OF lst_a FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE lst_a1 PARTITION OF lst_a FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE lst_rest PARTITION OF lst DEFAULT PARTITION BY RANGE (v);
CREATE TABLE lst_low PARTITION OF lst_rest FOR VALUES FROM (MINVALUE) TO (50);
CREATE TABLE lst_high PARTITION OF lst_rest DEFAULT;
CREATE TABLE tc (a int, d int, PRIMARY KEY (a));
CREATE TABLE r (a int PRIMARY KEY, q int);
CREATE TABLE l (a int, q int);
INSERT INTO ta SELECT g % 20, g % 7, g FROM generate_series(1, 60) g;
INSERT INTO tb SELECT g % 7, g % 20, g FROM generate_series(1, 60) g;
INSERT INTO lst SELECT g % 20, substr('abc', g % 3 + 1, 1), g FROM generate_series(1, 90) g;
INSERT INTO tc SELECT g, g % 5 FROM generate_series(0, 19) g;
INSERT INTO r SELECT g, g % 5 FROM generate_series(0, 19) g;
INSERT INTO l SELECT g % 20, g % 5 FROM generate_series(0, 9) g;
ANALYZE ta, tb, lst, tc, r, l;

-- setup ends

SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;

SELECT t1.a, ss.* FROM ta t1 LEFT JOIN LATERAL (SELECT t2.a AS t2a, t2.c AS t2c, t3.b AS t3b, least(t1.a, t2.a, t3.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b) ss ON t1.a = ss.t2a WHERE t1.b = 0;
SELECT t1.a, ss.* FROM ta t1 CROSS JOIN LATERAL (SELECT t2.a AS t2a, t3.a AS t3a, least(t1.a, t2.a, t3.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b AND t2.c = t3.c) ss WHERE t1.a = ss.t2a AND t1.b < 4;
SELECT t1.a, t2.b FROM ta t1, tb t2 WHERE t1.a = t2.b AND t1.b = 0;
SELECT t1.a, t2.b FROM ta t1 LEFT JOIN tb t2 ON t1.a = t2.b AND t1.c = t2.c WHERE t1.b = 0;
SELECT t1.a, t2.b FROM ta t1 FULL JOIN tb t2 ON t1.a = t2.b AND t1.b = t2.a WHERE t1.a IS NULL OR t2.b > 9;
SELECT count(*) FROM ta t1 JOIN ta t2 USING (a) JOIN ta t3 USING (a) WHERE t1.b = t2.b;
SELECT count(*), sum(t2.c) FROM ta t1 LEFT JOIN ta t2 ON t1.a = t2.a AND t2.b = 3;
SELECT count(*), sum(s.c) FROM ta t1 JOIN LATERAL (SELECT * FROM ta t2 TABLESAMPLE bernoulli (100 - t1.a * 0) REPEATABLE (t1.b)) s ON t1.a = s.a;
SELECT t1.a, s.a FROM ta t1 LEFT JOIN LATERAL (SELECT * FROM tb t2 TABLESAMPLE system (CASE WHEN t1.b = 1 THEN 100 ELSE 0 END)) s ON t1.a = s.b;
SELECT * FROM ta t1 WHERE EXISTS (SELECT FROM tb t2 WHERE t1.a = t2.b AND t2.a = 1) AND t1.b < 2;
SELECT * FROM ta t1 WHERE t1.a IN (SELECT t2.b FROM tb t2 WHERE t2.a = 1) AND t1.b < 2;
SELECT * FROM ta t1 WHERE NOT EXISTS (SELECT FROM tb t2 WHERE t1.a = t2.b AND t2.c = t1.c + 1);
SELECT l.a, ta.c FROM l JOIN ta ON ta.a = l.a;
SELECT l.a, ta.c, tb.c FROM l JOIN ta ON ta.a = l.a JOIN tb ON tb.a = ta.a WHERE l.q = 1 AND ta.c < 30;
SELECT l.a, x.c FROM l LEFT JOIN LATERAL (SELECT ta.c, l.q AS lq FROM ta WHERE ta.a = l.a AND ta.b > l.q) x ON true;
SELECT l.a, x.m FROM l CROSS JOIN LATERAL (SELECT max(ta.c + l.q) AS m FROM ta JOIN tb ON tb.b = ta.a WHERE ta.a = l.a) x;
SELECT r.a, x.c FROM r LEFT JOIN LATERAL (SELECT ta.c, tb.a FROM ta JOIN tb ON tb.b = ta.a WHERE ta.a = r.a AND tb.a = r.q) x ON true WHERE r.q < 3;
SELECT t1.a, (SELECT max(t2.c) FROM tb t2 WHERE t2.b = t1.a) FROM ta t1 WHERE t1.b = 1;
SELECT t1.a, (SELECT max(t2.c + t1.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b WHERE t2.a = t1.a) FROM ta t1 WHERE t1.b = 1;
SELECT a, count(*), sum(c) FROM ta GROUP BY a;
SELECT b, count(*), sum(c) FROM ta GROUP BY b;
SELECT t1.a, count(*), sum(t2.c) FROM ta t1 JOIN tb t2 ON t1.a = t2.b GROUP BY t1.a;
SELECT t1.b, array_agg(DISTINCT t2.a) FROM ta t1 JOIN tb t2 ON t1.a = t2.b GROUP BY t1.b HAVING count(*) > 3;
SELECT x.k, y.k FROM lst x JOIN lst y ON x.kind = y.kind AND x.k = y.k AND x.v = y.v + 30;
SELECT x.kind, count(*) FROM lst x LEFT JOIN lst y ON x.kind = y.kind AND y.v = x.v + 3 WHERE y.v IS NULL GROUP BY x.kind;
SELECT x.k, ss.* FROM lst x LEFT JOIN LATERAL (SELECT y.k AS yk, y.v, least(x.v, y.v) FROM lst y JOIN lst z ON y.k = z.k AND y.kind = z.kind) ss ON ss.yk = x.k WHERE x.v < 8;
SELECT * FROM (SELECT a, c FROM ta UNION ALL SELECT b, c FROM tb) u JOIN l ON l.a = u.a WHERE l.q = 2;
SELECT l.a, u.c FROM l LEFT JOIN LATERAL (SELECT a, c, l.q FROM ta UNION ALL SELECT b, c, l.q FROM tb) u ON u.a = l.a WHERE l.q = 2;
SELECT tc.a, ta.c FROM tc JOIN ta ON ta.a = tc.a WHERE tc.d = 2;
SELECT tc.a, tb.c FROM tc LEFT JOIN tb ON tb.b = tc.a AND tb.a > tc.d WHERE tc.d = 2;
SELECT ta.a, ta.tableoid::regclass::text FROM ta JOIN l ON l.a = ta.a WHERE ta.b = 3;
SELECT t1.a, t1.tableoid::regclass::text, t2.tableoid::regclass::text FROM ta t1 JOIN tb t2 ON t1.a = t2.b WHERE t1.b = 3 AND t2.a = 1;
-- ordered
SELECT * FROM (SELECT t1.a, t2.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b ORDER BY t1.a, t2.c, t1.c) x LIMIT 5;
SELECT DISTINCT ON (t1.a) t1.a, t2.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b ORDER BY t1.a, t2.c DESC;
SELECT a, row_number() OVER (PARTITION BY a ORDER BY c) FROM ta WHERE b < 3;

SET enable_hashjoin = off;
SET enable_mergejoin = off;

SELECT t1.a, ss.* FROM ta t1 LEFT JOIN LATERAL (SELECT t2.a AS t2a, t2.c AS t2c, t3.b AS t3b, least(t1.a, t2.a, t3.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b) ss ON t1.a = ss.t2a WHERE t1.b = 0;
SELECT t1.a, ss.* FROM ta t1 CROSS JOIN LATERAL (SELECT t2.a AS t2a, t3.a AS t3a, least(t1.a, t2.a, t3.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b AND t2.c = t3.c) ss WHERE t1.a = ss.t2a AND t1.b < 4;
SELECT t1.a, t2.b FROM ta t1, tb t2 WHERE t1.a = t2.b AND t1.b = 0;
SELECT t1.a, t2.b FROM ta t1 LEFT JOIN tb t2 ON t1.a = t2.b AND t1.c = t2.c WHERE t1.b = 0;
SELECT t1.a, t2.b FROM ta t1 FULL JOIN tb t2 ON t1.a = t2.b AND t1.b = t2.a WHERE t1.a IS NULL OR t2.b > 9;
SELECT count(*) FROM ta t1 JOIN ta t2 USING (a) JOIN ta t3 USING (a) WHERE t1.b = t2.b;
SELECT count(*), sum(t2.c) FROM ta t1 LEFT JOIN ta t2 ON t1.a = t2.a AND t2.b = 3;
SELECT * FROM ta t1 WHERE EXISTS (SELECT FROM tb t2 WHERE t1.a = t2.b AND t2.a = 1) AND t1.b < 2;
SELECT * FROM ta t1 WHERE t1.a IN (SELECT t2.b FROM tb t2 WHERE t2.a = 1) AND t1.b < 2;
SELECT * FROM ta t1 WHERE NOT EXISTS (SELECT FROM tb t2 WHERE t1.a = t2.b AND t2.c = t1.c + 1);
SELECT l.a, ta.c FROM l JOIN ta ON ta.a = l.a;
SELECT l.a, ta.c, tb.c FROM l JOIN ta ON ta.a = l.a JOIN tb ON tb.a = ta.a WHERE l.q = 1 AND ta.c < 30;
SELECT l.a, x.c FROM l LEFT JOIN LATERAL (SELECT ta.c, l.q AS lq FROM ta WHERE ta.a = l.a AND ta.b > l.q) x ON true;
SELECT l.a, x.m FROM l CROSS JOIN LATERAL (SELECT max(ta.c + l.q) AS m FROM ta JOIN tb ON tb.b = ta.a WHERE ta.a = l.a) x;
SELECT r.a, x.c FROM r LEFT JOIN LATERAL (SELECT ta.c, tb.a FROM ta JOIN tb ON tb.b = ta.a WHERE ta.a = r.a AND tb.a = r.q) x ON true WHERE r.q < 3;
SELECT t1.a, (SELECT max(t2.c) FROM tb t2 WHERE t2.b = t1.a) FROM ta t1 WHERE t1.b = 1;
SELECT t1.a, (SELECT max(t2.c + t1.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b WHERE t2.a = t1.a) FROM ta t1 WHERE t1.b = 1;
SELECT a, count(*), sum(c) FROM ta GROUP BY a;
SELECT b, count(*), sum(c) FROM ta GROUP BY b;
SELECT t1.a, count(*), sum(t2.c) FROM ta t1 JOIN tb t2 ON t1.a = t2.b GROUP BY t1.a;
SELECT t1.b, array_agg(DISTINCT t2.a) FROM ta t1 JOIN tb t2 ON t1.a = t2.b GROUP BY t1.b HAVING count(*) > 3;
SELECT x.k, y.k FROM lst x JOIN lst y ON x.kind = y.kind AND x.k = y.k AND x.v = y.v + 30;
SELECT x.kind, count(*) FROM lst x LEFT JOIN lst y ON x.kind = y.kind AND y.v = x.v + 3 WHERE y.v IS NULL GROUP BY x.kind;
SELECT x.k, ss.* FROM lst x LEFT JOIN LATERAL (SELECT y.k AS yk, y.v, least(x.v, y.v) FROM lst y JOIN lst z ON y.k = z.k AND y.kind = z.kind) ss ON ss.yk = x.k WHERE x.v < 8;
SELECT * FROM (SELECT a, c FROM ta UNION ALL SELECT b, c FROM tb) u JOIN l ON l.a = u.a WHERE l.q = 2;
SELECT l.a, u.c FROM l LEFT JOIN LATERAL (SELECT a, c, l.q FROM ta UNION ALL SELECT b, c, l.q FROM tb) u ON u.a = l.a WHERE l.q = 2;
SELECT tc.a, ta.c FROM tc JOIN ta ON ta.a = tc.a WHERE tc.d = 2;
SELECT tc.a, tb.c FROM tc LEFT JOIN tb ON tb.b = tc.a AND tb.a > tc.d WHERE tc.d = 2;
SELECT ta.a, ta.tableoid::regclass::text FROM ta JOIN l ON l.a = ta.a WHERE ta.b = 3;
SELECT t1.a, t1.tableoid::regclass::text, t2.tableoid::regclass::text FROM ta t1 JOIN tb t2 ON t1.a = t2.b WHERE t1.b = 3 AND t2.a = 1;
-- ordered
SELECT * FROM (SELECT t1.a, t2.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b ORDER BY t1.a, t2.c, t1.c) x LIMIT 5;
SELECT DISTINCT ON (t1.a) t1.a, t2.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b ORDER BY t1.a, t2.c DESC;
SELECT a, row_number() OVER (PARTITION BY a ORDER BY c) FROM ta WHERE b < 3;

RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

SELECT t1.a, ss.* FROM ta t1 LEFT JOIN LATERAL (SELECT t2.a AS t2a, t2.c AS t2c, t3.b AS t3b, least(t1.a, t2.a, t3.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b) ss ON t1.a = ss.t2a WHERE t1.b = 0;
SELECT t1.a, ss.* FROM ta t1 CROSS JOIN LATERAL (SELECT t2.a AS t2a, t3.a AS t3a, least(t1.a, t2.a, t3.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b AND t2.c = t3.c) ss WHERE t1.a = ss.t2a AND t1.b < 4;
SELECT t1.a, t2.b FROM ta t1, tb t2 WHERE t1.a = t2.b AND t1.b = 0;
SELECT t1.a, t2.b FROM ta t1 LEFT JOIN tb t2 ON t1.a = t2.b AND t1.c = t2.c WHERE t1.b = 0;
SELECT t1.a, t2.b FROM ta t1 FULL JOIN tb t2 ON t1.a = t2.b AND t1.b = t2.a WHERE t1.a IS NULL OR t2.b > 9;
SELECT count(*) FROM ta t1 JOIN ta t2 USING (a) JOIN ta t3 USING (a) WHERE t1.b = t2.b;
SELECT count(*), sum(t2.c) FROM ta t1 LEFT JOIN ta t2 ON t1.a = t2.a AND t2.b = 3;
SELECT * FROM ta t1 WHERE EXISTS (SELECT FROM tb t2 WHERE t1.a = t2.b AND t2.a = 1) AND t1.b < 2;
SELECT * FROM ta t1 WHERE t1.a IN (SELECT t2.b FROM tb t2 WHERE t2.a = 1) AND t1.b < 2;
SELECT * FROM ta t1 WHERE NOT EXISTS (SELECT FROM tb t2 WHERE t1.a = t2.b AND t2.c = t1.c + 1);
SELECT l.a, ta.c FROM l JOIN ta ON ta.a = l.a;
SELECT l.a, ta.c, tb.c FROM l JOIN ta ON ta.a = l.a JOIN tb ON tb.a = ta.a WHERE l.q = 1 AND ta.c < 30;
SELECT l.a, x.c FROM l LEFT JOIN LATERAL (SELECT ta.c, l.q AS lq FROM ta WHERE ta.a = l.a AND ta.b > l.q) x ON true;
SELECT l.a, x.m FROM l CROSS JOIN LATERAL (SELECT max(ta.c + l.q) AS m FROM ta JOIN tb ON tb.b = ta.a WHERE ta.a = l.a) x;
SELECT r.a, x.c FROM r LEFT JOIN LATERAL (SELECT ta.c, tb.a FROM ta JOIN tb ON tb.b = ta.a WHERE ta.a = r.a AND tb.a = r.q) x ON true WHERE r.q < 3;
SELECT t1.a, (SELECT max(t2.c) FROM tb t2 WHERE t2.b = t1.a) FROM ta t1 WHERE t1.b = 1;
SELECT t1.a, (SELECT max(t2.c + t1.b) FROM ta t2 JOIN tb t3 ON t2.a = t3.b WHERE t2.a = t1.a) FROM ta t1 WHERE t1.b = 1;
SELECT a, count(*), sum(c) FROM ta GROUP BY a;
SELECT b, count(*), sum(c) FROM ta GROUP BY b;
SELECT t1.a, count(*), sum(t2.c) FROM ta t1 JOIN tb t2 ON t1.a = t2.b GROUP BY t1.a;
SELECT t1.b, array_agg(DISTINCT t2.a) FROM ta t1 JOIN tb t2 ON t1.a = t2.b GROUP BY t1.b HAVING count(*) > 3;
SELECT x.k, y.k FROM lst x JOIN lst y ON x.kind = y.kind AND x.k = y.k AND x.v = y.v + 30;
SELECT x.kind, count(*) FROM lst x LEFT JOIN lst y ON x.kind = y.kind AND y.v = x.v + 3 WHERE y.v IS NULL GROUP BY x.kind;
SELECT x.k, ss.* FROM lst x LEFT JOIN LATERAL (SELECT y.k AS yk, y.v, least(x.v, y.v) FROM lst y JOIN lst z ON y.k = z.k AND y.kind = z.kind) ss ON ss.yk = x.k WHERE x.v < 8;
SELECT * FROM (SELECT a, c FROM ta UNION ALL SELECT b, c FROM tb) u JOIN l ON l.a = u.a WHERE l.q = 2;
SELECT l.a, u.c FROM l LEFT JOIN LATERAL (SELECT a, c, l.q FROM ta UNION ALL SELECT b, c, l.q FROM tb) u ON u.a = l.a WHERE l.q = 2;
SELECT tc.a, ta.c FROM tc JOIN ta ON ta.a = tc.a WHERE tc.d = 2;
SELECT tc.a, tb.c FROM tc LEFT JOIN tb ON tb.b = tc.a AND tb.a > tc.d WHERE tc.d = 2;
SELECT ta.a, ta.tableoid::regclass::text FROM ta JOIN l ON l.a = ta.a WHERE ta.b = 3;
SELECT t1.a, t1.tableoid::regclass::text, t2.tableoid::regclass::text FROM ta t1 JOIN tb t2 ON t1.a = t2.b WHERE t1.b = 3 AND t2.a = 1;
-- ordered
SELECT * FROM (SELECT t1.a, t2.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b ORDER BY t1.a, t2.c, t1.c) x LIMIT 5;
SELECT DISTINCT ON (t1.a) t1.a, t2.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b ORDER BY t1.a, t2.c DESC;
SELECT a, row_number() OVER (PARTITION BY a ORDER BY c) FROM ta WHERE b < 3;

-- writes
SET enable_partitionwise_join = on;
RESET enable_hashjoin;
RESET enable_mergejoin;
BEGIN;
UPDATE ta SET c = ss.m FROM (SELECT t2.a, max(t3.c) AS m FROM ta t2 JOIN tb t3 ON t2.a = t3.b GROUP BY t2.a) ss WHERE ss.a = ta.a AND ta.b < 3;
SELECT * FROM ta;
DELETE FROM tb USING ta WHERE tb.b = ta.a AND ta.b = 3;
SELECT * FROM tb;
UPDATE ta SET b = b + 2 FROM l WHERE l.a = ta.a;
SELECT tableoid::regclass::text, * FROM ta;
DELETE FROM ta WHERE (a, c) IN (SELECT t2.a, t2.c FROM ta t2 JOIN l ON l.a = t2.a WHERE t2.b > l.q);
SELECT count(*), sum(c) FROM ta;
INSERT INTO ta SELECT t1.a, t2.a, t1.c FROM ta t1 JOIN tb t2 ON t1.a = t2.b WHERE t1.b = 1;
SELECT count(*), sum(c) FROM ta;
ROLLBACK;
