/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *	  Names of wait events of extensions, which came with version 17.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_WAIT_EVENT_H
#define CITUS_COMPAT_WAIT_EVENT_H

#include "postgres.h"

#include "utils/wait_event.h"

#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) PG_WAIT_EXTENSION
#endif

#endif							/* CITUS_COMPAT_WAIT_EVENT_H */
