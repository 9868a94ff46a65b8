/*-------------------------------------------------------------------------
 *
 * options.c
 *	  How columnar tables are written: settings, and options of a table.
 *
 * A table's options are in its pg_class.reloptions (table_options.c), with
 * the names of the settings that they replace.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "utils/guc.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "columnar/options.h"
#include "compat/foreach.h"

#define MIN_LEVEL 1
#define MAX_LEVEL 19
#define MIN_STRIPE_ROWS 1000
#define MAX_STRIPE_ROWS 10000000
#define MIN_GROUP_ROWS 1000
#define MAX_GROUP_ROWS 100000

static const struct config_enum_entry compression_names[] = {
	{"none", COLUMNAR_COMPRESSION_NONE, false},
	{"pglz", COLUMNAR_COMPRESSION_PGLZ, false},
	{"lz4", COLUMNAR_COMPRESSION_LZ4, false},
	{"lz4hc", COLUMNAR_COMPRESSION_LZ4HC, false},
	{"zstd", COLUMNAR_COMPRESSION_ZSTD, false},
	{NULL, 0, false}
};

int			columnar_row_wise_limit = 500;
bool		columnar_enable_custom_scan = true;
bool		columnar_enable_qual_pushdown = true;
bool		columnar_enable_vectorization = true;
bool		columnar_enable_join_filters = true;

static ColumnarOptions columnar_defaults = {
	.stripe_rows = 150000,
	.group_rows = 10000,
	.compression = COLUMNAR_COMPRESSION_ZSTD,
	.level = 3
};

/* What an option's value is. */
typedef enum OptionKind
{
	OPTION_NUMBER,
	OPTION_METHOD,				/* a name in compression_names */
	OPTION_COLUMNS				/* names, separated by commas; not a number */
} OptionKind;

/*
 * The options of tables; all but the columns are settings with the same names,
 * too.
 */
static const struct TableOption
{
	const char *name;
	OptionKind	kind;
	size_t		field;			/* of ColumnarOptions */
	int			least;
	int			greatest;
}			table_options[] = {
	{"columnar.compression", OPTION_METHOD, offsetof(ColumnarOptions, compression)},
	{"columnar.compression_level", OPTION_NUMBER, offsetof(ColumnarOptions, level), MIN_LEVEL, MAX_LEVEL},
	{"columnar.stripe_row_limit", OPTION_NUMBER, offsetof(ColumnarOptions, stripe_rows), MIN_STRIPE_ROWS, MAX_STRIPE_ROWS},
	{"columnar.chunk_group_row_limit", OPTION_NUMBER, offsetof(ColumnarOptions, group_rows), MIN_GROUP_ROWS, MAX_GROUP_ROWS},
	{"columnar.sort_by", OPTION_COLUMNS, offsetof(ColumnarOptions, sort_by)},
};

/* What is stored is valid, but a value of a later release may not be. */
static bool
parse_option(const struct TableOption *option, const char *value, int *number)
{
	List	   *names = NIL;

	if (option->kind == OPTION_COLUMNS)
		return SplitIdentifierString(pstrdup(value), ',', &names) && names != NIL;
	if (option->kind == OPTION_NUMBER)
		return parse_int(value, number, 0, NULL) && *number >= option->least && *number <= option->greatest;
	for (const struct config_enum_entry *entry = compression_names; entry->name != NULL; entry++)
	{
		if (pg_strcasecmp(entry->name, value) == 0)
		{
			*number = entry->val;
			return true;
		}
	}
	return false;
}

static const struct TableOption *
find_table_option(const char *name)
{
	for (int i = 0; i < lengthof(table_options); i++)
	{
		if (strcmp(table_options[i].name, name) == 0)
			return &table_options[i];
	}
	return NULL;
}

bool
columnar_option_is_named(const char *name)
{
	return strncmp(name, "columnar.", strlen("columnar.")) == 0;
}

void
columnar_option_check(const char *name, const char *value)
{
	const struct TableOption *option = find_table_option(name);
	int			number;

	if (option == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized parameter \"%s\"", name),
				 errhint("Options of columnar tables are columnar.compression, columnar.compression_level, "
						 "columnar.stripe_row_limit, columnar.chunk_group_row_limit and columnar.sort_by.")));
	if (value != NULL && !parse_option(option, value, &number))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", name, value),
				 option->kind == OPTION_COLUMNS ? errdetail("Valid values are names of columns, separated by commas.") :
				 option->kind == OPTION_METHOD ? errdetail("Valid values are none, pglz, lz4, lz4hc and zstd.") :
				 errdetail("Valid values are between %d and %d.", option->least, option->greatest)));
}

void
columnar_options_of(Oid relid, ColumnarOptions *options)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		reloptions;
	bool		isnull;

	*options = columnar_defaults;
	if (!HeapTupleIsValid(tuple))
		return;
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
	{
		foreach_ptr(DefElem, stored, untransformRelOptions(reloptions))
		{
			const struct TableOption *option = find_table_option(stored->defname);
			int			number;

			if (option == NULL || !parse_option(option, defGetString(stored), &number))
				continue;
			if (option->kind == OPTION_COLUMNS)
				*(const char **) ((char *) options + option->field) = pstrdup(defGetString(stored));
			else
				*(int *) ((char *) options + option->field) = number;
		}
	}
	ReleaseSysCache(tuple);
}

int
columnar_default_group_rows(void)
{
	return columnar_defaults.group_rows;
}

const char *
columnar_compression_name(int method)
{
	for (const struct config_enum_entry *entry = compression_names; entry->name != NULL; entry++)
	{
		if (entry->val == method)
			return entry->name;
	}
	return "unknown";
}

void
columnar_options_init(void)
{
	DefineCustomEnumVariable("columnar.compression", "Compression of new stripes of columnar tables.", NULL,
							 &columnar_defaults.compression, COLUMNAR_COMPRESSION_ZSTD, compression_names,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.compression_level", "Level of the compression of new stripes.",
							"What it means depends on the method; pglz, lz4 and none ignore it.",
							&columnar_defaults.level, 3, MIN_LEVEL, MAX_LEVEL, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.stripe_row_limit", "Most rows of a new stripe.", NULL,
							&columnar_defaults.stripe_rows, 150000, MIN_STRIPE_ROWS, MAX_STRIPE_ROWS, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.chunk_group_row_limit", "Most rows of a chunk group of a new stripe.", NULL,
							&columnar_defaults.group_rows, 10000, MIN_GROUP_ROWS, MAX_GROUP_ROWS, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.row_wise_limit",
							"Rows that a command inserts row by row, before it writes stripes.",
							"So small writes are cheap. With 0, each command writes a stripe.",
							&columnar_row_wise_limit, 500, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("columnar.enable_custom_scan",
							 "Scans of columnar tables read only the columns that the query needs.", NULL,
							 &columnar_enable_custom_scan, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("columnar.enable_qual_pushdown",
							 "Scans of columnar tables skip chunks that have no row that the query wants.", NULL,
							 &columnar_enable_qual_pushdown, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("columnar.enable_vectorization",
							 "Scans of columnar tables evaluate conditions on many rows at once.", NULL,
							 &columnar_enable_vectorization, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("columnar.enable_join_filters",
							 "Scans of columnar tables leave out rows that a hash join above has no match for.", NULL,
							 &columnar_enable_join_filters, true, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("columnar");
}
