-- The order of a subquery with ORDER BY is seen by what is around it: LIMIT, OFFSET, aggregates and windows that depend on
-- the order of rows, DISTINCT ON, and the client.
--
-- distribute: sq(pk), child(pk) with sq, far(id) with none, hist(pk) with none, ref reference, one single, loc local

CREATE TABLE sq (pk int PRIMARY KEY, c1 int, v text);
CREATE TABLE child (pk int, n int, w int, PRIMARY KEY (pk, n));
CREATE TABLE far (id int PRIMARY KEY, pk int, c1 int);
CREATE TABLE hist (pk int, day date, c1 int) PARTITION BY RANGE (day);
CREATE TABLE hist_1 PARTITION OF hist FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE hist_2 PARTITION OF hist FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE ref (id int PRIMARY KEY, c1 int);
CREATE TABLE one (pk int PRIMARY KEY, c1 int);
CREATE TABLE loc (pk int PRIMARY KEY, c1 int);
INSERT INTO sq SELECT g, (g - 1) % 4 + 1, 'v' || g * 7 % 200 FROM generate_series(1, 200) g;
INSERT INTO child SELECT g, n, g * 13 % 200 FROM generate_series(1, 200) g, generate_series(1, 3) n;
INSERT INTO far SELECT 1000 - g, g, g % 5 FROM generate_series(1, 150) g;
INSERT INTO hist SELECT g, date '2024-01-01' + g * 17 % 60, g % 6 FROM generate_series(1, 200) g;
INSERT INTO ref SELECT g, g % 3 FROM generate_series(1, 30) g;
INSERT INTO one SELECT g, g % 4 FROM generate_series(1, 60) g;
INSERT INTO loc SELECT g, g % 4 FROM generate_series(1, 60) g;
CREATE VIEW sorted_view AS SELECT pk, c1 FROM sq ORDER BY c1, pk;
CREATE VIEW desc_view AS SELECT pk AS id, v FROM sq ORDER BY pk DESC;
CREATE VIEW nested_view AS SELECT * FROM sorted_view WHERE c1 < 4;
CREATE VIEW barrier_view WITH (security_barrier) AS SELECT pk, c1 FROM sq ORDER BY c1, pk;
CREATE VIEW grouped_view AS SELECT c1, count(*) AS n, max(pk) AS top FROM sq GROUP BY c1 ORDER BY max(pk) DESC;
CREATE VIEW joined_view AS SELECT s.pk, c.n, c.w FROM sq s JOIN child c USING (pk) ORDER BY c.w DESC, s.pk, c.n;
CREATE FUNCTION sorted_rows() RETURNS SETOF sq STABLE LANGUAGE sql AS 'SELECT * FROM sq ORDER BY c1 DESC, pk';
CREATE FUNCTION sorted_from(lowest int) RETURNS TABLE (pk int, v text) STABLE LANGUAGE sql
    AS 'SELECT pk, v FROM sq WHERE pk > lowest ORDER BY v, pk';
CREATE FUNCTION sorted_loop() RETURNS SETOF int STABLE LANGUAGE plpgsql
    AS $$ BEGIN RETURN QUERY SELECT pk FROM sq ORDER BY pk DESC; END $$;
-- keeps the first value that isn't null, as people write it
CREATE FUNCTION keep_first(anyelement, anyelement) RETURNS anyelement IMMUTABLE STRICT LANGUAGE sql AS 'SELECT $1';
CREATE AGGREGATE first_of(anyelement) (sfunc = keep_first, stype = anyelement);

-- setup ends

-- LIMIT and OFFSET
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk) x OFFSET 5 LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk DESC) x OFFSET 195;
-- ordered
SELECT * FROM (SELECT pk, c1 FROM sq ORDER BY c1, pk DESC) x FETCH FIRST 4 ROWS ONLY;
-- ordered
SELECT c1 FROM (SELECT pk, c1 FROM sq ORDER BY pk) x LIMIT 6;
-- ordered
SELECT v FROM (SELECT v FROM sq ORDER BY pk) x LIMIT 3;
-- ordered
SELECT v || '!', length(v) FROM (SELECT v FROM sq ORDER BY c1 + pk DESC, v) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk) x WHERE pk > 50 LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, c1 FROM sq ORDER BY pk) x WHERE c1 = 2 OFFSET 2 LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, c1 FROM sq ORDER BY pk) x WHERE pk % 7 = (SELECT min(id) FROM ref) LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, c1 FROM sq ORDER BY pk) x WHERE random() >= 0 LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk LIMIT 10) x OFFSET 2 LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk OFFSET 4) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM (SELECT pk FROM sq ORDER BY pk DESC) y) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, c1 FROM (SELECT pk, c1 FROM sq ORDER BY pk) y ORDER BY c1, pk) x LIMIT 5;
-- ordered
SELECT * FROM (SELECT pk + 1 AS q FROM (SELECT pk FROM sq ORDER BY pk) y OFFSET 0) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT DISTINCT c1 FROM sq ORDER BY c1 DESC) x LIMIT 2;
-- ordered
SELECT * FROM (SELECT c1, count(*) FROM sq GROUP BY c1 ORDER BY c1 DESC) x LIMIT 2;
-- ordered
SELECT * FROM (SELECT pk, sum(w) FROM child GROUP BY pk ORDER BY sum(w) DESC, pk) x LIMIT 4;
-- ordered
SELECT * FROM (SELECT pk, rank() OVER (PARTITION BY c1 ORDER BY pk) r FROM sq ORDER BY r DESC, pk) x LIMIT 4;
-- ordered
SELECT * FROM (SELECT pk, row_number() OVER (PARTITION BY pk ORDER BY n) r, n FROM child ORDER BY r DESC, pk) x LIMIT 4;
-- ordered
SELECT * FROM (SELECT pk FROM sq UNION ALL SELECT id FROM far ORDER BY 1 DESC) x LIMIT 4;
-- ordered
SELECT * FROM (SELECT pk FROM sq UNION SELECT pk FROM child ORDER BY 1 DESC) x LIMIT 4;
-- ordered
SELECT * FROM (SELECT pk FROM sq WHERE pk < 100 EXCEPT SELECT pk FROM child WHERE w > 100 ORDER BY 1) x LIMIT 4;
-- ordered
(SELECT pk FROM sq ORDER BY pk) LIMIT 3;
-- ordered
SELECT * FROM ((SELECT pk FROM sq ORDER BY pk DESC)) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk NULLS FIRST) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT c1, pk FROM sq ORDER BY c1, pk) x ORDER BY c1 LIMIT 3;
-- ordered
SELECT * FROM (SELECT c1, pk FROM sq ORDER BY c1, pk) x ORDER BY c1;
-- ordered
SELECT * FROM (SELECT c1, pk FROM sq ORDER BY pk) x ORDER BY c1 DESC, pk LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, v FROM sq ORDER BY v COLLATE "C", pk) x LIMIT 5;
-- ordered
SELECT x FROM (SELECT pk, c1 FROM sq ORDER BY pk DESC) x LIMIT 2;
-- ordered
SELECT row_to_json(x) FROM (SELECT pk, c1 FROM sq ORDER BY pk DESC) x LIMIT 2;
-- ordered
SELECT pk, generate_series(1, 2) FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 3;
-- ordered
SELECT pk, (SELECT count(*) FROM child WHERE child.pk = x.pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, (SELECT max(w) FROM child WHERE child.pk = sq.pk) m FROM sq ORDER BY m DESC, pk) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, c1 FROM sq WHERE c1 = 2 ORDER BY c1, pk) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM sq WHERE pk = 3 ORDER BY pk) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT id FROM ref ORDER BY id DESC) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM one ORDER BY pk DESC) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk FROM loc ORDER BY pk DESC) x LIMIT 3;
-- ordered
SELECT * FROM (SELECT pk, day FROM hist ORDER BY day DESC, pk) x LIMIT 5;
-- ordered
SELECT * FROM (SELECT pk, day FROM hist WHERE day < '2024-02-10' ORDER BY day DESC, pk) x OFFSET 3 LIMIT 5;
-- ordered
SELECT * FROM (SELECT pk FROM hist_1 ORDER BY pk DESC) x LIMIT 3;
-- params: 3, 1
-- params: 5, 0
-- params: 1, 20
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk) x LIMIT $1::int OFFSET $2::int;
-- params: 3
-- params: NULL
-- ordered
SELECT * FROM (SELECT pk FROM sq WHERE pk < 9 ORDER BY pk) x LIMIT $1::bigint;
-- ordered
SELECT * FROM (SELECT pk FROM sq ORDER BY pk) x LIMIT (SELECT min(id) + 2 FROM ref);
-- ordered
SELECT l.pk, y.pk FROM (VALUES (1, 2), (2, 1)) l (pk, n), LATERAL (SELECT * FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT l.n) y;
-- ordered
SELECT s.pk, y.* FROM sq s, LATERAL (SELECT * FROM (SELECT n, w FROM child c WHERE c.pk = s.pk ORDER BY n DESC) x LIMIT 2) y ORDER BY s.pk, n LIMIT 9;
-- ordered
SELECT pk, (SELECT v FROM (SELECT n || ':' || w AS v FROM child c WHERE c.pk = s.pk ORDER BY n DESC) x LIMIT 1) FROM sq s ORDER BY pk LIMIT 5;
SELECT count(*), min(pk), max(pk) FROM (SELECT * FROM (SELECT pk FROM sq ORDER BY pk) x LIMIT 7) y;
SELECT * FROM sq WHERE pk IN (SELECT * FROM (SELECT pk FROM far ORDER BY id) x LIMIT 3);
SELECT * FROM sq WHERE pk = ANY (ARRAY(SELECT * FROM (SELECT pk FROM far ORDER BY id) x OFFSET 2 LIMIT 3));

-- views, CTEs and functions
-- ordered
SELECT * FROM sorted_view LIMIT 3;
-- ordered
SELECT * FROM sorted_view OFFSET 48 LIMIT 5;
-- ordered
SELECT pk FROM sorted_view WHERE pk > 20 LIMIT 5;
-- ordered
SELECT * FROM desc_view LIMIT 2;
-- ordered
SELECT v FROM desc_view OFFSET 3 LIMIT 2;
-- ordered
SELECT * FROM nested_view LIMIT 3;
-- ordered
SELECT * FROM barrier_view LIMIT 3;
-- ordered
SELECT * FROM barrier_view WHERE pk % 3 = 0 LIMIT 3;
-- ordered
SELECT * FROM grouped_view LIMIT 2;
-- ordered
SELECT * FROM joined_view LIMIT 5;
-- ordered
SELECT pk, w FROM joined_view WHERE n = 2 OFFSET 2 LIMIT 5;
-- ordered
SELECT * FROM sorted_view ORDER BY c1 LIMIT 3;
-- ordered
SELECT * FROM sorted_view ORDER BY pk LIMIT 3;
-- ordered
SELECT * FROM sorted_view;
-- ordered
TABLE sorted_view LIMIT 2;
-- ordered
WITH x AS (SELECT pk FROM sq ORDER BY pk) SELECT * FROM x LIMIT 3;
-- ordered
WITH x AS MATERIALIZED (SELECT pk FROM sq ORDER BY pk) SELECT * FROM x LIMIT 3;
-- ordered
WITH x AS NOT MATERIALIZED (SELECT pk FROM sq ORDER BY pk DESC) SELECT * FROM x LIMIT 3;
-- ordered
WITH x AS (SELECT pk FROM sq ORDER BY pk), y AS (SELECT * FROM x) SELECT * FROM y LIMIT 3;
-- ordered
WITH x AS (SELECT pk FROM sq ORDER BY pk DESC) (SELECT * FROM x LIMIT 2) UNION ALL (SELECT * FROM x LIMIT 1);
-- ordered
SELECT * FROM sorted_rows() LIMIT 3;
-- ordered
SELECT pk FROM sorted_rows() WHERE c1 = 3 LIMIT 3;
-- ordered
SELECT * FROM sorted_from(100) LIMIT 3;
-- ordered
SELECT * FROM sorted_loop() LIMIT 3;
-- ordered
SELECT * FROM (SELECT * FROM sorted_loop()) x OFFSET 2 LIMIT 3;

-- aggregates that depend on the order of rows
SELECT array_agg(pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x;
SELECT string_agg(v, ',') FROM (SELECT v FROM sq ORDER BY pk) x;
SELECT json_agg(x) FROM (SELECT pk, c1 FROM sq WHERE pk < 20 ORDER BY c1, pk) x;
SELECT jsonb_agg(pk), count(*) FROM sorted_view WHERE c1 < 3;
SELECT json_object_agg(pk, v) FROM (SELECT pk, v FROM sq WHERE c1 = 1 ORDER BY pk DESC) x;
SELECT jsonb_object_agg(c1, pk) FROM (SELECT pk, c1 FROM sq ORDER BY pk DESC) x;
SELECT xmlagg(xmlelement(name a, pk)) FROM (SELECT pk FROM sq WHERE c1 = 2 ORDER BY pk DESC) x;
SELECT first_of(pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x;
SELECT c1, array_agg(pk) FROM (SELECT * FROM sq ORDER BY c1, pk DESC) x GROUP BY c1;
SELECT c1, string_agg(v, ',') FROM (SELECT c1, v FROM sq ORDER BY c1, v) x GROUP BY c1 ORDER BY c1;
SELECT c1, first_of(pk), max(pk) FROM (SELECT * FROM sq ORDER BY c1, v) x GROUP BY c1;
SELECT pk, array_agg(n) FROM (SELECT pk, n FROM child ORDER BY pk, n DESC) x GROUP BY pk;
SELECT pk, json_agg(w) FROM (SELECT * FROM child ORDER BY pk, w DESC, n) x WHERE pk < 30 GROUP BY pk HAVING count(*) > 1;
SELECT pk, string_agg(n::text, ',') FROM (SELECT * FROM child ORDER BY pk, n DESC) x GROUP BY pk ORDER BY pk LIMIT 5;
SELECT c1, array_agg(pk) FROM (SELECT * FROM hist ORDER BY c1, day DESC, pk) x GROUP BY c1;
SELECT array_agg(pk ORDER BY pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x;
SELECT array_agg(DISTINCT c1) FROM (SELECT c1 FROM sq ORDER BY pk DESC) x;
SELECT array_agg(pk) FILTER (WHERE c1 = 1) FROM sorted_view;
SELECT array_agg(pk) FROM (SELECT pk FROM sq ORDER BY pk DESC LIMIT 10) x;
SELECT (SELECT array_agg(pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x);
SELECT ARRAY(SELECT pk FROM (SELECT pk FROM sq ORDER BY v) x);
SELECT ARRAY(SELECT pk FROM (SELECT pk FROM sq ORDER BY v) x LIMIT 5);
SELECT pk, (SELECT array_agg(n) FROM (SELECT n FROM child c WHERE c.pk = s.pk ORDER BY n DESC) y) FROM sq s WHERE pk < 10;
SELECT pk, (SELECT json_agg(y) FROM (SELECT c.n, c.w FROM child c WHERE c.pk = s.pk ORDER BY n DESC LIMIT 2) y) FROM sq s WHERE pk < 10;
SELECT pk, ARRAY(SELECT n FROM child c WHERE c.pk = s.pk ORDER BY n DESC) FROM sq s WHERE pk < 10;
SELECT s.pk, l.a FROM sq s LEFT JOIN LATERAL (SELECT array_agg(id) AS a FROM (SELECT id FROM far WHERE far.pk = s.c1 ORDER BY id DESC) y) l ON true WHERE s.pk < 10;
WITH x AS (SELECT * FROM sq ORDER BY c1, pk DESC) SELECT c1, array_agg(pk) FROM x GROUP BY c1;
SELECT array_agg(pk) FROM sorted_rows();
SELECT array_agg(pk) FROM (SELECT pk FROM sq WHERE pk < 9 ORDER BY pk DESC) x GROUP BY GROUPING SETS ((), ());
SELECT count(*), sum(pk), min(v), avg(c1) FROM (SELECT * FROM sq ORDER BY pk DESC) x;
SELECT c1, count(*), bool_and(pk > 3) FROM (SELECT * FROM sq ORDER BY pk DESC) x GROUP BY c1;
SELECT count(*) FROM (SELECT * FROM sq ORDER BY pk DESC) x LIMIT 1;

-- windows, DISTINCT ON, set operations
-- ordered
SELECT pk, row_number() OVER () FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 5;
-- ordered
SELECT pk, row_number() OVER () FROM (SELECT pk FROM sq ORDER BY pk DESC) x;
-- ordered
SELECT pk, first_value(pk) OVER (), last_value(pk) OVER (), nth_value(pk, 3) OVER () FROM (SELECT pk FROM sq ORDER BY v) x;
-- ordered
SELECT pk, lag(pk) OVER (), lead(pk) OVER () FROM (SELECT pk FROM sq ORDER BY pk DESC) x OFFSET 10 LIMIT 3;
-- ordered
SELECT pk, c1, first_value(pk) OVER (PARTITION BY c1) FROM (SELECT c1, pk FROM sq ORDER BY c1, pk DESC) x;
-- ordered
SELECT pk, n, row_number() OVER (PARTITION BY pk) FROM (SELECT pk, n FROM child ORDER BY pk, n DESC) x LIMIT 7;
-- ordered
SELECT pk, sum(c1) OVER (ROWS UNBOUNDED PRECEDING) FROM (SELECT pk, c1 FROM sq ORDER BY pk DESC) x LIMIT 7;
-- ordered
SELECT pk, count(*) OVER () FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 3;
-- ordered
SELECT pk, row_number() OVER (ORDER BY c1) FROM (SELECT pk, c1 FROM sq ORDER BY c1, pk DESC) x LIMIT 5;
-- ordered
SELECT row_number() OVER (), x.* FROM sorted_view x LIMIT 4;
-- ordered
SELECT DISTINCT ON (c1) c1, pk FROM (SELECT c1, pk FROM sq ORDER BY c1, pk DESC) x;
-- ordered
SELECT DISTINCT ON (c1) c1, pk FROM (SELECT c1, pk FROM sq ORDER BY c1, pk DESC) x ORDER BY c1;
-- ordered
SELECT DISTINCT ON (c1) c1, pk FROM (SELECT c1, pk FROM sq ORDER BY c1, pk DESC) x LIMIT 2;
-- ordered
SELECT * FROM (SELECT DISTINCT ON (c1) c1, pk FROM sq ORDER BY c1, pk DESC) x LIMIT 2;
-- ordered
SELECT * FROM (SELECT DISTINCT ON (pk) pk, w FROM child ORDER BY pk DESC, w) x LIMIT 3;
-- ordered
(SELECT pk FROM sq ORDER BY pk LIMIT 2) UNION ALL (SELECT id FROM far ORDER BY id DESC LIMIT 2);
-- ordered
(SELECT pk FROM sq ORDER BY pk) UNION ALL (SELECT pk FROM child ORDER BY pk DESC, n) LIMIT 3;
-- ordered
(SELECT pk FROM sq ORDER BY pk DESC) UNION ALL (SELECT pk FROM child ORDER BY pk) OFFSET 198 LIMIT 5;
-- ordered
SELECT * FROM ((SELECT pk FROM sq ORDER BY pk DESC) UNION ALL (SELECT pk FROM sq ORDER BY pk)) x LIMIT 3;
-- ordered
SELECT array_agg(pk) FROM ((SELECT pk FROM sq ORDER BY pk DESC) UNION ALL (SELECT id FROM far ORDER BY id)) x;
-- ordered
SELECT count(*) FROM ((SELECT pk FROM sq ORDER BY pk DESC) UNION ALL (SELECT pk FROM child ORDER BY pk)) x;

-- joins
-- ordered
SELECT x.pk, g FROM (SELECT pk FROM sq ORDER BY pk DESC) x, generate_series(1, 2) g LIMIT 3;
-- ordered
SELECT x.pk FROM (SELECT pk FROM sq ORDER BY pk DESC) x WHERE EXISTS (SELECT FROM child c WHERE c.pk = x.pk AND c.w > 100) LIMIT 3;
-- ordered
SELECT x.pk, (SELECT max(w) FROM child c WHERE c.pk = x.pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 3;
-- ordered
SELECT x.pk, y.m FROM (SELECT pk FROM sq ORDER BY pk DESC) x CROSS JOIN (SELECT max(w) AS m FROM child) y LIMIT 3;
-- ordered
SELECT x.pk, y.n FROM (SELECT pk FROM sq ORDER BY pk DESC) x CROSS JOIN LATERAL (SELECT n FROM child c WHERE c.pk = x.pk ORDER BY n DESC) y LIMIT 5;
-- ordered
SELECT x.pk, y.s FROM (SELECT pk FROM sq ORDER BY pk DESC) x CROSS JOIN LATERAL (SELECT sum(w) AS s FROM child c WHERE c.pk = x.pk) y LIMIT 5;
-- ordered
SELECT x.pk, c.n FROM (SELECT pk FROM sq ORDER BY pk DESC) x JOIN child c ON c.pk = x.pk ORDER BY x.pk, c.n LIMIT 5;
SELECT count(*), sum(x.pk) FROM (SELECT pk FROM sq ORDER BY pk DESC) x JOIN child c ON c.pk = x.pk;
SELECT c1, count(*) FROM (SELECT pk, c1 FROM sq ORDER BY pk DESC) x JOIN child c ON c.pk = x.pk GROUP BY c1;
SELECT * FROM sq WHERE pk IN (SELECT pk FROM far ORDER BY id DESC);
SELECT count(*) FROM sq WHERE pk IN (SELECT pk FROM child ORDER BY w DESC);
SELECT s.pk, x.w FROM sq s JOIN (SELECT pk, w FROM child ORDER BY w) x ON x.pk = s.pk;
SELECT s.pk, x.w FROM sq s LEFT JOIN (SELECT pk, w FROM child WHERE n = 1 ORDER BY w) x ON x.pk = s.pk;

-- cursors
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 5;
-- ordered
FETCH 3 FROM c;
-- ordered
FETCH ALL FROM c;
DECLARE d SCROLL CURSOR FOR SELECT * FROM sorted_view;
-- ordered
FETCH 3 FROM d;
-- ordered
FETCH BACKWARD 1 FROM d;
DECLARE e CURSOR FOR SELECT array_agg(pk) FROM (SELECT pk, c1 FROM sq ORDER BY c1, pk DESC) x GROUP BY c1 ORDER BY c1;
-- ordered
FETCH ALL FROM e;
ROLLBACK;

-- writes
CREATE TABLE numbered (place int GENERATED ALWAYS AS IDENTITY, pk int);
INSERT INTO numbered (pk) SELECT pk FROM (SELECT pk FROM sq ORDER BY pk DESC) x LIMIT 5;
SELECT * FROM numbered;
DELETE FROM loc WHERE pk IN (SELECT pk FROM (SELECT pk FROM sq ORDER BY pk) x LIMIT 3);
SELECT count(*), min(pk) FROM loc;
BEGIN;
DELETE FROM sq WHERE pk IN (SELECT pk FROM sorted_view LIMIT 3);
SELECT min(pk), count(*) FROM sq WHERE c1 = 1;
UPDATE far SET c1 = 100 WHERE id IN (SELECT id FROM (SELECT id FROM far ORDER BY id) x LIMIT 3);
SELECT id FROM far WHERE c1 = 100;
INSERT INTO sq SELECT pk + 1000, c1 FROM sorted_view OFFSET 10 LIMIT 3;
SELECT pk, c1 FROM sq WHERE pk > 1000;
UPDATE sq SET c1 = x.w FROM (SELECT pk, w FROM child WHERE n = 2 ORDER BY w) x WHERE x.pk = sq.pk;
SELECT sum(c1) FROM sq;
ROLLBACK;

SELECT c1, string_agg(v, ',') FROM (SELECT c1, v FROM sq ORDER BY c1, v DESC) x GROUP BY c1 ORDER BY c1;
