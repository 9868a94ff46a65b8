-- Rights and row security where the nodes compute joins, subqueries and aggregates: of tables that no plan shows, too.
-- on all nodes
DROP ROLE IF EXISTS o_pr_ann, o_pr_ben, o_pr_none, o_pr_view;
-- on all nodes
CREATE ROLE o_pr_ann LOGIN;
-- on all nodes
CREATE ROLE o_pr_ben LOGIN;
-- on all nodes
CREATE ROLE o_pr_none LOGIN;
-- on all nodes
CREATE ROLE o_pr_view LOGIN;
-- on all nodes
GRANT USAGE ON SCHEMA o_pushdown_rights TO PUBLIC;
CREATE TABLE acts (id int PRIMARY KEY, who name, v int);
CREATE TABLE parts (id int, n int, secret text, PRIMARY KEY (id, n));
CREATE TABLE hidden (id int PRIMARY KEY, v int);
CREATE TABLE ref (v int PRIMARY KEY, name text);
CREATE TABLE small (v int, name text);
-- distribute: acts(id) shards 4, parts(id) with acts, hidden(id) with acts, ref reference, small local
INSERT INTO acts SELECT g, CASE WHEN g % 3 = 0 THEN 'o_pr_ann' ELSE 'o_pr_ben' END, g % 10 FROM generate_series(1, 2000) g;
INSERT INTO parts SELECT g, n, 's' || n FROM generate_series(1, 2000) g, generate_series(1, 2) n;
INSERT INTO hidden SELECT g, g % 7 FROM generate_series(1, 2000) g;
INSERT INTO ref SELECT g, 'r' || g FROM generate_series(0, 9) g;
INSERT INTO small SELECT g, 'l' || g FROM generate_series(0, 5) g;
ANALYZE acts, parts, hidden, ref, small;
ALTER TABLE acts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON acts USING (who = current_user);
GRANT SELECT ON acts, ref, small TO o_pr_ann, o_pr_ben, o_pr_view;
GRANT SELECT (id, n) ON parts TO o_pr_ann;
GRANT SELECT ON parts TO o_pr_ben;
GRANT SELECT ON hidden TO o_pr_view;
CREATE VIEW totals AS SELECT id, sum(v) AS total FROM hidden GROUP BY id;
CREATE VIEW strict WITH (security_barrier) AS SELECT id, v FROM hidden WHERE v < 5;
ALTER VIEW totals OWNER TO o_pr_view;
ALTER VIEW strict OWNER TO o_pr_view;
GRANT SELECT ON totals, strict TO o_pr_ann;
-- setup ends

SELECT count(*), sum(v) FROM acts;
SET ROLE o_pr_ann;
SELECT count(*), sum(v), count(DISTINCT v) FROM acts;
SELECT v, count(*) FROM acts GROUP BY v ORDER BY v;
SELECT v, count(*) FROM acts JOIN parts USING (id) GROUP BY v ORDER BY v LIMIT 3;
SELECT count(*) FROM acts JOIN ref USING (v);
SELECT name, count(*) FROM acts JOIN small USING (v) GROUP BY name ORDER BY name;
SELECT count(*) FROM parts p WHERE EXISTS (SELECT FROM acts a WHERE a.id = p.id);
SELECT count(*) FROM parts p WHERE NOT EXISTS (SELECT FROM acts a WHERE a.id = p.id AND a.v > 2);
SELECT count(*), count(a.id) FROM parts p LEFT JOIN acts a ON a.id = p.id;
SELECT max(c) FROM (SELECT id, count(*) AS c FROM parts JOIN acts USING (id) GROUP BY id) s;
SELECT DISTINCT v FROM acts ORDER BY v DESC LIMIT 4;
SELECT id, sum(v) OVER (PARTITION BY id) FROM acts ORDER BY id LIMIT 3;
SELECT count(*), sum(total) FROM acts JOIN totals USING (id);
SELECT count(*), sum(strict.v) FROM acts JOIN strict USING (id);
SELECT count(*) FROM acts WHERE v > (SELECT avg(total) FROM totals WHERE totals.id = acts.id);

SELECT count(*), sum(v) FROM (SELECT id, v FROM acts UNION ALL SELECT id, n FROM parts) u;
SELECT count(*) FROM (SELECT id, v FROM acts UNION ALL SELECT id, v FROM hidden) u;
SELECT count(*), sum(v) FROM (SELECT id, v FROM acts UNION ALL SELECT id, v FROM strict) u;

-- columns and tables without rights, also in subqueries that became part of a text
SELECT count(secret) FROM acts JOIN parts USING (id);
SELECT max(m) FROM acts JOIN (SELECT id, max(secret) AS m FROM parts GROUP BY id) s USING (id);
SELECT count(*) FROM acts JOIN hidden USING (id);
SELECT sum(s) FROM acts JOIN (SELECT id, sum(v) AS s FROM hidden GROUP BY id) h USING (id);
SELECT count(*) FROM acts JOIN (SELECT id FROM hidden GROUP BY id) h USING (id);
SELECT count(*) FROM acts WHERE EXISTS (SELECT FROM hidden WHERE hidden.id = acts.id);
SELECT count(*) FROM acts WHERE v > (SELECT avg(v) FROM hidden WHERE hidden.id = acts.id);
-- subqueries that the nodes run with the outer query
SELECT sum((SELECT count(*) FROM parts WHERE parts.id = acts.id)) FROM acts;
SELECT sum((SELECT count(secret) FROM parts WHERE parts.id = acts.id)) FROM acts;
SELECT sum((SELECT max(v) FROM hidden WHERE hidden.id = acts.id)) FROM acts;
SELECT sum((SELECT total FROM totals WHERE totals.id = acts.id)) FROM acts;
SELECT sum((SELECT max(v) FROM strict WHERE strict.id = acts.id)) FROM acts;
SELECT sum((SELECT count(*) FROM acts WHERE acts.id = parts.id)) FROM parts;
SELECT count(*) FROM parts WHERE n = 1 AND (n = 7 OR EXISTS (SELECT FROM acts WHERE acts.id = parts.id));
SELECT count(*), sum(l.n) FROM acts, LATERAL (SELECT n FROM parts WHERE parts.id = acts.id ORDER BY n LIMIT 1) l;
SELECT count(*), sum(l.v) FROM parts, LATERAL (SELECT v FROM acts WHERE acts.id = parts.id ORDER BY v LIMIT 1) l;
SELECT count(l.s) FROM acts, LATERAL (SELECT secret AS s FROM parts WHERE parts.id = acts.id ORDER BY n LIMIT 1) l;
SELECT count(*) FROM totals WHERE total > 3 AND (total = 9 OR (SELECT count(*) FROM acts WHERE acts.id = totals.id) = 1);
SELECT sum(u), count(*) FROM acts, generate_series(1, v) u;
SELECT sum(u), count(*) FROM totals, generate_series(1, total) u;
SELECT g, l.name, totals.id FROM generate_series(1, 2) g CROSS JOIN LATERAL (SELECT name FROM ref WHERE ref.v = g ORDER BY name LIMIT 1) l, totals WHERE totals.id = g;
-- rows that nodes send to each other
SET citus.exchange_cost = 0;
SET citus.value_cost = 0;
SET citus.tuple_transfer_cost = 1000;
SELECT v, count(DISTINCT id) FROM acts GROUP BY v ORDER BY v;
SELECT v, count(DISTINCT id) FROM strict GROUP BY v ORDER BY v;
SELECT v, count(DISTINCT strict.id) FROM strict JOIN acts USING (v) GROUP BY v ORDER BY v;
SELECT total, count(DISTINCT id) FROM totals GROUP BY total ORDER BY total;
SELECT v, count(DISTINCT id) FROM hidden GROUP BY v ORDER BY v;
SELECT n, count(DISTINCT secret) FROM parts GROUP BY n ORDER BY n;
RESET citus.exchange_cost;
RESET citus.value_cost;
RESET citus.tuple_transfer_cost;
SET ROLE o_pr_ben;
SELECT count(*), sum(v), count(DISTINCT v) FROM acts;
SELECT max(m), count(*) FROM acts JOIN (SELECT id, max(secret) AS m FROM parts GROUP BY id) s USING (id);
SELECT count(*), sum(total) FROM acts JOIN totals USING (id);
SET ROLE o_pr_none;
SELECT count(*) FROM acts;
SELECT sum(c) FROM (SELECT id, count(*) AS c FROM parts GROUP BY id) s;
RESET ROLE;

-- a right that goes, while a plan that shows no such table is kept
GRANT SELECT ON hidden TO o_pr_ben;
SET ROLE o_pr_ben;
PREPARE kept AS SELECT sum(s) FROM acts JOIN (SELECT id, sum(v) AS s FROM hidden GROUP BY id) h USING (id);
EXECUTE kept;
RESET ROLE;
REVOKE SELECT ON hidden FROM o_pr_ben;
SET ROLE o_pr_ben;
EXECUTE kept;
RESET ROLE;
DEALLOCATE kept;
ALTER POLICY own ON acts USING (v = 1 AND who = current_user);
SET ROLE o_pr_ann;
SELECT v, count(*) FROM acts JOIN parts USING (id) GROUP BY v ORDER BY v;
RESET ROLE;
ALTER POLICY own ON acts USING (who = current_user);
-- on all nodes
DROP OWNED BY o_pr_view, o_pr_ann, o_pr_ben, o_pr_none;
