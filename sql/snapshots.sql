-- One snapshot over all nodes: what an initiator asks of other nodes.

CREATE FUNCTION citus_internal.snapshot_begin() RETURNS bigint
	LANGUAGE c AS 'MODULE_PATHNAME', 'citus_internal_snapshot_begin';
COMMENT ON FUNCTION citus_internal.snapshot_begin() IS
	'holds a snapshot until the transaction reads as of a chosen point in time; the clock of this node';

CREATE FUNCTION citus_internal.snapshot_take() RETURNS bigint
	LANGUAGE c AS 'MODULE_PATHNAME', 'citus_internal_snapshot_take';
COMMENT ON FUNCTION citus_internal.snapshot_take() IS
	'takes the snapshot of tasks that will follow; 1, or 0 if this node can not';

CREATE FUNCTION citus_internal.snapshot_set(stamp bigint) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'citus_internal_snapshot_set';
COMMENT ON FUNCTION citus_internal.snapshot_set(bigint) IS
	'makes the REPEATABLE READ transaction read as of a point in time';

CREATE FUNCTION citus_internal.snapshot_export() RETURNS text
	LANGUAGE c AS 'MODULE_PATHNAME', 'citus_internal_snapshot_export';
COMMENT ON FUNCTION citus_internal.snapshot_export() IS
	'exports this node''s part of a snapshot over all nodes';
