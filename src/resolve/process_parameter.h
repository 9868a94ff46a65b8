/*-------------------------------------------------------------------------
 *
 * process_parameter.h
 *	  The type of a parameter that is a process id.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_PROCESS_PARAMETER_H
#define CITUS_RESOLVE_PROCESS_PARAMETER_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"

/*
 * For post_parse_analyze_hook: changes an analysed query, and the types that
 * its client is told, if parameters without a given type are process ids.
 */
extern void process_parameters_infer(ParseState *pstate, Query *query);

#endif							/* CITUS_RESOLVE_PROCESS_PARAMETER_H */
