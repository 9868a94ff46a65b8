/*-------------------------------------------------------------------------
 *
 * policy_scope.c
 *	  Policies that only one node could check.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/indexing.h"
#include "catalog/pg_policy.h"
#include "utils/lsyscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/object_scope.h"
#include "table/policy_scope.h"

void
policies_check_scope(Oid relid)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(PolicyRelationId, PolicyPolrelidPolnameIndexId, Anum_pg_policy_polrelid, relid))
	{
		const Form_pg_policy form = (Form_pg_policy) GETSTRUCT(row->tuple);
		ObjectAddress policy;

		ObjectAddressSet(policy, PolicyRelationId, form->oid);
		if (object_is_local(&policy))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("policy \"%s\" of table \"%s\" uses a table that only this node has", NameStr(form->polname), get_rel_name(relid)),
					 errdetail("Every node checks the policies of a distributed or reference table."),
					 errhint("Make that table a reference table, or a distributed one, first.")));
	}
}
