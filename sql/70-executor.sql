-- What executors on different nodes call on each other.

CREATE FUNCTION citus_internal.task_plan(colocationid integer, shardindex integer, explain integer)
	RETURNS text LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_task_plan';
COMMENT ON FUNCTION citus_internal.task_plan(integer, integer, integer) IS
	'the measured plan of a task that this session ran in the present transaction';

CREATE FUNCTION citus_internal.lock_reference_table(relation regclass, exclusive boolean)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_reference_table';
COMMENT ON FUNCTION citus_internal.lock_reference_table(regclass, boolean) IS
	'orders writers of a reference table, until the end of the transaction';
