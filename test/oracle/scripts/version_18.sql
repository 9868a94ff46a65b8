-- What version 18 of the server has that earlier ones don't, besides OLD and NEW in RETURNING and names of NOT NULL.
-- needs: 18
-- distribute: t(id), s(id), r reference, one single, p(tenant)
CREATE TYPE pair AS (a int, b text);
CREATE TABLE t (id int PRIMARY KEY, v int, w text, p pair);
CREATE TABLE s (id int, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE one (id int PRIMARY KEY, v int);
CREATE TABLE p (tenant int, n int, v int) PARTITION BY RANGE (n);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
INSERT INTO t SELECT i, i % 5, 'x' || i % 3, ROW(i % 4, 'p' || i % 2)::pair FROM generate_series(1, 40) i;
INSERT INTO s SELECT i, i * 10 FROM generate_series(30, 50) i;
INSERT INTO r SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO one SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO p SELECT i, i, i FROM generate_series(1, 20) i;
-- setup ends

-- min and max of rows, arrays
SELECT max(p), min(p) FROM t;
SELECT v, max(p), min(p) FROM t GROUP BY v ORDER BY v;
SELECT id, max(p) FROM t WHERE id < 5 GROUP BY id ORDER BY id;
SELECT id, max(p) FROM t WHERE id = 5 GROUP BY id ORDER BY id;
SELECT max(ROW(id, v)) FROM t;
SELECT max(ROW(v, id)) > ROW(4, 1) FROM t GROUP BY v ORDER BY v;
SELECT max(p) OVER (PARTITION BY v ORDER BY id), id FROM t WHERE id < 9 ORDER BY id;
SELECT max(x.p) FROM (SELECT v, max(p) AS p FROM t GROUP BY v) x;
SELECT max(ARRAY[id, v]), min(ARRAY[v, id]) FROM t;
SELECT max(w::bytea), min(w::bytea) FROM t;

-- virtual generated columns, the default kind
ALTER TABLE t ADD COLUMN twice int GENERATED ALWAYS AS (v * 2);
ALTER TABLE t ADD COLUMN label text GENERATED ALWAYS AS (w || '!') VIRTUAL NOT NULL;
SELECT id, twice, label FROM t WHERE id = 7;
SELECT twice, count(*), min(label) FROM t GROUP BY twice ORDER BY twice;
SELECT a.id, b.twice FROM t a JOIN t b ON a.twice = b.id ORDER BY 1;
UPDATE t SET v = v + 1 WHERE twice = 4;
UPDATE t SET v = v - 1 FROM s WHERE s.id = t.id AND t.twice = 6 RETURNING t.id, old.twice, new.twice;
INSERT INTO t (id, v, w) VALUES (100, 1, 'a') RETURNING twice, label;
INSERT INTO t (id, v, w) VALUES (100, 2, 'a'), (101, 2, 'b') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, twice, label;
-- both fail: 23502
INSERT INTO t (id, v) VALUES (102, 1);
-- both fail: 428C9
INSERT INTO t (id, twice) VALUES (102, 1);
ALTER TABLE t ALTER COLUMN twice SET EXPRESSION AS (v * 2 + 1);
SELECT id, twice FROM t WHERE twice > 8 ORDER BY id;
ALTER TABLE t ADD CHECK (twice < 100);
-- both fail: 23514
INSERT INTO t (id, v, w) VALUES (103, 100, 'x');
-- both fail: 0A000
CREATE INDEX ON t (twice);
ALTER TABLE r ADD COLUMN twice int GENERATED ALWAYS AS (v * 2);
ALTER TABLE one ADD COLUMN twice int GENERATED ALWAYS AS (v * 2);
ALTER TABLE p ADD COLUMN twice int GENERATED ALWAYS AS (v * 2);
SELECT r.twice, one.twice FROM r JOIN one USING (id) WHERE id < 4 ORDER BY 1;
SELECT sum(twice) FROM p;
CREATE TABLE gen (id int, a int, b int GENERATED ALWAYS AS (a + 1), c int GENERATED ALWAYS AS (a + 2) STORED);
-- distribute: gen(id)
INSERT INTO gen SELECT i, i FROM generate_series(1, 9) i;
COPY (SELECT * FROM gen ORDER BY id) TO STDOUT;
ALTER TABLE gen ALTER COLUMN c SET EXPRESSION AS (a + 3);
-- same schema
SELECT * FROM gen ORDER BY id;
ALTER TABLE gen ALTER COLUMN c DROP EXPRESSION;
-- both fail: 0A000
ALTER TABLE gen ALTER COLUMN b DROP EXPRESSION;
ALTER TABLE gen DROP COLUMN b;

-- NOT ENFORCED in CREATE TABLE
CREATE TABLE loose (id int, v int CHECK (v > 0) NOT ENFORCED, FOREIGN KEY (v) REFERENCES r NOT ENFORCED);
-- distribute: loose(id)
INSERT INTO loose VALUES (1, -1), (2, 99);
-- same schema
ALTER TABLE loose ALTER CONSTRAINT loose_v_fkey ENFORCED;
SELECT conname, conenforced, convalidated FROM pg_constraint WHERE conrelid = 'loose'::regclass;

-- functions
SELECT array_sort(array_agg(v)), array_reverse(array_agg(v ORDER BY id)) FROM t WHERE id < 9;
SELECT array_sort(ARRAY[v, id, 3], true) FROM t WHERE id = 5;
SELECT casefold(upper(w)), reverse(w::bytea), crc32(w::bytea), crc32c(w::bytea) FROM t WHERE id = 5;
SELECT count(DISTINCT uuidv7()), uuid_extract_version(min(uuidv7()::text)::uuid), uuid_extract_version(uuidv4()) FROM t;
UPDATE t SET w = left(uuidv7()::text, 0) WHERE id < 5 RETURNING id, w;
SELECT gamma(v + 1), lgamma(v + 1.0) FROM t WHERE id = 4;
SELECT id::bytea, v::bigint::bytea::bigint FROM t WHERE id IN (5, 6) ORDER BY id;
SELECT json_strip_nulls(json_build_array(v, NULL), true), to_number('XVII', 'RN') FROM t WHERE id = 5;
SELECT id FROM t WHERE ('null'::jsonb)::int IS NULL AND id = 5;
SELECT regexp_replace(string => w, pattern => 'x', replacement => 'y') FROM t WHERE id = 5;
SELECT w COLLATE pg_unicode_fast FROM t WHERE id < 9 ORDER BY w COLLATE pg_unicode_fast, id;
SELECT date_bin('1 hour', 'epoch', 'epoch') IS NOT NULL, extract(week FROM interval '1 day') FROM t WHERE id = 5;

-- COPY
COPY t (id, v, w) FROM PROGRAM 'printf "200,1,a\nbad,2,b\n201,x,c\n202,3,d\n"' (FORMAT csv, ON_ERROR ignore, REJECT_LIMIT 2, LOG_VERBOSITY silent);
-- both fail: 22P02
COPY t (id, v, w) FROM PROGRAM 'printf "203,1,a\nbad,2,b\n204,x,c\n205,3,d\n"' (FORMAT csv, ON_ERROR ignore, REJECT_LIMIT 1);
COPY r (id, v) FROM PROGRAM 'printf "200,1\nbad,2\n"' (FORMAT csv, ON_ERROR ignore, REJECT_LIMIT 1);
SELECT id, v, w FROM t WHERE id >= 200 ORDER BY id;
CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v;
COPY (TABLE m ORDER BY v) TO STDOUT;

-- maintenance
VACUUM ONLY p;
ANALYZE ONLY p;
ANALYZE p;

-- keys of time
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TABLE stays (room int, at int4range, guest text, PRIMARY KEY (room, at WITHOUT OVERLAPS));
-- distribute: stays(room)
CREATE TABLE bills (room int, at int4range, sum numeric, FOREIGN KEY (room, PERIOD at) REFERENCES stays (room, PERIOD at));
-- distribute: bills(room) with stays
INSERT INTO stays VALUES (1, '[1,5)', 'a'), (1, '[5,9)', 'b'), (2, '[1,9)', 'c');
-- both fail: 23P01
INSERT INTO stays VALUES (1, '[4,6)', 'd');
INSERT INTO bills VALUES (1, '[2,8)', 10);
-- both fail: 23503
INSERT INTO bills VALUES (2, '[2,12)', 10);
-- both fail: 23503
DELETE FROM stays WHERE room = 1 AND at @> 3;
UPDATE stays SET guest = 'e' WHERE room = 1 AND at @> 3 RETURNING old.guest, new.guest;
-- same schema
SELECT * FROM stays ORDER BY room, at;
CREATE TABLE uniq (room int, at int4range);
-- distribute: uniq(room)
ALTER TABLE uniq ADD CONSTRAINT uniq_at UNIQUE (room, at WITHOUT OVERLAPS);
INSERT INTO uniq VALUES (1, '[1,5)'), (1, '[5,9)');
-- both fail: 23P01
INSERT INTO uniq VALUES (1, '[4,6)');
ALTER TABLE uniq DROP CONSTRAINT uniq_at;

-- a key that a partition has from its parent is checked there
CREATE TABLE chain (id int, n int, PRIMARY KEY (id, n)) PARTITION BY RANGE (n);
-- distribute: chain(id)
CREATE TABLE chain_1 PARTITION OF chain FOR VALUES FROM (0) TO (100);
ALTER TABLE chain ADD CONSTRAINT chain_self FOREIGN KEY (id, n) REFERENCES chain NOT VALID;
CREATE TABLE chain_2 PARTITION OF chain FOR VALUES FROM (100) TO (200);
INSERT INTO chain SELECT g, g FROM generate_series(1, 150) g;
ALTER TABLE chain_1 VALIDATE CONSTRAINT chain_self;
ALTER TABLE chain VALIDATE CONSTRAINT chain_self;
SELECT conrelid::regclass::text, conname, convalidated FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text ~ '^chain' ORDER BY 1, 2;
-- a local table's rows can't be compared with periods in shards
CREATE TABLE guests (room int, at int4range, FOREIGN KEY (room, PERIOD at) REFERENCES stays (room, PERIOD at));
-- cluster fails: 55000
INSERT INTO guests VALUES (1, '[2,4)');
DROP TABLE guests;
CREATE TABLE visits (room int REFERENCES t NOT ENFORCED);
INSERT INTO visits VALUES (3), (NULL);
-- cluster fails: 0A000
ALTER TABLE visits ALTER CONSTRAINT visits_room_fkey ENFORCED;
DROP TABLE visits;
