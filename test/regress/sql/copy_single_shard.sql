-- COPY into a single-shard table is one COPY on its node.
CREATE SCHEMA copy_single_shard;
SET search_path = copy_single_shard;
\set SHOW_CONTEXT never

CREATE TABLE single (k int PRIMARY KEY, v text, parent int);
ALTER TABLE single ADD CONSTRAINT parent FOREIGN KEY (parent) REFERENCES single (k);
SELECT create_distributed_table('single', NULL);

-- rows of one statement may refer to each other in any order
COPY single FROM STDIN;
1	a	2
2	b	1
\.
COPY single FROM STDIN;
3	c	4
\.
SELECT * FROM single ORDER BY k;

SET client_min_messages = warning;
DROP SCHEMA copy_single_shard CASCADE;
