-- Schemas and types.

CREATE SCHEMA citus;
COMMENT ON SCHEMA citus IS 'types of the distributed database''s interface';
GRANT USAGE ON SCHEMA citus TO public;

CREATE SCHEMA citus_internal;
COMMENT ON SCHEMA citus_internal IS 'functions that the nodes call on each other';
GRANT USAGE ON SCHEMA citus_internal TO public;

-- Shards carry the owner, the grants and the policies of their table, so that
-- anybody may look into the schema.
CREATE SCHEMA citus_data;
COMMENT ON SCHEMA citus_data IS 'the shards of distributed tables placed on this node';
GRANT USAGE ON SCHEMA citus_data TO public;

CREATE TYPE citus.distribution_type AS ENUM ('hash', 'range', 'append');
COMMENT ON TYPE citus.distribution_type IS 'how the rows of a distributed table are assigned to shards';

CREATE TYPE citus.shard_transfer_mode AS ENUM ('auto', 'force_logical', 'block_writes');
COMMENT ON TYPE citus.shard_transfer_mode IS 'how a shard is copied to another node';

CREATE TYPE pg_catalog.noderole AS ENUM ('primary', 'secondary', 'unavailable');
COMMENT ON TYPE pg_catalog.noderole IS 'the part that a node plays in its group';

CREATE TYPE pg_catalog.citus_copy_format AS ENUM ('csv', 'binary', 'text');

CREATE TYPE pg_catalog.citus_job_status AS ENUM
	('scheduled', 'running', 'finished', 'cancelling', 'cancelled', 'failing', 'failed');

CREATE TYPE pg_catalog.citus_task_status AS ENUM
	('blocked', 'runnable', 'running', 'done', 'cancelling', 'error', 'unscheduled', 'cancelled');
