SET citus.enable_metadata_sync = off;
CREATE SCHEMA triggers;
SET search_path = triggers;
-- functions of triggers have to be on all nodes; made in this way, they are not
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % % on %: old=% new=% depth=% args=%', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, TG_TABLE_NAME,
		OLD, NEW, pg_trigger_depth(), TG_ARGV;
	IF TG_WHEN = 'BEFORE' AND TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE' THEN
		NEW.v := NEW.v || '!';
	END IF;
	RETURN coalesce(NEW, OLD);
END$$;
CREATE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE triggers.tallies SET n = n + 1, seen = (SELECT count(*) FROM triggers.t) WHERE k = 1;
	RETURN NULL;
END$$;
CREATE FUNCTION earlier_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.v := 'after ' || (SELECT count(*) FROM triggers.t);
	RETURN NEW;
END$$;
CREATE FUNCTION transitions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% rows, sum %', (SELECT count(*) FROM added), (SELECT sum(id) FROM added);
	RETURN NULL;
END$$;
CREATE FUNCTION reroute() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.id := NEW.id + 1000;
	RETURN NEW;
END$$;
CREATE TABLE t (id int PRIMARY KEY, v text, g text GENERATED ALWAYS AS ('g' || v) STORED);
CREATE TABLE tallies (k int PRIMARY KEY, n int, seen int);
CREATE TABLE r (id int PRIMARY KEY, v text);
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note('x', 'y');
-- the table takes along the function that it calls
SELECT create_distributed_table('t', 'id');
SELECT result FROM run_command_on_workers($$SELECT string_agg(proname, ' ') FROM pg_proc WHERE pronamespace = 'triggers'::regnamespace$$);
-- another one is missing on other nodes; which one says so first depends
\set SHOW_CONTEXT never
CREATE TRIGGER missing BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tally();
\set SHOW_CONTEXT errors
SELECT count(*) FILTER (WHERE success)
FROM unnest('{tally,earlier_rows,transitions,reroute}'::regproc[]) f, run_command_on_workers(pg_get_functiondef(f));
RESET citus.enable_metadata_sync;
SELECT create_distributed_table('tallies', 'k');
SELECT create_reference_table('r');
INSERT INTO tallies VALUES (1, 0);

-- rows and statements, in the server's order
CREATE TRIGGER b_after AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER s_before BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
INSERT INTO t VALUES (1, 'one'), (2, 'two') RETURNING *;
UPDATE t SET v = 'uno' WHERE id = 1 RETURNING *;
UPDATE t SET id = 101 WHERE id = 1;
DELETE FROM t WHERE id = 99;
DELETE FROM t WHERE id = 101;
MERGE INTO t USING (VALUES (2, 'zwei')) AS s (id, v) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
PREPARE ins(int, text) AS INSERT INTO t VALUES ($1, $2);
EXECUTE ins(3, 'three');
ALTER TABLE t DISABLE TRIGGER USER;
EXECUTE ins(4, 'four');
ALTER TABLE t ENABLE TRIGGER a_before;
EXECUTE ins(5, 'five');
SELECT * FROM t ORDER BY id;
DROP TRIGGER a_before ON t;
DROP TRIGGER b_after ON t;
DROP TRIGGER s_before ON t;
ALTER TRIGGER s_after ON t RENAME TO renamed;
COMMENT ON TRIGGER renamed ON t IS 'on all nodes';
SELECT result FROM run_command_on_workers($$
	SELECT string_agg(tgname || ' ' || obj_description(oid, 'pg_trigger') || ' ' || tgenabled::text, ',') FROM pg_trigger
	WHERE tgrelid = 'triggers.t'::regclass AND NOT tgisinternal$$);
DROP TRIGGER renamed ON t;

-- what a trigger does is part of the statement, and sees it
CREATE TRIGGER tally AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION tally();
INSERT INTO t SELECT i, 'v' FROM generate_series(11, 20) i;
SELECT * FROM tallies;
BEGIN;
INSERT INTO t VALUES (21, 'v');
ROLLBACK;
SELECT * FROM tallies;
DROP TRIGGER tally ON t;
CREATE TRIGGER earlier BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION earlier_rows();
INSERT INTO t SELECT i FROM generate_series(31, 33) i;
SELECT id, v FROM t WHERE id > 30 ORDER BY id;
DROP TRIGGER earlier ON t;

-- transition tables; WHEN; UPDATE OF
CREATE TRIGGER added AFTER INSERT ON t REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION transitions();
INSERT INTO t SELECT i, 'v' FROM generate_series(41, 50) i;
DROP TRIGGER added ON t;
CREATE TRIGGER conditional BEFORE UPDATE OF v ON t FOR EACH ROW WHEN (OLD.v IS DISTINCT FROM NEW.v)
	EXECUTE FUNCTION note();
UPDATE t SET v = 'v' WHERE id = 41;
UPDATE t SET v = 'w' WHERE id = 41;
DROP TRIGGER conditional ON t;

-- a row goes to the shard of the value that the trigger leaves
CREATE TRIGGER reroute BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION reroute();
INSERT INTO t VALUES (60, 'moved');
SELECT id, v FROM t WHERE id = 1060;
DROP TRIGGER reroute ON t;

-- a reference table's triggers fire once
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON r FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO r VALUES (1, 'one'), (2, 'two');
UPDATE r SET v = 'zwei' WHERE id = 2;
SELECT * FROM r ORDER BY id;
SELECT result FROM run_command_on_workers($$SELECT string_agg(v, ',' ORDER BY id) FROM triggers.r$$);

-- ON CONFLICT: an INSERT's triggers, then those of the UPDATE that it becomes
CREATE TRIGGER row_before BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_after AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER added AFTER INSERT ON t REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION transitions();
CREATE TRIGGER changed AFTER UPDATE ON t REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION transitions();
INSERT INTO t VALUES (71, 'a'), (72, 'b');
INSERT INTO t VALUES (72, 'B'), (73, 'C'), (71, 'A') ON CONFLICT (id)
	DO UPDATE SET v = excluded.g || ' for ' || t.g WHERE t.id <> 71 RETURNING *;
INSERT INTO t VALUES (72, 'D'), (74, 'E') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO t VALUES (75, 'F'), (75, 'G') ON CONFLICT (id) DO UPDATE SET v = 'x';
INSERT INTO t SELECT 76 ON CONFLICT (id) DO UPDATE SET v = (SELECT n::text FROM tallies WHERE k = t.id);
INSERT INTO t SELECT i FROM generate_series(76, 77) i ON CONFLICT (id) DO UPDATE SET v = (SELECT n::text FROM tallies WHERE k = t.id);
DROP TRIGGER row_before ON t;
DROP TRIGGER row_after ON t;
DROP TRIGGER added ON t;
DROP TRIGGER changed ON t;

-- COPY FROM: once on the initiator, also for a reference table
CREATE TRIGGER row_before BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_after AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();
COPY t FROM STDIN WITH (FORMAT csv);
81,a
82,b
\.
\set SHOW_CONTEXT never
COPY t FROM STDIN;
83	a
81	b
\.
\set SHOW_CONTEXT errors
COPY r FROM STDIN;
83	a
\.
DROP TRIGGER row_before ON t;
DROP TRIGGER row_after ON t;

-- TRUNCATE, on the initiator alone
CREATE TRIGGER emptied AFTER TRUNCATE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
TRUNCATE t;

-- at the end of the transaction
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
BEGIN;
INSERT INTO t VALUES (91, 'a');
UPDATE t SET v = 'b' WHERE id = 91;
SET CONSTRAINTS late IMMEDIATE;
INSERT INTO t VALUES (92, 'c');
SET CONSTRAINTS late DEFERRED;
INSERT INTO t VALUES (93, 'd');
COMMIT;
DROP TRIGGER late ON t;
DELETE FROM t;

-- they stay with the table, and go with their function
CREATE TRIGGER note BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t VALUES (1, 'one');
SELECT undistribute_table('t');
SELECT create_distributed_table('t', 'id');
SELECT * FROM t;
DROP FUNCTION note() CASCADE;
INSERT INTO t VALUES (2, 'two');
SELECT result FROM run_command_on_workers($$
	SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('triggers.t'::regclass, 'triggers.r'::regclass) AND NOT tgisinternal$$);
SET client_min_messages = warning;
DROP SCHEMA triggers CASCADE;
SELECT count(*) FILTER (WHERE success) FROM run_command_on_workers('DROP SCHEMA IF EXISTS triggers CASCADE');
