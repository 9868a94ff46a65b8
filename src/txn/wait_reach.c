/*-------------------------------------------------------------------------
 *
 * wait_reach.c
 *	  Which nodes a search for deadlocks has to ask.
 *
 * A cycle that this node could break goes through a process of this node that
 * waits for a lock.  So the search begins with these, and follows what they
 * may wait for: the holders of the locks, the processes that are to end
 * prepared transactions, the sessions that a session at work has opened, and
 * the openers of a session.  A session's row doesn't tell who has opened it,
 * but for which client's session it works.  If that one hasn't opened it
 * itself, all sessions that it has opened, directly or not, are followed.
 *
 * Nodes that no process of this node waits for aren't asked, however many
 * there are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "txn/private.h"
#include "txn/wait_reach.h"

typedef struct ProcKey
{
	int32		groupid;
	int32		pid;
} ProcKey;

/* A process that a process of this node may wait for. */
typedef struct ReachedProc
{
	ProcKey		key;			/* must be first */
	ProcKey		root;			/* the session that it works for; pid 0: not
								 * known */
	char		state;			/* WAIT_STATE_*; 0: not known */
	bool		linked;			/* its root has opened it */
	bool		spread;			/* all that it has opened is followed */
} ReachedProc;

typedef struct WaitReach
{
	HTAB	   *procs;
	bool		changed;
	bool		all;			/* a node doesn't tell for whom its sessions
								 * work */
} WaitReach;

static ReachedProc *
find_reached(WaitReach *reach, int32 groupid, int32 pid)
{
	ProcKey		key = {groupid, pid};

	return hash_search(reach->procs, &key, HASH_FIND, NULL);
}

static ReachedProc *
add_reached(WaitReach *reach, int32 groupid, int32 pid)
{
	ProcKey		key = {groupid, pid};
	bool		found;
	ReachedProc *proc = hash_search(reach->procs, &key, HASH_ENTER, &found);

	if (!found)
	{
		memset((char *) proc + sizeof(ProcKey), 0, sizeof(ReachedProc) - sizeof(ProcKey));
		reach->changed = true;
	}
	return proc;
}

/* A process that is reached has opened a session. */
static void
follow_connection(WaitReach *reach, const ReachedProc *opener, const WaitRow *row)
{
	ReachedProc *session = find_reached(reach, row->values[3], row->values[4]);
	bool		spread = opener->spread;
	bool		links = opener->root.pid == opener->key.pid && opener->root.groupid == opener->key.groupid;

	if (session == NULL && !spread && opener->state != WAIT_STATE_BUSY)
		return;
	if (session == NULL)
		session = add_reached(reach, row->values[3], row->values[4]);
	if (spread && !session->spread)
		session->spread = reach->changed = true;
	session->linked = session->linked || links || spread;
}

/* What a process that is reached does, and for whom. */
static void
follow_process(WaitReach *reach, ReachedProc *proc, const WaitRow *row)
{
	if (proc->state == 0)
		reach->changed = true;
	proc->state = row->what[0];
	proc->root.groupid = row->values[3];
	proc->root.pid = row->values[4];
	if (proc->root.pid == 0)
		reach->all = true;
	else
		(void) add_reached(reach, proc->root.groupid, proc->root.pid);
}

static void
follow_row(WaitReach *reach, const WaitRow *row)
{
	ReachedProc *proc = find_reached(reach, row->groupid, row->values[1]);
	ParsedGid	parsed;

	if (proc == NULL)
		return;
	if (row->values[0] == 'p')
		follow_process(reach, proc, row);
	else if (row->values[0] == 'l')
		(void) add_reached(reach, row->groupid, row->values[4]);
	else if (row->values[0] == 'x' && gid_parse(row->gid, &parsed))
		(void) add_reached(reach, parsed.groupid, parsed.pid);
	else if (row->values[0] == 'c')
		follow_connection(reach, proc, row);
}

/* Has the roots followed that have not opened what works for them. */
static void
spread_roots(WaitReach *reach, const Bitmapset *asked)
{
	HASH_SEQ_STATUS status;
	ReachedProc *proc;

	hash_seq_init(&status, reach->procs);
	while ((proc = hash_seq_search(&status)) != NULL)
	{
		ReachedProc *root = proc->root.pid == 0 ? NULL : find_reached(reach, proc->root.groupid, proc->root.pid);

		if (root == NULL || root == proc || proc->linked || root->spread || !bms_is_member(root->key.groupid, asked))
			continue;
		root->spread = true;
		reach->changed = true;
	}
}

Bitmapset *
wait_reach(List *rows, const Bitmapset *asked)
{
	HASHCTL		info = {.keysize = sizeof(ProcKey),.entrysize = sizeof(ReachedProc),.hcxt = CurrentMemoryContext};
	WaitReach	reach = {.procs = hash_create("processes waited for", 64, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT)};
	Bitmapset  *groups = NULL;
	HASH_SEQ_STATUS status;
	ReachedProc *proc;

	foreach_ptr(WaitRow, row, rows)
		if (row->groupid == metadata_local_group() && (row->values[0] == 'l' || row->values[0] == 'x'))
			(void) add_reached(&reach, row->groupid, row->values[1]);
	do
	{
		reach.changed = false;
		foreach_ptr(WaitRow, row, rows)
			follow_row(&reach, row);
		spread_roots(&reach, asked);
	} while (reach.changed);

	hash_seq_init(&status, reach.procs);
	while ((proc = hash_seq_search(&status)) != NULL)
		if (proc->key.groupid >= 0)
			groups = bms_add_member(groups, proc->key.groupid);
	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
		if (reach.all)
			groups = bms_add_member(groups, node->groupid);
	hash_destroy(reach.procs);
	return groups;
}
