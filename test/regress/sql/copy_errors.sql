-- Errors of COPY FROM are those of PostgreSQL, with the line of the input, and nothing is stored.
CREATE SCHEMA copy_errors;
CREATE SCHEMA copy_errors_plain;
CREATE SCHEMA copy_errors_dist;
CREATE SCHEMA copy_errors_ref;
SET search_path = copy_errors;

CREATE TABLE copy_errors_plain.t (k int, v int CHECK (v < 100), w text NOT NULL DEFAULT 'x', UNIQUE (k, v));
CREATE TABLE copy_errors_dist.t (LIKE copy_errors_plain.t INCLUDING ALL);
CREATE TABLE copy_errors_ref.t (LIKE copy_errors_plain.t INCLUDING ALL);
SELECT create_distributed_table('copy_errors_dist.t', 'k', shard_count => 7);
SELECT create_reference_table('copy_errors_ref.t');

-- What a COPY into one table says; of the context, the line that tells of the input.
CREATE FUNCTION copy_error(target text, columns text, program text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail text;
    hint text;
    context text;
    tab text;
    con text;
BEGIN
    EXECUTE format('COPY %s %s FROM PROGRAM %L %s', target, columns, program, options);
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
        context = PG_EXCEPTION_CONTEXT, tab = TABLE_NAME, con = CONSTRAINT_NAME;
    RETURN concat_ws(E'\n', SQLSTATE || ' ' || message, 'detail: ' || nullif(detail, ''), 'hint: ' || nullif(hint, ''),
                     substring(context FROM '(?n)^COPY .*$'), 'table: ' || nullif(tab, ''),
                     'constraint: ' || nullif(con, ''));
END $$;

-- The same into an ordinary, a distributed and a reference table.
CREATE FUNCTION copy_errors(columns text, program text, options text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected text := copy_error('copy_errors_plain.t', columns, program, options);
    target text;
    found text;
    result text := expected;
BEGIN
    FOREACH target IN ARRAY ARRAY['copy_errors_dist.t', 'copy_errors_ref.t'] LOOP
        found := copy_error(target, columns, program, options);
        IF found IS DISTINCT FROM expected THEN
            result := format(E'%s\nBUT %s:\n%s', result, target, found);
        END IF;
    END LOOP;
    RETURN result;
END $$;

\pset format unaligned
\pset tuples_only on

-- input that can't be parsed: the distribution column, others, too few and too many
SELECT copy_errors('', $$printf '1\t1\ta\nx\t2\tb\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\tb\n3\ty\tc\n'$$);
SELECT copy_errors('(v, k)', $$printf '1\t1\ny\t2\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\tb\tc\n'$$);
SELECT copy_errors('', $$printf 'k,v,w\n1,1,"a\nb\nc"\n2,2,"\n"\n3,3,"d\n\n"\n4,z,"\n\n\n"\n'$$, '(FORMAT csv, HEADER)');
SELECT copy_errors('', $$printf '1,1,a\n2,2,"b\n'$$, '(FORMAT csv)');
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\tb\r\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\t\377\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n\n'$$);
SELECT copy_errors('', $$printf 'PGCOPY\n'$$, '(FORMAT binary)');
SELECT copy_errors('', $$seq -f '%.0f	1	x' 1 5000; echo '9	y	x'$$);
-- constraints of a shard
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\tb\n3\t100\tc\n4\t4\td\n'$$);
SELECT copy_errors('(k, v)', $$printf '1\t1\n2\t2\n3\t3\n4\t4\n5\t100\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\tb\n1\t1\tc\n'$$);
SELECT copy_errors('', $$printf '1\t1\ta\n2\t2\t\\N\n'$$);
SELECT copy_errors('', $$seq -f '%.0f	1	x' 1 20000; echo '9	100	x'$$);
-- the statement itself
SELECT copy_errors('(k, nothere)', 'true');
SELECT copy_errors('(k, k)', 'true');
SELECT copy_errors('', $$printf 'k,w,v\n'$$, '(FORMAT csv, HEADER MATCH)');
SELECT copy_errors('', 'true', '(FORMAT nonsense)');
SELECT copy_errors('', 'true', '(FORMAT csv, FORCE_NULL (nothere))');
SELECT copy_errors('(k)', 'true', '(FORMAT csv, FORCE_NULL (w))');
SELECT copy_errors('', 'true', '(NULL ''x'', DELIMITER ''x'')');
SELECT copy_errors('', 'true', 'WHERE (SELECT true)');
SELECT copy_errors('', 'true', 'WHERE nothere = 1');
SELECT copy_errors('', 'true', 'WHERE k');
SELECT copy_errors('', 'echo 1; exit 3');
SELECT copy_errors('', 'exit 3');

-- nothing was stored anywhere, and the session goes on
SELECT count(*) FROM copy_errors_dist.t;
SELECT DISTINCT result FROM run_command_on_all_nodes('SELECT count(*) FROM copy_errors_ref.t');
COPY copy_errors_dist.t FROM STDIN;
1	1	a
2	2	b
\.
SELECT * FROM copy_errors_dist.t ORDER BY k;

-- privileges
SELECT DISTINCT result FROM run_command_on_all_nodes('CREATE ROLE copy_errors_user');
GRANT USAGE ON SCHEMA copy_errors_dist, copy_errors_ref TO copy_errors_user;
GRANT SELECT, INSERT (k, v) ON copy_errors_dist.t TO copy_errors_user;
SET ROLE copy_errors_user;
\copy copy_errors_dist.t FROM '/dev/null'
COPY copy_errors_dist.t (k, v) FROM STDIN;
11	1
12	2
\.
COPY copy_errors_dist.t (k, v) FROM PROGRAM 'echo 1';
COPY copy_errors_dist.t FROM '/tmp/x';
\copy copy_errors_ref.t FROM '/dev/null'
COPY (SELECT * FROM copy_errors_dist.t ORDER BY k) TO STDOUT (DELIMITER ',', HEADER);
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA copy_errors, copy_errors_plain, copy_errors_dist, copy_errors_ref CASCADE;
SELECT DISTINCT result FROM run_command_on_all_nodes('DROP ROLE copy_errors_user');
