-- Lets isolationtester see waits on other nodes.
--
-- It asks the server it is connected to whether a session is blocked by the
-- others. A session may also wait through its connection to another node:
-- there, its part's application_name carries the session's global process id.

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
DECLARE
	gpid text;
BEGIN
	IF pg_isolation_test_blocked_here(pid, by) THEN
		RETURN true;
	END IF;
	gpid := citus_calculate_gpid(citus_coordinator_nodeid(), pid)::text;
	RETURN EXISTS (
		SELECT FROM run_command_on_workers(format(
			'SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = ''Lock'' '
			'AND application_name = %L', 'citus_internal gpid=' || gpid))
		WHERE success AND result <> '0');
END $$;
