-- Global indexes that aren't unique, and reads of entries alone.
CREATE SCHEMA covering;
SET search_path = covering;
CREATE TABLE o (tenant int, id bigint PRIMARY KEY, customer int, state text, note json, total numeric);
CREATE INDEX o_customer ON o (customer, state) INCLUDE (total, note) WHERE citus_global_index();
SET citus.global_indexes = on;
SELECT create_distributed_table('o', 'tenant', shard_count => 32);
INSERT INTO o SELECT i % 50, i, i % 100, CASE WHEN i % 3 > 0 THEN 's' || i % 3 END, '{}', i FROM generate_series(1, 3000) i;
ANALYZE o;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute JOIN pg_depend ON attrelid = objid
	WHERE refobjid = 'o_customer'::regclass AND deptype = 'i' AND attnum > 0 ORDER BY attnum;
SELECT pg_get_indexdef('o_customer'::regclass);
SELECT citus_check_global_index('o_customer');

-- as a table's plan, or the entries'
CREATE FUNCTION reads(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || query INTO plan;
	RETURN CASE WHEN plan::text LIKE '%InitPlan%' THEN 'both' WHEN plan::text LIKE '%FROM citus\_data.global\_index\_%' THEN 'entries'
		WHEN plan::text LIKE '%GlobalIndexLookup%' THEN 'one row' ELSE 'all' END;
END $$;
SELECT reads(query) AS reads, query FROM unnest(ARRAY[
	'SELECT id, tenant, total FROM o WHERE customer = 5 AND state = ''s1'' ORDER BY total LIMIT 3',
	'SELECT x.state, sum(total) FROM o x WHERE customer = 5 GROUP BY 1 HAVING count(*) > 2',
	'SELECT count(*) FROM o WHERE customer = 5 AND id > 7',
	'SELECT tenant FROM o WHERE id = 5',
	'SELECT DISTINCT total FROM o WHERE customer = 5',
	'SELECT customer, row_number() OVER (ORDER BY total) FROM o WHERE customer = 5',
	'SELECT total FROM o WHERE id = 5',
	'SELECT note FROM o WHERE customer = 5',
	'SELECT ctid FROM o WHERE customer = 5',
	'SELECT o FROM o WHERE customer = 5',
	'SELECT id FROM o WHERE state = ''s1''',
	'SELECT id FROM o WHERE customer IN (5, 6)',
	'SELECT id FROM o WHERE customer = 5 AND random() < 2',
	'SELECT id FROM o WHERE customer = 5 AND tenant = 5',
	'SELECT id FROM o WHERE customer = 5 FOR UPDATE']) query;
SELECT id, tenant, total FROM o WHERE customer = 5 AND state = 's1' ORDER BY total LIMIT 3;
SELECT x.state, sum(total), count(*) FROM o x WHERE customer = 5 GROUP BY 1 HAVING count(*) > 2 ORDER BY 2;
SELECT count(*), min(x.id) FROM o x WHERE customer = 5 AND id > 7;

-- the entries say where rows are, if that pays
SET citus.round_trip_cost = 0;
SET citus.task_cost = 0;
SELECT reads('SELECT note FROM o WHERE customer = 5'), reads('SELECT note FROM o WHERE customer IN (5, 6) AND state = ''s1''');
SELECT count(note) FROM o WHERE customer = 5;
SELECT count(note) FROM o WHERE customer IN (5, 6) AND state = 's1';
RESET citus.round_trip_cost;
RESET citus.task_cost;

-- they follow the rows
UPDATE o SET total = 0 WHERE id < 100;
UPDATE o SET id = -id WHERE id < 100;
UPDATE o SET state = 's2' WHERE state IS NULL AND id < 0;
UPDATE o SET tenant = tenant + 1 WHERE customer = 5;
UPDATE o SET customer = NULL WHERE customer = 6;
DELETE FROM o WHERE id > 2000;
SELECT citus_check_global_index('o_customer');
SELECT id, tenant, total FROM o WHERE customer = 5 ORDER BY id LIMIT 2;
BEGIN;
INSERT INTO o VALUES (1, 9999, 7, 'x', NULL, 5);
SELECT count(*), sum(total) FROM o WHERE customer = 7;
ROLLBACK;
SELECT count(*), sum(total) FROM o WHERE customer = 7;

-- whoever may read the columns, may do so from entries
CREATE ROLE covering;
GRANT USAGE ON SCHEMA covering TO covering;
PREPARE p(int) AS SELECT id FROM o WHERE customer = $1 ORDER BY 1 LIMIT 1;
EXECUTE p(1);
SET ROLE covering;
SELECT id FROM o WHERE customer = 5;
EXECUTE p(1);
RESET ROLE;
GRANT SELECT (id, customer) ON o TO covering;
SET ROLE covering;
EXECUTE p(1);
SELECT id FROM o WHERE customer = 7 ORDER BY 1 LIMIT 1;
SELECT state FROM o WHERE customer = 7;
RESET ROLE;
ALTER TABLE o ENABLE ROW LEVEL SECURITY;
SET ROLE covering;
EXECUTE p(1);
RESET ROLE;
ALTER TABLE o DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON o FROM covering;
REVOKE ALL ON SCHEMA covering FROM covering;
DROP ROLE covering;

-- the primary key tells rows apart
ALTER TABLE o DROP CONSTRAINT o_pkey;
ALTER TABLE o DROP CONSTRAINT o_pkey, ADD PRIMARY KEY (id, tenant);
ALTER TABLE o ALTER COLUMN id TYPE int;
ALTER TABLE o ALTER COLUMN state TYPE varchar(10);
SELECT citus_check_global_index('o_customer');
CREATE TABLE none (a int, b int);
SELECT create_distributed_table('none', 'a');
CREATE INDEX ON none (b) WHERE citus_global_index();

-- expressions, conditions, partitions, copies of the definition
CREATE INDEX o_x ON o ((total % 7), abs(id)) WHERE citus_global_index() AND id > 5;
SELECT citus_check_global_index('o_x');
CREATE TABLE copied (LIKE o INCLUDING ALL);
SELECT create_distributed_table('copied', 'tenant');
SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'covering' AND tablename = 'copied' ORDER BY 2;
CREATE TABLE parts (t int, at int, k int, PRIMARY KEY (t, at)) PARTITION BY RANGE (at);
CREATE INDEX ON parts (k) WHERE citus_global_index();
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
SELECT create_distributed_table('parts', 't');
INSERT INTO parts SELECT i % 10, i, i FROM generate_series(1, 99) i;
SELECT reads('SELECT t FROM part1 WHERE k = 7');
SELECT t FROM part1 WHERE k = 7;
UPDATE parts SET k = 1000 WHERE at = 7;
SELECT t FROM part1 WHERE k = 1000;
SELECT citus_check_global_index('parts_k_idx');
SET client_min_messages = warning;
DROP SCHEMA covering CASCADE;
