-- The names and signatures of the SQL interface that we are compatible with: what is missing or different.

CREATE TEMP TABLE reference (kind text, name text, signature text);
COPY reference FROM stdin;
function	alter_columnar_table_reset	(table_name regclass, chunk_group_row_limit boolean DEFAULT false, stripe_row_limit boolean DEFAULT false, compression boolean DEFAULT false, compression_level boolean DEFAULT false) -> void
function	alter_columnar_table_set	(table_name regclass, chunk_group_row_limit integer DEFAULT NULL::integer, stripe_row_limit integer DEFAULT NULL::integer, compression name DEFAULT NULL::name, compression_level integer DEFAULT NULL::integer) -> void
function	alter_distributed_table	(table_name regclass, distribution_column text DEFAULT NULL::text, shard_count integer DEFAULT NULL::integer, colocate_with text DEFAULT NULL::text, cascade_to_colocated boolean DEFAULT NULL::boolean) -> void
function	alter_old_partitions_set_access_method	(IN parent_table_name regclass, IN older_than timestamp with time zone, IN new_access_method name) -> procedure
function	alter_table_set_access_method	(table_name regclass, access_method text) -> void
function	assign_distributed_transaction_id	(initiator_node_identifier integer, transaction_number bigint, transaction_stamp timestamp with time zone) -> void
function	broadcast_intermediate_result	(result_id text, query text) -> bigint
function	check_distributed_deadlocks	() -> boolean
function	citus_activate_node	(nodename text, nodeport integer) -> integer
function	citus_add_clone_node	(replica_hostname text, replica_port integer, primary_hostname text, primary_port integer) -> integer
function	citus_add_clone_node_with_nodeid	(replica_hostname text, replica_port integer, primary_node_id integer) -> integer
function	citus_add_inactive_node	(nodename text, nodeport integer, groupid integer DEFAULT '-1'::integer, noderole noderole DEFAULT 'primary'::noderole, nodecluster name DEFAULT 'default'::name) -> integer
function	citus_add_local_table_to_metadata	(table_name regclass, cascade_via_foreign_keys boolean DEFAULT false) -> void
function	citus_add_node	(nodename text, nodeport integer, groupid integer DEFAULT '-1'::integer, noderole noderole DEFAULT 'primary'::noderole, nodecluster name DEFAULT 'default'::name) -> integer
function	citus_add_rebalance_strategy	(name name, shard_cost_function regproc, node_capacity_function regproc, shard_allowed_on_node_function regproc, default_threshold real, minimum_threshold real DEFAULT 0, improvement_threshold real DEFAULT 0) -> void
function	citus_add_secondary_node	(nodename text, nodeport integer, primaryname text, primaryport integer, nodecluster name DEFAULT 'default'::name) -> integer
function	citus_backend_gpid	() -> bigint
function	citus_calculate_gpid	(nodeid integer, pid integer) -> bigint
function	citus_check_cluster_node_health	(OUT from_nodename text, OUT from_nodeport integer, OUT to_nodename text, OUT to_nodeport integer, OUT result boolean) -> SETOF record
function	citus_check_connection_to_node	(nodename text, nodeport integer DEFAULT 5432) -> boolean
function	citus_cleanup_orphaned_resources	() -> procedure
function	citus_coordinator_nodeid	() -> integer
function	citus_copy_shard_placement	(shard_id bigint, source_node_id integer, target_node_id integer, transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_copy_shard_placement	(shard_id bigint, source_node_name text, source_node_port integer, target_node_name text, target_node_port integer, transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_cluster_changes_block	(timeout_ms integer DEFAULT 300000) -> boolean
function	citus_cluster_changes_block_status	(OUT state text, OUT worker_pid integer, OUT requestor_pid integer, OUT block_start_time timestamp with time zone, OUT timeout_ms integer, OUT node_count integer, OUT problem text) -> record
function	citus_cluster_changes_unblock	() -> boolean
function	citus_create_restore_point	(name text) -> pg_lsn
function	citus_disable_node	(nodename text, nodeport integer, synchronous boolean DEFAULT false, force boolean DEFAULT false) -> void
function	citus_drain_node	(nodename text, nodeport integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode, rebalance_strategy name DEFAULT NULL::name) -> void
function	citus_finish_citus_upgrade	() -> procedure
function	citus_finish_pg_upgrade	() -> void
function	citus_get_active_worker_nodes	(OUT node_name text, OUT node_port bigint) -> SETOF record
function	citus_get_node_clock	() -> cluster_clock
function	citus_get_transaction_clock	() -> cluster_clock
function	citus_is_clock_after	(clock_one cluster_clock, clock_two cluster_clock) -> boolean
function	citus_is_coordinator	() -> boolean
function	citus_is_primary_node	() -> boolean
function	citus_job_cancel	(jobid bigint) -> void
function	citus_job_list	(OUT job_id bigint, OUT state citus_job_status, OUT job_type name, OUT description text, OUT started_at timestamp with time zone, OUT finished_at timestamp with time zone) -> SETOF record
function	citus_job_status	(job_id bigint, raw boolean DEFAULT false, OUT job_id bigint, OUT state citus_job_status, OUT job_type name, OUT description text, OUT started_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT details jsonb) -> SETOF record
function	citus_job_wait	(jobid bigint, desired_status citus_job_status DEFAULT NULL::citus_job_status) -> void
function	citus_local_disk_space_stats	(OUT available_disk_size bigint, OUT total_disk_size bigint) -> record
function	citus_move_shard_placement	(shard_id bigint, source_node_id integer, target_node_id integer, transfer_mode text) -> void
function	citus_move_shard_placement	(shard_id bigint, source_node_name text, source_node_port integer, target_node_name text, target_node_port integer, transfer_mode text) -> void
function	citus_move_shard_placement	(shard_id bigint, source_node_id integer, target_node_id integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_move_shard_placement	(shard_id bigint, source_node_name text, source_node_port integer, target_node_name text, target_node_port integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_node_capacity_1	(nodeid integer) -> real
function	citus_nodeid_for_gpid	(global_pid bigint) -> integer
function	citus_nodename_for_nodeid	(nodeid integer) -> text
function	citus_nodeport_for_nodeid	(nodeid integer) -> integer
function	citus_pause_node_within_txn	(node_id integer, force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000) -> void
function	citus_pid_for_gpid	(global_pid bigint) -> integer
function	citus_prepare_pg_upgrade	() -> void
function	citus_promote_clone_and_rebalance	(clone_nodeid integer, rebalance_strategy name DEFAULT NULL::name, catchup_timeout_seconds integer DEFAULT 300) -> void
function	citus_rebalance_start	(rebalance_strategy name DEFAULT NULL::name, drain_only boolean DEFAULT false, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode, parallel_transfer_reference_tables boolean DEFAULT false, parallel_transfer_colocated_shards boolean DEFAULT false) -> bigint
function	citus_rebalance_status	(raw boolean DEFAULT false, OUT job_id bigint, OUT state citus_job_status, OUT job_type name, OUT description text, OUT started_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT details jsonb) -> SETOF record
function	citus_rebalance_stop	() -> void
function	citus_rebalance_wait	() -> void
function	citus_relation_size	(logicalrelid regclass) -> bigint
function	citus_remote_connection_stats	(OUT hostname text, OUT port integer, OUT database_name text, OUT connection_count_to_node integer) -> SETOF record
function	citus_remove_clone_node	(nodename text, nodeport integer) -> void
function	citus_remove_clone_node_with_nodeid	(nodeid integer) -> void
function	citus_remove_node	(nodename text, nodeport integer) -> void
function	citus_run_local_command	(command text) -> void
function	citus_schema_distribute	(schemaname regnamespace) -> void
function	citus_schema_move	(schema_id regnamespace, target_node_id integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_schema_move	(schema_id regnamespace, target_node_name text, target_node_port integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_schema_undistribute	(schemaname regnamespace) -> void
function	citus_server_id	() -> uuid
function	citus_set_coordinator_host	(host text, port integer DEFAULT (current_setting('port'::text))::integer, node_role noderole DEFAULT 'primary'::noderole, node_cluster name DEFAULT 'default'::name) -> void
function	citus_set_default_rebalance_strategy	(name text) -> void
function	citus_set_node_property	(nodename text, nodeport integer, property text, value boolean) -> void
function	citus_shard_allowed_on_node_true	(shardid bigint, nodeid integer) -> boolean
function	citus_shard_cost_1	(shardid bigint) -> real
function	citus_shard_cost_by_disk_size	(shardid bigint) -> real
function	citus_shard_sizes	(OUT shard_id integer, OUT size bigint) -> SETOF record
function	citus_split_shard_by_split_points	(shard_id bigint, split_points text[], node_ids integer[], shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	citus_stat_counters	(database_id oid DEFAULT 0, OUT database_id oid, OUT connection_establishment_succeeded bigint, OUT connection_establishment_failed bigint, OUT connection_reused bigint, OUT query_execution_single_shard bigint, OUT query_execution_multi_shard bigint, OUT stats_reset timestamp with time zone) -> SETOF record
function	citus_stat_counters_reset	(database_oid oid DEFAULT 0) -> void
function	citus_stat_tenants	(return_all_tenants boolean DEFAULT false, OUT nodeid integer, OUT colocation_id integer, OUT tenant_attribute text, OUT read_count_in_this_period integer, OUT read_count_in_last_period integer, OUT query_count_in_this_period integer, OUT query_count_in_last_period integer, OUT cpu_usage_in_this_period double precision, OUT cpu_usage_in_last_period double precision, OUT score bigint) -> SETOF record
function	citus_stat_tenants_local	(return_all_tenants boolean DEFAULT false, OUT colocation_id integer, OUT tenant_attribute text, OUT read_count_in_this_period integer, OUT read_count_in_last_period integer, OUT query_count_in_this_period integer, OUT query_count_in_last_period integer, OUT cpu_usage_in_this_period double precision, OUT cpu_usage_in_last_period double precision, OUT score bigint) -> SETOF record
function	citus_stat_tenants_local_reset	() -> void
function	citus_stat_tenants_reset	() -> void
function	citus_table_size	(logicalrelid regclass) -> bigint
function	citus_task_wait	(taskid bigint, desired_status citus_task_status DEFAULT NULL::citus_task_status) -> void
function	citus_total_relation_size	(logicalrelid regclass, fail_on_error boolean DEFAULT true) -> bigint
function	citus_update_node	(node_id integer, new_node_name text, new_node_port integer, force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000) -> void
function	citus_update_shard_statistics	(shard_id bigint) -> bigint
function	citus_update_table_statistics	(relation regclass) -> void
function	citus_validate_rebalance_strategy_functions	(shard_cost_function regproc, node_capacity_function regproc, shard_allowed_on_node_function regproc) -> void
function	citus_version	() -> text
function	cluster_clock_logical	(clock cluster_clock) -> bigint
function	column_name_to_column	(table_name regclass, column_name text) -> text
function	column_to_column_name	(table_name regclass, column_var_text text) -> text
function	create_distributed_function	(function_name regprocedure, distribution_arg_name text DEFAULT NULL::text, colocate_with text DEFAULT 'default'::text, force_delegation boolean DEFAULT NULL::boolean) -> void
function	create_distributed_table	(table_name regclass, distribution_column text, distribution_type citus.distribution_type DEFAULT 'hash'::citus.distribution_type, colocate_with text DEFAULT 'default'::text, shard_count integer DEFAULT NULL::integer) -> void
function	create_distributed_table_concurrently	(table_name regclass, distribution_column text, distribution_type citus.distribution_type DEFAULT 'hash'::citus.distribution_type, colocate_with text DEFAULT 'default'::text, shard_count integer DEFAULT NULL::integer) -> void
function	create_intermediate_result	(result_id text, query text) -> bigint
function	create_reference_table	(table_name regclass) -> void
function	create_time_partitions	(table_name regclass, partition_interval interval, end_at timestamp with time zone, start_from timestamp with time zone DEFAULT now()) -> boolean
function	distributed_tables_colocated	(table1 regclass, table2 regclass) -> boolean
function	drop_old_time_partitions	(IN table_name regclass, IN older_than timestamp with time zone) -> procedure
function	dump_global_wait_edges	(OUT waiting_gpid bigint, OUT waiting_pid integer, OUT waiting_node_id integer, OUT waiting_transaction_num bigint, OUT waiting_transaction_stamp timestamp with time zone, OUT blocking_gpid bigint, OUT blocking_pid integer, OUT blocking_node_id integer, OUT blocking_transaction_num bigint, OUT blocking_transaction_stamp timestamp with time zone, OUT blocking_transaction_waiting boolean) -> SETOF record
function	dump_local_wait_edges	(OUT waiting_gpid bigint, OUT waiting_pid integer, OUT waiting_node_id integer, OUT waiting_transaction_num bigint, OUT waiting_transaction_stamp timestamp with time zone, OUT blocking_gpid bigint, OUT blocking_pid integer, OUT blocking_node_id integer, OUT blocking_transaction_num bigint, OUT blocking_transaction_stamp timestamp with time zone, OUT blocking_transaction_waiting boolean) -> SETOF record
function	fetch_intermediate_results	(result_ids text[], node_name text, node_port integer) -> bigint
function	fix_all_partition_shard_index_names	() -> SETOF regclass
function	fix_partition_shard_index_names	(table_name regclass) -> void
function	fix_pre_citus14_colocation_group_collation_mismatches	() -> void
function	get_all_active_transactions	(OUT datid oid, OUT process_id integer, OUT initiator_node_identifier integer, OUT worker_query boolean, OUT transaction_number bigint, OUT transaction_stamp timestamp with time zone, OUT global_pid bigint) -> SETOF record
function	get_colocated_shard_array	(bigint) -> bigint[]
function	get_colocated_table_array	(regclass) -> regclass[]
function	get_current_transaction_id	(OUT database_id oid, OUT process_id integer, OUT initiator_node_identifier integer, OUT transaction_number bigint, OUT transaction_stamp timestamp with time zone) -> record
function	get_global_active_transactions	(OUT datid oid, OUT process_id integer, OUT initiator_node_identifier integer, OUT worker_query boolean, OUT transaction_number bigint, OUT transaction_stamp timestamp with time zone, OUT global_pid bigint) -> SETOF record
function	get_missing_time_partition_ranges	(table_name regclass, partition_interval interval, to_value timestamp with time zone, from_value timestamp with time zone DEFAULT now()) -> TABLE(partition_name text, range_from_value text, range_to_value text)
function	get_nodeid_for_groupid	(groupid integer) -> integer
function	get_rebalance_progress	() -> TABLE(sessionid integer, table_name regclass, shardid bigint, shard_size bigint, sourcename text, sourceport integer, targetname text, targetport integer, progress bigint, source_shard_size bigint, target_shard_size bigint, operation_type text, source_lsn pg_lsn, target_lsn pg_lsn, status text)
function	get_rebalance_table_shards_plan	(relation regclass DEFAULT NULL::regclass, threshold real DEFAULT NULL::real, max_shard_moves integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}'::bigint[], drain_only boolean DEFAULT false, rebalance_strategy name DEFAULT NULL::name, improvement_threshold real DEFAULT NULL::real) -> TABLE(table_name regclass, shardid bigint, shard_size bigint, sourcename text, sourceport integer, targetname text, targetport integer)
function	get_shard_id_for_distribution_column	(table_name regclass, distribution_value "any" DEFAULT NULL::unknown) -> bigint
function	get_snapshot_based_node_split_plan	(primary_node_name text, primary_node_port integer, replica_node_name text, replica_node_port integer, rebalance_strategy name DEFAULT NULL::name) -> TABLE(table_name regclass, shardid bigint, shard_size bigint, placement_node text)
function	isolate_tenant_to_new_shard	(table_name regclass, tenant_id "any", cascade_option text DEFAULT ''::text, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> bigint
function	lock_relation_if_exists	(table_name text, lock_mode text) -> boolean
function	lock_shard_metadata	(lock_mode integer, shard_id bigint[]) -> void
function	lock_shard_resources	(lock_mode integer, shard_id bigint[]) -> void
function	mark_tables_colocated	(source_table_name regclass, target_table_names regclass[]) -> void
function	master_activate_node	(nodename text, nodeport integer) -> integer
function	master_add_inactive_node	(nodename text, nodeport integer, groupid integer DEFAULT '-1'::integer, noderole noderole DEFAULT 'primary'::noderole, nodecluster name DEFAULT 'default'::name) -> integer
function	master_add_node	(nodename text, nodeport integer, groupid integer DEFAULT '-1'::integer, noderole noderole DEFAULT 'primary'::noderole, nodecluster name DEFAULT 'default'::name) -> integer
function	master_add_secondary_node	(nodename text, nodeport integer, primaryname text, primaryport integer, nodecluster name DEFAULT 'default'::name) -> integer
function	master_copy_shard_placement	(shard_id bigint, source_node_id integer, target_node_id integer, transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	master_copy_shard_placement	(shard_id bigint, source_node_name text, source_node_port integer, target_node_name text, target_node_port integer, transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	master_create_empty_shard	(relation_name text) -> bigint
function	master_disable_node	(nodename text, nodeport integer, synchronous boolean DEFAULT false, force boolean DEFAULT false) -> void
function	master_drain_node	(nodename text, nodeport integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode, rebalance_strategy name DEFAULT NULL::name) -> void
function	master_get_active_worker_nodes	(OUT node_name text, OUT node_port bigint) -> SETOF record
function	master_get_table_ddl_events	(table_name text) -> SETOF text
function	master_move_shard_placement	(shard_id bigint, source_node_id integer, target_node_id integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	master_move_shard_placement	(shard_id bigint, source_node_name text, source_node_port integer, target_node_name text, target_node_port integer, shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	master_remove_node	(nodename text, nodeport integer) -> void
function	master_set_node_property	(nodename text, nodeport integer, property text, value boolean) -> void
function	master_update_node	(node_id integer, new_node_name text, new_node_port integer, force boolean DEFAULT false, lock_cooldown integer DEFAULT 10000) -> void
function	master_update_shard_statistics	(shard_id bigint) -> bigint
function	master_update_table_statistics	(relation regclass) -> void
function	pg_cancel_backend	(global_pid bigint) -> boolean
function	pg_terminate_backend	(global_pid bigint, timeout bigint DEFAULT 0) -> boolean
function	read_intermediate_result	(result_id text, format citus_copy_format DEFAULT 'csv'::citus_copy_format) -> SETOF record
function	read_intermediate_results	(result_ids text[], format citus_copy_format DEFAULT 'csv'::citus_copy_format) -> SETOF record
function	rebalance_table_shards	(relation regclass DEFAULT NULL::regclass, threshold real DEFAULT NULL::real, max_shard_moves integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}'::bigint[], shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode, drain_only boolean DEFAULT false, rebalance_strategy name DEFAULT NULL::name, improvement_threshold real DEFAULT NULL::real) -> void
function	recover_prepared_transactions	() -> integer
function	remove_local_tables_from_metadata	() -> void
function	replicate_reference_tables	(shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	replicate_table_shards	(relation regclass, shard_replication_factor integer DEFAULT (current_setting('citus.shard_replication_factor'::text))::integer, max_shard_copies integer DEFAULT 1000000, excluded_shard_list bigint[] DEFAULT '{}'::bigint[], shard_transfer_mode citus.shard_transfer_mode DEFAULT 'auto'::citus.shard_transfer_mode) -> void
function	run_command_on_all_nodes	(command text, parallel boolean DEFAULT true, give_warning_for_connection_errors boolean DEFAULT false, OUT nodeid integer, OUT success boolean, OUT result text) -> SETOF record
function	run_command_on_colocated_placements	(table_name1 regclass, table_name2 regclass, command text, parallel boolean DEFAULT true, OUT nodename text, OUT nodeport integer, OUT shardid1 bigint, OUT shardid2 bigint, OUT success boolean, OUT result text) -> SETOF record
function	run_command_on_coordinator	(command text, give_warning_for_connection_errors boolean DEFAULT false, OUT nodeid integer, OUT success boolean, OUT result text) -> SETOF record
function	run_command_on_placements	(table_name regclass, command text, parallel boolean DEFAULT true, OUT nodename text, OUT nodeport integer, OUT shardid bigint, OUT success boolean, OUT result text) -> SETOF record
function	run_command_on_shards	(table_name regclass, command text, parallel boolean DEFAULT true, OUT shardid bigint, OUT success boolean, OUT result text) -> SETOF record
function	run_command_on_workers	(command text, parallel boolean DEFAULT true, OUT nodename text, OUT nodeport integer, OUT success boolean, OUT result text) -> SETOF record
function	shard_name	(object_name regclass, shard_id bigint, skip_qualify_public boolean DEFAULT true) -> text
function	start_metadata_sync_to_all_nodes	() -> boolean
function	start_metadata_sync_to_node	(nodename text, nodeport integer) -> void
function	stop_metadata_sync_to_node	(nodename text, nodeport integer, clear_metadata boolean DEFAULT true) -> void
function	time_partition_range	(table_name regclass, OUT lower_bound text, OUT upper_bound text) -> record
function	truncate_local_data_after_distributing_table	(table_name regclass) -> void
function	undistribute_table	(table_name regclass, cascade_via_foreign_keys boolean DEFAULT false) -> void
function	update_distributed_table_colocation	(table_name regclass, colocate_with text) -> void
function	worker_adjust_identity_column_seq_ranges	(table_name regclass) -> void
function	worker_apply_sequence_command	(create_sequence_command text, sequence_type_id regtype DEFAULT 'bigint'::regtype) -> void
function	worker_create_or_replace_object	(statement text) -> boolean
function	worker_create_or_replace_object	(statements text[]) -> boolean
function	worker_hash	(value anyelement) -> integer
function	worker_nextval	(sequence regclass) -> integer
function	worker_partition_query_result	(result_prefix text, query text, partition_column_index integer, partition_method citus.distribution_type, partition_min_values text[], partition_max_values text[], binary_copy boolean, allow_null_partition_column boolean DEFAULT false, generate_empty_results boolean DEFAULT false, OUT partition_index integer, OUT rows_written bigint, OUT bytes_written bigint) -> SETOF record
relation	citus_dist_stat_activity	(global_pid bigint, nodeid integer, is_worker_query boolean, datid oid, datname name, pid integer, leader_pid integer, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port integer, backend_start timestamp with time zone, xact_start timestamp with time zone, query_start timestamp with time zone, state_change timestamp with time zone, wait_event_type text, wait_event text, state text, backend_xid xid, backend_xmin xid, query_id bigint, query text, backend_type text)
relation	citus_lock_waits	(waiting_gpid bigint, blocking_gpid bigint, blocked_statement text, current_statement_in_blocking_process text, waiting_nodeid integer, blocking_nodeid integer)
relation	citus_locks	(global_pid bigint, nodeid integer, locktype text, database oid, relation oid, relation_name text, page integer, tuple smallint, virtualxid text, transactionid xid, classid oid, objid oid, objsubid smallint, virtualtransaction text, pid integer, mode text, granted boolean, fastpath boolean, waitstart timestamp with time zone)
relation	citus_nodes	(nodename text, nodeport integer, role text, active boolean)
relation	citus_schemas	(schema_name regnamespace, colocation_id integer, schema_size text, schema_owner name)
relation	citus_shard_indexes_on_worker	(Schema name, Name name, Type text, Owner name, Table name)
relation	citus_shards	(table_name regclass, shardid bigint, shard_name text, citus_table_type text, colocation_id integer, nodename text, nodeport integer, shard_size bigint)
relation	citus_shards_on_worker	(Schema name, Name name, Type text, Owner name)
relation	citus_stat_activity	(global_pid bigint, nodeid integer, is_worker_query boolean, datid oid, datname name, pid integer, leader_pid integer, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port integer, backend_start timestamp with time zone, xact_start timestamp with time zone, query_start timestamp with time zone, state_change timestamp with time zone, wait_event_type text, wait_event text, state text, backend_xid xid, backend_xmin xid, query_id bigint, query text, backend_type text)
relation	citus_stat_counters	(oid oid, name name, connection_establishment_succeeded bigint, connection_establishment_failed bigint, connection_reused bigint, query_execution_single_shard bigint, query_execution_multi_shard bigint, stats_reset timestamp with time zone)
relation	citus_stat_statements	(queryid bigint, userid oid, dbid oid, query text, executor text, partition_key text, calls bigint)
relation	citus_stat_tenants	(nodeid integer, colocation_id integer, tenant_attribute text, read_count_in_this_period integer, read_count_in_last_period integer, query_count_in_this_period integer, query_count_in_last_period integer, cpu_usage_in_this_period double precision, cpu_usage_in_last_period double precision)
relation	citus_stat_tenants_local	(colocation_id integer, tenant_attribute text, read_count_in_this_period integer, read_count_in_last_period integer, query_count_in_this_period integer, query_count_in_last_period integer, cpu_usage_in_this_period double precision, cpu_usage_in_last_period double precision)
relation	citus_stats	(schemaname name, tablename name, attname name, null_frac real, most_common_vals text[], most_common_freqs real[])
relation	citus_tables	(table_name regclass, citus_table_type text, distribution_column text, colocation_id integer, table_size text, shard_count bigint, table_owner name, access_method name)
relation	pg_dist_authinfo	(nodeid integer, rolename name, authinfo text)
relation	pg_dist_background_job	(job_id bigint, state citus_job_status, job_type name, description text, started_at timestamp with time zone, finished_at timestamp with time zone)
relation	pg_dist_background_task	(job_id bigint, task_id bigint, owner regrole, pid integer, status citus_task_status, command text, retry_count integer, not_before timestamp with time zone, message text, nodes_involved integer[])
relation	pg_dist_background_task_depend	(job_id bigint, task_id bigint, depends_on bigint)
relation	pg_dist_cleanup	(record_id bigint, operation_id bigint, object_type integer, object_name text, node_group_id integer, policy_type integer)
relation	pg_dist_colocation	(colocationid integer, shardcount integer, replicationfactor integer, distributioncolumntype oid, distributioncolumncollation oid)
relation	pg_dist_local_group	(groupid integer)
relation	pg_dist_node	(nodeid integer, groupid integer, nodename text, nodeport integer, noderack text, hasmetadata boolean, isactive boolean, noderole noderole, nodecluster name, metadatasynced boolean, shouldhaveshards boolean, nodeisclone boolean, nodeprimarynodeid integer)
relation	pg_dist_node_metadata	(metadata jsonb)
relation	pg_dist_object	(classid oid, objid oid, objsubid integer, type text, object_names text[], object_args text[], distribution_argument_index integer, colocationid integer, force_delegation boolean)
relation	pg_dist_partition	(logicalrelid regclass, partmethod "char", partkey text, colocationid integer, repmodel "char", autoconverted boolean)
relation	pg_dist_placement	(placementid bigint, shardid bigint, shardstate integer, shardlength bigint, groupid integer)
relation	pg_dist_poolinfo	(nodeid integer, poolinfo text)
relation	pg_dist_rebalance_strategy	(name name, default_strategy boolean, shard_cost_function regproc, node_capacity_function regproc, shard_allowed_on_node_function regproc, default_threshold real, minimum_threshold real, improvement_threshold real)
relation	pg_dist_schema	(schemaid oid, colocationid integer)
relation	pg_dist_shard	(logicalrelid regclass, shardid bigint, shardstorage "char", shardminvalue text, shardmaxvalue text)
relation	pg_dist_shard_placement	(shardid bigint, shardstate integer, shardlength bigint, nodename text, nodeport integer, placementid bigint)
relation	pg_dist_transaction	(groupid integer, gid text, outer_xid xid8)
relation	time_partitions	(parent_table regclass, partition_column name, partition regclass, from_value text, to_value text, access_method name)
relation	pg_dist_shardid_seq	()
relation	pg_dist_placement_placementid_seq	()
relation	pg_dist_node_nodeid_seq	()
relation	pg_dist_groupid_seq	()
relation	pg_dist_colocationid_seq	()
relation	pg_dist_operationid_seq	()
relation	pg_dist_cleanup_recordid_seq	()
relation	pg_dist_clock_logical_seq	()
relation	pg_dist_background_job_job_id_seq	()
relation	pg_dist_background_task_task_id_seq	()
type	citus.distribution_type	-
type	citus.shard_transfer_mode	-
type	citus_copy_format	-
type	noderole	-
type	citus_job_status	-
type	citus_task_status	-
type	cluster_clock	-
type	replication_slot_info	-
type	split_copy_info	-
type	split_shard_info	-
setting	citus.all_modifications_commutative	-
setting	citus.allow_aggregate_worker_combine_on_internal_types	-
setting	citus.allow_modifications_from_workers_to_replicated_tables	-
setting	citus.allow_nested_distributed_execution	-
setting	citus.allow_unsafe_constraints	-
setting	citus.background_task_queue_interval	-
setting	citus.check_available_space_before_move	-
setting	citus.cluster_name	-
setting	citus.coordinator_aggregation_strategy	-
setting	citus.copy_switchover_threshold	-
setting	citus.count_distinct_error_rate	-
setting	citus.cpu_priority	-
setting	citus.cpu_priority_for_logical_replication_senders	-
setting	citus.create_object_propagation	-
setting	citus.defer_shard_delete_interval	-
setting	citus.desired_percent_disk_available_after_move	-
setting	citus.distributed_deadlock_detection_factor	-
setting	citus.enable_alter_role_propagation	-
setting	citus.enable_alter_role_set_propagation	-
setting	citus.enable_binary_protocol	-
setting	citus.enable_change_data_capture	-
setting	citus.enable_cluster_clock	-
setting	citus.enable_cost_based_connection_establishment	-
setting	citus.enable_create_database_propagation	-
setting	citus.enable_create_role_propagation	-
setting	citus.enable_ddl_propagation	-
setting	citus.enable_deadlock_prevention	-
setting	citus.enable_fast_path_router_planner	-
setting	citus.enable_local_execution	-
setting	citus.enable_local_fast_path_query_optimization	-
setting	citus.enable_local_reference_table_foreign_keys	-
setting	citus.enable_manual_changes_to_shards	-
setting	citus.enable_manual_metadata_changes_for_user	-
setting	citus.enable_metadata_sync	-
setting	citus.enable_non_colocated_router_query_pushdown	-
setting	citus.enable_procedure_transaction_skip	-
setting	citus.enable_repartition_joins	-
setting	citus.enable_repartitioned_insert_select	-
setting	citus.enable_router_execution	-
setting	citus.enable_schema_based_sharding	-
setting	citus.enable_single_hash_repartition_joins	-
setting	citus.enable_stat_counters	-
setting	citus.enable_unique_job_ids	-
setting	citus.enable_unsafe_triggers	-
setting	citus.enable_version_checks	-
setting	citus.enforce_foreign_key_restrictions	-
setting	citus.enforce_object_restrictions_for_local_objects	-
setting	citus.executor_slow_start_interval	-
setting	citus.explain_all_tasks	-
setting	citus.explain_analyze_sort_method	-
setting	citus.explain_distributed_queries	-
setting	citus.force_max_query_parallelization	-
setting	citus.function_opens_transaction_block	-
setting	citus.grep_remote_commands	-
setting	citus.limit_clause_row_fetch_count	-
setting	citus.local_copy_flush_threshold	-
setting	citus.local_hostname	-
setting	citus.local_shared_pool_size	-
setting	citus.local_table_join_policy	-
setting	citus.log_distributed_deadlock_detection	-
setting	citus.log_intermediate_results	-
setting	citus.log_local_commands	-
setting	citus.log_multi_join_order	-
setting	citus.log_remote_commands	-
setting	citus.logical_replication_timeout	-
setting	citus.max_adaptive_executor_pool_size	-
setting	citus.max_background_task_executors	-
setting	citus.max_background_task_executors_per_node	-
setting	citus.max_cached_connection_lifetime	-
setting	citus.max_cached_conns_per_worker	-
setting	citus.max_client_connections	-
setting	citus.max_high_priority_background_processes	-
setting	citus.max_intermediate_result_size	-
setting	citus.max_matview_size_to_auto_recreate	-
setting	citus.max_rebalancer_logged_ignored_moves	-
setting	citus.max_shared_pool_size	-
setting	citus.metadata_sync_interval	-
setting	citus.metadata_sync_mode	-
setting	citus.metadata_sync_retry_interval	-
setting	citus.multi_shard_modify_mode	-
setting	citus.multi_task_query_log_level	-
setting	citus.node_connection_timeout	-
setting	citus.node_conninfo	-
setting	citus.override_table_visibility	-
setting	citus.prevent_incomplete_connection_establishment	-
setting	citus.propagate_set_commands	-
setting	citus.rebalancer_by_disk_size_base_cost	-
setting	citus.recover_2pc_interval	-
setting	citus.remote_copy_flush_threshold	-
setting	citus.repartition_join_bucket_count_per_node	-
setting	citus.select_opens_transaction_block	-
setting	citus.shard_count	-
setting	citus.shard_replication_factor	-
setting	citus.show_shards_for_app_name_prefixes	-
setting	citus.skip_constraint_validation	-
setting	citus.skip_jsonb_validation_in_copy	-
setting	citus.sort_returning	-
setting	citus.stat_statements_max	-
setting	citus.stat_statements_purge_interval	-
setting	citus.stat_statements_track	-
setting	citus.stat_tenants_limit	-
setting	citus.stat_tenants_log_level	-
setting	citus.stat_tenants_period	-
setting	citus.stat_tenants_track	-
setting	citus.stat_tenants_untracked_sample_rate	-
setting	citus.subquery_pushdown	-
setting	citus.superuser	-
setting	citus.task_assignment_policy	-
setting	citus.task_executor_type	-
setting	citus.use_citus_managed_tables	-
setting	citus.use_secondary_nodes	-
setting	citus.values_materialization_threshold	-
setting	citus.worker_min_messages	-
setting	citus.writable_standby_coordinator	-
\.

-- What we leave out, and why.
CREATE TEMP TABLE left_out (name text, reason text);
COPY left_out FROM stdin;
start_replication_origin_tracking	nodes call it on each other
stop_replication_origin_tracking	nodes call it on each other
\.

CREATE TEMP VIEW present AS
	WITH member AS (SELECT classid, objid FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'citus'))
	SELECT 'function' AS kind, proname::text AS name,
		format('(%s) -> %s', pg_get_function_arguments(oid), coalesce(pg_get_function_result(oid), 'procedure')) AS signature
	FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND ('pg_proc'::regclass, oid) IN (TABLE member)
	UNION ALL
	SELECT 'relation', relname, format('(%s)', CASE WHEN relkind IN ('r', 'v') THEN
		(SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
		FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) END)
	FROM pg_class c WHERE ('pg_class'::regclass, oid) IN (TABLE member)
	UNION ALL
	SELECT 'type', oid::regtype::text, '-' FROM pg_type WHERE ('pg_type'::regclass, oid) IN (TABLE member);

-- pg_cancel_backend and pg_terminate_backend take double precision, so that calls of the server's own are not ambiguous.
SELECT kind, name, signature FROM reference WHERE kind <> 'setting' EXCEPT SELECT * FROM present ORDER BY 1, 2, 3;
SELECT name FROM reference WHERE kind = 'setting' AND current_setting(name, true) IS NULL ORDER BY name;
SELECT name FROM left_out WHERE name IN (SELECT name FROM present) OR reason IS NULL ORDER BY name;

-- Each function says what it does.
SELECT proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'citus'
	WHERE obj_description(p.oid, 'pg_proc') IS NULL ORDER BY 1;

-- What is refused has SQLSTATE 0A000 and a hint, whatever its arguments.
CREATE FUNCTION pg_temp.refusals(OUT call text, OUT state text, OUT hint text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOR call IN
		SELECT format('SELECT %s(%s)', p.proname, (SELECT string_agg(format('%L::%s', CASE
			WHEN t = 'regclass'::regtype THEN 'pg_class' WHEN t IN ('integer'::regtype, 'bigint'::regtype, 'oid'::regtype) THEN '1'
			WHEN t = 'boolean'::regtype THEN 'true' WHEN t = 'timestamptz'::regtype THEN 'now' WHEN t = 'regtype'::regtype THEN 'int'
			WHEN t::regtype::text ~ '\[\]$' THEN '{1}' WHEN t = 'citus.distribution_type'::regtype THEN 'hash'
			WHEN t = 'citus.shard_transfer_mode'::regtype THEN 'auto' ELSE 'x' END, CASE WHEN t = 'anyelement'::regtype THEN 'text'::regtype ELSE t::regtype END), ', ' ORDER BY n)
			FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)))
		FROM pg_proc p WHERE obj_description(p.oid, 'pg_proc') ~ '^refused' ORDER BY p.oid::regprocedure::text COLLATE "C"
	LOOP
		BEGIN
			EXECUTE call;
			RETURN NEXT;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, hint = PG_EXCEPTION_HINT;
			RETURN NEXT;
		END;
	END LOOP;
END;
$$;
SELECT call, state, hint <> '' AS hint FROM pg_temp.refusals();

-- Clocks.
SELECT citus_get_node_clock() < citus_get_node_clock() AS grows,
	citus_is_clock_after(citus_get_node_clock(), citus_get_node_clock()) AS goes_back;
SELECT clock, cluster_clock_logical(clock) FROM (VALUES ('(2,1)'::cluster_clock), ('(1, 4194303)'), ('(1,0)')) AS c (clock)
	ORDER BY clock;
SELECT '(1,4194304)'::cluster_clock;
SELECT '(-1,0)'::cluster_clock;
SELECT '(1)'::cluster_clock;
CREATE SCHEMA interface;
SET search_path = interface;
CREATE TABLE ticks (id int, clock cluster_clock PRIMARY KEY);
SELECT create_distributed_table('ticks', 'clock');
INSERT INTO ticks SELECT g, citus_get_node_clock() FROM generate_series(1, 20) g;
SELECT count(DISTINCT clock), count(*) FILTER (WHERE b.clock > a.clock) FROM ticks a JOIN ticks b USING (clock);
-- a transaction's clock is later than those of its nodes, and they know of it
BEGIN;
SELECT bool_and(clock < citus_get_transaction_clock()) FROM ticks;
SELECT citus_get_transaction_clock() AS clock \gset
COMMIT;
SELECT success, bool_and(result::boolean) FROM run_command_on_all_nodes(
	format('SELECT citus_get_node_clock() > %L', :'clock')) GROUP BY success;

-- Small functions.
SELECT available_disk_size > 0 AND available_disk_size <= total_disk_size AS disk FROM citus_local_disk_space_stats();
SELECT count(*) FROM ticks;
SELECT count(DISTINCT port), min(connection_count_to_node) > 0, count(DISTINCT database_name) FROM citus_remote_connection_stats()
	WHERE database_name = current_database() AND port IN (SELECT nodeport FROM pg_dist_node WHERE groupid > 0);
ANALYZE ticks;
SELECT tablename, attname, null_frac, most_common_vals FROM citus_stats WHERE schemaname = 'interface' ORDER BY attname;
SELECT citus_run_local_command('CREATE TABLE t (id int); INSERT INTO t VALUES (7)');
SELECT * FROM t;
CREATE SEQUENCE small AS smallint;
SELECT worker_nextval('small');

-- What is counted, in this session only.
SELECT citus_stat_counters_reset();
SET citus.enable_stat_counters = on;
SELECT count(*) FROM ticks;
SELECT count(*) FROM ticks;
SELECT count(*) FROM ticks WHERE clock = '(1,1)';
INSERT INTO ticks VALUES (1, '(1,1)');
SET citus.max_cached_conns_per_worker = 0;
SELECT count(*) FROM ticks;
SELECT count(*) FROM ticks;
INSERT INTO ticks VALUES (2, '(1,2)'), (3, '(1,3)');
SELECT citus_check_connection_to_node('127.0.0.1', 1);
SET citus.enable_stat_counters = off;
SELECT count(*) FROM ticks;
RESET citus.max_cached_conns_per_worker;
SELECT connection_establishment_succeeded + connection_reused > 0 AS used, connection_establishment_failed AS failed, connection_reused > 0 AS reused,
	query_execution_single_shard AS single, query_execution_multi_shard AS multi, stats_reset < now() AS reset
	FROM citus_stat_counters WHERE name = current_database();
SELECT citus_stat_counters_reset(oid) FROM pg_database WHERE datname = current_database();
SELECT query_execution_multi_shard, connection_reused FROM citus_stat_counters JOIN pg_database d USING (oid)
	WHERE datname = current_database();
SELECT count(*) FROM citus_stat_counters(1);
\set SHOW_CONTEXT never
\set VERBOSITY sqlstate
SELECT shardid, nodeid FROM citus_shards JOIN pg_dist_node USING (nodename, nodeport) WHERE table_name = 'ticks'::regclass
	ORDER BY 1 LIMIT 1 \gset
SELECT citus_copy_shard_placement(-1, 1, 2);
SELECT citus_copy_shard_placement(:shardid, -1, :nodeid);
SELECT true FROM (SELECT nodename, nodeport FROM pg_dist_node WHERE nodeid = :nodeid) AS n,
	LATERAL citus_copy_shard_placement(:shardid, nodename, nodeport, 'nowhere', 1);
BEGIN;
SELECT citus_pause_node_within_txn(:nodeid);
SELECT result FROM run_command_on_coordinator('SET lock_timeout = ''100ms'';
	INSERT INTO interface.ticks SELECT g, citus_get_node_clock() FROM generate_series(1, 100) g');
ROLLBACK;
\set VERBOSITY default
SET client_min_messages = error;
CALL citus_finish_citus_upgrade();
RESET client_min_messages;
CALL citus_finish_citus_upgrade();
DROP SCHEMA interface CASCADE;

-- Named notation finds functions by the reference's names, and untyped arguments find one function.
SELECT citus_move_shard_placement(shard_id => 1, source_node_id => -1, target_node_id => -1, shard_transfer_mode => 'auto');
SELECT citus_move_shard_placement(shard_id => 1, source_node_id => -1, target_node_id => -1, transfer_mode => 'auto');
SELECT citus_move_shard_placement(1, 'none', 1, 'none', 1, shard_transfer_mode => 'block_writes');
SELECT citus_move_shard_placement(1, 'none', 1, 'none', 1, transfer_mode => 'block_writes');
SELECT citus_move_shard_placement(1, -1, -1, 'auto'::citus.shard_transfer_mode);
PREPARE move AS SELECT citus_move_shard_placement($1, $2, $3, $4, $5, $6);
EXECUTE move (1, 'none', 1, 'none', 1, 'auto');
PREPARE move_by_id AS SELECT citus_move_shard_placement($1, $2, $3, $4);
EXECUTE move_by_id (1, -1, -1, 'auto');
SELECT * FROM citus_job_status(job_id => -1);
SELECT * FROM citus_job_status(job_id => -1, raw => true);
SET citus.worker_min_messages = off;
SHOW citus.worker_min_messages;
CREATE SCHEMA quiet_nodes; SET search_path = quiet_nodes;
CREATE TABLE quiet (id int);
SELECT create_distributed_table('quiet', 'id');
INSERT INTO quiet VALUES (1), (2);
ALTER TABLE quiet ADD CHECK (id > 1);
DROP SCHEMA quiet_nodes CASCADE;
RESET citus.worker_min_messages;
