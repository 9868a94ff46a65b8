/*-------------------------------------------------------------------------
 *
 * frame_runner.c
 *	  Stores frames in this node's shards with the server's own COPY.
 *
 * CopyFrom() pulls its input through a callback.  Ours returns one row at a
 * time: the parser requests more data exactly when it starts a row, just after
 * it has counted a line, so the callback can set the row's own line number.
 * So the server's error messages and multi-insert buffers have the line
 * numbers of the original input.
 *
 * The callback has no argument, hence the static variable; it is saved and
 * restored around each run, because a trigger or a default expression may run
 * another COPY inside this one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/backend_status.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/copy_defaults.h"
#include "compat/copy_format.h"
#include "compat/permissions.h"
#include "copy/frame_runner.h"
#include "executor/fire_triggers.h"
#include "executor/reference_write.h"
#include "remote/shard_names.h"
#include "remote/wire_type.h"
#include "sharding/hash.h"
#include "txn/unpublished.h"

/*
 * The header of a binary COPY file: signature, flags, length of the header
 * extension.
 */
static const char frame_binary_header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";

#define BINARY_HEADER_SIZE 19

#define ROW_MIN_LENGTH 512		/* the size assumed for short rows, see
								 * bound_multi_insert */

/*
 * A column that doesn't travel and whose default the node that stores the row
 * computes.
 */
typedef struct LocalDefault
{
	AttrNumber	attno;
	Expr	   *expr;
} LocalDefault;

struct FrameRunner
{
	Relation	rel;			/* the logical table */
	const DistTable *table;
	List	   *columns;
	List	   *options;
	bool		binary;
	List	   *defaults;		/* of LocalDefault * */
	FrameRefill refill;
	void	   *refill_arg;

	/* while running */
	Frame		frame;
	CopyFromState cstate;		/* NULL while BeginCopyFrom runs */
	TriggerDesc *hidden_triggers;	/* of rel, until the server's COPY asks for
									 * its first row */
	Relation	shard;
	bool		header_sent;
	PGFunction	last_input;		/* input function of the last column */
	const char *row;			/* rest of the row being handed out */
	int			row_len;
	MemoryContext outer_context;
	ErrorContextCallback *outer_errors;
};

/* The runner whose frames the server's COPY is reading. */
static FrameRunner *active_runner = NULL;

Expr *
frame_local_default(Relation rel, AttrNumber attno)
{
	Node	   *expr = build_column_default(rel, attno);

	if (expr == NULL)
		return NULL;
	expr = (Node *) expression_planner((Expr *) expr);
	return contain_mutable_functions(expr) ? NULL : (Expr *) expr;
}

/* The defaults (List of LocalDefault *) that are to be computed here. */
static List *
local_defaults(Relation rel, List *columns)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *attnums = CopyGetAttnums(desc, rel, columns);
	List	   *defaults = NIL;

	for (AttrNumber attno = 1; attno <= desc->natts; attno++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, attno - 1);
		Expr	   *expr;

		if (attr->attisdropped || attr->attgenerated || list_member_int(attnums, attno))
			continue;
		expr = frame_local_default(rel, attno);
		if (expr != NULL)
		{
			LocalDefault *item = palloc(sizeof(LocalDefault));

			item->attno = attno;
			item->expr = expr;
			defaults = lappend(defaults, item);
		}
	}
	return defaults;
}

/*
 * Locks the shards that may be moved away, so that they stay until the end of
 * the COPY.
 */
static void
hold_shards(const DistTable *table)
{
	for (int i = 0; i < table->nshards; i++)
	{
		if (table->shards[i].leaving && table->shards[i].groupid == metadata_local_group())
			LockRelationOid(shard_local_relid(table->relid, table->shards[i].shardid), RowExclusiveLock);
	}
}

FrameRunner *
frame_runner_create(Relation rel, const DistTable *table, List *columns, List *options,
					FrameRefill refill, void *refill_arg)
{
	FrameRunner *runner = palloc0(sizeof(FrameRunner));
	CopyFormatOptions parsed = {0};

	ProcessCopyOptions(NULL, &parsed, true, options);
	hold_shards(table);
	runner->rel = rel;
	runner->table = table;
	runner->columns = columns;
	runner->options = options;
	runner->binary = COPY_IS_BINARY(parsed);
	/* shards have no defaults */
	runner->defaults = local_defaults(rel, columns);
	runner->refill = refill;
	runner->refill_arg = refill_arg;
	return runner;
}

/* Calls refill in the state outside CopyFrom. */
static bool
refill_frame(FrameRunner *runner)
{
	MemoryContext inner_context;
	ErrorContextCallback *inner_errors = error_context_stack;
	bool		more;

	if (runner->refill == NULL)
		return false;
	inner_context = MemoryContextSwitchTo(runner->outer_context);
	error_context_stack = runner->outer_errors;
	more = runner->refill(runner->refill_arg, &runner->frame);
	error_context_stack = inner_errors;
	MemoryContextSwitchTo(inner_context);
	return more;
}

/* Moves on to the next row; false at the end of all frames. */
static bool
next_frame_row(FrameRunner *runner)
{
	uint64		line;

	while (!frame_next_row(&runner->frame, &runner->row, &runner->row_len, &line))
	{
		bool		more;

		/* the refill may run another COPY */
		active_runner = NULL;
		more = refill_frame(runner);
		active_runner = runner;
		if (!more)
			return false;
	}
	runner->cstate->cur_lineno = line;
	/*
	 * CopyFrom's callback would describe a COPY that no user has written;
	 * CopyFrom puts back what was before it itself
	 */
	if (line == 0)
		error_context_stack = runner->outer_errors;
	return true;
}

/* Ends what copy_into has begun with triggers_hide. */
static void
show_triggers(FrameRunner *runner)
{
	triggers_show(runner->shard, runner->hidden_triggers);
	runner->hidden_triggers = NULL;
}

/* copy_data_source_cb: the next row, or as much of it as fits. */
static int
read_active_runner(void *outbuf, int minread, int maxread)
{
	FrameRunner *runner = active_runner;
	int			len;

	Assert(runner != NULL);
	show_triggers(runner);
	if (runner->binary && !runner->header_sent)
	{
		Assert(maxread >= BINARY_HEADER_SIZE);
		memcpy(outbuf, frame_binary_header, BINARY_HEADER_SIZE);
		runner->header_sent = true;
		return BINARY_HEADER_SIZE;
	}
	if (runner->row_len == 0 && !next_frame_row(runner))
		return 0;
	len = Min(runner->row_len, maxread);
	memcpy(outbuf, runner->row, len);
	runner->row += len;
	runner->row_len -= len;
	return len;
}

/*
 * The local relation of the shard that has a range; InvalidOid if it is not
 * here.
 */
static Oid
find_shard(const DistTable *table, HashRange range)
{
	int			index = shard_index_of_range(table, range);

	return index >= 0 && shard_is_here(&table->shards[index]) ?
		shard_local_relid(table->relid, table->shards[index].shardid) : InvalidOid;
}

/*
 * Opens and locks the local relation of a shard, which may have been moved
 * away since the COPY began.
 */
static Relation
open_frame_shard(FrameRunner *runner, HashRange range)
{
	Oid			relid = runner->table->relid;
	Oid			shard;

	if (runner->table->kind == DIST_REFERENCE)
	{
		reference_lock_here(relid, true);
		return table_open(relid, RowExclusiveLock);
	}
	shard = find_shard(metadata_require(relid), range);
	if (OidIsValid(shard))
	{
		LockRelationOid(shard, RowExclusiveLock);
		shard = find_shard(metadata_require(relid), range);
	}
	if (!OidIsValid(shard))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent move of a shard"),
				 errdetail("The shard of table \"%s\" for the hash values from %d to %d is not on this node.",
						   RelationGetRelationName(runner->rel), range.min, range.max),
				 errhint("The transaction might succeed if retried.")));
	return table_open(shard, NoLock);
}

/* The data of pg_stat_progress_copy. */
typedef struct Progress
{
	ProgressCommandType command;
	Oid			relid;
	int64		params[PGSTAT_NUM_PROGRESS_PARAM];
} Progress;

static void
save_progress(Progress *progress)
{
	progress->command = PROGRESS_COMMAND_INVALID;
	if (MyBEEntry == NULL)
		return;
	progress->command = MyBEEntry->st_progress_command;
	progress->relid = MyBEEntry->st_progress_command_target;
	memcpy(progress->params, MyBEEntry->st_progress_param, sizeof(progress->params));
}

/* Restores the view's data of the statement that the frame interrupted. */
static void
restore_progress(const Progress *progress)
{
	int			indexes[PGSTAT_NUM_PROGRESS_PARAM];

	if (progress->command == PROGRESS_COMMAND_INVALID)
		return;
	for (int i = 0; i < PGSTAT_NUM_PROGRESS_PARAM; i++)
		indexes[i] = i;
	pgstat_progress_start_command(progress->command, progress->relid);
	pgstat_progress_update_multi_param(PGSTAT_NUM_PROGRESS_PARAM, indexes, progress->params);
}

/*
 * The input function of the last column, after which the row's length is
 * raised; see bound_multi_insert.
 */
static Datum
last_column_input(PG_FUNCTION_ARGS)
{
	FrameRunner *runner = active_runner;
	Datum		value = runner->last_input(fcinfo);

	runner->cstate->line_buf.len = Max(runner->cstate->line_buf.len, ROW_MIN_LENGTH);
	return value;
}

/*
 * The input function of a column with types made by users inside its values,
 * whose oids are the sender's; fn_extra is the column's type (Oid *).
 */
static Datum
receive_stored(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	Oid			type = *(Oid *) fcinfo->flinfo->fn_extra;
	Datum		value;

	wire_type_localize(type, buf->data, buf->len);
	value = wire_type_receive(type, PG_GETARG_INT32(2), buf->data, buf->len);
	buf->cursor = buf->len;
	PG_RETURN_DATUM(value);
}

void
frame_trust_domains(CopyFromState cstate)
{
	TupleDesc	desc = RelationGetDescr(cstate->rel);

	foreach_int(attnum, cstate->attnumlist)
	{
		FmgrInfo   *function = &cstate->in_functions[attnum - 1];
		Oid			type = TupleDescAttr(desc, attnum - 1)->atttypid;
		WireType	base = wire_type(type);
		bool		is_foreign = COPY_IS_BINARY(cstate->opts) && !base.binary;

		if (!is_foreign && get_typtype(type) != TYPTYPE_DOMAIN)
			continue;
		fmgr_info_cxt(COPY_IS_BINARY(cstate->opts) ? base.receive : base.input, function, cstate->copycontext);
		cstate->typioparams[attnum - 1] = base.ioparam;
		if (is_foreign)
		{
			function->fn_addr = receive_stored;
			function->fn_strict = true;
			function->fn_extra = MemoryContextAlloc(cstate->copycontext, sizeof(Oid));
			*(Oid *) function->fn_extra = type;
		}
	}
}

/* Those that are hidden now, the latest first. */
static HiddenChecks *hidden_checks = NULL;

/*
 * A relcache callback: the entry of a relation that is open has been rebuilt,
 * or all entries.
 */
static void
hide_checks_again(Datum arg, Oid relid)
{
	for (HiddenChecks *hidden = hidden_checks; hidden != NULL; hidden = hidden->outer)
		hidden->rel->rd_rel->relchecks = 0;
}

void
frame_checks_hide(HiddenChecks *hidden, Relation rel)
{
	static bool registered = false;

	if (!registered)
		CacheRegisterRelcacheCallback(hide_checks_again, (Datum) 0);
	registered = true;
	hidden->rel = rel;
	hidden->outer = hidden_checks;
	hidden_checks = hidden;
	rel->rd_rel->relchecks = 0;
}

void
frame_checks_show(HiddenChecks *hidden)
{
	const TupleConstr *rules = hidden->rel->rd_att->constr;

	hidden_checks = hidden->outer;
	hidden->rel->rd_rel->relchecks = rules == NULL ? 0 : rules->num_check;
	hide_checks_again((Datum) 0, InvalidOid);	/* an outer call's */
}

/*
 * Makes the server's COPY store rows in batches of 128 at most.  It would
 * collect up to 1,000, each in a slot of its own, and a resource owner takes
 * quadratic time to remember and forget as many references to one tuple
 * descriptor; that is nothing for a whole COPY, but dominates the cost of a
 * frame.  A batch also ends at 64 kB, counted by the length of the line
 * buffer: which is unused for binary rows, and read in no other way once a
 * line has been parsed.
 */
static void
bound_multi_insert(FrameRunner *runner)
{
	CopyFromState cstate = runner->cstate;

	cstate->line_buf.len = ROW_MIN_LENGTH;
	if (!runner->binary && cstate->attnumlist != NIL)
	{
		FmgrInfo   *input = &cstate->in_functions[llast_int(cstate->attnumlist) - 1];

		runner->last_input = input->fn_addr;
		input->fn_addr = last_column_input;
	}
}

/*
 * Runs the server's COPY into the relation, with read_active_runner as its
 * source.
 */
static uint64
copy_into(FrameRunner *runner, Relation shard)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *nsitem;
	Progress	progress;
	bool		hides_checks = unpublished();	/* a table's rows that its
												 * conversion copies */
	HiddenChecks hidden;
	volatile uint64 rows = 0;

	save_progress(&progress);
	nsitem = addRangeTableEntryForRelation(pstate, shard, RowExclusiveLock, NULL, false, false);
	compat_note_insert(nsitem, CopyGetAttnums(RelationGetDescr(shard), shard, runner->columns));
	runner->cstate = NULL;
	runner->header_sent = false;
	runner->row_len = 0;
	runner->cstate = BeginCopyFrom(pstate, shard, NULL, NULL, false, read_active_runner,
								   runner->columns, runner->options);
	runner->cstate->cur_relname = RelationGetRelationName(runner->rel);
	runner->cstate->eol_type = EOL_NL;	/* else lines within the first row's
										 * fields aren't counted */
	foreach_ptr(LocalDefault, item, runner->defaults)
		compat_set_copy_default(runner->cstate, item->attno, item->expr);
	/* lines of text may be a client's, unparsed */
	if (runner->binary)
		frame_trust_domains(runner->cstate);
	bound_multi_insert(runner);
	/*
	 * it reads the list of triggers before it reads data; shards have no user
	 * triggers
	 */
	runner->shard = shard;
	if (runner->table->kind == DIST_REFERENCE)
		runner->hidden_triggers = triggers_hide(shard);
	if (hides_checks)
		frame_checks_hide(&hidden, shard);
	PG_TRY();
	{
		rows = CopyFrom(runner->cstate);
	}
	PG_FINALLY();
	{
		if (hides_checks)
			frame_checks_show(&hidden);
	}
	PG_END_TRY();
	show_triggers(runner);
	EndCopyFrom(runner->cstate);
	restore_progress(&progress);
	free_parsestate(pstate);
	return rows;
}

/* As frame_runner_run; runner->frame is the first frame, or empty. */
static uint64
run_frames(FrameRunner *runner, HashRange range)
{
	FrameRunner *outer_runner = active_runner;
	Relation	shard = open_frame_shard(runner, range);
	volatile uint64 rows = 0;

	runner->outer_context = CurrentMemoryContext;
	runner->outer_errors = error_context_stack;
	PG_TRY();
	{
		active_runner = runner;
		rows = copy_into(runner, shard);
		active_runner = outer_runner;
	}
	PG_CATCH();
	{
		active_runner = outer_runner;
		show_triggers(runner);
		if (runner->table->kind == DIST_REFERENCE)
			PG_RE_THROW();
		shard_names_rethrow(runner->outer_context);
	}
	PG_END_TRY();
	table_close(shard, NoLock);
	return rows;
}

uint64
frame_runner_run(FrameRunner *runner, const Frame *frame)
{
	runner->frame = *frame;
	return run_frames(runner, frame->range);
}

uint64
frame_runner_run_all(FrameRunner *runner, HashRange range)
{
	memset(&runner->frame, 0, sizeof(Frame));
	return run_frames(runner, range);
}
