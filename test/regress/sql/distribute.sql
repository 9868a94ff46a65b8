-- create_distributed_table and create_reference_table: what they accept and refuse.
CREATE SCHEMA distribute;
SET search_path = distribute, public;
SET citus.global_indexes = refuse;
SET citus.shard_count = 4;

CREATE TABLE plain (id int PRIMARY KEY, v text);
INSERT INTO plain SELECT g, 'v' || g FROM generate_series(1, 20) g;
SELECT create_distributed_table('plain', 'id');
SELECT count(*), min(v), max(id) FROM plain;
SELECT table_name, citus_table_type, distribution_column, shard_count FROM citus_tables
  WHERE table_name = 'plain'::regclass;
SELECT count(*), count(DISTINCT nodeport) FROM citus_shards WHERE table_name = 'plain'::regclass;

-- Colocation: the same type and shard count share a group, unless told otherwise.
CREATE TABLE also (id int, v text);
CREATE TABLE apart (id int, v text);
CREATE TABLE more_shards (id int, v text);
CREATE TABLE other_type (id text, v text);
SELECT create_distributed_table('also', 'id');
SELECT create_distributed_table('apart', 'id', colocate_with => 'none');
SELECT create_distributed_table('more_shards', 'id', shard_count => 7);
SELECT create_distributed_table('other_type', 'id');
SELECT t.table_name, t.colocation_id = p.colocation_id AS with_plain, t.shard_count
  FROM citus_tables t, citus_tables p
  WHERE p.table_name = 'plain'::regclass AND t.table_name IN
    ('also'::regclass, 'apart'::regclass, 'more_shards'::regclass, 'other_type'::regclass)
  ORDER BY t.table_name::text;
CREATE TABLE explicit (id int);
SELECT create_distributed_table('explicit', 'id', colocate_with => 'apart');
SELECT (SELECT colocation_id FROM citus_tables WHERE table_name = 'apart'::regclass)
     = (SELECT colocation_id FROM citus_tables WHERE table_name = 'explicit'::regclass) AS together;

-- One shard, and a table on every node.
CREATE TABLE single (id int PRIMARY KEY, v text);
SELECT create_distributed_table('single', NULL);
INSERT INTO single VALUES (1, 'one');
SELECT * FROM single;
CREATE TABLE ref (id int PRIMARY KEY, v text);
INSERT INTO ref VALUES (1, 'one'), (2, 'two');
SELECT create_reference_table('ref');
SELECT success, result FROM run_command_on_all_nodes('SELECT count(*) FROM distribute.ref');
SELECT table_name, citus_table_type, distribution_column, shard_count FROM citus_tables
  WHERE table_name IN ('single'::regclass, 'ref'::regclass) ORDER BY 1;

-- Refusals.
\set SHOW_CONTEXT never
CREATE TABLE t (id int, v text, p point, UNIQUE (v));
SELECT create_distributed_table('t', 'nothing');
SELECT create_distributed_table('t', 'p');
SELECT create_distributed_table('t', 'id');
SELECT create_distributed_table('plain', 'id');
SELECT create_distributed_table('ref', 'id');
SELECT create_reference_table('plain');
SELECT create_reference_table('ref');
SELECT create_distributed_table('pg_class', 'relname');
SELECT create_distributed_table('no_such_table', 'id');
CREATE VIEW a_view AS SELECT 1 AS id;
SELECT create_distributed_table('a_view', 'id');
CREATE TEMPORARY TABLE temporary_table (id int);
SELECT create_distributed_table('temporary_table', 'id');
SELECT create_reference_table('temporary_table');
CREATE TABLE u (id bigint);
SELECT create_distributed_table('u', 'id', colocate_with => 'plain');
SELECT create_distributed_table('u', 'id', colocate_with => 'no_such_table');
SELECT create_distributed_table('u', 'id', shard_count => 0);
SELECT create_distributed_table('u', 'id', 'no such type');
SELECT create_distributed_table(NULL, 'id');

-- Nothing of a refused table is left.
SELECT count(*) FROM citus_tables WHERE table_name IN ('t'::regclass, 'u'::regclass);

-- And back.
SELECT undistribute_table('plain');
SELECT count(*), min(v) FROM plain;
SELECT count(*) FROM citus_tables WHERE table_name = 'plain'::regclass;

-- A table that others inherit from, and then don't any more.
CREATE TABLE inherited (id int);
CREATE TABLE heir () INHERITS (inherited);
SELECT create_reference_table('inherited');
SELECT create_reference_table('heir');
ALTER TABLE heir NO INHERIT inherited;
SELECT create_distributed_table('inherited', 'id');

SET client_min_messages = warning;
DROP SCHEMA distribute CASCADE;
