-- Node functions on a running cluster: what they return, and what they refuse.
CREATE SCHEMA nodes;
SET search_path = nodes;

SELECT citus_is_coordinator();
SELECT groupid, isactive, noderole, nodecluster, metadatasynced, shouldhaveshards,
       nodeport - (SELECT nodeport FROM pg_dist_node WHERE groupid = 0) AS port_offset
  FROM pg_dist_node ORDER BY nodeport;
SELECT count(*) FROM citus_get_active_worker_nodes();
SELECT bool_and(result), count(*) FROM citus_check_cluster_node_health();
SELECT citus_coordinator_nodeid() = (SELECT nodeid FROM pg_dist_node WHERE groupid = 0) AS same;

-- Commands on nodes: results as text, errors as text, in the order of the nodes.
SELECT success, result FROM run_command_on_workers('SELECT 40 + 2');
SELECT success, result FROM run_command_on_all_nodes('SHOW wal_level');
SELECT success, result FROM run_command_on_workers('SELECT 1 / 0');
SELECT success, result FROM run_command_on_workers('SELEC');
SELECT success, result FROM run_command_on_workers('SELECT NULL::int');
SELECT success, result FROM run_command_on_coordinator('SELECT citus_is_coordinator()');
SELECT success, result FROM run_command_on_workers('SELECT citus_is_coordinator()');

-- Refusals. Nothing listens on port 1.
\set SHOW_CONTEXT never
SELECT citus_remove_node('127.0.0.1', 1);
SELECT citus_disable_node('127.0.0.1', 1);
SELECT citus_set_node_property('127.0.0.1', 1, 'shouldhaveshards', true);
SELECT citus_set_node_property('127.0.0.1', nodeport, 'no_such_property', true)
  FROM pg_dist_node WHERE groupid = 1;
SELECT citus_update_node(4711, '127.0.0.1', 1);
SELECT citus_add_node(NULL, 1) IS NULL AS is_null;

DROP SCHEMA nodes CASCADE;
