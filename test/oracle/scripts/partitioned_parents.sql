-- Foreign keys between rows of different nodes, to partitioned tables: rows that leave partitions or move between them, actions, modes, attached and detached partitions.
--
-- distribute: meters(place) with none, reads(id) with none, plans(n) with none, tags(n) with none, notes(at) with none, hashes(id) with none, uses(v) with none, tree(t) with none, marks reference, hosts(id) with none, guests(id) with hosts, homes(id) with none, pets(id) with homes, shifts(n) with none, shifted(n) with none, seen reference

CREATE TABLE meters (place int, day int, id int, name text, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE meters_1 PARTITION OF meters FOR VALUES FROM (0) TO (10);
CREATE TABLE meters_2 (name text, id int NOT NULL, gone int, day int NOT NULL, place int);
ALTER TABLE meters_2 DROP COLUMN gone;
ALTER TABLE meters ATTACH PARTITION meters_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE meters_3 PARTITION OF meters FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (id);
CREATE TABLE meters_3a PARTITION OF meters_3 FOR VALUES FROM (0) TO (10);
CREATE TABLE meters_3b PARTITION OF meters_3 DEFAULT;
CREATE TABLE reads (id int, day int, meter int, v int, CONSTRAINT reads_meter FOREIGN KEY (day, meter) REFERENCES meters (day, id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE plans (n int, day int, meter int, CONSTRAINT plans_meter FOREIGN KEY (day, meter) REFERENCES meters DEFERRABLE);
CREATE TABLE tags (n int, day int DEFAULT 0, meter int DEFAULT 0, FOREIGN KEY (day, meter) REFERENCES meters (day, id) ON DELETE SET NULL (meter) ON UPDATE SET DEFAULT);
CREATE TABLE notes (n int, at int, day int, meter int, FOREIGN KEY (day, meter) REFERENCES meters ON UPDATE CASCADE ON DELETE RESTRICT) PARTITION BY LIST (at);
CREATE TABLE notes_1 PARTITION OF notes FOR VALUES IN (1);
CREATE TABLE notes_2 (meter int, day int, at int, n int);
ALTER TABLE notes ATTACH PARTITION notes_2 FOR VALUES IN (2, 3);
CREATE TABLE hashes (id bigint PRIMARY KEY, v int) PARTITION BY HASH (id);
CREATE TABLE hashes_0 PARTITION OF hashes FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE hashes_1 PARTITION OF hashes FOR VALUES WITH (modulus 2, remainder 1);
CREATE TABLE uses (n int, v int, h int REFERENCES hashes ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE marks (n int, h bigint REFERENCES hashes ON DELETE CASCADE ON UPDATE SET NULL);
CREATE TABLE tree (t int, id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED) PARTITION BY RANGE (id);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (10);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (10) TO (200);
CREATE TABLE hosts (id int, day int, PRIMARY KEY (id, day)) PARTITION BY LIST (day);
CREATE TABLE hosts_1 PARTITION OF hosts FOR VALUES IN (1);
CREATE TABLE hosts_2 PARTITION OF hosts FOR VALUES IN (2, 3);
CREATE TABLE guests (id int, day int, code int, FOREIGN KEY (id, day) REFERENCES hosts ON DELETE CASCADE) PARTITION BY RANGE (code);
CREATE TABLE guests_1 PARTITION OF guests FOR VALUES FROM (0) TO (100);
CREATE TABLE guests_2 PARTITION OF guests DEFAULT;
CREATE TABLE homes (id int, day int, PRIMARY KEY (id, day)) PARTITION BY LIST (day);
CREATE TABLE homes_1 PARTITION OF homes FOR VALUES IN (1);
CREATE TABLE homes_2 PARTITION OF homes FOR VALUES IN (2, 3);
CREATE TABLE pets (id int, day int, n int, FOREIGN KEY (id, day) REFERENCES homes ON UPDATE CASCADE);
CREATE TABLE shifts (n int, day int PRIMARY KEY) PARTITION BY RANGE (day);
CREATE TABLE shifts_1 PARTITION OF shifts FOR VALUES FROM (0) TO (2);
CREATE TABLE shifts_2 PARTITION OF shifts FOR VALUES FROM (2) TO (3);
CREATE TABLE shifts_3 PARTITION OF shifts FOR VALUES FROM (3) TO (9);
CREATE TABLE shifted (n int, day int REFERENCES shifts ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE seen (what text);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO o_partitioned_parents.seen VALUES (concat_ws(' ', TG_TABLE_NAME, TG_OP, OLD, NEW));
	RETURN NULL;
END $$;
INSERT INTO meters SELECT i % 3, i % 40, i % 13, 'm' || i FROM generate_series(0, 79) i;
INSERT INTO meters VALUES (0, 0, 0, 'none') ON CONFLICT DO NOTHING;
INSERT INTO reads SELECT i, i % 40, i % 13, i FROM generate_series(0, 79) i;
INSERT INTO hashes SELECT i, i FROM generate_series(1, 30) i;
INSERT INTO uses SELECT i, i % 4, i % 30 + 1 FROM generate_series(1, 60) i;
INSERT INTO marks SELECT i, i FROM generate_series(1, 10) i;
INSERT INTO tree SELECT i, i, nullif(i / 2, 0) FROM generate_series(1, 31) i;
INSERT INTO hosts SELECT i, i % 3 + 1 FROM generate_series(1, 20) i;
INSERT INTO shifts SELECT i, i FROM generate_series(1, 8) i;
INSERT INTO shifted SELECT i, i FROM generate_series(1, 8) i;
INSERT INTO homes SELECT i, i % 2 + 1 FROM generate_series(1, 20) i;
INSERT INTO pets SELECT i, 1, i FROM generate_series(2, 10, 2) i;
INSERT INTO guests SELECT i, i % 3 + 1, i * 9 FROM generate_series(1, 20) i;

-- setup ends
INSERT INTO reads VALUES (100, 5, 99, 1); -- both fail
INSERT INTO reads VALUES (100, 15, 99, 1); -- both fail
INSERT INTO reads VALUES (100, 25, 99, 1), (101, 5, 5, 1); -- both fail
INSERT INTO reads VALUES (100, 45, 1, 1); -- both fail
INSERT INTO reads VALUES (100, 5, 5, 1), (101, 15, 2, 2), (102, 25, 12, 3), (103, NULL, 99, 4);
UPDATE reads SET meter = 77 WHERE id = 100; -- both fail
UPDATE reads SET day = 15, meter = 2 WHERE id = 100 RETURNING *;

-- rows that go, change, or move
SELECT * FROM reads WHERE day < 4 ORDER BY id;
DELETE FROM meters WHERE day = 1;
DELETE FROM meters_1 WHERE day = 2;
DELETE FROM meters_3 WHERE day = 23;
DELETE FROM meters_3b WHERE day = 25;
SELECT * FROM reads ORDER BY id;
UPDATE meters SET id = id + 100 WHERE day IN (3, 14, 26);
UPDATE meters SET name = name || '!' WHERE day = 4;
UPDATE meters_2 SET id = id + 200 WHERE day = 15;
SELECT * FROM reads ORDER BY id;
UPDATE meters SET day = day + 10 WHERE day = 6;
UPDATE meters SET day = 7, id = id + 500 WHERE day IN (17, 27);
UPDATE meters_3 SET id = id + 50 WHERE day = 21;
UPDATE meters SET day = 31, id = id + 50 WHERE day = 28 RETURNING *;
UPDATE meters_1 SET day = 19 WHERE day = 8; -- both fail
SELECT * FROM reads ORDER BY id;
SELECT place, day, id, name FROM meters ORDER BY day, id;
UPDATE meters SET day = 39 - day WHERE id = 1001 OR day IN (9, 11) RETURNING day, id;
UPDATE meters SET place = place + 1, day = day + 1, id = id + 1000 WHERE day IN (9, 10, 19, 20, 29);
SELECT * FROM reads ORDER BY id;

-- no action, at once and deferred
INSERT INTO plans SELECT 1, day, id FROM meters WHERE day IN (0, 5, 12, 13, 33);
DELETE FROM meters WHERE day = 5; -- both fail
DELETE FROM meters WHERE day = 33; -- both fail
UPDATE meters SET id = id + 1 WHERE day = 12; -- both fail
UPDATE meters SET day = 32, id = id + 900 WHERE day = 12; -- both fail
BEGIN;
SET CONSTRAINTS plans_meter DEFERRED;
DELETE FROM meters WHERE day = 5;
INSERT INTO meters VALUES (1, 5, 5, 'again'), (2, 5, 45 % 13, 'again');
INSERT INTO plans VALUES (2, 5, 5);
COMMIT;
BEGIN;
SET CONSTRAINTS plans_meter DEFERRED;
UPDATE meters SET day = 35, id = id + 900 WHERE day = 12;
SELECT count(*) FROM meters WHERE day = 35;
UPDATE meters SET day = 12, id = id - 900 WHERE day = 35 AND id >= 900;
SET CONSTRAINTS ALL IMMEDIATE;
COMMIT;
BEGIN;
SET CONSTRAINTS plans_meter DEFERRED;
UPDATE meters SET day = 35, id = id + 900 WHERE day = 12;
SAVEPOINT s;
SET CONSTRAINTS plans_meter IMMEDIATE; -- both fail
ROLLBACK TO s;
UPDATE plans SET day = 35, meter = meter + 900 WHERE day = 12;
COMMIT;
BEGIN;
SET CONSTRAINTS plans_meter DEFERRED;
SAVEPOINT s;
DELETE FROM meters WHERE day = 13;
ROLLBACK TO s;
INSERT INTO plans VALUES (3, 13, 13 + 26);
DELETE FROM plans WHERE n = 3;
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
DELETE FROM meters_1 WHERE day = 0;
COMMIT; -- both fail
SELECT * FROM plans ORDER BY n, day, meter;
SELECT * FROM reads ORDER BY id;

-- other actions
INSERT INTO tags SELECT row_number() OVER (ORDER BY day, id), day, id FROM meters WHERE day IN (4, 5, 14, 34, 38);
DELETE FROM meters WHERE day = 38;
DELETE FROM meters WHERE day = 14;
UPDATE meters SET id = id + 60 WHERE day = 4;
UPDATE meters SET day = 16, id = id + 3000 WHERE day = 34;
SELECT * FROM tags ORDER BY n;
INSERT INTO notes SELECT 1, at, day, id FROM meters, generate_series(1, 3) at WHERE day IN (16, 36);
INSERT INTO notes VALUES (1, 1, 16, 999); -- both fail
INSERT INTO notes VALUES (1, 2, 16, 999); -- both fail
DELETE FROM meters WHERE day = 36; -- both fail
UPDATE meters SET id = id + 7000 WHERE day = 36;
UPDATE meters SET day = 2, id = id + 9000 WHERE day = 16 AND id > 1000;
SELECT n, at, day, meter FROM notes ORDER BY at, day, meter;
UPDATE notes SET at = 3 - at WHERE at < 3;
DELETE FROM notes WHERE at = 2 AND day = 2;
DELETE FROM meters WHERE day = 2; -- both fail
MERGE INTO meters m USING (VALUES (36), (77)) x (d) ON day = d WHEN MATCHED THEN UPDATE SET day = 3, id = id + 1 WHEN NOT MATCHED THEN INSERT VALUES (1, 9, 9, 'merged');
SELECT n, at, day, meter FROM notes ORDER BY at, day, meter;
WITH gone AS (DELETE FROM notes RETURNING day, meter) DELETE FROM meters WHERE (day, id) IN (SELECT day, meter FROM gone); -- both fail
DELETE FROM notes;
TRUNCATE meters; -- both fail
TRUNCATE meters_1; -- both fail
SELECT count(*) FROM meters;

-- partitions that come and go
CREATE TABLE meters_5 PARTITION OF meters FOR VALUES FROM (40) TO (50);
INSERT INTO reads VALUES (200, 45, 1, 1); -- both fail
INSERT INTO meters VALUES (1, 45, 1, 'new'), (1, 46, 1, 'new');
INSERT INTO reads VALUES (200, 45, 1, 1), (201, 46, 1, 1), (202, 46, 1, 1);
UPDATE meters SET day = 7, id = 4500 WHERE day = 45;
DELETE FROM meters_5 WHERE day = 46;
SELECT * FROM reads WHERE id >= 200 ORDER BY id;
CREATE TABLE meters_6 (id int NOT NULL, day int NOT NULL, name text, place int);
INSERT INTO meters_6 VALUES (1, 55, 'old', 1), (2, 56, 'old', 1);
ALTER TABLE meters ATTACH PARTITION meters_6 FOR VALUES FROM (50) TO (60);
INSERT INTO reads VALUES (300, 55, 1, 1), (301, 56, 2, 1);
INSERT INTO reads VALUES (302, 56, 1, 1); -- both fail
UPDATE meters_6 SET id = 3 WHERE day = 55;
DELETE FROM meters WHERE day = 56;
SELECT * FROM reads WHERE id >= 300 ORDER BY id;
ALTER TABLE meters DETACH PARTITION meters_6; -- both fail
DROP TABLE meters_6; -- both fail
DROP TABLE meters_5; -- both fail
DELETE FROM reads WHERE id >= 300;
ALTER TABLE meters DETACH PARTITION meters_6;
DELETE FROM meters_6;
INSERT INTO meters_6 VALUES (7, 57, 'back', 1);
INSERT INTO reads VALUES (302, 57, 7, 1); -- both fail
ALTER TABLE meters ATTACH PARTITION meters_6 FOR VALUES FROM (50) TO (60);
INSERT INTO reads VALUES (302, 57, 7, 1);
DELETE FROM meters_6 WHERE day = 57;
SELECT * FROM reads WHERE id >= 300 ORDER BY id;
ALTER TABLE meters DETACH PARTITION meters_5;
DROP TABLE meters_5;
ALTER TABLE meters DETACH PARTITION meters_3; -- both fail
ALTER TABLE notes DETACH PARTITION notes_1;
INSERT INTO notes_1 VALUES (1, 1, 57, 7); -- both fail
INSERT INTO notes_1 SELECT 1, 1, day, id FROM meters WHERE day = 0;
INSERT INTO notes SELECT 1, 2, day, id FROM meters WHERE day = 0;
UPDATE meters SET id = id + 60 WHERE day = 0; -- both fail
DELETE FROM plans;
UPDATE meters SET day = 11, id = id + 80 WHERE day = 0 AND id > 0;
SELECT n, day, meter FROM notes_1 ORDER BY 1, 2, 3;
SELECT n, day, meter FROM notes ORDER BY 1, 2, 3;
ALTER TABLE notes ATTACH PARTITION notes_1 FOR VALUES IN (1);
UPDATE meters SET day = 1 WHERE day = 11 AND id >= 80;
SELECT n, at, day, meter FROM notes ORDER BY 1, 2, 3, 4;
DELETE FROM meters WHERE day = 1; -- both fail
DELETE FROM notes;

-- the constraint itself
ALTER TABLE reads DROP CONSTRAINT reads_meter;
INSERT INTO reads VALUES (400, 5, 99, 1);
ALTER TABLE reads ADD CONSTRAINT reads_meter FOREIGN KEY (day, meter) REFERENCES meters; -- both fail
ALTER TABLE reads ADD CONSTRAINT reads_meter FOREIGN KEY (day, meter) REFERENCES meters NOT VALID;
INSERT INTO reads VALUES (401, 5, 99, 1); -- both fail
ALTER TABLE reads VALIDATE CONSTRAINT reads_meter; -- both fail
DELETE FROM reads WHERE id = 400;
ALTER TABLE reads VALIDATE CONSTRAINT reads_meter;
INSERT INTO reads VALUES (401, 5, 99, 1); -- both fail
DELETE FROM meters WHERE day = 5; -- both fail
ALTER TABLE reads ALTER CONSTRAINT reads_meter DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO reads VALUES (401, 5, 99, 1);
UPDATE meters SET day = 17, id = id + 5000 WHERE day = 5;
INSERT INTO meters VALUES (1, 5, 99, 'late');
UPDATE reads SET day = 17, meter = meter + 5000 WHERE day = 5 AND meter <> 99;
COMMIT;
BEGIN;
DELETE FROM meters WHERE day = 17;
COMMIT; -- both fail
SELECT * FROM reads ORDER BY id;
-- same schema
ALTER TABLE reads RENAME CONSTRAINT reads_meter TO reads_of_meter;
DELETE FROM meters WHERE day = 17; -- both fail
ALTER TABLE meters ADD COLUMN more int;
ALTER TABLE meters DROP COLUMN more;
DELETE FROM reads WHERE day = 17 RETURNING id;
DELETE FROM meters WHERE day = 17;
TRUNCATE meters CASCADE;
SELECT count(*) FROM reads;

-- keys with the distribution column, other types, a reference table
INSERT INTO uses VALUES (100, 1, 99); -- both fail
INSERT INTO marks VALUES (100, 99); -- both fail
DELETE FROM hashes WHERE id IN (3, 4);
UPDATE hashes SET id = id + 100 WHERE id IN (5, 6, 7, 8);
UPDATE hashes SET id = id + 1000 WHERE v BETWEEN 9 AND 12 RETURNING id;
DELETE FROM hashes_0 WHERE v = 13;
DELETE FROM hashes_1 WHERE v = 13;
SELECT * FROM uses ORDER BY n;
SELECT * FROM marks ORDER BY n;
DELETE FROM hashes;
SELECT count(*), count(h) FROM uses;

-- a table that references itself
UPDATE tree SET id = id + 100 WHERE id = 3;
UPDATE tree SET id = 5 WHERE id = 31;
UPDATE tree SET id = 31 WHERE id = 5;
UPDATE tree SET id = 9 WHERE id = 9;
SELECT * FROM tree ORDER BY t;
INSERT INTO tree VALUES (50, 50, 51);
BEGIN;
INSERT INTO tree VALUES (50, 50, 51), (51, 51, 8), (52, 52, 53);
UPDATE tree SET id = 53, up = 50 WHERE id = 51;
COMMIT;
SELECT * FROM tree ORDER BY t;
BEGIN;
INSERT INTO tree VALUES (50, 50, 51), (51, 51, 8), (52, 52, 50);
UPDATE tree SET id = 1, up = NULL WHERE id = 1;
UPDATE tree SET id = 0 WHERE id = 50;
COMMIT;
DELETE FROM tree WHERE id = 8;
SELECT * FROM tree ORDER BY t;
ALTER TABLE tree DETACH PARTITION tree_1; -- both fail
TRUNCATE tree;

-- an action that fires a trigger, of tables that are both partitioned
SELECT * FROM guests ORDER BY code;
DELETE FROM hosts WHERE id = 1;
CREATE TRIGGER look AFTER INSERT OR UPDATE OR DELETE ON guests FOR EACH ROW EXECUTE FUNCTION look();
DELETE FROM hosts WHERE id IN (2, 3, 14);
INSERT INTO guests VALUES (5, 1, 500); -- both fail
INSERT INTO guests VALUES (5, 3, 500);
UPDATE hosts SET day = 2 WHERE id = 5; -- both fail
UPDATE hosts SET day = 1 WHERE id = 5; -- both fail
DELETE FROM guests WHERE id = 5;
UPDATE hosts SET day = 1 WHERE id = 5;
INSERT INTO guests VALUES (5, 1, 500);
DELETE FROM hosts_1 WHERE id = 5;
SELECT * FROM guests ORDER BY code;
SELECT what FROM seen ORDER BY what;
CREATE TABLE hosts_4 PARTITION OF hosts FOR VALUES IN (4);
INSERT INTO hosts VALUES (40, 4);
INSERT INTO guests VALUES (40, 4, 1000);
CREATE TABLE guests_3 PARTITION OF guests FOR VALUES FROM (2000) TO (3000);
INSERT INTO guests VALUES (40, 4, 2000);
INSERT INTO guests VALUES (41, 4, 2000); -- both fail
ALTER TABLE hosts DETACH PARTITION hosts_4; -- both fail
DELETE FROM hosts WHERE id = 40;
SELECT what FROM seen WHERE what LIKE '%40,4%' ORDER BY what;
ALTER TABLE hosts DETACH PARTITION hosts_4;
DROP TABLE hosts_1; -- both fail
DROP TABLE hosts_1 CASCADE;
INSERT INTO guests VALUES (99, 9, 9);
DROP TABLE hosts;
SELECT count(*) FROM guests;

-- each key becomes that of a row in another partition
UPDATE shifts SET day = day - 1;
SELECT * FROM shifted ORDER BY n;
UPDATE shifts SET day = 8 WHERE day = 0;
SELECT * FROM shifted ORDER BY n;
WITH gone AS (DELETE FROM shifts WHERE day = 1) UPDATE shifts SET day = 0 WHERE day = 2;
SELECT * FROM shifted ORDER BY n;

-- a key within shards
ALTER TABLE homes DETACH PARTITION homes_1; -- both fail
ALTER TABLE homes DETACH PARTITION homes_2;
INSERT INTO pets VALUES (3, 2, 1); -- both fail
ALTER TABLE homes ATTACH PARTITION homes_2 FOR VALUES IN (2, 3);
INSERT INTO pets VALUES (3, 2, 1);
UPDATE homes SET day = 2 WHERE id = 4;
SELECT * FROM pets ORDER BY id, n;
