/*-------------------------------------------------------------------------
 *
 * policy.c
 *	  The table of policies: how a client's messages get to a session.
 *
 *	  policy_direct		a session of this server, until it is idle; a pinned
 *						one is never given back
 *	  policy_routed		one statement, on a session of the node with its rows
 *	  policy_block		a transaction block that is followed, on a session of
 *						this server, or not begun yet
 *	  policy_node_block	the same on a session of another node
 *
 * A client begins as direct, and is so between transactions.  The pooler calls
 * the functions of the client's row, and doesn't know the policies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "gateway/routing/policy.h"

static NextStep
direct_choose(Client *client)
{
	return gateway_node_pool_size > 0 && block_may_begin(client) ? block_open(client) : route_statement(client);
}

static NextStep
direct_next(Client *client, const Message *message)
{
	return client_waits_for_cancel(client) ? STEP_WAIT : STEP_PASS;
}

static NextStep
routed_next(Client *client, const Message *message)
{
	return client->routed.sent ? STEP_WAIT : STEP_PASS;
}

static void
routed_passed(Client *client, const Message *message)
{
	if (message_ends_unit(message->type))
		session_queue_sent(client);
}

static bool
routed_refused(Backend *backend, const Message *error)
{
	Client	   *client = backend->client;

	if (!session_queue_is_refused(backend, error))
		return false;
	route_refused(client->routed.text);
	session_queue_again(client);
	return true;
}

const ClientPolicy policy_direct = {
	.choose = direct_choose,
	.next = direct_next,
	.passed = route_ask,
	.answered = session_done,
	.cancelled = client_cancel_session,
	.closed = route_forget_query,
};

const ClientPolicy policy_routed = {
	.without_node = &policy_direct,
	.next = routed_next,
	.passed = routed_passed,
	.answered = session_done,
	.refused = routed_refused,
	.cancelled = session_queue_cancel,
	.closed = route_forget_query,
};

const ClientPolicy policy_block = {
	.in_block = true,
	.choose = block_choose,
	.begin = block_begin,
	.next = block_next,
	.passed = block_passed,
	.note = block_note_replayed,
	.answered = block_answered,
	.cancelled = client_cancel_session,
	.closed = block_closed,
};

const ClientPolicy policy_node_block = {
	.in_block = true,
	.without_node = &policy_block,
	.begin = block_begin,
	.next = node_block_next,
	.passed = node_block_passed,
	.note = block_note,
	.answered = node_block_answered,
	.refused = node_block_refused,
	.cancelled = node_block_cancelled,
	.closed = block_closed,
};
