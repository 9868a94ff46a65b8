-- The nodes' clocks. A clock is stored as a bigint, so that the server's functions for it do.

CREATE TYPE pg_catalog.cluster_clock;
COMMENT ON TYPE pg_catalog.cluster_clock IS 'a point in the order of commits on all nodes';

CREATE FUNCTION pg_catalog.cluster_clock_in(cstring)
	RETURNS cluster_clock LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'cluster_clock_in';
COMMENT ON FUNCTION pg_catalog.cluster_clock_in(cstring) IS 'I/O';

CREATE FUNCTION pg_catalog.cluster_clock_out(cluster_clock)
	RETURNS cstring LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'cluster_clock_out';
COMMENT ON FUNCTION pg_catalog.cluster_clock_out(cluster_clock) IS 'I/O';

CREATE FUNCTION pg_catalog.cluster_clock_recv(internal)
	RETURNS cluster_clock LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'int8recv';
COMMENT ON FUNCTION pg_catalog.cluster_clock_recv(internal) IS 'I/O';

CREATE FUNCTION pg_catalog.cluster_clock_send(cluster_clock)
	RETURNS bytea LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'int8send';
COMMENT ON FUNCTION pg_catalog.cluster_clock_send(cluster_clock) IS 'I/O';

CREATE TYPE pg_catalog.cluster_clock (
	INPUT = cluster_clock_in, OUTPUT = cluster_clock_out, RECEIVE = cluster_clock_recv, SEND = cluster_clock_send,
	LIKE = pg_catalog.int8
);

-- Functions and operators of comparison, those of bigint under other names.
DO $$
DECLARE
	operator record;
BEGIN
	FOR operator IN
		SELECT * FROM (VALUES
			('eq', '=', '=', '<>', 'eqsel', 'eqjoinsel', ', HASHES, MERGES', 'equal'),
			('ne', '<>', '<>', '=', 'neqsel', 'neqjoinsel', '', 'not equal'),
			('lt', '<', '>', '>=', 'scalarltsel', 'scalarltjoinsel', '', 'less than'),
			('le', '<=', '>=', '>', 'scalarlesel', 'scalarlejoinsel', '', 'less than or equal'),
			('gt', '>', '<', '<=', 'scalargtsel', 'scalargtjoinsel', '', 'greater than'),
			('ge', '>=', '<=', '<', 'scalargesel', 'scalargejoinsel', '', 'greater than or equal'))
			AS o (suffix, sign, commutator, negator, selectivity, join_selectivity, options, description)
	LOOP
		EXECUTE pg_catalog.format('CREATE FUNCTION pg_catalog.cluster_clock_%s(cluster_clock, cluster_clock) RETURNS boolean
			LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS %L', operator.suffix, 'int8' || operator.suffix);
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION pg_catalog.cluster_clock_%s(cluster_clock, cluster_clock) IS %L',
			operator.suffix, 'implementation of ' || operator.sign || ' operator');
		EXECUTE pg_catalog.format('CREATE OPERATOR pg_catalog.%s (LEFTARG = cluster_clock, RIGHTARG = cluster_clock,
			FUNCTION = cluster_clock_%s, COMMUTATOR = %s, NEGATOR = %s, RESTRICT = %s, JOIN = %s%s)', operator.sign,
			operator.suffix, operator.commutator, operator.negator, operator.selectivity, operator.join_selectivity,
			operator.options);
		EXECUTE pg_catalog.format('COMMENT ON OPERATOR pg_catalog.%s (cluster_clock, cluster_clock) IS %L', operator.sign,
			operator.description);
	END LOOP;
END;
$$;

CREATE FUNCTION pg_catalog.cluster_clock_cmp(cluster_clock, cluster_clock)
	RETURNS integer LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'btint8cmp';
COMMENT ON FUNCTION pg_catalog.cluster_clock_cmp(cluster_clock, cluster_clock) IS 'less-equal-greater';

CREATE FUNCTION pg_catalog.cluster_clock_hash(cluster_clock)
	RETURNS integer LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashint8';
COMMENT ON FUNCTION pg_catalog.cluster_clock_hash(cluster_clock) IS 'hash';

CREATE OPERATOR CLASS pg_catalog.cluster_clock_ops DEFAULT FOR TYPE cluster_clock USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 cluster_clock_cmp(cluster_clock, cluster_clock);

CREATE OPERATOR CLASS pg_catalog.cluster_clock_ops DEFAULT FOR TYPE cluster_clock USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 cluster_clock_hash(cluster_clock);

CREATE FUNCTION pg_catalog.cluster_clock_logical(clock cluster_clock)
	RETURNS bigint LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'int8up';
COMMENT ON FUNCTION pg_catalog.cluster_clock_logical(cluster_clock) IS
	'a clock as a number: its milliseconds, and a counter in the lowest 22 bits';

CREATE FUNCTION pg_catalog.citus_is_clock_after(clock_one cluster_clock, clock_two cluster_clock)
	RETURNS boolean LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'int8gt';
COMMENT ON FUNCTION pg_catalog.citus_is_clock_after(cluster_clock, cluster_clock) IS
	'whether the first clock is later than the second one';

CREATE FUNCTION pg_catalog.citus_get_node_clock()
	RETURNS cluster_clock LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_get_node_clock';
COMMENT ON FUNCTION pg_catalog.citus_get_node_clock() IS
	'a clock later than all that this node has given, and than all commits that it knows of';

CREATE FUNCTION pg_catalog.citus_get_transaction_clock()
	RETURNS cluster_clock LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_get_transaction_clock';
COMMENT ON FUNCTION pg_catalog.citus_get_transaction_clock() IS
	'a clock later than those of all nodes in the transaction, to which it is sent';

CREATE FUNCTION citus_internal.advance_clock(stamp bigint)
	RETURNS bigint LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_internal_advance_clock';
COMMENT ON FUNCTION citus_internal.advance_clock(bigint) IS
	'for nodes: a stamp of this node that is later than another node''s';
