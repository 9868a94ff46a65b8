-- Parts of one WITH that write the same row: one of them takes effect, the first that is executed.
--
-- distribute: q(id), p(id), one single, r reference, noted(id)

CREATE TABLE q (id int PRIMARY KEY, v int);
CREATE TABLE p (id int, k int, v int) PARTITION BY RANGE (k);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p_2 PARTITION OF p DEFAULT;
CREATE TABLE one (id int PRIMARY KEY, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE noted (id int PRIMARY KEY, v int);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := NEW.v + 1; RETURN NEW; END $$;
CREATE TRIGGER note BEFORE UPDATE ON noted FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO q SELECT g, g FROM generate_series(1, 30) g;
INSERT INTO p SELECT g, g, g FROM generate_series(1, 30) g;
INSERT INTO one SELECT g, g FROM generate_series(1, 30) g;
INSERT INTO r SELECT g, g FROM generate_series(1, 30) g;
INSERT INTO noted SELECT g, g FROM generate_series(1, 30) g;

-- setup ends

WITH a AS (UPDATE q SET v = v + 100 WHERE id = 1 RETURNING id, v) UPDATE q SET v = v + 1000 WHERE id = 1 RETURNING id, v;
WITH a AS (UPDATE q SET v = v + 100 WHERE id = 2 RETURNING id, v) UPDATE q SET v = q.v + 1000 FROM a WHERE a.id = q.id RETURNING q.id, q.v;
WITH a AS (DELETE FROM q WHERE id = 3 RETURNING id, v) UPDATE q SET v = q.v + 1000 FROM a WHERE a.id = q.id RETURNING q.id, q.v;
WITH a AS (UPDATE q SET v = v + 100 WHERE id = 4 RETURNING id, v) DELETE FROM q USING a WHERE a.id = q.id RETURNING q.id, q.v;
WITH a AS (UPDATE q SET v = v + 100 WHERE id = 5 RETURNING id, v), b AS (UPDATE q SET v = v + 1000 WHERE id = 5 RETURNING id, v) SELECT * FROM a UNION ALL SELECT * FROM b;
WITH a AS (UPDATE q SET v = v + 100 WHERE id < 9 RETURNING id, v) SELECT count(*), (SELECT sum(v) FROM q WHERE id < 9) FROM a;
WITH a AS (UPDATE q SET v = v + 100 WHERE id BETWEEN 6 AND 9 RETURNING id, v) DELETE FROM q USING a WHERE q.id = a.id;
WITH a AS (UPDATE q SET v = v + 100 WHERE id % 2 = 0 RETURNING id), b AS (UPDATE q SET v = q.v + 1000 FROM a WHERE q.id = a.id + 1 RETURNING q.id) SELECT count(*) FROM b;
WITH a AS (DELETE FROM q WHERE id BETWEEN 10 AND 12 RETURNING id, v) DELETE FROM q USING a WHERE q.id = a.id RETURNING q.id;
WITH a AS (UPDATE q SET v = -1 WHERE id > 20 RETURNING id), b AS (UPDATE q SET v = -2 FROM a WHERE a.id = q.id RETURNING q.id) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
SELECT id, v FROM q ORDER BY id;

WITH a AS (UPDATE p SET v = v + 100 WHERE id = 1 RETURNING id, v) UPDATE p SET v = v + 1000 WHERE id = 1 RETURNING id, v;
WITH a AS (UPDATE p SET v = v + 100 WHERE id = 2 RETURNING id, v) UPDATE p SET v = p.v + 1000 FROM a WHERE a.id = p.id RETURNING p.id, p.v;
WITH a AS (DELETE FROM p WHERE id = 3 RETURNING id, v) UPDATE p SET v = p.v + 1000 FROM a WHERE a.id = p.id RETURNING p.id, p.v;
WITH a AS (UPDATE p SET v = v + 100 WHERE id = 4 RETURNING id, v) DELETE FROM p USING a WHERE a.id = p.id RETURNING p.id, p.v;
WITH a AS (UPDATE p SET v = v + 100 WHERE id = 5 RETURNING id, v), b AS (UPDATE p SET v = v + 1000 WHERE id = 5 RETURNING id, v) SELECT * FROM a UNION ALL SELECT * FROM b;
WITH a AS (UPDATE p SET v = v + 100 WHERE id < 9 RETURNING id, v) SELECT count(*), (SELECT sum(v) FROM p WHERE id < 9) FROM a;
WITH a AS (UPDATE p SET v = v + 100 WHERE id BETWEEN 6 AND 9 RETURNING id, v) DELETE FROM p USING a WHERE p.id = a.id;
WITH a AS (UPDATE p SET v = v + 100 WHERE id % 2 = 0 RETURNING id), b AS (UPDATE p SET v = p.v + 1000 FROM a WHERE p.id = a.id + 1 RETURNING p.id) SELECT count(*) FROM b;
WITH a AS (DELETE FROM p WHERE id BETWEEN 10 AND 12 RETURNING id, v) DELETE FROM p USING a WHERE p.id = a.id RETURNING p.id;
WITH a AS (UPDATE p SET v = -1 WHERE id > 20 RETURNING id), b AS (UPDATE p SET v = -2 FROM a WHERE a.id = p.id RETURNING p.id) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
SELECT id, v FROM p ORDER BY id;

WITH a AS (UPDATE one SET v = v + 100 WHERE id = 1 RETURNING id, v) UPDATE one SET v = v + 1000 WHERE id = 1 RETURNING id, v;
WITH a AS (UPDATE one SET v = v + 100 WHERE id = 2 RETURNING id, v) UPDATE one SET v = one.v + 1000 FROM a WHERE a.id = one.id RETURNING one.id, one.v;
WITH a AS (DELETE FROM one WHERE id = 3 RETURNING id, v) UPDATE one SET v = one.v + 1000 FROM a WHERE a.id = one.id RETURNING one.id, one.v;
WITH a AS (UPDATE one SET v = v + 100 WHERE id = 4 RETURNING id, v) DELETE FROM one USING a WHERE a.id = one.id RETURNING one.id, one.v;
WITH a AS (UPDATE one SET v = v + 100 WHERE id = 5 RETURNING id, v), b AS (UPDATE one SET v = v + 1000 WHERE id = 5 RETURNING id, v) SELECT * FROM a UNION ALL SELECT * FROM b;
WITH a AS (UPDATE one SET v = v + 100 WHERE id < 9 RETURNING id, v) SELECT count(*), (SELECT sum(v) FROM one WHERE id < 9) FROM a;
WITH a AS (UPDATE one SET v = v + 100 WHERE id BETWEEN 6 AND 9 RETURNING id, v) DELETE FROM one USING a WHERE one.id = a.id;
WITH a AS (UPDATE one SET v = v + 100 WHERE id % 2 = 0 RETURNING id), b AS (UPDATE one SET v = one.v + 1000 FROM a WHERE one.id = a.id + 1 RETURNING one.id) SELECT count(*) FROM b;
WITH a AS (DELETE FROM one WHERE id BETWEEN 10 AND 12 RETURNING id, v) DELETE FROM one USING a WHERE one.id = a.id RETURNING one.id;
WITH a AS (UPDATE one SET v = -1 WHERE id > 20 RETURNING id), b AS (UPDATE one SET v = -2 FROM a WHERE a.id = one.id RETURNING one.id) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
SELECT id, v FROM one ORDER BY id;

WITH a AS (UPDATE r SET v = v + 100 WHERE id = 1 RETURNING id, v) UPDATE r SET v = v + 1000 WHERE id = 1 RETURNING id, v;
WITH a AS (UPDATE r SET v = v + 100 WHERE id = 2 RETURNING id, v) UPDATE r SET v = r.v + 1000 FROM a WHERE a.id = r.id RETURNING r.id, r.v;
WITH a AS (DELETE FROM r WHERE id = 3 RETURNING id, v) UPDATE r SET v = r.v + 1000 FROM a WHERE a.id = r.id RETURNING r.id, r.v;
WITH a AS (UPDATE r SET v = v + 100 WHERE id = 4 RETURNING id, v) DELETE FROM r USING a WHERE a.id = r.id RETURNING r.id, r.v;
WITH a AS (UPDATE r SET v = v + 100 WHERE id = 5 RETURNING id, v), b AS (UPDATE r SET v = v + 1000 WHERE id = 5 RETURNING id, v) SELECT * FROM a UNION ALL SELECT * FROM b;
WITH a AS (UPDATE r SET v = v + 100 WHERE id < 9 RETURNING id, v) SELECT count(*), (SELECT sum(v) FROM r WHERE id < 9) FROM a;
WITH a AS (UPDATE r SET v = v + 100 WHERE id BETWEEN 6 AND 9 RETURNING id, v) DELETE FROM r USING a WHERE r.id = a.id;
WITH a AS (UPDATE r SET v = v + 100 WHERE id % 2 = 0 RETURNING id), b AS (UPDATE r SET v = r.v + 1000 FROM a WHERE r.id = a.id + 1 RETURNING r.id) SELECT count(*) FROM b;
WITH a AS (DELETE FROM r WHERE id BETWEEN 10 AND 12 RETURNING id, v) DELETE FROM r USING a WHERE r.id = a.id RETURNING r.id;
WITH a AS (UPDATE r SET v = -1 WHERE id > 20 RETURNING id), b AS (UPDATE r SET v = -2 FROM a WHERE a.id = r.id RETURNING r.id) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
SELECT id, v FROM r ORDER BY id;

WITH a AS (UPDATE noted SET v = v + 100 WHERE id = 1 RETURNING id, v) UPDATE noted SET v = v + 1000 WHERE id = 1 RETURNING id, v;
WITH a AS (UPDATE noted SET v = v + 100 WHERE id = 2 RETURNING id, v) UPDATE noted SET v = noted.v + 1000 FROM a WHERE a.id = noted.id RETURNING noted.id, noted.v;
WITH a AS (DELETE FROM noted WHERE id = 3 RETURNING id, v) UPDATE noted SET v = noted.v + 1000 FROM a WHERE a.id = noted.id RETURNING noted.id, noted.v;
WITH a AS (UPDATE noted SET v = v + 100 WHERE id = 4 RETURNING id, v) DELETE FROM noted USING a WHERE a.id = noted.id RETURNING noted.id, noted.v;
WITH a AS (UPDATE noted SET v = v + 100 WHERE id = 5 RETURNING id, v), b AS (UPDATE noted SET v = v + 1000 WHERE id = 5 RETURNING id, v) SELECT * FROM a UNION ALL SELECT * FROM b;
WITH a AS (UPDATE noted SET v = v + 100 WHERE id < 9 RETURNING id, v) SELECT count(*), (SELECT sum(v) FROM noted WHERE id < 9) FROM a;
WITH a AS (UPDATE noted SET v = v + 100 WHERE id BETWEEN 6 AND 9 RETURNING id, v) DELETE FROM noted USING a WHERE noted.id = a.id;
WITH a AS (UPDATE noted SET v = v + 100 WHERE id % 2 = 0 RETURNING id), b AS (UPDATE noted SET v = noted.v + 1000 FROM a WHERE noted.id = a.id + 1 RETURNING noted.id) SELECT count(*) FROM b;
WITH a AS (DELETE FROM noted WHERE id BETWEEN 10 AND 12 RETURNING id, v) DELETE FROM noted USING a WHERE noted.id = a.id RETURNING noted.id;
WITH a AS (UPDATE noted SET v = -1 WHERE id > 20 RETURNING id), b AS (UPDATE noted SET v = -2 FROM a WHERE a.id = noted.id RETURNING noted.id) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
SELECT id, v FROM noted ORDER BY id;

WITH a AS (INSERT INTO q VALUES (100, 1) RETURNING id) UPDATE q SET v = 0 FROM a WHERE q.id = a.id;
WITH a AS (INSERT INTO q VALUES (101, 1) RETURNING id) DELETE FROM q USING a WHERE q.id = a.id;
WITH a AS (UPDATE q SET id = id + 500 WHERE id = 20 RETURNING id, v) UPDATE q SET v = 7 FROM a WHERE q.id = a.id - 500;
WITH a AS (UPDATE q SET v = 8 WHERE id = 21 RETURNING id) UPDATE q SET id = q.id + 500 FROM a WHERE q.id = a.id;
WITH a AS (UPDATE q SET v = 8 WHERE id = 22 RETURNING id) MERGE INTO q USING a ON a.id = q.id WHEN MATCHED THEN UPDATE SET v = 9;
WITH a AS (DELETE FROM q WHERE id = 23 RETURNING *) INSERT INTO q SELECT id, v + 5 FROM a;
WITH a AS (DELETE FROM q WHERE id = 24 RETURNING *) INSERT INTO q SELECT id, v + 5 FROM a ON CONFLICT (id) DO UPDATE SET v = -1;
WITH a AS (UPDATE q SET v = v + 1 WHERE id = 25 RETURNING *) INSERT INTO q SELECT id, v + 5 FROM a ON CONFLICT (id) DO NOTHING;
WITH a AS (INSERT INTO q VALUES (201, 1) RETURNING *) INSERT INTO q SELECT * FROM a ON CONFLICT (id) DO NOTHING;
SELECT id, v FROM q WHERE id >= 20 ORDER BY id;
