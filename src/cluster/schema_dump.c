/*-------------------------------------------------------------------------
 *
 * schema_dump.c
 *	  The statements that make a node's objects, as pg_dump writes them.
 *
 * The server can write the definitions of few kinds of objects itself; pg_dump
 * knows all, and their order.  It writes an archive, whose list of contents
 * names each entry's catalog and OID: so entries are chosen by their objects,
 * not by their text.  pg_restore then writes the chosen ones as a script,
 * which the server's own parser cuts into statements.
 *
 * pg_dump is a session of its own: it sees what is committed.  It waits for
 * locks no longer than LOCK_TIMEOUT, since this transaction may hold them; it
 * locks tables on its node only, since this transaction has locked the set of
 * nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "cluster/schema_dump.h"
#include "remote/connection.h"

#define LOCK_TIMEOUT "10s"

struct SchemaDump
{
	File		archive;
};

/*
 * The kinds of entries whose names have several words; the kind follows the
 * OIDs in a line of the list.
 */
static const char *const long_kinds[] = {
	"ACCESS METHOD", "CHECK CONSTRAINT", "DEFAULT ACL", "EVENT TRIGGER", "FK CONSTRAINT", "FOREIGN DATA WRAPPER",
	"FOREIGN TABLE", "INDEX ATTACH", "MATERIALIZED VIEW", "OPERATOR CLASS", "OPERATOR FAMILY",
	"PROCEDURAL LANGUAGE", "PUBLICATION TABLES IN SCHEMA", "PUBLICATION TABLE", "ROW SECURITY", "SECURITY LABEL",
	"SEQUENCE OWNED BY", "SHELL TYPE", "TABLE ATTACH", "TEXT SEARCH CONFIGURATION", "TEXT SEARCH DICTIONARY",
	"TEXT SEARCH PARSER", "TEXT SEARCH TEMPLATE", "USER MAPPING",
};

/* A word as the shell takes it literally. */
static char *
shell_word(const char *word)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '\'');
	for (; *word != '\0'; word++)
	{
		if (*word == '\'')
			appendStringInfoString(&buf, "'\\''");
		else
			appendStringInfoChar(&buf, *word);
	}
	appendStringInfoChar(&buf, '\'');
	return buf.data;
}

/*
 * The path of one of the server's client programs, which are installed beside
 * it.
 */
static char *
program_path(const char *name)
{
	char		path[MAXPGPATH];

	strlcpy(path, my_exec_path, MAXPGPATH);
	get_parent_directory(path);
	return psprintf("%s/%s", path, name);
}

/* Reads a stream to its end. */
static char *
read_stream(FILE *stream)
{
	StringInfoData buf;
	char		chunk[8192];
	size_t		len;

	initStringInfo(&buf);
	while ((len = fread(chunk, 1, sizeof(chunk), stream)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		appendBinaryStringInfo(&buf, chunk, len);
	}
	return buf.data;
}

static char *
read_file(const char *path)
{
	FILE	   *stream = AllocateFile(path, PG_BINARY_R);
	char	   *text;

	if (stream == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	text = read_stream(stream);
	FreeFile(stream);
	return text;
}

/*
 * Runs a client program of the server; returns what it writes, and errors
 * unless it succeeds.
 */
static char *
run_program(const char *name, const char *arguments)
{
	File		messages = OpenTemporaryFile(false);
	char	   *command = psprintf("%s %s 2> %s", shell_word(program_path(name)), arguments,
								   shell_word(FilePathName(messages)));
	FILE	   *stream = OpenPipeStream(command, PG_BINARY_R);
	char	   *output;

	if (stream == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not run program \"%s\": %m", name)));
	output = read_stream(stream);
	if (ClosePipeStream(stream) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("program \"%s\" failed", name),
				 errdetail_internal("%s", pchomp(read_file(FilePathName(messages)))),
				 errhint("The client programs of the server's version must be installed on the coordinator, "
						 "and the coordinator must be able to connect to this address.")));
	FileClose(messages);
	return output;
}

SchemaDump *
schema_dump_make(const char *host, int32 port)
{
	SchemaDump *dump = palloc(sizeof(SchemaDump));
	char	   *password;
	char	   *conninfo = psprintf("%s options='-c citus.enable_ddl_propagation=off -c " NODE_PROOF_SETTING "=superuser'",
									remote_conninfo(host, port, &password));
	char	   *arguments;

	dump->archive = OpenTemporaryFile(false);
	arguments = psprintf("--format=custom --schema-only --no-subscriptions --no-tablespaces --no-password "
						 "--quote-all-identifiers --lock-wait-timeout=" LOCK_TIMEOUT " --exclude-schema=" SHARD_SCHEMA
						 " --file=%s --dbname=%s", shell_word(FilePathName(dump->archive)), shell_word(conninfo));
	if (password != NULL)
		setenv("PGPASSWORD", password, 1);
	PG_TRY();
	{
		(void) run_program("pg_dump", arguments);
	}
	PG_FINALLY();
	{
		unsetenv("PGPASSWORD");
	}
	PG_END_TRY();
	return dump;
}

/* The kind of entry that a line of the list names after its OIDs. */
static char *
kind_of_entry(const char *text)
{
	for (int i = 0; i < lengthof(long_kinds); i++)
	{
		size_t		len = strlen(long_kinds[i]);

		if (strncmp(text, long_kinds[i], len) == 0 && text[len] == ' ')
			return pstrdup(long_kinds[i]);
	}
	return pnstrdup(text, strcspn(text, " "));
}

/* Of the archive's list of contents, the lines of wanted entries. */
static char *
wanted_lines(char *list, DumpFilter wanted)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (char *line = strtok(list, "\n"); line != NULL; line = strtok(NULL, "\n"))
	{
		ObjectAddress object = {InvalidOid, InvalidOid, 0};
		int			id;
		int			consumed = 0;

		if (sscanf(line, "%d; %u %u %n", &id, &object.classId, &object.objectId, &consumed) < 3 || consumed == 0)
			continue;
		if (wanted == NULL || wanted(kind_of_entry(line + consumed), &object))
			appendStringInfo(&buf, "%s\n", line);
	}
	return buf.data;
}

/* Blanks out the commands of psql, which frame a script. */
static void
blank_frame(char *script)
{
	char	   *line = script;

	while (*line == '-' || *line == '\n' || *line == '\\')
	{
		size_t		len = strcspn(line, "\n");

		if (*line == '\\')
			memset(line, ' ', len);
		line += len + (line[len] == '\n');
	}
	line = strrchr(script, '\\');
	if (line != NULL && line > script && line[-1] == '\n' && strncmp(line, "\\unrestrict", 11) == 0 &&
		strspn(line + strcspn(line, "\n"), "\n") == strlen(line + strcspn(line, "\n")))
		memset(line, ' ', strcspn(line, "\n"));
}

/* Skips the comments in front of a statement. */
static const char *
skip_comments(const char *text)
{
	while (*text == '\n' || *text == ' ' || strncmp(text, "--", 2) == 0)
		text += *text == '-' ? strcspn(text, "\n") : 1;
	return text;
}

/*
 * The statements of a script that make something: SET and SELECT prepare
 * pg_restore's session.
 */
static List *
split_script(char *script)
{
	List	   *statements = NIL;

	blank_frame(script);
	foreach_node(RawStmt, raw, raw_parser(script, RAW_PARSE_DEFAULT))
	{
		const char *start = skip_comments(script + raw->stmt_location);
		int			len = raw->stmt_len > 0 ? script + raw->stmt_location + raw->stmt_len - start : strlen(start);

		if (!IsA(raw->stmt, VariableSetStmt) && !IsA(raw->stmt, SelectStmt))
			statements = lappend(statements, pnstrdup(start, len));
	}
	return statements;
}

List *
schema_dump_statements(SchemaDump *dump, DumpFilter wanted)
{
	char	   *archive = shell_word(FilePathName(dump->archive));
	char	   *lines = wanted_lines(run_program("pg_restore", psprintf("--list %s", archive)), wanted);
	File		chosen = OpenTemporaryFile(false);
	char	   *script;

	if (FileWrite(chosen, lines, strlen(lines), 0, WAIT_EVENT_BUFFILE_WRITE) != (int) strlen(lines))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", FilePathName(chosen))));
	script = run_program("pg_restore", psprintf("--use-list=%s --file=- %s", shell_word(FilePathName(chosen)),
												archive));
	FileClose(chosen);
	return split_script(script);
}

void
schema_dump_close(SchemaDump *dump)
{
	FileClose(dump->archive);
}
