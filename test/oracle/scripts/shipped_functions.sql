-- Functions, operators, aggregates and casts of users and extensions, which nodes call on their rows.
-- distribute: doc(id), tag(doc_id) with doc, mail(address) shards 4, kind reference, here local

CREATE EXTENSION pg_trgm;
CREATE EXTENSION citext;
CREATE EXTENSION hstore;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TABLE doc (id int PRIMARY KEY, name text, nick citext, props hstore, m mood, n small, big numeric);
CREATE TABLE tag (doc_id int, label citext, weight int);
CREATE TABLE mail (address citext PRIMARY KEY, n int);
CREATE TABLE kind (label citext PRIMARY KEY, rank int);
CREATE TABLE here (id int, note text);
CREATE INDEX ON doc USING gist (name gist_trgm_ops);
CREATE INDEX ON doc (nick);
CREATE FUNCTION twice(i int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS $$ BEGIN RETURN $1 * 2; END $$;
CREATE FUNCTION twice(i bigint) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN 'big ' || $1 * 2; END $$;
CREATE FUNCTION twice(i text, suffix text DEFAULT '!') RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN i || i || suffix; END $$;
CREATE FUNCTION pick(VARIADIC anyarray) RETURNS anyelement IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1[array_length($1, 1)]; END $$;
CREATE FUNCTION share(a int, b int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN a / b; END $$;
CREATE FUNCTION both_of(i int, OUT a int, OUT b text) IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN a := i; b := 'b' || i; END $$;
CREATE FUNCTION upto(i int) RETURNS SETOF int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT generate_series(1, i); END $$;
CREATE FUNCTION labels_of(i int) RETURNS bigint STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM tag WHERE doc_id = i); END $$;
CREATE FUNCTION noted(i int) RETURNS bigint STABLE LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM here WHERE id = i; END;
CREATE FUNCTION noted_too(i int) RETURNS bigint IMMUTABLE LANGUAGE sql BEGIN ATOMIC SELECT count(*) + 0 * max(length(note)) FROM here WHERE id = i; END;
CREATE FUNCTION fixed(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql SET DateStyle = 'German' SECURITY DEFINER AS $$ BEGIN RETURN t::date + 0; END $$;
CREATE FUNCTION near(int, int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN abs($1 - $2) < 2; END $$;
CREATE OPERATOR ~~~ (LEFTARG = int, RIGHTARG = int, FUNCTION = near, COMMUTATOR = ~~~);
CREATE FUNCTION mood_number(mood) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN CASE $1 WHEN 'sad' THEN -1 WHEN 'ok' THEN 0 ELSE 1 END; END $$;
CREATE CAST (mood AS int) WITH FUNCTION mood_number(mood);
CREATE FUNCTION add_up(numeric, numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce($1, 0) + coalesce($2, 0); END $$;
CREATE FUNCTION add_text(text, text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN least($1, $2); END $$;
CREATE AGGREGATE total (numeric) (SFUNC = add_up, STYPE = numeric, COMBINEFUNC = add_up);
CREATE AGGREGATE whole (numeric) (SFUNC = add_up, STYPE = numeric);
CREATE AGGREGATE first_text (text) (SFUNC = add_text, STYPE = text, COMBINEFUNC = add_text);
INSERT INTO doc SELECT g, md5(g::text), CASE WHEN g % 5 > 0 THEN upper(left(md5((g % 20)::text), 6)) END, hstore('k', (g % 7)::text) || hstore('odd', (g % 2)::text),
    (ARRAY['sad', 'ok', 'happy']::mood[])[1 + g % 3], g % 100, g / 3.0 FROM generate_series(1, 300) g;
INSERT INTO tag SELECT g % 300 + 1, left(md5((g % 20)::text), 6), g % 11 FROM generate_series(1, 900) g;
INSERT INTO mail SELECT 'User' || g || '@Example.org', g FROM generate_series(1, 60) g;
INSERT INTO kind SELECT left(md5(g::text), 6), g FROM generate_series(0, 12) g;
INSERT INTO here VALUES (1, 'one'), (1, 'more'), (7, 'seven');
-- setup ends

SELECT id FROM doc ORDER BY name <-> 'abcdef', id LIMIT 5;
SELECT id, similarity(name, 'c4ca4238') FROM doc WHERE name % 'c4ca4238a0b923820dcc509a6f75849b';
SET pg_trgm.similarity_threshold = 0.05;
SELECT count(*) FROM doc WHERE name % 'c4ca4238';
RESET pg_trgm.similarity_threshold;
SELECT count(*) FROM doc WHERE name % 'c4ca4238';
-- params: 'C4CA42'
-- params: 'c81e72'
-- params: NULL
SELECT id FROM doc WHERE nick = $1::citext;
SELECT id, nick FROM doc WHERE id = 7 AND nick = '8f14e4';
SELECT nick, count(*), min(nick), max(nick) FROM doc GROUP BY nick ORDER BY nick NULLS FIRST;
SELECT DISTINCT lower(nick) FROM doc WHERE nick LIKE 'C%' ORDER BY 1;
SELECT count(DISTINCT nick) FROM doc;
SELECT t.label, k.rank, sum(t.weight) FROM tag t JOIN kind k USING (label) JOIN doc d ON d.id = t.doc_id AND d.nick = t.label GROUP BY 1, 2 ORDER BY 2;
SELECT d.id, count(t.label) FROM doc d LEFT JOIN tag t ON t.doc_id = d.id AND t.label = d.nick GROUP BY d.id ORDER BY 2 DESC, 1 LIMIT 7;
SELECT d.nick, count(*) FROM doc d JOIN tag t ON t.label = d.nick GROUP BY d.nick ORDER BY d.nick;
-- params: 'user7@example.ORG'
-- params: 'nobody'
SELECT n FROM mail WHERE address = $1::citext;
SELECT n FROM mail WHERE address IN ('USER1@example.org', 'user2@EXAMPLE.org') ORDER BY n;
SELECT props -> 'k', count(*) FROM doc WHERE props @> 'odd=>1' GROUP BY 1 ORDER BY 1;
SELECT sum((props -> 'k')::int) FROM doc WHERE props ? 'k' AND props -> 'odd' = '0';
SELECT id, props || hstore('new', id::text) FROM doc WHERE id < 4 ORDER BY id;
SELECT skeys(props), count(*) FROM doc GROUP BY 1 ORDER BY 1;
-- params: 4
-- params: 5
SELECT id FROM doc WHERE twice(id) = $1;
SELECT id, twice(id), twice(id::bigint), twice(name), twice(name, '?') FROM doc WHERE id <= 2 ORDER BY id;
SELECT twice(n::int), count(*) FROM doc WHERE twice(n::int) < 20 GROUP BY 1 HAVING twice(count(*)::int) > 5 ORDER BY 1;
SELECT a.id FROM doc a JOIN doc b ON twice(a.id) = b.id WHERE b.n < 9 ORDER BY 1;
SELECT pick(id, n::int, 5), pick(name, 'z') FROM doc WHERE id < 3 ORDER BY id;
SELECT share(id, id - 7) FROM doc WHERE id <> 7 ORDER BY id LIMIT 3;
SELECT sum(share(id, id - 7)) FROM doc;
SELECT (both_of(id)).b FROM doc WHERE (both_of(id)).a = 9;
SELECT id, both_of(id) FROM doc WHERE id < 3 ORDER BY id;
SELECT d.id, b.b FROM doc d, both_of(d.id) b WHERE b.a < 3 ORDER BY 1;
SELECT id, upto(id) FROM doc WHERE id < 4 ORDER BY 1, 2;
SELECT d.id, u FROM doc d, upto(d.id) u WHERE d.id < 4 AND u > 1 ORDER BY 1, 2;
SELECT sum(labels_of(id)) FROM doc WHERE id < 20;
SELECT id FROM doc WHERE labels_of(id) > 2 AND twice(id) < 20 ORDER BY id;
SELECT id FROM doc WHERE noted(id) > 0 ORDER BY id;
SELECT id FROM doc WHERE noted_too(id) > 0 AND id = 7;
SELECT sum(noted_too(id)) FROM doc;
SELECT fixed('2026-01-0' || (id % 9 + 1)) , count(*) FROM doc GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM doc WHERE id ~~~ 50;
SELECT count(*) FROM doc a JOIN doc b ON a.id ~~~ b.id AND a.m = b.m;
SELECT m, m::int, count(*) FROM doc WHERE m >= 'ok' GROUP BY m ORDER BY m DESC;
SELECT sum(m::int) FROM doc;
SELECT n, n::text::small + 1 FROM doc WHERE n = 17::small ORDER BY id;
SELECT total(big), total(big) FILTER (WHERE id < 10), whole(id), first_text(name) FROM doc;
SELECT id % 3, total(DISTINCT n), first_text(nick::text), whole(n) FROM doc GROUP BY 1 ORDER BY 1;
SELECT id, total(big) OVER (PARTITION BY id), whole(n) OVER (PARTITION BY m ORDER BY id) FROM doc ORDER BY id LIMIT 5;
SELECT count(*) FROM (SELECT twice(id) AS x FROM doc UNION SELECT doc_id FROM tag) q;
SELECT count(*) FROM doc d WHERE EXISTS (SELECT FROM tag t WHERE t.doc_id = d.id AND t.label = d.nick AND near(t.weight, 3));
UPDATE doc SET n = twice(n::int) WHERE twice(n::int) < 40 AND nick = 'C4CA42';
SELECT sum(n) FROM doc;
UPDATE doc d SET big = twice(t.weight) FROM tag t WHERE t.doc_id = d.id AND t.label = d.nick AND t.weight = 4;
SELECT total(big) FROM doc;
DELETE FROM tag USING doc WHERE doc.id = doc_id AND near(doc.id, weight);
SELECT count(*) FROM tag;
INSERT INTO tag SELECT id, nick, twice(n::int) FROM doc WHERE nick IS NOT NULL AND id ~~~ 100;
SELECT * FROM tag WHERE doc_id ~~~ 100 ORDER BY doc_id, label, weight;
CREATE FUNCTION pg_temp.mine(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1 + 1; END $$;
SELECT id FROM doc WHERE pg_temp.mine(id) = 5;
SELECT max(pg_temp.mine(id)) FROM doc;
BEGIN;
CREATE OR REPLACE FUNCTION near(int, int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN abs($1 - $2) < 3; END $$;
SELECT count(*) FROM doc WHERE id ~~~ 50;
ROLLBACK;
SELECT count(*) FROM doc WHERE id ~~~ 50;
CREATE FUNCTION thrice(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1 * 3; END $$;
PREPARE by_thrice(int) AS SELECT id FROM doc WHERE thrice(id) = $1;
EXECUTE by_thrice(9);
ALTER FUNCTION thrice(int) RENAME TO threefold;
EXECUTE by_thrice(12);
CREATE OR REPLACE FUNCTION threefold(int) RETURNS int VOLATILE LANGUAGE plpgsql AS $$ BEGIN RETURN $1 * 3; END $$;
EXECUTE by_thrice(15);
-- both fail: 42883
DROP FUNCTION thrice(int);
DROP FUNCTION threefold(int);
-- both fail: 42883
SELECT id FROM doc WHERE threefold(id) = 9;
-- before their schema: the server can't drop an index after its operator class, which it does where they are in different schemas
DROP TABLE doc, tag, mail, kind;
