/*-------------------------------------------------------------------------
 *
 * analysis.h
 *	  post_parse_analyze_hook: whose rights to tables count in a task.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_ANALYSIS_H
#define CITUS_RESOLVE_ANALYSIS_H

#include "executor/spi.h"

/*
 * SPI_prepare of a text without parameters: a role's rights to its tables
 * count, as a view's owner's do to those of the view.
 */
extern SPIPlanPtr analysis_prepare_by_right(const char *text, Oid role);

extern void analysis_init(void);

#endif							/* CITUS_RESOLVE_ANALYSIS_H */
