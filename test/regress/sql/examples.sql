-- The examples of docs/.

\getenv folder PG_ABS_SRCDIR
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET citus.shard_count = 4;
\set multi_tenant :folder '/../../docs/multi_tenant.sql'
\i :multi_tenant
\set github_events :folder '/../../docs/github_events.sql'
\i :github_events
DROP SCHEMA messaging, github CASCADE;
