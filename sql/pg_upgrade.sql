-- pg_upgrade of a node: it makes the extension's tables anew, and leaves them empty. So their rows are copied into the
-- schema citus_upgrade before, and back afterwards.

CREATE FUNCTION citus_internal.upgraded_columns(OUT relation regclass, OUT names text[], OUT save text[], OUT restore text[])
	RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog
AS $$
	WITH translated (relation, attribute, save, restore) AS (VALUES
		-- what pg_upgrade gives other oids goes by name
		('pg_dist_partition', 'partkey', 'column_to_column_name(logicalrelid, partkey)', 'column_name_to_column(logicalrelid, partkey)'),
		('pg_dist_colocation', 'distributioncolumncollation', 'distributioncolumncollation::regcollation::text',
			'distributioncolumncollation::regcollation::oid'),
		('pg_dist_schema', 'schemaid', 'schemaid::regnamespace::text', 'schemaid::regnamespace::oid'),
		('pg_dist_object', 'type', '(pg_identify_object_as_address(classid, objid, objsubid)).type', 'NULL'),
		('pg_dist_object', 'object_names', '(pg_identify_object_as_address(classid, objid, objsubid)).object_names', 'NULL'),
		('pg_dist_object', 'object_args', '(pg_identify_object_as_address(classid, objid, objsubid)).object_args', 'NULL'),
		('pg_dist_object', 'classid', 'classid', '(pg_get_object_address(type, object_names, object_args)).classid'),
		('pg_dist_object', 'objid', 'objid', '(pg_get_object_address(type, object_names, object_args)).objid'),
		('pg_dist_object', 'objsubid', 'objsubid', '(pg_get_object_address(type, object_names, object_args)).objsubid')
	)
	SELECT c.oid::regclass, array_agg(quote_ident(attname) ORDER BY attnum),
		array_agg(CASE WHEN t.save IS NOT NULL THEN t.save
			WHEN atttypid = 'regproc'::regtype THEN format('%I::regprocedure::text', attname)
			ELSE quote_ident(attname) END ORDER BY attnum),
		array_agg(CASE WHEN t.restore IS NOT NULL THEN t.restore
			WHEN atttypid = 'regproc'::regtype THEN format('%I::regprocedure::oid', attname)
			ELSE quote_ident(attname) END ORDER BY attnum)
	FROM pg_extension e
	JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		AND d.classid = 'pg_class'::regclass
	JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'r'
	JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN translated t ON t.relation = c.relname AND t.attribute = a.attname
	WHERE e.extname = 'citus'
	GROUP BY c.oid
	ORDER BY c.relname		-- what a foreign key refers to comes first
$$;
COMMENT ON FUNCTION citus_internal.upgraded_columns() IS
	'the catalogs of the extension, with what is stored of each column while pg_upgrade runs, and what is made of that';
REVOKE ALL ON FUNCTION citus_internal.upgraded_columns() FROM public;

CREATE FUNCTION pg_catalog.citus_prepare_pg_upgrade()
	RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog SET citus.enable_ddl_propagation = off SET citus.enable_schema_based_sharding = off
	SET client_min_messages = warning
AS $$
DECLARE
	catalog record;
BEGIN
	DROP SCHEMA IF EXISTS citus_upgrade CASCADE;
	CREATE SCHEMA citus_upgrade;
	FOR catalog IN SELECT * FROM citus_internal.upgraded_columns() LOOP
		EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', catalog.relation);
		EXECUTE format('CREATE TABLE citus_upgrade.%s (%s) AS SELECT %s FROM pg_catalog.%1$s', catalog.relation,
			array_to_string(catalog.names, ', '), array_to_string(catalog.save, ', '));
	END LOOP;

	-- what no catalog of the extension records: global indexes, and foreign keys between nodes
	CREATE TABLE citus_upgrade.global_index AS
		SELECT DISTINCT d.refobjid::regclass AS index, d.objid::regclass AS entries
		FROM pg_trigger t
		JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.tgconstrindid
			AND d.deptype = 'i'
		WHERE t.tgfoid = 'citus_internal.global_index_write'::regproc;
	CREATE TABLE citus_upgrade.global_key AS
		SELECT DISTINCT c.conrelid::regclass AS relation, c.conname::text AS name
		FROM pg_trigger t
		JOIN pg_constraint c ON c.oid = t.tgconstraint
		WHERE t.tgfoid = 'citus_internal.global_key'::regproc;

	IF EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = to_regprocedure('any_value(anyelement)') AND deptype = 'e') THEN
		ALTER EXTENSION citus DROP AGGREGATE any_value(anyelement);
		DROP AGGREGATE any_value(anyelement);
	END IF;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_prepare_pg_upgrade() IS
	'saves the catalogs of the extension on this node, before pg_upgrade';
REVOKE ALL ON FUNCTION pg_catalog.citus_prepare_pg_upgrade() FROM public;

CREATE FUNCTION pg_catalog.citus_finish_pg_upgrade()
	RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog SET citus.enable_ddl_propagation = off SET client_min_messages = warning
AS $$
DECLARE
	catalogs regclass[];
	catalog record;
	created regprocedure;
	missing regclass;
BEGIN
	SELECT array_agg(relation), min(relation::text) FILTER (WHERE to_regclass('citus_upgrade.' || relation::text) IS NULL)::regclass
		INTO catalogs, missing FROM citus_internal.upgraded_columns();
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'the rows of % were not saved', missing USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Run citus_prepare_pg_upgrade() on this node before pg_upgrade.';
	END IF;

	FOR i IN REVERSE cardinality(catalogs) .. 1 LOOP
		EXECUTE format('DELETE FROM %s', catalogs[i]);
	END LOOP;
	FOR catalog IN SELECT * FROM citus_internal.upgraded_columns() LOOP
		EXECUTE format('INSERT INTO pg_catalog.%s SELECT %s FROM citus_upgrade.%1$s', catalog.relation,
			array_to_string(catalog.restore, ', '));
	END LOOP;
	PERFORM citus_internal.global_index_attach(index, entries) FROM citus_upgrade.global_index;
	PERFORM citus_internal.global_key_attach(relation, name) FROM citus_upgrade.global_key;
	IF citus_internal.create_any_value() THEN
		ALTER EXTENSION citus ADD AGGREGATE any_value(anyelement);
	END IF;
	FOR created IN SELECT citus_internal.create_relation_statistics() LOOP
		EXECUTE format('ALTER EXTENSION citus ADD FUNCTION %s', created);
	END LOOP;
	DROP SCHEMA citus_upgrade CASCADE;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_finish_pg_upgrade() IS
	'restores the catalogs of the extension on this node, after pg_upgrade';
REVOKE ALL ON FUNCTION pg_catalog.citus_finish_pg_upgrade() FROM public;
