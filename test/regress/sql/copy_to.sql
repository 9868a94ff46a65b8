-- COPY TO of distributed and reference tables writes what it writes for an ordinary one.
CREATE SCHEMA copy_to;
SET search_path = copy_to;

CREATE TABLE d (k int, gone int, v text, g int GENERATED ALWAYS AS (k + 1) STORED, "Odd name" numeric);
ALTER TABLE d DROP COLUMN gone;
SELECT create_distributed_table('d', 'k', shard_count => 1);
CREATE TABLE r (k int, v text);
SELECT create_reference_table('r');
INSERT INTO d (k, v, "Odd name") VALUES (1, 'one', 1.10);
INSERT INTO r VALUES (1, E'tab\there'), (2, NULL);

COPY d TO STDOUT;
COPY d ("Odd name", k) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *);
COPY d (k, g) TO STDOUT;
COPY d (nothere) TO STDOUT;
COPY r TO STDOUT;
COPY r (v) TO STDOUT (NULL 'null');
COPY (SELECT v, count(*) FROM d GROUP BY v) TO STDOUT (FORMAT csv);
COPY (INSERT INTO d (k, v) VALUES (2, 'two') RETURNING k, g) TO STDOUT;

-- there and back
\set file `mktemp -u /tmp/pomelo_copy_XXXXXX`
CREATE TABLE source (k int, v text, a int[]);
SELECT create_distributed_table('source', 'k', shard_count => 6);
CREATE TABLE target (LIKE source);
INSERT INTO source SELECT s, 'value ' || s, ARRAY[s, NULL] FROM generate_series(1, 1000) s;
COPY source TO :'file';
COPY target FROM :'file';
SELECT count(*) FROM (TABLE source EXCEPT TABLE target) x;
COPY source TO :'file' (FORMAT binary);
TRUNCATE target;
COPY target FROM :'file' (FORMAT binary);
SELECT count(*) FROM (TABLE source EXCEPT TABLE target) x;
\setenv FILE :file
\! rm -f "$FILE"

-- inside a transaction one's own rows are there
BEGIN;
DELETE FROM d;
COPY d (k, v) FROM STDIN;
7	seven
\.
COPY d TO STDOUT;
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA copy_to CASCADE;
