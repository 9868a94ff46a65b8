/*-------------------------------------------------------------------------
 *
 * daemon.h
 *	  The maintenance worker of a database, and its launcher.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DAEMON_DAEMON_H
#define CITUS_DAEMON_DAEMON_H

#include "postgres.h"

extern void daemon_init(void);

/*
 * A job that the maintenance worker runs periodically, in a separate
 * transaction, as the bootstrap superuser.  It may raise errors; they are
 * logged.
 */
typedef struct DaemonJob
{
	const char *name;
	int		   *interval_ms;	/* a setting; not above 0: never */
	int			(*interval) (void); /* the same as a function, if interval_ms
									 * is NULL */
	void		(*run) (void);
	bool		(*wanted) (void);	/* if not NULL: whether it should run
									 * soon */
	bool		(*due) (void);	/* if not NULL: whether it should run now */
	bool		(*needless) (void); /* if not NULL: whether it would do
									 * nothing; called outside of a
									 * transaction */
} DaemonJob;

/*
 * Adds a job; to be called while the library is loaded.  The struct is kept.
 */
extern void daemon_add_job(const DaemonJob *job);

#endif							/* CITUS_DAEMON_DAEMON_H */
