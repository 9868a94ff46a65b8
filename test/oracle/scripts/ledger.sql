-- A ledger: accounts by uuid, double-entry postings by date, month ends; and a stream of events.
--
-- distribute: accounts(id), postings(account) with accounts, periods(month) with none, rates reference
-- distribute: events(device), devices(name) with events, kinds reference, settings single, notebook local

CREATE TABLE rates (cur text PRIMARY KEY, per_eur numeric);
CREATE TABLE accounts (id uuid PRIMARY KEY, owner text, cur text DEFAULT 'EUR', opened date);
CREATE TABLE postings (account uuid NOT NULL, n bigint NOT NULL, day date, amount numeric(14,2), memo text, PRIMARY KEY (account, n));
CREATE TABLE periods (month date PRIMARY KEY, closed bool DEFAULT false, total numeric);
CREATE TABLE kinds (kind smallint PRIMARY KEY, name text);
CREATE TABLE events (device text NOT NULL, at timestamptz NOT NULL, kind smallint, value float8, payload jsonb);
CREATE TABLE devices (name text PRIMARY KEY, site text, installed timestamptz);
CREATE TABLE settings (key text, value text);
CREATE TABLE notebook (day date, text text);
INSERT INTO rates VALUES ('EUR', 1), ('USD', 1.25), ('GBP', 0.8);
INSERT INTO accounts SELECT md5(i::text)::uuid, 'owner ' || i, (ARRAY['EUR','USD','GBP'])[1 + i % 3], date '2022-01-01' + i FROM generate_series(1, 30) i;
INSERT INTO postings SELECT md5((1 + i % 30)::text)::uuid, i, date '2024-01-01' + (i * 5) % 120, CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END * (i * 7 % 100 + 0.25), CASE WHEN i % 10 = 0 THEN 'fee' END FROM generate_series(1, 300) i;
INSERT INTO periods (month) SELECT date '2024-01-01' + m * interval '1 month' FROM generate_series(0, 5) m;
INSERT INTO kinds VALUES (1, 'temp'), (2, 'hum'), (3, 'door'), (4, 'unused');
INSERT INTO devices SELECT 'dev-' || i, 'site ' || i % 4, '2023-01-01 00:00+00' FROM generate_series(1, 16) i;
INSERT INTO events SELECT 'dev-' || 1 + i % 18, timestamptz '2024-03-01 00:00+00' + i * interval '7 minutes', 1 + i % 3, CASE WHEN i % 17 <> 0 THEN (i % 40) * 0.5 END, CASE WHEN i % 3 = 2 THEN jsonb_build_object('open', i % 2 = 0) END FROM generate_series(1, 400) i;
INSERT INTO settings VALUES ('month', '2024-02-01'), ('site', 'site 2');
INSERT INTO notebook VALUES ('2024-01-06', 'saint'), ('2024-02-14', 'roses');

-- setup ends
SELECT a.owner, sum(p.amount) FROM accounts a JOIN postings p ON p.account = a.id WHERE a.id = md5('7')::uuid GROUP BY a.owner;
SELECT n, day, amount, sum(amount) OVER (ORDER BY day, n) AS balance FROM postings WHERE account = md5('7')::uuid ORDER BY day, n;
SELECT a.owner, sum(p.amount), sum(p.amount / r.per_eur)::numeric(20,4) FROM accounts a JOIN postings p ON p.account = a.id JOIN rates r USING (cur) GROUP BY a.id ORDER BY 1;
SELECT m.month, count(p.n), sum(p.amount) FROM periods m LEFT JOIN postings p ON p.day >= m.month AND p.day < m.month + interval '1 month' GROUP BY m.month ORDER BY 1;
UPDATE periods SET total = (SELECT sum(amount) FROM postings WHERE date_trunc('month', day) = month), closed = true WHERE month < '2024-03-01' RETURNING *;
UPDATE periods SET closed = NOT closed WHERE month = (SELECT value::date FROM settings WHERE key = 'month') RETURNING month, closed;
SELECT a.owner FROM accounts a WHERE (SELECT sum(amount) FROM postings p WHERE p.account = a.id) < 0 ORDER BY 1;
SELECT p.day, nb.text, count(*), array_agg(p.n ORDER BY p.n) FROM postings p JOIN notebook nb USING (day) GROUP BY 1, 2 ORDER BY 1;
SELECT x.owner, y.owner FROM accounts x JOIN accounts y ON y.opened = x.opened + 1 WHERE x.cur = 'USD' ORDER BY x.opened LIMIT 5;
WITH t AS (INSERT INTO postings VALUES (md5('1')::uuid, 1001, '2024-05-01', -50, 'transfer'), (md5('2')::uuid, 1001, '2024-05-01', 50, 'transfer') RETURNING account, amount) SELECT sum(amount), count(DISTINCT account) FROM t;
SELECT a.owner, p.amount FROM postings p JOIN accounts a ON a.id = p.account WHERE p.memo = 'transfer' ORDER BY 1;
BEGIN;
UPDATE postings SET amount = amount - 10 WHERE account = md5('3')::uuid AND n = 32;
UPDATE postings SET amount = amount + 10 WHERE account = md5('4')::uuid AND n = 33;
SELECT sum(amount) FROM postings WHERE n IN (32, 33);
INSERT INTO periods VALUES ('2024-07-01');
COMMIT;
SELECT sum(amount) FROM postings;
SELECT memo, count(*), sum(abs(amount)) FROM postings GROUP BY memo HAVING sum(abs(amount)) > 10 ORDER BY memo NULLS FIRST;
SELECT date_part('isodow', day) AS dow, cur, sum(amount) FROM postings JOIN accounts ON id = account GROUP BY GROUPING SETS ((dow), (cur), (dow, cur)) ORDER BY 1, 2, 3;
DELETE FROM postings p USING accounts a WHERE a.id = p.account AND a.cur = 'GBP' AND p.memo = 'fee' RETURNING a.owner, p.n, p.amount;
DELETE FROM accounts WHERE id NOT IN (SELECT account FROM postings) RETURNING owner;
MERGE INTO periods m USING (SELECT date_trunc('month', day)::date AS month, sum(amount) AS s FROM postings GROUP BY 1) x ON m.month = x.month WHEN MATCHED AND m.closed THEN DO NOTHING WHEN MATCHED THEN UPDATE SET total = x.s WHEN NOT MATCHED THEN INSERT (month, total) VALUES (x.month, x.s);
SELECT * FROM periods ORDER BY month;

-- Events.
SELECT d.site, k.name, count(*), round(avg(e.value)::numeric, 4), max(e.at) FROM events e JOIN devices d ON d.name = e.device JOIN kinds k ON k.kind = e.kind GROUP BY 1, 2 ORDER BY 1, 2;
SELECT k.name, count(e.value) FROM kinds k LEFT JOIN events e ON e.kind = k.kind GROUP BY 1 ORDER BY 1;
SELECT device, count(*) FROM events WHERE device IN ('dev-3', 'dev-17', 'dev-99') GROUP BY 1 ORDER BY 1;
SELECT e.device FROM events e LEFT JOIN devices d ON d.name = e.device WHERE d.name IS NULL GROUP BY 1 ORDER BY 1;
SELECT date_bin('6 hours', at, '2024-03-01 00:00+00') AS bin, count(*), min(value), max(value) FROM events WHERE kind = 1 GROUP BY bin ORDER BY bin;
SELECT device, at, value FROM (SELECT *, row_number() OVER (PARTITION BY device ORDER BY at DESC) AS r FROM events) e WHERE r = 1 AND device > 'dev-3' ORDER BY device;
SELECT DISTINCT ON (device) device, at, value FROM events WHERE value IS NOT NULL ORDER BY device, value DESC, at;
SELECT device, count(*) FILTER (WHERE (payload ->> 'open')::bool) AS opened, count(*) FILTER (WHERE NOT (payload ->> 'open')::bool) AS closed FROM events WHERE kind = 3 GROUP BY device ORDER BY device;
SELECT d.name, last.at, last.value FROM devices d LEFT JOIN LATERAL (SELECT at, value FROM events e WHERE e.device = d.name AND e.kind = 1 ORDER BY at DESC LIMIT 1) last ON true WHERE d.site = (SELECT value FROM settings WHERE key = 'site') ORDER BY 1;
SELECT at, device, value, avg(value) OVER (PARTITION BY device ORDER BY at ROWS 2 PRECEDING) FROM events WHERE kind = 2 AND device IN ('dev-1', 'dev-2') ORDER BY device, at LIMIT 12;
SELECT a.device, b.device, count(*) FROM events a JOIN events b ON b.at = a.at + interval '7 minutes' WHERE a.kind = 1 AND a.device < 'dev-12' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT width_bucket(value, 0, 20, 4) AS bucket, count(*) FROM events GROUP BY 1 ORDER BY 1;
SELECT g.hour, count(e.at) FROM generate_series(timestamptz '2024-03-01 00:00+00', timestamptz '2024-03-01 06:00+00', interval '1 hour') AS g (hour) LEFT JOIN events e ON e.at >= g.hour AND e.at < g.hour + interval '1 hour' GROUP BY 1 ORDER BY 1;
SELECT device, percentile_disc(0.9) WITHIN GROUP (ORDER BY value) FROM events WHERE value IS NOT NULL GROUP BY device HAVING count(*) > 20 ORDER BY 1;
INSERT INTO events (device, at, kind, value) SELECT 'agg-' || kind, max(at), kind, sum(value) FROM events GROUP BY kind RETURNING device, value;
UPDATE events SET payload = jsonb_build_object('site', d.site) FROM devices d WHERE d.name = events.device AND events.kind = 1;
SELECT payload ->> 'site' AS site, count(*) FROM events WHERE kind = 1 GROUP BY 1 ORDER BY 1;
DELETE FROM events WHERE at < (SELECT min(at) + interval '10 hours' FROM events);
DELETE FROM events e WHERE NOT EXISTS (SELECT FROM devices d WHERE d.name = e.device) RETURNING e.device, e.kind;
SELECT count(*), count(DISTINCT device) FROM events;
SELECT (SELECT count(*) FROM postings), (SELECT count(*) FROM events), (SELECT count(*) FROM notebook), (SELECT max(total) FROM periods);
