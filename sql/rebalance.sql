-- The rebalancer: strategies, plans, and jobs that make the moves of a plan.

-- Strategies

CREATE FUNCTION pg_catalog.citus_shard_cost_1(shardid bigint)
	RETURNS float4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN 1.0::float4;
COMMENT ON FUNCTION pg_catalog.citus_shard_cost_1(bigint) IS 'cost of a shard for strategies that count shards';

CREATE FUNCTION pg_catalog.citus_shard_cost_by_load(shardid bigint)
	RETURNS float4 LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_shard_cost_by_load';
CREATE FUNCTION pg_catalog.citus_shard_cost_by_disk_size(shardid bigint)
	RETURNS float4 LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'citus_shard_cost_by_disk_size';
COMMENT ON FUNCTION pg_catalog.citus_shard_cost_by_load(bigint) IS
	'CPU time that the busiest tenants of a shard group have used lately; a cost function of rebalance strategies';
COMMENT ON FUNCTION pg_catalog.citus_shard_cost_by_disk_size(bigint) IS
	'cost of a shard: disk space of it and those colocated with it';

CREATE FUNCTION pg_catalog.citus_node_capacity_1(nodeid integer)
	RETURNS float4 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN 1.0::float4;
COMMENT ON FUNCTION pg_catalog.citus_node_capacity_1(integer) IS 'capacity of a node where all nodes are equal';

CREATE FUNCTION pg_catalog.citus_shard_allowed_on_node_true(shardid bigint, nodeid integer)
	RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN true;
COMMENT ON FUNCTION pg_catalog.citus_shard_allowed_on_node_true(bigint, integer) IS 'allows each shard on each node';

CREATE FUNCTION citus_internal.check_strategy_function(purpose text, checked regproc, arguments oidvector, result regtype)
	RETURNS void LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = checked AND p.prokind = 'f' AND NOT p.proretset
			AND p.proargtypes = arguments AND p.prorettype = result) THEN
		RAISE invalid_function_definition USING
			MESSAGE = format('signature for %s is incorrect', purpose),
			DETAIL = format('Function %s should take (%s) and return %s.', checked,
				(SELECT string_agg(format_type(a, NULL), ', ' ORDER BY n) FROM unnest(arguments::oid[]) WITH ORDINALITY u(a, n)),
				result);
	END IF;
END
$$;
COMMENT ON FUNCTION citus_internal.check_strategy_function(text, regproc, oidvector, regtype) IS
	'refuses a function with another signature';

CREATE FUNCTION pg_catalog.citus_validate_rebalance_strategy_functions(shard_cost_function regproc,
	node_capacity_function regproc, shard_allowed_on_node_function regproc)
	RETURNS void LANGUAGE sql STRICT SET search_path = pg_catalog, pg_temp
AS $$
	SELECT citus_internal.check_strategy_function('shard_cost_function', shard_cost_function,
		'20'::oidvector, 'float4');
	SELECT citus_internal.check_strategy_function('node_capacity_function', node_capacity_function,
		'23'::oidvector, 'float4');
	SELECT citus_internal.check_strategy_function('shard_allowed_on_node_function', shard_allowed_on_node_function,
		'20 23'::oidvector, 'bool');
$$;
COMMENT ON FUNCTION pg_catalog.citus_validate_rebalance_strategy_functions(regproc, regproc, regproc) IS
	'refuses functions that can''t be those of a rebalance strategy';

CREATE FUNCTION citus_internal.check_strategy()
	RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM citus_validate_rebalance_strategy_functions(NEW.shard_cost_function, NEW.node_capacity_function,
		NEW.shard_allowed_on_node_function);
	IF NEW.default_threshold < NEW.minimum_threshold THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'default_threshold cannot be smaller than minimum_threshold',
			DETAIL = format('For strategy "%s" they are %s and %s.', NEW.name, NEW.default_threshold, NEW.minimum_threshold);
	END IF;
	IF least(NEW.minimum_threshold, NEW.improvement_threshold) < 0 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('a threshold of strategy "%s" is negative', NEW.name);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION citus_internal.check_strategy() IS 'refuses strategies that don''t work';

CREATE TRIGGER check_strategy BEFORE INSERT OR UPDATE ON pg_catalog.pg_dist_rebalance_strategy
	FOR EACH ROW EXECUTE FUNCTION citus_internal.check_strategy();
CREATE UNIQUE INDEX pg_dist_rebalance_strategy_default_index ON pg_catalog.pg_dist_rebalance_strategy (default_strategy)
	WHERE default_strategy;

INSERT INTO pg_catalog.pg_dist_rebalance_strategy VALUES
	('by_shard_count', false, 'pg_catalog.citus_shard_cost_1', 'pg_catalog.citus_node_capacity_1',
	 'pg_catalog.citus_shard_allowed_on_node_true', 0, 0, 0),
	('by_disk_size', true, 'pg_catalog.citus_shard_cost_by_disk_size', 'pg_catalog.citus_node_capacity_1',
	 'pg_catalog.citus_shard_allowed_on_node_true', 0.1, 0.01, 0.5),
	('by_load', false, 'pg_catalog.citus_shard_cost_by_load', 'pg_catalog.citus_node_capacity_1',
	 'pg_catalog.citus_shard_allowed_on_node_true', 0.3, 0.05, 0.5);

CREATE FUNCTION citus_internal.require_coordinator()
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT citus_is_coordinator() THEN
		RAISE feature_not_supported USING
			MESSAGE = 'operation is not allowed on this node',
			HINT = 'Connect to the coordinator and run it again.';
	END IF;
END
$$;
COMMENT ON FUNCTION citus_internal.require_coordinator() IS 'an error on other nodes than the coordinator';

CREATE FUNCTION pg_catalog.citus_add_rebalance_strategy(name name, shard_cost_function regproc,
	node_capacity_function regproc, shard_allowed_on_node_function regproc, default_threshold float4,
	minimum_threshold float4 DEFAULT 0, improvement_threshold float4 DEFAULT 0)
	RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT citus_internal.require_coordinator();
	INSERT INTO pg_dist_rebalance_strategy VALUES (name, false, shard_cost_function, node_capacity_function,
		shard_allowed_on_node_function, default_threshold, minimum_threshold, improvement_threshold)
$$;
COMMENT ON FUNCTION pg_catalog.citus_add_rebalance_strategy(name, regproc, regproc, regproc, float4, float4, float4) IS
	'add a rebalance strategy';

CREATE FUNCTION pg_catalog.citus_set_default_rebalance_strategy(name text)
	RETURNS void LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM citus_internal.require_coordinator();
	IF NOT EXISTS (SELECT FROM pg_dist_rebalance_strategy s WHERE s.name = $1) THEN
		RAISE undefined_object USING MESSAGE = format('strategy with specified name does not exist: "%s"', $1);
	END IF;
	UPDATE pg_dist_rebalance_strategy s SET default_strategy = false WHERE s.default_strategy AND s.name <> $1;
	UPDATE pg_dist_rebalance_strategy s SET default_strategy = true WHERE s.name = $1;
END
$$;
COMMENT ON FUNCTION pg_catalog.citus_set_default_rebalance_strategy(text) IS
	'choose the strategy of rebalances that don''t name one';

-- Plans and jobs

CREATE FUNCTION pg_catalog.get_rebalance_table_shards_plan(relation regclass DEFAULT NULL, threshold float4 DEFAULT NULL,
	max_shard_moves integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}', drain_only boolean DEFAULT false,
	rebalance_strategy name DEFAULT NULL, improvement_threshold float4 DEFAULT NULL)
	RETURNS TABLE (table_name regclass, shardid bigint, shard_size bigint, sourcename text, sourceport integer,
		targetname text, targetport integer)
	LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'get_rebalance_table_shards_plan';
COMMENT ON FUNCTION pg_catalog.get_rebalance_table_shards_plan(regclass, float4, integer, bigint[], boolean, name, float4) IS
	'the moves of shards, with those colocated with them, that a rebalance would make, in their order';

CREATE FUNCTION citus_internal.clone_begin(nodeid integer, strategy text)
	RETURNS void LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_clone_begin';
COMMENT ON FUNCTION citus_internal.clone_begin(integer, text) IS
	'chooses the shard groups of this node that a clone of it will take over, and locks them against other operations';
REVOKE ALL ON FUNCTION citus_internal.clone_begin(integer, text) FROM public;

CREATE FUNCTION citus_internal.clone_switch()
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_clone_switch';
COMMENT ON FUNCTION citus_internal.clone_switch() IS
	'promotes this session''s clone and gives it its shards; false if it must be tried again';
REVOKE ALL ON FUNCTION citus_internal.clone_switch() FROM public;

CREATE FUNCTION pg_catalog.citus_promote_clone_and_rebalance(clone_nodeid integer, rebalance_strategy name DEFAULT NULL,
	catchup_timeout_seconds integer DEFAULT 300)
	RETURNS void LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_promote_clone_and_rebalance';
COMMENT ON FUNCTION pg_catalog.citus_promote_clone_and_rebalance(integer, name, integer) IS
	'promote a clone to a node, and divide the shards of its primary between the two without copying rows';
REVOKE ALL ON FUNCTION pg_catalog.citus_promote_clone_and_rebalance(integer, name, integer) FROM public;

CREATE FUNCTION pg_catalog.get_snapshot_based_node_split_plan(primary_node_name text, primary_node_port integer,
	replica_node_name text, replica_node_port integer, rebalance_strategy name DEFAULT NULL)
	RETURNS TABLE (table_name regclass, shardid bigint, shard_size bigint, placement_node text)
	LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'get_snapshot_based_node_split_plan';
COMMENT ON FUNCTION pg_catalog.get_snapshot_based_node_split_plan(text, integer, text, integer, name) IS
	'how citus_promote_clone_and_rebalance() would divide the shards of a node between it and a clone';
REVOKE ALL ON FUNCTION pg_catalog.get_snapshot_based_node_split_plan(text, integer, text, integer, name) FROM public;

CREATE TABLE citus.pg_dist_rebalance_history (
	job_id bigint NOT NULL,
	task_id bigint NOT NULL PRIMARY KEY,
	decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	automatic boolean NOT NULL,
	table_name regclass,			-- this to shard_size: NULL where a node is removed, as is the target, and where a shard is split
	shardid bigint,
	shard_size bigint,
	source_nodeid integer NOT NULL,
	sourcename text NOT NULL,		-- as of then: the node may be removed
	sourceport integer NOT NULL,
	target_nodeid integer,
	targetname text,
	targetport integer,
	reason text NOT NULL
);
CREATE INDEX pg_dist_rebalance_history_job_index ON citus.pg_dist_rebalance_history (job_id);
COMMENT ON TABLE citus.pg_dist_rebalance_history IS
	'moves and splits of shards, and removals of nodes, that rebalances have decided, and why';
ALTER TABLE citus.pg_dist_rebalance_history SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.pg_dist_rebalance_history TO public;

CREATE FUNCTION citus_internal.rebalance_job(relation regclass, threshold float4, max_shard_moves integer,
	excluded_shard_list bigint[], drain_only boolean, rebalance_strategy name, improvement_threshold float4,
	shard_transfer_mode citus.shard_transfer_mode)
	RETURNS bigint LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'citus_internal_rebalance_job';
COMMENT ON FUNCTION citus_internal.rebalance_job(regclass, float4, integer, bigint[], boolean, name, float4,
	citus.shard_transfer_mode) IS 'make a background job of the moves of a plan';

-- Moves are made at the same time as citus.max_background_task_executors_per_node says: the arguments parallel_.. are those
-- of the interface, and have no effect.
CREATE FUNCTION pg_catalog.citus_rebalance_start(rebalance_strategy name DEFAULT NULL, drain_only boolean DEFAULT false,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto', parallel_transfer_reference_tables boolean DEFAULT false,
	parallel_transfer_colocated_shards boolean DEFAULT false)
	RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	job bigint := citus_internal.rebalance_job(NULL, NULL, NULL, NULL, drain_only, rebalance_strategy, NULL,
		shard_transfer_mode);
BEGIN
	IF job IS NOT NULL THEN
		RAISE NOTICE USING
			MESSAGE = format('Scheduled %s moves as job %s',
				(SELECT count(*) FROM pg_dist_background_task t WHERE t.job_id = job), job),
			DETAIL = 'Rebalance scheduled as background job',
			HINT = 'To monitor progress, run: SELECT * FROM citus_rebalance_status();';
	END IF;
	RETURN job;
END
$$;
COMMENT ON FUNCTION pg_catalog.citus_rebalance_start(name, boolean, citus.shard_transfer_mode, boolean, boolean) IS
	'rebalance the shards in a background job';

CREATE FUNCTION citus_internal.running_rebalance(purpose text)
	RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	job bigint := max(j.job_id) FROM pg_dist_background_job j WHERE j.job_type = 'rebalance' AND j.finished_at IS NULL;
BEGIN
	IF job IS NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('no ongoing rebalance that can be %s', purpose);
	END IF;
	RETURN job;
END
$$;
COMMENT ON FUNCTION citus_internal.running_rebalance(text) IS 'the rebalance''s job that has not ended; an error without one';

CREATE FUNCTION pg_catalog.citus_rebalance_stop()
	RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT citus_job_cancel(citus_internal.running_rebalance('stopped'))
$$;
COMMENT ON FUNCTION pg_catalog.citus_rebalance_stop() IS 'stop the rebalance; moves that are made stay so';

CREATE FUNCTION pg_catalog.citus_rebalance_wait()
	RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT citus_job_wait(citus_internal.running_rebalance('waited on'))
$$;
COMMENT ON FUNCTION pg_catalog.citus_rebalance_wait() IS 'wait for the end of the rebalance';

CREATE FUNCTION pg_catalog.citus_rebalance_status(raw boolean DEFAULT false, OUT job_id bigint, OUT state citus_job_status,
	OUT job_type name, OUT description text, OUT started_at timestamptz, OUT finished_at timestamptz, OUT details jsonb)
	RETURNS SETOF record LANGUAGE sql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.* FROM citus_job_status(
		(SELECT max(j.job_id) FROM pg_dist_background_job j WHERE j.job_type = 'rebalance'), raw) s
$$;
COMMENT ON FUNCTION pg_catalog.citus_rebalance_status(boolean) IS 'the rebalance that runs, or the last one';

-- Rebalances that their callers wait for are jobs too, which another session makes, since they must be committed.

CREATE FUNCTION citus_internal.refuse_transaction_block(function_name text)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_refuse_transaction_block';
COMMENT ON FUNCTION citus_internal.refuse_transaction_block(text) IS 'an error inside a transaction block';

CREATE FUNCTION citus_internal.run_apart(command text)
	RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	answer record;
BEGIN
	SELECT * INTO STRICT answer FROM run_command_on_coordinator(command);
	IF NOT answer.success THEN
		RAISE EXCEPTION USING MESSAGE = regexp_replace(answer.result, '^ERROR: *', '');
	END IF;
	RETURN nullif(answer.result, '');
END
$$;
COMMENT ON FUNCTION citus_internal.run_apart(text) IS 'run a command in a session, and transaction, of its own';

CREATE FUNCTION citus_internal.run_job(command text)
	RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	job bigint;
BEGIN
	BEGIN
		job := citus_internal.run_apart(command);
		IF job IS NULL THEN
			RETURN false;
		END IF;
		PERFORM citus_job_wait(job);
	EXCEPTION WHEN query_canceled THEN
		IF job IS NULL THEN
			RAISE WARNING USING
				MESSAGE = 'canceled while the background job was being made',
				HINT = 'If SELECT * FROM citus_rebalance_status() shows that it runs, stop it by citus_rebalance_stop().';
		ELSE
			-- the server sends the signal of a cancel request twice, and the second may come late
			FOR attempt IN 1..3 LOOP
				BEGIN
					PERFORM citus_internal.run_apart(format('SELECT citus_job_cancel(%s)', job));
					EXIT;
				EXCEPTION WHEN query_canceled THEN
					IF attempt = 3 THEN
						RAISE;
					END IF;
				END;
			END LOOP;
		END IF;
		RAISE;
	END;
	IF (SELECT j.state <> 'finished' FROM pg_dist_background_job j WHERE j.job_id = job) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('job %s did not succeed', job),
			DETAIL = (SELECT t.message FROM pg_dist_background_task t WHERE t.job_id = job AND t.status IN ('error', 'cancelled')
				ORDER BY t.task_id LIMIT 1),
			HINT = format('To see all of its tasks, run: SELECT * FROM citus_job_status(%s, raw => true);', job);
	END IF;
	RETURN true;
END
$$;
COMMENT ON FUNCTION citus_internal.run_job(text) IS
	'wait for the job that a command makes, and cancel it if the statement is cancelled; false if it makes none';

CREATE FUNCTION pg_catalog.rebalance_table_shards(relation regclass DEFAULT NULL, threshold float4 DEFAULT NULL,
	max_shard_moves integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}',
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto', drain_only boolean DEFAULT false,
	rebalance_strategy name DEFAULT NULL, improvement_threshold float4 DEFAULT NULL)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM citus_internal.refuse_transaction_block('rebalance_table_shards');
	IF NOT citus_is_coordinator() THEN
		PERFORM citus_internal.run_apart(format('SELECT rebalance_table_shards(%L, %L, %L, %L, %L, %L, %L, %L)', relation::text, threshold,
			max_shard_moves, excluded_shard_list, shard_transfer_mode, drain_only, rebalance_strategy, improvement_threshold));
		RETURN;
	END IF;
	-- what is wrong with the arguments is an error of this session
	PERFORM FROM get_rebalance_table_shards_plan(relation, threshold, max_shard_moves, excluded_shard_list, drain_only,
		rebalance_strategy, improvement_threshold);
	IF NOT FOUND OR NOT citus_internal.run_job(format('SELECT citus_internal.rebalance_job(%L, %L, %L, %L, %L, %L, %L, %L)',
			relation, threshold, max_shard_moves, excluded_shard_list, drain_only, rebalance_strategy, improvement_threshold,
			shard_transfer_mode)) THEN
		RAISE NOTICE 'No moves available for rebalancing';
	END IF;
END
$$;
COMMENT ON FUNCTION pg_catalog.rebalance_table_shards(regclass, float4, integer, bigint[], citus.shard_transfer_mode, boolean,
	name, float4) IS 'rebalance the shards, and wait until it is done';

CREATE FUNCTION pg_catalog.citus_drain_node(nodename text, nodeport integer,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto', rebalance_strategy name DEFAULT NULL)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM citus_internal.refuse_transaction_block('citus_drain_node');
	IF NOT citus_is_coordinator() THEN
		PERFORM citus_internal.run_apart(format('SELECT citus_drain_node(%L, %s, %L, %L)', nodename, nodeport, shard_transfer_mode,
			rebalance_strategy));
		RETURN;
	END IF;
	PERFORM citus_internal.run_apart(format('SELECT citus_set_node_property(%L, %s, %L, false)', nodename, nodeport,
		'shouldhaveshards'));
	PERFORM citus_internal.run_job(format('SELECT citus_internal.rebalance_job(NULL, NULL, NULL, NULL, true, %L, NULL, %L)',
		rebalance_strategy, shard_transfer_mode));
END
$$;
COMMENT ON FUNCTION pg_catalog.citus_drain_node(text, integer, citus.shard_transfer_mode, name) IS
	'move all shards off a node, and place no new ones there';

CREATE FUNCTION citus_internal.retire_job(nodename text, nodeport integer, shard_transfer_mode citus.shard_transfer_mode,
	rebalance_strategy name)
	RETURNS bigint LANGUAGE C AS 'MODULE_PATHNAME', 'citus_internal_retire_job';
COMMENT ON FUNCTION citus_internal.retire_job(text, integer, citus.shard_transfer_mode, name) IS
	'make a background job that empties a node and removes it';
REVOKE ALL ON FUNCTION citus_internal.retire_job(text, integer, citus.shard_transfer_mode, name) FROM public;

CREATE FUNCTION pg_catalog.citus_retire_node(nodename text, nodeport integer,
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto', rebalance_strategy name DEFAULT NULL)
	RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false);
	RETURN citus_internal.retire_job(nodename, nodeport, shard_transfer_mode, rebalance_strategy);
END
$$;
COMMENT ON FUNCTION pg_catalog.citus_retire_node(text, integer, citus.shard_transfer_mode, name) IS
	'move all shards off a node and then remove it, in a background job; returns the job';

-- Half of a sample of the rows of a shard group, of its largest relation on this node, have this hash value or a lower one.
CREATE FUNCTION citus_internal.local_shard_median(shard_ids bigint[])
	RETURNS integer LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	largest record;
	median integer;
BEGIN
	SELECT c.relation, column_to_column_name(p.logicalrelid, p.partkey) AS key, pg_relation_size(c.relation) AS size
	INTO largest
	FROM pg_dist_shard s JOIN pg_dist_partition p USING (logicalrelid),
		LATERAL (SELECT to_regclass(shard_name(s.logicalrelid, s.shardid)) AS relation) c
	WHERE s.shardid = ANY (shard_ids) AND c.relation IS NOT NULL
	ORDER BY pg_total_relation_size(c.relation) DESC LIMIT 1;
	IF FOUND THEN
		EXECUTE format('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY worker_hash(%I)) FROM %s TABLESAMPLE SYSTEM (%s)',
			largest.key, largest.relation, least(100, 100 * 32e6 / greatest(largest.size, 1))) INTO median;
	END IF;
	RETURN median;
END
$$;
COMMENT ON FUNCTION citus_internal.local_shard_median(bigint[]) IS
	'the hash value up to which about half of the rows of a shard of this node are';
REVOKE ALL ON FUNCTION citus_internal.local_shard_median(bigint[]) FROM public;

-- A value that has most of the rows comes to the end of a shard, and is then cut off. May be called again after it has succeeded.
CREATE FUNCTION citus_internal.split_large_shard(shard_id bigint)
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shard record;
	median integer;
BEGIN
	SELECT s.shardminvalue::integer AS first, s.shardmaxvalue::integer AS last, n.nodeid INTO shard
	FROM pg_dist_shard s
	JOIN pg_dist_placement p ON p.shardid = s.shardid AND p.shardstate = 1
	JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
	WHERE s.shardid = shard_id AND s.shardminvalue::integer < s.shardmaxvalue::integer;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT nullif(r.result, '')::integer INTO median FROM run_command_on_all_nodes(
		format('SELECT citus_internal.local_shard_median(%L)', get_colocated_shard_array(shard_id))) r
	WHERE r.success AND r.nodeid = shard.nodeid;
	median := coalesce(median, (shard.first::bigint + shard.last) / 2);
	PERFORM citus_split_shard_by_split_points(shard_id,
		ARRAY[greatest(shard.first, least(median, shard.last - 1))::text], ARRAY[shard.nodeid, shard.nodeid]);
END
$$;
COMMENT ON FUNCTION citus_internal.split_large_shard(bigint) IS 'splits a shard into two with about as many rows each, where it is';
REVOKE ALL ON FUNCTION citus_internal.split_large_shard(bigint) FROM public;

CREATE FUNCTION citus_internal.local_shard_copies(OUT shardid bigint, OUT size bigint, OUT phase "char", OUT lsn pg_lsn,
		OUT since timestamptz)
	RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.shardid, pg_total_relation_size(c.relation), r.srsubstate, w.latest_end_lsn, o.since
	FROM (
		SELECT s.shardid, shard_name(s.logicalrelid, s.shardid) AS name,
			to_regclass(shard_name(s.logicalrelid, s.shardid)) AS relation
		FROM pg_dist_shard s
	) c
	-- the session that moves it has a lock, and was opened for that
	LEFT JOIN (
		SELECT k.object_name, min(a.backend_start) AS since
		FROM pg_dist_cleanup k
		JOIN pg_locks l ON l.locktype = 'object' AND l.classid = 'pg_dist_cleanup'::regclass
			AND l.objid::bigint = k.operation_id AND l.granted
			AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		JOIN pg_stat_activity a ON a.pid = l.pid
		GROUP BY 1
	) o ON o.object_name = c.name
	LEFT JOIN pg_subscription_rel r ON r.srrelid = c.relation
	LEFT JOIN pg_stat_subscription w ON w.subid = r.srsubid AND w.relid IS NULL
	WHERE c.relation IS NOT NULL
$$;
COMMENT ON FUNCTION citus_internal.local_shard_copies() IS
	'shards that are on this node, with a placement or without: sizes, how far logical replication has come, since when they move';

CREATE FUNCTION citus_internal.shard_moves()
	RETURNS TABLE (sessionid integer, table_name regclass, shardid bigint, shard_size bigint, sourcename text,
		sourceport integer, targetname text, targetport integer, progress bigint, source_shard_size bigint,
		target_shard_size bigint, operation_type text, source_lsn pg_lsn, target_lsn pg_lsn, status text, since timestamptz)
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	WITH tasks AS MATERIALIZED (
		SELECT h.task_id, h.shardid, h.source_nodeid, h.target_nodeid, t.pid, t.status FROM pg_dist_rebalance_history h
		JOIN pg_dist_background_job j ON j.job_id = h.job_id AND j.finished_at IS NULL
		JOIN pg_dist_background_task t ON t.task_id = h.task_id
	),
	arriving AS MATERIALIZED (
		SELECT ARRAY(SELECT unnest(get_colocated_shard_array(p.shardid)) ORDER BY 1) AS shards,
			s.nodeid AS source_nodeid, t.nodeid AS target_nodeid
		FROM pg_dist_placement p
		JOIN pg_dist_placement a ON a.shardid = p.shardid AND a.shardstate = 1
		JOIN pg_dist_node s ON s.groupid = a.groupid AND s.noderole = 'primary'
		JOIN pg_dist_node t ON t.groupid = p.groupid AND t.noderole = 'primary'
		WHERE p.shardstate = 3		-- arriving
	),
	moves AS MATERIALIZED (
		SELECT * FROM tasks
		UNION ALL
		SELECT NULL, a.shards[1], a.source_nodeid, a.target_nodeid, 0, 'running' FROM (SELECT DISTINCT * FROM arriving) a
		WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.shardid = ANY (a.shards) AND t.status IN ('running', 'cancelling'))
	),
	nodes AS MATERIALIZED (
		SELECT c.nodeid, c.result::jsonb AS copies FROM run_command_on_all_nodes(
			'SELECT pg_catalog.jsonb_build_object(''lsn'', pg_catalog.pg_current_wal_lsn(), ''shards'',
			 	pg_catalog.jsonb_object_agg(c.shardid, pg_catalog.to_jsonb(c)))
			 FROM citus_internal.local_shard_copies() c',
			give_warning_for_connection_errors => true) c
		WHERE c.success AND EXISTS (SELECT FROM moves)
	),
	copies AS (
		SELECT m.*, s.shardid AS copied, s.logicalrelid,
			(o.copies->'shards'->s.shardid::text->>'size')::bigint AS source_size,
			(n.copies->'shards'->s.shardid::text->>'size')::bigint AS target_size,
			(o.copies->>'lsn')::pg_lsn AS source_lsn,
			(n.copies->'shards'->s.shardid::text->>'lsn')::pg_lsn AS target_lsn,
			n.copies->'shards'->s.shardid::text->>'phase' AS phase,
			(o.copies->'shards'->s.shardid::text->>'since')::timestamptz AS since
		FROM moves m
		JOIN pg_dist_shard s ON s.shardid = ANY (get_colocated_shard_array(m.shardid))
		LEFT JOIN nodes o ON o.nodeid = m.source_nodeid
		LEFT JOIN nodes n ON n.nodeid = m.target_nodeid
	)
	SELECT c.pid, c.logicalrelid::regclass, c.copied, coalesce(c.source_size, c.target_size), d.nodename, d.nodeport,
		t.nodename, t.nodeport,
		CASE WHEN c.status = 'done' THEN 2 WHEN c.status IN ('running', 'cancelling') THEN 1 ELSE 0 END,
		coalesce(c.source_size, 0), coalesce(c.target_size, 0),
		CASE WHEN c.target_nodeid IS NULL THEN 'split' ELSE 'move' END,
		CASE WHEN c.phase IS NOT NULL THEN c.source_lsn END, c.target_lsn,
		CASE
			WHEN c.status = 'done' THEN 'Completed'
			WHEN c.status = 'error' THEN 'Failed'
			WHEN c.status IN ('cancelling', 'cancelled', 'unscheduled') THEN 'Cancelled'
			WHEN c.status <> 'running' THEN 'Not Started Yet'
			WHEN c.phase IS NOT NULL THEN 'Catching Up'
			WHEN c.target_size IS NOT NULL THEN 'Copying Data'
			ELSE 'Setting Up'
		END,
		c.since
	FROM copies c
	LEFT JOIN pg_dist_node d ON d.nodeid = c.source_nodeid
	LEFT JOIN pg_dist_node t ON t.nodeid = c.target_nodeid
	ORDER BY c.task_id, c.copied
$$;
COMMENT ON FUNCTION citus_internal.shard_moves() IS 'what get_rebalance_progress() tells, and since when a shard moves';

CREATE FUNCTION pg_catalog.get_rebalance_progress()
	RETURNS TABLE (sessionid integer, table_name regclass, shardid bigint, shard_size bigint, sourcename text,
		sourceport integer, targetname text, targetport integer, progress bigint, source_shard_size bigint,
		target_shard_size bigint, operation_type text, source_lsn pg_lsn, target_lsn pg_lsn, status text)
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
	SELECT sessionid, table_name, shardid, shard_size, sourcename, sourceport, targetname, targetport, progress,
		source_shard_size, target_shard_size, operation_type, source_lsn, target_lsn, status
	FROM citus_internal.shard_moves()
$$;
COMMENT ON FUNCTION pg_catalog.get_rebalance_progress() IS
	'the shards that the running rebalance moves, and others that are being moved (sessionid 0): how much of them has arrived';

-- The copy of a shard group is taken to go on as fast as until now.
CREATE VIEW citus.citus_move_progress AS
	SELECT shardid, tables, source, target, status, pg_catalog.pg_size_pretty(bytes) AS size,
		pg_catalog.pg_size_pretty(moved) AS moved, pg_catalog.round(100 * moved / nullif(bytes, 0))::integer AS percent,
		pg_catalog.pg_size_pretty(behind) AS behind, pg_catalog.date_trunc('second', elapsed) AS elapsed,
		CASE WHEN moved > 0 THEN pg_catalog.date_trunc('second', elapsed * ((bytes - moved) / moved)::float8) END AS time_left
	FROM (
		SELECT pg_catalog.min(shardid) AS shardid, pg_catalog.string_agg(table_name::text, ', ' ORDER BY shardid) AS tables,
			sourcename || ':' || sourceport AS source, targetname || ':' || targetport AS target,
			pg_catalog.min(status) AS status, pg_catalog.sum(shard_size) AS bytes,
			pg_catalog.sum(least(target_shard_size, shard_size)) AS moved,
			pg_catalog.max(pg_catalog.pg_wal_lsn_diff(source_lsn, target_lsn)) AS behind,
			pg_catalog.clock_timestamp() - pg_catalog.min(since) AS elapsed
		FROM citus_internal.shard_moves()
		WHERE progress = 1 AND operation_type = 'move'
		GROUP BY since, sourcename, sourceport, targetname, targetport
	) move;
COMMENT ON VIEW citus.citus_move_progress IS
	'the shard groups that are being moved: how much has arrived, how far changes are behind, and how long the rest may take';
ALTER VIEW citus.citus_move_progress SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_move_progress TO public;

-- A shard that is being moved counts as far as its copy has grown; the rest is taken to go on as fast as what is done.
CREATE VIEW citus.citus_rebalance_progress AS
	SELECT job_id, state, moves, moves_done,
		pg_catalog.pg_size_pretty(bytes) AS size, pg_catalog.pg_size_pretty(moved) AS moved,
		pg_catalog.round(100 * moved / nullif(bytes, 0))::integer AS percent,
		pg_catalog.date_trunc('second', elapsed) AS elapsed,
		CASE WHEN moved > 0 THEN pg_catalog.date_trunc('second', elapsed * ((bytes - moved) / moved)::float8) END AS time_left
	FROM (
		SELECT j.job_id, j.state, pg_catalog.clock_timestamp() - j.started_at AS elapsed, m.moves, m.moves_done, s.bytes, s.moved
		FROM pg_catalog.pg_dist_background_job j,
		LATERAL (
			SELECT pg_catalog.count(*) AS moves, pg_catalog.count(*) FILTER (WHERE t.status = 'done') AS moves_done
			FROM pg_catalog.pg_dist_rebalance_history h
			JOIN pg_catalog.pg_dist_background_task t ON t.task_id = h.task_id
			WHERE h.job_id = j.job_id AND h.shardid IS NOT NULL
		) m,
		LATERAL (
			SELECT pg_catalog.sum(p.shard_size) AS bytes, pg_catalog.sum(CASE p.progress
				WHEN 2 THEN p.shard_size WHEN 1 THEN least(p.target_shard_size, p.shard_size) ELSE 0 END) AS moved
			FROM pg_catalog.get_rebalance_progress() p WHERE p.sessionid IS DISTINCT FROM 0
		) s
		WHERE j.job_type = 'rebalance' AND j.finished_at IS NULL
	) job;
COMMENT ON VIEW citus.citus_rebalance_progress IS 'how far the running rebalance is, and how long the rest may take';
ALTER VIEW citus.citus_rebalance_progress SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_rebalance_progress TO public;

CREATE VIEW citus.citus_rebalance_history AS
	SELECT h.job_id, h.task_id, h.decided_at, h.automatic, t.status, h.table_name, h.shardid,
		h.shard_size, h.sourcename, h.sourceport, h.targetname, h.targetport, h.reason, t.message
	FROM pg_catalog.pg_dist_rebalance_history h
	LEFT JOIN pg_catalog.pg_dist_background_task t ON t.task_id = h.task_id
	ORDER BY h.task_id;
COMMENT ON VIEW citus.citus_rebalance_history IS
	'moves and splits of shards, and removals of nodes, that rebalances have decided, why, and what has become of them';
ALTER VIEW citus.citus_rebalance_history SET SCHEMA pg_catalog;
GRANT SELECT ON pg_catalog.citus_rebalance_history TO public;

-- Copies of shards

CREATE FUNCTION pg_catalog.replicate_reference_tables(shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing record;
BEGIN
	SELECT n.nodename, n.nodeport, s.logicalrelid::regclass AS tab INTO missing
	FROM pg_dist_partition p JOIN pg_dist_shard s ON s.logicalrelid = p.logicalrelid, pg_dist_node n
	WHERE p.repmodel = 't' AND n.noderole = 'primary' AND n.isactive
		AND NOT EXISTS (SELECT FROM pg_dist_placement l WHERE l.shardid = s.shardid AND l.groupid = n.groupid)
	ORDER BY n.nodeid, s.shardid LIMIT 1;
	IF FOUND THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('node %s:%s has no replica of reference table "%s"', missing.nodename, missing.nodeport, missing.tab),
			HINT = 'Give it all tables anew with citus_disable_node and citus_activate_node.';
	END IF;
END
$$;
COMMENT ON FUNCTION pg_catalog.replicate_reference_tables(citus.shard_transfer_mode) IS
	'checks that reference tables are on all nodes; citus_add_node creates them';

CREATE FUNCTION pg_catalog.replicate_table_shards(relation regclass,
	shard_replication_factor integer DEFAULT current_setting('citus.shard_replication_factor')::integer,
	max_shard_copies integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}',
	shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto')
	RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE feature_not_supported USING
		MESSAGE = format('cannot make copies of the shards of table "%s"', relation),
		DETAIL = 'A shard of a distributed table has one placement.',
		HINT = 'To keep a copy of a node, use a standby server.';
END
$$;
COMMENT ON FUNCTION pg_catalog.replicate_table_shards(regclass, integer, integer, bigint[], citus.shard_transfer_mode) IS
	'refused: shards have one placement';
