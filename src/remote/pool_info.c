/*-------------------------------------------------------------------------
 *
 * pool_info.c
 *	  Connection poolers in front of nodes: rows of pg_dist_poolinfo.
 *
 * A row has the address of a node's pooler for the sessions of this node:
 * host, port and database name.  Rows aren't replicated, since poolers often
 * run beside the node that uses them.  The table's check constraint calls
 * poolinfo_valid.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq-fe.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "catalog/catalog_rows.h"
#include "compat/sql_function.h"
#include "remote/pool_info.h"

enum pg_dist_poolinfo_columns
{
	Anum_poolinfo_nodeid = 1,
	Anum_poolinfo_poolinfo,
};

SQL_FUNCTION(poolinfo_valid);

const char *const pool_info_keywords[] = {"host", "port", "dbname", NULL};

char *
pool_info_lookup(int32 nodeid)
{
	CatalogRow *row = catalog_row("pg_dist_poolinfo", "pg_dist_poolinfo_pkey", Anum_poolinfo_nodeid, F_INT4EQ,
								  Int32GetDatum(nodeid));

	return row == NULL ? NULL : TextDatumGetCString(row->values[Anum_poolinfo_poolinfo - 1]);
}

/* Whether a connection parameter may be set. */
static bool
is_pooler_keyword(const char *keyword)
{
	for (int i = 0; pool_info_keywords[i] != NULL; i++)
		if (strcmp(pool_info_keywords[i], keyword) == 0)
			return true;
	return false;
}

/*
 * poolinfo_valid(text): true for a connection string of the parameters that
 * may be set; an error says what is wrong with another.
 */
Datum
poolinfo_valid(PG_FUNCTION_ARGS)
{
	char	   *message = NULL;
	PQconninfoOption *options = PQconninfoParse(text_to_cstring(PG_GETARG_TEXT_PP(0)), &message);
	char	   *refused = NULL;

	if (options == NULL)
	{
		char	   *detail = message == NULL ? pstrdup("out of memory") : pchomp(message);

		PQfreemem(message);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid connection string for a connection pooler"),
				 errdetail_internal("%s", detail)));
	}
	for (PQconninfoOption *option = options; option->keyword != NULL && refused == NULL; option++)
		if (option->val != NULL && !is_pooler_keyword(option->keyword))
			refused = pstrdup(option->keyword);
	PQconninfoFree(options);
	if (refused != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid connection string for a connection pooler"),
				 errdetail("Connection parameter \"%s\" can't be set here.", refused),
				 errhint("Set \"host\", \"port\" and \"dbname\" only.")));
	PG_RETURN_BOOL(true);
}
