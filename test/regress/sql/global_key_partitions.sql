-- Foreign keys between rows of different nodes, to partitioned tables: triggers of the parts, messages, conversions of filled tables, limits.
CREATE SCHEMA global_key_partitions;
SET search_path = global_key_partitions;
\set SHOW_CONTEXT never
CREATE VIEW key_triggers AS SELECT t.tgrelid::regclass AS "table", CASE k.conparentid WHEN 0 THEN k.conname END AS "key", count(*) AS triggers,
		bool_or(t.tgdeferrable) FILTER (WHERE t.tgtype & 1 = 1) AS deferrable
	FROM pg_trigger t JOIN pg_constraint k ON k.oid = t.tgconstraint WHERE t.tgname LIKE 'global\_key\_%' AND k.connamespace = 'global_key_partitions'::regnamespace
	GROUP BY t.tgrelid, k.conname, k.conparentid;
CREATE TABLE days (t int, day int, id int, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM (0) TO (10);
CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM (10) TO (20) PARTITION BY LIST (day);
CREATE TABLE days_2a PARTITION OF days_2 DEFAULT;
CREATE TABLE events (n int, day int, id int, CONSTRAINT of_day FOREIGN KEY (day, id) REFERENCES days ON UPDATE CASCADE);
INSERT INTO days SELECT i % 3, i % 20, i FROM generate_series(1, 40) i;
INSERT INTO events SELECT i, day, id FROM days, generate_series(1, 2) i;
SET citus.global_indexes = refuse;
SELECT create_distributed_table('days', 'day');
SELECT create_distributed_table('events', 'n');
SET citus.global_indexes = notice;
SELECT create_distributed_table('events', 'n');
SELECT * FROM key_triggers ORDER BY 1, 2;
SELECT result FROM run_command_on_workers($$SELECT string_agg(concat_ws(' ', "table", "key", triggers), ', ' ORDER BY "table") FROM global_key_partitions.key_triggers$$);

-- messages
INSERT INTO events VALUES (1, 5, 99);
DELETE FROM days WHERE day = 15;
DELETE FROM days_1 WHERE day = 5;
\set VERBOSITY sqlstate
ALTER TABLE days DETACH PARTITION days_2;
ALTER TABLE days DETACH PARTITION days_1 CONCURRENTLY;
\set VERBOSITY default
UPDATE days SET day = 11 WHERE day = 1;
SELECT day, id, count(*) FROM events WHERE day IN (1, 11) GROUP BY 1, 2 ORDER BY 2;

-- new partitions, and the constraint's mode, need no checks of rows and no notices
CREATE TABLE days_3 PARTITION OF days FOR VALUES FROM (20) TO (30);
ALTER TABLE events ALTER CONSTRAINT of_day DEFERRABLE;
SELECT * FROM key_triggers ORDER BY 1, 2;
ALTER TABLE days DETACH PARTITION days_3;
SELECT count(*) FROM key_triggers WHERE "table" = 'days_3'::regclass;
BEGIN;
INSERT INTO days_3 VALUES (1, 22, 2);
ALTER TABLE days ATTACH PARTITION days_3 FOR VALUES FROM (20) TO (30);
INSERT INTO events VALUES (3, 22, 2);
UPDATE days SET id = 3, day = 4 WHERE day = 22;
SELECT * FROM events WHERE n = 3;
ROLLBACK;

-- tables that have rows and were distributed before, both partitioned, NOT VALID
CREATE TABLE logs (n int, at int, day int, id int) PARTITION BY LIST (at);
CREATE TABLE logs_1 PARTITION OF logs FOR VALUES IN (1);
CREATE TABLE logs_2 PARTITION OF logs DEFAULT;
SELECT create_distributed_table('logs', 'n', colocate_with => 'none');
INSERT INTO logs SELECT 1, i, day, id FROM days, generate_series(1, 2) i;
INSERT INTO logs VALUES (1, 1, 5, 99);
ALTER TABLE logs ADD CONSTRAINT log_of_day FOREIGN KEY (day, id) REFERENCES days ON DELETE CASCADE;
DELETE FROM logs WHERE id = 99;
ALTER TABLE logs ADD CONSTRAINT log_of_day FOREIGN KEY (day, id) REFERENCES days ON DELETE CASCADE;
ALTER TABLE events DROP CONSTRAINT of_day;
SELECT * FROM key_triggers ORDER BY 1, 2;
DELETE FROM days WHERE day < 8;
SELECT count(*), min(day) FROM logs;

-- what stays refused
ALTER TABLE events ADD FOREIGN KEY (day, id) REFERENCES days_1;

-- other ways to distribute them, and back
SELECT alter_distributed_table('days', shard_count => 6, cascade_to_colocated => false);
DELETE FROM days_2 WHERE day = 12;
SELECT count(*), min(day) FROM logs WHERE day > 10;
SELECT undistribute_table('days', cascade_via_foreign_keys => true);
SELECT count(*) FROM key_triggers;
DELETE FROM days WHERE day = 11;
INSERT INTO logs VALUES (1, 1, 12, 12);
SELECT count(*), min(day) FROM logs WHERE day > 10;
SET client_min_messages = warning;
DROP SCHEMA global_key_partitions CASCADE;
