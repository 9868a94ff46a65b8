/*-------------------------------------------------------------------------
 *
 * snapshot_record.c
 *	  Our records in the WAL: marks, and subtransactions.
 *
 * They are of a resource manager of our own.  Only servers that load this
 * library can replay them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/rmgr.h"
#include "access/subtrans.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "storage/procarray.h"

#include "txn/snapshot_record.h"

/*
 * The id of our records in the WAL, of those that are free for extensions; it
 * may not change, or standbys of other versions couldn't replay them.
 */
#define RMGR_ID 187
#define RMGR_NAME "citus"

#define RECORD_MARK 0x00
#define RECORD_CHILDREN 0x10

typedef struct ChildrenRecord
{
	TransactionId xid;
	uint32		n;
	TransactionId children[FLEXIBLE_ARRAY_MEMBER];
} ChildrenRecord;

static MarkRedo redo_mark;

XLogRecPtr
snapshot_record_mark(const MarkRecord *mark)
{
	XLogBeginInsert();
	XLogRegisterData((char *) mark, offsetof(MarkRecord, commits) + mark->n * sizeof(MarkedCommit));
	XLogSetRecordFlags(XLOG_MARK_UNIMPORTANT);
	return XLogInsert(RMGR_ID, RECORD_MARK);
}

void
snapshot_record_children(TransactionId xid, int n, const TransactionId *children)
{
	ChildrenRecord record = {.xid = xid,.n = n};

	XLogBeginInsert();
	XLogRegisterData((char *) &record, offsetof(ChildrenRecord, children));
	XLogRegisterData((char *) children, n * sizeof(TransactionId));
	(void) XLogInsert(RMGR_ID, RECORD_CHILDREN);
}

static void
redo_children(const ChildrenRecord *record)
{
	if (standbyState < STANDBY_INITIALIZED)
		return;
	RecordKnownAssignedTransactionIds(TransactionIdLatest(record->xid, record->n, record->children));
	for (uint32 i = 0; i < record->n; i++)
		SubTransSetParent(record->children[i], record->xid);
}

static void
redo_record(XLogReaderState *record)
{
	if ((XLogRecGetInfo(record) & ~XLR_INFO_MASK) == RECORD_MARK)
		redo_mark((const MarkRecord *) XLogRecGetData(record));
	else
		redo_children((const ChildrenRecord *) XLogRecGetData(record));
}

static void
describe_record(StringInfo text, XLogReaderState *record)
{
	if ((XLogRecGetInfo(record) & ~XLR_INFO_MASK) == RECORD_MARK)
		appendStringInfo(text, "time " UINT64_FORMAT "; %u later", ((MarkRecord *) XLogRecGetData(record))->ts,
						 ((MarkRecord *) XLogRecGetData(record))->n);
	else
		appendStringInfo(text, "xtop %u; %u subxacts", ((ChildrenRecord *) XLogRecGetData(record))->xid,
						 ((ChildrenRecord *) XLogRecGetData(record))->n);
}

static const char *
identify_record(uint8 info)
{
	return (info & ~XLR_INFO_MASK) == RECORD_MARK ? "SNAPSHOT_MARK" : "SUBTRANSACTIONS";
}

bool
snapshot_record_init(MarkRedo redo)
{
	static RmgrData records = {
		.rm_name = RMGR_NAME,
		.rm_redo = redo_record,
		.rm_desc = describe_record,
		.rm_identify = identify_record,
	};

	redo_mark = redo;
	if (RmgrIdExists(RMGR_ID))
	{
		ereport(WARNING,
				(errmsg("standbys of this node can't be read as of one point in time"),
				 errdetail("Another library uses the WAL resource manager with ID %d.", RMGR_ID)));
		return false;
	}
	RegisterCustomRmgr(RMGR_ID, &records);
	return true;
}
