/*-------------------------------------------------------------------------
 *
 * scram_key.c
 *	  Logging in by SCRAM with the key of a client that has been authenticated.
 *
 * SCRAM's proof is the client's key XOR a signature, which a holder of the
 * stored verifier can compute.  So a process that has the messages of a
 * successful exchange and the verifier can compute the client's key, without
 * the password.  With the key, it can log in on every server that has the same
 * verifier, and on no other.  CREATE ROLE stores the same verifier on all
 * nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/base64.h"
#include "common/cryptohash.h"
#include "common/hmac.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "compat/noreturn.h"
#include "gateway/pooler/scram_key.h"
#include "gateway/pooler/stream.h"

#define SCRAM_MECHANISM "SCRAM-SHA-256"
#define NONCE_BYTES 18

struct ScramLogin
{
	ScramKey	key;
	char		nonce[NONCE_BYTES * 2];
	char	   *auth_message;	/* NULL until the server's challenge has
								 * arrived */
};

pg_noreturn static void
scram_error(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
			 errmsg("the gateway could not log in to the server"),
			 errdetail("%s", what)));
	pg_unreachable();
}

static void
scram_hmac(const uint8 *key, const char *text, uint8 *result)
{
	pg_hmac_ctx *context = pg_hmac_create(PG_SHA256);

	if (context == NULL ||
		pg_hmac_init(context, key, SCRAM_KEY_BYTES) < 0 ||
		pg_hmac_update(context, (const uint8 *) text, strlen(text)) < 0 ||
		pg_hmac_final(context, result, SCRAM_KEY_BYTES) < 0)
		scram_error("A keyed hash could not be computed.");
	pg_hmac_free(context);
}

static void
scram_hash(const uint8 *data, uint8 *result)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);

	if (context == NULL ||
		pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, data, SCRAM_KEY_BYTES) < 0 ||
		pg_cryptohash_final(context, result, SCRAM_KEY_BYTES) < 0)
		scram_error("A hash could not be computed.");
	pg_cryptohash_free(context);
}

/* Reads a key of exactly the right length. */
static bool
decode_key(const char *text, size_t len, uint8 *key)
{
	uint8		bytes[SCRAM_KEY_BYTES + 8];

	if (len > pg_b64_enc_len(SCRAM_KEY_BYTES) ||
		pg_b64_decode((void *) text, len, (void *) bytes, sizeof(bytes)) != SCRAM_KEY_BYTES)
		return false;
	memcpy(key, bytes, SCRAM_KEY_BYTES);
	return true;
}

static char *
encode_base64(const uint8 *data, int len)
{
	int			size = pg_b64_enc_len(len) + 1;
	char	   *text = palloc(size);
	int			written = pg_b64_encode((void *) data, len, (void *) text, size - 1);

	text[Max(written, 0)] = '\0';
	return text;
}

/*
 * The value of an attribute in a SCRAM message, as "r=...": its start and
 * length.
 */
static const char *
scram_attribute(const char *message, char name, size_t *len)
{
	for (const char *p = message; p != NULL; p = strchr(p, ','))
	{
		if (*p == ',')
			p++;
		if (p[0] == name && p[1] == '=')
		{
			*len = strcspn(p + 2, ",");
			return p + 2;
		}
	}
	return NULL;
}

/* Splits a stored verifier: iterations and salt go to key. */
static bool
read_verifier(const char *verifier, ScramKey *key, uint8 *stored_key)
{
	const char *iterations = strchr(verifier, '$');
	const char *salt = iterations ? strchr(iterations, ':') : NULL;
	const char *stored = salt ? strchr(salt, '$') : NULL;
	const char *server = stored ? strchr(stored, ':') : NULL;

	if (server == NULL || strncmp(verifier, SCRAM_MECHANISM "$", strlen(SCRAM_MECHANISM) + 1) != 0 ||
		stored - salt > sizeof(key->salt))
		return false;
	key->iterations = atoi(iterations + 1);
	strlcpy(key->salt, salt + 1, stored - salt);
	return decode_key(stored + 1, server - stored - 1, stored_key) &&
		decode_key(server + 1, strlen(server + 1), key->server_key);
}

void
scram_key_derive(ScramKey *key, const char *verifier, const char *client_first,
				 const char *server_first, const char *client_final)
{
	ScramKey	derived = {0};
	uint8		stored_key[SCRAM_KEY_BYTES];
	uint8		hashed[SCRAM_KEY_BYTES];
	const char *bare = strchr(client_first, ',');
	const char *proof = strstr(client_final, ",p=");
	char	   *auth_message;

	if (bare == NULL || (bare = strchr(bare + 1, ',')) == NULL || proof == NULL ||
		!read_verifier(verifier, &derived, stored_key) ||
		!decode_key(proof + 3, strlen(proof + 3), derived.client_key))
		return;
	auth_message = psprintf("%s,%s,%.*s", bare + 1, server_first, (int) (proof - client_final), client_final);
	scram_hmac(stored_key, auth_message, hashed);
	for (int i = 0; i < SCRAM_KEY_BYTES; i++)
		derived.client_key[i] ^= hashed[i];
	scram_hash(derived.client_key, hashed);
	if (memcmp(hashed, stored_key, SCRAM_KEY_BYTES) != 0)
		return;
	derived.known = true;
	*key = derived;
}

ScramLogin *
scram_login_begin(const ScramKey *key, StringInfo answer)
{
	ScramLogin *login = gateway_alloc(sizeof(ScramLogin));
	uint8		nonce[NONCE_BYTES];
	char	   *first;
	uint32		len;

	login->key = *key;
	if (!pg_strong_random(nonce, sizeof(nonce)))
		scram_error("A random number could not be generated.");
	strlcpy(login->nonce, encode_base64(nonce, sizeof(nonce)), sizeof(login->nonce));
	first = psprintf("n,,n=,r=%s", login->nonce);
	len = pg_hton32(strlen(first));
	appendBinaryStringInfo(answer, SCRAM_MECHANISM, strlen(SCRAM_MECHANISM) + 1);
	appendBinaryStringInfo(answer, (char *) &len, 4);
	appendStringInfoString(answer, first);
	return login;
}

/* Whether the challenge is from a server that has the verifier of our key. */
static bool
challenge_fits(const ScramLogin *login, const char *challenge)
{
	size_t		salt_len;
	size_t		iterations_len;
	const char *salt = scram_attribute(challenge, 's', &salt_len);
	const char *iterations = scram_attribute(challenge, 'i', &iterations_len);

	return salt != NULL && iterations != NULL && salt_len == strlen(login->key.salt) &&
		strncmp(salt, login->key.salt, salt_len) == 0 && atoi(iterations) == login->key.iterations;
}

void
scram_login_next(ScramLogin *login, const char *challenge, StringInfo answer)
{
	uint8		stored_key[SCRAM_KEY_BYTES];
	uint8		proof[SCRAM_KEY_BYTES];
	size_t		nonce_len;
	const char *nonce = scram_attribute(challenge, 'r', &nonce_len);
	char	   *without_proof;

	if (nonce == NULL || strncmp(nonce, login->nonce, strlen(login->nonce)) != 0)
		scram_error("The server's answer belongs to another login.");
	if (login->key.known && !challenge_fits(login, challenge))
		scram_error("The server has another password for the role.");
	without_proof = psprintf("c=biws,r=%.*s", (int) nonce_len, nonce);
	login->auth_message = MemoryContextStrdup(gateway_context,
											  psprintf("n=,r=%s,%s,%s", login->nonce, challenge, without_proof));
	scram_hash(login->key.client_key, stored_key);
	scram_hmac(stored_key, login->auth_message, proof);
	for (int i = 0; i < SCRAM_KEY_BYTES; i++)
		proof[i] ^= login->key.client_key[i];
	appendStringInfo(answer, "%s,p=%s", without_proof, encode_base64(proof, sizeof(proof)));
}

void
scram_login_check(ScramLogin *login, const char *outcome)
{
	uint8		expected[SCRAM_KEY_BYTES];
	uint8		given[SCRAM_KEY_BYTES];
	size_t		len;
	const char *signature = scram_attribute(outcome, 'v', &len);

	if (login->auth_message == NULL || signature == NULL || !decode_key(signature, len, given))
		scram_error("The server has not proven that it knows the password.");
	scram_hmac(login->key.server_key, login->auth_message, expected);
	if (memcmp(expected, given, SCRAM_KEY_BYTES) != 0)
		scram_error("The server has not proven that it knows the password.");
}

void
scram_login_free(ScramLogin *login)
{
	if (login == NULL)
		return;
	if (login->auth_message != NULL)
		pfree(login->auth_message);
	explicit_bzero(&login->key, sizeof(login->key));
	pfree(login);
}
