/*-------------------------------------------------------------------------
 *
 * sequence.c
 *	  Sequences of tables: their owners, and their next values on other nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/sequence.h"

char *
sequence_adopt_command(Oid seqid)
{
	NodeArgument last = node_text(NULL);
	LOCAL_FCINFO(fcinfo, 1);

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = ObjectIdGetDatum(seqid);
	fcinfo->args[0].isnull = false;
	if (metadata_local_group() != COORDINATOR_GROUP)
	{
		Datum		value = pg_sequence_last_value(fcinfo);

		if (!fcinfo->isnull)
			last = node_bigint(DatumGetInt64(value));
	}
	return node_call(NODE_adopt_sequence, node_text(relation_qualified_name(seqid)), last, node_bool(true));
}

Oid
owner_of_sequence(Oid relid)
{
	Oid			table;
	int32		column;

	if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_SEQUENCE &&
		(sequenceIsOwned(relid, DEPENDENCY_AUTO, &table, &column) ||
		 sequenceIsOwned(relid, DEPENDENCY_INTERNAL, &table, &column)))
		return table;
	return InvalidOid;
}

bool
sequence_is_of_dist_table(Oid relid)
{
	return metadata_lookup(owner_of_sequence(relid)) != NULL;
}
