-- COPY FROM into a distributed table stores what it stores in an ordinary one.
CREATE SCHEMA copy_from;
SET search_path = copy_from;
SET client_min_messages = warning;

CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (a int, m mood);
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);

CREATE TABLE plain (
    k bigint NOT NULL,
    i int,
    t text,
    v varchar(10),
    n numeric(12, 3),
    d date,
    ts timestamptz,
    iv interval,
    f double precision[],
    m mood,
    ms mood[],
    p pair,
    e even,
    r regclass,
    j jsonb,
    b bytea,
    h int DEFAULT 7,
    g int GENERATED ALWAYS AS (i * 2) STORED
);
CREATE TABLE dist (LIKE plain INCLUDING ALL);
CREATE TABLE ref (LIKE plain INCLUDING ALL);
CREATE TABLE single (LIKE plain INCLUDING ALL);
SELECT create_distributed_table('dist', 'k', shard_count => 5);
SELECT create_reference_table('ref');
SELECT create_distributed_table('single', NULL);
SET client_min_messages = notice;

-- Runs one COPY into each table and compares; the options stand behind the table and columns.
CREATE FUNCTION copy_all(columns text, program text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    target text;
    loaded bigint;
    result text := '';
BEGIN
    FOREACH target IN ARRAY ARRAY['plain', 'dist', 'ref', 'single'] LOOP
        EXECUTE format('DELETE FROM %I', target);
        EXECUTE format('COPY %I %s FROM PROGRAM %L %s', target, columns, program, options);
        GET DIAGNOSTICS loaded = ROW_COUNT;
        result := result || loaded || ' ';
    END LOOP;
    PERFORM set_config('extra_float_digits', '1', true);
    IF EXISTS ((TABLE plain EXCEPT ALL TABLE dist) UNION ALL (TABLE dist EXCEPT ALL TABLE plain)) THEN
        result := result || 'dist differs ';
    END IF;
    IF EXISTS ((TABLE plain EXCEPT ALL TABLE ref) UNION ALL (TABLE ref EXCEPT ALL TABLE plain)) THEN
        result := result || 'ref differs ';
    END IF;
    IF EXISTS ((TABLE plain EXCEPT ALL TABLE single) UNION ALL (TABLE single EXCEPT ALL TABLE plain)) THEN
        result := result || 'single differs ';
    END IF;
    RETURN result || 'rows';
END $$;

-- text
SELECT copy_all('(k, i, t)', $p$printf '1\t10\tone\n2\t20\ttwo\\twith tab\n3\t\\N\t\\\\N\n'$p$, '');
SELECT copy_all('(k, i, t)', $p$printf '1|10|one\\|1\n2|NULL|\n'$p$, $o$(DELIMITER '|', NULL 'NULL')$o$);
SELECT copy_all('(t, k)', $p$printf 'a\t1\r\nb\t2\r\n'$p$, '');
SELECT copy_all('(k, t)', $p$printf 'k\tt\n1\tx\n'$p$, '(HEADER)');
SELECT copy_all('(k, t)', $p$printf 'k\tt\n1\tx\n'$p$, '(HEADER MATCH)');
SELECT copy_all('(k, t)', $p$printf '1\ta\\\nb\n2\tc\n\\.\nignored\n'$p$, '');
SELECT copy_all('(k)', $p$true$p$, '');
SELECT copy_all('(k)', $p$seq 1 5000$p$, '');
-- csv
SELECT copy_all('(k, i, t)', $p$printf '1,10,"a ""quoted"", text"\n2,,"two\nlines"\n3,"",\n'$p$, '(FORMAT csv, FORCE_NULL (i))');
SELECT copy_all('(k, t)', $p$printf '1,\n2,""\n3,x\n'$p$, '(FORMAT csv, FORCE_NOT_NULL (t))');
SELECT copy_all('(k, t)', $p$printf 'k;t\n1;\047a\\\047b\047\n'$p$, $o$(FORMAT csv, HEADER, DELIMITER ';', QUOTE '''', ESCAPE '\')$o$);
SELECT copy_all('(k, t)', $p$printf '1,a\r\n2,"b\r\nc"\r\n'$p$, 'CSV');
SELECT copy_all('(k, t)', $p$printf '1,caf\351\n'$p$, $o$(FORMAT csv, ENCODING 'latin1')$o$);
-- defaults that every node computes, and such that the initiator does
SELECT copy_all('(k, h)', $p$printf '1\t1\n2\t\\N\n'$p$, '');
-- WHERE, also with the columns that are not read
SELECT copy_all('(k, i)', $p$printf '1\t10\n2\t20\n3\t30\n'$p$, 'WHERE i > 10 AND h = 7');
-- all types, under settings that change what text means
SET datestyle = 'sql, dmy';
SET intervalstyle = 'sql_standard';
SET extra_float_digits = -3;
SET timezone = 'Asia/Tokyo';
SELECT copy_all('(k, ts, iv)', $p$printf '1\t01/02/2020 10:00\t1 day -2:03\n'$p$, '');
SELECT copy_all('(k, i, t, v, n, d, ts, iv, f, m, ms, p, e, r, j, b)', $p$printf '1\t-5\tx\tabc\t12.3456\t31/01/2020\t01/02/2020 10:00\t1 day -2:03\t{0.1,1e-300,3.141592653589793,NaN}\tsad\t{happy,NULL}\t(1,happy)\t4\tdist\t{"a": 1}\t\\\\x00ff\n2\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t-1-2 3 -4:05\t\\N\t\\N\t\\N\t(,)\t\\N\tpg_class\t\\N\t\\N\n'$p$, '');
SET extra_float_digits = 1;
SELECT k, d, ts, iv, f, p, r FROM dist ORDER BY k;
RESET datestyle;
RESET intervalstyle;
RESET timezone;
RESET extra_float_digits;

-- binary, and FREEZE, which has no effect, but is for tables that the transaction has truncated
\set file `mktemp -u /tmp/pomelo_copy_XXXXXX`
DELETE FROM plain;
INSERT INTO plain (k, i, t, f, n) SELECT s, s * 3, 'row ' || s, ARRAY[s / 7.0], s / 3.0 FROM generate_series(1, 100) s;
COPY plain (k, i, t, f, n) TO :'file' (FORMAT binary);
DELETE FROM dist;
DELETE FROM ref;
DELETE FROM single;
COPY dist (k, i, t, f, n) FROM :'file' (FORMAT binary, FREEZE);
BEGIN;
TRUNCATE dist;
COPY dist (k, i, t, f, n) FROM :'file' (FORMAT binary, FREEZE);
COMMIT;
COPY ref (k, i, t, f, n) FROM :'file' (FORMAT binary);
COPY single (k, i, t, f, n) FROM :'file' (FORMAT binary);
\setenv FILE :file
\! rm -f "$FILE"
SELECT count(*), sum(k), sum(n) FROM (TABLE plain EXCEPT TABLE dist) x;
SELECT count(*), sum(k), sum(n) FROM (TABLE plain EXCEPT TABLE ref) x;
SELECT count(*), sum(k), sum(n) FROM (TABLE dist EXCEPT TABLE single) x;
SELECT count(*), sum(k) FROM dist;

-- client encoding
DELETE FROM dist;
SET client_encoding = latin1;
COPY dist (k, t, h) FROM PROGRAM 'printf ''1\tcaf\351\t1\n''';
COPY dist (k, t) FROM PROGRAM 'printf ''2\tcaf\351\n''';
RESET client_encoding;
SELECT k, length(t), t = U&'caf\00E9' AS same FROM dist ORDER BY k;

-- identity, serial: values come from the sequences; defaults are computed once
CREATE TABLE seqs (k int NOT NULL, s serial, id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT now());
SELECT create_distributed_table('seqs', 'k');
COPY seqs (k) FROM PROGRAM 'seq 1 500';
COPY seqs (k, id) FROM PROGRAM 'printf ''501\t1000\n''';
SELECT count(*), count(DISTINCT s), count(DISTINCT id), max(id) FROM seqs;
SELECT count(DISTINCT at) FROM seqs WHERE k <= 500;

-- in transactions
BEGIN;
TRUNCATE seqs;
COPY seqs (k) FROM PROGRAM 'seq 1 10';
SAVEPOINT a;
COPY seqs (k) FROM PROGRAM 'seq 11 30';
ROLLBACK TO a;
SAVEPOINT b;
COPY seqs (k) FROM PROGRAM 'printf ''1\nx\n''';
ROLLBACK TO b;
COPY seqs (k) FROM PROGRAM 'seq 101 105';
SELECT count(*), sum(k) FROM seqs;
COMMIT;
SELECT count(*), sum(k) FROM seqs;
BEGIN;
COPY seqs (k) FROM PROGRAM 'seq 1 10';
COPY ref (k) FROM PROGRAM 'seq 1000 1010';
ROLLBACK;
SELECT count(*), sum(k) FROM seqs;
SELECT count(*) FROM ref WHERE k >= 1000;

-- a new table in its own transaction
BEGIN;
CREATE TABLE fresh (k int, v text);
SELECT create_distributed_table('fresh', 'k');
COPY fresh FROM STDIN;
1	a
2	b
\.
SELECT * FROM fresh ORDER BY k;
COMMIT;
SELECT * FROM fresh ORDER BY k;

-- columns that the user may not insert into get their defaults, of the node or of the initiator, for which a global index is
SET citus.global_indexes = on;
CREATE TABLE rights (k int DEFAULT 5, v text UNIQUE, at timestamptz DEFAULT clock_timestamp(), w int DEFAULT 3);
SELECT create_distributed_table('rights', 'k');
CREATE TABLE rights_too (k int DEFAULT 5, v text, at timestamptz DEFAULT clock_timestamp());
SELECT create_distributed_table('rights_too', 'k');
CREATE ROLE copy_from_writer;
GRANT USAGE ON SCHEMA copy_from TO copy_from_writer;
GRANT INSERT (v), SELECT ON rights, rights_too TO copy_from_writer;
SET ROLE copy_from_writer;
COPY rights (v) FROM STDIN;
a
b
\.
COPY rights_too (v) FROM STDIN;
a
b
\.
\copy rights (v, w) FROM '/dev/null'
\copy rights_too (k, v) FROM '/dev/null'
SET citus.insert_stream_threshold = 0;
INSERT INTO rights_too (v) SELECT v FROM rights;
SELECT k, v, at IS NOT NULL, w FROM rights ORDER BY v;
SELECT k, v, at IS NOT NULL, count(*) FROM rights_too GROUP BY 1, 2, 3 ORDER BY v;
RESET citus.insert_stream_threshold;
RESET ROLE;
DROP TABLE rights, rights_too;
REVOKE ALL ON SCHEMA copy_from FROM copy_from_writer;
DROP ROLE copy_from_writer;

-- read-only
BEGIN READ ONLY;
\copy fresh FROM '/dev/null'
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA copy_from CASCADE;
