/*-------------------------------------------------------------------------
 *
 * row_key.c
 *	  Columns by which nodes look up the rows of a reference table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_operator.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "compat/foreach.h"
#include "planner/modify_plan.h"

/*
 * Whether an index is a key, of columns that a parameter can list: one of a
 * deferrable constraint, or of a part of the rows, is not.
 */
static bool
is_row_key(Relation table, Relation index)
{
	const Form_pg_index form = index->rd_index;

	if (!form->indisunique || !form->indimmediate || !form->indisvalid || index->rd_rel->relam != BTREE_AM_OID ||
		RelationGetIndexPredicate(index) != NIL)
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		AttrNumber	attno = form->indkey.values[i];

		if (attno <= 0 || !TupleDescAttr(RelationGetDescr(table), attno - 1)->attnotnull ||
			!OidIsValid(get_array_type(TupleDescAttr(RelationGetDescr(table), attno - 1)->atttypid)))
			return false;
	}
	return true;
}

/* The first index that is a key, the primary key if it is one, or NULL. */
static Relation
open_row_key(Relation table)
{
	List	   *indexes = RelationGetIndexList(table);
	Relation	found = NULL;

	foreach_oid(oid, indexes)
	{
		Relation	index = index_open(oid, AccessShareLock);

		if (is_row_key(table, index) && (found == NULL || index->rd_index->indisprimary))
		{
			if (found != NULL)
				index_close(found, NoLock);
			found = index;
		}
		else
			index_close(index, NoLock);
	}
	return found;
}

List *
row_key_columns(Oid relid)
{
	Relation	table = table_open(relid, NoLock);
	Relation	index = open_row_key(table);
	List	   *columns = NIL;

	for (int i = 0; index != NULL && i < index->rd_index->indnkeyatts; i++)
		columns = lappend_int(columns, index->rd_index->indkey.values[i]);
	if (index != NULL)
		index_close(index, NoLock);
	table_close(table, NoLock);
	return columns;
}

/* The qualified name of an operator, for OPERATOR(). */
static char *
operator_name(Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(oid));
	const FormData_pg_operator *form;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", oid);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	name = psprintf("%s.%s", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return name;
}

void
row_key_condition(StringInfo text, Oid relid, List *key_attnos)
{
	Relation	table = table_open(relid, NoLock);
	Relation	index = open_row_key(table);
	int			position = 0;

	foreach_int(attno, key_attnos)
	{
		Oid			type = index->rd_opcintype[position];
		Oid			equal = get_opfamily_member(index->rd_opfamily[position], type, type, BTEqualStrategyNumber);

		appendStringInfo(text, "%st.%s OPERATOR(%s) r.\"citus k%d\"", position > 0 ? " AND " : "",
						 quote_identifier(get_attname(relid, attno, false)), operator_name(equal), position + 1);
		position++;
	}
	index_close(index, NoLock);
	table_close(table, NoLock);
}
