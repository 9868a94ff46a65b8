/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  Computes which shard groups to move where, so that nodes are equally
 *	  loaded.
 *
 * The computation uses arrays, no catalogs.  First it moves shard groups that
 * must leave their node, the most costly first, each to the node with the
 * least load at that point.
 *
 * Then it balances.  The imbalance of a node is the part of its load outside
 * the band of threshold around the average load of nodes of its capacity.
 * Each move reduces the total imbalance of all nodes; the plan repeatedly
 * takes the move with the greatest reduction per unit of cost, until no move
 * helps.  A unit of cost can at best take 1 from a node that has too much and
 * give 1 to a node that has too little, and such moves come first, so little
 * more is moved than necessary.  Of equally good moves, the plan prefers the
 * larger one, since a few large moves take less time than many small ones, and
 * then the one that spreads the tables of a colocation group better over the
 * nodes.
 *
 * All colocation groups are in one plan.  A move takes O(nodes * nodes +
 * shards) steps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "rebalance/plan.h"

/* Differences up to this size are rounding errors. */
#define ROUNDING 1e-9

/*
 * The loads between which a node of capacity 1 is balanced, and the average.
 */
typedef struct LoadBand
{
	double		lower;
	double		average;
	double		upper;
} LoadBand;

/* A move that the plan could make next. */
typedef struct MoveCandidate
{
	int			shard;
	int			to;
	double		gain;			/* imbalance that it takes away */
	double		rate;			/* of that, for each unit of cost */
	int			spread;			/* of shard groups of its colocation group,
								 * there are so many more on its node than on
								 * the other */
} MoveCandidate;

static double
load_of(const PlanNode *node)
{
	return node->load / node->capacity;
}

static bool
is_allowed(RebalancePlan *plan, int shard, int node)
{
	int8	   *memo = &plan->allowed_memo[shard * plan->nnodes + node];

	if (*memo == 0)
		*memo = plan->allowed(plan, &plan->shards[shard], &plan->nodes[node]) ? 1 : -1;
	return *memo > 0;
}

static int
count_of(const RebalancePlan *plan, const PlanShard *shard, int node)
{
	return plan->counts[shard->colocation * plan->nnodes + node];
}

static void
place_shard(RebalancePlan *plan, PlanShard *shard, int node, int sign)
{
	plan->nodes[node].load += sign * shard->cost;
	plan->counts[shard->colocation * plan->nnodes + node] += sign;
}

static LoadBand
load_band(const RebalancePlan *plan)
{
	LoadBand	band = {0};
	double		capacity = 0;
	double		load = 0;

	for (int i = 0; i < plan->nnodes; i++)
	{
		capacity += plan->nodes[i].capacity;
		load += plan->nodes[i].load;
	}
	if (capacity > 0)
		band.average = load / capacity;
	band.lower = band.average * (1 - plan->threshold);
	band.upper = band.average * (1 + plan->threshold);
	return band;
}

/* The part of a given load of a node that is outside the band. */
static double
imbalance_of_node(const PlanNode *node, double load, const LoadBand *band)
{
	return Max(0, load - band->upper * node->capacity) + Max(0, band->lower * node->capacity - load);
}

static double
part_of_average(const PlanNode *node, const LoadBand *band)
{
	return node->capacity > 0 && band->average > 0 ? load_of(node) / band->average : 0;
}

static void
make_move(RebalancePlan *plan, PlanShard *shard, int to, MoveReason reason, const LoadBand *band)
{
	PlanMove   *move = palloc0(sizeof(PlanMove));

	move->shard = shard;
	move->from = &plan->nodes[shard->home];
	move->to = &plan->nodes[to];
	move->reason = reason;
	move->from_load = part_of_average(move->from, band);
	move->to_load = part_of_average(move->to, band);
	plan->moves = lappend(plan->moves, move);

	place_shard(plan, shard, shard->home, -1);
	place_shard(plan, shard, to, 1);
	shard->home = to;
	shard->movable = false;
}

static bool
is_full(const RebalancePlan *plan)
{
	return list_length(plan->moves) >= plan->max_moves;
}

/*
 * The node, other than its own, that would be loaded least with a shard; -1 if
 * none may have it.
 */
static int
emptiest_node(RebalancePlan *plan, int index)
{
	const PlanShard *shard = &plan->shards[index];
	int			best = -1;
	double		least = 0;

	for (int i = 0; i < plan->nnodes; i++)
	{
		const PlanNode *node = &plan->nodes[i];
		double		load;

		if (i == shard->home || node->capacity <= 0 || !is_allowed(plan, index, i))
			continue;
		load = (node->load + shard->cost) / node->capacity;
		if (best >= 0 && load > least - ROUNDING &&
			(load > least + ROUNDING || count_of(plan, shard, i) >= count_of(plan, shard, best)))
			continue;
		best = i;
		least = load;
	}
	return best;
}

static int
compare_cost_descending(const void *a, const void *b, void *arg)
{
	const PlanShard *shards = arg;
	const PlanShard *left = &shards[*(const int *) a];
	const PlanShard *right = &shards[*(const int *) b];

	if (left->cost != right->cost)
		return left->cost > right->cost ? -1 : 1;
	return left->shardid < right->shardid ? -1 : left->shardid > right->shardid;
}

/* Moves shard groups that must leave their node. */
static void
move_away(RebalancePlan *plan)
{
	int		   *order = palloc(plan->nshards * sizeof(int));
	LoadBand	band = load_band(plan);

	for (int i = 0; i < plan->nshards; i++)
		order[i] = i;
	qsort_arg(order, plan->nshards, sizeof(int), compare_cost_descending, plan->shards);

	for (int i = 0; i < plan->nshards && !is_full(plan); i++)
	{
		PlanShard  *shard = &plan->shards[order[i]];
		const PlanNode *home = &plan->nodes[shard->home];
		bool		drain = home->capacity <= 0;
		int			to;

		if (!shard->movable || (!drain && (plan->drain_only || is_allowed(plan, order[i], shard->home))))
			continue;
		to = emptiest_node(plan, order[i]);
		if (to >= 0)
			make_move(plan, shard, to, drain ? MOVE_DRAIN : MOVE_NOT_ALLOWED, &band);
		else
			ereport(WARNING,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard " INT64_FORMAT " is allowed on no other node than %s:%d", shard->shardid,
							home->node->host, home->node->port),
					 errdetail("It is not moved, although it should not be there.")));
	}
}

static bool
is_better(const MoveCandidate *a, const MoveCandidate *b, const PlanShard *shards)
{
	if (b->shard < 0 || fabs(a->rate - b->rate) > ROUNDING)
		return b->shard < 0 || a->rate > b->rate;
	if (fabs(a->gain - b->gain) > ROUNDING * b->gain)
		return a->gain > b->gain;
	if (a->spread != b->spread)
		return a->spread > b->spread;
	return shards[a->shard].shardid < shards[b->shard].shardid;
}

/*
 * Rates a move of a shard to a node; false if it doesn't help, or too little.
 * Doesn't check whether it is allowed.
 */
static bool
rate_move(const RebalancePlan *plan, int index, int to, const LoadBand *band, MoveCandidate *candidate)
{
	const PlanShard *shard = &plan->shards[index];
	const PlanNode *from_node = &plan->nodes[shard->home];
	const PlanNode *to_node = &plan->nodes[to];
	double		from_after = from_node->load - shard->cost;
	double		to_after = to_node->load + shard->cost;
	double		lowered = load_of(from_node) - Max(from_after / from_node->capacity, to_after / to_node->capacity);

	candidate->gain = imbalance_of_node(from_node, from_node->load, band) - imbalance_of_node(from_node, from_after, band) +
		imbalance_of_node(to_node, to_node->load, band) - imbalance_of_node(to_node, to_after, band);
	if (candidate->gain <= ROUNDING * shard->cost || lowered <= 0 ||
		lowered < plan->improvement_threshold * shard->cost / to_node->capacity - ROUNDING)
		return false;
	candidate->shard = index;
	candidate->to = to;
	candidate->rate = candidate->gain / shard->cost;
	candidate->spread = count_of(plan, shard, shard->home) - count_of(plan, shard, to);
	return true;
}

/*
 * Looks for better moves of a shard to nodes for which the best ones from its
 * node are not known.
 */
static void
consider_shard(RebalancePlan *plan, int index, const LoadBand *band, MoveCandidate *best, const bool *changed)
{
	const PlanShard *shard = &plan->shards[index];
	const PlanNode *home = &plan->nodes[shard->home];

	if (!shard->movable || shard->cost <= 0 || home->capacity <= 0 || load_of(home) <= band->lower)
		return;
	for (int to = 0; to < plan->nnodes; to++)
	{
		MoveCandidate *known = &best[shard->home * plan->nnodes + to];
		MoveCandidate candidate;

		if ((changed[shard->home] || changed[to]) &&
			plan->nodes[to].capacity > 0 && load_of(&plan->nodes[to]) < load_of(home) &&
			rate_move(plan, index, to, band, &candidate) && is_better(&candidate, known, plan->shards) &&
			is_allowed(plan, index, to))
			*known = candidate;
	}
}

/*
 * Makes moves, the best one first.  The rating of a move depends only on its
 * two nodes: so the best move of each pair of nodes is kept, and computed
 * again if the last move has changed one of the nodes.
 */
static void
balance_load(RebalancePlan *plan)
{
	LoadBand	band = load_band(plan);
	int			npairs = plan->nnodes * plan->nnodes;
	MoveCandidate *best = palloc(sizeof(MoveCandidate) * npairs);
	bool	   *changed = palloc(plan->nnodes);

	memset(changed, true, plan->nnodes);
	while (!is_full(plan))
	{
		MoveCandidate next = {-1};

		for (int pair = 0; pair < npairs; pair++)
		{
			if (changed[pair / plan->nnodes] || changed[pair % plan->nnodes])
				best[pair].shard = -1;
		}
		for (int i = 0; i < plan->nshards; i++)
			consider_shard(plan, i, &band, best, changed);
		for (int pair = 0; pair < npairs; pair++)
		{
			if (best[pair].shard >= 0 && is_better(&best[pair], &next, plan->shards))
				next = best[pair];
		}
		if (next.shard < 0)
			return;
		memset(changed, false, plan->nnodes);
		changed[plan->shards[next.shard].home] = changed[next.to] = true;
		make_move(plan, &plan->shards[next.shard], next.to, MOVE_BALANCE, &band);
		CHECK_FOR_INTERRUPTS();
	}
}

void
plan_compute(RebalancePlan *plan)
{
	plan->moves = NIL;
	plan->allowed_memo = palloc0((Size) plan->nshards * plan->nnodes);
	plan->counts = palloc0(sizeof(int) * plan->ncolocations * plan->nnodes);
	for (int i = 0; i < plan->nshards; i++)
		place_shard(plan, &plan->shards[i], plan->shards[i].home, 1);

	move_away(plan);
	if (!plan->drain_only)
		balance_load(plan);
}

char *
plan_move_reason(const PlanMove *move)
{
	const ClusterNode *from = move->from->node;
	const ClusterNode *to = move->to->node;

	switch (move->reason)
	{
		case MOVE_DRAIN:
			return psprintf("Node %s:%d is to hold no shards.", from->host, from->port);
		case MOVE_NOT_ALLOWED:
			return psprintf("The strategy does not allow the shard on node %s:%d.", from->host, from->port);
		case MOVE_BALANCE:
			break;
	}
	return psprintf("Node %s:%d has %.0f %% of the average load, node %s:%d has %.0f %%.", from->host, from->port,
					100 * move->from_load, to->host, to->port, 100 * move->to_load);
}
