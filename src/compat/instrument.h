/*-------------------------------------------------------------------------
 *
 * instrument.h
 *	  What is measured of a plan's node.
 *
 * In version 19, Instrumentation is about anything, and a node's has a struct
 * of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_INSTRUMENT_H
#define CITUS_COMPAT_INSTRUMENT_H

#include "postgres.h"

#include "executor/instrument.h"

#if PG_VERSION_NUM < 190000
#define NodeInstrumentation Instrumentation
#endif

#endif							/* CITUS_COMPAT_INSTRUMENT_H */
