/*-------------------------------------------------------------------------
 *
 * session.h
 *	  Clients, the backends that they get, and the pools of these.
 *
 * Each of the three is in the list that belongs to its state; only the
 * functions of transition.c change states and links between a client and a
 * backend, and move objects between lists.  A part of a struct is used by the
 * files that it names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_SESSION_H
#define CITUS_GATEWAY_POOLER_SESSION_H

#include "postgres.h"

#include "lib/ilist.h"
#include "libpq/pqcomm.h"
#include "nodes/pg_list.h"

#include "gateway/pooler/message.h"
#include "gateway/pooler/prepared_text.h"
#include "gateway/pooler/process.h"
#include "gateway/pooler/scram_key.h"
#include "gateway/pooler/stream.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

typedef struct Client Client;
typedef struct Backend Backend;
typedef struct Pool Pool;
typedef struct LoginLink LoginLink;
typedef struct Block Block;
typedef struct ClientPolicy ClientPolicy;

/*
 * A secret by which a client cancels its statement, as it is sent; longer than
 * four bytes since version 3.2 of the protocol.
 */
#define SHORT_CANCEL_KEY 4
#define LONG_CANCEL_KEY 32

typedef struct CancelKey
{
	int			len;
	uint8		bytes[LONG_CANCEL_KEY];
} CancelKey;

/* The expected answers of a backend, in order. */
typedef enum ExpectKind
{
	EXPECT_QUERY = PqMsg_Query, /* Query, FunctionCall: all up to
								 * ReadyForQuery */
	EXPECT_PARSE = PqMsg_Parse,
	EXPECT_BIND = PqMsg_Bind,
	EXPECT_DESCRIBE = PqMsg_Describe,
	EXPECT_EXECUTE = PqMsg_Execute,
	EXPECT_CLOSE = PqMsg_Close,
	EXPECT_SYNC = PqMsg_Sync,
	EXPECT_COPY_END = PqMsg_CopyDone,	/* no answer; Syncs between the COPY
										 * and this were none */
	EXPECT_TERMINATE = PqMsg_Terminate, /* the end of the session */
} ExpectKind;

/* The receiver of the answer. */
typedef enum ExpectReader
{
	READER_CLIENT,
	READER_NOBODY,				/* the gateway; errors go to the client */
	READER_RESTORE,				/* the gateway; errors close the client;
								 * afterwards the session is the client's */
	READER_SETTING,				/* as before, but other commands follow */
	READER_QUIET,				/* the gateway, which ignores errors */
	READER_QUESTION,			/* the gateway: backend->question */
	READER_LOCAL,				/* nothing was sent: the gateway itself
								 * answers, in order */
	READER_DUPLICATE,			/* the client, as an error that its name is in
								 * use */
	READER_OUTDATED,			/* the client, as an error that the text is
								 * outdated */
	READER_COLUMNS,				/* the gateway: the columns of a text; errors
								 * go to the client */
} ExpectReader;

typedef struct Expect
{
	ExpectKind	kind;
	ExpectReader reader;
	PreparedText *text;			/* of a Parse, or a Describe; a reference */
	char	   *name;			/* the client's name that it is about, or
								 * NULL */
	bool		unnamed;		/* a Bind of the statement without a name */
	PreparedText *former;		/* what that meant before a Parse, Close or
								 * Query; a reference, or NULL */
} Expect;

/* Entries are taken off at head, and put at tail; both only grow. */
typedef struct ExpectRing
{
	Expect	   *entries;
	uint32		size;			/* a power of two, or 0 */
	uint32		head;
	uint32		tail;
} ExpectRing;

/*
 * How long a session may be idle, and a statement take, in milliseconds; 0:
 * for ever.
 */
typedef struct IdleLimits
{
	int			session;
	int			block;			/* in a transaction block */
	int			statement;
} IdleLimits;

typedef enum ClientState
{
	CLIENT_NEW,
	CLIENT_STARTING,			/* its startup packet has not come */
	CLIENT_LOGIN_WAITING,		/* in login_queue, to be authenticated */
	CLIENT_LOGIN,				/* a backend authenticates it
								 * (client->login) */
	CLIENT_GREETING,			/* in pool->greeted: waits for what its pool's
								 * sessions report at their start */
	CLIENT_IDLE,				/* has no backend */
	CLIENT_WAITING,				/* in wanted->queue */
	CLIENT_ACTIVE,				/* has client->backend */
	CLIENT_CLOSED,
} ClientState;

/* Whose connection it is (startup.c, login_link.c). */
typedef struct ClientIdentity
{
	int32		number;			/* its process id, as it knows it, for its
								 * life */
	CancelKey	cancel_key;
	SockAddr	address;
	SockAddr	server_address; /* our end of its connection */
	uint32		protocol;		/* version that is spoken with it */
	char	   *user;
	char	   *database;
	char	   *parameters;		/* of the startup packet, as
								 * pool->parameters */
	size_t		parameters_len;
	char	   *application_name;	/* NULL if not given */
	Oid			role;			/* as whom it has been authenticated */
	Oid			database_id;
} ClientIdentity;

/* What has arrived from it, and isn't processed (client.c). */
typedef struct ClientInput
{
	uint64		pass_left;		/* bytes of the message that is being passed
								 * on */
	bool		in_copy;		/* its backend takes rows */
	int64		held_since;		/* when a part of a unit came, which is kept
								 * until the rest comes; 0: none */
	dlist_node	held_link;		/* of the clients with such a part */
	int64		left_at;		/* when its connection ended; 0: it has not */
} ClientInput;

/* Its statement on another node's session (session_queue.c). */
typedef struct RoutedStatement
{
	PreparedText *text;			/* a reference; NULL: there is none */
	bool		sent;			/* and not answered */
	bool		alone;			/* shares the backend with no other client's */
	size_t		len;			/* bytes of its messages */
	char	   *copy;			/* they, in case they must be sent again; or
								 * NULL */
} RoutedStatement;

/* What becomes of a client's next message. */
typedef enum NextStep
{
	STEP_PASS,					/* it is passed on, the ordinary way */
	STEP_TAKEN,					/* it has been taken care of, or the client's
								 * state has changed */
	STEP_WAIT,					/* for something else to happen */
	STEP_MORE,					/* for more of the client's input */
} NextStep;

/*
 * How a client's messages get to a session, and its answers back: a row of the
 * table in policy.c.  A function may be NULL where it is said so.
 */
struct ClientPolicy
{
	bool		in_block;		/* of an idle client: a transaction block */
	const ClientPolicy *without_node;	/* follows when it has no session of
										 * another node any more */

	/*
	 * The next message has begun, of a client without a session: STEP_PASS
	 * gives it one of its pool.
	 */
	NextStep	(*choose) (Client *client);
	/* The same, of one that has a session, which waits for nothing. */
	NextStep	(*next) (Client *client, const Message *message);
	/* A message is about to be sent, perhaps behind another; or NULL. */
	void		(*begin) (Client *client);
	/* That message has been passed on, or begun to be. */
	void		(*passed) (Client *client, const Message *message);

	/*
	 * Notes an answer, or its head, beginning with the type, or a further
	 * part of it ('\0'); whether the rest must be noted.  Or NULL.
	 */
	bool		(*note) (Client *client, char type, const void *data, size_t len);
	/* A unit has been answered, by ReadyForQuery. */
	void		(*answered) (Backend *backend);
	/*
	 * An error has come; whether the client gets no answer, since the
	 * statement is sent to another session.  Or NULL.
	 */
	bool		(*refused) (Backend *backend, const Message *error);
	/* A cancel request has come. */
	void		(*cancelled) (Client *client);
	/* The client has gone. */
	void		(*closed) (Client *client);
};

/*
 * What a client comes through that has no connection of its own
 * (src/gateway/link).
 */
typedef struct ClientOrigin
{
	/* The stream of the connection: its TLS state is the client's. */
	const Stream *(*transport) (const Client *client);
	/* The client has been authenticated: it is closed. */
	void		(*authenticated) (Client *client);
	void		(*closed) (Client *client);
} ClientOrigin;

struct Client
{
	Stream		stream;			/* first, so that a handler finds the client */
	ClientState state;
	int64		since;			/* when its state began, or while it is idle,
								 * when its last message came */
	dlist_node	link;			/* of all clients */
	dlist_node	state_link;		/* of the list of its state */
	dlist_node	ready_link;		/* of the clients that the loop runs next */
	bool		ready;			/* it is one of them */
	const ClientPolicy *policy;
	ClientIdentity who;
	LoginLink  *login;
	const ClientOrigin *origin; /* NULL: a connection of its own */
	void	   *tunnel;			/* the origin's */
	ClientEntry *entry;			/* shows it to sessions of the server; or
								 * NULL */
	Pool	   *pool;
	Pool	   *wanted;			/* of which it has requested a session last */
	Backend    *backend;
	char	   *settings;		/* command that makes a fresh session this
								 * client's; "" if nothing */
	IdleLimits	limits;			/* as its session reported them last */
	struct ClientStatements *statements;	/* by name; NULL if there are
											 * none */
	uint32		names_version;	/* changes with them */
	ClientInput input;
	bool		cancelled;		/* a statement, routed or waiting for a
								 * session, is to be cancelled */
	bool		deaf;			/* what its backend answers isn't for it */
	bool		clean;			/* its transaction block has done nothing that
								 * could change what texts mean */
	RoutedStatement routed;
	Block	   *block;			/* the transaction block that it is in, if the
								 * gateway follows it; or NULL (block.c) */
	PreparedText *query_text;		/* of its query, whose route must be
									 * requested; a reference, or NULL
									 * (route.c) */
};

typedef enum SessionState
{
	BACKEND_NEW,
	BACKEND_CONNECTING,
	BACKEND_LOGIN,
	BACKEND_IDLE,				/* in pool->idle */
	BACKEND_RESTORING,			/* makes its session its client's; lent
								 * already */
	BACKEND_LENT,
	BACKEND_ASKING,				/* runs a query of the gateway's */
	BACKEND_CLOSED,
} SessionState;

/* What it has been asked, and what it answers now (answer.c). */
typedef struct BackendAnswers
{
	ExpectRing	expected;
	uint64		pass_left;		/* bytes of the message that is being passed
								 * on */
	bool		pass_on;		/* they are for the client */
	bool		pass_noted;		/* they are of an answer that a block notes */
	bool		pass_ends;		/* with them, the head of the ring is
								 * answered */
	bool		skipping;		/* the server skips messages up to the next
								 * Sync */
	bool		unsynced;		/* its last messages need a Sync: until then,
								 * it may be in a transaction or skip messages,
								 * whatever the last ReadyForQuery says */
	bool		checking;		/* the client waits for READER_COLUMNS, or for
								 * all answers */
	bool		dying;			/* has said that it ends */
	bool		end_told;		/* to the client, too */
} BackendAnswers;

/*
 * The statements that it has prepared (backend.c, client_message.c,
 * statement_names.c).
 */
typedef struct BackendStatements
{
	struct idset_hash *texts;	/* under our names */
	uint32		generation;		/* of them */
	uint64		not_prepared;	/* id of a text that could not be prepared
								 * under its own settings */
	uint64		outdated;		/* id of a text that it has prepared with
								 * other columns than clients know; 0: none */
	PreparedText *unnamed;		/* what it has prepared without a name, if that
								 * is known and of one client; a reference, or
								 * NULL */
	PreparedText *bound;		/* last bound to the unnamed portal; a
								 * reference, or NULL */
	List	   *told_names;		/* names of its client's statements that it
								 * has prepared under these (char *) */
	uint64		told_text;		/* id of the text for which; 0: of a query */
	uint32		told_version;	/* the client's names_version then */
} BackendStatements;

/*
 * A question to the session, which is asked when its client has given it back:
 * a query of one row with one column.
 */
typedef struct BackendQuestion
{
	char	   *query;			/* NULL: there is none */
	/* described: NULL if there is no answer */
	void		(*answered) (void *about, const char *answer);
	void	   *about;
} BackendQuestion;

/* How many clients' statements are sent behind one that runs. */
#define MAX_QUEUED 31

/* The statements of several clients (session_queue.c). */
typedef struct BackendQueue
{
	bool		shared;			/* statements may be sent behind the last
								 * one */
	Client	   *behind[MAX_QUEUED];	/* whose statements have been sent behind,
									 * in order; NULL: has gone */
	int			nbehind;
	bool		cancelling;		/* it may be hit by a cancel request, not only
								 * the statement that this is meant for */
	int64		since;			/* since when the client is answered */
	size_t		bytes;			/* of its answer so far, about; 0: none */
} BackendQueue;

struct Backend
{
	Stream		stream;			/* first */
	SessionState state;
	int64		since;			/* when its state began */
	dlist_node	link;			/* of pool->backends */
	dlist_node	idle_link;		/* of pool->idle */
	Pool	   *pool;
	Client	   *client;			/* whom it is lent to, and answers now; NULL if
								 * it has gone before its answer */
	int64		opened;
	int64		heard;			/* when it sent something last, or was asked
								 * for something first, or its node has
								 * answered node_watch.c */
	SessionEntry *entry;		/* says whose it is, to a session of this
								 * server; or NULL */
	ScramLogin *scram;			/* while it logs in */
	ByteQueue	greeting;		/* the messages that it reports at its start */
	int32		pid;			/* for cancel requests, as the server has sent
								 * them */
	int32		key;
	int			cancels;		/* cancel requests under way */
	char		transaction;	/* as the last ReadyForQuery says */
	bool		known;			/* has reported its state */
	bool		pinned;			/* has state that can't be carried to another
								 * session */
	bool		retired;		/* to be closed when it is given back */
	char	   *settings;		/* as a client's */
	IdleLimits	limits;			/* as it reports them */
	BackendAnswers answers;
	BackendStatements statements;
	BackendQueue queue;
	BackendQuestion question;
};

/*
 * Sessions of a database and a user, with the same parameters at their start.
 */
struct Pool
{
	dlist_node	link;			/* of all pools */
	dlist_node	ready_link;		/* of those that the loop serves next */
	bool		ready;			/* it is one of them */
	uint64		number;			/* never reused */
	Oid			role;			/* the Oids of the names when the first client
								 * logged in */
	Oid			database_id;
	uint64		defaults;		/* gateway_area->defaults when they came */
	ServerAddress address;
	int64		failed;			/* when a session could not be opened on
								 * another node; 0: never */
	char	   *user;
	char	   *database;
	char	   *parameters;		/* names and values, each with a zero byte */
	size_t		parameters_len;
	ScramKey	key;			/* to log in with */
	ByteQueue	greeting;		/* what a session reports at its start; empty:
								 * not known yet */
	IdleLimits	limits;			/* as it reports them then */
	dlist_head	backends;
	dlist_head	idle;			/* the one that was used last in front */
	dlist_head	queue;			/* clients that wait for one */
	dlist_head	greeted;		/* clients that wait for the greeting */
	int			nclients;
	int			nbackends;
	int			nopening;
	int64		renewed;		/* when a session was closed for its age */
};

/* Whether the sessions are another node's. */
static inline bool
pool_is_remote(const Pool *pool)
{
	return pool->address.len > 0;
}

static inline bool
backend_is_remote(const Backend *backend)
{
	return pool_is_remote(backend->pool);
}

/*
 * transition.c: the changes of state.  An object is in the list of its state
 * from then on; a client is shown in the area.
 */
extern dlist_head gateway_clients;
extern dlist_head gateway_pools;
extern dlist_head login_queue;
extern int	ngateway_clients;
extern void client_change_state(Client *client, ClientState state);
extern void client_change_policy(Client *client, const ClientPolicy *policy);
extern void backend_change_state(Backend *backend, SessionState state);
/*
 * The backend serves the client: now, or if it has others, behind them.  Its
 * place in the queue stays when it is detached.
 */
extern void session_attach(Client *client, Backend *backend);
extern void session_detach(Client *client);
/*
 * The client may have something to process, or the pool to lend; the loop does
 * so at the end of its iteration, by client_process and pool_serve.
 */
extern void client_ready(Client *client);
extern void pool_ready(Pool *pool);
/* Does all of this; false if there was nothing. */
extern bool session_run(void);

/* client.c */
extern Client *client_accept(int fd, const SockAddr *address);
/* Processes the client's input. */
extern void client_process(Client *client);
/*
 * Whether what has arrived of a unit is kept until the rest comes, since it
 * may be routed then.  The client may not be going to send it before it gets
 * an answer, so that is for a moment only, after which client_process is
 * called again.
 */
extern bool client_holds(Client *client);
/* The clients whose moment has passed are ready. */
extern void client_release_held(void);
/* Sends an error to a client, and closes it. */
extern void client_fail(Client *client, const ErrorData *error);
extern void client_fail_text(Client *client, int sqlstate, const char *message);
/*
 * Ends the client if it has been idle for too long, or has left and its last
 * messages take too long.
 */
extern void client_check_idle(Client *client);
/* Passes a server's ErrorResponse on, and closes the client. */
extern void client_fail_message(Client *client, const char *payload, size_t len);
extern void client_close(Client *client);
extern void client_authenticated(Client *client);
extern void client_greet(Client *client);
/*
 * Whether there is such a client; passed: by another node, with the first four
 * bytes of the key only.
 */
extern bool client_cancel(int32 pid, const CancelKey *key, bool passed);
/* A session of this server has ordered it. */
extern void client_obey(int number, ClientOrder order);
/* Shows in the area that it has nothing to do, or that it has. */
extern void client_show_idle(Client *client);
extern void client_show_active(Client *client);
/* That of new clients. */
extern const ClientPolicy *client_first_policy;
/*
 * Whether the client has received its answer, but a cancel request may still
 * interrupt the session: it must not hit the client's next statement.
 */
extern bool client_waits_for_cancel(const Client *client);
/* Cancels what its session runs, or what it waits for a session for. */
extern void client_cancel_session(Client *client);

/* client_message.c: Parse, under our name, or any other */
extern void send_parse(Backend *backend, const PreparedText *text);
extern void send_parse_as(Backend *backend, const char *name, const char *parse, size_t parse_len);
/* Asks which columns the text, which has been sent, returns. */
extern void send_columns_question(Backend *backend, PreparedText *text);
/*
 * Passes one message on to the client's backend; false if it isn't complete.
 */
extern bool client_forward(Client *client, const Message *message);
/* A reference to a text of the client's; private as in prepared_text_get. */
extern PreparedText *client_text(const Client *client, uint64 private, const char *parse, size_t len);
extern PreparedText *client_statement(Client *client, const char *name);
/* Takes over the reference to text; NULL drops the name. */
extern void client_set_statement(Client *client, const char *name, PreparedText *text);
extern void client_drop_statements(Client *client);
/* order: grows with each statement that the client has prepared. */
extern void client_visit_statements(const Client *client,
									void (*visit) (const char *name, PreparedText *text, uint64 order, void *arg), void *arg);
/*
 * An error's or notice's payload with the client's names of statements instead
 * of ours, palloc'd; NULL if it has none of ours.  unnamed: the message is
 * about the statement without a name.
 */
extern StringInfo client_own_names(const Client *client, bool unnamed, const Message *report);
/* Drops those that have a name, as DEALLOCATE ALL does. */
extern void client_deallocate(Client *client);

/* backend.c */
extern void backend_open(Pool *pool);
extern void backend_close(Backend *backend);
/* Makes the backend's session its client's, then calls client_process. */
extern void backend_lend(Backend *backend, Client *client);
/*
 * Prepares a text on the idle session, under the settings that it was first
 * prepared under; then calls client_process.
 */
extern void backend_prepare(Backend *backend, PreparedText *text);
/* Has an idle session run a query, whose answer is ignored. */
extern void backend_ask(Backend *backend, const char *query);
/* The backend has nothing more to do for its client. */
extern void backend_give_back(Backend *backend);
/* The client, which the backend serves, has gone. */
extern void backend_abandon(Backend *backend, Client *client);
/* Goes on with what the backend has answered. */
extern void backend_continue(Backend *backend);
/* The session has ended, or violated the protocol. */
extern void backend_fail(Backend *backend, const ErrorData *error);
/* backend->question has been answered, or will not be (NULL). */
extern void backend_question_answered(Backend *backend, const char *answer);
/* Its session is its client's now. */
extern void backend_restored(Backend *backend);
/* Answers a server's Authentication message, given its payload. */
extern void session_authenticate(Stream *stream, ScramLogin **scram, const ScramKey *key, const char *user,
								 const Message *message);
typedef enum TextState
{
	TEXT_UNKNOWN,
	TEXT_SENT,					/* the backend is preparing it */
	TEXT_PREPARED,
} TextState;

/* Which texts it has under our names: changes, and a look. */
extern TextState backend_text_state(Backend *backend, const PreparedText *text);
extern void backend_text_prepared(Backend *backend, const PreparedText *text);
extern void backend_add_text(Backend *backend, const PreparedText *text);
extern void backend_remove_text(Backend *backend, const PreparedText *text);
extern void backend_forget_texts(Backend *backend);
/*
 * What it is sent replaces the statement without a name, by the text if that
 * isn't NULL.
 */
extern void backend_note_unnamed(Backend *backend, PreparedText *text);

/* All has been answered, for backend->client, or for one that has gone. */
extern void session_done(Backend *backend);

/* answer.c: messages of backends; value is that of GATEWAY_STATE_SETTING */
extern void answer_state(Backend *backend, const char *value);
extern void answer_arrived(Backend *backend);
extern Expect *expect_push(Backend *backend, ExpectKind kind, ExpectReader reader);
extern Expect *expect_head(Backend *backend);
/* Sends the gateway's own answers at the head of the ring. */
extern void expect_settle(Backend *backend);
extern void expect_free(Backend *backend);

/* pool.c */
extern Pool *pool_find(Client *client);
/* The client has gone. */
extern void pool_leave(Pool *pool);
/* The same for sessions of another node. */
extern Pool *pool_find_node(const Pool *own, const ServerAddress *address);
/* Whether sessions can be opened there, as far as is known. */
extern bool pool_works(const Pool *pool);
/*
 * Lends the client a backend of its own pool or of another node, now or when
 * it is answered.
 */
extern void pool_request(Client *client, Pool *pool);
extern void pool_request_greeting(Client *client);
/* How many of its sessions are in blocks, or waited for by such. */
extern int	pool_blocks(const Pool *pool, bool waiting);
/* Whether a backend that is idle is to be closed for its age. */
extern bool pool_renews(Pool *pool, const Backend *backend);
/*
 * Lends a backend to the next client that waits, which is to be processed
 * then; NULL if there is none.
 */
extern Client *pool_serve(Pool *pool);
/* A backend could not be opened: payload of the ErrorResponse. */
extern void pool_open_failed(Pool *pool, const char *payload, size_t len);
extern void pool_tick(void);

/*
 * session_queue.c: statements of several clients on one session, one after
 * another
 */
/*
 * Microseconds that the statements in front of a client's may take together:
 * the first is no more than waking another session costs, the second is
 * allowed if all are busy.
 */
#define SHORT_WAIT INT64CONST(250)
#define LONG_WAIT INT64CONST(5000)

/*
 * A session that can queue the client's statement, behind statements that cost
 * no more than limit; or NULL.
 */
extern Backend *session_queue_find(Pool *pool, const Client *client, int64 limit);
/* Lends the backend to the client as well. */
extern void session_queue_join(Backend *backend, Client *client);
/* The client's statement has been sent. */
extern void session_queue_sent(Client *client);
/*
 * Whether the next part of the answer may be processed now.  If it is the
 * error of another client's cancel request, the client gets no answer.
 */
extern bool session_queue_may_answer(Backend *backend);
/*
 * Whether an error means that the other node doesn't know a table of the
 * client's statement, of which nothing has been answered.
 */
extern bool session_queue_is_refused(Backend *backend, const Message *error);
/* The statement of backend->client has been answered. */
extern void session_queue_end(Backend *backend);
/* The client has gone; false if the backend does nothing for others. */
extern bool session_queue_leave(Backend *backend, Client *client);
/* Cancels its statement on the node, now or when it runs, and no other. */
extern void session_queue_cancel(Client *client);
/* Drops the client's statement, which the backend need not answer. */
extern void session_queue_forget(Client *client);
/* Sends the client's statement, which has had no effect, again. */
extern void session_queue_again(Client *client);
/*
 * Cancels long statements that delay other clients, and sends delayed cancel
 * requests.
 */
extern void session_queue_tick(Pool *pool);

/* cancel_link.c: makes the server cancel the backend's statement */
extern void cancel_send(Backend *backend);
extern void cancel_forget(Backend *backend);
/* Reads the requests that other processes have got for our clients. */
extern void cancel_open_mailbox(void);
/* A client's request: for one of this process, another one, or a node. */
extern void cancel_requested(int32 pid, const CancelKey *key);
/*
 * Makes an idle session of a pool of this server pass a forwarded request on
 * to the other nodes, if there is one.
 */
extern void cancel_pass_on(Pool *pool);
/*
 * Another session of this server's; calls done when the server has taken it.
 */
extern void cancel_session(int32 pid, int32 key, void (*done) (void *arg), void *arg);
/* Whether a forwarded request waits for a session. */
extern bool cancel_waits(void);
/* Gives up sessions whose node has not taken a request in time. */
extern void cancel_tick(void);
/* Takes the requests that other nodes have passed on to us. */
extern void cancel_take_passed(void);

/*
 * startup.c.  Takes over the connection of a client whose first packet has
 * LINK_REQUEST_CODE; src/gateway/link sets it.
 */
extern void (*client_link_requested) (Client *client, const char *packet, uint32 len);
extern void startup_arrived(Client *client);

/* login_link.c */
extern void login_begin(Client *client);
/* Passes the client's answer on to the server. */
extern void login_answer(LoginLink *login, char type, const char *payload, size_t len);
extern void login_abandon(LoginLink *login);
/* Begins the logins that there is room for. */
extern void login_tick(void);

/*
 * node_watch.c.  node_watch_tick gives up sessions on nodes that don't answer;
 * node_watch_lose one of them, with its clients.
 */
extern void node_watch_tick(void);
extern void node_watch_lose(Backend *backend);

/* statement_names.c */
/*
 * Has the client's session prepare the statements that such a text may mean
 * under the client's names; false if the text must wait for earlier answers.
 * text: the text, if it is prepared itself.
 */
extern bool statement_names_tell(Client *client, const char *sql, const PreparedText *text);
/* Has an idle session drop them; it is idle again after ReadyForQuery. */
extern void statement_names_forget(Backend *backend);
extern void statement_names_free(Backend *backend);

#endif							/* CITUS_GATEWAY_POOLER_SESSION_H */
