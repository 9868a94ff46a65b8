-- Row security policies on each type of table, seen by roles whom they concern in different ways.
--
-- distribute: papers(id), notes(id) with papers, log(id), strict(id), forced(id), mixed(id), parent(id), child(parent_id) with parent, plain(id), members(k), rooms(id), halls(id), yards reference, seats(id), signs reference, levels reference, topics reference, tiny single

-- on all nodes
DROP ROLE IF EXISTS o_rs_owner, o_rs_ann, o_rs_ben, o_rs_cyd, o_rs_team, o_rs_exempt, o_rs_view;
-- on all nodes
CREATE ROLE o_rs_owner LOGIN;
-- on all nodes
CREATE ROLE o_rs_team;
-- on all nodes
CREATE ROLE o_rs_ann LOGIN;
-- on all nodes
CREATE ROLE o_rs_ben LOGIN IN ROLE o_rs_team;
-- on all nodes
CREATE ROLE o_rs_cyd LOGIN;
-- on all nodes
CREATE ROLE o_rs_exempt LOGIN BYPASSRLS;
-- on all nodes
CREATE ROLE o_rs_view LOGIN;
-- on all nodes
GRANT USAGE ON SCHEMA o_row_security TO PUBLIC;
-- on all nodes
CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN IF $1 LIKE '%secret%' THEN RAISE EXCEPTION 'leaked %', $1 USING ERRCODE = 'P0099'; END IF; RETURN true; END $$;
-- on all nodes
CREATE FUNCTION allowed(int) RETURNS bool LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN $1 % 2 = 0 OR current_user = 'o_rs_cyd'; END $$;

CREATE TABLE levels (who name PRIMARY KEY, level int);
CREATE TABLE topics (id int PRIMARY KEY, name text);
CREATE TABLE papers (id int PRIMARY KEY, topic int REFERENCES topics, level int NOT NULL, author name, title text);
CREATE TABLE notes (id int PRIMARY KEY, paper int, text text);
CREATE TABLE log (id int PRIMARY KEY, who name DEFAULT current_user, what text);
CREATE TABLE strict (id int PRIMARY KEY, v text);
CREATE TABLE forced (id int PRIMARY KEY, v int);
CREATE TABLE mixed (id int PRIMARY KEY, a int, b text);
CREATE TABLE parent (id int PRIMARY KEY, v text);
CREATE TABLE child (parent_id int REFERENCES parent ON DELETE CASCADE, n int, PRIMARY KEY (parent_id, n));
CREATE TABLE plain (id int PRIMARY KEY, a int);
CREATE TABLE tiny (id int PRIMARY KEY, who name, v int);
INSERT INTO levels VALUES ('o_rs_owner', 9), ('o_rs_ann', 1), ('o_rs_ben', 2), ('o_rs_cyd', 3), ('o_rs_view', 2);
INSERT INTO topics SELECT i, 'topic' || i FROM generate_series(1, 5) i;
INSERT INTO papers SELECT i, 1 + i % 5, 1 + i % 4, (ARRAY['o_rs_ann', 'o_rs_ben', 'o_rs_cyd'])[1 + i % 3], CASE WHEN i % 4 > 1 THEN 'secret' ELSE 'open' END || i FROM generate_series(1, 24) i;
INSERT INTO notes SELECT i, 1 + i % 24, CASE WHEN i % 2 = 1 THEN 'secret note' ELSE 'note' END || i FROM generate_series(1, 30) i;
INSERT INTO log VALUES (1, 'o_rs_ann', 'a'), (2, 'o_rs_ben', 'b'), (3, 'o_rs_cyd', 'c');
INSERT INTO strict VALUES (1, 'x'), (2, 'y');
INSERT INTO forced SELECT i, i * 10 FROM generate_series(1, 10) i;
INSERT INTO mixed SELECT i, i % 6, 'm' || i FROM generate_series(1, 18) i;
INSERT INTO parent SELECT i, 'p' || i FROM generate_series(1, 6) i;
INSERT INTO child SELECT 1 + i % 5, i FROM generate_series(1, 12) i;
INSERT INTO plain SELECT i, i % 3 FROM generate_series(1, 12) i;
INSERT INTO tiny VALUES (1, 'o_rs_ann', 1), (2, 'o_rs_ben', 2), (3, 'o_rs_cyd', 3);
CREATE TABLE members (k int PRIMARY KEY, who name, room text);
CREATE TABLE rooms (id int PRIMARY KEY, name text, note text);
CREATE TABLE halls (id int PRIMARY KEY, size int CHECK (size < 100), name text, room text GENERATED ALWAYS AS (lower(name)) STORED);
CREATE TABLE yards (id int PRIMARY KEY, size int CHECK (size < 100), name text, room text GENERATED ALWAYS AS (lower(name)) STORED);
CREATE TABLE seats (id int PRIMARY KEY, v int);
CREATE TABLE signs (id int PRIMARY KEY, v int);
INSERT INTO members VALUES (1, 'o_rs_ann', 'red'), (2, 'o_rs_ann', 'blue'), (3, 'o_rs_ben', 'blue'), (4, 'o_rs_cyd', 'green'), (5, 'o_rs_ben', 'grey');
INSERT INTO rooms SELECT i, (ARRAY['red', 'blue', 'green'])[1 + i % 3], CASE WHEN i % 3 = 2 THEN 'secret' ELSE 'room' END || i FROM generate_series(1, 18) i;
INSERT INTO halls SELECT i, i, (ARRAY['red', 'blue', 'green'])[1 + i % 3] FROM generate_series(1, 6) i;
INSERT INTO yards SELECT i, i, (ARRAY['red', 'blue', 'green'])[1 + i % 3] FROM generate_series(1, 6) i;
INSERT INTO seats SELECT i, i FROM generate_series(1, 12) i;
INSERT INTO signs SELECT i, i FROM generate_series(1, 12) i;
GRANT ALL ON members, rooms, halls, yards, seats, signs TO o_rs_ann, o_rs_ben, o_rs_cyd;
ALTER TABLE rooms ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON rooms USING (name IN (SELECT m.room FROM members m WHERE m.who = current_user)) WITH CHECK (NOT EXISTS (SELECT FROM members m WHERE m.who <> current_user AND m.room = name));
CREATE POLICY odd ON rooms AS RESTRICTIVE FOR UPDATE TO o_rs_ben USING (id % 2 = 1) WITH CHECK (id > 0);
ALTER TABLE halls ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON halls USING (room IN (SELECT m.room FROM members m WHERE m.who = current_user)) WITH CHECK (NOT EXISTS (SELECT FROM members m WHERE m.who <> current_user AND m.room = halls.room));
-- on all nodes
CREATE FUNCTION trim_name() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := btrim(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER trims BEFORE INSERT OR UPDATE ON halls FOR EACH ROW EXECUTE FUNCTION trim_name();
ALTER TABLE yards ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON yards USING (true) WITH CHECK (yards.tableoid <> 0 AND NOT EXISTS (SELECT FROM members m WHERE m.who <> current_user AND ROW(yards.*)::text LIKE '%,' || m.room || ')'));
ALTER TABLE seats ENABLE ROW LEVEL SECURITY;
CREATE POLICY sel ON seats FOR SELECT USING (v < 5);
CREATE POLICY ins ON seats FOR INSERT WITH CHECK (v < 80);
CREATE POLICY upd ON seats FOR UPDATE USING (v > 2) WITH CHECK (v < 90);
CREATE POLICY del ON seats FOR DELETE TO o_rs_ben USING (v > 3);
ALTER TABLE signs ENABLE ROW LEVEL SECURITY;
CREATE POLICY sel ON signs FOR SELECT USING (v < 5);
CREATE POLICY ins ON signs FOR INSERT WITH CHECK (v < 80);
CREATE POLICY upd ON signs FOR UPDATE USING (v > 2) WITH CHECK (v < 90);
CREATE POLICY del ON signs FOR DELETE TO o_rs_ben USING (v > 3);
ALTER TABLE papers OWNER TO o_rs_owner;
ALTER TABLE topics OWNER TO o_rs_owner;
ALTER TABLE forced OWNER TO o_rs_owner;
ALTER TABLE parent OWNER TO o_rs_owner;
ALTER TABLE child OWNER TO o_rs_owner;
ALTER TABLE strict OWNER TO o_rs_owner;
GRANT ALL ON papers, notes, log, strict, mixed, plain, tiny, parent, child, topics TO o_rs_ann, o_rs_ben, o_rs_cyd, o_rs_exempt;
GRANT SELECT ON levels TO PUBLIC;
GRANT SELECT ON papers, topics TO o_rs_view;

ALTER TABLE papers ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_level ON papers USING (level <= (SELECT l.level FROM levels l WHERE l.who = current_user)) WITH CHECK (author = current_user);
CREATE POLICY ann_not_five ON papers AS RESTRICTIVE TO o_rs_ann USING (topic <> 5);
CREATE POLICY ann_small ON papers AS RESTRICTIVE FOR INSERT TO o_rs_ann WITH CHECK (topic < 4);
ALTER TABLE topics ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_user ON topics USING (CASE current_user WHEN 'o_rs_ann' THEN id IN (1, 3) WHEN 'o_rs_ben' THEN id IN (2, 4) ELSE true END);
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_papers ON notes FOR SELECT USING (EXISTS (SELECT FROM papers p WHERE p.id = notes.id AND p.author = current_user) AND leak(text));
CREATE POLICY change ON notes FOR UPDATE TO o_rs_team USING (id < 10) WITH CHECK (text NOT LIKE '%bad%');
CREATE POLICY remove ON notes FOR DELETE TO o_rs_cyd USING (id > 20);
CREATE POLICY add ON notes FOR INSERT TO o_rs_ann, o_rs_team WITH CHECK (paper < 10);
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON log USING (who = current_user);
CREATE POLICY team ON log FOR SELECT TO o_rs_team USING (who IN ('o_rs_ann', 'o_rs_ben'));
ALTER TABLE strict ENABLE ROW LEVEL SECURITY;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY;
ALTER TABLE forced FORCE ROW LEVEL SECURITY;
CREATE POLICY low ON forced USING (v < 60) WITH CHECK (v < 80);
ALTER TABLE mixed ENABLE ROW LEVEL SECURITY;
CREATE POLICY sel ON mixed FOR SELECT USING (a < 4 AND allowed(id));
CREATE POLICY ins ON mixed FOR INSERT WITH CHECK (a <> 2);
CREATE POLICY upd ON mixed FOR UPDATE USING (a <> 1) WITH CHECK (a <> 3);
CREATE POLICY del ON mixed FOR DELETE USING (a = 0);
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
ALTER TABLE parent FORCE ROW LEVEL SECURITY;
CREATE POLICY part ON parent USING (id IN (1, 2, 9)) WITH CHECK (true);
ALTER TABLE child ENABLE ROW LEVEL SECURITY;
ALTER TABLE child FORCE ROW LEVEL SECURITY;
CREATE POLICY none ON child USING (n < 0) WITH CHECK (true);
ALTER TABLE tiny ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tiny USING (who = current_user AND v < (SELECT max(level) FROM levels));

-- on all nodes
CREATE VIEW owners_papers AS SELECT id, level, title FROM papers WHERE leak(title) OR true;
-- on all nodes
ALTER VIEW owners_papers OWNER TO o_rs_owner;
-- on all nodes
CREATE VIEW viewers_papers AS SELECT id, level, author, title FROM papers;
-- on all nodes
ALTER VIEW viewers_papers OWNER TO o_rs_view;
-- on all nodes
CREATE VIEW invokers_papers WITH (security_invoker) AS SELECT id, level, author, title FROM papers;
-- on all nodes
ALTER VIEW invokers_papers OWNER TO o_rs_view;
-- on all nodes
CREATE VIEW open_papers WITH (security_barrier) AS SELECT id, title FROM papers WHERE title LIKE 'open%';
-- on all nodes
ALTER VIEW open_papers OWNER TO o_rs_owner;
-- on all nodes
CREATE VIEW bens_log WITH (security_barrier) AS SELECT id, what FROM log WHERE id < 100;
-- on all nodes
ALTER VIEW bens_log OWNER TO o_rs_ben;
-- on all nodes
GRANT SELECT, INSERT, UPDATE, DELETE ON owners_papers, viewers_papers, invokers_papers, open_papers, bens_log TO o_rs_ann, o_rs_ben, o_rs_cyd;
-- on all nodes
CREATE FUNCTION papers_seen() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM o_row_security.papers';
-- on all nodes
CREATE FUNCTION papers_of_view() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT count(*) FROM o_row_security.papers';
-- on all nodes
ALTER FUNCTION papers_of_view() OWNER TO o_rs_view;
-- on all nodes
CREATE FUNCTION list_papers() RETURNS SETOF papers LANGUAGE sql STABLE AS 'SELECT * FROM o_row_security.papers';

-- setup ends
-- Everybody's rows.
SELECT count(*), sum(id) FROM papers;
SET ROLE o_rs_ann;
SELECT * FROM papers ORDER BY id;
SELECT * FROM papers WHERE id = 4;
SELECT * FROM papers WHERE id = 5;
SELECT id FROM papers WHERE leak(title) ORDER BY id;
SELECT id FROM papers WHERE id = 4 AND leak(title);
SELECT p.id, t.name FROM papers p JOIN topics t ON t.id = p.topic ORDER BY 1;
SELECT p.id, t.name FROM papers p FULL JOIN topics t ON t.id = p.topic WHERE leak(p.title) ORDER BY 1, 2;
-- statement needs: colocation
SELECT count(*), count(n.id) FROM papers p LEFT JOIN notes n ON n.id = p.id;
SELECT id FROM notes ORDER BY id;
SELECT * FROM log;
SELECT * FROM strict;
SELECT count(*) FROM strict WHERE leak(v);
SELECT * FROM tiny;
SELECT * FROM mixed ORDER BY id;
SELECT t.id, p.id FROM tiny t, papers p WHERE p.id = t.id + 3;
SELECT * FROM topics ORDER BY id;
SELECT (SELECT count(*) FROM papers), (SELECT count(*) FROM topics);
WITH p AS MATERIALIZED (SELECT * FROM papers) SELECT count(*) FROM p WHERE leak(title);
SELECT x FROM papers x WHERE x.id = 8;
SELECT papers_seen(), papers_of_view(), count(*) FROM papers;
SELECT count(*) FROM list_papers();
SELECT id FROM papers WHERE id < 10 FOR SHARE;
SELECT id FROM papers WHERE id = 12 FOR UPDATE;
COPY papers (id) TO STDOUT;
COPY (SELECT id, title FROM papers ORDER BY id) TO STDOUT;
COPY log TO STDOUT;
COPY strict TO STDOUT;
SET ROLE o_rs_ben;
SELECT * FROM papers WHERE id IN (5, 6, 7) ORDER BY id;
SELECT count(*), sum(id) FROM papers;
SELECT id FROM papers WHERE leak(title) ORDER BY id;
SELECT p.id, t.name FROM papers p JOIN topics t ON t.id = p.topic ORDER BY 1;
SELECT id FROM notes WHERE id % 2 = 0 ORDER BY id;
SELECT * FROM log ORDER BY id;
SELECT * FROM tiny;
SELECT * FROM topics ORDER BY id;
SELECT count(*) FROM mixed;
SELECT papers_seen(), papers_of_view(), count(*) FROM list_papers();
SET ROLE o_rs_cyd;
SELECT count(*), sum(id) FROM papers;
SELECT id FROM mixed ORDER BY id;
SELECT * FROM topics ORDER BY id;
SELECT * FROM tiny;
SELECT count(*) FROM papers p JOIN mixed m USING (id) JOIN levels l ON l.level = p.level;
SELECT papers_seen(), papers_of_view();
SET ROLE o_rs_team;
SELECT count(*) FROM papers;
SET ROLE o_rs_owner;
SELECT count(*), sum(id) FROM papers;
SELECT * FROM forced ORDER BY id;
SELECT * FROM strict ORDER BY id;
SELECT count(*) FROM parent;
SELECT count(*) FROM child;
SET ROLE o_rs_exempt;
SELECT count(*) FROM papers;
SELECT count(*) FROM log;
SELECT * FROM strict ORDER BY id;
INSERT INTO log VALUES (10, 'o_rs_ann', 'exempt');
SELECT papers_seen(), papers_of_view();
SET ROLE o_rs_view;
SELECT count(*) FROM papers;
SELECT count(*) FROM log;
RESET ROLE;

-- Without row security where it would filter.
SET row_security = off;
SELECT count(*) FROM papers;
SET ROLE o_rs_ann;
SELECT count(*) FROM papers;
SELECT * FROM papers WHERE id = 4;
SELECT count(*) FROM plain;
UPDATE papers SET title = 'x';
DELETE FROM log;
COPY log TO STDOUT;
COPY plain TO STDOUT;
SELECT papers_of_view();
SET ROLE o_rs_owner;
SELECT count(*) FROM papers;
SELECT count(*) FROM forced;
UPDATE forced SET v = 1;
SET ROLE o_rs_exempt;
SELECT count(*) FROM papers;
SELECT count(*) FROM forced;
COPY (SELECT count(*) FROM log) TO STDOUT;
COPY log (id) TO STDOUT;
RESET row_security;
RESET ROLE;

-- INSERT.
SET ROLE o_rs_ann;
INSERT INTO papers VALUES (101, 1, 1, 'o_rs_ann', 'mine');
INSERT INTO papers VALUES (102, 1, 1, 'o_rs_ben', 'not mine');
INSERT INTO papers VALUES (102, 4, 1, current_user, 'restricted');
INSERT INTO papers VALUES (102, 5, 1, current_user, 'restricted');
INSERT INTO papers VALUES (103, 2, 9, current_user, 'out of sight');
INSERT INTO papers VALUES (104, 2, 9, current_user, 'out of sight') RETURNING id;
INSERT INTO papers VALUES (105, 2, 1, current_user, 'in sight') RETURNING id, title;
INSERT INTO papers VALUES (106, 1, 1, 'o_rs_ann', 'one'), (107, 1, 1, 'o_rs_ben', 'other');
INSERT INTO papers VALUES (3, 1, 1, 'o_rs_ann', 'duplicate of what is not seen');
INSERT INTO papers VALUES (3, 1, 1, 'o_rs_ben', 'check before key');
INSERT INTO papers SELECT id + 200, 1, 1, current_user, title FROM papers WHERE id < 13;
INSERT INTO papers SELECT id + 300, 1, 1, author, title FROM papers WHERE id < 13;
INSERT INTO papers VALUES (110, 99, 1, 'o_rs_ann', 'no such topic');
INSERT INTO papers VALUES (111, 2, 1, 'o_rs_ann', 'a topic that is not seen');
INSERT INTO papers VALUES (111, 2, 1, 'o_rs_ann', 'again') ON CONFLICT DO NOTHING;
INSERT INTO notes VALUES (101, 5, 'n');
INSERT INTO notes VALUES (102, 15, 'n');
INSERT INTO notes VALUES (103, 5, 'n') RETURNING *;
INSERT INTO log (id, what) VALUES (20, 'by default');
INSERT INTO log (id, what) VALUES (21, 'by default') RETURNING *;
INSERT INTO log VALUES (22, 'o_rs_ben', 'for another');
INSERT INTO log SELECT i, current_user, 'many' FROM generate_series(30, 35) i;
INSERT INTO strict VALUES (5, 'no');
INSERT INTO strict SELECT 6, 'no' WHERE false;
INSERT INTO tiny VALUES (10, 'o_rs_ann', 2), (11, 'o_rs_ann', 1);
INSERT INTO tiny VALUES (12, 'o_rs_ann', 9);
INSERT INTO tiny VALUES (13, 'o_rs_ben', 1);
INSERT INTO topics VALUES (6, 'six');
INSERT INTO topics VALUES (3, 'three') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING *;
INSERT INTO topics VALUES (2, 'two') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
INSERT INTO mixed VALUES (101, 1, 'i');
INSERT INTO mixed VALUES (102, 2, 'i');
INSERT INTO mixed VALUES (104, 5, 'i') RETURNING a;
INSERT INTO mixed VALUES (106, 3, 'i') RETURNING a;
COPY log FROM STDIN;
40	o_rs_ann	copied
\.
COPY plain FROM STDIN;
40	1
\.
SET ROLE o_rs_ben;
INSERT INTO notes VALUES (104, 9, 'team');
INSERT INTO papers VALUES (112, 5, 4, 'o_rs_ben', 'not restricted');
SET ROLE o_rs_cyd;
INSERT INTO notes VALUES (105, 9, 'nobody');
RESET ROLE;
SELECT * FROM papers WHERE id > 100 ORDER BY id;
SELECT * FROM log ORDER BY id;

-- INSERT .. ON CONFLICT.
SET ROLE o_rs_ben;
INSERT INTO papers VALUES (112, 5, 1, 'o_rs_ben', 'unseen before') ON CONFLICT (id) DO UPDATE SET title = excluded.title;
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ben', 'first') ON CONFLICT (id) DO UPDATE SET title = 'second' RETURNING title;
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ben', 'first') ON CONFLICT (id) DO UPDATE SET title = 'second' RETURNING title;
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ben', 'first') ON CONFLICT (id) DO UPDATE SET author = 'o_rs_ann';
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ben', 'first') ON CONFLICT (id) DO UPDATE SET level = 4;
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ben', 'first') ON CONFLICT (id) DO UPDATE SET title = papers.title || '+' WHERE papers.level = 1 RETURNING *;
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ann', 'first') ON CONFLICT (id) DO UPDATE SET title = 'x';
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ann', 'first') ON CONFLICT (id) DO NOTHING;
INSERT INTO papers VALUES (113, 5, 1, 'o_rs_ben', 'first') ON CONFLICT (id) DO NOTHING;
INSERT INTO papers VALUES (4, 5, 1, 'o_rs_ben', 'of ann') ON CONFLICT (id) DO UPDATE SET title = 'x';
INSERT INTO papers SELECT i, 5, 1, 'o_rs_ben', 'many' FROM generate_series(113, 116) i ON CONFLICT (id) DO UPDATE SET title = papers.title || excluded.title;
INSERT INTO papers SELECT i, 5, 1, 'o_rs_ben', 'many' FROM generate_series(1, 3) i ON CONFLICT (id) DO UPDATE SET title = papers.title || excluded.title;
INSERT INTO mixed VALUES (4, 4, 'u') ON CONFLICT (id) DO UPDATE SET b = 'u';
INSERT INTO mixed VALUES (7, 0, 'u') ON CONFLICT (id) DO UPDATE SET b = 'u';
INSERT INTO mixed VALUES (6, 0, 'u') ON CONFLICT (id) DO UPDATE SET b = 'u' RETURNING *;
INSERT INTO mixed VALUES (6, 0, 'u') ON CONFLICT (id) DO UPDATE SET a = 3;
INSERT INTO mixed VALUES (6, 2, 'u') ON CONFLICT (id) DO UPDATE SET b = 'v';
INSERT INTO tiny VALUES (2, 'o_rs_ben', 1) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO tiny VALUES (1, 'o_rs_ben', 1) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
RESET ROLE;
SELECT * FROM papers WHERE id > 110 OR id < 5 ORDER BY id;

-- UPDATE and DELETE.
SET ROLE o_rs_ann;
UPDATE papers SET title = title || '.' WHERE author = current_user;
UPDATE papers SET title = title || '.';
UPDATE papers SET title = title || '!' WHERE id = 101 RETURNING *;
UPDATE papers SET title = 'x' WHERE id = 3;
UPDATE papers SET title = 'x' WHERE leak(title) AND id = 3;
UPDATE papers SET level = 3 WHERE id = 101;
UPDATE papers SET author = 'o_rs_ben' WHERE id = 101;
UPDATE papers SET topic = 5 WHERE id = 101;
UPDATE papers SET title = t.name FROM topics t WHERE t.id = papers.topic AND author = current_user RETURNING papers.id, t.name;
UPDATE papers p SET title = q.title FROM papers q WHERE q.id = p.id AND p.author = current_user;
UPDATE papers SET title = (SELECT max(title) FROM papers) WHERE id = 101 RETURNING title;
UPDATE notes SET text = 'x';
UPDATE log SET what = 'x' RETURNING id, what;
UPDATE log SET who = 'o_rs_ben';
UPDATE topics SET name = upper(name) RETURNING *;
UPDATE topics SET id = 2 WHERE id = 99;
UPDATE tiny SET v = 2 RETURNING *;
UPDATE tiny SET v = 5;
UPDATE strict SET v = 'x';
UPDATE plain SET a = 9 WHERE id IN (SELECT id FROM papers);
SELECT count(*) FROM plain WHERE a = 9;
UPDATE plain SET a = p.level FROM papers p WHERE p.id = plain.id AND leak(p.title);
SET ROLE o_rs_ben;
UPDATE notes SET text = text || ' changed' WHERE id = 4;
UPDATE notes SET text = 'bad' WHERE id = 4;
UPDATE notes SET text = 'new' WHERE id = 6;
UPDATE notes SET text = 'new';
WITH w AS (UPDATE notes SET text = 'newer') SELECT 1;
UPDATE notes SET text = 'bad';
UPDATE mixed SET b = 'blind', a = 3;
UPDATE mixed SET a = 5;
SELECT count(*) FROM mixed WHERE a = 5;
UPDATE log SET what = what || '?' RETURNING *;
SELECT * FROM log ORDER BY id;
DELETE FROM log WHERE id = 1;
DELETE FROM log WHERE id = 2 RETURNING *;
DELETE FROM notes;
UPDATE mixed SET b = b || '+' RETURNING id, a, b;
UPDATE mixed SET b = 'blind';
UPDATE mixed SET a = 3 WHERE id = 6;
UPDATE mixed SET a = 5 WHERE id = 6;
DELETE FROM mixed WHERE id = 8 RETURNING *;
DELETE FROM mixed WHERE id = 12 RETURNING *;
DELETE FROM mixed;
SET ROLE o_rs_cyd;
DELETE FROM notes WHERE id = 22;
DELETE FROM notes;
DELETE FROM notes WHERE id = 5;
DELETE FROM papers WHERE id = 23 RETURNING *;
DELETE FROM papers USING topics t WHERE t.id = papers.topic AND papers.id IN (20, 21, 22) RETURNING papers.id, t.name;
DELETE FROM strict;
DELETE FROM topics WHERE id = 1;
RESET ROLE;
SELECT * FROM mixed ORDER BY id;
SELECT id, text FROM notes ORDER BY id;
SELECT * FROM papers ORDER BY id;
SELECT * FROM tiny ORDER BY id;
SELECT * FROM topics ORDER BY id;

-- MERGE.
SET ROLE o_rs_ben;
MERGE INTO mixed m USING (SELECT 6 AS id) s ON m.id = s.id WHEN MATCHED THEN UPDATE SET b = m.b || ' merged';
MERGE INTO mixed m USING (SELECT 6 AS id) s ON m.id = s.id WHEN MATCHED THEN UPDATE SET a = 3;
MERGE INTO mixed m USING (SELECT 8 AS id) s ON m.id = s.id WHEN MATCHED THEN DELETE;
MERGE INTO mixed m USING (SELECT 8 AS id) s ON m.id = s.id WHEN MATCHED AND b = '' THEN DELETE WHEN MATCHED THEN UPDATE SET b = 'other';
MERGE INTO mixed m USING (SELECT 18 AS id) s ON m.id = s.id WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (18, 1, 'no');
MERGE INTO mixed m USING (SELECT 4 AS id) s ON m.id = s.id WHEN MATCHED THEN UPDATE SET b = 'x' WHEN NOT MATCHED THEN INSERT VALUES (4, 1, 'hidden');
MERGE INTO mixed m USING (SELECT 40 AS id) s ON m.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (40, 2, 'refused');
MERGE INTO mixed m USING (SELECT 40 AS id) s ON m.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (40, 5, 'unseen');
MERGE INTO papers p USING (SELECT id FROM papers WHERE author = current_user) s ON p.id = s.id WHEN MATCHED THEN UPDATE SET title = 'by merge';
MERGE INTO papers p USING notes n ON p.id = n.id WHEN MATCHED AND p.author <> current_user THEN UPDATE SET title = 'x';
MERGE INTO topics t USING (VALUES (2, 'two'), (4, 'four')) s (id, name) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name;
MERGE INTO topics t USING (VALUES (1, 'one')) s (id, name) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO topics t USING (VALUES (7, 'seven')) s (id, name) ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
MERGE INTO tiny t USING (VALUES (1), (2), (3)) s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 0;
RESET ROLE;
SELECT * FROM mixed ORDER BY id;
SELECT id, title FROM papers WHERE title = 'by merge' ORDER BY id;
SELECT * FROM topics ORDER BY id;

-- FORCE, and foreign keys, which see all rows.
SET ROLE o_rs_owner;
SELECT count(*), max(v) FROM forced;
UPDATE forced SET v = v + 25;
UPDATE forced SET v = v + 20 RETURNING v;
UPDATE forced SET v = v + 20;
INSERT INTO forced VALUES (20, 90);
INSERT INTO forced VALUES (20, 70);
INSERT INTO forced VALUES (21, 70) RETURNING *;
DELETE FROM forced WHERE id = 8;
DELETE FROM forced WHERE id = 1 RETURNING *;
INSERT INTO child VALUES (3, 100);
INSERT INTO child VALUES (9, 100);
DELETE FROM parent WHERE id = 3;
-- statement needs: colocation
DELETE FROM parent WHERE id = 2;
SELECT * FROM parent ORDER BY id;
INSERT INTO parent VALUES (9, 'nine');
UPDATE parent SET v = v || '*' RETURNING *;
RESET ROLE;
SELECT * FROM forced ORDER BY id;
SELECT * FROM child ORDER BY parent_id, n;

-- Views: policies for their owner, or for their user.
SET ROLE o_rs_ann;
SELECT count(*) FROM viewers_papers;
SELECT count(*) FROM invokers_papers;
SELECT id FROM open_papers WHERE leak(title) ORDER BY id LIMIT 3;
SELECT title FROM open_papers WHERE id = 1;
SELECT * FROM bens_log ORDER BY id;
SELECT v.id FROM viewers_papers v JOIN invokers_papers i USING (id) WHERE v.level = 1 ORDER BY 1 LIMIT 5;
SELECT (SELECT count(*) FROM viewers_papers), (SELECT count(*) FROM papers);
UPDATE invokers_papers SET title = 'through' WHERE id = 101 RETURNING id, title;
UPDATE invokers_papers SET author = 'o_rs_cyd' WHERE id = 101;
UPDATE viewers_papers SET title = 'through' WHERE id = 101;
INSERT INTO bens_log VALUES (60, 'through');
INSERT INTO bens_log VALUES (61, 'a'), (62, 'b');
UPDATE bens_log SET what = 'changed' RETURNING *;
DELETE FROM bens_log WHERE id = 1;
SET ROLE o_rs_cyd;
SELECT count(*) FROM viewers_papers;
SELECT count(*) FROM invokers_papers;
SELECT count(*) FROM open_papers;
SELECT * FROM bens_log ORDER BY id;
UPDATE open_papers SET title = 'open by view' WHERE id = 1 RETURNING *;
RESET ROLE;
SELECT * FROM log ORDER BY id;

-- Prepared statements and cursors when the role changes.
PREPARE mine AS SELECT count(*), sum(id) FROM papers;
PREPARE one (int) AS SELECT id, author FROM papers WHERE id = $1;
PREPARE topic_list AS SELECT id FROM topics ORDER BY id;
PREPARE mark (int) AS UPDATE papers SET title = 'marked' WHERE id = $1 RETURNING id;
PREPARE small AS SELECT * FROM tiny ORDER BY id;
EXECUTE mine;
EXECUTE one (6);
SET ROLE o_rs_ann;
EXECUTE mine;
EXECUTE one (6);
EXECUTE one (12);
EXECUTE topic_list;
EXECUTE mark (5);
EXECUTE small;
SET ROLE o_rs_ben;
EXECUTE mine;
EXECUTE one (6);
EXECUTE one (12);
EXECUTE topic_list;
EXECUTE mark (13);
EXECUTE small;
SET ROLE o_rs_cyd;
EXECUTE mine;
EXECUTE one (6);
EXECUTE topic_list;
EXECUTE mark (14);
EXECUTE small;
SET row_security = off;
EXECUTE mine;
EXECUTE one (6);
RESET ROLE;
EXECUTE mine;
EXECUTE one (6);
RESET row_security;
EXECUTE one (7);
SET SESSION AUTHORIZATION o_rs_ben;
EXECUTE mine;
EXECUTE one (6);
SET ROLE o_rs_team;
SELECT session_user, current_user, count(*) FROM levels GROUP BY 1, 2;
EXECUTE topic_list;
RESET SESSION AUTHORIZATION;
BEGIN;
SET LOCAL ROLE o_rs_ann;
DECLARE c CURSOR FOR SELECT id FROM papers ORDER BY id;
FETCH 2 FROM c;
SET LOCAL ROLE o_rs_cyd;
FETCH 2 FROM c;
DECLARE d CURSOR FOR SELECT id FROM papers ORDER BY id;
FETCH 2 FROM d;
RESET ROLE;
FETCH ALL FROM c;
FETCH 3 FROM d;
COMMIT;
DO $$
DECLARE
    c CURSOR FOR SELECT id, a FROM mixed WHERE id = 14 FOR UPDATE;
    n int;
    m int;
BEGIN
    PERFORM set_config('row_security', 'on', true), set_config('role', 'o_rs_ben', true);
    FOR r IN c LOOP
        UPDATE mixed SET b = 'current' WHERE CURRENT OF c;
        GET DIAGNOSTICS n = ROW_COUNT;
        DELETE FROM mixed WHERE CURRENT OF c;
        GET DIAGNOSTICS m = ROW_COUNT;
    END LOOP;
    PERFORM set_config('role', 'none', true);
    INSERT INTO plain VALUES (200, n), (201, m);
END $$;
SELECT p.id, p.a, m.b FROM plain p, mixed m WHERE p.id >= 200 AND m.id = 14 ORDER BY 1;
BEGIN;
SET LOCAL ROLE o_rs_ann;
INSERT INTO log (id, what) VALUES (90, 'by ann');
SET LOCAL ROLE o_rs_ben;
SELECT * FROM log WHERE id = 90;
UPDATE log SET what = 'by ben' WHERE id = 90;
INSERT INTO log (id, what) VALUES (91, 'by ben') RETURNING who;
SET LOCAL ROLE o_rs_cyd;
SELECT count(*) FROM log WHERE id >= 90;
RESET ROLE;
SELECT * FROM log WHERE id >= 90 ORDER BY id;
COMMIT;
DO $$
DECLARE n int;
BEGIN
    FOR i IN 1 .. 3 LOOP
        PERFORM set_config('role', (ARRAY['o_rs_ann', 'o_rs_ben', 'o_rs_cyd'])[i], true);
        SELECT count(*) INTO n FROM papers;
        PERFORM set_config('role', 'none', true);
        INSERT INTO plain VALUES (100 + i, n);
    END LOOP;
END $$;
SELECT * FROM plain WHERE id > 100 ORDER BY id;
SELECT row_security_active('papers'), row_security_active('plain');
SET ROLE o_rs_ann;
SELECT row_security_active('papers'), row_security_active('plain'), row_security_active('strict'), row_security_active('topics');
RESET ROLE;
SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'o_row_security' AND tablename <> 'papers';

-- Policies that read other distributed tables.
SET ROLE o_rs_ann;
SELECT * FROM rooms ORDER BY id;
SELECT * FROM rooms WHERE id = 3;
SELECT * FROM rooms WHERE id = 2;
SELECT id FROM rooms WHERE leak(note) ORDER BY id;
SELECT id FROM rooms WHERE leak(note) AND id = 5;
SELECT m.k, (SELECT count(*) FROM rooms r WHERE r.name = m.room AND leak(r.note)) FROM members m ORDER BY 1;
SELECT m.k, (SELECT max(r.note) FROM rooms r WHERE r.id > 3 * m.k AND r.note <> 'x') FROM members m ORDER BY 1;
INSERT INTO rooms VALUES (20, 'red', 'n');
INSERT INTO rooms VALUES (41, 'blue', 'n');
INSERT INTO rooms VALUES (42, 'grey', 'n');
INSERT INTO rooms VALUES (21, 'white', 'n') RETURNING *;
INSERT INTO rooms VALUES (22, 'white', 'n');
INSERT INTO rooms VALUES (23, 'red', 'a'), (24, 'red', 'b') RETURNING *;
INSERT INTO rooms SELECT i, CASE WHEN i = 30 THEN 'green' ELSE 'red' END, 'n' FROM generate_series(28, 32) i;
INSERT INTO rooms SELECT i, 'red', 'n' FROM generate_series(28, 32) i;
UPDATE rooms SET note = note || '!' WHERE id = 6 RETURNING *;
UPDATE rooms SET note = note || '!' WHERE id = 1;
UPDATE rooms SET note = note || '!';
UPDATE rooms SET note = note || '!' WHERE name = 'red';
UPDATE rooms SET name = 'blue' WHERE id = 6;
UPDATE rooms SET name = 'white' WHERE id = 6;
UPDATE rooms SET name = 'black', note = 'x' WHERE name = 'red' AND id > 28;
DELETE FROM rooms WHERE leak(note) AND id > 15;
UPDATE rooms SET note = 'x' WHERE leak(note) AND name = 'red';
UPDATE rooms SET id = id + 100 WHERE name = 'red' AND id < 10 RETURNING id;
UPDATE rooms SET id = id + 100, name = 'green' WHERE id = 12;
SELECT id FROM rooms ORDER BY id FOR UPDATE;

-- policies come before constraints and unique indexes
INSERT INTO rooms VALUES (2, 'green', 'hidden'), (4, 'green', 'new');
INSERT INTO rooms VALUES (2, 'green', 'hidden') ON CONFLICT DO NOTHING;
INSERT INTO rooms VALUES (2, 'green', 'hidden') RETURNING id;
UPDATE rooms SET id = 2, name = 'green' WHERE id = 12;
INSERT INTO halls VALUES (2, 1, 'GREEN'), (11, 1, 'green');
INSERT INTO halls VALUES (2, 1, ' Green '), (11, 1, 'green') ON CONFLICT DO NOTHING;
INSERT INTO halls VALUES (2, 1, 'red'), (12, 1, 'red');
INSERT INTO halls VALUES (12, 1, ' Red '), (13, 1, 'white') RETURNING id, name, room;
INSERT INTO halls VALUES (14, 200, 'green'), (15, 1, 'red');
INSERT INTO halls VALUES (14, 200, 'red'), (15, 1, 'red');
UPDATE halls SET name = ' GREEN', size = 300 WHERE id < 20;
UPDATE halls SET name = ' RED', size = size + 1 WHERE id < 20 AND room = 'red' RETURNING *;
UPDATE halls SET id = 2, name = 'green ' WHERE id = 12;
UPDATE halls SET id = 22, name = 'white' WHERE id = 12 RETURNING *;
INSERT INTO yards VALUES (2, 300, 'Green'), (11, 1, 'green');
INSERT INTO yards VALUES (11, 1, 'Green'), (12, 1, 'red') ON CONFLICT DO NOTHING;
INSERT INTO yards VALUES (11, 1, 'Red'), (12, 1, 'red') RETURNING *;
UPDATE yards SET id = 2, name = 'Green' WHERE id = 1;
UPDATE yards SET id = id + 30, name = 'Red' WHERE id < 3 RETURNING *;
SET ROLE o_rs_ben;
UPDATE rooms SET note = 'ben' RETURNING id;
UPDATE rooms SET note = 'ben', name = 'grey' WHERE name = 'blue' RETURNING id;
UPDATE rooms SET id = -13 WHERE id = 13;
UPDATE rooms SET id = 213 WHERE id = 13;
DELETE FROM rooms;
SET ROLE o_rs_cyd;
DELETE FROM rooms;
RESET ROLE;
SELECT * FROM rooms ORDER BY id;

-- Writes that read nothing of their table.
SET ROLE o_rs_ann;
UPDATE seats SET v = 50 RETURNING *;
UPDATE seats SET v = 50 WHERE id > 0;
UPDATE seats SET v = 95;
UPDATE seats SET v = 50;
DELETE FROM seats;
INSERT INTO seats VALUES (20, 70);
INSERT INTO seats SELECT i, 70 FROM generate_series(21, 23) i;
INSERT INTO seats VALUES (24, 70) RETURNING id;
INSERT INTO seats SELECT 24, 70 RETURNING 1;
INSERT INTO seats SELECT 24, 70 RETURNING id;
WITH w AS (INSERT INTO seats VALUES (25, 70)) SELECT 1;
UPDATE seats SET v = v.x FROM (VALUES (51)) v (x);
UPDATE signs SET v = 50 WHERE id > 0;
UPDATE signs SET v = 95;
UPDATE signs SET v = 50;
UPDATE signs SET v = v.x FROM (SELECT count(*) + 51 AS x FROM seats) v;
UPDATE signs SET v = 3 WHERE id = 1;
DELETE FROM signs;
INSERT INTO signs SELECT count(*) + 20, 70 FROM seats;
SET ROLE o_rs_ben;
DELETE FROM seats USING (VALUES (1)) v;
DELETE FROM signs USING (SELECT count(*) FROM seats) v;
RESET ROLE;
SELECT * FROM seats ORDER BY id;
SELECT * FROM signs ORDER BY id;

-- A cursor has the row_security of its declaration.
BEGIN;
SET LOCAL ROLE o_rs_ann;
DECLARE a CURSOR FOR SELECT id FROM papers ORDER BY id;
DECLARE b CURSOR FOR SELECT id FROM papers ORDER BY id FOR UPDATE;
DECLARE c CURSOR FOR SELECT id FROM papers WHERE id = 4;
DECLARE d CURSOR FOR SELECT id FROM papers WHERE id = 4 FOR UPDATE;
DECLARE e CURSOR FOR SELECT id FROM rooms ORDER BY id FOR SHARE;
SET LOCAL row_security = off;
FETCH 2 FROM a;
FETCH 2 FROM b;
FETCH ALL FROM c;
FETCH ALL FROM d;
FETCH ALL FROM e;
FETCH ALL FROM a;
FETCH ALL FROM b;
SHOW row_security;
SELECT count(*) FROM plain;
SAVEPOINT s;
SELECT count(*) FROM papers;
ROLLBACK TO s;
SET LOCAL row_security = on;
SELECT count(*) FROM papers;
COMMIT;
