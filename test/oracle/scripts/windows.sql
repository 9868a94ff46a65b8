-- Window functions.
--
-- distribute: sales(region_id), staff(id) with none, regions reference, extra single, marks local

CREATE TABLE regions (id int PRIMARY KEY, name text);
CREATE TABLE sales (region_id int NOT NULL, day date NOT NULL, amount int, rep int, PRIMARY KEY (region_id, day));
CREATE TABLE staff (id int PRIMARY KEY, dept text, salary int, hired date);
CREATE TABLE extra (day date, v int);
CREATE TABLE marks (id int, v int);
INSERT INTO regions SELECT i, 'region ' || i FROM generate_series(1, 10) i;
INSERT INTO sales SELECT r, date '2024-01-01' + d, CASE WHEN (r + d) % 8 = 0 THEN NULL ELSE (r * d * 31) % 200 END, 1 + (r + d) % 9
FROM generate_series(1, 12) r, generate_series(0, 9) d;
INSERT INTO staff SELECT i, (ARRAY['dev','ops','hr'])[1 + i % 3], 1000 + (i * 37) % 500, date '2020-01-01' + i * 11 FROM generate_series(1, 30) i;
INSERT INTO extra SELECT date '2024-01-01' + i, i FROM generate_series(0, 5) i;
INSERT INTO marks SELECT i % 4, i FROM generate_series(1, 12) i;

-- setup ends
SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY day) FROM sales;
SELECT region_id, day, sum(amount) OVER (PARTITION BY region_id ORDER BY day) FROM sales WHERE region_id < 4;
SELECT region_id, day, sum(amount) OVER (ORDER BY region_id, day) FROM sales WHERE day < '2024-01-03';
SELECT id, dept, rank() OVER (PARTITION BY dept ORDER BY salary DESC, id) FROM staff ORDER BY dept, 3;
SELECT id, dept, salary, dense_rank() OVER (ORDER BY dept), percent_rank() OVER (PARTITION BY dept ORDER BY salary), cume_dist() OVER (PARTITION BY dept ORDER BY salary) FROM staff ORDER BY id;
SELECT id, ntile(4) OVER (ORDER BY salary, id) FROM staff ORDER BY id;
SELECT id, lag(salary) OVER w, lead(salary, 2, -1) OVER w, first_value(id) OVER w, last_value(id) OVER w, nth_value(id, 2) OVER w FROM staff WINDOW w AS (PARTITION BY dept ORDER BY hired) ORDER BY id;
SELECT id, salary - avg(salary) OVER (PARTITION BY dept) > 0 AS above FROM staff ORDER BY id;
SELECT dept, count(*), sum(count(*)) OVER (), rank() OVER (ORDER BY sum(salary) DESC) FROM staff GROUP BY dept ORDER BY dept;
SELECT region_id, sum(amount), sum(sum(amount)) OVER (ORDER BY region_id) FROM sales GROUP BY region_id ORDER BY 1;
SELECT day, sum(amount), avg(sum(amount)) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM sales GROUP BY day ORDER BY day;
SELECT day, region_id, sum(amount) OVER (PARTITION BY day ORDER BY region_id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM sales WHERE region_id <= 5 ORDER BY 1, 2;
SELECT region_id, day, sum(amount) OVER (PARTITION BY region_id ORDER BY day RANGE BETWEEN interval '2 days' PRECEDING AND interval '1 day' FOLLOWING) FROM sales WHERE region_id IN (2, 9) ORDER BY 1, 2;
SELECT id, count(*) OVER (ORDER BY salary RANGE BETWEEN 50 PRECEDING AND 50 FOLLOWING) FROM staff ORDER BY id;
SELECT id, count(*) OVER (ORDER BY dept GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM staff ORDER BY id;
SELECT id, sum(salary) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM staff ORDER BY id;
SELECT id, array_agg(id) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP) FROM staff ORDER BY id;
SELECT id, string_agg(dept, ',') OVER (ORDER BY id ROWS 2 PRECEDING) FROM staff WHERE id < 8 ORDER BY id;
SELECT id, count(*) FILTER (WHERE salary > 1200) OVER (PARTITION BY dept) FROM staff ORDER BY id;
SELECT region_id, day, amount FROM (SELECT *, rank() OVER (PARTITION BY region_id ORDER BY amount DESC NULLS LAST, day) AS r FROM sales) s WHERE r = 1 ORDER BY 1;
SELECT dept, id FROM (SELECT *, row_number() OVER (PARTITION BY dept ORDER BY salary, id) AS r FROM staff) s WHERE r <= 2 ORDER BY 1, 2;
SELECT r.name, s.day, sum(s.amount) OVER (PARTITION BY r.name ORDER BY s.day) FROM sales s JOIN regions r ON r.id = s.region_id WHERE s.day < '2024-01-04' ORDER BY 1, 2;
SELECT st.dept, s.region_id, rank() OVER (PARTITION BY st.dept ORDER BY sum(s.amount) DESC, s.region_id) FROM sales s JOIN staff st ON st.id = s.rep GROUP BY 1, 2 ORDER BY 1, 3;
SELECT DISTINCT dept, first_value(id) OVER (PARTITION BY dept ORDER BY salary DESC, id) FROM staff ORDER BY 1;
SELECT DISTINCT count(*) OVER (PARTITION BY region_id) FROM sales;
SELECT id, salary FROM staff ORDER BY rank() OVER (ORDER BY salary DESC), id LIMIT 5;
SELECT count(*) OVER () FROM sales LIMIT 1;
-- statement needs: colocation
SELECT region_id, row_number() OVER (ORDER BY region_id) FROM sales WHERE region_id = 5 ORDER BY day LIMIT 3;
SELECT day, amount, lag(amount) OVER (ORDER BY day) FROM sales WHERE region_id = 7 ORDER BY day;
SELECT r.id, row_number() OVER (ORDER BY r.name DESC) FROM regions r ORDER BY 1;
SELECT e.day, e.v, sum(s.amount) OVER (ORDER BY e.day) FROM extra e JOIN sales s ON s.day = e.day AND s.region_id = 3 ORDER BY 1;
SELECT m.id, m.v, sum(m.v) OVER (PARTITION BY m.id ORDER BY m.v), st.dept FROM marks m LEFT JOIN staff st ON st.id = m.id ORDER BY 1, 2;
SELECT x.id, x.s FROM (SELECT id, sum(salary) OVER (ORDER BY id) AS s FROM staff) x WHERE x.id = 7;
SELECT x.region_id, x.s FROM (SELECT region_id, day, sum(amount) OVER (PARTITION BY region_id ORDER BY day) AS s FROM sales) x WHERE x.region_id = 7 AND x.day = '2024-01-05';
WITH w AS (SELECT region_id, day, amount - lag(amount) OVER (PARTITION BY region_id ORDER BY day) AS delta FROM sales) SELECT region_id, max(delta), min(delta) FROM w GROUP BY 1 ORDER BY 1;
SELECT sum(rank) FROM (SELECT rank() OVER (ORDER BY salary) FROM staff) s;
SELECT id, sum(salary) OVER (PARTITION BY dept ORDER BY id), sum(salary) OVER (ORDER BY id DESC), count(*) OVER () FROM staff ORDER BY id;
SELECT id, row_number() OVER (ORDER BY id) + (SELECT count(*) FROM sales) FROM staff WHERE id < 4 ORDER BY 1;
SELECT id, max(salary) OVER (PARTITION BY (SELECT dept FROM staff i WHERE i.id = o.id)) FROM staff o ORDER BY 1;
SELECT id, lag(id, id % 3) OVER (ORDER BY id) FROM staff ORDER BY id;
SELECT region_id, avg(amount) OVER (PARTITION BY region_id % 3)::numeric(10,3), max(day) OVER (PARTITION BY rep) FROM sales WHERE day = '2024-01-02' ORDER BY 1;
SELECT dept, salary, sum(salary) OVER (PARTITION BY dept ORDER BY salary GROUPS 1 PRECEDING EXCLUDE TIES) FROM staff ORDER BY 1, 2;
SELECT rank() FROM staff;
SELECT id FROM staff WHERE rank() OVER (ORDER BY id) = 1;
SELECT sum(salary) OVER w FROM staff;
SELECT id, ntile(0) OVER (ORDER BY id) FROM staff;
SELECT sum(1 / (salary - 1000)) OVER (ORDER BY id) FROM staff WHERE (1 / (id - 5)) IS NOT NULL;

-- Filters that the planner moves to the windows as run conditions.
SELECT * FROM (SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY day DESC) AS n FROM sales) s WHERE n <= 2 ORDER BY 1, 2;
SELECT * FROM (SELECT region_id, amount, dense_rank() OVER (PARTITION BY region_id ORDER BY amount) AS r FROM sales) s WHERE 3 > r AND region_id < 6 ORDER BY 1, 2;
SELECT region_id, count(*), sum(n) FROM (SELECT *, rank() OVER (PARTITION BY region_id ORDER BY rep) AS n FROM sales) s WHERE n < 4 GROUP BY region_id ORDER BY 1;
SELECT * FROM (SELECT region_id, day, count(*) OVER (PARTITION BY region_id ORDER BY day) AS c, row_number() OVER (PARTITION BY region_id ORDER BY amount, day) AS n, sum(amount) OVER (PARTITION BY region_id) FROM sales) s WHERE c <= 5 AND n <= 4 ORDER BY 1, 2;
SELECT region_id, n FROM (SELECT region_id, rank() OVER w AS n, max(day) OVER w AS m FROM sales WINDOW w AS (PARTITION BY region_id ORDER BY rep)) s WHERE n <= 2 AND m > '2024-01-04' ORDER BY 1, 2;
SELECT s.region_id, s.day, r.name FROM (SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales) s LEFT JOIN regions r ON r.id = s.region_id WHERE n <= 1 ORDER BY 1;
SELECT a.region_id, a.n, b.day FROM (SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY amount, day) AS n FROM sales) a JOIN sales b ON b.region_id = a.region_id AND b.day = a.day AND b.amount > 50 WHERE a.n <= 6 ORDER BY 1, 2;
SELECT DISTINCT n, k FROM (SELECT region_id % 2 AS k, row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales) s WHERE n <= 2 ORDER BY 1, 2;
SELECT * FROM (SELECT DISTINCT region_id, rank() OVER (PARTITION BY region_id ORDER BY amount) AS n FROM sales) s WHERE n <= 3 ORDER BY n, region_id LIMIT 9;
SELECT region_id, s, r FROM (SELECT region_id, rep, sum(amount) AS s, rank() OVER (PARTITION BY region_id ORDER BY sum(amount) DESC, rep) AS r FROM sales GROUP BY region_id, rep) x WHERE r <= 2 ORDER BY 1, 3;
SELECT id, n, v FROM (SELECT s.region_id AS id, m.v, row_number() OVER (PARTITION BY s.region_id ORDER BY m.v, s.day) AS n FROM sales s JOIN marks m ON m.id = s.region_id) x WHERE n <= 3 ORDER BY 1, 2;
SELECT id, c FROM (SELECT s.region_id AS id, count(m.v) OVER (PARTITION BY s.region_id ORDER BY m.v, s.day ROWS UNBOUNDED PRECEDING) AS c FROM sales s JOIN marks m ON m.id = s.region_id) x WHERE c <= 3 ORDER BY 1, 2;
SELECT * FROM (SELECT region_id AS id, row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales UNION ALL SELECT id, row_number() OVER (PARTITION BY id ORDER BY salary) FROM staff) x WHERE n <= 1 ORDER BY 1;
SELECT id, (SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales s WHERE s.region_id = r.id) x WHERE n <= 4) FROM regions r ORDER BY 1;
SELECT r.id, l.day FROM regions r LEFT JOIN LATERAL (SELECT day, row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales s WHERE s.region_id = r.id) l ON l.n <= r.id % 3 ORDER BY 1, 2;
SELECT * FROM (SELECT id, dept, row_number() OVER (PARTITION BY id ORDER BY hired) AS n FROM staff) x WHERE n <= (SELECT min(v) FROM extra WHERE v > 0) AND id < 5 ORDER BY id;
WITH top AS MATERIALIZED (SELECT * FROM (SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY day DESC) AS n FROM sales) s WHERE n <= 2) SELECT count(*), min(day) FROM top;
-- params: 2
-- params: 0
-- params: NULL
SELECT count(*), max(n) FROM (SELECT row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales) s WHERE n <= $1;
CREATE VIEW newest AS SELECT region_id, day, n FROM (SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY day DESC) AS n FROM sales) s;
SELECT n.*, s.amount FROM newest n JOIN sales s USING (region_id, day) WHERE n < 3 ORDER BY 1, 2;
DELETE FROM sales s USING (SELECT region_id, day, row_number() OVER (PARTITION BY region_id ORDER BY day DESC) AS n FROM sales) x WHERE x.region_id = s.region_id AND x.day = s.day AND x.n <= 1 RETURNING s.region_id, s.day;
INSERT INTO staff SELECT 100 + region_id, 'top', amount FROM (SELECT *, row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales) x WHERE n <= 1 RETURNING id, salary;
INSERT INTO sales SELECT region_id, day + 1000, amount FROM (SELECT *, row_number() OVER (PARTITION BY region_id ORDER BY day) AS n FROM sales) x WHERE n < 2 RETURNING region_id, day;
