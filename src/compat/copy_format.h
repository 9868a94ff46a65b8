/*-------------------------------------------------------------------------
 *
 * copy_format.h
 *	  The format of a COPY: an enum since version 19, flags before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_COPY_FORMAT_H
#define CITUS_COMPAT_COPY_FORMAT_H

#include "postgres.h"

#include "commands/copy.h"

#if PG_VERSION_NUM >= 190000
#define COPY_IS_BINARY(options) ((options).format == COPY_FORMAT_BINARY)
#define COPY_IS_CSV(options) ((options).format == COPY_FORMAT_CSV)
#else
#define COPY_IS_BINARY(options) ((options).binary)
#define COPY_IS_CSV(options) ((options).csv_mode)
#endif

#endif							/* CITUS_COMPAT_COPY_FORMAT_H */
