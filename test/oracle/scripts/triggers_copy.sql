-- COPY FROM into tables with triggers for INSERT.
--
-- distribute: t(id), a(id) with t, q(id) with t, st(id) with t, one single, r reference, rs reference, log single

CREATE TABLE log (seq bigserial, what text);
CREATE TABLE t (id int PRIMARY KEY, v text, n int NOT NULL DEFAULT 3 CHECK (n < 1000),
	g text GENERATED ALWAYS AS ('g' || v) STORED, d int DEFAULT 7 + 1);
CREATE TABLE a (id int PRIMARY KEY, v text, g text GENERATED ALWAYS AS ('g' || v) STORED);
CREATE TABLE q (id int PRIMARY KEY, n int);
CREATE TABLE st (id int PRIMARY KEY, v text);
CREATE TABLE one (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE r (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE rs (id int PRIMARY KEY, v text);
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_copy.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_NAME, TG_WHEN, TG_LEVEL, TG_OP,
		'new=' || NEW::text));
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = 'skip' THEN
		RETURN NULL;
	ELSIF NEW.v = 'fail' THEN
		RAISE EXCEPTION 'not this one' USING ERRCODE = 'P0042';
	ELSIF NEW.v = 'move' THEN
		NEW.id := NEW.id + 1000;
	END IF;
	NEW.n := NEW.n + 1;
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.n := (SELECT count(*) FROM o_triggers_copy.q);
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION new_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_copy.log (what) SELECT TG_OP || ' new ' || x::text FROM new_rows x ORDER BY id;
	RETURN NULL;
END $$;
CREATE TRIGGER change BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER a_note BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b_note AFTER INSERT ON t FOR EACH ROW WHEN (NEW.n <> 5) EXECUTE FUNCTION note();
CREATE TRIGGER s_before BEFORE INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER note AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER new_rows AFTER INSERT ON a REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION new_rows();
CREATE TRIGGER count_rows BEFORE INSERT ON q FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER note AFTER INSERT ON st FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER change BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER note AFTER INSERT ON one FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER change BEFORE INSERT ON r FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER note AFTER INSERT ON r FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note AFTER INSERT ON rs FOR EACH STATEMENT EXECUTE FUNCTION note();

-- setup ends
COPY t (id, v) FROM STDIN;
1	a
2	skip
3	move
4	\N
\.
COPY t (id, v) FROM STDIN;
5	a
6	fail
\.
COPY t (id, v, n) FROM STDIN WITH (FORMAT csv, HEADER) WHERE id <> 8;
id,v,n
7,x,3
8,fail,2
9,"multi
line",4
\.
COPY t (id, v, n) FROM STDIN;
\.
COPY t (id, v, n) FROM STDIN;
21	a	5
22	a	1000
\.
COPY t (id, v, n) FROM STDIN;
21	a	5
x	a	1000
\.
COPY t (id, v, n) FROM STDIN;
21	a	5
1	duplicate	10
\.
COPY t FROM STDIN;
30	a	5	6
31	b	\N	6
\.
BEGIN;
COPY t (v, id) FROM STDIN WITH (DELIMITER '|');
b|40
c|41
\.
SAVEPOINT s;
COPY t (v, id) FROM STDIN WITH (DELIMITER '|');
b|42
fail|43
\.
ROLLBACK TO s;
COPY t (v, id) FROM STDIN WITH (DELIMITER '|');
b|42
\.
COMMIT;
-- save: t
COPY (SELECT id + 50, v, n, d FROM t WHERE id < 10 ORDER BY id) TO STDOUT WITH (FORMAT binary);
-- feed: t
COPY t (id, v, n, d) FROM STDIN WITH (FORMAT binary);
SELECT * FROM t ORDER BY id;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

COPY a (id, v) FROM STDIN;
1	a
2	b
3	c
4	d
5	e
\.
COPY a (id, v) FROM STDIN;
\.
COPY a (id, v) FROM STDIN;
6	a
1	b
\.
SELECT * FROM a ORDER BY id;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

COPY q (id) FROM STDIN;
1
2
3
4
5
6
\.
SELECT * FROM q ORDER BY id;

COPY st FROM STDIN;
1	a
2	b
\.
COPY rs FROM STDIN;
1	a
2	b
\.
COPY one (id, v) FROM STDIN;
1	a
2	skip
3	move
\.
COPY one (id, v) FROM STDIN;
4	a
5	fail
\.
COPY r (id, v) FROM STDIN;
1	a
2	skip
3	move
\.
COPY r (id, v) FROM STDIN;
4	a
5	fail
\.
SELECT * FROM st ORDER BY id;
SELECT * FROM one ORDER BY id;
SELECT * FROM r ORDER BY id;
SELECT * FROM rs ORDER BY id;
SELECT what FROM log ORDER BY seq;
