-- EXPLAIN ANALYZE of tasks.

CREATE FUNCTION citus_internal.task_plan(colocationid integer, shardindex integer)
	RETURNS text LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_task_plan';
COMMENT ON FUNCTION citus_internal.task_plan(integer, integer) IS
	'the measured plan of a task that this session ran in the present transaction';
