/*-------------------------------------------------------------------------
 *
 * statement_names.c
 *	  Texts that name a client's prepared statements, or list them.
 *
 * A session has the texts of several clients' prepared statements under our
 * names, which no client sees.  EXECUTE, DEALLOCATE, PREPARE and
 * pg_prepared_statements mean the client's own names.  So before such a text
 * runs, the session prepares the statements that it may mean under these, and
 * it drops them before the next client gets it.  The text is not parsed: it is
 * such a text if it has one of a few words, and it may mean a name that occurs
 * in it.  If it is none, that costs a little time.
 *
 * The session reports names that DEALLOCATE has dropped (session_state.c), and
 * leaves ours out of pg_prepared_statements (client_number.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "gateway/pooler/session.h"

/* A name of the client that a text may mean. */
typedef struct MeantName
{
	char	   *name;
	PreparedText *text;
	uint64		order;			/* in which the client has prepared them */
} MeantName;

typedef struct NameSearch
{
	const char *sql;			/* NULL: all names are meant */
	List	   *found;			/* of MeantName */
} NameSearch;

/* For client_visit_statements. */
static void
add_meant_name(const char *name, PreparedText *text, uint64 order, void *arg)
{
	NameSearch *search = arg;
	MeantName  *meant;

	if (name[0] == '\0' || (search->sql != NULL && strcasestr(search->sql, name) == NULL))
		return;
	meant = palloc(sizeof(MeantName));
	*meant = (MeantName)
	{
		pstrdup(name), text, order
	};
	search->found = lappend(search->found, meant);
}

static int
compare_meant_names(const ListCell *left, const ListCell *right)
{
	uint64		a = ((const MeantName *) lfirst(left))->order;
	uint64		b = ((const MeantName *) lfirst(right))->order;

	return a < b ? -1 : a > b;
}

/* The names that a text may mean, in the order of their statements. */
static List *
meant_names(const Client *client, const char *sql)
{
	NameSearch	search = {.sql = sql};

	/*
	 * quotes in names are doubled, and other letters may be written as numbers
	 */
	if (text_find_word(sql, strlen(sql), "prepared_statement") != NULL || strstr(sql, "\"\"") != NULL ||
		text_find_word(sql, strlen(sql), "u&\"") != NULL)
		search.sql = NULL;
	client_visit_statements(client, add_meant_name, &search);
	list_sort(search.found, compare_meant_names);
	return search.found;
}

/* Sends that the session is to drop the names that it was told. */
static void
drop_told_names(Backend *backend)
{
	ListCell   *cell;

	foreach(cell, backend->statements.told_names)
	{
		expect_push(backend, EXPECT_CLOSE, READER_NOBODY);
		message_put_named(&backend->stream, PqMsg_Close, NAMED_STATEMENT, lfirst(cell));
	}
	statement_names_free(backend);
}

void
statement_names_free(Backend *backend)
{
	list_free_deep(backend->statements.told_names);
	backend->statements.told_names = NIL;
	backend->statements.told_text = 0;
}

static void
tell_name(Backend *backend, const MeantName *meant, bool only_dropped)
{
	const PreparedText *text = meant->text;
	MemoryContext old = MemoryContextSwitchTo(gateway_context);

	backend->statements.told_names = lappend(backend->statements.told_names, pstrdup(meant->name));
	MemoryContextSwitchTo(old);
	expect_push(backend, EXPECT_PARSE, READER_QUIET);
	if (only_dropped)
		send_parse_as(backend, meant->name, "\0\0", 3);
	else
		send_parse_as(backend, meant->name, text->parse, text->parse_len);
}

bool
statement_names_tell(Client *client, const char *sql, const PreparedText *text)
{
	Backend    *backend = client->backend;
	bool		fresh = !backend->answers.unsynced;
	bool		only_dropped;
	List	   *meant;
	ListCell   *cell;

	if (backend_is_remote(backend) || client->input.in_copy || backend->answers.skipping || backend->transaction == TRANSACTION_FAILED ||
		(text != NULL && backend->statements.told_text == text->id && backend->statements.told_version == client->names_version))
		return true;
	meant = meant_names(client, sql);
	if (meant == NIL && backend->statements.told_names == NIL)
		return true;
	if (expect_head(backend) != NULL)
	{
		/* what has not been answered may change the names */
		message_put_empty(&backend->stream, PqMsg_Flush);
		backend->answers.checking = true;
		return false;
	}
	drop_told_names(backend);
	only_dropped = text_find_word(sql, strlen(sql), "execute") == NULL && text_find_word(sql, strlen(sql), "prepare") == NULL;
	foreach(cell, meant)
		tell_name(backend, lfirst(cell), only_dropped);
	if (fresh)
	{
		/* if one of them can't be prepared, that is no error of the text */
		expect_push(backend, EXPECT_SYNC, READER_SETTING);
		message_put_empty(&backend->stream, PqMsg_Sync);
	}
	if (text != NULL)
	{
		backend->statements.told_text = text->id;
		backend->statements.told_version = client->names_version;
	}
	return true;
}

void
statement_names_forget(Backend *backend)
{
	if (backend->statements.told_names == NIL || backend->transaction != TRANSACTION_NONE || expect_head(backend) != NULL)
		return;
	drop_told_names(backend);
	expect_push(backend, EXPECT_SYNC, READER_QUIET);
	message_put_empty(&backend->stream, PqMsg_Sync);
}
