/*-------------------------------------------------------------------------
 *
 * exported_snapshot.c
 *	  Snapshots over all nodes that other sessions import.
 *
 * pg_export_snapshot() exports a snapshot of one node.  So the exporting
 * transaction first fixes its point in time on all nodes, and has each other
 * node export the snapshot of its part of the transaction.  Their ids are
 * written to a file beside the server's own file of the exported snapshot; a
 * transaction that imports that snapshot with SET TRANSACTION SNAPSHOT imports
 * the others, too.
 *
 * The file is named after the exporting transaction, whose number the server's
 * snapshot ids begin with, since all its exported snapshots are of the same
 * time.  It is removed when the transaction ends or, like the server's own
 * file, when a server starts after a crash.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/node_session.h"
#include "compat/proc.h"
#include "compat/sql_function.h"
#include "txn/dist_transaction.h"
#include "txn/exported_snapshot.h"
#include "txn/snapshot.h"

SQL_FUNCTION(citus_internal_snapshot_export);

#define EXPORT_COMMAND "SELECT citus_internal.snapshot_export()"
#define ID_SIZE 64

/* "<first two parts of the server's id>-citus" */
#define FILE_FORMAT "pg_snapshots/%08X-%08X-citus"

/* The snapshot that a node has exported. */
typedef struct NodeExport
{
	int32		groupid;
	char		id[ID_SIZE];
} NodeExport;

static void
write_failed(void)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not write file \"%s\": %m", dist_transaction.offer_path)));
}

/*
 * Makes a node export the snapshot of our transaction there, and writes its
 * id.
 */
static void
export_on_node(FILE *file, int32 groupid)
{
	char	   *id = remote_only_value(remote_read(groupid, EXPORT_COMMAND));

	if (fprintf(file, "%d %s\n", groupid, id) <= 0)
		write_failed();
}

void
exported_snapshot_offer(void)
{
	int32		groupid = -1;
	const Bitmapset *groups;
	CommitTimestamp ts;
	FILE	   *file;

	/* the server refuses to export a subtransaction's */
	if (dist_transaction.offer_complete || IsSubTransaction())
		return;
	ts = dist_snapshot_fixed(&groups);
	dist_transaction.offer_path = MemoryContextAlloc(TopTransactionContext, MAXPGPATH);
	snprintf(dist_transaction.offer_path, MAXPGPATH, FILE_FORMAT, (unsigned) PROC_NUMBER(MyProc), (unsigned) PROC_LXID(MyProc));
	file = AllocateFile(dist_transaction.offer_path, PG_BINARY_W);
	if (file == NULL || fprintf(file, UINT64_FORMAT "\n", ts) < 0)
		write_failed();
	while ((groupid = bms_next_member(groups, groupid)) >= 0)
		export_on_node(file, groupid);
	if (FreeFile(file) != 0)
		write_failed();
	dist_transaction.offer_complete = true;
}

/* Opens the file for the server's id of a snapshot; NULL if there is none. */
static FILE *
open_file_of(const char *id)
{
	char		path[MAXPGPATH];
	unsigned	backend;
	unsigned	transaction;

	if (sscanf(id, "%8X-%8X-", &backend, &transaction) != 2)
		return NULL;
	snprintf(path, sizeof(path), FILE_FORMAT, backend, transaction);
	return AllocateFile(path, PG_BINARY_R);
}

bool
exported_snapshot_take(const char *id)
{
	FILE	   *file = open_file_of(id);
	MemoryContext old_context;
	Bitmapset  *groups = NULL;
	CommitTimestamp ts = 0;
	NodeExport	node;

	if (file == NULL)
		return false;
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	dist_transaction.taken_exports = NIL;
	if (fscanf(file, UINT64_FORMAT, &ts) != 1)
		ts = 0;
	while (ts != 0 && fscanf(file, "%d %63s", &node.groupid, node.id) == 2)
	{
		NodeExport *copy = palloc(sizeof(NodeExport));

		*copy = node;
		dist_transaction.taken_exports = lappend(dist_transaction.taken_exports, copy);
		groups = bms_add_member(groups, node.groupid);
	}
	MemoryContextSwitchTo(old_context);
	FreeFile(file);
	if (ts != 0)
		dist_snapshot_adopt(ts, groups);
	return ts != 0;
}

const char *
exported_snapshot_of_group(int32 groupid)
{
	foreach_ptr(NodeExport, node, dist_transaction.taken_exports)
		if (node->groupid == groupid)
			return node->id;
	return NULL;
}

void
exported_snapshot_end(void)
{
	if (dist_transaction.offer_path != NULL && unlink(dist_transaction.offer_path) != 0 && errno != ENOENT)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", dist_transaction.offer_path)));
}

/*
 * citus_internal.snapshot_export() returns text: the id of this node's part of
 * a snapshot that is exported.
 */
Datum
citus_internal_snapshot_export(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	PG_RETURN_TEXT_P(cstring_to_text(ExportSnapshot(GetActiveSnapshot())));
}
