/*-------------------------------------------------------------------------
 *
 * collation.c
 *	  The options of CREATE COLLATION, from a row of pg_collation.
 *
 * The column that holds the locale of ICU, and later of other providers, has
 * changed its name, and tailoring rules came with version 16.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "compat/collation.h"

#if PG_VERSION_NUM >= 170000
#define Anum_locale Anum_pg_collation_colllocale
#else
#define Anum_locale Anum_pg_collation_colliculocale
#endif

/* Appends ", NAME = 'value'" unless the column is null. */
static void
append_text(StringInfo buf, HeapTuple tuple, AttrNumber attno, const char *name)
{
	bool		isnull;
	Datum		datum = SysCacheGetAttr(COLLOID, tuple, attno, &isnull);

	if (!isnull)
		appendStringInfo(buf, ", %s = %s", name, quote_literal_cstr(TextDatumGetCString(datum)));
}

/* What stands in the parentheses of CREATE COLLATION; palloc'd. */
char *
collation_options(HeapTuple tuple)
{
	Form_pg_collation form = (Form_pg_collation) GETSTRUCT(tuple);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "PROVIDER = %s, DETERMINISTIC = %s",
					 form->collprovider == COLLPROVIDER_LIBC ? "libc" :
					 form->collprovider == COLLPROVIDER_ICU ? "icu" : "builtin",
					 form->collisdeterministic ? "true" : "false");
	append_text(&buf, tuple, Anum_locale, "LOCALE");
	append_text(&buf, tuple, Anum_pg_collation_collcollate, "LC_COLLATE");
	append_text(&buf, tuple, Anum_pg_collation_collctype, "LC_CTYPE");
#if PG_VERSION_NUM >= 160000
	append_text(&buf, tuple, Anum_pg_collation_collicurules, "RULES");
#endif
	return buf.data;
}
