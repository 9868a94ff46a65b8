/*-------------------------------------------------------------------------
 *
 * wire_type.c
 *	  How values travel between nodes.
 *
 * The binary form of an array names its element type by oid, and that of a
 * composite the types of its columns; oids of the server's own types are the
 * same everywhere, others are not.  The receiver of such a value knows its
 * type, and can replace the oids by those of this node; the sender doesn't
 * know the other node's oids.  Values of reg* types are oids themselves, and
 * are sent as names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "remote/wire_type.h"

/*
 * Types that were looked up lately, each at its oid modulo the size, until one
 * changes.
 */
static WireType known_types[64];
static uint64 type_changes = 0;

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

static bool type_is_binary(Oid type, bool users);

/*
 * A member of an array or composite: binary itself and, unless users' types
 * will do, of the same oid everywhere.
 */
static bool
member_is_binary(Oid type, bool users)
{
	return (users || type < FirstNormalObjectId) && type_is_binary(type, users);
}

static bool
composite_is_binary(Oid type, bool users)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	bool		result = true;

	for (int i = 0; i < desc->natts && result; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		result = attribute->attisdropped || member_is_binary(attribute->atttypid, users);
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

/*
 * Whether a type has a portable binary form; if `users`, with oids of users'
 * types in it.
 */
static bool
type_is_binary(Oid type, bool users)
{
	Oid			element;

	if (wire_type_is_oid_alias(type) || !has_binary_functions(type))
		return false;

	switch (get_typtype(type))
	{
		case TYPTYPE_COMPOSITE:
			return composite_is_binary(type, users);
		case TYPTYPE_DOMAIN:
			return type_is_binary(getBaseType(type), users);
		case TYPTYPE_RANGE:
			return type_is_binary(get_range_subtype(type), users);
		case TYPTYPE_MULTIRANGE:
			return type_is_binary(get_range_subtype(get_multirange_range(type)), users);
		case TYPTYPE_PSEUDO:
			return type == VOIDOID;
		default:
			element = get_element_type(type);
			return !OidIsValid(element) || member_is_binary(element, users);
	}
}

/* Whether a type is a domain, or an array or composite that contains some. */
static bool
is_of_domains(Oid type)
{
	bool		result = get_typtype(type) == TYPTYPE_DOMAIN;
	Oid			element = get_element_type(type);

	if (get_typtype(type) == TYPTYPE_COMPOSITE)
	{
		TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);

		for (int i = 0; i < desc->natts && !result; i++)
			result = !TupleDescAttr(desc, i)->attisdropped && is_of_domains(TupleDescAttr(desc, i)->atttypid);
		ReleaseTupleDesc(desc);
	}
	return result || (OidIsValid(element) && is_of_domains(element));
}

/*
 * A domain's values are received as those of its base type: the node that has
 * them may have stored some before the domain got a constraint that is NOT
 * VALID.
 */
static WireType
look_up(Oid type)
{
	WireType	result = {.type = type};
	Oid			base = getBaseType(type);
	bool		varlena;

	getTypeInputInfo(base, &result.input, &result.ioparam);
	getTypeOutputInfo(type, &result.output, &varlena);
	result.holds_domains = is_of_domains(base);
	result.localizable = type_is_binary(type, true);
	if (result.localizable)
	{
		result.binary = type_is_binary(type, false);
		getTypeBinaryInputInfo(base, &result.receive, &result.ioparam);
		getTypeBinaryOutputInfo(type, &result.send, &varlena);
	}
	return result;
}

WireType
wire_type(Oid type)
{
	WireType   *entry = &known_types[type % lengthof(known_types)];

	if (entry->type != type || !OidIsValid(entry->output))
	{
		uint64		generation = type_changes;
		WireType	found = look_up(type);

		if (generation != type_changes)
			return found;
		*entry = found;
	}
	return *entry;
}

static void
forget_known(void)
{
	type_changes++;
	memset(known_types, 0, sizeof(known_types));
}

static void
type_changed(Datum arg, int cache_id, uint32 hash_value)
{
	forget_known();
}

/* Composite types have columns. */
static void
relation_changed(Datum arg, Oid relid)
{
	forget_known();
}

void
wire_type_init(void)
{
	CacheRegisterSyscacheCallback(TYPEOID, type_changed, (Datum) 0);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/* What is left of a value in binary form. */
typedef struct WireValue
{
	char	   *data;
	int			len;
} WireValue;

/* Takes count bytes off the front. */
static char *
take_bytes(WireValue *value, int count)
{
	char	   *bytes = value->data;

	if (count < 0 || count > value->len)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("a value from another node is cut short")));
	value->data += count;
	value->len -= count;
	return bytes;
}

static int32
take_int32(WireValue *value)
{
	int32		number;

	memcpy(&number, take_bytes(value, sizeof(number)), sizeof(number));
	return (int32) pg_ntoh32((uint32) number);
}

/* Replaces the next oid by a type's. */
static void
replace_oid(WireValue *value, Oid type)
{
	Oid			oid = pg_hton32(type);

	memcpy(take_bytes(value, sizeof(oid)), &oid, sizeof(oid));
}

/* A length, then a value of that length; -1 is null. */
static void
localize_member(Oid type, WireValue *value)
{
	int32		len = take_int32(value);

	if (len >= 0)
		wire_type_localize(type, take_bytes(value, len), len);
}

static void
localize_composite(Oid type, WireValue *value)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	int			count = take_int32(value);

	for (int i = 0; i < desc->natts && count > 0; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		replace_oid(value, TupleDescAttr(desc, i)->atttypid);
		localize_member(TupleDescAttr(desc, i)->atttypid, value);
		count--;
	}
	ReleaseTupleDesc(desc);
}

static void
localize_array(Oid element, WireValue *value)
{
	int			ndim = take_int32(value);

	(void) take_int32(value);	/* flags */
	replace_oid(value, element);
	for (int i = 0; i < ndim; i++)
		(void) take_bytes(value, 2 * sizeof(int32));
	while (value->len > 0)
		localize_member(element, value);
}

static void
localize_range(Oid subtype, WireValue *value)
{
	(void) take_bytes(value, 1);	/* flags */
	while (value->len > 0)
		localize_member(subtype, value);
}

void
wire_type_localize(Oid type, char *data, int len)
{
	WireValue	value = {data, len};
	Oid			element;

	if (type < FirstNormalObjectId)
		return;
	switch (get_typtype(type))
	{
		case TYPTYPE_COMPOSITE:
			localize_composite(type, &value);
			break;
		case TYPTYPE_DOMAIN:
			wire_type_localize(getBaseType(type), data, len);
			break;
		case TYPTYPE_RANGE:
			localize_range(get_range_subtype(type), &value);
			break;
		case TYPTYPE_MULTIRANGE:
			(void) take_int32(&value);	/* number of ranges */
			while (value.len > 0)
				localize_member(get_multirange_range(type), &value);
			break;
		default:
			element = get_element_type(type);
			if (OidIsValid(element))
				localize_array(element, &value);
			break;
	}
}

/* The next member: a length, then a value of that length; -1 is null. */
static Datum
receive_member(Oid type, int32 typmod, WireValue *value, bool *isnull)
{
	int32		len = take_int32(value);

	*isnull = len < 0;
	return *isnull ? (Datum) 0 : wire_type_receive(type, typmod, take_bytes(value, len), len);
}

static Datum
receive_composite(Oid type, WireValue *value)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Datum	   *values = palloc0(sizeof(Datum) * Max(desc->natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(desc->natts, 1));
	int			count = take_int32(value);
	HeapTuple	tuple;

	memset(nulls, true, sizeof(bool) * desc->natts);
	for (int i = 0; i < desc->natts && count > 0; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attisdropped)
			continue;
		(void) take_int32(value);	/* the type */
		values[i] = receive_member(attribute->atttypid, attribute->atttypmod, value, &nulls[i]);
		count--;
	}
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleGetDatum(tuple);
}

static Datum
receive_array(Oid element, int32 typmod, WireValue *value)
{
	int			dims[MAXDIM];
	int			lower[MAXDIM];
	int			ndim = take_int32(value);
	int			count;
	Datum	   *values;
	bool	   *nulls;
	int16		typlen;
	bool		byval;
	char		align;

	if (ndim < 0 || ndim > MAXDIM)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("an array from another node has %d dimensions", ndim)));
	(void) take_bytes(value, 2 * sizeof(int32));	/* flags, the type */
	for (int i = 0; i < ndim; i++)
	{
		dims[i] = take_int32(value);
		lower[i] = take_int32(value);
	}
	count = ArrayGetNItems(ndim, dims);
	values = palloc(sizeof(Datum) * Max(count, 1));
	nulls = palloc(sizeof(bool) * Max(count, 1));
	for (int i = 0; i < count; i++)
		values[i] = receive_member(element, typmod, value, &nulls[i]);
	get_typlenbyvalalign(element, &typlen, &byval, &align);
	return PointerGetDatum(construct_md_array(values, nulls, ndim, dims, lower, element, typlen, byval, align));
}

Datum
wire_type_receive(Oid type, int32 typmod, const char *data, int len)
{
	Oid			base = getBaseTypeAndTypmod(type, &typmod);
	Oid			element = get_element_type(base);
	WireValue	value = {unconstify(char *, data), len};
	StringInfoData buffer;
	Oid			function;
	Oid			ioparam;

	if (is_of_domains(base) && get_typtype(base) == TYPTYPE_COMPOSITE)
		return receive_composite(base, &value);
	if (is_of_domains(base) && OidIsValid(element))
		return receive_array(element, typmod, &value);

	/* receive functions expect a null byte behind the value */
	initStringInfo(&buffer);
	appendBinaryStringInfo(&buffer, data, len);
	getTypeBinaryInputInfo(base, &function, &ioparam);
	return OidReceiveFunctionCall(function, &buffer, ioparam, typmod);
}

Oid
wire_type_oid(Oid type)
{
	return type < FirstNormalObjectId ? type : InvalidOid;
}

int
wire_encoding_begin(void)
{
	int			client_encoding = pg_get_client_encoding();

	if (client_encoding != GetDatabaseEncoding())
		(void) SetClientEncoding(GetDatabaseEncoding());
	return client_encoding;
}

void
wire_encoding_end(int client_encoding)
{
	if (client_encoding != GetDatabaseEncoding())
		(void) SetClientEncoding(client_encoding);
}
