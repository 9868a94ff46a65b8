-- Settings: unknown names are errors, and those that have no effect say so.

SET citus.no_such_setting = 1;
SELECT set_config('citus.no_such_setting', '1', false);
ALTER ROLE CURRENT_USER SET citus.no_such_setting = 1;
SET citus.shard_replication_factor = 2;
SHOW citus.shard_replication_factor;
RESET citus.shard_replication_factor;
SET citus.shard_replication_factor = 1;
BEGIN;
SET LOCAL citus.multi_shard_modify_mode = 'sequential';
SELECT set_config('citus.log_intermediate_results', 'on', true);
SET LOCAL citus.log_intermediate_results = off;
SET LOCAL citus.count_distinct_error_rate = 0.01;
SET LOCAL citus.metadata_sync_retry_interval = '1min';
SHOW citus.metadata_sync_retry_interval;
COMMIT;
SHOW citus.multi_shard_modify_mode;
SET citus.log_intermediate_results = 'often';

\set VERBOSITY sqlstate
SET citus.no_such_setting = 1;
\set VERBOSITY default

-- of other extensions, and of applications
SET myapp.who = 'x';
SHOW myapp.who;
