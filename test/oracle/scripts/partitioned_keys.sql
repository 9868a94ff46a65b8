-- Foreign keys between rows of different nodes, of partitioned tables: from all partitions, attached, detached, with other columns' order.
--
-- distribute: users(tenant) with none, events(tenant) with none, logs(id) with none, owners(id) with none, parts(t) with owners

CREATE TABLE users (tenant int, id int PRIMARY KEY, name text);
CREATE TABLE events (tenant int, at int, who int, v int, CONSTRAINT events_who FOREIGN KEY (who) REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (10);
CREATE TABLE events_2 (v int, who int, at int, tenant int);
ALTER TABLE events ATTACH PARTITION events_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (20) TO (40) PARTITION BY LIST (v);
CREATE TABLE events_3a PARTITION OF events_3 FOR VALUES IN (1, 2, 3);
CREATE TABLE events_3b PARTITION OF events_3 DEFAULT;
CREATE TABLE logs (id int, at int, who int) PARTITION BY LIST (at);
CREATE TABLE logs_1 PARTITION OF logs FOR VALUES IN (1, 2);
CREATE TABLE logs_2 PARTITION OF logs FOR VALUES IN (3);
CREATE TABLE owners (id int PRIMARY KEY);
CREATE TABLE parts (t int REFERENCES owners ON DELETE CASCADE, day int, id int, note text, UNIQUE (day, id)) PARTITION BY LIST (day);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 (id int, note text, day int, t int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES IN (2);
INSERT INTO owners SELECT generate_series(1, 9);
INSERT INTO parts SELECT i % 9 + 1, i % 2 + 1, i FROM generate_series(1, 30) i;
INSERT INTO users SELECT i % 4, i, 'u' || i FROM generate_series(1, 20) i;
INSERT INTO events SELECT i % 3, i % 40, i % 20 + 1, i % 5 FROM generate_series(1, 80) i;
INSERT INTO logs SELECT i, i % 3 + 1, i FROM generate_series(1, 20) i;

-- setup ends
ALTER TABLE logs ADD CONSTRAINT logs_who FOREIGN KEY (who) REFERENCES users (id) ON DELETE SET NULL;
INSERT INTO events VALUES (1, 5, 99, 1); -- both fail
INSERT INTO events VALUES (1, 15, 99, 1); -- both fail
INSERT INTO events VALUES (1, 25, 99, 1); -- both fail
INSERT INTO events_2 VALUES (1, 99, 15, 1); -- both fail
INSERT INTO events_3 VALUES (1, 25, 99, 7); -- both fail
INSERT INTO events_3a VALUES (1, 25, 99, 1); -- both fail
INSERT INTO events VALUES (1, 5, 20, 1), (1, 15, 20, 1), (1, 25, NULL, 1), (1, 35, 20, 9);
INSERT INTO events SELECT 1, i, 21, 1 FROM generate_series(5, 35, 10) i; -- both fail
UPDATE events SET who = 50 WHERE at = 15; -- both fail
UPDATE events SET who = 19 WHERE at = 15 RETURNING *;
UPDATE events SET at = at + 10, who = 18 WHERE at BETWEEN 5 AND 9;
UPDATE events SET at = at + 10, who = 77 WHERE at = 19; -- both fail
UPDATE events_2 SET who = 78 WHERE at = 17; -- both fail
DELETE FROM users WHERE id = 18;
SELECT tenant, at, who, v FROM events ORDER BY 1, 2, 3, 4;
UPDATE users SET id = 118 WHERE id = 17;
SELECT tenant, at, who, v FROM events ORDER BY 1, 2, 3, 4;
SELECT * FROM logs ORDER BY id;
INSERT INTO logs VALUES (100, 1, 500); -- both fail
INSERT INTO logs VALUES (100, 1, 118), (101, 3, 118);
DELETE FROM users WHERE id = 118;
SELECT * FROM logs ORDER BY id;
CREATE TABLE events_4 PARTITION OF events FOR VALUES FROM (40) TO (50);
INSERT INTO events VALUES (1, 45, 99, 1); -- both fail
INSERT INTO events VALUES (1, 45, 5, 1);
CREATE TABLE events_5 (tenant int, at int, who int, v int);
INSERT INTO events_5 VALUES (1, 55, 98, 1);
ALTER TABLE events ATTACH PARTITION events_5 FOR VALUES FROM (50) TO (60); -- both fail
UPDATE events_5 SET who = 6;
ALTER TABLE events ATTACH PARTITION events_5 FOR VALUES FROM (50) TO (60);
INSERT INTO events VALUES (1, 56, 99, 1); -- both fail
DELETE FROM users WHERE id IN (5, 6);
SELECT tenant, at, who, v FROM events WHERE at > 30 ORDER BY 1, 2, 3, 4;
ALTER TABLE events DETACH PARTITION events_1;
INSERT INTO events_1 VALUES (1, 5, 99, 1); -- both fail
INSERT INTO events_1 VALUES (1, 5, 7, 1);
DELETE FROM users WHERE id = 7;
SELECT tenant, at, who, v FROM events_1 ORDER BY 1, 2, 3, 4;
SELECT tenant, at, who, v FROM events ORDER BY 1, 2, 3, 4;
ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (0) TO (10);
CREATE TABLE events_6 (who int REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE, tenant int, at int, v int);
ALTER TABLE events ATTACH PARTITION events_6 FOR VALUES FROM (60) TO (70);
INSERT INTO events VALUES (1, 65, 99, 1); -- both fail
ALTER TABLE events DETACH PARTITION events_6;
ALTER TABLE events_6 DROP CONSTRAINT events_6_who_fkey;
INSERT INTO events_6 VALUES (99, 1, 65, 1);
DROP TABLE events_6;
INSERT INTO events_1 VALUES (1, 5, 99, 1); -- both fail
INSERT INTO events VALUES (1, 5, 99, 1); -- both fail
INSERT INTO events VALUES (1, 5, 8, 1);
DELETE FROM users WHERE id = 8;
SELECT tenant, at, who, v FROM events ORDER BY 1, 2, 3, 4;
BEGIN;
ALTER TABLE events ALTER CONSTRAINT events_who DEFERRABLE INITIALLY DEFERRED;
INSERT INTO events VALUES (1, 5, 300, 1), (1, 15, 300, 1);
INSERT INTO users VALUES (1, 300, 'late');
COMMIT;
BEGIN;
INSERT INTO events VALUES (1, 5, 301, 1), (1, 15, 301, 1);
COMMIT; -- both fail
MERGE INTO events USING (VALUES (300), (302)) x (i) ON who = i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1, 6, 9, 9);
TRUNCATE users; -- both fail
SELECT count(*) FROM events;
ALTER TABLE events DROP CONSTRAINT events_who;
INSERT INTO events VALUES (1, 5, 999, 1);
ALTER TABLE events ADD CONSTRAINT events_who FOREIGN KEY (who) REFERENCES users (id); -- both fail
DELETE FROM events WHERE who = 999;
ALTER TABLE events ADD CONSTRAINT events_who FOREIGN KEY (who) REFERENCES users (id);
DELETE FROM users WHERE id = 10; -- both fail
SELECT tenant, at, who, v FROM events ORDER BY 1, 2, 3, 4;
TRUNCATE users CASCADE;
SELECT count(*) FROM events;

-- an action that changes global indexes
DELETE FROM owners WHERE id = 3;
SELECT t, day, id FROM parts ORDER BY id;
INSERT INTO parts VALUES (4, 1, 2), (4, 2, 11);
INSERT INTO parts VALUES (5, 1, 2); -- both fail
INSERT INTO parts VALUES (3, 1, 200); -- both fail
INSERT INTO parts_2 VALUES (201, NULL, 2, 3); -- both fail
SELECT t FROM parts WHERE day = 2 AND id = 11;
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES IN (3);
INSERT INTO parts SELECT 6, 3, i FROM generate_series(1, 5) i;
DELETE FROM owners WHERE id = 6;
SELECT t, day, id FROM parts ORDER BY id, day;
INSERT INTO parts SELECT 7, 3, i FROM generate_series(1, 5) i;
ALTER TABLE parts DETACH PARTITION parts_3;
DELETE FROM owners WHERE id = 7;
SELECT t, day, id FROM parts_3 ORDER BY id, day;
SELECT t, day, id FROM parts ORDER BY id, day;
INSERT INTO parts_3 VALUES (8, 3, 1);
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES IN (3);
DELETE FROM owners WHERE id = 8;
SELECT t, day, id FROM parts ORDER BY id, day;
ALTER TABLE parts DROP CONSTRAINT parts_t_fkey;
DELETE FROM owners WHERE id = 9;
SELECT t, day, id FROM parts ORDER BY id, day;
DELETE FROM parts WHERE t = 9;
ALTER TABLE parts ADD FOREIGN KEY (t) REFERENCES owners ON DELETE CASCADE ON UPDATE CASCADE;
UPDATE owners SET id = 90 WHERE id = 5;
DELETE FROM owners WHERE id = 4;
SELECT t, day, id FROM parts ORDER BY id, day;
