-- Unique indexes and foreign keys that only single partitions have, for rows that are written by the name of the partitioned table.
--
-- distribute: p(t) with none, users(t) with none, visits(n) with none, spare(t) with p

CREATE TABLE p (t int, day int, id int, v int) PARTITION BY LIST (day);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 (v int, id int, day int, t int);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
CREATE TABLE p3 PARTITION OF p FOR VALUES IN (3, 4) PARTITION BY RANGE (id);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES FROM (0) TO (100);
CREATE TABLE p3b PARTITION OF p3 DEFAULT;
CREATE TABLE spare (t int, day int, id int UNIQUE, v int);
CREATE TABLE users (t int, id int PRIMARY KEY);
CREATE TABLE visits (n int, at int, who int) PARTITION BY LIST (at);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1);
CREATE TABLE visits_2 (who int, at int, n int);
ALTER TABLE visits ATTACH PARTITION visits_2 FOR VALUES IN (2);
INSERT INTO users SELECT i, i FROM generate_series(1, 20) i;
INSERT INTO p SELECT i, i % 4 + 1, i, i FROM generate_series(1, 40) i;
INSERT INTO visits SELECT i, i % 2 + 1, i FROM generate_series(1, 20) i;

-- setup ends
CREATE UNIQUE INDEX p2_id ON p2 (id);
CREATE UNIQUE INDEX p3a_id ON p3a (id) WHERE v > 0;
INSERT INTO p VALUES (100, 2, 5, 1); -- both fail
INSERT INTO p2 VALUES (1, 5, 2, 100); -- both fail
INSERT INTO p VALUES (100, 1, 4, 1) RETURNING *;
INSERT INTO p VALUES (100, 2, 1, 1), (101, 2, 9, 1), (102, 1, 4, 2), (103, 3, 2, 1), (104, 3, 2, 0), (105, 3, 200, 1), (106, 4, 200, 1) ON CONFLICT DO NOTHING;
INSERT INTO p VALUES (100, 2, 51, 1), (101, 2, 51, 2), (102, 2, 52, 1) ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO p SELECT t + 1, day, id, v FROM p ON CONFLICT DO NOTHING;
INSERT INTO p3 SELECT t + 2, day, id, v FROM p WHERE day IN (3, 4) AND id < 100 ON CONFLICT DO NOTHING;
SELECT * FROM p ORDER BY t, day, id, v;
UPDATE p SET id = 52 WHERE id = 51 AND day = 2; -- both fail
UPDATE p SET id = 53 WHERE id = 51 AND day = 2;
UPDATE p SET t = t + 1 WHERE day = 2 AND id = 53;
UPDATE p SET day = 2 WHERE day = 1 AND t = 8;
UPDATE p SET day = 2, id = 53 WHERE day = 1 AND t = 12; -- both fail
UPDATE p SET v = 1 WHERE day = 3 AND t = 104; -- both fail
DELETE FROM p WHERE day = 2 AND id = 52;
INSERT INTO p VALUES (500, 2, 52, 1);
INSERT INTO p VALUES (500, 2, 52, 2) ON CONFLICT (id) DO NOTHING; -- both fail
MERGE INTO p USING (VALUES (52), (54)) x (i) ON id = i AND day = 2 WHEN MATCHED THEN UPDATE SET id = 55 WHEN NOT MATCHED THEN INSERT VALUES (1, 2, i, 7);
INSERT INTO p VALUES (500, 2, 55, 1); -- both fail
SELECT * FROM p WHERE id IN (52, 53, 54, 55) ORDER BY t, day, id, v;
-- statement needs: colocation
INSERT INTO spare VALUES (1, 5, 1, 1), (2, 5, 2, 1);
-- statement needs: colocation
ALTER TABLE p ATTACH PARTITION spare FOR VALUES IN (5);
-- statement needs: colocation
INSERT INTO p VALUES (9, 5, 2, 1); -- both fail
-- statement needs: colocation
INSERT INTO p VALUES (9, 5, 2, 1), (9, 5, 3, 1) ON CONFLICT DO NOTHING;
-- statement needs: colocation
SELECT * FROM p WHERE day = 5 ORDER BY id;
-- statement needs: colocation
ALTER TABLE p DETACH PARTITION spare;
-- statement needs: colocation
INSERT INTO spare VALUES (10, 5, 3, 1); -- both fail
DROP INDEX p2_id;
INSERT INTO p VALUES (500, 2, 55, 1);

-- a foreign key of a single partition
ALTER TABLE visits_2 ADD CONSTRAINT visits_who FOREIGN KEY (who) REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE;
INSERT INTO visits VALUES (1, 1, 99);
INSERT INTO visits VALUES (1, 2, 99); -- both fail
INSERT INTO visits VALUES (1, 2, 7), (2, 1, 7);
UPDATE visits SET who = 98 WHERE at = 2 AND n = 1; -- both fail
UPDATE visits SET at = 2 WHERE who = 99; -- both fail
UPDATE visits SET at = 2 WHERE who = 8;
DELETE FROM users WHERE id IN (3, 6, 7, 8);
UPDATE users SET id = id + 100 WHERE id = 9;
SELECT * FROM visits ORDER BY n, at, who;
ALTER TABLE visits_2 ADD CONSTRAINT visits_key UNIQUE (who);
ALTER TABLE visits_2 DROP CONSTRAINT visits_who;
INSERT INTO visits VALUES (1, 2, 999);
INSERT INTO visits VALUES (2, 2, 999); -- both fail
INSERT INTO visits VALUES (2, 2, 999) ON CONFLICT DO NOTHING;
SELECT * FROM visits WHERE who > 90 ORDER BY n, at, who;
