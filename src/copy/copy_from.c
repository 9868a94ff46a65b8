/*-------------------------------------------------------------------------
 *
 * copy_from.c
 *	  COPY FROM into a distributed or reference table, on its initiator.
 *
 * The server's own parser reads the input, so all formats, options, sources
 * and messages are PostgreSQL's.  There are two ways to the shards:
 *
 * - *Rows*: NextCopyFrom() makes values, the WHERE clause and the defaults of
 *   missing columns are evaluated here, and a row router sends the rows.
 * - *Lines*: if only the distribution value is needed, the line is sent
 *   unchanged, and the node that stores it parses it.  The distribution value
 *   is parsed here too; so the text of its type must mean the same under all
 *   settings.
 *
 * If the table has row triggers or transition tables, triggers are called here
 * (src/executor/fire_triggers.c), and all columns are sent.
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
#include "commands/trigger.h"
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

#include "compat/copy_defaults.h"
#include "compat/copy_errors.h"
#include "compat/copy_format.h"
#include "compat/permissions.h"
#include "copy/copy_from.h"
#include "copy/frame_runner.h"
#include "copy/row_router.h"
#include "copy/shard_sink.h"
#include "executor/fire_triggers.h"
#include "executor/reference_write.h"
#include "planner/foreign_key.h"
#include "planner/replaced_function.h"
#include "sharding/hash.h"

typedef struct CopyJob
{
	Relation	rel;
	const DistTable *table;
	CopyFromState cstate;
	ShardSink  *sink;
	RowRouter  *router;			/* NULL: lines are passed on unchanged */
	int			header_lines;	/* 1 if the input has a header, else 0 */
	int			dist_field;		/* lines: position of the distribution column
								 * in a line, or -1 */
	EState	   *estate;
	TupleTableSlot *slot;
	ExprState  *qual;			/* the WHERE clause, or NULL */
	TriggerRun *triggers;		/* NULL if the table has none for INSERT */
	bool		row_triggers;	/* they are given rows */
	ErrorContextCallback *errors;	/* outside of the line that is being
									 * read */
	uint64		rows;
	uint64		excluded;
} CopyJob;

typedef enum LineResult
{
	LINE_ROUTED,
	LINE_EXCLUDED,				/* by the WHERE clause */
	LINE_SKIPPED,				/* by a trigger, or invalid */
	LINE_END,					/* end of the input */
} LineResult;

ParseNamespaceItem *
copy_check_insert(ParseState *pstate, Relation rel, List *attnums)
{
	ParseNamespaceItem *nsitem = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL, false, false);

	compat_note_insert(nsitem, attnums);
	check_own_statement(pstate);
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY FROM not supported with row-level security"),
				 errhint("Use INSERT statements instead.")));
	PreventCommandIfReadOnly("COPY FROM");
	return nsitem;
}

/*
 * Errors if the expression uses a generated column, which is not computed yet
 * when it is evaluated.
 */
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

/* Checks the right to use a file or program, as the server does. */
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

/*
 * The columns (integer List) that are sent: those that are read, and those
 * with a default that must be computed here.
 */
static List *
traveling_columns(CopyFromState cstate)
{
	List	   *attnums = list_copy(cstate->attnumlist);

	for (int i = 0; i < cstate->num_defaults; i++)
	{
		AttrNumber	attno = cstate->defmap[i] + 1;

		if (frame_local_default(cstate->rel, attno) == NULL)
			attnums = lappend_int(attnums, attno);
	}
	return attnums;
}

/* Defaults that are computed here draw from sequences as queries do. */
static void
replace_default_functions(CopyFromState cstate)
{
	for (int i = 0; i < cstate->num_defaults; i++)
	{
		AttrNumber	attno = cstate->defmap[i] + 1;
		Node	   *expr = build_column_default(cstate->rel, attno);
		Node	   *replaced = replaced_functions_apply_expression(expr);

		if (replaced != expr)
			compat_set_copy_default(cstate, attno, expression_planner((Expr *) replaced));
	}
}

/*
 * Whether text of the type always means the same value, whatever the session's
 * settings.
 */
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
		case JSONOID:
		case JSONBOID:
		case BITOID:
		case VARBITOID:
			return true;
		default:
			return get_typtype(type) == TYPTYPE_ENUM;
	}
}

/* Whether the text of all columns read means the same on every node. */
static bool
all_text_is_stable(CopyFromState cstate)
{
	foreach_int(attnum, cstate->attnumlist)
	{
		if (!type_text_is_stable(TupleDescAttr(RelationGetDescr(cstate->rel), attnum - 1)->atttypid))
			return false;
	}
	return true;
}

/*
 * Options under which lines can be passed on, setting job->dist_field; NULL if
 * lines must be parsed into rows here.  All copies of a reference table must
 * get the same values.
 */
static const char *
line_mode_options(CopyJob *job, CopyStmt *stmt, List *traveling)
{
	CopyFromState cstate = job->cstate;
	const DistTable *table = job->table;

	job->dist_field = -1;
	if (COPY_IS_BINARY(cstate->opts) || stmt->whereClause != NULL || job->row_triggers ||
		list_length(traveling) > list_length(cstate->attnumlist))
		return NULL;
	if (table->kind == DIST_REFERENCE && !all_text_is_stable(cstate))
		return NULL;
	if (table->kind == DIST_HASH)
	{
		foreach_int(attnum, cstate->attnumlist)
		{
			if (attnum == table->dist_attno)
				job->dist_field = foreach_current_index(attnum);
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
	if (!COPY_IS_CSV(cstate->opts))
		return field;
	if (field == NULL && cstate->opts.force_notnull_flags[attno - 1])
		return cstate->opts.null_print;
	if (field != NULL && cstate->opts.force_null_flags[attno - 1] && strcmp(field, cstate->opts.null_print) == 0)
		return NULL;
	return field;
}

/* The value of a field of the line that has been split; null in *isnull. */
static Datum
convert_field(CopyJob *job, int attno, char *field, bool *isnull)
{
	CopyFromState cstate = job->cstate;
	Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(job->rel), attno - 1);
	const char *text = field_text(cstate, field, attno);
	Datum		value;

	cstate->cur_attname = NameStr(attr->attname);
	cstate->cur_attval = text;
	value = InputFunctionCall(&cstate->in_functions[attno - 1], (char *) text,
							  cstate->typioparams[attno - 1], attr->atttypmod);
	cstate->cur_attname = NULL;
	cstate->cur_attval = NULL;
	*isnull = (text == NULL);
	return value;
}

/* Errors about a line with the wrong number of fields, as the server does. */
static void
check_field_count(CopyJob *job, char **fields, int nfields)
{
	List	   *attnums = job->cstate->attnumlist;
	int			expected = list_length(attnums);
	bool		isnull;

	if (expected > 0 && nfields > expected)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));
	if (nfields >= expected)
		return;
	/* errors in existing fields come first */
	for (int i = 0; i < nfields; i++)
		(void) convert_field(job, list_nth_int(attnums, i), fields[i], &isnull);
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("missing data for column \"%s\"",
					NameStr(TupleDescAttr(RelationGetDescr(job->rel),
										  list_nth_int(attnums, nfields) - 1)->attname))));
}

/* The shard of a line that has been split into fields. */
static int
shard_of_fields(CopyJob *job, char **fields)
{
	Datum		value;
	bool		isnull;

	if (job->dist_field < 0)
		return 0;
	value = convert_field(job, job->table->dist_attno, fields[job->dist_field], &isnull);
	return shard_index_of_stored(job->table, value, isnull);
}

/* Reads a line and adds it to the sink unchanged. */
static LineResult
route_line(CopyJob *job, int *shard_index)
{
	CopyFromState cstate = job->cstate;
	MemoryContext caller_context;
	uint64		line = cstate->cur_lineno;
	char	  **fields;
	int			nfields;
	StringInfo	row;

	if (!NextCopyFromRawFields(cstate, &fields, &nfields))
		return LINE_END;
	ResetPerTupleExprContext(job->estate);
	caller_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(job->estate));
	check_field_count(job, fields, nfields);
	*shard_index = shard_of_fields(job, fields);
	MemoryContextSwitchTo(caller_context);

	row = shard_sink_begin_row(job->sink, *shard_index);
	appendBinaryStringInfo(row, cstate->line_buf.data, cstate->line_buf.len);
	appendStringInfoCharMacro(row, '\n');
	/*
	 * a field may span lines: the node that parses it counts on from the first
	 */
	shard_sink_end_row(job->sink, *shard_index, Max(line, job->header_lines) + 1);
	return LINE_ROUTED;
}

/* Adds the row in the slot to the sink, and calls its triggers. */
static LineResult
route_slot(CopyJob *job, int *shard_index)
{
	TupleTableSlot *slot = job->slot;

	if (job->row_triggers && !triggers_before_insert(job->triggers, slot->tts_values, slot->tts_isnull))
		return LINE_SKIPPED;
	*shard_index = row_router_add(job->router, slot, job->cstate->cur_lineno);
	if (job->row_triggers)
		triggers_after_insert(job->triggers, slot->tts_values, slot->tts_isnull);
	return LINE_ROUTED;
}

/*
 * Reads a row and adds it to the sink, unless the WHERE clause or a trigger
 * excludes it, or it is invalid.
 */
static LineResult
route_row(CopyJob *job, int *shard_index)
{
	ExprContext *econtext = GetPerTupleExprContext(job->estate);
	MemoryContext caller_context;
	TupleTableSlot *slot = job->slot;
	LineResult	result = LINE_ROUTED;

	ResetPerTupleExprContext(job->estate);
	caller_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(job->estate));
	ExecClearTuple(slot);
	if (!NextCopyFrom(job->cstate, econtext, slot->tts_values, slot->tts_isnull))
	{
		MemoryContextSwitchTo(caller_context);
		return LINE_END;
	}
	if (compat_copy_skips_row(job->cstate))
	{
		MemoryContextSwitchTo(caller_context);
		return LINE_SKIPPED;
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(job->rel);
	if (job->qual != NULL)
	{
		econtext->ecxt_scantuple = slot;
		if (!ExecQual(job->qual, econtext))
			result = LINE_EXCLUDED;
	}
	if (result == LINE_ROUTED)
		result = route_slot(job, shard_index);
	MemoryContextSwitchTo(caller_context);
	return result;
}

/*
 * Adds the next row that is to be stored to the sink; false at the end of the
 * input.
 */
static bool
route_next(CopyJob *job, int *shard_index)
{
	ErrorContextCallback callback;
	LineResult	result;

	callback.callback = CopyFromErrorCallback;
	callback.arg = job->cstate;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	job->errors = callback.previous;
	do
	{
		CHECK_FOR_INTERRUPTS();
		result = job->router != NULL ? route_row(job, shard_index) : route_line(job, shard_index);
		if (result == LINE_EXCLUDED)
			pgstat_progress_update_param(PROGRESS_COPY_TUPLES_EXCLUDED, ++job->excluded);
	} while (result == LINE_EXCLUDED || result == LINE_SKIPPED);
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

/*
 * TriggerApply: stores the rows in the sink, outside the error context of the
 * current line.
 */
static bool
store_waiting(void *arg)
{
	CopyJob    *job = arg;
	ErrorContextCallback *errors = error_context_stack;
	bool		found;

	if (job->sink == NULL)
		return false;
	error_context_stack = job->errors;
	found = shard_sink_flush_all(job->sink);
	error_context_stack = errors;
	if (found)
		CommandCounterIncrement();
	return found;
}

/* Reads the input to its end, and sends it; the number of rows stored. */
static uint64
route_all(CopyJob *job)
{
	if (!job->row_triggers && shard_sink_can_pull(job->sink))
		shard_sink_pull(job->sink, fill_buffer, job);
	else
	{
		int			shard_index;

		while (route_next(job, &shard_index))
			shard_sink_flush_full(job->sink, shard_index);
	}
	return job->router != NULL ? row_router_end(job->router) : shard_sink_end(job->sink);
}

/*
 * The same, with the table's triggers, which fire as those of a separate
 * statement.
 */
static uint64
route_with_triggers(CopyJob *job)
{
	MemoryContext caller_context;
	uint64		rows;

	AfterTriggerBeginQuery();
	caller_context = MemoryContextSwitchTo(job->estate->es_query_cxt);
	job->triggers = triggers_begin(job->estate, job->table->relid, CMD_INSERT, COMMAND_BIT(CMD_INSERT),
								   job->row_triggers, NIL, store_waiting, job);
	MemoryContextSwitchTo(caller_context);
	triggers_before_statement(job->triggers);
	rows = route_all(job);
	job->sink = NULL;
	triggers_after_statement(job->triggers);
	AfterTriggerEndQuery(job->estate);
	ExecResetTupleTable(job->estate->es_tupleTable, false);
	job->estate->es_tupleTable = NIL;
	triggers_end(job->triggers);
	return rows;
}

uint64
copy_from_initiator(ParseState *pstate, CopyStmt *stmt, Relation rel, const DistTable *table)
{
	CopyJob		job = {.rel = rel,.table = table};
	ParseNamespaceItem *nsitem;
	List	   *where = NIL;
	List	   *traveling;
	const char *line_options;
	uint64		rows;

	check_source_privilege(stmt);
	nsitem = copy_check_insert(pstate, rel, CopyGetAttnums(RelationGetDescr(rel), rel, stmt->attlist));

	/*
	 * rows of one COPY are sent to all nodes at once, so another writer would
	 * meet them in any order
	 */
	if (table->kind == DIST_REFERENCE)
		reference_lock(table->relid, true);
	if (stmt->whereClause != NULL)
		where = transform_where(pstate, nsitem, stmt->whereClause, rel);

	job.cstate = BeginCopyFrom(pstate, rel, (Node *) where, stmt->filename, stmt->is_program, NULL,
							   stmt->attlist, stmt->options);
	replace_default_functions(job.cstate);
	job.estate = CreateExecutorState();
	job.slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
	job.qual = ExecInitQual(where, NULL);

	job.header_lines = job.cstate->opts.header_line != COPY_HEADER_FALSE ? 1 : 0;
	job.row_triggers = (table->row_triggers & COMMAND_BIT(CMD_INSERT)) != 0;
	traveling = job.row_triggers ? NIL : traveling_columns(job.cstate);
	line_options = line_mode_options(&job, stmt, traveling);
	if (line_options != NULL)
		job.sink = shard_sink_begin(rel, table, traveling, line_options, false);
	else
	{
		job.router = row_router_begin(rel, traveling, 0);
		job.sink = row_router_sink(job.router);
	}

	rows = table->triggers & COMMAND_BIT(CMD_INSERT) ? route_with_triggers(&job) : route_all(&job);
	compat_copy_tell_skipped(job.cstate);

	ExecDropSingleTupleTableSlot(job.slot);
	FreeExecutorState(job.estate);
	EndCopyFrom(job.cstate);
	return rows;
}
