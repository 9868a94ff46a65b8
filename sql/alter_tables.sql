-- Changes of how a table is distributed: the table is made local, and distributed again.

CREATE FUNCTION citus_internal.foreign_keys_of(tables regclass[])
	RETURNS TABLE (relation regclass, name name, definition text)
	LANGUAGE sql STABLE SET search_path = pg_catalog
AS $$
	SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
	WHERE contype = 'f' AND conparentid = 0 AND (conrelid = ANY (tables) OR confrelid = ANY (tables))
	ORDER BY conrelid, conname
$$;
COMMENT ON FUNCTION citus_internal.foreign_keys_of(regclass[]) IS 'the foreign keys from and to tables';

CREATE FUNCTION citus_internal.dissolve_cluster()
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	distributed regclass;
BEGIN
	LOOP
		SELECT p.logicalrelid INTO distributed FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
			WHERE NOT c.relispartition LIMIT 1;
		EXIT WHEN distributed IS NULL;
		PERFORM undistribute_table(distributed, cascade_via_foreign_keys => true);
	END LOOP;
	PERFORM citus_remove_node(nodename, nodeport) FROM pg_dist_node WHERE groupid <> 0;
END;
$$;
COMMENT ON FUNCTION citus_internal.dissolve_cluster() IS
	'makes all distributed and reference tables local tables of the coordinator, and removes all other nodes: for DROP EXTENSION .. CASCADE';
REVOKE ALL ON FUNCTION citus_internal.dissolve_cluster() FROM public;

CREATE FUNCTION citus_internal.distribute_again(tables regclass[], distribution_column text, shard_count integer,
	colocate_with text)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	columns text[];
	drops text[];
	adds text[];
	command text;
BEGIN
	SELECT array_agg(coalesce(distribution_column, column_to_column_name(p.logicalrelid, p.partkey)) ORDER BY t.number)
		INTO columns
		FROM unnest(tables) WITH ORDINALITY t (oid, number) JOIN pg_dist_partition p ON p.logicalrelid = t.oid;
	SELECT array_agg(format('ALTER TABLE %s DROP CONSTRAINT %I', relation, name)),
			array_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s', relation, name, definition))
		INTO drops, adds
		FROM citus_internal.foreign_keys_of(tables);
	FOREACH command IN ARRAY coalesce(drops, '{}') LOOP
		EXECUTE command;
	END LOOP;
	FOR i IN 1 .. cardinality(tables) LOOP
		PERFORM undistribute_table(tables[i]);
	END LOOP;
	FOR i IN 1 .. cardinality(tables) LOOP
		IF i > 1 OR lower(colocate_with) NOT IN ('default', 'none') THEN
			PERFORM create_distributed_table(tables[i], columns[i],
				colocate_with => CASE WHEN i > 1 THEN tables[1]::text ELSE colocate_with END);
		ELSE
			PERFORM create_distributed_table(tables[i], columns[i], colocate_with => colocate_with, shard_count => shard_count);
		END IF;
	END LOOP;
	FOREACH command IN ARRAY coalesce(adds, '{}') LOOP
		EXECUTE command;
	END LOOP;
END;
$$;
COMMENT ON FUNCTION citus_internal.distribute_again(regclass[], text, integer, text) IS
	'distributes tables again, the first by the arguments and the others colocated with it, with their foreign keys';

CREATE FUNCTION citus_internal.change_shard_count(relation regclass, shard_count integer)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_change_shard_count';
COMMENT ON FUNCTION citus_internal.change_shard_count(regclass, integer) IS
	'splits, moves and merges the shards of a colocation group to a number of shards; false if that is not possible online';

CREATE FUNCTION citus_internal.alter_distributed_table(table_name regclass, distribution_column text, shard_count integer,
	colocate_with text, cascade_to_colocated boolean)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	now record;
	others regclass[];
BEGIN
	SELECT column_to_column_name(p.logicalrelid, p.partkey) AS column, c.shardcount, p.colocationid INTO now
		FROM pg_dist_partition p JOIN pg_dist_colocation c USING (colocationid)
		WHERE p.logicalrelid = table_name AND p.partmethod = 'h';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'table "%" is not distributed by a column', table_name
			USING ERRCODE = 'wrong_object_type', HINT = 'Distribute it with create_distributed_table().';
	END IF;
	IF num_nonnulls(distribution_column, shard_count, colocate_with) = 0 THEN
		RAISE EXCEPTION 'you have to specify at least one of the distribution_column, shard_count or colocate_with parameters'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF shard_count IS NOT NULL AND lower(colocate_with) NOT IN ('default', 'none') THEN
		RAISE EXCEPTION 'shard_count cannot be different than the shard count of the table in colocate_with'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give only one of shard_count and colocate_with.';
	END IF;
	IF cascade_to_colocated AND distribution_column IS NOT NULL THEN
		RAISE EXCEPTION 'distribution_column changes cannot be cascaded to colocated tables'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Change one table after the other.';
	END IF;
	SELECT array_agg(p.logicalrelid ORDER BY p.logicalrelid) INTO others
		FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
		WHERE p.colocationid = now.colocationid AND p.logicalrelid <> table_name AND NOT c.relispartition;
	IF others IS NOT NULL AND cascade_to_colocated IS NULL AND distribution_column IS NULL THEN
		RAISE EXCEPTION 'cascade_to_colocated parameter is necessary'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Table %s is colocated with %s.', table_name, array_to_string(others, ', ')),
				HINT = 'Use cascade_to_colocated => false to change only this table, true to change all of them.';
	END IF;
	IF num_nonnulls(distribution_column, colocate_with) = 0 AND (others IS NULL OR cascade_to_colocated)
			AND citus_internal.change_shard_count(table_name, shard_count) THEN
		RETURN;
	END IF;
	PERFORM citus_internal.distribute_again(
		table_name || CASE WHEN cascade_to_colocated THEN coalesce(others, '{}') ELSE '{}' END, distribution_column,
		coalesce(shard_count, now.shardcount), coalesce(colocate_with, 'default'));
END;
$$;
COMMENT ON FUNCTION citus_internal.alter_distributed_table(regclass, text, integer, text, boolean) IS
	'alter_distributed_table() with the qualified name of a table to colocate with';

-- Without a search path of its own: the name of a table in colocate_with is looked up in the caller's.
CREATE FUNCTION pg_catalog.alter_distributed_table(table_name regclass, distribution_column text DEFAULT NULL,
	shard_count integer DEFAULT NULL, colocate_with text DEFAULT NULL, cascade_to_colocated boolean DEFAULT NULL)
	RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM citus_internal.alter_distributed_table(table_name, distribution_column, shard_count,
		CASE WHEN pg_catalog.lower(colocate_with) OPERATOR(pg_catalog.=) ANY ('{default,none}'::pg_catalog.text[]) THEN colocate_with
		ELSE (SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.oid OPERATOR(pg_catalog.=) colocate_with::pg_catalog.regclass) END,
		cascade_to_colocated);
END;
$$;
COMMENT ON FUNCTION pg_catalog.alter_distributed_table(regclass, text, integer, text, boolean) IS
	'changes the distribution column, number of shards or colocation of a distributed table';

CREATE FUNCTION pg_catalog.alter_table_set_access_method(table_name regclass, access_method text)
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_am WHERE amname = access_method AND amtype = 't') THEN
		RAISE EXCEPTION 'table access method "%" does not exist', access_method
			USING ERRCODE = 'undefined_object', HINT = 'Those that the servers have are in pg_am; all nodes need it.';
	END IF;
	EXECUTE format('ALTER TABLE %s SET ACCESS METHOD %I', table_name, access_method);
END;
$$;
COMMENT ON FUNCTION pg_catalog.alter_table_set_access_method(regclass, text) IS
	'changes the access method of a table, as ALTER TABLE does';

CREATE PROCEDURE pg_catalog.alter_old_partitions_set_access_method(parent_table_name regclass, older_than timestamptz,
	new_access_method name)
	LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	part regclass;
BEGIN
	FOR part IN
		SELECT partition FROM time_partitions
		WHERE parent_table = parent_table_name AND access_method <> new_access_method AND to_value::timestamptz <= older_than
		ORDER BY to_value::timestamptz
	LOOP
		PERFORM alter_table_set_access_method(part, new_access_method);
	END LOOP;
END;
$$;
COMMENT ON PROCEDURE pg_catalog.alter_old_partitions_set_access_method(regclass, timestamptz, name) IS
	'changes the access method of partitions up to a time';
