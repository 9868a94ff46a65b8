-- Functions that manage nodes, and facts about nodes.

CREATE FUNCTION citus_internal.leave_cluster() RETURNS void
	LANGUAGE plpgsql
	SET search_path = pg_catalog
	SET citus.enable_ddl_propagation = off
AS $$
DECLARE
	tables text;
BEGIN
	LOCK TABLE pg_catalog.pg_dist_node IN EXCLUSIVE MODE;
	SELECT string_agg(c.oid::regclass::text, ', ') INTO tables
	FROM pg_catalog.pg_dist_partition p JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
	WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_depend		-- which keep their rows
		WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = c.oid AND deptype = 'e');

	DELETE FROM pg_catalog.pg_dist_cleanup WHERE object_type = 1;	-- shards' names, which may be others' here later
	DELETE FROM pg_catalog.pg_dist_placement;
	DELETE FROM pg_catalog.pg_dist_shard;
	DELETE FROM pg_catalog.pg_dist_partition;
	DELETE FROM pg_catalog.pg_dist_colocation;
	DELETE FROM pg_catalog.pg_dist_schema;
	DELETE FROM pg_catalog.pg_dist_tenant_limit;
	DELETE FROM pg_catalog.pg_dist_node;
	UPDATE pg_catalog.pg_dist_local_group SET groupid = 0;
	UPDATE pg_catalog.pg_dist_node_metadata SET metadata = metadata - 'cluster_id';
	UPDATE pg_catalog.pg_dist_node_secret SET secret = decode(
		replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
	IF tables IS NOT NULL THEN
		EXECUTE 'DROP TABLE ' || tables || ' CASCADE';
	END IF;
END;
$$;
COMMENT ON FUNCTION citus_internal.leave_cluster() IS
	'makes this node forget the cluster that it is or was in, with its distributed and reference tables';
REVOKE ALL ON FUNCTION citus_internal.leave_cluster() FROM public;

CREATE FUNCTION citus_internal.server_instance()
	RETURNS text LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_server_instance';
COMMENT ON FUNCTION citus_internal.server_instance() IS
	'a random number that this server has made when it started';

CREATE FUNCTION citus_internal.is_copy()
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_is_copy';
COMMENT ON FUNCTION citus_internal.is_copy() IS
	'whether the address of this node in pg_dist_node is not known to lead to this server';
REVOKE ALL ON FUNCTION citus_internal.is_copy() FROM public;

CREATE FUNCTION citus_internal.become_copy(addresses jsonb, former text, cluster text, secret text) RETURNS void
	LANGUAGE plpgsql
	SET search_path = pg_catalog
	SET citus.enable_ddl_propagation = off
AS $$
DECLARE
	coordinator boolean := (SELECT groupid = 0 FROM pg_dist_local_group);
	subscription name;
BEGIN
	LOCK TABLE pg_dist_node IN EXCLUSIVE MODE;
	-- addresses of poolers are those of the original
	DELETE FROM pg_dist_poolinfo;
	DELETE FROM pg_dist_node WHERE NOT addresses ? nodeid::text;
	UPDATE pg_dist_node SET nodename = 'copy ' || nodeid;		-- no address twice meanwhile
	UPDATE pg_dist_node n SET nodename = a.value->>'host', nodeport = (a.value->>'port')::integer
		FROM jsonb_each(addresses) a WHERE a.key = n.nodeid::text;
	UPDATE pg_dist_node_metadata SET metadata = metadata - 'cluster_id' || CASE WHEN coordinator
		THEN jsonb_build_object('server_id', cluster, 'copy_of', former)
		ELSE jsonb_build_object('server_id', gen_random_uuid()::text, 'cluster_id', cluster, 'copy_of', former) END;
	UPDATE pg_dist_node_secret SET secret = decode(become_copy.secret, 'hex');
	UPDATE pg_dist_background_task SET status = 'cancelled', pid = NULL
		WHERE status NOT IN ('done', 'error', 'unscheduled', 'cancelled');
	UPDATE pg_dist_background_job SET state = 'cancelled', finished_at = now()
		WHERE state NOT IN ('finished', 'failed', 'cancelled');
	-- a move's, whose slot is the original's
	FOR subscription IN SELECT subname FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
		WHERE d.datname = current_database() AND subname LIKE 'citus\_shard\_move\_subscription\_%' LOOP
		EXECUTE format('ALTER SUBSCRIPTION %I DISABLE', subscription);
		EXECUTE format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', subscription);
		EXECUTE format('DROP SUBSCRIPTION %I', subscription);
	END LOOP;
END;
$$;
COMMENT ON FUNCTION citus_internal.become_copy(jsonb, text, text, text) IS
	'gives this copy of a node the identity and the addresses of a new cluster';
REVOKE ALL ON FUNCTION citus_internal.become_copy(jsonb, text, text, text) FROM public;

CREATE FUNCTION pg_catalog.citus_separate_copy(addresses jsonb)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_separate_copy';
COMMENT ON FUNCTION pg_catalog.citus_separate_copy(jsonb) IS
	'make a copy of all nodes, such as restored backups, a cluster of its own: {"old host:port": "new host:port", ...}';
REVOKE ALL ON FUNCTION pg_catalog.citus_separate_copy(jsonb) FROM public;

CREATE FUNCTION citus_internal.lock_before_leaving() RETURNS void
	LANGUAGE plpgsql
	SET search_path = pg_catalog
	SET citus.enable_ddl_propagation = off
AS $$
DECLARE
	tables text := (SELECT string_agg(logicalrelid::text, ', ' ORDER BY logicalrelid) FROM pg_catalog.pg_dist_partition);
BEGIN
	IF tables IS NOT NULL THEN
		EXECUTE 'LOCK TABLE ' || tables || ' IN ACCESS EXCLUSIVE MODE';
	END IF;
	LOCK TABLE pg_catalog.pg_dist_node IN EXCLUSIVE MODE;
END;
$$;
COMMENT ON FUNCTION citus_internal.lock_before_leaving() IS
	'locks what leave_cluster() changes on this node';
REVOKE ALL ON FUNCTION citus_internal.lock_before_leaving() FROM public;

CREATE FUNCTION citus_internal.role_commands(known text[]) RETURNS SETOF text
	LANGUAGE sql
	SET search_path = pg_catalog
AS $$
	SELECT command FROM (
		SELECT 1 AS step, oid AS id, format('CREATE ROLE %I WITH %s CONNECTION LIMIT %s%s%s', rolname,
			(SELECT string_agg(CASE WHEN has THEN '' ELSE 'NO' END || attribute, ' ') FROM (VALUES
				(rolsuper, 'SUPERUSER'), (rolinherit, 'INHERIT'), (rolcreaterole, 'CREATEROLE'), (rolcreatedb, 'CREATEDB'),
				(rolcanlogin, 'LOGIN'), (rolreplication, 'REPLICATION'), (rolbypassrls, 'BYPASSRLS')) AS a (has, attribute)),
			rolconnlimit, ' PASSWORD ' || quote_literal(rolpassword), ' VALID UNTIL ' || quote_literal(rolvaliduntil)) AS command
		FROM pg_authid WHERE oid >= 16384 AND rolname <> ALL (known)
		UNION ALL
		SELECT 2, oid, format('COMMENT ON ROLE %I IS %L', rolname, shobj_description(oid, 'pg_authid'))
		FROM pg_authid WHERE oid >= 16384 AND shobj_description(oid, 'pg_authid') IS NOT NULL
		UNION ALL
		SELECT 3, roleid, format('GRANT %s TO %s%s', roleid::regrole, member::regrole,
			CASE WHEN admin_option THEN ' WITH ADMIN OPTION' END)
		FROM pg_auth_members WHERE roleid >= 16384 OR member >= 16384
		UNION ALL
		SELECT 4, setrole, format('ALTER %s SET %I TO %s',
			CASE WHEN setrole = 0 THEN format('DATABASE %I', current_database())
				WHEN setdatabase = 0 THEN format('ROLE %s', setrole::regrole)
				ELSE format('ROLE %s IN DATABASE %I', setrole::regrole, current_database()) END,
			split_part(setting, '=', 1),
			-- what is stored of settings that are lists is quoted already
			CASE WHEN lower(split_part(setting, '=', 1)) IN ('search_path', 'temp_tablespaces', 'local_preload_libraries',
				'session_preload_libraries') THEN substr(setting, strpos(setting, '=') + 1)
				ELSE quote_literal(substr(setting, strpos(setting, '=') + 1)) END)
		FROM pg_db_role_setting, unnest(setconfig) AS setting
		WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
	) AS commands ORDER BY step, id;
$$;
COMMENT ON FUNCTION citus_internal.role_commands(text[]) IS
	'commands that make the roles of this node but those that are known, and give all their settings and memberships';
REVOKE ALL ON FUNCTION citus_internal.role_commands(text[]) FROM public;

CREATE FUNCTION citus_internal.lock_node_address(groupid integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_lock_node_address';
COMMENT ON FUNCTION citus_internal.lock_node_address(integer) IS
	'blocks writers to a node whose address changes, until the end of the transaction';
REVOKE ALL ON FUNCTION citus_internal.lock_node_address(integer) FROM public;

CREATE FUNCTION pg_catalog.citus_set_coordinator_host(host text,
	port integer DEFAULT current_setting('port')::integer,
	node_role noderole DEFAULT 'primary', node_cluster name DEFAULT 'default')
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_set_coordinator_host';
COMMENT ON FUNCTION pg_catalog.citus_set_coordinator_host(text, integer, noderole, name) IS
	'set the address by which other nodes reach the coordinator';
REVOKE ALL ON FUNCTION pg_catalog.citus_set_coordinator_host(text, integer, noderole, name) FROM public;

CREATE FUNCTION pg_catalog.citus_add_node(nodename text, nodeport integer, groupid integer DEFAULT -1,
	noderole noderole DEFAULT 'primary', nodecluster name DEFAULT 'default')
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_add_node';
COMMENT ON FUNCTION pg_catalog.citus_add_node(text, integer, integer, noderole, name) IS
	'add a node to the cluster';
REVOKE ALL ON FUNCTION pg_catalog.citus_add_node(text, integer, integer, noderole, name) FROM public;

CREATE FUNCTION pg_catalog.citus_add_inactive_node(nodename text, nodeport integer, groupid integer DEFAULT -1,
	noderole noderole DEFAULT 'primary', nodecluster name DEFAULT 'default')
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_add_inactive_node';
COMMENT ON FUNCTION pg_catalog.citus_add_inactive_node(text, integer, integer, noderole, name) IS
	'prepare a node: it is added, but not used until citus_activate_node';
REVOKE ALL ON FUNCTION pg_catalog.citus_add_inactive_node(text, integer, integer, noderole, name) FROM public;

CREATE FUNCTION pg_catalog.citus_add_secondary_node(nodename text, nodeport integer, primaryname text,
	primaryport integer, nodecluster name DEFAULT 'default')
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_add_secondary_node';
COMMENT ON FUNCTION pg_catalog.citus_add_secondary_node(text, integer, text, integer, name) IS
	'add a secondary node to the group of a primary node';
REVOKE ALL ON FUNCTION pg_catalog.citus_add_secondary_node(text, integer, text, integer, name) FROM public;

CREATE FUNCTION pg_catalog.citus_activate_node(nodename text, nodeport integer)
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_activate_node';
COMMENT ON FUNCTION pg_catalog.citus_activate_node(text, integer) IS
	'bring an inactive node into the cluster';
REVOKE ALL ON FUNCTION pg_catalog.citus_activate_node(text, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_disable_node(nodename text, nodeport integer, synchronous boolean DEFAULT false,
	force boolean DEFAULT false)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_disable_node';
COMMENT ON FUNCTION pg_catalog.citus_disable_node(text, integer, boolean, boolean) IS
	'take a node out of use, until citus_activate_node; with force also one that holds shards';
REVOKE ALL ON FUNCTION pg_catalog.citus_disable_node(text, integer, boolean, boolean) FROM public;

CREATE FUNCTION pg_catalog.citus_remove_node(nodename text, nodeport integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_remove_node';
COMMENT ON FUNCTION pg_catalog.citus_remove_node(text, integer) IS
	'remove a node that holds no shards from the cluster';
REVOKE ALL ON FUNCTION pg_catalog.citus_remove_node(text, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_update_node(node_id integer, new_node_name text, new_node_port integer,
	force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_update_node';
COMMENT ON FUNCTION pg_catalog.citus_update_node(integer, text, integer, boolean, integer) IS
	'change the address of a node';
REVOKE ALL ON FUNCTION pg_catalog.citus_update_node(integer, text, integer, boolean, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_pause_node_within_txn(node_id integer, force boolean DEFAULT false,
	lock_cooldown integer DEFAULT 10000)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_pause_node_within_txn';
COMMENT ON FUNCTION pg_catalog.citus_pause_node_within_txn(integer, boolean, integer) IS
	'hold writes to a node until the end of the transaction';
REVOKE ALL ON FUNCTION pg_catalog.citus_pause_node_within_txn(integer, boolean, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_set_node_property(nodename text, nodeport integer, property text, value boolean)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_set_node_property';
COMMENT ON FUNCTION pg_catalog.citus_set_node_property(text, integer, text, boolean) IS
	'set a property of a node: shouldhaveshards';
REVOKE ALL ON FUNCTION pg_catalog.citus_set_node_property(text, integer, text, boolean) FROM public;

CREATE FUNCTION pg_catalog.start_metadata_sync_to_all_nodes()
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'start_metadata_sync_to_all_nodes';
COMMENT ON FUNCTION pg_catalog.start_metadata_sync_to_all_nodes() IS
	'send nodes that were down the changes of nodes that they have missed';
REVOKE ALL ON FUNCTION pg_catalog.start_metadata_sync_to_all_nodes() FROM public;

-- Facts

CREATE FUNCTION pg_catalog.citus_version()
	RETURNS text LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_version';
COMMENT ON FUNCTION pg_catalog.citus_version() IS 'version of the extension';

CREATE FUNCTION pg_catalog.citus_server_id()
	RETURNS uuid LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_server_id';
COMMENT ON FUNCTION pg_catalog.citus_server_id() IS 'identity of this server';

CREATE FUNCTION pg_catalog.citus_is_coordinator()
	RETURNS boolean LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_is_coordinator';
COMMENT ON FUNCTION pg_catalog.citus_is_coordinator() IS 'whether this node is the coordinator';

CREATE FUNCTION pg_catalog.citus_is_primary_node()
	RETURNS boolean LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_is_primary_node';
COMMENT ON FUNCTION pg_catalog.citus_is_primary_node() IS 'whether this node is the primary of its group';

CREATE FUNCTION pg_catalog.citus_coordinator_nodeid()
	RETURNS integer LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_coordinator_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_coordinator_nodeid() IS 'node id of the coordinator';

CREATE FUNCTION pg_catalog.citus_nodename_for_nodeid(nodeid integer)
	RETURNS text LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_nodename_for_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_nodename_for_nodeid(integer) IS 'name of a node';

CREATE FUNCTION pg_catalog.citus_nodeport_for_nodeid(nodeid integer)
	RETURNS integer LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'citus_nodeport_for_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_nodeport_for_nodeid(integer) IS 'port of a node';

CREATE FUNCTION pg_catalog.get_nodeid_for_groupid(groupid integer)
	RETURNS integer LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'get_nodeid_for_groupid';
COMMENT ON FUNCTION pg_catalog.get_nodeid_for_groupid(integer) IS 'node id of the primary of a group';

CREATE FUNCTION pg_catalog.citus_get_active_worker_nodes(OUT node_name text, OUT node_port bigint)
	RETURNS SETOF record LANGUAGE C STRICT ROWS 100 AS 'MODULE_PATHNAME', 'citus_get_active_worker_nodes';
COMMENT ON FUNCTION pg_catalog.citus_get_active_worker_nodes() IS 'active nodes other than the coordinator';

CREATE FUNCTION pg_catalog.citus_check_connection_to_node(nodename text, nodeport integer DEFAULT 5432)
	RETURNS boolean LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_check_connection_to_node';
COMMENT ON FUNCTION pg_catalog.citus_check_connection_to_node(text, integer) IS
	'whether this node can connect to another one';

CREATE FUNCTION pg_catalog.citus_check_cluster_node_health(OUT from_nodename text, OUT from_nodeport integer,
	OUT to_nodename text, OUT to_nodeport integer, OUT result boolean)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_check_cluster_node_health';
COMMENT ON FUNCTION pg_catalog.citus_check_cluster_node_health() IS
	'whether each node can connect to each other node; null where the first can''t be asked';

-- After ALTER EXTENSION citus UPDATE, on each node. There is nothing left to change then but to remember it.
CREATE PROCEDURE pg_catalog.citus_finish_citus_upgrade()
	LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
	version text := (SELECT extversion FROM pg_extension WHERE extname = 'citus');
	other record;
BEGIN
	SELECT nodename, nodeport, result INTO other
		FROM run_command_on_all_nodes('SELECT extversion FROM pg_catalog.pg_extension WHERE extname = ''citus''')
		JOIN pg_dist_node USING (nodeid) WHERE result IS DISTINCT FROM version LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'node %:% does not have version % of the extension', other.nodename, other.nodeport, version
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It answers: %s', other.result),
			HINT = 'Run ALTER EXTENSION citus UPDATE on each node.';
	END IF;
	UPDATE pg_dist_node_metadata SET metadata = jsonb_set(metadata, '{last_upgrade_version}', to_jsonb(version))
		WHERE metadata->>'last_upgrade_version' IS DISTINCT FROM version;
	IF NOT FOUND THEN
		RAISE NOTICE 'already at the latest version (%)', version;
	END IF;
END;
$$;
COMMENT ON PROCEDURE pg_catalog.citus_finish_citus_upgrade() IS
	'checks that all nodes have this version of the extension, after it was updated';
REVOKE ALL ON PROCEDURE pg_catalog.citus_finish_citus_upgrade() FROM public;
