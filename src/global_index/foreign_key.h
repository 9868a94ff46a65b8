/*-------------------------------------------------------------------------
 *
 * foreign_key.h
 *	  Foreign keys between rows of different nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GLOBAL_INDEX_FOREIGN_KEY_H
#define CITUS_GLOBAL_INDEX_FOREIGN_KEY_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/htup.h"
#include "nodes/pg_list.h"

/* A foreign key, as pg_constraint has it. */
typedef struct GlobalKey
{
	Oid			oid;
	char	   *name;
	Oid			child;			/* the table that references */
	Oid			parent;			/* the one that is referenced */
	Oid			index;			/* of parent */
	int			count;
	AttrNumber	child_attnos[INDEX_MAX_KEYS];
	AttrNumber	parent_attnos[INDEX_MAX_KEYS];
	Oid			types[INDEX_MAX_KEYS];	/* by which keys are compared, without
										 * domains: the parent's, or, if it is
										 * converted implicitly, the child's */
	Oid			collations[INDEX_MAX_KEYS]; /* the parent's */
	Oid			child_types[INDEX_MAX_KEYS];
	Oid			parent_types[INDEX_MAX_KEYS];
	Oid			child_casts[INDEX_MAX_KEYS];	/* to types, where needed */
	Oid			parent_casts[INDEX_MAX_KEYS];
	char		match;
	char		on_update;
	char		on_delete;
	bool		deferrable;
	bool		deferred;
	bool		valid;
	Oid			root;			/* the key that it is inherited from;
								 * InvalidOid: none */
	bool		is_part;		/* inherited by the parent, which is a
								 * partition (foreign_key_whole); else by the
								 * child */
	bool		together;		/* its rows are on one node: it is global for
								 * its action, and shards may have it */
	int			nset;			/* 0: ON DELETE SET changes all columns */
	AttrNumber	set_attnos[INDEX_MAX_KEYS];
} GlobalKey;

extern void global_key_init(void);

/* From its row; errors if there is none. */
extern GlobalKey *global_key_of_tuple(HeapTuple tuple);
extern GlobalKey *global_key_load(Oid constraint);

/*
 * Whether a key that foreign_key_becomes_global is enforced, or may be by
 * citus.global_indexes.  Errors (0A000) if so, and it is of an unsupported
 * kind.
 */
extern bool global_key_check(HeapTuple tuple);

/*
 * On the initiator of DDL, at its end, and after global_indexes_create: has
 * all nodes enforce the foreign keys of and to a table that they don't enforce
 * yet, and in the place of the shards those whose actions now change global
 * indexes or keys, of other tables, too, which this locks.  Errors with 23503
 * if rows violate one that isn't NOT VALID, and with 0A000 as
 * global_key_check.  kept: none of the keys that shards may have is new, so
 * they hold.
 */
extern void global_keys_create(Oid relid, bool kept);

/* Checks all rows for VALIDATE CONSTRAINT; names: List of char *. */
extern void global_keys_validate(Oid relid, List *names);

/*
 * Has the triggers of a table's foreign keys, on this node, be deferrable as
 * their constraints are now.
 */
extern void global_keys_set_modes(Oid relid);

/* No longer enforces the foreign keys of and to a table, on this node. */
extern void global_keys_detach(Oid relid);

/* Commands that do it on a node that has just got the table. */
extern List *global_key_commands(Oid relid);

/*
 * Before a table is detached from the partitioned one, on the initiator, with
 * both locked: locks the tables that reference the latter, and errors with
 * 23503 if one of their rows references the partition.
 */
extern void global_keys_check_detach(Oid partition);

/* Errors with 23503 if a row of the child references one of the parent. */
extern void global_key_check_unused(const GlobalKey *key);

/* Errors with 23503 if a row of the child has no parent. */
extern void global_key_check_rows(const GlobalKey *key);

#endif							/* CITUS_GLOBAL_INDEX_FOREIGN_KEY_H */
