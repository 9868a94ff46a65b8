-- Subqueries in every place: WHERE, FROM, select list, HAVING, ORDER BY, LIMIT; correlated or not.
--
-- distribute: tenants(id), users(tenant_id) with tenants, posts(author_id) with none
-- distribute: plans reference, settings single, local_tags local

CREATE TABLE plans (plan text PRIMARY KEY, price int, seats int);
CREATE TABLE tenants (id bigint PRIMARY KEY, plan text, name text);
CREATE TABLE users (tenant_id bigint NOT NULL, user_id bigint NOT NULL, age int, email text, PRIMARY KEY (tenant_id, user_id));
CREATE TABLE posts (author_id bigint NOT NULL, post_id int NOT NULL, likes int, body text);
CREATE TABLE settings (name text, value int);
CREATE TABLE local_tags (post_id int, tag text);

INSERT INTO plans VALUES ('free', 0, 3), ('team', 10, 6), ('corp', 100, 50), ('legacy', NULL, NULL);
INSERT INTO tenants SELECT i, (ARRAY['free','team','corp',NULL])[1 + i % 4], 'tenant ' || i FROM generate_series(1, 20) i;
INSERT INTO users SELECT t, t * 10 + u, CASE WHEN (t + u) % 9 = 0 THEN NULL ELSE 18 + (t * u) % 50 END, 'u' || t || '.' || u || '@x'
FROM generate_series(1, 22) t, generate_series(1, 6) u WHERE u <= 1 + t % 6;
INSERT INTO posts SELECT tenant_id * 10 + u, p, (tenant_id * p * 7) % 40, 'post ' || p
FROM generate_series(1, 24) tenant_id, generate_series(1, 3) u, generate_series(1, 4) p WHERE (tenant_id + u + p) % 3 <> 0;
INSERT INTO settings VALUES ('min_age', 30), ('max_age', 50), ('none', NULL);
INSERT INTO local_tags SELECT 1 + i % 5, 'tag' || i FROM generate_series(1, 9) i;

-- setup ends
-- Scalar.
SELECT id, (SELECT count(*) FROM users u WHERE u.tenant_id = t.id) AS n FROM tenants t ORDER BY id;
SELECT id, (SELECT price FROM plans p WHERE p.plan = t.plan) FROM tenants t ORDER BY id;
SELECT id, (SELECT max(likes) FROM posts p WHERE p.author_id / 10 = t.id) FROM tenants t ORDER BY id;
SELECT plan, (SELECT count(*) FROM tenants t WHERE t.plan = p.plan) FROM plans p ORDER BY plan;
SELECT name, (SELECT count(*) FROM users WHERE age > value) FROM settings ORDER BY name;
SELECT tag, (SELECT sum(likes) FROM posts p WHERE p.post_id = l.post_id) FROM local_tags l ORDER BY tag;
SELECT id, (SELECT (SELECT count(*) FROM posts p WHERE p.author_id = u.user_id) FROM users u WHERE u.tenant_id = t.id ORDER BY user_id LIMIT 1) FROM tenants t ORDER BY id;
SELECT (SELECT count(*) FROM tenants), (SELECT count(*) FROM users), (SELECT count(*) FROM posts);
SELECT (SELECT max(id) FROM tenants) + (SELECT min(age) FROM users) AS total;
SELECT id FROM tenants WHERE id = (SELECT max(tenant_id) - 4 FROM users);
SELECT user_id FROM users WHERE age > (SELECT avg(age) FROM users) ORDER BY user_id;
SELECT user_id FROM users u WHERE age > (SELECT avg(age) FROM users v WHERE v.tenant_id = u.tenant_id) ORDER BY user_id;
SELECT user_id FROM users u WHERE age = (SELECT max(age) FROM users v WHERE v.tenant_id = u.tenant_id) ORDER BY user_id;
SELECT user_id FROM users u WHERE age < (SELECT value FROM settings WHERE name = 'min_age') ORDER BY user_id;
SELECT user_id FROM users u WHERE age BETWEEN (SELECT value FROM settings WHERE name = 'min_age') AND (SELECT value FROM settings WHERE name = 'max_age') ORDER BY user_id;
SELECT count(*) FROM users WHERE tenant_id = (SELECT 5);
SELECT count(*) FROM users WHERE tenant_id = (SELECT id FROM tenants WHERE name = 'tenant 5');
SELECT count(*) FROM users WHERE tenant_id = 5 AND age > (SELECT min(age) FROM users WHERE tenant_id = 5);
SELECT count(*) FROM users WHERE tenant_id = 5 AND age > (SELECT min(age) FROM users WHERE tenant_id = 6);
SELECT count(*) FROM users WHERE age = (SELECT age FROM users WHERE tenant_id = 99);
SELECT count(*) FROM users WHERE age = (SELECT age FROM users WHERE tenant_id = 5);
SELECT (SELECT user_id FROM users WHERE tenant_id = 5);
SELECT count(*) FROM users WHERE (tenant_id, age) = (SELECT tenant_id, max(age) FROM users WHERE tenant_id = 5 GROUP BY tenant_id);
SELECT user_id FROM users WHERE (tenant_id, age) IN (SELECT tenant_id, max(age) FROM users GROUP BY tenant_id) ORDER BY 1;
SELECT user_id FROM users WHERE (tenant_id, age) NOT IN (SELECT tenant_id, max(age) FROM users WHERE age IS NOT NULL GROUP BY tenant_id) AND age IS NOT NULL ORDER BY 1 LIMIT 20;
SELECT ROW(1, 2) = (SELECT 1, count(*) FROM tenants WHERE id <= 2);

-- IN, ANY, ALL, EXISTS.
SELECT id FROM tenants WHERE id IN (SELECT tenant_id FROM users WHERE age > 60) ORDER BY id;
SELECT id FROM tenants WHERE id NOT IN (SELECT tenant_id FROM users WHERE age > 40) ORDER BY id;
SELECT id FROM tenants WHERE plan IN (SELECT plan FROM plans WHERE price > 5) ORDER BY id;
SELECT id FROM tenants WHERE plan NOT IN (SELECT plan FROM plans WHERE price > 5) ORDER BY id;
SELECT plan FROM plans WHERE plan IN (SELECT plan FROM tenants WHERE id > 10) ORDER BY plan;
SELECT plan FROM plans WHERE plan NOT IN (SELECT plan FROM tenants) ORDER BY plan;
SELECT plan FROM plans WHERE plan NOT IN (SELECT plan FROM tenants WHERE plan IS NOT NULL) ORDER BY plan;
SELECT count(*) FROM posts WHERE author_id IN (SELECT user_id FROM users);
SELECT count(*) FROM posts WHERE author_id IN (SELECT user_id FROM users WHERE tenant_id IN (SELECT id FROM tenants WHERE plan = 'team'));
SELECT count(*) FROM users WHERE user_id = ANY (SELECT author_id FROM posts WHERE likes > 30);
SELECT count(*) FROM users WHERE age > ALL (SELECT value FROM settings WHERE value IS NOT NULL);
SELECT count(*) FROM users WHERE age > ALL (SELECT value FROM settings);
SELECT count(*) FROM users WHERE age > ANY (SELECT value FROM settings);
SELECT count(*) FROM users WHERE age <> ALL (SELECT age FROM users WHERE tenant_id = 3 AND age IS NOT NULL);
SELECT id FROM tenants t WHERE id > ALL (SELECT author_id / 20 FROM posts p WHERE p.likes = t.id) ORDER BY id;
SELECT id FROM tenants WHERE EXISTS (SELECT 1 FROM posts WHERE likes > 1000) ORDER BY id;
SELECT id FROM tenants WHERE EXISTS (SELECT 1 FROM posts WHERE likes > 10) AND id < 4 ORDER BY id;
SELECT id FROM tenants t WHERE EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = t.id AND EXISTS (SELECT 1 FROM posts p WHERE p.author_id = u.user_id AND p.likes > 30)) ORDER BY id;
SELECT id FROM tenants t WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = t.id AND NOT EXISTS (SELECT 1 FROM posts p WHERE p.author_id = u.user_id)) ORDER BY id;
SELECT id FROM tenants t WHERE EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = t.id) OR id > 18 ORDER BY id;
SELECT id, EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = t.id AND u.age IS NULL) AS has_unknown FROM tenants t ORDER BY id;
SELECT id, id IN (SELECT tenant_id FROM users WHERE age IS NULL) AS unknown FROM tenants ORDER BY id;
SELECT id, plan IN (SELECT plan FROM plans WHERE price IS NULL) FROM tenants ORDER BY id;
SELECT value, value IN (SELECT age FROM users) FROM settings ORDER BY 1;
SELECT count(*) FROM users u WHERE 2 < (SELECT count(*) FROM posts p WHERE p.author_id = u.user_id);
SELECT count(*) FROM users u WHERE (SELECT bool_and(likes > 2) FROM posts p WHERE p.author_id = u.user_id);
SELECT tag FROM local_tags WHERE post_id IN (SELECT post_id FROM posts WHERE likes = 0) ORDER BY tag;
SELECT count(*) FROM posts WHERE post_id IN (SELECT post_id FROM local_tags WHERE tag LIKE '%3' OR tag LIKE '%7');
SELECT count(*) FROM posts p WHERE EXISTS (SELECT FROM local_tags l WHERE l.post_id = p.post_id AND p.likes > 20);
SELECT count(*) FROM users u WHERE u.age IN (SELECT value FROM settings UNION SELECT 30 + price FROM plans);

-- ARRAY(), VALUES, functions.
SELECT id, ARRAY(SELECT user_id FROM users u WHERE u.tenant_id = t.id ORDER BY user_id) FROM tenants t WHERE id < 6 ORDER BY id;
SELECT ARRAY(SELECT id FROM tenants WHERE plan = 'team' ORDER BY id);
SELECT plan, array_length(ARRAY(SELECT id FROM tenants t WHERE t.plan = p.plan), 1) FROM plans p ORDER BY plan;
SELECT count(*) FROM users WHERE tenant_id = ANY (ARRAY(SELECT id FROM tenants WHERE plan = 'corp'));
SELECT count(*) FROM users WHERE tenant_id IN (VALUES (1), (3), (5));
SELECT count(*) FROM users WHERE (tenant_id, user_id) IN (VALUES (1, 11), (3, 31), (5, 99));
SELECT count(*) FROM users WHERE tenant_id IN (SELECT generate_series(1, 5));

-- FROM.
SELECT s.tenant_id, s.n FROM (SELECT tenant_id, count(*) AS n FROM users GROUP BY tenant_id) s WHERE s.n > 4 ORDER BY 1;
SELECT avg(n) FROM (SELECT count(*) AS n FROM users GROUP BY tenant_id) s;
SELECT n, count(*) FROM (SELECT count(*) AS n FROM users GROUP BY tenant_id) s GROUP BY n ORDER BY n;
SELECT max(s.m) FROM (SELECT max(age) AS m FROM users GROUP BY age % 3) s;
SELECT * FROM (SELECT * FROM tenants ORDER BY id DESC LIMIT 3) s ORDER BY id;
SELECT count(*) FROM (SELECT * FROM users ORDER BY age DESC NULLS LAST, user_id LIMIT 10) s JOIN tenants t ON t.id = s.tenant_id;
SELECT s.id, u.user_id FROM (SELECT id FROM tenants ORDER BY id LIMIT 4) s JOIN users u ON u.tenant_id = s.id ORDER BY 1, 2;
SELECT s.plan, count(*) FROM (SELECT DISTINCT plan FROM tenants) s LEFT JOIN plans p USING (plan) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM (SELECT tenant_id FROM users EXCEPT SELECT id FROM tenants) s;
SELECT * FROM (SELECT tenant_id, row_number() OVER (PARTITION BY tenant_id ORDER BY user_id) AS r, user_id FROM users) s WHERE r = 3 ORDER BY 1;
SELECT * FROM (SELECT id, plan FROM tenants WHERE id = 7) a JOIN (SELECT tenant_id, count(*) FROM users WHERE tenant_id = 7 GROUP BY 1) b ON a.id = b.tenant_id;
SELECT a.n, b.n FROM (SELECT count(*) AS n FROM users WHERE tenant_id = 7) a, (SELECT count(*) AS n FROM users WHERE tenant_id = 8) b;
SELECT x.c FROM (SELECT count(*) AS c FROM (SELECT DISTINCT age FROM (SELECT age FROM users WHERE age IS NOT NULL OFFSET 0) a) b) x;
SELECT s.u.user_id, (s.u).age FROM (SELECT u FROM users u WHERE tenant_id = 4) s ORDER BY 1;
SELECT (s.u).user_id, (s.u).age FROM (SELECT u FROM users u WHERE tenant_id = 4) s ORDER BY 1;

-- HAVING, GROUP BY, ORDER BY, LIMIT.
SELECT tenant_id, count(*) FROM users GROUP BY tenant_id HAVING count(*) > (SELECT avg(seats) / 5 FROM plans) ORDER BY 1;
SELECT tenant_id, count(*) FROM users u GROUP BY tenant_id HAVING count(*) = (SELECT count(*) FROM posts p WHERE p.author_id / 10 = u.tenant_id) ORDER BY 1;
SELECT tenant_id FROM users GROUP BY tenant_id HAVING EXISTS (SELECT FROM tenants t WHERE t.id = users.tenant_id AND t.plan = 'free') ORDER BY 1;
SELECT tenant_id, max(age) FROM users GROUP BY tenant_id HAVING max(age) IN (SELECT age FROM users WHERE tenant_id < 5) ORDER BY 1;
SELECT (SELECT plan FROM tenants t WHERE t.id = u.tenant_id) AS plan, count(*) FROM users u GROUP BY 1 ORDER BY 1;
SELECT user_id FROM users u ORDER BY (SELECT count(*) FROM posts p WHERE p.author_id = u.user_id) DESC, user_id LIMIT 8;
SELECT plan FROM plans p ORDER BY (SELECT count(*) FROM tenants t WHERE t.plan = p.plan), plan;
SELECT id FROM tenants ORDER BY id LIMIT (SELECT count(*) FROM plans) OFFSET (SELECT min(likes) + 1 FROM posts);
SELECT sum((SELECT count(*) FROM users u WHERE u.tenant_id = t.id)) FROM tenants t;
SELECT t.plan, sum((SELECT count(*) FROM posts p WHERE p.author_id / 10 = t.id)) FROM tenants t GROUP BY t.plan ORDER BY 1;
SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM posts p WHERE p.author_id = u.user_id)) FROM users u;
SELECT t.id, CASE WHEN t.id IN (SELECT tenant_id FROM users WHERE age > 60) THEN (SELECT count(*) FROM posts) ELSE -1 END FROM tenants t ORDER BY 1;
SELECT id, coalesce((SELECT name FROM settings WHERE value = t.id + 25), 'no') FROM tenants t ORDER BY 1;
SELECT t.id, (SELECT t.name || '/' || count(*) || '/' || coalesce(max(u.age), 0) FROM users u WHERE u.tenant_id = t.id AND u.user_id > t.id) FROM tenants t ORDER BY 1;
SELECT t.id, (SELECT sum(x.likes) FROM (SELECT likes FROM posts p WHERE p.author_id / 10 = t.id ORDER BY likes DESC LIMIT 2) x) FROM tenants t ORDER BY 1;
SELECT t.id FROM tenants t WHERE (SELECT count(*) FROM users u WHERE u.tenant_id = t.id) > (SELECT count(*) FROM users u WHERE u.tenant_id = t.id + 1) ORDER BY 1;
SELECT t.id, (SELECT string_agg(p.plan, ',' ORDER BY p.plan) FROM plans p WHERE p.seats >= (SELECT count(*) FROM users u WHERE u.tenant_id = t.id)) FROM tenants t ORDER BY 1;

-- Pinned to one tenant: all of SQL in one place.
SELECT u.user_id, (SELECT name FROM tenants t WHERE t.id = u.tenant_id) FROM users u WHERE u.tenant_id = 5 ORDER BY 1;
SELECT * FROM tenants t WHERE t.id = 5 AND EXISTS (SELECT FROM users u WHERE u.tenant_id = t.id AND u.age > 20);
SELECT t.name, p.price FROM tenants t JOIN plans p USING (plan) WHERE t.id = 5 AND p.seats > (SELECT count(*) FROM users WHERE tenant_id = 5);
SELECT count(*) FROM users u WHERE tenant_id = 5 AND user_id IN (SELECT user_id FROM users v WHERE v.tenant_id = 5 AND v.age > u.age);

-- Wrong on purpose.
SELECT id FROM tenants WHERE id = (SELECT tenant_id, user_id FROM users);
SELECT (SELECT age, user_id FROM users LIMIT 1) FROM tenants;
SELECT id, (SELECT age FROM users u WHERE u.tenant_id = t.id) FROM tenants t ORDER BY id;
SELECT id FROM tenants t WHERE id IN (SELECT nothing FROM users);
SELECT id FROM tenants t WHERE 1 = (SELECT 1 / (id - 3) FROM plans LIMIT 1);
-- a group of all rows whose aggregate nobody needs is one row nevertheless
SELECT count(*) FROM (SELECT max(age) FROM users) q LEFT JOIN users u ON true;
SELECT 1 FROM users HAVING true;
SELECT count(*) FROM (SELECT 1 FROM users HAVING true) q;
