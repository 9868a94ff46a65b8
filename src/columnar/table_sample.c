/*-------------------------------------------------------------------------
 *
 * table_sample.c
 *	  The access method's scans of some rows: ANALYZE and TABLESAMPLE.
 *
 * Both choose among blocks.  TABLESAMPLE's blocks are those of the row-wise
 * part and after them STRIPE_BLOCK_ROWS rows of a stripe each; ANALYZE gets
 * rows of stripes together with the first block of the row-wise part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tsmapi.h"
#include "common/pg_prng.h"
#include "nodes/execnodes.h"
#include "pgstat.h"

#include "columnar/table_sample.h"
#include "columnar/table_scan.h"
#include "compat/table_am.h"

/* ANALYZE reads rows of at most so many chunk groups, and so many rows. */
#define ANALYZE_GROUPS 48
#define ANALYZE_ROWS 150000

/*
 * Chooses the chunk groups of which ANALYZE gets rows: the first at random,
 * the others at equal distances.
 */
static void
choose_groups_to_analyze(ColumnarScan *scan)
{
	StripeScan *stripes;
	double		rows = 0;

	table_scan_begin_stripes(scan, RelationGetDescr(scan->base.rs_rd));
	stripes = scan->stripes;
	for (int i = 0; i < stripes->nstripes; i++)
		rows += (double) stripes->stripes[i].record.nrows;
	scan->analyze_left = rows;
	scan->analyze_group_step = Max(stripes->ngroups / ANALYZE_GROUPS, 1);
	scan->analyze_group = (int) pg_prng_uint64_range(&pg_global_prng_state, 0, scan->analyze_group_step - 1);
	scan->analyze_row_step = (uint32) Max(rows / scan->analyze_group_step / ANALYZE_ROWS, 1);
}

/*
 * The next row of a chosen group.  All rows of the stripes are counted with
 * the first one.
 */
static bool
next_analyzed_row(ColumnarScan *scan, double *liverows, TupleTableSlot *slot)
{
	StripeScan *stripes = scan->stripes;

	for (;;)
	{
		if (stripes->loaded)
		{
			int64		end = (int64) stripes->reader->group_start + stripes->reader->group_rows;

			stripes->row += (int64) pg_prng_uint64_range(&pg_global_prng_state, 1, 2 * scan->analyze_row_step - 1);
			if (stripes->row < end)
			{
				if (stripe_scan_row_is_marked(stripes))
					continue;
				stripe_reader_store_tuple(stripes->reader, (uint32) stripes->row, slot);
				*liverows += scan->analyze_left;
				scan->analyze_left = 0;
				return true;
			}
		}
		if (scan->analyze_group >= stripes->ngroups)
			return false;
		stripe_scan_goto_group(stripes, scan->analyze_group);
		scan->analyze_group += scan->analyze_group_step;
	}
}

static bool
columnar_scan_analyze_next_block(TableScanDesc sscan, ANALYZE_BLOCK_PARAMS)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	if (scan->analyze_phase == ANALYZE_BEGIN)
	{
		choose_groups_to_analyze(scan);
		scan->analyze_phase = ANALYZE_FIRST_BLOCK;
	}
	else
		scan->analyze_phase = ANALYZE_OTHER_BLOCK;
	return GetHeapamTableAmRoutine()->scan_analyze_next_block(scan->heap, ANALYZE_BLOCK_ARGS);
}

static bool
columnar_scan_analyze_next_tuple(TableScanDesc sscan, ANALYZE_XMIN_PARAM double *liverows, double *deadrows,
								 TupleTableSlot *slot)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	if (scan->analyze_phase == ANALYZE_FIRST_BLOCK || scan->analyze_phase == ANALYZE_OTHER_BLOCK)
	{
		if (GetHeapamTableAmRoutine()->scan_analyze_next_tuple(scan->heap, ANALYZE_XMIN_ARG liverows, deadrows, slot))
			return true;
		scan->analyze_phase = scan->analyze_phase == ANALYZE_FIRST_BLOCK ? ANALYZE_STRIPES : ANALYZE_BETWEEN_BLOCKS;
	}
	if (scan->analyze_phase == ANALYZE_STRIPES)
	{
		if (next_analyzed_row(scan, liverows, slot))
			return true;
		scan->analyze_phase = ANALYZE_BETWEEN_BLOCKS;
	}
	return false;
}

/* Numbers the blocks of the stripes, after those of the row-wise part. */
static void
number_sampled_blocks(ColumnarScan *scan, TupleDesc tupdesc)
{
	StripeScan *stripes;
	BlockNumber block = ((HeapScanDesc) scan->heap)->rs_nblocks;

	table_scan_begin_stripes(scan, tupdesc);
	stripes = scan->stripes;
	scan->sample_first = MemoryContextAlloc(scan->context, (stripes->nstripes + 1) * sizeof(BlockNumber));
	for (int i = 0; i < stripes->nstripes; i++)
	{
		scan->sample_first[i] = block;
		block += (BlockNumber) ((stripes->stripes[i].record.nrows + STRIPE_BLOCK_ROWS - 1) / STRIPE_BLOCK_ROWS);
	}
	scan->sample_first[stripes->nstripes] = block;
}

/* The block that the heap's function gets from sample_given_block(). */
static BlockNumber sample_heap_block;

static BlockNumber
sample_given_block(SampleScanState *state, BlockNumber nblocks)
{
	return sample_heap_block;
}

/* Lets the heap's function go to a block, which it asks the method for. */
static void
sample_block_of_heap(ColumnarScan *scan, SampleScanState *state, BlockNumber block)
{
	TsmRoutine *method = state->tsmroutine;
	TsmRoutine	given = *method;

	given.NextSampleBlock = sample_given_block;
	sample_heap_block = block;
	state->tsmroutine = &given;
	PG_TRY();
	{
		(void) GetHeapamTableAmRoutine()->scan_sample_next_block(scan->heap, state);
	}
	PG_FINALLY();
	{
		state->tsmroutine = method;
	}
	PG_END_TRY();
}

static bool
columnar_scan_sample_next_block(TableScanDesc sscan, SampleScanState *state)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;
	TsmRoutine *method = state->tsmroutine;
	BlockNumber nblocks;
	BlockNumber block;
	int			stripe;

	if (scan->sample_first == NULL)
		number_sampled_blocks(scan, RelationGetDescr(sscan->rs_rd));
	nblocks = scan->sample_first[scan->stripes->nstripes];
	if (nblocks == 0)
		return false;
	if (method->NextSampleBlock != NULL)
		block = method->NextSampleBlock(state, nblocks);
	else
		block = scan->sample_next < nblocks ? scan->sample_next++ : InvalidBlockNumber;
	if (!BlockNumberIsValid(block))
		return false;
	scan->sample_stripe = -1;
	if (block < scan->sample_first[0])
	{
		sample_block_of_heap(scan, state, block);
		return true;
	}
	for (stripe = 0; block >= scan->sample_first[stripe + 1]; stripe++)
		;
	scan->sample_stripe = stripe;
	scan->sample_block = block - scan->sample_first[stripe];
	return true;
}

static bool
columnar_scan_sample_next_tuple(TableScanDesc sscan, SampleScanState *state, TupleTableSlot *slot)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;
	StripeInfo *stripe;
	uint32		first;
	int			rows;

	if (scan->sample_stripe < 0)
		return GetHeapamTableAmRoutine()->scan_sample_next_tuple(scan->heap, state, slot);
	stripe = &scan->stripes->stripes[scan->sample_stripe];
	first = scan->sample_block * STRIPE_BLOCK_ROWS;
	rows = (int) Min(stripe->record.nrows - first, STRIPE_BLOCK_ROWS);
	for (;;)
	{
		OffsetNumber offset = state->tsmroutine->NextSampleTuple(state, stripe->first_block + scan->sample_block,
																 (OffsetNumber) rows);

		CHECK_FOR_INTERRUPTS();
		if (!OffsetNumberIsValid(offset))
			break;
		if (!stripe_scan_goto_row(scan->stripes, scan->sample_stripe, first + offset - 1))
			continue;
		stripe_reader_store_tuple(scan->stripes->reader, first + offset - 1, slot);
		pgstat_count_heap_getnext(sscan->rs_rd);
		return true;
	}
	ExecClearTuple(slot);
	return false;
}

void
table_sample_set(TableAmRoutine *routine)
{
	routine->scan_analyze_next_block = columnar_scan_analyze_next_block;
	routine->scan_analyze_next_tuple = columnar_scan_analyze_next_tuple;
	routine->scan_sample_next_block = columnar_scan_sample_next_block;
	routine->scan_sample_next_tuple = columnar_scan_sample_next_tuple;
}
