/*-------------------------------------------------------------------------
 *
 * options.c
 *	  How columnar tables are written: settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "columnar/options.h"

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

static ColumnarOptions columnar_defaults = {
	.stripe_rows = 150000,
	.group_rows = 10000,
	.compression = COLUMNAR_COMPRESSION_ZSTD,
	.level = 3
};

void
columnar_options_of(Oid relid, ColumnarOptions *options)
{
	*options = columnar_defaults;
}

void
columnar_options_init(void)
{
	DefineCustomEnumVariable("columnar.compression", "Compression of new stripes of columnar tables.", NULL,
							 &columnar_defaults.compression, COLUMNAR_COMPRESSION_ZSTD, compression_names,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.compression_level", "Level of the compression of new stripes.",
							"What it means depends on the method; pglz, lz4 and none ignore it.",
							&columnar_defaults.level, 3, 1, 19, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.stripe_row_limit", "Most rows of a new stripe.", NULL,
							&columnar_defaults.stripe_rows, 150000, 1000, 10000000, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("columnar.chunk_group_row_limit", "Most rows of a chunk group of a new stripe.", NULL,
							&columnar_defaults.group_rows, 10000, 1000, 100000, PGC_USERSET, 0,
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
	MarkGUCPrefixReserved("columnar");
}
