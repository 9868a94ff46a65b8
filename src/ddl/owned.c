/*-------------------------------------------------------------------------
 *
 * owned.c
 *	  REASSIGN OWNED and DROP OWNED.
 *
 * To the server a shard is a relation like others, so the statement changes
 * this node's shards with their tables.  Other nodes get it as well if one of
 * the roles owns, or may do, something with a distributed table; what else
 * the roles own there is changed likewise.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_shdepend.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "ddl/drop.h"
#include "ddl/handlers.h"
#include "table/sequence.h"

/* Whether an object exists on all nodes: a table or its sequence, or a schema of one. */
static bool
is_everywhere(Oid classid, Oid objid)
{
	ListCell   *cell;

	if (classid == RelationRelationId)
		return metadata_lookup(objid) != NULL || sequence_is_of_dist_table(objid);
	if (classid != NamespaceRelationId)
		return false;
	foreach(cell, metadata_tables(0))
	{
		if (get_rel_namespace(lfirst_oid(cell)) == objid)
			return true;
	}
	return false;
}

/* Whether the role owns, or has rights on, something that exists on all nodes. */
static bool
has_part_in_tables(Oid role)
{
	Relation	catalog = table_open(SharedDependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&keys[0], Anum_pg_shdepend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(AuthIdRelationId));
	ScanKeyInit(&keys[1], Anum_pg_shdepend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(role));
	scan = systable_beginscan(catalog, SharedDependReferenceIndexId, true, NULL, 2, keys);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_shdepend form = (Form_pg_shdepend) GETSTRUCT(tuple);

		found = form->dbid == MyDatabaseId && is_everywhere(form->classid, form->objid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

bool
owned_utility(UtilityCall *call)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	List	   *roles = IsA(stmt, DropOwnedStmt) ? castNode(DropOwnedStmt, stmt)->roles :
		castNode(ReassignOwnedStmt, stmt)->roles;
	bool		found = false;
	ListCell   *cell;

	if (call->relayed)
		return false;
	foreach(cell, roles)
	{
		Oid			role = get_rolespec_oid(lfirst(cell), true);

		found = found || (OidIsValid(role) && has_part_in_tables(role));
	}
	if (!found)
		return false;
	utility_check_initiator(call);
	utility_run(call);
	CommandCounterIncrement();
	drop_follow_up(call);
	utility_relay(call);
	return true;
}
