/*-------------------------------------------------------------------------
 *
 * statement_text.h
 *	  What the gateway knows of a statement by the words of its text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_STATEMENT_TEXT_H
#define CITUS_GATEWAY_POOLER_STATEMENT_TEXT_H

#include "postgres.h"

/* Commands of transaction blocks. */
typedef enum TextControl
{
	CONTROL_NONE,
	CONTROL_BEGIN,
	CONTROL_INSIDE,				/* SAVEPOINT, RELEASE, ROLLBACK TO */
	CONTROL_END,				/* COMMIT, ROLLBACK */
} TextControl;

/* The command that a text of so many bytes is. */
extern TextControl text_control(const char *text, size_t len);
/* Whether a text may name prepared statements, or list them. */
extern bool text_names_statements(const char *sql, size_t len);
/* Whether it may drop some. */
extern bool text_drops_statements(const char *sql, size_t len);
/* Where a word, in small letters, is in a text; NULL: nowhere. */
extern const char *text_find_word(const char *sql, size_t len, const char *word);

#endif							/* CITUS_GATEWAY_POOLER_STATEMENT_TEXT_H */
