/*-------------------------------------------------------------------------
 *
 * wire_type.c
 *	  How values travel between nodes.
 *
 * The binary form of an array names its element type by oid, and that of a
 * composite the types of its columns; oids of the server's own types are the
 * same everywhere, others are not.  Values of reg* types are oids themselves,
 * and travel as names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "lib/wire_type.h"

/* Whether a type's own send and receive functions exist. */
static bool
has_binary_functions(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = OidIsValid(((Form_pg_type) GETSTRUCT(tuple))->typsend) &&
		OidIsValid(((Form_pg_type) GETSTRUCT(tuple))->typreceive);
	ReleaseSysCache(tuple);
	return result;
}

/* A member of an array or composite: known by the same oid everywhere, and binary itself. */
static bool
member_is_binary(Oid type)
{
	return type < FirstNormalObjectId && wire_type_is_binary(type);
}

static bool
composite_is_binary(Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	bool		result = true;

	for (int i = 0; i < desc->natts && result; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		result = attribute->attisdropped || member_is_binary(attribute->atttypid);
	}
	ReleaseTupleDesc(desc);
	return result;
}

bool
wire_type_is_oid_alias(Oid type)
{
	switch (type)
	{
		case REGCLASSOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGNAMESPACEOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGROLEOID:
		case REGTYPEOID:
			return true;
		default:
			return false;
	}
}

bool
wire_type_is_binary(Oid type)
{
	Oid			element;

	if (wire_type_is_oid_alias(type) || !has_binary_functions(type))
		return false;

	switch (get_typtype(type))
	{
		case TYPTYPE_COMPOSITE:
			return composite_is_binary(type);
		case TYPTYPE_DOMAIN:
			return wire_type_is_binary(getBaseType(type));
		case TYPTYPE_RANGE:
			return wire_type_is_binary(get_range_subtype(type));
		case TYPTYPE_MULTIRANGE:
			return wire_type_is_binary(get_range_subtype(get_multirange_range(type)));
		case TYPTYPE_PSEUDO:
			return type == VOIDOID;
		default:
			element = get_element_type(type);
			return !OidIsValid(element) || member_is_binary(element);
	}
}

Oid
wire_type_oid(Oid type)
{
	return type < FirstNormalObjectId ? type : InvalidOid;
}
