-- DDL on tables with data, inside and outside of transactions, TRUNCATE, and queries after it.
--
-- distribute: t(id), c(t_id) with t, r reference, one single, made(id), named(id), of_type(id), inner_t(id), inner_r reference
-- distribute: ctas(id), likes(id), again(id)

DROP SCHEMA IF EXISTS o_ddl_other CASCADE;
CREATE TABLE t (id int PRIMARY KEY, v int, w text);
CREATE TABLE c (t_id int NOT NULL, n int);
CREATE TABLE r (id int PRIMARY KEY, name text);
CREATE TABLE one (id int, v int);
CREATE TABLE loc (id int, v int);
INSERT INTO t SELECT i, i * 10, 'w' || i % 4 FROM generate_series(1, 30) i;
INSERT INTO c SELECT 1 + i % 30, i FROM generate_series(1, 60) i;
INSERT INTO r SELECT i, 'r' || i FROM generate_series(1, 5) i;
INSERT INTO one SELECT i, i FROM generate_series(1, 5) i;
INSERT INTO loc SELECT i, i FROM generate_series(1, 5) i;

-- setup ends
-- Columns.
ALTER TABLE t ADD COLUMN x int;
SELECT * FROM t WHERE id = 3;
ALTER TABLE t ADD COLUMN y int DEFAULT 5 NOT NULL, ADD COLUMN z text DEFAULT upper('z');
SELECT y, z, count(*) FROM t GROUP BY y, z;
INSERT INTO t (id) VALUES (100) RETURNING *;
ALTER TABLE t ALTER COLUMN v TYPE bigint USING v * 2;
SELECT v FROM t WHERE id = 3;
SELECT sum(v) FROM t;
ALTER TABLE t ALTER COLUMN x SET DEFAULT 9;
INSERT INTO t (id) VALUES (101) RETURNING x;
ALTER TABLE t ALTER COLUMN x DROP DEFAULT;
ALTER TABLE t ALTER COLUMN v SET NOT NULL;
UPDATE t SET v = 0 WHERE v IS NULL;
ALTER TABLE t ALTER COLUMN v SET NOT NULL;
INSERT INTO t (id) VALUES (102);
ALTER TABLE t ALTER COLUMN v DROP NOT NULL;
ALTER TABLE t RENAME COLUMN w TO label;
SELECT label FROM t WHERE id = 4;
SELECT w FROM t WHERE id = 4;
UPDATE t SET label = 'renamed' WHERE id = 4 RETURNING label;
ALTER TABLE t DROP COLUMN x;
ALTER TABLE t DROP COLUMN nothing;
ALTER TABLE t DROP COLUMN IF EXISTS nothing;
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (id * 100) STORED;
SELECT id, g FROM t WHERE id IN (1, 100) ORDER BY id;
ALTER TABLE t ALTER COLUMN label SET STATISTICS 50, ALTER COLUMN label SET STORAGE EXTERNAL;
ALTER TABLE r ADD COLUMN more int DEFAULT 1;
UPDATE r SET more = id;
SELECT * FROM r ORDER BY id;
ALTER TABLE one ADD COLUMN more text DEFAULT 'm';
SELECT * FROM one ORDER BY id;

-- Constraints and indexes.
ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0);
INSERT INTO t (id) VALUES (-1);
ALTER TABLE t ADD CHECK (v < 0);
ALTER TABLE t ADD CONSTRAINT later CHECK (v < 100000) NOT VALID;
ALTER TABLE t VALIDATE CONSTRAINT later;
ALTER TABLE t DROP CONSTRAINT positive;
INSERT INTO t (id) VALUES (-1) RETURNING id;
ALTER TABLE t ADD CONSTRAINT id_label UNIQUE (id, label);
CREATE INDEX ON t (label);
CREATE INDEX t_lower ON t (lower(label)) WHERE v > 10;
CREATE UNIQUE INDEX c_uniq ON c (t_id, n);
CREATE UNIQUE INDEX c_uniq ON c (t_id, n);
CREATE INDEX IF NOT EXISTS c_uniq ON c (t_id, n);
INSERT INTO c VALUES (2, 1);
SELECT count(*) FROM t WHERE lower(label) = 'w1' AND v > 10;
BEGIN;
DROP INDEX CONCURRENTLY t_lower;
ROLLBACK;
CREATE INDEX CONCURRENTLY t_late ON t (v);
DROP INDEX CONCURRENTLY t_late;
DROP INDEX t_lower;
DROP INDEX c_uniq;
INSERT INTO c VALUES (2, 1);
CREATE UNIQUE INDEX c_uniq ON c (t_id, n);
DELETE FROM c WHERE t_id = 2 AND n = 1;
ALTER TABLE t RENAME CONSTRAINT later TO sooner;
UPDATE t SET v = 1000000 WHERE id = 1;
ALTER TABLE c ADD CONSTRAINT c_fk FOREIGN KEY (t_id) REFERENCES t (id);
INSERT INTO c VALUES (9999, 1);
DELETE FROM t WHERE id = 1;
TRUNCATE t;
TRUNCATE t, c;
SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM c);
INSERT INTO t (id, v) SELECT i, i FROM generate_series(1, 12) i;
INSERT INTO c SELECT i, i FROM generate_series(1, 12) i;
TRUNCATE t CASCADE;
SELECT count(*) FROM c;
ALTER TABLE c DROP CONSTRAINT c_fk;
INSERT INTO c VALUES (9999, 1);
DROP TABLE t;

-- Created inside a transaction.
BEGIN;
CREATE TABLE made (id int PRIMARY KEY, v int);
INSERT INTO made SELECT i, i FROM generate_series(1, 20) i;
SELECT count(*), sum(v) FROM made;
SELECT v FROM made WHERE id = 5;
ALTER TABLE made ADD COLUMN w int DEFAULT 3;
UPDATE made SET w = v WHERE id < 4;
CREATE INDEX ON made (w);
SELECT id, w FROM made WHERE w < 5 ORDER BY id LIMIT 5;
ROLLBACK;
SELECT * FROM made;
BEGIN;
CREATE TABLE made (id int PRIMARY KEY, v int);
COPY made FROM STDIN;
1	10
2	20
3	30
\.
SAVEPOINT s;
TRUNCATE made;
SELECT count(*) FROM made;
ROLLBACK TO s;
SELECT sum(v) FROM made;
COMMIT;
SELECT * FROM made ORDER BY id;
-- both fail: 42P07
CREATE TABLE made (id int);
CREATE TABLE IF NOT EXISTS loc (id int);
BEGIN;
CREATE TABLE inner_r (id int PRIMARY KEY, name text);
INSERT INTO inner_r VALUES (1, 'one'), (2, 'two');
CREATE TABLE inner_t (id int, v int);
INSERT INTO inner_t SELECT i, i % 2 + 1 FROM generate_series(1, 10) i;
SELECT r.name, count(*) FROM inner_t t JOIN inner_r r ON r.id = t.v GROUP BY 1 ORDER BY 1;
DROP TABLE inner_r;
SELECT count(*) FROM inner_t;
COMMIT;
SELECT count(*) FROM inner_t;
SELECT count(*) FROM inner_r;
BEGIN;
DROP TABLE inner_t;
SELECT count(*) FROM inner_t;
ROLLBACK;
SELECT count(*) FROM inner_t;

-- Existing rows move to the shards; other ways of creation.
CREATE TABLE ctas AS SELECT i AS id, i * i AS sq FROM generate_series(1, 25) i;
SELECT count(*), sum(sq) FROM ctas;
SELECT sq FROM ctas WHERE id = 5;
CREATE TABLE likes (LIKE ctas INCLUDING ALL, extra text DEFAULT 'e');
INSERT INTO likes SELECT * FROM ctas;
SELECT count(*), min(extra) FROM likes;
SELECT * INTO into_local FROM ctas WHERE id < 4;
SELECT * FROM into_local ORDER BY id;
CREATE TEMP TABLE tmp AS SELECT id, sq FROM ctas WHERE id > 20;
SELECT tmp.id, likes.extra FROM tmp JOIN likes USING (id) ORDER BY 1;
INSERT INTO likes SELECT id + 100, sq FROM tmp;
DELETE FROM tmp USING likes WHERE likes.id = tmp.id AND likes.id = 21;
SELECT count(*) FROM tmp;
ALTER TABLE likes RENAME TO liked;
SELECT count(*) FROM liked;
SELECT count(*) FROM likes;
UPDATE liked SET extra = 'x' WHERE id = 7 RETURNING *;
ALTER TABLE liked RENAME TO likes;
CREATE SCHEMA o_ddl_other;
ALTER TABLE likes SET SCHEMA o_ddl_other;
SELECT count(*) FROM o_ddl_other.likes;
DROP SCHEMA o_ddl_other;
DROP SCHEMA o_ddl_other CASCADE;
CREATE TABLE again (id int, v text);
DROP TABLE again;
CREATE TABLE again (id int, v int);
INSERT INTO again VALUES (1, 2);
SELECT * FROM again;
DROP TABLE again, ctas;
DROP TABLE IF EXISTS again;
DROP TABLE again;
ANALYZE made;
VACUUM made;
VACUUM (ANALYZE) c, r;
REINDEX TABLE made;
SELECT count(*) FROM made;
TRUNCATE r;
SELECT count(*) FROM r;
TRUNCATE one, loc;
SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM loc);
COMMENT ON TABLE made IS 'a comment';
SELECT obj_description('made'::regclass);
CREATE SEQUENCE seq AS int START 10;
SELECT nextval('seq'), nextval('seq');
ALTER TABLE made ALTER COLUMN v SET DEFAULT nextval('seq');
INSERT INTO made (id) VALUES (500), (501) RETURNING v >= 10;
ALTER TABLE made ENABLE ROW LEVEL SECURITY;
SELECT count(*) FROM made;

-- Expressions that name their table.
CREATE TABLE named (id int CHECK (named.id > 0), v text, n int GENERATED ALWAYS AS (named.id + 1) STORED, CHECK (named IS NOT NULL));
INSERT INTO named VALUES (1, '10'), (2, '20');
INSERT INTO named VALUES (3, NULL);
ALTER TABLE named ADD CONSTRAINT short CHECK (length(named.v) < 4 AND o_ddl.named.id < 1000);
ALTER TABLE named ADD COLUMN m int GENERATED ALWAYS AS (named.id * 2) STORED;
-- statement needs: colocation
ALTER TABLE named ALTER COLUMN v TYPE int USING named.v::int + 1;
ALTER TABLE named ADD COLUMN w int DEFAULT 7 CHECK (named.w > 0);
CREATE UNIQUE INDEX ON named (id, (named.v + 1)) WHERE named.w > 0;
CREATE INDEX ON named ((named IS NULL));
CREATE STATISTICS of_named ON (named.v + 1), w FROM named;
ALTER TABLE named ADD CONSTRAINT alone EXCLUDE (id WITH =, (named.v + 1) WITH =) WHERE (named.id > 5);
SELECT * FROM named;
INSERT INTO named (id, v, w) VALUES (2, 21, 1);
INSERT INTO named (id, v, w) VALUES (6, 21, 1), (6, 21, 0);
INSERT INTO named (id, v, w) VALUES (2, 21, 0);
INSERT INTO named (id, v, w) VALUES (1000, 21, 1);
DROP TABLE named;

-- What depends on a column is reported first.
CREATE VIEW of_made AS SELECT id FROM made;
-- statement needs: colocation
ALTER TABLE made DROP COLUMN v, DROP COLUMN id;
ALTER TABLE made DROP COLUMN id;
SELECT count(*) FROM of_made;
DROP VIEW of_made;
CREATE TABLE of_type (id int, m made, CHECK ((m).id > 0));
CREATE VIEW on_of_type AS SELECT * FROM of_type;
DROP TABLE of_type;
DROP TABLE made;
DROP TABLE made, of_type;
DROP VIEW on_of_type;
-- statement needs: colocation
DROP TABLE made, of_type;
