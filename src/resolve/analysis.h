/*-------------------------------------------------------------------------
 *
 * analysis.h
 *	  post_parse_analyze_hook: whose rights to tables count in a task.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_ANALYSIS_H
#define CITUS_RESOLVE_ANALYSIS_H

extern void analysis_init(void);

#endif							/* CITUS_RESOLVE_ANALYSIS_H */
