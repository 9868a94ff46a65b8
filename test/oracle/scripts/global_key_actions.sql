-- Actions of foreign keys between rows of one node that change keys of global indexes: they are statements of the initiator.
--
-- distribute: tenants(id), people(tenant), notes(tenant), marks(n), kinds reference, kinds_of reference, wide(n)

SET citus.global_indexes = on;
CREATE TABLE tenants (id int PRIMARY KEY, name text UNIQUE);
CREATE TABLE kinds (id int PRIMARY KEY, name varchar(10) UNIQUE);
CREATE TABLE kinds_of (id int PRIMARY KEY, kind int REFERENCES kinds ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE people (tenant int REFERENCES tenants ON DELETE CASCADE ON UPDATE CASCADE, id int PRIMARY KEY, email text UNIQUE,
	kind varchar(10) DEFAULT 'k1' REFERENCES kinds (name) ON DELETE SET DEFAULT ON UPDATE CASCADE, sort int REFERENCES kinds_of ON DELETE CASCADE,
	UNIQUE (tenant, id));
CREATE TABLE notes (tenant int, id int UNIQUE, person int, above int, kind int REFERENCES kinds ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	UNIQUE (tenant, id), FOREIGN KEY (tenant, person) REFERENCES people (tenant, id) ON DELETE CASCADE ON UPDATE CASCADE,
	FOREIGN KEY (tenant, above) REFERENCES notes (tenant, id) ON DELETE CASCADE);
CREATE TABLE wide (n int, person bigint REFERENCES people ON DELETE CASCADE ON UPDATE CASCADE, kind bigint REFERENCES kinds ON DELETE SET NULL,
	tenant bigint REFERENCES tenants ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED, UNIQUE (kind, person));
CREATE TABLE marks (n int, note int REFERENCES notes (id) ON DELETE RESTRICT);
INSERT INTO tenants SELECT i, 'tenant ' || i FROM generate_series(1, 12) i;
INSERT INTO kinds SELECT i, 'k' || i FROM generate_series(1, 9) i;
INSERT INTO kinds_of SELECT i, i % 9 + 1 FROM generate_series(1, 18) i;
INSERT INTO people SELECT i % 12 + 1, i, 'p' || i, 'k' || i % 9 + 1, i % 18 + 1 FROM generate_series(1, 60) i;
INSERT INTO notes SELECT i % 60 % 12 + 1, i, nullif(i % 60, 0), CASE WHEN i > 60 THEN i - 60 END, i % 9 + 1 FROM generate_series(1, 180) i WHERE i % 60 > 0;
-- setup ends
SET citus.global_indexes = on;
INSERT INTO people VALUES (13, 100, 'p100', 'k2', 1);
INSERT INTO people VALUES (1, 100, 'p100', 'k20', 1);
INSERT INTO people VALUES (1, 100, 'p100', 'k2', 19);
INSERT INTO people VALUES (1, 100, 'p100', 'k2', 1), (2, 101, 'p101', NULL, NULL) RETURNING *;
INSERT INTO people VALUES (1, 100, 'p102', 'k2', 1) ON CONFLICT (id) DO UPDATE SET kind = 'k99';
INSERT INTO people VALUES (1, 100, 'p102', 'k2', 1) ON CONFLICT (id) DO UPDATE SET kind = 'k3' RETURNING *;
INSERT INTO notes VALUES (1, 1000, 1, NULL, 1);
INSERT INTO notes VALUES (2, 1000, 1, 1, 1), (2, 1001, 1, 1000, 2) RETURNING *;
BEGIN;
INSERT INTO notes VALUES (2, 1002, 1, 1, 20);
INSERT INTO kinds VALUES (20, 'k20');
COMMIT;
BEGIN;
INSERT INTO notes VALUES (2, 1003, 1, 1, 21);
COMMIT;
DELETE FROM tenants WHERE id = 3 RETURNING *;
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM notes);
BEGIN;
INSERT INTO people SELECT 2, i, 'p' || i FROM generate_series(1, 60) i ON CONFLICT DO NOTHING RETURNING id;
ROLLBACK;
DELETE FROM kinds WHERE id = 5;
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM notes), (SELECT count(*) FROM kinds_of), (SELECT count(*) FROM people WHERE kind = 'k1' OR sort IS NULL);
UPDATE kinds SET name = 'K2' WHERE id = 2;
SELECT kind, count(*) FROM people GROUP BY 1 ORDER BY 1;
DELETE FROM kinds WHERE name = 'k1';
DELETE FROM kinds_of WHERE id < 4;
SELECT count(*), count(sort) FROM people;
UPDATE people SET id = id + 500 WHERE id IN (4, 16, 28);
SELECT tenant, person, count(*) FROM notes WHERE person > 500 GROUP BY 1, 2 ORDER BY 1, 2;
UPDATE tenants SET id = 30 WHERE id = 6;
SELECT tenant, count(*) FROM people WHERE tenant IN (6, 30) GROUP BY 1;
SELECT tenant, count(*) FROM notes WHERE tenant IN (6, 30) GROUP BY 1;
INSERT INTO marks SELECT id, id FROM notes WHERE tenant = 8;
DELETE FROM tenants WHERE id = 8;
DELETE FROM marks WHERE note > 100;
DELETE FROM tenants WHERE id = 8;
DELETE FROM marks;
BEGIN;
DELETE FROM tenants WHERE id = 8;
SAVEPOINT s;
DELETE FROM tenants WHERE id IN (9, 10);
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM notes);
ROLLBACK TO s;
INSERT INTO people VALUES (9, 800, 'p800', NULL, NULL);
COMMIT;
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM notes);
WITH gone AS (DELETE FROM people WHERE tenant = 10 RETURNING id) SELECT count(*) FROM gone;
DELETE FROM notes WHERE id = (SELECT min(id) FROM notes WHERE tenant = 11 AND above IS NULL) RETURNING tenant;
SELECT tenant, count(*), count(above) FROM notes GROUP BY 1 ORDER BY 1;
MERGE INTO tenants USING (VALUES (11), (40)) v (i) ON id = i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, 'new');
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM notes);
ALTER TABLE notes DROP CONSTRAINT notes_id_key CASCADE;
DELETE FROM tenants WHERE id = 1;
ALTER TABLE people ADD FOREIGN KEY (sort) REFERENCES kinds_of ON UPDATE SET NULL;
UPDATE kinds_of SET id = id + 100 WHERE id > 10;
SELECT count(*), count(sort) FROM people;
DELETE FROM tenants;
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM notes);
INSERT INTO tenants VALUES (2, 'tenant 2');
INSERT INTO people SELECT 2, i, 'p' || i FROM generate_series(1, 60) i;
INSERT INTO tenants VALUES (3, 'three'), (4, 'four');
INSERT INTO wide SELECT i, i, (SELECT max(id) FROM kinds), i % 3 + 2 FROM generate_series(1, 20) i;
INSERT INTO wide VALUES (21, 3000000000, NULL, NULL);
INSERT INTO wide VALUES (21, NULL, 3000000000, NULL);
INSERT INTO wide VALUES (21, NULL, NULL, 3000000000);
INSERT INTO wide VALUES (22, 22, 3, NULL), (22, 23, 3, 4) ON CONFLICT (kind, person) DO UPDATE SET person = 77;
INSERT INTO wide VALUES (22, 22, 4, NULL), (22, 23, 4, 3000000000);
UPDATE people SET id = id + 1000 WHERE id < 5;
DELETE FROM people WHERE id IN (6, 7, 1001);
DELETE FROM kinds WHERE id = (SELECT max(kind) FROM wide);
UPDATE tenants SET id = id + 50 WHERE id = 4;
DELETE FROM tenants WHERE id = 54;
SELECT * FROM wide ORDER BY n, person;
DROP TABLE tenants, kinds CASCADE;
