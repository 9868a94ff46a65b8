/*-------------------------------------------------------------------------
 *
 * wire_type.h
 *	  How values travel between nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_WIRE_TYPE_H
#define CITUS_REMOTE_WIRE_TYPE_H

#include "postgres.h"

/* How values of a type travel. */
typedef struct WireType
{
	Oid			type;
	bool		binary;			/* the binary form is the same on every node:
								 * there are send and receive functions, and it
								 * holds no oid that could differ */
	bool		localizable;	/* it is the same but for oids of types made
								 * by users, which wire_type_localize()
								 * replaces */
	Oid			receive;		/* functions; those of the binary form only if
								 * localizable */
	Oid			send;
	Oid			input;			/* receive and input: of a domain's base
								 * type */
	Oid			output;
	Oid			ioparam;		/* for receive and input */
	bool		holds_domains;	/* it is an array or composite with members of
								 * domains, which receive would check */
} WireType;

extern void wire_type_init(void);

/* Looks up a type; errors if it doesn't exist, or is a mere shell. */
extern WireType wire_type(Oid type);

/*
 * Replaces such oids in a value from another node by those that the types
 * have here.  Errors if the value is cut short.
 */
extern void wire_type_localize(Oid type, char *data, int len);

/*
 * Makes a value from its binary form, with this node's oids: as the type's
 * receive function does, but without checking domains, at any depth.
 */
extern Datum wire_type_receive(Oid type, int32 typmod, const char *data, int len);

/*
 * Whether values of a type are object identifiers that are sent as names
 * (regclass and similar types).
 */
extern bool wire_type_is_oid_alias(Oid type);

/*
 * The oid by which another node knows a type, or InvalidOid where it must
 * infer it (types made by users).
 */
extern Oid	wire_type_oid(Oid type);

/*
 * Between nodes text is in the database's encoding.  Send and receive
 * functions, which convert to and from the client's, don't convert between
 * begin and end.  end takes the result of begin, and must be called after an
 * error, too.
 */
extern int	wire_encoding_begin(void);
extern void wire_encoding_end(int client_encoding);

#endif							/* CITUS_REMOTE_WIRE_TYPE_H */
