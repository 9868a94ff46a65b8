-- What the release notes of versions 16 and 17 name besides version_17 and version_17_statements.
-- needs: 17
-- distribute: t(id), r reference, one single, parted(tenant)
CREATE TABLE t (id int PRIMARY KEY, v int, w text, at timestamptz);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE one (id int PRIMARY KEY, v int);
CREATE TABLE parted (tenant int, n int, PRIMARY KEY (tenant, n)) PARTITION BY RANGE (n);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
INSERT INTO t SELECT i, i % 5, 'w' || i % 3, '2024-03-30 12:00+00'::timestamptz + i * interval '1 hour' FROM generate_series(1, 40) i;
INSERT INTO r SELECT i, i * 2 FROM generate_series(1, 10) i;
INSERT INTO one SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO parted SELECT i, i FROM generate_series(1, 20) i;
-- setup ends

-- 16: functions and spellings
SELECT date_subtract(at, '1 day', 'Europe/Berlin'), '+infinity'::timestamptz > at, '+infinity'::date IS NOT NULL FROM t WHERE id = 20;
SELECT g FROM t, generate_series(at, at + interval '2 days', '1 day', 'Europe/Berlin') g WHERE id = 3 ORDER BY g;
SELECT erfc(v) < 0.2, erf(0) FROM t WHERE id = 4;
SELECT count(array_sample(ARRAY[v, id], 1)), array_length(array_shuffle(array_agg(id)), 1) FROM t;
SELECT string_agg(w, '' ORDER BY id), string_agg(w::bytea, ''::bytea ORDER BY id), array_agg(v ORDER BY id) FROM t GROUP BY v ORDER BY v;
SELECT to_regclass('t')::oid IS NOT NULL, to_regtype('23') FROM t WHERE id = 1;
SELECT id, '0x1F'::int + v, '1_000'::bigint, '0b101'::numeric FROM t WHERE id = 1;
SELECT id, rank() OVER (ORDER BY id), ntile(4) OVER (ORDER BY id), count(*) OVER (ORDER BY id) FROM t ORDER BY id LIMIT 5;
SELECT string_agg(DISTINCT w, ',' ORDER BY w) FROM t;
SELECT last_seq_scan IS NULL OR last_seq_scan <= clock_timestamp(), n_tup_newpage_upd >= 0 FROM pg_stat_user_tables WHERE relname = 't' AND schemaname = current_schema();

-- 16: cursors of PL/pgSQL have no name of their own; the function's oid
CREATE FUNCTION walk() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR FOR SELECT v FROM t ORDER BY id;
  d CURSOR FOR SELECT v FROM one ORDER BY id;
  a int; b int; o oid; sum int := 0;
BEGIN
  GET DIAGNOSTICS o = PG_ROUTINE_OID;
  OPEN c; OPEN d;
  FETCH c INTO a; FETCH d INTO b;
  RETURN CASE WHEN o = 'walk()'::regprocedure THEN a + b END;
END $$;
SELECT walk();

-- 16: memory and locks of maintenance
SET vacuum_buffer_usage_limit = '512kB';
VACUUM t;
ANALYZE (BUFFER_USAGE_LIMIT '1MB') t, parted;
RESET vacuum_buffer_usage_limit;
SET scram_iterations = 5000;
RESET scram_iterations;
SET enable_presorted_aggregate = off;
SELECT v, string_agg(w, ',' ORDER BY id) FROM t WHERE id < 9 GROUP BY v ORDER BY v;
RESET enable_presorted_aggregate;
SET debug_parallel_query = on;
SELECT sum(v), count(DISTINCT w) FROM t;
SELECT count(*) FROM t FULL JOIN r USING (id);
RESET debug_parallel_query;

-- 17: columns of arrays of a column's type
CREATE FUNCTION typed() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  ws t.w%TYPE[]; rs t%ROWTYPE[];
BEGIN
  SELECT array_agg(w ORDER BY id), array_agg(t ORDER BY id) INTO ws, rs FROM t WHERE id < 4;
  RETURN ws::text || rs[2].w || array_length(rs, 1);
END $$;
SELECT typed();

-- 17: functions
SELECT uuid_extract_version('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid), uuid_extract_timestamp('C232AB00-9414-11EC-B3C8-9F6BDECED846'::uuid) FROM t WHERE id = 2;
SELECT to_timestamp('2024-01-01 12:00 +02:30', 'YYYY-MM-DD HH24:MI OF') FROM t WHERE id = 2;
SELECT to_char('infinity'::interval, 'HH') IS NULL, justify_days('infinity'::interval), isfinite('-infinity'::interval) FROM t WHERE id = 2;
SELECT sum(make_interval(hours => v)), avg(make_interval(hours => v)) FROM t;
SELECT sum(CASE WHEN id = 7 THEN 'infinity'::interval ELSE make_interval(hours => v) END) FROM t;
-- both fail: 22008
SELECT sum(CASE WHEN id = 7 THEN 'infinity'::interval WHEN id = 8 THEN '-infinity' ELSE make_interval(hours => v) END) FROM t;
SELECT pg_column_toast_chunk_id(w) FROM t WHERE id = 2;
SELECT random(1, 6) BETWEEN 1 AND 6, random(10000000000, 10000000001) > 1, random(0.5, 1.5) > 0 FROM t WHERE id < 3;
SELECT to_regtypemod('varchar(7)'), format_type(to_regtype('varchar(7)'), to_regtypemod('varchar(7)')) FROM t WHERE id = 2;
SELECT jsonb_path_query_array(to_jsonb(at), '$.timestamp_tz()') IS NOT NULL, jsonb_path_query(to_jsonb(v), '$.bigint()'), jsonb_path_query(to_jsonb(w), '$.boolean()') FROM t WHERE id = 2 AND w = 'x';
SELECT jsonb_path_query(to_jsonb(v::text), '$.integer()'), jsonb_path_query(to_jsonb(v::text), '$.number()'), jsonb_path_query('"2024-01-02"', '$.date()') FROM t WHERE id = 2;
SELECT w, count(*) FROM t WHERE w ~ '^w' GROUP BY w HAVING max(v) IN (SELECT v FROM one WHERE one.v = max(t.v)) ORDER BY w;
SELECT id FROM t WHERE (v, id) IN (SELECT r.v, t.id FROM r WHERE r.id = t.v) ORDER BY id;
SELECT id FROM t WHERE v = ANY (SELECT one.v FROM one WHERE one.id <= t.v) ORDER BY id LIMIT 5;

-- 17: COPY of all columns
COPY t (id, w) FROM PROGRAM 'printf "203,x\n204,\"\"\n"' (FORMAT csv, FORCE_NULL *);
COPY t (id, w) FROM PROGRAM 'printf "205,\n"' (FORMAT csv, FORCE_NOT_NULL *);
SELECT id, w, w IS NULL FROM t WHERE id > 200 ORDER BY id;

-- 17: what maintenance runs has a safe search_path: names in functions of indexes need their schemas
CREATE FUNCTION inner_one(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE FUNCTION outer_one(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN inner_one($1); END';
-- both fail: 42883
CREATE INDEX ON t (outer_one(v));
-- both fail: 42883
CREATE INDEX ON parted (outer_one(n));
-- both fail: 42883
CREATE MATERIALIZED VIEW outer_view AS SELECT outer_one(v) FROM t;
CREATE MATERIALIZED VIEW inner_view AS SELECT inner_one(v) AS v FROM t;
REFRESH MATERIALIZED VIEW inner_view;
SELECT sum(v) FROM inner_view;

-- 17: constraints of domains, operators
CREATE DOMAIN posint AS int;
ALTER DOMAIN posint ADD CONSTRAINT posint_there NOT NULL;
CREATE TABLE doms (id int, d posint);
-- distribute: doms(id)
-- both fail: 23502
INSERT INTO doms VALUES (1, NULL);
ALTER DOMAIN posint DROP NOT NULL;
INSERT INTO doms VALUES (1, NULL);
-- both fail: 23502
ALTER DOMAIN posint SET NOT NULL;
DELETE FROM doms;
ALTER DOMAIN posint SET NOT NULL;
SELECT conname, contype FROM pg_constraint WHERE contypid = 'posint'::regtype;
CREATE FUNCTION same_int(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2';
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = same_int);
ALTER OPERATOR === (int, int) SET (COMMUTATOR = ===, RESTRICT = eqsel, JOIN = eqjoinsel);
SELECT count(*) FROM t JOIN r ON t.v OPERATOR(===) r.id;
-- both fail: 42P13
ALTER OPERATOR === (int, int) SET (COMMUTATOR = <>);
CREATE FUNCTION other_int(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 <> $2';
CREATE OPERATOR !== (LEFTARG = int, RIGHTARG = int, FUNCTION = other_int);
ALTER OPERATOR === (int, int) SET (NEGATOR = !==, MERGES, HASHES);
SELECT count(*) FROM t WHERE NOT v OPERATOR(===) 3;

-- 16: maintenance of a whole database
REINDEX (VERBOSE false) SCHEMA pg_toast;
REINDEX SYSTEM;
CLUSTER (VERBOSE false);
-- 17: only owners of tables may maintain; privileges shown
GRANT MAINTAIN ON parted TO pg_monitor;
SELECT has_table_privilege('pg_monitor', 'parted', 'MAINTAIN'), relacl::text LIKE '%pg_monitor=m%' FROM pg_class WHERE oid = 'parted'::regclass;
-- same schema
REVOKE ALL ON parted FROM pg_monitor;

-- 16, 17: SQL/JSON in what nodes get as text: views, constraints, defaults, indexes, generated columns, functions
CREATE TABLE docs (id int, j jsonb CHECK (j IS JSON OBJECT), kind text GENERATED ALWAYS AS (JSON_VALUE(j, '$.kind' DEFAULT 'none' ON EMPTY)) STORED,
  extra jsonb DEFAULT JSON_OBJECT('a': 1, 'b': JSON_ARRAY(1, 2 RETURNING jsonb) RETURNING jsonb),
  CHECK (JSON_EXISTS(j, '$.kind' FALSE ON ERROR) OR JSON_QUERY(extra, '$.b') IS NOT NULL));
-- distribute: docs(id)
CREATE INDEX ON docs (JSON_VALUE(j, '$.n' RETURNING int));
INSERT INTO docs (id, j) SELECT g, JSON_OBJECT('kind': 'k' || g % 3, 'n': g, 'list': JSON_ARRAY(g, 'x', NULL NULL ON NULL), 'o': JSON_OBJECT('p': g) RETURNING jsonb)
  FROM generate_series(1, 20) g;
INSERT INTO docs VALUES (100, '{}');
-- both fail: 23514
INSERT INTO docs VALUES (101, '[]');
SELECT kind, count(*), JSON_OBJECTAGG(id: extra ABSENT ON NULL WITH UNIQUE KEYS RETURNING jsonb) FROM docs WHERE id < 7 GROUP BY kind ORDER BY kind;
CREATE VIEW flat AS SELECT d.id, x.* FROM docs d, JSON_TABLE(d.j, 'lax $' PASSING d.id AS me COLUMNS (
    kind text PATH '$.kind' DEFAULT 'no' ON EMPTY, has_n boolean EXISTS PATH '$.n' UNKNOWN ON ERROR, whole jsonb FORMAT JSON PATH '$.o' WITH CONDITIONAL WRAPPER NULL ON EMPTY,
    quoted text FORMAT JSON PATH '$.kind' OMIT QUOTES, mine boolean PATH '$.n ? (@ == $me)' DEFAULT false ON ERROR,
    NESTED PATH '$.list[*]' AS items COLUMNS (pos FOR ORDINALITY, item text PATH '$'), NESTED '$.o' COLUMNS (p int PATH '$.p' ERROR ON ERROR))
  EMPTY ON ERROR) x;
SELECT id, kind, has_n, whole, quoted, pos, item, p FROM flat WHERE id IN (3, 100) ORDER BY id, pos, p;
SELECT kind, count(*), count(item), sum(p) FROM flat GROUP BY kind ORDER BY kind;
SELECT f.item, count(*) FROM flat f JOIN r ON r.id = f.p WHERE f.has_n GROUP BY f.item ORDER BY 1;
SELECT d.id, (SELECT string_agg(x.item, '') FROM JSON_TABLE(d.j, '$.list[*]' COLUMNS (item text PATH '$')) x) FROM docs d WHERE d.id < 3 ORDER BY 1;
MERGE INTO docs USING JSON_TABLE('[{"i": 3, "k": "new"}, {"i": 300, "k": "added"}]'::jsonb, '$[*]' COLUMNS (i int PATH '$.i', k text PATH '$.k')) s ON docs.id = s.i
  WHEN MATCHED THEN UPDATE SET j = JSON_OBJECT('kind': s.k RETURNING jsonb) WHEN NOT MATCHED THEN INSERT (id, j) VALUES (s.i, JSON_OBJECT('kind': s.k RETURNING jsonb));
SELECT id, kind, j FROM docs WHERE kind IN ('new', 'added') ORDER BY id;
INSERT INTO docs (id, j) SELECT i, j FROM JSON_TABLE('[{"i": 400, "d": {"kind": 1}}]'::jsonb, '$[*]' COLUMNS (i int PATH '$.i', j jsonb PATH '$.d')) RETURNING id, kind;
UPDATE docs SET j = JSON_QUERY(j, '$' RETURNING jsonb) || jsonb_build_object('n', JSON_VALUE(j, '$.n' RETURNING int DEFAULT 0 ON EMPTY) + 1) WHERE JSON_EXISTS(j, '$ ? (@.n > $low)' PASSING id - 1 AS low)
  RETURNING id, JSON_VALUE(j, '$.n' RETURNING int);
DELETE FROM docs USING JSON_TABLE('[5, 6]'::jsonb, '$[*]' COLUMNS (i int PATH '$')) x WHERE docs.id = x.i RETURNING docs.id;
SELECT JSON_ARRAY(SELECT id FROM docs WHERE id < 4 ORDER BY id), JSON_ARRAYAGG(kind ORDER BY id RETURNING text), JSON_SERIALIZE(JSON(j::text WITHOUT UNIQUE KEYS) RETURNING bytea) IS NOT NULL FROM docs WHERE id = 2 GROUP BY j;
-- same schema
ALTER TABLE docs ADD CHECK (JSON_VALUE(extra, '$.a' RETURNING int DEFAULT 1 ON EMPTY) < 10);
