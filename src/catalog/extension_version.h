/*-------------------------------------------------------------------------
 *
 * extension_version.h
 *	  Versions of the library, of the extension in a database, and of other
 *	  nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_EXTENSION_VERSION_H
#define CITUS_CATALOG_EXTENSION_VERSION_H

#include "postgres.h"

/* The setting by which a node's session tells what its opener may ask for. */
#define NODE_VERSION_SETTING "citus.node_version"

/* The version of this library: default_version of citus.control. */
extern const char *const library_version;

/*
 * The version of the extension in this database, palloc'd; NULL if it isn't
 * there.  It decides what this node asks of others, which have the same one,
 * and never a library that is older (ALTER EXTENSION .. UPDATE runs on all
 * nodes at once, ddl/extension_update.c).
 */
extern char *extension_version(void);

/*
 * Less than, equal to or greater than 0, as left is older than right or not.
 */
extern int	extension_version_compare(const char *left, const char *right);

/* Errors if the library is older than the extension in this database. */
extern void extension_version_check(void);

extern void extension_version_init(void);

#endif							/* CITUS_CATALOG_EXTENSION_VERSION_H */
