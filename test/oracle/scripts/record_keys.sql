-- Groups of anonymous composite values, and distinct ones.
--
-- distribute: t(id), s single, r reference

CREATE TABLE t (id int, k text, s int, a int);
CREATE TABLE s (id int, k text, s int, a int);
CREATE TABLE r (id int, k text, s int, a int);
INSERT INTO t SELECT g, 'k' || g % 5, g % 9, g % 100 FROM generate_series(1, 2000) g;
INSERT INTO s SELECT * FROM t;
INSERT INTO r SELECT * FROM t;

-- setup ends
SELECT ROW(k, s % 2), sum(DISTINCT a) FROM t GROUP BY ROW(k, s % 2);
SELECT ROW(k, s % 2), sum(a) FROM t GROUP BY ROW(k, s % 2);
SELECT count(DISTINCT ROW(k, s % 2)) FROM t;
SELECT s % 3, count(DISTINCT ROW(k, s % 2)), max(a) FROM t GROUP BY 1;
SELECT DISTINCT ROW(k, s % 2) FROM t;
SELECT DISTINCT ON (ROW(k, s % 2)) k, s % 2 FROM t ORDER BY ROW(k, s % 2);
SELECT ARRAY[ROW(k, s % 2)], count(DISTINCT a) FROM t GROUP BY 1;
SELECT ROW(k, s % 2), sum(DISTINCT a) FROM s GROUP BY 1;
SELECT ROW(t.k, r.s % 2), sum(DISTINCT t.a) FROM t JOIN r USING (id) GROUP BY 1 HAVING sum(DISTINCT t.a) > 10;
SELECT ROW(t.k, u.s % 2), sum(DISTINCT t.a) FROM t JOIN t u ON t.a = u.id GROUP BY 1;
SELECT max(ARRAY[ROW(k, s % 2)]), min(ARRAY[ROW(a, k)]) FROM t;
SELECT s % 3, max(ARRAY[ROW(k, s % 2)]) FROM t GROUP BY 1;
