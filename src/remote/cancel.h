/*-------------------------------------------------------------------------
 *
 * cancel.h
 *	  Cancel requests that can't hang.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_CANCEL_H
#define CITUS_REMOTE_CANCEL_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "remote/channel.h"

/*
 * Starts a cancel request for what runs on the channel.  Returns a file
 * descriptor to be given to cancel_finish, or -1 if it could not be started.
 */
extern int	cancel_start(const Channel *channel);

/*
 * Waits until the node has taken the request, and closes the descriptor.
 * False if that failed, took until after the deadline, or an interrupt came.
 */
extern bool cancel_finish(int fd, TimestampTz deadline);

#endif							/* CITUS_REMOTE_CANCEL_H */
