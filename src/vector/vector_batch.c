/*-------------------------------------------------------------------------
 *
 * vector_batch.c
 *	  The rows of a chunk group that are aggregated together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"

#include "vector/vector_batch.h"

Bitmapset *
vector_batch_columns(Node *expr, ScanState *scan)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *columns = NULL;
	int			attno = -1;

	pull_varattnos(expr, ((Scan *) scan->ps.plan)->scanrelid, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
		columns = bms_add_member(columns, attno + FirstLowInvalidHeapAttributeNumber - 1);
	return columns;
}
