/*-------------------------------------------------------------------------
 *
 * login_hook.c
 *	  Authentication of a gateway's clients by the server itself.
 *
 * For each login, a gateway process opens a connection to its own server,
 * whose startup packet has the client's user, database and address, and the
 * gateway's key.  When the server has authenticated that connection, with any
 * result, it calls ClientAuthentication_hook.  The hook gives the connection
 * the client's address, and calls ClientAuthentication again.  So the server's
 * own code finds the client's line in pg_hba.conf, and authenticates the
 * client, whose messages the gateway process passes on unchanged.  All methods
 * that need only messages work.
 *
 * If the client has come by TLS, the backend and the gateway process speak TLS
 * as well, by the server's own code and certificate, and the backend gets the
 * names in the client's certificate.  So rules about certificates, and SCRAM's
 * channel binding, work as on a direct connection.
 *
 * Such a backend reports the result and exits; it never becomes a session.
 * With a stolen key, an attacker could only choose the address that is looked
 * up in pg_hba.conf.
 *
 * If the client has used SCRAM, the backend reports the parts of the stored
 * verifier.  From these and the client's proof, the gateway process derives
 * the key to log in as that role only.  If the client was trusted, there is no
 * key, so the server must trust the gateway's connections as well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "common/ip.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "compat/client_protocol.h"
#include "gateway/server/client_limit.h"
#include "gateway/server/gateway.h"
#include "lib/socket_buffer.h"

static ClientAuthentication_hook_type previous_authentication = NULL;

/*
 * Removes the gateway's parameter from the startup packet's settings, and
 * returns it; NULL if there is none.
 */
static char *
take_parameter(Port *port)
{
	for (int i = 0; i + 1 < list_length(port->guc_options); i += 2)
	{
		char	   *value = list_nth(port->guc_options, i + 1);

		if (strcmp(list_nth(port->guc_options, i), GATEWAY_PARAMETER) != 0)
			continue;
		port->guc_options = list_delete_nth_cell(port->guc_options, i + 1);
		port->guc_options = list_delete_nth_cell(port->guc_options, i);
		return value;
	}
	return NULL;
}

/* Decodes hexadecimal digits of exactly size bytes. */
static bool
decode_hex(const char *text, void *to, size_t size)
{
	for (size_t i = 0; i < 2 * size; i++)
		if (!isxdigit((unsigned char) text[i]))
			return false;
	return hex_decode(text, 2 * size, to) == size;
}

/*
 * Whether a parameter begins with the server's key; compares in constant time.
 */
static bool
has_key(const char *parameter)
{
	uint8		given[GATEWAY_KEY_SIZE];
	uint8		key[GATEWAY_KEY_SIZE];
	int			differ = 0;

	if (strlen(parameter) < 2 * GATEWAY_KEY_SIZE + 1 ||
		!decode_hex(parameter, given, sizeof(given)))
		return false;
	gateway_key_copy(key);
	for (int i = 0; i < GATEWAY_KEY_SIZE; i++)
		differ |= given[i] ^ key[i];
	return differ == 0;
}

/* Reads a socket's address, in hexadecimal digits, and goes behind it. */
static void
read_address(const char **text, SockAddr *address)
{
	size_t		digits = strspn(*text, "0123456789abcdef");

	memset(address, 0, sizeof(*address));
	if (digits < 2 * sizeof(address->addr.ss_family) || digits > 2 * sizeof(address->addr) ||
		!decode_hex(*text, &address->addr, digits / 2))
		ereport(FATAL,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid address of a gateway's client")));
	address->salen = digits / 2;
	*text += digits;
	if (**text == ' ')
		(*text)++;
}

static void
report_login(const char *text)
{
	StringInfoData message;

	pq_beginmessage(&message, 'S');
	pq_sendstring(&message, GATEWAY_LOGIN_REPORT);
	pq_sendstring(&message, text);
	pq_endmessage(&message);
	pq_flush();
}

/*
 * Reads a name of the client's certificate, and goes behind it; NULL if there
 * is none.
 */
static char *
read_peer_name(const char **text)
{
	size_t		digits;
	char	   *name;

	if (strncmp(*text, " n", 2) != 0)
		return NULL;
	digits = strspn(*text + 2, "0123456789abcdef");
	name = MemoryContextAllocZero(TopMemoryContext, digits / 2 + 1);
	(void) decode_hex(*text + 2, name, digits / 2);
	*text += 2 + digits;
	return name;
}

/* Encrypts the connection, and gives it the TLS state of the client's. */
static void
encrypt_as_client(Port *port, const char *names)
{
#ifdef USE_SSL
	report_login("tls");
	if (secure_open_server(port) != 0)
		proc_exit(0);			/* has been logged */
	port->peer_cn = read_peer_name(&names);
	port->peer_dn = read_peer_name(&names);
	port->peer_cert_valid = port->peer_dn != NULL;
	if (port->peer_cn != NULL && port->peer_cn[0] == '\0')
		port->peer_cn = NULL;
#endif
}

/* Gives the connection the address and TLS state of the client's. */
static void
become_client(Port *port, const char *addresses)
{
	char		host[NI_MAXHOST] = "";
	char		service[NI_MAXSERV] = "";

	read_address(&addresses, &port->raddr);
	read_address(&addresses, &port->laddr);

	/*
	 * rules for local sockets identify the process at the other end, which is
	 * not the client
	 */
	if (port->raddr.addr.ss_family != AF_INET && port->raddr.addr.ss_family != AF_INET6)
		ereport(FATAL,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid address of a gateway's client")));
	(void) pg_getnameinfo_all(&port->raddr.addr, port->raddr.salen, host, sizeof(host),
							  service, sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV);
	port->remote_host = MemoryContextStrdup(TopMemoryContext, host);
	port->remote_port = MemoryContextStrdup(TopMemoryContext, service);
	port->remote_hostname = NULL;
	port->remote_hostname_resolv = 0;
	port->hba = NULL;
	forget_authenticated_identity(port);
	if (strncmp(addresses, "tls", 3) == 0)
		encrypt_as_client(port, addresses + 3);
}

/*
 * Checks that the role may log in, since an existing session of the pool
 * doesn't check that again.
 */
static Oid
check_login_role(const Port *port)
{
	HeapTuple	tuple = SearchSysCache1(AUTHNAME, CStringGetDatum(port->user_name));
	Form_pg_authid form;
	Oid			role;

	if (!HeapTupleIsValid(tuple))
		ereport(FATAL,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("role \"%s\" does not exist", port->user_name)));
	form = (Form_pg_authid) GETSTRUCT(tuple);
	if (!form->rolcanlogin)
		ereport(FATAL,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("role \"%s\" is not permitted to log in", port->user_name)));
	role = form->oid;
	ReleaseSysCache(tuple);
	return role;
}

/* Whether a role may connect to a database. */
static bool
may_connect(Relation rel, HeapTuple tuple, Oid role)
{
	Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
	bool		isnull;
	Datum		datum = heap_getattr(tuple, Anum_pg_database_datacl, RelationGetDescr(rel), &isnull);
	Acl		   *acl;

	if (superuser_arg(role))
		return true;
	if (isnull)
		acl = acldefault(OBJECT_DATABASE, form->datdba);
	else if (VARATT_IS_EXTERNAL(DatumGetPointer(datum)))
		return true;			/* can't be read here; the session will check
								 * it */
	else
		acl = DatumGetAclP(datum);
	return aclmask(acl, role, form->datdba, ACL_CONNECT, ACLMASK_ANY) != 0;
}

/*
 * Checks that the role may connect to the database.  No database has been
 * selected yet, so indexes of shared catalogs can be used only if the server
 * has loaded its relcache init file.
 */
static Oid
check_database(const Port *port, Oid role)
{
	Relation	rel = table_open(DatabaseRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			database;

	ScanKeyInit(&key, Anum_pg_database_datname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum(port->database_name));
	scan = systable_beginscan(rel, DatabaseNameIndexId, criticalSharedRelcachesBuilt, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (!HeapTupleIsValid(tuple))
		ereport(FATAL,
				(errcode(ERRCODE_UNDEFINED_DATABASE),
				 errmsg("database \"%s\" does not exist", port->database_name)));
	if (!may_connect(rel, tuple, role))
		ereport(FATAL,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for database \"%s\"", port->database_name),
				 errdetail("User does not have CONNECT privilege.")));
	database = ((Form_pg_database) GETSTRUCT(tuple))->oid;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return database;
}

/*
 * Reports the role of the authenticated client, and the verifier for its SCRAM
 * proof.
 */
static void
report_success(Port *port, Oid role, Oid database)
{
	const char *logdetail = NULL;
	char	   *stored = NULL;

	if (port->hba->auth_method == uaMD5 || port->hba->auth_method == uaSCRAM)
		stored = get_role_password(port->user_name, &logdetail);
	if (stored != NULL && get_password_type(stored) == PASSWORD_TYPE_SCRAM_SHA_256)
		report_login(psprintf("ok %u %u %s", role, database, stored));
	else
		report_login(psprintf("ok %u %u ", role, database));
}

static void
gateway_authentication(Port *port, int status)
{
	static bool as_client = false;
	char	   *parameter;
	Oid			role;
	Oid			database;

	if (previous_authentication)
		previous_authentication(port, status);
	if (as_client)
		return;
	parameter = take_parameter(port);
	if (parameter == NULL)
	{
		if (status == STATUS_OK)
			client_limit_login(port);
		return;
	}
	if (!has_key(parameter))
		ereport(FATAL,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("invalid key of a gateway process")));
	parameter += 2 * GATEWAY_KEY_SIZE + 1;
	if (strcmp(parameter, "session") == 0)
	{
		if (status == STATUS_OK)
		{
			session_state_begin();
			socket_buffer_enlarge(port->sock);
		}
		return;
	}
	if (strncmp(parameter, "login ", 6) != 0)
		ereport(FATAL,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid request of a gateway process")));

	become_client(port, parameter + 6);
	report_login("begin");
	as_client = true;
	ClientAuthentication(port);
	role = check_login_role(port);
	database = check_database(port, role);
	report_success(port, role, database);
	proc_exit(0);
}

void
login_hook_init(void)
{
	previous_authentication = ClientAuthentication_hook;
	ClientAuthentication_hook = gateway_authentication;
}
