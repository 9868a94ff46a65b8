/*-------------------------------------------------------------------------
 *
 * tag.h
 *	  The comment in front of a task's text that tells the receiving node
 *	  what to do with it.
 *
 *	  / *citus:shard 3.-64:63* /	the statement runs on the shards of
 *								colocation group 3 whose rows have these hash
 *								values (queries and utility)
 *	  / *citus:shards 3.-64:63x77,128:511* /	the statement reads all shards of the colocation group whose
 *								rows have these hash values as if they were one
 *								(resolve/shard_set.h): here several neighbours,
 *								which are cut at hash values of which 77 is
 *								the checksum, and one more
 *	  / *citus:shard 3.-64:63 explain 5* /	as above, and its plan with what was
 *								measured is kept for the initiator
 *	  / *citus:shard 3.-64:63 at* /	as the first, as of the point in time that the
 *								initiator's statement reads as of (citus.snapshot)
 *	  / *citus:shard 3.-64:63 former* /	as the first, a read of shards that were moved away, or were
 *								made of others, later than its snapshot: of
 *								what is here of before
 *	  / *citus:shard 3.-64:63 late* /	as the first, a read that may come after that: the same if the
 *								shard is not here now
 *	  / *citus:shard 3.-64:63 part 0:63* /	as the first, a read of only those rows of the shard: its statement
 *								has read others before shards were merged
 *	  / *citus:shard 3.-64:63 policies 2* /	as the first; the first two conditions of the text are the
 *								policies that decide which rows it finds, see query.c
 *	  / *citus:shard 3.-64:63 partial* /	as the first, aggregates without their
 *								final step (planner/partial_plan.h)
 *	  / *citus:shard 3.-64:63 tenant 2* /	as the first; the second parameter is the value of the
 *								distribution columns that it is about (src/tenants); tenant 0: all of
 *								the colocation group is one tenant, a schema
 *	  / *citus:shard 3.-64:63 lock* /	as the first, a SELECT of one table whose rows are locked to be
 *								deleted: as FOR UPDATE does, but without the right to it
 *	  / *citus:shard 3.-64:63 blind* /	as the first, a write whose statement reads no column of
 *								what it writes: policies for SELECT don't concern it
 *	  / *citus:shard 3.-64:63 unchecked* /	as the first, a write whose new rows the initiator checks,
 *								not the policies here
 *	  / *citus:shard 3.-64:63 moves* /	as the first, a DELETE of rows that go on in other shards: no
 *								foreign key acts as if they were gone
 *	  / *citus:call 3.-64:63* /	a call of a function or procedure that works on these
 *								shards: it uses this node alone, or is refused
 *								(ERRCODE_CALL_NEEDS_NODES)
 *	  / *citus:ddl* /			a utility statement relayed by its initiator:
 *								apply it to the logical table and to the
 *								shards on this node, and relay no further
 *	  / *citus:node* /			a statement relayed by its initiator, to be run
 *								on this node's own copy (reference tables,
 *								plain objects): do not distribute it
 *	  / *citus:frames* /		COPY .. FROM STDIN whose data are frames, each
 *								for one shard (src/copy)
 *	  / *citus:frames unpublished* /	as this or the former; what it writes is not published
 *
 *	  / *citus:shard 3.-64:63 as alice* /	as the first; rights to the tables that it
 *								names are those of this role, a view's owner
 *
 *	  (written here with a blank inside the comment marks)
 *
 * Only nodes may tag: a tag counts in a text that another node has sent
 * (catalog/node_session.h), or that this node has made itself.  The start of
 * a tag is reserved, so in any other text it is an error.  Rights to shards
 * are checked nevertheless; they carry their table's owner, grants and
 * policies.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_TAG_H
#define CITUS_RESOLVE_TAG_H

#include "postgres.h"

#include "nodes/params.h"

#include "catalog/metadata.h"

typedef enum TaskTagKind
{
	TAG_NONE,
	TAG_SHARD,
	TAG_DDL,
	TAG_NODE,
	TAG_FRAMES,
} TaskTagKind;

/* Neighbouring shards that are named together. */
typedef struct ShardRun
{
	HashRange	range;			/* of all of them */
	int			cuts;			/* shard_cuts; 0 for one shard */
} ShardRun;

typedef struct TaskTag
{
	TaskTagKind kind;
	int			colocation_id;	/* TAG_SHARD only */
	HashRange	range;			/* TAG_SHARD only; the first of a set */
	List	   *runs;			/* TAG_SHARD only: all of a set (ShardRun *);
								 * NIL for one shard */
	bool		call;			/* TAG_SHARD only: a call, whose statements
								 * are all for this node */
	bool		snapshot;		/* TAG_SHARD only: run as of the point in time
								 * that citus.snapshot names */
	bool		former;			/* TAG_SHARD only: what former_group has of
								 * the shards */
	bool		late;			/* TAG_SHARD only: the same, if these shards
								 * are not here (any more) */
	bool		in_part;		/* TAG_SHARD only: of one shard, only the rows
								 * in part are read */
	HashRange	part;
	bool		partial;		/* TAG_SHARD only: aggregates return their
								 * transition states */
	int			tenant;			/* TAG_SHARD only: the parameter that is the
								 * value of the distribution columns that the
								 * statement is about, from 1; 0 none, or
								 * TENANT_IS_GROUP */
	int			rights;			/* TASK_FILTERED and the like */
	int			npolicies;		/* if TASK_FILTERED */
	char		as[NAMEDATALEN];	/* the role whose rights to tables are
									 * checked; "": the current user */
	int			explain;		/* not 0: keep the plan for the initiator's
								 * EXPLAIN ANALYZE (TASK_EXPLAIN_*) */
} TaskTag;

/* The statement's tenant is all of its colocation group: a schema. */
#define TENANT_IS_GROUP (-1)

/*
 * Bits of TaskTag.rights: the rights and policies that the initiator checks;
 * TAG_SHARD and TAG_NODE only.
 */
#define TASK_FILTERED 1			/* its text holds the policies of the table
								 * that it reads or changes */
#define TASK_LOCKS 2			/* lock the rows, whatever the rights to
								 * them */
#define TASK_BLIND 4			/* the statement reads nothing of the table
								 * that it writes */
#define TASK_UNCHECKED 8		/* what is written is checked by the
								 * initiator */
#define TASK_MOVES 16			/* the rows that it deletes are inserted into
								 * other shards */
#define TASK_UNPUBLISHED 32		/* logical decoding ignores what it writes
								 * (txn/unpublished.h); also TAG_FRAMES */

/*
 * SQLSTATE of a task for a shard that is not, or no longer, on the node that
 * got it.
 */
#define ERRCODE_SHARD_NOT_HERE MAKE_SQLSTATE('C','T','0','0','1')

/* Bits of TaskTag.explain; the output format stands above them. */
#define TASK_EXPLAIN_ON 1
#define TASK_EXPLAIN_VERBOSE 2
#define TASK_EXPLAIN_COSTS 4
#define TASK_EXPLAIN_BUFFERS 8
#define TASK_EXPLAIN_TIMING 16
#define TASK_EXPLAIN_WAL 32
#define TASK_EXPLAIN_FORMAT_SHIFT 8	/* two bits */
#define TASK_EXPLAIN_SCAN_SHIFT 10	/* distinguishes the scans of a
									 * statement */

/*
 * Reads the tag in front of a source text; false (kind TAG_NONE) if there is
 * none.  NULL is no text.  source must be the pointer that the server has
 * passed to a hook.  Errors if the tag is not from a node, or is damaged.
 */
extern bool task_tag_parse(const char *source, TaskTag *tag);

/*
 * A text of this node's own making, whose tag counts while the server
 * analyses, plans or starts it.  Returns what task_tag_end_own needs, which
 * must be called also after an error.
 */
extern const char *task_tag_begin_own(const char *text);
extern void task_tag_end_own(const char *outer);

/*
 * Runs a tagged command of this node's own making by SPI; returns SPI's
 * result.
 */
extern int	task_tag_execute_own(const char *command, ParamListInfo params);

/*
 * Sets the role whose rights to tables count; InvalidOid: the current user's.
 */
extern void task_tag_set_as(TaskTag *tag, Oid role);

/* The tag as text, with one blank after it, palloc'd; empty for TAG_NONE. */
extern char *task_tag_write(const TaskTag *tag);

/* The same for a shard. */
extern char *task_tag_shard(int colocation_id, HashRange range);

/* The start of all tags, and tags of utility statements and of nodes. */
#define TASK_TAG_START "/*citus:"
#define TASK_TAG_DDL "/*citus:ddl*/ "
#define TASK_TAG_NODE "/*citus:node*/ "
#define TASK_TAG_NODE_UNPUBLISHED "/*citus:node unpublished*/ "

#endif							/* CITUS_RESOLVE_TAG_H */
