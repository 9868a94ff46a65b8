-- Rights on tables, columns, views and functions, tried by roles that have some of them.
--
-- distribute: t(id), u(id) with t, wide(id), inbox(id), target(id), source(id) with target, stamped(id), everywhere reference, r reference, s single

-- on all nodes
DROP ROLE IF EXISTS o_priv_owner, o_priv_reader, o_priv_writer, o_priv_insert, o_priv_update, o_priv_delete, o_priv_cols, o_priv_merge, o_priv_views, o_priv_nobody, o_priv_outside, o_priv_member, o_priv_lazy, o_priv_second, o_priv_group;
-- on all nodes
CREATE ROLE o_priv_owner LOGIN;
-- on all nodes
CREATE ROLE o_priv_reader LOGIN;
-- on all nodes
CREATE ROLE o_priv_writer LOGIN;
-- on all nodes
CREATE ROLE o_priv_insert LOGIN;
-- on all nodes
CREATE ROLE o_priv_update LOGIN;
-- on all nodes
CREATE ROLE o_priv_delete LOGIN;
-- on all nodes
CREATE ROLE o_priv_cols LOGIN;
-- on all nodes
CREATE ROLE o_priv_merge LOGIN;
-- on all nodes
CREATE ROLE o_priv_views LOGIN;
-- on all nodes
CREATE ROLE o_priv_nobody LOGIN;
-- on all nodes
CREATE ROLE o_priv_outside LOGIN;
-- on all nodes
CREATE ROLE o_priv_member LOGIN IN ROLE o_priv_reader;
-- on all nodes
CREATE ROLE o_priv_lazy LOGIN NOINHERIT IN ROLE o_priv_reader;
-- on all nodes
CREATE ROLE o_priv_second LOGIN IN ROLE o_priv_member;
-- on all nodes
CREATE ROLE o_priv_group NOLOGIN IN ROLE o_priv_writer;
-- on all nodes
GRANT USAGE ON SCHEMA o_privileges TO o_priv_owner, o_priv_reader, o_priv_writer, o_priv_insert, o_priv_update, o_priv_delete, o_priv_cols, o_priv_merge, o_priv_views, o_priv_nobody, o_priv_lazy;

CREATE TABLE t (id int PRIMARY KEY, a int, b text);
CREATE TABLE u (id int NOT NULL, n int);
CREATE TABLE wide (id int PRIMARY KEY, one int, two int, three int CHECK (three < 100), note text DEFAULT 'none');
CREATE TABLE inbox (id int PRIMARY KEY, message text NOT NULL);
CREATE TABLE target (id int PRIMARY KEY, v text, n int DEFAULT 7);
CREATE TABLE everywhere (id int PRIMARY KEY, v text, n int DEFAULT 7);
CREATE TABLE source (id int PRIMARY KEY, v text, n int);
CREATE TABLE stamped (id int PRIMARY KEY, v int, stamp int, other int);
CREATE TABLE r (id int PRIMARY KEY, city text);
CREATE TABLE s (k text, v int);
INSERT INTO t SELECT i, i % 5, 't' || i FROM generate_series(1, 30) i;
INSERT INTO u SELECT 1 + i % 12, i FROM generate_series(1, 40) i;
INSERT INTO wide SELECT i, i + 10, i + 20, i + 30, 'n' || i FROM generate_series(1, 20) i;
INSERT INTO target SELECT i, 'target' || i, i FROM generate_series(1, 8) i;
INSERT INTO everywhere SELECT * FROM target;
INSERT INTO source SELECT i, 'source' || i, i * 10 FROM generate_series(5, 12) i;
INSERT INTO r SELECT i, 'city' || i FROM generate_series(0, 5) i;
INSERT INTO s VALUES ('x', 1), ('y', 2);
ALTER TABLE t OWNER TO o_priv_owner;
ALTER TABLE r OWNER TO o_priv_owner;
ALTER TABLE wide OWNER TO o_priv_owner;

GRANT SELECT ON t, u, r, s TO o_priv_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON t, u, r, s, inbox TO o_priv_writer;
GRANT INSERT ON t, r, s, inbox TO o_priv_insert;
GRANT UPDATE ON t, r, s TO o_priv_update;
GRANT DELETE ON t, r, s TO o_priv_delete;
GRANT SELECT (id, one), INSERT (id, one, three), UPDATE (two, three) ON wide TO o_priv_cols;
GRANT SELECT (id, city), UPDATE (city) ON r TO o_priv_cols;
GRANT SELECT (id) ON t TO o_priv_cols;
GRANT SELECT (id), UPDATE (v), INSERT (id, v) ON target, everywhere TO o_priv_merge;
GRANT SELECT (id, n) ON source TO o_priv_merge;

-- on all nodes
CREATE VIEW of_owner AS SELECT id, a, b FROM t WHERE a < 4;
-- on all nodes
ALTER VIEW of_owner OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW of_nobody AS SELECT id, a, b FROM t;
-- on all nodes
ALTER VIEW of_nobody OWNER TO o_priv_nobody;
-- on all nodes
CREATE VIEW of_reader AS SELECT t.id, a, b, n FROM t JOIN u USING (id);
-- on all nodes
ALTER VIEW of_reader OWNER TO o_priv_reader;
-- on all nodes
CREATE VIEW invoker WITH (security_invoker) AS SELECT id, a, b FROM t;
-- on all nodes
ALTER VIEW invoker OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, a, b FROM t WHERE a <> 3;
-- on all nodes
ALTER VIEW barrier OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW barrier_cities WITH (security_barrier) AS SELECT * FROM r WHERE id < 3;
-- on all nodes
ALTER VIEW barrier_cities OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW over_barrier AS SELECT id, b FROM barrier WHERE a <> 2;
-- on all nodes
ALTER VIEW over_barrier OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW over_views AS SELECT o.id, o.a, r.city FROM of_owner o JOIN r ON r.id = o.a;
-- on all nodes
ALTER VIEW over_views OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW over_invoker AS SELECT id, b FROM invoker;
-- on all nodes
ALTER VIEW over_invoker OWNER TO o_priv_reader;
-- on all nodes
CREATE VIEW checked AS SELECT id, a, b FROM t WHERE a < 3 WITH CHECK OPTION;
-- on all nodes
ALTER VIEW checked OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW narrow AS SELECT id, two, three FROM wide;
-- on all nodes
ALTER VIEW narrow OWNER TO o_priv_owner;
-- on all nodes
CREATE VIEW cities AS SELECT * FROM r WHERE id < 4;
-- on all nodes
ALTER VIEW cities OWNER TO o_priv_owner;
-- on all nodes
GRANT SELECT ON of_owner, of_nobody, of_reader, invoker, barrier, over_views, over_invoker TO o_priv_views;
-- on all nodes
GRANT SELECT ON invoker TO o_priv_reader;
-- on all nodes
GRANT SELECT, INSERT, UPDATE, DELETE ON checked, cities, barrier, barrier_cities, over_barrier TO o_priv_views;
-- on all nodes
GRANT SELECT (id, two), UPDATE (three), INSERT (id, two) ON narrow TO o_priv_views;

-- on all nodes
CREATE FUNCTION count_t() RETURNS bigint LANGUAGE sql SECURITY DEFINER STABLE SET search_path = o_privileges AS 'SELECT count(*) FROM t';
-- on all nodes
ALTER FUNCTION count_t() OWNER TO o_priv_owner;
-- on all nodes
CREATE FUNCTION count_t_invoker() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM t';
-- on all nodes
CREATE FUNCTION send(int, text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = o_privileges AS $$
BEGIN
    INSERT INTO inbox VALUES ($1, $2 || ' by ' || current_user);
    RETURN (SELECT message FROM inbox WHERE id = $1);
END $$;
-- on all nodes
ALTER FUNCTION send(int, text) OWNER TO o_priv_writer;
-- on all nodes
CREATE FUNCTION who_am_i() RETURNS text LANGUAGE sql SECURITY DEFINER STABLE AS 'SELECT current_user::text';
-- on all nodes
ALTER FUNCTION who_am_i() OWNER TO o_priv_reader;
-- on all nodes
CREATE FUNCTION secretly(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
-- on all nodes
REVOKE ALL ON FUNCTION secretly(int) FROM PUBLIC;
-- on all nodes
GRANT EXECUTE ON FUNCTION secretly(int) TO o_priv_owner;
-- on all nodes
CREATE FUNCTION lazy_secret() RETURNS SETOF t LANGUAGE sql STABLE SECURITY DEFINER SET search_path = o_privileges AS 'SELECT * FROM t WHERE id <= 3';
-- on all nodes
ALTER FUNCTION lazy_secret() OWNER TO o_priv_owner;
-- on all nodes
CREATE FUNCTION refine(int, int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = o_privileges AS $$
DECLARE n int;
BEGIN
    UPDATE t SET a = $2 WHERE id = $1;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
-- on all nodes
ALTER FUNCTION refine(int, int) OWNER TO o_priv_reader;

-- on all nodes
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.stamp := coalesce(NEW.stamp, 0) + 1; NEW.other := NEW.v; RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON stamped FOR EACH ROW EXECUTE FUNCTION stamp();
GRANT SELECT, INSERT (id, v), UPDATE (v) ON stamped TO o_priv_cols;

-- setup ends
-- Rights on whole tables: every role tries every command, on each type of table.
SET ROLE o_priv_reader;
SELECT * FROM t WHERE id = 3;
SELECT count(*) FROM t;
SELECT count(*) FROM t JOIN u USING (id) JOIN r ON r.id = t.a, s WHERE s.k = 'x';
SELECT * FROM r WHERE id = 2;
SELECT * FROM s ORDER BY k;
SELECT count(*) FROM wide;
SELECT id FROM t WHERE id IN (SELECT id FROM wide);
SELECT * FROM t WHERE EXISTS (SELECT FROM inbox WHERE inbox.id = t.id);
SELECT (SELECT max(one) FROM wide);
WITH w AS (SELECT * FROM wide) SELECT count(*) FROM w;
SELECT id FROM t UNION ALL SELECT id FROM wide;
SELECT 1 FROM t WHERE false UNION ALL SELECT id FROM wide WHERE false;
INSERT INTO t VALUES (100, 1, 'no');
INSERT INTO r VALUES (100, 'no');
INSERT INTO s VALUES ('no', 0);
INSERT INTO t SELECT id + 100, a, b FROM t;
UPDATE t SET a = 0 WHERE id = 3;
UPDATE t SET a = 0;
UPDATE r SET city = 'no';
UPDATE s SET v = 0;
DELETE FROM t WHERE id = 3;
DELETE FROM t;
DELETE FROM r WHERE id = 1;
DELETE FROM s;
SELECT * FROM t WHERE id = 3 FOR UPDATE;
SELECT * FROM t FOR SHARE;
SELECT * FROM r WHERE id = 1 FOR UPDATE;
MERGE INTO t USING u ON t.id = u.id AND u.n = 1 WHEN MATCHED THEN UPDATE SET a = 1;
COPY (SELECT * FROM t WHERE id < 4 ORDER BY id) TO STDOUT;
COPY t (id) TO STDOUT;
COPY wide TO STDOUT;
COPY t FROM STDIN;
200	1	no
\.
DECLARE c CURSOR WITH HOLD FOR SELECT id FROM wide;
WITH w AS (DELETE FROM t WHERE id = 3 RETURNING *) SELECT * FROM w;
RESET ROLE;

SET ROLE o_priv_writer;
INSERT INTO t VALUES (101, 1, 'w') RETURNING *;
INSERT INTO t SELECT id + 110, a, b FROM t WHERE id < 4;
INSERT INTO r VALUES (101, 'w');
INSERT INTO s VALUES ('w', 3) RETURNING v;
UPDATE t SET b = b || '!' WHERE id = 101 RETURNING b;
UPDATE t SET b = b || '!' WHERE id > 100;
UPDATE t SET b = b || u.n FROM u WHERE u.id = t.id AND u.n = 5;
UPDATE r SET city = city || '?' WHERE id = 101 RETURNING *;
UPDATE s SET v = v + 1 WHERE k = 'w';
SELECT * FROM t WHERE id > 100 ORDER BY id FOR UPDATE;
INSERT INTO t VALUES (101, 2, 'again') ON CONFLICT (id) DO UPDATE SET b = excluded.b || t.b RETURNING *;
COPY t FROM STDIN;
102	2	copied
103	3	copied
\.
SELECT * FROM t WHERE id IN (102, 103) ORDER BY id;
DELETE FROM t WHERE id > 100;
DELETE FROM r WHERE id = 101;
DELETE FROM s WHERE k = 'w' RETURNING v;
UPDATE t SET a = one FROM wide WHERE wide.id = t.id;
DELETE FROM t USING wide WHERE wide.id = t.id;
INSERT INTO t SELECT id, one, note FROM wide;
INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT (id) DO UPDATE SET a = (SELECT max(one) FROM wide);
RESET ROLE;

SET ROLE o_priv_insert;
INSERT INTO t VALUES (120, 1, 'i');
INSERT INTO t VALUES (121, 1, 'i'), (122, 2, 'i');
INSERT INTO t VALUES (123, 1, 'i') RETURNING id;
INSERT INTO t VALUES (123, 1, 'i') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (123, 1, 'i') ON CONFLICT (id) DO NOTHING;
INSERT INTO t VALUES (123, 1, 'i') ON CONFLICT (id) DO UPDATE SET a = 1;
INSERT INTO t SELECT i, i, 'gen' FROM generate_series(130, 135) i;
INSERT INTO t SELECT id + 1000, a, b FROM t;
INSERT INTO r VALUES (120, 'i');
INSERT INTO r VALUES (121, 'i') RETURNING city;
INSERT INTO s VALUES ('i', 5);
SELECT 1 FROM t;
SELECT count(*) FROM t;
UPDATE t SET a = 1;
DELETE FROM t;
COPY t (id, b) FROM STDIN;
140	copied
\.
COPY t TO STDOUT;
RESET ROLE;
SELECT count(*), sum(a) FROM t WHERE id >= 120;

SET ROLE o_priv_update;
UPDATE t SET a = 3 WHERE id = 120;
UPDATE t SET a = 3;
UPDATE t SET a = a + 1;
UPDATE t SET b = 'all';
UPDATE t SET b = 'all' RETURNING 1;
UPDATE t SET b = 'all' RETURNING id;
UPDATE r SET city = 'all';
UPDATE r SET city = 'one' WHERE id = 1;
UPDATE s SET v = 9;
UPDATE s SET v = v;
SELECT 1 FROM t FOR UPDATE;
INSERT INTO t VALUES (150, 1, 'u');
RESET ROLE;

SET ROLE o_priv_delete;
BEGIN;
DELETE FROM t;
ROLLBACK;
DELETE FROM t WHERE id = 120;
DELETE FROM t RETURNING 1;
DELETE FROM t RETURNING b;
DELETE FROM r WHERE id = 120;
BEGIN;
DELETE FROM r;
DELETE FROM s;
ROLLBACK;
RESET ROLE;
SELECT count(*), min(b), max(b) FROM t;
DELETE FROM t WHERE id > 100;
DELETE FROM r WHERE id > 100;
DELETE FROM s WHERE k = 'i';
UPDATE t SET a = id % 5, b = 't' || id;
UPDATE r SET city = 'city' || id;

-- Writes that the initiator computes, with the right to update or to delete alone, in turn.
SET ROLE o_priv_update;
UPDATE t SET a = 7 FROM generate_series(1, 2) g;
UPDATE t SET a = g FROM (SELECT max(i) AS g FROM generate_series(1, 3) i) m;
MERGE INTO t USING generate_series(1, 1) g ON true WHEN MATCHED THEN UPDATE SET a = g;
MERGE INTO s USING generate_series(1, 1) g ON true WHEN MATCHED THEN UPDATE SET v = g;
MERGE INTO t USING generate_series(1, 1) g ON true WHEN MATCHED THEN DELETE;
DELETE FROM t USING generate_series(1, 2) g;
SET ROLE o_priv_delete;
BEGIN;
DELETE FROM t USING generate_series(1, 2) g;
DELETE FROM r USING generate_series(1, 2) g;
DELETE FROM s USING generate_series(1, 2) g;
ROLLBACK;
BEGIN;
MERGE INTO t USING generate_series(1, 1) g ON true WHEN MATCHED THEN DELETE;
ROLLBACK;
MERGE INTO t USING generate_series(1, 1) g ON true WHEN MATCHED THEN UPDATE SET a = g;
UPDATE t SET a = 7 FROM generate_series(1, 2) g;
DELETE FROM t USING generate_series(1, 2) g WHERE t.id = g;
RESET ROLE;
SELECT count(*), sum(a) FROM t;
UPDATE t SET a = id % 5;
UPDATE s SET v = 1;

SET ROLE o_priv_nobody;
SELECT * FROM t;
SELECT 1 FROM t WHERE id = 1;
SELECT * FROM r;
SELECT * FROM s;
SELECT count(*) FROM t WHERE false;
INSERT INTO t VALUES (1, 1, 'x');
UPDATE t SET a = 1 WHERE id = 1;
DELETE FROM t WHERE id = 1;
DELETE FROM t WHERE false;
INSERT INTO t SELECT 1, 1, 'x' WHERE false;
COPY t FROM STDIN;
1	1	no
\.
SET ROLE o_priv_outside;
SELECT * FROM o_privileges.t WHERE id = 1;
SELECT o_privileges.count_t();
RESET ROLE;

-- Membership.
SET ROLE o_priv_member;
SELECT * FROM t WHERE id = 4;
SELECT count(*) FROM t JOIN u USING (id);
UPDATE t SET a = 1 WHERE id = 4;
SET ROLE o_priv_second;
SELECT * FROM t WHERE id = 4;
SELECT city FROM r WHERE id = 4;
SET ROLE o_priv_lazy;
SELECT * FROM t WHERE id = 4;
SELECT count(*) FROM t;
SELECT count(*) FROM r;
RESET ROLE;
SET SESSION AUTHORIZATION o_priv_lazy;
SELECT count(*) FROM t;
SET ROLE o_priv_reader;
SELECT session_user, current_user, count(*) FROM t GROUP BY 1, 2;
SELECT * FROM t WHERE id = 5;
SET ROLE o_priv_writer;
SELECT current_user;
RESET ROLE;
SELECT * FROM t WHERE id = 5;
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION o_priv_second;
SELECT session_user, current_user, id FROM t WHERE id = 6;
SET ROLE o_priv_member;
SELECT session_user, current_user, count(*) FROM t GROUP BY 1, 2;
SET ROLE o_priv_reader;
SELECT session_user, current_user, count(*) FROM t JOIN u USING (id) GROUP BY 1, 2;
RESET SESSION AUTHORIZATION;

-- What a role grants that may read the table, and no more; and what depends on what a role drops is another's.
GRANT SELECT ON t TO o_priv_nobody WITH GRANT OPTION;
SET ROLE o_priv_nobody;
GRANT SELECT ON t TO o_priv_outside;
SET ROLE o_priv_outside;
GRANT SELECT ON t TO o_priv_lazy;
RESET ROLE;
SELECT has_table_privilege('o_priv_outside', 't', 'SELECT');
SET ROLE o_priv_nobody;
REVOKE SELECT ON t FROM o_priv_outside;
RESET ROLE;
SELECT has_table_privilege('o_priv_outside', 't', 'SELECT');
CREATE VIEW of_a_writer AS SELECT id FROM t;
ALTER VIEW of_a_writer OWNER TO o_priv_writer;
CREATE POLICY of_an_owner ON u USING (id IN (SELECT id FROM of_a_writer));
SET ROLE o_priv_writer;
DROP VIEW of_a_writer;
DROP VIEW of_a_writer CASCADE;
RESET ROLE;
SELECT count(*) FROM pg_policy WHERE polname = 'of_an_owner';
REVOKE SELECT ON t FROM o_priv_nobody CASCADE;

-- Large objects belong to a server; a number may be one that initdb could have given to another object.
SELECT lo_create(9001), lo_create(9100200);
GRANT SELECT, UPDATE ON LARGE OBJECT 9001 TO o_priv_writer;
GRANT SELECT ON LARGE OBJECT 9001, 9100200 TO o_priv_reader;
COMMENT ON LARGE OBJECT 9001 IS 'a large object';
SET ROLE o_priv_writer;
SELECT lowrite(lo_open(9001, x'20000'::int), 'abcd');
SELECT lo_unlink(9001);
SET ROLE o_priv_reader;
SELECT lo_get(9001), lo_get(9100200);
SELECT lowrite(lo_open(9001, x'20000'::int), 'abcd');
RESET ROLE;
REVOKE SELECT ON LARGE OBJECT 9001 FROM o_priv_reader;
ALTER LARGE OBJECT 9001 OWNER TO o_priv_reader;
SELECT oid, pg_get_userbyid(lomowner) AS owner, lomacl FROM pg_largeobject_metadata WHERE oid IN (9001, 9100200) ORDER BY 1;
SELECT obj_description(9001, 'pg_largeobject'), lo_unlink(9001), lo_unlink(9100200);

-- A session's user that can't log in, and one that changes in a transaction that has written.
SET SESSION AUTHORIZATION o_priv_group;
SELECT session_user, current_user, count(*) FROM t GROUP BY 1, 2;
UPDATE t SET b = 'by a group' WHERE id IN (3, 4, 5);
SELECT count(*) FROM r;
SET ROLE o_priv_writer;
SELECT session_user, current_user, count(*) FROM t WHERE b = 'by a group' GROUP BY 1, 2;
RESET SESSION AUTHORIZATION;
BEGIN;
UPDATE t SET b = 'by a superuser' WHERE id = 3;
SET SESSION AUTHORIZATION o_priv_group;
UPDATE t SET b = b || ' and a group' WHERE id IN (3, 4);
SELECT session_user, current_user, b, count(*) FROM t WHERE id IN (3, 4) GROUP BY 1, 2, 3 ORDER BY 3;
SAVEPOINT here;
SET SESSION AUTHORIZATION o_priv_lazy;
SELECT count(*) FROM t;
ROLLBACK TO here;
UPDATE t SET b = b || ' again' WHERE id = 3;
SET SESSION AUTHORIZATION DEFAULT;
SELECT session_user, current_user, b FROM t WHERE id = 3 GROUP BY 3;
COMMIT;
SELECT session_user, b FROM t WHERE id IN (3, 4) ORDER BY 2;
BEGIN;
SET LOCAL SESSION AUTHORIZATION o_priv_group;
UPDATE t SET b = 'x' WHERE id IN (3, 4);
ROLLBACK;
SELECT session_user, b FROM t WHERE id IN (3, 4) ORDER BY 2;

-- Rights on columns.
SET ROLE o_priv_cols;
SELECT * FROM wide;
SELECT id, one FROM wide WHERE id = 5;
SELECT id, one FROM wide ORDER BY id;
SELECT two FROM wide WHERE id = 5;
SELECT one FROM wide WHERE two = 25;
SELECT one FROM wide ORDER BY two;
SELECT count(*) FROM wide;
SELECT count(two) FROM wide;
SELECT 1 FROM wide WHERE id = 1;
SELECT wide FROM wide;
SELECT (wide).one FROM wide WHERE id = 3;
SELECT row_to_json(wide) FROM wide;
SELECT a.one FROM wide a JOIN wide b USING (id) WHERE a.id = 2;
SELECT a.one FROM wide a JOIN wide b USING (two);
SELECT a.one FROM wide a NATURAL JOIN wide b;
SELECT * FROM (wide a JOIN wide b (id, x, y, z) USING (id)) j;
SELECT j.id, x FROM (wide a JOIN wide b (id, x, y, z) USING (id)) j WHERE id = 4;
SELECT y FROM wide a LEFT JOIN wide b (id, x, y, z) USING (id);
SELECT w.one, t.id FROM wide w JOIN t USING (id) WHERE id < 4 ORDER BY 1;
SELECT w.one, t.a FROM wide w JOIN t USING (id);
SELECT w.one FROM wide w JOIN t ON t.a = w.id;
SELECT w.one FROM wide w, LATERAL (SELECT t.b FROM t WHERE t.id = w.id) l;
SELECT one, (SELECT a FROM t WHERE t.id = wide.id) FROM wide;
SELECT max(one) FROM wide GROUP BY three;
SELECT sum(one) OVER (PARTITION BY note) FROM wide;
SELECT id, city FROM r WHERE id = 3;
SELECT r.city, w.one FROM r JOIN wide w USING (id) ORDER BY 2;
SELECT * FROM r ORDER BY id;
SELECT r FROM r WHERE id = 2;
SELECT ctid IS NOT NULL FROM t WHERE id = 1;
SELECT id FROM wide WHERE id = 3 FOR UPDATE;
SELECT id FROM wide FOR SHARE;
INSERT INTO wide (id, one) VALUES (30, 1);
INSERT INTO wide (id, one, three) VALUES (31, 1, 2), (32, 2, 3);
INSERT INTO wide VALUES (33, 1);
INSERT INTO wide VALUES (34, 1, 2);
INSERT INTO wide (id, note) VALUES (35, 'x');
INSERT INTO wide (id, one) VALUES (36, 1) RETURNING id, one;
INSERT INTO wide (id, one) VALUES (37, 1) RETURNING two;
INSERT INTO wide (id, one) VALUES (38, 1) RETURNING *;
INSERT INTO wide (id, one) SELECT id + 40, one FROM wide WHERE id < 3;
INSERT INTO wide (id, one) SELECT id + 50, two FROM wide;
INSERT INTO wide (id, one, three) VALUES (39, 1, 100);
UPDATE wide SET two = 0 WHERE id = 30;
UPDATE wide SET two = id + one, three = 4 WHERE id IN (31, 32);
UPDATE wide SET two = two + 1 WHERE id = 30;
UPDATE wide SET one = 1 WHERE id = 30;
UPDATE wide SET three = 5, note = 'x' WHERE id = 30;
UPDATE wide SET three = DEFAULT WHERE id = 30;
UPDATE wide SET (two, three) = (SELECT one, id FROM wide w WHERE w.id = wide.id) WHERE id > 30;
UPDATE wide SET three = 6 WHERE three = 5;
UPDATE wide SET three = 7 WHERE id = 31 RETURNING id, one;
UPDATE wide SET three = 7 WHERE id = 31 RETURNING three;
UPDATE wide SET three = 200 WHERE id = 31;
UPDATE wide SET two = t.id FROM t WHERE t.id = wide.id AND wide.id < 4;
UPDATE wide SET two = t.a FROM t WHERE t.id = wide.id;
UPDATE r SET city = 'cols' WHERE id = 5 RETURNING city;
UPDATE r SET id = 6 WHERE id = 5;
DELETE FROM wide WHERE id = 30;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT (id) DO UPDATE SET two = excluded.one RETURNING id, one;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT (id) DO UPDATE SET two = excluded.two;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT (id) DO UPDATE SET one = 3;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT (id) DO UPDATE SET two = wide.three;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT (id) DO UPDATE SET three = 9 WHERE wide.one < 5;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT (id) DO UPDATE SET three = 9 WHERE wide.two < 5;
INSERT INTO wide (id, one) VALUES (30, 2) ON CONFLICT ON CONSTRAINT wide_pkey DO UPDATE SET three = 8;
INSERT INTO wide (id, one) SELECT i, 2 FROM generate_series(30, 33) i ON CONFLICT (id) DO UPDATE SET three = excluded.id;
INSERT INTO wide (id, one) SELECT i, 2 FROM generate_series(30, 33) i ON CONFLICT (id) DO UPDATE SET three = wide.two;
INSERT INTO wide (id, two) VALUES (30, 2) ON CONFLICT (id) DO NOTHING;
INSERT INTO stamped (id, v) VALUES (1, 10), (2, 20), (3, 30);
INSERT INTO stamped (id, v) VALUES (4, 40) RETURNING *;
INSERT INTO stamped (id, v) VALUES (1, 11) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO stamped VALUES (5, 50, 1);
UPDATE stamped SET v = v + 1 WHERE id = 2 RETURNING *;
UPDATE stamped SET v = v + 1;
UPDATE stamped SET stamp = 0;
UPDATE stamped SET v = w.one FROM wide w WHERE w.id = stamped.id;
SELECT * FROM stamped ORDER BY id;
COPY wide (id, one) FROM STDIN;
60	6
61	7
\.
COPY wide (id, two) FROM STDIN;
62	6
\.
COPY wide FROM STDIN;
62	6	7	8	x
\.
COPY (SELECT id, one FROM wide WHERE id > 59 ORDER BY id) TO STDOUT;
COPY wide (two) TO STDOUT;
COPY wide TO STDOUT;
COPY r TO STDOUT;
RESET ROLE;
SELECT * FROM wide ORDER BY id;

-- MERGE: the rights of each action, and of each column read.
SET ROLE o_priv_merge;
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'n' || s.n;
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n;
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v || 'x';
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND t.n > 5 THEN UPDATE SET v = 'x';
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND s.v > 'a' THEN UPDATE SET v = 'x';
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE;
MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'm', s.n);
MERGE INTO target t USING source s ON t.id = s.id AND s.v = t.v WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED AND s.id < 11 THEN INSERT (id, v) VALUES (s.id, 'm' || s.n);
MERGE INTO target t USING (SELECT 99 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'one');
MERGE INTO target t USING (SELECT 99 AS id) s ON t.id = 99 WHEN MATCHED THEN UPDATE SET v = 'two';
MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);
MERGE INTO everywhere t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'n' || s.n;
MERGE INTO everywhere t USING source s ON t.id = s.id WHEN MATCHED AND s.n > 60 THEN UPDATE SET v = 'n' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'm' || s.n);
MERGE INTO everywhere t USING source s ON t.id = s.id WHEN MATCHED AND t.n > 5 THEN UPDATE SET v = 'x';
MERGE INTO everywhere t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE;
INSERT INTO everywhere (id, v) VALUES (50, 'fifty') ON CONFLICT (id) DO UPDATE SET v = excluded.v;
UPDATE everywhere SET v = 'one' FROM source s WHERE s.id = everywhere.id AND s.n = 90;
UPDATE everywhere SET v = v || 'x';
RESET ROLE;
SELECT * FROM target ORDER BY id;
SELECT * FROM everywhere ORDER BY id;

-- Views: with the rights of their owner, or of their user.
SET ROLE o_priv_views;
SELECT * FROM t WHERE id = 1;
SELECT * FROM of_owner WHERE id = 7;
SELECT count(*), sum(a) FROM of_owner;
SELECT * FROM of_nobody WHERE id = 7;
SELECT count(*) FROM of_nobody;
SELECT * FROM of_reader WHERE id = 3 ORDER BY n;
SELECT count(*), sum(n) FROM of_reader;
SELECT * FROM invoker WHERE id = 7;
SELECT count(*) FROM invoker;
SELECT count(*) FROM over_invoker;
SELECT * FROM barrier WHERE id = 7;
SELECT count(*) FROM barrier WHERE b LIKE 't1%';
UPDATE barrier SET b = b || '-' WHERE id = 8 RETURNING id;
UPDATE barrier SET b = b || '-' WHERE id = 9 RETURNING id;
UPDATE barrier SET b = b || '-';
UPDATE over_barrier SET b = b || '+' WHERE id IN (7, 8, 9) RETURNING id;
UPDATE over_barrier SET b = b || '+';
WITH w AS (UPDATE barrier SET b = b || '/' WHERE id = 8 RETURNING id) SELECT * FROM w;
INSERT INTO barrier VALUES (8, 1, 'x') ON CONFLICT (id) DO UPDATE SET b = 'x' RETURNING *;
DELETE FROM barrier WHERE id = 8;
DELETE FROM over_barrier WHERE id = 7;
BEGIN;
DELETE FROM barrier;
SELECT count(*) FROM of_owner;
ROLLBACK;
UPDATE barrier_cities SET city = city || '-' WHERE id = 3;
UPDATE barrier_cities SET city = city || '-';
DELETE FROM barrier_cities WHERE id = 4;
SELECT * FROM cities ORDER BY id;
SELECT * FROM over_views ORDER BY id LIMIT 5;
SELECT * FROM over_views WHERE id = 11;
SELECT o.id, x.city FROM of_owner o JOIN over_views x USING (id) WHERE o.a = 2 ORDER BY 1;
SELECT o.id FROM of_owner o JOIN t USING (id);
SELECT o.id FROM of_owner o WHERE o.id IN (SELECT id FROM of_reader) ORDER BY 1;
SELECT o.id FROM of_owner o WHERE o.id IN (SELECT id FROM of_nobody) ORDER BY 1;
SELECT current_user, id FROM of_owner WHERE id = 2;
UPDATE of_owner SET a = 1 WHERE id = 2;
DELETE FROM of_owner;
INSERT INTO checked VALUES (70, 1, 'v') RETURNING *;
INSERT INTO checked VALUES (71, 1, 'v'), (72, 2, 'v');
INSERT INTO checked VALUES (73, 3, 'v');
INSERT INTO checked SELECT id + 100, a, b FROM checked WHERE id < 5;
INSERT INTO checked SELECT id + 100, a, b FROM t WHERE id < 5;
UPDATE checked SET b = b || '*' WHERE id = 70 RETURNING *;
UPDATE checked SET b = b || '*' WHERE id > 60;
UPDATE checked SET a = 3 WHERE id = 70;
UPDATE checked SET b = (SELECT max(b) FROM of_owner) WHERE id = 71 RETURNING b;
UPDATE checked SET b = (SELECT max(b) FROM t) WHERE id = 71;
INSERT INTO checked VALUES (70, 2, 'w') ON CONFLICT (id) DO UPDATE SET b = excluded.b || checked.b RETURNING *;
INSERT INTO checked SELECT i, 2, 'w' FROM generate_series(70, 75) i ON CONFLICT (id) DO UPDATE SET b = excluded.b || checked.b;
SELECT * FROM checked WHERE id > 60 ORDER BY id;
SELECT * FROM checked WHERE id = 70 FOR UPDATE;
DELETE FROM checked WHERE id = 71 RETURNING *;
DELETE FROM checked WHERE id > 60;
BEGIN;
INSERT INTO checked VALUES (80, 1, 'b');
SELECT count(*) FROM checked;
SELECT count(*) FROM of_owner;
SELECT count(*) FROM of_reader;
UPDATE checked SET b = 'c' WHERE id IN (SELECT id FROM of_reader WHERE n = 4);
SELECT count(*) FROM barrier WHERE b = 'c';
ROLLBACK;
SELECT * FROM cities ORDER BY id;
INSERT INTO cities VALUES (9, 'nine');
UPDATE cities SET city = 'one!' WHERE id = 1 RETURNING *;
UPDATE cities SET city = upper(city);
DELETE FROM cities WHERE id = 9;
DELETE FROM cities WHERE id = 3;
SELECT id, two FROM narrow WHERE id = 6;
SELECT three FROM narrow WHERE id = 6;
UPDATE narrow SET three = 1 WHERE id = 6;
UPDATE narrow SET three = two WHERE id = 6;
UPDATE narrow SET three = three + 1 WHERE id = 6;
UPDATE narrow SET two = 1 WHERE id = 6;
INSERT INTO narrow (id, two) VALUES (80, 8) RETURNING two;
INSERT INTO narrow VALUES (81, 8, 9);
RESET ROLE;
SET ROLE o_priv_reader;
SELECT count(*) FROM invoker;
SELECT * FROM invoker WHERE id = 9;
SELECT count(*) FROM of_reader;
SELECT * FROM of_owner;
SET ROLE o_priv_nobody;
SELECT * FROM of_owner;
SELECT * FROM of_nobody;
SET ROLE o_priv_owner;
SELECT count(*) FROM of_owner;
UPDATE checked SET b = 'mine' WHERE id = 1;
SELECT b FROM t WHERE id = 1;
RESET ROLE;
SELECT * FROM r ORDER BY id;
SELECT * FROM wide WHERE id IN (6, 80) ORDER BY id;

-- Functions: with the rights of their caller, or of their owner.
SET ROLE o_priv_nobody;
SELECT count_t();
SELECT count_t_invoker();
SELECT send(1, 'hello');
SELECT send(2, 'hello'), who_am_i(), current_user;
SELECT send(1, 'twice');
SELECT * FROM inbox;
SELECT secretly(1);
SELECT * FROM lazy_secret() ORDER BY id;
SELECT l.id, t.a FROM lazy_secret() l JOIN t USING (id);
SELECT refine(1, 2);
SET ROLE o_priv_reader;
SELECT count_t_invoker(), count_t(), count(*) FROM t;
SELECT secretly(id) FROM t WHERE id = 1;
SELECT id FROM t WHERE secretly(id) = 1;
SELECT id, who_am_i(), current_user FROM t WHERE id = 1;
SELECT l.id, t.a FROM lazy_secret() l JOIN t USING (id) ORDER BY 1;
SET ROLE o_priv_owner;
SELECT secretly(id) FROM t WHERE id = 1;
SELECT id FROM t WHERE secretly(id) = 2;
UPDATE t SET a = secretly(a) WHERE id = 3;
BEGIN;
UPDATE t SET a = count_t() WHERE id = 4 RETURNING a, who_am_i();
SELECT send(3, a::text) FROM t WHERE id = 4;
SELECT count_t(), count_t_invoker(), count(*) FROM t;
COMMIT;
RESET ROLE;
SELECT * FROM inbox ORDER BY id;

-- What the rights functions say.
SELECT r, p, has_table_privilege(r, 't', p) AS t, has_table_privilege(r, 'r', p) AS r, has_table_privilege(r, 's', p) AS s, has_table_privilege(r, 'wide', p) AS wide
    FROM unnest(ARRAY['o_priv_owner', 'o_priv_reader', 'o_priv_insert', 'o_priv_cols', 'o_priv_member', 'o_priv_lazy', 'o_priv_second', 'o_priv_nobody']) r, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p;
SELECT c, p, has_column_privilege('o_priv_cols', 'wide', c, p) FROM unnest(ARRAY['id', 'one', 'two', 'three', 'note']) c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) p;
SELECT p, has_any_column_privilege('o_priv_cols', 'wide', p), has_any_column_privilege('o_priv_cols', 'u', p) FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p;
SELECT id FROM t WHERE has_table_privilege(current_user, 't', 'SELECT') AND id < 4 ORDER BY id;
SET ROLE o_priv_cols;
SELECT id FROM wide WHERE has_column_privilege('wide', 'one', 'SELECT') AND id < 4 ORDER BY id;
SELECT id FROM wide WHERE has_column_privilege('wide', 'two', 'SELECT');
SELECT table_name, privilege_type FROM information_schema.table_privileges WHERE table_schema = 'o_privileges' AND table_name IN ('t', 'r', 's', 'wide') AND grantee = 'o_priv_cols';
SELECT table_name, column_name, privilege_type FROM information_schema.column_privileges WHERE table_schema = 'o_privileges' AND table_name IN ('t', 'r', 'wide') AND grantee = 'o_priv_cols';
RESET ROLE;

-- Prepared statements and cursors when the role changes.
PREPARE one (int) AS SELECT id, a FROM t WHERE id = $1;
PREPARE all_rows AS SELECT count(*) FROM t;
PREPARE change (int) AS UPDATE t SET b = 'p' WHERE id = $1 RETURNING id;
PREPARE through (int) AS SELECT id, a FROM of_owner WHERE id = $1;
EXECUTE one (8);
EXECUTE change (8);
SET ROLE o_priv_reader;
EXECUTE one (8);
EXECUTE one (9);
EXECUTE all_rows;
EXECUTE change (8);
EXECUTE through (8);
SET ROLE o_priv_nobody;
EXECUTE one (8);
EXECUTE all_rows;
EXECUTE change (8);
SET ROLE o_priv_views;
EXECUTE one (8);
EXECUTE through (8);
EXECUTE through (9);
SET ROLE o_priv_writer;
EXECUTE change (9);
EXECUTE one (9);
RESET ROLE;
EXECUTE one (9);
EXECUTE all_rows;
BEGIN;
SET LOCAL ROLE o_priv_reader;
DECLARE c CURSOR FOR SELECT id, current_user FROM t ORDER BY id;
FETCH 2 FROM c;
RESET ROLE;
FETCH 2 FROM c;
SET LOCAL ROLE o_priv_nobody;
FETCH 2 FROM c;
SELECT 1 FROM t;
FETCH 2 FROM c;
ROLLBACK;
SELECT current_user = session_user;
BEGIN;
DECLARE c CURSOR FOR SELECT b FROM t WHERE id = 10;
SET LOCAL ROLE o_priv_nobody;
FETCH c;
SAVEPOINT here;
SELECT * FROM t WHERE id = 10;
ROLLBACK TO here;
SET LOCAL ROLE o_priv_writer;
UPDATE t SET b = 'again' WHERE id = 10;
SET LOCAL ROLE o_priv_reader;
SELECT b FROM t WHERE id = 10;
SELECT count(*) FROM t WHERE b = 'again';
SAVEPOINT here;
UPDATE t SET b = 'no' WHERE id = 10;
ROLLBACK TO here;
SET LOCAL ROLE o_priv_owner;
UPDATE t SET a = 2 WHERE id IN (10, 11, 12);
COMMIT;
SELECT * FROM t WHERE id IN (10, 11, 12) ORDER BY id;
DO $$
BEGIN
    SET LOCAL ROLE o_priv_nobody;
    PERFORM * FROM t WHERE id = 1;
EXCEPTION WHEN insufficient_privilege THEN
    PERFORM send(50, 'from a block');
END $$;
SELECT current_user = session_user, message FROM inbox WHERE id = 50;
