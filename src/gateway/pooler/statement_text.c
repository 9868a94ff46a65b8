/*-------------------------------------------------------------------------
 *
 * statement_text.c
 *	  What the gateway knows of a statement by the words of its text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "gateway/pooler/statement_text.h"

/* No command of blocks has more words. */
#define MAX_WORDS 8

/* In small letters, cut off. */
typedef char Word[16];

/*
 * Splits a text that consists of words, and a semicolon perhaps; the number of
 * words, or 0.
 */
static int
split_words(const char *text, size_t len, Word *words)
{
	const char *p = text;
	int			nwords = 0;

	if (memchr(text, '\0', len) == NULL)
		return 0;
	for (;;)
	{
		int			length = 0;

		while (isspace((unsigned char) *p))
			p++;
		if (*p == '\0')
			return nwords;
		if (*p == ';')
		{
			p++;
			p += strspn(p, " \t\r\n");
			return *p == '\0' ? nwords : 0;
		}
		if (nwords == MAX_WORDS)
			return 0;
		for (; isalnum((unsigned char) *p) || *p == '_' || *p == '"' || IS_HIGHBIT_SET(*p); p++, length++)
			if (length < 15)
				words[nwords][length] = pg_ascii_tolower((unsigned char) *p);
		if (length == 0)
			return 0;
		words[nwords++][Min(length, 15)] = '\0';
	}
}

static bool
is_word(const char *word, const char *one, const char *other)
{
	return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

/* Whether the words are modes of a BEGIN. */
static bool
are_modes(int nwords, Word *words)
{
	if (nwords == 0)
		return true;
	if (nwords == 2)
		return strcmp(words[0], "read") == 0 && is_word(words[1], "only", "write");
	if (nwords < 3 || strcmp(words[0], "isolation") != 0 || strcmp(words[1], "level") != 0)
		return false;
	if (strcmp(words[2], "serializable") == 0)
		return are_modes(nwords - 3, words + 3);
	return nwords >= 4 &&
		(strcmp(words[2], "read") == 0 ? is_word(words[3], "committed", "uncommitted") :
		 strcmp(words[2], "repeatable") == 0 && strcmp(words[3], "read") == 0) &&
		are_modes(nwords - 4, words + 4);
}

TextControl
text_control(const char *text, size_t len)
{
	Word		words[MAX_WORDS];
	int			nwords;
	int			next = 1;

	while (len > 0 && isspace((unsigned char) *text))
		text++, len--;
	if (len == 0 || strchr("abcersABCERS", *text) == NULL || (nwords = split_words(text, len, words)) == 0)
		return CONTROL_NONE;
	if (is_word(words[0], "savepoint", "release"))
	{
		if (words[0][0] == 'r' && nwords == 3 && strcmp(words[1], "savepoint") == 0)
			next++;
		return nwords == next + 1 ? CONTROL_INSIDE : CONTROL_NONE;
	}
	if (strcmp(words[0], "start") == 0)
		return nwords > 1 && strcmp(words[1], "transaction") == 0 && are_modes(nwords - 2, words + 2) ?
			CONTROL_BEGIN : CONTROL_NONE;
	if (nwords > 1 && is_word(words[1], "work", "transaction"))
		next++;
	if (strcmp(words[0], "begin") == 0)
		return are_modes(nwords - next, words + next) ? CONTROL_BEGIN : CONTROL_NONE;
	if (is_word(words[0], "commit", "end") || is_word(words[0], "rollback", "abort"))
	{
		if (nwords == next)
			return CONTROL_END;
		if (strcmp(words[0], "rollback") != 0 || strcmp(words[next], "to") != 0)
			return CONTROL_NONE;
		next++;
		if (nwords == next + 2 && strcmp(words[next], "savepoint") == 0)
			next++;
		return nwords == next + 1 ? CONTROL_INSIDE : CONTROL_NONE;
	}
	return CONTROL_NONE;
}

const char *
text_find_word(const char *sql, size_t len, const char *word)
{
	size_t		word_len = strlen(word);

	for (const char *end = sql + len; sql + word_len <= end; sql++)
		if (pg_tolower((unsigned char) *sql) == (unsigned char) word[0] && pg_strncasecmp(sql, word, word_len) == 0)
			return sql;
	return NULL;
}

bool
text_names_statements(const char *sql, size_t len)
{
	static const char *const words[] = {"execute", "deallocate", "prepare", "discard"};

	/* the letters with which these begin are tested at once */
	for (const char *end = sql + len; sql < end; sql++)
	{
		switch (*sql | 0x20)
		{
			case 'e':
			case 'd':
			case 'p':
				for (int i = 0; i < lengthof(words); i++)
					if (end - sql >= strlen(words[i]) && pg_strncasecmp(sql, words[i], strlen(words[i])) == 0)
						return true;
				break;
			default:
				break;
		}
	}
	return false;
}

bool
text_drops_statements(const char *sql, size_t len)
{
	return text_find_word(sql, len, "deallocate") != NULL || text_find_word(sql, len, "discard") != NULL;
}
