/*-------------------------------------------------------------------------
 *
 * scram_key.h
 *	  Logging in by SCRAM with what a client has proven to know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_SCRAM_KEY_H
#define CITUS_GATEWAY_SCRAM_KEY_H

#include "postgres.h"

#include "common/sha2.h"
#include "lib/stringinfo.h"

#define SCRAM_KEY_BYTES PG_SHA256_DIGEST_LENGTH

/* Stands for a role's password, wherever the same verifier of it is stored. */
typedef struct ScramKey
{
	bool		known;
	char		salt[128];		/* in base64 */
	int			iterations;
	uint8		client_key[SCRAM_KEY_BYTES];
	uint8		server_key[SCRAM_KEY_BYTES];
} ScramKey;

typedef struct ScramLogin ScramLogin;

/*
 * Derives the key from the messages of a client that has been authenticated,
 * and from the stored verifier.  Leaves it unknown if they don't fit.
 */
extern void scram_key_derive(ScramKey *key, const char *verifier, const char *client_first,
							 const char *server_first, const char *client_final);

/*
 * Logs in.  The messages are payloads of Authentication and Password messages.
 * scram_login_begin returns the first answer (SASLInitialResponse),
 * scram_login_next the next (len is what it writes), NULL if there is nothing
 * to be said.  Both raise an error if the server is not one that has this
 * verifier.  key may be unknown: then any server's question is answered,
 * wrongly.
 */
extern ScramLogin *scram_login_begin(const ScramKey *key, StringInfo answer);
extern void scram_login_next(ScramLogin *login, const char *challenge, StringInfo answer);
extern void scram_login_check(ScramLogin *login, const char *outcome);
extern void scram_login_free(ScramLogin *login);

#endif							/* CITUS_GATEWAY_SCRAM_KEY_H */
