/*-------------------------------------------------------------------------
 *
 * any_value.c
 *	  The transition function of the aggregate any_value, which the server has
 *	  from version 16 on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat/sql_function.h"

SQL_FUNCTION(citus_internal_any_value_transfn);

/* any_value_transfn(state, value): the state, which is the first value. */
Datum
citus_internal_any_value_transfn(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
