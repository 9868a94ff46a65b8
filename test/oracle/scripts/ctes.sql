-- WITH: inlined, materialized, recursive, modifying; over all table types.
--
-- distribute: accounts(id), moves(account_id) with accounts, tree(id) with none
-- distribute: kinds reference, state single, scratch local, archive(account_id) with accounts

CREATE TABLE kinds (kind text PRIMARY KEY, weight int);
CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance int, kind text);
CREATE TABLE moves (account_id int NOT NULL, seq int NOT NULL, amount int, PRIMARY KEY (account_id, seq));
CREATE TABLE archive (account_id int NOT NULL, seq int, amount int);
CREATE TABLE tree (id int PRIMARY KEY, parent int, label text);
CREATE TABLE state (key text PRIMARY KEY, value int);
CREATE TABLE scratch (id int, value int);
INSERT INTO kinds VALUES ('cash', 1), ('loan', 2), ('bond', 3);
INSERT INTO accounts SELECT i, 'owner' || i % 6, i * 10, (ARRAY['cash','loan','bond',NULL])[1 + i % 4] FROM generate_series(1, 24) i;
INSERT INTO moves SELECT a, s, (a * s * 17) % 50 - 20 FROM generate_series(1, 26) a, generate_series(1, 5) s WHERE (a + s) % 4 > 0;
INSERT INTO tree SELECT i, CASE WHEN i > 1 THEN i / 2 END, 'node' || i FROM generate_series(1, 31) i;
INSERT INTO state VALUES ('low', 5), ('high', 15), ('none', NULL);
INSERT INTO scratch SELECT i, i * i FROM generate_series(1, 6) i;

-- setup ends
WITH x AS (SELECT * FROM accounts) SELECT count(*), sum(balance) FROM x;
WITH x AS (SELECT * FROM accounts WHERE id = 5) SELECT * FROM x;
WITH x AS MATERIALIZED (SELECT * FROM accounts) SELECT * FROM x WHERE id = 5;
WITH x AS NOT MATERIALIZED (SELECT * FROM accounts) SELECT a.id FROM x a JOIN x b ON a.id = b.id + 12 ORDER BY 1;
WITH x AS MATERIALIZED (SELECT * FROM accounts) SELECT a.id FROM x a JOIN x b ON a.id = b.id + 12 ORDER BY 1;
WITH x AS (SELECT * FROM accounts) SELECT a.id FROM x a JOIN x b ON a.id = b.id + 12 ORDER BY 1;
WITH x AS (SELECT account_id, sum(amount) AS s FROM moves GROUP BY account_id) SELECT a.id, a.balance + x.s FROM accounts a JOIN x ON x.account_id = a.id ORDER BY 1;
WITH x AS (SELECT account_id, sum(amount) AS s FROM moves GROUP BY account_id), y AS (SELECT max(s) AS m FROM x) SELECT account_id FROM x, y WHERE s = m ORDER BY 1;
WITH x AS (SELECT kind, count(*) AS n FROM accounts GROUP BY kind) SELECT k.kind, x.n FROM kinds k LEFT JOIN x USING (kind) ORDER BY 1;
WITH x AS (SELECT id FROM accounts ORDER BY balance DESC, id LIMIT 3) SELECT m.* FROM moves m WHERE account_id IN (SELECT id FROM x) ORDER BY 1, 2;
WITH x (a, b) AS (SELECT id, owner FROM accounts WHERE id < 4) SELECT b, a FROM x ORDER BY a;
WITH x AS (SELECT 1 AS one), y AS (SELECT one + 1 AS two FROM x), z AS (SELECT two + 1 AS three FROM y) SELECT one, two, three, count(a.id) FROM x, y, z, accounts a GROUP BY 1, 2, 3;
WITH x AS (SELECT * FROM state), y AS (SELECT * FROM scratch) SELECT y.id FROM y WHERE y.value BETWEEN (SELECT value FROM x WHERE key = 'low') AND (SELECT value FROM x WHERE key = 'high') ORDER BY 1;
WITH x AS (SELECT id FROM scratch) SELECT a.id, a.balance FROM accounts a JOIN x USING (id) ORDER BY 1;
WITH x AS (VALUES (1, 'one'), (2, 'two')) SELECT a.id, x.column2 FROM accounts a JOIN x ON a.id = x.column1 ORDER BY 1;
WITH x AS (SELECT generate_series(1, 3) AS g) SELECT g, balance FROM x JOIN accounts ON id = g ORDER BY 1;
WITH unread AS (SELECT 1 / 0 FROM accounts) SELECT count(*) FROM accounts;
WITH x AS MATERIALIZED (SELECT 1 / (id - 7) AS bad FROM accounts) SELECT count(*) FROM x WHERE bad > 5;
WITH x AS (SELECT id FROM accounts UNION SELECT account_id FROM moves) SELECT count(*), min(id), max(id) FROM x;
WITH accounts AS (SELECT 1 AS id) SELECT * FROM accounts;
WITH x AS (WITH y AS (SELECT id FROM accounts WHERE id < 5) SELECT id * 2 AS d FROM y) SELECT d FROM x ORDER BY 1;
WITH x AS (WITH y AS (SELECT count(*) AS n FROM moves) SELECT id, n FROM accounts, y) SELECT sum(n), count(*) FROM x;
SELECT id, (WITH m AS (SELECT amount FROM moves WHERE account_id = a.id) SELECT sum(amount) FROM m) FROM accounts a ORDER BY id;
SELECT id FROM accounts a WHERE EXISTS (WITH m AS (SELECT * FROM moves) SELECT FROM m WHERE m.account_id = a.id AND amount > 25) ORDER BY 1;
SELECT * FROM (WITH x AS (SELECT kind, sum(balance) AS s FROM accounts GROUP BY kind) SELECT * FROM x WHERE s > 700) q ORDER BY 1;
SELECT a.id, q.s FROM accounts a, LATERAL (WITH m AS MATERIALIZED (SELECT * FROM moves WHERE account_id = a.id) SELECT sum(amount) AS s FROM m) q WHERE a.id < 6 ORDER BY 1;
WITH x AS (SELECT id, row_number() OVER (ORDER BY balance DESC) AS r FROM accounts) SELECT id FROM x WHERE r <= 3 ORDER BY r;
WITH x AS MATERIALIZED (SELECT * FROM moves WHERE amount > (SELECT avg(amount) FROM moves)) SELECT account_id, count(*) FROM x GROUP BY 1 HAVING count(*) > 2 ORDER BY 1;
WITH x AS (SELECT a FROM accounts a WHERE id = 3) SELECT (x.a).owner FROM x;
WITH o AS (SELECT id FROM accounts WHERE id = 9), m AS (SELECT * FROM moves WHERE account_id = 9) SELECT o.id, m.seq FROM o, m ORDER BY 2;

-- Recursive.
WITH RECURSIVE t AS (SELECT id, parent, 1 AS depth FROM tree WHERE parent IS NULL UNION ALL SELECT c.id, c.parent, depth + 1 FROM tree c JOIN t ON c.parent = t.id) SELECT depth, count(*), sum(id) FROM t GROUP BY depth ORDER BY depth;
WITH RECURSIVE up AS (SELECT id, parent FROM tree WHERE id = 29 UNION ALL SELECT p.id, p.parent FROM tree p, up WHERE p.id = up.parent) SELECT id FROM up ORDER BY id;
WITH RECURSIVE path AS (SELECT id, label::text AS p FROM tree WHERE id = 1 UNION ALL SELECT c.id, path.p || '/' || c.label FROM tree c JOIN path ON c.parent = path.id WHERE c.id < 8) SELECT id, p FROM path ORDER BY id;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i, balance FROM n LEFT JOIN accounts a ON a.id = i * 3 ORDER BY i;
WITH RECURSIVE n AS (SELECT min(id) AS i FROM accounts UNION SELECT (SELECT min(id) FROM accounts WHERE id > n.i) FROM n WHERE i IS NOT NULL) SELECT count(*), max(i) FROM n;
WITH RECURSIVE t AS (SELECT id, parent FROM tree WHERE id = 2 UNION SELECT c.id, c.parent FROM tree c, t WHERE c.parent = t.id), m AS (SELECT account_id, count(*) AS n FROM moves GROUP BY 1) SELECT t.id, m.n FROM t LEFT JOIN m ON m.account_id = t.id ORDER BY 1;
WITH RECURSIVE t (id, parent) AS (SELECT id, parent FROM tree WHERE id = 3 UNION ALL SELECT c.id, c.parent FROM tree c JOIN t ON c.parent = t.id) SEARCH DEPTH FIRST BY id SET ord SELECT id FROM t ORDER BY ord;
WITH RECURSIVE t (id, parent) AS (SELECT id, parent FROM tree WHERE id = 3 UNION ALL SELECT c.id, c.parent FROM tree c JOIN t ON c.parent = t.id) SEARCH BREADTH FIRST BY id SET ord SELECT id FROM t ORDER BY ord;
WITH RECURSIVE t (id) AS (SELECT 1 UNION ALL SELECT CASE WHEN t.id = 4 THEN 1 ELSE t.id + 1 END FROM t JOIN accounts a ON a.id = t.id) CYCLE id SET looped USING way SELECT id, looped, way FROM t ORDER BY array_length(way, 1);
WITH RECURSIVE t AS (SELECT id, balance FROM accounts WHERE id = 1 UNION ALL SELECT a.id, a.balance + t.balance FROM accounts a JOIN t ON a.id = t.id + 1 WHERE a.id <= 6) SELECT * FROM t ORDER BY id;
SELECT (WITH RECURSIVE t AS (SELECT a.id AS i UNION ALL SELECT i / 2 FROM t WHERE i > 1) SELECT count(*) FROM t) AS steps, id FROM accounts a ORDER BY id;

-- Modifying.
WITH d AS (DELETE FROM moves WHERE account_id = 3 RETURNING *) SELECT count(*), sum(amount) FROM d;
SELECT count(*) FROM moves WHERE account_id = 3;
WITH d AS (DELETE FROM moves WHERE amount > 25 RETURNING *) SELECT account_id, seq, amount FROM d ORDER BY 1, 2;
WITH d AS (DELETE FROM moves WHERE account_id IN (4, 5) RETURNING *) INSERT INTO archive SELECT * FROM d;
SELECT * FROM archive ORDER BY 1, 2;
WITH i AS (INSERT INTO accounts VALUES (101, 'new', 1, 'cash'), (102, 'new', 2, 'loan') RETURNING id, balance) SELECT i.id, k.weight FROM i JOIN accounts a USING (id) RIGHT JOIN kinds k ON k.kind = a.kind GROUP BY 1, 2 ORDER BY 2;
SELECT * FROM accounts WHERE id > 100 ORDER BY id;
WITH u AS (UPDATE accounts SET balance = balance + 1 WHERE id < 4 RETURNING id, balance) SELECT u.id, u.balance - a.balance AS diff FROM u JOIN accounts a USING (id) ORDER BY 1;
WITH u AS (UPDATE accounts SET balance = balance + 1000 WHERE id = 7 RETURNING *) SELECT balance FROM u;
WITH u AS (UPDATE accounts SET balance = balance + 1000 WHERE id = 7 RETURNING *) SELECT balance FROM accounts WHERE id = 7;
WITH unread AS (UPDATE accounts SET owner = 'unread' WHERE id IN (8, 9)) SELECT 1 AS one;
SELECT id, owner FROM accounts WHERE id IN (8, 9) ORDER BY 1;
WITH unread AS (DELETE FROM moves WHERE account_id = 10 RETURNING 1) SELECT count(*) FROM moves WHERE account_id = 10;
SELECT count(*) FROM moves WHERE account_id = 10;
WITH a1 AS (UPDATE accounts SET balance = 0 WHERE id = 11 RETURNING id), a2 AS (INSERT INTO archive SELECT id, 1, 1 FROM a1 RETURNING *), a3 AS (DELETE FROM moves USING a2 WHERE moves.account_id = a2.account_id RETURNING moves.seq) SELECT (SELECT count(*) FROM a1), (SELECT count(*) FROM a2), (SELECT count(*) FROM a3);
SELECT (SELECT balance FROM accounts WHERE id = 11), (SELECT count(*) FROM moves WHERE account_id = 11), (SELECT count(*) FROM archive WHERE account_id = 11);
WITH x AS (SELECT id FROM accounts WHERE kind = 'bond') UPDATE moves SET amount = 0 FROM x WHERE x.id = moves.account_id AND seq = 1;
SELECT account_id, amount FROM moves WHERE seq = 1 ORDER BY 1;
WITH x AS (SELECT account_id, sum(amount) AS s FROM moves GROUP BY 1) UPDATE accounts a SET balance = balance + s FROM x WHERE x.account_id = a.id AND a.kind = 'loan' RETURNING a.id, a.balance, x.s;
WITH x AS (SELECT max(account_id) AS m FROM moves) DELETE FROM moves USING x WHERE account_id = x.m RETURNING *;
WITH x AS (SELECT * FROM kinds) INSERT INTO archive SELECT weight, weight, weight FROM x RETURNING account_id;
WITH x AS (INSERT INTO kinds VALUES ('gold', 4) RETURNING kind) UPDATE accounts SET kind = x.kind FROM x WHERE accounts.kind IS NULL;
SELECT kind, count(*) FROM accounts GROUP BY kind ORDER BY kind;
WITH x AS (UPDATE state SET value = value + 1 RETURNING key, value) SELECT * FROM x ORDER BY key;
WITH x AS (DELETE FROM scratch WHERE id > 4 RETURNING *) INSERT INTO archive SELECT id, NULL, value FROM x;
SELECT account_id, amount FROM archive WHERE seq IS NULL ORDER BY 1;
WITH x AS (DELETE FROM archive RETURNING *) SELECT count(*) FROM x;
WITH x AS (INSERT INTO scratch SELECT id, balance FROM accounts WHERE id < 3 RETURNING *) SELECT * FROM x ORDER BY 1;
WITH x AS (UPDATE accounts SET balance = 1 / (id - 12) RETURNING id) SELECT count(*) FROM x;
SELECT sum(balance) FROM accounts;
WITH x AS (SELECT 1) SELECT * FROM y;
WITH x AS (INSERT INTO archive VALUES (1, 2, 3)) SELECT * FROM x;
SELECT * FROM (WITH x AS (DELETE FROM archive RETURNING *) SELECT * FROM x) q;
WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT count(*) FROM t) SELECT * FROM t;
