-- What applications write, with triggers, procedures, views, types of all kinds, partitions, savepoints and temporary tables.
--
-- distribute: acc(id), ledger(acc) with none, hist(id) with none, emp(id) with none, dept reference, sal(emp) with emp, pts(id) with none, net(id) with none, kv(k) with none, part(tenant), nul(id) with none, seqs(id) with none, big(a) with none

CREATE TABLE acc (id int PRIMARY KEY, owner text, balance numeric(12,2) NOT NULL DEFAULT 0 CHECK (balance >= -100), version int NOT NULL DEFAULT 1, updated_by text);
CREATE TABLE ledger (acc int, n int GENERATED ALWAYS AS IDENTITY, amount numeric(12,2), note varchar(20), PRIMARY KEY (acc, n));
CREATE TABLE hist (id int, n int, what text);
CREATE TABLE emp (id int PRIMARY KEY, name text, dept int, mgr int, hired date, salary int, period daterange);
CREATE TABLE dept (id int PRIMARY KEY, name text UNIQUE, budget int);
CREATE TABLE sal (emp int, since date, amount int, PRIMARY KEY (emp, since));
CREATE TABLE pts (id int PRIMARY KEY, p point, b box);
CREATE TABLE net (id int PRIMARY KEY, ip inet, mac macaddr, mask cidr, bits bit(8), vb varbit, iv interval, t time, tz timetz, m money, u uuid, x bytea, c "char", nm name, o oid, r int8range, mr datemultirange, js json, xm xml, ts tsvector, q tsquery, l lseg, a2 int[][]);
CREATE TABLE kv (k text, v text, ttl int, PRIMARY KEY (k));
CREATE TABLE part (tenant int, id int, st text, d date, PRIMARY KEY (tenant, id, d)) PARTITION BY RANGE (d);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2024-04-01') PARTITION BY LIST (tenant);
CREATE TABLE part_1a PARTITION OF part_1 FOR VALUES IN (1, 2, 3);
CREATE TABLE part_1b PARTITION OF part_1 DEFAULT;
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM ('2024-04-01') TO ('2025-01-01');
CREATE TABLE nul (id int PRIMARY KEY, a int, b text, c bool);
CREATE TABLE seqs (id serial PRIMARY KEY, v text DEFAULT 'd', at timestamptz DEFAULT now());
CREATE TABLE big (a int, b int, c text);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.version := OLD.version + 1; RETURN NEW; END $$;
CREATE FUNCTION log_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN INSERT INTO hist VALUES (OLD.id, 0, TG_OP || ' ' || OLD.balance); RETURN OLD;
    ELSE INSERT INTO hist VALUES (NEW.id, NEW.version, TG_OP || ' ' || NEW.balance); RETURN NEW; END IF; END $$;
CREATE FUNCTION raise_salary(who int, by int) RETURNS int LANGUAGE sql AS $$ UPDATE emp SET salary = salary + by WHERE id = who RETURNING salary $$;
CREATE FUNCTION dept_size(d int) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT count(*) FROM emp WHERE dept = d $$;
CREATE FUNCTION top_paid(n int) RETURNS TABLE (name text, salary int) LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN QUERY SELECT e.name, e.salary FROM emp e ORDER BY e.salary DESC, e.id LIMIT n; END $$;
CREATE PROCEDURE transfer(a int, b int, amt numeric) LANGUAGE plpgsql AS $$ BEGIN
    UPDATE acc SET balance = balance - amt WHERE id = a; UPDATE acc SET balance = balance + amt WHERE id = b;
    IF (SELECT balance FROM acc WHERE id = a) < 0 THEN RAISE EXCEPTION 'no money' USING ERRCODE = 'P0002'; END IF; END $$;
CREATE VIEW rich AS SELECT id, owner, balance FROM acc WHERE balance > 50 WITH CHECK OPTION;
CREATE VIEW dept_stats AS SELECT d.name, count(e.id) AS n, sum(e.salary) AS paid, max(e.hired) AS last FROM dept d LEFT JOIN emp e ON e.dept = d.id GROUP BY d.name;

-- setup ends
CREATE TRIGGER t1 BEFORE UPDATE ON acc FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER t2 AFTER INSERT OR UPDATE OR DELETE ON acc FOR EACH ROW EXECUTE FUNCTION log_change();
INSERT INTO acc (id, owner, balance) SELECT g, 'o' || g % 5, g * 10 FROM generate_series(1, 20) g;
INSERT INTO dept VALUES (1, 'dev', 1000), (2, 'ops', 500), (3, 'hr', 100);
INSERT INTO emp SELECT g, 'e' || g, 1 + g % 4, nullif(g / 4, 0), date '2020-01-01' + g * 11, 1000 + g * 37 % 500, daterange(date '2020-01-01' + g, date '2020-06-01' + g * 2) FROM generate_series(1, 50) g;
INSERT INTO sal SELECT g % 50 + 1, date '2021-01-01' + (g / 50) * 100, 1000 + g FROM generate_series(0, 149) g;
INSERT INTO pts SELECT g, point(g % 10, g / 10), box(point(g, g), point(g + 3, g + 2)) FROM generate_series(1, 60) g;
INSERT INTO net SELECT g, ('10.0.' || g % 4 || '.' || g)::inet, '08:00:2b:01:02:03', ('10.' || g || '.0.0/16')::cidr, (g::bit(8)), B'101', g * interval '1 day 2 hours', time '10:00' + g * interval '1 minute', '10:00+02', g::text::money, md5(g::text)::uuid, decode(md5(g::text), 'hex'), 'x', 'name' || g, g, int8range(g, g * 2), datemultirange(daterange(date '2024-01-01', date '2024-01-01' + g)), '{"a": 1,  "a": 2}', '<a>1</a>', 'fat cat', 'fat & rat', '[(0,0),(1,1)]', ARRAY[[1, g], [3, 4]] FROM generate_series(1, 20) g;
INSERT INTO part SELECT g % 7, g, 's' || g % 3, date '2024-01-05' + g FROM generate_series(1, 200) g;
INSERT INTO nul SELECT g, nullif(g % 4, 0), nullif('b' || g % 3, 'b1'), CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END FROM generate_series(1, 30) g;
INSERT INTO big SELECT g % 100, g % 37, 'c' || g % 11 FROM generate_series(1, 3000) g;

-- optimistic locking, transfers, triggers
UPDATE acc SET balance = balance + 5 WHERE id = 3 AND version = 1 RETURNING *;
UPDATE acc SET balance = balance + 5 WHERE id = 3 AND version = 1 RETURNING *;
CALL transfer(1, 2, 5);
CALL transfer(1, 2, 50);
WITH debit AS (UPDATE acc SET balance = balance - 7 WHERE id = 5 RETURNING id, balance), credit AS (UPDATE acc SET balance = balance + 7 WHERE id = 6 RETURNING id, balance) SELECT * FROM debit UNION ALL SELECT * FROM credit ORDER BY 1;
UPDATE acc SET balance = -200 WHERE id = 7;
UPDATE rich SET balance = 20 WHERE id = 10;
INSERT INTO rich VALUES (100, 'x', 99) RETURNING *;
DELETE FROM rich WHERE owner = 'o2' RETURNING id, balance;
SELECT id, n, what FROM hist ORDER BY 1, 2, 3;
SELECT * FROM acc ORDER BY id;
INSERT INTO ledger (acc, amount, note) SELECT id, balance, 'opening' FROM acc ORDER BY id;
INSERT INTO ledger (acc, amount, note) VALUES (1, 1, 'a note that is far too long');
INSERT INTO ledger (acc, n, amount) VALUES (1, 5, 1);
INSERT INTO ledger (acc, n, amount) OVERRIDING SYSTEM VALUE VALUES (1, 5000, 1) RETURNING acc, n;
SELECT acc, sum(amount), count(*), sum(sum(amount)) OVER (ORDER BY acc) FROM ledger GROUP BY acc ORDER BY 1;
-- functions
SELECT raise_salary(3, 10), raise_salary(999, 1);
SELECT d.id, dept_size(d.id) FROM dept d ORDER BY 1;
SELECT e.dept, dept_size(e.dept), count(*) FROM emp e GROUP BY e.dept ORDER BY 1;
SELECT * FROM top_paid(4);
SELECT d.name, t.* FROM dept d CROSS JOIN LATERAL top_paid(d.id) t ORDER BY 1, 3 DESC, 2;
SELECT * FROM dept_stats ORDER BY name;
SELECT s.name, s.paid > d.budget FROM dept_stats s JOIN dept d USING (name) WHERE s.n > 0 ORDER BY 1;
-- salaries in force, self joins, managers
SELECT e.name, m.name AS boss, count(r.id) AS reports FROM emp e LEFT JOIN emp m ON m.id = e.mgr LEFT JOIN emp r ON r.mgr = e.id GROUP BY e.id, e.name, m.name ORDER BY e.id;
SELECT e.id, s.amount FROM emp e JOIN sal s ON s.emp = e.id AND s.since = (SELECT max(since) FROM sal s2 WHERE s2.emp = e.id AND s2.since <= date '2021-05-01') ORDER BY 1;
SELECT dept, name, salary, salary - avg(salary) OVER (PARTITION BY dept) > 0, rank() OVER (PARTITION BY dept ORDER BY salary DESC, id) FROM emp ORDER BY dept, 5;
SELECT name FROM emp e WHERE salary > ALL (SELECT salary FROM emp x WHERE x.dept = e.dept AND x.id <> e.id) ORDER BY 1;
SELECT dept, avg(salary)::int FROM emp GROUP BY dept HAVING avg(salary) > (SELECT avg(salary) FROM emp) ORDER BY 1;
SELECT e.id, count(*) FROM emp e JOIN emp f ON e.period && f.period AND e.id < f.id GROUP BY e.id ORDER BY 2 DESC, 1 LIMIT 5;
SELECT dept, range_agg(period ORDER BY period), range_intersect_agg(period) FROM emp GROUP BY dept ORDER BY 1;
SELECT extract(year FROM hired) AS y, extract(quarter FROM hired) AS q, count(*), min(age(date '2024-01-01', hired)) FROM emp GROUP BY 1, 2 ORDER BY 1, 2;
WITH RECURSIVE chain AS (SELECT id, mgr, 1 AS lvl FROM emp WHERE mgr IS NULL UNION ALL SELECT e.id, e.mgr, lvl + 1 FROM emp e JOIN chain c ON c.id = e.mgr) SELECT lvl, count(*), array_agg(id ORDER BY id) FROM chain GROUP BY lvl ORDER BY 1;
UPDATE emp e SET salary = s.amount FROM (SELECT DISTINCT ON (emp) emp, amount FROM sal ORDER BY emp, since DESC) s WHERE s.emp = e.id AND e.dept = 2 RETURNING e.id, e.salary;
MERGE INTO emp e USING (SELECT dept AS d, max(id) AS id FROM emp GROUP BY dept) x ON e.id = x.id WHEN MATCHED AND x.d = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'last of ' || x.d, mgr = NULL;
SELECT id, name, mgr FROM emp WHERE name LIKE 'last%' OR id > 46 ORDER BY 1;
-- types
SELECT id, p <-> point(3, 3), p <@ box(point(0, 0), point(4, 4)), area(b) FROM pts ORDER BY p <-> point(3, 3), id LIMIT 8;
SELECT count(*) FROM pts a JOIN pts b ON a.b && b.b AND a.id < b.id;
SELECT * FROM net ORDER BY id LIMIT 3;
SELECT ip, host(ip), mask >> ip, ip << '10.0.1.0/24'::inet, network(set_masklen(ip, 24)) FROM net ORDER BY ip LIMIT 6;
SELECT sum(m), sum(iv), max(t), min(tz), bit_and(bits), max(u::text), string_agg(x, '' ORDER BY id), array_agg(a2 ORDER BY id) FROM net WHERE id < 4;
SELECT id, js ->> 'a', xpath('/a/text()', xm), ts @@ q, r @> 7::bigint, mr * datemultirange(daterange('2024-01-02', '2024-01-05')) FROM net ORDER BY id LIMIT 5;
SELECT c, nm, o, pg_typeof(l), l FROM net WHERE nm = 'name7';
SELECT DISTINCT bits & B'00000011' FROM net ORDER BY 1;
SELECT iv, justify_hours(iv), extract(epoch FROM iv) FROM net ORDER BY iv DESC LIMIT 3;
-- kv cache
INSERT INTO kv VALUES ('a', '1', 5), ('b', '2', 6) ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO kv AS t VALUES ('a', '3', 1), ('c', '4', 2) ON CONFLICT ON CONSTRAINT kv_pkey DO UPDATE SET v = t.v || excluded.v, ttl = least(t.ttl, excluded.ttl) WHERE t.v <> excluded.v RETURNING *;
INSERT INTO kv VALUES ('z', '1', 1), ('z', '2', 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
DELETE FROM kv WHERE ttl < (SELECT max(ttl) FROM kv) RETURNING k;
SELECT k, v FROM kv WHERE k = ANY ('{a,b,q}') ORDER BY array_position('{b,q,a}', k);
-- partitions
SELECT tableoid::regclass::text, count(*) FROM part GROUP BY 1 ORDER BY 1;
UPDATE part SET d = d + 90 WHERE tenant = 2 AND st = 's1' RETURNING id, d;
DELETE FROM part_1 WHERE st = 's2' AND tenant < 3 RETURNING tenant, id;
SELECT tenant, date_trunc('month', d), count(*), count(*) FILTER (WHERE st = 's0') FROM part WHERE d BETWEEN '2024-02-01' AND '2024-06-30' GROUP BY 1, 2 ORDER BY 1, 2;
INSERT INTO part VALUES (1, 1, 's', '2030-01-01');
MERGE INTO part p USING (SELECT tenant, max(id) AS id FROM part GROUP BY tenant) x ON p.tenant = x.tenant AND p.id = x.id WHEN MATCHED THEN UPDATE SET d = '2024-12-31', st = 'moved';
SELECT tableoid::regclass::text, * FROM part WHERE st = 'moved' ORDER BY 2;
-- nulls and booleans
SELECT a, b, c, count(*), count(a), count(DISTINCT b), bool_or(c), every(c) FROM nul GROUP BY a, b, c ORDER BY a NULLS FIRST, b DESC NULLS LAST, c;
SELECT id FROM nul WHERE (a, b) NOT IN (SELECT a, b FROM nul WHERE id < 5) ORDER BY 1;
SELECT id FROM nul WHERE a NOT IN (SELECT a FROM nul WHERE a > 2) ORDER BY 1;
SELECT id, a IS DISTINCT FROM lag(a) OVER (ORDER BY id), coalesce(a, -1), nullif(b, 'b0'), c IS NOT TRUE, num_nulls(a, b, c), greatest(a, id % 3) FROM nul ORDER BY id;
SELECT x.a, y.a, count(*) FROM nul x FULL JOIN nul y ON x.a = y.a + 1 AND y.c GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FROM nul x WHERE ROW(x.a, x.b) IS NULL OR ROW(x.a, x.b) IS NOT NULL;
SELECT a, string_agg(coalesce(b, '-'), '' ORDER BY id), array_agg(c ORDER BY id), json_agg(b ORDER BY id), min(b), max(c::int) FROM nul GROUP BY ROLLUP (a) ORDER BY grouping(a), a;
-- defaults, sequences
INSERT INTO seqs DEFAULT VALUES;
INSERT INTO seqs (v) VALUES ('x'), (DEFAULT) RETURNING v, at = now();
SELECT count(*), count(DISTINCT id), bool_and(at <= now()) FROM seqs;
BEGIN;
SAVEPOINT s1;
INSERT INTO kv VALUES ('s', '1', 1);
SAVEPOINT s2;
INSERT INTO kv VALUES ('s', '1', 1);
ROLLBACK TO s2;
UPDATE kv SET v = 'kept' WHERE k = 's';
RELEASE s1;
COMMIT;
SELECT k, v FROM kv ORDER BY 1;
DO $$ DECLARE r record; n int := 0; BEGIN FOR r IN SELECT * FROM acc WHERE balance > 20 ORDER BY id LOOP
    BEGIN UPDATE acc SET balance = CASE WHEN r.id % 2 = 0 THEN -999 ELSE balance + 1 END WHERE id = r.id; n := n + 1; EXCEPTION WHEN check_violation THEN INSERT INTO hist VALUES (r.id, -1, 'refused'); END;
    END LOOP; INSERT INTO hist VALUES (0, n, 'done'); END $$;
SELECT id, n, what FROM hist WHERE what IN ('refused', 'done') ORDER BY 1;
-- big
SELECT a, count(*), count(DISTINCT b), max(c) FROM big GROUP BY a HAVING count(DISTINCT b) > 25 ORDER BY 1 LIMIT 10;
SELECT c, b, n FROM (SELECT c, b, count(*) AS n, row_number() OVER (PARTITION BY c ORDER BY count(*) DESC, b) AS rn FROM big GROUP BY c, b) x WHERE rn <= 2 ORDER BY 1, 2;
SELECT b % 3, percentile_disc(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY a), stddev_samp(a)::numeric(12, 5) FROM big GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM big x JOIN big y ON x.b = y.a AND x.c = y.c;
CREATE TEMP TABLE tmp AS SELECT a, count(*) AS n FROM big GROUP BY a;
SELECT t.n, count(*) FROM tmp t JOIN big USING (a) GROUP BY 1 ORDER BY 1;
UPDATE big SET c = 'tmp' FROM tmp t WHERE t.a = big.a AND t.n > 29 AND big.b = 1;
DELETE FROM big WHERE NOT EXISTS (SELECT FROM tmp WHERE tmp.a = big.a AND tmp.a % 2 = 0);
SELECT count(*), count(*) FILTER (WHERE c = 'tmp') FROM big;
WITH del AS (DELETE FROM big WHERE a < 10 RETURNING a, b, c), arch AS (INSERT INTO kv SELECT 'arch' || a || '-' || b, min(c), count(*) FROM del GROUP BY a, b RETURNING k, ttl) SELECT count(*), sum(ttl) FROM arch;
COPY (SELECT a, b, c FROM big WHERE a = 12 ORDER BY b, c LIMIT 3) TO STDOUT WITH (FORMAT csv, HEADER);
SELECT count(*) FROM (SELECT DISTINCT a, b FROM big) x;
SELECT a FROM big UNION SELECT id FROM acc EXCEPT SELECT id FROM emp ORDER BY 1 LIMIT 10;
PREPARE p1 (int, text) AS SELECT count(*), min(b) FROM big WHERE a = $1 OR c = $2;
EXECUTE p1 (12, 'c3');
EXECUTE p1 (NULL, NULL);
DEALLOCATE p1;
