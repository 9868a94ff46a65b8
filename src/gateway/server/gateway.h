/*-------------------------------------------------------------------------
 *
 * gateway.h
 *	  Declarations for the gateway's parts in the server and in its own
 *	  processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_SERVER_GATEWAY_H
#define CITUS_GATEWAY_SERVER_GATEWAY_H

#include "postgres.h"

/*
 * The parameter of a startup packet by which a gateway process proves to be
 * one: the key in hexadecimal digits, a space, and one of
 *	  login CLIENT SERVER	  authenticate the client whose socket has these
 *							  addresses, in hexadecimal digits, and end;
 *							  if it has come by TLS, behind them " tls", and
 *							  the names in its certificate, if there is one,
 *							  in digits behind " n"
 *	  session				  an ordinary session, which reports its state
 */
#define GATEWAY_PARAMETER "citus.gateway_process"

/*
 * Settings by which the server reports to a gateway process; no client sees
 * them.
 */
#define GATEWAY_LOGIN_REPORT "citus.gateway_login"
#define GATEWAY_STATE_SETTING "citus.gateway_state"

#define GATEWAY_KEY_SIZE 32

/* In the same way, a name that DEALLOCATE has dropped. */
#define GATEWAY_DEALLOCATED "citus.gateway_deallocated"

/* The names of prepared statements in the gateway's sessions begin so. */
#define PREPARED_NAME_PREFIX "citus_gateway_"

/*
 * The start of the text with which a gateway process changes the settings of a
 * session between two clients.
 */
#define FRESH_SESSION "RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; "

/* What a gateway process sets for its sessions on other nodes. */
#define ANSWERS_TOGETHER_SETTING "citus.answers_together"

/*
 * The process id that a client gets for cancel requests has the number of the
 * gateway process, from 1, in its high bits.
 */
#define CANCEL_PID_BITS 24
#define CANCEL_PID_PROCESS(pid) ((int) ((uint32) (pid) >> CANCEL_PID_BITS) - 1)

/* How long a client keeps a session. */
typedef enum GatewayPoolMode
{
	POOL_TRANSACTION,
	POOL_SESSION,
} GatewayPoolMode;

/* Settings (gateway_settings.c). */
extern int	gateway_pool_mode;	/* of this session */
extern int	gateway_port;
extern char *gateway_listen_addresses;
extern int	gateway_processes;
extern int	gateway_pool_size;
extern int	gateway_node_pool_size;
extern int	gateway_clean_blocks;
extern int	gateway_max_clients;
extern int	gateway_queue_timeout;
extern int	gateway_idle_timeout;
extern int	gateway_min_pool_size;
extern int	gateway_session_lifetime;
extern char *gateway_server_host;

/* Copies the server's key for its gateway processes. */
extern void gateway_key_copy(uint8 *key);

/* login_hook.c */
extern void login_hook_init(void);

/* session_state.c: called if this session's client is a gateway process. */
extern void session_state_init(void);
extern void session_state_begin(void);

/* database_release.c */
extern void database_release_init(void);
/*
 * A database whose idle sessions, if no client uses it, are to be closed; or
 * InvalidOid.  now: by the gateway's clock.
 */
extern Oid	database_released(int64 now);

/* session_answers.c */
extern void session_answers_init(void);
/* Whether this session runs statements of another node's gateway. */
extern bool session_is_shared(void);

/*
 * session_client.c: makes the session report the address of the client that
 * has it.
 */
extern void session_client_begin(void);

/*
 * client_number.c: shows clients of the gateway, to this session's, by their
 * numbers.
 */
extern void client_number_begin(void);
extern void client_number_init(void);

/* supervisor.c */
extern void supervisor_init(void);

extern void gateway_init(void);

#endif							/* CITUS_GATEWAY_SERVER_GATEWAY_H */
