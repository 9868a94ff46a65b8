-- The functions that nodes call are in the catalog with the argument types that src/remote/node_call.h says
CREATE SCHEMA node_calls;
SET search_path = node_calls;
CREATE FUNCTION signatures() RETURNS text LANGUAGE C AS 'citus', 'node_call_signatures';
SELECT count(*) > 40 AS described, count(DISTINCT split_part(signature, '(', 1)) = count(*) AS once,
	array_agg(signature) FILTER (WHERE to_regprocedure(signature) IS NULL) AS unknown
FROM regexp_split_to_table(signatures(), '\n') signature;
DROP SCHEMA node_calls CASCADE;
