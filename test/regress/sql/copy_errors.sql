-- Errors of COPY FROM say what PostgreSQL says, with the line of the input, and nothing is stored.
CREATE SCHEMA copy_errors;
SET search_path = copy_errors;
\set VERBOSITY default

CREATE TABLE t (k int, v int CHECK (v < 100), w text NOT NULL DEFAULT 'x', UNIQUE (k, v));
CREATE TABLE r (k int PRIMARY KEY, v int CHECK (v < 100));
SELECT create_distributed_table('t', 'k', shard_count => 7);
SELECT create_reference_table('r');

-- input that can't be parsed: the distribution column, another one, too few and too many
COPY t FROM STDIN;
1	1	a
x	2	b
\.
COPY t FROM STDIN;
1	1	a
2	2	b
3	y	c
\.
COPY t (k, v) FROM STDIN;
1	1
2	y
\.
COPY t FROM STDIN;
1	1	a
2	2
\.
COPY t FROM STDIN;
1	1	a
2	2	b	c
\.
COPY t FROM STDIN (FORMAT csv);
1,1,"a
b
c"
2,2,"
"
3,y,d
\.
-- constraints of a shard
COPY t FROM STDIN;
1	1	a
2	2	b
3	100	c
4	4	d
\.
COPY t (k, v) FROM STDIN;
1	1
2	2
3	3
4	4
5	100
\.
COPY t FROM STDIN;
1	1	a
2	2	b
1	1	c
\.
COPY t FROM STDIN;
1	1	a
2	2	\N
\.
-- null distribution value
COPY t FROM STDIN;
1	1	a
\N	2	b
\.
COPY t (v) FROM STDIN;
1
\.
-- reference table
COPY r FROM STDIN;
1	1
2	2
1	3
\.
COPY r FROM STDIN;
1	1
2	100
\.
-- the statement itself
COPY t (k, nothere) FROM STDIN;
\.
COPY t (k, k) FROM STDIN;
\.
COPY t FROM STDIN (FORMAT csv, HEADER MATCH);
k,w,v
\.
COPY t FROM STDIN (FORMAT nonsense);
\.
COPY t FROM STDIN (FORMAT csv, FORCE_NULL (nothere));
\.
COPY t FROM STDIN WHERE (SELECT true);
\.
COPY t FROM STDIN WHERE nothere = 1;
\.
COPY t FROM PROGRAM 'echo 1; exit 3';
COPY t FROM '/nonexistent/file';

-- nothing was stored anywhere, and the session goes on
SELECT count(*) FROM t;
SELECT count(*) FROM r;
SELECT DISTINCT result FROM run_command_on_all_nodes('SELECT count(*) FROM copy_errors.r');
COPY t FROM STDIN;
1	1	a
2	2	b
\.
SELECT * FROM t ORDER BY k;

-- privileges
CREATE ROLE copy_errors_user;
GRANT USAGE ON SCHEMA copy_errors TO copy_errors_user;
GRANT SELECT, INSERT (k, v) ON t TO copy_errors_user;
SET ROLE copy_errors_user;
COPY t FROM STDIN;
\.
COPY t (k, v) FROM STDIN;
11	1
12	2
\.
COPY t (k, v) FROM PROGRAM 'echo 1';
COPY t FROM '/tmp/x';
COPY r FROM STDIN;
\.
COPY t TO STDOUT (DELIMITER ',', HEADER);
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA copy_errors CASCADE;
DROP OWNED BY copy_errors_user;
DROP ROLE copy_errors_user;
