/*-------------------------------------------------------------------------
 *
 * extension_version.c
 *	  Versions of the library, of the extension in a database, and of other
 *	  nodes.
 *
 * A version is numbers, with '.' or '-' between them.  There are three: of the
 * library that this server has loaded, of the objects that its script has made
 * in a database, and of what a node that opens a session here may ask for,
 * which is the version of the extension in that node's database.
 *
 * A library works with the objects of earlier versions, and answers what nodes
 * of earlier versions ask: so the servers of a cluster can be restarted with a
 * new library one by one.  The contrary is refused: a library doesn't know
 * what the objects of a later version mean, or what nodes with these ask for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"

#include "catalog/catalog_rows.h"
#include "catalog/extension_version.h"
#include "extension_version_number.h"

const char *const library_version = EXTENSION_VERSION;

static char *node_version = NULL;
static char *shown_library_version = NULL;

char *
extension_version(void)
{
	ScanKeyData key;
	List	   *rows;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("citus"));
	rows = catalog_rows_by_keys(ExtensionRelationId, ExtensionNameIndexId, 1, &key);
	if (rows == NIL)
		return NULL;
	return TextDatumGetCString(((CatalogRow *) linitial(rows))->values[Anum_pg_extension_extversion - 1]);
}

/* The next number of a version, which p leaves; -1 at its end. */
static long
next_number(const char **p)
{
	char	   *end;
	long		number;

	*p += strcspn(*p, "0123456789");
	if (**p == '\0')
		return -1;
	number = strtol(*p, &end, 10);
	*p = end;
	return number;
}

int
extension_version_compare(const char *left, const char *right)
{
	for (;;)
	{
		long		left_number = next_number(&left);
		long		right_number = next_number(&right);

		if (left_number != right_number)
			return left_number < right_number ? -1 : 1;
		if (left_number < 0)
			return 0;
	}
}

void
extension_version_check(void)
{
	char	   *version = extension_version();

	if (version == NULL || extension_version_compare(version, library_version) <= 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the extension in this database has version %s, but the library that this server has loaded is older", version),
			 errdetail("The library has version %s.", library_version),
			 errhint("Install version %s of the extension's files, or a later one, and restart the server.", version)));
}

/* A node that may ask for what this library doesn't know is kept out. */
static bool
check_node_version(char **newval, void **extra, GucSource source)
{
	if (*newval == NULL || extension_version_compare(*newval, library_version) <= 0)
		return true;
	GUC_check_errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
	GUC_check_errmsg("the library of this node is older than the extension on another node, which has connected to it");
	GUC_check_errdetail("This library has version %s, that node's extension has version %s.", library_version, *newval);
	GUC_check_errhint("Install that version of the extension's files here, or a later one, and restart the server.");
	return false;
}

void
extension_version_init(void)
{
	DefineCustomStringVariable("citus.library_version", "Shows the version of the library that this server has loaded.",
							   NULL, &shown_library_version, EXTENSION_VERSION, PGC_INTERNAL, 0, NULL, NULL, NULL);
	DefineCustomStringVariable(NODE_VERSION_SETTING,
							   "The version of the extension on the node that has opened the session.",
							   "Set by nodes when they connect.",
							   &node_version, "", PGC_USERSET,
							   GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							   check_node_version, NULL, NULL);
}
