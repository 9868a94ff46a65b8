-- INSERT .. ON CONFLICT into tables with triggers: which fire, in which order, with which rows.
--
-- distribute: t(id), a(id) with t, k(k), part(id) with t, bu(id) with t, mv(id) with t, one single, r reference, log single

CREATE TABLE log (seq bigserial, what text);
CREATE TABLE t (id int PRIMARY KEY, v text, n int NOT NULL DEFAULT 0 CHECK (n < 1000),
	g text GENERATED ALWAYS AS ('g' || v) STORED, updates int DEFAULT 0);
CREATE TABLE a (id int PRIMARY KEY, v text, g text GENERATED ALWAYS AS ('g' || v) STORED);
CREATE TABLE k (k int, gone int, v text, "odd ""name" int, ordinality int, tags text[], CONSTRAINT k_key PRIMARY KEY (k, v));
ALTER TABLE k DROP COLUMN gone;
ALTER TABLE k ADD COLUMN added text DEFAULT 'a';
CREATE UNIQUE INDEX k_lower ON k (k, lower(added)) WHERE ordinality > 10;
CREATE TABLE part (id int PRIMARY KEY, v text);
CREATE TABLE bu (id int PRIMARY KEY, v text, n int DEFAULT 0, updates int DEFAULT 0);
CREATE TABLE mv (id int PRIMARY KEY, v text, updates int DEFAULT 0);
CREATE TABLE one (id int PRIMARY KEY, v text, n int DEFAULT 0, updates int DEFAULT 0);
CREATE TABLE r (id int PRIMARY KEY, v text, n int DEFAULT 0, updates int DEFAULT 0);
-- on all nodes
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_upsert.log (what) VALUES (concat_ws(' ', TG_TABLE_NAME, TG_NAME, TG_WHEN, TG_LEVEL, TG_OP,
		'old=' || OLD::text, 'new=' || NEW::text));
	RETURN coalesce(NEW, OLD);
END $$;
-- on all nodes
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.updates := OLD.updates + 1;
	IF NEW.v = 'skip' THEN
		RETURN NULL;
	ELSIF NEW.v = 'move' THEN
		NEW.id := NEW.id + 1000;
	END IF;
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION upper_v() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = 'never' THEN
		RETURN NULL;
	END IF;
	NEW.v := upper(NEW.v);
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_upsert.log (what)
		SELECT TG_OP || ' sees ' || string_agg(x::text, ' ' ORDER BY id) FROM o_triggers_upsert.part x;
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id % 3 = 0 THEN
		NEW.n := (SELECT count(*) * 1000 + sum(n) FROM o_triggers_upsert.bu);
	END IF;
	RETURN NEW;
END $$;
-- on all nodes
CREATE FUNCTION changed_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_triggers_upsert.log (what) SELECT TG_OP || ' new ' || x::text FROM new_rows x ORDER BY id;
	RETURN NULL;
END $$;
CREATE TRIGGER touch BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER a_note BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b_note AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER s_before BEFORE INSERT OR UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER note AFTER INSERT OR UPDATE ON a FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER new_rows AFTER INSERT ON a REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER changed AFTER UPDATE ON a REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION changed_rows();
CREATE TRIGGER upper_v BEFORE INSERT OR UPDATE ON k FOR EACH ROW EXECUTE FUNCTION upper_v();
CREATE TRIGGER of_v AFTER UPDATE OF v ON k FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER when_odd AFTER UPDATE ON k FOR EACH ROW WHEN (NEW."odd ""name" > 1) EXECUTE FUNCTION note();
CREATE TRIGGER seen BEFORE INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION seen();
CREATE TRIGGER a_count BEFORE UPDATE ON bu FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER touch BEFORE UPDATE ON bu FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER touch BEFORE UPDATE ON mv FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER note AFTER INSERT OR UPDATE ON mv FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER touch BEFORE UPDATE ON one FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER note AFTER INSERT OR UPDATE ON one FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER touch BEFORE UPDATE ON r FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER note AFTER INSERT OR UPDATE ON r FOR EACH ROW EXECUTE FUNCTION note();

-- setup ends
INSERT INTO t (id, v) VALUES (1, 'a'), (2, 'b') ON CONFLICT DO NOTHING;
INSERT INTO t (id, v) VALUES (1, 'AA'), (5, 'e'), (2, 'x'), (6, 'f') ON CONFLICT (id)
	DO UPDATE SET v = excluded.g || t.g, n = t.n + 1 WHERE t.id <> 2 RETURNING *, tableoid::regclass;
INSERT INTO t (id, v) VALUES (1, 'AA'), (7, 'e'), (2, 'x') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO t (id, v) VALUES (8, 'AA'), (8, 'e') ON CONFLICT DO NOTHING RETURNING id, v;
INSERT INTO t (id, v) VALUES (9, 'AA'), (9, 'e') ON CONFLICT (id) DO UPDATE SET v = 'x';
INSERT INTO t (id, v) VALUES (1, 'AA'), (1, 'e') ON CONFLICT (id) DO UPDATE SET v = 'x';
INSERT INTO t (id, v) VALUES (1, 'AA'), (1, 'e') ON CONFLICT (id) DO UPDATE SET v = 'w' WHERE excluded.v = 'e';
INSERT INTO t (id, v) VALUES (1, 'AA'), (1, 'e') ON CONFLICT (id) DO UPDATE SET v = 'skip';
INSERT INTO t (id, v, n) VALUES (1, 'AA', 1000) ON CONFLICT (id) DO UPDATE SET v = 'x';
INSERT INTO t (id, v, n) VALUES (1, 'AA', 1) ON CONFLICT (id) DO UPDATE SET n = 1000;
INSERT INTO t (id, v, n) VALUES (1, 'AA', NULL) ON CONFLICT (id) DO UPDATE SET n = 1;
INSERT INTO t (id, v) VALUES (1, 'AA') ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET (v, n) = (SELECT 'sub', max(id) FROM t x WHERE x.id <= t.id + 2);
INSERT INTO t (id, v) VALUES (1, 'AA') ON CONFLICT (id) DO UPDATE SET v = (t).v || (excluded).v || row_to_json(t) || row_to_json(excluded);
INSERT INTO t (id, v) SELECT g, 'sel' FROM generate_series(4, 9) g ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.v <> 'e';
INSERT INTO t (id, v) SELECT id, v || 's' FROM t ORDER BY id ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO t (id, v) VALUES (9, '') ON CONFLICT (id) DO UPDATE SET v = 'move' RETURNING *;
INSERT INTO t (id, v) VALUES (1009, ''), (9, 'x') ON CONFLICT (id) DO UPDATE SET v = 'moved' RETURNING *;
INSERT INTO t (id, v) VALUES (9, ''), (1009, 'x') ON CONFLICT (id) DO UPDATE SET v = 'move' RETURNING *;
INSERT INTO t (id, v) VALUES (6, '') ON CONFLICT (id) DO UPDATE SET id = 66 RETURNING *;
INSERT INTO t (id, v) VALUES (1, '') ON CONFLICT (v) DO NOTHING;
WITH w AS (INSERT INTO t (id, v) VALUES (20, 'w'), (1, 'w') ON CONFLICT (id) DO UPDATE SET v = 'cte' RETURNING id, v) SELECT * FROM w ORDER BY 1;
-- params: 1, 'p'
-- params: 30, 'p'
-- params: 30, 'q'
INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET v = $2 || t.id RETURNING v;
BEGIN;
INSERT INTO t (id, v) VALUES (40, 'a'), (41, 'a') ON CONFLICT DO NOTHING;
SAVEPOINT s;
INSERT INTO t (id, v) VALUES (40, 'a'), (42, 'a') ON CONFLICT (id) DO UPDATE SET n = 7 RETURNING id, n;
ROLLBACK TO s;
INSERT INTO t (id, v) VALUES (40, 'a'), (42, 'a') ON CONFLICT (id) DO UPDATE SET n = 8 RETURNING id, n;
COMMIT;
SELECT * FROM t ORDER BY id;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO a VALUES (1, 'a'), (2, 'b');
INSERT INTO a SELECT g, 'v' || g FROM generate_series(1, 12) g ON CONFLICT (id) DO UPDATE SET v = excluded.g || a.g WHERE a.id <> 2;
INSERT INTO a SELECT g, 'w' || g FROM generate_series(10, 14) g ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO a SELECT g / 2, 'x' FROM generate_series(1, 40) g ON CONFLICT (id) DO UPDATE SET v = 'y';
INSERT INTO a SELECT g / 2, 'x' FROM generate_series(1, 40) g ON CONFLICT (id) DO NOTHING;
SELECT * FROM a ORDER BY id;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO k (k, v) VALUES (1, 'x'), (1, 'never') ON CONFLICT DO NOTHING;
INSERT INTO k (k, v, "odd ""name") VALUES (1, 'x', 3) ON CONFLICT (k, v) DO UPDATE SET "odd ""name" = excluded."odd ""name" * 2, ordinality = 50 RETURNING *;
INSERT INTO k (k, v, ordinality, added) VALUES (1, 'y', 11, 'A') ON CONFLICT (k, lower(added)) WHERE ordinality > 10 DO UPDATE SET v = excluded.v || k.v RETURNING *;
INSERT INTO k (k, v, tags) VALUES (1, 'yx', '{a,null}') ON CONFLICT ON CONSTRAINT k_key DO UPDATE SET tags = excluded.tags || k.v, v = 'z' WHERE k.ctid IS NOT NULL RETURNING *;
INSERT INTO k AS x (k, v) VALUES (1, 'z') ON CONFLICT (k, v) DO UPDATE SET tags = x.tags || (SELECT max(v) FROM k) RETURNING x.tags;
INSERT INTO k (k, v, ordinality) VALUES (2, 'b', 12), (2, 'c', 12) ON CONFLICT (k, v) DO NOTHING;
SELECT * FROM k ORDER BY k, v;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO part SELECT g, 'a' FROM generate_series(1, 3) g ON CONFLICT (id) DO UPDATE SET v = excluded.v || part.v;
INSERT INTO part SELECT g, 'b' FROM generate_series(2, 5) g ON CONFLICT (id) DO UPDATE SET v = excluded.v || part.v;
INSERT INTO part SELECT g, 'c' FROM generate_series(4, 7) g ON CONFLICT DO NOTHING;
SELECT * FROM part ORDER BY id;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO bu (id) SELECT 2 * g FROM generate_series(1, 30) g;
INSERT INTO bu (id, v) SELECT g, 'b' FROM generate_series(1, 40) g ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO bu (id, v) SELECT g, 'c' FROM generate_series(70, 30, -1) g ON CONFLICT ON CONSTRAINT bu_pkey DO UPDATE SET v = excluded.v WHERE bu.id <> 33;
INSERT INTO bu (id, v) SELECT g / 2, 'd' FROM generate_series(1, 30) g ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO bu (id, v) SELECT 100 + g / 2, 'd' FROM generate_series(1, 30) g ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO bu (id, v) VALUES (1, 'e'), (200, 'e'), (2, 'e'), (200, 'f') ON CONFLICT (id) DO UPDATE SET v = excluded.v;
SELECT * FROM bu ORDER BY id;
INSERT INTO mv VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO mv VALUES (1, 'a'), (4, 'd'), (2, 'b'), (5, 'e') ON CONFLICT (id) DO UPDATE SET v = 'move' RETURNING *;
INSERT INTO mv VALUES (3, 'a'), (4, 'd') ON CONFLICT (id) DO UPDATE SET id = mv.id + 3 RETURNING *;
INSERT INTO mv VALUES (6, 'a'), (8, 'd'), (5, 'x') ON CONFLICT (id) DO UPDATE SET id = mv.id + 3, v = 'g' RETURNING *;
INSERT INTO mv VALUES (6, 'h'), (9, 'a') ON CONFLICT (id) DO UPDATE SET v = 'skip' RETURNING *;
SELECT * FROM mv ORDER BY id;
SELECT what FROM log ORDER BY seq;
DELETE FROM log;

INSERT INTO one SELECT g, 'a' FROM generate_series(1, 3) g ON CONFLICT (id) DO UPDATE SET v = excluded.v || one.v;
INSERT INTO one SELECT g, 'b' FROM generate_series(2, 4) g ON CONFLICT (id) DO UPDATE SET v = excluded.v || one.v RETURNING *;
INSERT INTO one VALUES (3, 'c'), (3, 'd') ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO r SELECT g, 'a' FROM generate_series(1, 3) g ON CONFLICT (id) DO UPDATE SET v = excluded.v || r.v;
INSERT INTO r SELECT g, 'b' FROM generate_series(2, 4) g ON CONFLICT (id) DO UPDATE SET v = excluded.v || r.v WHERE r.id = 2 RETURNING *;
INSERT INTO r VALUES (3, 'c'), (3, 'd') ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO r VALUES (3, 'c'), (9, 'd') ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO r VALUES (9, 'x') ON CONFLICT (id) DO UPDATE SET v = 'move' RETURNING *;
SELECT * FROM one ORDER BY id;
SELECT * FROM r ORDER BY id;
SELECT what FROM log ORDER BY seq;
