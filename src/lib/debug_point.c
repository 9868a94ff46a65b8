/*-------------------------------------------------------------------------
 *
 * debug_point.c
 *	  Named places in the code where tests make things happen.
 *
 * citus.debug_points is a list of name=action, separated by commas.  Actions:
 *
 *	  error		an ERROR is raised
 *	  kill		the process dies at once, as by kill -9
 *	  stop		the process stops until it gets SIGCONT (or SIGKILL)
 *
 * A process that is stopped can be found by the word "stopped at <name>" in
 * the server's log.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "utils/guc.h"

#include "lib/debug_point.h"

char	   *debug_points = NULL;

void
debug_point_init(void)
{
	DefineCustomStringVariable("citus.debug_points",
							   "Makes processes fail or stop at named places, for tests.",
							   "A list of name=action; actions are error, kill and stop.",
							   &debug_points, "", PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL,
							   NULL, NULL, NULL);
}

/* The action for name in the list, or NULL; points into the list. */
static const char *
find_action(const char *name)
{
	size_t		len = strlen(name);
	const char *p = debug_points;

	while (p != NULL && *p != '\0')
	{
		while (*p == ' ' || *p == ',')
			p++;
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return p + len + 1;
		p = strchr(p, ',');
	}
	return NULL;
}

void
debug_point_reached(const char *name)
{
	const char *action = find_action(name);

	if (action == NULL)
		return;
	if (strncmp(action, "error", 5) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("debug point \"%s\" reached", name)));
	if (strncmp(action, "kill", 4) == 0)
		kill(getpid(), SIGKILL);
	if (strncmp(action, "stop", 4) == 0)
	{
		ereport(LOG,
				(errmsg("process %d stopped at %s", (int) getpid(), name)));
		kill(getpid(), SIGSTOP);
	}
}
