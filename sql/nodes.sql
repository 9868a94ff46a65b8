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
	IF (SELECT groupid FROM pg_catalog.pg_dist_local_group) = 0 AND EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE groupid <> 0) THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = 'the coordinator can''t leave a cluster that has other nodes',
			HINT = 'Remove these with citus_remove_node, or the cluster''s tables and nodes here with DROP EXTENSION citus CASCADE.';
	END IF;
	SELECT string_agg(c.oid::regclass::text, ', ') INTO tables
	FROM pg_catalog.pg_dist_partition p JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
	WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_depend		-- those of extensions keep their rows; entries go with their index
		WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = c.oid AND objsubid = 0 AND deptype IN ('e', 'i'));

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

CREATE FUNCTION pg_catalog.citus_session_token()
	RETURNS text LANGUAGE plpgsql STRICT SET search_path = pg_catalog
AS $$
BEGIN
	-- without synchronous_commit, what has been committed may not have been flushed
	RETURN (SELECT string_agg(groupid || ':' || place, ',' ORDER BY groupid) FROM citus_internal.rows_of_all_nodes(format($query$
		SELECT groupid, CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
			ELSE pg_catalog.%I() END FROM pg_catalog.pg_dist_local_group $query$,
		CASE current_setting('synchronous_commit') WHEN 'off' THEN 'pg_current_wal_insert_lsn' ELSE 'pg_current_wal_flush_lsn' END))
		AS r(groupid integer, place pg_lsn));
END;
$$;
COMMENT ON FUNCTION pg_catalog.citus_session_token() IS
	'a value for citus.session_token, with which another session sees on standbys all that has been committed before';

CREATE FUNCTION pg_catalog.citus_add_clone_node(replica_hostname text, replica_port integer, primary_hostname text,
	primary_port integer)
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_add_clone_node';
COMMENT ON FUNCTION pg_catalog.citus_add_clone_node(text, integer, text, integer) IS
	'register a streaming standby of a worker, which citus_promote_clone_and_rebalance() makes a node';
REVOKE ALL ON FUNCTION pg_catalog.citus_add_clone_node(text, integer, text, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_add_clone_node_with_nodeid(replica_hostname text, replica_port integer,
	primary_node_id integer)
	RETURNS integer LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_add_clone_node_with_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_add_clone_node_with_nodeid(text, integer, integer) IS
	'register a streaming standby of a worker, which citus_promote_clone_and_rebalance() makes a node';
REVOKE ALL ON FUNCTION pg_catalog.citus_add_clone_node_with_nodeid(text, integer, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_remove_clone_node(nodename text, nodeport integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_remove_clone_node';
COMMENT ON FUNCTION pg_catalog.citus_remove_clone_node(text, integer) IS
	'forget a clone, which stays as it is';
REVOKE ALL ON FUNCTION pg_catalog.citus_remove_clone_node(text, integer) FROM public;

CREATE FUNCTION pg_catalog.citus_remove_clone_node_with_nodeid(nodeid integer)
	RETURNS void LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_remove_clone_node_with_nodeid';
COMMENT ON FUNCTION pg_catalog.citus_remove_clone_node_with_nodeid(integer) IS
	'forget a clone, which stays as it is';
REVOKE ALL ON FUNCTION pg_catalog.citus_remove_clone_node_with_nodeid(integer) FROM public;

CREATE FUNCTION citus_internal.become_promoted_clone(clone integer) RETURNS void
	LANGUAGE plpgsql STRICT
	SET search_path = pg_catalog
	SET citus.enable_ddl_propagation = off
AS $$
DECLARE
	subscription name;
BEGIN
	IF pg_is_in_recovery() OR NOT citus_internal.is_copy()
		OR NOT EXISTS (SELECT FROM pg_dist_node c JOIN pg_dist_node n ON n.nodeid = c.nodeprimarynodeid
			JOIN pg_dist_local_group g ON g.groupid = n.groupid WHERE c.nodeid = clone AND c.nodeisclone) THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = 'this server is not a promoted standby that is registered as a clone';
	END IF;
	LOCK TABLE pg_dist_node IN EXCLUSIVE MODE;
	UPDATE pg_dist_node SET noderole = 'primary', isactive = true, hasmetadata = true, metadatasynced = true,
		shouldhaveshards = true, nodeisclone = false, nodeprimarynodeid = 0 WHERE nodeid = clone;
	UPDATE pg_dist_local_group SET groupid = (SELECT n.groupid FROM pg_dist_node n WHERE n.nodeid = clone);
	UPDATE pg_dist_node_metadata SET metadata = metadata || jsonb_build_object('server_id', gen_random_uuid()::text);
	-- what the primary has still to do
	DELETE FROM pg_dist_cleanup;
	DELETE FROM pg_dist_transaction;
	UPDATE pg_dist_background_task SET status = 'cancelled', pid = NULL
		WHERE status NOT IN ('done', 'error', 'unscheduled', 'cancelled');
	UPDATE pg_dist_background_job SET state = 'cancelled', finished_at = now()
		WHERE state NOT IN ('finished', 'failed', 'cancelled');
	FOR subscription IN SELECT subname FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
		WHERE d.datname = current_database() LOOP
		EXECUTE format('ALTER SUBSCRIPTION %I DISABLE', subscription);
		EXECUTE format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', subscription);
		EXECUTE format('DROP SUBSCRIPTION %I', subscription);
	END LOOP;
END;
$$;
COMMENT ON FUNCTION citus_internal.become_promoted_clone(integer) IS
	'makes this server, a standby that was promoted, a node beside its former primary';
REVOKE ALL ON FUNCTION citus_internal.become_promoted_clone(integer) FROM public;

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

-- What a server's answers depend on, by name: the value that its files and the server itself give, and the one that is set for this database.
-- Spellings that mean the same are made equal.
CREATE FUNCTION citus_internal.answer_traits() RETURNS jsonb
	LANGUAGE sql STABLE
	SET search_path = pg_catalog
AS $$
	WITH own_database AS (
		SELECT d.*, to_jsonb(d) AS attributes FROM pg_database d WHERE datname = current_database()
	), settings AS (
		SELECT s.name, s.vartype, of_database.setting AS for_database,
			coalesce(CASE WHEN s.source IN ('command line', 'environment variable') THEN s.setting END, of_file.setting, s.boot_val) AS setting
		FROM pg_settings s
		LEFT JOIN LATERAL (SELECT f.setting FROM pg_file_settings f WHERE lower(f.name) = lower(s.name) AND f.applied
			ORDER BY f.seqno DESC LIMIT 1) of_file ON true
		LEFT JOIN LATERAL (SELECT substr(c, strpos(c, '=') + 1) AS setting FROM pg_db_role_setting r, unnest(r.setconfig) c
			WHERE r.setrole = 0 AND r.setdatabase IN (0, (SELECT oid FROM own_database)) AND lower(split_part(c, '=', 1)) = lower(s.name)
			ORDER BY r.setdatabase DESC LIMIT 1) of_database ON true
		WHERE s.name IN ('TimeZone', 'timezone_abbreviations', 'DateStyle', 'IntervalStyle', 'extra_float_digits', 'bytea_output',
			'xmlbinary', 'xmloption', 'lc_monetary', 'lc_numeric', 'lc_time', 'default_text_search_config', 'standard_conforming_strings',
			'backslash_quote', 'transform_null_equals', 'array_nulls', 'quote_all_identifiers', 'search_path',
			'default_transaction_isolation', 'gin_fuzzy_search_limit', 'max_identifier_length')
	), traits (name, vartype, value, for_database) AS (
		SELECT name, vartype, setting, for_database FROM settings
		UNION ALL
		SELECT t.name, 'locale', t.value, NULL FROM own_database d, LATERAL (VALUES
			('LC_COLLATE', d.datcollate), ('LC_CTYPE', d.datctype),
			('ICU locale', coalesce(attributes->>'daticulocale', attributes->>'datlocale'))) t (name, value)
		UNION ALL
		SELECT t.name, '', t.value, NULL FROM own_database d, LATERAL (VALUES
			('encoding', pg_encoding_to_char(d.encoding)),
			('locale provider', CASE attributes->>'datlocprovider' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' ELSE 'builtin' END),
			('ICU rules', attributes->>'daticurules'),
			('version of the default collation', pg_database_collation_actual_version(d.oid)),
			('version of ICU', (SELECT pg_collation_actual_version(oid) FROM pg_collation
				WHERE collname = 'und-x-icu' AND collnamespace = 'pg_catalog'::regnamespace)),
			('version of the C library''s collations', (SELECT max(pg_collation_actual_version(oid)) FROM pg_collation
				WHERE collprovider = 'c'))) t (name, value)
	)
	SELECT jsonb_object_agg(t.name, jsonb_build_object('value', plain.value, 'for_database', plain.for_database))
	FROM traits t, LATERAL (SELECT max(same) FILTER (WHERE n = 1), max(same) FILTER (WHERE n = 2)
		FROM unnest(ARRAY[t.value, t.for_database]) WITH ORDINALITY AS given (text, n), LATERAL (SELECT CASE WHEN text IS NULL THEN NULL
			WHEN t.name = 'TimeZone' AND lower(text) IN ('utc', 'etc/utc', 'gmt', 'etc/gmt', 'uct', 'etc/uct', 'zulu', 'etc/zulu', 'universal',
				'etc/universal', 'greenwich', 'etc/greenwich', 'gmt0', 'etc/gmt0') THEN 'UTC'
			WHEN t.vartype = 'bool' THEN CASE WHEN lower(text) IN ('on', 'true', 'yes', 't', 'y', '1') THEN 'on' ELSE 'off' END
			WHEN t.name = 'default_text_search_config' THEN regexp_replace(text, '^pg_catalog\.', '')
			WHEN t.name IN ('DateStyle', 'search_path') THEN lower(replace(text, ' ', ''))
			WHEN t.name IN ('lc_monetary', 'lc_numeric', 'lc_time') AND lower(replace(text, '-', '')) IN ('c.utf8', 'posix') THEN 'C'
			WHEN t.vartype = 'locale' OR t.name LIKE 'lc\_%' THEN regexp_replace(text, '\.utf-?8', '.UTF-8', 'i')
			ELSE text END) AS made (same)) plain (value, for_database);
$$;
COMMENT ON FUNCTION citus_internal.answer_traits() IS
	'properties of this database and server, and settings, that change the answers to statements';
REVOKE ALL ON FUNCTION citus_internal.answer_traits() FROM public;

-- A server that joins gets what is set for the database. Versions of what one of the servers doesn't have need not be the same.
CREATE FUNCTION citus_internal.trait_differences(here jsonb, there jsonb, joins boolean) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT
	SET search_path = pg_catalog
AS $$
	SELECT string_agg(format('%s is %s there, and %s here', name, coalesce(quote_ident(value_there), 'missing'),
		coalesce(quote_ident(value_here), 'missing')), '; ' ORDER BY name COLLATE "C")
	FROM (SELECT key AS name, coalesce(value->>'for_database', value->>'value') AS value_here,
			coalesce(there->key->>'for_database', CASE WHEN joins THEN value->>'for_database' END, there->key->>'value') AS value_there
		FROM jsonb_each(here)) AS traits
	WHERE value_here IS DISTINCT FROM value_there
		AND NOT (name IN ('version of ICU', 'version of the C library''s collations') AND num_nulls(value_here, value_there) > 0);
$$;
COMMENT ON FUNCTION citus_internal.trait_differences(jsonb, jsonb, boolean) IS
	'how the properties of two servers differ, by answer_traits(); null if they don''t';
REVOKE ALL ON FUNCTION citus_internal.trait_differences(jsonb, jsonb, boolean) FROM public;

CREATE FUNCTION pg_catalog.citus_check_cluster_node_health(OUT from_nodename text, OUT from_nodeport integer,
	OUT to_nodename text, OUT to_nodeport integer, OUT result boolean)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_check_cluster_node_health';
COMMENT ON FUNCTION pg_catalog.citus_check_cluster_node_health() IS
	'whether each node can connect to each other node, as all roles, and gives the same answers; null where the first can''t be asked';

CREATE FUNCTION citus_internal.connection_problems(host text, port integer, all_roles boolean, OUT role name, OUT problem text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_connection_problems';
COMMENT ON FUNCTION citus_internal.connection_problems(text, integer, boolean) IS
	'why this node can''t connect to a server: as the caller, or as all roles that need it';

CREATE FUNCTION citus_internal.node_problems(OUT from_nodename text, OUT from_nodeport integer,
	OUT to_nodename text, OUT to_nodeport integer, OUT role name, OUT problem text)
	RETURNS SETOF record LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'citus_internal_node_problems';
COMMENT ON FUNCTION citus_internal.node_problems() IS
	'what keeps nodes from connecting to each other, and in what their answers differ';
REVOKE ALL ON FUNCTION citus_internal.node_problems() FROM public;

CREATE FUNCTION citus_internal.put_node_password(role name, new_password text) RETURNS void
	LANGUAGE plpgsql
	SET search_path = pg_catalog
AS $$
DECLARE
	present CONSTANT text := $re$(^|\s)password\s*=\s*('([^'\\]|\\.)*'|([^\s'\\]|\\.)([^\s\\]|\\.)*)$re$;
	setting CONSTANT text := 'password=''' || replace(replace(new_password, chr(92), repeat(chr(92), 2)), '''', chr(92) || '''') || '''';
BEGIN
	UPDATE pg_dist_authinfo SET authinfo = concat_ws(' ', nullif(btrim(regexp_replace(authinfo, present, ' ', 'g')), ''), setting)
		WHERE rolename = role;
	DELETE FROM pg_dist_authinfo WHERE rolename = role AND authinfo = '';
	IF setting IS NOT NULL THEN
		INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, role, setting) ON CONFLICT DO NOTHING;
	END IF;
END;
$$;
COMMENT ON FUNCTION citus_internal.put_node_password(name, text) IS
	'changes the password in the rows of a role in this node''s pg_dist_authinfo, or makes a row with it';
REVOKE ALL ON FUNCTION citus_internal.put_node_password(name, text) FROM public;

CREATE FUNCTION pg_catalog.citus_set_node_password(rolename name, password text)
	RETURNS void LANGUAGE C AS 'MODULE_PATHNAME', 'citus_set_node_password';
COMMENT ON FUNCTION pg_catalog.citus_set_node_password(name, text) IS
	'set on all nodes the password with which they log in on each other as a role; null removes it';
REVOKE ALL ON FUNCTION pg_catalog.citus_set_node_password(name, text) FROM public;

CREATE VIEW citus.citus_node_problems AS
	SELECT * FROM citus_internal.node_problems();
COMMENT ON VIEW citus.citus_node_problems IS
	'what keeps nodes from connecting to each other, and as which role; in what their answers differ';
ALTER VIEW citus.citus_node_problems SET SCHEMA pg_catalog;
REVOKE ALL ON pg_catalog.citus_node_problems FROM public;

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
