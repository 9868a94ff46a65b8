-- PL/pgSQL and SQL functions over distributed tables: parameters, loops, exceptions, dynamic SQL.
--
-- distribute: acc(id), log(acc_id) with acc, far(name) with none, r reference, s single

CREATE TABLE acc (id int PRIMARY KEY, owner text, balance int NOT NULL CHECK (balance >= 0));
CREATE TABLE log (acc_id int NOT NULL, seq int NOT NULL, delta int, PRIMARY KEY (acc_id, seq));
CREATE TABLE far (name text PRIMARY KEY, acc_id int, hits int DEFAULT 0);
CREATE TABLE r (id int PRIMARY KEY, label text);
CREATE TABLE s (id int, v int);
INSERT INTO acc SELECT i, 'o' || i % 4, i * 100 FROM generate_series(1, 16) i;
INSERT INTO log SELECT i, n, n * 5 FROM generate_series(1, 16) i, generate_series(1, 2) n;
INSERT INTO far SELECT 'f' || i, i, 0 FROM generate_series(1, 10) i;
INSERT INTO r VALUES (0, 'zero'), (1, 'one'), (2, 'two');
INSERT INTO s SELECT i, i FROM generate_series(1, 5) i;

-- on all nodes
CREATE FUNCTION balance_of(who int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT balance FROM acc WHERE id = who);
END $$;
-- on all nodes
CREATE FUNCTION transfer(a int, b int, amount int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	UPDATE acc SET balance = balance - amount WHERE id = a;
	GET DIAGNOSTICS n = ROW_COUNT;
	IF n = 0 OR NOT FOUND THEN
		RAISE EXCEPTION 'no account %', a USING ERRCODE = 'P0002';
	END IF;
	UPDATE acc SET balance = balance + amount WHERE id = b;
	INSERT INTO log SELECT b, coalesce(max(seq), 0) + 1, amount FROM log WHERE acc_id = b;
	RETURN 'moved ' || amount;
EXCEPTION WHEN check_violation THEN
	RETURN 'poor';
END $$;
-- on all nodes
CREATE FUNCTION logs_of(who int) RETURNS SETOF log LANGUAGE sql STABLE AS
	'SELECT * FROM log WHERE acc_id = who ORDER BY seq';
-- on all nodes
CREATE FUNCTION total(kind text DEFAULT NULL) RETURNS bigint LANGUAGE sql STABLE AS
	'SELECT sum(balance) FROM acc WHERE kind IS NULL OR owner = kind';
-- on all nodes
CREATE FUNCTION double(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i * 2';
-- on all nodes
CREATE FUNCTION owners() RETURNS TABLE (owner text, n bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT a.owner, count(*) FROM acc a GROUP BY a.owner ORDER BY 1;
END $$;
-- on all nodes
CREATE FUNCTION atomic_total(who int) RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
	SELECT sum(delta) FROM log WHERE acc_id = who;
END;
-- on all nodes
CREATE PROCEDURE bump(who int, by int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE acc SET balance = balance + by WHERE id = who;
END $$;
-- on all nodes
CREATE PROCEDURE steps() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..4 LOOP
		UPDATE far SET hits = hits + i WHERE name = 'f' || i;
		IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
	END LOOP;
END $$;

-- setup ends
SELECT balance_of(5);
SELECT balance_of(500);
SELECT id, balance_of(id) FROM acc WHERE id < 6 ORDER BY id;
SELECT g, balance_of(g) FROM generate_series(14, 18) g;
SELECT id FROM acc WHERE balance = balance_of(3);
SELECT id, double(id) FROM acc WHERE double(id) > 28 ORDER BY id;
SELECT * FROM acc WHERE id = double(4);
SELECT * FROM logs_of(5);
SELECT a.id, l.* FROM acc a, logs_of(a.id) l WHERE a.id < 4 ORDER BY a.id, l.seq;
SELECT a.id, l.seq FROM acc a LEFT JOIN LATERAL logs_of(a.id) l ON l.seq > 1 ORDER BY 1;
SELECT total(), total('o1'), total(kind => 'none');
SELECT id, total(owner) FROM acc ORDER BY id LIMIT 5;
SELECT * FROM owners();
SELECT o.owner, o.n, sum(a.balance) FROM owners() o JOIN acc a USING (owner) GROUP BY 1, 2 ORDER BY 1;
SELECT id, atomic_total(id) FROM acc WHERE id IN (3, 4) ORDER BY 1;
SELECT atomic_total(id) FROM r ORDER BY id;
SELECT transfer(1, 2, 50);
SELECT transfer(1, 2, 5000);
SELECT transfer(99, 2, 1);
SELECT * FROM acc WHERE id IN (1, 2) ORDER BY 1;
SELECT * FROM log WHERE acc_id = 2 ORDER BY 2;
SELECT transfer(a, a + 1, 1) FROM generate_series(3, 7) a;
SELECT sum(balance) FROM acc;
CALL bump(5, 7);
CALL bump(who => 6, by => -10000);
SELECT balance FROM acc WHERE id IN (5, 6) ORDER BY id;
CALL steps();
SELECT name, hits FROM far WHERE hits > 0 ORDER BY 1;
DO $$
DECLARE
	rec record;
	total int := 0;
BEGIN
	FOR rec IN SELECT * FROM acc ORDER BY id LOOP
		total := total + rec.balance;
		EXIT WHEN rec.id = 4;
	END LOOP;
	UPDATE far SET hits = total WHERE name = 'f9';
END $$;
SELECT hits FROM far WHERE name = 'f9';
DO $$
BEGIN
	FOR i IN 1..10 LOOP
		UPDATE far SET hits = i WHERE name = 'f' || i;
	END LOOP;
END $$;
SELECT name, hits FROM far ORDER BY name;
DO $$
DECLARE
	c CURSOR (low int) FOR SELECT id, balance FROM acc WHERE id > low ORDER BY id;
	n int := 0;
BEGIN
	FOR rec IN c (10) LOOP
		n := n + 1;
		INSERT INTO log VALUES (rec.id, 100, n);
	END LOOP;
END $$;
SELECT * FROM log WHERE seq = 100 ORDER BY 1;
DO $$
DECLARE
	t text;
	n bigint;
BEGIN
	FOREACH t IN ARRAY ARRAY['acc', 'log', 'far', 'r'] LOOP
		EXECUTE format('SELECT count(*) FROM %I', t) INTO n;
		EXECUTE 'INSERT INTO far VALUES ($1, $2)' USING 'count ' || t, n;
	END LOOP;
END $$;
SELECT name, acc_id FROM far WHERE name LIKE 'count%' ORDER BY 1;
DO $$
BEGIN
	BEGIN
		INSERT INTO acc VALUES (1, 'dup', 1);
	EXCEPTION WHEN unique_violation THEN
		INSERT INTO log VALUES (1, 200, 1);
	END;
	BEGIN
		INSERT INTO acc VALUES (300, 'kept for a moment', 1);
		RAISE EXCEPTION 'undo';
	EXCEPTION WHEN raise_exception THEN
		INSERT INTO log VALUES (2, 200, 2);
	END;
	BEGIN
		PERFORM 1 / (id - 5) FROM acc;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO log VALUES (3, 200, 3);
	END;
END $$;
SELECT * FROM log WHERE seq = 200 ORDER BY 1;
SELECT * FROM acc WHERE id = 300;
DO $$
DECLARE
	state text;
BEGIN
	BEGIN
		UPDATE acc SET balance = -1 WHERE id = 7;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
		INSERT INTO far VALUES ('state ' || state, 1);
	END;
END $$;
SELECT name FROM far WHERE name LIKE 'state%';
DO $$
DECLARE
	v int;
BEGIN
	SELECT id INTO STRICT v FROM acc WHERE owner = 'o1';
END $$;
DO $$
DECLARE
	v int;
BEGIN
	SELECT id INTO STRICT v FROM acc WHERE id = 12345;
END $$;
DO $$
DECLARE
	v acc;
	w acc.balance%TYPE;
BEGIN
	SELECT * INTO v FROM acc WHERE id = 9;
	v.id := 400;
	INSERT INTO acc SELECT v.*;
	DELETE FROM acc WHERE id = 400 RETURNING balance INTO w;
	INSERT INTO log VALUES (9, 300, w);
END $$;
SELECT * FROM log WHERE seq = 300;
DO $$
BEGIN
	RAISE EXCEPTION 'mine' USING ERRCODE = '22012', DETAIL = 'd', HINT = 'h';
END $$;
DO $$
BEGIN
	INSERT INTO acc VALUES (500, 'gone', 5);
	INSERT INTO acc VALUES (501, 'gone', 5);
	PERFORM 1 / 0;
END $$;
SELECT count(*) FROM acc WHERE id >= 500;
DO $$
DECLARE
	ids int[];
BEGIN
	SELECT array_agg(id ORDER BY id) INTO ids FROM acc WHERE owner = 'o2';
	UPDATE acc SET owner = 'array' WHERE id = ANY (ids);
	IF EXISTS (SELECT FROM acc WHERE owner = 'o2') THEN
		RAISE EXCEPTION 'still there';
	END IF;
END $$;
SELECT id FROM acc WHERE owner = 'array' ORDER BY id;
BEGIN;
SELECT transfer(10, 11, 10);
SAVEPOINT a;
SELECT transfer(10, 11, 100000);
SELECT transfer(10, 11, 20);
ROLLBACK TO a;
COMMIT;
SELECT id, balance FROM acc WHERE id IN (10, 11) ORDER BY 1;
DO $$
DECLARE
	n int;
BEGIN
	FOR i IN 1..12 LOOP
		SELECT count(*) INTO n FROM log WHERE acc_id = i AND seq <= 2;
		IF n <> 2 THEN
			RAISE EXCEPTION 'account % has % entries', i, n;
		END IF;
		SELECT sum(v) INTO n FROM s WHERE id <= i;
		SELECT count(*) INTO n FROM far f JOIN acc a ON a.id = f.acc_id WHERE a.id <= i;
	END LOOP;
END $$;
SELECT nothing(1);
SELECT balance_of('x');
CALL steps(1);
CALL balance_of(1);
