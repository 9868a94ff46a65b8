-- Commands on single nodes and shards, outside the transaction.

CREATE FUNCTION pg_catalog.run_command_on_workers(command text, parallel boolean DEFAULT true,
	OUT nodename text, OUT nodeport integer, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'run_command_on_workers';
COMMENT ON FUNCTION pg_catalog.run_command_on_workers(text, boolean) IS
	'run a command on all active nodes but the coordinator';

CREATE FUNCTION pg_catalog.run_command_on_all_nodes(command text, parallel boolean DEFAULT true,
	give_warning_for_connection_errors boolean DEFAULT false,
	OUT nodeid integer, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'run_command_on_all_nodes';
COMMENT ON FUNCTION pg_catalog.run_command_on_all_nodes(text, boolean, boolean) IS
	'run a command on all active nodes';

CREATE FUNCTION pg_catalog.run_command_on_coordinator(command text,
	give_warning_for_connection_errors boolean DEFAULT false,
	OUT nodeid integer, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'run_command_on_coordinator';
COMMENT ON FUNCTION pg_catalog.run_command_on_coordinator(text, boolean) IS
	'run a command on the coordinator';

CREATE FUNCTION pg_catalog.run_command_on_placements(table_name regclass, command text,
	parallel boolean DEFAULT true,
	OUT nodename text, OUT nodeport integer, OUT shardid bigint, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'run_command_on_placements';
COMMENT ON FUNCTION pg_catalog.run_command_on_placements(regclass, text, boolean) IS
	'run a command on each placement of a table''s shards; %s is the shard''s name';

CREATE FUNCTION pg_catalog.run_command_on_shards(table_name regclass, command text,
	parallel boolean DEFAULT true,
	OUT shardid bigint, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'run_command_on_shards';
COMMENT ON FUNCTION pg_catalog.run_command_on_shards(regclass, text, boolean) IS
	'run a command on each shard of a table; %s is the shard''s name';

CREATE FUNCTION pg_catalog.run_command_on_colocated_placements(table_name1 regclass, table_name2 regclass,
	command text, parallel boolean DEFAULT true,
	OUT nodename text, OUT nodeport integer, OUT shardid1 bigint, OUT shardid2 bigint, OUT success boolean,
	OUT result text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'run_command_on_colocated_placements';
COMMENT ON FUNCTION pg_catalog.run_command_on_colocated_placements(regclass, regclass, text, boolean) IS
	'run a command on each pair of shards of two tables; %s and %s, or %1$s and %2$s, are their names';

CREATE FUNCTION pg_catalog.citus_run_local_command(command text)
	RETURNS void LANGUAGE plpgsql STRICT
AS $$
BEGIN
	EXECUTE command;
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_run_local_command(text) IS
	'run a command in this session, and discard its result';
