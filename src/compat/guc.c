/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  The server's table of settings.
 *
 * Version 15 keeps an array, later versions a hash table, of which they give
 * out sorted copies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat/guc.h"
#include "utils/guc.h"
#include "utils/memutils.h"

struct config_generic *
guc_find(const char *name)
{
#if PG_VERSION_NUM >= 160000
	return find_option(name, false, true, ERROR);
#else
	struct config_generic **all = get_guc_variables();
	int			n = GetNumConfigOptions();

	for (int i = 0; i < n; i++)
		if (pg_strcasecmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
#endif
}

static bool
is_custom(const struct config_generic *entry)
{
	return strchr(entry->name, '.') != NULL && pg_strncasecmp(entry->name, "citus.", 6) != 0;
}

/*
 * Entries may be replaced in place (a placeholder by the real setting), so on
 * version 15 the positions are remembered, not the entries.
 */
struct config_generic **
guc_custom(int *count)
{
	static struct config_generic **custom = NULL;
	static int	ncustom = 0;
#if PG_VERSION_NUM >= 160000
	int			n;
	struct config_generic **all = get_guc_variables(&n);

	if (custom != NULL)
		pfree(custom);
	custom = MemoryContextAlloc(TopMemoryContext, sizeof(*custom) * Max(n, 1));
	ncustom = 0;
	for (int i = 0; i < n; i++)
		if (is_custom(all[i]))
			custom[ncustom++] = all[i];
	pfree(all);
#else
	static int *positions = NULL;
	static int	seen = -1;
	struct config_generic **all = get_guc_variables();
	int			n = GetNumConfigOptions();

	if (n != seen)
	{
		seen = -1;
		if (custom != NULL)
		{
			pfree(custom);
			custom = NULL;
		}
		if (positions != NULL)
		{
			pfree(positions);
			positions = NULL;
		}
		custom = MemoryContextAlloc(TopMemoryContext, sizeof(*custom) * n);
		positions = MemoryContextAlloc(TopMemoryContext, sizeof(int) * n);
		ncustom = 0;
		for (int i = 0; i < n; i++)
			if (is_custom(all[i]))
				positions[ncustom++] = i;
		seen = n;
	}
	for (int i = 0; i < ncustom; i++)
		custom[i] = all[positions[i]];
#endif

	*count = ncustom;
	return custom;
}

struct config_generic **
guc_all(int *count)
{
#if PG_VERSION_NUM >= 160000
	static struct config_generic **all = NULL;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	if (all != NULL)
		pfree(all);
	all = get_guc_variables(count);
	MemoryContextSwitchTo(old);
	return all;
#else
	*count = GetNumConfigOptions();
	return get_guc_variables();
#endif
}

char *
guc_text(struct config_generic *setting)
{
	const char *text;

	switch (setting->vartype)
	{
		case PGC_BOOL:
			return pstrdup(*GUC_BOOL(setting)->variable ? "on" : "off");
		case PGC_INT:
			return psprintf("%d", *GUC_INT(setting)->variable);
		case PGC_ENUM:
			return pstrdup(guc_enum_text(setting, *GUC_ENUM(setting)->variable));
		case PGC_REAL:
			return psprintf("%.17g", *GUC_REAL(setting)->variable);
		case PGC_STRING:
			text = *GUC_STRING(setting)->variable;
			return pstrdup(text != NULL ? text : "");
	}
	return pstrdup("");
}
