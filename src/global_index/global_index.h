/*-------------------------------------------------------------------------
 *
 * global_index.h
 *	  Unique indexes without the distribution column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GLOBAL_INDEX_GLOBAL_INDEX_H
#define CITUS_GLOBAL_INDEX_GLOBAL_INDEX_H

#include "postgres.h"

#include "access/attnum.h"
#include "utils/rel.h"

#include "compat/foreach.h"

extern void global_index_init(void);

/*
 * The table with an index's entries on this node; InvalidOid if the index is
 * none that is global.
 */
extern Oid	global_index_entries(Oid index);

/*
 * Whether a unique or exclusion index includes the distribution column, with
 * an equality operator.
 */
extern bool index_has_column(Relation index, AttrNumber dist_attno);

/*
 * Errors (0A000) if an index without the distribution column, which the
 * table gets, can't be a global one: by its definition, the table's, or
 * citus.global_indexes.
 */
extern void global_index_check(Relation rel, Relation index, AttrNumber dist_attno);

/*
 * Errors (0A000) if the table has indexes that would become global while
 * others write it.
 */
extern void global_index_check_online(Relation rel, AttrNumber dist_attno);

/*
 * Whether citus.global_indexes allows them; and says, if it asks for that,
 * that an object becomes a global one.
 */
extern bool global_indexes_allowed(void);
extern void global_index_notice(const char *kind, const char *name, const char *detail);

/* Whether a table of entries is being made, in the schema of shards. */
extern bool global_index_makes_entries(void);

/*
 * On the initiator of DDL, at its end: makes the indexes of a distributed
 * table and its partitions global that have to be and aren't, on all nodes,
 * with their entries.  Errors with 23505 if rows have equal keys.
 */
extern void global_indexes_create(Oid relid);

/*
 * The same for one index while others write the table.  global_index_begin,
 * with the table locked against writers on all nodes, has writers maintain the
 * invalid index from then on; after it is committed, entries_fill_online
 * (keys.h) adds what is missing.  If an index can't be filled so, it is to be
 * locked, as for global_indexes_create.
 */
extern bool global_index_fills_online(Relation index);
extern void global_index_begin(Oid relid, Oid index);

/*
 * Makes the global indexes of a table, or those whose entries have values of
 * a column (unless that is InvalidAttrNumber), ordinary ones on this node; the
 * tables with their entries (Oids), for the caller to drop.
 */
extern List *global_indexes_detach(Oid relid, AttrNumber attno);

/*
 * On each node, before a column of the table and its partitions gets other
 * values, by a new type: drops the entries that have the column's values, for
 * global_indexes_create to make them again.
 */
extern void global_indexes_drop_entries(Oid relid, const char *column);

/*
 * Commands that mark a table's global indexes on a node that has just got it.
 */
extern List *global_index_commands(Oid relid);

#endif							/* CITUS_GLOBAL_INDEX_GLOBAL_INDEX_H */
