-- Values of many types that are not the key: arrays, composites, json, NULLs, edge values, large ones.
--
-- distribute: v(id), e(id) with v, b(id) with none, ref reference, one single, loc local

CREATE TYPE point3 AS (x int, y numeric, label text);
CREATE TYPE nested AS (p point3, ps point3[], note varchar(10));
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE TABLE v (id int PRIMARY KEY, i2 smallint, i8 bigint, n numeric(20,4), f4 real, f8 float8, t text, vc varchar(5), c char(4),
	by bytea, ts timestamp, tz timestamptz, d date, iv interval, bo boolean, u uuid, j json, jb jsonb, ai int[], at text[],
	p point3, ne nested, co color, em email, ir int4range, ip inet, bi bit(3), vb bit varying(6), m money, pt point, xm xml, ts_v tsvector);
CREATE TABLE e (id int PRIMARY KEY, f8 float8, n numeric, d date, ts timestamptz);
CREATE TABLE b (id int PRIMARY KEY, big text, raw bytea, doc jsonb);
CREATE TABLE ref (id int PRIMARY KEY, p point3, co color[]);
CREATE TABLE one (id int, p point3);
CREATE TABLE loc (id int, p point3);

-- setup ends
INSERT INTO v VALUES (1, 1, 2, 3.5, 0.5, 0.25, 'text', 'vc', 'c', '\xff00', '2024-01-01 10:00', '2024-01-01 10:00+00', '2024-01-01', '1 day',
	true, '11111111-1111-1111-1111-111111111111', '{"a" : 1}', '{"a" : 1}', '{1,2}', '{a,NULL,"x y"}', '(1,2.5,lab)', '("(1,2,)","{""(3,4,x)"",NULL}",n)',
	'red', 'a@b', '[1,5)', '10.1.2.3', '101', '1101', 12.34, '(1,2)', '<a>1</a>', 'fat cat');
INSERT INTO v (id) VALUES (2);
INSERT INTO v SELECT 3, NULL, NULL, NULL, NULL, NULL, '', '', '', '', NULL, NULL, NULL, NULL, false, NULL, 'null', 'null', '{}', '{}', ROW(NULL, NULL, NULL)::point3, ROW(NULL, '{}', '')::nested, 'blue', NULL, 'empty', '::/0', '000', '', 0, '(0,0)', NULL, '';
INSERT INTO v (id, p, ne, ai, at) VALUES (4, ROW(1, 2, 'r'), ROW(ROW(5, 6, NULL)::point3, ARRAY[ROW(7, 8, 'q')::point3], 'z'), ARRAY[[1, 2], [3, 4]], ARRAY['{', '"', '\', '', 'null']);
SELECT * FROM v WHERE id = 1;
SELECT * FROM v WHERE id = 2;
SELECT id, i2, i8, n, f4, f8, t, vc, c, by FROM v ORDER BY id;
SELECT id, ts, tz, d, iv, bo, u, j, jb FROM v ORDER BY id;
SELECT id, ai, at, p, ne, co, em, ir FROM v ORDER BY id;
SELECT id, ip, bi, vb, m, pt, xm, ts_v FROM v ORDER BY id;
SELECT v FROM v ORDER BY id;
SELECT id, (p).x, (p).label, (ne).p, ((ne).p).y, (ne).ps[1], ((ne).ps[1]).label FROM v ORDER BY id;
SELECT id, p IS NULL, p IS NOT NULL, ne IS NULL FROM v ORDER BY id;
SELECT id, ai[1], ai[1:1], ai[2][1], array_dims(ai), cardinality(at) FROM v ORDER BY id;
SELECT id, jb -> 'a', jb ->> 'a', j ->> 'a', jsonb_typeof(jb) FROM v ORDER BY id;
SELECT id, row_to_json(p), to_jsonb(ne) FROM v ORDER BY id;
SELECT id, t || '|' || vc || '|' || c || '|', length(c), octet_length(by) FROM v ORDER BY id;
SELECT id FROM v WHERE p = ROW(1, 2, 'r')::point3;
SELECT id FROM v WHERE co = 'red' OR em IS NOT NULL;
SELECT id FROM v WHERE ts_v @@ 'cat'::tsquery;
SELECT id FROM v WHERE ROW(i2, i8) IS NULL ORDER BY id;
SELECT co, count(*) FROM v GROUP BY co ORDER BY co;
SELECT p, count(*) FROM v GROUP BY p ORDER BY p;
SELECT min(co), max(ai), max(ip), min(u::text) FROM v;
SELECT max(p) FROM v;
SELECT array_agg(p ORDER BY id), array_agg(co ORDER BY id) FROM v;
SELECT jsonb_agg(v.p ORDER BY id) FROM v;
SELECT DISTINCT (p).label FROM v ORDER BY 1;
SELECT a.id, b.id FROM v a JOIN v b ON a.p IS NOT DISTINCT FROM b.p ORDER BY 1, 2;
UPDATE v SET p.x = 77, p.label = 'sub' WHERE id = 1 RETURNING p;
UPDATE v SET ne.p.y = 9 WHERE id = 4 RETURNING ne;
UPDATE v SET ai[3] = 5, at = at || 'more'::text WHERE id IN (1, 3) RETURNING id, ai, at;
UPDATE v SET jb = jb || '{"b": 2}', iv = iv * 2, n = n / 3 WHERE id = 1 RETURNING jb, iv, n;
UPDATE v SET (t, vc) = (SELECT 'sel', 'ect') WHERE id = 2 RETURNING t, vc;
INSERT INTO v (id, vc) VALUES (5, 'too long');
INSERT INTO v (id, em) VALUES (5, 'no at sign');
INSERT INTO v (id, co) VALUES (5, 'pink');
INSERT INTO v (id, n) VALUES (5, 1e17);
INSERT INTO v (id, j) VALUES (5, '{bad');
INSERT INTO v (id, bi) VALUES (5, '11');
INSERT INTO v (id, t) VALUES (5, E'tab\t newline\n quote'' backslash\\ euro€ 𝄞'), (6, 'NULL'), (7, ' '), (8, E'\x01\x7f');
SELECT id, t, length(t) FROM v WHERE id > 4 ORDER BY id;
SELECT id FROM v WHERE t = E'tab\t newline\n quote'' backslash\\ euro€ 𝄞';
SELECT count(*) FROM v WHERE t = 'it''s $1 $$ /* no */ -- comment';

-- Edge values.
INSERT INTO e VALUES (1, 'NaN', 'NaN', 'infinity', 'infinity'), (2, 'Infinity', 'Infinity', '-infinity', '-infinity'), (3, '-Infinity', '-Infinity', '4714-11-24 BC', '4714-11-24 00:00:00+00 BC'),
	(4, 0, 0, '5874897-12-31', '294276-12-31 23:59:59.999999+00'), (5, '-0', -0.0000, 'epoch', 'epoch'), (6, 1.7976931348623157e308, 1e-100, NULL, NULL), (7, 5e-324, 123456789012345678901234567890.123456789, '2000-02-29', '2000-02-29 00:00:00.000001+00');
SELECT * FROM e ORDER BY id;
SELECT id FROM e ORDER BY f8, id;
SELECT id FROM e ORDER BY n DESC, id;
SELECT id FROM e ORDER BY d NULLS FIRST, ts, id;
SELECT f8 + 0 AS f8, count(*) FROM e GROUP BY f8 ORDER BY f8;
SELECT DISTINCT n + 0.0000 AS n FROM e WHERE id IN (4, 5);
SELECT max(f8), min(f8), max(n), min(n), max(d), min(d), max(ts), min(ts) FROM e;
SELECT sum(n) FROM e WHERE id IN (4, 5, 7);
-- (avg of 1.79e308 and others overflows, or not if NaN comes first)
SELECT sum(f8), sum(n) FROM e;
SELECT avg(f8) FROM e WHERE id <> 6;
SELECT id FROM e WHERE f8 = 'NaN' OR n = 'Infinity' OR d = '-infinity' ORDER BY id;
SELECT id FROM e WHERE f8 > 1e300 ORDER BY id;
SELECT id, f8::numeric FROM e WHERE id IN (1, 4, 5) ORDER BY id;
SELECT id, f8 * 10 FROM e WHERE id = 6;
SELECT id, isfinite(d), isfinite(ts) FROM e ORDER BY id;
SELECT (-9223372036854775808)::bigint::text, (-32768)::smallint, count(*) FROM e;

-- Large ones.
INSERT INTO b SELECT i, repeat(md5(i::text), 4000), decode(repeat(md5(i::text), 3000), 'hex'), jsonb_build_object('k', repeat('v' || i, 20000)) FROM generate_series(1, 12) i;
SELECT id, length(big), md5(big), octet_length(raw), md5(raw), length(doc ->> 'k') FROM b ORDER BY id;
SELECT md5(string_agg(big, '' ORDER BY id)), sum(length(big)) FROM b;
SELECT count(*) FROM b x JOIN b y ON x.big = y.big;
SELECT big = (SELECT repeat(md5('3'), 4000)) FROM b WHERE id = 3;
SELECT id FROM b WHERE big = repeat(md5('7'), 4000);
UPDATE b SET big = big || big WHERE id = 5 RETURNING length(big);
INSERT INTO b (id, big) SELECT id + 100, big FROM b WHERE id < 3 RETURNING id, length(big);
SELECT md5(b::text) FROM b ORDER BY id;
SELECT array_length(array_agg(big), 1), max(length(doc::text)) FROM b;

-- Composites across table types.
INSERT INTO ref VALUES (1, ROW(1, 1, 'ref'), '{red,blue}'), (2, NULL, '{}');
INSERT INTO one SELECT id, p FROM v WHERE id < 5;
INSERT INTO loc SELECT id, p FROM one WHERE p IS NOT NULL;
SELECT r.id, r.p, r.co, o.p, l.p FROM ref r JOIN one o USING (id) LEFT JOIN loc l USING (id) ORDER BY 1;
SELECT v.id, v.p, ref.p FROM v JOIN ref ON v.co = ANY (ref.co) ORDER BY 1, 2;
SELECT id, p FROM v WHERE p IN (SELECT p FROM one) ORDER BY id;
SELECT x FROM (SELECT v.p AS x FROM v UNION SELECT p FROM ref) q ORDER BY x;
SELECT coalesce(l.p, ROW(0, 0, 'none')::point3) FROM v LEFT JOIN loc l ON l.id = v.id ORDER BY v.id;
