/*-------------------------------------------------------------------------
 *
 * follower.c
 *	  Reads on standbys of the nodes.
 *
 * With citus.use_secondary_nodes = always or prefer, or read_only in a READ
 * ONLY transaction, a session's tasks for other nodes go to standbys that are
 * registered as their secondaries (citus_add_secondary_node), in the cluster
 * citus.cluster_name.  A session chooses one of several by its process id, and
 * so keeps its connections; a transaction keeps its choice.
 *
 * Except with always, a standby that can't be reached, or has fallen behind,
 * is passed over, and if that leaves none, the primary is read.  So the
 * session asks the standby how far it is (remote/follower_probe.c), when it
 * first uses it, and again in transactions that begin PROBE_MS later.
 *
 * citus.session_token, from citus_session_token(), is a place in the WAL of
 * each node, which a standby must have replayed before the session reads it:
 * it is asked, in any mode, until it has, and waited for.
 *
 * A standby shows the transactions that it has replayed, and standbys of two
 * nodes may be at different times.  Statements over several nodes wait until
 * all have come to a common one (src/txn/snapshot_mark.c), unless
 * citus.distributed_snapshots is off.  For statements of one shard,
 * citus.max_follower_staleness is a bound: a standby refuses a task if the
 * last commit that it has replayed is older.  So that an idle node's standby
 * isn't taken for one that has fallen behind, the maintenance worker of a node
 * that has secondaries commits an empty transaction each second.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/follower.h"
#include "catalog/metadata.h"
#include "compat/guc.h"

/* Milliseconds between two marks, and between looks for secondaries. */
#define MARK_MS 1000
#define LOOK_FOR_SECONDARIES_MS 2000

/*
 * How long what a standby has answered counts, in ms; the same for one that
 * couldn't be reached.
 */
#define PROBE_MS 1000
#define PROBE_FAILED_MS 10000

typedef enum FollowerUse
{
	FOLLOWER_NEVER,
	FOLLOWER_READ_ONLY,			/* in READ ONLY transactions, if one is fit */
	FOLLOWER_PREFER,			/* if one is fit */
	FOLLOWER_ALWAYS
} FollowerUse;

static const struct config_enum_entry use_options[] = {
	{"never", FOLLOWER_NEVER, false},
	{"read_only", FOLLOWER_READ_ONLY, false},
	{"prefer", FOLLOWER_PREFER, false},
	{"always", FOLLOWER_ALWAYS, false},
	{NULL, 0, false}
};

/* A value of citus.session_token. */
typedef struct SessionToken
{
	int			n;
	struct
	{
		int32		groupid;
		XLogRecPtr	place;
	}			nodes[FLEXIBLE_ARRAY_MEMBER];
} SessionToken;

/* What this session knows of a secondary node. */
typedef struct FollowerChecked
{
	int32		nodeid;
	TimestampTz asked;			/* 0: never */
	FollowerState state;
} FollowerChecked;

/* The node that a transaction uses for a group. */
typedef struct FollowerChoice
{
	int32		groupid;
	TimestampTz transaction;	/* when it started */
	int32		nodeid;
} FollowerChoice;

FollowerProbe follower_probe = NULL;

static int	use_secondary_nodes = FOLLOWER_NEVER;
static int	follower_wait_timeout = 5000;
static char *session_token_text;
static SessionToken *session_token = NULL;
static List *followers_checked = NIL;	/* FollowerChecked *; in
										 * TopMemoryContext */
static List *followers_chosen = NIL;	/* FollowerChoice *; the same */
static char *follower_cluster;
static int	max_follower_staleness = -1;

/* In the maintenance worker. */
static bool has_secondary = false;

bool
follower_reads(void)
{
	return use_secondary_nodes != FOLLOWER_NEVER && (use_secondary_nodes != FOLLOWER_READ_ONLY || XactReadOnly);
}

int
follower_wait_ms(void)
{
	return follower_wait_timeout;
}

/* The secondaries of a group that sessions may use (List of ClusterNode *). */
static List *
followers_of_group(int32 groupid)
{
	List	   *found = NIL;

	foreach_ptr(ClusterNode, node, node_all())
		if (node->groupid == groupid && node->is_secondary && node->is_active && strcmp(node->cluster, follower_cluster) == 0)
			found = lappend(found, node);
	return found;
}

/* What a group's standby must have replayed; invalid: anything. */
static XLogRecPtr
token_of_group(int32 groupid)
{
	for (int i = 0; session_token != NULL && i < session_token->n; i++)
		if (session_token->nodes[i].groupid == groupid)
			return session_token->nodes[i].place;
	return InvalidXLogRecPtr;
}

/* The entry of a secondary node. */
static FollowerChecked *
checked_follower(const ClusterNode *node)
{
	MemoryContext old_context;
	FollowerChecked *checked;

	foreach_ptr(FollowerChecked, known, followers_checked)
		if (known->nodeid == node->nodeid)
			return known;
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	checked = palloc0(sizeof(FollowerChecked));
	checked->nodeid = node->nodeid;
	followers_checked = lappend(followers_checked, checked);
	MemoryContextSwitchTo(old_context);
	return checked;
}

/*
 * Whether the session may read a secondary node now; may wait for it, for
 * citus.follower_wait_timeout.
 */
static bool
follower_is_fit(const ClusterNode *node)
{
	XLogRecPtr	place = token_of_group(node->groupid);
	FollowerChecked *checked;
	bool		ages = use_secondary_nodes != FOLLOWER_ALWAYS;

	if (!ages && place == InvalidXLogRecPtr)
		return true;
	checked = checked_follower(node);
	if (checked->state.replayed < place || checked->asked == 0 ||
		(ages && TimestampDifferenceExceeds(checked->asked, GetCurrentTransactionStartTimestamp(),
											checked->state.up ? PROBE_MS : PROBE_FAILED_MS)))
	{
		if (checked->asked == 0 || checked->state.up ||
			TimestampDifferenceExceeds(checked->asked, GetCurrentTimestamp(), PROBE_FAILED_MS))
			follower_probe(node, place, follower_wait_timeout, &checked->state);
		checked->asked = GetCurrentTimestamp();
	}
	return checked->state.up && checked->state.replayed >= place &&
		(!ages || max_follower_staleness < 0 || checked->state.age_ms <= max_follower_staleness);
}

/* The secondary node that the session reads for a group; NULL: none is fit. */
static const ClusterNode *
fit_follower(int32 groupid, List *found)
{
	for (int i = 0; i < list_length(found); i++)
	{
		const ClusterNode *node = list_nth(found, (MyProcPid + i) % list_length(found));

		if (follower_is_fit(node))
			return node;
	}
	if (use_secondary_nodes != FOLLOWER_ALWAYS)
		return NULL;
	if (found == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node group %d has no secondary node in cluster \"%s\"", groupid, follower_cluster),
				 errhint("Add a standby by citus_add_secondary_node, or set citus.use_secondary_nodes to never.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no secondary node of group %d has replayed what citus.session_token stands for", groupid),
			 errdetail("None did within citus.follower_wait_timeout."),
			 errhint("Try again, or set citus.use_secondary_nodes to prefer or never.")));
	return NULL;
}

const ClusterNode *
follower_or_node_of_group(int32 groupid)
{
	TimestampTz transaction = GetCurrentTransactionStartTimestamp();
	FollowerChoice *choice = NULL;
	const ClusterNode *node;

	if (likely(!follower_reads()))
		return node_of_group(groupid);
	foreach_ptr(FollowerChoice, known, followers_chosen)
		if (known->groupid == groupid)
			choice = known;
	if (choice != NULL && choice->transaction == transaction && (node = node_with_id(choice->nodeid)) != NULL)
		return node;
	node = fit_follower(groupid, followers_of_group(groupid));
	if (node == NULL)
		node = node_of_group(groupid);
	if (choice == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);

		choice = palloc(sizeof(FollowerChoice));
		followers_chosen = lappend(followers_chosen, choice);
		MemoryContextSwitchTo(old_context);
	}
	*choice = (FollowerChoice) {.groupid = groupid,.transaction = transaction,.nodeid = node->nodeid};
	return node;
}

void
follower_refuse_write(void)
{
	if (unlikely(use_secondary_nodes >= FOLLOWER_PREFER))
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write while citus.use_secondary_nodes is %s", use_secondary_nodes == FOLLOWER_ALWAYS ? "always" : "prefer"),
				 errhint("Set citus.use_secondary_nodes to never, or to read_only.")));
}

void
follower_check_token(void)
{
	XLogRecPtr	place;

	if (likely(session_token == NULL) || !RecoveryInProgress())
		return;
	place = token_of_group(metadata_local_group());
	if (GetXLogReplayRecPtr(NULL) < place)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this standby has not yet replayed what citus.session_token stands for"),
				 errhint("Try again, or connect to another server.")));
}

void
follower_check_staleness(void)
{
	TimestampTz now;
	TimestampTz replayed;

	if (max_follower_staleness < 0 || !RecoveryInProgress())
		return;
	now = GetCurrentTimestamp();
	replayed = GetLatestXTime();
	if (TimestampDifferenceExceeds(replayed, now, max_follower_staleness))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this standby has fallen behind further than citus.max_follower_staleness allows"),
				 replayed == 0 ? errdetail("It has not yet replayed a transaction.") :
				 errdetail("The last transaction that it has replayed is %ld ms old.", TimestampDifferenceMilliseconds(replayed, now)),
				 errhint("Set citus.use_secondary_nodes to never, or citus.max_follower_staleness to a greater value.")));
}

bool
follower_mark(void)
{
	has_secondary = false;
	foreach_ptr(const ClusterNode, node, node_all())
		has_secondary = has_secondary || (node->is_secondary && node->groupid == metadata_local_group());
	if (has_secondary)
		(void) GetCurrentTransactionId();
	return has_secondary;
}

int
follower_mark_interval(void)
{
	return has_secondary ? MARK_MS : LOOK_FOR_SECONDARIES_MS;
}

/*
 * The check_hook of citus.session_token: "group:place,group:place", as
 * citus_session_token() returns it.
 */
static bool
check_session_token(char **value, void **extra, GucSource source)
{
	const char *text = *value;
	SessionToken *token;
	int			most = 1;

	if (text == NULL || text[0] == '\0')
		return true;
	for (const char *p = text; *p != '\0'; p++)
		most += *p == ',';
	token = guc_malloc(LOG, offsetof(SessionToken, nodes) + most * sizeof(token->nodes[0]));
	if (token == NULL)
		return false;
	for (token->n = 0; token->n < most; token->n++)
	{
		uint32		high;
		uint32		low;
		int			used = 0;

		if (sscanf(text, "%d:%X/%X%n", &token->nodes[token->n].groupid, &high, &low, &used) != 3 ||
			text[used] != (token->n + 1 < most ? ',' : '\0'))
		{
			GUC_check_errdetail("It must be a value of citus_session_token().");
			guc_free(token);
			return false;
		}
		token->nodes[token->n].place = (uint64) high << 32 | low;
		text += used + 1;
	}
	*extra = token;
	return true;
}

static void
assign_session_token(const char *value, void *extra)
{
	session_token = extra;
}

void
follower_init(void)
{
	DefineCustomEnumVariable("citus.use_secondary_nodes",
							 "Reads shards of other nodes on their standbys.",
							 "On secondary nodes of the cluster citus.cluster_name. always: the session can't write. "
							 "prefer: the same, but reads the primary if no standby is up, and fresh enough. read_only: the same in READ ONLY transactions; others use the primaries.",
							 &use_secondary_nodes, FOLLOWER_NEVER, use_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.session_token",
							   "Sets what standbys must have replayed before this session reads them.",
							   "A value of citus_session_token(), by which a session sees what another one had committed before it got that.",
							   &session_token_text, "", PGC_USERSET, 0, check_session_token, assign_session_token, NULL);
	DefineCustomIntVariable("citus.follower_wait_timeout",
							"Sets how long a transaction waits for a standby to replay what it must have replayed.",
							"That is what citus.session_token stands for, and the point in time that all nodes are read as of.",
							&follower_wait_timeout, 5000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.cluster_name",
							   "The cluster of the secondary nodes that citus.use_secondary_nodes uses.",
							   "citus_add_secondary_node gives each to a cluster.",
							   &follower_cluster, "default", PGC_SU_BACKEND, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_follower_staleness",
							"Sets how old the last transaction may be that a standby has replayed, when it is read.",
							"By the clocks of both servers; a statement fails otherwise. Less than two seconds isn't useful. -1 means any age.",
							&max_follower_staleness, -1, -1, PG_INT32_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}
