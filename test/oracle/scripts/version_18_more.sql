-- What the release notes of version 18 name besides version_18 and the scripts of single features.
-- needs: 18
-- distribute: t(id), s(id), r reference, one single, parted(tenant)
CREATE TABLE t (id int PRIMARY KEY, v int, w text);
CREATE TABLE s (id int, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE one (id int PRIMARY KEY, v int);
CREATE TABLE parted (tenant int, n int, PRIMARY KEY (tenant, n)) PARTITION BY RANGE (n);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
INSERT INTO t SELECT i, i % 5, 'w' || i % 3 FROM generate_series(1, 40) i;
INSERT INTO s SELECT i, i % 7 FROM generate_series(1, 40) i;
INSERT INTO r SELECT i, i * 2 FROM generate_series(0, 10) i;
INSERT INTO one SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO parted SELECT i, i FROM generate_series(1, 20) i;
-- setup ends

-- joins of a table with itself that the planner removes; ORs and VALUES that become arrays
SELECT a.id, b.v FROM t a JOIN t b ON a.id = b.id WHERE a.v = 2 AND b.w = 'w1' ORDER BY 1;
SELECT count(*) FROM t a JOIN t b USING (id) JOIN s ON s.id = b.id WHERE a.v = s.v;
SELECT a.id FROM r a JOIN r b USING (id) JOIN one USING (id) ORDER BY 1;
UPDATE t SET v = t.v FROM t b WHERE t.id = b.id AND b.v = 3 RETURNING t.id, old.v, b.w;
DELETE FROM s USING s b WHERE s.id = b.id AND b.v = 6 RETURNING old.id, new.id;
SELECT id FROM t WHERE v = 1 OR v = 3 OR v = 4 ORDER BY id LIMIT 7;
SELECT id FROM t WHERE id = 3 OR id = 5 OR id = 7 + 0 ORDER BY id;
SELECT id FROM t WHERE id IN (VALUES (3), (5), (77)) ORDER BY id;
SELECT t.id FROM t WHERE v IN (VALUES (3), (4)) AND id IN (SELECT id FROM s WHERE s.v IN (VALUES (1), (2))) ORDER BY 1;
SELECT DISTINCT v, w FROM t ORDER BY w, v;
SET enable_self_join_elimination = off;
SELECT count(*) FROM t a JOIN t b USING (id);
RESET enable_self_join_elimination;
SET enable_distinct_reordering = off;
SELECT DISTINCT w, v FROM t ORDER BY v, w;
RESET enable_distinct_reordering;
SELECT v, w, count(*) FROM t GROUP BY GROUPING SETS ((v, w), (v), ()) HAVING v = 2 ORDER BY 1, 2;
SELECT id FROM t EXCEPT SELECT id FROM s ORDER BY 1;
SELECT v FROM t INTERSECT SELECT v FROM s ORDER BY 1;

-- LIKE with a collation that isn't deterministic; foreign keys with such
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE words (id int, w text COLLATE nocase);
-- distribute: words(id)
INSERT INTO words VALUES (1, 'Abc'), (2, 'aBC'), (3, 'xyz');
SELECT id FROM words WHERE w LIKE 'ab%' ORDER BY id;
SELECT id FROM words WHERE w = 'ABC' ORDER BY id;
SELECT position('C' IN w), split_part(w, 'B', 1), replace(w, 'B', '-') FROM words WHERE id = 1;

-- the role of an AFTER trigger is the one that was active when its event happened
CREATE TABLE roles_log (id int, who text);
-- distribute: roles_log(id)
CREATE FUNCTION note_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO roles_log VALUES (NEW.id, current_user);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_role();
GRANT SELECT, UPDATE ON t TO pg_monitor;
GRANT INSERT, SELECT ON roles_log TO pg_monitor, pg_read_all_stats;
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO pg_monitor', current_schema()); END $$;
BEGIN;
SET LOCAL ROLE pg_monitor;
UPDATE t SET v = v WHERE id IN (1, 2);
RESET ROLE;
UPDATE t SET v = v WHERE id = 3;
COMMIT;
SELECT id, who = session_user FROM roles_log ORDER BY id;
BEGIN;
UPDATE t SET v = v WHERE id = 4;
SET LOCAL ROLE pg_monitor;
SET CONSTRAINTS ALL IMMEDIATE;
RESET ROLE;
COMMIT;
SELECT id, who = session_user FROM roles_log ORDER BY id;
DROP TRIGGER late ON t;

-- cursors' named arguments
CREATE FUNCTION opened() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR (low int, high int) FOR SELECT count(*) FROM t WHERE id BETWEEN low AND high;
  n int;
BEGIN
  OPEN c (high => 9, low => 5);
  FETCH c INTO n;
  RETURN n;
END $$;
SELECT opened();

-- COPY: a line of \. is data in CSV
COPY t (id, w) FROM PROGRAM $$printf '300,a\n301,"x\n\\.\ny"\n302,b\n'$$ (FORMAT csv);
SELECT id, w FROM t WHERE id >= 300 ORDER BY id;

-- constraints of partitioned tables
ALTER TABLE parted ADD CONSTRAINT parted_r FOREIGN KEY (n) REFERENCES r NOT VALID;
-- both fail: 23503
INSERT INTO parted VALUES (1, 50);
-- both fail: 23503
ALTER TABLE parted VALIDATE CONSTRAINT parted_r;
DELETE FROM parted WHERE n > 10;
ALTER TABLE parted VALIDATE CONSTRAINT parted_r;
SELECT conrelid::regclass::text, conname, convalidated FROM pg_constraint WHERE conname LIKE 'parted_r%' AND conrelid IN ('parted'::regclass, 'parted_1'::regclass) ORDER BY 1, 2;
ALTER TABLE parted ADD CONSTRAINT parted_n CHECK (n < 1000);
ALTER TABLE ONLY parted DROP CONSTRAINT parted_n;
SELECT conrelid::regclass::text, conislocal FROM pg_constraint WHERE conname = 'parted_n';
-- both fail: 0A000
CREATE UNLOGGED TABLE unl (a int) PARTITION BY RANGE (a);
-- both fail: 42809
ALTER TABLE parted SET UNLOGGED;
CREATE INDEX ON ONLY parted (n);
CREATE UNIQUE INDEX ON parted (n, tenant);

-- tables like others
CREATE TABLE likes (LIKE t INCLUDING ALL);
-- distribute: likes(id)
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'likes'::regclass ORDER BY 1;

-- rights
SELECT unnest(pg_get_acl('pg_class'::regclass, 't'::regclass, 0))::text ~ 'pg_monitor' ORDER BY 1;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON LARGE OBJECTS TO pg_monitor;
ALTER DEFAULT PRIVILEGES REVOKE SELECT ON LARGE OBJECTS FROM pg_monitor;
GRANT pg_signal_autovacuum_worker TO pg_monitor;
REVOKE pg_signal_autovacuum_worker FROM pg_monitor;

-- functions
SELECT uuid_extract_timestamp(uuidv7(interval '-1 hour')) < now() FROM t WHERE id < 3;
SELECT to_number('xiv', 'RN'), array_sort(ARRAY['b', w, NULL], false, true), reverse(int4send(v)) FROM t WHERE id = 4;
SELECT jsonb_strip_nulls(jsonb_build_array(v, NULL, w), strip_in_arrays => true) FROM t WHERE id = 4;
SELECT w, substring(w FROM 'w#"_#"' FOR '#'), regexp_count(string => w, pattern => 'w'), regexp_substr(string => w, pattern => 'w(.)', start => 1, "N" => 1, flags => '', subexpr => 1) FROM t WHERE id = 4;
SELECT ltree_is.n FROM (SELECT count(*) AS n FROM t WHERE lower(w) = casefold(w)) ltree_is;
SELECT pg_get_userbyid(relowner) = current_user, relallfrozen >= 0 FROM pg_class WHERE oid = 't'::regclass;
SELECT max(v::int2::bytea), min(ROW(v, w)) < ROW(1, 'x') FROM t WHERE id < 10;

-- vacuum
SET vacuum_truncate = off;
VACUUM t;
RESET vacuum_truncate;
ALTER TABLE t SET (vacuum_truncate = false, vacuum_max_eager_freeze_failure_rate = 0.1, autovacuum_vacuum_max_threshold = 1000);
VACUUM (ANALYZE, TRUNCATE false) t, parted;
-- same schema
ALTER TABLE t RESET (vacuum_truncate, vacuum_max_eager_freeze_failure_rate, autovacuum_vacuum_max_threshold);

-- OLD and NEW by other names; in EXPLAIN, views and functions
UPDATE one SET v = v + 1 WHERE id = 1 RETURNING WITH (OLD AS before, NEW AS after) before.v, after.v, after.v - before.v AS diff;
INSERT INTO r VALUES (5, 50) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING WITH (OLD AS o) o.v, v;
CREATE FUNCTION bump(int) RETURNS TABLE (a int, b int) LANGUAGE sql AS 'UPDATE t SET v = v + 1 WHERE id = $1 RETURNING old.v, new.v';
SELECT * FROM bump(5);
SELECT r.id, b.* FROM r, bump(r.id) b WHERE r.id BETWEEN 6 AND 7 ORDER BY 1;
WITH u AS (UPDATE t SET v = v * 10 WHERE v > 3 RETURNING old.v AS a, new.v AS b) SELECT sum(a), sum(b) FROM u;

-- keys of time with reference and single-shard tables, in partitions, with multiranges
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TABLE rates (kind int, at int4range, price int, CONSTRAINT rates_key PRIMARY KEY (kind, at WITHOUT OVERLAPS));
-- distribute: rates reference
CREATE TABLE sold (shop int, kind int, at int4range, FOREIGN KEY (kind, PERIOD at) REFERENCES rates (kind, PERIOD at));
-- distribute: sold(shop)
CREATE TABLE fixed (kind int, at int4multirange, UNIQUE (kind, at WITHOUT OVERLAPS));
-- distribute: fixed single
INSERT INTO rates VALUES (1, '[1,10)', 5), (1, '[10,20)', 6), (2, '[1,5)', 7);
-- both fail: 23P01
INSERT INTO rates VALUES (1, '[19,30)', 9);
INSERT INTO sold SELECT g, 1, int4range(g, g + 5) FROM generate_series(1, 12) g;
-- both fail: 23503
INSERT INTO sold VALUES (1, 2, '[3,8)');
-- both fail: 23503
DELETE FROM rates WHERE kind = 1 AND at @> 12;
UPDATE rates SET price = price + 1 WHERE kind = 1 RETURNING old.price, new.price, at;
SELECT s.shop, sum(r.price) FROM sold s JOIN rates r ON r.kind = s.kind AND r.at && s.at GROUP BY s.shop ORDER BY s.shop;
INSERT INTO fixed VALUES (1, '{[1,3), [5,7)}'), (1, '{[3,5)}');
-- both fail: 23P01
INSERT INTO fixed VALUES (1, '{[6,9)}');
CREATE TABLE phases (shop int, part int, at int4range, UNIQUE (shop, part, at WITHOUT OVERLAPS)) PARTITION BY LIST (part);
-- distribute: phases(shop)
CREATE TABLE phases_1 PARTITION OF phases FOR VALUES IN (1, 2);
INSERT INTO phases SELECT g, 1 + g % 2, '[1,5)' FROM generate_series(1, 9) g;
-- both fail: 23P01
INSERT INTO phases VALUES (3, 2, '[4,6)');
-- same schema
ALTER TABLE phases DROP CONSTRAINT phases_shop_part_at_key;

-- OLD and NEW behind views, with whole rows
CREATE VIEW few AS SELECT id, v, w FROM t WHERE id < 20 WITH CHECK OPTION;
UPDATE few SET v = v + 100 WHERE id = 8 RETURNING old.v, new.v, old IS DISTINCT FROM new;
INSERT INTO few VALUES (-1, 5, 'm') RETURNING old.id IS NULL, new.id, new.w;
DELETE FROM few WHERE id = -1 RETURNING old.id, new.id IS NULL, old IS NOT NULL;
MERGE INTO few USING one ON few.id = one.id WHEN MATCHED AND one.id < 4 THEN UPDATE SET w = 'merged' || one.v RETURNING merge_action(), old.w, new.w;
