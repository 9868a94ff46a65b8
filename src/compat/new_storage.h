/*-------------------------------------------------------------------------
 *
 * new_storage.h
 *	  Giving a relation new storage.
 *
 * RelationSetNewRelfilenumber has its name since version 16; reindex_relation
 * takes the statement that asks for it since version 17.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_NEW_STORAGE_H
#define CITUS_COMPAT_NEW_STORAGE_H

#include "postgres.h"

#include "catalog/index.h"
#include "utils/relcache.h"

#if PG_VERSION_NUM < 160000
#define RelationSetNewRelfilenumber RelationSetNewRelfilenode
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#endif
#if PG_VERSION_NUM < 170000
#define reindex_relation(stmt, relid, flags, params) reindex_relation(relid, flags, params)
#endif

#endif							/* CITUS_COMPAT_NEW_STORAGE_H */
