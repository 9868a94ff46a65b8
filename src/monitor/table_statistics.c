/*-------------------------------------------------------------------------
 *
 * table_statistics.c
 *	  The server's functions for sizes and statistics, of logical tables.
 *
 * A logical table, its indexes and its TOAST table are empty: the rows are in
 * the shards.  So functions of ours stand for the server's in all statements
 * (planner/replaced_function.c).  Of a distributed table or a partition, they
 * return the sum over its shards on all nodes; of all other relations, among
 * them shards and reference tables, what the server's return.
 *
 * A statement asks each node a few times at most: it keeps the answers of the
 * nodes until it ends (NumbersCache).  The first tables that it needs are
 * asked for one by one, then all of the database at once.  Nodes leave tables
 * that others have locked out of such an answer, so that a statement waits for
 * locks of those tables only that it names.
 *
 * If a node with some of a table's shards can't be reached, the result is
 * NULL, with a warning: a smaller number would look right.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "cluster/node_query.h"
#include "compat/sql_function.h"
#include "executor/executor_start.h"
#include "monitor/shard_numbers.h"
#include "monitor/table_statistics.h"
#include "planner/replaced_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"

SQL_FUNCTION(citus_internal_pg_relation_size);
SQL_FUNCTION(citus_internal_pg_table_size);
SQL_FUNCTION(citus_internal_pg_indexes_size);
SQL_FUNCTION(citus_internal_pg_total_relation_size);
SQL_FUNCTION(citus_internal_relation_statistic);

/*
 * So many tables of a statement are asked for one by one, each in about a
 * round trip to its nodes, before all are.
 */
#define TABLES_ONE_BY_ONE 8

/* A relation of a logical table, or one that isn't. */
typedef struct RelationNumbers
{
	Oid			relid;			/* hash key */
	Oid			table;			/* InvalidOid: the server's functions are
								 * right */
	int64		numbers[NUMBERS_MAX];	/* of all of its shards */
} RelationNumbers;

typedef struct TableState
{
	Oid			relid;			/* hash key */
	int			shards;			/* how many the nodes have told of */
	bool		known;			/* these are all */
	bool		lost;			/* a node with one of them can't be reached */
} TableState;

/* What the nodes have answered to the statement that runs. */
typedef struct NumbersCache
{
	NumbersKind kind;
	MemoryContext parent;		/* that of the statement */
	MemoryContext context;		/* child of it */
	MemoryContextCallback callback;
	uint64		statements;		/* started in this session so far: code
								 * outside of a statement, such as an
								 * expression of PL/pgSQL, has a context for
								 * longer */
	bool		broken;			/* an error has interrupted an answer */
	HTAB	   *relations;		/* of RelationNumbers */
	HTAB	   *tables;			/* of TableState */
	List	   *lost_groups;	/* of nodes that can't be reached */
	int			asked;			/* number of tables that were asked for */
	bool		asked_all;
} NumbersCache;

/* By kind. */
static NumbersCache *numbers_caches[] = {NULL, NULL};

static bool sum_over_shards = true;

/* A MemoryContextCallback. */
static void
forget_numbers(void *cache)
{
	for (int kind = 0; kind < lengthof(numbers_caches); kind++)
		if (numbers_caches[kind] == cache)
			numbers_caches[kind] = NULL;
}

static NumbersCache *
make_numbers_cache(NumbersKind kind, MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "citus numbers of tables", ALLOCSET_DEFAULT_SIZES);
	NumbersCache *cache = MemoryContextAllocZero(context, sizeof(NumbersCache));
	HASHCTL		relations = {.keysize = sizeof(Oid), .entrysize = sizeof(RelationNumbers), .hcxt = context};
	HASHCTL		tables = {.keysize = sizeof(Oid), .entrysize = sizeof(TableState), .hcxt = context};

	cache->kind = kind;
	cache->parent = parent;
	cache->context = context;
	cache->relations = hash_create("citus numbers of relations", 64, &relations, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	cache->tables = hash_create("citus tables with numbers", 64, &tables, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	cache->callback.func = forget_numbers;
	cache->callback.arg = cache;
	MemoryContextRegisterResetCallback(context, &cache->callback);
	return cache;
}

/* The cache of the statement with a function's call. */
static NumbersCache *
cache_of_call(NumbersKind kind, FunctionCallInfo fcinfo)
{
	NumbersCache *cache = numbers_caches[kind];

	if (cache != NULL && cache->parent == fcinfo->flinfo->fn_mcxt)
	{
		if (!cache->broken && cache->statements == executor_statements)
			return cache;
		MemoryContextDelete(cache->context);
	}
	numbers_caches[kind] = make_numbers_cache(kind, fcinfo->flinfo->fn_mcxt);
	return numbers_caches[kind];
}

/* The table of a TOAST table, or InvalidOid. */
static Oid
table_of_toast(Oid toast)
{
	const char *name = get_rel_name(toast);
	Oid			relid;

	if (name == NULL || get_rel_namespace(toast) != PG_TOAST_NAMESPACE || sscanf(name, "pg_toast_%u", &relid) != 1)
		return InvalidOid;
	return relation_toast(relid) == toast ? relid : InvalidOid;
}

/*
 * The table with shards that a relation is, or belongs to; else InvalidOid.
 */
static Oid
table_with_shards(Oid relid)
{
	char		relkind = relid < FirstNormalObjectId ? '\0' : get_rel_relkind(relid);
	const DistTable *table;

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
	{
		relid = IndexGetRelation(relid, true);
		relkind = get_rel_relkind(relid);
	}
	if (relkind == RELKIND_TOASTVALUE)
	{
		relid = table_of_toast(relid);
		relkind = get_rel_relkind(relid);
	}
	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
		return InvalidOid;
	table = metadata_find(relid);
	return table != NULL && table->damage == NULL && table->kind != DIST_REFERENCE ? relid : InvalidOid;
}

static RelationNumbers *
enter_relation(NumbersCache *cache, Oid relid, Oid table)
{
	bool		found;
	RelationNumbers *entry = hash_search(cache->relations, &relid, HASH_ENTER, &found);

	if (!found)
	{
		entry->table = table;
		numbers_clear(cache->kind, entry->numbers);
	}
	return entry;
}

static TableState *
enter_table(NumbersCache *cache, Oid relid)
{
	bool		found;
	TableState *state = hash_search(cache->tables, &relid, HASH_ENTER, &found);

	if (!found)
	{
		state->shards = 0;
		state->known = state->lost = false;
	}
	return state;
}

/* The Oid here of a part of a table. */
static Oid
part_here(Oid table, const char *part)
{
	if (strcmp(part, PART_TABLE) == 0)
		return table;
	if (strcmp(part, PART_TOAST) == 0)
		return relation_toast(table);
	if (strcmp(part, PART_TOAST_INDEX) == 0)
		return relation_toast_index(table);
	if (strncmp(part, PART_INDEX_PREFIX, strlen(PART_INDEX_PREFIX)) == 0)
		return get_relname_relid(part + strlen(PART_INDEX_PREFIX), get_rel_namespace(table));
	return InvalidOid;
}

/* NodeRowCallback: a row of citus_internal.local_shard_numbers(). */
static void
take_numbers(int32 groupid, int ncolumns, char **values, void *arg)
{
	NumbersCache *cache = arg;
	Oid			namespace = get_namespace_oid(values[0], true);
	Oid			table = OidIsValid(namespace) ? get_relname_relid(values[1], namespace) : InvalidOid;
	TableState *state = enter_table(cache, table);
	Oid			relid = part_here(table, values[2]);
	int64		numbers[NUMBERS_MAX] = {0};

	if (state->known)
		return;
	if (relid == table)
		state->shards += pg_strtoint32(values[3]);
	(void) node_int64s(values[4], numbers, NUMBERS_MAX);
	if (OidIsValid(relid))
		numbers_add(cache->kind, enter_relation(cache, relid, table)->numbers, numbers);
}

/* Groups (IntList) with shards of a table. */
static List *
groups_of_table(const DistTable *table)
{
	List	   *groups = NIL;

	for (int i = 0; i < table->nshards; i++)
		groups = list_append_unique_int(groups, table->shards[i].groupid);
	return groups;
}

/*
 * Sessions report statistics when they are idle, but seldom.  Makes those that
 * this one has on other nodes report before they answer.
 */
static void
report_statistics_of_nodes(void)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->state == REMOTE_IDLE && conn->owner == NULL && conn->xact == REMOTE_XACT_NONE && remote_is_direct(conn))
			remote_send_silent(conn, "SELECT pg_catalog.pg_stat_force_next_flush()");
}

/*
 * Asks the nodes of some groups, but those that didn't answer the last time,
 * for the numbers of a table, or of all.
 */
static void
ask_for_numbers(NumbersCache *cache, List *groups, const char *schema, const char *table)
{
	MemoryContext context = MemoryContextSwitchTo(cache->context);
	List	   *active = list_intersection_int(groups, node_groups());
	List	   *lost;

	cache->broken = true;
	cache->lost_groups = list_concat_unique_int(cache->lost_groups, list_difference_int(groups, active));
	if (cache->kind == NUMBERS_STATISTICS)
		report_statistics_of_nodes();
	lost = node_query_groups(list_difference_int(active, cache->lost_groups),
							 node_call_with("SELECT * FROM ", NODE_local_shard_numbers,
											node_bool(cache->kind == NUMBERS_STATISTICS), node_text(schema), node_text(table)),
							 take_numbers, cache);
	cache->lost_groups = list_concat(cache->lost_groups, lost);
	cache->broken = false;
	cache->statements = executor_statements;
	MemoryContextSwitchTo(context);
}

/* Forgets what is known of a part of a table's shards. */
static void
forget_part_of_table(NumbersCache *cache, TableState *state)
{
	HASH_SEQ_STATUS status;
	RelationNumbers *entry;

	hash_seq_init(&status, cache->relations);
	while ((entry = hash_seq_search(&status)) != NULL)
		if (entry->table == state->relid)
			numbers_clear(cache->kind, entry->numbers);
	state->shards = 0;
}

/* Asks for all tables, and notes which are known now. */
static void
ask_for_all_tables(NumbersCache *cache)
{
	HASH_SEQ_STATUS status;
	TableState *state;

	ask_for_numbers(cache, node_groups(), NULL, NULL);
	cache->asked_all = true;
	hash_seq_init(&status, cache->tables);
	while ((state = hash_seq_search(&status)) != NULL)
	{
		const DistTable *table = OidIsValid(state->relid) ? metadata_find(state->relid) : NULL;

		if (table != NULL && state->shards == table->nshards)
			state->known = true;
	}
}

/* Asks for a table, if need be. */
static void
ask_for_table(NumbersCache *cache, Oid relid)
{
	TableState *state = enter_table(cache, relid);
	const DistTable *table = metadata_require(relid);
	List	   *groups = groups_of_table(table);

	if (state->known || state->lost)
		return;
	if (cache->asked++ >= TABLES_ONE_BY_ONE && !cache->asked_all)
		ask_for_all_tables(cache);
	if (state->known)
		return;
	if (list_intersection_int(groups, cache->lost_groups) == NIL)
	{
		forget_part_of_table(cache, state);
		ask_for_numbers(cache, groups, get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid));
		state->known = true;
	}
	state->lost = list_intersection_int(groups, cache->lost_groups) != NIL;
}

/*
 * The numbers of a relation of a table with shards: the sums over these.  NULL
 * if it isn't one; *lost tells whether a node can't be reached.
 */
static const int64 *
numbers_of_relation(NumbersCache *cache, Oid relid, bool *lost)
{
	RelationNumbers *entry = hash_search(cache->relations, &relid, HASH_FIND, NULL);

	if (entry == NULL)
		entry = enter_relation(cache, relid, table_with_shards(relid));
	if (!OidIsValid(entry->table))
		return NULL;
	ask_for_table(cache, entry->table);
	*lost |= enter_table(cache, entry->table)->lost;
	return entry->numbers;
}

/* The bytes of all forks of some relations (Oid) of a table. */
static int64
size_of_relations(NumbersCache *cache, List *relids, bool *lost)
{
	int64		size = 0;

	foreach_oid(relid, relids)
	{
		const int64 *numbers = numbers_of_relation(cache, relid, lost);

		for (int fork = 0; numbers != NULL && fork <= MAX_FORKNUM; fork++)
			size += numbers[fork];
	}
	return size;
}

/* A table, or an index, with its TOAST table. */
static List *
relations_of_table(Oid relid)
{
	List	   *relids = list_make1_oid(relid);
	Oid			toast = relation_toast(relid);

	return OidIsValid(toast) ? list_concat(lappend_oid(relids, toast), relation_indexes(toast)) : relids;
}

/*
 * Whether a call's first argument is a relation of a table with shards.  If
 * so, sets *cache.
 */
static bool
is_of_shards(NumbersKind kind, FunctionCallInfo fcinfo, NumbersCache **cache)
{
	bool		lost = false;

	if (!sum_over_shards || PG_GETARG_OID(0) < FirstNormalObjectId || fcinfo->flinfo == NULL)
		return false;
	*cache = cache_of_call(kind, fcinfo);
	return numbers_of_relation(*cache, PG_GETARG_OID(0), &lost) != NULL;
}

static Datum
return_size(FunctionCallInfo fcinfo, NumbersCache *cache, List *relids)
{
	bool		lost = false;
	int64		size = size_of_relations(cache, relids, &lost);

	if (lost)
		PG_RETURN_NULL();
	PG_RETURN_INT64(size);
}

/* pg_relation_size(relation, fork); without the latter, of the main fork */
Datum
citus_internal_pg_relation_size(PG_FUNCTION_ARGS)
{
	const char *name = PG_NARGS() > 1 ? text_to_cstring(PG_GETARG_TEXT_PP(1)) : forkNames[MAIN_FORKNUM];
	ForkNumber	fork = forkname_to_number(name);
	NumbersCache *cache;
	bool		lost = false;
	LOCAL_FCINFO(call, 2);
	Datum		size;

	if (is_of_shards(NUMBERS_SIZES, fcinfo, &cache))
	{
		const int64 *numbers = numbers_of_relation(cache, PG_GETARG_OID(0), &lost);

		if (lost)
			PG_RETURN_NULL();
		PG_RETURN_INT64(numbers[fork]);
	}
	InitFunctionCallInfoData(*call, NULL, 2, InvalidOid, NULL, NULL);
	call->args[0] = fcinfo->args[0];
	call->args[1] = (NullableDatum) {CStringGetTextDatum(name), false};
	size = pg_relation_size(call);
	fcinfo->isnull = call->isnull;
	return size;
}

Datum
citus_internal_pg_table_size(PG_FUNCTION_ARGS)
{
	NumbersCache *cache;

	if (!is_of_shards(NUMBERS_SIZES, fcinfo, &cache))
		return pg_table_size(fcinfo);
	return return_size(fcinfo, cache, relations_of_table(PG_GETARG_OID(0)));
}

Datum
citus_internal_pg_indexes_size(PG_FUNCTION_ARGS)
{
	NumbersCache *cache;

	if (!is_of_shards(NUMBERS_SIZES, fcinfo, &cache))
		return pg_indexes_size(fcinfo);
	return return_size(fcinfo, cache, relation_indexes(PG_GETARG_OID(0)));
}

Datum
citus_internal_pg_total_relation_size(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	NumbersCache *cache;

	if (!is_of_shards(NUMBERS_SIZES, fcinfo, &cache))
		return pg_total_relation_size(fcinfo);
	return return_size(fcinfo, cache, list_concat(relations_of_table(relid), relation_indexes(relid)));
}

/* Kept in a call's fn_extra. */
typedef struct StatisticCall
{
	int			statistic;		/* in table_statistics */
	FmgrInfo	server;			/* the server's function */
} StatisticCall;

/* Which statistic is asked for: ours have the names of the server's. */
static StatisticCall *
statistic_of_call(FunctionCallInfo fcinfo)
{
	StatisticCall *call = fcinfo->flinfo->fn_extra;
	const char *name;

	if (call != NULL)
		return call;
	name = get_func_name(fcinfo->flinfo->fn_oid);
	for (int i = 0; name != NULL && i < STATISTICS_MAX; i++)
	{
		if (strcmp(table_statistics[i].function, name) != 0)
			continue;
		call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(StatisticCall));
		call->statistic = i;
		fmgr_info_cxt(fmgr_internal_function(name), &call->server, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = call;
		return call;
	}
	elog(ERROR, "function %u returns no statistic", fcinfo->flinfo->fn_oid);
}

/*
 * pg_stat_get_..(relation): the server's functions.  The logical table itself
 * has times and counts of ANALYZE, too.
 */
Datum
citus_internal_relation_statistic(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	StatisticCall *call = statistic_of_call(fcinfo);
	int64		number = number_of_relation(&call->server, relid);
	NumbersCache *cache;
	bool		lost = false;

	if (is_of_shards(NUMBERS_STATISTICS, fcinfo, &cache))
	{
		int64		of_shards = numbers_of_relation(cache, relid, &lost)[call->statistic];

		number = lost ? NO_NUMBER : table_statistics[call->statistic].shards == STATISTIC_LARGEST ? Max(number, of_shards) : of_shards;
	}
	if (number == NO_NUMBER)
		PG_RETURN_NULL();
	PG_RETURN_INT64(number);
}

static const ReplacedFunction size_functions[] = {
	{F_PG_RELATION_SIZE_REGCLASS, "pg_relation_size", 1, {REGCLASSOID}, NULL},
	{F_PG_RELATION_SIZE_REGCLASS_TEXT, "pg_relation_size", 2, {REGCLASSOID, TEXTOID}, NULL},
	{F_PG_TABLE_SIZE, "pg_table_size", 1, {REGCLASSOID}, NULL},
	{F_PG_INDEXES_SIZE, "pg_indexes_size", 1, {REGCLASSOID}, NULL},
	{F_PG_TOTAL_RELATION_SIZE, "pg_total_relation_size", 1, {REGCLASSOID}, NULL},
};

void
table_statistics_init(void)
{
	static ReplacedFunction statistic_functions[STATISTICS_MAX];
	int			n = 0;

	for (int i = 0; i < STATISTICS_MAX; i++)
	{
		const char *name = table_statistics[i].function;

		if (OidIsValid(fmgr_internal_function(name)))
			statistic_functions[n++] = (ReplacedFunction) {fmgr_internal_function(name), name, 1, {OIDOID}, NULL};
	}
	replaced_functions_add(statistic_functions, n);
	replaced_functions_add(size_functions, lengthof(size_functions));
	DefineCustomBoolVariable("citus.sum_over_shards",
							 "Sizes and statistics of distributed tables are sums over their shards, not those of the empty table on this node.",
							 NULL, &sum_over_shards, true, PGC_USERSET, 0, NULL, NULL, NULL);
}
