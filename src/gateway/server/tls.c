/*-------------------------------------------------------------------------
 *
 * tls.c
 *	  TLS on a gateway process's sockets.
 *
 * The server's own code creates an OpenSSL context from the server's settings
 * (secure_initialize), and passes it to a hook.  The gateway's connections use
 * that context, so they have the server's certificate, key, protocols, ciphers
 * and authorities.  A gateway process has the server's code create a new
 * context when it starts, and whenever the server's settings are reloaded; if
 * that fails, for instance because the key's passphrase can't be requested
 * again, the last valid one stays in use, as in the server.
 *
 * The server's own TLS functions can't be used, since its handshake waits for
 * the client, which would block all others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "postmaster/postmaster.h"

#include "compat/client_protocol.h"
#include "gateway/server/tls.h"

#ifdef USE_OPENSSL

#include <openssl/err.h>
#include <openssl/ssl.h>

/* The last context that was passed to the hook, which may be incomplete. */
static SSL_CTX *shown_context = NULL;

/* The last valid context; we hold a reference. */
static SSL_CTX *tls_context = NULL;

static openssl_tls_init_hook_typ previous_tls_init = NULL;

static void
note_context(SSL_CTX *context, bool is_server_start)
{
	previous_tls_init(context, is_server_start);
	shown_context = context;

	/* if this one fails, so does the server's start */
	if (is_server_start)
	{
		SSL_CTX_up_ref(context);
		tls_context = context;
	}
}

void
tls_init(void)
{
	previous_tls_init = openssl_tls_init_hook;
	openssl_tls_init_hook = note_context;
}

void
tls_load(void)
{
	shown_context = NULL;
	if (!EnableSSL || secure_initialize(false) != 0 || shown_context == NULL)
		return;
	SSL_CTX_up_ref(shown_context);
	if (tls_context != NULL)
		SSL_CTX_free(tls_context);
	tls_context = shown_context;
}

bool
tls_is_offered(void)
{
	return EnableSSL && tls_context != NULL;
}

/*
 * Replaces the server's callback, which from version 16 on needs data of the
 * server's handshake.
 */
static int
verify_peer(int ok, X509_STORE_CTX *context)
{
	return ok;
}

static TlsLink *
tls_open(SSL_CTX *context, int fd)
{
	SSL		   *ssl;

	ERR_clear_error();
	ssl = SSL_new(context);
	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1)
	{
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				 SSL_MODE_RELEASE_BUFFERS);
	return ssl;
}

/* As the server's: a client that offers protocols must offer PostgreSQL's. */
static int
choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_len,
				const unsigned char *offered, unsigned int offered_len, void *arg)
{
	static const unsigned char known[] = "\012postgresql";
	unsigned char *found;

	if (SSL_select_next_proto(&found, chosen_len, known, sizeof(known) - 1, offered, offered_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*chosen = found;
	return SSL_TLSEXT_ERR_OK;
}

TlsLink *
tls_accept(int fd)
{
	TlsLink    *tls;

	SSL_CTX_set_alpn_select_cb(tls_context, choose_protocol, NULL);
	tls = tls_open(tls_context, fd);
	if (tls == NULL)
		return NULL;
	SSL_set_verify(tls, SSL_CTX_get_verify_mode(tls_context), verify_peer);
	SSL_set_accept_state(tls);
	return tls;
}

bool
tls_protocol_is_named(TlsLink *tls)
{
	const unsigned char *name;
	unsigned int len;

	SSL_get0_alpn_selected(tls, &name, &len);
	return SSL_get_app_data(tls) == NULL || len > 0;
}

/*
 * The server at the other end is our own: it has been given the gateway's key
 * before.
 */
TlsLink *
tls_connect(int fd)
{
	static SSL_CTX *context = NULL;
	TlsLink    *tls;

	if (context == NULL && (context = SSL_CTX_new(TLS_client_method())) == NULL)
		return NULL;
	tls = tls_open(context, fd);
	if (tls == NULL)
		return NULL;
	SSL_set_connect_state(tls);
	(void) SSL_do_handshake(tls);
	return tls;
}

/* A context for connections to another node; NULL if it can't be made. */
static SSL_CTX *
client_context(const char *rootcert)
{
	SSL_CTX    *context = SSL_CTX_new(TLS_client_method());

	/* as libpq */
	if (context != NULL)
		(void) SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	if (context == NULL || rootcert == NULL)
		return context;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_load_verify_locations(context, rootcert, NULL) == 1)
		return context;
	SSL_CTX_free(context);
	ereport(ERROR,
			(errcode(ERRCODE_CONFIG_FILE_ERROR),
			 errmsg("could not read root certificate file \"%s\"", rootcert)));
}

TlsLink *
tls_connect_verified(int fd, const char *host, const char *rootcert, bool names)
{
	SSL_CTX    *context = client_context(rootcert);
	TlsLink    *tls;

	if (context == NULL)
		return NULL;
	tls = tls_open(context, fd);

	/* the connection holds a reference */
	SSL_CTX_free(context);
	if (tls == NULL)
		return NULL;
	if (names && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) != 1)
		(void) SSL_set1_host(tls, host);
	SSL_set_connect_state(tls);
	(void) SSL_do_handshake(tls);
	return tls;
}

/* The result of reading or writing, as of recv and send. */
static ssize_t
tls_result(TlsLink *tls, int result)
{
	int			save_errno = errno;
	int			error;

	if (result > 0)
		return result;
	error = SSL_get_error(tls, result);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
	{
		errno = EAGAIN;
		return -1;
	}
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (error == SSL_ERROR_SSL && !SSL_is_init_finished(tls))
	{
		const char *reason = ERR_reason_error_string(ERR_peek_error());

		ereport(LOG,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("the gateway could not establish an SSL connection: %s",
						reason != NULL ? reason : "unknown reason")));
	}
	errno = error == SSL_ERROR_SYSCALL && save_errno != 0 ? save_errno : ECONNRESET;
	return -1;
}

/*
 * The handshake goes on with what was read, and then with the socket.
 */
TlsLink *
tls_accept_begun(int fd, const void *data, size_t len)
{
	TlsLink    *tls = tls_accept(fd);
	BIO		   *begun = tls != NULL ? BIO_new_mem_buf(data, (int) len) : NULL;

	if (begun == NULL)
	{
		SSL_free(tls);
		return NULL;
	}
	BIO_set_mem_eof_return(begun, -1);
	SSL_set0_rbio(tls, begun);
	errno = 0;
	if (tls_result(tls, SSL_do_handshake(tls)) <= 0 && errno != EAGAIN)
	{
		SSL_free(tls);
		return NULL;
	}
	BIO_up_ref(SSL_get_wbio(tls));
	SSL_set0_rbio(tls, SSL_get_wbio(tls));
	SSL_set_app_data(tls, tls);
	return tls;
}

ssize_t
tls_read(TlsLink *tls, void *buffer, size_t len)
{
	ERR_clear_error();
	errno = 0;
	return tls_result(tls, SSL_read(tls, buffer, (int) Min(len, INT_MAX)));
}

ssize_t
tls_write(TlsLink *tls, const void *data, size_t len)
{
	ERR_clear_error();
	errno = 0;
	return tls_result(tls, SSL_write(tls, data, (int) Min(len, INT_MAX)));
}

bool
tls_waits_for_input(TlsLink *tls)
{
	return SSL_want_read(tls);
}

void
tls_end(TlsLink *tls)
{
	ERR_clear_error();
	if (SSL_is_init_finished(tls))
		(void) SSL_shutdown(tls);
	SSL_free(tls);
}

/* A copy of a name; refuses one that contains a zero byte (CVE-2009-4034). */
static char *
copy_peer_name(const char *name, size_t len)
{
	if (memchr(name, '\0', len) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("a name in the SSL certificate contains an embedded null")));
	return pnstrdup(name, len);
}

/* In the format with which the server compares. */
static char *
peer_distinguished_name(X509_NAME *subject)
{
	BIO		   *bio = BIO_new(BIO_s_mem());
	char	   *text = NULL;
	char	   *copy = NULL;

	if (bio != NULL && X509_NAME_print_ex(bio, subject, 0, XN_FLAG_RFC2253) != -1)
	{
		long		len = BIO_get_mem_data(bio, &text);

		copy = copy_peer_name(text, len);
	}
	BIO_free(bio);
	if (copy == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("the name in the SSL certificate could not be read")));
	return copy;
}

bool
tls_peer_names(TlsLink *tls, char **common, char **distinguished)
{
	X509	   *certificate = SSL_get_peer_certificate(tls);
	X509_NAME  *subject;
	int			len;
	char	   *text;

	if (certificate == NULL)
		return false;

	/* the connection holds a reference */
	X509_free(certificate);
	subject = X509_get_subject_name(certificate);
	len = Max(X509_NAME_get_text_by_NID(subject, NID_commonName, NULL, 0), 0);
	text = palloc0(len + 1);
	(void) X509_NAME_get_text_by_NID(subject, NID_commonName, text, len + 1);
	*common = copy_peer_name(text, len);
	*distinguished = peer_distinguished_name(subject);
	return true;
}

#else

void
tls_init(void)
{
}

void
tls_load(void)
{
}

bool
tls_is_offered(void)
{
	return false;
}

TlsLink *
tls_accept(int fd)
{
	return NULL;
}

TlsLink *
tls_accept_begun(int fd, const void *data, size_t len)
{
	return NULL;
}

bool
tls_protocol_is_named(TlsLink *tls)
{
	return false;
}

TlsLink *
tls_connect(int fd)
{
	return NULL;
}

TlsLink *
tls_connect_verified(int fd, const char *host, const char *rootcert, bool names)
{
	return NULL;
}

ssize_t
tls_read(TlsLink *tls, void *buffer, size_t len)
{
	errno = EBADF;
	return -1;
}

ssize_t
tls_write(TlsLink *tls, const void *data, size_t len)
{
	errno = EBADF;
	return -1;
}

bool
tls_waits_for_input(TlsLink *tls)
{
	return false;
}

void
tls_end(TlsLink *tls)
{
}

bool
tls_peer_names(TlsLink *tls, char **common, char **distinguished)
{
	return false;
}

#endif							/* USE_OPENSSL */
