-- Statements and functions of versions 16 and 17, as docs/versions.md lists them.
-- needs: 17
-- distribute: t(id), r reference, one single, p(k)
CREATE TABLE t (id int PRIMARY KEY, v int, w text, j jsonb, at timestamptz);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE one (id int PRIMARY KEY, v int);
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TABLE p (k int, n int, at int4range, EXCLUDE USING gist (k WITH =, at WITH &&)) PARTITION BY LIST (k);
-- setup ends

-- 16: literals, subqueries without names, new functions
INSERT INTO t SELECT i, i % 0x5, 'w' || i % 0b11, jsonb_build_object('a', i, 'b', jsonb_build_array(i, 'x')), '2024-01-01 12:00+00'
  FROM (SELECT generate_series(1, 4_0)) AS g(i);
INSERT INTO r SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO one SELECT i, i FROM generate_series(1, 10) i;
SELECT count(*) FROM (SELECT v FROM t WHERE id > 0o17);
SELECT any_value(w ORDER BY id) FROM t WHERE v = 2;
SELECT v, any_value(w ORDER BY id DESC) FROM t GROUP BY v ORDER BY v;
SELECT id, w IS JSON, j::text IS JSON OBJECT, j::text IS JSON WITH UNIQUE KEYS FROM t WHERE id < 3 ORDER BY id;
SELECT JSON_OBJECT('k': v, 'l': w ABSENT ON NULL), JSON_ARRAY(v, NULL NULL ON NULL) FROM t WHERE id < 4 ORDER BY id;
SELECT v, JSON_ARRAYAGG(id ORDER BY id), JSON_OBJECTAGG(w: v WITHOUT UNIQUE) IS NOT NULL FROM t GROUP BY v ORDER BY v;
SELECT JSON_ARRAYAGG(w ORDER BY id RETURNING jsonb) FROM t WHERE v = 1;
SELECT JSON_OBJECTAGG(id: w RETURNING jsonb) FROM t;
SELECT pg_input_is_valid(w, 'integer'), (pg_input_error_info(w, 'integer')).sql_error_code FROM t WHERE id = 1;
SELECT date_add(at, '1 day', 'UTC') = at + interval '1 day', erf(v) > 0.8, array_length(array_shuffle(ARRAY[v, id]), 1) FROM t WHERE id = 1;
SELECT count(random_normal(0, 1)), min(random_normal(v, 0)), system_user IS NULL FROM t;
SELECT xmlserialize(DOCUMENT ('<a><b>' || v || '</b></a>')::xml AS text INDENT) FROM t WHERE id = 3;
CREATE STATISTICS ON v, w FROM t;
ANALYZE t;
ALTER TABLE t ALTER w SET STORAGE DEFAULT;
CREATE TABLE stored (id int, body text STORAGE EXTERNAL COMPRESSION pglz);
-- distribute: stored(id)
COPY t (id, v, w) FROM PROGRAM 'printf "201,1,D\n202,2,x\n"' (FORMAT csv, DEFAULT 'D');
COPY t (id, w) FROM PROGRAM 'printf "203,x\n204,\n"' (FORMAT csv, FORCE_NULL *);
COPY (SELECT id, w FROM t WHERE id > 200 ORDER BY id) TO STDOUT (FORMAT csv, FORCE_QUOTE *);
VACUUM (PROCESS_MAIN false, BUFFER_USAGE_LIMIT '256kB') t;
VACUUM (SKIP_DATABASE_STATS) t;
VACUUM (ONLY_DATABASE_STATS);
DO $$
DECLARE
  line text;
BEGIN
  EXECUTE 'EXPLAIN (GENERIC_PLAN) SELECT * FROM t WHERE id = $1' INTO line;
  EXECUTE 'EXPLAIN (GENERIC_PLAN) SELECT count(*) FROM t WHERE v = $1 GROUP BY v' INTO line;
  EXECUTE 'EXPLAIN (MEMORY) SELECT count(*) FROM t' INTO line;
  EXECUTE 'EXPLAIN (ANALYZE, SERIALIZE BINARY) SELECT * FROM t' INTO line;
  EXECUTE 'EXPLAIN (ANALYZE, SERIALIZE TEXT, MEMORY) SELECT * FROM t WHERE id = 1' INTO line;
END $$;

-- 17: JSON
SELECT t.id, x.* FROM t, JSON_TABLE(t.j, '$' COLUMNS (n FOR ORDINALITY, a int PATH '$.a', NESTED PATH '$.b[*]' COLUMNS (b text PATH '$'))) x
  WHERE t.id < 3 ORDER BY 1, 4;
SELECT x.a, count(*) FROM t JOIN r ON r.id = t.v, JSON_TABLE(t.j, '$' COLUMNS (a int PATH '$.a')) x WHERE t.id < 9 GROUP BY 1 ORDER BY 1;
SELECT id, JSON_EXISTS(j, '$.b[*] ? (@ == "x")'), JSON_VALUE(j, '$.a' RETURNING int), JSON_QUERY(j, '$.b' WITH WRAPPER) FROM t WHERE id < 3 ORDER BY id;
SELECT JSON_VALUE(j, '$.none' DEFAULT 'n' ON EMPTY), JSON_QUERY(j, 'lax $.b[*]' EMPTY ARRAY ON ERROR) FROM t WHERE id = 1;
-- both fail: 2203A
SELECT JSON_VALUE(j, 'strict $.none' ERROR ON ERROR) FROM t WHERE id = 1 OR v = 77;
SELECT JSON(w) IS NULL, JSON_SCALAR(v), JSON_SERIALIZE(JSON_SCALAR(w)) FROM t WHERE id = 201 OR id = 5 AND w IS JSON;
SELECT jsonb_path_query(j, '$.a.string()'), jsonb_path_query(j, '$.a.decimal(5,2)') FROM t WHERE id = 7;
SELECT sum(JSON_VALUE(j, '$.a' RETURNING numeric)) FROM t WHERE JSON_EXISTS(j, '$.a ? (@ > 30)');

-- 17: functions
SELECT to_bin(v), to_oct(id), random(3, 3), random(2.5, 2.5) FROM t WHERE id = 9;
SELECT at AT LOCAL = at AT TIME ZONE current_setting('TimeZone'), 'infinity'::interval > interval '1 year' FROM t WHERE id = 1;
SELECT max(CASE WHEN v = 1 THEN 'infinity'::interval ELSE make_interval(days => v) END) FROM t;
SELECT xmltext(w), unicode_assigned(w), pg_basetype('int'::regtype) FROM t WHERE id = 3;
SELECT w COLLATE pg_c_utf8 FROM t WHERE id < 5 ORDER BY w COLLATE pg_c_utf8, id;

-- 17: tables
CREATE COLLATION tailored (provider = icu, locale = 'en', rules = '&a < z');
SELECT id, w FROM t WHERE id < 9 ORDER BY w COLLATE tailored, id;
SELECT count(*) FROM t WHERE w < 'b' COLLATE tailored;
ALTER TABLE t ALTER COLUMN v SET STATISTICS 7;
ALTER TABLE t ALTER COLUMN v SET STATISTICS DEFAULT;
CREATE COLLATION plain (provider = builtin, locale = 'C.UTF-8');
CREATE TABLE named (k text COLLATE plain PRIMARY KEY, v text);
-- distribute: named(k)
INSERT INTO named VALUES ('b', 'B'), ('B', 'b'), ('ä', 'Ä');
SELECT k, upper(k) FROM named ORDER BY k;
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1, 2);
INSERT INTO p VALUES (1, 1, '[1,5)'), (2, 1, '[1,5)');
-- both fail: 23P01
INSERT INTO p VALUES (1, 2, '[4,6)');
CREATE TABLE ids (id int GENERATED BY DEFAULT AS IDENTITY, tenant int, PRIMARY KEY (id, tenant)) PARTITION BY RANGE (tenant);
-- distribute: ids(tenant)
CREATE TABLE ids1 PARTITION OF ids FOR VALUES FROM (0) TO (100);
INSERT INTO ids (tenant) VALUES (1), (2);
INSERT INTO ids1 (tenant) VALUES (3);
SELECT count(DISTINCT id), count(*) FROM ids;
ALTER TABLE ids SET ACCESS METHOD heap;
ALTER TABLE ids SET ACCESS METHOD DEFAULT;
GRANT MAINTAIN ON t, ids TO pg_monitor;
GRANT pg_maintain TO pg_monitor;
REVOKE pg_maintain FROM pg_monitor;
-- same schema
REVOKE MAINTAIN ON t FROM pg_monitor;
ALTER TABLE t ALTER v SET STATISTICS DEFAULT;
SET transaction_timeout = '1min';
BEGIN;
UPDATE t SET v = v;
SELECT count(*) FROM t;
COMMIT;
RESET transaction_timeout;
COPY t (id, v) FROM PROGRAM 'printf "301,1\nx,2\n302,y\n"' (FORMAT csv, ON_ERROR ignore, LOG_VERBOSITY verbose);
REINDEX TABLE t;
CLUSTER (VERBOSE false) t USING t_pkey;

-- 17: MERGE into views
CREATE VIEW tv AS SELECT id, v FROM t WHERE id < 100;
MERGE INTO tv USING one ON tv.id = one.id WHEN MATCHED AND one.v < 4 THEN UPDATE SET v = one.v WHEN MATCHED THEN DO NOTHING
  WHEN NOT MATCHED THEN INSERT VALUES (one.id, one.v);
SELECT id, v FROM t WHERE id < 6 OR id > 200 ORDER BY id;
