-- Background jobs: the states of jobs and tasks; src/jobs runs the commands of the tasks.
--
-- What changes a task locks the row of its job first, so that the states of a job's tasks are changed by one session at a
-- time. These functions also run in sessions in which users' commands have run: so pg_temp is last in their search_path.

CREATE FUNCTION citus_internal.job_settle(job bigint)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH RECURSIVE lost(task_id) AS (
		SELECT t.task_id FROM pg_dist_background_task t
		WHERE t.job_id = job AND t.status IN ('error', 'cancelled', 'unscheduled')
		UNION
		SELECT d.task_id FROM pg_dist_background_task_depend d JOIN lost l ON l.task_id = d.depends_on
		WHERE d.job_id = job
	)
	UPDATE pg_dist_background_task t SET status = 'unscheduled'
	WHERE t.job_id = job AND t.status = 'blocked' AND t.task_id IN (SELECT l.task_id FROM lost l);

	UPDATE pg_dist_background_task t SET status = 'runnable'
	WHERE t.job_id = job AND t.status = 'blocked' AND NOT EXISTS (
		SELECT FROM pg_dist_background_task_depend d
		JOIN pg_dist_background_task b ON b.job_id = job AND b.task_id = d.depends_on
		WHERE d.job_id = job AND d.task_id = t.task_id AND b.status <> 'done');

	UPDATE pg_dist_background_job j
	SET state = n.state,
		started_at = CASE WHEN n.state = 'scheduled' THEN j.started_at ELSE coalesce(j.started_at, clock_timestamp()) END,
		finished_at = CASE WHEN n.state IN ('finished', 'cancelled', 'failed') THEN clock_timestamp() END
	FROM (
		SELECT CASE
			WHEN c.unfinished = 0 AND c.cancelled > 0 THEN 'cancelled'
			WHEN c.unfinished = 0 AND c.failed > 0 THEN 'failed'
			WHEN c.unfinished = 0 THEN 'finished'
			WHEN c.cancelled > 0 THEN 'cancelling'
			WHEN c.failed > 0 THEN 'failing'
			WHEN c.started > 0 THEN 'running'
			ELSE 'scheduled'
		END::citus_job_status AS state
		FROM (
			SELECT count(*) FILTER (WHERE t.status IN ('blocked', 'runnable', 'running', 'cancelling')) AS unfinished,
				count(*) FILTER (WHERE t.status IN ('cancelling', 'cancelled')) AS cancelled,
				count(*) FILTER (WHERE t.status = 'error') AS failed,
				count(*) FILTER (WHERE t.status IN ('running', 'done') OR t.retry_count > 0) AS started
			FROM pg_dist_background_task t WHERE t.job_id = job
			HAVING count(*) > 0
		) c
	) n
	WHERE j.job_id = job AND j.state <> n.state;
END
$$;
COMMENT ON FUNCTION citus_internal.job_settle(bigint) IS
	'sets which tasks of a job may run, and the state of the job, by the states of its tasks';

CREATE FUNCTION citus_internal.task_lock(task bigint)
	RETURNS bigint LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT j.job_id FROM pg_dist_background_job j
	WHERE j.job_id = (SELECT t.job_id FROM pg_dist_background_task t WHERE t.task_id = task)
	FOR UPDATE
$$;
COMMENT ON FUNCTION citus_internal.task_lock(bigint) IS 'the job of a task, locked';

CREATE FUNCTION citus_internal.next_task(max_tasks integer, max_per_node integer, OUT task_id bigint, OUT owner oid,
	OUT can_login boolean)
	RETURNS record LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	WITH running AS MATERIALIZED (
		SELECT r.nodes_involved FROM pg_dist_background_task r WHERE r.status IN ('running', 'cancelling')
	)
	SELECT t.task_id, t.owner, coalesce(o.rolcanlogin, false)
	FROM pg_dist_background_task t
	LEFT JOIN pg_authid o ON o.oid = t.owner
	WHERE t.status = 'runnable'
		AND (t.not_before IS NULL OR t.not_before <= clock_timestamp())
		AND (SELECT count(*) FROM running) < max_tasks
		AND NOT EXISTS (
			SELECT FROM unnest(t.nodes_involved) n
			WHERE (SELECT count(*) FROM running r WHERE n = ANY (r.nodes_involved)) >= max_per_node)
	ORDER BY t.task_id
	LIMIT 1
$$;
COMMENT ON FUNCTION citus_internal.next_task(integer, integer) IS
	'a task that may run now, within limits for all tasks and for tasks that involve the same node';

CREATE FUNCTION citus_internal.task_start(task bigint)
	RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	job bigint := citus_internal.task_lock(task);
BEGIN
	UPDATE pg_dist_background_task t SET status = 'running', pid = NULL, not_before = NULL
	WHERE t.task_id = task AND t.status = 'runnable';
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM citus_internal.job_settle(job);
	RETURN true;
END
$$;
COMMENT ON FUNCTION citus_internal.task_start(bigint) IS 'notes that a process is started for a task, if it is still runnable';

CREATE FUNCTION citus_internal.task_claim(task bigint)
	RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	claimed text;
BEGIN
	PERFORM citus_internal.task_lock(task);
	UPDATE pg_dist_background_task t SET pid = pg_backend_pid() WHERE t.task_id = task AND t.status = 'running'
	RETURNING t.command INTO claimed;
	RETURN claimed;
END
$$;
COMMENT ON FUNCTION citus_internal.task_claim(bigint) IS
	'records that this process runs a task; its command, null if it must not run any more';

-- An error is transient if the same command can succeed later without anybody's help: connections that fail (08),
-- transactions that others have rolled back (40), resources that are short (53), cancelled or ended by a server that shuts down
-- (57), errors of the system (58), locks that others hold, metadata that was about to change (CT001).
CREATE FUNCTION citus_internal.task_error_is_transient(sqlstate text)
	RETURNS boolean LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
	SELECT left(sqlstate, 2) IN ('08', '40', '53', '57', '58') OR sqlstate IN ('55P03', '55006', 'CT001')
$$;
COMMENT ON FUNCTION citus_internal.task_error_is_transient(text) IS 'whether a task that failed so is tried again';

CREATE FUNCTION citus_internal.task_finish(task bigint, sqlstate text, message text)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_retries constant integer := 30;
	job bigint := citus_internal.task_lock(task);
	known record;
BEGIN
	SELECT t.status, coalesce(t.retry_count, 0) AS retries INTO known
	FROM pg_dist_background_task t WHERE t.task_id = task AND t.status IN ('running', 'cancelling');
	IF NOT FOUND THEN
		RETURN;
	END IF;

	IF sqlstate IS NOT NULL AND known.status = 'running' AND known.retries < max_retries
		AND citus_internal.task_error_is_transient(sqlstate) THEN
		UPDATE pg_dist_background_task t
		SET status = 'runnable', pid = NULL, message = task_finish.message, retry_count = known.retries + 1,
			not_before = clock_timestamp() + least(interval '5 s' * 2 ^ known.retries, interval '10 min')
		WHERE t.task_id = task;
	ELSE
		UPDATE pg_dist_background_task t
		SET pid = NULL, message = task_finish.message,
			status = CASE
				WHEN task_finish.sqlstate IS NULL THEN 'done'
				WHEN known.status = 'cancelling' THEN 'cancelled'
				ELSE 'error'
			END::citus_task_status
		WHERE t.task_id = task;
	END IF;
	PERFORM citus_internal.job_settle(job);
END
$$;
COMMENT ON FUNCTION citus_internal.task_finish(bigint, text, text) IS
	'records the result of a task''s command (sqlstate null: success), and its consequences';

CREATE FUNCTION citus_internal.settle_jobs()
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	unsettled bigint;
BEGIN
	FOR unsettled IN
		SELECT j.job_id FROM pg_dist_background_job j WHERE j.state NOT IN ('finished', 'cancelled', 'failed')
		ORDER BY j.job_id
		FOR UPDATE SKIP LOCKED
	LOOP
		PERFORM citus_internal.job_settle(unsettled);
	END LOOP;
END
$$;
COMMENT ON FUNCTION citus_internal.settle_jobs() IS 'the same for all jobs, whose rows users may have written';

CREATE FUNCTION citus_internal.job_cancel(job bigint)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM FROM pg_dist_background_job j WHERE j.job_id = job FOR UPDATE;
	UPDATE pg_dist_background_task t
	SET status = CASE t.status WHEN 'running' THEN 'cancelling' ELSE 'cancelled' END::citus_task_status
	WHERE t.job_id = job AND t.status IN ('blocked', 'runnable', 'running');
	PERFORM citus_internal.job_settle(job);
	PERFORM pg_cancel_backend(a.pid)
	FROM pg_stat_activity a JOIN pg_dist_background_task t ON t.pid = a.pid
	WHERE t.job_id = job AND t.status = 'cancelling' AND a.backend_type = 'citus background task';
END
$$;
COMMENT ON FUNCTION citus_internal.job_cancel(bigint) IS 'cancels the tasks of a job that have not ended';

REVOKE ALL ON FUNCTION
	citus_internal.job_settle(bigint), citus_internal.task_lock(bigint), citus_internal.next_task(integer, integer),
	citus_internal.task_start(bigint), citus_internal.task_claim(bigint), citus_internal.task_finish(bigint, text, text),
	citus_internal.settle_jobs(), citus_internal.job_cancel(bigint)
	FROM public;

CREATE FUNCTION citus_internal.tasks_changed()
	RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_tasks_changed';
COMMENT ON FUNCTION citus_internal.tasks_changed() IS 'has the queue looked at when the transaction is over';

CREATE TRIGGER tasks_changed AFTER INSERT ON pg_catalog.pg_dist_background_task
	FOR EACH STATEMENT EXECUTE FUNCTION citus_internal.tasks_changed();

-- For users

CREATE FUNCTION pg_catalog.citus_job_cancel(jobid bigint)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_job_cancel';
COMMENT ON FUNCTION pg_catalog.citus_job_cancel(bigint) IS 'cancel a job: what runs is stopped, the rest is not started';

CREATE FUNCTION citus_internal.await_state(kind text, id bigint, query text, terminal text[], desired text)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state text;
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE active_sql_transaction USING
			MESSAGE = format('cannot wait for a %s at isolation level %s', kind, current_setting('transaction_isolation')),
			DETAIL = 'The transaction''s snapshot does not show how the state changes.';
	END IF;
	LOOP
		EXECUTE query INTO state USING id;
		IF state IS NULL THEN
			RAISE undefined_object USING MESSAGE = format('%s %s does not exist', kind, id);
		END IF;
		EXIT WHEN state = desired OR (desired IS NULL AND state = ANY (terminal));
		IF state = ANY (terminal) THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('%s %s reached terminal state "%s" instead of desired state "%s"', kind, id, state, desired);
		END IF;
		PERFORM pg_sleep(0.1);
	END LOOP;
END
$$;
COMMENT ON FUNCTION citus_internal.await_state(text, bigint, text, text[], text) IS
	'wait until the state that a query tells is the desired one; without one, any that is final';

CREATE FUNCTION pg_catalog.citus_job_wait(jobid bigint, desired_status citus_job_status DEFAULT NULL)
	RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT citus_internal.await_state('job', jobid, 'SELECT state FROM pg_dist_background_job WHERE job_id = $1',
		'{finished,cancelled,failed}', desired_status::text)
$$;
COMMENT ON FUNCTION pg_catalog.citus_job_wait(bigint, citus_job_status) IS 'wait for the end of a job, or for a state of it';

CREATE FUNCTION pg_catalog.citus_task_wait(taskid bigint, desired_status citus_task_status DEFAULT NULL)
	RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT citus_internal.await_state('task', taskid, 'SELECT status FROM pg_dist_background_task WHERE task_id = $1',
		'{done,error,unscheduled,cancelled}', desired_status::text)
$$;
COMMENT ON FUNCTION pg_catalog.citus_task_wait(bigint, citus_task_status) IS 'wait for the end of a task, or for a state of it';

CREATE FUNCTION pg_catalog.citus_job_list(OUT job_id bigint, OUT state citus_job_status, OUT job_type name,
	OUT description text, OUT started_at timestamptz, OUT finished_at timestamptz)
	RETURNS SETOF record LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT j.job_id, j.state, j.job_type, j.description, j.started_at, j.finished_at
	FROM pg_dist_background_job j ORDER BY j.job_id
$$;
COMMENT ON FUNCTION pg_catalog.citus_job_list() IS 'background jobs';

CREATE FUNCTION pg_catalog.citus_job_status(job_id bigint, raw boolean DEFAULT false, OUT job_id bigint,
	OUT state citus_job_status, OUT job_type name, OUT description text, OUT started_at timestamptz,
	OUT finished_at timestamptz, OUT details jsonb)
	RETURNS SETOF record LANGUAGE sql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
	SELECT j.job_id, j.state, j.job_type, j.description, j.started_at, j.finished_at, jsonb_build_object(
		'task_state_counts', (
			SELECT coalesce(jsonb_object_agg(c.status, c.count), '{}') FROM (
				SELECT t.status, count(*) FROM pg_dist_background_task t WHERE t.job_id = $1 GROUP BY t.status
			) c),
		'tasks', (
			SELECT coalesce(jsonb_agg(jsonb_build_object('task_id', t.task_id, 'state', t.status, 'command', t.command,
				'message', t.message, 'retried', coalesce(t.retry_count, 0), 'not_before', t.not_before,
				'nodes_involved', t.nodes_involved) ORDER BY t.task_id), '[]')
			FROM pg_dist_background_task t
			WHERE t.job_id = $1 AND (raw OR t.status IN ('running', 'cancelling', 'error')
				OR t.status = 'runnable' AND t.retry_count > 0)))
	FROM pg_dist_background_job j WHERE j.job_id = $1
$$;
COMMENT ON FUNCTION pg_catalog.citus_job_status(bigint, boolean) IS
	'a job, how many of its tasks are in which state, and those that run, failed or are tried again (raw: all)';
