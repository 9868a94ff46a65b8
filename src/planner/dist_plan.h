/*-------------------------------------------------------------------------
 *
 * dist_plan.h
 *	  The contents of a DistributedScan plan node: a text, its parameters, and
 *	  the condition for its shards.
 *
 * One node type serves all rungs.  The node's custom_exprs are the
 * expressions that execution evaluates: first the task's parameters, then
 * the values that pruning compares with, then both for the text that keeps
 * rows, and its filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DIST_PLAN_H
#define CITUS_PLANNER_DIST_PLAN_H

#include "nodes/extensible.h"
#include "nodes/params.h"
#include "nodes/plannodes.h"

#include "resolve/tag.h"

typedef enum DistPlanKind
{
	DIST_PLAN_FAST_PATH,		/* one table, one shard, without planning */
	DIST_PLAN_ROUTER,			/* whole statement on one shard group */
	DIST_PLAN_PUSHED_WRITE,		/* UPDATE, DELETE or INSERT .. SELECT on every
								 * shard that remains */
	DIST_PLAN_REFERENCE_WRITE,	/* write of a reference table on every node */
	DIST_PLAN_SCAN,				/* rows of one table, the floor of the
								 * ladder */
} DistPlanKind;

typedef struct DistPlan
{
	DistPlanKind kind;
	CmdType		command;
	Oid			relid;			/* a table of the shard group, or the reference
								 * table */
	const char *text;			/* without tag */
	bool		writes;			/* writes or locks rows */
	bool		reads;			/* a write that reads rows of several shards,
								 * not only to change them */
	TaskTraits	traits;			/* of its tasks; their tenant is set by
								 * dist_plan_pack, -1: a constant, which may
								 * be a parameter (dist_plan_tenant) */
	int			keep_npolicies; /* traits.npolicies of keep_text */
	bool		exclusive;		/* reference write that doesn't commute with
								 * others */
	bool		joins_ctid;		/* a scan that writes or locks rows, whose
								 * ctids are compared with others */
	bool		by_node;		/* its text may read all shards of a node as if
								 * they were one */
	bool		sends;			/* sends its rows to an exchange, and returns
								 * only where to (exchange/exchange_send.c) */
	double		moved_rows;		/* how many it expects to be sent to it, if it
								 * reads no others; else 0 */
	const char *refusal;		/* why the nodes don't compute more; NULL: no
								 * reason */
	bool		can_set_tag;	/* rows written count as the statement's */
	List	   *relids;			/* OidList: tables in the text, if there are
								 * several; NIL: relid */
	int			nparams;		/* parameters of the text */
	int			narrays;		/* the number of last parameters that carry the
								 * child plans' rows (columns as arrays, or an
								 * exchange) and, if it sends, the two for the
								 * destination */
	int			dist_param;		/* expression that is an INSERT's distribution
								 * value, from 0; -1 if none */
	List	   *prune;			/* packed disjunctions (prune_pack) */

	/*
	 * WHERE CURRENT OF: numbers, from 1, of the expression that names the
	 * cursor, and of the parameter for its row's ctid
	 */
	int			current_of;		/* 0 is none */
	int			current_row;

	/*
	 * A scan that is rescanned often may read its rows once and keep them
	 * (executor/scan.c).  That uses a text without the filters whose values
	 * change between rescans, which the initiator then evaluates.  NULL: not
	 * allowed.
	 */
	const char *keep_text;
	int			keep_first;		/* expressions: its parameters from here on, */
	int			keep_nparams;
	int			keep_quals;		/* and the filters from here on */
	List	   *keep_prune;

	/*
	 * The same text for the rows with any of many values, an array behind the
	 * parameters of keep_text: if the executor's parameter look_ahead leads to
	 * what knows them (look_ahead.h; from 1, 0: nothing does).
	 */
	const char *batch_text;
	int			batch_qual;		/* expression: the filter for one of them; 0:
								 * none */
	int			look_ahead;

	int			tableoid_position;	/* slot position of tableoid in a scan that
									 * lists its columns; -1 if none */

	/*
	 * columns that the text returns, and then those that only keep_text
	 * returns
	 */
	int			ncolumns;
	List	   *positions;		/* IntList: slot position from 0, or system
								 * attribute */
	List	   *types;			/* IntList of oids */
	List	   *typmods;		/* IntList */
} DistPlan;

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods dist_scan_methods;

/* Packs a DistPlan; exprs are the node's custom_exprs. */
extern List *dist_plan_pack(DistPlan *plan, const List *exprs);
extern void dist_plan_unpack(const CustomScan *node, DistPlan *plan);

/* Unpacks the fields that aren't pointers only; the pointers are NULL. */
extern const DistPlan *dist_plan_peek(const CustomScan *node);

/* Sets look_ahead of a packed plan. */
extern void dist_plan_look_ahead(CustomScan *node, int param);

/*
 * Whether its tasks must read as of one point in time: they read rows of
 * several shards, not only to change them.
 */
extern bool dist_plan_reads_as_of(const DistPlan *plan);

/*
 * The number, from 1, of the parameter that is the single distribution value
 * of the plan; 0 if there is none.  params: the evaluated ones.
 */
extern int	dist_plan_tenant(const DistPlan *plan, const List *exprs, ParamListInfo params);

/* Name of the rung, for EXPLAIN. */
extern const char *dist_plan_kind_name(DistPlanKind kind);

/*
 * Whether an expression needs values of other nodes of the plan; a tree
 * walker, context is NULL.
 */
extern bool needs_exec_params(Node *node, void *context);

/* Whether a plan node is a DistributedScan. */
extern bool is_dist_scan(const Plan *node);

#endif							/* CITUS_PLANNER_DIST_PLAN_H */
