/*-------------------------------------------------------------------------
 *
 * exact_text.h
 *	  Values as text that doesn't depend on settings.
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
 * Until AtEOXact_GUC(true, result), names in our own statements are looked up
 * in pg_catalog only, here and on other nodes.  Otherwise a user's operator
 * with exactly matching operand types, in a schema of the search path, would
 * be preferred to the server's, and run with the rights of the caller, often a
 * superuser.
 */
extern int	exact_names_begin(void);

/*
 * Until exact_text_read_end(result), constants in such texts are read
 * independently of this session's settings.
 */
extern int	exact_text_read_begin(void);
extern void exact_text_read_end(int nest);

#endif							/* CITUS_LIB_EXACT_TEXT_H */
