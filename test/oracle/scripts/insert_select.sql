-- INSERT .. SELECT between all table types.
--
-- distribute: tree(tenant) shards 4, checked(id), src(id), dst(id) with src, near(id) with src, many(id) with src, lone single, flip(v) with none, txt(k) with none, sums(grp) with none
-- distribute: ref reference, ref2 reference, one single, two single, loc local, part(tenant) with none

CREATE TABLE src (id int PRIMARY KEY, grp int, v int, name text, arr int[]);
CREATE TABLE dst (id int NOT NULL, grp int, v int DEFAULT -1, name text DEFAULT 'none', PRIMARY KEY (id));
CREATE TABLE flip (v int NOT NULL, id int, note text);
CREATE TABLE txt (k text NOT NULL, n bigint, at timestamptz DEFAULT '2024-01-01 00:00+00');
CREATE TABLE sums (grp int PRIMARY KEY, total numeric, n int);
CREATE TABLE part (tenant bigint NOT NULL, id serial, body text);
CREATE TABLE ref (id int PRIMARY KEY, name text);
CREATE TABLE ref2 (id int, name text);
CREATE TABLE one (id int, name text);
CREATE TABLE two (id int, name text);
CREATE TABLE loc (id int, name text);
INSERT INTO src SELECT i, i % 6, i * 3 % 40, 'n' || i % 9, ARRAY[i, i * 2] FROM generate_series(1, 60) i;
INSERT INTO ref SELECT i, 'ref' || i FROM generate_series(1, 6) i;
INSERT INTO one SELECT i, 'one' || i FROM generate_series(1, 4) i;
INSERT INTO loc SELECT i, 'loc' || i FROM generate_series(1, 4) i;

CREATE TABLE near (id int PRIMARY KEY, b varchar(12) DEFAULT 'near', c smallint DEFAULT 5, d int GENERATED ALWAYS AS (c * 10) STORED, e date DEFAULT '2024-02-03');
CREATE TABLE many (id int, v int, b text, c text);
CREATE TABLE lone (id int, name text);
CREATE TABLE tree (tenant int, id int, parent int, body text, PRIMARY KEY (tenant, id), FOREIGN KEY (tenant, parent) REFERENCES tree);
CREATE TABLE checked (id int PRIMARY KEY, v int CHECK (v < 5000), twice int GENERATED ALWAYS AS (v * 2) STORED, n int GENERATED ALWAYS AS IDENTITY);
CREATE FUNCTION seen(i int) RETURNS int LANGUAGE sql STABLE AS $$ SELECT count(*)::int FROM o_insert_select.flip WHERE note LIKE 'looks%' $$;

-- setup ends
INSERT INTO dst SELECT id, grp, v, name FROM src WHERE id <= 20;
INSERT INTO dst (id, v) SELECT id, v FROM src WHERE id BETWEEN 21 AND 30 RETURNING id, v, name;
INSERT INTO dst (name, id) SELECT name, id FROM src WHERE id = 31;
INSERT INTO dst SELECT id FROM src WHERE id = 32 RETURNING *;
SELECT * FROM dst WHERE id > 18 ORDER BY id;
INSERT INTO dst SELECT * FROM dst;
INSERT INTO dst SELECT id, 0, 0, 'moved' FROM src WHERE id > 28 ON CONFLICT (id) DO NOTHING;
INSERT INTO dst SELECT id, 1, 1 FROM src WHERE id > 55 ON CONFLICT (id) DO UPDATE SET v = dst.v + 100, name = excluded.name RETURNING *;
INSERT INTO dst SELECT id + 1000, grp, v, name FROM dst WHERE id < 10;
INSERT INTO dst SELECT id + 5000, grp, v, name FROM dst ORDER BY id LIMIT 3 RETURNING id;
SELECT count(*), sum(id), sum(v) FROM dst;
INSERT INTO flip SELECT v, id, 'all' FROM src;
INSERT INTO flip (id, v) SELECT v, id FROM src WHERE grp = 2;
INSERT INTO flip SELECT v, max(id), 'agg' FROM src GROUP BY v HAVING count(*) > 1;
INSERT INTO flip SELECT count(*), sum(v), 'one' FROM src;
INSERT INTO flip SELECT a.id, b.id, 'join' FROM src a JOIN dst b ON a.id = b.id WHERE a.grp = 3 RETURNING v, id;
INSERT INTO flip SELECT a.v, b.id, 'cross' FROM src a JOIN src b ON a.v = b.id WHERE a.id < 15;
INSERT INTO flip SELECT f.v + 100, f.id, 'self' FROM flip f WHERE note = 'one';
INSERT INTO flip SELECT DISTINCT grp, NULL::int, 'distinct' FROM src;
INSERT INTO flip SELECT id, row_number() OVER (ORDER BY v DESC, id), 'window' FROM src WHERE id < 8;
INSERT INTO flip SELECT id, grp, 'union' FROM src WHERE id < 4 UNION ALL SELECT id, 0, 'union' FROM ref;
INSERT INTO flip SELECT u, id, 'srf' FROM src, unnest(arr) u WHERE id < 5;
INSERT INTO flip SELECT generate_series(1, 3), 0, 'series';
INSERT INTO flip SELECT id, (SELECT count(*) FROM dst d WHERE d.id = s.id), 'scalar' FROM src s WHERE id < 6;
INSERT INTO flip SELECT v, id, 'lateral' FROM src s, LATERAL (SELECT max(v) AS m FROM dst WHERE grp = s.grp) x WHERE s.v = x.m;
INSERT INTO flip VALUES (NULL, 1, 'null');
INSERT INTO flip SELECT nullif(v, 3), 1, 'null' FROM src;
SELECT note, count(*), sum(v), sum(id) FROM flip GROUP BY note ORDER BY note;
INSERT INTO txt (k, n) SELECT name, count(*) FROM src GROUP BY name;
INSERT INTO txt SELECT id, id FROM src WHERE id < 4;
INSERT INTO txt SELECT v::text, v, now() FROM src WHERE id = 9;
SELECT k, n FROM txt ORDER BY k, n;
INSERT INTO sums SELECT grp, sum(v), count(*) FROM src GROUP BY grp;
INSERT INTO sums SELECT grp, sum(v), count(*) FROM src GROUP BY grp ON CONFLICT (grp) DO UPDATE SET total = sums.total + excluded.total, n = excluded.n + 1;
SELECT * FROM sums ORDER BY grp;
INSERT INTO sums SELECT grp, v FROM src WHERE id < 10;
INSERT INTO sums SELECT 6 + grp, avg(v) FROM src WHERE grp = 2 GROUP BY grp;
SELECT grp, round(total, 4) FROM sums WHERE grp > 5;
INSERT INTO part (tenant, body) SELECT id % 4, name FROM src;
SELECT tenant, count(*), count(DISTINCT id) FROM part GROUP BY tenant ORDER BY tenant;
INSERT INTO part SELECT 9, id, name FROM ref RETURNING tenant, id;
WITH top AS (SELECT grp, max(v) AS m FROM src GROUP BY grp) INSERT INTO dst SELECT 2000 + s.id, s.grp, s.v, 'top' FROM src s JOIN top t ON t.grp = s.grp AND t.m = s.v RETURNING id;
INSERT INTO dst WITH w AS (SELECT * FROM src WHERE id = 7) SELECT id + 3000, grp, v, name FROM w;
WITH gone AS (DELETE FROM dst WHERE id > 3000 RETURNING *) INSERT INTO flip SELECT id, grp, 'gone' FROM gone;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) INSERT INTO dst SELECT 4000 + i, i, i, 'rec' FROM n;
SELECT id, name FROM dst WHERE id > 2000 ORDER BY id;

-- Reference, single-shard, local.
INSERT INTO ref2 SELECT * FROM ref;
INSERT INTO ref2 SELECT id, name FROM src WHERE id < 4 RETURNING *;
INSERT INTO ref2 SELECT grp, max(name) FROM src GROUP BY grp;
INSERT INTO ref2 SELECT * FROM one;
INSERT INTO ref2 SELECT * FROM loc;
INSERT INTO ref2 SELECT id, name || (random() * 0)::int FROM ref;
SELECT count(*), sum(id), min(name), max(name) FROM ref2;
INSERT INTO dst SELECT 7000 + id, id, id, name FROM ref;
INSERT INTO dst SELECT 7100 + id, id, id, name FROM one RETURNING id;
INSERT INTO dst SELECT 7200 + id, id, id, name FROM loc RETURNING id;
INSERT INTO dst SELECT 7300 + l.id, s.grp, s.v, r.name FROM loc l JOIN src s ON s.id = l.id JOIN ref r ON r.id = s.id;
SELECT id, name FROM dst WHERE id > 7000 ORDER BY id;
INSERT INTO one SELECT id, name FROM src WHERE id > 57 RETURNING *;
INSERT INTO one SELECT * FROM one;
INSERT INTO two SELECT * FROM one;
INSERT INTO two SELECT id, name FROM loc;
INSERT INTO two SELECT id, name FROM ref;
SELECT count(*), sum(id) FROM one;
SELECT count(*), sum(id) FROM two;
INSERT INTO loc SELECT id, name FROM src WHERE grp = 4;
INSERT INTO loc SELECT id, name FROM two;
INSERT INTO loc SELECT s.grp, r.name FROM src s JOIN ref r ON r.id = s.grp GROUP BY 1, 2 RETURNING id;
SELECT count(*), sum(id) FROM loc;

-- Rows that stay in their shard group.
INSERT INTO near (b, id, c) SELECT name, id, v FROM src WHERE id <= 40;
INSERT INTO near (id) SELECT id FROM src WHERE id > 55 RETURNING *;
SELECT count(*), sum(id), sum(c), min(b), max(b), sum(d), min(e) FROM near;
INSERT INTO near (c, id) SELECT v + 100, id FROM src WHERE id < 50 ON CONFLICT (id) DO UPDATE SET c = excluded.c + near.c, b = near.b || '!' WHERE near.id % 2 = 0 RETURNING id, c, d;
INSERT INTO near (id, c) SELECT id, 1 FROM src ON CONFLICT DO NOTHING;
INSERT INTO near (id, c) SELECT s.id, 1 FROM src s JOIN src t USING (id), generate_series(1, 2) ON CONFLICT (id) DO UPDATE SET c = 0;
INSERT INTO near (id, c) SELECT id, 1 FROM src WHERE id = 7;
INSERT INTO near (id, c) SELECT id, 1 FROM src WHERE id IN (7, 8) ON CONFLICT (id) DO UPDATE SET b = 'seven or eight';
INSERT INTO near (id, b, c) SELECT id, 'long ' || repeat(name, 9), 1 FROM src ON CONFLICT (id) DO UPDATE SET b = excluded.b;
INSERT INTO near (id, b, c) SELECT id, 'wide ' || name, 200000 FROM src WHERE id = 9 ON CONFLICT (id) DO UPDATE SET c = excluded.c;
SELECT id, b, c, d, e FROM near ORDER BY id;
INSERT INTO many SELECT s.id, s.grp, n.b, r.name FROM src s JOIN near n ON n.id = s.id LEFT JOIN ref r ON r.id = s.grp;
INSERT INTO many (id, v) SELECT id, count(*) FROM many GROUP BY id HAVING count(*) > 0;
INSERT INTO many (v, id) SELECT m.v, m.id FROM many m WHERE EXISTS (SELECT FROM src WHERE src.id = m.id AND src.v > 20);
INSERT INTO many (id, v) SELECT id, (SELECT max(v) FROM src) FROM src WHERE id < 4;
INSERT INTO many (id, v) SELECT id, (SELECT max(v) FROM src t WHERE t.id = s.id) FROM src s WHERE id < 4;
INSERT INTO many (id, v) SELECT id, v FROM (SELECT id, max(v) AS v FROM src GROUP BY id) x WHERE id > 50;
INSERT INTO many (id, v) SELECT grp, id FROM src WHERE id < 9;
INSERT INTO many (id, v) SELECT s.id, m.v FROM src s LEFT JOIN many m ON m.id = s.id AND m.v > 30;
INSERT INTO many (id, v) SELECT m.id, 3 FROM src s LEFT JOIN near m ON m.id = s.id WHERE s.id < 60 AND m.id IS NOT NULL;
WITH w AS (SELECT id, v FROM src WHERE id > 58) INSERT INTO many (id, v) SELECT id, v FROM w;
WITH w AS (INSERT INTO many (id, v) SELECT id, 77 FROM src WHERE id < 3 RETURNING id) SELECT count(*), sum(id) FROM w;
-- params: 5, 6
-- params: 50, NULL
INSERT INTO many (id, v, b) SELECT id, v + $1, $2::text FROM src WHERE id = $1;
-- params: 5
INSERT INTO many (id, v, b) SELECT id, v, now()::text FROM src WHERE id < $1;
SELECT count(*), sum(id), sum(v), count(b), count(c) FROM many;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO many (id, v) SELECT id, v FROM src;
INSERT INTO many (id, v) SELECT id, -v FROM many WHERE v IS NOT NULL;
SELECT count(*), sum(v) FROM many;
ROLLBACK;
INSERT INTO lone SELECT id, name FROM one;
INSERT INTO lone SELECT * FROM lone RETURNING *;

-- Many rows.
INSERT INTO flip SELECT i, i % 7, 'series many' FROM generate_series(1, 3000) i;
INSERT INTO txt SELECT 'key ' || i FROM generate_series(1, 3000) i;
INSERT INTO part (tenant, body) SELECT i % 50, repeat('x', 40) FROM generate_series(1, 3000) i;
INSERT INTO two SELECT i, repeat('y', 40) FROM generate_series(1, 3000) i;
INSERT INTO ref2 SELECT 100 + i, repeat('z', 40) FROM generate_series(1, 3000) i;
INSERT INTO flip SELECT f.v, f.id, 'copied' FROM flip f WHERE note = 'series many';
INSERT INTO flip SELECT f.v, (random() * 0)::int, 'joined' FROM flip f JOIN txt t ON t.k = 'key ' || f.v WHERE note = 'copied';
INSERT INTO flip SELECT id, v, 'turned' FROM flip WHERE note = 'series many' AND id <> 3;
WITH w AS (INSERT INTO flip SELECT i, i, 'in a CTE' FROM generate_series(1, 3000) i) SELECT count(*) FROM flip WHERE note = 'in a CTE';
WITH gone AS (DELETE FROM flip WHERE note = 'joined' RETURNING *) INSERT INTO flip SELECT v, id, 'gone again' FROM gone;
SELECT note, count(*), sum(v), sum(id), count(DISTINCT v) FROM flip WHERE note IN ('series many', 'copied', 'joined', 'turned', 'in a CTE', 'gone again') GROUP BY note ORDER BY note;
SELECT count(*), min(at), max(k) FROM txt WHERE k LIKE 'key%';
SELECT count(DISTINCT id), sum(length(body)) FROM part WHERE body LIKE 'xxx%';
SELECT (SELECT count(*) FROM two WHERE name LIKE 'yyy%'), (SELECT count(*) FROM ref2 WHERE name LIKE 'zzz%');
SELECT seen(2500), count(*) FROM flip WHERE note = 'series many';
INSERT INTO flip SELECT i, seen(i), repeat('looks', 400) FROM generate_series(1, 60) i;
SELECT count(DISTINCT id) FROM flip WHERE note LIKE 'looks%';

-- Many rows of which one can't be stored.
INSERT INTO dst SELECT 10000 + i % 2999, i, i FROM generate_series(1, 3000) i;
INSERT INTO flip SELECT nullif(i, 2500), i, 'null' FROM generate_series(1, 3000) i;
INSERT INTO flip SELECT i, 1 / (i - 2999), 'zero' FROM generate_series(1, 3000) i;
INSERT INTO checked (id, v) SELECT i, i FROM generate_series(1, 6000) i;
INSERT INTO checked (id, v) SELECT i, i FROM generate_series(1, 4000) i;
SELECT count(*), sum(twice), count(DISTINCT n), min(n) < 0 FROM checked;
INSERT INTO checked (id, v, n) SELECT i, i, i FROM generate_series(1, 4000) i;
INSERT INTO checked (id, v, n) OVERRIDING SYSTEM VALUE SELECT i, i, -i FROM generate_series(4001, 4999) i;
SELECT count(*), sum(twice), count(DISTINCT n), min(n) < 0 FROM checked;
BEGIN;
INSERT INTO flip SELECT i, i, 'kept' FROM generate_series(1, 3000) i;
SAVEPOINT s;
INSERT INTO flip SELECT nullif(i, 2500), i, 'lost' FROM generate_series(1, 3000) i;
ROLLBACK TO s;
INSERT INTO flip SELECT i, i, 'kept' FROM generate_series(1, 3000) i;
SELECT note, count(*) FROM flip WHERE note IN ('kept', 'lost') GROUP BY note;
COMMIT;
SELECT note, count(*) FROM flip WHERE note IN ('kept', 'lost') GROUP BY note;

-- Rows that refer to later ones.
INSERT INTO tree SELECT i % 32, i, CASE WHEN i <= 7968 THEN i + 32 END, repeat('x', 350) FROM generate_series(1, 8000) i;
SELECT count(*), sum(parent) FROM tree;

-- Failures leave nothing behind.
INSERT INTO flip SELECT id, 1 / (id - 30), 'zero' FROM src;
INSERT INTO flip SELECT name, 1 FROM src;
INSERT INTO dst SELECT id, grp, v, name FROM src WHERE id IN (1, 90);
INSERT INTO sums SELECT 100, 1 UNION ALL SELECT 100, 2;
INSERT INTO ref SELECT id, name FROM src WHERE id > 5;
SELECT (SELECT count(*) FROM flip WHERE note = 'zero'), (SELECT count(*) FROM sums WHERE grp = 100), (SELECT count(*) FROM ref);
