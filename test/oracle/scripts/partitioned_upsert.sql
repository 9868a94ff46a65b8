-- ON CONFLICT on partitioned tables whose conflicts the initiator resolves: row triggers, other tables in DO UPDATE,
-- partitions whose columns have another order.
--
-- distribute: e(tenant), o(k) with none, n(tenant), fired(id) with none

CREATE TABLE e (tenant int, id int, at int, v int, note text DEFAULT 'new', touched int DEFAULT 0, PRIMARY KEY (tenant, id, at)) PARTITION BY RANGE (at);
CREATE TABLE e1 PARTITION OF e FOR VALUES FROM (0) TO (10);
CREATE TABLE e2 (note text DEFAULT 'second', touched int DEFAULT 0, v int, at int NOT NULL, id int NOT NULL, tenant int NOT NULL);
ALTER TABLE e ATTACH PARTITION e2 FOR VALUES FROM (10) TO (20);
CREATE TABLE e3 PARTITION OF e FOR VALUES FROM (20) TO (40) PARTITION BY LIST (at);
CREATE TABLE e3a PARTITION OF e3 FOR VALUES IN (20, 21, 22);
CREATE TABLE e3b PARTITION OF e3 DEFAULT;
CREATE TABLE o (k int PRIMARY KEY, a int);
CREATE TABLE n (tenant int, at int, v int, twice int GENERATED ALWAYS AS (v * 2) STORED, UNIQUE (tenant, at)) PARTITION BY LIST (at);
CREATE TABLE n1 PARTITION OF n FOR VALUES IN (1, 2);
CREATE TABLE n2 PARTITION OF n FOR VALUES IN (3, 4, NULL);
CREATE TABLE fired (id int PRIMARY KEY, what text);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.touched := OLD.touched + 1; NEW.note := TG_TABLE_NAME || NEW.v; RETURN NEW; END';
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO fired VALUES (NEW.id * 100 + NEW.at, TG_OP || ' ' || TG_TABLE_NAME) ON CONFLICT (id) DO UPDATE SET what = fired.what || ', ' || excluded.what;
	RETURN NULL;
END $$;
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.v = -1 THEN RETURN NULL; END IF; NEW.v := NEW.v + 1000; RETURN NEW; END';
INSERT INTO o SELECT i, i * 10 FROM generate_series(1, 20) i;
INSERT INTO e (tenant, id, at, v) SELECT i % 5, i, i % 30, i FROM generate_series(1, 60) i;
INSERT INTO n SELECT i % 5, i % 4 + 1, i FROM generate_series(1, 10) i ON CONFLICT DO NOTHING;

-- setup ends
INSERT INTO e VALUES (1, 1, 1, 5) ON CONFLICT (tenant, id, at) DO UPDATE SET v = (SELECT sum(a) FROM o WHERE k < excluded.v) RETURNING *;
INSERT INTO e VALUES (1, 1, 1, 5), (2, 12, 12, 6), (3, 13, 13, 7), (2, 22, 22, 3), (0, 25, 25, 3), (4, 99, 29, 1)
	ON CONFLICT (tenant, id, at) DO UPDATE SET v = (SELECT max(a) FROM o WHERE k < excluded.v), note = e.note || excluded.note RETURNING *;
INSERT INTO e SELECT tenant, id, at, 4, 'again' FROM e ON CONFLICT (tenant, id, at) DO UPDATE SET v = e.v + (SELECT count(*) FROM o WHERE k > e.v) WHERE e.id % 2 = 0;
SELECT * FROM e ORDER BY tenant, id, at;
INSERT INTO e VALUES (1, 1, 1, 5), (3, 13, 13, 7), (2, 22, 22, 3) ON CONFLICT (tenant, id, at) DO UPDATE SET note = e.tableoid::regclass::text, v = (SELECT max(a) FROM o) RETURNING *;
INSERT INTO e VALUES (1, 1, 1, 5), (1, 1, 1, 6) ON CONFLICT (tenant, id, at) DO UPDATE SET v = (SELECT max(a) FROM o); -- both fail
INSERT INTO e VALUES (1, 1, 1, 5) ON CONFLICT (tenant, id, at) DO UPDATE SET at = 11, v = (SELECT max(a) FROM o); -- both fail
INSERT INTO e VALUES (1, 1, 1, 5) ON CONFLICT (tenant, id, at) DO UPDATE SET at = 2, v = (SELECT max(a) FROM o) RETURNING *;
INSERT INTO e VALUES (1, 1, 50, 5) ON CONFLICT (tenant, id, at) DO UPDATE SET v = (SELECT max(a) FROM o); -- both fail
INSERT INTO e VALUES (1, 1, 2, 5) ON CONFLICT DO NOTHING;
INSERT INTO n VALUES (1, 1, 7), (1, NULL, 7), (2, 2, 8) ON CONFLICT (tenant, at) DO UPDATE SET v = excluded.v + (SELECT min(a) FROM o) RETURNING *;
INSERT INTO n VALUES (1, NULL, 7) ON CONFLICT (tenant, at) DO UPDATE SET v = (SELECT min(a) FROM o) WHERE excluded.twice > n.twice;
SELECT * FROM n ORDER BY tenant, at, v;
CREATE TRIGGER touch BEFORE UPDATE ON e FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER tell AFTER INSERT OR UPDATE ON e FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO e VALUES (1, 1, 2, 5), (2, 12, 12, 6), (3, 13, 13, 7), (2, 22, 22, 3), (0, 25, 25, 3), (4, 100, 29, 1) ON CONFLICT (tenant, id, at) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO e SELECT tenant, id, at, 4 FROM e WHERE id < 30 ON CONFLICT (tenant, id, at) DO UPDATE SET v = e.v + 1 WHERE e.id % 3 = 0;
SELECT * FROM e ORDER BY tenant, id, at;
SELECT * FROM fired ORDER BY id;
CREATE TRIGGER skip BEFORE INSERT ON e FOR EACH ROW EXECUTE FUNCTION skip();
INSERT INTO e VALUES (1, 1, 2, 5), (2, 12, 12, -1), (3, 13, 13, 7), (3, 103, 13, -1), (3, 103, 14, 1) ON CONFLICT (tenant, id, at) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO e VALUES (1, 1, 2, 5), (2, 12, 12, -1), (3, 104, 13, 7) ON CONFLICT DO NOTHING RETURNING *;
BEGIN;
INSERT INTO e VALUES (1, 1, 2, 50) ON CONFLICT (tenant, id, at) DO UPDATE SET v = excluded.v;
SAVEPOINT a;
INSERT INTO e VALUES (1, 1, 2, 51), (7, 7, 7, 7) ON CONFLICT (tenant, id, at) DO UPDATE SET v = excluded.v;
ROLLBACK TO a;
COMMIT;
SELECT * FROM e ORDER BY tenant, id, at;
SELECT * FROM fired ORDER BY id;
