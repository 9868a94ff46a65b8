-- Functions and procedures with a distribution argument: where they run, makes no difference.
-- distribute: account(id), entry(account) with account, rate reference, other(k) shards 3

CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL CHECK (balance > -1000), name text);
CREATE TABLE entry (account int REFERENCES account, n int, amount int, PRIMARY KEY (account, n));
CREATE TABLE rate (id int PRIMARY KEY, percent int);
CREATE TABLE other (k int PRIMARY KEY, v int);
INSERT INTO account SELECT g, 100, 'name ' || g FROM generate_series(1, 20) g;
INSERT INTO rate VALUES (1, 5), (2, 7);
INSERT INTO other SELECT g, g FROM generate_series(1, 20) g;

-- one account, and nothing else
-- cluster also: SELECT create_distributed_function('pay(int, int)', 'payer', 'account')
CREATE FUNCTION pay(payer int, amount int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	rest int;
BEGIN
	UPDATE account SET balance = balance - pay.amount WHERE id = payer RETURNING balance INTO rest;
	INSERT INTO entry SELECT payer, coalesce(max(n), 0) + 1, -pay.amount FROM entry WHERE account = payer;
	RETURN rest;
END $$;
-- reads a reference table; returns rows
-- cluster also: SELECT create_distributed_function('interest(int)', '$1', 'account')
CREATE FUNCTION interest(int) RETURNS TABLE (rate int, interest numeric, owner text) LANGUAGE sql STABLE AS $$
	SELECT r.id, a.balance * r.percent / 100.0, a.name FROM account a, rate r WHERE a.id = $1 ORDER BY r.id $$;
-- two accounts, mostly on different nodes
-- cluster also: SELECT create_distributed_function('transfer(int, int, int)', 'payer', 'account')
CREATE FUNCTION transfer(payer int, payee int, amount int DEFAULT 1) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET balance = balance - amount WHERE id = payer;
	UPDATE account SET balance = balance + amount WHERE id = payee;
	RETURN format('%s to %s', payer, payee);
END $$;
-- a table that is not colocated, and a reference table that is written
-- cluster also: SELECT create_distributed_function('far(int)', 'a', 'account')
CREATE FUNCTION far(a int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	UPDATE rate SET percent = percent + 1 WHERE id = 1;
	RETURN (SELECT sum(v) FROM other) + (SELECT balance FROM account WHERE id = a);
END $$;
-- cluster also: SELECT create_distributed_function('book(int, int, int)', 'a', 'account')
CREATE PROCEDURE book(a int, amount int, INOUT rest int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET balance = balance + amount WHERE id = a RETURNING balance INTO rest;
END $$;
-- cluster also: SELECT create_distributed_function('halves(int)', 'a', 'account')
CREATE PROCEDURE halves(a int, OUT rest int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET balance = balance - 1 WHERE id = a;
	COMMIT;
	UPDATE account SET balance = balance - 1000 WHERE id = a;
	ROLLBACK;
	UPDATE account SET name = name || '!' WHERE id = a RETURNING balance INTO rest;
END $$;
-- cluster also: SELECT create_distributed_function('names(int, text[])', 'a', 'account')
CREATE FUNCTION names(a int, VARIADIC words text[]) RETURNS SETOF text LANGUAGE sql VOLATILE AS $$
	UPDATE account SET name = name || array_to_string(words, '+') WHERE id = a RETURNING name; SELECT unnest(words) $$;
-- setup ends

-- params: 1, 10
-- params: 2, 10
-- params: 3, 5
-- params: NULL, 5
-- params: 99, 5
SELECT pay($1, $2);
SELECT pay(4, 10) AS rest;
SELECT pay(amount => 3, payer => 5);
SELECT pay(5, (random() * 0)::int);
SELECT pay(6, 100000);
SELECT pay(7, 1 / 0);
SELECT pay(8, 1), pay(9, 1);
SELECT pay(id, 1) FROM account WHERE id IN (1, 2) ORDER BY id;
SELECT * FROM pay(10, 1);
SELECT * FROM interest(1);
SELECT owner, rate FROM interest(2);
SELECT (interest(3)).owner;
SELECT * FROM interest(4) WHERE rate = 2;
SELECT count(*) FROM interest(5);
SELECT * FROM interest(NULL);
SELECT transfer(1, 2);
SELECT transfer(1, 2, 3);
SELECT transfer(payee => 3, payer => 4);
SELECT transfer(1, 1, 1);
SELECT transfer(1, 2, 1);
SELECT far(1);
SELECT far(2);
SELECT * FROM rate;
SELECT * FROM names(11, 'a', 'b');
SELECT names(12, VARIADIC ARRAY['c', 'd']);
SELECT names(13);
CALL book(1, 5, 0);
CALL book(2, 5, NULL);
CALL book(rest => 1, a => 3, amount => 2);
CALL book(4, 100000, NULL);
CALL book(NULL, 1, 7);
CALL halves(14, NULL);
CALL halves(15, 3);
SELECT * FROM account ORDER BY id;
SELECT * FROM entry ORDER BY account, n;

-- in transaction blocks
BEGIN;
UPDATE account SET balance = 500 WHERE id = 1;
SELECT pay(1, 10);
SELECT pay(2, 10);
SELECT sum(balance), count(*) FROM account;
SAVEPOINT one;
SELECT transfer(1, 2, 7);
SELECT far(3);
CALL book(3, 11, NULL);
SELECT id, balance FROM account WHERE id < 4 ORDER BY id;
ROLLBACK TO one;
SELECT id, balance FROM account WHERE id < 4 ORDER BY id;
SELECT pay(3, 100000);
ROLLBACK TO one;
SELECT pay(3, 1);
CALL halves(3, NULL);
ROLLBACK;
SELECT id, balance FROM account WHERE id < 4 ORDER BY id;

BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pay(1, 1);
SELECT sum(balance) FROM account;
SELECT * FROM interest(1);
CALL book(2, 1, NULL);
SELECT pay(3, 1);
COMMIT;
BEGIN READ ONLY;
SELECT * FROM interest(1);
SELECT pay(1, 1);
ROLLBACK;

-- called by others
DO $$
DECLARE
	rest int;
BEGIN
	PERFORM pay(1, 1);
	PERFORM * FROM pay(2, 1);
	rest := pay(3, 1);
	PERFORM transfer(2, 3, 1);
	BEGIN
		PERFORM pay(4, 100000);
	EXCEPTION WHEN check_violation THEN
		PERFORM pay(4, 2);
	END;
	CALL book(5, 1, rest);
	PERFORM pay(6, rest);
END $$;
CREATE TABLE made AS SELECT pay(6, 1);
SELECT * FROM made;
INSERT INTO other SELECT pay(7, 1), 0;
SELECT * FROM other WHERE v = 0;
PREPARE paying (int, int) AS SELECT pay($1, $2);
EXECUTE paying(1, 1);
EXECUTE paying(2, 1);
EXECUTE paying(NULL, 1);
EXECUTE paying(3, 1);
EXECUTE paying(3, 1);
EXECUTE paying(4, 1);
EXECUTE paying(5, 1);
EXECUTE paying(6, 1);
BEGIN;
DECLARE paid CURSOR FOR SELECT pay(1, 1);
FETCH ALL FROM paid;
FETCH BACKWARD 1 FROM paid;
COMMIT;
SELECT id, balance FROM account WHERE id < 9 ORDER BY id;
SELECT count(*), sum(amount) FROM entry;
