-- What versions 16 and 17 of the server have that earlier ones don't.
-- needs: 17
-- distribute: t(id), s(id), r reference, p(tenant)
CREATE TABLE t (id int PRIMARY KEY, v int, w text);
CREATE TABLE s (id int, v int);
CREATE TABLE r (id int, v int);
CREATE TABLE p (id int GENERATED ALWAYS AS IDENTITY, tenant int, n int) PARTITION BY RANGE (n);
INSERT INTO t SELECT i, i % 5, 'x' || i % 3 FROM generate_series(1, 40) i;
INSERT INTO s SELECT i, i * 10 FROM generate_series(30, 50) i;
INSERT INTO r TABLE s;
-- setup ends
-- rows that are invalid
COPY t FROM PROGRAM 'printf "100,1,a\nbad,2,b\n101,x,c\n102,3,d\n"' (FORMAT csv, ON_ERROR ignore);
COPY r FROM PROGRAM 'printf "100,1\nbad,2\n101,\n102,3\n"' (FORMAT csv, ON_ERROR ignore, LOG_VERBOSITY verbose);
COPY t (id, w) FROM PROGRAM 'printf "103,a\n1e5,b\n104,c\n"' (FORMAT csv, ON_ERROR ignore) WHERE id <> 103;
-- both fail: 22P02
COPY t FROM PROGRAM 'printf "105,x,c\n"' (FORMAT csv);
COPY t FROM PROGRAM 'printf "106\tnone\tc\n"' (DEFAULT 'none');
SELECT * FROM t WHERE id >= 100 ORDER BY id;
SELECT * FROM r WHERE id >= 100 ORDER BY id;
-- identity of partitions
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
INSERT INTO p (tenant, n) SELECT i, i FROM generate_series(1, 9) i;
INSERT INTO p1 (tenant, n) VALUES (1, 50), (2, 51);
-- both fail: 428C9
INSERT INTO p1 (id, tenant, n) VALUES (1, 1, 50);
SELECT count(*), count(DISTINCT id) FROM p;
ALTER TABLE p DETACH PARTITION p1;
INSERT INTO p1 (id, tenant, n) VALUES (1000, 1, 50);
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (100);
INSERT INTO p (tenant, n) VALUES (5, 60);
SELECT count(*), count(DISTINCT id) FROM p;
-- items of GROUP BY and DISTINCT that are constant, or equal to others
SELECT current_user = session_user AS same, count(*) FROM t WHERE id < 0 GROUP BY 1;
SELECT v, count(*) FROM t WHERE v = 3 GROUP BY v;
SELECT v, w, count(*), array_agg(id ORDER BY id) FROM t WHERE v = 3 GROUP BY v, w ORDER BY w;
SELECT t.v, s.id, count(*) FROM t JOIN s ON s.id = t.id AND t.v = 2 GROUP BY 1, 2 ORDER BY 2;
SELECT DISTINCT v FROM t WHERE v = 3;
SELECT DISTINCT v, w FROM t WHERE v = 3 ORDER BY w;
SELECT v, w FROM t WHERE v = 3 GROUP BY GROUPING SETS ((v), (w), ()) ORDER BY 1, 2;
SELECT any_value(v), count(*) FROM t WHERE v = 4;
SELECT sum(v), v FROM t WHERE v = 9 GROUP BY v;
-- above outer joins
SELECT s.v, count(*) FROM t LEFT JOIN s USING (id) GROUP BY 1 ORDER BY 1 NULLS FIRST LIMIT 4;
SELECT t.id, s.v FROM t LEFT JOIN s ON s.id = t.id ORDER BY s.v DESC NULLS LAST, 1 LIMIT 5;
SELECT DISTINCT r.v FROM t LEFT JOIN r ON r.id = t.v + 30 ORDER BY 1;
SELECT id, sum(s.v) OVER (PARTITION BY t.id) FROM t FULL JOIN s USING (id) ORDER BY 1, 2;
-- JSON, and functions
SELECT t.id, j.a FROM t, json_table(jsonb_build_array(t.v, t.id), '$[*]' COLUMNS (a int PATH '$')) j WHERE t.id < 4 ORDER BY 1, 2;
SELECT id, w IS JSON, JSON_ARRAY(v, w) FROM t WHERE id < 3 ORDER BY 1;
SELECT json_query(jsonb_build_object('a', v), '$.a') FROM t WHERE id = 7;
SELECT string_agg(w, ',' ORDER BY id), array_agg(v ORDER BY id) FROM t WHERE id < 9;
SELECT random(3, 3), to_bin(v), array_sample(ARRAY[w], 1) FROM t WHERE id = 1;
-- statements
BEGIN;
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.v > 350 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
    WHEN NOT MATCHED BY TARGET THEN INSERT (id, v) VALUES (s.id, s.v);
SELECT count(*), sum(v) FROM t;
ROLLBACK;
BEGIN;
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE;
SELECT count(*), sum(v) FROM t;
ROLLBACK;
BEGIN;
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE RETURNING merge_action(), t.id;
ROLLBACK;
CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v;
REFRESH MATERIALIZED VIEW m;
SELECT sum(n) FROM m;
GRANT MAINTAIN ON t TO pg_monitor;
SELECT has_table_privilege('pg_monitor', 't', 'MAINTAIN');
-- expressions of generated columns
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (v + 1) STORED;
ALTER TABLE t ALTER COLUMN g SET EXPRESSION AS (t.v * 2 + length(w));
SELECT id, g FROM t WHERE id < 6 ORDER BY id;
UPDATE t SET v = v + 1 WHERE id = 3 RETURNING g;
ALTER TABLE t ALTER COLUMN g SET EXPRESSION AS (v), ADD CHECK (g < 1000);
-- both fail: 23514
UPDATE t SET v = 1000 WHERE id = 3;
-- both fail: 55000
ALTER TABLE t ALTER COLUMN v SET EXPRESSION AS (id);
ALTER TABLE r ADD COLUMN g int GENERATED ALWAYS AS (v + 1) STORED;
ALTER TABLE r ALTER COLUMN g SET EXPRESSION AS (v - 1);
ALTER TABLE p ADD COLUMN g int GENERATED ALWAYS AS (n + 1) STORED;
ALTER TABLE p ALTER COLUMN g SET EXPRESSION AS (n - tenant);
SELECT sum(r.g), (SELECT sum(g) FROM p) FROM r;
-- same schema
SELECT g, count(*) FROM t GROUP BY g ORDER BY g;
