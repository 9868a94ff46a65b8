-- DDL and functions about values: sequences in USING, domains whose constraints are NOT VALID, %TYPE, VARIADIC with a default, COPY FREEZE.
--
-- distribute: d(id), th(k), dom(stuff), one single, parted(id), fr(k)

CREATE SEQUENCE sq;
CREATE SEQUENCE "Odd seq" START 100 INCREMENT 5;
CREATE DOMAIN things AS int;
CREATE DOMAIN words AS varchar(5);
CREATE DOMAIN more_things AS things;
CREATE TABLE d (id int PRIMARY KEY, v int, w text NOT NULL);
CREATE TABLE th (k int, stuff things, word words, more more_things);
CREATE TABLE dom (stuff things, v int);
CREATE TABLE one (id int, v int NOT NULL);
CREATE TABLE parted (id int, v int) PARTITION BY LIST (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1, 2, 3);
CREATE TABLE parted2 PARTITION OF parted DEFAULT;
CREATE TABLE fr (k int);
CREATE TABLE lt (a int, "A b" numeric(5, 2));
INSERT INTO d SELECT g, g, g FROM generate_series(1, 20) g;
INSERT INTO th VALUES (1, 55, 'large', 66), (2, 5, 'tiny', NULL), (3, NULL, NULL, 7);
INSERT INTO dom VALUES (55, 1), (5, 2), (NULL, 3);
INSERT INTO one VALUES (1, 1), (2, 2);
INSERT INTO parted SELECT g, g FROM generate_series(1, 6) g;
CREATE FUNCTION f(a int, VARIADIC b text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN RETURN a || array_to_string(b, ','); END $$;
CREATE FUNCTION g(a int DEFAULT 1, VARIADIC b int[] DEFAULT '{7,8}') RETURNS int LANGUAGE sql STABLE AS 'SELECT a + cardinality(b) + coalesce(b[1], 0)';
CREATE FUNCTION h(VARIADIC "any") RETURNS int LANGUAGE internal IMMUTABLE AS 'pg_num_nonnulls';

-- setup ends
ALTER TABLE d ALTER COLUMN v TYPE bigint USING nextval('sq');
SELECT count(DISTINCT v), min(v) > 0 FROM d;
-- statement needs: colocation
ALTER TABLE d ALTER COLUMN w TYPE text USING w || nextval('"Odd seq"'::regclass);
SELECT count(DISTINCT w), bool_and(length(w) > 3) FROM d;
ALTER TABLE one ALTER COLUMN v TYPE bigint USING pg_catalog.nextval('sq') + v;
SELECT count(DISTINCT v) FROM one;
-- statement needs: colocation
ALTER TABLE parted ALTER COLUMN v TYPE bigint USING nextval('sq');
SELECT count(DISTINCT v) FROM parted;
ALTER TABLE d ALTER COLUMN v TYPE int USING nextval('no_sequence');

ALTER DOMAIN things ADD CONSTRAINT meow CHECK (VALUE < 11) NOT VALID;
ALTER DOMAIN words ADD CONSTRAINT short CHECK (length(VALUE) < 5) NOT VALID;
SELECT * FROM th ORDER BY k;
SELECT * FROM th WHERE k = 1;
SELECT stuff, count(*) FROM th GROUP BY stuff ORDER BY 1;
SELECT th.* FROM th JOIN d ON d.id = th.k ORDER BY k;
SELECT max(stuff), min(word), array_agg(more ORDER BY k) FROM th;
SELECT a.k, b.stuff FROM th a LEFT JOIN th b ON a.k = b.k + 1 ORDER BY 1;
SELECT k FROM th WHERE stuff = 55;
INSERT INTO th VALUES (9, 12);
INSERT INTO th SELECT k + 10, stuff FROM th WHERE stuff < 10;
SELECT k, stuff::int + 1 FROM th WHERE word = 'large';
UPDATE th SET stuff = 10 WHERE stuff > 10 RETURNING *;
UPDATE th SET word = 'l' WHERE word = 'large';
SELECT * FROM dom ORDER BY 1;
SELECT * FROM dom WHERE stuff = 5;
UPDATE dom SET stuff = 10 WHERE stuff > 10 RETURNING *;
ALTER DOMAIN things VALIDATE CONSTRAINT meow;
UPDATE th SET more = 1 WHERE k = 1;
ALTER DOMAIN things VALIDATE CONSTRAINT meow;
ALTER DOMAIN words VALIDATE CONSTRAINT short;
SELECT * FROM th ORDER BY k;

CREATE FUNCTION ft(lt.a%type) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1';
CREATE FUNCTION ft2(x lt.a %TYPE, OUT y o_ddl_values.lt."A b"%type) RETURNS SETOF lt."A b"%Type LANGUAGE sql AS 'SELECT $1 + 0.5';
CREATE PROCEDURE pt(lt.a%type) LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION ft3(lt.no%type) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT ft(1), ft2(2);
SELECT id, ft(id) FROM d WHERE id < 4 ORDER BY id;
SELECT max(ft(id)) FROM d;
COMMENT ON FUNCTION ft(lt.a%type) IS 'one more';
ALTER FUNCTION ft(lt.a%type) IMMUTABLE;
ALTER FUNCTION ft(lt.a%type) RENAME TO ft_new;
GRANT EXECUTE ON FUNCTION ft_new(lt.a%type) TO PUBLIC;
SELECT count(*) FROM d WHERE ft_new(id) > 10;
DROP FUNCTION ft_new(lt.a%type), ft2(lt.a%type);
DROP PROCEDURE pt(lt.a%type);
SELECT count(*) FROM d WHERE ft_new(id) > 10;

SELECT count(*) FROM d WHERE f(id) = '3';
SELECT count(*) FROM d WHERE f(id, 'a', 'b') = '3a,b';
SELECT count(*) FROM d WHERE f(id, VARIADIC '{a,b}') = '3a,b';
SELECT max(f(id)), max(f(id, 'x')) FROM d;
SELECT sum(g(id)), sum(g()), sum(g(id, 1)), sum(g(id, VARIADIC '{}')) FROM d;
SELECT id FROM d WHERE g(id) = 12 AND h(id, v) = 2;
SELECT sum(h(id, v, NULL)) FROM d;
CREATE VIEW longest AS SELECT max(f(id)) FROM d;
SELECT * FROM longest;
UPDATE one SET v = length(f(id)) WHERE f(id) = '1' RETURNING id, v;

CREATE TEMP TABLE tt (a int, b int);
CREATE STATISTICS tt_stat ON a, b FROM tt;
CREATE STATISTICS ON a, (b + 1) FROM tt;
INSERT INTO tt SELECT i, i FROM generate_series(1, 100) i;
ANALYZE tt;
ALTER STATISTICS tt_stat SET STATISTICS 20;
DROP STATISTICS tt_stat;
DROP TABLE tt;
BEGIN;
TRUNCATE fr;
COPY fr FROM STDIN (FREEZE on);
1
2
\.
COMMIT;
COPY fr FROM STDIN (FREEZE off);
4
\.
SELECT * FROM fr ORDER BY k;
