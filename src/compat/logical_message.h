/*-------------------------------------------------------------------------
 *
 * logical_message.h
 *	  Writes a mark into the WAL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_LOGICAL_MESSAGE_H
#define CITUS_COMPAT_LOGICAL_MESSAGE_H

#include "postgres.h"

#include "access/xlog.h"
#include "replication/message.h"

/* Writes a message that stands for nothing, and flushes it; its end. */
static inline XLogRecPtr
compat_log_mark(void)
{
#if PG_VERSION_NUM >= 170000
	return LogLogicalMessage("citus", "", 0, false, true);
#else
	XLogRecPtr	end = LogLogicalMessage("citus", "", 0, false);

	XLogFlush(end);
	return end;
#endif
}

#endif							/* CITUS_COMPAT_LOGICAL_MESSAGE_H */
