/*-------------------------------------------------------------------------
 *
 * row_image.c
 *	  What tells the rows of a reference table apart on all nodes.
 *
 * The copies of a row have different ctids, and the table may have no key.
 * So the initiator of a computed write sends a digest of each old row, its
 * image.  Rows with the same image can't be told apart by any query, except
 * by their place: whichever of them a node changes, the copies stay the same
 * multisets of rows.
 *
 * The bytes of most built-in types are the same everywhere.  Other types may
 * store the same value in several ways (arrays, jsonb) or contain Oids
 * (composite types, regclass); their text is taken, in the form that loses
 * nothing and doesn't depend on settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/sha2.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "compat/sql_function.h"
#include "compat/table_am.h"
#include "compat/virtual_column.h"
#include "executor/row_image.h"
#include "lib/exact_text.h"
#include "remote/wire_type.h"

/* How a column's value becomes bytes. */
typedef enum ImageForm
{
	IMAGE_FIXED,				/* the datum, of a fixed length */
	IMAGE_BYTES,				/* what a varlena holds */
	IMAGE_TEXT,					/* text, which settings don't change */
	IMAGE_EXACT_TEXT,			/* text under exact_text_begin() */
} ImageForm;

typedef struct ImageColumn
{
	ImageForm	form;
	FmgrInfo	output;			/* for text */
} ImageColumn;

struct RowImage
{
	TupleDesc	desc;
	bool		exact_text;		/* a column needs exact_text_begin() */
	ImageColumn *columns;
};

/* The table that the running task writes. */
static Oid	places_allowed = InvalidOid;

static ImageForm
image_form(Oid type)
{
	type = getBaseType(type);
	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
		case JSONOID:
		case XMLOID:
			return IMAGE_BYTES;
		case NUMERICOID:
		case JSONBOID:
			return IMAGE_TEXT;
		default:
			if (type < FirstNormalObjectId && get_typlen(type) > 0 && !wire_type_is_oid_alias(type))
				return IMAGE_FIXED;
			return IMAGE_EXACT_TEXT;
	}
}

RowImage *
row_image_begin(TupleDesc desc)
{
	RowImage   *image = palloc0(sizeof(RowImage));

	image->desc = desc;
	image->columns = palloc0(sizeof(ImageColumn) * Max(desc->natts, 1));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		ImageColumn *column = &image->columns[i];
		Oid			output;
		bool		varlena;

		if (attribute->attisdropped)
			continue;
		column->form = image_form(attribute->atttypid);
		image->exact_text = image->exact_text || column->form == IMAGE_EXACT_TEXT;
		if (column->form == IMAGE_FIXED || column->form == IMAGE_BYTES)
			continue;
		getTypeOutputInfo(attribute->atttypid, &output, &varlena);
		fmgr_info(output, &column->output);
	}
	return image;
}

/* Appends a value's length and bytes. */
static void
append_sized(StringInfo bytes, const char *data, int32 length)
{
	appendBinaryStringInfo(bytes, (const char *) &length, sizeof(length));
	appendBinaryStringInfo(bytes, data, length);
}

static void
append_value(StringInfo bytes, ImageColumn *column, Form_pg_attribute attribute, Datum value)
{
	char	   *text;

	switch (column->form)
	{
		case IMAGE_FIXED:
			if (attribute->attbyval)
				append_sized(bytes, (char *) &value, sizeof(Datum));
			else
				append_sized(bytes, DatumGetPointer(value), attribute->attlen);
			break;
		case IMAGE_BYTES:
			text = (char *) PG_DETOAST_DATUM_PACKED(value);
			append_sized(bytes, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
			break;
		default:
			text = OutputFunctionCall(&column->output, value);
			append_sized(bytes, text, strlen(text));
			break;
	}
}

Datum
row_image_make(RowImage *image, Datum *values, bool *nulls)
{
	int			nest = image->exact_text ? exact_text_begin() : 0;
	StringInfoData bytes;
	bytea	   *row;

	initStringInfo(&bytes);
	bytes.len = VARHDRSZ;
	for (int i = 0; i < image->desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(image->desc, i);

		if (attribute->attisdropped || is_virtual_column(attribute))
			continue;
		appendStringInfoCharMacro(&bytes, nulls[i] ? 'n' : 'v');
		if (!nulls[i])
			append_value(&bytes, &image->columns[i], attribute, values[i]);
	}
	if (image->exact_text)
		AtEOXact_GUC(true, nest);
	row = (bytea *) bytes.data;
	SET_VARSIZE(row, bytes.len);
	return DirectFunctionCall1(sha256_bytea, PointerGetDatum(row));
}

/* What row_image() keeps for its calls. */
typedef struct RowImageCall
{
	Oid			type;
	int32		typmod;
	RowImage   *image;
	Datum	   *values;
	bool	   *nulls;
} RowImageCall;

static RowImageCall *
row_image_call(FunctionCallInfo fcinfo, HeapTupleHeader row)
{
	RowImageCall *call = fcinfo->flinfo->fn_extra;
	MemoryContext old_context;

	if (call != NULL && call->type == HeapTupleHeaderGetTypeId(row) && call->typmod == HeapTupleHeaderGetTypMod(row))
		return call;
	old_context = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	call = palloc0(sizeof(RowImageCall));
	call->type = HeapTupleHeaderGetTypeId(row);
	call->typmod = HeapTupleHeaderGetTypMod(row);
	call->image = row_image_begin(lookup_rowtype_tupdesc_copy(call->type, call->typmod));
	call->values = palloc(sizeof(Datum) * Max(call->image->desc->natts, 1));
	call->nulls = palloc(sizeof(bool) * Max(call->image->desc->natts, 1));
	MemoryContextSwitchTo(old_context);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/* citus_internal.row_image(row): row_image_make. */
SQL_FUNCTION(citus_internal_row_image);
Datum
citus_internal_row_image(PG_FUNCTION_ARGS)
{
	HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(0);
	RowImageCall *call = row_image_call(fcinfo, row);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_tableOid = InvalidOid,.t_data = row};

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, call->image->desc, call->values, call->nulls);
	PG_RETURN_DATUM(row_image_make(call->image, call->values, call->nulls));
}

/* The wanted rows with one image. */
typedef struct WantedImage
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];	/* hash key */
	List	   *positions;		/* IntList: in the array of images, of those
								 * not found yet */
} WantedImage;

static HTAB *
wanted_images(Datum *images, int count)
{
	HASHCTL		control = {
		.keysize = PG_SHA256_DIGEST_LENGTH,
		.entrysize = sizeof(WantedImage),
		.hcxt = CurrentMemoryContext,
	};
	HTAB	   *wanted = hash_create("citus wanted rows", Max(count, 1), &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	for (int i = count - 1; i >= 0; i--)
	{
		bytea	   *digest = DatumGetByteaPP(images[i]);
		WantedImage *entry;
		bool		found;

		if (VARSIZE_ANY_EXHDR(digest) != PG_SHA256_DIGEST_LENGTH)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("not the image of a row")));
		entry = hash_search(wanted, VARDATA_ANY(digest), HASH_ENTER, &found);
		entry->positions = lappend_int(found ? entry->positions : NIL, i);
	}
	return wanted;
}

/*
 * Finds a different row of the relation for each image, under the active
 * snapshot; places[i] is left as it is if there is none.
 */
static void
find_places(Relation relation, Datum *images, int count, ItemPointerData *places)
{
	HTAB	   *wanted = wanted_images(images, count);
	RowImage   *image = row_image_begin(RelationGetDescr(relation));
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, GetActiveSnapshot(), 0, NULL, SO_NONE);
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "citus row image", ALLOCSET_DEFAULT_SIZES);
	int			left = count;

	while (left > 0 && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old_context = MemoryContextSwitchTo(row_context);
		WantedImage *entry;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		entry = hash_search(wanted,
							VARDATA_ANY(DatumGetPointer(row_image_make(image, slot->tts_values, slot->tts_isnull))),
							HASH_FIND, NULL);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(row_context);
		if (entry == NULL || entry->positions == NIL)
			continue;
		places[llast_int(entry->positions)] = slot->tts_tid;
		entry->positions = list_delete_last(entry->positions);
		left--;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
	hash_destroy(wanted);
}

static void
row_places_forbid(void *unused)
{
	places_allowed = InvalidOid;
}

void
row_places_allow(Oid relid, MemoryContext task)
{
	MemoryContextCallback *callback = MemoryContextAllocZero(task, sizeof(*callback));

	callback->func = row_places_forbid;
	MemoryContextRegisterResetCallback(task, callback);
	places_allowed = relid;
}

/*
 * citus_internal.row_places(type, images): where the rows of this node's copy
 * of the table with the row type are that have these images, one for each.
 * For tasks that write the table, since it ignores policies and rights.
 */
SQL_FUNCTION(citus_internal_row_places);
Datum
citus_internal_row_places(PG_FUNCTION_ARGS)
{
	Oid			relid = get_typ_typrelid(get_fn_expr_argtype(fcinfo->flinfo, 0));
	ReturnSetInfo *result;
	Relation	relation;
	Datum	   *images;
	int			count;
	ItemPointerData *places;

	if (!OidIsValid(relid) || relid != places_allowed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only a task that writes a reference table may look for its rows")));
	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the images of rows must not be null")));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), BYTEAOID, -1, false, TYPALIGN_INT, &images, NULL, &count);
	places = palloc0(sizeof(ItemPointerData) * Max(count, 1));
	relation = table_open(relid, AccessShareLock);
	find_places(relation, images, count, places);
	table_close(relation, NoLock);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	for (int i = 0; i < count; i++)
	{
		Datum		place = PointerGetDatum(&places[i]);
		bool		missing = !ItemPointerIsValid(&places[i]);

		tuplestore_putvalues(result->setResult, result->setDesc, &place, &missing);
	}
	return (Datum) 0;
}
