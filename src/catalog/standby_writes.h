/*-------------------------------------------------------------------------
 *
 * standby_writes.h
 *	  Writes to other nodes by sessions on a standby.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_STANDBY_WRITES_H
#define CITUS_CATALOG_STANDBY_WRITES_H

#include "postgres.h"

#include "nodes/plannodes.h"

extern void standby_writes_init(void);

/*
 * Whether this session, on a standby, may write to other nodes in this
 * transaction: citus.writable_standby_coordinator is on, and the client has
 * not asked for a READ ONLY transaction.  False on servers that aren't
 * standbys.
 */
extern bool standby_writes(void);

/*
 * Whether transactions on other nodes are to be READ ONLY, as this one is
 * here, except that a standby's own may write there.
 */
extern bool standby_xact_read_only(void);

/*
 * Whether the executor may start a statement although the transaction is READ
 * ONLY: the session may write on other nodes, and the statement writes, or
 * locks rows of, distributed tables only.  Errors if it is about a reference
 * table, which would have to be written here, too.
 */
extern bool standby_statement_writes(const PlannedStmt *statement);

/*
 * For shards of this node: errors if the statement writes, in such a session.
 */
extern void standby_refuse_own_shard(CmdType operation);

#endif							/* CITUS_CATALOG_STANDBY_WRITES_H */
