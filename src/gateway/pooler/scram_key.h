/*-------------------------------------------------------------------------
 *
 * scram_key.h
 *	  Logging in by SCRAM with the key of a client that has been authenticated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_SCRAM_KEY_H
#define CITUS_GATEWAY_POOLER_SCRAM_KEY_H

#include "postgres.h"

#include "common/sha2.h"
#include "lib/stringinfo.h"

#define SCRAM_KEY_BYTES PG_SHA256_DIGEST_LENGTH

/* Replaces a role's password on every server that has the same verifier. */
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
 * scram_login_next the next (len is what it writes), NULL if there is no
 * answer.  Both raise an error if the server doesn't have this verifier.  If
 * key is unknown, every challenge is answered, wrongly.
 */
extern ScramLogin *scram_login_begin(const ScramKey *key, StringInfo answer);
extern void scram_login_next(ScramLogin *login, const char *challenge, StringInfo answer);
extern void scram_login_check(ScramLogin *login, const char *outcome);
extern void scram_login_free(ScramLogin *login);

#endif							/* CITUS_GATEWAY_POOLER_SCRAM_KEY_H */
