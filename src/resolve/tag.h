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
 *
 * Words in front of the end say more, TaskReads, TaskTraits and its flags say
 * what (tag_words in tag.c): / *citus:shard 3.-64:63 policies 2 as alice* / .
 * All is written here with a blank inside the comment marks.
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
#include "lib/trace.h"

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

/*
 * Which of the rows a task reads that shards have had; not the present ones
 * only in reads of TAG_SHARD.
 */
typedef enum TaskReads
{
	TASK_READS_PRESENT,			/* of shards that are here */
	TASK_READS_FORMER,			/* of shards that have been moved away or
								 * replaced, what former_group has of them */
	TASK_READS_LATE,			/* as PRESENT, or as FORMER if the shards are
								 * not here (any more) */
} TaskReads;

/*
 * What a plan says about all of its tasks, and their tags tell the nodes.
 * Embedded by plans and specifications of tasks, which copy it as a whole.
 */
typedef struct TaskTraits
{
	int			flags;			/* TASK_FILTERED and the like */
	int			npolicies;		/* if TASK_FILTERED: conditions of the text
								 * that are policies of its table */
	int			tenant;			/* TAG_SHARD only: the parameter that is the
								 * value of the distribution columns that the
								 * statement is about, from 1; 0 none, or
								 * TENANT_IS_GROUP */
	Oid			check_as;		/* the role whose rights to tables are checked
								 * (a view's owner); InvalidOid: the current
								 * user */
	int			explain;		/* not 0: keep the plan for the initiator's
								 * EXPLAIN ANALYZE (TASK_EXPLAIN_*) */
} TaskTraits;

typedef struct TaskTag
{
	TaskTagKind kind;
	int			colocation_id;	/* TAG_SHARD only, as all up to traits */
	HashRange	range;			/* the first of a set */
	List	   *runs;			/* all of a set (ShardRun *); NIL for one
								 * shard */
	TaskReads	reads;
	const HashRange *part;		/* of one shard, only these rows are read;
								 * NULL: all */
	const TraceContext *trace;	/* that the task belongs to (lib/trace.h);
								 * NULL: none */
	TaskTraits	traits;
} TaskTag;

/* The statement's tenant is all of its colocation group: a schema. */
#define TENANT_IS_GROUP (-1)

/*
 * Bits of TaskTraits.flags.  First the rights and policies that the initiator
 * checks, TAG_SHARD and TAG_NODE only.
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
#define TASK_ALLOWED 512		/* it may write: an UPDATE that moves rows
								 * needs no right to delete and insert them */
#define TASK_UNPUBLISHED 32		/* logical decoding ignores what it writes
								 * (txn/unpublished.h); also TAG_FRAMES */

/* And TAG_SHARD only. */
#define TASK_CALL 64			/* a call, whose statements are all for this
								 * node */
#define TASK_PROCEDURE 1024		/* a call that may end transactions, in a
								 * plan; not in a tag */
#define TASK_AS_OF 128			/* run as of the point in time that
								 * citus.snapshot names */
#define TASK_PARTIAL 256		/* aggregates return their transition states */

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
 * passed to a hook.  Errors if the tag is not from a node, is damaged, or
 * names a role that doesn't exist.
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

/* The tag as text, with one blank after it, palloc'd.  Not for TAG_NONE. */
extern char *task_tag_write(const TaskTag *tag);

/* The same for a shard. */
extern char *task_tag_shard(int colocation_id, HashRange range);

/* The start of all tags, and tags of utility statements and of nodes. */
#define TASK_TAG_START "/*citus:"
#define TASK_TAG_DDL "/*citus:ddl*/ "
#define TASK_TAG_NODE "/*citus:node*/ "
#define TASK_TAG_NODE_UNPUBLISHED "/*citus:node unpublished*/ "

#endif							/* CITUS_RESOLVE_TAG_H */
