-- The table access method "columnar" (src/columnar).

CREATE FUNCTION citus_internal.columnar_handler(internal) RETURNS table_am_handler STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_columnar_handler';
COMMENT ON FUNCTION citus_internal.columnar_handler(internal) IS
	'what the server calls for tables whose access method is columnar';

CREATE ACCESS METHOD columnar TYPE TABLE HANDLER citus_internal.columnar_handler;
COMMENT ON ACCESS METHOD columnar IS 'tables that are stored by column, compressed';

CREATE SCHEMA columnar;
COMMENT ON SCHEMA columnar IS 'what columnar tables consist of';
GRANT USAGE ON SCHEMA columnar TO public;

CREATE FUNCTION pg_catalog.alter_columnar_table_set(table_name regclass, chunk_group_row_limit integer DEFAULT NULL,
	stripe_row_limit integer DEFAULT NULL, compression name DEFAULT NULL, compression_level integer DEFAULT NULL)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	options text := concat_ws(', ', 'columnar.chunk_group_row_limit = ' || chunk_group_row_limit,
		'columnar.stripe_row_limit = ' || stripe_row_limit, 'columnar.compression = ' || quote_literal(compression),
		'columnar.compression_level = ' || compression_level);
BEGIN
	IF options <> '' AND table_name IS NOT NULL THEN
		EXECUTE format('ALTER TABLE %s SET (%s)', table_name, options);
	END IF;
END;
$$;
COMMENT ON FUNCTION pg_catalog.alter_columnar_table_set(regclass, integer, integer, name, integer) IS
	'sets options of a columnar table, which later stripes are written with; those that are NULL stay';

CREATE FUNCTION pg_catalog.alter_columnar_table_reset(table_name regclass, chunk_group_row_limit boolean DEFAULT false,
	stripe_row_limit boolean DEFAULT false, compression boolean DEFAULT false, compression_level boolean DEFAULT false)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	options text := concat_ws(', ', CASE WHEN chunk_group_row_limit THEN 'columnar.chunk_group_row_limit' END,
		CASE WHEN stripe_row_limit THEN 'columnar.stripe_row_limit' END,
		CASE WHEN compression THEN 'columnar.compression' END,
		CASE WHEN compression_level THEN 'columnar.compression_level' END);
BEGIN
	IF options <> '' AND table_name IS NOT NULL THEN
		EXECUTE format('ALTER TABLE %s RESET (%s)', table_name, options);
	END IF;
END;
$$;
COMMENT ON FUNCTION pg_catalog.alter_columnar_table_reset(regclass, boolean, boolean, boolean, boolean) IS
	'removes options of a columnar table: later stripes are written with the settings';

CREATE FUNCTION columnar.compact(table_name regclass) RETURNS bigint STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'columnar_compact_table';
COMMENT ON FUNCTION columnar.compact(regclass) IS
	'moves the rows of a columnar table that are stored row by row, in small stripes or beside deleted rows into new stripes';

CREATE FUNCTION citus_internal.check_columnar_table(relation regclass, OUT stripe_num bigint, OUT attr_num integer,
	OUT chunk_group_num integer, OUT problem text)
	RETURNS SETOF record STRICT LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_check_columnar_table';
COMMENT ON FUNCTION citus_internal.check_columnar_table(regclass) IS
	'what is damaged in a columnar table or shard of this node, for its owner';

CREATE FUNCTION columnar.check_table(table_name regclass, OUT nodename text, OUT nodeport integer, OUT relation text,
	OUT stripe_num bigint, OUT attr_num integer, OUT chunk_group_num integer, OUT problem text)
	RETURNS SETOF record LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	leaf regclass;
	columnar boolean := false;
BEGIN
	FOR leaf IN
		SELECT c.oid
		FROM (SELECT table_name AS relid UNION SELECT p.relid FROM pg_partition_tree(table_name) p) t
			JOIN pg_class c ON c.oid = t.relid JOIN pg_am a ON a.oid = c.relam AND a.amname = 'columnar'
		ORDER BY c.oid
	LOOP
		columnar := true;
		IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = leaf) THEN
			RETURN QUERY
				SELECT r.nodename, r.nodeport, shard_name(leaf, r.shardid), f.stripe_num, f.attr_num, f.chunk_group_num, f.problem
				FROM run_command_on_placements(leaf,
						$command$SELECT coalesce(jsonb_agg(c), '[]') FROM citus_internal.check_columnar_table('%s') c$command$) r,
					jsonb_to_recordset(CASE WHEN r.success THEN r.result::jsonb
						ELSE jsonb_build_array(jsonb_build_object('problem', r.result)) END)
						AS f(stripe_num bigint, attr_num integer, chunk_group_num integer, problem text);
		ELSE
			RETURN QUERY
				SELECT NULL::text, NULL::integer, leaf::text, c.* FROM citus_internal.check_columnar_table(leaf) c;
		END IF;
	END LOOP;
	IF NOT columnar THEN
		RAISE EXCEPTION '%', format('"%s" is not a columnar table',
				coalesce((SELECT relname::text FROM pg_class WHERE oid = table_name), table_name::text))
			USING ERRCODE = 'wrong_object_type';
	END IF;
END;
$$;
COMMENT ON FUNCTION columnar.check_table(regclass) IS
	'what is damaged in a columnar table, its partitions and its shards on all nodes: stripes, chunks, marks, entries of indexes';

CREATE VIEW columnar.options AS
	SELECT c.oid::regclass AS relation,
		coalesce(o.options ->> 'columnar.chunk_group_row_limit', current_setting('columnar.chunk_group_row_limit'))::integer
			AS chunk_group_row_limit,
		coalesce(o.options ->> 'columnar.stripe_row_limit', current_setting('columnar.stripe_row_limit'))::integer
			AS stripe_row_limit,
		coalesce(o.options ->> 'columnar.compression', current_setting('columnar.compression'))::name AS compression,
		coalesce(o.options ->> 'columnar.compression_level', current_setting('columnar.compression_level'))::integer
			AS compression_level
	FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_am a ON a.oid = c.relam AND a.amname = 'columnar',
		LATERAL (SELECT jsonb_object_agg(option_name, option_value) AS options
			FROM pg_catalog.pg_options_to_table(c.reloptions)) o;
COMMENT ON VIEW columnar.options IS
	'how the next stripes of columnar tables are written: by options of the table, else by settings of this session';
GRANT SELECT ON columnar.options TO public;

CREATE FUNCTION citus_internal.columnar_stripes(relation regclass, OUT stripe_num bigint, OUT data_length bigint,
	OUT column_count integer, OUT row_count bigint, OUT chunk_group_count integer, OUT first_row_number bigint,
	OUT deleted_rows bigint)
	RETURNS SETOF record STRICT LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_columnar_stripes';
COMMENT ON FUNCTION citus_internal.columnar_stripes(regclass) IS
	'the stripes of a columnar table, for its owner';

CREATE FUNCTION citus_internal.columnar_chunks(relation regclass, OUT stripe_num bigint, OUT attr_num integer,
	OUT chunk_group_num integer, OUT row_count bigint, OUT minimum_value text, OUT maximum_value text,
	OUT value_stream_offset bigint, OUT value_stream_length bigint, OUT value_compression_type text,
	OUT value_decompressed_length bigint)
	RETURNS SETOF record STRICT LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_columnar_chunks';
COMMENT ON FUNCTION citus_internal.columnar_chunks(regclass) IS
	'the chunks of a columnar table, for its owner';

CREATE VIEW columnar.storage AS
	SELECT c.oid::regclass AS relation, c.reltoastrelid::bigint AS storage_id
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam AND a.amname = 'columnar'
	WHERE c.reltoastrelid <> 0;
COMMENT ON VIEW columnar.storage IS 'the TOAST tables of columnar tables, which their stripes are in';

CREATE VIEW columnar.stripe AS
	SELECT t.relation, t.storage_id, s.stripe_num, s.data_length, s.column_count, s.row_count, s.chunk_group_count,
		s.first_row_number, s.deleted_rows
	FROM columnar.storage t, LATERAL citus_internal.columnar_stripes(t.relation) s;
COMMENT ON VIEW columnar.stripe IS 'the stripes of the columnar tables that the user owns';

CREATE VIEW columnar.chunk AS
	SELECT t.relation, t.storage_id, c.stripe_num, c.attr_num, c.chunk_group_num, c.minimum_value, c.maximum_value,
		c.value_stream_offset, c.value_stream_length, c.value_compression_type, c.value_decompressed_length,
		c.row_count AS value_count
	FROM columnar.storage t, LATERAL citus_internal.columnar_chunks(t.relation) c;
COMMENT ON VIEW columnar.chunk IS
	'the chunks of the columnar tables that the user owns: values of a column for the rows of a chunk group';

CREATE VIEW columnar.chunk_group AS
	SELECT DISTINCT t.relation, t.storage_id, c.stripe_num, c.chunk_group_num, c.row_count
	FROM columnar.storage t, LATERAL citus_internal.columnar_chunks(t.relation) c;
COMMENT ON VIEW columnar.chunk_group IS 'the chunk groups of the columnar tables that the user owns';
GRANT SELECT ON columnar.storage, columnar.stripe, columnar.chunk, columnar.chunk_group TO public;
