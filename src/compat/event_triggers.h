/*-------------------------------------------------------------------------
 *
 * event_triggers.h
 *	  Whether event triggers fire (the setting event_triggers), which version
 *	  17 added; before, none fire for a statement that needs this.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_EVENT_TRIGGERS_H
#define CITUS_COMPAT_EVENT_TRIGGERS_H

#include "postgres.h"

#include "commands/event_trigger.h"

/* Sets it, for a moment, without a trace; returns what it was. */
static inline bool
compat_set_event_triggers(bool fire)
{
#if PG_VERSION_NUM >= 170000
	bool		before = event_triggers;

	event_triggers = fire;
	return before;
#else
	return true;
#endif
}

#endif							/* CITUS_COMPAT_EVENT_TRIGGERS_H */
