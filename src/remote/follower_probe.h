/*-------------------------------------------------------------------------
 *
 * follower_probe.h
 *	  Asks standbys how far they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_FOLLOWER_PROBE_H
#define CITUS_REMOTE_FOLLOWER_PROBE_H

extern void follower_probe_init(void);

#endif							/* CITUS_REMOTE_FOLLOWER_PROBE_H */
