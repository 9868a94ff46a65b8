/*-------------------------------------------------------------------------
 *
 * exact_text.h
 *	  Values as text that any session reads back alike.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_EXACT_TEXT_H
#define CITUS_LIB_EXACT_TEXT_H

#include "postgres.h"

/*
 * Until AtEOXact_GUC(true, result), output functions lose nothing and write
 * forms that don't depend on the reader's settings, with qualified names.
 */
extern int	exact_text_begin(void);

/*
 * Until AtEOXact_GUC(true, result), names in our own statements mean what is
 * in pg_catalog, here and on other nodes.  A user's operator of the very types
 * of its operands, in a schema of the search path, would be taken before the
 * server's, and be run with the rights of the caller, often a superuser.
 */
extern int	exact_names_begin(void);

/*
 * Until exact_text_read_end(result), constants in texts written so are read as
 * they are elsewhere.
 */
extern int	exact_text_read_begin(void);
extern void exact_text_read_end(int nest);

#endif							/* CITUS_LIB_EXACT_TEXT_H */
