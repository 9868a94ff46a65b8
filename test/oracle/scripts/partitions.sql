-- Partitioned tables: several levels, all strategies, partitions that come and go.

-- needs: citus.enable_fast_path_router_planner
-- distribute: e(id), h(k), l(id) with e, s single, x(id) with e, x2(id) with e, idp(id), r reference, u(id) with e

CREATE TABLE r (k int PRIMARY KEY, name text);
INSERT INTO r SELECT i, 'name ' || i FROM generate_series(0, 9) i;
CREATE TABLE e (id int, at date NOT NULL, v text, n int CHECK (n > -100), k int REFERENCES r) PARTITION BY RANGE (at);
CREATE TABLE e1 PARTITION OF e FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
CREATE TABLE e2 PARTITION OF e FOR VALUES FROM ('2020-02-01') TO ('2020-03-01') PARTITION BY LIST (v);
CREATE TABLE e2a PARTITION OF e2 FOR VALUES IN ('a', 'b', NULL);
CREATE TABLE e2d PARTITION OF e2 DEFAULT;
CREATE INDEX ON e (v);
INSERT INTO e SELECT i, '2020-01-01'::date + i % 58, nullif(substr('abcd ', 1 + i % 5, 1), ' '), i, i % 10
FROM generate_series(1, 100) i;

CREATE TABLE h (k text, n int) PARTITION BY HASH (n);
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO h SELECT 'k' || i, i FROM generate_series(1, 50) i;

CREATE TABLE l (id int, tag text, n int, UNIQUE (id, tag)) PARTITION BY LIST (tag);
CREATE TABLE l_one PARTITION OF l FOR VALUES IN ('one');
CREATE TABLE l_rest PARTITION OF l DEFAULT;
INSERT INTO l SELECT i, CASE i % 3 WHEN 0 THEN 'one' WHEN 1 THEN 'two' ELSE 'three' END, i FROM generate_series(1, 60) i;

CREATE TABLE s (id int, n int) PARTITION BY RANGE (n);
CREATE TABLE s_low PARTITION OF s FOR VALUES FROM (MINVALUE) TO (50);
CREATE TABLE s_high PARTITION OF s FOR VALUES FROM (50) TO (MAXVALUE);
INSERT INTO s SELECT i, i FROM generate_series(1, 99) i;
CREATE TABLE u (id int, n int);
INSERT INTO u SELECT i, i FROM generate_series(1, 30) i;

-- setup ends

SELECT count(*), sum(n), count(v) FROM e;
SELECT id, v FROM e WHERE id = 7;
SELECT tableoid::regclass::text, count(*), sum(id) FROM e GROUP BY 1 ORDER BY 1;
SELECT tableoid::regclass::text, id FROM e WHERE id = 7;
SELECT count(*) FROM ONLY e;
SELECT count(*) FROM e1;
SELECT count(*) FROM e2;
SELECT count(*) FROM ONLY e2;
SELECT sum(n) FROM e WHERE at >= '2020-02-01' AND v = 'a';
SELECT at, count(*) FROM e WHERE at BETWEEN '2020-01-30' AND '2020-02-02' GROUP BY at ORDER BY at;
SELECT e.id, name FROM e JOIN r USING (k) WHERE e.id < 5 ORDER BY 1;
SELECT e.id, u.n FROM e JOIN u USING (id) WHERE u.n > 25 ORDER BY 1;
SELECT e.id, l.tag FROM e JOIN l USING (id) WHERE e.id = 9;
SELECT count(*) FROM e, h WHERE e.n = h.n;
SELECT count(*) FROM s WHERE n < 60;
SELECT tableoid::regclass::text, count(*) FROM s GROUP BY 1 ORDER BY 1;
SELECT count(*), count(DISTINCT tableoid) FROM h;
SELECT * FROM h WHERE k = 'k7';
SELECT id FROM e WHERE n = (SELECT max(n) FROM e1);
SELECT id FROM e e1 WHERE EXISTS (SELECT FROM l WHERE l.id = e1.id AND tag = 'one') AND id < 20 ORDER BY 1;
SELECT id FROM e WHERE id < 4 ORDER BY id FOR UPDATE;

INSERT INTO e VALUES (500, '2020-01-05', 'x', 5) RETURNING *;
INSERT INTO e VALUES (501, '2020-02-05', 'z', 5), (502, '2020-01-05', 'a', 5);
INSERT INTO e VALUES (503, '2021-02-05', 'z', 5);
INSERT INTO e VALUES (503, '2020-01-05', 'z', -500);
INSERT INTO e VALUES (503, '2020-01-05', 'z', 5, 77);
INSERT INTO e1 VALUES (503, '2020-02-05', 'z', 5);
INSERT INTO e1 VALUES (504, '2020-01-06', 'z', 5);
INSERT INTO e (id, at, n) SELECT id + 1000, '2020-01-09', n FROM u;
INSERT INTO e SELECT id + 2000, at, v, n FROM e WHERE id < 20;
INSERT INTO l VALUES (3, 'one', 8) ON CONFLICT (id, tag) DO UPDATE SET n = excluded.n + l.n RETURNING *;
INSERT INTO l SELECT i, 'one', 0 FROM generate_series(1, 9) i ON CONFLICT DO NOTHING;
INSERT INTO l VALUES (3, 'one', 8);
SELECT count(*), sum(n) FROM l;
COPY e (id, at, v, n) FROM STDIN;
3000	2020-01-03	a	3
3001	2020-02-03	a	3
3002	2020-02-04	q	3
\.
SELECT tableoid::regclass::text, count(*) FROM e GROUP BY 1 ORDER BY 1;
-- ordered
COPY (SELECT id, v FROM e WHERE id >= 3000 ORDER BY id) TO STDOUT;
UPDATE e SET n = n + 1 WHERE id = 500 RETURNING *;
UPDATE e SET at = '2020-02-10' WHERE id = 500 RETURNING *;
SELECT tableoid::regclass::text FROM e WHERE id = 500;
UPDATE e SET at = '2022-02-10' WHERE id = 500;
UPDATE e SET n = n + 1 WHERE at < '2020-02-01';
UPDATE e SET v = 'b' WHERE v = 'd';
UPDATE e SET v = r.name FROM r WHERE r.k = e.k AND e.id < 10;
UPDATE e2a SET n = 0 WHERE v = 'a';
BEGIN;
UPDATE e SET n = u.n FROM u, h WHERE e.id = u.id AND h.n = u.n;
SELECT count(*), sum(n) FROM e;
ROLLBACK;

-- computed outside of the shards: rows of several partitions have the same ctid
BEGIN;
UPDATE e SET n = l.n + 1000 FROM l WHERE l.n = e.n AND e.id > 20;
SELECT tableoid::regclass::text, count(*), sum(n) FROM e GROUP BY 1 ORDER BY 1;
UPDATE e SET at = at + 29 FROM l WHERE l.n = e.id AND at < '2020-02-01' RETURNING e.*;
UPDATE e SET id = id + 1 WHERE id < 30;
SELECT tableoid::regclass::text, count(*), sum(id), sum(n), min(at), max(at) FROM e GROUP BY 1 ORDER BY 1;
SELECT e.tableoid::regclass::text, count(*) FROM e JOIN l ON l.n = e.id GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM e, l WHERE l.n = e.n AND e.tableoid = 'e2a'::regclass;
UPDATE e SET v = (SELECT min(tag) FROM l WHERE l.n = e.n) WHERE id % 3 = 0 AND at < '2020-02-01';
WITH gone AS (DELETE FROM e USING h WHERE h.n = e.id + 10 AND e.id > 30 RETURNING e.id, h.k)
SELECT count(*), sum(id), max(k) FROM gone;
DELETE FROM e WHERE id IN (SELECT n FROM l WHERE tag = 'two') RETURNING id, at;
UPDATE e SET at = '2030-01-01' FROM l WHERE l.n = e.id;
ROLLBACK;
BEGIN;
-- cluster fails: 0A000
UPDATE e SET n = l.n FROM l WHERE l.n = e.id RETURNING e.tableoid::regclass::text;
ROLLBACK;
BEGIN;
-- cluster fails: 0A000
INSERT INTO e VALUES (1, '2020-01-01') RETURNING tableoid::regclass::text;
ROLLBACK;
BEGIN;
MERGE INTO e USING h ON h.n = e.id WHEN MATCHED AND h.n % 4 = 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET n = h.n + 1, at = at + 14
    WHEN NOT MATCHED THEN INSERT (id, at, v) VALUES (h.n, '2020-02-28', h.k);
SELECT tableoid::regclass::text, count(*), sum(id), sum(n), min(at), max(at) FROM e GROUP BY 1 ORDER BY 1;
UPDATE ONLY e SET n = 0 FROM h WHERE h.n = e.id;
ROLLBACK;
BEGIN;
UPDATE s SET n = s.n + 40 FROM u WHERE u.n = s.id;
SELECT tableoid::regclass::text, count(*), sum(n) FROM s GROUP BY 1 ORDER BY 1;
DELETE FROM s USING h WHERE h.n = s.n;
SELECT tableoid::regclass::text, count(*), sum(n) FROM s GROUP BY 1 ORDER BY 1;
ROLLBACK;
UPDATE e SET n = u.n FROM u WHERE e.id = u.id AND u.id = 6 AND e.id = 6 RETURNING e.id, e.n;
SELECT count(*), sum(n) FROM e;
DELETE FROM e WHERE id = 500 RETURNING id;
DELETE FROM e WHERE n % 7 = 0;
DELETE FROM l WHERE tag = 'two' AND id < 10;
DELETE FROM s WHERE id = 5;
SELECT count(*), sum(n) FROM e;
BEGIN;
DELETE FROM e;
SELECT count(*) FROM e;
ROLLBACK;
TRUNCATE e2a;
SELECT count(*) FROM e;

-- partitions come and go
CREATE TABLE e3 PARTITION OF e FOR VALUES FROM ('2020-03-01') TO ('2020-04-01');
INSERT INTO e SELECT i, '2020-03-01'::date + i % 28, 'q', i FROM generate_series(1, 100) i;
SELECT count(*) FROM e3;
SELECT count(*) FROM e WHERE at >= '2020-03-01';
CREATE TABLE e3b PARTITION OF e FOR VALUES FROM ('2020-03-15') TO ('2020-04-01');
CREATE TABLE e4 PARTITION OF e (CHECK (n < 1000)) FOR VALUES FROM ('2020-04-01') TO ('2020-05-01') PARTITION BY HASH (id);
INSERT INTO e VALUES (1, '2020-04-02');
CREATE TABLE e4a PARTITION OF e4 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO e VALUES (1, '2020-04-02');
INSERT INTO e VALUES (1, '2020-04-02', NULL, 2000);
CREATE TABLE x (LIKE e INCLUDING ALL);
INSERT INTO x SELECT i, '2020-05-01'::date + i % 28, 'q', i FROM generate_series(1, 10) i;
-- statement needs: colocation
ALTER TABLE e ATTACH PARTITION x FOR VALUES FROM ('2020-05-10') TO ('2020-06-01');
-- statement needs: colocation
ALTER TABLE e ATTACH PARTITION x FOR VALUES FROM ('2020-05-01') TO ('2020-06-01');
SELECT count(*) FROM x;
SELECT count(*) FROM e;
-- statement needs: colocation
ALTER TABLE e DETACH PARTITION x;
SELECT count(*) FROM e;
ALTER TABLE x DROP CONSTRAINT e_n_check;
INSERT INTO x VALUES (11, '2020-05-01', 'q', -1000);
ALTER TABLE x ADD CONSTRAINT e_n_check CHECK (n > -100);
DELETE FROM x WHERE id = 11;
-- statement needs: colocation
ALTER TABLE e ATTACH PARTITION x FOR VALUES FROM ('2020-05-01') TO ('2020-06-01');
ALTER TABLE x ADD CONSTRAINT e_n_check CHECK (n > -100);
-- statement needs: colocation
ALTER TABLE e ATTACH PARTITION x FOR VALUES FROM ('2020-05-01') TO ('2020-06-01');
SELECT count(*) FROM e;
CREATE TABLE x2 (n int, v text, k int, at date NOT NULL, dropped int, id int, CONSTRAINT e_n_check CHECK (n > -100));
ALTER TABLE x2 DROP COLUMN dropped;
INSERT INTO x2 VALUES (5, 'v', 1, '2020-06-05', 66);
-- statement needs: colocation
ALTER TABLE e ATTACH PARTITION x2 FOR VALUES FROM ('2020-06-01') TO ('2020-07-01');
SELECT * FROM e WHERE id = 66 AND at > '2020-06-01';
INSERT INTO e VALUES (67, '2020-06-07', 'w', 8, 2);
SELECT * FROM x2 ORDER BY id;
CREATE TABLE part_def PARTITION OF e DEFAULT;
INSERT INTO e VALUES (9, '2030-01-01');
CREATE TABLE too_late PARTITION OF e FOR VALUES FROM ('2030-01-01') TO ('2031-01-01');
DELETE FROM e WHERE at = '2030-01-01';
CREATE TABLE too_late PARTITION OF e FOR VALUES FROM ('2030-01-01') TO ('2031-01-01');
DROP TABLE e3;
DROP TABLE part_def;
SELECT count(*) FROM e;

-- DDL of the whole
ALTER TABLE e ADD COLUMN w int DEFAULT 7;
ALTER TABLE e ADD CONSTRAINT wc CHECK (w > 0);
ALTER TABLE e ALTER n TYPE bigint;
ALTER TABLE e RENAME CONSTRAINT wc TO wc2;
UPDATE e SET w = 0 WHERE id = 66;
ALTER TABLE e DROP CONSTRAINT wc2;
ALTER TABLE e1 ADD CONSTRAINT own CHECK (n > -50);
ALTER TABLE e1 RENAME CONSTRAINT own TO own2;
ALTER TABLE e1 DROP CONSTRAINT own2;
ALTER TABLE e RENAME COLUMN w TO w2;
ALTER TABLE e1 ALTER w2 SET DEFAULT 8;
CREATE INDEX ni ON e (n);
ALTER INDEX e1_n_idx RENAME TO e1_n;
CREATE INDEX only_i ON ONLY e (w2);
DROP INDEX e1_n;
DROP INDEX ni;
ALTER TABLE e ADD UNIQUE (id, at, v);
ALTER TABLE l ADD CONSTRAINT other UNIQUE (tag, id);
INSERT INTO l VALUES (3, 'one', 8);
ALTER TABLE l DROP CONSTRAINT other;
ALTER TABLE e DROP COLUMN w2;
ALTER TABLE e RENAME TO events;
SELECT count(*) FROM events;
ALTER TABLE events RENAME TO e;
ALTER TABLE e1 RENAME TO january;
INSERT INTO e VALUES (68, '2020-01-07', 'w', 8, 2);
SELECT count(*) FROM january;
VACUUM e;
ANALYZE e;
TRUNCATE l;
SELECT count(*) FROM l;
CREATE TABLE idp (id int GENERATED BY DEFAULT AS IDENTITY, n int) PARTITION BY RANGE (n);
CREATE TABLE idp1 PARTITION OF idp FOR VALUES FROM (0) TO (100);
INSERT INTO idp (n) VALUES (1), (2), (3);
SELECT count(*), count(DISTINCT id) FROM idp;
DROP TABLE e;
DROP TABLE h, l, s;

-- CLUSTER of all partitions, at each level
-- distribute: clustered(k)
CREATE TABLE clustered (k int, v int) PARTITION BY RANGE (v);
CREATE TABLE clustered_1 PARTITION OF clustered FOR VALUES FROM (0) TO (10);
CREATE TABLE clustered_2 PARTITION OF clustered FOR VALUES FROM (10) TO (20) PARTITION BY LIST (v);
CREATE TABLE clustered_2a PARTITION OF clustered_2 DEFAULT;
INSERT INTO clustered SELECT i, i % 20 FROM generate_series(1, 60) i;
CREATE INDEX clustered_v ON clustered (v);
CREATE INDEX clustered_only ON ONLY clustered (k);
CLUSTER clustered USING clustered_v;
CLUSTER clustered;
CLUSTER clustered USING clustered_only;
CLUSTER clustered USING nothing;
BEGIN;
CLUSTER clustered USING clustered_v;
ROLLBACK;
SELECT indexrelid::regclass::text, indisclustered FROM pg_index WHERE indrelid::regclass::text LIKE 'clustered%' ORDER BY 1;
CLUSTER clustered_1;
SELECT count(*), sum(k * v) FROM clustered;

-- a foreign key to a partitioned table, whose entries for each partition are no keys of their own
-- distribute: referenced(k), referencing(k) with referenced
CREATE TABLE referenced (k int, v int, PRIMARY KEY (k, v)) PARTITION BY RANGE (v);
CREATE TABLE referenced_1 PARTITION OF referenced FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (v);
CREATE TABLE referenced_11 PARTITION OF referenced_1 FOR VALUES FROM (0) TO (5);
CREATE TABLE referenced_12 PARTITION OF referenced_1 FOR VALUES FROM (5) TO (10);
CREATE TABLE referenced_2 PARTITION OF referenced FOR VALUES FROM (10) TO (20);
CREATE TABLE referencing (k int, v int) PARTITION BY RANGE (v);
CREATE TABLE referencing_1 PARTITION OF referencing FOR VALUES FROM (0) TO (10);
INSERT INTO referenced SELECT i, i FROM generate_series(0, 19) i;
-- statement needs: colocation
ALTER TABLE referencing ADD FOREIGN KEY (k, v) REFERENCES referenced;
CREATE TABLE referencing_2 PARTITION OF referencing DEFAULT;
INSERT INTO referencing SELECT i, i FROM generate_series(0, 19, 3) i;
INSERT INTO referencing VALUES (3, 4);
INSERT INTO referencing VALUES (30, 30);
UPDATE referenced SET v = v + 1 WHERE k = 1;
UPDATE referenced SET v = 15 WHERE k = 1;
DELETE FROM referenced WHERE k = 2;
DELETE FROM referenced WHERE k = 3;
CREATE TABLE referenced_3 PARTITION OF referenced FOR VALUES FROM (20) TO (40);
INSERT INTO referenced VALUES (30, 30);
INSERT INTO referencing VALUES (30, 30), (12, 12);
SELECT * FROM referencing ORDER BY k, v;
SELECT conname, conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
	WHERE contype = 'f' AND conrelid::regclass::text LIKE 'referencing%' ORDER BY 1, 2, 3;
ALTER TABLE referencing DROP CONSTRAINT referencing_k_v_fkey;
INSERT INTO referencing VALUES (3, 4);
