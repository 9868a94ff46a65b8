-- What users read when a shard refuses: the logical table's names, as PostgreSQL would say it.
CREATE SCHEMA messages;
SET search_path = messages;
SET citus.shard_count = 4;
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TABLE ref (id int PRIMARY KEY);
CREATE TABLE t (id int PRIMARY KEY, k int REFERENCES ref, v varchar(5) NOT NULL,
                s small, CONSTRAINT positive CHECK (k > 0), EXCLUDE (id WITH =, s WITH =));
SELECT create_reference_table('ref');
SELECT create_distributed_table('t', 'id');
INSERT INTO ref VALUES (1);
INSERT INTO t VALUES (1, 1, 'one', 1);

\set SHOW_CONTEXT never
INSERT INTO t VALUES (1, 1, 'again', 2);
INSERT INTO t VALUES (2, 2, 'no k', 2);
INSERT INTO t VALUES (2, -1, 'minus', 2);
INSERT INTO t VALUES (2, 1, NULL, 2);
INSERT INTO t VALUES (2, 1, 'too long', 2);
INSERT INTO t VALUES (2, 1, 'dom', 5000);
-- a null distribution value, which the column's constraint refuses
INSERT INTO t VALUES (NULL, 1, 'null', 2);
INSERT INTO t VALUES (2, 1, 'two', 2), (NULL, 1, 'null', 2);
INSERT INTO t (v) SELECT 'null';
INSERT INTO t VALUES (1, 1, 'one', 1) ON CONFLICT (id) DO UPDATE SET id = NULL;
UPDATE t SET id = NULL;
INSERT INTO t SELECT g, 1, 'x', g FROM generate_series(1, 3) g;
UPDATE t SET k = 7;
UPDATE t SET v = NULL WHERE id = 1;
UPDATE t SET k = 1 / (id - 1);
SELECT id / (id - 1) FROM t;
SELECT id / (id - 1) FROM t WHERE id = 1;
SELECT v::int FROM t;
SELECT nothing FROM t;
SELECT * FROM no_such_table JOIN t USING (id);
DELETE FROM ref;
INSERT INTO t (id, id) VALUES (1, 2);

-- DDL
ALTER TABLE t ADD CONSTRAINT big CHECK (k > 100);
ALTER TABLE t ADD COLUMN w int NOT NULL;
CREATE UNIQUE INDEX ON t (id, (1 / (k - 1)));
ANALYZE t (nothing);
VACUUM ANALYZE t (nothing);
CREATE TABLE child (id int PRIMARY KEY REFERENCES t);
SELECT create_distributed_table('child', 'id');
TRUNCATE t;
TRUNCATE t CASCADE;
CREATE VIEW v AS SELECT * FROM child;
DROP TABLE child;
DROP TABLE t;
ALTER TABLE child DROP CONSTRAINT child_id_fkey, ADD FOREIGN KEY (id) REFERENCES t DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO child VALUES (1);
ALTER TABLE child ADD CHECK (id > 0);
ROLLBACK;
DROP TABLE t CASCADE;

-- a warning is told once, whatever the number of nodes
CREATE ROLE messages_nobody;
GRANT USAGE ON SCHEMA messages TO messages_nobody;
SET ROLE messages_nobody;
GRANT USAGE ON TYPE small TO messages_nobody;
GRANT USAGE ON LANGUAGE sql TO messages_nobody;
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA messages CASCADE;
DROP ROLE messages_nobody;
