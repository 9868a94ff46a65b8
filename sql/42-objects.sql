-- Objects other than tables.

CREATE FUNCTION citus_internal.lock_object_names(keys oid[])
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_object_names';
COMMENT ON FUNCTION citus_internal.lock_object_names(oid[]) IS
	'for nodes: locks names of objects';
