/*-------------------------------------------------------------------------
 *
 * debug_point.h
 *	  Named places in the code where tests make things happen.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_DEBUG_POINT_H
#define CITUS_LIB_DEBUG_POINT_H

#include "postgres.h"

extern void debug_point_init(void);

/* Private to debug_point.c and the macro. */
extern char *debug_points;
extern void debug_point_reached(const char *name);

/*
 * Does what the setting citus.debug_points says for name; nothing by default.
 */
#define DEBUG_POINT(name) \
	do { \
		if (unlikely(debug_points[0] != '\0')) \
			debug_point_reached(name); \
	} while (0)

#endif							/* CITUS_LIB_DEBUG_POINT_H */
