-- Constraints, foreign keys among them, of distributed and reference tables.
CREATE SCHEMA constraints; SET search_path = constraints;
SET citus.global_indexes = refuse;
\set VERBOSITY terse
SET citus.shard_count = 4;
CREATE TABLE ref (id int PRIMARY KEY, up int REFERENCES ref (id));
CREATE TABLE parent (k int, id int, PRIMARY KEY (k, id));
CREATE TABLE child (k int, id int, pid int, e int, r int REFERENCES ref (id) ON DELETE CASCADE,
  CONSTRAINT u UNIQUE (k, e) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT x EXCLUDE USING btree (k WITH =, id WITH =),
  CONSTRAINT fk FOREIGN KEY (k, pid) REFERENCES parent (k, id) ON DELETE CASCADE);
SELECT create_reference_table('ref');
SELECT create_distributed_table('parent', 'k');
SELECT create_distributed_table('child', 'k');
INSERT INTO ref VALUES (1, 1), (2, 1);
INSERT INTO parent SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO child SELECT g, g, g, g, 1 + g % 2 FROM generate_series(1, 10) g;
BEGIN;
UPDATE child SET e = e + 1000;
UPDATE child SET e = e - 1000;
COMMIT;
DELETE FROM parent WHERE k = 1;
DELETE FROM ref WHERE id = 2;
SELECT count(*), sum(k) FROM child;

-- what the nodes refuse
INSERT INTO child VALUES (2, 50, 2, 2, 1);
INSERT INTO child VALUES (3, 3, 3, 30, 1);
INSERT INTO child VALUES (3, 5, 4, 5, 1);
INSERT INTO child VALUES (3, 5, 3, 5, 77);

-- adding, validating, dropping, renaming
ALTER TABLE child ADD CHECK (id > 0), ADD CONSTRAINT not_yet CHECK (e > 3) NOT VALID;
ALTER TABLE child VALIDATE CONSTRAINT not_yet;
DELETE FROM child WHERE e <= 3;
ALTER TABLE child VALIDATE CONSTRAINT not_yet;
ALTER TABLE child DROP CONSTRAINT fk, ADD CONSTRAINT fk FOREIGN KEY (k, pid) REFERENCES parent NOT VALID;
ALTER TABLE child ALTER CONSTRAINT fk DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE child RENAME CONSTRAINT not_yet TO "Now ""valid";
ALTER TABLE child ALTER COLUMN e TYPE bigint;
SELECT DISTINCT regexp_replace(result, '_\d{6,}', '_N', 'g') FROM run_command_on_placements('constraints.child', $$
  SELECT string_agg(conname || ': ' || pg_get_constraintdef(oid), E'\n' ORDER BY conname)
    FROM pg_constraint WHERE conrelid = '%s'::regclass $$);
ALTER TABLE child DROP CONSTRAINT "Now ""valid", DROP CONSTRAINT u;
SELECT DISTINCT result FROM run_command_on_placements('constraints.child', $$
  SELECT count(*) FROM pg_constraint WHERE conrelid = '%s'::regclass $$);

-- keys that shards could not ensure
CREATE TABLE other (k int PRIMARY KEY, p int);
SELECT create_distributed_table('other', 'k', colocate_with => 'none');
CREATE TABLE plain (k int PRIMARY KEY);
ALTER TABLE child ADD CONSTRAINT bad FOREIGN KEY (k) REFERENCES other (k);
ALTER TABLE other ADD CONSTRAINT bad FOREIGN KEY (p) REFERENCES other (k);
ALTER TABLE other ADD CONSTRAINT bad FOREIGN KEY (k) REFERENCES plain (k);
ALTER TABLE other ADD CONSTRAINT bad FOREIGN KEY (k) REFERENCES ref (id) ON DELETE SET NULL;
ALTER TABLE other ADD CONSTRAINT bad FOREIGN KEY (k) REFERENCES ref (id) ON UPDATE CASCADE;
ALTER TABLE other ADD CONSTRAINT bad FOREIGN KEY (k) REFERENCES ref (id) ON UPDATE SET DEFAULT;
ALTER TABLE plain ADD CONSTRAINT bad FOREIGN KEY (k) REFERENCES other (k);
ALTER TABLE plain DROP CONSTRAINT bad;
ALTER TABLE ref ADD CONSTRAINT bad FOREIGN KEY (id) REFERENCES other (k);
ALTER TABLE plain ADD CONSTRAINT good FOREIGN KEY (k) REFERENCES ref (id);
CREATE TABLE e1 (a int, b int, EXCLUDE USING btree (b WITH =));
SELECT create_distributed_table('e1', 'a');
CREATE TABLE late (k int REFERENCES other (k));
SELECT create_distributed_table('late', 'k');
SELECT create_distributed_table('late', 'k', colocate_with => 'other');
SELECT undistribute_table('late');
TRUNCATE parent;
-- local tables that reference a table with shards, until they are distributed
CREATE TABLE later (k int REFERENCES other (k));
INSERT INTO later VALUES (1);
COPY later FROM STDIN;
1
\.
\set VERBOSITY default
\set SHOW_CONTEXT never
INSERT INTO later VALUES (1);
\set VERBOSITY terse
INSERT INTO later VALUES (NULL);
DELETE FROM later;
ALTER TABLE later ADD COLUMN l int, ADD CHECK (l > 0);
ALTER TABLE later ADD COLUMN m int REFERENCES other (k);
ALTER TABLE later DROP COLUMN m;
-- as migrations of frameworks have it: keys are added before the table is distributed
\set VERBOSITY sqlstate
CREATE TABLE kid (id int, k int NOT NULL, PRIMARY KEY (k, id));
ALTER TABLE kid ADD CONSTRAINT kid_fk FOREIGN KEY (k) REFERENCES other (k) DEFERRABLE INITIALLY DEFERRED;
INSERT INTO kid VALUES (1, 1);
SELECT create_distributed_table('kid', 'k', colocate_with => 'other');
INSERT INTO kid VALUES (1, 1);
BEGIN;
INSERT INTO kid VALUES (1, 1);
INSERT INTO other VALUES (1);
COMMIT;
DELETE FROM other;
\set VERBOSITY terse
DROP TABLE kid;
DELETE FROM other;
CREATE TABLE kid (k int);
INSERT INTO kid VALUES (1);
ALTER TABLE kid ADD FOREIGN KEY (k) REFERENCES other (k);
ALTER TABLE kid ADD FOREIGN KEY (k) REFERENCES other (k) NOT VALID;
DROP TABLE kid;
SELECT create_distributed_table('later', 'k', colocate_with => 'other');
INSERT INTO later VALUES (1);
INSERT INTO other VALUES (1);
INSERT INTO later VALUES (1);
DELETE FROM other;
-- they had rows before the referenced table got shards
CREATE TABLE top (k int PRIMARY KEY);
CREATE TABLE below (k int REFERENCES top (k) ON DELETE CASCADE);
INSERT INTO top VALUES (1), (2);
INSERT INTO below VALUES (1), (2);
SELECT create_distributed_table('top', 'k');
DELETE FROM top WHERE k = 1;
UPDATE below SET k = 2;
SELECT create_distributed_table('below', 'k');
DELETE FROM below WHERE k = 1;
SELECT create_distributed_table('below', 'k');
DELETE FROM top;
SELECT * FROM below;
-- partitioned ones as well
CREATE TABLE whole (k int PRIMARY KEY);
CREATE TABLE split (k int REFERENCES other (k)) PARTITION BY LIST (k);
CREATE TABLE half PARTITION OF split (FOREIGN KEY (k) REFERENCES whole (k)) FOR VALUES IN (11, 13);
CREATE TABLE rest (k int REFERENCES other (k));
ALTER TABLE split ATTACH PARTITION rest DEFAULT;
ALTER TABLE split ADD COLUMN o int REFERENCES other (k);
INSERT INTO split VALUES (12);
INSERT INTO whole VALUES (11);
SELECT create_distributed_table('whole', 'k', colocate_with => 'other');
INSERT INTO other VALUES (11), (12), (13);
SELECT create_distributed_table('split', 'k', colocate_with => 'other');
ALTER TABLE split DROP COLUMN o;
SELECT create_distributed_table('split', 'k', colocate_with => 'other');
INSERT INTO split VALUES (11), (12);
INSERT INTO split VALUES (13);
INSERT INTO split VALUES (14);
DELETE FROM other WHERE k = 12;
DROP TABLE split, whole;
-- unless they have rows
CREATE TABLE split (k int) PARTITION BY LIST (k);
CREATE TABLE half PARTITION OF split DEFAULT;
INSERT INTO split VALUES (1);
ALTER TABLE split ADD FOREIGN KEY (k) REFERENCES other (k);
ALTER TABLE half ADD FOREIGN KEY (k) REFERENCES other (k);
DROP TABLE split;
DELETE FROM other WHERE k > 10;
-- what a reference table's row is referenced by is another matter
CREATE TABLE middle (k int PRIMARY KEY, r int REFERENCES ref (id));
SELECT create_distributed_table('middle', 'k');
CREATE TABLE bottom (k int REFERENCES middle (k));
INSERT INTO ref VALUES (5);
INSERT INTO middle VALUES (1, 5);
DELETE FROM ref WHERE id = 5;
INSERT INTO bottom VALUES (1);
DROP TABLE middle, bottom;
DELETE FROM ref WHERE id = 5;
-- in shards, tableoid would be theirs
CREATE TABLE capitals (name text, CONSTRAINT somewhere CHECK (tableoid::regclass::text <> 'nowhere'));
SELECT create_distributed_table('capitals', 'name');
SELECT create_distributed_table('capitals', NULL);
ALTER TABLE capitals DROP CONSTRAINT somewhere, ADD COLUMN kind oid GENERATED ALWAYS AS (tableoid) STORED;
SELECT create_distributed_table('capitals', 'name');
ALTER TABLE capitals DROP COLUMN kind;
SELECT create_distributed_table('capitals', 'name');
ALTER TABLE capitals ADD CHECK (tableoid > 0::oid);
SET client_min_messages = warning;
TRUNCATE parent CASCADE;
SELECT count(*) FROM child;
DROP TABLE parent;
DROP TABLE parent, child;
DROP SCHEMA constraints CASCADE;
SELECT DISTINCT result FROM run_command_on_all_nodes($$
  SELECT count(*) FROM pg_dist_partition WHERE logicalrelid::text ~ 'constraints\.' $$);
