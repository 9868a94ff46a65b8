-- Row security policies that name tableoid: the table's or the partition's, whichever node and shard has the row.
--
-- distribute: t(id), p(id), r reference, s single, q(id) with t
-- on all nodes
DROP ROLE IF EXISTS o_pt_ann;
-- on all nodes
CREATE ROLE o_pt_ann;
-- on all nodes
GRANT USAGE ON SCHEMA o_policies_tableoid TO PUBLIC;
CREATE TABLE t(id int, v text, k int);
CREATE TABLE p(id int, v text, k int) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (50);
CREATE TABLE p3 PARTITION OF p DEFAULT;
CREATE TABLE r(id int, v text, k int);
CREATE TABLE s(id int, v text, k int);
CREATE TABLE q(id int, v text, k int);
CREATE TABLE loc(id int, v text, k int);
GRANT ALL ON t,p,q,r,s,loc,p1,p3 TO o_pt_ann;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
ALTER TABLE s ENABLE ROW LEVEL SECURITY;
CREATE POLICY a ON t USING (tableoid='t'::regclass) WITH CHECK (tableoid='t'::regclass);
CREATE POLICY a ON s USING (tableoid='s'::regclass) WITH CHECK (tableoid='s'::regclass);
CREATE POLICY a ON r USING (tableoid='r'::regclass) WITH CHECK (tableoid='r'::regclass);
CREATE POLICY a ON p USING (tableoid='p1'::regclass) WITH CHECK (tableoid='p1'::regclass);
ALTER TABLE q ENABLE ROW LEVEL SECURITY;
CREATE POLICY a ON q USING (EXISTS (SELECT FROM t LEFT JOIN t u ON u.id = t.id + 1 WHERE t.id = q.id AND t.tableoid = 't'::regclass AND u.tableoid IS NULL)) WITH CHECK (ctid IS NOT NULL);
INSERT INTO p SELECT g,'b',g FROM generate_series(1,80) g;
INSERT INTO q SELECT g,'b',g FROM generate_series(1,80) g;
INSERT INTO loc SELECT g,'b',g FROM generate_series(1,80) g;
-- setup ends
SET ROLE o_pt_ann;
INSERT INTO t VALUES (1,'a',1);
INSERT INTO t SELECT g,'x',g FROM generate_series(2,30) g;
UPDATE t SET v='c' WHERE id=1;
UPDATE t SET v='d';
UPDATE t SET v='e' FROM generate_series(1,5) g WHERE g=t.k;
UPDATE t SET id=id+5 WHERE k%3=1;
DELETE FROM t WHERE k=7;
MERGE INTO t USING (VALUES (1),(2),(77)) s(a) ON a=id WHEN MATCHED THEN UPDATE SET v='m' WHEN NOT MATCHED THEN INSERT VALUES (a,'n',a);
SELECT * FROM t;
SELECT tableoid::regclass,count(*) FROM t GROUP BY 1;
INSERT INTO r VALUES (1,'a',1);
INSERT INTO r SELECT g,'x',g FROM generate_series(2,30) g;
UPDATE r SET v='c' WHERE id=1;
UPDATE r SET v='d';
UPDATE r SET v='e' FROM generate_series(1,5) g WHERE g=r.k;
DELETE FROM r WHERE k=7;
MERGE INTO r USING (VALUES (1),(2),(77)) s(a) ON a=id WHEN MATCHED THEN UPDATE SET v='m' WHEN NOT MATCHED THEN INSERT VALUES (a,'n',a);
SELECT * FROM r;
INSERT INTO s VALUES (1,'a',1);
INSERT INTO s SELECT g,'x',g FROM generate_series(2,30) g;
UPDATE s SET v='c' WHERE id=1;
UPDATE s SET v='d';
UPDATE s SET v='e' FROM generate_series(1,5) g WHERE g=s.k;
DELETE FROM s WHERE k=7;
MERGE INTO s USING (VALUES (1),(2),(77)) q(a) ON q.a=s.id WHEN MATCHED THEN UPDATE SET v='m' WHEN NOT MATCHED THEN INSERT VALUES (a,'n',a);
SELECT * FROM s;
INSERT INTO p VALUES (1,'a',1);
INSERT INTO p VALUES (1,'a',100);
INSERT INTO p1 VALUES (1,'a',5);
INSERT INTO p3 VALUES (1,'a',105);
INSERT INTO p SELECT g,'x',g FROM generate_series(2,40) g;
UPDATE p SET v='c' WHERE id=1;
UPDATE p SET v='d';
UPDATE p SET v='e' FROM generate_series(1,5) g WHERE g=p.k;
-- statement needs: colocation
UPDATE p SET k=k+40 WHERE k<6;
-- statement needs: colocation
UPDATE p SET k=k+40;
DELETE FROM p WHERE k=47;
MERGE INTO p USING (VALUES (1),(2)) s(a) ON a=id WHEN MATCHED THEN UPDATE SET v='m' WHEN NOT MATCHED THEN INSERT VALUES (a,'n',a);
SELECT * FROM p;
INSERT INTO t SELECT g,'x',g FROM generate_series(2,3000) g;
INSERT INTO t SELECT id+1,v,k FROM t WHERE id<100;
INSERT INTO t SELECT id,v,k FROM t;
INSERT INTO t SELECT id,v,k FROM loc;
INSERT INTO p SELECT id,v,k FROM p;
INSERT INTO p SELECT id,v,k FROM loc;
INSERT INTO p SELECT id,v,k FROM loc WHERE id<20;
INSERT INTO r SELECT id,v,k FROM p;
INSERT INTO r SELECT id,v,k FROM r;
INSERT INTO s SELECT id,v,k FROM t;
SELECT count(*), count(distinct v),sum(k) FROM t;
SELECT count(*), count(distinct v),sum(k) FROM p;
SELECT count(*), count(distinct v),sum(k) FROM r;
SELECT count(*), count(distinct v),sum(k) FROM s;
SELECT * FROM q;
SELECT count(*) FROM q JOIN t USING (id);
SELECT t.id, (SELECT count(*) FROM p WHERE p.k = t.id) FROM t WHERE t.id < 10 AND t.v = 'x';
INSERT INTO q VALUES (1000,'z',1);
UPDATE q SET v='w';
DELETE FROM q;
WITH x AS (DELETE FROM t WHERE id = 5 RETURNING *) INSERT INTO p SELECT * FROM x;
SELECT p.v, count(*), min(t.v) FROM t FULL JOIN p ON p.k = t.k GROUP BY 1;
RESET ROLE;
