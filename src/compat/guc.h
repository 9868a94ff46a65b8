/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  The server's table of settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_GUC_H
#define CITUS_COMPAT_GUC_H

#include "postgres.h"

#include "utils/guc_tables.h"

/*
 * The entry of a setting, or NULL.  The pointer stays valid, except of
 * placeholders, which a library may replace.
 */
extern struct config_generic *guc_find(const char *name);

/*
 * All settings with a dot in their name but our own (citus.*), in an array
 * that is valid until the next call.  Cheap when the list has not changed.
 */
extern struct config_generic **guc_custom(int *count);

/* All settings, in an array that is valid until the next call. */
extern struct config_generic **guc_all(int *count);

/* The present value as text that set_config() accepts; palloc'd. */
extern char *guc_text(struct config_generic *setting);

#endif							/* CITUS_COMPAT_GUC_H */
