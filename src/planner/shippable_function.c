/*-------------------------------------------------------------------------
 *
 * shippable_function.c
 *	  Which functions mean the same on every node.
 *
 * A task may call the server's own functions unless they are volatile.  Of
 * those that users have made or that came with an extension it may call the
 * ones that are on every node (catalog/object_scope.h) and don't read tables:
 * in a task, SQL would not see what the rest of its transaction has written on
 * other nodes.  An immutable function reads none by its definition; a stable
 * function reads settings, if it is written in C (similarity of pg_trgm, for
 * instance), and tables, if it is written in another language.  An aggregate
 * is judged by its support functions.
 *
 * The answers are kept for functions and types that don't come with the
 * server, since they take walks through pg_depend.  They are forgotten when a
 * function, an aggregate or a type changes, or the distribution of a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/object_scope.h"
#include "planner/shippable_function.h"

#define VOLATILE_FUNCTION "it calls a volatile function"

typedef struct JudgedObject
{
	Oid			oid;			/* hash key */
	const char *refusal;		/* NULL: it may be part of a task */
} JudgedObject;

/* Answers of one kind of objects, by Oid. */
typedef struct JudgedObjects
{
	const char *(*judge) (Oid oid);
	HTAB	   *answers;		/* NULL: none */
} JudgedObjects;

static const char *judge_function(Oid function);
static const char *judge_type(Oid type);

static JudgedObjects judged_functions = {judge_function};
static JudgedObjects judged_types = {judge_type};

/* metadata_generation() of the answers. */
static uint64 judged_generation = 0;

/* How often answers were forgotten. */
static uint64 judged_forgotten = 0;

/* Why a function that is no aggregate must stay here. */
static const char *
judge_plain_function(const FormData_pg_proc *form)
{
	ObjectAddress address = {ProcedureRelationId, form->oid, 0};

	if (form->provolatile == PROVOLATILE_VOLATILE)
		return VOLATILE_FUNCTION;
	if (form->provolatile == PROVOLATILE_STABLE && form->prolang != INTERNALlanguageId && form->prolang != ClanguageId)
		return "it calls a stable function that may read tables";
	if (getExtensionOfObject(ProcedureRelationId, form->oid) == get_extension_oid("citus", true))
		return "it calls a function of the extension citus";
	if (object_is_local(&address))
		return "it calls a function that is only on this node";
	return NULL;
}

/* The same for an aggregate. */
static const char *
judge_aggregate(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	FormData_pg_aggregate form;
	const char *refusal = NULL;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	form = *(Form_pg_aggregate) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	{
		const Oid	support[] = {form.aggtransfn, form.aggfinalfn, form.aggcombinefn, form.aggserialfn,
		form.aggdeserialfn, form.aggmtransfn, form.aggminvtransfn, form.aggmfinalfn};

		for (int i = 0; i < lengthof(support) && refusal == NULL; i++)
			if (OidIsValid(support[i]))
				refusal = shippable_function(support[i]);
	}
	return refusal;
}

static const char *
judge_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	FormData_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = *(Form_pg_proc) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	if (form.prokind == PROKIND_AGGREGATE)
	{
		ObjectAddress address = {ProcedureRelationId, function, 0};

		return object_is_local(&address) ? "it calls an aggregate that is only on this node" : judge_aggregate(function);
	}
	return judge_plain_function(&form);
}

static const char *
judge_type(Oid type)
{
	ObjectAddress address = {TypeRelationId, type, 0};

	return object_is_local(&address) ? "it uses a type that is only on this node" : NULL;
}

static void
forget_answers(JudgedObjects *objects)
{
	if (objects->answers != NULL)
		hash_destroy(objects->answers);
	objects->answers = NULL;
}

static void
forget_all_answers(Datum arg, int cache_id, uint32 hash_value)
{
	forget_answers(&judged_functions);
	forget_answers(&judged_types);
	judged_forgotten++;
}

/* The answer for an object that doesn't come with the server. */
static const char *
judged_object(JudgedObjects *objects, Oid oid)
{
	JudgedObject *judged = NULL;
	const char *refusal;
	uint64		forgotten;
	bool		found;

	if (judged_generation != metadata_generation())
		forget_all_answers((Datum) 0, 0, 0);
	judged_generation = metadata_generation();
	if (objects->answers != NULL)
		judged = hash_search(objects->answers, &oid, HASH_FIND, NULL);
	if (judged != NULL)
		return judged->refusal;

	/* an answer that a change has made doubtful meanwhile isn't kept */
	forgotten = judged_forgotten;
	refusal = objects->judge(oid);
	if (forgotten != judged_forgotten || judged_generation != metadata_generation())
		return refusal;
	if (objects->answers == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(JudgedObject),
			.hcxt = CacheMemoryContext,
		};

		objects->answers = hash_create("citus shippable objects", 32, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	judged = hash_search(objects->answers, &oid, HASH_ENTER, &found);
	judged->refusal = refusal;
	return refusal;
}

const char *
shippable_function(Oid function)
{
	if (function < FirstNormalObjectId)
		return func_volatile(function) == PROVOLATILE_VOLATILE ? VOLATILE_FUNCTION : NULL;
	return judged_object(&judged_functions, function);
}

bool
shippable_type(Oid type)
{
	return type < FirstNormalObjectId || judged_object(&judged_types, type) == NULL;
}

void
shippable_function_init(void)
{
	CacheRegisterSyscacheCallback(PROCOID, forget_all_answers, (Datum) 0);
	CacheRegisterSyscacheCallback(AGGFNOID, forget_all_answers, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, forget_all_answers, (Datum) 0);
}
