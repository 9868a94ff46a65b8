-- Global indexes of partitioned tables, and of generated columns.
CREATE SCHEMA global_index_tables;
SET search_path = global_index_tables;
SET citus.global_indexes = on;
\set SHOW_CONTEXT never

-- each partition has its own entries
CREATE TABLE events (id bigint, at date, tenant int, what text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
SELECT create_distributed_table('events', 'tenant');
CREATE TABLE events_2 (what text, tenant int, gone int, at date NOT NULL, id bigint NOT NULL);
ALTER TABLE events_2 DROP COLUMN gone;
ALTER TABLE events ATTACH PARTITION events_2 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY LIST (at);
CREATE TABLE events_3a PARTITION OF events_3 DEFAULT;
INSERT INTO events SELECT i, date '2024-06-01' + 365 * (i % 3), i % 10, 'e' || i FROM generate_series(1, 60) i;
INSERT INTO events VALUES (1, '2025-06-01', 5, 'again');
INSERT INTO events VALUES (2, '2025-06-01', 5, 'again');
INSERT INTO events_3 VALUES (2, '2026-06-01', 5, 'again');
INSERT INTO events_1 VALUES (3, '2024-06-01', 5, 'again');
COPY events FROM STDIN;
4	2025-06-01	7	copied
\.
SELECT citus_check_global_index(i) FROM unnest('{events_pkey,events_1_pkey,events_2_pkey,events_3_pkey,events_3a_pkey}'::regclass[]) i;
UPDATE events SET tenant = 6 WHERE id = 2;
UPDATE events SET id = 3 WHERE id = 5;
UPDATE events SET id = 5 WHERE id = 8 AND at < '2026-01-01';
UPDATE events SET at = '2025-06-01' WHERE id = 3;
UPDATE events SET at = '2024-06-01' WHERE at = '2025-06-01' AND id IN (4, 10);
INSERT INTO events VALUES (3, '2025-06-01', 9, 'again 3');
INSERT INTO events VALUES (3, '2024-06-01', 9, 'free');
MERGE INTO events USING (VALUES (4), (400)) v (x) ON id = x AND tenant = 4 WHEN MATCHED THEN UPDATE SET id = 401
	WHEN NOT MATCHED THEN INSERT VALUES (x, '2024-01-01', 3, 'merged');
DELETE FROM events WHERE id BETWEEN 20 AND 30;
SELECT what FROM events WHERE id = 2 AND at = '2025-06-01';
SELECT what FROM events_1 WHERE id = 3 AND at = '2024-06-01';
INSERT INTO events VALUES (3, '2024-06-01', 1, 'other') ON CONFLICT DO NOTHING;
INSERT INTO events_1 VALUES (3, '2024-06-01', 1, 'other') ON CONFLICT (id, at) DO UPDATE SET what = 'upserted' RETURNING *;
SELECT citus_check_global_index(i) FROM unnest('{events_pkey,events_1_pkey,events_2_pkey,events_3_pkey,events_3a_pkey}'::regclass[]) i;

-- a second key, detached and attached again, dropped
CREATE UNIQUE INDEX events_what ON events (what, at);
INSERT INTO events VALUES (1000, '2024-06-01', 2, 'e9');
ALTER TABLE events DETACH PARTITION events_1;
INSERT INTO events_1 VALUES (3, '2024-06-01', 5, 'again');
INSERT INTO events_1 VALUES (1001, '2024-06-01', 5, 'detached');
ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO events VALUES (1001, '2024-06-01', 6, 'again');
SELECT citus_check_global_index('events_what'), citus_check_global_index('events_pkey');
TRUNCATE events_1;
INSERT INTO events VALUES (1001, '2024-06-01', 6, 'again');
DROP TABLE events_1;
DROP INDEX events_what;
SELECT citus_check_global_index('events_pkey', repair => true);
TRUNCATE events;
INSERT INTO events VALUES (3, '2025-06-01', 9, 'new');
SELECT citus_check_global_index('events_pkey');
SELECT undistribute_table('events');
SELECT create_distributed_table('events', 'tenant');
INSERT INTO events VALUES (3, '2025-06-01', 10, 'new');

-- triggers of users beside them
CREATE FUNCTION count_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %', TG_TABLE_NAME, TG_OP, (SELECT count(*) FROM events);
	RETURN NEW;
END $$;
CREATE TRIGGER a AFTER INSERT OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION count_events();
CREATE TRIGGER b BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION count_events();
INSERT INTO events VALUES (4, '2025-06-01', 10, 'new'), (4, '2026-06-01', 10, 'new');
UPDATE events SET at = '2026-06-02', id = 5, tenant = 2 WHERE id = 4 AND at < '2026-01-01';
INSERT INTO events VALUES (4, '2026-06-01', 11, 'new');
SELECT citus_check_global_index('events_pkey'), count(*) FROM events;
DROP TABLE events;
DROP FUNCTION count_events;

-- keys that are computed from other columns
CREATE TABLE names (t int, name text, folded text GENERATED ALWAYS AS (lower(name)) STORED, UNIQUE (folded));
SELECT create_distributed_table('names', 't');
INSERT INTO names VALUES (1, 'Ann'), (2, 'Bob');
INSERT INTO names VALUES (3, 'ANN');
UPDATE names SET name = 'ANN' WHERE t = 2;
UPDATE names SET name = 'Cid' WHERE t = 1;
UPDATE names SET name = 'ANN' WHERE t = 2;
SELECT * FROM names WHERE folded = 'ann';
INSERT INTO names VALUES (4, 'ann') ON CONFLICT (folded) DO UPDATE SET name = 'Dan' RETURNING *;
INSERT INTO names VALUES (4, 'dAN'), (4, 'Fay') ON CONFLICT DO NOTHING RETURNING *;
DELETE FROM names WHERE folded = 'cid';
COPY names FROM STDIN;
5	Eve
6	DAN
\.
SELECT citus_check_global_index('names_folded_key');
SELECT * FROM names ORDER BY t;

-- rows without a distribution value
CREATE TABLE nowhere (t text, k int UNIQUE, n int);
SELECT create_distributed_table('nowhere', 't');
INSERT INTO nowhere SELECT CASE WHEN i % 3 > 0 THEN 't' || i END, i, i FROM generate_series(1, 30) i;
INSERT INTO nowhere VALUES ('x', 3);
INSERT INTO nowhere VALUES (NULL, 4);
SELECT * FROM nowhere WHERE k = 3;
UPDATE nowhere SET n = 33 WHERE k = 3;
SET citus.round_trip_cost = 0;
SET citus.task_cost = 0;
SELECT count(*), sum(n) FROM nowhere WHERE k IN (3, 4, 5);
ALTER TABLE nowhere ADD COLUMN s int NOT NULL DEFAULT 1;
RESET citus.round_trip_cost;
RESET citus.task_cost;
INSERT INTO nowhere VALUES ('x', 3) ON CONFLICT (k) DO UPDATE SET n = 34, t = excluded.t RETURNING *;
INSERT INTO nowhere VALUES ('y', 6), (NULL, 7), (NULL, 31) ON CONFLICT (k) DO UPDATE SET t = excluded.t RETURNING *;
UPDATE nowhere SET t = NULL WHERE k IN (1, 2);
INSERT INTO nowhere VALUES ('x', 1);
DELETE FROM nowhere WHERE t IS NULL;
INSERT INTO nowhere VALUES (NULL, 1);
SELECT citus_check_global_index('nowhere_k_key'), count(*) FROM nowhere;
SET client_min_messages = warning;
DROP SCHEMA global_index_tables CASCADE;
