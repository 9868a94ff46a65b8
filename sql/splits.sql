-- Splits and merges of shards.

CREATE FUNCTION pg_catalog.citus_split_shard_by_split_points(shard_id bigint, split_points text[], node_ids integer[],
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_split_shard_by_split_points';
COMMENT ON FUNCTION pg_catalog.citus_split_shard_by_split_points(bigint, text[], integer[], citus.shard_transfer_mode) IS
	'splits a shard, and those that are colocated with it, at hash values';

CREATE FUNCTION pg_catalog.isolate_tenant_to_new_shard(table_name regclass, tenant_id "any", cascade_option text DEFAULT '',
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS bigint LANGUAGE C AS 'MODULE_PATHNAME', 'isolate_tenant_to_new_shard';
COMMENT ON FUNCTION pg_catalog.isolate_tenant_to_new_shard(regclass, "any", text, citus.shard_transfer_mode) IS
	'gives the rows with a value of the distribution column a shard of their own; returns its id';

CREATE FUNCTION pg_catalog.citus_merge_shards(shard_id bigint, other_shard_id bigint,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS bigint LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_merge_shards';
COMMENT ON FUNCTION pg_catalog.citus_merge_shards(bigint, bigint, citus.shard_transfer_mode) IS
	'makes one shard of two on the same node with neighbouring hash values, and of those that are colocated; returns its id';

CREATE FUNCTION citus_internal.reshape_begin(shardid bigint, min_hash integer, max_hash integer, last integer[],
	groups integer[])
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_reshape_begin';
COMMENT ON FUNCTION citus_internal.reshape_begin(bigint, integer, integer, integer[], integer[]) IS
	'begins to replace shard groups of this node by others with the same hash values';
REVOKE ALL ON FUNCTION citus_internal.reshape_begin(bigint, integer, integer, integer[], integer[]) FROM public;

CREATE FUNCTION citus_internal.reshape_switch()
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_reshape_switch';
COMMENT ON FUNCTION citus_internal.reshape_switch() IS
	'fills the new shards of this session, and switches to them';
REVOKE ALL ON FUNCTION citus_internal.reshape_switch() FROM public;

CREATE FUNCTION citus_internal.reshape_end()
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_reshape_end';
COMMENT ON FUNCTION citus_internal.reshape_end() IS
	'ends this session''s part in a split or merge of shards';
REVOKE ALL ON FUNCTION citus_internal.reshape_end() FROM public;
