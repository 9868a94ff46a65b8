-- Aggregates of all kinds, grouping sets, FILTER, DISTINCT, ordered and hypothetical sets.
--
-- distribute: events(tenant), facts(k) with none, dims reference, one single, loc local

CREATE TABLE dims (id int PRIMARY KEY, name text);
CREATE TABLE events (tenant int NOT NULL, id int NOT NULL, kind text, v int, price numeric(12,3), f float8, b boolean, bits bit(4), doc jsonb, tags text[], at timestamptz, PRIMARY KEY (tenant, id));
CREATE TABLE facts (k text NOT NULL, d1 int, d2 text, d3 boolean, m int);
CREATE TABLE one (id int, v int);
CREATE TABLE loc (id int, v int);
INSERT INTO dims SELECT i, 'dim' || i FROM generate_series(0, 5) i;
INSERT INTO events SELECT t, i, (ARRAY['a','b','c',NULL])[1 + (t + i) % 4], CASE WHEN (t * i) % 13 = 0 THEN NULL ELSE (t * i * 7) % 100 END,
	(t * i) % 50 + 0.125, (t + i) * 0.5, (t + i) % 3 = 0, ((t + i) % 16)::bit(4),
	jsonb_build_object('t', t, 'i', i), ARRAY['x' || i % 3, 'y'], timestamptz '2024-05-01 00:00+00' + (t * 10 + i) * interval '1 hour'
FROM generate_series(1, 15) t, generate_series(1, 9) i;
INSERT INTO facts SELECT 'k' || i % 17, i % 4, 'd' || i % 3, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 2 = 0 END, i FROM generate_series(1, 90) i;
INSERT INTO one SELECT i, i * 3 FROM generate_series(1, 7) i;
INSERT INTO loc SELECT i % 3, i FROM generate_series(1, 8) i;

-- setup ends
-- Plain.
SELECT count(*), count(v), count(DISTINCT v), sum(v), min(v), max(v), avg(v) FROM events;
SELECT sum(price), avg(price), min(price), max(price), count(DISTINCT price) FROM events;
SELECT sum(f), avg(f), min(f), max(f) FROM events;
SELECT sum(v::bigint), sum(v::smallint), sum(v::numeric), avg(v::bigint), avg(v::numeric) FROM events;
SELECT sum(interval '1 hour' * v), avg(interval '1 minute' * id) FROM events WHERE tenant < 5;
SELECT min(at), max(at), max(at) - min(at), count(DISTINCT date_trunc('day', at)) FROM events;
SELECT min(kind), max(kind), min(bits::text), max(tags), min(tags) FROM events;
SELECT bool_and(b), bool_or(b), every(b OR NOT b) FROM events;
SELECT bit_and(v), bit_or(v), bit_xor(v), bit_and(bits), bit_or(bits), bit_xor(bits) FROM events;
SELECT round(stddev(v), 6), round(variance(v), 6), round(stddev_pop(v), 6), round(var_samp(price), 6), round(var_pop(price), 6) FROM events;
SELECT regr_count(v, id), round(regr_sxx(id, tenant)::numeric, 6), round(corr(id, id)::numeric, 6), round(covar_pop(v, id)::numeric, 6), round(regr_slope(v, id)::numeric, 6) FROM events;
SELECT count(*), sum(v), avg(v), min(v), max(kind), bool_and(b), array_agg(v), string_agg(kind, ',') FROM events WHERE false;
SELECT tenant, count(*), sum(v), avg(v), min(v), max(v) FROM events GROUP BY tenant ORDER BY tenant;
SELECT kind, count(*), sum(v), avg(price), count(DISTINCT tenant) FROM events GROUP BY kind ORDER BY kind;
SELECT tenant, kind, count(*) FROM events GROUP BY tenant, kind ORDER BY 1, 2;
SELECT kind, b, sum(v) FROM events GROUP BY kind, b ORDER BY 1, 2;
SELECT tenant % 3 AS m, kind || '!' AS k, sum(v) FROM events GROUP BY m, k ORDER BY 1, 2;
SELECT sum(v) FROM events GROUP BY kind ORDER BY kind;
SELECT kind FROM events GROUP BY kind ORDER BY count(*) DESC, kind;
SELECT kind, sum(v) AS s FROM events GROUP BY kind HAVING sum(v) > 1000 AND count(*) > 10 ORDER BY s DESC;
SELECT kind, avg(v) FROM events WHERE tenant = 5 GROUP BY kind ORDER BY kind;
SELECT count(*), sum(v) FROM events WHERE tenant = 5;
SELECT count(*) FROM events WHERE tenant = 99;
SELECT max(v) FROM events WHERE tenant = 99;
SELECT kind, max(v) FROM events WHERE tenant = 99 GROUP BY kind;
SELECT sum(v) + count(*) * 2 - max(v), -sum(v), round(sum(v) / count(*)::numeric, 3) FROM events;
SELECT count(*) = (SELECT count(*) FROM events), sum(v) > 10 FROM events;
SELECT sum(CASE WHEN kind = 'a' THEN v ELSE 0 END), sum(coalesce(v, 0)), count(nullif(kind, 'a')) FROM events;

-- DISTINCT, FILTER, ORDER BY in aggregates.
SELECT sum(DISTINCT v), avg(DISTINCT v % 5), count(DISTINCT kind), count(DISTINCT (kind, b)) FROM events;
-- groups by what is the same for all rows
SELECT sum(DISTINCT v), count(DISTINCT b) FROM events WHERE kind = 'a' GROUP BY kind;
SELECT sum(DISTINCT v), kind FROM events WHERE kind = 'a' GROUP BY kind, b;
SELECT dims.id, (SELECT sum(DISTINCT v) FROM events WHERE kind = 'a' AND kind = substr(dims.name, 1, 0) || 'a') FROM dims ORDER BY 1;
SELECT kind, count(DISTINCT v), sum(DISTINCT tenant) FROM events GROUP BY kind ORDER BY 1;
SELECT tenant, count(DISTINCT kind) FROM events GROUP BY tenant ORDER BY 1;
SELECT count(DISTINCT tenant), count(DISTINCT id), count(DISTINCT tenant * 100 + id) FROM events;
SELECT count(*) FILTER (WHERE v > 50), sum(v) FILTER (WHERE kind = 'a'), avg(v) FILTER (WHERE b), max(v) FILTER (WHERE false) FROM events;
SELECT kind, count(*) FILTER (WHERE v > 50), array_agg(tenant ORDER BY tenant, id) FILTER (WHERE id = 1) FROM events GROUP BY kind ORDER BY 1;
SELECT count(DISTINCT v) FILTER (WHERE b), sum(DISTINCT v) FILTER (WHERE tenant < 4) FROM events;
SELECT array_agg(v ORDER BY tenant, id) FROM events WHERE tenant IN (2, 3, 11);
SELECT array_agg(DISTINCT kind ORDER BY kind DESC NULLS LAST) FROM events;
SELECT array_agg(tags ORDER BY tenant, id) FROM events WHERE id = 1 AND tenant < 4;
SELECT string_agg(kind, ',' ORDER BY tenant, id) FROM events WHERE id < 3;
SELECT tenant, string_agg(kind || id, '-' ORDER BY id DESC) FROM events GROUP BY tenant ORDER BY tenant;
SELECT string_agg(DISTINCT kind, '|' ORDER BY kind) FROM events;
SELECT string_agg(kind::bytea, '\x2c'::bytea ORDER BY tenant, id) FROM events WHERE tenant = 2;
SELECT json_agg(v ORDER BY id) FROM events WHERE tenant = 3;
SELECT jsonb_agg(doc ORDER BY tenant, id) FROM events WHERE id = 2;
SELECT kind, jsonb_agg(jsonb_build_array(tenant, v) ORDER BY tenant, id) FROM events WHERE id < 3 GROUP BY kind ORDER BY kind;
SELECT json_object_agg(tenant, v ORDER BY tenant) FROM events WHERE id = 4;
SELECT jsonb_object_agg(tenant || ':' || id, v) FROM events WHERE tenant > 13;
SELECT json_agg(e ORDER BY id) FROM (SELECT id, kind FROM events WHERE tenant = 6) e;
SELECT jsonb_agg(DISTINCT kind ORDER BY kind) FROM events;
SELECT range_agg(int4range(tenant, tenant + 1) ORDER BY tenant) FROM events WHERE id = 1 AND tenant % 4 <> 0;
SELECT range_intersect_agg(int4range(tenant, 30)) FROM events;
SELECT xmlagg(xmlelement(name t, tenant) ORDER BY tenant)::text FROM events WHERE id = 3 AND tenant < 4;

-- Ordered-set and hypothetical-set.
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), percentile_disc(0.25) WITHIN GROUP (ORDER BY v), mode() WITHIN GROUP (ORDER BY kind) FROM events;
SELECT percentile_disc(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY price) FROM events;
SELECT kind, percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM events GROUP BY kind ORDER BY kind;
SELECT tenant, percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) FROM events GROUP BY tenant ORDER BY tenant;
SELECT rank(50) WITHIN GROUP (ORDER BY v), dense_rank(50) WITHIN GROUP (ORDER BY v), percent_rank(50) WITHIN GROUP (ORDER BY v), cume_dist(50) WITHIN GROUP (ORDER BY v) FROM events;
SELECT kind, rank('m') WITHIN GROUP (ORDER BY kind) FROM events GROUP BY kind ORDER BY 1;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FILTER (WHERE kind = 'a') FROM events;

-- Grouping sets.
SELECT d1, d2, sum(m) FROM facts GROUP BY GROUPING SETS ((d1), (d2), ()) ORDER BY 1, 2;
SELECT d1, d2, d3, count(*), sum(m) FROM facts GROUP BY CUBE (d1, d2, d3) ORDER BY 1, 2, 3, 4, 5;
SELECT d1, d2, sum(m) FROM facts GROUP BY ROLLUP (d1, d2) ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3;
SELECT k, d1, sum(m) FROM facts GROUP BY ROLLUP (k, d1) ORDER BY 1, 2, 3;
SELECT d1, grouping(d1), d2, grouping(d2), grouping(d1, d2), sum(m) FROM facts GROUP BY CUBE (d1, d2) ORDER BY grouping(d1, d2), 1, 3;
SELECT d1, d3, count(*) FROM facts GROUP BY d1, ROLLUP (d3) ORDER BY 1, 2, 3;
SELECT d1, d2, d3, sum(m) FROM facts GROUP BY GROUPING SETS ((d1, d2), ROLLUP (d2, d3)) ORDER BY 1, 2, 3, 4;
SELECT d2, count(DISTINCT d1), array_agg(m ORDER BY m) FILTER (WHERE m < 10) FROM facts GROUP BY ROLLUP (d2) ORDER BY 1;
SELECT d1, sum(m) FROM facts GROUP BY ROLLUP (d1) HAVING sum(m) > 1000 ORDER BY 2;
SELECT d1, d2, sum(m) FROM facts WHERE k = 'k3' GROUP BY CUBE (d1, d2) ORDER BY 1, 2, 3;
SELECT count(*) FROM facts GROUP BY ();
SELECT count(*) FROM facts WHERE false GROUP BY GROUPING SETS ((), (d1));
SELECT d1 % 2 AS p, d2, sum(m) FROM facts GROUP BY GROUPING SETS ((p), (d2)) ORDER BY 1, 2;
SELECT d1, d2, max(m) FROM facts GROUP BY DISTINCT ROLLUP (d1, d2), ROLLUP (d1) ORDER BY 1, 2, 3;
SELECT dims.name, f.d2, sum(f.m) FROM facts f JOIN dims ON dims.id = f.d1 GROUP BY CUBE (dims.name, f.d2) ORDER BY 1, 2;

-- Over joins and subqueries; mixed tables.
SELECT d.name, count(e.id), sum(e.v) FROM dims d LEFT JOIN events e ON e.tenant = d.id GROUP BY d.name ORDER BY 1;
SELECT d.id, d.name, count(*) FROM dims d JOIN facts f ON f.d1 = d.id GROUP BY d.id ORDER BY 1;
SELECT f.d2, sum(e.v), count(*) FROM facts f JOIN events e ON e.tenant = f.m GROUP BY 1 ORDER BY 1;
SELECT o.id, sum(e.v) FROM one o JOIN events e ON e.tenant = o.id GROUP BY o.id ORDER BY 1;
SELECT l.id, count(*), sum(e.v) FROM loc l JOIN events e ON e.tenant = l.v GROUP BY l.id ORDER BY 1;
SELECT max(s), min(s), avg(s) FROM (SELECT sum(v) AS s FROM events GROUP BY tenant) q;
SELECT s, count(*) FROM (SELECT count(v) AS s FROM events GROUP BY tenant, kind) q GROUP BY s ORDER BY s;
SELECT sum(c) FROM (SELECT count(DISTINCT kind) AS c FROM events GROUP BY tenant) q;
SELECT (SELECT sum(v) FROM events), (SELECT sum(m) FROM facts), (SELECT sum(v) FROM one), (SELECT sum(v) FROM loc);
SELECT tenant, sum(v), (SELECT sum(m) FROM facts WHERE d1 = tenant % 4) FROM events GROUP BY tenant ORDER BY tenant;
SELECT tenant, count(*), sum(x) FROM events, unnest(ARRAY[1, 2]) x GROUP BY tenant ORDER BY tenant;
SELECT u, count(*) FROM events, unnest(tags) u GROUP BY u ORDER BY u;
SELECT DISTINCT sum(v) > 300 FROM events GROUP BY tenant ORDER BY 1;
SELECT DISTINCT ON (kind) kind, count(*) FROM events GROUP BY kind, tenant ORDER BY kind, count(*) DESC;
SELECT count(e) , count(e.*) FROM events e;
SELECT max(tenant) FROM events e WHERE e.v = (SELECT max(v) FROM events);
SELECT any_v FROM (SELECT max(v) AS any_v FROM events GROUP BY tenant HAVING count(*) > 5) s ORDER BY 1 LIMIT 3;

-- Wrong on purpose.
SELECT tenant, v FROM events GROUP BY tenant;
SELECT sum(kind) FROM events;
SELECT percentile_cont(2) WITHIN GROUP (ORDER BY v) FROM events;
SELECT sum(v / (v - v)) FROM events;
SELECT sum(2147483647::bigint * 2147483647 * (tenant + 1)) FROM events;
SELECT json_object_agg(kind, v) FROM events;

-- functions that return sets, in GROUP BY
SELECT kind, generate_series(1, 2), count(*) FROM events GROUP BY 1, 2 ORDER BY 1, 2;
SELECT tenant, generate_series(1, 2), count(*) FROM events GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1, 2;
SELECT generate_series(1, 2), count(*) FROM events GROUP BY 1 ORDER BY 1;
SELECT unnest(tags), count(*) FROM events GROUP BY 1 ORDER BY 1;
SELECT kind, generate_series(1, 2), sum(v) FROM events GROUP BY GROUPING SETS ((1), (1, 2)) ORDER BY 1, 2, 3;
