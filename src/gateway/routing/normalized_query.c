/*-------------------------------------------------------------------------
 *
 * normalized_query.c
 *	  Texts of the simple protocol that differ in their literals only.
 *
 * A normalized query is a text with a placeholder for each integer and each
 * string.  Texts with the same one have the same route: the value of one of
 * the literals determines the node (route.c).  As with parameters, the text
 * itself is sent unchanged, and a wrong route costs time but doesn't change
 * the answer.  So the scanner needs no full knowledge of SQL.  It gives up on
 * everything that could be mistaken for a literal: comments, escapes, dollar
 * quotes, several statements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "gateway/routing/policy.h"

static bool
is_name_char(char c)
{
	return isalnum((unsigned char) c) || c == '_';
}

static bool
is_all_digits(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char) text[i]))
			return false;
	return true;
}

/* Scans a name, a keyword, or a number; returns its end. */
static const char *
scan_word(NormalizedQuery *normalized, const char *text, const char *p)
{
	size_t		len = 0;
	bool		number = isdigit((unsigned char) *p);

	while (is_name_char(p[len]) || (number && p[len] == '.'))
		len++;
	if (number && is_all_digits(p, len) && normalized->nliterals < MAX_LITERALS && (p == text || p[-1] != '.'))
	{
		normalized->literals[normalized->nliterals++] = (QueryLiteral) {p - text, p, len};
		appendStringInfoChar(&normalized->text, '\1');
	}
	else
		appendBinaryStringInfo(&normalized->text, p, len);
	return p + len;
}

/* Scans a string; NULL if it isn't a plain one. */
static const char *
scan_string(NormalizedQuery *normalized, const char *text, const char *p)
{
	const char *end = strchr(p + 1, '\'');

	if (end == NULL || end[1] == '\'' || memchr(p, '\\', end - p) != NULL ||
		(p > text && (is_name_char(p[-1]) || p[-1] == '&')) || normalized->nliterals == MAX_LITERALS)
		return NULL;
	normalized->literals[normalized->nliterals++] = (QueryLiteral) {p - text, p + 1, end - p - 1};
	appendStringInfoChar(&normalized->text, '\2');
	return end + 1;
}

static bool
scan_query(NormalizedQuery *normalized, const char *text)
{
	const char *p = text;

	normalized->nliterals = 0;
	initStringInfo(&normalized->text);
	while (*p != '\0')
	{
		if (is_name_char(*p))
			p = scan_word(normalized, text, p);
		else if (*p == '\'')
		{
			p = scan_string(normalized, text, p);
			if (p == NULL)
				return false;
		}
		else if (IS_HIGHBIT_SET(*p) || strchr("\\$\"\1\2", *p) != NULL || (*p == ';' && p[1] != '\0') ||
				 strncmp(p, "--", 2) == 0 || strncmp(p, "/*", 2) == 0)
			return false;
		else
			appendStringInfoChar(&normalized->text, *p++);
	}
	return true;
}

PreparedText *
normalized_query_get(const Client *client, const char *text, NormalizedQuery *normalized)
{
	if (!scan_query(normalized, text))
		return NULL;
	return client_text(client, NORMALIZED_NUMBER, normalized->text.data, normalized->text.len);
}

int
query_literal_number(const char *text, int offset)
{
	NormalizedQuery	normalized;

	if (scan_query(&normalized, text))
		for (int i = 0; i < normalized.nliterals; i++)
			if (normalized.literals[i].offset == offset)
				return i;
	return -1;
}
