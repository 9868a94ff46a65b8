/*-------------------------------------------------------------------------
 *
 * truncate_triggers.h
 *	  TRUNCATE triggers of distributed and reference tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_TRUNCATE_TRIGGERS_H
#define CITUS_DDL_TRUNCATE_TRIGGERS_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Oids of the tables that TRUNCATE names, and of those that CASCADE adds: the
 * user needs the right to truncate each.  *all: with their partitions, for
 * which no right is needed.
 */
extern List *truncated_tables(List *relations, bool cascade, List **all);

/* Whether any of the tables has triggers for TRUNCATE. */
extern bool have_truncate_triggers(List *relids);

/* Fires them, before and after the statement. */
extern void truncate_triggers_before(List *relids);
extern void truncate_triggers_after(List *relids);

/*
 * Hides them from the server's TRUNCATE of these locked tables on this node.
 * After it, or after an error, one of the other functions must be called.
 */
extern void truncate_triggers_hide(List *relids);
extern void truncate_triggers_show(List *relids);
extern void truncate_triggers_forget(void);

/* TRUNCATE has checked a table and will open it next (OAT_TRUNCATE). */
extern void truncate_triggers_checked(Oid relid);

extern void truncate_triggers_init(void);

#endif							/* CITUS_DDL_TRUNCATE_TRIGGERS_H */
