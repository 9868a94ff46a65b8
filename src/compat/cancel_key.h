/*-------------------------------------------------------------------------
 *
 * cancel_key.h
 *	  This backend's key for requests to cancel, of a fixed size until version
 *	  17.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_CANCEL_KEY_H
#define CITUS_COMPAT_CANCEL_KEY_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"

/* Bytes of a key, at most. */
#if PG_VERSION_NUM >= 180000
#include "storage/procsignal.h"
#define CANCEL_KEY_SIZE MAX_CANCEL_KEY_LENGTH
#else
#define CANCEL_KEY_SIZE 4
#endif

/* Writes the key in hexadecimal digits, with a terminating zero. */
static inline void
own_cancel_key(char *digits)
{
	uint64		len;
#if PG_VERSION_NUM >= 180000
	len = hex_encode((const char *) MyCancelKey, MyCancelKeyLength, digits);
#else
	uint32		key = pg_hton32((uint32) MyCancelKey);

	len = hex_encode((const char *) &key, sizeof(key), digits);
#endif
	digits[len] = '\0';
}

#endif							/* CITUS_COMPAT_CANCEL_KEY_H */
