-- Lets isolationtester see waits on other nodes, and lets its sessions act on them.

-- It asks the server it is connected to whether a session is blocked by the
-- others. A session may also wait through its connection to another node, or
-- for what a session elsewhere() does for it.

-- Renamed rather than replaced: the server calls a built-in function by its
-- number, whatever its row says.
DO $$ BEGIN
	IF to_regproc('pg_catalog.pg_isolation_test_blocked_here') IS NULL THEN
		ALTER FUNCTION pg_catalog.pg_isolation_test_session_is_blocked(integer, integer[])
			RENAME TO pg_isolation_test_blocked_here;
	END IF;
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.pg_isolation_test_session_is_blocked(pid integer, by integer[])
	RETURNS boolean LANGUAGE plpgsql STRICT SET search_path = pg_catalog AS $$
BEGIN
	RETURN pg_isolation_test_blocked_here(pid, by) OR EXISTS (
		SELECT FROM dump_global_wait_edges() e
		WHERE e.waiting_gpid = citus_calculate_gpid(citus_coordinator_nodeid(), $1)
			OR e.waiting_gpid IN (
				SELECT global_pid FROM citus_dist_stat_activity WHERE application_name = 'isolation for ' || $1));
END $$;

-- elsewhere(n, command): runs a command in this session's own session on the n-th worker, which is
-- opened with the first one; returns what a SELECT returns, rows after one another.

BEGIN;
SET LOCAL citus.enable_ddl_propagation = off;
CREATE EXTENSION dblink;

CREATE FUNCTION elsewhere(worker integer, command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text := 'worker' || worker;
	answer text;
BEGIN
	IF name = ANY (dblink_get_connections()) IS NOT TRUE THEN
		PERFORM dblink_connect(name, format('host=%s port=%s dbname=%s user=%s application_name=''isolation for %s''',
			nodename, nodeport, current_database(), current_user, pg_backend_pid()))
		FROM pg_dist_node WHERE groupid = worker;
	END IF;
	IF command LIKE 'SELECT %' THEN
		SELECT string_agg(line, ', ') INTO answer FROM dblink(name, format('SELECT t::text FROM (%s) t', command)) AS t(line text);
		RETURN answer;
	END IF;
	RETURN dblink_exec(name, command);
END $$;
COMMIT;
