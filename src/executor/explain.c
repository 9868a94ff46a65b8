/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  EXPLAIN of distributed plan nodes.
 *
 * Shows the rung, the number of tasks, and for one task (or all,
 * citus.explain_all_tasks) its node and that node's plan, which is requested
 * with the same options.  EXPLAIN ANALYZE runs the tasks with a tag that makes
 * their nodes keep the measured plan (explain_task.c), and fetches it from
 * there.
 *
 * Extensions print plans too: auto_explain does at the end of each statement,
 * outside of any snapshot.  They get the tasks without plans of nodes: no
 * statement may cost a round trip, or fail, because it is logged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "catalog/node.h"
#include "compat/explain.h"
#include "executor/explain.h"
#include "executor/row_codec.h"
#include "executor/scan_tasks.h"
#include "lib/run_as.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "resolve/tag.h"

typedef enum SortMethod
{
	SORT_BY_TIME,
	SORT_BY_TASK
} SortMethod;

static const struct config_enum_entry sort_methods[] = {
	{"execution-time", SORT_BY_TIME, false},
	{"taskId", SORT_BY_TASK, false},
	{NULL, 0, false}
};

static bool explain_all_tasks = false;
static int	explain_sort_method = SORT_BY_TIME;

/* Options of the EXPLAIN statement that runs now. */
static const ExplainStmt *current_statement = NULL;

/* The EXPLAIN command for a task, tagged as the task itself. */
static char *
explain_command(const TaskSetSpec *spec, Task *task, ExplainState *es)
{
	static const char *const formats[] = {"TEXT", "XML", "JSON", "YAML"};
	TaskTag		tag = task_tag(spec, task);

	return psprintf("%sEXPLAIN (FORMAT %s, VERBOSE %s, COSTS %s, SETTINGS %s) %s", task_tag_write(&tag),
					formats[es->format], es->verbose ? "on" : "off", es->costs ? "on" : "off",
					es->settings ? "on" : "off", task->text);
}

/* Lines of a plan on this node. */
static List *
local_plan(const char *command, ParamListInfo params)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *lines;

	SPI_connect();
	if (task_tag_execute_own(command, params) < 0)
		elog(ERROR, "could not explain a task");
	lines = spi_texts(NIL, context);
	SPI_finish();
	return lines;
}

/* Lines of a plan on another node. */
static List *
remote_plan(int32 groupid, const char *command, ParamListInfo params)
{
	RemoteResult *result = remote_read_primary(groupid, command, row_codec_params(params));
	List	   *lines = NIL;

	for (int i = 0; i < result->nrows; i++)
		lines = lappend(lines, remote_value(result, i, 0));
	return lines;
}

/*
 * Lines of a task's plan: in a tree below the scan's line as text, else as a
 * part of the document, which is in the same format.
 */
static void
show_lines(char *lines, ExplainState *es)
{
	const char *start = es->format == EXPLAIN_FORMAT_TEXT ? "->  " : "";
	const char *newline = es->format == EXPLAIN_FORMAT_JSON || es->format == EXPLAIN_FORMAT_YAML ? "\n" : "";

	for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n"))
	{
		appendStringInfoString(es->str, newline);
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "%s%s%s", start, line, newline[0] == '\0' ? "\n" : "");
		if (es->format == EXPLAIN_FORMAT_TEXT)
			start = "    ";
	}
}

/* Rows of a plan, each of one or more lines. */
static void
show_plan(List *rows, ExplainState *es)
{
	StringInfoData all;
	ListCell   *cell;

	initStringInfo(&all);
	foreach(cell, rows)
		appendStringInfo(&all, "%s%s", all.len > 0 ? "\n" : "", (char *) lfirst(cell));
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent++;
	ExplainOpenGroup("Remote Plan", "Remote Plan", false, es);
	show_lines(all.data, es);
	ExplainCloseGroup("Remote Plan", "Remote Plan", false, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
}

/* The plan of a task, from its node. */
static void
show_node_plan(DistScanState *state, Task *task, ExplainState *es)
{
	bool		measured = state->explain != 0 && state->set != NULL;
	TaskTag		tag = task_tag(&state->spec, task);
	char	   *command = measured ? node_call(NODE_task_plan, node_int(tag.kind == TAG_SHARD ? tag.colocation_id : 0),
												node_int(tag.range.min), node_int(tag.range.max), node_int(state->explain)) :
		explain_command(&state->spec, task, es);
	ParamListInfo params = measured ? NULL : task->params;
	RunAs		caller = run_as_begin(scan_rights(state));

	show_plan(task->groupid == metadata_local_group() ? local_plan(command, params) :
			  remote_plan(task->groupid, command, params), es);
	run_as_end(caller);
}

/* A node as "host=.. port=..". */
static char *
node_name(int32 groupid)
{
	const ClusterNode *target;

	if (groupid == metadata_local_group())
		return "local";
	target = node_of_group(groupid);
	return psprintf("host=%s port=%d", target->host, target->port);
}

/* A task's node, and its plan there if wanted. */
static void
show_task(DistScanState *state, Task *task, bool with_plan, ExplainState *es)
{
	ExplainOpenGroup("Task", NULL, true, es);
	ExplainPropertyText("Node", node_name(task->groupid), es);
	if (es->verbose || !with_plan)
		ExplainPropertyText("Query", task->text, es);
	if (with_plan)
		show_node_plan(state, task, es);
	ExplainCloseGroup("Task", NULL, true, es);
}

/* What a node has done for a scan. */
typedef struct NodeTime
{
	int32		groupid;
	int			tasks;
	uint64		rows;
	int64		took_us;		/* of all tasks, one after another */
	int64		longest_us;
	int64		waited_us;		/* until the first was sent */
} NodeTime;

/* Adds a task to those of its node in times (List of NodeTime *). */
static List *
node_time_add(List *times, const Task *task)
{
	NodeTime   *time = NULL;

	foreach_ptr(NodeTime, other, times)
	{
		if (other->groupid == task->groupid)
			time = other;
	}
	if (time == NULL)
	{
		time = palloc0(sizeof(NodeTime));
		time->groupid = task->groupid;
		time->waited_us = task->waited_us;
		times = lappend(times, time);
	}
	time->tasks++;
	time->rows += task->processed;
	time->took_us += task->took_us;
	time->longest_us = Max(time->longest_us, task->took_us);
	time->waited_us = Min(time->waited_us, task->waited_us);
	return times;
}

static void
show_node_time(const NodeTime *time, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "Node %s: tasks=%d rows=" UINT64_FORMAT " time=%.3f longest=%.3f connect=%.3f\n",
						 node_name(time->groupid), time->tasks, time->rows, time->took_us / 1000.0, time->longest_us / 1000.0,
						 time->waited_us / 1000.0);
		return;
	}
	ExplainOpenGroup("Node", NULL, true, es);
	ExplainPropertyText("Node", node_name(time->groupid), es);
	ExplainPropertyInteger("Tasks", NULL, time->tasks, es);
	ExplainPropertyUInteger("Rows", NULL, time->rows, es);
	ExplainPropertyFloat("Time", "ms", time->took_us / 1000.0, 3, es);
	ExplainPropertyFloat("Longest Task", "ms", time->longest_us / 1000.0, 3, es);
	ExplainPropertyFloat("Connect", "ms", time->waited_us / 1000.0, 3, es);
	ExplainCloseGroup("Node", NULL, true, es);
}

/*
 * What each node has done for a scan that has run: its tasks one after
 * another, since EXPLAIN uses one connection.
 */
static void
show_node_times(const List *tasks, ExplainState *es)
{
	List	   *times = NIL;

	foreach_ptr(const Task, task, tasks)
		times = node_time_add(times, task);
	ExplainOpenGroup("Nodes", "Nodes", false, es);
	foreach_ptr(const NodeTime, time, times)
		show_node_time(time, es);
	ExplainCloseGroup("Nodes", "Nodes", false, es);
}

const ExplainStmt *
explain_note_statement(const ExplainStmt *statement)
{
	const ExplainStmt *outer = current_statement;

	current_statement = statement;
	return outer;
}

/* Adds an option of the statement to the mask. */
static int
option_mask(DefElem *option)
{
	static const char *const formats[] = {"text", "xml", "json", "yaml"};

	if (strcmp(option->defname, "format") == 0)
	{
		for (int i = 0; i < lengthof(formats); i++)
		{
			if (strcmp(defGetString(option), formats[i]) == 0)
				return i << TASK_EXPLAIN_FORMAT_SHIFT;
		}
		return 0;
	}
	if (strcmp(option->defname, "verbose") == 0)
		return defGetBoolean(option) ? TASK_EXPLAIN_VERBOSE : 0;
	return 0;
}

int
explain_task_mask(int instrument)
{
	static int	scan_number = 0;
	int			mask = TASK_EXPLAIN_ON | TASK_EXPLAIN_COSTS;

	if (instrument == 0 || current_statement == NULL)
		return 0;
	foreach_ptr(DefElem, option, current_statement->options)
	{
		if (strcmp(option->defname, "costs") == 0 && !defGetBoolean(option))
			mask &= ~TASK_EXPLAIN_COSTS;
		else if (strcmp(option->defname, "timing") == 0 && !defGetBoolean(option))
			instrument &= ~INSTRUMENT_TIMER;
		else
			mask |= option_mask(option);
	}
	if (instrument & INSTRUMENT_TIMER)
		mask |= TASK_EXPLAIN_TIMING;
	if (instrument & INSTRUMENT_BUFFERS)
		mask |= TASK_EXPLAIN_BUFFERS;
	if (instrument & INSTRUMENT_WAL)
		mask |= TASK_EXPLAIN_WAL;
	scan_number = (scan_number + 1) % 1000;
	return mask | (scan_number << TASK_EXPLAIN_SCAN_SHIFT);
}

/*
 * Whether this is the output of the EXPLAIN statement that runs now, not of an
 * extension that logs plans.
 */
static bool
is_for_statement(const ExplainState *es)
{
	int			mask = 0;

	if (current_statement == NULL || !ActiveSnapshotSet())
		return false;
	foreach_ptr(DefElem, option, current_statement->options)
		mask |= option_mask(option);
	return (mask >> TASK_EXPLAIN_FORMAT_SHIFT) == (int) es->format &&
		((mask & TASK_EXPLAIN_VERBOSE) != 0) == es->verbose;
}

/* Order of tasks: the slowest first. */
static int
compare_task_times(const ListCell *left, const ListCell *right)
{
	int64		left_us = ((const Task *) lfirst(left))->took_us;
	int64		right_us = ((const Task *) lfirst(right))->took_us;

	return (left_us < right_us) - (left_us > right_us);
}

/*
 * The tasks in the order in which they are shown: those that were measured by
 * their time, if it is wanted.
 */
static List *
tasks_to_show(const DistScanState *state, const ExplainState *es)
{
	List	   *tasks = list_copy(state->spec.tasks);

	if (es->analyze && es->timing && state->explain != 0 && state->set != NULL && explain_sort_method == SORT_BY_TIME)
		list_sort(tasks, compare_task_times);
	return tasks;
}

void
explain_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	DistScanState *state = (DistScanState *) node;
	List	   *exprs = ((CustomScan *) node->ss.ps.plan)->custom_exprs;
	bool		params_known = !needs_exec_params((Node *) exprs, NULL) &&
		!(exprs != NIL && explain_is_generic(node->ss.ps.state)) &&
		((state->plan.narrays == 0 && !state->plan.sends) || state->set != NULL);
	bool		with_plans = is_for_statement(es);
	int			shown = 0;
	ListCell   *cell;

	ExplainPropertyText("Planner", dist_plan_kind_name(state->plan.kind), es);
	if (state->plan.sends)
		ExplainPropertyBool("Repartition", true, es);
	if (state->plan.refusal != NULL)
		ExplainPropertyText("Computed Here", state->plan.refusal, es);
	if (state->kept.set != NULL || (state->runs > 0 && state->rerun == RERUN_STORED))
		ExplainPropertyBool("Rows Kept", true, es);
	if (state->largest_batch > 0)
		ExplainPropertyInteger("Largest Batch", "values", state->largest_batch, es);
	if (es->analyze && state->explain != 0)
		ExplainPropertyUInteger("Tuple data received from nodes", "bytes", state->received, es);
	if (!params_known || (state->set == NULL && (state->plan.current_of > 0 || !with_plans)))
	{
		ExplainPropertyText("Task Query", state->plan.text, es);
		return;
	}
	if (state->set == NULL)
		scan_prepare(state);

	ExplainPropertyInteger("Task Count", NULL, list_length(state->spec.tasks), es);
	if (list_length(state->spec.tasks) > 1 && !explain_all_tasks)
		ExplainPropertyText("Tasks Shown", psprintf("One of %d", list_length(state->spec.tasks)), es);
	else
		ExplainPropertyText("Tasks Shown", "All", es);
	ExplainOpenGroup("Tasks", "Tasks", false, es);
	foreach(cell, tasks_to_show(state, es))
	{
		if (shown++ > 0 && !explain_all_tasks)
			break;
		show_task(state, lfirst(cell), with_plans, es);
	}
	ExplainCloseGroup("Tasks", "Tasks", false, es);
	if (es->analyze && es->timing && state->explain != 0 && state->set != NULL)
		show_node_times(state->spec.tasks, es);
}

void
explain_init(void)
{
	DefineCustomBoolVariable("citus.explain_all_tasks",
							 "Makes EXPLAIN show all tasks, not only one.",
							 NULL, &explain_all_tasks, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("citus.explain_analyze_sort_method",
							 "Sets which task EXPLAIN (ANALYZE) shows first: the slowest, or that of the first shard.",
							 "execution-time: the slowest, unless TIMING is off; taskId: in the order of the shards.",
							 &explain_sort_method, SORT_BY_TIME, sort_methods, PGC_USERSET, 0, NULL, NULL, NULL);
}
