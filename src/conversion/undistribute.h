/*-------------------------------------------------------------------------
 *
 * undistribute.h
 *	  Converting distributed and reference tables back to local ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_UNDISTRIBUTE_H
#define CITUS_CONVERSION_UNDISTRIBUTE_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Makes tables (Oids) of the current user, with their partitions, local ones
 * of this node; foreign keys stay.
 */
extern void undistribute_tables(List *roots);

/*
 * undistribute_table(); with cascade, the tables that foreign keys connect to
 * it become local, too.
 */
extern void undistribute_relation(Oid relid, bool cascade);

#endif							/* CITUS_CONVERSION_UNDISTRIBUTE_H */
