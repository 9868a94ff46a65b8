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

/*
 * Whether the binary form is the same but for oids that it holds of types made
 * by users, which wire_type_localize() replaces.
 */
extern bool wire_type_is_localizable(Oid type);

/*
 * Replaces such oids in a value from another node by those that the types
 * have here.  Errors if the value is cut short.
 */
extern void wire_type_localize(Oid type, char *data, int len);

/* Whether values of a type are object identifiers that travel as names (regclass and the like). */
extern bool wire_type_is_oid_alias(Oid type);

/* The oid by which another node knows a type, or InvalidOid where it must infer it (types made by users). */
extern Oid	wire_type_oid(Oid type);

/*
 * Between nodes text is in the database's encoding.  Send and receive functions, which
 * convert to and from the client's, leave it so from begin to end, which takes what begin returned.  To
 * be ended after an error, too.
 */
extern int	wire_encoding_begin(void);
extern void wire_encoding_end(int client_encoding);

#endif							/* CITUS_LIB_WIRE_TYPE_H */
