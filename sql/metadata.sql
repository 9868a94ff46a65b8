-- Changes of the catalogs: invalidation of caches, and the functions by which
-- the initiator of a change writes the rows on the other nodes.

CREATE FUNCTION citus_internal.invalidate_metadata() RETURNS trigger
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_invalidate_metadata';
COMMENT ON FUNCTION citus_internal.invalidate_metadata() IS
	'invalidates the metadata caches of all sessions for a changed row of a catalog';

CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_partition
	FOR EACH ROW EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_shard
	FOR EACH ROW EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_placement
	FOR EACH ROW EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_node
	FOR EACH ROW EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_local_group
	FOR EACH ROW EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_tenant_limit
	FOR EACH STATEMENT EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER truncate_invalidate AFTER TRUNCATE ON pg_catalog.pg_dist_node
	FOR EACH STATEMENT EXECUTE FUNCTION citus_internal.invalidate_metadata();
CREATE TRIGGER truncate_invalidate AFTER TRUNCATE ON pg_catalog.pg_dist_local_group
	FOR EACH STATEMENT EXECUTE FUNCTION citus_internal.invalidate_metadata();

CREATE FUNCTION citus_internal.add_colocation_metadata(colocationid integer, shardcount integer,
	replicationfactor integer, distributioncolumntype regtype, distributioncolumncollation oid)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_add_colocation_metadata';
COMMENT ON FUNCTION citus_internal.add_colocation_metadata(integer, integer, integer, regtype, oid) IS
	'adds a colocation group to this node''s catalogs, unless it is there';

CREATE FUNCTION citus_internal.add_partition_metadata(relation regclass, partmethod "char", distcolumn text,
	colocationid integer, repmodel "char")
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_add_partition_metadata';
COMMENT ON FUNCTION citus_internal.add_partition_metadata(regclass, "char", text, integer, "char") IS
	'adds or replaces a table in this node''s catalogs';

CREATE FUNCTION citus_internal.add_shard_metadata(relation regclass, shardid bigint, storage "char",
	minvalue text, maxvalue text)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_add_shard_metadata';
COMMENT ON FUNCTION citus_internal.add_shard_metadata(regclass, bigint, "char", text, text) IS
	'adds or replaces a shard in this node''s catalogs';

CREATE FUNCTION citus_internal.add_placement_metadata(shardid bigint, shardlength bigint, groupid integer,
	placementid bigint)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_add_placement_metadata';
COMMENT ON FUNCTION citus_internal.add_placement_metadata(bigint, bigint, integer, bigint) IS
	'adds or replaces a placement of a shard in this node''s catalogs';

CREATE FUNCTION citus_internal.delete_colocation_metadata(colocationid integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_delete_colocation_metadata';
COMMENT ON FUNCTION citus_internal.delete_colocation_metadata(integer) IS
	'removes a colocation group whose tables, if any, the user owns from this node''s catalogs';

CREATE FUNCTION citus_internal.update_table_colocation(relation regclass, colocationid integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_update_table_colocation';
COMMENT ON FUNCTION citus_internal.update_table_colocation(regclass, integer) IS
	'moves a table to another colocation group in this node''s catalogs';

CREATE FUNCTION pg_catalog.column_to_column_name(table_name regclass, column_var_text text)
	RETURNS text LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'column_to_column_name';
COMMENT ON FUNCTION pg_catalog.column_to_column_name(regclass, text) IS
	'name of a column, from the form in which pg_dist_partition.partkey stores it';

CREATE FUNCTION pg_catalog.column_name_to_column(table_name regclass, column_name text)
	RETURNS text LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'column_name_to_column';
COMMENT ON FUNCTION pg_catalog.column_name_to_column(regclass, text) IS
	'a column in the form in which pg_dist_partition.partkey stores it';

CREATE FUNCTION pg_catalog.shard_name(object_name regclass, shard_id bigint, skip_qualify_public boolean DEFAULT true)
	RETURNS text LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'shard_name';
COMMENT ON FUNCTION pg_catalog.shard_name(regclass, bigint, boolean) IS
	'qualified name of a shard''s relation';
