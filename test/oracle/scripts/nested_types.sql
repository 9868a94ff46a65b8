-- Values whose types were made by users, at any depth, sent between nodes: copied, moved to other shards, written by the initiator.
-- distribute: t(id), u(id) with none, r reference, rowtype reference
CREATE TYPE mood AS ENUM ('dull', 'fine', 'ä');
CREATE DOMAIN pos AS int CHECK (VALUE > 0);
CREATE TYPE pt AS (x int, gone text, m mood, y pos);
ALTER TYPE pt DROP ATTRIBUTE gone;
ALTER TYPE pt ADD ATTRIBUTE z text;
CREATE TYPE stroke AS (a pt, b pt, tags mood[]);
CREATE DOMAIN goodstroke AS stroke CHECK (VALUE IS NULL OR (VALUE).a IS NOT NULL);
CREATE TYPE moodrange AS RANGE (subtype = mood);
CREATE TABLE rowtype (a int, dropped int, b mood, c pt[]);
ALTER TABLE rowtype DROP COLUMN dropped;
CREATE TABLE t (id int PRIMARY KEY, m mood[], p pt, ps pt[], l stroke, ls stroke[], g goodstroke, gs goodstroke[], r moodrange, mr moodmultirange, rr moodrange[],
    w rowtype, ws rowtype[], c regclass, cs regtype[], j jsonb[], mm mood[][]);
CREATE TABLE u (LIKE t INCLUDING ALL);
CREATE TABLE r (LIKE t INCLUDING ALL);
INSERT INTO t SELECT g, ARRAY['fine', NULL, 'ä']::mood[], (g, 'dull', g, 'z' || g)::pt, ARRAY[(g, NULL, NULL, '"a,b\')::pt, NULL, (NULL, 'ä', 1, '')::pt],
    ((g, 'fine', g, 'x')::pt, NULL, '{ä,dull}')::stroke, ARRAY[((g, 'fine', g, 'x')::pt, (1, 'dull', 2, NULL)::pt, '{}')::stroke],
    ((g, 'fine', g, 'x')::pt, NULL, NULL)::stroke, ARRAY[((g, 'fine', g, 'x')::pt, NULL, NULL)::stroke::goodstroke], moodrange('dull', 'fine', '[]'),
    moodmultirange(moodrange('dull', 'fine'), moodrange('ä', NULL)), ARRAY[moodrange('dull', 'fine'), 'empty', NULL],
    (g, 'ä', ARRAY[(g, 'fine', g, 'q')::pt])::rowtype, ARRAY[(g, 'ä', NULL)::rowtype, NULL], 'pg_class', '{int,text}', ARRAY['{"a": [1, 2]}'::jsonb],
    '[0:1][2:3]={{dull,fine},{ä,NULL}}' FROM generate_series(1, 8) g;
INSERT INTO t (id) VALUES (9);
INSERT INTO t (id, m, ps, ws, mm) VALUES (10, '{}', '{}', '{}', '{}');
-- setup ends
INSERT INTO u SELECT * FROM t;
SELECT * FROM u;
INSERT INTO r SELECT * FROM t;
SELECT * FROM r;
INSERT INTO u SELECT id + 100, m, p, ps, l, ls, g, gs, r, mr, rr, w, ws, c, cs, j, mm FROM r RETURNING *;
UPDATE u SET id = id + 1000 WHERE id > 100 RETURNING *;
SELECT * FROM u ORDER BY id;
UPDATE u SET ps = ps || p, l = (l.b, l.a, '{fine}')::stroke WHERE id = 3 RETURNING ps, l;
UPDATE u SET p.y = 5, p.z = 'ü' FROM r WHERE r.id = u.id RETURNING u.id, u.p;
UPDATE r SET ps = u.ps, mm = u.mm FROM u WHERE u.id = r.id AND u.id < 5;
SELECT * FROM r;
-- both fail: 23514
UPDATE u SET p.y = -5 WHERE id = 1;
-- both fail: 23514
INSERT INTO u SELECT id + 5000, m, p, ps, NULL, NULL, (NULL, p, NULL)::stroke FROM t;
INSERT INTO u SELECT * FROM t ON CONFLICT (id) DO UPDATE SET ps = excluded.ps || u.p, w = excluded.w, gs = u.gs || excluded.g RETURNING *;
MERGE INTO u USING t ON t.id = u.id WHEN MATCHED AND t.id < 4 THEN UPDATE SET ls = t.ls || u.l WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, ws) VALUES (t.id, t.ws);
SELECT * FROM u;
SELECT t.id, u.ps FROM t JOIN u ON t.p = u.p;
SELECT p, count(*) FROM u GROUP BY p;
SELECT DISTINCT ls FROM u;
SELECT id, unnest(ps) FROM u ORDER BY id, 2 LIMIT 5;
SELECT max(m), min(mm), count(DISTINCT r) FROM u;
SELECT array_agg(w ORDER BY id) FROM u;
COPY u (id, m, ps, ls, gs, rr, ws, mm) FROM STDIN;
7001	{fine}	{"(1,fine,2,z)"}	{"(\\"(1,fine,3,x)\\",,\\"{dull}\\")"}	\N	{empty}	{"(3,dull,)"}	{{dull}}
\.
SELECT * FROM u WHERE id = 7001;
COPY (SELECT * FROM u ORDER BY id) TO STDOUT;
CREATE MATERIALIZED VIEW mv AS SELECT * FROM u;
SELECT * FROM mv;
CREATE TABLE made AS SELECT * FROM u;
SELECT * FROM made;
WITH x AS (DELETE FROM u WHERE id < 1000 RETURNING *) INSERT INTO u SELECT id + 2000, m, p, ps, l, ls, g, gs, r, mr, rr, w, ws, c, cs, j, mm FROM x;
SELECT * FROM u;
ALTER TYPE pt ADD ATTRIBUTE t timestamptz;
