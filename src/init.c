/*-------------------------------------------------------------------------
 *
 * init.c
 *	  Entry point of the library: calls each module's init.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "catalog/metadata.h"
#include "catalog/node.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/*
 * Refuses to load other than by shared_preload_libraries: shared memory,
 * hooks and the daemon need it.
 */
static void
check_preload(void)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("citus can only be loaded via shared_preload_libraries"),
				 errhint("Add citus to shared_preload_libraries in postgresql.conf, in front of other "
						 "libraries, and restart the server.")));
}

void
_PG_init(void)
{
	check_preload();

	metadata_init();
	node_init();
}
