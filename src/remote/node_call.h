/*-------------------------------------------------------------------------
 *
 * node_call.h
 *	  Calls of our own functions on other nodes, as texts.
 *
 * Functions with arguments that nodes call are described here once, by their
 * argument types; regress/node_calls compares that with the catalog.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_NODE_CALL_H
#define CITUS_REMOTE_NODE_CALL_H

#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/pg_list.h"

#define NODE_FUNCTIONS(F) \
	F(add_placement_metadata, INT8OID, INT8OID, INT4OID, INT8OID) \
	F(add_shard_constraint, REGCLASSOID, TEXTOID, BOOLOID) \
	F(adopt_sequence, REGCLASSOID, INT8OID, BOOLOID) \
	F(advance_clock, INT8OID) \
	F(become_copy, JSONBOID, TEXTOID, TEXTOID, TEXTOID) \
	F(become_promoted_clone, INT4OID) \
	F(cancel_deadlock_victim, INT4OID, INT8OID, TEXTOID) \
	F(clone_begin, INT4OID, TEXTOID) \
	F(complete_shard_copies, INT4OID, INT4OID, INT4OID, INT8OID) \
	F(connection_problems, TEXTOID, INT4OID, BOOLOID) \
	F(create_if_missing, TEXTOID, TEXTOID, TEXTOID, TEXTARRAYOID) \
	F(create_local_shard_keys, REGCLASSOID) \
	F(create_local_shards, REGCLASSOID) \
	F(delete_colocation_metadata, INT4OID) \
	F(drop_shard_copy, TEXTOID) \
	F(exchange_create, TEXTOID) \
	F(exchange_drop, TEXTOID) \
	F(exchange_receive, TEXTOID, TEXTOID, BYTEAOID) \
	F(gateway_cancel, INT4OID, INT4OID) \
	F(gateway_query_route, TEXTOID) \
	F(gateway_route, TEXTOID) \
	F(global_index_attach, REGCLASSOID, REGCLASSOID) \
	F(global_key_attach, REGCLASSOID, TEXTOID) \
	F(index_shard_copies, INT4OID, INT4OID, INT4OID, INT8OID) \
	F(keep_reference_table, REGCLASSOID) \
	F(local_shard_numbers, BOOLOID, TEXTOID, TEXTOID) \
	F(local_shard_sizes, REGCLASSOID) \
	F(lock_group_placements, INT4OID) \
	F(lock_node_address, INT4OID) \
	F(lock_node_set, INT4OID) \
	F(lock_object_names, OIDARRAYOID) \
	F(lock_reference_table, REGCLASSOID, BOOLOID, BOOLOID) \
	F(lock_row, REGCLASSOID, INT8OID, TIDOID, XIDOID, BOOLOID) \
	F(make_shard_copies, INT4OID, INT4OID, INT4OID, INT8OID) \
	F(move_begin, INT8OID, INT4OID, TEXTOID) \
	F(move_copy, TEXTOID) \
	F(move_flush, TEXTOID) \
	F(move_launch, TEXTOID) \
	F(move_subscribe, INT4OID, INT4OID, INT4OID, INT8OID, TEXTOID, INT4OID, TEXTOID, TEXTOID, NAMEOID, NAMEOID) \
	F(next_id, REGCLASSOID) \
	F(notify, TEXTARRAYOID) \
	F(put_node_password, NAMEOID, TEXTOID) \
	F(record_distributed_function, REGPROCEDUREOID, INT4OID, INT4OID, CHAROID) \
	F(record_distributed_schema, REGNAMESPACEOID, INT4OID) \
	F(record_tenant_limits, INT4OID, TEXTOID, INT4OID, FLOAT8OID) \
	F(require_trigger_function, TEXTOID) \
	F(reshape_begin, INT8OID, INT4OID, INT4OID, INT4ARRAYOID, INT4ARRAYOID) \
	F(run_commands, TEXTARRAYOID) \
	F(set_column_statistics, REGCLASSOID, TEXTOID, FLOAT4OID, INT4OID, FLOAT4OID, INT2ARRAYOID, TEXTARRAYOID, TEXTARRAYOID) \
	F(set_index_valid, REGCLASSOID, BOOLOID) \
	F(set_missing_value, REGCLASSOID, TEXTOID, TEXTOID) \
	F(set_relation_sizes, REGCLASSOID, INT8OID, FLOAT8OID) \
	F(snapshot_set, INT8OID) \
	F(split_large_shard, INT8OID) \
	F(take_sequence_values, REGCLASSOID, INT4OID) \
	F(task_plan, INT4OID, INT4OID, INT4OID, INT4OID) \
	F(task_user, TEXTOID, INT4OID, TEXTOID) \
	F(trait_differences, JSONBOID, JSONBOID, BOOLOID) \
	F(update_table_colocation, REGCLASSOID, INT4OID)

#define NODE_FUNCTION_ID(name, ...) NODE_##name,
typedef enum NodeFunction
{
	NODE_FUNCTIONS(NODE_FUNCTION_ID)
} NodeFunction;

/* An argument, as an expression of SQL. */
typedef struct NodeArgument
{
	Oid			type;			/* UNKNOWNOID: a literal that the function's
								 * type reads */
	char	   *sql;
} NodeArgument;

/* A literal of any type but numbers and booleans; NULL: null. */
extern NodeArgument node_text(const char *value);
extern NodeArgument node_int(int32 value);
extern NodeArgument node_bigint(int64 value);
extern NodeArgument node_float(double value);
extern NodeArgument node_bool(bool value);
extern NodeArgument node_real(float4 value);

/* $number, where the call is sent with parameters of these types. */
extern NodeArgument node_parameter(Oid type, int number);

/* Lists of char * (NULL: null), of integers, of oids. */
extern NodeArgument node_texts(const List *values);
extern NodeArgument node_ints(const List *values);
extern NodeArgument node_smallints(const List *values);
extern NodeArgument node_oids(const List *values);

/*
 * The call as a statement, or as an expression of one; palloc'd.  Errors if
 * the arguments aren't those of the function.
 */
extern char *node_call_text(const char *prefix, NodeFunction function, const NodeArgument *arguments, int count);

/* The types of a call that has only parameters, for RemoteParams. */
extern Oid *node_types(NodeFunction function);

/* Reads an answer that is an array of at most max numbers; how many it has. */
extern int	node_int64s(const char *text, int64 *values, int max);

#define node_call_with(prefix, function, ...) \
	node_call_text(prefix, function, (const NodeArgument[]) {__VA_ARGS__}, lengthof(((const NodeArgument[]) {__VA_ARGS__})))
#define node_call(...) node_call_with("SELECT ", __VA_ARGS__)
#define node_expression(...) node_call_with("", __VA_ARGS__)

#endif							/* CITUS_REMOTE_NODE_CALL_H */
