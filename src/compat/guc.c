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

#include "compat/foreach.h"
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

#if PG_VERSION_NUM >= 160000
/*
 * Whether settings have changed since the last call, or their defaults don't
 * hold any more.  Compares what a parallel worker would get, which costs much
 * less than a sorted list of all settings.
 */
static bool
settings_have_changed(void)
{
	static char *known = NULL;
	static Size known_size = 0;
	static char *present = NULL;
	static Size room = 0;
	Size		size = EstimateGUCStateSpace();
	char	   *last = known;

	if (size > room)
	{
		known_size = 0;
		room = 0;
		known = known == NULL ? MemoryContextAlloc(TopMemoryContext, size * 2) : repalloc(known, size * 2);
		present = present == NULL ? MemoryContextAlloc(TopMemoryContext, size * 2) : repalloc(present, size * 2);
		room = size * 2;
		last = known;
	}
	memset(present, 0, size);
	SerializeGUCState(size, present);
	if (size == known_size && memcmp(present, known, size) == 0)
		return false;
	known = present;
	known_size = size;
	present = last;
	return true;
}
#endif

/*
 * Entries may be replaced in place (a placeholder by the real setting), so
 * names or positions are remembered, not the entries.  What is in a library
 * that was loaded since, and has its default, may be missing.
 */
struct config_generic **
guc_custom(int *count)
{
	static struct config_generic **custom = NULL;
	static int	ncustom = 0;
#if PG_VERSION_NUM >= 160000
	static List *names = NIL;

	if (settings_have_changed() || custom == NULL)
	{
		int			n;
		struct config_generic **all;
		MemoryContext old;

		if (custom != NULL)
			pfree(custom);
		custom = NULL;
		list_free_deep(names);
		names = NIL;
		all = get_guc_variables(&n);
		old = MemoryContextSwitchTo(TopMemoryContext);
		for (int i = 0; i < n; i++)
		{
			if (is_custom(all[i]))
				names = lappend(names, pstrdup(all[i]->name));
		}
		custom = palloc(sizeof(*custom) * Max(list_length(names), 1));
		MemoryContextSwitchTo(old);
		pfree(all);
	}
	ncustom = 0;
	foreach_ptr(char, name, names)
	{
		custom[ncustom] = guc_find(name);
		if (custom[ncustom] != NULL)
			ncustom++;
	}
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
