/*-------------------------------------------------------------------------
 *
 * exact_text.c
 *	  Values as text that doesn't depend on settings.
 *
 * The session's own styles are for its client: some lose digits, use time zone
 * abbreviations that are ambiguous, or have an ambiguous order of day and
 * month.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"

#include "compat/conforming_strings.h"
#include "lib/exact_text.h"

static void
set_until_end(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

int
exact_text_begin(void)
{
	int			nest = NewGUCNestLevel();

	if (strcmp(namespace_search_path, "pg_catalog") != 0)
		set_until_end("search_path", "pg_catalog");
	if (!standard_conforming_strings)
		set_until_end("standard_conforming_strings", "on");
	if (DateStyle != USE_ISO_DATES)
		set_until_end("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_until_end("intervalstyle", "postgres");
	if (extra_float_digits < 3)
		set_until_end("extra_float_digits", "3");
	return nest;
}

int
exact_names_begin(void)
{
	int			nest = NewGUCNestLevel();

	if (strcmp(namespace_search_path, "pg_catalog") != 0)
		set_until_end("search_path", "pg_catalog");
	return nest;
}

int
exact_text_read_begin(void)
{
	int			nest;

	/*
	 * the only style that other nodes don't take over (see remote/settings.c)
	 */
	if (Array_nulls)
		return 0;
	nest = NewGUCNestLevel();
	set_until_end("array_nulls", "on");
	return nest;
}

void
exact_text_read_end(int nest)
{
	if (nest > 0)
		AtEOXact_GUC(true, nest);
}
