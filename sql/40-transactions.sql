-- Distributed transactions.

CREATE FUNCTION pg_catalog.recover_prepared_transactions() RETURNS integer
	LANGUAGE c STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION pg_catalog.recover_prepared_transactions() IS
	'ends the prepared transactions that this node began and could not end';
