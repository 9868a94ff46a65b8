-- Parameters of numbers, strings and dates, as keys and as values: typed by the statement, by PREPARE, by casts;
-- seven executions each, so that PostgreSQL goes from custom to generic plans.
--
-- distribute: p_int(k) with none, p_small(k) with none, p_big(k) with none, p_text(k) with none, p_varchar(k) with none, p_char(k) with none, p_numeric(k) with none, p_float8(k) with none, p_float4(k) with none, p_uuid(k) with none, p_date(k) with none, p_timestamp(k) with none, p_timestamptz(k) with none, p_time(k) with none, p_timetz(k) with none, p_interval(k) with none, p_bool(k) with none

CREATE TABLE p_int (k int PRIMARY KEY, v int, n int);
CREATE TABLE p_small (k smallint PRIMARY KEY, v smallint, n int);
CREATE TABLE p_big (k bigint PRIMARY KEY, v bigint, n int);
CREATE TABLE p_text (k text PRIMARY KEY, v text, n int);
CREATE TABLE p_varchar (k varchar(10) PRIMARY KEY, v varchar(10), n int);
CREATE TABLE p_char (k char(6) PRIMARY KEY, v char(6), n int);
CREATE TABLE p_numeric (k numeric PRIMARY KEY, v numeric, n int);
CREATE TABLE p_float8 (k float8 PRIMARY KEY, v float8, n int);
CREATE TABLE p_float4 (k real PRIMARY KEY, v real, n int);
CREATE TABLE p_uuid (k uuid PRIMARY KEY, v uuid, n int);
CREATE TABLE p_date (k date PRIMARY KEY, v date, n int);
CREATE TABLE p_timestamp (k timestamp PRIMARY KEY, v timestamp, n int);
CREATE TABLE p_timestamptz (k timestamptz PRIMARY KEY, v timestamptz, n int);
CREATE TABLE p_time (k time PRIMARY KEY, v time, n int);
CREATE TABLE p_timetz (k timetz PRIMARY KEY, v timetz, n int);
CREATE TABLE p_interval (k interval PRIMARY KEY, v interval, n int);
CREATE TABLE p_bool (k boolean PRIMARY KEY, v boolean, n int);

-- setup ends
SET TimeZone = 'Asia/Kolkata';

-- int
-- params: '1', '2147483647', 0
-- params: '2', '-3', 1
-- params: '-3', '2', 2
-- params: '2147483647', '1', 3
INSERT INTO p_int VALUES ($1, $2, $3) RETURNING *;
-- params: '1'
-- params: '2'
-- params: '-3'
-- params: '2147483647'
-- params: NULL
SELECT k, v, n, $1::int AS p, pg_typeof($1)::text AS t FROM p_int WHERE k = $1;
-- params: '1', '2'
-- params: '-3', NULL
SELECT k, n FROM p_int WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1","2"}'
-- params: '{}'
SELECT k, n FROM p_int WHERE k = ANY ($1) ORDER BY n;
-- params: '1', '2'
-- params: '-3', NULL
UPDATE p_int SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1', '-3'
INSERT INTO p_int VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1'
SELECT count(*), min(n) FROM p_int WHERE v = $1 OR n > 99;
PREPARE p_int (int) AS SELECT n, v, $1 FROM p_int WHERE k = $1;
EXECUTE p_int ('1');
EXECUTE p_int ('2');
EXECUTE p_int (NULL);
-- params: '2'
DELETE FROM p_int WHERE k = $1 RETURNING k, v;
SELECT * FROM p_int ORDER BY n NULLS FIRST;

-- small
-- params: '1', '32767', 0
-- params: '2', '-3', 1
-- params: '-3', '2', 2
-- params: '32767', '1', 3
INSERT INTO p_small VALUES ($1, $2, $3) RETURNING *;
-- params: '1'
-- params: '2'
-- params: '-3'
-- params: '32767'
-- params: NULL
SELECT k, v, n, $1::smallint AS p, pg_typeof($1)::text AS t FROM p_small WHERE k = $1;
-- params: '1', '2'
-- params: '-3', NULL
SELECT k, n FROM p_small WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1","2"}'
-- params: '{}'
SELECT k, n FROM p_small WHERE k = ANY ($1) ORDER BY n;
-- params: '1', '2'
-- params: '-3', NULL
UPDATE p_small SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1', '-3'
INSERT INTO p_small VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1'
SELECT count(*), min(n) FROM p_small WHERE v = $1 OR n > 99;
PREPARE p_small (smallint) AS SELECT n, v, $1 FROM p_small WHERE k = $1;
EXECUTE p_small ('1');
EXECUTE p_small ('2');
EXECUTE p_small (NULL);
-- params: '2'
DELETE FROM p_small WHERE k = $1 RETURNING k, v;
SELECT * FROM p_small ORDER BY n NULLS FIRST;

-- big
-- params: '1', '9223372036854775807', 0
-- params: '20000000000', '-3', 1
-- params: '-3', '20000000000', 2
-- params: '9223372036854775807', '1', 3
INSERT INTO p_big VALUES ($1, $2, $3) RETURNING *;
-- params: '1'
-- params: '20000000000'
-- params: '-3'
-- params: '9223372036854775807'
-- params: NULL
SELECT k, v, n, $1::bigint AS p, pg_typeof($1)::text AS t FROM p_big WHERE k = $1;
-- params: '1', '20000000000'
-- params: '-3', NULL
SELECT k, n FROM p_big WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1","20000000000"}'
-- params: '{}'
SELECT k, n FROM p_big WHERE k = ANY ($1) ORDER BY n;
-- params: '1', '20000000000'
-- params: '-3', NULL
UPDATE p_big SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1', '-3'
INSERT INTO p_big VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1'
SELECT count(*), min(n) FROM p_big WHERE v = $1 OR n > 99;
PREPARE p_big (bigint) AS SELECT n, v, $1 FROM p_big WHERE k = $1;
EXECUTE p_big ('1');
EXECUTE p_big ('20000000000');
EXECUTE p_big (NULL);
-- params: '20000000000'
DELETE FROM p_big WHERE k = $1 RETURNING k, v;
SELECT * FROM p_big ORDER BY n NULLS FIRST;

-- text
-- params: 'one', 'ünï', 0
-- params: 'it''s \ "two"', '', 1
-- params: '', 'it''s \ "two"', 2
-- params: 'ünï', 'one', 3
INSERT INTO p_text VALUES ($1, $2, $3) RETURNING *;
-- params: 'one'
-- params: 'it''s \ "two"'
-- params: ''
-- params: 'ünï'
-- params: NULL
SELECT k, v, n, $1::text AS p, pg_typeof($1)::text AS t FROM p_text WHERE k = $1;
-- params: 'one', 'it''s \ "two"'
-- params: '', NULL
SELECT k, n FROM p_text WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"one","it''s \\ \"two\""}'
-- params: '{}'
SELECT k, n FROM p_text WHERE k = ANY ($1) ORDER BY n;
-- params: 'one', 'it''s \ "two"'
-- params: '', NULL
UPDATE p_text SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 'one', ''
INSERT INTO p_text VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 'one'
SELECT count(*), min(n) FROM p_text WHERE v = $1 OR n > 99;
PREPARE p_text (text) AS SELECT n, v, $1 FROM p_text WHERE k = $1;
EXECUTE p_text ('one');
EXECUTE p_text ('it''s \ "two"');
EXECUTE p_text (NULL);
-- params: 'it''s \ "two"'
DELETE FROM p_text WHERE k = $1 RETURNING k, v;
SELECT * FROM p_text ORDER BY n NULLS FIRST;

-- varchar
-- params: 'one', '0123456789', 0
-- params: 'two  ', 'NULL', 1
-- params: 'NULL', 'two  ', 2
-- params: '0123456789', 'one', 3
INSERT INTO p_varchar VALUES ($1, $2, $3) RETURNING *;
-- params: 'one'
-- params: 'two  '
-- params: 'NULL'
-- params: '0123456789'
-- params: NULL
SELECT k, v, n, $1::varchar(10) AS p, pg_typeof($1)::text AS t FROM p_varchar WHERE k = $1;
-- params: 'one', 'two  '
-- params: 'NULL', NULL
SELECT k, n FROM p_varchar WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"one","two  "}'
-- params: '{}'
SELECT k, n FROM p_varchar WHERE k = ANY ($1) ORDER BY n;
-- params: 'one', 'two  '
-- params: 'NULL', NULL
UPDATE p_varchar SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 'one', 'NULL'
INSERT INTO p_varchar VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 'one'
SELECT count(*), min(n) FROM p_varchar WHERE v = $1 OR n > 99;
PREPARE p_varchar (varchar(10)) AS SELECT n, v, $1 FROM p_varchar WHERE k = $1;
EXECUTE p_varchar ('one');
EXECUTE p_varchar ('two  ');
EXECUTE p_varchar (NULL);
-- params: 'two  '
DELETE FROM p_varchar WHERE k = $1 RETURNING k, v;
SELECT * FROM p_varchar ORDER BY n NULLS FIRST;

-- char
-- params: 'one', '123456', 0
-- params: 'two  ', '', 1
-- params: '', 'two  ', 2
-- params: '123456', 'one', 3
INSERT INTO p_char VALUES ($1, $2, $3) RETURNING *;
-- params: 'one'
-- params: 'two  '
-- params: ''
-- params: '123456'
-- params: NULL
SELECT k, v, n, $1::char(6) AS p, pg_typeof($1)::text AS t FROM p_char WHERE k = $1;
-- params: 'one', 'two  '
-- params: '', NULL
SELECT k, n FROM p_char WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"one","two  "}'
-- params: '{}'
SELECT k, n FROM p_char WHERE k = ANY ($1) ORDER BY n;
-- params: 'one', 'two  '
-- params: '', NULL
UPDATE p_char SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 'one', ''
INSERT INTO p_char VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 'one'
SELECT count(*), min(n) FROM p_char WHERE v = $1 OR n > 99;
PREPARE p_char (char(6)) AS SELECT n, v, $1 FROM p_char WHERE k = $1;
EXECUTE p_char ('one');
EXECUTE p_char ('two  ');
EXECUTE p_char (NULL);
-- params: 'two  '
DELETE FROM p_char WHERE k = $1 RETURNING k, v;
SELECT * FROM p_char ORDER BY n NULLS FIRST;

-- numeric
-- params: '1.50', '123456789012345678901234567890.123456789', 0
-- params: '-0.000001', 'NaN', 1
-- params: 'NaN', '-0.000001', 2
-- params: '123456789012345678901234567890.123456789', '1.50', 3
INSERT INTO p_numeric VALUES ($1, $2, $3) RETURNING *;
-- params: '1.50'
-- params: '-0.000001'
-- params: 'NaN'
-- params: '123456789012345678901234567890.123456789'
-- params: NULL
SELECT k, v, n, $1::numeric AS p, pg_typeof($1)::text AS t FROM p_numeric WHERE k = $1;
-- params: '1.50', '-0.000001'
-- params: 'NaN', NULL
SELECT k, n FROM p_numeric WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1.50","-0.000001"}'
-- params: '{}'
SELECT k, n FROM p_numeric WHERE k = ANY ($1) ORDER BY n;
-- params: '1.50', '-0.000001'
-- params: 'NaN', NULL
UPDATE p_numeric SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1.50', 'NaN'
INSERT INTO p_numeric VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1.50'
SELECT count(*), min(n) FROM p_numeric WHERE v = $1 OR n > 99;
PREPARE p_numeric (numeric) AS SELECT n, v, $1 FROM p_numeric WHERE k = $1;
EXECUTE p_numeric ('1.50');
EXECUTE p_numeric ('-0.000001');
EXECUTE p_numeric (NULL);
-- params: '-0.000001'
DELETE FROM p_numeric WHERE k = $1 RETURNING k, v;
SELECT * FROM p_numeric ORDER BY n NULLS FIRST;

-- float8
-- params: '0.1', '1.7976931348623157e+308', 0
-- params: '-0', 'Infinity', 1
-- params: 'Infinity', '-0', 2
-- params: '1.7976931348623157e+308', '0.1', 3
INSERT INTO p_float8 VALUES ($1, $2, $3) RETURNING *;
-- params: '0.1'
-- params: '-0'
-- params: 'Infinity'
-- params: '1.7976931348623157e+308'
-- params: NULL
SELECT k, v, n, $1::float8 AS p, pg_typeof($1)::text AS t FROM p_float8 WHERE k = $1;
-- params: '0.1', '-0'
-- params: 'Infinity', NULL
SELECT k, n FROM p_float8 WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"0.1","-0"}'
-- params: '{}'
SELECT k, n FROM p_float8 WHERE k = ANY ($1) ORDER BY n;
-- params: '0.1', '-0'
-- params: 'Infinity', NULL
UPDATE p_float8 SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '0.1', 'Infinity'
INSERT INTO p_float8 VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '0.1'
SELECT count(*), min(n) FROM p_float8 WHERE v = $1 OR n > 99;
PREPARE p_float8 (float8) AS SELECT n, v, $1 FROM p_float8 WHERE k = $1;
EXECUTE p_float8 ('0.1');
EXECUTE p_float8 ('-0');
EXECUTE p_float8 (NULL);
-- params: '-0'
DELETE FROM p_float8 WHERE k = $1 RETURNING k, v;
SELECT * FROM p_float8 ORDER BY n NULLS FIRST;

-- float4
-- params: '0.1', '3.4e38', 0
-- params: '1e10', 'NaN', 1
-- params: 'NaN', '1e10', 2
-- params: '3.4e38', '0.1', 3
INSERT INTO p_float4 VALUES ($1, $2, $3) RETURNING *;
-- params: '0.1'
-- params: '1e10'
-- params: 'NaN'
-- params: '3.4e38'
-- params: NULL
SELECT k, v, n, $1::real AS p, pg_typeof($1)::text AS t FROM p_float4 WHERE k = $1;
-- params: '0.1', '1e10'
-- params: 'NaN', NULL
SELECT k, n FROM p_float4 WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"0.1","1e10"}'
-- params: '{}'
SELECT k, n FROM p_float4 WHERE k = ANY ($1) ORDER BY n;
-- params: '0.1', '1e10'
-- params: 'NaN', NULL
UPDATE p_float4 SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '0.1', 'NaN'
INSERT INTO p_float4 VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '0.1'
SELECT count(*), min(n) FROM p_float4 WHERE v = $1 OR n > 99;
PREPARE p_float4 (real) AS SELECT n, v, $1 FROM p_float4 WHERE k = $1;
EXECUTE p_float4 ('0.1');
EXECUTE p_float4 ('1e10');
EXECUTE p_float4 (NULL);
-- params: '1e10'
DELETE FROM p_float4 WHERE k = $1 RETURNING k, v;
SELECT * FROM p_float4 ORDER BY n NULLS FIRST;

-- uuid
-- params: '11111111-1111-1111-1111-111111111111', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 0
-- params: '{22222222-2222-2222-2222-222222222222}', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', 1
-- params: 'a0eebc999c0b4ef8bb6d6bb9bd380a11', '{22222222-2222-2222-2222-222222222222}', 2
-- params: 'ffffffff-ffff-ffff-ffff-ffffffffffff', '11111111-1111-1111-1111-111111111111', 3
INSERT INTO p_uuid VALUES ($1, $2, $3) RETURNING *;
-- params: '11111111-1111-1111-1111-111111111111'
-- params: '{22222222-2222-2222-2222-222222222222}'
-- params: 'a0eebc999c0b4ef8bb6d6bb9bd380a11'
-- params: 'ffffffff-ffff-ffff-ffff-ffffffffffff'
-- params: NULL
SELECT k, v, n, $1::uuid AS p, pg_typeof($1)::text AS t FROM p_uuid WHERE k = $1;
-- params: '11111111-1111-1111-1111-111111111111', '{22222222-2222-2222-2222-222222222222}'
-- params: 'a0eebc999c0b4ef8bb6d6bb9bd380a11', NULL
SELECT k, n FROM p_uuid WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"11111111-1111-1111-1111-111111111111","{22222222-2222-2222-2222-222222222222}"}'
-- params: '{}'
SELECT k, n FROM p_uuid WHERE k = ANY ($1) ORDER BY n;
-- params: '11111111-1111-1111-1111-111111111111', '{22222222-2222-2222-2222-222222222222}'
-- params: 'a0eebc999c0b4ef8bb6d6bb9bd380a11', NULL
UPDATE p_uuid SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '11111111-1111-1111-1111-111111111111', 'a0eebc999c0b4ef8bb6d6bb9bd380a11'
INSERT INTO p_uuid VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '11111111-1111-1111-1111-111111111111'
SELECT count(*), min(n) FROM p_uuid WHERE v = $1 OR n > 99;
PREPARE p_uuid (uuid) AS SELECT n, v, $1 FROM p_uuid WHERE k = $1;
EXECUTE p_uuid ('11111111-1111-1111-1111-111111111111');
EXECUTE p_uuid ('{22222222-2222-2222-2222-222222222222}');
EXECUTE p_uuid (NULL);
-- params: '{22222222-2222-2222-2222-222222222222}'
DELETE FROM p_uuid WHERE k = $1 RETURNING k, v;
SELECT * FROM p_uuid ORDER BY n NULLS FIRST;

-- date
-- params: '2024-02-29', '5874897-12-31', 0
-- params: 'infinity', '0044-03-15 BC', 1
-- params: '0044-03-15 BC', 'infinity', 2
-- params: '5874897-12-31', '2024-02-29', 3
INSERT INTO p_date VALUES ($1, $2, $3) RETURNING *;
-- params: '2024-02-29'
-- params: 'infinity'
-- params: '0044-03-15 BC'
-- params: '5874897-12-31'
-- params: NULL
SELECT k, v, n, $1::date AS p, pg_typeof($1)::text AS t FROM p_date WHERE k = $1;
-- params: '2024-02-29', 'infinity'
-- params: '0044-03-15 BC', NULL
SELECT k, n FROM p_date WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"2024-02-29","infinity"}'
-- params: '{}'
SELECT k, n FROM p_date WHERE k = ANY ($1) ORDER BY n;
-- params: '2024-02-29', 'infinity'
-- params: '0044-03-15 BC', NULL
UPDATE p_date SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '2024-02-29', '0044-03-15 BC'
INSERT INTO p_date VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '2024-02-29'
SELECT count(*), min(n) FROM p_date WHERE v = $1 OR n > 99;
PREPARE p_date (date) AS SELECT n, v, $1 FROM p_date WHERE k = $1;
EXECUTE p_date ('2024-02-29');
EXECUTE p_date ('infinity');
EXECUTE p_date (NULL);
-- params: 'infinity'
DELETE FROM p_date WHERE k = $1 RETURNING k, v;
SELECT * FROM p_date ORDER BY n NULLS FIRST;

-- timestamp
-- params: '2024-02-29 12:34:56.789', '294276-12-31 23:59:59.999999', 0
-- params: '-infinity', '1999-01-08 04:05:06', 1
-- params: '1999-01-08 04:05:06', '-infinity', 2
-- params: '294276-12-31 23:59:59.999999', '2024-02-29 12:34:56.789', 3
INSERT INTO p_timestamp VALUES ($1, $2, $3) RETURNING *;
-- params: '2024-02-29 12:34:56.789'
-- params: '-infinity'
-- params: '1999-01-08 04:05:06'
-- params: '294276-12-31 23:59:59.999999'
-- params: NULL
SELECT k, v, n, $1::timestamp AS p, pg_typeof($1)::text AS t FROM p_timestamp WHERE k = $1;
-- params: '2024-02-29 12:34:56.789', '-infinity'
-- params: '1999-01-08 04:05:06', NULL
SELECT k, n FROM p_timestamp WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"2024-02-29 12:34:56.789","-infinity"}'
-- params: '{}'
SELECT k, n FROM p_timestamp WHERE k = ANY ($1) ORDER BY n;
-- params: '2024-02-29 12:34:56.789', '-infinity'
-- params: '1999-01-08 04:05:06', NULL
UPDATE p_timestamp SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '2024-02-29 12:34:56.789', '1999-01-08 04:05:06'
INSERT INTO p_timestamp VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '2024-02-29 12:34:56.789'
SELECT count(*), min(n) FROM p_timestamp WHERE v = $1 OR n > 99;
PREPARE p_timestamp (timestamp) AS SELECT n, v, $1 FROM p_timestamp WHERE k = $1;
EXECUTE p_timestamp ('2024-02-29 12:34:56.789');
EXECUTE p_timestamp ('-infinity');
EXECUTE p_timestamp (NULL);
-- params: '-infinity'
DELETE FROM p_timestamp WHERE k = $1 RETURNING k, v;
SELECT * FROM p_timestamp ORDER BY n NULLS FIRST;

-- timestamptz
-- params: '2024-02-29 12:34:56.789+05:30', '4714-11-24 00:00:00+00 BC', 0
-- params: 'infinity', '1999-01-08 04:05:06 PST', 1
-- params: '1999-01-08 04:05:06 PST', 'infinity', 2
-- params: '4714-11-24 00:00:00+00 BC', '2024-02-29 12:34:56.789+05:30', 3
INSERT INTO p_timestamptz VALUES ($1, $2, $3) RETURNING *;
-- params: '2024-02-29 12:34:56.789+05:30'
-- params: 'infinity'
-- params: '1999-01-08 04:05:06 PST'
-- params: '4714-11-24 00:00:00+00 BC'
-- params: NULL
SELECT k, v, n, $1::timestamptz AS p, pg_typeof($1)::text AS t FROM p_timestamptz WHERE k = $1;
-- params: '2024-02-29 12:34:56.789+05:30', 'infinity'
-- params: '1999-01-08 04:05:06 PST', NULL
SELECT k, n FROM p_timestamptz WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"2024-02-29 12:34:56.789+05:30","infinity"}'
-- params: '{}'
SELECT k, n FROM p_timestamptz WHERE k = ANY ($1) ORDER BY n;
-- params: '2024-02-29 12:34:56.789+05:30', 'infinity'
-- params: '1999-01-08 04:05:06 PST', NULL
UPDATE p_timestamptz SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '2024-02-29 12:34:56.789+05:30', '1999-01-08 04:05:06 PST'
INSERT INTO p_timestamptz VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '2024-02-29 12:34:56.789+05:30'
SELECT count(*), min(n) FROM p_timestamptz WHERE v = $1 OR n > 99;
PREPARE p_timestamptz (timestamptz) AS SELECT n, v, $1 FROM p_timestamptz WHERE k = $1;
EXECUTE p_timestamptz ('2024-02-29 12:34:56.789+05:30');
EXECUTE p_timestamptz ('infinity');
EXECUTE p_timestamptz (NULL);
-- params: 'infinity'
DELETE FROM p_timestamptz WHERE k = $1 RETURNING k, v;
SELECT * FROM p_timestamptz ORDER BY n NULLS FIRST;

-- time
-- params: '12:34:56.789', '23:59:59.999999', 0
-- params: '00:00', '24:00', 1
-- params: '24:00', '00:00', 2
-- params: '23:59:59.999999', '12:34:56.789', 3
INSERT INTO p_time VALUES ($1, $2, $3) RETURNING *;
-- params: '12:34:56.789'
-- params: '00:00'
-- params: '24:00'
-- params: '23:59:59.999999'
-- params: NULL
SELECT k, v, n, $1::time AS p, pg_typeof($1)::text AS t FROM p_time WHERE k = $1;
-- params: '12:34:56.789', '00:00'
-- params: '24:00', NULL
SELECT k, n FROM p_time WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"12:34:56.789","00:00"}'
-- params: '{}'
SELECT k, n FROM p_time WHERE k = ANY ($1) ORDER BY n;
-- params: '12:34:56.789', '00:00'
-- params: '24:00', NULL
UPDATE p_time SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '12:34:56.789', '24:00'
INSERT INTO p_time VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '12:34:56.789'
SELECT count(*), min(n) FROM p_time WHERE v = $1 OR n > 99;
PREPARE p_time (time) AS SELECT n, v, $1 FROM p_time WHERE k = $1;
EXECUTE p_time ('12:34:56.789');
EXECUTE p_time ('00:00');
EXECUTE p_time (NULL);
-- params: '00:00'
DELETE FROM p_time WHERE k = $1 RETURNING k, v;
SELECT * FROM p_time ORDER BY n NULLS FIRST;

-- timetz
-- params: '12:34:56+02', '23:59:59.999999-15:59', 0
-- params: '00:00-08', '04:05:06 PST', 1
-- params: '04:05:06 PST', '00:00-08', 2
-- params: '23:59:59.999999-15:59', '12:34:56+02', 3
INSERT INTO p_timetz VALUES ($1, $2, $3) RETURNING *;
-- params: '12:34:56+02'
-- params: '00:00-08'
-- params: '04:05:06 PST'
-- params: '23:59:59.999999-15:59'
-- params: NULL
SELECT k, v, n, $1::timetz AS p, pg_typeof($1)::text AS t FROM p_timetz WHERE k = $1;
-- params: '12:34:56+02', '00:00-08'
-- params: '04:05:06 PST', NULL
SELECT k, n FROM p_timetz WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"12:34:56+02","00:00-08"}'
-- params: '{}'
SELECT k, n FROM p_timetz WHERE k = ANY ($1) ORDER BY n;
-- params: '12:34:56+02', '00:00-08'
-- params: '04:05:06 PST', NULL
UPDATE p_timetz SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '12:34:56+02', '04:05:06 PST'
INSERT INTO p_timetz VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '12:34:56+02'
SELECT count(*), min(n) FROM p_timetz WHERE v = $1 OR n > 99;
PREPARE p_timetz (timetz) AS SELECT n, v, $1 FROM p_timetz WHERE k = $1;
EXECUTE p_timetz ('12:34:56+02');
EXECUTE p_timetz ('00:00-08');
EXECUTE p_timetz (NULL);
-- params: '00:00-08'
DELETE FROM p_timetz WHERE k = $1 RETURNING k, v;
SELECT * FROM p_timetz ORDER BY n NULLS FIRST;

-- interval
-- params: '1 day', '178000000 years', 0
-- params: '-1 mon +2 days -03:04:05.678', 'P1Y2M', 1
-- params: 'P1Y2M', '-1 mon +2 days -03:04:05.678', 2
-- params: '178000000 years', '1 day', 3
INSERT INTO p_interval VALUES ($1, $2, $3) RETURNING *;
-- params: '1 day'
-- params: '-1 mon +2 days -03:04:05.678'
-- params: 'P1Y2M'
-- params: '178000000 years'
-- params: NULL
SELECT k, v, n, $1::interval AS p, pg_typeof($1)::text AS t FROM p_interval WHERE k = $1;
-- params: '1 day', '-1 mon +2 days -03:04:05.678'
-- params: 'P1Y2M', NULL
SELECT k, n FROM p_interval WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"1 day","-1 mon +2 days -03:04:05.678"}'
-- params: '{}'
SELECT k, n FROM p_interval WHERE k = ANY ($1) ORDER BY n;
-- params: '1 day', '-1 mon +2 days -03:04:05.678'
-- params: 'P1Y2M', NULL
UPDATE p_interval SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: '1 day', 'P1Y2M'
INSERT INTO p_interval VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: '1 day'
SELECT count(*), min(n) FROM p_interval WHERE v = $1 OR n > 99;
PREPARE p_interval (interval) AS SELECT n, v, $1 FROM p_interval WHERE k = $1;
EXECUTE p_interval ('1 day');
EXECUTE p_interval ('-1 mon +2 days -03:04:05.678');
EXECUTE p_interval (NULL);
-- params: '-1 mon +2 days -03:04:05.678'
DELETE FROM p_interval WHERE k = $1 RETURNING k, v;
SELECT * FROM p_interval ORDER BY n NULLS FIRST;

-- bool
-- params: 't', 'yes', 0
-- params: 'false', 'false', 1
-- params: 'yes', 't', 2
INSERT INTO p_bool VALUES ($1, $2, $3) RETURNING *;
-- params: 't'
-- params: 'false'
-- params: 'yes'
-- params: NULL
SELECT k, v, n, $1::boolean AS p, pg_typeof($1)::text AS t FROM p_bool WHERE k = $1;
-- params: 't', 'false'
-- params: 'yes', NULL
SELECT k, n FROM p_bool WHERE k IN ($1, $2) ORDER BY n;
-- params: '{"t","false"}'
-- params: '{}'
SELECT k, n FROM p_bool WHERE k = ANY ($1) ORDER BY n;
-- params: 't', 'false'
-- params: 'yes', NULL
UPDATE p_bool SET v = $2, n = n + 10 WHERE k = $1 RETURNING v, n;
-- params: 't', 'yes'
INSERT INTO p_bool VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 100 RETURNING *;
-- params: 't'
SELECT count(*), min(n) FROM p_bool WHERE v = $1 OR n > 99;
PREPARE p_bool (boolean) AS SELECT n, v, $1 FROM p_bool WHERE k = $1;
EXECUTE p_bool ('t');
EXECUTE p_bool ('false');
EXECUTE p_bool (NULL);
-- params: 'false'
DELETE FROM p_bool WHERE k = $1 RETURNING k, v;
SELECT * FROM p_bool ORDER BY n NULLS FIRST;
