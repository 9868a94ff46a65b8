/*-------------------------------------------------------------------------
 *
 * signal_handler.h
 *	  Handlers of signals have two arguments since version 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_SIGNAL_HANDLER_H
#define CITUS_COMPAT_SIGNAL_HANDLER_H

#include "postgres.h"

#if PG_VERSION_NUM < 190000
#define PG_SIG_IGN SIG_IGN
#define PG_SIG_DFL SIG_DFL
#endif

#endif							/* CITUS_COMPAT_SIGNAL_HANDLER_H */
