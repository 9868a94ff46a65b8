/*-------------------------------------------------------------------------
 *
 * inert_settings.h
 *	  Settings of the Citus SQL interface that have no effect here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_INERT_SETTINGS_H
#define CITUS_INERT_SETTINGS_H

/*
 * Defines them, and reserves the prefix of all our settings; to be called
 * after all others are defined.
 */
extern void inert_settings_init(void);

#endif							/* CITUS_INERT_SETTINGS_H */
