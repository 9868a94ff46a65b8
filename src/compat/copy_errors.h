/*-------------------------------------------------------------------------
 *
 * copy_errors.h
 *	  Rows that COPY FROM skips because a value is invalid (ON_ERROR ignore).
 *
 * Version 17 has that option, and version 18 a limit of such rows, and a
 * verbosity without the message at the end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_COPY_ERRORS_H
#define CITUS_COMPAT_COPY_ERRORS_H

#include "postgres.h"

#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "pgstat.h"

/*
 * Whether the row that NextCopyFrom has just returned is to be skipped.  An
 * error if there are too many of them.
 */
static inline bool
compat_copy_skips_row(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 170000
	if (cstate->opts.on_error == COPY_ON_ERROR_STOP || !cstate->escontext->error_occurred)
		return false;
	cstate->escontext->error_occurred = false;
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_SKIPPED, cstate->num_errors);
#if PG_VERSION_NUM >= 180000
	if (cstate->opts.reject_limit > 0 && cstate->num_errors > cstate->opts.reject_limit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("skipped more than REJECT_LIMIT (%lld) rows due to data type incompatibility",
						(long long) cstate->opts.reject_limit)));
#endif
	return true;
#else
	return false;
#endif
}

/* Tells the client how many rows have been skipped, if any. */
static inline void
compat_copy_tell_skipped(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 180000
	if (cstate->opts.log_verbosity < COPY_LOG_VERBOSITY_DEFAULT)
		return;
#endif
#if PG_VERSION_NUM >= 170000
	if (cstate->opts.on_error != COPY_ON_ERROR_STOP && cstate->num_errors > 0)
		ereport(NOTICE,
				(errmsg_plural("%llu row was skipped due to data type incompatibility",
							   "%llu rows were skipped due to data type incompatibility",
							   (unsigned long long) cstate->num_errors,
							   (unsigned long long) cstate->num_errors)));
#endif
}

#endif							/* CITUS_COMPAT_COPY_ERRORS_H */
