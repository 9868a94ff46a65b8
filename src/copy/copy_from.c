/*-------------------------------------------------------------------------
 *
 * copy_from.c
 *	  COPY FROM into a distributed or reference table, at its initiator.
 *
 * The server's own parser reads the input, so all formats, options, sources
 * and messages are PostgreSQL's.  Two ways lead from there to the shards:
 *
 * - *Rows*: NextCopyFrom() makes values, the WHERE clause and the defaults of
 *   missing columns are evaluated here, and a row router sends the rows.
 * - *Lines*: when nothing but the distribution value has to be known, the line
 *   goes to the shard as it came, and the node that stores it parses it.
 *   The distribution value is parsed here too; so its type must be one whose
 *   text means the same under any settings.
 *
 * The context of an error names the line: the server's own callback is in
 * place while a line is read and routed, and not while earlier ones are sent
 * or stored, whose errors bring their own context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "compat/permissions.h"
#include "copy/copy_from.h"
#include "copy/row_router.h"
#include "copy/shard_sink.h"
#include "executor/scan.h"

typedef struct CopyJob
{
	Relation	rel;
	const DistTable *table;
	CopyFromState cstate;
	ShardSink  *sink;
	RowRouter  *router;			/* NULL: lines are passed on as they came */
	int			dist_field;		/* lines: position of the distribution column
								 * in a line, or -1 */
	EState	   *estate;
	TupleTableSlot *slot;
	ExprState  *qual;			/* the WHERE clause, or NULL */
	uint64		rows;
	uint64		excluded;
} CopyJob;

typedef enum LineResult
{
	LINE_ROUTED,
	LINE_EXCLUDED,				/* by the WHERE clause */
	LINE_END,					/* end of the input */
} LineResult;

ParseNamespaceItem *
copy_check_insert(ParseState *pstate, Relation rel, List *attlist)
{
	ParseNamespaceItem *nsitem = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL, false, false);

	compat_note_insert(nsitem, CopyGetAttnums(RelationGetDescr(rel), rel, attlist));
	compat_check_permissions(pstate);
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY FROM not supported with row-level security"),
				 errhint("Use INSERT statements instead.")));
	PreventCommandIfReadOnly("COPY FROM");
	return nsitem;
}

/* Errors when the expression uses a generated column, which is not known yet when it is evaluated. */
static void
refuse_generated_columns(Node *expression, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Bitmapset  *used = NULL;
	bool		whole_row;

	pull_varattnos(expression, 1, &used);
	whole_row = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, used);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attgenerated &&
			(whole_row || bms_is_member(attr->attnum - FirstLowInvalidHeapAttributeNumber, used)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("generated columns are not supported in COPY FROM WHERE conditions"),
					 errdetail("Column \"%s\" is a generated column.", NameStr(attr->attname))));
	}
}

/* The WHERE clause of the statement as a list of quals to be executed. */
static List *
transform_where(ParseState *pstate, ParseNamespaceItem *nsitem, Node *where, Relation rel)
{
	Node	   *qual;

	addNSItemToQuery(pstate, nsitem, false, true, true);
	qual = transformExpr(pstate, where, EXPR_KIND_COPY_WHERE);
	qual = coerce_to_boolean(pstate, qual, "WHERE");
	assign_expr_collations(pstate, qual);
	refuse_generated_columns(qual, rel);
	qual = eval_const_expressions(NULL, qual);
	qual = (Node *) canonicalize_qual((Expr *) qual, false);
	return make_ands_implicit((Expr *) qual);
}

/* Refuses a file or program to whom may not use it, as the server does. */
static void
check_source_privilege(CopyStmt *stmt)
{
	if (stmt->filename == NULL)
		return;
	if (stmt->is_program ? has_privs_of_role(GetUserId(), ROLE_PG_EXECUTE_SERVER_PROGRAM) :
		has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 stmt->is_program ?
			 errmsg("must be superuser or have privileges of the pg_execute_server_program role to COPY to or from an external program") :
			 errmsg("must be superuser or have privileges of the pg_read_server_files role to COPY from a file"),
			 errhint("Anyone can COPY to stdout or from stdin. "
					 "psql's \\copy command also works for anyone.")));
}

/* The columns (integer List) whose values the initiator knows: read, or computed from a default. */
static List *
known_columns(CopyFromState cstate)
{
	List	   *attnums = list_copy(cstate->attnumlist);

	for (int i = 0; i < cstate->num_defaults; i++)
		attnums = lappend_int(attnums, cstate->defmap[i] + 1);
	return attnums;
}

/* Whether text of the type always means the same value, whatever the session's settings. */
static bool
type_text_is_stable(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case BYTEAOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case JSONBOID:
			return true;
		default:
			return get_typtype(type) == TYPTYPE_ENUM;
	}
}

/*
 * Options under which lines can be passed on, setting job->dist_field; NULL if
 * rows have to be made here.  A reference table's rows are: all nodes must
 * get the same values.
 */
static const char *
line_mode_options(CopyJob *job, CopyStmt *stmt)
{
	CopyFromState cstate = job->cstate;
	const DistTable *table = job->table;
	ListCell   *lc;

	job->dist_field = -1;
	if (table->kind == DIST_REFERENCE || cstate->opts.binary || stmt->whereClause != NULL ||
		cstate->num_defaults > 0)
		return NULL;
	if (table->kind == DIST_HASH)
	{
		foreach(lc, cstate->attnumlist)
		{
			if (lfirst_int(lc) == table->dist_attno)
				job->dist_field = foreach_current_index(lc);
		}
		if (job->dist_field < 0 || !type_text_is_stable(table->dist_type))
			return NULL;
	}
	return copy_line_options(stmt->options);
}

/* The text of a field as the input function has to see it; NULL is null. */
static const char *
field_text(CopyFromState cstate, char *field, int attno)
{
	if (!cstate->opts.csv_mode)
		return field;
	if (field == NULL && cstate->opts.force_notnull_flags[attno - 1])
		return cstate->opts.null_print;
	if (field != NULL && cstate->opts.force_null_flags[attno - 1] && strcmp(field, cstate->opts.null_print) == 0)
		return NULL;
	return field;
}

/* The shard of a line that has been split into fields. */
static int
shard_of_fields(CopyJob *job, char **fields)
{
	CopyFromState cstate = job->cstate;
	int			attno = job->table->dist_attno;
	Form_pg_attribute attr;
	const char *text;
	Datum		value;

	if (job->dist_field < 0)
		return 0;
	attr = TupleDescAttr(RelationGetDescr(job->rel), attno - 1);
	text = field_text(cstate, fields[job->dist_field], attno);
	cstate->cur_attname = NameStr(attr->attname);
	cstate->cur_attval = text;
	value = InputFunctionCall(&cstate->in_functions[attno - 1], (char *) text,
							  cstate->typioparams[attno - 1], attr->atttypmod);
	cstate->cur_attname = NULL;
	cstate->cur_attval = NULL;
	return row_router_shard(job->table, job->rel, value, text == NULL);
}

/* Reads a line and adds it to the sink as it is. */
static LineResult
route_line(CopyJob *job, int *shard_index)
{
	CopyFromState cstate = job->cstate;
	int			expected = list_length(cstate->attnumlist);
	MemoryContext caller_context;
	char	  **fields;
	int			nfields;
	StringInfo	row;

	if (!NextCopyFromRawFields(cstate, &fields, &nfields))
		return LINE_END;
	if (expected > 0 && nfields > expected)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));
	if (nfields < expected)
	{
		int			attno = list_nth_int(cstate->attnumlist, nfields);

		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("missing data for column \"%s\"",
						NameStr(TupleDescAttr(RelationGetDescr(job->rel), attno - 1)->attname))));
	}
	ResetPerTupleExprContext(job->estate);
	caller_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(job->estate));
	*shard_index = shard_of_fields(job, fields);
	MemoryContextSwitchTo(caller_context);

	row = shard_sink_begin_row(job->sink, *shard_index);
	appendBinaryStringInfo(row, cstate->line_buf.data, cstate->line_buf.len);
	appendStringInfoCharMacro(row, '\n');
	shard_sink_end_row(job->sink, *shard_index, cstate->cur_lineno);
	return LINE_ROUTED;
}

/* Reads a row and adds it to the sink if the WHERE clause lets it. */
static LineResult
route_row(CopyJob *job, int *shard_index)
{
	ExprContext *econtext = GetPerTupleExprContext(job->estate);
	MemoryContext caller_context;
	TupleTableSlot *slot = job->slot;
	bool		passes = true;

	ResetPerTupleExprContext(job->estate);
	caller_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(job->estate));
	ExecClearTuple(slot);
	if (!NextCopyFrom(job->cstate, econtext, slot->tts_values, slot->tts_isnull))
	{
		MemoryContextSwitchTo(caller_context);
		return LINE_END;
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(job->rel);
	if (job->qual != NULL)
	{
		econtext->ecxt_scantuple = slot;
		passes = ExecQual(job->qual, econtext);
	}
	if (passes)
		*shard_index = row_router_add(job->router, slot, job->cstate->cur_lineno);
	MemoryContextSwitchTo(caller_context);
	return passes ? LINE_ROUTED : LINE_EXCLUDED;
}

/* Adds the next row that is to be stored to the sink; false at the end of the input. */
static bool
route_next(CopyJob *job, int *shard_index)
{
	ErrorContextCallback callback;
	LineResult	result;

	callback.callback = CopyFromErrorCallback;
	callback.arg = job->cstate;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	do
	{
		CHECK_FOR_INTERRUPTS();
		result = job->router != NULL ? route_row(job, shard_index) : route_line(job, shard_index);
		if (result == LINE_EXCLUDED)
			pgstat_progress_update_param(PROGRESS_COPY_TUPLES_EXCLUDED, ++job->excluded);
	} while (result == LINE_EXCLUDED);
	error_context_stack = callback.previous;
	if (result == LINE_END)
		return false;
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, ++job->rows);
	return true;
}

/* ShardSinkPump: fills the only buffer. */
static bool
fill_buffer(void *arg)
{
	CopyJob    *job = arg;
	int			shard_index;

	while (route_next(job, &shard_index))
	{
		if (shard_sink_is_full(job->sink, shard_index))
			return true;
	}
	return false;
}

uint64
copy_from_initiator(ParseState *pstate, CopyStmt *stmt, Relation rel, const DistTable *table)
{
	CopyJob		job = {.rel = rel,.table = table};
	ParseNamespaceItem *nsitem;
	List	   *where = NIL;
	const char *line_options;
	uint64		rows;

	check_source_privilege(stmt);
	nsitem = copy_check_insert(pstate, rel, stmt->attlist);

	/* rows of one COPY are under way to all nodes at once, so another writer would meet them in any order */
	if (table->kind == DIST_REFERENCE)
		reference_lock(table->relid, true);
	if (stmt->whereClause != NULL)
		where = transform_where(pstate, nsitem, stmt->whereClause, rel);

	job.cstate = BeginCopyFrom(pstate, rel, (Node *) where, stmt->filename, stmt->is_program, NULL,
							   stmt->attlist, stmt->options);
	job.estate = CreateExecutorState();
	job.slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
	job.qual = ExecInitQual(where, NULL);

	line_options = line_mode_options(&job, stmt);
	if (line_options != NULL)
		job.sink = shard_sink_begin(rel, table, job.cstate->attnumlist, line_options, false);
	else
	{
		job.router = row_router_begin(rel, known_columns(job.cstate), 0);
		job.sink = row_router_sink(job.router);
	}

	if (shard_sink_can_pull(job.sink))
		shard_sink_pull(job.sink, fill_buffer, &job);
	else
	{
		int			shard_index;

		while (route_next(&job, &shard_index))
			shard_sink_flush_full(job.sink, shard_index);
	}
	rows = job.router != NULL ? row_router_end(job.router) : shard_sink_end(job.sink);

	ExecDropSingleTupleTableSlot(job.slot);
	FreeExecutorState(job.estate);
	EndCopyFrom(job.cstate);
	return rows;
}
