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

/* What is particular to a setting's type; since version 19 beside the rest. */
#if PG_VERSION_NUM >= 190000
#define GUC_BOOL(setting) (&(setting)->_bool)
#define GUC_INT(setting) (&(setting)->_int)
#define GUC_REAL(setting) (&(setting)->_real)
#define GUC_STRING(setting) (&(setting)->_string)
#define GUC_ENUM(setting) (&(setting)->_enum)
#define guc_enum_text(setting, value) config_enum_lookup_by_value(setting, value)
#else
#define GUC_BOOL(setting) ((struct config_bool *) (setting))
#define GUC_INT(setting) ((struct config_int *) (setting))
#define GUC_REAL(setting) ((struct config_real *) (setting))
#define GUC_STRING(setting) ((struct config_string *) (setting))
#define GUC_ENUM(setting) ((struct config_enum *) (setting))
#define guc_enum_text(setting, value) config_enum_lookup_by_value(GUC_ENUM(setting), value)
#endif

/* What a check hook's extra is made of; in 15, plain memory of the process. */
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#define guc_free(pointer) free(pointer)
#endif

/*
 * The entry of a setting, or NULL.  The pointer stays valid, except of
 * placeholders, which a library may replace.
 */
extern struct config_generic *guc_find(const char *name);

/*
 * All settings with a dot in their name but our own (citus.*), in an array
 * that is valid until the next call.  Cheap when the list has not changed.
 * Since version 16, settings with their defaults may be missing, of a library
 * that was loaded since the last change of a setting.
 */
extern struct config_generic **guc_custom(int *count);

/* All settings, in an array that is valid until the next call. */
extern struct config_generic **guc_all(int *count);

/* The present value as text that set_config() accepts; palloc'd. */
extern char *guc_text(struct config_generic *setting);

#endif							/* CITUS_COMPAT_GUC_H */
