-- Scans that run many times and find their kept rows by a hash table: comparisons of all kinds of types.
--
-- distribute: p(id), c(id) with p

CREATE DOMAIN code AS varchar(8);
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE p (id int PRIMARY KEY, i int, l bigint, n numeric, f float8, t text, v varchar(10), b char(6), d date, s timestamp, u uuid,
    j jsonb, a int[], x code, z text COLLATE no_case, y bool);
CREATE TABLE c (id int PRIMARY KEY, i int, l bigint, n numeric, f float8, t text, v varchar(10), b char(6), d date, s timestamp, u uuid,
    j jsonb, a int[], x code, z text COLLATE no_case, y bool, gone int, more int);

-- setup ends
INSERT INTO p SELECT g, nullif(g % 13, 5), g % 11, (g % 6) / 2.0, CASE g % 5 WHEN 0 THEN '-0' WHEN 1 THEN 'NaN' ELSE g % 5 END::float8,
    't' || g % 7, 'v' || g % 7, 'b' || g % 5, date '2024-01-01' + g % 9, timestamp '2024-01-01' + g % 9 * interval '1 day',
    md5((g % 6)::text)::uuid, jsonb_build_object('k', g % 4), ARRAY[g % 3, g % 2], 'x' || g % 4, CASE g % 4 WHEN 0 THEN 'Abc' WHEN 1 THEN 'aBC'
    ELSE 'q' || g % 4 END, g % 3 = 0 FROM generate_series(1, 40) g;
INSERT INTO c SELECT g, nullif(g % 13, 4), nullif(g % 11, 3), (g % 6) / 2.00, CASE g % 5 WHEN 0 THEN '0' WHEN 1 THEN 'NaN' ELSE g % 5 END::float8,
    nullif('t' || g % 7, 't3'), 'v' || g % 7, 'b' || g % 5, date '2024-01-01' + g % 9, timestamp '2024-01-01' + g % 9 * interval '1 day',
    md5((g % 6)::text)::uuid, jsonb_build_object('k', g % 4), ARRAY[g % 3, g % 2], 'x' || g % 4, CASE g % 4 WHEN 0 THEN 'ABC' WHEN 1 THEN 'abc'
    ELSE 'Q' || g % 4 END, g % 3 = 0, 1, g FROM generate_series(1, 200) g;
ALTER TABLE c DROP COLUMN gone;

SELECT id, (SELECT sum(c.more) FROM c WHERE c.i = p.i OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.i = p.l OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.l = p.i OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE p.i = c.l OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.n = p.n OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.n = p.i OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.f = p.f OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.f = p.f::float4 OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.t = p.t OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.t = 't' || p.l OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.v = p.v OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.b = p.b OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.b = 'b' || p.l || '   ' OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.d = p.d OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.d = p.s OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.s = p.s OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.u = p.u OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.j = p.j OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.a = p.a OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.x = p.x OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.z = p.z OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.z = p.z COLLATE "C" OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.y = p.y OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.i = p.i AND c.more > p.id AND c.t = p.t OFFSET 0) FROM p;
SELECT id, (SELECT sum(c.more) FROM c WHERE c.i = p.i AND 100 / nullif(c.more - p.id, 0) > 1 OFFSET 0) FROM p;
SELECT id, (SELECT c FROM c WHERE c.i = p.i ORDER BY more DESC LIMIT 1) FROM p;
SELECT id, (SELECT c.ctid IS NULL FROM c WHERE c.i = p.i ORDER BY more DESC LIMIT 1) FROM p;
SELECT id, (SELECT c.tableoid = 'c'::regclass FROM c WHERE c.i = p.i ORDER BY more DESC LIMIT 1) FROM p;
SELECT id, (SELECT more FROM c WHERE c.i = p.i ORDER BY more DESC LIMIT 1) FROM p;
SELECT p.id, l.* FROM p CROSS JOIN LATERAL (SELECT more, t FROM c WHERE c.l = p.l ORDER BY more DESC LIMIT 3) l;
SELECT p.id, l.* FROM p LEFT JOIN LATERAL (SELECT more, t FROM c WHERE c.l = p.l AND c.i > p.i ORDER BY more LIMIT 2) l ON true;
SELECT id FROM p WHERE EXISTS (SELECT FROM c WHERE c.i = p.i AND c.l > p.l OFFSET 0);
SELECT id FROM p WHERE id % 5 = ALL (SELECT c.more % 5 FROM c WHERE c.n = p.n AND c.t = p.t OFFSET 0);
BEGIN;
UPDATE p SET l = (SELECT max(more) FROM c WHERE c.i = p.i OFFSET 0);
SELECT id, l FROM p;
INSERT INTO c (id, i, more) SELECT id + 1000, (SELECT count(*) FROM c WHERE c.i = p.i OFFSET 0), 1 FROM p;
SELECT id, i FROM c WHERE id > 1000;
DELETE FROM p WHERE id > (SELECT min(more) FROM c WHERE c.t = p.t OFFSET 0) + 20;
SELECT count(*) FROM p;
ROLLBACK;
