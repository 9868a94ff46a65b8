/*-------------------------------------------------------------------------
 *
 * row_keys.c
 *	  Deletes rows of a relation on some node by their primary keys.
 *
 * Keys are sent as text, an array per column, as parameters of a DELETE that
 * joins the relation with them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "copy/row_keys.h"
#include "lib/exact_text.h"
#include "remote/connection.h"
#include "resolve/tag.h"

/* Rows to be deleted that are sent at once. */
#define DELETE_BATCH 1000

/* A column of the primary key. */
typedef struct KeyColumn
{
	AttrNumber	attnum;
	Oid			type;
	Oid			equals;			/* operator */
	FmgrInfo	output;
	ArrayBuildState *values;	/* text, of the rows to be deleted */
} KeyColumn;

struct RowKeys
{
	Relation	rel;
	int32		groupid;
	const char *name;
	MemoryContext context;		/* of the noted keys */
	int			noted;			/* rows */
	int			count;			/* of columns */
	KeyColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

/* Reads the columns of the primary key; false if they can't be sent. */
static bool
read_key_columns(RowKeys *keys, Relation index)
{
	bool		usable = true;

	for (int i = 0; i < keys->count; i++)
	{
		KeyColumn  *column = &keys->columns[i];
		Oid			opcintype = index->rd_opcintype[i];
		bool		varlena;
		Oid			output;

		column->attnum = index->rd_index->indkey.values[i];
		column->type = TupleDescAttr(RelationGetDescr(keys->rel), column->attnum - 1)->atttypid;
		column->equals = get_opfamily_member(index->rd_opfamily[i], opcintype, opcintype, BTEqualStrategyNumber);
		getTypeOutputInfo(column->type, &output, &varlena);
		fmgr_info(output, &column->output);

		/* unnest() would take the elements of an array of arrays for rows */
		usable &= !type_is_array_domain(column->type) && OidIsValid(get_array_type(column->type));
	}
	return usable;
}

RowKeys *
row_keys_create(Relation rel, int32 groupid, const char *name)
{
	Relation	index;
	RowKeys    *keys;
	int			count;
	bool		usable;

	/* sets rd_pkindex */
	(void) RelationGetIndexList(rel);
	if (!OidIsValid(rel->rd_pkindex))
		return NULL;
	index = index_open(rel->rd_pkindex, AccessShareLock);
	count = IndexRelationGetNumberOfKeyAttributes(index);
	keys = palloc0(offsetof(RowKeys, columns) + count * sizeof(KeyColumn));
	keys->rel = rel;
	keys->groupid = groupid;
	keys->name = name;
	keys->count = count;
	usable = read_key_columns(keys, index);
	index_close(index, AccessShareLock);
	if (!usable)
		return NULL;
	keys->context = AllocSetContextCreate(CurrentMemoryContext, "citus keys", ALLOCSET_SMALL_SIZES);
	return keys;
}

/* The statement that deletes the rows whose keys its parameters have. */
static char *
delete_command(const RowKeys *keys)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%sDELETE FROM ONLY %s t USING ROWS FROM (", TASK_TAG_NODE_UNPUBLISHED, keys->name);
	for (int i = 0; i < keys->count; i++)
		appendStringInfo(&buf, "%spg_catalog.unnest($%d::%s[])", i == 0 ? "" : ", ", i + 1,
						 format_type_extended(keys->columns[i].type, -1,
											  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	appendStringInfoString(&buf, ") AS gone (");
	for (int i = 0; i < keys->count; i++)
		appendStringInfo(&buf, "%sk%d", i == 0 ? "" : ", ", i);
	appendStringInfoString(&buf, ") WHERE ");
	for (int i = 0; i < keys->count; i++)
	{
		const KeyColumn *column = &keys->columns[i];
		char	   *name = get_attname(RelationGetRelid(keys->rel), column->attnum, false);

		if (i > 0)
			appendStringInfoString(&buf, " AND ");
		generate_operator_clause(&buf, psprintf("t.%s", quote_identifier(name)), column->type, column->equals,
								 psprintf("gone.k%d", i), column->type);
	}
	return buf.data;
}

/* Both return the number of deleted rows. */
static uint64
delete_there(const RowKeys *keys)
{
	static const char prefix[] = "DELETE ";
	RemoteParams params = {.count = keys->count, .types = palloc(keys->count * sizeof(Oid)),
	.values = palloc(keys->count * sizeof(char *))};
	RemoteResult *result;

	for (int i = 0; i < keys->count; i++)
	{
		params.types[i] = TEXTARRAYOID;
		params.values[i] = OidOutputFunctionCall(F_ARRAY_OUT, makeArrayResult(keys->columns[i].values, CurrentMemoryContext));
	}
	result = remote_query(keys->groupid, delete_command(keys), &params);
	if (strncmp(result->tag, prefix, strlen(prefix)) != 0)
		elog(ERROR, "could not delete rows of %s", keys->name);
	return strtoull(result->tag + strlen(prefix), NULL, 10);
}

static uint64
delete_here(const RowKeys *keys)
{
	ParamListInfo params = makeParamList(keys->count);
	uint64		deleted;

	for (int i = 0; i < keys->count; i++)
	{
		params->params[i].ptype = TEXTARRAYOID;
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].isnull = false;
		params->params[i].value = makeArrayResult(keys->columns[i].values, CurrentMemoryContext);
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (task_tag_execute_own(delete_command(keys), params) != SPI_OK_DELETE)
		elog(ERROR, "could not delete rows of %s", keys->name);
	deleted = SPI_processed;
	SPI_finish();
	return deleted;
}

void
row_keys_delete(RowKeys *keys)
{
	MemoryContext old_context;
	uint64		deleted;

	if (keys->noted == 0)
		return;
	old_context = MemoryContextSwitchTo(keys->context);
	deleted = keys->groupid == metadata_local_group() ? delete_here(keys) : delete_there(keys);
	if (deleted != keys->noted)
		elog(ERROR, "%d rows of %s were to be deleted, and " UINT64_FORMAT " were", keys->noted, keys->name, deleted);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(keys->context);
	for (int i = 0; i < keys->count; i++)
		keys->columns[i].values = NULL;
	keys->noted = 0;
}

void
row_keys_note(RowKeys *keys, TupleTableSlot *slot)
{
	MemoryContext old_context = MemoryContextSwitchTo(keys->context);
	int			level = exact_text_begin();

	for (int i = 0; i < keys->count; i++)
	{
		KeyColumn  *column = &keys->columns[i];
		bool		isnull;
		Datum		value = slot_getattr(slot, column->attnum, &isnull);

		column->values = accumArrayResult(column->values,
										  CStringGetTextDatum(OutputFunctionCall(&column->output, value)),
										  false, TEXTOID, keys->context);
	}
	AtEOXact_GUC(true, level);
	MemoryContextSwitchTo(old_context);
	if (++keys->noted >= DELETE_BATCH)
		row_keys_delete(keys);
}
