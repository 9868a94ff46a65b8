/*-------------------------------------------------------------------------
 *
 * options.h
 *	  How columnar tables are written: settings, and options of a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_OPTIONS_H
#define CITUS_COLUMNAR_OPTIONS_H

#include "postgres.h"

#include "columnar/compression.h"

typedef struct ColumnarOptions
{
	int			stripe_rows;
	int			group_rows;
	int			compression;	/* a ColumnarCompression */
	int			level;
	const char *sort_by;		/* names of columns, or NULL: no order */
} ColumnarOptions;

/* columnar.row_wise_limit: a command with fewer rows inserts them row-wise. */
extern int	columnar_row_wise_limit;

/*
 * columnar.enable_custom_scan, columnar.enable_qual_pushdown,
 * columnar.enable_vectorization, columnar.enable_join_filters
 */
extern bool columnar_enable_custom_scan;
extern bool columnar_enable_qual_pushdown;
extern bool columnar_enable_vectorization;
extern bool columnar_enable_join_filters;

/* The options of a table; those that it doesn't have are the settings. */
extern void columnar_options_of(Oid relid, ColumnarOptions *options);

/* The rows of a chunk group by the settings. */
extern int	columnar_default_group_rows(void);

/* Whether a name, "columnar....", is that of an option of columnar tables. */
extern bool columnar_option_is_named(const char *name);

/*
 * Errors if there is no option of this name, or if the value, unless it is
 * NULL, is not valid for it.
 */
extern void columnar_option_check(const char *name, const char *value);

/* The name of a method; "unknown" if there is none of this number. */
extern const char *columnar_compression_name(int method);

extern void columnar_options_init(void);

#endif							/* CITUS_COLUMNAR_OPTIONS_H */
