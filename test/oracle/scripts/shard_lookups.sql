-- Joins by the distribution column in tasks for all shards of a node, which look each value up in one shard.

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');

CREATE TABLE big (id int PRIMARY KEY, n int, label text);
-- distribute: big(id)
CREATE TABLE part (id int, seq int, v int, PRIMARY KEY (id, seq));
-- distribute: part(id) with big
CREATE TABLE wide (id bigint, v int);
-- distribute: wide(id)
CREATE TABLE few (id bigint, w int);
-- distribute: few(id) with wide
CREATE TABLE named (name text, v int);
-- distribute: named(name)
CREATE TABLE called (name text, w int);
-- distribute: called(name) with named
CREATE TABLE moods (m mood, n int, v int);
-- distribute: moods(m)
CREATE TABLE picks (a int, b bigint, name text, m mood, k int);
-- distribute: picks reference

INSERT INTO big SELECT g, g % 50, 'label ' || g FROM generate_series(1, 12000) g;
INSERT INTO part SELECT g, s, g * s FROM generate_series(1, 6000) g, generate_series(1, 2) s;
INSERT INTO wide SELECT g, g % 7 FROM generate_series(1, 12000) g;
INSERT INTO wide SELECT NULL, 1 FROM generate_series(1, 5);
INSERT INTO few SELECT g * 3000, g FROM generate_series(1, 5) g;
INSERT INTO few VALUES (NULL, 6);
INSERT INTO named SELECT 'name ' || g, g FROM generate_series(1, 12000) g;
INSERT INTO called SELECT 'name ' || g * 1000, g FROM generate_series(1, 14) g;
INSERT INTO moods SELECT (enum_range(NULL::mood))[1 + g % 3], g, g FROM generate_series(1, 3000) g;
INSERT INTO picks SELECT g, g * 100, 'name ' || g, (enum_range(NULL::mood))[1 + g % 3], g FROM generate_series(1, 20) g;
INSERT INTO picks VALUES (NULL, NULL, NULL, NULL, 21), (-5, 1 << 31, 'nobody', 'ok', 22);
CREATE INDEX ON wide (id);
CREATE INDEX ON named (name);
CREATE INDEX ON moods (m, n);
ANALYZE big, part, wide, few, named, called, moods, picks;
-- setup ends

SELECT big.id, part.seq, part.v FROM big JOIN part USING (id) WHERE big.n = 7 AND big.id < 900 ORDER BY 1, 2;
SELECT count(*), sum(part.v) FROM big LEFT JOIN part ON part.id = big.id AND part.seq = 2 WHERE big.n = 3;
SELECT count(*) FROM big WHERE n = 4 AND EXISTS (SELECT FROM part WHERE part.id = big.id AND seq = 1);
SELECT count(*) FROM big WHERE n = 4 AND NOT EXISTS (SELECT FROM part WHERE part.id = big.id AND seq = 1);
SELECT id, (SELECT sum(v) FROM part WHERE part.id = big.id) FROM big WHERE n = 9 AND id % 1000 = 9 ORDER BY 1;
SELECT big.id, x.v FROM big, LATERAL (SELECT v FROM part WHERE part.id = big.id ORDER BY seq DESC LIMIT 1) x
 WHERE n = 11 AND big.id < 600 ORDER BY 1;
SELECT a.id, c.v FROM big a JOIN part b ON b.id = a.id JOIN part c ON c.id = b.id AND c.seq <> b.seq
 WHERE a.n = 1 AND a.id < 1000 ORDER BY 1, 2;

-- a reference table's values, of other types
SELECT k, big.label FROM picks JOIN big ON big.id = picks.a ORDER BY 1;
SELECT k, big.label FROM picks JOIN big ON big.id = picks.b ORDER BY 1;
SELECT k, wide.v FROM picks JOIN wide ON wide.id = picks.a ORDER BY 1;
SELECT k, wide.v FROM picks JOIN wide ON wide.id = picks.a + 1 OR (wide.id = picks.a AND false) ORDER BY 1;
SELECT k, named.v FROM picks JOIN named USING (name) ORDER BY 1;
SELECT k, count(*), sum(moods.v) FROM picks JOIN moods ON moods.m = picks.m AND moods.n = picks.k GROUP BY k ORDER BY 1;
SELECT k, wide.v FROM picks JOIN wide ON wide.id IN (picks.a, picks.b) ORDER BY 1, 2;

-- values that are null, and rows without one
SELECT few.w, wide.v FROM few JOIN wide USING (id) ORDER BY 1, 2;
SELECT few.w, wide.v FROM few LEFT JOIN wide USING (id) ORDER BY 1, 2;
SELECT count(*) FROM few JOIN wide ON wide.id IS NOT DISTINCT FROM few.id;
SELECT called.w, named.v FROM called JOIN named USING (name) ORDER BY 1;
SELECT called.w, named.v FROM called JOIN named ON named.name = called.name || '' ORDER BY 1;

-- params: 5
-- params: 7
-- params: NULL
SELECT count(*), sum(part.v) FROM big JOIN part USING (id) WHERE big.n = $1;

-- few rows of many are asked for, and a plan is scanned again for each outer row
SELECT big.id, part.seq FROM big JOIN part USING (id) WHERE n = 20 ORDER BY 1, 2 LIMIT 5;
SELECT k, (SELECT count(*) FROM big JOIN part USING (id) WHERE big.n = picks.k AND big.id < 2000) FROM picks ORDER BY 1;
