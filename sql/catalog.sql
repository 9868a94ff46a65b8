-- The catalogs pg_dist_*, the same on every node.
--
-- A relation can't be created in pg_catalog, but it can be moved there.

CREATE SEQUENCE citus.pg_dist_shardid_seq MINVALUE 102008 START 102008 NO CYCLE;
CREATE SEQUENCE citus.pg_dist_placement_placementid_seq NO CYCLE;
CREATE SEQUENCE citus.pg_dist_node_nodeid_seq AS integer NO CYCLE;
CREATE SEQUENCE citus.pg_dist_groupid_seq AS integer NO CYCLE;
CREATE SEQUENCE citus.pg_dist_colocationid_seq AS integer NO CYCLE;
CREATE SEQUENCE citus.pg_dist_operationid_seq NO CYCLE;
CREATE SEQUENCE citus.pg_dist_cleanup_recordid_seq NO CYCLE;
CREATE SEQUENCE citus.pg_dist_clock_logical_seq NO CYCLE;
CREATE SEQUENCE citus.pg_dist_background_job_job_id_seq NO CYCLE;
CREATE SEQUENCE citus.pg_dist_background_task_task_id_seq NO CYCLE;

ALTER SEQUENCE citus.pg_dist_shardid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_placement_placementid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_node_nodeid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_groupid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_colocationid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_operationid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_cleanup_recordid_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_clock_logical_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_background_job_job_id_seq SET SCHEMA pg_catalog;
ALTER SEQUENCE citus.pg_dist_background_task_task_id_seq SET SCHEMA pg_catalog;

-- Tables and shards

CREATE TABLE citus.pg_dist_partition (
	logicalrelid regclass NOT NULL,
	partmethod "char" NOT NULL,
	partkey text,
	colocationid integer NOT NULL DEFAULT 0,
	repmodel "char" NOT NULL DEFAULT 'c',
	autoconverted boolean NOT NULL DEFAULT false
) WITH (user_catalog_table = true);		-- for src/decoding, as those below
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON citus.pg_dist_partition (logicalrelid);
CREATE INDEX pg_dist_partition_colocationid_index ON citus.pg_dist_partition (colocationid);
COMMENT ON TABLE citus.pg_dist_partition IS 'distributed and reference tables';

CREATE TABLE citus.pg_dist_shard (
	logicalrelid regclass NOT NULL,
	shardid bigint NOT NULL,
	shardstorage "char" NOT NULL,
	shardminvalue text,
	shardmaxvalue text
) WITH (user_catalog_table = true);
CREATE UNIQUE INDEX pg_dist_shard_shardid_index ON citus.pg_dist_shard (shardid);
CREATE INDEX pg_dist_shard_logical_relid_index ON citus.pg_dist_shard (logicalrelid);
COMMENT ON TABLE citus.pg_dist_shard IS 'shards of tables, with the hash values that they hold';

CREATE TABLE citus.pg_dist_placement (
	placementid bigint NOT NULL DEFAULT nextval('pg_catalog.pg_dist_placement_placementid_seq'::regclass),
	shardid bigint NOT NULL,
	shardstate integer NOT NULL DEFAULT 1,
	shardlength bigint NOT NULL,
	groupid integer NOT NULL
);
CREATE UNIQUE INDEX pg_dist_placement_placementid_index ON citus.pg_dist_placement (placementid);
ALTER TABLE citus.pg_dist_placement
	ADD CONSTRAINT placement_shardid_groupid_unique_index UNIQUE (shardid, groupid);
CREATE INDEX pg_dist_placement_groupid_index ON citus.pg_dist_placement (groupid);
COMMENT ON TABLE citus.pg_dist_placement IS 'node groups that hold a shard';

CREATE TABLE citus.pg_dist_colocation (
	colocationid integer NOT NULL PRIMARY KEY,
	shardcount integer NOT NULL,
	replicationfactor integer NOT NULL,
	distributioncolumntype oid NOT NULL,
	distributioncolumncollation oid NOT NULL
);
CREATE INDEX pg_dist_colocation_configuration_index
	ON citus.pg_dist_colocation (shardcount, replicationfactor, distributioncolumntype, distributioncolumncollation);
COMMENT ON TABLE citus.pg_dist_colocation IS 'groups of tables whose shards lie side by side';

CREATE TABLE citus.pg_dist_schema (
	schemaid oid NOT NULL PRIMARY KEY,
	colocationid integer NOT NULL UNIQUE
);
COMMENT ON TABLE citus.pg_dist_schema IS 'distributed schemas';

CREATE TABLE citus.pg_dist_object (
	classid oid NOT NULL,
	objid oid NOT NULL,
	objsubid integer NOT NULL,
	type text,
	object_names text[],
	object_args text[],
	distribution_argument_index integer,
	colocationid integer,
	force_delegation boolean,
	CONSTRAINT pg_dist_object_pkey PRIMARY KEY (classid, objid, objsubid)
);
COMMENT ON TABLE citus.pg_dist_object IS 'objects other than tables that exist on all nodes';

-- Nodes

CREATE TABLE citus.pg_dist_node (
	nodeid integer NOT NULL DEFAULT nextval('pg_catalog.pg_dist_node_nodeid_seq'::regclass) PRIMARY KEY,
	groupid integer NOT NULL DEFAULT nextval('pg_catalog.pg_dist_groupid_seq'::regclass),
	nodename text NOT NULL,
	nodeport integer NOT NULL DEFAULT 5432,
	noderack text NOT NULL DEFAULT 'default',
	hasmetadata boolean NOT NULL DEFAULT false,
	isactive boolean NOT NULL DEFAULT true,
	noderole pg_catalog.noderole NOT NULL DEFAULT 'primary',
	nodecluster name NOT NULL DEFAULT 'default',
	metadatasynced boolean NOT NULL DEFAULT false,
	shouldhaveshards boolean NOT NULL DEFAULT true,
	nodeisclone boolean NOT NULL DEFAULT false,
	nodeprimarynodeid integer NOT NULL DEFAULT 0,
	CONSTRAINT pg_dist_node_nodename_nodeport_key UNIQUE (nodename, nodeport),
	CONSTRAINT primaries_are_only_allowed_in_the_default_cluster
		CHECK (nodecluster = 'default' OR noderole <> 'primary')
);
COMMENT ON TABLE citus.pg_dist_node IS 'the servers of the cluster';

CREATE TABLE citus.pg_dist_local_group (
	groupid integer NOT NULL PRIMARY KEY
) WITH (user_catalog_table = true);
INSERT INTO citus.pg_dist_local_group VALUES (0);
COMMENT ON TABLE citus.pg_dist_local_group IS 'the group of this node; 0 is the coordinator';

CREATE TABLE citus.pg_dist_node_metadata (
	metadata jsonb NOT NULL
);
INSERT INTO citus.pg_dist_node_metadata
	VALUES (jsonb_build_object('server_id', gen_random_uuid()::text));
COMMENT ON TABLE citus.pg_dist_node_metadata IS 'facts about this server';

CREATE TABLE citus.pg_dist_node_secret (
	secret bytea NOT NULL
);
INSERT INTO citus.pg_dist_node_secret
	SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
REVOKE ALL ON citus.pg_dist_node_secret FROM public;
COMMENT ON TABLE citus.pg_dist_node_secret IS 'what nodes of the cluster prove themselves with to each other';

CREATE TABLE citus.pg_dist_authinfo (
	nodeid integer NOT NULL,
	rolename name NOT NULL,
	authinfo text NOT NULL
);
CREATE UNIQUE INDEX pg_dist_authinfo_identification_index ON citus.pg_dist_authinfo (rolename, nodeid DESC);
REVOKE ALL ON citus.pg_dist_authinfo FROM public;
COMMENT ON TABLE citus.pg_dist_authinfo IS 'secrets for connections to nodes';

CREATE FUNCTION pg_catalog.poolinfo_valid(text)
	RETURNS boolean LANGUAGE C STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'poolinfo_valid';
COMMENT ON FUNCTION pg_catalog.poolinfo_valid(text) IS 'checks a connection string of pg_dist_poolinfo';

CREATE TABLE citus.pg_dist_poolinfo (
	nodeid integer NOT NULL PRIMARY KEY,
	poolinfo text NOT NULL CONSTRAINT poolinfo_valid CHECK (pg_catalog.poolinfo_valid(poolinfo))
);
COMMENT ON TABLE citus.pg_dist_poolinfo IS 'connection poolers in front of nodes';

-- Transactions, moves and background work

CREATE TABLE citus.pg_dist_transaction (
	groupid integer NOT NULL,
	gid text NOT NULL,
	outer_xid xid8
);
COMMENT ON TABLE citus.pg_dist_transaction IS 'two-phase commits that this node has decided';

CREATE TABLE citus.pg_dist_rebalance_strategy (
	name name NOT NULL PRIMARY KEY,
	default_strategy boolean NOT NULL DEFAULT false,
	shard_cost_function regproc NOT NULL,
	node_capacity_function regproc NOT NULL,
	shard_allowed_on_node_function regproc NOT NULL,
	default_threshold float4 NOT NULL,
	minimum_threshold float4 NOT NULL DEFAULT 0,
	improvement_threshold float4 NOT NULL DEFAULT 0
);
COMMENT ON TABLE citus.pg_dist_rebalance_strategy IS 'ways to weigh shards and nodes';

CREATE TABLE citus.pg_dist_background_job (
	job_id bigint NOT NULL DEFAULT nextval('pg_catalog.pg_dist_background_job_job_id_seq'::regclass) PRIMARY KEY,
	state pg_catalog.citus_job_status NOT NULL DEFAULT 'scheduled',
	job_type name NOT NULL,
	description text NOT NULL,
	started_at timestamptz,
	finished_at timestamptz
);
COMMENT ON TABLE citus.pg_dist_background_job IS 'background jobs; on the coordinator';

CREATE TABLE citus.pg_dist_background_task (
	job_id bigint NOT NULL REFERENCES citus.pg_dist_background_job (job_id),
	task_id bigint NOT NULL DEFAULT nextval('pg_catalog.pg_dist_background_task_task_id_seq'::regclass) PRIMARY KEY,
	owner regrole NOT NULL DEFAULT current_user::regrole,
	pid integer,
	status pg_catalog.citus_task_status NOT NULL DEFAULT 'runnable',
	command text NOT NULL,
	retry_count integer,
	not_before timestamptz,
	message text NOT NULL DEFAULT '',
	nodes_involved integer[],
	UNIQUE (job_id, task_id)
);
COMMENT ON TABLE citus.pg_dist_background_task IS 'tasks of background jobs; on the coordinator';
CREATE INDEX pg_dist_background_task_status_task_id_index ON citus.pg_dist_background_task (status, task_id);

CREATE TABLE citus.pg_dist_background_task_depend (
	job_id bigint NOT NULL REFERENCES citus.pg_dist_background_job (job_id) ON DELETE CASCADE,
	task_id bigint NOT NULL,
	depends_on bigint NOT NULL,
	PRIMARY KEY (job_id, task_id, depends_on),
	FOREIGN KEY (job_id, task_id) REFERENCES citus.pg_dist_background_task (job_id, task_id) ON DELETE CASCADE,
	FOREIGN KEY (job_id, depends_on) REFERENCES citus.pg_dist_background_task (job_id, task_id) ON DELETE CASCADE
);
COMMENT ON TABLE citus.pg_dist_background_task_depend IS 'which task of a job waits for which other one; on the coordinator';
CREATE INDEX pg_dist_background_task_depend_task_id ON citus.pg_dist_background_task_depend (job_id, task_id);
CREATE INDEX pg_dist_background_task_depend_depends_on ON citus.pg_dist_background_task_depend (job_id, depends_on);

CREATE TABLE citus.pg_dist_cleanup (
	record_id bigint NOT NULL DEFAULT nextval('pg_catalog.pg_dist_cleanup_recordid_seq'::regclass) PRIMARY KEY,
	operation_id bigint NOT NULL,
	object_type integer NOT NULL,
	object_name text NOT NULL,
	node_group_id integer NOT NULL,
	policy_type integer NOT NULL
);
COMMENT ON TABLE citus.pg_dist_cleanup IS 'what moves and splits of shards have still to remove';

-- A publication FOR ALL TABLES has these tables, too; the server lets no table of it be updated that has neither a primary key
-- nor this. (Rows of pg_dist_transaction are deleted by functions that don't ask.)

ALTER TABLE citus.pg_dist_partition REPLICA IDENTITY USING INDEX pg_dist_partition_logical_relid_index;
ALTER TABLE citus.pg_dist_shard REPLICA IDENTITY USING INDEX pg_dist_shard_shardid_index;
ALTER TABLE citus.pg_dist_placement REPLICA IDENTITY USING INDEX pg_dist_placement_placementid_index;
ALTER TABLE citus.pg_dist_authinfo REPLICA IDENTITY USING INDEX pg_dist_authinfo_identification_index;
ALTER TABLE citus.pg_dist_node_metadata REPLICA IDENTITY FULL;
ALTER TABLE citus.pg_dist_node_secret REPLICA IDENTITY FULL;

-- Into pg_catalog, readable by all

CREATE TABLE citus.pg_dist_tenant_limit (
	colocationid integer NOT NULL,
	tenant_attribute text NOT NULL,
	max_concurrent integer,
	max_cpu_share double precision,
	PRIMARY KEY (colocationid, tenant_attribute)
);
COMMENT ON TABLE citus.pg_dist_tenant_limit IS 'what tenants may use at most; an empty attribute is all of a colocation group';

ALTER TABLE citus.pg_dist_partition SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_shard SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_placement SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_colocation SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_schema SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_object SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_node SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_local_group SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_node_metadata SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_node_secret SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_authinfo SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_poolinfo SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_transaction SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_rebalance_strategy SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_background_job SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_background_task SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_background_task_depend SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_cleanup SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_tenant_limit SET SCHEMA pg_catalog;

GRANT SELECT ON
	pg_catalog.pg_dist_partition, pg_catalog.pg_dist_shard, pg_catalog.pg_dist_placement,
	pg_catalog.pg_dist_colocation, pg_catalog.pg_dist_schema, pg_catalog.pg_dist_object,
	pg_catalog.pg_dist_node, pg_catalog.pg_dist_local_group, pg_catalog.pg_dist_node_metadata,
	pg_catalog.pg_dist_transaction, pg_catalog.pg_dist_rebalance_strategy,
	pg_catalog.pg_dist_background_job, pg_catalog.pg_dist_background_task,
	pg_catalog.pg_dist_background_task_depend, pg_catalog.pg_dist_cleanup
	TO public;
