/*-------------------------------------------------------------------------
 *
 * varlena.h
 *	  Access to variable-length values.
 *
 * In postgres.h until version 15.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_VARLENA_H
#define CITUS_COMPAT_VARLENA_H

#include "postgres.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#endif							/* CITUS_COMPAT_VARLENA_H */
