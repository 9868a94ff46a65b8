/*-------------------------------------------------------------------------
 *
 * logical_ctid.c
 *	  ctid of a logical table: unique over all its shards.
 *
 * An offset on a page needs OFFSET_BITS of the 16 bits that a tid has for it,
 * and a block number rarely all of its 32 bits.  The rest has the last bits
 * of the placement's id:
 *
 *	  block:   5 bits of the id, extra bits of the id, block number
 *	  offset:  7 bits of the id, offset		(5 if pages are large)
 *
 * Another access method than heap may number rows by blocks from the middle of
 * the space of block numbers on (src/columnar does).  Of the bits for the
 * block number, the first one then says which half it is in.
 *
 * A moved shard has a new placement, so that a ctid from before the move finds
 * no row, never another one.  There are extra bits only if ids of the table,
 * or of its tree of partitions, are the same without them.  All nodes have the
 * same metadata, so they agree on that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "compat/sql_function.h"
#include "sharding/logical_ctid.h"

#define OFFSET_BITS (MaxHeapTuplesPerPage < 512 ? 9 : 11)
#define ID_BITS_IN_OFFSET (16 - OFFSET_BITS)
#define ID_BITS_IN_BLOCK 5
#define MAX_EXTRA_BITS 8

/* How the ctids of a shard's rows are written. */
typedef struct CtidForm
{
	Oid			shard_relid;
	uint64		generation;		/* of the metadata */
	int			extra_bits;
	uint32		id;				/* the bits of the placement's id */
	bool		two_halves;		/* the shard may have rows in the upper half
								 * of block numbers */
} CtidForm;

#define UPPER_HALF ((BlockNumber) 1 << 31)

/* The last bits of a placement's id that a ctid has room for. */
static uint32
ctid_id_bits(int64 placementid, int extra_bits)
{
	return (uint32) placementid & ((1U << (ID_BITS_IN_OFFSET + ID_BITS_IN_BLOCK + extra_bits)) - 1);
}

static int
compare_ctid_ids(const void *a, const void *b)
{
	const uint32 left = *(const uint32 *) a;
	const uint32 right = *(const uint32 *) b;

	return left < right ? -1 : left > right;
}

/* The tables of the same tree of partitions that have rows. */
static List *
tables_with_rows(Oid relid)
{
	List	   *tables = NIL;
	Oid			root = relid;

	if (get_rel_relispartition(relid))
		root = llast_oid(get_partition_ancestors(relid));
	else if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relid);
	foreach_oid(member, find_all_inheritors(root, NoLock, NULL))
		if (get_rel_relkind(member) != RELKIND_PARTITIONED_TABLE && metadata_lookup(member) != NULL)
			tables = lappend_oid(tables, member);
	return tables;
}

/* The ids of all placements of the tables that tasks may read. */
static int64 *
list_placement_ids(List *tables, int *count)
{
	int64	   *ids;
	int			most = 0;

	foreach_oid(relid, tables)
	{
		const DistTable *table = metadata_require(relid);

		most += 2 * (table->nshards + table->nidle);
	}
	ids = palloc(Max(most, 1) * sizeof(int64));
	*count = 0;
	foreach_oid(relid, tables)
	{
		const DistTable *table = metadata_require(relid);

		for (int i = 0; i < table->nshards + table->nidle; i++)
		{
			const ShardInfo *shard = i < table->nshards ? &table->shards[i] : &table->idle[i - table->nshards];

			if (shard->placementid != 0)
				ids[(*count)++] = shard->placementid;
			if (shard->former_placementid != 0)
				ids[(*count)++] = shard->former_placementid;
		}
	}
	return ids;
}

/* How many extra bits tell a table's placements apart. */
static int
choose_extra_bits(Oid relid)
{
	int			count;
	int64	   *ids = list_placement_ids(tables_with_rows(relid), &count);
	uint32	   *bits = palloc(Max(count, 1) * sizeof(uint32));
	int			extra_bits = 0;
	bool		distinct = false;

	while (!distinct)
	{
		if (extra_bits > MAX_EXTRA_BITS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("ctid has no room to tell the %d shards of table \"%s\" apart", count, get_rel_name(relid)),
					 errhint("Identify rows by a key.")));
		for (int i = 0; i < count; i++)
			bits[i] = ctid_id_bits(ids[i], extra_bits);
		qsort(bits, count, sizeof(uint32), compare_ctid_ids);
		distinct = true;
		for (int i = 1; i < count && distinct; i++)
			distinct = bits[i - 1] != bits[i];
		if (!distinct)
			extra_bits++;
	}
	pfree(bits);
	pfree(ids);
	return extra_bits;
}

/* The shard's number, which ends the name of its relation. */
static int64
shardid_of_relation(Oid shard_relid)
{
	char	   *name = get_rel_name(shard_relid);
	char	   *last = name != NULL ? strrchr(name, '_') : NULL;

	if (last == NULL)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("relation %u is not a shard", shard_relid)));
	return strtoi64(last + 1, NULL, 10);
}

/* The id of the shard's placement here, which it has, or had before a move. */
static int64
placement_here(const DistTable *table, int64 shardid)
{
	int32		here = metadata_local_group();

	for (int i = 0; i < table->nshards + table->nidle; i++)
	{
		const ShardInfo *shard = i < table->nshards ? &table->shards[i] : &table->idle[i - table->nshards];

		if (shard->shardid != shardid)
			continue;
		if (shard->groupid == here)
			return shard->placementid;
		if (shard->former_placementid != 0)
			return shard->former_placementid;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("the shard of table \"%s\" whose ctid is used was moved", get_rel_name(table->relid))));
}

static bool
relation_has_two_halves(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_class) GETSTRUCT(tuple))->relam != HEAP_TABLE_AM_OID;
	ReleaseSysCache(tuple);
	return result;
}

static void
set_ctid_form(CtidForm *form, Oid shard_relid)
{
	int64		shardid;
	Oid			relid;

	if (form->shard_relid == shard_relid && form->generation == metadata_generation())
		return;
	shardid = shardid_of_relation(shard_relid);
	relid = metadata_require_shard(shardid);
	form->shard_relid = InvalidOid;
	form->extra_bits = choose_extra_bits(relid);
	form->id = ctid_id_bits(placement_here(metadata_require(relid), shardid), form->extra_bits);
	form->generation = metadata_generation();
	form->two_halves = relation_has_two_halves(shard_relid);
	form->shard_relid = shard_relid;
}

/*
 * A row that isn't stored yet, as policies see new ones, keeps its invalid
 * ctid.
 */
static void
write_logical_ctid(const CtidForm *form, ItemPointer ctid)
{
	int			block_bits = 32 - ID_BITS_IN_BLOCK - form->extra_bits;
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(ctid);
	int			number_bits = block_bits - (form->two_halves ? 1 : 0);
	BlockNumber number = form->two_halves ? block & ~UPPER_HALF : block;

	if (block == InvalidBlockNumber)
		return;
	if ((number >> number_bits) != 0 || (offset >> OFFSET_BITS) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("ctid of a row of a distributed table has no room for block %u of its shard", block),
				 errdetail("The shard is \"%s\".", get_rel_name(form->shard_relid)),
				 errhint("Split the shard, or identify rows by a key.")));
	if (number != block)
		number |= (BlockNumber) 1 << number_bits;
	ItemPointerSet(ctid, (form->id >> ID_BITS_IN_OFFSET) << block_bits | number,
				   (form->id & ((1U << ID_BITS_IN_OFFSET) - 1)) << OFFSET_BITS | offset);
}

/* The placement's bits, which are removed from the ctid. */
static uint32
read_logical_ctid(const CtidForm *form, ItemPointer ctid)
{
	int			block_bits = 32 - ID_BITS_IN_BLOCK - form->extra_bits;
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(ctid);

	BlockNumber number = block & ((1U << block_bits) - 1);
	BlockNumber upper = (BlockNumber) 1 << (block_bits - 1);

	if (form->two_halves && (number & upper) != 0)
		number = UPPER_HALF | (number & ~upper);
	ItemPointerSet(ctid, number, offset & ((1U << OFFSET_BITS) - 1));
	return (block >> block_bits) << ID_BITS_IN_OFFSET | offset >> OFFSET_BITS;
}

void
logical_ctid_of_row(Oid shard_relid, ItemPointer ctid)
{
	CtidForm	form = {InvalidOid};

	set_ctid_form(&form, shard_relid);
	write_logical_ctid(&form, ctid);
}

bool
logical_ctid_to_row(Oid shard_relid, ItemPointer ctid)
{
	CtidForm	form = {InvalidOid};

	set_ctid_form(&form, shard_relid);
	return read_logical_ctid(&form, ctid) == form.id;
}

/* The form for a call's second argument, kept from call to call. */
static const CtidForm *
form_of_call(FunctionCallInfo fcinfo)
{
	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CtidForm));
	set_ctid_form(fcinfo->flinfo->fn_extra, PG_GETARG_OID(1));
	return fcinfo->flinfo->fn_extra;
}

/* citus_internal.logical_ctid(ctid tid, shard oid) */
SQL_FUNCTION(citus_internal_logical_ctid);
Datum
citus_internal_logical_ctid(PG_FUNCTION_ARGS)
{
	ItemPointer ctid = palloc(sizeof(ItemPointerData));

	ItemPointerCopy((ItemPointer) PG_GETARG_POINTER(0), ctid);
	write_logical_ctid(form_of_call(fcinfo), ctid);
	PG_RETURN_POINTER(ctid);
}

/* citus_internal.shard_ctid(ctid tid, shard oid) */
SQL_FUNCTION(citus_internal_shard_ctid);
Datum
citus_internal_shard_ctid(PG_FUNCTION_ARGS)
{
	ItemPointer ctid = palloc(sizeof(ItemPointerData));

	ItemPointerCopy((ItemPointer) PG_GETARG_POINTER(0), ctid);
	(void) read_logical_ctid(form_of_call(fcinfo), ctid);
	PG_RETURN_POINTER(ctid);
}

/* citus_internal.shard_ctids(ctids tid[], shard oid) */
SQL_FUNCTION(citus_internal_shard_ctids);
Datum
citus_internal_shard_ctids(PG_FUNCTION_ARGS)
{
	const CtidForm *form = form_of_call(fcinfo);
	ArrayType  *ctids = PG_GETARG_ARRAYTYPE_P_COPY(0);
	Datum	   *values;
	bool	   *nulls;
	int			count;

	deconstruct_array(ctids, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			(void) read_logical_ctid(form, (ItemPointer) DatumGetPointer(values[i]));
	}
	PG_RETURN_ARRAYTYPE_P(ctids);
}
