-- COPY in and out: text, CSV and binary, options, column lists, WHERE, errors.
--
-- distribute: t(id), typed(k) with none, gen(k) with none, ref reference, one single, loc local

CREATE TABLE t (id int PRIMARY KEY, a text, b numeric, c timestamptz);
CREATE TABLE typed (k text NOT NULL, arr int[], doc jsonb, raw bytea, f float8, d date);
CREATE TABLE gen (k int NOT NULL, v int DEFAULT 5, g int GENERATED ALWAYS AS (k + v) STORED, s serial, CHECK (v < 100));
CREATE TABLE ref (id int PRIMARY KEY, name text);
CREATE TABLE one (id int, name text);
CREATE TABLE loc (id int, name text);

-- setup ends
COPY t FROM STDIN;
1	one	1.5	2024-01-01 00:00:00+00
2	\N	\N	\N
3	tab\there	-3	infinity
4	new\nline	1e3	2024-06-01 12:00:00+02
5	back\\slash	NaN	\N
6		0	\N
7	ünï€	1	\N
8	\\N	2	\N
\.
SELECT * FROM t ORDER BY id;
COPY t TO STDOUT;
COPY t (id, a) TO STDOUT;
COPY t TO STDOUT WITH (FORMAT csv);
COPY t TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';', NULL 'null', FORCE_QUOTE (a));
COPY t (a, id) TO STDOUT WITH (FORMAT csv, QUOTE '''', ESCAPE '\', FORCE_QUOTE *);
COPY t TO STDOUT WITH (DELIMITER '|', NULL '');
COPY t TO STDOUT WITH (HEADER);
COPY (SELECT id, upper(a) FROM t ORDER BY id) TO STDOUT;
-- ordered
COPY (SELECT id, a FROM t ORDER BY id DESC LIMIT 3) TO STDOUT WITH (FORMAT csv, HEADER true);
COPY (SELECT count(*), sum(b) FROM t WHERE id < 5) TO STDOUT;
COPY (SELECT * FROM t WHERE id = 4) TO STDOUT;
COPY (DELETE FROM t WHERE id = 8 RETURNING id, a) TO STDOUT;
COPY (INSERT INTO t (id, a) VALUES (80, 'copied') RETURNING *) TO STDOUT WITH (FORMAT csv);
COPY (UPDATE t SET a = 'up' WHERE id IN (6, 80) RETURNING id, a) TO STDOUT;
COPY t FROM STDIN WITH (FORMAT csv);
10,ten,10.5,2024-01-01 10:00:00+00
11,"quoted, ""twice""",,
12,"multi
line",3,
13,"",1,
14,,1,
\.
COPY t FROM STDIN WITH (FORMAT csv, HEADER, DELIMITER ';', NULL 'nil', QUOTE '''', ESCAPE '\');
id;a;b;c
20;'it\'s';1;nil
21;nil;nil;nil
22;'nil';2;2024-01-01 00:00:00+00
\.
COPY t (a, id) FROM STDIN WITH (FORMAT csv, HEADER match);
a,id
only two,30
,31
\.
COPY t (a, id) FROM STDIN WITH (FORMAT csv, HEADER match);
id,a
32,wrong header
\.
COPY t (id, a) FROM STDIN WITH (FORMAT csv, FORCE_NOT_NULL (a));
33,
\.
COPY t (id, a) FROM STDIN WITH (FORMAT csv, FORCE_NULL (a), NULL 'x');
34,"x"
35,x
\.
COPY t (id, a) FROM STDIN WITH (DELIMITER '|', NULL '');
36|piped
37|
\.
COPY t (id, a) FROM STDIN WHERE id % 2 = 0 AND a <> 'skip';
40	a
41	b
42	skip
44	d
\.
COPY t (id, a) FROM STDIN WHERE a IN (SELECT name FROM ref);
45	a
\.
COPY t FROM STDIN;
\.
SELECT id, a, a IS NULL, b, c FROM t ORDER BY id;
-- save: t
COPY t TO STDOUT WITH (FORMAT binary);
-- save: pairs
COPY (SELECT id + 1000, a FROM t) TO STDOUT WITH (FORMAT binary);
TRUNCATE t;
-- feed: t
COPY t FROM STDIN WITH (FORMAT binary);
-- feed: pairs
COPY t (id, a) FROM STDIN WITH (FORMAT binary);
-- feed: pairs
COPY t FROM STDIN WITH (FORMAT binary);
SELECT count(*), sum(id), count(a), sum(length(a)) FROM t;
SELECT * FROM t WHERE id IN (3, 1003) ORDER BY id;
COPY typed FROM STDIN;
k1	{1,2,NULL}	{"a": [1, "x"]}	\\xdeadbeef	1.5	2024-02-29
k2	{}	null	\\x	NaN	infinity
k3	\N	\N	\N	-Infinity	-infinity
k'4	{{1,2},{3,4}}	"str\\"ing"	\\x00	1e-300	0001-01-01 BC
\.
SELECT * FROM typed ORDER BY k;
COPY typed TO STDOUT;
COPY typed TO STDOUT WITH (FORMAT csv, NULL '-');
-- save: typed
COPY typed TO STDOUT WITH (FORMAT binary);
-- feed: typed
COPY typed FROM STDIN WITH (FORMAT binary);
SELECT k, count(*) FROM typed GROUP BY k, arr, doc, raw, d ORDER BY k;
COPY gen (k) FROM STDIN;
1
2
3
\.
COPY gen (k, v) FROM STDIN;
4	10
5	\N
\.
SELECT k, v, g FROM gen ORDER BY k;
SELECT count(DISTINCT s), bool_and(s > 0) FROM gen;
COPY gen (k, v, g) FROM STDIN;
6	1	7
\.
COPY gen (k, v) TO STDOUT;
COPY gen (k, g) TO STDOUT;

-- Reference, single-shard, local.
COPY ref FROM STDIN;
1	one
2	two
\.
COPY one FROM STDIN;
1	one
2	\N
\.
COPY loc FROM STDIN WITH (FORMAT csv);
1,one
2,
\.
COPY ref TO STDOUT;
COPY one TO STDOUT;
COPY loc TO STDOUT;
SELECT r.id, r.name, o.name, l.name FROM ref r JOIN one o USING (id) JOIN loc l USING (id) ORDER BY 1;
COPY (SELECT t.id, ref.name FROM t JOIN ref USING (id) JOIN one USING (id)) TO STDOUT;

-- Errors: the whole COPY is undone.
COPY t (id, a) FROM STDIN;
50	ok
51	ok
x	bad
\.
COPY t (id, a) FROM STDIN;
50	ok
1	duplicate
\.
COPY t (id, a) FROM STDIN;
50	ok
\N	null key
\.
COPY t (id, a) FROM STDIN;
50
\.
COPY t (id, a) FROM STDIN;
50	too	many
\.
COPY t (id, id) FROM STDIN;
1	1
\.
COPY t (id, nothing) FROM STDIN;
1	1
\.
COPY t (a) FROM STDIN;
no key
\.
COPY gen (k, v) FROM STDIN;
60	1
61	100
\.
COPY t FROM STDIN WITH (FORMAT csv);
70,"unterminated
\.
COPY t FROM STDIN WITH (FORMAT nothing);
1
\.
COPY t FROM STDIN WITH (DELIMITER '||');
1
\.
COPY nothing FROM STDIN;
1
\.
COPY ref FROM STDIN;
3	three
1	duplicate
\.
COPY t FROM '/no/such/file';
COPY t TO STDOUT WITH (FORMAT csv, FORMAT text);
SELECT count(*) FROM t WHERE id BETWEEN 50 AND 79;
SELECT count(*) FROM gen WHERE k >= 60;
SELECT count(*) FROM ref;

-- In a transaction.
BEGIN;
COPY t (id, a) FROM STDIN;
200	in block
201	in block
202	in block
\.
SELECT count(*) FROM t WHERE a = 'in block';
UPDATE t SET a = 'updated' WHERE id = 201;
SELECT id, a FROM t WHERE id IN (200, 201) ORDER BY id;
SAVEPOINT s;
COPY t (id, a) FROM STDIN;
203	undone
200	duplicate
\.
ROLLBACK TO s;
COPY t (id, a) FROM STDIN;
204	after
\.
COPY (SELECT id, a FROM t WHERE id >= 200 AND id < 1000) TO STDOUT;
COMMIT;
SELECT id, a FROM t WHERE id >= 200 AND id < 1000 ORDER BY id;
BEGIN;
COPY t (id) FROM STDIN;
300
301
\.
COPY ref (id) FROM STDIN;
300
\.
ROLLBACK;
SELECT count(*) FROM t WHERE id IN (300, 301);
BEGIN;
TRUNCATE t;
COPY t (id) FROM STDIN;
1
2
\.
SELECT count(*) FROM t;
ROLLBACK;
SELECT count(*) > 10 FROM t;
