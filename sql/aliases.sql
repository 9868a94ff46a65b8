-- Names of earlier versions: the same functions, called master_...

DO $$
DECLARE
	function record;
BEGIN
	FOR function IN
		SELECT oid, pg_catalog.pg_get_function_identity_arguments(oid) AS arguments, proname AS name,
			   'master_' || pg_catalog.substr(proname, 7) AS alias, proacl IS NOT NULL AS restricted
		FROM pg_catalog.pg_proc
		WHERE pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND proname IN (
			'citus_add_node', 'citus_add_inactive_node', 'citus_add_secondary_node', 'citus_activate_node',
			'citus_disable_node', 'citus_remove_node', 'citus_update_node', 'citus_set_node_property',
			'citus_get_active_worker_nodes', 'citus_move_shard_placement', 'citus_copy_shard_placement', 'citus_drain_node',
			'citus_update_table_statistics', 'citus_update_shard_statistics')
	LOOP
		EXECUTE pg_catalog.replace(pg_catalog.pg_get_functiondef(function.oid),
			'FUNCTION pg_catalog.' || function.name, 'FUNCTION pg_catalog.' || function.alias);
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION pg_catalog.%I(%s) IS %L', function.alias,
			function.arguments, 'same as ' || function.name);
		IF function.restricted THEN
			EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION pg_catalog.%I(%s) FROM public', function.alias,
				function.arguments);
		END IF;
	END LOOP;
END;
$$;
