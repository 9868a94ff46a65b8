/*-------------------------------------------------------------------------
 *
 * stored_rows.c
 *	  Takes rows of another node's table, which were checked when they were
 *	  stored there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/copy.h"
#include "parser/parse_relation.h"
#include "utils/rel.h"

#include "copy/copy_from.h"
#include "copy/frame_runner.h"
#include "copy/stored_rows.h"

bool
stored_rows_receive(PlannedStmt *pstmt, const char *query_string, QueryCompletion *qc)
{
	CopyStmt   *stmt = (CopyStmt *) pstmt->utilityStmt;
	ParseState *pstate;
	Relation	rel;
	CopyFromState cstate;
	HiddenChecks hidden;
	volatile uint64 rows = 0;

	if (!IsA(stmt, CopyStmt) || !stmt->is_from || stmt->filename != NULL || stmt->whereClause != NULL)
		return false;
	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = query_string;
	rel = table_openrv(stmt->relation, RowExclusiveLock);
	(void) copy_check_insert(pstate, rel, CopyGetAttnums(RelationGetDescr(rel), rel, stmt->attlist));
	cstate = BeginCopyFrom(pstate, rel, NULL, NULL, false, NULL, stmt->attlist, stmt->options);
	frame_trust_domains(cstate);
	frame_checks_hide(&hidden, rel);
	PG_TRY();
	{
		rows = CopyFrom(cstate);
	}
	PG_FINALLY();
	{
		frame_checks_show(&hidden);
	}
	PG_END_TRY();
	EndCopyFrom(cstate);
	table_close(rel, NoLock);
	free_parsestate(pstate);
	if (qc != NULL)
		SetQueryCompletion(qc, CMDTAG_COPY, rows);
	return true;
}
