-- Global indexes that are checked later, and those that treat nulls as equal.
CREATE SCHEMA global_index_deferred;
SET search_path = global_index_deferred;
SET citus.global_indexes = on;
\set VERBOSITY terse

CREATE TABLE d (a int, b int, c text, CONSTRAINT d_b UNIQUE (b) DEFERRABLE, CONSTRAINT d_c UNIQUE (c) DEFERRABLE INITIALLY DEFERRED);
SELECT create_distributed_table('d', 'a');
INSERT INTO d SELECT i, i, 'c' || i FROM generate_series(1, 20) i;

-- one is checked at the end of the statement
INSERT INTO d VALUES (30, 5, 'x');
UPDATE d SET b = b + 1;
UPDATE d SET b = b - 1;

-- the other one at the end of the transaction, where the key may be another row's for a while
BEGIN;
INSERT INTO d VALUES (31, 31, 'c5');
SELECT * FROM d WHERE c = 'c5' ORDER BY a;
DELETE FROM d WHERE a = 5;
COMMIT;
SELECT * FROM d WHERE c = 'c5' ORDER BY a;
BEGIN;
INSERT INTO d VALUES (32, 32, 'c5');
COMMIT;
INSERT INTO d VALUES (32, 32, 'c5');

-- as SET CONSTRAINTS says
BEGIN;
INSERT INTO d VALUES (32, 32, 'c5');
SET CONSTRAINTS d_c IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO d VALUES (32, 32, 'c5');
ROLLBACK;
BEGIN;
SET CONSTRAINTS d_b DEFERRED;
UPDATE d SET b = 7 WHERE a = 8;
UPDATE d SET b = 8 WHERE a = 7;
COMMIT;
SELECT a, b FROM d WHERE b IN (7, 8) ORDER BY a;

-- of equal keys in one shard, and in two, one goes
BEGIN;
SET CONSTRAINTS d_b DEFERRED;
INSERT INTO d VALUES (33, 33, 'x'), (33, 33, 'y'), (34, 33, 'z');
DELETE FROM d WHERE c = 'y';
SELECT citus_check_global_index('d_b');
DELETE FROM d WHERE c = 'z';
SELECT citus_check_global_index('d_b');
COMMIT;
BEGIN;
SET CONSTRAINTS d_b DEFERRED;
INSERT INTO d VALUES (35, 7, 'w');
SAVEPOINT s;
INSERT INTO d VALUES (36, 7, 'v');
ROLLBACK TO s;
COMMIT;
INSERT INTO d VALUES (40, 7, 'q') ON CONFLICT DO NOTHING;
SELECT citus_check_global_index('d_b'), citus_check_global_index('d_c'), count(*) FROM d;

-- rows that exist are checked at once
ALTER TABLE d ADD f int DEFAULT 1;
ALTER TABLE d ADD CONSTRAINT d_f UNIQUE (f) DEFERRABLE INITIALLY DEFERRED;
UPDATE d SET f = a;
ALTER TABLE d ADD CONSTRAINT d_f UNIQUE (f) DEFERRABLE INITIALLY DEFERRED;
INSERT INTO d VALUES (50, 50, 'c50', 1);
SELECT citus_check_global_index('d_f');
TRUNCATE d;
CREATE TABLE two (a int, b int);
SELECT create_distributed_table('two', 'a');
INSERT INTO two VALUES (1, 1), (2, 1);
ALTER TABLE two ADD CONSTRAINT two_b UNIQUE (b) DEFERRABLE INITIALLY DEFERRED;
UPDATE two SET b = a;
BEGIN;
INSERT INTO two VALUES (3, 1);
ALTER TABLE two ADD CONSTRAINT two_b UNIQUE (b) DEFERRABLE INITIALLY DEFERRED;
ROLLBACK;
ALTER TABLE two ADD CONSTRAINT two_b UNIQUE (b) DEFERRABLE INITIALLY DEFERRED;

-- nulls that are equal
CREATE TABLE n (a int, b int, c text, UNIQUE NULLS NOT DISTINCT (b, c));
SELECT create_distributed_table('n', 'a');
CREATE UNIQUE INDEX n_c ON n (c) NULLS NOT DISTINCT;
\set VERBOSITY default
INSERT INTO n VALUES (1, NULL, NULL);
INSERT INTO n VALUES (2, NULL, NULL);
INSERT INTO n VALUES (2, 1, NULL);
INSERT INTO n VALUES (2, NULL, NULL) ON CONFLICT DO NOTHING;
INSERT INTO n VALUES (2, NULL, NULL) ON CONFLICT (b, c) DO UPDATE SET c = 'x' RETURNING *;
INSERT INTO n VALUES (2, 1, NULL), (3, 2, 'q'), (3, NULL, 'r');
DELETE FROM n WHERE a = 3;
UPDATE n SET c = 'z' WHERE c IS NULL;
INSERT INTO n VALUES (2, 1, NULL), (3, 2, 'q'), (3, NULL, 'r');
SELECT citus_check_global_index('n_c'), citus_check_global_index('n_b_c_key');
DELETE FROM n;
INSERT INTO n SELECT i, NULL, i FROM generate_series(1, 10) i;
UPDATE n SET b = a WHERE a % 2 = 0;
SELECT citus_check_global_index('n_c'), citus_check_global_index('n_b_c_key');
DELETE FROM n;
SELECT citus_check_global_index('n_c'), citus_check_global_index('n_b_c_key');
ALTER TABLE n ADD CONSTRAINT n_b UNIQUE NULLS NOT DISTINCT (b) DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO n VALUES (1, NULL, 'u'), (2, NULL, 'v');
DELETE FROM n WHERE a = 1;
COMMIT;
\set VERBOSITY terse
INSERT INTO n VALUES (1, NULL, 'u');
SELECT citus_check_global_index('n_b');
SET client_min_messages = warning;
DROP SCHEMA global_index_deferred CASCADE;
