-- Joins for which nodes send rows to each other: large tables that are joined by other columns than their distribution columns.
-- on all nodes
DROP ROLE IF EXISTS o_repartition_reader, o_repartition_owner;
-- on all nodes
CREATE ROLE o_repartition_reader;
-- on all nodes
CREATE ROLE o_repartition_owner;
-- on all nodes
GRANT USAGE ON SCHEMA o_repartition TO PUBLIC;
CREATE COLLATION o_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE p (id int PRIMARY KEY, k int, t text, x numeric);
CREATE TABLE q (id bigint, k bigint, t text, d date, j jsonb, f float8, a int[], PRIMARY KEY (id, k));
CREATE TABLE w (w text, v int);
CREATE TABLE s (id int, v smallint);
CREATE TABLE r (v int PRIMARY KEY, name text);
CREATE TABLE l (v int, label text);
CREATE TABLE nocase (t text COLLATE o_nocase, v int);
CREATE TABLE wide (id int, k int, v int, c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int, c8 int, c9 int, c10 int, c11
  int, c12 int, c13 int, c14 int, c15 int, c16 int, c17 int, c18 int, c19 int, c20 int, c21 int, c22 int, c23 int, c24 int, c25
  int, c26 int, c27 int, c28 int, c29 int, c30 int, c31 int, c32 int, c33 int, c34 int, c35 int, c36 int, c37 int, c38 int, c39
  int, c40 int, c41 int, c42 int, c43 int, c44 int, c45 int, c46 int, c47 int, c48 int, c49 int, c50 int, c51 int, c52 int, c53
  int, c54 int, c55 int, c56 int, c57 int, c58 int, c59 int, c60 int, c61 int, c62 int, c63 int, c64 int, c65 int, c66 int, c67
  int, c68 int, c69 int, c70 int, c71 int, c72 int, c73 int, c74 int, c75 int, c76 int, c77 int, c78 int, c79 int, c80 int, c81
  int, c82 int, c83 int, c84 int, c85 int, c86 int, c87 int, c88 int, c89 int, c90 int, c91 int, c92 int, c93 int, c94 int, c95
  int, c96 int, c97 int, c98 int);
-- distribute: nocase(t) shards 4, wide(id) shards 3, p(id) shards 4, q(id) shards 3, w(w) shards 4, s single, r reference, l local
INSERT INTO p SELECT g, CASE WHEN g % 9 = 0 THEN NULL WHEN g % 4 = 0 THEN 7 ELSE g % 900 END, 't' || g % 300, g / 3.0
  FROM generate_series(1, 3000) g;
INSERT INTO q SELECT g * 3, g % 800, CASE WHEN g % 5 > 0 THEN 't' || g % 700 END, date '2024-01-01' + g % 40, json_build_object('g', g),
       g / 7.0, CASE WHEN g % 3 > 0 THEN ARRAY[g, NULL, g % 4] END FROM generate_series(1, 2500) g;
INSERT INTO w SELECT 't' || g, g % 100 FROM generate_series(1, 2000) g;
INSERT INTO s SELECT g, g % 50 FROM generate_series(1, 1000) g;
INSERT INTO r SELECT g, 'r' || g FROM generate_series(0, 60) g;
INSERT INTO l SELECT g % 13, 'l' || g FROM generate_series(0, 20) g;
INSERT INTO nocase SELECT CASE WHEN g % 2 = 0 THEN 'T' ELSE 't' END || g / 2, g FROM generate_series(1, 1000) g;
INSERT INTO wide SELECT g, g % 500, g FROM generate_series(1, 1000) g;
ANALYZE p, q, w, s, r, l, nocase, wide;
-- setup ends
SET citus.enable_broadcast_joins = off;
SET citus.round_trip_cost = 0;
SET citus.exchange_cost = 0;
SET citus.task_cost = 0;
SET citus.value_cost = 0;
SET citus.tuple_transfer_cost = 1000;

-- one side by its distribution column, keys of other types
SELECT count(*), sum(p.x), count(q.t), min(q.d) FROM p JOIN q ON p.id = q.k;
SELECT count(*), sum(p.x), sum(q.f::numeric(10, 2)) FROM p JOIN q ON p.k = q.id;
SELECT p.id, q.j, q.a, q.f::numeric(10, 3), q.d FROM p JOIN q ON p.id = q.k WHERE p.id % 50 = 3 ORDER BY p.id, q.id;
SELECT count(*), max(p.t) FROM p JOIN w ON p.t = w.w;
-- neither
SELECT count(*), sum(p.id), sum(q.id) FROM p JOIN q USING (k);
SELECT p.k, count(*), count(DISTINCT q.t) FROM p JOIN q USING (k) GROUP BY p.k ORDER BY 2 DESC, 1 LIMIT 20;
SELECT count(*) FROM p a JOIN p b ON a.k = b.k AND a.id <> b.id WHERE a.id < 800;
SELECT count(*), sum(w.v) FROM q JOIN w ON q.k = w.v WHERE q.id < 300;

-- rows that meet none; keys that are null
SELECT count(*), count(p.id), count(q.id), sum(p.id), sum(q.id) FROM p LEFT JOIN q ON p.k = q.id;
SELECT count(*), count(p.id), count(q.id), sum(p.id), sum(q.id) FROM p RIGHT JOIN q ON p.k = q.id;
SELECT count(*), count(p.id), count(q.id), sum(p.id), sum(q.id) FROM p FULL JOIN q ON p.k = q.k;
SELECT count(*), count(p.id), count(q.id) FROM p FULL JOIN q ON p.k = q.k WHERE p.id IS NULL OR q.id IS NULL;
SELECT count(*), sum(id) FROM p WHERE EXISTS (SELECT FROM q WHERE q.k = p.k AND q.id > p.id);
SELECT count(*), sum(id) FROM p WHERE NOT EXISTS (SELECT FROM q WHERE q.k = p.k AND q.id > p.id);
SELECT count(*), sum(id) FROM p WHERE k NOT IN (SELECT k FROM q WHERE k IS NOT NULL);
SELECT count(*) FROM q WHERE k IN (SELECT k FROM p WHERE x > 500);

-- groups by other columns than the distribution column; those that are null
SELECT k, count(*), count(DISTINCT t), sum(x) FROM p GROUP BY k ORDER BY 1 NULLS FIRST;
SELECT k, array_agg(id ORDER BY id DESC), string_agg(t, ',' ORDER BY t, id) FROM p GROUP BY k HAVING count(*) > 3 ORDER BY 1;
SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY t) FROM p GROUP BY k ORDER BY 1;
SELECT k + 1, d, count(DISTINCT id) FROM q GROUP BY 1, d ORDER BY 1, 2 LIMIT 50;
SELECT d, count(DISTINCT k) FROM q GROUP BY d ORDER BY 1;
SELECT v, count(DISTINCT w) FROM w GROUP BY v ORDER BY 1;
SELECT min(lower(t)), count(DISTINCT v) FROM nocase GROUP BY t ORDER BY 1;
SELECT x.k, x.n, q.id FROM (SELECT k, count(DISTINCT t) AS n FROM p GROUP BY k) x JOIN q ON q.k = x.k WHERE n > 1 ORDER BY 1, 3;
SELECT p.k, count(DISTINCT q.d) FROM p JOIN q ON p.id = q.k GROUP BY p.k HAVING count(DISTINCT q.d) > 1 ORDER BY 1;
SELECT q.k, count(DISTINCT r.name) FROM q LEFT JOIN r ON r.v = q.k GROUP BY q.k ORDER BY 1 LIMIT 70;
SELECT (SELECT max(n) FROM (SELECT count(DISTINCT t) AS n FROM p WHERE p.k <> r.v GROUP BY k) x) FROM r WHERE v < 4 ORDER BY v;
SELECT k, count(DISTINCT t), sum(count(*)) OVER (ORDER BY k) FROM p GROUP BY k ORDER BY 1 LIMIT 30;
SELECT DISTINCT count(DISTINCT t) FROM p GROUP BY k ORDER BY 1;
-- params: 5
-- params: NULL
SELECT k, count(DISTINCT t) FROM p WHERE id % 7 = $1 GROUP BY k HAVING count(DISTINCT t) >= $1 - 4 ORDER BY 1;

-- values that are equal under the collation of one side
SELECT count(*), sum(p.id), count(n.v), sum(n.v) FROM p LEFT JOIN nocase n ON p.t = n.t;
SELECT count(*), sum(n.v) FROM nocase n WHERE NOT EXISTS (SELECT FROM p WHERE p.t = n.t AND p.id < 100);
SELECT count(*), sum(p.id), sum(n.v) FROM p JOIN nocase n ON p.t = n.t;
SELECT count(*), sum(n) FROM (SELECT n.t, count(*) AS n FROM nocase n LEFT JOIN w ON n.t COLLATE "C" = w.w GROUP BY n.t) s;
SELECT count(*), sum(n) FROM (SELECT n.t, count(*) AS n FROM nocase n LEFT JOIN w ON n.t = w.w COLLATE "C" GROUP BY n.t) s;
SELECT count(*) FROM (SELECT DISTINCT n.t FROM nocase n LEFT JOIN w ON n.t COLLATE "C" = w.w) s;

-- tables that different roles are asked for
BEGIN;
GRANT SELECT ON p TO o_repartition_reader;
GRANT SELECT ON q, nocase TO o_repartition_owner;
CREATE VIEW owned AS SELECT q.id, n.v FROM q JOIN nocase n ON q.k = n.v;
GRANT o_repartition_owner TO CURRENT_USER;
GRANT CREATE ON SCHEMA o_repartition TO o_repartition_owner;
ALTER VIEW owned OWNER TO o_repartition_owner;
GRANT SELECT ON owned TO o_repartition_reader;
SET LOCAL ROLE o_repartition_reader;
SELECT count(*), sum(o.id) FROM p JOIN owned o ON p.id = o.v;
ROLLBACK;

-- more columns than can be sent
SELECT * FROM wide JOIN p ON p.k = wide.k WHERE wide.id < 20 ORDER BY wide.id, p.id;

-- several tables, one after the other; with reference, local and undistributed ones
SELECT count(*), sum(q.id), sum(w.v) FROM p JOIN q ON p.k = q.id JOIN w ON w.w = p.t;
SELECT count(*), sum(q.id), max(r.name) FROM p JOIN q ON p.k = q.k JOIN r ON r.v = q.k JOIN w ON w.w = q.t;
SELECT count(*), sum(s.id) FROM p JOIN s ON p.k = s.v;
SELECT count(*), sum(l.v) FROM p JOIN q ON p.id = q.k JOIN l ON l.v = p.k;
SELECT r.name, count(*), avg(x)::numeric(12, 4) FROM p JOIN q ON p.id = q.k LEFT JOIN r ON r.v = p.k GROUP BY r.name ORDER BY 1;

-- above it: windows, DISTINCT, limits, set operations, subqueries
SELECT DISTINCT p.k FROM p JOIN q ON p.k = q.k ORDER BY 1 LIMIT 10 OFFSET 3;
SELECT id, n FROM (SELECT p.id, row_number() OVER (PARTITION BY p.id ORDER BY q.id) AS n FROM p JOIN q ON p.id = q.k) s
 WHERE n > 3 ORDER BY 1, 2 LIMIT 20;
SELECT k, count(*) FROM (SELECT p.k FROM p JOIN q ON p.k = q.id UNION ALL SELECT q.k::int FROM q JOIN w ON q.t = w.w) s
 GROUP BY k ORDER BY 2 DESC, 1 LIMIT 15;
SELECT p.id, (SELECT count(*) FROM p b JOIN q ON b.k = q.k WHERE q.id < p.id) FROM p WHERE p.id <= 5 ORDER BY 1;
WITH big AS MATERIALIZED (SELECT p.id, q.t FROM p JOIN q ON p.id = q.k) SELECT count(*), max(t) FROM big JOIN r ON r.v = big.id;
SELECT count(*) FROM p JOIN LATERAL (SELECT q.id FROM q WHERE q.k = p.k AND q.id > p.id) o ON true;
-- pruned
SELECT p.id, q.id FROM p JOIN q ON p.id = q.k WHERE p.id IN (5, 17, 400) ORDER BY 1, 2;
SELECT p.id, q.id FROM p LEFT JOIN q ON p.id = q.k WHERE p.id = 17 ORDER BY 1, 2;
-- params: 5, 100
-- params: 900, 20
-- params: NULL, 20
SELECT count(*), sum(q.id) FROM p JOIN q ON p.k = q.k WHERE p.id > $1 AND q.id + p.id < $2 * 50;

-- errors on the way there, and behind it
-- both fail: 22012
SELECT count(*) FROM p JOIN (SELECT id, k / (id - 30) AS k FROM q) q ON p.id = q.k;
-- both fail: 22012
SELECT sum(1 / (q.id - 30)) FROM p JOIN q ON p.id = q.k;

-- own writes, cursors, savepoints
BEGIN;
INSERT INTO p SELECT g, 5000, 'new', 1 FROM generate_series(9001, 9200) g;
INSERT INTO q SELECT g, 5000, 'new', NULL, NULL, 0, NULL FROM generate_series(1, 3) g;
UPDATE p SET k = 5001 WHERE k = 7;
SELECT count(*), sum(p.id) FROM p JOIN q ON p.k = q.k WHERE q.t = 'new';
SELECT count(*) FROM p JOIN q ON p.k = q.k;
SAVEPOINT s;
DELETE FROM q WHERE k = 5000;
SELECT count(*) FROM p JOIN q ON p.k = q.k;
SELECT sum(1 / (q.id - 30)) FROM p JOIN q ON p.id = q.k;
ROLLBACK TO s;
SELECT count(*) FROM p JOIN q ON p.k = q.k;
-- more failures than a server has connections, where they leave any behind; in two statements, each within its limit of time
DO $$
BEGIN
  FOR i IN 1..CASE WHEN current_setting('citus.enable_repartition_joins', true) = 'off' THEN 5 ELSE 60 END LOOP
    BEGIN
      PERFORM sum(1 / (q.id - 30)) FROM p JOIN q ON p.id = q.k;
    EXCEPTION WHEN division_by_zero THEN
    END;
  END LOOP;
END $$;
DO $$
BEGIN
  FOR i IN 1..CASE WHEN current_setting('citus.enable_repartition_joins', true) = 'off' THEN 5 ELSE 60 END LOOP
    BEGIN
      PERFORM sum(1 / (q.id - 30)) FROM p JOIN q ON p.id = q.k;
    EXCEPTION WHEN division_by_zero THEN
    END;
  END LOOP;
END $$;
SELECT count(*) FROM p JOIN q ON p.k = q.k;
DECLARE c CURSOR FOR SELECT p.id, q.id FROM p JOIN q ON p.k = q.id ORDER BY 1, 2;
FETCH 5 FROM c;
SELECT count(*) FROM p JOIN q ON p.id = q.k;
DELETE FROM q;
FETCH 5 FROM c;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM p JOIN q ON p.k = q.k;
DELETE FROM q WHERE id % 2 = 0;
SELECT count(*) FROM p JOIN q ON p.k = q.k;
ROLLBACK;

-- rows of writes
CREATE TABLE u (id int, n bigint);
-- distribute: u(id)
INSERT INTO u SELECT p.id, count(*) FROM p JOIN q ON p.k = q.k GROUP BY p.id;
SELECT count(*), sum(n) FROM u;
UPDATE p SET x = s.n FROM (SELECT p.id, count(*) AS n FROM p JOIN q ON p.k = q.id GROUP BY p.id) s WHERE s.id = p.id;
DELETE FROM q USING p WHERE p.k = q.k AND p.id < 100;
SELECT count(*), sum(x) FROM p;
SELECT count(*) FROM q;
WITH gone AS (DELETE FROM u WHERE id < 50 RETURNING id) SELECT count(*) FROM gone JOIN p ON p.k = gone.id JOIN q ON q.k = p.k;
