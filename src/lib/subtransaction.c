/*-------------------------------------------------------------------------
 *
 * subtransaction.c
 *	  Work whose failure leaves the rest of the transaction as it was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/resowner.h"

#include "lib/catch_error.h"
#include "lib/subtransaction.h"

bool
subtransaction_run(bool (*work) (void *arg), void *arg, ErrorData **error)
{
	const CatchPoint point = catch_point();
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	*error = NULL;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(point.context);
	PG_TRY();
	{
		done = work(arg);
		if (done)
			ReleaseCurrentSubTransaction();
		else
			RollbackAndReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		*error = catch_copy(&point);
		catch_end(&point);
		RollbackAndReleaseCurrentSubTransaction();
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(point.context);
	CurrentResourceOwner = owner;
	return done;
}
