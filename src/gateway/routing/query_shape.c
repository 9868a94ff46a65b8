/*-------------------------------------------------------------------------
 *
 * query_shape.c
 *	  Texts of the simple protocol that differ in their literals only.
 *
 * A text's shape is the text with a placeholder for each integer and each
 * string.  Texts with the same shape have the same route: the value of one of
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
scan_word(QueryShape *shape, const char *text, const char *p)
{
	size_t		len = 0;
	bool		number = isdigit((unsigned char) *p);

	while (is_name_char(p[len]) || (number && p[len] == '.'))
		len++;
	if (number && is_all_digits(p, len) && shape->nliterals < MAX_LITERALS && (p == text || p[-1] != '.'))
	{
		shape->literals[shape->nliterals++] = (QueryLiteral) {p - text, p, len};
		appendStringInfoChar(&shape->text, '\1');
	}
	else
		appendBinaryStringInfo(&shape->text, p, len);
	return p + len;
}

/* Scans a string; NULL if it isn't a plain one. */
static const char *
scan_string(QueryShape *shape, const char *text, const char *p)
{
	const char *end = strchr(p + 1, '\'');

	if (end == NULL || end[1] == '\'' || memchr(p, '\\', end - p) != NULL ||
		(p > text && (is_name_char(p[-1]) || p[-1] == '&')) || shape->nliterals == MAX_LITERALS)
		return NULL;
	shape->literals[shape->nliterals++] = (QueryLiteral) {p - text, p + 1, end - p - 1};
	appendStringInfoChar(&shape->text, '\2');
	return end + 1;
}

static bool
scan_query(QueryShape *shape, const char *text)
{
	const char *p = text;

	shape->nliterals = 0;
	initStringInfo(&shape->text);
	while (*p != '\0')
	{
		if (is_name_char(*p))
			p = scan_word(shape, text, p);
		else if (*p == '\'')
		{
			p = scan_string(shape, text, p);
			if (p == NULL)
				return false;
		}
		else if (IS_HIGHBIT_SET(*p) || strchr("\\$\"\1\2", *p) != NULL || (*p == ';' && p[1] != '\0') ||
				 strncmp(p, "--", 2) == 0 || strncmp(p, "/*", 2) == 0)
			return false;
		else
			appendStringInfoChar(&shape->text, *p++);
	}
	return true;
}

PreparedText *
query_shape_get(const Client *client, const char *text, QueryShape *shape)
{
	if (!scan_query(shape, text))
		return NULL;
	return client_text(client, SHAPE_NUMBER, shape->text.data, shape->text.len);
}

int
query_literal_number(const char *text, int offset)
{
	QueryShape	shape;

	if (scan_query(&shape, text))
		for (int i = 0; i < shape.nliterals; i++)
			if (shape.literals[i].offset == offset)
				return i;
	return -1;
}
