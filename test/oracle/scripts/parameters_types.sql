-- Parameters of all other types, and of all types at once, as keys and as values: typed by the statement, by PREPARE, by casts;
-- seven executions each, so that PostgreSQL goes from custom to generic plans.
--
-- distribute: p_bytea(k) with none, p_enum(k) with none, p_domain(k) with none, p_composite(k) with none, p_intarray(k) with none, p_textarray(k) with none, p_inet(k) with none, p_cidr(k) with none, p_macaddr(k) with none, p_jsonb(k) with none, p_range(k) with none, p_tsrange(k) with none, p_multirange(k) with none, p_oid(k) with none, p_name(k) with none, p_ccol(k) with none, p_pglsn(k) with none, p_xid8(k) with none, p_int(k) with none, vals(id)

CREATE DOMAIN evenint AS int CHECK (VALUE % 2 = 0);
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TYPE item AS (n int, note text, at timestamptz);
CREATE TABLE p_int (k int PRIMARY KEY, v int, n int);
CREATE TABLE p_bytea (k bytea PRIMARY KEY, v bytea, n int);
CREATE TABLE p_enum (k color PRIMARY KEY, v color, n int);
CREATE TABLE p_domain (k evenint PRIMARY KEY, v evenint, n int);
CREATE TABLE p_composite (k item PRIMARY KEY, v item, n int);
CREATE TABLE p_intarray (k int[] PRIMARY KEY, v int[], n int);
CREATE TABLE p_textarray (k text[] PRIMARY KEY, v text[], n int);
CREATE TABLE p_inet (k inet PRIMARY KEY, v inet, n int);
CREATE TABLE p_cidr (k cidr PRIMARY KEY, v cidr, n int);
CREATE TABLE p_macaddr (k macaddr PRIMARY KEY, v macaddr, n int);
CREATE TABLE p_jsonb (k jsonb PRIMARY KEY, v jsonb, n int);
CREATE TABLE p_range (k int4range PRIMARY KEY, v int4range, n int);
CREATE TABLE p_tsrange (k tstzrange PRIMARY KEY, v tstzrange, n int);
CREATE TABLE p_multirange (k int4multirange PRIMARY KEY, v int4multirange, n int);
CREATE TABLE p_oid (k oid PRIMARY KEY, v oid, n int);
CREATE TABLE p_name (k name PRIMARY KEY, v name, n int);
CREATE TABLE p_ccol (k text COLLATE "C" PRIMARY KEY, v text COLLATE "C", n int);
CREATE TABLE p_pglsn (k pg_lsn PRIMARY KEY, v pg_lsn, n int);
CREATE TABLE p_xid8 (k xid8 PRIMARY KEY, v xid8, n int);
CREATE TABLE vals (id int PRIMARY KEY, int_v int, small_v smallint, big_v bigint, text_v text, varchar_v varchar(10), char_v char(6), numeric_v numeric, float8_v float8, float4_v real, uuid_v uuid, date_v date, timestamp_v timestamp, timestamptz_v timestamptz, time_v time, timetz_v timetz, interval_v interval, bool_v boolean, bytea_v bytea, enum_v color, domain_v evenint, composite_v item, intarray_v int[], textarray_v text[], enumarray_v color[], inet_v inet, cidr_v cidr, macaddr_v macaddr, jsonb_v jsonb, range_v int4range, tsrange_v tstzrange, multirange_v int4multirange, oid_v oid, name_v name, ccol_v text COLLATE "C", pglsn_v pg_lsn, xid8_v xid8);

-- setup ends
SET TimeZone = 'Asia/Kolkata';

-- bytea
-- params: '\x00ff', '\xdeadbeef', 0
-- params: 'abc', '\\001', 1
-- params: '\\001', 'abc', 2
-- params: '\xdeadbeef', '\x00ff', 3
INSERT INTO p_bytea VALUES ($1, $2, $3) RETURNING *;
-- params: '\x00ff'
-- params: 'abc'
-- params: '\\001'
-- params: '\xdeadbeef'
-- params: NULL
SELECT k, v, n, $1::bytea AS p, pg_typeof($1)::text AS t FROM p_bytea WHERE k = $1;
-- params: '\x00ff', 'abc'
-- params: '\\001', NULL
SELECT k, n FROM p_bytea WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"\\x00ff","abc"}'
-- params: '{}'
SELECT k, n FROM p_bytea WHERE k = ANY ($1) ORDER BY n;
-- params: '\x00ff', 'abc'
-- params: '\\001', NULL
UPDATE p_bytea SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '\x00ff', '\\001'
INSERT INTO p_bytea VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '\x00ff'
SELECT count(*), min(n) FROM p_bytea WHERE v = $1 OR n > 99;
PREPARE p_bytea (bytea) AS SELECT n, v, $1 FROM p_bytea WHERE k = $1;
EXECUTE p_bytea ('\x00ff');
EXECUTE p_bytea ('abc');
EXECUTE p_bytea (NULL);
-- params: 'abc'
DELETE FROM p_bytea WHERE k = $1 RETURNING k, v;
SELECT * FROM p_bytea ORDER BY n NULLS FIRST;

-- enum
-- params: 'red', 'blue', 0
-- params: 'green', 'green', 1
-- params: 'blue', 'red', 2
INSERT INTO p_enum VALUES ($1, $2, $3) RETURNING *;
-- params: 'red'
-- params: 'green'
-- params: 'blue'
-- params: NULL
SELECT k, v, n, $1::color AS p, pg_typeof($1)::text AS t FROM p_enum WHERE k = $1;
-- params: 'red', 'green'
-- params: 'blue', NULL
SELECT k, n FROM p_enum WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"red","green"}'
-- params: '{}'
SELECT k, n FROM p_enum WHERE k = ANY ($1) ORDER BY n;
-- params: 'red', 'green'
-- params: 'blue', NULL
UPDATE p_enum SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 'red', 'blue'
INSERT INTO p_enum VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 'red'
SELECT count(*), min(n) FROM p_enum WHERE v = $1 OR n > 99;
PREPARE p_enum (color) AS SELECT n, v, $1 FROM p_enum WHERE k = $1;
EXECUTE p_enum ('red');
EXECUTE p_enum ('green');
EXECUTE p_enum (NULL);
-- params: 'green'
DELETE FROM p_enum WHERE k = $1 RETURNING k, v;
SELECT * FROM p_enum ORDER BY n NULLS FIRST;

-- domain
-- params: '2', '2147483646', 0
-- params: '4', '-6', 1
-- params: '-6', '4', 2
-- params: '2147483646', '2', 3
INSERT INTO p_domain VALUES ($1, $2, $3) RETURNING *;
-- params: '2'
-- params: '4'
-- params: '-6'
-- params: '2147483646'
-- params: NULL
SELECT k, v, n, $1::evenint AS p, pg_typeof($1)::text AS t FROM p_domain WHERE k = $1;
-- params: '2', '4'
-- params: '-6', NULL
SELECT k, n FROM p_domain WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"2","4"}'
-- params: '{}'
SELECT k, n FROM p_domain WHERE k = ANY ($1) ORDER BY n;
-- params: '2', '4'
-- params: '-6', NULL
UPDATE p_domain SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '2', '-6'
INSERT INTO p_domain VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '2'
SELECT count(*), min(n) FROM p_domain WHERE v = $1 OR n > 99;
PREPARE p_domain (evenint) AS SELECT n, v, $1 FROM p_domain WHERE k = $1;
EXECUTE p_domain ('2');
EXECUTE p_domain ('4');
EXECUTE p_domain (NULL);
-- params: '4'
DELETE FROM p_domain WHERE k = $1 RETURNING k, v;
SELECT * FROM p_domain ORDER BY n NULLS FIRST;

-- composite
-- params: '(1,one,)', '(3,,infinity)', 0
-- params: '(2,"a, \\""b",2024-01-01 00:00+00)', '(,,)', 1
-- params: '(,,)', '(2,"a, \\""b",2024-01-01 00:00+00)', 2
-- params: '(3,,infinity)', '(1,one,)', 3
INSERT INTO p_composite VALUES ($1, $2, $3) RETURNING *;
-- params: '(1,one,)'
-- params: '(2,"a, \\""b",2024-01-01 00:00+00)'
-- params: '(,,)'
-- params: '(3,,infinity)'
-- params: NULL
SELECT k, v, n, $1::item AS p, pg_typeof($1)::text AS t FROM p_composite WHERE k = $1::item;
-- params: '(1,one,)', '(2,"a, \\""b",2024-01-01 00:00+00)'
-- params: '(,,)', NULL
SELECT k, n FROM p_composite WHERE k IN ($1::item, $2::item) ORDER BY n;
-- params: '{"(1,one,)","(2,\"a, \\\\\"\"b\",2024-01-01 00:00+00)"}'
-- params: '{}'
SELECT k, n FROM p_composite WHERE k = ANY ($1::item[]) ORDER BY n;
-- params: '(1,one,)', '(2,"a, \\""b",2024-01-01 00:00+00)'
-- params: '(,,)', NULL
UPDATE p_composite SET v = $2, n = n + 10 WHERE k = $1::item RETURNING v, n;
-- params: '(1,one,)', '(,,)'
INSERT INTO p_composite VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '(1,one,)'
SELECT count(*), min(n) FROM p_composite WHERE v = $1::item OR n > 99;
PREPARE p_composite (item) AS SELECT n, v, $1 FROM p_composite WHERE k = $1::item;
EXECUTE p_composite ('(1,one,)');
EXECUTE p_composite ('(2,"a, \\""b",2024-01-01 00:00+00)');
EXECUTE p_composite (NULL);
-- params: '(2,"a, \\""b",2024-01-01 00:00+00)'
DELETE FROM p_composite WHERE k = $1::item RETURNING k, v;
SELECT * FROM p_composite ORDER BY n NULLS FIRST;

-- intarray
-- params: '{1,2}', '{{1,2},{3,4}}', 0
-- params: '{NULL,3}', '{}', 1
-- params: '{}', '{NULL,3}', 2
-- params: '{{1,2},{3,4}}', '{1,2}', 3
INSERT INTO p_intarray VALUES ($1, $2, $3) RETURNING *;
-- params: '{1,2}'
-- params: '{NULL,3}'
-- params: '{}'
-- params: '{{1,2},{3,4}}'
-- params: NULL
SELECT k, v, n, $1::int[] AS p, pg_typeof($1)::text AS t FROM p_intarray WHERE k = $1;
-- params: '{1,2}', '{NULL,3}'
-- params: '{}', NULL
SELECT k, n FROM p_intarray WHERE k IN ($1, $2) ORDER BY n;
-- params: '{1,2}', '{NULL,3}'
-- params: '{}', NULL
UPDATE p_intarray SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '{1,2}', '{}'
INSERT INTO p_intarray VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '{1,2}'
SELECT count(*), min(n) FROM p_intarray WHERE v = $1 OR n > 99;
PREPARE p_intarray (int[]) AS SELECT n, v, $1 FROM p_intarray WHERE k = $1;
EXECUTE p_intarray ('{1,2}');
EXECUTE p_intarray ('{NULL,3}');
EXECUTE p_intarray (NULL);
-- params: '{NULL,3}'
DELETE FROM p_intarray WHERE k = $1 RETURNING k, v;
SELECT * FROM p_intarray ORDER BY n NULLS FIRST;

-- textarray
-- params: '{a,b}', '[0:1]={x,y}', 0
-- params: '{NULL,"NULL","a,b"}', '{}', 1
-- params: '{}', '{NULL,"NULL","a,b"}', 2
-- params: '[0:1]={x,y}', '{a,b}', 3
INSERT INTO p_textarray VALUES ($1, $2, $3) RETURNING *;
-- params: '{a,b}'
-- params: '{NULL,"NULL","a,b"}'
-- params: '{}'
-- params: '[0:1]={x,y}'
-- params: NULL
SELECT k, v, n, $1::text[] AS p, pg_typeof($1)::text AS t FROM p_textarray WHERE k = $1;
-- params: '{a,b}', '{NULL,"NULL","a,b"}'
-- params: '{}', NULL
SELECT k, n FROM p_textarray WHERE k IN ($1, $2) ORDER BY n;
-- params: '{a,b}', '{NULL,"NULL","a,b"}'
-- params: '{}', NULL
UPDATE p_textarray SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '{a,b}', '{}'
INSERT INTO p_textarray VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '{a,b}'
SELECT count(*), min(n) FROM p_textarray WHERE v = $1 OR n > 99;
PREPARE p_textarray (text[]) AS SELECT n, v, $1 FROM p_textarray WHERE k = $1;
EXECUTE p_textarray ('{a,b}');
EXECUTE p_textarray ('{NULL,"NULL","a,b"}');
EXECUTE p_textarray (NULL);
-- params: '{NULL,"NULL","a,b"}'
DELETE FROM p_textarray WHERE k = $1 RETURNING k, v;
SELECT * FROM p_textarray ORDER BY n NULLS FIRST;

-- inet
-- params: '10.0.0.1', '2001:db8::/32', 0
-- params: '10.0.0.0/8', '::1', 1
-- params: '::1', '10.0.0.0/8', 2
-- params: '2001:db8::/32', '10.0.0.1', 3
INSERT INTO p_inet VALUES ($1, $2, $3) RETURNING *;
-- params: '10.0.0.1'
-- params: '10.0.0.0/8'
-- params: '::1'
-- params: '2001:db8::/32'
-- params: NULL
SELECT k, v, n, $1::inet AS p, pg_typeof($1)::text AS t FROM p_inet WHERE k = $1;
-- params: '10.0.0.1', '10.0.0.0/8'
-- params: '::1', NULL
SELECT k, n FROM p_inet WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"10.0.0.1","10.0.0.0/8"}'
-- params: '{}'
SELECT k, n FROM p_inet WHERE k = ANY ($1) ORDER BY n;
-- params: '10.0.0.1', '10.0.0.0/8'
-- params: '::1', NULL
UPDATE p_inet SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '10.0.0.1', '::1'
INSERT INTO p_inet VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '10.0.0.1'
SELECT count(*), min(n) FROM p_inet WHERE v = $1 OR n > 99;
PREPARE p_inet (inet) AS SELECT n, v, $1 FROM p_inet WHERE k = $1;
EXECUTE p_inet ('10.0.0.1');
EXECUTE p_inet ('10.0.0.0/8');
EXECUTE p_inet (NULL);
-- params: '10.0.0.0/8'
DELETE FROM p_inet WHERE k = $1 RETURNING k, v;
SELECT * FROM p_inet ORDER BY n NULLS FIRST;

-- cidr
-- params: '10.0.0.0/8', '::/0', 0
-- params: '192.168/16', '192.168/16', 1
-- params: '::/0', '10.0.0.0/8', 2
INSERT INTO p_cidr VALUES ($1, $2, $3) RETURNING *;
-- params: '10.0.0.0/8'
-- params: '192.168/16'
-- params: '::/0'
-- params: NULL
SELECT k, v, n, $1::cidr AS p, pg_typeof($1)::text AS t FROM p_cidr WHERE k = $1;
-- params: '10.0.0.0/8', '192.168/16'
-- params: '::/0', NULL
SELECT k, n FROM p_cidr WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"10.0.0.0/8","192.168/16"}'
-- params: '{}'
SELECT k, n FROM p_cidr WHERE k = ANY ($1) ORDER BY n;
-- params: '10.0.0.0/8', '192.168/16'
-- params: '::/0', NULL
UPDATE p_cidr SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '10.0.0.0/8', '::/0'
INSERT INTO p_cidr VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '10.0.0.0/8'
SELECT count(*), min(n) FROM p_cidr WHERE v = $1 OR n > 99;
PREPARE p_cidr (cidr) AS SELECT n, v, $1 FROM p_cidr WHERE k = $1;
EXECUTE p_cidr ('10.0.0.0/8');
EXECUTE p_cidr ('192.168/16');
EXECUTE p_cidr (NULL);
-- params: '192.168/16'
DELETE FROM p_cidr WHERE k = $1 RETURNING k, v;
SELECT * FROM p_cidr ORDER BY n NULLS FIRST;

-- macaddr
-- params: '08:00:2b:01:02:03', '08002b010205', 0
-- params: '08-00-2b-01-02-04', '08-00-2b-01-02-04', 1
-- params: '08002b010205', '08:00:2b:01:02:03', 2
INSERT INTO p_macaddr VALUES ($1, $2, $3) RETURNING *;
-- params: '08:00:2b:01:02:03'
-- params: '08-00-2b-01-02-04'
-- params: '08002b010205'
-- params: NULL
SELECT k, v, n, $1::macaddr AS p, pg_typeof($1)::text AS t FROM p_macaddr WHERE k = $1;
-- params: '08:00:2b:01:02:03', '08-00-2b-01-02-04'
-- params: '08002b010205', NULL
SELECT k, n FROM p_macaddr WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"08:00:2b:01:02:03","08-00-2b-01-02-04"}'
-- params: '{}'
SELECT k, n FROM p_macaddr WHERE k = ANY ($1) ORDER BY n;
-- params: '08:00:2b:01:02:03', '08-00-2b-01-02-04'
-- params: '08002b010205', NULL
UPDATE p_macaddr SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '08:00:2b:01:02:03', '08002b010205'
INSERT INTO p_macaddr VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '08:00:2b:01:02:03'
SELECT count(*), min(n) FROM p_macaddr WHERE v = $1 OR n > 99;
PREPARE p_macaddr (macaddr) AS SELECT n, v, $1 FROM p_macaddr WHERE k = $1;
EXECUTE p_macaddr ('08:00:2b:01:02:03');
EXECUTE p_macaddr ('08-00-2b-01-02-04');
EXECUTE p_macaddr (NULL);
-- params: '08-00-2b-01-02-04'
DELETE FROM p_macaddr WHERE k = $1 RETURNING k, v;
SELECT * FROM p_macaddr ORDER BY n NULLS FIRST;

-- jsonb
-- params: '1', '{"b": 1.10, "a": 2}', 0
-- params: '{"a": [1, null, "x"]}', '"s"', 1
-- params: '"s"', '{"a": [1, null, "x"]}', 2
-- params: '{"b": 1.10, "a": 2}', '1', 3
INSERT INTO p_jsonb VALUES ($1, $2, $3) RETURNING *;
-- params: '1'
-- params: '{"a": [1, null, "x"]}'
-- params: '"s"'
-- params: '{"b": 1.10, "a": 2}'
-- params: NULL
SELECT k, v, n, $1::jsonb AS p, pg_typeof($1)::text AS t FROM p_jsonb WHERE k = $1;
-- params: '1', '{"a": [1, null, "x"]}'
-- params: '"s"', NULL
SELECT k, n FROM p_jsonb WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1","{\"a\": [1, null, \"x\"]}"}'
-- params: '{}'
SELECT k, n FROM p_jsonb WHERE k = ANY ($1) ORDER BY n;
-- params: '1', '{"a": [1, null, "x"]}'
-- params: '"s"', NULL
UPDATE p_jsonb SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1', '"s"'
INSERT INTO p_jsonb VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1'
SELECT count(*), min(n) FROM p_jsonb WHERE v = $1 OR n > 99;
PREPARE p_jsonb (jsonb) AS SELECT n, v, $1 FROM p_jsonb WHERE k = $1;
EXECUTE p_jsonb ('1');
EXECUTE p_jsonb ('{"a": [1, null, "x"]}');
EXECUTE p_jsonb (NULL);
-- params: '{"a": [1, null, "x"]}'
DELETE FROM p_jsonb WHERE k = $1 RETURNING k, v;
SELECT * FROM p_jsonb ORDER BY n NULLS FIRST;

-- range
-- params: '[1,5)', '[7,)', 0
-- params: '(,3]', 'empty', 1
-- params: 'empty', '(,3]', 2
-- params: '[7,)', '[1,5)', 3
INSERT INTO p_range VALUES ($1, $2, $3) RETURNING *;
-- params: '[1,5)'
-- params: '(,3]'
-- params: 'empty'
-- params: '[7,)'
-- params: NULL
SELECT k, v, n, $1::int4range AS p, pg_typeof($1)::text AS t FROM p_range WHERE k = $1;
-- params: '[1,5)', '(,3]'
-- params: 'empty', NULL
SELECT k, n FROM p_range WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"[1,5)","(,3]"}'
-- params: '{}'
SELECT k, n FROM p_range WHERE k = ANY ($1) ORDER BY n;
-- params: '[1,5)', '(,3]'
-- params: 'empty', NULL
UPDATE p_range SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '[1,5)', 'empty'
INSERT INTO p_range VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '[1,5)'
SELECT count(*), min(n) FROM p_range WHERE v = $1 OR n > 99;
PREPARE p_range (int4range) AS SELECT n, v, $1 FROM p_range WHERE k = $1;
EXECUTE p_range ('[1,5)');
EXECUTE p_range ('(,3]');
EXECUTE p_range (NULL);
-- params: '(,3]'
DELETE FROM p_range WHERE k = $1 RETURNING k, v;
SELECT * FROM p_range ORDER BY n NULLS FIRST;

-- tsrange
-- params: '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '[infinity,]', 0
-- params: '(,)', 'empty', 1
-- params: 'empty', '(,)', 2
-- params: '[infinity,]', '[2024-01-01 00:00+00,2024-01-02 00:00+00)', 3
INSERT INTO p_tsrange VALUES ($1, $2, $3) RETURNING *;
-- params: '[2024-01-01 00:00+00,2024-01-02 00:00+00)'
-- params: '(,)'
-- params: 'empty'
-- params: '[infinity,]'
-- params: NULL
SELECT k, v, n, $1::tstzrange AS p, pg_typeof($1)::text AS t FROM p_tsrange WHERE k = $1;
-- params: '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '(,)'
-- params: 'empty', NULL
SELECT k, n FROM p_tsrange WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"[2024-01-01 00:00+00,2024-01-02 00:00+00)","(,)"}'
-- params: '{}'
SELECT k, n FROM p_tsrange WHERE k = ANY ($1) ORDER BY n;
-- params: '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '(,)'
-- params: 'empty', NULL
UPDATE p_tsrange SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '[2024-01-01 00:00+00,2024-01-02 00:00+00)', 'empty'
INSERT INTO p_tsrange VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '[2024-01-01 00:00+00,2024-01-02 00:00+00)'
SELECT count(*), min(n) FROM p_tsrange WHERE v = $1 OR n > 99;
PREPARE p_tsrange (tstzrange) AS SELECT n, v, $1 FROM p_tsrange WHERE k = $1;
EXECUTE p_tsrange ('[2024-01-01 00:00+00,2024-01-02 00:00+00)');
EXECUTE p_tsrange ('(,)');
EXECUTE p_tsrange (NULL);
-- params: '(,)'
DELETE FROM p_tsrange WHERE k = $1 RETURNING k, v;
SELECT * FROM p_tsrange ORDER BY n NULLS FIRST;

-- multirange
-- params: '{[1,2],[5,7]}', '{(,1]}', 0
-- params: '{}', '{}', 1
-- params: '{(,1]}', '{[1,2],[5,7]}', 2
INSERT INTO p_multirange VALUES ($1, $2, $3) RETURNING *;
-- params: '{[1,2],[5,7]}'
-- params: '{}'
-- params: '{(,1]}'
-- params: NULL
SELECT k, v, n, $1::int4multirange AS p, pg_typeof($1)::text AS t FROM p_multirange WHERE k = $1;
-- params: '{[1,2],[5,7]}', '{}'
-- params: '{(,1]}', NULL
SELECT k, n FROM p_multirange WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"{[1,2],[5,7]}","{}"}'
-- params: '{}'
SELECT k, n FROM p_multirange WHERE k = ANY ($1) ORDER BY n;
-- params: '{[1,2],[5,7]}', '{}'
-- params: '{(,1]}', NULL
UPDATE p_multirange SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '{[1,2],[5,7]}', '{(,1]}'
INSERT INTO p_multirange VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '{[1,2],[5,7]}'
SELECT count(*), min(n) FROM p_multirange WHERE v = $1 OR n > 99;
PREPARE p_multirange (int4multirange) AS SELECT n, v, $1 FROM p_multirange WHERE k = $1;
EXECUTE p_multirange ('{[1,2],[5,7]}');
EXECUTE p_multirange ('{}');
EXECUTE p_multirange (NULL);
-- params: '{}'
DELETE FROM p_multirange WHERE k = $1 RETURNING k, v;
SELECT * FROM p_multirange ORDER BY n NULLS FIRST;

-- oid
-- params: '1', '2', 0
-- params: '4294967295', '4294967295', 1
-- params: '2', '1', 2
INSERT INTO p_oid VALUES ($1, $2, $3) RETURNING *;
-- params: '1'
-- params: '4294967295'
-- params: '2'
-- params: NULL
SELECT k, v, n, $1::oid AS p, pg_typeof($1)::text AS t FROM p_oid WHERE k = $1;
-- params: '1', '4294967295'
-- params: '2', NULL
SELECT k, n FROM p_oid WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1","4294967295"}'
-- params: '{}'
SELECT k, n FROM p_oid WHERE k = ANY ($1) ORDER BY n;
-- params: '1', '4294967295'
-- params: '2', NULL
UPDATE p_oid SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1', '2'
INSERT INTO p_oid VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1'
SELECT count(*), min(n) FROM p_oid WHERE v = $1 OR n > 99;
PREPARE p_oid (oid) AS SELECT n, v, $1 FROM p_oid WHERE k = $1;
EXECUTE p_oid ('1');
EXECUTE p_oid ('4294967295');
EXECUTE p_oid (NULL);
-- params: '4294967295'
DELETE FROM p_oid WHERE k = $1 RETURNING k, v;
SELECT * FROM p_oid ORDER BY n NULLS FIRST;

-- name
-- params: 'one', 'x', 0
-- params: 'Two words', 'Two words', 1
-- params: 'x', 'one', 2
INSERT INTO p_name VALUES ($1, $2, $3) RETURNING *;
-- params: 'one'
-- params: 'Two words'
-- params: 'x'
-- params: NULL
SELECT k, v, n, $1::name AS p, pg_typeof($1)::text AS t FROM p_name WHERE k = $1;
-- params: 'one', 'Two words'
-- params: 'x', NULL
SELECT k, n FROM p_name WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"one","Two words"}'
-- params: '{}'
SELECT k, n FROM p_name WHERE k = ANY ($1) ORDER BY n;
-- params: 'one', 'Two words'
-- params: 'x', NULL
UPDATE p_name SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 'one', 'x'
INSERT INTO p_name VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 'one'
SELECT count(*), min(n) FROM p_name WHERE v = $1 OR n > 99;
PREPARE p_name (name) AS SELECT n, v, $1 FROM p_name WHERE k = $1;
EXECUTE p_name ('one');
EXECUTE p_name ('Two words');
EXECUTE p_name (NULL);
-- params: 'Two words'
DELETE FROM p_name WHERE k = $1 RETURNING k, v;
SELECT * FROM p_name ORDER BY n NULLS FIRST;

-- ccol
-- params: 'one', 'z', 0
-- params: 'Two', 'é', 1
-- params: 'é', 'Two', 2
-- params: 'z', 'one', 3
INSERT INTO p_ccol VALUES ($1, $2, $3) RETURNING *;
-- params: 'one'
-- params: 'Two'
-- params: 'é'
-- params: 'z'
-- params: NULL
SELECT k, v, n, $1::text AS p, pg_typeof($1)::text AS t FROM p_ccol WHERE k = $1;
-- params: 'one', 'Two'
-- params: 'é', NULL
SELECT k, n FROM p_ccol WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"one","Two"}'
-- params: '{}'
SELECT k, n FROM p_ccol WHERE k = ANY ($1) ORDER BY n;
-- params: 'one', 'Two'
-- params: 'é', NULL
UPDATE p_ccol SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 'one', 'é'
INSERT INTO p_ccol VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 'one'
SELECT count(*), min(n) FROM p_ccol WHERE v = $1 OR n > 99;
PREPARE p_ccol (text) AS SELECT n, v, $1 FROM p_ccol WHERE k = $1;
EXECUTE p_ccol ('one');
EXECUTE p_ccol ('Two');
EXECUTE p_ccol (NULL);
-- params: 'Two'
DELETE FROM p_ccol WHERE k = $1 RETURNING k, v;
SELECT * FROM p_ccol ORDER BY n NULLS FIRST;

-- pglsn
-- params: '0/0', '1/1', 0
-- params: '16/B374D848', '16/B374D848', 1
-- params: '1/1', '0/0', 2
INSERT INTO p_pglsn VALUES ($1, $2, $3) RETURNING *;
-- params: '0/0'
-- params: '16/B374D848'
-- params: '1/1'
-- params: NULL
SELECT k, v, n, $1::pg_lsn AS p, pg_typeof($1)::text AS t FROM p_pglsn WHERE k = $1;
-- params: '0/0', '16/B374D848'
-- params: '1/1', NULL
SELECT k, n FROM p_pglsn WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"0/0","16/B374D848"}'
-- params: '{}'
SELECT k, n FROM p_pglsn WHERE k = ANY ($1) ORDER BY n;
-- params: '0/0', '16/B374D848'
-- params: '1/1', NULL
UPDATE p_pglsn SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '0/0', '1/1'
INSERT INTO p_pglsn VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '0/0'
SELECT count(*), min(n) FROM p_pglsn WHERE v = $1 OR n > 99;
PREPARE p_pglsn (pg_lsn) AS SELECT n, v, $1 FROM p_pglsn WHERE k = $1;
EXECUTE p_pglsn ('0/0');
EXECUTE p_pglsn ('16/B374D848');
EXECUTE p_pglsn (NULL);
-- params: '16/B374D848'
DELETE FROM p_pglsn WHERE k = $1 RETURNING k, v;
SELECT * FROM p_pglsn ORDER BY n NULLS FIRST;

-- xid8
-- params: '1', '18446744073709551615', 0
-- params: '2', '2', 1
-- params: '18446744073709551615', '1', 2
INSERT INTO p_xid8 VALUES ($1, $2, $3) RETURNING *;
-- params: '1'
-- params: '2'
-- params: '18446744073709551615'
-- params: NULL
SELECT k, v, n, $1::xid8 AS p, pg_typeof($1)::text AS t FROM p_xid8 WHERE k = $1;
-- params: '1', '2'
-- params: '18446744073709551615', NULL
SELECT k, n FROM p_xid8 WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1","2"}'
-- params: '{}'
SELECT k, n FROM p_xid8 WHERE k = ANY ($1) ORDER BY n;
-- params: '1', '2'
-- params: '18446744073709551615', NULL
UPDATE p_xid8 SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1', '18446744073709551615'
INSERT INTO p_xid8 VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1'
SELECT count(*), min(n) FROM p_xid8 WHERE v = $1 OR n > 99;
PREPARE p_xid8 (xid8) AS SELECT n, v, $1 FROM p_xid8 WHERE k = $1;
EXECUTE p_xid8 ('1');
EXECUTE p_xid8 ('2');
EXECUTE p_xid8 (NULL);
-- params: '2'
DELETE FROM p_xid8 WHERE k = $1 RETURNING k, v;
SELECT * FROM p_xid8 ORDER BY n NULLS FIRST;

-- All types in one row.
-- params: 0, '1', '1', '1', 'one', 'one', 'one', '1.50', '0.1', '0.1', '11111111-1111-1111-1111-111111111111', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+05:30', '12:34:56.789', '12:34:56+02', '1 day', 't', '\x00ff', 'red', '2', '(1,one,)', '{1,2}', '{a,b}', '{red,blue}', '10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', '1', '[1,5)', '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '{[1,2],[5,7]}', '1', 'one', 'one', '0/0', '1'
-- params: 1, '2', '2', '20000000000', 'it''s \ "two"', 'two  ', 'two  ', '-0.000001', '-0', '1e10', '{22222222-2222-2222-2222-222222222222}', 'infinity', '-infinity', 'infinity', '00:00', '00:00-08', '-1 mon +2 days -03:04:05.678', 'false', 'abc', 'green', '4', '(2,"a, \\""b",2024-01-01 00:00+00)', '{NULL,3}', '{NULL,"NULL","a,b"}', '{NULL}', '10.0.0.0/8', '192.168/16', '08-00-2b-01-02-04', '{"a": [1, null, "x"]}', '(,3]', '(,)', '{}', '4294967295', 'Two words', 'Two', '16/B374D848', '2'
-- params: 2, '-3', '-3', '-3', '', 'NULL', '', 'NaN', 'Infinity', 'NaN', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', '0044-03-15 BC', '1999-01-08 04:05:06', '1999-01-08 04:05:06 PST', '24:00', '04:05:06 PST', 'P1Y2M', 'yes', '\\001', 'blue', '-6', '(,,)', '{}', '{}', '{}', '::1', '::/0', '08002b010205', '"s"', 'empty', 'empty', '{(,1]}', '2', 'x', 'é', '1/1', '18446744073709551615'
-- params: 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
INSERT INTO vals VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37) RETURNING *;
-- params: 0
-- params: 1
-- params: 2
-- params: 9
SELECT * FROM vals WHERE id = $1;
SELECT * FROM vals ORDER BY id;
-- params: 0, '-3', '-3', '-3', '', 'NULL', '', 'NaN', 'Infinity', 'NaN', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', '0044-03-15 BC', '1999-01-08 04:05:06', '1999-01-08 04:05:06 PST', '24:00', '04:05:06 PST', 'P1Y2M', 'yes', '\\001', 'blue', '-6', '(,,)', '{}', '{}', '{}', '::1', '::/0', '08002b010205', '"s"', 'empty', 'empty', '{(,1]}', '2', 'x', 'é', '1/1', '18446744073709551615'
-- params: 1, '2', '2', '20000000000', 'it''s \ "two"', 'two  ', 'two  ', '-0.000001', '-0', '1e10', '{22222222-2222-2222-2222-222222222222}', 'infinity', '-infinity', 'infinity', '00:00', '00:00-08', '-1 mon +2 days -03:04:05.678', 'false', 'abc', 'green', '4', '(2,"a, \\""b",2024-01-01 00:00+00)', '{NULL,3}', '{NULL,"NULL","a,b"}', '{NULL}', '10.0.0.0/8', '192.168/16', '08-00-2b-01-02-04', '{"a": [1, null, "x"]}', '(,3]', '(,)', '{}', '4294967295', 'Two words', 'Two', '16/B374D848', '2'
-- params: 2, '1', '1', '1', 'one', 'one', 'one', '1.50', '0.1', '0.1', '11111111-1111-1111-1111-111111111111', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+05:30', '12:34:56.789', '12:34:56+02', '1 day', 't', '\x00ff', 'red', '2', '(1,one,)', '{1,2}', '{a,b}', '{red,blue}', '10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', '1', '[1,5)', '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '{[1,2],[5,7]}', '1', 'one', 'one', '0/0', '1'
UPDATE vals SET (int_v, small_v, big_v, text_v, varchar_v, char_v, numeric_v, float8_v, float4_v, uuid_v, date_v, timestamp_v, timestamptz_v, time_v, timetz_v, interval_v, bool_v, bytea_v, enum_v, domain_v, composite_v, intarray_v, textarray_v, enumarray_v, inet_v, cidr_v, macaddr_v, jsonb_v, range_v, tsrange_v, multirange_v, oid_v, name_v, ccol_v, pglsn_v, xid8_v) = ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37) WHERE id = $1 RETURNING *;
-- params: 0, '1', '1', '1', 'one', 'one', 'one', '1.50', '0.1', '0.1', '11111111-1111-1111-1111-111111111111', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+05:30', '12:34:56.789', '12:34:56+02', '1 day', 't', '\x00ff', 'red', '2', '(1,one,)', '{1,2}', '{a,b}', '{red,blue}', '10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', '1', '[1,5)', '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '{[1,2],[5,7]}', '1', 'one', 'one', '0/0', '1'
-- params: 1, '2', '2', '20000000000', 'it''s \ "two"', 'two  ', 'two  ', '-0.000001', '-0', '1e10', '{22222222-2222-2222-2222-222222222222}', 'infinity', '-infinity', 'infinity', '00:00', '00:00-08', '-1 mon +2 days -03:04:05.678', 'false', 'abc', 'green', '4', '(2,"a, \\""b",2024-01-01 00:00+00)', '{NULL,3}', '{NULL,"NULL","a,b"}', '{NULL}', '10.0.0.0/8', '192.168/16', '08-00-2b-01-02-04', '{"a": [1, null, "x"]}', '(,3]', '(,)', '{}', '4294967295', 'Two words', 'Two', '16/B374D848', '2'
SELECT int_v = $2 AS int, small_v = $3 AS small, big_v = $4 AS big, text_v = $5 AS text, varchar_v = $6 AS varchar, char_v = $7 AS char, numeric_v = $8 AS numeric, float8_v = $9 AS float8, float4_v = $10 AS float4, uuid_v = $11 AS uuid, date_v = $12 AS date, timestamp_v = $13 AS timestamp, timestamptz_v = $14 AS timestamptz, time_v = $15 AS time, timetz_v = $16 AS timetz, interval_v = $17 AS interval, bool_v = $18 AS bool, bytea_v = $19 AS bytea, enum_v = $20 AS enum, domain_v = $21 AS domain, composite_v = $22::item AS composite, intarray_v = $23 AS intarray, textarray_v = $24 AS textarray, enumarray_v = $25 AS enumarray, inet_v = $26 AS inet, cidr_v = $27 AS cidr, macaddr_v = $28 AS macaddr, jsonb_v = $29 AS jsonb, range_v = $30 AS range, tsrange_v = $31 AS tsrange, multirange_v = $32 AS multirange, oid_v = $33 AS oid, name_v = $34 AS name, ccol_v = $35 AS ccol, pglsn_v = $36 AS pglsn, xid8_v = $37 AS xid8 FROM vals WHERE id = $1;

-- Parameters whose type comes from where they stand.
-- params: 0, 5
SELECT int_v + $2, int_v + $2::bigint, int_v + $2::numeric, $2::text || 'x', pg_typeof($2) FROM vals WHERE id = $1;
-- params: 0, 2
SELECT id, $2::bigint FROM vals WHERE id >= $1 ORDER BY id LIMIT $2;
-- params: 0, '{1,2}', x
SELECT $2::int[], cardinality($2::int[]), $3::text, ARRAY[$3, 'y'], ROW($1::int, $3::text) IS NULL, coalesce($3, 'z'), CASE WHEN $3 = 'x' THEN $1 ELSE 0 END FROM vals WHERE id = $1;
-- params: 0, 1 day, 2024-01-01, Asia/Tokyo
SELECT date_v + $2::interval, $3::date - 1, timestamptz_v AT TIME ZONE $4, date_trunc('day', timestamptz_v, $4), EXTRACT(epoch FROM $2::interval), EXTRACT(day FROM $3::date) FROM vals WHERE id = $1;
-- params: 1, a, 0, '{a,1}'
SELECT jsonb_v -> $2, jsonb_v ->> $2, jsonb_v -> $2 -> $3::int, jsonb_v #> $4, jsonb_v ? $2, jsonb_v @> jsonb_build_object($2, '[1]'::jsonb), jsonb_v[$2] FROM vals WHERE id = $1;
-- params: 0, 2, 1
SELECT intarray_v[$2], intarray_v[$3:$2], textarray_v[$3], substring(text_v FROM $2 FOR $3), overlay(text_v PLACING 'Z' FROM $2), left(text_v, $3), repeat(text_v, $2), round(numeric_v, $3), numeric_v::numeric(8, 1), lpad(text_v, $2) FROM vals WHERE id = $1;
-- params: 0, x
SELECT $2 FROM vals WHERE id = $1;
-- params: 0, x
SELECT $2::text AS a, $2 || 'y' AS b FROM vals WHERE id = $1 GROUP BY $2 ORDER BY $2;
-- params: 0
SELECT id % ($1 + 4) FROM vals WHERE id = 9 GROUP BY id % ($1 + 4);
-- params: 2
SELECT id % $1, count(*) FROM vals GROUP BY id % $1 ORDER BY id % $1;
-- params: 0, 3
SELECT count(*) FROM vals, generate_series($1::int, $2) g WHERE id = $1;
-- params: 0, one
SELECT * FROM (VALUES ($1::int, $2), (5, 'five')) x (i, t) JOIN vals ON vals.int_v = x.i WHERE vals.id = $1;
-- params: 0
SELECT (SELECT $1 + 1), EXISTS (SELECT FROM p_int WHERE k = $1), ARRAY(SELECT $1 FROM p_int WHERE n > $1) FROM vals WHERE id = $1;
-- params: 1, 1
SELECT v.id, p.n FROM vals v LEFT JOIN p_int p ON p.k = $2 AND p.k = v.id WHERE v.id = $1;
-- params: 5, 6
INSERT INTO vals (id, int_v) VALUES ($1, $1 + 1), ($2, 2 + $2) RETURNING id, int_v;
-- params: 7, abc
INSERT INTO vals (id, char_v, varchar_v, text_v) VALUES ($1, $2::text, $2 || 'd', upper($2)) RETURNING char_v || '|', varchar_v, text_v;
-- params: 8, 0123456789abc
INSERT INTO vals (id, varchar_v) VALUES ($1, $2);
-- params: 8, 3
INSERT INTO vals (id, domain_v) VALUES ($1, $2);
-- params: 8, purple
INSERT INTO vals (id, enum_v) VALUES ($1, $2);
-- params: x
SELECT id FROM vals WHERE id = $1;
-- params: 99999999999
SELECT id FROM vals WHERE id = $1;
-- params: 99999999999
SELECT id FROM vals WHERE id = $1::bigint;
-- params: 1.0
SELECT id FROM vals WHERE id = $1::numeric;
-- params: 1
-- params: 1.5
SELECT id FROM vals WHERE id = $1::float8;
-- params: 7
DELETE FROM vals WHERE id = $1 RETURNING id;
