/*-------------------------------------------------------------------------
 *
 * analysis.h
 *	  post_parse_analyze_hook: the role whose rights are checked for a task's
 *	  tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_ANALYSIS_H
#define CITUS_RESOLVE_ANALYSIS_H

#include "executor/spi.h"

/*
 * SPI_prepare of a text without parameters, whose tables are accessed with a
 * role's rights, like those of a view with the owner's.
 */
extern SPIPlanPtr analysis_prepare_by_right(const char *text, Oid role);

extern void analysis_init(void);

#endif							/* CITUS_RESOLVE_ANALYSIS_H */
