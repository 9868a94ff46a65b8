/*-------------------------------------------------------------------------
 *
 * vector_top.c
 *	  Which groups can't be among the first ones in the order of a Sort.
 *
 * Above a ColumnarAggregate are a Sort and a Limit, as in "the ten keys with
 * the most rows".  Of the groups that were returned, a heap has the first
 * ones, by those leading columns of the order that are integers, the last of
 * them on top.  A group that comes after that one needs no results, and
 * isn't returned: as many others come before it as are wanted.  Groups that
 * differ in further columns only are returned, and the Sort decides.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "vector/vector_top.h"

struct VectorTop
{
	const List *columns;
	int			ncolumns;
	bool	   *descending;
	int64		limit;
	int64		count;
	int64	   *heap;			/* ncolumns of each group */
};

VectorTop *
vector_top_make(int64 limit, const List *columns, const List *descending)
{
	VectorTop  *top = palloc0(sizeof(VectorTop));

	top->columns = columns;
	top->ncolumns = list_length(columns);
	top->descending = palloc(top->ncolumns * sizeof(bool));
	for (int i = 0; i < top->ncolumns; i++)
		top->descending[i] = list_nth_int(descending, i) != 0;
	top->limit = limit;
	top->heap = palloc(Max(limit, 1) * top->ncolumns * sizeof(int64));
	return top;
}

const List *
vector_top_columns(const VectorTop *top)
{
	return top->columns;
}

/* Whether values come after others. */
static bool
comes_after(const VectorTop *top, const int64 *values, const int64 *others)
{
	for (int i = 0; i < top->ncolumns; i++)
	{
		if (values[i] != others[i])
			return (values[i] > others[i]) != top->descending[i];
	}
	return false;
}

bool
vector_top_wants(VectorTop *top, const int64 *values)
{
	return top->count < top->limit || !comes_after(top, values, top->heap);
}

static int64 *
heap_entry(const VectorTop *top, int64 number)
{
	return top->heap + number * top->ncolumns;
}

/* Moves values down from the top to where they belong. */
static void
sift_down(VectorTop *top, const int64 *values)
{
	Size		size = top->ncolumns * sizeof(int64);
	int64		at = 0;

	for (;;)
	{
		int64		child = 2 * at + 1;

		if (child >= top->count)
			break;
		if (child + 1 < top->count && comes_after(top, heap_entry(top, child + 1), heap_entry(top, child)))
			child++;
		if (!comes_after(top, heap_entry(top, child), values))
			break;
		memcpy(heap_entry(top, at), heap_entry(top, child), size);
		at = child;
	}
	memcpy(heap_entry(top, at), values, size);
}

/* Moves values up from the end to where they belong. */
static void
sift_up(VectorTop *top, const int64 *values)
{
	Size		size = top->ncolumns * sizeof(int64);
	int64		at = top->count++;

	while (at > 0 && comes_after(top, values, heap_entry(top, (at - 1) / 2)))
	{
		memcpy(heap_entry(top, at), heap_entry(top, (at - 1) / 2), size);
		at = (at - 1) / 2;
	}
	memcpy(heap_entry(top, at), values, size);
}

void
vector_top_add(VectorTop *top, const int64 *values)
{
	if (top->count < top->limit)
		sift_up(top, values);
	else if (top->limit > 0 && comes_after(top, top->heap, values))
		sift_down(top, values);
}

void
vector_top_reset(VectorTop *top)
{
	top->count = 0;
}
