/*-------------------------------------------------------------------------
 *
 * columnar.h
 *	  The table access method "columnar".
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_COLUMNAR_H
#define CITUS_COLUMNAR_COLUMNAR_H

#include "postgres.h"

#include "utils/rel.h"

/* Whether a table's access method is columnar. */
extern bool columnar_is_columnar(Relation table);

extern void columnar_init(void);

#endif							/* CITUS_COLUMNAR_COLUMNAR_H */
