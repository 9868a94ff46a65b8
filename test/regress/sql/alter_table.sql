-- ALTER TABLE of distributed and reference tables reaches all shards on all nodes.
CREATE SCHEMA alter_table; SET search_path = alter_table;
\set VERBOSITY terse
SET citus.shard_count = 4;

CREATE TABLE ref (id int PRIMARY KEY);
CREATE TABLE t (id int, gone int, v text);
ALTER TABLE t DROP COLUMN gone;
INSERT INTO ref VALUES (1), (2);
INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 8) g;
SET client_min_messages = warning;
SELECT create_reference_table('ref');
SELECT create_distributed_table('t', 'id');
RESET client_min_messages;

-- how many kinds of definition the shards of a table have over all nodes: 1 if all agree
CREATE VIEW shard_columns AS
  SELECT result FROM run_command_on_placements('alter_table.t', $$
    SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' not null' ELSE '' END,
                      ', ' ORDER BY attnum)
      FROM pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0 AND NOT attisdropped $$);

ALTER TABLE t ADD COLUMN a int DEFAULT 5 CHECK (a > 0), ADD COLUMN b timestamptz NOT NULL DEFAULT now();
ALTER TABLE t ADD COLUMN s serial, ADD COLUMN i int GENERATED ALWAYS AS IDENTITY;
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (id * 2) STORED;
ALTER TABLE t ADD COLUMN r int REFERENCES ref (id);
SELECT DISTINCT result FROM shard_columns;
SELECT count(DISTINCT a), count(DISTINCT b), count(DISTINCT s), count(DISTINCT i), sum(g) FROM t;
ALTER TABLE t ALTER COLUMN a TYPE bigint USING a::bigint * 100;
ALTER TABLE t ALTER COLUMN v SET DEFAULT 'new', ALTER COLUMN v SET NOT NULL, ALTER COLUMN b DROP NOT NULL;
ALTER TABLE t DROP COLUMN i;
ALTER TABLE t RENAME COLUMN v TO "V v";
SELECT DISTINCT result FROM shard_columns;
INSERT INTO t (id) VALUES (100);
SELECT id, "V v", a FROM t WHERE id IN (1, 100) ORDER BY id;

-- errors leave everything as it was
ALTER TABLE t ADD COLUMN bad int CHECK (bad > 0), ADD CONSTRAINT c CHECK (a < 500);
ALTER TABLE t ALTER COLUMN "V v" TYPE int USING "V v"::int;
ALTER TABLE t DROP COLUMN id;
ALTER TABLE t ALTER COLUMN id TYPE bigint;
ALTER TABLE t SET TABLESPACE pg_default;
ALTER TABLE t INHERIT ref;
ALTER TABLE t ADD UNIQUE (s);
ALTER TABLE ref ADD COLUMN rnd float DEFAULT random();
SELECT DISTINCT result FROM shard_columns;

-- in a transaction block, with savepoints
BEGIN;
ALTER TABLE t ADD COLUMN x int;
SAVEPOINT s;
ALTER TABLE t ADD COLUMN y int;
ROLLBACK TO s;
ALTER TABLE t ADD COLUMN z int DEFAULT 1;
INSERT INTO t (id, x) VALUES (200, 7);
SELECT id, x, z FROM t WHERE id IN (1, 200) ORDER BY id;
ROLLBACK;
SELECT DISTINCT result FROM shard_columns;

-- the table's name, and its schema
CREATE SCHEMA alter_table_2;
ALTER TABLE t RENAME TO t2;
ALTER TABLE t2 SET SCHEMA alter_table_2;
SELECT count(*) FROM alter_table_2.t2;
SELECT DISTINCT result FROM run_command_on_all_nodes($$ SELECT to_regclass('alter_table_2.t2') IS NOT NULL $$);
SELECT bool_and(success) FROM run_command_on_placements('alter_table_2.t2', 'SELECT count(*) FROM %s');

-- off: this node only
SET citus.enable_ddl_propagation = off;
ALTER TABLE ref ADD COLUMN local_only int;
ALTER TABLE ref DROP COLUMN local_only;
RESET citus.enable_ddl_propagation;
SELECT DISTINCT result FROM run_command_on_all_nodes($$
  SELECT count(*) FROM pg_attribute WHERE attrelid = 'alter_table.ref'::regclass AND attnum > 0 AND NOT attisdropped $$);

SET client_min_messages = warning;
DROP SCHEMA alter_table_2 CASCADE;
DROP SCHEMA alter_table CASCADE;
SELECT DISTINCT result FROM run_command_on_all_nodes($$
  SELECT count(*) FROM pg_class WHERE relnamespace = 'citus_data'::regnamespace AND relname ~ '^t2_\d+$' $$);
