/*-------------------------------------------------------------------------
 *
 * object_lock.c
 *	  Locks on names of objects, which statements about them take first.
 *
 * A statement about an object runs on its initiator, then on the other nodes.
 * If two nodes start such statements about the same object at once, each holds
 * the object on its own node and waits for the other.  So the initiator first
 * locks the object's name on the coordinator, and the second one waits there
 * before it holds a lock.  The lock is on the name because the object may not
 * exist yet; the name has no schema, since that may come from search_path.
 * Two objects of the same name only wait for each other.
 *
 * Then the name is locked on all other nodes: a transaction that has committed
 * on the coordinator may still be committing there, and the lock shows that it
 * has ended, with its cache invalidations sent.
 *
 * Names are hashed to lock tags, and taken in the order of their hashes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "catalog/pg_type.h"
#include "utils/array.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "compat/sql_function.h"
#include "objects/object_lock.h"
#include "remote/connection.h"
#include "remote/node_call.h"

SQL_FUNCTION(citus_internal_lock_object_names);

static void
lock_key(Oid key)
{
	LockDatabaseObject(dist_relid(PG_DIST_OBJECT), key, 0, ExclusiveLock);
}

/* The names' hashes, sorted and each once. */
static List *
keys_of_names(List *names)
{
	List	   *keys = NIL;

	foreach_ptr(const char, name, names)
		keys = list_append_unique_oid(keys, hash_bytes((const unsigned char *) name, strlen(name)));
	list_sort(keys, list_oid_cmp);
	return keys;
}

void
object_lock_names(List *names)
{
	List	   *keys = keys_of_names(names);

	if (keys == NIL)
		return;
	if (metadata_local_group() != 0)
		remote_exec(0, node_call(NODE_lock_object_names, node_oids(keys)));
	foreach_oid(key, keys)
		lock_key(key);
	remote_exec_on_all(node_call(NODE_lock_object_names, node_oids(keys)));
}

/*
 * citus_internal.lock_object_names(keys oid[]): for another node's
 * object_lock_names.
 */
Datum
citus_internal_lock_object_names(PG_FUNCTION_ARGS)
{
	Datum	   *keys;
	bool	   *nulls;
	int			count;

	node_function_check(fcinfo);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), OIDOID, sizeof(Oid), true, TYPALIGN_INT, &keys, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			lock_key(DatumGetObjectId(keys[i]));
	}
	PG_RETURN_VOID();
}
