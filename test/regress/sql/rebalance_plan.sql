-- Plans of rebalances, of strategies whose costs, capacities and permissions stand in tables.
CREATE SCHEMA rebalance_plan;
SET search_path = rebalance_plan;
SET citus.shard_count = 6;

CREATE TABLE t (id int PRIMARY KEY);
SELECT create_distributed_table('t', 'id', colocate_with => 'none');
CREATE TABLE u (id int PRIMARY KEY);
SELECT create_distributed_table('u', 'id', colocate_with => 'none');
CREATE TABLE with_u (id int PRIMARY KEY);
SELECT create_distributed_table('with_u', 'id', colocate_with => 'u');
CREATE TABLE r (id int PRIMARY KEY);
SELECT create_reference_table('r');

-- Shards have numbers from 1 in their tables; nodes those of their groups.
CREATE VIEW shard AS
	SELECT shardid, logicalrelid AS tab, groupid AS node,
		row_number() OVER (PARTITION BY logicalrelid ORDER BY shardminvalue::int) AS n
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
	WHERE logicalrelid IN ('t'::regclass, 'u'::regclass);
CREATE TABLE cost (tab regclass, n int, cost real);
CREATE TABLE capacity (node int PRIMARY KEY, capacity real);
CREATE TABLE forbidden (tab regclass, n int, node int);

SET citus.enable_ddl_propagation = off;
CREATE FUNCTION cost(shardid bigint) RETURNS real LANGUAGE sql AS
	'SELECT coalesce((SELECT c.cost FROM rebalance_plan.shard s JOIN rebalance_plan.cost c USING (tab, n) WHERE s.shardid = $1), 0)';
CREATE FUNCTION capacity(nodeid int) RETURNS real LANGUAGE sql AS
	'SELECT coalesce((SELECT capacity FROM rebalance_plan.capacity JOIN pg_dist_node ON groupid = node WHERE nodeid = $1), 1)';
CREATE FUNCTION allowed(shardid bigint, nodeid int) RETURNS bool LANGUAGE sql AS
	'SELECT NOT EXISTS (SELECT FROM rebalance_plan.shard s JOIN rebalance_plan.forbidden f USING (tab, n)
	                    JOIN pg_dist_node d ON d.groupid = f.node WHERE s.shardid = $1 AND d.nodeid = $2)';
SELECT citus_add_rebalance_strategy('simulated', 'rebalance_plan.cost', 'rebalance_plan.capacity',
                                    'rebalance_plan.allowed', 0.1, 0.05);

-- A plan, and the loads that it leaves.
CREATE FUNCTION plan(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (move text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format(
		'WITH plan AS (SELECT p.*, s.n, s.node, c.cost, d.groupid AS target
		               FROM get_rebalance_table_shards_plan(%s) WITH ORDINALITY AS p JOIN shard s USING (shardid)
		               LEFT JOIN cost c USING (tab, n)
		               JOIN pg_dist_node d ON d.nodename = targetname AND d.nodeport = targetport)
		 SELECT table_name || '' '' || n || '': '' || node || '' to '' || target FROM (SELECT * FROM plan ORDER BY ordinality) p
		 UNION ALL
		 (SELECT ''node '' || d.groupid || '': '' || coalesce(sum(c.cost), 0) FROM pg_dist_node d
		 LEFT JOIN (shard s JOIN cost c USING (tab, n) LEFT JOIN plan p USING (shardid))
		 ON coalesce(p.target, s.node) = d.groupid WHERE d.shouldhaveshards GROUP BY d.groupid ORDER BY d.groupid)',
		array_to_string(options || '{rebalance_strategy => $o$simulated$o$}', ', '));
END
$$;

-- Where the shards begin: two nodes take turns.
SELECT node, array_agg(tab || ' ' || n ORDER BY tab::text, n) FROM shard GROUP BY node ORDER BY node;

-- Equal costs: nothing to do.
INSERT INTO cost SELECT tab, n, 10 FROM shard;
SELECT * FROM plan();

-- One node has too much: the fewest units of cost that mend it, not the largest shard.
UPDATE cost SET cost = 10 * n WHERE tab = 't'::regclass;
SELECT * FROM plan();
SELECT * FROM plan('threshold => 0.5');
SELECT * FROM plan('threshold => 0.01');
-- Both tables are balanced together: what one has too little of the other can give. One alone.
SELECT * FROM plan('relation => $$u$$');
SELECT * FROM plan('relation => $$t$$');

-- Limits of what is moved.
UPDATE cost SET cost = CASE WHEN s.node = 1 THEN 20 ELSE 1 END FROM shard s WHERE (s.tab, s.n) = (cost.tab, cost.n);
SELECT * FROM plan();
SELECT * FROM plan('max_shard_moves => 1');
SELECT * FROM plan('excluded_shard_list => (SELECT array_agg(shardid) FROM shard WHERE tab = $$t$$::regclass)');
SELECT * FROM plan('excluded_shard_list => (SELECT array_agg(shardid) FROM pg_dist_shard WHERE logicalrelid = $$with_u$$::regclass)');
SELECT * FROM plan('improvement_threshold => 1', 'threshold => 0.05');
SELECT * FROM plan('improvement_threshold => 2');

-- One shard is larger than all others: moving it would only change sides.
UPDATE cost SET cost = CASE WHEN (tab, n) = ('t'::regclass, 1) THEN 100 ELSE 1 END;
SELECT * FROM plan();

-- Nodes of different capacities.
UPDATE cost SET cost = 1;
INSERT INTO capacity VALUES (1, 3);
SELECT * FROM plan();
TRUNCATE capacity;

-- Shards that are not allowed where they are, or nowhere else.
INSERT INTO forbidden SELECT 't', n, 1 FROM shard WHERE tab = 't'::regclass;
SELECT * FROM plan();
INSERT INTO forbidden SELECT 't', n, 2 FROM shard WHERE tab = 't'::regclass AND n = 1;
SET client_min_messages = error;
SELECT * FROM plan();
RESET client_min_messages;
TRUNCATE forbidden;

-- What makes no sense.
\set SHOW_CONTEXT never
SELECT * FROM get_rebalance_table_shards_plan(threshold => -0.1);
SELECT * FROM get_rebalance_table_shards_plan(rebalance_strategy => 'none');
SELECT * FROM get_rebalance_table_shards_plan(relation => 'r');
SELECT * FROM get_rebalance_table_shards_plan(relation => 'cost');
SELECT count(*) FROM get_rebalance_table_shards_plan(threshold => 0.01, rebalance_strategy => 'simulated');
UPDATE cost SET cost = -1 WHERE (tab, n) = ('t'::regclass, 1);
SELECT * FROM get_rebalance_table_shards_plan(rebalance_strategy => 'simulated');
UPDATE cost SET cost = 'NaN' WHERE (tab, n) = ('t'::regclass, 1);
SELECT * FROM get_rebalance_table_shards_plan(rebalance_strategy => 'simulated');
CREATE FUNCTION nothing(shardid bigint) RETURNS real LANGUAGE sql AS 'SELECT NULL::real';
SELECT citus_add_rebalance_strategy('null', 'rebalance_plan.nothing', 'citus_node_capacity_1',
                                    'citus_shard_allowed_on_node_true', 0.1);
SELECT * FROM get_rebalance_table_shards_plan(rebalance_strategy => 'null');

-- Strategies.
SELECT * FROM pg_dist_rebalance_strategy WHERE name LIKE 'by%' ORDER BY name;
SELECT citus_add_rebalance_strategy('bad', 'citus_node_capacity_1', 'citus_node_capacity_1',
                                    'citus_shard_allowed_on_node_true', 0.1);
SELECT citus_add_rebalance_strategy('bad', 'citus_shard_cost_1', 'citus_shard_cost_1',
                                    'citus_shard_allowed_on_node_true', 0.1);
SELECT citus_add_rebalance_strategy('bad', 'citus_shard_cost_1', 'citus_node_capacity_1', 'citus_shard_cost_1', 0.1);
SELECT citus_add_rebalance_strategy('bad', 'citus_shard_cost_1', 'citus_node_capacity_1',
                                    'citus_shard_allowed_on_node_true', 0.1, 0.2);
SELECT citus_add_rebalance_strategy('bad', 'citus_shard_cost_1', 'citus_node_capacity_1',
                                    'citus_shard_allowed_on_node_true', 0.1, -0.2);
SELECT citus_set_default_rebalance_strategy('bad');
BEGIN;
SELECT citus_set_default_rebalance_strategy('by_shard_count');
SELECT name FROM pg_dist_rebalance_strategy WHERE default_strategy;
UPDATE pg_dist_rebalance_strategy SET default_strategy = true WHERE name = 'by_disk_size';
ROLLBACK;
SELECT citus_shard_cost_by_disk_size(shardid) = (SELECT sum(size) FROM citus_shard_sizes() z JOIN pg_dist_shard ON shard_id = shardid
                                                 WHERE shardminvalue = s.shardminvalue
                                                   AND logicalrelid IN ('u'::regclass, 'with_u'::regclass)) + 100 * 1024 * 1024 AS is_sum
  FROM pg_dist_shard s WHERE logicalrelid = 'u'::regclass ORDER BY shardid LIMIT 1;
SELECT citus_shard_cost_by_disk_size(1);

DELETE FROM pg_dist_rebalance_strategy WHERE name IN ('simulated', 'null');
RESET citus.enable_ddl_propagation;
DROP SCHEMA rebalance_plan CASCADE;
