/*-------------------------------------------------------------------------
 *
 * copy_options.c
 *	  The options of a COPY statement, as another node needs them.
 *
 * Lines that are passed on unchanged must be read under the options that
 * describe them.  The initiator has already handled the options about the file
 * as a whole (its header and encoding) and about the way of loading.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "copy/copy_from.h"

typedef enum OptionKind
{
	OPTION_DROPPED,				/* handled by the initiator */
	OPTION_STRING,
	OPTION_COLUMNS,
} OptionKind;

static const struct
{
	const char *name;
	OptionKind	kind;
}			line_options[] =
{
	{"format", OPTION_STRING},
	{"delimiter", OPTION_STRING},
	{"null", OPTION_STRING},
	{"quote", OPTION_STRING},
	{"escape", OPTION_STRING},
	{"force_null", OPTION_COLUMNS},
	{"force_not_null", OPTION_COLUMNS},
	{"header", OPTION_DROPPED},
	{"encoding", OPTION_DROPPED},
	{"freeze", OPTION_DROPPED},
};

static void
append_column_list(StringInfo text, List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
		appendStringInfo(text, "%c%s", foreach_current_index(lc) == 0 ? '(' : ',',
						 quote_identifier(strVal(lfirst(lc))));
	appendStringInfoChar(text, ')');
}

/* Appends an option; false if it is none that can be passed on. */
static bool
append_option(StringInfo text, DefElem *option)
{
	for (int i = 0; i < lengthof(line_options); i++)
	{
		if (strcmp(line_options[i].name, option->defname) != 0)
			continue;
		switch (line_options[i].kind)
		{
			case OPTION_DROPPED:
				return true;
			case OPTION_STRING:
				appendStringInfo(text, ", %s %s", option->defname, quote_literal_cstr(defGetString(option)));
				return true;
			case OPTION_COLUMNS:
				if (option->arg == NULL || !IsA(option->arg, List))
					return false;
				appendStringInfo(text, ", %s ", option->defname);
				append_column_list(text, castNode(List, option->arg));
				return true;
		}
	}
	return false;
}

const char *
copy_line_options(List *options)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "ENCODING %s", quote_literal_cstr(GetDatabaseEncodingName()));
	foreach_node(DefElem, option, options)
	{
		if (!append_option(&text, option))
			return NULL;
	}
	return text.data;
}
