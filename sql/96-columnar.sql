-- The table access method "columnar" (src/columnar).

CREATE FUNCTION citus_internal.columnar_handler(internal) RETURNS table_am_handler STRICT
	LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_columnar_handler';
COMMENT ON FUNCTION citus_internal.columnar_handler(internal) IS
	'what the server calls for tables whose access method is columnar';

CREATE ACCESS METHOD columnar TYPE TABLE HANDLER citus_internal.columnar_handler;
COMMENT ON ACCESS METHOD columnar IS 'tables that are stored by column, compressed';
