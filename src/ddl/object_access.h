/*-------------------------------------------------------------------------
 *
 * object_access.h
 *	  The only owner of object_access_hook.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_OBJECT_ACCESS_H
#define CITUS_DDL_OBJECT_ACCESS_H

extern void object_access_init(void);

#endif							/* CITUS_DDL_OBJECT_ACCESS_H */
