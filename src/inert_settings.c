/*-------------------------------------------------------------------------
 *
 * inert_settings.c
 *	  Settings of the Citus SQL interface that have no effect here.
 *
 * Applications and tools set them, so they are accepted, with a warning when
 * the value is not the default.  All other names with the prefix citus are
 * errors, as unknown names without a prefix are in the server.
 *
 * A module that implements a setting removes it from here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "inert_settings.h"

#define PREFIX "citus"

/* Name, default, and why it has no effect */
#define BOOL_SETTINGS(S) \
	S(all_modifications_commutative, false, "Row locks alone order writes.") \
	S(allow_aggregate_worker_combine_on_internal_types, false, "Every aggregate with a combine function is split.") \
	S(allow_modifications_from_workers_to_replicated_tables, true, "Every node writes all tables.") \
	S(allow_nested_distributed_execution, false, "Functions in tasks may run statements of their own.") \
	S(allow_unsafe_constraints, false, "With citus.global_indexes, a unique constraint without the distribution column holds over all shards; else it is refused.") \
	S(enable_binary_protocol, true, "Each column's type decides.") \
	S(enable_cluster_clock, true, "The clock always runs.") \
	S(enable_cost_based_connection_establishment, true, "A transaction may write by one connection to each node, so no mode is needed.") \
	S(enable_create_database_propagation, false, "Objects are created on all nodes at once, databases on each node by itself.") \
	S(enable_deadlock_prevention, true, "Deadlocks over nodes are found and resolved.") \
	S(enable_local_execution, true, "Shards of the node itself are always read and written without a connection.") \
	S(enable_local_fast_path_query_optimization, true, "The planner chooses by cost.") \
	S(enable_local_reference_table_foreign_keys, true, "Local tables need not be in the metadata to have foreign keys to reference tables.") \
	S(enable_non_colocated_router_query_pushdown, true, "The planner chooses by cost.") \
	S(enable_procedure_transaction_skip, false, "A write of one shard commits without a second message anyway.") \
	S(enable_recurring_outer_join_pushdown, true, "The planner chooses by cost.") \
	S(enable_repartitioned_insert_select, true, "The planner chooses by cost.") \
	S(enable_single_hash_repartition_joins, false, "The planner chooses by cost.") \
	S(enable_unique_job_ids, true, "Nothing here has a use for it.") \
	S(enable_unsafe_triggers, false, "Triggers are supported: they run on the initiator.") \
	S(enable_version_checks, true, "citus_add_node refuses other versions.") \
	S(enforce_foreign_key_restrictions, true, "What can't be checked is refused.") \
	S(enforce_object_restrictions_for_local_objects, false, "What can't be checked is refused.") \
	S(explain_distributed_queries, true, "EXPLAIN always shows the plan.") \
	S(force_max_query_parallelization, false, "A transaction may write by one connection to each node, so no mode is needed.") \
	S(function_opens_transaction_block, true, "A transaction on other nodes is opened when one is needed.") \
	S(log_intermediate_results, false, "log_statement on the nodes shows what they are sent.") \
	S(log_multi_join_order, false, "The planner chooses by cost.") \
	S(prevent_incomplete_connection_establishment, true, "A transaction may write by one connection to each node, so no mode is needed.") \
	S(select_opens_transaction_block, true, "A transaction on other nodes is opened when one is needed.") \
	S(skip_constraint_validation, false, "Constraints are always checked.") \
	S(skip_jsonb_validation_in_copy, true, "The node with the shard reads each value, once.") \
	S(subquery_pushdown, true, "The planner chooses by cost.") \
	S(use_citus_managed_tables, false, "Local tables need not be in the metadata to have foreign keys to reference tables.")

/* Name, default, unit, and why */
#define INT_SETTINGS(S) \
	S(copy_switchover_threshold, 4 * 1024 * 1024, GUC_UNIT_BYTE, "citus.copy_buffer_size bounds the memory.") \
	S(limit_clause_row_fetch_count, -1, 0, "ORDER BY .. LIMIT is exact.") \
	S(local_copy_flush_threshold, 512 * 1024, GUC_UNIT_BYTE, "citus.copy_buffer_size bounds the memory.") \
	S(local_shared_pool_size, 0, 0, "Shards of the node itself are always read and written without a connection.") \
	S(max_high_priority_background_processes, 2, 0, "citus.cpu_priority is for one session each.") \
	S(max_matview_size_to_auto_recreate, 1024, GUC_UNIT_MB, "Materialized views are on all nodes.") \
	S(max_rebalancer_logged_ignored_moves, 5, 0, "citus_rebalance_history has the decisions.") \
	S(metadata_sync_retry_interval, 5000, GUC_UNIT_MS, "Metadata change on all nodes in the transaction of the change.") \
	S(remote_copy_flush_threshold, 8 * 1024 * 1024, GUC_UNIT_BYTE, "citus.copy_buffer_size bounds the memory.") \
	S(repartition_join_bucket_count_per_node, 4, 0, "The planner chooses by cost.") \
	S(shard_replication_factor, 1, 0, "A shard has one placement; standbys of the servers keep copies.") \
	S(stat_statements_purge_interval, 10, GUC_UNIT_S, "Statements that ran least make room for others.") \
	S(values_materialization_threshold, 100, 0, "The planner chooses by cost.")

/* Name, default, and why */
#define REAL_SETTINGS(S) \
	S(count_distinct_error_rate, 0, "count(DISTINCT ..) is exact.")

/* The same; also those that are lists of words in Citus */
#define TEXT_SETTINGS(S) \
	S(coordinator_aggregation_strategy, "row-gather", "The planner chooses by cost.") \
	S(create_object_propagation, "immediate", "Objects are created on all nodes at once, databases on each node by itself.") \
	S(enable_manual_metadata_changes_for_user, "", "Nothing here has a use for it.") \
	S(local_table_join_policy, "auto", "The planner chooses by cost.") \
	S(metadata_sync_mode, "transactional", "Metadata change on all nodes in the transaction of the change.") \
	S(multi_shard_modify_mode, "parallel", "A transaction may write by one connection to each node, so no mode is needed.") \
	S(propagate_set_commands, "none", "Settings that change answers always reach the nodes.") \
	S(show_shards_for_app_name_prefixes, "", "Shards are in the schema citus_data.") \
	S(stat_tenants_log_level, "off", "Nothing is logged.") \
	S(superuser, "", "Nothing here has a use for it.") \
	S(task_assignment_policy, "greedy", "A shard has one placement, and a read of a reference table is local.") \
	S(task_executor_type, "adaptive", "There is one executor.")

/* Warns the client that sets it; for configuration files, the server's log. */
static void
warn_inert(const char *name, const char *why, GucSource source)
{
	if (source >= PGC_S_INTERACTIVE || (source == PGC_S_FILE && !IsUnderPostmaster))
		ereport(WARNING,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("parameter \"" PREFIX ".%s\" has no effect", name),
				 errdetail("%s", _(why))));
}

#define BOOL_CODE(name, value, why) \
	static bool inert_##name = value; \
	static bool check_##name(bool *newval, void **extra, GucSource source) \
	{ \
		if (*newval != value) \
			warn_inert(#name, why, source); \
		return true; \
	}
#define INT_CODE(name, value, unit, why) \
	static int	inert_##name = value; \
	static bool check_##name(int *newval, void **extra, GucSource source) \
	{ \
		if (*newval != value) \
			warn_inert(#name, why, source); \
		return true; \
	}
#define REAL_CODE(name, value, why) \
	static double inert_##name = value; \
	static bool check_##name(double *newval, void **extra, GucSource source) \
	{ \
		if (*newval != value) \
			warn_inert(#name, why, source); \
		return true; \
	}
#define TEXT_CODE(name, value, why) \
	static char *inert_##name; \
	static bool check_##name(char **newval, void **extra, GucSource source) \
	{ \
		if (strcmp(*newval, value) != 0) \
			warn_inert(#name, why, source); \
		return true; \
	}

BOOL_SETTINGS(BOOL_CODE)
INT_SETTINGS(INT_CODE)
REAL_SETTINGS(REAL_CODE)
TEXT_SETTINGS(TEXT_CODE)

#define DESCRIPTION "Has no effect."
#define DEFINE_BOOL(name, value, why) \
	DefineCustomBoolVariable(PREFIX "." #name, DESCRIPTION, why, &inert_##name, value, PGC_USERSET, \
							 GUC_NO_SHOW_ALL, check_##name, NULL, NULL);
#define DEFINE_INT(name, value, unit, why) \
	DefineCustomIntVariable(PREFIX "." #name, DESCRIPTION, why, &inert_##name, value, -20, INT_MAX, \
							PGC_USERSET, (unit) | GUC_NO_SHOW_ALL, check_##name, NULL, NULL);
#define DEFINE_REAL(name, value, why) \
	DefineCustomRealVariable(PREFIX "." #name, DESCRIPTION, why, &inert_##name, value, 0, 100, PGC_USERSET, \
							 GUC_NO_SHOW_ALL, check_##name, NULL, NULL);
#define DEFINE_TEXT(name, value, why) \
	DefineCustomStringVariable(PREFIX "." #name, DESCRIPTION, why, &inert_##name, value, PGC_USERSET, \
							   GUC_NO_SHOW_ALL, check_##name, NULL, NULL);

void
inert_settings_init(void)
{
	BOOL_SETTINGS(DEFINE_BOOL)
	INT_SETTINGS(DEFINE_INT)
	REAL_SETTINGS(DEFINE_REAL)
	TEXT_SETTINGS(DEFINE_TEXT)
	MarkGUCPrefixReserved(PREFIX);
}
