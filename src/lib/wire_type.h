/*-------------------------------------------------------------------------
 *
 * wire_type.h
 *	  How values travel between nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_WIRE_TYPE_H
#define CITUS_LIB_WIRE_TYPE_H

#include "postgres.h"

/*
 * Whether the binary form of a type is the same on every node: it has send
 * and receive functions, and its binary form holds no oid that could differ.
 */
extern bool wire_type_is_binary(Oid type);

/* Whether values of a type are object identifiers that travel as names (regclass and the like). */
extern bool wire_type_is_oid_alias(Oid type);

/* The oid by which another node knows a type, or InvalidOid where it must infer it (types made by users). */
extern Oid	wire_type_oid(Oid type);

#endif							/* CITUS_LIB_WIRE_TYPE_H */
