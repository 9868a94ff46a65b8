/*-------------------------------------------------------------------------
 *
 * exchange_store.c
 *	  Exchanges of this node: rows that other nodes have sent for a statement.
 *
 * An exchange is a directory among the server's temporary files, with one file
 * for each source.  It belongs to the session that the statement's initiator
 * has opened here for it only, and is removed at the latest at the end of that
 * session; on the initiator's own node, at the end of the transaction.  After
 * a crash, it is removed with all temporary files when the server starts.
 * Sources don't create directories, so rows that arrive too late are refused.
 *
 * Only nodes may fill an exchange, and any session that knows its name may
 * read it: the name is random.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/file_utils.h"
#include "nodes/pg_list.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "compat/varlena.h"
#include "exchange/exchange_store.h"
#include "lib/transaction_end.h"

#define EXCHANGE_FOLDER "base/" PG_TEMP_FILES_DIR

static void drop_all_exchanges(void);

static List *own_exchanges = NIL;	/* names (char *) of those that this
									 * session has opened */
static TransactionEnd exchanges_end = {drop_all_exchanges};

void
exchange_name(char *id)
{
	uint8		random[(EXCHANGE_ID_SIZE - 1) / 2];

	if (!pg_strong_random(random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random name")));
	hex_encode((char *) random, sizeof(random), id);
	id[EXCHANGE_ID_SIZE - 1] = '\0';
}

/* Errors unless a name can be that of an exchange, or a source. */
static void
check_exchange_name(const char *name)
{
	if (name[0] == '\0' || strspn(name, "0123456789abcdef") != strlen(name) || strlen(name) >= EXCHANGE_ID_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid name of an exchange: \"%s\"", name)));
}

static char *
folder_path(const char *id)
{
	check_exchange_name(id);
	return psprintf("%s/%s_citus_%s", EXCHANGE_FOLDER, PG_TEMP_FILE_PREFIX, id);
}

static char *
source_path(const char *id, const char *source)
{
	check_exchange_name(source);
	return psprintf("%s/%s", folder_path(id), source);
}

/* before_shmem_exit callback. */
static void
drop_at_exit(int code, Datum arg)
{
	drop_all_exchanges();
}

void
exchange_store_create(const char *id, bool outlives_transaction)
{
	static bool drops_at_exit = false;
	char	   *path = folder_path(id);
	MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);

	own_exchanges = lappend(own_exchanges, pstrdup(id));
	MemoryContextSwitchTo(old_context);
	if (!outlives_transaction)
		at_transaction_end(&exchanges_end);
	else if (!drops_at_exit)
	{
		before_shmem_exit(drop_at_exit, (Datum) 0);
		drops_at_exit = true;
	}
	PathNameCreateTemporaryDir(EXCHANGE_FOLDER, path);
}

void
exchange_store_drop(const char *id)
{
	ListCell   *cell;

	foreach(cell, own_exchanges)
	{
		if (strcmp(lfirst(cell), id) != 0)
			continue;
		PathNameDeleteTemporaryDir(folder_path(id));
		pfree(lfirst(cell));
		own_exchanges = foreach_delete_current(own_exchanges, cell);
		return;
	}
}

/* TransactionEnd.run */
static void
drop_all_exchanges(void)
{
	while (own_exchanges != NIL)
		exchange_store_drop(linitial(own_exchanges));
}

/* Errors if an exchange isn't there (any more). */
static void
check_exchange_is_open(const char *id)
{
	struct stat status;

	if (stat(folder_path(id), &status) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the exchange of rows has ended"),
				 errdetail("The session that the statement's initiator had on this node is over.")));
}

/*
 * The server counts the bytes of a file while the process that made it has it
 * open, so what has been stored before would not count for the limit.
 */
static void
check_exchange_size(off_t size)
{
	if (temp_file_limit >= 0 && size > (off_t) temp_file_limit * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("temporary file size exceeds temp_file_limit (%dkB)", temp_file_limit)));
}

/* Writes all bytes at an offset of a file. */
static void
write_exchange(File file, const void *data, int len, off_t offset)
{
	errno = 0;
	if (FileWrite(file, unconstify(void *, data), len, offset, WAIT_EVENT_BUFFILE_WRITE) == len)
		return;
	if (errno == 0)
		errno = ENOSPC;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not write to file \"%s\": %m", FilePathName(file))));
}

void
exchange_store_append(const char *id, const char *source, const char *data, int len)
{
	char	   *path = source_path(id, source);
	File		file = PathNameOpenTemporaryFile(path, O_RDWR);
	int32		length = len;
	off_t		offset;

	if (file < 0)
	{
		check_exchange_is_open(id);
		file = PathNameCreateTemporaryFile(path, true);
	}
	offset = FileSize(file);
	check_exchange_size(offset + sizeof(length) + len);
	write_exchange(file, &length, sizeof(length), offset);
	write_exchange(file, data, len, offset + sizeof(length));
	FileClose(file);
	pfree(path);
}

File
exchange_store_open(const char *id, const char *source)
{
	check_exchange_is_open(id);
	return PathNameOpenTemporaryFile(source_path(id, source), O_RDONLY);
}

/* citus_internal.exchange_create(id text) */
SQL_FUNCTION(citus_internal_exchange_create);
Datum
citus_internal_exchange_create(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	exchange_store_create(text_to_cstring(PG_GETARG_TEXT_PP(0)), true);
	PG_RETURN_VOID();
}

/* citus_internal.exchange_drop(id text) */
SQL_FUNCTION(citus_internal_exchange_drop);
Datum
citus_internal_exchange_drop(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	exchange_store_drop(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/* citus_internal.exchange_receive(id text, source text, rows bytea) */
SQL_FUNCTION(citus_internal_exchange_receive);
Datum
citus_internal_exchange_receive(PG_FUNCTION_ARGS)
{
	bytea	   *rows = PG_GETARG_BYTEA_PP(2);

	node_function_check(fcinfo);
	exchange_store_append(text_to_cstring(PG_GETARG_TEXT_PP(0)), text_to_cstring(PG_GETARG_TEXT_PP(1)),
						  VARDATA_ANY(rows), VARSIZE_ANY_EXHDR(rows));
	PG_RETURN_VOID();
}
