/*-------------------------------------------------------------------------
 *
 * permissions.h
 *	  Permission checks on the relations of a parse state, or of a statement.
 *	  Version 16 moved them from the range table entry to a node of their own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PERMISSIONS_H
#define CITUS_COMPAT_PERMISSIONS_H

#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#if PG_VERSION_NUM >= 160000
typedef RTEPermissionInfo CompatPermissions;
#define compat_permissions(query) ((query)->rteperminfos)
#else
typedef RangeTblEntry CompatPermissions;
#define compat_permissions(query) ((query)->rtable)
#endif

/*
 * The role whose rights are checked for an entry of the query's range table;
 * InvalidOid: the current user.
 */
static inline Oid
compat_check_as_user(const Query *query, const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex == 0)
		return InvalidOid;
	return list_nth_node(RTEPermissionInfo, query->rteperminfos, rte->perminfoindex - 1)->checkAsUser;
#else
	return rte->checkAsUser;
#endif
}

/*
 * Whether rights are needed to use an entry: a relation, or a view that was
 * expanded to a subquery.
 */
static inline bool
compat_has_permissions(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return rte->perminfoindex != 0;
#else
	return rte->rtekind == RTE_RELATION;
#endif
}

/*
 * Appends a copy of the permissions of an entry of the query; the entry then
 * refers to that.
 */
static inline void
compat_copy_permissions(List **permissions, RangeTblEntry *rte, const Query *query)
{
#if PG_VERSION_NUM >= 160000
	*permissions = lappend(*permissions,
						   copyObject(list_nth(query->rteperminfos, rte->perminfoindex - 1)));
	rte->perminfoindex = list_length(*permissions);
	rte->subquery = NULL;
#endif
}

/* Gives a planned statement the permissions that its entries refer to. */
static inline void
compat_set_permissions(PlannedStmt *statement, List *permissions)
{
#if PG_VERSION_NUM >= 160000
	statement->permInfos = permissions;
#endif
}

/*
 * Gives a query that has a copy of another one's range table the permissions
 * that go with it.
 */
static inline void
compat_copy_all_permissions(Query *query, const Query *other)
{
#if PG_VERSION_NUM >= 160000
	query->rteperminfos = copyObject(other->rteperminfos);
#endif
}

/* The permissions of a planned statement, apart from its range table. */
static inline List *
compat_statement_permissions(const PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 160000
	return statement->permInfos;
#else
	return NIL;
#endif
}

/*
 * What a planned statement needs rights for; before version 16, each entry of
 * its range table, also those without a relation (relid is 0).
 */
static inline List *
compat_plan_permissions(const PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 160000
	return statement->permInfos;
#else
	return statement->rtable;
#endif
}

/*
 * Has the permissions of a query be for the relations that its entries name
 * now.
 */
static inline void
compat_permissions_follow(Query *query)
{
#if PG_VERSION_NUM >= 160000

	foreach_ptr(RangeTblEntry, rte, query->rtable)
	{
		if (rte->perminfoindex != 0)
			list_nth_node(RTEPermissionInfo, query->rteperminfos, rte->perminfoindex - 1)->relid = rte->relid;
	}
#endif
}

/*
 * Notes that the statement inserts into these columns (integer List) of the
 * relation.
 */
static inline void
compat_note_insert(ParseNamespaceItem *nsitem, List *attnums)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *info = nsitem->p_perminfo;
#else
	RangeTblEntry *info = nsitem->p_rte;
#endif
	ListCell   *lc;

	info->requiredPerms = ACL_INSERT;
	foreach(lc, attnums)
		info->insertedCols = bms_add_member(info->insertedCols,
											lfirst_int(lc) - FirstLowInvalidHeapAttributeNumber);
}

/*
 * The rights required for an entry of the query's range table that has
 * permissions.
 */
static inline CompatPermissions *
compat_permissions_of(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return getRTEPermissionInfo(query->rteperminfos, rte);
#else
	return rte;
#endif
}

/*
 * Appends an entry to the query's range table that stands for nothing but the
 * rights that rte asks for.
 */
static inline CompatPermissions *
compat_copy_entry(Query *query, RangeTblEntry *rte)
{
	RangeTblEntry *copy = copyObject(rte);

	copy->inFromCl = false;
	query->rtable = lappend(query->rtable, copy);
#if PG_VERSION_NUM >= 160000
	query->rteperminfos = lappend(query->rteperminfos, copyObject(compat_permissions_of(query, rte)));
	copy->perminfoindex = list_length(query->rteperminfos);
#endif
	return compat_permissions_of(query, copy);
}

/*
 * Where a query asks for the right to certain columns of an entry's relation,
 * has it ask for that to any column of a relation, the entry's or one that it
 * is a partition of, and not for the right to read what it writes or locks.
 * The executor needs to know which columns an UPDATE writes, so the
 * right to write them is asked for by an entry of its own.  Errors show the
 * columns that an INSERT gives values for even to users who may not read them;
 * here these are more than the user's statement has.
 */
static inline void
compat_ask_any_column(Query *query, RangeTblEntry *rte, Oid relid)
{
	CompatPermissions *info = compat_permissions_of(query, rte);
	CompatPermissions *asked = info;

	if (relid != rte->relid || !bms_is_empty(info->insertedCols) || !bms_is_empty(info->updatedCols))
	{
		RangeTblEntry *copy;

		asked = compat_copy_entry(query, rte);
		copy = llast_node(RangeTblEntry, query->rtable);
		copy->relid = relid;
		copy->relkind = get_rel_relkind(relid);
		asked->relid = relid;
		asked->insertedCols = NULL;
		asked->updatedCols = NULL;
		info->requiredPerms = 0;
		info->insertedCols = NULL;
	}
	if ((asked->requiredPerms & (ACL_INSERT | ACL_UPDATE | ACL_DELETE)) != 0)
		asked->requiredPerms &= ~ACL_SELECT;
	asked->selectedCols = NULL;
}

/*
 * For an entry of the query that becomes a subquery over several relations,
 * each with an entry in a query of its own that is a copy: has the rights be
 * asked for once.
 */
static inline void
compat_pass_permissions(Query *query, RangeTblEntry *rte, Query *child, RangeTblEntry *child_rte)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *info = copyObject(getRTEPermissionInfo(query->rteperminfos, rte));

	/* the entry goes on to ask for them, as that of a view does */
	info->relid = child_rte->relid;
	info->requiredPerms = 0;
	child->rteperminfos = list_make1(info);
	child_rte->perminfoindex = 1;
#else
	rte->requiredPerms = 0;		/* the copy, which is the first, goes on to ask
								 * for them */
#endif
}

/* Has the query ask for no right to a relation. */
static inline void
compat_ask_nothing(Query *query, RangeTblEntry *rte)
{
	compat_permissions_of(query, rte)->requiredPerms = 0;
}

/*
 * Whether the query asks for the right to read a relation; and has it not do
 * so.
 */
static inline bool
compat_asks_reading(Query *query, RangeTblEntry *rte)
{
	return (compat_permissions_of(query, rte)->requiredPerms & ACL_SELECT) != 0;
}

static inline void
compat_ask_no_reading(Query *query, RangeTblEntry *rte)
{
	compat_permissions_of(query, rte)->requiredPerms &= ~ACL_SELECT;
}

/*
 * Errors unless the current user has what has been noted for all relations of
 * the parse state.
 */
static inline void
compat_check_permissions(ParseState *pstate)
{
#if PG_VERSION_NUM >= 160000
	ExecCheckPermissions(pstate->p_rtable, pstate->p_rteperminfos, true);
#else
	ExecCheckRTPerms(pstate->p_rtable, true);
#endif
}

/*
 * As the executor does it: errors unless the current user has what a planned
 * statement needs.  Doesn't call ExecutorCheckPerms_hook, whose functions
 * (pgaudit's) expect that the executor has started the statement.
 */
static inline void
compat_check_statement(const PlannedStmt *statement)
{
	ExecutorCheckPerms_hook_type hook = ExecutorCheckPerms_hook;

	ExecutorCheckPerms_hook = NULL;
	PG_TRY();
	{
#if PG_VERSION_NUM >= 160000
		ExecCheckPermissions(statement->rtable, statement->permInfos, true);
#else
		ExecCheckRTPerms(statement->rtable, true);
#endif
	}
	PG_FINALLY();
	{
		ExecutorCheckPerms_hook = hook;
	}
	PG_END_TRY();
}

/*
 * Has a statement also ask for the rights that another one needs, whose
 * entries are appended to its range table.  Neither list is changed in place.
 */
static inline void
compat_add_permissions(PlannedStmt *statement, const PlannedStmt *other)
{
#if PG_VERSION_NUM >= 160000
	List	   *entries = NIL;

	foreach_ptr(RangeTblEntry, rte, other->rtable)
	{
		RangeTblEntry *copy;

		if (rte->perminfoindex == 0)
			continue;
		copy = makeNode(RangeTblEntry);
		memcpy(copy, rte, sizeof(RangeTblEntry));
		copy->perminfoindex += list_length(statement->permInfos);
		entries = lappend(entries, copy);
	}
	statement->rtable = list_concat_copy(statement->rtable, entries);
	statement->permInfos = list_concat_copy(statement->permInfos, other->permInfos);
#else
	statement->rtable = list_concat_copy(statement->rtable, other->rtable);
#endif
}

/* The same for the rights that a query needs. */
static inline void
compat_add_query_permissions(PlannedStmt *statement, const Query *query)
{
	PlannedStmt other = {.type = T_PlannedStmt,.rtable = query->rtable};

	compat_set_permissions(&other, compat_permissions(query));
	compat_add_permissions(statement, &other);
}

/*
 * Since version 19, the server looks for the row that a new row references by
 * the index, without a statement, unless that table is partitioned or the key
 * has a PERIOD.  Before, it asks for the right to, by an entry that no parser
 * has named: the relation where it looks; InvalidOid: something else is asked.
 */
static inline Oid
compat_probed_relid(const List *range_table)
{
#if PG_VERSION_NUM >= 190000
	const RangeTblEntry *rte;

	if (!InNoForceRLSOperation() || list_length(range_table) != 1)
		return InvalidOid;
	rte = linitial_node(RangeTblEntry, range_table);
	if (rte->rtekind == RTE_RELATION && rte->eref == NULL)
		return rte->relid;
#endif
	return InvalidOid;
}

/*
 * A function for ExecutorCheckPerms_hook: COMPAT_CHECK_PERMS(name) is its
 * head, compat_check_perms_next() calls another one with its arguments.  When
 * the server asks, without raising an error, whether the current user may
 * validate a foreign key, compat_validated_relid() is the referencing table.
 */
#if PG_VERSION_NUM >= 160000
#define COMPAT_CHECK_PERMS(name) name(List *range_table, List *permissions, bool raises_error)
#define compat_check_perms_next(function) ((function) (range_table, permissions, raises_error))
#define compat_validated_relid(range_table) (lsecond_node(RangeTblEntry, range_table)->relid)
#else
#define COMPAT_CHECK_PERMS(name) name(List *range_table, bool raises_error)
#define compat_check_perms_next(function) ((function) (range_table, raises_error))
#define compat_validated_relid(range_table) (linitial_node(RangeTblEntry, range_table)->relid)
#endif

#endif							/* CITUS_COMPAT_PERMISSIONS_H */
