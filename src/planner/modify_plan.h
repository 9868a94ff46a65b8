/*-------------------------------------------------------------------------
 *
 * modify_plan.h
 *	  The contents of a DistributedModify plan node.
 *
 * The node takes the place of ModifyTable.  Its child, executed by PostgreSQL,
 * computes the rows to write; the node groups them by shard and applies them
 * by texts whose parameters are arrays of rows:
 *
 *	  INSERT .. SELECT .. FROM unnest($1::t[])  [ON CONFLICT ..]
 *	  UPDATE .. FROM unnest(ctids, new rows) WHERE t.ctid = ..
 *	  DELETE .. USING unnest(ctids) WHERE t.ctid = ..
 *
 * Rows of a partitioned table, whose partitions the child scans one by one,
 * are identified by the partition's shard as well.
 *
 * If an INSERT with ON CONFLICT fires row triggers, or the nodes can't execute
 * the clause, its text inserts rows that don't conflict, locks the rows that
 * others conflict with, and returns both (modify_upsert_text).
 *
 * Rows of a reference table, whose ctids differ between nodes, are identified
 * by their image (executor/row_image.h): they are looked up by a key, and
 * compared by the image.  Without a key, a node finds as many rows with an
 * image as there are changes for it (citus_internal.row_places).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_MODIFY_PLAN_H
#define CITUS_PLANNER_MODIFY_PLAN_H

#include "lib/stringinfo.h"
#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "catalog/metadata.h"
#include "compat/merge.h"
#include "resolve/tag.h"

/* Names of the junk columns that modify_prepare adds to the child's result. */
#define JUNK_DIST_COLUMN "citus_dist"
#define JUNK_OLD_ROW "citus_row"

/*
 * In the place of a position in the child's result: a column of the scan tuple
 * that RETURNING doesn't use.  In an INSERT it is one of the excluded row.
 */
#define COLUMN_EXCLUDED (-1)

/*
 * The same: a column of the row that ON CONFLICT DO UPDATE has changed, as it
 * was, which nodes return.
 */
#define COLUMN_OLD (-2)

/*
 * The same in MERGE: a column of the new row, which nodes return, null if the
 * row was deleted; and merge_action().
 */
#define COLUMN_NEW (-3)
#define COLUMN_ACTION (-4)

/* One WHEN clause of MERGE. */
typedef struct ModifyAction
{
	MergeMatchKind kind;		/* which rows it is for */
	CmdType		command;		/* CMD_NOTHING for DO NOTHING */
	int			qual;			/* index into the expressions; -1 is none */
	int			first_target;	/* index of the first value */
	List	   *colnos;			/* IntList: attribute number of each value */
} ModifyAction;

typedef struct ModifyPlan
{
	Oid			relid;
	TaskTraits	traits;			/* of its tasks */
	CmdType		command;
	bool		can_set_tag;
	bool		has_returning;
	bool		moves_rows;		/* an UPDATE that assigns the distribution
								 * column */
	bool		replaces_rows;	/* an UPDATE that nodes would refuse (of an
								 * identity column): always DELETE and
								 * INSERT */
	bool		may_skip;		/* ON CONFLICT can leave input rows without
								 * result */
	bool		do_update;		/* ON CONFLICT DO UPDATE */
	bool		resolves;		/* the initiator resolves ON CONFLICT: it fires
								 * triggers, the nodes can't, or another part
								 * of the statement writes the table */
	bool		notes_written;	/* nodes return the ctids of the rows that they
								 * write, for conflicts with them */
	bool		row_texts;		/* rows travel as text (modify_sends_texts) */
	bool		streams;		/* an INSERT whose rows are sent by COPY if
								 * they are many (executor/modify_stream.c) */
	bool		reads_first;	/* the child must be read first, since it might
								 * see rows that are stored meanwhile */
	bool		row_by_row;		/* each row is written before the next one's
								 * triggers fire */
	List	   *arbiters;		/* OidList: global indexes that ON CONFLICT is
								 * about; then also row_by_row */
	int			commands;		/* COMMAND_BITs of what it may do */
	int			triggers;		/* COMMAND_BITs of the triggers that it may
								 * fire, see write_fires */
	List	   *assigned;		/* IntList: columns that any of its clauses
								 * assigns */
	List	   *update_colnos;	/* IntList: attribute number of the child's
								 * n-th column */
	int			ctid_resno;		/* in the child's result; 0 is none */
	int			dist_resno;
	int			row_resno;
	int			partition_resno;	/* of the partition's oid; 0: the table
									 * isn't partitioned */
	List	   *key_attnos;		/* IntList: the columns by which nodes look up
								 * a reference table's rows; NIL: none are
								 * unique */
	int			nconflict_params;	/* leading expressions: parameters from $2
									 * on */
	int			first_check;	/* index of the first expression of checks */
	int			condition;		/* of MERGE: index of the expression that tells
								 * rows with a match from those without a
								 * source; -1: there are no clauses for the
								 * latter */
	List	   *checks;			/* for each expression from there on: kind of
								 * WithCheckOption, and names of the view or
								 * table and the policy */
	List	   *attnos;			/* IntList: target columns that nodes return */
	List	   *old_attnos;		/* IntList: columns of rows before DO UPDATE
								 * that nodes return, after those */
	List	   *column_attnos;	/* IntLists, parallel: columns of the scan
								 * tuple */
	List	   *column_resnos;	/* COLUMN_EXCLUDED: of the row that was not
								 * inserted */
	List	   *actions;		/* see modify_action_pack; of an INSERT
								 * that resolves conflicts, DO UPDATE */
	char	   *upsert_text;	/* if it resolves conflicts */
	char	   *insert_text;
	char	   *again_text;		/* for ON CONFLICT DO UPDATE: the text after
								 * the statement has written other rows */
	char	   *update_text;
	char	   *delete_text;
	char	   *move_text;		/* the delete_text for rows that are inserted
								 * into other shards */
} ModifyPlan;

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods dist_modify_methods;

/* Whether a plan node is a DistributedModify. */
extern bool is_dist_modify(const Plan *node);

/* The plan as the private list of a CustomScan, and back. */
extern List *modify_plan_pack(const ModifyPlan *plan);
extern void modify_plan_unpack(const CustomScan *node, ModifyPlan *plan);

/* Packing and unpacking of a MERGE action. */
extern List *modify_action_pack(const ModifyAction *action);
extern void modify_action_unpack(const List *packed, ModifyAction *action);

/*
 * modify_text.c: whether whole rows of a table travel as text, since it has
 * columns of domains, or with domains inside (executor/row_texts.c).
 */
extern bool modify_sends_texts(Oid relid);

/*
 * The texts that apply rows; palloc'd.  root is of an INSERT,
 * whose ON CONFLICT belongs to its text, or NULL.  again: DO UPDATE errors for
 * a row that the statement has written before (citus_internal.upsert_once).
 */
extern char *modify_insert_text(const DistTable *table, List *attnos, List *old_attnos, PlannerInfo *root, bool again,
								List **exprs);

/*
 * Inserts the rows that don't conflict, and locks those that others conflict
 * with, if ON CONFLICT is DO UPDATE.  Returns for each: position in the batch
 * from 1; tid and old row, null if it was inserted; and if it was, the columns
 * attnos.
 */
extern char *modify_upsert_text(const DistTable *table, List *attnos, PlannerInfo *root, List **exprs);
#define UPSERT_FIXED_COLUMNS 3
extern char *modify_update_text(const DistTable *table, List *colnos, List *key_attnos, List *attnos);
extern char *modify_delete_text(const DistTable *table, List *key_attnos, List *attnos);

/*
 * modify_returning.c: makes the columns of MERGE's target (range table entry
 * varno) in RETURNING expressions others than its actions' columns, which are
 * from before the write.  Returns a copy.
 */
extern List *modify_wrap_returned(List *exprs, Index varno);

/*
 * The columns that RETURNING expressions use: Var, PlaceHolderVar,
 * MergeSupportFunc, and wrapped ones.
 */
extern List *modify_columns_in(Node *exprs);

/*
 * Appends these to the scan tuple, whose first columns, of MERGE, are the
 * child's.  Columns of the target are those that nodes return; the child has
 * computed those of other tables.
 */
extern void modify_returned_columns(ModifyPlan *plan, List *exprs, Index varno, List *child_tlist, List **scan_tlist);

/*
 * row_key.c: columns that no two rows of a table have in common at any time,
 * and that are never null, to look rows up by; NIL if there are none.
 */
extern List *row_key_columns(Oid relid);

/*
 * Appends the condition that key columns of "t" are those of "r", where they
 * are called "citus k1" and so on.
 */
extern void row_key_condition(StringInfo text, Oid relid, List *key_attnos);

/*
 * conflict.c: whether the node of a shard can execute a clause: a text can
 * express it, the node can evaluate it, and the row stays in the shard.
 */
extern bool conflict_is_shippable(OnConflictExpr *clause, const DistTable *table);

/*
 * The global indexes (OidList) that a statement's clause is about, whose
 * conflicts are with rows of all shards: the one that it names, or all.
 * Errors as the server does if it names none.
 */
extern List *conflict_global_arbiters(PlannerInfo *root, const DistTable *table);

/*
 * Whether several queries of the statement that is being planned write a
 * table's partition tree, one of them with ON CONFLICT DO UPDATE.  As on a
 * single server, that must fail for a row that another query has written: the
 * initiator looks for conflicts with these.
 */
extern bool conflict_meets_written(Oid relid);

/*
 * Sets what the initiator needs to resolve conflicts with the rows of range
 * table entry varno, and adds columns to the scan tuple: of the old row, and
 * of the one that was not inserted.
 */
extern void conflict_prepare(ModifyPlan *plan, OnConflictExpr *clause, Index varno, List **scan_tlist);

/*
 * Makes DO UPDATE an action of the plan; returns exprs with its expressions
 * appended.
 */
extern List *conflict_add_action(ModifyPlan *plan, OnConflictExpr *clause, List *exprs);

#endif							/* CITUS_PLANNER_MODIFY_PLAN_H */
